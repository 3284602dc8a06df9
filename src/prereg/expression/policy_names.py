"""What a name means over policies: a metric, a let or a factor, and of which policies `metric[…]` speaks.

What is not there is told with the nearest name that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import replace
from prereg.errors import listed, quoted, suggestion
from prereg.expression import ranges, syntax
from prereg.expression.evaluation import fixed
from prereg.expression.operators import COMPARISONS
from prereg.expression.syntax import ExpressionError
from prereg.expression.terms import (
    BROKEN,
    BROKEN_TERM,
    LABEL,
    NUMBER,
    Frame,
    MetricRef,
    Result,
    Term,
    constant,
    spread_facts,
    text,
    undefined,
)
from prereg.values import SCALAR, Axes, Key, as_decimal, factor_text, take

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from prereg.expression.environment import Environment
    from prereg.expression.policies import Compiler


MOST_WRITTEN_OUT = 2_000
"""How many names of `let` an expression may come to, with each one replaced by what it stands for."""


class _TogetherError(ExpressionError):
    """What names of `let` come to together: told wherever it is met, as no one definition is at fault."""


def named(compiler: Compiler, node: syntax.Node, name: str) -> Term:
    """The term of a name by itself."""
    env = compiler.env
    if name in env.broken:
        return BROKEN_TERM
    if name in env.metrics:
        return _metric(compiler, name)
    if name in env.lets:
        if name in compiler.open_lets:
            path = " -> ".join((*compiler.open_lets[compiler.open_lets.index(name) :], name))
            compiler.problems.append(
                _TogetherError(f"`{name}` is defined by itself: {path}", node.start, node.end)
            )
            return BROKEN_TERM
        compiler.written_out += 1
        if compiler.written_out > MOST_WRITTEN_OUT:
            message = f"written out, this holds more than {MOST_WRITTEN_OUT} names of `let`"
            compiler.problems.append(_TogetherError(message, node.start, node.end))
            return BROKEN_TERM
        before, compiler.open_lets = compiler.open_lets, (*compiler.open_lets, name)
        outer = compiler.problems, compiler.warnings
        compiler.problems, compiler.warnings = [], []
        try:
            term = compiler.term(env.lets[name])
            together = [x for x in compiler.problems if isinstance(x, _TogetherError)]
        finally:
            compiler.open_lets = before
            compiler.problems, compiler.warnings = outer
        if together:  # all other problems are told where the name is defined
            compiler.problems.append(_TogetherError(together[0].message, node.start, node.end))
        return term
    if name in env.factors:
        return _factor(compiler, name)
    known = [*env.metrics, *env.lets, *env.factors]
    values = [v for vs in env.factors.values() for v in vs]
    if name in values or name in env.degenerate:
        return compiler.fail(
            f"`{name}` is a policy, not a metric; write metric[{name}], or quote it as a label", node
        )
    hint = suggestion(name, known) or f"; known: {listed(known)}"
    return compiler.fail(f"unknown metric `{name}`{hint}", node)


def _metric(compiler: Compiler, name: str) -> Term:
    metric = compiler.env.metrics[name]
    if compiler.degenerate is not None and not compiler.reducing and not metric.attribute:
        return _degenerate_metric(compiler.env, name, compiler.degenerate)
    if compiler.degenerate is not None and metric.attribute and not compiler.reducing:
        return undefined(SCALAR, "undefined_input", constant(0.0))
    keep = [i for i, key in enumerate(metric.axes.keys) if key not in metric.excluded]
    axes = metric.axes
    if len(keep) < len(axes):
        axes = Axes(axes.factors, tuple(axes.keys[i] for i in keep))
    return _metric_term(compiler.env, name, None, axes, tuple(keep))


def _degenerate_metric(env: Environment, name: str, degenerate: str) -> Term:
    metric = env.metrics[name]
    axes = metric.degenerate.get(degenerate)
    if axes is None:
        return undefined(SCALAR, "undefined_input", constant(0.0))
    return _metric_term(env, name, degenerate, axes, tuple(range(len(axes))))


def _metric_term(
    env: Environment, name: str, degenerate: str | None, axes: Axes, where: tuple[int, ...]
) -> Term:
    metric = env.metrics[name]
    index = np.array(where, dtype=np.intp)
    whole = len(where) == len(metric.axes) and degenerate is None

    def evaluate(frame: Frame) -> Result:
        result = frame.metric(name, degenerate)
        if whole:
            return result
        facts = None if result.facts is None else spread_facts(result.facts, index)
        return Result(take(result.data, index), facts)

    guard = degenerate is not None or _known_answers(env, axes, axes.keys)
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


def _known_answers(env: Environment, axes: Axes, keys: Sequence[Key]) -> bool:
    """Whether these policies are all of arms whose answers are known."""
    if not env.guard_arms or not keys or env.arm_factor not in axes.factors:
        return False
    column = axes.factors.index(env.arm_factor)
    return all(key[column] in env.guard_arms for key in keys)


def _factor(compiler: Compiler, name: str) -> Term:
    values = compiler.env.factors[name]
    numbers = [as_decimal(v) for v in values]
    axes = Axes((name,), tuple((v,) for v in values))
    numeric = all(d is not None or v == "none" for d, v in zip(numbers, values, strict=True))
    # a degenerate policy has no gate and no arm
    if compiler.degenerate is not None and not compiler.reducing:
        template = constant(0.0) if numeric else replace(text(""), labels=values)
        return replace(undefined(SCALAR, "undefined_input", template), factor=name)
    if numeric:
        data = np.array([np.nan if d is None else float(d) for d in numbers])
        known = [float(d) for d in numbers if d is not None]
        reach = ranges.Range(min(known), max(known)) if known else ranges.ANY
        return Term(NUMBER, axes, fixed(data), reach, floating=True, factor=name)
    codes = np.arange(len(values), dtype=np.float64)
    return Term(LABEL, axes, fixed(codes), labels=values, floating=True, factor=name)


def as_label(env: Environment, term: Term) -> Term:
    """A numeric factor read as the text of its values."""
    if term.kind == LABEL or term.factor is None:
        return term
    values = env.factors[term.factor]
    if term.axes.scalar:
        return replace(term, kind=LABEL, labels=values)
    codes = np.arange(len(values), dtype=np.float64)
    return Term(LABEL, term.axes, fixed(codes), labels=values, floating=True, factor=term.factor)


def selected(compiler: Compiler, node: syntax.Selection) -> Term:
    """The term of `name[…]`."""
    name = node.name
    env = compiler.env
    if name in env.broken:
        return BROKEN_TERM
    if name not in env.metrics and name not in env.lets:
        known = [*env.metrics, *env.lets]
        if name in env.factors:
            return compiler.fail(f"`{name}` is a factor; select from a metric", node)
        hint = suggestion(name, known) or f"; known: {listed(known)}"
        return compiler.fail(f"unknown metric `{name}`{hint}", node)
    selectors = list(node.selectors)
    chosen = [s for s in selectors if _names_degenerate(compiler.env, name, s)]
    if chosen:
        return _select_degenerate(compiler, node, chosen, [s for s in selectors if s not in chosen])
    outer, compiler.degenerate = compiler.degenerate, None
    try:
        term = named(compiler, node, name)
    finally:
        compiler.degenerate = outer
    if term.kind == BROKEN:
        return term
    picked = _select_all(compiler, name, term, selectors)
    if picked is None:
        return BROKEN_TERM
    if len(picked.axes) == 0:
        picked = _none_left(compiler, node, picked, _why_none(compiler, node))
    return replace(picked, floating=False)


def _select_all(
    compiler: Compiler, name: str, term: Term, selectors: Sequence[syntax.Selector]
) -> Term | None:
    for selector in selectors:
        picked = _select(compiler, name, term, selector)
        if picked is None:
            return None
        term = picked
    return term


def _none_left(compiler: Compiler, node: syntax.Selection, picked: Term, reason: str) -> Term:
    """What no policy is left of: allowed, undefined, and warned of."""
    why = "is excluded" if reason == "excluded" else "has these values"
    subject = "every such policy" if reason == "excluded" else "no policy"
    syntax.note(compiler.warnings, f"{subject} of `{node.name}` {why}: this is undefined", node)
    return undefined(SCALAR, reason, picked) if picked.axes.scalar else picked


def _why_none(compiler: Compiler, node: syntax.Selection) -> str:
    """Whether there were such policies before some were excluded."""
    metric = compiler.env.metrics.get(node.name)
    if metric is not None and metric.excluded:
        where = tuple(range(len(metric.axes)))
        every = _metric_term(compiler.env, node.name, None, metric.axes, where)
        whole = _select_all(compiler, node.name, every, node.selectors)
        if whole is not None and len(whole.axes):
            return "excluded"
    return "no_partner"


def _names_degenerate(env: Environment, name: str, selector: syntax.Selector) -> bool:
    value = selector.values[0]
    if selector.op != "=" or not isinstance(value, str) or name in env.lets:
        return False
    return value in env.metrics[name].degenerate and selector.factor in (None, env.arm_factor)


def _select_degenerate(
    compiler: Compiler, node: syntax.Selection, chosen: list[syntax.Selector], others: list[syntax.Selector]
) -> Term:
    if len(chosen) > 1:
        return compiler.fail("one degenerate policy at a time", chosen[1])
    term = _degenerate_metric(compiler.env, node.name, str(chosen[0].values[0]))
    picked = _select_all(compiler, node.name, term, others)
    if picked is None:
        return BROKEN_TERM
    return picked if len(picked.axes) else _none_left(compiler, node, picked, "no_partner")


def _select(compiler: Compiler, name: str, term: Term, selector: syntax.Selector) -> Term | None:
    factors = term.axes.factors
    env = compiler.env
    if selector.factor is None:
        value = selector.values[0]
        found = [f for f in factors if _matching(env.factors.get(f, ()), value)]
        spoken = factor_text(value)
        if len(found) > 1:
            one = spoken if isinstance(value, str) and syntax.NAME.match(value) else f'"{spoken}"'
            one = one if isinstance(value, str) else spoken
            compiler.fail(f"`{spoken}` is a value of {quoted(found)}; write {found[0]}={one}", selector)
            return None
        if not found:
            known = [v for f in factors for v in env.factors.get(f, ())]
            if name in env.metrics:
                known += list(env.metrics[name].degenerate)
            hint = suggestion(spoken, known) or f"; known: {first_of(known)}"
            if spoken in env.degenerate:
                hint = "; that policy has no value of it"
            elsewhere = [f for f, v in env.factors.items() if f not in factors and _matching(v, value)]
            if elsewhere:
                hint = f"; `{name}` does not depend on `{elsewhere[0]}`, or it was selected already"
            elif not factors:
                hint = "; nothing is left to select from"
            compiler.fail(f"no policy of `{name}` is called `{spoken}`{hint}", selector)
            return None
        factor = found[0]
    else:
        factor = selector.factor
        if factor not in factors:
            if factor in env.factors:
                compiler.fail(f"`{name}` does not depend on `{factor}`, or it was selected already", selector)
            else:
                compiler.fail(f"unknown factor `{factor}`{suggestion(factor, factors)}", selector)
            return None
    values = env.factors[factor]
    if selector.op in ("=", "!=", "in"):
        wanted = set()
        for value in selector.values:
            matching = _matching(values, value)
            if not matching:
                hint = suggestion(factor_text(value), values) or f"; known: {first_of(values)}"
                compiler.fail(f"`{factor}` has no value `{factor_text(value)}`{hint}", selector)
                return None
            if len(matching) > 1:
                shown = " or ".join(f'"{x}"' for x in matching)
                compiler.fail(f"`{factor_text(value)}` may be {shown}: quote the one that is meant", selector)
                return None
            wanted.update(matching)
        column = factors.index(factor)
        keep = [i for i, key in enumerate(term.axes.keys) if (key[column] in wanted) != (selector.op == "!=")]
        return _cut(compiler.env, term, keep, factor if selector.op == "=" else None)
    bound = selector.values[0]
    number = as_decimal(factor_text(bound))
    if number is None:
        compiler.fail(f"`{selector.op}` compares numbers; `{factor_text(bound)}` is none", selector)
        return None
    column = factors.index(factor)
    keep = [i for i, key in enumerate(term.axes.keys) if _holds(selector.op, as_decimal(key[column]), number)]
    return _cut(compiler.env, term, keep, None)


def _cut(env: Environment, term: Term, keep: list[int], factor: str | None) -> Term:
    """The term at some of its keys, with one factor taken away where it was selected."""
    where = np.array(keep, dtype=np.intp)
    factors, keys = term.axes.factors, [term.axes.keys[i] for i in keep]
    guard = term.guard
    if guard is False:
        guard = _known_answers(env, term.axes, keys)
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


def _matching(values: Sequence[str], wanted: str | Decimal) -> list[str]:
    """The factor values that are meant: a text first as it is, a number by its decimal value."""
    if isinstance(wanted, str) and wanted in values:
        return [wanted]
    number = as_decimal(factor_text(wanted))
    return [] if number is None else [value for value in values if as_decimal(value) == number]


def _holds(op: str, value: Decimal | None, bound: Decimal) -> bool:
    # `none` never matches a comparison
    return value is not None and bool(COMPARISONS[op](value, bound))


def first_of(values: Sequence[str], most: int = 8) -> str:
    """The first few values, and a sign that there are more."""
    shown = list(dict.fromkeys(values))
    return ", ".join(shown[:most]) + (" …" if len(shown) > most else "")
