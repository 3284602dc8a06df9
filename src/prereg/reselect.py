"""Rates and counts whose action changes with the resample: thresholds chosen anew in every draw.

A row has action 0 strictly below its threshold, so a unit's contribution is a step function of the threshold.
With the thresholds of an arm in rising order the sums for all of them are one product of whole numbers; each
resample then reads the one it chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prereg.kernels.panel import Estimates, estimates, ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.kernels.panel import Floats
    from prereg.thresholds import Controlled

KINDS = ("rate", "count")
"""The kinds that can be selected anew: sums of truth values over rows."""


@dataclass(frozen=True, eq=False)
class Reselected:
    """One metric on one panel and part, arm by arm."""

    kind: str
    arms: Sequence[Controlled]
    """Per arm its rows on the metric's part: inside `among`, and counted, under action 0 and 1."""
    missing: np.ndarray
    """(A, U): the unit has a row that makes the metric missing under one of the actions."""
    taus: Sequence[Floats]
    """Per arm every threshold that can be chosen, rising."""

    def compute(self, weights: Floats, chosen: Floats) -> Estimates:
        """Values for (R, U) weights and (R, S, A) chosen thresholds, NaN where nothing is deployed."""
        rows, settings, arms = chosen.shape
        n, k = np.zeros((2, rows, settings, arms))
        for a, (arm, taus) in enumerate(zip(self.arms, self.taus, strict=True)):
            grid = np.concatenate([[-np.inf], taus])  # below every score: the fallback everywhere
            index = np.searchsorted(grid, np.where(np.isnan(chosen[:, :, a]), -np.inf, chosen[:, :, a]))
            inside, counted = arm.matrices(grid)
            n[:, :, a] = np.take_along_axis(weights @ inside, index, axis=1)
            k[:, :, a] = np.take_along_axis(weights @ counted, index, axis=1)
        n, k = n.reshape(rows, -1), k.reshape(rows, -1)
        missed = np.tile(weights @ self.missing.T.astype(np.float64) > 0, (1, settings))
        if self.kind == "count":
            return estimates(k, [("missing", missed)], k)
        return estimates(ratio(k, n), [("missing", missed), ("vacuous", n == 0)], k, n)
