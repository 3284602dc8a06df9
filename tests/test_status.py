"""Status: what is locked, run, unjudged and superseded, and which records were judged before under other ids."""

from __future__ import annotations

import json

import jsonschema
import pytest

import forge
from broken_projects import command
from forge import made
from prereg.schema import schema_of


def told(folder):
    said = command("status", "-C", str(folder), "--json")
    tree = json.loads(said.out)
    jsonschema.validate(tree, schema_of("status"))
    assert said.code == tree["exit_code"]
    return said.code, {(one["id"], one["superseded_by"] is None): one for one in tree["registrations"]}


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "p", forge.SMALL)


def lock(folder, name, old="", new=""):
    path = folder / f"{name}.yaml"
    path.write_text(forge.SMALL.replace("id: small", f"id: {name}").replace(old, new, 1))
    said = command("lock", str(path), "-C", str(folder))
    assert said.code == 0, said.err


def test_nothing_registered_is_missing(tmp_path):
    assert command("status", "-C", str(tmp_path)).code == 4


def test_judged_unjudged_and_crashed(folder):
    lock(folder, "locked")
    lock(folder, "crashed")
    (folder / "crashed.yaml").unlink()
    data = (folder / "records.csv").read_bytes()
    (folder / "records.csv").write_bytes(data + b"\n")
    assert command("run", "crashed", "-C", str(folder)).code == 3
    (folder / "records.csv").write_bytes(data)
    code, found = told(folder)
    assert code == 0
    states = {name: one["state"] for (name, _), one in found.items()}
    assert states == {"small": "judged", "locked": "never run", "crashed": "started, never finished"}
    assert found["small", True]["attempts"] == {"written": 1}
    assert found["crashed", True]["attempts"] == {"refused": 1}
    assert sum(found["small", True]["counts"][k] for k in ("held", "failed", "falsified")) == 1
    text = command("status", "-C", str(folder)).out
    assert "3 registered, 1 judged, 2 unjudged, 0 superseded" in text


def test_a_ledger_that_an_attempt_wrote_and_that_is_gone_is_not_called_unfinished(folder):
    forge.only(folder, "results/small/*/ledger.json").unlink()
    _, found = told(folder)
    assert found["small", True]["state"] == "ledger gone"
    assert found["small", True]["attempts"] == {"written": 1}


def test_attempts_are_counted(folder):
    for _ in range(2):
        command("run", "-C", str(folder))
    assert told(folder)[1]["small", True]["attempts"] == {"written": 1, "reproduced": 2}


def test_records_that_were_judged_under_another_id_are_named_with_their_verdicts(folder):
    lock(folder, "again", "right[b] > right[a]", "right[a] > right[b]")
    _, found = told(folder)
    (before,) = found["again", True]["shared"]
    entry = json.loads(forge.only(folder, "results/small/*/ledger.json").read_text())["content"][
        "predictions"
    ][0]
    said = entry["verdict"] if entry["reason"] is None else f"{entry['verdict']} ({entry['reason']})"
    assert (before["id"], before["files"], before["verdicts"]) == (
        "small",
        ["records.csv"],
        {"b-is-better": said},
    )
    (other,) = found["small", True]["shared"]
    assert (other["id"], other["verdicts"]) == ("again", None)
    text = command("status", "-C", str(folder)).out
    assert f"these records were also judged as small {before['digest'][:12]}" in text
    assert f"verdicts there: b-is-better {said}" in text


def test_twelve_plans_for_the_same_records_are_twelve_lines(folder):
    for i in range(11):
        lock(folder, f"plan-{i}", "right[b] > right[a]", f"right[b] > right[a] + 0.0{i + 1}")
    _, found = told(folder)
    assert len(found) == 12
    assert all(len(one["shared"]) == 11 for one in found.values())
    assert "12 registered, 1 judged, 11 unjudged" in command("status", "-C", str(folder)).out


def test_a_superseded_registration_is_named(folder):
    path = folder / "protocol.yaml"
    path.write_text(path.read_text().replace("right[b] > right[a]", "right[b] > 0.1"))
    said = command("amend", str(path), "--reason", "A bar that was meant from the start", "-C", str(folder))
    assert said.code == 0, said.err
    code, found = told(folder)
    assert code == 0
    old, new = found["small", False], found["small", True]
    assert old["superseded_by"] == new["digest"][:12]
    assert new["amends"] == old["digest"]
    assert (old["state"], new["state"]) == ("judged", "never run")
    assert "1 superseded" in command("status", "-C", str(folder)).out


@pytest.mark.parametrize("pattern", [forge.REGISTRATION, forge.LEDGER, forge.ATTEMPT])
def test_what_is_damaged_is_named(folder, pattern):
    path = forge.only(folder, pattern)
    path.write_bytes(path.read_bytes().replace(b"small", b"smell", 1))
    code, found = told(folder)
    assert code == 3
    (one,) = found.values()
    assert one["state"] == "damaged"
    assert path.name in one["problem"]
