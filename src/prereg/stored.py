"""A protocol as it is stored in a registration: defaults written out, what has an order as a list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from prereg.errors import IntegrityError, Problem
from prereg.metrics import KINDS
from prereg.protocol import Protocol, shape_problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.document import Steps, Tree
    from prereg.errors import Place

_SHARED = ("part", "among", "per", "each", "show")


def to_stored(protocol: Protocol) -> dict[str, Tree]:
    """The tree that is hashed and stored."""
    tree: dict[str, Any] = json.loads(protocol.model_dump_json())
    tree["metrics"] = [_metric(name, spec) for name, spec in protocol.metrics.items()]
    tree["predictions"] = [{"id": name, **spec} for name, spec in tree["predictions"].items()]
    for section, key in (
        ("let", None),
        ("reports", None),
        ("data", "derive"),
        ("data", "columns"),
        ("data", "types"),
    ):
        holder, last = (tree, section) if key is None else (tree[section], key)
        holder[last] = _pairs(holder[last])
    if tree["split"] is not None and tree["split"]["parts"] is not None:
        tree["split"]["parts"] = _pairs(tree["split"]["parts"])
    return tree


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
        IntegrityError: where the tree is no protocol of this format.

    """
    try:
        plain = json.loads(json.dumps(tree))
        plain["metrics"] = {m["name"]: _spec(m) for m in plain["metrics"]}
        plain["predictions"] = {p.pop("id"): p for p in plain["predictions"]}
        for section in ("let", "reports"):
            plain[section] = _mapping(plain[section])
        for key in ("derive", "columns", "types"):
            plain["data"][key] = _mapping(plain["data"][key])
        if plain["split"] is not None and plain["split"]["parts"] is not None:
            plain["split"]["parts"] = _mapping(plain["split"]["parts"])
        return Protocol.model_validate_json(json.dumps(plain))
    except ValidationError as error:

        def at(_path: Steps, **_: object) -> Place:
            return place

        found = list(shape_problems(Protocol, error, plain, at))
        raise IntegrityError(
            *[Problem(f"the registered protocol is malformed: {p.message}", place) for p in found]
        ) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(Problem(f"the registered protocol is malformed: {error!r}", place)) from None


def _spec(stored: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {stored["kind"]: stored["parameters"]}
    if stored["kind"] == "value":
        out = {"value": stored["parameters"]["value"]}
    out.update({key: stored[key] for key in _SHARED if stored.get(key) is not None})
    return out
