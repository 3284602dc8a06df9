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
    return nine(row["label"] if "label" in row else 1 - row["error"])


def equal_mass(rows, bins):
    """Rows by confidence, ties as they stand, cut into runs of which the longer ones come first."""
    ordered = sorted(rows, key=lambda r: nine(r["confidence"]))
    total, begin = Fraction(0), 0
    for k in range(bins):
        size = len(rows) // bins + (k < len(rows) % bins)
        run = ordered[begin : begin + size]
        total += abs(sum((label_of(r) - nine(r["confidence"]) for r in run), Fraction(0)))
        begin += size
    assert begin == len(rows)
    return total / len(rows)


def ece(rows, options):
    if not rows:
        return "vacuous"
    bins = options.get("bins", 10)
    if options.get("binning") == "equal_mass":
        return equal_mass(rows, bins)
    edges = options.get("edges", "right_closed")
    right = edges == "right_closed"
    total, placed = Fraction(0), 0
    for k in range(bins):
        low, high = Fraction(k, bins), Fraction(k + 1, bins)
        if edges == "linspace":
            low, high = (Fraction(float(x)) for x in np.linspace(0, 1, bins + 1)[k : k + 2])
        inside = []
        for r in rows:
            c = nine(r["confidence"])
            exactly, c = c, Fraction(float(c)) if edges == "linspace" else c  # floats against floats
            if right:
                belongs = low < c <= high or (k == 0 and c == 0)
            else:
                belongs = low <= c < high or (k == bins - 1 and c == 1)
            if belongs:
                inside.append(label_of(r) - exactly)
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
    if rows and "weight" in rows[0]:
        total = sum(exact(r["weight"]) for r in rows)
        return sum(exact(r["mean"]) * exact(r["weight"]) for r in rows) / total if total else "vacuous"
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


# --- over categories: the grid is walked, line by line -----------------------------------------------------


def of_categories(rows, options):
    """[(rows, accuracy, mean confidence)] per category, or the reason why there is none."""
    if not rows:
        return "vacuous"
    if options.get("ties") == "drop":
        rows = [r for r in rows if r["correct"] != 0.5]
    out = []
    for code in options["levels"]["groups"]:
        inside = [r for r in rows if r["groups"] == code]
        if not inside:
            return "empty_category"
        sums = [sum(nine(r[name]) for r in inside) for name in ("correct", "confidence")]
        out.append((len(inside), sums[0] / len(inside), sums[1] / len(inside)))
    return out


def over_categories(function):
    def slowly(rows, options):
        found = of_categories(rows, options)
        return found if isinstance(found, str) else function(found, options)

    return slowly


@over_categories
def category_calibration_error(found, options):
    gaps = [(n, abs(p - a)) for n, a, p in found]
    if options.get("weights") == "rows":
        return sum(n * e for n, e in gaps) / sum(n for n, _ in gaps)
    return sum(e for _, e in gaps) / len(gaps)


@over_categories
def category_brier(found, options):
    return sum((p - a) ** 2 for _, a, p in found) / len(found)


@over_categories
def worst_category(found, options):
    if options.get("of") == "calibration_error":
        return max(abs(p - a) for _, a, p in found)
    return min(a for _, a, _ in found)


@over_categories
def pvc(found, options):
    return Fraction(sum(a >= Fraction(options["at_least"]) for _, a, _ in found))


@over_categories
def cpvc(found, options):
    bar, bound = Fraction(options["at_least"]), Fraction(options["within"])
    return Fraction(sum(a >= bar and abs(p - a) <= bound for _, a, p in found))


def walked(found, options, *, constrained, margin=False, of=lambda count: count):
    """The double trapezoid over the whole grid of weight(g, t) * of(count(g, t))."""
    step = Fraction(str(options.get("grid", "0.01")))
    lines = [k * step for k in range(int(1 / step) + 1)]
    reached = np.array([[a >= g for g in lines] for _, a, _ in found]).astype(int)
    close = np.array([[not constrained or abs(p - a) <= t for t in lines] for _, a, p in found]).astype(int)
    counts = (reached.T @ close).tolist()
    weighted = options.get("weights", "margin") == "margin"
    total, last = Fraction(0), len(lines) - 1
    for i, g in enumerate(lines):
        # g > t + 1/2 in whole steps; twice the sum over t, so that the halves at the ends are whole
        chosen = [j for j in range(last + 1) if not margin or 2 * i > 2 * j + last]
        doubled = sum(of(counts[i][j]) * (1 if j in (0, last) else 2) for j in chosen)
        weight = 2 / (g - Fraction(1, 2)) if margin and weighted and chosen else 1
        total += doubled * weight * (Fraction(1, 2) if i in (0, last) else 1)
    return total / 2 * step**2


@over_categories
def pvc_vus(found, options):
    return walked(found, options, constrained=False)


@over_categories
def cpvc_vus(found, options):
    return walked(found, options, constrained=True)


@over_categories
def pm_pvc_vus(found, options):
    return walked(found, options, constrained=False, margin=True)


@over_categories
def pm_cpvc_vus(found, options):
    return walked(found, options, constrained=True, margin=True)


@over_categories
def pm_sc_vus(found, options):
    def sample_complexity(count):
        return math.ceil((count + math.log(20)) / 0.01)

    return walked(found, options, constrained=True, margin=True, of=sample_complexity)


# --- raters ------------------------------------------------------------------------------------------------


def votes_of(rows):
    return [[row[name] for name in sorted(row)] for row in rows]


def agreement(rows, options):
    if not rows:
        return "vacuous"
    pairs = [a == b for votes in votes_of(rows) for a, b in itertools.combinations(votes, 2)]
    return Fraction(sum(pairs), len(pairs))


def kappa(observed, chance):
    return "constant" if chance == 1 else (observed - chance) / (1 - chance)


def cohen_kappa(rows, options):
    if not rows:
        return "vacuous"
    first, second = zip(*votes_of(rows), strict=True)
    chance = sum(Fraction(first.count(x) * second.count(x), len(rows) ** 2) for x in {*first, *second})
    return kappa(agreement(rows, options), chance)


def fleiss_kappa(rows, options):
    if not rows:
        return "vacuous"
    every = [v for votes in votes_of(rows) for v in votes]
    chance = sum(Fraction(every.count(x), len(every)) ** 2 for x in set(every))
    return kappa(agreement(rows, options), chance)


SLOW = {
    "rate": rate, "count": count, "sum": total, "mean": mean, "quantile": quantile, "distinct": distinct,
    "ece": ece, "brier": brier, "auroc": auroc, "aurc": aurc, "eaurc": eaurc,
    "selective_accuracy": selective_accuracy, "refusal_index": refusal_index,
    "category_calibration_error": category_calibration_error, "category_brier": category_brier,
    "worst_category": worst_category, "pvc": pvc, "cpvc": cpvc, "pvc_vus": pvc_vus, "cpvc_vus": cpvc_vus,
    "pm_pvc_vus": pm_pvc_vus, "pm_cpvc_vus": pm_cpvc_vus, "pm_sc_vus": pm_sc_vus,
    "agreement": agreement, "cohen_kappa": cohen_kappa, "fleiss_kappa": fleiss_kappa,
}  # fmt: skip


def slow(kind, rows, options, weights):
    """Values as floats or reasons, (R, P) nested lists."""
    names = list(rows.arguments)
    options = {**options, "levels": rows.levels}
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
    return Rows(among, missing, four, decimals or {}, levels_of(four))


def levels_of(arguments):
    """The codes that occur, of every column parameter."""
    found = {}
    for name, codes in arguments.items():
        if name == "groups" or name.startswith("raters."):
            seen = set(codes[~np.isnan(codes)].astype(int).tolist())
            found[name.partition(".")[0]] = found.get(name.partition(".")[0], set()) | seen
    return {name: tuple(sorted(codes)) for name, codes in found.items()}


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
            if p.optional and rng.random() < 0.5:
                continue
            if p.name == "groups":
                arguments[p.name] = (rng.integers(0, rng.integers(1, 4), shape)).astype(float)
            elif p.kind == "columns":
                raters = 2 if p.most == 2 else int(rng.integers(2, 5))
                for i in range(raters):
                    arguments[f"{p.name}.{i}"] = (3 * rng.random(shape) * rng.random(shape)).astype(int) * 1.0
            elif p.name in {"correct", "label", "error"} and p.kind == "unit_interval":
                arguments[p.name] = np.where(rng.random(shape) < 0.2, 0.5, truth(shape))
            else:
                arguments[p.name] = truth(shape) if p.kind == "truth" else grid(settings)
    for p in KINDS[kind].parameters:
        if p.alternative_to and not {p.name, p.alternative_to} & set(arguments):
            arguments[p.name] = truth(shape)
    if kind == "refusal_index":
        arguments["wrong"] = arguments["wrong"] * (1 - arguments["refused"])
    if kind == "selective_accuracy":
        arguments["confidence"][rng.random(settings) < 0.2] = np.nan
    decimals = {"sum": 3, "mean": 3, "weight": 3} if rng.random() < 0.5 else {}
    return Rows(among, missing, arguments, decimals, levels_of(arguments))


def random_weights(rng, resamples, units):
    weights = rng.multinomial(units, np.full(units, 1 / units), size=resamples).astype(float)
    weights[0] = 1.0
    return weights


OPTIONS = {
    "aurc": [{}, {"ties": "row_order"}, {"ties": "expected"}],
    "eaurc": [{}, {"ties": "row_order"}, {"ties": "expected"}],
    "ece": [
        {},
        {"bins": 4},
        {"bins": 3, "edges": "left_closed"},
        {"edges": "left_closed"},
        {"edges": "linspace"},
        {"binning": "equal_mass"},
        {"binning": "equal_mass", "bins": 3},
    ],
    "selective_accuracy": [{"coverage": c} for c in ("0.1", "0.5", "0.8", "1")],
    "quantile": [{"q": q} for q in ("0", "0.25", "0.5", "0.9", "1")],
    "category_calibration_error": [{}, {"weights": "rows"}, {"ties": "drop"}],
    "worst_category": [{}, {"of": "calibration_error"}],
    "pvc": [{"at_least": "0.5"}, {"at_least": "0.75"}],
    "cpvc": [{"at_least": "0.5", "within": "0.25"}],
    **{
        kind: [{"grid": "0.1"}, {"grid": "0.05", "ties": "drop"}]
        for kind in ("pvc_vus", "cpvc_vus", "pm_pvc_vus", "pm_sc_vus")
    },
    "pm_cpvc_vus": [{"grid": "0.1"}, {"grid": "0.05", "weights": "none"}, {"grid": "0.05", "ties": "drop"}],
}
CASES = [(kind, options) for kind in KINDS for options in OPTIONS.get(kind, [{}])]
