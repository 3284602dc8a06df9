"""How one leg is judged: by the percentile interval of d, by the point, by support, or by an exact test."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from prereg import intervals
from prereg.dataclass import dataclass
from prereg.judge.finding import VERDICTS, Finding, Interval
from prereg.judge.nodes import Elementary, Leg, OneRate, Truths, TwoRates, compare, values_of

if TYPE_CHECKING:
    from prereg.judge.levels import Division

Ends = Callable[[Fraction], tuple[float, float]]


@dataclass(frozen=True)
class Evidence:
    """The evidence a prediction asks for; `share` is the p of `{support: p}`, above one half."""

    kind: Literal["interval", "point", "support", "exact"]
    share: float | None = None

    def __post_init__(self) -> None:
        if (self.kind == "support") != (self.share is not None):
            raise ValueError("evidence `support` has a share, no other has")
        if self.share is not None and not 0.5 < self.share <= 1:
            raise ValueError(f"a share of support must be above 0.5 and at most 1, not {self.share}")

    def to_tree(self) -> str | dict[str, float]:
        """As it is written in a protocol."""
        return self.kind if self.share is None else {"support": self.share}


def support_of(truth: Truths) -> float | None:
    """Return the share of *all* resamples in which a claim is true; None without resamples."""
    resamples = len(truth) - 1
    return int(np.count_nonzero(truth[1:] > 0)) / resamples if resamples else None


def half_defined(truth: Truths) -> bool:
    """Whether a claim is defined in at least half of the resamples."""
    return 2 * int(np.count_nonzero(truth[1:])) >= len(truth) - 1


def by_support(truth: Truths, provable: Truths, share: float) -> int:
    """Return the verdict on a claim by its share of *all* resamples, as -1, 0 or 1.

    `provable` is the truth in which a `differs` that is not true counts as undefined: it is never falsified.
    """
    resamples = len(truth) - 1
    if resamples == 0:
        raise ValueError("evidence `support` needs resamples")
    point = int(provable[0])
    agreeing = int(np.count_nonzero(provable[1:] == point))
    # Both are the doubles nearest to their value, so equal shares compare equal.
    return point if point and agreeing / resamples >= share else 0


def judge_leg(
    leg: Elementary, truth: Truths, evidence: Evidence, level: Fraction, division: Division
) -> Finding:
    """Judge one leg alone.

    `truth` is its truth at the point and in each resample, shape (1 + B,); `level` the registered two-sided
    level. Raises ValueError where the evidence cannot judge such a leg, which `check` has refused before.
    """
    judged = by_truth(leg, truth, evidence)
    if judged is not None:
        return judged
    if not isinstance(leg, Leg) or (leg.op in ("==", "!=") and not leg.two_sided):
        raise ValueError(f"{leg.text}: no difference to judge by `{evidence.kind}`; use `point` or `support`")
    if truth[0] == 0:
        return found(leg, truth, 0, evidence.kind, level=float(level))
    if evidence.kind == "exact":
        return _by_exact(leg, truth, level, division)
    return _by_interval(leg, truth, level, division)


def by_truth(leg: Elementary, truth: Truths, evidence: Evidence) -> Finding | None:
    """Judge a leg by its truth alone, at the point or in the resamples; None where evidence asks for more."""
    if evidence.kind == "point" or leg.point_only:
        return found(leg, truth, int(provable_of(leg, truth)[0]), "point")
    if evidence.kind == "support":
        assert evidence.share is not None
        sign = by_support(truth, provable_of(leg, truth), evidence.share)
        few = "undefined" if not half_defined(truth) else None
        return found(leg, truth, sign, evidence.to_tree(), reason=few)
    return None


def found(
    leg: Elementary,
    truth: Truths,
    sign: int,
    evidence: str | dict[str, float],
    *,
    reason: str | None = None,
    level: float | None = None,
    interval: Interval = None,
    p: float | None = None,
    p_adjusted: float | None = None,
    interval_corrected: Interval = None,
    level_corrected: float | None = None,
) -> Finding:
    """Build the finding on a leg; where it fails, `reason` or what follows from the point."""
    point = float(values_of(leg)[0])
    if sign:
        reason = None
    elif truth[0] == 0:
        reason = "undefined"
    elif reason is None:
        reason = "short" if truth[0] > 0 else "contrary"
    return Finding(
        claim=leg.text,
        verdict=VERDICTS[sign],
        reason=reason,
        evidence=evidence,
        left=leg.left if isinstance(leg, Leg) else None,
        right=leg.right if isinstance(leg, Leg) else None,
        point=point if isinstance(leg, Leg) and math.isfinite(point) else None,
        interval=interval,
        level=level,
        support=support_of(truth),
        resamples=len(truth) - 1,
        resamples_defined=int(np.count_nonzero(truth[1:])),
        n=leg.n,
        n_undefined=leg.n_undefined,
        unpaired=leg.unpaired,
        undefined_because=leg.reason if truth[0] == 0 else None,
        p=p,
        p_adjusted=p_adjusted,
        interval_corrected=interval_corrected,
        level_corrected=level_corrected,
    )


def percentile_ends(leg: Leg) -> Ends | float | None:
    """Return the intervals of d by level, its one value where it does not vary, None below half defined."""
    resampled = leg.d[1:]
    if not len(resampled):
        raise ValueError(f"{leg.text}: evidence `interval` needs resamples")
    defined = resampled[np.isfinite(resampled)]
    if 2 * len(defined) < len(resampled):
        return None
    if defined.min() == defined.max():
        return float(defined[0])
    # Sorted once for all levels: sorting what is sorted costs little.
    defined.sort()
    return lambda level: intervals.percentile_interval(defined, level)


def exact_p(leg: Leg) -> float:
    """Return the exact two-sided p of a leg that has an exact test.

    Two rates: the sign test on the units in which the two differ. One rate against a constant: twice the
    smaller binomial tail at the constant, the test whose interval is Clopper and Pearson's.
    """
    match leg.exact:
        case TwoRates(plus, minus):
            return intervals.binomial_two_sided(plus, plus + minus)
        case OneRate(successes, units):
            constant = intervals.exact(_constant(leg))
            if not 0 <= constant <= 1:
                return 0.0
            lower = intervals.binomial_lower_tail(successes, units, constant)
            upper = intervals.binomial_lower_tail(units - successes, units, 1 - constant)
            return min(1.0, 2 * min(lower, upper))
        case _:
            raise ValueError(f"{leg.text}: no exact test applies")


def agrees(leg: Leg, side: int) -> bool:
    """Whether evidence on one side of 0 (-1, 1; 0 is neither) speaks for what the point says.

    A test whose own counts lean against the point decides nothing. A `differs` whose point is 0 agrees with
    neither side, so that it is never falsified.
    """
    point = float(leg.d[0])
    if leg.two_sided:
        return point * side > 0
    return side != 0 and compare(leg.op, float(side)) == compare(leg.op, point)


def exact_side(leg: Leg) -> int:
    """Return the side of 0 on which the units lie, for `agrees`."""
    match leg.exact:
        case TwoRates(plus, minus):
            return (plus > minus) - (plus < minus)
        case _:
            point = float(leg.d[0])
            return (point > 0) - (point < 0)


def provable_of(leg: Elementary, truth: Truths) -> Truths:
    """Truth as evidence may use it: a `differs` is never falsified."""
    return np.maximum(truth, 0) if isinstance(leg, Leg) and leg.two_sided else truth


def _constant(leg: Leg) -> float:
    assert isinstance(leg.exact, OneRate)
    constant = leg.left if leg.exact.flipped else leg.right
    if constant is None:
        raise ValueError(f"{leg.text}: the constant is not given")
    return constant


def _by_interval(leg: Leg, truth: Truths, level: Fraction, division: Division) -> Finding:
    ends = percentile_ends(leg)
    if ends is None:
        return found(leg, truth, 0, "interval", reason="undefined", level=float(level))
    if not isinstance(ends, float):
        return by_ends(leg, truth, ends, level, division, kind="interval")
    if leg.exact is not None:
        return _by_exact(leg, truth, level, division)
    return by_one_value(leg, truth, ends, level, division)


def by_one_value(leg: Leg, truth: Truths, value: float, level: Fraction, division: Division) -> Finding:
    """Build the finding of a leg that came out the same in every resample: its interval is no evidence."""
    once = (value, value)
    corrected = _corrected(truth, level, division)
    return found(
        leg,
        truth,
        0,
        "interval",
        reason="no_variation",
        level=float(level),
        interval=once,
        interval_corrected=once if corrected else None,
        level_corrected=None if corrected is None else float(corrected),
    )


def _by_exact(leg: Leg, truth: Truths, level: Fraction, division: Division) -> Finding:
    match leg.exact:
        case OneRate(successes, units, flipped):
            constant = _constant(leg)

            def ends(at: Fraction) -> tuple[float, float]:
                low, high = intervals.clopper_pearson(successes, units, at)
                return (constant - high, constant - low) if flipped else (low - constant, high - constant)

            return by_ends(leg, truth, ends, level, division, kind="exact", p=exact_p(leg))
        case TwoRates(plus, minus):
            own = own_level(truth, level, division)
            met = intervals.two_sided_at_most(plus, plus + minus, 1 - own)
            sign = int(truth[0]) if met and agrees(leg, exact_side(leg)) else 0
            return by_p(leg, truth, sign, level, division, kind="exact", p=exact_p(leg))
        case _:
            raise ValueError(f"{leg.text}: no exact test applies")


def by_p(
    leg: Leg, truth: Truths, sign: int, level: Fraction, division: Division, *, kind: str, p: float
) -> Finding:
    """Build the finding of a test without an interval, given the verdict it comes to."""
    corrected = _corrected(truth, level, division)
    return found(
        leg,
        truth,
        sign,
        kind,
        level=float(own_level(truth, level, division) if sign else level),
        p=p,
        level_corrected=None if corrected is None else float(corrected),
    )


def by_ends(
    leg: Leg,
    truth: Truths,
    ends: Ends,
    level: Fraction,
    division: Division,
    *,
    kind: str,
    p: float | None = None,
) -> Finding:
    """Judge by the point and both ends: held where the comparison is true of all, falsified where of none."""
    own = own_level(truth, level, division)
    low, high = ends(own)
    if leg.two_sided:
        side = (low > 0) - (high < 0)
        sign = int(truth[0] > 0 and agrees(leg, side))
    else:
        point = truth[0] > 0
        decided = compare(leg.op, low) == point and compare(leg.op, high) == point
        sign = int(truth[0]) if decided else 0
    shown = own if sign else level
    corrected = _corrected(truth, level, division)
    at = {own: (low, high)}
    at |= {other: ends(other) for other in (shown, corrected) if other is not None and other not in at}
    return found(
        leg,
        truth,
        sign,
        kind,
        level=float(shown),
        interval=at[shown],
        p=p,
        interval_corrected=None if corrected is None else at[corrected],
        level_corrected=None if corrected is None else float(corrected),
    )


def own_level(truth: Truths, level: Fraction, division: Division) -> Fraction:
    """Return the level of the direction in which the point lies: the only one that can decide."""
    return 1 - (1 - level) / (division.held if truth[0] > 0 else division.falsified)


def _corrected(truth: Truths, level: Fraction, division: Division) -> Fraction | None:
    """Return the corrected level to print: the point's direction's where corrected, else the other's."""
    own = own_level(truth, level, division)
    if own != level:
        return own
    k = max(division.held, division.falsified)
    return 1 - (1 - level) / k if k > 1 else None
