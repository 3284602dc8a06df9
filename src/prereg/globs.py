"""What a glob means, looked up without leaving a folder: as the standard library does it, but bounded.

`**` does not follow links, which could lead in circles; any other part does as long as it stays inside.
Hidden names are left out unless they are asked for: nobody means them by `*`.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MAGIC = frozenset("*?[")
_MOST_FOLDERS = 10_000


class TooManyFoldersError(Exception):
    """A pattern asks for more folders than are looked into."""


class Glob:
    """One pattern relative to a folder."""

    def __init__(self, pattern: str, outside: Callable[[Path], bool]) -> None:
        parts = PurePosixPath(pattern).parts
        # `**/**` means what `**` does, and would be walked many times over
        self.parts = [p for i, p in enumerate(parts) if p != "**" or parts[i - 1 : i] != ("**",)]
        self.outside = outside
        self.looked = 0

    def files(self, base: Path) -> Iterator[Path]:
        """The files it finds, and folders that lead out, which are not looked into.

        Raises:
            TooManyFoldersError: where they are not all to be looked into.

        """
        found = dict.fromkeys(self._within(base, self.parts))
        yield from sorted(path for path in found if self.outside(path) or path.is_file())

    def _within(self, folder: Path, parts: Sequence[str]) -> Iterator[Path]:
        if not parts:
            yield folder
            return
        head, rest = parts[0], parts[1:]
        if not MAGIC & set(head):
            if (folder / head).exists():
                yield from self._within(folder / head, rest)
            return
        if self.outside(folder):
            yield folder
            return
        self.looked += 1
        if self.looked > _MOST_FOLDERS:
            raise TooManyFoldersError
        names = self._names(folder)
        if head != "**":
            for name in names:
                if fnmatch.fnmatch(name, head) and (head.startswith(".") or not name.startswith(".")):
                    yield from self._within(folder / name, rest)
            return
        yield from self._within(folder, rest or ["*"])
        for name in names:
            inner = folder / name
            if not name.startswith(".") and inner.is_dir() and not inner.is_symlink():
                yield from self._within(inner, parts)

    @staticmethod
    def _names(folder: Path) -> list[str]:
        try:
            return sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is needed
        except OSError:  # no folder, or not ours to read
            return []
