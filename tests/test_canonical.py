"""Canonical bytes against the vectors of RFC 8785, and digests that must never move."""

from __future__ import annotations

import json
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prereg.canonical import canonical, digest, file_digest
from prereg.errors import InputError, MissingError

# RFC 8785, Appendix B: the bits of a double and its ECMAScript form.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "expected"), NUMBERS)
def test_numbers_against_rfc_8785_appendix_b(bits, expected):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert canonical(value) == expected.encode()


def test_sample_against_rfc_8785_section_3_2_3():
    text = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    expected = (
        r'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )

    assert canonical(json.loads(text)) == expected.encode()


def test_key_order_against_rfc_8785_section_3_2_3():
    # Order of UTF-16 code units: the emoji, a surrogate pair, stands before U+FB33.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    expected = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]

    assert list(json.loads(canonical(dict.fromkeys(keys, 0)))) == expected


def _nested(depth):
    tree = []
    for _ in range(depth):
        tree = [tree]
    return tree


@pytest.mark.parametrize(
    "tree",
    [
        float("nan"),
        float("inf"),
        2**53,
        -(2**53),
        10**5000,
        {1: 2},
        {"\ud800": 1},
        "\ud800",
        b"bytes",
        {1, 2},
        object(),
        _nested(100_000),
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_what_has_no_canonical_form_is_refused(tree):
    with pytest.raises(InputError, match="no canonical form"):
        canonical(tree)


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
def test_canonical_form_is_json_of_the_same_value_and_its_own_canonical_form(tree):
    data = canonical(tree)

    # ECMAScript has one kind of number, so the doubles beyond 2^53 come out as whole numbers.
    again = json.loads(data, parse_int=float)

    assert again == tree
    assert canonical(again) == data


@given(st.dictionaries(st.text(), st.integers(0, 9), min_size=2), st.randoms())
def test_order_of_keys_and_spelling_of_numbers_do_not_count(tree, random):
    items = [(key, float(value)) for key, value in tree.items()]
    random.shuffle(items)

    assert digest("protocol", dict(items)) == digest("protocol", tree)


# printf 'prereg/protocol\0{"a":1,"b":[0.5,null,true]}' | sha256sum, and so on. A change of any of these
# breaks every registration that exists.
PINNED = [
    (
        "protocol",
        {"b": [0.5, None, True], "a": 1},
        "4a90a0cfcaf8b2c0690d2ea58245d973898c00fbf695ed376737af00f371314b",
    ),
    (
        "ledger",
        {"b": [0.5, None, True], "a": 1},
        "c6563ecc4aa0fab43dd76b5ee6841334f75b8cc63b713e9cf14ed8d661d3a7b6",
    ),
    ("protocol", {}, "234e1ccdb33e40cd546ea9636cf1ab36271d330ce91376d10abda5aed11cbebe"),
]


@pytest.mark.parametrize(("kind", "tree", "expected"), PINNED)
def test_digests_against_sha256sum(kind, tree, expected):
    assert digest(kind, tree) == expected


def test_kinds_never_collide():
    # Without the NUL between kind and content, kind "a" with content "1..." could pass for another kind.
    assert len({digest(kind, 1) for kind in ("protocol", "ledger", "attempt", "a", "a1", "a-1")}) == 6


@pytest.mark.parametrize("kind", ["", "Protocol", "a\0b", "a/b", "1a"])
def test_kind_is_a_plain_word(kind):
    with pytest.raises(ValueError, match="kind"):
        digest(kind, {})


def test_file_digest_against_sha256sum(tmp_path):
    path = tmp_path / "records.csv"
    path.write_bytes(b"a\r\nb\n")
    assert file_digest(path) == ("953bba9ac9726eaea07e844abcf144a0afe998039257c7a88b6665819597f39d", 5)
    path.write_bytes(b"")
    assert file_digest(path) == ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0)


def test_file_digest_of_no_file_is_missing(tmp_path):
    with pytest.raises(MissingError, match=r"^data/x\.csv: no such file$"):
        file_digest(tmp_path / "x.csv", "data/x.csv")


def test_file_digest_of_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a regular file"):
        file_digest(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        file_digest(pipe)  # and does not wait for a writer
