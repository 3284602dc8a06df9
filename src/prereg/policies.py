"""Rules that form policies from arms: what a gate withdraws, at thresholds or at coverages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal


def passes(score: np.ndarray, missing: np.ndarray | None, thresholds: Sequence[Decimal | None]) -> np.ndarray:
    """(S, N): the rows a gate lets through, for every threshold; None lets all pass.

    Equality passes; a missing score passes no numeric gate.
    """
    out = np.ones((len(thresholds), score.shape[-1]), dtype=bool)
    for i, threshold in enumerate(thresholds):
        if threshold is not None:
            out[i] = score >= float(threshold)
            if missing is not None:
                out[i] &= ~missing
    return out


def covers(score: np.ndarray, missing: np.ndarray, share: Decimal) -> np.ndarray:
    """(N,): the smallest prefix of whole tie blocks, by falling score, that reaches a share of the rows.

    Missing scores come last, as one block.
    """
    n = len(score)
    wanted = -((-share.as_integer_ratio()[0] * n) // share.as_integer_ratio()[1])
    if wanted == 0:
        return np.zeros(n, dtype=bool)
    present = np.sort(score[~missing])[::-1]
    if wanted > len(present):
        return np.ones(n, dtype=bool)
    kept: np.ndarray = (score >= present[wanted - 1]) & ~missing
    return kept
