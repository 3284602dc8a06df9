"""Threshold policies bound to the records: scores, candidates, the risk under control, what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg import thresholds
from prereg.errors import suggestion
from prereg.expression.cells import BINARY, NUMBER, TRUTH, Cells
from prereg.expression.rows import Compiler, Rows
from prereg.panels import ActionTable
from prereg.plan import ThresholdPlan
from prereg.resolve.settings import Settings
from prereg.thresholds import Arm, Controlled, Rule
from prereg.values import as_decimal, decimal_text

if TYPE_CHECKING:
    from decimal import Decimal

    from prereg.panels import Panel, RowTable
    from prereg.protocol import Protocol, Threshold
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.units import Units

PATH: Path = ("policies", "threshold")
FACTORS = ("rule", "budget", "delta")


def resolve_thresholds(
    protocol: Protocol, records: Records, columns: Columns, units: Units, notes: Notes
) -> tuple[Settings, ThresholdPlan | None]:
    """Choose the thresholds at the point; the table then holds `action` per rule and budget."""
    spec = protocol.policies.threshold
    if spec is None:
        if protocol.resampling is not None and protocol.resampling.reselect:
            notes.problem(("resampling", "reselect"), "there is no `threshold` to select anew", key=True)
        return Settings(), None
    _refuse_neighbours(protocol, columns, units, notes)
    _warn_of_dependence(protocol, spec, units, notes)
    rules = _rules(spec, notes)
    score = _score(spec, columns, units, notes)
    control = _control(spec, columns, notes)
    if notes.problems or score is None or control is None:
        return Settings(), None
    sign = 1.0 if spec.act_below is not None else -1.0
    naive = "naive" in spec.select.rules
    if naive and not _probabilities(records, units, score, notes):
        return Settings(), None
    every = protocol.data.samples == "all"
    arms = _arms(spec, records, units, score, sign, rules, control, notes, every=every)
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
    if protocol.policies.gate:
        notes.problem(PATH, "a gate and a threshold form policies of different kinds; use one of them")
    if protocol.policies.degenerate:
        notes.problem(
            ("policies", "degenerate"),
            "`always` and `never` answer questions; with a threshold there are actions",
        )
    if "action" in columns.kinds:
        notes.problem(PATH, "the records have a column `action`; the threshold needs the name for itself")
    taken = [x for x in (*protocol.data.arm, protocol.data.dataset) if x in FACTORS]
    if taken:
        notes.problem(PATH, f"`{taken[0]}` is a factor of threshold policies; give the column another name")
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
    drawn = protocol.resampling.parts if protocol.resampling is not None else None
    reselect = protocol.resampling is not None and protocol.resampling.reselect
    if reselect and drawn is not None and spec.select.part not in drawn:
        notes.problem(
            ("resampling", "reselect"),
            f"thresholds are selected anew in resamples of `{spec.select.part}`, which `parts` leaves out",
            key=True,
        )
    if spec.select.start == "fit" and spec.select.correction == "bonferroni":
        notes.problem(
            (*PATH, "select", "start"), "`start: fit` belongs to the fixed sequence; Bonferroni has no start"
        )


def _warn_of_dependence(protocol: Protocol, spec: Threshold, units: Units, notes: Notes) -> None:
    """A certificate takes rows as independent: say so where the protocol itself says that they are not."""
    if "ltt" not in spec.select.rules:
        return
    repeated = protocol.data.samples == "all" and any(p.samples > 1 for p in units.layout.panels)
    cluster = protocol.resampling.cluster if protocol.resampling is not None else None
    if repeated or cluster is not None:
        what = "the rows of a unit" if repeated else f"the units of a `{cluster}`"
        notes.warn(
            (*PATH, "select", "rules"),
            f"the test of `ltt` counts rows as independent draws; {what} are not, so its certificates are "
            "optimistic",
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
    factors = FACTORS if several else FACTORS[:2]
    values = tuple(tuple(dict.fromkeys(key[i] for key in keys)) for i in range(len(factors)))
    return Settings(factors, tuple(keys), values, frozenset({"action"}))


def _score(spec: Threshold, columns: Columns, units: Units, notes: Notes) -> Cells | None:
    key = "act_below" if spec.act_below is not None else "act_above"
    text = spec.act_below or spec.act_above or ""
    path: Path = (*PATH, key)
    node = notes.parse(path, text)
    if node is None:
        return None
    compiler = Compiler(columns.kinds, columns.computed)
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
        compiler = Compiler(kinds, columns.computed)
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
    *,
    every: bool,
) -> list[tuple[Arm, ...]]:
    """Per panel and arm what chooses its thresholds; of repeated answers the first, or `every` one."""
    table = units.layout.panels[0].table
    zero, one = (_counted(control, table, action) for action in (0.0, 1.0))
    unknown = zero[2] | one[2]
    inside, errors = (zero[0], one[0]), (zero[1], one[1])
    values = np.where(score.missing_mask()[0], np.nan, sign * score.data[0])
    naive = []
    for rule in rules:
        budget = float(rule.budget) if sign > 0 else float(1 - rule.budget)
        naive.append(sign * budget if rule.rule == "naive" else float("nan"))
    fit, select = (units.parts.index(p) for p in (spec.candidates.part, spec.select.part))
    out = []
    idle: list[str] = []
    for panel, part_of in zip(units.layout.panels, units.part_of, strict=True):
        chosen = []
        for arm, key in enumerate(panel.arms):
            parts = []
            for part in (fit, select):
                rows, unit = _rows_of(panel, part_of, arm, part, every=every)
                cut = [tuple(x[rows] for x in pair) for pair in (inside, errors)]
                parts.append(Controlled(values[rows], unit, int((part_of == part).sum()), cut[0], cut[1]))
            lost = rows[unknown[rows]]
            if len(lost):
                notes.problems += records.problem(
                    np.sort(units.layout.order[lost]),
                    lambda _: "the risk under control is undefined for this record: a cell is missing",
                )
            scores = parts[0].score[~np.isnan(parts[0].score)]
            endpoints = _endpoints(scores, sign) if spec.candidates.endpoints else None
            taus = thresholds.candidates(scores, spec.candidates.midpoints, endpoints)
            if not len(taus):
                idle.append(" ".join((*key, *([panel.dataset] if panel.dataset is not None else []))))
            chosen.append(Arm(taus, parts[1], parts[0], tuple(naive)))
        out.append(tuple(chosen))
    if idle and any(rule.rule != "naive" for rule in rules):
        notes.warn(
            (*PATH, "candidates"),
            f"no score in `{spec.candidates.part}` to make candidates of, so nothing will be deployed: "
            f"{', '.join(idle[:3])}{f' and {len(idle) - 3} more' if len(idle) > 3 else ''}",
        )
    return out


def _rows_of(
    panel: Panel, part_of: np.ndarray, arm: int, part: int, *, every: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of an arm in a part, and the place of their units within it."""
    unit = panel.unit_of_rows()
    mine = (panel.place // (len(panel.units) * panel.samples) == arm) & (part_of[unit] == part)
    if not every:
        mine &= panel.place % panel.samples == 0
    place = np.cumsum(part_of == part) - 1
    return panel.rows[mine], place[unit[mine]]


def _endpoints(fit: np.ndarray, sign: float) -> tuple[float, float] | None:
    """0 and 1 where all (signed) scores of the fit part are probabilities, otherwise their least and largest.

    Read from the fit part alone, as the whole family is; without a fit score there is nothing to read.
    """
    if not len(fit):
        return None
    low, high = float(fit.min()), float(fit.max())
    first, last = (0.0, 1.0) if sign > 0 else (-1.0, 0.0)
    return (first, last) if first <= low and high <= last else (low, high)
