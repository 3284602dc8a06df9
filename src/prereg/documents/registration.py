"""The shape of a registration."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import (
    Circumstances,
    Count,
    Counts,
    Digest,
    RecordFile,
    Source,
    State,
    TouchingChange,
    Verdict,
)
from prereg.documents.protocol import StoredProtocol


class RegistrationEnvelope(Circumstances):
    """The circumstances of a lock."""

    protocol: Source


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

    state: State
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
