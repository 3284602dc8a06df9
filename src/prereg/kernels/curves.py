"""Kinds that follow a score through its order: AURC, E-AURC and AUROC.

AURC is the mean over rows of the risk at the row's confidence. Each error adds to the risk at its own
position and at every later one, so n * AURC = sum over errors of (own + what comes later), where position i
of n offers 1/i, and a block of ties that closes at row c with m rows offers m/c under `ties: threshold`. One
pass accumulates what was offered so far, and errors only touch the rows that are errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.kernels.blocks import Blocks
from prereg.kernels.calibration import outcome
from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import Whole, harmonic, harmonic_between, largest_total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.kernels.panel import Floats, Kernel, Rows

# Stands for "no row yet": 0 divided by it is 0, and adding the first whole weight leaves no trace of it.
_NOTHING = 1e-300


class _Aurc:
    def __init__(self, rows: Rows, *, ties: str, excess: bool) -> None:
        name, negated = outcome(rows, "error", "label")
        self._panel = Panel.of(rows, ["confidence", name])
        wrong = self._panel.among & ((self._panel.arguments[name] != 0) != negated)
        self._wrong = Whole(wrong.sum(axis=2).T)
        self._blocks = Blocks.of(
            self._panel.arguments["confidence"],
            self._panel.among,
            wrong,
            falling=True,
            ties=ties != "row_order",
            prefixes=True,
        )
        self._threshold = ties == "threshold"
        self._excess = excess

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows, wrong = self._panel.counts.sums(weights), self._wrong.sums(weights)
        table = None if self._threshold and not self._excess else harmonic(largest_total(rows))
        offered, before = np.empty(rows.shape), np.empty(rows.shape)
        for which, drawn in self._blocks.chunks(weights):
            if self._threshold:
                passed = self._by_threshold(drawn)
            else:
                assert table is not None
                passed = self._by_row(drawn, table)
            offered[which], before[which] = (array.T for array in passed)
        area = wrong * offered - before
        if self._excess:
            assert table is not None
            right = rows - wrong
            between = harmonic_between(table, right.astype(np.int64), rows.astype(np.int64))
            area -= wrong - right * between
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(area, rows), undefined)

    def _by_threshold(self, drawn: Floats) -> tuple[Floats, Floats]:
        """(P, r): what all positions offer, and the sum over errors of what came before them."""
        result = np.zeros((2, self._blocks.policies, drawn.shape[1]))
        shape = (self._blocks.owner.size, drawn.shape[1])
        seen = np.full(shape, _NOTHING)
        offered, before = np.zeros(shape), np.zeros(shape)
        buffer, spare = np.empty(shape), np.empty(shape)
        for step in self._blocks.steps:
            if step.marked is not None:
                wrong = step.marked.weights(drawn, buffer)
                if isinstance(step.marked.slots, slice):
                    wrong *= offered[step.marked.slots]
                    before[step.marked.slots] += wrong
                else:
                    wrong *= np.take(offered, step.marked.slots, axis=0, out=spare[: len(wrong)], mode="clip")
                    before[step.marked.slots] += wrong
            weight = step.every.weights(drawn, buffer)
            seen[: step.active] += weight
            weight /= seen[: step.active]
            offered[: step.active] += weight
            if step.ending.size:
                result[0, step.ending], result[1, step.ending] = (
                    offered[step.ending_at],
                    before[step.ending_at],
                )
        return result[0], result[1]

    def _by_row(self, drawn: Floats, table: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Floats, Floats]:
        """As `_by_threshold` for rows one by one, each block averaged over all orders of its rows.

        With c rows before a block of m rows, b of them errors, b * j / m of these are expected up to position
        c + j, and over j they add b * (1 - c/m * (H(c+m) - H(c))). A row drawn w times is w rows; a block of
        one row has one order, so `row_order` is the same pass.
        """
        result = np.zeros((2, self._blocks.policies, drawn.shape[1]))
        shape = (self._blocks.owner.size, drawn.shape[1])
        seen = np.zeros(shape, dtype=np.int64)
        offered, before = np.ones(shape), np.zeros(shape)
        buffer, spare = np.empty(shape), np.empty(shape)
        for step in self._blocks.steps:
            weight = step.every.weights(drawn, buffer)
            start = seen[: step.active]
            end = start + weight.astype(np.int64)
            offer = harmonic_between(table, start, end)
            if step.marked is not None:
                wrong = step.marked.weights(drawn, spare)
                at = step.marked.slots
                # An undrawn block has no rows and no errors: whatever is divided by 1 is multiplied by 0.
                own = offer[at] * end[at] / np.maximum(weight[at], 1.0)
                before[at] += wrong * (offered[at] - 1.0 + own)
            seen[: step.active] = end
            offered[: step.active] += offer
            if step.ending.size:
                result[0, step.ending], result[1, step.ending] = (
                    offered[step.ending_at],
                    before[step.ending_at],
                )
        return result[0], result[1]


class _Auroc:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["score", "label"])
        label = self._panel.arguments["label"] != 0
        among = self._panel.among
        self._positive = Whole((among & label).sum(axis=2).T)
        # Falling, so that policies gated on the score begin one another's sequences.
        self._blocks = Blocks.of(
            self._panel.arguments["score"], among, among & ~label, falling=True, prefixes=True
        )

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`. Raises OverflowError from 2**26 drawn rows on, where pairs leave 53 bits."""
        rows, positive = self._panel.counts.sums(weights), self._positive.sums(weights)
        if rows.max(initial=0.0) >= 2**26:
            raise OverflowError("more rows than exact pair counts can hold")
        pairs = np.empty(rows.shape)
        for which, drawn in self._blocks.chunks(weights):
            pairs[which] = self._pairs(drawn).T
        negative = rows - positive
        undefined = [
            ("missing", self._panel.missed(weights)),
            ("vacuous", rows == 0),
            ("single_class", (positive == 0) | (negative == 0)),
        ]
        return estimates(ratio(pairs, 2.0 * positive * negative), undefined)

    def _pairs(self, drawn: Floats) -> Floats:
        """(P, r): 2 for each pair in the right order, 1 for each tie."""
        result = np.zeros((self._blocks.policies, drawn.shape[1]))
        shape = (self._blocks.owner.size, drawn.shape[1])
        positive, pairs = np.zeros(shape), np.zeros(shape)
        buffer, spare = np.empty(shape), np.empty(shape)
        for step in self._blocks.steps:
            weight = step.every.weights(drawn, buffer)
            if step.marked is None:
                positive[: step.active] += weight
            else:
                negative = step.marked.weights(drawn, spare)
                at = step.marked.slots
                # Positives above count twice, tied ones once: before the block plus up to its end.
                pairs[at] += negative * positive[at]
                positive[: step.active] += weight
                positive[at] -= negative
                pairs[at] += negative * positive[at]
            if step.ending.size:
                result[step.ending] = pairs[step.ending_at]
        return result


def aurc(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Area under the risk-coverage curve, in [0, 1]: (1/n) sum over rows of the risk at their confidence.

    `ties: threshold` (default): the risk of a row is the error rate among all rows at least as confident.
    `row_order`: rows enter one by one, tied ones by unit and then by sample as given; a row drawn w times
    enters w times in a row. `expected`: the mean of that over all orders of tied rows, where a row drawn w
    times is w tied rows. `label` is the negated error. No row: vacuous. Reference: Geifman and El-Yaniv
    2017; empirical form of Geifman, Uziel and El-Yaniv 2019.
    """
    return _Aurc(rows, ties=str(options.get("ties", "threshold")), excess=False)


def eaurc(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """AURC minus that of the perfect order with as many errors, in [0, 1].

    The optimum is exact, (1/n) sum of i/(n-k+i) for i = 1..k with k errors last, not its logarithmic
    approximation; it supposes distinct confidences whatever `ties` says. Options, undefined and reference as
    for `aurc`.
    """
    return _Aurc(rows, ties=str(options.get("ties", "threshold")), excess=True)


def auroc(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (all kinds share one signature)
    """Share of (positive, negative) pairs with the higher `score` on the positive, ties half, in [0, 1].

    No row: vacuous; one class: single_class. Reference: the Mann-Whitney statistic.
    """
    return _Auroc(rows)
