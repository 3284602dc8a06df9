"""`prereg status`: what is locked, run, unjudged and superseded."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import TYPE_CHECKING

from prereg.cli import output
from prereg.cli.options import Json, Root
from prereg.cli.sheet import Table, Text, sheet
from prereg.dataclass import asdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.status import Standing

_STYLE = {
    "judged": "green",
    "never run": "yellow",
    "started, never finished": "yellow",
    "ledger gone": "red",
    "damaged": "red",
}


def command(root: Root = Path(), json: Json = False) -> int:
    """Tell what is locked, run, unjudged and superseded, and which records were judged under other ids."""
    from prereg.errors import IntegrityError
    from prereg.project import Project
    from prereg.status import status as stage

    found = stage(Project.at(root))
    code = IntegrityError.exit_code if any(one.state == "damaged" for one in found) else 0
    if json:
        output.emit({"command": "status", "exit_code": code, "registrations": [asdict(x) for x in found]})
        return code
    show(found)
    return code


def show(found: "Sequence[Standing]") -> None:
    """One row per registration, then what deserves a look."""
    out = sheet()
    table = Table("Registrations")
    for name in ("id", "digest", "locked", "state", "attempts", "held", "failed", "falsified", "surprises"):
        table.add_column(name, right=name in ("held", "failed", "falsified", "surprises"))
    for one in found:
        state = one.state if one.superseded_by is None else f"{one.state}; superseded by {one.superseded_by}"
        ends = ", ".join(f"{count} {outcome}" for outcome, count in one.attempts.items()) or "0"
        counts = one.counts or {}
        cells = [str(counts.get(key, "")) for key in ("held", "failed", "falsified", "surprises")]
        style = _STYLE[one.state]
        table.add_row(one.id, one.digest[:12], one.locked, Text(state, style), ends, *cells)
    out.print(table)
    for one in found:
        if one.problem is not None:
            out.print(Text(f"{one.id} {one.digest[:12]}: {one.problem}", "red"))
    told = [f"{one.id} {one.digest[:12]}: {before}" for one in found for before in one.shared]
    if told:
        out.print()
    for line in told:
        out.print(Text(line))
    unjudged = [one for one in found if one.state != "judged" and one.superseded_by is None]
    superseded = [one for one in found if one.superseded_by is not None]
    out.print()
    out.print(
        Text(
            f"{len(found)} registered, {sum(one.state == 'judged' for one in found)} judged, "
            f"{len(unjudged)} unjudged, {len(superseded)} superseded",
            "bold",
        )
    )
