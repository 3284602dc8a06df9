"""One content has one byte form (RFC 8785), and a digest says of which kind the content is."""

from __future__ import annotations

import hashlib
import re
import stat
from typing import TYPE_CHECKING

import rfc8785

from prereg.errors import InputError, MissingError, Place, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["canonical", "digest", "file_digest"]

# The kind is part of what is hashed and ends at a NUL, so it must not hold one.
_KIND = re.compile(r"[a-z][a-z0-9-]*")


def canonical(tree: object) -> bytes:
    """Return the RFC 8785 canonical form of a tree of plain JSON values.

    Raises InputError for what has no canonical form: NaN and infinities, integers beyond 2^53 - 1, keys that
    are no text, lone surrogates, values of any other type, and trees nested too deeply to walk.
    """
    try:
        return rfc8785.dumps(tree)  # type: ignore[arg-type]  # refuses, by name, what it cannot hold
    except RecursionError as error:
        raise InputError("no canonical form (RFC 8785): nested too deeply") from error
    except ValueError as error:
        raise InputError(f"no canonical form (RFC 8785): {error}") from error


def digest(kind: str, tree: object) -> str:
    """Return the SHA-256, in hex, of `prereg/<kind>`, a NUL and the canonical form of `tree`.

    Trees of two kinds never collide, even when they are equal. Raises InputError as `canonical` does.
    """
    if not _KIND.fullmatch(kind):
        raise ValueError(f"a kind is lower-case letters, digits and hyphens, not {kind!r}")
    return hashlib.sha256(b"prereg/" + kind.encode() + b"\0" + canonical(tree)).hexdigest()


def file_digest(path: Path, name: str | None = None, most: int | None = None) -> tuple[str, int]:
    """Return the SHA-256 of a file, in hex, and the number of bytes that were hashed.

    Bytes are taken as they are: no line ending or byte order mark is touched. `name` is what errors call the
    file; one of more than `most` bytes is not read. Raises MissingError where there is none, InputError where
    it cannot be read, is too large or no regular file.
    """
    place = Place(str(path) if name is None else name)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(Problem("not a regular file", place))
        if most is not None and found.st_size > most:
            raise InputError(Problem(f"{found.st_size} bytes are too many: at most {most} are read", place))
        with path.open("rb") as file:
            value = hashlib.file_digest(file, "sha256").hexdigest()
            return value, file.tell()
    except FileNotFoundError as error:
        raise MissingError(Problem("no such file", place)) from error
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror or error}", place)) from error
    except ValueError as error:  # a NUL in the path
        raise InputError(Problem(f"cannot be read: {error}", place)) from error
