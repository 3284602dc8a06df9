"""Kinds that are a sum over rows, or one sum over rows divided by another: rate, count, sum, mean.

Reference: these are definitions, not estimators; precision, recall, refusal rate and false omission rate are
`rate` with their own `among`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
        # Three limbs below the leading bit of the policy's largest number: 78 bits, all of a double's 53 for
        # anything within a factor 2**25 of it. Each limb is whole, so its sum is exact.
        if not np.isfinite(column).all():
            raise ValueError(f"`{name}` holds an infinite number")
        exponents = np.frexp(np.abs(column).max(axis=(1, 2), initial=0.0))[1].astype(np.int64)
        rest = column
        for limb in (1, 2, 3):
            shift = exponents - LIMB_BITS * limb
            whole = np.rint(np.ldexp(rest, -shift[:, None, None]))
            rest = rest - np.ldexp(whole, shift[:, None, None])
            unit = np.ldexp(1.0, shift)
            self._parts.append((Whole(whole.astype(np.int64).sum(axis=2).T), unit))

    def sums(self, weights: Floats) -> Floats:
        """(R, P): the sum times `scale`. Limbs are added from the smallest up, always in this order."""
        total: Floats | None = None
        for whole, unit in reversed(self._parts):
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
    """Mean of `mean` over rows, in its unit; no row: vacuous. Raises ValueError for an infinite number."""
    return _Mean(rows)
