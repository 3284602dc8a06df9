"""Attempts: one file per start of a run, written before the first record is read and completed at the end.

Each names the attempts that nobody had named before it, and has a witness beside the registrations, so that
an attempt cannot be taken away without a trace.  Merging two branches adds files and changes none.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prereg import documents, formats
from prereg.dataclass import dataclass
from prereg.errors import IntegrityError, Place, PreregError, Problem
from prereg.sealed import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prereg.project import Project
    from prereg.registration import Registration

FORMAT = "prereg-attempt/1"
FILE = Layout(FORMAT, "attempt", content="start", around="end")
WITNESS = Layout("prereg-witness/1", "witness")


def now() -> str:
    """The time of day, in UTC to the second, as files write it."""
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

    @property
    def outcome(self) -> str:
        """What came of it; `unfinished` where nothing was written at the end."""
        return "unfinished" if self.end is None else str(self.end["outcome"])

    def to_bytes(self) -> bytes:
        """The file of the attempt."""
        return FILE.to_bytes(self.start, self.end)

    def finish(self, outcome: str, **more: Any) -> None:
        """Complete the file: what came of the attempt."""
        self.end = {"time": now(), "outcome": outcome, **more}
        formats.write_atomic(self.path, self.to_bytes())


@dataclass(frozen=True)
class Witness:
    """That an attempt was started, said in a second place."""

    name: str
    attempt: str
    attempts: int
    """How many were known then, this one included."""
    registration: str


def file_name(start: dict[str, Any]) -> str:
    """The name of an attempt's file: the time of its start, so that names sort by time, and a random end."""
    stamp = str(start["time"]).replace("-", "").replace(":", "")
    return f"{stamp}-{start['nonce']}.json"


def folder_of(project: Project, name: str) -> Path:
    """The folder of the attempts of an id."""
    return project.results(name) / "attempts"


def witnesses_of(project: Project, name: str) -> Path:
    """The folder of the witnesses of an id."""
    return project.registrations(name) / "attempts"


def read(project: Project, path: Path) -> Attempt:
    """One attempt.

    Raises:
        IntegrityError: where the file is damaged, or has not the name that its content gives.

    """
    shown = project.name_of(path)
    start, end, _ = FILE.read(path, shown)
    documents.check("attempt", {"start": start, "end": end}, shown)
    if path.name != file_name(start):
        raise IntegrityError(Problem(f"this attempt was written as {file_name(start)}", Place(shown)))
    return Attempt(path, start, end)


def readable(project: Project, name: str) -> tuple[list[Attempt], list[Problem]]:
    """The attempts of an id in the order of their start, and what is wrong with those that cannot be read."""
    out: list[Attempt] = []
    problems: list[Problem] = []
    try:
        paths = project.listed(folder_of(project, name))
    except PreregError as error:
        return [], list(error.problems)
    for path in paths:
        try:
            out.append(read(project, path))
        except PreregError as error:
            problems += error.problems
    return out, problems


def read_all(project: Project, name: str) -> list[Attempt]:
    """The attempts of an id, in the order of their names, which is that of their start.

    Raises:
        PreregError: where a file is unreadable or does not have its own digest.

    """
    return [read(project, path) for path in project.listed(folder_of(project, name))]


def witnesses(project: Project, name: str) -> tuple[list[Witness], list[Problem]]:
    """The witnesses of an id that can be read, and what is wrong with the others."""
    out: list[Witness] = []
    problems: list[Problem] = []
    try:
        paths = project.listed(witnesses_of(project, name))
    except PreregError as error:
        return [], list(error.problems)
    for path in paths:
        try:
            shown = project.name_of(path)
            content, envelope, _ = WITNESS.read(path, shown)
            documents.check("witness", {"content": content, "envelope": envelope}, shown)
            if path.stem != content["attempt"][:12]:
                raise IntegrityError(
                    Problem(f"this witness was written as {content['attempt'][:12]}.json", Place(shown))
                )
        except PreregError as error:
            problems += error.problems
            continue
        out.append(Witness(shown, content["attempt"], content["attempts"], content["registration"]))
    return out, problems


def begin(project: Project, registered: Registration, kind: str, envelope: dict[str, Any]) -> Attempt:
    """Write the file of a new attempt and its witness; it names the attempts that nobody had seen before it.

    Raises:
        InputError: where the folder of the results leads out of the project.

    """
    name = registered.id
    for folder in (folder_of(project, name), witnesses_of(project, name)):
        project.name_of(folder)
    # a damaged attempt must not stop the next one from being recorded; verify reports it
    earlier, damaged = readable(project, name)
    seen = {digest for attempt in earlier for digest in attempt.start["after"]}
    # one that only its witness still knows is named too: a new start must not paper over what was taken away
    known = {a.digest for a in earlier} | {w.attempt for w in witnesses(project, name)[0]}
    start = {
        "id": name,
        "registration": registered.digest,
        "registration_sha256": registered.sha256,
        "kind": kind,
        "time": now(),
        "nonce": secrets.token_hex(4),
        "after": sorted(known - seen),
        **{key: value for key, value in envelope.items() if key != "time"},
    }
    if damaged:
        start["damaged"] = "; ".join(map(str, damaged))[:2000]
    attempt = Attempt(folder_of(project, name) / file_name(start), start)
    formats.write_atomic(attempt.path, attempt.to_bytes(), exclusive=True)
    witness = {
        "attempt": attempt.digest,
        "attempts": len(ancestors([*earlier, attempt], attempt.digest)) + 1,
        "registration": registered.digest,
    }
    path = witnesses_of(project, name) / f"{attempt.digest[:12]}.json"
    formats.write_atomic(path, WITNESS.to_bytes(witness, None), exclusive=True)
    return attempt


def ancestors(attempts: Sequence[Attempt], digest: str) -> set[str]:
    """The digests that an attempt names, directly or through others, whether they are there or not."""
    named = {a.digest: list(a.start["after"]) for a in attempts}
    found: set[str] = set()
    waiting = list(named.get(digest, []))
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += named.get(one, [])
    return found


def unwritten(attempts: Sequence[Attempt], registration: str, ledger: str) -> list[Problem]:
    """That a ledger is here although no attempt that is here can have written it.

    A run that was killed between its ledger and its end leaves an attempt without an end, which can.
    """
    mine = [a for a in attempts if a.start["registration"] == registration]
    if not mine:
        return [Problem("no attempt wrote this ledger", Place(ledger))]
    if all(a.outcome == "reproduced" for a in mine):
        return [
            Problem(
                "no attempt wrote this ledger: all that are here reproduced it, the first is gone",
                Place(ledger),
            )
        ]
    return []


def problems(project: Project, name: str, attempts: Sequence[Attempt]) -> list[Problem]:
    """What is wrong with the attempts of an id as a whole: links that lead nowhere, and lost or extra files.

    An attempt without an end may lack its witness: it was killed between the two.
    """
    place = Place(folder_of(project, name).relative_to(project.root).as_posix())
    seen, out = witnesses(project, name)
    here = {a.digest: a for a in attempts}
    if len(here) < len(attempts):
        out.append(Problem("the same attempt stands twice", place))
    for a in attempts:
        out += [
            Problem(f"names the attempt {lost[:12]}…, which is gone", Place(project.name_of(a.path)))
            for lost in a.start["after"]
            if lost not in here
        ]
        if a.start["id"] != name:
            out.append(Problem(f"an attempt of `{a.start['id']}`", Place(project.name_of(a.path))))
    witnessed = {w.attempt: w for w in seen}
    for w in seen:
        mine = here.get(w.attempt)
        if mine is None:
            out.append(Problem(f"the attempt {w.attempt[:12]}… that it witnesses is gone", Place(w.name)))
        elif mine.start["registration"] != w.registration:
            out.append(Problem("the attempt that it witnesses is of another registration", Place(w.name)))
        elif w.attempts != len(ancestors(attempts, w.attempt)) + 1 and "damaged" not in mine.start:
            known = len(ancestors(attempts, w.attempt)) + 1
            out.append(
                Problem(f"{w.attempts} attempts were known at that start, {known} are now", Place(w.name))
            )
    out += [
        Problem("its witness beside the registrations is gone", Place(project.name_of(a.path)))
        for a in attempts
        if a.digest not in witnessed and a.end is not None
    ]
    return out
