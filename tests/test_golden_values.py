"""Printed values through the real pipeline: the split 32/34, the rows of ALWAYS and NEVER, dropped pairs."""

from __future__ import annotations

import csv
import json

import pytest
from scipy.stats import spearmanr

from prereg.cli.app import execute

METRICS = {
    "failure": {"rate": "answered and not certified", "among": "not decidable", "part": "test"},
    "precision": {"rate": "certified", "among": "answered"},
    "recall": {"rate": "certified", "among": "decidable"},
    "distance": {"value": "(1 - precision) + (1 - recall)"},
    "ece": {"ece": {"confidence": "boundary", "label": "decidable"}, "among": "answered"},
    "aurc": {"aurc": {"confidence": "boundary", "error": "answered and not certified"}, "among": "answered"},
    "index": {"refusal_index": {"refused": "not answered", "wrong": "answered and not certified"}},
    "calibration_units": {"count": "true"},
    "test_units": {"count": "true", "part": "test"},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Suites of 45 and 21 tasks, three runs of which one never answers, gates up to 0.9: ledger and table."""
    folder = tmp_path_factory.mktemp("golden")
    lines = ["run,task,suite,decidable,answered,certified,boundary"]
    for run, step in (("careful", 3), ("bold", 7), ("middle", 5), ("silent", 0)):
        for t in range(66):
            known = t < 45
            answered = step > 0 and (known or t % step == 0)
            certified = answered and known and t % step > 0
            boundary = (t * 37 % 100) / 100
            truths = ",".join(str(x).lower() for x in (known, answered, certified))
            lines.append(f"{run},t{t:02},{'known' if known else 'open'},{truths},{boundary}")
    (folder / "records.csv").write_text("\n".join(lines) + "\n")
    protocol = {
        "prereg": 1,
        "id": "golden",
        "title": "Printed values",
        "data": {"records": "records.csv", "arm": "run", "unit": "task"},
        "split": {
            "parts": {"calibration": 0.5, "test": 0.5}, "stratify": "suite", "seed": 0,
            "default": "calibration",
        },
        "policies": {
            "gate": {"score": "boundary", "at_least": ["none", 0.5, 0.9]}, "degenerate": ["always", "never"],
        },
        "metrics": METRICS,
        "resampling": {"resamples": 100, "stratify": "suite", "seed": 0},
        "predictions": {
            "pairs": {"claim": "spearman(precision, failure) < 0"},
            "all-pairs": {"claim": "spearman(recall, failure) > 0"},
            "counted": {
                "claim": "calibration_units[careful] == 32 and test_units[careful] == 34",
                "evidence": "point",
            },
        },
    }  # fmt: skip
    path = folder / "protocol.yaml"
    path.write_text(json.dumps(protocol))
    assert execute(["lock", str(path), "-C", str(folder)]) == 0
    assert execute(["run", "-C", str(folder)]) == 0
    ledger = next(folder.glob("results/golden/*/ledger.json"))
    content = json.loads(ledger.read_text())["content"]
    rows = list(csv.DictReader((ledger.parent / "policies.csv").read_text().splitlines()))
    return {p["id"]: p for p in content["predictions"]}, rows


def of(rows, run, metric):
    (row,) = [r for r in rows if r["run"] == run and r["metric"] == metric and r["gate"] in ("", "none")]
    return row


def test_suites_of_45_and_21_halve_into_32_and_34_as_published(found):
    ledger, rows = found
    assert ledger["counted"]["verdict"] == "held"
    assert [leg["n"] for leg in ledger["counted"]["legs"]] == [32, 34]
    # 22 of 45 decidable and 10 of 21 undecidable tasks calibrate; 11 undecidable ones are tested
    assert of(rows, "bold", "recall")["denominator"] == "22"
    assert of(rows, "bold", "failure")["denominator"] == "11"


def test_the_always_row_as_published(found):
    rows = found[1]
    published = {"precision": "0", "recall": "0", "distance": "2", "aurc": "1", "failure": "1"}
    for metric, value in published.items():
        assert of(rows, "always", metric)["value"] == value
    assert of(rows, "always", "index")["value"] == ""
    assert of(rows, "always", "index")["reason"] == "constant"
    assert float(of(rows, "always", "ece")["value"]) > 0  # `boundary` is the same for all runs: kept


def test_the_never_row_as_published(found):
    rows = found[1]
    for metric, value in {"recall": "0", "failure": "0"}.items():
        assert of(rows, "never", metric)["value"] == value
    for metric, reason in {
        "precision": "vacuous", "ece": "vacuous", "aurc": "vacuous", "index": "constant",
        "distance": "undefined_input",
    }.items():  # fmt: skip
        row = of(rows, "never", metric)
        assert (row["value"], row["reason"]) == ("", reason)


def test_spearman_leaves_undefined_pairs_out_and_shows_n_against_scipy(found):
    """4 runs x 3 gates; the silent run has no precision at all, others none at the highest gate."""
    ledger, rows = found
    real = [r for r in rows if r["run"] not in ("always", "never")]
    sides = {
        m: {r["policy"]: r for r in real if r["metric"] == m} for m in ("precision", "recall", "failure")
    }
    vacuous = {p for p, r in sides["precision"].items() if r["reason"] == "vacuous"}
    assert {"silent none", "silent 0.5", "silent 0.9"} < vacuous
    for name, metric, lost in (("pairs", "precision", vacuous), ("all-pairs", "recall", set())):
        kept = [p for p in sides[metric] if p not in lost]
        assert (ledger[name]["n"], ledger[name]["n_undefined"]) == (12 - len(lost), len(lost))
        x, y = ([float(sides[m][p]["value"]) for p in kept] for m in (metric, "failure"))
        assert ledger[name]["left"] == pytest.approx(spearmanr(x, y).statistic, rel=1e-9)
        assert ledger[name]["resamples_defined"] == 100
