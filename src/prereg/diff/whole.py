"""A ledger and its registration: bound to each other, every prediction once and as promised, its tables."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from prereg import canonical, ledger, manifest, results
from prereg.errors import MissingError, Place, PreregError
from prereg.resolve.promised import promised

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prereg.diff.difference import Level, Voice
    from prereg.ledger import Ledger
    from prereg.registration import Registration

_PROMISED = ("claim", "anticipated", "tier", "evidence")


def whole(voice: Voice, one: Registration, stored: Ledger, folder: Path) -> bool:
    """Whether a ledger is bound to its registration, with every prediction and table."""
    before = len(voice.out.findings)
    place = Place(stored.name)
    bound = stored.content["registration"]
    if bound != {"id": one.id, "digest": one.digest}:
        said = f"this is a ledger of {bound['id']} {bound['digest'][:12]}, not of {one.id} {one.short}"
        voice.say("integrity", "bound", said, place, registration=one.short)
    try:
        for level, kind, said, prediction in _promises(one, stored):
            voice.say(level, kind, said, place, registration=one.short, prediction=prediction)
    except PreregError as error:
        voice.told("registration", error, "integrity")
    data = stored.content["data"]
    if data["files"] != manifest.bound(one.content["data"], data):
        voice.say("integrity", "data", "its records are not those registered", place, registration=one.short)
    for entry in stored.content["tables"]:
        _table(voice, folder / entry["name"], entry["sha256"])
    tables = [entry["name"] for entry in stored.content["tables"]]
    voice.broken("table", results.foreign(voice.project, folder, tables))
    return not any(f.level in ("integrity", "missing") for f in voice.out.findings[before:])


def _table(voice: Voice, path: Path, sha256: str) -> None:
    name = path.relative_to(voice.project.root).as_posix()
    try:
        voice.project.name_of(path)
        found, _ = canonical.file_digest(path, name, results.MOST_BYTES)
    except MissingError:
        voice.say("missing", "table", "no such file; a run writes it again", Place(name))
    except PreregError as error:
        voice.told("table", error, "integrity")
    else:
        if found != sha256:
            said = "this is not the table that the ledger was written with"
            voice.say("integrity", "table", said, Place(name))


def data_state(voice: Voice, one: Registration, path: Path) -> str:
    """`verified`, `unchecked` where a file is absent, or `changed`."""
    found = None
    with contextlib.suppress(PreregError):  # told where the ledger is read
        found = ledger.read(path, voice.project.name_of(path)).content["data"]
    state = "verified"
    for entry in manifest.bound(one.content["data"], found):
        try:
            manifest.verify(voice.project, [entry])
        except MissingError as error:
            if voice.out.asked.require_data:
                voice.told("data", error)
            else:
                place = Place(str(entry["path"]))
                voice.say("note", "data", "not here: unchecked (--require-data demands it)", place)
            state = state if state == "changed" else "unchecked"
        except PreregError as error:
            voice.told("data", error, "integrity")
            state = "changed"
    return state


def _promises(one: Registration, stored: Ledger) -> Iterator[tuple[Level, str, str, str | None]]:
    """Where the predictions of a ledger are not those of its registration."""
    wanted = {p.id: p for p in promised(one)}
    found = [p["id"] for p in stored.content["predictions"]]
    for name in wanted:
        if name not in found:
            yield (
                "integrity",
                "prediction_missing",
                f"the registered prediction {name} is not in the ledger",
                name,
            )
    for name in dict.fromkeys(found):
        if name not in wanted:
            yield "integrity", "prediction_extra", f"{name} was never registered", name
        elif found.count(name) > 1:
            yield "integrity", "prediction_extra", f"{name} stands {found.count(name)} times", name
    if set(found) == set(wanted) and len(found) == len(wanted) and found != list(wanted):
        yield "integrity", "prediction_order", "the predictions are not in registered order", None
    for entry in stored.content["predictions"]:
        if entry["id"] not in wanted:
            continue
        spec = wanted[entry["id"]].spec
        kind = spec.evidence.kind
        said = {
            "claim": " ".join(spec.claim.split()),
            "anticipated": spec.anticipate,
            "tier": spec.tier,
            "evidence": kind if spec.evidence.support is None else {"support": spec.evidence.support},
        }
        own = {
            "claim": " ".join(str(entry["claim"]).split()),
            "anticipated": entry["anticipated"],
            "tier": entry.get("tier", "primary"),
            "evidence": entry["evidence"],
        }
        for key in _PROMISED:
            if said[key] != own[key]:
                what = f"{entry['id']}: `{key}` is {own[key]}, registered is {said[key]}"
                yield "integrity", "prediction_changed", what, entry["id"]
        if (spec.falsified_if is None) != (entry["falsifier"] is None):
            yield (
                "integrity",
                "prediction_changed",
                f"{entry['id']}: its falsifier is not as registered",
                entry["id"],
            )
