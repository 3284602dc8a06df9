"""The JSON Schema of a type, from the schema that validates it."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from prereg.validation import DEFAULT, JSON_SCHEMA, schema_of


class _Generator(GenerateJsonSchema):
    def generate_inner(self, schema: Any) -> Any:
        printed = schema.get("metadata", {}).get(JSON_SCHEMA)
        return super().generate_inner(schema) if printed is None else printed

    def typed_dict_field_schema(self, schema: Any) -> Any:
        tree = super().typed_dict_field_schema(schema)
        metadata = schema.get("metadata", {})
        return {**tree, "default": metadata[DEFAULT]} if DEFAULT in metadata else tree


def json_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a type, its named parts under `$defs`."""
    return _Generator(ref_template="#/$defs/{model}").generate(schema_of(kind))
