"""Columns of the records under the names of the protocol: roles, derived columns, the rows `where` keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.errors import InputError, listed, suggestion
from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.expression.rows import Compiler
from prereg.expression.syntax import RESERVED
from prereg.numerals import shown
from prereg.panels import RowTable
from prereg.records import Column, as_text, as_written, is_column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    nested: tuple[str, ...] = ()
    """Columns that hold lists or objects."""
    lost: frozenset[str] = frozenset()
    """Roles (unit, arm, dataset, sample) whose column is not there, or not the one that is meant."""
    computed: set[str] = field(default_factory=set)
    """Derived columns of computed numbers: they are compared as such, not as they are written."""
    unfiltered: bool = False
    """`where` is broken: it is not known which records are meant."""

    def unknown(self, name: str) -> str:
        """What to say of a name that is no column."""
        return _unknown(name, self.kinds, self.nested)

    def text(self, name: str) -> Cells:
        """A column as text."""
        written = self.cells.get(as_written(name))
        return written if written is not None else as_text(Column(self.kinds[name], self.cells[name]))


def resolve_columns(protocol: Protocol, records: Records, notes: Notes) -> Columns:
    """Name the columns, derive the new ones in the order written, and filter the rows.

    Raises:
        InputError: where a role has no column.

    """
    columns = bind_columns(protocol, records, notes)
    if columns.lost:
        raise InputError(*notes.problems)
    return columns


def bind_columns(protocol: Protocol, records: Records, notes: Notes) -> Columns:
    """The same where a role may have no column: what hangs on it is left out, the rest is read."""
    data = protocol.data
    kinds = {name: c.kind for name, c in records.columns.items() if c.kind != "nested" and is_column(name)}
    cells = {name: c.cells for name, c in records.columns.items() if c.kind != "nested"}
    nested = [name for name, c in records.columns.items() if c.kind == "nested"]
    notes.odd = {name: _why(records, c) for name, c in records.columns.items() if c.odd is not None}
    naming = {
        data.unit: "unit",
        **dict.fromkeys(data.arm, "arm"),
        **({data.dataset: "dataset"} if data.dataset else {}),
    }
    for name, wanted in data.types.items():
        if name not in records.columns:
            notes.problem(("data", "types", name), _unknown(name, kinds, nested), key=True)
        if name in naming and wanted != "text":
            notes.problem(
                ("data", "types", name), f"`{name}` names the {naming[name]}: names are text, not {wanted}"
            )
    for role, name in data.columns.items():
        if name not in cells:
            notes.problem(("data", "columns", role), _unknown(name, kinds, nested))
            kinds.setdefault(role, "broken")  # whatever reads it makes no further problem
        elif role in records.columns and role != name:
            notes.problem(
                ("data", "columns", role), f"the records have a column `{role}` of their own", key=True
            )
        else:
            kinds[role], cells[role] = kinds[name], cells[name]
            if as_written(name) in cells:
                cells[as_written(role)] = cells[as_written(name)]
            if name in notes.odd:
                notes.odd[role] = notes.odd[name]
        _plain(role, ("data", "columns", role), notes)
    named = [("unit", (data.unit,)), ("arm", data.arm)]
    named += [(key, (value,)) for key, value in (("dataset", data.dataset), ("sample", data.sample)) if value]
    lost: set[str] = set()
    for key, names in named:
        for i, name in enumerate(names):
            if name in names[:i]:
                notes.problem(("data", key, i), f"the column `{name}` stands twice in `{key}`")
                lost.add(key)
            elif name not in cells:
                lost.add(key)
                path: Path = ("data", key, i) if key == "arm" and len(names) > 1 else ("data", key)
                notes.problem(path, f"the records have no {key} column: {_unknown(name, kinds, nested)}")
    for name in {data.unit, *data.arm, *([data.dataset] if data.dataset else [])} & set(cells):
        cells[name], kinds[name] = as_text(Column(kinds[name], cells[name])), TEXT
    columns = Columns(kinds, cells, np.arange(records.rows), frozenset(), tuple(nested), frozenset(lost))
    units = cells.get(data.unit)
    sets = cells.get(data.dataset) if data.dataset else None
    table = RowTable(cells, [""] * records.rows if units is None else row_names(units, sets))
    _derive(protocol, columns, table, notes)
    if data.where is not None:
        _filter(protocol, records, columns, table, notes)
    return columns


def _why(records: Records, column: Column) -> str:
    """Why a column is text although most of its cells are numbers or truth values."""
    row = column.odd or 0
    if column.kind == "nested":
        return f"holds a list or an object at {records.place(row)}"
    found = column.cells.levels[int(column.cells.data[0, row])]
    digits = found.lstrip("+-")
    long = len(digits) >= 16 and digits.isascii() and digits.isdecimal()
    hint = " (whole numbers beyond 2^53 - 1 are kept as text)" if long else ""
    return f"is text because of {shown(found)} at {records.place(row)}{hint}"


def _plain(name: str, path: Path, notes: Notes) -> None:
    if name in RESERVED:
        notes.problem(path, f"`{name}` is a word of the language; choose another name", key=True)


def _unknown(name: str, kinds: Mapping[str, str], nested: Sequence[str]) -> str:
    if name in nested:
        return f"column `{name}` holds lists or objects, not cells"
    return f"unknown column {shown(name)}{suggestion(name, kinds) or '; known: ' + listed(kinds)}"


def row_names(unit: Cells, dataset: Cells | None) -> list[str]:
    """Per row the name of its unit, with that of its dataset before it where there are several."""
    units = _texts(unit)
    if dataset is None:
        return units
    return [f"{s}\0{u}" for s, u in zip(_texts(dataset), units, strict=True)]


def _texts(cells: Cells) -> list[str]:
    """Per row the text of a cell; empty where it is missing, whose code is -1."""
    texts: list[str] = np.array([*cells.levels, ""], dtype=object)[cells.data[0]].tolist()
    return texts


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
        _plain(name, path, notes)
        node = notes.parse(path, text)
        if node is None:
            columns.kinds[name] = "broken"
            continue
        compiler = Compiler(columns.kinds, columns.computed)
        rows = compiler.compile(node)
        notes.expressions(path, text, compiler.problems)
        if compiler.problems or rows.kind == "broken":
            columns.kinds[name] = "broken"  # whatever reads it makes no further problem
            continue
        value = spread(rows.evaluate(table), len(table.names))
        columns.cells[name] = value
        present = value.data if value.missing is None else value.data[~value.missing]
        binary = value.kind == NUMBER and present.size > 0 and bool(np.isin(present, (0.0, 1.0)).all())
        columns.kinds[name] = BINARY if binary else value.kind
        if compiler.computes(node):
            columns.computed.add(name)
        if rows.columns & (set(CHANGED) | stale):
            stale.add(name)
    columns.stale = frozenset(stale)


def _filter(protocol: Protocol, records: Records, columns: Columns, table: RowTable, notes: Notes) -> None:
    path: Path = ("data", "where")
    text = protocol.data.where or ""
    columns.unfiltered = True
    node = notes.parse(path, text)
    if node is None:
        return
    compiler = Compiler(columns.kinds, columns.computed)
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
    columns.unfiltered = False
    columns.kept = np.flatnonzero(value.data[0])
    if not len(columns.kept):
        notes.problem(path, "`where` keeps no record at all")
        notes.stop_if_broken()  # without a record there is no unit to look at
