"""Outcomes: headline rules over verdicts, in the author's words; the first that applies is the headline.

A condition uses held(id), failed(id), falsified(id) and surprise(id), of which several ids must all be so;
`and`, `or`, `not`, and comparisons of sums of them (true counts 1).  Verdicts are known, none is undefined.
"""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import TYPE_CHECKING

from prereg.dataclass import dataclass
from prereg.errors import suggestion
from prereg.expression import syntax
from prereg.expression.operators import COMPARISONS
from prereg.expression.syntax import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FUNCTIONS = ("held", "failed", "falsified", "surprise")
VERDICTS = ("held", "failed", "falsified")
_MOST_PATTERNS = 20_000


@dataclass(frozen=True)
class Outcome:
    """One rule: its condition, and the text of the headline."""

    text: str
    node: syntax.Node
    then: str
    reads: tuple[str, ...]

    def applies(self, facts: Mapping[str, tuple[str, bool]]) -> bool:
        """Whether the condition is met; `facts` are (verdict, surprise) by id."""
        return bool(_value(self.node, facts))


def compile_outcome(text: str, then: str, ids: Sequence[str]) -> Outcome:
    """A rule from its text.

    Raises:
        ExpressionError: for what cannot stand in it, with the place.

    """
    node = syntax.parse(text)
    reads: dict[str, None] = {}
    _check(node, ids, reads)
    if not isinstance(node, syntax.Bool | syntax.Chain | syntax.Junction | syntax.Negation | syntax.Call):
        raise ExpressionError(
            "a condition is true or false: held(id), failed(id), falsified(id)", node.start, node.end
        )
    return Outcome(text, node, then, tuple(reads))


def _ids(node: syntax.Call, ids: Sequence[str]) -> list[str]:
    out = []
    for argument in node.arguments:
        if isinstance(argument, syntax.Name):
            name = argument.name
        elif isinstance(argument, syntax.Text):
            name = argument.value
        else:
            raise ExpressionError(
                "expected the id of a prediction, quoted where it has a hyphen", argument.start, argument.end
            )
        # as in `given`, a prediction with `each` is named as a whole: all of them
        found = [name] if name in ids else [one for one in ids if one.startswith(f"{name}[")]
        if not found:
            hint = suggestion(name, ids)
            raise ExpressionError(f"unknown prediction `{name}`{hint}", argument.start, argument.end)
        out += found
    return out


def _check(node: syntax.Node, ids: Sequence[str], reads: dict[str, None]) -> None:
    match node:
        case syntax.Call():
            if node.function not in FUNCTIONS:
                hint = suggestion(node.function, FUNCTIONS)
                raise ExpressionError(
                    f"unknown function `{node.function}`{hint}; known: {', '.join(FUNCTIONS)}",
                    node.start,
                    node.end,
                )
            if not node.arguments or node.over is not None:
                raise ExpressionError(f"`{node.function}` takes ids of predictions", node.start, node.end)
            reads.update(dict.fromkeys(_ids(node, ids)))
        case syntax.Number() | syntax.Bool():
            return
        case syntax.Chain() | syntax.Junction() | syntax.Negation() | syntax.Minus():
            for child in syntax.children(node):
                _check(child, ids, reads)
        case syntax.Arithmetic(op="+" | "-"):
            for child in syntax.children(node):
                _check(child, ids, reads)
        case _:
            raise ExpressionError(
                "a condition is made of held(id), failed(id), falsified(id) and surprise(id), "
                "with `and`, `or`, `not`, sums and comparisons",
                node.start,
                node.end,
            )


def _value(node: syntax.Node, facts: Mapping[str, tuple[str, bool]]) -> Decimal:
    match node:
        case syntax.Number(value=value):
            return value
        case syntax.Bool(value=flag):
            return Decimal(int(flag))
        case syntax.Call(function=function):
            found = [facts[name] for name in _ids(node, list(facts))]
            good = [
                surprise if function == "surprise" else verdict == function for verdict, surprise in found
            ]
            return Decimal(int(all(good)))
        case syntax.Negation(operand=inner):
            return Decimal(int(not _value(inner, facts)))
        case syntax.Minus(operand=inner):
            return -_value(inner, facts)
        case syntax.Junction(op=op, operands=operands):
            parts = [bool(_value(x, facts)) for x in operands]
            return Decimal(int(all(parts) if op == "and" else any(parts)))
        case syntax.Arithmetic(op=op, left=left, right=right):
            a, b = _value(left, facts), _value(right, facts)
            return a + b if op == "+" else a - b
        case syntax.Chain(operands=operands, ops=ops):
            values = [_value(x, facts) for x in operands]
            links = zip(ops, itertools.pairwise(values), strict=True)
            return Decimal(int(all(COMPARISONS[o](*pair) for o, pair in links)))
        case _:
            raise AssertionError(node)


def headline(outcomes: Sequence[Outcome], facts: Mapping[str, tuple[str, bool]]) -> str | None:
    """The text of the first rule that applies."""
    return next((o.then for o in outcomes if o.applies(facts)), None)


def uncovered(outcomes: Sequence[Outcome]) -> dict[str, str] | None:
    """A pattern of verdicts that no rule covers; None where every one is, or they are too many to look at."""
    ids = list(dict.fromkeys(name for o in outcomes for name in o.reads))
    if len(VERDICTS) ** len(ids) > _MOST_PATTERNS:
        return None
    for pattern in itertools.product(VERDICTS, repeat=len(ids)):
        # whether a verdict is a surprise hangs on what was anticipated; take the worst case of both
        for surprise in (False, True):
            facts = {name: (verdict, surprise) for name, verdict in zip(ids, pattern, strict=True)}
            if headline(outcomes, facts) is None:
                return dict(zip(ids, pattern, strict=True))
    return None
