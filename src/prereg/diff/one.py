"""The comparison of one id, in the order of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import amend, attempts, formats, ledger, note, registration
from prereg.diff.against import Against, lines_of
from prereg.diff.kept import kept
from prereg.diff.whole import data_state, whole
from prereg.errors import Place, PreregError
from prereg.run import drift

if TYPE_CHECKING:
    from prereg.attempts import Attempt
    from prereg.diff.difference import Voice
    from prereg.ledger import Ledger
    from prereg.note import Note
    from prereg.project import Project
    from prereg.registration import Registration

Tree = dict[str, Any]


class One:
    """The comparison of one id."""

    def __init__(self, voice: Voice) -> None:
        self.voice = voice
        self.project = voice.project
        self.name = voice.name
        self.base = voice.out.base
        self.notes: list[Note] = []
        self.made: list[Attempt] = []
        self.every: list[Registration] = []
        self.based: list[Registration] = []

    def compare(self) -> None:
        """All steps; what is found is said into the difference."""
        if self.base is not None:
            kept(self.voice, self.base.project)
        self.every = self._registrations(self.project)
        if self.base is not None:
            self.based = self._registrations(self.base.project, "in the base: ")
        self.voice.broken("registration", registration.unknown_parents(self.every))
        heads = registration.heads(self.every)
        if len(heads) > 1:
            self.voice.broken("registration", [registration.several(self.name, heads)])
        self._amendments(heads)
        self._notes_and_attempts()
        for one in self.every:
            self._registered(one, current=one in heads)
        self._orphans()
        if not self.every and not self.based:
            self.voice.say("missing", "registration", "nothing is registered under this id")

    def _registrations(self, project: Project, where: str = "") -> list[Registration]:
        """Those that can be read; the others are findings."""
        out: list[Registration] = []
        try:
            files = registration.files(project, self.name)
        except PreregError as error:
            self.voice.told("registration", error, "integrity", where)
            return out
        for path in files:
            try:
                out.append(registration.read(path, project.name_of(path)))
            except PreregError as error:
                self.voice.told("registration", error, "integrity", where)
        return out

    def _amendments(self, heads: list[Registration]) -> None:
        known = {one.digest for one in self.based}
        for one in self.every:
            self.voice.broken("amendment", amend.problems(one, self.every))
            if self.base is not None and one.digest not in known:
                what = "a new amendment" if registration.amended(one.content) else "a new registration"
                self.voice.say("note", "new", f"{what}, {one.short}", one.place, registration=one.short)
        for one in heads:
            self._weakened(one, known)

    def _weakened(self, one: Registration, known: set[str]) -> None:
        amends = one.content.get("amends")
        if amends is None:
            return
        new = self.base is None or one.digest not in known
        every = [*amends["changes"], *[c for s in amends["supersedes"] for c in s["changes"]]]
        for change in every:
            said = f"{change['path']}: {_shown(change, 'before')} -> {_shown(change, 'after')}"
            if change["direction"] == "weaker":
                failing = new and "weakened" in self.voice.out.asked.fail_on
                self.voice.say(
                    "verdict" if failing else "warning" if new else "note",
                    "weakened",
                    f"an amendment made this weaker: {said}",
                    one.place,
                    registration=one.short,
                )
            elif new and change["path"].startswith("data.files"):
                self.voice.say("note", "data", f"an amendment changed the records: {said}", one.place)

    def _notes_and_attempts(self) -> None:
        if not registration.is_id(self.name):
            return
        try:
            self.notes = note.read_all(self.project, self.name)
        except PreregError as error:
            self.voice.told("note", error, "integrity")
        found, problems = attempts.readable(self.project, self.name)
        self.made = found
        self.voice.broken("attempt", [*problems, *attempts.problems(self.project, self.name, found)])
        try:
            self.voice.broken("note", note.problems(self.notes, self.every, found))
        except PreregError as error:
            self.voice.told("registration", error, "integrity")

    def _registered(self, one: Registration, *, current: bool) -> None:
        path = self.project.results(one.id) / one.short / "ledger.json"
        data = "unchecked"
        if current:
            self._protocol(one)
            data = data_state(self.voice, one, path)
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
                self.voice.say("missing", "ledger", said, place, registration=one.short)
            return
        try:
            name = self.project.name_of(path)
            stored = ledger.read(path, name)
        except PreregError as error:
            self.voice.told("ledger", error, "integrity")
            return
        is_whole = whole(self.voice, one, stored, path.parent)
        self.voice.broken("attempt", attempts.unwritten(self.made, one.digest, name), one.short)
        if current or (base is not None and base[1]):
            row = Against(self.voice, one, stored, base, lines_of(path, name)).row(self.notes)
            if current:
                self.voice.out.ledgers.append({**row, "data": data, "whole": is_whole})

    def _protocol(self, one: Registration) -> None:
        try:
            for said in drift(self.project, one):
                self.voice.say("note", "cosmetic", said, registration=one.short)
        except PreregError as error:
            self.voice.told("protocol", error, "integrity")

    def _base_ledger(self, one: Registration) -> tuple[Ledger, bool] | None:
        """The base's ledger of a registration (True), or of the nearest that it amends (False)."""
        if self.base is None:
            return None
        known = {r.digest: r for r in [*self.based, *self.every]}
        waiting, done = [one.digest], set()
        while waiting:
            digest = waiting.pop(0)
            if digest in done or digest not in known:
                continue
            done.add(digest)
            path = self.base.project.results(self.name) / digest[:12] / "ledger.json"
            if path.exists():
                try:
                    return ledger.read(path, self.base.project.name_of(path)), digest == one.digest
                except PreregError as error:
                    self.voice.told("ledger", error, "integrity", "in the base: ")
            waiting += registration.amended(known[digest].content)
        return None

    def _orphans(self) -> None:
        known = {one.short for one in self.every}
        try:
            paths = self.project.listed(self.project.results(self.name), "*/ledger.json")
        except PreregError as error:
            self.voice.told("bound", error, "integrity")
            return
        for path in paths:
            if path.parent.name not in known:
                place = Place(path.relative_to(self.project.root).as_posix())
                self.voice.say("integrity", "bound", "the registration of this ledger is not here", place)


def _shown(change: Tree, key: str) -> str:
    if key not in change:
        return "(absent)"
    text = formats.dump_json(change[key]).decode()
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"
