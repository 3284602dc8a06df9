"""Sections of a protocol are read and refused as pydantic does it, from the same types."""

from __future__ import annotations

import functools
import json
from dataclasses import MISSING
from pathlib import Path
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

import pydantic
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import damaged
from prereg.dataclass import fields
from prereg.errors import Place
from prereg.protocol import Protocol, Variant, validated
from prereg.stored import from_stored, to_stored
from prereg.validation import Before, Bounds, Length, Printed, Section, Text, plain, schema_of, validator

ROOT = Path(__file__).parent.parent
PROTOCOLS = sorted([*ROOT.glob("protocols/*.yaml"), *ROOT.glob("docs/examples/*.yaml")])
STRICT = pydantic.ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)
ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1,
        1.5,
        0.5,
        2**70,
        "",
        "x",
        "a b",
        "é",
        "x" * 101,
        [],
        [None],
        ["x", 1],
        {},
        {"a": 1},
    ]
)


def asked(constraint):
    """A constraint in the words of pydantic; nothing for what only a schema prints."""
    match constraint:
        case Text(pattern, longest):
            return [pydantic.StringConstraints(pattern=pattern, max_length=longest)]
        case Bounds():
            return [pydantic.Field(**{f.name: getattr(constraint, f.name) for f in fields(constraint)})]
        case Length(least, most):
            return [pydantic.Field(min_length=least, max_length=most)]
        case Before(function):
            return [pydantic.BeforeValidator(function)]
        case Printed():
            return []
    raise AssertionError(constraint)


def reference(kind):
    """The type with pydantic's models in the place of sections."""
    if isinstance(kind, type) and issubclass(kind, Section):
        return model(kind)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return functools.reduce(
            lambda whole, one: Annotated[whole, one],
            [one for constraint in inside[1:] for one in asked(constraint)],
            reference(inside[0]),
        )
    if origin in (Union, UnionType):
        return Union[tuple(map(reference, inside))]  # noqa: UP007 - made at run time
    if origin in (dict, tuple, list):
        return origin[tuple(one if one is ... else reference(one) for one in inside)]
    return kind


@functools.cache
def model(section):
    """A section as a model of pydantic, its own rules checked after its keys."""

    def rules(self):
        section(**{f.name: getattr(self, f.name) for f in fields(section)})
        return self

    def default(one):
        if one.default_factory is not MISSING:
            return pydantic.Field(default_factory=one.default_factory)
        if isinstance(one.default, Section):
            return model(type(one.default))()
        return ... if one.default is MISSING else one.default

    kinds = {f.name: (reference(section.__annotations__[f.name]), default(f)) for f in fields(section)}
    checks = {"rules": pydantic.model_validator(mode="after")(rules)}
    return pydantic.create_model(section.__name__, __config__=STRICT, __validators__=checks, **kinds)


def said(read, tree):
    """What is wrong with a tree; a mapping is called a model by pydantic."""
    try:
        read(json.dumps(tree))
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return [(e["loc"], e["type"].replace("model_type", "dict_type")) for e in found]
    return []


@functools.cache
def examples():
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in PROTOCOLS]


@pytest.mark.parametrize("path", PROTOCOLS, ids=lambda p: p.stem)
def test_protocols_are_read_as_by_pydantic(path):
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    read = model(Protocol).model_validate_json(json.dumps(tree))
    assert plain(validated(tree)) == json.loads(read.model_dump_json())


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_protocols_against_pydantic(data):
    tree = data.draw(st.sampled_from(examples()))
    for _ in range(data.draw(st.integers(1, 3))):
        tree = damaged(data, tree, ODD, ["", "x y", "x" * 101, "Z"])
    assert said(validator(Protocol).validate_json, tree) == said(model(Protocol).model_validate_json, tree)


def test_a_variant_that_was_registered_may_override_nothing():
    tree = {**examples()[0], "variants": {"v": {"where": None}}}
    stored = to_stored(validated(tree))
    assert from_stored(stored, Place("x")).variants["v"] == Variant()


def test_what_has_no_schema_is_told():
    with pytest.raises(TypeError, match="no schema is known"):
        schema_of(set[str])


def test_two_types_of_one_name_are_told():
    one, other = (type("Same", (Section,), {"__annotations__": {}, "__dataclass_names__": {}}) for _ in "ab")
    with pytest.raises(TypeError, match="two types are called Same"):
        schema_of(dict[str, one] | dict[str, other])
