"""Tables on screens of any width: no word is broken, nothing is lost, and rows that fit stand in columns."""

from __future__ import annotations

import contextlib
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from prereg.cli.sheet import Table, Terminal, Text

WORDS = st.text("abcdefgh-", min_size=1, max_size=12)
CELL = st.lists(WORDS, max_size=4).map(" ".join)


def drawn(table, width):
    """What a screen shows."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        Terminal(width).print(table)
    return out.getvalue()


def filled(columns, rows):
    table = Table("a title that is long")
    for name in columns:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    return table


@settings(max_examples=200)
@given(st.data())
def test_no_word_is_broken_or_lost(data):
    columns = data.draw(st.lists(WORDS, min_size=2, max_size=6))
    rows = data.draw(st.lists(st.tuples(*[CELL] * len(columns)), min_size=1, max_size=4))
    width = data.draw(st.integers(20, 140))
    out = drawn(filled(columns, rows), width)
    assert max(map(len, out.splitlines())) <= width
    words = [word for row in rows for cell in row for word in cell.split()]
    for word in set(words):
        assert out.split().count(word) >= words.count(word)


def test_a_table_that_fits_stands_in_columns():
    table = filled(
        ["id", "verdict", "claim"], [["one", "held", "a > 0"], ["other-one", "failed (short)", "b > 0"]]
    )
    assert [line.rstrip() for line in drawn(table, 60).splitlines()] == [
        "a title that is long",
        "id         verdict         claim",
        "one        held            a > 0",
        "other-one  failed (short)  b > 0",
    ]


def test_a_long_last_column_is_folded():
    table = filled(["id", "claim"], [["one", "all of these words are one claim that is long"]])
    assert [line.rstrip() for line in drawn(table, 38).splitlines()] == [
        "a title that is long",
        "id   claim",
        "one  all of these words are one claim",
        "     that is long",
    ]


def test_a_table_that_does_not_fit_is_written_row_by_row():
    table = filled(
        ["id", "verdict", "n", "claim"],
        [["one", Text("held", "green"), "12", "a > 0"], ["other", "", "3", "b"]],
    )
    assert [line.rstrip() for line in drawn(table, 24).splitlines()] == [
        "a title that is long",
        "one",
        "    verdict held  n 12",
        "    claim a > 0",
        "other",
        "    n 3  claim b",
    ]
