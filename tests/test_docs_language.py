"""Every expression in docs/language.md compiles and can be computed; every function has an example."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from prereg.expression import rows
from prereg.expression.claims import support_condition
from prereg.expression.policy_functions import FUNCTIONS as POLICY_FUNCTIONS
from prereg.expression.ranges import UNIT
from prereg.expression.row_functions import FUNCTIONS as ROW_FUNCTIONS
from prereg.expression.syntax import Call, Selection, parse, walk
from small_world import Values, World
from test_rows import Table

TEXT = (Path(__file__).parents[1] / "docs" / "language.md").read_text(encoding="utf-8")

TABLE = Table(
    correct=[True, False, None, True],
    confidence=[0.9, 0.4, None, 1.0],
    difficulty=[0.1, None, 0.5, 0.85],
    answer=["The answer is 4", "unknown", "", None],
    judge_a=["Yes", "no", None, "yes"],
    judge_b=["yes", "no", "yes", None],
    judge_c=["no", "no", None, None],
    run=["knn", "knn", "gpt-4o", "gpt-4o"],
    group=["in scope", "out", "out", None],
)
RUNS, GATES = ("knn", "gpt-4o", "svc"), ("none", "0.5", "0.8")
GRID = [(r, g) for r in RUNS for g in GATES]


def world():
    def grid(start, **more):
        at = {key: [start + 0.04 * i, 0.5 - 0.02 * i] for i, key in enumerate(GRID)}
        return Values(("run", "gate"), at, range=UNIT, **more)

    degenerate = {"always": ((), {(): [0.0, 0.0]}), "never": ((), {(): [None, None]})}
    metrics = {
        "precision": grid(0.5, degenerate=degenerate),
        "recall": grid(0.4, degenerate=degenerate),
        "risk": grid(0.1),
        "ece": Values(("run",), {(r,): [0.1 * i, 0.2 * i] for i, r in enumerate(RUNS)}, range=UNIT),
        "tau": grid(0.2, attribute=True),
    }
    return World(metrics, {"run": RUNS, "gate": GATES})


def examples(heading):
    """The expressions in the last column of the tables below a heading, with the functions of the first."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    out = []
    for line in section.splitlines():
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip("|"))]
        found = re.fullmatch(r"`(.+)`", cells[-1])
        if line.startswith("|") and found:
            out.append((found.group(1), set(re.findall(r"`(\w+)\(", cells[0]))))
    assert out
    return out


def functions(node):
    return {n.function for n in walk(node) if isinstance(n, Call)}


@pytest.mark.parametrize(("text", "named"), examples("Functions over rows"))
def test_examples_over_rows(text, named):
    compiler = rows.Compiler(TABLE.kinds)
    found = compiler.compile(parse(text))
    assert compiler.problems == []
    assert found.evaluate(TABLE).data.shape[1] in (1, 4)
    assert named <= functions(parse(text))


POLICIES = [*examples("Functions over policies"), *examples("Selecting policies")]


@pytest.mark.parametrize(("text", "named"), POLICIES)
def test_examples_over_policies(text, named):
    _, result = world().result(text)
    if "never" not in text:
        assert not np.isnan(result.data).all()
    if any(f in POLICY_FUNCTIONS for f in named):
        missing = named - functions(parse(text))
        assert missing <= {"sum", "any", "kendall", "undefined", "minimum", "argmin"}  # told beside a twin
    else:
        assert any(isinstance(n, Selection) for n in walk(parse(text))) or text == "mean(precision)"


@pytest.mark.parametrize(("text", "named"), examples("Claims"))
def test_examples_of_claims(text, named):
    node = parse(text)
    if support_condition(node) is None:
        assert None not in world().truth(text)
    assert named <= functions(node)


def test_every_function_is_documented():
    over_rows = set().union(*(named for _, named in examples("Functions over rows")))
    assert over_rows == set(ROW_FUNCTIONS)
    named = [n for h in ("Functions over policies", "Claims") for _, n in examples(h)]
    assert set().union(*named) == set(POLICY_FUNCTIONS)


def test_what_the_text_says_of_binding_and_rounding():
    assert parse("not a == b") != parse("(not a) == b")
    assert world().value("0.1 + 0.2 == 0.3") == 1
    assert 'precision["gpt-4o"]' in TEXT
    assert set(world().vector('precision["gpt-4o"]')) == {(g,) for g in GATES}
    assert world().truth("all(risk <= gate)") == [None, None]  # `none` has no number
