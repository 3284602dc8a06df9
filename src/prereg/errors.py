"""Whatever a user can cause is one line that says what is wrong and where, and one exit code."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "InputError",
    "IntegrityError",
    "MissingError",
    "Place",
    "PreregError",
    "Problem",
    "file_order",
    "listed",
    "nearest",
    "one_line",
    "printable",
    "suggestion",
]

# Everything `str.splitlines` breaks at, with the blanks around it.
_BREAKS = re.compile(r"[ \t]*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
# What would move the cursor, recolour the terminal or refuse to be encoded when printed.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

# Comparing long texts letter by letter is quadratic, and no known name is longer than this.
_LONGEST_NAME = 100
# Nor does anybody mean the ten-thousandth column.
_MOST_NAMES = 10_000
# Keeps one slip in a word of four letters (ratio 0.75) and drops words that only share an ending.
_NEAR = 0.7


def one_line(text: str) -> str:
    """Return `text` as one printable line: line breaks become a space, control characters their escapes."""
    return printable(text).strip()


def printable(text: str) -> str:
    """Return `text` as one printable line, with the blanks at its ends."""
    text = _BREAKS.sub(" ", text.replace("\t", " "))
    return _UNPRINTABLE.sub(lambda m: m[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


@dataclass(frozen=True)
class Place:
    """A place in a file; lines and columns count characters from 1, as editors do."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, in words, and where."""

    message: str
    place: Place | None = None

    def __str__(self) -> str:
        return one_line(self.message if self.place is None else f"{self.place}: {self.message}")


def file_order(problem: Problem) -> tuple[str, int, int]:
    """Sort key that puts problems in the order of the file they are in; those without a place come first."""
    place = problem.place
    if place is None:
        return ("", 0, 0)
    return (place.file, place.line or 0, place.column or 0)


class PreregError(Exception):
    """Base of every error that is told to the user as problems, never as a traceback.

    Raised as such it is a bug of the program (exit code 70); users meet the subclasses.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, *problems: Problem | str) -> None:
        found = [Problem(p) if isinstance(p, str) else p for p in problems]
        self.problems: tuple[Problem, ...] = tuple(sorted(found, key=file_order))
        # The arguments are what pickle gives back, so errors survive the way home from a worker process.
        super().__init__(*self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class InputError(PreregError):
    """Bad input or usage: something the user wrote cannot be accepted."""

    exit_code: ClassVar[int] = 2


class IntegrityError(PreregError):
    """What is found is not what was promised: drifted or tampered files."""

    exit_code: ClassVar[int] = 3


class MissingError(PreregError):
    """What is asked for is not there. Missing is never success."""

    exit_code: ClassVar[int] = 4


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that `word` most likely stands for, or None if none is near.

    Case is ignored; of equally near names the first one given wins.
    """
    if not word or len(word) > _LONGEST_NAME:
        return None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(word.casefold())
    best: str | None = None
    best_ratio = 0.0
    for name in islice(known, _MOST_NAMES):
        if len(name) > _LONGEST_NAME:
            continue
        matcher.set_seq1(name.casefold())
        if matcher.real_quick_ratio() <= best_ratio or matcher.quick_ratio() <= best_ratio:
            continue
        ratio = matcher.ratio()
        if ratio > best_ratio:
            best, best_ratio = name, ratio
    return best if best_ratio >= _NEAR else None


def listed(names: Iterable[str], most: int = 12) -> str:
    """Return known names, one after the other, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) or "none") + more


def quoted(names: Iterable[str]) -> str:
    """Return names as a message shows them, each in backquotes; "none" where there is none."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean `name`?" for the nearest known name, or "" if none is near."""
    name = nearest(word, known)
    return "" if name is None else f"; did you mean `{name}`?"
