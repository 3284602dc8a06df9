"""Equal formulas are one number, and parts come before the whole: all evaluation is one pass upwards.

No formula is ever written out, since a chain of equivalences doubles with each link; and nothing recurs,
since brackets in real problems nest thousands deep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.checker.bounds import BudgetSpentError

if TYPE_CHECKING:
    from prereg.checker.bounds import Budget

__all__ = ["AND", "CONSTANT", "FALSE", "IMPLIES", "LETTER", "OR", "TRUE", "Formulas"]

LETTER, CONSTANT, AND, OR, IMPLIES = range(5)

# The two constants are in every table, at the same numbers.
TRUE, FALSE = 0, 1


class Formulas:
    """A growing table: formula f is of `kinds[f]` and, if joined, made of `lefts[f]` and `rights[f]`.

    letters: the number of each letter, by its name, in order of first occurrence.
    """

    __slots__ = ("_joined", "budget", "kinds", "lefts", "letters", "rights")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.kinds = [CONSTANT, CONSTANT]
        self.lefts = [0, 0]
        self.rights = [0, 0]
        self.letters: dict[str, int] = {}
        self._joined: dict[tuple[int, int, int], int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def letter(self, name: str) -> int:
        """Return the letter of that name, which is new if it has not been met before."""
        number = self.letters.get(name)
        if number is None:
            number = self.letters[name] = self._new(LETTER, 0, 0)
        return number

    def join(self, kind: int, left: int, right: int) -> int:
        """Return left & right, left | right or left => right."""
        key = (kind, left, right)
        number = self._joined.get(key)
        if number is None:
            number = self._joined[key] = self._new(kind, left, right)
        return number

    def negation(self, formula: int) -> int:
        """Return formula => $false; two of them stay two, as only a classical reader may drop them."""
        return self.join(IMPLIES, formula, FALSE)

    def equivalence(self, left: int, right: int) -> int:
        """Return (left => right) & (right => left)."""
        return self.join(AND, self.join(IMPLIES, left, right), self.join(IMPLIES, right, left))

    def _new(self, kind: int, left: int, right: int) -> int:
        self.budget.spend(1)
        if len(self.kinds) >= self.budget.bounds.formulas:
            raise BudgetSpentError(f"more than {self.budget.bounds.formulas} formulas")
        self.kinds.append(kind)
        self.lefts.append(left)
        self.rights.append(right)
        return len(self.kinds) - 1
