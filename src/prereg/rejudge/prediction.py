"""One prediction judged again by itself, from its entry and the text of its claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from prereg import judge, ledger
from prereg.dataclass import dataclass
from prereg.expression import syntax
from prereg.expression.claims import support_condition
from prereg.judge.claims import judge_whole
from prereg.judge.evidence import (
    by_ends,
    by_one_value,
    by_p,
    by_truth,
    found,
    half_defined,
    own_level,
    provable_of,
    support_of,
)
from prereg.judge.judgement import level_of, with_fired
from prereg.judge.nodes import combine, compare, elementary
from prereg.rejudge.entries import (
    LAID_OVER,
    TRUE,
    ContradictionError,
    UnderivableError,
    close,
    hold_compound,
    recorded,
    truth_of,
)
from prereg.rejudge.legs import Builder, Built

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from prereg.judge.finding import Finding
    from prereg.judge.levels import Division
    from prereg.judge.nodes import Truths

Tree = dict[str, Any]


@dataclass
class Prediction:
    """A question with what else decides it: the lets its claim may name, and its adjusted p in a family."""

    question: judge.Question
    lets: Mapping[str, str]
    adjusted: float | None

    @property
    def _level(self) -> Fraction:
        return level_of(self.question)

    def judged(self, entry: Tree, claim: str, falsified_if: str | None) -> tuple[Finding, Tree | None]:
        """The finding on a prediction by itself, and the record of its falsifier."""
        if entry["reason"] == "not_measured":
            raise ContradictionError("not measured: a run measures every prediction, or stops")
        finding, built, truths, whole = self._finding(entry, claim, laid_over=True)
        if falsified_if is None:
            return finding, None
        record = dict(entry["falsifier"])
        may_fire = bool(whole[0]) and half_defined(whole)
        condition = support_condition(syntax.parse(falsified_if))
        if condition is not None:
            if record.get("support") != entry["support"] or entry["support"] is None:
                raise ContradictionError("the support of the falsifier is not that of the claim")
            true = support_of(whole)
            assert true is not None
            fired = may_fire and compare(condition.op, true, condition.bound)  # type: ignore[arg-type]
        else:
            counter, *_ = self._finding({"claim": "", **record}, falsified_if, laid_over=False)
            if (counter.verdict, counter.reason) != (record["verdict"], record["reason"]):
                raise ContradictionError("the verdict on the falsifier does not follow from its numbers")
            fired = may_fire and counter.verdict == "held"
        record["fired"] = fired
        finding = with_fired(finding, built.node, self.question.evidence, truths, whole, fired=fired)
        return finding, record

    def _finding(
        self, entry: Tree, text: str, *, laid_over: bool
    ) -> tuple[Finding, Built, list[Truths], Truths]:
        """The finding on a claim by the default rules."""
        evidence = self.question.evidence
        legs = entry.get("legs")
        simple = legs is None
        built = Builder(self.lets, [entry] if legs is None else legs, simple=simple).build(text)
        leaves = list(elementary(built.node))
        turned = 1
        node = built.node
        while simple and isinstance(node, judge.Not):
            node, turned = node.child, -turned
        if simple and isinstance(node, judge.Junction):
            raise ContradictionError("a compound claim without legs")
        if not simple:
            hold_compound(entry, built.entries)
        truths = []
        for leaf, one in zip(leaves, built.entries, strict=True):
            point = self._point(leaf, one, turned=turned, laid_over=laid_over and simple)
            truth = truth_of(turned * point, one)
            truths.append(-truth if turned < 0 else truth)
        at_point = int(combine(built.node, iter([t[:1] for t in truths]))[0])
        whole = truth_of(at_point, entry)
        if (
            evidence.kind == "support"
            and not simple
            and any(isinstance(leaf, judge.Leg) and leaf.two_sided for leaf in leaves)
        ):
            raise UnderivableError("support of a claim with `differs` among its legs")
        divisions = judge.divisions(built.node)
        findings = [
            self._leg(leaf, truth, one, division)
            for leaf, truth, one, division in zip(leaves, truths, built.entries, divisions, strict=True)
        ]
        if not simple:
            for one, again in zip(built.entries, findings, strict=True):
                if (one["verdict"], one["reason"]) != (again.verdict, again.reason):
                    raise ContradictionError(
                        f"leg `{one['claim']}`: the numbers say {ledger.said(again.verdict, again.reason)}, "
                        f"the ledger says {ledger.said(one['verdict'], one['reason'])}"
                    )
                same = one["evidence"] == ledger.shortened(again.evidence)
                levels = ((one["level"], again.level), (one.get("level_corrected"), again.level_corrected))
                if not same or not all(close(*pair) for pair in levels):
                    raise ContradictionError(f"leg `{one['claim']}`: another kind of evidence, or level")
        claim = " ".join(text.split())
        finding = judge_whole(
            built.node, claim, evidence, self._level, truths=truths, whole=whole, legs=findings
        )
        return finding, built, truths, whole

    def _point(self, leaf: judge.Elementary, entry: Tree, *, turned: int, laid_over: bool) -> int:
        """Truth of a leg at the point."""
        if isinstance(leaf, judge.Leg):
            d = float(leaf.d[0])
            if math.isnan(d):
                return 0
            return 1 if (d != 0 if leaf.two_sided else compare(leaf.op, d)) else -1
        verdict, reason = entry["verdict"], entry["reason"]
        if laid_over and (reason in LAID_OVER or entry.get("falsifier") is not None):
            raise UnderivableError("the truth of a claim without a difference is not recorded")
        sign = {"held": 1, "falsified": -1}.get(verdict) or TRUE.get(str(reason), 0)
        return turned * sign

    def _leg(self, leaf: judge.Elementary, truth: Truths, entry: Tree, division: Division) -> Finding:
        evidence, level = self.question.evidence, self._level
        judged = by_truth(leaf, truth, evidence)
        if judged is not None:
            return judged
        if not isinstance(leaf, judge.Leg):
            raise ContradictionError(f"`{entry['claim']}` has no difference to judge by {evidence.kind}")
        kind = entry["evidence"]
        if kind not in ("interval", "exact") or (evidence.kind == "exact" and kind != "exact"):
            raise ContradictionError(f"`{entry['claim']}` was judged by {kind}, not by {evidence.kind}")
        if self.question.family is not None:
            return self._member(leaf, truth, entry, kind)
        if truth[0] == 0:
            return found(leaf, truth, 0, evidence.kind, level=float(level))
        ends = recorded(entry)
        if not ends:
            return self._without_ends(leaf, truth, entry, kind, division)
        if entry["reason"] == "no_variation":
            return by_one_value(leaf, truth, _only_value(entry), level, division)

        def at(wanted: Fraction) -> tuple[float, float]:
            for known, pair in ends:
                if close(known, float(wanted)):
                    return pair
            raise ContradictionError(f"`{entry['claim']}` has no interval at level {float(wanted):.10g}")

        return by_ends(leaf, truth, at, level, division, kind=kind, p=entry.get("p"))

    def _without_ends(
        self, leaf: judge.Leg, truth: Truths, entry: Tree, kind: str, division: Division
    ) -> Finding:
        """No interval: fewer than half defined, or the sign test of two rates."""
        level, p = self._level, entry.get("p")
        if p is None:
            if half_defined(truth):
                raise ContradictionError(f"`{entry['claim']}` has neither interval nor p")
            return found(leaf, truth, 0, kind, reason="undefined", level=float(level))
        sign = self._met(leaf, truth, entry, p, float(1 - own_level(truth, level, division)))
        return by_p(leaf, truth, sign, level, division, kind=kind, p=p)

    def _met(self, leaf: judge.Leg, truth: Truths, entry: Tree, p: float, alpha: float) -> int:
        """The sign a test comes to: the side its units lean to is recorded only in the verdict."""
        decided = int(provable_of(leaf, truth)[0])
        if p > alpha and not close(p, alpha):
            return 0
        overlaid = entry["reason"] in LAID_OVER or entry.get("falsifier") is not None
        if overlaid or entry["verdict"] == "failed":
            raise UnderivableError("on which side of 0 the test leans is not recorded")
        return decided

    def _member(self, leaf: judge.Leg, truth: Truths, entry: Tree, kind: str) -> Finding:
        level = self._level
        p, adjusted = entry.get("p"), self.adjusted
        if p is None or adjusted is None:
            raise ContradictionError("a member of a family has a p")
        reason = None
        if truth[0] == 0 or (entry["interval"] is None and kind == "interval" and not half_defined(truth)):
            reason = "undefined"
        elif entry["reason"] == "no_variation":
            _only_value(entry)
            return found(
                leaf,
                truth,
                0,
                "interval",
                reason="no_variation",
                level=float(level),
                p=p,
                p_adjusted=adjusted,
            )
        sign = 0 if reason else self._met(leaf, truth, entry, adjusted, float(1 - level))
        return found(leaf, truth, sign, kind, reason=reason, level=float(level), p=p, p_adjusted=adjusted)


def _only_value(entry: Tree) -> float:
    """The value that an entry had in every resample."""
    for low, high in (ends for _, ends in recorded(entry)):
        if low != high:
            raise ContradictionError(f"`{entry['claim']}` varies: {entry['interval']}")
        return low
    raise ContradictionError(f"`{entry['claim']}` has no interval")
