"""A protocol as it is stored in a registration: defaults written out, what has an order as a list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import ValidationError

from prereg.differences import changes
from prereg.errors import IntegrityError, Problem
from prereg.malformed import shape_problems
from prereg.metrics import KINDS
from prereg.numerals import shown
from prereg.protocol import Protocol, validated
from prereg.validation import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prereg.document import Steps, Tree
    from prereg.errors import Place

_SHARED = ("part", "among", "per", "each", "show")


# Mappings whose order counts are lists of {name, value}; `*` is every entry of a list or mapping.
_ORDERED = (
    ("let",),
    ("reports",),
    ("data", "derive"),
    ("data", "columns"),
    ("data", "types"),
    ("split", "parts"),
    ("predictions", "*", "each"),
    ("metrics", "*", "each"),
    ("variants", "*", "let"),
    ("variants", "*", "metrics", "*", "each"),
)


def to_stored(protocol: Protocol) -> dict[str, Tree]:
    """The tree that is hashed and stored."""
    tree: dict[str, Any] = plain(protocol)
    tree["metrics"] = [_metric(name, spec) for name, spec in protocol.metrics.items()]
    tree["predictions"] = [{"id": name, **spec} for name, spec in tree["predictions"].items()]
    tree["variants"] = [
        {"name": name, **spec, "metrics": [_metric(n, m) for n, m in protocol.variants[name].metrics.items()]}
        for name, spec in tree["variants"].items()
    ]
    for path in _ORDERED:
        _at(tree, path, _pairs)
    return tree


def _at(tree: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> None:
    """Change what stands at a path, wherever it is there."""
    first, rest = path[0], path[1:]
    if first == "*":
        for entry in tree if isinstance(tree, list) else list(tree.values()):
            _at(entry, rest, change)
    elif isinstance(tree, dict) and tree.get(first) is not None:
        if rest:
            _at(tree[first], rest, change)
        else:
            tree[first] = change(tree[first])


def _pairs(mapping: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in mapping.items()]


def _mapping(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["name"]: pair["value"] for pair in pairs}


def _metric(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """One metric with every parameter written out: what was not given has its default."""
    kind = next(key for key in spec if key in KINDS or key == "value")
    common = {key: spec.get(key) for key in _SHARED}
    common["among"] = _text(common["among"])
    if kind == "value":
        return {
            "name": name,
            "kind": kind,
            "version": 1,
            "parameters": {"value": _text(spec[kind])},
            **common,
        }
    entry = KINDS[kind]
    given = spec[kind]
    if not isinstance(given, dict):
        given = {kind: given}
    parameters: dict[str, Any] = {}
    for p in entry.parameters:
        if p.name in given:
            parameters[p.name] = _text(given[p.name]) if p.of_rows else given[p.name]
        elif not p.of_rows:
            if p.default is not None:
                parameters[p.name] = p.default
        elif p.optional:
            continue  # absent as long as it is not given, so that digests from before it stay
        elif p.alternative_to is None or (
            p.alternative_to not in given and p.alternative_to not in parameters
        ):
            parameters[p.name] = p.name
    return {"name": name, "kind": kind, "version": entry.version, "parameters": parameters, **common}


def _text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [_text(v) for v in value]
    return repr(value) if isinstance(value, int | float) else value


def from_stored(tree: Mapping[str, Any], place: Place) -> Protocol:
    """The protocol a registration holds.

    Raises:
        IntegrityError: where the tree is no protocol of this format, or not in the form that is stored.

    """
    try:
        given = json.loads(json.dumps(tree))
        for path in _ORDERED:
            _at(given, path, _mapping)
        given["metrics"] = {m["name"]: _spec(m) for m in given["metrics"]}
        given["predictions"] = {p.pop("id"): p for p in given["predictions"]}
        given["variants"] = {v.pop("name"): v for v in given["variants"]}
        for variant in given["variants"].values():
            variant["metrics"] = {m["name"]: _spec(m) for m in variant["metrics"]}
        protocol = validated(given)
    except ValidationError as error:

        def at(_path: Steps, **_: object) -> Place:
            return place

        found = {problem.message for problem in shape_problems(Protocol, error, given, at)}
        raise IntegrityError(
            *[Problem(f"the registered protocol is malformed: {said}", place) for said in sorted(found)]
        ) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(Problem(f"the registered protocol is malformed: {error!r}", place)) from None
    kinds = {k for m in _metrics(protocol) for k in m if k not in _SHARED and k not in KINDS and k != "value"}
    if kinds:
        raise IntegrityError(
            *[Problem(f"the metric kind {shown(kind)} is not known here", place) for kind in sorted(kinds)]
        )
    # one content has one form: of two entries of one name the last would count and the first be read
    other = list(changes(tree, to_stored(protocol)))
    if other:
        raise IntegrityError(
            *[Problem(f"the registered protocol is not as a lock writes it: {c}", place) for c in other[:10]]
        )
    return protocol


def _metrics(protocol: Protocol) -> list[Mapping[str, Any]]:
    """Every metric, those of variants too."""
    own = list(protocol.metrics.values())
    return own + [metric for one in protocol.variants.values() for metric in one.metrics.values()]


def _spec(stored: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {stored["kind"]: stored["parameters"]}
    if stored["kind"] == "value":
        out = {"value": stored["parameters"]["value"]}
    out.update({key: stored[key] for key in _SHARED if stored.get(key) is not None})
    return out
