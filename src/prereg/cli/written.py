"""The tables beside a ledger, read only where they are those that the ledger names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from prereg import formats
from prereg.errors import IntegrityError, MissingError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prereg.project import Project

_MOST_BYTES = 2 * 1024**3


def table_text(project: Project, folder: Path, name: str, content: Mapping[str, Any]) -> str | None:
    """The text of a table; None where the ledger has none of this name.

    Raises:
        IntegrityError: where the table is not the one the ledger was written with.
        MissingError: where it is gone.

    """
    named = next((t for t in content.get("tables", ()) if t["name"] == name), None)
    if named is None:
        return None
    path = folder / name
    place = Place(project.name_of(path))
    try:
        data = formats.read_bytes(path, place.file, _MOST_BYTES)
    except MissingError:
        raise MissingError(Problem("no such file; a run writes it again", place)) from None
    if hashlib.sha256(data).hexdigest() != named["sha256"]:
        raise IntegrityError(Problem("this is not the table that the ledger was written with", place))
    return data.decode()
