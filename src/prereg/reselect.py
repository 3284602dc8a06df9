"""Rates and counts whose action changes with the resample: thresholds chosen anew in every draw.

A row has action 0 strictly below its threshold, so what a unit counts is a step function of the threshold.
The sums for all thresholds of an arm come together, as whole numbers; a resample reads those of its own.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass
from prereg.kernels.panel import Estimates, estimates, ratio
from prereg.thresholds import Steps, by_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.kernels.panel import Bools, Floats
    from prereg.thresholds import Controlled

KINDS = ("rate", "count")
"""The kinds that can be selected anew: sums of truth values over rows."""


@dataclass(frozen=True, eq=False)
class Reselected:
    """One metric on one panel and part, arm by arm."""

    kind: str
    arms: Sequence[Controlled]
    """Per arm its rows on the metric's part: inside `among`, and counted, under action 0 and 1."""
    missing: Sequence[tuple[Bools, Bools]]
    """Per arm and row: does it make the metric missing under action 0, under action 1?"""
    taus: Sequence[Floats]
    """Per arm every threshold that can be chosen, rising."""

    @functools.cached_property
    def _steps(self) -> list[tuple[Floats, Steps, Steps, Steps | None]]:
        """Per arm the thresholds, below all of them one that nothing lies below, and the sums over them."""
        out = []
        for arm, gone, taus in zip(self.arms, self.missing, self.taus, strict=True):
            grid = np.concatenate([[-np.inf], taus])
            lost = None
            if any(x.any() for x in gone):
                lost = Steps.of(arm.first(grid), arm.unit, arm.units, len(grid), *gone)
            out.append((grid, *arm.steps(grid), lost))
        return out

    def compute(self, weights: Floats, chosen: Floats) -> Estimates:
        """Values for (R, U) weights and (R, S, A) chosen thresholds, NaN where nothing is deployed."""
        rows, settings, arms = chosen.shape
        n, k, lost = np.zeros((3, rows, settings, arms))
        weights = by_unit(weights)
        for a, (grid, *steps) in enumerate(self._steps):
            index = np.searchsorted(grid, np.where(np.isnan(chosen[:, :, a]), -np.inf, chosen[:, :, a]))
            for into, counted in zip((n, k, lost), steps, strict=True):
                if counted is not None:
                    into[:, :, a] = np.take_along_axis(counted.sums(weights), index, axis=1)
        n, k, lost = (x.reshape(rows, -1) for x in (n, k, lost))
        if self.kind == "count":
            return estimates(k, [("missing", lost > 0)], k)
        return estimates(ratio(k, n), [("missing", lost > 0), ("vacuous", n == 0)], k, n)
