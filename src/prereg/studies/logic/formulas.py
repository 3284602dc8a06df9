"""Formulas as one table of rows, equal formulas one row, joined by `&`, `|` and `=>` alone.

The rewriting `~A` to `A => $false` and so on holds in intuitionistic logic, and nothing beyond it is done: a
table that dropped `~~` would prove `~~p => p`. Rows come after the rows they use, so every walk is a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LETTER = "letter"
TRUE = "$true"
FALSE = "$false"
AND = "&"
OR = "|"
IMPLIES = "=>"

Row = tuple[str, int, int]


class Formulas:
    """A growing table of formulas; a formula is the index of its row.

    `rows[i]` is (connective, left, right); of a letter, `left` is its number in `names`.
    """

    __slots__ = ("_found", "names", "rows")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.names: list[str] = []
        self._found: dict[Row | str, int] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def _row(self, key: Row | str, row: Row) -> int:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = len(self.rows)
            self.rows.append(row)
        return found

    def letter(self, name: str) -> int:
        """Return the row of the letter called `name`."""
        if name not in self._found:
            self.names.append(name)
        return self._row(name, (LETTER, len(self.names) - 1, 0))

    def constant(self, value: bool) -> int:
        """Return the row of `$true` or `$false`."""
        row = (TRUE if value else FALSE, 0, 0)
        return self._row(row, row)

    def joined(self, connective: str, left: int, right: int) -> int:
        """Return the row of two formulas joined by any connective of TPTP; a `~` before one becomes `=>`."""
        if connective == "<=":
            return self.joined(IMPLIES, right, left)
        if connective == "<=>":
            forth = self.joined(IMPLIES, left, right)
            return self.joined(AND, forth, self.joined(IMPLIES, right, left))
        if connective in _NEGATED:
            return self.negation(self.joined(_NEGATED[connective], left, right))
        row = (connective, left, right)
        return self._row(row, row)

    def negation(self, formula: int) -> int:
        """Return the row of `formula => $false`."""
        return self.joined(IMPLIES, formula, self.constant(False))

    def all_of(self, connective: str, formulas: Sequence[int]) -> int:
        """Join one or more formulas by `&` or `|`, nested to the right."""
        joined = formulas[-1]
        for formula in reversed(formulas[:-1]):
            joined = self.joined(connective, formula, joined)
        return joined

    def reached(self, roots: Iterable[int]) -> list[int]:
        """Return the rows that `roots` are built of, themselves included, in order of the table."""
        seen = set(roots)
        todo = list(seen)
        while todo:
            connective, left, right = self.rows[todo.pop()]
            if connective in _JOINING:
                for side in (left, right):
                    if side not in seen:
                        seen.add(side)
                        todo.append(side)
        return sorted(seen)


_NEGATED = {"<~>": "<=>", "~|": OR, "~&": AND}
_JOINING = frozenset({AND, OR, IMPLIES})


@dataclass(frozen=True, slots=True)
class Entailment:
    """A problem: do the axioms entail the conjecture? Axioms and conjecture are rows of `formulas`.

    `letters` are the distinct letters of axioms and conjecture, sorted by name.
    """

    name: str
    formulas: Formulas
    axioms: tuple[int, ...]
    conjecture: int
    letters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        rows, names = self.formulas.rows, self.formulas.names
        used = {names[rows[i][1]] for i in self.reached() if rows[i][0] == LETTER}
        object.__setattr__(self, "letters", tuple(sorted(used)))

    def reached(self) -> list[int]:
        """Return the rows that the problem is built of."""
        return self.formulas.reached((*self.axioms, self.conjecture))


def table(formulas: Formulas, roots: Iterable[int]) -> tuple[list[object], dict[int, int]]:
    """Write the rows that `roots` are built of as JSON; second the new index of each row."""
    place: dict[int, int] = {}
    written: list[object] = []
    for i in formulas.reached(roots):
        connective, left, right = formulas.rows[i]
        if connective == LETTER:
            row: object = formulas.names[left]
        elif connective in _JOINING:
            row = [connective, place[left], place[right]]
        else:
            row = connective == TRUE
        place[i] = len(written)
        written.append(row)
    return written, place


def done_after(formulas: Formulas, rows: Iterable[int], keep: Iterable[int]) -> dict[int, list[int]]:
    """Return for each row the rows that no later one uses, but for those to `keep`; what they hold may go."""
    last: dict[int, int] = {}
    for i in rows:
        connective, left, right = formulas.rows[i]
        if connective in _JOINING:
            last[left] = last[right] = i
    done: dict[int, list[int]] = {}
    for i in last.keys() - set(keep):
        done.setdefault(last[i], []).append(i)
    return done


def lengths(formulas: Formulas, rows: Iterable[int]) -> dict[int, int]:
    """Return for each row the length of its text (see `texts`), which may well be too long to write.

    `rows` must be in order of the table and hold the rows they are built of. A biconditional is its two
    implications, so the length is exponential in the depth of a chain of them.
    """
    long: dict[int, int] = {}
    for i in rows:
        connective, left, right = formulas.rows[i]
        if connective == LETTER:
            long[i] = len(quoted(formulas.names[left]))
        elif connective in _JOINING:
            # Brackets, and a blank on either side of the connective.
            long[i] = long[left] + long[right] + len(connective) + 4
            if connective == IMPLIES and formulas.rows[right][0] == FALSE:
                long[i] = long[left] + 1
        else:
            long[i] = len(connective)
    return long


def texts(formulas: Formulas, rows: Iterable[int]) -> dict[int, str]:
    """Write each row as TPTP: `(A => B)`, `~A`. To be called only after a look at `lengths`."""
    text: dict[int, str] = {}
    for i in rows:
        connective, left, right = formulas.rows[i]
        if connective == LETTER:
            text[i] = quoted(formulas.names[left])
        elif connective in _JOINING:
            negation = connective == IMPLIES and formulas.rows[right][0] == FALSE
            text[i] = f"~{text[left]}" if negation else f"({text[left]} {connective} {text[right]})"
        else:
            text[i] = connective
    return text


def quoted(name: str) -> str:
    """Write a letter's name as TPTP: between quotes unless it is a plain lower-case word."""
    if name.isascii() and name[:1].islower() and name.replace("_", "a").isalnum():
        return name
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
