"""`diff`: three ways, for CI. Each defect is made by hand and must be told with its own exit code."""

from __future__ import annotations

import json
import re
import shutil
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broken_projects import contents
from ci_project import Study, kinds, prediction
from prereg import registration
from prereg.cli import reports
from prereg.diff import CODES, FAIL_ON


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path / "project")


@pytest.fixture
def base(study, tmp_path):
    """A copy of the study as it was, to compare with."""
    shutil.copytree(study.root, tmp_path / "base")
    return str(tmp_path / "base")


# Against the registration alone


def test_a_ledger_as_it_was_written_has_no_finding(study):
    before = contents(study.root)
    tree = study.json("diff")
    assert (tree["exit_code"], tree["findings"], tree["base"]) == (0, [], None)
    assert [p["id"] for p in tree["ledgers"][0]["predictions"]] == ["good", "b-is-better", "b-ranks"]
    assert tree["ledgers"][0]["data"] == "verified"
    assert contents(study.root) == before


def test_missing_is_never_success(tmp_path):
    study = Study(tmp_path, ran=False)
    tree = study.json("diff")
    assert tree["exit_code"] == 4
    assert kinds(tree) == [("missing", "ledger")]


def test_an_empty_folder_is_missing(tmp_path):
    from broken_projects import command

    assert command("diff", "--root", str(tmp_path)).code == 4


def test_an_unknown_id_is_missing_with_the_nearest(study):
    said = study.say("diff", "smal")
    assert said.code == 4
    assert "did you mean `small`" in said.err


def test_every_byte_of_a_ledger_counts(study):
    path, _ = study.ledger()
    data = path.read_bytes()
    # every 97th byte here; all of them in the tests of sealed files
    for i in range(0, len(data), 97):
        path.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        assert study.say("diff").code == 3, data[i - 20 : i + 20]
    path.write_bytes(data)
    assert study.say("diff").code == 0


def _drop(content):
    content["predictions"].pop(1)


def _extra(content):
    content["predictions"].append({**prediction(content, "good"), "id": "better"})


def _twice(content):
    content["predictions"].append(prediction(content, "good"))


def _order(content):
    content["predictions"].reverse()


def _claim(content):
    prediction(content, "good")["claim"] = "right[b] > 0.2"


def _anticipated(content):
    prediction(content, "b-is-better")["anticipated"] = "failed"


def _bound(content):
    content["registration"]["digest"] = "0" * 64


def _files(content):
    content["data"]["files"][0]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_drop, "prediction_missing"),
        (_extra, "prediction_extra"),
        (_twice, "prediction_extra"),
        (_order, "prediction_order"),
        (_claim, "prediction_changed"),
        (_anticipated, "prediction_changed"),
        (_bound, "bound"),
        (_files, "data"),
    ],
)
def test_a_resealed_ledger_that_is_not_of_its_registration(study, change, kind):
    study.reseal(change)
    tree = study.json("diff")
    assert tree["exit_code"] == 3
    assert ("integrity", kind) in kinds(tree)


def test_a_ledger_without_its_registration(study):
    study.registrations[0].unlink()
    tree = study.json("diff")
    assert tree["exit_code"] == 3
    assert ("integrity", "bound") in kinds(tree)


def test_a_changed_protocol_is_drift_and_a_comment_is_cosmetic(study):
    path = study.root / "small.yaml"
    path.write_text("# a comment\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert kinds(study.json("diff")) == [("note", "cosmetic")]
    study.edit("0.3", "0.2")
    tree = study.json("diff")
    assert tree["exit_code"] == 3
    assert "predictions[good].claim" in str(tree["findings"])


def test_data_that_is_absent_is_unchecked_and_data_that_differs_is_not(study):
    path = study.root / "records.csv"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    tree = study.json("diff")
    assert (tree["exit_code"], tree["ledgers"][0]["data"]) == (0, "unchecked")
    assert study.say("diff", "--require-data").code == 4
    path.write_text(text.replace("true", "yes!", 1), encoding="utf-8")
    tree = study.json("diff")
    assert (tree["exit_code"], tree["ledgers"][0]["data"]) == (3, "changed")


def test_a_table_that_is_gone_or_another(study):
    path = study.ledgers[0].with_name("policies.csv")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"0", b"1", 1))
    assert study.say("diff").code == 3
    path.unlink()
    assert study.say("diff").code == 4


def test_no_link_is_followed_out_of_the_project(study, tmp_path):
    path, _ = study.ledger()
    outside = tmp_path / "outside.json"
    path.rename(outside)
    path.symlink_to(outside)
    tree = study.json("diff")
    assert tree["exit_code"] == 3
    assert "leads out of the project" in str(tree["findings"])


def test_promised_records_are_those_that_the_first_run_found(tmp_path):
    study = Study(tmp_path, ran=False)
    shutil.rmtree(study.root / "registrations")
    (study.root / "records.csv").rename(study.root / "later.csv")
    study.edit(
        "unit: item}",
        "unit: item, prospective: true, arms: [a, b], least_units: 40, types: {score: number, correct: truth}}",
    )
    assert study.say("lock", str(study.root / "small.yaml")).code == 0
    assert study.say("diff").code == 4
    (study.root / "later.csv").rename(study.root / "records.csv")
    study.run()
    tree = study.json("diff")
    assert (tree["exit_code"], tree["ledgers"][0]["data"]) == (0, "verified")
    path = study.root / "records.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("true", "false", 1), encoding="utf-8")
    tree = study.json("diff")
    assert (tree["exit_code"], tree["ledgers"][0]["data"]) == (3, "changed")


# Against a base


def _verdict(content):
    entry = prediction(content, "good")
    entry |= {"verdict": "failed", "reason": "short", "surprise": True}
    content["counts"] |= {"held": content["counts"]["held"] - 1, "failed": content["counts"]["failed"] + 1}


def _number(content):
    prediction(content, "good")["point"] += 1e-6


def test_the_same_state_has_no_finding(study, base):
    tree = study.json("diff", "--base", base)
    assert (tree["exit_code"], tree["findings"]) == (0, [])
    assert all(p["base"]["verdict"] == p["verdict"] for p in tree["ledgers"][0]["predictions"])


def test_a_verdict_that_changed_is_1_with_its_line(study, base):
    study.reseal(_verdict)
    tree = study.json("diff", "--base", base)
    assert tree["exit_code"] == 1
    (found,) = [f for f in tree["findings"] if f["level"] == "verdict"]
    assert found["prediction"] == "good"
    path, _ = study.ledger()
    assert path.read_text(encoding="utf-8").split("\n")[found["line"] - 1] == '    "id": "good",'
    assert study.say("diff", "--base", base, "--fail-on", "weakened").code == 0


def _leg(content):
    prediction(content, "both")["legs"][1]["verdict"] = "failed"


def _secondary(content):
    prediction(content, "aside")["verdict"] = "falsified"


def _variant(content):
    content["variants"][0]["predictions"][0]["verdict"] = "falsified"


@pytest.mark.parametrize("forge", [_leg, _secondary, _variant])
def test_a_verdict_out_of_the_counts_that_changed_without_a_number_is_3(tmp_path, forge):
    study = Study(tmp_path / "study", ran=False)
    shutil.rmtree(study.root / "registrations")
    more = """predictions:
  both: {claim: "right[b] > 0.3 and right[a] > 0.3"}
  aside: {claim: "right[a] > 0.3", tier: secondary}
"""
    study.edit("predictions:\n", "variants: {early: {where: score < 9}}\n" + more)
    assert study.say("lock", str(study.root / "small.yaml")).code == 0
    study.run()
    shutil.copytree(study.root, tmp_path / "base")
    assert study.say("diff", "--base", str(tmp_path / "base")).code == 0
    study.reseal(forge)
    tree = study.json("diff", "--base", str(tmp_path / "base"))
    assert tree["exit_code"] == 3
    assert "differs from the base for the same registration" in str(tree["findings"])


def test_a_number_that_moved_under_one_registration_is_3_and_a_tolerance_excuses_it(study, base):
    study.reseal(_number)
    tree = study.json("diff", "--base", base)
    assert tree["exit_code"] == 3
    assert kinds(tree) == [("integrity", "number")]
    assert "predictions[good].point" in tree["findings"][0]["message"]
    for tolerance, code in (("1e-4", 0), ("1e-7", 3)):  # 1e-6 of 0.375 is 2.7e-6
        assert study.say("diff", "--base", base, "--tolerance", tolerance).code == code


def test_a_base_ledger_that_is_gone_here_is_missing(study, base):
    study.ledgers[0].unlink()
    tree = study.json("diff", "--base", base)
    assert tree["exit_code"] == 4
    assert "the base has this ledger" in str(tree["findings"])


@pytest.mark.parametrize("which", ["registrations", "attempts", "notes"])
def test_what_is_only_ever_added_to_is_not_taken_away(study, tmp_path, which):
    study.json("note", "small", "--text", "The machine was restarted.")
    shutil.copytree(study.root, tmp_path / "base")
    if which == "registrations":
        shutil.rmtree(study.root / "registrations")
        shutil.rmtree(study.root / "results")
    elif which == "attempts":
        for folder in ("results", "registrations"):
            shutil.rmtree(study.root / folder / "small" / "attempts")
    else:
        shutil.rmtree(study.root / "registrations" / "small" / "notes")
    tree = study.json("diff", "--base", str(tmp_path / "base"))
    assert tree["exit_code"] == 3
    assert ("integrity", "removed") in kinds(tree)


def test_an_envelope_that_was_resealed_is_seen_against_the_base(study, base):
    path = study.registrations[0]
    stored = registration.read(path, path.name)
    path.write_bytes(
        registration.to_bytes(stored.content, {**stored.envelope, "time": "2020-01-01T00:00:00Z"})
    )
    assert study.say("diff", "--base", base).code == 3


def test_a_new_registration_is_a_note_and_its_missing_ledger_is_4(study, base):
    text = (study.root / "small.yaml").read_text(encoding="utf-8").replace("id: small", "id: other")
    (study.root / "other.yaml").write_text(text, encoding="utf-8")
    assert study.say("lock", str(study.root / "other.yaml")).code == 0
    tree = study.json("diff", "--base", base)
    assert tree["exit_code"] == 4
    assert ("note", "new") in kinds(tree)
    assert study.say("diff", "small", "--base", base).code == 0


def test_a_git_commit_is_read_without_a_checkout(study):
    commit = study.committed()
    before = contents(study.root)
    study.reseal(_verdict)
    changed = contents(study.root)
    tree = study.json("diff", "--base", "main")
    assert tree["exit_code"] == 1
    assert tree["base"] == {"kind": "git", "name": "main", "commit": commit}
    after = contents(study.root)
    assert after == changed
    assert {k for k, v in after.items() if before[k] != v} == {
        study.ledgers[0].relative_to(study.root).as_posix()
    }


def test_a_project_in_a_folder_of_a_repository(study, tmp_path):
    whole = tmp_path / "whole"
    whole.mkdir()
    study.root.rename(whole / "project")
    study.root = whole
    study.committed()
    study.root = whole / "project"
    study.reseal(_verdict)
    assert study.json("diff", "--base", "HEAD")["exit_code"] == 1
    said = study.say("diff", "--base", "HEAD", "--format", "github").out
    assert "file=project/results/small/" in said


@pytest.mark.parametrize(
    "wanted", ["nowhere", "--upload-pack=x", "-x", "", "main:small.yaml", "HEAD\x00", "../base"]
)
def test_a_base_that_is_none(study, wanted):
    study.committed()
    assert study.say("diff", f"--base={wanted}").code == 4


def test_a_base_that_is_a_folder_and_a_commit_must_be_told_apart(study, tmp_path, monkeypatch):
    study.committed()
    shutil.copytree(study.root, tmp_path / "main")
    monkeypatch.chdir(tmp_path)
    assert study.say("diff", "--base", "main").code == 2
    assert study.say("diff", "--base", "./main").code == 0


def test_a_commit_with_links_and_foreign_names_gives_nothing_but_its_files(study, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text("{}", encoding="utf-8")
    (study.root / "registrations" / "small" / "0123456789ab.json").symlink_to(secret)
    (study.root / "registrations" / "BIG").mkdir()
    (study.root / "registrations" / "BIG" / "x.json").write_text("{}", encoding="utf-8")
    study.committed()
    (study.root / "registrations" / "small" / "0123456789ab.json").unlink()
    shutil.rmtree(study.root / "registrations" / "BIG")
    tree = study.json("diff", "--base", "HEAD")
    assert (tree["exit_code"], tree["findings"]) == (0, [])


# --fail-on


@pytest.mark.parametrize(
    ("asked", "code"), [("surprise", 1), ("failed", 1), ("falsified", 1), ("verdict", 0), ("weakened", 0)]
)
def test_fail_on_by_the_verdicts_of_the_study(study, asked, code):
    # b-is-better fails although held was expected; b-ranks is falsified; there is no base
    assert study.json("diff", "--fail-on", asked)["exit_code"] == code


def test_guards_and_other_tiers_never_fall_short(study, base):
    study.reseal(lambda content: (_verdict(content), prediction(content, "good").update(guard=True)))
    tree = study.json("diff", "--base", base, "--fail-on", "verdict", "--fail-on", "failed")
    assert "good" not in [f["prediction"] for f in tree["findings"] if f["level"] == "verdict"]


def test_the_worst_finding_decides_the_exit_code():
    assert list(CODES.items())[:3] == [("integrity", 3), ("missing", 4), ("verdict", 1)]
    assert FAIL_ON == ("verdict", "weakened", "surprise", "failed", "falsified")


# Forms


HOSTILE = [
    "a|b",
    "<img src=x>",
    "`x`",
    "%0A::error::x",
    "a,b:c",
    "\x1b[31m",
    "x\ny",
    "]]>",
    "&amp;",
    "@all",
    "\ud800",
]


def _tree(text):
    finding = {
        "level": "verdict",
        "kind": "verdict",
        "message": text,
        "id": text,
        "registration": None,
        "prediction": text,
        "file": text,
        "line": 3,
    }
    entry = {
        "id": text,
        "claim": text,
        "verdict": "failed",
        "reason": text,
        "anticipated": "held",
        "surprise": True,
        "point": 0.5,
        "interval": [0.1, 0.9],
        "n": 3,
        "guard": False,
        "deviated": True,
        "changed": True,
        "base": {"verdict": "held", "reason": None},
        "fell_short": ["verdict"],
        "noted": [],
        "line": 3,
    }
    one = {
        "id": text,
        "registration": "0" * 64,
        "title": text,
        "data": "verified",
        "headline": text,
        "amends": {"digest": "1" * 64, "reason": text, "seen": "nothing run"},
        "predictions": [entry],
        "notes": [{"time": "2026-01-01T00:00:00Z", "predictions": [text], "text": text}],
    }
    counts = (
        "ledgers",
        "held",
        "failed",
        "falsified",
        "surprises",
        "changed",
        "fell_short",
        "integrity",
        "missing",
    )
    return {
        "command": "diff",
        "exit_code": 1,
        "base": {"kind": "git", "name": text, "commit": "2" * 40},
        "tolerance": 0.0,
        "fail_on": ["verdict"],
        "summary": dict.fromkeys(counts, 1),
        "findings": [finding, {**finding, "level": "integrity"}],
        "ledgers": [one],
    }


def _columns(line):
    """Cells of a row of a Markdown table: bars that are not escaped."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))


@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_no_text_breaks_out_of_a_form(text):
    tree = _tree(text)
    rows = [line for line in reports.markdown(tree).split("\n") if line.startswith("|")]
    assert len(rows) == 3
    assert {_columns(row) for row in rows} == {8}
    assert "<" not in reports.markdown(tree)
    suites = ET.fromstring(reports.junit(tree))
    assert len(suites) == 1
    assert [len(suites.findall(f".//{tag}")) for tag in ("failure", "error")] == [1, 1]
    lines = reports.github(tree, "").rstrip("\n").split("\n")
    assert len(lines) == 3
    assert [line.startswith("::") for line in lines] == [True, True, False]
    for line in lines[:2]:
        found = re.fullmatch(r"::error file=([^,:]*),title=([^,:]*),line=3::(.*)", line)
        assert found, line


def test_annotations_escape_as_the_toolkit_does_by_hand():
    # escapeData and escapeProperty of actions/toolkit, packages/core/src/command.ts: % first, then CR, LF, `:` and `,`
    assert reports._data("50% of a:b,c") == "50%25 of a:b,c"
    assert reports._property("50% of a:b,c") == "50%25 of a%3Ab%2Cc"


def test_junit_keeps_failed_and_error_apart(study, base):
    study.reseal(_verdict)
    (study.root / "records.csv").write_text("x\n", encoding="utf-8")
    said = study.say("diff", "--base", base, "--format", "junit")
    root = ET.fromstring(said.out)
    assert said.code == 3
    assert (root.get("failures"), root.get("errors")) == ("1", "1")
    (failure,), (error,) = root.findall(".//failure"), root.findall(".//error")
    assert "good: held in the base, now failed (short)" in (failure.text or "")
    assert "records.csv" in (error.text or "")
    assert root.get("tests") == str(len(root.findall(".//testcase")))


def test_markdown_has_changes_first(study, base):
    study.reseal(_verdict)
    said = study.say("diff", "--base", base, "--format", "markdown").out
    rows = [line for line in said.split("\n") if line.startswith("|")]
    assert rows[0] == "| prediction | verdict | base | expected | d | interval | n |"
    assert rows[2].startswith("| **good** (changed) | failed (short) | held | held | +0.3750 | \\[")
    assert len(rows) == 5
    assert "A small \\| project" in said


def test_write_gives_the_same_as_format(study, base, tmp_path):
    study.reseal(_verdict)
    names = {form: tmp_path / form for form in ("json", "markdown", "junit", "github")}
    more = [x for form, path in names.items() for x in ("--write", f"{form}={path}")]
    assert study.say("diff", "--base", base, *more).code == 1
    for form, path in names.items():
        assert path.read_text(encoding="utf-8") == study.say("diff", "--base", base, "--format", form).out
    assert json.loads(names["json"].read_text(encoding="utf-8")) == study.json("diff", "--base", base)
    assert study.say("diff", "--write", "paper=x").code == 2
    assert study.say("diff", "--write", f"json={tmp_path}").code == 2


def test_text_names_what_matters_first(study, base):
    study.reseal(_verdict)
    said = study.say("diff", "--base", base)
    first, second, *_ = said.out.split("\n")
    assert first.startswith("1 ledger: ")
    assert "1 verdict changed against" in first
    assert second.startswith("verdict: results/small/")
