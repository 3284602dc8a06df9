"""The refusal index, K-sample form: whether the units a policy refuses more often have more wrong answers.

Over units, the Spearman correlation of (share of the unit's rows refused, share wrong). Few pairs of shares
can occur (15 with four samples), so a resample is the number of units in each cell, and from cell counts
doubled centred mid-ranks, their squares and their products are whole numbers: one ratio and one root are the
only roundings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass
from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import Whole, largest_total, narrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prereg.kernels.panel import Bools, Floats, Kernel, Rows

Indices = npt.NDArray[np.intp]

# Beyond so many cells (long or ragged samples) going through the units of one policy at a time is cheaper.
_MOST_CELLS = 64
_CHUNK = 64


@dataclass(frozen=True)
class _Sums:
    """(R, P) whole numbers: units, and sums of products of doubled centred ranks."""

    units: Floats
    refused: Floats
    wrong: Floats
    both: Floats


def _ranks(counts: Iterable[Floats], units: Floats) -> tuple[list[Floats], Floats]:
    """From units per level, rising: doubled centred mid-ranks of each level, and the sum of their squares.

    A level of m units with c below has doubled centred mid-rank 2c + m - n; over all units the squares sum to
    (n**3 - sum of m**3) / 3.
    """
    below = -units
    ranks = []
    cubes = units**3
    for count in counts:
        below = below + count
        ranks.append(below)
        below = below + count
        cubes -= count * count * count
    return ranks, cubes / cubes.dtype.type(3)


class _Cells:
    """All policies together: a matrix product gives the units in each cell."""

    def __init__(self, refused: Indices, wrong: Indices, present: Bools) -> None:
        policies, _ = refused.shape
        width = int(wrong.max(initial=0)) + 1
        code = np.where(present, refused * width + wrong, -1)
        cells = np.flatnonzero(np.bincount(code[present]))
        self._policies = policies
        self._levels = [(int(cell) // width, int(cell) % width) for cell in cells]
        self._inside = [Whole((code == cell).T) for cell in cells]

    def sums(self, weights: Floats) -> _Sums:
        drawn = largest_total(weights)
        # Every number below is at most n**3 in magnitude: the short type holds them for small samples.
        dtype: type[np.floating[Any]] = np.float32 if drawn**3 < 2**24 else np.float64
        parts = [self._chunk(weights[i : i + _CHUNK], dtype) for i in range(0, weights.shape[0], _CHUNK)]
        return _Sums(*(np.concatenate([p[k] for p in parts]).astype(np.float64) for k in range(4)))

    def _chunk(self, weights: Floats, dtype: type[np.floating[Any]]) -> tuple[Any, Any, Any, Any]:
        shape = (weights.shape[0], self._policies)
        drawn = largest_total(weights)
        short = narrow(weights, drawn)
        counts = [cell.product(short, drawn).astype(dtype, copy=False) for cell in self._inside]
        sides: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        for k, levels in enumerate(self._levels):
            for side, level in zip(sides, levels, strict=True):
                side[level] = side[level] + counts[k] if level in side else counts[k]
        units = np.zeros(shape, dtype=dtype)
        for count in sides[0].values():
            units += count
        ranked = []
        squares = []
        for side in sides:
            order = sorted(side)
            ranks, square = _ranks((side[level] for level in order), units)
            ranked.append(dict(zip(order, ranks, strict=True)))
            squares.append(square)
        both = np.zeros(shape, dtype=dtype)
        inner: dict[int, Any] = {}
        for k, (refused, wrong) in enumerate(self._levels):
            term = counts[k] * ranked[1][wrong]
            inner[refused] = inner[refused] + term if refused in inner else term
        for refused, term in inner.items():
            both += term * ranked[0][refused]
        return units, squares[0], squares[1], both


class _Units:
    """One policy at a time: units sorted by level on either side, level counts as sums of runs."""

    def __init__(self, refused: Indices, wrong: Indices, present: Bools) -> None:
        self._refused, self._wrong, self._present = refused, wrong, present

    def sums(self, weights: Floats) -> _Sums:
        columns = []
        for refused, wrong, present in zip(self._refused, self._wrong, self._present, strict=True):
            drawn = weights[:, present]
            units = drawn.sum(axis=1)
            if not drawn.shape[1]:
                columns.append((units, units, units, units))
                continue
            ranks_refused, squares_refused = self._side(drawn, refused[present], units)
            ranks_wrong, squares_wrong = self._side(drawn, wrong[present], units)
            both = (drawn * ranks_refused * ranks_wrong).sum(axis=1)
            columns.append((units, squares_refused, squares_wrong, both))
        return _Sums(*(np.stack([c[k] for c in columns], axis=1) for k in range(4)))

    @staticmethod
    def _side(drawn: Floats, level: Indices, units: Floats) -> tuple[Floats, Floats]:
        """(R, V) ranks of the units and (R,) sum of squares."""
        order = np.argsort(level, kind="stable")
        starts = np.flatnonzero(np.diff(level[order], prepend=-1))
        counts = np.add.reduceat(drawn[:, order], starts, axis=1)
        ranks, squares = _ranks(counts.T, units)
        codes = np.empty(level.size, dtype=np.intp)
        codes[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=level.size))
        return np.stack(ranks, axis=1)[:, codes], squares


class _RefusalIndex:
    def __init__(self, rows: Rows) -> None:
        self._panel = Panel.of(rows, ["refused", "wrong"])
        among = self._panel.among
        samples = among.sum(axis=2)
        present = samples > 0
        self._present = Whole(present.T)
        levels = []
        for name in ("refused", "wrong"):
            hits = (among & (self._panel.arguments[name] != 0)).sum(axis=2)
            # Equal shares give equal doubles and different ones different doubles below 2**26 samples.
            share = hits / np.maximum(samples, 1)
            levels.append(np.unique(share, return_inverse=True)[1].reshape(share.shape))
        cells = np.bincount((levels[0] * (int(levels[1].max(initial=0)) + 1) + levels[1])[present])
        kind = _Cells if np.count_nonzero(cells) <= _MOST_CELLS else _Units
        self._sums = kind(levels[0], levels[1], present)

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        sums = self._sums.sums(weights)
        values = ratio(sums.both, np.sqrt(sums.refused * sums.wrong))
        undefined = [
            ("missing", self._panel.missed(weights)),
            ("vacuous", sums.units == 0),
            ("too_few_pairs", sums.units < 3),
            ("constant", (sums.refused == 0) | (sums.wrong == 0)),
        ]
        return estimates(values, undefined)


def refusal_index(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (one signature for all)
    """Spearman correlation over units of the shares of a unit's rows that are refused and wrong, in [-1, 1].

    Units without a row inside `among` are left out; a unit drawn w times counts w times. No unit: vacuous;
    fewer than three: too_few_pairs; equal shares everywhere on one side: constant.

    This is not the published estimator (Pan et al., arXiv 2510.01782), which forces an answer in a second
    pass: here a refused row cannot be wrong, which pushes the index down the more a policy refuses. Sums are
    exact below 2e5 drawn units.
    """
    return _RefusalIndex(rows)
