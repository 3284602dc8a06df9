"""The shapes of attempts, witnesses and notes."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import Circumstances, Counts, Digest, Nonce
from prereg.validation import Bounds


class AttemptStart(Circumstances):
    """A start, written before the first record is read."""

    id: str
    registration: Digest
    registration_sha256: Digest
    kind: Literal["run"]
    nonce: Nonce
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
    attempts: Annotated[int, Bounds(ge=1)]
    registration: Digest


class Note(TypedDict):
    """A deviation that changes nothing."""

    registration: Digest
    attempt: Digest | None
    predictions: list[str]
    text: str
    after: list[Digest]
