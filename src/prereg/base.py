"""What to compare with: another folder, or what a git commit holds, read without a checkout.

Of a commit only regular files under `registrations/` and `results/` with the names that prereg gives are
read, into a folder of their own that is removed afterwards.  git is asked for objects, and never runs or
fetches anything.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prereg.dataclass import dataclass
from prereg.errors import InputError, MissingError
from prereg.git import ask
from prereg.numerals import shown
from prereg.project import ID, Project

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = re.compile(
    rf"registrations/{ID}/(?:[a-z]+/)?[A-Za-z0-9._-]+|"
    rf"results/{ID}/(?:attempts/[A-Za-z0-9._-]+\.json|[0-9a-f]{{12}}/ledger\.json)"
)
_ENTRY = re.compile(
    rb"(?P<mode>\d+) blob (?P<object>[0-9a-f]{40,64}) +(?P<size>\d+)\t(?P<name>.*)", re.DOTALL
)
_REGULAR = (b"100644", b"100755")
_MOST_FILES = 50_000
_MOST_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Base:
    """A project to compare with."""

    project: Project
    kind: str
    """`folder` or `git`."""
    name: str
    """As it was asked for."""
    commit: str | None


@contextmanager
def opened(project: Project, wanted: str) -> Iterator[Base]:
    """The base that a text names: a folder of a project, else a commit of the repository the project is in.

    Raises:
        InputError: where the text names both, or more than is read.
        MissingError: where it names neither.

    """
    folder = Path(wanted)
    is_folder = bool(wanted) and any((folder / name).is_dir() for name in ("registrations", "results"))
    commit = _commit(project.root, wanted)
    if is_folder and commit is not None and not wanted.startswith((".", "/")):
        raise InputError(
            f"prereg: {shown(wanted)} is a folder and a commit; write `./{wanted}` for the folder"
        )
    if is_folder:
        yield Base(Project.at(folder), "folder", wanted, None)
        return
    if commit is None:
        raise MissingError(
            f"no base {shown(wanted)}: neither a folder with registrations/ nor a commit that is here "
            "(in CI: fetch it first)"
        )
    with tempfile.TemporaryDirectory(prefix="prereg-base-") as name:
        _extract(project.root, commit, Path(name))
        yield Base(Project.at(Path(name)), "git", wanted, commit)


def _commit(root: Path, wanted: str) -> str | None:
    if not wanted or wanted.startswith("-"):
        return None
    out = ask(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{wanted}^{{commit}}")
    return None if out is None else out.decode().strip() or None


def _extract(root: Path, commit: str, target: Path) -> None:
    # relative to the project, which may be a folder inside the repository
    listed = ask(root, "ls-tree", "-r", "-l", "-z", commit, "--", "registrations/", "results/")
    if listed is None:
        raise InputError(f"prereg: git does not list {commit[:12]}")
    files: list[tuple[str, bytes]] = []
    total = 0
    for line in listed.split(b"\0"):
        found = _ENTRY.fullmatch(line)
        if found is None or found["mode"] not in _REGULAR:
            continue
        name = found["name"].decode("utf-8", "replace")
        if not _KEPT.fullmatch(name) or ".." in name:
            continue
        files.append((name, found["object"]))
        total += int(found["size"])
    if len(files) > _MOST_FILES or total > _MOST_BYTES:
        raise InputError(
            f"prereg: {len(files)} files of {total} bytes in {commit[:12]} are more than is read"
        )
    blobs = ask(root, "cat-file", "--batch", given=b"".join(one + b"\n" for _, one in files))
    if blobs is None:
        raise InputError(f"prereg: git does not give the files of {commit[:12]}")
    at = 0
    for name, _ in files:
        header, _, _ = blobs[at : at + 200].partition(b"\n")
        words = header.split(b" ")
        if len(words) != 3 or words[1] != b"blob":
            raise InputError(f"prereg: {name} of {commit[:12]} is not here (a partial clone?)")
        begin = at + len(header) + 1
        end = begin + int(words[2])
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blobs[begin:end])
        at = end + 1


def prefix(root: Path) -> str:
    """The folder of a project in its repository, ending in a slash; empty at the top or outside of one."""
    out = ask(root, "rev-parse", "--show-prefix")
    return "" if out is None else out.decode("utf-8", "replace").strip("\n")
