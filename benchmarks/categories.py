"""Time the diagnostics over categories: 13 models x 4 datasets, 1,000 resamples, closed form against a walked grid.

The walk is the straightforward program: per resample and model, category means by sums over rows, then every
line of the 101 x 101 grid. A few resamples are walked, their values are compared, and the time is extrapolated.
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from prereg.metrics import KINDS, Rows

MODELS, RESAMPLES, WALKED = 13, 1000, 3
DATASETS = {"math-360": (8, 360), "truthful": (10, 240), "commonsense": (10, 240), "math-500": (7, 500)}
COLUMNS = ("pvc_vus", "cpvc_vus", "pm_pvc_vus", "pm_cpvc_vus", "pm_sc_vus")
OTHERS = ("category_calibration_error", "category_brier", "worst_category")


def dataset(rng, categories, units):
    """Rows of one dataset, with some ties, and its resamples within categories."""
    shape = (1, MODELS, units, 1)
    code = np.sort(np.arange(units) % categories)
    skill = rng.uniform(0.5, 0.85, (1, MODELS, 1, 1))
    correct = np.where(rng.random(shape) < 0.05, 0.5, (rng.random(shape) < skill) * 1.0)
    sure = rng.choice([0.5, 0.7, 0.8, 0.9, 0.95, 1.0], shape)
    groups = np.broadcast_to(code.reshape(1, 1, -1, 1), shape).astype(float)
    arguments = {"groups": groups, "correct": correct, "confidence": sure}
    every = np.ones(shape, bool)
    rows = Rows(every, ~every, arguments, {}, {"groups": tuple(range(categories))})
    weights = np.concatenate(
        [rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES + 1) for n in np.bincount(code)], axis=1
    ).astype(float)
    weights[0] = 1.0
    return rows, weights


def walk(rows, drawn):
    """{column: (P,)} for one resample, exactly: integers and fractions, no closed form."""
    groups = rows.arguments["groups"][0, 0, :, 0]
    grid = range(101)
    out = {name: np.zeros(MODELS) for name in COLUMNS}
    times = drawn.astype(np.int64)
    for model in range(MODELS):
        correct = np.rint(rows.arguments["correct"][0, model, :, 0] * 100).astype(np.int64)
        sure = np.rint(rows.arguments["confidence"][0, model, :, 0] * 100).astype(np.int64)
        counts = np.zeros((101, 101), dtype=np.int64)
        reached = np.zeros(101, dtype=np.int64)
        for code in np.unique(groups):
            mine = (groups == code) * times
            n, right, said = int(mine.sum()), int(mine @ correct), int(mine @ sure)
            bar = np.array([right >= g * n for g in grid])
            close = np.array([abs(said - right) <= t * n for t in grid])
            reached += bar
            counts += np.outer(bar, close)
        edge = np.array([1 if k in (0, 100) else 2 for k in grid])
        out["pvc_vus"][model] = float(Fraction(int(edge @ reached), 200))
        out["cpvc_vus"][model] = float(Fraction(int(edge @ counts @ edge), 40_000))
        pm = {name: Fraction(0) for name in COLUMNS[2:]}
        for g in range(51, 101):
            inside = edge[: g - 50]
            weight = Fraction(2 * int(edge[g]), 4 * 100 * (g - 50))
            line = counts[g, : g - 50]
            pm["pm_pvc_vus"] += weight * int(inside.sum()) * int(reached[g])
            pm["pm_cpvc_vus"] += weight * int(inside @ line)
            pm["pm_sc_vus"] += weight * int(inside @ (300 + 100 * line))
        for name, value in pm.items():
            out[name][model] = float(value)
    return out


def main():
    rng = np.random.default_rng(0)
    panels = [dataset(rng, *size) for size in DATASETS.values()]
    start = time.perf_counter()
    kernels = [{name: KINDS[name].prepare(rows, {}) for name in (*COLUMNS, *OTHERS)} for rows, _ in panels]
    print(f"prepare                       {time.perf_counter() - start:8.3f} s")
    start = time.perf_counter()
    found = [
        {name: kernel.compute(weights).values for name, kernel in mine.items()}
        for mine, (_, weights) in zip(kernels, panels, strict=True)
    ]
    closed = time.perf_counter() - start
    print(f"closed form, {RESAMPLES} resamples   {closed:8.3f} s, {len(COLUMNS) + len(OTHERS)} metrics")
    start = time.perf_counter()
    walked = [[walk(rows, weights[r]) for r in range(WALKED)] for rows, weights in panels]
    spent = (time.perf_counter() - start) / WALKED * (RESAMPLES + 1)
    print(
        f"walked grid, extrapolated     {spent:8.1f} s, {len(COLUMNS)} metrics: {spent / closed:.0f} times as long"
    )
    off = max(
        float(np.abs(mine[name][r] - lines[r][name]).max())
        for mine, lines in zip(found, walked, strict=True)
        for r in range(WALKED)
        for name in COLUMNS
    )
    print(f"largest difference            {off:8.1e} over {WALKED} resamples")
    if off > 1e-12 * 400 or closed > 5:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
