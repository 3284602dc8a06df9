"""Attempts: one file per start of a run, written before the first record is read and completed at the end."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prereg import formats
from prereg.errors import PreregError
from prereg.sealed import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from prereg.project import Project

FORMAT = "prereg-attempt/1"
FILE = Layout(FORMAT, "attempt", content="start", around="end")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Attempt:
    """One start of a run."""

    path: Path
    start: dict[str, Any]
    end: dict[str, Any] | None = None

    @property
    def digest(self) -> str:
        """The digest of what was written at the start: it does not change when the attempt ends."""
        return FILE.digest(self.start)

    def to_bytes(self) -> bytes:
        """The file of the attempt."""
        return FILE.to_bytes(self.start, self.end)

    def finish(self, outcome: str, **more: Any) -> None:
        """Complete the file: what came of the attempt."""
        self.end = {"time": _now(), "outcome": outcome, **more}
        formats.write_atomic(self.path, self.to_bytes())


def read_all(project: Project, name: str) -> list[Attempt]:
    """The attempts of an id, in the order of their names, which is that of their start.

    Raises:
        PreregError: where a file is unreadable or does not have its own digest.

    """
    folder = project.results(name) / "attempts"
    out = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        shown = project.name_of(path)
        start, end, _ = FILE.read(path, shown)
        out.append(Attempt(path, start, end))
    return out


def begin(project: Project, name: str, registration: str, kind: str, envelope: dict[str, Any]) -> Attempt:
    """Write the file of a new attempt; it names the attempts that nobody had seen before it."""
    damaged: str | None = None
    try:
        earlier = read_all(project, name)
    except PreregError as error:
        # a damaged attempt must not stop the next one from being recorded; verify reports it
        earlier, damaged = [], str(error)
    seen = {digest for attempt in earlier for digest in attempt.start.get("after", [])}
    heads = sorted(a.digest for a in earlier if a.digest not in seen)
    start = {
        "id": name,
        "registration": registration,
        "kind": kind,
        "time": _now(),
        "after": heads,
        **envelope,
    }
    if damaged is not None:
        start["damaged"] = damaged
    stamp = start["time"].replace("-", "").replace(":", "")
    path = project.results(name) / "attempts" / f"{stamp}-{secrets.token_hex(4)}.json"
    attempt = Attempt(path, start)
    formats.write_atomic(path, attempt.to_bytes(), exclusive=True)
    return attempt
