"""A small study that was locked and run, and hands that change its files as somebody who means harm would."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from broken_projects import command
from prereg import ledger, registration

PROTOCOL = """\
prereg: 1
id: small
title: A small | project
data: {records: records.csv, arm: system, unit: item}
let:
  lowest: min(right)
metrics:
  right: {rate: correct}
  ranked: {auroc: {score: score, label: correct}}
resampling: {resamples: 100, seed: 1}
predictions:
  good:
    claim: right[b] > 0.3
  b-is-better:
    claim: right[b] > right[a]
  b-ranks:
    claim: ranked[b] > 0.5
    evidence: point
    anticipate: open
"""
ROWS = [
    f"{s},{i},{(i * 7 + k) % 10},{str((i + k) % 3 != 0).lower()}\n"
    for k, s in enumerate("ab")
    for i in range(40)
]
RECORDS = "system,item,score,correct\n" + "".join(ROWS)


@functools.cache
def _made(ran: bool) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ci-project-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "small.yaml").write_text(PROTOCOL, encoding="utf-8")
    (folder / "records.csv").write_text(RECORDS, encoding="utf-8")
    assert command("lock", str(folder / "small.yaml"), "--root", str(folder)).code == 0
    if ran:
        assert command("run", "--root", str(folder)).code == 0
    return folder


class Study:
    """A project folder and what is done to it."""

    def __init__(self, root, *, ran=True):
        self.root = Path(root)
        shutil.copytree(_made(ran), self.root, dirs_exist_ok=True)

    def say(self, name, *arguments):
        return command(name, *arguments, "--root", str(self.root))

    def json(self, name, *arguments):
        said = self.say(name, *arguments, "--json")
        tree = json.loads(said.out)
        assert tree["exit_code"] == said.code, said.err
        return tree

    def edit(self, old, new):
        path = self.root / "small.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new), encoding="utf-8")

    def amend(self, old, new, reason="The bar was copied from another study.", *more):
        self.edit(old, new)
        return self.json("amend", str(self.root / "small.yaml"), "--reason", reason, *more)

    def run(self, *arguments):
        said = self.say("run", *arguments)
        assert said.code == 0, said.err
        return said

    def git(self, *arguments):
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.root, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def committed(self):
        """Everything in a commit; its name."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a state", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    @property
    def registrations(self):
        return sorted((self.root / "registrations" / "small").glob("*.json"))

    @property
    def ledgers(self):
        return sorted((self.root / "results" / "small").glob("*/ledger.json"))

    def current(self):
        from prereg.project import Project

        return registration.current(Project.at(self.root), "small")

    def ledger(self):
        """The ledger of what is current."""
        path = self.root / "results" / "small" / self.current().short / "ledger.json"
        return path, ledger.read(path, "ledger.json")

    def reseal(self, change):
        """Change a ledger and write it with digests that fit: what only another copy can tell."""
        path, stored = self.ledger()
        content = json.loads(json.dumps(stored.content))
        change(content)
        path.write_bytes(ledger.to_bytes(content, stored.envelope))


def prediction(content, name):
    return next(p for p in content["predictions"] if p["id"] == name)


def kinds(tree, level=None):
    """(level, kind) of every finding."""
    return [(f["level"], f["kind"]) for f in tree["findings"] if level in (None, f["level"])]
