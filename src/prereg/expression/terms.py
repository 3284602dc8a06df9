"""A term: what an expression over policies means before any number is known, and how to compute it.

A term knows its kind, the policies it speaks of (axes), the range it can lie in, and a function from a frame
(the metrics of one block of resamples) to an array (R, P).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from prereg.dataclass import dataclass, replace
from prereg.expression.ranges import ANY, Range
from prereg.values import CODE, INHERITED, SCALAR, Axes, positions, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg.ranks import Ranked

NUMBER, TRUTH, LABEL, BROKEN = "number", "truth", "label", "broken"


LeftOut = frozenset[tuple[tuple[str, str], ...]]


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known beside the numbers, at the point alone.

    `reasons`: int8 (P,), why a value is undefined (0: it is not).
    `counts`: per reduction or metric, in the order written: (n, number undefined), each int64 (P,).
    `left_out`: per reduction and value: the policies it left out, each as its (factor, value) pairs, to see
    whether two reductions compare the same ones.
    """

    reasons: np.ndarray
    counts: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    left_out: tuple[tuple[LeftOut, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Result:
    """The values of a term in one block: (R, P), and the facts where the block holds the point (row 0)."""

    data: np.ndarray
    facts: Facts | None


class Frame(Protocol):
    """One block of resamples, seen from expressions."""

    rows: int
    first: bool

    def metric(self, name: str, degenerate: str | None) -> Result:
        """All values of a metric: (R, P) over the metric's own policies."""
        ...

    def ranked(self, data: np.ndarray) -> Ranked | np.ndarray:
        """The same values, ranked at most once in this block where they are one metric's own."""
        ...


@dataclass(frozen=True)
class MetricRef:
    """Where a term is one metric itself: its name, which kind of policies, and its positions among them."""

    name: str
    degenerate: str | None
    where: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Term:
    """A typed piece of an expression over policies.

    `floating`: a factor or attribute, which takes the factors of what it meets.
    `guard`: True if it speaks of degenerate or known-answer policies alone, False if of real ones, else None.
    `lay`: where the term is made of others policy by policy, how to make it on other axes; a policy that an
    input does not have is then an undefined input (`defined(x)` is false there), not an undefined result.
    """

    kind: str
    axes: Axes
    evaluate: Callable[[Frame], Result]
    range: Range = ANY
    constant: float | None = None
    labels: tuple[str, ...] = ()
    floating: bool = False
    guard: bool | None = None
    metric: MetricRef | None = None
    reads_metric: bool = False
    factor: str | None = None
    lay: Callable[[Axes], Callable[[Frame], Result]] | None = None


def _never(_: Frame) -> Result:
    raise AssertionError("a broken term is never evaluated")


BROKEN_TERM = Term(BROKEN, SCALAR, _never)
"""What a piece with a problem becomes; nothing more is said of what it stands in."""


def no_facts(size: int) -> Facts:
    """Facts of values that are all defined and count nothing."""
    return Facts(np.zeros(size, dtype=np.int8))


def constant(value: float) -> Term:
    """A number written in the expression."""

    def evaluate(frame: Frame) -> Result:
        return Result(np.full((frame.rows, 1), value), no_facts(1) if frame.first else None)

    return Term(NUMBER, SCALAR, evaluate, Range(value, value), value)


def text(value: str) -> Term:
    """A label written in the expression."""

    def evaluate(frame: Frame) -> Result:
        return Result(np.zeros((frame.rows, 1)), no_facts(1) if frame.first else None)

    return Term(LABEL, SCALAR, evaluate, labels=(value,))


def undefined(axes: Axes, reason: str, template: Term) -> Term:
    """A value that is undefined everywhere, for one reason."""
    size = len(axes)

    def evaluate(frame: Frame) -> Result:
        facts = None
        if frame.first:
            zero = np.zeros(size, dtype=np.int64)
            facts = Facts(np.full(size, CODE[reason], dtype=np.int8), ((zero, zero + 1),))
        return Result(np.full((frame.rows, size), np.nan), facts)

    return replace(
        template, axes=axes, evaluate=evaluate, metric=None, constant=None, floating=False, lay=None
    )


def spread(term: Term, axes: Axes) -> Callable[[Frame], Result]:
    """The term's values laid out on other axes, by key; a missing partner is undefined."""
    if axes is term.axes or axes == term.axes:
        return term.evaluate
    where = positions(term.axes, axes)
    if term.lay is not None and (where < 0).any():
        return term.lay(axes)

    def evaluate(frame: Frame) -> Result:
        result = term.evaluate(frame)
        facts = None
        if result.facts is not None:
            facts = spread_facts(result.facts, where)
        return Result(take(result.data, where), facts)

    return evaluate


def spread_facts(facts: Facts, where: np.ndarray) -> Facts:
    """Facts laid out on other axes."""
    lost = where < 0
    reasons = np.where(lost, CODE["no_partner"], _pick(facts.reasons, where)).astype(np.int8)
    counts = tuple(
        (np.where(lost, 0, _pick(n, where)), np.where(lost, 1, _pick(missing, where)))
        for n, missing in facts.counts
    )
    left_out = tuple(
        tuple(frozenset() if i < 0 else sets[i] for i in where.tolist()) for sets in facts.left_out
    )
    return Facts(reasons, counts, left_out)


def _pick(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    if len(values) == 0:
        return np.zeros(len(where), dtype=values.dtype)
    picked: np.ndarray = values[where]
    return picked


def merge_facts(*many: Facts) -> Facts:
    """Facts of a value made from several, all counts in the order written.

    Its reason is the first one that was inherited, else the first: whether an input is undefined does not
    depend on the order in which a sum is written.
    """
    reasons = many[0].reasons
    for other in many[1:]:
        first = (reasons != 0) & (INHERITED[reasons] | ~INHERITED[other.reasons])
        reasons = np.where(first, reasons, other.reasons).astype(np.int8)
    return Facts(
        reasons,
        tuple(x for facts in many for x in facts.counts),
        tuple(x for facts in many for x in facts.left_out),
    )


def guards(*terms: Term) -> bool | None:
    """Whether what is made from these speaks of guard policies alone."""
    known = [t.guard for t in terms if t.guard is not None]
    return all(known) if known else None
