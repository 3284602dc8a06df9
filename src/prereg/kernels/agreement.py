"""Agreement of raters: raw, Cohen's kappa for two, Fleiss' kappa for any number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.kernels.panel import Estimates, Panel, estimates, ratio
from prereg.kernels.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.kernels.panel import Floats, Kernel, Rows


def _raters(rows: Rows) -> list[str]:
    return sorted((name for name in rows.arguments if name.startswith("raters.")), key=lambda x: int(x[7:]))


class _Agreement:
    """Pairs of raters that agree, and how often each rater gave each label: all additive over rows."""

    def __init__(self, rows: Rows, *, kappa: str) -> None:
        names = _raters(rows)
        panel = Panel.of(rows, names)
        self._panel = panel
        self._kappa = kappa
        self.raters = len(names)
        labels = sorted(set(rows.levels.get("raters", ())))
        votes = np.stack([panel.arguments[name] for name in names])
        pairs = np.zeros(panel.among.shape, dtype=np.int64)
        for i in range(len(names)):
            for j in range(i + 1, len(names)):
                pairs += (votes[i] == votes[j]) & panel.among
        self._pairs = Whole(pairs.sum(axis=2).T)
        given = [[(votes[i] == label) & panel.among for label in labels] for i in range(len(names))]
        if kappa == "fleiss":
            given = [[np.sum([one[c] for one in given], axis=0) for c in range(len(labels))]]
        self._given = [[Whole(np.asarray(x).sum(axis=2).T) for x in one] for one in given]

    def compute(self, weights: Floats) -> Estimates:
        """See `Kernel`."""
        n = self._panel.counts.sums(weights)
        possible = self.raters * (self.raters - 1) / 2
        observed = ratio(self._pairs.sums(weights), n * possible)
        undefined = [("missing", self._panel.missed(weights)), ("vacuous", n == 0)]
        if self._kappa == "none":
            return estimates(observed, undefined)
        squared = np.zeros_like(n)
        if self._kappa == "fleiss":
            for whole in self._given[0]:
                squared += whole.sums(weights) ** 2
            chance = ratio(squared, (n * self.raters) ** 2)
        else:
            for first, second in zip(*self._given, strict=True):
                squared += first.sums(weights) * second.sums(weights)
            chance = ratio(squared, n**2)
        with np.errstate(invalid="ignore"):
            undefined.append(
                ("constant", chance == 1)
            )  # everyone gave one label: there is nothing to agree on
        return estimates(ratio(observed - chance, 1.0 - chance), undefined)


def agreement(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001 (all kinds share one signature)
    """Share of pairs of raters that gave the same label, over rows."""
    return _Agreement(rows, kappa="none")


def cohen_kappa(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001
    """Cohen's kappa of two raters (Cohen 1960)."""
    return _Agreement(rows, kappa="cohen")


def fleiss_kappa(rows: Rows, options: Mapping[str, Any]) -> Kernel:  # noqa: ARG001
    """Fleiss' kappa of any number of raters who all labelled every row (Fleiss 1971)."""
    return _Agreement(rows, kappa="fleiss")
