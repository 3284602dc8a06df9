"""Assignments, truth tables and frames: the formulas with known answers, and each way to be malformed."""

from __future__ import annotations

import json

import pytest
from gates import NON_THEOREMS, REFUSED, THEOREMS, p, q
from slow_logic import NON_THEOREMS as FAMILIES
from slow_logic import counter_frame, either, family, family_frame, forces, letters, no, problem, to, tptp

from prereg.checker import Bounds, check

CHAIN = [[0, 1], [1]]
FALSUM = problem([], False)


def verdict(text, logic, **tree):
    return check(text, json.dumps(tree), logic)


def frame(text, worlds, above):
    return verdict(text, "intuitionistic", kind="frame", worlds=worlds, above=above)


@pytest.mark.parametrize("worlds", REFUSED)
def test_gates_are_refuted_by_frames_of_the_published_size_and_no_smaller(worlds):
    for f in REFUSED[worlds]:
        assert counter_frame([], f, worlds - 1) is None
        found = frame(problem([], f), *counter_frame([], f, worlds))
        assert found.accepted, (f, found)
        assert found.follows is False


@pytest.mark.parametrize("f", THEOREMS, ids=tptp)
def test_gates_that_are_theorems_have_no_frame_of_four_worlds_by_slow_search(f):
    assert counter_frame([], f, 4) is None


@pytest.mark.parametrize("number", FAMILIES)
@pytest.mark.parametrize("n", range(1, 13))
def test_explicit_frames_of_the_families_are_accepted(number, n):
    text, (worlds, above) = problem(*family(number, n)), family_frame(number, n)
    assert frame(text, worlds, above).accepted
    # Without its upper world, or upside down, no two-world frame is left: all members are classical theorems.
    assert not frame(text, worlds[:1], [[0]]).accepted
    assert not frame(text, worlds[1:], [[0]]).accepted


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("number", FAMILIES)
def test_explicit_frames_of_the_families_refute_against_slow_forcing(number, n):
    (axioms, goal), (worlds, above) = family(number, n), family_frame(number, n)
    assert all(forces(above, worlds, 0, a) for a in axioms)
    assert not forces(above, worlds, 0, goal)


def test_an_empty_witness_is_a_witness_and_none_is_not():
    assert verdict(FALSUM, "classical", kind="assignment", letters={}).accepted
    assert frame(FALSUM, [[]], [[0]]).accepted
    assert frame(FALSUM, [], []).reason == "the frame has no world"
    for nothing in (
        "null",
        "{}",
        '{"kind": null}',
        '{"kind": "assignment"}',
        '{"kind": "assignment", "letters": null}',
    ):
        assert not check(FALSUM, nothing, "classical").accepted
    assert check(FALSUM, "null", "classical").reason == "there is no certificate"


def test_worlds_with_the_same_letters_are_two_worlds():
    # Root and two tops, one of which repeats the root's letters.
    text = problem([], either(to(p, q), to(q, p)))
    assert frame(text, [[], ["p"], ["q"], []], [[0, 1, 2, 3], [1], [2], [3]]).accepted


@pytest.mark.parametrize(
    ("worlds", "above", "reason"),
    [
        ([["p"], []], CHAIN, "lost above"),
        ([[], ["p"]], [[0], [1]], "forces the conjecture"),
        ([[], ["p"]], [[1], [1]], "not above itself"),
        ([[], ["p"]], [[0, 1], [0, 1]], "above each other"),
        ([[], [], ["p"]], [[0, 1], [1, 2], [2]], "not transitive"),
        ([[], ["p"]], [[1, 0], [1]], "not sorted"),
        ([[], ["p"]], [[0, 1, 1], [1]], "names a world twice"),
        ([[], ["p"]], [[0, 2], [1]], "not between"),
        ([[], ["p"]], [[0, -1], [1]], "not between"),
        ([[], ["p"]], [[0, True], [1]], "not a whole number"),
        ([[], ["p"]], [[0, 1.0], [1]], "not a whole number"),
        ([[], ["p"]], [[0, 1]], "entries"),
        ([[], ["p"]], {}, "not a list"),
        ([[], ["q"]], CHAIN, "no letter of the problem"),
        ([[], ["p", "p"]], CHAIN, "letter twice"),
        ([[], [0]], CHAIN, "no text"),
        ([[], "p"], CHAIN, "not a list"),
        ([[], ["p"]], [[0, 1], [10**30]], "no index"),
        ([["p"], ["p"]], CHAIN, "forces the conjecture"),
    ],
)
def test_a_frame_with_one_defect_is_refused_by_its_name(worlds, above, reason):
    text = problem([], either(p, no(p)))
    assert frame(text, [[], ["p"]], CHAIN).accepted
    found = frame(text, worlds, above)
    assert not found.accepted
    assert reason in found.reason


def test_a_frame_must_force_every_axiom():
    text = problem([p, no(no(q))], q)
    assert frame(text, [["p"], ["p", "q"]], CHAIN).accepted
    assert "axiom 0" in frame(text, [[], ["p", "q"]], CHAIN).reason
    assert "axiom 1" in frame(text, [["p"], ["p"]], CHAIN).reason


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ({"p": True, "q": False}, True),
        ({"p": True, "q": True}, False),
        ({"p": False, "q": False}, False),
        ({"p": True}, False),
        ({"p": True, "q": False, "r": False}, False),
        ({"p": 1, "q": 0}, False),
        ({"p": True, "q": None}, False),
        ([["p", True], ["q", False]], False),
    ],
)
def test_an_assignment_names_every_letter_once_and_no_other(given, accepted):
    assert verdict(problem([p], q), "classical", kind="assignment", letters=given).accepted is accepted


@pytest.mark.parametrize(
    ("obligation", "accepted"),
    [
        ("((p & (p => q)) => q)", True),
        ("p & (p=>q) => q", False),  # brackets are needed
        ("(p & (p => q)) => q % the same", True),
        ("((p => q) & p) => q", False),
        ("q", False),
        ("$true", False),
        ("(p & (p => q)) => r", False),
        ("((p & (p => q)) => q) )", False),
        ("", False),
        (None, False),
    ],
)
def test_a_truth_table_is_of_the_problem_own_obligation(obligation, accepted):
    found = verdict(problem([p, to(p, q)], q), "classical", kind="truth_table", obligation=obligation)
    assert found.accepted is accepted


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 16, 17])
def test_a_truth_table_tries_all_assignments_up_to_sixteen_letters(count):
    names = [f"x{k}" for k in range(count)]
    clause = " | ".join(["$false", *names])
    missed = f"({clause}) | ({' & '.join(['$true', *(f'~ {x}' for x in names)])})"  # true
    for formula, valid in ((missed, True), (clause, False), (clause.replace("x", "~ x"), False)):
        found = check(
            f"fof(c, conjecture, ({formula})).",
            json.dumps({"kind": "truth_table", "obligation": formula}),
            "classical",
        )
        assert found.accepted is (valid and count <= 16)


@pytest.mark.parametrize("f", [*THEOREMS, *NON_THEOREMS], ids=tptp)
def test_every_gate_is_classically_valid_by_its_truth_table(f):
    assert verdict(problem([], f), "classical", kind="truth_table", obligation=tptp(f)).accepted
    for worlds in ([[]], [letters(f)]):
        assert not frame(problem([], f), worlds, [[0]]).accepted


def test_a_kind_speaks_of_its_own_logic_only():
    assert not verdict(FALSUM, "intuitionistic", kind="assignment", letters={}).accepted
    assert not verdict(FALSUM, "classical", kind="frame", worlds=[[]], above=[[0]]).accepted
    with pytest.raises(ValueError, match="unknown logic"):
        check(FALSUM, "{}", "modal")


def test_a_frame_beyond_the_bounds_is_not_looked_at():
    worlds = [[] for _ in range(9)]
    above = [[k] for k in range(9)]
    tree = json.dumps({"kind": "frame", "worlds": worlds, "above": above})
    assert check(FALSUM, tree, "intuitionistic").accepted
    found = check(FALSUM, tree, "intuitionistic", Bounds(worlds=8))
    assert (found.accepted, found.within, found.follows) == (False, False, None)
