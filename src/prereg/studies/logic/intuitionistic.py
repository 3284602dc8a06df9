"""Intuitionistic entailment by a SAT solver: models are worlds, a world that cannot be is a learned clause.

Claessen & Rosen, SAT modulo intuitionistic implications (2015), in the restarting form of Fiorentini,
Efficient SAT-based proof search in intuitionistic propositional logic (2021). What rests on it is checked
elsewhere: a countermodel or a trace goes with every claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.studies.logic.clauses import Clauses, clausify
from prereg.studies.logic.counting import Counting, find_counting
from prereg.studies.logic.formulas import LETTER, Entailment, table
from prereg.studies.logic.search import Search
from prereg.studies.logic.solver import Answer, Solver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.studies.logic.search import Certificate

_FIRST_TURN = 50


@dataclass(frozen=True, slots=True)
class _Learned:
    implication: int
    body: tuple[int, ...]  # rows


class _Budget:
    """Calls and conflicts left to all searches of a problem together."""

    def __init__(self, max_sat_calls: int, max_conflicts: int) -> None:
        self.calls = max_sat_calls
        self.conflicts = max_conflicts
        self.exhausted: str | None = None

    def left(self) -> bool:
        """Tell whether no search has met a limit yet."""
        return self.exhausted is None


def decide(problem: Entailment, *, max_sat_calls: int, max_conflicts: int) -> Search:
    """Decide a problem within so many calls of the solver and so many conflicts in all.

    Two searches take turns, one whose worlds are rich in true letters and one whose worlds are poor: each is
    hopeless on some family that the other finds easy. `counts`: sat_calls, conflicts (of the search, not of
    writing the trace down), learned clauses, worlds of the countermodel, steps of the trace.
    """
    budget = _Budget(max_sat_calls, max_conflicts)
    clauses = clausify(problem)
    searches = [_Prover(clauses, budget, rich=rich) for rich in (True, False)]
    turn = _FIRST_TURN
    winner: _Prover | None = None
    while winner is None and budget.left():
        for prover in searches:
            if budget.left() and prover.run(turn):
                winner = prover
                break
        turn *= 2
    counts = {
        "sat_calls": max_sat_calls - budget.calls,
        "conflicts": max_conflicts - budget.conflicts,
        "learned": sum(len(prover.learned) for prover in searches),
        "worlds": 0,
        "steps": 0,
    }
    if winner is None:
        return Search(None, None, budget.exhausted, counts)
    if winner.worlds is not None:
        counts["worlds"] = len(winner.worlds)
        return Search("non_theorem", _frame(problem, winner), None, counts)
    certificate, counts["steps"] = _trace(problem, winner)
    return Search("theorem", certificate, None, counts)


class _Prover:
    """One search; once ended, `worlds` is a countermodel (sets of variables as bits, least first) or None."""

    def __init__(self, clauses: Clauses, budget: _Budget, *, rich: bool) -> None:
        self.clauses = clauses
        self.budget = budget
        self.rows = clauses.rows()
        self.variable = {row: v for v, row in enumerate(self.rows)}
        self.goal = self.variable[clauses.goal]
        var = self.variable
        self.implications = [(var[a], var[b], var[c]) for a, b, c in clauses.implications]
        self.masks = [1 << a | 1 << b | 1 << c for a, b, c in self.implications]
        self.order = list(range(len(self.implications)))
        self.solver = loaded(clauses, var, phase=rich)
        self.learned: list[_Learned] = []
        self.counting: Counting | None = None
        self.worlds: list[int] | None = None

    def run(self, calls: int) -> bool:
        """Search until more than `calls` calls are made in all; True if the answer is found."""
        if not self.solver.calls:
            self.counting = _counted(self.solver, self.clauses, self.variable)
            if self.counting is not None:
                return True
        while self.solver.calls <= calls:
            root = self.ask([2 * self.goal + 1])
            if root is None:
                return self.budget.left()
            if self.complete(root):
                return True
            if not self.budget.left():
                break
        return False

    def ask(self, assumptions: Sequence[int]) -> int | None:
        """Return a model as bits; None if there is none or the budget ran out (which it then says)."""
        solver, budget = self.solver, self.budget
        if budget.calls <= 0:
            budget.exhausted = "sat_calls"
            return None
        before = solver.conflicts
        answer = solver.solve(assumptions, budget.conflicts)
        budget.calls -= 1
        budget.conflicts -= solver.conflicts - before
        if answer is Answer.UNKNOWN:
            budget.exhausted = "conflicts"
        if answer is not Answer.SATISFIABLE:
            return None
        world = 0
        for v in solver.model():
            world |= 1 << v
        return world

    def complete(self, root: int) -> bool:
        """Grow a countermodel from its root, newest world first. False: a clause was learned, start again."""
        worlds = [root]
        unfinished = [root]
        while unfinished:
            world = unfinished[-1]
            i = self.lacking(world, worlds)
            if i is None:
                unfinished.pop()
                continue
            a, b, _ = self.implications[i]
            # The antecedent first, then large formulas before small ones: what is propagated stays out of the
            # core.
            inside = [2 * v for v in range(world.bit_length() - 1, -1, -1) if world >> v & 1]
            above = self.ask([2 * a, *inside, 2 * b + 1])
            if above is None:
                if self.budget.left():
                    self.learn(i)
                return False
            worlds.append(above)
            unfinished.append(above)
        self.worlds = worlds
        return True

    def lacking(self, world: int, worlds: Sequence[int]) -> int | None:
        """Return a clause (a => b) => c, c false at the world, that lacks a world above with a and not b."""
        for i in self.order:
            if world & self.masks[i]:
                continue
            a, b, _ = self.implications[i]
            if not any(w >> a & 1 and not w >> b & 1 and w & world == world for w in worlds):
                return i
        return None

    def learn(self, i: int) -> None:
        a, _, c = self.implications[i]
        body = [literal >> 1 for literal in self.solver.core() if not literal & 1 and literal >> 1 != a]
        self.learned.append(_Learned(i, tuple(self.rows[v] for v in body)))
        self.solver.add([2 * c, *(2 * v + 1 for v in body)])
        # All implications get their turn.
        self.order.remove(i)
        self.order.append(i)


def loaded(clauses: Clauses, variable: dict[int, int], *, phase: bool = False) -> Solver:
    """Return a solver with the flat clauses and `b -> c` for each implication (a, b, c)."""
    solver = Solver(len(variable), phase=phase)
    for body, head in clauses.flat:
        solver.add([2 * variable[x] + 1 for x in body] + [2 * variable[x] for x in head])
    for _, b, c in clauses.implications:
        solver.add([2 * variable[b] + 1, 2 * variable[c]])
    return solver


def _counted(solver: Solver, clauses: Clauses, variable: dict[int, int]) -> Counting | None:
    """Look for a refutation by counting, after what the false goal propagates."""
    implied = solver.implied([2 * variable[clauses.goal] + 1])
    if implied is None:
        return None
    true = set(implied)
    known = {row: 2 * v in true for row, v in variable.items() if 2 * v in true or 2 * v + 1 in true}
    return find_counting(clauses.flat, known)


def _frame(problem: Entailment, prover: _Prover) -> Certificate:
    """Write the countermodel: the worlds under inclusion, the least first."""
    worlds = prover.worlds or []
    rows, names = problem.formulas.rows, problem.formulas.names
    letters = [(names[rows[row][1]], v) for row, v in prover.variable.items() if rows[row][0] == LETTER]
    letters.sort()
    return {
        "kind": "frame",
        "worlds": [[name for name, v in letters if world >> v & 1] for world in worlds],
        "above": [[j for j, other in enumerate(worlds) if world & other == world] for world in worlds],
    }


def _trace(problem: Entailment, prover: _Prover) -> tuple[Certificate, int]:
    """Write the proof; second the number of its steps.

    A step that unit propagation does not settle gets the clauses that a solver learns on the way as lemmas.
    """
    clauses, variable = prover.clauses, prover.variable
    written, place = table(problem.formulas, (*prover.rows, *problem.axioms))
    at = [place[row] for row in prover.rows]  # by variable
    steps: list[object] = []
    solver = loaded(clauses, variable)

    def settle(literals: list[int]) -> None:
        if solver.refutes(literals):
            return
        logged = len(solver.learned)
        answer = solver.solve(literals)
        assert answer is Answer.UNSATISFIABLE
        for clause in solver.learned[logged:]:
            body = sorted(at[q >> 1] for q in clause if q & 1)
            steps.append(["lemma", body, sorted(at[q >> 1] for q in clause if not q & 1)])

    for learned in prover.learned:
        a, b, c = prover.implications[learned.implication]
        body = [variable[row] for row in learned.body]
        settle([2 * a, *(2 * v for v in body), 2 * b + 1])
        solver.add([2 * c, *(2 * v + 1 for v in body)])
        steps.append(["learn", learned.implication, sorted(place[row] for row in learned.body)])
    if prover.counting is None:
        settle([2 * prover.goal + 1])
    counting = prover.counting
    return {
        "kind": "trace",
        "table": written,
        "axioms": [place[axiom] for axiom in problem.axioms],
        "goal": place[problem.conjecture],
        "flat": [[[place[x] for x in body], [place[x] for x in head]] for body, head in clauses.flat],
        "implications": [[place[x] for x in implication] for implication in clauses.implications],
        "steps": steps,
        "count": counting and [[[place[x] for x in member] for member in side] for side in counting],
    }, len(steps)
