"""A small project, commands run in a forked process that can be killed, and what must hold whenever it was."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from prereg import attempts, formats, ledger, registration
from prereg.cli.app import execute
from prereg.project import Project

ID = "crash"
PROTOCOL = """
prereg: 1
id: crash
title: A run that is killed
data: {records: records.csv, arm: model, unit: item}
policies: {gate: {score: conf, at_least: [none, 0.5]}}
metrics:
  accuracy: {rate: correct, among: answered}
resampling: {resamples: 60, seed: 3}
predictions:
  better: {claim: "accuracy[a, none] > accuracy[b, none]"}
  above: {claim: "all(accuracy > LEVEL)", evidence: point}
"""
CALLS = ("fsync", "link", "replace", "unlink", "mkdir")
"""What a file is made of."""


def make(root, level="0.1"):
    """The protocol and its records."""
    draw = random.Random(5)
    lines = ["model,item,answered,correct,conf"]
    for arm in "ab":
        lines += [
            f"{arm},q{i},true,{str(draw.random() < 0.6).lower()},{draw.random():.2f}" for i in range(24)
        ]
    (root / "records.csv").write_text("\n".join(lines) + "\n")
    (root / "protocol.yaml").write_text(PROTOCOL.replace("LEVEL", level))
    return root


def warm(root):
    """Load and build in this process all that the commands need, so that forked ones begin at once."""
    make(root)
    at = ["--root", str(root)]
    with (
        Path(os.devnull).open("w") as void,
        contextlib.redirect_stdout(void),
        contextlib.redirect_stderr(void),
    ):
        assert execute(["lock", str(root / "protocol.yaml"), *at]) == 0
        assert execute(["run", *at]) == 0
        make(root, level="0.05")
        assert execute(["amend", str(root / "protocol.yaml"), "--reason", "a lower bar", *at]) == 0


def start(root, *command, kill_at=None, after=False, fail=None):
    """Run a command in a forked process; the process id.

    `kill_at`: (name of a call in `os`, how many of it are let through) before or after which it dies by SIGKILL;
    with `fail` the call raises that instead, and so does every later one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        void = os.open(os.devnull, os.O_WRONLY)
        log = os.open(root / ".." / f"{root.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(void, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if kill_at is not None:
            _arm(*kill_at, after=after, fail=fail)
        os.chdir(root)
        code = execute(list(command))
        sys.stderr.flush()
    finally:
        os._exit(code)


def _arm(name, let_through, *, after, fail):
    real = getattr(os, name)
    left = [let_through]

    def call(*arguments, **keywords):
        left[0] -= 1
        if fail is not None:
            if left[0] < 0:
                raise fail
            return real(*arguments, **keywords)
        if left[0] < 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **keywords)
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(os, name, call)


def ended(pid):
    """The exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def done(root, *command, **more):
    """Run a command to its end; the exit code."""
    return ended(start(root, *command, **more))


def said(root):
    """What the last command complained of."""
    return (root.parent / f"{root.name}.log").read_text()


def settle(root):
    """Make what was left over old enough to be tidied."""
    for path in unfinished(root):
        os.utime(path, (time.time() - 60, time.time() - 60))


def unfinished(root):
    """Files that no reader takes for anything."""
    return [p for p in root.rglob(".*.tmp") if p.is_file()]


def intact(root):
    """Every file is whole; attempts, witnesses and ledgers belong together. Returns the attempts' outcomes."""
    project = Project.at(root)
    for path in (root / "registrations").rglob("*"):
        if path.is_file() and path.parent.name == ID and not path.name.startswith("."):
            registration.read(path, project.name_of(path))
    every = attempts.read_all(project, ID)
    assert attempts.problems(project, ID, every) == []
    for path in (root / "results").rglob("ledger.json"):
        stored = ledger.read(path, project.name_of(path))
        for table in stored.content["tables"]:
            data = (path.parent / table["name"]).read_bytes()
            assert data.count(b"\n") - 1 == table["rows"]
    for path in root.rglob("*.json"):
        formats.read_json(path)
    return [a.outcome for a in every]


def ledger_content(root):
    """The content of the one ledger."""
    (path,) = (root / "results").rglob("ledger.json")
    return ledger.read(path, "ledger.json").content
