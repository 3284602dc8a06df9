"""From the type of what is read to its validator: what pydantic does, for the few types used here.

The validators are those of pydantic-core, so values are refused by the same rules and with the same words as
by pydantic, whose own import and walk over the types took a sixth of the time of a run. Types are TypedDicts,
for stored files, and sections: frozen dataclasses that take exactly the keys that are their fields.
"""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING
from typing import Annotated, Any, ForwardRef, Literal, NotRequired, Union, get_args, get_origin

from pydantic_core import SchemaValidator
from pydantic_core import core_schema as core
from typing_extensions import is_typeddict

from prereg.dataclass import dataclass, fields

Schema = dict[str, Any]
_PLAIN: dict[Any, Callable[[], Any]] = {
    str: core.str_schema,
    int: core.int_schema,
    float: core.float_schema,
    bool: core.bool_schema,
}
_STRICT = core.CoreConfig(strict=True, allow_inf_nan=False)
JSON_SCHEMA = "json_schema"
"""Key in the metadata of a schema: the JSON Schema to print in its place."""
DEFAULT = "default"
"""Key in the metadata of a field: what it is where it is not given."""


class Constraint(ABC):
    """What is asked of a value beyond its type: stands in `Annotated`."""

    @abstractmethod
    def applied(self, schema: Schema) -> Schema:
        """The schema of a value of which this is asked too."""


@dataclass(frozen=True)
class Text(Constraint):
    """A text that matches a pattern and has at most so many characters."""

    pattern: str
    longest: int | None = None

    def applied(self, schema: Schema) -> Schema:
        """As a pattern, and a length where there is one."""
        longest = {} if self.longest is None else {"max_length": self.longest}
        return {**schema, "pattern": self.pattern, **longest}


@dataclass(frozen=True)
class Bounds(Constraint):
    """A number between bounds; `gt` and `lt` are left out themselves."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def applied(self, schema: Schema) -> Schema:
        """As the bounds that there are."""
        return {**schema, **{f.name: b for f in fields(self) if (b := getattr(self, f.name)) is not None}}


@dataclass(frozen=True)
class Length(Constraint):
    """A list of at least, and at most, so many entries."""

    least: int
    most: int | None = None

    def applied(self, schema: Schema) -> Schema:
        """As lengths."""
        most = {} if self.most is None else {"max_length": self.most}
        return {**schema, "min_length": self.least, **most}


@dataclass(frozen=True)
class Before(Constraint):
    """A value that is written in several ways, brought to one by a function."""

    function: Callable[[object], object]

    def applied(self, schema: Schema) -> Schema:
        """As a step before."""
        return dict(core.no_info_before_validator_function(self.function, schema))


@dataclass(frozen=True, eq=False)
class Printed(Constraint):
    """A value whose JSON Schema is not the one of its type: what is written is not what is read."""

    tree: dict[str, Any]

    def applied(self, schema: Schema) -> Schema:
        """As metadata."""
        return {**schema, "metadata": {JSON_SCHEMA: self.tree}}


@dataclass(frozen=True)
class Section:
    """A part of a protocol: no unknown keys, no change after reading, no silent conversions."""


def validator(kind: Any) -> SchemaValidator:
    """A validator of what a type describes.

    Raises:
        TypeError: for a type of which no schema is known, or two types of one name.

    """
    return SchemaValidator(schema_of(kind))


def schema_of(kind: Any) -> Any:
    """The pydantic-core schema of a type: its TypedDicts and sections are definitions under their names."""
    known = _Known()
    schema = known.schema(kind)
    return core.definitions_schema(schema, list(known.schemas.values()))


def plain(value: Any) -> Any:
    """What was read, as JSON writes it: sections as mappings with every key."""
    if isinstance(value, Section):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


class _Known:
    """The definitions met so far."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self._kinds: dict[str, Any] = {}

    def schema(self, kind: Any, module: str = "") -> Any:
        if kind is Any:
            return core.any_schema()
        if kind is None or kind is types.NoneType:
            return core.none_schema()
        if kind in _PLAIN:
            return _PLAIN[kind]()
        if isinstance(kind, str | ForwardRef):
            name = kind if isinstance(kind, str) else kind.__forward_arg__
            return self.schema(vars(sys.modules[module])[name])
        if is_typeddict(kind):
            return self._named(kind, self._typed_dict)
        if _is_section(kind):
            return self._named(kind, self._section)
        origin, inside = get_origin(kind), get_args(kind)
        if origin is Annotated:
            schema = self.schema(inside[0], module)
            for constraint in inside[1:]:
                schema = constraint.applied(schema)
            return schema
        if origin is Literal:
            return core.literal_schema(list(inside))
        if origin is list:
            return core.list_schema(self.schema(inside[0], module))
        if origin is tuple and inside[1:] == (...,):
            return core.tuple_variable_schema(self.schema(inside[0], module))
        if origin is dict:
            return core.dict_schema(self.schema(inside[0], module), self.schema(inside[1], module))
        if origin in (Union, types.UnionType):
            some = [self.schema(one, module) for one in inside if one is not types.NoneType]
            schema = some[0] if len(some) == 1 else core.union_schema(some)
            return core.nullable_schema(schema) if types.NoneType in inside else schema
        raise TypeError(f"no schema is known for {kind}")

    def _named(self, kind: Any, make: Callable[[Any], Any]) -> Any:
        name = kind.__name__
        if name not in self.schemas:
            self._kinds[name] = kind
            self.schemas[name] = None  # a type may hold itself: what stands within refers to it by name
            self.schemas[name] = make(kind)
        if self._kinds[name] is not kind:
            raise TypeError(f"two types are called {name}")
        return core.definition_reference_schema(name)

    def _typed_dict(self, kind: Any) -> Any:
        made = {}
        for key, one in kind.__annotations__.items():
            bare = get_args(one)[0] if get_origin(one) is NotRequired else one
            schema = self.schema(bare, kind.__module__)
            made[key] = core.typed_dict_field(schema, required=key in kind.__required_keys__)
        return core.typed_dict_schema(made, cls=kind, ref=kind.__name__)

    def _section(self, kind: Any) -> Any:
        made = {}
        for one in fields(kind):
            schema = self.schema(kind.__annotations__[one.name], kind.__module__)
            default = one.default if one.default_factory is MISSING else one.default_factory()
            required = default is MISSING
            metadata = {} if required else {DEFAULT: plain(default)}
            made[one.name] = core.typed_dict_field(schema, required=required, metadata=metadata)
        keys = core.typed_dict_schema(made, cls=kind, config=_STRICT, extra_behavior="forbid")
        return core.no_info_after_validator_function(lambda given: kind(**given), keys, ref=kind.__name__)
