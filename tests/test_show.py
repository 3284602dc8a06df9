"""What a reader gets from `show`, `check` and a bare `prereg`: legs, records to come, suggestions, help."""

from __future__ import annotations

import pytest

from broken_projects import command
from ci_project import PROTOCOL, RECORDS
from prereg.cli import render_ledger, render_registration
from prereg.cli.policies import _meant
from prereg.schema import schema_of

LEGS = """\
  low:
    claim: right[a] > 0.9 and right[b] > 0.3
    evidence: point
  high:
    claim: right[a] > 0.3 and right[b] > 0.3
    evidence: point
  neither:
    claim: not (right[a] > 0.3 and right[b] > 0.3)
    evidence: point
"""


def project(folder, text, records=RECORDS):
    (folder / "small.yaml").write_text(text, encoding="utf-8")
    (folder / "records.csv").write_text(records, encoding="utf-8")
    return lambda *words: command(*words, "--root", str(folder))


@pytest.fixture
def legs(tmp_path):
    say = project(tmp_path, PROTOCOL + LEGS)
    assert say("lock", str(tmp_path / "small.yaml")).code == 0
    return say


def leg(verdict, number, **more):
    undecided = dict.fromkeys(("reason", "left", "right", "point", "interval", "support", "n", "n_undefined"))
    return {"claim": f"x > {number}", "verdict": verdict, **undecided, **more}


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


# Legs


def test_run_and_show_say_which_legs_fell_short(legs):
    for said in (legs("run"), legs("show", "small")):
        assert said.code == 0, said.err
        lines = said.out.splitlines()
        at = lines.index("  Legs of low")
        assert lines[at + 1].split() == ["leg", "verdict", "left", "right", "d", "support", "n"]
        assert lines[at + 2].startswith("  right[a] > 0.9  falsified  +0.6500  +0.9000  -0.2500")
        assert lines[at + 3] == "  … 1 more (--legs shows them)"
        assert "Legs of high" not in said.out
        assert lines.index("  Legs of neither") > at
        assert all(line == line.rstrip() and "\x1b" not in line for line in lines)


def test_legs_of_what_was_held_are_shown_when_asked_for(legs):
    assert legs("run").code == 0
    said = legs("show", "small", "--legs").out
    low = said.partition("  Legs of low")[2].partition("\n\n")[0]
    assert "right[a] > 0.9  falsified" in low
    assert "right[b] > 0.3  held" in low
    assert "  Legs of high" in said


def test_legs_are_bounded_and_falsified_ones_come_first():
    some = [leg("held", 0), leg("failed", 1, reason="short")] * 12 + [leg("falsified", 2)]
    entry = {"id": "p", "verdict": "falsified", "reason": None, "legs": some}
    ((table, left),) = render_ledger.leg_tables([entry])
    assert [row[1] for row in texts(table)] == ["falsified"] + ["failed (short)"] * 9
    assert left == 15
    ((table, left),) = render_ledger.leg_tables([{**entry, "legs": some * 5}], every=True)
    assert (len(table.rows), left) == (100, 25)


def test_a_leg_shows_what_the_ledger_holds():
    one = leg(
        "held", 0, left=0.5, right=0.25, point=0.25, interval=[0.1, 0.4], interval_corrected=[0.05, 0.45], n=8
    )
    two = leg("failed", 1, reason="undefined", undefined_because="vacuous", n=0)
    entry = {"id": "p", "verdict": "failed", "reason": "undefined", "legs": [one, two]}
    ((table, _),) = render_ledger.leg_tables([entry], every=True)
    assert [name.strip() for name, _ in table.columns] == [
        *("leg", "verdict", "left", "right", "d", "interval", "corrected", "n", "undefined")
    ]
    assert texts(table)[0][5:7] == ["[+0.1000, +0.4000]", "[+0.0500, +0.4500]"]
    assert texts(table)[1][1:5] == ["failed (undefined)", "⊥", "⊥", "⊥"]
    assert texts(table)[1][-1] == "vacuous"


@pytest.mark.parametrize("reason", ["not_applicable", "not_measured"])
def test_legs_do_not_explain_what_was_not_judged_by_them(reason):
    entry = {"id": "p", "verdict": "failed", "reason": reason, "legs": [leg("held", 0)]}
    assert render_ledger.leg_tables([entry]) == []


# Records to come


def test_promised_records_did_not_exist(tmp_path):
    to_come = "arm: system, unit: item, prospective: true, arms: [a, b], least_units: 10, types: {correct: truth, score: number}}"
    text = PROTOCOL.replace("arm: system, unit: item}", to_come)
    say = project(tmp_path, text)
    (tmp_path / "records.csv").unlink()
    checked = say("check", str(tmp_path / "small.yaml"))
    assert checked.out.endswith(" records to be made\n"), checked.err
    assert say("lock", str(tmp_path / "small.yaml")).code == 0
    assert "; records did not exist when locked\n" in say("show", "small").out


def test_records_that_are_here_existed(legs, tmp_path):
    assert "; records existed when locked\n" in legs("show", "small", "--registration").out
    assert legs("check", str(tmp_path / "small.yaml")).out.endswith(" 80 records\n")


def test_a_collectors_files_are_no_records_and_only_a_few_are_listed():
    files = [{"path": f"{i}.p", "rows": 0, "sha256": "0" * 64} for i in range(12)]
    data = {"prospective": True, "collector": {}, "files": files}
    assert render_registration._when_made(data) == "records are made by the run"
    lines = render_registration._file_lines(data)
    assert lines[0] == "source   0.p  sha256 000000000000…"
    assert len(lines) == 6
    assert lines[-1].strip() == "… 7 more files"
    assert len(render_registration._file_lines({"prospective": False, "files": files[:10]})) == 10
    assert "  0 rows  " in render_registration._file_lines({"prospective": False, "files": files[:10]})[0]


# What was meant


def test_a_policy_that_is_not_there_brings_up_those_like_it(legs):
    assert legs("run").code == 0
    names = ["knn-035 none", "knn-035 0.5", *(f"knn-{i} none" for i in range(6)), "forest none"]
    rows = [{"policy": name} for name in names]
    said = _meant("knn", rows)
    assert said.startswith("; did you mean `knn-")
    assert "`knn-035 none`" in said
    assert said.count("`") == 10
    assert said.endswith(" … and 3 more?")
    assert _meant("forst none", rows) == "; did you mean `forest none`?"
    assert _meant("qqqqqqqq", rows) == _meant("", rows) == ""
    assert legs("show", "small", "--policy", "z").code == 4


def test_options_of_show_that_exclude_each_other_are_a_usage_error(legs):
    said = legs("show", "small", "--registration", "--policy", "a")
    assert said.code == 2
    assert "--policy and --registration" in said.err


@pytest.mark.parametrize("name", ["diff", "run"])
def test_a_word_that_is_no_choice_is_refused_plainly(legs, name):
    said = legs(name, "--fail-on", "bogus")
    assert said.code == 2
    assert "'bogus' is not one of" in said.err
    assert "Value error" not in said.err


@pytest.mark.parametrize("words", [(), ("stamp",)])
def test_no_command_prints_the_ordinary_help(words):
    said = command(*words)
    assert said.code == 2
    lines = said.err.splitlines()
    assert not said.err.startswith("prereg:")
    assert lines[0].startswith("Usage: ")
    assert len(lines) > 5
    assert said.err.rstrip() == command(*words, "--help").out.rstrip()


@pytest.mark.parametrize(
    ("metric", "column", "word"),
    [
        ("{confidence: conf, label: score}", "score", "a label from 0 to 1 is expected"),
        ("{confidence: conf, error: score}", "score", "an error from 0 to 1 is expected"),
        ("{confidence: score, label: conf}", "score", "a confidence is expected"),
    ],
)
def test_a_number_out_of_range_is_told_by_its_role(tmp_path, metric, column, word):
    lines = RECORDS.splitlines()
    records = "\n".join([lines[0] + ",conf", *(f"{line},0.5" for line in lines[1:])]) + "\n"
    text = PROTOCOL.replace(
        "  ranked: {auroc: {score: score, label: correct}}", f"  ranked: {{ece: {metric}}}"
    )
    said = project(tmp_path, text, records)("check", str(tmp_path / "small.yaml"))
    assert said.code == 2
    assert f"column {column}: " in said.err
    assert word in said.err


def test_legs_change_no_document(legs):
    assert legs("run").code == 0
    assert legs("show", "small", "--legs", "--json").out == legs("show", "small", "--json").out
    assert schema_of("show")
