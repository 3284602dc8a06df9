"""What follows at a glance: few steps, sound by themselves, by which a flat clause is accepted.

D is what is given, closed under taking conjunctions apart and modus ponens; *shown* is what D gives by
putting conjunctions together and by weakening to a disjunction. Both grow upwards from each new formula,
through a list of who uses it; no formula is asked again.

Disjunctions are the cost trap: from a letter up to a disjunction of thousands are thousands of steps. So only
those are kept up to date that another kind of formula is made of; any other is asked for its parts, which are
remembered as one set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.checker.formulas import AND, FALSE, IMPLIES, OR, TRUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prereg.checker.formulas import Formulas

__all__ = ["Closure"]

# A disjunction of more parts than this is remembered, until all that is remembered has so many entries.
_SHORT = 32
_REMEMBERED = 2_000_000


class Closure:
    """D and what is shown, over a table of formulas that no longer grows, on the base of the axioms."""

    def __init__(self, formulas: Formulas, axioms: Sequence[int]) -> None:
        self._formulas = formulas
        self._budget = formulas.budget
        count = len(formulas)
        self._budget.spend(count)
        self._given = bytearray(count)
        self._shown = bytearray(count)
        self._conjunctions: list[list[tuple[int, int]]] = [[] for _ in range(count)]  # with the other side
        self._disjunctions: list[list[int]] = [[] for _ in range(count)]
        self._implications: list[list[int]] = [[] for _ in range(count)]  # of which it is the left side
        for whole, kind in enumerate(formulas.kinds):
            left, right = formulas.lefts[whole], formulas.rights[whole]
            if kind == AND:
                self._conjunctions[left].append((whole, right))
                self._conjunctions[right].append((whole, left))
            elif kind == OR:
                self._disjunctions[left].append(whole)
                self._disjunctions[right].append(whole)
            elif kind == IMPLIES:
                self._implications[left].append(whole)
        self._tops: dict[int, list[int]] = {}
        self._parts: dict[int, frozenset[int]] = {}
        self._remembered = 0
        # In order of time, so that `_undo` is cutting off.
        self._given_trail: list[int] = []
        self._shown_trail: list[int] = []
        self._open: list[int] = []
        self._give([TRUE, *axioms])
        # What the base shows was shown before anything else, and stays.
        self._base = len(self._shown_trail)
        self._in_base = frozenset(self._shown_trail)
        self._base_shows: dict[int, bool] = {}

    def follows(self, body: Iterable[int], heads: Sequence[int]) -> bool:
        """Say whether axioms and body give one of the heads, opening at most one disjunction."""
        start = (len(self._given_trail), len(self._shown_trail), len(self._open))
        self._give(body)
        found = self._done(heads) or any(self._by_cases(whole, heads) for whole in tuple(self._open))
        self._undo(start)
        return found

    def _by_cases(self, whole: int, heads: Sequence[int]) -> bool:
        formulas = self._formulas
        stack, seen = [whole], {whole}
        start = (len(self._given_trail), len(self._shown_trail), len(self._open))
        while stack:
            self._budget.spend(1)
            part = stack.pop()
            if formulas.kinds[part] == OR:
                for side in (formulas.lefts[part], formulas.rights[part]):
                    if side not in seen:
                        seen.add(side)
                        stack.append(side)
                continue
            self._give([part])
            found = self._done(heads)
            self._undo(start)
            if not found:
                return False
        return True

    def _done(self, heads: Sequence[int]) -> bool:
        return bool(self._given[FALSE]) or any(self._is_shown(head) for head in heads)

    def _give(self, formulas: Iterable[int]) -> None:
        """Put formulas into D and follow what that gives."""
        kinds, lefts, rights = self._formulas.kinds, self._formulas.lefts, self._formulas.rights
        given, shown = self._given, self._shown
        giving = list(formulas)
        showing: list[int] = []
        while giving or showing:
            self._budget.spend(1)
            if giving:
                new = giving.pop()
                if given[new]:
                    continue
                given[new] = 1
                self._given_trail.append(new)
                showing.append(new)
                kind = kinds[new]
                if kind == AND:
                    giving += (lefts[new], rights[new])
                elif kind == OR:
                    self._open.append(new)
                elif kind == IMPLIES and shown[lefts[new]]:
                    giving.append(rights[new])
                continue
            new = showing.pop()
            if shown[new]:
                continue
            shown[new] = 1
            self._shown_trail.append(new)
            self._budget.spend(len(self._conjunctions[new]) + len(self._implications[new]))
            showing += [whole for whole, other in self._conjunctions[new] if shown[other]]
            giving += [rights[whole] for whole in self._implications[new] if given[whole]]
            if self._disjunctions[new]:
                showing += self._tops_of(new)

    def _undo(self, start: tuple[int, int, int]) -> None:
        for formula in self._given_trail[start[0] :]:
            self._given[formula] = 0
        for formula in self._shown_trail[start[1] :]:
            self._shown[formula] = 0
        del self._given_trail[start[0] :], self._shown_trail[start[1] :], self._open[start[2] :]

    def _tops_of(self, formula: int) -> list[int]:
        """Return the disjunctions around this part that another kind of formula is made of."""
        tops = self._tops
        stack = [formula]
        while stack:
            now = stack[-1]
            missing = [whole for whole in self._disjunctions[now] if whole not in tops]
            self._budget.spend(1 + len(self._disjunctions[now]))
            if missing:
                stack += missing
                continue
            stack.pop()
            if now in tops:
                continue
            found: dict[int, None] = {}
            for whole in self._disjunctions[now]:
                if self._conjunctions[whole] or self._implications[whole]:
                    found[whole] = None
                self._budget.spend(len(tops[whole]))
                found.update(dict.fromkeys(tops[whole]))
            tops[now] = list(found)
        return tops[formula]

    def _is_shown(self, formula: int) -> bool:
        if self._shown[formula] or self._formulas.kinds[formula] != OR:
            return bool(self._shown[formula])
        parts = self._parts.get(formula)
        if parts is None:
            return self._search(formula)
        if self._base_shows[formula]:
            return True
        fresh = self._shown_trail[self._base :]
        self._budget.spend(1 + len(fresh))
        return not parts.isdisjoint(fresh)

    def _search(self, formula: int) -> bool:
        """Look through the parts of a disjunction, and remember them where that took long."""
        kinds, lefts, rights = self._formulas.kinds, self._formulas.lefts, self._formulas.rights
        stack, seen = [formula], {formula}
        found = False
        full = self._remembered > _REMEMBERED
        while stack and not (found and (full or len(seen) <= _SHORT)):
            now = stack.pop()
            found = found or bool(self._shown[now])
            if kinds[now] == OR:
                for side in (rights[now], lefts[now]):
                    if side not in seen:
                        seen.add(side)
                        stack.append(side)
        self._budget.spend(len(seen))
        if len(seen) > _SHORT and not full and not stack:
            self._remembered += len(seen)
            self._parts[formula] = frozenset(seen)
            self._base_shows[formula] = not self._in_base.isdisjoint(seen)
        return found
