"""Kinds that compare a confidence with an outcome row by row: expected calibration error and Brier score.

Confidences are rounded to 9 decimals and become whole numbers of 1e-9, so bins are decided and sums are taken
on integers: an edge such as 3/10 is the decimal 0.3, not the double beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import Whole, largest_total, narrow

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from prereg.kernels.panel import Floats, Kernel, Rows

_UNIT = 10**9


def outcome(rows: Rows, positive: str, negative: str) -> tuple[str, bool]:
    """Return the argument that was given and whether it has to be negated to mean `positive`."""
    if positive in rows.arguments:
        return positive, False
    return negative, True


def _integers(
    panel: Panel, name: str, *, negated: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(P, U, K) confidences and label - confidence, both in units of 1e-9 and 0 outside `among`.

    Raises ValueError for a confidence outside [0, 1].
    """
    confidence = np.rint(panel.arguments["confidence"] * _UNIT)
    if ((confidence < 0) | (confidence > _UNIT)).any():
        raise ValueError("`confidence` lies outside [0, 1]")
    label = np.rint(panel.arguments[name] * _UNIT).astype(np.int64)  # 1, 0, or a share such as 1/2 for a tie
    if ((label < 0) | (label > _UNIT)).any():
        raise ValueError(f"`{name}` lies outside [0, 1]")
    whole = confidence.astype(np.int64)
    return whole, np.where(panel.among, (_UNIT - label if negated else label) - whole, 0)


class _Ece:
    def __init__(self, rows: Rows, *, bins: int, edges: str) -> None:
        name, negated = outcome(rows, "label", "error")
        self._panel = Panel.of(rows, ["confidence", name])
        confidence, gap = _integers(self._panel, name, negated=negated)
        # Bin k of M holds (k/M, (k+1)/M], 0 in the first; or [k/M, (k+1)/M), 1 in the last.
        if edges == "right_closed":
            place = (confidence * bins - 1) // _UNIT
        elif edges == "left_closed":
            place = confidence * bins // _UNIT
        else:  # the doubles of linspace: 0.3 lies below the edge 0.30000000000000004
            place = np.searchsorted(np.linspace(0, 1, bins + 1), confidence / _UNIT, side="right") - 1
        place = np.clip(place, 0, bins - 1)
        self._bins: list[tuple[npt.NDArray[np.intp], Whole]] = []
        for k in range(bins):
            inside = np.where(place == k, gap, 0).sum(axis=2).T
            # Only units that contribute: one score shared by all arms makes bins ten times smaller.
            units = np.flatnonzero(inside.any(axis=1))
            if units.size:
                self._bins.append((units, Whole(inside[units])))

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        gaps = np.zeros_like(rows)
        total = largest_total(weights)
        short = narrow(weights, total)
        for units, inside in self._bins:
            drawn: npt.NDArray[Any] = short
            if units.size < weights.shape[1]:
                drawn = np.take(short, units, axis=1)
            gap = inside.product(drawn, total)
            gaps += np.abs(gap, out=gap)
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(gaps, _UNIT * rows), undefined)


class _EqualMass:
    """Rows by confidence, ties in row order, cut into runs as equal as can be, the longer ones first."""

    def __init__(self, rows: Rows, *, bins: int) -> None:
        name, negated = outcome(rows, "label", "error")
        self._panel = Panel.of(rows, ["confidence", name])
        self._bins = bins
        confidence, gap = _integers(self._panel, name, negated=negated)
        samples = confidence.shape[2]
        self._sorted: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]] = []
        for policy in range(self._panel.policies):
            inside = np.flatnonzero(self._panel.among[policy])
            order = inside[np.argsort(confidence[policy].ravel()[inside], kind="stable")]
            self._sorted.append((order // samples, gap[policy].ravel()[order]))

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        gaps = np.zeros_like(rows)
        for policy, (units, gap) in enumerate(self._sorted):
            drawn = weights[:, units].astype(np.int64)
            first = np.zeros((len(weights), 1), dtype=np.int64)
            count = np.concatenate([first, np.cumsum(drawn, axis=1)], axis=1)
            total = np.concatenate([first, np.cumsum(drawn * gap, axis=1)], axis=1)
            after = np.append(gap, 0)
            size, longer = np.divmod(count[:, -1], self._bins)
            for r in range(len(weights)):
                k = np.arange(self._bins + 1)
                ends = k * size[r] + np.minimum(k, longer[r])
                place = np.searchsorted(count[r], ends, side="right") - 1
                below = total[r, place] + (ends - count[r, place]) * after[place]
                gaps[r, policy] = np.abs(np.diff(below)).sum()
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(gaps, _UNIT * rows), undefined)


class _Brier:
    def __init__(self, rows: Rows) -> None:
        name, negated = outcome(rows, "label", "error")
        self._panel = Panel.of(rows, ["confidence", name])
        _, gap = _integers(self._panel, name, negated=negated)
        # A square needs 60 bits and K of them could leave int64: two halves, each of at most 30 bits a row.
        square = gap * gap
        self._high = Whole((square >> 30).sum(axis=2).T)
        self._low = Whole((square & (2**30 - 1)).sum(axis=2).T)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        rows = self._panel.counts.sums(weights)
        squares = self._high.sums(weights) * 2.0**30 + self._low.sums(weights)
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", rows == 0)]
        return estimates(ratio(squares, float(_UNIT) ** 2 * rows), undefined)


def ece(rows: Rows, options: Mapping[str, Any]) -> Kernel:
    """Sum over bins of abs(sum of label - confidence), divided by the rows; in [0, 1].

    The expected calibration error over `bins` equal-width bins; `edges` says which end of a bin is closed
    (`linspace`: bins [lo, hi) whose edges are the doubles of numpy.linspace). With `binning: equal_mass` the
    bins are runs of equally many rows by confidence, ties in row order. Empty bins add 0. `error` is the
    negated label. No row: vacuous. Raises ValueError for a confidence outside [0, 1]. Reference: Naeini,
    Cooper and Hauskrecht 2015; bins as in Guo et al. 2017.
    """
    edges = options.get("edges", "right_closed")
    if options.get("binning", "equal_width") == "equal_mass":
        return _EqualMass(rows, bins=int(options.get("bins", 10)))
    return _Ece(rows, bins=int(options.get("bins", 10)), edges=str(edges))


def brier(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (all kinds share one signature)
    """Mean of (confidence - label)**2, in [0, 1] (the one-column form); no row: vacuous.

    `error` is the negated label. Raises ValueError for a confidence outside [0, 1]. Reference: Brier 1950.
    """
    return _Brier(rows)
