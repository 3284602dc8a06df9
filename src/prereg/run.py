"""Execute exactly what was registered, and write a ledger, a table of policies and the attempt.

One process at a time runs a registration. The steps, in order: (1) the registration has its digest; (2) the
protocol beside it still says the same; (3) the attempt is written; (4) the record files are those registered;
(5) columns, split and streams come out as registered; (6) estimates and verdicts; (7) the record files are
still the same; (8) an existing ledger is reproduced, never replaced; (9) results are written, the ledger
last; (10) the attempt is completed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from prereg import (
    attempts,
    canonical,
    collect,
    findings,
    formats,
    ledger,
    manifest,
    parallel,
    prospective,
    registration,
    results,
    surface,
    table,
    trace,
)
from prereg.analysis import Analysis, analyse, compute
from prereg.dataclass import dataclass, replace
from prereg.differences import changes
from prereg.errors import InputError, IntegrityError, MissingError, Place, PreregError, Problem
from prereg.judgeable import judgeable
from prereg.lock import circumstances, known_parts, resolved_of
from prereg.protocol import read_protocol
from prereg.readers import read_records
from prereg.stored import from_stored, to_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prereg.project import Project
    from prereg.protocol import Protocol
    from prereg.registration import Registration


@dataclass(frozen=True)
class Outcome:
    """What came of running one registration."""

    registration: Registration
    content: dict[str, Any]
    folder: Path
    reproduced: bool
    notes: tuple[str, ...]


def chosen(project: Project, names: Sequence[str]) -> list[Registration]:
    """The current registrations of the ids, or of all.

    Raises:
        MissingError: where nothing is registered, or nothing under an id.

    """
    known = list(names) or registration.ids(project)
    if not known:
        raise MissingError(
            "nothing is registered here: registrations/ is empty or missing (prereg lock writes it)"
        )
    return [registration.current(project, name) for name in known]


def run(
    project: Project,
    registered: Registration,
    jobs: int = 1,
    stage: Callable[[str], None] = lambda _: None,
    tick: Callable[[int], None] = lambda _: None,
    waiting: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run one registration; where another process runs it, wait until that one has ended.

    Args:
        project: where it lives.
        registered: what to run.
        jobs: number of workers; changes no byte of the result.
        stage: told what is being done.
        tick: told the number of blocks, once per finished block.
        waiting: called before a wait.

    Raises:
        IntegrityError: where anything registered has changed, or the ledger cannot be reproduced.
        MissingError: where records are missing.

    """
    with formats.alone(project.root / registered.name, waiting):
        return _alone(project, registered, jobs, stage, tick)


def _alone(
    project: Project,
    registered: Registration,
    jobs: int,
    stage: Callable[[str], None],
    tick: Callable[[int], None],
) -> Outcome:
    parallel.ready(jobs)
    notes = drift(project, registered)
    known_parts(registered)
    notes += _gaps(project, registered)
    project.name_of(project.results(registered.id) / registered.short)
    around = circumstances(project.root)
    attempt = attempts.begin(project, registered, "run", around)
    try:
        analysis, content, tables = _execute(project, registered, jobs, stage, tick)
        folder = project.results(registered.id) / registered.short
        digest = ledger.FILE.digest(content)
        around = {**around, "time": attempts.now()}
        reproduced = results.write(project, folder, content, tables, around, digest)
    except PreregError as error:
        try:
            attempt.finish("refused", exit_code=error.exit_code, message=str(error)[:2000])
        except PreregError as lost:  # the disk is full, say: what went wrong first is still told first
            raise type(error)(*error.problems, *lost.problems) from None
        raise
    except BaseException as error:
        with contextlib.suppress(PreregError):
            attempt.finish("stopped", message=type(error).__name__)
        raise
    if analysis.resumed:
        notes.append(
            f"{analysis.resumed} answers rest on certificates that an interrupted run left, checked again; "
            "one more run asks for them anew"
        )
    attempt.finish(
        "reproduced" if reproduced else "written",
        ledger=digest,
        ledger_sha256=canonical.file_digest(folder / results.LEDGER)[0],
        tables=[{"name": t["name"], "sha256": t["sha256"]} for t in content["tables"]],
        counts=content["counts"],
    )
    return Outcome(registered, content, folder, reproduced, tuple(notes))


def _gaps(project: Project, registered: Registration) -> list[str]:
    """What is missing of earlier attempts: told, and named for good by the attempt that begins.

    It is no reason not to run: a run cannot bring back what was taken away, and hides nothing.
    """
    made, damaged = attempts.readable(project, registered.id)
    found = [*damaged, *attempts.problems(project, registered.id, made)]
    path = project.results(registered.id) / registered.short / results.LEDGER
    if path.exists():
        found += attempts.unwritten(made, registered.digest, project.name_of(path))
    return [f"{problem} (prereg verify fails on it)" for problem in found]


def drift(project: Project, registered: Registration, *, whole: bool = False) -> list[str]:
    """Notes on cosmetic changes of the protocol since it was locked.

    Bytes that are those of the lock are taken to say what was registered, unless the `whole` is compared.

    Raises:
        IntegrityError: where the protocol says something else than was registered, field by field.

    """
    source = registered.envelope.get("protocol")
    if not isinstance(source, dict) or not isinstance(source.get("path"), str):
        raise IntegrityError(Problem("the envelope does not name the protocol", registered.place))
    name = source["path"]
    try:
        path = project.inside(name)
    except InputError as error:
        raise IntegrityError(*error.problems) from None
    if not path.exists():
        return [f"{name} is gone; the registration alone decides"]
    try:
        same = canonical.file_digest(path, name, formats.MOST_YAML)[0] == source.get("sha256")
        if same and not whole:
            return []
        now = to_stored(read_protocol(formats.read_yaml(path, name)))
    except InputError as error:
        raise IntegrityError(
            Problem(
                f"changed since it was locked as {registered.short}, and no longer readable", Place(name)
            ),
            *error.problems,
        ) from None
    found = list(changes(registered.content["protocol"], now))
    if found:
        raise IntegrityError(
            Problem(
                f"changed since it was locked as {registered.short}; a change is an amendment: "
                f"prereg amend {name} --reason …",
                Place(name),
            ),
            *[Problem(f"differs: {change}", Place(name)) for change in found[:50]],
        )
    if same:
        return []
    return [f"{name} was edited since it was locked, but says the same (cosmetic)"]


def _execute(
    project: Project,
    registered: Registration,
    jobs: int,
    stage: Callable[[str], None],
    tick: Callable[[int], None],
) -> tuple[Analysis, dict[str, Any], dict[str, bytes]]:
    stage("hashing records")
    entries = entries_of(project, registered)
    manifest.verify(project, entries)
    stage("reading records")
    analysis = analysis_of(project, registered, jobs, tick)
    as_registered(registered, analysis)
    stage("resampling")
    content, tables = computed(registered, analysis, jobs, tick)
    manifest.verify(project, entries)
    return analysis, content, tables


def computed(
    registered: Registration,
    analysis: Analysis,
    jobs: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The content of the ledger, and the tables beside it."""
    plan = analysis.plan
    judged = compute(analysis, jobs, tick)
    tables = dict(analysis.made)
    tables["policies.csv"] = table.to_bytes(plan, judged.estimate)
    more = {"thresholds.csv": trace.to_bytes(plan), "surfaces.csv": surface.to_bytes(analysis.main)}
    tables |= {name: data for name, data in more.items() if data is not None}
    return findings.content_of(registered, plan, judged, tables, analysis.files), tables


def entries_of(project: Project, registered: Registration) -> list[dict[str, Any]]:
    """The manifest of what is read: as registered, or as found where the records were promised.

    Raises:
        MissingError: where promised records are not there.

    """
    data = registered.content["data"]
    if "base" not in data:
        return list(data["files"])
    stored = registered.content["protocol"]["data"]
    files = project.find(project.inside(data["base"]), stored["records"], registered.place)
    return manifest.digests(files)


def analysis_of(
    project: Project,
    registered: Registration,
    jobs: int = 1,
    tick: Callable[[int], None] = lambda _: None,
    journal: Path | None = None,
) -> Analysis:
    """What a registration comes to, from its stored protocol and the records.

    Where the run makes the records they are made here; what is done already is kept in the folder `journal`,
    by default that of the results.

    Raises:
        IntegrityError: where the registered protocol no longer resolves.

    """

    def place(path: tuple[str | int, ...], key: bool = False, offset: int | None = None) -> Place:
        del path, key, offset
        return registered.place

    protocol = from_stored(registered.content["protocol"], registered.place)
    entries = entries_of(project, registered)
    files = manifest.files_of(project, entries)
    made = None
    if protocol.data.collect is None:
        try:
            records = read_records(files, protocol.column_types())
        except InputError as error:
            if protocol.data.prospective:
                raise
            # they have the registered bytes: it is the registration that is wrong
            raise IntegrityError(*error.problems) from None
        if protocol.data.prospective:
            prospective.arms_are_those_declared(protocol, records, registered.place)
    else:
        made = collected(project, registered, protocol, jobs, tick, journal)
        records = made.records
    try:
        analysis = analyse(protocol, records, place)
        if protocol.data.prospective:
            analysis = replace(analysis, files=tuple(manifest.with_rows(entries, records.files)))
        if made is not None:
            analysis = replace(analysis, made=made.tables, resumed=made.resumed)
    except InputError as error:
        raise IntegrityError(*error.problems) from None
    # a lock refuses what cannot be judged; a registration that asks for it was not written by one
    for prepared in (analysis.main, *analysis.variants.values()):
        refused = judgeable(prepared, place)
        if refused:
            raise IntegrityError(*refused)
    return analysis


def collected(
    project: Project,
    registered: Registration,
    protocol: Protocol,
    jobs: int,
    tick: Callable[[int], None],
    journal: Path | None,
) -> collect.Made:
    """The records that the registered collector makes, and the files to keep.

    Raises:
        IntegrityError: where the collector is not the registered one.

    """
    data = registered.content["data"]
    collector = collect.collector_of(protocol.data, registered.place)
    collect.verify_authority(collector, protocol.data, data.get("collector") or {}, registered.place)
    files = manifest.files_of(project, data["files"])
    types = collect.types_of(collector, protocol.column_types())
    folder = journal or project.results(registered.id) / registered.short
    return collect.collect(collector, protocol.data, files, types, folder, jobs, tick)


def as_registered(registered: Registration, analysis: Analysis) -> None:
    """Columns, factors, units, split and streams must come out as they did when it was locked.

    Raises:
        IntegrityError: every field that does not.

    """
    if analysis.plan.protocol.data.prospective:
        prospective.hold_to(analysis.plan, registered.place)
        return
    now = resolved_of(analysis)
    found = [c for key in now for c in changes(registered.content.get(key), now[key], key)]
    if found:
        raise IntegrityError(
            Problem(
                "this prereg reads the same records differently than when they were registered",
                registered.place,
            ),
            *[Problem(f"differs: {change}", registered.place) for change in found[:20]],
        )
