"""Where the command line writes: tables on a terminal, plain lines in a pipe, one document with --json."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.errors import PreregError, Problem


def say(line: str) -> None:
    """One plain line on standard output."""
    sys.stdout.write(line + "\n")


def complain(lines: Iterable[str]) -> None:
    """Plain lines on standard error."""
    for line in lines:
        sys.stderr.write(line + "\n")


def emit(tree: dict[str, Any]) -> None:
    """The one JSON document of a command."""
    sys.stdout.write(json.dumps(tree, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


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
