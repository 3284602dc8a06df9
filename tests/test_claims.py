"""Claims taken apart into legs: which tree, which texts, which counts, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from prereg import judge, questions
from prereg.expression.claims import SupportCondition, support_condition, support_outcomes
from prereg.expression.ranges import UNIT
from prereg.expression.syntax import parse
from prereg.values import SCALAR
from small_world import Values, World

RUNS, GATES = ("a", "b"), ("none", "0.8")
REDUCE = "reduce it (all, any, mean, spearman …) or select one policy"


def world(**more):
    grid = [(r, g) for r in RUNS for g in GATES]
    metrics = {
        "precision": Values(
            ("run", "gate"),
            dict(zip(grid, [[0.9, 0.8], [0.8, 0.9], [0.7, 0.6], [None, 0.5]], strict=True)),
            range=UNIT,
            degenerate={"always": ((), {(): [0.0, 0.0]}), "never": ((), {(): [None, None]})},
        ),
        "recall": Values(("run", "gate"), {k: [0.5, 0.5] for k in grid}, range=UNIT),
        "ece": Values(("run",), {("a",): [0.1, 0.2], ("b",): [0.2, 0.2]}, range=UNIT),
        "bad": Values(("run",), {("a",): [1.0, 0.0], ("b",): [0.0, None]}, "truth", UNIT),
        "tau": Values(("run", "gate"), {k: [0.25, 0.25] for k in grid}, attribute=True),
    }
    return World(metrics, {"run": RUNS, "gate": GATES}, **more)


def outline(node):
    """The judge's tree as nested texts."""
    match node:
        case judge.Junction(kind=kind, children=children):
            return (kind, *map(outline, children))
        case judge.Not(child=child):
            return ("not", outline(child))
        case judge.Truth(text=text):
            return f"<{text}>"
        case _:
            return node.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ece[a] < 0.5", "ece[a] < 0.5"),
        ("  ece[a]\n <  0.5 ", "ece[a] < 0.5"),
        ("0 < ece[a] < 0.5", ("and", "0 < ece[a]", "ece[a] < 0.5")),
        ("ece[a] within [0.1, 0.5]", ("and", "ece[a] >= 0.1", "ece[a] <= 0.5")),
        ("not ece[a] < 0.5", ("not", "ece[a] < 0.5")),
        (
            "ece[a] < 0.5 and (ece[b] < 0.5 or ece[b] > 0.9)",
            ("and", "ece[a] < 0.5", ("or", "ece[b] < 0.5", "ece[b] > 0.9")),
        ),
        ("all(ece < 0.5)", ("and", "ece < 0.5 [a]", "ece < 0.5 [b]")),
        ("any(not ece < 0.5)", ("or", ("not", "ece < 0.5 [a]"), ("not", "ece < 0.5 [b]"))),
        ("not all(ece < 0.5)", ("not", ("and", "ece < 0.5 [a]", "ece < 0.5 [b]"))),
        (
            "any(all(precision > 0.5, over=gate))",
            (
                "or",
                ("and", "precision > 0.5 [a, none]", "precision > 0.5 [a, 0.8]"),
                ("and", "precision > 0.5 [b, none]", "precision > 0.5 [b, 0.8]"),
            ),
        ),
        (
            "all(all(precision > 0.5, over=gate) or ece > 0.5)",
            (
                "and",
                ("or", ("and", "precision > 0.5 [a, none]", "precision > 0.5 [a, 0.8]"), "ece > 0.5 [a]"),
                ("or", ("and", "precision > 0.5 [b, none]", "precision > 0.5 [b, 0.8]"), "ece > 0.5 [b]"),
            ),
        ),
        (
            "all(ece within [0, 1])",
            ("and", ("and", "ece >= 0 [a]", "ece <= 1 [a]"), ("and", "ece >= 0 [b]", "ece <= 1 [b]")),
        ),
        (
            "all(mean(precision, over=gate) > ece)",
            ("and", "mean(precision, over=gate) > ece [a]", "mean(precision, over=gate) > ece [b]"),
        ),
        ("point(ece[a] > 0.1) and ece[a] > 0", ("and", "ece[a] > 0.1", "ece[a] > 0")),
        ("differs(ece[a], ece[b])", "differs(ece[a], ece[b])"),
        ("defined(ece[a])", "<defined(ece[a])>"),
        ('argmin(ece) == "a"', '<argmin(ece) == "a">'),
        ('ece[a] > 0 and argmin(ece) in ["a", "b"]', ("and", "ece[a] > 0", '<argmin(ece) in ["a", "b"]>')),
        ("all(bad)", ("and", "<bad [a]>", "<bad [b]>")),
        ("mean(bad) <= 0.10", "mean(bad) <= 0.10"),
        ("(ece[a] > 0) == (ece[b] > 0)", "(ece[a] > 0) == (ece[b] > 0)"),
        # a factor takes the factors of what it meets, in a leg and beside one
        ("all(precision > gate)", ("and", *(f"precision > gate [{r}, {g}]" for r in RUNS for g in GATES))),
        (
            "all(gate < 0.5 or ece[a] > 0)",
            ("and", ("or", "gate < 0.5 [none]", "ece[a] > 0"), ("or", "gate < 0.5 [0.8]", "ece[a] > 0")),
        ),
        (
            'all(run == "b" or precision[gate=none] > 0.8)',
            (
                "and",
                ("or", '<run == "b" [a]>', "precision[gate=none] > 0.8 [a]"),
                ("or", '<run == "b" [b]>', "precision[gate=none] > 0.8 [b]"),
            ),
        ),
        (
            "all(gate > 0.5 or precision > 0.5)",
            (
                "and",
                *(("or", f"gate > 0.5 [{g}]", f"precision > 0.5 [{r}, {g}]") for r in RUNS for g in GATES),
            ),
        ),
        ("all(tau < 0.5)", ("and", *(f"tau < 0.5 [{r}, {g}]" for r in RUNS for g in GATES))),
    ],
)
def test_trees_by_hand(text, expected):
    assert outline(world().judged(text)) == expected


LETS = {
    "good": "ece[a] < 0.5 and ece[b] < 0.5",
    "chain": "0 <\n ece[a] < 1",
    "again": "good",
    "gap": "ece[a] - ece[b]",
    "every": "all(ece < 0.5)",
    "fine": "ece < 0.5",
    "flag": "bad[a]",
    "label": "argmin(ece)",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("good", ("and", "ece[a] < 0.5", "ece[b] < 0.5")),
        ("again", ("and", "ece[a] < 0.5", "ece[b] < 0.5")),
        ("not good or gap > 0", ("or", ("not", ("and", "ece[a] < 0.5", "ece[b] < 0.5")), "gap > 0")),
        ("chain", ("and", "0 < ece[a]", "ece[a] < 1")),
        ("every", ("and", "ece < 0.5 [a]", "ece < 0.5 [b]")),
        (
            "all(fine and ece > 0)",
            ("and", ("and", "ece < 0.5 [a]", "ece > 0 [a]"), ("and", "ece < 0.5 [b]", "ece > 0 [b]")),
        ),
        ("flag", "<bad[a]>"),
        ('label == "a"', '<label == "a">'),
        ("point(good)", ("and", "ece[a] < 0.5", "ece[b] < 0.5")),
    ],
)
def test_a_let_is_taken_apart_like_its_text(text, expected):
    assert outline(world(lets=LETS).judged(text)) == expected


def test_problems_behind_a_let_stand_at_its_name():
    w = world(lets={**LETS, "loop": "not loop", "vector": "ece > 0"})
    assert w.claim_problem("ece[a] > 0 and loop") == ("loop", "`loop` is defined by itself: loop -> loop")
    at, message = w.claim_problem("vector")
    assert at == "vector"
    assert message.startswith("a claim is one truth value, this compares 2 policies (run): reduce it")
    at, message = w.claim_problem("gap")
    assert (at, message) == ("gap", "a claim is a truth value: compare it with something")


def test_lets_with_a_problem_of_their_own_are_silent():
    claim, compiler = world(lets=LETS, broken=frozenset({"good"})).claim("good and ece[a] > 0")
    assert claim is None
    assert compiler.problems == []


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        (
            "precision > 0",
            "precision > 0",
            "a claim is one truth value, this compares 4 policies (run, gate): " + REDUCE,
        ),
        (
            "ece[run in [a]] > 0",
            "ece[run in [a]] > 0",
            "a claim is one truth value, this compares 1 policy (run): " + REDUCE,
        ),
        ("mean(ece)", "mean(ece)", "a claim is a truth value: compare it with something"),
        ("1 < 2", "1 < 2", "a claim without a metric says nothing about the records"),
        ("true", "true", "a claim without a metric says nothing about the records"),
        ("all(gate > 0.5)", "all(gate > 0.5)", "a claim without a metric says nothing about the records"),
        ('any(run == "a")', 'any(run == "a")', "a claim without a metric says nothing about the records"),
        (
            "all(ece[a] > 0)",
            "all(ece[a] > 0)",
            "`all` folds a vector over policies; this is one value already",
        ),
        ("all(ece)", "ece", "a claim is a truth value: compare it with something"),
        (
            "all(ece > 0, over=gate)",
            "all(ece > 0, over=gate)",
            "`over=gate`: the vector has no such factor; it has `run`",
        ),
        ("all(ece > 0, ece < 1)", "all(ece > 0, ece < 1)", "`all` takes one truth value per policy"),
        (
            "all(precision > 0 and ece > 0)",
            "precision > 0 and ece > 0",
            "these parts do not align: only one has the factor `gate`; " + REDUCE,
        ),
        ("point(ece[a] > 0, ece[b] > 0)", "point(ece[a] > 0, ece[b] > 0)", "`point` takes one claim"),
        ("differs(ece[a])", "differs(ece[a])", "`differs` takes two numbers"),
        (
            "differs(argmin(ece), argmax(ece))",
            "differs(argmin(ece), argmax(ece))",
            "`differs` compares numbers; write `!=`",
        ),
        ("mean(point(ece > 0)) > 0", "point(ece > 0)", "`point` stands only in a claim, as a leg of its own"),
        (
            "support < 0.5 and ece[a] > 0",
            "support",
            "`support` stands only in `falsified_if`, in one comparison with a number",
        ),
        ("0 < typo < 1", "typo", "unknown metric `typo`; known: precision, recall, ece, bad, tau, run, gate"),
        ("ece[c] > 0", "c", "no policy of `ece` is called `c`; known: a, b"),
    ],
)
def test_refused_at_their_characters(text, at, message):
    assert world().claim_problem(text) == (at, message)


def test_truth_of_folded_claims_by_hand():
    w = world()
    assert w.truth("all(precision > 0.4)") == [None, True]
    assert w.truth("all(precision > 0.75)") == [False, False]
    assert w.truth("any(precision > 0.85)") == [True, True]
    assert w.truth("any(all(precision > 0.75, over=gate))") == [True, True]
    assert w.truth("all(undefined(precision) or precision > 0.4)") == [True, True]
    assert w.truth("not any(bad)") == [False, None]
    assert w.truth("all(precision[gate > 2] > 0)") == [None, None]


def test_points_and_two_sided_legs_are_marked():
    w = world()
    tree = w.judged("point(ece[a] > 0.1 and all(ece > 0)) and ece[a] > 0")
    assert [leg.point_only for leg in judge.nodes.elementary(tree)] == [True, True, True, False]
    assert w.judged("differs(ece[a], 0.5)").two_sided
    assert w.judged("differs(ece[a], 0.5)").op == "!="
    assert w.judged("ece[a] - ece[b] < 0").two_sided is False


def test_sides_and_d_by_hand():
    leg = world().judged("ece[b] * 2 < precision[a, none]")
    assert (leg.left, leg.right) == (0.4, 0.9)
    assert leg.d.tolist() == [-0.5, -0.4]
    assert world().judged("ece[a] - 0.1 + 0.2 > 0.2").d[0] == 0.0


def test_counts_are_those_of_each_reduction_or_metric():
    def counts(text):
        leg = world().judged(text)
        return leg.n, leg.n_undefined

    assert counts("ece[a] > 0") == (10, 0)  # units
    assert counts("ece[a] - ece[b] > 0") == ([10, 10], [0, 0])
    assert counts("mean(precision) > 0") == (3, 1)  # policies
    assert counts("mean(precision) > max(ece)") == ([3, 2], [1, 0])
    assert counts("abs(spearman(precision, recall)) > abs(spearman(recall, precision))") == ([3, 3], [1, 1])
    assert counts('argmin(precision) == "b, none"') == (3, 1)
    assert counts("precision[never] > 0") == (9, 1)


def test_unpaired_reductions_are_marked():
    w = world()
    assert w.judged("mean(precision) > mean(recall)").unpaired
    assert not w.judged("mean(precision - recall) > 0").unpaired
    assert not w.judged("mean(precision) > 0.5").unpaired
    tree = w.judged("all(mean(precision, over=gate) > mean(recall, over=gate))")
    assert [leg.unpaired for leg in tree.children] == [False, True]


def test_reasons_of_undefined_legs():
    w = world()
    tree = w.judged("all(precision / recall > 0)")
    assert [leg.reason for leg in tree.children] == [None, None, None, "vacuous"]
    assert w.judged("ece[a] / (ece[b] - 0.2) > 0").reason == "zero_division"


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("precision[always] == 0", True),
        ("undefined(precision[never]) and precision[always] == 0", True),
        ("precision[always] == 0 and ece[a] > 0", False),
        ("precision[a, none] > precision[always]", False),
        ("ece[b] > 0", True),  # a known-answer arm
        ("ece[b] > 0 and precision[never] > 0", True),
        ("all(ece[run in [b]] > 0)", True),
        ("all(ece > 0)", False),
        ("all(precision[b] > 0)", True),
        ("ece[a] > ece[b]", False),
    ],
)
def test_guards_by_hand(text, guard):
    claim, _ = world(guards=("b",)).claim(text)
    assert claim.guard is guard


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ("ece[a] >= 0", (True, False)),
        ("ece[a] > 1", (False, True)),
        ("ece[a] > 0 and ece[a] >= 0", (True, True)),
        ("ece[a] > 1 or ece[a] >= 0", (True, False)),
        ("not ece[a] >= 0", (False, True)),
        ("all(ece <= 1)", (True, False)),
        ("ece[a] within [0, 1]", (True, False)),
        ("ece[a] within [0.2, 1]", (True, True)),
        ("mean(bad) > 1", (False, True)),
        ("ece[a] + ece[b] <= 2", (True, False)),
        ("tau[a, none] > 7", (True, True)),
        ("defined(ece[a])", (True, True)),
        ("differs(ece[a], 2)", (True, False)),
        ("spearman(precision, recall) <= 1", (True, False)),
        ("count(precision > 0) >= 5", (False, True)),
    ],
)
def test_whether_a_claim_can_come_out_both_ways(text, can):
    claim, compiler = world().claim(text)
    assert not compiler.problems
    assert claim.root.can == can


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("ece[a] within [0.9, 0.1]", "0.9 is above", "0.1"),
        ("0.9 < ece[a] < 0.1", "0.9 is above", "0.1"),
        ("0.1 >= ece[a] >= 0.9", "0.9 is above", "0.1"),
        ("0.5 <= ece[a] < 0.5", "0.5 is not below", "0.5"),
        ("0.9 < ece[a] < ece[b] < 0.1", "0.9 is above", "0.1"),
        ("not all(ece within [1 - 0.1, 0.1])", "0.9 is above", "0.1"),
        ("ece[a] within [1.5, ece[b]]", "1.5 is above", "1"),  # a rate is at most 1
        ("point(ece[a] within [0.9, 0.1]) or ece[b] > 0", "0.9 is above", "0.1"),
    ],
)
def test_an_interval_that_holds_no_value_is_refused_ends_by_hand(text, low, high):
    _, compiler = world().claim(text)
    (told,) = compiler.problems
    assert told.message == (
        f"this interval holds no value: its lower end {low} its upper end {high}, "
        "expected the smaller number as the lower end"
    )


@pytest.mark.parametrize(
    "text",
    [
        "ece[a] within [0.5, 0.5]",
        "0.5 <= ece[a] <= 0.5",
        "0.1 < ece[a] > 0.05",  # a chain of two directions has no ends
        "0.5 > ece[a] > 0.1",
        "ece[a] within [ece[b], 0.1]",
        "0.1 < ece[a] < ece[b] < 0.9",
    ],
)
def test_an_interval_that_holds_a_value_is_accepted_by_hand(text):
    claim, compiler = world().claim(text)
    assert claim is not None
    assert not compiler.problems


# -- rates for exact tests ---------------------------------------------------------------------------------


def rates(text, lets=None):
    claim, compiler = world(lets=lets or {}).claim(text)
    assert not compiler.problems
    leg = claim.legs[0]

    def spoken(rate):
        return None if rate is None else (rate.name, rate.degenerate, rate.where.tolist())

    return spoken(leg.left), spoken(leg.right), leg.constant, leg.flipped


A, B = ("ece", None, [0]), ("ece", None, [1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ece[a] > 0.5", (A, None, 0.5, False)),
        ("0.5 < ece[a]", (A, None, 0.5, True)),
        ("ece[b] > 1 - 0.5", (B, None, 0.5, False)),
        ("ece[b] > -(0.5)", (B, None, -0.5, False)),
        ("ece[b] > sqrt(0.25)", (B, None, 0.5, False)),
        ("ece[a] > ece[b]", (A, B, None, False)),
        ("ece[a] - ece[b] > 0", (A, B, None, False)),
        ("ece[a] - ece[b] >= 0.0", (A, B, None, False)),
        ("(ece[a] - ece[b]) < 0", (A, B, None, False)),
        ("0 < ece[a] - ece[b]", (B, A, None, False)),  # d is ece[b] - ece[a]
        ("ece[a] - ece[b] > 0.1", (None, None, 0.1, False)),
        ("ece[a] + ece[b] > 0", (None, None, None, False)),
        ("ece[a] * 1 > 0.5", (None, None, None, False)),
        ("abs(ece[a]) > 0.5", (None, None, None, False)),
        ("mean(ece) > 0.5", (None, None, None, False)),
        ("all(ece > 0.5)", (("ece", None, [0, 1]), None, 0.5, False)),
        ("all(ece[run in [b]] > 0.5)", (B, None, 0.5, False)),
        (
            "all(precision[b] > recall[b])",
            (("precision", None, [2, 3]), ("recall", None, [2, 3]), None, False),
        ),
        ("precision[always] > 0.5", (("precision", "always", [0]), None, 0.5, False)),
        (
            "precision[a, none] > precision[always]",
            (("precision", None, [0]), ("precision", "always", [0]), None, False),
        ),
        (
            "all(ece[run in [a]] > ece[run in [b]])",
            (("ece", None, [0, -1]), ("ece", None, [-1, 1]), None, False),
        ),
    ],
)
def test_rates_behind_a_leg_by_hand(text, expected):
    assert rates(text) == expected


def test_rates_behind_a_let():
    lets = {"gap": "ece[a] - ece[b]", "best": "ece[b]"}
    assert rates("gap > 0", lets) == (A, B, None, False)
    assert rates("0 > gap", lets) == (B, A, None, False)
    assert rates("best > 0.5", lets) == (B, None, 0.5, False)


def prepared(hits, rows, parts=(0, 0), clusters=None):
    """What `exact_of` reads: hits and rows per unit of two arms on one panel."""
    pieces = [
        SimpleNamespace(
            units=np.array([1]), unit_hits=np.array([h]), unit_rows=np.array([r]), panel=0, part=part
        )
        for h, r, part in zip(hits, rows, parts, strict=True)
    ]
    draws = None if clusters is None else SimpleNamespace(drawn_of_unit=np.array(clusters))
    samples = {(0, part): SimpleNamespace(draws=draws) for part in parts}
    return SimpleNamespace(pieces={("ece", None): pieces}, plan=SimpleNamespace(samples=samples))


def exact(text, *args, **keys):
    claim, _ = world().claim(text)
    return questions.exact_of(claim.legs[0], 0, prepared(*args, **keys))


ONES = [1, 1, 1, 1]


def test_exact_counts_by_hand():
    hits = ([1, 1, 1, 0], [0, 1, 0, 1])
    assert exact("ece[a] > 0.5", hits, (ONES, ONES)) == judge.OneRate(3, 4)
    assert exact("0.5 < ece[b]", hits, (ONES, ONES)) == judge.OneRate(2, 4, flipped=True)
    assert exact("ece[a] > ece[b]", hits, (ONES, ONES)) == judge.TwoRates(2, 1, 4)
    assert exact("ece[a] - ece[b] > 0", hits, (ONES, ONES)) == judge.TwoRates(2, 1, 4)
    assert exact("0 < ece[a] - ece[b]", hits, (ONES, ONES)) == judge.TwoRates(1, 2, 4)
    # units outside `among` on both sides do not count; on one side there is no exact test
    assert exact("ece[a] > ece[b]", hits, ([1, 1, 1, 0], [1, 1, 1, 0])) == judge.TwoRates(2, 0, 3)
    assert exact("ece[a] > ece[b]", hits, ([1, 1, 1, 0], ONES)) is None
    assert exact("ece[a] > ece[b]", hits, (ONES, ONES), parts=(0, 1)) is None
    # a unit with rows of both kinds is no single success
    assert exact("ece[a] > 0.5", ([1, 1, 2, 0], hits[1]), ([2, 1, 2, 1], ONES)) is None
    assert exact("ece[a] > ece[b]", ([1, 2], [1, 1]), ([3, 3], [2, 2])) == judge.TwoRates(1, 1, 2)
    assert exact("mean(ece) > 0.5", hits, (ONES, ONES)) is None


def test_exact_counts_of_clusters_by_hand():
    pairs = [0, 0, 1, 1]
    hits = ([1, 1, 1, 0], [0, 1, 0, 1])
    # the clusters have 2 and 1 right against 1 and 1: left is above in the first, the second is a tie
    assert exact("ece[a] > ece[b]", hits, (ONES, ONES), clusters=pairs) == judge.TwoRates(1, 0, 2)
    # a unit that neither has leaves its cluster: 1 of 1 against 0 of 1 in the first
    both = ([1, 0, 1, 1], [1, 0, 1, 1])
    assert exact("ece[a] > ece[b]", ([1, 0, 1, 0], [0, 0, 0, 1]), both, clusters=pairs) == judge.TwoRates(
        1, 0, 2
    )
    # the same clusters, but not the same units in them: no exact test, as without clusters
    assert exact("ece[a] > ece[b]", hits, ([1, 0, 1, 0], [0, 1, 0, 1]), clusters=pairs) is None
    assert exact("ece[a] > ece[b]", hits, ([1, 1, 1, 0], ONES), clusters=pairs) is None
    assert exact("ece[a] > 0.5", ([1, 1, 0, 0], hits[1]), (ONES, ONES), clusters=pairs) == judge.OneRate(1, 2)


def test_rates_of_a_policy_that_is_missing_are_missing():
    claim, _ = lopsided().claim("all(z > 0.5 and x > 0.5)")
    z, x = claim.legs
    assert z.axes.keys == x.axes.keys == (("b",), ("c",), ("a",))
    assert (z.left.where.tolist(), x.left.where.tolist()) == ([0, 1, -1], [1, -1, 0])


# -- conditions on support ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("support < 0.5", SupportCondition("<", 0.5)),
        ("support == 0", SupportCondition("==", 0.0)),
        ("0.25 >= support", SupportCondition("<=", 0.25)),
        ("0 != support", SupportCondition("!=", 0.0)),
        ("ece[a] < 0.5", None),
        ("0.1 < support < 0.5", None),
        ("support < support", None),
        ("not support < 0.5", None),
    ],
)
def test_support_conditions_by_hand(text, expected):
    assert support_condition(parse(text)) == expected


def test_what_a_condition_on_support_can_be():
    assert support_outcomes(SupportCondition("<", 0.5)) == (True, True)
    assert support_outcomes(SupportCondition("<", 0)) == (False, True)
    assert support_outcomes(SupportCondition("<=", 1)) == (True, False)


# -- policies that a part does not have --------------------------------------------------------------------


def lopsided():
    """x and u lack the policy c, z lacks a; the last key must never stand in for a missing one."""
    return World(
        {
            "x": Values(("run",), {("a",): [0.9], ("b",): [0.8]}),
            "u": Values(("run",), {("a",): [0.9], ("b",): [0.1]}),
            "z": Values(("run",), {("b",): [0.7], ("c",): [0.6]}),
            "g": Values(("run", "gate"), {("a", "1"): [1.0], ("b", "1"): [1.0], ("b", "2"): [1.0]}),
        },
        {"run": ("a", "b", "c"), "gate": ("1", "2")},
    )


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("all(z > 0 or (x > 0 and u > 0))", True),
        ("all(z > 0 and (x > 0 or u > 0))", None),
        ("all(z > 0.65 and (x > 0 or u > 0))", False),
        ("any(z < 0.65 and (x > 0 and u < 0.5))", None),
        ("any(z < 0.65 and not (x > 0 or u > 0))", None),
        ("all(z > 0 or not (x > 1 or defined(u)))", None),
        ("all(undefined(z) or undefined(x) or (x > z and u >= 0))", True),
        ("all(defined(z) or x > 0)", True),
        ("all(z > 0 or all(g > 0, over=gate))", True),
        ("all(z > 0 and all(g > 0, over=gate))", None),
        ("any(z < 0.65 and all(g > 0, over=gate))", None),
        ("all(undefined(x) or 0 < x <= 1) and any(undefined(x) and z > 0)", True),
    ],
)
def test_a_missing_policy_is_undefined_however_deep_by_hand(text, truth):
    assert lopsided().truth(text) == [truth]
    assert lopsided().value(text) == (None if truth is None else float(truth))


def test_the_text_of_a_leg_names_the_policy_that_is_missing():
    tree = lopsided().judged("all(z > 0 and (x > 0 or u > 0))")
    texts = [leg.text for leg in judge.nodes.elementary(tree)]
    assert texts == [f"{m} > 0 [{run}]" for run in "bca" for m in "zxu"]


def test_a_scalar_claim_is_one_leg():
    claim, _ = world().claim("ece[a] > 0")
    assert claim.simple
    assert claim.root.axes == SCALAR
    assert not world().claim("not ece[a] > 0")[0].simple
