"""Columns of the records under the names of the protocol: roles, derived columns, the rows `where` keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prereg.errors import InputError, suggestion
from prereg.expression.rows import BINARY, NUMBER, TEXT, TRUTH, Cells, Compiler
from prereg.panels import RowTable
from prereg.records import Column, as_text

if TYPE_CHECKING:
    from prereg.protocol import Protocol
    from prereg.records import Records
    from prereg.resolve.notes import Notes, Path

CHANGED = ("answered", "certified", "action")
"""The names that policies change."""


@dataclass(eq=False)
class Columns:
    """What expressions over rows may read."""

    kinds: dict[str, str]
    cells: dict[str, Cells]
    kept: np.ndarray
    """Rows that `where` kept."""
    stale: frozenset[str]
    """Derived columns that read what policies change: they keep their value from before the gate."""
    odd: dict[str, str]
    """Why a text column is no column of numbers, where most of its cells are."""

    def text(self, name: str) -> Cells:
        """A column as text."""
        return as_text(Column(self.kinds[name], self.cells[name]))


def resolve_columns(protocol: Protocol, records: Records, notes: Notes) -> Columns:
    """Name the columns, derive the new ones in the order written, and filter the rows."""
    data = protocol.data
    kinds = {name: c.kind for name, c in records.columns.items() if c.kind != "nested"}
    cells = {name: c.cells for name, c in records.columns.items() if c.kind != "nested"}
    nested = [name for name, c in records.columns.items() if c.kind == "nested"]
    odd = {
        name: f"{records.place(c.odd)} is no number"
        for name, c in records.columns.items()
        if c.odd is not None
    }
    for name in data.types:
        if name not in records.columns:
            notes.problem(("data", "types", name), _unknown(name, kinds, nested), key=True)
    for role, name in data.columns.items():
        if name not in cells:
            notes.problem(("data", "columns", role), _unknown(name, kinds, nested))
        elif role in records.columns and role != name:
            notes.problem(
                ("data", "columns", role), f"the records have a column `{role}` of their own", key=True
            )
        else:
            kinds[role], cells[role] = kinds[name], cells[name]
            if name in odd:
                odd[role] = odd[name]
    named = [("unit", (data.unit,)), ("arm", data.arm)]
    named += [(key, (value,)) for key, value in (("dataset", data.dataset), ("sample", data.sample)) if value]
    for key, names in named:
        for i, name in enumerate(names):
            if name not in cells:
                path: Path = ("data", key, i) if key == "arm" and len(names) > 1 else ("data", key)
                notes.problem(path, f"the records have no {key} column: {_unknown(name, kinds, nested)}")
    if notes.problems:
        raise InputError(*notes.problems)
    for name in {data.unit, *data.arm, *([data.dataset] if data.dataset else [])}:
        cells[name], kinds[name] = as_text(Column(kinds[name], cells[name])), TEXT
    columns = Columns(kinds, cells, np.arange(records.rows), frozenset(), odd)
    table = RowTable(cells, row_names(cells[data.unit], cells[data.dataset] if data.dataset else None))
    _derive(protocol, columns, table, notes)
    if not notes.problems and data.where is not None:
        _filter(protocol, records, columns, table, notes)
    return columns


def _unknown(name: str, kinds: dict[str, str], nested: list[str]) -> str:
    if name in nested:
        return f"column `{name}` holds lists or objects, not cells"
    return f"unknown column `{name}`{suggestion(name, kinds) or '; known: ' + ', '.join(list(kinds)[:12])}"


def row_names(unit: Cells, dataset: Cells | None) -> list[str]:
    """Per row the name of its unit, with that of its dataset before it where there are several."""
    units = [unit.levels[i] if i >= 0 else "" for i in unit.data[0].tolist()]
    if dataset is None:
        return units
    sets = [dataset.levels[i] if i >= 0 else "" for i in dataset.data[0].tolist()]
    return [f"{s}\0{u}" for s, u in zip(sets, units, strict=True)]


def spread(cells: Cells, rows: int) -> Cells:
    """A constant expression as a whole column."""
    if cells.data.shape[1] == rows:
        return cells
    shape = (cells.data.shape[0], rows)
    missing = None if cells.missing is None else np.broadcast_to(cells.missing, shape).copy()
    return Cells(cells.kind, np.broadcast_to(cells.data, shape).copy(), missing, cells.levels)


def _derive(protocol: Protocol, columns: Columns, table: RowTable, notes: Notes) -> None:
    stale: set[str] = set()
    for name, text in protocol.data.derive.items():
        path: Path = ("data", "derive", name)
        if name in columns.kinds:
            notes.problem(
                path, f"there is a column `{name}` already; a derived one needs a name of its own", key=True
            )
            continue
        node = notes.parse(path, text)
        if node is None:
            columns.kinds[name] = "broken"
            continue
        compiler = Compiler(columns.kinds)
        rows = compiler.compile(node)
        notes.expressions(path, text, compiler.problems)
        if compiler.problems or rows.kind == "broken":
            columns.kinds[name] = "broken"
            continue
        value = spread(rows.evaluate(table), len(table.names))
        columns.cells[name] = value
        present = value.data if value.missing is None else value.data[~value.missing]
        binary = value.kind == NUMBER and present.size > 0 and bool(np.isin(present, (0.0, 1.0)).all())
        columns.kinds[name] = BINARY if binary else value.kind
        if rows.columns & (set(CHANGED) | stale):
            stale.add(name)
    columns.stale = frozenset(stale)


def _filter(protocol: Protocol, records: Records, columns: Columns, table: RowTable, notes: Notes) -> None:
    path: Path = ("data", "where")
    text = protocol.data.where or ""
    node = notes.parse(path, text)
    if node is None:
        return
    compiler = Compiler(columns.kinds)
    rows = compiler.compile(node, TRUTH)
    notes.expressions(path, text, compiler.problems)
    if compiler.problems or rows.kind == "broken":
        return
    value = spread(rows.evaluate(table), records.rows)
    if value.missing is not None and value.missing.any():
        lost = np.flatnonzero(value.missing[0])
        notes.problems += records.problem(
            lost,
            lambda _: (
                "`where` is undefined for this record: a cell is missing; "
                "write defined(x) to say what it counts as"
            ),
        )
        return
    columns.kept = np.flatnonzero(value.data[0])
    if not len(columns.kept):
        notes.problem(path, "`where` keeps no record at all")
