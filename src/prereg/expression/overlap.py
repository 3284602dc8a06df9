"""Can a claim and its falsifier both be true?  Decided for bounds on the same quantities, without algebra."""

from __future__ import annotations

from prereg.dataclass import dataclass
from prereg.expression import syntax
from prereg.expression.operators import NEGATED, TURNED
from prereg.expression.ranges import INF


@dataclass(frozen=True)
class Span:
    """What a quantity is bound to: its ends, and whether each end itself is left out."""

    low: float = -INF
    high: float = INF
    above_low: bool = False
    below_high: bool = False

    def both(self, other: Span) -> Span:
        """Where both hold."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        above = any(s.above_low for s in (self, other) if s.low == low)
        below = any(s.below_high for s in (self, other) if s.high == high)
        return Span(low, high, above, below)

    @property
    def empty(self) -> bool:
        """No value is left."""
        return self.low > self.high or (self.low == self.high and (self.above_low or self.below_high))


def compatible(claim: str, falsifier: str) -> bool:
    """Whether bounds of the two leave values of which both are true; False where that cannot be decided.

    Decided are conjunctions of comparisons of a quantity with a number, or of two quantities with each other,
    where the claim bounds every quantity that the falsifier does. Quantities are the same where their texts
    are.
    """
    mine, other = (_bounds(syntax.parse(text), text) for text in (claim, falsifier))
    if not mine or not other or not other.keys() <= mine.keys():
        return False
    return not any(mine[name].both(span).empty for name, span in other.items())


def _bounds(node: syntax.Node, source: str) -> dict[str, Span] | None:
    """The span of every quantity in a conjunction; None for any other claim."""
    links = _links(node)
    if links is None:
        return None
    out: dict[str, Span] = {}
    for left, op, right in links:
        bound = _bound(left, op, right, source)
        if bound is None:
            return None
        name, span = bound
        out[name] = out.get(name, Span()).both(span)
    return out


_Link = tuple[syntax.Node, str, syntax.Node]


def _links(node: syntax.Node) -> list[_Link] | None:
    match node:
        case syntax.Chain(operands=operands, ops=ops):
            return list(zip(operands, ops, operands[1:], strict=False))
        case syntax.Within(operand=inner, low=low, high=high):
            return [(inner, ">=", low), (inner, "<=", high)]
        case syntax.Call(function="point", arguments=(inner,)):
            return _links(inner)
        case syntax.Negation(operand=inner):
            links = _links(inner)
            if links is None or len(links) != 1 or links[0][1] not in NEGATED:
                return None
            left, op, right = links[0]
            return [(left, NEGATED[op], right)]
        case syntax.Junction(op="and", operands=operands):
            out = []
            for operand in operands:
                links = _links(operand)
                if links is None:
                    return None
                out += links
            return out
        case _:
            return None


def _bound(left: syntax.Node, op: str, right: syntax.Node, source: str) -> tuple[str, Span] | None:
    if op == "!=":
        return None
    a, b = _number(left), _number(right)
    if a is not None and b is not None:
        return None
    if a is not None:
        left, op, b = right, TURNED[op], a
    name = _text(left, source)
    if b is None:  # the difference of two quantities against 0, under one name whichever stands left
        other, b = _text(right, source), 0.0
        if other < name:
            name, other, op = other, name, TURNED[op]
        name = f"{name} - ({other})"
    if op == "==":
        return name, Span(b, b)
    if op in ("<", "<="):
        return name, Span(high=b, below_high=op == "<")
    return name, Span(low=b, above_low=op == ">")


def _number(node: syntax.Node) -> float | None:
    match node:
        case syntax.Number(value=value):
            return float(value)
        case syntax.Minus(operand=inner):
            number = _number(inner)
            return None if number is None else -number
        case _:
            return None


def _text(node: syntax.Node, source: str) -> str:
    return "".join(source[node.start : node.end].split())
