"""A family of predictions, judged together: Holm's correction of two-sided p-values, resampled or exact."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from prereg import intervals
from prereg.dataclass import dataclass
from prereg.judge.claims import judge_whole, truths_of
from prereg.judge.evidence import (
    Ends,
    Evidence,
    agrees,
    exact_p,
    exact_side,
    found,
    percentile_ends,
)
from prereg.judge.nodes import Floats, Leg, Node, Truths, only_leg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.judge.finding import Finding, Interval

_INTERVAL = Evidence("interval")


@dataclass(frozen=True)
class Member:
    """One prediction of a family; `node` is None where it was not measured, and it still counts."""

    node: Node | None
    claim: str
    level: Fraction
    resamples: int
    evidence: Evidence = _INTERVAL


@dataclass(frozen=True)
class _Tested:
    """A member's p before correction, the side of 0 it speaks for, and why it can decide nothing."""

    leg: Leg
    truths: list[Truths]
    whole: Truths
    p: Fraction
    evidence: str = "interval"
    side: int = 0
    ends: Ends | float | None = None
    reason: str | None = None


def resampling_p(d: Floats) -> tuple[Fraction, int]:
    """Return the two-sided p of resampled differences, shape (B,), and the side of 0 it speaks for.

    p = min(1, 2 (1 + min(#{d <= 0}, #{d >= 0})) / (B + 1)), undefined resamples counted in both
    (Davison & Hinkley 1997, ch. 4, for the 1 in numerator and denominator).
    """
    undefined = int(np.count_nonzero(~np.isfinite(d)))
    below = int(np.count_nonzero(d <= 0)) + undefined
    above = int(np.count_nonzero(d >= 0)) + undefined
    p = min(Fraction(1), Fraction(2 * (1 + min(below, above)), len(d) + 1))
    return p, (below < above) - (below > above)


def judge_family(members: Sequence[Member]) -> list[Finding | None]:
    """Judge all members together: the findings, in order; None for one that was not measured, whose p is 1.

    Held: the point on the right side and adjusted p <= 1 - level; falsified: on the wrong side. Under
    `interval` a member that does not vary takes the p of its exact test, else 1; under `exact` all do.
    Raises ValueError for a compound claim, and for one without an exact test under `exact`.
    """
    tested = [None if m.node is None else _tested(m.node, m) for m in members]
    adjusted = intervals.holm([Fraction(1) if t is None else t.p for t in tested])
    return [
        None if t is None or m.node is None else _judged(m.node, m, t, p)
        for m, t, p in zip(members, tested, adjusted, strict=True)
    ]


def _tested(node: Node, member: Member) -> _Tested:
    leg = only_leg(node)
    if not isinstance(leg, Leg) or leg.point_only or (leg.op in ("==", "!=") and not leg.two_sided):
        raise ValueError(f"{member.claim}: a family takes single legs under `interval` or `exact`")
    exact = member.evidence.kind == "exact"
    truths, whole = truths_of(node, member.evidence, member.resamples)
    if whole[0] == 0:
        return _Tested(leg, truths, whole, Fraction(1), member.evidence.kind, reason="undefined")
    if exact:
        return _Tested(leg, truths, whole, Fraction(exact_p(leg)), "exact", exact_side(leg))
    ends = percentile_ends(leg)
    if ends is None:
        return _Tested(leg, truths, whole, Fraction(1), reason="undefined")
    if not isinstance(ends, float):
        p, side = resampling_p(leg.d[1:])
        return _Tested(leg, truths, whole, p, side=side, ends=ends)
    if leg.exact is None:
        return _Tested(leg, truths, whole, Fraction(1), ends=ends, reason="no_variation")
    return _Tested(leg, truths, whole, Fraction(exact_p(leg)), "exact", exact_side(leg))


def _judged(node: Node, member: Member, tested: _Tested, adjusted: Fraction) -> Finding:
    leg, truth = tested.leg, tested.truths[0]
    met = tested.reason is None and adjusted <= 1 - member.level and agrees(leg, tested.side)
    interval: Interval = None
    if isinstance(tested.ends, float):
        interval = (tested.ends, tested.ends)
    elif tested.ends is not None:
        interval = tested.ends(member.level)
    finding = found(
        leg,
        truth,
        int(truth[0]) if met else 0,
        tested.evidence,
        reason=tested.reason,
        level=float(member.level),
        interval=interval,
        p=float(tested.p),
        p_adjusted=float(adjusted),
    )
    return judge_whole(
        node,
        member.claim,
        member.evidence,
        member.level,
        truths=tested.truths,
        whole=tested.whole,
        legs=[finding],
    )
