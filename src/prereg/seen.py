"""What had been seen: derived from the attempts and from the digests of records in all ids, never typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import attempts, ledger, manifest, registration
from prereg.errors import PreregError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.attempts import Attempt
    from prereg.project import Project
    from prereg.registration import Registration

Tree = dict[str, Any]
NOTHING, STARTED, WRITTEN = STATES = ("nothing run", "run started", "results written")
DAMAGED = "damaged"
_RESULTS = ("written", "reproduced")


def seen(project: Project, name: str, files: Iterable[Tree]) -> Tree:
    """What is known of an id, and of the records that are to be judged.

    Returns `state` (the furthest that any registration of the id came), the `attempts` by kind, and `judged`:
    every registration of the id, and every other one that reads one of the files, with its verdicts where a
    ledger is there.

    Raises:
        IntegrityError: where an attempt or ledger of this id is damaged.

    """
    digests = {entry["sha256"] for entry in files}
    own = attempts.read_all(project, name)
    kinds = list(dict.fromkeys(str(a.start.get("kind")) for a in own))
    mine = [judged(project, one, own, digests) for one in registration.of_id(project, name)]
    others = []
    for other in registration.ids(project):
        if other != name:
            others += _elsewhere(project, other, digests)
    state = max((entry["state"] for entry in mine), key=STATES.index)
    return {
        "state": state,
        "attempts": [
            {
                "kind": kind,
                "started": sum(a.start.get("kind") == kind for a in own),
                "results": sum(a.start.get("kind") == kind and _wrote(a) for a in own),
            }
            for kind in kinds
        ],
        "judged": [*mine, *others],
    }


def _wrote(attempt: Attempt) -> bool:
    return (attempt.end or {}).get("outcome") in _RESULTS


def judged(project: Project, one: Registration, every: list[Attempt], digests: set[str]) -> Tree:
    """How far a registration came, which of the record files it shares, and its verdicts.

    Raises:
        IntegrityError: where its ledger is damaged.

    """
    runs = [a for a in every if a.start.get("registration") == one.digest and a.start.get("kind") == "run"]
    path = project.results(one.id) / one.short / "ledger.json"
    verdicts, counts, found = None, None, None
    if path.exists():
        content = ledger.read(path, project.name_of(path)).content
        found = content["data"]
        counts = content["counts"]
        verdicts = [
            {"prediction": p["id"], "verdict": p["verdict"], "reason": p["reason"]}
            for p in content["predictions"]
        ]
    else:  # a ledger may be gone, but a run that wrote one said how it came out
        for attempt in runs:
            if _wrote(attempt):
                counts = (attempt.end or {}).get("counts")
    wrote = verdicts is not None or any(map(_wrote, runs))
    return {
        "id": one.id,
        "registration": one.digest,
        "state": WRITTEN if wrote else STARTED if runs else NOTHING,
        "files": [f["path"] for f in manifest.bound(one.content["data"], found) if f["sha256"] in digests],
        "counts": counts,
        "verdicts": verdicts,
    }


def _elsewhere(project: Project, name: str, digests: set[str]) -> list[Tree]:
    """The registrations of another id that share records; what is damaged there is said, not raised."""
    try:
        every = registration.of_id(project, name)
    except PreregError:
        return []
    out = []
    for one in every:
        try:
            entry = judged(project, one, attempts.read_all(project, name), digests)
        except PreregError:
            shared = [f["path"] for f in one.content["data"]["files"] if f["sha256"] in digests]
            entry = {
                "id": name,
                "registration": one.digest,
                "state": DAMAGED,
                "files": shared,
                "counts": None,
                "verdicts": None,
            }
        if entry["files"]:
            out.append(entry)
    return out
