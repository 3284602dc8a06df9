"""Where the command line writes: tables on a terminal, plain lines in a pipe, one document with --json."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

from prereg.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.errors import PreregError, Problem


_OBEYED = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


def say(line: str) -> None:
    """One plain line on standard output."""
    sys.stdout.write(printable(line) + "\n")


def complain(lines: Iterable[str]) -> None:
    """Plain lines on standard error; where it takes none, the exit code alone has to tell."""
    try:
        for line in lines:
            sys.stderr.writelines(printable(part) + "\n" for part in line.split("\n"))  # help has several
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Drop what a stream still holds: at its end Python would try again, and change the exit code."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def emit(tree: dict[str, Any]) -> None:
    """The one JSON document of a command."""
    write(document(tree))


def write(text: str) -> None:
    """A document on standard output."""
    sys.stdout.write(text)


def document(tree: dict[str, Any]) -> str:
    """A tree as JSON; what JSON allows and a terminal would obey is written as its escape."""
    text = json.dumps(tree, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    return _OBEYED.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def problem_tree(problem: Problem) -> dict[str, Any]:
    """A problem as --json gives it."""
    place = problem.place
    return {
        "message": problem.message,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "column": None if place is None else place.column,
    }


def error_tree(command: str, error: PreregError) -> dict[str, Any]:
    """A refusal as --json gives it."""
    return {
        "command": command,
        "exit_code": error.exit_code,
        "problems": [problem_tree(p) for p in error.problems],
    }
