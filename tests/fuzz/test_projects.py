"""Whole commands on hostile projects: refused in a line, within bounds, nothing outside touched, and all agree."""

from __future__ import annotations

import json
import random
import re
import resource
import signal
import time
import traceback

import pytest
import sealed_world
from hostile import hostile, state
from watched import watched

EVERYDAY, SLOW = 3, 400
"""Projects; each is given to nine commands that read and three that write."""
SECONDS = 6.0
HANGS = 60
MEGABYTES = 900
READING = [
    ("show", "rich"),
    ("show", "other", "--legs"),
    ("show", "rich", "--policy", "a"),
    ("show", "rich", "--registration"),
    ("status",),
    ("diff",),
    ("diff", "--base", "BASE", "--fail-on", "weakened"),
    ("verify",),
    ("verify", "--rerun"),
]
WRITING = [
    ("run",),
    ("run", "rich", "--fail-on", "surprise"),
    ("amend", "PROTOCOL", "--reason", "The bar was lowered once more."),
    ("note", "rich", "--text", "A note on what happened.", "--prediction", "few-errors"),
    ("note", "other", "--text", "A note on an attempt.", "--attempt", "20"),
    ("stamp", "import", "TOKEN", "--for", "other"),
    ("lock", "PROTOCOL"),
    ("rehearse", "PROTOCOL", "--draws", "1"),
    ("check", "PROTOCOL"),
]
CODES = {"diff": {0, 1, 2, 3, 4}, "run": {0, 1, 2, 3, 4}}
"""Of the others: {0, 2, 3, 4}."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Hanging(Exception):
    """A command took far longer than it may."""


class Bench:
    """Commands on one hostile project after another."""

    def __init__(self, folder):
        self.folder = folder
        self.root, self.base, self.outside = folder / "root", folder / "base", folder / "outside"
        sealed_world.made(self.base)
        self.files = sealed_world.snapshot(self.base)
        sealed_world.lay(self.outside, self.files)
        self.kept = state(self.outside), state(self.base)
        self.counts = {}

    def command(self, words, what, *, writes):
        """One command: its exit code and what it said, after everything that must hold of any command."""
        words = [
            {
                "BASE": str(self.base),
                "PROTOCOL": str(self.root / "rich.yaml"),
                "TOKEN": str(self.base / "token.tsr"),
            }.get(w, w)
            for w in words
        ]
        before = None if writes else state(self.root)
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        begin = time.process_time()
        try:
            with watched(self.root) as watch:
                code, out, err = sealed_world.quiet(self.root, *words)
        except BaseException as error:
            raise AssertionError(f"{what}\n{words}: {error!r}\n{traceback.format_exc()[-3000:]}") from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        spent = time.process_time() - begin
        said = f"{what}\n{words} ended with {code} after {spent:.1f} s\n{out[-1500:]}\n{err[-3000:]}"
        assert code in CODES.get(words[0], {0, 2, 3, 4}), said
        assert spent < SECONDS, said
        given = "--base" in words or words[0] == "stamp"  # what is asked for by name may lie anywhere
        stray = [one for one in watch.found if not given or str(self.base) not in one]
        assert not stray, (stray, said)
        assert not _CONTROL.search(out.replace("\n", "")), said
        assert not _CONTROL.search(err.replace("\n", "")), said
        assert all(len(line) < 20_000 for line in err.splitlines()), said
        if "--json" in words:
            tree = json.loads(out)
            assert tree["exit_code"] == code, said
        if before is not None:
            assert state(self.root) == before, said
        self.counts[words[0], code] = self.counts.get((words[0], code), 0) + 1
        return code, said

    def project(self, draw):
        """Every command on one more hostile project; what they came to must fit together."""
        made = hostile(draw, self.files)
        what = "; ".join(made.said)
        made.lay(self.root)
        came = {}
        for words in READING:
            more = ["--json"] if draw.random() < 0.4 else []
            came[words] = self.command([*words, *more], what, writes=False)
        for words in draw.sample(WRITING, 2) + WRITING[:1]:
            made.lay(self.root)
            more = ["--json"] if draw.random() < 0.4 else []
            came[words] = self.command([*words, *more], what, writes=True)
        self._agree(came, what)
        assert (state(self.outside), state(self.base)) == self.kept, what

    @staticmethod
    def _agree(came, what):
        verified, again = came["verify",][0], came["verify", "--rerun"][0]
        others = {words: code for words, (code, _) in came.items() if words[0] in ("status", "diff", "show")}
        if verified == 0:
            bad = {words: code for words, code in others.items() if code == 3 and "BASE" not in words}
            assert not bad, (bad, what, [came[w][1] for w in bad])
        if again == 0:
            assert came["run",][0] in (0, 4), (what, came["run",][1])


def fuzzed(bench, seed, count):
    """Give every command that many projects."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def hangs(*_):
        raise Hanging

    old = signal.signal(signal.SIGALRM, hangs)
    try:
        for i in range(count):
            bench.project(random.Random(f"{seed} {i}"))
    finally:
        signal.signal(signal.SIGALRM, old)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) / 1024 < MEGABYTES


@pytest.fixture
def bench(tmp_path, monkeypatch):
    # no program is started: git would be asked the same about every project
    monkeypatch.setattr("prereg.verify.checkout", lambda _: "left out here")
    monkeypatch.setattr("prereg.lock._commit", lambda _: None)
    monkeypatch.setattr("prereg.base._commit", lambda *_: None)
    return Bench(tmp_path)


def test_hostile_projects(bench):
    fuzzed(bench, "everyday", EVERYDAY)


@pytest.mark.slow
def test_many_hostile_projects(bench):
    fuzzed(bench, "slow", SLOW)
