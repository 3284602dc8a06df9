"""Classical entailment twice: by all assignments within budgets, and by clauses and a SAT solver.

The first is the procedure of the document this study follows: it abstains above a number of letters, and
where the problem written out as one formula (each `A <=> B` as its two implications) is too long to be a
certificate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.studies.logic.clauses import clausify
from prereg.studies.logic.counting import Counting, find_counting
from prereg.studies.logic.formulas import AND, IMPLIES, LETTER, OR, TRUE, done_after, lengths, table, texts
from prereg.studies.logic.search import Search
from prereg.studies.logic.solver import Answer, Solver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.studies.logic.clauses import Clauses
    from prereg.studies.logic.formulas import Entailment, Formulas
    from prereg.studies.logic.search import Certificate


def by_table(problem: Entailment, *, max_atoms: int, max_certificate_bytes: int) -> Search:
    """Decide a problem by evaluating it under all assignments at once, bits of whole numbers.

    Abstains with `atoms` above `max_atoms` letters, and with `certificate_bytes` where the text of the
    obligation is longer than `max_certificate_bytes`. `counts`: atoms and assignments.
    """
    atoms = len(problem.letters)
    counts = {"atoms": atoms, "assignments": 0}
    if atoms > max_atoms:
        return Search(None, None, "atoms", counts)
    formulas = problem.formulas
    goal = obligation(problem)
    rows = formulas.reached([goal])
    if lengths(formulas, rows)[goal] > max_certificate_bytes:
        return Search(None, None, "certificate_bytes", counts)
    counts["assignments"] = 1 << atoms
    everywhere = (1 << (1 << atoms)) - 1
    failing = everywhere ^ _true(formulas, goal, rows, _columns(problem.letters), everywhere)
    if failing:
        first = (failing & -failing).bit_length() - 1
        letters = {name: bool(first >> k & 1) for k, name in enumerate(problem.letters)}
        return Search("non_theorem", {"kind": "assignment", "letters": letters}, None, counts)
    text = texts(formulas, rows)[goal]
    return Search("theorem", {"kind": "truth_table", "obligation": text}, None, counts)


def obligation(problem: Entailment) -> int:
    """Return the row of the problem as one formula: the axioms, joined to the left, imply the conjecture."""
    goal = problem.conjecture
    if problem.axioms:
        given, *others = problem.axioms
        for axiom in others:
            given = problem.formulas.joined(AND, given, axiom)
        goal = problem.formulas.joined(IMPLIES, given, goal)
    return goal


def _columns(letters: Sequence[str]) -> dict[str, int]:
    """Return for each letter the assignments that make it true, as bits; letter k is bit k of one."""
    size = 1 << len(letters)
    # Blocks of 2^k zeros and 2^k ones, over and over: what divides 2^size - 1 is their lower half.
    return {name: ((1 << size) - 1) // ((1 << (1 << k)) + 1) << (1 << k) for k, name in enumerate(letters)}


def _true(
    formulas: Formulas, goal: int, rows: Sequence[int], columns: Mapping[str, int], everywhere: int
) -> int:
    """Return the assignments under which `goal` is true, as bits; `rows` are those it is built of."""
    true: dict[int, int] = {}
    done = done_after(formulas, rows, [goal])
    for i in rows:
        connective, left, right = formulas.rows[i]
        if connective == LETTER:
            true[i] = columns[formulas.names[left]]
        elif connective == AND:
            true[i] = true[left] & true[right]
        elif connective == OR:
            true[i] = true[left] | true[right]
        elif connective == IMPLIES:
            true[i] = (everywhere ^ true[left]) | true[right]
        else:
            true[i] = everywhere if connective == TRUE else 0
        for row in done.get(i, ()):
            del true[row]
    return true[goal]


def by_sat(problem: Entailment, *, max_conflicts: int) -> Search:
    """Decide a problem by looking for an assignment that refutes it; abstains with `conflicts`.

    `counts`: conflicts and lemmas.
    """
    clauses = clausify(problem, classical=True)
    rows = clauses.rows()
    variable = {row: v for v, row in enumerate(rows)}
    classical = _flat(clauses)
    solver = Solver(len(rows))
    for body, head in classical:
        solver.add([2 * variable[x] + 1 for x in body] + [2 * variable[x] for x in head])
    solver.add([2 * variable[clauses.goal] + 1])
    known = {row: solver.value[2 * v] > 0 for row, v in variable.items() if solver.value[2 * v]}
    counting = find_counting(classical, known) if solver.consistent else None
    if counting is not None:
        return _theorem(problem, rows, [], counting)
    answer = solver.solve((), max_conflicts)
    if answer is Answer.UNKNOWN:
        return Search(None, None, "conflicts", {"conflicts": solver.conflicts, "lemmas": 0})
    if answer is Answer.UNSATISFIABLE:
        return _theorem(problem, rows, solver.learned, None, solver.conflicts)
    true = set(solver.model())
    formulas = problem.formulas
    letters = dict.fromkeys(problem.letters, False)
    for row, v in variable.items():
        connective, left, _ = formulas.rows[row]
        if connective == LETTER:
            letters[formulas.names[left]] = v in true
    return Search(
        "non_theorem",
        {"kind": "assignment", "letters": letters},
        None,
        {"conflicts": solver.conflicts, "lemmas": 0},
    )


def _flat(clauses: Clauses) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all clauses with (a => b) => c read classically: a or c, and b implies c."""
    flat = list(clauses.flat)
    for a, b, c in clauses.implications:
        flat += [((), (a, c)), ((b,), (c,))]
    return flat


def _theorem(
    problem: Entailment,
    rows: Sequence[int],
    learned: Sequence[Sequence[int]],
    counting: Counting | None,
    conflicts: int = 0,
) -> Search:
    """Write the proof; `learned` are clauses of a solver whose variables are `rows`."""
    written, place = table(problem.formulas, (*rows, *problem.axioms, problem.conjecture))
    axioms = [place[axiom] for axiom in problem.axioms]
    goal = place[problem.conjecture]
    lemmas: list[list[int]] = []
    if counting is None:
        at = [place[row] for row in rows]
        replay = _definitions(written, axioms, goal)
        lemmas = _replayed(replay, [[2 * at[q >> 1] + (q & 1) for q in clause] for clause in learned])
    certificate: Certificate = {
        "kind": "lemmas",
        "table": written,
        "axioms": axioms,
        "goal": goal,
        "lemmas": [
            sorted((-(q // 2 + 1) if q & 1 else q // 2 + 1 for q in lemma), key=abs) for lemma in lemmas
        ],
        "count": counting and [[[place[row] + 1 for row in member] for member in side] for side in counting],
    }
    return Search("theorem", certificate, None, {"conflicts": conflicts, "lemmas": len(lemmas)})


def _definitions(written: Sequence[object], axioms: Sequence[int], goal: int) -> Solver:
    """Return a solver with the clauses that a certificate with this table is checked against."""
    solver = Solver(len(written))
    for x, row in enumerate(written):
        if isinstance(row, bool):
            solver.add([2 * x + (not row)])
        if not isinstance(row, list):
            continue
        connective, i, j = row
        if connective == AND:
            clauses = ((2 * x + 1, 2 * i), (2 * x + 1, 2 * j), (2 * x, 2 * i + 1, 2 * j + 1))
        elif connective == OR:
            clauses = ((2 * x, 2 * i + 1), (2 * x, 2 * j + 1), (2 * x + 1, 2 * i, 2 * j))
        else:
            clauses = ((2 * x, 2 * i), (2 * x, 2 * j + 1), (2 * x + 1, 2 * i + 1, 2 * j))
        for clause in clauses:
            solver.add(clause)
    for axiom in axioms:
        solver.add([2 * axiom])
    solver.add([2 * goal + 1])
    return solver


def _replayed(solver: Solver, learned: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return lemmas, each a unit consequence of those before it, that end in a contradiction.

    The search took nested conjunctions and disjunctions apart, so its clauses may propagate more than those
    here: where they do, what this solver learns on the way becomes a lemma too.
    """
    lemmas: list[list[int]] = []

    def settle(literals: Sequence[int]) -> None:
        if not solver.refutes(literals):
            logged = len(solver.learned)
            answer = solver.solve(literals)
            assert answer is Answer.UNSATISFIABLE
            lemmas.extend(solver.learned[logged:])

    for clause in learned:
        settle([q ^ 1 for q in clause])
        lemmas.append(list(clause))
        solver.add(clause)
    settle([])
    return lemmas
