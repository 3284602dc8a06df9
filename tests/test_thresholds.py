"""Thresholds and certificates against a slow exact program, by hand, against MAPIE, and in protocols."""

from __future__ import annotations

import csv
import json
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slow_thresholds as slow
from prereg.check import check
from prereg.cli.app import execute
from prereg.errors import InputError
from prereg.estimate import Block
from prereg.intervals import lower_tail_at_most, support_floor
from prereg.prepare import Prepared
from prereg.project import Project
from prereg.resolve.thresholds import _endpoints
from prereg.thresholds import Arm, Controlled, Rule, Steps, candidates, critical, thinned
from prereg.values import REASONS

NAN = float("nan")
BUDGETS = ("0.05", "0.1", "0.15", "0.2", "0.4", "0.5", "0.01", "0.999", "0.3333333333333333")


# -- arms made of (score, label) rows ------------------------------------------------------------------------


def controlled(rows, sign=1.0):
    """The false omission rate on rows of (decimal text or None, 0 or 1)."""
    score = np.array([NAN if s is None else sign * float(s) for s, _ in rows], dtype=np.float64)
    size = len(rows)
    every, none = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    label = np.array([bool(y) for _, y in rows], dtype=bool)
    return Controlled(score, np.arange(size), size, (every, none), (label, none))


def arm_of(fit, calibration, midpoints=200, endpoints=True, naive=(NAN,)):
    part = controlled(fit)
    scores = part.score[~np.isnan(part.score)]
    ends = _endpoints(scores, 1.0) if endpoints else None
    return Arm(candidates(scores, midpoints, ends), controlled(calibration), part, naive)


def tau_of(arm, rule):
    found = arm.chosen([rule], np.ones((1, arm.calibration.units)))[0, 0]
    return None if math.isnan(found) else float(found)


def written(tau):
    """The fraction of the decimal that a double is written as."""
    return None if tau is None else Fraction(repr(tau))


def random_rows(rng, size, decimals, low, high, missing):
    """Rows with many ties, whose positives lie higher."""
    rows = []
    for _ in range(size):
        label = int(rng.random() < 0.4)
        value = rng.betavariate(2 + 3 * label, 3) * (high - low) + low
        rows.append((None if rng.random() < missing else f"{value:.{decimals}f}", label))
    return rows


def random_arm(seed):
    rng = random.Random(seed)
    low, high = rng.choice([(0, 1), (0, 1), (0, 1), (-3, 5), (1, 10)])
    decimals = rng.choice([0, 1, 1, 2, 3]) if high > 1 else rng.choice([1, 2, 2, 3])
    missing = rng.choice([0, 0, 0.1])
    fit = random_rows(rng, rng.randint(0, 80), decimals, low, high, missing)
    calibration = random_rows(rng, rng.randint(1, 150), decimals, low, high, missing)
    return rng, fit, calibration


@pytest.mark.parametrize("block", range(10))
def test_thresholds_and_p_values_of_300_random_arms_with_ties_against_slow_exact(block):
    for seed in range(block * 30, block * 30 + 30):
        rng, fit, calibration = random_arm(seed)
        midpoints, endpoints = rng.choice([200, 200, 7, 1]), rng.random() < 0.8
        arm = arm_of(fit, calibration, midpoints, endpoints)
        taus = slow.family([s for s, _ in fit], midpoints, endpoints)
        assert [written(t) for t in arm.taus.tolist()] == taus, seed
        counts = [slow.omission(calibration, t) for t in taus]
        fit_counts = [slow.omission(fit, t) for t in taus]
        for budget in rng.sample(BUDGETS, 3):
            alpha = Fraction(budget)
            delta = rng.choice(["0.1", "0.05", "0.5"])
            least = rng.choice([25, 25, 5, 1])
            floor = slow.floor_of(alpha, Fraction(delta), least)
            begin = slow.fixed_start(fit_counts, len(fit), len(calibration), floor)
            for rule, start, correction in (
                ("empirical", "screen", "fixed_sequence"),
                ("ltt", "screen", "fixed_sequence"),
                ("ltt", "fit", "fixed_sequence"),
                ("ltt", "screen", "bonferroni"),
            ):
                mine = Rule(rule, Decimal(budget), Decimal(delta), least, start, correction)
                fixed = begin if start == "fit" else None
                found, seen = slow.choose(
                    taus, counts, rule, alpha, Fraction(delta), least, fixed, correction
                )
                assert written(tau_of(arm, mine)) == found, (seed, mine)
                trace = arm.trace(mine, 0)
                assert [(t.n, t.k, t.fit_n) for t in trace] == [
                    (n, k, m) for (n, k), (m, _) in zip(counts, fit_counts, strict=True)
                ]
                assert [t.status != "screened" for t in trace] == [tested for tested, _, _ in seen]
                assert [written(t.tau) for t in trace if t.selected] == ([] if found is None else [found])
                for row, (_, passed, p) in zip(trace, seen, strict=True):
                    if row.p is not None:
                        assert row.p == pytest.approx(float(p), rel=1e-12, abs=1e-300)
                        assert passed == (row.status == "certified")


# -- candidates ----------------------------------------------------------------------------------------------


def test_candidates_are_thinned_half_up_by_hand():
    assert thinned(5, 3) == [0, 2, 4]
    assert thinned(4, 3) == [0, 2, 3]  # 1.5 goes up
    assert thinned(201, 200)[:2] == [0, 1]
    assert thinned(3, 200) == [0, 1, 2]
    assert thinned(9, 1) == [0]
    assert thinned(0, 200) == []


def test_a_midpoint_is_the_decimal_that_is_written():
    # in doubles 0.1 + (0.8 - 0.1) / 2 is 0.45000000000000001 and (0.57 + 0.69) / 2 is 0.6299999999999999
    for low in range(100):
        for high in range(low + 1, 101):
            (tau,) = candidates(np.array([low / 100, high / 100]), 200, None).tolist()
            assert Fraction(repr(tau)) == Fraction(low + high, 200)


def test_neighbouring_doubles_are_parted():
    low = 0.3
    high = math.nextafter(low, 1)
    (tau,) = candidates(np.array([low, high]), 200, None).tolist()
    assert low < tau <= high


def test_family_of_more_than_200_midpoints_has_202_members_by_hand():
    taus = candidates(np.arange(1001) / 1000, 200, (0.0, 1.0))
    assert len(taus) == 202
    assert taus[[0, 1, 2, -2, -1]].tolist() == [0.0, 0.0005, 0.0055, 0.9995, 1.0]  # place 999/199 is 5.02


def test_endpoints_are_read_from_fit_scores_alone():
    assert _endpoints(np.array([0.2, 0.8]), 1.0) == (0.0, 1.0)
    assert _endpoints(np.array([-0.8, -0.2]), -1.0) == (-1.0, 0.0)
    assert _endpoints(np.array([0.2, 1.8]), 1.0) == (0.2, 1.8)
    assert _endpoints(np.array([]), 1.0) is None


# -- floors and critical values ------------------------------------------------------------------------------


def test_support_floors_of_the_document():
    # the document: at delta 0.10, 45 for a budget of 0.05 and 22 for 0.10 (before the clip at 25)
    assert support_floor(Decimal("0.05"), Decimal("0.10"), 1) == 45
    assert support_floor(Decimal("0.10"), Decimal("0.10"), 1) == 22
    assert [Rule("ltt", Decimal(b), Decimal("0.1"), 25).floor for b in ("0.05", "0.10")] == [45, 25]
    assert Rule("empirical", Decimal("0.05"), Decimal("0.1"), 25).floor == 25


@pytest.mark.parametrize(
    ("alpha", "delta"),
    [
        ("0.05", "0.1"), ("0.5", "0.5"), ("0.5", "0.1"), ("0.1", "1e-9"), ("0.999999999", "0.3"),
        ("0.95", "0.000001"), ("1e-6", "0.9"), ("0.3333333333333333", "0.05"), ("0.4", "0.00049504950495"),
    ],
)  # fmt: skip
def test_critical_values_are_where_the_exact_tail_passes_delta(alpha, delta):
    share, limit = Decimal(alpha), Fraction(delta)
    table = critical(share, limit, 700)
    for n in [*range(1, 60), 101, 255, 256, 257, 511, 700]:
        k = int(table[n])
        assert k == -1 or lower_tail_at_most(k, n, share, limit)
        assert k == n or not lower_tail_at_most(k + 1, n, share, limit)


def test_critical_values_against_slow_exact():
    for alpha, delta in (("0.05", "0.1"), ("0.2", "0.05"), ("0.5", "1e-12"), ("0.999", "0.2")):
        table = critical(Decimal(alpha), Fraction(delta), 90)
        for n in range(1, 91):
            allowed = [k for k in range(n + 1) if slow.tail(k, n, Fraction(alpha)) <= Fraction(delta)]
            assert int(table[n]) == max(allowed, default=-1), (alpha, delta, n)


def test_equality_passes_where_a_float_tail_does_not():
    # P(Bin(n, 1/2) <= (n - 1)/2) is exactly 1/2 for odd n; scipy's value is above 1/2 for 73 of 188 of them
    table = critical(Decimal("0.5"), Fraction(1, 2), 375)
    assert [int(table[n]) for n in range(1, 376, 2)] == [(n - 1) // 2 for n in range(1, 376, 2)]


def test_the_empirical_rule_accepts_a_rate_that_equals_the_budget():
    # as numbers: 3 of 30 is the budget 0.1, and a budget of 17 digits does not overflow
    arm = arm_of([("0.1", 0), ("0.9", 1)], [("0.2", int(i < 3)) for i in range(30)])
    assert tau_of(arm, Rule("empirical", Decimal("0.1"), Decimal("0.1"), 25)) == 1.0
    assert tau_of(arm, Rule("empirical", Decimal("0.099999999999999"), Decimal("0.1"), 25)) is None
    assert tau_of(arm, Rule("empirical", Decimal("0.10000000000000002"), Decimal("0.1"), 25)) == 1.0


# -- odd calibration parts -----------------------------------------------------------------------------------

FIT = [(f"{i / 20:.2f}", i % 2) for i in range(1, 20)]
LTT = Rule("ltt", Decimal("0.1"), Decimal("0.1"), 25)
RULES = (
    LTT,
    Rule("empirical", Decimal("0.1"), Decimal("0.1"), 25),
    Rule("ltt", Decimal("0.1"), Decimal("0.1"), 25, "fit"),
)


@pytest.mark.parametrize("rule", RULES)
def test_calibration_without_positives_deploys_everything_below_one(rule):
    arm = arm_of(FIT, [(f"{i / 100:.2f}", 0) for i in range(100)])
    assert tau_of(arm, rule) == 1.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "calibration",
    [
        [(f"{i / 100:.2f}", 1) for i in range(100)],
        [("0.00", 0)],
        [],
        [(None, 0)] * 60,
        [("1.00", 0)] * 60,  # the endpoint 1 selects what lies strictly below one
    ],
)
def test_nothing_is_deployed_without_evidence(rule, calibration):
    arm = arm_of(FIT, calibration)
    assert tau_of(arm, rule) is None
    assert not any(row.selected for row in arm.trace(rule, 0))


@pytest.mark.parametrize("rule", [LTT, RULES[1]])
def test_all_equal_scores_are_one_block(rule):
    rows = [("0.40", int(i < 2)) for i in range(60)]
    arm = arm_of(FIT, rows)  # P(Bin(60, 0.1) <= 2) = 0.053
    trace = arm.trace(rule, 0)
    assert {(t.n, t.k) for t in trace} == {(0, 0), (60, 2)}
    assert tau_of(arm, rule) == 1.0
    equal = arm_of([("0.40", 0)] * 9, rows)
    assert equal.taus.tolist() == [0.0, 1.0]
    assert tau_of(equal, rule) == 1.0


def test_scores_outside_the_unit_interval_have_their_extremes_as_endpoints():
    arm = arm_of([("-2.5", 0), ("0.5", 0), ("4.5", 1)], [(str(i % 5 - 2), 0) for i in range(100)])
    assert arm.taus.tolist() == [-2.5, -1.0, 2.5, 4.5]
    assert tau_of(arm, LTT) == 4.5


def test_without_fit_scores_there_is_no_candidate():
    arm = arm_of([], [("0.10", 0)] * 100)
    assert arm.taus.size == 0
    assert tau_of(arm, LTT) is None
    assert arm.trace(LTT, 0) == []
    assert tau_of(arm_of([(None, 0)] * 5, [("0.10", 0)] * 100), LTT) is None


def test_a_naive_threshold_is_the_budget_and_always_deployed():
    rule = Rule("naive", Decimal("0.05"), Decimal("0.1"), 25)
    arm = arm_of([], [("0.05", 1), ("0.04", 0)], naive=(0.05,))
    assert tau_of(arm, rule) == 0.05
    (row,) = arm.trace(rule, 0)
    assert (row.n, row.k, row.status, row.p) == (1, 0, "set", None)  # equality takes action 1


# -- the fixed sequence --------------------------------------------------------------------------------------


def test_the_sequence_stops_at_the_first_tested_failure_by_hand():
    # 30 clean rows at 0.1 (p = 0.9^30 = 0.042), 10 bad ones at 0.2, 200 clean ones at 0.3
    rows = [("0.1", 0)] * 30 + [("0.2", 1)] * 10 + [("0.3", 0)] * 200
    arm = arm_of([("0.1", 0), ("0.2", 0), ("0.3", 0), ("0.4", 0)], rows)
    trace = arm.trace(LTT, 0)
    assert [(t.tau, t.n, t.k, t.status) for t in trace] == [
        (0.0, 0, 0, "screened"),
        (0.15, 30, 0, "certified"),
        (0.25, 40, 10, "stopped"),
        (0.35, 240, 10, "untested"),
        (1.0, 240, 10, "untested"),
    ]
    assert trace[1].p == pytest.approx(0.9**30)
    assert tau_of(arm, LTT) == 0.15
    bonferroni = Rule("ltt", Decimal("0.1"), Decimal("0.1"), 25, correction="bonferroni")
    assert [t.status for t in arm.trace(bonferroni, 0)] == [
        "screened", "not certified", "not certified", "certified", "certified",
    ]  # fmt: skip
    assert tau_of(arm, bonferroni) == 1.0
    assert tau_of(arm, RULES[1]) == 1.0


def test_a_stricter_budget_may_deploy_more_where_its_floor_skips_a_failure_by_hand():
    # 30 rows with one error are tested at 0.10 (and fail: p = 0.18), but lie below the floor 45 of 0.05
    rows = [("0.1", 1)] + [("0.1", 0)] * 29 + [("0.2", 0)] * 170
    arm = arm_of([("0.1", 0), ("0.2", 0), ("0.3", 0)], rows)
    assert tau_of(arm, LTT) is None
    assert tau_of(arm, Rule("ltt", Decimal("0.05"), Decimal("0.1"), 25)) == 1.0


rows_strategy = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=150)


@given(rows_strategy, st.sampled_from(BUDGETS), st.sampled_from(BUDGETS), st.sampled_from(["0.1", "0.5"]))
def test_a_stricter_budget_with_the_same_floor_never_deploys_a_larger_threshold(rows, one, other, delta):
    calibration = [(f"{s / 20:.2f}", int(y < s / 3)) for s, y in rows]
    arm = arm_of([(f"{i / 20:.2f}", 0) for i in range(21)], calibration)
    strict, loose = sorted((one, other), key=Decimal)
    least = max(25, support_floor(Decimal(strict), Decimal(delta), 1))
    for rule, correction in (
        ("ltt", "fixed_sequence"),
        ("ltt", "bonferroni"),
        ("empirical", "fixed_sequence"),
    ):
        low, high = (
            tau_of(arm, Rule(rule, Decimal(b), Decimal(delta), least, correction=correction))
            for b in (strict, loose)
        )
        assert low is None or (high is not None and low <= high)


@given(rows_strategy, st.sampled_from(BUDGETS))
def test_a_stricter_delta_with_the_same_floor_never_deploys_a_larger_threshold(rows, budget):
    calibration = [(f"{s / 20:.2f}", int(y < s / 3)) for s, y in rows]
    arm = arm_of([(f"{i / 20:.2f}", 0) for i in range(21)], calibration)
    least = max(25, support_floor(Decimal(budget), Decimal("0.05"), 1))
    low, high = (tau_of(arm, Rule("ltt", Decimal(budget), Decimal(d), least)) for d in ("0.05", "0.2"))
    assert low is None or (high is not None and low <= high)


# -- sums over resamples -------------------------------------------------------------------------------------


def test_sums_at_every_threshold_against_counting_one_by_one():
    rng = np.random.default_rng(5)
    for _ in range(40):
        size, units = int(rng.integers(0, 40)), 12
        score = np.where(rng.random(size) < 0.1, np.nan, rng.integers(0, 8, size) / 8)
        unit = rng.integers(0, units, size)
        zero, one = rng.random((2, size)) < rng.random((2, 1))
        taus = np.unique(rng.integers(0, 10, 6)) / 8
        weights = rng.integers(0, 4, (5, units)).astype(np.float64)
        part = Controlled(score, unit, units, (zero, one), (zero, one))
        found = Steps.of(part.first(taus), unit, units, len(taus), zero, one).sums(weights)
        for j, tau in enumerate(taus):
            counted = np.where(score < tau, zero, one)
            assert found[:, j].tolist() == [float((w[unit] * counted).sum()) for w in weights]


# -- MAPIE 1.6.0 ---------------------------------------------------------------------------------------------

# BinaryClassificationController with risk=BinaryRisk(y == 1, prediction == 0, higher_is_better=False),
# target_level=alpha, confidence_level=0.9, list_predict_params=the screened family,
# fwer_method="fixed_sequence": largest and number of valid thresholds for the rows of `mapie_rows(case)`.
MAPIE = [
    ("0.05", 0.195, 1), ("0.05", 0.325, 12), ("0.05", 0.375, 22), ("0.05", None, 0),
    ("0.1", 0.825, 69), ("0.1", 0.765, 65), ("0.1", 0.565, 48), ("0.1", 0.345, 25),
    ("0.2", 0.995, 92), ("0.2", 0.875, 79), ("0.2", 0.615, 51), ("0.2", 0.515, 40),
    ("0.4", 0.995, 90), ("0.4", 0.995, 92), ("0.4", 0.995, 89), ("0.4", 0.965, 89),
]  # fmt: skip
MAPIE_ROUNDS_14_OF_200_UP_TO_15 = {4}
"""MAPIE rebuilds K as the ceiling of N (K/N), 14.000000000000002 here, and stops where 14 of 200 passes."""


def mapie_rows(case):
    """240 rows by whole-number arithmetic, the same in the script that asked MAPIE."""
    out = []
    state = case * 7919 + 17
    for _ in range(240):
        state = (state * 1103515245 + 12345) % 2**31
        score = state // 65536 % 101
        state = (state * 1103515245 + 12345) % 2**31
        out.append(
            (f"{score / 100:.2f}", int(state // 65536 % 100 < score * score // 100 * (case % 4 + 1) // 3))
        )
    return out


@pytest.mark.parametrize("case", range(len(MAPIE)))
def test_fixed_sequence_on_a_screened_family_against_mapie(case):
    budget, largest, certified = MAPIE[case]
    rows = mapie_rows(case)
    grid = np.arange(1, 201, 2) / 200
    part = controlled(rows)
    arm = Arm(grid, part, part, (NAN,))
    rule = Rule("ltt", Decimal(budget), Decimal("0.1"), 25)
    trace = arm.trace(rule, 0)
    found = sum(t.status == "certified" for t in trace)
    if case in MAPIE_ROUNDS_14_OF_200_UP_TO_15:
        assert (tau_of(arm, rule), found) == (0.855, 72)
        following = next(t for t in trace if t.tau > largest)
        assert (following.n, following.k) == (200, 14)
        assert slow.tail(14, 200, Fraction(1, 10)) <= Fraction(1, 10) < slow.tail(15, 200, Fraction(1, 10))
    else:
        assert (tau_of(arm, rule), found) == (largest, certified)


# -- whole protocols -----------------------------------------------------------------------------------------

PROTOCOL = """\
prereg: 1
id: thresholds
title: Thresholds under budgets
data:
  records: scores.csv
  arm: scorer
  dataset: dataset
  unit: row
split: {column: part}
policies:
  threshold:
    act_below: score
    control: {rate: label == 1, among: action == 0}
    candidates: {part: fit, midpoints: 20, endpoints: true}
    select: {part: calibration, rules: [naive, empirical, ltt], delta: 0.10, min_support: 25}
    budget: [0.05, 0.20, 0.50]
metrics:
  risk: {rate: label == 1, among: action == 0, part: test}
  utility: {rate: action == 0, among: label == 0, part: test}
  acted: {count: action == 0, part: test}
  excess: {value: "maximum(risk - budget, 0)"}
  over_budget: {value: excess > 0}
  deployed: {value: defined(tau)}
resampling: {parts: [test], resamples: 40, seed: 42}
predictions:
  rarely:
    claim: mean(over_budget[rule=ltt]) <= 0.10
    evidence: point
reports:
  available: mean(deployed[rule=ltt])
  exceeds: mean(over_budget[rule=ltt])
  worst: max(excess[rule=ltt])
"""
HEADER = "scorer,dataset,row,score,label,part"


def some_records(seed=1, scorers=("a", "b"), sets=("x", "y"), size=150, decimals=2, empty_scores=0.0):
    """Rows of scorers on datasets; `b` knows nothing."""
    rng = random.Random(seed)
    lines = []
    for dataset in sets:
        labels = [int(rng.random() < 0.3) for _ in range(size)]
        parts = [("fit", "calibration", "test")[rng.randrange(3)] for _ in range(size)]
        for scorer in scorers:
            for i, (y, part) in enumerate(zip(labels, parts, strict=True)):
                value = rng.betavariate(1 + 4 * y * (scorer != "b"), 3)
                text = "" if rng.random() < empty_scores else f"{value:.{decimals}f}"
                lines.append([scorer, dataset, f"r{i:03d}", text, str(y), part])
    return lines


def project(folder, protocol=PROTOCOL, records=None, header=HEADER):
    folder.mkdir(exist_ok=True)
    lines = [",".join(line) for line in (some_records() if records is None else records)]
    (folder / "scores.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    (folder / "protocol.yaml").write_text(protocol, encoding="utf-8")
    return folder


def prepared(folder):
    return Prepared.of(check(Project.at(folder), folder / "protocol.yaml").plan)


def refusal(folder):
    with pytest.raises(InputError) as caught:
        prepared(folder)
    return str(caught.value)


def ran(folder, monkeypatch):
    """Lock and run; the ledger's content, policies.csv and thresholds.csv."""
    monkeypatch.chdir(folder)
    assert execute(["lock", "protocol.yaml"]) == 0
    assert execute(["run"]) == 0
    (found,) = (folder / "results" / "thresholds").glob("*/ledger.json")
    tables = []
    for name in ("policies.csv", "thresholds.csv"):
        with (found.parent / name).open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return json.loads(found.read_text(encoding="utf-8"))["content"], *tables


def without_interval(text):
    return text.replace("resampling: {parts: [test], resamples: 40, seed: 42}\n", "")


@pytest.mark.parametrize("start", ["screen", "fit"])
def test_trace_rows_suffice_to_derive_the_choice_by_hand(tmp_path, monkeypatch, start):
    text = PROTOCOL.replace("min_support: 25", f"min_support: 8, start: {start}")
    records = some_records(size=400, empty_scores=0.03)
    _, policies, trace = ran(project(tmp_path / "p", text, records), monkeypatch)
    parts = {}
    for scorer, dataset, _, score, label, part in records:
        parts.setdefault((scorer, dataset, part), []).append((score or None, int(label)))
    chosen = {r["policy"]: r for r in policies if r["metric"] == "tau"}
    assert len(chosen) == 4 * 9
    for policy, row in chosen.items():
        mine = [t for t in trace if t["policy"] == policy]
        where = (row["scorer"], row["dataset"])
        fit, calibration = parts[(*where, "fit")], parts[(*where, "calibration")]
        for t in mine:
            assert slow.omission(calibration, Fraction(t["tau"])) == (int(t["n"]), int(t["k"]))
        selected = [t["tau"] for t in mine if t["selected"] == "true"]
        alpha = Fraction(row["budget"])
        if row["rule"] == "naive":
            assert selected == [row["budget"]]
            continue
        delta = Fraction(mine[0]["delta"] or "1/10")
        floor = int(mine[0]["floor"])
        begin = None
        if start == "fit" and row["rule"] == "ltt":
            for t in mine:
                assert slow.omission(fit, Fraction(t["tau"]))[0] == int(t["fit_n"])
            begin = slow.fixed_start([(int(t["fit_n"]), 0) for t in mine], len(fit), len(calibration), floor)
        taus = [t["tau"] for t in mine]
        found, seen = slow.choose(
            taus, [(int(t["n"]), int(t["k"])) for t in mine], row["rule"], alpha, delta, 8, begin
        )
        assert selected == ([] if found is None else [found])
        assert row["value"] == ("" if found is None else found)
        assert row["reason"] == ("not_deployed" if found is None else "")
        for t, (_, _, p) in zip(mine, seen, strict=True):
            if t["p"]:
                assert float(t["p"]) == pytest.approx(float(p), rel=1e-9)
    assert {t["status"] for t in trace} >= {"set", "within", "exceeds", "certified", "stopped", "screened"}


def test_an_undeployed_threshold_acts_1_everywhere_and_availability_counts_it(tmp_path, monkeypatch):
    content, policies, _ = ran(project(tmp_path / "p"), monkeypatch)
    rows = {(r["policy"], r["metric"]): r for r in policies}
    idle = [r["policy"] for r in policies if r["metric"] == "tau" and r["reason"] == "not_deployed"]
    ltt = [r["policy"] for r in policies if r["metric"] == "tau" and r["rule"] == "ltt"]
    assert set(idle) & set(ltt)
    for policy in idle:
        assert (rows[policy, "risk"]["value"], rows[policy, "risk"]["reason"]) == ("", "not_deployed")
        assert rows[policy, "utility"]["value"] == "0"
        assert rows[policy, "acted"]["value"] == "0"
        assert rows[policy, "deployed"]["value"] == "0"
        assert (rows[policy, "excess"]["value"], rows[policy, "excess"]["reason"]) == ("", "undefined_input")
    shown = [p for p in ltt if p not in idle]
    defined = [p for p in shown if rows[p, "risk"]["value"]]
    available, exceeds, worst = (r["values"][0] for r in content["reports"])
    assert available["value"] == pytest.approx(len(shown) / len(ltt))
    assert available["n"] == len(ltt)
    assert exceeds["n"] == worst["n"] == len(defined)
    (prediction,) = content["predictions"]
    assert (prediction["n"], prediction["n_undefined"]) == (len(defined), len(ltt) - len(defined))


def test_show_prints_the_trace_of_a_policy(tmp_path, monkeypatch, capsys):
    ran(project(tmp_path / "p"), monkeypatch)
    capsys.readouterr()
    assert execute(["show", "thresholds", "--policy", "a x ltt 0.5"]) == 0
    said = capsys.readouterr().out
    assert "certified" in said
    assert "chosen: tau = " in said


def test_act_above_is_the_exact_mirror_image_of_act_below(tmp_path):
    records = some_records(size=300)
    mirrored = [[*line[:3], str(1 - Decimal(line[3])), *line[4:]] for line in records]
    below = prepared(project(tmp_path / "below", records=records))
    above = prepared(project(tmp_path / "above", PROTOCOL.replace("act_below", "act_above"), mirrored))
    one, other = Block(below, 0, 41), Block(above, 0, 41)
    for name in ("risk", "utility", "acted", "over_budget", "deployed"):
        assert np.array_equal(one.metric(name, None).data, other.metric(name, None).data, equal_nan=True)
    taus, mirror = one.metric("tau", None).data[0], other.metric("tau", None).data[0]
    assert np.array_equal(np.round(1 - taus, 12), mirror, equal_nan=True)  # naive: 1 - budget
    for panel, panel_above in zip(below.plan.thresholds.arms, above.plan.thresholds.arms, strict=True):
        for arm, arm_above in zip(panel, panel_above, strict=True):
            for at, rule in enumerate(below.plan.thresholds.rules):
                pairs = zip(arm.trace(rule, at), arm_above.trace(rule, at), strict=True)
                assert all((x.n, x.k, x.p, x.status) == (y.n, y.k, y.p, y.status) for x, y in pairs)


def test_a_computed_score_means_its_decimals(tmp_path):
    # 1 - 0.8 is 0.19999999999999996 in doubles, and a naive threshold of 0.2 must not select it
    records = [[*line[:3], "0.8", *line[4:]] for line in some_records()]
    text = PROTOCOL.replace("act_below: score", "act_below: 1 - score")
    block = Block(prepared(project(tmp_path / "p", text, records)), 0, 1)
    plan = block.prepared.plan.metrics["acted"]
    at = [i for i, key in enumerate(plan.axes.keys) if key[2:] == ("naive", "0.2")]
    assert block.metric("acted", None).data[0, at].tolist() == [0, 0, 0, 0]


OTHER_RATES = {
    "false discovery rate, error among accepted": (
        "act_above: score", "{rate: label == 0, among: action == 0}",
        lambda s, y, tau: (s > tau, s > tau and y == 0),
    ),
    "miss rate": (
        "act_below: score", "{rate: action == 0, among: label == 1}",
        lambda s, y, tau: (y == 1, y == 1 and s < tau),
    ),
    "error of all decisions": (
        "act_below: score", "{rate: action == 0 and label == 1 or action == 1 and label == 0}",
        lambda s, y, tau: (True, (y == 1) == (s < tau)),
    ),
    "error among the fallback": (
        "act_below: score", "{rate: label == 0, among: action == 1}",
        lambda s, y, tau: (s >= tau, s >= tau and y == 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_RATES)
def test_any_rate_can_be_controlled_against_slow_exact(tmp_path, name):
    act, control, counted = OTHER_RATES[name]
    text = PROTOCOL.replace("act_below: score", act)
    text = text.replace("control: {rate: label == 1, among: action == 0}", f"control: {control}")
    text = text.replace("rules: [naive, empirical, ltt]", "rules: [empirical, ltt]")
    text = text.replace("min_support: 25", "min_support: 10").replace("[0.05, 0.20, 0.50]", "[0.2, 0.6, 0.9]")
    records = some_records(3, size=300)
    for start in ("screen", "fit"):
        folder = project(
            tmp_path / start, text.replace("min_support: 10", f"min_support: 10, start: {start}"), records
        )
        plan = prepared(folder).plan
        sign = 1 if act.startswith("act_below") else -1
        deployed = 0
        for panel, arms in zip(plan.layout.panels, plan.thresholds.arms, strict=True):
            for key, arm in zip(panel.arms, arms, strict=True):
                rows = {
                    part: [
                        (Fraction(s), int(y))
                        for c, d, _, s, y, p in records
                        if (c, d, p) == (*key, panel.dataset, part)
                    ]
                    for part in ("fit", "calibration")
                }
                taus = slow.family([sign * s for s, _ in rows["fit"]], 20, endpoints=False)
                taus = sorted(
                    {*taus, *([Fraction(0), Fraction(1)] if sign > 0 else [Fraction(-1), Fraction(0)])}
                )

                def counts(part, taus=taus, rows=rows, sign=sign):
                    out = []
                    for tau in taus:
                        seen = [counted(s, y, sign * tau) for s, y in rows[part]]
                        out.append((sum(n for n, _ in seen), sum(k for _, k in seen)))
                    return out

                for at, rule in enumerate(plan.thresholds.rules):
                    alpha, delta = Fraction(rule.budget), Fraction(1, 10)
                    begin = None
                    if start == "fit":
                        floor = slow.floor_of(alpha, delta, 10)
                        begin = slow.fixed_start(
                            counts("fit"), len(rows["fit"]), len(rows["calibration"]), floor
                        )
                    found, _ = slow.choose(taus, counts("calibration"), rule.rule, alpha, delta, 10, begin)
                    selected = [written(t.tau) for t in arm.trace(rule, at) if t.selected]
                    assert selected == ([] if found is None else [found])
                    deployed += found is not None
        assert deployed > 0


def test_several_deltas_are_a_factor(tmp_path):
    plan = prepared(project(tmp_path / "p", PROTOCOL.replace("delta: 0.10", "delta: [0.10, 0.01]"))).plan
    assert plan.setting_factors == ("rule", "budget", "delta")
    assert len(plan.settings) == 3 * 3 * 2
    rules = dict(zip(plan.settings, plan.thresholds.rules, strict=True))
    assert rules["ltt", "0.05", "0.01"].delta == Decimal("0.01")
    for arm in plan.thresholds.arms[0]:
        chosen = dict(
            zip(
                plan.settings,
                arm.chosen(plan.thresholds.rules, np.ones((1, arm.calibration.units)))[0],
                strict=True,
            )
        )
        for rule in ("naive", "empirical"):
            pair = [chosen[rule, "0.2", delta] for delta in ("0.1", "0.01")]
            assert np.array_equal(pair[0], pair[1], equal_nan=True)


def test_label_stratified_and_grouped_splits_choose_on_their_own_parts(tmp_path):
    records = [[*line[:5], f"{line[4]}-{int(line[2][1:]) // 3}"] for line in some_records(size=300)]
    header = "scorer,dataset,row,score,label,family"
    for extra in ("stratify: label", "group: family, stratify: label", "group: family"):
        text = PROTOCOL.replace(
            "split: {column: part}",
            f"split: {{parts: {{fit: 0.3, calibration: 0.4, test: 0.3}}, seed: 7, {extra}}}",
        )
        plan = prepared(project(tmp_path / "p", text, records, header)).plan
        for panel, part_of, arms in zip(plan.layout.panels, plan.part_of, plan.thresholds.arms, strict=True):
            part = dict(zip(panel.units, [plan.parts[p] for p in part_of], strict=True))
            mine = [line for line in records if line[1] == panel.dataset]
            if "group" in extra:
                families = {(line[5], part[line[2]]) for line in mine}
                assert len(families) == len({family for family, _ in families})
            for key, arm in zip(panel.arms, arms, strict=True):
                rows = [
                    (line[3], int(line[4]))
                    for line in mine
                    if line[0] == key[0] and part[line[2]] == "calibration"
                ]
                fit = [line[3] for line in mine if line[0] == key[0] and part[line[2]] == "fit"]
                assert [written(t) for t in arm.taus.tolist()] == slow.family(fit, 20, endpoints=True)
                n, k = arm.calibration.totals(arm.taus)
                assert list(zip(n.tolist(), k.tolist(), strict=True)) == [
                    slow.omission(rows, written(t)) for t in arm.taus.tolist()
                ]


def test_of_repeated_answers_the_first_is_counted_unless_all_are_asked_for(tmp_path):
    records = [[*line, k] for line in some_records(size=90) for k in "12"]
    for line in records:
        if line[6] == "2":
            line[3] = "0.00"
    header = HEADER + ",k"
    sampled = PROTOCOL.replace("  unit: row\n", "  unit: row\n  sample: k\n")
    first = prepared(project(tmp_path / "first", sampled, records, header)).plan
    single = prepared(project(tmp_path / "single", records=some_records(size=90))).plan
    every = prepared(
        project(
            tmp_path / "all", sampled.replace("sample: k\n", "sample: k\n  samples: all\n"), records, header
        )
    ).plan
    assert any("counts rows as independent" in w.message for w in every.warnings)
    assert not any("counts rows as independent" in w.message for w in first.warnings)
    for arms in zip(*(p.thresholds.arms[0] for p in (first, single, every)), strict=True):
        totals = [arm.calibration.totals(arms[1].taus) for arm in arms]
        assert np.array_equal(totals[0], totals[1])
        assert int(totals[2][0][-1]) == 2 * int(totals[1][0][-1])
        assert np.array_equal(arms[0].taus, arms[1].taus)


# -- what is refused or warned of ----------------------------------------------------------------------------


def test_naive_says_why_it_cannot_apply_outside_the_unit_interval(tmp_path):
    records = [[*line[:3], str(4 * Decimal(line[3]) - 1), *line[4:]] for line in some_records()]
    folder = project(tmp_path / "p", records=records)
    said = refusal(folder)
    assert said.count("\n") == 0
    assert "`naive` sets the threshold to the budget, which reads the score as a probability" in said
    assert "scores.csv:" in said
    text = PROTOCOL.replace("rules: [naive, empirical, ltt]", "rules: [empirical, ltt]")
    plan = prepared(project(tmp_path / "q", text, records)).plan
    assert not np.isnan(plan.thresholds.point(0)).all()


def test_an_arm_without_fit_rows_is_never_deployed_and_said(tmp_path, monkeypatch):
    records = [line for line in some_records() if not (line[0] == "b" and line[5] == "fit")]
    text = PROTOCOL.replace("  unit: row\n", "  unit: row\n  units: all\n")
    folder = project(tmp_path / "p", text, records)
    plan = prepared(folder).plan
    assert any("nothing will be deployed: b x, b y" in w.message for w in plan.warnings)
    _, policies, trace = ran(folder, monkeypatch)
    taus = {r["policy"]: r["value"] for r in policies if r["metric"] == "tau" and r["scorer"] == "b"}
    assert {p for p, v in taus.items() if v} == {p for p in taus if " naive " in p}
    assert {t["status"] for t in trace if t["scorer"] == "b"} == {"set"}


def test_a_missing_label_in_calibration_is_an_error_with_its_place(tmp_path):
    records = some_records()
    at = next(i for i, line in enumerate(records) if line[5] == "calibration")
    records[at] = [*records[at][:4], "", records[at][5]]
    assert f"scores.csv:{at + 2}: the risk under control is undefined" in refusal(
        project(tmp_path / "p", records=records)
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("budget: [0.05, 0.20, 0.50]", "budget: [0.05, 1.5]", "a budget lies between 0 and 1, found 1.5"),
        ("budget: [0.05, 0.20, 0.50]", "budget: [0.05, 0.050]", "a budget 0.05 stands twice"),
        ("delta: 0.10", "delta: 0", "a delta lies between 0 and 1, found 0"),
        ("rules: [naive, empirical, ltt]", "rules: [ltt, ltt]", "a rule stands twice"),
        ("part: calibration, rules", "part: calib, rules", "there is no part `calib`"),
        ("among: action == 0}\n    cand", "among: label < 2}\n    cand", "does not read `action`"),
        ("act_below: score", "act_below: 0.5", "the score is the same number for every record"),
        ("act_below: score", "act_below: scorer", "found a text"),
        ("seed: 42}", "seed: 42, reselect: true}", "which `parts` leaves out"),
        ("delta: 0.10", "delta: 0.10, start: fit, correction: bonferroni", "Bonferroni has no start"),
        ("split: {column: part}\n", "", "write a `split`"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(tmp_path, old, new, said):
    assert old in PROTOCOL
    assert said in refusal(project(tmp_path / "p", PROTOCOL.replace(old, new)))


def test_a_rule_that_asks_for_more_rows_than_there_are_is_warned_of(tmp_path, capsys):
    # without an error in n rows p = (1 - budget)^n, which reaches delta = 0.1 at n = ln 0.1 / ln 0.95 = 44.9
    for rows, warned in ((44, True), (45, False)):
        records = [
            [
                scorer,
                "x",
                f"r{i}",
                f"{i % 97 / 97:.4f}",
                "0",
                ("fit", "calibration", "test")[min(i // rows, 2)],
            ]
            for scorer in "ab"
            for i in range(3 * rows)
        ]
        folder = project(tmp_path / str(rows), PROTOCOL.replace("[0.05, 0.20, 0.50]", "[0.05]"), records)
        assert execute(["check", str(folder / "protocol.yaml"), "-C", str(folder)]) == 0
        said = capsys.readouterr().err
        assert ("`ltt` at budget 0.05 looks at nothing below 45 rows; no arm has so many" in said) == warned


def test_an_entry_that_is_wrong_is_an_entry(tmp_path):
    text = PROTOCOL.replace("rules: [naive, empirical, ltt]", "rules: [lt]")
    with pytest.raises(InputError) as caught:
        prepared(project(tmp_path / "p", text))
    (problem,) = caught.value.problems
    assert "found the text `lt`, expected `naive`, `empirical` or `ltt`" in problem.message


def test_candidates_from_the_calibration_part_are_warned_of(tmp_path):
    plan = prepared(project(tmp_path / "p", PROTOCOL.replace("part: fit", "part: calibration"))).plan
    assert any("the order of testing is then not fixed beforehand" in w.message for w in plan.warnings)


# -- thresholds selected anew in every resample --------------------------------------------------------------

RESELECT = PROTOCOL.replace(
    "{parts: [test], resamples: 40, seed: 42}",
    "{parts: [calibration, test], resamples: 40, seed: 42, reselect: true}",
)


def slow_values(parts, policy, budget, rule, weights, names):
    """tau, and the named metrics, of one policy on weighted rows."""
    fit, calibration, test = parts
    taus = slow.family([s for s, _ in fit], 20, endpoints=True)
    drawn = [row for row, w in zip(calibration, weights[0], strict=True) for _ in range(int(w))]
    if rule == "naive":
        tau = Fraction(budget)
    else:
        counts = [slow.omission(drawn, t) for t in taus]
        tau, _ = slow.choose(taus, counts, rule, Fraction(budget), Fraction(1, 10))
    rows = [row for row, w in zip(test, weights[1], strict=True) for _ in range(int(w))]
    acted = [(s is not None and tau is not None and Fraction(s) < tau, y) for s, y in rows]
    below = [y for a, y in acted if a]
    benign = [a for a, y in acted if y == 0]
    values = {
        "tau": tau,
        "risk": Fraction(sum(below), len(below)) if below else None,
        "utility": Fraction(sum(benign), len(benign)) if benign else None,
        "acted": Fraction(len(below)),
    }
    return [values[name] for name in names]


def test_every_resample_selects_anew_against_slow_exact(tmp_path):
    records = some_records(8, size=240, empty_scores=0.02)
    done = prepared(project(tmp_path / "p", RESELECT, records))
    plan = done.plan
    block = Block(done, 0, 41)
    names = ("tau", "risk", "utility", "acted")
    found = {name: block.metric(name, None).data for name in names}
    varied = set()
    for p, key in enumerate(plan.metrics["risk"].axes.keys):
        scorer, dataset, rule, budget = key
        (at,) = [i for i, panel in enumerate(plan.layout.panels) if panel.dataset == dataset]
        panel = plan.layout.panels[at]
        known = {
            line[2]: (line[3] or None, int(line[4])) for line in records if line[:2] == [scorer, dataset]
        }
        parts, weights = [], []
        for part in ("fit", "calibration", "test"):
            code = plan.parts.index(part)
            parts.append([known[panel.units[u]] for u in plan.samples[at, code].units])
            weights.append(block.weights(at, code))
        for r in (0, 1, 2, 13, 27, 40):
            expected = slow_values(parts, key, budget, rule, (weights[1][r], weights[2][r]), names)
            for name, value in zip(names, expected, strict=True):
                mine = found[name][r, p]
                assert (
                    math.isnan(mine) if value is None else abs(Fraction(mine) - value) <= Fraction(1, 10**12)
                )
        if np.unique(found["tau"][:, p]).size > 1:
            varied.add(rule)
    assert varied == {"empirical", "ltt"}


def test_fixed_and_reselected_thresholds_agree_at_the_point(tmp_path):
    records = some_records(9, size=240, empty_scores=0.05)
    for line in records[::7]:
        if line[5] == "test":
            line[4] = ""  # a missing label: what meets it depends on the action
    fixed = Block(prepared(project(tmp_path / "fixed", records=records)), 0, 1)
    anew = Block(prepared(project(tmp_path / "anew", RESELECT, records)), 0, 1)
    seen = set()
    for name in ("tau", "risk", "utility", "acted", "over_budget", "deployed"):
        one, other = fixed.metric(name, None), anew.metric(name, None)
        assert np.array_equal(one.data, other.data, equal_nan=True)
        assert one.facts.reasons.tolist() == other.facts.reasons.tolist()
        seen |= {REASONS[i] for i in one.facts.reasons}
        for field in ("numerator", "denominator", "rows"):
            a, b = (getattr(block.details[name, None], field) for block in (fixed, anew))
            assert (a is None) == (b is None)
    assert {"missing", "not_deployed"} <= seen


def test_reselected_values_do_not_depend_on_blocks(tmp_path):
    done = prepared(project(tmp_path / "p", RESELECT))
    whole = Block(done, 0, 41).metric("risk", None).data
    pieces = [Block(done, begin, size).metric("risk", None).data for begin, size in ((0, 1), (1, 7), (8, 33))]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()


def test_reselection_is_refused_for_kinds_that_are_no_sums(tmp_path):
    text = RESELECT.replace(
        "  acted:",
        "  shares: {ece: {confidence: score, label: label}, among: action == 0, part: test}\n  acted:",
    )
    assert "with `reselect`" in refusal(project(tmp_path / "p", text))


def test_reselect_without_a_threshold_is_refused(tmp_path):
    text = RESELECT[: RESELECT.index("policies:")] + (
        "metrics:\n  base: {rate: label == 1, part: test}\n"
        "resampling: {resamples: 40, seed: 42, reselect: true}\n"
        "predictions:\n  a: {claim: all(base > 0.1)}\n"
    )
    assert "there is no `threshold` to select anew" in refusal(project(tmp_path / "p", text))


@pytest.mark.parametrize("jobs", [1, 2])
def test_450_policies_have_thresholds_and_a_trace(tmp_path, monkeypatch, jobs):
    scorers = tuple(f"m{i:02d}" for i in range(25))
    text = PROTOCOL.replace("budget: [0.05, 0.20, 0.50]", "budget: [0.05, 0.10, 0.15, 0.20, 0.40, 0.50]")
    folder = project(tmp_path / "p", text, some_records(4, scorers, ("x",), 120))
    monkeypatch.chdir(folder)
    assert execute(["lock", "protocol.yaml"]) == 0
    assert execute(["run", "--jobs", str(jobs)]) == 0
    (table,) = (folder / "results" / "thresholds").glob("*/policies.csv")
    with table.open(encoding="utf-8", newline="") as file:
        assert sum(r["metric"] == "tau" for r in csv.DictReader(file)) == 450
