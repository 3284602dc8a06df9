"""A number is the decimal that is written: a literal that a double would change is refused, never rounded."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

__all__ = ["LARGEST", "exact_float", "exact_integer", "shown"]

# The largest integer that RFC 8785 writes: every whole number up to it is a double, and so is its successor.
LARGEST = 2**53 - 1


def exact_integer(text: str) -> int:
    """Return the integer that a decimal literal says. Raises ValueError beyond 2^53 - 1."""
    # Literals too long to be in range are not converted: Python refuses to read thousands of digits.
    if len(text) > len(str(LARGEST)) + 1 or abs(value := int(text)) > LARGEST:
        raise ValueError(f"{shown(text)} is beyond 2^53 - 1, the largest whole number that is kept exactly")
    return value


def exact_float(text: str) -> float:
    """Return the double whose shortest form has the decimal value of a literal; -0.0 is 0.0.

    Raises ValueError where there is none: too many digits, too large, or too small.
    """
    value = float(text)
    written = repr(value)
    if written == text:
        return value + 0.0
    if math.isinf(value):
        raise ValueError(f"{shown(text)} is larger than any double")
    try:
        exact = Decimal(written) == Decimal(text)
    except InvalidOperation:  # an exponent that even Decimal cannot hold
        exact = False
    if not exact and value == 0:
        raise ValueError(f"{shown(text)} is smaller than any double")
    if not exact:
        raise ValueError(f"{shown(text)} has more digits than a double holds: it would be read as {written}")
    return value + 0.0


def shown(text: str) -> str:
    """Return `text` in backquotes, cut where it would fill a message."""
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}...`"
