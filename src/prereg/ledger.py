"""A ledger: what a run of a registration found, one verdict per prediction; equal content has equal bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prereg import canonical, formats
from prereg.errors import InputError, IntegrityError, MissingError, Place, Problem
from prereg.registration import check_format

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "prereg-ledger/1"
KIND = "ledger"
DIGITS = 10
_LARGEST = 2**53 - 1
_MOST_BYTES = 200_000_000


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


@dataclass(frozen=True)
class Ledger:
    """One stored ledger."""

    content: dict[str, Any]
    envelope: dict[str, Any]
    digest: str
    name: str


def to_bytes(content: dict[str, Any], envelope: dict[str, Any]) -> bytes:
    """The file of a ledger."""
    digest = canonical.digest(KIND, content)
    return formats.dump_json({"format": FORMAT, "digest": digest, "content": content, "envelope": envelope})


def read(path: Path, name: str) -> Ledger:
    """A ledger, its digest recomputed from the stored content.

    Raises:
        IntegrityError: where the digest is not that of the content, or the file is no ledger.
        MissingError: where there is no such file.

    """
    place = Place(name)
    try:
        tree = check_format(formats.read_json(path, name, max_bytes=_MOST_BYTES), FORMAT, name)
    except MissingError:
        raise
    except InputError as error:
        raise IntegrityError(*error.problems) from None
    content, envelope = tree.get("content"), tree.get("envelope")
    if (
        not isinstance(content, dict)
        or not isinstance(envelope, dict)
        or set(tree) != {"format", "digest", "content", "envelope"}
    ):
        raise IntegrityError(Problem("a ledger holds format, digest, content and envelope", place))
    found = canonical.digest(KIND, content)
    if tree.get("digest") != found:
        raise IntegrityError(Problem("the content does not have the digest the file gives for it", place))
    return Ledger(content, envelope, found, name)
