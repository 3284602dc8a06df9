"""Settings of the policies: the gates, and the columns as each of them leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg import policies
from prereg.expression.rows import NUMBER, TRUTH, Cells, Compiler, truth_of
from prereg.numerals import shown as shown_text
from prereg.resolve.settings import Settings
from prereg.values import as_decimal, decimal_text

if TYPE_CHECKING:
    from decimal import Decimal

    from prereg.protocol import Gate, Protocol
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.units import Units


def resolve_settings(protocol: Protocol, columns: Columns, units: Units, notes: Notes) -> Settings:
    """Apply the gates to the rows; the table then holds `answered` and `certified` per setting."""
    gate = protocol.policies.gate
    if gate is None:
        return Settings()
    path: Path = ("policies", "gate")
    before = len(notes.problems)
    table = units.layout.panels[0].table
    roles = [name for name in ("answered", "certified") if name in table.columns]
    if not roles:
        notes.problem(
            path, "a gate withdraws answers; the records have no column `answered` (or `certified`)"
        )
    for role in roles:
        if columns.kinds[role] not in ("truth", "binary"):
            why = notes.why(role, "found a text")
            notes.problem(path, f"`{role}` holds {columns.kinds[role]}s, expected truth values{why}")
    values = _values(gate, notes)
    if len(notes.problems) > before:
        return Settings()
    score = _score(gate, columns, units, notes)
    if score is None:  # the gates are known by their names: what reads them can still be checked
        through = np.ones((len(values), len(table.names)), dtype=bool)
    elif gate.at_least is not None:
        missing = score.missing[0] if score.missing is not None else None
        through = policies.passes(score.data[0], missing, [as_decimal(v) for v in values])
    else:
        missing = score.missing[0] if score.missing is not None else None
        through = _coverage(units, score, missing, values)
    for role in roles:
        cells = truth_of(table.columns[role])
        data = cells.data & through
        lost = None if cells.missing is None else cells.missing & through
        table.extra[role] = Cells(TRUTH, data, lost)
    return Settings(("gate",), tuple((v,) for v in values), (tuple(values),), frozenset(roles))


def _values(gate: Gate, notes: Notes) -> list[str]:
    key = "at_least" if gate.at_least is not None else "coverage"
    values: list[str] = []
    for i, text in enumerate(gate.at_least or gate.coverage or ()):
        path: Path = ("policies", "gate", key, i)
        value = as_decimal(text)
        if text == "none":
            shown = "none"
        elif value is None:
            notes.problem(path, f"found {shown_text(text)}, expected a number or `none`")
            continue
        elif key == "coverage" and not 0 < value <= 1:
            notes.problem(path, f"found {shown_text(text)}, expected a share above 0 and at most 1")
            continue
        else:
            shown = decimal_text(value)
        if shown in values:
            notes.problem(path, f"the gate `{shown}` stands twice")
        values.append(shown)
    return values


def _score(gate: Gate, columns: Columns, units: Units, notes: Notes) -> Cells | None:
    path: Path = ("policies", "gate", "score")
    node = notes.parse(path, gate.score)
    if node is None:
        return None
    compiler = Compiler(columns.kinds)
    rows = compiler.compile(node, NUMBER)
    notes.expressions(path, gate.score, compiler.problems)
    stale = rows.columns & (columns.stale | {"answered", "certified"})
    if stale:
        notes.problem(path, f"a gate cannot read `{min(stale)}`: it depends on what the gate itself changes")
    if compiler.problems or stale or rows.kind == "broken":
        return None
    table = units.layout.panels[0].table
    cells = rows.evaluate(table)
    size = len(table.names)
    if cells.data.shape[1] != size:
        notes.problem(path, "the score is the same number for every record")
        return None
    return cells


def _coverage(units: Units, score: Cells, missing: np.ndarray | None, values: list[str]) -> np.ndarray:
    """Per dataset, arm and part: the rows inside each coverage."""
    size = score.data.shape[1]
    gone = np.zeros(size, dtype=bool) if missing is None else missing
    out = np.ones((len(values), size), dtype=bool)
    for panel, parts in zip(units.layout.panels, units.part_of, strict=True):
        arm = panel.place // (len(panel.units) * panel.samples)
        part = parts[panel.unit_of_rows()]
        for who in range(len(panel.arms)):
            for which in np.unique(part):
                rows = panel.rows[(arm == who) & (part == which)]
                for i, value in enumerate(values):
                    share: Decimal | None = as_decimal(value)
                    if share is not None:
                        out[i, rows] = policies.covers(score.data[0][rows], gone[rows], share)
    return out
