"""Arguments that are texts already need no conversion, and no library that converts.

Typer brings every value to its type with pydantic, which takes as long to import as reading a protocol and
its records. What stands here is the case in which there is nothing to convert; everything else, and every
complaint, stays with Typer. A version of Typer that does not ask is not disturbed.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from prereg.numerals import shown

_NUMBER = {
    int: re.compile(r"[+-]?[0-9]{1,18}"),
    float: re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"),
}


class _Quick:
    """Stands where Typer keeps what converts a parameter, which it makes when that is first asked for."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value in the type of the parameter."""
        kind = param.type_descriptor.annotation
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if not several and isinstance(kind, type) and isinstance(value, kind):
            return value
        if isinstance(value, str) and kind is Path and _may_be_a_file(value):
            return Path(value)
        if isinstance(value, list | tuple) and kind == list[str] and all(type(one) is str for one in value):
            return list(value)
        if isinstance(value, str) and kind in (int, float) and not several:
            return _number(value, kind, param, ctx)
        param._runtime_param = None  # noqa: SLF001 - see the module
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _may_be_a_file(name: str) -> bool:
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _number(text: str, kind: type[int | float], param: Any, ctx: Any) -> float:
    """A number as it is usually written, within the bounds of the parameter."""
    info = param.type_descriptor.parameter_info
    low, high = (-math.inf if info.min is None else info.min), (math.inf if info.max is None else info.max)
    if _NUMBER[kind].fullmatch(text) and low <= kind(text) <= high:
        return kind(text)
    bounds = "" if info.min is None else f" from {low}" if info.max is None else f" from {low} to {high}"
    noun = "a whole number" if kind is int else "a number"
    raise typer.BadParameter(f"found {shown(text)}, expected {noun}{bounds}", ctx=ctx, param=param)


class _Params:
    """A command whose parameters take texts, paths and defaults as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, that of the help among them."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in found:
            param._runtime_param = _Quick()  # noqa: SLF001 - see the module
        return found


class Command(_Params, TyperCommand):
    """A command."""


class Group(_Params, TyperGroup):
    """A command with commands of its own."""
