"""Expressions over policies: names resolved, kinds and factors checked, then terms that can be computed.

Used for `value` metrics, `exclude`, `let`, reports and, leg by leg, for claims.  Problems are collected with
the characters they stand at; a broken piece is silent afterwards, so that each fault is told once.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field, replace
from prereg.errors import listed, suggestion
from prereg.expression import ranges, syntax
from prereg.expression.evaluation import (
    applied,
    coded,
    comparison,
    definedness,
    finite,
    fixed,
    labelled,
    pair_groups,
    reduce_groups,
)
from prereg.expression.reductions import PAIRED, REDUCTIONS, quantile
from prereg.expression.syntax import ExpressionError
from prereg.expression.terms import (
    BROKEN,
    LABEL,
    NUMBER,
    TRUTH,
    Frame,
    MetricRef,
    Result,
    Term,
    constant,
    guards,
    spread,
    spread_facts,
    text,
    undefined,
)
from prereg.values import (
    SCALAR,
    AlignmentError,
    Axes,
    Key,
    as_decimal,
    factor_text,
    kleene_and,
    kleene_or,
    meet,
    rounded,
    take,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from prereg.expression.environment import Environment, Metric


_SPOKEN = {NUMBER: "a number", TRUTH: "a truth value", LABEL: "a label", BROKEN: "?"}
REDUCE = "reduce it (all, any, mean, spearman …) or select one policy"


@dataclass
class Compiler:
    """Turns trees into terms."""

    env: Environment
    degenerate: str | None = None  # inside a `value` metric of a degenerate policy bare metrics are its own
    problems: list[ExpressionError] = field(default_factory=list)
    warnings: list[ExpressionError] = field(default_factory=list)
    _reducing: int = 0
    _open_lets: tuple[str, ...] = ()

    # -- problems --------------------------------------------------------------------------------------

    def fail(self, message: str, node: syntax.Node | syntax.Selector) -> Term:
        """Note a problem; the broken term makes no further ones."""
        _note(self.problems, message, node)
        return _BROKEN

    def meet(
        self, node: syntax.Node, terms: Sequence[Term]
    ) -> tuple[Axes, list[Callable[[Frame], Result]]] | None:
        """The axes on which the terms stand together, and their values laid out on them."""
        if any(t.kind == BROKEN for t in terms):
            return None
        fixed = [t.axes for t in terms if not t.floating]
        try:
            axes = meet(*fixed) if fixed else SCALAR
        except AlignmentError as error:
            self._unaligned(node, error.only_left, error.only_right)
            return None
        floating = sorted((t for t in terms if t.floating), key=lambda t: -len(t.axes.factors))
        if axes.scalar and floating:
            axes = floating[0].axes
        for term in floating:
            lost = [f for f in term.axes.factors if f not in axes.factors]
            if lost:
                self._unaligned(node, lost, [])
                return None
        return axes, [spread(term, axes) for term in terms]

    def _unaligned(self, node: syntax.Node, left: list[str], right: list[str]) -> None:
        sides = []
        if left:
            sides.append("left of " + _listed(left))
        if right:
            sides.append("right of " + _listed(right))
        names = _listed([*left, *right])
        self.fail(
            f"these vectors do not align: only one side has the factor {names}; select one value of it, "
            f"or reduce over it (mean(x, over={[*left, *right][0]}))",
            node,
        )

    # -- pieces ----------------------------------------------------------------------------------------

    def term(self, node: syntax.Node) -> Term:
        """The term of a tree."""
        match node:
            case syntax.Number(value=value):
                return constant(float(value))
            case syntax.Text(value=value):
                return text(value)
            case syntax.Bool(value=value):
                return replace(constant(float(value)), kind=TRUTH, constant=None)
            case syntax.Name(name=name):
                return self._name(node, name)
            case syntax.Selection():
                return self._selection(node)
            case syntax.Minus(operand=inner):
                return self._minus(node, inner)
            case syntax.Arithmetic():
                return self._arithmetic(node)
            case syntax.Chain() | syntax.Within() | syntax.Member() | syntax.Junction():
                return self._truth(node)
            case syntax.Negation(operand=inner):
                operand = self._as_truth(inner)
                if operand.kind == BROKEN:
                    return operand
                return self._pointwise(node, TRUTH, ranges.UNIT, lambda x: 1.0 - x, [operand])
            case syntax.Call():
                return self._call(node)
            case syntax.Support():
                return self.fail(
                    "`support` stands only in `falsified_if`, in one comparison with a number", node
                )
            case _:
                return self.fail("a list stands only after `in`, `within` or as an argument", node)

    def _name(self, node: syntax.Node, name: str) -> Term:
        env = self.env
        if name in env.broken:
            return _BROKEN
        if name in env.metrics:
            return self._metric(name)
        if name in env.lets:
            if name in self._open_lets:
                path = " -> ".join((*self._open_lets[self._open_lets.index(name) :], name))
                self.problems.append(
                    _CircularError(f"`{name}` is defined by itself: {path}", node.start, node.end)
                )
                return _BROKEN
            before, self._open_lets = self._open_lets, (*self._open_lets, name)
            outer = self.problems, self.warnings
            self.problems, self.warnings = [], []
            try:
                term = self.term(env.lets[name])
                circular = [x for x in self.problems if isinstance(x, _CircularError)]
            finally:
                self._open_lets = before
                self.problems, self.warnings = outer
            if circular:  # all other problems are told where the name is defined
                self.problems.append(_CircularError(circular[0].message, node.start, node.end))
            return term
        if name in env.factors:
            return self._factor(name)
        known = [*env.metrics, *env.lets, *env.factors]
        values = [v for vs in env.factors.values() for v in vs]
        if name in values or name in env.degenerate:
            return self.fail(
                f"`{name}` is a policy, not a metric; write metric[{name}], or quote it as a label", node
            )
        hint = suggestion(name, known) or f"; known: {listed(known)}"
        return self.fail(f"unknown metric `{name}`{hint}", node)

    def _metric(self, name: str) -> Term:
        metric = self.env.metrics[name]
        if self.degenerate is not None and not self._reducing and not metric.attribute:
            return self._degenerate_metric(name, self.degenerate)
        if self.degenerate is not None and metric.attribute and not self._reducing:
            return undefined(SCALAR, "undefined_input", constant(0.0))
        keep = [i for i, key in enumerate(metric.axes.keys) if key not in metric.excluded]
        axes = metric.axes
        if len(keep) < len(axes):
            axes = Axes(axes.factors, tuple(axes.keys[i] for i in keep))
        return self._metric_term(name, None, axes, tuple(keep), metric)

    def _degenerate_metric(self, name: str, degenerate: str) -> Term:
        metric = self.env.metrics[name]
        axes = metric.degenerate.get(degenerate)
        if axes is None:
            return undefined(SCALAR, "undefined_input", constant(0.0))
        return self._metric_term(name, degenerate, axes, tuple(range(len(axes))), metric)

    def _metric_term(
        self, name: str, degenerate: str | None, axes: Axes, where: tuple[int, ...], metric: Metric
    ) -> Term:
        index = np.array(where, dtype=np.intp)
        whole = len(where) == len(metric.axes) and degenerate is None

        def evaluate(frame: Frame) -> Result:
            result = frame.metric(name, degenerate)
            if whole:
                return result
            facts = None if result.facts is None else spread_facts(result.facts, index)
            return Result(take(result.data, index), facts)

        guard = degenerate is not None or self._known_answers(axes, axes.keys)
        return Term(
            metric.kind,
            axes,
            evaluate,
            metric.range,
            guard=guard,
            metric=MetricRef(name, degenerate, where),
            reads_metric=True,
            floating=metric.attribute,
        )

    def _known_answers(self, axes: Axes, keys: Sequence[Key]) -> bool:
        """Whether these policies are all of arms whose answers are known."""
        env = self.env
        if not env.guard_arms or not keys or env.arm_factor not in axes.factors:
            return False
        column = axes.factors.index(env.arm_factor)
        return all(key[column] in env.guard_arms for key in keys)

    def _factor(self, name: str) -> Term:
        values = self.env.factors[name]
        numbers = [as_decimal(v) for v in values]
        axes = Axes((name,), tuple((v,) for v in values))
        numeric = all(d is not None or v == "none" for d, v in zip(numbers, values, strict=True))
        if self.degenerate is not None and not self._reducing:  # a degenerate policy has no gate and no arm
            template = constant(0.0) if numeric else replace(text(""), labels=values)
            return replace(undefined(SCALAR, "undefined_input", template), factor=name)
        if numeric:
            data = np.array([np.nan if d is None else float(d) for d in numbers])
            known = [float(d) for d in numbers if d is not None]
            reach = ranges.Range(min(known), max(known)) if known else ranges.ANY
            return Term(NUMBER, axes, fixed(data), reach, floating=True, factor=name)
        codes = np.arange(len(values), dtype=np.float64)
        return Term(LABEL, axes, fixed(codes), labels=values, floating=True, factor=name)

    def _label_of(self, term: Term) -> Term:
        """A numeric factor read as the text of its values."""
        if term.kind == LABEL or term.factor is None:
            return term
        values = self.env.factors[term.factor]
        if term.axes.scalar:
            return replace(term, kind=LABEL, labels=values)
        codes = np.arange(len(values), dtype=np.float64)
        return Term(LABEL, term.axes, fixed(codes), labels=values, floating=True, factor=term.factor)

    # -- selection -------------------------------------------------------------------------------------

    def _selection(self, node: syntax.Selection) -> Term:
        name = node.name
        env = self.env
        if name in env.broken:
            return _BROKEN
        if name not in env.metrics and name not in env.lets:
            known = [*env.metrics, *env.lets]
            what = "a factor" if name in env.factors else "unknown metric"
            message = f"unknown metric `{name}`{suggestion(name, known) or '; known: ' + listed(known)}"
            return self.fail(
                message if what != "a factor" else f"`{name}` is a factor; select from a metric", node
            )
        selectors = list(node.selectors)
        chosen = [s for s in selectors if self._names_degenerate(name, s)]
        if chosen:
            return self._select_degenerate(node, chosen, [s for s in selectors if s not in chosen])
        outer, self.degenerate = self.degenerate, None
        try:
            term = self._name(node, name)
        finally:
            self.degenerate = outer
        if term.kind == BROKEN:
            return term
        picked = self._select_all(name, term, selectors)
        if picked is None:
            return _BROKEN
        if len(picked.axes) == 0:
            picked = self._select_none(node, picked)
        return replace(picked, floating=False)

    def _select_all(self, name: str, term: Term, selectors: Sequence[syntax.Selector]) -> Term | None:
        for selector in selectors:
            picked = self._select(name, term, selector)
            if picked is None:
                return None
            term = picked
        return term

    def _select_none(self, node: syntax.Selection, picked: Term) -> Term:
        """What no policy is left of: allowed, undefined, and warned of."""
        reason = "no_partner"
        metric = self.env.metrics.get(node.name)
        if metric is not None and metric.excluded:
            every = self._metric_term(node.name, None, metric.axes, tuple(range(len(metric.axes))), metric)
            whole = self._select_all(node.name, every, node.selectors)
            if whole is not None and len(whole.axes):
                reason = "excluded"
        why = "is excluded" if reason == "excluded" else "has these values"
        subject = "every such policy" if reason == "excluded" else "no policy"
        _note(self.warnings, f"{subject} of `{node.name}` {why}: this is undefined", node)
        return undefined(SCALAR, reason, picked) if picked.axes.scalar else picked

    def _names_degenerate(self, name: str, selector: syntax.Selector) -> bool:
        value = selector.values[0]
        if selector.op != "=" or not isinstance(value, str) or name in self.env.lets:
            return False
        return value in self.env.metrics[name].degenerate and selector.factor in (None, self.env.arm_factor)

    def _select_degenerate(
        self, node: syntax.Selection, chosen: list[syntax.Selector], others: list[syntax.Selector]
    ) -> Term:
        if len(chosen) > 1:
            return self.fail("one degenerate policy at a time", chosen[1])
        term = self._degenerate_metric(node.name, str(chosen[0].values[0]))
        picked = self._select_all(node.name, term, others)
        if picked is None:
            return _BROKEN
        if len(picked.axes) == 0:
            _note(self.warnings, f"no policy of `{node.name}` has these values: this is undefined", node)
            return undefined(SCALAR, "no_partner", picked) if picked.axes.scalar else picked
        return picked

    def _select(self, name: str, term: Term, selector: syntax.Selector) -> Term | None:
        factors = term.axes.factors
        env = self.env
        if selector.factor is None:
            value = selector.values[0]
            found = [f for f in factors if _matching(env.factors.get(f, ()), value)]
            spoken = factor_text(value)
            if len(found) > 1:
                one = spoken if isinstance(value, str) and syntax.NAME.match(value) else f'"{spoken}"'
                one = one if isinstance(value, str) else spoken
                self.fail(f"`{spoken}` is a value of {_listed(found)}; write {found[0]}={one}", selector)
                return None
            if not found:
                known = [v for f in factors for v in env.factors.get(f, ())]
                if name in env.metrics:
                    known += list(env.metrics[name].degenerate)
                hint = suggestion(spoken, known) or f"; known: {_some(known)}"
                if spoken in env.degenerate:
                    hint = "; that policy has no value of it"
                elsewhere = [f for f, v in env.factors.items() if f not in factors and _matching(v, value)]
                if elsewhere:
                    hint = f"; `{name}` does not depend on `{elsewhere[0]}`, or it was selected already"
                elif not factors:
                    hint = "; nothing is left to select from"
                self.fail(f"no policy of `{name}` is called `{spoken}`{hint}", selector)
                return None
            factor = found[0]
        else:
            factor = selector.factor
            if factor not in factors:
                if factor in env.factors:
                    self.fail(f"`{name}` does not depend on `{factor}`, or it was selected already", selector)
                else:
                    self.fail(f"unknown factor `{factor}`{suggestion(factor, factors)}", selector)
                return None
        values = env.factors[factor]
        if selector.op in ("=", "!=", "in"):
            wanted = set()
            for value in selector.values:
                matching = _matching(values, value)
                if not matching:
                    hint = suggestion(factor_text(value), values) or f"; known: {_some(values)}"
                    self.fail(f"`{factor}` has no value `{factor_text(value)}`{hint}", selector)
                    return None
                if len(matching) > 1:
                    shown = " or ".join(f'"{x}"' for x in matching)
                    self.fail(f"`{factor_text(value)}` may be {shown}: quote the one that is meant", selector)
                    return None
                wanted.update(matching)
            column = factors.index(factor)
            keep = [
                i for i, key in enumerate(term.axes.keys) if (key[column] in wanted) != (selector.op == "!=")
            ]
            return self._cut(term, keep, factor if selector.op == "=" else None)
        bound = selector.values[0]
        number = as_decimal(factor_text(bound))
        if number is None:
            self.fail(f"`{selector.op}` compares numbers; `{factor_text(bound)}` is none", selector)
            return None
        column = factors.index(factor)
        keep = [
            i for i, key in enumerate(term.axes.keys) if _holds(selector.op, as_decimal(key[column]), number)
        ]
        return self._cut(term, keep, None)

    def _cut(self, term: Term, keep: list[int], factor: str | None) -> Term:
        """The term at some of its keys, with one factor taken away where it was selected."""
        where = np.array(keep, dtype=np.intp)
        factors, keys = term.axes.factors, [term.axes.keys[i] for i in keep]
        guard = term.guard
        if guard is False:
            guard = self._known_answers(term.axes, keys)
        if factor is not None:
            column = factors.index(factor)
            factors = (*factors[:column], *factors[column + 1 :])
            keys = [(*key[:column], *key[column + 1 :]) for key in keys]
        axes = Axes(factors, tuple(keys))

        def evaluate(frame: Frame) -> Result:
            result = term.evaluate(frame)
            facts = None if result.facts is None else spread_facts(result.facts, where)
            return Result(result.data[:, where], facts)

        metric = None
        if term.metric is not None:
            metric = replace(term.metric, where=tuple(term.metric.where[i] for i in keep))
        return replace(term, axes=axes, evaluate=evaluate, metric=metric, factor=None, guard=guard, lay=None)

    # -- arithmetic and truth --------------------------------------------------------------------------

    def _pointwise(
        self,
        node: syntax.Node,
        kind: str,
        reach: ranges.Range,
        function: Callable[..., np.ndarray],
        terms: Sequence[Term],
        why: str = "undefined_input",
    ) -> Term:
        """A function applied policy by policy; `why` it is undefined where its inputs are not."""
        met = self.meet(node, terms)
        if met is None:
            return _BROKEN
        axes, parts = met
        constants = [t.constant for t in terms if t.constant is not None]
        if kind == NUMBER and len(constants) == len(terms):
            with np.errstate(all="ignore"):
                value = float(function(*(np.array([[x]]) for x in constants))[0, 0])
            return constant(value) if np.isfinite(value) else self.fail("this constant is undefined", node)

        def lay(target: Axes) -> Callable[[Frame], Result]:
            return applied(function, [spread(t, target) for t in terms], why)

        return Term(
            kind,
            axes,
            applied(function, parts, why),
            reach,
            guard=guards(*terms),
            reads_metric=any(t.reads_metric for t in terms),
            floating=all(t.floating or t.axes.scalar for t in terms) and any(t.floating for t in terms),
            lay=lay,
        )

    def _as_number(self, node: syntax.Node) -> Term:
        term = self.term(node)
        if term.kind == LABEL:
            return self.fail(f"found {_SPOKEN[term.kind]}, expected a number", node)
        return term

    def _as_truth(self, node: syntax.Node) -> Term:
        term = self.term(node)
        if term.kind in (NUMBER, LABEL):
            return self.fail(f"found {_SPOKEN[term.kind]}, expected a truth value", node)
        return term

    def _minus(self, node: syntax.Node, inner: syntax.Node) -> Term:
        operand = self._as_number(inner)
        if operand.kind == BROKEN:
            return operand
        return self._pointwise(node, NUMBER, ranges.negate(operand.range), np.negative, [operand])

    def _arithmetic(self, node: syntax.Arithmetic) -> Term:
        left, right = self._as_number(node.left), self._as_number(node.right)
        if BROKEN in (left.kind, right.kind):
            return _BROKEN
        reach = ranges.arithmetic(node.op, left.range, right.range)
        why = "zero_division" if node.op == "/" else "undefined_input"
        return self._pointwise(node, NUMBER, reach, finite(_OPERATIONS[node.op]), [left, right], why)

    def link(self, op: str, left: syntax.Node, right: syntax.Node) -> tuple[Term, Term]:
        """The two sides of one comparison, checked to be comparable."""
        x, y = self.term(left), self.term(right)
        if BROKEN in (x.kind, y.kind):
            return _BROKEN, _BROKEN
        if x.kind == LABEL:
            y = self._label_of(y)
        if y.kind == LABEL:
            x = self._label_of(x)
        if (x.kind == LABEL) != (y.kind == LABEL):
            number = left if x.kind != LABEL else right
            hint = ""
            if isinstance(number, syntax.Number):
                hint = f'; quote it: "{factor_text(number.value)}"'
            self.fail(f"cannot compare {_SPOKEN[x.kind]} with {_SPOKEN[y.kind]}{hint}", right)
            return _BROKEN, _BROKEN
        if x.kind == LABEL and op not in ("==", "!="):
            self.fail(f"labels have no order: `{op}` compares numbers", right)
            return _BROKEN, _BROKEN
        for side, other, place in ((x, y, right), (y, x, left)):
            if other.kind == LABEL and other.axes.scalar and isinstance(place, syntax.Text):
                known = side.labels
                if known and place.value not in known:
                    hint = suggestion(place.value, known) or f"; known: {_some(known)}"
                    self.fail(f"no policy is called `{place.value}`{hint}", place)
                    return _BROKEN, _BROKEN
        return x, y

    def compare(self, node: syntax.Node, op: str, left: syntax.Node, right: syntax.Node) -> Term:
        """A comparison as a truth value."""
        x, y = self.link(op, left, right)
        if x.kind == BROKEN:
            return _BROKEN
        if x.kind == LABEL:
            return self._same_label(node, op, x, y)
        function = comparison(op)
        return self._pointwise(node, TRUTH, ranges.UNIT, lambda a, b: function(rounded(a - b)), [x, y])

    def _same_label(self, node: syntax.Node, op: str, x: Term, y: Term) -> Term:
        codes = {label: float(i) for i, label in enumerate(dict.fromkeys((*x.labels, *y.labels)))}
        left = np.array([codes[v] for v in x.labels])
        right = np.array([codes[v] for v in y.labels])

        def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            gap = coded(left, a) - coded(right, b)
            return comparison(op)(gap)

        return self._pointwise(node, TRUTH, ranges.UNIT, same, [x, y])

    def holds_nothing(self, node: syntax.Chain | syntax.Within) -> bool:
        """Whether no value lies between two ends of a chain or of `within` (which is then noted)."""
        for op, first, last in enclosing(node):
            low, high = self.term(first), self.term(last)
            if not {low.kind, high.kind} <= {NUMBER, TRUTH}:
                continue
            if not ranges.outcomes(op, low.range, high.range)[0]:
                said = "is above" if low.range.low > high.range.high else "is not below"
                self.fail(
                    f"this interval holds no value: its lower end {low.range.low:.12g} {said} its upper end "
                    f"{high.range.high:.12g}, expected the smaller number as the lower end",
                    node,
                )
                return True
        return False

    def _truth(self, node: syntax.Node) -> Term:
        if isinstance(node, syntax.Chain | syntax.Within) and self.holds_nothing(node):
            return _BROKEN
        match node:
            case syntax.Chain(operands=operands, ops=ops):
                links = list(zip(ops, operands, operands[1:], strict=False))
                parts = [self.compare(node, op, a, b) for op, a, b in links]
            case syntax.Within(operand=inner, low=low, high=high):
                parts = [self.compare(node, ">=", inner, low), self.compare(node, "<=", inner, high)]
            case syntax.Member(operand=inner, items=items):
                parts = [self.compare(node, "==", inner, item) for item in items]
                if len(parts) == 1:
                    return parts[0]
                return self._pointwise(node, TRUTH, ranges.UNIT, lambda *x: kleene_or(list(x)), parts)
            case syntax.Junction(op=op, operands=operands):
                parts = [self._as_truth(x) for x in operands]
                function = kleene_and if op == "and" else kleene_or
                return self._pointwise(node, TRUTH, ranges.UNIT, lambda *x: function(list(x)), parts)
            case _:
                raise AssertionError(node)
        if len(parts) == 1:
            return parts[0]
        return self._pointwise(node, TRUTH, ranges.UNIT, lambda *x: kleene_and(list(x)), parts)

    # -- functions -------------------------------------------------------------------------------------

    def _call(self, node: syntax.Call) -> Term:
        name, arguments = node.function, node.arguments
        if name in REDUCTIONS or name in PAIRED or name == "quantile":
            self._reducing += 1
            try:
                return self._reduce(node)
            finally:
                self._reducing -= 1
        if name in ("point", "differs"):
            return self.fail(f"`{name}` stands only in a claim, as a leg of its own", node)
        if name not in _SCALAR:
            return self.fail(f"unknown function `{name}`{suggestion(name, POLICY_FUNCTIONS)}", node)
        if node.over is not None:
            return self.fail("`over` belongs to functions that reduce policies", node)
        low, high = _SCALAR[name]
        if not low <= len(arguments) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            return self.fail(f"`{name}` takes {wanted} arguments, found {len(arguments)}", node)
        if name in ("defined", "undefined"):
            return self._defined(node)
        if name == "if":
            return self._choose(node)
        terms = [self._as_number(x) for x in arguments]
        if any(t.kind == BROKEN for t in terms):
            return _BROKEN
        if name == "abs":
            return self._pointwise(node, NUMBER, ranges.absolute(terms[0].range), np.abs, terms)
        if name in ("minimum", "maximum"):
            smaller = name == "minimum"
            reach = terms[0].range
            for other in terms[1:]:
                reach = (ranges.minimum if smaller else ranges.maximum)(reach, other.range)
            fold = np.minimum if smaller else np.maximum
            return self._pointwise(node, NUMBER, reach, lambda *x: functools.reduce(fold, x), terms)
        reach = ranges.monotone(name, terms[0].range)
        return self._pointwise(node, NUMBER, reach, finite(_ELEMENTARY[name]), terms)

    def _defined(self, node: syntax.Call) -> Term:
        inner = self.term(node.arguments[0])
        if inner.kind == BROKEN:
            return inner
        wanted = node.function == "defined"
        return replace(
            inner,
            kind=TRUTH,
            range=ranges.UNIT,
            evaluate=definedness(inner.evaluate, wanted=wanted),
            metric=None,
            constant=None,
            factor=None,
            labels=(),
            lay=lambda axes: definedness(spread(inner, axes), wanted=wanted),
        )

    def _choose(self, node: syntax.Call) -> Term:
        condition = self._as_truth(node.arguments[0])
        yes, no = self.term(node.arguments[1]), self.term(node.arguments[2])
        if any(t.kind == BROKEN for t in (condition, yes, no)):
            return _BROKEN
        if LABEL in (yes.kind, no.kind):
            return self.fail("`if` chooses between numbers or truth values", node)
        kind = TRUTH if yes.kind == no.kind == TRUTH else NUMBER

        def choose(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.where(np.isnan(c), np.nan, np.where(c == 1, a, b))

        reach = ranges.union([yes.range, no.range])
        return self._pointwise(node, kind, reach, choose, [condition, yes, no])

    def _reduce(self, node: syntax.Call) -> Term:
        name = node.function
        wanted = 2 if name in PAIRED or name == "quantile" else 1
        if len(node.arguments) != wanted:
            return self.fail(
                f"`{name}` takes {wanted} argument{'s'[: wanted - 1]}, found {len(node.arguments)}", node
            )
        if name in PAIRED:
            terms = [self._as_number(x) for x in node.arguments]
            met = self.meet(node, terms)
            if met is None:
                return _BROKEN
            axes, parts = met
        else:
            takes = REDUCTIONS[name].takes if name in REDUCTIONS else "number"
            inner = (
                self._as_truth(node.arguments[0]) if takes == "truth" else self._as_number(node.arguments[0])
            )
            if inner.kind == BROKEN:
                return inner
            terms, axes, parts = [inner], inner.axes, [inner.evaluate]
        if axes.scalar and len(axes):
            return self.fail(f"`{name}` reduces a vector over policies; this is one value already", node)
        grouping = self._groups(node, axes)
        if grouping is None:
            return _BROKEN
        target, groups, reduced = grouping
        guard, reads = guards(*terms), any(t.reads_metric for t in terms)
        if name in PAIRED:
            if not self._vary(node, terms, [axes.factors[i] for i in reduced]):
                return _BROKEN
            paired, reach = PAIRED[name]
            return Term(
                NUMBER,
                target,
                pair_groups(paired, parts, groups, axes),
                reach,
                guard=guard,
                reads_metric=reads,
            )
        if name == "quantile":
            q = self._as_number(node.arguments[1])
            if q.kind == BROKEN:
                return q
            if q.constant is None or not 0 <= q.constant <= 1:
                return self.fail(
                    "the second argument of `quantile` is a number from 0 to 1", node.arguments[1]
                )
            evaluate = reduce_groups(
                quantile(q.constant), parts[0], groups, axes, "vacuous", three_valued=False
            )
            return Term(NUMBER, target, evaluate, terms[0].range, guard=guard, reads_metric=reads)
        spec = REDUCTIONS[name]
        largest = max((len(g) for g in groups), default=0)
        labels: tuple[str, ...] = ()
        if spec.gives == LABEL:
            labels = tuple(", ".join(key[i] for i in reduced) for key in axes.keys)
        evaluate = reduce_groups(
            spec.function, parts[0], groups, axes, spec.why, three_valued=name in ("all", "any")
        )
        if spec.gives == LABEL:
            evaluate = labelled(evaluate, groups)
        return Term(
            spec.gives,
            target,
            evaluate,
            spec.range(terms[0].range, largest),
            labels=labels,
            guard=guard,
            reads_metric=reads,
        )

    def _vary(self, node: syntax.Call, terms: Sequence[Term], reduced: Sequence[str]) -> bool:
        """Whether both sides have a factor that is reduced: one that has none is one value throughout."""
        for argument, term in zip(node.arguments, terms, strict=True):
            if not set(term.axes.factors) & set(reduced):
                self.fail(
                    f"`{node.function}` is undefined whatever the records say: this side is one value "
                    f"throughout, expected one that varies over {_listed(reduced)}",
                    argument,
                )
                return False
        return True

    def _groups(self, node: syntax.Call, axes: Axes) -> tuple[Axes, list[np.ndarray], list[int]] | None:
        """Target axes, the columns of each of its keys, and which factors are reduced."""
        found = group_by(axes, node.over)
        if isinstance(found, str):
            self.fail(f"`over={found}`: the vector has no such factor; it has {_listed(axes.factors)}", node)
            return None
        return found


def group_by(axes: Axes, over: tuple[str, ...] | None) -> tuple[Axes, list[np.ndarray], list[int]] | str:
    """Reduce axes over some factors (all, where None); the unknown factor's name where it has none such."""
    if over is None:
        everything = np.arange(len(axes), dtype=np.intp)
        return SCALAR, [everything], list(range(len(axes.factors)))
    for factor in over:
        if factor not in axes.factors:
            return factor
    reduced = [i for i, f in enumerate(axes.factors) if f in over]
    kept = [i for i, f in enumerate(axes.factors) if f not in over]
    if not kept:
        return SCALAR, [np.arange(len(axes), dtype=np.intp)], reduced
    groups: dict[Key, list[int]] = {}
    for i, key in enumerate(axes.keys):
        groups.setdefault(tuple(key[j] for j in kept), []).append(i)
    target = Axes(tuple(axes.factors[j] for j in kept), tuple(groups))
    return target, [np.array(g, dtype=np.intp) for g in groups.values()], reduced


_LONGEST = 8
"""Operands of a chain whose ends are looked at: all pairs of a longer one would cost too much."""


def enclosing(node: syntax.Chain | syntax.Within) -> list[tuple[str, syntax.Node, syntax.Node]]:
    """The pairs (op, lower end, upper end) with something between them: `<` where one link is strict."""
    if isinstance(node, syntax.Within):
        return [("<=", node.low, node.high)]
    out: list[tuple[str, syntax.Node, syntax.Node]] = []
    if len(node.operands) > _LONGEST:
        return out
    for rising in ("<", ">"):
        for i in range(len(node.ops)):
            for j in range(i + 2, len(node.operands)):
                links = node.ops[i:j]
                if any(op not in (rising, rising + "=") for op in links):
                    break
                ends = (node.operands[i], node.operands[j])
                low, high = ends if rising == "<" else ends[::-1]
                out.append(("<" if rising in links else "<=", low, high))
    return out


_SCALAR = {
    "abs": (1, 1),
    "minimum": (2, 20),
    "maximum": (2, 20),
    "ln": (1, 1),
    "exp": (1, 1),
    "sqrt": (1, 1),
    "if": (3, 3),
    "defined": (1, 1),
    "undefined": (1, 1),
}
POLICY_FUNCTIONS = frozenset({*_SCALAR, *REDUCTIONS, *PAIRED, "quantile", "point", "differs"})

_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
}


_ELEMENTARY: dict[str, Callable[..., np.ndarray]] = {"ln": np.log, "exp": np.exp, "sqrt": np.sqrt}


class _CircularError(ExpressionError):
    """A name that is defined by itself: told wherever it is met, as no one definition is at fault."""


def _note(where: list[ExpressionError], message: str, node: syntax.Node | syntax.Selector) -> None:
    # the middle of a chain is read twice, and what is wrong with it is told once
    if not any((x.message, x.start, x.end) == (message, node.start, node.end) for x in where):
        where.append(ExpressionError(message, node.start, node.end))


def _nothing(_: Frame) -> Result:
    raise AssertionError("a broken term is never evaluated")


_BROKEN = Term(BROKEN, SCALAR, _nothing)


def _matching(values: Sequence[str], wanted: str | Decimal) -> list[str]:
    """The factor values that are meant: a text first as it is, a number by its decimal value."""
    if isinstance(wanted, str) and wanted in values:
        return [wanted]
    number = as_decimal(factor_text(wanted))
    return [] if number is None else [value for value in values if as_decimal(value) == number]


def _holds(op: str, value: Decimal | None, bound: Decimal) -> bool:
    if value is None:  # `none` never matches a comparison
        return False
    return {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}[op]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{x}`" for x in names) if names else "none"


def _some(values: Sequence[str], most: int = 8) -> str:
    shown = list(dict.fromkeys(values))
    return ", ".join(shown[:most]) + (" …" if len(shown) > most else "")
