"""The metrics of a plan, made ready: row expressions evaluated once, one kernel per panel and part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.decimals import plain_places
from prereg.expression.cells import TEXT, TRUTH, Cells
from prereg.kernels.categories import Categories
from prereg.metrics import Kernel, Rows
from prereg.panels import ActionTable
from prereg.records import Column, as_text
from prereg.reselect import Reselected
from prereg.thresholds import Controlled

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg.metrics import Kind
    from prereg.panels import Panel
    from prereg.plan import MetricPlan, Plan, Repeat


@dataclass(frozen=True, eq=False)
class Piece:
    """One metric on one panel and part: its kernel, and what is counted at the point."""

    kernel: Kernel
    panel: int
    part: int
    units: np.ndarray
    """(P,): units with a row in `among`."""
    rows: np.ndarray
    """(P,): rows in `among`."""
    unit_hits: np.ndarray | None = None
    """(P, U): rows of each unit that satisfy a rate; for exact tests."""
    unit_rows: np.ndarray | None = None
    """(P, U): rows of each unit in `among`."""
    category: np.ndarray | None = None
    """(P, U), with `per`: 1 where the unit has a row of the policy's category, in `among` or not."""
    reselected: Reselected | None = None
    """In place of the kernel, where thresholds are chosen anew in every resample."""


Name = tuple[str, str | None]


@dataclass
class Prepared:
    """All kernels of a plan, ready for weights."""

    plan: Plan
    pieces: dict[Name, list[Piece]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> Prepared:
        """Evaluate the row expressions once and prepare every kernel."""
        out = cls(plan)
        for name, metric in plan.metrics.items():
            if metric.kind is None:
                continue
            caches: list[dict[str, Cells]] = [{} for _ in metric.repeats]
            out.pieces[name, None] = [
                _piece(plan, metric, repeat, panel, i, cache)
                for i, panel in enumerate(plan.layout.panels)
                for repeat, cache in zip(metric.repeats, caches, strict=True)
            ]
            for which in metric.degenerate:
                panels = plan.degenerate[which]
                out.pieces[name, which] = [
                    _piece(plan, metric, repeat, panel, i, {})
                    for i, panel in enumerate(panels)
                    for repeat in metric.repeats
                ]
        return out

    def policies(self) -> int:
        """Values per resample, over all metrics: what a block's memory is made of."""
        return sum(len(m.axes) for m in self.plan.metrics.values())


def degenerate_piece(plan: Plan, metric: MetricPlan, repeat: Repeat, panel: Panel, index: int) -> Piece:
    """One metric on the panel of a degenerate policy that the protocol itself need not have."""
    return _piece(plan, metric, repeat, panel, index, {})


def _evaluated(cache: dict[str, Cells], key: str, evaluate: Callable[[], Cells]) -> Cells:
    if key not in cache:
        cache[key] = evaluate()
    return cache[key]


def _piece(
    plan: Plan, metric: MetricPlan, repeat: Repeat, panel: Panel, index: int, cache: dict[str, Cells]
) -> Piece:
    kind = metric.kind
    if kind is None:
        raise AssertionError(metric.name)
    if metric.all_samples and panel.full is not None:
        panel = panel.full
    part = plan.parts.index(metric.part) if metric.part is not None else 0
    units = plan.samples[index, part].units
    take = slice(None) if metric.all_samples else slice(0, 1)

    def cut(dense: np.ndarray) -> np.ndarray:
        return dense[:, :, units, take]

    present = cut(panel.present())
    inside, missing = present, np.zeros_like(present)
    among = repeat.among
    if among is not None:
        cells = _evaluated(cache, "among", lambda: among.evaluate(panel.table))
        inside = present & cut(panel.dense(cells.data))
        if cells.missing is not None:
            missing = present & cut(panel.dense(cells.missing))
            inside = inside & ~missing
    arguments: dict[str, np.ndarray] = {}
    decimals: dict[str, int] = {}
    levels: dict[str, tuple[int, ...]] = {}
    codes = _codes(kind, repeat, panel, cache)
    for name, rows in repeat.arguments.items():
        parameter = kind.parameter(name.partition(".")[0])
        if parameter is None:
            raise AssertionError(name)
        cells = _evaluated(cache, name, lambda r=rows: r.evaluate(panel.table))  # type: ignore[misc]
        if parameter.kind in ("column", "columns"):
            cells = codes[name]
            levels[parameter.name] = (*levels.get(parameter.name, ()), *_used(cells, panel))
        values = cut(panel.dense(cells.data)).astype(np.float64)
        if cells.missing is not None:
            gone = cut(panel.dense(np.broadcast_to(cells.missing, cells.data.shape)))
            if parameter.missing_last:
                values = np.where(gone, np.nan, values)
            else:
                missing = missing | (inside & gone)
        arguments[name] = values
        if parameter.kind == "number":
            decimals[name] = plain_places(values[np.isfinite(values)])
    if metric.by_policy and panel.degenerate is None:
        size = len(plan.settings)
        inside = np.broadcast_to(inside, (size, *inside.shape[1:]))
        missing = np.broadcast_to(missing, (size, *missing.shape[1:]))
    category = None
    if metric.per is not None:
        inside, missing, arguments, category = _by_category(
            plan, metric, panel, cut, inside, missing, arguments
        )
    shape = np.broadcast_shapes(inside.shape, missing.shape)
    inside = np.broadcast_to(inside, shape)
    missing = np.broadcast_to(missing, shape)
    kernel = kind.prepare(Rows(inside, missing, arguments, decimals, levels), repeat.options)
    counted = inside | missing
    flat = counted.reshape(shape[0] * shape[1], shape[2], shape[3])
    if isinstance(kernel, Categories):
        flat = flat & ~kernel.dropped
    hits = None
    if kind.name == "rate":
        truth = np.broadcast_to(arguments["rate"] != 0, shape) & inside & ~missing
        hits = truth.reshape(flat.shape).sum(axis=2)
    return Piece(
        kernel,
        index,
        part,
        flat.any(axis=2).sum(axis=1),
        flat.sum(axis=(1, 2)),
        hits,
        flat.sum(axis=2) if hits is not None else None,
        category,
        _reselected(plan, metric, repeat, panel, index, units),
    )


def _codes(kind: Kind, repeat: Repeat, panel: Panel, cache: dict[str, Cells]) -> dict[str, Cells]:
    """The column arguments as codes into sorted labels, which columns of one parameter share."""
    names = [n for n in repeat.arguments if (p := kind.parameter(n.partition(".")[0])) and "column" in p.kind]
    out: dict[str, Cells] = {}
    texts: dict[str, Cells] = {}
    for name in names:
        cells = _evaluated(cache, name, lambda n=name: repeat.arguments[n].evaluate(panel.table))  # type: ignore[misc]
        texts[name] = cells if cells.kind == TEXT else as_text(Column(cells.kind, cells))
    for name, cells in texts.items():
        shared = {
            v for n, c in texts.items() if n.partition(".")[0] == name.partition(".")[0] for v in c.levels
        }
        place = {label: i for i, label in enumerate(sorted(shared))}
        recode = np.array([place[label] for label in cells.levels] + [-1], dtype=np.int64)
        out[name] = Cells(TEXT, recode[cells.data], cells.missing)
    return out


def _used(cells: Cells, panel: Panel) -> tuple[int, ...]:
    """The codes that occur on a panel, on any part and by any arm."""
    codes = np.unique(np.broadcast_to(cells.data, (len(cells.data), len(panel.table.names)))[:, panel.rows])
    return tuple(int(code) for code in codes if code >= 0)


def _reselected(
    plan: Plan, metric: MetricPlan, repeat: Repeat, panel: Panel, index: int, units: np.ndarray
) -> Reselected | None:
    """The metric as a function of the thresholds, where these are chosen in every resample."""
    chosen = plan.thresholds
    if chosen is None or not chosen.reselect or not metric.by_policy or metric.kind is None:
        return None
    table = panel.table
    size = len(table.names)
    inside, counted, unknown = [], [], []
    for action in (0.0, 1.0):
        view = ActionTable(table, action)
        among = (
            Cells(TRUTH, np.ones((1, size), dtype=bool))
            if repeat.among is None
            else repeat.among.evaluate(view)
        )
        gone = np.broadcast_to(among.missing_mask(), (1, size))[0]
        member = np.broadcast_to(among.data, (1, size))[0] & ~gone
        truth = repeat.arguments[metric.kind.name].evaluate(view)
        lost = np.broadcast_to(truth.missing_mask(), (1, size))[0]
        unknown.append(gone | (member & lost))
        inside.append(member & ~lost)
        counted.append(member & ~lost & np.broadcast_to(truth.data, (1, size))[0])
    place = np.full(len(panel.units), -1, dtype=np.int64)
    place[units] = np.arange(len(units))
    unit = place[panel.unit_of_rows()]
    who = panel.place // (len(panel.units) * panel.samples)
    first = panel.place % panel.samples == 0
    score = chosen.signed()
    arms, missing = [], []
    for a in range(len(panel.arms)):
        mine = (who == a) & (unit >= 0) & (first | metric.all_samples)
        rows = panel.rows[mine]
        missing.append((unknown[0][rows], unknown[1][rows]))
        arms.append(
            Controlled(
                score[rows],
                unit[mine],
                len(units),
                (inside[0][rows], inside[1][rows]),
                (counted[0][rows], counted[1][rows]),
            )
        )
    return Reselected(metric.kind.name, arms, missing, [arm.possible() for arm in chosen.arms[index]])


def _by_category(
    plan: Plan,
    metric: MetricPlan,
    panel: Panel,
    cut: Callable[[np.ndarray], np.ndarray],
    inside: np.ndarray,
    missing: np.ndarray,
    arguments: dict[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Every setting once per category, the category as the fast axis; and which units have rows of each.

    A row inside `among` that lacks its category may belong to any of them: it makes all of them `missing`.
    """
    name = metric.per
    if name is None:
        raise AssertionError(metric.name)
    cells = panel.table.columns[name]
    if cells.kind != TEXT:
        cells = as_text(Column(plan.kinds[name], cells))
    place = {level: i for i, level in enumerate(metric.categories)}
    recode = np.array([place.get(level, -1) for level in cells.levels] + [-1], dtype=np.int64)
    unknown = cells.missing_mask()
    codes = cut(panel.dense(np.where(unknown, -1, recode[cells.data])))
    member = codes[:, None] == np.arange(len(metric.categories))[None, :, None, None, None]
    lost = (inside | missing) & cut(panel.dense(unknown))

    def flat(x: np.ndarray) -> np.ndarray:
        parts: np.ndarray = x.reshape((-1, *x.shape[2:]))
        return parts

    settings = inside.shape[0]
    here = (member & cut(panel.present())[:, None]).any(axis=4)
    category = np.broadcast_to(here, (settings, *here.shape[1:])).reshape((-1, here.shape[3]))
    spread = {
        key: np.repeat(x, len(metric.categories), axis=0) if x.shape[0] == settings and settings > 1 else x
        for key, x in arguments.items()
    }
    missing = (missing[:, None] & member) | lost[:, None]
    return flat(inside[:, None] & member), flat(missing), spread, category.astype(np.float64)
