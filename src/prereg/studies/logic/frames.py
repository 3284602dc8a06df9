"""Countermodels by trying all: rooted orders of few worlds, all valuations, within gates on the letters.

The naive procedure of the document this study follows. It can refute and never prove; what it finds first is
a smallest countermodel, since the orders are tried from one world up.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from prereg.studies.logic.formulas import AND, IMPLIES, LETTER, OR, TRUE, done_after
from prereg.studies.logic.search import Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.studies.logic.formulas import Entailment
    from prereg.studies.logic.search import Certificate

# above[i]: the worlds at or above world i, as bits.
Order = tuple[int, ...]


@cache
def rooted_orders(worlds: int) -> tuple[Order, ...]:
    """Return all partial orders of so many worlds in which world 0 is least, one of each shape.

    There are 1, 1, 2, 5 of 1, 2, 3, 4 worlds: the orders of one world less (OEIS A000112) put above a root.
    """
    pairs = list(combinations(range(1, worlds), 2))
    shapes: dict[Order, Order] = {}
    for chosen in range(1 << len(pairs)):
        below = {pair for k, pair in enumerate(pairs) if chosen >> k & 1}
        if any((i, l) not in below for i, j in below for k, l in below if j == k):
            continue  # not transitive
        above = [(1 << worlds) - 1] + [1 << i for i in range(1, worlds)]
        for i, j in below:
            above[i] |= 1 << j
        shape = min(_renamed(above, renaming) for renaming in permutations(range(1, worlds)))
        shapes.setdefault(shape, tuple(above))
    return tuple(shapes[shape] for shape in sorted(shapes))


def _renamed(above: Sequence[int], renaming: Sequence[int]) -> Order:
    new = (0, *renaming)
    return tuple(
        sum(1 << new[j] for j in range(len(above)) if above[i] >> j & 1)
        for i in sorted(range(len(above)), key=new.__getitem__)
    )


def upsets(order: Order) -> list[int]:
    """Return the sets of worlds that a letter can hold at: with a world all that is above it."""
    return [
        worlds
        for worlds in range(1 << len(order))
        if all(order[i] & ~worlds == 0 for i in range(len(order)) if worlds >> i & 1)
    ]


def repeated(block: int, width: int, times: int) -> int:
    """Return `times` copies of a block of `width` bits, side by side."""
    result, have = 0, 0
    for bit in f"{times:b}":
        result |= result << (have * width)
        have *= 2
        if bit == "1":
            result = result << width | block
            have += 1
    return result


def refuting_valuation(problem: Entailment, order: Order) -> Certificate | None:
    """Return the first countermodel on an order, in a fixed sequence of valuations; None without one."""
    sets = upsets(order)
    base = len(sets)
    letters = problem.letters
    size = base ** len(letters)
    everywhere = (1 << size) - 1
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(letters):
        width = base**k
        # Valuation number v gives letter k the set that digit k of v names.
        digits = [((1 << width) - 1) << (width * u) for u in range(base)]
        columns[name] = [
            repeated(
                sum(digit for digit, worlds in zip(digits, sets, strict=True) if worlds >> world & 1),
                width * base,
                size // (width * base),
            )
            for world in range(len(order))
        ]
    forced = _forced(problem, order, columns, everywhere)
    failing = everywhere & ~forced[problem.conjecture][0]
    for axiom in problem.axioms:
        failing &= forced[axiom][0]
    if not failing:
        return None
    first = (failing & -failing).bit_length() - 1
    chosen = {name: sets[first // base**k % base] for k, name in enumerate(letters)}
    return frame([[name for name in letters if chosen[name] >> w & 1] for w in range(len(order))], order)


def frame(worlds: Sequence[Sequence[str]], order: Order) -> Certificate:
    """Write a countermodel: the letters of each world and what is above it."""
    return {
        "kind": "frame",
        "worlds": [sorted(letters) for letters in worlds],
        "above": [[j for j in range(len(order)) if above >> j & 1] for above in order],
    }


def _forced(
    problem: Entailment, order: Order, columns: Mapping[str, Sequence[int]], everywhere: int
) -> dict[int, list[int]]:
    """Return for axioms, conjecture and each world the valuations under which it forces them, as bits."""
    count = len(order)
    forced: dict[int, list[int]] = {}
    formulas = problem.formulas
    rows = problem.reached()
    done = done_after(formulas, rows, (*problem.axioms, problem.conjecture))
    for i in rows:
        connective, left, right = formulas.rows[i]
        if connective == LETTER:
            forced[i] = list(columns[formulas.names[left]])
        elif connective == AND:
            forced[i] = [a & b for a, b in zip(forced[left], forced[right], strict=True)]
        elif connective == OR:
            forced[i] = [a | b for a, b in zip(forced[left], forced[right], strict=True)]
        elif connective == IMPLIES:
            here = [everywhere ^ a & ~b for a, b in zip(forced[left], forced[right], strict=True)]
            forced[i] = here[:]
            for world in range(count):
                for other in range(count):
                    if order[world] >> other & 1:
                        forced[i][world] &= here[other]
        else:
            forced[i] = [everywhere if connective == TRUE else 0] * count
        for row in done.get(i, ()):
            del forced[row]
    return forced


def decide(problem: Entailment, *, max_atoms: Mapping[int, int], max_valuations: int) -> Search:
    """Look for a countermodel; `max_atoms` gives the most letters for each number of worlds to try.

    A gate that is shut skips its size and no other. Without a countermodel it abstains: with `atoms` if a
    gate was shut, `valuations` if the next order would take more than are left, `worlds` if all orders were
    tried. `counts`: valuations and worlds (of the countermodel).
    """
    counts = {"valuations": 0, "worlds": 0}
    reason = "worlds"
    for worlds in sorted(max_atoms):
        if len(problem.letters) > max_atoms[worlds]:
            reason = "atoms" if reason == "worlds" else reason
            continue
        for order in rooted_orders(worlds):
            needed = len(upsets(order)) ** len(problem.letters)
            if counts["valuations"] + needed > max_valuations:
                reason = "valuations"
                continue
            counts["valuations"] += needed
            found = refuting_valuation(problem, order)
            if found is not None:
                counts["worlds"] = worlds
                return Search("non_theorem", found, None, counts)
    return Search(None, None, reason, counts)


def smallest_frame(problem: Entailment, max_worlds: int = 4) -> Certificate | None:
    """Return a countermodel with as few worlds as possible; None if none has at most `max_worlds`.

    Takes time exponential in the letters: for formulas of a handful.
    """
    gates = dict.fromkeys(range(1, max_worlds + 1), len(problem.letters))
    return decide(problem, max_atoms=gates, max_valuations=1 << 30).certificate
