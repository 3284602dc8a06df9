"""What is locked, run, unjudged and superseded, and which records were judged under other ids before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import attempts, ledger, registration
from prereg.dataclass import dataclass, field
from prereg.errors import MissingError, PreregError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.project import Project
    from prereg.registration import Registration


@dataclass(frozen=True)
class Before:
    """Another registration that reads some of the same records."""

    id: str
    digest: str
    files: list[str]
    verdicts: dict[str, str] | None
    """By prediction; None where it was not judged."""

    def __str__(self) -> str:
        if self.verdicts is None:
            return f"shares {', '.join(self.files)} with {self.id} {self.digest[:12]} (not judged)"
        told = ", ".join(f"{name} {verdict}" for name, verdict in self.verdicts.items())
        return (
            f"these records were also judged as {self.id} {self.digest[:12]} "
            f"({', '.join(self.files)}); verdicts there: {told}"
        )


@dataclass
class Standing:
    """Where one registration stands."""

    id: str
    digest: str
    name: str
    locked: str
    """The time in its envelope: what a clock said."""
    state: str
    """`judged`, `never run`, `started, never finished`, `ledger gone`, or `damaged`."""
    superseded_by: str | None = None
    amends: str | None = None
    attempts: dict[str, int] = field(default_factory=dict)
    """How many, by outcome; `unfinished` ones have no end."""
    counts: dict[str, int] | None = None
    shared: list[Before] = field(default_factory=list)
    problem: str | None = None


def status(project: Project) -> list[Standing]:
    """Every registration of a project, in the order of ids.

    Raises:
        MissingError: where nothing is registered.

    """
    known, damaged = every(project)
    if not known and not damaged:
        raise MissingError("nothing is registered here: registrations/ is empty or missing")
    out = [_standing(project, one, known) for one in known]
    return sorted([*out, *damaged], key=lambda s: (s.id, s.superseded_by is None, s.digest))


def every(project: Project) -> tuple[list[Registration], list[Standing]]:
    """All registrations that can be read, and where the others stand."""
    found: list[Registration] = []
    damaged = []
    for name in registration.ids(project):
        try:
            paths = project.listed(project.registrations(name))
        except PreregError as error:
            shown = f"registrations/{name}"
            damaged.append(Standing(name, "", shown, "", "damaged", problem=str(error.problems[0])))
            continue
        for path in paths:
            shown = f"registrations/{name}/{path.name}"
            try:
                found.append(registration.read(path, project.name_of(path)))
            except PreregError as error:
                damaged.append(Standing(name, "", shown, "", "damaged", problem=str(error.problems[0])))
    return found, damaged


def _standing(project: Project, one: Registration, known: Sequence[Registration]) -> Standing:
    made, problems = attempts.readable(project, one.id)
    ends: dict[str, int] = {}
    for attempt in made:
        if attempt.start["registration"] == one.digest:
            ends[attempt.outcome] = ends.get(attempt.outcome, 0) + 1
    content, problem = _judged(project, one)
    problems += attempts.problems(project, one.id, made)
    if content is not None:
        name = project.name_of(project.results(one.id) / one.short / "ledger.json")
        problems += attempts.unwritten(made, one.digest, name)
    if problem is None and problems:
        problem = str(problems[0])
    state = "judged" if content is not None else "never run"
    if content is None and ends:
        finished = ends.keys() & {"written", "reproduced"}
        state = "ledger gone" if finished else "started, never finished"
    if problem is not None:
        state = "damaged"
    return Standing(
        id=one.id,
        digest=one.digest,
        name=one.name,
        locked=str(one.envelope["time"]),
        state=state,
        superseded_by=next((r.short for r in known if one.digest in registration.amended(r.content)), None),
        amends=one.content.get("amends", {}).get("digest"),
        attempts=ends,
        counts=None if content is None else dict(content["counts"]),
        shared=sharing(project, one.content["data"]["files"], one.id, known),
        problem=problem,
    )


def _judged(project: Project, one: Registration) -> tuple[dict[str, Any] | None, str | None]:
    """The content of a ledger, None where there is none; and what is wrong with it."""
    path = project.results(one.id) / one.short / "ledger.json"
    try:
        stored = ledger.read(path, project.name_of(path))
    except MissingError:
        return None, None
    except PreregError as error:
        return None, str(error.problems[0])
    if stored.content["registration"]["digest"] != one.digest:
        return None, f"{stored.name}: a ledger of another registration"
    return stored.content, None


def sharing(
    project: Project, files: Sequence[dict[str, Any]], own: str, known: Sequence[Registration]
) -> list[Before]:
    """The registrations of other ids that read record files with the same bytes, judged ones first."""
    digests = {entry["sha256"]: entry["path"] for entry in files}
    out = []
    for other in known:
        names = [digests[e["sha256"]] for e in other.content["data"]["files"] if e["sha256"] in digests]
        if other.id == own or not names:
            continue
        content, _ = _judged(project, other)
        verdicts = None
        if content is not None:
            verdicts = {p["id"]: ledger.said(p["verdict"], p["reason"]) for p in content["predictions"]}
        out.append(Before(other.id, other.digest, names, verdicts))
    return sorted(out, key=lambda b: (b.verdicts is None, b.id, b.digest))
