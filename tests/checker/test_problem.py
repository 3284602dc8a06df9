"""The checker's own reader of problems, by what frames and tables it then accepts."""

from __future__ import annotations

import pytest
from slow_logic import core, tptp

from prereg.checker.bounds import Bounds, Budget, BudgetSpentError, RefusedError
from prereg.checker.formulas import FALSE
from prereg.checker.problem import read_formula, read_problem


def read(text):
    return read_problem(text, Budget(Bounds()))


def same(left, right):
    formulas = read("fof(c, conjecture, x).").formulas
    return read_formula(left, formulas) == read_formula(right, formulas)


@pytest.mark.parametrize("connective", ["&", "|", "=>", "<=", "<=>", "<~>", "~|", "~&"])
def test_each_connective_is_its_core(connective):
    assert same(f"p {connective} ~q", tptp(core((connective, "p", ("~", "q")))))


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("p & q & r", "(p & q) & r", True),
        ("p & q & r", "p & (q & r)", False),
        ("p | q | r | p", "((p | q) | r) | p", True),
        ("~ ~ p", "p", False),
        ("~~p", "(p => $false) => $false", True),
        ("~p & q", "(~p) & q", True),
        ("'p'", "p", True),
        ("'$true'", "$true", False),
        (r"'a\'b\\'", r"'a\'b\\'", True),
        ("((((p))))", "p", True),
        ("p/* c */=>% d\nq", "p=>q", True),
        ("p<=q", "q=>p", True),
    ],
)
def test_what_is_one_formula_and_what_is_two(left, right, equal):
    assert same(left, right) is equal


def test_axioms_keep_their_order_and_repeats_and_annotations_are_skipped():
    found = read(
        "fof(1, axiom, p, file('x.p', a), [b(c, [d])]).\nfof('a b', hypothesis, q).\n"
        'fof(c, conjecture, r, inference(r, [status(thm)], [X, "y"])).\nfof(a, axiom, p).'
    )
    p, q, r = (found.formulas.letters[x] for x in "pqr")
    assert found.axioms == (p, q, p)
    assert found.conjecture == r


@pytest.mark.parametrize(
    "text",
    [
        "", "% nothing\n", "fof(a, axiom, p).", "fof(a, conjecture, p). fof(b, conjecture, p).", "fof(a, conjecture, p)",
        "fof(a, conjecture, (p).", "fof(a, conjecture, p)).", "fof(a, conjecture, p q).", "fof(a, conjecture, p &).",
        "fof(a, conjecture, & p).", "fof(a, conjecture, p & q | r).", "fof(a, conjecture, p => q => r).",
        "fof(a, conjecture, p <=> q <=> r).", "fof(a, conjecture, ).", "fof(a, conjecture, P).", "fof(a, conjecture, p(a)).",
        "fof(a, conjecture, a = b).", "fof(a, conjecture, ! [X] : p).", "fof(a, conjecture, $maybe).",
        "fof(a, guess, p).", "fof(a, p).", "fof(A, conjecture, p).", "cnf(a, conjecture, p).", "include('a.p').",
        "fof(a, conjecture, 'p).", "fof(a, conjecture, '').", "/* open", "fof(a, conjecture, p v q).", "fof(a, conjecture, ()).",
        "fof(a, conjecture, ~).", "fof(a, conjecture, p, [).", "\x00", "fof(a, conjecture, é).", "/" + "*/" * 3,
        "fof(a, conjecture, 1).",
    ],
)  # fmt: skip
def test_what_is_no_problem_is_refused_in_one_line(text):
    with pytest.raises(RefusedError) as error:
        read(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_brackets_nest_a_hundred_thousand_deep_without_recursion():
    deep = 100_000
    found = read(f"fof(c, conjecture, {'(~' * deep}p{')' * deep}).")
    formula, count = found.conjecture, 0
    while formula != found.formulas.letters["p"]:
        assert found.formulas.rights[formula] == FALSE
        formula = found.formulas.lefts[formula]
        count += 1
    assert count == deep


def test_a_chain_of_equivalences_grows_by_a_constant_for_each_link():
    links = 2000
    text = "".join(f"(x{k} <=> " for k in range(links)) + "y" + ")" * links
    assert len(read(f"fof(c, conjecture, {text}).").formulas) == 2 + links + 1 + 3 * links


def test_bounds_of_text_and_formulas_hold():
    with pytest.raises(BudgetSpentError):
        read_problem(" " * 101, Budget(Bounds(problem=100)))
    with pytest.raises(BudgetSpentError):
        read_problem("fof(c, conjecture, (p & q) | r).", Budget(Bounds(formulas=6)))
    # Unclosed comments, quotes and strings are read once.
    for piece in ("/*", "'", '"', "'\\"):
        with pytest.raises((RefusedError, BudgetSpentError)):
            read(piece * 200_000)
