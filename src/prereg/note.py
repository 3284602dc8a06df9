"""Write down a deviation that changes nothing: dated, append-only, printed beside the verdicts it names."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from prereg import attempts, documents, formats, registration
from prereg.dataclass import dataclass
from prereg.errors import InputError, IntegrityError, MissingError, Place, Problem, suggestion
from prereg.lock import circumstances
from prereg.numerals import shown
from prereg.prose import prose
from prereg.resolve.promised import promised
from prereg.sealed import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prereg.attempts import Attempt
    from prereg.project import Project
    from prereg.registration import Registration

FORMAT = "prereg-note/1"
FILE = Layout(FORMAT, "note")
_MOST = 10_000


@dataclass(frozen=True)
class Note:
    """One note."""

    content: dict[str, Any]
    envelope: dict[str, Any]
    digest: str
    name: str

    @property
    def date(self) -> str:
        """The day it was written, as the clock said."""
        return str(self.envelope["time"])[:10]

    def names(self, prediction: str) -> bool:
        """Whether it stands beside a verdict: by name, or by that of the prediction before `each`."""
        return any(
            prediction == one or prediction.startswith(f"{one}[") for one in self.content["predictions"]
        )

    def to_tree(self) -> dict[str, Any]:
        """As --json gives it."""
        keys = ("registration", "attempt", "predictions", "text")
        return {"file": self.name, "time": self.envelope["time"], **{k: self.content[k] for k in keys}}


def read(path: Path, name: str) -> Note:
    """A note, its digest recomputed.

    Raises:
        IntegrityError: where it was changed, or is not under its own name.

    """
    content, envelope, digest = FILE.read(path, name)
    place = Place(name)
    if envelope is None:
        raise IntegrityError(Problem("a note has an envelope", place))
    documents.check("note", {"content": content, "envelope": envelope}, name)
    note = Note(content, envelope, digest, name)
    if path.name != _file_name(envelope["time"], digest):
        raise IntegrityError(Problem(f"this note belongs in {_file_name(envelope['time'], digest)}", place))
    return note


def _file_name(time: str, digest: str) -> str:
    return f"{time.replace('-', '').replace(':', '')}-{digest[:12]}.json"


def read_all(project: Project, name: str) -> list[Note]:
    """The notes of an id, in the order they were written.

    Raises:
        IntegrityError: where one was changed, or one that a later one saw is gone.

    """
    paths = project.listed(project.registrations(name) / "notes")[:_MOST]
    out = [read(path, project.name_of(path)) for path in paths]
    known = {note.digest for note in out}
    lost = [
        Problem(f"an earlier note, {digest[:12]}, is gone", Place(note.name))
        for note in out
        for digest in note.content["after"]
        if digest not in known
    ]
    if lost:
        raise IntegrityError(*lost)
    return out


def problems(notes: Sequence[Note], every: Sequence[Registration], made: Sequence[Attempt]) -> list[Problem]:
    """What notes speak of and is not there: a registration, a prediction of it, an attempt."""
    known = {one.digest: one for one in every}
    starts = {attempt.digest for attempt in made}
    out: list[Problem] = []
    for one in notes:
        place = Place(one.name)
        registered = known.get(one.content["registration"])
        if registered is None:
            out.append(Problem("its registration is gone", place))
            continue
        names = _names(registered) if one.content["predictions"] else []
        out += [
            Problem(f"speaks of the prediction {shown(name)}, which is not registered", place)
            for name in one.content["predictions"]
            if name not in names
        ]
        attempt = one.content["attempt"]
        if attempt is not None and attempt not in starts:
            out.append(Problem(f"speaks of the attempt {attempt[:12]}…, which is gone", place))
    return out


def note(
    project: Project, name: str, text: str, predictions: Sequence[str] = (), attempt: str | None = None
) -> Note:
    """Add a note to the current registration of an id.

    Args:
        project: where it lives.
        name: the id.
        text: what happened, in words.
        predictions: the predictions it speaks of; none for the registration as a whole.
        attempt: the attempt it speaks of: the name of its file, or the beginning of its digest.

    Raises:
        InputError: where the text is none.
        MissingError: for an unknown id, prediction or attempt.

    """
    text = prose(text, "text of a note")
    registered = registration.current(project, name)
    _known(registered, predictions)
    earlier = read_all(project, name)
    named = {digest for one in earlier for digest in one.content["after"]}
    content = {
        "registration": registered.digest,
        "attempt": None if attempt is None else _attempt(project, name, attempt),
        "predictions": list(dict.fromkeys(predictions)),
        "text": text,
        "after": sorted(one.digest for one in earlier if one.digest not in named),
    }
    envelope = circumstances(project.root)
    file = _file_name(envelope["time"], FILE.digest(content))
    path = project.registrations(name) / "notes" / file
    with contextlib.suppress(FileExistsError):  # the same note in the same second
        formats.write_atomic(path, FILE.to_bytes(content, envelope), exclusive=True)
    return read(path, project.name_of(path))


def _known(registered: Registration, predictions: Sequence[str]) -> None:
    names = _names(registered)
    lost = [
        Problem(f"no prediction is called `{one[:100]}`{suggestion(one, names)}", registered.place)
        for one in predictions
        if one not in names
    ]
    if lost:
        raise MissingError(*lost)


def _names(registered: Registration) -> list[str]:
    """What a note may name: the predictions, and those before `each`."""
    every = promised(registered)
    return list(dict.fromkeys([*(one.id for one in every), *(str(one.path[1]) for one in every)]))


def _attempt(project: Project, name: str, wanted: str) -> str:
    """The digest of an attempt."""
    every = attempts.read_all(project, name)
    found = [
        a
        for a in every
        if wanted in (a.path.name, a.path.stem) or (len(wanted) >= 6 and a.digest.startswith(wanted))
    ]
    if not found:
        known = ", ".join(a.path.stem for a in every[-5:]) or "none"
        raise MissingError(f"no attempt of {name} is called `{wanted[:100]}`; the latest: {known}")
    if len(found) > 1:
        raise InputError(f"prereg: `{wanted[:100]}` names several attempts")
    return found[0].digest
