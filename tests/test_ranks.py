"""Ranks and correlations against scipy, slow exact arithmetic and values worked out by hand."""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from prereg import ranks

NAN = float("nan")
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 12))
# Few distinct values make ties; a share of them is undefined.
TIED = st.sampled_from([NAN, -1.0, 0.0, 0.1, 0.25, 0.3, 1 / 3, 1.0])
WIDE = st.one_of(TIED, st.sampled_from([-5e9, -3000.5, 2048.0, 2048.5, 1e15, 1e300]))
CORRELATIONS = [ranks.spearman, ranks.kendall, ranks.pearson, ranks.slope]


def pairs(elements):
    return SHAPES.flatmap(
        lambda shape: st.tuples(*(hnp.arrays(np.float64, shape, elements=elements) for _ in range(2))),
    )


def keyed(x):
    """Slow reading of a value at 12 decimals."""
    return Fraction(x) if abs(x) >= 2048 else Fraction(round(x * 1e12), 10**12)


def defined_pairs(x, y):
    both = zip(x.tolist(), y.tolist(), strict=True)
    return [(keyed(a), keyed(b)) for a, b in both if not (math.isnan(a) or math.isnan(b))]


def slow_doubled_rank(value, values):
    return 2 * sum(v < value for v in values) + sum(v == value for v in values) + 1


def slow_pearson(rows):
    n = len(rows)
    if n < 3:
        return NAN
    x_mean, y_mean = sum(a for a, _ in rows) / Fraction(n), sum(b for _, b in rows) / Fraction(n)
    xy = sum((a - x_mean) * (b - y_mean) for a, b in rows)
    xx = sum((a - x_mean) ** 2 for a, _ in rows)
    yy = sum((b - y_mean) ** 2 for _, b in rows)
    if xx == 0 or yy == 0:
        return NAN
    return math.sqrt(xy**2 / (xx * yy)) * (-1 if xy < 0 else 1)


def slow_spearman(rows):
    xs, ys = [a for a, _ in rows], [b for _, b in rows]
    return slow_pearson([(slow_doubled_rank(a, xs), slow_doubled_rank(b, ys)) for a, b in rows])


def slow_kendall(rows):
    both = list(itertools.combinations(rows, 2))
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in both]
    x_untied, y_untied = sum(s != 0 for s, _ in signs), sum(t != 0 for _, t in signs)
    if len(rows) < 3 or not x_untied or not y_untied:
        return NAN
    return sum(s * t for s, t in signs) / math.sqrt(x_untied * y_untied)


@given(pairs(TIED))
def test_ranks_against_scipy(matrices):
    x, other = matrices
    mask = ~np.isnan(x) & ~np.isnan(other)
    doubled, n = ranks.doubled_centred_ranks(x, mask)
    for row, inside, got, size in zip(x, mask, doubled, n, strict=True):
        assert size == inside.sum()
        assert (got[~inside] == 0).all()
        # scipy compares doubles; the values of TIED differ at 12 decimals whenever they differ at all.
        assert got[inside].tolist() == (2 * stats.rankdata(row[inside]) - (size + 1)).tolist()


def test_ranks_by_hand():
    # 0.2, 0.1, 0.2, (left out), 0.5 have the average ranks 2.5, 1, 2.5, 4; doubled, less 5: 0, -3, 0, 3.
    x = np.array([[0.2, 0.1, 0.2, NAN, 0.5]])
    doubled, n = ranks.doubled_centred_ranks(x, ~np.isnan(x))
    assert doubled.tolist() == [[0, -3, 0, 0, 3]]
    assert n.tolist() == [4]


def test_last_bits_are_ties_by_hand():
    # 0.1 + 0.2 is 0.30000000000000004; at 12 decimals it is 0.3.
    x = np.array([[0.1 + 0.2, 0.3, 0.3 + 1e-12]])
    doubled, _ = ranks.doubled_centred_ranks(x, np.ones(x.shape, bool))
    assert doubled.tolist() == [[-1, -1, 2]]
    assert ranks.rank_keys(x).tolist() == [[300000000000, 300000000000, 300000000001]]


@pytest.mark.parametrize("columns", [1, 2, 150, 5000])
def test_large_values_rank_as_the_doubles_they_are_against_scipy(columns):
    rng = np.random.default_rng(1)
    x = np.exp(rng.uniform(-5, 400, (3, columns))) * rng.choice([-1, 1], (3, columns))
    x[0, 0] = -np.inf
    x[1, 0] = np.inf
    doubled, _ = ranks.doubled_centred_ranks(x, np.ones(x.shape, bool))
    assert doubled.tolist() == (2 * stats.rankdata(x, axis=1) - (columns + 1)).tolist()


@given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(allow_nan=False)))
def test_keys_order_like_values_at_twelve_decimals(x):
    keys = ranks.rank_keys(x).tolist()
    values = [v if abs(v) >= 2048 else round(v * 1e12) / 10**12 for v in x.tolist()]
    for (key, value), (other_key, other) in itertools.combinations(zip(keys, values, strict=True), 2):
        assert (key < other_key, key == other_key) == (value < other, value == other)


@given(pairs(WIDE))
def test_correlations_against_slow_exact(matrices):
    x, y = matrices
    for row, (a, b) in enumerate(zip(x, y, strict=True)):
        both = defined_pairs(a, b)
        for fast, slow in [
            (ranks.spearman, slow_spearman),
            (ranks.kendall, slow_kendall),
            (ranks.pearson, slow_pearson),
        ]:
            assert fast(x, y)[row] == pytest.approx(slow(both), abs=2.3e-16, nan_ok=True)


def test_correlations_against_scipy():
    rng = np.random.default_rng(2)
    x = np.round(rng.integers(0, 30, (40, 150)) / 29, 12)
    y = np.round(x + rng.normal(0, 0.5, x.shape), 1)
    for row, (a, b) in enumerate(zip(x, y, strict=True)):
        assert ranks.spearman(x, y)[row] == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-15)
        assert ranks.kendall(x, y)[row] == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-15)
        assert ranks.pearson(x, y)[row] == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-14)
        assert ranks.slope(y, x)[row] == pytest.approx(stats.linregress(a, b).slope, abs=1e-14)


def test_slope_by_hand():
    # y = 3 - 2 x: the slope of y on x is -2, of x on y -1/2.
    x = np.array([[0.0, 1.0, 2.0, 5.0]])
    assert ranks.slope(3 - 2 * x, x).tolist() == [-2.0]
    assert ranks.slope(x, 3 - 2 * x).tolist() == [-0.5]


def test_spearman_by_hand():
    # Ranks 1 2 3 4 and 2 1 4 3: 1 - 6 * 4 / (4 * 15) = 0.6. Tied: 1 1 2 has the ranks 1.5 1.5 3; with 1 2 3
    # sxy = 1.5, sxx = 1.5, syy = 2, rho = 1.5 / sqrt(3) = sqrt(3) / 2.
    assert ranks.spearman(np.array([[1.0, 2, 3, 4]]), np.array([[2.0, 1, 4, 3]])).tolist() == [0.6]
    tied = ranks.spearman(np.array([[1.0, 1, 2]]), np.array([[1.0, 2, 3]]))
    assert tied[0] == pytest.approx(math.sqrt(3) / 2, abs=1.2e-16)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_undefined_by_definition(correlation):
    x = np.array([[1.0, 2, NAN, 4], [1, 1, 1, 1], [1, 2, 3, 4], [NAN] * 4, [1, 2, 3, 3]])
    y = np.array([[1.0, NAN, 2, 4], [1, 2, 3, 4], [2, 2, 2, 2], [1, 2, 3, 4], [1, 2, 2, NAN]])
    assert np.isnan(correlation(x, y)).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (2, 1)])
def test_empty_is_undefined(correlation, shape):
    result = correlation(np.zeros(shape), np.zeros(shape))
    assert result.shape == shape[:1]
    assert np.isnan(result).all()


def test_infinite_values_have_ranks_but_no_moments():
    x, y = np.array([[1.0, 2, np.inf]]), np.array([[1.0, 2, 3]])
    assert ranks.spearman(x, y).tolist() == [1.0]
    assert ranks.kendall(x, y).tolist() == [1.0]
    assert np.isnan(ranks.pearson(x, y)).all()
    assert np.isnan(ranks.slope(x, y)).all()


@pytest.mark.parametrize("columns", [3, 150, 700, 20_000])
def test_monotone_is_exactly_one(columns):
    rng = np.random.default_rng(columns)
    x = np.round(rng.random((2, columns)), 3)  # with ties, at odd sizes
    for correlation in (ranks.spearman, ranks.kendall):
        assert correlation(x, x**3 + x).tolist() == [1.0, 1.0]
        assert correlation(x, -x).tolist() == [-1.0, -1.0]
    assert ranks.pearson(x, 0.5 - x).tolist() == [-1.0, -1.0]


@given(pairs(WIDE), st.randoms(use_true_random=False))
def test_order_of_policies_does_not_matter(matrices, random):
    x, y = matrices
    order = list(range(x.shape[1]))
    random.shuffle(order)
    for correlation in CORRELATIONS:
        assert correlation(x, y).tobytes() == correlation(x[:, order], y[:, order]).tobytes()


@given(pairs(WIDE))
def test_blocks_and_layout_do_not_matter(matrices):
    x, y = matrices
    for correlation in CORRELATIONS:
        whole = correlation(x, y).tobytes()
        rows = [correlation(x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
        assert np.concatenate(rows).tobytes() == whole
        assert correlation(np.asfortranarray(x), np.asfortranarray(y)).tobytes() == whole
        assert correlation(np.repeat(x, 2, axis=1)[:, ::2], y).tobytes() == whole


def test_blocks_of_a_panel_give_the_same_digest():
    rng = np.random.default_rng(3)
    x = np.round(rng.integers(0, 25, (400, 150)) / 24, 12)
    y = np.where(rng.random(x.shape) < 0.1, NAN, np.round(rng.random(x.shape), 12))
    digests = set()
    for size in (400, 100, 37, 1):
        blocks = [ranks.spearman(x[i : i + size], y[i : i + size]) for i in range(0, 400, size)]
        digests.add(hashlib.sha256(np.concatenate(blocks).tobytes()).hexdigest())
    assert len(digests) == 1


@given(pairs(TIED))
def test_undefined_pairs_are_as_good_as_absent(matrices):
    x, y = matrices
    for row in range(len(x)):
        kept = ~np.isnan(x[row]) & ~np.isnan(y[row])
        for correlation in CORRELATIONS:
            there = correlation(x, y)[row]
            absent = correlation(x[row : row + 1, kept], y[row : row + 1, kept])[0]
            assert there == absent or (np.isnan(there) and np.isnan(absent))


@given(pairs(TIED))
def test_symmetry_and_range(matrices):
    x, y = matrices
    for correlation in (ranks.spearman, ranks.kendall, ranks.pearson):
        result = correlation(x, y)
        assert result.tobytes() == correlation(y, x).tobytes()
        assert np.array_equal(correlation(-x, y), -result, equal_nan=True)
        assert (np.abs(result[~np.isnan(result)]) <= 1).all()


def test_many_columns_use_whole_number_products_against_closed_form():
    # 0 .. n-1 against its rotation: sum d^2 = (n - 1) + (n - 1)^2, so rho = 1 - 6 / (n + 1) without ties.
    n = 2**18 + 1
    x = np.arange(n, dtype=np.float64)[None, :]
    assert ranks.spearman(x, np.roll(x, 1, axis=1))[0] == pytest.approx(
        float(1 - Fraction(6, n + 1)), abs=2e-16
    )


def test_narrow_and_wide_sums_are_the_same_integers():
    rng = np.random.default_rng(4)
    x, y = rng.uniform(-2000, 2000, (2, 5, 40))
    assert ranks._narrow_sums(x, y) == ranks._wide_sums(x, y)


def test_ranked_is_ranked_once_for_equal_masks(monkeypatch):
    calls = []
    original = ranks.doubled_centred_ranks
    monkeypatch.setattr(ranks, "doubled_centred_ranks", lambda x, mask: calls.append(1) or original(x, mask))
    rng = np.random.default_rng(5)
    y = ranks.Ranked(rng.random((4, 9)))
    gaps = [rng.random((4, 9)) for _ in range(7)]
    for i, gap in enumerate(gaps[2:]):
        gap[:, i] = NAN
    for x in gaps:
        assert ranks.spearman(x, y).tobytes() == ranks.spearman(x, y.values).tobytes()
    # 7 x, 7 plain y and, as two masks are equal, 6 of y; the x of both calls are ranked anew.
    assert len(calls) == 7 * 2 + 7 + 6
    assert len(y._known) == ranks._KEPT


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="one shape"):
        ranks.spearman(np.zeros((2, 3)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="a matrix"):
        ranks.Ranked(np.zeros(3))
    with pytest.raises(ValueError, match="one shape"):
        ranks.doubled_centred_ranks(np.zeros((2, 3)), np.zeros((2, 4), dtype=bool))
