"""Splits against the published halves, a rule written out by hand, and what must not matter."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg.errors import InputError
from prereg.split import assign, seeded_key

HALVES = [("calibration", "0.5"), ("test", "0.5")]
IDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4), unique=True, max_size=30
)
PARTS = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(
    lambda weights: [
        (f"part {i}", text)
        for i, text in enumerate([*(f"0.0{w}" for w in weights), f"{1 - sum(weights) / 100:.2f}"])
    ],
)


def slow_assign(ids, parts, seed, names):
    """The rule as it is written: rank r of n lies in [floor(n S_before), floor(n S_after))."""
    joined = {i: "\0".join([str(seed), "split", *names, i]).encode("utf-8") for i in ids}
    order = sorted(ids, key=lambda i: hashlib.sha256(joined[i]).hexdigest())
    found = {}
    for rank, unit in enumerate(order):
        before = Fraction(0)
        for name, share in parts:
            after = before + Fraction(share)
            if math.floor(len(ids) * before) <= rank < math.floor(len(ids) * after):
                found[unit] = name
            before = after
    return [found[i] for i in ids]


def test_key_against_sha256_of_the_written_bytes():
    # printf '7\0split\0a\0u1' | sha256sum
    expected = "f08f4e93d968a90954e530b90fcadf50508ba3abed694312269b99fde929960a"
    assert seeded_key(7, "split", "a", "u1").hex() == expected


def test_suites_of_45_and_21_halve_into_32_and_34_as_published():
    units = [f"a{i:02}" for i in range(45)] + [f"b{i:02}" for i in range(21)]
    strata = ["A"] * 45 + ["B"] * 21
    for seed in range(20):
        parts = assign(units, strata, HALVES, seed, None, None)
        assert Counter(zip(strata, parts, strict=True)) == {
            ("A", "calibration"): 22,
            ("A", "test"): 23,
            ("B", "calibration"): 10,
            ("B", "test"): 11,
        }


@given(IDS, PARTS, st.integers(0, 5), st.sampled_from([None, "d"]), st.sampled_from([None, "s"]))
def test_assignment_against_the_rule_written_out(ids, parts, seed, dataset, stratum):
    names = [name for name in (dataset, stratum) if name is not None]
    strata = None if stratum is None else [stratum] * len(ids)
    assert assign(ids, strata, parts, seed, dataset, None) == slow_assign(ids, parts, seed, names)


def test_shares_are_exact_decimals_by_hand():
    # The bounds are floor(10 * 0.1) = 1, floor(10 * 0.3) = 3 and floor(10 * 0.7) = 7.
    units = [str(i) for i in range(10)]
    parts = [("a", "0.1"), ("b", "0.2"), ("c", "0.4"), ("d", "0.3")]
    assert Counter(assign(units, None, parts, 0, None, None)) == {"a": 1, "b": 2, "c": 4, "d": 3}


@given(IDS, PARTS, st.randoms(use_true_random=False))
def test_order_of_units_does_not_matter(ids, parts, random):
    strata = [str(len(i)) for i in ids]
    place = dict(zip(ids, assign(ids, strata, parts, 1, None, None), strict=True))
    shuffled = list(ids)
    random.shuffle(shuffled)
    again = assign(shuffled, [str(len(i)) for i in shuffled], parts, 1, None, None)
    assert again == [place[i] for i in shuffled]


@given(IDS, st.integers(0, 10**6))
def test_strata_do_not_touch_each_other(ids, seed):
    others = [f"other {i}" for i in range(7)]
    alone = assign(ids, ["s"] * len(ids), HALVES, seed, None, None)
    together = assign([*ids, *others], ["s"] * len(ids) + ["t"] * 7, HALVES, seed, None, None)
    assert together[: len(ids)] == alone


@given(IDS)
def test_groups_stay_together_and_take_the_place_of_units(ids):
    groups = [i[:1] for i in ids]
    parts = assign(ids, None, HALVES, 3, None, groups)
    distinct = sorted(set(groups))
    place = dict(zip(distinct, assign(distinct, None, HALVES, 3, None, None), strict=True))
    assert parts == [place[g] for g in groups]


def test_a_unit_in_several_rows_counts_once():
    assert assign(["a", "b", "a"], None, HALVES, 0, None, None)[::2] in (["test"] * 2, ["calibration"] * 2)


def test_seed_dataset_and_stratum_change_the_order():
    units = [str(i) for i in range(64)]
    found = [
        assign(units, strata, HALVES, seed, dataset, None)
        for seed, dataset, strata in [(0, None, None), (1, None, None), (0, "d", None), (0, None, ["s"] * 64)]
    ]
    assert len({tuple(parts) for parts in found}) == 4


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("a", "0.5"), ("b", "0.4")], "sum to 0.9, not to 1"),
        ([("a", "0.5"), ("a", "0.5")], "`a` is named twice"),
        ([("a", "1.5"), ("b", "-0.5")], "`a` is 1.5"),
        ([("a", "0"), ("b", "1")], "`a` is 0"),
        ([("a", "half")], "`a` is not a decimal number: half"),
        ([("a", "NaN")], "not a decimal number"),
        ([("a", "Infinity")], "not a decimal number"),
        ([], "sum to 0"),
    ],
)
def test_bad_shares_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        assign(["u"], None, parts, 0, None, None)


def test_a_group_in_two_strata_is_refused():
    with pytest.raises(InputError, match="group `g` lies in two strata, `A` and `B`"):
        assign(["u", "v"], ["A", "B"], HALVES, 0, None, ["g", "g"])
    with pytest.raises(InputError, match="unit `u` lies in two strata"):
        assign(["u", "u"], ["A", "B"], HALVES, 0, None, None)


def test_lengths_must_agree():
    with pytest.raises(ValueError):
        assign(["u", "v"], ["A"], HALVES, 0, None, None)
    with pytest.raises(ValueError):
        assign(["u", "v"], None, HALVES, 0, None, ["g"])
