"""Expressions over the rows of the records: `derive`, `where`, `among`, `rate` and the arguments of metrics.

A tree is checked against the kinds of the columns and becomes a function of a table; problems are collected,
each with the characters it stands at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from prereg.dataclass import dataclass, field, replace
from prereg.decimals import difference, significant
from prereg.errors import listed, suggestion
from prereg.expression import syntax
from prereg.expression.cells import (
    BINARY,
    BROKEN,
    NUMBER,
    TEXT,
    TRUTH,
    Cells,
    broken,
    either,
    finite,
    kleene,
    mapped,
    number_of,
    same_text,
    truth_of,
)
from prereg.expression.operators import ARITHMETIC, COMPARISONS
from prereg.expression.row_functions import COMPUTING, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from prereg.expression.syntax import ExpressionError

_SPOKEN = {TRUTH: "a truth value", NUMBER: "a number", BINARY: "a number", TEXT: "a text"}


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


Evaluate: TypeAlias = "Callable[[Table], Cells]"
Piece: TypeAlias = tuple[str, Evaluate]
"""A kind, and how to compute cells of it."""


@dataclass
class Rows:
    """A compiled row expression: its kind, the columns it reads, and how to evaluate it."""

    kind: str
    columns: frozenset[str]
    evaluate: Evaluate
    source_kind: str = ""
    """The kind before it was read as the expected one: a mean of truth values lies between 0 and 1."""


def _read(evaluate: Evaluate) -> Evaluate:
    """Computed numbers as the decimals they stand for: 0.1 * 3 is 0.3."""

    def read(table: Table) -> Cells:
        cells = evaluate(table)
        return replace(cells, data=significant(cells.data))

    return read


@dataclass
class Compiler:
    """Checks a row expression against the kinds of the columns and turns it into a function of a table."""

    kinds: Mapping[str, str]
    computed: Container[str] = ()
    """The columns of computed numbers."""
    problems: list[ExpressionError] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    what: str = "column"

    def compile(self, node: syntax.Node, expected: str | None = None) -> Rows:
        """The compiled expression; problems are collected, and a broken piece makes no further ones."""
        self.read = set()
        source, evaluate = self.piece(node)
        if source == NUMBER and self.computes(node):
            evaluate = _read(evaluate)
        kind = source
        if expected is not None:
            kind, evaluate = self.read_as(expected, node, kind, evaluate)
        return Rows(kind, frozenset(self.read), evaluate, source)

    def fail(self, message: str, node: syntax.Node) -> Piece:
        """Note a problem; the broken piece makes no further ones."""
        syntax.note(self.problems, message, node)
        return BROKEN, broken

    def read_as(self, wanted: str, node: syntax.Node, kind: str, evaluate: Evaluate) -> Piece:
        """A piece read as the kind that is wanted there: a 0/1 column as truth, truth as 1 and 0."""
        if kind == BROKEN:
            return kind, evaluate
        if wanted == TRUTH and kind in (TRUTH, BINARY):
            return TRUTH, lambda table: truth_of(evaluate(table))
        if wanted == NUMBER and kind in (TRUTH, BINARY, NUMBER):
            return NUMBER, lambda table: number_of(evaluate(table))
        if wanted == TEXT and kind == TEXT:
            return TEXT, evaluate
        return self.fail(f"found {_SPOKEN[kind]}, expected {_SPOKEN[wanted]}", node)

    def typed(self, wanted: str, node: syntax.Node) -> Evaluate:
        """How to compute a tree as the kind that is wanted there."""
        kind, evaluate = self.piece(node)
        return self.read_as(wanted, node, kind, evaluate)[1]

    def piece(self, node: syntax.Node) -> Piece:
        """The piece of a tree, of whatever kind it is."""
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
                return self.column(node, name)
            case syntax.Minus(operand=inner):
                operand = self.typed(NUMBER, inner)
                return NUMBER, lambda table: mapped(operand(table), np.negative)
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
                operand = self.typed(TRUTH, inner)
                return TRUTH, lambda table: mapped(operand(table), np.logical_not)
            case syntax.Junction(op=op, operands=operands):
                return TRUTH, self._junction(op, operands)
            case syntax.Call():
                return self._call(node)
            case syntax.Selection():
                return self.fail("a selection `[ ]` belongs to metrics; rows have columns", node)
            case syntax.Support():
                return self.fail(
                    "`support` stands only in `falsified_if`, in one comparison with a number", node
                )
            case _:
                return self.fail("a list stands only inside `contains_any` or after `in`", node)

    def computes(self, node: syntax.Node) -> bool:
        """Whether a number is computed, here or in a derived column, and not one that was written."""
        match node:
            case syntax.Name(name=name):
                return name in self.computed
            case syntax.Minus(operand=inner):
                return self.computes(inner)
            case syntax.Call(function=function, arguments=arguments):
                return function in COMPUTING or any(self.computes(x) for x in arguments)
            case _:
                return isinstance(node, syntax.Arithmetic)

    def column(self, node: syntax.Node, name: str) -> Piece:
        """A column by its name, which is noted as read."""
        kind = self.kinds.get(name)
        if kind is None:
            hint = suggestion(name, self.kinds) or f"; known: {listed(self.kinds)}"
            return self.fail(f"unknown {self.what} `{name}`{hint}", node)
        self.read.add(name)
        return kind, lambda table: table.column(name)

    def _arithmetic(self, node: syntax.Arithmetic) -> Evaluate:
        left, right = self.typed(NUMBER, node.left), self.typed(NUMBER, node.right)
        op = node.op

        def evaluate(table: Table) -> Cells:
            x, y = left(table), right(table)
            missing = either(x.missing, y.missing)
            with np.errstate(all="ignore"):
                data = ARITHMETIC[op](x.data, y.data)
            return finite(data, missing)

        return evaluate

    def _chain(self, node: syntax.Chain) -> Evaluate:
        links = [
            self._compare(op, left, right)
            for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False)
        ]
        if len(links) == 1:
            return links[0]
        return lambda table: kleene("and", [link(table) for link in links])

    def _compare(self, op: str, left: syntax.Node, right: syntax.Node) -> Evaluate:
        (left_kind, x), (right_kind, y) = self.piece(left), self.piece(right)
        if BROKEN in (left_kind, right_kind):
            return broken
        if (left_kind == TEXT) != (right_kind == TEXT):
            which = right if left_kind == TEXT else left
            hint = ""
            if isinstance(which, syntax.Number):
                hint = "; this column is text: quote the value"
            elif isinstance(which, syntax.Name):
                hint = f'; a text is quoted: "{which.name}"'
            return self.fail(f"cannot compare {_SPOKEN[left_kind]} with {_SPOKEN[right_kind]}{hint}", right)[
                1
            ]
        if left_kind == TEXT:
            if op not in ("==", "!="):
                return self.fail(f"texts have no order: `{op}` compares numbers", right)[1]
            return lambda table: same_text(op, x(table), y(table))
        compare = COMPARISONS[op]

        # Cells are compared as the decimals that are written; of computed numbers the difference is rounded,
        # as between metrics, so that 0.1 * 3 == 0.3.
        computed = self.computes(left) or self.computes(right)

        def evaluate(table: Table) -> Cells:
            a, b = number_of(x(table)), number_of(y(table))
            left, right = a.data, b.data
            if computed:
                left = difference(left, right)
                right = np.zeros_like(left)
            return Cells(TRUTH, compare(left, right), either(a.missing, b.missing))

        return evaluate

    def _junction(self, op: str, operands: tuple[syntax.Node, ...]) -> Evaluate:
        parts = [self.typed(TRUTH, x) for x in operands]
        return lambda table: kleene(op, [part(table) for part in parts])

    def _call(self, node: syntax.Call) -> Piece:
        if node.over is not None:
            return self.fail("`over` belongs to functions over policies", node)
        method = FUNCTIONS.get(node.function)
        if method is None:
            return self.fail(
                f"unknown function `{node.function}`{suggestion(node.function, FUNCTIONS)}", node
            )
        low, high, build = method
        if not low <= len(node.arguments) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            return self.fail(f"`{node.function}` takes {wanted} arguments, found {len(node.arguments)}", node)
        return build(self, node)
