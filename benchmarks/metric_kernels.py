"""Time every kernel of the pair study: 25 arms x 6 gates, 100 units, 4 samples, 400 resamples."""

from __future__ import annotations

import time

import numpy as np

from prereg.metrics import KINDS, Rows

ARMS, UNITS, SAMPLES, RESAMPLES = 25, 100, 4, 401
GATES = (None, 0.5, 0.7, 0.8, 0.9, 0.95)


def panel(rng):
    shape = (ARMS, UNITS, SAMPLES)
    skill = rng.uniform(0.3, 0.9, (ARMS, 1, 1))
    decidable = np.broadcast_to(rng.random((1, UNITS, 1)) < 0.68, shape)
    answered = rng.random(shape) < 0.85
    certified = answered & decidable & (rng.random(shape) < skill)
    boundary = np.round(np.clip(rng.beta(4, 1, shape) - 0.15 * ~certified * rng.random(shape), 0, 1), 6)
    reported = np.round(rng.beta(5, 1, shape), 6)
    passes = np.stack([np.ones(shape, bool) if g is None else boundary >= g for g in GATES])
    answered, certified = answered & passes, certified & passes
    return decidable, answered, certified, boundary, reported


def prepared(rng):
    decidable, answered, certified, boundary, reported = panel(rng)
    wrong = answered & ~certified

    def make(kind, among, options=None, *, first=True, **arguments):
        cut = slice(0, 1) if first else slice(None)
        four = {k: np.asarray(v, float).reshape((-1, *v.shape[-3:]))[..., cut] for k, v in arguments.items()}
        among = np.asarray(among).reshape((-1, ARMS, UNITS, SAMPLES))[..., cut]
        rows = Rows(among, np.zeros_like(among), four, {})
        return KINDS[kind].prepare(rows, options or {})

    everywhere = np.ones((1, ARMS, UNITS, SAMPLES), bool)
    return {
        "failure": make("rate", ~decidable, rate=wrong),
        "precision": make("rate", answered, rate=certified),
        "recall": make("rate", decidable, rate=certified),
        "ece": make("ece", answered, confidence=boundary, label=decidable),
        "aurc": make("aurc", answered, confidence=boundary, error=wrong),
        "refusal_index": make("refusal_index", everywhere, refused=~answered, wrong=wrong, first=False),
        "ece_head2": make("ece", answered, confidence=reported, label=decidable),
        "aurc_head2": make("aurc", answered, confidence=reported, error=wrong),
    }


def extras(rng):
    """Kinds and options that the study does not use, on the same panel."""
    decidable, answered, certified, boundary, _ = panel(rng)
    coarse = np.round(boundary, 1)
    among = answered[..., :1]

    def make(kind, options, k=1, **arguments):
        four = {n: np.asarray(v, float).reshape((-1, *v.shape[-3:]))[..., :k] for n, v in arguments.items()}
        rows = Rows(answered[..., :k], np.zeros_like(answered[..., :k]), four, {})
        return KINDS[kind].prepare(rows, options)

    wrong = answered & ~certified
    assert among.shape[0] == len(GATES)
    return {
        "aurc expected": make("aurc", {"ties": "expected"}, confidence=boundary, error=wrong),
        "aurc row_order": make("aurc", {"ties": "row_order"}, confidence=boundary, error=wrong),
        "aurc coarse": make("aurc", {}, confidence=coarse, error=wrong),
        "aurc coarse K=4": make("aurc", {}, 4, confidence=coarse, error=wrong),
        "auroc": make("auroc", {}, score=boundary, label=decidable),
        "brier": make("brier", {}, confidence=boundary, label=decidable),
        "mean": make("mean", {}, mean=boundary),
        "selective": make("selective_accuracy", {"coverage": 0.8}, confidence=boundary, correct=certified),
        "quantile": make("quantile", {"q": 0.9}, of=boundary),
        "distinct": make("distinct", {}, of=coarse),
    }


def best(call, repeats=15):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main():
    rng = np.random.default_rng(0)
    weights = rng.multinomial(UNITS, np.full(UNITS, 1 / UNITS), size=RESAMPLES).astype(float)
    weights[0] = 1.0
    start = time.perf_counter()
    kernels = prepared(rng)
    print(f"prepare {1e3 * (time.perf_counter() - start):8.2f} ms")
    total = 0.0
    for name, kernel in kernels.items():
        spent = best(lambda kernel=kernel: kernel.compute(weights))
        total += spent
        print(f"{name:16} {spent:7.2f} ms")
    together = best(lambda: [kernel.compute(weights) for kernel in kernels.values()])
    print(f"all, one pass   {together:8.2f} ms (sum {total:.2f})")
    for name, kernel in extras(rng).items():
        print(f"{name:16} {best(lambda kernel=kernel: kernel.compute(weights), 5):7.2f} ms")


if __name__ == "__main__":
    main()
