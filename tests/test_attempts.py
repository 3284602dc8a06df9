"""Attempts: every start leaves a file and a witness, none can be taken away, and merging branches is no conflict."""

from __future__ import annotations

import json
import shutil

import pytest

import forge
from broken_projects import command, contents
from forge import ATTEMPT, WITNESS, failed, made, verified
from prereg import attempts, registration
from prereg.attempts import begin
from prereg.errors import IntegrityError
from prereg.project import Project


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "project", forge.SMALL)


def read(folder):
    return attempts.read_all(Project.at(folder), "small")


def start(folder):
    project = Project.at(folder)
    return begin(project, registration.current(project, "small"), "run", {"time": "", **CIRCUMSTANCES})


CIRCUMSTANCES = {
    "prereg": "0",
    "python": "0",
    "numpy": "0",
    "platform": "test",
    "commit": None,
    "sources": "0" * 64,
}


def test_an_attempt_names_what_it_started_from_and_what_it_wrote(folder):
    (attempt,) = read(folder)
    registered = registration.current(Project.at(folder), "small")
    ledger = forge.only(folder, forge.LEDGER).read_bytes()
    import hashlib

    path = forge.only(folder, forge.REGISTRATION)
    assert attempt.start["registration_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert attempt.start["registration"] == registered.digest
    assert attempt.end["ledger_sha256"] == hashlib.sha256(ledger).hexdigest()
    table = forge.only(folder, "results/*/*/policies.csv").read_bytes()
    assert attempt.end["tables"] == [{"name": "policies.csv", "sha256": hashlib.sha256(table).hexdigest()}]
    assert attempt.start["after"] == []


def test_the_attempt_is_there_before_the_first_record_is_read(tmp_path, monkeypatch):
    folder = made(tmp_path / "p", forge.SMALL, runs=0)
    seen = []

    def reading(*_):
        seen.extend([len(list(folder.glob(ATTEMPT))), len(list(folder.glob(WITNESS)))])
        raise KeyboardInterrupt

    monkeypatch.setattr("prereg.manifest.canonical.file_digest", reading)
    monkeypatch.setattr("prereg.run.drift", lambda *_: [])
    assert command("run", "-C", str(folder)).code == 130
    assert seen == [1, 1]
    monkeypatch.undo()
    (attempt,) = read(folder)
    assert attempt.outcome == "stopped"
    code, checks = verified(folder)
    assert (code, checks["attempts"]) == (4, ("ok", "1 stopped"))  # 4: there is no ledger


def test_each_names_the_one_before_it(folder):
    for _ in range(3):
        assert command("run", "-C", str(folder)).code == 0
    every = {a.digest: a for a in read(folder)}
    assert [a.outcome for a in every.values()].count("reproduced") == 3
    named = [d for a in every.values() for d in a.start["after"]]
    assert len(named) == len(set(named)) == 3
    counts = sorted(w.attempts for w in attempts.witnesses(Project.at(folder), "small")[0])
    assert counts == [1, 2, 3, 4]
    assert failed(folder) == set()


def test_many_in_one_second_are_told_apart(folder):
    found = [start(folder) for _ in range(5)]
    assert len({a.digest for a in found}) == 5
    assert failed(folder) == set()


def test_a_refused_run_is_an_attempt(folder):
    (folder / "records.csv").unlink()
    assert command("run", "-C", str(folder)).code == 4
    last = next(a for a in read(folder) if a.outcome == "refused")
    assert last.end["exit_code"] == 4
    assert "records.csv" in last.end["message"]


def test_branches_that_both_ran_merge_without_a_conflict(folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    for one in (folder, other, other):
        assert command("run", "-C", str(one)).code == 0
    ours, theirs = contents(folder), contents(other)
    shared = [n for n in ours.keys() & theirs.keys() if ours[n] != theirs[n]]
    assert shared == []  # a merge adds files and changes none
    shutil.copytree(other, folder, dirs_exist_ok=True)
    assert failed(folder) == set()
    assert command("run", "-C", str(folder)).code == 0
    newest = next(a for a in read(folder) if len(a.start["after"]) == 2)
    assert len(attempts.ancestors(read(folder), newest.digest)) == 4
    assert failed(folder) == set()


# What is taken away


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_removed_attempt_is_noticed(folder, which):
    for _ in range(2):
        command("run", "-C", str(folder))
    sorted(folder.glob(ATTEMPT))[which].unlink()
    assert failed(folder) == {"attempts"}
    said = command("verify", "-C", str(folder)).out
    assert "registrations/small/attempts/" in said


@pytest.mark.parametrize("which", [0, 1])
def test_a_removed_witness_is_noticed(folder, which):
    command("run", "-C", str(folder))
    sorted(folder.glob(WITNESS))[which].unlink()
    assert failed(folder) == {"attempts"}


def test_an_attempt_removed_with_its_witness_is_noticed_where_another_names_it(folder):
    command("run", "-C", str(folder))
    first = next(a for a in read(folder) if not a.start["after"])
    first.path.unlink()
    (folder / "registrations" / "small" / "attempts" / f"{first.digest[:12]}.json").unlink()
    assert failed(folder) == {"attempts"}


def test_the_last_attempt_removed_with_its_witness_is_seen_by_history_alone(folder):
    """The reason is in the README: what nobody else has seen leaves no trace in the folder."""
    command("run", "-C", str(folder))
    last = next(a for a in read(folder) if a.start["after"])
    last.path.unlink()
    (folder / "registrations" / "small" / "attempts" / f"{last.digest[:12]}.json").unlink()
    assert failed(folder) == set()


def test_all_attempts_removed_are_noticed_by_the_ledger(folder):
    shutil.rmtree(folder / "results" / "small" / "attempts")
    shutil.rmtree(folder / "registrations" / "small" / "attempts")
    code, checks = verified(folder)
    assert code == 3
    assert "no attempt wrote this ledger" in checks["attempts"][1]


# What was interrupted


def test_a_killed_run_is_an_attempt_without_an_end(folder):
    start(folder)
    code, checks = verified(folder)
    assert (code, checks["attempts"][0]) == (0, "ok")
    assert sorted(checks["attempts"][1].split(", ")) == ["1 unfinished", "1 written"]


def test_killed_between_attempt_and_witness_is_no_tampering(folder):
    attempt = start(folder)
    (folder / "registrations" / "small" / "attempts" / f"{attempt.digest[:12]}.json").unlink()
    assert failed(folder) == set()
    assert command("run", "-C", str(folder)).code == 0
    assert failed(folder) == set()


def test_killed_between_ledger_and_end_leaves_the_ledger_unchecked(tmp_path):
    folder = made(tmp_path / "p", forge.SMALL)
    path = forge.only(folder, ATTEMPT)
    begun, _ = forge.parts(path, "attempt")
    forge.seal(path, "attempt", begun, None)
    code, checks = verified(folder)
    assert (code, checks["attempts"][0]) == (0, "unchecked")
    assert command("run", "-C", str(folder)).code == 0
    assert verified(folder)[1]["attempts"][0] == "ok"


def test_a_damaged_attempt_does_not_keep_the_next_from_being_recorded(folder):
    path = forge.only(folder, ATTEMPT)
    path.write_bytes(path.read_bytes()[:-20])
    assert command("run", "-C", str(folder)).code == 0
    found, problems = attempts.readable(Project.at(folder), "small")
    assert len(found) == len(problems) == 1
    assert path.name in found[0].start["damaged"]
    assert failed(folder) == {"attempts"}
    with pytest.raises(IntegrityError):
        read(folder)


# What is rewritten


def test_a_renamed_attempt_is_noticed(folder):
    path = forge.only(folder, ATTEMPT)
    path.rename(path.with_name(f"20200101T000000Z{path.name[16:]}"))
    assert failed(folder) == {"attempts"}


def test_another_outcome_is_noticed(folder):
    path = forge.only(folder, ATTEMPT)
    begun, end = forge.parts(path, "attempt")
    forge.seal(path, "attempt", begun, {**end, "counts": {**end["counts"], "held": 7}})
    assert failed(folder) == {"attempts"}


def test_another_start_is_noticed_by_its_witness(folder):
    path = forge.only(folder, ATTEMPT)
    begun, end = forge.parts(path, "attempt")
    path.unlink()
    begun = {**begun, "time": "2020-01-01T00:00:00Z"}
    forge.seal(path.with_name(attempts.file_name(begun)), "attempt", begun, end)
    assert failed(folder) == {"attempts"}


def test_a_witness_of_fewer_attempts_is_noticed(folder):
    command("run", "-C", str(folder))
    path = next(p for p in folder.glob(WITNESS) if json.loads(p.read_text())["content"]["attempts"] == 2)
    content, _ = forge.parts(path, "witness")
    forge.seal(path, "witness", {**content, "attempts": 1}, None)
    assert failed(folder) == {"attempts"}


def test_an_attempt_of_another_id_is_noticed(folder, tmp_path):
    other = made(tmp_path / "other", forge.SMALL.replace("id: small", "id: twin"))
    for path in other.glob(ATTEMPT):
        shutil.copy(path, folder / "results" / "small" / "attempts")
    assert {"attempts", "registration"} & failed(folder)


def test_results_that_lead_out_of_the_project_are_refused(folder, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(folder / "results" / "small", outside)
    (folder / "results" / "small").symlink_to(outside)
    before = contents(outside)
    assert command("run", "-C", str(folder)).code == 2
    assert contents(outside) == before
