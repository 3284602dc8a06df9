"""Threshold policies bound to the records: scores, candidates, the risk under control, and what was chosen."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from prereg import thresholds
from prereg.errors import suggestion
from prereg.expression.rows import BINARY, NUMBER, TRUTH, Cells, Compiler, Rows
from prereg.panels import ActionTable
from prereg.plan import ThresholdPlan
from prereg.resolve.settings import Settings
from prereg.thresholds import Arm, Controlled, Rule
from prereg.values import as_decimal, decimal_text

if TYPE_CHECKING:
    from prereg.panels import RowTable
    from prereg.protocol import Protocol, Threshold
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.units import Units

PATH: Path = ("policies", "threshold")


def resolve_thresholds(
    protocol: Protocol, records: Records, columns: Columns, units: Units, notes: Notes
) -> tuple[Settings, ThresholdPlan | None]:
    """Choose the thresholds at the point; the table then holds `action` per rule and budget."""
    spec = protocol.policies.threshold
    if spec is None:
        return Settings(), None
    _refuse_neighbours(protocol, columns, units, notes)
    rules = _rules(spec, notes)
    score = _score(spec, columns, units, notes)
    control = _control(spec, columns, notes)
    if notes.problems or score is None or control is None:
        return Settings(), None
    sign = 1.0 if spec.act_below is not None else -1.0
    naive = "naive" in spec.select.rules
    if naive and not _probabilities(records, units, score, notes):
        return Settings(), None
    arms = _arms(spec, records, units, score, sign, rules, control, notes)
    if notes.problems:
        return Settings(), None
    plan = ThresholdPlan(
        tuple(rules),
        tuple(arms),
        units.parts.index(spec.select.part),
        sign,
        score,
        bool(protocol.resampling and protocol.resampling.reselect),
    )
    table = units.layout.panels[0].table
    table.extra["action"] = plan.actions(units.layout.panels, len(table.names))
    columns.kinds["action"] = BINARY
    return _settings(spec, rules), plan


def _refuse_neighbours(protocol: Protocol, columns: Columns, units: Units, notes: Notes) -> None:
    spec = protocol.policies.threshold
    if spec is None:
        return
    if protocol.policies.gate is not None:
        notes.problem(PATH, "a gate and a threshold form policies of different kinds; use one of them")
    if protocol.policies.degenerate:
        notes.problem(
            ("policies", "degenerate"),
            "`always` and `never` answer questions; with a threshold there are actions",
        )
    if "action" in columns.kinds:
        notes.problem(PATH, "the records have a column `action`; the threshold needs the name for itself")
    if not units.parts:
        notes.problem(PATH, "a threshold is chosen on one part and judged on another; write a `split`")
        return
    for key, part in (("candidates", spec.candidates.part), ("select", spec.select.part)):
        if part not in units.parts:
            hint = suggestion(part, units.parts)
            notes.problem(
                (*PATH, key, "part"), f"there is no part `{part}`{hint}; parts: {', '.join(units.parts)}"
            )
    if spec.candidates.part == spec.select.part:
        notes.warn(
            (*PATH, "candidates", "part"),
            "candidates and selection read the same part: the order of testing is then not fixed beforehand",
        )
    if spec.select.start == "fit" and spec.select.correction == "bonferroni":
        notes.problem(
            (*PATH, "select", "start"), "`start: fit` belongs to the fixed sequence; Bonferroni has no start"
        )


def _decimals(path: Path, texts: tuple[str, ...], notes: Notes, what: str) -> list[Decimal]:
    out: list[Decimal] = []
    for i, text in enumerate(texts):
        value = as_decimal(text)
        where: Path = (*path, i)
        if value is None or not 0 < value < 1:
            notes.problem(where, f"{what} lies between 0 and 1, found {text}")
        elif value in out:
            notes.problem(where, f"{what} {decimal_text(value)} stands twice")
        else:
            out.append(value)
    return out


def _rules(spec: Threshold, notes: Notes) -> list[Rule]:
    budgets = _decimals((*PATH, "budget"), spec.budget, notes, "a budget")
    deltas = _decimals((*PATH, "select", "delta"), spec.select.delta, notes, "a delta")
    names = spec.select.rules
    if len(set(names)) < len(names):
        notes.problem((*PATH, "select", "rules"), "a rule stands twice")
    return [
        Rule(name, budget, delta, spec.select.min_support, spec.select.start, spec.select.correction)
        for name in names
        for budget in budgets
        for delta in deltas
    ]


def _settings(spec: Threshold, rules: list[Rule]) -> Settings:
    several = len(spec.select.delta) > 1
    keys = []
    for rule in rules:
        key = (rule.rule, decimal_text(rule.budget))
        keys.append((*key, decimal_text(rule.delta)) if several else key)
    factors = ("rule", "budget", "delta") if several else ("rule", "budget")
    values = tuple(tuple(dict.fromkeys(key[i] for key in keys)) for i in range(len(factors)))
    return Settings(factors, tuple(keys), values, frozenset({"action"}))


def _score(spec: Threshold, columns: Columns, units: Units, notes: Notes) -> Cells | None:
    key = "act_below" if spec.act_below is not None else "act_above"
    text = spec.act_below or spec.act_above or ""
    path: Path = (*PATH, key)
    node = notes.parse(path, text)
    if node is None:
        return None
    compiler = Compiler(columns.kinds)
    rows = compiler.compile(node, NUMBER)
    notes.expressions(path, text, compiler.problems)
    if compiler.problems or rows.kind == "broken":
        return None
    cells = rows.evaluate(units.layout.panels[0].table)
    if cells.data.shape[1] != len(units.layout.panels[0].table.names):
        notes.problem(path, "the score is the same number for every record")
        return None
    return cells


def _control(spec: Threshold, columns: Columns, notes: Notes) -> tuple[Rows, Rows | None] | None:
    kinds = {**columns.kinds, "action": BINARY}
    found: list[Rows | None] = []
    for key, text in (("rate", spec.control.rate), ("among", spec.control.among)):
        if text is None:
            found.append(None)
            continue
        path: Path = (*PATH, "control", key)
        node = notes.parse(path, text)
        if node is None:
            return None
        compiler = Compiler(kinds)
        rows = compiler.compile(node, TRUTH)
        notes.expressions(path, text, compiler.problems)
        if compiler.problems or rows.kind == "broken":
            return None
        found.append(rows)
    rate, among = found
    if rate is None:
        return None
    if "action" not in rate.columns | (among.columns if among else frozenset()):
        notes.problem(
            (*PATH, "control"), "the risk under control does not read `action`: no threshold changes it"
        )
        return None
    return rate, among


def _probabilities(records: Records, units: Units, score: Cells, notes: Notes) -> bool:
    present = ~score.missing_mask()[0]
    outside = present & ((score.data[0] < 0) | (score.data[0] > 1))
    if not outside.any():
        return True
    row = int(units.layout.order[np.flatnonzero(outside)[0]])
    value = float(score.data[0][np.flatnonzero(outside)[0]])
    notes.problem(
        (*PATH, "select", "rules"),
        f"`naive` sets the threshold to the budget, which reads the score as a probability; {value:g} at "
        f"{records.place(row)} is none: leave `naive` out, or map the score to [0, 1]",
    )
    return False


def _counted(
    control: tuple[Rows, Rows | None], table: RowTable, action: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N,): inside `among`, counted as an error, undefined."""
    rate, among = control
    view = ActionTable(table, action)
    size = len(table.names)
    inside = np.ones(size, dtype=bool)
    unknown = np.zeros(size, dtype=bool)
    if among is not None:
        cells = among.evaluate(view)
        gone = np.broadcast_to(cells.missing_mask(), (1, size))[0]
        inside = np.broadcast_to(cells.data, (1, size))[0] & ~gone
        unknown = gone
    cells = rate.evaluate(view)
    gone = np.broadcast_to(cells.missing_mask(), (1, size))[0]
    unknown = unknown | (inside & gone)
    return inside, inside & np.broadcast_to(cells.data, (1, size))[0] & ~gone, unknown


def _arms(
    spec: Threshold,
    records: Records,
    units: Units,
    score: Cells,
    sign: float,
    rules: list[Rule],
    control: tuple[Rows, Rows | None],
    notes: Notes,
) -> list[tuple[Arm, ...]]:
    table = units.layout.panels[0].table
    fit, select = (units.parts.index(p) for p in (spec.candidates.part, spec.select.part))
    zero, one = (_counted(control, table, action) for action in (0.0, 1.0))
    unknown = zero[2] | one[2]
    values = np.where(score.missing_mask()[0], np.nan, sign * score.data[0])
    in_range = np.where(np.isnan(values), True, (sign * values >= 0) & (sign * values <= 1))
    naive = []
    for rule in rules:
        budget = float(rule.budget) if sign > 0 else float(1 - rule.budget)
        naive.append(sign * budget if rule.rule == "naive" else float("nan"))
    out = []
    for panel, part_of in zip(units.layout.panels, units.part_of, strict=True):
        unit = panel.unit_of_rows()
        who = panel.place // (len(panel.units) * panel.samples)
        part = part_of[unit]
        chosen = []
        for arm in range(len(panel.arms)):
            mine = who == arm
            fit_rows = panel.rows[mine & (part == fit)]
            rows = panel.rows[mine & (part == select)]
            lost = rows[unknown[rows]]
            if len(lost):
                notes.problems += records.problem(
                    np.sort(units.layout.order[lost]),
                    lambda _: "the risk under control is undefined for this record: a cell is missing",
                )
            scores = values[fit_rows]
            scores = scores[~np.isnan(scores)]
            endpoints = (
                _endpoints(scores, sign, bool(in_range[panel.rows[mine]].all()))
                if spec.candidates.endpoints
                else None
            )
            taus = thresholds.candidates(scores, spec.candidates.midpoints, endpoints)
            inside_fit = zero[0][fit_rows] & ~np.isnan(values[fit_rows])
            support = (values[fit_rows][inside_fit][None, :] < taus[:, None]).sum(axis=1)
            chosen.append(
                Arm(
                    taus,
                    Controlled(
                        values[rows],
                        _within(unit[mine & (part == select)], part_of, select),
                        int((part_of == select).sum()),
                        (zero[0][rows], one[0][rows]),
                        (zero[1][rows], one[1][rows]),
                    ),
                    support,
                    len(fit_rows),
                    tuple(naive),
                )
            )
        out.append(tuple(chosen))
    return out


def _endpoints(scores: np.ndarray, sign: float, probabilities: bool) -> tuple[float, float] | None:
    """0 and 1 for probabilities; otherwise the smallest and the largest score of the fit part."""
    if probabilities:
        return (0.0, 1.0) if sign > 0 else (-1.0, 0.0)
    return (float(scores.min()), float(scores.max())) if len(scores) else None


def _within(unit: np.ndarray, part_of: np.ndarray, part: int) -> np.ndarray:
    """Indices of units within their part."""
    place = np.cumsum(part_of == part) - 1
    found: np.ndarray = place[unit]
    return found
