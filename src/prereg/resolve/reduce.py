"""Repeated answers as one value a unit: `samples: majority | mean | any_true | all_true`.

Reduced are the columns, before policies are formed: what a gate withdraws is then the reduced answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import replace
from prereg.decimals import MOST_PLACES, as_whole, divided, places_of, plain_places
from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.panels import Layout, Panel, RowTable

if TYPE_CHECKING:
    from collections.abc import Container

    from prereg.resolve.columns import Columns

REDUCTIONS = ("majority", "mean", "any_true", "all_true")


def reduced(layout: Layout, columns: Columns, how: str, numbers: Container[str]) -> Layout:
    """One row per arm and unit; the panels keep the rows they were made of as `full`.

    `majority`: the most frequent cell, missing cells not counted, a tie is missing.
    `mean`: the mean of numbers and truth values; `any_true`, `all_true`: Kleene over truth values; with these
    three a column of another kind is kept where all samples agree, and is missing where they do not. A column
    among `numbers` was declared as one: 0 and 1 in it are no truth values.
    """
    table = RowTable({}, [])
    panels: list[Panel] = []
    firsts: list[np.ndarray] = []
    pieces: dict[str, list[Cells]] = {}
    begin = 0
    for panel in layout.panels:
        present = panel.present()[0]
        arms, units, samples = panel.shape
        some = present.any(axis=2).reshape(-1)
        place = np.flatnonzero(some)
        index = np.full(arms * units * samples, -1, dtype=np.int64)
        index[panel.place] = panel.rows
        block = index.reshape(arms * units, samples)[place]
        first = block[np.arange(len(block)), (block >= 0).argmax(axis=1)]
        firsts.append(layout.order[first])
        table.names.extend(panel.table.names[row] for row in first)
        for name, cells in panel.table.columns.items():
            kind = NUMBER if name in numbers else columns.kinds.get(name, TEXT)
            pieces.setdefault(name, []).append(_reduced(cells, kind, block, how))
        rows = np.arange(begin, begin + len(place))
        begin += len(place)
        panels.append(replace(panel, samples=1, rows=rows, place=place, table=table, full=panel))
    for name, parts in pieces.items():
        missing = np.concatenate([p.missing_mask() for p in parts], axis=1)
        data = np.concatenate([p.data for p in parts], axis=1)
        table.columns[name] = Cells(parts[0].kind, data, missing if missing.any() else None, parts[0].levels)
    if how == "mean":
        for name, kind in columns.kinds.items():
            if kind in (NUMBER, TRUTH, BINARY) and name in table.columns:
                columns.kinds[name] = NUMBER
                columns.computed.add(name)
    return replace(layout, panels=tuple(panels), order=np.concatenate(firsts))


def _reduced(cells: Cells, kind: str, block: np.ndarray, how: str) -> Cells:
    """The cells of one column at (G, K) rows, -1 where there is none, as one cell per group."""
    absent = block < 0
    values = cells.data[0][block]
    gone = absent | cells.missing_mask()[0][block]
    if how == "majority":
        return _majority(cells, values, gone)
    if how == "mean" and kind in (NUMBER, TRUTH, BINARY):
        lost = (gone & ~absent).any(axis=1)
        mean = _mean(np.where(gone, 0.0, values.astype(np.float64)), (~absent).sum(axis=1))
        return Cells(NUMBER, mean[None, :], lost[None, :] if lost.any() else None)
    if how in ("any_true", "all_true") and kind in (TRUTH, BINARY):
        decisive = (values != 0) if how == "any_true" else (values == 0)
        decided = (decisive & ~gone).any(axis=1)
        lost = (gone & ~absent).any(axis=1) & ~decided
        truth = decided if how == "any_true" else ~decided
        return Cells(TRUTH, truth[None, :], lost[None, :] if lost.any() else None)
    return _agreed(cells, values, gone, absent)


def _mean(values: np.ndarray, count: np.ndarray) -> np.ndarray:
    """(G, K) decimals, 0 where there is none, by group: the doubles nearest to their exact means."""
    places = plain_places(values)
    size = float(np.abs(values).max(initial=0.0)) * values.shape[1]
    if places >= 0 and max(size, values.shape[1]) * 10.0**places < 2.0**53:
        mean: np.ndarray = np.rint(values * 10.0**places).sum(axis=1) / (10.0**places * count)
        return mean
    distinct, where = np.unique(values, return_inverse=True)
    places = places_of(distinct.tolist(), MOST_PLACES)
    whole = np.array(as_whole(distinct.tolist(), places), dtype=object)[where.reshape(values.shape)]
    pairs = zip(whole.sum(axis=1).tolist(), count.tolist(), strict=True)
    return np.array([divided(total, n * 10**places) for total, n in pairs])


def _majority(cells: Cells, values: np.ndarray, gone: np.ndarray) -> Cells:
    votes = ((values[:, :, None] == values[:, None, :]) & ~gone[:, :, None] & ~gone[:, None, :]).sum(axis=2)
    best = votes.argmax(axis=1)
    at = np.arange(len(values))
    winner = values[at, best]
    top = votes[at, best]
    rival = ((votes == top[:, None]) & (values != winner[:, None]) & ~gone).any(axis=1)
    lost = (top == 0) | rival
    return Cells(
        cells.kind, _blank(cells, winner, lost)[None, :], lost[None, :] if lost.any() else None, cells.levels
    )


def _agreed(cells: Cells, values: np.ndarray, gone: np.ndarray, absent: np.ndarray) -> Cells:
    """The cell that all samples of a group share; missing where they differ."""
    first = (~absent).argmax(axis=1)
    at = np.arange(len(values))
    lead = values[at, first]
    lost = ((values != lead[:, None]) & ~absent).any(axis=1) | (gone & ~absent).any(axis=1)
    return Cells(
        cells.kind, _blank(cells, lead, lost)[None, :], lost[None, :] if lost.any() else None, cells.levels
    )


def _blank(cells: Cells, values: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Codes of missing texts are -1 everywhere."""
    return np.where(lost, -1, values) if cells.kind == TEXT else values
