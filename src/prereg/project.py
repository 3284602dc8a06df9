"""The project folder: where registrations and results live, and which paths lie inside it."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prereg.errors import InputError, MissingError, Problem, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prereg.errors import Place

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
            return path.resolve().relative_to(self.root).as_posix()
        except (ValueError, OSError, RuntimeError):
            raise InputError(Problem(f"{path}: leads out of the project folder")) from None

    def inside(self, name: str) -> Path:
        """The file a stored name means; the inverse of `name_of`.

        Raises:
            InputError: for an absolute name, one with `..`, or one that leads out through a link.

        """
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name:
            raise InputError(f"{name}: not a path inside the project")
        path = self.root.joinpath(*pure.parts)
        self.name_of(path)
        return path

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
            if self._leaves(pattern):
                problems.append(
                    Problem(
                        f"`{pattern}` leads out of the project: a path is relative, without a way out", place
                    )
                )
                continue
            names = list(self._matches(base, pattern))
            if not names:
                hint = _near(base, pattern)
                lost.append(Problem(f"no such file: {pattern}{hint}", place))
            for path in names:
                try:
                    found[self.name_of(path)] = path
                except InputError:
                    problems.append(Problem(f"`{pattern}` leads out of the project", place))
                    break
        if problems:
            raise InputError(*problems)
        if lost:
            raise MissingError(*lost)
        if len(found) > _MOST_FILES:
            raise InputError(Problem(f"more than {_MOST_FILES} record files", place))
        return sorted(found.items())

    @staticmethod
    def _leaves(pattern: str) -> bool:
        pure = PurePosixPath(pattern)
        return pure.is_absolute() or "\\" in pattern or "\0" in pattern or pattern.startswith("~")

    @staticmethod
    def _matches(base: Path, pattern: str) -> Iterator[Path]:
        if not any(char in pattern for char in "*?["):
            path = base / pattern
            if path.exists() or path.is_symlink():
                yield path
            return
        # unlike Path.glob it leaves hidden files out, which nobody means by `*`
        names = sorted(glob.glob(pattern, root_dir=base, recursive=True))  # noqa: PTH207
        for i, name in enumerate(names):
            if i > _MOST_FILES:
                return
            if (base / name).is_file():
                yield base / name


def _near(base: Path, pattern: str) -> str:
    """The nearest name of a file beside the one that is missing."""
    folder = (base / pattern).parent
    try:
        names = [p.name for _, p in zip(range(1000), folder.iterdir(), strict=False) if p.is_file()]
    except OSError:
        return ""
    return suggestion(PurePosixPath(pattern).name, names)
