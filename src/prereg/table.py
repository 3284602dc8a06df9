"""policies.csv: one row per policy, part and metric."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

import numpy as np

from prereg.estimate import Detail
from prereg.ledger import DIGITS
from prereg.values import REASONS, Axes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.estimate import Estimate
    from prereg.plan import MetricPlan, Plan

ENDS = ("part", "metric", "value", "numerator", "denominator", "n", "reason")


def number(value: float | None) -> str:
    """A number as the table writes it; empty where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    if value.is_integer() and abs(value) < 10**DIGITS:
        return str(int(value))  # most are counts: no digit of these would be lost
    short = float(f"{value:.{DIGITS}g}")
    return str(int(short)) if short.is_integer() and abs(short) < 2**53 else repr(short)


def factors_of(plan: Plan) -> list[str]:
    """The factor columns, in order: arms, dataset, settings, then those that `per` adds."""
    names = dict.fromkeys(plan.environment.factors)
    return list(names)


def rows(plan: Plan, estimate: Estimate) -> Iterator[list[str]]:
    """The header and all rows, metrics in the order written, policies sorted."""
    factors = factors_of(plan)
    yield ["policy", *factors, *ENDS]
    for name, metric in plan.metrics.items():
        detail = estimate.details[name, None]
        known = plan.environment.metrics.get(name)
        excluded = known.excluded if known is not None else frozenset()
        axes = metric.axes
        if metric.listed is not None:
            axes, detail, excluded = _listed(metric, metric.listed, detail)
        yield from _metric(plan, factors, metric, axes, detail, None, excluded)
        for which, axes in metric.degenerate.items():
            yield from _metric(plan, factors, metric, axes, estimate.details[name, which], which, frozenset())


def _listed(
    metric: MetricPlan, axes: Axes, detail: Detail
) -> tuple[Axes, Detail, frozenset[tuple[str, ...]]]:
    """A `value` with the excluded policies back in their places, so that the table shows them as excluded."""
    where = np.array([metric.axes.index.get(key, -1) for key in axes.keys])
    values = np.append(detail.values, np.nan)[where]
    reasons = np.append(detail.reasons, np.int8(0))[where]
    return axes, Detail(values, reasons), frozenset(k for k in axes.keys if k not in metric.axes.index)


def _metric(
    plan: Plan,
    factors: list[str],
    metric: MetricPlan,
    axes: Axes,
    detail: Detail,
    degenerate: str | None,
    excluded: frozenset[tuple[str, ...]],
) -> Iterator[list[str]]:
    for i in _order(plan, axes):
        known = dict(zip(axes.factors, axes.keys[i], strict=True))
        if degenerate is not None:
            known[plan.arm_factors[0]] = degenerate
        cells = [known.get(f, "") for f in factors]
        label = " ".join(x for x in cells if x) or "all"
        out = axes.keys[i] in excluded
        value = None if out else float(detail.values[i])
        reason = "excluded" if out else REASONS[int(detail.reasons[i])]
        yield [
            label,
            *cells,
            metric.part or "",
            metric.name,
            number(value),
            number(None if detail.numerator is None else float(detail.numerator[i])),
            number(None if detail.denominator is None else float(detail.denominator[i])),
            "" if detail.rows is None else str(int(detail.rows[i])),
            reason,
        ]


def _order(plan: Plan, axes: Axes) -> list[int]:
    """The policies by the registered order of each factor's values."""
    places = [{v: i for i, v in enumerate(plan.environment.factors[f])} for f in axes.factors]
    keys = [[place.get(v, -1) for place, v in zip(places, key, strict=True)] for key in axes.keys]
    return sorted(range(len(axes)), key=keys.__getitem__)


def to_bytes(plan: Plan, estimate: Estimate) -> bytes:
    """The whole file, with line feeds."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows(plan, estimate))
    return out.getvalue().encode()
