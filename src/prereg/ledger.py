"""A ledger: what a run of a registration found, one verdict per prediction; equal content has equal bytes."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

from prereg import documents
from prereg.dataclass import dataclass
from prereg.errors import IntegrityError, Place, Problem
from prereg.sealed import Layout

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "prereg-ledger/1"
FILE = Layout(FORMAT, "ledger")
DIGITS = 10
_LARGEST = 2**53 - 1


def shortened(value: Any) -> Any:
    """Plain values as a ledger writes them: numbers with ten significant digits, large whole numbers as text.

    Raises:
        ValueError: for NaN or an infinity, which are no values of a ledger.

    """
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else str(value)
    if not math.isfinite(value):
        raise ValueError(f"{value} is no value of a ledger")
    short = float(f"{value:.{DIGITS}g}") + 0.0
    if short.is_integer() and abs(short) > _LARGEST:
        return f"{short:.{DIGITS}g}"
    return short


def said(verdict: str, reason: str | None) -> str:
    """A verdict with its reason, in words."""
    return f"{verdict} ({reason})" if reason else verdict


@dataclass(frozen=True)
class Ledger:
    """One stored ledger."""

    content: dict[str, Any]
    envelope: dict[str, Any]
    digest: str
    name: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes of the file, circumstances included."""
        return hashlib.sha256(to_bytes(self.content, self.envelope)).hexdigest()


def to_bytes(content: dict[str, Any], envelope: dict[str, Any]) -> bytes:
    """The file of a ledger."""
    return FILE.to_bytes(content, envelope)


def read(path: Path, name: str) -> Ledger:
    """A ledger, its digest recomputed from the stored content.

    Raises:
        IntegrityError: where the digest is not that of the content, or the file is no ledger.
        MissingError: where there is no such file.

    """
    content, envelope, found = FILE.read(path, name)
    if envelope is None:
        raise IntegrityError(Problem("a ledger has an envelope", Place(name)))
    documents.check("ledger", {"content": content, "envelope": envelope}, name)
    _falsifiers(content, name)
    return Ledger(content, envelope, found, name)


def _falsifiers(content: dict[str, Any], name: str) -> None:
    """A falsifier is a condition on support, or a claim with all that was found about it.

    Raises:
        IntegrityError: where one is neither.

    """
    for entries in (content["predictions"], *(v["predictions"] for v in content["variants"])):
        for record in (entry["falsifier"] for entry in entries if entry["falsifier"] is not None):
            kind = "condition" if set(record) <= {"claim", "fired", "support"} else "counterclaim"
            documents.check(kind, {"falsifier": record}, name)
