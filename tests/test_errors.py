"""Problems are one line each, in file order, and know where they are."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg.errors import (
    InputError,
    IntegrityError,
    MissingError,
    Place,
    PreregError,
    Problem,
    file_order,
    nearest,
    one_line,
    suggestion,
)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (Place("protocol.yaml", 14, 12), "protocol.yaml:14:12"),
        (Place("records.csv", 7), "records.csv:7"),
        (Place("records.csv"), "records.csv"),
    ],
)
def test_place_omits_what_it_does_not_know(place, expected):
    assert str(place) == expected


def test_problem_is_place_and_message():
    assert str(Problem("unknown key `a`", Place("p.yaml", 2, 3))) == "p.yaml:2:3: unknown key `a`"
    assert str(Problem("no lock")) == "no lock"


@given(st.text(alphabet=st.characters()), st.text())
def test_problem_is_one_printable_line_whatever_it_says(message, file):
    line = str(Problem(message, Place(file, 1)))

    assert len(line.splitlines()) == 1
    line.encode()
    assert "\x1b" not in line


def test_one_line_joins_broken_lines_and_escapes_controls():
    assert one_line("a\n   b\r\nc\x1b[31m\td") == r"a b c\x1b[31m d"


def test_exit_codes_are_those_of_the_contract():
    codes = {error: error.exit_code for error in (PreregError, InputError, IntegrityError, MissingError)}

    assert codes == {PreregError: 70, InputError: 2, IntegrityError: 3, MissingError: 4}


def test_error_lists_problems_in_file_order():
    late, early = Problem("late", Place("p.yaml", 10, 1)), Problem("early", Place("p.yaml", 9, 30))
    error = InputError(late, early, "no place")

    assert error.problems == (Problem("no place"), early, late)
    assert str(error) == "no place\np.yaml:9:30: early\np.yaml:10:1: late"


def test_file_order_puts_a_whole_file_before_its_lines():
    places = [None, Place("a"), Place("a", 1), Place("a", 1, 2), Place("a", 2), Place("b")]
    problems = [Problem("x", place) for place in places]

    assert sorted([*problems[3:], *problems[:3]], key=file_order) == problems


def test_error_survives_the_way_home_from_a_worker():
    error = MissingError(Problem("gone", Place("a.csv", 3)), "also")
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is MissingError
    assert copy.problems == error.problems


KNOWN = ["records", "evidence", "anticipate", "arm", "unit", "each", "agree"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("recrods", "records"),
        ("evidnce", "evidence"),
        ("anticipates", "anticipate"),
        ("Records", "records"),
        ("unti", "unit"),
        ("colour", None),
        ("", None),
        ("x" * 1000, None),
    ],
)
def test_nearest_finds_slips_and_nothing_else(word, expected):
    assert nearest(word, KNOWN) == expected


@given(st.text(max_size=20), st.lists(st.text(max_size=20)))
def test_nearest_is_a_known_name(word, known):
    assert nearest(word, known) in {None, *known}


def test_suggestion_is_the_end_of_a_sentence():
    assert suggestion("recrods", KNOWN) == "; did you mean `records`?"
    assert suggestion("colour", KNOWN) == ""
