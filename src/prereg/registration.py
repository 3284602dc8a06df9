"""A registration: what was promised, under the digest of its content, and the circumstances around it."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from prereg import documents
from prereg.dataclass import dataclass
from prereg.errors import IntegrityError, MissingError, Place, Problem, suggestion
from prereg.numerals import shown
from prereg.project import ID
from prereg.sealed import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from prereg.project import Project

FORMAT = "prereg-registration/1"
FILE = Layout(FORMAT, "registration")
_ID = re.compile(ID)


@dataclass(frozen=True)
class Registration:
    """One locked protocol."""

    content: dict[str, Any]
    envelope: dict[str, Any]
    digest: str
    name: str
    """The file, as it is shown."""

    @property
    def id(self) -> str:
        """The id of the protocol."""
        return str(self.content["protocol"]["id"])

    @property
    def short(self) -> str:
        """The first twelve digits of the digest: the name of its files."""
        return self.digest[:12]

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes of the file, circumstances included."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return to_bytes(self.content, self.envelope)

    @property
    def place(self) -> Place:
        """The file, for messages."""
        return Place(self.name)


def to_bytes(content: dict[str, Any], envelope: dict[str, Any]) -> bytes:
    """The file of a registration."""
    return FILE.to_bytes(content, envelope)


def read(path: Path, name: str) -> Registration:
    """A registration, its digest recomputed from the stored content.

    Raises:
        IntegrityError: where digest, content or file name do not belong together.
        MissingError: where there is no such file.

    """
    place = Place(name)
    content, envelope, found = FILE.read(path, name)
    if envelope is None:
        raise IntegrityError(Problem("a registration has an envelope", place))
    documents.check("registration", {"content": content, "envelope": envelope}, name)
    _as_promised(content, place)
    registration = Registration(content, envelope, found, name)
    if path.stem != registration.short or path.parent.name != registration.id:
        raise IntegrityError(
            Problem(
                f"this registration belongs at registrations/{registration.id}/{registration.short}.json",
                place,
            )
        )
    return registration


def _as_promised(content: dict[str, Any], place: Place) -> None:
    """Records are frozen unless the protocol promises them: what is stored of them says which.

    Raises:
        IntegrityError: where the two disagree, so that records would be bound otherwise than is promised.

    """
    data, asked = content["data"], content["protocol"]["data"]
    if not data["files"] and "base" not in data:
        raise IntegrityError(Problem("no record file is registered, and none is promised", place))
    collects = asked["collect"] is not None
    said = {
        "base": "base" in data,
        "collector": "collector" in data,
        "prospective": data["prospective"],
        "files": bool(data["files"]),
    }
    wanted = {
        "base": asked["prospective"],
        "collector": collects,
        "prospective": asked["prospective"] or collects,
        "files": not asked["prospective"],
    }
    wrong = [f"`data.{key}`" for key in said if said[key] != wanted[key]]
    if wrong:
        raise IntegrityError(Problem(f"{', '.join(wrong)}: not what the protocol says of its records", place))


def ids(project: Project) -> list[str]:
    """The ids with a folder of registrations."""
    return project.ids_in("registrations", "*.json")


def is_id(name: str) -> bool:
    """Whether something can be registered under a name."""
    return _ID.fullmatch(name) is not None


def files(project: Project, name: str) -> list[Path]:
    """The files of all registrations of one id, oldest name first."""
    # what is no id has no folder: nothing else on the disk is looked at
    return project.listed(project.registrations(name)) if is_id(name) else []


def of_id(project: Project, name: str) -> list[Registration]:
    """All registrations of one id, oldest name first.

    Raises:
        MissingError: where there is none, with the nearest known id.

    """
    found = files(project, name)
    if not found:
        known = ids(project)
        hint = suggestion(name, known) or (f"; registered: {', '.join(known)}" if known else "")
        raise MissingError(f"nothing is registered under the id {shown(name)}{hint}")
    return [read(path, project.name_of(path)) for path in found]


def amended(content: dict[str, Any]) -> list[str]:
    """The digests of what a content takes the place of, the registration it was changed from first."""
    amends = content.get("amends")
    return [] if amends is None else [amends["digest"], *[s["digest"] for s in amends["supersedes"]]]


def heads(every: list[Registration]) -> list[Registration]:
    """Those that no amendment supersedes."""
    parents = {digest for one in every for digest in amended(one.content)}
    return [one for one in every if one.digest not in parents]


def current(project: Project, name: str) -> Registration:
    """The registration of an id that no amendment supersedes.

    Raises:
        IntegrityError: where several are current, one of which has to be superseded; where one that was
            amended is gone.

    """
    every = of_id(project, name)
    lost = unknown_parents(every)
    if lost:
        raise IntegrityError(*lost)
    found = heads(every)
    if len(found) != 1:
        raise IntegrityError(several(name, found))
    return found[0]


def unknown_parents(every: list[Registration]) -> list[Problem]:
    """What was amended and is gone: a superseded registration stays."""
    known = {one.digest for one in every}
    return [
        Problem(f"amends {digest[:12]}, which is gone; superseded registrations stay", one.place)
        for one in every
        for digest in amended(one.content)
        if digest not in known
    ]


def several(name: str, found: list[Registration]) -> Problem:
    """The complaint about several current registrations, with the way out."""
    named = ", ".join(one.short for one in found)
    parents = " ".join(f"--parent {one.short}" for one in found)
    return Problem(
        f"{len(found)} current registrations ({named}); one must supersede the other: prereg amend {parents}",
        Place(f"registrations/{name}"),
    )
