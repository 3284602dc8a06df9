"""SIGKILL at random moments of lock, run and amend, more than two hundred of them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import crash_world
from crash_world import ID, done, ended, intact, make, said, settle, start, unfinished

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that can be killed"),
]
AMEND = ("amend", "protocol.yaml", "--reason", "a lower bar")
LOCK = ("lock", "protocol.yaml")
RUN = ("run",)


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Per command a project on which it can be started; and the content of the ledger."""
    crash_world.warm(tmp_path_factory.mktemp("warm"))
    fresh = make(tmp_path_factory.mktemp("fresh"))
    locked = shutil.copytree(fresh, tmp_path_factory.mktemp("locked") / "locked")
    assert done(locked, *LOCK) == 0, said(locked)
    ran = shutil.copytree(locked, tmp_path_factory.mktemp("ran") / "ran")
    assert done(ran, *RUN) == 0, said(ran)
    changed = shutil.copytree(ran, tmp_path_factory.mktemp("changed") / "changed")
    make(changed, level="0.05")
    return {LOCK: fresh, RUN: locked, AMEND: changed}, crash_world.ledger_content(ran)


def seconds(root, command, folder):
    copy = shutil.copytree(root, folder / "timed")
    begin = time.perf_counter()
    assert done(copy, *command) == 0, said(copy)
    return time.perf_counter() - begin


@pytest.mark.parametrize(
    ("command", "kills"), [(LOCK, 70), (RUN, 100), (AMEND, 70)], ids=["lock", "run", "amend"]
)
def test_killed_at_a_random_moment_nothing_is_half_and_the_next_one_works(bases, tmp_path, command, kills):
    roots, content = bases
    whole = seconds(roots[command], command, tmp_path)
    draw = random.Random(f"kills {command[0]}")
    killed = 0
    for i in range(10 * kills):
        if killed == kills:
            break
        copy = shutil.copytree(roots[command], tmp_path / f"{i}")
        pid = start(copy, *command)
        time.sleep(draw.random() * whole)
        os.kill(pid, signal.SIGKILL)
        if ended(pid) == 0:
            shutil.rmtree(copy)
            continue  # it was faster than the signal
        killed += 1
        assert set(intact(copy)) <= {"unfinished", "written"}
        settle(copy)
        before = len(list((copy / "registrations").rglob("*.json")))
        again = done(copy, *command)
        assert again == 0 or (command == AMEND and before > 1), said(copy)
        assert done(copy, "run") == 0, said(copy)
        outcomes = intact(copy)
        assert len(outcomes) - outcomes.count("unfinished") >= 1
        if command == RUN:
            assert crash_world.ledger_content(copy) == content
            settle(copy)
            assert done(copy, "run") == 0, said(copy)
            assert unfinished(copy) == []
        shutil.rmtree(copy)
    assert killed == kills


def test_runs_killed_again_and_again_in_one_project_keep_every_attempt(bases, tmp_path):
    root = shutil.copytree(bases[0][RUN], tmp_path / "project")
    whole = seconds(root, RUN, tmp_path)
    draw = random.Random("one project")
    finished = 0
    for _ in range(60):
        pid = start(root, *RUN)
        time.sleep(draw.random() * 1.2 * whole)
        os.kill(pid, signal.SIGKILL)
        finished += ended(pid) == 0
        outcomes = intact(root)
    assert len(outcomes) - outcomes.count("unfinished") >= finished
    settle(root)
    assert done(root, "run") == 0, said(root)
    intact(root)
    assert crash_world.ledger_content(root) == bases[1]


def test_runs_and_kills_at_once_leave_one_ledger(bases, tmp_path):
    root = shutil.copytree(bases[0][RUN], tmp_path / "project")
    draw = random.Random("at once")
    for _ in range(8):
        pids = [start(root, *RUN) for _ in range(4)]
        time.sleep(draw.random() * 0.5)
        for pid in pids[:2]:
            os.kill(pid, signal.SIGKILL)
        codes = [ended(pid) for pid in pids]
        assert codes[2:] == [0, 0], said(root)
        assert codes[:2] == [c for c in codes[:2] if c in (0, -9)]
        intact(root)
    assert intact(root).count("written") <= 1
    assert crash_world.ledger_content(root) == bases[1]


def test_the_installed_command_killed_from_outside(bases, tmp_path):
    root = shutil.copytree(bases[0][RUN], tmp_path / "project")
    draw = random.Random("outside")
    for _ in range(10):
        child = subprocess.Popen(
            [sys.executable, "-m", "prereg", "run"],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(draw.random() * 2)
        child.kill()
        child.wait()
        intact(root)
    assert done(root, "run") == 0, said(root)
    assert (root / "results" / ID).is_dir()
