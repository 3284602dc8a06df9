"""A small project that was locked and run, and a forger: files changed and sealed again, so that digests fit."""

from __future__ import annotations

import atexit
import copy
import functools
import json
import shutil
import tempfile
from pathlib import Path

import broken_projects
from prereg import attempts, ledger, registration
from prereg.cli.app import execute
from prereg.formats import read_json
from prereg.project import Project

LAYOUTS = {
    "registration": registration.FILE,
    "ledger": ledger.FILE,
    "attempt": attempts.FILE,
    "witness": attempts.WITNESS,
}
SMALL = """\
prereg: 1
id: small
title: A small project
data: {records: records.csv, arm: system, unit: item, sample: k, where: level < 9}
metrics:
  right: {rate: right}
resampling: {resamples: 50, seed: 1}
predictions:
  b-is-better:
    claim: right[b] > right[a]
"""


@functools.cache
def _made(protocol: str, runs: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="prereg-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    broken_projects.write(folder, protocol)
    for command in (["lock", "protocol.yaml"], *[["run"]] * runs):
        said = broken_projects.command(command[0], *(str(folder / c) for c in command[1:]), "-C", str(folder))
        assert said.code == 0, said.err
    return folder


def made(folder: Path, protocol: str = broken_projects.PROTOCOL, runs: int = 1) -> Path:
    """A copy of a project that was locked and run."""
    if not _made(protocol, runs).is_dir():  # a cleaner of temporary folders came by
        _made.cache_clear()
    shutil.copytree(_made(protocol, runs), folder, dirs_exist_ok=True)
    return folder


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


REGISTRATION = "registrations/*/*.json"
LEDGER = "results/*/*/ledger.json"
ATTEMPT = "results/*/attempts/*.json"
WITNESS = "registrations/*/attempts/*.json"


def parts(path: Path, kind: str):
    layout = LAYOUTS[kind]
    tree = read_json(path, path.name)
    return copy.deepcopy(tree[layout.content]), copy.deepcopy(tree[layout.around])


def seal(path: Path, kind: str, content, around) -> Path:
    """Write a file whose digests fit; a registration also moves to the name that its digest gives."""
    layout = LAYOUTS[kind]
    path.write_bytes(layout.to_bytes(content, around))
    if kind == "registration":
        name = layout.digest(content)[:12]
        return path.rename(path.with_name(f"{name}.json"))
    return path


def forge(folder: Path, pattern: str, kind: str, change) -> Path:
    """Change the content (and what is around it) of the only file of a kind, and seal it again."""
    path = only(folder, pattern)
    content, around = parts(path, kind)
    change(content, around)
    return seal(path, kind, content, around)


def forge_ledger(folder: Path, change) -> Path:
    """A forged ledger, and attempts that say it is what they wrote."""
    path = forge(folder, LEDGER, "ledger", lambda content, _: change(content))
    content, envelope = parts(path, "ledger")
    stored = ledger.Ledger(content, envelope, ledger.FILE.digest(content), "")
    for attempt in folder.glob(ATTEMPT):
        start, end = parts(attempt, "attempt")
        end |= {
            "ledger": stored.digest,
            "ledger_sha256": stored.sha256,
            "counts": content["counts"],
            "tables": [{"name": t["name"], "sha256": t["sha256"]} for t in content["tables"]],
        }
        seal(attempt, "attempt", start, end)
    return path


def verified(folder: Path, *options: str):
    """(exit code, {check: (state, detail)}) of the only registration, or of whatever fails."""
    said = broken_projects.command("verify", "-C", str(folder), "--json", *options)
    tree = json.loads(said.out)
    checks = {}
    for one in tree.get("verified", []):
        for check in one["checks"]:
            if checks.get(check["check"], ("ok",))[0] != "FAILED":
                checks[check["check"]] = (check["state"], check["detail"])
    assert said.code == tree["exit_code"]
    return said.code, checks


def failed(folder: Path, *options: str):
    """Names of the checks that failed, after making sure that this is exit 3."""
    code, checks = verified(folder, *options)
    names = {name for name, (state, _) in checks.items() if state == "FAILED"}
    assert code == (3 if names else code)
    return names


def project(folder: Path) -> Project:
    return Project.at(folder)


__all__ = ["execute"]
