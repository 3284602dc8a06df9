"""A claim with its values filled in: elementary legs, joined by `and`, `or` and `not`.

Every array of values has the observed sample (the point) in row 0 and the resamples in the rows after it.
Truth is kept as -1 (false), 0 (undefined), 1 (true): Kleene's `and`, `or` and `not` are then the minimum,
the maximum and the change of sign, and the same three rules combine verdicts (falsified, failed, held).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prereg.dataclass import dataclass
from prereg.expression.operators import COMPARISONS

Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.int8]
Op = Literal["<", "<=", ">", ">=", "==", "!="]
Count: TypeAlias = int | Sequence[int] | None


@dataclass(frozen=True)
class OneRate:
    """The units behind a rate that is compared with a constant.

    `flipped`: the constant stands on the left, so that d = constant - rate.
    """

    successes: int
    units: int
    flipped: bool = False


@dataclass(frozen=True)
class TwoRates:
    """The units behind two rates over the same units: where left is above right, where it is below."""

    plus: int
    minus: int
    units: int


@dataclass(frozen=True, eq=False)
class Leg:
    """An elementary comparison of two reals, with their difference d = left - right as written.

    `d` has shape (1 + B,), row 0 the point, rounded to 12 decimals by whoever computed it; NaN is undefined.
    `left` and `right` are the sides at the point, `reason` says why the point is undefined. A `point_only`
    leg (`point(c)`) may have row 0 alone. `two_sided` marks `differs(a, b)`, whose `op` is `!=`.
    """

    text: str
    op: Op
    left: float | None
    right: float | None
    d: Floats
    point_only: bool = False
    n: Count = None
    n_undefined: Count = None
    reason: str | None = None
    unpaired: bool = False
    exact: OneRate | TwoRates | None = None
    two_sided: bool = False


@dataclass(frozen=True, eq=False)
class Truth:
    """An elementary statement without a difference: `defined(x)`, `argmin(x) == argmax(y)`, a factor.

    `values` has shape (1 + B,), row 0 the point: 1.0 true, 0.0 false, NaN undefined.
    """

    text: str
    values: Floats
    point_only: bool = False
    n: Count = None
    n_undefined: Count = None
    reason: str | None = None
    unpaired: bool = False


@dataclass(frozen=True, eq=False)
class Junction:
    """`and` or `or` over its children; `all`, `any`, chains and `within` are built as these.

    Without children (an empty selection) it is undefined.
    """

    kind: Literal["and", "or"]
    children: tuple[Node, ...]
    text: str


@dataclass(frozen=True, eq=False)
class Not:
    """`not` of its child."""

    child: Node
    text: str


Elementary: TypeAlias = Leg | Truth
Node: TypeAlias = Leg | Truth | Junction | Not


def compare(op: Op, value: float, bound: float = 0.0) -> bool:
    """Whether `value op bound`, for two defined reals."""
    return bool(COMPARISONS[op](value, bound))


def elementary(node: Node) -> Iterator[Elementary]:
    """Yield the elementary legs below a node, in the order written."""
    match node:
        case Leg() | Truth():
            yield node
        case Not():
            yield from elementary(node.child)
        case Junction():
            for child in node.children:
                yield from elementary(child)


def only_leg(node: Node) -> Elementary | None:
    """Return the leg of a claim with a single leg (perhaps under `not`), None for a compound claim."""
    while isinstance(node, Not):
        node = node.child
    return None if isinstance(node, Junction) else node


def values_of(leg: Elementary) -> Floats:
    """Return the values of a leg, d or truth: shape (1 + B,), or (1,)."""
    return leg.d if isinstance(leg, Leg) else leg.values


def resamples_in(node: Node) -> int | None:
    """Return the number of resamples the legs carry, None where no leg but `point(c)` is there to say.

    Raises ValueError if two legs carry different numbers.
    """
    found = {len(values_of(leg)) - 1 for leg in elementary(node) if not leg.point_only}
    if len(found) > 1:
        raise ValueError(f"legs of one claim carry different numbers of resamples: {sorted(found)}")
    return found.pop() if found else None


def leg_truth(leg: Elementary, resamples: int) -> Truths:
    """Truth of one leg at the point and in each resample: shape (1 + resamples,).

    A `point(c)` leg is the same everywhere: it looks at the point alone. A `differs` leg is true where d
    lies on the side of 0 on which the point lies, so that its support is the share on one side.
    """
    values = values_of(leg)
    if leg.point_only:
        values = np.broadcast_to(values[:1], (1 + resamples,))
    elif len(values) != 1 + resamples:
        raise ValueError(f"{leg.text}: {len(values) - 1} resamples, expected {resamples}")
    if isinstance(leg, Truth):
        true = values > 0
    elif leg.two_sided:
        side = values[0]
        true = values > 0 if side > 0 else values < 0 if side < 0 else np.zeros(len(values), dtype=bool)
    else:
        true = COMPARISONS[leg.op](values, 0.0)
    truth: Truths = np.where(true, 1, -1).astype(np.int8)
    truth[~np.isfinite(values)] = 0
    return truth


def combine(node: Node, of_legs: Iterator[Truths]) -> Truths:
    """Truth (or verdict) of a whole claim by Kleene's rules, `of_legs` in the order of `elementary`."""
    match node:
        case Not():
            return -combine(node.child, of_legs)
        case Junction():
            if not node.children:
                return np.zeros(1, dtype=np.int8)
            fold = np.minimum if node.kind == "and" else np.maximum
            whole = combine(node.children[0], of_legs)
            for child in node.children[1:]:
                whole = fold(whole, combine(child, of_legs))
            return whole
        case _:
            return next(of_legs)


def whole_truth(node: Node, of_legs: Sequence[Truths], resamples: int) -> Truths:
    """Truth of the whole claim at the point and in each resample: shape (1 + resamples,)."""
    return np.broadcast_to(combine(node, iter(of_legs)), (1 + resamples,))
