"""Quantiles, intervals and binomial decisions against scipy, published values and slow exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

from prereg import intervals

NAN = float("nan")
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SHARES = st.integers(1, 99).map(lambda i: Fraction(i, 100))
LEVELS = ["0.5", "0.8", "0.9", "0.95", "0.99", "0.999"]
VALUES = st.sampled_from([NAN, -1.0, -1e-12, 0.0, 0.1, 0.3, 0.333333333333, 7.0])


def slow_mass(i, n, p):
    return math.comb(n, i) * p**i * (1 - p) ** (n - i)


def slow_tail(k, n, p):
    return sum((slow_mass(i, n, p) for i in range(k + 1)), Fraction(0))


def slow_two_sided(k, n, p):
    masses = [slow_mass(i, n, p) for i in range(n + 1)]
    return sum(mass for mass in masses if mass <= masses[k])


def slow_quantile(values, q):
    ordered = sorted(Fraction(v) for v in values)
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def test_numbers_are_the_decimals_written():
    written = Fraction(1, 10)
    assert intervals.exact(0.1) == written
    assert intervals.exact("0.10") == written
    assert intervals.exact(Decimal("0.1")) == written
    assert intervals.exact(written) == written
    assert intervals.exact(1) == 1
    with pytest.raises(ValueError):
        intervals.exact(NAN)


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=VALUES), st.sampled_from(LEVELS))
def test_percentile_interval_against_slow_exact(d, level):
    defined = d[~np.isnan(d)].tolist()
    low, high = intervals.percentile_interval(d, level)
    if not defined:
        assert math.isnan(low)
        assert math.isnan(high)
        return
    tail = (1 - Fraction(level)) / 2
    for end, share in ((low, tail), (high, 1 - tail)):
        expected = slow_quantile(defined, share)
        if abs(expected) > Fraction(1, 2 * 10**12):
            assert end == pytest.approx(float(expected), abs=6e-15)  # carried over 0
        else:  # d is at 12 decimals, where this is 0
            assert end == 0
    assert min(defined) <= low <= high <= max(defined)


@pytest.mark.parametrize("q", [0.0, 0.025, 0.1, 0.5, 0.7, 0.975, 1.0])
def test_quantile_against_numpy(q):
    x = np.random.default_rng(1).normal(size=(7, 41))
    x[1, 5] = x[2, :39] = NAN
    x[3] = NAN
    expected = [np.quantile(row[~np.isnan(row)], q) if (~np.isnan(row)).any() else NAN for row in x]
    np.testing.assert_allclose(intervals.quantile(x, q), expected, rtol=0, atol=1e-15)


def test_quantile_by_hand():
    # Type 7 on 0 .. 10 at 0.7: the place is 10 * 0.7 = 7, an element and no neighbour of it.
    x = np.arange(11.0)[None, :]
    assert intervals.quantile(x, 0.7).tolist() == [7.0]
    assert intervals.quantile(x[:, ::-1], Decimal("0.25")).tolist() == [2.5]
    assert intervals.quantile(np.array([[0.2, NAN, 0.4]]), "0.5") == pytest.approx([0.3], abs=1e-16)
    assert np.isnan(intervals.quantile(np.zeros((2, 0)), 0.5)).all()


@given(st.floats(-1e9, 1e9), st.integers(1, 20), st.sampled_from(LEVELS))
def test_interval_of_a_constant_is_the_constant(value, n, level):
    value = round(value, 12)
    assert intervals.percentile_interval(np.full(n, value), level) == (value, value)


def test_infinite_neighbours_by_hand():
    # Between finite and infinite neighbours the line is infinite, at a value it is the value.
    d = np.array([-np.inf, 0.0, 1.0, np.inf])
    assert intervals.percentile_interval(d, 0.9) == (-np.inf, np.inf)
    assert intervals.quantile(d[None, :], Fraction(1, 3)).tolist() == [0.0]


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=VALUES),
    SHARES,
    st.randoms(),
)
def test_quantile_is_free_of_order_and_blocks(x, q, random):
    order = list(range(x.shape[1]))
    random.shuffle(order)
    whole = intervals.quantile(x, q)
    assert whole.tobytes() == intervals.quantile(x[:, order], q).tobytes()
    assert whole.tobytes() == np.concatenate([intervals.quantile(row[None, :], q) for row in x]).tobytes()


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=VALUES))
def test_quantile_rises_with_q(d):
    found = [intervals.quantile(d[None, :], Fraction(i, 40))[0] for i in range(41)]
    assert np.isnan(found).all() or (np.diff(found) >= 0).all()


@pytest.mark.parametrize("p", ["1e-20", "1e-12", "1e-4", "0.025", "0.3", "0.5"])
def test_normal_quantile_against_scipy(p):
    expected = stats.norm.ppf(float(p))
    assert intervals.normal_quantile(p) == pytest.approx(expected, rel=1e-15, abs=1e-16)
    # The upper tail keeps the digits that a double near 1 loses.
    assert intervals.normal_quantile(1 - Fraction(p)) == pytest.approx(-expected, rel=1e-15, abs=1e-16)


# The sources of the pair protocol print these intervals to three decimals.
@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(89, 89, 0.959, 1.000), (88, 88, 0.958, 1.000), (89, 143, 0.541, 0.698), (88, 237, 0.312, 0.434)],
)
def test_wilson_against_published_values(k, n, low, high):
    assert tuple(round(end, 3) for end in intervals.wilson(k, n, 0.95)) == (low, high)


@given(COUNTS, st.sampled_from(LEVELS))
def test_wilson_against_scipy(count, level):
    k, n = count
    expected = stats.binomtest(k, n).proportion_ci(float(level), method="wilson")
    # scipy takes the quantile at (1 + level) / 2, a double near 1: the tail of 0.999 has lost three digits.
    assert intervals.wilson(k, n, level) == pytest.approx((expected.low, expected.high), abs=5e-15)


@given(COUNTS, st.sampled_from(LEVELS))
def test_intervals_of_shares_are_exact_at_the_ends_and_hold_the_share(count, level):
    k, n = count
    for interval in (intervals.wilson, intervals.clopper_pearson):
        low, high = interval(k, n, level)
        assert 0 <= low <= k / n <= high <= 1
        assert (low == 0, high == 1) == (k == 0, k == n)


@given(COUNTS, st.sampled_from(LEVELS))
def test_clopper_pearson_against_scipy(count, level):
    k, n = count
    tail = (1 - float(level)) / 2
    low = 0.0 if k == 0 else special.betaincinv(k, n - k + 1, tail)
    high = 1.0 if k == n else special.betainccinv(k + 1, n - k, tail)
    assert intervals.clopper_pearson(k, n, level) == pytest.approx((low, high), abs=1e-13)


@pytest.mark.parametrize(
    ("k", "n"), [(1, 10**6), (1000, 10**6), (500_000, 10**6), (999_990, 10**6), (7, 10**8)]
)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_clopper_pearson_of_many_units_against_scipy(k, n, level):
    tail = float((1 - Fraction(str(level))) / 2)
    expected = (special.betaincinv(k, n - k + 1, tail), special.betainccinv(k + 1, n - k, tail))
    assert intervals.clopper_pearson(k, n, level) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 10), (29, 30), (60, 100)])
def test_clopper_pearson_against_its_definition(k, n):
    low, high = intervals.clopper_pearson(k, n, Decimal("0.95"))
    assert float(1 - slow_tail(k - 1, n, Fraction(low))) == pytest.approx(0.025, rel=1e-13)
    assert float(slow_tail(k, n, Fraction(high))) == pytest.approx(0.025, rel=1e-13)


def test_clopper_pearson_ends_against_closed_form():
    # (1 - high)^n = 0.025 when nothing succeeded.
    assert intervals.clopper_pearson(0, 20, 0.95)[1] == pytest.approx(1 - 0.025 ** (1 / 20), abs=1e-16)
    assert intervals.clopper_pearson(20, 20, 0.95)[0] == pytest.approx(0.025 ** (1 / 20), abs=1e-16)


def test_share_of_nothing_is_undefined():
    assert np.isnan(intervals.wilson(0, 0, 0.95)).all()
    assert np.isnan(intervals.clopper_pearson(0, 0, 0.95)).all()


@given(COUNTS, SHARES)
def test_lower_tail_against_slow_exact(count, p):
    k, n = count
    exact = slow_tail(k, n, p)
    assert intervals.binomial_lower_tail(k, n, p) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "p"), [(0, 10**6, 1e-6), (900, 10**6, 0.001), (5 * 10**6 - 3000, 10**7, 0.5)]
)
def test_lower_tail_of_many_trials_against_scipy(k, n, p):
    assert intervals.binomial_lower_tail(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), rel=1e-11)


def test_lower_tail_at_the_ends_by_definition():
    assert intervals.binomial_lower_tail(0, 0, 0.1) == 1
    assert intervals.binomial_lower_tail(-1, 5, 0.1) == 0
    assert intervals.binomial_lower_tail(5, 5, 0.1) == 1
    assert [intervals.binomial_lower_tail(4, 5, p) for p in (0, 1)] == [1, 0]


@given(COUNTS, SHARES, st.integers(1, 99))
def test_decision_on_a_tail_against_slow_exact(count, alpha, delta):
    k, n = count
    limit = Fraction(delta, 100)
    decision = intervals.lower_tail_at_most(k, n, alpha, limit)
    assert decision == (slow_tail(k, n, alpha) <= limit)


@pytest.mark.parametrize("n", range(1, 376, 2))
def test_decision_at_exact_equality(n):
    # By symmetry P(Bin(n, 1/2) <= (n - 1) / 2) = 1/2 for odd n, at most 1/2; binom.cdf is often above.
    k = (n - 1) // 2
    assert intervals.lower_tail_at_most(k, n, Decimal("0.5"), Decimal("0.5"))
    assert not intervals.lower_tail_at_most(k, n, Decimal("0.5"), Decimal("0.4999999999999999999999"))
    assert not intervals.lower_tail_at_most(
        k, n, Decimal("0.5000000000000000000001") - Decimal("2e-22"), Decimal("0.5")
    )


def test_decision_without_trials_is_by_p_one():
    assert not intervals.lower_tail_at_most(0, 0, Decimal("0.1"), Decimal("0.1"))
    assert intervals.lower_tail_at_most(0, 0, Decimal("0.1"), Decimal(1))
    assert intervals.lower_tail_at_most(0, 5, Decimal(1), Decimal("0.1"))


def test_decisions_read_a_float_as_its_decimal():
    # 0.5^2 = 0.25 exactly; 0.9^1 = 0.9 needs the decimal reading, as 1 - 0.1 does.
    assert intervals.lower_tail_at_most(0, 2, 0.5, 0.25)
    assert intervals.lower_tail_at_most(0, 1, 0.1, 0.9)
    assert not intervals.lower_tail_at_most(0, 1, Fraction(1, 10) - Fraction(1, 10**30), 0.9)


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), SHARES)
def test_two_sided_against_slow_exact(count, p):
    k, n = count
    assert intervals.binomial_two_sided(k, n, p) == float(slow_two_sided(k, n, p))


@given(COUNTS, st.sampled_from([0.5, 0.3, 0.05]))
def test_two_sided_against_scipy(count, p):
    k, n = count
    assert intervals.binomial_two_sided(k, n, p) == pytest.approx(stats.binomtest(k, n, p).pvalue, rel=1e-11)


@pytest.mark.parametrize(
    ("k", "n", "p"), [(4900, 10_000, 0.5), (3100, 10_000, 0.3), (2900, 10_000, 0.3), (0, 2000, 0.3)]
)
def test_two_sided_of_many_trials_against_scipy(k, n, p):
    assert intervals.binomial_two_sided(k, n, p) == pytest.approx(stats.binomtest(k, n, p).pvalue, rel=1e-10)


def test_two_sided_by_hand():
    # One of eight heads: 2 * (1 + 8) / 256.
    assert intervals.binomial_two_sided(1, 8) == 18 / 256
    assert intervals.binomial_two_sided(4, 8) == 1
    assert intervals.binomial_two_sided(0, 0) == 1
    assert intervals.two_sided_at_most(1, 8, Decimal("0.0703125"))
    assert not intervals.two_sided_at_most(1, 8, Decimal("0.07031249999999999999"))


# Published with the risk-budget protocol: 45 and 22 for alpha 0.05 and 0.10 at delta 0.10.
@pytest.mark.parametrize(("alpha", "minimum", "floor"), [("0.05", 25, 45), ("0.10", 1, 22), ("0.10", 25, 25)])
def test_support_floor_against_published_values(alpha, minimum, floor):
    assert intervals.support_floor(Decimal(alpha), Decimal("0.10"), minimum) == floor


@given(st.integers(1, 99), st.integers(1, 99))
def test_support_floor_against_slow_exact(alpha, delta):
    miss, limit = 1 - Fraction(alpha, 100), Fraction(delta, 100)
    n = 0
    while miss**n > limit:
        n += 1
    assert intervals.support_floor(Fraction(alpha, 100), limit, 0) == n


@pytest.mark.parametrize(
    ("alpha", "delta", "floor"),
    # At equality (1 - alpha)^n = delta the quotient of float logarithms may land on either side of n.
    [
        ("0.9", "0.001", 3),
        ("0.9", "1e-15", 15),
        ("0.99", "1e-6", 3),
        ("0.5", "0.125", 3),
        ("0.1", "0.6561", 4),
        ("1", "0.1", 1),
    ],
)
def test_support_floor_at_equality_by_hand(alpha, delta, floor):
    assert intervals.support_floor(Decimal(alpha), Decimal(delta), 0) == floor


def test_support_floor_of_a_tiny_risk_takes_no_big_powers():
    # log(0.1) / log(1 - 1e-9) = 2302585091.84...
    assert intervals.support_floor(Decimal("1e-9"), Decimal("0.1")) == 2_302_585_092


def test_holm_by_hand():
    # Sorted 0.01 0.02 0.03 0.04 times 4 3 2 1 is 0.04 0.06 0.06 0.04; running maximum 0.04 0.06 0.06 0.06.
    p = [Fraction(i, 100) for i in (4, 1, 3, 2)]
    assert intervals.holm(p) == [Fraction(6, 100), Fraction(4, 100), Fraction(6, 100), Fraction(6, 100)]
    assert intervals.holm([0.6, 0.7]) == [1.0, 1.0]
    assert intervals.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_against_statsmodels(p):
    assert intervals.holm(p) == pytest.approx(multipletests(p, method="holm")[1], rel=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda: intervals.wilson(3, 2, 0.95),
        lambda: intervals.wilson(-1, 2, 0.95),
        lambda: intervals.wilson(1, 2, 1),
        lambda: intervals.clopper_pearson(1, 2, 0),
        lambda: intervals.percentile_interval(np.zeros(3), 1),
        lambda: intervals.quantile(np.zeros((1, 3)), 1.5),
        lambda: intervals.normal_quantile(0),
        lambda: intervals.binomial_lower_tail(0, 2, 1.5),
        lambda: intervals.binomial_lower_tail(0, -1, 0.5),
        lambda: intervals.binomial_two_sided(0, 2, 1),
        lambda: intervals.support_floor(0, 0.1),
        lambda: intervals.support_floor(0.1, 0),
        lambda: intervals.holm([0.1, NAN]),
    ],
)
def test_arguments_outside_the_domain_are_refused(call):
    with pytest.raises(ValueError):
        call()
