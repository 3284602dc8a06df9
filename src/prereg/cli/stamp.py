"""`prereg stamp import`: keep an RFC 3161 token beside the registration that it is for."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import Annotated

import typer

from prereg.cli import output
from prereg.cli.coercion import Command
from prereg.cli.options import Json, Root

app = typer.Typer(
    help="Time stamps of registrations (RFC 3161).", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _main() -> None:
    """Keep a group even with one command."""


@app.command("import", cls=Command)
def import_(
    token: Annotated[Path, typer.Argument(help="A time-stamp response or token.", metavar="TOKEN")],
    name: Annotated[str, typer.Option("--for", help="The id of a registration.", metavar="ID")],
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Keep a time stamp beside the current registration of an id; verify --ca-file checks it."""
    from prereg.order import import_stamp
    from prereg.project import Project
    from prereg.registration import current

    project = Project.at(root)
    registered = current(project, name)
    path, new = import_stamp(project, registered, token)
    shown = project.name_of(path)
    if json:
        output.emit(
            {
                "command": "stamp",
                "exit_code": 0,
                "id": name,
                "digest": registered.digest,
                "path": shown,
                "new": new,
            }
        )
        return 0
    output.say(f"imported: {shown}" if new else f"imported already: {shown}")
    return 0
