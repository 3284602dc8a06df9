"""What one file holds, a list of cells per column, and the limits that files of every kind obey."""

from __future__ import annotations

import re
from typing import Any

from prereg.errors import InputError, Place, Problem
from prereg.numerals import shown

MOST_BYTES = 4 * 1024**3
MOST_COLUMNS = 10_000
MOST_CELLS = 50_000_000
"""Of what the size of a file does not bound: cells of Parquet, and absent ones of JSON Lines."""
SHOWN = 3  # problems per file that are told one by one
UNREADABLE = re.compile(r"[\x00\ud800-\udfff]")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


class Table:
    """The cells of one file by column, None for a missing one, and the line of every row.

    `typed`: cells are values of JSON, not texts of which an empty one is missing.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: dict[str, list[Any]] = {}
        self.lines: list[int] = []
        self.typed = False


def check_header(name: str, header: list[str]) -> None:
    """Raise InputError where the names of the columns are no names, or too many."""
    if not header:
        raise InputError(Problem("an empty line; the names of the columns are expected", Place(name, 1)))
    for sign, spoken in _SEPARATORS.items():
        if len(header) == 1 and sign in header[0]:
            raise InputError(
                Problem(
                    f"one column, its name holds {spoken}: are they meant to separate? "
                    "cells are separated by commas",
                    Place(name, 1),
                )
            )
    if len(header) > MOST_COLUMNS:
        raise InputError(too_wide(name, len(header), 1))
    seen: set[str] = set()
    for i, key in enumerate(header):
        if UNREADABLE.search(key):
            raise InputError(Problem(f"the name of column {i + 1} holds a NUL", Place(name, 1)))
        if not key.strip():
            raise InputError(Problem(f"column {i + 1} of {len(header)} has no name", Place(name, 1)))
        if key in seen:
            raise InputError(Problem(f"two columns are called {shown(key)}", Place(name, 1)))
        seen.add(key)


def too_wide(name: str, width: int, line: int) -> Problem:
    """Say that a file has more columns than are read."""
    return Problem(f"{width} columns are too many: at most {MOST_COLUMNS} are read", Place(name, line))


def first_few(problems: list[Problem]) -> list[Problem]:
    """The first few problems of a file, and how many more there are."""
    shown, more = problems[:SHOWN], len(problems) - SHOWN
    if more > 0:
        last = shown[-1]
        shown[-1] = Problem(f"{last.message} (and {more} more line{'s' * (more > 1)})", last.place)
    return shown
