"""What each prediction could detect: the simulation against closed forms, and the rows of a protocol by hand."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from prereg.check import check
from prereg.cli.app import execute
from prereg.dataclass import replace
from prereg.detectable import Design, detectable, least_plus, least_successes, power
from prereg.errors import InputError
from prereg.power import powers, summary
from prereg.project import Project

ALPHA = Fraction(1, 20)


def exact_rate_power(n, bar, effect, alpha=0.05):
    """Chance that Clopper and Pearson's lower end lies at or above the bar."""
    k = np.arange(n + 1)
    low = np.where(k == 0, 0.0, stats.beta.ppf(alpha / 2, k, n - k + 1))
    return stats.binom.pmf(k, n, bar + effect)[low >= bar].sum()


def sign_test_power(n, effect, alpha=0.05):
    """Chance that a two-sided sign test says that left is above right, both independent and around a half."""
    left, right = (1 + effect) / 2, (1 - effect) / 2
    up, down = left * (1 - right), right * (1 - left)
    total = 0.0
    for t in range(1, n + 1):
        k = np.arange(t + 1)
        wins = k[(k > t / 2) & (np.minimum(1, 2 * stats.binom.sf(k - 1, t, 0.5)) <= alpha)]
        total += stats.binom.pmf(t, n, up + down) * stats.binom.pmf(wins, t, up / (up + down)).sum()
    return total


@pytest.mark.parametrize(("n", "bar"), [(30, 0.5), (100, 0.8), (400, 0.95)])
def test_exact_evidence_for_a_rate_against_scipy(n, bar):
    design = Design("one", (n,), Fraction(str(bar)), False, "exact")
    effect, said = detectable(design)
    assert said == pytest.approx(exact_rate_power(n, bar, effect), abs=0.025)
    assert exact_rate_power(n, bar, effect) == pytest.approx(0.8, abs=0.025)
    assert exact_rate_power(n, bar, 0.9 * effect) < 0.8


@pytest.mark.parametrize("n", [30, 100, 400])
def test_exact_evidence_for_two_rates_against_scipy(n):
    effect, said = detectable(Design("two", (n,), Fraction(0), True, "exact"))
    assert sign_test_power(n, effect) == pytest.approx(said, abs=0.025)
    assert said == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("n", [400, 3000])
@pytest.mark.parametrize("evidence", ["interval", "support", "family"])
def test_large_samples_against_the_normal_approximation(evidence, n):
    """z(1 - alpha/2) + z(0.8) standard errors: 2.80 at level 0.95, for a difference of two rates at a half."""
    tail = {"interval": 0.025, "support": 0.1, "family": 0.0125}[evidence]
    design = Design("two", (n,), Fraction(0), True, evidence, ALPHA, 4000, 0.9, 2)
    effect, _ = detectable(design)
    wanted = (stats.norm.ppf(1 - tail) + stats.norm.ppf(0.8)) * math.sqrt(0.5 / n)
    assert effect == pytest.approx(wanted, rel=0.06)


def test_a_table_and_three_moments_tell_the_same():
    """Just above and just below the size up to which the distribution is tabled."""
    one = [
        power(Design("one", (n,), Fraction(4, 5), True, "interval", ALPHA, 1000), 0.025) for n in (2000, 2001)
    ]
    two = [power(Design("two", (n,), Fraction(0), True, "interval", ALPHA, 1000), 0.19) for n in (100, 101)]
    assert one[0] == pytest.approx(one[1], abs=0.025)
    assert two[0] == pytest.approx(two[1], abs=0.035)


def test_the_fewest_that_are_enough_against_scipy():
    for n in (5, 6, 30, 71, 72):
        low = [stats.beta.ppf(0.025, k, n - k + 1) if k else 0.0 for k in range(n + 1)]
        wanted = next((k for k in range(n + 1) if low[k] >= 0.95), n + 1)
        assert least_successes(n, Fraction(19, 20), ALPHA, False) == wanted
        wins = [k for k in range(n // 2 + 1, n + 1) if 2 * stats.binom.sf(k - 1, n, 0.5) <= 0.05]
        assert least_plus(n, ALPHA) == min(wins, default=n + 1)


def test_more_units_a_lower_level_or_fewer_members_detect_less_against_itself():
    base = Design("one", (100,), Fraction(4, 5), True, "family", ALPHA, 2000, 0.0, 3)
    effects = [detectable(base)[0]]
    changes = ({"n": (200,)}, {"alpha": Fraction(1, 10)}, {"members": 1})
    effects += [detectable(replace(base, **change))[0] for change in changes]
    assert effects[0] > max(effects[1:])


PROTOCOL = """\
prereg: 1
id: powers
title: What could be found?
data: {records: records.csv, arm: run, unit: task}
metrics:
  accuracy: {rate: right}
  early: {rate: right, among: number < 40}
  spread: {brier: {confidence: conf, label: right}}
  free: {mean: conf}
  order: {auroc: {score: conf, label: right}}
  heavy: {mean: {mean: right, weight: conf}}
  twice: {value: 2 * accuracy}
resampling: {resamples: 1000, seed: 1, level: 0.95}
predictions:
"""
ARMS = ("a", "b", "c")


def project(folder, *predictions, units=100):
    rows = [
        f"{run},t{i},{i},{(i * 7 + k) % 3 > 0},{(i * 5 + k) % 10 / 10}"
        for k, run in enumerate(ARMS)
        for i in range(units)
    ]
    (folder / "records.csv").write_text("\n".join(["run,task,number,right,conf", *rows]) + "\n")
    lines = [f"  p{i}: {{claim: {json.dumps(claim)}{more}}}" for i, (claim, more) in enumerate(predictions)]
    (folder / "protocol.yaml").write_text(PROTOCOL + "\n".join(lines) + "\n")
    return folder / "protocol.yaml"


def rows_of(folder, *predictions, **more):
    path = project(folder, *[(p, "") if isinstance(p, str) else p for p in predictions], **more)
    return powers(check(Project.at(folder), path).analysis.main)


def effect_of(*args, **more):
    return detectable(Design(*args, **more))[0]


def test_the_form_units_and_level_of_each_leg_by_hand(tmp_path):
    exact, point, share = ", evidence: exact", ", evidence: point", ", evidence: {support: 0.9}"
    rows = rows_of(
        tmp_path,
        "accuracy[a] >= 0.5",
        "0.6 > accuracy[a]",
        ("early[a] > 0.5", exact),
        ("accuracy[a] > accuracy[b]", exact),
        ("accuracy[a] - accuracy[b] >= -0.1", share),
        "spread[a] < spread[b]",
        "accuracy[a] > early[b]",
        "any(accuracy > 0.6)",
        ("accuracy[a] > 0.5", ", family: f"),
        ("accuracy[b] > 0.5", ", family: f"),
        ("accuracy[a] > 0.5", point),
    )
    one, kw = Fraction(1, 2), {"alpha": ALPHA, "resamples": 1000}
    third = {**kw, "alpha": ALPHA / 3}
    wanted = [
        ((100, 0.95), effect_of("one", (100,), one, False, "interval", **kw)),
        ((100, 0.95), effect_of("one", (100,), Fraction(2, 5), True, "interval", **kw)),
        ((40, 0.95), effect_of("one", (40,), one, True, "exact", **kw)),
        ((100, 0.95), effect_of("two", (100,), Fraction(0), True, "exact", **kw)),
        ((100, None), effect_of("two", (100,), Fraction(-1, 10), False, "support", share=0.9, **kw)),
        ((100, 0.95), effect_of("two", (100,), Fraction(0), True, "interval", tested=False, **kw)),
        (([100, 40], 0.95), effect_of("apart", (100, 40), Fraction(0), True, "interval", tested=False, **kw)),
        ((100, 1 - 0.05 / 3), effect_of("one", (100,), Fraction(3, 5), True, "interval", **third)),
        ((100, 0.95), effect_of("one", (100,), one, True, "family", members=2, **kw)),
        ((100, 0.95), effect_of("one", (100,), one, True, "family", members=2, **kw)),
        ((100, None), None),
    ]
    assert len(rows) == len(wanted)
    for row, ((n, level), effect) in zip(rows, wanted, strict=True):
        assert (row.n, row.effect) == (n, effect), row
        assert row.level == (None if level is None else pytest.approx(level))
    assert rows[7].policies == 3
    assert "no effect size" in rows[-1].reason
    assert "10 of 11" in summary(rows)


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("spearman(accuracy, order) > 0", "correlation"),
        ("order[a] > 0.5", "no mean over units"),
        ("free[a] > 0.5", "no range is declared"),
        ("heavy[a] > 0.5", "weights"),
        ("twice[a] > 0.5", "expression over metrics"),
        ("mean(accuracy) > 0.5", "only a rate or mean"),
    ],
)
def test_what_is_not_simulated_says_why(tmp_path, claim, why):
    (row,) = rows_of(tmp_path, claim)
    assert row.effect is None
    assert why in row.reason


def test_falling_claims_mirror_rising_ones_against_itself(tmp_path):
    rows = rows_of(
        tmp_path, "accuracy[a] > 0.3", "accuracy[a] < 0.7", "not (accuracy[a] <= 0.3)", "0.3 < accuracy[a]"
    )
    assert len({row.effect for row in rows}) == 1


def test_no_outcome_is_read_against_itself(tmp_path):
    rows = rows_of(tmp_path, "accuracy[a] > 0.5", "accuracy[a] > accuracy[b]")
    path = tmp_path / "records.csv"
    path.write_text(path.read_text().replace("True", "x").replace("False", "True").replace("x", "False"))
    assert powers(check(Project.at(tmp_path), tmp_path / "protocol.yaml").analysis.main) == rows


def test_clusters_count_as_one_unit_each(tmp_path):
    path = project(tmp_path, ("accuracy[a] > 0.5", ""), ("spread[a] < 0.5", ""))
    text = path.read_text().replace("level: 0.95}", "level: 0.95, cluster: half}")
    path.write_text(text.replace("unit: task}", "unit: task, derive: {half: number < 50}}"))
    assert [r.n for r in powers(check(Project.at(tmp_path), path).analysis.main)] == [2, 2]


# Clopper and Pearson at 0.95: 72 of 72 has the lower end 0.95 (0.025 ** (1 / 72) = 0.9501), 71 of 71 has 0.9494.
# Sign test: 2 / 2 ** 6 is 0.031, 2 / 2 ** 5 is 0.0625.
@pytest.mark.parametrize(
    ("claim", "enough"),
    [
        ("accuracy[a] >= 0.95", 72),
        ("not (accuracy[a] < 0.95)", 72),
        ("accuracy[a] <= 0.05", 72),
        ("accuracy[a] > accuracy[b]", 6),
        ("accuracy[a] >= 0.95 or accuracy[a] < 0.5", 7),  # 1 - 0.0125 ** (1 / 6) is 0.518
        ("accuracy[a] >= 0.95 and point(accuracy[b] > 0.5)", 72),
    ],
)
def test_too_few_units_for_exact_evidence_by_hand(tmp_path, claim, enough):
    evidence = ", evidence: exact"
    assert rows_of(tmp_path, (claim, evidence), units=enough)
    with pytest.raises(InputError, match=f"{enough - 1} units can never be enough for exact evidence"):
        rows_of(tmp_path, (claim, evidence), units=enough - 1)


@pytest.mark.parametrize(
    ("claim", "units", "told"),
    [
        ("accuracy[a] >= 0.95", 100, "were the bar the truth, 5 of 100 units would lie beyond it"),
        ("accuracy[a] >= 0.8", 100, None),
        ("accuracy[a] >= 0.8", 99, "were the bar the truth, 19.8 of 99 units"),
        ("accuracy[a] <= 0.2", 99, "were the bar the truth, 19.8 of 99 units"),
        ("accuracy[a] <= 0.95", 100, None),  # many would lie beyond it
        ("accuracy[a] > accuracy[b]", 19, "few units for an interval: 19;"),
        ("accuracy[a] > accuracy[b]", 20, None),
        ("spread[a] < 0.4", 30, "were the bar the truth, 12 of 30 units"),
        ("spread[a] < 0.4", 50, None),
        ("point(accuracy[a] >= 0.95) and accuracy[a] > 0.5", 100, None),
    ],
)
def test_few_units_for_an_interval_are_warned_of(tmp_path, claim, units, told):
    path = project(tmp_path, (claim, ""), units=units)
    found = [w.message for w in check(Project.at(tmp_path), path).warnings if "few units" in w.message]
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_the_commands(tmp_path, capsys):
    project(tmp_path, ("accuracy[a] > 0.5", ""), ("spearman(accuracy, order) > 0", ""))
    where = [str(tmp_path / "protocol.yaml"), "--root", str(tmp_path)]
    assert execute(["check", *where, "--power", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["power"]
    assert set(first) == {
        "id", "leg", "n", "form", "evidence", "level", "effect", "power", "policies", "assumed", "reason",
    }  # fmt: skip
    assert first["power"] == pytest.approx(0.8, abs=0.03)
    assert (second["effect"], second["power"]) == (None, None)
    assert execute(["check", *where, "--json"]) == 0
    assert "power" not in json.loads(capsys.readouterr().out)
    assert execute(["check", *where, "--power"]) == 0
    out = capsys.readouterr().out
    assert f"{first['effect']:g}" in out
    assert "every unit counts 0 or 1" in out
    assert execute(["lock", *where]) == 0
    assert "power: 1 of 2 comparisons would hold" in capsys.readouterr().out
