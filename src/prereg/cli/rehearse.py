"""`prereg rehearse`: judge a protocol on drawn outcomes before it is locked."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Jobs, Json, ProtocolFile, Root
from prereg.cli.progress import progress
from prereg.cli.sheet import Table, sheet

if TYPE_CHECKING:
    from prereg.rehearse import Rehearsal

_SAID = {
    "held": "held whatever was drawn: can it fail at all?",
    "falsified": "falsified whatever was drawn: fine where it asks for more than chance gives",
    "undefined": "undefined whatever was drawn: no verdict can come of it",
}


def command(
    protocol: ProtocolFile,
    draws: Annotated[int, typer.Option("--draws", help="How often outcomes are drawn.", metavar="N")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws.", min=0)] = 0,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="A column that is no outcome: read as it is.", metavar="COLUMN"),
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option("--draw", help="What a column can hold.", metavar="COLUMN=LOW..HIGH|A,B,C"),
    ] = None,
    jobs: Jobs = 1,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Judge a protocol on drawn outcomes, before it is locked: no answer in the records is looked at."""
    from prereg.project import Project
    from prereg.rehearse import given_draw
    from prereg.rehearse import rehearse as stage

    project = Project.at(root)
    given = [given_draw(text) for text in draw or []]
    with progress(f"{protocol.name}: drawing outcomes", quiet=json) as (_, tick):
        done = stage(project, protocol, draws, seed, known or [], given, jobs, tick)
    name = project.name_of(done.path)
    if json:
        tree = {"command": "rehearse", "exit_code": 0, "id": done.protocol.id, "rehearsal": name, **done.end}
        output.emit(tree)
    else:
        _show(done, name)
    return 0


def _show(done: "Rehearsal", name: str) -> None:
    end = done.end
    lines = sheet()
    lines.print(f"{done.protocol.id}: rehearsed on drawn outcomes; this is no evidence")
    lines.print(f"read as they are: {', '.join(end['read']) or 'none'}")
    for one in end["drawn"]:
        lines.print(f"drawn: {one['column']}: {one['drawn']}")
    lines.print()
    table = Table(f"verdicts in {end['judged']} draws")
    for column in ("prediction", "held", "failed", "falsified", "expected", "reasons", "look"):
        table.add_column(column, right=column in ("held", "failed", "falsified"))
    for entry in end["predictions"]:
        table.add_row(*_row(entry))
    lines.print(table)
    if end["broken"]["draws"]:
        lines.print(f"{end['broken']['draws']} draws came to nothing: {end['broken']['message']}")
    lines.print(f"kept: {name}")


def _row(entry: dict[str, Any]) -> list[str]:
    reasons = ", ".join(f"{reason} {count}" for reason, count in entry["failed"].items())
    said = _SAID.get(entry["constant"] or "", "")
    if entry["guard"]:
        said = "a guard"
    return [
        entry["id"],
        str(entry["held"]),
        str(sum(entry["failed"].values())),
        str(entry["falsified"]),
        entry["anticipated"],
        reasons,
        said,
    ]
