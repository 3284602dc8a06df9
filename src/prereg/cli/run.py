"""`prereg run`: execute what was registered, and show what came of it."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output, show
from prereg.cli.options import Jobs, Json, Root

if TYPE_CHECKING:
    from collections.abc import Sequence


class FailOn(StrEnum):
    """What makes `run` end with 1."""

    surprise = "surprise"
    failed = "failed"
    falsified = "falsified"


def command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of registrations; all current ones without any.", metavar="ID"),
    ] = None,
    jobs: Jobs = 1,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option("--fail-on", help="End with 1 on such a verdict.", metavar="|".join(FailOn)),
    ] = None,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Execute what was registered and write the ledger; an existing one is reproduced, never replaced."""
    from prereg.cli.progress import progress
    from prereg.project import Project
    from prereg.run import chosen
    from prereg.run import run as stage

    project = Project.at(root)
    registered = chosen(project, ids or [])
    trees = []
    code = 0
    for one in registered:
        with progress(one.id, quiet=json) as (say_stage, tick):
            outcome = stage(project, one, jobs, say_stage, tick, partial(_tell_wait, one.id))
        fell = _fell(outcome.content["predictions"], fail_on or [])
        code = max(code, 1 if fell else 0)
        name = project.name_of(outcome.folder / "ledger.json")
        trees.append(
            {
                "id": one.id,
                "digest": one.digest,
                "ledger": name,
                "outcome": "reproduced" if outcome.reproduced else "written",
                "notes": list(outcome.notes),
                "fell_short": fell,
                "noted": show.noted(project, one.id),
                "content": outcome.content,
            }
        )
        if not json:
            show.draw(project, one, outcome.content)
            for note in outcome.notes:
                output.say(f"note: {note}")
            output.say(f"reproduced: {name} came out the same" if outcome.reproduced else f"written: {name}")
            if fell:
                output.say(f"fell short of --fail-on: {', '.join(fell)}")
    if json:
        output.emit({"command": "run", "exit_code": code, "runs": trees})
    return code


def _tell_wait(name: str) -> None:
    output.complain([f"{name} is being run by another process: waiting for it to end"])


def _fell(predictions: list[dict[str, Any]], wanted: "Sequence[FailOn]") -> list[str]:
    """Primary predictions, guards left out, that fell short of what was asked for."""
    names = {w.value for w in wanted}
    out = []
    for p in predictions:
        if p["guard"] or p.get("tier", "primary") != "primary":
            continue
        bad = ("surprise" in names and p["surprise"]) or (
            "falsified" in names and p["verdict"] == "falsified"
        )
        if bad or ("failed" in names and p["verdict"] in ("failed", "falsified")):
            out.append(p["id"])
    return out
