"""Strict reading with places, by both YAML parsers, and writing that is whole or not there."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prereg import formats, yamltext
from prereg.document import Source
from prereg.errors import InputError, MissingError, Place, PreregError
from prereg.formats import dump_json, read_json, read_yaml, write_atomic

PARSERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


@pytest.fixture(params=PARSERS, ids=lambda parser: parser.__name__)
def read(request, monkeypatch, tmp_path):
    """Read a text with each of the two parsers."""
    monkeypatch.setattr(yamltext, "_LOADER", request.param)
    path = tmp_path / "protocol.yaml"

    def read_text(text, **bounds):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(path, "p.yaml", **bounds)

    return read_text


# Scalars. What they are is stated in the language's section on YAML; nothing here is what YAML 1.1 says.


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("-7", -7),
        ("9007199254740991", 2**53 - 1),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("+0.5", 0.5),
        ("-.5", -0.5),
        ("0.50", 0.5),
        ("5e-1", 0.5),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-0.0", 0.0),
        ("1e+16", 1e16),
        ("5e-324", 5e-324),
    ],
)
def test_plain_scalars_that_are_not_text(read, written, expected):
    value = read(f"a: {written}").tree["a"]

    assert (type(value), str(value)) == (type(expected), str(expected))


@pytest.mark.parametrize(
    "written",
    [
        *[
            "~",
            "True",
            "TRUE",
            "Null",
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "012",
            "-012",
            "01.5",
            "1_000",
            "0x1f",
        ],
        *[
            "0o17",
            "0b1",
            "12:30",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            ".inf",
            "-.inf",
            ".nan",
            "inf",
            "nan",
        ],
        *["+5", "1.2.3", ".", "e5", "1e", "=", "--", "1,5"],
        *["acc[a] > 0.5", "a:b", "don't", "risk <= 1e-3", "not x"],
    ],
)
def test_plain_scalars_that_are_text(read, written):
    assert read(f"a: {written}").tree == {"a": written}


def test_quoted_scalars_are_text(read):
    assert read("""{a: "1", b: 'true', c: "", d: '', e: "x\\ty\\u00e9"}""").tree == {
        "a": "1",
        "b": "true",
        "c": "",
        "d": "",
        "e": "x\tyé",
    }


def test_keys_are_text_as_written(read):
    assert read("{0.50: 1, true: 2, 'no': 3, 012: 4, 2026-01-01: 5}").tree == {
        "0.50": 1,
        "true": 2,
        "no": 3,
        "012": 4,
        "2026-01-01": 5,
    }


def test_key_order_is_kept(read):
    assert list(read("b: 1\na: 2\nc: 3").tree) == ["b", "a", "c"]


def test_block_scalars_and_lists(read):
    text = "a: >-\n  one\n  two\nb: |\n  x\n  y\nc:\n  - 1\n  - {d: [2, three]}\n"
    assert read(text).tree == {"a": "one two", "b": "x\ny\n", "c": [1, {"d": [2, "three"]}]}


def test_a_document_mark_alone_is_accepted(read):
    assert read("# why\n---\na: 1\n...\n").tree == {"a": 1}


@pytest.mark.parametrize("text", ["a: 1\r\nb: |\r\n  x\r\n  y\r\n", "a: 1\rb: |\r  x\r  y\r"])
def test_line_ends_and_byte_order_mark_do_not_count(read, text):
    document = read(b"\xef\xbb\xbf" + text.encode())

    assert document.tree == {"a": 1, "b": "x\ny\n"}
    assert document.place(("b",), key=True) == Place("p.yaml", 2, 1)


# Refusals: text, place of the (first) problem, words that must be in the message.

BAD = {
    "duplicate key": ("a: 1\nb: 2\na: 3", "2+1:1", ["duplicate", "`a`", "line 1"]),
    "duplicate key in flow": ("m: {x: 1, x: 2}", "1:11", ["duplicate", "`x`"]),
    "duplicate key, spelled in two ways": ("0.5: 1\n'0.5': 2", "2:1", ["duplicate"]),
    "merge key": ("a: 1\n<<: {b: 2}", "2:1", ["merge key"]),
    "anchor": ("a: &x 3", "1:4", ["anchor", "quoted"]),
    "anchor on a key": ("&x a: 3", "1:1", ["anchor"]),
    "anchor on a mapping": ("a: &x\n  b: 1", "1:4", ["anchor"]),
    "alias": ("a: 1\nb: *x", "2:4", ["alias", "quoted"]),
    "alias as a key": ("*x : 1", "1:1", ["alias"]),
    "tag": ("a: !x 3", "1:4", ["tag"]),
    "tag of a built-in type": ("a: !!str 3", "1:4", ["tag"]),
    "tag that says nothing": ("a: ! 3", "1:4", ["tag"]),
    "tag of an object": ("a: !!python/object/apply:os.system [ls]", "1:4", ["tag"]),
    "second document": ("a: 1\n---\nb: 2", "2:1", ["document"]),
    "directive": ("# x\n%YAML 1.1\n---\na: 1", "2:1", ["directive"]),
    "unknown directive": ("%X y\n---\na: 1", "1:1", ["directive"]),
    "empty file": ("", "1:1", ["empty"]),
    "only comments": ("# nothing\n", "1:1", ["empty"]),
    "only a document mark": ("---\n", "1:4", ["empty"]),
    "empty value": ("a: 1\nb:\nc: 2", "2:1", ["`b`", "no value"]),
    "empty value at the end": ("a:\n  b:\n", "2:3", ["`b`", "no value"]),
    "empty value in flow": ("a: {b: , c: 1}", "1:5", ["`b`", "no value"]),
    "empty item": ("a:\n- 1\n-\n- 2", "3:2", ["empty"]),
    "key without colon in flow": ("a: {b}", "1:5", ["`b`", "no value", "quoted"]),
    "list as a key": ("? [a]\n: b", "1:3", ["key"]),
    "braces in braces": ("a: {{x}}", "1:5", ["key", "quoted"]),
    "control character": ("a: x\x07", "1:5", ["U+0007"]),
    "control character by escape": ('a: "x\\x07"', "1:4", ["U+0007"]),
    "line separator": ("a: x\u2028y", "1:5", ["U+2028"]),
    "byte order mark inside": ("a: x\ufeffy", "1:5", ["U+FEFF"]),
    "decomposed text": ("a: cafe\u0301", "1:7", ["NFC"]),
    "decomposed key": ("cafe\u0301: 1", "1:4", ["NFC"]),
    "decomposed by escape": ('a: "e\\u0301"', "1:4", ["NFC"]),
    "too many digits": ("a: 0.1000000000000000055511151231257827", "1:4", ["digits", "double"]),
    "too large": ("a: 1e400", "1:4", ["larger", "double"]),
    "too small": ("a: 1e-400", "1:4", ["smaller", "double"]),
    "exponent beyond everything": ("a: 1e-99999999999999999999", "1:4", ["double"]),
    "integer beyond 2^53 - 1": ("a: 9007199254740992", "1:4", ["2^53"]),
    "integer with thousands of digits": ("a: " + "9" * 5000, "1:4", ["2^53"]),
    "tab as indentation": ("a:\n\tb: 1", "2:1", ["spaces"]),
    "line indented too far": ("a: 1\n  b: 2", "2:4", ["indentation"]),
    "unclosed quote": ('a: 1\nb: "x\nc: 2', "2:4", ["quote", "not closed"]),
    "unclosed bracket": ("a: {b: 1\nc: 2", "1:8", ["line 1", "not closed"]),
    "unknown escape": ('a: "\\q"', "1:4+1", ["backslash", "single quotes"]),
    "not UTF-8": (b"a: 1\nb: \xff", "2:4", ["UTF-8", "0xff", "offset 8"]),
    "UTF-16": ("a: 1".encode("utf-16"), "1:1", ["UTF-16"]),
    # Expressions that YAML takes apart; the place is that of the expression, or at least its line.
    "comma": ("m:\n  f: {value: maximum(acc - 0.5, 0)}", "2:14", ["`maximum(acc - 0.5, 0)`", "quoted"]),
    "two commas": ("f: {value: if(a, b, 0), among: x}", "1:12", ["`if(a, b, 0)`", "quoted"]),
    "comma over two lines": (
        "f: {among: x,\n    value: minimum(a, b)}",
        "2:12",
        ["`minimum(a, b)`", "quoted"],
    ),
    "comma in a list": ("f: [f(x, y), z]", "1:5", ["quoted"]),
    "selection in braces": ("p: {claim: acc[a] > acc[b], evidence: point}", "1:12", ["quoted"]),
    "within in braces": ("p: {because: x,\n  claim: acc within [0, 1]}", "2:10", ["quoted"]),
    "comma and selection": ("p: {claim: if(a[x], 1, 0)}", "1:12", ["quoted"]),
    "colon in braces": ("p: {when: a: b}", "1:11", ["quoted"]),
    "braces in an expression": ("p: {where: x in {a}}", "1:12", ["quoted"]),
    "quoted head in braces": ('p: {where: "x" == y}', "1:16", ["quoted"]),
    "colon and blank": ('a: matches(x, "y: z")', "1:17", ["quoted"]),
    "hash": ('a: matches(x, "y #z")', "1:4", ["quoted", "comment"]),
    "begins with a double quote": ('a: "x" == y', "1:8", ["quoted"]),
    "begins with a single quote": ("a: 'x' == y", "1:8", ["quoted"]),
    "begins with [": ("a: [x] + y", "1:8", ["quoted"]),
    "begins with {": ("a: {x: 1} + y", "1:11", ["quoted"]),
    "begins with &": ("a: &x + y", "1:4", ["quoted"]),
    "begins with *": ("a: *x + y", "1:4", ["quoted"]),
    "begins with !": ("a: !x + y", "1:4", ["quoted"]),
    "begins with %": ("a: %x + y", "1:4", ["quoted"]),
    "begins with @": ("a: @x + y", "1:4", ["quoted"]),
    "begins with >": ("a: > 0.5", "1:4", ["quoted"]),
    "begins with |": ("a: | x", "1:4", ["quoted"]),
}


@pytest.mark.parametrize(("text", "place", "words"), BAD.values(), ids=BAD)
def test_refused_with_place_and_words(read, text, place, words):
    with pytest.raises(InputError) as caught:
        read(text)
    first = caught.value.problems[0]
    line, column = place.split(":")
    # "4+1": the two parsers differ by that much.
    lines, columns = ([sum(map(int, p.split("+"))), int(p.split("+")[0])] for p in (line, column))

    assert first.place.file == "p.yaml"
    assert first.place.line in lines
    assert first.place.column in columns
    for word in words:
        assert word in first.message
    assert len(str(first).splitlines()) == 1


def test_all_problems_are_told_in_one_go(read):
    text = "a: 1\na: 2\nb:\nc: {v: f(x, y), w: 1e400}\nd: &x 3\ne: {claim: p[a] > 1}\n"
    with pytest.raises(InputError) as caught:
        read(text)

    assert [(p.place.line, p.place.column) for p in caught.value.problems] == [
        (2, 1),
        (3, 1),
        (4, 8),
        (4, 20),
        (5, 4),
        (6, 12),
    ]


def test_problems_without_end_are_cut(read):
    with pytest.raises(InputError) as caught:
        read("a: 1\n" * 500)

    assert len(caught.value.problems) == 101
    assert "more problems" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: see (1) below # a comment", "see (1) below"),
        ("a: f(x) > 0   # a comment (with one bracket", "f(x) > 0"),
        ("a: x#y", "x#y"),
    ],
)
def test_comments_behind_whole_values_are_no_problem(read, text, expected):
    assert read(text).tree == {"a": expected}


# Bounds.


def test_size_is_bounded_before_anything_is_read(read):
    with pytest.raises(InputError, match=r"^p.yaml: 2001 bytes are too many: at most 2000 are read$"):
        read("#" * 2001, max_bytes=2000)
    assert read("a: 1 #".ljust(2000), max_bytes=2000).tree == {"a": 1}


def test_a_sparse_file_of_100_gigabytes_is_refused_unread(tmp_path):
    path = tmp_path / "p.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 10**9)
    for reader in (read_yaml, read_json):
        with pytest.raises(InputError, match="100000000000 bytes are too many"):
            reader(path)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "a:\n"])
def test_depth_is_bounded_without_recursion(read, opening):
    text = opening * 20_000 if opening != "a:\n" else "\n".join(" " * i + "a:" for i in range(1000))
    with pytest.raises(InputError):
        read(text)


def test_depth_limit_is_the_number_of_open_collections(read):
    assert read("[[[1]]]", max_depth=3).tree == [[[1]]]
    with pytest.raises(InputError, match="1:4: nested deeper than 3"):
        read("[[[[1]]]]", max_depth=3)


def test_number_of_values_is_bounded(read):
    with pytest.raises(InputError, match="more than 100000 values"):
        read("[" + "a," * 100_001 + "]")


def test_missing_file_is_missing_and_a_folder_is_bad_input(tmp_path):
    for reader in (read_yaml, read_json):
        with pytest.raises(MissingError, match="no such file"):
            reader(tmp_path / "none")
        with pytest.raises(InputError, match="folder"):
            reader(tmp_path)
        with pytest.raises(InputError, match="cannot be read"):
            reader(tmp_path / "a\0b")


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="regular file"):
        read_yaml(tmp_path / "pipe")


# Whatever the bytes are: a document or a PreregError.

YAMLISH = st.text(alphabet="ab01.e-+:,#'\"\\[]{}()&*!%@>|?<~= \t\n\r\u00e9\u0301\u0085\ufeff", max_size=60)
PIECES = st.lists(
    st.sampled_from(
        [
            *["a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ", ", '"', "'", "#", " #", "&x ", "*x", "!t "],
            *[
                "|\n",
                ">-\n",
                "? ",
                "<<",
                "1e5",
                "0.1",
                "---\n",
                "...\n",
                "%Y\n",
                "\\u00",
                "\\xd8",
                "\t",
                "(",
                ")",
            ],
            *["\\U00110000"],
        ]
    ),
    max_size=25,
).map("".join)
ANY_BYTES = st.one_of(
    st.binary(max_size=80), *(s.map(str.encode) for s in (YAMLISH, PIECES, st.text(max_size=40)))
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=ANY_BYTES)
@example(data=b'a: "\\ud800"')
@example(data=b'"\\U00110000"')
@example(data=b'"\\Uffffffff"')
@example(data=b"\xff\xfe\x00\x00")
def test_no_bytes_make_the_yaml_reader_raise_anything_else(read, data):
    document = None
    problems = ()
    try:
        document = read(data)
    except PreregError as error:
        problems = error.problems

    assert bool(problems) == (document is None)
    for problem in problems:
        assert problem.place is not None
        assert problem.place.file == "p.yaml"
    if document is not None:
        json.dumps(document.tree, allow_nan=False, ensure_ascii=False).encode()
        for path, node in document.nodes.items():
            document.place(path, key=True)
            for offset in range(len(node.scalar or "") + 2):
                document.place(path, offset=offset)


@pytest.mark.skipif(len(PARSERS) < 2, reason="no C parser here")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=YAMLISH | PIECES)
def test_both_parsers_read_the_same_from_what_both_accept(monkeypatch, data):
    read = []
    for parser in PARSERS:
        monkeypatch.setattr(yamltext, "_LOADER", parser)
        try:
            document = yamltext.parse_yaml(Source("p.yaml", data.replace("\r", "\n")), max_depth=50)
        except InputError:
            continue
        read.append((repr(document.tree), document.nodes))

    assert len(read) < 2 or read[0] == read[1]


# Places.

PLACES = """\
title: A plain one
data:
  rate: acc  >  0.50
  list: [one, {k: two}]
folded: >-   # a comment
  abs(x) >
  abs(y)

  and z
literal: |2
    a
   b
single: 'it''s on
  two lines'
double: "t\\u00e9\\t\\"q\\" a\\
  b"
long: a plain scalar
  over two lines
"""


@pytest.mark.parametrize(
    ("path", "key", "place"),
    [
        ((), False, (1, 1)),
        (("title",), True, (1, 1)),
        (("title",), False, (1, 8)),
        (("data",), True, (2, 1)),
        (("data",), False, (3, 3)),
        (("data", "list"), False, (4, 9)),
        (("data", "list", 1), False, (4, 15)),
        (("data", "list", 1), True, (4, 15)),
        (("data", "list", 1, "k"), True, (4, 16)),
        (("data", "list", 1, "k"), False, (4, 19)),
        (("folded",), False, (5, 9)),
        (("data", "missing"), False, (3, 3)),
        (("data", "branch-of-a-union", "rate"), False, (3, 9)),
        (("nothing", "at", "all"), False, (1, 1)),
    ],
)
def test_places_of_values_and_keys_by_hand(read, path, key, place):
    assert read(PLACES).place(path, key=key) == Place("p.yaml", *place)


@pytest.mark.parametrize(
    ("path", "part", "place"),
    [
        (("title",), "plain", (1, 10)),
        (("data", "rate"), "0.50", (3, 17)),
        (("folded",), "abs(x)", (6, 3)),
        (("folded",), "abs(y)", (7, 3)),
        (("folded",), "z", (9, 7)),
        (("literal",), "a", (11, 5)),
        (("literal",), "b", (12, 4)),
        (("single",), "it", (13, 10)),
        (("single",), "'s", (13, 12)),
        (("single",), "s on", (13, 14)),
        (("single",), "two", (14, 3)),
        (("double",), "t", (15, 10)),
        (("double",), "é", (15, 11)),
        (("double",), '"q', (15, 19)),
        (("double",), "q", (15, 21)),
        (("double",), "b", (16, 3)),
        (("long",), "plain", (17, 9)),
        (("long",), "over", (18, 3)),
    ],
)
def test_places_of_characters_by_hand(read, path, part, place):
    document = read(PLACES)

    assert document.place(path, offset=document.source(path).index(part)) == Place("p.yaml", *place)


def test_place_behind_the_last_character(read):
    document = read(PLACES)
    ends = {
        path: document.place((path,), offset=len(document.source((path,))))
        for path in ("title", "folded", "long")
    }

    assert ends == {
        "title": Place("p.yaml", 1, 19),
        "folded": Place("p.yaml", 9, 8),
        "long": Place("p.yaml", 18, 17),
    }


WORDS = st.lists(st.text("abé[]()<>=.\"'\\", min_size=1, max_size=5), min_size=1, max_size=8)


@given(
    WORDS,
    st.lists(st.sampled_from([" ", "\n    ", "\n\n    "]), min_size=8, max_size=8),
    st.sampled_from(">|'\""),
)
def test_every_character_is_found_where_it_was_written(words, gaps, style):
    body = "".join(word + gap for word, gap in zip(words, gaps, strict=False)).rstrip()
    if style in "|>":
        text = f"k:\n  x: {style}-\n    {body}\n"
    else:
        quoted = body.replace("'", "''") if style == "'" else body.replace("\\", "\\\\").replace('"', '\\"')
        text = f"k:\n  x: {style}{quoted}{style}\n"
    document = yamltext.parse_yaml(Source("p.yaml", text), max_depth=50)
    lines = text.split("\n")

    for offset, character in enumerate(document.source(("k", "x"))):
        place = document.place(("k", "x"), offset=offset)
        if not character.isspace():
            found = lines[place.line - 1][place.column - 1 :]
            assert found.startswith((character, "\\" + character) if style == '"' else character)


def test_source_is_the_text_as_written(read):
    document = read("{a: 0.50, b: true, c: '0.50', d: [5e-1], e: null}")
    sources = [document.source(path) for path in [("a",), ("b",), ("c",), ("d", 0), ("e",)]]

    assert sources == ["0.50", "true", "0.50", "5e-1", "null"]
    for path in [("d",), ("none",), ()]:
        with pytest.raises(KeyError):
            document.source(path)


# JSON.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate key `c`"),
        ('{"a": 1, "\\u0061": 2}', "duplicate key `a`"),
        ("[NaN]", "NaN"),
        ("[Infinity]", "Infinity"),
        ("[-Infinity]", "Infinity"),
        ("[1e400]", "larger than any double"),
        ("[1e-400]", "smaller than any double"),
        ("[0.1000000000000000055511151231257827]", "more digits"),
        ("[9007199254740992]", "2^53"),
        ("[" + "1" * 5000 + "]", "2^53"),
        ('"\\ud800"', "surrogate"),
        ('{"\\udc00": 1}', "surrogate"),
        ("[1,\n 2,]", "j.json:2"),
        ("", "j.json:1:1"),
        ("{} {}", "j.json:1:4"),
        ("[" * 100_000, "deeper"),
        ("[" * 51 + "]" * 51, "deeper than 50"),
        (b'\n"\xff"', "j.json:2:2: not UTF-8"),
    ],
)
def test_json_that_two_readers_could_take_differently_is_refused(text, words):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(InputError) as caught:
        read_json(data, "j.json")

    assert words in str(caught.value)
    assert str(caught.value).startswith("j.json:")
    assert len(str(caught.value).splitlines()) == 1


def test_json_depth_limit_is_the_number_of_open_collections():
    assert read_json(b"[" * 50 + b"]" * 50) is not None
    assert read_json(b"[[1], 2]", max_depth=2) == [[1], 2]
    assert read_json(b"1", max_depth=0) == 1


@given(
    st.one_of(st.binary(max_size=60), st.text('{}[]":,01.e-+\\ud8NaInfty \n', max_size=60).map(str.encode))
)
def test_no_bytes_make_the_json_reader_raise_anything_else(data):
    try:
        tree = read_json(data)
    except PreregError:
        return
    json.dumps(tree, allow_nan=False, ensure_ascii=False).encode()


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(PLAIN)
def test_what_was_written_is_what_is_read(tree):
    data = dump_json(tree)

    assert read_json(data) == tree
    assert data.endswith(b"\n")


def test_dump_keeps_order_and_characters_by_hand():
    assert dump_json({"b": [1, "é"], "a": {}}) == '{\n "b": [\n  1,\n  "é"\n ],\n "a": {}\n}\n'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_dump_has_no_nan(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_json([value])


# Writing.


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_write_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "results" / "x" / "ledger.json"
    write_atomic(path, b"one")
    write_atomic(path, b"two")

    assert path.read_bytes() == b"two"
    assert _names(path.parent) == ["ledger.json"]


def test_written_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_atomic(tmp_path / "written", b"")

    assert stat.S_IMODE((tmp_path / "written").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "usual").stat().st_mode
    )


def test_exclusive_never_replaces(tmp_path):
    path = tmp_path / "a.json"
    write_atomic(path, b"first", exclusive=True)
    with pytest.raises(FileExistsError):
        write_atomic(path, b"second", exclusive=True)

    assert path.read_bytes() == b"first"
    assert _names(tmp_path) == ["a.json"]


def test_exclusive_never_replaces_where_there_are_no_hard_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(formats.os, "link", no_links)
    test_exclusive_never_replaces(tmp_path)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step, exclusive):
    path = tmp_path / "a.json"
    if not exclusive:
        path.write_bytes(b"before")

    def fail(*_):
        raise OSError(28, "No space left on device")

    if step == "fsync":
        monkeypatch.setattr(formats.os, "fsync", fail)
    else:
        monkeypatch.setattr(formats.os, "link", fail)
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        write_atomic(path, b"after", exclusive=exclusive)

    assert _names(tmp_path) == ([] if exclusive else ["a.json"])
    assert exclusive or path.read_bytes() == b"before"


def _write_until_killed(path):
    index = 0
    while True:
        write_atomic(path, bytes([index % 256]) * 200_000)
        index += 1


def test_a_killed_writer_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.json"
    write_atomic(path, b"x" * 200_000)
    context = multiprocessing.get_context("spawn")
    for delay in (0.3, 0.41, 0.53):
        writer = context.Process(target=_write_until_killed, args=(path,))
        writer.start()
        writer.join(delay)
        for _ in range(20):
            data = path.read_bytes()
            assert len(data) == 200_000
            assert len(set(data)) == 1
        writer.kill()
        writer.join()
        data = path.read_bytes()
        assert len(data) == 200_000
        assert len(set(data)) == 1


def _write_once(path, name):
    try:
        write_atomic(path, name.encode(), exclusive=True)
    except FileExistsError:
        return None
    return name


def test_of_several_exclusive_writers_one_wins(tmp_path):
    path = tmp_path / "a.json"
    names = [str(i) for i in range(16)]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        winners = [n for n in pool.starmap(_write_once, [(path, name) for name in names]) if n is not None]

    assert [path.read_bytes().decode()] == winners
    assert _names(tmp_path) == ["a.json"]


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(tmp_path / "file" / "x", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(tmp_path / "folder", b"")
