"""Selective accuracy: how often the answers are right that a policy is surest of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.kernels.blocks import Blocks
from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import as_fraction, by_count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from prereg.kernels.panel import Floats, Kernel, Rows


class _SelectiveAccuracy:
    def __init__(self, rows: Rows, coverage: Fraction) -> None:
        self._panel = Panel.of(rows, ["confidence", "correct"], may_be_missing=["confidence"])
        correct = self._panel.among & (self._panel.arguments["correct"] != 0)
        self._blocks = Blocks.of(
            self._panel.arguments["confidence"], self._panel.among, correct, falling=True
        )
        self._coverage = coverage

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        share = self._coverage
        needed = by_count(rows, lambda n: -(-n * share.numerator // share.denominator))
        selected, right = np.empty(rows.shape), np.empty(rows.shape)
        for which, drawn in self._blocks.chunks(weights):
            passed = self._prefix(drawn, needed[which][:, self._blocks.owner].T)
            selected[which], right[which] = (array.T for array in passed)
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(right, selected), undefined, right, selected)

    def _prefix(self, drawn: Floats, goal: Floats) -> tuple[Floats, Floats]:
        """(P, r): rows and right answers in the first blocks that reach the goal (L, r)."""
        result = np.zeros((2, self._blocks.policies, drawn.shape[1]))
        selected, right = np.zeros(goal.shape), np.zeros(goal.shape)
        buffer = np.empty(goal.shape)
        for step in self._blocks.steps:
            enters = selected[: step.active] < goal[: step.active]
            if enters.any():
                if step.marked is not None:
                    at = step.marked.slots
                    right[at] += step.marked.weights(drawn, buffer) * enters[at]
                selected[: step.active] += step.every.weights(drawn, buffer) * enters
            if step.ending.size:
                result[0, step.ending], result[1, step.ending] = (
                    selected[step.ending_at],
                    right[step.ending_at],
                )
        return result[0], result[1]


def selective_accuracy(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Share of `correct` among the rows with the highest `confidence`, in [0, 1].

    Selected is the smallest prefix of whole tie blocks with at least the share `coverage` (in (0, 1]) of the
    rows; rows without a confidence come last, as one block. numerator and denominator are those of the
    prefix. No row: vacuous. Raises ValueError for a coverage outside (0, 1]. Reference: the selective risk of
    Geifman and El-Yaniv 2017 at a requested coverage.
    """
    coverage = as_fraction(options["coverage"])
    if not 0 < coverage <= 1:
        raise ValueError("`coverage` lies outside (0, 1]")
    return _SelectiveAccuracy(rows, coverage)
