"""Quantiles, intervals of shares and exact binomial decisions; a number means the decimal that is written.

Positions of quantiles and comparisons of a tail with a bound are settled in exact arithmetic, so none of them
turns on how a double happens to hold 0.95 or 0.1.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from prereg.decimals import PLACES, between

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = npt.NDArray[np.float64]
Number: TypeAlias = int | float | Decimal | Fraction | str
P = TypeVar("P", float, Fraction)

_UNDEFINED = (math.nan, math.nan)
_NEAR = 1e-9  # relative; the float tail is right to about 1e-12, see the tests
_HALF = Fraction(1, 2)
# A count whose big integers are cheap; beyond it a tail is summed in floats.
_SMALL = 1000


def exact(number: Number) -> Fraction:
    """Return the fraction a number stands for: of a float, its shortest decimal (0.1 is 1/10)."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def percentile_interval(d: Floats, level: Number) -> tuple[float, float]:
    """Percentile interval of resampled differences (Efron & Tibshirani 1993, ch. 13).

    `d` has shape (R,), at 12 decimals; NaN is undefined and left out. The ends are the type-7 quantiles at
    (1 - level) / 2 and (1 + level) / 2, and 0 where they are that at 12 decimals; of a constant the interval
    is [x, x]. (NaN, NaN) when no value is defined.
    """
    share = exact(level)
    _require_open(share, "level")
    values = np.asarray(d, dtype=np.float64)
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return _UNDEFINED
    tail = (1 - share) / 2
    return _interpolated(ordered, tail), _interpolated(ordered, 1 - tail)


def quantile(x: Floats, q: Number) -> Floats:
    """Type-7 quantile (Hyndman & Fan 1996) of each row, NaN left out.

    `x` has shape (R, P), `q` lies in [0, 1]; result (R,), NaN where a row has no defined value.
    """
    share = exact(q)
    if not 0 <= share <= 1:
        raise ValueError(f"a quantile must lie in [0, 1], not {q}")
    ordered = np.sort(np.asarray(x, dtype=np.float64), axis=1)  # NaN last
    n = np.count_nonzero(~np.isnan(ordered), axis=1)
    result = np.full(len(ordered), np.nan)
    for size in np.unique(n[n > 0]).tolist():
        rows = n == size
        below, above, weight = _position(size, share)
        result[rows] = _between(ordered[rows, below], ordered[rows, above], weight)
    return result


def normal_quantile(p: Number) -> float:
    """Return the standard normal quantile at `p` in (0, 1) (Wichura 1988, AS 241)."""
    share = exact(p)
    _require_open(share, "probability")
    # The lower tail keeps its digits where 1 - p would lose them.
    return -NormalDist().inv_cdf(float(1 - share)) if share > _HALF else NormalDist().inv_cdf(float(share))


def wilson(k: int, n: int, level: Number) -> tuple[float, float]:
    """Wilson's score interval of a share, `k` of `n` (Wilson 1927).

    The lower end is exactly 0 at k = 0, the upper exactly 1 at k = n. (NaN, NaN) when n = 0.
    """
    _require_count(k, n)
    z = normal_quantile((1 + exact(level)) / 2)
    if n == 0:
        return _UNDEFINED
    square = z * z
    centre = k + square / 2
    spread = z * math.sqrt(k * (n - k) / n + square / 4)
    lower = 0.0 if k == 0 else (centre - spread) / (n + square)
    upper = 1.0 if k == n else (centre + spread) / (n + square)
    return lower, upper


def clopper_pearson(k: int, n: int, level: Number) -> tuple[float, float]:
    """Exact interval of a share, `k` of `n`, tails of (1 - level) / 2 each (Clopper & Pearson 1934).

    Closed forms at k = 0 and k = n, otherwise Newton's method on the log of the tail. (NaN, NaN) when n = 0.
    """
    _require_count(k, n)
    share = exact(level)
    _require_open(share, "level")
    if n == 0:
        return _UNDEFINED
    log_tail = math.log(float((1 - share) / 2))
    start = wilson(k, n, share)
    lower = 0.0 if k == 0 else _share_with_tail(k, n, log_tail, start[0], upper=False)
    upper = 1.0 if k == n else _share_with_tail(k, n, log_tail, start[1], upper=True)
    return lower, upper


def binomial_two_sided(k: int, n: int, p: Number = 0.5) -> float:
    """Exact two-sided binomial p: the probability of all outcomes not more likely than `k` of `n`.

    For p = 1/2 this is min(1, 2 * the smaller tail), the sign test and exact McNemar test. 1 when n = 0.
    Correctly rounded for n up to 1000, right to about 1e-12 beyond; to decide, use `two_sided_at_most`.
    """
    _require_count(k, n)
    share = exact(p)
    _require_open(share, "probability")
    if n <= _SMALL:
        return float(_two_sided_exactly(k, n, share))
    low, high = _two_sided_ends(k, n, share)
    if low + 1 >= high:
        return 1.0
    return min(1.0, _lower_tail(low, n, share) + _lower_tail(n - high, n, 1 - share))


def two_sided_at_most(k: int, n: int, bound: Number, p: Number = 0.5) -> bool:
    """Decide exactly whether `binomial_two_sided(k, n, p)` is at most `bound`."""
    limit, share = exact(bound), exact(p)
    value = binomial_two_sided(k, n, share)
    if _is_near(value, limit):
        return _two_sided_exactly(k, n, share) <= limit
    return value < limit


def binomial_lower_tail(k: int, n: int, p: Number) -> float:
    """P(X <= k) for X binomial with `n` trials of probability `p` in [0, 1]; 1 when n = 0, 0 when k < 0.

    Right to a relative 1e-12 or so; to compare it with a bound, use `lower_tail_at_most`.
    """
    if n < 0:
        raise ValueError(f"a number of trials cannot be negative: {n}")
    share = exact(p)
    if not 0 <= share <= 1:
        raise ValueError(f"a probability must lie in [0, 1], not {p}")
    return _lower_tail(k, n, share)


@lru_cache(maxsize=1 << 14, typed=True)  # typed: equal floats and decimals need not be written alike
def lower_tail_at_most(k: int, n: int, alpha: Number, delta: Number) -> bool:
    """Decide exactly whether P(X <= k) <= delta for X binomial with `n` trials of probability `alpha`.

    This compares the p-value of learn-then-test (Angelopoulos et al. 2021) with delta; for n = 0 it is 1.
    """
    _require_count(k, n)
    share, limit = exact(alpha), exact(delta)
    value = binomial_lower_tail(k, n, share)
    if _is_near(value, limit):
        return _lower_tail_exactly(k, n, share) <= limit
    return value < limit


def support_floor(alpha: Number, delta: Number, minimum: int = 25) -> int:
    """Return the least n with (1 - alpha)^n <= delta, or `minimum` if that is more.

    `alpha` in (0, 1], `delta` in (0, 1). With fewer trials not even a spotless record gives P(X <= 0) <=
    delta.
    """
    share, limit = exact(alpha), exact(delta)
    if not 0 < share <= 1:
        raise ValueError(f"alpha must lie in (0, 1], not {alpha}")
    _require_open(limit, "delta")
    miss = 1 - share
    if not miss:
        return max(minimum, 1)
    # Fifty digits settle everything but equality; near a whole number the integers decide.
    context = Context(prec=50)
    trials = context.divide(_log(limit, context), _log(miss, context))
    nearest = int(trials.to_integral_value())
    if abs(trials - nearest) > Decimal("1e-20"):
        least = math.ceil(trials)
    else:
        least = nearest if miss**nearest <= limit else nearest + 1
    return max(minimum, least)


def holm(p: Sequence[P]) -> list[P]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979). Floats or fractions; no NaN."""
    if any(value != value for value in p):  # noqa: PLR0124  NaN alone differs from itself
        raise ValueError("a p-value is undefined")
    adjusted = list(p)
    largest = p[0] * 0 if p else None
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        scaled = p[index] * (len(p) - rank)
        largest = scaled if largest is None or scaled > largest else largest
        adjusted[index] = largest if largest < 1 else p[index] * 0 + 1
    return adjusted


def _require_open(share: Fraction, name: str) -> None:
    if not 0 < share < 1:
        raise ValueError(f"a {name} must lie between 0 and 1, not {float(share)}")


def _require_count(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")


def _position(size: int, q: Fraction) -> tuple[int, int, float]:
    """Neighbours of the type-7 quantile among `size` sorted values and the weight of the upper one."""
    place = (size - 1) * q
    below = math.floor(place)
    return below, min(below + 1, size - 1), float(place - below)


def _between(below: Floats, above: Floats, weight: float) -> Floats:
    return below if weight == 0 else between(below, above, weight)


def _interpolated(ordered: Floats, q: Fraction) -> float:
    below, above, weight = _position(len(ordered), q)
    end = float(_between(ordered[below : below + 1], ordered[above : above + 1], weight)[0])
    # d is at 12 decimals: an end that is 0 there decides nothing, whichever side doubles leave it on.
    return end if math.isinf(end) or round(end, PLACES) else 0.0


def _is_near(value: float, limit: Fraction) -> bool:
    return abs(value - float(limit)) <= _NEAR * float(limit)


def _log(share: Fraction, context: Context) -> Decimal:
    return context.subtract(context.ln(Decimal(share.numerator)), context.ln(Decimal(share.denominator)))


def _stirling_error(n: int) -> float:
    """Log of n! less Stirling's approximation, n >= 1.

    Loader (2000), Fast and accurate computation of binomial probabilities.
    """
    if n <= 15:
        return math.log(math.factorial(n)) - (n + 0.5) * math.log(n) + n - math.log(2 * math.pi) / 2
    square = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n


def _deviance(x: int, mean: float) -> float:
    """X log(x / mean) + mean - x without cancellation near x = mean (Loader 2000)."""
    ratio = (x - mean) / (x + mean)
    if abs(ratio) >= 0.1:
        return x * math.log(x / mean) + mean - x
    total = (x - mean) * ratio
    term = 2 * x * ratio
    square = ratio * ratio
    j = 3
    while True:
        term *= square
        following = total + term / j
        if following == total:
            return total
        total = following
        j += 2


def _log_mass(k: int, n: int, p: float, q: float) -> float:
    """Log of P(X = k), q = 1 - p given apart for its digits (Loader 2000)."""
    if k == 0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if k == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    return (
        _stirling_error(n)
        - _stirling_error(k)
        - _stirling_error(n - k)
        - _deviance(k, n * p)
        - _deviance(n - k, n * q)
        + math.log(n / (2 * math.pi * k * (n - k))) / 2
    )


def _tail_in_masses(k: int, n: int, odds: float) -> float:
    """P(X <= k) / P(X = k), odds = p / q: the terms fall from k downwards when k is below the mean."""
    total = term = 1.0
    for i in range(k, 0, -1):
        term *= i / ((n - i + 1) * odds)
        total += term
        if term < 1e-18 * total:
            break
    return total


def _lower_tail(k: int, n: int, share: Fraction) -> float:
    if k >= n or share == 0:
        return 0.0 if k < 0 else 1.0
    if k < 0 or share == 1:
        return 0.0
    p, q = float(share), float(1 - share)
    if k <= n * p:
        return math.exp(_log_mass(k, n, p, q)) * _tail_in_masses(k, n, p / q)
    above = n - k - 1
    return 1 - math.exp(_log_mass(above, n, q, p)) * _tail_in_masses(above, n, q / p)


def _lower_tail_exactly(k: int, n: int, share: Fraction) -> Fraction:
    if k < 0:
        return Fraction(0)
    hit, whole = share.numerator, share.denominator
    miss = whole - hit
    if not miss:
        return Fraction(int(k >= n))
    # The terms C(n, i) hit^i miss^(n - i) are whole numbers, each from the one before by an exact division.
    total = term = miss**n
    for i in range(1, k + 1):
        term = term * (n - i + 1) * hit // (i * miss)
        total += term
    return Fraction(total, whole**n)


def _more_likely(i: int, k: int, n: int, share: Fraction) -> bool:
    """Whether i of n is strictly more likely than k of n."""
    p, q = float(share), float(1 - share)
    gap = _log_mass(i, n, p, q) - _log_mass(k, n, p, q)
    if abs(gap) > _NEAR:
        return gap > 0
    hit, miss = share.numerator, share.denominator - share.numerator
    low, high = min(i, k), max(i, k)
    # The masses without their common factors: C(n, low) miss^(high - low) and C(n, high) hit^(high - low).
    lower: int = math.comb(n, low) * miss ** (high - low)
    upper: int = math.comb(n, high) * hit ** (high - low)
    return lower > upper if i == low else upper > lower


def _two_sided_ends(k: int, n: int, share: Fraction) -> tuple[int, int]:
    """Return ends (low, high): the outcomes up to low and from high on are those not more likely than k."""
    if share == _HALF:
        return min(k, n - k), max(k, n - k)
    mode = min(n, math.floor((n + 1) * share))
    if k <= mode:
        # The least outcome above the mode that is not more likely; n + 1 if there is none.
        inside, outside = mode, n + 1
        if not _more_likely(mode, k, n, share):
            return k, k + 1
        while outside - inside > 1:
            middle = (inside + outside) // 2
            inside, outside = (middle, outside) if _more_likely(middle, k, n, share) else (inside, middle)
        return k, outside
    low, high = _two_sided_ends(n - k, n, 1 - share)
    return n - high, n - low


def _two_sided_exactly(k: int, n: int, share: Fraction) -> Fraction:
    low, high = _two_sided_ends(k, n, share)
    if low + 1 >= high:
        return Fraction(1)
    return _lower_tail_exactly(low, n, share) + _lower_tail_exactly(n - high, n, 1 - share)


def _share_with_tail(k: int, n: int, log_tail: float, start: float, *, upper: bool) -> float:
    """Solve P(X <= k) = tail (upper) or P(X >= k) = tail for p: Newton's method in log p within a bracket."""
    if upper and k == 0:
        return -math.expm1(log_tail / n)
    if not upper and k == n:
        return math.exp(log_tail / n)
    if 2 * k > n:  # a small p is solved for, which keeps its digits
        return 1 - _share_with_tail(n - k, n, log_tail, 1 - start, upper=not upper)
    low, high = (k / n, 1.0) if upper else (0.0, k / n)
    p = start if low < start < high else (low + high) / 2
    for _ in range(100):
        q = 1 - p
        # For the upper tail of p, count misses: P(X >= k | p) = P(n - X <= n - k | q).
        masses = _tail_in_masses(k, n, p / q) if upper else _tail_in_masses(n - k, n, q / p)
        gap = _log_mass(k, n, p, q) + math.log(masses) - log_tail
        if (gap > 0) == upper:
            low = p
        else:
            high = p
        # With M = P(X = k): d P(X <= k) / dp = -(n - k) M / q, and d P(X >= k) / dp = k M / p.
        slope = -(n - k) * p / (q * masses) if upper else k / masses  # of the log tail in log p
        following = p * math.exp(-gap / slope) if abs(gap) < abs(slope) else 0.0
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - p) <= 4e-16 * p:
            return following
        p = following
    return p
