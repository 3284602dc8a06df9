"""Functions over the policies of a vector: each takes (R, n) arrays and gives (R,) values.

Undefined policies are left out (`all` and `any` excepted, which are three-valued); over nothing every one of
them is undefined.  Values are compared and ranked by their 12-decimal keys, so that no result hangs on the
last bit of a sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prereg import intervals, ranks
from prereg.expression import ranges
from prereg.expression.ranges import Range
from prereg.values import CODE, kleene_all, kleene_any, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

_SCALE = 1e12


def exact_sum(x: np.ndarray, defined: np.ndarray) -> tuple[np.ndarray, float]:
    """Sums along axis 1 and the scale they are in: whole multiples of 1e-12 where they fit a 64-bit integer.

    Larger values are added column by column: the same order for every block of resamples.
    """
    clean = np.where(defined, x, 0.0)
    largest = np.abs(clean).max(initial=0.0)
    if largest * _SCALE * max(x.shape[1], 1) < 2.0**62:
        return np.rint(clean * _SCALE).astype(np.int64).sum(axis=1), _SCALE
    total = np.zeros(x.shape[0])
    for column in range(x.shape[1]):
        total = total + clean[:, column]
    return total, 1.0


def mean(x: np.ndarray) -> np.ndarray:
    """Mean of the defined values."""
    defined = ~np.isnan(x)
    n = defined.sum(axis=1)
    sums, scale = exact_sum(x, defined)
    with np.errstate(all="ignore"):
        return np.where(n > 0, sums / (scale * n), np.nan)


def total(x: np.ndarray) -> np.ndarray:
    """Sum of the defined values; undefined where there is none."""
    defined = ~np.isnan(x)
    sums, scale = exact_sum(x, defined)
    return np.where(defined.any(axis=1), sums / scale, np.nan)


def count(x: np.ndarray) -> np.ndarray:
    """How many policies make it true; undefined where it is defined for none."""
    defined = ~np.isnan(x)
    return np.where(defined.any(axis=1), (x == 1).sum(axis=1).astype(np.float64), np.nan)


def lowest(x: np.ndarray) -> np.ndarray:
    """Smallest defined value."""
    return _extreme(x, np.inf, np.min)


def highest(x: np.ndarray) -> np.ndarray:
    """Largest defined value."""
    return _extreme(x, -np.inf, np.max)


def _extreme(x: np.ndarray, neutral: float, function: Callable[..., np.ndarray]) -> np.ndarray:
    defined = ~np.isnan(x)
    value = function(np.where(defined, x, neutral), axis=1, initial=neutral)
    return np.where(defined.any(axis=1), value, np.nan)


def sd(x: np.ndarray) -> np.ndarray:
    """Standard deviation with n - 1; undefined below two values."""
    defined = ~np.isnan(x)
    n = defined.sum(axis=1)
    with np.errstate(all="ignore"):
        sums, scale = exact_sum(x, defined)
        centre = sums / (scale * n)
        gaps = np.where(defined, x - centre[:, None], 0.0)
        squares = np.zeros(x.shape[0])
        for column in range(x.shape[1]):
            squares = squares + gaps[:, column] ** 2
        return np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)


def quantile(q: float) -> Callable[[np.ndarray], np.ndarray]:
    """Type-7 quantile of the defined values."""
    return lambda x: intervals.quantile(x, q)


def best(x: np.ndarray, sign: float) -> np.ndarray:
    """Position of the best defined value (sign 1: the largest); undefined where two share it."""
    defined = ~np.isnan(x)
    if x.shape[1] == 0:
        return np.full(x.shape[0], np.nan)
    keys = np.where(defined, rounded(sign * np.where(defined, x, 0.0)), -np.inf)
    top = keys.max(axis=1)
    winners = (keys == top[:, None]) & defined
    return np.where(winners.sum(axis=1) == 1, winners.argmax(axis=1).astype(np.float64), np.nan)


@dataclass(frozen=True)
class Reduction:
    """A function over one vector: what it takes, what it gives, in which range, and why it may be undefined."""

    takes: str  # "number" (truth counts 1), "truth"
    gives: str  # "number", "truth", "label"
    function: Callable[[np.ndarray], np.ndarray]
    range: Callable[[Range, int], Range]
    why: str
    least: int = 1


def _same(x: Range, _: int) -> Range:
    return x


def _times(x: Range, n: int) -> Range:
    return ranges.arithmetic("*", x, Range(0.0 if n == 0 else 1.0, float(n)))


REDUCTIONS: dict[str, Reduction] = {
    "mean": Reduction("number", "number", mean, _same, "vacuous"),
    "median": Reduction("number", "number", quantile(0.5), _same, "vacuous"),
    "min": Reduction("number", "number", lowest, _same, "vacuous"),
    "max": Reduction("number", "number", highest, _same, "vacuous"),
    "sum": Reduction("number", "number", total, _times, "vacuous"),
    "sd": Reduction("number", "number", sd, lambda x, _: Range(0.0, x.high - x.low), "too_few_pairs", 2),
    "count": Reduction("truth", "number", count, lambda _, n: Range(0.0, float(n)), "vacuous"),
    "share": Reduction("truth", "number", mean, lambda _x, _n: ranges.UNIT, "vacuous"),
    "all": Reduction("truth", "truth", kleene_all, lambda _x, _n: ranges.UNIT, "undefined_input"),
    "any": Reduction("truth", "truth", kleene_any, lambda _x, _n: ranges.UNIT, "undefined_input"),
    "argmin": Reduction("number", "label", lambda x: best(x, -1.0), _same, "tie"),
    "argmax": Reduction("number", "label", lambda x: best(x, 1.0), _same, "tie"),
}

_CORRELATION = Range(-1.0, 1.0)
PAIRED: dict[str, tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], Range]] = {
    "spearman": (lambda x, y: ranks.spearman(x, y), _CORRELATION),
    "kendall": (lambda x, y: ranks.kendall(x, y), _CORRELATION),
    "pearson": (lambda x, y: ranks.pearson(x, y), _CORRELATION),
    "slope": (lambda y, x: ranks.slope(y, x), ranges.ANY),
}


def paired_reason(x: np.ndarray, y: np.ndarray) -> np.int8:
    """Why a correlation of the point's pairs (n,) is undefined."""
    both = ~np.isnan(x) & ~np.isnan(y)
    if both.sum() < 3:
        return CODE["too_few_pairs"]
    return CODE["constant"]
