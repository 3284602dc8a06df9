"""What one entry of a ledger says in numbers, and where two of its numbers cannot both be so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.judge.nodes import Truths

Tree = dict[str, Any]
_CLOSE = 1e-9
"""Numbers of a ledger have ten digits."""
LAID_OVER = ("not_applicable", "variants_disagree")
"""Reasons that take the place of a verdict of its own."""
TRUE = {"short": 1, "contrary": -1}
"""Truth at the point, by the reason of a verdict `failed`."""


class UnderivableError(Exception):
    """The ledger does not hold what this verdict follows from."""


class ContradictionError(Exception):
    """Two numbers of one entry cannot both be so."""


def close(a: float | None, b: float | None) -> bool:
    """Whether two numbers are the same as far as a ledger writes them."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-12)


def number(value: float | str | None) -> float | None:
    """A number of a ledger, which writes large whole ones as texts."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        raise ContradictionError(f"{value[:40]!r} is no number") from None  # type: ignore[index]


def hold_compound(entry: Tree, legs: Sequence[Tree]) -> None:
    """Refuse numbers of a compound claim itself, and legs that were not drawn as often as it was."""
    for key in ("left", "right", "point", "interval", "n", "n_undefined", "p"):
        if entry.get(key) is not None:
            raise ContradictionError(f"`{key}` of a compound claim: its legs have it")
    if any(leg["resamples"] != entry["resamples"] for leg in legs):
        raise ContradictionError("legs with other resamples than their claim")


def is_defined(entry: Tree) -> bool:
    """Whether the verdict of an entry says that its truth at the point is defined."""
    return entry["verdict"] != "failed" or entry["reason"] in TRUE


def truth_of(point: int, entry: Tree) -> Truths:
    """Truth at the point, and in as many resamples as are recorded, in no order that means anything."""
    drawn, defined, support = entry["resamples"], entry["resamples_defined"], entry["support"]
    if (support is None) != (drawn == 0):
        raise ContradictionError(
            f"`{entry['claim']}`: support without resamples, or resamples without support"
        )
    true = round((support or 0.0) * drawn)
    if not 0 <= true <= defined <= drawn or not close(true / max(drawn, 1), support or 0.0):
        raise ContradictionError(f"`{entry['claim']}`: true in {true} of {defined} defined resamples")
    counts = [1] * true + [-1] * (defined - true) + [0] * (drawn - defined)
    return np.array([point, *counts], dtype=np.int8)


def recorded(entry: Tree) -> list[tuple[float, tuple[float, float]]]:
    """The intervals of an entry, with their levels."""
    out = []
    for level, interval in (
        (entry["level"], entry["interval"]),
        (entry.get("level_corrected"), entry.get("interval_corrected")),
    ):
        if level is None or interval is None:
            continue
        low, high = map(number, interval)
        if low is None or high is None or low > high:
            raise ContradictionError(f"`{entry['claim']}`: {interval} is no interval")
        out.append((level, (low, high)))
    return out
