"""Many small studies with a known truth, judged by the real judge: how often is a claim held?

Values are drawn per unit, resampled by the real draws in a matrix product, and handed to the judge as legs. The
2,000 runs come in blocks that share their draws, so that no single set of draws decides.
"""

from __future__ import annotations

import math

import numpy as np

from prereg import draws, judge

RUNS, BLOCK, RESAMPLES = 2000, 50, 1000


def drawn(n, block, resamples=RESAMPLES):
    """(1 + B, n): the observed sample and its resamples, other ones in each block."""
    stream = draws.Stream(block, "calibration")
    return draws.Plan(stream, np.zeros(n, dtype=np.int64)).rows(0, resamples + 1)


def units(shape, rng, n, truth, runs):
    """(n, runs): the value of every unit; for two rates the difference of the two."""
    if shape == "rate":
        return (rng.random((n, runs)) < truth) * 1.0
    if shape == "score":  # between 0 and 1, skewed to the left: a beta of mean `truth`
        return rng.beta(5 * truth, 5 * (1 - truth), (n, runs))
    left, right = (1 + truth) / 2, (1 - truth) / 2
    return (rng.random((n, runs)) < left) * 1.0 - (rng.random((n, runs)) < right) * 1.0


def leg(shape, op, bar, values, resampled):
    """The leg of one run: its units' values and the mean of each resample."""
    n = len(values)
    d = np.round(resampled / n - bar, 12) + 0.0
    exact = None
    if shape == "rate":
        exact = judge.OneRate(int(values.sum()), n)
    elif shape == "two":
        exact = judge.TwoRates(int((values > 0).sum()), int((values < 0).sum()), n)
    return judge.Leg(f"x {op} {bar:g}", op, float(d[0]) + bar, bar, d, n=n, n_undefined=0, exact=exact)


def question(name, node, evidence, family=None):
    share = evidence if isinstance(evidence, float) else None
    kind = "support" if share is not None else "interval" if evidence == "family" else evidence
    return judge.Question(
        id=name,
        claim=name,
        node=node,
        evidence=judge.Evidence(kind, share),
        level=0.95,
        resamples=RESAMPLES,
        family=family,
    )


def held(shape, n, truth, bar, ops, evidence, members=1, seed=0):
    """Per operator the share of runs that are held; of a family, the share in which any of its members is."""
    rng = np.random.default_rng([seed, n, int(truth * 1e6) + 10**7, members])
    count = dict.fromkeys(ops, 0)
    for block in range(RUNS // BLOCK):
        rows = drawn(n, block)
        values = [units(shape, rng, n, truth, BLOCK) for _ in range(members)]
        means = [rows @ v for v in values]
        for run in range(BLOCK):
            for op in ops:
                legs = [leg(shape, op, bar, v[:, run], m[:, run]) for v, m in zip(values, means, strict=True)]
                family = "f" if evidence == "family" else None
                asked = [question(f"q{i}", x, evidence, family) for i, x in enumerate(legs)]
                count[op] += any(j.verdict == "held" for j in judge.judge(asked))
    return {op: k / RUNS for op, k in count.items()}


def three_errors(p):
    """Three standard errors of a share of the runs."""
    return 3 * math.sqrt(p * (1 - p) / RUNS)
