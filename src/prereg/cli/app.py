"""The commands: parse, call the stage of the same name, draw what came out."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
import contextlib
import sys
import traceback
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import amend, diff, note, output, rehearse, schema, show, stamp, status, verify
from prereg.cli.options import Json, ProtocolFile, Root
from prereg.cli.sheet import sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.errors import PreregError, Problem

app = typer.Typer(
    name="prereg",
    help="Pre-registered experiments for ML evaluation: check, lock, run, and see what held.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

BUG = 70


class FailOn(StrEnum):
    """What makes `run` end with 1."""

    surprise = "surprise"
    failed = "failed"
    falsified = "falsified"


class _State:
    json = False


def execute(arguments: "Sequence[str]") -> int:
    """Run a command line; the exit code."""
    from prereg.errors import InputError, PreregError

    _State.json = "--json" in arguments
    command = next((a for a in arguments if not a.startswith("-")), "prereg")
    try:
        code = app(args=list(arguments), standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except PreregError as error:
        return _refused(command, error)
    except (typer.Abort, KeyboardInterrupt):
        output.complain(["interrupted"])
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:  # a folder that is closed to us, a full disk behind standard output
        return _refused(command, InputError(f"{error.filename or 'prereg'}: {error.strerror or error}"))
    except Exception as error:  # noqa: BLE001 - the last place that can tell a usage error from a bug
        if hasattr(error, "format_message"):
            if type(error).__name__ == "NoArgsIsHelpError":  # typer keeps the class to itself
                output.complain([error.format_message()])
                return InputError.exit_code
            said = error.format_message().replace("Value error, ", "")
            return _refused(command, InputError(f"prereg: {said}"))
        traceback.print_exc()
        output.complain(
            ["prereg: this is a bug in prereg, not in your files; please report it with the lines above"]
        )
        return BUG


def _refused(command: str, error: "PreregError") -> int:
    """Tell why, in the one document of --json too, where standard output still takes it."""
    if _State.json:
        with contextlib.suppress(OSError):
            output.emit(output.error_tree(command, error))
    output.complain(str(p) for p in error.problems)
    return error.exit_code


def _version(value: bool) -> None:
    if value:
        import prereg

        output.say(f"prereg {prereg.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


def _project(root: Path) -> Any:
    from prereg.project import Project

    return Project.at(root)


def _warn(warnings: "Sequence[Problem]") -> None:
    output.complain(str(w) for w in warnings)


@app.command()
def check(
    protocol: ProtocolFile,
    power: Annotated[
        bool, typer.Option("--power", help="The smallest effect that each prediction could detect.")
    ] = False,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Read a protocol and its records and tell every problem, without writing anything."""
    from prereg.check import check as stage

    checked = stage(_project(root), protocol)
    plan = checked.plan
    rows = _powers(checked) if power else None
    told = {
        "predictions": len(plan.predictions),
        "metrics": len(plan.metrics),
        "records": plan.records.rows,
        "units": sum(len(p.units) for p in plan.layout.panels),
        "policies": max((len(m.axes) for m in plan.metrics.values()), default=0),
    }
    if json:
        output.emit(
            {
                "command": "check",
                "exit_code": 0,
                "protocol": checked.name,
                "id": checked.protocol.id,
                "warnings": [output.problem_tree(w) for w in checked.warnings],
                **told,
                **({} if rows is None else {"power": [row.to_tree() for row in rows]}),
            }
        )
        return 0
    _warn(checked.warnings)
    output.say(
        f"{checked.name}: ready to lock: {told['predictions']} predictions over {told['metrics']} metrics of "
        f"{told['policies']} policies, {told['units']} units, {told['records']} records{_to_be_made(checked)}"
    )
    if rows is not None:
        from prereg.cli.powers import show_powers

        show_powers(sheet(), rows)
    return 0


def _to_be_made(checked: Any) -> str:
    """` to be made` where records are promised or collected by the run."""
    data = checked.protocol.data
    return " to be made" if data.prospective or data.collect is not None else ""


def _powers(checked: Any) -> Any:
    from prereg.power import powers

    return powers(checked.analysis.main)


@app.command()
def lock(protocol: ProtocolFile, root: Root = Path(), json: Json = False) -> int:
    """Freeze a protocol under the digest of everything that decides its verdicts."""
    from prereg.check import check as stage
    from prereg.lock import lock as freeze

    project = _project(root)
    checked = stage(project, protocol)
    locked = freeze(project, checked)
    path = project.name_of(locked.path)
    if json:
        output.emit(
            {
                "command": "lock",
                "exit_code": 0,
                "id": locked.registration.id,
                "digest": locked.registration.digest,
                "path": path,
                "new": locked.new,
                "warnings": [output.problem_tree(w) for w in checked.warnings],
                "power": [row.to_tree() for row in _powers(checked)] if locked.new else None,
            }
        )
        return 0
    _warn(checked.warnings)
    if locked.new:
        from prereg.power import summary

        output.say(summary(_powers(checked)))
        output.say(f"locked {locked.registration.id} as {locked.registration.short}: {path}")
        output.say("commit it before you run it: the commit is what others can date")
    else:
        output.say(
            f"{locked.registration.id} is locked already as {locked.registration.short}: nothing changed"
        )
    return 0


@app.command()
def run(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of registrations; all current ones without any.", metavar="[ID]..."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=1024, help="Workers; no result depends on their number.")
    ] = 1,
    fail_on: Annotated[
        list[FailOn] | None, typer.Option("--fail-on", help="End with 1 on such a verdict.")
    ] = None,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Execute what was registered and write the ledger; an existing one is reproduced, never replaced."""
    from prereg.run import chosen
    from prereg.run import run as stage

    project = _project(root)
    registered = chosen(project, ids or [])
    trees = []
    code = 0
    for one in registered:
        with _progress(one.id) as (say_stage, tick):
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


def _progress(name: str) -> Any:
    from prereg.cli.progress import progress

    return progress(name, quiet=_State.json)


app.command("show")(show.command)
app.command("diff")(diff.command)
app.command("amend")(amend.command)
app.command("note")(note.command)
app.command("rehearse")(rehearse.command)
app.command("verify")(verify.command)
app.command("status")(status.command)
app.command("schema")(schema.command)
app.add_typer(stamp.app, name="stamp")
