"""Which way a bar was moved: weaker or stronger where one constant tells, else only that it changed.

Weaker means easier to be held or harder to be falsified; a lower level, fewer resamples and fewer predictions
are weaker too.  Two texts are compared as expressions: a constant counts with the side it stands on.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from prereg.dataclass import fields
from prereg.differences import ABSENT, changes
from prereg.expression import syntax
from prereg.expression.syntax import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.differences import Change

Direction = Literal["weaker", "stronger", "changed"]
Tree = dict[str, Any]
PREDICTION = re.compile(r"protocol\.predictions\[(?P<id>[^\]]+)\](?P<field>\..+)?\Z")
_MONOTONE = ("all", "any", "point")
_TIERS = ("exploratory", "secondary", "primary")


def directed(before: Tree, after: Tree) -> list[Tree]:
    """Every field in which two registrations differ, with its direction; what they amend is left out."""
    old, new = _bare(before), _bare(after)
    out = []
    for change in changes(old, new):
        entry: Tree = {"path": change.path, "direction": direction(change, old, new)}
        entry |= {"before": change.before} if change.before is not ABSENT else {}
        entry |= {"after": change.after} if change.after is not ABSENT else {}
        out.append(entry)
    return out


def _bare(content: Tree) -> Tree:
    return {key: value for key, value in content.items() if key != "amends"}


def direction(change: Change, before: Tree, after: Tree) -> Direction:
    """The direction of one change between two registrations."""
    if change.path in ("protocol.resampling.level", "protocol.resampling.resamples"):
        return _more(change.before, change.after)
    found = PREDICTION.match(change.path)
    if found is None:
        return "changed"
    if found["field"] is None:
        return "stronger" if change.before is ABSENT else "weaker"
    match found["field"]:
        case ".claim":
            return claim_direction(change.before, change.after)
        case ".falsified_if":
            return _opposite(claim_direction(change.before, change.after))
        case ".level":
            return _more(_level(change.before, before), _level(change.after, after))
        case ".evidence.support":
            return _more(change.before, change.after)
        case ".tier":
            return _more(_TIERS.index(change.before), _TIERS.index(change.after))
        case field if re.fullmatch(r"\.each\[[^\]]+\]\.value", field):
            return _members(change.before, change.after)
    return "changed"


def _more(before: Any, after: Any) -> Direction:
    """More is stronger."""
    numbers = [x for x in (before, after) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) < 2 or before == after:
        return "changed"
    return "stronger" if after > before else "weaker"


def _level(own: Any, content: Tree) -> Any:
    """The level in force: a prediction's own, else that of the resampling."""
    drawn = content["protocol"].get("resampling") or {}
    return drawn.get("level", 0.95) if own is None else own


def _members(before: Any, after: Any) -> Direction:
    """More values of `each` are more predictions."""
    if not isinstance(before, list) or not isinstance(after, list):
        return "changed"
    old, new = set(before), set(after)
    if old == new or not (old < new or new < old):
        return "changed"
    return "stronger" if old < new else "weaker"


def _opposite(one: Direction) -> Direction:
    return {"weaker": "stronger", "stronger": "weaker", "changed": "changed"}[one]  # type: ignore[return-value]


def claim_direction(before: Any, after: Any) -> Direction:
    """Weaker where the second of two claims is easier to be true, told by the one constant that differs."""
    if not isinstance(before, str) or not isinstance(after, str):
        return "changed"
    try:
        found = list(_constants(syntax.parse(before), syntax.parse(after), 1))
    except (ExpressionError, _OtherShapeError):
        return "changed"
    if len(found) != 1 or found[0][1] == 0:
        return "changed"
    delta, sign = found[0]
    return "weaker" if (delta > 0) == (sign > 0) else "stronger"


class _OtherShapeError(Exception):
    """Two expressions differ in more than constants."""


def _constants(a: syntax.Node, b: syntax.Node, sign: int) -> Iterator[tuple[Decimal, int]]:
    """(difference, sign) of each constant that differs.

    The sign says what a larger value at this place does: 1 makes the whole easier to be true, -1 harder, 0 is
    not known.
    """
    if type(a) is not type(b):
        raise _OtherShapeError
    match a, b:
        case syntax.Number(value=x), syntax.Number(value=y):
            if x != y:
                yield y - x, sign
        case syntax.Minus() | syntax.Negation(), syntax.Minus() | syntax.Negation():
            yield from _constants(a.operand, b.operand, -sign)
        case syntax.Junction(), syntax.Junction() if a.op == b.op:
            yield from _all(a.operands, b.operands, [sign] * len(a.operands))
        case syntax.Call(), syntax.Call() if (a.function, a.over) == (b.function, b.over):
            inner = sign if a.function in _MONOTONE else 0
            yield from _all(a.arguments, b.arguments, [inner] * len(a.arguments))
        case syntax.Chain(), syntax.Chain() if a.ops == b.ops:
            yield from _all(a.operands, b.operands, [sign * s for s in _sides(a.ops)])
        case syntax.Within(), syntax.Within():
            parts = ((a.operand, a.low, a.high), (b.operand, b.low, b.high))
            yield from _all(*parts, [0, -sign, sign])
        case syntax.Arithmetic(), syntax.Arithmetic() if a.op == b.op:
            left, right = _of_arithmetic(a)
            yield from _all((a.left, a.right), (b.left, b.right), [sign * left, sign * right])
        case syntax.Listing(), syntax.Listing():
            yield from _all(a.items, b.items, [0] * len(a.items))
        case syntax.Member(), syntax.Member():
            yield from _all((a.operand, *a.items), (b.operand, *b.items), [0] * (1 + len(a.items)))
        case _:
            if _plain(a) != _plain(b):
                raise _OtherShapeError


def _all(
    a: tuple[syntax.Node, ...], b: tuple[syntax.Node, ...], signs: list[int]
) -> Iterator[tuple[Decimal, int]]:
    if len(a) != len(b):
        raise _OtherShapeError
    for one, other, sign in zip(a, b, signs, strict=True):
        yield from _constants(one, other, sign)


def _sides(ops: tuple[str, ...]) -> list[int]:
    """Per operand of a chain: 1 where a larger one makes its links easier to be true, -1 harder, else 0."""
    right = [{"<": 1, "<=": 1, ">": -1, ">=": -1}.get(op, 0) for op in ops]
    out = []
    for i in range(len(ops) + 1):
        links = [*([right[i - 1]] if i > 0 else []), *([-right[i]] if i < len(ops) else [])]
        out.append(links[0] if len(set(links)) == 1 else 0)
    return out


def _of_arithmetic(node: syntax.Arithmetic) -> tuple[int, int]:
    """What a larger left and right side do to the value."""
    match node.op:
        case "+":
            return 1, 1
        case "-":
            return 1, -1
        case "*" | "/":
            factor = node.right.value if isinstance(node.right, syntax.Number) else Decimal(0)
            return (1 if factor > 0 else 0), 0
    return 0, 0


def _plain(node: syntax.Node) -> Any:
    """A leaf without its place in the text."""
    match node:
        case syntax.Selection():
            return node.name, [(s.factor, s.op, s.values) for s in node.selectors]
        case _:
            keys = [f.name for f in fields(node) if f.name not in ("start", "end")]
            return type(node), [getattr(node, key) for key in keys]
