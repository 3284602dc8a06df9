"""`prereg verify`: whether everything still says what was promised."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Jobs, Json, Root
from prereg.cli.sheet import Table, Text, sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.verify import Verified

_STYLE = {"ok": "green", "cosmetic": "yellow", "partial": "yellow", "missing": "red", "FAILED": "red bold"}
_SAID = {"partial": "PARTIAL"}


def command(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids; all without any.", metavar="ID")] = None,
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Recompute from the records and compare; writes nothing.")
    ] = False,
    require_data: Annotated[
        bool, typer.Option("--require-data", help="End with 4 where records are absent.")
    ] = False,
    allow_unrun: Annotated[
        bool,
        typer.Option("--allow-unrun", help="A registration without a ledger is no reason to end with 4."),
    ] = False,
    allowed_signers: Annotated[
        Path | None,
        typer.Option("--allowed-signers", help="Check SSH signatures with this file.", metavar="FILE"),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", help="Check time stamps with these root certificates.", metavar="PEM"),
    ] = None,
    untrusted: Annotated[
        Path | None,
        typer.Option("--untrusted", help="Certificates between token and root.", metavar="PEM"),
    ] = None,
    jobs: Jobs = 1,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Check registrations, protocols, records, ledgers, attempts and the order of things; writes nothing."""
    from prereg.errors import MissingError
    from prereg.order import Trust
    from prereg.project import Project
    from prereg.verify import Options, exit_code
    from prereg.verify import verify as stage

    for path in (allowed_signers, ca_file, untrusted):
        if path is not None and not path.is_file():
            raise MissingError(f"{path}: no such file")
    trust = Trust(allowed_signers, ca_file, untrusted)
    options = Options(require_data, allow_unrun, rerun, jobs, trust)
    found = stage(Project.at(root), ids or [], options)
    code = exit_code(found)
    if json:
        output.emit({"command": "verify", "exit_code": code, "verified": [tree(one) for one in found]})
        return code
    show(found)
    return code


def tree(one: "Verified") -> dict[str, Any]:
    """One registration as --json gives it."""
    return {
        "id": one.id,
        "digest": one.digest,
        "file": one.name,
        "checks": [
            {"number": c.number, "check": c.name, "state": c.state, "detail": c.detail} for c in one.checks
        ],
    }


def show(found: "Sequence[Verified]") -> None:
    """One table per registration, and a last line."""
    out = sheet()
    states: dict[str, int] = {}
    for one in found:
        table = Table(f"{one.id} {(one.digest or '')[:12]}".rstrip())
        for name in ("", "check", "state", ""):
            table.add_column(name)
        for check in one.checks:
            states[check.state] = states.get(check.state, 0) + 1
            said = _SAID.get(check.state, check.state)
            number = str(check.number) if check.number else ""
            table.add_row(number, check.name, Text(said, _STYLE.get(check.state, "")), check.detail)
        out.print(table)
        out.print()
    told = ", ".join(f"{count} {_SAID.get(state, state)}" for state, count in states.items())
    out.print(Text(f"checks: {told}", "bold"))
