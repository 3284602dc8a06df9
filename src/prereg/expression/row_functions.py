"""The functions of expressions over rows: what arguments each takes, and what it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.expression import syntax
from prereg.expression.cells import (
    BROKEN,
    NUMBER,
    TEXT,
    TRUTH,
    Cells,
    broken,
    either,
    finite,
    instead,
    per_level,
    recoded,
    shared,
)
from prereg.expression.operators import ARITHMETIC, ELEMENTARY

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg.expression.rows import Compiler, Piece, Table


_ONE = np.ones((1, 1))


def _contains_any(compiler: Compiler, node: syntax.Call) -> Piece:
    """True where the text holds one of the listed ones, in any case."""
    text = compiler.typed(TEXT, node.arguments[0])
    wanted = _texts(compiler, node.arguments[1])
    if wanted is None:
        return BROKEN, broken
    if not wanted or "" in wanted:
        return compiler.fail("an empty text is contained in everything", node.arguments[1])
    folded = [x.casefold() for x in wanted]

    def found(level: str) -> bool:
        level = level.casefold()
        return any(x in level for x in folded)

    return TRUTH, lambda table: per_level(text(table), found, bool)


def _matches(compiler: Compiler, node: syntax.Call) -> Piece:
    """True where the pattern occurs anywhere in the text (RE2 syntax: matching time is linear)."""
    text = compiler.typed(TEXT, node.arguments[0])
    pattern = node.arguments[1]
    if not isinstance(pattern, syntax.Text):
        return compiler.fail("the pattern is a quoted text", pattern)
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern.value, options)
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        return compiler.fail(f"the pattern is no linear-time regular expression: {reason}", pattern)
    return TRUTH, lambda table: per_level(text(table), lambda x: compiled.search(x) is not None, bool)


def _lower(compiler: Compiler, node: syntax.Call) -> Piece:
    """The text in lower case."""
    text = compiler.typed(TEXT, node.arguments[0])

    def evaluate(table: Table) -> Cells:
        cells = text(table)
        lowered = [x.lower() for x in cells.levels]
        levels = tuple(sorted(set(lowered)))
        place = {x: i for i, x in enumerate(levels)}
        return recoded(cells, np.array([place[x] for x in lowered], dtype=np.int64), levels)

    return TEXT, evaluate


def _length(compiler: Compiler, node: syntax.Call) -> Piece:
    """The number of characters of the text."""
    text = compiler.typed(TEXT, node.arguments[0])
    return NUMBER, lambda table: per_level(text(table), len, float)


def _defined(compiler: Compiler, node: syntax.Call) -> Piece:
    """True where the cell is not missing."""
    kind, inner = compiler.piece(node.arguments[0])
    if kind == BROKEN:
        return kind, inner
    wanted = node.function == "defined"

    def evaluate(table: Table) -> Cells:
        cells = inner(table)
        missing = cells.missing_mask()
        return Cells(TRUTH, ~missing if wanted else missing.copy())

    return TRUTH, evaluate


def _choose(compiler: Compiler, node: syntax.Call) -> Piece:
    """`if(c, a, b)`: a where c is true, b where it is false, undefined where it is undefined."""
    condition = compiler.typed(TRUTH, node.arguments[0])
    kinds = [compiler.piece(x) for x in node.arguments[1:]]
    if BROKEN in (kinds[0][0], kinds[1][0]):
        return BROKEN, broken
    kind = TRUTH if kinds[0][0] == kinds[1][0] == TRUTH else NUMBER
    if TEXT in (kinds[0][0], kinds[1][0]):
        return compiler.fail("`if` chooses between numbers or truth values", node)
    yes, no = (compiler.read_as(kind, node, *x)[1] for x in kinds)

    def evaluate(table: Table) -> Cells:
        c, a, b = condition(table), yes(table), no(table)
        data = np.where(c.data, a.data, b.data)
        chosen = np.where(c.data, a.missing_mask(), b.missing_mask())
        return Cells(kind, data, chosen | c.missing_mask())

    return kind, evaluate


def _otherwise(compiler: Compiler, node: syntax.Call) -> Piece:
    """`otherwise(x, y)`: x, and y where x is missing."""
    kinds = [compiler.piece(x) for x in node.arguments]
    if BROKEN in (kinds[0][0], kinds[1][0]):
        return BROKEN, broken
    if TEXT in (kinds[0][0], kinds[1][0]):
        first, second = (compiler.read_as(TEXT, n, *k)[1] for n, k in zip(node.arguments, kinds, strict=True))
        return TEXT, lambda table: instead(*shared([first(table), second(table)]))
    kind = TRUTH if kinds[0][0] == kinds[1][0] == TRUTH else NUMBER
    x, y = (compiler.read_as(kind, n, *k)[1] for n, k in zip(node.arguments, kinds, strict=True))
    return kind, lambda table: instead(x(table), y(table))


def _majority(compiler: Compiler, node: syntax.Call) -> Piece:
    """`majority(a, b, c)`: the text most columns hold; missing votes do not count, a tie is missing."""
    votes = [compiler.typed(TEXT, x) for x in node.arguments]

    def evaluate(table: Table) -> Cells:
        cells = shared([vote(table) for vote in votes])
        levels = cells[0].levels
        count = np.zeros((len(levels), *np.broadcast_shapes(*(c.data.shape for c in cells))), dtype=np.int64)
        for c in cells:
            for code in range(len(levels)):
                count[code] += (c.data == code) & ~c.missing_mask()
        most = count.max(axis=0, initial=0)
        unclear = (most == 0) | ((count == most).sum(axis=0) > 1)
        winner = np.where(unclear, -1, count.argmax(axis=0) if levels else -1)
        return Cells(TEXT, winner, unclear if unclear.any() else None, levels)

    return TEXT, evaluate


def _number_function(compiler: Compiler, node: syntax.Call) -> Piece:
    """`abs`, `ln`, `exp`, `sqrt`."""
    operand = compiler.typed(NUMBER, node.arguments[0])
    function = ELEMENTARY[node.function]

    def evaluate(table: Table) -> Cells:
        cells = operand(table)
        with np.errstate(all="ignore"):
            return finite(function(cells.data), cells.missing)

    return NUMBER, evaluate


def _extreme(compiler: Compiler, node: syntax.Call) -> Piece:
    """`minimum` and `maximum` of two or more numbers of the row."""
    operands = [compiler.typed(NUMBER, x) for x in node.arguments]
    function = np.minimum if node.function == "minimum" else np.maximum

    def evaluate(table: Table) -> Cells:
        cells = [x(table) for x in operands]
        data = cells[0].data
        for other in cells[1:]:
            data = function(data, other.data)
        return Cells(NUMBER, data, either(*(x.missing for x in cells)))

    return NUMBER, evaluate


def _flip(compiler: Compiler, node: syntax.Call) -> Piece:
    """`flip(x, p, seed)`: x turned round with probability p, drawn once per unit; a number becomes 1 - x.

    `flip(x, p, seed, column)` draws once per unit and value of the column (an arm, a judge).
    """
    source, operand = compiler.piece(node.arguments[0])
    kind = NUMBER if source == NUMBER else TRUTH  # 0, 1/2 and 1 are correctness with ties
    operand = compiler.read_as(kind, node.arguments[0], source, operand)[1]
    share = _literal(compiler, node.arguments[1], "the probability")
    seed = _whole(compiler, node.arguments[2], "the seed", 0, 2**53)
    by: tuple[str, ...] = ()
    if len(node.arguments) == 4:
        column = node.arguments[3]
        if not isinstance(column, syntax.Name):
            return compiler.fail("the fourth argument of `flip` is a column", column)
        if compiler.column(column, column.name)[0] == BROKEN:
            return BROKEN, broken
        by = (column.name,)
    if share is None or seed is None:
        return BROKEN, broken
    if not 0 <= share <= 1:
        return compiler.fail("a probability lies between 0 and 1", node.arguments[1])
    bound = int(share * 2**64) if share < 1 else 2**64

    def evaluate(table: Table) -> Cells:
        cells = operand(table)
        words = table.words("flip", seed, by)
        turned = np.ones(words.shape, dtype=bool) if bound >= 2**64 else words < np.uint64(bound)
        if kind == TRUTH:
            return Cells(TRUTH, cells.data ^ turned[None, :], cells.missing)
        return Cells(
            NUMBER, np.where(turned[None, :], ARITHMETIC["-"](_ONE, cells.data), cells.data), cells.missing
        )

    return kind, evaluate


def _random_partition(compiler: Compiler, node: syntax.Call) -> Piece:
    """`partition(n, seed)`: a dataset's units in a seeded order, cut into n equal runs; from 0."""
    groups = _whole(compiler, node.arguments[0], "the number of groups", 1, 100_000)
    seed = _whole(compiler, node.arguments[1], "the seed", 0, 2**53)
    if groups is None or seed is None:
        return BROKEN, broken
    return NUMBER, lambda table: Cells(NUMBER, table.partition(groups, seed)[None, :])


def _texts(compiler: Compiler, node: syntax.Node) -> list[str] | None:
    if isinstance(node, syntax.Listing) and all(isinstance(x, syntax.Text) for x in node.items):
        return [x.value for x in node.items if isinstance(x, syntax.Text)]
    compiler.fail('expected a list of quoted texts: ["a", "b"]', node)
    return None


def _literal(compiler: Compiler, node: syntax.Node, what: str) -> float | None:
    if isinstance(node, syntax.Number):
        return float(node.value)
    compiler.fail(f"{what} is a number written in the protocol", node)
    return None


def _whole(compiler: Compiler, node: syntax.Node, what: str, low: int, high: int) -> int | None:
    value = _literal(compiler, node, what)
    if value is None:
        return None
    if value != int(value) or not low <= value <= high:
        compiler.fail(f"{what} is a whole number from {low} to {high}", node)
        return None
    return int(value)


FUNCTIONS: dict[str, tuple[int, int, Callable[[Compiler, syntax.Call], Piece]]] = {
    "contains_any": (2, 2, _contains_any),
    "matches": (2, 2, _matches),
    "lower": (1, 1, _lower),
    "length": (1, 1, _length),
    "defined": (1, 1, _defined),
    "undefined": (1, 1, _defined),
    "if": (3, 3, _choose),
    "otherwise": (2, 2, _otherwise),
    "majority": (2, 20, _majority),
    "abs": (1, 1, _number_function),
    "ln": (1, 1, _number_function),
    "exp": (1, 1, _number_function),
    "sqrt": (1, 1, _number_function),
    "minimum": (2, 20, _extreme),
    "maximum": (2, 20, _extreme),
    "flip": (3, 4, _flip),
    "partition": (2, 2, _random_partition),
}
"""By name: the fewest and the most arguments, and what makes the call a piece."""
COMPUTING = frozenset({"ln", "exp", "sqrt", "flip"})
"""Those that give other numbers than they take."""
