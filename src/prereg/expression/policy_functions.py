"""The functions of expressions over policies: one by one on each policy, or reducing a vector of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from prereg.dataclass import replace
from prereg.errors import quoted, suggestion
from prereg.expression import ranges, syntax
from prereg.expression.evaluation import as_value, definedness, finite, labelled, pair_groups, reduce_groups
from prereg.expression.operators import ELEMENTARY
from prereg.expression.reductions import PAIRED, REDUCTIONS, quantile
from prereg.expression.terms import BROKEN, BROKEN_TERM, LABEL, NUMBER, TRUTH, Term, guards, spread
from prereg.values import SCALAR, Axes, Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.expression.policies import Compiler


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
FUNCTIONS = frozenset({*_SCALAR, *REDUCTIONS, *PAIRED, "quantile", "point", "differs"})


def called(compiler: Compiler, node: syntax.Call) -> Term:
    """The term of a call."""
    name, arguments = node.function, node.arguments
    if name in REDUCTIONS or name in PAIRED or name == "quantile":
        compiler.reducing += 1
        try:
            return _reduce(compiler, node)
        finally:
            compiler.reducing -= 1
    if name in ("point", "differs"):
        return compiler.fail(f"`{name}` stands only in a claim, as a leg of its own", node)
    if name not in _SCALAR:
        return compiler.fail(f"unknown function `{name}`{suggestion(name, FUNCTIONS)}", node)
    if node.over is not None:
        return compiler.fail("`over` belongs to functions that reduce policies", node)
    low, high = _SCALAR[name]
    if not low <= len(arguments) <= high:
        wanted = f"{low}" if low == high else f"{low} to {high}"
        return compiler.fail(f"`{name}` takes {wanted} arguments, found {len(arguments)}", node)
    if name in ("defined", "undefined"):
        return _defined(compiler, node)
    if name == "if":
        return _choose(compiler, node)
    terms = [compiler.as_number(x) for x in arguments]
    if any(t.kind == BROKEN for t in terms):
        return BROKEN_TERM
    if name == "abs":
        return compiler.pointwise(node, NUMBER, ranges.absolute(terms[0].range), np.abs, terms)
    if name in ("minimum", "maximum"):
        smaller = name == "minimum"
        reach = terms[0].range
        for other in terms[1:]:
            reach = (ranges.minimum if smaller else ranges.maximum)(reach, other.range)
        fold = np.minimum if smaller else np.maximum
        return compiler.pointwise(node, NUMBER, reach, lambda *x: functools.reduce(fold, x), terms)
    reach = ranges.monotone(name, terms[0].range)
    return compiler.pointwise(node, NUMBER, reach, finite(ELEMENTARY[name]), terms)


def _defined(compiler: Compiler, node: syntax.Call) -> Term:
    inner = compiler.term(node.arguments[0])
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


def _choose(compiler: Compiler, node: syntax.Call) -> Term:
    condition = compiler.as_truth(node.arguments[0])
    yes, no = compiler.term(node.arguments[1]), compiler.term(node.arguments[2])
    if any(t.kind == BROKEN for t in (condition, yes, no)):
        return BROKEN_TERM
    if LABEL in (yes.kind, no.kind):
        return compiler.fail("`if` chooses between numbers or truth values", node)
    kind = TRUTH if yes.kind == no.kind == TRUTH else NUMBER

    def choose(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(c), np.nan, np.where(c == 1, a, b))

    reach = ranges.union([yes.range, no.range])
    return compiler.pointwise(node, kind, reach, choose, [condition, yes, no])


def _reduce(compiler: Compiler, node: syntax.Call) -> Term:
    name = node.function
    wanted = 2 if name in PAIRED or name == "quantile" else 1
    if len(node.arguments) != wanted:
        return compiler.fail(
            f"`{name}` takes {wanted} argument{'s'[: wanted - 1]}, found {len(node.arguments)}", node
        )
    if name in PAIRED:
        terms = [compiler.as_number(x) for x in node.arguments]
        met = compiler.meet(node, terms)
        if met is None:
            return BROKEN_TERM
        axes = met[0]
        parts = [as_value(term, part) for term, part in zip(terms, met[1], strict=True)]
    else:
        takes = REDUCTIONS[name].takes if name in REDUCTIONS else "number"
        read = compiler.as_truth if takes == "truth" else compiler.as_number
        inner = read(node.arguments[0])
        if inner.kind == BROKEN:
            return inner
        terms, axes, parts = [inner], inner.axes, [as_value(inner, inner.evaluate)]
    if axes.scalar and len(axes):
        return compiler.fail(f"`{name}` reduces a vector over policies; this is one value already", node)
    grouping = grouped(compiler, node, axes)
    if grouping is None:
        return BROKEN_TERM
    target, groups, reduced = grouping
    _warn_of_few(compiler, node, max((len(g) for g in groups), default=0))
    guard, reads = guards(*terms), any(t.reads_metric for t in terms)
    if name in PAIRED:
        if not _vary(compiler, node, terms, [axes.factors[i] for i in reduced]):
            return BROKEN_TERM
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
        q = compiler.as_number(node.arguments[1])
        if q.kind == BROKEN:
            return q
        if q.constant is None or not 0 <= q.constant <= 1:
            return compiler.fail(
                "the second argument of `quantile` is a number from 0 to 1", node.arguments[1]
            )
        evaluate = reduce_groups(quantile(q.constant), parts[0], groups, axes, "vacuous", three_valued=False)
        return Term(NUMBER, target, evaluate, terms[0].range, guard=guard, reads_metric=reads)
    spec = REDUCTIONS[name]
    largest = max((len(g) for g in groups), default=0)
    labels: tuple[str, ...] = ()
    if spec.gives == LABEL:
        labels = tuple(", ".join(key[i] for i in reduced) for key in axes.keys)
    evaluate = reduce_groups(
        spec.function, parts[0], groups, axes, spec.why, three_valued=name in ("all", "any"), least=spec.least
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


def _warn_of_few(compiler: Compiler, node: syntax.Call, largest: int) -> None:
    """Allowed, undefined whatever is measured, and warned of; that nothing is selected was told already."""
    reduction = REDUCTIONS.get(node.function)
    least = 3 if node.function in PAIRED else 1 if reduction is None else reduction.least
    if 0 < largest < least:
        policies = "one policy" if largest == 1 else "two policies"
        syntax.note(
            compiler.warnings,
            f"`{node.function}` over {policies} is undefined: it needs {least} or more",
            node,
        )


def _vary(compiler: Compiler, node: syntax.Call, terms: Sequence[Term], reduced: Sequence[str]) -> bool:
    """Whether both sides have a factor that is reduced: one that has none is one value throughout."""
    for argument, term in zip(node.arguments, terms, strict=True):
        if not set(term.axes.factors) & set(reduced):
            compiler.fail(
                f"`{node.function}` is undefined whatever the records say: this side is one value "
                f"throughout, expected one that varies over {quoted(reduced)}",
                argument,
            )
            return False
    return True


Grouping: TypeAlias = tuple[Axes, list[np.ndarray], list[int]]
"""Target axes, the columns of each of its keys, and which factors are reduced."""


def grouped(compiler: Compiler, node: syntax.Call, axes: Axes) -> Grouping | None:
    """Axes reduced over the factors that a call names, else over all; None where one is not there."""
    for factor in node.over or ():
        if factor not in axes.factors:
            has = quoted(axes.factors)
            compiler.fail(f"`over={factor}`: the vector has no such factor; it has {has}", node)
            return None
    reduced = [i for i, f in enumerate(axes.factors) if node.over is None or f in node.over]
    kept = [i for i in range(len(axes.factors)) if i not in reduced]
    if not kept:
        return SCALAR, [np.arange(len(axes), dtype=np.intp)], reduced
    groups: dict[Key, list[int]] = {}
    for i, key in enumerate(axes.keys):
        groups.setdefault(tuple(key[j] for j in kept), []).append(i)
    target = Axes(tuple(axes.factors[j] for j in kept), tuple(groups))
    return target, [np.array(g, dtype=np.intp) for g in groups.values()], reduced
