"""`prereg schema`: the JSON Schema of what is read and written."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from typing import Annotated

import typer

from prereg.cli import output


def command(
    what: Annotated[
        str,
        typer.Argument(
            help="A kind of file, or the --json of a command (`verify`, `note-output`).", metavar="WHAT"
        ),
    ] = "protocol",
) -> int:
    """Print a JSON Schema: of protocols, for editors, or of another file or output."""
    from prereg.schema import schema_of

    output.emit(schema_of(what))
    return 0
