"""What people write for people: a reason, a note; it must say something and be printable."""

from __future__ import annotations

import re
import unicodedata

from prereg.errors import InputError

PLACEHOLDER = re.compile(r"\b(TBD|TODO|FIXME|XXX)\b|<[^<>]{0,60}>|\?\?\?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 4000


def prose(text: str, what: str) -> str:
    """A text that somebody wrote, blanks at its ends taken off.

    Raises:
        InputError: where it is empty, a placeholder, or holds what cannot be printed.

    """
    text = unicodedata.normalize("NFC", text).strip()
    if not any(c.isalnum() for c in text):
        raise InputError(f"prereg: the {what} is empty: say it in words")
    found = PLACEHOLDER.search(text)
    if found:
        raise InputError(f"prereg: the {what} holds a placeholder: `{found.group()}`")
    if _CONTROL.search(text):
        raise InputError(f"prereg: the {what} holds a control character")
    if len(text) > _LONGEST:
        raise InputError(f"prereg: the {what} has {len(text)} characters, at most {_LONGEST} are kept")
    return text
