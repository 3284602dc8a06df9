"""An incremental SAT solver in plain Python: clause learning, assumptions, cores, budgets as counts.

MiniSat's design (Een & Sorensson 2003): two watched literals, first unique implication points, activities
with a heap, Luby restarts. Every decision gives a variable the same value, so models are rich or poor in true
letters, and nothing depends on time, hashing or addresses: the same calls give the same models, cores and
learned clauses everywhere.

A literal is `2 * v` (variable v is true) or `2 * v + 1` (v is false).
"""

from __future__ import annotations

from enum import Enum
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Clause = list[int]

_RESTART = 100
_DECAY = 1 / 0.95
_HUGE = 1e100


class Answer(Enum):
    """What a call found; each member is true, so that `UNKNOWN` cannot pass for `UNSATISFIABLE`."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


class Solver:
    """Clauses over variables 0 .. variables - 1, solved again and again; decisions make them `phase`.

    `learned` logs every clause learned, in order; each follows by unit propagation from the clauses added and
    those learned before. `consistent` is False as soon as the clauses alone are contradictory.
    """

    def __init__(self, variables: int, *, phase: bool = False) -> None:
        self.variables = variables
        self.consistent = True
        self.conflicts = 0
        self.calls = 0
        self.learned: list[Clause] = []
        self.value = [0] * (2 * variables)  # per literal: 1 true, -1 false, 0 open
        self._long: list[list[Clause]] = [[] for _ in self.value]  # clauses watching a literal
        self._short: list[list[tuple[int, Clause]]] = [[] for _ in self.value]  # (other literal, clause)
        self._level = [0] * variables
        self._reason: list[Clause | None] = [None] * variables
        self._trail: list[int] = []
        self._ends: list[int] = []  # length of the trail before each level
        self._head = 0
        self._activity = [0.0] * variables
        self._bump = 1.0
        self._off = 0 if phase else 1
        self._heap = [(0.0, v) for v in range(variables)]
        self._waiting = [True] * variables  # an up-to-date entry is in the heap
        self._core: list[int] = []

    def add(self, literals: Iterable[int]) -> None:
        """Add a clause for good."""
        self._back_to(0)
        if not self.consistent:
            return
        value = self.value
        clause: Clause = []
        for literal in dict.fromkeys(literals):
            if value[literal] > 0 or literal ^ 1 in clause:
                return
            if value[literal] == 0:
                clause.append(literal)
        self._attach(clause)
        if self.consistent and self._propagate() is not None:
            self.consistent = False

    def _attach(self, clause: Clause) -> None:
        if not clause:
            self.consistent = False
        elif len(clause) == 1:
            self._set(clause[0], None)
        elif len(clause) == 2:
            first, second = clause
            self._short[first].append((second, clause))
            self._short[second].append((first, clause))
        else:
            self._long[clause[0]].append(clause)
            self._long[clause[1]].append(clause)

    def solve(self, assumptions: Sequence[int] = (), max_conflicts: int | None = None) -> Answer:
        """Look for a model of the clauses in which the assumptions, decided in their order, hold.

        After SATISFIABLE `model()` is to be read, after UNSATISFIABLE `core()`. UNKNOWN after `max_conflicts`
        conflicts of this call.
        """
        self.calls += 1
        self._core = []
        self._back_to(0)
        restarts = 0
        left = _RESTART
        used = 0
        while self.consistent:
            conflict = self._propagate()
            if conflict is not None:
                self.conflicts += 1
                used += 1
                left -= 1
                if not self._ends:
                    self.consistent = False
                elif max_conflicts is not None and used > max_conflicts:
                    return Answer.UNKNOWN
                else:
                    self._learn(conflict)
                continue
            if left <= 0:
                restarts += 1
                left = _RESTART * _luby(restarts)
                self._back_to(0)
                continue
            decision = self._next(assumptions)
            if decision is None:
                return Answer.SATISFIABLE
            if self.value[decision] < 0:
                self._core = self._why(decision ^ 1)
                self._back_to(0)
                return Answer.UNSATISFIABLE
            self._ends.append(len(self._trail))
            self._set(decision, None)
        return Answer.UNSATISFIABLE

    def model(self) -> list[int]:
        """Return the true variables of the model just found, in ascending order."""
        return sorted(literal >> 1 for literal in self._trail if not literal & 1)

    def core(self) -> list[int]:
        """Return assumptions that alone contradict the clauses, sorted; none if the clauses do already."""
        return self._core

    def refutes(self, literals: Iterable[int]) -> bool:
        """Tell whether unit propagation alone, without a decision, contradicts the literals."""
        self._back_to(0)
        if not self.consistent:
            return True
        self._ends.append(len(self._trail))
        conflict = False
        for literal in literals:
            state = self.value[literal]
            if state < 0:
                conflict = True
                break
            if state == 0:
                self._set(literal, None)
                if self._propagate() is not None:
                    conflict = True
                    break
        self._back_to(0)
        return conflict

    def implied(self, literals: Sequence[int]) -> list[int] | None:
        """Return all literals that propagation from `literals` makes true; None if it ends in a conflict."""
        self._back_to(0)
        if not self.consistent:
            return None
        self._ends.append(len(self._trail))
        for literal in literals:
            if self.value[literal] == 0:
                self._set(literal, None)
            if self.value[literal] < 0 or self._propagate() is not None:
                self._back_to(0)
                return None
        found = list(self._trail)
        self._back_to(0)
        return found

    def _set(self, literal: int, reason: Clause | None) -> None:
        self.value[literal] = 1
        self.value[literal ^ 1] = -1
        variable = literal >> 1
        self._level[variable] = len(self._ends)
        self._reason[variable] = reason
        self._trail.append(literal)

    def _propagate(self) -> Clause | None:
        value, trail, level, reason = self.value, self._trail, self._level, self._reason
        now = len(self._ends)
        head = self._head
        while head < len(trail):
            false = trail[head] ^ 1
            head += 1
            for other, clause in self._short[false]:
                state = value[other]
                if state == 0:
                    value[other] = 1
                    value[other ^ 1] = -1
                    level[other >> 1] = now
                    reason[other >> 1] = clause
                    trail.append(other)
                elif state < 0:
                    self._head = len(trail)
                    return clause
            watching = self._long[false]
            if not watching:
                continue
            kept = 0
            for at, clause in enumerate(watching):
                first = clause[0]
                if first == false:
                    first = clause[0] = clause[1]
                    clause[1] = false
                state = value[first]
                if state > 0:
                    watching[kept] = clause
                    kept += 1
                    continue
                for k in range(2, len(clause)):
                    literal = clause[k]
                    if value[literal] >= 0:
                        clause[1] = literal
                        clause[k] = false
                        self._long[literal].append(clause)
                        break
                else:
                    watching[kept] = clause
                    kept += 1
                    if state < 0:
                        watching[kept:] = watching[at + 1 :]
                        self._head = len(trail)
                        return clause
                    value[first] = 1
                    value[first ^ 1] = -1
                    level[first >> 1] = now
                    reason[first >> 1] = clause
                    trail.append(first)
            del watching[kept:]
        self._head = head
        return None

    def _learn(self, conflict: Clause) -> None:
        """Learn the clause of the first unique implication point, go back to where it is a unit, set it."""
        level, trail, now = self._level, self._trail, len(self._ends)
        seen: set[int] = set()
        tail: Clause = []
        open_paths = 0
        at = len(trail) - 1
        reason: Clause | None = conflict
        pivot = -1
        while True:
            assert reason is not None
            for literal in reason:
                variable = literal >> 1
                if literal == pivot or variable in seen or level[variable] == 0:
                    continue
                seen.add(variable)
                self._bumped(variable)
                if level[variable] == now:
                    open_paths += 1
                else:
                    tail.append(literal)
            while trail[at] >> 1 not in seen:
                at -= 1
            pivot = trail[at]
            at -= 1
            open_paths -= 1
            if not open_paths:
                break
            reason = self._reason[pivot >> 1]
        tail = [literal for literal in tail if not self._spare(literal, seen)]
        tail.sort(key=lambda literal: level[literal >> 1], reverse=True)
        clause = [pivot ^ 1, *tail]
        self.learned.append(list(clause))
        self._bump *= _DECAY
        self._back_to(level[tail[0] >> 1] if tail else 0)
        if len(clause) > 1:
            self._attach(clause)
        self._set(pivot ^ 1, clause if len(clause) > 1 else None)

    def _spare(self, literal: int, seen: set[int]) -> bool:
        """Tell whether the reason of a literal holds nothing but what the learned clause holds already."""
        reason = self._reason[literal >> 1]
        if reason is None:
            return False
        return all(q >> 1 in seen or self._level[q >> 1] == 0 for q in reason if q != literal ^ 1)

    def _why(self, implied: int) -> list[int]:
        """Return the assumptions that imply a true literal, and the assumption that it contradicts."""
        core = [implied ^ 1]
        todo = [implied >> 1]
        seen = {implied >> 1}
        while todo:
            variable = todo.pop()
            if self._level[variable] == 0:
                continue
            reason = self._reason[variable]
            if reason is None:
                core.append(2 * variable + (self.value[2 * variable] < 0))
                continue
            for literal in reason:
                if literal >> 1 not in seen:
                    seen.add(literal >> 1)
                    todo.append(literal >> 1)
        return sorted(set(core))

    def _next(self, assumptions: Sequence[int]) -> int | None:
        value = self.value
        while len(self._ends) < len(assumptions):
            literal = assumptions[len(self._ends)]
            if value[literal] <= 0:
                return literal
            # Holds already; an empty level keeps levels and assumptions in step.
            self._ends.append(len(self._trail))
        heap, waiting, activity = self._heap, self._waiting, self._activity
        while heap:
            priority, variable = heappop(heap)
            if -priority != activity[variable] or not waiting[variable]:
                continue
            waiting[variable] = False
            if value[2 * variable] == 0:
                return 2 * variable + self._off
        return None

    def _bumped(self, variable: int) -> None:
        activity = self._activity
        activity[variable] += self._bump
        if activity[variable] > _HUGE:
            for v in range(self.variables):
                activity[v] /= _HUGE
            self._bump /= _HUGE
            self._heap = [(-activity[v], v) for v in range(self.variables)]
            self._waiting = [True] * self.variables
            heapify(self._heap)
        elif self._waiting[variable]:
            heappush(self._heap, (-activity[variable], variable))

    def _back_to(self, level: int) -> None:
        if len(self._ends) <= level:
            return
        start = self._ends[level]
        value, waiting, heap, activity = self.value, self._waiting, self._heap, self._activity
        for literal in self._trail[start:]:
            value[literal] = value[literal ^ 1] = 0
            variable = literal >> 1
            if not waiting[variable]:
                waiting[variable] = True
                heappush(heap, (-activity[variable], variable))
        del self._trail[start:]
        del self._ends[level:]
        self._head = start


def _luby(i: int) -> int:
    """Term i = 1, 2, ... of 1 1 2 1 1 2 4 1 1 2 ... (Luby, Sinclair & Zuckerman 1993)."""
    while True:
        size = i.bit_length()
        if i == (1 << size) - 1:
            return 1 << (size - 1)
        i -= (1 << (size - 1)) - 1
