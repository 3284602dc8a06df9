"""How a whole claim is judged from its legs, and which reason is given where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import replace
from prereg.judge.evidence import Evidence, by_support, half_defined, judge_leg, support_of
from prereg.judge.finding import VERDICTS, Finding
from prereg.judge.levels import divisions
from prereg.judge.nodes import (
    Junction,
    Leg,
    Node,
    Not,
    Truths,
    combine,
    elementary,
    leg_truth,
    only_leg,
    resamples_in,
    whole_truth,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction


def judge_claim(node: Node, claim: str, evidence: Evidence, level: Fraction, resamples: int) -> Finding:
    """Judge a claim by the default rules: legs one by one, except that `support` looks at the whole.

    `resamples` is B; under `point` and `exact` the values may come without resamples. Raises ValueError
    where the values or the evidence do not fit the claim.
    """
    truths, whole = truths_of(node, evidence, resamples)
    legs = [
        judge_leg(leg, truth, evidence, level, division)
        for leg, truth, division in zip(elementary(node), truths, divisions(node), strict=True)
    ]
    return judge_whole(node, claim, evidence, level, truths=truths, whole=whole, legs=legs)


def truths_of(node: Node, evidence: Evidence, resamples: int) -> tuple[list[Truths], Truths]:
    """Return the truth of each leg and of the whole claim, at the point and in each resample."""
    carried = resamples_in(node)
    if carried == 0 and evidence.kind in ("point", "exact"):
        resamples = 0
    truths = [leg_truth(leg, resamples) for leg in elementary(node)]
    return truths, whole_truth(node, truths, resamples)


def judge_whole(
    node: Node,
    claim: str,
    evidence: Evidence,
    level: Fraction,
    *,
    truths: Sequence[Truths],
    whole: Truths,
    legs: Sequence[Finding],
) -> Finding:
    """Build the finding on a whole claim, given those on its legs in the order of `elementary`."""
    if evidence.kind == "support":
        assert evidence.share is not None
        sign = by_support(whole, _provable(node, truths, whole), evidence.share)
    else:
        signs = [np.array([leg.sign], dtype=np.int8) for leg in legs]
        sign = int(combine(node, iter(signs))[0])
    reason = None if sign else reason_of(node, evidence, truths, whole, legs)
    support = support_of(whole)
    defined = int(np.count_nonzero(whole[1:]))
    if only_leg(node) is not None:
        return replace(
            legs[0],
            claim=claim,
            verdict=VERDICTS[sign],
            reason=reason,
            support=support,
            resamples_defined=defined,
        )
    return Finding(
        claim=claim,
        verdict=VERDICTS[sign],
        reason=reason,
        evidence=evidence.to_tree(),
        level=float(level) if evidence.kind in ("interval", "exact") else None,
        support=support,
        resamples=len(whole) - 1,
        resamples_defined=defined,
        unpaired=any(leg.unpaired for leg in legs),
        legs=tuple(legs),
    )


def reason_of(
    node: Node, evidence: Evidence, truths: Sequence[Truths], whole: Truths, legs: Sequence[Finding]
) -> str:
    """Why a claim that was measured and applies is neither held nor falsified: the first that applies.

    `undefined` where the whole claim is undefined at the point or (where resamples are the evidence) in more
    than half of them, or where an undefined leg prevents the verdict to which the point leans;
    `no_variation` where every undecided leg has it; else `short` or `contrary` by the point.
    """
    if whole[0] == 0:
        return "undefined"
    if evidence.kind in ("interval", "support") and not half_defined(whole):
        return "undefined"
    if evidence.kind in ("interval", "exact"):
        states = iter([(int(t[0]), leg.sign, [leg]) for t, leg in zip(truths, legs, strict=True)])
        _, decided, preventing = _preventing(node, states)
        if any(leg.reason == "undefined" for leg in preventing):
            return "undefined"
        if not decided and all(leg.reason == "no_variation" for leg in legs if leg.verdict == "failed"):
            return "no_variation"
    return "short" if whole[0] > 0 else "contrary"


_State = tuple[int, int, list[Finding]]


def _preventing(node: Node, states: Iterator[_State]) -> _State:
    """Truth at the point, verdict, and the undecided legs that stand between the two.

    Those are the legs on the side of the point: a leg that is false, or undefined, at the point does not
    keep an `or` from being held, the undecided ones that are true do.
    """
    match node:
        case Not():
            truth, verdict, legs = _preventing(node.child, states)
            return -truth, -verdict, legs
        case Junction():
            children = [_preventing(child, states) for child in node.children]
            fold = min if node.kind == "and" else max
            truth = fold((child[0] for child in children), default=0)
            verdict = fold((child[1] for child in children), default=0)
            if verdict:
                return truth, verdict, []
            return truth, verdict, [leg for child in children if child[0] == truth for leg in child[2]]
        case _:
            truth, verdict, legs = next(states)
            return truth, verdict, [] if verdict else legs


def _provable(node: Node, truths: Sequence[Truths], whole: Truths) -> Truths:
    """Return the whole truth with a `differs` that is not true taken as undefined: it is never falsified."""
    marks = [isinstance(leg, Leg) and leg.two_sided for leg in elementary(node)]
    if not any(marks):
        return whole
    provable = [np.maximum(t, 0) if mark else t for t, mark in zip(truths, marks, strict=True)]
    return whole_truth(node, provable, len(whole) - 1)
