"""A problem as clauses over its own formulas: there are no fresh names, so each clause can be checked.

Each formula gets only the clauses of the side it is used on (Plaisted & Greenbaum 1986, in the intuitionistic
form of Claessen & Rosen 2015). A flat clause says that all of its body entails one of its head; an
implication (a, b, c) stands for (a => b) => c, where c is the row of `a => b`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.studies.logic.formulas import AND, FALSE, IMPLIES, LETTER, OR, TRUE

if TYPE_CHECKING:
    from prereg.studies.logic.formulas import Entailment

Flat = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a problem comes to: it holds if and only if `flat` and `implications` entail `goal`."""

    flat: tuple[Flat, ...]
    implications: tuple[tuple[int, int, int], ...]
    goal: int

    def rows(self) -> list[int]:
        """Return the rows that occur, in order of the table."""
        used = {self.goal}
        for body, head in self.flat:
            used.update(body, head)
        for implication in self.implications:
            used.update(implication)
        return sorted(used)


def clausify(problem: Entailment, *, classical: bool = False) -> Clauses:
    """Return the clauses of a problem; where `classical`, `~~A` is taken to be A (and only there)."""
    return _Clausifier(problem, classical).clauses()


class _Clausifier:
    def __init__(self, problem: Entailment, classical: bool) -> None:
        self.problem = problem
        self.rows = problem.formulas.rows
        self.classical = classical
        self.flat: list[Flat] = []
        self.implications: list[tuple[int, int, int]] = []
        self.todo: list[tuple[int, bool]] = []
        self.seen: set[tuple[int, bool]] = set()
        self.uses: dict[int, int] = {}
        for i in problem.reached():
            connective, left, right = self.rows[i]
            if connective in (AND, OR, IMPLIES):
                for side in (self.plain(left), self.plain(right)):
                    self.uses[side] = self.uses.get(side, 0) + 1

    def plain(self, i: int) -> int:
        """Drop double negations where that is allowed."""
        while self.classical:
            inner = self.negated(i)
            inner = None if inner is None else self.negated(inner)
            if inner is None:
                break
            i = inner
        return i

    def negated(self, i: int) -> int | None:
        connective, left, right = self.rows[i]
        return left if connective == IMPLIES and self.rows[right][0] == FALSE else None

    def parts(self, i: int) -> tuple[int, ...]:
        """Take a conjunction or disjunction apart, down to what is something else or used elsewhere."""
        connective = self.rows[i][0]
        found: list[int] = []
        todo = [i]
        while todo:
            j = todo.pop()
            if j == i or (self.rows[j][0] == connective and self.uses.get(j, 0) == 1):
                todo.extend(self.plain(side) for side in (self.rows[j][2], self.rows[j][1]))
            else:
                found.append(j)
        return tuple(dict.fromkeys(found))

    def used(self, i: int, *, given: bool) -> int:
        """Ask for the clauses of a formula on the side where it is given, or where it is to be shown."""
        if (i, given) not in self.seen:
            self.seen.add((i, given))
            self.todo.append((i, given))
        return i

    def clauses(self) -> Clauses:
        for axiom in self.problem.axioms:
            self.flat.append(((), (self.used(self.plain(axiom), given=True),)))
        goal = self.used(self.plain(self.problem.conjecture), given=False)
        while self.todo:
            i, given = self.todo.pop()
            if given:
                self.given(i)
            else:
                self.shown(i)
        return Clauses(tuple(dict.fromkeys(self.flat)), tuple(self.implications), goal)

    def given(self, i: int) -> None:
        connective, left, right = self.rows[i]
        if connective == FALSE:
            self.flat.append(((i,), ()))
        elif connective == AND:
            self.flat.extend(((i,), (self.used(part, given=True),)) for part in self.parts(i))
        elif connective == OR:
            self.flat.append(((i,), tuple(self.used(part, given=True) for part in self.parts(i))))
        elif connective == IMPLIES:
            left, right = self.plain(left), self.plain(right)
            body = (i, self.used(left, given=False))
            self.flat.append((body, (self.used(right, given=True),)))

    def shown(self, i: int) -> None:
        connective, left, right = self.rows[i]
        if connective == TRUE:
            self.flat.append(((), (i,)))
        elif connective == AND:
            self.flat.append((tuple(self.used(part, given=False) for part in self.parts(i)), (i,)))
        elif connective == OR:
            self.flat.extend(((self.used(part, given=False),), (i,)) for part in self.parts(i))
        elif connective == IMPLIES:
            left, right = self.plain(left), self.plain(right)
            self.implications.append((self.used(left, given=True), self.used(right, given=False), i))
        else:
            assert connective in (LETTER, FALSE)
