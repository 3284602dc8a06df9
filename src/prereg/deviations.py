"""Which verdicts an amendment touches: what a changed field is read by, followed to the predictions.

Where it is not known whether a change reaches a verdict, it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prereg.direction import PREDICTION
from prereg.resolve.promised import promised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prereg.registration import Registration

Tree = dict[str, Any]
_PROSE = ("title", "question", "authors", "notes", "outcomes", "reports")
_NAMED = re.compile(r"protocol\.(?P<section>metrics|let|variants)\[(?P<name>[^\]]+)\]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ORDER = " (order)"


def touched(registered: Registration, parents: Sequence[tuple[Registration, Sequence[Tree]]]) -> list[Tree]:
    """Per prediction of an amendment whose verdict is touched, in registered order, the changes that do.

    `parents` are the registrations it takes the place of, each with the changes since. What had touched a
    prediction of a parent still touches it.
    """
    ids: dict[str, list[str]] = {}
    for one in promised(registered):
        ids.setdefault(str(one.path[1]), []).append(one.id)
    found: dict[str, dict[tuple[str, str], Tree]] = {}
    for parent, changed in parents:
        for earlier in (parent.content.get("amends") or {}).get("touched", []):
            for change in earlier["changes"]:
                found.setdefault(earlier["prediction"], {})[change["amends"], change["path"]] = change
        own = _touched(parent.content, registered.content, changed)
        for name, mine in own.items():
            for one_id in ids[name]:
                for change in mine:
                    entry = {
                        "amends": parent.digest,
                        "path": change["path"],
                        "direction": change["direction"],
                    }
                    found.setdefault(one_id, {})[parent.digest, change["path"]] = entry
    known = [one for members in ids.values() for one in members]
    order = [one.id for one in promised(registered)]
    return [
        {"prediction": name, "changes": list(found[name].values())}
        for name in sorted(known, key=order.index)
        if name in found
    ]


def _touched(before: Tree, after: Tree, changed: Iterable[Tree]) -> dict[str, list[Tree]]:
    """The changes that touch each prediction, by the name it is written under."""
    predictions = after["protocol"]["predictions"]
    out: dict[str, list[Tree]] = {p["id"]: [] for p in predictions}
    changed = [c for c in changed if not c["path"].endswith(_ORDER)]
    causes = [c for c in changed if c["path"].startswith(("protocol.", "data."))]
    # what was inferred follows from a cause; without one this prereg reads the same records differently
    considered = causes or changed
    considered += [
        c for c in changed if c["path"].startswith("parts.") and {"before", "after"} <= set(c) and causes
    ]
    reads = _reads(after["protocol"])
    for change in considered:
        for name in _reached(change, before["protocol"], after["protocol"], reads):
            out[name].append(change)
    _given(predictions, out)
    return {name: list(_once(mine)) for name, mine in out.items() if mine}


def _once(changes: list[Tree]) -> list[Tree]:
    return list({c["path"]: c for c in changes}.values())


def _reached(change: Tree, before: Tree, after: Tree, reads: Mapping[str, set[str]]) -> list[str]:
    path: str = change["path"]
    names = [p["id"] for p in after["predictions"]]
    found = PREDICTION.match(path)
    if found:
        if found["field"] == ".because":
            return []
        return [
            name for name in names if name == found["id"] or _one_family(found["id"], name, before, after)
        ]
    named = _NAMED.match(path)
    if named and named["section"] == "variants":
        return [p["id"] for p in after["predictions"] if named["name"] in (p["agree"] or [])]
    if named:
        if path.endswith(".show"):
            return []
        return [name for name in names if named["name"] in reads[name]]
    section = path.removeprefix("protocol.").split(".")[0].split("[")[0]
    if path.startswith("protocol.") and section in _PROSE:
        return []
    if section == "resampling":
        return [p["id"] for p in after["predictions"] if p["evidence"]["kind"] != "point"]
    return names


def _one_family(one: str, other: str, before: Tree, after: Tree) -> bool:
    """Whether two predictions are corrected together, before or after."""
    for protocol in (before, after):
        families = {p["id"]: p["family"] for p in protocol["predictions"]}
        if families.get(one) not in (None, "none") and families.get(one) == families.get(other):
            return True
    return False


def _reads(protocol: Tree) -> dict[str, set[str]]:
    """Per prediction, the words of its expressions and of all that these name."""
    texts: dict[str, str] = {entry["name"]: entry["value"] for entry in protocol["let"]}
    for metric in protocol["metrics"]:
        values = [*metric["parameters"].values(), metric["among"], metric["per"]]
        texts[metric["name"]] = " ".join(str(v) for v in values if v is not None)
    out = {}
    for p in protocol["predictions"]:
        words: set[str] = set()
        waiting = [p["claim"], p["falsified_if"] or ""]
        while waiting:
            new = set(_WORD.findall(waiting.pop())) - words
            words |= new
            waiting += [texts[word] for word in new if word in texts]
        out[p["id"]] = words
    return out


def _given(predictions: list[Tree], out: dict[str, list[Tree]]) -> None:
    """A verdict hangs on those it was given, and all hang on a gate."""
    for _ in predictions:
        before = {name: len(mine) for name, mine in out.items()}
        for p in predictions:
            leaders = [*(p["given"] or []), *[g["id"] for g in predictions if g["gate"]]]
            for leader in leaders:
                base = leader if leader in out else leader.split("[")[0]
                if base in out and base != p["id"]:
                    out[p["id"]] = _once([*out[p["id"]], *out[base]])
        if before == {name: len(mine) for name, mine in out.items()}:
            return
