"""A ledger against the base: every prediction beside what the base says of it, and numbers that moved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prereg import formats
from prereg.dataclass import dataclass
from prereg.diff.difference import counted
from prereg.differences import changes
from prereg.errors import Place
from prereg.ledger import said

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prereg.diff.difference import Level, Voice
    from prereg.differences import Change
    from prereg.ledger import Ledger
    from prereg.note import Note
    from prereg.registration import Registration

Tree = dict[str, Any]
_SHOWN = 20
_CONSEQUENCE = re.compile(
    r"\.(verdict|reason|surprise|fired|undefined_because)\Z|^headline\Z|^counts\.|\.counts\."
)
_SAID = (
    *("id", "claim", "verdict", "reason", "anticipated", "surprise", "evidence", "left", "right", "point"),
    *("interval", "level", "support", "p", "n", "n_undefined", "guard", "tier", "deviated", "deviations"),
)


@dataclass(frozen=True)
class Against:
    """A ledger and what the base has of it.

    `base`: the base's ledger of this registration (True), or of the nearest that it amends (False).
    """

    voice: Voice
    one: Registration
    stored: Ledger
    base: tuple[Ledger, bool] | None
    lines: dict[str, int]

    def row(self, notes: Sequence[Note]) -> Tree:
        """The ledger as --json gives it: every prediction beside what the base says of it."""
        one, stored, base = self.one, self.stored, self.base
        before = {} if base is None else {p["id"]: p for p in base[0].content["predictions"]}
        rows = []
        for entry in stored.content["predictions"]:
            was = before.get(entry["id"])
            changed = was is not None and was["verdict"] != entry["verdict"]
            rows.append(
                {
                    **{key: entry[key] for key in _SAID if key in entry},
                    "base": None
                    if was is None
                    else {key: was.get(key) for key in ("verdict", "reason", "point", "interval", "n")},
                    "changed": changed,
                    "fell_short": self._short(entry, was if changed else None),
                    "noted": [n.to_tree() for n in notes if n.names(entry["id"])],
                    "line": self.lines.get(entry["id"]),
                }
            )
        if base is not None:
            self._gone(before)
            if base[1]:
                self._same_registration(base[0])
            else:
                self._moved(before)
        amends = one.content.get("amends")
        return {
            "id": one.id,
            "registration": one.digest,
            "title": one.content["protocol"]["title"],
            "ledger": stored.name,
            "headline": stored.content["headline"],
            "counts": stored.content["counts"],
            "base_registration": None if base is None else base[0].content["registration"]["digest"],
            "amends": None
            if amends is None
            else {"digest": amends["digest"], "reason": amends["reason"], "seen": amends["seen"]["state"]},
            "notes": [n.to_tree() for n in notes],
            "predictions": rows,
        }

    def _say(self, level: Level, kind: str, message: str, prediction: str | None = None) -> None:
        place = Place(self.stored.name, None if prediction is None else self.lines.get(prediction))
        short = self.one.short
        self.voice.say(level, kind, message, place, registration=short, prediction=prediction)

    def _short(self, entry: Tree, was: Tree | None) -> list[str]:
        """What a prediction fell short of, of what was asked for; `was`: what the base says instead."""
        asked, out = self.voice.out.asked.fail_on, []

        def say(kind: str, message: str) -> None:
            fails = kind in asked and counted(entry)
            if fails:
                out.append(kind)
            if fails or kind == "verdict":
                self._say("verdict" if fails else "warning", kind, message, entry["id"])

        now = said(entry["verdict"], entry["reason"])
        if was is not None:
            after = "" if self.base is not None and self.base[1] else " by an amendment"
            before = said(was["verdict"], was["reason"])
            say("verdict", f"{entry['id']}: {before} in the base, now {now}{after}")
        if entry["surprise"]:
            say("surprise", f"{entry['id']}: {now}, expected {entry['anticipated']}")
        if entry["verdict"] == "falsified":
            say("falsified", f"{entry['id']}: falsified")
        if entry["verdict"] != "held":
            say("failed", f"{entry['id']}: {now}")
        return out

    def _gone(self, before: dict[str, Tree]) -> None:
        """Predictions that the base has a verdict for, and this ledger has not."""
        here = {p["id"] for p in self.stored.content["predictions"]}
        for name, was in before.items():
            if name not in here:
                fails = "verdict" in self.voice.out.asked.fail_on and counted(was)
                self._say(
                    "verdict" if fails else "warning",
                    "verdict",
                    f"{name}: {said(was['verdict'], was['reason'])} in the base, now no longer predicted",
                    name,
                )

    def _same_registration(self, base: Ledger) -> None:
        """A ledger is written once: another one for the same registration is no reproduction."""
        beyond: list[Change] = []
        words: list[Change] = []
        tables = within = False
        for change in changes(base.content, self.stored.content):
            if _CONSEQUENCE.search(change.path):
                words.append(change)
            elif change.path.startswith("tables"):
                tables = True
            elif self._close(change.before, change.after):
                within = True
            else:
                beyond.append(change)
        for change in beyond[:_SHOWN]:
            self._say("integrity", "number", f"differs from the base for the same registration: {change}")
        if len(beyond) > _SHOWN:
            self._say("integrity", "number", f"and {len(beyond) - _SHOWN} more fields")
        # verdicts that are told one by one; others, of legs, guards and variants, follow where numbers moved
        told = {f"predictions[{p['id']}].verdict" for p in self.stored.content["predictions"] if counted(p)}
        followed = within and any(c.path.endswith(".verdict") for c in words)
        if (
            not beyond
            and told.isdisjoint(c.path for c in words)
            and ((words and not followed) or (tables and not within))
        ):
            shown = "; ".join(map(str, words[:5])) or "its tables"
            self._say("integrity", "number", f"differs from the base for the same registration: {shown}")
        if within and not beyond:
            self._say("note", "number", "numbers differ from the base within the tolerance")

    def _moved(self, before: dict[str, Tree]) -> None:
        """Points that an amendment moved."""
        for entry in self.stored.content["predictions"]:
            was = before.get(entry["id"])
            if was is None:
                continue
            old, new = was["point"], entry["point"]
            if old != new and not self._close(old, new):
                moved = f"{entry['id']}: d was {old} in the base, is {new} after the amendment"
                self._say("note", "number", moved, entry["id"])

    def _close(self, old: Any, new: Any) -> bool:
        """Whether two numbers are the same within the tolerance."""
        if not (_number(old) and _number(new)):
            return False
        a, b = float(old), float(new)
        return abs(a - b) <= self.voice.out.asked.tolerance * max(abs(a), abs(b))


def _number(value: object) -> bool:
    if isinstance(value, str):  # whole numbers beyond 2^53
        return bool(re.fullmatch(r"-?\d{16,40}(\.\d+)?(e[+-]?\d{1,3})?", value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def lines_of(path: Path, name: str) -> dict[str, int]:
    """The line on which each prediction of a ledger begins."""
    inside = False
    out: dict[str, int] = {}
    for i, line in enumerate(
        formats.read_bytes(path, name, 200_000_000).decode("utf-8", "replace").split("\n")
    ):
        if line == '  "predictions": [':
            inside = True
        elif inside and line.startswith("  ]"):
            break
        elif inside and line.startswith('    "id": '):
            found = formats.read_json(line.removeprefix('    "id": ').removesuffix(",").encode())
            out.setdefault(str(found), i + 1)
    return out
