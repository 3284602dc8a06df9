"""The commands: parse, call the stage of the same name, draw what came out."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from prereg.cli import output
from prereg.cli.coercion import Command, Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prereg.errors import PreregError

COMMANDS = {
    "check": "Tell every problem of a protocol and records.",
    "lock": "Freeze a protocol under one digest.",
    "run": "Execute what was registered, write a ledger.",
    "show": "Print a registration or a ledger.",
    "diff": "Compare ledgers with what was registered.",
    "amend": "Register a changed protocol and the reason.",
    "note": "Add a dated note that changes no verdict.",
    "rehearse": "Judge a protocol on drawn outcomes.",
    "verify": "Check that all still says what was promised.",
    "status": "Tell what is locked, run and unjudged.",
    "schema": "Print a JSON Schema.",
    "stamp": "Keep time stamps of registrations.",
}
"""In the order of the help; each is a module beside this one with a `command`, or an `app` of several."""

BUG = 70


def app(names: "Iterable[str]" = COMMANDS) -> typer.Typer:
    """The command line with the commands of these names."""
    made = typer.Typer(
        name="prereg",
        cls=Group,
        help="Pre-registered experiments for ML evaluation: check, lock, run, and see what held.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_main)
    for name in names:
        module = import_module(f"prereg.cli.{name}")
        if hasattr(module, "app"):
            made.add_typer(module.app, name=name, cls=Group, short_help=COMMANDS[name])
        else:
            made.command(name, cls=Command, short_help=COMMANDS[name])(module.command)
    return made


def execute(arguments: "Sequence[str]") -> int:
    """Run a command line; the exit code."""
    from prereg.errors import InputError, PreregError

    json = "--json" in arguments
    command = next((a for a in arguments if not a.startswith("-")), "prereg")
    try:
        # a command that is named needs none of the others: reading and building them all takes a while
        named = [name for name in arguments[:1] if name in COMMANDS]
        code = app(named or COMMANDS)(args=list(arguments), standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except PreregError as error:
        return _refused(command, json, error)
    except (typer.Abort, KeyboardInterrupt):
        output.complain(["interrupted"])
        return 130
    except BrokenPipeError:
        return _unread()
    except SystemExit as error:  # Typer's own end where the reader of a pipe is gone
        return _unread() if error.code == 1 else int(error.code or 0)
    except OSError as error:  # a folder that is closed to us, a full disk behind standard output
        return _refused(command, json, InputError(f"{error.filename or 'prereg'}: {error.strerror or error}"))
    except Exception as error:  # noqa: BLE001 - the last place that can tell a usage error from a bug
        if hasattr(error, "format_message"):
            if type(error).__name__ == "NoArgsIsHelpError":  # typer keeps the class to itself
                output.complain([error.format_message()])
                return InputError.exit_code
            said = error.format_message().replace("Value error, ", "")
            if any(one.startswith("-") for one in arguments[:1]):
                said += " (options stand after the command)"
            return _refused(command, json, InputError(f"prereg: {said}"))
        traceback.print_exc()
        output.complain(
            ["prereg: this is a bug in prereg, not in your files; please report it with the lines above"]
        )
        return BUG


def _unread() -> int:
    """Nobody reads on: what a shell says of a program that a closed pipe ended."""
    output.abandon(sys.stdout)
    return 128 + 13


def _refused(command: str, json: bool, error: "PreregError") -> int:
    """Tell why, in the one document of --json too, where standard output still takes it."""
    try:
        if json:
            output.emit(output.error_tree(command, error))
        sys.stdout.flush()
    except (OSError, ValueError):
        output.abandon(sys.stdout)
    output.complain(str(p) for p in error.problems)
    return error.exit_code


def _version(value: bool) -> None:
    if value:
        import prereg

        output.say(f"prereg {prereg.__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version
