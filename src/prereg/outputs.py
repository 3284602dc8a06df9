"""The shapes of what commands print with `--json`: one document per command, further keys allowed."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from prereg.documents.common import Count, Counts, Digest, TouchingChange, Verdict
from prereg.documents.ledger import LedgerAmends, LedgerContent
from prereg.documents.registration import Amends, RegistrationContent
from prereg.documents.rehearsals import BrokenDraws, DrawnColumn, Rehearsed
from prereg.json_schema import json_schema


class Problem(TypedDict):
    """Something that is wrong, or deserves a look, and where."""

    message: str
    file: str | None
    line: int | None
    column: int | None


class Refusal(TypedDict):
    """Any command that ended with a problem."""

    command: str
    exit_code: Literal[2, 3, 4]
    problems: list[Problem]


class Registered(TypedDict):
    """What is current under the id of a protocol, and whether it says the same."""

    digest: Digest
    same: bool


class Check(TypedDict):
    """`prereg check`."""

    command: Literal["check"]
    exit_code: Literal[0]
    protocol: str
    id: str
    warnings: list[Problem]
    predictions: Count
    metrics: Count
    records: Count
    units: Count
    policies: Count
    registered: Registered | None
    power: NotRequired[list[dict[str, Any]]]


class Lock(TypedDict):
    """`prereg lock`."""

    command: Literal["lock"]
    exit_code: Literal[0]
    id: str
    digest: Digest
    path: str
    new: bool
    warnings: list[Problem]
    power: NotRequired[list[dict[str, Any]] | None]


class Amend(TypedDict):
    """`prereg amend`."""

    command: Literal["amend"]
    exit_code: Literal[0]
    id: str
    digest: Digest
    path: str
    new: bool
    amends: Amends
    warnings: list[Problem]


class Noted(TypedDict):
    """A note beside verdicts."""

    file: str
    time: str
    registration: Digest
    attempt: Digest | None
    predictions: list[str]
    text: str


class Run(TypedDict):
    """One registration that was run."""

    id: str
    digest: Digest
    ledger: str
    outcome: Literal["written", "reproduced"]
    notes: list[str]
    fell_short: list[str]
    noted: list[Noted]
    content: LedgerContent


class Runs(TypedDict):
    """`prereg run`."""

    command: Literal["run"]
    exit_code: Literal[0, 1]
    runs: list[Run]


class ShownRegistration(TypedDict):
    """`prereg show` of a registration."""

    command: Literal["show"]
    exit_code: Literal[0]
    kind: Literal["registration"]
    digest: Digest
    content: RegistrationContent
    noted: list[Noted]


class ShownLedger(TypedDict):
    """`prereg show` of a ledger."""

    command: Literal["show"]
    exit_code: Literal[0]
    kind: Literal["ledger"]
    digest: Digest
    content: LedgerContent
    noted: list[Noted]


class ShownPolicy(TypedDict):
    """`prereg show --policy`."""

    command: Literal["show"]
    exit_code: Literal[0]
    kind: Literal["policies"]
    rows: list[dict[str, str]]
    thresholds: list[dict[str, str]]


class Note(TypedDict):
    """`prereg note`, and a note wherever one is shown."""

    command: Literal["note"]
    exit_code: Literal[0]
    id: str
    digest: Digest
    file: str
    time: str
    registration: Digest
    attempt: Digest | None
    predictions: list[str]
    text: str


class Step(TypedDict):
    """One check of `verify`; number 0 is of the project as a whole."""

    number: Count
    check: str
    state: Literal["ok", "cosmetic", "unchecked", "partial", "missing", "FAILED"]
    detail: str


class Verified(TypedDict):
    """The checks of one registration; `digest` is null where it cannot be read, and for the project."""

    id: str
    digest: Digest | None
    file: str
    checks: list[Step]


class Verify(TypedDict):
    """`prereg verify`."""

    command: Literal["verify"]
    exit_code: Literal[0, 3, 4]
    verified: list[Verified]


class Before(TypedDict):
    """Another registration of the same records."""

    id: str
    digest: Digest
    files: list[str]
    verdicts: dict[str, str] | None


class Standing(TypedDict):
    """Where one registration stands."""

    id: str
    digest: str
    name: str
    locked: str
    state: Literal["judged", "never run", "started, never finished", "ledger gone", "damaged"]
    superseded_by: str | None
    amends: Digest | None
    attempts: dict[str, Count]
    counts: Counts | None
    shared: list[Before]
    problem: str | None


class Status(TypedDict):
    """`prereg status`."""

    command: Literal["status"]
    exit_code: Literal[0, 3]
    registrations: list[Standing]


class Stamp(TypedDict):
    """`prereg stamp import`."""

    command: Literal["stamp"]
    exit_code: Literal[0]
    id: str
    digest: Digest
    path: str
    new: bool


class Base(TypedDict):
    """What was compared with."""

    kind: Literal["folder", "git"]
    name: str
    commit: str | None


class Finding(TypedDict):
    """Something that `diff` found."""

    level: Literal["integrity", "missing", "verdict", "warning", "note"]
    kind: str
    message: str
    id: str | None
    registration: str | None
    prediction: str | None
    file: str | None
    line: int | None


class BaseVerdict(TypedDict):
    """What the base says of a prediction."""

    verdict: Verdict
    reason: str | None
    point: float | str | None
    interval: list[Any] | None
    n: Any


class Compared(TypedDict):
    """One prediction, now and in the base."""

    id: str
    claim: str
    verdict: Verdict
    reason: str | None
    anticipated: Literal["held", "failed", "falsified", "open"]
    surprise: bool
    guard: bool
    base: BaseVerdict | None
    changed: bool
    fell_short: list[str]
    deviated: NotRequired[bool]
    deviations: NotRequired[list[TouchingChange]]
    noted: list[Noted]
    line: int | None


class ComparedLedger(TypedDict):
    """One ledger, now and in the base."""

    id: str
    registration: Digest
    title: str
    ledger: str
    headline: str | None
    counts: Counts
    base_registration: Digest | None
    amends: LedgerAmends | None
    notes: list[Noted]
    predictions: list[Compared]
    data: Literal["verified", "unchecked", "changed"]
    whole: bool


class DiffSummary(TypedDict):
    """How many ledgers and findings; verdicts of primary predictions that are no guards."""

    ledgers: Count
    held: Count
    failed: Count
    falsified: Count
    surprises: Count
    changed: Count
    fell_short: Count
    integrity: Count
    missing: Count


class Diff(TypedDict):
    """`prereg diff`."""

    command: Literal["diff"]
    exit_code: Literal[0, 1, 3, 4]
    base: Base | None
    tolerance: float
    fail_on: list[str]
    summary: DiffSummary
    findings: list[Finding]
    ledgers: list[ComparedLedger]


class Rehearse(TypedDict):
    """`prereg rehearse`: how often each prediction came out which way on drawn outcomes."""

    command: Literal["rehearse"]
    exit_code: Literal[0]
    id: str
    rehearsal: str
    time: str
    outcome: Literal["finished"]
    read: list[str]
    drawn: list[DrawnColumn]
    judged: Count
    broken: BrokenDraws
    predictions: list[Rehearsed]


OUTPUTS: dict[str, Any] = {
    "check": Check | Refusal,
    "lock": Lock | Refusal,
    "amend": Amend | Refusal,
    "run": Runs | Refusal,
    "show": ShownRegistration | ShownLedger | ShownPolicy | Refusal,
    "note": Note | Refusal,
    "verify": Verify | Refusal,
    "status": Status | Refusal,
    "stamp": Stamp | Refusal,
    "diff": Diff | Refusal,
    "rehearse": Rehearse | Refusal,
}
"""By command: its document, or a refusal."""


def output_schema(command: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what a command prints with `--json`."""
    tree = json_schema(OUTPUTS[command])
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    tree["title"] = f"prereg {command} --json"
    return tree
