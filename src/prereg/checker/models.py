"""Certificates that are looked at, not argued with: an assignment, all assignments, a Kripke frame.

A set of assignments or of worlds is the bits of one whole number, and a formula is evaluated over the whole
set at once, from its parts upwards.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from prereg.checker.bounds import BudgetSpentError, RefusedError
from prereg.checker.certificate import as_list, keyed, whole
from prereg.checker.formulas import AND, CONSTANT, IMPLIES, LETTER, OR, TRUE
from prereg.checker.problem import read_formula

if TYPE_CHECKING:
    from prereg.checker.problem import Problem

__all__ = ["check_assignment", "check_frame", "check_truth_table"]

# Letters that run through all their values at once, in one number of 2^10 bits; the others take turns.
_AT_ONCE = 10


def check_assignment(problem: Problem, tree: dict[str, object]) -> str:
    """Show that all axioms are true and the conjecture is false."""
    (given,) = keyed(tree, ["letters"])
    letters = problem.formulas.letters
    if not isinstance(given, dict):
        raise RefusedError("`letters` is not an object")
    if given.keys() != letters.keys():
        odd = min(given.keys() ^ letters.keys())
        raise RefusedError(f"the letter {odd[:40]!a} is {'missing' if odd in letters else 'foreign'}")
    values: dict[int, int] = {}
    for name, value in given.items():
        if not isinstance(value, bool):
            raise RefusedError(f"the letter {name[:40]!a} is neither true nor false")
        values[letters[name]] = int(value)
    truth = _classical(problem, values, 1)
    for k, axiom in enumerate(problem.axioms):
        if not truth[axiom]:
            raise RefusedError(f"axiom {k} is false under the assignment")
    if truth[problem.conjecture]:
        raise RefusedError("the conjecture is true under the assignment")
    return f"an assignment of {len(values)} letters"


def check_truth_table(problem: Problem, tree: dict[str, object]) -> str:
    """Show that the obligation is the problem's own and true under all assignments."""
    (given,) = keyed(tree, ["obligation"])
    if not isinstance(given, str):
        raise RefusedError("`obligation` is not text")
    formulas = problem.formulas
    budget = formulas.budget
    names = list(formulas.letters)
    most = budget.bounds.truth_table_letters
    if len(names) > most:
        raise RefusedError(f"the problem has {len(names)} letters, and a truth table at most {most}")
    obligation = problem.conjecture
    if problem.axioms:
        joined = problem.axioms[0]
        for axiom in problem.axioms[1:]:
            joined = formulas.join(AND, joined, axiom)
        obligation = formulas.join(IMPLIES, joined, problem.conjecture)
    if read_formula(given, formulas) != obligation:
        raise RefusedError("the obligation is not the problem's")
    together, in_turn = names[:_AT_ONCE], names[_AT_ONCE:]
    everything = (1 << (1 << len(together))) - 1
    # Letter k alternates in runs of 2^k: everything / (2^(2^k) + 1) has the even runs, shifted the odd ones.
    values = {
        formulas.letters[name]: everything // ((1 << (1 << k)) + 1) << (1 << k)
        for k, name in enumerate(together)
    }
    for turn in range(1 << len(in_turn)):
        for k, name in enumerate(in_turn):
            values[formulas.letters[name]] = everything if turn >> k & 1 else 0
        if _classical(problem, values, everything)[obligation] != everything:
            raise RefusedError("the obligation is false under some assignment")
    return f"all {1 << len(names)} assignments"


def _classical(problem: Problem, values: dict[int, int], everything: int) -> list[int]:
    """Return for each formula the assignments, among the bits of `everything`, under which it is true."""
    formulas = problem.formulas
    formulas.budget.spend(len(formulas))
    truth: list[int] = []
    for number, kind in enumerate(formulas.kinds):
        if kind == LETTER:
            truth.append(values.get(number, 0))
        elif kind == CONSTANT:
            truth.append(everything if number == TRUE else 0)
        else:
            left, right = truth[formulas.lefts[number]], truth[formulas.rights[number]]
            if kind == AND:
                truth.append(left & right)
            elif kind == OR:
                truth.append(left | right)
            else:
                truth.append(everything & ~left | right)
    return truth


def check_frame(problem: Problem, tree: dict[str, object]) -> str:
    """Show that world 0 of a Kripke frame forces all axioms and not the conjecture."""
    given, order = keyed(tree, ["worlds", "above"])
    worlds = as_list(given, "`worlds`")
    if not worlds:
        raise RefusedError("the frame has no world")
    if len(worlds) > problem.formulas.budget.bounds.worlds:
        raise BudgetSpentError(f"more than {problem.formulas.budget.bounds.worlds} worlds")
    above = _order(problem, as_list(order, "`above`", len(worlds)))
    forced = _forced(problem, above, _letters(problem, worlds, above))
    for k, axiom in enumerate(problem.axioms):
        if not forced[axiom] & 1:
            raise RefusedError(f"world 0 does not force axiom {k}")
    if forced[problem.conjecture] & 1:
        raise RefusedError("world 0 forces the conjecture")
    return f"a frame of {len(worlds)} world{'s' if len(worlds) > 1 else ''}"


def _order(problem: Problem, order: list[object]) -> list[int]:
    """Return for each world the set of those at or above it, which is checked to be a partial order."""
    count = len(order)
    lists: list[list[int]] = []
    for i, entry in enumerate(order):
        ups = [whole(j, f"an entry of `above` {i}", 0, count - 1) for j in as_list(entry, f"`above` {i}")]
        if any(low >= high for low, high in pairwise(ups)):
            raise RefusedError(f"`above` {i} is not sorted, or names a world twice")
        problem.formulas.budget.spend(len(ups) * (1 + count // 64))
        lists.append(ups)
    above = [_bits(ups, count) for ups in lists]
    for i, ups in enumerate(lists):
        if not above[i] >> i & 1:
            raise RefusedError(f"world {i} is not above itself")
        for j in ups:
            if above[j] & ~above[i]:
                raise RefusedError(f"the order is not transitive at worlds {i} and {j}")
            if j != i and above[j] >> i & 1:
                raise RefusedError(f"worlds {i} and {j} are above each other")
    return above


def _bits(members: list[int], count: int) -> int:
    """Return a set of numbers below `count` as bits, without a new whole number for each member."""
    cells = bytearray((count + 7) // 8)
    for member in members:
        cells[member >> 3] |= 1 << (member & 7)
    return int.from_bytes(cells, "little")


def _letters(problem: Problem, worlds: list[object], above: list[int]) -> dict[int, int]:
    """Return for each letter the worlds where it holds, which are checked to be all above any of them."""
    letters = problem.formulas.letters
    budget = problem.formulas.budget
    holding: dict[int, list[int]] = {number: [] for number in letters.values()}
    for i, entry in enumerate(worlds):
        before: str | None = None
        for name in as_list(entry, f"world {i}"):
            if not isinstance(name, str) or name not in letters:
                raise RefusedError(f"world {i} holds {_shown(name)}, which is no letter of the problem")
            if before is not None and name <= before:
                raise RefusedError(f"world {i} is not sorted, or holds a letter twice")
            before = name
            holding[letters[name]].append(i)
    held: dict[int, int] = {}
    for number, members in holding.items():
        budget.spend(1 + len(members) * (1 + len(worlds) // 64))
        held[number] = _bits(members, len(worlds))
        for i in members:
            if above[i] & ~held[number]:
                raise RefusedError(f"a letter of world {i} is lost above it")
    return held


def _shown(name: object) -> str:
    return ascii(name[:40]) if isinstance(name, str) else "something that is no text"


def _forced(problem: Problem, above: list[int], held: dict[int, int]) -> list[int]:
    """Return for each formula the worlds that force it."""
    formulas = problem.formulas
    everywhere = (1 << len(above)) - 1
    forced: list[int] = []
    for number, kind in enumerate(formulas.kinds):
        formulas.budget.spend(1 + len(above) // 64)
        if kind == LETTER:
            forced.append(held[number])
        elif kind == CONSTANT:
            forced.append(everywhere if number == TRUE else 0)
        else:
            left, right = forced[formulas.lefts[number]], forced[formulas.rights[number]]
            if kind == AND:
                forced.append(left & right)
            elif kind == OR:
                forced.append(left | right)
            else:
                forced.append(_implies(problem, above, left & ~right))
    return forced


def _implies(problem: Problem, above: list[int], broken: int) -> int:
    """Return the worlds with no broken one at or above them: there only the left side is forced."""
    if not broken:
        return (1 << len(above)) - 1
    problem.formulas.budget.spend(len(above) * (1 + len(above) // 64))
    return _bits([i for i, ups in enumerate(above) if not ups & broken], len(above))
