"""Functions over the policies of a vector: each takes (R, n) arrays and gives (R,) values.

Undefined policies are left out (`all` and `any` excepted, which are three-valued); over nothing every one of
them is undefined.  The numbers are those of metrics, or have been rounded as these are (see `decimals`): sums
of them are exact, equal ones are equal, and no result hangs on the last bit of a sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg import intervals, ranks
from prereg.dataclass import dataclass
from prereg.decimals import PLACES, as_whole, divided, in_parts
from prereg.expression import ranges
from prereg.expression.ranges import Range
from prereg.values import CODE, kleene_all, kleene_any

if TYPE_CHECKING:
    from collections.abc import Callable

_SCALE = 10**PLACES


def exact_sums(x: np.ndarray, defined: np.ndarray) -> list[int]:
    """Sums along axis 1 of (R, P) in whole multiples of 1e-12: the order of columns leaves no trace.

    How a row is summed depends on that row alone, and not the result on how.
    """
    clean = np.where(defined, x, 0.0)
    small = np.abs(clean).max(axis=1, initial=0.0) < 2.0**53 / max(x.shape[1], 1)
    parts = in_parts(clean if small.all() else np.where(small[:, None], clean, 0.0))
    whole, rest = (part.sum(axis=1).tolist() for part in parts)
    sums = [w * _SCALE + r for w, r in zip(whole, rest, strict=True)]
    for row in np.flatnonzero(~small).tolist():
        sums[row] = sum(as_whole(clean[row].tolist()))
    return sums


def _quotients(x: np.ndarray, defined: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The doubles nearest to these sums divided by whole numbers; NaN where by 0 or beyond any double."""
    sums = zip(exact_sums(x, defined), by.tolist(), strict=True)
    found = np.array([divided(total, _SCALE * n) for total, n in sums], dtype=np.float64)
    found[np.isinf(found)] = np.nan
    return found


def mean(x: np.ndarray) -> np.ndarray:
    """Mean of the defined values."""
    defined = ~np.isnan(x)
    return _quotients(x, defined, defined.sum(axis=1))


def total(x: np.ndarray) -> np.ndarray:
    """Sum of the defined values; undefined where there is none."""
    defined = ~np.isnan(x)
    return _quotients(x, defined, defined.any(axis=1).astype(np.int64))


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
    """Standard deviation with n - 1; undefined below two values. Of equal values it is exactly 0."""
    return ranks.deviation(x)


def quantile(q: float) -> Callable[[np.ndarray], np.ndarray]:
    """Type-7 quantile of the defined values."""
    return lambda x: intervals.quantile(x, q)


def best(x: np.ndarray, sign: float) -> np.ndarray:
    """Position of the best defined value (sign 1: the largest); undefined where two share it."""
    defined = ~np.isnan(x)
    if x.shape[1] == 0:
        return np.full(x.shape[0], np.nan)
    keys = np.where(defined, sign * x, -np.inf)
    top = keys.max(axis=1)
    winners = (keys == top[:, None]) & defined
    return np.where(winners.sum(axis=1) == 1, winners.argmax(axis=1).astype(np.float64), np.nan)


@dataclass(frozen=True)
class Reduction:
    """A function over one vector: what it takes and gives, in which range, and why it may be undefined."""

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
Vector = ranks.Ranked | ranks.Floats
PAIRED: dict[str, tuple[Callable[[Vector, Vector], np.ndarray], Range]] = {
    "spearman": (ranks.spearman, _CORRELATION),
    "kendall": (ranks.kendall, _CORRELATION),
    "pearson": (ranks.pearson, _CORRELATION),
    "slope": (ranks.slope, ranges.ANY),  # of the first argument on the second
}


def paired_reason(x: np.ndarray, y: np.ndarray) -> np.int8:
    """Why a correlation of the point's pairs (n,) is undefined."""
    both = ~np.isnan(x) & ~np.isnan(y)
    if both.sum() < 3:
        return CODE["too_few_pairs"]
    return CODE["constant"]
