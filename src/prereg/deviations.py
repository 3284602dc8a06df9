"""Which verdicts an amendment touches: what a changed field is read by, followed to the predictions.

Where it is not known whether a change reaches a verdict, it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prereg.direction import PREDICTION
from prereg.errors import IntegrityError
from prereg.resolve.promised import promised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prereg.registration import Registration

Tree = dict[str, Any]
_PROSE = ("title", "question", "authors", "notes", "outcomes", "reports")
_NAMED = re.compile(r"protocol\.(?P<section>metrics|let|variants)\[(?P<name>[^\]]+)\]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ORDER = " (order)"
_MOST = 2_000_000


def touched(registered: Registration, parents: Sequence[tuple[Registration, Sequence[Tree]]]) -> list[Tree]:
    """Per prediction of an amendment whose verdict is touched, in registered order, the changes that do.

    `parents` are the registrations it takes the place of, each with the changes since. What had touched a
    prediction of a parent still touches it.
    """
    ids: dict[str, list[str]] = {}
    order = []
    for one in promised(registered):
        ids.setdefault(str(one.path[1]), []).append(one.id)
        order.append(one.id)
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
    return [{"prediction": name, "changes": list(found[name].values())} for name in order if name in found]


def _touched(before: Tree, after: Tree, changed: Iterable[Tree]) -> dict[str, list[Tree]]:
    """The changes that touch each prediction, by the name it is written under."""
    predictions = after["protocol"]["predictions"]
    changed = [c for c in changed if not c["path"].endswith(_ORDER)]
    if len(changed) * len(predictions) > _MOST:
        raise IntegrityError(
            f"{len(changed)} changes of {len(predictions)} predictions are too many to follow"
        )
    out: dict[str, list[Tree]] = {p["id"]: [] for p in predictions}
    causes = [c for c in changed if c["path"].startswith(("protocol.", "data."))]
    # what was inferred follows from a cause; without one this prereg reads the same records differently
    considered = causes or changed
    considered += [
        c for c in changed if c["path"].startswith("parts.") and {"before", "after"} <= set(c) and causes
    ]
    reach = _Reach(before["protocol"], after["protocol"])
    for change in considered:
        for name in reach.of(change):
            out[name].append(change)
    _given(predictions, out)
    return {name: list(_once(mine)) for name, mine in out.items() if mine}


def _once(changes: list[Tree]) -> list[Tree]:
    return list({c["path"]: c for c in changes}.values())


class _Reach:
    """Which predictions a changed field reaches by itself."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self.predictions = {p["id"]: p for p in after["predictions"]}
        self.reads = _reads(after)
        self.families: list[dict[str, str]] = [
            {p["id"]: p["family"] for p in protocol["predictions"] if p["family"] not in (None, "none")}
            for protocol in (before, after)
        ]

    def of(self, change: Tree) -> list[str]:
        """Their names, in registered order."""
        path: str = change["path"]
        found = PREDICTION.match(path)
        if found:
            return [] if found["field"] == ".because" else self._beside(found["id"])
        named = _NAMED.match(path)
        if named and named["section"] == "variants":
            return [name for name, p in self.predictions.items() if named["name"] in (p["agree"] or [])]
        if named:
            shown = path.endswith(".show")
            return [] if shown else [name for name in self.predictions if named["name"] in self.reads[name]]
        section = path.removeprefix("protocol.").split(".")[0].split("[")[0]
        if path.startswith("protocol.") and section in _PROSE:
            return []
        if section == "resampling":
            return [name for name, p in self.predictions.items() if p["evidence"]["kind"] != "point"]
        return list(self.predictions)

    def _beside(self, changed: str) -> list[str]:
        """A prediction, and those that were or are corrected together with it."""
        own = [(families, families[changed]) for families in self.families if changed in families]
        return [
            name
            for name in self.predictions
            if name == changed or any(families.get(name) == family for families, family in own)
        ]


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
    gates = [p["id"] for p in predictions if p["gate"]]
    followers: dict[str, list[str]] = {}
    for p in predictions:
        for leader in {*(p["given"] or []), *gates} - {p["id"]}:
            followers.setdefault(leader if leader in out else leader.split("[")[0], []).append(p["id"])
    waiting = [name for name, mine in out.items() if mine]
    while waiting:
        leader = waiting.pop()
        for name in followers.get(leader, []):
            more = _once([*out[name], *out[leader]])
            if len(more) > len(_once(out[name])):
                out[name] = more
                waiting.append(name)
