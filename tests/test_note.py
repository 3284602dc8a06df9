"""Notes: dated, only ever added to, changing nothing, printed beside the verdicts they name."""

from __future__ import annotations

import json

import pytest

from broken_projects import contents
from ci_project import Study, kinds
from prereg.note import FILE

TEXT = "Two items were answered after a restart; the answers are kept."


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path / "project")


def notes(study):
    return sorted((study.root / "registrations" / "small" / "notes").glob("*.json"))


def test_a_note_changes_nothing_but_adds_a_file(study):
    before = contents(study.root)
    tree = study.json("note", "small", "--text", TEXT)
    after = contents(study.root)
    (path,) = notes(study)
    assert path.relative_to(study.root).as_posix() == tree["file"]
    assert {k for k in after if k not in before} == {tree["file"], "registrations/small/notes"}
    assert all(after[k] == v for k, v in before.items())
    assert (tree["text"], tree["registration"]) == (TEXT, study.current().digest)
    assert study.run().out.count("reproduced") == 1


def test_a_note_is_printed_beside_the_verdicts_it_names(study):
    study.json("note", "small", "--text", TEXT, "--prediction", "good")
    for out in (study.run().out, study.say("show", "small").out, study.say("diff").out):
        assert f"(good): {TEXT}" in out
    assert TEXT in study.say("diff", "--format", "markdown").out
    rows = study.json("diff")["ledgers"][0]["predictions"]
    assert [[n["text"] for n in row["noted"]] for row in rows] == [[TEXT], [], []]
    assert study.json("show", "small")["noted"][0]["text"] == TEXT
    assert study.json("run")["runs"][0]["noted"][0]["predictions"] == ["good"]


def test_an_attempt_is_named_by_its_file_or_digest(study):
    (path,) = (study.root / "results" / "small" / "attempts").glob("*.json")
    digest = json.loads(path.read_text(encoding="utf-8"))["digest"]
    for name in (path.stem, path.name, digest[:12]):
        assert study.json("note", "small", "--text", f"{TEXT} {name}", "--attempt", name)["attempt"] == digest
    assert study.say("note", "small", "--text", TEXT, "--attempt", "nothing").code == 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("small", "--text", ""), 2),
        (("small", "--text", "TODO"), 2),
        (("small", "--text", "a\x07b"), 2),
        (("small",), 2),
        (("small", "--text", TEXT, "--prediction", "god"), 4),
        (("nobody", "--text", TEXT), 4),
        (("../small", "--text", TEXT), 4),
    ],
)
def test_what_is_no_note_writes_nothing(study, arguments, code):
    before = contents(study.root)
    assert study.say("note", *arguments).code == code
    assert contents(study.root) == before


def test_a_note_before_any_run(tmp_path):
    study = Study(tmp_path, ran=False)
    study.json("note", "small", "--text", TEXT)
    assert TEXT in study.say("show", "small").out


def test_a_note_on_what_was_amended_stays_beside_its_verdicts(study):
    study.json("note", "small", "--text", TEXT, "--prediction", "good")
    study.amend("0.3", "0.2")
    assert TEXT in study.run().out


def test_every_byte_of_a_note_counts(study):
    study.json("note", "small", "--text", TEXT)
    (path,) = notes(study)
    data = path.read_bytes()
    for i in range(0, len(data), 7):
        path.write_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        assert kinds(study.json("diff"), "integrity"), data[:i]
    path.write_bytes(data)
    assert study.say("diff").code == 0


def test_a_note_has_the_name_of_its_content_and_day(study):
    study.json("note", "small", "--text", TEXT)
    (path,) = notes(study)
    tree = json.loads(path.read_text(encoding="utf-8"))
    assert path.stem.endswith(tree["digest"][:12])
    path.write_bytes(FILE.to_bytes(tree["content"], {**tree["envelope"], "time": "2020-01-01T00:00:00Z"}))
    assert study.say("show", "small").code == 3


def test_a_note_that_a_later_one_saw_cannot_be_taken_away(study):
    for i in range(3):
        study.json("note", "small", "--text", f"{TEXT} {i}")
    every = {p: json.loads(p.read_text(encoding="utf-8")) for p in notes(study)}
    seen = {digest for tree in every.values() for digest in tree["content"]["after"]}
    assert len(seen) == 2
    for path, tree in every.items():
        data = path.read_bytes()
        path.unlink()
        # the last one is only known to git: `diff --base` tells
        assert study.say("diff").code == (3 if tree["digest"] in seen else 0)
        path.write_bytes(data)
