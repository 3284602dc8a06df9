"""Diagnostics of self-evaluation under per-category constraints: PVC, C-PVC and their volumes.

Per category C: accuracy SEA(C), the mean of `correct` (1, 0, or 1/2 for a tie), and the calibration error
e(C), the distance of the mean confidence from SEA(C).  PVC(g) counts the categories with SEA >= g,
C-PVC(g, t) those that also have e <= t.  Volumes are trapezoids over a grid of exact decimals; they are sums
over categories of a function of two whole numbers, floor(M SEA) and ceil(M e) for a grid of step 1/M, so that
no grid is walked.
Correctness and confidences are rounded to whole numbers of 1e-9; every comparison with a grid line is one of
integers.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass
from prereg.kernels.panel import Estimates, Panel, estimates
from prereg.kernels.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prereg.kernels.panel import Bools, Floats, Kernel, Rows

Integers = npt.NDArray[np.int64]

_UNIT = 10**9
_MARGIN_BITS = 160
_ARGUMENTS = ("groups", "correct", "confidence")


@dataclass(frozen=True, eq=False)
class Sums:
    """Per resample, category and policy: rows, and sums of correctness and confidence in units of 1e-9."""

    n: Integers
    """(R, C, P)."""
    correct: Integers
    confidence: Integers

    def accuracy(self) -> Floats:
        """(R, C, P): SEA; NaN for an empty category."""
        return _ratio(self.correct, self.n)

    def gap(self) -> Integers:
        """(R, C, P): n times the calibration error, in units of 1e-9."""
        gap: Integers = np.abs(self.confidence - self.correct)
        return gap

    def levels(self, grid: int) -> tuple[Integers, Integers]:
        """(R, C, P): floor(M SEA), ceil(M e) for a grid of step 1/M; 0 and M + 1 where there is no row."""
        size = np.maximum(self.n, 1) * _UNIT
        correct, gap = self.correct, self.gap()
        if int(size.max(initial=0)) * grid >= 2**63:  # as whole numbers of any length
            size, correct, gap = size.astype(object), correct.astype(object), gap.astype(object)
        level = ((correct * grid) // size).astype(np.int64)
        distance = (-((-gap * grid) // size)).astype(np.int64)
        empty = self.n == 0
        return np.where(empty, 0, level), np.where(empty, grid + 1, distance)


def _ratio(total: Integers, n: Integers) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n == 0, np.nan, total / (n * float(_UNIT)))


class Categories:
    """One of the diagnostics, prepared: additive sums per category, then a function of them."""

    def __init__(
        self, rows: Rows, value: Callable[[Sums], Floats], *, drop_ties: bool, grid: int = 0
    ) -> None:
        panel = Panel.of(rows, _ARGUMENTS)
        correct = _units(panel, "correct")
        confidence = _units(panel, "confidence")
        inside = panel.among & (2 * correct != _UNIT) if drop_ties else panel.among
        known = rows.levels["groups"]
        group = panel.arguments["groups"]
        member = (
            np.stack([inside & (group == code) for code in known])
            if known
            else np.zeros((0, *inside.shape), bool)
        )
        self.dropped = panel.among & ~inside
        """(P, U, K): ties that enter no sum."""
        self._shape = member.shape[:2]
        self._n = self._whole(member)
        self._correct = self._whole(np.where(member, correct, 0))
        self._confidence = self._whole(np.where(member, confidence, 0))
        self._panel = panel
        self._value = value
        self.grid = grid

    @staticmethod
    def _whole(values: npt.NDArray[np.generic]) -> Whole:
        """(C, P, U, K) -> sums over samples as (U, C P)."""
        categories, policies, units, _ = values.shape
        return Whole(values.sum(axis=3).reshape(categories * policies, units).T)

    def sums(self, weights: Floats) -> Sums:
        """The sums of every category for (R, U) weights."""
        shape = (weights.shape[0], *self._shape)
        n, correct, confidence = (
            np.rint(w.sums(weights)).astype(np.int64).reshape(shape)
            for w in (self._n, self._correct, self._confidence)
        )
        return Sums(n, correct, confidence)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        sums = self.sums(weights)
        rows = self._panel.counts.sums(weights)
        undefined = [
            ("missing", self._panel.missed(weights)),
            ("vacuous", rows == 0),
            ("empty_category", (sums.n == 0).any(axis=1)),
        ]
        with np.errstate(invalid="ignore"):
            return estimates(self._value(sums), undefined)

    def surface(self) -> tuple[Bools, Integers, Integers]:
        """At the point, per policy: whether it is defined, PVC(g) and C-PVC(g, t).

        Shapes (P,), (P, M + 1) and (P, M + 1, M + 1); where it is not defined the counts mean nothing.
        """
        weights = np.ones((1, self._panel.among.shape[1]))
        defined = ~np.isnan(self.compute(weights).values[0])
        level, distance = (x[0].T for x in self.sums(weights).levels(self.grid))
        lines = np.arange(self.grid + 1)
        reached = level[:, :, None] >= lines
        close = distance[:, :, None] <= lines
        both = np.einsum("pcg,pct->pgt", reached.astype(np.int64), close.astype(np.int64))
        return defined, reached.sum(axis=1), both


def _units(panel: Panel, name: str) -> Integers:
    """An argument in units of 1e-9; ValueError outside [0, 1]."""
    whole = np.rint(panel.arguments[name] * _UNIT)
    if ((whole < 0) | (whole > _UNIT)).any():
        raise ValueError(f"`{name}` lies outside [0, 1]")
    return whole.astype(np.int64)


def _added(terms: Floats) -> Floats:
    """Sums over the categories (R, C, P) -> (R, P), one after another: the same order for every block."""
    total = np.zeros((terms.shape[0], terms.shape[2]))
    for c in range(terms.shape[1]):
        total = total + terms[:, c]
    return total


def _kernel(rows: Rows, options: Mapping[str, Any], value: Callable[[Sums], Floats], grid: int = 0) -> Kernel:
    return Categories(rows, value, drop_ties=options.get("ties", "keep") == "drop", grid=grid)


def nano(options: Mapping[str, Any], name: str) -> int:
    """An option in units of 1e-9; ValueError where it has more decimals."""
    value = Fraction(options[name]) * _UNIT
    if value.denominator != 1:
        raise ValueError(f"`{name}` has more than 9 decimals")
    return int(value)


def lines(options: Mapping[str, Any]) -> int:
    """M for a grid of step 1/M; ValueError unless the step divides 1/2 exactly."""
    step = Fraction(str(options.get("grid", "0.01")))
    if step <= 0 or (1 / (2 * step)).denominator != 1:
        raise ValueError("the step of the grid must divide 1/2 exactly: 0.1, 0.05, 0.02, 0.01, 0.005 …")
    return int(1 / step)


def calibration_error(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Mean of the categories' calibration errors: unweighted, or weighted by rows (`weights: rows`)."""
    by_rows = options.get("weights", "categories") == "rows"

    def value(sums: Sums) -> Floats:
        if by_rows:
            return _ratio(sums.gap().sum(axis=1), sums.n.sum(axis=1))
        mean: Floats = _added(_ratio(sums.gap(), sums.n)) / max(sums.n.shape[1], 1)
        return mean

    return _kernel(rows, options, value)


def category_brier(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Unweighted mean over categories of (mean confidence - SEA)**2: a Brier score of category means."""
    return _kernel(rows, options, lambda s: _added(_ratio(s.gap(), s.n) ** 2) / max(s.n.shape[1], 1))


def worst_category(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """The lowest SEA of a category, or with `of: calibration_error` the largest calibration error."""
    if options.get("of", "accuracy") == "calibration_error":
        return _kernel(rows, options, lambda s: _ratio(s.gap(), s.n).max(axis=1, initial=0.0))
    return _kernel(rows, options, lambda s: s.accuracy().min(axis=1, initial=1.0))


def pvc(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """PVC(g): the number of categories with SEA >= g (`at_least`)."""
    bar = nano(options, "at_least")
    return _kernel(rows, options, lambda s: (s.correct >= bar * s.n).sum(axis=1).astype(np.float64))


def cpvc(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """C-PVC(g, t): number of categories with SEA >= g (`at_least`) and calibration error <= t (`within`)."""
    bar, most = nano(options, "at_least"), nano(options, "within")

    def value(sums: Sums) -> Floats:
        good = (sums.correct >= bar * sums.n) & (sums.gap() <= most * sums.n)
        number: Floats = good.sum(axis=1).astype(np.float64)
        return number

    return _kernel(rows, options, value)


def _heights(level: Integers, grid: int) -> Integers:
    """Twice the trapezoid over g of the indicator g <= SEA, in steps."""
    return 2 * level + 1 - (level >= grid)


def _widths(distance: Integers, grid: int) -> Integers:
    """Twice the trapezoid over t of the indicator t >= e, in steps; 0 where e lies beyond the grid."""
    return np.where(distance > grid, 0, 2 * (grid - distance) + 1 - (distance == 0))


def pvc_vus(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """PVC-VUS: the trapezoid of PVC over g, divided by the range of g; about the sum of the SEAs."""
    grid = lines(options)

    def value(sums: Sums) -> Floats:
        level, _ = sums.levels(grid)
        volume: Floats = np.where(sums.n > 0, _heights(level, grid), 0).sum(axis=1) / (2.0 * grid)
        return volume

    return _kernel(rows, options, value, grid)


def cpvc_vus(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """C-PVC-VUS: the double trapezoid of C-PVC over g and t, divided by the area of the grid."""
    grid = lines(options)

    def value(sums: Sums) -> Floats:
        level, distance = sums.levels(grid)
        volume: Floats = (_heights(level, grid) * _widths(distance, grid)).sum(axis=1) / (4.0 * grid * grid)
        return volume

    return _kernel(rows, options, value, grid)


@functools.lru_cache(maxsize=32)
def _margin(grid: int, weighted: bool) -> Floats:
    """[N, k]: what a category with floor(M SEA) - M/2 = N and ceil(M e) = k adds in the positive margin.

    The margin is g > t + 1/2, strictly; the weight there is 2/(g - 1/2), or 1.  At g = 1/2 + n/M the lines t
    of the margin are 0 .. n - 1, of which those from k on count, t = 0 by half; at g = 1 the line counts by
    half.
    """
    half = grid // 2
    n, k = np.arange(half + 1)[:, None], np.arange(half + 2)[None, :]
    doubled = np.where(n > k, 2 * (n - k) - (k == 0), 0).astype(object)
    # Terms are cut to multiples of 2**-160, so that sums are exact and only the end is rounded.
    each = (doubled << _MARGIN_BITS) // (
        grid * np.maximum(n, 1) if weighted else np.full_like(n, 2 * grid * grid)
    ).astype(object)
    total = np.cumsum(each, axis=0)
    total[half] -= each[half] // 2
    table: Floats = (total / (1 << _MARGIN_BITS)).astype(np.float64)
    return table


def _in_margin(sums: Sums, grid: int, *, weighted: bool, constrained: bool) -> Floats:
    half = grid // 2
    level, distance = sums.levels(grid)
    n = np.clip(level - half, 0, half)
    k = np.clip(distance, 0, half + 1) if constrained else np.zeros_like(n)
    return _added(_margin(grid, weighted)[n, k])


def _margin_kernel(rows: Rows, options: Mapping[str, Any], *, constrained: bool) -> Kernel:
    grid = lines(options)
    weighted = options.get("weights", "margin") == "margin"
    return _kernel(
        rows, options, lambda s: _in_margin(s, grid, weighted=weighted, constrained=constrained), grid
    )


def pm_pvc_vus(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """PM-PVC-VUS: PVC over the positive margin, weighted by 2/(g - 1/2); not divided by an area."""
    return _margin_kernel(rows, options, constrained=False)


def pm_cpvc_vus(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """PM-C-PVC-VUS: C-PVC over the positive margin, weighted by 2/(g - 1/2).

    Convex in the category means, so that the bootstrap is biased upward: its interval may exclude the point.
    """
    return _margin_kernel(rows, options, constrained=True)


def pm_sc_vus(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """PM-SC-VUS: the sample complexity 300 + 100 C-PVC over the positive margin (epsilon 0.1, delta 0.05)."""
    grid = lines(options)
    base = 300.0 * float(_margin(grid, True)[grid // 2, 0])

    def value(sums: Sums) -> Floats:
        return base + 100.0 * _in_margin(sums, grid, weighted=True, constrained=True)

    return _kernel(rows, options, value, grid)
