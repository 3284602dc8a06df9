"""Kinds that are a sum over rows, or one sum over rows divided by another: rate, count, sum, mean.

A weight says how often a row counts in a mean; it need not be whole. Reference: these are definitions, not
estimators; precision, recall, refusal rate and false omission rate are `rate` with their own `among`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import LIMB_BITS, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.kernels.panel import Floats, Kernel, Rows

_LARGEST_SCALED = 2.0**52


class _Total:
    """The weighted sum of one argument over rows, as whole numbers over a scale."""

    def __init__(self, rows: Rows, panel: Panel, name: str) -> None:
        column = panel.arguments[name]
        decimals = rows.decimals.get(name, -1)
        self.scale = 1.0
        self._parts: list[tuple[Whole, Floats | None]] = []
        scaled = column * 10.0 ** max(decimals, 0)
        if decimals >= 0 and np.abs(scaled).max(initial=0.0) * column.shape[2] < _LARGEST_SCALED:
            self.scale = 10.0**decimals
            self._parts.append((Whole(np.rint(scaled).astype(np.int64).sum(axis=2).T), None))
            return
        _require_finite(column, name)
        self._parts += _limbs(column)

    def sums(self, weights: Floats) -> Floats:
        """(R, P): the sum times `scale`."""
        return _added(self._parts, weights)


def _require_finite(column: Floats, name: str) -> None:
    if not np.isfinite(column).all():
        raise ValueError(f"`{name}` holds an infinite number")


def _limbs(column: Floats) -> list[tuple[Whole, Floats | None]]:
    """(P, U, K) as three whole limbs with their units, below the leading bit of a policy's largest number.

    That is 78 bits, all of a double's 53 for anything within a factor 2**25 of it. Each limb is whole, so its
    sum is exact.
    """
    exponents = np.frexp(np.abs(column).max(axis=(1, 2), initial=0.0))[1].astype(np.int64)
    rest = column
    parts: list[tuple[Whole, Floats | None]] = []
    for limb in (1, 2, 3):
        shift = exponents - LIMB_BITS * limb
        whole = np.rint(np.ldexp(rest, -shift[:, None, None]))
        rest = rest - np.ldexp(whole, shift[:, None, None])
        parts.append((Whole(whole.astype(np.int64).sum(axis=2).T), np.ldexp(1.0, shift)))
    return parts


def _added(parts: list[tuple[Whole, Floats | None]], weights: Floats) -> Floats:
    """(R, P): the sum of all parts, from the last (the smallest) up, always in this order."""
    total: Floats | None = None
    for whole, unit in reversed(parts):
        part = whole.sums(weights)
        if unit is not None:
            part *= unit
        total = part if total is None else total + part
    assert total is not None
    return total


class _Share:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["rate"])
        self._hits = Whole((self._panel.arguments["rate"] != 0).sum(axis=2).T)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        hits, rows = self._hits.sums(weights), self._panel.counts.sums(weights)
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(hits, rows), undefined, hits, rows)


class _Count:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["count"])
        self._hits = Whole((self._panel.arguments["count"] != 0).sum(axis=2).T)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        hits = self._hits.sums(weights)
        return estimates(hits, [("missing", self._panel.missed(weights))], hits)


class _Sum:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["sum"])
        self._total = _Total(rows, self._panel, "sum")

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        total = self._total.sums(weights) / self._total.scale
        result = estimates(total, [("missing", self._panel.missed(weights))])
        return Estimates(result.values, result.undefined, result.values)


class _Mean:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["mean"])
        self._total = _Total(rows, self._panel, "mean")

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        mean = ratio(self._total.sums(weights), self._total.scale * rows)
        return estimates(mean, [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)])


class _WeightedMean:
    """The sum of weight times number over the sum of weights."""

    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["mean", "weight"])
        number, weight = (self._panel.arguments[name] for name in ("mean", "weight"))
        if (weight < 0).any():
            raise ValueError("`weight` holds a negative number")
        decimals = [rows.decimals.get(name, -1) for name in ("mean", "weight")]
        self._scale = 1.0
        self._exponents = np.zeros(self._panel.policies, dtype=np.int64)
        self._numerator: list[tuple[Whole, Floats | None]] = []
        self._denominator: list[tuple[Whole, Floats | None]] = []
        scaled = [x * 10.0 ** max(d, 0) for x, d in zip((number, weight), decimals, strict=True)]
        largest = [float(np.abs(x).max(initial=0.0)) for x in scaled]
        fits = max(largest[0], 1.0) * max(largest[1], 1.0) * number.shape[2] < _LARGEST_SCALED
        if min(decimals) >= 0 and fits:
            # both are whole numbers over a power of ten, and so is their product
            x, w = (np.rint(each).astype(np.int64) for each in scaled)
            self._scale = 10.0 ** decimals[0]
            self._numerator.append((Whole((x * w).sum(axis=2).T), None))
            self._denominator.append((Whole(w.sum(axis=2).T), None))
            return
        for name, column in (("mean", number), ("weight", weight)):
            _require_finite(column, name)
        # Below 1 in magnitude nothing overflows; the exponent of the weights cancels in the ratio.
        number, self._exponents = _below_one(number)
        weight, _ = _below_one(weight)
        product = number * weight
        self._numerator = [*_limbs(product), *_limbs(_product_error(number, weight, product))]
        self._denominator = _limbs(weight)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        total = _added(self._denominator, weights)
        mean = np.ldexp(ratio(_added(self._numerator, weights), self._scale * total), self._exponents)
        return estimates(mean, [("missing", self._panel.missed(weights)), ("vacuous", total == 0)])


def _below_one(column: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """(P, U, K) divided by a power of two of each policy, and the exponents of those powers, (P,)."""
    exponents = np.frexp(np.abs(column).max(axis=(1, 2), initial=0.0))[1].astype(np.int64)
    return np.ldexp(column, -exponents[:, None, None]), exponents


def _product_error(x: Floats, y: Floats, product: Floats) -> Floats:
    """What rounding took from x * y, exactly (Dekker 1971, with the splitting of Veltkamp)."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    error: Floats = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    return error


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """The upper and lower 26 bits of each number."""
    shifted = x * (2.0**27 + 1.0)
    high = shifted - (shifted - x)
    return high, x - high


def rate(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (all kinds share one signature)
    """Share of rows with `rate` true, in [0, 1]; no row: vacuous."""
    return _Share(rows)


def count(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001
    """Count the rows with `count` true; 0 over no rows."""
    return _Count(rows)


def total(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001
    """Sum of `sum` over rows, in its own unit; 0 over no rows. Raises ValueError for an infinite number."""
    return _Sum(rows)


def mean(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001
    """Mean of `mean` over rows, in its unit, each row counted `weight` times where that is given.

    No row, or weights that sum to 0: vacuous. Raises ValueError for an infinite number or a negative weight.
    """
    return _WeightedMean(rows) if "weight" in rows.arguments else _Mean(rows)
