"""The engines: their verdicts against brute force, published labels, one another, and the detached checker."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
import slow_logic as slow
from random_logic import accepted, compact, random_problems, run

from prereg.errors import InputError
from prereg.studies.logic.engines import ENGINES
from prereg.studies.logic.families import generate
from prereg.studies.logic.frames import rooted_orders, smallest_frame, upsets
from prereg.studies.logic.solver import Answer, Solver, _luby
from prereg.studies.logic.tptp import parse_problem


def agree(axioms, goal, most):
    """All engines on one problem against truth tables and all frames of at most `most` worlds."""
    text = slow.problem(axioms, goal)
    problem = parse_problem(text)
    outcomes = {name: engine.run(problem) for name, engine in ENGINES.items()}
    for name, outcome in outcomes.items():
        assert outcome.claim is None or accepted(outcome, text, name)
    classical = "theorem" if slow.counter_assignment(axioms, goal) is None else "non_theorem"
    assert outcomes["classical"].claim == outcomes["classical_sat"].claim == classical
    frame = slow.counter_frame(axioms, goal, most)
    if frame is not None:
        assert outcomes["intuitionistic"].claim == "non_theorem"
        # Both try smallest frames first.
        assert len(outcomes["frames"].certificate["worlds"]) == len(frame[0])
    elif outcomes["intuitionistic"].claim == "theorem":
        assert outcomes["frames"].claim is None
    else:
        assert len(outcomes["intuitionistic"].certificate["worlds"]) > most
    return outcomes["intuitionistic"].claim, classical


def test_random_problems_of_two_letters_against_truth_tables_and_all_frames_of_three_worlds():
    found = Counter(agree(axioms, goal, 3) for axioms, goal in random_problems(400, 1, "pq"))
    assert min(found.values()) > 10
    assert len(found) == 3


@pytest.mark.slow
def test_random_problems_against_truth_tables_and_all_frames_of_four_worlds():
    for axioms, goal in random_problems(3000, 2):
        agree(axioms, goal, 3)
    for axioms, goal in random_problems(2000, 3, "pq", 14):
        agree(axioms, goal, 4)


@pytest.mark.parametrize("seed", range(4))
def test_random_problems_are_decided_alike_and_certified_against_the_checker(seed):
    for axioms, goal in random_problems(250, seed, "pqrs", 24):
        text = slow.problem(axioms, goal)
        problem = parse_problem(text)
        outcomes = {name: engine.run(problem) for name, engine in ENGINES.items()}
        for name, outcome in outcomes.items():
            assert outcome.claim is None or accepted(outcome, text, name)
        assert outcomes["classical"].claim == outcomes["classical_sat"].claim is not None
        assert outcomes["frames"].claim in {None, outcomes["intuitionistic"].claim}
        if outcomes["intuitionistic"].claim == "theorem":
            assert outcomes["classical"].claim == "theorem"


# A classical tautology holds under two negations (Glivenko 1929).
def test_classical_theorems_hold_intuitionistically_under_two_negations():
    for axioms, goal in random_problems(150, 7, "pqrs", 20):
        classical = run("classical_sat", parse_problem(slow.problem(axioms, goal))).claim
        weak = run("intuitionistic", parse_problem(slow.problem(axioms, ("~", ("~", goal))))).claim
        assert classical == weak


@pytest.mark.parametrize(("formula", "letters"), [("$false", {}), ("p & ~p", {"p": False})])
def test_an_empty_witness_is_a_witness_by_hand(formula, letters):
    problem = parse_problem(f"fof(c, conjecture, {formula}).")
    for engine in ("classical", "classical_sat"):
        assert run(engine, problem).certificate == {"kind": "assignment", "letters": letters}
    if not letters:
        for engine in ("intuitionistic", "frames"):
            assert run(engine, problem).certificate == {"kind": "frame", "worlds": [[]], "above": [[0]]}


def test_a_spent_budget_is_an_abstention_with_a_reason_by_hand():
    peirce = parse_problem("fof(c, conjecture, ((p => q) => p) => p).")
    pigeons = parse_problem(generate("syj202", 3).text())
    chain = parse_problem(generate("syj206", 6).text())
    for engine, problem, budgets, reason in [
        ("classical", peirce, {"max_atoms": 1}, "atoms"),
        ("classical", peirce, {"max_certificate_bytes": 20}, "certificate_bytes"),
        ("classical_sat", chain, {"max_conflicts": 1}, "conflicts"),
        ("intuitionistic", peirce, {"max_sat_calls": 1}, "sat_calls"),
        ("intuitionistic", chain, {"max_conflicts": 2}, "conflicts"),
        ("frames", peirce, {"max_atoms_2": 1, "max_atoms_3": 1, "max_atoms_4": 1}, "atoms"),
        ("frames", peirce, {"max_valuations": 5}, "valuations"),
        ("frames", parse_problem("fof(c, conjecture, p => p)."), {}, "worlds"),
        ("frames", pigeons, {}, "atoms"),
    ]:
        outcome = run(engine, problem, **budgets)
        assert (outcome.claim, outcome.certificate, outcome.reason) == (None, None, reason)


# `((p => q) => p) => p` has 22 characters; in brackets all round 24.
def test_the_bound_on_the_obligation_counts_characters_by_hand():
    problem = parse_problem("fof(c, conjecture, ((p => q) => p) => p).")
    assert run("classical", problem, max_certificate_bytes=22).certificate == {
        "kind": "truth_table",
        "obligation": "(((p => q) => p) => p)",
    }
    assert run("classical", problem, max_certificate_bytes=21).reason == "certificate_bytes"


def test_a_gate_that_is_shut_skips_its_size_only_by_hand():
    middle = parse_problem("fof(c, conjecture, p | ~p).")
    outcome = run("frames", middle, max_atoms_1=0)
    assert outcome.certificate == {"kind": "frame", "worlds": [[], ["p"]], "above": [[0, 1], [1]]}


def test_unknown_and_impossible_budgets_are_refused():
    problem = parse_problem("fof(c, conjecture, p).")
    with pytest.raises(InputError, match="did you mean `max_conflicts`"):
        run("classical_sat", problem, max_conflict=1)
    for value in (-1, 1.5, True, "1"):
        with pytest.raises(InputError, match="must be a whole number from 0"):
            run("classical_sat", problem, max_conflicts=value)


# OEIS A000112 (unlabelled partial orders): 1, 1, 2, 5, 16, put above a root.
def test_orders_of_few_worlds_are_as_many_as_published():
    assert [len(rooted_orders(worlds)) for worlds in range(1, 6)] == [1, 1, 2, 5, 16]
    # The fork has the sets {}, {1}, {2}, {1, 2}, all.
    assert sorted(len(upsets(order)) for order in rooted_orders(3)) == [4, 5]


def test_luby_against_the_published_sequence():
    assert [_luby(i) for i in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]


def holds(clauses, true):
    return all(any((literal >> 1 in true) != bool(literal & 1) for literal in clause) for clause in clauses)


def test_the_solver_with_assumptions_and_cores_against_all_assignments():
    rng = random.Random(5)
    found = Counter()
    for phase, _ in itertools.product((False, True), range(150)):
        variables = rng.randrange(1, 8)
        solver = Solver(variables, phase=phase)
        clauses = []
        for _ in range(rng.randrange(2, 14)):
            for _ in range(rng.randrange(1, 5)):
                clause = [rng.randrange(2 * variables) for _ in range(rng.choice((1, 2, 3, 3, 4)))]
                clauses.append(clause)
                solver.add(clause)
            assumptions = [rng.randrange(2 * variables) for _ in range(rng.randrange(4))]
            wanted = [*clauses, *([literal] for literal in assumptions)]
            models = [
                true
                for size in range(variables + 1)
                for true in itertools.combinations(range(variables), size)
                if holds(wanted, true)
            ]
            answer = solver.solve(assumptions)
            found[answer] += 1
            if answer is Answer.SATISFIABLE:
                assert tuple(solver.model()) in models
            else:
                assert answer is Answer.UNSATISFIABLE
                assert not models
                core = solver.core()
                assert set(core) <= set(assumptions)
                assert not any(
                    holds([*clauses, *([literal] for literal in core)], true)
                    for size in range(variables + 1)
                    for true in itertools.combinations(range(variables), size)
                )
            for clause in solver.learned:
                assert all(holds([clause], true) for true in models) or answer is Answer.UNSATISFIABLE
    assert min(found.values()) > 100


def test_the_solver_agrees_with_glucose_on_random_formulas():
    solvers = pytest.importorskip("pysat.solvers", reason="needs the extra `logic`")
    rng = random.Random(6)
    for _ in range(30):
        clauses = [[v << 1 | rng.randrange(2) for v in rng.sample(range(60), 3)] for _ in range(255)]
        ours = Solver(60)
        for clause in clauses:
            ours.add(clause)
        with solvers.Glucose4() as other:
            for clause in clauses:
                other.add_clause([-(q >> 1) - 1 if q & 1 else (q >> 1) + 1 for q in clause])
            assert (ours.solve() is Answer.SATISFIABLE) == other.solve()
        if ours.consistent:
            assert holds(clauses, ours.model())


# Four numbers of conflicts, each too few, give no verdict; unknown must never pass for unsatisfiable.
def test_a_solver_out_of_conflicts_says_unknown():
    rng = random.Random(8)
    solver = Solver(80)
    for _ in range(360):
        solver.add([v << 1 | rng.randrange(2) for v in rng.sample(range(80), 3)])
    for most in (0, 1, 5, 10):
        assert solver.solve((), most) is Answer.UNKNOWN
    assert all(Answer)


def test_outcomes_are_the_same_bytes_under_any_hash_seed():
    code = (
        "import json\n"
        "from prereg.studies.logic.engines import ENGINES\n"
        "from prereg.studies.logic.families import FAMILIES, generate\n"
        "from prereg.studies.logic.tptp import parse_problem\n"
        "for family in FAMILIES:\n"
        "    for engine in ENGINES.values():\n"
        "        outcome = engine.run(parse_problem(generate(family, 4).text()))\n"
        "        print(json.dumps([outcome.claim, outcome.certificate, outcome.reason, outcome.counts]))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(printed) == 1


# The figures of the published study, engine by engine, on the library it used.


def outcomes_of(engine, library):
    start = time.process_time()
    outcomes = {name: run(engine, problem) for name, problem in library.problems.items()}
    spent = time.process_time() - start
    print(f"{engine}: {len(outcomes)} problems in {spent:.1f} s of one process")  # noqa: T201
    return outcomes


def certified(outcomes, engine, library):
    """Number of claims, each of which the detached checker must accept."""
    start = time.process_time()
    claims = {name: outcome for name, outcome in outcomes.items() if outcome.claim is not None}
    assert all(accepted(outcome, library.texts[name], engine) for name, outcome in claims.items())
    spent = time.process_time() - start
    print(f"{engine}: {len(claims)} certificates checked in {spent:.1f} s of one process")  # noqa: T201
    return len(claims)


def test_intuitionistic_decides_all_274_problems_as_labelled(library):
    outcomes = outcomes_of("intuitionistic", library)
    assert Counter(o.claim for o in outcomes.values()) == {"theorem": 139, "non_theorem": 135}
    labelled = {n: label.intuitionistic for n, label in library.headers.items() if label.intuitionistic}
    assert len(labelled) == 237
    assert all(outcomes[name].claim == label for name, label in labelled.items())
    assert max(len(compact(outcomes[name].certificate)) for name in labelled) <= 65_536
    assert certified(outcomes, "intuitionistic", library) == 274


def test_classical_sat_decides_all_274_problems_as_labelled(library):
    outcomes = outcomes_of("classical_sat", library)
    assert Counter(o.claim for o in outcomes.values()) == {"theorem": 273, "non_theorem": 1}
    labelled = {n: label.classical for n, label in library.headers.items() if label.classical}
    assert len(labelled) == 143
    assert all(outcomes[name].claim == label for name, label in labelled.items())
    assert certified(outcomes, "classical_sat", library) == 274


def test_classical_with_the_published_budgets_makes_89_claims_and_misses_47_and_7(library):
    outcomes = outcomes_of("classical", library)
    labelled = {n: label.classical for n, label in library.headers.items() if label.classical}
    claimed = {name: outcomes[name].claim for name in labelled if outcomes[name].claim}
    assert len(claimed) == 89
    assert all(labelled[name] == claim for name, claim in claimed.items())
    misses = Counter(outcomes[name].reason for name in labelled if name not in claimed)
    assert misses == {"atoms": 47, "certificate_bytes": 7}
    assert sum(o.reason == "certificate_bytes" for o in outcomes.values()) == 13
    certified(outcomes, "classical", library)


def test_frames_with_the_published_gates_find_49_countermodels_of_two_worlds_and_1_of_three_and_one(library):
    outcomes = outcomes_of("frames", library)
    labelled = {n for n, label in library.headers.items() if label.intuitionistic == "non_theorem"}
    claimed = {name: o for name, o in outcomes.items() if o.claim}
    assert claimed.keys() <= labelled
    assert Counter(len(o.certificate["worlds"]) for o in claimed.values()) == {2: 49, 3: 1, 1: 1}
    assert len(claimed["SYN416+1"].certificate["worlds"]) == 3
    assert claimed["SYN916+1"].certificate["worlds"] == [[]]
    assert certified(outcomes, "frames", library) == 51


def test_smallest_frames_are_found_from_one_world_up_by_hand():
    problem = parse_problem("fof(c, conjecture, ~p | ~~p).")
    assert len(smallest_frame(problem)["worlds"]) == 3
    assert smallest_frame(problem, 2) is None
