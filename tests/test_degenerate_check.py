"""Warnings at check: a bar that a degenerate policy meets, and a falsifier that leaves room for its claim."""

from __future__ import annotations

import pytest

from prereg.check import check
from prereg.expression.overlap import compatible
from prereg.project import Project

PROTOCOL = """\
prereg: 1
id: bars
title: Which bars does a policy meet that answers everything, or nothing?
data: {records: records.csv, arm: run, unit: task, columns: {certified: right}}
POLICIES
metrics:
  failure: {rate: answered and not certified, among: not decidable}
  precision: {rate: certified, among: answered}
  recall: {rate: certified, among: decidable}
  refusal: {rate: not answered}
  miss: {value: failure + refusal}
  ece: {ece: {confidence: conf, label: right}}
  own: {mean: conf, among: answered}
predictions:
  p:
    claim: CLAIM
    evidence: point
FALSIFIER
"""
# run a answers two of four, run b three of four; tasks 0 and 1 are decidable
ROWS = [("a", "1100", "1000"), ("b", "1110", "1100")]
RECORDS = "run,task,answered,right,decidable,conf\n" + "".join(
    f"{run},{t},{said[t]},{right[t]},{int(t < 2)},{0.5 + t / 10 + (run == 'b') / 100}\n"
    for run, said, right in ROWS
    for t in range(4)
)
ALL, NOTHING = "everything and certifies nothing", "a policy that answers nothing"


def warnings(folder, claim, falsifier=None, policies=""):
    (folder / "records.csv").write_text(RECORDS)
    line = "" if falsifier is None else f'    falsified_if: "{falsifier}"'
    text = PROTOCOL.replace("CLAIM", f'"{claim}"').replace("FALSIFIER", line).replace("POLICIES", policies)
    (folder / "protocol.yaml").write_text(text)
    found = check(Project.at(folder), folder / "protocol.yaml").warnings
    return [w.message for w in found if "meets this claim" in w.message or "both be true" in w.message]


# By hand: `always` has failure 1, precision 0, recall 0, refusal 0; `never` has failure 0, precision vacuous,
# recall 0, refusal 1. Neither has a calibration error or a mean confidence: the arms differ in confidence.
@pytest.mark.parametrize(
    ("claim", "met"),
    [
        ("failure[a] <= 0.1", [NOTHING]),
        ("all(failure <= 0.1)", [NOTHING]),
        ("all(failure <= 0.1) and all(recall >= 0.5)", []),
        ("refusal[a] <= 0.05", [ALL]),
        ("not (refusal[a] > 0.05)", [ALL]),
        ("recall[b] < 0.5", [ALL, NOTHING]),
        ("precision[a] >= 0.5", []),
        ("precision[a] >= 0.5 or refusal[b] < 0.2", [ALL]),
        ("undefined(precision[a])", [NOTHING]),
        ("mean(failure) within [0, 0.2]", [NOTHING]),
        ("miss[a] >= 1", [ALL, NOTHING]),
        # the calibration error of an arm that answers otherwise is no number of the protocol
        ("ece[a] <= 0.9", []),
        ("own[a] <= 0.9", []),
        # two policies compared with each other say nothing of any one of them
        ("failure[a] <= failure[b]", []),
        ("failure[a] - failure[b] <= 0.1", []),
        ("mean(failure[run in [a, b]] - refusal[run in [a, b]]) < 0", [NOTHING]),
        ("differs(failure[a], failure[b])", []),
        ("spearman(failure, recall) < 1", []),
    ],
)
def test_a_bar_that_a_degenerate_policy_meets_is_told_by_hand(tmp_path, claim, met):
    found = warnings(tmp_path, claim)
    assert len(found) == len(met)
    for message, said in zip(found, met, strict=True):
        assert said in message


def test_the_same_with_gates(tmp_path):
    gate = "policies: {gate: {score: conf, at_least: [none, 0.6, 0.7]}}"
    assert len(warnings(tmp_path, "failure[a, none] <= 0.1", policies=gate)) == 1
    assert warnings(tmp_path, "failure[a, gate=0.7] <= failure[a, none]", policies=gate) == []
    assert warnings(tmp_path, "mean(failure[gate=0.7]) < mean(failure[gate=none]) + 0.1", policies=gate) == []
    assert len(warnings(tmp_path, "all(failure[run=b] <= 0.1)", policies=gate)) == 1


def test_a_degenerate_policy_that_the_falsifier_meets_too_is_no_finding(tmp_path):
    assert warnings(tmp_path, "failure[a] <= 0.1", "recall[a] < 0.4") == []
    assert len(warnings(tmp_path, "failure[a] <= 0.1", "precision[a] < 0.4")) == 1


def test_a_guard_is_about_degenerate_policies_anyway(tmp_path):
    assert warnings(tmp_path, "refusal[never] == 1", policies="policies: {degenerate: [never]}") == []


def test_records_without_answers_have_no_degenerate_policy(tmp_path):
    (tmp_path / "records.csv").write_text("run,task,right\na,1,1\na,2,0\n")
    (tmp_path / "protocol.yaml").write_text(
        "prereg: 1\nid: plain\ntitle: Plain\ndata: {records: records.csv, arm: run, unit: task}\n"
        "metrics: {accuracy: {rate: right}}\n"
        "predictions: {p: {claim: 'accuracy[a] <= 0.9', evidence: point}}\n"
    )
    assert check(Project.at(tmp_path), tmp_path / "protocol.yaml").warnings == ()


@pytest.mark.parametrize(
    ("claim", "falsifier", "both"),
    [
        ("x > 0", "x <= 0", False),
        ("x > 0", "x < 0", False),
        ("x >= 0", "x <= 0", True),
        ("x > 0", "x <= 0.05", True),
        ("x > 0.05", "x <= 0.05", False),
        ("0.05 < x", "x<=0.06", True),
        ("x > y", "x <= y", False),
        ("x > y", "y >= x", False),
        ("x >= y", "y >= x", True),
        ("x - y > 0", "x - y < -0.1", False),
        ("x within [-0.1, 0.1]", "x > 0.2", False),
        ("x within [-0.1, 0.1]", "x >= 0.1", True),
        ("x > 0 and y > 0", "x < 0.1", True),
        ("x > 0 and y > 0", "x < 0.1 and y < 0", False),
        ("x > 0", "not (x > 0)", False),
        ("x > 0", "not (x > 0.5)", True),
        ("0 < x < 1", "x == 0.5", True),
        ("x > 0 and point(x >= 0.1)", "x < 0.1", False),
        # not decided: other quantities, other connectives, statements without a bound
        ("x > 0", "y > 0", False),
        ("x > 0 or y > 0", "x > -1", False),
        ("x != 0", "x > 0", False),
        ("all(x > 0)", "any(x < 1)", False),
    ],
)
def test_claim_and_falsifier_that_leave_common_values_by_hand(claim, falsifier, both):
    assert compatible(claim, falsifier) is both


def test_both_true_is_a_warning_at_the_falsifier(tmp_path):
    (message,) = warnings(tmp_path, "precision[a] >= 0.5", "precision[a] < 0.6")
    assert "can both be true" in message
    assert warnings(tmp_path, "precision[a] >= 0.5", "precision[a] < 0.5") == []


@pytest.mark.parametrize(
    "claim", ["all(own[gate > 0.9] > 0.1)", "any(recall[gate > 0.9] > 0.1) or recall[a, none] > 0.9"]
)
def test_an_empty_selection_is_met_by_nobody(tmp_path, claim):
    gate = "policies: {gate: {score: conf, at_least: [none, 0.55]}}"
    assert warnings(tmp_path, claim, policies=gate) == []
