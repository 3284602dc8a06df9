"""Hostile inputs from valid ones: bytes turned, cut, doubled and crossed; trees with a node replaced."""

from __future__ import annotations

import copy
import json

WORDS = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b'"',
    b"'",
    b'"""',
    b",",
    b",,,,",
    b": ",
    b" #",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"&a ",
    b"*a",
    b"<<: *a",
    b"!!python/object/apply:os.system [id]",
    b"!!binary aGk=",
    b"? ",
    b"- ",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[" * 300,
    b"{a: " * 200,
    b"(" * 300,
    b"not " * 300,
    b"-" * 300,
    b"~" * 300,
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1e-999",
    b"9" * 400,
    b"9007199254740993",
    b"0x1F",
    b"012",
    b"1_000",
    b"-0.0",
    b"true",
    b"null",
    b"../../etc/passwd",
    b"/dev/zero",
    b"\\u0000",
    b"\\ud800",
    b"e\xcc\x81",
    b"$(id)",
    b"__class__",
    b"{0.__class__}",
    b"(a+)+$",
    b"(?:(?:a{1000}){1000}){1000}",
    b"a" * 5000,
]
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**53,
    2**53 - 1,
    -(2**70),
    0.5,
    1e308,
    5e-324,
    -0.0,
    "",
    " ",
    "0",
    "a\nb",
    "\u202e\u2028",
    "../../x",
    "/etc/passwd",
    "a" * 3000,
    "x" * 64,
    "0" * 64,
    "held",
    "falsified",
    "1 + ",
    "spearman(",
    "not (" * 90,
    "support",
    [],
    {},
    [[]],
    {"": {}},
    [0] * 300,
    {"name": "a", "value": 1},
]


def mutated(draw, seeds, words=()):
    """One seed with some of its bytes changed."""
    data = bytearray(draw.choice(seeds))
    known = [*WORDS, *words]
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.choice((1, 1, 2, 8, 60)))
        match draw.randrange(8):
            case 0:
                data[at:end] = bytes(draw.randrange(256) for _ in range(end - at))
            case 1:
                del data[at:end]
            case 2 | 3:
                data[at:at] = draw.choice(known)
            case 4:
                data[at:end] = draw.choice(known)
            case 5:
                data[at:at] = data[at:end] * draw.choice((1, 2, 50))
            case 6:
                other = draw.choice(seeds)
                cut = draw.randrange(len(other) + 1)
                data[at:] = other[cut:]
            case 7:
                del data[at:]
    return bytes(data)


def _nodes(tree, path=()):
    yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from _nodes(child, (*path, key))


def reshaped(draw, tree, values=VALUES):
    """A tree with some nodes replaced, removed, renamed or exchanged."""
    tree = copy.deepcopy(tree)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        path = draw.choice(list(_nodes(tree))[1:] or [()])
        if not path:
            return draw.choice(values)
        parent = tree
        for step in path[:-1]:
            parent = parent[step]
        key = path[-1]
        match draw.randrange(6):
            case 0 | 1 | 2:
                parent[key] = copy.deepcopy(draw.choice(values))
            case 3:
                del parent[key]
            case 4 if isinstance(parent, dict):
                parent[draw.choice(["x", "", "digest", "name", "__class__", "kind"])] = parent.pop(key)
            case _:
                other = draw.choice(list(_nodes(tree)))
                source = tree
                for step in other:
                    source = source[step]
                parent[key] = copy.deepcopy(source)
        if len(json.dumps(tree, default=str)) > 300_000:
            return tree
    return tree
