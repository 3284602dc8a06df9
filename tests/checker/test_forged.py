"""More than ten thousand forged certificates, of every kind of forgery, and none accepted on a wrong claim.

Truth is decided without the checker: classically by truth table; a formula is no intuitionistic theorem if a frame of at most
four worlds refutes it; it is one if it is a published gate or family, for which search finds no such frame either.
"""

from __future__ import annotations

import copy
import json
import random

import pytest
from gates import NON_THEOREMS, THEOREMS
from slow_logic import NON_THEOREMS as WEAK
from slow_logic import THEOREMS as STRONG
from slow_logic import (
    assignments,
    core,
    counter_assignment,
    counter_frame,
    family,
    letters,
    no,
    orders,
    problem,
    tptp,
)
from small_prover import Table, frame, intuitionistic, lemmas, structure

from prereg.checker import check

OPERATORS = ["~", "&", "|", "=>", "=>", "=>", "<=>", "<=", "<~>", "~|", "~&"]

# (axioms, goal) of small problems that follow, and of such that do not.
TRUE = [([], f) for f in THEOREMS if f is not True]
# The small prover splits on every subformula: these two are too large for it.
TRUE += [family(k, n) for k in STRONG for n in (1, 2) if (k, n) not in {(201, 2), (202, 2)}]
FALSE = [([], f) for f in NON_THEOREMS] + [family(k, n) for k in WEAK for n in (1, 2)]


def some_formula(rng, depth, names):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*names] * 4 + [True, False])
    op = rng.choice(OPERATORS)
    return (op, *(some_formula(rng, depth - 1, names) for _ in range(1 if op == "~" else 2)))


def some_problem(rng):
    names = "pqr"[: rng.choice([1, 2, 2, 3])]
    return [some_formula(rng, 2, names) for _ in range(rng.choice([0, 0, 1, 2]))], some_formula(rng, 3, names)


def accepted(entailment, tree, logic="intuitionistic"):
    return check(problem(*entailment), json.dumps(tree), logic).accepted


@pytest.fixture(scope="module")
def wrong():
    """Problems whose conjecture does not follow intuitionistically: refuted by a frame of at most four worlds."""
    rng = random.Random(11)
    found = []
    while len(found) < 60:
        entailment = some_problem(rng)
        if counter_assignment(*entailment) is None and counter_frame(*entailment, most=3) is not None:
            found.append(entailment)
    return FALSE + found


def test_the_true_are_true_and_the_false_are_false_by_slow_search():
    for axioms, goal in TRUE:
        assert counter_assignment(axioms, goal) is None
        if len(letters(*axioms, goal)) <= 4:
            assert counter_frame(axioms, goal, most=3) is None
    for axioms, goal in FALSE:
        assert counter_frame(axioms, goal, most=4) is not None


def test_four_thousand_random_frames_on_theorems_are_refused():
    rng = random.Random(1)
    for k in range(4000):
        axioms, goal = TRUE[k % len(TRUE)]
        names = letters(*axioms, goal)
        above = rng.choice(orders(rng.randrange(1, 5)))
        worlds = [set() for _ in above]
        for name in names:
            for w in rng.sample(range(len(above)), rng.randrange(len(above) + 1)):
                for v in above[w]:
                    worlds[v].add(name)
        tree = {"kind": "frame", "worlds": [sorted(w) for w in worlds], "above": copy.deepcopy(above)}
        if k % 4 == 0:  # an order that is none, or letters that get lost
            w = rng.randrange(len(above))
            if k % 8:
                tree["above"][w] = sorted(rng.sample(range(len(above)), rng.randrange(len(above) + 1)))
            else:
                tree["worlds"][w] = sorted(rng.sample(names, rng.randrange(len(names) + 1)))
        assert not accepted((axioms, goal), tree), (axioms, goal, tree)


def all_clauses(entailment):
    """A trace with all that is true of the structure and nothing to show for it; rows of it to forge with."""
    axioms, goal = entailment
    table = Table()
    ends = [table.row(f) for f in axioms], table.row(goal)
    table.row(False)
    for name in letters(*axioms, goal):
        table.row(no(name))
    flat, implications = structure(table.rows)
    return {
        "kind": "trace", "table": table.rows, "axioms": ends[0], "goal": ends[1], "flat": flat + [[[], [a]] for a in ends[0]],
        "implications": implications, "steps": [], "count": None,
    }  # fmt: skip


def forge(rng, tree):
    """One to three forgeries of a trace, each of a random kind."""
    tree = copy.deepcopy(tree)
    rows = range(len(tree["table"]))

    def some(most):
        return [rng.choice(rows) for _ in range(rng.randrange(most + 1))]

    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.randrange(11)
        if kind == 0:  # an invented flat clause
            tree["flat"].append([some(2), some(2)])
        elif kind == 1:  # excluded middle, or double negation
            row = rng.choice(rows)
            negations = [
                k for k, e in enumerate(tree["table"]) if isinstance(e, list) and e[0] == "=>" and e[1] == row
            ]
            tree["flat"].append([[], [row, *negations]] if rng.random() < 0.5 else [negations[:1], []])
        elif kind == 2:  # a foreign implication clause
            tree["implications"].append([rng.choice(rows) for _ in range(3)])
            tree["steps"].append(["learn", len(tree["implications"]) - 1, some(2)])
        elif kind == 3:  # a swapped goal
            tree["goal"] = rng.choice(rows)
        elif kind == 4:  # foreign axioms
            tree["axioms"] = [*tree["axioms"], rng.choice(rows)]
            tree["flat"].append([[], [tree["axioms"][-1]]])
        elif kind == 5:  # an altered table
            k = rng.choice(rows)
            tree["table"][k] = rng.choice(
                [True, False, tree["table"][rng.choice(rows)], ["=>", 0, 0], ["&", 0, 0], ["|", 0, 0]]
            )
        elif kind == 6 and tree["implications"]:  # learning what does not follow
            k = rng.randrange(len(tree["implications"]))
            tree["steps"].append(["learn", k, [*some(1), tree["implications"][k][0]]])
        elif kind == 7:
            tree["steps"].append(["lemma", some(1), some(2)])
        elif kind == 8:
            tree["steps"].insert(0, ["lemma", [], [tree["goal"]]])
        elif kind == 9:  # counting what is not there
            sides = [[some(2) for _ in range(rng.randrange(4))] for _ in range(2)]
            tree["count"] = sides if rng.random() < 0.5 else [[[k] for k in sides[0][:1]], []]
        elif kind == 10 and tree["implications"]:  # an implication turned round
            k = rng.randrange(len(tree["implications"]))
            a, b, c = tree["implications"][k]
            tree["implications"][k] = rng.choice([[b, a, c], [a, c, b], [c, b, a], [a, a, c]])
    return tree


def test_five_thousand_forged_traces_on_non_theorems_are_refused(wrong):
    rng = random.Random(2)
    for k in range(5000):
        entailment = wrong[k % len(wrong)]
        tree = forge(rng, all_clauses(entailment))
        assert not accepted(entailment, tree), (entailment, tree)


def test_a_thousand_crossed_traces_on_non_theorems_are_refused(wrong):
    rng = random.Random(3)
    traces = [intuitionistic(*entailment) for entailment in TRUE]
    for k in range(1000):
        entailment, tree = wrong[k % len(wrong)], copy.deepcopy(rng.choice(traces))
        if k % 2:  # graft the argument of a theorem onto a table that is the problem's own
            own = all_clauses(entailment)
            shift = len(own["table"])
            names = letters(*entailment[0], entailment[1])
            moved = [
                [e[0], e[1] + shift, e[2] + shift]
                if isinstance(e, list)
                else rng.choice(names)
                if isinstance(e, str) and names
                else e
                for e in tree["table"]
            ]
            tree["table"] = [*own["table"], *(True if isinstance(e, str) and not names else e for e in moved)]
            tree["flat"] = own["flat"] + [
                [[x + shift for x in side] for side in clause] for clause in tree["flat"]
            ]
            tree["implications"] = [[x + shift for x in clause] for clause in tree["implications"]]
            tree["steps"] = [
                [s[0], s[1], [x + shift for x in s[2]]]
                if s[0] == "learn"
                else [s[0], *([x + shift for x in side] for side in s[1:])]
                for s in tree["steps"]
            ]
            tree["goal"], tree["axioms"] = own["goal"], own["axioms"]
        assert not accepted(entailment, tree), (entailment, tree)


def test_three_thousand_forged_lemma_lists_on_invalid_formulas_are_refused():
    rng = random.Random(4)
    others = [lemmas(*entailment) for entailment in TRUE if len(letters(*entailment[0], entailment[1])) <= 6]
    tried = 0
    while tried < 3000:
        entailment = some_problem(rng)
        if counter_assignment(*entailment) is None:
            continue
        tree = lemmas(*entailment)
        size = len(tree["table"])
        for _ in range(4):
            made = copy.deepcopy(tree)
            kind = rng.randrange(6)
            if kind == 0:
                made["lemmas"] = [
                    [rng.choice([-1, 1]) * rng.randrange(1, size + 1) for _ in range(rng.randrange(3))]
                    for _ in range(6)
                ]
            elif kind == 1:
                rng.shuffle(made["lemmas"])
                made["lemmas"] = made["lemmas"][: rng.randrange(len(made["lemmas"]) + 1)]
            elif kind == 2:
                made["lemmas"] = copy.deepcopy(rng.choice(others))["lemmas"]
            elif kind == 3:
                made = made | {key: rng.choice(others)[key] for key in ("table", "goal", "axioms")}
            elif kind == 4:
                made["goal"] = rng.randrange(size)
                made["axioms"] = made["axioms"] if rng.random() < 0.5 else [*made["axioms"], made["goal"]]
            else:
                entries = [rng.choice([-1, 1]) * rng.randrange(1, size + 1) for _ in range(4)]
                made["lemmas"], made["count"] = [], [[entries[:2], entries[2:]], [entries[:1]]]
            assert not accepted(entailment, made, "classical"), (entailment, made)
            tried += 1


def test_all_assignments_and_truth_tables_on_wrong_claims_are_refused():
    rng = random.Random(6)
    for _ in range(400):
        axioms, goal = some_problem(rng)
        names = letters(*axioms, goal)
        right = 0
        for values in assignments(names):
            tree = {"kind": "assignment", "letters": {n: n in values for n in names}}
            right += accepted((axioms, goal), tree, "classical")
        assert (right > 0) is (counter_assignment(axioms, goal) is not None)
        whole = goal
        if axioms:
            whole = ("=>", axioms[0] if len(axioms) == 1 else ("&", *axioms), goal)
        for obligation in (whole, core(whole), goal):
            found = accepted(
                (axioms, goal), {"kind": "truth_table", "obligation": tptp(obligation)}, "classical"
            )
            assert not found or right == 0
            assert found or right > 0 or obligation is goal


def mutate(rng, tree):
    """Change one place of a JSON tree."""
    places = []
    stack = [tree]
    while stack:
        part = stack.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        places += [(part, key) for key in keys]
        stack += [part[key] for key in keys if isinstance(part[key], (dict, list))]
    part, key = rng.choice(places)
    other, place = rng.choice(places)
    value = copy.deepcopy(part[key])
    part[key] = rng.choice([
        copy.deepcopy(other[place]), None, [], {}, "p", 0, -1, True, [value], 1e9, 10**20,
        value + rng.choice([-1, 1]) if type(value) is int else [] if value == [] else value[:-1] if isinstance(value, list) else "q",
    ])  # fmt: skip


def test_four_thousand_mutated_certificates_show_nothing_that_is_wrong():
    rng = random.Random(7)
    made = [(e, intuitionistic(*e), "intuitionistic") for e in TRUE + FALSE[: len(NON_THEOREMS)]]
    made += [(e, lemmas(*e), "classical") for e in TRUE[:12]]
    still = 0
    for k in range(4000):
        entailment, tree, logic = made[k % len(made)]
        # Onto another problem, of which the claim may be wrong, or onto its own, of which it is right.
        aim = entailment if k % 3 else rng.choice([x for x, *_ in made])
        tree = copy.deepcopy(tree)
        for _ in range(rng.choice([1, 1, 2, 4])):
            try:
                mutate(rng, tree)
            except (IndexError, KeyError):  # nothing is left to change
                break
        found = check(problem(*aim), json.dumps(tree), logic)
        still += found.accepted
        if found.accepted and logic == "intuitionistic":
            assert found.follows is (aim in TRUE)
        elif found.accepted:
            assert found.follows is (counter_assignment(*aim) is None)
    assert 0 < still < 2000  # some changes do no harm, most do


def test_small_problems_are_decided_alike_against_slow_exact():
    rng = random.Random(8)
    for _ in range(400):
        axioms, goal = some_problem(rng)
        found = check(problem(axioms, goal), json.dumps(intuitionistic(axioms, goal)), "intuitionistic")
        assert found.accepted, (axioms, goal, found)
        if found.follows:
            assert counter_frame(axioms, goal, most=3) is None
        classical = check(problem(axioms, goal), json.dumps(lemmas(axioms, goal)), "classical")
        assert classical.accepted is (counter_assignment(axioms, goal) is None)


def test_the_maker_of_certificates_orders_worlds_by_inclusion():
    assert frame([{1}, {1, 2}], {2: "p"}) == {"kind": "frame", "worlds": [[], ["p"]], "above": [[0, 1], [1]]}
