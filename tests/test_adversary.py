"""Somebody who wants a better story: each way is noticed, or the README says why it cannot be.

The adversary may write any file and compute any digest.  In a repository others hold the commits.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import forge
from broken_projects import command
from forge import failed, forge_ledger, made, only, verified
from repository import commit, git, init, needs

README = Path(__file__).resolve().parents[1] / "README.md"
LOCKED = ("protocol.yaml", "records.csv", ":(glob)registrations/small/*.json")


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "p", forge.SMALL)


@pytest.fixture
def shared(tmp_path):
    """The same in a repository, committed in the right order."""
    needs("git")
    folder = tmp_path / "p"
    init(folder)
    made(folder, forge.SMALL)
    commit(folder, *LOCKED)
    commit(folder)
    assert failed(folder) == set()
    return folder


def not_proven(words):
    """Whether the README lists it under what is not proven."""
    text = README.read_text(encoding="utf-8")
    (section,) = re.findall(r"^## What it does not prove\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    return words in " ".join(section.split())


def edit(folder, old="right[b] > right[a]", new="right[b] > 0.01"):
    path = folder / "protocol.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def erase(folder):
    for name in ("registrations", "results"):
        shutil.rmtree(folder / name)


def again(folder):
    for words in (["lock", str(folder / "protocol.yaml")], ["run"]):
        assert command(*words, "-C", str(folder)).code == 0


# The plan


def test_locking_again_after_an_edit_is_refused(folder):
    edit(folder)
    said = command("lock", str(folder / "protocol.yaml"), "-C", str(folder))
    assert said.code == 3
    assert "a change is an amendment" in said.err
    assert command("run", "-C", str(folder)).code == 3
    assert failed(folder) == {"protocol"}


def test_locking_again_after_deleting_the_registration_leaves_its_results(folder):
    edit(folder)
    forge.only(folder, forge.REGISTRATION).unlink()
    assert command("lock", str(folder / "protocol.yaml"), "-C", str(folder)).code == 0
    assert {"registration"} <= failed(folder)
    text = command("verify", "-C", str(folder)).out
    assert "has no registration" in text
    assert "that was run is gone" in text


def test_deleting_everything_and_starting_again_is_seen_by_those_who_hold_the_history(shared):
    edit(shared)
    erase(shared)
    again(shared)
    assert failed(shared) == {"nothing removed"}
    commit(shared)
    assert failed(shared) == {"nothing removed"}


def test_deleting_everything_without_a_history_leaves_no_trace_and_the_readme_says_so(folder):
    edit(folder)
    erase(folder)
    again(folder)
    assert failed(folder) == set()
    assert verified(folder)[1]["history"][0] == "partial"
    assert not_proven("rebuild history that nobody else has")


def test_editing_content_and_digest_together_does_not_fit_the_name(folder):
    path = forge.only(folder, forge.REGISTRATION)
    content, envelope = forge.parts(path, "registration")
    content["protocol"]["predictions"][0]["claim"] = "right[b] > 0.01"
    forge.seal(path, "registration", content, envelope).rename(path)
    assert failed(folder) == {"registration"}
    assert command("run", "-C", str(folder)).code == 3


def test_editing_content_digest_and_name_together_loses_the_results(folder):
    def lower(content, _):
        content["protocol"]["predictions"][0]["claim"] = "right[b] > 0.01"

    forge.forge(folder, forge.REGISTRATION, "registration", lower)
    assert {"protocol", "registration"} <= failed(folder)


def test_deleting_the_registration_is_seen_by_what_hangs_on_it(folder):
    forge.only(folder, forge.REGISTRATION).unlink()
    assert failed(folder) == {"registration"}
    shutil.rmtree(folder / "registrations")
    assert failed(folder) == {"registration"}
    assert command("run", "-C", str(folder)).code == 4


def test_renaming_an_id_does_not_fit_the_content(folder):
    for top in ("registrations", "results"):
        (folder / top / "small").rename(folder / top / "better")
    assert failed(folder) == {"registration"}
    assert command("run", "-C", str(folder)).code == 3


def test_twelve_plans_in_one_place_are_all_shown(folder):
    for i in range(11):
        path = folder / f"plan-{i}.yaml"
        path.write_text(
            forge.SMALL.replace("id: small", f"id: plan-{i}").replace("> right[a]", f"> 0.{i + 10}")
        )
        assert command("lock", str(path), "-C", str(folder)).code == 0
    assert command("run", "-C", str(folder)).code == 0
    found = json.loads(command("status", "--json", "-C", str(folder)).out)["registrations"]
    assert len(found) == 12
    assert all(len(one["shared"]) == 11 for one in found)


def test_showing_one_of_twelve_plans_leaves_no_trace_and_the_readme_says_so(shared):
    """The other eleven were never in the repository."""
    assert failed(shared) == set()
    assert not_proven("That no other plan was registered and dropped.")


def test_hiding_plans_that_were_committed_is_seen(shared):
    path = shared / "other.yaml"
    path.write_text(forge.SMALL.replace("id: small", "id: other"))
    command("lock", str(path), "-C", str(shared))
    commit(shared)
    shutil.rmtree(shared / "registrations" / "other")
    commit(shared)
    assert failed(shared) == {"nothing removed"}


# The results


def test_deleting_an_attempt_is_seen(folder):
    command("run", "-C", str(folder))
    min(folder.glob(forge.ATTEMPT)).unlink()
    assert failed(folder) == {"attempts"}


@pytest.mark.parametrize("places", [["results"], ["registrations"], ["results", "registrations"]])
@pytest.mark.parametrize("ran_again", [False, True])
def test_deleting_all_attempts_is_seen_by_verify_diff_and_status_also_after_another_run(
    folder, places, ran_again
):
    for place in places:
        shutil.rmtree(only(folder, f"{place}/*/attempts"))
    if ran_again:
        said = command("run", "-C", str(folder))
        assert said.code == 0
        assert "prereg verify fails on it" in said.out
    assert failed(folder) == {"attempts"}
    assert command("diff", "-C", str(folder)).code == 3
    assert "damaged" in command("status", "-C", str(folder)).out


def test_deleting_all_results_is_seen_also_after_another_run(folder):
    shutil.rmtree(folder / "results")
    said = command("run", "-C", str(folder))
    assert said.code == 0
    assert "that it witnesses is gone" in said.out
    assert failed(folder) == {"attempts"}
    assert command("diff", "-C", str(folder)).code == 3


def test_a_table_that_the_run_did_not_write_is_seen(folder):
    ledger = only(folder, forge.LEDGER)
    ledger.with_name("thresholds.csv").write_text("policy,status,selected\na,certified,true\n")
    ledger.with_name("figure.png").write_text("nobody's business")
    assert failed(folder) == {"tables"}
    assert command("diff", "-C", str(folder)).code == 3
    assert command("run", "-C", str(folder)).code == 3


def test_swapping_two_ledgers_is_seen(tmp_path):
    folder = made(tmp_path / "p", forge.SMALL)
    (folder / "other.yaml").write_text(
        forge.SMALL.replace("id: small", "id: other").replace("right[b] > right[a]", "right[a] > right[b]")
    )
    command("lock", str(folder / "other.yaml"), "-C", str(folder))
    command("run", "-C", str(folder))
    one, other = sorted(folder.glob(forge.LEDGER))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    assert {"binding", "attempts"} <= failed(folder)
    assert command("run", "-C", str(folder)).code == 3
    assert command("diff", "-C", str(folder)).code == 3


def test_adding_a_prediction_is_seen(folder):
    forge_ledger(
        folder, lambda c: c["predictions"].append({**c["predictions"][0], "id": "lucky", "verdict": "held"})
    )
    assert failed(folder) == {"predictions"}
    assert command("diff", "-C", str(folder)).code == 3
    assert command("run", "-C", str(folder)).code == 3


def _other(entry):
    return "falsified" if entry["verdict"] == "held" else "held"


def test_changing_a_verdict_is_seen_although_every_digest_fits(folder):
    def change(content):
        entry = content["predictions"][0]
        before, after = entry["verdict"], _other(entry)
        entry.update(verdict=after, reason=None, surprise=after != "held")
        content["counts"][before] -= 1
        content["counts"][after] += 1
        content["counts"]["surprises"] = int(after != "held")

    forge_ledger(folder, change)
    assert failed(folder) == {"verdicts"}
    assert command("run", "-C", str(folder)).code == 3


def _invented(content):
    entry = content["predictions"][0]
    entry.update(verdict="held", reason=None, surprise=False, left=0.9, right=0.4, point=0.5, support=1.0)
    entry.update(interval=[0.3, 0.7], resamples_defined=entry["resamples"])
    content["counts"] = {"held": 1, "failed": 0, "falsified": 0, "surprises": 0}


def test_inventing_numbers_and_verdict_together_needs_the_records_to_be_seen(folder):
    forge_ledger(folder, _invented)
    assert failed(folder) == set()
    assert failed(folder, "--rerun") == {"rerun"}
    assert command("run", "-C", str(folder)).code == 3
    (folder / "records.csv").unlink()
    assert failed(folder, "--rerun") == set()
    assert not_proven("That a ledger whose records are not here was computed from them.")


def test_inventing_numbers_after_the_ledger_was_committed_is_seen(shared):
    forge_ledger(shared, _invented)
    commit(shared)
    assert failed(shared) == {"nothing removed"}


# The records


def test_replacing_records_with_as_many_rows_is_seen(folder):
    path = folder / "records.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line.replace(",false,", ",true,") for line in lines[1:])]) + "\n")
    assert failed(folder) == {"data"}
    assert command("run", "-C", str(folder)).code == 3
    assert command("diff", "-C", str(folder)).code == 3


def test_replacing_records_and_manifest_together_loses_the_results(folder):
    path = folder / "records.csv"
    path.write_text(path.read_text().replace(",false,", ",true,", 1))
    import hashlib

    data = path.read_bytes()

    def change(content, _):
        content["data"]["files"][0].update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))

    forge.forge(folder, forge.REGISTRATION, "registration", change)
    assert "registration" in failed(folder)


# The order


def test_committing_the_ledger_before_the_lock_is_seen(tmp_path):
    needs("git")
    folder = tmp_path / "p"
    init(folder)
    made(folder, forge.SMALL)
    commit(folder, "results")
    commit(folder)
    assert failed(folder) == {"history"}


def test_dating_commits_back_proves_nothing(tmp_path):
    needs("git")
    folder = tmp_path / "p"
    init(folder)
    made(folder, forge.SMALL)
    early = {"GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    commit(folder, "results")
    commit(folder, **early)
    assert failed(folder) == {"history"}
    git(folder, "log", "--format=%cd")


def test_rebuilding_a_history_that_nobody_holds_is_not_seen_and_the_readme_says_so(tmp_path):
    needs("git")
    folder = tmp_path / "p"
    init(folder)
    made(folder, forge.SMALL)
    commit(folder, "results")
    commit(folder)
    shutil.rmtree(folder / ".git")
    init(folder)
    commit(folder, *LOCKED)
    commit(folder)
    assert failed(folder) == set()
    assert not_proven("rebuild history that nobody else has")


def test_an_edited_date_in_a_file_is_seen_by_its_attempts(folder):
    forge.forge(
        folder,
        forge.REGISTRATION,
        "registration",
        lambda _, envelope: envelope.update(time="2001-01-01T00:00:00Z"),
    )
    assert failed(folder) == {"attempts"}


def test_a_registration_without_attempts_has_a_date_that_nothing_holds_and_the_readme_says_so(tmp_path):
    folder = made(tmp_path / "p", forge.SMALL, runs=0)
    forge.forge(
        folder,
        forge.REGISTRATION,
        "registration",
        lambda _, envelope: envelope.update(time="2001-01-01T00:00:00Z"),
    )
    assert failed(folder, "--allow-unrun") == set()
    assert not_proven("The time in a file is what a clock said.")
