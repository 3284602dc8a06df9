"""`prereg amend`: a changed protocol becomes an amendment."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import Annotated

import typer

from prereg.cli import output
from prereg.cli.options import Json, ProtocolFile, Root


def command(
    protocol: ProtocolFile,
    reason: Annotated[str, typer.Option("--reason", help="Why, in words.", metavar="TEXT")],
    parent: Annotated[
        list[str] | None,
        typer.Option(
            "--parent",
            help="What it replaces; needed where several are current.",
            metavar="DIGEST12",
        ),
    ] = None,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Register a changed protocol: with its parent, the reason, what changed and what was seen."""
    from prereg.amend import amend as stage
    from prereg.check import check
    from prereg.cli.lines import amendment_lines
    from prereg.project import Project

    project = Project.at(root)
    checked = check(project, protocol)
    locked = stage(project, checked, reason, parent or [])
    registered = locked.registration
    path = project.name_of(locked.path)
    if json:
        output.emit(
            {
                "command": "amend",
                "exit_code": 0,
                "id": registered.id,
                "digest": registered.digest,
                "path": path,
                "new": locked.new,
                "amends": registered.content["amends"],
                "warnings": [output.problem_tree(w) for w in checked.warnings],
            }
        )
        return 0
    output.complain(str(w) for w in checked.warnings)
    if not locked.new:
        output.say(f"{registered.id} is amended already as {registered.short}: nothing changed")
        return 0
    output.say(f"amended {registered.id} as {registered.short}: {path}")
    for line in amendment_lines(registered.content["amends"]):
        output.say(line)
    return 0
