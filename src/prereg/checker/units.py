"""Unit propagation over a growing list of clauses, with one saturated base and a way back to it.

A variable is a number v; the literal 2v says that it is true, 2v + 1 that it is false. Each clause of two
literals or more is watched at two of them, so that only what becomes false is looked at and going back costs
nothing but the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.checker.bounds import Budget

__all__ = ["Clauses"]


class Clauses:
    """Clauses and what follows from them by propagation, under assumptions that can be taken back.

    broken: the clauses alone conflict, so everything follows from them.
    """

    def __init__(self, variables: int, budget: Budget) -> None:
        self._budget = budget
        self._true = bytearray(2 * variables)
        self._watching: list[list[list[int]]] = [[] for _ in range(2 * variables)]
        self._trail: list[int] = []
        self._propagated = 0
        self.broken = False

    def add(self, literals: Iterable[int]) -> None:
        """Add a clause for good. Only while nothing is assumed."""
        kept: dict[int, None] = {}
        satisfied = False
        for literal in literals:
            self._budget.spend(1)
            satisfied = satisfied or bool(self._true[literal]) or literal ^ 1 in kept
            if not self._true[literal ^ 1]:
                kept[literal] = None
        if satisfied or self.broken:
            return
        clause = list(kept)
        if len(clause) < 2:
            self.broken = self.conflicts(clause) if clause else True
            return
        self._watching[clause[0]].append(clause)
        self._watching[clause[1]].append(clause)

    def mark(self) -> int:
        """Return the present state, for `undo`. Only after a propagation that did not conflict."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Take back all assumptions made since the mark, and what followed from them."""
        for literal in self._trail[mark:]:
            self._true[literal] = 0
        del self._trail[mark:]
        self._propagated = mark

    def conflicts(self, assumed: Iterable[int]) -> bool:
        """Assume literals and say whether propagation ends in a conflict. They stay assumed until `undo`."""
        if self.broken:
            return True
        true = self._true
        for literal in assumed:
            self._budget.spend(1)
            if true[literal ^ 1]:
                return True
            if not true[literal]:
                true[literal] = 1
                self._trail.append(literal)
        return self._propagate()

    def refutes(self, assumed: Iterable[int]) -> bool:
        """Say whether propagation from the present state and `assumed` conflicts, and go back."""
        mark = self.mark()
        found = self.conflicts(assumed)
        self.undo(mark)
        return found

    def _propagate(self) -> bool:
        true, trail = self._true, self._trail
        while self._propagated < len(trail):
            false = trail[self._propagated] ^ 1
            self._propagated += 1
            watching = self._watching[false]
            self._budget.spend(1 + len(watching))
            kept: list[list[int]] = []
            self._watching[false] = kept
            for at, clause in enumerate(watching):
                # The false literal stands second, whatever the order was.
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                first = clause[0]
                if true[first]:
                    kept.append(clause)
                    continue
                for k in range(2, len(clause)):
                    if not true[clause[k] ^ 1]:
                        clause[1], clause[k] = clause[k], false
                        self._watching[clause[1]].append(clause)
                        self._budget.spend(k)
                        break
                else:
                    self._budget.spend(len(clause))
                    kept.append(clause)
                    if true[first ^ 1]:
                        kept.extend(watching[at + 1 :])
                        return True
                    true[first] = 1
                    trail.append(first)
        return False
