"""Traces, lemma lists and counting: hand-made ones, the families, and each step that must not be believed."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from gates import NON_THEOREMS, THEOREMS, p, q, r
from hypothesis import given
from hypothesis import strategies as st
from slow_logic import both, counter_assignment, counter_frame, either, family, no, problem, to, tptp
from small_prover import intuitionistic, lemmas, trace

from prereg.checker import Bounds, check
from prereg.checker.bounds import Budget
from prereg.checker.closure import Closure
from prereg.checker.formulas import AND, FALSE, IMPLIES, OR, TRUE, Formulas
from prereg.checker.problem import read_problem
from prereg.checker.units import Clauses

F = False
np, nnp = no(p), no(no(p))


def verdict(axioms, goal, tree, logic="intuitionistic", bounds=None):
    return check(problem(axioms, goal), json.dumps(tree), logic, bounds)


# What is to be shown, and by hand how: flat clauses, implications, steps.
BY_HAND = {
    "identity": (([], to(p, p)), {"implications": [(p, p)], "steps": [("learn", 0, [p])]}),
    "ex falso": (
        ([], to(F, p)),
        {"flat": [([F], [])], "implications": [(F, p)], "steps": [("learn", 0, [F])]},
    ),
    "not not excluded middle": (
        ([], no(no(either(p, np)))),
        {
            # f: the negation n of (p | ~p); n and p give the absurd, so n gives ~p, so n gives the absurd.
            "flat": [([no(either(p, np)), p], [F]), ([no(either(p, np)), np], [F])],
            "implications": [(p, F), (no(either(p, np)), F)],
            "steps": [("learn", 0, [no(either(p, np)), p]), ("learn", 1, [no(either(p, np))])],
        },
    ),
    "three negations are one": (
        ([], to(no(nnp), np)),
        {
            # Rows are the formulas themselves: ~~~p and p; p gives ~~p (p and ~p is absurd).
            "flat": [([np, p], [F]), ([no(nnp), nnp], [F])],
            "implications": [(np, F), (p, F), (no(nnp), np)],
            "steps": [("learn", 0, [p, np]), ("learn", 1, [no(nnp), p]), ("learn", 2, [no(nnp)])],
        },
    ),
    "contraposition": (
        ([], to(to(p, q), to(no(q), np))),
        {
            "flat": [([to(p, q), p], [q]), ([no(q), q], [F])],
            "implications": [(p, F), (no(q), np), (to(p, q), to(no(q), np))],
            "steps": [("learn", 0, [to(p, q), no(q), p]), ("learn", 1, [to(p, q)]), ("learn", 2, [])],
        },
    ),
    "by cases": (([either(p, q), to(p, r), to(q, r)], r), {"flat": [([], [p, q]), ([p], [r]), ([q], [r])]}),
    "by cases at once": (([either(p, either(q, p)), to(p, r), to(q, r)], r), {"flat": [([], [r])]}),
    "absurd axioms": (([p, np], q), {"flat": [([], [])]}),
    "a lemma": (
        ([either(p, q), to(p, q), to(q, p), to(both(p, q), r)], r),
        {"flat": [([], [p, q]), ([p], [q]), ([q], [p]), ([p, q], [r])], "steps": [("lemma", [], [p])]},
    ),
    "an implication from its right side": (([q], to(p, q)), {"flat": [([], [q])], "implications": [(p, q)]}),
    "no step at all": (([p, p], p), {"flat": [([], [p])]}),
    "truth": (([], True), {"flat": [([], [True])]}),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_trace_by_hand_is_accepted_and_needs_each_of_its_parts(name):
    (axioms, goal), parts = BY_HAND[name]
    found = verdict(axioms, goal, trace(axioms, goal, **parts))
    assert found.accepted, found
    assert found.follows is True
    assert counter_frame(axioms, goal, 3) is None
    for part, k in [(name, k) for name, entries in parts.items() for k in range(len(entries))]:
        fewer = dict(parts, **{part: parts[part][:k] + parts[part][k + 1 :]})
        if part == "implications":
            fewer["steps"] = [s for s in parts.get("steps", []) if s[0] != "learn" or s[1] < k]
        assert not verdict(axioms, goal, trace(axioms, goal, **fewer)).accepted, (part, k)


@pytest.mark.parametrize("f", THEOREMS, ids=tptp)
def test_gates_that_are_theorems_are_accepted_by_trace_and_by_lemmas(f):
    tree = intuitionistic([], f)
    assert tree["kind"] == "trace"
    assert verdict([], f, tree).accepted
    assert verdict([], f, lemmas([], f), "classical").accepted


@pytest.mark.parametrize("f", NON_THEOREMS, ids=tptp)
def test_gates_that_are_refused_have_lemmas_classically_and_a_frame_intuitionistically(f):
    tree = intuitionistic([], f)
    assert tree["kind"] == "frame"
    assert verdict([], f, tree).follows is False
    assert verdict([], f, lemmas([], f), "classical").follows is True


@pytest.mark.parametrize("n", range(1, 9))
def test_modus_ponens_shows_204_and_replay_from_the_last_shows_203(n):
    axioms, goal = family(204, n)
    chain = [([], [f"p{n}"]), *(([f"p{i}"], [f"p{i - 1}"]) for i in range(1, n + 1))]
    assert verdict(axioms, goal, trace(axioms, goal, flat=chain)).accepted

    axioms, goal = family(203, n)
    names = [f"p{i}" for i in range(1, n + 1)]
    flat = [(names, ["f"]), *(([to(x, "f")], ["f"]) for x in names)]
    steps = [("learn", k, names[: k + 1]) for k in reversed(range(n))]
    made = {"flat": flat, "implications": [(x, "f") for x in names], "steps": steps}
    assert verdict(axioms, goal, trace(axioms, goal, **made)).accepted
    assert not verdict(axioms, goal, trace(axioms, goal, **(made | {"steps": steps[:-1]}))).accepted
    # Its weak sister has the same steps but for one flat clause, which does not follow.
    axioms, goal = family(209, n)
    assert not verdict(axioms, goal, trace(axioms, goal, **made)).accepted


def pigeons(n, number=202):
    """SYJ202 by counting: n + 1 clauses, n sets of pairwise exclusive letters. Rows made one by one, for n = 20."""
    rows = []

    def row(*entry):
        rows.append(entry[0] if len(entry) == 1 else list(entry))
        return len(rows) - 1

    def joined(parts):
        *rest, whole = parts
        for part in reversed(rest):
            whole = row("|", part, whole)
        return whole

    o = [[row(f"o{i}_{h}") for h in range(1, n + 1)] for i in range(1, n + 2)]
    false = row(F)
    holes = [list(hole) for hole in zip(*o, strict=True)]
    last = [row("=>", row("=>", x[-1], false), false) if number == 208 else x[-1] for x in o]
    ends = [joined([*x[:-1], y]) for x, y in zip(o, last, strict=True)]
    goal = joined([row("&", a, b) for hole in holes for a, b in itertools.combinations(hole, 2)])
    flat = [[[], x] for x in o] + [[[a, b], [goal]] for x in holes for a, b in itertools.combinations(x, 2)]
    tree = {"kind": "trace", "table": rows, "axioms": ends, "goal": goal, "flat": flat}
    return *family(number, n), tree | {"implications": [], "steps": [], "count": [o, holes]}


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_counting_shows_the_pigeonhole_and_nothing_less_than_it(n):
    axioms, goal, tree = pigeons(n)
    assert verdict(axioms, goal, tree).accepted
    positive, exclusive = tree["count"]
    for count in (
        [positive[:-1], exclusive],
        [positive, [*exclusive, exclusive[0]]],
        [positive, [exclusive[0][:-1], *exclusive[1:]]],  # an entry stands in more clauses than sets
        [positive, [exclusive[0] * 2, *exclusive[1:]]],
        [[*positive[:-1], positive[-1] * 2], exclusive],
        [[*positive[:-1], positive[-1][:-1]], exclusive],  # a clause that does not hold
        [[*positive[:-1], []], exclusive],
        [positive, [*exclusive[:-1], [*exclusive[-1], tree["axioms"][0]]]],
        [positive, [*exclusive[:-1], [*exclusive[-1], len(tree["table"])]]],
        [positive],
        [positive, exclusive, []],
        None,
    ):
        # In one hole or two, propagation gets there alone or shows more than is given.
        if n > 2:
            assert not verdict(axioms, goal, tree | {"count": count}).accepted, count
    # A pair that is not exclusive: one flat clause less.
    if n > 1:
        assert not verdict(axioms, goal, tree | {"flat": tree["flat"][:-1]}).accepted
    weak_axioms, weak_goal, weak = pigeons(n, 208)
    assert not verdict(weak_axioms, weak_goal, weak).accepted


def test_counting_takes_literals_where_lemmas_do():
    # Three pigeons that are *not* in a hole where the letter holds: the same argument with each letter negated.
    names = [f"o{i}_{h}" for i in (1, 2, 3) for h in (1, 2)]
    flipped = [either(no(x), no(y)) for x, y in zip(names[::2], names[1::2], strict=True)]
    pairs = [either(names[h + 2 * i], names[h + 2 * j]) for h in (0, 1) for i in range(3) for j in range(i)]
    axioms, goal = [*flipped, *pairs], F
    assert counter_assignment(axioms, goal) is None
    tree = lemmas(axioms, goal) | {"lemmas": []}
    row = {x: tree["table"].index(x) + 1 for x in names}
    count = [[[-row[a], -row[b]] for a, b in zip(names[::2], names[1::2], strict=True)]]
    count.append([[-row[x] for x in names[h::2]] for h in (0, 1)])
    assert not verdict(axioms, goal, tree, "classical").accepted
    assert verdict(axioms, goal, tree | {"count": count}, "classical").accepted
    upright = [[-x for x in member] for member in count[1]]
    assert not verdict(axioms, goal, tree | {"count": [count[0], upright]}, "classical").accepted


def test_the_pigeonhole_of_size_twenty_costs_less_than_a_million_steps():
    # 4,200 pairs against a disjunction of 4,200: quadratic would be some ten million steps.
    axioms, goal, tree = pigeons(20)
    assert verdict(axioms, goal, tree, bounds=Bounds(steps=1_000_000)).accepted


# What may not be believed, whoever says it: the parts of a trace for `p | ~p`, which does not hold.
NOT_BELIEVED = {
    "an invented flat clause": {"flat": [([], [either(p, np)])]},
    "excluded middle": {"flat": [([], [p, np])]},
    "excluded middle through its halves": {
        "flat": [([], [p, np]), ([p], [either(p, np)]), ([np], [either(p, np)])],
    },
    "double negation": {"flat": [([nnp], [p]), ([np, p], []), ([p], [either(p, np)]), ([np], [either(p, np)])]},
    "a lemma that nothing says": {
        "flat": [([p], [either(p, np)]), ([np], [either(p, np)])], "steps": [("lemma", [], [p, np])],
    },
    "learning from the right side alone": {
        "flat": [([np, p], [F]), ([F], []), ([p], [either(p, np)]), ([np], [either(p, np)])],
        "implications": [(p, F)], "steps": [("learn", 0, [])],
    },
    "counting nothing": {"count": [[], []]},
    "counting a clause that is none": {"count": [[[p]], []]},
    "the goal as its own reason": {"flat": [([either(p, np)], [either(p, np)])]},
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_BELIEVED)
def test_excluded_middle_stays_refused_after(name):
    goal = either(p, np)
    assert not verdict([], goal, trace([], goal, **NOT_BELIEVED[name])).accepted


def test_an_implication_clause_names_the_implication_of_its_two_sides():
    goal = to(p, p)
    tree = trace([], goal, implications=[(p, p)], steps=[("learn", 0, [p])])
    assert verdict([], goal, tree).accepted
    # Over p, q: [a, b, c] with c an implication of other sides, a letter, a conjunction of the sides.
    axioms, goal = [], to(p, q)
    rows = ["p", "q", ["=>", 0, 1], ["=>", 0, 0], ["&", 0, 1], ["=>", 1, 0]]
    tree = trace(axioms, goal) | {"table": rows, "goal": 2}
    for triple in itertools.product(range(len(rows)), repeat=3):
        made = tree | {"implications": [list(triple)], "steps": [["learn", 0, [triple[0]]]]}
        named = verdict(axioms, goal, tree | {"implications": [list(triple)]}).reason
        literal = rows[triple[2]] == ["=>", triple[0], triple[1]]
        assert ("does not name" in named) is not literal
        assert not verdict(axioms, goal, made).accepted


def test_goal_axioms_and_letters_must_be_the_problem_own():
    axioms, goal = [p, to(p, q)], q
    tree = trace(axioms, goal, flat=[([], [q])])
    assert verdict(axioms, goal, tree).accepted
    row = tree["table"].index("p")
    for forged in (
        {"goal": row}, {"goal": len(tree["table"])}, {"goal": -1}, {"axioms": tree["axioms"][:1]}, {"axioms": []},
        {"axioms": tree["axioms"][::-1]}, {"axioms": [*tree["axioms"], row]}, {"table": [*tree["table"], "s"]},
        {"table": [*tree["table"], ["=>", 0, len(tree["table"])]]}, {"table": [*tree["table"], ["~", 0, 0]]},
        {"table": [*tree["table"], [["&"], 0, 0]]}, {"table": [*tree["table"], None]}, {"extra": []},
        {"table": [*tree["table"], ["&", -1, 0]]}, {"table": [*tree["table"], ["&", 0]]}, {"steps": [["count", 0, []]]},
        {"steps": [["learn", 0, []]]}, {"steps": [["learn"]]}, {"flat": [[[]]]}, {"flat": [[[], [row], []]]}, {"flat": None},
    ):  # fmt: skip
        assert not verdict(axioms, goal, tree | forged).accepted, forged
    assert verdict(
        axioms, goal, tree | {"table": [*tree["table"], "p", True, False, ["|", row, row]]}
    ).accepted
    # The same certificate says nothing about another problem, though that may hold as well.
    assert not verdict([p, to(p, q), r], q, tree).accepted
    assert not verdict([to(p, q), p], q, tree).accepted


def test_lemmas_are_checked_one_by_one():
    axioms, goal = [either(p, q), either(p, no(q)), either(no(p), q)], both(p, q)
    tree = lemmas(axioms, goal)
    assert verdict(axioms, goal, tree | {"lemmas": [[tree["table"].index("p") + 1]]}, "classical").accepted
    row = tree["table"].index("p") + 1
    for forged in ([[]], [], [[0]], [[row, len(tree["table"]) + 1]], [row], [[True]], [[1.5]], {}):
        assert not verdict(axioms, goal, tree | {"lemmas": forged}, "classical").accepted, forged
    assert not verdict([*axioms[:2]], goal, lemmas(axioms[:2], goal), "classical").accepted


# The two machines inside, against obvious ones.

FORMULA = st.recursive(
    st.sampled_from(["p", "q", "r", "s", True, False]),
    lambda sub: st.tuples(st.sampled_from(["&", "|", "=>"]), sub, sub),
    max_leaves=8,
)


def slow_follows(table, axioms, body, heads):
    """The closure of docs/certificates.md, word by word, over a table of formulas."""
    kinds, lefts, rights = table.kinds, table.lefts, table.rights

    def shown_in(d):
        shown = set()
        for f in range(len(table)):  # parts come first
            if f in d or f == TRUE:
                shown.add(f)
            if kinds[f] == AND and {lefts[f], rights[f]} <= shown:
                shown.add(f)
            if kinds[f] == OR and {lefts[f], rights[f]} & shown:
                shown.add(f)
        return shown

    def closed(d):
        d = {TRUE, *d}
        while True:
            shown = shown_in(d)
            more = {side for f in d if kinds[f] == AND for side in (lefts[f], rights[f])}
            more |= {rights[f] for f in d if kinds[f] == IMPLIES and lefts[f] in shown}
            if more <= d:
                return d, shown
            d |= more

    def done(d):
        d, shown = closed(d)
        return FALSE in d or bool(shown & set(heads))

    def disjuncts(f):
        return disjuncts(lefts[f]) | disjuncts(rights[f]) if kinds[f] == OR else {f}

    d, _ = closed({*axioms, *body})
    return done(d) or any(all(done(d | {x}) for x in disjuncts(f)) for f in d if kinds[f] == OR)


@given(
    st.lists(FORMULA, min_size=1, max_size=3),
    st.lists(FORMULA, max_size=3),
    st.randoms(use_true_random=False),
)
def test_the_closure_against_slow_exact(made, axioms, rng):
    found = read_problem(problem(axioms, to(made[0], to(made[-1], made[len(made) // 2]))), Budget(Bounds()))
    table = found.formulas
    closure = Closure(table, found.axioms)
    for _ in range(25):
        body = [rng.randrange(len(table)) for _ in range(rng.randrange(3))]
        heads = [rng.randrange(len(table)) for _ in range(rng.randrange(3))]
        assert closure.follows(body, heads) is slow_follows(table, found.axioms, body, heads)


def test_the_closure_with_long_disjunctions_against_slow_exact():
    rng = random.Random(5)
    for _ in range(10):
        budget = Budget(Bounds())
        table = Formulas(budget)
        names = [table.letter(f"x{k}") for k in range(60)]
        pairs = [table.join(AND, rng.choice(names), rng.choice(names)) for _ in range(60)]
        ors = []
        for _ in range(4):
            whole = rng.choice(names)
            for part in rng.sample(pairs + names, 50):
                whole = table.join(OR, part, whole)
            ors += [whole, table.rights[table.rights[whole]]]
        axioms = [
            table.join(IMPLIES, ors[0], names[0]),
            table.join(AND, names[1], names[2]),
            table.join(OR, names[3], ors[4]),
        ]
        closure = Closure(table, axioms)
        for _ in range(40):
            body, heads = rng.sample(names + pairs, 2), rng.sample([*ors, *names[:3]], 2)
            assert closure.follows(body, heads) is slow_follows(table, axioms, body, heads)


LITERAL = st.integers(0, 11)


@given(
    st.lists(st.lists(LITERAL, max_size=4), max_size=14), st.lists(st.lists(LITERAL, max_size=3), max_size=5)
)
def test_unit_propagation_against_slow_exact(clauses, questions):
    def slow(assumed):
        true = set(assumed)
        while not any(x ^ 1 in true for x in true):
            units = set()
            for clause in known:
                left = {x for x in clause if x ^ 1 not in true}
                if not left:
                    return True
                if len(left) == 1 and not left & true:
                    units |= left
            if not units:
                return False
            true |= units
        return True

    fast, known = Clauses(6, Budget(Bounds())), []
    for clause, assumed in itertools.zip_longest(clauses, questions, fillvalue=()):
        known.append(clause)
        if clause == ():
            known.pop()
        else:
            fast.add(clause)
        assert fast.refutes(assumed) is slow(assumed)
        assert fast.refutes([]) is slow([])
        start = fast.mark()
        if not fast.conflicts(assumed[:1]):
            base = fast.mark()
            assert fast.refutes(assumed[1:]) is slow(assumed)
            fast.undo(base)
        fast.undo(start)
