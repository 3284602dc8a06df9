"""Settings of the policies: the gates, and the columns as each of them leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg import policies
from prereg.expression.cells import NUMBER, Cells, number_of, truth_of
from prereg.expression.rows import Compiler, Rows
from prereg.numerals import shown as shown_text
from prereg.resolve.settings import Settings
from prereg.values import as_decimal, decimal_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from prereg.panels import Panel, RowTable
    from prereg.protocol import Gate, Protocol
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.units import Units


def resolve_settings(protocol: Protocol, columns: Columns, units: Units, notes: Notes) -> Settings:
    """Apply the gates to the rows; the table then holds `answered` and `certified` per setting.

    With several gates side by side the factor `score` tells them apart.
    """
    gates = protocol.policies.gate
    if not gates:
        return Settings()
    path: Path = ("policies", "gate")
    before = len(notes.problems)
    table = units.layout.panels[0].table
    roles = [name for name in ("answered", "certified") if name in table.columns]
    if not roles:
        notes.problem(
            path, "a gate withdraws answers; the records have no column `answered` (or `certified`)"
        )
    shares = protocol.data.samples == "mean"  # truth values are shares then, and a withdrawn one is 0
    for role in roles:
        if columns.kinds[role] not in ("broken", "truth", "binary") and not (
            shares and columns.kinds[role] == NUMBER
        ):
            why = notes.why(role, "found a text")
            notes.problem(path, f"`{role}` holds {columns.kinds[role]}s, expected truth values{why}")
    names = [" ".join(gate.score.split()) for gate in gates]
    if len(set(names)) < len(names):
        notes.problem(path, "two gates read the same score; list all thresholds in one of them")
    if (
        len(gates) > 1
        and "score" in columns.kinds
        and ("score" in protocol.data.arm or protocol.data.dataset == "score")
    ):
        notes.problem(
            path,
            "several gates are told apart by a factor `score`; a column of that name is a factor already",
        )
    paths = [path] if len(gates) == 1 else [(*path, i) for i in range(len(gates))]
    values = [_values(gate, where, notes) for gate, where in zip(gates, paths, strict=True)]
    if len(notes.problems) > before:
        return Settings()
    scores = [_score(gate, where, columns, notes) for gate, where in zip(gates, paths, strict=True)]
    achieved: list[np.ndarray] = []
    for panels in _layers(units):
        through = [
            _through(gate, score, where, panels, units.part_of, listed, notes)
            for gate, score, where, listed in zip(gates, scores, paths, values, strict=True)
        ]
        _withdraw(panels[0].table, roles, np.concatenate(through), shares=shares)
        if not achieved and any(gate.coverage for gate in gates):
            achieved = _achieved(panels, units, np.concatenate(through))
    keys = [(name, v) for name, listed in zip(names, values, strict=True) for v in listed]
    shown = tuple(dict.fromkeys(v for _, v in keys))
    if len(gates) == 1:
        return Settings(("gate",), tuple((v,) for _, v in keys), (shown,), frozenset(roles), tuple(achieved))
    return Settings(("score", "gate"), tuple(keys), (tuple(names), shown), frozenset(roles), tuple(achieved))


def _layers(units: Units) -> list[list[Panel]]:
    """The panels that metrics read, and with reduced samples those with every sample."""
    panels = list(units.layout.panels)
    full = [panel.full for panel in panels if panel.full is not None]
    return [panels, full] if full else [panels]


def _withdraw(table: RowTable, roles: Sequence[str], through: np.ndarray, *, shares: bool) -> None:
    for role in roles:
        cells = number_of(table.columns[role]) if shares else truth_of(table.columns[role])
        lost = None if cells.missing is None else cells.missing & through
        table.extra[role] = Cells(cells.kind, np.where(through, cells.data, 0).astype(cells.data.dtype), lost)


def _achieved(panels: list[Panel], units: Units, through: np.ndarray) -> list[np.ndarray]:
    """Per part, in the order of the policies: the share of rows that each gate lets through."""
    out = []
    for code in range(max(len(units.parts), 1)):
        shares = []
        for panel, part_of in zip(panels, units.part_of, strict=True):
            arm = panel.place // (len(panel.units) * panel.samples)
            inside = part_of[panel.unit_of_rows()] == code
            for setting in through:
                for who in range(len(panel.arms)):
                    rows = panel.rows[(arm == who) & inside]
                    shares.append(float(setting[rows].sum()) / len(rows) if len(rows) else np.nan)
        out.append(np.array(shares))
    return out


def _values(gate: Gate, where: Path, notes: Notes) -> list[str]:
    key = "at_least" if gate.at_least is not None else "coverage"
    values: list[str] = []
    for i, text in enumerate(gate.at_least or gate.coverage or ()):
        path: Path = (*where, key, i)
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


def _score(gate: Gate, where: Path, columns: Columns, notes: Notes) -> Rows | None:
    path: Path = (*where, "score")
    node = notes.parse(path, gate.score)
    if node is None:
        return None
    compiler = Compiler(columns.kinds, columns.computed)
    rows = compiler.compile(node, NUMBER)
    notes.expressions(path, gate.score, compiler.problems)
    stale = rows.columns & (columns.stale | {"answered", "certified"})
    if stale:
        notes.problem(path, f"a gate cannot read `{min(stale)}`: it depends on what the gate itself changes")
    return None if compiler.problems or stale or rows.kind == "broken" else rows


def _through(
    gate: Gate,
    score: Rows | None,
    where: Path,
    panels: list[Panel],
    part_of: tuple[np.ndarray, ...],
    values: list[str],
    notes: Notes,
) -> np.ndarray:
    """(S, N): the rows that each threshold or coverage of a gate lets through."""
    size = len(panels[0].table.names)
    everything = np.ones((len(values), size), dtype=bool)
    if score is None:  # the gates are known by their names: what reads them can still be checked
        return everything
    cells = score.evaluate(panels[0].table)
    if cells.data.shape[1] != size:
        notes.problem((*where, "score"), "the score is the same number for every record")
        return everything
    missing = cells.missing[0] if cells.missing is not None else None
    if gate.at_least is not None:
        return policies.passes(cells.data[0], missing, [as_decimal(v) for v in values])
    return _coverage(panels, part_of, cells, missing, values)


def _coverage(
    panels: list[Panel],
    part_of: tuple[np.ndarray, ...],
    score: Cells,
    missing: np.ndarray | None,
    values: list[str],
) -> np.ndarray:
    """Per dataset, arm and part: the rows inside each coverage."""
    size = score.data.shape[1]
    gone = np.zeros(size, dtype=bool) if missing is None else missing
    out = np.ones((len(values), size), dtype=bool)
    for panel, parts in zip(panels, part_of, strict=True):
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
