"""More pigeons than holes, seen by counting: the one rung that clause learning needs exponentially long for.

If every letter occurs in no more of the positive clauses P than of the sets K of letters that exclude each
other, then the clauses need |P| true occurrences and the sets allow |K|; |P| > |K| is a contradiction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Counting = tuple[list[list[int]], list[list[int]]]


def find_counting(
    flat: Iterable[tuple[tuple[int, ...], tuple[int, ...]]], known: Mapping[int, bool]
) -> Counting | None:
    """Look for positive clauses and exclusive sets that refute the clauses under what is `known` of letters.

    Greedy, and no clause is derived: only what is positive or excludes a pair once known letters are dropped.
    """
    positive: list[list[int]] = []
    excluded: dict[int, set[int]] = {}
    for body, head in flat:
        if any(known.get(x) is False for x in body) or any(known.get(x) is True for x in head):
            continue
        needs = [x for x in body if x not in known]
        gives = [x for x in head if x not in known]
        if not needs and gives:
            positive.append(gives)
        elif not gives and len(needs) == 2:
            first, second = needs
            excluded.setdefault(first, set()).add(second)
            excluded.setdefault(second, set()).add(first)
    for group in _connected(positive, excluded):
        sets = _cover(group, excluded)
        if len(sets) < len(group):
            return group, sets
    return None


def _connected(positive: list[list[int]], excluded: Mapping[int, set[int]]) -> list[list[list[int]]]:
    """Split positive clauses into groups that share no letter and no exclusion."""
    clauses_of: dict[int, list[int]] = {}
    for at, clause in enumerate(positive):
        for letter in clause:
            clauses_of.setdefault(letter, []).append(at)
    group_of: dict[int, int] = {}
    groups: list[list[list[int]]] = []
    for start in range(len(positive)):
        if start in group_of:
            continue
        group_of[start] = len(groups)
        todo = [start]
        seen: set[int] = set()
        while todo:
            for letter in positive[todo.pop()]:
                for near in (letter, *excluded.get(letter, ())):
                    if near in seen:
                        continue
                    seen.add(near)
                    for at in clauses_of.get(near, ()):
                        if at not in group_of:
                            group_of[at] = len(groups)
                            todo.append(at)
        groups.append([positive[at] for at in range(len(positive)) if group_of.get(at) == len(groups)])
    return groups


def _cover(positive: list[list[int]], excluded: Mapping[int, set[int]]) -> list[list[int]]:
    """Cover each letter by exclusive sets, as often as it occurs; stops when that takes too many sets."""
    wanted: dict[int, int] = {}
    for clause in positive:
        for letter in clause:
            wanted[letter] = wanted.get(letter, 0) + 1
    sets: list[list[int]] = []
    for letter in sorted(wanted):
        while wanted[letter] and len(sets) < len(positive):
            members = [letter]
            fitting = set(excluded.get(letter, ()))
            for other in sorted(fitting):
                if other in fitting and wanted.get(other, 0):
                    members.append(other)
                    fitting &= excluded[other]
            for member in members:
                wanted[member] -= 1
            sets.append(members)
        if wanted[letter]:
            break
    return sets
