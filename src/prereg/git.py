"""Questions to the git history around a project: read only, offline, running nothing that a repository names.

No date is ever read: what came first is told by ancestry alone.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SECONDS = 120
# a copied repository may carry its own configuration: nothing in it may start a program or reach a network
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "log.showSignature=false",
    "log.follow=false",
    "protocol.allow=never",
)


@dataclass(frozen=True)
class Entry:
    """One change of one file in history."""

    commit: str
    status: str
    path: str


@dataclass(frozen=True)
class Git:
    """The checkout that a folder lies in."""

    root: Path
    shallow: bool

    def run(self, *arguments: str) -> bytes | None:
        """What git prints; None where it fails."""
        return ask(self.root, *arguments)

    def lines(self, *arguments: str) -> list[str]:
        """The lines that git prints; none where it fails."""
        return (self.run(*arguments) or b"").decode("utf-8", "replace").split()

    def at(self, commit: str, name: str) -> bytes | None:
        """The bytes of a file in a commit; None where it is not there."""
        return self.run("cat-file", "blob", f"{commit}:./{name}")

    def has(self, commit: str, name: str) -> bool:
        """Whether a file or folder is there in a commit."""
        return self.run("cat-file", "-e", f"{commit}:./{name}") is not None

    def parents(self, commit: str) -> list[str]:
        """The parents of a commit, none for a root or at the edge of a shallow clone."""
        return self.lines("rev-list", "--parents", "-n", "1", commit)[1:]

    def added(self, name: str) -> list[str]:
        """The commits that added a file, or files below a folder, oldest first."""
        found = self.lines(
            *("log", "--format=%H", "--full-history", "--topo-order", "--reverse", "--no-renames"),
            *("--no-ext-diff", "--diff-filter=A", "HEAD", "--", name),
        )
        return list(dict.fromkeys(found))

    def changed(self, names: Sequence[str]) -> list[Entry]:
        """Every removal and change of a file below folders, newest first; paths relative to the project."""
        raw = self.run(
            *("log", "--format=commit %H", "--full-history", "--no-renames", "--no-ext-diff", "--relative"),
            *("--name-status", "--diff-filter=DMT", "-z", "HEAD", "--", *names),
        )
        out, commit = [], ""
        fields = [f.strip("\n") for f in (raw or b"").decode("utf-8", "replace").split("\0")]
        waiting = iter([f for f in fields if f])
        for one in waiting:
            if one.startswith("commit "):
                commit = one.removeprefix("commit ")
            elif len(one) == 1:
                out.append(Entry(commit, one, next(waiting, "")))
        return out

    def tracked(self, names: Sequence[str]) -> dict[str, str]:
        """Files below folders in the last commit, by path relative to the project, with their blob."""
        raw = self.run("ls-tree", "-r", "-z", "HEAD", "--", *[f"{name}/" for name in names])
        out = {}
        for line in (raw or b"").decode("utf-8", "replace").split("\0"):
            facts, _, path = line.partition("\t")
            if path and facts.split()[1] == "blob":
                out[path] = facts.split()[2]
        return out

    def tags(self) -> list[tuple[str, bytes]]:
        """(commit, object) of every annotated tag."""
        out = []
        for one in self.lines("for-each-ref", "--format=%(objecttype):%(objectname)", "refs/tags"):
            kind, _, name = one.partition(":")
            raw = self.run("cat-file", "tag", name) if kind == "tag" else None
            commit = self.lines("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if raw else []
            if raw and commit:
                out.append((commit[0], raw))
        return out


def blob(data: bytes, like: str) -> str:
    """The name git gives to a file's bytes, in the object format that another name is of."""
    whole = b"blob %d\0" % len(data) + data
    return (hashlib.sha256 if len(like) == 64 else hashlib.sha1)(whole).hexdigest()  # git's own, no seal


def ask(root: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """What git prints in a folder when it is `given` this; None where it fails or is not there."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith("GIT_CONFIG")
    }
    environment |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    settings = [word for setting in _SAFE for word in ("-c", setting)]
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *settings, "-C", str(root), *arguments],  # noqa: S607
            env=environment,
            capture_output=True,
            input=given,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return done.stdout if done.returncode == 0 else None


def checkout(root: Path) -> Git | str:
    """The checkout a folder lies in, or why there is none."""
    if ask(root, "--version") is None:
        return "git is not installed"
    if (ask(root, "rev-parse", "--is-inside-work-tree") or b"").strip() != b"true":
        return "the project is in no git checkout"
    if ask(root, "rev-parse", "--verify", "--quiet", "HEAD") is None:
        return "nothing is committed yet"
    shallow = (ask(root, "rev-parse", "--is-shallow-repository") or b"").strip() == b"true"
    return Git(root, shallow)
