"""The verdicts of a ledger again, from the numbers in it and the registration: the same judge, no records.

A ledger holds what decided: both sides, d and its interval, support, p.  From these, and from the text of
the claim, the tree of its legs is built and judged anew.  Not in a ledger, and so taken as it says: the truth
of a leg without a difference (`defined(x)`, two names compared), on which side the units of an exact test
lean, how many policies a fold ran over, where one of two nested folds ends.  The numbers need the records.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import intervals, judge, ledger
from prereg.dataclass import dataclass, field
from prereg.expression import syntax
from prereg.expression.claims import support_condition
from prereg.expression.syntax import ExpressionError
from prereg.findings import amends_of, deviation_of
from prereg.judge.claims import judge_whole
from prereg.judge.evidence import by_ends, by_support, found, half_defined, provable_of
from prereg.judge.finding import Finding
from prereg.judge.judgement import settled, with_fired
from prereg.judge.nodes import combine, compare, elementary
from prereg.outcomes import compile_outcome, headline
from prereg.resolve.promised import expanded
from prereg.stored import from_stored
from prereg.variants import variant_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prereg.errors import Place
    from prereg.judge.levels import Division
    from prereg.judge.nodes import Truths
    from prereg.protocol import Protocol
    from prereg.registration import Registration
    from prereg.resolve.expand import Expanded

Tree = dict[str, Any]
_DEFAULT_LEVEL = 0.95
_CLOSE = 1e-9
"""Numbers of a ledger have ten digits."""
_TRUE = {"short": 1, "contrary": -1}
_DEVIATION = ("deviated", "deviations", "verdicts_before")
_LAID_OVER = ("not_applicable", "variants_disagree")


class UnderivableError(Exception):
    """The ledger does not hold what this verdict follows from."""


class ContradictionError(Exception):
    """Two numbers of one entry cannot both be so."""


@dataclass
class Rejudged:
    """What does not follow, and what could not be looked at."""

    problems: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def one_each(registered: Registration, content: Tree) -> list[str]:
    """Every prediction and report exactly once, in registered order, as it was registered, and no other."""
    protocol = from_stored(registered.content["protocol"], registered.place)
    asked = expanded(protocol, registered)
    out = _in_order("predictions", [p.id for p in asked], [p["id"] for p in content["predictions"]])
    out += _in_order("variants", list(protocol.variants), [v["name"] for v in content["variants"]])
    for variant in content["variants"]:
        label = f"variants[{variant['name']}].predictions"
        out += _in_order(label, [p.id for p in asked], [p["id"] for p in variant["predictions"]])
    out += _in_order("reports", list(protocol.reports), [r["id"] for r in content["reports"]])
    for report in content["reports"]:
        text = protocol.reports.get(report["id"])
        if text is not None and report["expression"] != " ".join(text.split()):
            out.append(f"reports[{report['id']}].expression is not the registered one")
    if out:
        return out
    for label, entries in _all_predictions(content):
        for one, entry in zip(asked, entries, strict=True):
            out += [f"{label}[{one.id}].{said}" for said in _as_registered(one, entry, protocol)]
    if content.get("amends") != amends_of(registered).get("amends"):
        out.append("amends: not what the registration says")
    for one, entry in zip(asked, content["predictions"], strict=True):
        wanted = ledger.shortened(deviation_of(registered, one.id))
        if {key: entry[key] for key in _DEVIATION if key in entry} != wanted:
            out.append(f"predictions[{one.id}]: its deviations are not those of the amendment")
    return out


def _all_predictions(content: Tree) -> Iterator[tuple[str, list[Tree]]]:
    yield "predictions", content["predictions"]
    for variant in content["variants"]:
        yield f"variants[{variant['name']}].predictions", variant["predictions"]


def _in_order(label: str, wanted: Sequence[str], is_there: Sequence[str]) -> list[str]:
    out = [f"{label}: `{name}` is missing" for name in wanted if name not in is_there]
    out += [f"{label}: `{name}` is not registered" for name in dict.fromkeys(is_there) if name not in wanted]
    out += [
        f"{label}: `{name}` stands {list(is_there).count(name)} times"
        for name in dict.fromkeys(is_there)
        if list(is_there).count(name) > 1
    ]
    if not out and list(wanted) != list(is_there):
        out.append(f"{label}: not in registered order")
    return out


def _as_registered(one: Expanded, entry: Tree, protocol: Protocol) -> Iterator[str]:
    spec = one.spec
    evidence: object = spec.evidence.kind
    if spec.evidence.support is not None:
        evidence = {"support": spec.evidence.support}
    wanted = {
        "claim": " ".join(spec.claim.split()),
        "anticipated": spec.anticipate,
        "tier": None if spec.tier == "primary" else spec.tier,
        "gate": spec.gate or None,
        "family": spec.family,
    }
    if "legs" in entry:
        wanted["evidence"] = ledger.shortened(evidence)
    for key, value in wanted.items():
        if entry.get(key) != value:
            yield f"{key}: registered {value}, the ledger says {entry.get(key)}"
    if (spec.falsified_if is None) != (entry["falsifier"] is None) or (
        spec.falsified_if is not None and entry["falsifier"]["claim"] != " ".join(spec.falsified_if.split())
    ):
        yield "falsifier: not the registered one"
    drawn = protocol.resampling.resamples if protocol.resampling else 0
    if entry["resamples"] not in {drawn, 0} or entry["resamples_defined"] > entry["resamples"]:
        yield f"resamples: registered {drawn}, the ledger says {entry['resamples']}"


def rejudge(registered: Registration, content: Tree) -> Rejudged:
    """Judge everything again; the ledger must hold its predictions in registered order."""
    protocol = from_stored(registered.content["protocol"], registered.place)

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
        level = protocol.resampling.level if protocol.resampling else _DEFAULT_LEVEL
        self.questions = [_question(one, self.entries[one.id], level) for one in asked]
        lets = dict(protocol.let)
        adjusted = _adjusted(self.questions, self.entries)
        self.own: dict[str, judge.Judgement] = {}
        for one, question in zip(asked, self.questions, strict=True):
            entry = self.entries[one.id]
            try:
                finding, record = _Claim(question, lets, adjusted.get(one.id)).judged(
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
            numbers = {key: entry.get(key) for key in ("level", "level_corrected", "p_adjusted")}
            again = ledger.shortened({key: getattr(one.finding, key) for key in numbers})
            for key, value in own.items():
                if said[key] != value:
                    self.out.problems.append(
                        f"{self.label}[{one.id}].{key}: the numbers say {value}, the ledger says {said[key]}"
                    )
            for key, value in again.items():
                if not _close(value, numbers[key]):
                    self.out.problems.append(
                        f"{self.label}[{one.id}].{key}: it follows {value}, the ledger says {numbers[key]}"
                    )
            record = one.falsifier
            if record is not None and record["fired"] != entry["falsifier"]["fired"]:
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


def _close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-12)


class _Mismatch(Exception):  # noqa: N818 - it ends the matching of a fold, it is no error
    """The next recorded leg is not the one the text asks for."""


@dataclass
class _Built:
    """A tree of legs, and what was recorded of each, in the order of `elementary`."""

    node: judge.Node
    entries: list[Tree]


class _Builder:
    """Lays the recorded legs out on the tree that the text of a claim gives."""

    def __init__(self, lets: Mapping[str, str], entries: Sequence[Tree], *, simple: bool) -> None:
        self.lets = lets
        self.entries = list(entries)
        self.simple = simple
        self.at = 0
        self.labels: list[str | None] = []
        self.depth = 0

    def build(self, text: str) -> _Built:
        try:
            node = self.piece(syntax.parse(text), text, point=False)
        except _Mismatch as error:
            raise UnderivableError(f"its legs are not laid out as its text says ({error})") from None
        if self.at < len(self.entries):
            raise UnderivableError("it has more legs than its text says")
        return _Built(node, self.entries)

    def piece(self, node: syntax.Node, source: str, *, point: bool) -> judge.Node:
        match node:
            case syntax.Junction(op=op, operands=operands):
                inner = tuple(self.piece(x, source, point=point) for x in operands)
                return judge.Junction("and" if op == "and" else "or", inner, "")
            case syntax.Negation(operand=one):
                return judge.Not(self.piece(one, source, point=point), "")
            case syntax.Chain(operands=operands, ops=ops) if len(ops) == 1:
                return self.leg(_text(node, source), ops[0], point=point)
            case syntax.Chain(operands=operands, ops=ops):
                links = zip(ops, operands, operands[1:], strict=False)
                texts = [(f"{_text(a, source)} {op} {_text(b, source)}", op) for op, a, b in links]
                legs = tuple(self.leg(text, op, point=point) for text, op in texts)
                return judge.Junction("and", legs, "")
            case syntax.Within(operand=one, low=low, high=high):
                first = self.leg(f"{_text(one, source)} >= {_text(low, source)}", ">=", point=point)
                last = self.leg(f"{_text(one, source)} <= {_text(high, source)}", "<=", point=point)
                return judge.Junction("and", (first, last), "")
            case syntax.Call(function="all" | "any", arguments=(one,)):
                return self.fold(node, one, source, point=point)
            case syntax.Call(function="point", arguments=(one,)):
                return self.piece(one, source, point=True)
            case syntax.Call(function="differs"):
                return self.leg(_text(node, source), "!=", point=point, two_sided=True)
            case syntax.Name(name=name) if name in self.lets:
                text = self.lets[name]
                return self.piece(syntax.parse(text), text, point=point)
            case _:
                return self.leg(_text(node, source), None, point=point)

    def fold(self, node: syntax.Call, inner: syntax.Node, source: str, *, point: bool) -> judge.Node:
        if self.depth:
            raise UnderivableError("a fold inside a fold: the ledger does not say where one ends")
        self.depth += 1
        children: list[judge.Node] = []
        seen: set[tuple[str | None, ...]] = set()
        while self.at < len(self.entries):
            before, labelled = self.at, len(self.labels)
            try:
                child = self.piece(inner, source, point=point)
            except _Mismatch:
                if self.at > before:
                    raise
                break
            key = tuple(self.labels[labelled:])
            if key in seen:  # the same policy again: this leg belongs to what follows
                self.at = before
                del self.labels[labelled:]
                break
            seen.add(key)
            children.append(child)
        self.depth -= 1
        return judge.Junction("and" if node.function == "all" else "or", tuple(children), "")

    def leg(self, text: str, op: str | None, *, point: bool, two_sided: bool = False) -> judge.Node:
        if self.at >= len(self.entries):
            raise _Mismatch(text)
        entry = self.entries[self.at]
        said = entry["claim"]
        if not self.simple:
            if said != text and not (said.startswith(f"{text} [") and said.endswith("]")):
                raise _Mismatch(text)
            self.labels.append(said[len(text) :])
        self.at += 1
        value = _number(entry["point"])
        if op is None or (op in ("==", "!=") and not two_sided and value is None and _is_defined(entry)):
            return judge.Truth(text, np.array([math.nan]), point_only=point, unpaired=entry["unpaired"])
        d = math.nan if value is None else value
        if value is None and _is_defined(entry):
            raise ContradictionError(f"`{said}` has a verdict but no difference")
        left, right = _number(entry["left"]), _number(entry["right"])
        if value is not None and left is not None and right is not None:
            size = max(1.0, abs(left), abs(right))
            if not math.isclose(left - right, value, rel_tol=1e-8, abs_tol=1e-9 * size):
                raise ContradictionError(f"`{said}`: point is not left - right")
        return judge.Leg(
            text,
            op,  # type: ignore[arg-type]
            left,
            right,
            np.array([d]),
            point_only=point,
            unpaired=entry["unpaired"],
            two_sided=two_sided,
        )


def _text(node: syntax.Node, source: str) -> str:
    return " ".join(source[node.start : node.end].split())


def _number(value: float | str | None) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        raise ContradictionError(f"{value[:40]!r} is no number") from None  # type: ignore[index]


def _is_defined(entry: Tree) -> bool:
    return entry["verdict"] != "failed" or entry["reason"] in _TRUE


def _truth(point: int, entry: Tree) -> Truths:
    """Truth at the point, and in as many resamples as are recorded, in no order that means anything."""
    drawn, defined, support = entry["resamples"], entry["resamples_defined"], entry["support"]
    if (support is None) != (drawn == 0):
        raise ContradictionError(
            f"`{entry['claim']}`: support without resamples, or resamples without support"
        )
    true = round((support or 0.0) * drawn)
    if not 0 <= true <= defined <= drawn:
        raise ContradictionError(f"`{entry['claim']}`: true in {true} of {defined} defined resamples")
    counts = [1] * true + [-1] * (defined - true) + [0] * (drawn - defined)
    return np.array([point, *counts], dtype=np.int8)


@dataclass
class _Claim:
    """One prediction judged again."""

    question: judge.Question
    lets: Mapping[str, str]
    adjusted: float | None

    @property
    def level(self) -> Fraction:
        return intervals.exact(self.question.level if self.question.level is not None else _DEFAULT_LEVEL)

    def judged(self, entry: Tree, claim: str, falsified_if: str | None) -> tuple[Finding, Tree | None]:
        """The finding on a prediction by itself, and the record of its falsifier."""
        if entry["reason"] == "not_measured":
            raise UnderivableError("it was not measured")
        finding, built, truths, whole = self.finding(entry, claim, laid_over=True)
        if falsified_if is None:
            return finding, None
        record = dict(entry["falsifier"])
        may_fire = bool(whole[0]) and half_defined(whole)
        condition = support_condition(syntax.parse(falsified_if))
        if condition is not None:
            if record.get("support") != entry["support"] or entry["support"] is None:
                raise ContradictionError("the support of the falsifier is not that of the claim")
            true = int(np.count_nonzero(whole[1:] > 0)) / (len(whole) - 1)
            fired = may_fire and compare(condition.op, true, condition.bound)  # type: ignore[arg-type]
        else:
            counter, *_ = self.finding({"claim": "", **record}, falsified_if, laid_over=False)
            fired = may_fire and counter.verdict == "held"
        record["fired"] = fired
        finding = with_fired(finding, built.node, self.question.evidence, truths, whole, fired=fired)
        return finding, record

    def finding(
        self, entry: Tree, text: str, *, laid_over: bool
    ) -> tuple[Finding, _Built, list[Truths], Truths]:
        """The finding on a claim by the default rules."""
        evidence = self.question.evidence
        legs = entry.get("legs")
        simple = legs is None
        built = _Builder(self.lets, [entry] if legs is None else legs, simple=simple).build(text)
        leaves = list(elementary(built.node))
        turned = 1
        node = built.node
        while simple and isinstance(node, judge.Not):
            node, turned = node.child, -turned
        if simple and isinstance(node, judge.Junction):
            raise UnderivableError("a compound claim without legs")
        truths = []
        for leaf, one in zip(leaves, built.entries, strict=True):
            point = self._point(leaf, one, turned=turned, laid_over=laid_over and simple)
            truth = _truth(turned * point, one)
            truths.append(-truth if turned < 0 else truth)
        at_point = int(combine(built.node, iter([t[:1] for t in truths]))[0])
        whole = _truth(at_point, entry)
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
                        f"leg `{one['claim']}`: the numbers say {_said(again.verdict, again.reason)}, "
                        f"the ledger says {_said(one['verdict'], one['reason'])}"
                    )
        finding = _whole(built.node, text, evidence, self.level, truths, whole, findings)
        return finding, built, truths, whole

    def _point(self, leaf: judge.Elementary, entry: Tree, *, turned: int, laid_over: bool) -> int:
        """Truth of a leg at the point."""
        if isinstance(leaf, judge.Leg):
            d = float(leaf.d[0])
            if math.isnan(d):
                return 0
            return 1 if (d != 0 if leaf.two_sided else compare(leaf.op, d)) else -1
        verdict, reason = entry["verdict"], entry["reason"]
        if laid_over and (reason in _LAID_OVER or entry.get("falsifier") is not None):
            raise UnderivableError("the truth of a claim without a difference is not recorded")
        sign = {"held": 1, "falsified": -1}.get(verdict) or _TRUE.get(str(reason), 0)
        return turned * sign

    def _leg(self, leaf: judge.Elementary, truth: Truths, entry: Tree, division: Division) -> Finding:
        evidence, level = self.question.evidence, self.level
        if evidence.kind == "point" or leaf.point_only:
            return found(leaf, truth, int(provable_of(leaf, truth)[0]), "point")
        if evidence.kind == "support":
            assert evidence.share is not None
            sign = by_support(truth, provable_of(leaf, truth), evidence.share)
            few = "undefined" if not half_defined(truth) else None
            return found(leaf, truth, sign, evidence.to_tree(), reason=few)
        if not isinstance(leaf, judge.Leg):
            raise ContradictionError(f"`{entry['claim']}` has no difference to judge by {evidence.kind}")
        kind = entry["evidence"]
        if kind not in ("interval", "exact") or (evidence.kind == "exact" and kind != "exact"):
            raise ContradictionError(f"`{entry['claim']}` was judged by {kind}, not by {evidence.kind}")
        if self.question.family is not None:
            return self._member(leaf, truth, entry, kind)
        if truth[0] == 0:
            return found(leaf, truth, 0, evidence.kind, level=float(level))
        ends = _recorded(entry)
        if not ends:
            return self._without_ends(leaf, truth, entry, kind, division)
        if entry["reason"] == "no_variation":
            return _no_variation(leaf, truth, entry, level)

        def at(wanted: Fraction) -> tuple[float, float]:
            for known, pair in ends:
                if _close(known, float(wanted)):
                    return pair
            raise ContradictionError(f"`{entry['claim']}` has no interval at level {float(wanted):.10g}")

        return by_ends(leaf, truth, at, level, division, kind=kind, p=entry.get("p"))

    def _without_ends(
        self, leaf: judge.Leg, truth: Truths, entry: Tree, kind: str, division: Division
    ) -> Finding:
        """No interval: fewer than half defined, or the sign test of two rates."""
        level, p = self.level, entry.get("p")
        if p is None:
            if half_defined(truth):
                raise ContradictionError(f"`{entry['claim']}` has neither interval nor p")
            return found(leaf, truth, 0, kind, reason="undefined", level=float(level))
        own = 1 - (1 - level) / (division.held if truth[0] > 0 else division.falsified)
        sign = self._met(leaf, truth, entry, p, float(1 - own))
        k = max(division.held, division.falsified)
        corrected = own if own != level else 1 - (1 - level) / k if k > 1 else None
        return found(
            leaf,
            truth,
            sign,
            kind,
            level=float(own if sign else level),
            p=p,
            level_corrected=None if corrected is None else float(corrected),
        )

    def _met(self, leaf: judge.Leg, truth: Truths, entry: Tree, p: float, alpha: float) -> int:
        """The sign a test comes to: the side its units lean to is recorded only in the verdict."""
        decided = int(provable_of(leaf, truth)[0])
        if p > alpha and not _close(p, alpha):
            return 0
        overlaid = entry["reason"] in _LAID_OVER or entry.get("falsifier") is not None
        if overlaid or entry["verdict"] == "failed":
            raise UnderivableError("on which side of 0 the test leans is not recorded")
        return decided

    def _member(self, leaf: judge.Leg, truth: Truths, entry: Tree, kind: str) -> Finding:
        level = self.level
        p, adjusted = entry.get("p"), self.adjusted
        if p is None or adjusted is None:
            raise ContradictionError("a member of a family has a p")
        reason = None
        if truth[0] == 0 or (entry["interval"] is None and kind == "interval" and not half_defined(truth)):
            reason = "undefined"
        elif entry["reason"] == "no_variation":
            return _no_variation(leaf, truth, entry, level, p=p, p_adjusted=adjusted)
        sign = 0 if reason else self._met(leaf, truth, entry, adjusted, float(1 - level))
        return found(leaf, truth, sign, kind, reason=reason, level=float(level), p=p, p_adjusted=adjusted)


def _no_variation(
    leaf: judge.Leg,
    truth: Truths,
    entry: Tree,
    level: Fraction,
    *,
    p: float | None = None,
    p_adjusted: float | None = None,
) -> Finding:
    if entry["interval"] is None or entry["interval"][0] != entry["interval"][1]:
        raise ContradictionError(f"`{entry['claim']}` varies: {entry['interval']}")
    corrected = entry.get("level_corrected")
    return found(
        leaf,
        truth,
        0,
        "interval",
        reason="no_variation",
        level=float(level),
        level_corrected=corrected,
        p=p,
        p_adjusted=p_adjusted,
    )


def _recorded(entry: Tree) -> list[tuple[float, tuple[float, float]]]:
    """The intervals of an entry, with their levels."""
    out = []
    for level, interval in (
        (entry["level"], entry["interval"]),
        (entry.get("level_corrected"), entry.get("interval_corrected")),
    ):
        if level is None or interval is None:
            continue
        low, high = map(_number, interval)
        if low is None or high is None or low > high:
            raise ContradictionError(f"`{entry['claim']}`: {interval} is no interval")
        out.append((level, (low, high)))
    return out


def _whole(
    node: judge.Node,
    text: str,
    evidence: judge.Evidence,
    level: Fraction,
    truths: list[Truths],
    whole: Truths,
    legs: list[Finding],
) -> Finding:
    claim = " ".join(text.split())
    return judge_whole(node, claim, evidence, level, truths=truths, whole=whole, legs=legs)


def _said(verdict: str, reason: str | None) -> str:
    return verdict if reason is None else f"{verdict} ({reason})"
