"""Lines and tables: drawn by rich on a terminal, written plainly elsewhere, where rich is not even loaded.

No word is broken: where a table does not fit, its rows are written one below the other.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING, Any, Protocol

from prereg.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

_GAP = 2
_INDENT = 4
_LEAST_FOLDED = 30
"""The narrowest that a last column is folded to."""


class Text:
    """A piece of text on one line, and how a terminal may colour it; what a file says moves no cursor."""

    def __init__(self, text: str, style: str = "") -> None:
        self.text = printable(text)
        self.style = style


class Table:
    """Rows of cells under named columns."""

    def __init__(self, title: str) -> None:
        self.title = printable(title)
        self.columns: list[tuple[str, bool]] = []
        """(name, whether it stands to the right)."""
        self.rows: list[tuple[Text, ...]] = []

    def add_column(self, name: str, *, right: bool = False) -> None:
        """One more column."""
        self.columns.append((name, right))

    def add_row(self, *cells: str | Text) -> None:
        """One more row, a cell per column."""
        self.rows.append(tuple(_text(cell) for cell in cells))


class Sheet(Protocol):
    """What lines and tables are put on."""

    def print(self, item: Text | Table | str = "") -> None:
        """Put one more thing below the others."""


def sheet() -> Sheet:
    """Standard output: colours and folded cells on a terminal, plain and unwrapped lines elsewhere."""
    return Terminal() if sys.stdout.isatty() else _Plain()


def _text(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def _width(text: str) -> int:
    """Columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(x) else 2 if unicodedata.east_asian_width(x) in ("W", "F") else 1
        for x in text
    )


class _Plain:
    def print(self, item: Text | Table | str = "") -> None:
        lines = _lines(item) if isinstance(item, Table) else [_text(item).text]
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _lines(table: Table) -> list[str]:
    columns = _cells(table)
    rows = zip(*columns, strict=True)
    widths = [max(map(_width, column)) for column in columns]
    right = [side for _, side in table.columns]
    return [table.title, *(_line(row, widths, right) for row in rows)]


def _cells(table: Table) -> list[list[str]]:
    """The texts of every column, its name first."""
    return [[name, *(row[i].text for row in table.rows)] for i, (name, _) in enumerate(table.columns)]


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = []
    for text, width, side in zip(row, widths, right, strict=True):
        space = " " * (width - _width(text))
        cells.append(space + text if side else text + space)
    return (" " * _GAP).join(cells).rstrip()


class Terminal:
    """A screen of some width, by default that of standard output."""

    def __init__(self, width: int | None = None) -> None:
        from rich.console import Console

        self._console: Console = Console(file=sys.stdout, highlight=False, width=width)

    def print(self, item: Text | Table | str = "") -> None:
        """Put one more thing below the others."""
        if not isinstance(item, Table):
            self._console.print(_styled(_text(item)))
            return
        # rich would wrap a title to the width of its table
        self._console.print(_styled(Text(item.title, style="italic")))
        width = self._console.width
        *needed, last = (max(map(_width, cells)) for cells in _cells(item))
        for_last = width - sum(needed) - len(needed) * _GAP
        if for_last >= min(last, _LEAST_FOLDED):
            self._console.print(_drawn(item))
        else:
            self._console.print(_stacked(item, width))


def _styled(text: Text) -> Any:
    from rich.text import Text as RichText

    return RichText(text.text, style=text.style)


def _drawn(table: Table) -> Any:
    """Columns side by side; what the last has too much of is folded."""
    from rich.table import Table as RichTable

    out = RichTable(box=None, pad_edge=False, show_edge=False)
    for i, (name, right) in enumerate(table.columns):
        last = i == len(table.columns) - 1
        out.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=not last)
    for row in table.rows:
        out.add_row(*map(_styled, row))
    return out


def _stacked(table: Table, width: int) -> Any:
    """Row by row, for a screen that is too narrow: the first cell, below it the others with their names."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text as RichText

    out: list[Any] = []
    for first, *others in table.rows:
        out.append(_styled(first))
        lines = [RichText()]
        for (name, _), cell in zip(table.columns[1:], others, strict=True):
            if not cell.text.strip():
                continue
            pair = RichText.assemble((f"{name} ", "dim"), (cell.text, cell.style))
            if lines[-1].plain and lines[-1].cell_len + _GAP + pair.cell_len > width - _INDENT:
                lines.append(pair)
            else:
                lines[-1].append(" " * _GAP if lines[-1].plain else "").append_text(pair)
        out += [Padding(line, (0, 0, 0, _INDENT)) for line in lines if line.plain]
    return Group(*out)
