"""`prereg amend`: a changed protocol becomes an amendment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Json, ProtocolFile, Root  # noqa: TC001 - typer reads them at run time

if TYPE_CHECKING:
    from prereg.registration import Registration


def command(
    protocol: ProtocolFile,
    reason: Annotated[str, typer.Option("--reason", help="Why, in words.", metavar="TEXT")],
    parent: Annotated[
        list[str] | None,
        typer.Option(
            "--parent", help="What it takes the place of; needed where several are current.", metavar="DIGEST12"
        ),
    ] = None,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Register a changed protocol: names its parent, the reason, every field that changed, and what was seen."""
    from prereg.amend import amend as stage
    from prereg.check import check
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
    for line in told(registered):
        output.say(line)
    return 0


def told(registered: Registration) -> list[str]:
    """An amendment in lines: what it amends, why, what changed, what it touches, what had been seen."""
    amends = registered.content["amends"]
    out = [f"amends   {amends['digest'][:12]}: {amends['reason']}"]
    out += [f"changed  {_change(change)}" for change in amends["changes"]]
    for other in amends["supersedes"]:
        out.append(f"supersedes {other['digest'][:12]}")
        out += [f"changed  {_change(change)}" for change in other["changes"]]
    touched = [t["prediction"] for t in amends["touched"]]
    out.append(f"touches  {', '.join(touched) if touched else 'no verdict'}")
    seen = amends["seen"]
    attempts = "; ".join(f"{a['started']} {a['kind']} started, {a['results']} with results" for a in seen["attempts"])
    out.append(f"seen     {seen['state']}" + (f" ({attempts})" if attempts else ""))
    out += [f"seen     {line}" for line in judged(registered)]
    return out


def judged(registered: Registration) -> list[str]:
    """What these records came to before, under this id and others."""
    out = []
    for entry in registered.content["amends"]["seen"]["judged"]:
        if entry["state"] in ("results written", "damaged"):
            what = "these records were" if entry["files"] else "other records were"
            out.append(f"{what} judged before, as {entry['id']} {entry['registration'][:12]}: {_came_to(entry)}")
    return out


def _came_to(entry: dict[str, Any]) -> str:
    if entry["verdicts"] is not None:
        return ", ".join(f"{v['prediction']} {v['verdict']}" for v in entry["verdicts"][:20]) + (
            f" and {len(entry['verdicts']) - 20} more" if len(entry["verdicts"]) > 20 else ""
        )
    counts = entry["counts"]
    if counts is None:
        return "the results cannot be read"
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if verdict != "surprises") + " (ledger gone)"


def _change(change: dict[str, Any]) -> str:
    from prereg.differences import ABSENT, Change

    pair = Change(change["path"], change.get("before", ABSENT), change.get("after", ABSENT))
    return f"{pair} ({change['direction']})" if change["direction"] != "changed" else str(pair)
