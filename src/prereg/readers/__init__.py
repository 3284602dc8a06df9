"""Record files -> columns of cells, each with its kind, without losing where a cell was written.

CSV, JSON Lines and Parquet.  A file is first a table of cells as they were written; the columns are then
joined over all files and get their kinds.
"""

from __future__ import annotations

from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import formats
from prereg.errors import InputError, MissingError, Place, Problem
from prereg.expression.cells import BINARY, NUMBER, TEXT
from prereg.numerals import shown
from prereg.readers.csv_text import read_csv
from prereg.readers.kinds import cell_text, text_column, typed_column
from prereg.readers.tables import MOST_BYTES, UNREADABLE, Table
from prereg.records import NAMING, Column, Records, as_written, text_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path


def read_records(
    files: Sequence[tuple[str, Path]], types: Mapping[str, str], only: Collection[str] | None = None
) -> Records:
    """The records of some files, columns typed over all of them.

    Args:
        files: (name to show, path) in a fixed order.
        types: kinds that the protocol sets: column -> text, number or truth.
        only: the columns whose cells are looked at; all where None. The others are `unread`.

    Raises:
        InputError: for what is malformed, each problem at its file and line.
        MissingError: where the files hold no row at all.

    """
    return _joined([_read(name, path) for name, path in files], types, only)


def read_text(name: str, text: str, types: Mapping[str, str]) -> Records:
    """The records of one CSV text, as `read_records` reads those of files."""
    return _joined([read_csv(name, text)], types)


def _read(name: str, path: Path) -> Table:
    if path.is_dir():
        hint = f"write `{name}/*.csv` for the files in it"
        raise InputError(Problem(f"is a folder, a file is expected; {hint}", Place(name)))
    suffix = PurePath(path.name).suffix.lower()
    if suffix == ".parquet":
        from prereg.readers.parquet import read_parquet  # noqa: PLC0415 - most records are CSV

        return read_parquet(name, path)
    if suffix not in (".csv", ".jsonl", ".ndjson"):
        raise InputError(
            Problem(
                f"the ending `{suffix}` says no kind of records; read are .csv, .jsonl, .ndjson, .parquet",
                Place(name),
            )
        )
    content = formats.decode(formats.read_bytes(path, name, MOST_BYTES), name)
    if not content.strip():
        raise MissingError(Problem("the file is empty", Place(name)))
    if suffix == ".csv":
        return read_csv(name, content)
    from prereg.readers.json_lines import read_json_lines  # noqa: PLC0415 - most records are CSV

    return read_json_lines(name, content)


def _joined(tables: list[Table], types: Mapping[str, str], only: Collection[str] | None = None) -> Records:
    typed = {t.typed for t in tables}
    if len(typed) > 1:
        other = next(t for t in tables if t.typed != tables[0].typed)
        raise InputError(
            Problem(
                f"of another kind than {tables[0].name}: records are all CSV, or all JSON Lines and Parquet",
                Place(other.name),
            )
        )
    _same_columns(tables)
    rows = sum(len(t.lines) for t in tables)
    if rows == 0:
        read = ", ".join(t.name for t in tables)
        raise MissingError(f"{read}: no records (a header alone is no evidence)")
    names = list(dict.fromkeys(name for t in tables for name in t.columns))
    columns: dict[str, Column] = {}
    records = Records(
        columns,
        rows,
        tuple((t.name, len(t.lines)) for t in tables),
        tuple(np.array(t.lines, dtype=np.int64) for t in tables),
        () if only is None else tuple(name for name in names if name not in only),
    )
    problems: list[Problem] = []
    for name in names:
        if only is not None and name not in only:
            continue
        cells = _cells(name, tables)
        type_column = typed_column if typed == {True} else text_column
        wanted = types.get(name)
        column = type_column(name, cells, None if wanted == NAMING else wanted, records, problems)
        if column is not None and not _unreadable(name, column, records, problems):
            columns[name] = column
            if wanted == NAMING and column.kind in (NUMBER, BINARY):
                texts = (None if x in (None, "") else cell_text(x) for x in cells)
                columns[as_written(name)] = Column(TEXT, text_cells(texts))
    if problems:
        raise InputError(*problems)
    return records


def _cells(name: str, tables: list[Table]) -> list[Any]:
    """A column over all tables, missing where one lacks it."""
    if len(tables) == 1:
        return tables[0].columns[name]
    return list(chain.from_iterable(t.columns.get(name, [None] * len(t.lines)) for t in tables))


def _same_columns(tables: list[Table]) -> None:
    first = tables[0]
    if first.typed:
        return  # an absent key is a missing cell
    for other in tables[1:]:
        lost = [x for x in first.columns if x not in other.columns]
        new = [x for x in other.columns if x not in first.columns]
        if lost or new:
            said = [f"lacks `{x}`" for x in lost[:3]] + [f"has `{x}` besides" for x in new[:3]]
            raise InputError(
                Problem(f"other columns than {first.name}: {', '.join(said)}", Place(other.name, 1))
            )


def _unreadable(name: str, column: Column, records: Records, problems: list[Problem]) -> bool:
    """Note texts that cannot be names, keys or output: with NUL, or half of a surrogate pair."""
    bad = {i for i, level in enumerate(column.cells.levels) if UNREADABLE.search(level)}
    if not bad:
        return False
    codes = column.cells.data[0]
    rows = np.flatnonzero(np.isin(codes, list(bad)))
    problems += records.problem(
        rows,
        lambda r: (
            f"column {name}: {shown(column.cells.levels[codes[r]])} holds a NUL or half of a surrogate pair"
        ),
    )
    return True
