"""The files of a run: written once, the ledger last; afterwards they can only be reproduced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import formats, ledger
from prereg.differences import changes
from prereg.errors import IntegrityError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from prereg.project import Project

LEDGER = "ledger.json"
MOST_BYTES = 2 * 1024**3
"""Of a table."""
POLICIES = "policies.csv"
"""What every run writes."""
TABLES = (POLICIES, "thresholds.csv", "surfaces.csv", "records.csv", "certificates.jsonl")
"""Every table that some run writes."""


def foreign(project: Project, folder: Path, tables: Collection[str]) -> list[Problem]:
    """Tables beside a ledger that is not written with them: a reader would take them for its own.

    Files of other names are nobody's business.
    """
    return [
        Problem(
            "not a table of this ledger: its run writes none of this name",
            Place((folder / name).relative_to(project.root).as_posix()),
        )
        for name in TABLES
        if name not in tables and (folder / name).exists()
    ]


def write(
    project: Project,
    folder: Path,
    content: dict[str, Any],
    tables: Mapping[str, bytes],
    envelope: dict[str, Any],
    digest: str,
) -> bool:
    """Write ledger and tables; True where those that were there already came out the same.

    `digest` is that of the content.

    Raises:
        IntegrityError: where an existing ledger or table is not reproduced; it is left as it is.

    """
    path = folder / LEDGER
    project.name_of(folder)  # nothing is tidied or written elsewhere
    formats.sweep(folder)
    if path.exists():
        _reproduce(project, folder, content, tables, digest)
        return True
    for name, data in tables.items():
        formats.write_atomic(folder / name, data)
    try:
        formats.write_atomic(path, ledger.to_bytes(content, envelope), exclusive=True)
    except FileExistsError:  # another run was faster: it must have found the same
        _reproduce(project, folder, content, tables, digest)
        return True
    return False


def _reproduce(
    project: Project, folder: Path, content: dict[str, Any], tables: Mapping[str, bytes], digest: str
) -> None:
    name = project.name_of(folder / LEDGER)
    stored = ledger.read(folder / LEDGER, name)
    if digest != stored.digest:
        found = list(changes(stored.content, content))
        raise IntegrityError(
            Problem("the ledger is not reproduced; it was left as it is", Place(name)),
            *[Problem(f"differs: {change}", Place(name)) for change in found[:20]],
        )
    others = foreign(project, folder, tables)
    if others:
        raise IntegrityError(*others)
    for table, data in tables.items():
        path = folder / table
        name = project.name_of(path)
        if not path.exists():
            formats.write_atomic(path, data)
        elif formats.read_bytes(path, name, MOST_BYTES) != data:
            raise IntegrityError(Problem("this table is not reproduced; it was left as it is", Place(name)))
