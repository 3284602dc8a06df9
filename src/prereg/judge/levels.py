"""By how much the alpha of a claim is divided at each of its legs, for each direction."""

from __future__ import annotations

from prereg.dataclass import dataclass
from prereg.judge.nodes import Junction, Leg, Node, Not, Truth


@dataclass(frozen=True)
class Division:
    """What alpha is divided by before a leg may be held, and before it may be falsified."""

    held: int = 1
    falsified: int = 1


def divisions(node: Node) -> list[Division]:
    """Return the division at each elementary leg, in the order of `elementary`.

    Where one child suffices (`and` for falsified, `or` for held) alpha is divided by the number of elementary
    legs below the run of equal connectives, which is flattened, undefined legs and empty selections included.
    Below a change of connective the division starts anew and multiplies (Bonferroni at each change); `not`
    exchanges the two directions and ends a run.
    """
    return _divided(node, Division(), inside=None)


def _divided(node: Node, division: Division, inside: str | None) -> list[Division]:
    match node:
        case Leg() | Truth():
            return [division]
        case Not():
            return _divided(node.child, Division(division.falsified, division.held), inside=None)
        case Junction():
            if node.kind != inside:
                k = _size(node)
                division = (
                    Division(division.held, division.falsified * k)
                    if node.kind == "and"
                    else Division(division.held * k, division.falsified)
                )
            return [d for child in node.children for d in _divided(child, division, node.kind)]


def _size(node: Node) -> int:
    """Return the number of elementary legs below a node; an empty selection counts as one undefined leg."""
    match node:
        case Leg() | Truth():
            return 1
        case Not():
            return _size(node.child)
        case Junction():
            return max(1, sum(_size(child) for child in node.children))
