"""Doubles read as the decimals they stand for: where the digits of a number end and its noise begins.

A double holds every decimal of 15 significant digits, so that many can be trusted; what arithmetic leaves
behind them is noise and decides nothing. Reference: the 15 of `DBL_DIG` in ISO C, 5.2.4.2.2.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

PLACES = 12
FINE = 1000.0
"""Below it 12 decimals are at most 15 significant digits."""
COARSE = 8192.0
"""From here on neighbouring doubles are further apart than 12 decimals."""

# Powers of ten that a double holds: x * 10**k and x / 10**k round once.
_POWERS = np.array([float(10**k) for k in range(23)])
# A number from 10**k on, below 10**(k + 1), has 14 - k places: 22 from 1e-8 on, none from 1e14 on.
_STEPS = np.array([float(f"1e{k}") for k in range(-8, 16)])
MOST_PLACES = len(_POWERS) - 1
_WIDE = Context(prec=800)  # of a double's digits none is lost, wherever the point stands


def rounded(x: Floats, *, keep_infinite: bool = False) -> Floats:
    """Round to 12 decimals, ties to even; minus zero becomes zero. From 8192 on there is nothing to round.

    What is beyond any double becomes NaN, undefined, or is kept.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        result: Floats = np.round(x, PLACES)
    result += 0.0
    if _peak(x) >= COARSE:
        np.copyto(result, x, where=np.abs(x) >= COARSE)
        if not keep_infinite:
            result[np.isinf(result)] = np.nan
    return result


def settled(x: Floats) -> Floats:
    """Round what was computed from other values: `rounded`, and from 1000 on to 15 significant digits."""
    result = rounded(x)
    if _peak(x) >= FINE:
        large = np.abs(result) >= FINE
        values = result[large]
        result[large] = _to_digits(values, np.abs(values))
    return result


def _peak(x: Floats) -> float:
    """The largest size, NaN left out."""
    high, low = (f.reduce(x, axis=None, initial=0.0) for f in (np.fmax, np.fmin))
    return max(float(high), -float(low))


def carried(result: Floats, *terms: Floats) -> Floats:
    """Round a sum or difference where the 15 significant digits of its largest term end.

    0.3 - 0.2 is 0.1, and so is 12000.3 - 12000.2, whatever the doubles leave. Below 1e-8 and from 1e15 on the
    result stays as it is, and whole numbers always do.
    """
    size = np.abs(terms[0])
    for term in terms[1:]:
        size = np.maximum(size, np.abs(term))
    return _to_digits(result, size)


def significant(x: Floats) -> Floats:
    """Round to 15 significant digits: the decimal that a product or a quotient of decimals stands for."""
    return carried(x, x)


def difference(x: Floats, y: Floats) -> Floats:
    """`x - y` as it is compared with 0: carried and settled; NaN where undefined or beyond any double."""
    with np.errstate(invalid="ignore", over="ignore"):
        return settled(carried(x - y, x, y))


def _to_digits(x: Floats, size: Floats) -> Floats:
    """Round `x` to as many places as 15 significant digits of `size` leave."""
    step = np.searchsorted(_STEPS, size, side="right")  # 0: below 1e-8; NaN and the largest come last
    inside = (step > 0) & (step < len(_STEPS))
    power = _POWERS[np.where(inside, len(_STEPS) - 1 - step, 0)]
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(inside, np.rint(x * power) / power + 0.0, x)


def plain_places(x: Floats) -> int:
    """Return the least number of decimals, 0 to 9, that writes every number; -1 where more are needed."""
    for k in range(10):
        scale = _POWERS[k]
        with np.errstate(over="ignore", invalid="ignore"):
            if (np.round(x * scale) / scale == x).all():
                return k
    return -1


def places_of(values: list[float], most: int) -> int:
    """How many places write all of these finite numbers, at most `most`."""
    exponents = (Decimal(repr(value)).as_tuple().exponent for value in values)
    return max(0, min(most, max((-e for e in exponents if isinstance(e, int)), default=0)))


def as_whole(values: list[float], places: int = PLACES) -> list[int]:
    """Finite numbers as whole multiples of 10**-places; what is finer is rounded, ties to even."""
    scaled = (Decimal(repr(value)).scaleb(places, _WIDE) for value in values)
    return [int(x.to_integral_value(ROUND_HALF_EVEN, _WIDE)) for x in scaled]


def divided(numerator: int, denominator: int) -> float:
    """Return the double nearest to a quotient; infinite where it is beyond any, NaN where it is by 0."""
    if not denominator:
        return math.nan
    try:
        return numerator / denominator
    except OverflowError:
        return -math.inf if (numerator < 0) != (denominator < 0) else math.inf
