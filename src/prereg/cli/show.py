"""`prereg show`: a registration or a ledger, so that a reader understands it in ten seconds."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Json, Root
from prereg.cli.sheet import sheet

if TYPE_CHECKING:
    from prereg.ledger import Ledger
    from prereg.project import Project
    from prereg.registration import Registration


def command(
    what: Annotated[
        str, typer.Argument(help="An id, or the file of a registration or ledger.", metavar="ID|FILE")
    ],
    policy: Annotated[
        str | None, typer.Option("--policy", help="Every metric of the policies with this name or value.")
    ] = None,
    registration: Annotated[
        bool, typer.Option("--registration", help="The registration, even where there is a ledger.")
    ] = False,
    legs: Annotated[
        bool, typer.Option("--legs", help="The comparisons of every compound claim, held ones too.")
    ] = False,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Print a registration or a ledger so that a reader understands it in ten seconds."""
    from prereg import ledger as ledgers
    from prereg import registration as registrations
    from prereg.errors import MissingError
    from prereg.project import Project

    _together(policy=policy is not None, registration=registration, legs=legs)
    project = Project.at(root)
    path = Path(what)
    if path.suffix == ".json" or "/" in what:
        if policy is not None:
            raise typer.BadParameter("--policy takes an id, not a file")
        return _file(project, path, json, legs=legs)
    registered = registrations.current(project, what)
    folder = project.results(registered.id) / registered.short
    if policy is not None:
        from prereg.cli.policies import show_policy

        return show_policy(project, folder, policy, json=json)
    ledger = folder / "ledger.json"
    if legs and not ledger.exists():
        raise MissingError(f"{project.name_of(ledger)}: no such file; run the registration first")
    if registration or not ledger.exists():
        return _registration(project, registered, json)
    return _ledger(project, registered, ledgers.read(ledger, project.name_of(ledger)), json, legs=legs)


_OTHER = ("prereg-attempt", "prereg-witness", "prereg-note", "prereg-rehearsal")


def _together(**given: bool) -> None:
    """Refuse options that ask for different things."""
    asked = [f"--{name}" for name, said in given.items() if said]
    if len(asked) > 1:
        raise typer.BadParameter(f"{' and '.join(asked)} ask for different things; give one of them")


def _file(project: "Project", path: Path, json: bool, *, legs: bool) -> int:
    from prereg import formats
    from prereg import ledger as ledgers
    from prereg import registration as registrations
    from prereg.errors import InputError, IntegrityError, Place, Problem

    name = project.name_of(path)
    tree = formats.read_json(path, name)
    kind = str(tree.get("format", "")).partition("/")[0] if isinstance(tree, dict) else ""
    if kind in _OTHER:
        raise InputError(
            Problem(f"is a file of the format `{kind}`; registrations and ledgers are shown", Place(name))
        )
    if kind != "prereg-ledger":
        return _registration(project, registrations.read(path.resolve(), name), json)
    stored = ledgers.read(path, name)
    if json:  # which needs no registration
        return _ledger(project, None, stored, json, legs=legs)
    bound = stored.content["registration"]
    of_id = registrations.of_id(project, str(bound["id"]))
    registered = next((r for r in of_id if r.digest == bound["digest"]), None)
    if registered is None:
        raise IntegrityError(Problem("its registration is not here", Place(name)))
    return _ledger(project, registered, stored, json, legs=legs)


def _registration(project: "Project", registered: "Registration", json: bool) -> int:
    notes = noted(project, registered.id)
    if json:
        _emit("registration", registered.digest, registered.content, notes)
    else:
        from prereg.cli.render_registration import show_registration

        show_registration(sheet(), registered, notes)
    return 0


def _ledger(
    project: "Project", registered: "Registration | None", stored: "Ledger", json: bool, *, legs: bool
) -> int:
    if json or registered is None:
        notes = noted(project, str(stored.content["registration"]["id"]))
        _emit("ledger", stored.digest, stored.content, notes)
    else:
        draw(project, registered, stored.content, legs=legs)
    return 0


def _emit(kind: str, digest: str, content: dict[str, Any], notes: list[dict[str, Any]]) -> None:
    told = {"kind": kind, "digest": digest, "content": content, "noted": notes}
    output.emit({"command": "show", "exit_code": 0, **told})


def noted(project: "Project", name: str) -> list[dict[str, Any]]:
    """The notes on an id, as plain values."""
    from prereg.note import read_all

    return [note.to_tree() for note in read_all(project, name)]


def draw(
    project: "Project", registered: "Registration", content: dict[str, Any], *, legs: bool = False
) -> None:
    """Draw a ledger with what its registration and its tables add."""
    from prereg.cli.render_ledger import show_ledger
    from prereg.cli.written import table_text

    protocol = registered.content["protocol"]
    stored = {
        "time": registered.envelope.get("time", ""),
        "arm": protocol["data"]["arm"][0],
        "degenerate": protocol["policies"]["degenerate"],
        "metrics": protocol["metrics"],
        "exclude": protocol["policies"].get("exclude"),
        "outcomes": protocol.get("outcomes"),
        "level": (protocol["resampling"] or {}).get("level", 0.95),
        "amends": registered.content.get("amends"),
        "noted": noted(project, registered.id),
    }
    folder = project.results(registered.id) / registered.short
    text = table_text(project, folder, "policies.csv", content)
    show_ledger(sheet(), content, protocol["title"], text, stored, legs=legs)
