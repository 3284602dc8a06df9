"""Certificates that argue: a trace of clauses over formulas (intuitionistic), a list of lemmas (classical).

In a trace the variables of the clauses *are* formulas. Every world that forces the axioms obeys each clause:
flat clauses because `Closure` derives them, b -> (a => b) because it is valid, learned ones because all
worlds above obey the clauses too. Each world, taken alone, is a classical model of clauses without arrows,
so propagation, a classical argument, may add to them. Nothing is believed about how the prover named or
simplified anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.checker.bounds import RefusedError
from prereg.checker.certificate import as_list, keyed, whole
from prereg.checker.closure import Closure
from prereg.checker.formulas import AND, FALSE, IMPLIES, LETTER, OR, TRUE
from prereg.checker.units import Clauses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prereg.checker.problem import Problem

__all__ = ["check_lemmas", "check_trace"]


def check_trace(problem: Problem, tree: dict[str, object]) -> str:
    """Show by clauses over formulas that the axioms entail the conjecture intuitionistically."""
    table, axioms, goal, flat, implications, steps, count = keyed(
        tree, ["table", "axioms", "goal", "flat", "implications", "steps", "count"]
    )
    rows = _rows(problem, table, axioms, goal)
    counted = _counting(count, lambda row: _true(rows[row]), 0, len(rows) - 1)
    clauses = Clauses(len(problem.formulas), problem.formulas.budget)
    closure = Closure(problem.formulas, problem.axioms)
    flats = as_list(flat, "`flat`")
    for k, entry in enumerate(flats):
        body, head = _sequent(rows, entry, f"flat clause {k}")
        if not closure.follows(body, head):
            raise RefusedError(f"flat clause {k} does not follow")
        clauses.add(_clause(body, head))
    named = _implications(problem, rows, implications)
    for _left, right, name in named:
        clauses.add([_false(right), _true(name)])
    moves = as_list(steps, "`steps`")
    for k, entry in enumerate(moves):
        _step(rows, named, clauses, as_list(entry, f"step {k}", 3), f"step {k}")
    if not clauses.conflicts([_false(problem.conjecture)]):
        _finish(clauses, counted, problem)
    return f"a trace of {len(flats)} flat clauses, {len(named)} implications, {len(moves)} steps"


def check_lemmas(problem: Problem, tree: dict[str, object]) -> str:
    """Show by clauses over the problem's formulas that the axioms entail the conjecture classically."""
    table, axioms, goal, lemmas, count = keyed(tree, ["table", "axioms", "goal", "lemmas", "count"])
    rows = _rows(problem, table, axioms, goal)
    formulas = problem.formulas
    clauses = Clauses(len(formulas), formulas.budget)
    for formula in dict.fromkeys(rows):
        for clause in _definition(problem, formula):
            clauses.add(clause)
    for axiom in problem.axioms:
        clauses.add([_true(axiom)])
    clauses.add([_false(problem.conjecture)])

    def literal(entry: int) -> int:
        return _true(rows[entry - 1]) if entry > 0 else _false(rows[-entry - 1])

    most = len(rows)
    counted = _counting(count, literal, -most, most)
    learned = as_list(lemmas, "`lemmas`")
    for k, entry in enumerate(learned):
        lemma = [literal(number) for number in _numbers(entry, f"lemma {k}", -most, most)]
        if not clauses.refutes([number ^ 1 for number in lemma]):
            raise RefusedError(f"lemma {k} does not follow by unit propagation")
        clauses.add(lemma)
    if not clauses.conflicts([]):
        _finish(clauses, counted, problem)
    return f"{len(learned)} lemmas"


def _true(formula: int) -> int:
    return 2 * formula


def _false(formula: int) -> int:
    return 2 * formula + 1


def _clause(body: Iterable[int], head: Iterable[int]) -> list[int]:
    return [*map(_false, body), *map(_true, head)]


def _rows(problem: Problem, table: object, axioms: object, goal: object) -> list[int]:
    """Return the formula of each row, in the problem's own table; axioms and goal must be the problem's."""
    formulas = problem.formulas
    rows: list[int] = []
    for k, entry in enumerate(as_list(table, "`table`")):
        if isinstance(entry, bool):
            rows.append(TRUE if entry else FALSE)
        elif isinstance(entry, str):
            if entry not in formulas.letters:
                raise RefusedError(f"row {k} is {entry[:40]!a}, which is no letter of the problem")
            rows.append(formulas.letters[entry])
        else:
            connective, left, right = as_list(entry, f"row {k}", 3)
            kind = {"&": AND, "|": OR, "=>": IMPLIES}.get(connective) if isinstance(connective, str) else None
            if kind is None:
                raise RefusedError(f"row {k} has an unknown connective")
            parts = [rows[whole(part, f"a part of row {k}", 0, k - 1)] for part in (left, right)]
            rows.append(formulas.join(kind, parts[0], parts[1]))
    theirs = tuple(rows[row] for row in _numbers(axioms, "`axioms`", 0, len(rows) - 1))
    if theirs != problem.axioms:
        raise RefusedError("`axioms` are not the problem's axioms")
    if rows[whole(goal, "`goal`", 0, len(rows) - 1)] != problem.conjecture:
        raise RefusedError("`goal` is not the problem's conjecture")
    return rows


def _numbers(value: object, what: str, least: int, most: int) -> list[int]:
    """Return a list of row numbers, or of signed ones, of which 0 is none."""
    numbers = [whole(entry, f"an entry of {what}", least, most) for entry in as_list(value, what)]
    if least < 0 and 0 in numbers:
        raise RefusedError(f"an entry of {what} is 0, which is no literal")
    return numbers


def _sequent(rows: list[int], entry: object, what: str) -> tuple[list[int], list[int]]:
    sides = [_numbers(side, what, 0, len(rows) - 1) for side in as_list(entry, what, 2)]
    return [rows[row] for row in sides[0]], [rows[row] for row in sides[1]]


def _implications(problem: Problem, rows: list[int], value: object) -> list[tuple[int, int, int]]:
    """Return a, b and a => b for each implication clause: the third row must be that very formula."""
    formulas = problem.formulas
    named: list[tuple[int, int, int]] = []
    for k, entry in enumerate(as_list(value, "`implications`")):
        what = f"implication {k}"
        numbers = _numbers(as_list(entry, what, 3), what, 0, len(rows) - 1)
        left, right, name = (rows[row] for row in numbers)
        literal = (formulas.kinds[name], formulas.lefts[name], formulas.rights[name])
        if literal != (IMPLIES, left, right):
            raise RefusedError(f"{what} does not name the implication of its two sides")
        named.append((left, right, name))
    return named


def _step(
    rows: list[int], named: list[tuple[int, int, int]], clauses: Clauses, step: list[object], what: str
) -> None:
    kind = step[0]
    if kind == "learn":
        left, right, name = named[whole(step[1], what, 0, len(named) - 1)]
        above = [rows[row] for row in _numbers(step[2], what, 0, len(rows) - 1)]
        # The left side first: what it gives is then propagated and needs no other assumption.
        if not clauses.refutes([_true(left), *map(_true, above), _false(right)]):
            raise RefusedError(f"{what} does not follow by unit propagation")
        clauses.add(_clause([formula for formula in above if formula != left], [name]))
    elif kind == "lemma":
        body, head = _sequent(rows, step[1:], what)
        if not clauses.refutes([*map(_true, body), *map(_false, head)]):
            raise RefusedError(f"{what} does not follow by unit propagation")
        clauses.add(_clause(body, head))
    else:
        raise RefusedError(f"{what} is of no known kind")


def _definition(problem: Problem, formula: int) -> list[list[int]]:
    """Return the clauses by which a formula is true just where its parts say so, classically."""
    formulas = problem.formulas
    kind, left, right = formulas.kinds[formula], formulas.lefts[formula], formulas.rights[formula]
    yes, no = _true(formula), _false(formula)
    if kind == LETTER:
        return []
    if kind == AND:
        return [[no, _true(left)], [no, _true(right)], [yes, _false(left), _false(right)]]
    if kind == OR:
        return [[yes, _false(left)], [yes, _false(right)], [no, _true(left), _true(right)]]
    if kind == IMPLIES:
        return [[yes, _true(left)], [yes, _false(right)], [no, _false(left), _true(right)]]
    return [[yes if formula == TRUE else no]]


# The members of P and of K, each a list of entries that are literals (true where the entry is).
_Counting = tuple[list[list[int]], list[list[int]]]


def _counting(value: object, entry: Callable[[int], int], least: int, most: int) -> _Counting | None:
    if value is None:
        return None
    sets: list[list[list[int]]] = []
    for side in as_list(value, "`count`", 2):
        members = []
        for member in as_list(side, "a side of `count`"):
            entries = [entry(number) for number in _numbers(member, "a member of `count`", least, most)]
            if len(set(entries)) < len(entries):
                raise RefusedError("an entry stands twice in a member of `count`")
            members.append(entries)
        sets.append(members)
    return sets[0], sets[1]


def _finish(clauses: Clauses, counted: _Counting | None, problem: Problem) -> None:
    """Show a contradiction by counting, on the present saturated base, or raise RefusedError."""
    if counted is None:
        raise RefusedError("the end does not follow by unit propagation")
    positive, exclusive = counted
    if len(positive) <= len(exclusive):
        raise RefusedError("`count` has no more clauses than exclusive sets")
    excess: dict[int, int] = {}
    for members, sign in ((positive, 1), (exclusive, -1)):
        for member in members:
            for entry in member:
                excess[entry] = excess.get(entry, 0) + sign
    if any(number > 0 for number in excess.values()):
        raise RefusedError("an entry stands in more clauses of `count` than in exclusive sets")
    for k, member in enumerate(positive):
        if not clauses.refutes([entry ^ 1 for entry in member]):
            raise RefusedError(f"clause {k} of `count` does not follow by unit propagation")
    budget = problem.formulas.budget
    # One entry is propagated once; each partner then costs only what it adds.
    for k, member in enumerate(exclusive):
        for at, entry in enumerate(member):
            base = clauses.mark()
            if not clauses.conflicts([entry]):
                for other in member[at + 1 :]:
                    budget.spend(1)
                    if not clauses.refutes([other]):
                        raise RefusedError(f"set {k} of `count` is not shown to be exclusive")
            clauses.undo(base)
