"""Interval arithmetic is an outer bound: checked against every value on a grid, and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg.decimals import rounded
from prereg.expression import ranges
from prereg.expression.ranges import ANY, COUNT, INF, UNIT, Range, outcomes

ENDS = st.sampled_from([-INF, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, INF])


@st.composite
def spans(draw):
    low, high = sorted([draw(ENDS), draw(ENDS)])
    if low == high and math.isinf(low):
        return ANY
    return Range(low, high)


def inside(x):
    """Some values of a range, its finite ends among them."""
    low, high = max(x.low, -40.0), min(x.high, 40.0)
    return sorted({low, high, (low + high) / 2, *(v for v in (-1.5, -1, 0, 0.3, 1, 2, 3) if v in x)})


OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power}


def within(value, x):
    slack = 1e-9 * max(1.0, abs(value))
    return not math.isfinite(value) or x.low - slack <= value <= x.high + slack


@given(spans(), spans(), st.sampled_from(sorted(OPERATIONS)))
def test_arithmetic_is_an_outer_bound_of_brute_force(x, y, op):
    reach = ranges.arithmetic(op, x, y)
    for a, b in itertools.product(inside(x), inside(y)):
        with np.errstate(all="ignore"):
            assert within(float(OPERATIONS[op](np.float64(a), np.float64(b))), reach)


@given(spans(), spans())
def test_functions_are_outer_bounds_of_brute_force(x, y):
    with np.errstate(all="ignore"):
        for a in inside(x):
            assert within(-a, ranges.negate(x))
            assert within(abs(a), ranges.absolute(x))
            for name, function in (("ln", np.log), ("exp", np.exp), ("sqrt", np.sqrt)):
                assert within(float(function(np.float64(a))), ranges.monotone(name, x))
            assert a in ranges.union([x, y])
            for b in inside(y):
                assert within(min(a, b), ranges.minimum(x, y))
                assert within(max(a, b), ranges.maximum(x, y))


COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@given(spans(), spans(), st.sampled_from(sorted(COMPARE)))
def test_outcomes_hold_of_every_value(x, y, op):
    can_hold, can_fail = outcomes(op, x, y)
    for a, b in itertools.product(inside(x), inside(y)):
        true = bool(COMPARE[op](rounded(np.array(a - b)), 0.0))
        assert can_hold if true else can_fail


@given(spans(), spans(), st.sampled_from(sorted(COMPARE)))
def test_outcomes_of_finite_ranges_are_tight(x, y, op):
    # the ends themselves are values, so that what is said to be possible is
    if any(math.isinf(v) for v in (x.low, x.high, y.low, y.high)):
        return
    found = {bool(COMPARE[op](a, b)) for a, b in itertools.product(inside(x), inside(y))}
    if op in ("==", "!=") and max(x.low, y.low) <= min(x.high, y.high):
        found.add(op == "==")  # some value of both
    assert outcomes(op, x, y) == (True in found, False in found)


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        (">=", UNIT, Range(0, 0), (True, False)),  # rate >= 0 cannot fail
        (">", UNIT, Range(1, 1), (False, True)),  # rate > 1 cannot hold
        (">", UNIT, Range(0, 0), (True, True)),
        ("<=", UNIT, Range(1, 1), (True, False)),
        ("<", COUNT, Range(0, 0), (False, True)),
        ("==", UNIT, Range(1, 1), (True, True)),
        ("==", UNIT, Range(2, 2), (False, True)),
        ("!=", Range(2, 2), Range(2, 2), (False, True)),
        (">", ANY, ANY, (True, True)),
        # 0.1 + 0.2 is not 0.3 in doubles; the difference that is judged is 0
        (">", Range(0.1 + 0.2, 1), Range(0.3, 0.3), (True, True)),
        (">=", Range(0.1 + 0.2, 1), Range(0.3, 0.3), (True, False)),
    ],
)
def test_outcomes_by_hand(op, left, right, expected):
    assert outcomes(op, left, right) == expected


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (ranges.arithmetic("+", UNIT, UNIT), Range(0, 2)),
        (ranges.arithmetic("-", UNIT, UNIT), Range(-1, 1)),
        (ranges.arithmetic("*", COUNT, UNIT), COUNT),
        (ranges.arithmetic("/", UNIT, UNIT), Range(0, INF)),
        (ranges.arithmetic("/", UNIT, Range(2, 4)), Range(0, 0.5)),
        (ranges.arithmetic("/", UNIT, Range(-1, 1)), ANY),
        (ranges.arithmetic("**", Range(-2, 1), Range(2, 2)), Range(0, 4)),
        (ranges.arithmetic("**", Range(-2, 1), Range(3, 3)), Range(-8, 1)),
        (ranges.arithmetic("**", UNIT, COUNT), UNIT),
        (ranges.arithmetic("**", Range(10, 10), Range(400, 400)), ANY),
        (ranges.absolute(Range(-3, 2)), Range(0, 3)),
        (ranges.monotone("ln", UNIT), Range(-INF, 0)),
        (ranges.monotone("exp", Range(-INF, 1000)), Range(0, INF)),
        (ranges.monotone("sqrt", Range(-1, 4)), Range(0, 2)),
        (ranges.union([]), ANY),
    ],
)
def test_ranges_by_hand(reach, expected):
    assert reach == expected
