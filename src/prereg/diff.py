"""Compare every ledger with its locked registration, and with what a base says: three ways, for CI.

Only data is read: no record is interpreted, nothing a file says is run, and nothing is written.

For every id, in order: (1) what the base holds is still there, byte for byte, since registrations, notes
and attempts are only ever added to; (2) every registration has its digest, and one is current; (3) amendments
name the changes they make; (4) notes and attempts are whole; (5) the protocol still says what was locked;
(6) the records are those registered; (7) every ledger is bound to its registration, has all its predictions
once and in order, and its tables; (8) verdicts and numbers against the base; (9) what --fail-on asks for.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Literal

from prereg import amend, attempts, canonical, formats, ledger, manifest, note, registration, results
from prereg.dataclass import dataclass, field
from prereg.differences import changes
from prereg.errors import MissingError, Place, PreregError
from prereg.resolve.promised import promised
from prereg.run import drift

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prereg.attempts import Attempt
    from prereg.base import Base
    from prereg.differences import Change
    from prereg.ledger import Ledger
    from prereg.note import Note
    from prereg.project import Project
    from prereg.registration import Registration

Tree = dict[str, Any]
Level = Literal["integrity", "missing", "verdict", "warning", "note"]
CODES: dict[str, int] = {"integrity": 3, "missing": 4, "verdict": 1, "warning": 0, "note": 0}
"""The exit code that a finding of each level asks for; the first one here that was found decides."""
FAIL_ON = ("verdict", "weakened", "surprise", "failed", "falsified")
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHOWN = 20
_LONGEST = 1000
_CONSEQUENCE = re.compile(
    r"\.(verdict|reason|surprise|fired|undefined_because)\Z|^headline\Z|^counts\.|\.counts\."
)
_SAID = (
    *("id", "claim", "verdict", "reason", "anticipated", "surprise", "evidence", "left", "right", "point"),
    *("interval", "level", "support", "p", "n", "n_undefined", "guard", "tier", "deviated", "deviations"),
)
_PROMISED = ("claim", "anticipated", "tier", "evidence")


@dataclass(frozen=True)
class Finding:
    """One thing that a reader of a diff has to know."""

    level: Level
    kind: str
    message: str
    id: str | None = None
    registration: str | None = None
    prediction: str | None = None
    place: Place | None = None

    def to_tree(self) -> Tree:
        """As --json gives it."""
        return {
            "level": self.level,
            "kind": self.kind,
            "message": self.message,
            "id": self.id,
            "registration": self.registration,
            "prediction": self.prediction,
            "file": None if self.place is None else self.place.file,
            "line": None if self.place is None else self.place.line,
        }


@dataclass(frozen=True)
class Asked:
    """How the comparison is made."""

    tolerance: float = 0.0
    """Relative; a number within it counts as the same."""
    fail_on: tuple[str, ...] = ("verdict",)
    require_data: bool = False


@dataclass
class Difference:
    """Everything that was found."""

    asked: Asked
    base: Base | None
    findings: list[Finding] = field(default_factory=list)
    ledgers: list[Tree] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What the worst finding asks for."""
        levels = {f.level for f in self.findings}
        return next((code for level, code in CODES.items() if level in levels), 0)

    def to_tree(self) -> Tree:
        """As --json gives it."""
        base = self.base
        rows = [p for one in self.ledgers for p in one["predictions"]]
        primary = [p for p in rows if _counted(p)]
        return {
            "command": "diff",
            "exit_code": self.exit_code,
            "base": None if base is None else {"kind": base.kind, "name": base.name, "commit": base.commit},
            "tolerance": self.asked.tolerance,
            "fail_on": list(self.asked.fail_on),
            "summary": {
                "ledgers": len(self.ledgers),
                "held": sum(p["verdict"] == "held" for p in primary),
                "failed": sum(p["verdict"] == "failed" for p in primary),
                "falsified": sum(p["verdict"] == "falsified" for p in primary),
                "surprises": sum(p["surprise"] for p in primary),
                "changed": sum(p["changed"] for p in rows),
                "fell_short": sum(bool(p["fell_short"]) for p in rows),
                "integrity": sum(f.level == "integrity" for f in self.findings),
                "missing": sum(f.level == "missing" for f in self.findings),
            },
            "findings": [f.to_tree() for f in self.findings],
            "ledgers": self.ledgers,
        }


def diff(
    project: Project, names: Sequence[str], base: Base | None = None, asked: Asked | None = None
) -> Difference:
    """Compare ledgers with their registrations, and with a base.

    Args:
        project: where they live.
        names: ids; all without any.
        base: what to compare with.
        asked: tolerance, what falls short, whether records must be there.

    Raises:
        MissingError: where nothing is registered, or nothing under an id, here or in the base.

    """
    here = _names(project)
    there = [] if base is None else _names(base.project)
    known = sorted({*here, *there})
    if not known:
        raise MissingError(
            "nothing is registered here: registrations/ is empty or missing (prereg lock writes it)"
        )
    for name in names:
        if name not in known:
            registration.of_id(project, name)
    out = Difference(asked or Asked(), base)
    for name in dict.fromkeys(names) if names else known:
        _One(project, name, out).compare()
    return out


def _names(project: Project) -> list[str]:
    """The ids that have a registration or a result."""
    results = project.root / "results"
    found = [p.parent.parent.name for p in results.glob("*/*/ledger.json")] if results.is_dir() else []
    return sorted({*registration.ids(project), *found})


def said_verdict(entry: Tree) -> str:
    """A verdict with its reason."""
    return f"{entry['verdict']} ({entry['reason']})" if entry["reason"] else str(entry["verdict"])


def _counted(entry: Tree) -> bool:
    return not entry["guard"] and entry.get("tier", "primary") == "primary"


class _One:
    """The comparison of one id."""

    def __init__(self, project: Project, name: str, out: Difference) -> None:
        self.project = project
        self.name = name
        self.out = out
        self.notes: list[Note] = []
        self.made: list[Attempt] = []
        self.every: list[Registration] = []
        self.based: list[Registration] = []

    def say(
        self, level: Level, kind: str, message: str, place: Place | None = None, **more: str | None
    ) -> None:
        cut = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        self.out.findings.append(Finding(level, kind, cut, self.name, place=place, **more))

    def told(self, kind: str, error: PreregError, level: Level | None = None, where: str = "") -> None:
        """The problems of a refusal as findings."""
        own: Level = "missing" if isinstance(error, MissingError) else "integrity"
        for p in error.problems:
            self.say(level or own, kind, f"{where}{p.message}", p.place)

    def compare(self) -> None:
        self._kept()
        self.every = self._registrations(self.project)
        if self.out.base is not None:
            self.based = self._registrations(self.out.base.project, "in the base: ")
        for problem in registration.unknown_parents(self.every):
            self.say("integrity", "registration", problem.message, problem.place)
        heads = registration.heads(self.every)
        if len(heads) > 1:
            problem = registration.several(self.name, heads)
            self.say("integrity", "registration", problem.message, problem.place)
        self._amendments(heads)
        self._notes_and_attempts()
        for one in self.every:
            self._registered(one, current=one in heads)
        self._orphans()
        if not self.every and not self.based:
            self.say("missing", "registration", "nothing is registered under this id")

    def _registrations(self, project: Project, where: str = "") -> list[Registration]:
        """Those that can be read; the others are findings."""
        folder = project.registrations(self.name)
        files = sorted(folder.glob("*.json")) if _ID.fullmatch(self.name) and folder.is_dir() else []
        out = []
        for path in files:
            try:
                out.append(registration.read(path, project.name_of(path)))
            except PreregError as error:
                self.told("registration", error, "integrity", where)
        return out

    def _kept(self) -> None:
        """What the base holds and is only ever added to."""
        base = self.out.base
        if base is None:
            return
        for path in _files(base.project.registrations(self.name)):
            self._unchanged(path, base.project)
        for path in sorted((base.project.results(self.name) / "attempts").glob("*.json")):
            self._attempt_kept(path, base.project)

    def _beside(self, path: Path, base: Project) -> tuple[str, Path] | None:
        """The same file here; None, and a finding, where it is gone."""
        name = path.relative_to(base.root).as_posix()
        here = self.project.root / name
        if here.is_file():
            return name, here
        self.say(
            "integrity", "removed", "the base has this file; such files are only ever added", Place(name)
        )
        return None

    def _unchanged(self, path: Path, base: Project) -> None:
        found = self._beside(path, base)
        if found is None:
            return
        name, here = found
        try:
            self.project.name_of(here)
            same = canonical.file_digest(here, name) == canonical.file_digest(path, name)
        except PreregError as error:
            self.told("changed", error, "integrity")
            return
        if not same:
            self.say(
                "integrity", "changed", "changed since the base; such files are written once", Place(name)
            )

    def _attempt_kept(self, path: Path, base: Project) -> None:
        found = self._beside(path, base)
        if found is None:
            return
        name, here = found
        try:
            self.project.name_of(here)
            start, end, _ = attempts.FILE.read(here, name)
            old_start, old_end, _ = attempts.FILE.read(path, name)
        except PreregError as error:
            self.told("attempt", error, "integrity")
            return
        if start != old_start or (old_end is not None and end != old_end):
            self.say("integrity", "changed", "this attempt is not the one the base has", Place(name))

    def _amendments(self, heads: list[Registration]) -> None:
        known = {one.digest for one in self.based}
        for one in self.every:
            for problem in amend.problems(one, self.every):
                self.say("integrity", "amendment", problem.message, problem.place)
            if self.out.base is not None and one.digest not in known:
                what = "a new amendment" if registration.amended(one.content) else "a new registration"
                self.say("note", "new", f"{what}, {one.short}", one.place, registration=one.short)
        for one in heads:
            self._weakened(one, known)

    def _weakened(self, one: Registration, known: set[str]) -> None:
        amends = one.content.get("amends")
        if amends is None:
            return
        new = self.out.base is None or one.digest not in known
        every = [*amends["changes"], *[c for s in amends["supersedes"] for c in s["changes"]]]
        for change in every:
            said = f"{change['path']}: {_shown(change, 'before')} -> {_shown(change, 'after')}"
            if change["direction"] == "weaker":
                failing = new and "weakened" in self.out.asked.fail_on
                self.say(
                    "verdict" if failing else "warning" if new else "note",
                    "weakened",
                    f"an amendment made this weaker: {said}",
                    one.place,
                    registration=one.short,
                )
            elif new and change["path"].startswith("data.files"):
                self.say("note", "data", f"an amendment changed the records: {said}", one.place)

    def _notes_and_attempts(self) -> None:
        if not _ID.fullmatch(self.name):
            return
        try:
            self.notes = note.read_all(self.project, self.name)
        except PreregError as error:
            self.told("note", error, "integrity")
        found, problems = attempts.readable(self.project, self.name)
        self.made = found
        for problem in [*problems, *attempts.problems(self.project, self.name, found)]:
            self.say("integrity", "attempt", problem.message, problem.place)

    def _registered(self, one: Registration, *, current: bool) -> None:
        path = self.project.results(one.id) / one.short / "ledger.json"
        data = "unchecked"
        if current:
            self._protocol(one)
            data = self._data(one, path)
        base = self._base_ledger(one)
        if not path.exists():
            # a superseded registration need not have been run, but what was found is not taken away
            if current or (base is not None and base[1]):
                said = (
                    "the base has this ledger, and it is gone"
                    if base and base[1]
                    else "no ledger: prereg run"
                )
                place = Place(path.relative_to(self.project.root).as_posix())
                self.say("missing", "ledger", said, place, registration=one.short)
            return
        try:
            name = self.project.name_of(path)
            stored = ledger.read(path, name)
        except PreregError as error:
            self.told("ledger", error, "integrity")
            return
        whole = self._whole(one, stored, path.parent)
        for problem in attempts.unwritten(self.made, one.digest, name):
            self.say("integrity", "attempt", problem.message, problem.place, registration=one.short)
        if current or (base is not None and base[1]):
            lines = _lines(path, name)
            row = self._against(one, stored, base, lines)
            if current:
                self.out.ledgers.append({**row, "data": data, "whole": whole})

    def _protocol(self, one: Registration) -> None:
        try:
            for said in drift(self.project, one):
                self.say("note", "cosmetic", said, registration=one.short)
        except PreregError as error:
            self.told("protocol", error, "integrity")

    def _data(self, one: Registration, path: Path) -> str:
        """`verified`, `unchecked` where a file is absent, or `changed`."""
        found = None
        with contextlib.suppress(PreregError):  # told where the ledger is read
            found = ledger.read(path, self.project.name_of(path)).content["data"]
        state = "verified"
        for entry in manifest.bound(one.content["data"], found):
            try:
                manifest.verify(self.project, [entry])
            except MissingError as error:
                if self.out.asked.require_data:
                    self.told("data", error)
                else:
                    place = Place(str(entry["path"]))
                    self.say("note", "data", "not here: unchecked (--require-data demands it)", place)
                state = state if state == "changed" else "unchecked"
            except PreregError as error:
                self.told("data", error, "integrity")
                state = "changed"
        return state

    def _whole(self, one: Registration, stored: Ledger, folder: Path) -> bool:
        """Whether a ledger is bound to its registration, with every prediction and table."""
        before = len(self.out.findings)
        place = Place(stored.name)
        bound = stored.content["registration"]
        if bound != {"id": one.id, "digest": one.digest}:
            said = f"this is a ledger of {bound['id']} {bound['digest'][:12]}, not of {one.id} {one.short}"
            self.say("integrity", "bound", said, place, registration=one.short)
        try:
            for level, kind, said, prediction in _promises(one, stored):
                self.say(level, kind, said, place, registration=one.short, prediction=prediction)
        except PreregError as error:
            self.told("registration", error, "integrity")
        data = stored.content["data"]
        if data["files"] != manifest.bound(one.content["data"], data):
            self.say(
                "integrity", "data", "its records are not those registered", place, registration=one.short
            )
        for entry in stored.content["tables"]:
            self._table(folder / entry["name"], entry["sha256"])
        for problem in results.foreign(self.project, folder, [t["name"] for t in stored.content["tables"]]):
            self.say("integrity", "table", problem.message, problem.place)
        return not any(f.level in ("integrity", "missing") for f in self.out.findings[before:])

    def _table(self, path: Path, sha256: str) -> None:
        name = path.relative_to(self.project.root).as_posix()
        try:
            self.project.name_of(path)
            found, _ = canonical.file_digest(path, name)
        except MissingError:
            self.say("missing", "table", "no such file; a run writes it again", Place(name))
        except PreregError as error:
            self.told("table", error, "integrity")
        else:
            if found != sha256:
                said = "this is not the table that the ledger was written with"
                self.say("integrity", "table", said, Place(name))

    def _base_ledger(self, one: Registration) -> tuple[Ledger, bool] | None:
        """The base's ledger of a registration (True), or of the nearest that it amends (False)."""
        base = self.out.base
        if base is None:
            return None
        known = {r.digest: r for r in [*self.based, *self.every]}
        waiting, done = [one.digest], set()
        while waiting:
            digest = waiting.pop(0)
            if digest in done or digest not in known:
                continue
            done.add(digest)
            path = base.project.results(self.name) / digest[:12] / "ledger.json"
            if path.exists():
                try:
                    return ledger.read(path, base.project.name_of(path)), digest == one.digest
                except PreregError as error:
                    self.told("ledger", error, "integrity", "in the base: ")
            waiting += registration.amended(known[digest].content)
        return None

    def _against(
        self,
        one: Registration,
        stored: Ledger,
        base: tuple[Ledger, bool] | None,
        lines: dict[str, int],
    ) -> Tree:
        """The row of a ledger: every prediction beside what the base says of it."""
        before = {} if base is None else {p["id"]: p for p in base[0].content["predictions"]}
        rows = []
        for entry in stored.content["predictions"]:
            was = before.get(entry["id"])
            changed = was is not None and was["verdict"] != entry["verdict"]
            place = Place(stored.name, lines.get(entry["id"]))
            short = self._short(
                one, entry, was if changed else None, place, amended=base is not None and not base[1]
            )
            rows.append(
                {
                    **{key: entry[key] for key in _SAID if key in entry},
                    "base": None
                    if was is None
                    else {key: was.get(key) for key in ("verdict", "reason", "point", "interval", "n")},
                    "changed": changed,
                    "fell_short": short,
                    "noted": [n.to_tree() for n in self.notes if n.names(entry["id"])],
                    "line": place.line,
                }
            )
        if base is not None:
            self._gone(one, stored, before)
            if base[1]:
                self._same_registration(one, stored, base[0])
            else:
                self._numbers(one, stored, before, lines)
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
            "notes": [n.to_tree() for n in self.notes],
            "predictions": rows,
        }

    def _short(
        self, one: Registration, entry: Tree, was: Tree | None, place: Place, *, amended: bool
    ) -> list[str]:
        """What a prediction fell short of, of what was asked for."""
        asked, out = self.out.asked.fail_on, []

        def say(kind: str, message: str) -> None:
            fails = kind in asked and _counted(entry)
            if fails:
                out.append(kind)
            if fails or kind == "verdict":
                level: Level = "verdict" if fails else "warning"
                self.say(level, kind, message, place, registration=one.short, prediction=entry["id"])

        if was is not None:
            after = " by an amendment" if amended else ""
            say(
                "verdict", f"{entry['id']}: {said_verdict(was)} in the base, now {said_verdict(entry)}{after}"
            )
        if entry["surprise"]:
            say("surprise", f"{entry['id']}: {said_verdict(entry)}, expected {entry['anticipated']}")
        if entry["verdict"] == "falsified":
            say("falsified", f"{entry['id']}: falsified")
        if entry["verdict"] != "held":
            say("failed", f"{entry['id']}: {said_verdict(entry)}")
        return out

    def _gone(self, one: Registration, stored: Ledger, before: dict[str, Tree]) -> None:
        """Predictions that the base has a verdict for, and this ledger has not."""
        here = {p["id"] for p in stored.content["predictions"]}
        for name, was in before.items():
            if name not in here:
                fails = "verdict" in self.out.asked.fail_on and _counted(was)
                self.say(
                    "verdict" if fails else "warning",
                    "verdict",
                    f"{name}: {said_verdict(was)} in the base, now no longer predicted",
                    Place(stored.name),
                    registration=one.short,
                    prediction=name,
                )

    def _same_registration(self, one: Registration, stored: Ledger, base: Ledger) -> None:
        """A ledger is written once: another one for the same registration is no reproduction."""
        tolerance = self.out.asked.tolerance
        place = Place(stored.name)
        beyond: list[Change] = []
        words: list[Change] = []
        tables = within = False
        for change in changes(base.content, stored.content):
            if _CONSEQUENCE.search(change.path):
                words.append(change)
            elif change.path.startswith("tables"):
                tables = True
            elif _number(change.before) and _number(change.after):
                if _close(float(change.before), float(change.after), tolerance):
                    within = True
                else:
                    beyond.append(change)
            else:
                beyond.append(change)
        for change in beyond[:_SHOWN]:
            said = f"differs from the base for the same registration: {change}"
            self.say("integrity", "number", said, place, registration=one.short)
        if len(beyond) > _SHOWN:
            said = f"and {len(beyond) - _SHOWN} more fields"
            self.say("integrity", "number", said, place, registration=one.short)
        verdicts = [c for c in words if c.path.endswith(".verdict")]
        if not beyond and not verdicts and (words or (tables and not within)):
            shown = "; ".join(map(str, words[:5])) or "its tables"
            said = f"differs from the base for the same registration: {shown}"
            self.say("integrity", "number", said, place, registration=one.short)
        if within and not beyond:
            said = "numbers differ from the base within the tolerance"
            self.say("note", "number", said, place, registration=one.short)

    def _numbers(
        self, one: Registration, stored: Ledger, before: dict[str, Tree], lines: dict[str, int]
    ) -> None:
        """Points that an amendment moved."""
        for entry in stored.content["predictions"]:
            was = before.get(entry["id"])
            if was is None:
                continue
            old, new = was["point"], entry["point"]
            same = old == new or (
                _number(old) and _number(new) and _close(float(old), float(new), self.out.asked.tolerance)
            )
            if not same:
                self.say(
                    "note",
                    "number",
                    f"{entry['id']}: d was {old} in the base, is {new} after the amendment",
                    Place(stored.name, lines.get(entry["id"])),
                    registration=one.short,
                    prediction=entry["id"],
                )

    def _orphans(self) -> None:
        known = {one.short for one in self.every}
        for path in sorted(self.project.results(self.name).glob("*/ledger.json")):
            if path.parent.name not in known:
                place = Place(path.relative_to(self.project.root).as_posix())
                self.say("integrity", "bound", "the registration of this ledger is not here", place)


def _files(folder: Path) -> list[Path]:
    return (
        sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
        if folder.is_dir()
        else []
    )


def _number(value: object) -> bool:
    if isinstance(value, str):  # whole numbers beyond 2^53
        return bool(re.fullmatch(r"-?\d{16,40}(\.\d+)?(e[+-]?\d{1,3})?", value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _shown(change: Tree, key: str) -> str:
    if key not in change:
        return "(absent)"
    text = formats.dump_json(change[key]).decode()
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"


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


def _lines(path: Path, name: str) -> dict[str, int]:
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


__all__ = ["FAIL_ON", "Asked", "Difference", "Finding", "diff", "said_verdict"]
