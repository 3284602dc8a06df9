"""surfaces.csv: the counts behind the volumes over accuracy bar and calibration bound, for plotting.

A policy whose volume is undefined has no rows; policies.csv says why.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from prereg.kernels.categories import Categories
from prereg.table import factors_of, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.plan import MetricPlan
    from prereg.prepare import Prepared


def to_bytes(prepared: Prepared) -> bytes | None:
    """The whole file, with line feeds; None where no metric says `show: surface`."""
    chosen = [m for m in prepared.plan.metrics.values() if m.show == "surface"]
    if not chosen:
        return None
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["policy", *factors_of(prepared.plan), "metric", "at_least", "within", "pvc", "cpvc"])
    for metric in chosen:
        writer.writerows(_rows(prepared, metric))
    return out.getvalue().encode()


def _rows(prepared: Prepared, metric: MetricPlan) -> Iterator[list[str | int]]:
    factors = factors_of(prepared.plan)
    keys = iter(metric.axes.keys)
    for piece in prepared.pieces[metric.name, None]:
        kernel = piece.kernel
        if not isinstance(kernel, Categories):
            raise AssertionError(metric.name)  # noqa: TRY004 - cannot happen
        grid = [number(k / kernel.grid) for k in range(kernel.grid + 1)]
        for defined, pvc, cpvc in zip(*kernel.surface(), strict=True):
            known = dict(zip(metric.axes.factors, next(keys), strict=True))
            if not defined:
                continue
            cells = [known.get(f, "") for f in factors]
            label = " ".join(x for x in cells if x) or "all"
            for bar, reached, line in zip(grid, pvc.tolist(), cpvc.tolist(), strict=True):
                head = [label, *cells, metric.name, bar]
                yield from ([*head, within, reached, both] for within, both in zip(grid, line, strict=True))
