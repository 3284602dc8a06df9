"""`prereg diff`: ledgers against their registrations and a base, as text, JSON or in a form that CI reads."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Json, Root
from prereg.cli.sheet import Table, Text, sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

Tree = dict[str, Any]


class Format(StrEnum):
    """What a difference can be written as."""

    text = "text"
    json = "json"
    markdown = "markdown"
    junit = "junit"
    github = "github"


class FailOn(StrEnum):
    """What makes `diff` end with 1."""

    verdict = "verdict"
    weakened = "weakened"
    surprise = "surprise"
    failed = "failed"
    falsified = "falsified"


def command(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids; all without any.", metavar="ID")] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", help="A commit or folder to compare with.", metavar="REF|DIR"),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", min=0, max=1, help="Relative difference of numbers that is none.", metavar="REL"
        ),
    ] = 0.0,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            "--fail-on",
            help="End with 1 on such a thing (default: verdict, one that changed).",
            metavar="|".join(FailOn),
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How it is printed.", metavar="|".join(Format))
    ] = Format.text,
    write: Annotated[
        list[str] | None,
        typer.Option("--write", help="Write it to a file as well.", metavar="FORMAT=FILE"),
    ] = None,
    require_data: Annotated[
        bool, typer.Option("--require-data", help="Records that are not here are missing, not unchecked.")
    ] = False,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Compare every ledger with its locked registration, and with a base: the command for CI."""
    from contextlib import nullcontext

    from prereg.base import opened, prefix
    from prereg.diff import Asked
    from prereg.diff import diff as stage
    from prereg.project import Project

    files = [_target(one) for one in write or []]
    project = Project.at(root)
    asked = Asked(tolerance, tuple(f.value for f in fail_on or [FailOn.verdict]), require_data)
    with nullcontext() if base is None else opened(project, base) as found:
        tree = stage(project, ids or [], found, asked).to_tree()
    where = prefix(project.root) if Format.github in (form, *[f for f, _ in files]) else ""
    for kind, path in files:
        _write(path, _document(kind, tree, where))
    chosen = Format.json if json else form
    if chosen is Format.text:
        show(tree)
    elif chosen is Format.json:
        output.emit(tree)
    else:
        output.write(_document(chosen, tree, where).rstrip("\n") + "\n")
    return int(tree["exit_code"])


def _target(text: str) -> tuple[Format, Path]:
    from prereg.errors import InputError

    kind, _, path = text.partition("=")
    if kind not in list(Format) or kind == Format.text or not path:
        raise InputError("prereg: --write takes FORMAT=FILE with json, markdown, junit or github")
    return Format(kind), Path(path)


def _document(kind: Format, tree: Tree, where: str) -> str:
    from prereg.cli import reports

    match kind:
        case Format.markdown:
            return reports.markdown(tree)
        case Format.junit:
            return reports.junit(tree)
        case Format.github:
            return reports.github(tree, where)
    return output.document(tree)


def _write(path: Path, text: str) -> None:
    from prereg.errors import InputError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


_STYLE = {"integrity": "red bold", "missing": "red", "verdict": "red", "warning": "yellow", "note": ""}
_COLOUR = {"held": "green", "failed": "yellow", "falsified": "red"}


def show(tree: Tree) -> None:
    """The difference for a reader: what matters first."""
    from prereg.cli.lines import note_lines
    from prereg.cli.reports import LEVELS, place, summary

    out = sheet()
    out.print(Text(summary(tree), style="bold"))
    for level in LEVELS:
        for found in tree["findings"]:
            if found["level"] == level:
                where = place(found)
                out.print(Text(f"{level}: {where}{': ' if where else ''}{found['message']}", _STYLE[level]))
    for one in tree["ledgers"]:
        out.print()
        out.print(
            Text(f"{one['id']} {one['registration'][:12]}: {one['title']}; records {one['data']}", "bold")
        )
        if one["amends"]:
            amends = one["amends"]
            out.print(Text(f"amends {amends['digest'][:12]} ({amends['seen']}): {amends['reason']}"))
        out.print(_table(one["predictions"], based=tree["base"] is not None))
        for line in note_lines(one["notes"]):
            out.print(Text(line))


def _table(predictions: "Sequence[Tree]", *, based: bool) -> Table:
    from prereg.cli.reports import cells, changes_first

    table = Table(
        "Predictions (* changed, ! differs from what was expected)"
        if based
        else "Predictions (! differs from what was expected)"
    )
    names = ["prediction", "verdict", *(["base"] if based else []), "expected", "d", "interval", "n"]
    for name in names:
        table.add_column(name, right=name == "d")
    for entry in changes_first(predictions):
        found = cells(entry)
        style = _COLOUR.get(entry["verdict"], "")
        table.add_row(*[Text(found[name], style if name == "verdict" else "") for name in names])
    return table
