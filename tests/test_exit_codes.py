"""Every command against the table of exit codes, and its --json against the schema that `prereg schema` prints."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import typer.main

from broken_projects import command
from ci_project import Study
from forge import SMALL, made
from prereg.cli.app import app
from prereg.schema import schema_of

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = set(typer.main.get_command(app()).commands)
TEXT = "Two items were answered after a restart."


@functools.cache
def schema(name):
    return schema_of(f"{name}-output" if name == "note" else name)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path / "project")


def well(study):
    """Everything as it was written."""


def changed(study):
    """The protocol says something else than was locked."""
    study.edit("0.3", "0.2")


def broken(study):
    """The protocol can not be locked."""
    study.edit("claim: right[b] > 0.3", "claim: wrong[b] > 0.3")


def no_yaml(study):
    (study.root / "small.yaml").write_text("{", encoding="utf-8")


def tampered(study):
    path, _ = study.ledger()
    path.write_bytes(path.read_bytes().replace(b'"held"', b'"failed"', 1))


def registration_tampered(study):
    path = study.registrations[0]
    path.write_bytes(path.read_bytes().replace(b"0.3", b"0.2", 1))


def records_changed(study):
    path = study.root / "records.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("true", "false", 1), encoding="utf-8")


def no_records(study):
    (study.root / "records.csv").unlink()


def header_only(study):
    (study.root / "records.csv").write_text("system,item,score,correct\n", encoding="utf-8")


def no_ledger(study):
    shutil.rmtree(study.ledgers[0].parent)


def never_run(study):
    shutil.rmtree(study.root / "results")
    shutil.rmtree(study.root / "registrations" / "small" / "attempts")


def no_protocol(study):
    (study.root / "small.yaml").unlink()


def nothing(study):
    for name in ("registrations", "results"):
        shutil.rmtree(study.root / name)


def forked(study):
    twin = Study.__new__(Study)
    twin.root = study.root.with_name("twin")
    shutil.copytree(study.root, twin.root)
    twin.amend("0.3", "0.25")
    study.amend("0.3", "0.2")
    for path in twin.registrations:
        shutil.copy(path, study.registrations[0].parent)


PROTOCOL = "{root}/small.yaml"
AMEND = ("amend", PROTOCOL, "--reason", "The bar was a typing error.")
BASE = ("diff", "--base", "{root}/../base")
TOKEN = ("stamp", "import", "{root}/records.csv", "--for", "small")
REHEARSE = ("rehearse", PROTOCOL, "--draws", "2")

# (command line, what was done to the project, exit code)
TABLE = [
    (("check", PROTOCOL), well, 0),
    (("check", PROTOCOL, "--power"), well, 0),
    (("check", PROTOCOL), changed, 0),
    (("check", PROTOCOL), broken, 2),
    (("check", PROTOCOL), no_yaml, 2),
    (("check", PROTOCOL), no_records, 4),
    (("check", PROTOCOL), header_only, 4),
    (("check", PROTOCOL), no_protocol, 4),
    (("check", PROTOCOL, "--no-such-option"), well, 2),
    (("check",), well, 2),
    (("lock", PROTOCOL), well, 0),
    (("lock", PROTOCOL), nothing, 0),
    (("lock", PROTOCOL), broken, 2),
    (("lock", PROTOCOL), changed, 3),
    (("lock", PROTOCOL), registration_tampered, 3),
    (("lock", PROTOCOL), no_records, 4),
    (("run",), well, 0),
    (("run", "small", "--fail-on", "surprise"), well, 1),
    (("run", "small", "--fail-on", "failed"), well, 1),
    (("run", "small", "--fail-on", "falsified"), well, 1),
    (("run", "small", "--fail-on", "everything"), well, 2),
    (("run",), changed, 3),
    (("run",), records_changed, 3),
    (("run",), registration_tampered, 3),
    (("run",), tampered, 3),
    (("run",), forked, 3),
    (("run",), no_records, 4),
    (("run",), nothing, 4),
    (("run", "other"), well, 4),
    (("show", "small"), well, 0),
    (("show", "small", "--registration"), well, 0),
    (("show", "small", "--policy", "a"), well, 0),
    (("show", "small", "--legs"), well, 0),
    (("show", "small", "--legs"), no_ledger, 4),
    (("show", "{root}/small.json", "--policy", "a"), well, 2),
    (("show", "small", "--registration", "--policy", "a"), well, 2),
    (("show", "small", "--legs", "--policy", "a"), well, 2),
    (("show", "small", "--registration", "--legs"), well, 2),
    (("show", "small"), no_ledger, 0),
    (("show",), well, 2),
    (("show", "small"), tampered, 3),
    (("show", "small"), registration_tampered, 3),
    (("show", "small"), forked, 3),
    (("show", "other"), well, 4),
    (("show", "small", "--policy", "z"), well, 4),
    (("show", "small", "--policy", "a"), no_ledger, 4),
    (("amend", PROTOCOL, "--reason", "A lower bar."), changed, 0),
    (AMEND, well, 2),
    (AMEND, broken, 2),
    (("amend", PROTOCOL), changed, 2),
    (("amend", PROTOCOL, "--reason", "TODO"), changed, 2),
    (("amend", PROTOCOL, "--reason", "ok"), changed, 2),
    (AMEND, registration_tampered, 3),
    (AMEND, nothing, 4),
    (AMEND, no_records, 4),
    (("note", "small", "--text", TEXT, "--prediction", "good"), well, 0),
    (("note", "small", "--text", " "), well, 2),
    (("note", "small", "--text", TEXT), registration_tampered, 3),
    (("note", "small", "--text", TEXT), forked, 3),
    (("note", "other", "--text", TEXT), well, 4),
    (("note", "small", "--text", TEXT, "--prediction", "x"), well, 4),
    (("verify",), well, 0),
    (("verify",), no_records, 0),
    (("verify", "--jobs", "0"), well, 2),
    (("verify",), changed, 3),
    (("verify",), tampered, 3),
    (("verify",), records_changed, 3),
    (("verify",), registration_tampered, 3),
    (("verify",), forked, 3),
    (("verify",), never_run, 4),
    (("verify",), nothing, 4),
    (("verify", "--require-data"), no_records, 4),
    (("verify", "other"), well, 4),
    (("diff",), well, 0),
    (BASE, well, 0),
    (("diff",), no_records, 0),
    (("diff", "--fail-on", "surprise"), well, 1),
    (("diff", "--tolerance", "2"), well, 2),
    (("diff", "--format", "paper"), well, 2),
    (("diff",), changed, 3),
    (("diff",), tampered, 3),
    (("diff",), records_changed, 3),
    (("diff",), registration_tampered, 3),
    (("diff",), forked, 3),
    (BASE, nothing, 3),
    (("diff",), never_run, 4),
    (("diff",), no_ledger, 4),
    (BASE, no_ledger, 4),
    (("diff",), nothing, 4),
    (("diff", "--require-data"), no_records, 4),
    (("diff", "other"), well, 4),
    (("diff", "--base", "nowhere"), well, 4),
    (("status",), well, 0),
    (("status",), no_ledger, 0),
    (("status", "--no-such-option"), well, 2),
    (("status",), tampered, 3),
    (("status",), registration_tampered, 3),
    (("status",), nothing, 4),
    (REHEARSE, well, 0),
    (REHEARSE, broken, 2),
    (REHEARSE, no_records, 4),
    (TOKEN, well, 2),
    (TOKEN, registration_tampered, 3),
    (TOKEN, nothing, 4),
]


def said(line):
    return " ".join(line).replace("{root}/", "").replace("../", "")


@pytest.mark.parametrize(
    ("line", "state", "code"), TABLE, ids=[f"{said(a)}-{b.__name__}-{c}" for a, b, c in TABLE]
)
def test_exit_code_and_document(study, line, state, code):
    if "--base" in line:
        shutil.copytree(study.root, study.root.with_name("base"))
    state(study)
    words = [word.replace("{root}", str(study.root)) for word in line]
    done = command(*words, "--root", str(study.root), "--json")
    assert done.code == code, done.out + done.err
    tree = json.loads(done.out)
    assert (tree["command"], tree["exit_code"]) == (words[0], code)
    jsonschema.validate(tree, schema(words[0]))
    assert "Traceback" not in done.err


def test_every_command_is_in_the_table():
    assert {line[0] for line, _, _ in TABLE} | {"schema"} == COMMANDS
    for name in COMMANDS - {"schema"}:
        codes = {code for line, _, code in TABLE if line[0] == name}
        wanted = {0, 2, 3, 4} - {"stamp": {0}, "rehearse": {3}, "check": {3}}.get(name, set())
        assert codes >= wanted, name


def test_one_is_only_for_verdicts():
    assert {line[0] for line, _, code in TABLE if code == 1} == {"run", "diff"}


def test_every_schema_is_one_and_is_printed():
    for name in sorted(COMMANDS - {"schema"}):
        jsonschema.Draft202012Validator.check_schema(schema(name))
        printed = command("schema", f"{name}-output" if name == "note" else name)
        assert json.loads(printed.out) == json.loads(json.dumps(schema(name)))
    assert command("schema", "paper").code == 2


@pytest.mark.parametrize("name", sorted(COMMANDS - {"schema"}))
def test_a_schema_refuses_what_is_no_output(name):
    for tree in (
        {},
        {"command": name},
        {"command": "other", "exit_code": 0},
        {"command": name, "exit_code": 99},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tree, schema(name))


def test_a_refusal_is_a_document_too(study):
    registration_tampered(study)
    done = command("run", "--root", str(study.root), "--json")
    (problem,) = json.loads(done.out)["problems"]
    assert problem["file"] == f"registrations/small/{study.registrations[0].name}"


def test_a_bug_is_70_with_a_traceback(monkeypatch, study):
    def bug(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("prereg.diff.diff", bug)
    done = command("diff", "--root", str(study.root))
    assert done.code == 70
    assert "Traceback" in done.err
    assert "this is a bug in prereg" in done.err


def test_the_shell_gets_the_code(study):
    tampered(study)
    for arguments, code in ((["diff"], 3), (["--version"], 0), (["nothing"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "prereg", *arguments], cwd=study.root, capture_output=True, check=False
        )
        assert done.returncode == code


@pytest.mark.parametrize("path", ["README.md", "docs/ci.md"])
def test_docs_have_the_same_table(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    section = text[text.index("## Exit codes") :]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == ["0", "1", "2", "3", "4", "70"]


@pytest.mark.parametrize("folder", ["registrations", "results"])
@pytest.mark.parametrize("asked", [("status",), ("verify",), ("run",), ("diff",)])
def test_a_folder_that_is_closed_to_us_is_told_and_never_empty(tmp_path, monkeypatch, folder, asked):
    study = made(tmp_path / "p", SMALL)
    scan = os.scandir

    def closed(path="."):
        if Path(path).is_relative_to(study / folder):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)
    said = command(*asked, "-C", str(study))
    # a run goes on where it can still write, and says what it could not look at
    assert said.code in ((0, 2) if asked == ("run",) else (2, 3))
    assert "Permission denied" in said.out + said.err


def test_a_fault_of_the_system_is_one_document_with_json_too(tmp_path, monkeypatch):
    study = made(tmp_path / "p", SMALL)

    def closed(*_):
        raise PermissionError(13, "Permission denied", "results")

    monkeypatch.setattr("prereg.project.Project.results", closed)
    said = command("show", "small", "--json", "-C", str(study))
    tree = json.loads(said.out)
    jsonschema.validate(tree, schema("show"))
    assert (said.code, tree["exit_code"]) == (2, 2)
    assert tree["problems"][0]["message"] == "results: Permission denied"


def test_a_rerun_that_was_asked_for_and_has_no_records_is_missing(tmp_path):
    study = made(tmp_path / "p", SMALL)
    assert command("verify", "--rerun", "-C", str(study)).code == 0
    (study / "records.csv").unlink()
    assert command("verify", "-C", str(study)).code == 0
    assert command("verify", "--rerun", "-C", str(study)).code == 4


full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
buffers = pytest.mark.parametrize("buffered", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])


def on_a_full_disk(arguments, buffered, folder, **streams):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | buffered
    with Path("/dev/full").open("w") as full:
        streams = {name: full if stream == "full" else stream for name, stream in streams.items()}
        run = [sys.executable, "-m", "prereg", *arguments]
        return subprocess.run(run, cwd=folder, env=environment, text=True, check=False, **streams)


@full_disk
@buffers
@pytest.mark.parametrize(
    "asked", [["show", "small"], ["show", "small", "--json"], ["status"], ["schema"], ["--help"]]
)
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path, asked, buffered):
    study = made(tmp_path / "p", SMALL)
    done = on_a_full_disk(asked, buffered, study, stdout="full", stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, "prereg: No space left on device\n")


@full_disk
@buffers
@pytest.mark.parametrize("out", [subprocess.DEVNULL, "full"])
@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (["check", "nope.yaml"], 4),
        (["show", "nothing"], 4),
        (["check"], 2),
        (["check", "nope.yaml", "--json"], 4),
    ],
)
def test_a_full_disk_behind_standard_error_leaves_the_exit_code(tmp_path, asked, code, out, buffered):
    assert on_a_full_disk(asked, buffered, tmp_path, stdout=out, stderr="full").returncode == code


def test_a_console_that_lacks_a_sign_gets_its_number(tmp_path):
    study = made(tmp_path / "p", SMALL)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = [sys.executable, "-m", "prereg", "show", "small", "-C", str(study)]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# Streams


def in_a_shell(study, line):
    """What a shell says of a line; `prereg` is this one."""
    prereg = f"{sys.executable} -m prereg"
    done = subprocess.run(
        ["bash", "-c", line.replace("prereg", prereg, 1)],
        cwd=study.root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_closed_stream_is_no_bug(study):
    assert in_a_shell(study, "prereg show small >&-") == (0, "")
    assert in_a_shell(study, "prereg show nothing 2>&-")[0] == 4
    assert in_a_shell(study, "prereg show nothing >&- 2>&-")[0] == 4


def test_a_reader_that_goes_away_is_no_verdict(study):
    line = "prereg show small | true; echo ${PIPESTATUS[0]} >&2"
    assert in_a_shell(study, line) == (0, "141\n")


# What is not there


@pytest.mark.parametrize("option", ["--ca-file", "--allowed-signers", "--untrusted"])
def test_trust_that_is_not_there_is_missing(study, option):
    said = command("verify", option, str(study.root / "none.pem"), "-C", str(study.root))
    assert said.code == 4
    assert "none.pem: no such file" in said.err


@pytest.mark.parametrize("kind", ["attempt", "witness"])
def test_a_file_of_another_kind_is_no_ledger(study, kind):
    top = "results" if kind == "attempt" else "registrations"
    (path, *_) = sorted(study.root.glob(f"{top}/*/attempts/*.json"))
    said = command("show", str(path), "-C", str(study.root))
    assert said.code == 2
    assert f"`prereg-{kind}`" in said.err


def test_check_says_what_is_locked(study):
    said = command("check", str(study.root / "small.yaml"), "-C", str(study.root))
    assert "locked already as" in said.out
    study.edit("0.3", "0.2")
    said = command("check", str(study.root / "small.yaml"), "-C", str(study.root))
    assert "ready to amend" in said.out
    said = command("check", str(study.root / "small.yaml"), "-C", str(study.root), "--json")
    assert json.loads(said.out)["registered"]["same"] is False


def test_problems_at_one_place_have_one_order(tmp_path):
    (tmp_path / "p.yaml").write_text("prereg: 1\nx: 1\ndata: {engines: {a: {b: {}}}}\n", encoding="utf-8")
    line = [sys.executable, "-m", "prereg", "check", "p.yaml"]
    said = {subprocess.run(line, cwd=tmp_path, capture_output=True, check=False).stderr for _ in range(5)}
    assert len(said) == 1
    assert said.pop().count(b"is missing in") > 3
