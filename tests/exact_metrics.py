"""Slow exact metrics in fractions: one resample and policy at a time, rows as often as they are drawn."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from prereg.metrics import KINDS, Rows


def exact(number):
    return Fraction(repr(float(number)))


def risk_sum(errors):
    return sum((Fraction(sum(errors[: i + 1]), i + 1) for i in range(len(errors))), Fraction(0))


def tie_blocks(rows, key):
    ordered = sorted(rows, key=key)
    return [list(group) for _, group in itertools.groupby(ordered, key=key)]


def aurc(rows, options):
    """Rows are (unit, sample) dictionaries in row order."""
    if not rows:
        return "vacuous"
    errors = [dict(r, error=int(r["error"] if "error" in r else 1 - r["label"])) for r in rows]
    ties = options.get("ties", "threshold")
    blocks = tie_blocks(errors, lambda r: -r["confidence"])
    n = len(rows)
    if ties == "threshold":
        total = Fraction(0)
        for r in errors:
            above = [x["error"] for x in errors if x["confidence"] >= r["confidence"]]
            total += Fraction(sum(above), len(above))
        return total / n
    if ties == "row_order":
        return risk_sum([r["error"] for block in blocks for r in block]) / n
    # The risk at a position inside a block, averaged over orders: by symmetry every set of j rows of the
    # block comes first equally often.
    total, count, wrong = Fraction(0), 0, 0
    for block in blocks:
        marks = [r["error"] for r in block]
        for j in range(1, len(block) + 1):
            total += (wrong + Fraction(j * sum(marks), len(block))) / (count + j)
        count += len(block)
        wrong += sum(marks)
    return total / n


def aurc_over_all_orders(rows):
    """The definition of `expected`, by listing every order of every tied block (tiny inputs)."""
    blocks = tie_blocks(rows, lambda r: -r["confidence"])
    sums = [
        risk_sum([int(r["error"]) for block in choice for r in block])
        for choice in itertools.product(*(list(itertools.permutations(block)) for block in blocks))
    ]
    return sum(sums) / len(sums) / len(rows)


def eaurc(rows, options):
    value = aurc(rows, options)
    if isinstance(value, str):
        return value
    wrong = sum(int(r["error"] if "error" in r else 1 - r["label"]) for r in rows)
    return value - risk_sum([0] * (len(rows) - wrong) + [1] * wrong) / len(rows)


def auroc(rows, options):
    if not rows:
        return "vacuous"
    positive = [r["score"] for r in rows if r["label"]]
    negative = [r["score"] for r in rows if not r["label"]]
    if not positive or not negative:
        return "single_class"
    pairs = sum(Fraction(2 * (p > q) + (p == q), 2) for p in positive for q in negative)
    return pairs / (len(positive) * len(negative))


def nine(confidence):
    return Fraction(round(exact(confidence) * 10**9), 10**9)


def label_of(row):
    return int(row["label"] if "label" in row else 1 - row["error"])


def ece(rows, options):
    if not rows:
        return "vacuous"
    bins = options.get("bins", 10)
    right = options.get("edges", "right_closed") == "right_closed"
    total, placed = Fraction(0), 0
    for k in range(bins):
        low, high = Fraction(k, bins), Fraction(k + 1, bins)
        inside = []
        for r in rows:
            c = nine(r["confidence"])
            if right:
                belongs = low < c <= high or (k == 0 and c == 0)
            else:
                belongs = low <= c < high or (k == bins - 1 and c == 1)
            if belongs:
                inside.append(label_of(r) - c)
        placed += len(inside)
        total += abs(sum(inside, Fraction(0)))
    assert placed == len(rows)
    return total / len(rows)


def brier(rows, options):
    if not rows:
        return "vacuous"
    return sum((nine(r["confidence"]) - label_of(r)) ** 2 for r in rows) / len(rows)


def rate(rows, options):
    return Fraction(sum(int(r["rate"]) for r in rows), len(rows)) if rows else "vacuous"


def count(rows, options):
    return Fraction(sum(int(r["count"]) for r in rows))


def total(rows, options):
    return sum((exact(r["sum"]) for r in rows), Fraction(0))


def mean(rows, options):
    return sum(exact(r["mean"]) for r in rows) / len(rows) if rows else "vacuous"


def quantile(rows, options):
    if not rows:
        return "vacuous"
    ordered = sorted(exact(r["of"]) for r in rows)
    position = (len(ordered) - 1) * Fraction(str(options["q"]))
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def distinct(rows, options):
    return Fraction(len({r["of"] for r in rows}))


def selective_accuracy(rows, options):
    if not rows:
        return "vacuous"

    def key(r):
        return math.inf if math.isnan(r["confidence"]) else -r["confidence"]

    chosen = []
    for block in tie_blocks(rows, key):
        if len(chosen) >= Fraction(str(options["coverage"])) * len(rows):
            break
        chosen += block
    return Fraction(sum(int(r["correct"]) for r in chosen), len(chosen))


def refusal_index(rows, options):
    """Here a row is a unit with the shares `refused` and `wrong`; the value is irrational: a float."""
    if not rows:
        return "vacuous"
    if len(rows) < 3:
        return "too_few_pairs"

    def centred(values):
        ranks = [2 * sum(x < v for x in values) + sum(x == v for x in values) + 1 for v in values]
        return [r - len(values) - 1 for r in ranks]

    x, y = centred([r["refused"] for r in rows]), centred([r["wrong"] for r in rows])
    sxx, syy = sum(a * a for a in x), sum(b * b for b in y)
    if not sxx or not syy:
        return "constant"
    sxy = sum(a * b for a, b in zip(x, y, strict=True))
    return math.copysign(math.sqrt(Fraction(sxy * sxy, sxx * syy)), sxy)


SLOW = {
    "rate": rate, "count": count, "sum": total, "mean": mean, "quantile": quantile, "distinct": distinct,
    "ece": ece, "brier": brier, "auroc": auroc, "aurc": aurc, "eaurc": eaurc,
    "selective_accuracy": selective_accuracy, "refusal_index": refusal_index,
}  # fmt: skip


def slow(kind, rows, options, weights):
    """Values as floats or reasons, (R, P) nested lists."""
    names = list(rows.arguments)
    columns = [rows.among, rows.missing, *rows.arguments.values()]
    shape = np.broadcast_shapes(*(c.shape for c in columns))
    among, missing, *values = (np.broadcast_to(c, shape) for c in columns)
    result = []
    for drawn in weights:
        line = []
        for s, a in itertools.product(range(shape[0]), range(shape[1])):
            chosen, units, lacking = [], [], False
            for u in range(shape[2]):
                times = int(drawn[u])
                lacking |= times > 0 and bool(missing[s, a, u].any())
                of_unit = [
                    {n: float(v[s, a, u, k]) for n, v in zip(names, values, strict=True)}
                    for k in range(shape[3])
                    if among[s, a, u, k] and not missing[s, a, u, k]
                ]
                if kind == "refusal_index" and of_unit:
                    shares = {n: Fraction(sum(int(r[n]) for r in of_unit), len(of_unit)) for n in names}
                    units += [shares] * times
                # A row drawn w times is w rows, one after the other.
                chosen += [r for r in of_unit for _ in range(times)]
            if lacking:
                line.append("missing")
            else:
                line.append(SLOW[kind](units if kind == "refusal_index" else chosen, options))
        result.append(line)
    return result


def fast(kind, rows, options, weights):
    return KINDS[kind].prepare(rows, options).compute(np.asarray(weights, dtype=np.float64))


def reasons(result):
    """(R, P) array of the reasons, '' where defined."""
    names = np.full(result.values.shape, "", dtype=object)
    for name, mask in reversed(result.undefined):
        names[mask] = name
    return names


def assert_same(result, expected, tolerance=0.5e-12):
    named = reasons(result)
    for i, line in enumerate(expected):
        for p, value in enumerate(line):
            if isinstance(value, str):
                assert named[i, p] == value
                assert math.isnan(result.values[i, p])
            else:
                assert named[i, p] == ""
                off = abs(Fraction(result.values[i, p]) - Fraction(value))
                assert off <= tolerance + 4e-16 * max(1.0, abs(float(value))), (
                    i,
                    p,
                    value,
                    result.values[i, p],
                )


def rows_of(among=None, missing=None, decimals=None, **arguments):
    """Rows from arrays of (A, U) or more axes."""
    four = {}
    for name, value in arguments.items():
        array = np.asarray(value, dtype=np.float64)
        four[name] = array if array.ndim == 4 else array.reshape(1, *array.shape, *([1] * (3 - array.ndim)))
    shape = np.broadcast_shapes(*(v.shape for v in four.values()))
    among = np.ones(shape, bool) if among is None else np.asarray(among, bool).reshape(shape)
    missing = np.zeros(shape, bool) if missing is None else np.asarray(missing, bool).reshape(shape)
    return Rows(among, missing, four, decimals or {})


def random_rows(kind, rng, shape=(2, 3, 9, 2)):
    """A panel with ties, an empty policy, a policy of one class, missing rows and ragged presence."""
    among = rng.random(shape) < rng.choice([0.5, 0.8, 1.0])
    among[0, 0] &= rng.random() < 0.5
    missing = (rng.random(shape) < 0.03) & (rng.random() < 0.5)
    level = rng.choice([2, 4, 10, 1000])
    settings = (1, *shape[1:]) if rng.random() < 0.5 else shape

    def grid(size):
        return rng.integers(0, level + 1, size) / level

    def truth(size):
        values = (rng.random(size) < rng.choice([0.2, 0.5, 0.9])).astype(float)
        values[:, -1] = rng.random() < 0.5
        return values

    arguments = {}
    for p in KINDS[kind].parameters:
        if p.of_rows:
            if p.alternative_to in arguments or (
                p.alternative_to and p.alternative_to > p.name and rng.random() < 0.5
            ):
                continue
            arguments[p.name] = truth(shape) if p.kind == "truth" else grid(settings)
    for p in KINDS[kind].parameters:
        if p.alternative_to and not {p.name, p.alternative_to} & set(arguments):
            arguments[p.name] = truth(shape)
    if kind == "refusal_index":
        arguments["wrong"] = arguments["wrong"] * (1 - arguments["refused"])
    if kind == "selective_accuracy":
        arguments["confidence"][rng.random(settings) < 0.2] = np.nan
    decimals = {"sum": 3, "mean": 3} if rng.random() < 0.5 else {}
    return Rows(among, missing, arguments, decimals)


def random_weights(rng, resamples, units):
    weights = rng.multinomial(units, np.full(units, 1 / units), size=resamples).astype(float)
    weights[0] = 1.0
    return weights


OPTIONS = {
    "aurc": [{}, {"ties": "row_order"}, {"ties": "expected"}],
    "eaurc": [{}, {"ties": "row_order"}, {"ties": "expected"}],
    "ece": [{}, {"bins": 4}, {"bins": 3, "edges": "left_closed"}, {"edges": "left_closed"}],
    "selective_accuracy": [{"coverage": c} for c in ("0.1", "0.5", "0.8", "1")],
    "quantile": [{"q": q} for q in ("0", "0.25", "0.5", "0.9", "1")],
}
CASES = [(kind, options) for kind in KINDS for options in OPTIONS.get(kind, [{}])]
