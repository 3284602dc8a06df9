"""What was found about a claim or one of its legs: a verdict and the numbers that decided it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from prereg.judge.nodes import Count

Verdict = Literal["held", "failed", "falsified"]
Interval: TypeAlias = tuple[float, float] | None
Tree: TypeAlias = dict[str, Any]

VERDICTS: dict[int, Verdict] = {1: "held", 0: "failed", -1: "falsified"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One verdict with its numbers; `to_tree` gives the fields the ledger shares between claims and legs.

    `point` and the intervals are of d = left - right, never sign-flipped; a compound claim has none of its
    own. `interval` is at `level`: that of the direction that decided, else the registered one.
    `undefined_because` is the metric's reason where the point is undefined.
    """

    claim: str
    verdict: Verdict
    reason: str | None
    evidence: str | dict[str, float]
    left: float | None = None
    right: float | None = None
    point: float | None = None
    interval: Interval = None
    level: float | None = None
    support: float | None = None
    resamples: int = 0
    resamples_defined: int = 0
    n: Count = None
    n_undefined: Count = None
    unpaired: bool = False
    undefined_because: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    interval_corrected: Interval = None
    level_corrected: float | None = None
    legs: tuple[Finding, ...] | None = None

    @property
    def sign(self) -> int:
        """The verdict as -1, 0 or 1."""
        return {"held": 1, "failed": 0, "falsified": -1}[self.verdict]

    def to_tree(self) -> Tree:
        """Plain JSON values; what does not apply beyond the fields of the contract is absent."""
        tree: Tree = {
            "claim": self.claim,
            "verdict": self.verdict,
            "reason": self.reason,
            "evidence": self.evidence,
            "left": _number(self.left),
            "right": _number(self.right),
            "point": _number(self.point),
            "interval": _pair(self.interval),
            "level": _number(self.level),
            "support": _number(self.support),
            "resamples": self.resamples,
            "resamples_defined": self.resamples_defined,
            "n": _count(self.n),
            "n_undefined": _count(self.n_undefined),
            "unpaired": self.unpaired,
        }
        if self.undefined_because is not None:
            tree["undefined_because"] = self.undefined_because
        if self.p is not None:
            tree["p"] = _number(self.p)
        if self.p_adjusted is not None:
            tree["p_adjusted"] = _number(self.p_adjusted)
        if self.level_corrected is not None:
            tree["interval_corrected"] = _pair(self.interval_corrected)
            tree["level_corrected"] = _number(self.level_corrected)
        if self.legs is not None:
            tree["legs"] = [leg.to_tree() for leg in self.legs]
        return tree


def _number(value: float | None) -> float | None:
    """Return a float of Python's own, None where it is not finite; minus zero becomes zero."""
    return None if value is None or not math.isfinite(value) else float(value) + 0.0


def _pair(interval: Interval) -> list[float | None] | None:
    return None if interval is None else [_number(end) for end in interval]


def _count(count: Count) -> int | list[int] | None:
    if count is None:
        return None
    return [int(part) for part in count] if isinstance(count, Sequence) else int(count)
