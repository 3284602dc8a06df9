"""Thresholds selected and judged under 18 rules, against a careful NumPy loop over resamples and arms.

50 arms, 200 candidates, 6 budgets x 3 rules (900 policies), 1,000 resamples, 2,000 calibration and 2,000 test rows an
arm: false omission rate, utility and excess. Twice: with thresholds fixed (the test part is drawn), and with `reselect`
(calibration is drawn as well and every resample selects anew). Timed of prereg: resolving the thresholds, estimates of
all rows, and the trace; outside: reading the records, the rest of resolving, writing.

Timed of the loop: for each resample and arm the draws by index, supports and errors of all candidates by sorted
cumulative sums, the p-values of all candidates at once by `scipy.stats.binom.cdf` (by a table made beforehand where
`--table` is given), the selections, and the metrics of the 18 policies. A few resamples are timed and extrapolated.
Chosen thresholds and metrics are compared in the same run. Times are seconds of one processor, so that other work on the
machine does not show.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import binom

from prereg import trace
from prereg.check import check
from prereg.estimate import Block, estimate
from prereg.prepare import Prepared
from prereg.project import Project

TARGETS = {"fixed": 4.0, "anew": 8.0}
SECONDS = 10.0
BUDGETS = (0.05, 0.1, 0.15, 0.2, 0.4, 0.5)
DELTA, FLOORS = 0.1, (45, 25, 25, 25, 25, 25)

PROTOCOL = """\
prereg: 1
id: thresholds
title: A benchmark
data: {records: scores.csv, arm: scorer, unit: row}
split: {column: part}
policies:
  threshold:
    act_below: score
    control: {rate: y == 1, among: action == 0}
    candidates: {part: fit, midpoints: 198, endpoints: true}
    select: {part: calibration, rules: [naive, empirical, ltt], delta: 0.10, min_support: 25}
    budget: [0.05, 0.10, 0.15, 0.20, 0.40, 0.50]
metrics:
  risk: {rate: y == 1, among: action == 0, part: test}
  utility: {rate: action == 0, among: y == 0, part: test}
  excess: {value: "maximum(risk - budget, 0)"}
  over_budget: {value: excess > 0}
resampling: {parts: PARTS, resamples: 1000, seed: 42, reselect: ANEW}
predictions:
  rarely: {claim: "mean(over_budget[rule=ltt]) <= 0.10", evidence: point}
  useful: {claim: "mean(utility[rule=ltt]) > 0.3"}
"""


def write_project(folder, arms, rows):
    rng = np.random.default_rng(1)
    label = (rng.random(2 * rows + 1000) < 0.3).astype(int)
    part = np.repeat(["fit", "calibration", "test"], [1000, rows, rows])
    lines = ["scorer,row,score,y,part"]
    for arm in range(arms):
        score = rng.beta(1 + label * rng.uniform(0.5, 4), 3)
        lines += [
            f"m{arm:02d},r{i:05d},{s:.4f},{y},{p}"
            for i, (s, y, p) in enumerate(zip(score.tolist(), label.tolist(), part.tolist(), strict=True))
        ]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, parts, anew in (("fixed", "[test]", "false"), ("anew", "[calibration, test]", "true")):
        text = PROTOCOL.replace("PARTS", parts).replace("ANEW", anew)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


class Loop:
    """One arm and one resample at a time."""

    def __init__(self, prepared, table):
        plan = prepared.plan
        (panel,) = plan.layout.panels
        column = {name: panel.dense(panel.table.columns[name].data)[0, :, :, 0] for name in ("score", "y")}
        units = {p: plan.samples[0, i].units for i, p in enumerate(plan.parts)}
        self.data = [
            {p: (column["score"][a][u], column["y"][a][u].astype(int)) for p, u in units.items()}
            for a in range(len(panel.arms))
        ]
        self.taus = [arm.taus for arm in plan.thresholds.arms[0]]
        size = len(units["calibration"])
        n, k = np.ogrid[: size + 1, : size + 1]
        self.tails = [binom.cdf(k, n, b).astype(np.float32) for b in BUDGETS] if table else None

    def select(self, taus, score, label):
        order = np.argsort(score)
        n = np.searchsorted(score[order], taus, side="left")
        k = np.concatenate([[0], np.cumsum(label[order])])[n]
        out = np.full((3, len(BUDGETS)), np.nan)
        out[0] = BUDGETS
        with np.errstate(invalid="ignore"):
            rate = k / n
        for b, (budget, floor) in enumerate(zip(BUDGETS, FLOORS, strict=True)):
            good = np.flatnonzero((n >= 25) & (rate <= budget + 1e-12))
            if len(good):
                out[1, b] = taus[good[-1]]
            p = self.tails[b][n, k] if self.tails else binom.cdf(k, n, budget)
            tested = np.flatnonzero(n >= floor)
            passed = p[tested] <= DELTA + 1e-9
            count = len(passed) if passed.all() else int(np.argmin(passed))
            if count:
                out[2, b] = taus[tested[count - 1]]
        return out.reshape(-1)

    def measure(self, tau, score, label):
        below = score[None, :] < tau[:, None]
        with np.errstate(invalid="ignore"):
            risk = (below & (label == 1)).sum(axis=1) / below.sum(axis=1)
            utility = (below & (label == 0)).sum(axis=1) / (label == 0).sum()
        return risk, utility

    def row(self, weights, fixed):
        """(18, arms) thresholds, risks and utilities of one resample."""
        drawn = {p: np.repeat(np.arange(len(w)), w) for p, w in weights.items()}
        out = np.empty((3, 3 * len(BUDGETS), len(self.data)))
        for a, parts in enumerate(self.data):
            if fixed is None:
                score, label = parts["calibration"]
                tau = self.select(self.taus[a], score[drawn["calibration"]], label[drawn["calibration"]])
            else:
                tau = fixed[:, a]
            score, label = parts["test"]
            out[0, :, a] = tau
            out[1:, :, a] = self.measure(tau, score[drawn["test"]], label[drawn["test"]])
        return out


def ours(folder, name):
    checked = check(Project.at(folder), folder / f"{name}.yaml")
    start = time.process_time()
    prepared = Prepared.of(checked.plan)
    for arm in checked.plan.thresholds.arms[0]:
        arm.chosen(checked.plan.thresholds.rules, np.ones((1, arm.calibration.units)))
    estimate(prepared)
    middle = time.process_time()
    trace.to_bytes(checked.plan)
    return prepared, middle - start, time.process_time() - middle


def compared(prepared, loop, reselect, resamples):
    """Seconds of the loop per resample, and the largest difference over its rows."""
    plan = prepared.plan
    block = Block(prepared, 0, resamples + 1)
    found = [block.metric(name, None).data for name in ("tau", "risk", "utility")]
    fixed = None if reselect else plan.thresholds.point(0)
    codes = {p: i for i, p in enumerate(plan.parts)}
    spent, worst = 0.0, 0.0
    for r in range(1, resamples + 1):
        weights = {p: block.weights(0, codes[p])[r].astype(int) for p in ("calibration", "test")}
        start = time.process_time()
        values = loop.row(weights, fixed)
        spent += time.process_time() - start
        for mine, theirs in zip(found, values, strict=True):
            a, b = mine[r], theirs.reshape(-1)
            same = (np.isnan(a) == np.isnan(b)).all()
            worst = max(worst, float(np.nanmax(np.abs(a - b), initial=0.0)) if same else np.inf)
    return spent / resamples, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2000, help="rows of calibration and of test")
    parser.add_argument("--resamples", type=int, default=3, help="resamples of the loop")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="give the loop its tails for nothing")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder, options.arms, options.rows)
        for which in ("fixed", "anew"):
            runs = [ours(folder, which) for _ in range(options.rounds)]
            prepared = runs[0][0]
            spent, traced = min(r[1] for r in runs), min(r[2] for r in runs)
            loop = Loop(prepared, options.table)
            each, worst = compared(prepared, loop, which == "anew", options.resamples)
            total = prepared.plan.resamples + 1
            ratio = each * total / spent
            size = f"{options.arms} arms x {len(loop.taus[0])} candidates x 18 rules x {total - 1} resamples"
            print(f"thresholds {which}: {size}")
            print(f"  loop  {each * total:9.2f} s   extrapolated from {options.resamples} resamples")
            print(f"  core  {spent:9.2f} s   and {traced:.2f} s for the trace; at most {SECONDS:.0f} s")
            target = TARGETS[which]
            verdict = "met" if ratio >= target else "MISSED"
            print(f"  ratio {ratio:9.1f}     target at least {target:.0f}: {verdict}")
            print(f"  largest difference {worst:.1e} (at most 1e-12 allowed)")
            failed |= ratio < target or worst > 1e-12 or spent + traced > SECONDS
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
