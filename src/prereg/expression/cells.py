"""The cells of a column, and what is done to them: kinds read as one another, three-valued truth, texts.

A column of N rows is a `Cells` of shape (S, N): S settings of the policies (gates, thresholds), S = 1 where
nothing depends on them.  Truth is three-valued (Kleene): what is missing stays missing unless the rest
decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

TRUTH, NUMBER, BINARY, TEXT, BROKEN = "truth", "number", "binary", "text", "broken"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column or expression.

    `data` is bool (truth), float64 (number) or int codes into `levels` (text), shape (S, N).
    `missing` marks what is undefined, or is None where every cell is defined; `data` there means nothing.
    """

    kind: str
    data: np.ndarray
    missing: np.ndarray | None = None
    levels: tuple[str, ...] = ()

    def missing_mask(self) -> np.ndarray:
        """The mask of undefined cells, shape of `data`."""
        return np.zeros(self.data.shape, dtype=bool) if self.missing is None else self.missing


def truth_of(cells: Cells) -> Cells:
    """A 0/1 column read as truth values."""
    if cells.kind == TRUTH:
        return cells
    return Cells(TRUTH, cells.data != 0, cells.missing)


def number_of(cells: Cells) -> Cells:
    """A truth column read as 1 and 0."""
    if cells.kind == TRUTH:
        return Cells(NUMBER, cells.data.astype(np.float64), cells.missing)
    return cells


def broken(_: object) -> Cells:
    """How a piece with a problem would be computed."""
    raise AssertionError("a broken expression is never evaluated")


def either(*masks: np.ndarray | None) -> np.ndarray | None:
    """The cells that one of the masks marks; None where none does."""
    out = None
    for mask in masks:
        if mask is not None:
            out = mask if out is None else out | mask
    return out


def mapped(cells: Cells, function: Callable[[np.ndarray], np.ndarray]) -> Cells:
    """A function of every cell, of the same kind."""
    return Cells(cells.kind, function(cells.data), cells.missing)


def finite(data: np.ndarray, missing: np.ndarray | None) -> Cells:
    """Numbers, undefined where wild: division by zero, a logarithm of nothing, an overflow."""
    wild = ~np.isfinite(data)
    if wild.any():
        missing = wild if missing is None else np.broadcast_to(missing, wild.shape) | wild
        data = np.where(wild, 0.0, data)
    return Cells(NUMBER, data, missing)


def kleene(op: str, parts: list[Cells]) -> Cells:
    """`and` is false as soon as one part is false, `or` true as soon as one is true, missing or not."""
    if all(x.missing is None for x in parts):
        data = parts[0].data
        for other in parts[1:]:
            data = data & other.data if op == "and" else data | other.data
        return Cells(TRUTH, data)
    decided: np.ndarray | None = None
    unknown: np.ndarray | None = None
    for x in parts:
        value = ~x.data if op == "and" else x.data
        mask = x.missing_mask()
        sure = value & ~mask
        decided = sure if decided is None else decided | sure
        unknown = mask if unknown is None else unknown | mask
    if decided is None or unknown is None:
        raise AssertionError("a junction has parts")
    missing = unknown & ~decided
    return Cells(TRUTH, ~decided if op == "and" else decided, missing)


def same_text(op: str, x: Cells, y: Cells) -> Cells:
    """Whether two texts are equal (`==`) or not (`!=`)."""
    levels = {level: i for i, level in enumerate(dict.fromkeys((*x.levels, *y.levels)))}
    a = np.array([levels[v] for v in x.levels] + [-1], dtype=np.int64)[x.data]
    b = np.array([levels[v] for v in y.levels] + [-1], dtype=np.int64)[y.data]
    same = a == b
    return Cells(TRUTH, same if op == "==" else ~same, either(x.missing, y.missing))


def shared(many: list[Cells]) -> list[Cells]:
    """Text cells recoded into the sorted levels of all of them."""
    levels = tuple(sorted({level for cells in many for level in cells.levels}))
    place = {level: i for i, level in enumerate(levels)}
    return [
        recoded(cells, np.array([place[level] for level in cells.levels], dtype=np.int64), levels)
        for cells in many
    ]


def instead(x: Cells, y: Cells) -> Cells:
    """x, and y where x is missing."""
    gone = x.missing_mask()
    data = np.where(gone, y.data, x.data)
    missing = gone & y.missing_mask()
    return Cells(x.kind, data, missing if missing.any() else None, x.levels)


def per_level(cells: Cells, function: Callable[[str], object], kind: type) -> Cells:
    """A truth value or number of every text; a text is looked at once, however many rows carry it."""
    table: np.ndarray = np.array([function(x) for x in cells.levels] + [kind(0)], dtype=kind)
    return Cells(TRUTH if kind is bool else NUMBER, table[cells.data], cells.missing)


def recoded(cells: Cells, codes: np.ndarray, levels: tuple[str, ...]) -> Cells:
    """Text cells with other levels; `codes` gives the new code of every old one."""
    return Cells(TEXT, np.append(codes, -1)[cells.data], cells.missing, levels)
