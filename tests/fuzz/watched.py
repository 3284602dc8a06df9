"""What a command opened: an audit hook that notes every file read or written outside what it may touch."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import prereg

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAM = (
    *{os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())},
    os.path.realpath(Path(prereg.__file__).parent),
    os.path.realpath(Path(__file__).parents[1]),
)
"""Where the program itself lives."""
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "os.fork")
_CHANGES = (
    "os.remove",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
)
_watching: list[Watch] = []
_hooked = False


class Watch:
    """What happened that may not, under a root."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self.found: list[str] = []

    def event(self, name: str, arguments: tuple) -> None:
        """One event of the interpreter."""
        if name == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            self._path(name, os.fsdecode(arguments[0]), writes=_writes(arguments))
        elif name in ("os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes | os.PathLike):
            self._path(name, os.fsdecode(arguments[0]), writes=False)
        elif name in _CHANGES:
            for one in arguments[:2]:
                if isinstance(one, str | bytes | os.PathLike):
                    self._path(name, os.fsdecode(one), writes=True)
        elif name in _STARTS:
            self.found.append(f"{name} {str(arguments)[:300]}")

    def _path(self, name: str, path: str, *, writes: bool) -> None:
        if "\0" in path:
            return
        whole = os.path.realpath(path)
        if _inside(whole, self.root):
            return
        if not writes and (any(_inside(whole, p) for p in _PROGRAM) or whole == os.devnull):
            return
        self.found.append(f"{name} {path[-300:]!r} which is {whole[-300:]!r}")


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _writes(arguments: tuple) -> bool:
    mode, flags = arguments[1], arguments[2]
    if isinstance(mode, str):
        return any(c in mode for c in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _hook(name: str, arguments: tuple) -> None:
    if _watching and (name == "open" or name.startswith(("os.", "subprocess.", "socket."))):
        watch = _watching.pop()  # what the watching itself does is not looked at
        try:
            watch.event(name, arguments)
        finally:
            _watching.append(watch)


@contextlib.contextmanager
def watched(root: Path) -> Iterator[Watch]:
    """Watch what this process opens."""
    global _hooked  # noqa: PLW0603 - a hook stays until the process ends: one is enough
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    watch = Watch(root)
    _watching.append(watch)
    try:
        yield watch
    finally:
        _watching.clear()


__all__ = ["Watch", "watched"]
