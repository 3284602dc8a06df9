"""Readers of records: what one format says another says too, what is wrong is told, and memory is bounded."""

from __future__ import annotations

import json
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken_projects import command
from prereg.errors import InputError
from prereg.readers import csv_text, read_records
from prereg.readers import json_lines as lines


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


NESTED = """\
prereg: 1
id: nested
title: Cells that hold more than a value
data: {records: r.jsonl, arm: model, unit: item}
metrics: {accuracy: {rate: correct}}
predictions:
  p: {claim: "accuracy[new] > accuracy[old]", evidence: point}
"""


def test_a_column_of_nested_values_that_nothing_reads_is_no_hindrance(tmp_path):
    (tmp_path / "p.yaml").write_text(NESTED)
    rows = [
        {"model": m, "item": i, "correct": m == "new", "usage": {"tokens": 3}}
        for m in ("new", "old")
        for i in "ab"
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for done in (["lock", str(tmp_path / "p.yaml")], ["run"], ["verify"]):
        said = command(*done, "-C", str(tmp_path))
        assert said.code == 0, said.err


HUGE = """\
prereg: 1
id: huge
title: Sums beyond any double
data: {records: r.csv, arm: model, unit: item}
metrics: {m: {mean: x}, s: {sum: x}, v: {value: s * 10}}
resampling: {resamples: 20, seed: 0}
predictions:
  p: {claim: "s[new] > s[old]"}
  q: {claim: "m[one] - m[less] > 0", evidence: point}
reports: {m: m, s: s, v: v}
"""


def test_a_number_beyond_any_double_is_undefined_with_a_reason(tmp_path, recwarn):
    (tmp_path / "p.yaml").write_text(HUGE)
    cells = {"new": ("1e308", "1e308"), "old": ("1", "2"), "one": ("1.7e308", "0"), "less": ("-1.7e308", "0")}
    lines = [f"{model},{item},{x}\n" for model, xs in cells.items() for item, x in zip("ab", xs, strict=True)]
    (tmp_path / "r.csv").write_text("model,item,x\n" + "".join(lines))
    for done in (["lock", str(tmp_path / "p.yaml")], ["run"], ["verify", "--rerun"]):
        said = command(*done, "-C", str(tmp_path))
        assert said.code == 0, said.err
    (table,) = tmp_path.glob("results/huge/*/policies.csv")
    text = table.read_text()
    assert "inf" not in text
    assert "new,new,,s,,,,2,undefined_input\n" in text
    (ledger,) = tmp_path.glob("results/huge/*/ledger.json")
    reasons = [p["reason"] for p in json.loads(ledger.read_text())["content"]["predictions"]]
    assert reasons[0] == "undefined"
    assert not recwarn.list


def told(text):
    """The cells and lines of a CSV text, or what is said of it."""
    try:
        table = csv_text.read_csv("x.csv", text)
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return table.columns, table.lines


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(["a", "b", ",", ",", "\n", "\r\n", "\r", '"', " ", "", "\u2028", "\x0b", "é", "\ud800"]), max_size=14)
    .map("".join)
    .map(lambda rest: f"m,u{rest}")
    | st.text(alphabet='ab,\n\r"', min_size=1, max_size=12)
)  # fmt: skip
def test_plain_text_is_read_as_by_the_csv_module(text):
    quick = told(text)
    with mock.patch.object(csv_text, "_plain", return_value=False):
        assert told(text) == quick


@pytest.mark.parametrize("text", ["\nm,u\na,b\n", "\r\n\r\nm\n", "\n"])
def test_an_empty_first_line_is_no_header(text):
    assert told(text) == ["x.csv:1: an empty line; the names of the columns are expected"]


@pytest.mark.parametrize("cells", [("0", "1", ""), ("1", "1", "0"), ("1.0", "0.0", "1")])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_zeros_and_ones_may_be_declared_truth_values_by_hand(tmp_path, cells, kind):
    rows = list(enumerate(cells))
    if kind == "csv":
        text = "model,item,x\n" + "".join(f"a,{i},{x}\n" for i, x in rows)
    else:
        text = "".join(
            json.dumps({"model": "a", "item": i, "x": float(x) if x else None}) + "\n" for i, x in rows
        )
    (tmp_path / f"r.{kind}").write_text(text)
    (tmp_path / "p.yaml").write_text(
        "prereg: 1\nid: t\ntitle: T\n"
        f"data: {{records: r.{kind}, arm: model, unit: item, types: {{x: truth}}}}\n"
        "metrics: {m: {count: x, among: defined(x)}}\n"
        "predictions: {p: {claim: 'm[a] >= 1', evidence: point}}\n"
    )
    assert command("lock", str(tmp_path / "p.yaml"), "-C", str(tmp_path)).code == 0
    said = command("run", "-C", str(tmp_path))
    assert said.code == 0, said.err
    (table,) = tmp_path.glob("results/t/*/policies.csv")
    ones = sum(float(x or 0) == 1 for x in cells)
    assert f"a,a,,m,{ones}," in table.read_text()


def test_other_numbers_are_no_truth_values(tmp_path):
    (tmp_path / "r.csv").write_text("model,item,x\na,1,0\na,2,2\n")
    (tmp_path / "p.yaml").write_text(
        "prereg: 1\nid: t\ntitle: T\ndata: {records: r.csv, arm: model, unit: item, types: {x: truth}}\n"
        "metrics: {m: {rate: x}}\npredictions: {p: {claim: 'm[a] > 0.1', evidence: point}}\n"
    )
    said = command("check", str(tmp_path / "p.yaml"), "-C", str(tmp_path))
    assert said.code == 2
    assert "expected true or false" in said.err


def test_quotients_sums_and_deviations_beyond_a_double_have_a_reason_by_hand(tmp_path):
    cells = {"a": "9e307", "b": "1.7e308", "c": "-1e308"}
    (tmp_path / "r.csv").write_text(
        "model,item,y\n" + "".join(f"{m},{i},{y}\n" for m, y in cells.items() for i in "12")
    )
    reports = {
        "median(m[model in [b, c]])": 3.5e307,
        "quantile(m, 0.25)": -5e306,
        "mean(m[model in [a, b]])": 1.3e308,
        "sum(m[model in [a, b]])": "undefined_input",
        "sd(m[model in [b, c]])": "undefined_input",
        "m[b] / 0.5": "undefined_input",
        "m[b] / (m[a] - m[a])": "zero_division",
        "sd(m[model in [a]])": "too_few_pairs",
        "argmax(m)": "b",
    }
    listed = "".join(f"  r{i}: '{text}'\n" for i, text in enumerate(reports))
    (tmp_path / "p.yaml").write_text(
        "prereg: 1\nid: t\ntitle: T\ndata: {records: r.csv, arm: model, unit: item}\nmetrics: {m: {mean: y}}\n"
        f"predictions: {{p: {{claim: 'm[a] < m[b]', evidence: point}}}}\nreports:\n{listed}"
    )
    for done in (["lock", str(tmp_path / "p.yaml")], ["run"], ["show", "t"], ["verify", "--rerun"]):
        said = command(*done, "-C", str(tmp_path))
        assert said.code == 0, said.err
    (ledger,) = tmp_path.glob("results/t/*/ledger.json")
    for report, expected in zip(
        json.loads(ledger.read_text())["content"]["reports"], reports.values(), strict=True
    ):
        (value,) = report["values"]
        if expected in ("undefined_input", "zero_division", "too_few_pairs"):
            assert (value["value"], value["reason"]) == (None, expected)
        elif expected == "b":
            assert value["value"] == "b"
        else:
            assert float(value["value"]) == pytest.approx(expected, rel=1e-9)
