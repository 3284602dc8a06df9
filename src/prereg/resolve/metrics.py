"""Metrics: their kind, parameters and parts, and for which policies each has values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import reselect
from prereg.errors import suggestion
from prereg.expression import policies as language
from prereg.expression import ranges, syntax
from prereg.expression.rows import BINARY, NUMBER, TRUTH, Compiler, Rows
from prereg.expression.syntax import ExpressionError
from prereg.metrics import KINDS
from prereg.plan import MetricPlan
from prereg.records import Column, as_text
from prereg.values import SCALAR, Axes, as_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.metrics import Kind, Parameter
    from prereg.panels import Key
    from prereg.plan import ThresholdPlan
    from prereg.protocol import Protocol
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.policies import Settings
    from prereg.resolve.units import Units

COMMON = ("part", "among", "per", "show")
VALUE = "value"
TAU = "tau"


def metric_parts(spec: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The kinds a metric names (it should be one) and its other keys."""
    kinds = [key for key in spec if key in KINDS or key == VALUE]
    return kinds, {key: value for key, value in spec.items() if key not in kinds}


@dataclass
class _Resolver:
    protocol: Protocol
    records: Records
    columns: Columns
    units: Units
    settings: Settings
    thresholds: ThresholdPlan | None
    notes: Notes
    plans: dict[str, MetricPlan] = field(default_factory=dict)
    known: dict[str, language.Metric] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    values: dict[str, tuple[str, syntax.Node]] = field(default_factory=dict)

    @property
    def gated(self) -> bool:
        return bool(self.settings.factors) or bool(self.protocol.policies.degenerate)

    # -- factors -------------------------------------------------------------------------------------------

    def factors(self) -> dict[str, tuple[str, ...]]:
        """Every factor and its values in order."""
        data = self.protocol.data
        out: dict[str, tuple[str, ...]] = {}
        for i, name in enumerate(data.arm):
            out[name] = tuple(sorted({arm[i] for p in self.units.layout.panels for arm in p.arms}))
        if data.dataset:
            sets = dict.fromkeys(p.dataset for p in self.units.layout.panels if p.dataset is not None)
            out[data.dataset] = tuple(sets)
        out.update(zip(self.settings.factors, self.settings.values, strict=True))
        for plan in self.plans.values():
            if plan.per is not None:
                out[plan.per] = plan.categories
        return out

    def axes(self, *, by_policy: bool, per: str | None, categories: tuple[str, ...]) -> Axes:
        """The policies of a metric, in the order in which panels and kernels give their values."""
        data = self.protocol.data
        factors = [*data.arm]
        if data.dataset:
            factors.append(data.dataset)
        if by_policy:
            factors += self.settings.factors
        if per is not None:
            factors.append(per)
        keys: list[Key] = []
        settings = self.settings.keys if by_policy else ((),)
        for panel in self.units.layout.panels:
            name = () if panel.dataset is None else (panel.dataset,)
            for setting in settings:
                for category in [(c,) for c in categories] if per is not None else [()]:
                    keys += [(*arm, *name, *setting, *category) for arm in panel.arms]
        return Axes(tuple(factors), tuple(keys))

    def degenerate_axes(self, per: str | None, categories: tuple[str, ...]) -> dict[str, Axes]:
        data = self.protocol.data
        factors = ((data.dataset,) if data.dataset else ()) + ((per,) if per is not None else ())
        out = {}
        for name, panels in self.units.degenerate.items():
            keys = [
                (() if panel.dataset is None else (panel.dataset,)) + category
                for panel in panels
                for category in ([(c,) for c in categories] if per is not None else [()])
            ]
            out[name] = Axes(factors, tuple(keys)) if factors else SCALAR
        return out

    # -- one metric ----------------------------------------------------------------------------------------

    def metric(self, name: str, spec: Mapping[str, Any]) -> None:
        """Note the problems of a metric, or add its plan."""
        path: Path = ("metrics", name)
        before = len(self.notes.problems)
        plan = self._metric(name, spec, path)
        if plan is None or len(self.notes.problems) > before:
            self.broken.add(name)
        elif plan.kind is not None:
            self.plans[name] = plan

    def _metric(self, name: str, spec: Mapping[str, Any], path: Path) -> MetricPlan | None:
        if name in syntax.RESERVED:
            self.notes.problem(path, f"`{name}` is a word of the language; choose another name", key=True)
            return None
        if not isinstance(spec, dict):
            self.notes.problem(path, "a metric is a mapping with its kind: {rate: …}, {mean: …}, {ece: {…}}")
            return None
        kinds, others = metric_parts(spec)
        everything = [*KINDS, VALUE]
        for key in others:
            if key not in COMMON:
                known = [*everything, *COMMON] if not kinds else [*COMMON, *everything]
                hint = suggestion(key, known)
                what = "unknown metric kind or key" if not kinds else "unknown key"
                self.notes.problem(
                    (*path, key), f"{what} `{key}`{hint or '; kinds: ' + ', '.join(everything)}", key=True
                )
        if len(kinds) != 1:
            if kinds or all(key in COMMON for key in others):
                said = f"has {len(kinds)} kinds ({', '.join(kinds)})" if kinds else "has no kind"
                self.notes.problem(
                    path, f"the metric `{name}` {said}; it needs one of {', '.join(everything)}"
                )
            return None
        if kinds[0] == VALUE:
            self._value(name, spec, others, path)
            return None if name in self.broken else MetricPlan(name, None, SCALAR, {})
        return self._rows(name, KINDS[kinds[0]], spec, path)

    def _value(self, name: str, spec: Mapping[str, Any], others: Mapping[str, Any], path: Path) -> None:
        for key in others:
            if key in COMMON:
                self.notes.problem(
                    (*path, key), f"a `value` is made of metrics; `{key}` belongs to them", key=True
                )
        text = _text(spec[VALUE])
        if text is None:
            self.notes.problem((*path, VALUE), "`value` is an expression over metrics")
            self.broken.add(name)
            return
        node = self.notes.parse((*path, VALUE), text)
        if node is None:
            self.broken.add(name)
        else:
            self.values[name] = (text, node)

    def _rows(self, name: str, kind: Kind, spec: Mapping[str, Any], path: Path) -> MetricPlan | None:
        notes = self.notes
        given = spec[kind.name]
        parameters = {p.name: p for p in kind.parameters}
        inner: Path = (*path, kind.name)
        if kind.name in parameters and not isinstance(given, dict):
            given = {kind.name: given}
            inner = path
        if not isinstance(given, dict):
            notes.problem(inner, f"`{kind.name}` takes a mapping of its parameters: {', '.join(parameters)}")
            return None
        for key in given:
            if key not in parameters:
                hint = suggestion(key, parameters) or f"; parameters of {kind.name}: {', '.join(parameters)}"
                notes.problem((*inner, key), f"unknown parameter `{key}`{hint}", key=True)
        arguments, options = self._parameters(kind, given, inner)
        among = None
        if "among" in spec:
            among = self.expression((*path, "among"), spec["among"], TRUTH)
        per, categories = self._per(spec, path)
        part = self._part(spec, path)
        show = spec.get("show")
        if show is not None and show != "wilson":
            notes.problem((*path, "show"), f"`show` knows `wilson`, found {show!r}")
        if show == "wilson" and kind.name != "rate":
            notes.problem((*path, "show"), "a Wilson interval belongs to a rate")
        read = {c for rows in [*arguments.values(), *([among] if among else [])] for c in rows.columns}
        stale = read & self.columns.stale
        if stale and self.gated:
            notes.problem(
                path, f"`{min(stale)}` is derived from what the policies change; write it in the metric"
            )
        by_policy = bool(read & self.settings.changed)
        if by_policy and self.thresholds is not None and self.thresholds.reselect:
            if kind.name not in reselect.KINDS or per is not None:
                notes.problem(
                    path,
                    f"with `reselect` a metric that reads `action` is a {' or '.join(reselect.KINDS)}, without `per`",
                )
        roles = bool(read & {"answered", "certified"})
        return MetricPlan(
            name=name,
            kind=kind,
            axes=self.axes(by_policy=by_policy, per=per, categories=categories),
            degenerate=self.degenerate_axes(per, categories) if roles else {},
            part=part,
            among=among,
            arguments=arguments,
            options=options,
            per=per,
            categories=categories,
            by_policy=by_policy,
            all_samples=kind.samples == "all" or self.protocol.data.samples == "all",
            show=show,
        )

    def _parameters(
        self, kind: Kind, given: Mapping[str, Any], path: Path
    ) -> tuple[dict[str, Rows], dict[str, Any]]:
        arguments: dict[str, Rows] = {}
        options: dict[str, Any] = {}
        for p in kind.parameters:
            if not p.of_rows:
                options.update(self._option(p, given, path))
                continue
            if p.alternative_to is not None:
                other = next(q for q in kind.parameters if q.name == p.alternative_to)
                first = kind.parameters.index(p) < kind.parameters.index(other)
                if p.name in given and other.name in given:
                    if first:
                        self.notes.problem(
                            path, f"`{p.name}` and `{other.name}` say the same; give one of them"
                        )
                    continue
                if p.name not in given and (other.name in given or not first):
                    continue
            text = given.get(p.name, p.name)
            where: Path = (*path, p.name) if p.name in given else path
            rows = self.expression(
                where, text, "number" if p.kind == "unit_interval" else p.kind, p.name not in given
            )
            if rows is not None:
                arguments[p.name] = rows
                if p.kind == "unit_interval":
                    self._unit_interval(where, text, rows)
        return arguments, options

    def _option(self, p: Parameter, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
        notes = self.notes
        if p.name not in given:
            if p.required:
                notes.problem(path, f"`{p.name}` is missing")
            return {} if p.default is None else {p.name: p.default}
        value = given[p.name]
        where: Path = (*path, p.name)
        if p.kind == "choice":
            if value not in p.choices:
                notes.problem(
                    where,
                    f"`{p.name}`: found {value!r}, expected {' or '.join(p.choices)}"
                    f"{suggestion(str(value), p.choices)}",
                )
                return {}
            return {p.name: value}
        if isinstance(value, bool) or not isinstance(value, int | float):
            notes.problem(where, f"`{p.name}`: found {value!r}, expected a number")
            return {}
        if p.kind == "integer" and not isinstance(value, int):
            notes.problem(where, f"`{p.name}`: found {value!r}, expected a whole number")
            return {}
        if not p.least <= value <= p.most:
            notes.problem(where, f"`{p.name}`: {value} lies outside {p.least:g} to {p.most:g}")
            return {}
        return {p.name: as_decimal(repr(value)) if p.kind == "decimal" else value}

    def expression(self, path: Path, given: object, wanted: str, implied: bool = False) -> Rows | None:
        """A row expression of a metric, compiled; problems are noted."""
        text = _text(given)
        if text is None:
            self.notes.problem(path, "expected an expression over the columns of a record")
            return None
        node = self.notes.parse(path, text)
        if node is None:
            return None
        compiler = Compiler(self.columns.kinds)
        rows = compiler.compile(node, {"truth": TRUTH, "number": NUMBER}.get(wanted))
        for error in compiler.problems:
            message = error.message
            if (
                isinstance(node, syntax.Name)
                and node.name in self.columns.odd
                and "expected a number" in message
            ):
                message = f"column `{node.name}` is text: {self.columns.odd[node.name]}"
            if implied:
                self.notes.problem(
                    path, f"parameter `{text}` was not given and reads the column of its name: {message}"
                )
            else:
                self.notes.expressions(path, text, [ExpressionError(message, error.start, error.end)])
        return None if compiler.problems or rows.kind == "broken" else rows

    def _unit_interval(self, path: Path, text: object, rows: Rows) -> None:
        table = self.units.layout.panels[0].table
        cells = rows.evaluate(table)
        outside = (cells.data < 0) | (cells.data > 1)
        if cells.missing is not None:
            outside &= ~cells.missing
        bad = np.flatnonzero(outside.any(axis=0))
        if len(bad) and cells.data.shape[1] == len(table.names):
            order = self.units.layout.order
            by_row = {int(order[i]): float(cells.data[:, i][outside[:, i]][0]) for i in bad}
            self.notes.problems += self.records.problem(
                np.sort(order[bad]),
                lambda r: f"column {text}: {by_row[r]:.17g} lies outside [0, 1], a confidence is expected",
            )
        elif len(bad):
            self.notes.problem(path, "a confidence lies in [0, 1]")

    def _part(self, spec: Mapping[str, Any], path: Path) -> str | None:
        parts, split = self.units.parts, self.protocol.split
        part = spec.get("part")
        if not parts:
            if part is not None:
                self.notes.problem((*path, "part"), "there is no `split`, so there are no parts", key=True)
            return None
        if part is None:
            if split is not None and split.default is not None:
                return split.default
            self.notes.problem(
                path, f"name the `part` it reads, or a `split.default`; parts: {', '.join(parts)}"
            )
            return None
        if part not in parts:
            self.notes.problem(
                (*path, "part"),
                f"there is no part `{part}`{suggestion(str(part), parts)}; parts: {', '.join(parts)}",
            )
            return None
        return str(part)

    def _per(self, spec: Mapping[str, Any], path: Path) -> tuple[str | None, tuple[str, ...]]:
        per = spec.get("per")
        if per is None:
            return None, ()
        data = self.protocol.data
        if not isinstance(per, str) or per not in self.columns.kinds:
            self.notes.problem(
                (*path, "per"), f"unknown column `{per}`{suggestion(str(per), self.columns.kinds)}"
            )
            return None, ()
        if per in (*data.arm, data.dataset, *self.settings.factors):
            self.notes.problem((*path, "per"), f"`{per}` is a factor already")
            return None, ()
        table = self.units.layout.panels[0].table
        cells = as_text(Column(self.columns.kinds[per], table.columns[per]))
        used = sorted({cells.levels[i] for i in np.unique(cells.data[0]) if i >= 0})
        numbers = [as_decimal(x) for x in used]
        if all(x is not None for x in numbers):
            used = [
                x
                for _, x in sorted(zip(numbers, used, strict=True), key=lambda pair: (pair[0] or 0, pair[1]))
            ]
        return per, tuple(used)

    # -- values --------------------------------------------------------------------------------------------

    def describe(self) -> None:
        """What expressions over policies must know of the metrics over rows."""
        for name, plan in self.plans.items():
            if plan.kind is not None:
                self.known[name] = language.Metric(
                    plan.axes, range=self._range(plan), degenerate=plan.degenerate
                )

    def attribute(self) -> None:
        """The threshold of a policy, readable as `tau`."""
        if TAU in self.protocol.metrics:
            self.notes.problem(
                ("metrics", TAU), f"`{TAU}` is the threshold of a policy; choose another name", key=True
            )
        axes = self.axes(by_policy=True, per=None, categories=())
        self.known[TAU] = language.Metric(axes, attribute=True)
        self.plans[TAU] = MetricPlan(TAU, None, axes, {}, by_policy=True, attribute=True)

    def _range(self, plan: MetricPlan) -> ranges.Range:
        if plan.kind is None:
            return ranges.ANY
        low, high = plan.kind.range_of(plan.options)
        if plan.kind.name in ("mean", "quantile"):
            rows = next(iter(plan.arguments.values()))
            reach = self._argument_range(rows)
            low, high = max(low, reach.low), min(high, reach.high)
        return ranges.Range(low, high)

    def _argument_range(self, rows: Rows) -> ranges.Range:
        """The declared range of one argument: [0, 1] for truth values, else unlimited."""
        if rows.source_kind in (TRUTH, BINARY):
            return ranges.UNIT
        return ranges.ANY

    def resolve_values(self) -> None:
        """The `value` metrics, each after those it reads."""
        done: dict[str, bool] = {}

        def visit(name: str, open_: tuple[str, ...]) -> None:
            if name in done or name not in self.values:
                return
            text, node = self.values[name]
            path: Path = ("metrics", name, VALUE)
            if name in open_:
                self.notes.problem(path, f"`{name}` is defined by itself: {' -> '.join((*open_, name))}")
                self.broken.add(name)
                done[name] = True
                return
            for other in syntax.names(node):
                visit(other, (*open_, name))
            if name in done:
                return
            done[name] = True
            self._compile_value(name, text, node, path)

        for name in self.values:
            visit(name, ())

    def environment(self, lets: Mapping[str, syntax.Node] | None = None) -> language.Environment:
        """The names that expressions over policies may use."""
        data = self.protocol.data
        return language.Environment(
            dict(self.known),
            self.factors(),
            data.arm[0],
            frozenset(data.guards or ()),
            lets or {},
            frozenset(self.broken),
        )

    def _compile_value(self, name: str, text: str, node: syntax.Node, path: Path) -> None:
        env = self.environment()
        later = [n for n in self.values if n not in self.known and n not in self.broken and n != name]
        env = replace(env, broken=env.broken | set(later))
        compiler = language.Compiler(env)
        term = compiler.term(node)
        if term.kind == "label":
            compiler.fail("a metric is a number or a truth value, not a label", node)
        self.notes.expressions(path, text, compiler.problems)
        if compiler.problems or term.kind == "broken":
            self.broken.add(name)
            return
        term = replace(term, floating=False)
        degenerate: dict[str, Any] = {}
        inputs = tuple(dict.fromkeys(n for n in syntax.names(node) if n in self.known))
        for which in self.units.degenerate:
            if any(which in self.known[n].degenerate for n in inputs):
                inner = language.Compiler(env, degenerate=which)
                found = inner.term(node)
                if not inner.problems and found.kind != "broken":
                    degenerate[which] = found
        self.known[name] = language.Metric(
            term.axes, term.kind, term.range, {k: t.axes for k, t in degenerate.items()}
        )
        self.plans[name] = MetricPlan(
            name,
            None,
            term.axes,
            {k: t.axes for k, t in degenerate.items()},
            value=term,
            values_of_degenerate=degenerate,
            inputs=inputs,
        )


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else None


def resolve_metrics(
    protocol: Protocol,
    records: Records,
    columns: Columns,
    units: Units,
    settings: Settings,
    thresholds: ThresholdPlan | None,
    notes: Notes,
) -> tuple[dict[str, MetricPlan], language.Environment]:
    """All metrics in the order written, and the environment of expressions over policies."""
    resolver = _Resolver(protocol, records, columns, units, settings, thresholds, notes)
    if not protocol.metrics:
        notes.problem(("metrics",), "a protocol without metrics measures nothing", key=True)
    for name, spec in protocol.metrics.items():
        resolver.metric(name, spec)
    resolver.describe()
    if thresholds is not None:
        resolver.attribute()
    factors = resolver.factors()
    for name in protocol.metrics:
        if name in factors:
            notes.problem(("metrics", name), f"`{name}` is a factor; a metric needs another name", key=True)
    resolver.resolve_values()
    lets: dict[str, syntax.Node] = {}
    for name, text in protocol.let.items():
        path: Path = ("let", name)
        if name in protocol.metrics or name in factors or name in syntax.RESERVED:
            notes.problem(
                path, f"`{name}` is taken: it names a metric, a factor or a word of the language", key=True
            )
            continue
        node = notes.parse(path, text)
        if node is None:
            resolver.broken.add(name)
        else:
            lets[name] = node
    environment = resolver.environment(lets)
    for name, node in lets.items():
        compiler = language.Compiler(environment)
        compiler.term(syntax.Name(node.start, node.end, name))
        inner = language.Compiler(environment)
        inner.term(node)
        notes.expressions(("let", name), protocol.let[name], inner.problems)
        if inner.problems:
            environment = replace(environment, broken=environment.broken | {name})
    ordered = {name: resolver.plans[name] for name in protocol.metrics if name in resolver.plans}
    if thresholds is not None:
        ordered[TAU] = resolver.plans[TAU]
    return ordered, environment
