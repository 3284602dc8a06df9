"""Intuitionistic entailment by a SAT solver: worlds are models, a world that cannot be made is a learned clause.

Claessen & Rosen, SAT modulo intuitionistic implications (2015), in the restarting form of Fiorentini, Efficient
SAT-based proof search in intuitionistic propositional logic (2021). What rests on it is checked elsewhere: a
countermodel or a trace goes with every claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.studies.logic.clauses import Clauses, clausify
from prereg.studies.logic.counting import Counting, find_counting
from prereg.studies.logic.formulas import LETTER, Entailment, table
from prereg.studies.logic.solver import Answer, Solver

if TYPE_CHECKING:
    from collections.abc import Sequence

Certificate = dict[str, object]


@dataclass(slots=True)
class Search:
    """How a search ended: a claim with its certificate, or the budget that ran out."""

    claim: str | None
    certificate: Certificate | None
    reason: str | None
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Learned:
    implication: int
    body: tuple[int, ...]  # rows


def decide(problem: Entailment, *, max_sat_calls: int, max_conflicts: int) -> Search:
    """Decide a problem within so many calls of the solver and so many conflicts in all.

    `counts`: sat_calls, conflicts, learned, worlds (of the countermodel) and steps (of the trace).
    """
    prover = _Prover(clausify(problem))
    prover.run(max_sat_calls, max_conflicts)
    counts = {
        "sat_calls": prover.solver.calls,
        "conflicts": prover.solver.conflicts,
        "learned": len(prover.learned),
        "worlds": 0,
        "steps": 0,
    }
    if prover.exhausted:
        return Search(None, None, prover.exhausted, counts)
    if prover.worlds is None:
        certificate, conflicts = _trace(problem, prover)
        counts["steps"] = len(certificate["steps"])  # type: ignore[arg-type]
        counts["conflicts"] += conflicts
        return Search("theorem", certificate, None, counts)
    counts["worlds"] = len(prover.worlds)
    return Search("non_theorem", _frame(problem, prover), None, counts)


class _Prover:
    """The loop; `worlds` is a countermodel (sets of variables as bits, least first), None if there is none."""

    def __init__(self, clauses: Clauses) -> None:
        self.clauses = clauses
        self.rows = clauses.rows()
        self.variable = {row: v for v, row in enumerate(self.rows)}
        self.goal = self.variable[clauses.goal]
        var = self.variable
        self.implications = [(var[a], var[b], var[c]) for a, b, c in clauses.implications]
        self.masks = [1 << a | 1 << b | 1 << c for a, b, c in self.implications]
        self.solver = loaded(clauses, var)
        self.learned: list[_Learned] = []
        self.counting: Counting | None = None
        self.worlds: list[int] | None = None
        self.exhausted: str | None = None

    def run(self, max_sat_calls: int, max_conflicts: int) -> None:
        self.counting = _counted(self.solver, self.clauses, self.variable)
        if self.counting is not None:
            return
        self.max_sat_calls, self.max_conflicts = max_sat_calls, max_conflicts
        while True:
            root = self.ask([2 * self.goal + 1])
            if root is None:
                return
            if self.complete(root):
                return

    def ask(self, assumptions: Sequence[int]) -> int | None:
        """Return a model as bits; None if there is none or a budget ran out (then `exhausted` says which)."""
        solver = self.solver
        if solver.calls >= self.max_sat_calls:
            self.exhausted = "sat_calls"
            return None
        answer = solver.solve(assumptions, self.max_conflicts - solver.conflicts)
        if answer is Answer.UNKNOWN:
            self.exhausted = "conflicts"
        if answer is not Answer.SATISFIABLE:
            return None
        world = 0
        for v in solver.model():
            world |= 1 << v
        return world

    def complete(self, root: int) -> bool:
        """Grow a countermodel from its root. False: a clause was learned instead, start again."""
        worlds = [root]
        open_worlds = [root]
        while open_worlds:
            world = open_worlds.pop()
            for i, (a, b, _) in enumerate(self.implications):
                if world & self.masks[i]:
                    continue
                if any(w >> a & 1 and not w >> b & 1 and w & world == world for w in worlds):
                    continue
                # The antecedent goes first: what it implies is propagated, and so stays out of the core.
                inside = [2 * v for v in range(world.bit_length()) if world >> v & 1]
                above = self.ask([2 * a, *inside, 2 * b + 1])
                if above is None:
                    if self.exhausted is None:
                        self.learn(i)
                        return False
                    return True
                worlds.append(above)
                open_worlds.append(above)
        self.worlds = worlds
        return True

    def learn(self, i: int) -> None:
        a, _, c = self.implications[i]
        body = [literal >> 1 for literal in self.solver.core() if not literal & 1 and literal >> 1 != a]
        self.learned.append(_Learned(i, tuple(self.rows[v] for v in body)))
        self.solver.add([2 * c, *(2 * v + 1 for v in body)])


def loaded(clauses: Clauses, variable: dict[int, int]) -> Solver:
    """Return a solver with the flat clauses and `b -> c` for each implication (a, b, c)."""
    solver = Solver(len(variable))
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
    """Write the proof; second the conflicts of the replay.

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
    }, solver.conflicts
