"""A plan -> estimates: every metric and every leg of every claim, for the point and all resamples alike.

Row 0 of the weights is the observed sample, so that one code path computes both.  Rows come in blocks;
a row depends on nothing outside it, so blocks and workers change no byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field, replace
from prereg.decimals import rounded
from prereg.expression.claims import Claim, LegValues
from prereg.expression.terms import Facts, Result
from prereg.parallel import map_blocks
from prereg.ranks import Ranked
from prereg.values import CODE, INHERITED

if TYPE_CHECKING:
    from collections.abc import Callable

    from prereg.metrics import Estimates
    from prereg.plan import MetricPlan
    from prereg.prepare import Name, Piece, Prepared

_BLOCK_CELLS = 2_000_000
_MOST_ROWS = 512


@dataclass(frozen=True, eq=False)
class Detail:
    """A metric at the point, per policy: what policies.csv prints."""

    values: np.ndarray
    reasons: np.ndarray
    rows: np.ndarray | None = None
    numerator: np.ndarray | None = None
    denominator: np.ndarray | None = None


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
            reasons = np.where(INHERITED[reasons], CODE["undefined_input"], reasons).astype(np.int8)
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
        over = np.isinf(data)
        if over.any():  # beyond any double: no number that a ledger could hold
            data = np.where(over, np.nan, data)
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
        reasons = np.where((reasons == 0) & over[0], CODE["undefined_input"], reasons).astype(np.int8)
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

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is undefined, and told as that
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
