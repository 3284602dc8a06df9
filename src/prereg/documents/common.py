"""What the shapes of several kinds of files have in common."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

from typing import Annotated, Literal

from typing_extensions import TypedDict

from prereg.validation import Bounds, Length, Text

Digest = Annotated[str, Text("^[0-9a-f]{64}$")]
Nonce = Annotated[str, Text("^[0-9a-f]{8}$")]
Count = Annotated[int, Bounds(ge=0)]
Number = float | Annotated[str, Text(r"^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$")]
"""Whole numbers beyond 2^53 are texts."""
Interval = Annotated[list[Number | None], Length(2, 2)]
Verdict = Literal["held", "failed", "falsified"]
Reason = Literal[
    "short", "contrary", "undefined", "no_variation", "not_measured", "not_applicable", "variants_disagree"
]
Anticipated = Literal["held", "failed", "falsified", "open"]
Tier = Literal["primary", "secondary", "exploratory"]
Kind = Literal["interval", "point", "support", "exact"]
Counted = int | list[int] | None
Samples = Literal["first", "all", "majority", "mean", "any_true", "all_true"]
State = Literal["nothing run", "run started", "results written"]


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


class Counts(TypedDict):
    """Primary predictions that are no guards."""

    held: Count
    failed: Count
    falsified: Count
    surprises: Count


class TouchingChange(TypedDict):
    """A change that touches a verdict."""

    amends: Digest
    path: str
    direction: Literal["weaker", "stronger", "changed"]


class RecordFile(TypedDict):
    """One file of records."""

    path: str
    bytes: Count
    sha256: Digest
    rows: Count
