"""Classical entailment twice: by all assignments within budgets, and by clauses and a SAT solver.

The first is the procedure of the document this study follows: it abstains above a number of letters, and
where the problem written out as one formula (each `A <=> B` as its two implications) is too long to be a
certificate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.studies.logic.clauses import clausify
from prereg.studies.logic.counting import Counting, find_counting
from prereg.studies.logic.formulas import AND, FALSE, IMPLIES, LETTER, OR, TRUE, lengths, table, texts
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
    failing = everywhere & ~truth_tables(formulas, rows, _columns(problem.letters), everywhere)[goal]
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


def truth_tables(
    formulas: Formulas, rows: Sequence[int], columns: Mapping[str, int], everywhere: int
) -> dict[int, int]:
    """Return for each row the assignments under which it is true, as bits."""
    true: dict[int, int] = {}
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
            assert connective in (TRUE, FALSE)
    return true


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
        lemmas = [[(rows[q >> 1], not q & 1) for q in clause] for clause in solver.learned]
        return _theorem(problem, rows, lemmas, None, solver.conflicts)
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
    lemmas: Sequence[Sequence[tuple[int, bool]]],
    counting: Counting | None,
    conflicts: int = 0,
) -> Search:
    written, place = table(problem.formulas, (*rows, *problem.axioms, problem.conjecture))
    certificate: Certificate = {
        "kind": "lemmas",
        "table": written,
        "axioms": [place[axiom] for axiom in problem.axioms],
        "goal": place[problem.conjecture],
        "lemmas": [
            sorted(((place[row] + 1) * (1 if positive else -1) for row, positive in lemma), key=abs)
            for lemma in lemmas
        ],
        "count": counting and [[[place[row] + 1 for row in member] for member in side] for side in counting],
    }
    return Search("theorem", certificate, None, {"conflicts": conflicts, "lemmas": len(lemmas)})
