"""The core of the worked example against a careful NumPy loop over resamples and policies.

Timed of prereg: `estimate` and `judge` of protocols/pair-head-to-head.yaml, that is all draws, nine metrics of 150
policies (and two degenerate ones) on 401 rows of draws, the correlations, the legs of ten claims, their intervals and
verdicts. Outside: reading the records, resolving the protocol, preparing the kernels, writing.

Timed of the loop: for each resample and each policy the nine metrics, for each resample the seven correlations. It is
written as one would with care: arrays are cut to the policy's rows before the loop, units are drawn by index, and
everything within one (resample, policy) is vectorised. It is given the draws. A few resamples are timed, and their
number is printed with what is extrapolated. Intervals and verdicts are not charged to it.

Both results are compared in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from prereg.check import check
from prereg.estimate import Block, estimate
from prereg.judge import judge
from prereg.prepare import Prepared
from prereg.project import Project
from prereg.questions import questions

TARGET = 200.0
PROTOCOLS = Path(__file__).parent.parent / "protocols"
GATES = (None, 0.5, 0.7, 0.8, 0.9, 0.95)
METRICS = (
    "failure",
    "precision",
    "recall",
    "distance",
    "ece",
    "aurc",
    "refusal_index",
    "ece_head2",
    "aurc_head2",
)
EDGES = np.arange(1, 10) / 10


# -- the loop ---------------------------------------------------------------------------------------------


def ece(confidence, label):
    if not len(confidence):
        return np.nan
    place = np.searchsorted(EDGES, confidence, side="left")
    return np.abs(np.bincount(place, weights=label - confidence, minlength=10)).sum() / len(confidence)


def aurc(confidence, error):
    n = len(confidence)
    if not n:
        return np.nan
    order = np.argsort(-confidence)
    falling = confidence[order]
    ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True)) + 1
    risk = np.cumsum(error[order])[ends - 1] / ends
    return (risk * np.diff(ends, prepend=0)).sum() / n


def average_ranks(x):
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def spearman(x, y):
    if len(x) < 3:
        return np.nan
    x, y = average_ranks(x), average_ranks(y)
    x, y = x - x.mean(), y - y.mean()
    norm = np.sqrt((x @ x) * (y @ y))
    return (x @ y) / norm if norm else np.nan


class Loop:
    """The records of one policy at a time, as (units, samples) arrays of booleans and numbers."""

    def __init__(self, prepared):
        plan = prepared.plan
        (panel,) = plan.layout.panels
        column = {name: panel.dense(cells.data)[0] for name, cells in panel.table.columns.items()}
        parts = {part: plan.samples[0, i].units for i, part in enumerate(plan.parts)}
        self.draws = {part: plan.samples[0, i].draws for i, part in enumerate(plan.parts)}
        self.policies = []
        for gate in GATES:
            for arm in range(len(panel.arms)):
                passes = column["boundary"][arm] >= (-1.0 if gate is None else gate)
                rows = {
                    "answered": column["answered"][arm].astype(bool) & passes,
                    "certified": column["certified"][arm].astype(bool) & passes,
                    "decidable": column["decidable"][arm].astype(bool),
                    "boundary": column["boundary"][arm],
                    "self_reported": column["self_reported"][arm],
                }
                cut = {part: {k: v[units] for k, v in rows.items()} for part, units in parts.items()}
                first = {part: {k: v[:, 0] for k, v in at.items()} for part, at in cut.items()}
                every = cut["calibration"]
                refused = (~every["answered"]).mean(axis=1)
                wrong = (every["answered"] & ~every["certified"]).mean(axis=1)
                self.policies.append((first["calibration"], first["test"], refused, wrong))

    def policy(self, policy, drawn, drawn_test):
        first, test, refused, wrong = policy
        answered, certified, decidable = (
            test["answered"][drawn_test],
            test["certified"][drawn_test],
            test["decidable"][drawn_test],
        )
        undecidable = (~decidable).sum()
        failure = (answered & ~certified & ~decidable).sum() / undecidable if undecidable else np.nan
        answered, certified, decidable = (
            first["answered"][drawn],
            first["certified"][drawn],
            first["decidable"][drawn],
        )
        claims, possible = answered.sum(), decidable.sum()
        # A metric leaves with 12 decimals, so that is what the distance is made of.
        precision = round((answered & certified).sum() / claims, 12) if claims else np.nan
        recall = round((certified & decidable).sum() / possible, 12) if possible else np.nan
        boundary, reported = first["boundary"][drawn][answered], first["self_reported"][drawn][answered]
        error = ~certified[answered]
        label = decidable[answered]
        return (
            failure,
            precision,
            recall,
            (1 - precision) + (1 - recall),
            ece(boundary, label),
            aurc(boundary, error),
            spearman(refused[drawn], wrong[drawn]),
            ece(reported, label),
            aurc(reported, error),
        )

    def rows(self, first, count):
        """(count, metrics, policies) and (count, metrics - 1): metrics, and their correlations with failure."""
        values = np.empty((count, len(METRICS), len(self.policies)))
        rho = np.empty((count, len(METRICS) - 1))
        weights = {part: draws.rows(first, count).astype(int) for part, draws in self.draws.items()}
        for r in range(count):
            drawn = {part: np.repeat(np.arange(w.shape[1]), w[r]) for part, w in weights.items()}
            for p, policy in enumerate(self.policies):
                values[r, :, p] = self.policy(policy, drawn["calibration"], drawn["test"])
            read = np.round(values[r], 12)
            for m in range(1, len(METRICS)):
                if METRICS[m] != "ece_head2":  # no claim reads it
                    both = ~np.isnan(read[0]) & ~np.isnan(read[m])
                    rho[r, m - 1] = spearman(read[m][both], read[0][both])
        return values, rho


# -- the comparison ---------------------------------------------------------------------------------------


def difference(a, b):
    """Largest difference; infinite where one is undefined and the other is not."""
    if (np.isnan(a) != np.isnan(b)).any():
        return np.inf
    return float(np.nanmax(np.abs(a - b), initial=0.0))


def compared(prepared, found, values, rho, first):
    """Largest difference of all metrics, and of the correlations that the claims judge."""
    count = len(values)
    block = Block(prepared, first, count)
    metrics = max(difference(block.metric(name, None).data, values[:, m]) for m, name in enumerate(METRICS))
    plan = prepared.plan
    judged = dict(zip((p.id for p in plan.predictions), found.claims, strict=True))
    pairs = {
        "precision-tracks-failure": "precision",
        "recall-moves-with-volume": "recall",
        "ece-tracks-failure": "ece",
        "aurc-tracks-failure": "aurc",
        "naive-distance-is-no-summary": "distance",
        "refusal-index-as-published": "refusal_index",
    }
    span = slice(first, first + count)
    correlations = max(
        difference(judged[name][0].data[span, 0], rho[:, METRICS.index(metric) - 1])
        for name, metric in pairs.items()
    )
    return metrics, correlations


def prepare():
    return Prepared.of(check(Project.at(PROTOCOLS), PROTOCOLS / "pair-head-to-head.yaml").plan)


def core(prepared):
    found = estimate(prepared)
    return found, judge(questions(prepared.plan, found))


def timed(call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="alternations of loop and core")
    parser.add_argument("--resamples", type=int, default=2, help="resamples of the loop per round")
    options = parser.parse_args()
    prepared: Prepared = prepare()
    loop = Loop(prepared)
    core(prepared)
    total = prepared.plan.resamples + 1
    slow, fast, metrics, correlations = [], [], 0.0, 0.0
    for i in range(options.rounds):
        first = i * options.resamples
        spent, (values, rho) = timed(loop.rows, first, options.resamples)
        slow.append(spent / options.resamples * total)
        for _ in range(3):
            spent, (found, _) = timed(core, prepared)
            fast.append(spent)
        a, b = compared(prepared, found, values, rho, first)
        metrics, correlations = max(metrics, a), max(correlations, b)
    loop_time, core_time = statistics.median(slow), statistics.median(fast)
    ratio = loop_time / core_time
    print(
        f"core of {prepared.plan.protocol.id}: {len(loop.policies)} policies, {total - 1} resamples, {len(METRICS)} metrics"
    )
    print(
        f"  loop  {loop_time:9.3f} s   extrapolated from {options.rounds} x {options.resamples} rows of draws"
    )
    print(f"  core  {core_time:9.4f} s   median of {len(fast)}, fastest {min(fast):.4f}")
    print(f"  ratio {ratio:9.0f}     target at least {TARGET:.0f}: {'met' if ratio >= TARGET else 'MISSED'}")
    print(
        f"  largest difference: metrics {metrics:.1e}, correlations {correlations:.1e} (at most 1e-12 allowed)"
    )
    return 0 if ratio >= TARGET and max(metrics, correlations) <= 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
