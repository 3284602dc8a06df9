"""The shape of a rehearsal."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import Anticipated, Circumstances, Count, Nonce, Source, Tier
from prereg.validation import Bounds


class DrawnColumn(TypedDict):
    """How a column was drawn."""

    column: str
    drawn: str


class RehearsalStart(Circumstances):
    """A start of a rehearsal, written before the first record is read."""

    id: str
    kind: Literal["rehearsal"]
    protocol: Source
    nonce: Nonce
    draws: Annotated[int, Bounds(ge=1)]
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
    anticipated: Anticipated
    tier: Tier
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
