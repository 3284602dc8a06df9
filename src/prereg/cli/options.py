"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[Path, typer.Option("--root", "-C", help="The project folder.", metavar="DIR")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of text.")]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=1, max=1024, metavar="N", help="Workers; no result depends on their number."
    ),
]
ProtocolFile = Annotated[Path, typer.Argument(help="A protocol.", metavar="PROTOCOL.yaml")]
