"""Registrations of records that do not exist yet: what is declared, what the run holds them to, who binds whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prereg.cli.app import execute

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOL = """\
prereg: 1
id: promised
title: records to come
data:
  records: later.csv
  arm: model
  unit: item
  prospective: true
  arms: [a, b]
  least_units: 10
  types: {correct: truth, conf: number, suite: text}
split: {parts: {calibration: 0.5, test: 0.5}, stratify: suite, seed: 1, default: test}
metrics:
  acc: {rate: correct}
  ece: {ece: {confidence: conf, label: correct}}
resampling: {resamples: 400, seed: 2, stratify: suite}
predictions:
  better: {claim: "acc[b] > acc[a]"}
"""


def records(units: int = 40, arms: tuple[str, ...] = ("a", "b"), wrong: int = 0) -> str:
    """Arm b is right on every unit, arm a on every third; `wrong` turns the first cells round."""
    lines = ["model,item,correct,conf,suite"]
    for arm in arms:
        for i in range(units):
            right = (arm == "b" or i % 3 == 0) != (i < wrong)
            lines.append(f"{arm},q{i},{str(right).lower()},0.{i % 9 + 1},s{i % 2}")
    return "\n".join(lines) + "\n"


def at(folder: Path, *words: str) -> int:
    return execute([*words, "--root", str(folder)])


@pytest.fixture
def promised(tmp_path: Path) -> Path:
    (tmp_path / "p.yaml").write_text(PROTOCOL, encoding="utf-8")
    assert at(tmp_path, "lock", str(tmp_path / "p.yaml")) == 0
    return tmp_path


def test_it_locks_without_records_and_is_missing_until_they_come(promised: Path) -> None:
    assert at(promised, "run") == 4
    assert not list(promised.glob("results/*/*/ledger.json"))


def test_the_first_run_binds_the_later_ones(promised: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (promised / "later.csv").write_text(records(), encoding="utf-8")
    assert at(promised, "run") == 0
    assert at(promised, "run") == 0
    assert "reproduced" in capsys.readouterr().out
    content = json.loads(next(promised.glob("results/*/*/ledger.json")).read_text())["content"]
    assert [f["path"] for f in content["data"]["files"]] == ["later.csv"]
    assert content["data"]["files"][0]["rows"] == 80
    (promised / "later.csv").write_text(records(wrong=3), encoding="utf-8")
    assert at(promised, "run") == 3
    assert "later.csv" in capsys.readouterr().err


def test_exact_evidence_for_rates_that_come_over_different_units_is_refused_by_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROTOCOL.replace("{rate: correct}", "{rate: correct, among: conf > 0.5}")
    text = text.replace('"acc[b] > acc[a]"', '"acc[b] > acc[a]", evidence: exact')
    text = text.replace("least_units: 10", "least_units: 40")
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert at(tmp_path, "lock", str(tmp_path / "p.yaml")) == 0
    lines = records().splitlines(keepends=True)
    surer = "".join(line.replace(",0.1,", ",0.9,") if line[0] == "a" else line for line in lines)
    (tmp_path / "later.csv").write_text(surer, encoding="utf-8")
    assert at(tmp_path, "run") == 3
    assert "two rates over the same units" in capsys.readouterr().err
    assert not list(tmp_path.glob("results/*/*/ledger.json"))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (records(units=9), 4, "9 units are fewer than the 10"),
        (records(arms=("a", "c")), 3, "the arms are a, c; registered were a, b"),
        (records().replace("conf", "sure"), 3, "sure"),
    ],
    ids=["too few units", "other arms", "another column"],
)
def test_records_that_are_not_those_declared_are_refused(
    promised: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, words: str
) -> None:
    (promised / "later.csv").write_text(text, encoding="utf-8")
    found = at(promised, "run")
    said = capsys.readouterr().err
    assert found == code, said
    assert words in said or "conf" in said
    assert not list(promised.glob("results/*/*/ledger.json"))


@pytest.mark.parametrize("key", ["arms", "least_units", "types"])
def test_what_is_not_declared_is_asked_for(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in PROTOCOL.splitlines() if not line.strip().startswith(f"{key}:")]
    (tmp_path / "p.yaml").write_text("\n".join(lines), encoding="utf-8")
    assert at(tmp_path, "lock", str(tmp_path / "p.yaml")) == 2
    assert f"declare their `{key}`" in capsys.readouterr().err
    assert not (tmp_path / "registrations").exists()


def test_records_that_exist_are_no_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text(PROTOCOL, encoding="utf-8")
    (tmp_path / "later.csv").write_text(records(), encoding="utf-8")
    assert at(tmp_path, "lock", str(tmp_path / "p.yaml")) == 2
    assert "take `prospective` away" in capsys.readouterr().err
