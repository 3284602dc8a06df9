"""Interval arithmetic over expressions: the two values between which one must lie.

Used at `check` to refuse a prediction that could not come out both ways.  A range is an outer bound: it may
be wider than what can be reached, never narrower.
"""

from __future__ import annotations

import math

import numpy as np

from prereg.dataclass import dataclass
from prereg.decimals import difference

INF = math.inf


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`, both included."""

    low: float = -INF
    high: float = INF

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def single(self) -> bool:
        """Only one value is possible."""
        return self.low == self.high


ANY = Range()
ZERO = Range(0.0, 0.0)
UNIT = Range(0.0, 1.0)
COUNT = Range(0.0, INF)


def _ordered(values: list[float]) -> Range:
    # inf * 0 and inf - inf say nothing about an end; the outer bound is then unlimited
    if any(math.isnan(v) for v in values):
        return ANY
    return Range(min(values), max(values))


def union(ranges: list[Range]) -> Range:
    """The smallest range that holds all of them (everything, where there are none)."""
    if not ranges:
        return ANY
    return Range(min(r.low for r in ranges), max(r.high for r in ranges))


def negate(x: Range) -> Range:
    """-x."""
    return Range(-x.high, -x.low)


def arithmetic(op: str, x: Range, y: Range) -> Range:
    """X op y for + - * / **."""
    if op == "+":
        return _ordered([x.low + y.low, x.high + y.high])
    if op == "-":
        return _ordered([x.low - y.high, x.high - y.low])
    if op == "*":
        products = [a * b if a and b else 0.0 for a in (x.low, x.high) for b in (y.low, y.high)]
        return _ordered(products)
    if op == "/":
        if y.low <= 0 <= y.high:
            if y.low == 0 and y.high > 0 and x.low >= 0:
                return Range(0.0 if y.high == INF else x.low / y.high, INF)
            return ANY
        quotients = [
            a / b if not (math.isinf(a) and math.isinf(b)) else math.nan
            for a in (x.low, x.high)
            for b in (y.low, y.high)
        ]
        return _ordered(quotients)
    return _power(x, y)


def _power(x: Range, y: Range) -> Range:
    try:
        if x.low >= 0 and not (x.low == 0 and y.low < 0):
            return _ordered([a**b for a in (x.low, x.high) for b in (y.low, y.high)])
        if y.single and y.low == int(y.low) and y.low > 0:
            ends = [x.low ** int(y.low), x.high ** int(y.low)]
            if int(y.low) % 2 == 0 and x.low <= 0 <= x.high:
                return Range(0.0, max(ends))
            return _ordered(ends)
    except (OverflowError, ValueError, ZeroDivisionError):
        return ANY
    return ANY


def absolute(x: Range) -> Range:
    """|x|."""
    if x.low >= 0:
        return x
    if x.high <= 0:
        return negate(x)
    return Range(0.0, max(-x.low, x.high))


def minimum(x: Range, y: Range) -> Range:
    """The smaller of the two."""
    return Range(min(x.low, y.low), min(x.high, y.high))


def maximum(x: Range, y: Range) -> Range:
    """The larger of the two."""
    return Range(max(x.low, y.low), max(x.high, y.high))


def monotone(function: str, x: Range) -> Range:
    """ln, exp and sqrt: each end maps to an end; outside the domain the value is undefined."""
    if function == "exp":
        return Range(0.0 if x.low == -INF else _exp(x.low), _exp(x.high))
    low = max(x.low, 0.0)
    high = max(x.high, 0.0)
    if function == "sqrt":
        return Range(math.sqrt(low), math.sqrt(high))
    return Range(-INF if low == 0 else math.log(low), -INF if high == 0 else math.log(high))


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return INF


def outcomes(op: str, left: Range, right: Range) -> tuple[bool, bool]:
    """(can be true, can be false) of `left op right`."""
    # What is compared with 0 is the difference, rounded.
    low, high = _gap(left.low, right.high, -INF), _gap(left.high, right.low, INF)
    if op == ">":
        return high > 0, low <= 0
    if op == ">=":
        return high >= 0, low < 0
    if op == "<":
        return low < 0, high >= 0
    if op == "<=":
        return low <= 0, high > 0
    same, meet = low == high == 0, low <= 0 <= high
    return (meet, not same) if op == "==" else (not same, meet)


def _gap(a: float, b: float, otherwise: float) -> float:
    gap = a - b
    if math.isnan(gap):
        return otherwise
    return gap if math.isinf(gap) else float(difference(np.array([a]), np.array([b]))[0])
