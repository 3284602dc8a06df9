"""YAML without its surprises: only what looks like a number is one, and whatever is ambiguous is refused."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import yaml

from prereg.dataclass import dataclass, field
from prereg.document import Document, Node, Source, Steps, Tree
from prereg.errors import InputError, Problem
from prereg.numerals import exact_float, exact_integer, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_yaml"]

# The C parser gives the same events some ten times faster. Events are read instead of composed nodes, because
# composing recurses and a hostile file would end in a RecursionError, or in the C loader in a crash.
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MAX_NODES = 100_000
_MAX_PROBLEMS = 100

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}

# Not in YAML at all, or line breaks to YAML but to no editor, or invisible.
_UNREADABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_DIRECTIVE = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*(%)")
_COLON = re.compile(r"\s*:")
_COMMENT = re.compile(r"[ \t]+#")
# What cannot begin a plain scalar, so an expression that begins with it is taken for something else.
_SPECIAL = tuple("\"'[{&*!%@>|`")
_VALUE_OF_LINE = re.compile(r"[ \t]*(?:-[ \t]+)*(?:[^\s:#][^:#]*:[ \t]+)?(.*)")

_QUOTE_IN_FLOW = "inside { } and [ ] an expression that contains one of , [ ] { } : must be quoted"
_WRITE_OUT = "write the value out; an expression must be quoted if it begins with"
_QUOTE_IN_BLOCK = (
    "an expression that contains `: ` or ` #`, or begins with a quote "
    "or one of [ { & * ! % @ > |, must be quoted"
)


def parse_yaml(source: Source, *, max_depth: int) -> Document:
    """Return the document that a YAML text says. Raises InputError with every problem that was found."""
    reader = _Reader(source, max_depth)
    try:
        reader.read()
    except _StopError:
        pass
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The last two are how the Python parser meets escapes like "\\U00110000".
        reader.syntax_error(error)
    return reader.document()


class _StopError(Exception):
    """Nothing sensible can be read beyond this point; the problems found so far are told."""


@dataclass
class _Frame:
    """One open collection."""

    node: dict[str, Tree] | list[Tree]
    path: Steps
    start: int
    flow: bool
    key: str | None = None
    key_start: int = 0
    key_end: int = 0
    keys: dict[str, int] = field(default_factory=dict)
    last: int | None = None  # where the last value began, if it was a plain scalar


class _Reader:
    def __init__(self, source: Source, max_depth: int) -> None:
        self.source = source
        self.text = source.text
        self.max_depth = max_depth
        self.problems: list[Problem] = []
        self.cut: dict[int, int] = {}  # start and end of expressions that were cut at a comma
        self.stack: list[_Frame] = []
        self.nodes: dict[Steps, Node] = {}
        self.tree: Tree = None
        self.index = 0

    def problem(self, index: int, message: str) -> None:
        self.problems.append(Problem(message, self.source.place(index)))
        if len(self.problems) >= _MAX_PROBLEMS:
            self.problems.append(Problem("more problems follow", self.source.place(len(self.text))))
            raise _StopError

    def document(self) -> Document:
        for start, end in list(self.cut.items())[:_MAX_PROBLEMS]:
            cut = shown(self.text[start:end])
            self.problems.append(Problem(f"{cut} is cut short: {_QUOTE_IN_FLOW}", self.source.place(start)))
        if self.problems:
            raise InputError(*self.problems)
        return Document(self.tree, self.source, self.nodes)

    def read(self) -> None:
        self.check_characters()
        if directive := _DIRECTIVE.match(self.text):
            self.problem(directive.start(1), "a YAML directive (%) is refused")
            raise _StopError
        events: Iterable[yaml.Event] = yaml.parse(self.text, Loader=_LOADER)
        documents = 0
        for event in events:
            start, end = _index(event.start_mark), _index(event.end_mark)
            self.index = start
            if isinstance(event, yaml.ScalarEvent):
                self.scalar(event, start, end)
            elif isinstance(event, yaml.CollectionStartEvent):
                self.open(event, start)
            elif isinstance(event, yaml.CollectionEndEvent):
                self.stack.pop()
            elif isinstance(event, yaml.AliasEvent):
                self.problem(start, f"an alias (*) is refused: {_WRITE_OUT} *")
                self.add(None, Node(start), start, end)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self.problem(start, "a second document begins here: one file holds one document")
                    raise _StopError
        if not documents:
            self.problem(0, "the file is empty")

    def check_characters(self) -> None:
        found = _UNREADABLE.search(self.text)
        if found:
            self.problem(found.start(), _unreadable(found[0]))
            raise _StopError

    def check_text(self, value: str, start: int) -> None:
        """Refuse what could look the same and hash differently; escapes bring in what the source lacks."""
        message = ""
        offset = 0
        if found := _UNREADABLE.search(value):
            message, offset = _unreadable(found[0]), found.start()
        elif not unicodedata.is_normalized("NFC", value):
            message = "text is not in Unicode form NFC from here on: write composed characters"
            pairs = zip(value, unicodedata.normalize("NFC", value), strict=False)
            offset = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
        if message:
            begin = next((i for i in (start, start + 1) if self.text.startswith(value, i)), None)
            self.problem(start if begin is None else begin + offset, message)

    def scalar(self, event: yaml.ScalarEvent, start: int, end: int) -> None:
        value: str = event.value
        style: str = event.style or ""
        self.refuse_properties(event, start)
        if not value.isascii() or _UNREADABLE.search(value):
            self.check_text(value, start)
        frame = self.stack[-1] if self.stack else None
        if isinstance(frame, _Frame) and isinstance(frame.node, dict) and frame.key is None:
            self.key(frame, value, style, start, end)
            return
        if not style and not value:
            self.empty(frame, start)
            return
        tree: Tree = value if style else self.resolve(value, start)
        if not style:
            self.check_plain(frame, value, start, end)
        self.add(tree, Node(start, style=style, scalar=value), start, end)
        if frame is not None:
            frame.last = None if style else start

    def resolve(self, value: str, start: int) -> Tree:
        if value in _CONSTANTS:
            return _CONSTANTS[value]
        try:
            if _INTEGER.fullmatch(value):
                return exact_integer(value)
            if _FLOAT.fullmatch(value) and not value.lstrip("+-").isdigit():  # +5 is no integer here
                return exact_float(value)
        except ValueError as error:
            self.problem(start, str(error))
        return value

    def check_plain(self, frame: _Frame | None, value: str, start: int, end: int) -> None:
        """Tell an expression that YAML silently cut short from a text that ends where it seems to end."""
        unclosed = value.count("(") > value.count(")")
        if frame is not None and frame.flow:
            if unclosed:
                self.cut[start] = end
        elif (unclosed or value.count('"') % 2) and _COMMENT.match(self.text, end):
            self.problem(start, f"{shown(value)} is cut short by a comment: {_QUOTE_IN_BLOCK}")

    def key(self, frame: _Frame, value: str, style: str, start: int, end: int) -> None:
        if not style and value == "<<":
            self.problem(start, "a merge key (<<) is refused: write the keys out")
        elif not style and not value:
            self.problem(start, "a key is missing before the colon")
        elif value in frame.keys:
            first = self.source.place(frame.keys[value]).line
            self.problem(start, f"duplicate key {shown(value)}: line {first} has it already")
        frame.keys.setdefault(value, start)
        frame.key, frame.key_start, frame.key_end = value, start, end

    def empty(self, frame: _Frame | None, start: int) -> None:
        if frame is None:
            self.problem(start, "the file is empty")
        elif frame.key is None:
            self.problem(start, "an empty list item: write a value, or `null`")
        elif not frame.flow or _COLON.match(self.text, frame.key_end):
            self.problem(frame.key_start, f"{shown(frame.key)} has no value: write one, or `null`")
        elif frame.last is not None:
            self.cut[frame.last] = frame.key_end
        else:
            self.problem(frame.key_start, f"{shown(frame.key)} has no value; {_QUOTE_IN_FLOW}")
        last = None if frame is None else frame.last
        self.add(None, Node(start), start, start)
        if frame is not None:
            frame.last = last  # one expression may be cut at several commas

    def open(self, event: yaml.CollectionStartEvent, start: int) -> None:
        self.refuse_properties(event, start)
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.node, dict) and frame.key is None:
            self.problem(start, f"a key must be a plain text; {_QUOTE_IN_FLOW}")
            raise _StopError
        if len(self.stack) >= self.max_depth:
            self.problem(start, f"nested deeper than {self.max_depth} levels")
            raise _StopError
        node: dict[str, Tree] | list[Tree] = {} if isinstance(event, yaml.MappingStartEvent) else []
        path = self.add(node, Node(start), start, start)
        self.stack.append(_Frame(node, path, start, bool(event.flow_style)))

    def add(self, value: Tree, node: Node, start: int, end: int) -> Steps:
        """Put a value where it belongs and return its path."""
        if len(self.nodes) >= _MAX_NODES:
            self.problem(start, f"more than {_MAX_NODES} values in one file")
            raise _StopError
        path: Steps = ()
        if not self.stack:
            self.tree = value
        else:
            frame = self.stack[-1]
            frame.last = None
            if isinstance(frame.node, list):
                path = (*frame.path, len(frame.node))
                frame.node.append(value)
            elif frame.key is None:  # an alias in the place of a key, refused already
                frame.key, frame.key_start, frame.key_end = self.text[start:end], start, end
                return path
            else:
                path = (*frame.path, frame.key)
                frame.node[frame.key] = value
                node = Node(node.start, frame.key_start, node.style, node.scalar)
                frame.key = None
        self.nodes[path] = node
        return path

    def refuse_properties(self, event: yaml.NodeEvent, start: int) -> None:
        if event.anchor is not None:
            self.problem(start, f"an anchor (&) is refused: {_WRITE_OUT} &")
        elif getattr(event, "tag", None) is not None or self.text.startswith("!", start):
            self.problem(start, "a tag (!) is refused: an expression that begins with ! must be quoted")

    def syntax_error(self, error: Exception) -> None:
        """Say where the parser gave up, and, when an unquoted expression is the likely cause, say that."""
        context = getattr(error, "context", None) or ""
        what = getattr(error, "problem", None) or str(error)
        mark = getattr(error, "problem_mark", None)
        context_mark = getattr(error, "context_mark", None)
        if context.startswith("while scanning a") and context_mark is not None:
            mark = context_mark  # where the quote, key or block begins that never ends
        index = self.index if mark is None else min(_index(mark), len(self.text))
        frame = self.stack[-1] if self.stack else None
        value = _value_of_line(self.source.line(index))
        if "quoted scalar" in context and "escape" in what:
            hint = "inside double quotes a backslash begins an escape; inside single quotes it is a backslash"
        elif "quoted scalar" in context:
            hint = "the quote that opens here is not closed"
        elif self.text.startswith("\t", index):
            hint = "lines are indented with spaces, not tabs"
        elif frame is not None and frame.flow:
            opened = self.source.place(frame.start).line
            hint = f"{_QUOTE_IN_FLOW} (or the bracket opened in line {opened} is not closed)"
            if frame.last is not None:
                index = frame.last
                self.cut.pop(index, None)  # said once is enough
        elif value[:1] in _SPECIAL or ": " in value:
            hint = _QUOTE_IN_BLOCK
        else:
            hint = "is the indentation right?"
        where = f" {context}" if context else ""
        self.problems.append(Problem(f"not valid YAML: {what}{where}; {hint}", self.source.place(index)))


def _index(mark: Any) -> int:
    """Return where a parser's mark stands; both parsers count characters."""
    return int(mark.index)


def _unreadable(character: str) -> str:
    return f"the character U+{ord(character):04X} is refused: it cannot be seen"


def _value_of_line(line: str) -> str:
    """Return what stands in a line behind its dashes and its key."""
    found = _VALUE_OF_LINE.match(line)
    return found[1] if found else ""
