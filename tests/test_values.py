"""Vectors meet by key, never by position; decimals, rounding and three-valued truth."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg import values
from prereg.decimals import rounded
from prereg.values import (
    SCALAR,
    AlignmentError,
    Axes,
    as_decimal,
    decimal_text,
    meet,
    positions,
    take,
)

NAN = math.nan
KEYS = [(a, b) for a in "abc" for b in ("0.5", "0.8")]
SOME = st.lists(st.sampled_from(KEYS), unique=True)


def axes(keys, *, turned=False):
    if turned:
        return Axes(("gate", "run"), tuple((b, a) for a, b in keys))
    return Axes(("run", "gate"), tuple(keys))


def named(which):
    """The policies as sets of (factor, value)."""
    return [frozenset(zip(which.factors, key, strict=True)) for key in which.keys]


@given(SOME, SOME, st.booleans(), st.randoms())
def test_meeting_is_by_key(first, second, turned, rng):
    x, y = axes(first), axes(second, turned=turned)
    together = meet(x, y)
    assert set(named(together)) == {*named(x), *named(y)}
    assert len(set(together.keys)) == len(together.keys)
    assert together.keys[: len(first)] == x.keys  # the order of the first, then what only the second has
    shuffled = list(second)
    rng.shuffle(shuffled)
    assert set(named(meet(x, axes(shuffled, turned=not turned)))) == set(named(together))


@given(SOME, SOME, st.booleans())
def test_positions_find_each_policy_or_say_that_it_is_missing(first, second, turned):
    source, target = axes(first, turned=turned), axes(second)
    where = positions(source, target)
    for policy, i in zip(named(target), where.tolist(), strict=True):
        if policy in named(source):
            assert named(source)[i] == policy
        else:
            assert i == -1


@given(SOME, SOME)
def test_a_missing_partner_is_undefined(first, second):
    data = np.arange(2.0 * len(first)).reshape(2, len(first))
    laid = take(data, positions(axes(first), axes(second)))
    assert laid.shape == (2, len(second))
    for column, key in enumerate(second):
        if key in first:
            assert laid[:, column].tolist() == data[:, first.index(key)].tolist()
        else:
            assert np.isnan(laid[:, column]).all()


def test_scalars_broadcast_and_a_factor_finds_its_value():
    assert positions(SCALAR, axes(KEYS)).tolist() == [0] * 6
    assert positions(SCALAR, axes([])).tolist() == []
    assert meet(SCALAR, axes(KEYS), SCALAR).keys == tuple(KEYS)
    assert meet(SCALAR, SCALAR) is SCALAR
    gate = Axes(("gate",), (("0.8",), ("0.5",)))
    assert positions(gate, axes(KEYS)).tolist() == [1, 0] * 3
    run = Axes(("run",), (("a",), ("c",)))
    assert positions(run, axes(KEYS)).tolist() == [0, 0, -1, -1, 1, 1]


def test_other_factors_do_not_meet_and_it_is_said_which():
    with pytest.raises(AlignmentError) as error:
        meet(axes(KEYS), Axes(("run", "rule"), (("a", "ltt"),)))
    assert (error.value.only_left, error.value.only_right) == (["gate"], ["rule"])


# -- decimals ----------------------------------------------------------------------------------------------


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**6), max_value=10**6))
def test_a_decimal_has_one_text(value):
    text = decimal_text(value)
    assert as_decimal(text) == value
    assert decimal_text(as_decimal(f"{value:e}")) == text
    assert "E" not in text.upper()
    assert not ("." in text and text.endswith("0"))


@pytest.mark.parametrize(
    "text", ["none", "", " 1", "1 ", "1_000", "١", "0x10", "NaN", "Infinity", "1e", "1.2.3", "--1", "1e99999"]
)
def test_what_is_no_number_of_the_language_is_a_text(text):
    assert as_decimal(text) is None


@pytest.mark.parametrize(("text", "value"), [(".5", "0.5"), ("5.", "5"), ("+1e-3", "0.001"), ("-0.0", "0")])
def test_decimals_by_hand(text, value):
    assert decimal_text(as_decimal(text)) == value
    assert as_decimal(text) == Decimal(value)


# -- rounding ----------------------------------------------------------------------------------------------


@given(st.floats(-2047, 2047))
def test_rounding_keeps_twelve_decimals_and_is_idempotent(x):
    once = rounded(np.array([x]))
    assert abs(once[0] - x) <= 5.1e-13 + abs(x) * 2.0**-52
    assert rounded(once)[0] == once[0]
    assert math.copysign(1, once[0]) == 1 or once[0] < 0


def test_what_is_beyond_any_double_is_undefined():
    found = rounded(np.array([math.inf, -math.inf, 9000.0, 0.5]))
    assert np.array_equal(found, [math.nan, math.nan, 9000.0, 0.5], equal_nan=True)


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_whole_numbers_are_left_alone(x):
    assert rounded(np.array([float(x), math.nan])).tolist()[0] == x


def test_the_last_bit_of_a_difference_is_gone():
    # the pitfall of gates: 84.4 - 84.1 > 0.3 is true in doubles
    assert (84.4 - 84.1) - 0.3 != 0
    assert rounded(np.array([(84.4 - 84.1) - 0.3, 0.1 + 0.2 - 0.3, -1e-13])).tolist() == [0, 0, 0]


# -- three-valued truth ------------------------------------------------------------------------------------

TRUTHS = (0.0, 1.0, NAN)


def slow_and(parts):
    return 0.0 if 0.0 in parts else NAN if any(math.isnan(x) for x in parts) else 1.0


def slow_or(parts):
    return 1.0 if 1.0 in parts else NAN if any(math.isnan(x) for x in parts) else 0.0


@pytest.mark.parametrize("size", [1, 2, 3])
def test_kleene_tables(size):
    for parts in itertools.product(TRUTHS, repeat=size):
        arrays = [np.array([[x]]) for x in parts]
        row = np.array([parts])
        for fast in (values.kleene_and(arrays)[0, 0], values.kleene_all(row)[0]):
            assert np.array_equal(fast, slow_and(parts), equal_nan=True)
        for fast in (values.kleene_or(arrays)[0, 0], values.kleene_any(row)[0]):
            assert np.array_equal(fast, slow_or(parts), equal_nan=True)


def test_over_no_policies_truth_is_undefined():
    assert np.isnan(values.kleene_all(np.zeros((2, 0)))).all()
    assert np.isnan(values.kleene_any(np.zeros((2, 0)))).all()
