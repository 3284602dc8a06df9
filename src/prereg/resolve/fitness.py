"""Whether a claim can come out either way and its evidence can judge its legs, as the texts alone tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.errors import Problem
from prereg.expression.claims import support_outcomes

if TYPE_CHECKING:
    from prereg.expression.claims import Leg
    from prereg.plan import PredictionPlan
    from prereg.resolve.notes import Notes


def unfit(prediction: PredictionPlan, notes: Notes) -> None:
    """Note claims and falsifiers that cannot come out both ways, and legs that the evidence cannot judge."""
    _both_ways(prediction, notes)
    if prediction.spec.evidence.kind in ("interval", "exact"):
        for key, claim in prediction.claims():
            for leg in claim.legs:
                if not leg.point_only and _without_difference(leg):
                    notes.unjudged.append(Problem(_said(leg), notes.places((*prediction.path, key))))


def _both_ways(prediction: PredictionPlan, notes: Notes) -> None:
    if prediction.claim.guard:
        return
    found = []
    can_hold, can_fail = prediction.claim.root.can
    if not can_fail:
        found.append(("claim", "this claim is true whatever the records say: it cannot fail"))
    elif not can_hold:
        found.append(("claim", "this claim is false whatever the records say: it cannot hold"))
    can = None
    if prediction.support is not None:
        can = support_outcomes(prediction.support)
    elif prediction.falsifier is not None and not prediction.falsifier.guard:
        can = prediction.falsifier.root.can
    if can is not None and not can[0]:
        found.append(("falsified_if", "this falsifier can never apply"))
    if can is not None and not can[1]:
        found.append(("falsified_if", "this falsifier always applies"))
    notes.settled += [Problem(said, notes.places((*prediction.path, key))) for key, said in found]


def _without_difference(leg: Leg) -> bool:
    return leg.op is None or (leg.op in ("==", "!=") and not leg.two_sided)


def _said(leg: Leg) -> str:
    hint = "use"
    if leg.op is not None:
        hint = "write `within [a, b]` for equality, or two one-sided predictions for a difference, or use"
    return (
        f"`{leg.text}` has no difference with an interval; {hint} `evidence: point` or "
        "{support: p} (point(c) judges one leg at the point)"
    )
