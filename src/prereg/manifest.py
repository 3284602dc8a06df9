"""The manifest of record files: names, sizes, digests, rows; and what changed since it was written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from prereg import canonical
from prereg.errors import InputError, IntegrityError, MissingError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prereg.project import Project

_SMALL = 64 * 1024 * 1024


def digests(files: Sequence[tuple[str, Path]]) -> list[dict[str, Any]]:
    """Name, size and digest of each file."""
    out = []
    for name, path in files:
        sha256, size = canonical.file_digest(path, name)
        out.append({"path": name, "bytes": size, "sha256": sha256})
    return out


def with_rows(entries: Sequence[dict[str, Any]], rows: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """The manifest with the number of records per file."""
    count = dict(rows)
    return [{**entry, "rows": count[entry["path"]]} for entry in entries]


def files_of(project: Project, entries: Sequence[dict[str, Any]]) -> list[tuple[str, Path]]:
    """The files a stored manifest names, none outside the project."""
    return [(str(entry["path"]), project.inside(str(entry["path"]))) for entry in entries]


def bound(registered: dict[str, Any], found: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The manifest that holds: as registered, or as the first run found it where the records were promised.

    Both arguments are the `data` of a content: of a registration, and of its ledger (None without one).
    """
    if "base" not in registered:
        return list(registered["files"])
    return [] if found is None else list(found["files"])


def verify(project: Project, entries: Sequence[dict[str, Any]]) -> None:
    """Compare the files with a manifest.

    Raises:
        MissingError: where a file is not there.
        IntegrityError: where one is and differs, all of them named.

    """
    lost: list[Problem] = []
    changed: list[Problem] = []
    for entry in entries:
        name = str(entry["path"])
        try:
            path = project.inside(name)
            # what is larger than registered has changed; how much larger is nobody's time to read
            sha256, size = canonical.file_digest(path, name, max(int(entry["bytes"]), _SMALL))
        except MissingError:
            lost.append(Problem("registered, but no such file", Place(name)))
            continue
        except InputError as error:  # what was a file is a folder, a pipe, or a link out of the project
            changed += [
                Problem(f"changed since it was registered: {p.message}", Place(name)) for p in error.problems
            ]
            continue
        if sha256 != entry["sha256"]:
            hint = " (only the line endings differ)" if _line_endings(path, entry, size) else ""
            changed.append(
                Problem(
                    f"changed since it was registered{hint}: sha256 {sha256[:12]}… of {size} bytes, "
                    f"registered {str(entry['sha256'])[:12]}… of {entry['bytes']} bytes",
                    Place(name),
                )
            )
    if changed:
        raise IntegrityError(*changed, *lost)
    if lost:
        raise MissingError(*lost)


def _line_endings(path: Path, entry: dict[str, Any], size: int) -> bool:
    if size > _SMALL:
        return False
    data = path.read_bytes().replace(b"\r\n", b"\n")
    forms = (data, data.replace(b"\n", b"\r\n"))
    return any(hashlib.sha256(form).hexdigest() == entry["sha256"] for form in forms)
