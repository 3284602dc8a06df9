"""A tree of plain values that still knows where every value, key and character of it was written."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, TypeAlias

from prereg.dataclass import dataclass, field
from prereg.errors import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Document", "Node", "Source", "Steps", "Tree"]

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool | None"
Steps: TypeAlias = tuple[str | int, ...]

# What YAML may fold, strip or add between the words of a scalar; everything else it keeps, in order.
_BLANK = " \t\n"

# The escapes of double-quoted scalars that stand for a blank; `\x`, `\u`, `\U` are read as numbers.
_BLANK_ESCAPES = "tn \t"
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


class Source:
    """The text of a file, with line ends as newlines, and the places of its characters."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def place(self, index: int) -> Place:
        """Return line and column of the character at `index`, at most of the end of what is written."""
        if index >= len(self.text):
            index = len(self.text.rstrip())
        line = bisect_right(self._starts, index)
        return Place(self.name, line, index - self._starts[line - 1] + 1)

    def line(self, index: int) -> str:
        """Return the whole line that holds the character at `index`."""
        line = bisect_right(self._starts, min(index, len(self.text)))
        return self.text[self._starts[line - 1] : self._starts[line] - 1]


@dataclass(frozen=True)
class Node:
    """Where one value was written: indices into the source text, and for scalars the style and the text."""

    start: int
    key_start: int | None = None
    style: str = ""  # "" for plain scalars and collections, else one of ' " | >
    scalar: str | None = None  # the text of a scalar before it is resolved; None for collections


@dataclass(frozen=True)
class Document:
    """What was read, and the way back from any part of it to its place in the file."""

    tree: Tree
    source_text: Source = field(repr=False)
    nodes: Mapping[Steps, Node] = field(repr=False)

    @property
    def name(self) -> str:
        """What errors call the file."""
        return self.source_text.name

    def place(self, path: Steps, key: bool = False, offset: int | None = None) -> Place:
        """Return the place of the value (or of its key) at a path of keys and list positions.

        Steps that lead nowhere are skipped, so a path to a missing key gives the place of what it is missing
        from, and the branch names that validators put into paths do no harm. `offset` is an index into the
        text of a scalar and is followed through folding, quotes and escapes to the character in the file.
        Without it the place is where the value begins, which for quoted text is its quote.
        """
        found: Steps = ()
        for step in path:
            if (*found, step) in self.nodes:
                found = (*found, step)
        node = self.nodes[found]
        if key and node.key_start is not None:
            return self.source_text.place(node.key_start)
        index = node.start
        if offset is not None and len(found) == len(path):
            index = self._index(node, offset)
        return self.source_text.place(index)

    def source(self, path: Steps) -> str:
        """Return the text of the scalar at `path` as its author wrote it: `0.50` and `true` stay as they are.

        Quotes, folding and escapes are taken off. Raises KeyError if there is no scalar.
        """
        scalar = self.nodes[path].scalar
        if scalar is None:
            raise KeyError(path)
        return scalar

    def _index(self, node: Node, offset: int) -> int:
        """Return the index in the source of the character at `offset` of a scalar."""
        scalar = node.scalar
        if scalar is None:
            return node.start
        text = self.source_text.text
        begin = node.start + (1 if node.style in ("'", '"') else 0)
        if node.style in ("", "'", '"') and text.startswith(scalar, begin):
            return begin + min(offset, len(scalar))
        # Folding only moves blanks about, so the i-th other character of the value is the i-th of the source.
        before = sum(character not in _BLANK for character in scalar[:offset])
        wanted = offset < len(scalar) and scalar[offset] not in _BLANK
        last = begin
        for count, (start, end) in enumerate(_characters(text, node)):
            if wanted and count == before:
                return start
            if not wanted and count == before - 1:
                return end
            last = end
        return last


def _characters(text: str, node: Node) -> Iterator[tuple[int, int]]:
    """Yield where each non-blank character of a scalar begins and ends in the source."""
    index = node.start
    if node.style in ("|", ">"):
        index = text.find("\n", index) + 1  # the header line holds indicators and comments
    elif node.style:
        index += 1
    while index < len(text):
        end = index + 1
        blank = text[index] in _BLANK
        if node.style == "'" and text[index] == "'":
            end += 1  # '' stands for one quote; the closing one comes after everything that is asked for
        elif node.style == '"' and text[index] == "\\":
            letter = text[end : end + 1]
            digits = _HEX_DIGITS.get(letter, 0)
            end += 1 + digits
            if digits:
                blank = chr(int(text[end - digits : end], 16)) in _BLANK
            else:
                blank = letter == "\n" or letter in _BLANK_ESCAPES
        if not blank:
            yield index, end
        index = end
