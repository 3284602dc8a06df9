"""Whenever a command dies or the disk fails: whole files, truthful attempts, one line, and the next run works."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

import crash_world
from crash_world import CALLS, ID, done, ended, intact, make, said, settle, start, unfinished
from prereg import attempts, formats
from prereg.errors import InputError
from prereg.project import Project

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs a process that can be killed at a call"
)
slow = pytest.mark.slow
EVERY_CALL = [
    pytest.param(
        name, after, id=f"{'after' if after else 'before'} {name}", marks=[] if name == often else slow
    )
    for often in ["link"]
    for name in CALLS
    for after in (False, True)
]
"""The others of a run are killed in the slow tests."""
AMEND = ("amend", "protocol.yaml", "--reason", "a lower bar")


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory):
    crash_world.warm(tmp_path_factory.mktemp("warm"))


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A project with a registration, and the content of the ledger that a run of it writes."""
    root = make(tmp_path_factory.mktemp("locked"))
    assert done(root, "lock", "protocol.yaml") == 0, said(root)
    other = shutil.copytree(root, tmp_path_factory.mktemp("copy") / "ran")
    assert done(other, "run") == 0, said(other)
    return root, crash_world.ledger_content(other)


def killed_at(root, command, name, after):
    """Kill the command at every call of that name, one after another, each in a fresh copy; yields the copies."""
    for let_through in range(60):
        copy = root.with_name(f"{root.name}-{let_through}")
        shutil.copytree(root, copy)
        code = done(copy, *command, kill_at=(name, let_through), after=after)
        if code == 0:
            return
        assert code == -9, said(copy)
        yield copy
    raise AssertionError("the command never came to its end")


@pytest.mark.parametrize(("name", "after"), EVERY_CALL)
def test_a_run_killed_at_any_write_leaves_whole_files_and_the_next_one_works(locked, tmp_path, name, after):
    root, content = locked
    base = shutil.copytree(root, tmp_path / "base")
    for copy in killed_at(base, ("run",), name, after):
        assert set(intact(copy)) <= {"unfinished", "written"}
        settle(copy)
        assert done(copy, "run") == 0, said(copy)
        outcomes = intact(copy)
        assert set(outcomes) <= {"unfinished", "written", "reproduced"}
        assert len(outcomes) - outcomes.count("unfinished") >= 1
        assert crash_world.ledger_content(copy) == content
        settle(copy)
        assert done(copy, "run") == 0, said(copy)
        assert unfinished(copy) == []


@pytest.mark.parametrize(("name", "after"), EVERY_CALL)
def test_a_lock_killed_at_any_write_leaves_none_or_all_of_it(tmp_path, name, after):
    base = make(tmp_path)
    base = shutil.copytree(base, tmp_path / "base", ignore=shutil.ignore_patterns("base*"))
    for copy in killed_at(base, ("lock", "protocol.yaml"), name, after):
        intact(copy)
        settle(copy)
        assert done(copy, "lock", "protocol.yaml") == 0, said(copy)
        assert [p.suffix for p in (copy / "registrations" / ID).iterdir()] == [".json"]
        intact(copy)


@pytest.mark.parametrize(("name", "after"), EVERY_CALL)
def test_an_amendment_killed_at_any_write_leaves_none_or_all_of_it(locked, tmp_path, name, after):
    base = shutil.copytree(locked[0], tmp_path / "base")
    make(base, level="0.05")
    for copy in killed_at(base, AMEND, name, after):
        intact(copy)
        before = len(list((copy / "registrations" / ID).glob("*.json")))
        settle(copy)
        code = done(copy, *AMEND)
        assert code == (0 if before == 1 else code), said(copy)
        assert len(list((copy / "registrations" / ID).glob("*.json"))) == 2
        assert done(copy, "run") == 0, said(copy)
        intact(copy)


FULL = OSError(errno.ENOSPC, "No space left on device")
FORBIDDEN = PermissionError(errno.EACCES, "Permission denied")
READ_ONLY = OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        pytest.param("replace", FULL, id="replace full"),
        pytest.param("mkdir", READ_ONLY, id="mkdir read-only"),
        pytest.param("fsync", FULL, id="fsync full", marks=slow),
        pytest.param("replace", FORBIDDEN, id="replace forbidden", marks=slow),
        pytest.param("mkdir", FORBIDDEN, id="mkdir forbidden", marks=slow),
    ],
)
def test_a_disk_that_fails_is_one_line_and_nothing_is_lost(locked, tmp_path, name, failure):
    base = shutil.copytree(locked[0], tmp_path / "base")
    for let_through in range(40):
        copy = shutil.copytree(base, tmp_path / f"base-{let_through}")
        code = done(copy, "run", kill_at=(name, let_through), fail=failure)
        if code == 0:
            return
        lines = said(copy).splitlines()
        assert code == 2, lines
        assert all(re.search(rf"cannot be written: {failure.strerror}$", line) for line in lines)
        assert 1 <= len(lines) <= 2
        assert set(intact(copy)) <= {"unfinished", "refused"}
        assert unfinished(copy) == []
        assert done(copy, "run") == 0, said(copy)
        intact(copy)
    raise AssertionError("the command never came to its end")


def test_a_lock_on_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    root = make(tmp_path)
    code = done(
        root, "lock", "protocol.yaml", kill_at=("fsync", 0), fail=OSError(errno.ENOSPC, "No space left")
    )
    assert code == 2
    assert re.fullmatch(r".*: cannot be written: No space left\n", said(root))
    assert [p for p in (root / "registrations").rglob("*") if p.is_file()] == []


def test_runs_at_once_follow_one_another_and_the_ledger_is_written_once(locked, tmp_path):
    root = shutil.copytree(locked[0], tmp_path / "base")
    runs = [start(root, "run") for _ in range(4)]
    assert [ended(pid) for pid in runs] == [0] * 4
    outcomes = intact(root)
    assert sorted(outcomes) == ["reproduced"] * 3 + ["written"]
    assert crash_world.ledger_content(root) == locked[1]
    made = attempts.read_all(Project.at(root), ID)
    named = [digest for attempt in made for digest in attempt.start["after"]]
    assert sorted(named) == sorted({a.digest for a in made} & set(named))
    assert len(named) == 3, "each run names the one before it, so that one alone is not named"
    assert done(root, "run") == 0
    assert intact(root).count("reproduced") == 4


HOLD = """
import sys, time
from pathlib import Path
from prereg.formats import alone
with alone(Path(sys.argv[1]), lambda: sys.exit("held by another")):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_run_waits_for_another_says_so_and_goes_on_when_that_is_killed(locked, tmp_path):
    root = shutil.copytree(locked[0], tmp_path / "base")
    (path,) = (root / "registrations" / ID).glob("*.json")
    hold, run = [sys.executable, "-c", HOLD, path], [sys.executable, "-m", "prereg", "run"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": root}
    with subprocess.Popen(hold, **piped) as holder:
        assert holder.stdout.readline() == "held\n"
        with subprocess.Popen(run, **piped) as waiter:
            try:
                told = waiter.stderr.readline()
                assert told == f"{ID} is being run by another process: waiting for it to end\n"
                assert waiter.poll() is None
                assert not (root / "results").exists(), "an attempt begins when its turn has come"
                assert done(root, "status") == 0, "only runs wait"
            finally:
                holder.kill()
            _, more = waiter.communicate(timeout=60)
    assert (waiter.returncode, more) == (0, "")
    assert intact(root) == ["written"]


def test_nobody_waits_where_the_system_has_no_locks(locked, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "fcntl", None)
    root = shutil.copytree(locked[0], tmp_path / "base")
    runs = [start(root, "run") for _ in range(3)]
    assert [ended(pid) for pid in runs] == [0] * 3
    assert sorted(intact(root)) == ["reproduced"] * 2 + ["written"]


def test_two_locks_at_once_are_one_registration(tmp_path):
    root = make(tmp_path)
    locks = [start(root, "lock", "protocol.yaml") for _ in range(3)]
    assert [ended(pid) for pid in locks] == [0] * 3
    assert len(list((root / "registrations" / ID).glob("*.json"))) == 1


def test_what_killed_writers_left_is_removed_and_what_living_ones_hold_is_not(tmp_path):
    def leave(name, age):
        path = tmp_path / name
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age, time.time() - age))
        return path

    dead = leave(".a.json.0123456789ab.tmp", 60)
    young = leave(".b.json.0123456789ab.tmp", 0)
    other = leave(".notes.tmp", 60)
    alive = leave(".c.json.0123456789ab.tmp", 60)
    with alive.open("rb") as held:
        assert formats._claim(held.fileno()) == (sys.platform != "win32")
        formats.write_atomic(tmp_path / "d.json", b"whole")
    assert not dead.exists()
    assert young.exists()
    assert other.exists()
    assert alive.exists()


def test_the_unfinished_file_is_removed_where_the_write_fails(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a.json").write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"a\.json: cannot be written: No space left on device"):
        formats.write_atomic(tmp_path / "a.json", b"after")
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"before"


def test_an_attempt_that_was_refused_on_a_full_disk_still_names_the_first_fault(locked, tmp_path):
    root = shutil.copytree(locked[0], tmp_path / "base")
    with (root / "records.csv").open("a") as file:
        file.write("a,q99,true,true,0.5\n")
    code = done(root, "run", kill_at=("replace", 0), fail=OSError(errno.ENOSPC, "No space left"))
    assert code == 3
    assert "changed since it was registered" in said(root)
    assert "No space left" in said(root)
    assert intact(root) == ["unfinished"]
    assert json.loads(next((root / "results" / ID / "attempts").iterdir()).read_text())["end"] is None
