"""Can this protocol be promised?  Everything that is refused or warned of before a lock.

Names and types are resolved first; then every prediction must be able to come out both ways, the evidence
must be reachable with the registered numbers, and nothing may be empty that was meant to be measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from prereg import collect, prospective
from prereg.analysis import Analysis, analyse
from prereg.dataclass import dataclass
from prereg.degenerate_check import degenerate_warnings
from prereg.errors import InputError, IntegrityError, MissingError, Place, Problem, file_order, listed
from prereg.expression.claims import Branch, Fold, Leg, Opposite
from prereg.expression.overlap import compatible
from prereg.formats import read_yaml
from prereg.judgeable import judgeable
from prereg.mended import without_malformed
from prereg.power import few_units, unreachable
from prereg.project import near
from prereg.prose import PLACEHOLDER
from prereg.protocol import Protocol, read_protocol
from prereg.readers import read_records
from prereg.variants import variant_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prereg.document import Document
    from prereg.expression.claims import Piece
    from prereg.expression.rows import Rows
    from prereg.panels import Key, Panel
    from prereg.plan import MetricPlan, Places, Plan, PredictionPlan, Repeat
    from prereg.prepare import Prepared
    from prereg.project import Project
    from prereg.records import Records

MOST_TOLD = 5
"""Warnings of one kind; the others are counted."""
_FAINT = 1e-6  # below it 12 decimals are six digits or fewer


@dataclass(frozen=True, eq=False)
class Checked:
    """A protocol that can be locked."""

    protocol: Protocol
    document: Document
    analysis: Analysis
    files: tuple[tuple[str, Path], ...]
    name: str
    """The protocol's file, as it is stored and shown."""

    @property
    def plan(self) -> Plan:
        """The resolved protocol."""
        return self.analysis.plan

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What is allowed and deserves a look."""
        return self.plan.warnings


def read(project: Project, path: Path) -> tuple[str, Document, Protocol, tuple[tuple[str, Path], ...]]:
    """A protocol file and the record files it names."""
    name = protocol_name(project, path)
    document = read_yaml(path, name)
    try:
        protocol = read_protocol(document)
    except InputError as error:
        more = _of_the_rest(project, path, document)
        raise InputError(*sorted(dict.fromkeys([*error.problems, *more]), key=file_order)) from None
    return name, document, protocol, tuple(sources(project, path, protocol, document.place))


def protocol_name(project: Project, path: Path) -> str:
    """What a protocol that the user named is called in the project.

    Raises:
        InputError: where it leads out of the project.
        MissingError: where there is none, with one that may be meant.

    """
    if "\0" not in str(path) and not path.exists():
        if not path.is_absolute() and (project.root / path).is_file():
            said = f"no such file; `--root` does not change the folder, is {project.root / path} meant?"
        else:
            said = f"no such file{near(path.parent, path.name)}"
        raise MissingError(Problem(said, Place(_named(project, path))))
    return project.name_of(path)


def _named(project: Project, path: Path) -> str:
    """The name of a path in the project, or the path where it leads out."""
    return str(path) if project.leads_out(path) else project.name_of(path)


def _of_the_rest(project: Project, path: Path, document: Document) -> tuple[Problem, ...]:
    """What else is wrong, where only the shape of some values is on which nothing else hangs."""
    protocol = without_malformed(document)
    if protocol is None:
        return ()
    try:
        files = sources(project, path, protocol, document.place)
        records = known_records(protocol, files, document.place(("data", "collect")))
        analyse(protocol, records, document.place)
    except InputError as error:
        return error.problems
    except MissingError:  # told when the shape is mended: it has another exit code
        return ()
    return ()


def sources(project: Project, path: Path, protocol: Protocol, places: Places) -> list[tuple[str, Path]]:
    """The files a protocol reads: its records, or the problems and labels its collector starts from."""
    data, base = protocol.data, path.resolve().parent
    if data.records is not None and data.prospective:
        try:
            found = project.find(base, data.records, places(("data", "records")))
        except MissingError:
            found = []
        prospective.refuse(prospective.refusals(protocol, found, places))
        return []
    if data.records is not None:
        return project.find(base, data.records, places(("data", "records")))
    problems = [
        p if any(c in p for c in "*?[") or (base / p).is_file() else f"{p}/**/*.p"
        for p in data.problems or ()
    ]
    found = project.find(base, problems, places(("data", "problems")))
    if data.labels is not None:
        found = sorted({*found, *project.find(base, (data.labels,), places(("data", "labels")))})
    return found


def check(project: Project, path: Path) -> Checked:
    """Check a protocol against its records.

    Raises:
        InputError: every problem, each at its place.
        MissingError: where the protocol or a record file is missing, or no record is left.

    """
    name, document, protocol, files = read(project, path)
    records = known_records(protocol, files, document.place(("data", "collect")))
    try:
        analysis = analyse(protocol, records, document.place)
    except InputError as error:
        raise InputError(*error.problems, *_placeholders(protocol, document.place)) from None
    plan = analysis.plan
    problems, warnings = findings(analysis.main, document.place)
    for variant, prepared in analysis.variants.items():
        # what is wrong in the registered reading too is told once
        more = findings(prepared, variant_places(protocol, variant, document.place))
        problems += [p for p in more[0] if p not in problems]
        warnings += [p for p in more[1] if p not in warnings]
    if problems:
        raise InputError(*problems)
    object.__setattr__(plan, "warnings", tuple(sorted((*plan.warnings, *warnings), key=file_order)))
    return Checked(protocol, document, analysis, files, name)


def known_records(protocol: Protocol, files: Sequence[tuple[str, Path]], place: Place) -> Records:
    """The records, or their skeleton where the run makes them."""
    if protocol.data.prospective:
        return prospective.skeleton(protocol)
    if protocol.data.collect is None:
        return read_records(files, protocol.column_types())
    collector = collect.collector_of(protocol.data, place)
    return collect.skeleton(
        collector, protocol.data, files, collect.types_of(collector, protocol.column_types())
    )


def findings(prepared: Prepared, places: Places) -> tuple[list[Problem], list[Problem]]:
    """(problems, warnings) of a resolved protocol."""
    plan = prepared.plan
    data = plan.protocol.data
    problems: list[Problem] = []
    warnings: list[Problem] = []
    problems += [*_placeholders(plan.protocol, places), *plan.settled]
    if not data.prospective:
        problems += _empty(prepared, places)
    if not data.prospective and data.collect is None:
        warnings += _some(_dropped(plan, places))
        warnings += _some(_empty_cells(plan, places))
        warnings += _some(_faint(prepared, places))
    for prediction in plan.predictions:
        warnings += _resamples(prediction, plan, places)
        warnings += _both_true(prediction, places)
        warnings += _inverted(prediction, places)
    if not data.prospective:
        warnings += _uncertifiable(plan, places)
    warnings += few_units(prepared, places)
    warnings += degenerate_warnings(prepared, places)
    unfit = judgeable(prepared, places, promised=data.prospective or data.collect is not None)
    problems += unfit or unreachable(prepared, places)
    # what `each` wrote stands at one place: one problem there is told once
    return list(dict.fromkeys(problems)), list(dict.fromkeys(warnings))


def _placeholders(protocol: Protocol, places: Places) -> list[Problem]:
    prose: list[tuple[tuple[str | int, ...], str | None]] = [
        (("title",), protocol.title),
        (("question",), protocol.question),
        (("notes",), protocol.notes),
    ]
    prose += [(("predictions", name, "because"), spec.because) for name, spec in protocol.predictions.items()]
    out = []
    for path, text in prose:
        found = PLACEHOLDER.search(text or "")
        if found:
            out.append(Problem(f"a placeholder is no promise: `{found.group()}`", places(path)))
    return out


def _empty(prepared: Prepared, places: Places) -> list[Problem]:
    """Metrics whose `among` holds no row for any arm, although it reads no outcome."""
    out = []
    for name, metric in prepared.plan.metrics.items():
        among = [repeat.among for repeat in metric.repeats if repeat.among is not None]
        if not among:
            continue
        if any(rows.columns & {"answered", "certified", "action"} for rows in among):
            continue
        pieces = prepared.pieces[name, None]
        if not any(piece.rows.any() for piece in pieces):
            part = f" in the part `{metric.part}`" if metric.part else ""
            out.append(
                Problem(f"no record of any arm is inside `among`{part}", places(("metrics", name, "among")))
            )
    return out


def _some(found: list[Problem]) -> list[Problem]:
    """A few of many warnings of one kind, and how many more there are."""
    if len(found) <= MOST_TOLD:
        return found
    last = found[MOST_TOLD - 1]
    more = len(found) - MOST_TOLD
    return [*found[: MOST_TOLD - 1], Problem(f"{last.message} (and {more} more like this)", last.place)]


def _dropped(plan: Plan, places: Places) -> list[Problem]:
    """A warning for every arm that loses units because another arm has no row for them, most lost first."""
    layout = plan.layout
    lost = sorted((-n, key) for key, n in layout.dropped.items() if n)
    return [
        Problem(
            f"warning: {', '.join(key)}: {-n} of {layout.seen[key]} units dropped, another arm lacks them",
            places(("data", "arm")),
        )
        for n, key in lost
    ]


def _faint(prepared: Prepared, places: Places) -> list[Problem]:
    """A warning for every mean or sum of numbers so small that 12 decimals leave few digits of them.

    Only their order of magnitude is told.
    """
    out = []
    for (name, which), pieces in prepared.pieces.items():
        largest = max((getattr(piece.kernel, "largest", 0.0) for piece in pieces), default=0.0)
        if which is not None or not 0 < largest < _FAINT:
            continue
        power = math.floor(math.log10(largest)) + 1
        said = (
            f"warning: `{name}`: its numbers are below 1e{power}, and a value keeps 12 decimals; "
            f"choose a larger unit of them (multiply by 1e{-3 * (power // 3)})"
        )
        out.append(Problem(said, places(("metrics", name))))
    return out


def _empty_cells(plan: Plan, places: Places) -> list[Problem]:
    """A warning for every metric and arm where empty cells leave the metric undefined.

    Whether cells are empty is all that is told. An `among` that reads outcomes would tell more:
    it is left out.
    """
    if plan.protocol.data.samples in ("majority", "any_true", "all_true"):
        return []  # a reduced answer may be missing because of what the answers say
    metrics = [m for m in plan.metrics.values() if m.kind is not None and m.name in plan.protocol.metrics]
    outcomes = {"answered", "certified", "action"}
    outcomes |= {c for m in metrics for r in m.repeats for rows in r.arguments.values() for c in rows.columns}
    out = []
    for metric in metrics:
        whole = any(r.among is not None and r.among.columns & outcomes for r in metric.repeats)
        columns = sorted({c for r in metric.repeats for a in _needed(metric, r) for c in a.columns})
        for key, n in _empty_per_arm(metric, plan, whole=whole).items():
            then = f"this is undefined, unless `among` leaves them out (defined({columns[0]}))"
            if whole:
                then = "undefined if `among` holds one (it reads outcomes, so all records are counted)"
            said = (
                f"warning: `{metric.name}`, {', '.join(key)}: {n} record{'s' * (n != 1)} with an empty cell "
                f"of {listed(columns)}: {then}"
            )
            out.append(Problem(said, places(("metrics", metric.name))))
    return out


def _needed(metric: MetricPlan, repeat: Repeat) -> list[Rows]:
    """The arguments of a metric that must not be missing."""
    kind = metric.kind
    out = []
    for name, rows in repeat.arguments.items():
        parameter = kind.parameter(name.partition(".")[0]) if kind is not None else None
        if parameter is None or not parameter.missing_last:
            out.append(rows)
    return out


def _empty_per_arm(metric: MetricPlan, plan: Plan, *, whole: bool) -> dict[Key, int]:
    """Per arm the records that a metric reads, misses a value of, and that have an empty cell."""
    out: dict[Key, int] = {}
    part = plan.parts.index(metric.part) if metric.part is not None else 0
    for i, panel in enumerate(plan.layout.panels):
        read = panel.full if panel.full is not None else panel
        lost = np.zeros(len(read.table.names), dtype=bool)
        for repeat in metric.repeats:
            gone = np.zeros(len(lost), dtype=bool)
            for rows in _needed(metric, repeat):
                empty = _any_empty(rows.columns, read)
                gone |= empty & rows.evaluate(read.table).missing_mask().any(axis=0)
            if repeat.among is not None and not whole:
                among = repeat.among.evaluate(read.table)
                gone &= (among.data & ~among.missing_mask()).any(axis=0)
            lost |= gone
        dense = read.dense(lost[None, :])[0][:, plan.samples[i, part].units]
        if panel.full is None and not metric.all_samples:
            dense = dense[:, :, :1]
        for arm, n in zip(read.arms, dense.sum(axis=(1, 2)).tolist(), strict=True):
            if n:
                out[arm] = out.get(arm, 0) + n
    return out


def _any_empty(columns: Iterable[str], panel: Panel) -> np.ndarray:
    """Per record whether a cell of any of these columns is empty."""
    out = np.zeros(len(panel.table.names), dtype=bool)
    for name in columns:
        cells = panel.table.columns.get(name)
        if cells is not None and cells.missing is not None:
            out |= cells.missing.any(axis=0)
    return out


def _uncertifiable(plan: Plan, places: Places) -> list[Problem]:
    """A warning for every rule that asks for more rows than an arm has: it never deploys anything there."""
    chosen = plan.thresholds
    if chosen is None:
        return []
    rows = [len(arm.calibration.score) for arms in chosen.arms for arm in arms]
    out = []
    for rule in chosen.rules:
        if rule.rule == "naive":
            continue
        lacking = sum(n < rule.floor for n in rows)
        if lacking:
            arms = "no arm has" if lacking == len(rows) else f"{lacking} of {len(rows)} arms lack"
            said = (
                f"warning: `{rule.rule}` at budget {rule.budget} looks at nothing below {rule.floor} rows; "
                f"{arms} so many in the calibration part: nothing is deployed there, whatever they say"
            )
            out.append(Problem(said, places(("policies", "threshold", "budget"))))
    return out


def _inverted(prediction: PredictionPlan, places: Places) -> list[Problem]:
    """A warning where a falsifier applies the more, the more the resamples support the claim."""
    if prediction.support is None or prediction.support.op not in (">", ">="):
        return []
    said = (
        "warning: this falsifier applies where the claim is supported; a falsifier is `support` below a share"
    )
    return [Problem(said, places((*prediction.path, "falsified_if")))]


def _both_true(prediction: PredictionPlan, places: Places) -> list[Problem]:
    """A warning where claim and falsifier leave values of which both are true."""
    spec = prediction.spec
    if prediction.falsifier is None or spec.falsified_if is None:
        return []
    if not compatible(spec.claim, spec.falsified_if):
        return []
    said = "warning: this falsifier and the claim can both be true; the falsifier then decides"
    return [Problem(said, places((*prediction.path, "falsified_if")))]


def legs_below(piece: Piece) -> int:
    """The number of elementary legs a claim comes to, vectors folded out."""
    match piece:
        case Leg():
            return 1
        case Opposite():
            return legs_below(piece.child)
        case Branch():
            return sum(legs_below(child) for child, _ in piece.children)
        case Fold():
            return legs_below(piece.child) * max((len(g) for g in piece.groups), default=0)


def _resamples(prediction: PredictionPlan, plan: Plan, places: Places) -> list[Problem]:
    if prediction.spec.evidence.kind != "interval" or plan.protocol.resampling is None:
        return []
    level = prediction.spec.level or plan.protocol.resampling.level
    legs = legs_below(prediction.claim.root)
    needed = 2 * legs / (1 - level)
    if plan.resamples < needed - 1e-9:
        return [
            Problem(
                f"warning: {plan.resamples} resamples are few for {legs} leg{'s' * (legs > 1)} at level "
                f"{level:g}: an end of the corrected interval needs at least {int(-(-needed // 1))}",
                places(prediction.path),
            )
        ]
    return []


def integrity(error: InputError) -> IntegrityError:
    """The same problems, found where they mean that something registered has changed."""
    return IntegrityError(*error.problems)
