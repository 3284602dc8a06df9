"""JSON Schemas: of protocols, with the metric kinds; of stored files; of what commands print with --json."""

from __future__ import annotations

import math
from typing import Any

from prereg.documents import SHAPES
from prereg.documents.schema import file_schema
from prereg.errors import InputError, listed, suggestion
from prereg.json_schema import json_schema
from prereg.metrics import KINDS, Kind, Parameter
from prereg.numerals import shown
from prereg.outputs import OUTPUTS, output_schema
from prereg.protocol import Protocol
from prereg.resolve.metrics import SHOWN

_PLACEHOLDER = {"type": "string", "pattern": r"^\$[A-Za-z_]", "description": "an entry of `each`"}
_EXPRESSION = {"type": ["string", "number", "boolean"], "description": "an expression"}


def _parameter(p: Parameter) -> dict[str, Any]:
    if p.kind == "columns":
        most = {} if p.most == math.inf else {"maxItems": int(p.most)}
        return {"type": "array", "items": _EXPRESSION, "minItems": max(1, int(p.least)), **most}
    if p.of_rows:
        return {**_EXPRESSION, "description": "an expression; optional"} if p.optional else _EXPRESSION
    if p.kind == "choice":
        out: dict[str, Any] = {"anyOf": [{"enum": list(p.choices)}, _PLACEHOLDER]}
    elif p.kind == "text":
        out = {"type": "string"}
    else:
        out = {"anyOf": [{"type": "integer" if p.kind == "integer" else "number"}, _PLACEHOLDER]}
    if p.default is not None:
        out["default"] = p.default
    return out


def _kind(kind: Kind) -> dict[str, Any]:
    properties = {p.name: _parameter(p) for p in kind.parameters}
    required = [p.name for p in kind.parameters if p.required]
    mapping: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "description": f"{kind.reads}; undefined: {kind.undefined_when}",
    }
    if required:
        mapping["required"] = required
    if kind.name in properties:
        return {"anyOf": [_EXPRESSION, mapping], "description": mapping["description"]}
    return mapping


def metric_schema() -> dict[str, Any]:
    """One metric: exactly one kind, and what all kinds share."""
    kinds: dict[str, Any] = {name: _kind(kind) for name, kind in KINDS.items()}
    kinds["value"] = {**_EXPRESSION, "description": "an expression over other metrics and factors"}
    common = {
        "part": {"type": ["string", "null"], "description": "the part of the split that is read"},
        "among": {**_EXPRESSION, "type": [*_EXPRESSION["type"], "null"]},
        "per": {"type": ["string", "null"], "description": "a column that splits the metric by category"},
        "each": {
            "type": ["object", "null"],
            "description": "a factor and its values; $name stands for the value",
            "additionalProperties": {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
        },
        "show": {"enum": [*SHOWN, None]},
    }
    return {
        "type": "object",
        "properties": {**kinds, **common},
        "additionalProperties": False,
        "oneOf": [{"required": [name]} for name in kinds],
    }


def protocol_schema() -> dict[str, Any]:
    """The whole schema (draft 2020-12)."""
    tree = json_schema(Protocol)
    tree["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    tree["title"] = "prereg protocol, version 1"
    gate = {"$ref": "#/$defs/Gate"}
    listed = {"type": "array", "items": gate, "minItems": 1}
    tree["$defs"]["Policies"]["properties"]["gate"] = {"anyOf": [gate, listed]}
    # defaults as one would write them, not as they are stored
    tree["$defs"]["Prediction"]["properties"]["evidence"]["default"] = "interval"
    tree["$defs"]["Select"]["properties"]["delta"]["default"] = [0.1]
    tree["properties"]["policies"]["default"] = {}
    tree["properties"]["metrics"]["additionalProperties"] = metric_schema()
    tree["properties"]["metrics"].pop("patternProperties", None)
    return tree


def schema_of(what: str) -> dict[str, Any]:
    """The schema of protocols, of a kind of stored file, or of what a command prints with `--json`.

    Raises:
        InputError: for anything else, with what is known.

    """
    if what == "protocol":
        return protocol_schema()
    if what in SHAPES:
        return file_schema(what)
    if what in OUTPUTS:
        return output_schema(what)
    # a note is a file and a command: `note` is the file, `note-output` what the command prints
    command = what.removesuffix("-output")
    if command in OUTPUTS:
        return output_schema(command)
    known = ["protocol", *SHAPES, *[f"{name}-output" if name in SHAPES else name for name in OUTPUTS]]
    hint = suggestion(what, known)
    raise InputError(f"prereg: no schema of {shown(what)}{hint}; known: {listed(dict.fromkeys(known), 30)}")
