"""Values in, verdicts out: every prediction is held, failed with a reason, or falsified. Sees no records.

A claim arrives as a tree of nodes whose values are filled in at the point and in every resample; `judge`
gives back one judgement per prediction, with the numbers that decided it.
"""

from __future__ import annotations

from prereg.judge.evidence import Evidence
from prereg.judge.finding import Finding, Verdict
from prereg.judge.judgement import (
    FAMILIES,
    ClaimFalsifier,
    Falsifier,
    Judgement,
    Question,
    SupportFalsifier,
    counts,
    judge,
    void,
)
from prereg.judge.levels import Division, divisions
from prereg.judge.nodes import Elementary, Junction, Leg, Node, Not, OneRate, Op, Truth, TwoRates, elementary

__all__ = [
    "FAMILIES",
    "ClaimFalsifier",
    "Division",
    "Elementary",
    "Evidence",
    "Falsifier",
    "Finding",
    "Judgement",
    "Junction",
    "Leg",
    "Node",
    "Not",
    "OneRate",
    "Op",
    "Question",
    "SupportFalsifier",
    "Truth",
    "TwoRates",
    "Verdict",
    "counts",
    "divisions",
    "elementary",
    "judge",
    "void",
]
