"""`prereg note`: a dated deviation that changes nothing."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import Annotated

import typer

from prereg.cli import output
from prereg.cli.options import Json, Root


def command(
    name: Annotated[str, typer.Argument(help="The id of a registration.", metavar="ID")],
    text: Annotated[str, typer.Option("--text", help="What happened, in words.", metavar="TEXT")],
    prediction: Annotated[
        list[str] | None, typer.Option("--prediction", help="A prediction it speaks of.", metavar="ID")
    ] = None,
    attempt: Annotated[
        str | None,
        typer.Option("--attempt", help="The attempt it speaks of.", metavar="NAME"),
    ] = None,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Add a dated note about a deviation that changes nothing; it is printed beside the verdicts it names."""
    from prereg.note import note as stage
    from prereg.project import Project

    written = stage(Project.at(root), name, text, prediction or [], attempt)
    if json:
        output.emit(
            {"command": "note", "exit_code": 0, "id": name, "digest": written.digest, **written.to_tree()}
        )
        return 0
    output.say(f"noted: {written.name}")
    return 0
