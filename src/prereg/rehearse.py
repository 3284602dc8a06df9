"""Run an analysis on drawn outcomes before anything is locked: nothing that a system answered is looked at.

Of the records only the columns that lay them out are read (arms, units, strata, categories).  Every other
column that the protocol reads is drawn from what the protocol asks of it, many times, and every prediction is
judged each time.  A claim that comes out the same whatever is drawn deserves a second look.  Rehearsals are
kept under `rehearsals/`; they are never evidence, and nothing that runs or verifies takes them for a run.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg import attempts, canonical, documents, formats
from prereg import check as checks
from prereg.analysis import analyse, compute
from prereg.dataclass import dataclass, replace
from prereg.draws import Stream
from prereg.errors import InputError, Place, PreregError, Problem, listed, suggestion
from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.lock import circumstances
from prereg.numerals import shown
from prereg.parallel import map_blocks, ready
from prereg.protocol import read_protocol
from prereg.readers import read_records
from prereg.records import Column, as_text, is_column
from prereg.resolve.columns import resolve_columns
from prereg.resolve.notes import Notes
from prereg.sealed import Layout
from prereg.usage import UNIT, Usage, Use, usage
from prereg.values import as_decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prereg.document import Document
    from prereg.plan import Places
    from prereg.project import Project
    from prereg.protocol import Protocol
    from prereg.records import Records

FILE = Layout("prereg-rehearsal/1", "rehearsal", content="start", around="end")
MOST_DRAWS = 100_000
SUSPICIOUS = 0.99
"""From this share of the draws on a verdict is said to be one by construction."""
FEWEST = 10
"""From this number of draws on."""
_MISSING = 0.1
_DECIMALS = 4
_ROUNDS = 50
_RANGE = re.compile(r"([^.]+(?:\.[0-9]+)?|\.[0-9]+)\.\.(.+)")


@dataclass(frozen=True)
class Drawn:
    """How the cells of one column are drawn."""

    name: str
    kind: str
    """truth, number or text."""
    values: tuple[str, ...] = ()
    """Texts, or numbers as texts, each equally likely."""
    other: str | None = None
    """A text of its own that half of the cells hold."""
    low: float | None = None
    """Uniform from here to `high`, four decimals; without values and bounds standard normal."""
    high: float = 1.0
    by_unit: bool = False
    """One value for all records of a unit."""
    may_miss: bool = False

    def spoken(self) -> str:
        """In words."""
        if self.values:
            said = f"one of {listed(self.values)}" + (
                f", or {shown(self.other)} in half" if self.other else ""
            )
        elif self.kind == TRUTH:
            said = "true or false, each with probability 1/2"
        elif self.low is not None:
            said = f"a number, uniform from {self.low:g} to {self.high:g}"
        else:
            said = "a number, standard normal"
        if self.by_unit:
            said += ", one per unit"
        if self.may_miss:
            said += "; in every second draw one cell in ten is missing"
        return said


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What came of a rehearsal."""

    path: Path
    protocol: Protocol
    end: dict[str, Any]


# -- what is drawn


def plan_draws(
    protocol: Protocol, used: Usage, unread: Sequence[str], given: dict[str, Drawn]
) -> list[Drawn]:
    """How each column is drawn that the protocol reads and that was not looked at."""
    out = []
    for name in unread:
        if name in given:
            out.append(replace(given[name], may_miss=name in used.uses and used.uses[name].may_miss))
        elif name in used.uses:
            out.append(_drawn(name, _together(name, used), used.uses[name], protocol.data.types.get(name)))
    return out


def _together(name: str, used: Usage) -> Use:
    """The uses of a column and of all it is compared with: they hold values of one kind."""
    out = Use()
    waiting, seen = [name], {name}
    while waiting:
        use = used.uses.get(waiting.pop())
        if use is None:
            continue
        out.asked |= use.asked
        out.texts |= use.texts
        out.equal |= use.equal
        out.ordered |= use.ordered
        out.like |= use.like
        more = use.like - seen
        seen |= more
        waiting += sorted(more)
    return out


def _drawn(name: str, use: Use, own: Use, declared: str | None) -> Drawn:
    kind = declared or _kind(use)
    by_unit = not own.counted and not own.asked & {UNIT}
    out = Drawn(name, kind, by_unit=by_unit, may_miss=own.may_miss)
    if kind == TRUTH:
        return out
    if kind == TEXT:
        texts = tuple(use.texts)
        other = next(x for x in ("something else", "something else again") if x not in texts)
        return replace(out, values=texts, other=other) if texts else replace(out, values=("a", "b"))
    if own.least is not None and own.most is not None:
        return replace(out, low=own.least, high=own.most)
    if use.equal and not use.ordered and UNIT not in use.asked:
        numbers = {0, 1} if use.equal <= {0, 1} else {*use.equal, max(use.equal) + 1}
        return replace(out, values=tuple(str(x) for x in sorted(numbers)))
    if UNIT in use.asked:
        return replace(out, low=0.0)
    if use.ordered:
        low, high = float(min(use.ordered)), float(max(use.ordered))
        if low >= 0 and high <= 1:
            return replace(out, low=0.0)
        around = (high - low) or max(1.0, abs(low))
        return replace(out, low=low - around, high=high + around)
    return out


def _kind(use: Use) -> str:
    if TEXT in use.asked or use.texts:
        return TEXT
    if TRUTH in use.asked:
        return TRUTH
    if use.asked & {NUMBER, UNIT} or use.equal or use.ordered:
        return NUMBER
    return TEXT if use.like else NUMBER


def given_draw(text: str) -> Drawn:
    """`column=low..high` or `column=a,b,c`, as the command line says it.

    Raises:
        InputError: where it is neither.

    """
    name, equals, said = text.partition("=")
    if not name or not equals or not said:
        raise InputError(f"--draw {shown(text)}: write column=low..high or column=a,b,c")
    if ends := _RANGE.fullmatch(said):
        low, high = as_decimal(ends[1]), as_decimal(ends[2])
        if low is None or high is None or low > high:
            raise InputError(f"--draw {shown(text)}: found {shown(said)}, expected low..high")
        return Drawn(name, NUMBER, low=float(low), high=float(high))
    values = tuple(said.split(","))
    if {v.lower() for v in values} <= {"true", "false"}:
        return Drawn(name, TRUTH)
    return Drawn(name, NUMBER if all(as_decimal(v) is not None for v in values) else TEXT, values)


@dataclass(frozen=True, eq=False)
class _Source:
    """Cells of every drawn column, for any draw."""

    drawn: Sequence[Drawn]
    records: Records
    unit: np.ndarray
    """Per record the number of its unit."""
    seed: int

    def columns(self, draw: int, round_: int = 0) -> dict[str, Column]:
        """The drawn columns of one draw."""
        return {one.name: self._column(one, draw, round_) for one in self.drawn}

    def _column(self, one: Drawn, draw: int, round_: int) -> Column:
        words = self._words(one, draw, round_)
        share = (words >> np.uint64(11)) * 2.0**-53
        missing = None
        if one.may_miss and draw % 2:
            missing = (self._words(one, draw, round_, "missing") < np.uint64(int(_MISSING * 2**64)))[None, :]
        if one.kind == TEXT:
            levels = tuple(sorted({*one.values, *([one.other] if one.other is not None else [])}))
            wanted = np.array([levels.index(value) for value in one.values])
            if one.other is not None:
                share = 2 * share
            codes = wanted[np.minimum((share * len(wanted)).astype(np.int64), len(wanted) - 1)][None, :]
            if one.other is not None:
                codes = np.where(share[None, :] >= 1, levels.index(one.other), codes)
            if missing is not None:
                codes = np.where(missing, -1, codes)
            return Column(TEXT, Cells(TEXT, codes, missing, levels))
        if one.kind == TRUTH:
            return Column(TRUTH, Cells(TRUTH, (words >> np.uint64(63) == 1)[None, :], missing))
        if one.values:
            numbers = np.array([float(v) for v in one.values])
            data = numbers[np.minimum((share * len(numbers)).astype(np.int64), len(numbers) - 1)]
        elif one.low is not None:
            data = np.round(one.low + (one.high - one.low) * share, _DECIMALS)
        else:
            # the sum of twelve uniform numbers: near enough to normal, and the same bits on every machine
            more = self._words(one, draw, round_, "normal", 12)
            data = np.round(((more >> np.uint64(11)) * 2.0**-53).sum(axis=0) - 6, _DECIMALS)
        binary = bool(((data == 0) | (data == 1)).all())
        return Column(BINARY if binary else NUMBER, Cells(NUMBER, data[None, :], missing))

    def _words(self, one: Drawn, draw: int, round_: int, what: str = "cells", count: int = 0) -> np.ndarray:
        """(N,) words, or (count, N): the same for all records of a unit where the column is one of units."""
        stream = Stream(self.seed, "\0".join(("rehearse", str(draw), str(round_), what, one.name)))
        size = int(self.unit.max()) + 1 if one.by_unit else len(self.unit)
        words = stream.words(0, max(count, 1), size)
        if one.by_unit:
            words = words[:, self.unit]
        return words if count else words[0]


def _cells(source: _Source, protocol: Protocol, draw: int, places: Places) -> Records:
    """The records of one draw: what is certified is answered, as in any records that are accepted."""
    columns = source.columns(draw)
    roles = [protocol.data.columns.get(role, role) for role in ("answered", "certified")]
    records = replace(source.records, columns={**source.records.columns, **columns})
    if all(role in columns for role in roles):
        answered, certified = (columns[role].cells for role in roles)
        if answered.kind == certified.kind == TRUTH:
            data = certified.data & (answered.data | answered.missing_mask())
            records.columns[roles[1]] = Column(TRUTH, replace(certified, data=data))
        return records
    if not set(roles) & set(protocol.data.derive):
        return records
    # what is derived cannot be set: records that contradict themselves are drawn again
    for round_ in range(1, _ROUNDS):
        found = resolve_columns(protocol, records, Notes(places))
        if not all(name in found.cells and found.kinds[name] in ("truth", "binary") for name in roles):
            break
        answered, certified = (found.cells[name] for name in roles)
        known = ~(answered.missing_mask() | certified.missing_mask())[0]
        wrong = known & (certified.data[0] != 0) & (answered.data[0] == 0)
        if not wrong.any():
            break
        again = source.columns(draw, round_)
        for one in source.drawn:
            if not one.by_unit:
                records.columns[one.name] = _patched(records.columns[one.name], again[one.name], wrong)
    return records


def _patched(old: Column, new: Column, where: np.ndarray) -> Column:
    a, b = old.cells, new.cells
    missing = None
    if a.missing is not None or b.missing is not None:
        missing = np.where(where[None, :], b.missing_mask(), a.missing_mask())
    return Column(old.kind, Cells(a.kind, np.where(where[None, :], b.data, a.data), missing, a.levels))


# -- the rehearsal


def rehearse(
    project: Project,
    path: Path,
    draws: int = 200,
    seed: int = 0,
    known: Sequence[str] = (),
    given: Sequence[Drawn] = (),
    jobs: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> Rehearsal:
    """Judge a protocol on drawn outcomes, and keep what came of it under `rehearsals/`.

    Args:
        project: where the protocol lives.
        path: the protocol.
        draws: how often outcomes are drawn.
        seed: of the draws; the split and the resamples use their registered seeds.
        known: columns that are no outcomes although the protocol counts them, read as they are.
        given: columns drawn as said here.
        jobs: number of workers; changes no byte of the result.
        tick: called with the number of draws, once per finished draw.

    Raises:
        InputError: every problem of the protocol, or what makes most draws impossible.
        MissingError: where the protocol or a record file is missing.

    """
    if not 1 <= draws <= MOST_DRAWS:
        raise InputError(f"--draws: found {draws}, expected 1 to {MOST_DRAWS}")
    ready(jobs)
    name = checks.protocol_name(project, path)
    document = formats.read_yaml(path, name)
    protocol = read_protocol(document)
    folder = project.root / "rehearsals" / protocol.id
    project.name_of(folder)
    around = circumstances(project.root)
    start = {
        "id": protocol.id,
        "kind": "rehearsal",
        "protocol": {"path": name, "sha256": canonical.file_digest(path, name)[0]},
        "time": around.pop("time"),
        "nonce": secrets.token_hex(4),
        "draws": draws,
        "seed": seed,
        "known": sorted(known),
        "given": [{"column": one.name, "drawn": one.spoken()} for one in given],
        **around,
    }
    stamp = str(start["time"]).replace("-", "").replace(":", "")
    file = folder / f"{stamp}-{start['nonce']}.json"
    formats.write_atomic(file, FILE.to_bytes(start, None), exclusive=True)
    try:
        found = _rehearsed(project, path, document, protocol, draws, seed, known, given, jobs, tick)
    except PreregError as error:
        with contextlib.suppress(PreregError):
            _finish(
                file,
                start,
                {"outcome": "refused", "exit_code": error.exit_code, "message": str(error)[:2000]},
            )
        raise
    except BaseException as error:
        with contextlib.suppress(PreregError):
            _finish(file, start, {"outcome": "stopped", "message": type(error).__name__})
        raise
    return Rehearsal(file, protocol, _finish(file, start, {"outcome": "finished", **found}))


def _finish(file: Path, start: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    end = {"time": attempts.now(), **end}
    formats.write_atomic(file, FILE.to_bytes(start, end))
    return end


def read(path: Path, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Start and end of a stored rehearsal; the end is None where it never ended.

    Raises:
        IntegrityError: where the file is damaged.
        MissingError: where there is none.

    """
    start, end, _ = FILE.read(path, name)
    documents.check("rehearsal", {"start": start, "end": end}, name)
    return start, end


def _rehearsed(
    project: Project,
    path: Path,
    document: Document,
    protocol: Protocol,
    draws: int,
    seed: int,
    known: Sequence[str],
    given: Sequence[Drawn],
    jobs: int,
    tick: Callable[[int], None],
) -> dict[str, Any]:
    used = usage(protocol)
    records, read_columns = _laid_out(project, path, document, protocol, used, known)
    unknown = [n for n in (*known, *(g.name for g in given)) if n not in (*records.unread, *read_columns)]
    if unknown:
        every = (*read_columns, *records.unread)
        hint = suggestion(unknown[0], every) or f"; known: {listed(every)}"
        raise InputError(f"--known, --draw: unknown column {shown(unknown[0])}{hint}")
    read_anyway = [g.name for g in given if g.name in read_columns]
    if read_anyway:
        raise InputError(f"--draw: `{read_anyway[0]}` lays the records out and is read as it is")
    drawn = plan_draws(protocol, used, records.unread, {g.name: g for g in given})
    source = _Source(drawn, records, _units(protocol, records, document), seed)

    def one(draw: int) -> list[tuple[str, str | None]] | PreregError:
        try:
            cells = _cells(source, protocol, draw, document.place)
            judged = compute(analyse(protocol, cells, document.place)).judgements
        except PreregError as error:
            return error
        return [(str(j.verdict), j.reason) for j in judged]

    first = _first(source, protocol, document)
    results = map_blocks(one, range(draws), jobs, lambda: tick(draws))
    broken = [r for r in results if isinstance(r, PreregError)]
    if 2 * len(broken) > draws:
        worst = broken[0]
        hint = "--draw column=low..high (or a,b,c) says what a column can hold, --known column reads it"
        raise InputError(
            *worst.problems,
            Problem(f"{len(broken)} of {draws} draws came to nothing; {hint}", Place(path.name)),
        )
    sound = [r for r in results if not isinstance(r, PreregError)]
    return {
        "read": [*read_columns],
        "drawn": [{"column": one.name, "drawn": one.spoken()} for one in drawn],
        "judged": len(sound),
        "broken": {"draws": len(broken), "message": str(broken[0])[:500] if broken else None},
        "predictions": [
            {**entry, **_counts([result[i] for result in sound], guard=bool(entry["guard"]))}
            for i, entry in enumerate(first)
        ],
    }


def _first(source: _Source, protocol: Protocol, document: Document) -> list[dict[str, Any]]:
    """Every prediction as it is registered; what is wrong with the protocol is told here, once.

    Draws on which the first analysis cannot be built are passed over: the records may be at fault there.
    """
    last: PreregError | None = None
    for draw in range(20):
        try:
            plan = analyse(protocol, _cells(source, protocol, draw, document.place), document.place).plan
        except PreregError as error:
            last = error
            continue
        return [
            {
                "id": p.id,
                "claim": " ".join(p.spec.claim.split()),
                "anticipated": p.spec.anticipate,
                "tier": p.spec.tier,
                "guard": p.claim.guard,
            }
            for p in plan.predictions
        ]
    raise last or AssertionError("there is a first draw")


def _laid_out(
    project: Project, path: Path, document: Document, protocol: Protocol, used: Usage, known: Sequence[str]
) -> tuple[Records, list[str]]:
    """The records with the cells of their structure alone, and the columns that were read."""
    only = used.structure | set(known)
    if protocol.data.collect is not None:
        files = checks.sources(project, path, protocol, document.place)
        records = checks.known_records(protocol, files, document.place(("data", "collect")))
        names = [name for name in records.columns if is_column(name)]
        kept = {n: c for n, c in records.columns.items() if n in only or not is_column(n)}
        records = replace(records, columns=kept, unread=tuple(n for n in names if n not in only))
    else:
        where = document.place(("data", "records"))
        files = project.find(path.resolve().parent, protocol.data.records or (), where)
        records = read_records(files, protocol.column_types(), only)
    return records, [name for name in records.columns if is_column(name)]


def _units(protocol: Protocol, records: Records, document: Document) -> np.ndarray:
    """Per record the number of its unit within its dataset."""
    data = protocol.data
    codes = []
    for name in (data.unit, data.dataset):
        column = records.columns.get(data.columns.get(name, name)) if name is not None else None
        if column is not None and column.kind != "nested":
            codes.append(as_text(column).data[0])
    if not codes:
        raise InputError(
            Problem(f"the records have no unit column `{data.unit}`", document.place(("data", "unit")))
        )
    inverse: np.ndarray = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    return inverse


def _counts(results: Sequence[tuple[str, str | None]], *, guard: bool) -> dict[str, Any]:
    """How often each verdict came out, and whether it did whatever was drawn."""
    total = len(results)
    verdicts = Counter(verdict for verdict, _ in results)
    reasons = Counter(reason or "" for verdict, reason in results if verdict == "failed")
    constant: str | None = None
    if not guard and total >= FEWEST:
        for verdict in ("held", "falsified"):
            if verdicts[verdict] >= SUSPICIOUS * total:
                constant = verdict
        if reasons["undefined"] >= SUSPICIOUS * total:
            constant = "undefined"
    return {
        "held": verdicts["held"],
        "failed": dict(sorted(reasons.items())),
        "falsified": verdicts["falsified"],
        "constant": constant,
    }
