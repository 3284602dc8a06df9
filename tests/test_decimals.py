"""A boundary that is written in decimals is decided by decimals, whatever the size of the numbers.

Expected values are those of rational arithmetic on the decimals as they are written.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken_projects import command
from exact_metrics import fast, random_weights, rows_of
from prereg.decimals import (
    as_whole,
    carried,
    difference,
    divided,
    places_of,
    plain_places,
    rounded,
    significant,
)
from prereg.ranks import deviation

SMALL = st.integers(-(10**15) + 1, 10**15 - 1)
PLACES = st.integers(0, 12)


def one(function, *values):
    return function(*(np.array([v], dtype=float) for v in values))[0]


@st.composite
def two_decimals(draw):
    """Two numbers of at most 15 significant digits that are written with equally many places."""
    places = draw(PLACES)
    x = draw(SMALL)
    y = draw(st.one_of(SMALL, st.integers(-3, 3).map(lambda step: x + step))) % 10**15
    return Fraction(x, 10**places), Fraction(y, 10**places)


# -- one number, two numbers -------------------------------------------------------------------------------


@given(two_decimals())
def test_a_difference_of_decimals_is_the_decimal_against_fractions(pair):
    x, y = pair
    found = one(difference, float(x), float(y))
    if abs(x - y) <= max(abs(x), abs(y)):
        assert found == float(x - y)
    else:  # opposite signs: one digit more than 15
        assert found == pytest.approx(float(x - y), rel=5e-15, abs=1e-12)
        assert (found > 0) == (x > y)


@given(two_decimals(), two_decimals())
def test_a_sum_compared_with_a_decimal_against_fractions(first, second):
    (x, y), (z, _) = first, second
    total = carried(np.array([float(x)]) + float(y), np.array([float(x)]), np.array([float(y)]))
    gap = x + y - z
    places = max(abs(x), abs(y), abs(z), abs(x + y))
    unit = Fraction(10) ** (len(str(int(places))) - 15)  # of the fifteenth digit of the largest
    found = one(difference, total[0], float(z))
    if gap == 0:
        assert found == 0
    elif abs(gap) >= 2 * unit:
        assert (found > 0) == (gap > 0)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ("12000.3", "12000.2", "0.1"),
        ("1764560000.123", "1764560000.023", "0.1"),
        ("0.844", "0.841", "0.003"),
        ("9007199254740991", "9007199254740990", "1"),  # whole numbers are exact to 2^53
        ("123456789012.345", "123456789012.344", "0.001"),
        ("0.0000123", "0.0000122", "0.0000001"),
        ("113072549555456", "56536274777727.2", "56536274777728.8"),
        ("3.3e21", "1.1e21", "2.2e21"),
        ("1.7976931348623157e308", "0", "1.7976931348623157e308"),
        ("360000111407309000", "1000", "360000111407308000"),
    ],
)
def test_differences_by_hand(x, y, expected):
    x, y = float(x), float(y)
    assert one(lambda a, b: carried(a - b, a, b), x, y) == float(expected)


def test_what_arithmetic_leaves_by_hand():
    assert significant(np.array([0.1 * 3, 0.3 / 0.1, 1.1 * 12000.2])).tolist() == [0.3, 3.0, 13200.22]
    assert 0.1 * 3 != 0.3 and 1.1 * 12000.2 != 13200.22  # noqa: PT018 - that is why
    assert rounded(np.array([1.1 * 12000.2, 5e-13, math.inf, -0.0])).tolist()[:2] == [13200.22, 0.0]
    assert np.isnan(one(rounded, math.inf))
    assert math.copysign(1, one(rounded, -1e-14)) == 1


@given(st.floats(allow_nan=True, allow_infinity=False))
def test_rounding_is_idempotent_and_moves_by_less_than_the_fifteenth_digit(x):
    once = one(rounded, x)
    assert one(rounded, once) == once or math.isnan(x)
    if not math.isnan(x):
        assert abs(Fraction(once) - Fraction(x)) <= max(
            Fraction(51, 10**14), Fraction(abs(x)) * Fraction(51, 10**16) * 10
        )


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=6), st.integers(0, 30))
def test_whole_numbers_are_the_decimals_written_against_fractions(values, most):
    places = places_of(values, most)
    written = [Fraction(repr(v)) for v in values]
    assert places <= most
    whole = as_whole(values, places)
    assert all(abs(n - v * 10**places) <= Fraction(1, 2) for n, v in zip(whole, written, strict=True))
    if places < most:
        assert [Fraction(n, 10**places) for n in whole] == written


@given(st.integers(-(10**9), 10**9), st.integers(0, 12))
def test_plain_places_against_decimal(number, places):
    value = float(Fraction(number, 10**places))
    exponent = -Decimal(repr(value)).normalize().as_tuple().exponent
    expected = max(0, exponent)
    assert plain_places(np.array([value])) == (expected if expected <= 9 else -1)


@given(st.integers(), st.integers())
def test_a_quotient_of_whole_numbers_against_fractions(x, y):
    if y == 0:
        assert math.isnan(divided(x, y))
    else:
        assert divided(x, y) == float(Fraction(x, y))
    assert divided(10**400, 1) == math.inf
    assert divided(-(10**400), 1) == -math.inf


# -- metrics -----------------------------------------------------------------------------------------------

ANY = st.one_of(
    st.floats(-1e15, 1e15),
    st.floats(-1, 1),
    st.decimals(-(10**8), 10**8, places=3).map(float),
    st.sampled_from([1e-9, 12345678.5, 1e-300, 5e-324, 1e22, -1e22, 0.1, 1e17]),
)


def is_nearest(found, exact):
    """Whether this is the double nearest to an exact value, at 12 decimals or where its digits end."""
    if abs(exact) >= 2048:
        return found == rounded(np.array([float(exact)]))[0]
    return abs(Fraction(found) - exact) <= Fraction(1, 2 * 10**12) + abs(exact) / 2**52


@settings(max_examples=200, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=10), st.integers(0, 2**32 - 1))
def test_sums_and_means_are_the_nearest_doubles_against_fractions(values, seed):
    draws = random_weights(np.random.default_rng(seed), 4, len(values))
    written = [Fraction(repr(v)).limit_denominator(10**40) for v in values]
    # what is finer than 22 places is rounded, far below the 12 that are kept
    written = [Fraction(round(v * 10**22), 10**22) for v in written]
    totals = fast("sum", rows_of(sum=[values]), {}, draws).values[:, 0]
    means = fast("mean", rows_of(mean=[values]), {}, draws).values[:, 0]
    for row, total, mean in zip(draws, totals, means, strict=True):
        exact = sum((int(t) * v for t, v in zip(row, written, strict=True)), Fraction(0))
        assert is_nearest(total, exact)
        drawn = int(sum(row))
        assert is_nearest(mean, exact / drawn) if drawn else math.isnan(mean)


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY, min_size=3, max_size=3), st.lists(ANY, min_size=3, max_size=3), st.booleans())
def test_no_policy_leaves_a_trace_in_another(own, other, weighted):
    extra = {"weight": [[0.5, 2, 1e-7], [3, 1e-300, 1]]} if weighted else {}
    alone = {name: value[:1] for name, value in extra.items()}
    draws = np.array([[1.0, 1, 1], [2, 0, 1], [0, 3, 0]])
    together = fast("mean", rows_of(mean=[own, other], **extra), {}, draws).values[:, :1]
    assert together.tobytes() == fast("mean", rows_of(mean=[own], **alone), {}, draws).values.tobytes()


def test_weights_far_apart_are_all_kept_by_hand():
    rows = rows_of(mean=[[0.25, 12000.3, 7.0]], weight=[[1.0, 1e-300, 5e-324]])
    found = fast("mean", rows, {}, [[1, 0, 0], [0, 2, 0], [0, 0, 5], [0, 1, 1]]).values[:, 0]
    assert found.tolist() == [0.25, 12000.3, 7.0, 12000.3]


@pytest.mark.parametrize("exponent", [*range(-26, 51), *range(53, 1020, 7)])
def test_the_last_trusted_digit_is_above_four_units_in_the_last_place_by_definition(exponent):
    size = math.ldexp(1.5, exponent)
    units = (Fraction(10) ** k for k in range(-30, 320))
    unit = next(x for x in units if x >= 4 * Fraction(math.ulp(size)))
    for times, expected in ((3, 3), (0.4, 0), (0.6, 1), (-7.3, -7)):
        found = one(carried, float(times * unit), size)
        assert found == pytest.approx(float(expected * unit), rel=1e-15)


@pytest.mark.parametrize("value", [1e3 / 3, 1e6, 1000000.7, 123456789012.345, 1e300])
def test_equal_values_do_not_deviate_by_definition(value):
    assert deviation(np.full((2, 7), value)).tolist() == [0.0, 0.0]


@given(st.lists(st.integers(-(10**13), 10**13), min_size=2, max_size=8), st.integers(0, 9))
def test_deviations_against_fractions(numbers, places):
    exact = [Fraction(n, 10**places) for n in numbers]
    centre = sum(exact) / len(exact)
    square = sum((v - centre) ** 2 for v in exact) / (len(exact) - 1)
    found = deviation(np.array([[float(v) for v in exact]]))[0]
    assert found == pytest.approx(math.sqrt(square), rel=4e-16, abs=1e-12)


# -- the whole chain ---------------------------------------------------------------------------------------


def verdicts(folder, records, metrics, claims, data=""):
    """The verdict of each claim, judged at the point."""
    lines = [f"{arm},{i},{x}" for arm, xs in records.items() for i, x in enumerate(xs)]
    (folder / "r.csv").write_text("\n".join(["arm,id,s", *lines]) + "\n")
    text = f"prereg: 1\nid: size\ntitle: Size\ndata: {{records: r.csv, arm: arm, unit: id{data}}}\nmetrics:\n"
    text += "".join(f"  {name}: {value}\n" for name, value in metrics.items()) + "predictions:\n"
    for i, claim in enumerate(claims):
        text += f"  p{i}: {{claim: '{claim}', evidence: point}}\n"
    (folder / "p.yaml").write_text(text)
    for done in (["lock", str(folder / "p.yaml")], ["run"]):
        said = command(*done, "-C", str(folder))
        assert said.code == 0, said.err
    (ledger,) = folder.glob("results/size/*/ledger.json")
    found = json.loads(ledger.read_text())["content"]["predictions"]
    return {prediction["claim"]: prediction["verdict"] for prediction in found}


LARGE = {"a": ["12000.3"] * 3, "b": ["12000.2"] * 3}


@pytest.mark.parametrize(
    "claim",
    [
        "lat[a] - lat[b] >= 0.1",
        "lat[a] - lat[b] <= 0.1",
        "lat[b] + 0.1 == lat[a]",
        "gap == 0.1",
        "gap * 1000 == 100",
        "late[a] == 1",
        "late[b] == 0",
        "beyond[a] == 0.1",
        "above[a] == 0.1",
        "median(lat) == 12000.25",
        "mean(lat) == 12000.25",
        "sum(lat) == 24000.5",
        "2 * sd(lat) * sd(lat) == 0.01",
        'argmax(lat - 12000) == "a"',
        "quantile(lat - 12000.2, 0.5) == 0.05",
    ],
)
def test_boundaries_between_large_numbers_by_hand(tmp_path, claim):
    metrics = {
        "lat": "{mean: s}",
        "late": '{rate: "s - 12000.2 >= 0.1"}',
        "beyond": "{mean: s - 12000.2}",
        "above": "{mean: excess}",
        "gap": '{value: "lat[a] - lat[b]"}',
    }
    data = ', derive: {excess: "s - 12000.2"}'
    assert verdicts(tmp_path, LARGE, metrics, [claim], data) == {claim: "held"}


@pytest.mark.parametrize(
    "other", [["0.000000001", "12345678.5", "2"], ["1.5"] * 3, ["0.1234567890123456", "1e17", "3"]]
)
def test_the_records_of_one_arm_do_not_decide_about_another_by_hand(tmp_path, other):
    claims = ["avg[a] >= 414081.6", "avg[a] <= 414081.6", "total[a] >= 1242244.8", "total[a] <= 1242244.8"]
    records = {"a": ["414081.6"] * 3, "b": other}
    found = verdicts(tmp_path, records, {"avg": "{mean: s}", "total": "{sum: s}"}, claims)
    assert set(found.values()) == {"held"}


@pytest.mark.parametrize("value", ["1000000", "1000000.7", "1000000000000", "123456789012.345"])
def test_equal_arms_are_equal_whatever_their_size_by_definition(tmp_path, value):
    claims = [
        "sd(avg) <= 0",
        "max(avg) - mean(avg) >= 0",
        "mean(avg) - min(avg) >= 0",
        "sum(avg) == 3 * avg[a]",
    ]
    records = {arm: [value] * 2 for arm in "abc"}
    assert set(verdicts(tmp_path, records, {"avg": "{mean: s}"}, claims).values()) == {"held"}


def test_rows_of_products_meet_their_decimals_by_hand(tmp_path):
    # 0.1 * 3 is 0.30000000000000004 in doubles and 0.1 * 0.7 is 0.06999999999999999
    metrics = {
        "low": '{rate: "thrice <= 0.3"}',
        "high": '{rate: "tenth >= 0.07"}',
        "minus": '{rate: "-(s * 3) >= -0.3"}',
        "third": '{rate: "third * 3 == s"}',
    }
    data = ', derive: {thrice: "s * 3", tenth: "s * 0.7", third: "s / 3"}'
    claims = [f"{name}[a] == 1" for name in metrics]
    found = verdicts(tmp_path, {"a": ["0.1"] * 2, "b": ["1"] * 2}, metrics, claims, data)
    assert set(found.values()) == {"held"}


def test_the_ends_of_an_interval_are_decimals_by_hand():
    # type 7 at 0.025 of 401 values lies on the eleventh: between d of k/33 the step over 0 is 0 exactly
    from prereg.intervals import percentile_interval

    d = rounded(np.array([-39 / 33, 1 / 33] + [1.0] * 39))
    low, _ = percentile_interval(d[:41], "0.95")  # place 40 * 0.025 = 1
    assert low == rounded(np.array([1 / 33]))[0]
    low, _ = percentile_interval(d[:2], "0.05")  # 0.475 of the way
    assert low == pytest.approx(-39 / 33 + 0.475 * 40 / 33, abs=1e-12)
    low, _ = percentile_interval(rounded(np.array([-39 / 33, 1 / 33])), "0.95")
    high = percentile_interval(rounded(np.array([-39 / 33, 1 / 33])), "0.95")[1]
    assert high == 0.0  # -39/33 + 0.975 * 40/33
    assert low < 0


def test_deviations_and_means_at_the_edge_of_doubles_by_hand():
    from prereg.expression.reductions import mean, sd, total

    large = np.array([[1.7e308, -1.7e308, np.nan], [1.7e308, 1.7e308, 1.7e308]])
    assert np.isnan(sd(large)[0])  # 2.4e308 is beyond any double
    assert sd(large)[1] == 0
    assert mean(large).tolist() == [0.0, 1.7e308]
    assert total(large)[0] == 0
    assert np.isnan(total(large)[1])
    assert sd(np.array([[1e308, -1e308]]))[0] == pytest.approx(1e308 * math.sqrt(2), rel=1e-15)


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=30), st.integers(0, 12))
def test_sums_over_policies_against_fractions(numbers, places):
    from prereg.expression.reductions import exact_sums

    values = rounded(np.array([[n / 10**places for n in numbers]]))
    expected = sum(Fraction(repr(v)) for v in values[0].tolist())
    assert exact_sums(values, np.ones(values.shape, dtype=bool)) == [expected * 10**12]


@pytest.mark.parametrize(
    "x", ["887.3155429036306", "1700000528.766853", "12345.678901234567", "0.1234567890123456"]
)
def test_a_number_of_many_digits_is_not_above_itself_by_definition(tmp_path, x):
    metrics = {
        "above": '{count: "s > s + 0"}',
        "below": '{count: "s < s * 1"}',
        "same": '{count: "s - 0 == s / 1"}',
    }
    found = verdicts(
        tmp_path, {"a": [x] * 2, "b": ["1", "2"]}, metrics, ["above[a] + below[a] == 0", "same[a] == 2"]
    )
    assert set(found.values()) == {"held"}


def test_what_compares_as_equal_is_a_tie_by_definition(tmp_path):
    base = "1700000528.76685"
    records = {
        "a": [base, "1700000528.766851", base, base],
        "b": [base] * 4,
        "c": ["1700000529"] * 4,
        "d": ["1700000530"] * 4,
    }
    claims = ["m[a] == m[b]", "undefined(argmin(m))", "spearman(m, m + 0) == 1", "m[a] / 3 == m[b] / 3"]
    assert set(verdicts(tmp_path, records, {"m": "{mean: s}"}, claims).values()) == {"held"}


@pytest.mark.parametrize(
    ("x", "claim"),
    [
        ("4e15", "m[a] / 7 * 7 == m[a]"),
        ("3137734208931780", "m[a] * 0.1 * 7 == m[a] * 0.7"),
        ("1e12", "m[a] / 0.00001 == 1e17"),
        ("3.3e21", "m[a] - 1.1e21 == 2.2e21"),
    ],
)
def test_numbers_from_1e15_on_by_hand(tmp_path, x, claim):
    found = verdicts(tmp_path, {"a": [x] * 2, "b": ["1", "2"]}, {"m": "{mean: s}"}, [claim])
    assert found == {claim: "held"}
