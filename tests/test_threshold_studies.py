"""The worked example on real scores, and the shipped risk scores: scripts, notes and known figures."""

from __future__ import annotations

import bisect
import csv
import hashlib
import importlib.metadata
import json
import math
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

import slow_thresholds as slow
from prereg.cli.app import execute
from prereg.split import seeded_key

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "data"
SCRIPT = ROOT / "protocols" / "data" / "make_risk_scores.py"
SCORES = ROOT / "protocols" / "data" / "risk-scores.csv"

# The worked example, as it stands.
RISK_BUDGET = """\
# Pick a threshold whose false omission rate stays within a budget, with a certificate.
prereg: 1
id: risk-budget
title: Naive, empirical and Learn-Then-Test thresholds under six risk budgets

data:
  records: data/scores.csv
  arm: scorer
  dataset: dataset
  unit: row
  columns: {score: score, label: y}

split: {column: part}                    # fit, calibration and test, as assigned in the data

policies:
  threshold:
    act_below: score                     # action 0 ("allow") when score < tau, else 1
    control: {rate: label == 1, among: action == 0}      # the risk kept within budget
    candidates: {part: fit, midpoints: 200, endpoints: true}
    select: {part: calibration, rules: [naive, empirical, ltt], delta: 0.10, min_support: 25}
    budget: [0.05, 0.10, 0.15, 0.20, 0.40, 0.50]

metrics:
  risk:     {rate: label == 1, among: action == 0, part: test}     # false omission rate
  utility:  {rate: action == 0, among: label == 0, part: test}     # benign acceptance
  excess:   {value: "maximum(risk - budget, 0)"}
  over_budget: {value: excess > 0}
  deployed: {value: defined(tau)}

resampling: {parts: [test], resamples: 1000, seed: 42, level: 0.95}

predictions:
  ltt-rarely-exceeds-its-budget:
    claim: mean(over_budget[rule=ltt]) <= 0.10
    evidence: point
  naive-exceeds-more-often-than-ltt:           # paired: on the settings that both rules deploy
    claim: mean(over_budget[rule=naive] - over_budget[rule=ltt]) > 0
  strict-budgets-deploy-less:
    claim: mean(deployed[rule=ltt, budget=0.05]) < mean(deployed[rule=ltt, budget=0.50])
    evidence: point
"""
BUDGETS = ("0.05", "0.1", "0.15", "0.2", "0.4", "0.5")


def source(*names):
    path = SHARED.joinpath(*names)
    if not path.exists():
        pytest.skip(f"the scored set {'/'.join(names)} is not here: it may not be shipped")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def part(*names):
    """A seeded part: 20 % fit, 40 % calibration, 40 % test."""
    place = int.from_bytes(seeded_key(7, *names)[:4], "big") / 2**32
    return "fit" if place < 0.2 else "calibration" if place < 0.6 else "test"


def toxicity():
    for r in source("toxicity_madlibs", "madlibs_scored_notext.csv"):
        for scorer in ("TOXICITY@1", "TOXICITY@6"):
            yield scorer, "madlibs", r["item"], r[scorer], str(int(r["label"] == "toxic")), part(r["item"])


def compas():
    # deciles 1..10 as tenths: a score in [0, 1] with ten values
    for r in source("compas_two_year", "compas_two_year.csv"):
        for scorer in ("decile_score", "v_decile_score"):
            if int(r["decile_score"]) >= 1 and int(r["v_decile_score"]) >= 1:
                yield (
                    scorer,
                    "compas",
                    r["item"],
                    str(int(r[scorer]) / 10),
                    r["two_year_recid"],
                    part(r["item"]),
                )


def multiple_choice():
    # the score must rise with the chance of the bad label: a wrong answer, so 1 - msp
    for r in source("mcq_confidence", "truthfulqa.csv"):
        if r["prompt"] == "first" and r["model"] in ("Falcon-7b", "Llama3-70b", "GPT-4o"):
            score = f"{1 - float(r['msp']):.6f}"
            yield (
                r["model"],
                "truthfulqa",
                r["item"],
                score,
                str(int(r["grade"] != "Correct")),
                part(r["item"]),
            )


SETS = {"toxicity": toxicity, "compas": compas, "multiple choice": multiple_choice}


def auroc(pairs):
    """P(score of a positive > of a negative) + P(tie)/2, from sorted counts."""
    by_score = {}
    for s, y in pairs:
        by_score.setdefault(Fraction(s), [0, 0])[y] += 1
    below = wins = 0
    for s in sorted(by_score):
        negatives, positives = by_score[s]
        wins += positives * (2 * below + negatives)
        below += negatives
    positives = sum(y for _, y in pairs)
    return Fraction(wins, 2 * positives * below)


class Sums:
    """N and K below any threshold, by bisection."""

    def __init__(self, pairs):
        ordered = sorted(pairs)
        self.scores = [s for s, _ in ordered]
        self.positives = [0, *accumulate(y for _, y in ordered)]

    def below(self, tau):
        n = bisect.bisect_left(self.scores, tau)
        return n, self.positives[n]


def run_example(folder, rows, text=RISK_BUDGET):
    """Lock and run; the ledger's content and the rows of both tables."""
    (folder / "data").mkdir()
    lines = ["scorer,dataset,row,score,y,part", *(",".join(row) for row in rows)]
    (folder / "data" / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "risk-budget.yaml").write_text(text, encoding="utf-8")
    assert execute(["lock", "risk-budget.yaml"]) == 0
    assert execute(["run", "risk-budget"]) == 0
    (found,) = (folder / "results" / "risk-budget").glob("*/ledger.json")
    tables = []
    for name in ("policies.csv", "thresholds.csv"):
        with (found.parent / name).open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return json.loads(found.read_text(encoding="utf-8"))["content"], *tables


@pytest.mark.parametrize("name", SETS)
def test_the_worked_example_runs_as_it_stands_and_chooses_as_the_slow_program(name, tmp_path, monkeypatch):
    rows = list(SETS[name]())
    monkeypatch.chdir(tmp_path)
    content, policies, trace = run_example(tmp_path, rows)
    assert [p["verdict"] in ("held", "failed", "falsified") for p in content["predictions"]] == [True] * 3
    parts = {}
    for scorer, _, _, score, y, where in rows:
        parts.setdefault((scorer, where), []).append((Fraction(score), int(y)))
    sums = {key: Sums(pairs) for key, pairs in parts.items()}
    tau = {(r["scorer"], r["rule"], r["budget"]): r for r in policies if r["metric"] == "tau"}
    scorers = sorted({r[0] for r in rows})
    assert set(tau) == {(s, r, b) for s in scorers for r in ("naive", "empirical", "ltt") for b in BUDGETS}
    for scorer in scorers:
        fit = [s for s, _ in parts[scorer, "fit"]]
        family = [float(t) for t in slow.family(fit, 200, endpoints=True)]
        for budget in BUDGETS:
            for rule in ("empirical", "ltt"):
                mine = [t for t in trace if (t["scorer"], t["rule"], t["budget"]) == (scorer, rule, budget)]
                assert [float(t["tau"]) for t in mine] == family
                counts = [(int(t["n"]), int(t["k"])) for t in mine]
                assert counts == [sums[scorer, "calibration"].below(Fraction(t["tau"])) for t in mine]
                found = by_exact_tails(mine, counts, rule, Fraction(budget))
                assert [t["tau"] for t in mine if t["selected"] == "true"] == ([found] if found else [])
                row = tau[scorer, rule, budget]
                assert (row["reason"] == "not_deployed") == (found is None)
        naive = [float(tau[scorer, "naive", b]["value"]) for b in BUDGETS]
        assert naive == [float(b) for b in BUDGETS]
    # the risk on the test part, from the records
    for r in policies:
        if r["metric"] == "risk":
            threshold = tau[r["scorer"], r["rule"], r["budget"]]["value"]
            if not threshold:
                assert r["reason"] == "not_deployed"
                continue
            chosen = next(
                t["tau"]
                for t in trace
                if t["selected"] == "true" and all(t[f] == r[f] for f in ("scorer", "rule", "budget"))
            )
            n, k = sums[r["scorer"], "test"].below(Fraction(chosen))
            assert (r["numerator"], r["denominator"]) == (str(k), str(n))


def by_exact_tails(mine, counts, rule, alpha):
    """The choice with tails by scipy, and by whole numbers where they are near delta."""
    stats = pytest.importorskip("scipy.stats")
    found = None
    for t, (n, k) in zip(mine, counts, strict=True):
        if n < (25 if rule == "empirical" else slow.floor_of(alpha, Fraction(1, 10))):
            continue
        if rule == "empirical":
            if k <= alpha * n:
                found = t["tau"]
            continue
        p = float(stats.binom.cdf(k, n, float(alpha)))
        if (slow.tail(k, n, alpha) > Fraction(1, 10)) if abs(p - 0.1) < 1e-6 else p > 0.1:
            break
        found = t["tau"]
    return found


def test_auroc_of_the_toxicity_scores_is_the_one_of_their_note():
    # SOURCE.md of the set: 0.9165 for TOXICITY@1, 0.9895 for TOXICITY@6
    rows = list(toxicity())
    for scorer, known in (("TOXICITY@1", "0.9165"), ("TOXICITY@6", "0.9895")):
        pairs = [(r[3], int(r[4])) for r in rows if r[0] == scorer]
        assert len(pairs) == 28440
        assert f"{float(auroc(pairs)):.4f}" == known


def test_known_figures_through_a_protocol(tmp_path, monkeypatch):
    """AUROC of the toxicity scores, and the false omission rate of COMPAS `Low`, 1216 of 3897."""
    rows = [[*r[:5], "test"] for r in toxicity()]
    rows += [
        ["fixed", "madlibs", f"{p}{i}", "0.5", "0", p] for p in ("fit", "calibration") for i in range(30)
    ]
    low = source("compas_two_year", "compas_two_year.csv")
    rows += [
        ["decile", "compas", r["item"], str(int(r["decile_score"]) / 10), r["two_year_recid"], "test"]
        for r in low
    ]
    rows += [
        ["decile", "compas", f"{p}{i}", "0.4", "0", p] for p in ("fit", "calibration") for i in range(30)
    ]
    text = RISK_BUDGET.replace("  unit: row\n", "  unit: row\n  units: all\n").replace(
        "budget: [0.05, 0.10, 0.15, 0.20, 0.40, 0.50]", "budget: [0.45, 0.50]"
    )
    text = text.replace(
        "  deployed:", "  auroc: {auroc: {score: score, label: label}, part: test}\n  deployed:"
    )
    text = text.replace("budget=0.05", "budget=0.45").replace("resamples: 1000", "resamples: 20")
    monkeypatch.chdir(tmp_path)
    _, policies, _ = run_example(tmp_path, rows, text)
    found = {r["scorer"]: float(r["value"]) for r in policies if r["metric"] == "auroc" and r["value"]}
    assert round(found["TOXICITY@1"], 4) == 0.9165
    assert round(found["TOXICITY@6"], 4) == 0.9895
    # Low is a decile of 1 to 4, so a score below 0.45
    (row,) = [
        r
        for r in policies
        if (r["metric"], r["scorer"], r["rule"], r["budget"]) == ("risk", "decile", "naive", "0.45")
    ]
    assert (row["numerator"], row["denominator"]) == ("1216", "3897")


def test_tied_discrete_scores_have_a_candidate_between_any_two_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, trace = run_example(tmp_path, list(compas()))
    mine = [t for t in trace if (t["scorer"], t["rule"], t["budget"]) == ("decile_score", "ltt", "0.4")]
    between = ["0.15", "0.25", "0.35", "0.45", "0.55", "0.65", "0.75", "0.85", "0.95"]
    assert [t["tau"] for t in mine] == ["0", *between, "1"]
    assert any(t["status"] == "certified" for t in mine)


# -- the shipped scores --------------------------------------------------------------------------------------


def named_versions():
    (line,) = re.findall(r"^MADE_WITH = (\{.*\})$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    return json.loads(line)


def run_script(*arguments, before=""):
    code = f"import runpy, sys; sys.argv[:] = {[str(SCRIPT), *map(str, arguments)]!r}\n{before}\n"
    code += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def scores():
    with SCORES.open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def test_the_script_gives_the_bytes_that_are_stored(tmp_path):
    for name, expected in named_versions().items():
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed = "none"
        if installed.split(".")[:2] != expected.split(".")[:2]:
            pytest.skip(f"the bytes are those of {name} {expected}, found {installed}")
    made = run_script("--output", tmp_path / "made.csv")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    assert (tmp_path / "made.csv").read_bytes() == SCORES.read_bytes()


def test_another_scikit_learn_is_refused_in_one_line_and_nothing_is_written(tmp_path):
    pytest.importorskip("sklearn")
    refused = run_script(
        "--output", tmp_path / "made.csv", before="import sklearn; sklearn.__version__ = '2.0.0'"
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "scikit-learn 2.0.0, not " in refused.stderr
    assert not (tmp_path / "made.csv").exists()


def test_the_note_names_the_bytes_and_versions_that_are_stored():
    note = SCORES.with_suffix(".SOURCE.md").read_text(encoding="utf-8")
    stored = SCORES.read_bytes()
    assert f"| {SCORES.name} | {len(stored)} | {hashlib.sha256(stored).hexdigest()} |" in note
    assert "Made with " + ", ".join(" ".join(named) for named in named_versions().items()) in note
    assert len(stored) < 1_000_000
    assert b"\r" not in stored


def test_sixteen_scorers_score_every_row_once_and_share_labels_and_parts(scores):
    tasks = {
        "cancer": (569, 212),
        "diabetes": (442, 221),
        "digits-odd": (1797, 906),
        "digits-eight": (1797, 174),
    }
    assert Counter((r["scorer"], r["dataset"]) for r in scores) == {
        (s, d): size for s in ("bayes", "forest", "knn", "logistic") for d, (size, _) in tasks.items()
    }
    shared = {(r["dataset"], r["row"], r["y"], r["part"]) for r in scores}
    assert len(shared) == sum(size for size, _ in tasks.values())
    positives = Counter(d for d, _, y, _ in shared if y == "1")
    assert positives == {d: k for d, (_, k) in tasks.items()}
    assert all(re.fullmatch(r"0\.\d{4}|1\.0000", r["score"]) for r in scores)


def test_parts_are_stratified_by_label_with_floors_at_30_and_70_percent(scores):
    shared = {(r["dataset"], r["row"], r["y"], r["part"]) for r in scores}
    sizes = Counter((d, y, p) for d, _, y, p in shared)
    for (d, y), n in Counter((d, y) for d, _, y, _ in shared).items():
        ends = [0, math.floor(n * Fraction(3, 10)), math.floor(n * Fraction(7, 10)), n]
        assert [sizes[d, y, p] for p in ("fit", "calibration", "test")] == [b - a for a, b in pairwise(ends)]


def test_the_shipped_protocol_can_be_locked(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert execute(["check", "protocols/risk-budget-tables.yaml"]) == 0
    assert "288 policies" in capsys.readouterr().out
