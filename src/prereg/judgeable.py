"""Whether a plan can be judged as it asks to be: evidence that fits its legs, families that fit theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.errors import Problem
from prereg.expression.claims import Leg
from prereg.judge import FAMILIES
from prereg.questions import exact_of

if TYPE_CHECKING:
    from prereg.plan import Places, Plan, PredictionPlan
    from prereg.prepare import Prepared


def judgeable(prepared: Prepared, places: Places, *, promised: bool = False) -> list[Problem]:
    """What the judge cannot judge as it is asked to: evidence that does not fit a leg, and unfit families.

    Of records that are only promised it is not known whether two rates come over the same units: the run
    asks again.
    """
    plan = prepared.plan
    problems = [*plan.unjudged]
    if not promised:
        problems += [x for prediction in plan.predictions for x in _exact(prediction, prepared, places)]
    return list(dict.fromkeys([*problems, *_families(plan, places)]))


def _exact(prediction: PredictionPlan, prepared: Prepared, places: Places) -> list[Problem]:
    """Legs that are no count of units which went one way or the other."""
    if prediction.spec.evidence.kind != "exact":
        return []
    drawn = prepared.plan.protocol.resampling
    alike = ", and one answer a cluster, which counts as one unit" if drawn and drawn.cluster else ""
    return [
        Problem(
            f"`{leg.text}`: exact evidence needs one rate against a number, with rows of a unit that agree "
            f"(repeated answers: `samples: majority`), or two rates over the same units{alike}",
            places((*prediction.path, key)),
        )
        for key, claim in prediction.claims()
        for leg in claim.legs
        if not leg.point_only
        and (leg.two_sided or any(exact_of(leg, at, prepared) is None for at in range(len(leg.axes))))
    ]


def _families(plan: Plan, places: Places) -> list[Problem]:
    families: dict[str, list[PredictionPlan]] = {}
    out = []
    default = plan.protocol.resampling.level if plan.protocol.resampling else 0.95
    for prediction in plan.predictions:
        if prediction.spec.family is None:
            continue
        families.setdefault(prediction.spec.family, []).append(prediction)
        where = places((*prediction.path, "family"))
        if prediction.spec.evidence.kind not in FAMILIES:
            out.append(Problem("a family is judged by `interval` evidence, or as one by `exact`", where))
        if not isinstance(prediction.claim.root, Leg) or prediction.claim.root.op is None:
            out.append(Problem("a member of a family has a single leg", where))
    for name, members in families.items():
        levels = {p.spec.level or default for p in members}
        where = places((*members[-1].path, "family"))
        if len(levels) > 1:
            out.append(
                Problem(
                    f"the family `{name}` has one level, found {', '.join(map(str, sorted(levels)))}", where
                )
            )
        kinds = {p.spec.evidence.kind for p in members}
        if len(kinds) > 1:
            out.append(Problem(f"the family `{name}` has one kind of evidence", where))
        elif kinds == {"interval"} and 2 * len(members) / (plan.resamples + 1) > 1 - min(levels) + 1e-12:
            least = int(-(-2 * len(members) // (1 - min(levels)))) - 1
            out.append(
                Problem(
                    f"{plan.resamples} resamples can never be enough for {len(members)} "
                    f"member{'s' * (len(members) > 1)} at level "
                    f"{min(levels):g}: at least {least} are needed",
                    where,
                )
            )
    return out
