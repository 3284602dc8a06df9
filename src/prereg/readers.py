"""Record files -> columns of cells, each with its kind, without losing where a cell was written.

CSV, JSON Lines and Parquet.  A column is numbers if every cell is one, truth values if every cell is true or
false, text otherwise; an empty CSV cell, a JSON null and an absent key are missing.  NaN and infinities are
refused where they would be numbers.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import formats
from prereg.errors import InputError, MissingError, Place, Problem
from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.numerals import LARGEST, shown
from prereg.records import NAMING, Column, Records, as_written, coded, text_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

MOST_BYTES = 4 * 1024**3
MOST_COLUMNS = 10_000
MOST_CELLS = 50_000_000
"""Of a Parquet file, whose size says nothing of its cells."""
_SHOWN = 3  # problems per file that are told one by one
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_UNREADABLE = re.compile(r"[\x00\ud800-\udfff]")
_WHOLE = re.compile(r"[+-]?[0-9]{16,}\Z")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_ODD = re.compile(r"[^0-9.eE+\-\n]")
_WILD = frozenset({"nan", "inf", "infinity", "+inf", "-inf", "+nan", "-nan", "+infinity", "-infinity"})


class _Table:
    """What one file holds: a list of cells per column; None is missing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: dict[str, list[Any]] = {}
        self.lines: list[int] = []
        self.typed = False


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
    return _joined([_csv(name, text)], types)


def _joined(tables: list[_Table], types: Mapping[str, str], only: Collection[str] | None = None) -> Records:
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
        cells = list(chain.from_iterable(t.columns.get(name, [None] * len(t.lines)) for t in tables))
        type_column = _typed_column if typed == {True} else _text_column
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


def _unreadable(name: str, column: Column, records: Records, problems: list[Problem]) -> bool:
    """Note texts that cannot be names, keys or output: with NUL, or half of a surrogate pair."""
    bad = {i for i, level in enumerate(column.cells.levels) if _UNREADABLE.search(level)}
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


def _read(name: str, path: Path) -> _Table:
    if path.is_dir():
        hint = f"write `{name}/*.csv` for the files in it"
        raise InputError(Problem(f"is a folder, a file is expected; {hint}", Place(name)))
    suffix = PurePath(path.name).suffix.lower()
    if suffix == ".parquet":
        return _parquet(name, path)
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
    return _csv(name, content) if suffix == ".csv" else _json_lines(name, content)


def _csv(name: str, content: str) -> _Table:
    table = _Table(name)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        header = next(reader)
    except csv.Error as error:
        raise InputError(_malformed(name, error, 1, reader.line_num)) from None
    _check_header(name, header)
    width = len(header)
    line = reader.line_num
    if _plain(table, header, content):
        return table
    rows: list[list[str]] = []
    problems: list[Problem] = []
    try:
        for row in reader:
            begin, line = line + 1, reader.line_num
            if len(row) == width:
                rows.append(row)
                table.lines.append(begin)
            elif row:  # an empty line between records is no record
                found = f"found {len(row)} cell{'s' * (len(row) != 1)}, expected {width} as in the header"
                problems.append(Problem(found, Place(name, begin)))
    except csv.Error as error:
        problems = [*problems[:_SHOWN], _malformed(name, error, line + 1, reader.line_num)]
    if problems:
        raise InputError(*_first(problems))
    columns = zip(*rows, strict=True) if rows else [()] * width
    table.columns = {key: list(cells) for key, cells in zip(header, columns, strict=True)}
    return table


def _plain(table: _Table, header: list[str], content: str) -> bool:
    """Fill the table where no cell is quoted and every line is a record, several times faster than `csv`.

    False, and nothing done, where the file is not as plain as that: then the csv module reads it.
    """
    commas = len(header) - 1
    if '"' in content or commas == 0:
        return False
    lines = content.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if {line.count(",") for line in lines} != {commas} or "\r" in content.replace("\r\n", ""):
        return False
    cells = ",".join(lines).split(",")
    width = len(header)
    table.columns = {key: cells[width + i :: width] for i, key in enumerate(header)}
    table.lines = list(range(2, len(lines) + 1))
    return True


def _first(problems: list[Problem]) -> list[Problem]:
    """The first few problems of a file, and how many more there are."""
    shown, more = problems[:_SHOWN], len(problems) - _SHOWN
    if more > 0:
        last = shown[-1]
        shown[-1] = Problem(f"{last.message} (and {more} more line{'s' * (more > 1)})", last.place)
    return shown


def _malformed(name: str, error: csv.Error, begin: int, end: int) -> Problem:
    """What the CSV reader stumbled over, in words, at the line where the record begins."""
    if "unexpected end" in str(error):
        return Problem(
            "malformed CSV: the record that begins here holds a quote that is never closed",
            Place(name, begin),
        )
    said = (
        'after a closing quote a comma or the end of the line is expected; a quote in a cell is written ""'
        if "expected after" in str(error)
        else str(error)
    )
    return Problem(f"malformed CSV: {said}", Place(name, end))


def _check_header(name: str, header: list[str]) -> None:
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
        raise InputError(_too_wide(name, len(header), 1))
    seen: set[str] = set()
    for i, key in enumerate(header):
        if _UNREADABLE.search(key):
            raise InputError(Problem(f"the name of column {i + 1} holds a NUL", Place(name, 1)))
        if not key.strip():
            raise InputError(Problem(f"column {i + 1} of {len(header)} has no name", Place(name, 1)))
        if key in seen:
            raise InputError(Problem(f"two columns are called {shown(key)}", Place(name, 1)))
        seen.add(key)


def _too_wide(name: str, width: int, line: int) -> Problem:
    return Problem(f"{width} columns are too many: at most {MOST_COLUMNS} are read", Place(name, line))


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


def _json_lines(name: str, content: str) -> _Table:
    table = _Table(name)
    table.typed = True
    problems: list[Problem] = []
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer)
    count = 0
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
                if cells is None and _UNREADABLE.search(key):
                    problems.append(
                        Problem(
                            f"the key {shown(key)} holds a NUL or half of a surrogate pair",
                            Place(name, number),
                        )
                    )
                    continue
                if cells is None:
                    cells = table.columns[key] = [None] * count
                cells.append(value)
            if len(table.columns) > MOST_COLUMNS:
                raise InputError(_too_wide(name, len(table.columns), number))
            count += 1
            table.lines.append(number)
            for cells in table.columns.values():
                if len(cells) < count:
                    cells.append(None)
    if problems:
        raise InputError(*_first(problems))
    return table


def _parquet(name: str, path: Path) -> _Table:
    try:
        from pyarrow import ArrowException, parquet, types  # noqa: PLC0415 - 98 ms, and optional
    except ImportError:
        raise InputError(
            Problem("Parquet needs pyarrow: install `prereg-runner[parquet]`", Place(name))
        ) from None
    table = _Table(name)
    table.typed = True
    raw = formats.read_bytes(path, name, MOST_BYTES)
    try:
        file = parquet.ParquetFile(io.BytesIO(raw))
        schema = file.schema_arrow
        _check_header(name, schema.names)
        rows = file.metadata.num_rows
        if rows * len(schema.names) > MOST_CELLS:  # a few bytes can stand for any number of equal cells
            raise InputError(
                Problem(
                    f"{rows} rows of {len(schema.names)} columns: at most {MOST_CELLS} cells are read",
                    Place(name),
                )
            )
        flat = [field.name for field in schema if not types.is_nested(field.type)]
        texts = [f.name for f in schema if types.is_string(f.type) or types.is_binary(f.type)]
        content = parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts).read(columns=flat)
        for key in schema.names:
            # nested values are no cells: they are neither decoded nor kept
            table.columns[key] = _parquet_cells(content.column(key)) if key in flat else [[]] * rows
    except (OSError, ValueError, OverflowError, ArrowException) as error:
        raise InputError(Problem(f"malformed Parquet: {str(error)[:300]}", Place(name))) from None
    table.lines = list(range(1, rows + 1))
    return table


def _parquet_cells(column: Any) -> list[Any]:
    """The cells of a column; a text that stands in many rows is kept once."""
    out: list[Any] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            values = [_cell(x) for x in chunk.dictionary.to_pylist()]
            out += [None if i is None else values[i] for i in chunk.indices.to_pylist()]
        else:
            out += map(_cell, chunk.to_pylist())
    return out


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "as_tuple"):  # a decimal keeps its own digits
        return float(value)
    return str(value)


def _same_columns(tables: list[_Table]) -> None:
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


def _number_column(data: np.ndarray, missing: np.ndarray) -> Column:
    mask = missing[None, :] if missing.any() else None
    binary = bool((missing | (data == 0.0) | (data == 1.0)).all()) and not missing.all()
    kind = BINARY if binary else NUMBER
    return Column(kind, Cells(NUMBER, data[None, :], mask))


def _text_column(
    name: str, cells: list[str], wanted: str | None, records: Records, problems: list[Problem]
) -> Column | None:
    distinct = set(cells)  # few cells differ: each is looked at once
    present = distinct - {""}
    missing = np.array([not x for x in cells]) if "" in distinct else np.zeros(len(cells), dtype=bool)
    if not present and wanted in ("truth", "number"):
        return _unknown_column(wanted, len(cells))
    if wanted != "text":
        column = _try_numbers(name, cells, present, missing, wanted, records, problems)
        if column is not None or (problems and problems[-1].message.startswith(f"column {name}:")):
            return column
        lowered = {x.lower() for x in present}
        if present and lowered <= {"true", "false"} and wanted in (None, "truth"):
            truth = {x: x.lower() == "true" for x in distinct}
            data = np.fromiter(map(truth.__getitem__, cells), dtype=bool, count=len(cells))[None, :]
            return Column(TRUTH, Cells(TRUTH, data, missing[None, :] if missing.any() else None))
        if wanted is not None:
            if wanted == "truth":
                rows = [i for i, x in enumerate(cells) if x and x.lower() not in ("true", "false")]
            else:
                rows = [i for i, x in enumerate(cells) if x and not _exact_number(x)]
            spoken = "true or false" if wanted == "truth" else "a number that a double holds"
            problems += records.problem(
                rows, lambda r: f"column {name}: found {shown(cells[r])}, expected {spoken}"
            )
            return None
    odd = None
    if wanted is None:
        odd = _odd(
            cells,
            {
                x: NUMBER if _exact_number(x) else TRUTH
                for x in present
                if _exact_number(x) or x.lower() in ("true", "false")
            },
        )
    composed = {x: unicodedata.normalize("NFC", x) if x else None for x in distinct}
    return Column(TEXT, coded(cells, composed), odd)


def _unknown_column(kind: str, rows: int) -> Column:
    """A column of a kind that is known beforehand, without a single cell."""
    missing = np.ones((1, rows), dtype=bool)
    if kind == TRUTH:
        return Column(TRUTH, Cells(TRUTH, np.zeros((1, rows), dtype=bool), missing))
    return Column(NUMBER, Cells(NUMBER, np.zeros((1, rows)), missing))


def _exact_number(cell: str) -> bool:
    """Whether a cell is a number; whole numbers that a double would change are texts, such as long ids."""
    return bool(_NUMBER.match(cell)) and not _long(cell)


def _long(cell: str) -> bool:
    return bool(_WHOLE.match(cell)) and (len(cell) > 20 or abs(int(cell)) > LARGEST)


def _odd(cells: Sequence[Any], kinds: Mapping[Any, str]) -> int | None:
    """The first row whose cell is not of the kind that most cells are; None where most are text."""
    seen = [x for x in cells[:1000] if x not in ("", None)]
    for kind in (NUMBER, TRUTH):
        if 2 * sum(1 for x in seen if kinds.get(x) == kind) > len(seen):
            return next(
                (i for i, x in enumerate(cells) if x not in ("", None) and kinds.get(x) != kind), None
            )
    return None


def _try_numbers(
    name: str,
    cells: list[str],
    present: set[str],
    missing: np.ndarray,
    wanted: str | None,
    records: Records,
    problems: list[Problem],
) -> Column | None:
    """The column as numbers; None where some cell is none. NaN among numbers is a problem."""
    if not present or wanted == "truth":
        return None
    joined = "\n".join(present)
    if _ODD.search(joined):
        odd = {x for x in present if not _NUMBER.match(x)}
        if odd and {x.lower() for x in odd} <= _WILD and (len(odd) < len(present) or wanted):
            rows = [i for i, x in enumerate(cells) if x in odd]
            problems += records.problem(
                rows,
                lambda r: (
                    f"column {name}: `{cells[r]}` is no number; leave the cell empty where it is missing"
                ),
            )
        return None
    try:
        values = {x: float(x) for x in present}
    except ValueError:
        return None
    if any(map(math.isinf, values.values())):
        rows = [i for i, x in enumerate(cells) if x and math.isinf(float(x))]
        problems += records.problem(
            rows, lambda r: f"column {name}: {shown(cells[r])} is larger than any double"
        )
        return None
    if any(map(_long, present)):
        return None
    values[""] = 0.0
    return _number_column(np.fromiter(map(values.__getitem__, cells), np.float64, len(cells)), missing)


def _typed_column(
    name: str, cells: list[Any], wanted: str | None, records: Records, problems: list[Problem]
) -> Column | None:
    missing = np.array([x is None for x in cells], dtype=bool)
    kinds = {type(x) for x in cells if x is not None}
    if kinds & {list, dict}:
        # nested values are no cells; the column is left out and named when an expression asks for it
        odd = next(i for i, x in enumerate(cells) if isinstance(x, list | dict))
        return Column("nested", Cells(TEXT, np.zeros((1, len(cells)), dtype=np.int64), None, ("",)), odd)
    wild = [i for i, x in enumerate(cells) if isinstance(x, float) and not math.isfinite(x)]
    if wild:
        problems += records.problem(
            wild,
            lambda r: (
                f"column {name}: found NaN; a missing value is null"
                if math.isnan(cells[r])
                else f"column {name}: found an infinite number, or one larger than any double"
            ),
        )
        return None
    long = [i for i, x in enumerate(cells) if isinstance(x, int) and abs(x) > LARGEST]
    if kinds and kinds <= {int, float} and wanted in (None, "number") and not long:
        return _number_column(np.array([0.0 if x is None else float(x) for x in cells]), missing)
    if kinds and kinds <= {bool} and wanted in (None, "truth"):
        data = np.array([bool(x) for x in cells])[None, :]
        return Column(TRUTH, Cells(TRUTH, data, missing[None, :] if missing.any() else None))
    if wanted in ("number", "truth"):
        good = (bool,) if wanted == "truth" else (int, float)
        rows = [
            i
            for i, x in enumerate(cells)
            if x is not None and (not isinstance(x, good) or (wanted == "number" and isinstance(x, bool)))
        ]
        if wanted == "number":
            rows = sorted({*rows, *long})
        spoken = "true or false" if wanted == "truth" else "a number that a double holds"
        problems += records.problem(
            rows, lambda r: f"column {name}: found {shown(json.dumps(cells[r]))}, expected {spoken}"
        )
        if rows:
            return None
    spoken_kinds = [_spoken_kind(x) for x in cells]
    first = (
        _odd([k or None for k in spoken_kinds], {NUMBER: NUMBER, TRUTH: TRUTH}) if wanted is None else None
    )
    return Column(TEXT, text_cells(None if x is None else cell_text(x) for x in cells), first)


def _spoken_kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int | float):
        return NUMBER if isinstance(value, float) or abs(value) <= LARGEST else TEXT
    return None if value is None else TEXT


def cell_text(value: Any) -> str:
    """A JSON cell as text: 7 is `7`, true is `true`."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
