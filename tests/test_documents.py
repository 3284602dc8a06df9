"""Shapes of stored files are checked as pydantic checks them, from the same types."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from damage import damaged
from prereg.documents import SHAPES
from prereg.validation import Constraint, validator

ROOT = Path(__file__).parent.parent
STORED = {
    "registration": sorted(ROOT.glob("registrations/*/*.json")),
    "ledger": sorted(ROOT.glob("results/*/*/ledger.json")),
    "attempt": sorted(ROOT.glob("results/*/attempts/*.json")),
    "witness": sorted(ROOT.glob("registrations/*/attempts/*.json")),
}
ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**70, "", "x", "a" * 64, [], [None], ["x", 1], {}, {"name": 1}, float("nan")]
)


# how pydantic asks a marker in `Annotated` what it means
Constraint.__get_pydantic_core_schema__ = lambda self, kind, handler: self.applied(handler(kind))


@functools.cache
def examples(kind):
    return [json.loads(path.read_text(encoding="utf-8")) for path in STORED[kind]]


@functools.cache
def both(kind, part):
    return TypeAdapter(SHAPES[kind][part]).validate_python, validator(SHAPES[kind][part]).validate_python


def said(check, tree):
    """What is wrong with a tree, in the words of pydantic."""
    try:
        check(tree, strict=True)
    except ValidationError as error:
        return [(e["loc"], e["type"], e["msg"]) for e in error.errors(include_url=False, include_input=False)]
    return []


@pytest.mark.parametrize("kind", STORED)
def test_committed_files_are_accepted(kind):
    assert examples(kind)
    for stored in examples(kind):
        for part in SHAPES[kind]:
            reference, ours = both(kind, part)
            assert said(reference, stored[part]) == said(ours, stored[part]) == []


@pytest.mark.parametrize("kind", STORED)
@given(st.data())
def test_damaged_files_against_pydantic(kind, data):
    stored = data.draw(st.sampled_from(examples(kind)))
    part = data.draw(st.sampled_from(sorted(SHAPES[kind])))
    reference, ours = both(kind, part)
    tree = stored[part]
    for _ in range(data.draw(st.integers(1, 3))):
        tree = damaged(data, tree, ODD)
    assert said(ours, tree) == said(reference, tree)


@pytest.mark.parametrize(("kind", "part"), [(k, p) for k, parts in SHAPES.items() for p in parts])
@settings(max_examples=25)
@given(tree=st.recursive(ODD, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner)))
def test_anything_against_pydantic(kind, part, tree):
    reference, ours = both(kind, part)
    assert said(ours, tree) == said(reference, tree)
