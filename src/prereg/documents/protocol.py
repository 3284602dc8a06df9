"""The shape of a stored protocol, its defaults written out."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import (
    Anticipated,
    Count,
    Kind,
    Samples,
    Tier,
)
from prereg.validation import Bounds, Length, Text


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
    arm: Annotated[list[str], Length(1)]
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

    resamples: Annotated[int, Bounds(ge=1, le=1_000_000)]
    seed: Count
    level: Annotated[float, Bounds(gt=0, lt=1)]
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
    anticipate: Anticipated
    given: list[str] | None
    gate: bool
    each: list[EachPair] | None
    agree: list[str] | None
    family: str | None
    tier: Tier
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
    id: Annotated[str, Text(r"^[a-z0-9]+([-_.][a-z0-9]+)*$", 64)]
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
