"""The whole computation a second time, slowly: dictionaries, loops and fractions, one resample at a time.

Written from the definitions alone.  Nothing is imported from the package, and of NumPy only the raw words of
its Philox generator are used.  Cells are `bool`, `Fraction`, `str` or None (missing).  A value is a fraction
or, where it is undefined, the reason as a text.  Row expressions are tuples, such as
("and", "answered", ("not", "certified")), that `say` writes in the protocol language.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np


class Refused(Exception):
    """The records do not allow what the spec asks for."""


# -- row expressions ---------------------------------------------------------------------------------------

COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def row_value(expression, row):
    """Kleene: what a missing cell leaves open is None."""
    if isinstance(expression, str):
        return row[expression]
    op, *operands = expression
    if op == "number":
        return Fraction(operands[0])
    if op == "text":
        return operands[0]
    values = [row_value(x, row) for x in operands]
    if op == "defined":
        return values[0] is not None
    if op == "and":
        return False if False in values else (None if None in values else True)
    if op == "or":
        return True if True in values else (None if None in values else False)
    if None in values:
        return None
    if op == "not":
        return not values[0]
    if op == "minus":
        return number(values[0]) - number(values[1])
    return COMPARE[op](*values)


def say(expression):
    """The same expression in the protocol language."""
    if isinstance(expression, str):
        return expression
    op, *operands = expression
    if op == "number":
        return operands[0]
    if op == "text":
        return f'"{operands[0]}"'
    inner = [say(x) for x in operands]
    if op == "defined":
        return f"defined({inner[0]})"
    if op == "not":
        return f"(not {inner[0]})"
    return "(" + f" {'-' if op == 'minus' else op} ".join(inner) + ")"


def columns_of(expression):
    if isinstance(expression, str):
        return {expression}
    op, *operands = expression
    return set() if op in ("number", "text") else set().union(*map(columns_of, operands))


def number(cell):
    return Fraction(int(cell)) if isinstance(cell, bool) else cell


# -- metric kinds: a list of rows, each the values of its parameters ---------------------------------------


def blocks(rows, key):
    """Rows in blocks of equal key, largest key first; rows without a key are the last block."""
    known = sorted({key(r) for r in rows if key(r) is not None}, reverse=True)
    found = [[r for r in rows if key(r) == k] for k in known]
    rest = [r for r in rows if key(r) is None]
    return [*found, rest] if rest else found


def wrong(row):
    return int(row["error"]) if "error" in row else 1 - int(row["label"])


def rate(rows, _):
    return Fraction(sum(r["rate"] for r in rows), len(rows)) if rows else "vacuous"


def count(rows, _):
    return Fraction(sum(r["count"] for r in rows))


def total(rows, _):
    return sum((number(r["sum"]) for r in rows), Fraction(0))


def mean(rows, _):
    return sum(number(r["mean"]) for r in rows) / len(rows) if rows else "vacuous"


def ece(rows, options):
    if not rows:
        return "vacuous"
    bins = options.get("bins", 10)
    gaps = [Fraction(0)] * bins
    for r in rows:
        confidence = Fraction(round(r["confidence"] * 10**9), 10**9)
        if options.get("edges", "right_closed") == "right_closed":
            k = max(math.ceil(confidence * bins) - 1, 0)
        else:
            k = min(math.floor(confidence * bins), bins - 1)
        gaps[k] += 1 - wrong(r) - confidence
    return sum(map(abs, gaps)) / len(rows)


def brier(rows, _):
    if not rows:
        return "vacuous"
    return sum((1 - wrong(r) - r["confidence"]) ** 2 for r in rows) / len(rows)


def auroc(rows, _):
    if not rows:
        return "vacuous"
    positive = [r["score"] for r in rows if r["label"]]
    negative = [r["score"] for r in rows if not r["label"]]
    if not positive or not negative:
        return "single_class"
    won = sum((p > q) + (p >= q) for p in positive for q in negative)
    return Fraction(won, 2 * len(positive) * len(negative))


def aurc(rows, options):
    if not rows:
        return "vacuous"
    ties = options.get("ties", "threshold")
    area, before, errors = Fraction(0), 0, 0
    for block in blocks(rows, lambda r: r["confidence"]):
        marks = [wrong(r) for r in block]
        size, bad = len(marks), sum(marks)
        if ties == "threshold":
            area += Fraction(size * (errors + bad), before + size)
        elif ties == "row_order":
            area += sum(Fraction(errors + sum(marks[: i + 1]), before + i + 1) for i in range(size))
        else:  # over all orders, the first i rows of a block hold i/size of its errors on average
            area += sum((errors + Fraction(i * bad, size)) / (before + i) for i in range(1, size + 1))
        before, errors = before + size, errors + bad
    return area / len(rows)


def eaurc(rows, options):
    area = aurc(rows, options)
    if isinstance(area, str):
        return area
    bad, n = sum(map(wrong, rows)), len(rows)
    return area - sum((Fraction(i, n - bad + i) for i in range(1, bad + 1)), Fraction(0)) / n


def refusal_index(rows, _):
    """All samples of a unit together; rows carry their `unit`, copies of a drawn unit apart."""
    shares = []
    for _unit, group in itertools.groupby(rows, key=lambda r: r["unit"]):
        members = list(group)
        shares.append(
            tuple(Fraction(sum(r[name] for r in members), len(members)) for name in ("refused", "wrong"))
        )
    if not shares:
        return "vacuous"
    return spearman(*zip(*shares, strict=True))


def selective_accuracy(rows, options):
    if not rows:
        return "vacuous"
    chosen = []
    for block in blocks(rows, lambda r: r["confidence"]):
        if chosen and len(chosen) >= Fraction(options["coverage"]) * len(rows):
            break
        chosen += block
    return Fraction(sum(r["correct"] for r in chosen), len(chosen))


def quantile_of_rows(rows, options):
    return quantile([number(r["of"]) for r in rows], options["q"]) if rows else "vacuous"


def distinct(rows, _):
    return Fraction(len({r["of"] for r in rows}))


KINDS = {
    "rate": rate, "count": count, "sum": total, "mean": mean, "ece": ece, "brier": brier, "auroc": auroc,
    "aurc": aurc, "eaurc": eaurc, "refusal_index": refusal_index, "selective_accuracy": selective_accuracy,
    "quantile": quantile_of_rows, "distinct": distinct,
}  # fmt: skip
LACKING = {("selective_accuracy", "confidence")}
"""Parameters that a row may lack."""


# -- statistics of lists of fractions ----------------------------------------------------------------------


def root(x):
    with localcontext() as context:
        context.prec = 50
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).sqrt())


def twelve(value):
    """Rounded to 12 decimals."""
    return value if isinstance(value, str) else Fraction(round(value * 10**12), 10**12)


def quantile(values, q):
    """Type 7."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * Fraction(q)
    low = math.floor(position)
    return ordered[low] + (position - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def moments(x, y):
    """n times the sums of products and squares about the means."""
    n, sx, sy = len(x), sum(x), sum(y)
    products = ((x, y, sx * sy), (x, x, sx * sx), (y, y, sy * sy))
    return [n * sum(a * b for a, b in zip(p, q, strict=True)) - means for p, q, means in products]


def pearson(x, y):
    if len(x) < 3:
        return "too_few_pairs"
    sxy, sxx, syy = moments(x, y)
    return sxy / root(Fraction(sxx * syy)) if sxx and syy else "constant"


def doubled_ranks(values):
    """Twice the average ranks: whole numbers."""
    times = Counter(values)
    rank, below = {}, 0
    for value in sorted(times):
        rank[value] = 2 * below + times[value] + 1
        below += times[value]
    return [rank[v] for v in values]


def spearman(x, y):
    return pearson(doubled_ranks(x), doubled_ranks(y))


def kendall(x, y):
    """tau-b."""
    if len(x) < 3:
        return "too_few_pairs"
    pairs = list(itertools.combinations(zip(x, y, strict=True), 2))
    score = sum(((a > c) - (a < c)) * ((b > d) - (b < d)) for (a, b), (c, d) in pairs)
    tx = sum(a != c for (a, _), (c, _) in pairs)
    ty = sum(b != d for (_, b), (_, d) in pairs)
    return Fraction(score) / root(Fraction(tx * ty)) if tx and ty else "constant"


def slope(y, x):
    if len(x) < 3:
        return "too_few_pairs"
    sxy, sxx, syy = moments(x, y)
    return Fraction(sxy) / sxx if sxx and syy else "constant"


def sd(values):
    if len(values) < 2:
        return "too_few_pairs"
    centre = sum(values) / Fraction(len(values))
    return root(sum((v - centre) ** 2 for v in values) / (len(values) - 1))


PAIRED = {"spearman": spearman, "kendall": kendall, "pearson": pearson, "slope": slope}
OVER_ONE = {
    "mean": lambda v: sum(v) / Fraction(len(v)),
    "median": lambda v: quantile(v, "0.5"),
    "min": min,
    "max": max,
    "sum": sum,
    "sd": sd,
}


def reduce_vectors(statistic, vectors):
    """A statistic such as ("spearman", "a", "b") or ("share", "a", ">", "0.5") of metrics by policy.

    Returns (value or reason, n, n_undefined).  Policies meet by key; a missing partner is undefined.
    """
    name = statistic[0]
    if name in PAIRED:
        x, y = vectors[statistic[1]], vectors[statistic[2]]
        keys = [*x, *[k for k in y if k not in x]]
        both = [(x.get(k, "no_partner"), y.get(k, "no_partner")) for k in keys]
        pairs = [(a, b) for a, b in both if not isinstance(a, str) and not isinstance(b, str)]
        value = PAIRED[name](*zip(*pairs, strict=True)) if pairs else "too_few_pairs"
        return twelve(value), len(pairs), len(both) - len(pairs)
    vector = list(vectors[statistic[1]].values())
    known = [v for v in vector if not isinstance(v, str)]
    n, gone = len(known), len(vector) - len(known)
    if name in ("all", "any", "count", "share"):
        op, bound = statistic[2:]
        truths = [COMPARE[op](twelve(v - Fraction(bound)), 0) for v in known]
        if name == "all":
            value = Fraction(0) if False in truths else ("undefined_input" if gone or not n else Fraction(1))
        elif name == "any":
            value = Fraction(1) if True in truths else ("undefined_input" if gone or not n else Fraction(0))
        else:
            value = Fraction(sum(truths), 1 if name == "count" else n) if n else "vacuous"
    elif not n:
        value = "vacuous"
    else:
        value = quantile(known, statistic[2]) if name == "quantile" else OVER_ONE[name](known)
    return twelve(value), n, gone


# -- units, parts, draws -----------------------------------------------------------------------------------


def keyed(seed, *names):
    return hashlib.sha256("\0".join([str(seed), *names]).encode()).digest()


def split_units(stratum_of, parts, seed, dataset):
    """Part of each unit: within a stratum units in the order of their seeded keys, cut at exact shares."""
    part_of = {}
    for stratum in set(stratum_of.values()):
        names = [x for x in (dataset, stratum) if x is not None]
        inside = sorted(
            (u for u, s in stratum_of.items() if s == stratum), key=lambda u: keyed(seed, "split", *names, u)
        )
        for rank, unit in enumerate(inside):
            before = Fraction(0)
            for name, share in parts:
                after = before + Fraction(share)
                if math.floor(len(inside) * before) <= rank < math.floor(len(inside) * after):
                    part_of[unit] = name
                before = after
    return part_of


def drawn(seed, dataset, part, stratum_of, b):
    """The members that resample b draws, in order: every stratum as often as it has members."""
    ordered = sorted(stratum_of, key=lambda m: (stratum_of[m], m))
    names = "\0".join(x for x in ("resample", dataset, part) if x is not None)
    key = [seed, int.from_bytes(hashlib.sha256(names.encode()).digest()[:8], "little")]
    own = -(-len(ordered) // 4)
    philox = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=b * own)
    words = [int(w) for w in philox.random_raw(4 * own)]
    found, place = [], 0
    for _, group in itertools.groupby(ordered, key=lambda m: stratum_of[m]):
        members = list(group)
        own_words = words[place : place + len(members)]
        found += [members[((word >> 32) * len(members)) >> 32] for word in own_words]
        place += len(members)
    return found


def sample_order(sample):
    return Decimal(sample)


class Panel:
    """One dataset: rows[arm][unit] = rows in the order of their samples."""

    def __init__(self, name, records, spec):
        self.name = name
        arms = sorted({r["arm"] for r in records})
        samples = {r["sample"] for r in records}
        rows = {arm: {} for arm in arms}
        for record in sorted(records, key=lambda r: sample_order(r["sample"])):
            rows[record["arm"]].setdefault(record["unit"], []).append(record)
        units = {r["unit"] for r in records}
        if spec["units"] == "common":
            units = {
                u for u in units if all(u in rows[arm] and len(rows[arm][u]) == len(samples) for arm in arms)
            }
        if not units:
            raise Refused("no common unit")
        self.seen = {arm: len(rows[arm]) for arm in arms}
        self.units = sorted(units)
        self.rows = {arm: {u: rows[arm][u] for u in self.units if u in rows[arm]} for arm in arms}
        self.rows = {arm: by_unit for arm, by_unit in self.rows.items() if by_unit}
        self.dropped = {arm: self.seen[arm] - len(self.rows.get(arm, {})) for arm in arms}
        self.part_of = dict.fromkeys(self.units)
        split = spec.get("split")
        if split is not None:
            strata = {u: self.joined(u, split["stratify"]) for u in self.units}
            self.part_of = split_units(strata, split["parts"], split["seed"], name)
            for part, _ in split["parts"]:
                if part not in self.part_of.values():
                    raise Refused("an empty part")

    def joined(self, unit, columns):
        if not columns:
            return None
        row = next(by_unit[unit][0] for by_unit in self.rows.values() if unit in by_unit)
        return "\0".join(row[c] for c in columns)

    def members(self, part):
        return [u for u in self.units if self.part_of[u] == part]

    def degenerate(self, name):
        """The rows of `always` or `never`: columns that differ between arms or samples of a unit are lost."""
        every = {u: [r for arm in self.rows for r in self.rows[arm].get(u, [])] for u in self.units}
        columns = [c for c in every[self.units[0]][0] if c not in ("arm", "unit", "sample", "dataset")]
        kept = {c for c in columns if all(r[c] == rows[0][c] for rows in every.values() for r in rows)}
        found = {}
        for unit, rows in every.items():
            by_sample = {}
            for r in rows:
                by_sample.setdefault(r["sample"], r)
            found[unit] = [
                {
                    **{c: r[c] if c in kept or c not in columns else None for c in r},
                    "answered": name == "always",
                    "certified": False,
                }
                for _, r in sorted(by_sample.items(), key=lambda pair: sample_order(pair[0]))
            ]
        return found


def gated(panel, gate, arm, value):
    """The rows of an arm as one gate leaves them."""
    by_unit = panel.rows[arm]
    passing = set()
    if "at_least" in gate:
        for unit, rows in by_unit.items():
            for i, row in enumerate(rows):
                score = row[gate["score"]]
                if value == "none" or (score is not None and score >= Fraction(value)):
                    passing.add((unit, i))
    else:
        for part in set(panel.part_of.values()):
            rows = [
                (row[gate["score"]], unit, i)
                for unit, rows in by_unit.items()
                if panel.part_of[unit] == part
                for i, row in enumerate(rows)
            ]
            chosen = []
            for block in blocks(rows, lambda x: x[0]):
                if value != "none" and len(chosen) >= Fraction(value) * len(rows):
                    break
                chosen += block
            passing |= {(unit, i) for _, unit, i in chosen}
    return {
        unit: [
            row if (unit, i) in passing else {**row, "answered": False, "certified": False}
            for i, row in enumerate(rows)
        ]
        for unit, rows in by_unit.items()
    }


# -- the program -------------------------------------------------------------------------------------------


class Program:
    """All metrics of a spec, at the point (b = None) and in every resample."""

    def __init__(self, records, spec):
        self.spec = spec
        records = [{c: Fraction(v) if isinstance(v, Decimal) else v for c, v in r.items()} for r in records]
        if spec.get("where") is not None:
            records = [r for r in records if row_value(spec["where"], r)]
        if not records:
            raise Refused("no record")
        names = sorted({r["dataset"] for r in records}) if spec["dataset"] else [None]
        self.panels = [
            Panel(name, [r for r in records if name is None or r["dataset"] == name], spec) for name in names
        ]
        self.prepared = {name: self.prepare(m) for name, m in spec["metrics"].items()}
        self.draws = {}
        self.known = {}

    def category_order(self, column):
        cells = {
            r[column] for p in self.panels for by in p.rows.values() for rows in by.values() for r in rows
        }
        return sorted(c for c in cells if c is not None)

    def reads_roles(self, metric):
        read = set().union(*map(columns_of, [*metric["rows"].values(), metric["among"] or ("number", "0")]))
        return bool(read & {"answered", "certified"})

    def prepare(self, metric):
        """(which, key) -> (panel, part, unit -> rows as the metric sees them)."""
        spec, found = self.spec, {}
        gate, roles = spec.get("gate"), self.reads_roles(metric)
        settings = (gate.get("at_least") or gate["coverage"]) if gate is not None and roles else [None]
        part = metric["part"]
        per = metric["per"]
        categories = self.category_order(per) if per else [None]
        for panel in self.panels:
            policies = []
            for setting in settings:
                for arm in panel.rows:
                    by_unit = panel.rows[arm] if setting is None else gated(panel, gate, arm, setting)
                    policies.append((None, (*arm,), setting, by_unit))
            if roles:
                policies += [(which, (), None, panel.degenerate(which)) for which in spec["degenerate"]]
            for which, arm, setting, by_unit in policies:
                for category in categories:
                    key = (*arm, *(x for x in (panel.name, setting, category) if x is not None))
                    seen = {
                        u: self.view(metric, by_unit[u], category)
                        for u in panel.members(part)
                        if u in by_unit
                    }
                    of_category = {u for u in seen if self.has(metric, by_unit[u], category)}
                    found[which, key] = (panel, part, seen, of_category)
        return found

    def read(self, metric, rows):
        """The samples of a unit that a metric reads."""
        every = metric["kind"] == "refusal_index" or self.spec["samples"] == "all"
        return rows if every else rows[:1]

    def has(self, metric, rows, category):
        return category is None or any(r[metric["per"]] == category for r in self.read(metric, rows))

    def view(self, metric, rows, category):
        """A unit's rows inside `among`, each the values of the parameters; "missing" where that is open."""
        found = []
        for row in self.read(metric, rows):
            inside = True if metric["among"] is None else row_value(metric["among"], row)
            if category is not None:
                here = None if row[metric["per"]] is None else row[metric["per"]] == category
                inside = False if False in (inside, here) else (None if here is None else inside)
            if inside is False:
                continue
            values = {name: row_value(e, row) for name, e in metric["rows"].items()}
            lacking = any(v is None and (metric["kind"], n) not in LACKING for n, v in values.items())
            found.append("missing" if inside is None or lacking else values)
        return found

    def units_of(self, panel, part, b):
        """The units of a part as often as resample b draws them, sorted."""
        key = (panel.name, part, b)
        if key not in self.draws:
            units = panel.members(part)
            spec = self.spec["resampling"]
            if b is not None and (spec.get("parts") is None or part in spec["parts"]):
                cluster_of = {
                    u: panel.joined(u, [spec["cluster"]]) if spec.get("cluster") else u for u in units
                }
                stratum_of = {cluster_of[u]: panel.joined(u, spec["stratify"]) or "" for u in units}
                chosen = drawn(spec["seed"], panel.name, part, stratum_of, b)
                units = [u for u in units for c in chosen if c == cluster_of[u]]
            self.draws[key] = units
        return self.draws[key]

    def metric(self, name, b=None):
        """(which, key) -> Fraction rounded to 12 decimals, or the reason."""
        if (name, b) not in self.known:
            self.known[name, b] = self.computed(name, b)
        return self.known[name, b]

    def computed(self, name, b):
        metric = self.spec["metrics"][name]
        found = {}
        for key, (panel, part, seen, of_category) in self.prepared[name].items():
            rows = []
            chosen = self.units_of(panel, part, b)
            for unit, copies in itertools.groupby(chosen):
                times = len(list(copies))
                if metric["kind"] == "refusal_index":
                    rows += [
                        r if r == "missing" else {**r, "unit": (unit, i)}
                        for i in range(times)
                        for r in seen.get(unit, [])
                    ]
                else:  # a row that is drawn twice is two rows, one after the other
                    rows += [r for r in seen.get(unit, []) for _ in range(times)]
            if "missing" in rows:
                found[key] = "missing"
            elif not of_category & set(chosen) and metric["per"]:
                found[key] = "empty_category"
            else:
                found[key] = twelve(KINDS[metric["kind"]](rows, metric["options"]))
        return found

    def detail(self, name):
        """(which, key) -> (units with a row, rows, numerator, denominator) at the point."""
        out = {}
        for key, (_, _, seen, _) in self.prepared[name].items():
            rows = [r for rows in seen.values() for r in rows]
            hits = None
            if self.spec["metrics"][name]["kind"] == "rate":
                hits = sum(r["rate"] for r in rows if r != "missing")
            out[key] = (sum(bool(rows) for rows in seen.values()), len(rows), hits, len(rows))
        return out

    def vectors(self, b=None):
        """Metric -> key -> value, over the real policies, with the distances of `values`."""
        found = {
            name: {k: v for (which, k), v in self.metric(name, b).items() if which is None}
            for name in self.spec["metrics"]
        }
        return found | {
            name: {k: self.distance(found[a][k], found[c][k]) for k in found[a]}
            for name, (a, c) in self.spec["values"].items()
        }

    @staticmethod
    def distance(a, b):
        """(1 - a) + (1 - b)."""
        return "undefined_input" if isinstance(a, str) or isinstance(b, str) else twelve((1 - a) + (1 - b))


def interval(values, level):
    """Percentile interval of the defined values."""
    tail = (1 - Fraction(level)) / 2
    return quantile(values, tail), quantile(values, 1 - tail)


def verdict(point, values, op, level):
    """(verdict, reason) of one leg against 0 under `evidence: interval`; values hold None where undefined."""
    known = [v for v in values if v is not None]
    if point is None or 2 * len(known) < len(values):
        return "failed", "undefined"
    if len(set(known)) == 1:
        return "failed", "no_variation"
    true = [COMPARE[op](x, 0) for x in (point, *interval(known, level))]
    if all(true):
        return "held", None
    if not any(true):
        return "falsified", None
    return "failed", "short" if true[0] else "contrary"
