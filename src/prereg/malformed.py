"""The findings of a shape check in the words of this project, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.errors import Place, Problem, suggestion
from prereg.numerals import shown
from prereg.validation import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic_core import ValidationError

    from prereg.document import Steps

_NOUNS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
EVIDENCE_WORDS = "`interval`, `point`, `exact` or {support: 0.9}"
_EXPRESSIONS = frozenset(
    ("claim", "falsified_if", "where", "exclude", "score", "act_below", "act_above", "risk", "among")
)


def shape_problems(
    section: type[Section], error: ValidationError, tree: object, place: Callable[..., Place]
) -> Iterator[Problem]:
    """The findings of a validator in the words of this project, each at its place."""
    found_in = [item["loc"] for item in error.errors(include_url=False, include_input=False)]
    for item in error.errors(include_url=False):
        if item["type"] == "too_short" and any(
            loc[: len(item["loc"])] == item["loc"] != loc for loc in found_in
        ):
            continue  # entries that are wrong are entries
        path, kind, context = item["loc"], item["type"], item.get("ctx", {})
        where = _where(tuple(_existing(path, tree)))
        found = spoken(item["input"])
        name = str(path[-1]) if path else ""
        if kind == "extra_forbidden":
            known = _keys(section, path[:-1])
            yield Problem(
                f"unknown key {shown(name)}{suggestion(name, known) or _known(known)}", place(path, key=True)
            )
        elif kind == "missing":
            inside = _where(tuple(_existing(path[:-1], tree)))
            yield Problem(f"`{name}` is missing in {inside}", place(path[:-1], key=True))
        elif kind in _NOUNS:
            yield Problem(f"{where}: found {found}, expected {_noun(kind, path)}", place(path))
        elif kind in _BOUNDS:
            word, key = _BOUNDS[kind]
            yield Problem(f"{where}: found {found}, expected {word} {context[key]:.10g}", place(path))
        elif kind == "too_short":
            yield Problem(f"{where}: found {found}, expected at least one entry", place(path))
        elif kind == "string_too_long":
            most = context.get("max_length")
            at_key = name == "[key]"
            yield Problem(
                f"{where}: {found} has more than {most} characters",
                place(path[:-1] if at_key else path, key=at_key),
            )
        elif kind in ("literal_error", "enum"):
            wanted = str(context.get("expected", "")).replace("'", "`")
            if "`support`" in wanted:  # the kinds of evidence; support is never written as a word
                wanted = EVIDENCE_WORDS
            yield Problem(
                f"{where}: found {found}, expected {wanted}{_near(item['input'], wanted)}",
                place(path),
            )
        elif kind == "string_pattern_mismatch":
            at_key = name == "[key]"
            yield Problem(
                f"{where}: {found} is not a plain name ({_pattern_words(str(context.get('pattern')))})",
                place(path[:-1] if at_key else path, key=at_key),
            )
        elif kind == "value_error":
            yield Problem(f"{where}: {context.get('error', item['msg'])}", place(path))
        else:
            message = str(item["msg"])
            yield Problem(f"{where}: found {found}, {message[0].lower()}{message[1:]}", place(path))


def _where(path: Steps) -> str:
    """A path as it is said: `data.records, entry 2`."""
    words = ".".join(str(x) for x in path if isinstance(x, str))
    entries = [f", entry {x + 1}" for x in path if isinstance(x, int)]
    return (words or "the protocol") + "".join(entries)


def _noun(kind: str, path: Steps) -> str:
    """What was expected at a path, where the validator only knows the type it is stored as."""
    names = [x for x in path if isinstance(x, str)]
    last = names[-1] if names else ""
    if kind == "string_type" and (
        last in _EXPRESSIONS or names[:1] in (["let"], ["reports"]) or names[:2] == ["data", "derive"]
    ):
        return "an expression"
    if kind == "string_type" and last in ("at_least", "coverage"):
        return "a number or `none`"
    if kind == "tuple_type" and last in ("at_least", "coverage", "budget", "delta"):
        return "a list of numbers"
    if kind == "tuple_type":
        return "a text or a list of texts"
    return EVIDENCE_WORDS if last == "evidence" else _NOUNS[kind]


def _existing(path: Steps, tree: object) -> Iterator[str | int]:
    for step in path:
        if isinstance(tree, dict) and step in tree:
            tree = tree[str(step)]
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            continue
        yield step


def _keys(section: type[Section], path: Steps) -> list[str]:
    """The keys a section knows, found by following a path through the sections."""
    current: Any = section
    for step in path:
        if current is not None and step in current.__annotations__:
            current = _section_of(current.__annotations__[step])
        # a step that is no key is the name of an entry of a mapping: the section stays
    return [] if current is None else list(current.__annotations__)


def _section_of(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _section_of(inner)
        if found is not None:
            return found
    return None


def _known(names: list[str]) -> str:
    return f"; known here: {', '.join(names)}" if names else ""


def _near(value: object, wanted: str) -> str:
    return (
        suggestion(value, wanted.replace("`", "").replace(" or ", ", ").split(", "))
        if isinstance(value, str)
        else ""
    )


def _pattern_words(pattern: str) -> str:
    if "a-zA-Z_" in pattern or "A-Za-z_" in pattern:
        return "letters, digits and `_`, not beginning with a digit"
    return "letters and digits, with single `-`, `_` or `.` between them" + (
        "" if "A-Z" in pattern else "; lower case"
    )


def spoken(value: object) -> str:
    """A value of a protocol in words, for messages that say what was found."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "`true`" if value else "`false`"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case list() | tuple():
            return "a list" if value else "an empty list"
        case str():
            return f"the text {shown(value)}" if value else "an empty text"
        case _:
            return f"`{value}`"
