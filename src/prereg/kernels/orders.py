"""Kinds that look at the sorted values of one column: quantile and number of distinct values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.decimals import between
from prereg.kernels.blocks import Blocks
from prereg.kernels.panel import Estimates, Panel, estimates
from prereg.kernels.whole import as_fraction, by_count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from prereg.kernels.panel import Floats, Kernel, Rows


class _Quantile:
    def __init__(self, rows: Rows, q: Fraction) -> None:
        self._panel = Panel.of(rows, ["of"])
        self._blocks = Blocks.of(self._panel.arguments["of"], self._panel.among, None, falling=False)
        self._q = q

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        position = self._q
        below = by_count(rows, lambda n: max(n - 1, 0) * position.numerator // position.denominator)
        part = by_count(rows, lambda n: float(max(n - 1, 0) * position % 1))
        above = np.minimum(below + 1, np.maximum(rows - 1, 0))
        low, high = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
        for which, drawn in self._blocks.chunks(weights):
            for rank, found in ((below, low), (above, high)):
                found[which] = self._at(drawn, rank[which][:, self._blocks.owner].T).T
        values = np.where(part == 0, low, between(low, high, part))
        return estimates(values, [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)])

    def _at(self, drawn: Floats, rank: Floats) -> Floats:
        """(P, r): the value of rank 0, 1, ... (L, r) among the drawn rows; any value where none was."""
        keys = self._blocks.keys
        result = np.full((self._blocks.policies, drawn.shape[1]), np.nan)
        seen = np.zeros(rank.shape)
        block = np.zeros(rank.shape, dtype=np.intp)
        buffer = np.empty(rank.shape)
        for step in self._blocks.steps:
            seen[: step.active] += step.every.weights(drawn, buffer)
            block[: step.active] += seen[: step.active] <= rank[: step.active]
            at = step.ending_at
            result[step.ending] = np.take_along_axis(
                keys[at], np.minimum(block[at], keys.shape[1] - 1), axis=1
            )
        return result


class _Distinct:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["of"])
        self._blocks = Blocks.of(self._panel.arguments["of"], self._panel.among, None, falling=False)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        values = np.empty((weights.shape[0], self._panel.policies))
        for which, drawn in self._blocks.chunks(weights):
            result = np.zeros((self._panel.policies, drawn.shape[1]))
            found = np.zeros((self._blocks.owner.size, drawn.shape[1]))
            buffer = np.empty(found.shape)
            for step in self._blocks.steps:
                found[: step.active] += step.every.weights(drawn, buffer) > 0
                if step.ending.size:
                    result[step.ending] = found[step.ending_at]
            values[which] = result.T
        return estimates(values, [("missing", self._panel.missed(weights))], values)


def quantile(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Quantile `q` (in [0, 1]) of `of` over rows, in its own unit: linear between order statistics (type 7).

    No row: vacuous. Raises ValueError for a q outside [0, 1]. Reference: Hyndman and Fan 1996, definition 7.
    """
    q = as_fraction(options["q"])
    if not 0 <= q <= 1:
        raise ValueError("`q` lies outside [0, 1]")
    return _Quantile(rows, q)


def distinct(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (all kinds share one signature)
    """Count the distinct values of `of` over rows; 0 over no rows. Text is given as one code per value."""
    return _Distinct(rows)
