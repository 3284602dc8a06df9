"""The verdicts of a ledger again, from the numbers in it and the registration: the same judge, no records.

A ledger holds what decided: both sides, d and its interval, support, p.  From these, and from the text of
the claim, the tree of its legs is built and judged anew.  Not in a ledger, and so taken as it says: the truth
of a leg without a difference (`defined(x)`, two names compared), on which side the units of an exact test
lean, how many policies a fold ran over, where one of two nested folds ends.  The numbers need the records.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from prereg import intervals, judge, ledger
from prereg.dataclass import dataclass, field
from prereg.errors import IntegrityError, Problem
from prereg.expression.syntax import ExpressionError
from prereg.judge.finding import Finding
from prereg.judge.judgement import DEFAULT_LEVEL, settled
from prereg.numerals import shown
from prereg.outcomes import compile_outcome, headline
from prereg.rejudge.entries import LAID_OVER, ContradictionError, UnderivableError, close
from prereg.rejudge.prediction import Prediction
from prereg.rejudge.registered import one_each
from prereg.resolve.promised import expanded
from prereg.stored import from_stored
from prereg.variants import variant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.errors import Place
    from prereg.protocol import Protocol
    from prereg.registration import Registration
    from prereg.resolve.expand import Expanded

Tree = dict[str, Any]


@dataclass
class Rejudged:
    """What does not follow, and what could not be looked at."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def rejudge(registered: Registration, content: Tree) -> Rejudged:
    """Judge everything again; the ledger must hold its predictions in registered order.

    Raises:
        IntegrityError: where nothing can be judged as it is registered, which no lock would have let pass.

    """
    protocol = from_stored(registered.content["protocol"], registered.place)
    unknown = {v for p in protocol.predictions.values() for v in p.agree or ()} - set(protocol.variants)
    if unknown:
        raise IntegrityError(
            *[Problem(f"unknown variant {shown(name)}", registered.place) for name in sorted(unknown)]
        )
    try:
        return _again(protocol, registered, content)
    except ValueError as error:  # how the judge refuses a question
        raise IntegrityError(Problem(f"not to be judged as registered: {error}", registered.place)) from None


def _again(protocol: Protocol, registered: Registration, content: Tree) -> Rejudged:

    def place(path: object, key: bool = False, offset: int | None = None) -> Place:
        del path, key, offset
        return registered.place

    out = Rejudged()
    own = _Pass(protocol, expanded(protocol, registered), content["predictions"], "predictions", out)
    others = {
        v["name"]: _Pass(
            read := variant_of(protocol, v["name"], place),
            expanded(read, registered),
            v["predictions"],
            f"variants[{v['name']}].predictions",
            out,
        )
        for v in content["variants"]
    }
    judged = settled(own.questions, own.own, {name: each.own for name, each in others.items()})
    own.compare(judged, content["counts"], "counts")
    for v in content["variants"]:
        each = others[v["name"]]
        each.compare(settled(each.questions, each.own, {}), v["counts"], f"variants[{v['name']}].counts")
    text = _headline(protocol, judged)
    if text != content["headline"]:
        out.problems.append(f"headline: the verdicts say {text!r}, the ledger says {content['headline']!r}")
    return out


def _headline(protocol: Protocol, judged: Sequence[judge.Judgement]) -> str | None:
    if judge.void(judged):
        return "void"
    facts = {j.id: (str(j.verdict), j.surprise) for j in judged}
    try:
        rules = [compile_outcome(rule.when, rule.then, list(facts)) for rule in protocol.outcomes]
    except ExpressionError as error:
        return f"({error.message})"
    return headline(rules, facts)


class _Pass:
    """One reading of the records: its questions, and the judgements of each by itself."""

    def __init__(
        self,
        protocol: Protocol,
        asked: Sequence[Expanded],
        entries: Sequence[Tree],
        label: str,
        out: Rejudged,
    ) -> None:
        self.entries = {p["id"]: p for p in entries}
        self.label = label
        self.out = out
        level = protocol.resampling.level if protocol.resampling else DEFAULT_LEVEL
        self.questions = [_question(one, self.entries[one.id], level) for one in asked]
        lets = dict(protocol.let)
        adjusted = _adjusted(self.questions, self.entries)
        self.own: dict[str, judge.Judgement] = {}
        for one, question in zip(asked, self.questions, strict=True):
            entry = self.entries[one.id]
            try:
                finding, record = Prediction(question, lets, adjusted.get(one.id)).judged(
                    entry, one.spec.claim, one.spec.falsified_if
                )
            except (UnderivableError, ExpressionError) as why:
                out.unchecked.append(f"{label}[{one.id}]: {why}")
                finding, record = _as_said(entry), entry["falsifier"]
            except ContradictionError as why:
                out.problems.append(f"{label}[{one.id}]: {why}")
                finding, record = _as_said(entry), entry["falsifier"]
            self.own[one.id] = judge.Judgement(question, finding, record)

    def compare(self, judged: Sequence[judge.Judgement], counts: Tree, where: str) -> None:
        """Note what a ledger says otherwise."""
        for one in judged:
            entry = self.entries[one.id]
            said = {"verdict": entry["verdict"], "reason": entry["reason"], "surprise": entry["surprise"]}
            own = {"verdict": one.verdict, "reason": one.reason, "surprise": one.surprise}
            said["evidence"], own["evidence"] = entry["evidence"], ledger.shortened(one.finding.evidence)
            numbers = {key: entry.get(key) for key in ("level", "level_corrected", "p_adjusted")}
            again = ledger.shortened({key: getattr(one.finding, key) for key in numbers})
            for key, value in own.items():
                if said[key] != value:
                    self.out.problems.append(
                        f"{self.label}[{one.id}].{key}: the numbers say {value}, the ledger says {said[key]}"
                    )
            for key, value in again.items():
                if not close(value, numbers[key]):
                    self.out.problems.append(
                        f"{self.label}[{one.id}].{key}: it follows {value}, the ledger says {numbers[key]}"
                    )
            record = one.falsifier
            if record is not None:
                said_fired = entry["falsifier"]["fired"]
                overlaid = entry["reason"] in LAID_OVER
                if record["fired"] != said_fired or not (
                    overlaid or said_fired == (entry["verdict"] == "falsified")
                ):
                    self.out.problems.append(f"{self.label}[{one.id}].falsifier.fired does not follow")
        found_counts = judge.counts(judged)
        if found_counts != {key: counts[key] for key in found_counts}:
            self.out.problems.append(
                f"{where}: the verdicts come to {found_counts}, the ledger says {counts}"
            )


def _question(one: Expanded, entry: Tree, level: float) -> judge.Question:
    spec = one.spec
    return judge.Question(
        id=one.id,
        claim=" ".join(spec.claim.split()),
        node=None,
        evidence=judge.Evidence(spec.evidence.kind, spec.evidence.support),
        level=spec.level if spec.level is not None else level,
        resamples=entry["resamples"],
        anticipate=spec.anticipate,
        given=spec.given or (),
        guard=entry["guard"],
        gate=spec.gate,
        family=spec.family,
        tier=spec.tier,
        agree=spec.agree or (),
    )


def _adjusted(questions: Sequence[judge.Question], entries: Mapping[str, Tree]) -> dict[str, float]:
    """Holm's adjusted p per member of a family, from the p that are recorded."""
    families: dict[str, list[str]] = {}
    for q in questions:
        if q.family is not None:
            families.setdefault(q.family, []).append(q.id)
    out: dict[str, float] = {}
    for ids in families.values():
        values = intervals.holm([Fraction(entries[name].get("p", 1.0)) for name in ids])
        out.update(zip(ids, map(float, values), strict=True))
    return out


def _as_said(entry: Tree) -> Finding:
    return Finding(
        claim=entry["claim"],
        verdict=entry["verdict"],
        reason=entry["reason"],
        evidence=entry["evidence"],
        level=entry["level"],
        p_adjusted=entry.get("p_adjusted"),
        level_corrected=entry.get("level_corrected"),
    )


__all__ = ["Rejudged", "one_each", "rejudge"]
