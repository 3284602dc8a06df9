"""From the type of a document to a validator: what `pydantic.TypeAdapter` does, for the few types used here.

The schema is the one that pydantic would make, so that it refuses the same with the same words; walking over
these types takes a tenth of the time, which every command that reads a stored file would pay.
"""

from __future__ import annotations

import types
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Interval, Len
from pydantic import StringConstraints
from pydantic_core import CoreSchema, SchemaValidator
from pydantic_core import core_schema as core
from typing_extensions import is_typeddict

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN: dict[Any, Callable[[], CoreSchema]] = {
    str: core.str_schema,
    int: core.int_schema,
    float: core.float_schema,
    bool: core.bool_schema,
}


def validator(kind: Any) -> SchemaValidator:
    """A validator of what a type describes: TypedDicts, lists, mappings, choices and plain values."""
    known: dict[str, CoreSchema] = {}
    schema = _schema(kind, known)
    return SchemaValidator(core.definitions_schema(schema, list(known.values())))


def _schema(kind: Any, known: dict[str, CoreSchema]) -> CoreSchema:
    if kind is Any:
        return core.any_schema()
    if kind is None or kind is types.NoneType:
        return core.none_schema()
    if kind in _PLAIN:
        return _PLAIN[kind]()
    if is_typeddict(kind):
        return _mapping(kind, known)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(_schema(inside[0], known), inside[1:])
    if origin is Literal:
        return core.literal_schema(list(inside))
    if origin is list:
        return core.list_schema(_schema(inside[0], known))
    if origin is dict:
        return core.dict_schema(_schema(inside[0], known), _schema(inside[1], known))
    if origin in (Union, types.UnionType):
        some: list[CoreSchema | tuple[CoreSchema, str]] = [
            _schema(one, known) for one in inside if one is not types.NoneType
        ]
        schema = cast("CoreSchema", some[0]) if len(some) == 1 else core.union_schema(some)
        return core.nullable_schema(schema) if types.NoneType in inside else schema
    raise TypeError(f"no schema is known for {kind}")


def _mapping(kind: Any, known: dict[str, CoreSchema]) -> CoreSchema:
    name = kind.__name__
    if name not in known:
        known[name] = core.any_schema()  # a type may hold itself: what stands within refers to it by name
        fields = {}
        for key, one in get_type_hints(kind, include_extras=True).items():
            bare = get_args(one)[0] if get_origin(one) is NotRequired else one
            required = key in kind.__required_keys__
            fields[key] = core.typed_dict_field(_schema(bare, known), required=required)
        known[name] = core.typed_dict_schema(fields, cls=kind, ref=name)
    return core.definition_reference_schema(name)


def _bounded(schema: Any, bounds: tuple[Any, ...]) -> CoreSchema:
    for bound in bounds:
        match bound:
            case StringConstraints(pattern=pattern, max_length=longest):
                schema |= (
                    {"pattern": pattern} if longest is None else {"pattern": pattern, "max_length": longest}
                )
            case Len(min_length=least, max_length=most):
                schema |= {"min_length": least} if most is None else {"min_length": least, "max_length": most}
            case Ge(ge=least):
                schema |= {"ge": least}
            case Interval():
                known = {"gt": bound.gt, "ge": bound.ge, "lt": bound.lt, "le": bound.le}
                schema |= {key: value for key, value in known.items() if value is not None}
            case _:
                raise TypeError(f"no schema is known for {bound}")
    return cast("CoreSchema", schema)
