"""Whatever stands where a certificate should be: one verdict, never an exception, never more than the counted cost."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import prereg.checker
from prereg.checker import SHOWS, Bounds, check

PROBLEM = "fof(a, axiom, p => q). fof(c, conjecture, (p & (q | ~p)) => q)."
LOGICS = ("classical", "intuitionistic")
FOLDER = Path(prereg.checker.__file__).parent

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["p", "q", "&", "|", "=>", "learn", "lemma"]),
    lambda sub: st.lists(sub, max_size=4) | st.dictionaries(st.text(max_size=3), sub, max_size=3),
    max_leaves=20,
)  # fmt: skip
ROW = st.integers(0, 7)
ROWS = st.lists(ROW, max_size=4)
TABLE = ["p", "q", False, ["=>", 0, 1], ["=>", 0, 2], ["|", 1, 4], ["&", 0, 5], ["=>", 6, 1]]
KEYS = {
    "assignment": ["letters"],
    "truth_table": ["obligation"],
    "lemmas": ["table", "axioms", "goal", "lemmas", "count"],
    "frame": ["worlds", "above"],
    "trace": ["table", "axioms", "goal", "flat", "implications", "steps", "count"],
}
# Values near the truth, so that the fuzz gets past the first door.
LIKELY = {
    "letters": st.dictionaries(st.sampled_from(["p", "q", "r"]), st.booleans()),
    "obligation": st.text("pq()&|=><~ $true", max_size=20),
    "table": st.just(TABLE),
    "axioms": st.just([3]),
    "goal": st.just(7),
    "lemmas": st.lists(st.lists(st.integers(-8, 8), max_size=3), max_size=4),
    "count": st.none() | st.lists(st.lists(st.lists(st.integers(-8, 8), max_size=3), max_size=3), max_size=3),
    "worlds": st.lists(st.lists(st.sampled_from(["p", "q"]), max_size=2), max_size=4),
    "above": st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=4),
    "flat": st.lists(st.tuples(ROWS, ROWS), max_size=4),
    "implications": st.lists(
        st.sampled_from([[0, 1, 3], [0, 2, 4], [6, 1, 7]]) | st.tuples(ROW, ROW, ROW), max_size=3
    ),
    "steps": st.lists(
        st.tuples(st.just("learn"), st.integers(-1, 3), ROWS) | st.tuples(st.just("lemma"), ROWS, ROWS),
        max_size=4,
    ),
}


def sound(found):
    """The problem follows in both logics: p & (q | ~p), with p => q, gives q."""
    assert isinstance(found.reason, str)
    assert found.reason
    assert "\n" not in found.reason
    assert len(found.reason) < 300
    assert found.kind is None or found.kind in SHOWS
    assert found.follows is not False


@given(JSON, st.sampled_from(LOGICS))
def test_any_json_gives_a_verdict(tree, logic):
    sound(check(PROBLEM, json.dumps(tree), logic))


@given(st.data(), st.sampled_from(sorted(KEYS)))
def test_any_json_under_the_right_keys_gives_a_verdict(data, kind):
    tree = {"kind": kind}
    for key in KEYS[kind]:
        tree[key] = data.draw(st.one_of(LIKELY[key], LIKELY[key], LIKELY[key], JSON))
    sound(check(PROBLEM, json.dumps(tree), SHOWS[kind][0]))


@given(st.text() | st.binary() | st.text('[]{}",:0eE-\\u ntf', max_size=30), st.sampled_from(LOGICS))
def test_any_text_or_bytes_give_a_verdict(text, logic):
    sound(check(PROBLEM, text, logic))


@given(st.text() | st.text("fo(,)axiomcjetur.p&|~=<>'\\$ \n%/*", max_size=60))
def test_any_problem_gives_a_verdict(text):
    for certificate in (
        '{"kind": "frame", "worlds": [[]], "above": [[0]]}',
        '{"kind": "truth_table", "obligation": "p"}',
    ):
        for logic in LOGICS:
            assert isinstance(check(text, certificate, logic).reason, str)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "[" * 1_000_000, "[" * 1000 + "]" * 1000, '{"a":' * 1_000_000, '{"kind": "frame"' + "}" * 100, '"' * 999_999,
        '"\\' * 500_000, "[]" * 200_000, '{"kind": "frame", "kind": "frame"}', '{"kind": 1e999}', '{"kind": NaN}', "-Infinity",
        "9" * 1_000_000, '{"kind": "\\ud800"}', b"\xff\xfe", b'{"kind": "\xc3"}', "\ufeff{}", '{"kind": "frame"}x', "[null]", "null",
        '{"kind": "frame", "worlds": [[]], "above": [[0]], "\\ud800": 1}',
    ],
    ids=lambda text: str(text[:16]),
)  # fmt: skip
def test_text_that_is_no_certificate_is_refused(text):
    for logic in LOGICS:
        found = check(PROBLEM, text, logic)
        assert not found.accepted
        found.reason.encode()


def costly():
    """Well-formed certificates that cost far more than their size."""
    count = 8_000
    letters = [f"x{k}" for k in range(count)]
    text = f"fof(c, conjecture, {' | '.join(letters)})."
    table = [*letters]
    for k in range(1, count):
        table.append(["|", 0 if k == 1 else len(table) - 1, k])
    trace = {
        "kind": "trace",
        "table": table,
        "axioms": [],
        "goal": len(table) - 1,
        "implications": [],
        "steps": [],
        "count": None,
    }
    # Each letter against every disjunction that holds it; pairs of one huge set; long chains set off again and again.
    yield text, trace | {"flat": [[[k], [len(table) - 1 - k]] for k in range(count // 2)]}
    yield text, trace | {"flat": [[[len(table) - 1 - k], [len(table) - 2]] for k in range(100, 6_000)]}
    chain = [[[k], [len(table) - 1]] for k in range(count)] + [[[0], [0]]]
    yield text, trace | {"flat": chain, "count": [[[0]], []]}
    pairs = {"kind": "lemmas", "table": table, "axioms": [], "goal": len(table) - 1, "lemmas": []}
    ends = list(range(1, count))
    yield text, pairs | {"count": [[[x] for x in ends[:2]], [[-x for x in ends]]]}
    yield (
        text,
        pairs
        | {
            "lemmas": [[-len(table)], *([[-x, -y] for x in range(1, 150) for y in range(150, 300)])],
            "count": None,
        },
    )
    worlds = 1500
    yield (
        text,
        {
            "kind": "frame",
            "worlds": [[] for _ in range(worlds)],
            "above": [list(range(k, worlds)) for k in range(worlds)],
        },
    )
    nested = "(" * 500 + "p" + "".join(f" <~> {x})" for x in letters[:500])
    yield (
        f"fof(c, conjecture, {nested}).",
        {"kind": "frame", "worlds": [[]] * 3000, "above": [[k] for k in range(3000)]},
    )


@pytest.mark.parametrize("k", range(7))
def test_costs_are_bounded_by_a_count(k):
    text, tree = list(costly())[k]
    logic = SHOWS[tree["kind"]][0]
    found = check(text, json.dumps(tree), logic, Bounds(steps=100_000))
    assert not found.accepted
    assert found.follows is None


def test_a_bound_that_was_met_is_no_refusal():
    tree = '{"kind": "frame", "worlds": [[]], "above": [[0]]}'
    text = "fof(c, conjecture, $false)."
    assert check(text, tree, "intuitionistic").within
    for bounds in (Bounds(problem=10), Bounds(certificate=10), Bounds(steps=3), Bounds(worlds=0)):
        found = check(text, tree, "intuitionistic", bounds)
        assert (found.accepted, found.within) == (False, False), bounds


def test_the_checker_imports_the_standard_library_only():
    modules = sorted(FOLDER.glob("**/*.py"))
    assert len(modules) > 5
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module]
            for name in names:
                own = name.startswith("prereg.checker.") or (name == "prereg.checker")
                assert own or name.split(".")[0] in sys.stdlib_module_names, (path.name, name)


def test_the_checker_loads_no_other_part_of_the_package():
    code = "import sys, prereg.checker; print(sorted(m for m in sys.modules if m.startswith('prereg.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    assert all(m.startswith("prereg.checker") for m in loaded), loaded


def test_the_checker_searches_without_recursion():
    # No function of the package calls itself, directly or through another: depth costs memory, never frames.
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            called = {
                n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")
                for n in ast.walk(function)
                if isinstance(n, ast.Call)
            }
            assert function.name not in called or function.name in {"check", "join"}, (
                path.name,
                function.name,
            )
