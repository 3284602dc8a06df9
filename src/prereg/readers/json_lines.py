"""JSON Lines -> a table of typed values; null and an absent key are missing."""

from __future__ import annotations

import json
from typing import Any

from prereg.errors import InputError, Place, Problem
from prereg.numerals import shown
from prereg.readers.tables import MOST_CELLS, MOST_COLUMNS, UNREADABLE, Table, first_few, too_wide


def read_json_lines(name: str, content: str) -> Table:
    """The table of a text; InputError for what is malformed, each problem at its line."""
    table = Table(name)
    table.typed = True
    problems: list[Problem] = []
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer)
    count = absent = 0
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line.rstrip("\r"))
            if not isinstance(row, dict):
                raise ValueError(  # noqa: TRY004, TRY301 - one message per line
                    "a record is an object { } on one line of its own"
                )
        except RecursionError:
            problems.append(Problem("malformed JSON: nested too deeply", Place(name, number)))
        except ValueError as error:
            column = error.colno if isinstance(error, json.JSONDecodeError) else None
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            reason = reason[:1].lower() + reason[1:]
            problems.append(Problem(f"malformed JSON: {reason}", Place(name, number, column)))
        else:
            for key, value in row.items():
                cells = table.columns.get(key)
                if cells is None and UNREADABLE.search(key):
                    problems.append(
                        Problem(
                            f"the key {shown(key)} holds a NUL or half of a surrogate pair",
                            Place(name, number),
                        )
                    )
                    continue
                if cells is None:
                    absent += count
                    _bounded(name, absent, number)
                    cells = table.columns[key] = [None] * count
                cells.append(value)
            if len(table.columns) > MOST_COLUMNS:
                raise InputError(too_wide(name, len(table.columns), number))
            count += 1
            table.lines.append(number)
            for cells in table.columns.values():
                if len(cells) < count:
                    cells.append(None)
                    absent += 1
            _bounded(name, absent, number)
    if problems:
        raise InputError(*first_few(problems))
    return table


def _bounded(name: str, absent: int, line: int) -> None:
    if absent > MOST_CELLS:
        said = f"more than {MOST_CELLS} cells are absent: most rows lack most of the keys"
        raise InputError(Problem(said, Place(name, line)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        keys = [k for k, _ in pairs]
        raise ValueError(f"the key {shown(next(k for k in keys if keys.count(k) > 1))} stands twice")
    return out


def _constant(token: str) -> Any:
    raise ValueError(f"`{token}` is no number; a missing value is null")


def _integer(text: str) -> int | float:
    # Python refuses to read thousands of digits; as a double they are infinite, which is told as any other
    return int(text) if len(text) < 400 else float(text)
