"""The prepared tables of the grammar parse like the grammar itself."""

from __future__ import annotations

import json

import lark
import pytest

from prereg.expression import tables

TEXTS = (
    "abs(spearman(precision, failure)) > abs(spearman(ece, failure)) and not x < 1 or false",
    "a - b within [-0.05, 0.05]",
    'failure[always] == 1 <= recall["knn-30", gate >= 0.5, rule in [a, b]]',
    "mean(x ** -2 / 3, over = [gate, run]) in [1, 2]",
    "support < 0.5",
)


def test_tables_are_those_of_this_grammar():
    made_of = json.loads(tables.TABLES.read_bytes())["made_of"]
    if made_of["lark"] != lark.__version__:
        pytest.skip("made by another lark: the parser is built from the grammar")
    fresh = json.loads(tables.tables())
    assert fresh["made_of"] == made_of, "run python -m prereg.expression.tables"


@pytest.mark.parametrize("text", TEXTS)
def test_tables_parse_like_the_grammar(text):
    built = tables.build(tables.GRAMMAR.read_text(encoding="utf-8"))
    assert tables.parser().parse(text) == built.parse(text)


@pytest.mark.parametrize("text", ["a b", "x <", "f(", "x [1", "a = b", "= 1"])
def test_tables_refuse_like_the_grammar(text):
    built = tables.build(tables.GRAMMAR.read_text(encoding="utf-8"))
    told = []
    for parser in (tables.parser(), built):
        with pytest.raises(lark.exceptions.UnexpectedInput) as error:
            parser.parse(text)
        told.append(
            (type(error.value), sorted(getattr(error.value, "expected", ())), error.value.pos_in_stream)
        )
    assert told[0] == told[1]


def test_tables_that_do_not_fit_are_not_used(tmp_path, monkeypatch):
    for content in (b"", b"[]", b'{"made_of": {}}'):
        path = tmp_path / "grammar.json"
        path.write_bytes(content)
        monkeypatch.setattr(tables, "TABLES", path)
        assert tables.parser().parse("a < 1").data == "chain"
