"""The verdict table: what claim, evidence and values must come to, one row a sentence of the contract.

Every expectation follows by hand from the sentence named in the row. The hand calculation is made easy by
two kinds of resamples: `even(a, b)`, 101 evenly spaced values, whose type-7 quantile at q is a + (b - a) q,
so that the 95 % interval is [a + 0.025 (b - a), b - 0.025 (b - a)]; and `of((value, times), ...)`, a few
values repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prereg.judge import (
    ClaimFalsifier,
    Evidence,
    Junction,
    Leg,
    Node,
    Not,
    OneRate,
    Question,
    SupportFalsifier,
    Truth,
    TwoRates,
)

NAN = float("nan")
INTERVAL, POINT, EXACT = Evidence("interval"), Evidence("point"), Evidence("exact")


def support(share):
    return Evidence("support", share)


def even(low, high):
    """101 values whose type-7 quantile at q is low + (high - low) q."""
    return np.round(np.linspace(low, high, 101), 12)


def of(*pairs):
    """A few values, each so many times."""
    return np.concatenate([np.full(times, value) for value, times in pairs])


def leg(op, point, resamples=(), **more):
    """An elementary comparison `left op 0`, unless told otherwise."""
    right = more.pop("right", 0.0)
    undefined = np.isnan(point)
    more.setdefault("reason", "vacuous" if undefined else None)
    return Leg(
        text=more.pop("text", f"x {op} {right:g}"),
        op=op,
        left=more.pop("left", None if undefined else right + point),
        right=right,
        d=np.concatenate([[point], np.asarray(resamples, dtype=np.float64)]),
        n=more.pop("n", 10),
        n_undefined=more.pop("n_undefined", 0),
        **more,
    )


def fact(point, resamples=(), **more):
    """A truth value without a difference: `defined(x)`, `argmin(x) == argmax(y)`."""
    return Truth(
        text="defined(x)", values=np.concatenate([[point], np.asarray(resamples, dtype=np.float64)]), **more
    )


def both(*children):
    return Junction("and", children, " and ".join(c.text for c in children))


def either(*children):
    return Junction("or", children, " or ".join(c.text for c in children))


def negation(child):
    return Not(child, f"not ({child.text})")


@dataclass(frozen=True)
class Row:
    """One claim and what it must come to; fields not named in `gives` are not looked at."""

    name: str
    follows: str
    node: Node | None
    evidence: Evidence
    gives: dict[str, Any]
    level: float | None = 0.95
    falsifier: SupportFalsifier | ClaimFalsifier | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def question(self):
        return Question(
            id=self.name,
            claim="the claim" if self.node is None else self.node.text,
            node=self.node,
            evidence=self.evidence,
            level=self.level,
            resamples=rows_of(self.node) - 1,
            falsifier=self.falsifier,
            **self.more,
        )


def rows_of(node):
    match node:
        case Leg():
            return len(node.d)
        case Truth():
            return len(node.values)
        case Not():
            return rows_of(node.child)
        case Junction():
            return max((rows_of(child) for child in node.children), default=1)
        case _:
            return 1


def held(**more):
    return {"verdict": "held", "reason": None, **more}


def falsified(**more):
    return {"verdict": "falsified", "reason": None, **more}


def failed(reason, **more):
    return {"verdict": "failed", "reason": reason, **more}


# Values that recur: at the point, true, false and undefined.
TRUE, FALSE, UNDEFINED = leg(">", 0.2), leg(">", -0.2), leg(">", NAN)
NONE_SELECTED = Junction("and", (), "all(x > 0)")
NONE_SELECTED_ANY = Junction("or", (), "any(x > 0)")

# [0.105, 0.295] at 95 %: above 0 at any level.   [-0.075, 0.275]: open.   Below 0: mirrored.
ABOVE, OPEN, BELOW = (
    leg(">", 0.2, even(0.1, 0.3)),
    leg(">", 0.1, even(-0.1, 0.3)),
    leg(">", -0.2, even(-0.3, -0.1)),
)
OPEN_BELOW = leg(">", -0.1, even(-0.3, 0.1))
# From -0.02 to 0.98 the quantile at q is q - 0.02: above 0 at 95 % (0.005), not at 97.5 % (-0.0075).
BARELY_ABOVE = leg(">", 0.4, even(-0.02, 0.98))
BARELY_BELOW = leg(">", -0.4, even(-0.98, 0.02))
SILENT = leg(">", NAN, of((NAN, 101)))
CONSTANT = leg(">", 0.3, of((0.3, 101)))
CONSTANT_BELOW = leg(">", -0.3, of((-0.3, 101)))

UNDEFINED_ROWS = [
    Row("comparison-with-an-undefined-side", "a comparison with an undefined side is undefined", UNDEFINED,
        POINT, failed("undefined", point=None, left=None, right=0.0, interval=None)),
    Row("undefined-and-false", "`and` is three-valued: false wins", both(UNDEFINED, FALSE), POINT,
        falsified()),
    Row("false-and-undefined", "`and` is three-valued: order is nothing", both(FALSE, UNDEFINED), POINT,
        falsified()),
    Row("undefined-and-true", "`and` is three-valued", both(UNDEFINED, TRUE), POINT, failed("undefined")),
    Row("undefined-or-true", "`or` is three-valued: true wins", either(UNDEFINED, TRUE), POINT, held()),
    Row("undefined-or-false", "`or` is three-valued", either(UNDEFINED, FALSE), POINT, failed("undefined")),
    Row("not-undefined", "`not` is three-valued", negation(UNDEFINED), POINT, failed("undefined")),
    Row("not-undefined-and-false", "`not` swaps held and falsified", negation(both(UNDEFINED, FALSE)), POINT,
        held()),
    Row("all-true-one-undefined", "all is `and`, undefined ones included", both(TRUE, TRUE, UNDEFINED), POINT,
        failed("undefined", legs=[{"point": 0.2}, {"point": 0.2}, {"point": None, "reason": "undefined"}])),
    Row("all-one-false-one-undefined", "all is `and`, undefined ones included", both(TRUE, FALSE, UNDEFINED),
        POINT, falsified(legs=[{"verdict": "held"}, {"verdict": "falsified"}, {"verdict": "failed"}])),
    Row("any-true-one-undefined", "any is `or`, undefined ones included", either(FALSE, TRUE, UNDEFINED),
        POINT, held()),
    Row("any-false-one-undefined", "any is `or`, undefined ones included", either(FALSE, FALSE, UNDEFINED),
        POINT, failed("undefined")),
    Row("all-of-nothing", "over an empty selection they are undefined", NONE_SELECTED, POINT,
        failed("undefined", legs=[], point=None)),
    Row("any-of-nothing", "over an empty selection they are undefined", NONE_SELECTED_ANY, POINT,
        failed("undefined")),
    Row("not-all-of-nothing", "not undefined is undefined", negation(NONE_SELECTED), POINT,
        failed("undefined")),
    Row("all-of-nothing-or-true", "undefined or true is true", either(NONE_SELECTED, TRUE), POINT, held()),
    Row("all-of-nothing-and-true", "an empty selection does not vanish in an `and`",
        both(NONE_SELECTED, TRUE), POINT, failed("undefined")),
    Row("all-of-nothing-and-false", "undefined and false is false", both(NONE_SELECTED, FALSE), POINT,
        falsified()),
    Row("any-of-nothing-by-interval", "an empty selection: the value is undefined",
        either(NONE_SELECTED_ANY, OPEN_BELOW), INTERVAL, failed("undefined")),
    Row("defined-is-true", "only `defined` looks at definedness", fact(1.0), POINT,
        held(point=None, left=None, right=None, interval=None)),
    Row("defined-is-false", "only `defined` looks at definedness", fact(0.0), POINT, falsified()),
    Row("argmin-of-a-tie", "a truth value may itself be undefined", fact(NAN, reason="tie"), POINT,
        failed("undefined", undefined_because="tie")),
    Row("metric-reason-is-kept", "null and a reason", UNDEFINED, POINT,
        failed("undefined", undefined_because="vacuous")),
]  # fmt: skip

INTERVAL_ROWS = [
    Row("held", "the comparison of d with 0 is true of the point, of l and of h", ABOVE, INTERVAL,
        held(point=0.2, interval=[0.105, 0.295], level=0.95, support=1.0, resamples=101,
             resamples_defined=101, left=0.2, right=0.0, n=10, n_undefined=0, unpaired=False,
             evidence="interval")),
    Row("falsified", "it is false of all three", BELOW, INTERVAL,
        falsified(point=-0.2, interval=[-0.295, -0.105], support=0.0)),
    Row("short", "true at the point, evidence not met", OPEN, INTERVAL,
        failed("short", interval=[-0.09, 0.29], point=0.1)),
    Row("contrary", "false at the point, falsifier silent", OPEN_BELOW, INTERVAL,
        failed("contrary", interval=[-0.29, 0.09], point=-0.1)),
    Row("short-though-the-interval-is-false", "falsified needs the point as well",
        leg(">", 0.1, even(-0.3, -0.1)),
        INTERVAL, failed("short")),
    Row("at-least-touching-zero", "`>=` accepts an end at 0", leg(">=", 0.2, of((0.0, 10), (0.4, 90))),
        INTERVAL, held(interval=[0.0, 0.4])),
    Row("above-touching-zero", "`>` does not accept an end at 0", leg(">", 0.2, of((0.0, 10), (0.4, 90))),
        INTERVAL, failed("short", interval=[0.0, 0.4])),
    Row("not-above-touching-zero", "`>` is false of an end at 0", leg(">", -0.2, of((0.0, 10), (-0.4, 90))),
        INTERVAL, falsified(interval=[-0.4, 0.0])),
    Row("not-at-least-touching-zero", "`>=` is true of an end at 0",
        leg(">=", -0.2, of((0.0, 10), (-0.4, 90))),
        INTERVAL, failed("contrary")),
    Row("below", "the comparison as written", leg("<", -0.2, even(-0.3, -0.1)), INTERVAL,
        held(point=-0.2, interval=[-0.295, -0.105])),
    Row("at-most-touching-zero", "the comparison as written", leg("<=", -0.2, of((0.0, 10), (-0.4, 90))),
        INTERVAL, held()),
    Row("never-flipped", "d is never sign-flipped: `spearman < 0` prints the correlation itself",
        leg("<", -0.4, even(-0.5, -0.3), left=-0.4), INTERVAL,
        held(left=-0.4, point=-0.4, interval=[-0.495, -0.305])),
    Row("difference-as-written", "d = left - right", leg(">", 0.2, even(0.1, 0.3), right=0.5), INTERVAL,
        held(left=0.7, right=0.5, point=0.2)),
    Row("level-90", "at the registered two-sided level", ABOVE, INTERVAL,
        held(interval=[0.11, 0.29], level=0.9),
        level=0.9),
    Row("not-held", "`not` swaps held and falsified", negation(ABOVE), INTERVAL,
        falsified(point=0.2, interval=[0.105, 0.295], support=0.0)),
    Row("not-falsified", "`not` swaps held and falsified", negation(BELOW), INTERVAL,
        held(point=-0.2, support=1.0)),
    Row("not-short", "the reason is by the claim's own truth at the point", negation(OPEN), INTERVAL,
        failed("contrary")),
    Row("not-contrary", "the reason is by the claim's own truth at the point", negation(OPEN_BELOW), INTERVAL,
        failed("short")),
    Row("not-not", "`not` swaps twice", negation(negation(ABOVE)), INTERVAL, held()),
    Row("half-defined", "an interval needs at least half of the resamples defined",
        leg(">", 0.2, of((0.1, 25), (0.3, 25), (NAN, 50))), INTERVAL,
        held(resamples=100, resamples_defined=50, support=0.5, interval=[0.1, 0.3])),
    Row("fewer-than-half-defined", "otherwise `undefined`",
        leg(">", 0.2, of((0.1, 24), (0.3, 25), (NAN, 51))),
        INTERVAL, failed("undefined", interval=None, point=0.2, resamples_defined=49)),
    Row("undefined-at-the-point-only", "undefined at the point", leg(">", NAN, even(0.1, 0.3)), INTERVAL,
        failed("undefined", point=None, interval=None, support=1.0)),
    Row("point-alone", "`evidence: point` looks at the point alone", leg(">", 0.2, even(-0.3, -0.1)), POINT,
        held(interval=None, level=None, support=0.0)),
    Row("equality-at-the-point", "`==` under point: `point` carries d", leg("==", 0.0, right=1.0), POINT,
        held(point=0.0, left=1.0)),
    Row("equality-missed", "`==` under point: `point` carries d", leg("==", -0.1, right=1.0), POINT,
        falsified(point=-0.1)),
    Row("inequality", "`!=` under point", leg("!=", 0.0), POINT, falsified()),
    Row("point-leg-holds", "interval above 0 and point at least 0.10 is one prediction",
        both(ABOVE, leg(">=", 0.1, even(0.0, 0.2), right=0.1, point_only=True)), INTERVAL,
        held(legs=[{"verdict": "held", "interval": [0.105, 0.295], "evidence": "interval"},
                   {"verdict": "held", "interval": None, "level": None, "evidence": "point"}])),
    Row("point-leg-fails", "point(c) judges that leg at the point only",
        both(ABOVE, leg(">=", -0.05, even(-0.1, 0.2), right=0.1, point_only=True)), INTERVAL,
        falsified(legs=[{"verdict": "held"}, {"verdict": "falsified"}])),
    Row("point-leg-beside-a-short-one", "point(c) judges that leg at the point only",
        both(OPEN, leg(">=", 0.1, even(-0.1, 0.3), point_only=True)), INTERVAL, failed("short")),
    Row("point-leg-without-resamples", "point(c) needs no resamples",
        both(ABOVE, leg("==", 0.0, point_only=True)),
        INTERVAL, held(resamples=101, resamples_defined=101, support=1.0)),
    Row("point-leg-without-d", "legs without a d go under point", both(ABOVE, fact(1.0, point_only=True)),
        INTERVAL, held()),
    Row("point-leg-in-support", "the point is the same in every resample",
        both(leg(">", 0.2, even(0.1, 0.3)), leg(">", 0.1, even(-0.3, -0.1), point_only=True)), support(0.9),
        held(support=1.0)),
]  # fmt: skip

LINKS = (leg(">", 0.3, even(0.2, 0.4)), leg("<", -0.3, even(-0.4, -0.2)))
CHAIN_ROWS = [
    Row("chain-held", "a chain is the `and` of its links", both(*LINKS), INTERVAL,
        held(point=None, left=None, right=None, interval=None, level=0.95, n=None,
             legs=[{"verdict": "held", "level": 0.95}, {"verdict": "held", "level": 0.95}])),
    Row("chain-one-link-false", "falsified if any leg is", both(LINKS[0], BELOW), INTERVAL,
        falsified(legs=[{"verdict": "held", "level": 0.95},
                        {"verdict": "falsified", "level": 0.975, "interval": [-0.2975, -0.1025]}])),
    Row("within-needs-the-corrected-level", "one link suffices to falsify: alpha / 2",
        both(leg(">=", 0.4, even(0.2, 0.6)), leg("<=", 0.4, even(-0.02, 0.98))), INTERVAL,
        failed("contrary", legs=[
            {"verdict": "held"},
            {"verdict": "failed", "reason": "contrary", "interval": [0.005, 0.955], "level": 0.95,
             "interval_corrected": [-0.0075, 0.9675], "level_corrected": 0.975}])),
    Row("within-falsified", "x >= a and x <= b",
        both(leg(">=", 0.4, even(0.2, 0.6)), leg("<=", 0.4, even(0.2, 0.6))),
        INTERVAL, falsified()),
    Row("false-then-undefined", "a chain is an `and`: false wins", both(BELOW, SILENT), INTERVAL,
        falsified()),
    Row("true-then-undefined", "a chain is an `and`", both(ABOVE, SILENT), INTERVAL,
        failed("undefined", resamples_defined=0, support=0.0)),
]  # fmt: skip

# Oracles by hand: sign test of 0 against 40 is 2/2^40; Clopper-Pearson at k = n is [(alpha/2)^(1/n), 1].
NO_VARIATION_ROWS = [
    Row("no-variation", "all defined resamples give one value: the interval is no evidence", CONSTANT,
        INTERVAL, failed("no_variation", interval=[0.3, 0.3], level=0.95, support=1.0)),
    Row("no-variation-below", "no_variation: interval [x, x]", CONSTANT_BELOW, INTERVAL,
        failed("no_variation", interval=[-0.3, -0.3])),
    Row("half-defined-and-constant", "where all *defined* resamples give one value",
        leg(">", 0.3, of((0.3, 50), (NAN, 50))), INTERVAL, failed("no_variation")),
    Row("too-few-defined-and-constant", "undefined comes before no_variation",
        leg(">", 0.3, of((0.3, 49), (NAN, 51))), INTERVAL, failed("undefined", interval=None)),
    Row("one-resample-differs", "zero width by quantiles alone is no lack of variation",
        leg(">", 0.3, of((0.3, 399), (0.2, 1))), INTERVAL, held(interval=[0.3, 0.3])),
    Row("forty-against-none", "0 of 40 against 40 of 40 must be held",
        leg(">", 1.0, of((1.0, 100)), left=1.0, exact=TwoRates(40, 0, 40)), INTERVAL,
        held(p=2 / 2**40, evidence="exact", interval=None, point=1.0)),
    Row("none-against-forty", "the same, on the wrong side",
        leg(">", -1.0, of((-1.0, 100)), exact=TwoRates(0, 40, 40)), INTERVAL, falsified(p=2 / 2**40)),
    Row("three-against-none", "judged by exact: p = 2/8 is not met",
        leg(">", 1.0, of((1.0, 100)), exact=TwoRates(3, 0, 3)), INTERVAL, failed("short", p=0.25)),
    Row("none-against-three", "judged by exact, on the wrong side",
        leg(">", -1.0, of((-1.0, 100)), exact=TwoRates(0, 3, 3)), INTERVAL, failed("contrary", p=0.25)),
    Row("no-difference-at-all", "no unit differs: p = 1",
        leg(">=", 0.0, of((0.0, 100)), exact=TwoRates(0, 0, 40)), INTERVAL, failed("short", p=1.0)),
    Row("twenty-of-twenty-above-95", "20 of 20 right does not prove 0.95",
        leg(">", 0.05, of((0.05, 100)), left=1.0, right=0.95, exact=OneRate(20, 20)), INTERVAL,
        failed("short", evidence="exact", interval=[0.025 ** (1 / 20) - 0.95, 0.05], p=2 * 0.95**20)),
    Row("sixty-of-sixty-above-80", "Clopper-Pearson proves what it can",
        leg(">", 0.2, of((0.2, 100)), left=1.0, right=0.8, exact=OneRate(60, 60)), INTERVAL,
        held(interval=[0.025 ** (1 / 60) - 0.8, 0.2], p=2 * 0.8**60)),
    Row("none-of-twenty-below-30", "Clopper-Pearson at k = 0 is [0, 1 - (alpha/2)^(1/n)]",
        leg("<", -0.3, of((-0.3, 100)), left=0.0, right=0.3, exact=OneRate(0, 20)), INTERVAL,
        held(interval=[-0.3, 1 - 0.025 ** (1 / 20) - 0.3])),
    Row("constant-on-the-left", "d = left - right, as written",
        leg("<", -0.2, of((-0.2, 100)), left=0.8, right=1.0, exact=OneRate(60, 60, flipped=True)), INTERVAL,
        held(interval=[-0.2, 0.8 - 0.025 ** (1 / 60)])),
    Row("twenty-of-twenty-below-95", "one rate on the wrong side is falsified by exact where it can be",
        leg("<", 0.5, of((0.5, 100)), left=1.0, right=0.5, exact=OneRate(20, 20)), INTERVAL, falsified()),
    Row("fallback-at-the-corrected-level", "6 against 0: p = 2/64 meets alpha, not alpha / 2",
        either(leg(">", 1.0, of((1.0, 101)), exact=TwoRates(6, 0, 6)), OPEN), INTERVAL, failed("short",
        legs=[{"p": 2 / 64, "evidence": "exact", "level": 0.95, "level_corrected": 0.975}, {}])),
    Row("variation-needs-no-exact", "exact is the way out of no variation alone",
        leg(">", 0.1, even(-0.1, 0.3), exact=TwoRates(40, 0, 40)), INTERVAL,
        failed("short", evidence="interval")),
]  # fmt: skip

SUPPORT_ROWS = [
    Row("support-met", "held if true at the point and in a share p of all B",
        leg(">", 0.1, of((0.1, 90), (-0.1, 10))),
        support(0.9), held(support=0.9, evidence={"support": 0.9}, interval=None, level=None)),
    Row("support-missed-by-one", "a share p of all B resamples", leg(">", 0.1, of((0.1, 89), (-0.1, 11))),
        support(0.9), failed("short", support=0.89)),
    Row("support-against", "falsified if false at the point and in a share p of all B",
        leg(">", -0.1, of((0.1, 10), (-0.1, 90))), support(0.9), falsified(support=0.1)),
    Row("support-against-missed", "false at the point, falsifier silent",
        leg(">", -0.1, of((0.1, 11), (-0.1, 89))), support(0.9), failed("contrary")),
    Row("support-but-not-at-the-point", "true at the point as well", leg(">", -0.1, of((0.1, 100))),
        support(0.9), failed("contrary", support=1.0)),
    Row("undefined-count-against-support", "a share of *all* B resamples",
        leg(">", 0.1, of((0.1, 89), (NAN, 11))), support(0.9),
        failed("short", support=0.89, resamples_defined=89)),
    Row("undefined-count-against-falsifying", "a share of *all* B resamples",
        leg(">", -0.1, of((-0.1, 89), (NAN, 11))), support(0.9), failed("contrary", support=0.0)),
    Row("support-half-defined", "short otherwise", leg(">", 0.1, of((0.1, 50), (NAN, 50))), support(0.9),
        failed("short")),
    Row("support-fewer-than-half-defined", "undefined when fewer than half are defined",
        leg(">", 0.1, of((0.1, 49), (NAN, 51))), support(0.9), failed("undefined")),
    Row("support-undefined-at-the-point", "undefined at the point", leg(">", NAN, of((0.1, 100))),
        support(0.9), failed("undefined", support=1.0)),
    Row("support-constant", "no_variation belongs to interval alone", leg(">", 0.1, of((0.1, 100))),
        support(0.9), held()),
    Row("support-of-the-whole", "the *whole* claim, not leg by leg",
        both(leg(">", 0.1, of((0.1, 95), (-0.1, 5))), leg(">", 0.1, of((-0.1, 5), (0.1, 95)))), support(0.92),
        failed("short", support=0.9, legs=[{"verdict": "held", "support": 0.95}, {"verdict": "held"}])),
    Row("support-of-any", "the whole claim: one leg or the other is true everywhere",
        either(leg(">", 0.1, of((0.1, 50), (-0.1, 50))), leg(">", 0.1, of((-0.1, 50), (0.1, 50)))),
        support(0.95), held(support=1.0)),
    Row("support-kleene", "undefined or true is true in a resample",
        either(leg(">", NAN, of((NAN, 100))), leg(">", 0.1, of((0.1, 100)))), support(0.95),
        held(support=1.0, resamples_defined=100)),
    Row("support-without-d", "legs without a d: use `point` or `support`", fact(1.0, of((1.0, 95), (0.0, 5))),
        support(0.9), held(support=0.95, point=None)),
    Row("support-equality", "`==` under support", leg("==", 0.0, of((0.0, 95), (0.1, 5))), support(0.95),
        held()),
    Row("not-under-support", "`not` swaps held and falsified",
        negation(leg(">", 0.1, of((0.1, 90), (-0.1, 10)))),
        support(0.9), falsified(support=0.1)),
]  # fmt: skip

# Clopper-Pearson limits are beta quantiles, scipy.stats.beta.ppf(0.025, k, n - k + 1) and
# ppf(0.975, k + 1, n - k), less the constant; sign tests by hand.
EXACT_ROWS = [
    Row("exact-eighteen-of-twenty", "Clopper-Pearson, judged like an interval",
        leg(">", 0.3, left=0.9, right=0.6, exact=OneRate(18, 20)), EXACT,
        held(interval=[0.0830172859809176, 0.38765147282970525], level=0.95, evidence="exact", support=None)),
    Row("exact-perfect", "closed form at k = n", leg(">=", 0.2, left=1.0, right=0.8, exact=OneRate(20, 20)),
        EXACT, held(interval=[0.025 ** (1 / 20) - 0.8, 0.2])),
    Row("exact-fourteen", "judged like an interval: short",
        leg(">", 0.2, left=0.7, right=0.5, exact=OneRate(14, 20)), EXACT,
        failed("short", interval=[-0.04278918227628925, 0.38106840959427224])),
    Row("exact-at-80", "at the prediction's level",
        leg(">", 0.2, left=0.7, right=0.5, exact=OneRate(14, 20)), EXACT,
        held(interval=[0.032733021334669044, 0.3341276172110763], level=0.8), level=0.8),
    Row("exact-default-level", "default 0.95", leg(">", 0.2, left=0.7, right=0.5, exact=OneRate(14, 20)),
        EXACT, failed("short", level=0.95), level=None),
    Row("exact-eight", "judged like an interval: contrary",
        leg(">", -0.1, left=0.4, right=0.5, exact=OneRate(8, 20)), EXACT, failed("contrary")),
    Row("exact-two", "judged like an interval: falsified",
        leg(">", -0.4, left=0.1, right=0.5, exact=OneRate(2, 20)), EXACT,
        falsified(interval=[-0.48765147282970517, -0.1830172859809177])),
    Row("exact-below", "the comparison as written",
        leg("<", -0.3, left=0.1, right=0.4, exact=OneRate(2, 20)), EXACT,
        held(interval=[-0.3876514728297052, -0.0830172859809177])),
    Row("exact-nine-to-one", "sign test: 2 (1 + 10)/1024", leg(">", 0.4, exact=TwoRates(9, 1, 20)), EXACT,
        held(p=22 / 1024, interval=None)),
    Row("exact-eight-to-two", "sign test: 2 (1 + 10 + 45)/1024", leg(">", 0.3, exact=TwoRates(8, 2, 20)),
        EXACT, failed("short", p=112 / 1024)),
    Row("exact-one-to-nine", "wrong side and p <= 1 - level: falsified",
        leg(">", -0.4, exact=TwoRates(1, 9, 20)), EXACT, falsified(p=22 / 1024)),
    Row("exact-two-to-eight", "wrong side, p not met", leg(">", -0.3, exact=TwoRates(2, 8, 20)), EXACT,
        failed("contrary")),
    Row("exact-no-difference", "no unit differs: p = 1", leg(">", 0.0, exact=TwoRates(0, 0, 20)), EXACT,
        failed("contrary", p=1.0)),
    Row("exact-units-against-the-point", "right side: units that lean to the other prove nothing",
        leg(">", 0.01, exact=TwoRates(1, 9, 20)), EXACT, failed("short", p=22 / 1024)),
    Row("exact-equality-of-p", "p <= 1 - level: 2/64 at level 31/32",
        leg(">", 0.3, exact=TwoRates(6, 0, 20)), EXACT, held(p=0.03125), level=0.96875),
    Row("exact-just-missed", "p <= 1 - level: 2/64 above 0.031", leg(">", 0.3, exact=TwoRates(6, 0, 20)),
        EXACT, failed("short"), level=0.969),
    Row("exact-undefined", "an undefined rate has no units", leg(">", NAN, exact=OneRate(0, 0)), EXACT,
        failed("undefined", interval=None)),
    Row("exact-any-of-three", "22/1024 is above 0.05 / 3",
        either(leg(">", 0.4, exact=TwoRates(9, 1, 20)), *[leg(">", -0.1, exact=TwoRates(4, 5, 20))] * 2),
        EXACT, failed("short")),
    Row("exact-any-of-two", "22/1024 is below 0.05 / 2",
        either(leg(">", 0.4, exact=TwoRates(9, 1, 20)), leg(">", -0.1, exact=TwoRates(4, 5, 20))), EXACT,
        held(legs=[{"verdict": "held", "level": 0.975, "level_corrected": 0.975},
                   {"reason": "contrary", "level": 0.95, "level_corrected": 0.975}])),
    Row("exact-all-of-three", "held needs all: alpha is not divided",
        both(*[leg(">", 0.4, exact=TwoRates(9, 1, 20))] * 3), EXACT, held()),
    Row("exact-with-a-point-leg", "point(c) under exact",
        both(leg(">", 0.4, exact=TwoRates(9, 1, 20)), leg(">=", 0.3, point_only=True)), EXACT, held()),
]  # fmt: skip

LEGS_ROWS = [
    Row("one-alone", "k = 1: no corrected level", BARELY_ABOVE, INTERVAL,
        held(interval=[0.005, 0.955], interval_corrected="absent", level_corrected="absent")),
    Row("any-of-two-short", "one child suffices to hold: alpha / 2", either(BARELY_ABOVE, OPEN_BELOW),
        INTERVAL, failed("short", legs=[
            {"verdict": "failed", "reason": "short", "level": 0.95, "interval": [0.005, 0.955],
             "level_corrected": 0.975, "interval_corrected": [-0.0075, 0.9675]},
            {"verdict": "failed", "reason": "contrary"}])),
    Row("any-of-two-held", "interval and level are those of the direction that decided", either(ABOVE, OPEN),
        INTERVAL, held(legs=[{"verdict": "held", "level": 0.975, "interval": [0.1025, 0.2975],
                    "level_corrected": 0.975, "interval_corrected": [0.1025, 0.2975]},
                   {"verdict": "failed", "reason": "short", "level": 0.95, "interval": [-0.09, 0.29]}])),
    Row("any-falsified-uncorrected", "falsified needs all: alpha is not divided",
        either(BARELY_BELOW, BARELY_BELOW),
        INTERVAL,
        falsified(legs=[{"level": 0.95, "interval": [-0.955, -0.005], "level_corrected": 0.975}, {}])),
    Row("all-held-uncorrected", "held needs all: alpha is not divided", both(*[BARELY_ABOVE] * 4), INTERVAL,
        held(legs=[{"level": 0.95, "level_corrected": 0.9875}, {}, {}, {}])),
    Row("all-falsified-corrected", "one leg suffices to falsify: alpha / 4",
        both(BARELY_BELOW, *[ABOVE] * 3), INTERVAL, failed("contrary",
        legs=[{"verdict": "failed", "reason": "contrary", "level_corrected": 0.9875}, {}, {}, {}])),
    Row("undefined-legs-count", "undefined ones included", either(BARELY_ABOVE, SILENT), INTERVAL,
        failed("short", legs=[{"reason": "short", "level_corrected": 0.975}, {"reason": "undefined"}])),
    Row("an-empty-selection-counts", "undefined ones included: an empty one is one of them",
        either(BARELY_ABOVE, Junction("and", (), "all(y > 0)")), INTERVAL,
        failed("short", legs=[{"reason": "short", "level_corrected": 0.975}])),
    Row("undefined-leg-does-not-stop-any", "held if any leg is", either(ABOVE, SILENT), INTERVAL, held()),
    Row("undefined-leg-does-not-stop-falsified", "falsified if any leg is", both(BELOW, SILENT), INTERVAL,
        falsified()),
    Row("flattened", "all inside `and` flattened: k = 3, not 2 times 2", both(BELOW, both(ABOVE, ABOVE)),
        INTERVAL, falsified(legs=[{"level": 1 - 0.05 / 3}, {"level_corrected": 1 - 0.05 / 3},
        {"level_corrected": 1 - 0.05 / 3}])),
    Row("flattened-or", "`or`/`any` likewise", either(ABOVE, either(OPEN, OPEN)), INTERVAL,
        held(legs=[{"level": 1 - 0.05 / 3}, {}, {}])),
    Row("or-inside-and-held", "the division starts anew: held of the inner `or` divides by 2",
        both(ABOVE, either(BARELY_ABOVE, OPEN_BELOW)), INTERVAL, failed("short",
        legs=[{"verdict": "held", "level": 0.95}, {"reason": "short", "level_corrected": 0.975}, {}])),
    Row("or-inside-and-falsified", "below `and`, the legs of the inner `or` count: k = 3 to falsify",
        both(ABOVE, either(BELOW, BELOW)), INTERVAL,
        falsified(legs=[{"verdict": "held"}, {"level": 1 - 0.05 / 3}, {"level": 1 - 0.05 / 3}])),
    Row("levels-multiply", "or > and > or: 4 legs times 2 legs",
        either(OPEN, both(ABOVE, either(ABOVE, OPEN))), INTERVAL,
        held(legs=[{}, {"level": 0.9875}, {"level": 1 - 0.05 / 8}, {}])),
    Row("not-exchanges-directions", "not any: one leg suffices to falsify",
        negation(either(BARELY_ABOVE, OPEN_BELOW)),
        INTERVAL, failed("contrary", legs=[{"reason": "short", "level_corrected": 0.975}, {}])),
    Row("not-exchanges-held", "not all: one false leg suffices to hold", negation(both(BARELY_BELOW, ABOVE)),
        INTERVAL, failed("short", legs=[{"reason": "contrary", "level_corrected": 0.975}, {}])),
    Row("not-inside-and", "not exchanges below the root as well", both(ABOVE, negation(BELOW)), INTERVAL,
        held(legs=[{"verdict": "held", "level": 0.95}, {"verdict": "falsified", "level": 0.95}])),
    Row("mixed-legs-short", "fails by its own truth at the point: short", both(ABOVE, OPEN), INTERVAL,
        failed("short")),
    Row("mixed-legs-contrary", "fails by its own truth at the point: contrary", both(OPEN, OPEN_BELOW),
        INTERVAL, failed("contrary")),
    Row("any-short-beside-undefined-at-the-point", "own truth: true; the undefined leg prevents nothing",
        either(OPEN, leg(">", NAN, even(-0.3, 0.1))), INTERVAL, failed("short")),
    Row("all-contrary-beside-undefined-at-the-point", "own truth: false; the undefined leg prevents nothing",
        both(OPEN_BELOW, leg(">", NAN, even(-0.1, 0.3))), INTERVAL, failed("contrary")),
    Row("whole-undefined-in-most-resamples", "the whole claim is undefined in more than half",
        both(OPEN, leg(">", 0.2, of((0.1, 25), (0.3, 25), (NAN, 51)))), INTERVAL, failed("undefined")),
    Row("leg-undefined-whole-defined", "over the legs that prevent the verdict, `undefined`",
        either(leg(">", 0.2, of((0.1, 20), (0.3, 20), (NAN, 61))),
        leg(">", -0.1, of((-0.3, 40), (0.1, 61)))), INTERVAL, failed("undefined", resamples_defined=101)),
    Row("all-constant", "no_variation only if all undecided legs have it", both(CONSTANT, CONSTANT), INTERVAL,
        failed("no_variation")),
    Row("constant-and-held", "the held leg prevents nothing", both(ABOVE, CONSTANT), INTERVAL,
        failed("no_variation")),
    Row("constant-and-short", "not all undecided legs lack variation", both(OPEN, CONSTANT), INTERVAL,
        failed("short")),
    Row("constant-below-prevents", "the leg that is false at the point prevents falsified",
        both(ABOVE, CONSTANT_BELOW),
        INTERVAL, failed("no_variation")),
    Row("constant-beside-contrary", "no_variation only if *all* undecided legs have it",
        either(CONSTANT, OPEN_BELOW),
        INTERVAL, failed("short")),
    Row("constant-below-beside-short", "no_variation only if *all* undecided legs have it",
        both(OPEN, CONSTANT_BELOW),
        INTERVAL, failed("contrary")),
    Row("constant-beside-undefined-at-the-point", "no_variation only if *all* undecided legs have it",
        either(CONSTANT, SILENT), INTERVAL, failed("short")),
    Row("undefined-before-no-variation", "undefined, then no_variation",
        both(CONSTANT, leg(">", 0.2, of((0.1, 25), (0.3, 25), (NAN, 51)))), INTERVAL, failed("undefined")),
    Row("unpaired-is-passed-up", "two reductions that leave out different policies are marked",
        both(ABOVE, leg(">", 0.2, even(0.1, 0.3), unpaired=True, n=[4, 3], n_undefined=[0, 1])), INTERVAL,
        held(unpaired=True,
        legs=[{"unpaired": False}, {"unpaired": True, "n": [4, 3], "n_undefined": [0, 1]}])),
]  # fmt: skip

SUPPORT_HALF = SupportFalsifier("<", 0.5, "support < 0.5")
FALSIFIER_ROWS = [
    Row("no-falsifier", "the field is there", ABOVE, INTERVAL, held(falsifier=None)),
    Row("support-falsifier-fires", "a condition on support", BELOW, INTERVAL,
        falsified(support=0.0, falsifier={"claim": "support < 0.5", "fired": True, "support": 0.0}),
        falsifier=SUPPORT_HALF),
    Row("support-falsifier-silent", "a condition on support", ABOVE, INTERVAL,
        held(falsifier={"claim": "support < 0.5", "fired": False, "support": 1.0}), falsifier=SUPPORT_HALF),
    Row("falsifier-replaces-the-default", "replaces the default for the whole claim", BELOW, INTERVAL,
        failed("contrary", falsifier={"fired": False}),
        falsifier=SupportFalsifier(">", 0.9, "support > 0.9")),
    Row("falsifier-beyond-the-default", "the falsifier alone decides", OPEN_BELOW, INTERVAL, falsified(),
        falsifier=SupportFalsifier("<", 0.95, "support < 0.95")),
    Row("support-falsifier-on-a-short-claim", "true at the point, and falsified",
        leg(">", 0.1, of((0.1, 49), (-0.1, 51))),
        INTERVAL, falsified(support=0.49), falsifier=SUPPORT_HALF),
    Row("support-falsifier-strict", "`<` is not met at one half", leg(">", 0.1, of((0.1, 50), (-0.1, 50))),
        INTERVAL, failed("short", support=0.5), falsifier=SUPPORT_HALF),
    Row("support-falsifier-at-most", "`<=` is met at one half", leg(">", 0.1, of((0.1, 50), (-0.1, 50))),
        INTERVAL, falsified(), falsifier=SupportFalsifier("<=", 0.5, "support <= 0.5")),
    Row("support-counts-undefined-against", "the share of *all* B resamples",
        leg(">", 0.1, of((0.1, 49), (NAN, 51))),
        INTERVAL, failed("undefined", falsifier={"fired": False}), falsifier=SUPPORT_HALF),
    Row("falsifier-at-half-defined", "in at least half of the resamples",
        leg(">", 0.1, of((0.1, 49), (0.2, 1), (NAN, 50))),
        INTERVAL, falsified(support=0.5), falsifier=SupportFalsifier("<=", 0.5, "support <= 0.5")),
    Row("falsifier-on-an-undefined-point", "fires only if the claim is defined at the point",
        leg(">", NAN, even(-0.3, -0.1)),
        INTERVAL, failed("undefined", falsifier={"fired": False}), falsifier=SUPPORT_HALF),
    Row("falsifier-on-the-whole-claim", "the share in which the *whole* claim is true", both(ABOVE, BELOW),
        INTERVAL, falsified(support=0.0), falsifier=SUPPORT_HALF),
    Row("falsifier-on-no-variation", "a condition on support needs no variation", CONSTANT_BELOW, INTERVAL,
        falsified(),
        falsifier=SUPPORT_HALF),
    Row("no-variation-under-a-silent-falsifier", "the legs' reasons come first", CONSTANT_BELOW, INTERVAL,
        failed("no_variation"), falsifier=SupportFalsifier(">", 0.9, "support > 0.9")),
    Row("held-and-falsifier", "if both held and the falsifier apply: falsified", ABOVE, INTERVAL,
        falsified(falsifier={"fired": True, "verdict": "held", "point": 0.1, "interval": [0.005, 0.195]}),
        falsifier=ClaimFalsifier(leg(">", 0.1, even(0.0, 0.2)), "x > 0.1")),
    Row("claim-falsifier-short", "judged by the same evidence", ABOVE, INTERVAL,
        held(falsifier={"fired": False, "verdict": "failed", "reason": "short"}),
        falsifier=ClaimFalsifier(OPEN, "x > 0.3")),
    Row("claim-falsifier-replaces", "replaces the default for the whole claim", BELOW, INTERVAL,
        failed("contrary"),
        falsifier=ClaimFalsifier(leg("<", -0.1, even(-0.3, 0.1)), "x < -0.1")),
    Row("silent-falsifier-beside-a-constant-leg", "the legs had decided: none of them prevents the verdict",
        both(BELOW, CONSTANT), INTERVAL, failed("contrary"),
        falsifier=SupportFalsifier(">", 0.9, "support > 0.9")),
    Row("claim-falsifier-on-undefined", "fires only if the claim is defined at the point", SILENT, INTERVAL,
        failed("undefined", falsifier={"fired": False, "verdict": "held"}),
        falsifier=ClaimFalsifier(leg("<", -0.2, even(-0.3, -0.1)), "y < 0")),
    Row("claim-falsifier-own-levels", "a claim of its own: k counts its own legs", ABOVE, INTERVAL,
        held(falsifier={"fired": False, "reason": "short"}),
        falsifier=ClaimFalsifier(either(BARELY_ABOVE, OPEN_BELOW), "y > 0 or z > 0")),
    Row("falsifier-by-point", "judged by the same evidence: point", TRUE, POINT, falsified(),
        falsifier=ClaimFalsifier(leg(">", 0.1), "x > 0.3")),
    Row("falsifier-by-point-silent", "judged by the same evidence: point", FALSE, POINT, failed("contrary"),
        falsifier=ClaimFalsifier(leg("<", 0.1), "x < -0.3")),
    Row("falsifier-by-support", "judged by the same evidence: support", leg(">", 0.1, of((0.1, 100))),
        support(0.9),
        falsified(), falsifier=ClaimFalsifier(leg(">", 0.1, of((0.1, 90), (-0.1, 10))), "y > 0")),
    Row("falsifier-by-exact", "judged by the same evidence: exact", leg(">", 0.4, exact=TwoRates(9, 1, 20)),
        EXACT, falsified(falsifier={"fired": True, "p": 22 / 1024}),
        falsifier=ClaimFalsifier(leg("<", -0.4, exact=TwoRates(1, 9, 20)), "y < 0")),
]  # fmt: skip

DIFFERS_ROWS = [
    Row("differs-above", "two-sided: the interval excludes 0",
        leg("!=", 0.2, even(0.1, 0.3), two_sided=True), INTERVAL, held(interval=[0.105, 0.295])),
    Row("differs-below", "two-sided: the interval excludes 0",
        leg("!=", -0.2, even(-0.3, -0.1), two_sided=True),
        INTERVAL, held()),
    Row("differs-open", "the interval holds 0", leg("!=", 0.1, even(-0.1, 0.3), two_sided=True), INTERVAL,
        failed("short")),
    Row("differs-touching-zero", "an end at 0 is not excluded",
        leg("!=", 0.2, of((0.0, 10), (0.4, 90)), two_sided=True), INTERVAL, failed("short")),
    Row("differs-point-elsewhere", "the point lies on the interval's side",
        leg("!=", -0.1, even(0.1, 0.3), two_sided=True), INTERVAL, failed("short")),
    Row("differs-never-falsified", "never falsified without a margin",
        leg("!=", 0.0, even(-0.1, 0.1), two_sided=True),
        INTERVAL, failed("contrary")),
    Row("differs-never-falsified-at-the-point", "never falsified without a margin",
        leg("!=", 0.0, two_sided=True), POINT, failed("contrary")),
    Row("differs-never-falsified-by-support", "never falsified without a margin",
        leg("!=", 0.0, of((0.0, 100)), two_sided=True), support(0.9), failed("contrary")),
    Row("differs-support-on-one-side", "support is the share on the point's side",
        leg("!=", 0.1, of((0.1, 60), (-0.1, 40)), two_sided=True), support(0.9),
        failed("short", support=0.6)),
    Row("not-differs-never-held", "not swaps: never held",
        negation(leg("!=", 0.0, even(-0.1, 0.1), two_sided=True)),
        INTERVAL, failed("short")),
    Row("not-differs-falsified", "not swaps", negation(leg("!=", 0.2, even(0.1, 0.3), two_sided=True)),
        INTERVAL, falsified()),
    Row("differs-exact", "exact sign test, either side",
        leg("!=", -0.4, exact=TwoRates(1, 9, 20), two_sided=True), EXACT, held(p=22 / 1024)),
    Row("differs-exact-at-zero", "never falsified without a margin",
        leg("!=", 0.0, exact=TwoRates(1, 9, 20), two_sided=True), EXACT, failed("contrary")),
    Row("differs-beside-a-false-leg", "the other leg may falsify",
        both(leg("!=", 0.0, even(-0.1, 0.1), two_sided=True), BELOW), INTERVAL, falsified()),
]  # fmt: skip

AUTHOR_ROWS = [
    Row("anticipated-held", "default `held`", ABOVE, INTERVAL,
        held(anticipated="held", surprise=False, guard=False)),
    Row("anticipated-falsified", "first-class: expected to be falsified", BELOW, INTERVAL,
        falsified(anticipated="falsified", surprise=False), more={"anticipate": "falsified"}),
    Row("better-than-feared", "what deserves attention is where they differ", ABOVE, INTERVAL,
        held(surprise=True),
        more={"anticipate": "falsified"}),
    Row("unexpected", "what deserves attention is where they differ", BELOW, INTERVAL,
        falsified(surprise=True)),
    Row("expected-to-fail", "anticipate: failed", OPEN, INTERVAL, failed("short", surprise=False),
        more={"anticipate": "failed"}),
    Row("failed-is-a-surprise", "anticipate: held", OPEN, INTERVAL, failed("short", surprise=True)),
    Row("open", "`open` is never a surprise", BELOW, INTERVAL, falsified(anticipated="open", surprise=False),
        more={"anticipate": "open"}),
    Row("guard", "judged and shown", BELOW, INTERVAL, falsified(guard=True, surprise=True),
        more={"guard": True}),
    Row("not-measured", "not_measured comes first", None, INTERVAL,
        failed("not_measured", point=None, interval=None, support=None, n=None, resamples_defined=0),
        more={"measured": False}),
    Row("compound-fields", "a compound claim has no d of its own", both(ABOVE, ABOVE), INTERVAL,
        held(point=None, interval=None, left=None, right=None, n=None, n_undefined=None, resamples=101)),
    Row("single-has-no-legs", "legs: for compound claims", ABOVE, INTERVAL, held(legs="absent", p="absent")),
]  # fmt: skip

CLAIMS: list[Row] = [
    *UNDEFINED_ROWS,
    *INTERVAL_ROWS,
    *CHAIN_ROWS,
    *NO_VARIATION_ROWS,
    *SUPPORT_ROWS,
    *EXACT_ROWS,
    *LEGS_ROWS,
    *FALSIFIER_ROWS,
    *DIFFERS_ROWS,
    *AUTHOR_ROWS,
]


@dataclass(frozen=True)
class Protocol:
    """Several predictions that look at each other, and what each must come to."""

    name: str
    follows: str
    questions: list[Question]
    gives: dict[str, dict[str, Any]]
    counts: dict[str, int] | None = None
    variants: dict[str, list[Question]] = field(default_factory=dict)


def ask(name, node, evidence=POINT, level=0.95, **more):
    return Question(
        id=name,
        claim=node.text,
        node=node,
        evidence=evidence,
        level=level,
        resamples=rows_of(node) - 1,
        **more,
    )


def signed(op, below, total, *, undefined=0, point=0.2, exact=None):
    """A leg of a family: so many resamples at or below 0, so many undefined, the others above."""
    resamples = of((-0.1, below), (NAN, undefined), (0.1, total - below - undefined - 1), (0.2, 1))
    return leg(op, point, resamples, exact=exact)


def member(name, node, **more):
    return ask(name, node, INTERVAL, family="f", **more)


# p = 2 (1 + c) / (B + 1): with B = 999 and c = 0, 9, 24: 0.002, 0.02, 0.05.
PROTOCOLS = [
    Protocol("given-held", "given",
             [ask("a", TRUE), ask("b", TRUE, given=("a",)), ask("c", FALSE, given=("a",))],
             {"b": held(), "c": falsified(surprise=True)},
             {"held": 2, "failed": 0, "falsified": 1, "surprises": 1}),
    Protocol("given-falsified",
             "not_applicable (its `given` was not held); never a surprise, counted under failed",
             [ask("a", FALSE), ask("b", TRUE, given=("a",))],
             {"b": failed("not_applicable", surprise=False, point=0.2)},
             {"held": 0, "failed": 1, "falsified": 1, "surprises": 1}),
    Protocol("given-undefined", "failed is not held", [ask("a", UNDEFINED), ask("b", FALSE, given=("a",))],
             {"b": failed("not_applicable", surprise=False)}),
    Protocol("given-behind-given", "not applicable is not held either",
             [ask("a", FALSE), ask("b", TRUE, given=("a",)), ask("c", TRUE, given=("b",))],
             {"c": failed("not_applicable")}),
    Protocol("given-a-list", "one id or a list: all of them",
             [ask("a", TRUE), ask("b", FALSE), ask("c", TRUE, given=("a", "b")),
             ask("d", TRUE, given=("a",))],
             {"c": failed("not_applicable"), "d": held()}),
    Protocol("given-a-guard", "guards allowed",
             [ask("a", FALSE, guard=True), ask("b", TRUE, given=("a",))], {"b": failed("not_applicable")},
             {"held": 0, "failed": 1, "falsified": 0, "surprises": 0}),
    Protocol("not-measured-before-not-applicable", "first that applies",
             [ask("a", FALSE), ask("b", TRUE, given=("a",), measured=False)], {"b": failed("not_measured")}),
    Protocol("not-applicable-before-undefined", "first that applies",
             [ask("a", FALSE), ask("b", UNDEFINED, given=("a",))], {"b": failed("not_applicable")}),
    Protocol("gate-held", "a gate that is held changes nothing",
             [ask("a", TRUE, gate=True), ask("b", FALSE)], {"a": held(), "b": falsified()}),
    Protocol("gate-not-held", "every *other* prediction is not applicable, earlier ones too",
             [ask("a", TRUE), ask("g", FALSE, gate=True), ask("b", TRUE)],
             {"a": failed("not_applicable"), "g": falsified(), "b": failed("not_applicable")},
             {"held": 0, "failed": 2, "falsified": 1, "surprises": 1}),
    Protocol("gate-failed", "failed is not held",
             [ask("g", UNDEFINED, gate=True), ask("b", TRUE)],
             {"g": failed("undefined"), "b": failed("not_applicable")}),
    Protocol("two-gates-one-shut", "every other prediction, gates included",
             [ask("g", TRUE, gate=True), ask("h", FALSE, gate=True), ask("b", TRUE)],
             {"g": failed("not_applicable"), "h": falsified(), "b": failed("not_applicable")}),
    Protocol("two-gates-shut", "a shut gate keeps the verdict that shut it",
             [ask("g", UNDEFINED, gate=True), ask("h", FALSE, gate=True), ask("b", TRUE)],
             {"g": failed("undefined"), "h": falsified(), "b": failed("not_applicable")}),
    Protocol("tiers", "secondary and exploratory: judged and shown, outside counts",
             [ask("a", TRUE), ask("b", FALSE, tier="secondary"), ask("c", FALSE, tier="exploratory")],
             {"b": falsified(surprise=True, tier="secondary"), "c": falsified(tier="exploratory")},
             {"held": 1, "failed": 0, "falsified": 0, "surprises": 0}),
    Protocol("guards", "outside the counts", [ask("a", TRUE), ask("b", FALSE, guard=True)],
             {"b": falsified(guard=True)},
             {"held": 1, "failed": 0, "falsified": 0, "surprises": 0}),
    Protocol("family-holm", "Holm: 3 x 0.002, 2 x 0.02, 1 x 0.05, and equality is met",
             [member("a", signed(">", 24, 999)), member("b", signed(">", 0, 999)),
             member("c", signed(">", 9, 999))],
             {"a": held(p=0.05, p_adjusted=0.05, family="f"), "b": held(p=0.002, p_adjusted=0.006),
              "c": held(p=0.02, p_adjusted=0.04)}),
    Protocol("family-short", "3 x 0.02 = 0.06 for all",
             [member(x, signed(">", 9, 999)) for x in "abc"],
             {x: failed("short", p=0.02, p_adjusted=0.06) for x in "abc"}),
    Protocol("family-equality-of-thirds", "3 x 20/1200 is 0.05, whatever doubles say",
             [member(x, signed(">", 9, 1199)) for x in "abc"], {x: held(p_adjusted=0.05) for x in "abc"}),
    Protocol("family-falsified", "wrong side and adjusted p <= 1 - level: falsified",
             [member("a", signed("<", 0, 999)), member("b", signed(">", 0, 999))],
             {"a": falsified(p_adjusted=0.004), "b": held()}),
    Protocol("family-contrary", "wrong side, p not met", [member("a", signed("<", 99, 999))],
             {"a": failed("contrary", p=0.2)}),
    Protocol("family-resamples-against-the-point", "right side: resamples on the other prove nothing",
             [member("a", leg(">", 0.01, of((-0.2, 998), (-0.1, 1))))], {"a": failed("short", p=0.002)}),
    Protocol("family-differs-at-zero", "differs: never falsified",
             [member("a", leg("!=", 0.0, of((0.2, 998), (0.1, 1)), two_sided=True))],
             {"a": failed("contrary", p=0.002)}),
    Protocol("family-undefined-in-both", "undefined resamples counted in both: 2 (1 + 10)/1000",
             [member("a", signed(">", 0, 999, undefined=10))], {"a": held(p=0.022, resamples_defined=989)}),
    Protocol("family-zeros-in-both", "d <= 0 and d >= 0 both hold a zero",
             [member("a", leg(">", 0.2, of((0.0, 10), (0.1, 989))))], {"a": held(p=0.022)}),
    Protocol("family-undefined", "an undefined member counts in m",
             [member("a", leg(">", NAN, of((NAN, 999)))), member("b", signed(">", 13, 999))],
             {"a": failed("undefined", p=1.0), "b": failed("short", p=0.028, p_adjusted=0.056)}),
    Protocol("family-constant", "a member that does not vary: p = 1, no_variation",
             [member("a", leg(">", 0.3, of((0.3, 999)))), member("b", signed(">", 0, 999))],
             {"a": failed("no_variation", p=1.0, interval=[0.3, 0.3]), "b": held(p_adjusted=0.004)}),
    Protocol("family-constant-exact", "the p of the exact test where one applies",
             [member("a", leg(">", 1.0, of((1.0, 999)), exact=TwoRates(8, 0, 8))),
             member("b", signed(">", 0, 999))],
             {"a": held(p=2 / 256, p_adjusted=2 / 256), "b": held(p_adjusted=0.004)}),
    Protocol("family-constant-exact-short", "Holm corrects the exact p as well",
             [member(x, leg(">", 1.0, of((1.0, 999)), exact=TwoRates(6, 0, 6))) for x in "ab"],
             {"a": failed("short", p=2 / 64, p_adjusted=4 / 64), "b": failed("short")}),
    Protocol("family-of-one-rate", "the exact p of one rate against a constant: 2 x 0.8^60",
             [member("a", leg(">", 0.2, of((0.2, 999)), left=1.0, right=0.8, exact=OneRate(60, 60)))],
             {"a": held(p=2 * 0.8**60)}),
    Protocol("family-with-not", "`not` swaps held and falsified",
             [member("a", negation(signed(">", 0, 999)))],
             {"a": falsified(p=0.002)}),
    Protocol("family-differs", "differs: either side, never falsified",
             [member("a", leg("!=", -0.2, of((-0.1, 998), (-0.2, 1)), two_sided=True))],
             {"a": held(p=0.002)}),
    Protocol("family-with-falsifier", "the falsifier replaces the default",
             [member("a", signed("<", 0, 999), falsifier=SupportFalsifier(">", 0.9, "support > 0.9"))],
             {"a": failed("contrary", p_adjusted=0.002)}),
    Protocol("two-families", "Holm over the family, not over all",
             [member("a", signed(">", 9, 999)), ask("b", signed(">", 9, 999), INTERVAL, family="g")],
             {"a": held(p_adjusted=0.02, family="f"), "b": held(p_adjusted=0.02, family="g")}),
    Protocol("family-not-applicable-member", "family size counts every registered member",
             [ask("z", FALSE), member("a", signed(">", 9, 999)),
             member("b", signed(">", 13, 999), given=("z",)),
              member("c", leg(">", 0.2, of((0.2, 999))), measured=False)],
             {"a": failed("short", p_adjusted=0.06), "b": failed("not_applicable"),
             "c": failed("not_measured")}),
    Protocol("variants-agree", "all predictions judged under each variant; `agree`",
             [ask("a", TRUE, agree=("strict",))], {"a": held()}, None, {"strict": [ask("a", TRUE)]}),
    Protocol("variants-disagree-on-a-failure", "what failed by itself keeps its reason",
             [ask("a", UNDEFINED, agree=("strict",))], {"a": failed("undefined")}, None,
             {"strict": [ask("a", TRUE)]}),
    Protocol("variants-disagree", "failed (variants_disagree)",
             [ask("a", TRUE, agree=("strict", "loose")), ask("b", TRUE)],
             {"a": failed("variants_disagree"), "b": held()}, None,
             {"strict": [ask("a", UNDEFINED), ask("b", FALSE)], "loose": [ask("a", TRUE), ask("b", TRUE)]}),
]  # fmt: skip
