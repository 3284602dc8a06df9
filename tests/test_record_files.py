"""Readers of records: what one format says another says too, what is wrong is told, and memory is bounded."""

from __future__ import annotations

import json

import pytest

from prereg.errors import InputError
from prereg.readers import json_lines as lines
from prereg.readers import read_records


def read(folder, name, text, types=None):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_records([(name, path)], types or {})


def refused(folder, name, text):
    with pytest.raises(InputError) as caught:
        read(folder, name, text)
    return [str(p) for p in caught.value.problems]


@pytest.mark.parametrize("kind", ["number", "truth", "text"])
def test_a_declared_column_without_a_cell_is_of_its_kind_in_every_format(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": ["x", "y"], "b": [None, None]}), tmp_path / "r.parquet")
    found = [
        read(tmp_path, "r.csv", "a,b\nx,\ny,\n", {"b": kind}),
        read(tmp_path, "r.jsonl", '{"a": "x", "b": null}\n{"a": "y"}\n', {"b": kind}),
        read_records([("r.parquet", tmp_path / "r.parquet")], {"b": kind}),
    ]
    assert {one.columns["b"].kind for one in found} == {kind}
    assert all(one.columns["b"].cells.missing_mask().all() for one in found)


def test_texts_of_parquet_that_were_stored_as_bytes_are_texts(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.table({"a": [b"ab", "ü".encode()]}), path)
    assert read_records([("r", path)], {}).columns["a"].cells.levels == ("ab", "ü")
    parquet.write_table(pyarrow.table({"a": [b"\xff"]}), path)
    with pytest.raises(InputError, match="malformed Parquet"):
        read_records([("r", path)], {})


def test_a_quote_that_is_never_closed_is_told_beside_rows_of_another_width(tmp_path):
    text = "a,b\n" + "1\n" * 5 + '1,"2\n'
    assert refused(tmp_path, "r.csv", text) == [
        "r.csv:2: found 1 cell, expected 2 as in the header",
        "r.csv:3: found 1 cell, expected 2 as in the header",
        "r.csv:4: found 1 cell, expected 2 as in the header (and 2 more lines)",
        "r.csv:7: malformed CSV: the record that begins here holds a quote that is never closed",
    ]


@pytest.mark.parametrize("first", [True, False])
def test_rows_that_lack_most_keys_are_bounded(tmp_path, monkeypatch, first):
    monkeypatch.setattr(lines, "MOST_CELLS", 1000)
    wide, bare = json.dumps({f"k{i}": 1 for i in range(100)}), ['{"a": 1}'] * 50
    rows = [wide, *bare] if first else [*bare, wide]
    (said,) = refused(tmp_path, "r.jsonl", "\n".join(rows))
    assert "more than 1000 cells are absent" in said
    assert read(tmp_path, "r.jsonl", "\n".join(rows[:10] if first else rows[42:])).rows
