"""The shape of a ledger."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import (
    Anticipated,
    Count,
    Counted,
    Counts,
    Digest,
    Interval,
    Kind,
    Number,
    Reason,
    RecordFile,
    State,
    TouchingChange,
    Verdict,
)
from prereg.validation import Text


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


class Share(TypedDict):
    """Evidence by a share of resamples."""

    support: float


class Leg(TypedDict):
    """What was found about a claim, or about one of its comparisons."""

    claim: str
    verdict: Verdict
    reason: Reason | None
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
    legs: NotRequired[list["Leg"]]


class Fired(TypedDict):
    """A falsifier: what it says, whether it fired; and, for a claim, what was found about it."""

    claim: str
    fired: bool


class Condition(Fired):
    """A falsifier that is a condition on support."""

    support: float


class VerdictBefore(TypedDict):
    """What this prediction came to under an earlier registration."""

    registration: Digest
    verdict: Verdict
    reason: str | None


class Entry(Leg):
    """One prediction, judged."""

    id: str
    anticipated: Anticipated
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
    value: Number | str | None
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

    name: Annotated[str, Text(r"^[a-z][a-z0-9_-]*\.(csv|jsonl)$")]
    sha256: Digest
    rows: Count


class LedgerAmends(TypedDict):
    """The amendment that was run."""

    digest: Digest
    reason: str
    seen: State


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
