"""The records in memory: columns of cells, each with its kind, and where every row was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.dataclass import dataclass
from prereg.errors import Place, Problem
from prereg.expression.cells import TEXT, Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_SHOWN = 3
NAMING = "name"
"""The type of a column that names strata, groups or clusters: read as it is, and kept as it was written."""
_WRITTEN = "\0"


def as_written(name: str) -> str:
    """Where the texts of a numeric column are kept beside its numbers; no protocol can spell it."""
    return _WRITTEN + name


def is_column(name: str) -> bool:
    """Whether it is a column of the records, not the texts kept beside one."""
    return not name.startswith(_WRITTEN)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the records: its cells (1, N) and its kind; `binary` is numbers that are all 0 or 1."""

    kind: str
    cells: Cells
    odd: int | None = None
    """For a text column that is mostly numbers: the first row that is none."""


@dataclass(frozen=True, eq=False)
class Records:
    """All rows of all files, in the order read, and where each stood."""

    columns: dict[str, Column]
    rows: int
    files: tuple[tuple[str, int], ...]
    """(name, number of rows) per file."""
    lines: tuple[np.ndarray, ...]
    """Line numbers of the rows, per file."""
    unread: tuple[str, ...] = ()
    """Columns that are there and whose cells were not looked at."""

    def place(self, row: int) -> Place:
        """Where a row was written."""
        for (name, count), lines in zip(self.files, self.lines, strict=True):
            if row < count:
                return Place(name, int(lines[row]))
            row -= count
        raise IndexError(row)

    def problem(self, rows: Sequence[int] | np.ndarray, message: Callable[[int], str]) -> list[Problem]:
        """One problem per row for the first three, and how many more there are."""
        found = [Problem(message(int(row)), self.place(int(row))) for row in rows[:_SHOWN]]
        if len(rows) > _SHOWN:
            last = found[-1]
            found[-1] = Problem(f"{last.message} (and {len(rows) - _SHOWN} more rows)", last.place)
        return found


def text_cells(values: Iterable[str | None]) -> Cells:
    """Texts as codes into their sorted levels; -1 is missing."""
    values = list(values)
    return coded(values, {v: v for v in set(values)})


def coded(values: Sequence[Any], texts: Mapping[Any, str | None]) -> Cells:
    """Values as codes into the sorted levels of their texts, each value looked up once; None is missing."""
    levels = tuple(sorted({v for v in texts.values() if v is not None}))
    place: dict[str | None, int] = {v: i for i, v in enumerate(levels)}
    place[None] = -1
    code = {value: place[text] for value, text in texts.items()}
    codes = np.fromiter(map(code.__getitem__, values), dtype=np.int64, count=len(values))[None, :]
    missing = codes < 0
    return Cells(TEXT, codes, missing if missing.any() else None, levels)


def as_text(column: Column) -> Cells:
    """A column read as text, for names of units, arms, datasets and strata."""
    cells = column.cells
    if cells.kind == TEXT:
        return cells
    missing = cells.missing_mask()[0]
    # few values are distinct, and only they need a text
    distinct, which = np.unique(cells.data[0], return_inverse=True)
    words = np.array([_word(x) for x in distinct.tolist()] + [None], dtype=object)
    return text_cells(words[np.where(missing, -1, which)].tolist())


def _word(value: float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
