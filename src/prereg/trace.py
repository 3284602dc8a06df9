"""thresholds.csv: every threshold that a rule looked at, with all that a certificate is checked by."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from prereg.table import number
from prereg.values import decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.plan import Plan

COLUMNS = ("position", "tau", "n", "k", "fit_n", "p", "floor", "delta", "status", "selected")


def rows(plan: Plan) -> Iterator[list[str]]:
    """The header and one row per policy and candidate, in the order tested."""
    found = plan.thresholds
    if found is None:
        return
    factors = [
        *plan.arm_factors,
        *([plan.dataset_factor] if plan.dataset_factor else []),
        *plan.setting_factors,
    ]
    kept = [i for i, column in enumerate(COLUMNS) if column not in factors]
    yield ["policy", *factors, *(COLUMNS[i] for i in kept)]
    for panel, arms in zip(plan.layout.panels, found.arms, strict=True):
        name = () if panel.dataset is None else (panel.dataset,)
        for key, arm in zip(panel.arms, arms, strict=True):
            shown: dict[float, str] = {}
            for at, (setting, rule) in enumerate(zip(plan.settings, found.rules, strict=True)):
                policy = (*key, *name, *setting)
                head = [" ".join(policy), *policy]
                floor = "" if rule.rule == "naive" else str(rule.floor)
                delta = decimal_text(rule.delta) if rule.rule == "ltt" else ""
                for row in arm.trace(rule, at):
                    tau = shown.get(row.tau)
                    if tau is None:
                        tau = shown[row.tau] = _exactly(found.sign * row.tau + 0.0)
                    cells = (
                        str(row.position),
                        tau,
                        str(row.n),
                        str(row.k),
                        "" if row.fit_n is None else str(row.fit_n),
                        number(row.p),
                        floor,
                        delta,
                        row.status,
                        "true" if row.selected else "false",
                    )
                    yield head + [cells[i] for i in kept]


def _exactly(tau: float) -> str:
    """All digits of a threshold: with fewer, a score could lie on its other side."""
    return str(int(tau)) if tau.is_integer() and abs(tau) < 2**53 else repr(tau)


def to_bytes(plan: Plan) -> bytes | None:
    """The whole file, with line feeds; None where no threshold is chosen."""
    if plan.thresholds is None:
        return None
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows(plan))
    return out.getvalue().encode()
