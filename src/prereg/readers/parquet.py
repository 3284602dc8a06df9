"""Parquet -> a table of typed values, by pyarrow, which is optional."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from prereg import formats
from prereg.errors import InputError, Place, Problem
from prereg.readers.tables import MOST_BYTES, MOST_CELLS, Table, check_header

if TYPE_CHECKING:
    from pathlib import Path


def read_parquet(name: str, path: Path) -> Table:
    """The table of a file; InputError where it is malformed, too large, or there is no pyarrow."""
    try:
        from pyarrow import ArrowException, parquet, types  # noqa: PLC0415 - 98 ms, and optional
    except ImportError:
        raise InputError(
            Problem("Parquet needs pyarrow: install `prereg-runner[parquet]`", Place(name))
        ) from None
    table = Table(name)
    table.typed = True
    raw = formats.read_bytes(path, name, MOST_BYTES)
    try:
        file = parquet.ParquetFile(io.BytesIO(raw))
        schema = file.schema_arrow
        check_header(name, schema.names)
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
    if isinstance(value, bytes):  # texts that were not declared as such
        return value.decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "as_tuple"):  # a decimal keeps its own digits
        return float(value)
    return str(value)
