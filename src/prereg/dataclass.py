"""Classes of named fields: `dataclasses.dataclass` without compiling anything.

The standard decorator writes up to six methods as text and compiles them for every class. With more than a
hundred classes that was a seventh of the time of a whole run. Here the methods are closures over the names of
the fields. A type checker sees the standard decorator, whose meaning this one keeps for what is used here:
fields with defaults and factories, inheritance, `frozen`, `eq`, `kw_only`, `__post_init__`.
"""

# ruff: noqa: N807 - functions that become methods
from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    from dataclasses import MISSING, Field, FrozenInstanceError, field
    from reprlib import recursive_repr
    from typing import Any

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, kw_only: bool = False
    ) -> Any:
        """Give a class its methods; see the module."""
        if cls is None:
            return lambda decorated: _made(decorated, frozen, eq, kw_only)
        return _made(cls, frozen, eq, kw_only)

    def replace(instance: Any, /, **changes: Any) -> Any:
        """A copy with some fields changed; fields that `__init__` does not take are made anew."""
        kept = {f.name: getattr(instance, f.name) for f in fields(instance) if f.init}
        return type(instance)(**(kept | changes))

    def asdict(instance: Any, /) -> dict[str, Any]:
        """The values by their names; those that have fields, also in a list, as such mappings."""
        return {f.name: _plain(getattr(instance, f.name)) for f in fields(instance)}

    def _plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([_plain(one) for one in value])
        return asdict(value) if hasattr(type(value), "__dataclass_names__") else value

    def fields(class_or_instance: Any, /) -> tuple[Field, ...]:
        """The fields in the order of their definition, those of the bases first."""
        return tuple(class_or_instance.__dataclass_names__.values())

    def _made(cls: type, frozen: bool, eq: bool, kw_only: bool) -> type:
        known: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            known |= base.__dict__.get("__dataclass_names__", {})
        for name, annotation in cls.__annotations__.items():
            if not str(annotation).startswith(("ClassVar", "typing.ClassVar")):
                known[name] = _field(cls, name, kw_only)
        own = {
            "__dataclass_names__": known,
            "__match_args__": tuple(f.name for f in known.values() if f.init and not f.kw_only),
            "__init__": _init(cls, known),
            "__repr__": _repr([f.name for f in known.values() if f.repr]),
        }
        if frozen:
            own |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if eq:
            own |= _comparison([f.name for f in known.values() if f.compare], frozen)
        for name, value in own.items():
            if name not in cls.__dict__:
                setattr(cls, name, value)
        return cls

    def _field(cls: type, name: str, kw_only: bool) -> Field:
        default = cls.__dict__.get(name, MISSING)
        made = default if isinstance(default, Field) else field(default=default)
        made.name = name
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        if made.default_factory is not MISSING or (made is default and made.default is MISSING):
            delattr(cls, name)
        elif made is default:
            setattr(cls, name, made.default)
        return made

    def _init(cls: type, known: dict[str, Field]) -> Callable[..., None]:
        taken = {f.name for f in known.values() if f.init}
        places = tuple(f.name for f in known.values() if f.init and not f.kw_only)
        required = frozenset(
            f.name for f in known.values() if f.init and f.default is MISSING and f.default_factory is MISSING
        )
        factories = [(f.name, f.default_factory) for f in known.values() if f.default_factory is not MISSING]
        finish = hasattr(cls, "__post_init__")

        def __init__(self: Any, *values: Any, **named: Any) -> None:
            if len(values) > len(places):
                raise TypeError(
                    f"{cls.__name__} takes {len(places)} values by position, {len(values)} were given"
                )
            own = self.__dict__
            own.update(zip(places, values, strict=False))
            if named:
                for name in named:
                    if name not in taken or name in own:
                        why = "was given twice" if name in own else "is no field"
                        raise TypeError(f"{name} {why} of {cls.__name__}")
                own.update(named)
            if not required <= own.keys():
                raise TypeError(f"{cls.__name__} lacks {', '.join(sorted(required - own.keys()))}")
            for name, make in factories:
                if name not in own:
                    own[name] = make()
            if finish:
                self.__post_init__()

        return __init__

    def _repr(names: list[str]) -> Callable[[Any], str]:
        @recursive_repr()
        def __repr__(self: Any) -> str:
            told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({told})"

        return __repr__

    def _comparison(names: list[str], frozen: bool) -> dict[str, Any]:
        def values(one: Any) -> tuple[Any, ...]:
            return tuple([getattr(one, name) for name in names])

        def __eq__(self: Any, other: object) -> Any:
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        def __hash__(self: Any) -> int:
            return hash(values(self))

        return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}

    def _refuse(self: Any, name: str, *_: Any) -> None:
        raise FrozenInstanceError(f"cannot change {name} of {type(self).__name__}")
