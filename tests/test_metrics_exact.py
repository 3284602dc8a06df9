"""Every kernel against the slow exact implementation, and the properties all kernels share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_metrics import (
    CASES,
    assert_same,
    aurc_over_all_orders,
    fast,
    random_rows,
    random_weights,
    reasons,
    rows_of,
    slow,
)
from prereg.dataclass import replace
from prereg.kernels import blocks, refusal
from prereg.kernels.whole import Whole, harmonic, harmonic_between
from prereg.metrics import KINDS, Rows

named = pytest.mark.parametrize(("kind", "options"), CASES, ids=lambda v: v if isinstance(v, str) else str(v))


@named
@pytest.mark.parametrize("shape", [(2, 3, 9, 2), (1, 2, 5, 1), (3, 2, 4, 3)], ids=str)
def test_kernel_against_slow_exact(kind, options, shape):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = random_rows(kind, rng, shape)
        weights = random_weights(rng, 6, shape[2])
        weights[-1] = 0  # a resample of nothing is vacuous, not an error
        assert_same(fast(kind, rows, options, weights), slow(kind, rows, options, weights))


@named
def test_any_partition_into_blocks_gives_the_same_bytes_against_itself(kind, options):
    rng = np.random.default_rng(3)
    rows = random_rows(kind, rng, (2, 3, 40, 3))
    weights = random_weights(rng, 101, 40)
    kernel = KINDS[kind].prepare(rows, options)
    whole = kernel.compute(weights)
    for size in (1, 7, 37):
        parts = [kernel.compute(weights[i : i + size]) for i in range(0, len(weights), size)]
        assert np.concatenate([p.values for p in parts]).tobytes() == whole.values.tobytes()
        for k, (reason, mask) in enumerate(whole.undefined):
            assert all(p.undefined[k][0] == reason for p in parts)
            assert (np.concatenate([p.undefined[k][1] for p in parts]) == mask).all()
        for part in ("numerator", "denominator"):
            if getattr(whole, part) is not None:
                joined = np.concatenate([getattr(p, part) for p in parts])
                assert joined.tobytes() == getattr(whole, part).tobytes()


@named
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_units_does_not_matter_against_itself(kind, options, seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(kind, rng)
    weights = random_weights(rng, 4, 9)
    if options.get("ties") == "row_order" or "binning" in options:
        # This form depends on the order of tied rows by definition: only without ties is there a property.
        distinct = rng.permutation(rows.among.size).reshape(rows.among.shape) / rows.among.size
        rows = replace(rows, arguments={**rows.arguments, "confidence": distinct})
        weights = np.minimum(weights, 1)
    turn = rng.permutation(9)
    turned = replace(
        rows,
        among=rows.among[:, :, turn],
        missing=rows.missing[:, :, turn],
        arguments={name: array[:, :, turn] for name, array in rows.arguments.items()},
    )
    here, there = fast(kind, rows, options, weights), fast(kind, turned, options, weights[:, turn])
    assert here.values.tobytes() == there.values.tobytes()
    assert (reasons(here) == reasons(there)).all()


@named
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), times=st.integers(2, 5))
def test_a_weight_is_that_many_units_against_itself(kind, options, seed, times):
    rng = np.random.default_rng(seed)
    rows = random_rows(kind, rng)
    weights = random_weights(rng, 3, 9)
    again = np.repeat(np.arange(9), times)
    written = replace(
        rows,
        among=rows.among[:, :, again],
        missing=rows.missing[:, :, again],
        arguments={name: array[:, :, again] for name, array in rows.arguments.items()},
    )
    if options.get("ties") == "row_order" or "binning" in options:
        return  # with several samples a unit, the copies of a row are apart
    here, there = fast(kind, rows, options, weights * times), fast(kind, written, options, weights[:, again])
    assert here.values.tobytes() == there.values.tobytes()


@pytest.mark.parametrize(
    ("kind", "options"), [("aurc", {}), ("ece", {}), ("brier", {}), ("auroc", {}), ("rate", {})]
)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), times=st.integers(2, 5))
def test_replicating_every_row_changes_nothing_against_itself(kind, options, seed, times):
    rng = np.random.default_rng(seed)
    rows = random_rows(kind, rng)
    weights = random_weights(rng, 3, 9)
    here, there = fast(kind, rows, options, weights), fast(kind, rows, options, weights * times)
    assert here.values.tobytes() == there.values.tobytes()


@named
def test_values_lie_in_the_range_of_their_kind_against_itself(kind, options):
    low, high = KINDS[kind].range_of(options)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = fast(kind, random_rows(kind, rng), options, random_weights(rng, 20, 9)).values
        values = values[~np.isnan(values)]
        assert ((values >= low) & (values <= high)).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=7))
def test_expected_is_the_mean_over_all_orders_by_listing_them(pairs):
    rows = [{"confidence": c / 3, "error": e} for c, e in pairs]
    got = fast(
        "aurc",
        rows_of(confidence=[[r["confidence"] for r in rows]], error=[[r["error"] for r in rows]]),
        {"ties": "expected"},
        np.ones((1, len(rows))),
    )
    assert_same(got, [[aurc_over_all_orders(rows)]])


@pytest.mark.parametrize("level", [3, 1000])
@pytest.mark.parametrize("kind", ["aurc", "eaurc", "auroc", "selective_accuracy", "quantile", "distinct"])
def test_gates_on_the_score_itself_against_slow_exact(kind, level):
    """Settings whose rows begin, or are, those of another setting share its pass."""
    rng = np.random.default_rng(level)
    shape = (1, 3, 14, 2)
    score = rng.integers(0, level + 1, shape) / level
    score[:, 1] = score[:, 0]
    gates = np.array([-1.0, -1.0, 0.3, 0.7, 2.0]).reshape(5, 1, 1, 1)
    among = (rng.random(shape) < 0.9) & (score >= gates)
    truth = (rng.random(shape) < 0.4) * 1.0
    truth[:, 1] = truth[:, 0]
    names = {
        p.name: p for p in KINDS[kind].parameters if (p.of_rows and p.name != "label") or kind == "auroc"
    }
    arguments = {name: truth if p.kind == "truth" else score for name, p in names.items()}
    weights = random_weights(rng, 6, 14)
    for case, options in CASES:
        if case == kind:
            rows = Rows(among, np.zeros_like(among), arguments, {})
            assert_same(fast(kind, rows, options, weights), slow(kind, rows, options, weights))


def test_long_tie_blocks_against_slow_exact():
    """Two levels and three samples a unit: blocks are summed by a matrix product."""
    rng = np.random.default_rng(11)
    shape = (2, 3, 40, 3)
    rows = Rows(
        rng.random(shape) < 0.9,
        np.zeros(shape, bool),
        {"confidence": rng.integers(0, 2, shape) / 1.0, "error": (rng.random(shape) < 0.3) * 1.0},
        {},
    )
    weights = random_weights(rng, 5, 40)
    for ties in ("threshold", "expected", "row_order"):
        assert_same(fast("aurc", rows, {"ties": ties}, weights), slow("aurc", rows, {"ties": ties}, weights))


def test_both_ways_of_summing_a_block_agree_against_itself(monkeypatch):
    rng = np.random.default_rng(12)
    rows = random_rows("aurc", rng, (3, 4, 30, 3))
    weights = random_weights(rng, 9, 30)
    results = []
    for cost in (0, 10**9):
        monkeypatch.setattr(blocks, "_GATHER_COST", cost)
        results.append(fast("aurc", rows, {}, weights).values.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("shape", [(2, 3, 30, 4), (1, 2, 12, 1), (1, 2, 9, 9)], ids=str)
def test_both_ways_of_the_refusal_index_agree_against_slow_exact(monkeypatch, shape):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = random_rows("refusal_index", rng, shape)
        weights = random_weights(rng, 70, shape[2])
        expected = slow("refusal_index", rows, {}, weights[:5])
        results = []
        for most in (0, 10**9):
            monkeypatch.setattr(refusal, "_MOST_CELLS", most)
            got = fast("refusal_index", rows, {}, weights)
            assert_same(fast("refusal_index", rows, {}, weights[:5]), expected)
            results.append(got.values.tobytes())
        assert results[0] == results[1]


@pytest.mark.parametrize("top", [1, 2**20, 2**31, 2**50, 2**60], ids=str)
def test_whole_sums_against_python_integers(top):
    rng = np.random.default_rng(1)
    matrix = rng.integers(-top, top + 1, (20, 6))
    weights = rng.integers(0, 9, (5, 20)).astype(float)
    sums = Whole(matrix).sums(weights)
    for r in range(5):
        for q in range(6):
            true = sum(int(w) * int(m) for w, m in zip(weights[r], matrix[:, q], strict=True))
            if top <= 2**50:
                # Below 2**53, or the nearest double.
                assert sums[r, q] == float(true)
            else:
                assert abs(sums[r, q] - true) <= 2e-16 * 20 * 9 * top


@pytest.mark.parametrize("bits", [7, 8, 15, 16, 24, 26, 31, 32, 52])
def test_whole_sums_at_the_ends_of_integer_types_by_hand(bits):
    for top in (2**bits - 1, 2**bits, 2**bits + 1):
        sums = Whole(np.array([[top, -top, top], [1, 1, 0]])).sums(np.array([[1.0, 1.0], [1.0, 0.0]]))
        assert sums.tolist() == [[top + 1, 1 - top, top], [top, -top, top]]


def test_whole_sums_of_a_common_factor_by_hand():
    sums = Whole(np.array([[3 * 10**9, 6], [0, -(10**9) * 3]])).sums(np.array([[2.0, 5.0]]))
    assert sums.tolist() == [[6e9, 12 - 15e9]]


def test_whole_sums_do_not_depend_on_which_way_a_block_takes_against_itself():
    matrix = np.array([[2**48 + 1], [-(2**48)], [3]])
    weights = np.array([[1.0, 1.0, 1.0], [2000.0, 2000.0, 5.0]])
    together = Whole(matrix).sums(weights)
    apart = np.concatenate([Whole(matrix).sums(weights[:1]), Whole(matrix).sums(weights[1:])])
    assert together.tobytes() == apart.tobytes()
    assert together[:, 0].tolist() == [4.0, 2015.0]


def test_too_many_drawn_units_for_limbs_are_refused():
    with pytest.raises(OverflowError, match="drawn units"):
        Whole(np.array([[2**40]])).sums(np.array([[2.0**27]]))


def test_harmonic_differences_by_hand():
    table = harmonic(4)
    low, high = np.array([0, 1, 2, 0]), np.array([1, 4, 2, 4])
    # 1; 1/2 + 1/3 + 1/4 = 13/12; nothing; 25/12
    assert harmonic_between(table, low, high) == pytest.approx([1, 13 / 12, 0, 25 / 12], abs=1e-16)
