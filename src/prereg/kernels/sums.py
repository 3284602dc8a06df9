"""Kinds that are a sum over rows, or one sum over rows divided by another: rate, count, sum, mean.

A weight says how often a row counts in a mean; it need not be whole. Reference: these are definitions, not
estimators; precision, recall, refusal rate and false omission rate are `rate` with their own `among`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.decimals import MOST_PLACES
from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.totals import ONE, Sums, Total
from prereg.kernels.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.kernels.panel import Floats, Kernel, Rows


_ALL_PLACES = 400  # no double has more


def _total(rows: Rows, panel: Panel, *names: str) -> Total:
    for name in names:
        if not np.isfinite(panel.arguments[name]).all():
            raise ValueError(f"`{name}` holds an infinite number")
    return Total(
        [panel.arguments[name] for name in names],
        [rows.decimals.get(name, -1) for name in names],
        [_ALL_PLACES if name == "weight" else MOST_PLACES for name in names],
    )


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
        self._total = _total(rows, self._panel, "sum")
        self.largest = float(np.abs(self._panel.arguments["sum"]).max(initial=0.0))

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        total = self._total.sums(weights).over(ONE, self._total.places)
        result = estimates(total, [("missing", self._panel.missed(weights))])
        return Estimates(result.values, result.undefined, result.values)


class _Mean:
    """The sum of the numbers over the rows, or of weight times number over the sum of weights."""

    def __init__(self, rows: Rows, weighted: bool) -> None:
        names = ["mean", "weight"] if weighted else ["mean"]
        self._panel = Panel.of(rows, names)
        if weighted and (self._panel.arguments["weight"] < 0).any():
            raise ValueError("`weight` holds a negative number")
        self._total = _total(rows, self._panel, *names)
        self.largest = float(np.abs(self._panel.arguments["mean"]).max(initial=0.0))
        self._weight = _total(rows, self._panel, "weight") if weighted else None

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        places = self._total.places
        if self._weight is None:
            below = Sums([self._panel.counts.sums(weights)])
        else:
            below = self._weight.sums(weights)
            places -= self._weight.places
        mean = self._total.sums(weights).over(below, places)
        return estimates(mean, [("missing", self._panel.missed(weights)), ("vacuous", below.zero)])


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
    return _Mean(rows, "weight" in rows.arguments)
