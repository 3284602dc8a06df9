"""Rows laid out as arms x units x samples, one panel per dataset, with the part and stratum of every unit.

A panel is what metrics and resampling see.  With `units: separate` every arm has a panel of its own.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.errors import InputError, MissingError, Problem
from prereg.expression.cells import NUMBER, TEXT, Cells
from prereg.numerals import shown
from prereg.values import as_decimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.records import Records

Key = tuple[str, ...]


@dataclass(eq=False)
class RowTable:
    """The kept rows in panel order, as row expressions see them."""

    columns: dict[str, Cells]
    names: list[str]
    """Per row the name of its unit within its dataset: what seeded draws of rows are keyed by."""
    extra: dict[str, Cells] = field(default_factory=dict)
    """Columns that the policies change (`answered`, `certified`, `action`), shape (S, N)."""

    def column(self, name: str) -> Cells:
        """The cells of a column, as the policies left them."""
        return self.extra.get(name) or self.columns[name]

    def words(self, purpose: str, seed: int, by: tuple[str, ...]) -> np.ndarray:
        """A seeded 64-bit word per row: equal for rows of one unit (and one value of the `by` columns)."""
        tags = [""] * len(self.names)
        for name in by:
            cells = self.column(name)
            levels = cells.levels if cells.kind == TEXT else None
            data = np.broadcast_to(cells.data, (1, len(tags)))[0]
            tags = [
                f"{tag}\0{levels[v] if levels else v}" for tag, v in zip(tags, data.tolist(), strict=True)
            ]
        known: dict[str, int] = {}
        out = np.empty(len(self.names), dtype=np.uint64)
        for i, (name, tag) in enumerate(zip(self.names, tags, strict=True)):
            whole = f"{seed}\0{purpose}\0{name}{tag}"
            word = known.get(whole)
            if word is None:
                word = known[whole] = int.from_bytes(hashlib.sha256(whole.encode()).digest()[:8], "little")
            out[i] = word
        return out

    def partition(self, groups: int, seed: int) -> np.ndarray:
        """A seeded group number per row: the units of a dataset in key order, cut into equal runs."""
        members: dict[str, list[str]] = {}
        for name in dict.fromkeys(self.names):
            members.setdefault(name.rpartition("\0")[0], []).append(name)
        group: dict[str, float] = {}
        for names in members.values():
            names.sort(
                key=lambda name: (hashlib.sha256(f"{seed}\0partition\0{name}".encode()).digest(), name)
            )
            group.update((name, float(rank * groups // len(names))) for rank, name in enumerate(names))
        return np.array([group[name] for name in self.names])


class ActionTable:
    """A table in which every row gets one action: how a row counts under each of the two."""

    def __init__(self, table: RowTable, action: float) -> None:
        self._table = table
        self._action = Cells(NUMBER, np.full((1, len(table.names)), action))

    def column(self, name: str) -> Cells:
        """The cells of a column; the action is the fixed one."""
        return self._action if name == "action" else self._table.column(name)

    def words(self, purpose: str, seed: int, by: tuple[str, ...]) -> np.ndarray:
        """See RowTable."""
        return self._table.words(purpose, seed, by)

    def partition(self, groups: int, seed: int) -> np.ndarray:
        """See RowTable."""
        return self._table.partition(groups, seed)


class SeveralValuesError(InputError):
    """A unit with two values of a column that says one thing per unit, or with none."""

    def __init__(self, message: str, row: int, other: int | None = None) -> None:
        super().__init__(message)
        self.row = row
        """The row of the table it is told of."""
        self.other = other
        """A row of the same unit with another value."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One dataset (or, with separate units, one arm of one): A arms x U units x K samples."""

    dataset: str | None
    arms: tuple[Key, ...]
    units: tuple[str, ...]
    samples: int
    rows: np.ndarray
    """(n,): rows of the table that belong here."""
    place: np.ndarray
    """(n,): where each of them goes in A * U * K."""
    table: RowTable
    degenerate: str | None = None
    separate: Key | None = None
    """The arm whose own units these are."""
    full: Panel | None = None
    """With reduced samples: the same units with every sample."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(A, U, K)."""
        return len(self.arms), len(self.units), self.samples

    @cached_property
    def _span(self) -> slice | np.ndarray:
        """The rows as a slice where they stand side by side: nothing is copied then."""
        begin, count = int(self.rows[0]) if len(self.rows) else 0, len(self.rows)
        beside = bool((self.rows == np.arange(begin, begin + count)).all())
        return slice(begin, begin + count) if beside else self.rows

    @cached_property
    def _full(self) -> bool:
        """Every cell has its row, and in order."""
        return np.array_equal(self.place, np.arange(int(np.prod(self.shape))))

    def present(self) -> np.ndarray:
        """(1, A, U, K): where there is a row."""
        out = np.zeros(int(np.prod(self.shape)), dtype=bool)
        out[self.place] = True
        return out.reshape((1, *self.shape))

    def dense(self, data: np.ndarray) -> np.ndarray:
        """Values of the table's rows, (S, N) or (S, 1), laid out as (S, A, U, K); absent rows are 0."""
        size = int(np.prod(self.shape))
        settings = data.shape[0]
        if data.shape[1] == 1:
            picked = np.broadcast_to(data, (settings, len(self.rows)))
        else:
            picked = data[:, self._span]
        if self._full:
            return np.ascontiguousarray(picked).reshape((settings, *self.shape))
        out = np.zeros((settings, size), dtype=data.dtype)
        out[:, self.place] = picked
        return out.reshape((settings, *self.shape))

    def unit_of_rows(self) -> np.ndarray:
        """(n,): index of the unit of each row."""
        unit: np.ndarray = (self.place // self.samples) % len(self.units)
        return unit

    def by_unit(self, name: str, cells: Cells, what: str) -> list[str]:
        """The text of a column per unit.

        Raises:
            InputError: where a unit has two values, or none.

        """
        codes = np.broadcast_to(cells.data, (1, cells.data.shape[1]))[0][self.rows]
        unit = self.unit_of_rows()
        first = np.full(len(self.units), -2, dtype=np.int64)
        first[unit[::-1]] = codes[::-1]
        differs = np.flatnonzero(first[unit] != codes)
        if len(differs):
            at = int(differs[0])
            name_of = shown(self.units[int(unit[at])])
            before = int(np.flatnonzero(unit == unit[at])[0])
            raise SeveralValuesError(
                f"column {name}: unit {name_of} has {_level(cells, int(codes[at]))} here and "
                f"{_level(cells, int(codes[before]))} elsewhere; {what} is one per unit",
                int(self.rows[at]),
                int(self.rows[before]),
            )
        if (first < 0).any():
            lost = int(np.flatnonzero(codes < 0)[0])
            name_of = shown(self.units[int(unit[lost])])
            raise SeveralValuesError(
                f"column {name}: unit {name_of} has no value; {what} is one per unit", int(self.rows[lost])
            )
        return [cells.levels[code] for code in first.tolist()]


def _level(cells: Cells, code: int) -> str:
    return shown(cells.levels[code]) if code >= 0 else "an empty cell"


@dataclass(frozen=True, eq=False)
class Layout:
    """All panels, and what was left out on the way: per arm and dataset, units seen and units dropped."""

    panels: tuple[Panel, ...]
    order: np.ndarray
    """Rows of the records that were kept, in panel order."""
    seen: dict[Key, int]
    dropped: dict[Key, int]


def lay_out(
    records: Records,
    kept: np.ndarray,
    arms: Sequence[Cells],
    unit: Cells,
    dataset: Cells | None,
    sample: Cells | None,
    units: str,
    arm_names: Sequence[str],
    unit_name: str,
    dataset_name: str = "dataset",
    sample_name: str = "sample",
) -> Layout:
    """Sort the kept rows into panels.

    Args:
        records: all rows, for the places of errors.
        kept: the rows that `where` kept.
        arms: text columns that say who answered.
        unit: the text column of units.
        dataset: the text column of datasets, if any.
        sample: the text column of samples, if any; ordered as decimals where all are numbers.
        units: `common`, `all` or `separate`.
        arm_names: names of the arm columns.
        unit_name: name of the unit column.
        dataset_name: name of the dataset column.
        sample_name: name of the sample column.

    """
    names = [*((name, "arm", cells) for name, cells in zip(arm_names, arms, strict=True))]
    names.append((unit_name, "unit", unit))
    names += [
        (name, role, x)
        for name, role, x in ((dataset_name, "dataset", dataset), (sample_name, "sample", sample))
        if x is not None
    ]
    _complete(records, kept, names)
    arm_codes, arm_keys = _joint([c.data[0][kept] for c in arms], [c.levels for c in arms])
    unit_codes = unit.data[0][kept]
    set_codes = dataset.data[0][kept] if dataset is not None else np.zeros(len(kept), dtype=np.int64)
    sample_codes, samples = _ranked(sample, kept)
    order = np.lexsort((sample_codes, unit_codes, arm_codes, set_codes))
    a, u, d, k = arm_codes[order], unit_codes[order], set_codes[order], sample_codes[order]
    same = (a[1:] == a[:-1]) & (u[1:] == u[:-1]) & (d[1:] == d[:-1])
    twice = np.flatnonzero(same & (k[1:] == k[:-1]))
    if len(twice):
        rows = np.sort(kept[order[twice + 1]])
        first = {int(kept[order[i + 1]]): int(kept[order[i]]) for i in twice}
        text = unit.levels
        raise InputError(
            *records.problem(
                rows,
                lambda r: (
                    f"a second record of unit `{text[unit.data[0][r]]}` by the same arm"
                    f"{'' if sample is None else ' with the same sample'}; "
                    f"the first is at {records.place(first[r])}"
                    f"{'; name the column of repeated answers with `sample`' if sample is None else ''}"
                ),
            )
        )
    keep = np.ones(len(order), dtype=bool)
    seen: dict[Key, int] = {}
    dropped: dict[Key, int] = {}
    bounds = np.flatnonzero(np.concatenate(([True], d[1:] != d[:-1], [True])))
    for begin, end in pairwise(bounds):
        span = slice(begin, end)
        name = () if dataset is None else (dataset.levels[d[begin]],)
        if units == "common":
            keep[span] = _common(a[span], u[span], k[span])
        stays = keep[span]
        before = _units_per_arm(a[span], u[span], len(arm_keys))
        after = _units_per_arm(a[span][stays], u[span][stays], len(arm_keys))
        for arm in np.flatnonzero(before).tolist():
            seen[(*arm_keys[arm], *name)] = int(before[arm])
            dropped[(*arm_keys[arm], *name)] = int(before[arm] - after[arm])
        if not keep[span].any():
            where = f" in dataset `{name[0]}`" if name else ""
            raise MissingError(_none_common(where, arm_keys, a[span], u[span], k[span], samples))
    order = order[keep]
    a, u, d, k = (x[keep] for x in (a, u, d, k))
    panels: list[Panel] = []
    table = RowTable({}, [])
    groups = np.stack([d, a]) if units == "separate" else d[None, :]
    edges = np.flatnonzero(np.concatenate(([True], (groups[:, 1:] != groups[:, :-1]).any(axis=0), [True])))
    for begin, end in pairwise(edges):
        span = slice(begin, end)
        who, which = np.unique(a[span], return_inverse=True)
        what, at = np.unique(u[span], return_inverse=True)
        run = _ranks((a[span][1:] == a[span][:-1]) & (u[span][1:] == u[span][:-1]))
        most = int(run.max()) + 1
        place = (which * len(what) + at) * most + run
        panels.append(
            Panel(
                None if dataset is None else dataset.levels[d[begin]],
                tuple(arm_keys[i] for i in who),
                tuple(unit.levels[i] for i in what),
                most,
                np.arange(begin, end),
                place,
                table,
                separate=arm_keys[a[begin]] if units == "separate" else None,
            )
        )
    return Layout(tuple(panels), kept[order], seen, dropped)


def _none_common(
    where: str, names: list[Key], a: np.ndarray, u: np.ndarray, k: np.ndarray, samples: Sequence[str]
) -> str:
    """Why no unit is common: what each arm has."""
    said = [
        f"{shown(' '.join(names[arm]))} has {len(np.unique(u[a == arm]))} units" for arm in np.unique(a)[:3]
    ]
    if len(samples) > 1:
        used = [shown(samples[i]) for i in np.unique(k)[:6]]
        said.append(f"the samples are {', '.join(used)}{' …' if len(np.unique(k)) > 6 else ''}")
    return (
        f"no unit has a record from every arm for every sample{where} ({', '.join(said)}); "
        "write `units: all`, or `units: separate` where the arms have units of their own"
    )


def _ranks(again: np.ndarray) -> np.ndarray:
    """Position of each row within its run, where `again` says that a row continues the run before it."""
    start = np.concatenate(([True], ~again))
    index = np.arange(len(start))
    ranks: np.ndarray = index - np.maximum.accumulate(np.where(start, index, 0))
    return ranks


def _common(a: np.ndarray, u: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Rows of the units that have a row from every arm for every sample of this dataset."""
    wanted = np.count_nonzero(np.bincount(a)) * np.count_nonzero(np.bincount(k))
    full: np.ndarray = (np.bincount(u) == wanted)[u]
    return full


def _units_per_arm(a: np.ndarray, u: np.ndarray, arms: int) -> np.ndarray:
    """(arms,): units of each arm, of rows that stand by arm and unit."""
    fresh = np.ones(len(a), dtype=bool)
    fresh[1:] = (a[1:] != a[:-1]) | (u[1:] != u[:-1])
    return np.bincount(a[fresh], minlength=arms)


def _joint(codes: list[np.ndarray], levels: list[tuple[str, ...]]) -> tuple[np.ndarray, list[Key]]:
    """Several text columns as one: codes into the sorted keys that occur."""
    if len(codes) == 1:
        used, inverse = np.unique(codes[0], return_inverse=True)
        return inverse, [(levels[0][i],) for i in used]
    stacked = np.stack(codes, axis=1)
    used, inverse = np.unique(stacked, axis=0, return_inverse=True)
    return inverse.reshape(-1), [
        tuple(level[i] for level, i in zip(levels, row, strict=True)) for row in used
    ]


def _ranked(sample: Cells | None, kept: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    if sample is None:
        return np.zeros(len(kept), dtype=np.int64), ("",)
    numbers = [as_decimal(level) for level in sample.levels]
    if all(x is not None for x in numbers):
        ordered = sorted(range(len(numbers)), key=lambda i: (numbers[i], sample.levels[i]))
    else:
        ordered = sorted(range(len(numbers)), key=lambda i: sample.levels[i])
    rank = np.empty(len(ordered) + 1, dtype=np.int64)
    rank[ordered] = np.arange(len(ordered))
    rank[-1] = -1
    return rank[sample.data[0][kept]], tuple(sample.levels[i] for i in ordered)


def _complete(records: Records, kept: np.ndarray, columns: Sequence[tuple[str, str, Cells]]) -> None:
    problems: list[Problem] = []
    for name, role, cells in columns:
        if cells.missing is None:
            continue
        rows = kept[cells.missing[0][kept]]
        told = f"column {name}: the cell is empty; every record names its {role}"
        problems += records.problem(rows, lambda _: told)  # noqa: B023 - called at once
    if problems:
        raise InputError(*problems)
