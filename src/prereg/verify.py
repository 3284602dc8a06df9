"""Does everything still say what was promised, and does the ledger follow from it?  One numbered procedure.

For every registration, in this order:

 1. registration   its format, both digests, its shape, its place, and every byte as this format writes it
 2. parts          the built-in rules and metric kinds have the versions that were registered
 3. protocol       the protocol beside it says the same (edits of layout or comments are cosmetic)
 4. data           the record files are those registered, byte for byte; absent is unchecked
 5. resolution     columns, factors, units, split and streams come out of the records as registered
 6. ledger         its format, both digests, its shape, every byte
 7. binding        the ledger is of this registration and of these record files
 8. predictions    every prediction is there once, in order, as registered, and no other one
 9. verdicts       verdicts, reasons, surprises, counts and headline follow from the recorded numbers
10. tables         the tables beside the ledger have the digests in it
11. attempts       their chain and witnesses are whole, and they saw this registration and wrote this ledger
12. amendments     its parents are here, it changes what it says, and one registration of the id is current
13. notes          every note has its digests, and those that it saw are here
14. rerun          (when asked for) the records give the same content and tables, byte for byte
15. history        the registration was committed before any result
16. signature      somebody who is allowed signed it
17. time stamp     an imported token shows that it existed

and for the project: results without a registration, and files that history holds and the folder does not.

Nothing is written, no code in any file is run, no path outside the project is followed, no network is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prereg import (
    amend,
    attempts,
    canonical,
    findings,
    formats,
    ledger,
    manifest,
    note,
    order,
    registration,
    rejudge,
    results,
    run,
)
from prereg.dataclass import dataclass, field
from prereg.differences import changes
from prereg.errors import IntegrityError, MissingError, Place, PreregError, Problem
from prereg.git import checkout
from prereg.lock import known_parts, sources
from prereg.order import Trust
from prereg.questions import leg_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prereg.analysis import Analysis
    from prereg.attempts import Attempt
    from prereg.expression.claims import Claim
    from prereg.ledger import Ledger
    from prereg.order import State
    from prereg.project import Project
    from prereg.registration import Registration

CHECKS = (
    *(
        "registration",
        "parts",
        "protocol",
        "data",
        "resolution",
        "ledger",
        "binding",
        "predictions",
        "verdicts",
    ),
    *("tables", "attempts", "amendments", "notes", "rerun", "history", "signature", "time stamp"),
)
_MOST_BYTES = 2 * 1024**3
_MOST_SAID = 8


@dataclass(frozen=True)
class Check:
    """One step of the procedure and what came of it."""

    number: int
    name: str
    state: State
    detail: str


@dataclass
class Verified:
    """What came of one registration (or of the project, whose digest is None)."""

    id: str
    digest: str | None
    name: str
    checks: list[Check] = field(default_factory=list)

    def add(self, name: str, state: State, detail: str = "") -> None:
        """One more check."""
        number = CHECKS.index(name) + 1 if name in CHECKS else 0
        self.checks.append(Check(number, name, state, detail))

    def fails(self) -> bool:
        """Whether a check failed."""
        return any(check.state == "FAILED" for check in self.checks)


@dataclass(frozen=True)
class Options:
    """What is asked for."""

    require_data: bool = False
    allow_unrun: bool = False
    rerun: bool = False
    jobs: int = 1
    trust: Trust = field(default_factory=Trust)


def exit_code(found: Sequence[Verified]) -> int:
    """3 where anything failed, else 4 where something that was asked for is missing, else 0."""
    states = {check.state for one in found for check in one.checks}
    return (
        IntegrityError.exit_code
        if "FAILED" in states
        else MissingError.exit_code
        if "missing" in states
        else 0
    )


def verify(
    project: Project,
    ids: Sequence[str] = (),
    options: Options | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> list[Verified]:
    """Check registrations and all that hangs on them, all of them without ids.

    Raises:
        MissingError: where there is nothing under an id, or nothing at all.

    """
    asked = options or Options()
    known = _ids(project)
    for name in ids:
        if name not in known:
            registration.of_id(project, name)  # says what is near
    if not known:
        raise MissingError("nothing is registered here: registrations/ is empty or missing")
    git = checkout(project.root)
    out = []
    for name in ids or known:
        stage(name)
        out += _of_id(project, name, asked, git)
    whole = Verified("project", None, ".")
    layer = order.removed(project, git, list(ids))
    whole.add(layer.name, layer.state, layer.detail)
    return [*out, whole]


def _ids(project: Project) -> list[str]:
    """Ids with registrations or with results, so that what lost its registration is seen.

    Raises:
        InputError: where one of the two folders leads out of the project.

    """
    return sorted({name for top in ("registrations", "results") for name in project.ids_in(top, "**/*.json")})


def _of_id(project: Project, name: str, asked: Options, git: Any) -> list[Verified]:
    folder = project.registrations(name)
    places = (attempts.folder_of(project, name), attempts.witnesses_of(project, name))
    for inside in (folder, project.results(name), *places):
        try:
            project.name_of(inside)
        except PreregError as error:
            stray = Verified(name, None, name)
            stray.add("registration", "FAILED", _said(error.problems))
            return [stray]
    out = []
    read: list[tuple[Verified, Registration]] = []
    for path in project.listed(folder):
        one = Verified(name, None, f"registrations/{name}/{path.name}")
        out.append(one)
        try:
            registered = registration.read(path, project.name_of(path))
        except PreregError as error:
            one.add("registration", "FAILED", _said(error.problems))
            continue
        one.digest = registered.digest
        one.add("registration", "ok", registered.digest)
        read.append((one, registered))
    known = [r for _, r in read]
    made, damaged = attempts.readable(project, name)
    for one, registered in read:
        _one(one, _Facts(project, registered, known, made, damaged), asked, git)
    lost = _without_registration(project, name, {r.digest for r in known}, made)
    if lost and not any(one.fails() for one in out if one.digest is None):
        orphans = Verified(name, None, f"results/{name}")
        orphans.add("registration", "FAILED", "; ".join(lost[:_MOST_SAID]))
        out.append(orphans)
    return out


def _without_registration(project: Project, name: str, known: set[str], made: Sequence[Attempt]) -> list[str]:
    """Results, attempts and witnesses of registrations that are not here."""
    short = {digest[:12] for digest in known}
    folder = project.results(name)
    out = [
        f"results/{name}/{p.name} has no registration"
        for p in project.listed(folder, "*")
        if p.is_dir() and p.name != "attempts" and p.name not in short and (p / "ledger.json").exists()
    ]
    named = {a.start["registration"] for a in made}
    named |= {w.registration for w in attempts.witnesses(project, name)[0]}
    out += [f"the registration {d[:12]}… that was run is gone" for d in sorted(named - known)]
    return out


@dataclass
class _Facts:
    """What the checks of one registration look at, and what they found out on the way."""

    project: Project
    registered: Registration
    known: Sequence[Registration]
    made: Sequence[Attempt]
    damaged: Sequence[Problem]
    has_data: bool = False
    analysis: Analysis | None = None
    stored: Ledger | None = None

    @property
    def folder(self) -> Path:
        return self.project.results(self.registered.id) / self.registered.short

    @property
    def superseded_by(self) -> str | None:
        named = (r.short for r in self.known if self.registered.digest in registration.amended(r.content))
        return next(named, None)


def _one(one: Verified, facts: _Facts, asked: Options, git: Any) -> None:
    steps: list[tuple[str, Callable[[_Facts, Options], tuple[State, str]]]] = [
        ("parts", _parts),
        ("protocol", _protocol),
        ("data", _data),
        ("resolution", _resolution),
        ("ledger", _ledger),
        ("binding", _binding),
        ("predictions", _predictions),
        ("verdicts", _verdicts),
        ("tables", _tables),
        ("attempts", _attempts),
        ("amendments", _amendments),
        ("notes", _notes),
    ]
    if asked.rerun:
        steps.append(("rerun", _rerun))
    for name, step in steps:
        try:
            state, detail = step(facts, asked)
        except PreregError as error:
            state, detail = "FAILED", _said(error.problems)
        one.add(name, state, detail)
    for layer in order.layers(facts.project, facts.registered, asked.trust, git):
        one.add(layer.name, layer.state, layer.detail)


def _said(problems: Sequence[Problem]) -> str:
    more = f"; and {len(problems) - _MOST_SAID} more" if len(problems) > _MOST_SAID else ""
    return "; ".join(map(str, problems[:_MOST_SAID])) + more


def _listed(problems: Sequence[str]) -> str:
    return _said([Problem(p) for p in problems])


def _parts(facts: _Facts, _: Options) -> tuple[State, str]:
    known_parts(facts.registered)
    return "ok", ""


def _protocol(facts: _Facts, _: Options) -> tuple[State, str]:
    by = facts.superseded_by
    if by is not None:
        return "unchecked", f"superseded by {by}: the protocol says what that one says"
    notes = run.drift(facts.project, facts.registered, whole=True)
    if not notes:
        return "ok", "byte for byte as it was locked"
    return ("unchecked" if "gone" in notes[0] else "cosmetic"), notes[0]


def _entries(facts: _Facts) -> list[dict[str, Any]]:
    """The record files that hold: as registered, or as the first run found what was promised."""
    found, path = None, facts.folder / "ledger.json"
    with contextlib.suppress(PreregError):  # told where the ledger is looked at
        found = ledger.read(path, facts.project.name_of(path)).content["data"]
    return manifest.bound(facts.registered.content["data"], found)


def _data(facts: _Facts, asked: Options) -> tuple[State, str]:
    entries = _entries(facts)
    try:
        manifest.verify(facts.project, entries)
    except MissingError as error:
        return ("missing" if asked.require_data else "unchecked"), _said(error.problems)
    facts.has_data = True
    return "ok", f"{len(entries)} file{'s' * (len(entries) != 1)} byte for byte"


def _resolution(facts: _Facts, asked: Options) -> tuple[State, str]:
    if not facts.has_data:
        return _absent(asked)
    if facts.registered.content["data"].get("collector") is None:
        analysis = run.analysis_of(facts.project, facts.registered)
    elif not asked.rerun:
        return "unchecked", "the run makes its records; --rerun makes them again"
    else:
        with tempfile.TemporaryDirectory(prefix="prereg-") as folder:
            analysis = run.analysis_of(facts.project, facts.registered, asked.jobs, journal=Path(folder))
    run.as_registered(facts.registered, analysis)
    facts.analysis = analysis
    return "ok", "columns, factors, units, split and streams"


def _absent(asked: Options) -> tuple[State, str]:
    return ("missing" if asked.require_data else "unchecked"), "needs the registered records"


def _finished(facts: _Facts) -> list[Attempt]:
    digest = facts.registered.digest
    return [
        a for a in facts.made if a.start["registration"] == digest and a.outcome in ("written", "reproduced")
    ]


def _ledger(facts: _Facts, asked: Options) -> tuple[State, str]:
    path = facts.folder / "ledger.json"
    name = facts.project.name_of(path)
    if not path.exists():
        if _finished(facts):
            raise IntegrityError(Problem("the ledger that an attempt wrote is gone", Place(name)))
        if facts.superseded_by is not None or asked.allow_unrun:
            return "unchecked", "never run"
        return "missing", f"{name}: no ledger, it was never run (prereg run, or --allow-unrun)"
    facts.stored = ledger.read(path, name)
    return "ok", facts.stored.digest


_UNREAD: tuple[State, str] = ("unchecked", "there is no ledger to look at")


def _binding(facts: _Facts, _: Options) -> tuple[State, str]:
    if facts.stored is None:
        return _UNREAD
    place, registered = Place(facts.stored.name), facts.registered
    content = facts.stored.content
    bound = content["registration"]
    if bound["digest"] != registered.digest or bound["id"] != registered.id:
        raise IntegrityError(Problem(f"a ledger of {bound['id']} {bound['digest'][:12]}…", place))
    if content["data"]["files"] != _entries(facts):
        raise IntegrityError(Problem("its record files are not the registered ones", place))
    return "ok", ""


def _predictions(facts: _Facts, _: Options) -> tuple[State, str]:
    if facts.stored is None:
        return _UNREAD
    found = rejudge.one_each(facts.registered, facts.stored.content)
    if found:
        return "FAILED", f"{facts.stored.name}: {_listed(found)}"
    return "ok", f"{len(facts.stored.content['predictions'])} once each, in order"


def _verdicts(facts: _Facts, asked: Options) -> tuple[State, str]:
    if facts.stored is None:
        return _UNREAD
    if _predictions(facts, asked)[0] != "ok":
        return "unchecked", "its predictions are not those registered"
    found = rejudge.rejudge(facts.registered, facts.stored.content)
    problems = found.problems + _against_plan(facts)
    if problems:
        return "FAILED", f"{facts.stored.name}: {_listed(problems)}"
    if found.unchecked:
        return "unchecked", f"as the ledger says, the others follow: {_listed(found.unchecked)}"
    return "ok", "follow from the recorded numbers"


def _against_plan(facts: _Facts) -> list[str]:
    """What the records tell without any estimate: who is a guard, and how many legs a claim has."""
    if facts.analysis is None or facts.stored is None:
        return []
    content, plans = facts.stored.content, {"predictions": facts.analysis.plan}
    entries = {"predictions": content["predictions"]}
    for variant in content["variants"]:
        label = f"variants[{variant['name']}].predictions"
        plans[label] = facts.analysis.variants[variant["name"]].plan
        entries[label] = variant["predictions"]
    out = []
    for label, plan in plans.items():
        for one, entry in zip(plan.predictions, entries[label], strict=True):
            if one.claim.guard != entry["guard"]:
                out.append(f"{label}[{one.id}].guard: the claim says {one.claim.guard}")
            out += _other_legs(f"{label}[{one.id}]", one.claim, entry)
            if one.falsifier is not None and entry["falsifier"] is not None:
                out += _other_legs(f"{label}[{one.id}].falsifier", one.falsifier, entry["falsifier"])
    found = {"data.arms": content["data"]["arms"], "excluded": content["excluded"]}
    wanted = findings.laid_out(facts.analysis.plan)
    out += [f"{key}: the records say otherwise" for key in found if found[key] != wanted[key]]
    return out


def _other_legs(label: str, claim: Claim, entry: dict[str, Any]) -> list[str]:
    """Legs that the claim does not have, or has not in this order."""
    wanted, legs = leg_names(claim.root), entry.get("legs")
    found = None if legs is None else [leg["claim"] for leg in legs]
    return [] if found == wanted else [f"{label}.legs: not those of the claim"]


def _tables(facts: _Facts, _: Options) -> tuple[State, str]:
    if facts.stored is None:
        return _UNREAD
    lost, problems = [], []
    for table in facts.stored.content["tables"]:
        path = facts.folder / table["name"]
        name = facts.project.name_of(path)
        try:
            data = formats.read_bytes(path, name, _MOST_BYTES)
        except MissingError:
            lost.append(name)
            continue
        if hashlib.sha256(data).hexdigest() != table["sha256"] or data.count(b"\n") - 1 != table["rows"]:
            problems.append(Problem("not the table that the ledger was written with", Place(name)))
    named = [t["name"] for t in facts.stored.content["tables"]]
    if results.POLICIES not in named or len(set(named)) < len(named):
        problems.append(Problem("its tables are not those of a run", Place(facts.stored.name)))
    problems += results.foreign(facts.project, facts.folder, named)
    if problems:
        raise IntegrityError(*problems)
    if lost:
        return "missing", f"{', '.join(lost)}: no such file; a run writes it again"
    return "ok", ", ".join(t["name"] for t in facts.stored.content["tables"])


def _attempts(facts: _Facts, _: Options) -> tuple[State, str]:
    registered, stored = facts.registered, facts.stored
    problems = [*facts.damaged, *attempts.problems(facts.project, registered.id, facts.made)]
    mine = [a for a in facts.made if a.start["registration"] == registered.digest]
    for a in mine:
        place = Place(facts.project.name_of(a.path))
        if a.start["registration_sha256"] != registered.sha256:
            problems.append(Problem("it started with another file of the registration", place))
        end = a.end or {}
        if a.outcome not in ("written", "reproduced"):
            continue
        if stored is None:
            continue  # told at the ledger
        if end.get("ledger") != stored.digest or end.get("counts") != stored.content["counts"]:
            problems.append(Problem("it came to another ledger than the one here", place))
        elif end.get("ledger_sha256") != stored.sha256:
            problems.append(Problem("the circumstances in the ledger are not those that it saw", place))
        tables = [{"name": t["name"], "sha256": t["sha256"]} for t in stored.content["tables"]]
        if end.get("tables") != tables:
            problems.append(Problem("it came to other tables than those of the ledger", place))
    if stored is not None:
        problems += attempts.unwritten(facts.made, registered.digest, stored.name)
    if problems:
        raise IntegrityError(*dict.fromkeys(problems))
    ends: dict[str, int] = {}
    for a in mine:
        ends[a.outcome] = ends.get(a.outcome, 0) + 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in ends.items()) or "none"
    if stored is not None and not _finished(facts):
        return "unchecked", f"{told}: no finished attempt names this ledger (prereg run reproduces it)"
    return "ok", told


def _amendments(facts: _Facts, _: Options) -> tuple[State, str]:
    registered = facts.registered
    found = registration.unknown_parents(list(facts.known)) + amend.problems(registered, facts.known)
    if found:
        raise IntegrityError(*found)
    heads = registration.heads(list(facts.known))
    if len(heads) > 1:
        raise IntegrityError(registration.several(registered.id, heads))
    amends = registered.content.get("amends")
    said = "first" if amends is None else f"amends {amends['digest'][:12]}…"
    by = facts.superseded_by
    return "ok", f"{said}, {'current' if by is None else f'superseded by {by}'}"


def _notes(facts: _Facts, _: Options) -> tuple[State, str]:
    found = note.read_all(facts.project, facts.registered.id)
    mine = [one for one in found if one.content["registration"] == facts.registered.digest]
    lost = note.problems(found, facts.known, facts.made)
    if lost:
        raise IntegrityError(*lost)
    return "ok", f"{len(mine)}"


def _rerun(facts: _Facts, asked: Options) -> tuple[State, str]:
    if facts.stored is None:
        return _UNREAD
    if facts.analysis is None:
        if facts.has_data:
            return "unchecked", "the records do not resolve as registered"
        return "missing", "asked for, and the registered records are not here"
    content, tables = run.computed(facts.registered, facts.analysis, asked.jobs)
    manifest.verify(facts.project, _entries(facts))
    if canonical.canonical(content) != canonical.canonical(facts.stored.content):
        found = [str(change) for change in changes(facts.stored.content, content)]
        return "FAILED", f"{facts.stored.name}: not reproduced: {_listed(found)}"
    for name, data in tables.items():
        path = facts.folder / name
        if formats.read_bytes(path, facts.project.name_of(path), _MOST_BYTES) != data:
            return "FAILED", f"{facts.project.name_of(path)}: not reproduced"
    changed = facts.stored.envelope["sources"] != sources()
    return "ok", "reproduced, byte for byte" + (
        "; the sources of prereg have changed since" if changed else ""
    )
