"""What the base holds and is only ever added to, file by file: it is still there, and says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg import attempts, canonical
from prereg.errors import Place, PreregError

if TYPE_CHECKING:
    from pathlib import Path

    from prereg.diff.difference import Voice
    from prereg.project import Project

_MOST = 200_000_000
"""Bytes of a file that only ever is added."""


def kept(voice: Voice, base: Project) -> None:
    """Say where something is gone or changed."""
    try:
        files = base.listed(base.registrations(voice.name), "**/*")
        made = base.listed(base.results(voice.name) / "attempts")
    except PreregError as error:
        voice.told("removed", error, "integrity", "in the base: ")
        return
    for path in files:
        if path.is_file() and not path.name.startswith("."):
            _unchanged(voice, path, base)
    for path in made:
        _attempt_kept(voice, path, base)


def _beside(voice: Voice, path: Path, base: Project) -> tuple[str, Path] | None:
    """The same file here; None, and a finding, where it is gone."""
    name = path.relative_to(base.root).as_posix()
    here = voice.project.root / name
    if here.is_file():
        return name, here
    voice.say("integrity", "removed", "the base has this file; such files are only ever added", Place(name))
    return None


def _unchanged(voice: Voice, path: Path, base: Project) -> None:
    found = _beside(voice, path, base)
    if found is None:
        return
    name, here = found
    try:
        voice.project.name_of(here)
        same = canonical.file_digest(here, name, _MOST) == canonical.file_digest(path, name, _MOST)
    except PreregError as error:
        voice.told("changed", error, "integrity")
        return
    if not same:
        voice.say("integrity", "changed", "changed since the base; such files are written once", Place(name))


def _attempt_kept(voice: Voice, path: Path, base: Project) -> None:
    found = _beside(voice, path, base)
    if found is None:
        return
    name, here = found
    try:
        voice.project.name_of(here)
        start, end, _ = attempts.FILE.read(here, name)
        old_start, old_end, _ = attempts.FILE.read(path, name)
    except PreregError as error:
        voice.told("attempt", error, "integrity")
        return
    if start != old_start or (old_end is not None and end != old_end):
        voice.say("integrity", "changed", "this attempt is not the one the base has", Place(name))
