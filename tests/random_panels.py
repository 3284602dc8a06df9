"""Random records with a protocol over them: small, full of ties, gaps, empty denominators, single classes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from slow_program import COMPARE, PAIRED, columns_of, say

ARMS = ["a", "B", "10", "9", "é", "z"]
UNITS = ["10", "9", "1", "02", "a", "B", "b", "é", "Z", "u-1", "u 2", "ü", "x", "y"]
SAMPLES = ["2", "10", "1", "7"]
GATES = ["none", "0.25", "0.5", "0.7", "0.75", "1"]
ROLES = {"answered", "certified"}


@dataclass
class Case:
    """Records and spec for the slow program, and the same as files."""

    seed: int
    records: list
    spec: dict
    statistics: list
    protocol: dict
    columns: list
    lines: list

    def csv(self, lines=None):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [self.columns, *(self.lines if lines is None else lines)]
        )
        return out.getvalue()

    def json_lines(self):
        return "".join(
            json.dumps({c: _json(r[c]) for c in self.columns if r[c] is not None or r["odd"]}) + "\n"
            for r in map(self._by_column, self.records)
        )

    def _by_column(self, record):
        names = {"task": record["unit"], "set": record["dataset"], "k": record["sample"]}
        arms = dict(zip(self.spec["arm"], record["arm"], strict=True))
        # a missing cell is a null in some rows and an absent key in others
        return {**record, **names, **arms, "odd": len(record["unit"]) % 2}

    def write(self, folder, kind="csv"):
        name = "records.csv" if kind == "csv" else "records.jsonl"
        text = self.csv() if kind == "csv" else self.json_lines()
        (folder / name).write_text(text, encoding="utf-8")
        protocol = {**self.protocol, "data": {**self.protocol["data"], "records": name}}
        (folder / "protocol.yaml").write_text(json.dumps(protocol, ensure_ascii=False), encoding="utf-8")
        return folder / "protocol.yaml"


def _json(cell):
    return float(cell) if isinstance(cell, Decimal) else cell


def _cell(value, zero_one):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value)) if zero_one else str(value).lower()
    return str(value)


def _grid(rng):
    """Confidences: few distinct values, many, or one."""
    steps = rng.choice([1, 2, 4, 10, 20, 1000])
    constant = rng.random() < 0.1
    pick = Decimal(rng.randint(0, steps)) / steps
    return lambda: pick if constant else Decimal(rng.randint(0, steps)) / steps


def _records(rng, arms, spec):
    datasets = ["s", "T"] if spec["dataset"] else [None]
    samples = rng.sample(SAMPLES, rng.randint(2, 3)) if spec["sample"] else ["0"]
    gap = rng.choice([0, 0, 0.04])
    lost = rng.choice([0, 0, 0.03, 0.1])
    conf, lean, points = _grid(rng), _grid(rng), _grid(rng)
    kept_head = rng.random() < 0.4  # one confidence for all arms: `always` keeps it
    easy = rng.choice([0.3, 0.5, 0.9, 1])
    found = []
    for dataset in datasets:
        size = rng.randint(3, 10)
        for unit in rng.sample(UNITS, size):
            suite = rng.choice(["k", "K", "m"][: rng.randint(1, 3)])
            fixed = {
                "dataset": dataset,
                "unit": unit,
                "decidable": rng.random() < easy,
                "suite": suite,
                "doc": f"{suite}{rng.randint(0, 2)}",
            }
            shared = conf()
            for i, arm in enumerate(arms):
                for sample in samples:
                    if rng.random() < lost:
                        continue
                    answered = rng.random() < (0.05 if i == 0 and spec["quiet"] else 0.7)
                    certified = answered and rng.random() < 0.6
                    row = {
                        **fixed,
                        "arm": arm,
                        "sample": sample,
                        "answered": answered,
                        "certified": certified,
                        "conf": shared if kept_head else conf(),
                        "lean": lean(),
                        "points": points() * 7 - 3,
                        "tag": rng.choice(["x", "y", "w z"]),
                    }
                    for column in ("certified", "lean", "points", "tag"):
                        if rng.random() < gap:
                            row[column] = None
                    found.append(row)
    rng.shuffle(found)
    return found


def _among(rng):
    return rng.choice(
        [
            None,
            None,
            "answered",
            "answered",
            "decidable",
            ("not", "decidable"),
            ("and", "answered", "decidable"),
            ("or", "answered", (">=", "lean", ("number", "0.5"))),
            ("and", ("defined", "lean"), (">", "lean", ("number", "0.25"))),
            (">", "points", ("number", "-1.5")),
            ("==", "tag", ("text", "x")),
            ("and", ("not", ("==", "tag", ("text", "y"))), "answered"),
        ]
    )


OVER = ("and", "answered", ("not", "certified"))


def _metric(rng, kind):
    def truth():
        return rng.choice(["certified", "answered", OVER, "decidable", ("!=", "tag", ("text", "x"))])

    def column():
        return rng.choice(["points", "conf", "lean"])

    def head():
        return rng.choice(["conf", "conf", "lean"])

    options = {}
    if kind in ("rate", "count"):
        rows = {kind: truth()}
    elif kind in ("sum", "mean"):
        rows = {kind: rng.choice(["points", "conf", "lean", ("minus", ("number", "1"), "conf")])}
    elif kind in ("ece", "brier", "aurc", "eaurc"):
        rows = {"confidence": head(), rng.choice(["label", "error"]): truth()}
        if kind == "ece":
            options = rng.choice(
                [{}, {"bins": 4}, {"bins": 3, "edges": "left_closed"}, {"edges": "left_closed"}]
            )
        elif kind != "brier":
            options = rng.choice([{}, {"ties": "row_order"}, {"ties": "expected"}])
    elif kind == "auroc":
        rows = {"score": column(), "label": truth()}
    elif kind == "refusal_index":
        rows = {"refused": ("not", "answered"), "wrong": OVER}
    elif kind == "selective_accuracy":
        rows = {"confidence": head(), "correct": truth()}
        options = {"coverage": rng.choice(["0.1", "0.5", "0.8", "1"])}
    elif kind == "quantile":
        rows = {"of": column()}
        options = {"q": rng.choice(["0", "0.1", "0.5", "0.9", "1"])}
    else:
        rows = {"of": rng.choice(["tag", "points", "suite"])}
    among = None if kind == "refusal_index" and rng.random() < 0.7 else _among(rng)
    per = rng.choice(["suite", "tag"]) if rng.random() < 0.12 else None
    return {"kind": kind, "rows": rows, "options": options, "among": among, "per": per}


KINDS = [
    "rate", "rate", "count", "sum", "mean", "ece", "brier", "auroc", "aurc", "eaurc", "refusal_index",
    "selective_accuracy", "quantile", "distinct",
]  # fmt: skip


def _spec(rng):
    spec = {
        "arm": rng.choice([["run"], ["run"], ["model", "prompt"]]),
        "dataset": "set" if rng.random() < 0.4 else None,
        "sample": "k" if rng.random() < 0.6 else None,
        "units": rng.choice(["common", "common", "all"]),
        "where": rng.choice([None, None, None, (">=", "conf", ("number", "0.1"))]),
        "quiet": rng.random() < 0.4,
        "degenerate": rng.choice([[], ["always", "never"]]),
    }
    if spec["units"] == "all" and spec["sample"]:
        spec[
            "degenerate"
        ] = []  # which samples an answer-all policy has is not said where arms have other ones
    spec["samples"] = rng.choice(["first", "all"]) if spec["sample"] else None
    spec["split"] = None
    if rng.random() < 0.6:
        parts = rng.choice([[("b", "0.5"), ("a", "0.5")], [("one", "0.3"), ("two", "0.3"), ("three", "0.4")]])
        spec["split"] = {"parts": parts, "stratify": rng.choice([[], ["suite"]]), "seed": rng.randint(0, 99)}
    spec["gate"] = None
    if rng.random() < 0.75:
        score = rng.choice(["conf", "lean"])
        if rng.random() < 0.75:
            spec["gate"] = {"score": score, "at_least": rng.sample(GATES, rng.randint(1, 4))}
        else:
            spec["gate"] = {"score": score, "coverage": rng.sample(["0.3", "0.5", "0.8", "1"], 2)}
    names = [name for name, _ in spec["split"]["parts"]] if spec["split"] else None
    spec["metrics"] = {}
    for i, kind in enumerate(["rate", "rate", *rng.sample(KINDS, 4)]):
        metric = _metric(rng, kind)
        spec["metrics"][f"m{i}"] = {**metric, "part": rng.choice(names) if names else None}
    spec["metrics"]["m0"]["per"] = spec["metrics"]["m1"]["per"] = None
    spec["values"] = {}
    if _by_policy(spec, "m0") == _by_policy(spec, "m1"):
        spec["values"]["far"] = ("m0", "m1")
    spec["resampling"] = {
        "resamples": rng.randint(15, 22),
        "seed": rng.choice([0, 1, 2**40 + 3]),
        "stratify": rng.choice([[], ["suite"]]),
        "cluster": rng.choice([None, None, "doc"]),
        "parts": [names[0]] if names and rng.random() < 0.2 else None,
        "level": rng.choice(["0.95", "0.9", "0.5"]),
    }
    return spec


def _by_policy(spec, name):
    m = spec["metrics"][name]
    read = set().union(*map(columns_of, [*m["rows"].values(), m["among"] or ("number", "0")]))
    return spec["gate"] is not None and bool(read & ROLES)


def _statistics(rng, spec):
    """(id, statistic, comparison or None): with a comparison it is a prediction, otherwise a report."""
    plain = [n for n, m in spec["metrics"].items() if m["per"] is None]
    groups = [[n for n in plain if _by_policy(spec, n) is by] for by in (True, False)]
    if spec["values"]:
        groups[not _by_policy(spec, "m0")].append("far")
    found = []
    for group in groups:
        if len(group) >= 2:
            found += [(name, *rng.sample(group, 2)) for name in (*PAIRED, "spearman")]
    anything = [*spec["metrics"], *spec["values"]]
    found += [(name, rng.choice(anything)) for name in ("mean", "median", "min", "max", "sum", "sd")]
    found.append(("quantile", rng.choice(anything), rng.choice(["0.1", "0.5", "0.75"])))
    found += [
        (name, rng.choice(anything), rng.choice(list(COMPARE)[:4]), "0.5")
        for name in ("all", "any", "count", "share")
    ]
    out = []
    for i, statistic in enumerate(found):
        judged = rng.choice(["<", "<=", ">", ">="]) if statistic[0] not in ("all", "any") else None
        out.append((f"p{i}" if judged else f"r{i}", statistic, judged))
    return out


def spoken(statistic):
    name, *rest = statistic
    if name in ("all", "any", "count", "share"):
        return f"{name}({' '.join(rest)})"
    return f"{name}({', '.join(rest)})"


BOUND = "0.25"
"""What the statistics of predictions are compared with."""


def _protocol(rng, seed, spec, statistics):
    data = {"records": "records.csv", "arm": spec["arm"], "unit": "task", "units": spec["units"]}
    data["types"] = {"tag": "text", "suite": "text", "doc": "text"}
    data |= {key: column for key, column in (("dataset", "set"), ("sample", "k")) if spec[key]}
    if spec["samples"] and (spec["samples"] != "first" or rng.random() < 0.5):
        data["samples"] = spec["samples"]
    if spec["where"] is not None:
        data["where"] = say(spec["where"])
    policies = {}
    if spec["gate"] is not None:
        policies["gate"] = {
            k: v if k == "score" else [x if x == "none" else float(x) for x in v]
            for k, v in spec["gate"].items()
        }
    if spec["degenerate"]:
        policies["degenerate"] = spec["degenerate"]
    metrics = {}
    for name, m in spec["metrics"].items():
        given = {k: say(e) for k, e in m["rows"].items()}
        given |= {k: float(v) if k in ("q", "coverage") else v for k, v in m["options"].items()}
        metrics[name] = {m["kind"]: given[m["kind"]] if list(given) == [m["kind"]] else given}
        metrics[name] |= {k: v for k, v in (("part", m["part"]), ("per", m["per"])) if v is not None}
        if m["among"] is not None:
            metrics[name]["among"] = say(m["among"])
    for name, (a, b) in spec["values"].items():
        metrics[name] = {"value": f"(1 - {a}) + (1 - {b})"}
    resampling = {k: v for k, v in spec["resampling"].items() if v} | {
        "level": float(spec["resampling"]["level"])
    }
    resampling.setdefault("seed", 0)
    out = {
        "prereg": 1,
        "id": f"panel-{seed}",
        "title": "A random panel",
        "data": data,
        "policies": policies,
        "metrics": metrics,
        "resampling": resampling,
        "predictions": {
            name: {"claim": f"{spoken(statistic)} {op} {BOUND}"} for name, statistic, op in statistics if op
        },
        "reports": {name: spoken(statistic) for name, statistic, op in statistics if not op},
    }
    if spec["split"]:
        split = {"parts": {n: float(s) for n, s in spec["split"]["parts"]}, "seed": spec["split"]["seed"]}
        out["split"] = split | ({"stratify": spec["split"]["stratify"]} if spec["split"]["stratify"] else {})
    return out


def random_case(seed):
    """The panel of a seed."""
    rng = Random(seed)
    spec = _spec(rng)
    if len(spec["arm"]) == 1:
        arms = [(a,) for a in rng.sample(ARMS, rng.randint(2, 4))]
    else:
        arms = rng.sample([(a, b) for a in ARMS[:2] for b in ("p", "Q")], rng.randint(2, 4))
    records = _records(rng, arms, spec)
    statistics = _statistics(rng, spec)
    protocol = _protocol(rng, seed, spec, statistics)
    own = [*spec["arm"], "task", *(["set"] if spec["dataset"] else []), *(["k"] if spec["sample"] else [])]
    others = ["decidable", "suite", "doc", "answered", "certified", "conf", "lean", "points", "tag"]
    zero_one = rng.random() < 0.3
    lines = [
        [
            *r["arm"],
            r["unit"],
            *([r["dataset"]] if spec["dataset"] else []),
            *([r["sample"]] if spec["sample"] else []),
            *(_cell(r[c], zero_one) for c in others),
        ]
        for r in records
    ]
    return Case(seed, records, spec, statistics, protocol, [*own, *others], lines)
