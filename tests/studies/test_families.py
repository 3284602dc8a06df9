"""Families and gates: definitions against a second writing of them and the library; labels against the engines."""

from __future__ import annotations

import pytest
import slow_logic as slow
from random_logic import accepted, compact, run

from prereg.checker import check
from prereg.studies.logic.engines import ENGINES
from prereg.studies.logic.families import FAMILIES, GATES, generate
from prereg.studies.logic.formulas import table
from prereg.studies.logic.frames import smallest_frame
from prereg.studies.logic.labels import Labels, header_labels
from prereg.studies.logic.tptp import parse_problem

EVERYDAY = (1, 2, 3, 4, 7)
# The library has an `or` where the definition has an `and`.
ODD = {"SYJ202+1.001", "SYJ208+1.001"}


def shape(problem):
    """Axioms and conjecture as tables, equal exactly if the formulas are built alike."""
    return [table(problem.formulas, [formula])[0] for formula in (*problem.axioms, problem.conjecture)]


@pytest.mark.parametrize("family", FAMILIES)
def test_definitions_against_a_second_writing_of_them(family):
    for n in (1, 2, 3, 5, 12):
        other = parse_problem(slow.problem(*slow.family(int(family[3:]), n)))
        ours = parse_problem(generate(family, n).text())
        assert shape(ours) == shape(other)


def test_definitions_against_the_library(library):
    compared = 0
    for name, problem in library.problems.items():
        if name[:6].lower() not in FAMILIES or name in ODD:
            continue
        # The library writes pigeon and hole without a sign between, so that letters coincide from n = 11.
        ours = parse_problem(generate(name[:6].lower(), int(name[-3:])).text().replace("_", ""))
        assert shape(ours) == shape(problem)
        compared += 1
    assert compared == 238


def test_the_library_labels_its_families_alike(library):
    for name, label in library.headers.items():
        if name[:6].lower() in FAMILIES and label.intuitionistic is not None:
            assert generate(name[:6].lower(), 1).intuitionistic == label.intuitionistic


def test_headers_carry_the_labels():
    for family in FAMILIES:
        made = generate(family, 2)
        assert header_labels(made.text()) == Labels(made.intuitionistic, made.classical)
    assert header_labels(GATES[0].problem().text()) == Labels("non_theorem", "non_theorem")


def decided(made, text):
    for engine in ("intuitionistic", "classical_sat"):
        outcome = run(engine, parse_problem(text))
        assert outcome.claim == getattr(made, ENGINES[engine].logic), made.name
        assert accepted(outcome, text, engine)


@pytest.mark.parametrize("family", FAMILIES)
def test_small_members_are_decided_as_labelled_and_certified(family):
    for n in EVERYDAY:
        decided(generate(family, n), generate(family, n).text())


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_members_up_to_20_and_some_beyond_are_decided_as_labelled_and_certified(family):
    for n in (*range(1, 21), 21, 25, 30):
        decided(generate(family, n), generate(family, n).text())


@pytest.mark.parametrize("family", FAMILIES[6:])
def test_explicit_frames_refute_without_an_engine(family):
    for n in (*range(1, 13), 20, 30):
        made = generate(family, n)
        verdict = check(made.text(), compact(made.frame), "intuitionistic")
        assert verdict.accepted, verdict.reason
        if n <= 12:
            worlds, above = slow.family_frame(int(family[3:]), n)
            assert made.frame == {"kind": "frame", "worlds": [sorted(w) for w in worlds], "above": above}


def test_a_size_below_one_is_refused():
    with pytest.raises(ValueError, match="n = 1"):
        generate("syj201", 0)


# Known answers; the sizes of smallest countermodels come from a search by SAT through all orders of four worlds.
@pytest.mark.parametrize("gate", GATES, ids=[gate.name for gate in GATES])
def test_gates_are_accepted_and_refused_as_known(gate):
    text = gate.problem().text()
    decided(gate, text)
    smallest = smallest_frame(parse_problem(text))
    assert gate.worlds == (None if smallest is None else len(smallest["worlds"]))
    assert (gate.worlds is None) == (gate.intuitionistic == "theorem")


# Who is above whom in each shape, by number of worlds above, themselves included.
SHAPES = {
    "one world": [1],
    "2-chain": [2, 1],
    "3-world fork": [3, 1, 1],
    "3-chain": [3, 2, 1],
    "root and three tops": [4, 1, 1, 1],
    "root, a 2-chain and a top": [4, 2, 1, 1],
}


@pytest.mark.parametrize("gate", [g for g in GATES if g.shape], ids=[g.name for g in GATES if g.shape])
def test_smallest_countermodels_have_the_known_shape(gate):
    found = smallest_frame(parse_problem(gate.problem().text()))
    assert sorted(map(len, found["above"]), reverse=True) == SHAPES[gate.shape]


def test_two_tops_are_not_one_above_the_other_by_hand():
    fork = next(gate for gate in GATES if gate.name == "weak_excluded_middle")
    assert smallest_frame(parse_problem(fork.problem().text()))["above"] == [[0, 1, 2], [1], [2]]
