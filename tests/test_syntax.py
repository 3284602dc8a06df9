"""The grammar: what binds how, where each piece stands, and what is said of what cannot be read."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import LarkError

from prereg.expression import syntax, tables
from prereg.expression.syntax import ExpressionError, parse

PREPARED, BUILT = tables.parser(), tables.build(tables.GRAMMAR.read_text(encoding="utf-8"))


def shown(node):
    """The tree, fully bracketed."""
    match node:
        case syntax.Number(value=value):
            return str(value)
        case syntax.Text(value=value):
            return repr(value)
        case syntax.Bool(value=value):
            return str(value).lower()
        case syntax.Support():
            return "support"
        case syntax.Name(name=name):
            return name
        case syntax.Call(function=function, arguments=arguments, over=over):
            inner = [*map(shown, arguments), *([] if over is None else ["over=" + "+".join(over)])]
            return f"{function}({', '.join(inner)})"
        case syntax.Selection(name=name, selectors=selectors):
            inner = [f"{s.factor or ''}{s.op}{'|'.join(map(str, s.values))}" for s in selectors]
            return f"{name}[{', '.join(inner)}]"
        case syntax.Listing(items=items):
            return f"[{', '.join(map(shown, items))}]"
        case syntax.Minus(operand=x):
            return f"(-{shown(x)})"
        case syntax.Negation(operand=x):
            return f"(not {shown(x)})"
        case syntax.Arithmetic(op=op, left=left, right=right):
            return f"({shown(left)} {op} {shown(right)})"
        case syntax.Chain(operands=operands, ops=ops):
            out = shown(operands[0])
            for op, x in zip(ops, operands[1:], strict=True):
                out += f" {op} {shown(x)}"
            return f"({out})"
        case syntax.Within(operand=x, low=low, high=high):
            return f"({shown(x)} within {shown(low)}..{shown(high)})"
        case syntax.Member(operand=x, items=items):
            return f"({shown(x)} in {', '.join(map(shown, items))})"
        case syntax.Junction(op=op, operands=operands):
            return "(" + f" {op} ".join(map(shown, operands)) + ")"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a or b and not c == d", "(a or (b and (not (c == d))))"),
        ("a and b or c and d", "((a and b) or (c and d))"),
        ("not not a", "(not (not a))"),
        ("not a < b", "(not (a < b))"),
        ("a < b <= c", "(a < b <= c)"),
        ("a + b * c - d / e", "((a + (b * c)) - (d / e))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b / c", "((a / b) / c)"),
        ("-a ** 2", "(-(a ** 2))"),
        ("2 ** -1", "(2 ** (-1))"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("-a * b", "((-a) * b)"),
        ("a -1", "(a - 1)"),
        ("a - -1", "(a - (-1))"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a + b within [0, 1 - c]", "((a + b) within 0..(1 - c))"),
        ('a in ["x", "y"] and b', "((a in 'x', 'y') and b)"),
        ("a and b and c", "(a and b and c)"),
        ("mean(x, over=gate) > 0", "(mean(x, over=gate) > 0)"),
        ("mean(x, over=[gate, run])", "mean(x, over=gate+run)"),
        ("f()", "f()"),
        ("x[a, gate=0.5, rule in [p, 'q r'], gate >= 1e-1, s != none, -3, true]", None),
        ('contains_any(s, ["a", "b"])', "contains_any(s, ['a', 'b'])"),
        ("support < 0.5", "(support < 0.5)"),
        ("true and false", "(true and false)"),
        ("organic > android", "(organic > android)"),
        (" a\n\t<\r\n b ", "(a < b)"),
        ("x [a]", "x[=a]"),
    ],
)
def test_binding_by_hand(text, tree):
    if tree is None:
        tree = "x[=a, gate=0.5, rulein" + "p|q r, gate>=0.1, s!=none, =-3, =true]"
    assert shown(parse(text)) == tree


@pytest.mark.parametrize("text", ["0.5", ".5", "5e-1", "0.50", "5.e-1", "50E-2"])
def test_a_number_is_its_decimal(text):
    assert parse(text).value == Decimal("0.5")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r"'it\'s'", "it's"),
        (r'"\\W"', r"\W"),
        (r'"a\nb\tc"', "a\nb\tc"),
        ('"it\'s [x] (y) = z"', "it's [x] (y) = z"),
        ('"é 日本"', "é 日本"),
        ('""', ""),
    ],
)
def test_escapes_by_hand(text, value):
    assert parse(text).value == value


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=20))
def test_any_text_can_be_quoted(value):
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse(f'"{quoted}"').value == value


def test_pieces_remember_where_they_stood():
    text = 'a > 0 and mean(b[gate=0.5] - 1, over=run) < "x"'
    pieces = [(type(n).__name__, text[n.start : n.end]) for n in syntax.walk(parse(text))]
    assert pieces == [
        ("Junction", text),
        ("Chain", "a > 0"),
        ("Name", "a"),
        ("Number", "0"),
        ("Chain", 'mean(b[gate=0.5] - 1, over=run) < "x"'),
        ("Call", "mean(b[gate=0.5] - 1, over=run)"),
        ("Arithmetic", "b[gate=0.5] - 1"),
        ("Selection", "b[gate=0.5]"),
        ("Number", "1"),
        ("Text", '"x"'),
    ]
    assert list(syntax.names(parse(text))) == ["a", "b"]


EARLY = "the expression ends too early"
QUOTE = "names that are not plain words are quoted inside `[ ]`"


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "an expression is empty"),
        ("  \n", 0, "an expression is empty"),
        ("a >", 3, EARLY),
        ("a >   ", 3, EARLY),
        ("mean(a", 6, f"{EARLY}; `(` at character 5 is not closed"),
        ("x[a", 3, f"{EARLY}; `[` at character 2 is not closed"),
        ('f(a, "(" ', 8, f"{EARLY}; `(` at character 2 is not closed"),
        ("a = b", 2, "unexpected `=`; one `=` stands only in a selection; write `==` to compare"),
        ("x[rule == ltt]", 2, "in a selection one `=` says equal"),
        ("a === b", 4, "unexpected `=`; one `=` stands only in a selection; write `==` to compare"),
        ("x[knn-30]", 5, f"unexpected `-`; {QUOTE}"),
        ("x[run=gpt-4o]", 9, f"unexpected `-`; {QUOTE}"),
        ("x[gpt 4]", 6, f"unexpected `4`; {QUOTE}"),
        ("x[a.b]", 3, f"unexpected character `.`; {QUOTE}"),
        ("x[org/model]", 5, f"unexpected `/`; {QUOTE}"),
        ("x[v1:0]", 4, f"unexpected character `:`; {QUOTE}"),
        ("x[3b]", 3, f"unexpected `b`; {QUOTE}"),
        ("x within [0 1]", 12, None),  # a list of bounds, not of names
        ("x within [0, 1", 14, f"{EARLY}; `[` at character 10 is not closed"),
        ("a && b", 2, "unexpected character `&`; write `and`, `or`"),
        ("a || b", 2, "unexpected character `|`; write `and`, `or`"),
        ("!a", 0, "unexpected character `!`; write `not`"),
        ("a ^ 2", 2, "unexpected character `^`; a power is written `**`"),
        ("a b", 2, "unexpected `b`; an operator is missing before it"),
        ("f(a) b", 5, "unexpected `b`; an operator is missing before it"),
        ("1_000", 1, "unexpected `_000`; an operator is missing before it"),
        ('a == "b', 5, "a text is not closed"),
        ("a == 'b", 5, "a text is not closed"),
        (r'a == "\q"', 6, r"unknown escape `\q` in a text; a backslash is written `\\`"),
        (r'matches(a, "\d+")', 12, r"unknown escape `\d` in a text; a backslash is written `\\`"),
        ("a < b within [0, 1]", 6, None),
        ("or > 1", 0, None),
        ("mean(or)", 5, None),
        ("a and", 5, EARLY),
        ("a == not b", 5, None),
        ("a)", 1, None),
        ("x[]", 2, None),
        ("mean(over=gate, a)", 14, None),
        ("mean(a, over=3)", 13, None),
        ("a @ b", 2, "unexpected character `@`"),
        ("é > 1", 0, "unexpected character `é`"),
        ("9007199254740993 > a", 0, None),
        ("a > 0.12345678901234567890", 4, None),
        ("a > 1e400", 4, None),
        ("a > 1e-400", 4, None),
        ("a > 1e99999999999999999999", 4, None),
        ("x[gate=0.12345678901234567890]", 7, None),
    ],
)
def test_errors_stand_at_their_character(text, offset, message):
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert error.value.start == offset
    assert error.value.start < error.value.end
    if message is not None:
        assert error.value.message == message
    assert "\n" not in error.value.message


@pytest.mark.parametrize("word", sorted(syntax.RESERVED))
def test_words_of_the_language_are_no_names(word):
    for text in (f"{word} + 1 > {word}", f"mean({word} - 1)"):
        if word == "support" or word in ("true", "false"):
            assert not any(isinstance(n, syntax.Name) for n in syntax.walk(parse(text)))
        elif word == "not":  # the one that may begin an operand: not (+1) is none, not (-1) is
            assert "(not (-1))" in shown(parse("mean(not - 1)"))
        else:
            with pytest.raises(ExpressionError):
                parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 5000,
        "not " * 4000 + "a",
        "-" * 9000 + "1",
        "+".join(["a"] * 200),
        "abs(" * 3000 + "a" + ")" * 3000,
        "**".join(["a"] * 200),
    ],
)
def test_depth_is_bounded_without_a_recursion_error(text):
    with pytest.raises(ExpressionError, match="nested deeper than 100 levels"):
        parse(text)


def test_length_is_bounded_before_anything_is_read():
    with pytest.raises(ExpressionError, match="longer than 20000 characters"):
        parse("a" * 20_001)
    assert len(parse(" and ".join(["a > 0"] * 2000)).operands) == 2000


@given(st.text("ab01.,()[]<>=!+-*/ \"'\\&|^é", max_size=30))
def test_whatever_is_written_is_read_or_refused_within_the_text(text):
    try:
        parse(text)
    except ExpressionError as error:
        assert 0 <= error.start <= max(len(text), 1)


def test_prepared_tables_are_those_of_this_grammar():
    # `python -m prereg.expression.tables` writes them anew
    stored = json.loads(tables.TABLES.read_bytes())
    assert stored["made_of"]["grammar"] == hashlib.sha256(tables.GRAMMAR.read_bytes()).hexdigest()


@given(st.text("ab01., ()[]<>=+-*\"'", max_size=20))
@settings(max_examples=50)
def test_prepared_tables_read_as_the_grammar_does(text):
    def outcome(parser):
        try:
            return parser.parse(text)
        except LarkError as error:
            return type(error), getattr(error, "pos_in_stream", None)

    assert outcome(PREPARED) == outcome(BUILT)
