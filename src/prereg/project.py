"""The project folder: where registrations and results live, and which paths lie inside it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prereg.dataclass import dataclass
from prereg.errors import InputError, MissingError, Place, Problem, suggestion
from prereg.globs import MAGIC, Glob, TooManyFoldersError
from prereg.numerals import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ID = r"[a-z0-9][a-z0-9._-]{0,63}"
"""A pattern of the names that folders of registrations and results have."""
_MOST_FILES = 10_000


@dataclass(frozen=True)
class Project:
    """A folder with `registrations/` and `results/`."""

    root: Path

    @classmethod
    def at(cls, folder: Path) -> Project:
        """The project in a folder.

        Raises:
            MissingError: where there is no such folder.

        """
        try:
            root = folder.resolve(strict=True)
        except OSError:
            raise MissingError(f"{folder}: no such folder") from None
        if not root.is_dir():
            raise InputError(f"{folder}: not a folder")
        return cls(root)

    def registrations(self, name: str) -> Path:
        """The folder of the registrations of one id."""
        return self.root / "registrations" / name

    def results(self, name: str) -> Path:
        """The folder of the results of one id."""
        return self.root / "results" / name

    def name_of(self, path: Path) -> str:
        """A path as it is stored and shown: relative to the root, with forward slashes.

        Raises:
            InputError: where the path, links followed, leads out of the project.

        """
        try:
            whole = path.resolve()
        except (ValueError, OSError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or "a link that leads in a circle, or a NUL in the name"
            raise InputError(f"{_cut(path)}: is no path: {why}") from None
        try:
            return whole.relative_to(self.root).as_posix()
        except ValueError:
            raise InputError(
                f"{_cut(path)}: leads out of the project folder (name another with --root)"
            ) from None

    def inside(self, name: str) -> Path:
        """The file a stored name means; the inverse of `name_of`.

        Raises:
            InputError: for an absolute name, one with `..`, or one that leads out through a link.

        """
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name:
            raise InputError(Problem("not a path inside the project", Place(name)))
        path = self.root.joinpath(*pure.parts)
        try:
            self.name_of(path)
        except InputError:
            raise InputError(Problem("leads out of the project folder", Place(name))) from None
        return path

    def listed(self, folder: Path, pattern: str = "*.json") -> list[Path]:
        """What a folder of the project holds under a pattern, sorted; nothing where there is no such folder.

        Raises:
            InputError: where the folder leads out of the project, so that nobody looks into it, or cannot be
                read.

        """
        try:
            if not folder.is_dir():
                return []
            self.name_of(folder)
            os.scandir(folder).close()  # a glob takes a folder that is closed to us for an empty one
            return sorted(folder.glob(pattern))
        except OSError as error:
            place = Place(folder.relative_to(self.root).as_posix())
            raise InputError(Problem(f"cannot be read: {error.strerror or error}", place)) from None

    def leads_out(self, path: Path) -> bool:
        """Whether a path, links followed, is none of the project."""
        try:
            self.name_of(path)
        except InputError:
            return True
        return False

    def ids_in(self, top: str, pattern: str) -> list[str]:
        """The folders in `registrations` or `results` that hold such a file, and those that lead out.

        Raises:
            InputError: where the folder itself leads out of the project.

        """
        folders = [path for path in self.listed(self.root / top, "*") if path.is_dir()]
        return [path.name for path in folders if self.leads_out(path) or any(path.glob(pattern))]

    def find(self, base: Path, patterns: Sequence[str], place: Place) -> list[tuple[str, Path]]:
        """The files that paths and globs mean, relative to a folder: (stored name, path), each once, sorted.

        Raises:
            InputError: for a path out of the project, or too many files.
            MissingError: for a path or glob that finds nothing.

        """
        found: dict[str, Path] = {}
        problems: list[Problem] = []
        lost: list[Problem] = []
        for pattern in patterns:
            said = shown(pattern)
            if why := self._no_path(pattern):
                problems.append(Problem(f"{said} {why}", place))
                continue
            try:
                names = list(islice(self._matches(base, pattern), _MOST_FILES + 1))
                outside = [path for path in names if not path.resolve().is_relative_to(self.root)]
            except (OSError, RuntimeError, ValueError) as error:
                why = getattr(error, "strerror", None) or "a link leads in a circle"
                problems.append(Problem(f"{said} cannot be followed: {why}", place))
                continue
            except TooManyFoldersError:
                problems.append(Problem(f"{said} asks for more folders than are looked into", place))
                continue
            if outside:
                problems.append(Problem(f"{said} leads out of the project folder", place))
                continue
            if not names:
                inside = not self.leads_out((base / pattern).parent)
                lost.append(Problem(f"no such file: {said}{near(base, pattern) if inside else ''}", place))
            for path in names:
                if path.exists():
                    found[self.name_of(path)] = path
                else:
                    lost.append(Problem(f"no such file: {said} is a link to what is not there", place))
        if problems:
            raise InputError(*problems)
        if lost:
            raise MissingError(*lost)
        if len(found) > _MOST_FILES:
            raise InputError(Problem(f"more than {_MOST_FILES} record files", place))
        return sorted(found.items())

    @staticmethod
    def _no_path(pattern: str) -> str:
        """Why a text is no path relative to the protocol; empty where it is one."""
        if not pattern.strip():
            return "names no file"
        if PurePosixPath(pattern).is_absolute() or pattern.startswith("~"):
            return "leads out of the project: paths are relative to the protocol"
        if "\\" in pattern:
            return "holds a backslash: paths are written with `/`"
        return "holds a NUL" if "\0" in pattern else ""

    def _matches(self, base: Path, pattern: str) -> Iterator[Path]:
        if not MAGIC & set(pattern):
            path = base / pattern
            if path.exists() or path.is_symlink():
                yield path
            return
        yield from Glob(pattern, self.leads_out).files(base)


def _cut(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:200]}…"


def near(base: Path, pattern: str) -> str:
    """The nearest name of a file beside the one that is missing, as a hint."""
    try:
        folder = (base / pattern).parent
        names = [p.name for _, p in zip(range(1000), folder.iterdir(), strict=False) if p.is_file()]
    except OSError:
        return ""
    return suggestion(PurePosixPath(pattern).name, names)
