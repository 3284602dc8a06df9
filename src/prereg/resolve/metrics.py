"""Metrics: their kind, parameters and parts, and for which policies each has values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import reselect
from prereg.dataclass import dataclass, field, replace
from prereg.errors import suggestion
from prereg.expression import policies as language
from prereg.expression import ranges, syntax
from prereg.expression.cells import BINARY, TRUTH
from prereg.expression.environment import Environment, Metric
from prereg.kernels.categories import lines
from prereg.malformed import spoken
from prereg.metrics import KINDS
from prereg.plan import Each, MetricPlan, Repeat
from prereg.records import Column, as_text
from prereg.resolve.parameters import Parameters, expression_text
from prereg.resolve.thresholds import FACTORS
from prereg.resolve.units import no_part
from prereg.resolve.values import VALUE, Values
from prereg.values import SCALAR, Axes, as_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.metrics import Kind
    from prereg.panels import Panel, RowTable
    from prereg.plan import ThresholdPlan
    from prereg.protocol import Protocol
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.settings import Settings
    from prereg.resolve.units import Units

COMMON = ("part", "among", "per", "each", "show")
TAU = "tau"
DROPPED = "dropped"
HALF = 0.5
MOST_ROWS = 2_000_000
SHOWN = {"wilson": "rate", "surface": "volume over a grid"}


def metric_parts(spec: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The kinds a metric names (it should be one) and its other keys."""
    kinds = [key for key in spec if key in KINDS or key == VALUE]
    return kinds, {key: value for key, value in spec.items() if key not in kinds}


_MEANT = {
    **dict.fromkeys(("avg", "average"), "{mean: …}"),
    **dict.fromkeys(("median", "percentile"), "{quantile: {of: …, q: 0.5}}"),
    **dict.fromkeys(("accuracy", "share", "proportion"), "{rate: …}"),
}
"""What kinds are called elsewhere."""


def _other_word(key: str, kinds: Sequence[str]) -> str:
    """The way to write what somebody wrote in another word, or beside its kind and not inside it."""
    if not kinds:
        return f"; write `{_MEANT[key]}`" if key in _MEANT else ""
    kind = KINDS.get(kinds[0])
    if kind is None or kind.parameter(key) is None:
        return ""
    first = kind.parameters[0].name
    return f"; it stands inside its kind: `{{{kind.name}: {{{first}: …, {key}: …}}}}`"


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
    known: dict[str, Metric] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    guessed: dict[str, Metric] = field(default_factory=dict)
    """Broken metrics whose policies are known: what is wrong with a claim about them can still be told."""
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
            for name, values in zip(plan.each.names, plan.each.values, strict=True):
                out[name] = tuple(dict.fromkeys((*out.get(name, ()), *values)))
        return out

    def axes(
        self, each: Each, *, by_policy: bool, per: str | None = None, categories: tuple[str, ...] = ()
    ) -> Axes:
        """The policies of a metric, in the order in which panels and kernels give their values."""
        data = self.protocol.data
        factors = [*data.arm, *([data.dataset] if data.dataset else []), *each.names]
        factors += self.settings.factors if by_policy else ()
        factors += [per] if per is not None else []
        settings = self.settings.keys if by_policy else ((),)
        keys = [
            (*arm, *_named(panel), *repeat, *setting, *category)
            for panel in self.units.layout.panels
            for repeat in each.keys()  # noqa: SIM118 - no mapping
            for setting in settings
            for category in _categories(per, categories)
            for arm in panel.arms
        ]
        return Axes(tuple(factors), tuple(keys))

    def degenerate_axes(self, each: Each, per: str | None, categories: tuple[str, ...]) -> dict[str, Axes]:
        """The same for degenerate policies, which have neither arm nor setting."""
        data = self.protocol.data
        factors = (
            *([data.dataset] if data.dataset else []),
            *each.names,
            *([per] if per is not None else []),
        )
        out = {}
        for name, panels in self.units.degenerate.items():
            keys = [
                (*_named(panel), *repeat, *category)
                for panel in panels
                for repeat in each.keys()  # noqa: SIM118 - no mapping
                for category in _categories(per, categories)
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
            if plan is not None and self._sure(plan, spec):
                self.guessed[name] = Metric(plan.axes, degenerate=self.degenerate_axes(plan.each, None, ()))
        elif plan.kind is not None:
            self.plans[name] = plan

    def _sure(self, plan: MetricPlan, spec: Mapping[str, Any]) -> bool:
        """Whether the policies of a broken metric are known although its values are not."""
        return plan.kind is not None and not self.settings.factors and not {"per", "each"} & set(spec)

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
                hint = _other_word(key, kinds) or suggestion(key, known)
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
        text = expression_text(spec[VALUE])
        if text is None:
            found = f"`value`: found {spoken(spec[VALUE])}, expected an expression over metrics"
            self.notes.problem((*path, VALUE), found)
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
        if kind.samples == "all" and self.protocol.data.samples == "mean":
            self.notes.problem(
                path, f"`{kind.name}` reads every sample; with `samples: mean` there is one value a unit"
            )
        each = self._each(spec, path)
        repeats = []
        for values in each.combinations():
            reader = Parameters(self.records, self.columns, self.units, self.notes, values)
            arguments, options = reader.read(kind, given, inner)
            among = (
                reader.expression((*path, "among"), spec["among"], TRUTH)
                if spec.get("among") is not None
                else None
            )
            repeats.append(Repeat(tuple(values.values()), among, arguments, options))
        per, categories = self._per(spec, path)
        part = self._part(spec, path)
        read = frozenset().union(*(repeat.columns for repeat in repeats))
        stale = read & self.columns.stale
        if stale and self.gated:
            notes.problem(
                path, f"`{min(stale)}` is derived from what the policies change; write it in the metric"
            )
        by_policy = bool(read & self.settings.changed)
        anew = by_policy and self.thresholds is not None and self.thresholds.reselect
        if anew and (kind.name not in reselect.KINDS or per is not None):
            notes.problem(
                path,
                f"with `reselect` a metric that reads `action` is a {' or '.join(reselect.KINDS)}, "
                "without `per`",
            )
        roles = bool(read & {"answered", "certified"})
        axes = self.axes(each, by_policy=by_policy, per=per, categories=categories)
        show = self._show(kind, spec, path)
        if show == "surface" and (rows := len(axes) * (lines(repeats[0].options) + 1) ** 2) > MOST_ROWS:
            notes.problem(
                (*path, "show"), f"a surface of {rows} rows, {MOST_ROWS} at most: choose a coarser `grid`"
            )
        return MetricPlan(
            name=name,
            kind=kind,
            axes=axes,
            degenerate=self.degenerate_axes(each, per, categories) if roles else {},
            part=part,
            repeats=tuple(repeats),
            each=each,
            per=per,
            categories=categories,
            by_policy=by_policy,
            all_samples=kind.samples == "all" or self.protocol.data.samples == "all",
            show=show,
        )

    def _show(self, kind: Kind, spec: Mapping[str, Any], path: Path) -> str | None:
        show = spec.get("show")
        where: Path = (*path, "show")
        if show is None:
            return None
        if not isinstance(show, str) or show not in SHOWN:
            known = " or ".join(f"`{x}`" for x in SHOWN)
            self.notes.problem(
                where, f"`show`: found {spoken(show)}, expected {known}{suggestion(str(show), SHOWN)}"
            )
        elif (show == "wilson") != (kind.name == "rate") or (
            show == "surface" and kind.parameter("grid") is None
        ):
            self.notes.problem(where, f"`show: {show}` belongs to a {SHOWN[show]}")
        return str(show)

    def _each(self, spec: Mapping[str, Any], path: Path) -> Each:
        """The factors that `each` adds, with their values as text."""
        given = spec.get("each")
        where: Path = (*path, "each")
        if given is None:
            return Each()
        if not isinstance(given, dict) or not given:
            self.notes.problem(where, "`each` is a mapping of a name to its values: {seed: [1, 2, 3]}")
            return Each()
        taken = {*self.protocol.data.arm, self.protocol.data.dataset, *self.settings.factors, spec.get("per")}
        values: list[tuple[str, ...]] = []
        for name, listed in given.items():
            if name in taken or not syntax.NAME.match(name):
                self.notes.problem(
                    (*where, name), f"`{name}` cannot name a factor here: choose another word", key=True
                )
            texts = [expression_text(v) for v in listed] if isinstance(listed, list) else []
            known = [t for t in texts if t is not None]
            if not known or len(known) < len(texts) or len(set(known)) < len(known):
                self.notes.problem((*where, name), "expected a list of distinct numbers or texts")
            if not any(f"${name}" in str(v) for k, v in spec.items() if k != "each"):
                self.notes.problem((*where, name), f"`${name}` stands nowhere in the metric", key=True)
            values.append(tuple(known))
        return Each(tuple(given), tuple(values))

    def _part(self, spec: Mapping[str, Any], path: Path) -> str | None:
        parts, split = self.units.parts, self.protocol.split
        part = spec.get("part")
        if not self.units.parts_known:
            return None
        if not parts:
            if part is not None:
                self.notes.problem((*path, "part"), no_part(part, ()))
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
                no_part(part, parts),
            )
            return None
        return str(part)

    def _per(self, spec: Mapping[str, Any], path: Path) -> tuple[str | None, tuple[str, ...]]:
        per = spec.get("per")
        if per is None:
            return None, ()
        data = self.protocol.data
        if not isinstance(per, str):
            found = f"`per` takes one column, found {spoken(per)}"
            self.notes.problem((*path, "per"), found)
            return None, ()
        if per not in self.columns.kinds:
            self.notes.problem((*path, "per"), self.columns.unknown(str(per)))
            return None, ()
        if per in (*data.arm, data.dataset, *self.settings.factors):
            self.notes.problem((*path, "per"), f"`{per}` is a factor already")
            return None, ()
        if self.columns.kinds[per] == "broken":
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
        for name in self.protocol.metrics:
            plan = self.plans.get(name)
            if name in self.broken:  # known by its name, for hints
                self.known[name] = self.guessed.get(name) or Metric(SCALAR)
            elif plan is not None and plan.kind is not None:
                self.known[name] = Metric(plan.axes, range=self._range(plan), degenerate=plan.degenerate)

    def attribute(self) -> None:
        """The threshold of a policy, readable as `tau`."""
        if TAU in self.protocol.metrics:
            self.notes.problem(
                ("metrics", TAU), f"`{TAU}` is the threshold of a policy; choose another name", key=True
            )
        axes = self.axes(Each(), by_policy=True)
        self.known[TAU] = Metric(axes, attribute=True)
        self.plans[TAU] = MetricPlan(TAU, None, axes, {}, by_policy=True, attribute=True)

    def dropped(self) -> None:
        """The share of its units that an arm lost because other arms had no row for them: `dropped`."""
        if DROPPED in self.protocol.metrics or DROPPED in self.protocol.let or DROPPED in self.factors():
            return
        axes = self.axes(Each(), by_policy=False)
        layout = self.units.layout
        shares = np.array([layout.dropped[key] / layout.seen[key] for key in axes.keys])
        self.known[DROPPED] = Metric(axes, range=ranges.UNIT, attribute=True)
        self.plans[DROPPED] = MetricPlan(DROPPED, None, axes, {}, attribute=True, fixed=shares)

    def other_ties(self, plan: MetricPlan) -> MetricPlan | None:
        """The same metric with ties treated the other way, shown beside it where there are any."""
        if plan.kind is None or (p := plan.kind.parameter("ties")) is None or "drop" not in p.choices:
            return None
        table = self.units.layout.panels[0].table
        if not any(_tied(repeat, table) for repeat in plan.repeats):
            return None
        chosen = plan.repeats[0].options.get("ties", p.default)
        other = next(c for c in p.choices if c != chosen)
        repeats = tuple(replace(r, options={**r.options, "ties": other}) for r in plan.repeats)
        return replace(plan, name=f"{plan.name} (ties: {other})", repeats=repeats, show=None)

    def _range(self, plan: MetricPlan) -> ranges.Range:
        if plan.kind is None:
            return ranges.ANY
        found = [ranges.Range(*plan.kind.range_of(repeat.options)) for repeat in plan.repeats]
        if plan.kind.name in ("mean", "quantile"):
            # the declared range of the argument: [0, 1] for truth values, else unlimited
            kinds = {rows.source_kind for r in plan.repeats for rows in list(r.arguments.values())[:1]}
            found = [ranges.UNIT if kinds and kinds <= {TRUTH, BINARY} else ranges.ANY]
        return ranges.union(found)

    def environment(self, lets: Mapping[str, syntax.Node] | None = None) -> Environment:
        """The names that expressions over policies may use."""
        data = self.protocol.data
        broken = self.broken - set(self.guessed)
        if self.protocol.policies.threshold is not None and self.thresholds is None:
            # what is wrong with the thresholds was told; that their names mean nothing yet is no news
            broken |= {TAU, *FACTORS}
        return Environment(
            dict(self.known),
            self.factors(),
            data.arm[0],
            frozenset(data.guards or ()),
            lets or {},
            self.protocol.let,
            frozenset(broken),
        )


def _tied(repeat: Repeat, table: RowTable) -> bool:
    """Whether a row inside `among` has the correctness of a tie."""
    correct = repeat.arguments["correct"].evaluate(table)
    tied = (correct.data == HALF) & ~correct.missing_mask()
    if repeat.among is not None:
        among = repeat.among.evaluate(table)
        tied = tied & among.data & ~among.missing_mask()
    return bool(tied.any())


def _named(panel: Panel) -> tuple[str, ...]:
    return () if panel.dataset is None else (panel.dataset,)


def _categories(per: str | None, categories: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [()] if per is None else [(c,) for c in categories]


def resolve_metrics(
    protocol: Protocol,
    records: Records,
    columns: Columns,
    units: Units,
    settings: Settings,
    thresholds: ThresholdPlan | None,
    notes: Notes,
    *,
    blind: bool,
) -> tuple[dict[str, MetricPlan], Environment]:
    """All metrics in the order written, and the environment of expressions over policies.

    `blind`: what the policies are is not known, as was told; of expressions over them only the names are
    looked at.
    """
    resolver = _Resolver(protocol, records, columns, units, settings, thresholds, notes)
    if not protocol.metrics:
        notes.problem(("metrics",), "a protocol without metrics measures nothing", key=True)
    for name, spec in protocol.metrics.items():
        resolver.metric(name, spec)
    resolver.describe()
    if thresholds is not None:
        resolver.attribute()
    resolver.dropped()
    factors = resolver.factors()
    for name in protocol.metrics:
        if name in factors:
            notes.problem(("metrics", name), f"`{name}` is a factor; a metric needs another name", key=True)
    lets = _lets(protocol, factors, resolver, notes)
    environment = resolver.environment(lets)
    if blind:
        environment = _blinded(environment, protocol)
    found, environment = Values(resolver.values, environment, units.degenerate, notes).resolve()
    resolver.plans.update(found)
    for name, node in lets.items():
        inner = language.Compiler(environment, open_lets=(name,))
        inner.term(node)
        notes.expressions(("let", name), protocol.let[name], inner.problems)
        if inner.problems:
            environment = replace(environment, broken=environment.broken | {name})
    ordered = {name: resolver.plans[name] for name in protocol.metrics if name in resolver.plans}
    for plan in list(ordered.values()):
        other = resolver.other_ties(plan)
        if other is not None:
            ordered[other.name] = other
    if thresholds is not None:
        ordered[TAU] = resolver.plans[TAU]
    for part, shares in zip(units.parts or (None,), settings.achieved, strict=False):
        name = "achieved coverage" if part is None else f"achieved coverage ({part})"
        axes = resolver.axes(Each(), by_policy=True)
        ordered[name] = MetricPlan(
            name, None, axes, {}, part=part, by_policy=True, attribute=True, fixed=shares
        )
    if DROPPED in resolver.plans and DROPPED not in ordered:
        ordered[DROPPED] = resolver.plans[DROPPED]
    return ordered, environment


def _blinded(environment: Environment, protocol: Protocol) -> Environment:
    """The environment in which every name is known and nothing more is known of it."""
    names = {*environment.metrics, *environment.factors, *environment.broken, *protocol.data.arm}
    names |= {protocol.data.dataset} if protocol.data.dataset else set()
    if protocol.policies.gate:
        names |= {"gate", "score"}
    if protocol.policies.threshold is not None:
        names |= {TAU, *FACTORS}
    return replace(environment, broken=frozenset(names))


def _lets(
    protocol: Protocol, factors: Mapping[str, tuple[str, ...]], resolver: _Resolver, notes: Notes
) -> dict[str, syntax.Node]:
    """The expressions of `let` by name; problems of their names and their syntax are noted."""
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
    return lets
