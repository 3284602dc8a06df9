"""Doubles read as the decimals they stand for: where the digits of a number end and its noise begins.

A double holds every decimal of 15 significant digits and some of 16, so that many can be trusted; what
arithmetic leaves behind them is noise and decides nothing. Reference: `DBL_DIG` in ISO C, 5.2.4.2.2.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

PLACES = 12
FINE = 2048.0
"""Below it a double has 12 decimals to trust."""
MOST_PLACES = 22
"""10**22 is the largest power of ten that a double holds: with it x * 10**k and x / 10**k round once."""

_POWERS = np.array([float(10**k) for k in range(MOST_PLACES + 1)])
_BIAS = 1023
_LOG = 30103  # 10**5 times the logarithm of 2: near enough for every exponent of a double
_WHOLE = _BIAS + 53
"""The exponent, as the upper bits of a double have it, from which whole numbers are no longer exact."""


def _trusted() -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """By exponent of 2: 10**places of the last digit above the noise, its unit, and whether there is one.

    That is the least power of ten not below four units in the last place of a double: two decimals are off by
    half a unit each, their sum by one more. Below 2**-26 it is finer than 10**-22; up to 2**53 it is at most
    1, as whole numbers are exact.
    """
    power, unit, known = np.ones(2048), np.ones(2048), np.zeros(2048, dtype=bool)
    for exponent in range(-26, 53):
        places = max(0, (50 - exponent) * _LOG // 10**5)  # 10**places is at most 2**(50 - exponent)
        power[exponent + _BIAS], known[exponent + _BIAS] = _POWERS[places], True
    for exponent in range(53, 1024):
        tens = 1 + (exponent - 50) * _LOG // 10**5  # 10**tens is at least 2**(exponent - 50)
        unit[exponent + _BIAS], known[exponent + _BIAS] = float(10**tens), True
    return power, unit, known


_POWER, _UNIT, _KNOWN = _trusted()
_WIDE = Context(prec=800)  # of a double's digits none is lost, wherever the point stands


def rounded(x: Floats, *, keep_infinite: bool = False) -> Floats:
    """Round to 12 decimals, from 2048 on where the trusted digits end; minus zero becomes zero.

    What is beyond any double becomes NaN, undefined, or is kept.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        result: Floats = np.round(x, PLACES)
    result += 0.0
    high, low = (f.reduce(x, axis=None, initial=0.0) for f in (np.fmax, np.fmin))
    if max(high, -low) >= FINE:
        large = np.abs(x) >= FINE
        values = x[large]
        result[large] = _to_digits(values, values)
        if not keep_infinite:
            result[np.isinf(result)] = np.nan
    return result


def carried(result: Floats, *terms: Floats) -> Floats:
    """Round a sum or difference where the trusted digits of its largest term end: 15, often 16.

    0.3 - 0.2 is 0.1, and so is 12000.3 - 12000.2, whatever the doubles leave. Where no term reaches 1.5e-8
    the result stays as it is, and so do whole numbers up to 2**53.
    """
    size = np.abs(terms[0])
    for term in terms[1:]:
        size = np.maximum(size, np.abs(term))
    return _to_digits(result, size)


def significant(x: Floats) -> Floats:
    """Round to the trusted digits: to the decimal that a product or a quotient of decimals stands for."""
    return carried(x, x)


def difference(x: Floats, y: Floats) -> Floats:
    """`x - y` as it is compared with 0: between trusted digits of both, then rounded; NaN where undefined."""
    with np.errstate(invalid="ignore", over="ignore"):
        return rounded(carried(carried(x, x, y) - carried(y, x, y), x, y))


def _to_digits(x: Floats, size: Floats) -> Floats:
    """Round `x` to the last place that can be trusted in numbers of a size."""
    exponent = np.abs(size, dtype=np.float64).view(np.int64) >> 52
    power = _POWER.take(exponent)
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.rint(x * power)
        result /= power
        result += 0.0
        if (large := exponent >= _WHOLE).any():
            unit, kept = _UNIT.take(exponent[large]), np.broadcast_to(x, result.shape)[large]
            ends = np.rint(kept / unit) * unit
            result[large] = np.where(np.isinf(ends), kept, ends)
    np.copyto(result, x, where=~_KNOWN.take(exponent))
    return result


def between(below: Floats, above: Floats, weight: Floats | float) -> Floats:
    """The point at a share of the way between two values, also where their distance is beyond a double.

    Equal neighbours give their value; decimals whose quantile is 0 have it at 0, whatever doubles leave of a
    step over it.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        step = above - below
        far = np.isinf(step) & np.isfinite(below) & np.isfinite(above)
        inside = np.where(far, below * (1 - weight) + above * weight, below + weight * step)
    inside = np.where((below < 0) & (above > 0), carried(inside, below, above), inside)
    return np.where((below == above) | np.isneginf(below), below, np.minimum(inside, above))


def in_parts(x: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Take numbers below 2**53 apart: into whole numbers and whole multiples of 1e-12, of one sign."""
    whole = np.trunc(x)
    exponent = np.abs(x).view(np.int64) >> 52
    power = np.where(exponent < _BIAS, _POWERS[PLACES], np.minimum(_POWER.take(exponent), _POWERS[PLACES]))
    rest = np.rint((x - whole) * power) * (_POWERS[PLACES] / power)
    return whole.astype(np.int64), rest.astype(np.int64)


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
