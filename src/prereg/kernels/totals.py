"""Weighted sums of decimals over rows and their quotients, each the double nearest to the exact one.

Where the scaled numbers and their sums fit a double they are summed as they are. Where they do not, each
distinct number is written out as a whole number and cut into limbs, each of which is summed exactly; the
quotient is then made of pairs of doubles (Dekker 1971), or of Python's integers where these do not do. Either
way a policy's sum is that of its own rows: no other policy's numbers leave a trace in it.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass
from prereg.decimals import as_whole, divided, places_of
from prereg.kernels.panel import ratio
from prereg.kernels.whole import LIMB_BITS, Whole

if TYPE_CHECKING:
    from prereg.kernels.panel import Bools, Floats

Integers = npt.NDArray[np.int64]
Pair: TypeAlias = "tuple[Floats, Floats]"
"""A number as the sum of two doubles, the second below the last bit of the first."""

_LARGEST = 2.0**53
# Below it lower limbs may vanish.
_FAINT = 1e-200


@dataclass(frozen=True, eq=False)
class _Written:
    """Numbers (P, U, K) as whole multiples of 10**-places: the distinct ones, and where each stands."""

    whole: list[int]
    where: npt.NDArray[np.intp]
    places: int

    @classmethod
    def of(cls, column: Floats, most: int) -> _Written:
        """Write a column out; what needs more than `most` places is rounded."""
        distinct, where = np.unique(column, return_inverse=True)
        values = distinct.tolist()
        places = places_of(values, most)
        return cls(as_whole(values, places), where.reshape(column.shape), places)

    def times(self, other: _Written) -> _Written:
        """The products, number by number."""
        pairs, where = np.unique(self.where * len(other.whole) + other.where, return_inverse=True)
        products = [
            self.whole[p // len(other.whole)] * other.whole[p % len(other.whole)] for p in pairs.tolist()
        ]
        return _Written(products, where.reshape(self.where.shape), self.places + other.places)

    def limbs(self) -> list[Integers]:
        """(P, U, K) each, the largest first: digits to the base 2**26, the first with the sign."""
        bits = max((abs(n).bit_length() for n in self.whole), default=0)
        count = max(1, -(-bits // LIMB_BITS))
        low = (1 << LIMB_BITS) - 1
        out = []
        for i in reversed(range(count)):
            digits = [n >> (LIMB_BITS * i) for n in self.whole]
            if i < count - 1:
                digits = [d & low for d in digits]
            out.append(np.array(digits, dtype=np.int64)[self.where])
        return out


class Total:
    """The weighted sum over the rows of each policy, of one number or of the product of two."""

    def __init__(self, columns: list[Floats], decimals: list[int], most_places: list[int]) -> None:
        """Take one or two columns of finite numbers (P, U, K), 0 where there is no row.

        `decimals` (see `Rows.decimals`) only chooses the faster way; digits beyond `most_places` are rounded
        away: 22 for what 12 decimals are shown of, all of them for weights, whose unit does not matter.
        """
        scaled = [x * 10.0 ** max(d, 0) for x, d in zip(columns, decimals, strict=True)]
        largest = [max(float(np.abs(x).max(initial=0.0)), 1.0) for x in scaled]
        rows = columns[0].shape[1] * columns[0].shape[2]  # a resample draws as many units as there are
        if min(decimals) >= 0 and math.prod(largest) * rows < _LARGEST > 10.0 ** sum(decimals) * rows:
            self.places = sum(decimals)
            whole = np.rint(scaled[0]).astype(np.int64)
            for other in scaled[1:]:
                whole = whole * np.rint(other).astype(np.int64)
            limbs = [whole]
        else:
            written = [_Written.of(x, most) for x, most in zip(columns, most_places, strict=True)]
            product = functools.reduce(_Written.times, written)
            self.places = product.places
            limbs = product.limbs()
        self._limbs = [Whole(limb.sum(axis=2).T) for limb in limbs]

    def sums(self, weights: Floats) -> Sums:
        """The sums of (R, P) policies and resamples, times 10**places."""
        return Sums([limb.sums(weights) for limb in self._limbs])


class Sums:
    """Whole numbers (R, P), in limbs to the base 2**26, the largest first; only the first has a sign."""

    def __init__(self, limbs: list[Floats]) -> None:
        self._limbs = limbs

    def over(self, other: Sums, places: int) -> Floats:
        """(R, P): the quotient by other whole numbers and 10**places; NaN where these are 0."""
        up, down = 10.0 ** max(-places, 0), 10.0 ** max(places, 0)
        if len(self._limbs) == len(other._limbs) == 1:
            return ratio(self._limbs[0] * up, other._limbs[0] * down)
        above, below = self._pair(), other._pair()
        exponent = LIMB_BITS * (len(self._limbs) - len(other._limbs))
        with np.errstate(over="ignore", invalid="ignore"):  # such cells are faint, and divided again below
            value = np.ldexp(_quotient(_times(above, up), _times(below, down)), exponent)
        value = np.where(other.zero, np.nan, value)
        faint = ((np.abs(above[0]) < _FAINT) & ~self.zero) | ((below[0] < _FAINT) & ~other.zero)
        for cell in np.argwhere(faint).tolist():
            numerator, denominator = self._whole(cell, value), other._whole(cell, value)
            value[*cell] = divided(numerator * 10 ** max(-places, 0), denominator * 10 ** max(places, 0))
        return value

    @property
    def zero(self) -> Bools:
        """(R, P): where all limbs are 0, and so the number."""
        none: Bools = np.logical_and.reduce([limb == 0 for limb in self._limbs])
        return none

    def _pair(self) -> Pair:
        """In units of the first limb, as a double and what it leaves, right to a relative 2**-100.

        The first addition that rounds leaves 2**27 or more, which the limbs that follow cannot cancel.
        """
        total, rest = self._limbs[0], np.zeros(self._limbs[0].shape)
        for i, limb in enumerate(self._limbs[1:], 1):
            term = np.ldexp(limb, -LIMB_BITS * i)
            new = total + term
            part = new - total
            rest = rest + ((total - (new - part)) + (term - part))
            total = new
        return total, rest

    def _whole(self, cell: list[int], like: Floats) -> int:
        total = 0
        for limb in self._limbs:
            total = (total << LIMB_BITS) + int(np.broadcast_to(limb, like.shape)[*cell])
        return total


ONE = Sums([np.ones((1, 1))])
"""What a sum is divided by that is no mean."""


def _product(x: Floats, y: float | Floats) -> Pair:
    """X * y, and what rounding took from it (with the splitting of Veltkamp)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(np.asarray(y))
    return product, x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Floats) -> Pair:
    """The upper and lower 26 bits of each number."""
    shifted = x * (2.0**27 + 1.0)
    high = shifted - (shifted - x)
    return high, x - high


def _times(x: Pair, power: float) -> Pair:
    high, low = _product(x[0], power)
    return high, low + x[1] * power


def _quotient(above: Pair, below: Pair) -> Floats:
    """The quotient of two pairs, rounded once."""
    first = ratio(above[0], below[0])
    back, error = _product(first, below[0])
    rest = ((above[0] - back) - error) + above[1] - first * below[1]
    return first + ratio(rest, below[0])
