"""Lines and tables: drawn by rich on a terminal, written plainly elsewhere, where rich is not even loaded."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING, Any, Protocol

from prereg.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


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
    return _Terminal() if sys.stdout.isatty() else _Plain()


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
    rows = [[name for name, _ in table.columns], *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    right = [side for _, side in table.columns]
    return [table.title, *(_line(row, widths, right) for row in rows)]


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = []
    for text, width, side in zip(row, widths, right, strict=True):
        space = " " * (width - _width(text))
        cells.append(space + text if side else text + space)
    return "  ".join(cells).rstrip()


class _Terminal:
    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(file=sys.stdout, highlight=False)

    def print(self, item: Text | Table | str = "") -> None:
        if isinstance(item, Table):  # rich would wrap a title to the width of its table
            self._console.print(_styled(Text(item.title, style="italic")))
        self._console.print(_drawn(item) if isinstance(item, Table) else _styled(_text(item)))


def _styled(text: Text) -> Any:
    from rich.text import Text as RichText

    return RichText(text.text, style=text.style)


def _drawn(table: Table) -> Any:
    from rich.table import Table as RichTable

    out = RichTable(box=None, pad_edge=False, show_edge=False)
    for name, right in table.columns:
        out.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in table.rows:
        out.add_row(*map(_styled, row))
    return out
