"""The recorded legs of a prediction, laid out on the tree that the text of its claim gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import judge
from prereg.dataclass import dataclass
from prereg.expression import syntax
from prereg.rejudge.entries import ContradictionError, UnderivableError, is_defined, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Tree = dict[str, Any]


class _Mismatch(Exception):  # noqa: N818 - it ends the matching of a fold, it is no error
    """The next recorded leg is not the one the text asks for."""


@dataclass
class Built:
    """A tree of legs, and what was recorded of each, in the order of `elementary`."""

    node: judge.Node
    entries: list[Tree]


class Builder:
    """Lays the recorded legs out on the tree that the text of a claim gives."""

    def __init__(self, lets: Mapping[str, str], entries: Sequence[Tree], *, simple: bool) -> None:
        self.lets = lets
        self.entries = list(entries)
        self.simple = simple
        self.at = 0
        self.labels: list[str | None] = []
        self.depth = 0

    def build(self, text: str) -> Built:
        """The tree of a text, all recorded legs used up in the order written."""
        try:
            node = self._piece(syntax.parse(text), text, point=False)
        except _Mismatch as error:
            raise UnderivableError(f"its legs are not laid out as its text says ({error})") from None
        if self.at < len(self.entries):
            raise UnderivableError("it has more legs than its text says")
        return Built(node, self.entries)

    def _piece(self, node: syntax.Node, source: str, *, point: bool) -> judge.Node:
        match node:
            case syntax.Junction(op=op, operands=operands):
                inner = tuple(self._piece(x, source, point=point) for x in operands)
                return judge.Junction("and" if op == "and" else "or", inner, "")
            case syntax.Negation(operand=one):
                return judge.Not(self._piece(one, source, point=point), "")
            case syntax.Chain(operands=operands, ops=ops) if len(ops) == 1:
                return self._leg(syntax.written(node, source), ops[0], point=point)
            case syntax.Chain(operands=operands, ops=ops):
                links = zip(ops, operands, operands[1:], strict=False)
                legs = tuple(self._link(op, a, b, source, point=point) for op, a, b in links)
                return judge.Junction("and", legs, "")
            case syntax.Within(operand=one, low=low, high=high):
                first = self._link(">=", one, low, source, point=point)
                return judge.Junction("and", (first, self._link("<=", one, high, source, point=point)), "")
            case syntax.Call(function="all" | "any", arguments=(one,)):
                return self._fold(node, one, source, point=point)
            case syntax.Call(function="point", arguments=(one,)):
                return self._piece(one, source, point=True)
            case syntax.Call(function="differs"):
                return self._leg(syntax.written(node, source), "!=", point=point, two_sided=True)
            case syntax.Name(name=name) if name in self.lets:
                text = self.lets[name]
                return self._piece(syntax.parse(text), text, point=point)
            case _:
                return self._leg(syntax.written(node, source), None, point=point)

    def _fold(self, node: syntax.Call, inner: syntax.Node, source: str, *, point: bool) -> judge.Node:
        if self.depth:
            raise UnderivableError("a fold inside a fold: the ledger does not say where one ends")
        self.depth += 1
        children: list[judge.Node] = []
        seen: set[tuple[str | None, ...]] = set()
        while self.at < len(self.entries):
            before, labelled = self.at, len(self.labels)
            try:
                child = self._piece(inner, source, point=point)
            except _Mismatch:
                if self.at > before:
                    raise
                break
            key = tuple(self.labels[labelled:])
            if key in seen:  # the same policy again: this leg belongs to what follows
                self.at = before
                del self.labels[labelled:]
                break
            seen.add(key)
            children.append(child)
        self.depth -= 1
        return judge.Junction("and" if node.function == "all" else "or", tuple(children), "")

    def _link(
        self, op: str, left: syntax.Node, right: syntax.Node, source: str, *, point: bool
    ) -> judge.Node:
        text = f"{syntax.written(left, source)} {op} {syntax.written(right, source)}"
        return self._leg(text, op, point=point)

    def _leg(self, text: str, op: str | None, *, point: bool, two_sided: bool = False) -> judge.Node:
        if self.at >= len(self.entries):
            raise _Mismatch(text)
        entry = self.entries[self.at]
        said = entry["claim"]
        if not self.simple:
            if said != text and not (said.startswith(f"{text} [") and said.endswith("]")):
                raise _Mismatch(text)
            self.labels.append(said[len(text) :])
        self.at += 1
        value = number(entry["point"])
        if op is None or (op in ("==", "!=") and not two_sided and value is None and is_defined(entry)):
            return judge.Truth(text, np.array([math.nan]), point_only=point, unpaired=entry["unpaired"])
        d = math.nan if value is None else value
        if value is None and is_defined(entry):
            raise ContradictionError(f"`{said}` has a verdict but no difference")
        left, right = number(entry["left"]), number(entry["right"])
        if (left is None) != (right is None) if value is not None else None not in (left, right):
            raise ContradictionError(f"`{said}` has a difference without its sides, or these without it")
        if value is not None and left is not None and right is not None:
            size = max(1.0, abs(left), abs(right))
            if not math.isclose(left - right, value, rel_tol=1e-8, abs_tol=1e-9 * size):
                raise ContradictionError(f"`{said}`: point is not left - right")
        return judge.Leg(
            text,
            op,  # type: ignore[arg-type]
            left,
            right,
            np.array([d]),
            point_only=point,
            unpaired=entry["unpaired"],
            two_sided=two_sided,
        )
