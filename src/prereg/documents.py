"""The shapes of what is stored: a file with a valid digest may hold anything, and is refused by its shape.

Types and required keys are strict; further keys are allowed, so that what a later version adds can be read.
Whether a stored protocol makes sense is not said here: `stored` and `resolve` say it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from prereg.errors import IntegrityError, Place, Problem
from prereg.numerals import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 10

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Number = float | str
"""Whole numbers beyond 2^53 are texts."""
Interval = Annotated[list[Number | None], Field(min_length=2, max_length=2)]
Verdict = Literal["held", "failed", "falsified"]
Kind = Literal["interval", "point", "support", "exact"]
Counted = int | list[int] | None
Samples = Literal["first", "all", "majority", "mean", "any_true", "all_true"]


# -- circumstances


class Circumstances(TypedDict):
    """When and with what; no digest that anything hangs on covers it."""

    time: str
    prereg: str
    python: str
    numpy: str
    platform: str
    commit: str | None
    sources: Digest


class Source(TypedDict):
    """The protocol file that was locked."""

    path: str
    sha256: Digest


class RegistrationEnvelope(Circumstances):
    """The circumstances of a lock."""

    protocol: Source


# -- the stored protocol


class Pair(TypedDict):
    """One entry of a mapping whose order counts."""

    name: str
    value: Any


class TextPair(TypedDict):
    """One entry of a mapping to texts."""

    name: str
    value: str


class StoredData(TypedDict):
    """Which records are read."""

    records: list[str] | None
    collect: str | None
    problems: list[str] | None
    labels: str | None
    engines: dict[str, dict[str, int | str]] | None
    arm: Annotated[list[str], Field(min_length=1)]
    unit: str
    dataset: str | None
    sample: str | None
    samples: Samples | None
    units: Literal["common", "all", "separate"]
    columns: list[TextPair]
    types: list[TextPair]
    derive: list[TextPair]
    where: str | None
    guards: list[str] | None
    prospective: bool
    arms: list[str] | None
    least_units: Count | None


class SharePair(TypedDict):
    """One part and its share of the units."""

    name: str
    value: float


class StoredSplit(TypedDict):
    """Which unit belongs to which part."""

    parts: list[SharePair] | None
    column: str | None
    stratify: list[str] | None
    group: str | None
    seed: Count | None
    default: str | None


class StoredPolicies(TypedDict):
    """How policies are formed."""

    gate: list[dict[str, Any]]
    threshold: dict[str, Any] | None
    degenerate: list[Literal["always", "never"]]
    exclude: str | None


class StoredMetric(TypedDict):
    """One metric, its parameters written out."""

    name: str
    kind: str
    version: int
    parameters: dict[str, Any]
    part: str | None
    among: str | None
    per: str | None
    each: NotRequired[list[Pair] | None]
    show: str | None


class StoredResampling(TypedDict):
    """How units are drawn again."""

    resamples: Annotated[int, Field(ge=1, le=1_000_000)]
    seed: Count
    level: Annotated[float, Field(gt=0, lt=1)]
    stratify: list[str] | None
    cluster: str | None
    parts: list[str] | None
    reselect: NotRequired[bool]


class StoredEvidence(TypedDict):
    """What a verdict needs."""

    kind: Kind
    support: float | None


class EachPair(TypedDict):
    """A factor and its values; null for all."""

    name: str
    value: list[str] | None


class StoredPrediction(TypedDict):
    """One prediction."""

    id: str
    claim: str
    evidence: StoredEvidence
    level: float | None
    falsified_if: str | None
    anticipate: Literal["held", "failed", "falsified", "open"]
    given: list[str] | None
    gate: bool
    each: list[EachPair] | None
    agree: list[str] | None
    family: str | None
    tier: Literal["primary", "secondary", "exploratory"]
    because: str | None


class StoredVariant(TypedDict):
    """Another reading of the records."""

    name: str
    where: str | None
    exclude: str | None
    samples: Samples | None
    metrics: list[StoredMetric]
    let: list[TextPair]


class StoredOutcome(TypedDict):
    """A headline rule."""

    when: str
    then: str


class StoredProtocol(TypedDict):
    """A protocol with its defaults written out."""

    prereg: Literal[1]
    id: Annotated[str, Field(pattern=r"^[a-z0-9]+([-_.][a-z0-9]+)*$", max_length=64)]
    title: str
    question: str | None
    authors: list[str] | None
    notes: str | None
    data: StoredData
    split: StoredSplit | None
    policies: StoredPolicies
    metrics: list[StoredMetric]
    let: list[TextPair]
    resampling: StoredResampling | None
    predictions: list[StoredPrediction]
    reports: list[TextPair]
    variants: list[StoredVariant]
    outcomes: list[StoredOutcome]


# -- registration


class RecordFile(TypedDict):
    """One file of records."""

    path: str
    bytes: Count
    sha256: Digest
    rows: Count


class RegisteredData(TypedDict):
    """The records."""

    prospective: bool
    files: list[RecordFile]
    base: NotRequired[str]
    collector: NotRequired[dict[str, Any]]


class Column(TypedDict):
    """A column and its type."""

    name: str
    type: Literal["text", "number", "truth", "name"]


class Factor(TypedDict):
    """What tells policies apart."""

    name: str
    values: list[str]


class Units(TypedDict):
    """Units of one dataset."""

    dataset: str | None
    arm: NotRequired[list[str]]
    arms: Count
    units: Count
    samples: Count


class SplitCount(TypedDict):
    """Units of one part and stratum."""

    dataset: str | None
    part: str
    stratum: str | None
    units: Count
    arm: NotRequired[list[str]]


class RegisteredSplit(TypedDict):
    """The split as it came out."""

    parts: list[str]
    digest: Digest
    counts: list[SplitCount]


class Stream(TypedDict):
    """The identity of a random stream."""

    dataset: str | None
    part: str | None
    words: list[str]
    arm: NotRequired[list[str]]


class RegisteredVariant(TypedDict):
    """Units and split of a variant."""

    name: str
    units: list[Units]
    split: RegisteredSplit | None


class Parts(TypedDict):
    """Versions of what is built in."""

    language: int
    metrics: dict[str, int]
    split: int
    resample: int
    gate: int
    judge: int


class FieldChange(TypedDict):
    """One field that an amendment changes; what it was or became is absent where there is none."""

    path: str
    direction: Literal["weaker", "stronger", "changed"]
    before: NotRequired[Any]
    after: NotRequired[Any]


class Superseded(TypedDict):
    """Another registration that an amendment takes the place of."""

    digest: Digest
    changes: list[FieldChange]


class TouchingChange(TypedDict):
    """A change that touches a verdict."""

    amends: Digest
    path: str
    direction: Literal["weaker", "stronger", "changed"]


class Touched(TypedDict):
    """A prediction whose verdict an amendment touches."""

    prediction: str
    changes: list[TouchingChange]


class SeenAttempts(TypedDict):
    """Attempts of one kind."""

    kind: str
    started: Count
    results: Count


class SeenVerdict(TypedDict):
    """A verdict that was known."""

    prediction: str
    verdict: Verdict
    reason: str | None


class SeenRecords(TypedDict):
    """A registration of this id or over the same records, and what had come of it."""

    id: str
    registration: Digest
    state: Literal["nothing run", "run started", "results written", "damaged"]
    files: list[str]
    counts: Counts | None
    verdicts: list[SeenVerdict] | None


class Seen(TypedDict):
    """What had been seen when an amendment was made."""

    state: Literal["nothing run", "run started", "results written"]
    attempts: list[SeenAttempts]
    judged: list[SeenRecords]


class Amends(TypedDict):
    """What an amendment changes, why, and what had been seen."""

    digest: Digest
    reason: str
    changes: list[FieldChange]
    supersedes: list[Superseded]
    touched: list[Touched]
    seen: Seen


class RegistrationContent(TypedDict):
    """What was promised."""

    protocol: StoredProtocol
    data: RegisteredData
    columns: list[Column]
    factors: list[Factor]
    units: list[Units]
    split: RegisteredSplit | None
    streams: list[Stream]
    variants: list[RegisteredVariant]
    parts: Parts
    amends: NotRequired[Amends]


# -- ledger


class Bound(TypedDict):
    """The registration that was run."""

    id: str
    digest: Digest


class ArmUnits(TypedDict):
    """Units of one arm."""

    arm: dict[str, str]
    units: Count
    dropped: Count
    dropped_share: float


class LedgerData(TypedDict):
    """The records as they were found."""

    files: list[RecordFile]
    arms: list[ArmUnits]


class Counts(TypedDict):
    """Primary predictions that are no guards."""

    held: Count
    failed: Count
    falsified: Count
    surprises: Count


class Share(TypedDict):
    """Evidence by a share of resamples."""

    support: float


class Leg(TypedDict):
    """What was found about a claim, or about one of its comparisons."""

    claim: str
    verdict: Verdict
    reason: str | None
    evidence: Kind | Share
    left: Number | None
    right: Number | None
    point: Number | None
    interval: Interval | None
    level: float | None
    support: float | None
    resamples: Count
    resamples_defined: Count
    n: Counted
    n_undefined: Counted
    unpaired: bool
    undefined_because: NotRequired[str]
    p: NotRequired[float]
    p_adjusted: NotRequired[float]
    interval_corrected: NotRequired[Interval | None]
    level_corrected: NotRequired[float]
    legs: NotRequired[list[Leg]]


class Fired(TypedDict):
    """A falsifier: what it says, whether it fired; and, for a claim, what was found about it."""

    claim: str
    fired: bool


class VerdictBefore(TypedDict):
    """What this prediction came to under an earlier registration."""

    registration: Digest
    verdict: Verdict
    reason: str | None


class Entry(Leg):
    """One prediction, judged."""

    id: str
    anticipated: Literal["held", "failed", "falsified", "open"]
    surprise: bool
    guard: bool
    falsifier: Fired | None
    tier: NotRequired[Literal["secondary", "exploratory"]]
    gate: NotRequired[bool]
    family: NotRequired[str]
    deviated: NotRequired[bool]
    deviations: NotRequired[list[TouchingChange]]
    verdicts_before: NotRequired[list[VerdictBefore]]


class LedgerVariant(TypedDict):
    """Every prediction under a variant."""

    name: str
    counts: Counts
    predictions: list[Entry]


class ReportValue(TypedDict):
    """An estimate for one policy."""

    policy: list[str]
    value: Number | None
    interval: Interval | None
    resamples_defined: Count
    n: Counted
    reason: str | None


class Report(TypedDict):
    """Estimates without a verdict."""

    id: str
    expression: str
    factors: list[str]
    level: float | None
    values: list[ReportValue]


class TableFile(TypedDict):
    """A table beside the ledger."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*\.(csv|jsonl)$")]
    sha256: Digest
    rows: Count


class LedgerAmends(TypedDict):
    """The amendment that was run."""

    digest: Digest
    reason: str
    seen: Literal["nothing run", "run started", "results written"]


class LedgerContent(TypedDict):
    """What was found."""

    format: Literal["prereg-ledger/1"]
    registration: Bound
    data: LedgerData
    counts: Counts
    headline: str | None
    predictions: list[Entry]
    variants: list[LedgerVariant]
    excluded: list[dict[str, str]]
    reports: list[Report]
    amends: NotRequired[LedgerAmends]
    tables: list[TableFile]


# -- attempts, witnesses and notes


class AttemptStart(Circumstances):
    """A start, written before the first record is read."""

    id: str
    registration: Digest
    registration_sha256: Digest
    kind: str
    nonce: Annotated[str, Field(pattern="^[0-9a-f]{8}$")]
    after: list[Digest]
    damaged: NotRequired[str]


class SealedTable(TypedDict):
    """A table as it was written."""

    name: str
    sha256: Digest


class AttemptEnd(TypedDict):
    """What came of an attempt."""

    time: str
    outcome: Literal["written", "reproduced", "refused", "stopped"]
    exit_code: NotRequired[int]
    message: NotRequired[str]
    ledger: NotRequired[Digest]
    ledger_sha256: NotRequired[Digest]
    tables: NotRequired[list[SealedTable]]
    counts: NotRequired[Counts]


class Witness(TypedDict):
    """That there is an attempt, said in a second place."""

    attempt: Digest
    attempts: Annotated[int, Field(ge=1)]
    registration: Digest


class Note(TypedDict):
    """A deviation that changes nothing."""

    registration: Digest
    attempt: Digest | None
    predictions: list[str]
    text: str
    after: list[Digest]


class DrawnColumn(TypedDict):
    """How a column was drawn."""

    column: str
    drawn: str


class RehearsalStart(Circumstances):
    """A start of a rehearsal, written before the first record is read."""

    id: str
    kind: Literal["rehearsal"]
    protocol: Source
    nonce: Annotated[str, Field(pattern="^[0-9a-f]{8}$")]
    draws: Annotated[int, Field(ge=1)]
    seed: Count
    known: list[str]
    given: list[DrawnColumn]


class BrokenDraws(TypedDict):
    """Draws that came to nothing."""

    draws: Count
    message: str | None


class Rehearsed(TypedDict):
    """How often a prediction came out which way."""

    id: str
    claim: str
    anticipated: Literal["held", "failed", "falsified", "open"]
    tier: Literal["primary", "secondary", "exploratory"]
    guard: bool
    held: Count
    failed: dict[str, Count]
    falsified: Count
    constant: Literal["held", "falsified", "undefined"] | None


class RehearsalEnd(TypedDict):
    """What came of a rehearsal: never evidence."""

    time: str
    outcome: Literal["finished", "refused", "stopped"]
    exit_code: NotRequired[int]
    message: NotRequired[str]
    read: NotRequired[list[str]]
    drawn: NotRequired[list[DrawnColumn]]
    judged: NotRequired[Count]
    broken: NotRequired[BrokenDraws]
    predictions: NotRequired[list[Rehearsed]]


SHAPES: dict[str, dict[str, Any]] = {
    "registration": {"content": RegistrationContent, "envelope": RegistrationEnvelope},
    "ledger": {"content": LedgerContent, "envelope": Circumstances},
    "attempt": {"start": AttemptStart, "end": AttemptEnd | None},
    "witness": {"content": Witness, "envelope": None},
    "note": {"content": Note, "envelope": dict[str, Any]},
    "rehearsal": {"start": RehearsalStart, "end": RehearsalEnd | None},
}
"""The parts of each kind of file."""


@functools.cache
def _adapter(kind: str, part: str) -> TypeAdapter[Any]:
    return TypeAdapter(SHAPES[kind][part])


def check(kind: str, parts: dict[str, Any], name: str) -> None:
    """Refuse a file whose parts do not have the shape of their kind.

    Raises:
        IntegrityError: what is malformed and where, at most ten of them.

    """
    problems: list[Problem] = []
    for part, tree in parts.items():
        try:
            _adapter(kind, part).validate_python(tree, strict=True)
        except ValidationError as error:
            problems += [Problem(f"malformed: {said}", Place(name)) for said in _said(part, error)]
    if problems:
        raise IntegrityError(*list(dict.fromkeys(problems))[:_MOST])


def _said(part: str, error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False)[:_MOST]:
        where = part
        for step in item["loc"]:
            where += f"[{step}]" if isinstance(step, int) else f".{step}"
        why = "is missing" if item["type"] == "missing" else f"is not as expected: {item['msg']}"
        yield f"{shown(where)} {why}"


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of file."""
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {"format": {"const": f"prereg-{kind}/1"}, "digest": _DIGEST}
    for part in SHAPES[kind]:
        tree = _adapter(kind, part).json_schema(ref_template="#/$defs/{model}")
        definitions |= tree.pop("$defs", {})
        first = next(iter(SHAPES[kind])) == part
        properties |= {part: tree} if first else {f"{part}_digest": _DIGEST, part: tree}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"prereg {kind}, version 1",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": definitions,
    }


_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
