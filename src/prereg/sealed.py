"""Files in two parts, each under its own digest: what is promised or found, and the circumstances around it.

The digest of the content is its name everywhere.  The circumstances have a digest only so that a changed
byte is seen; nothing else hangs on it.  A file must be exactly what this version of its format writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import canonical, formats
from prereg.dataclass import dataclass
from prereg.errors import InputError, IntegrityError, MissingError, Place, PreregError, Problem

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 200_000_000


@dataclass(frozen=True)
class Layout:
    """A kind of file: its format and version, what its content is hashed as, and the names of its parts."""

    format: str
    kind: str
    content: str = "content"
    around: str = "envelope"

    def keys(self) -> list[str]:
        """The keys of a file, in order."""
        return ["format", "digest", self.content, f"{self.around}_digest", self.around]

    def digest(self, content: object) -> str:
        """The digest of a content."""
        return canonical.digest(self.kind, content)

    def to_bytes(self, content: dict[str, Any], around: dict[str, Any] | None) -> bytes:
        """The file."""
        return self._file(content, around, self.digest(content), self._seal(around))

    def _seal(self, around: object) -> str:
        return canonical.digest(f"{self.kind}-{self.around}", around)

    def _file(self, content: object, around: object, digest: str, seal: str) -> bytes:
        values = [self.format, digest, content, seal, around]
        return formats.dump_json(dict(zip(self.keys(), values, strict=True)))

    def read(self, path: Path, name: str) -> tuple[dict[str, Any], dict[str, Any] | None, str]:
        """Content, circumstances and digest of a file.

        Raises:
            IntegrityError: where a digest is not that of its part, or the file is not as prereg writes it.
            MissingError: where there is no such file.

        """
        place = Place(name)
        try:
            data = formats.read_bytes(path, name, _MOST_BYTES)
            tree = check_format(formats.read_json(data, name, max_bytes=_MOST_BYTES), self.format, name)
        except MissingError:
            raise
        except InputError as error:
            raise IntegrityError(*error.problems) from None
        content, around = tree.get(self.content), tree.get(self.around)
        if list(tree) != self.keys() or not isinstance(content, dict) or not isinstance(around, dict | None):
            raise IntegrityError(Problem(f"the file holds {', '.join(self.keys())}, in this order", place))
        try:
            found, seal = self.digest(content), self._seal(around)
        except PreregError as error:
            raise IntegrityError(Problem(f"no canonical form: {error}", place)) from None
        for part, given, own in (
            (self.content, tree["digest"], found),
            (self.around, tree[f"{self.around}_digest"], seal),
        ):
            if given != own:
                raise IntegrityError(
                    Problem(
                        f"`{part}` was changed: its digest is {own[:12]}…, the file says {str(given)[:12]}…",
                        place,
                    )
                )
        if data != self._file(content, around, found, seal):
            raise IntegrityError(
                Problem("the file is not written as prereg writes it: some byte was changed", place)
            )
        return content, around, found


def check_format(tree: object, wanted: str, name: str) -> dict[str, Any]:
    """The tree of a file of a known format.

    Raises:
        IntegrityError: for another file, with the word `upgrade` for one from a newer version.

    """
    place = Place(name)
    if not isinstance(tree, dict) or not isinstance(tree.get("format"), str):
        raise IntegrityError(
            Problem(f"this is no {wanted.split('/', maxsplit=1)[0]} file: it names no format", place)
        )
    kind, _, version = tree["format"].partition("/")
    known, _, current = wanted.partition("/")
    if kind != known:
        raise IntegrityError(Problem(f"found the format `{tree['format'][:60]}`, expected `{wanted}`", place))
    if version != current:
        newer = version.isdecimal() and int(version[:9]) > int(current)
        hint = "upgrade prereg to read it" if newer else f"expected version {current}"
        raise IntegrityError(Problem(f"the format `{tree['format'][:60]}` is not known here; {hint}", place))
    return tree
