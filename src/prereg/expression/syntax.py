"""Text of an expression -> a small tree that remembers where each piece stood."""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from prereg.dataclass import dataclass, fields
from prereg.expression.tables import parser
from prereg.numerals import exact_float

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_LENGTH = 20_000
MAX_DEPTH = 100
RESERVED = frozenset({"and", "or", "not", "within", "in", "true", "false", "support", "over"})
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class ExpressionError(Exception):
    """What is wrong with an expression, and the characters it is wrong at."""

    def __init__(self, message: str, start: int, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = start + 1 if end is None else end


@dataclass(frozen=True)
class Node:
    """A piece of an expression; `start` and `end` are offsets into its text."""

    start: int
    end: int


@dataclass(frozen=True)
class Number(Node):
    """A decimal, exactly as written."""

    value: Decimal


@dataclass(frozen=True)
class Text(Node):
    """A quoted text."""

    value: str


@dataclass(frozen=True)
class Bool(Node):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Support(Node):
    """`support`: the share of resamples in which the whole claim is true."""


@dataclass(frozen=True)
class Name(Node):
    """A column, metric, factor or attribute."""

    name: str


@dataclass(frozen=True)
class Call(Node):
    """`function(arguments, over=factors)`."""

    function: str
    arguments: tuple[Node, ...]
    over: tuple[str, ...] | None


@dataclass(frozen=True)
class Selector:
    """One condition of a selection: `factor op values`, or a bare value (factor None)."""

    start: int
    end: int
    factor: str | None
    op: str
    values: tuple[str | Decimal, ...]


@dataclass(frozen=True)
class Selection(Node):
    """`metric[selectors]`."""

    name: str
    selectors: tuple[Selector, ...]


@dataclass(frozen=True)
class Listing(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Minus(Node):
    """`-x`."""

    operand: Node


@dataclass(frozen=True)
class Arithmetic(Node):
    """`left op right` with op one of + - * / **."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Chain(Node):
    """`a < b <= c`: the conjunction of its links."""

    operands: tuple[Node, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class Within(Node):
    """`x within [low, high]`: x >= low and x <= high."""

    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True)
class Member(Node):
    """`x in [a, b]`."""

    operand: Node
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Negation(Node):
    """`not x`."""

    operand: Node


@dataclass(frozen=True)
class Junction(Node):
    """`a and b and c`, or with `or`."""

    op: str
    operands: tuple[Node, ...]


def alike(a: object, b: object, lets: Mapping[str, Node]) -> bool:
    """Whether two expressions are the same but for where they stand, with every `let` written out."""
    return _form(a, lets) == _form(b, lets)


def _form(part: object, lets: Mapping[str, Node]) -> object:
    """A part without its places, as something that can be compared."""
    if isinstance(part, Name) and part.name in lets:
        return _form(lets[part.name], lets)
    if isinstance(part, Node | Selector):
        names = [f.name for f in fields(part) if f.name not in ("start", "end")]
        return (type(part).__name__, *(_form(getattr(part, name), lets) for name in names))
    return tuple(_form(one, lets) for one in part) if isinstance(part, tuple) else part


def children(node: Node) -> Iterator[Node]:
    """The pieces directly inside a node."""
    match node:
        case Call(arguments=inner) | Listing(items=inner) | Junction(operands=inner):
            yield from inner
        case Chain(operands=inner):
            yield from inner
        case Minus(operand=one) | Negation(operand=one):
            yield one
        case Arithmetic(left=left, right=right):
            yield left
            yield right
        case Within(operand=one, low=low, high=high):
            yield from (one, low, high)
        case Member(operand=one, items=inner):
            yield one
            yield from inner
        case _:
            return


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, in the order written."""
    yield node
    for child in children(node):
        yield from walk(child)


def names(node: Node) -> Iterator[str]:
    """Every name read by an expression (columns, metrics, factors), in the order written."""
    for piece in walk(node):
        if isinstance(piece, Name | Selection):
            yield piece.name


def written(node: Node, source: str) -> str:
    """A piece as it stands in the text it was read from, in one line."""
    return " ".join(source[node.start : node.end].split())


def note(problems: list[ExpressionError], message: str, node: Node | Selector) -> None:
    """Add what is wrong with a piece, once: the middle of a chain is read twice."""
    if not any((x.message, x.start, x.end) == (message, node.start, node.end) for x in problems):
        problems.append(ExpressionError(message, node.start, node.end))


_ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t"}


def _unquote(token: str, start: int) -> str:
    body = token[1:-1]
    if "\\" not in body:
        return body
    out: list[str] = []
    i = 0
    while i < len(body):
        char = body[i]
        if char == "\\":
            following = body[i + 1]
            if following not in _ESCAPES:
                raise ExpressionError(
                    f"unknown escape `\\{following}` in a text; a backslash is written `\\\\`",
                    start + 1 + i,
                    start + 3 + i,
                )
            out.append(_ESCAPES[following])
            i += 2
        else:
            out.append(char)
            i += 1
    return "".join(out)


def decimal_literal(token: str, start: int) -> Decimal:
    """The decimal a literal means; refused where a double cannot hold it as written."""
    try:
        exact_float(token)
    except ValueError as error:
        raise ExpressionError(f"the number {error}", start, start + len(token)) from None
    return Decimal(token)


def _callbacks() -> Any:
    from lark import Transformer, v_args

    @v_args(meta=True)
    class Build(Transformer):  # type: ignore[type-arg]
        """One method per rule of the grammar."""

        def number(self, meta: Any, items: Any) -> Any:
            value = decimal_literal(str(items[0]), meta.start_pos)
            return Number(meta.start_pos, meta.end_pos, value)

        def text(self, meta: Any, items: Any) -> Any:
            value = _unquote(str(items[0]), meta.start_pos)
            return Text(meta.start_pos, meta.end_pos, value)

        def true(self, meta: Any, _: Any) -> Any:
            return Bool(meta.start_pos, meta.end_pos, True)

        def false(self, meta: Any, _: Any) -> Any:
            return Bool(meta.start_pos, meta.end_pos, False)

        def support(self, meta: Any, _: Any) -> Any:
            return Support(meta.start_pos, meta.end_pos)

        def name(self, meta: Any, items: Any) -> Any:
            return Name(meta.start_pos, meta.end_pos, str(items[0]))

        def over(self, meta: Any, items: Any) -> Any:
            return (meta.start_pos, tuple(str(x) for x in items[1:]))

        def call(self, meta: Any, items: Any) -> Any:
            inner = [x for x in items[1:] if x is not None]
            over = None
            if inner and isinstance(inner[-1], tuple):
                over = inner.pop()[1]
            return Call(meta.start_pos, meta.end_pos, str(items[0]), tuple(inner), over)

        def selection(self, meta: Any, items: Any) -> Any:
            return Selection(meta.start_pos, meta.end_pos, str(items[0]), tuple(items[1:]))

        def by_value(self, meta: Any, items: Any) -> Any:
            return Selector(meta.start_pos, meta.end_pos, None, "=", (items[0],))

        def by_factor(self, meta: Any, items: Any) -> Any:
            return Selector(meta.start_pos, meta.end_pos, str(items[0]), "=", (items[1],))

        def by_order(self, meta: Any, items: Any) -> Any:
            op = str(items[1])
            if op == "==":
                raise ExpressionError("in a selection one `=` says equal", meta.start_pos, meta.end_pos)
            return Selector(meta.start_pos, meta.end_pos, str(items[0]), op, (items[2],))

        def by_list(self, meta: Any, items: Any) -> Any:
            return Selector(meta.start_pos, meta.end_pos, str(items[0]), "in", tuple(items[1:]))

        def word_name(self, _: Any, items: Any) -> Any:
            return str(items[0])

        def word_text(self, meta: Any, items: Any) -> Any:
            return _unquote(str(items[0]), meta.start_pos)

        def word_number(self, meta: Any, items: Any) -> Any:
            return decimal_literal(str(items[0]), meta.start_pos)

        def word_negative(self, meta: Any, items: Any) -> Any:
            return -decimal_literal(str(items[0]), meta.start_pos)

        def word_true(self, *_: Any) -> Any:
            return "true"

        def word_false(self, *_: Any) -> Any:
            return "false"

        def list(self, meta: Any, items: Any) -> Any:
            return Listing(meta.start_pos, meta.end_pos, tuple(items))

        def group(self, _: Any, items: Any) -> Any:
            return items[0]

        def minus(self, meta: Any, items: Any) -> Any:
            return Minus(meta.start_pos, meta.end_pos, items[0])

        def _arithmetic(self, op: str, meta: Any, items: Any) -> Any:
            return Arithmetic(meta.start_pos, meta.end_pos, op, items[0], items[1])

        def add(self, meta: Any, items: Any) -> Any:
            return self._arithmetic("+", meta, items)

        def subtract(self, meta: Any, items: Any) -> Any:
            return self._arithmetic("-", meta, items)

        def multiply(self, meta: Any, items: Any) -> Any:
            return self._arithmetic("*", meta, items)

        def divide(self, meta: Any, items: Any) -> Any:
            return self._arithmetic("/", meta, items)

        def power(self, meta: Any, items: Any) -> Any:
            return self._arithmetic("**", meta, items)

        def chain(self, meta: Any, items: Any) -> Any:
            operands, ops = tuple(items[::2]), tuple(str(x) for x in items[1::2])
            return Chain(meta.start_pos, meta.end_pos, operands, ops)

        def within(self, meta: Any, items: Any) -> Any:
            return Within(meta.start_pos, meta.end_pos, *items)

        def member(self, meta: Any, items: Any) -> Any:
            return Member(meta.start_pos, meta.end_pos, items[0], items[1].items)

        def negation(self, meta: Any, items: Any) -> Any:
            return Negation(meta.start_pos, meta.end_pos, items[0])

        def conjunction(self, meta: Any, items: Any) -> Any:
            return Junction(meta.start_pos, meta.end_pos, "and", tuple(items))

        def disjunction(self, meta: Any, items: Any) -> Any:
            return Junction(meta.start_pos, meta.end_pos, "or", tuple(items))

    return Build()


@functools.cache
def _grammar() -> Any:
    return parser(), _callbacks()


def _bounded(tree: Any) -> Any:
    """The tree itself, refused where it is so deep that walking it could exhaust the stack."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            at = min(getattr(x.meta, "start_pos", 0) for x in level)
            raise ExpressionError(f"nested deeper than {MAX_DEPTH} levels", at)
        level = [x for node in level for x in node.children if hasattr(x, "children")]
    return tree


_SHOWN = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text",
    "COMPARE": "a comparison",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
}


def _open_brackets(text: str) -> list[int]:
    """Where the brackets stand that are not closed, texts left out."""
    out: list[int] = []
    for found in re.finditer(r"""[\[\]()]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", text, re.DOTALL):
        if found.group() in "([":
            out.append(found.start())
        elif found.group() in ")]" and out:
            out.pop()
    return out


def _too_early(text: str) -> ExpressionError:
    still_open = _open_brackets(text)
    hint = f"; `{text[still_open[-1]]}` at character {still_open[-1] + 1} is not closed" if still_open else ""
    return ExpressionError(f"the expression ends too early{hint}", len(text.rstrip()))


def _in_selection(before: str) -> bool:
    still_open = _open_brackets(before)
    if not still_open or before[still_open[-1]] != "[":
        return False
    word = re.search(r"[A-Za-z_][A-Za-z0-9_]*\s*\Z", before[: still_open[-1]])
    return word is not None and word.group().strip() != "within"


def _hint(text: str, found: str, at: int) -> str:
    if found == "=":
        return "one `=` stands only in a selection; write `==` to compare"
    if found.startswith("="):
        return "one `=` says equal in a selection, two in a comparison"
    before = text[:at]
    if _in_selection(before) and re.match(r"[-A-Za-z0-9_./:@+]", found):
        return "names that are not plain words are quoted inside `[ ]`"
    for sign, plain in (
        ("≤", "<="),
        ("≥", ">="),
        ("≠", "!="),
        ("−", "-"),
        ("×", "*"),
        ("“", '"'),
        ("”", '"'),
    ):
        if found.startswith(sign):
            return f"write `{plain}`"
    if found.startswith(("&", "|")):
        return "write `and`, `or`"
    if found.startswith("!"):
        return "write `not`"
    if found.startswith("^"):
        return "a power is written `**`"
    if re.match(r"[A-Za-z_]", found) and re.search(r"[A-Za-z0-9_)\]]\s*\Z", before):
        return "an operator is missing before it"
    return ""


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Node:
    """The tree of an expression.

    Raises:
        ExpressionError: with the offset of the first character that cannot stand there.

    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken, VisitError

    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters", 0)
    if not text.strip():
        raise ExpressionError("an expression is empty", 0)
    grammar, build = _grammar()
    try:
        return build.transform(_bounded(grammar.parse(text)))  # type: ignore[no-any-return]
    except VisitError as error:
        if isinstance(error.orig_exc, ExpressionError):
            raise error.orig_exc from None
        raise
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        char = text[at]
        if char in "\"'":
            raise ExpressionError("a text is not closed", at, len(text)) from None
        hint = _hint(text, text[at : at + 2], at)
        raise ExpressionError(f"unexpected character `{char}`" + (f"; {hint}" if hint else ""), at) from None
    except UnexpectedEOF:
        raise _too_early(text) from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise _too_early(text) from None
        at = error.token.start_pos or 0
        token = str(error.token)
        hint = _hint(text, token, at)
        wanted = sorted({_SHOWN[x] for x in error.accepts or error.expected if x in _SHOWN})
        expected = f", expected {' or '.join(wanted)}" if 0 < len(wanted) <= 4 and not hint else ""
        raise ExpressionError(
            f"unexpected `{token}`{expected}" + (f"; {hint}" if hint else ""), at, at + len(token)
        ) from None
