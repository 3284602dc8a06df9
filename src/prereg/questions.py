"""Estimates + compiled claims -> the questions that are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg import judge
from prereg.dataclass import dataclass
from prereg.expression import claims as compiled
from prereg.values import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.estimate import Estimate, LegEstimate
    from prereg.expression.terms import Facts
    from prereg.plan import Plan, PredictionPlan
    from prereg.prepare import Piece, Prepared


def questions(plan: Plan, estimate: Estimate) -> tuple[judge.Question, ...]:
    """One question per prediction, in registered order."""
    level = plan.protocol.resampling.level if plan.protocol.resampling else 0.95
    out = []
    for prediction, legs, falsifier in zip(
        plan.predictions, estimate.claims, estimate.falsifiers, strict=True
    ):
        spec = prediction.spec
        out.append(
            judge.Question(
                id=prediction.id,
                claim=" ".join(spec.claim.split()),
                node=node(prediction.claim.root, legs, estimate.prepared),
                evidence=judge.Evidence(spec.evidence.kind, spec.evidence.support),
                level=spec.level if spec.level is not None else level,
                resamples=plan.resamples,
                falsifier=_falsifier(prediction, falsifier, estimate.prepared),
                anticipate=spec.anticipate,
                given=spec.given or (),
                guard=prediction.claim.guard,
                gate=spec.gate,
                family=spec.family,
                tier=spec.tier,
                agree=spec.agree or (),
            )
        )
    return tuple(out)


def _falsifier(
    prediction: PredictionPlan, legs: Sequence[LegEstimate] | None, prepared: Prepared
) -> judge.Falsifier | None:
    text = " ".join((prediction.spec.falsified_if or "").split())
    if prediction.support is not None:
        return judge.SupportFalsifier(prediction.support.op, prediction.support.bound, text)  # type: ignore[arg-type]
    if prediction.falsifier is None or legs is None:
        return None
    return judge.ClaimFalsifier(node(prediction.falsifier.root, legs, prepared), text)


def node(piece: compiled.Piece, legs: Sequence[LegEstimate], prepared: Prepared) -> judge.Node:
    """The judge's tree of a claim: vectors folded into one leg per policy."""
    return _expand(piece, 0, legs, prepared)


def _expand(piece: compiled.Piece, at: int, legs: Sequence[LegEstimate], prepared: Prepared) -> judge.Node:
    match piece:
        case compiled.Leg():
            return _leg(piece, at, legs[piece.number], prepared)
        case compiled.Opposite():
            return judge.Not(_expand(piece.child, at, legs, prepared), _named(piece.text, piece, at))
        case compiled.Branch():
            children = tuple(
                _expand(child, int(where[at]) if at >= 0 else -1, legs, prepared)
                for child, where in piece.children
            )
            return judge.Junction(piece.op, children, _named(piece.text, piece, at))  # type: ignore[arg-type]
        case compiled.Fold():
            group = piece.groups[at] if at >= 0 else ()
            inner = tuple(_expand(piece.child, int(i), legs, prepared) for i in group)
            return judge.Junction(piece.op, inner, _named(piece.text, piece, at))  # type: ignore[arg-type]


def leg_names(root: compiled.Piece) -> list[str] | None:
    """What the legs of a compound claim are called, in the order of a ledger; None for a claim of one leg."""
    alone = root
    while isinstance(alone, compiled.Opposite):
        alone = alone.child
    return None if isinstance(alone, compiled.Leg) else _leg_names(root, 0)


def _leg_names(piece: compiled.Piece, at: int) -> list[str]:
    match piece:
        case compiled.Leg():
            return [_named(piece.text, piece, at)]
        case compiled.Opposite():
            return _leg_names(piece.child, at)
        case compiled.Branch():
            inner = [(child, int(where[at]) if at >= 0 else -1) for child, where in piece.children]
        case compiled.Fold():
            inner = [(piece.child, int(i)) for i in (piece.groups[at] if at >= 0 else ())]
    return [name for child, place in inner for name in _leg_names(child, place)]


def _named(text: str, piece: compiled.Piece, at: int) -> str:
    """The text of a piece, with the policy it speaks of where it stands for one of several."""
    if piece.axes.scalar or at < 0:
        return text
    return f"{text} [{piece.axes.label(at)}]"


def _number(values: np.ndarray | None, at: int) -> float | None:
    if values is None or at < 0 or np.isnan(values[at]):
        return None
    return float(values[at])


def _leg(leg: compiled.Leg, at: int, found: LegEstimate, prepared: Prepared) -> judge.Leg | judge.Truth:
    rows = found.data.shape[0]
    values = found.data[:, at] if at >= 0 else np.full(rows, np.nan)
    facts = found.point.facts
    reason, n, undefined, unpaired = _facts(facts, at)
    text = _named(leg.text, leg, at)
    if leg.op is None:
        return judge.Truth(text, values, leg.point_only, n, undefined, reason, unpaired)
    return judge.Leg(
        text,
        leg.op,  # type: ignore[arg-type]
        _number(found.point.left, at),
        _number(found.point.right, at),
        values,
        leg.point_only,
        n,
        undefined,
        reason,
        unpaired,
        exact_of(leg, at, prepared),
        leg.two_sided,
    )


Count = int | list[int] | None


def _facts(facts: Facts | None, at: int) -> tuple[str | None, Count, Count, bool]:
    if facts is None or at < 0:
        return "no_partner", None, None, False
    counted = [int(n[at]) for n, _ in facts.counts]
    undefined = [int(u[at]) for _, u in facts.counts]
    unpaired = len({sets[at] for sets in facts.left_out}) > 1
    reason = REASONS[int(facts.reasons[at])] or None
    if not counted:
        return reason, None, None, unpaired
    if len(counted) == 1:
        return reason, counted[0], undefined[0], unpaired
    return reason, counted, undefined, unpaired


def exact_of(leg: compiled.Leg, at: int, prepared: Prepared) -> judge.OneRate | judge.TwoRates | None:
    """The units behind a comparison of one rate with a number, or of two rates over the same units."""
    if leg.left is None or at < 0:
        return None
    left = _units(leg.left, at, prepared)
    if left is None:
        return None
    if leg.right is not None:
        right = _units(leg.right, at, prepared)
        if right is None or not left.same_units(right):
            return None
        (a, n), (b, m) = left.drawn(), right.drawn()
        gap = np.sign(a * m - b * n)
        return judge.TwoRates(int((gap > 0).sum()), int((gap < 0).sum()), int((n > 0).sum()))
    if leg.constant is None:
        return None
    hits, rows = left.drawn()
    hits, rows = hits[rows > 0], rows[rows > 0]
    if ((hits != rows) & (hits != 0)).any():
        return None  # a unit with rows of both kinds is no single success or failure
    return judge.OneRate(int((hits > 0).sum()), len(rows), leg.flipped)


@dataclass(frozen=True, eq=False)
class _Units:
    """Hits and rows of a rate per unit, the sample they come from, and the cluster of each unit."""

    hits: np.ndarray
    rows: np.ndarray
    sample: tuple[int, int]
    cluster: np.ndarray | None

    def same_units(self, other: _Units) -> bool:
        """Whether both have the same units in `among`: units, also where clusters are what is drawn."""
        if self.sample != other.sample or len(self.rows) != len(other.rows):
            return False
        return bool(((self.rows > 0) == (other.rows > 0)).all())

    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Hits and rows of what is drawn: units, or clusters, each of which counts as one unit."""
        if self.cluster is None:
            return self.hits, self.rows
        count = int(self.cluster.max()) + 1
        hits = np.bincount(self.cluster, weights=self.hits, minlength=count).astype(np.int64)
        rows = np.bincount(self.cluster, weights=self.rows, minlength=count).astype(np.int64)
        return hits, rows


def _units(rate: compiled.Rate, at: int, prepared: Prepared) -> _Units | None:
    """The units of a rate; None for other kinds."""
    found = piece_at(rate, at, prepared)
    if found is None:
        return None
    piece, position = found
    if piece.unit_hits is None or piece.unit_rows is None:
        return None
    sample = piece.panel, piece.part
    draws = prepared.plan.samples[sample].draws
    cluster = None if draws is None else draws.drawn_of_unit
    return _Units(piece.unit_hits[position], piece.unit_rows[position], sample, cluster)


def piece_at(rate: compiled.Rate, at: int, prepared: Prepared) -> tuple[Piece, int] | None:
    """The piece of a metric that holds a policy of a leg, and its place there; None where there is none."""
    position = int(rate.where[at])
    if position < 0:
        return None
    for piece in prepared.pieces.get((rate.name, rate.degenerate), []):
        if position < len(piece.units):
            return piece, position
        position -= len(piece.units)
    return None
