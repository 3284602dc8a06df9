"""What could each prediction find?  Its legs, the units behind them, and the effect they could detect.

Answered before anything is judged, from registered numbers alone: units, resamples, level, evidence, family
and number of legs. Outcomes are never read; what they would have to tell is assumed, and that is said.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prereg import intervals, judge
from prereg.dataclass import asdict, dataclass, replace
from prereg.detectable import WANTED, Design, Shape, detectable, least_plus, least_successes
from prereg.errors import Problem
from prereg.expression.claims import Branch, Fold, Leg, Opposite
from prereg.expression.operators import NEGATED, TURNED
from prereg.expression.ranges import UNIT
from prereg.expression.reductions import PAIRED
from prereg.questions import piece_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.expression.claims import Piece, Rate
    from prereg.plan import Places, PredictionPlan
    from prereg.prepare import Prepared

_ONE = "the widest spread for its mean: every unit counts 0 or 1"
_TWO = "two independent rates around a half: the widest spread that needs no agreement of the two"
_APART = "two rates around a half, over units of their own"
FORMS = {
    "one": "a rate or mean against a number",
    "two": "two rates or means over the same units",
    "apart": "two rates or means over different units",
}
ASSUMED = {"one": _ONE, "two": _TWO, "apart": _APART}
_CORRELATION = re.compile(rf"\b({'|'.join(PAIRED)})\(")


@dataclass(frozen=True)
class Row:
    """What one leg of a prediction could detect; `effect` is the distance of the truth from the bar."""

    id: str
    leg: str
    n: int | list[int] | None
    form: str | None
    evidence: str
    level: float | None = None
    effect: float | None = None
    power: float | None = None
    policies: int = 1
    assumed: str | None = None
    reason: str | None = None

    def to_tree(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def powers(prepared: Prepared) -> list[Row]:
    """One row per leg of every prediction that is no guard, in the order written.

    A leg that stands for several policies is told for the one with the fewest units.
    """
    out = []
    members: dict[str, int] = {}
    for prediction in prepared.plan.predictions:
        if prediction.spec.family is not None:
            members[prediction.spec.family] = members.get(prediction.spec.family, 0) + 1
    for prediction in prepared.plan.predictions:
        if prediction.claim.guard:
            continue
        size = members.get(prediction.spec.family or "", 1)
        by_leg: dict[int, list[_Asked]] = {}
        for one in _asked(prediction, prepared):
            by_leg.setdefault(one.leg.number, []).append(one)
        out += [_row(prediction, legs, size, prepared) for _, legs in sorted(by_leg.items())]
    return out


def summary(rows: list[Row]) -> str:
    """Return one line for a lock."""
    found = [r.effect for r in rows if r.effect is not None]
    if not found:
        return (
            f"power: of {len(rows)} comparison{'s' * (len(rows) != 1)} none is known to hold with "
            f"probability {WANTED:g} anywhere; `prereg check --power` says why"
        )
    low, high = min(found), max(found)
    span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return (
        f"power: {len(found)} of {len(rows)} comparisons would hold with probability {WANTED:g} where the "
        f"truth is {span} beyond the bar; `prereg check --power` lists them"
    )


# -- which legs, over how many units ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Asked:
    """One leg for one policy: which way it must come out, and by what its alpha is divided then."""

    leg: Leg
    at: int
    positive: bool
    held: int
    falsified: int

    @property
    def op(self) -> str:
        """The comparison that must be shown, `metric op bar`."""
        op = self.leg.op or ""
        op = TURNED.get(op, op) if self.leg.flipped else op
        return op if self.positive else NEGATED.get(op, op)


def _asked(prediction: PredictionPlan, prepared: Prepared) -> list[_Asked]:
    del prepared
    found: list[tuple[Leg, int, bool]] = []
    node = _skeleton(prediction.claim.root, 0, True, found)
    return [
        _Asked(leg, at, positive, d.held, d.falsified)
        for (leg, at, positive), d in zip(found, judge.divisions(node), strict=True)
    ]


def _skeleton(piece: Piece, at: int, positive: bool, found: list[tuple[Leg, int, bool]]) -> judge.Node:
    """The judge's tree without values; the legs are listed in its order, with the side that is claimed."""
    match piece:
        case Leg():
            found.append((piece, at, positive))
            return judge.Leg(piece.text, ">", None, None, np.zeros(1))
        case Opposite():
            return judge.Not(_skeleton(piece.child, at, not positive, found), piece.text)
        case Branch():
            below = [(child, int(where[at]) if at >= 0 else -1) for child, where in piece.children]
        case Fold():
            below = [(piece.child, int(i)) for i in (piece.groups[at] if at >= 0 else ())]
    children = tuple(_skeleton(child, i, positive, found) for child, i in below)
    return judge.Junction(piece.op, children, piece.text)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _Sampled:
    """The units of one side: who has a row (clusters for units), and where they come from."""

    n: int
    source: tuple[int, int]
    members: npt.NDArray[np.bool_] | None
    resampled: bool


def _sampled(rate: Rate, at: int, prepared: Prepared) -> _Sampled | None:
    found = piece_at(rate, at, prepared)
    if found is None:
        return None
    piece, position = found
    source = piece.panel, piece.part
    draws = prepared.plan.samples[source].draws
    cluster = None if draws is None else draws.drawn_of_unit
    if piece.unit_rows is None:
        n = int(piece.units[position])
        if cluster is not None:
            n = min(n, int(cluster.max()) + 1)
        return _Sampled(n, source, None, draws is not None)
    rows = piece.unit_rows[position]
    if cluster is not None:
        rows = np.bincount(cluster, weights=rows, minlength=int(cluster.max()) + 1)
    return _Sampled(int((rows > 0).sum()), source, rows > 0, draws is not None)


@dataclass(frozen=True, eq=False)
class _Formed:
    """A leg with its form: what is compared over which units."""

    shape: Shape
    n: tuple[int, ...]
    bar: float
    tested: bool
    resampled: bool


def _formed(one: _Asked, prepared: Prepared) -> _Formed | str:
    """The form of a leg, or why it has none that is simulated."""
    leg = one.leg
    if leg.op is None or (leg.op in ("==", "!=") and not leg.two_sided):
        return "a statement without a difference asks for no effect size"
    sides = leg.gap or ((leg.left, leg.right) if leg.right is not None else (leg.left,))
    rates = [side for side in sides if side is not None]
    if not rates or len(rates) < len(sides):
        if _CORRELATION.search(leg.text):
            return (
                "not simulated: how far a correlation over policies varies depends on how the policies differ"
            )
        return "not simulated: only a rate or mean against a number or another is"
    for rate in rates:
        why = _no_mean(rate, prepared)
        if why is not None:
            return f"not simulated: {why}"
    found = [_sampled(rate, one.at, prepared) for rate in rates]
    known = [s for s in found if s is not None]
    if len(known) < len(found) or any(s.n == 0 for s in known):
        return "no unit has a row"
    n, resampled = tuple(s.n for s in known), all(s.resampled for s in known)
    kinds = {_kind(rate, prepared) for rate in rates}
    bar = leg.constant if leg.constant is not None else 0.0
    if len(known) == 1:
        return _Formed("one", n, bar, kinds == {"rate"}, resampled)
    if known[0].source == known[1].source and n[0] == n[1] and _same_units(known[0], known[1]):
        return _Formed("two", n[:1], bar, kinds == {"rate"} and bar == 0, resampled)
    return _Formed("apart", n, bar, False, resampled)


def _same_units(a: _Sampled, b: _Sampled) -> bool:
    return a.members is None or b.members is None or bool((a.members == b.members).all())


def _kind(rate: Rate, prepared: Prepared) -> str:
    kind = prepared.plan.metrics[rate.name].kind
    return "" if kind is None else kind.name


def _no_mean(rate: Rate, prepared: Prepared) -> str | None:
    """Why a metric is no mean over units of values in [0, 1]; None where it is one."""
    plan = prepared.plan
    metric = plan.metrics[rate.name]
    if metric.kind is None:
        return f"`{rate.name}` is an expression over metrics"
    if not metric.kind.additive or metric.kind.name in ("sum", "count"):
        return f"`{rate.name}` ({metric.kind.name}) is no mean over units"
    if any("weight" in repeat.arguments for repeat in metric.repeats):
        return f"`{rate.name}` has weights, which may leave few units that count"
    if plan.environment.metrics[rate.name].range != UNIT:
        return f"no range is declared for the values of `{rate.name}`"
    if any(piece.reselected is not None for piece in prepared.pieces[rate.name, rate.degenerate]):
        return f"`{rate.name}` depends on thresholds that are chosen anew in every resample"
    return None


def _row(prediction: PredictionPlan, legs: list[_Asked], members: int, prepared: Prepared) -> Row:
    spec, plan = prediction.spec, prepared.plan
    formed = [(one, _formed(one, prepared)) for one in legs if one.at >= 0]
    usable = [(one, f) for one, f in formed if isinstance(f, _Formed)]
    first = legs[0]
    row = Row(prediction.id, first.leg.text, None, None, spec.evidence.kind, policies=len(legs))
    if not usable:
        why = [f for _, f in formed if isinstance(f, str)]
        point = _POINT if spec.evidence.kind == "point" or first.leg.point_only else None
        return replace(row, reason=point or (why[0] if why else "no policy is selected"))
    one, form = min(usable, key=lambda pair: min(pair[1].n))
    row = replace(row, n=form.n[0] if len(form.n) == 1 else list(form.n), form=FORMS[form.shape])
    if spec.evidence.kind == "point" or first.leg.point_only:
        return replace(row, evidence="point", reason=_POINT)
    if spec.evidence.kind != "exact" and not form.resampled:
        return replace(row, reason="its part is not resampled: nothing varies")
    level = spec.level or (plan.protocol.resampling.level if plan.protocol.resampling else 0.95)
    design = _design(one, form, prediction, intervals.exact(level), plan.resamples, members)
    if spec.evidence.kind != "support":
        row = replace(row, level=float(1 - design.alpha))
    found = detectable(design)
    if isinstance(found, str):
        return replace(row, reason=found)
    return replace(row, effect=found[0], power=found[1], assumed=ASSUMED[form.shape])


_POINT = "point evidence asks for no effect size: the observed value alone decides"


def _design(
    one: _Asked,
    form: _Formed,
    prediction: PredictionPlan,
    level: Fraction,
    resamples: int,
    members: int,
) -> Design:
    kind = prediction.spec.evidence.kind
    up = one.op in (">", ">=", "!=")
    bar = intervals.exact(form.bar)
    if not up:  # `rate < c` is `1 - rate > 1 - c`, and `a - b < c` is `b - a > -c`
        bar = 1 - bar if form.shape == "one" else -bar
    n = form.n if up else form.n[::-1]
    if one.op == "!=" and form.shape == "one" and bar > Fraction(1, 2):
        bar = 1 - bar  # the side with more room
    return Design(
        form.shape,
        n,
        bar,
        one.op in (">", "<", "!="),
        "family" if prediction.spec.family is not None and kind == "interval" else kind,  # type: ignore[arg-type]
        (1 - level) / (one.held if one.positive else one.falsified),
        resamples,
        prediction.spec.evidence.support or 0.0,
        members,
        form.tested,
    )


# -- what can never be reached ------------------------------------------------------------------------------


def unreachable(prepared: Prepared, places: Places) -> list[Problem]:
    """A problem for every prediction whose exact evidence too few units could ever give."""
    out = []
    for prediction in prepared.plan.predictions:
        if prediction.spec.evidence.kind != "exact" or prediction.claim.guard:
            continue
        asked = _asked(prediction, prepared)
        reach = iter([_reach(one, prediction, prepared) for one in asked])
        if not _combined(prediction.claim.root, 0, reach)[0]:
            n = [f.n[0] for one in asked if isinstance(f := _formed(one, prepared), _Formed)]
            fewest = f"{min(n)} unit{'s' * (min(n) != 1)}" if n else "so few units"
            out.append(
                Problem(
                    f"{fewest} can never be enough for exact evidence at this level, even if all agree",
                    places((*prediction.path, "claim")),
                )
            )
    return out


def _reach(one: _Asked, prediction: PredictionPlan, prepared: Prepared) -> tuple[bool, bool]:
    """Whether a leg could be held, and whether it could be falsified."""
    if one.leg.point_only or one.at < 0 or one.leg.two_sided:
        return True, True
    form = _formed(one, prepared)
    if isinstance(form, str) or form.shape == "apart":
        return True, True
    resampling = prepared.plan.protocol.resampling
    level = intervals.exact(prediction.spec.level or (resampling.level if resampling else 0.95))
    n = form.n[0]
    out = []
    for positive, division in ((True, one.held), (False, one.falsified)):
        way = replace(one, positive=positive)
        design = _design(way, form, prediction, level, 0, 1)
        design = replace(design, alpha=(1 - level) / division)
        if design.shape == "two":
            out.append(least_plus(n, design.alpha) <= n)
        else:
            out.append(least_successes(n, design.bar, design.alpha, design.strict) <= n)
    return out[0], out[1]


def _combined(piece: Piece, at: int, reach: Iterator[tuple[bool, bool]]) -> tuple[bool, bool]:
    """The same of a whole claim; legs come in the order of the judge's tree."""
    match piece:
        case Leg():
            return next(reach)
        case Opposite():
            held, falsified = _combined(piece.child, at, reach)
            return falsified, held
        case Branch():
            below = [(child, int(where[at]) if at >= 0 else -1) for child, where in piece.children]
        case Fold():
            below = [(piece.child, int(i)) for i in (piece.groups[at] if at >= 0 else ())]
    found = [_combined(child, i, reach) for child, i in below]
    if not found:  # an empty selection is undefined and told as such
        return True, True
    if piece.op == "and":
        return all(f[0] for f in found), any(f[1] for f in found)
    return any(f[0] for f in found), all(f[1] for f in found)


# -- intervals of few units ---------------------------------------------------------------------------------

# Measured at level 0.95 (the table in docs/invariants.md): with fewer units than these a claim whose truth
# lies just below its bar is held in more than 5 % of all studies.
FEWEST_BEYOND = 20
FEWEST_COMPARED = 20


def few_units(prepared: Prepared, places: Places) -> list[Problem]:
    """A warning for every prediction whose percentile interval rests on too few units to keep its level.

    Against a bar near the end of the range what counts is how many units, of 0 and 1, would lie beyond it
    were the bar the truth: a resample shows no failures that the sample has not.
    """
    out = []
    for prediction in prepared.plan.predictions:
        if prediction.spec.evidence.kind != "interval" or prediction.claim.guard:
            continue
        asked = _asked(prediction, prepared)
        found = [(*few, one) for one in asked if (few := _few(one, prediction, prepared)) is not None]
        if found:
            _, why, one = min(found, key=lambda few: few[0])
            more = f", the fewest of {len(found)}" if len(found) > 1 else ""
            said = f"warning: {why} ({_spoken(one)}{more})"
            out.append(Problem(said, places((*prediction.path, "claim"))))
    return out


def _spoken(one: _Asked) -> str:
    """A leg, and the policy it is read for where it stands for several."""
    key = ", ".join(one.leg.axes.keys[one.at])
    return f"`{one.leg.text}`" + (f" for {key}" if key else "")


def _few(
    one: _Asked, prediction: PredictionPlan, prepared: Prepared
) -> tuple[tuple[Fraction | int, int], str] | None:
    """How few the units of a leg are, as what may be compared, and in words."""
    if one.leg.point_only or one.at < 0:
        return None
    form = _formed(one, prepared)
    if isinstance(form, str) or not form.resampled:
        return None
    n, hint = min(form.n), "; `exact` evidence keeps its level" if form.tested else ""
    design = _design(one, form, prediction, Fraction(19, 20), 1, 1)
    if form.shape != "one":
        return None if n >= FEWEST_COMPARED else ((n, n), f"few units for an interval: {n}{hint}")
    beyond = n * min(1 - design.bar, Fraction(1))
    if not 0 <= beyond < FEWEST_BEYOND:
        return None
    return (beyond, n), (
        f"few units for an interval: were the bar the truth, {float(beyond):.3g} of {n} units would lie "
        f"beyond it, and an interval of fewer than {FEWEST_BEYOND} of those is too narrow{hint}"
    )
