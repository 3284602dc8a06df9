"""Expressions over policies, against a slow evaluator over dictionaries and by hand."""

from __future__ import annotations

import itertools
import random
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prereg.expression import syntax
from prereg.expression.ranges import COUNT, UNIT, Range
from prereg.expression.terms import Result
from prereg.ranks import Ranked
from small_world import NAN, Frame, Values, World, slow

RUNS, GATES = ("knn-30", "svc", "7"), ("none", "0.5", "0.8")


def world(**more):
    """Three runs by three gates; `ece` has no gate; svc at 0.8 answers nothing."""
    precision = {
        (r, g): [0.5 + 0.1 * i + 0.05 * j, 0.5, 0.25] for i, r in enumerate(RUNS) for j, g in enumerate(GATES)
    }
    precision["svc", "0.8"] = [None, None, 0.5]
    recall = {
        (r, g): [1.0 - 0.1 * i - 0.2 * j, 0.5, 0.75] for i, r in enumerate(RUNS) for j, g in enumerate(GATES)
    }
    metrics = {
        "precision": Values(
            ("run", "gate"),
            precision,
            range=UNIT,
            degenerate={"always": ((), {(): [0.0, 0.0, 0.0]}), "never": ((), {(): [None, None, None]})},
        ),
        "recall": Values(
            ("run", "gate"), recall, range=UNIT, degenerate={"always": ((), {(): [1.0, 1.0, 1.0]})}
        ),
        "ece": Values(("run",), {(r,): [0.1 * (i + 1), 0.2, 0.3] for i, r in enumerate(RUNS)}, range=UNIT),
        "wins": Values(("run",), {(r,): [float(10 * i), 1.0, 2.0] for i, r in enumerate(RUNS)}, range=COUNT),
        "tau": Values(
            ("run", "gate"), {(r, g): [0.3, 0.3, None] for r in RUNS for g in GATES}, attribute=True
        ),
    }
    return World(metrics, {"run": RUNS, "gate": GATES}, **more)


# -- selection ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('precision["knn-30", gate=none]', 0.5),
        ("precision[svc, 0.5]", 0.65),
        ("precision[gate=0.5, run=svc]", 0.65),
        ("precision[run=svc, gate=0.50]", 0.65),
        ("precision[run=svc, gate=5e-1]", 0.65),
        ('precision[run="svc", gate="0.5"]', 0.65),
        ("precision[7, 0.8]", 0.8),
        ("ece[run=7]", 0.3),
        ('ece["7"]', 0.3),
        ("ece[7.0]", 0.3),
        ("precision[svc, gate=0.8]", None),  # defined for two of three gates: here it answers nothing
        ("precision[always]", 0.0),
        ("precision[run=always]", 0.0),
        ("precision[never]", None),
    ],
)
def test_one_policy_is_selected_by_hand(text, expected):
    value = world().value(text)
    assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("precision[gate >= 0.5]", {("0.5", r) for r in RUNS} | {("0.8", r) for r in RUNS}),
        ("precision[gate > 0.5]", {("0.8", r) for r in RUNS}),
        ("precision[gate < 9]", {("0.5", r) for r in RUNS} | {("0.8", r) for r in RUNS}),
        ("precision[gate <= 0.50]", {("0.5", r) for r in RUNS}),
        ("precision[gate in [none, 0.80]]", {("none", r) for r in RUNS} | {("0.8", r) for r in RUNS}),
        ("precision[gate != 0.5]", {("none", r) for r in RUNS} | {("0.8", r) for r in RUNS}),
        ("precision[gate=none]", {(r,) for r in RUNS}),
        ("precision[svc]", {(g,) for g in GATES}),
        ("precision[run in [svc], gate >= 0.5]", {("0.5", "svc"), ("0.8", "svc")}),
        ("precision", set(itertools.product(GATES, RUNS))),
    ],
)
def test_selected_policies_by_hand_none_passes_no_order(text, keys):
    assert set(world().vector(text)) == keys


def test_selecting_one_value_removes_the_factor_and_a_list_keeps_it():
    w = world()
    assert w.compile("precision[gate=0.5]")[0].axes.factors == ("run",)
    assert w.compile("precision[gate in [0.5]]")[0].axes.factors == ("run", "gate")
    assert w.compile("precision[svc, 0.5]")[0].axes.scalar


SPELLINGS = ["0.05", "0.050", "5e-2", ".05", "0.5e-1", '"0.05"', '"0.050"', "5.0e-02"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_factor_value_is_a_decimal_however_it_is_spelt(spelling):
    w = World({"m": Values(("budget",), {("0.05",): [1.0], ("0.5",): [2.0]})}, {"budget": ("0.05", "0.5")})
    assert w.value(f"m[budget={spelling}]") == 1.0
    assert w.value(f"m[{spelling}]") == 1.0


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("precision[gate=0.6]", "gate=0.6", "`gate` has no value `0.6`; known: none, 0.5, 0.8"),
        ("precision[svcc]", "svcc", "no policy of `precision` is called `svcc`; did you mean `svc`?"),
        ("precision[gte=0.5]", "gte=0.5", "unknown factor `gte`; did you mean `gate`?"),
        ("ece[gate=0.5]", "gate=0.5", "`ece` does not depend on `gate`, or it was selected already"),
        (
            "precision[svc, run=svc]",
            "run=svc",
            "`precision` does not depend on `run`, or it was selected already",
        ),
        ("precision[run >= svc]", "run >= svc", "`>=` compares numbers; `svc` is none"),
        ("precison[svc]", "precison[svc]", "unknown metric `precison`; did you mean `precision`?"),
        ("gate[0.5]", "gate[0.5]", "`gate` is a factor; select from a metric"),
        ("precision[always, never]", "never", "one degenerate policy at a time"),
        ("ece[always]", "always", "no policy of `ece` is called `always`; that policy has no value of it"),
        ("svc", "svc", "`svc` is a policy, not a metric; write metric[svc], or quote it as a label"),
        (
            "always",
            "always",
            "`always` is a policy, not a metric; write metric[always], or quote it as a label",
        ),
    ],
)
def test_a_wrong_selection_is_told_at_its_characters(text, at, message):
    assert world().problem(text) == (at, message)


def test_a_value_of_two_factors_is_ambiguous():
    w = World(
        {"m": Values(("model", "judge"), {("gpt", "gpt"): [1.0], ("gpt", "o1"): [2.0]})},
        {"model": ("gpt",), "judge": ("gpt", "o1")},
        arm="model",
    )
    assert w.problem("m[gpt]") == ("gpt", "`gpt` is a value of `model`, `judge`; write model=gpt")
    assert w.value("m[model=gpt, judge=gpt]") == 1.0
    assert w.value("m[model=gpt, o1]") == 2.0


def test_numeric_names_that_are_one_number_must_be_quoted():
    w = World(
        {"m": Values(("run",), {("1",): [1.0], ("01",): [2.0], ("1_0",): [3.0]})}, {"run": ("1", "01", "1_0")}
    )
    assert w.problem("m[1]") == ("1", '`1` may be "1" or "01": quote the one that is meant')
    assert w.value('m["01"]') == 2.0
    assert w.value('m["1_0"]') == 3.0  # no number of the language, so never 10
    assert w.problem("m[10]")[1].startswith("no policy of `m` is called `10`")


def test_several_arm_columns_are_several_factors():
    keys = [("gpt", "short"), ("gpt", "long"), ("o1", "short")]
    w = World(
        {"m": Values(("model", "prompt"), {k: [float(i)] for i, k in enumerate(keys)})},
        {"model": ("gpt", "o1"), "prompt": ("short", "long")},
        arm="model",
        guards=("o1",),
    )
    assert w.value('argmax(m) == "o1, short"') == 1
    assert w.vector("m[gpt]") == {("long",): 1, ("short",): 0}
    assert w.value("m[o1, long]") is None
    assert w.reason("m[o1, long]") == ["no_partner"]
    assert w.vector('argmin(m, over=prompt) == "short"') == {("gpt",): 1, ("o1",): 1}
    assert w.compile("m[o1]")[0].guard is True
    assert w.compile("m[short]")[0].guard is False


def test_excluded_policies_are_absent_and_undefined_by_name():
    w = world()
    w.metrics["ece"].excluded = frozenset({("svc",)})
    w.metrics["precision"].excluded = frozenset({("svc", "none"), ("svc", "0.5"), ("svc", "0.8")})
    assert set(w.vector("ece")) == {("knn-30",), ("7",)}
    assert w.value("ece[svc]") is None
    assert w.reason("ece[svc]") == ["excluded"]
    assert w.value("undefined(ece[svc])") == 1.0
    assert w.value("mean(precision[svc])") is None
    _, compiler = w.compile("ece[svc]")
    assert [x.message for x in compiler.warnings] == [
        "every such policy of `ece` is excluded: this is undefined"
    ]
    _, result = w.result("mean(ece)")
    assert [(int(n[0]), int(u[0])) for n, u in result.facts.counts] == [(2, 0)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("spearman(ece[run in [svc, 7]], wins[run in [svc, 7]])", "`spearman` over two policies"),
        ("mean(slope(precision[run in [svc]], recall[run in [svc]], over=run))", "`slope` over one policy"),
        ("sd(ece[run in [svc]])", "`sd` over one policy"),
        ("kendall(ece, wins)", None),
        ("sd(ece[run in [svc, 7]])", None),
        ("mean(ece[run in [svc]])", None),
    ],
)
def test_too_few_policies_are_undefined_and_warned_of(text, told):
    w = world()
    _, compiler = w.compile(text)
    least = 2 if "sd" in text else 3
    expected = [] if told is None else [f"{told} is undefined: it needs {least} or more"]
    assert [x.message for x in compiler.warnings] == expected
    assert (w.value(text) is None) == bool(told)


def test_a_selection_of_nothing_is_undefined_and_warned_of():
    w = world()
    term, compiler = w.compile("mean(precision[gate > 5])")
    assert [x.message for x in compiler.warnings] == [
        "no policy of `precision` has these values: this is undefined"
    ]
    assert np.isnan(term.evaluate(w.frame()).data).all()
    for name in ("median", "min", "max", "sum", "sd", "count", "share", "all", "any"):
        inner = (
            "precision[gate > 5] > 0" if name in ("count", "share", "all", "any") else "precision[gate > 5]"
        )
        assert w.value(f"{name}({inner})") is None
    assert w.value("spearman(precision[gate > 5], recall[gate > 5])") is None
    assert w.value("quantile(precision[gate > 5], 0.5)") is None
    assert w.value("undefined(argmin(precision[gate > 5]))") == 1.0
    assert w.vector("argmin(precision[gate > 5], over=run)") == {}
    assert w.vector("spearman(precision[gate > 5], recall[gate > 5], over=run)") == {}
    assert w.vector("mean(precision[gate > 5], over=run)") == {}


def test_a_vector_of_nothing_meets_another():
    assert set(world().vector("precision[gate > 5] - recall").values()) == {None}


# -- factors and attributes --------------------------------------------------------------------------------


def test_a_factor_takes_the_factors_of_what_it_meets():
    w = world()
    assert w.vector("precision - gate")["0.5", "svc"] == pytest.approx(0.15)
    assert w.vector("precision - gate")["none", "svc"] is None
    assert w.vector("precision[gate >= 0.5] > gate * 2").keys() == w.vector("precision[gate >= 0.5]").keys()
    assert w.vector("gate * mean(ece) < precision").keys() == w.vector("precision").keys()
    assert w.value("max(gate)") == 0.8
    assert w.vector("tau - precision")["0.5", "svc"] == pytest.approx(-0.35)
    assert w.value("tau[svc, 0.5]") == 0.3
    assert w.value("mean(tau)") == 0.3
    assert w.vector("tau > gate")["0.5", "svc"] == 0


def test_a_factor_that_was_selected_is_gone():
    # after `gate=0.5` a gate of its own would be a second vector
    at, message = world().problem("precision[gate=0.5] - gate")
    assert (at, "only one side has the factor `gate`" in message) == ("precision[gate=0.5] - gate", True)
    assert "tau[" not in message


@pytest.mark.parametrize(
    "text",
    [
        "precision - ece",
        "spearman(precision, ece)",
        "precision > ece",
        "precision > ece and ece > 0",
        "ece + (precision)",
    ],
)
def test_vectors_with_other_free_factors_do_not_align(text):
    at, message = world().problem(text)
    assert "these vectors do not align: only one side has the factor `gate`" in message
    assert text.startswith(at) or at in text


def test_labels_compare_as_texts():
    w = world()
    assert w.vector('run == "svc"') == {("knn-30",): 0, ("svc",): 1, ("7",): 0}
    assert w.vector('gate == "0.5"')[("0.5",)] == 1  # numbers read as texts where they meet one
    assert w.value('argmin(ece) == "knn-30"') == 1
    assert w.value('argmax(ece) == "7"') == 1
    assert w.value('argmax(recall) == "knn-30, none"') == 1
    assert w.vector('argmax(recall, over=gate) == "none"') == {("knn-30",): 1, ("svc",): 1, ("7",): 1}
    assert w.value("argmin(ece) == argmin(wins)") == 1
    assert w.value("argmin(ece) != argmax(wins)") == 1
    assert w.vector('run in ["svc", "7"]') == {("knn-30",): 0, ("svc",): 1, ("7",): 1}
    assert w.problem('argmin(ece) == "svcc"') == ('"svcc"', "no policy is called `svcc`; did you mean `svc`?")
    assert w.problem("argmin(ece) == 7") == ("7", 'cannot compare a label with a number; quote it: "7"')
    assert w.problem("argmin(ece) < argmax(ece)")[1] == "labels have no order: `<` compares numbers"
    assert w.problem("argmin(ece) + 1") == ("argmin(ece)", "found a label, expected a number")


def test_a_tie_of_argmin_is_undefined():
    w = World(
        {"m": Values(("run",), {("a",): [1.0, 1.0, NAN], ("b",): [1.0 + 4e-13, 2.0, NAN]})},
        {"run": ("a", "b")},
    )
    # computed in place it is settled like a metric, so 1 and 1 + 4e-13 are one number
    assert [w.value('argmin(m + 0) == "a"', row) for row in range(3)] == [None, 1.0, None]
    assert w.reason('argmin(m + 0) == "a"') == ["tie"]


# -- reductions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count(precision >= 0.7)", 3),  # 7: .70 .75 .80; svc has .60 .65 and none
        ("share(precision >= 0.7)", 3 / 8),
        ("mean(precision >= 0.7)", 3 / 8),
        ("sum(precision >= 0.7)", 3),
        ("min(wins)", 0),
        ("max(wins)", 20),
        ("median(wins)", 10),
        ("median(ece[run in [svc, 7]])", 0.25),
        ("sd(wins)", 10),
        ("quantile(wins, 0.25)", 5),
        ("quantile(wins, 1)", 20),
        ("slope(wins, ece)", 100),
        ("pearson(wins, ece)", 1),
        ("kendall(wins, -ece)", -1),
        ("spearman(wins, ece)", 1),
        ("mean(mean(recall, over=gate))", 0.7),
        ("sd(ece[run in [svc]])", None),
        ("spearman(wins[run in [svc, 7]], ece[run in [svc, 7]])", None),
        ('wins[svc] / wins["knn-30"]', None),
        ("ln(wins[svc] - 10)", None),
        ("exp(wins[svc] * 100)", None),
        ("sqrt(wins[svc] - 1) ** 2", 9),
        ("2 ** -1", 0.5),
        ("-2 ** 2", -4),
        ("(0 - wins[svc]) ** 0.5", None),
        ("if(wins[svc] > 5, 1, precision[never])", 1),
        ("if(precision[never] > 5, 1, 2)", None),
        ("maximum(wins[svc], 11, 3)", 11),
        ("0.1 + 0.2", 0.1 + 0.2),
        ("3 * (1 / 3)", 1.0),
    ],
)
def test_values_by_hand(text, expected):
    value = world().value(text)
    assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_reasons_by_hand():
    w = world()
    assert w.reason('1 / wins["knn-30"]') == ["zero_division"]
    assert w.reason("1 / precision[never]") == ["vacuous"]
    assert w.reason("mean(precision[svc, gate in [0.8]])") == ["vacuous"]
    assert w.reason("sd(ece[run in [svc]])") == ["too_few_pairs"]
    assert w.reason("spearman(wins, wins * 0)") == ["constant"]
    assert w.reason("ln(wins[svc] - 10)") == ["undefined_input"]


@pytest.mark.parametrize("own", ["spearman(wins, wins * 0)", "sd(ece[run in [svc]])", '1 / wins["knn-30"]'])
def test_an_undefined_input_is_the_reason_on_either_side_by_definition(own):
    w = world()
    assert w.reason(f"precision[never] + {own}") == ["vacuous"]
    assert w.reason(f"{own} + precision[never]") == ["vacuous"]
    assert w.reason(f"maximum({own}, 1, precision[never])") == ["vacuous"]
    assert w.reason(own) != ["vacuous"]


def test_over_keeps_the_other_factors_and_says_which_it_has():
    w = world()
    assert w.vector("mean(recall, over=gate)") == pytest.approx(
        {("knn-30",): 0.8, ("svc",): 0.7, ("7",): 0.6}
    )
    assert w.vector("count(defined(precision), over=gate)") == {("knn-30",): 3, ("svc",): 2, ("7",): 3}
    assert w.vector("sum(defined(precision), over=gate)") == {("knn-30",): 3, ("svc",): 2, ("7",): 3}
    assert w.vector("all(precision > 0.55, over=gate)") == {("knn-30",): 0, ("svc",): None, ("7",): 1}
    assert w.value("mean(recall, over=[run, gate])") == w.value("mean(recall)")
    assert w.problem("mean(recall, over=suite)")[1].startswith("`over=suite`: the vector has no such factor")
    assert w.problem("abs(recall, over=run)")[1] == "`over` belongs to functions that reduce policies"


def test_undefined_policies_are_left_out_and_counted():
    w = world()
    _, result = w.result("mean(precision)")
    assert [(int(n[0]), int(u[0])) for n, u in result.facts.counts] == [(8, 1)]
    assert w.value("mean(precision)") == pytest.approx((0.5 + 0.55 + 0.6 + 0.6 + 0.65 + 0.7 + 0.75 + 0.8) / 8)
    assert w.value("all(precision > 0.1)") is None
    assert w.value("all(precision > 0.9)") == 0
    assert w.value("any(precision > 0.7)") == 1
    assert w.value("any(precision > 0.9)") is None
    assert w.value("all(undefined(precision) or precision > 0.1)") == 1


def test_unpaired_reductions_leave_out_different_policies():
    w = world()

    def sets(text):
        return {s[0] for s in w.result(text)[1].facts.left_out}

    assert len(sets("mean(precision) - mean(recall)")) == 2
    assert len(sets("mean(precision) - max(precision)")) == 1
    assert len(sets("mean(recall) - mean(ece)")) == 1
    # the order in which a metric lists its factors is not a difference
    turned = {(g, r): v for (r, g), v in w.metrics["precision"].at.items()}
    w.metrics["turned"] = Values(("gate", "run"), turned)
    assert len(sets("mean(precision) - mean(turned)")) == 1
    # and only the group itself counts
    _, result = w.result("mean(precision, over=gate) - mean(recall, over=gate)")
    assert [len({s[i] for s in result.facts.left_out}) for i in range(3)] == [1, 2, 1]


def test_many_digits_and_large_values_do_not_depend_on_the_order_of_policies_or_the_block():
    rng = random.Random(1)
    for scale in (1.0, 1e5, 1e9, 1e300):
        numbers = [rng.uniform(-1, 1) * scale for _ in range(40)]
        seen = set()
        for _ in range(5):
            rng.shuffle(numbers)
            runs = tuple(str(i) for i in range(40))
            w = World(
                {"m": Values(("run",), {(r,): [v, 1e-3] for r, v in zip(runs, numbers, strict=True)})},
                {"run": runs},
            )
            seen.add(tuple(w.value(f"{name}(m)") for name in ("mean", "sum", "sd", "median")))
            term, _ = w.compile("mean(m)")
            alone = term.evaluate(w.frame(rows=1, first=False, begin=1)).data
            assert alone[0, 0] == w.value("mean(m)", 1) == 1e-3
        assert len(seen) == 1


def test_ranks_that_are_kept_change_nothing():
    class Keeping(Frame):
        kept: ClassVar[dict[int, Ranked]] = {}

        def ranked(self, data):
            return self.kept.setdefault(id(data), Ranked(data))

    w = world()
    for name in ("spearman", "kendall", "pearson", "slope"):
        term, _ = w.compile(f"{name}(precision, recall)")
        kept = term.evaluate(Keeping(w, w.rows)).data
        assert np.array_equal(kept, term.evaluate(w.frame()).data, equal_nan=True)
    assert Keeping.kept


# -- types -------------------------------------------------------------------------------------------------


def one_value(function, factors):
    """What is said of a side of a correlation that is constant."""
    return (
        f"`{function}` is undefined whatever the records say: this side is one value throughout, "
        f"expected one that varies over `{factors}`"
    )


def no_value(low, high):
    """What is said of an interval whose ends are the wrong way round."""
    return (
        f"this interval holds no value: its lower end {low} its upper end {high}, "
        "expected the smaller number as the lower end"
    )


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        (
            "mean(ece[svc])",
            "mean(ece[svc])",
            "`mean` reduces a vector over policies; this is one value already",
        ),
        ("count(ece)", "ece", "found a number, expected a truth value"),
        ("ece and ece > 0", "ece", "found a number, expected a truth value"),
        ("spearman(ece)", "spearman(ece)", "`spearman` takes 2 arguments, found 1"),
        ("mean(ece, wins)", "mean(ece, wins)", "`mean` takes 1 argument, found 2"),
        ("quantile(ece, 2)", "2", "the second argument of `quantile` is a number from 0 to 1"),
        ("quantile(ece, wins)", "wins", "the second argument of `quantile` is a number from 0 to 1"),
        ("meen(ece)", "meen(ece)", "unknown function `meen`; did you mean `mean`?"),
        ("abs(ece, wins)", "abs(ece, wins)", "`abs` takes 1 arguments, found 2"),
        ("point(ece > 0)", "point(ece > 0)", "`point` stands only in a claim, as a leg of its own"),
        ("if(ece > 0, run, 1)", "if(ece > 0, run, 1)", "`if` chooses between numbers or truth values"),
        (
            "support < 0.5",
            "support",
            "`support` stands only in `falsified_if`, in one comparison with a number",
        ),
        ("[ece] > 0", "[ece]", "a list stands only after `in`, `within` or as an argument"),
        ("slope(ece, 3)", "3", one_value("slope", "run")),
        ("spearman(1 + 2, precision)", "1 + 2", one_value("spearman", "run`, `gate")),
        ("pearson(ece, ece[svc])", "ece[svc]", one_value("pearson", "run")),
        ("kendall(precision, gate, over=run)", "gate", one_value("kendall", "run")),
        ("share(0.9 < ece < 0.1)", "0.9 < ece < 0.1", no_value("0.9 is above", "0.1")),
        ("mean(ece within [0.5, 0.4])", "ece within [0.5, 0.4]", no_value("0.5 is above", "0.4")),
        ("1 / 0", "1 / 0", "this constant is undefined"),
        ("ln(0 - 1)", "ln(0 - 1)", "this constant is undefined"),
        (
            "0 < typo < 1",
            "typo",
            "unknown metric `typo`; known: precision, recall, ece, wins, tau, run, gate",
        ),
        (
            "typo within [0, 1]",
            "typo",
            "unknown metric `typo`; known: precision, recall, ece, wins, tau, run, gate",
        ),
    ],
)
def test_refused_at_their_characters(text, at, message):
    assert world().problem(text) == (at, message)


def test_a_name_that_is_defined_by_itself_is_told_where_it_is_met():
    w = world(lets={"a": "b + 1", "b": "a - 1", "c": "c > 0"})
    assert w.problem("a > 0") == ("a", "`a` is defined by itself: a -> b -> a")
    assert w.problem("c") == ("c", "`c` is defined by itself: c -> c")


def test_a_let_stands_for_its_expression():
    w = world(lets={"gap": "precision - recall", "best": "max(gap[gate=0.5])"})
    assert w.vector("gap[gate=0.5]") == w.vector("precision[gate=0.5] - recall[gate=0.5]")
    assert w.value("best") == w.value("max(precision[gate=0.5] - recall[gate=0.5])")


def test_broken_names_are_silent():
    w = world(broken=frozenset({"precision"}))
    assert w.problems("precision > 0") == []
    assert w.compile("mean(precision[svc]) > 0")[0].kind == "broken"


# -- inside a degenerate policy ----------------------------------------------------------------------------


def test_a_value_of_a_degenerate_policy_reads_its_own_metrics():
    w = world()
    for text, expected in [
        ("(1 - precision) + (1 - recall)", 1.0),
        ("recall - mean(recall)", 0.3),
        ("defined(tau)", 0.0),
        ("defined(ece)", 0.0),
        ("if(defined(gate), gate, 9)", 9.0),
    ]:
        term, compiler = w.compile(text, degenerate="always")
        assert not compiler.problems
        assert term.evaluate(w.frame()).data[0, 0] == pytest.approx(expected)
    for text in ('run == "svc"', 'gate == "0.5"'):
        term, compiler = w.compile(text, degenerate="always")
        assert not compiler.problems
        assert np.isnan(term.evaluate(w.frame()).data).all()


def test_guards_are_claims_about_known_answers_alone():
    w = world(guards=("svc",))
    guards = {
        t: w.compile(t)[0].guard
        for t in ["ece", "ece[svc]", "ece[run in [svc]]", "ece[7]", "precision[always]"]
    }
    assert guards == {
        "ece": False,
        "ece[svc]": True,
        "ece[run in [svc]]": True,
        "ece[7]": False,
        "precision[always]": True,
    }
    assert w.compile("ece[svc] + precision[always]")[0].guard is True
    assert w.compile("ece[svc] + ece[7]")[0].guard is False
    assert w.compile("1 + 1")[0].guard is None


# -- against the slow evaluator ----------------------------------------------------------------------------

EIGHTHS = st.one_of(st.none(), st.sampled_from([x / 8 for x in range(-4, 9)]))


@st.composite
def worlds(draw):
    """Metrics on different policies: some keys only one of them has, in different orders of keys and factors."""
    runs, gates = ("a", "b", "c"), ("none", "0.25", "0.5")
    every = list(itertools.product(runs, gates))
    metrics = {}
    for name in ("x", "y", "t"):
        keys = draw(st.permutations(draw(st.lists(st.sampled_from(every), unique=True, min_size=1))))
        turned = draw(st.booleans())
        truth = name == "t"
        element = st.one_of(st.none(), st.sampled_from([0.0, 1.0])) if truth else EIGHTHS
        at = {
            (key[1], key[0]) if turned else key: draw(st.lists(element, min_size=2, max_size=2))
            for key in keys
        }
        factors = ("gate", "run") if turned else ("run", "gate")
        metrics[name] = Values(factors, at, "truth" if truth else "number")
    return World(metrics, {"run": runs, "gate": gates})


def numbers(depth):
    if depth == 0:
        return st.sampled_from(["x", "y", "x", "gate", "0.5", "2"])
    inner, truth = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        inner,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("abs({})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["minimum", "maximum"]), inner, inner),
        st.builds("if({}, {}, {})".format, truth, inner, inner),
        st.builds("{}({})".format, st.sampled_from(["mean", "median", "min", "max", "sum"]), inner),
        st.builds("{}({})".format, st.sampled_from(["count", "share"]), truth),
    )


def truths(depth):
    if depth == 0:
        return st.sampled_from(
            ["t", "x > 0.25", "y <= x", "gate >= 0.5", "0 < x <= 0.5", "x within [0, 0.5]"]
        )
    number, inner = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        inner,
        st.builds("({} {} {})".format, number, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("{}({})".format, st.sampled_from(["defined", "undefined"]), number),
        st.builds("{}({})".format, st.sampled_from(["all", "any"]), inner),
    )


def agree(fast, exact):
    return (
        fast is None if exact is None else fast is not None and fast == pytest.approx(float(exact), abs=1e-9)
    )


@given(worlds(), st.one_of(numbers(3), truths(3)))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_expressions_against_the_slow_evaluator(w, text):
    term, compiler = w.compile(text)
    assume(not any("one value already" in p.message or "constant" in p.message for p in compiler.problems))
    assert not compiler.problems, [p.message for p in compiler.problems]
    node = syntax.parse(text)
    data = term.evaluate(w.frame()).data
    if term.kind == "truth":
        assert set(np.unique(data[~np.isnan(data)])) <= {0.0, 1.0}
    for row in range(w.rows):
        for key, value in zip(term.axes.keys, data[row].tolist(), strict=True):
            policy = frozenset(zip(term.axes.factors, key, strict=True))
            assert agree(None if np.isnan(value) else value, slow(node, w, row, policy)), (key, value)
            if not np.isnan(value):
                assert term.range.low - 1e-9 <= value <= term.range.high + 1e-9


@given(worlds(), truths(3))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_claims_against_the_slow_evaluator(w, text):
    whole = f"all({text})"
    claim, compiler = w.claim(whole)
    skip = ("one value already", "without a metric", "this constant")
    assume(not any(s in p.message for p in compiler.problems for s in skip))
    assert claim is not None, [p.message for p in compiler.problems]
    assert [leg.number for leg in claim.legs] == list(range(len(claim.legs)))
    expected = [slow(syntax.parse(whole), w, row) for row in range(w.rows)]
    assert w.truth(whole) == expected
    assert [w.value(whole, row) for row in range(w.rows)] == [
        None if e is None else float(e) for e in expected
    ]


@given(worlds(), st.one_of(numbers(2), truths(2)), st.randoms())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_permuting_keys_changes_nothing(w, text, rng):
    term, compiler = w.compile(text)
    assume(not compiler.problems)
    shuffled = {}
    for name, m in w.metrics.items():
        items = list(m.at.items())
        rng.shuffle(items)
        shuffled[name] = Values(m.factors, dict(items), m.kind)
    other = World(shuffled, w.factors)
    assert term.axes.factors == () or set(other.compile(text)[0].axes.factors) == set(term.axes.factors)
    for row in range(w.rows):
        assert other.vector(text, row) == w.vector(text, row)


# -- the two mistakes of the trial build -------------------------------------------------------------------


def two_sided_world():
    """x is known for two policies, z for the third alone; y for all of them."""
    at = {"x": {("a",): [0.9], ("b",): [0.8]}, "z": {("c",): [0.7]}, "y": {(k,): [0.5] for k in "abc"}}
    return World({n: Values(("run",), v) for n, v in at.items()}, {"run": ("a", "b", "c")})


def test_all_of_two_vectors_is_never_vacuously_true():
    w = two_sided_world()
    assert w.value("all(x > 0 and z > 0)") is None
    assert w.truth("all(x > 0 and z > 0)") == [None]
    assert w.truth("all(x > 0 and y > 0)") == [None]
    assert w.truth("all(x > 0 and y > 0.6)") == [False]
    assert w.truth("all(y > 0 or x > 0)") == [True]
    assert w.truth("all(x > 0)") == [True]
    tree = w.judged("all(x > 0 and z > 0)")
    assert [c.text for c in tree.children] == [f"x > 0 and z > 0 [{k}]" for k in "abc"]
    assert [[leg.reason for leg in c.children] for c in tree.children] == [
        [None, "no_partner"],
        [None, "no_partner"],
        ["no_partner", None],
    ]


def test_a_policy_that_a_vector_lacks_is_undefined_there():
    w = two_sided_world()
    assert w.vector("defined(x) and y > 0") == {("a",): 1, ("b",): 1, ("c",): 0}
    assert w.vector("undefined(x)") == {("a",): 0, ("b",): 0}  # alone it speaks of the policies of x
    assert w.vector("if(defined(x), x, 0) + y") == pytest.approx({("a",): 1.4, ("b",): 1.3, ("c",): 0.5})
    assert w.vector("undefined(x) or x > y") == {("a",): 1, ("b",): 1, ("c",): 1}
    assert w.truth("all(undefined(x) or x > y)") == [True]
    assert w.truth("all(y > 0 and (undefined(x) or x > 0))") == [True]
    assert w.truth("all(y > 0 and not defined(x))") == [False]
    assert w.truth("all(y > 0 and (not (x > 0) or z > 0))") == [None]


def test_an_unpaired_comparison_is_marked():
    # 39/150 against 10/93: the reductions speak of different policies
    w = World(
        {
            "x": Values(("run",), {(str(i),): [1.0 if i < 3 else 0.0] for i in range(10)}),
            "y": Values(("run",), {(str(i),): [None if i > 5 else float(i < 1)] for i in range(10)}),
        },
        {"run": tuple(str(i) for i in range(10))},
    )
    leg = w.judged("mean(x) > mean(y)")
    assert (leg.unpaired, leg.n, leg.n_undefined) == (True, [10, 6], [0, 4])
    leg = w.judged("mean(x - y) > 0")
    assert (leg.unpaired, leg.n, leg.n_undefined) == (False, 6, 4)


def test_results_carry_facts_at_the_point_alone():
    w = world()
    term, _ = w.compile("mean(precision) - max(recall[gate=0.5]) > 0 and undefined(precision[never])")
    assert isinstance(term.evaluate(w.frame()), Result)
    assert term.evaluate(w.frame(first=False)).facts is None


def test_ranges_of_terms_by_hand():
    w = world()
    ranges = {
        t: w.compile(t)[0].range
        for t in ["(1 - precision) + (1 - recall)", "max(wins)", "sum(ece)", "sd(ece)"]
    }
    assert ranges == {
        "(1 - precision) + (1 - recall)": Range(0, 2),
        "max(wins)": COUNT,
        "sum(ece)": Range(0, 3),
        "sd(ece)": Range(0, 1),
    }
