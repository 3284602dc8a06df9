"""The JSON Schemas of stored files."""

from __future__ import annotations

from typing import Any

from prereg.documents import SHAPES
from prereg.json_schema import json_schema

_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def file_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a kind of file."""
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {"format": {"const": f"prereg-{kind}/1"}, "digest": _DIGEST}
    for part in SHAPES[kind]:
        tree = json_schema(SHAPES[kind][part])
        definitions |= tree.pop("$defs", {})
        first = next(iter(SHAPES[kind])) == part
        properties |= {part: tree} if first else {f"{part}_digest": _DIGEST, part: tree}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"prereg {kind}, version 1",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": definitions,
    }
