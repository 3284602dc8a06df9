"""A plan -> estimates: every metric and every leg of every claim, for the point and all resamples alike.

Row 0 of the weights is the observed sample, so that one code path computes both.  Rows come in blocks;
a row depends on nothing outside it, so blocks and workers change no byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from prereg.expression.claims import Claim, LegValues
from prereg.expression.rows import TEXT, TRUTH, Cells
from prereg.expression.terms import Facts, Result
from prereg.kernels.categories import Categories
from prereg.metrics import Estimates, Kernel, Rows
from prereg.panels import ActionTable
from prereg.parallel import map_blocks
from prereg.ranks import Ranked
from prereg.records import Column, as_text
from prereg.reselect import Reselected
from prereg.thresholds import Controlled
from prereg.values import CODE, rounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg.metrics import Kind
    from prereg.panels import Panel
    from prereg.plan import MetricPlan, Plan, Repeat

_BLOCK_CELLS = 2_000_000
_MOST_ROWS = 512
_FROM_INPUTS = tuple(
    CODE[r]
    for r in (
        "missing",
        "vacuous",
        "single_class",
        "empty_category",
        "not_deployed",
        "no_partner",
        "excluded",
    )
)


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


@dataclass(frozen=True, eq=False)
class Detail:
    """A metric at the point, per policy: what policies.csv prints."""

    values: np.ndarray
    reasons: np.ndarray
    rows: np.ndarray | None = None
    numerator: np.ndarray | None = None
    denominator: np.ndarray | None = None


Name = tuple[str, str | None]


def _decimals(x: np.ndarray) -> int:
    """The least number of decimals (0..9) that writes every value; -1 where more are needed."""
    for k in range(10):
        scale = 10.0**k
        with np.errstate(over="ignore", invalid="ignore"):
            if (np.round(x * scale) / scale == x).all():
                return k
    return -1


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
            decimals[name] = _decimals(values[np.isfinite(values)])
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


@dataclass
class Block:
    """One block of rows: a frame for expressions, with every metric computed at most once."""

    prepared: Prepared
    begin: int
    rows: int
    first: bool = field(init=False)
    details: dict[Name, Detail] = field(default_factory=dict)
    _results: dict[Name, Result] = field(default_factory=dict)
    _weights: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    _taus: dict[int, np.ndarray] = field(default_factory=dict)
    _ranked: dict[Name, Ranked] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.first = self.begin == 0

    def weights(self, panel: int, part: int) -> np.ndarray:
        """(rows, U): how often each unit of a panel's part is drawn."""
        known = self._weights.get((panel, part))
        if known is None:
            sample = self.prepared.plan.samples[panel, part]
            if sample.draws is None:
                known = np.ones((self.rows, len(sample.units)))
            else:
                known = sample.draws.rows(self.begin, self.rows)
            self._weights[panel, part] = known
        return known

    def metric(self, name: str, degenerate: str | None) -> Result:
        """All values of a metric in this block."""
        known = self._results.get((name, degenerate))
        if known is None:
            metric = self.prepared.plan.metrics[name]
            if metric.attribute:
                compute = self._attribute
            else:
                compute = self._value if metric.kind is None else self._kernel
            known = self._results[name, degenerate] = compute(metric, degenerate)
        return known

    def ranked(self, data: np.ndarray) -> Ranked | np.ndarray:
        """The values of a metric with their ranks, kept for the next correlation; anything else as it is."""
        for name, result in self._results.items():
            if result.data is data:
                if name not in self._ranked:
                    self._ranked[name] = Ranked(data)
                return self._ranked[name]
        return data

    def thresholds(self, panel: int) -> np.ndarray:
        """(rows or 1, S, A): the signed thresholds of a panel, NaN where nothing is deployed."""
        plan = self.prepared.plan.thresholds
        if plan is None:
            raise AssertionError("only threshold policies have thresholds")
        known = self._taus.get(panel)
        if known is None:
            known = (
                plan.taus(panel, self.weights(panel, plan.part)) if plan.reselect else plan.point(panel)[None]
            )
            self._taus[panel] = known
        return known

    def _attribute(self, metric: MetricPlan, degenerate: str | None) -> Result:
        """The threshold of every policy, in the direction of the score."""
        del degenerate
        plan = self.prepared.plan
        if metric.fixed is not None:
            fixed = rounded(np.broadcast_to(metric.fixed, (self.rows, len(metric.fixed))))
            if not self.first:
                return Result(fixed, None)
            defined = np.zeros(len(metric.fixed), dtype=np.int8)
            self.details[metric.name, None] = Detail(fixed[0], defined)
            return Result(fixed, Facts(defined))
        if plan.thresholds is None:
            raise AssertionError(metric.name)
        parts = [self.thresholds(i) for i in range(len(plan.layout.panels))]
        flat = np.concatenate([x.reshape(x.shape[0], -1) for x in parts], axis=1)
        data = rounded(np.broadcast_to(flat * plan.thresholds.sign, (self.rows, flat.shape[1])))
        if not self.first:
            return Result(data, None)
        reasons = np.where(np.isnan(data[0]), CODE["not_deployed"], 0).astype(np.int8)
        self.details[metric.name, None] = Detail(data[0], reasons)
        return Result(data, Facts(reasons))

    def _undeployed(self, metric: MetricPlan) -> np.ndarray:
        """(P,): the policies of a metric whose threshold selects nothing."""
        plan = self.prepared.plan
        repeat = max(len(metric.categories), 1)
        parts = [np.isnan(self.thresholds(i)[0]) for i in range(len(plan.layout.panels))]
        return np.concatenate(
            [np.tile(np.repeat(x[:, None], repeat, axis=1).reshape(-1), len(metric.repeats)) for x in parts]
        )

    def _compute(self, piece: Piece) -> Estimates:
        weights = self.weights(piece.panel, piece.part)
        if piece.reselected is not None:
            return piece.reselected.compute(weights, self.thresholds(piece.panel))
        return piece.kernel.compute(weights)

    def _value(self, metric: MetricPlan, degenerate: str | None) -> Result:
        term = metric.value if degenerate is None else metric.values_of_degenerate[degenerate]
        if term is None:
            raise AssertionError(metric.name)
        result = term.evaluate(self)
        result = Result(rounded(result.data), result.facts)
        if result.facts is not None:
            reasons = result.facts.reasons
            inherited = np.isin(reasons, _FROM_INPUTS)
            reasons = np.where(inherited, CODE["undefined_input"], reasons).astype(np.int8)
            result = Result(result.data, replace(result.facts, reasons=reasons))
            self.details[metric.name, degenerate] = Detail(result.data[0], reasons)
        return result

    def _without_category(self, piece: Piece) -> np.ndarray:
        """(R, P): the category of the policy has no row."""
        if piece.category is None:
            raise AssertionError(piece.panel)
        none: np.ndarray = self.weights(piece.panel, piece.part) @ piece.category.T == 0
        return none

    def _kernel(self, metric: MetricPlan, degenerate: str | None) -> Result:
        pieces = self.prepared.pieces[metric.name, degenerate]
        found = [self._compute(p) for p in pieces]
        data = found[0].values if len(found) == 1 else np.concatenate([f.values for f in found], axis=1)
        empty = None
        if metric.per is not None:
            # a sum over a category of which no row was drawn is not 0: the category itself is not there
            empty = np.concatenate([self._without_category(p) for p in pieces], axis=1)
            data = np.where(empty, np.nan, data)
        if not self.first:
            return Result(data, None)
        reasons = np.zeros(data.shape[1], dtype=np.int8)
        for reason, *_ in found[0].undefined:
            mask = np.concatenate([dict(f.undefined)[reason][0] for f in found])
            reasons = np.where((reasons == 0) & mask, CODE[reason], reasons).astype(np.int8)
        if empty is not None:
            other = empty[0] & (reasons != CODE["missing"])
            reasons = np.where(other, CODE["empty_category"], reasons).astype(np.int8)
        if self.prepared.plan.thresholds is not None and metric.by_policy:
            idle = (reasons == CODE["vacuous"]) & self._undeployed(metric)
            reasons = np.where(idle, CODE["not_deployed"], reasons).astype(np.int8)

        def point(part: str) -> np.ndarray | None:
            arrays = [getattr(f, part) for f in found]
            return None if arrays[0] is None else np.concatenate([a[0] for a in arrays])

        units = np.concatenate([p.units for p in pieces]).astype(np.int64)
        rows = np.concatenate([p.rows for p in pieces])
        self.details[metric.name, degenerate] = Detail(
            data[0], reasons, rows, point("numerator"), point("denominator")
        )
        gone = np.isnan(data[0]).astype(np.int64)
        return Result(data, Facts(reasons, ((units, gone),)))


@dataclass(frozen=True, eq=False)
class LegEstimate:
    """One leg of a claim: d (or truth) of every row, (R, P), and what is known at the point."""

    data: np.ndarray
    point: LegValues


@dataclass(frozen=True, eq=False)
class Estimate:
    """Everything that was computed: legs of claims and falsifiers, reports, and every metric at the point."""

    claims: tuple[tuple[LegEstimate, ...], ...]
    falsifiers: tuple[tuple[LegEstimate, ...] | None, ...]
    reports: tuple[LegEstimate, ...]
    details: dict[Name, Detail]
    prepared: Prepared


def _legs(claim: Claim, block: Block) -> list[LegValues]:
    return [leg.evaluate(block) for leg in claim.legs]


def block_rows(prepared: Prepared) -> int:
    """How many rows go into one block: as many as keep its arrays small, however few that are."""
    return max(8, min(_MOST_ROWS, _BLOCK_CELLS // max(prepared.policies(), 1)))


def blocks(rows: int, size: int) -> list[tuple[int, int]]:
    """(begin, number of rows) of every block."""
    return [(begin, min(size, rows - begin)) for begin in range(0, rows, size)]


def estimate(
    prepared: Prepared, jobs: int = 1, tick: Callable[[int], None] = lambda _: None, size: int | None = None
) -> Estimate:
    """Compute a prepared plan.

    Args:
        prepared: the kernels of the plan.
        jobs: number of workers; changes no byte of the result.
        tick: called with the number of blocks, once per finished block.
        size: rows per block; chosen by memory where None, changes no byte of the result.

    """
    plan = prepared.plan
    spans = blocks(plan.resamples + 1, size or block_rows(prepared))

    def one(span: tuple[int, int]) -> tuple[list[LegValues], dict[Name, Detail]]:
        block = Block(prepared, *span)
        found: list[LegValues] = []
        for prediction in plan.predictions:
            found += _legs(prediction.claim, block)
            if prediction.falsifier is not None:
                found += _legs(prediction.falsifier, block)
        for report in plan.reports:
            result = report.term.evaluate(block)
            found.append(LegValues(rounded(result.data), facts=result.facts))
        if block.first:
            for name, metric in plan.metrics.items():
                block.metric(name, None)
                for which in metric.degenerate:
                    block.metric(name, which)
        return found, block.details

    results = map_blocks(one, spans, jobs, lambda: tick(len(spans)))
    details = results[0][1]
    whole = [
        LegEstimate(np.concatenate([r[0][i].data for r in results], axis=0), results[0][0][i])
        for i in range(len(results[0][0]))
    ]
    at = 0
    claims: list[tuple[LegEstimate, ...]] = []
    falsifiers: list[tuple[LegEstimate, ...] | None] = []
    for prediction in plan.predictions:
        claims.append(tuple(whole[at : at + len(prediction.claim.legs)]))
        at += len(prediction.claim.legs)
        if prediction.falsifier is None:
            falsifiers.append(None)
        else:
            falsifiers.append(tuple(whole[at : at + len(prediction.falsifier.legs)]))
            at += len(prediction.falsifier.legs)
    return Estimate(tuple(claims), tuple(falsifiers), tuple(whole[at:]), details, prepared)
