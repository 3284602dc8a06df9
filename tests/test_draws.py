"""Resampling counts against a slow Philox, the known answers of its authors, and what must not matter."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from prereg.draws import Plan, Stream, counts
from prereg.errors import InputError

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=4)
STREAM = Stream(11, "resample", "mmlu", "test")
MASK = 2**64 - 1


def slow_philox(counter, key):
    """Philox4x64-10 after Salmon et al. 2011, figure 2, for one counter: four words."""
    words = [(counter >> (64 * i)) & MASK for i in range(4)]
    first, second = key
    for _ in range(10):
        low, high = 0xD2E7470EE14C6C93 * words[0], 0xCA5A826395121157 * words[2]
        words = [(high >> 64) ^ words[1] ^ first, high & MASK, (low >> 64) ^ words[3] ^ second, low & MASK]
        first, second = (first + 0x9E3779B97F4A7C15) & MASK, (second + 0xBB67AE8584CAA73B) & MASK
    return words


def slow_counts(stream, sizes, resample):
    n = sum(sizes)
    blocks = -(-n // 4)
    # NumPy's counter moves before each block is made: the first block of counter c is Philox of c + 1.
    words = [w for i in range(blocks) for w in slow_philox(resample * blocks + i + 1, stream.key)]
    row = [0] * n
    start = 0
    for m in sizes:
        for i in range(start, start + m):
            row[start + (((words[i] >> 32) * m) >> 32)] += 1
        start += m
    return row


def codes(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def test_slow_philox_against_known_answers():
    # Random123, kat_vectors, philox4x64 with 10 rounds: all zeros, all ones.
    assert [f"{w:016x}" for w in slow_philox(0, (0, 0))] == [
        "16554d9eca36314c", "db20fe9d672d0fdc", "d7e772cee186176b", "7e68b68aec7ba23b",
    ]  # fmt: skip
    assert [f"{w:016x}" for w in slow_philox(2**256 - 1, (MASK, MASK))] == [
        "87b092c3013fe90b", "438c3c67be8d0224", "9cc7d7c69cd777b6", "a09caebf594f0ba0",
    ]  # fmt: skip


def test_key_against_sha256_of_the_written_bytes():
    # printf 'resample\0mmlu\0test' | sha256sum begins with ebd664cb3628c1be: its bytes, last first
    assert STREAM.key == (11, 0xBEC12836CB64D6EB)
    assert Stream(0, "resample").key[1] == int.from_bytes(hashlib.sha256(b"resample").digest()[:8], "little")


@given(st.integers(0, 2**64 - 1), SIZES, st.integers(0, 10**9))
def test_counts_against_slow_philox(seed, sizes, resample):
    stream = Stream(seed, "resample")
    assert counts(stream, codes(sizes), resample, 1)[0].tolist() == slow_counts(stream, sizes, resample)


def test_first_words_against_slow_philox():
    assert STREAM.first_words() == [f"{w:016x}" for w in slow_philox(1, STREAM.key)]


@given(SIZES, st.integers(1, 30), st.integers(1, 30))
def test_fewer_resamples_are_a_prefix_of_more(sizes, few, more):
    long = counts(STREAM, codes(sizes), 0, few + more)
    assert long[:few].tobytes() == counts(STREAM, codes(sizes), 0, few).tobytes()


def test_400_resamples_are_a_prefix_of_1000():
    strata = codes([45, 21])
    assert counts(STREAM, strata, 0, 1000)[:400].tobytes() == counts(STREAM, strata, 0, 400).tobytes()


@pytest.mark.parametrize("size", [1, 37, 100, 400])
def test_blocks_and_workers_do_not_matter(size):
    strata = codes([220, 100])
    whole = counts(STREAM, strata, 0, 400)
    with ThreadPoolExecutor(3) as pool:
        blocks = pool.map(
            lambda first: counts(STREAM, strata, first, min(size, 400 - first)), range(0, 400, size)
        )
        assert np.vstack(list(blocks)).tobytes() == whole.tobytes()


@given(SIZES, st.integers(0, 1000))
def test_sizes_of_strata_are_kept(sizes, first):
    drawn = counts(STREAM, codes(sizes), first, 20)
    assert drawn.dtype == np.float64
    assert (drawn >= 0).all()
    for code, size in enumerate(sizes):
        assert (drawn[:, codes(sizes) == code].sum(axis=1) == size).all()


def test_draws_are_uniform_and_independent_against_chi_squared():
    # 20,000 resamples of 7 units: 140,000 draws over 7 cells; and the count of one unit is Binomial(7, 1/7).
    drawn = counts(STREAM, codes([7]), 0, 20_000)
    assert stats.chisquare(drawn.sum(axis=0)).pvalue > 0.001
    seen = np.bincount(np.minimum(drawn[:, 0], 4).astype(int), minlength=5)
    expected = stats.binom.pmf(range(4), 7, 1 / 7)
    assert stats.chisquare(seen, 20_000 * np.append(expected, 1 - expected.sum())).pvalue > 0.001


def test_purpose_dataset_and_part_have_streams_of_their_own():
    streams = [
        Stream(11, "resample"),
        Stream(12, "resample"),
        Stream(11, "reselect"),
        Stream(11, "resample", "mmlu"),
        Stream(11, "resample", "mmlu", "test"),
        Stream(11, "resample", "mmlu", "calibration"),
    ]
    assert len({tuple(stream.first_words()) for stream in streams}) == len(streams)


def test_no_units_and_no_resamples():
    assert counts(STREAM, codes([]), 0, 3).shape == (3, 0)
    assert counts(STREAM, codes([4]), 5, 0).shape == (0, 4)
    assert Plan.of(STREAM, []).rows(0, 2).shape == (2, 0)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_outside_the_key_are_refused(seed):
    with pytest.raises(InputError, match=f"not {seed}"):
        Stream(seed, "resample")


def test_strata_must_stand_side_by_side():
    with pytest.raises(ValueError, match="side by side"):
        counts(STREAM, np.array([0, 1, 0]), 0, 1)


@given(st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_counts_of_a_unit_do_not_depend_on_the_order_of_units(units, random):
    shuffled = list(units)
    random.shuffle(shuffled)
    strata = {unit: str(len(unit)) for unit in units}
    plan = Plan.of(STREAM, units, [strata[u] for u in units]).counts(0, 5)
    again = Plan.of(STREAM, shuffled, [strata[u] for u in shuffled]).counts(0, 5)
    assert again.tobytes() == np.ascontiguousarray(plan[:, [units.index(u) for u in shuffled]]).tobytes()


def test_plan_sorts_strata_then_units_by_code_point():
    # "B" < "a" < "ä" by code point. Stratum "1" holds ä and B, stratum "2" holds a.
    plan = Plan.of(STREAM, ["a", "ä", "B"], ["2", "1", "1"])
    assert plan.counts(3, 4).tolist() == counts(STREAM, codes([2, 1]), 3, 4)[:, [2, 1, 0]].tolist()
    assert plan.sizes.tolist() == [2, 1]
    assert plan.units == 3


def test_units_of_a_cluster_travel_together():
    clusters = ["x", "y", "x", "z", "y"]
    plan = Plan.of(STREAM, ["e", "d", "c", "b", "a"], None, clusters)
    drawn = plan.counts(0, 50)
    of_clusters = counts(STREAM, codes([3]), 0, 50)
    assert drawn.tolist() == of_clusters[:, [0, 1, 0, 2, 1]].tolist()


@given(st.integers(0, 3), st.integers(0, 4))
def test_row_zero_is_the_observed_sample(first, count):
    plan = Plan.of(STREAM, ["a", "b", "c"])
    whole = np.vstack([np.ones((1, 3)), plan.counts(0, 10)])
    assert plan.rows(first, count).tolist() == whole[first : first + count].tolist()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="cluster `x` lies in two strata"):
        Plan.of(STREAM, ["a", "b"], ["1", "2"], ["x", "x"])
    with pytest.raises(InputError, match="named twice"):
        Plan.of(STREAM, ["a", "a"])
    with pytest.raises(ValueError):
        Plan.of(STREAM, ["a", "b"], None, ["x"])
