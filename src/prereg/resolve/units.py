"""Units: laid out in panels, assigned to parts, and how they are drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from prereg import draws, split
from prereg.dataclass import dataclass, replace
from prereg.errors import InputError, PreregError, Problem, listed, suggestion
from prereg.expression.cells import TEXT, TRUTH, Cells
from prereg.panels import Layout, Panel, RowTable, SeveralValuesError, lay_out
from prereg.plan import Sample
from prereg.records import Column, as_text, as_written
from prereg.resolve.columns import row_names
from prereg.resolve.reduce import REDUCTIONS, reduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.errors import Place
    from prereg.protocol import Protocol
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path


@dataclass(frozen=True, eq=False)
class Units:
    """Panels, parts and draws."""

    layout: Layout
    degenerate: dict[str, tuple[Panel, ...]]
    parts: tuple[str, ...]
    part_of: tuple[np.ndarray, ...]
    samples: dict[tuple[int, int], Sample]
    whole: bool = True
    """False for a stand-in: problems were noted, and parts and draws are not those of the protocol."""
    parts_known: bool = True


class _StopError(Exception):
    """The units cannot be laid out as written; why was noted."""


def resolve_units(protocol: Protocol, records: Records, columns: Columns, notes: Notes) -> Units:
    """Lay the kept rows out, split the units, and plan the draws.

    Where that cannot be done, why is noted, and a stand-in takes their place for whatever else can be said.
    """
    if columns.lost:
        for section, spec in (("split", protocol.split), ("resampling", protocol.resampling)):
            for key in ("column", "group", "stratify", "cluster"):
                found = getattr(spec, key, None)
                names = (found,) if isinstance(found, str) else tuple(found or ())
                _known(names, section, key, columns, notes)
        return _stand_in(protocol, columns)
    try:
        return _units(protocol, records, columns, notes)
    except _StopError:
        return _stand_in(protocol, columns)


def _stand_in(protocol: Protocol, columns: Columns) -> Units:
    """One unit per kept record, by every arm that is known: enough to read expressions against."""
    rows, data = len(columns.kept), protocol.data
    unknown = ["?"] * rows

    def texts(name: str) -> list[str]:
        cells = columns.cells.get(name)
        if cells is None or cells.kind != TEXT:
            return unknown
        return [cells.levels[i] if i >= 0 else "" for i in cells.data[0][columns.kept].tolist()]

    arms = list(zip(*(texts(name) for name in data.arm), strict=True))
    sets = texts(data.dataset) if data.dataset else [None] * rows
    table = RowTable({}, [])
    panels = []
    begin = 0
    order: list[int] = []
    for dataset in dict.fromkeys(sets):
        here = [i for i in range(rows) if sets[i] == dataset]
        who = sorted({arms[i] for i in here})
        code = {arm: i for i, arm in enumerate(who)}
        here.sort(key=lambda i: code[arms[i]])
        place = np.array([code[arms[i]] * len(here) + at for at, i in enumerate(here)], dtype=np.int64)
        names = tuple(str(i) for i in range(len(here)))
        span = np.arange(begin, begin + len(here))
        panels.append(Panel(dataset, tuple(who), names, 1, span, place, table))
        begin += len(here)
        order += here
    kept = {
        (*p.arms[i], *(() if p.dataset is None else (p.dataset,))): 1
        for p in panels
        for i in range(len(p.arms))
    }
    layout = Layout(
        tuple(panels), columns.kept[np.array(order, dtype=np.int64)], kept, dict.fromkeys(kept, 0)
    )
    for name, cells in columns.cells.items():
        missing = None if cells.missing is None else cells.missing[:, layout.order]
        table.columns[name] = Cells(cells.kind, cells.data[:, layout.order], missing, cells.levels)
    table.names.extend(unknown)
    spec = protocol.split
    parts = tuple(spec.parts or ()) if spec is not None else ()
    part_of = tuple(np.zeros(len(p.units), dtype=np.int64) for p in panels)
    samples = {
        (i, code): Sample(np.arange(len(p.units)), None)
        for i, p in enumerate(panels)
        for code in range(max(len(parts), 1))
    }
    known = spec is None or bool(parts)
    degenerate = {str(name): tuple(panels) for name in protocol.policies.degenerate}  # only their names
    return Units(layout, degenerate, parts, part_of, samples, whole=False, parts_known=known)


def _units(protocol: Protocol, records: Records, columns: Columns, notes: Notes) -> Units:
    data = protocol.data
    try:
        layout = lay_out(
            records,
            columns.kept,
            [columns.cells[name] for name in data.arm],
            columns.cells[data.unit],
            columns.cells[data.dataset] if data.dataset else None,
            columns.text(data.sample) if data.sample else None,
            data.units,
            data.arm,
            data.unit,
            data.dataset or "dataset",
            data.sample or "sample",
        )
    except PreregError as error:
        found = [
            x if x.place else Problem(x.message, notes.places(("data", "units"), key=True))
            for x in error.problems
        ]
        if not isinstance(error, InputError):
            notes.stop_if_broken()
            raise type(error)(*found) from None
        if not columns.unfiltered:  # with a broken `where` it is not known which records are meant
            notes.problems += found
        raise _StopError from None
    _guards(protocol, layout, notes)
    _fill(layout, columns, protocol)
    _certified_is_answered(layout, records, columns, notes)
    if data.samples in REDUCTIONS:
        numbers = [name for name, kind in data.types.items() if kind == "number"]
        layout = reduced(layout, columns, data.samples, numbers)
    told = _Told(notes, records, layout)
    parts, part_of = _parts(protocol, layout, columns, notes, told)
    degenerate = {}
    if protocol.policies.degenerate:
        degenerate = _degenerate(protocol, layout, notes)
    if not notes.problems:
        _no_empty_part(protocol, layout, parts, part_of, notes)
    samples = _samples(protocol, layout, columns, parts, part_of, notes, told)
    return Units(layout, degenerate, parts, part_of, samples)


@dataclass(frozen=True, eq=False)
class _Told:
    """Problems of values per unit, told where the record stands."""

    notes: Notes
    records: Records
    layout: Layout

    def stop(self, error: InputError, path: Path) -> NoReturn:
        """Note these problems; parts and draws are not known."""
        for found in error.problems:
            message, place = found.message, found.place or self.notes.places(path)
            if isinstance(error, SeveralValuesError):
                place = self._place(error.row)
                if error.other is not None:
                    message = message.replace(" elsewhere;", f" at {self._place(error.other)};")
            self.notes.problems.append(Problem(message, place))
        raise _StopError

    def _place(self, row: int) -> Place:
        return self.records.place(int(self.layout.order[row]))


def _guards(protocol: Protocol, layout: Layout, notes: Notes) -> None:
    arms = list(dict.fromkeys(arm[0] for p in layout.panels for arm in p.arms))
    guards = protocol.data.guards or ()
    for i, name in enumerate(guards):
        if name not in arms:
            path: Path = ("data", "guards", i) if len(guards) > 1 else ("data", "guards")
            hint = suggestion(name, arms) or f"; arms: {listed(arms)}"
            notes.problem(path, f"no arm is called `{name}`{hint}")


def _known(names: Sequence[str], section: str, key: str, columns: Columns, notes: Notes) -> tuple[str, ...]:
    """The columns among some names; the others are noted."""
    for i, name in enumerate(names):
        if name not in columns.kinds:
            path: Path = (section, key, i) if len(names) > 1 else (section, key)
            notes.problem(path, columns.unknown(name))
    return tuple(name for name in names if name in columns.cells)


def _fill(layout: Layout, columns: Columns, protocol: Protocol) -> None:
    """The one table of all panels: every column, cut to the kept rows and put into panel order."""
    table = layout.panels[0].table
    for name, cells in columns.cells.items():
        missing = None if cells.missing is None else cells.missing[:, layout.order]
        if missing is not None and not missing.any():
            missing = None
        table.columns[name] = Cells(cells.kind, cells.data[:, layout.order], missing, cells.levels)
    dataset = table.columns[protocol.data.dataset] if protocol.data.dataset else None
    table.names.extend(row_names(table.columns[protocol.data.unit], dataset))


def _certified_is_answered(layout: Layout, records: Records, columns: Columns, notes: Notes) -> None:
    table = layout.panels[0].table
    if not {"answered", "certified"} <= set(table.columns):
        return
    sides = []
    for name in ("answered", "certified"):
        cells = table.columns[name]
        if columns.kinds[name] not in ("truth", "binary"):
            return
        sides.append((cells.data[0] != 0, cells.missing_mask()[0]))
    (answered, unknown), (certified, uncertain) = sides
    wrong = np.flatnonzero(certified & ~uncertain & ~answered & ~unknown)
    if len(wrong):
        notes.problems += records.problem(
            np.sort(layout.order[wrong]), lambda _: "this record is certified but not answered"
        )


def _parts(
    protocol: Protocol, layout: Layout, columns: Columns, notes: Notes, told: _Told
) -> tuple[tuple[str, ...], tuple[np.ndarray, ...]]:
    spec = protocol.split
    if spec is None:
        return (), tuple(np.zeros(len(p.units), dtype=np.int64) for p in layout.panels)
    column, group = (
        _known((name,) if name is not None else (), "split", key, columns, notes)
        for key, name in (("column", spec.column), ("group", spec.group))
    )
    stratify = _known(spec.stratify or (), "split", "stratify", columns, notes)
    if spec.column is not None and not column:
        raise _StopError  # the parts are not known
    path: Path = ("split",)
    per_panel: list[list[str]] = []
    try:
        if spec.column is not None:
            per_panel = [
                p.by_unit(spec.column, _cut(p, columns, spec.column), "the part") for p in layout.panels
            ]
            parts = tuple(sorted({x for found in per_panel for x in found}))
        else:
            shares = [(name, repr(share)) for name, share in (spec.parts or {}).items()]
            parts = tuple(name for name, _ in shares)
            path = ("split", "parts")
            for panel in layout.panels:
                strata = _joined(panel, columns, stratify, "the stratum")
                groups = None
                if group:
                    groups = panel.by_unit(group[0], _cut(panel, columns, group[0]), "the group")
                found = split.assign(
                    panel.units,
                    strata if stratify else None,
                    shares,
                    spec.seed or 0,
                    panel.dataset,
                    groups,
                )
                per_panel.append(found)
    except InputError as error:
        told.stop(error, path)
    if spec.default is not None and spec.default not in parts:
        notes.problem(("split", "default"), no_part(spec.default, parts))
    codes = {name: i for i, name in enumerate(parts)}
    return parts, tuple(np.array([codes[x] for x in found], dtype=np.int64) for found in per_panel)


def _cut(panel: Panel, columns: Columns, name: str) -> Cells:
    """A column as text, in panel order."""
    written = panel.table.columns.get(as_written(name))
    return written if written is not None else as_text(Column(columns.kinds[name], panel.table.columns[name]))


def _joined(panel: Panel, columns: Columns, names: Sequence[str], what: str) -> list[str]:
    """Several columns per unit as one text (joined by NUL, so that no two pairs meet)."""
    found = [panel.by_unit(name, _cut(panel, columns, name), what) for name in names]
    return ["\0".join(values) for values in zip(*found, strict=True)] if found else [""] * len(panel.units)


def no_part(name: object, parts: Sequence[str]) -> str:
    """What to say of a name that is no part."""
    known = f"parts: {listed(parts)}" if parts else "there is no `split`"
    return f"there is no part `{name}`{suggestion(str(name), parts) or '; ' + known}"


def _no_empty_part(
    protocol: Protocol, layout: Layout, parts: tuple[str, ...], part_of: tuple[np.ndarray, ...], notes: Notes
) -> None:
    for panel, codes in zip(layout.panels, part_of, strict=True):
        for i, part in enumerate(parts):
            if not (codes == i).any():
                where = f" in dataset `{panel.dataset}`" if panel.dataset is not None else ""
                key = "column" if protocol.split is not None and protocol.split.column else "parts"
                notes.problem(
                    ("split", key), f"the part `{part}` is empty{where}: {len(panel.units)} units are too few"
                )


def _samples(
    protocol: Protocol,
    layout: Layout,
    columns: Columns,
    parts: tuple[str, ...],
    part_of: tuple[np.ndarray, ...],
    notes: Notes,
    told: _Told,
) -> dict[tuple[int, int], Sample]:
    spec = protocol.resampling
    chosen = set(parts)
    stratify: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    if spec is not None:
        stratify = _known(spec.stratify or (), "resampling", "stratify", columns, notes)
        cluster = _known((spec.cluster,) if spec.cluster else (), "resampling", "cluster", columns, notes)
        for name in spec.parts or ():
            if name not in parts:
                notes.problem(("resampling", "parts"), no_part(name, parts))
        chosen = set(spec.parts or parts)
    samples: dict[tuple[int, int], Sample] = {}
    lonely: dict[str, None] = {}
    for i, panel in enumerate(layout.panels):
        strata: list[str] = []
        clusters: list[str] | None = None
        if spec is not None:
            try:
                strata = _joined(panel, columns, stratify, "the stratum of resampling")
                if cluster:
                    clusters = panel.by_unit(cluster[0], _cut(panel, columns, cluster[0]), "the cluster")
            except InputError as error:
                told.stop(error, ("resampling",))
        for code in range(max(len(parts), 1)):
            units = np.flatnonzero(part_of[i] == code)
            part = parts[code] if parts else None
            plan = None
            if spec is not None and len(units) and (part is None or part in chosen):
                purpose = "resample" if panel.separate is None else "\0".join(("resample", *panel.separate))
                stream = draws.Stream(spec.seed, purpose, panel.dataset, part)
                try:
                    plan = draws.Plan.of(
                        stream,
                        [panel.units[u] for u in units],
                        [strata[u] for u in units],
                        None if clusters is None else [clusters[u] for u in units],
                    )
                except InputError as error:
                    told.stop(error, ("resampling", "cluster"))
                if (plan.sizes == 1).any() and stratify:
                    lonely[part or "the units"] = None
            samples[i, code] = Sample(units, plan)
    if lonely:
        notes.warn(
            ("resampling", "stratify"),
            f"a stratum of one unit never varies ({', '.join(lonely)}): intervals are too narrow there",
        )
    return samples


def _degenerate(protocol: Protocol, layout: Layout, notes: Notes) -> dict[str, tuple[Panel, ...]]:
    """Per degenerate policy one panel per dataset: answers everything, or nothing, and certifies nothing."""
    path: Path = ("policies", "degenerate")
    before = len(notes.problems)
    table = layout.panels[0].table
    if not {"answered", "certified"} & set(table.columns):
        notes.problem(
            path,
            "always and never are about the columns `answered` and `certified`; the records have neither",
        )
    if protocol.data.units == "separate":
        notes.problem(path, "with `units: separate` there is no common set of units for a degenerate policy")
    for name in protocol.policies.degenerate:
        if any(arm[0] == name for p in layout.panels for arm in p.arms):
            notes.problem(path, f"an arm is called `{name}`; the degenerate policy needs the name for itself")
    if len(notes.problems) > before:
        return {}
    return degenerate_panels(layout.panels, protocol.policies.degenerate)


def degenerate_panels(panels: Sequence[Panel], names: Sequence[str]) -> dict[str, tuple[Panel, ...]]:
    """By name, a panel per panel: of a policy that answers everything (`always`) or nothing (`never`).

    It certifies nothing.
    """
    if not names:
        return {}
    common = [_common(panel) for panel in panels]
    return {name: tuple(_instead(panel, name) for panel in common) for name in names}


def _instead(common: Panel, name: str) -> Panel:
    columns = dict(common.table.columns)
    for column, value in (("answered", name == "always"), ("certified", False)):
        if column in columns:
            columns[column] = Cells(TRUTH, np.full((1, len(common.place)), value))
    return replace(common, table=RowTable(columns, common.table.names), degenerate=name)


def _common(panel: Panel) -> Panel:
    """What all arms of a panel say of each unit and sample, as one arm without a name."""
    arms, units, samples = panel.shape
    index = np.full(arms * units * samples, -1, dtype=np.int64)
    index[panel.place] = panel.rows
    index = index.reshape(panel.shape)
    present = index >= 0
    # the first arm that has the row stands for it; a column is kept only where all of them say the same
    source = np.where(present.any(axis=0), index[present.argmax(axis=0), *np.ogrid[:units, :samples]], -1)
    place = np.flatnonzero(source.reshape(-1) >= 0)
    rows = source.reshape(-1)[place]
    first = np.array([unit_rows[unit_rows >= 0][0] for unit_rows in source])
    base = np.broadcast_to(first[None, :, None], panel.shape)[present]
    every = index[present]
    table = RowTable({}, [panel.table.names[r] for r in rows])
    size = len(rows)
    for column, cells in panel.table.columns.items():
        gone = cells.missing_mask()[0]
        data = cells.data[0]
        same = np.where(gone[every], gone[base], ~gone[base] & (data[every] == data[base]))
        if same.all():
            missing = gone[rows][None, :]
            table.columns[column] = Cells(
                cells.kind, data[rows][None, :], missing if missing.any() else None, cells.levels
            )
        else:
            table.columns[column] = Cells(
                cells.kind, data[rows][None, :], np.ones((1, size), dtype=bool), cells.levels
            )
    return Panel(panel.dataset, ((),), panel.units, samples, np.arange(size), place, table)
