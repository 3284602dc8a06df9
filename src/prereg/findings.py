"""Estimates and judgements -> the content of a ledger."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import judge, ledger
from prereg.intervals import percentile_interval
from prereg.outcomes import headline
from prereg.values import REASONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.analysis import Judged
    from prereg.estimate import Estimate
    from prereg.plan import Plan
    from prereg.registration import Registration


def content_of(
    registered: Registration,
    plan: Plan,
    judged: Judged,
    tables: Mapping[str, bytes],
    files: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The content of the ledger, numbers shortened."""
    judgements, found, laid = judged.judgements, judged.estimate, laid_out(plan)
    content: dict[str, Any] = {
        "format": ledger.FORMAT,
        "registration": {"id": registered.id, "digest": registered.digest},
        "data": {
            "files": registered.content["data"]["files"] if files is None else list(files),
            "arms": laid["data.arms"],
        },
        "counts": judge.counts(judgements),
        "headline": _headline(plan, judgements),
        "predictions": [{**j.to_tree(), **deviation_of(registered, j.id)} for j in judgements],
        "variants": [
            {"name": name, "counts": judge.counts(each), "predictions": [j.to_tree() for j in each]}
            for name, each in judged.variants.items()
        ],
        "excluded": laid["excluded"],
        "reports": [_report(plan, i, found) for i in range(len(plan.reports))],
        **amends_of(registered),
        "tables": [
            {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "rows": data.count(b"\n") - 1}
            for name, data in tables.items()
        ],
    }
    short: dict[str, Any] = ledger.shortened(content)
    return short


def laid_out(plan: Plan) -> dict[str, Any]:
    """What a ledger says that no estimate goes into: units of each arm, and the excluded policies."""
    return {
        "data.arms": ledger.shortened(_arms(plan)),
        "excluded": [dict(zip(plan.excluded_factors, key, strict=True)) for key in plan.excluded],
    }


def amends_of(registered: Registration) -> dict[str, Any]:
    """Of an amendment: what it amends, why, and whether results had been seen."""
    amends = registered.content.get("amends")
    if amends is None:
        return {}
    told = {"digest": amends["digest"], "reason": amends["reason"], "seen": amends["seen"]["state"]}
    return {"amends": told}


def deviation_of(registered: Registration, prediction: str) -> dict[str, Any]:
    """Of an amendment: whether it touches this verdict, by which changes, and what the verdict was before."""
    amends = registered.content.get("amends")
    if amends is None:
        return {}
    changed = [c for t in amends["touched"] if t["prediction"] == prediction for c in t["changes"]]
    before = [
        {"registration": judged["registration"], "verdict": v["verdict"], "reason": v["reason"]}
        for judged in amends["seen"]["judged"]
        if judged["id"] == registered.id
        for v in judged["verdicts"] or ()
        if v["prediction"] == prediction
    ]
    return {"deviated": bool(changed), "deviations": changed, "verdicts_before": before}


def _headline(plan: Plan, judgements: Sequence[judge.Judgement]) -> str | None:
    """`void` where a gate was not held; else the first outcome that applies, in the author's words."""
    if judge.void(judgements):
        return "void"
    facts = {j.id: (str(j.verdict), j.surprise) for j in judgements}
    return headline(plan.outcomes, facts)


def _arms(plan: Plan) -> list[dict[str, Any]]:
    """Per arm and dataset: units seen and dropped, because a comparison hangs on who lost what."""
    out = []
    for key, seen in plan.layout.seen.items():
        arm = dict(zip(plan.arm_factors, key, strict=False))
        if plan.dataset_factor is not None:
            arm[plan.dataset_factor] = key[-1]
        dropped = plan.layout.dropped[key]
        out.append({"arm": arm, "units": seen, "dropped": dropped, "dropped_share": dropped / seen})
    return out


def _report(plan: Plan, i: int, found: Estimate) -> dict[str, Any]:
    report, leg = plan.reports[i], found.reports[i]
    level = plan.protocol.resampling.level if plan.protocol.resampling else None
    values = []
    facts = leg.point.facts
    for at in range(len(report.term.axes)):
        column = leg.data[:, at]
        drawn = column[1:][~np.isnan(column[1:])]
        interval = None
        labels = report.term.labels
        value: float | str | None = None
        if not np.isnan(column[0]):
            value = labels[int(column[0])] if labels else float(column[0])
        if (
            level is not None
            and not labels
            and plan.resamples
            and 2 * len(drawn) >= plan.resamples
            and not np.isnan(column[0])
        ):
            interval = list(map(float, percentile_interval(drawn, level)))
        counts = [] if facts is None else [int(n[at]) for n, _ in facts.counts]
        values.append(
            {
                "policy": list(report.term.axes.keys[at]),
                "value": value,
                "interval": interval,
                "resamples_defined": len(drawn),
                "n": counts[0] if len(counts) == 1 else counts,
                "reason": None if facts is None else REASONS[int(facts.reasons[at])] or None,
            }
        )
    return {
        "id": report.id,
        "expression": " ".join(report.text.split()),
        "factors": list(report.term.axes.factors),
        "level": level,
        "values": values,
    }
