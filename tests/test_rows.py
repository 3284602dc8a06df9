"""Row expressions over columns with missing cells, against a slow evaluator and by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg.expression import syntax
from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.expression.rows import Compiler
from prereg.expression.syntax import parse


class Table:
    """Columns as lists of cells (None is missing), one row each; a list of lists has settings."""

    def __init__(self, **columns):
        self.kinds, self.cells = {}, {}
        for name, cells in columns.items():
            per_setting = cells if isinstance(cells[0], list) else [cells]
            known = [c for row in per_setting for c in row if c is not None]
            missing = np.array([[c is None for c in row] for row in per_setting])
            if any(isinstance(c, str) for c in known):
                levels = tuple(sorted(set(known)))
                data = np.array([[-1 if c is None else levels.index(c) for c in row] for row in per_setting])
                kind = TEXT
            else:
                levels = ()
                truth = all(isinstance(c, bool) for c in known)
                kind = TRUTH if truth else BINARY if set(known) <= {0, 1} else NUMBER
                # what stands in a missing cell means nothing: it is set to something that would show
                junk = True if truth else 7.0
                data = np.array([[junk if c is None else c for c in row] for row in per_setting])
                data = data.astype(bool if truth else np.float64)
            self.kinds[name] = kind
            self.cells[name] = Cells(kind, data, missing if missing.any() else None, levels)

    def column(self, name):
        return self.cells[name]

    def words(self, purpose, seed, by):
        assert purpose == "flip"
        rng = np.random.default_rng(seed + len(by))
        return rng.integers(0, 2**64, size=4, dtype=np.uint64)

    def partition(self, groups, seed):
        return np.arange(4.0) % groups


def compiled(table, text, expected=None):
    compiler = Compiler(table.kinds)
    out = compiler.compile(parse(text), expected)
    assert not compiler.problems, [p.message for p in compiler.problems]
    return out


def cells(table, text, expected=None):
    """The cells of the first setting: True, a number, a text or None."""
    found = compiled(table, text, expected).evaluate(table)
    out = []
    for value, gone in zip(found.data[0].tolist(), found.missing_mask()[0].tolist(), strict=True):
        out.append(None if gone else found.levels[value] if found.kind == TEXT else value)
    return out


def problem(table, text, expected=None):
    compiler = Compiler(table.kinds)
    compiler.compile(parse(text), expected)
    (error,) = compiler.problems
    return text[error.start : error.end], error.message


TRUTHS = [True, False, None]


def test_kleene_tables_of_and_or_not():
    pairs = list(itertools.product(TRUTHS, TRUTHS))
    table = Table(p=[a for a, _ in pairs], q=[b for _, b in pairs])
    assert cells(table, "p and q") == [False if False in x else None if None in x else True for x in pairs]
    assert cells(table, "p or q") == [True if True in x else None if None in x else False for x in pairs]
    assert cells(table, "not p") == [None if a is None else not a for a, _ in pairs]
    assert cells(table, "defined(p) and undefined(q)") == [a is not None and b is None for a, b in pairs]


def test_de_morgan_with_three_parts():
    triples = list(itertools.product(TRUTHS, repeat=3))
    table = Table(**dict(zip("pqr", map(list, zip(*triples, strict=True)), strict=True)))
    assert cells(table, "not (p and q and r)") == cells(table, "not p or not q or not r")
    assert cells(table, "not (p or q or r)") == cells(table, "not p and not q and not r")


TABLE = Table(
    ok=[True, False, None, True],
    bit=[0, 1, 1, None],
    score=[0.1, 0.3, None, 0.85],
    other=[0.2, None, 0.5, 0.85],
    group=["in", "Out", "in", None],
    answer=["I do not know.", "Yes", "", None],
    twin=["in", "x", None, None],
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("score", [0.1, 0.3, None, 0.85]),
        ("score + other", [0.1 + 0.2, None, None, 1.7]),
        ("score + other == 0.3", [True, None, None, False]),  # compared at 12 decimals
        ("score * 3 <= 0.3", [True, False, None, False]),
        ("score == 0.1", [True, False, None, False]),
        ("score > other", [False, None, None, False]),
        ("0.2 < score <= 0.85", [False, True, None, True]),
        ("score within [0.3, 0.85]", [False, True, None, True]),
        ("score in [0.1, 0.3]", [True, True, None, False]),
        ("bit == 1", [False, True, True, None]),
        ("bit and ok", [False, False, None, None]),
        ("ok == bit", [False, False, None, None]),
        ("ok + bit", [1, 1, None, None]),
        ("-ok", [-1, 0, None, -1]),
        ("1 / bit", [None, 1, 1, None]),
        ("ln(bit)", [None, 0, 0, None]),
        ("sqrt(score - 0.2) > 0", [None, True, None, True]),
        ("exp(1000 * bit)", [1, None, None, None]),
        ("(0 - 1) ** 0.5 > 0 or ok", [True, None, None, True]),
        ("abs(score - other) > 0.05", [True, None, None, False]),
        ("minimum(score, 0.2, bit)", [0, 0.2, None, None]),
        ("maximum(score, other)", [0.2, None, None, 0.85]),
        ("if(ok, score, other)", [0.1, None, None, 0.85]),
        ("if(bit, ok, not ok)", [False, False, None, None]),
        ("if(defined(score), score, 0)", [0.1, 0.3, 0, 0.85]),
        ('group == "in"', [True, False, True, None]),
        ('group != "nowhere"', [True, True, True, None]),
        ('group in ["Out", "in"]', [True, True, True, None]),
        ("group == twin", [True, False, None, None]),
        ('lower(group) == "out"', [False, True, False, None]),
        ("length(answer)", [14, 3, 0, None]),
        ('contains_any(answer, ["DO NOT", "ß"])', [True, False, False, None]),
        ('matches(answer, "^Y")', [False, True, False, None]),
        ('matches(answer, "o")', [True, False, False, None]),
        ('matches(answer, "(?i)^y.s$")', [False, True, False, None]),
        ('matches(answer, "")', [True, True, True, None]),
        ("undefined(answer)", [False, False, False, True]),  # an empty text is a text
        ("undefined(1 / bit)", [True, False, False, True]),
        ("true and ok", [True, False, None, True]),
        ("partition(2, 0) == 1", [False, True, False, True]),
        ("otherwise(score, other)", [0.1, 0.3, 0.5, 0.85]),
        ("otherwise(group, twin)", ["in", "Out", "in", None]),
        ('otherwise(twin, "none")', ["in", "x", "none", "none"]),
        ("otherwise(ok, bit)", [1, 0, 1, 1]),
        ("majority(group, twin)", ["in", None, "in", None]),
        ('majority(group, twin, "x")', ["in", "x", None, "x"]),
        ("flip(score, 1, 1)", [0.9, 0.7, None, 0.15]),
        ("flip(ok, 0, 1)", [True, False, None, True]),
        ("flip(ok, 1, 1)", [False, True, None, False]),
    ],
)
def test_cells_by_hand(text, expected):
    assert cells(TABLE, text) == [pytest.approx(v) if isinstance(v, float) else v for v in expected]


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("scor > 0", "scor", "unknown column `scor`; did you mean `score`?"),
        ("0 < scor < 1", "scor", "unknown column `scor`; did you mean `score`?"),
        ("scor within [0, 1]", "scor", "unknown column `scor`; did you mean `score`?"),
        ("score and ok", "score", "found a number, expected a truth value"),
        ("not group", "group", "found a text, expected a truth value"),
        ("group + 1", "group", "found a text, expected a number"),
        ("group == 1", "1", "cannot compare a text with a number; this column is text: quote the value"),
        ("score == group", "group", 'cannot compare a number with a text; a text is quoted: "score"'),
        ('group < "in"', '"in"', "texts have no order: `<` compares numbers"),
        ("group[in_]", "group[in_]", "a selection `[ ]` belongs to metrics; rows have columns"),
        ("mean(score)", "mean(score)", "unknown function `mean`"),
        (
            'contain_any(answer, ["x"])',
            'contain_any(answer, ["x"])',
            "unknown function `contain_any`; did you mean `contains_any`?",
        ),
        ("abs(score, over=ok)", "abs(score, over=ok)", "`over` belongs to functions over policies"),
        ("abs(score, other)", "abs(score, other)", "`abs` takes 1 arguments, found 2"),
        ('contains_any(answer, "x")', '"x"', 'expected a list of quoted texts: ["a", "b"]'),
        ("contains_any(answer, [ok])", "[ok]", 'expected a list of quoted texts: ["a", "b"]'),
        ('contains_any(answer, ["a", ""])', '["a", ""]', "an empty text is contained in everything"),
        ('contains_any(score, ["a"])', "score", "found a number, expected a text"),
        ("matches(answer, group)", "group", "the pattern is a quoted text"),
        ("if(ok, group, 1)", "if(ok, group, 1)", "`if` chooses between numbers or truth values"),
        ("flip(ok, 1.5, 0)", "1.5", "a probability lies between 0 and 1"),
        ("flip(ok, score, 0)", "score", "the probability is a number written in the protocol"),
        ("flip(ok, 0.5, 0.5)", "0.5", "the seed is a whole number from 0 to 9007199254740992"),
        ("flip(ok, 0.5, 0, 1)", "1", "the fourth argument of `flip` is a column"),
        ("partition(0, 1)", "0", "the number of groups is a whole number from 1 to 100000"),
        ("[score]", "[score]", "a list stands only inside `contains_any` or after `in`"),
        (
            "support > 0",
            "support",
            "`support` stands only in `falsified_if`, in one comparison with a number",
        ),
        ("ok and 0.5", "0.5", "found a number, expected a truth value"),
    ],
)
def test_refused_at_their_characters(text, at, message):
    found = problem(TABLE, text)
    assert found[0] == at
    assert found[1] == message or (message == "unknown function `mean`" and found[1].startswith(message))


@pytest.mark.parametrize("pattern", ["(", r"(a)\\1", "(?=a)", "a{2000}"])
def test_patterns_that_are_not_linear_are_refused(pattern):
    at, message = problem(TABLE, f'matches(answer, "{pattern}")')
    assert at == f'"{pattern}"'
    assert message.startswith("the pattern is no linear-time regular expression: ")


def test_the_expected_kind_is_checked_and_0_1_is_read_as_truth():
    assert cells(TABLE, "bit", TRUTH) == [False, True, True, None]
    assert cells(TABLE, "ok", NUMBER) == [1, 0, None, 1]
    assert compiled(TABLE, "ok", NUMBER).source_kind == TRUTH
    assert compiled(TABLE, "bit", NUMBER).source_kind == BINARY
    assert problem(TABLE, "score", TRUTH) == ("score", "found a number, expected a truth value")
    assert problem(TABLE, "group", NUMBER) == ("group", "found a text, expected a number")
    assert problem(TABLE, "ok", TEXT) == ("ok", "found a truth value, expected a text")


def test_all_columns_that_are_read_are_known():
    text = 'if(ok, score, 1) > 0 and flip(bit, 0.5, 1, group) or contains_any(answer, ["x"])'
    assert compiled(TABLE, text).columns == {"ok", "score", "bit", "group", "answer"}


def test_flip_is_a_bernoulli_of_the_words():
    words = TABLE.words("flip", 3, ("group",))
    turned = [int(w) < 0.25 * 2**64 for w in words]
    expected = [None if v is None else v != t for v, t in zip([True, False, None, True], turned, strict=True)]
    assert cells(TABLE, "flip(ok, 0.25, 3, group)") == expected


def test_settings_spread_over_columns_that_have_none():
    table = Table(answered=[[True, False], [None, True]], right=[True, None])
    found = compiled(table, "answered and right").evaluate(table)
    assert found.data.shape == found.missing_mask().shape == (2, 2)
    decided = np.where(found.missing_mask(), -1, found.data.astype(int))
    assert decided.tolist() == [[1, 0], [-1, -1]]


NUMBERS = st.one_of(st.none(), st.sampled_from([-1, 0, 0.25, 0.5, 1, 3]))


def numbers(depth):
    leaf = st.sampled_from(["x", "y", "b", "0.5", "2"])
    if depth == 0:
        return leaf
    inner, truth = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("(-{})".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["minimum", "maximum"]), inner, inner),
        st.builds("if({}, {}, {})".format, truth, inner, inner),
    )


def truths(depth):
    leaf = st.sampled_from(["p", "q", "b", "true", "false"])
    if depth == 0:
        return leaf
    inner, number = truths(depth - 1), numbers(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, number, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number),
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("{}({})".format, st.sampled_from(["defined", "undefined"]), number),
        st.builds("({} < {} <= {})".format, number, number, number),
        st.builds("({} within [{}, {}])".format, number, number, number),
        st.builds("({} in [{}, {}])".format, number, number, number),
    )


COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def kleene(op, values):
    decisive = op == "or"
    return decisive if decisive in values else None if None in values else not decisive


def link(op, a, b):
    return None if a is None or b is None else COMPARE[op](a, b)


def slow(node, row):
    """The cell of one row as an exact fraction or truth; None is missing."""

    def of(x):
        return slow(x, row)

    match node:
        case syntax.Number(value=value):
            return Fraction(value)
        case syntax.Bool(value=value):
            return value
        case syntax.Name(name=name):
            value = row[name]
            return value if value is None or isinstance(value, bool) else Fraction(value)
        case syntax.Minus(operand=x):
            return None if of(x) is None else -of(x)
        case syntax.Arithmetic(op=op, left=left, right=right):
            a, b = of(left), of(right)
            if a is None or b is None or (op == "/" and b == 0):
                return None
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: Fraction(a) / b}[
                op
            ]()
        case syntax.Chain(operands=operands, ops=ops):
            values = [of(x) for x in operands]
            return kleene("and", [link(op, a, b) for op, a, b in zip(ops, values, values[1:], strict=False)])
        case syntax.Within(operand=x, low=low, high=high):
            return kleene("and", [link(">=", of(x), of(low)), link("<=", of(x), of(high))])
        case syntax.Member(operand=x, items=items):
            return kleene("or", [link("==", of(x), of(i)) for i in items])
        case syntax.Negation(operand=x):
            return None if of(x) is None else not of(x)
        case syntax.Junction(op=op, operands=operands):
            return kleene(op, [of(x) if of(x) is None else bool(of(x)) for x in operands])
        case syntax.Call(function=name, arguments=arguments):
            values = [of(x) for x in arguments]
            if name in ("defined", "undefined"):
                return (values[0] is None) == (name == "undefined")
            if name == "if":
                return None if values[0] is None else values[1] if values[0] else values[2]
            if None in values:
                return None
            return {
                "abs": lambda: abs(values[0]),
                "minimum": lambda: min(values),
                "maximum": lambda: max(values),
            }[name]()
    raise AssertionError(node)


@st.composite
def tables(draw):
    def column(element):
        return draw(st.lists(element, min_size=3, max_size=3))

    truth, binary = st.sampled_from(TRUTHS), st.sampled_from([0, 1, None])
    # a last row fixes the kind of each column
    return {
        "x": [*column(NUMBERS), 3],
        "y": [*column(NUMBERS), 3],
        "b": [*column(binary), 1],
        "p": [*column(truth), True],
        "q": [*column(truth), False],
    }


@given(tables(), st.one_of(numbers(3), truths(3)))
@settings(max_examples=300, deadline=None)
def test_random_expressions_against_the_slow_evaluator(columns, text):
    table = Table(**columns)
    found = compiled(table, text).evaluate(table)
    data = np.broadcast_to(found.data, (1, 4))[0]
    missing = np.broadcast_to(found.missing_mask(), (1, 4))[0]
    node = parse(text)
    for i in range(4):
        exact = slow(node, {name: cells[i] for name, cells in columns.items()})
        if exact is None:
            assert missing[i]
        else:
            assert not missing[i]
            assert math.isclose(float(data[i]), float(exact), rel_tol=1e-9, abs_tol=1e-9)
