"""Expressions over the rows of the records: `derive`, `where`, `among`, `rate` and the arguments of metrics.

A column of N rows is a `Cells` of shape (S, N): S settings of the policies (gates, thresholds), S = 1 where
nothing depends on them.  Truth is three-valued (Kleene): what is missing stays missing unless the rest
decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.errors import listed, suggestion
from prereg.expression import syntax
from prereg.expression.syntax import ExpressionError
from prereg.values import rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRUTH, NUMBER, BINARY, TEXT, BROKEN = "truth", "number", "binary", "text", "broken"
_SPOKEN = {TRUTH: "a truth value", NUMBER: "a number", BINARY: "a number", TEXT: "a text"}


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column or expression.

    `data` is bool (truth), float64 (number) or int codes into `levels` (text), shape (S, N).
    `missing` marks what is undefined, or is None where every cell is defined; `data` there means nothing.
    """

    kind: str
    data: np.ndarray
    missing: np.ndarray | None = None
    levels: tuple[str, ...] = ()

    def missing_mask(self) -> np.ndarray:
        """The mask of undefined cells, shape of `data`."""
        return np.zeros(self.data.shape, dtype=bool) if self.missing is None else self.missing


class Table(Protocol):
    """What rows expressions are evaluated on."""

    def column(self, name: str) -> Cells:
        """The cells of a column."""
        ...

    def words(self, purpose: str, seed: int, by: tuple[str, ...]) -> np.ndarray:
        """A seeded word per row, uint64 (N,): equal for rows of the same unit (and of the same `by`)."""
        ...

    def partition(self, groups: int, seed: int) -> np.ndarray:
        """A seeded group number per row, float64 (N,): units in key order, cut into equal runs."""
        ...


def truth_of(cells: Cells) -> Cells:
    """A 0/1 column read as truth values."""
    if cells.kind == TRUTH:
        return cells
    return Cells(TRUTH, cells.data != 0, cells.missing)


def number_of(cells: Cells) -> Cells:
    """A truth column read as 1 and 0."""
    if cells.kind == TRUTH:
        return Cells(NUMBER, cells.data.astype(np.float64), cells.missing)
    return cells


def _either(*masks: np.ndarray | None) -> np.ndarray | None:
    out = None
    for mask in masks:
        if mask is not None:
            out = mask if out is None else out | mask
    return out


@dataclass
class Rows:
    """A compiled row expression: its kind, the columns it reads, and how to evaluate it."""

    kind: str
    columns: frozenset[str]
    evaluate: Callable[[Table], Cells]
    source_kind: str = ""
    """The kind before it was read as the expected one: a mean of truth values lies between 0 and 1."""


@dataclass
class Compiler:
    """Checks a row expression against the kinds of the columns and turns it into a function of a table."""

    kinds: Mapping[str, str]
    problems: list[ExpressionError] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    what: str = "column"

    def compile(self, node: syntax.Node, expected: str | None = None) -> Rows:
        """The compiled expression; problems are collected, and a broken piece makes no further ones."""
        self.read = set()
        source, evaluate = self._any(node)
        kind = source
        if expected is not None:
            kind, evaluate = self._as(expected, node, kind, evaluate)
        return Rows(kind, frozenset(self.read), evaluate, source)

    # -- helpers ---------------------------------------------------------------------------------------

    def _fail(self, message: str, node: syntax.Node) -> tuple[str, Callable[[Table], Cells]]:
        # the middle of a chain is read twice, and what is wrong with it is told once
        if not any((x.message, x.start, x.end) == (message, node.start, node.end) for x in self.problems):
            self.problems.append(ExpressionError(message, node.start, node.end))
        return BROKEN, _broken

    def _as(
        self, wanted: str, node: syntax.Node, kind: str, evaluate: Callable[[Table], Cells]
    ) -> tuple[str, Callable[[Table], Cells]]:
        if kind == BROKEN:
            return kind, evaluate
        if wanted == TRUTH and kind in (TRUTH, BINARY):
            return TRUTH, lambda table: truth_of(evaluate(table))
        if wanted == NUMBER and kind in (TRUTH, BINARY, NUMBER):
            return NUMBER, lambda table: number_of(evaluate(table))
        if wanted == TEXT and kind == TEXT:
            return TEXT, evaluate
        return self._fail(f"found {_SPOKEN[kind]}, expected {_SPOKEN[wanted]}", node)

    def _typed(self, wanted: str, node: syntax.Node) -> Callable[[Table], Cells]:
        kind, evaluate = self._any(node)
        return self._as(wanted, node, kind, evaluate)[1]

    def _any(self, node: syntax.Node) -> tuple[str, Callable[[Table], Cells]]:
        match node:
            case syntax.Number(value=value):
                number = np.array([[float(value)]])
                return (BINARY if value in (0, 1) else NUMBER), lambda _: Cells(NUMBER, number)
            case syntax.Bool(value=flag):
                truth = np.array([[flag]])
                return TRUTH, lambda _: Cells(TRUTH, truth)
            case syntax.Text(value=text):
                code = np.zeros((1, 1), dtype=np.int64)
                return TEXT, lambda _: Cells(TEXT, code, None, (text,))
            case syntax.Name(name=name):
                return self._column(node, name)
            case syntax.Minus(operand=inner):
                operand = self._typed(NUMBER, inner)
                return NUMBER, lambda table: _map(operand(table), np.negative)
            case syntax.Arithmetic():
                return NUMBER, self._arithmetic(node)
            case syntax.Chain():
                return TRUTH, self._chain(node)
            case syntax.Within(operand=inner, low=low, high=high):
                left = syntax.Chain(node.start, node.end, (inner, low), (">=",))
                right = syntax.Chain(node.start, node.end, (inner, high), ("<=",))
                return TRUTH, self._junction("and", (left, right))
            case syntax.Member(operand=inner, items=items):
                links = tuple(syntax.Chain(item.start, item.end, (inner, item), ("==",)) for item in items)
                return TRUTH, self._junction("or", links)
            case syntax.Negation(operand=inner):
                operand = self._typed(TRUTH, inner)
                return TRUTH, lambda table: _map(operand(table), np.logical_not)
            case syntax.Junction(op=op, operands=operands):
                return TRUTH, self._junction(op, operands)
            case syntax.Call():
                return self._call(node)
            case syntax.Selection():
                return self._fail("a selection `[ ]` belongs to metrics; rows have columns", node)
            case syntax.Support():
                return self._fail(
                    "`support` stands only in `falsified_if`, in one comparison with a number", node
                )
            case _:
                return self._fail("a list stands only inside `contains_any` or after `in`", node)

    def _column(self, node: syntax.Node, name: str) -> tuple[str, Callable[[Table], Cells]]:
        kind = self.kinds.get(name)
        if kind is None:
            hint = suggestion(name, self.kinds) or f"; known: {listed(self.kinds)}"
            return self._fail(f"unknown {self.what} `{name}`{hint}", node)
        self.read.add(name)
        return kind, lambda table: table.column(name)

    def _arithmetic(self, node: syntax.Arithmetic) -> Callable[[Table], Cells]:
        left, right = self._typed(NUMBER, node.left), self._typed(NUMBER, node.right)
        op = node.op

        def evaluate(table: Table) -> Cells:
            x, y = left(table), right(table)
            missing = _either(x.missing, y.missing)
            with np.errstate(all="ignore"):
                data = _OPERATIONS[op](x.data, y.data)
            return _finite(data, missing)

        return evaluate

    def _chain(self, node: syntax.Chain) -> Callable[[Table], Cells]:
        links = [
            self._compare(op, left, right)
            for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False)
        ]
        if len(links) == 1:
            return links[0]
        return lambda table: _kleene("and", [link(table) for link in links])

    def _compare(self, op: str, left: syntax.Node, right: syntax.Node) -> Callable[[Table], Cells]:
        (left_kind, x), (right_kind, y) = self._any(left), self._any(right)
        if BROKEN in (left_kind, right_kind):
            return _broken
        if (left_kind == TEXT) != (right_kind == TEXT):
            which = right if left_kind == TEXT else left
            hint = ""
            if isinstance(which, syntax.Number):
                hint = "; this column is text: quote the value"
            elif isinstance(which, syntax.Name):
                hint = f'; a text is quoted: "{which.name}"'
            return self._fail(f"cannot compare {_SPOKEN[left_kind]} with {_SPOKEN[right_kind]}{hint}", right)[
                1
            ]
        if left_kind == TEXT:
            if op not in ("==", "!="):
                return self._fail(f"texts have no order: `{op}` compares numbers", right)[1]
            return lambda table: _same_text(op, x(table), y(table))
        compare = _COMPARISONS[op]

        # Cells are compared as the decimals that are written; of computed numbers the difference is rounded
        # to 12 decimals, as between metrics, so that 0.1 + 0.2 == 0.3.
        computed = any(isinstance(side, syntax.Arithmetic | syntax.Call) for side in (left, right))

        def evaluate(table: Table) -> Cells:
            a, b = number_of(x(table)), number_of(y(table))
            left, right = a.data, b.data
            if computed:
                with np.errstate(over="ignore"):
                    left = rounded(left - right)
                right = np.zeros_like(left)
            return Cells(TRUTH, compare(left, right), _either(a.missing, b.missing))

        return evaluate

    def _junction(self, op: str, operands: tuple[syntax.Node, ...]) -> Callable[[Table], Cells]:
        parts = [self._typed(TRUTH, x) for x in operands]
        return lambda table: _kleene(op, [part(table) for part in parts])

    # -- functions -------------------------------------------------------------------------------------

    def _call(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        if node.over is not None:
            return self._fail("`over` belongs to functions over policies", node)
        method = _FUNCTIONS.get(node.function)
        if method is None:
            return self._fail(
                f"unknown function `{node.function}`{suggestion(node.function, _FUNCTIONS)}", node
            )
        low, high, build = method
        if not low <= len(node.arguments) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            return self._fail(
                f"`{node.function}` takes {wanted} arguments, found {len(node.arguments)}", node
            )
        return build(self, node)

    def _texts(self, node: syntax.Node) -> list[str] | None:
        if isinstance(node, syntax.Listing) and all(isinstance(x, syntax.Text) for x in node.items):
            return [x.value for x in node.items if isinstance(x, syntax.Text)]
        self._fail('expected a list of quoted texts: ["a", "b"]', node)
        return None

    def _literal(self, node: syntax.Node, what: str) -> float | None:
        if isinstance(node, syntax.Number):
            return float(node.value)
        self._fail(f"{what} is a number written in the protocol", node)
        return None

    def _whole(self, node: syntax.Node, what: str, low: int, high: int) -> int | None:
        value = self._literal(node, what)
        if value is None:
            return None
        if value != int(value) or not low <= value <= high:
            self._fail(f"{what} is a whole number from {low} to {high}", node)
            return None
        return int(value)

    def contains_any(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """True where the text holds one of the listed ones, in any case."""
        text = self._typed(TEXT, node.arguments[0])
        wanted = self._texts(node.arguments[1])
        if wanted is None:
            return BROKEN, _broken
        if not wanted or "" in wanted:
            return self._fail("an empty text is contained in everything", node.arguments[1])
        folded = [x.casefold() for x in wanted]

        def found(level: str) -> bool:
            level = level.casefold()
            return any(x in level for x in folded)

        return TRUTH, lambda table: _per_level(text(table), found, bool)

    def matches(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """True where the pattern occurs anywhere in the text (RE2 syntax: matching time is linear)."""
        text = self._typed(TEXT, node.arguments[0])
        pattern = node.arguments[1]
        if not isinstance(pattern, syntax.Text):
            return self._fail("the pattern is a quoted text", pattern)
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            compiled = re2.compile(pattern.value, options)
        except re2.error as error:
            reason = error.args[0]
            reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            return self._fail(f"the pattern is no linear-time regular expression: {reason}", pattern)
        return TRUTH, lambda table: _per_level(text(table), lambda x: compiled.search(x) is not None, bool)

    def lower(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """The text in lower case."""
        text = self._typed(TEXT, node.arguments[0])

        def evaluate(table: Table) -> Cells:
            cells = text(table)
            lowered = [x.lower() for x in cells.levels]
            levels = tuple(sorted(set(lowered)))
            place = {x: i for i, x in enumerate(levels)}
            return _recode(cells, np.array([place[x] for x in lowered], dtype=np.int64), levels)

        return TEXT, evaluate

    def length(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """The number of characters of the text."""
        text = self._typed(TEXT, node.arguments[0])
        return NUMBER, lambda table: _per_level(text(table), len, float)

    def defined(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """True where the cell is not missing."""
        kind, inner = self._any(node.arguments[0])
        if kind == BROKEN:
            return kind, inner
        wanted = node.function == "defined"

        def evaluate(table: Table) -> Cells:
            cells = inner(table)
            missing = cells.missing_mask()
            return Cells(TRUTH, ~missing if wanted else missing.copy())

        return TRUTH, evaluate

    def choose(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`if(c, a, b)`: a where c is true, b where it is false, undefined where it is undefined."""
        condition = self._typed(TRUTH, node.arguments[0])
        kinds = [self._any(x) for x in node.arguments[1:]]
        if BROKEN in (kinds[0][0], kinds[1][0]):
            return BROKEN, _broken
        kind = TRUTH if kinds[0][0] == kinds[1][0] == TRUTH else NUMBER
        if TEXT in (kinds[0][0], kinds[1][0]):
            return self._fail("`if` chooses between numbers or truth values", node)
        yes, no = (self._as(kind, node, *x)[1] for x in kinds)

        def evaluate(table: Table) -> Cells:
            c, a, b = condition(table), yes(table), no(table)
            data = np.where(c.data, a.data, b.data)
            chosen = np.where(c.data, a.missing_mask(), b.missing_mask())
            return Cells(kind, data, chosen | c.missing_mask())

        return kind, evaluate

    def otherwise(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`otherwise(x, y)`: x, and y where x is missing."""
        kinds = [self._any(x) for x in node.arguments]
        if BROKEN in (kinds[0][0], kinds[1][0]):
            return BROKEN, _broken
        if TEXT in (kinds[0][0], kinds[1][0]):
            first, second = (self._as(TEXT, n, *k)[1] for n, k in zip(node.arguments, kinds, strict=True))
            return TEXT, lambda table: _instead(*_shared([first(table), second(table)]))
        kind = TRUTH if kinds[0][0] == kinds[1][0] == TRUTH else NUMBER
        x, y = (self._as(kind, n, *k)[1] for n, k in zip(node.arguments, kinds, strict=True))
        return kind, lambda table: _instead(x(table), y(table))

    def majority(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`majority(a, b, c)`: the text most columns hold; missing votes do not count, a tie is missing."""
        votes = [self._typed(TEXT, x) for x in node.arguments]

        def evaluate(table: Table) -> Cells:
            cells = _shared([vote(table) for vote in votes])
            levels = cells[0].levels
            count = np.zeros(
                (len(levels), *np.broadcast_shapes(*(c.data.shape for c in cells))), dtype=np.int64
            )
            for c in cells:
                for code in range(len(levels)):
                    count[code] += (c.data == code) & ~c.missing_mask()
            most = count.max(axis=0, initial=0)
            unclear = (most == 0) | ((count == most).sum(axis=0) > 1)
            winner = np.where(unclear, -1, count.argmax(axis=0) if levels else -1)
            return Cells(TEXT, winner, unclear if unclear.any() else None, levels)

        return TEXT, evaluate

    def number_function(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`abs`, `ln`, `exp`, `sqrt`."""
        operand = self._typed(NUMBER, node.arguments[0])
        function = {"abs": np.abs, "ln": np.log, "exp": np.exp, "sqrt": np.sqrt}[node.function]

        def evaluate(table: Table) -> Cells:
            cells = operand(table)
            with np.errstate(all="ignore"):
                return _finite(function(cells.data), cells.missing)

        return NUMBER, evaluate

    def extreme(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`minimum` and `maximum` of two or more numbers of the row."""
        operands = [self._typed(NUMBER, x) for x in node.arguments]
        function = np.minimum if node.function == "minimum" else np.maximum

        def evaluate(table: Table) -> Cells:
            cells = [x(table) for x in operands]
            data = cells[0].data
            for other in cells[1:]:
                data = function(data, other.data)
            return Cells(NUMBER, data, _either(*(x.missing for x in cells)))

        return NUMBER, evaluate

    def flip(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`flip(x, p, seed)`: x turned round with probability p, drawn once per unit; a number becomes 1 - x.

        `flip(x, p, seed, column)` draws once per unit and value of the column (an arm, a judge).
        """
        source, operand = self._any(node.arguments[0])
        kind = NUMBER if source == NUMBER else TRUTH  # 0, 1/2 and 1 are correctness with ties
        operand = self._as(kind, node.arguments[0], source, operand)[1]
        share = self._literal(node.arguments[1], "the probability")
        seed = self._whole(node.arguments[2], "the seed", 0, 2**53)
        by: tuple[str, ...] = ()
        if len(node.arguments) == 4:
            column = node.arguments[3]
            if not isinstance(column, syntax.Name):
                return self._fail("the fourth argument of `flip` is a column", column)
            if self._column(column, column.name)[0] == BROKEN:
                return BROKEN, _broken
            by = (column.name,)
        if share is None or seed is None:
            return BROKEN, _broken
        if not 0 <= share <= 1:
            return self._fail("a probability lies between 0 and 1", node.arguments[1])
        bound = int(share * 2**64) if share < 1 else 2**64

        def evaluate(table: Table) -> Cells:
            cells = operand(table)
            words = table.words("flip", seed, by)
            turned = np.ones(words.shape, dtype=bool) if bound >= 2**64 else words < np.uint64(bound)
            if kind == TRUTH:
                return Cells(TRUTH, cells.data ^ turned[None, :], cells.missing)
            return Cells(NUMBER, np.where(turned[None, :], 1.0 - cells.data, cells.data), cells.missing)

        return kind, evaluate

    def random_partition(self, node: syntax.Call) -> tuple[str, Callable[[Table], Cells]]:
        """`partition(n, seed)`: a dataset's units in a seeded order, cut into n equal runs; from 0."""
        groups = self._whole(node.arguments[0], "the number of groups", 1, 100_000)
        seed = self._whole(node.arguments[1], "the seed", 0, 2**53)
        if groups is None or seed is None:
            return BROKEN, _broken
        return NUMBER, lambda table: Cells(NUMBER, table.partition(groups, seed)[None, :])


_FUNCTIONS: dict[
    str, tuple[int, int, Callable[[Compiler, syntax.Call], tuple[str, Callable[[Table], Cells]]]]
] = {
    "contains_any": (2, 2, Compiler.contains_any),
    "matches": (2, 2, Compiler.matches),
    "lower": (1, 1, Compiler.lower),
    "length": (1, 1, Compiler.length),
    "defined": (1, 1, Compiler.defined),
    "undefined": (1, 1, Compiler.defined),
    "if": (3, 3, Compiler.choose),
    "otherwise": (2, 2, Compiler.otherwise),
    "majority": (2, 20, Compiler.majority),
    "abs": (1, 1, Compiler.number_function),
    "ln": (1, 1, Compiler.number_function),
    "exp": (1, 1, Compiler.number_function),
    "sqrt": (1, 1, Compiler.number_function),
    "minimum": (2, 20, Compiler.extreme),
    "maximum": (2, 20, Compiler.extreme),
    "flip": (3, 4, Compiler.flip),
    "partition": (2, 2, Compiler.random_partition),
}
ROW_FUNCTIONS = frozenset(_FUNCTIONS)

_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
}
_COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def _broken(_: Table) -> Cells:
    raise AssertionError("a broken expression is never evaluated")


def _map(cells: Cells, function: Callable[[np.ndarray], np.ndarray]) -> Cells:
    return Cells(cells.kind, function(cells.data), cells.missing)


def _finite(data: np.ndarray, missing: np.ndarray | None) -> Cells:
    # division by zero, a logarithm of nothing, an overflow: the cell is undefined, never infinite
    wild = ~np.isfinite(data)
    if wild.any():
        missing = wild if missing is None else np.broadcast_to(missing, wild.shape) | wild
        data = np.where(wild, 0.0, data)
    return Cells(NUMBER, data, missing)


def _kleene(op: str, parts: list[Cells]) -> Cells:
    """`and` is false as soon as one part is false, `or` true as soon as one is true, missing or not."""
    if all(x.missing is None for x in parts):
        data = parts[0].data
        for other in parts[1:]:
            data = data & other.data if op == "and" else data | other.data
        return Cells(TRUTH, data)
    decided: np.ndarray | None = None
    unknown: np.ndarray | None = None
    for x in parts:
        value = ~x.data if op == "and" else x.data
        mask = x.missing_mask()
        sure = value & ~mask
        decided = sure if decided is None else decided | sure
        unknown = mask if unknown is None else unknown | mask
    if decided is None or unknown is None:
        raise AssertionError("a junction has parts")
    missing = unknown & ~decided
    return Cells(TRUTH, ~decided if op == "and" else decided, missing)


def _same_text(op: str, x: Cells, y: Cells) -> Cells:
    levels = {level: i for i, level in enumerate(dict.fromkeys((*x.levels, *y.levels)))}
    a = np.array([levels[v] for v in x.levels] + [-1], dtype=np.int64)[x.data]
    b = np.array([levels[v] for v in y.levels] + [-1], dtype=np.int64)[y.data]
    same = a == b
    return Cells(TRUTH, same if op == "==" else ~same, _either(x.missing, y.missing))


def _shared(many: list[Cells]) -> list[Cells]:
    """Text cells recoded into the sorted levels of all of them."""
    levels = tuple(sorted({level for cells in many for level in cells.levels}))
    place = {level: i for i, level in enumerate(levels)}
    return [
        _recode(cells, np.array([place[level] for level in cells.levels], dtype=np.int64), levels)
        for cells in many
    ]


def _instead(x: Cells, y: Cells) -> Cells:
    """x, and y where x is missing."""
    gone = x.missing_mask()
    data = np.where(gone, y.data, x.data)
    missing = gone & y.missing_mask()
    return Cells(x.kind, data, missing if missing.any() else None, x.levels)


def _per_level(cells: Cells, function: Callable[[str], object], kind: type) -> Cells:
    # a text is looked at once, however many rows carry it
    table: np.ndarray = np.array([function(x) for x in cells.levels] + [kind(0)], dtype=kind)
    return Cells(TRUTH if kind is bool else NUMBER, table[cells.data], cells.missing)


def _recode(cells: Cells, codes: np.ndarray, levels: tuple[str, ...]) -> Cells:
    return Cells(TEXT, np.append(codes, -1)[cells.data], cells.missing, levels)
