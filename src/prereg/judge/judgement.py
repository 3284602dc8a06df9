"""From questions to judgements: falsifiers, `given`, gates, agreement of variants, and what is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from prereg import intervals
from prereg.dataclass import dataclass, replace
from prereg.judge.claims import judge_claim, reason_of, truths_of
from prereg.judge.evidence import Evidence, half_defined, support_of
from prereg.judge.families import Member, judge_family
from prereg.judge.finding import Finding, Tree, Verdict
from prereg.judge.nodes import Node, Op, Truths, compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

Anticipated = Literal["held", "failed", "falsified", "open"]
Tier = Literal["primary", "secondary", "exploratory"]

DEFAULT_LEVEL = 0.95
FAMILIES = ("interval", "exact")
"""The kinds of evidence that have a p to correct."""


@dataclass(frozen=True)
class SupportFalsifier:
    """A condition on the share of all resamples in which the whole claim is true: `support op bound`."""

    op: Op
    bound: float
    text: str


@dataclass(frozen=True, eq=False)
class ClaimFalsifier:
    """A claim of its own, judged by the evidence of the prediction; it fires where it is held."""

    node: Node
    text: str


Falsifier: TypeAlias = SupportFalsifier | ClaimFalsifier


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One prediction with its values filled in.

    `level` is the registered two-sided level, 0.95 where none is given; `resamples` is B. `given` names
    earlier questions, `agree` the variants whose verdict must be the same. `node` may be None only where
    the prediction was not measured.
    """

    id: str
    claim: str
    node: Node | None
    evidence: Evidence
    level: float | None = None
    resamples: int = 0
    falsifier: Falsifier | None = None
    anticipate: Anticipated = "held"
    given: tuple[str, ...] = ()
    guard: bool = False
    gate: bool = False
    family: str | None = None
    tier: Tier = "primary"
    measured: bool = True
    agree: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Judgement:
    """One verdict of a ledger."""

    question: Question
    finding: Finding
    falsifier: Tree | None

    @property
    def id(self) -> str:
        """The id of the prediction."""
        return self.question.id

    @property
    def verdict(self) -> Verdict:
        """Held, failed or falsified."""
        return self.finding.verdict

    @property
    def reason(self) -> str | None:
        """Why it failed; None where it did not."""
        return self.finding.reason

    @property
    def surprise(self) -> bool:
        """Whether the verdict differs from the one anticipated; never so for `open` and `not_applicable`."""
        if self.question.anticipate == "open" or self.reason == "not_applicable":
            return False
        return self.verdict != self.question.anticipate

    @property
    def counted(self) -> bool:
        """Whether it enters the counts and exit codes: primary, and no guard."""
        return self.question.tier == "primary" and not self.question.guard

    def to_tree(self) -> Tree:
        """Return the entry of the ledger, in plain JSON values, numbers not yet shortened."""
        question = self.question
        fields = self.finding.to_tree()
        legs = fields.pop("legs", None)
        shared = ("claim", "verdict")
        tree: Tree = {"id": question.id, **{name: fields.pop(name) for name in shared}}
        tree |= {"anticipated": question.anticipate, "surprise": self.surprise, **fields}
        tree |= {"guard": question.guard, "falsifier": self.falsifier}
        if question.tier != "primary":
            tree["tier"] = question.tier
        if question.gate:
            tree["gate"] = True
        if question.family is not None:
            tree["family"] = question.family
        if legs is not None:
            tree["legs"] = legs
        return tree


def judge(
    questions: Sequence[Question], *, variants: Mapping[str, Sequence[Question]] | None = None
) -> tuple[Judgement, ...]:
    """Judge all predictions of a protocol together, in registered order.

    `variants` holds, by name, the same questions with the values of each variant; only a question that must
    `agree` looks at them. Raises ValueError where a question cannot be judged as asked (an unknown or later
    `given`, evidence that does not fit a leg, values of the wrong length): `check` refuses those before.
    """
    own = _by_themselves(questions)
    return settled(questions, own, {name: _by_themselves(asked) for name, asked in (variants or {}).items()})


def settled(
    questions: Sequence[Question],
    own: Mapping[str, Judgement],
    others: Mapping[str, Mapping[str, Judgement]],
) -> tuple[Judgement, ...]:
    """What judgements by themselves come to together: variants that must agree, then `given`, then gates.

    `own` are by id, `others` by variant and id. Raises ValueError for an unknown or later `given`.
    """
    agreed = {q.id: _agreeing(own[q.id], [others[name][q.id] for name in q.agree]) for q in questions}
    applied = _after_given(questions, agreed)
    shut = {q.id for q in questions if q.gate and applied[q.id].verdict != "held"}
    # A gate keeps the verdict that shut it; all else, open gates included, no longer applies.
    final = applied if not shut else {i: j if i in shut else _not_applicable(j) for i, j in applied.items()}
    return tuple(final[q.id] for q in questions)


def void(judgements: Iterable[Judgement]) -> bool:
    """Whether the headline is void: a gate was not held."""
    return any(j.question.gate and j.verdict != "held" for j in judgements)


def counts(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Count as a ledger does: guards and all tiers but the primary are outside."""
    counted = [j for j in judgements if j.counted]
    tally = {
        verdict: sum(j.verdict == verdict for j in counted) for verdict in ("held", "failed", "falsified")
    }
    return {**tally, "surprises": sum(j.surprise for j in counted)}


def _by_themselves(questions: Sequence[Question]) -> dict[str, Judgement]:
    """Judge each question as if no other stood before it; families are judged as one."""
    if len({q.id for q in questions}) != len(questions):
        raise ValueError("two predictions have one id")
    families: dict[str, list[Question]] = {}
    for question in questions:
        if question.family is not None:
            families.setdefault(question.family, []).append(question)
    findings: dict[str, Finding | None] = {}
    for members in families.values():
        if any(q.evidence.kind not in FAMILIES for q in members) or len({q.evidence for q in members}) > 1:
            raise ValueError("a family is judged under `interval`, or as one under `exact`")
        judged = judge_family(
            [
                Member(q.node if q.measured else None, q.claim, level_of(q), q.resamples, q.evidence)
                for q in members
            ]
        )
        findings.update(zip((q.id for q in members), judged, strict=True))
    return {q.id: _by_itself(q, findings.get(q.id)) for q in questions}


def _by_itself(question: Question, finding: Finding | None) -> Judgement:
    if not question.measured:
        unmeasured = Finding(
            claim=question.claim,
            verdict="failed",
            reason="not_measured",
            evidence=question.evidence.to_tree(),
            resamples=question.resamples,
        )
        return Judgement(question, unmeasured, None)
    node = question.node
    if node is None:
        raise ValueError(f"{question.id}: a prediction that was measured has values")
    if finding is None:
        finding = judge_claim(node, question.claim, question.evidence, level_of(question), question.resamples)
    if question.falsifier is None:
        return Judgement(question, finding, None)
    return _with_falsifier(question, node, question.falsifier, finding)


def _with_falsifier(question: Question, node: Node, falsifier: Falsifier, finding: Finding) -> Judgement:
    """Let the registered falsifier take the place of the default one; it beats `held`."""
    truths, whole = truths_of(node, question.evidence, question.resamples)
    may_fire = bool(whole[0]) and half_defined(whole)
    if isinstance(falsifier, SupportFalsifier):
        support = support_of(whole)
        if support is None:
            raise ValueError(f"{question.id}: a condition on support needs resamples")
        fired = may_fire and compare(falsifier.op, support, falsifier.bound)
        record: Tree = {"claim": falsifier.text, "fired": fired, "support": support}
    else:
        counter = judge_claim(
            falsifier.node, falsifier.text, question.evidence, level_of(question), question.resamples
        )
        fired = may_fire and counter.verdict == "held"
        tree = counter.to_tree()
        record = {"claim": tree.pop("claim"), "fired": fired, **tree}
    finding = with_fired(finding, node, question.evidence, truths, whole, fired=fired)
    return Judgement(question, finding, record)


def with_fired(
    finding: Finding,
    node: Node,
    evidence: Evidence,
    truths: Sequence[Truths],
    whole: Truths,
    *,
    fired: bool,
) -> Finding:
    """The finding where a registered falsifier takes the place of the default one."""
    if fired:
        return replace(finding, verdict="falsified", reason=None)
    if finding.verdict != "falsified":
        return finding
    legs = [finding] if finding.legs is None else finding.legs
    return replace(finding, verdict="failed", reason=reason_of(node, evidence, truths, whole, legs))


def _agreeing(judgement: Judgement, others: Sequence[Judgement]) -> Judgement:
    """Fail a verdict that a variant does not share; one that failed anyway keeps its reason."""
    if judgement.verdict == "failed" or all(other.verdict == judgement.verdict for other in others):
        return judgement
    return _failed(judgement, "variants_disagree")


def _after_given(questions: Sequence[Question], judged: Mapping[str, Judgement]) -> dict[str, Judgement]:
    applied: dict[str, Judgement] = {}
    for question in questions:
        unknown = [name for name in question.given if name not in applied]
        if unknown:
            raise ValueError(f"{question.id}: given {unknown[0]}, which is no earlier prediction")
        open_ = all(applied[name].verdict == "held" for name in question.given)
        applied[question.id] = judged[question.id] if open_ else _not_applicable(judged[question.id])
    return applied


def _not_applicable(judgement: Judgement) -> Judgement:
    if judgement.reason == "not_measured":
        return judgement
    return _failed(judgement, "not_applicable")


def _failed(judgement: Judgement, reason: str) -> Judgement:
    """Failed for a reason of its own; the numbers stay, they are facts."""
    return replace(judgement, finding=replace(judgement.finding, verdict="failed", reason=reason))


def level_of(question: Question) -> Fraction:
    """Return the two-sided level of a question, exactly."""
    return intervals.exact(DEFAULT_LEVEL if question.level is None else question.level)
