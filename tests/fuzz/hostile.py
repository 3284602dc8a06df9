"""Hostile projects from a valid one: files changed and sealed again, moved, doubled, linked, or no files at all."""

from __future__ import annotations

import contextlib
import copy
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mutations
import sealed_world
import yaml

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from sealed_world import Files, Sealed

ODD = [
    "../../outside/records.csv",
    "../outside",
    "/dev/zero",
    "/etc/passwd",
    "C:\\Windows\\win.ini",
    "con",
    "a\x00b",
    "\u202e\u2028\x85",
    "e\u0301",
    "\x1b[2J\x1b]0;owned\x07",
    "a\nb: FAILED\r",
    "~root",
    "*",
    "**/*",
    "registrations/rich",
    "results/../records.csv",
    ".",
    "",
    "x" * 300,
    "RICH",
    "a/b",
    "[a-",
    "{0.__class__}",
    "$(id)",
    "(a+)+$",
]
NUMBERS = [0, 1, -1, 2, 7, 0.5, 0.05, 1.5, -0.5, 1e-9, 1e300, 5e-324, 2**53 - 1, -(2**53) + 1, 10**6, 12]
WORDS = [
    "held",
    "failed",
    "falsified",
    "short",
    "contrary",
    "undefined",
    "no_variation",
    "not_measured",
    "not_applicable",
]
WORDS += [
    "variants_disagree",
    "interval",
    "exact",
    "point",
    "support",
    "secondary",
    "rich",
    "other",
    "a",
    "b",
    "none",
]
WORDS += [
    "all(wrong < 0.9)",
    "min(wrong) > 0",
    "support < 0.5",
    'matches(suite, "(a+)+$")',
    "1 / 0",
    "not both",
    "worst",
]


@dataclass
class Hostile:
    """A project: its files, and what else is done to the folder that holds them."""

    files: Files
    said: list[str] = field(default_factory=list)
    """What was done, for the one who reads a failure."""
    acts: list[Callable[[Path], None]] = field(default_factory=list)

    def lay(self, root: Path) -> None:
        """Make the folder."""
        sealed_world.lay(root, self.files)
        for act in self.acts:
            act(root)


def deep(levels: int) -> object:
    """Lists and mappings in turn."""
    tree: object = "x"
    for i in range(levels):
        tree = {"a": tree} if i % 2 else [tree]
    return tree


def places(tree: object, path: tuple = ()) -> list[tuple]:
    """The path of every node."""
    out = [path] if path else []
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        out += places(child, (*path, key))
    return out


def at(tree, path: tuple):
    """What stands at a path."""
    for step in path:
        tree = tree[step]
    return tree


def _similar(draw: random.Random, value: object, texts: list[str]) -> object:
    """Another value of the same type, which a check of shapes lets through."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice([*NUMBERS, value + 1, value - 1, value / 2])
    if isinstance(value, str):
        return draw.choice(
            [draw.choice(texts), draw.choice(texts), draw.choice(ODD), draw.choice(WORDS), value + "x"]
        )
    if isinstance(value, list):
        kind = draw.randrange(6)
        return [
            value[1:],
            value[::-1],
            value + value[:1],
            [],
            value * draw.choice((2, 50)),
            [x for x in value if draw.random() < 0.5],
        ][kind]
    if isinstance(value, dict) and value:
        new = dict(value)
        name = draw.choice(list(new))
        if draw.random() < 0.5:
            del new[name]
        else:
            new[draw.choice(["zzz", "amends", "base", "collector", "p", "legs", name + "x"])] = draw.choice(
                [value[name], 0.5, "x", [], {}]
            )
        return new
    return draw.choice([value, "x", 0.5, [], {}, 3])


def _changed(draw: random.Random, one: Sealed, others: list[Sealed]) -> Sealed:
    """One sealed file with a few nodes changed."""
    new = copy.deepcopy(one)
    parts = {"content": new.content, "around": new.around}
    texts = [x for x in (at(parts, p) for p in places(parts)) if isinstance(x, str)]
    donor = draw.choice(others)
    given = {"content": donor.content, "around": donor.around}
    if draw.random() < 0.4:
        texts += [x for x in (at(given, p) for p in places(given)) if isinstance(x, str)]
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        everywhere = places(parts)
        path = draw.choice(everywhere)
        if len(path) < 2:
            continue
        parent, key = at(parts, path[:-1]), path[-1]
        match draw.randrange(12):
            case 0:
                parent[key] = draw.choice(mutations.VALUES)
            case 1:
                parent[key] = draw.choice([deep(30), deep(60), "x" * 1_000_000, [0] * 100_000, 10**15])
            case 2:
                del parent[key]
            case 3:  # the same place in another file of the kind
                if draw.random() < 0.8:
                    with contextlib.suppress(KeyError, IndexError, TypeError):
                        parent[key] = copy.deepcopy(at(given, path))
            case 4:
                parent[key] = copy.deepcopy(at(parts, draw.choice(everywhere)))
            case _:
                parent[key] = _similar(draw, parent[key], texts)
    new.content, new.around = parts["content"], parts["around"]
    return new


def sealed_again(draw: random.Random, hostile: Hostile) -> None:
    """A sealed file changed, with digests that fit; in half of the cases everything else is made to fit too."""
    try:
        sealed = sealed_world.read(hostile.files)
        path = draw.choice(sorted(sealed))
        one = sealed[path]
        new = _changed(draw, one, [x for x in sealed.values() if x.kind == one.kind])
        follows = draw.random() < 0.6
        files = (
            sealed_world.follow(hostile.files, {path: new})
            if follows
            else sealed_world.reseal(hostile.files, path, new)
        )
    except Exception as error:  # noqa: BLE001 - what has no canonical form cannot be sealed
        hostile.said.append(f"not sealed: {error!r}"[:200])
        return
    hostile.files = files
    hostile.said.append(f"{path} {'and all that names it ' if follows else ''}sealed again")


def records_sealed(draw: random.Random, hostile: Hostile) -> None:
    """Other records under a manifest that fits."""
    data = hostile.files.get("records.csv")
    if data is None:
        return
    if draw.random() < 0.5:
        lines = data.split(b"\n")
        for _ in range(draw.choice((1, 3))):
            cells = lines[draw.randrange(len(lines))].split(b",")
            cells[draw.randrange(len(cells))] = draw.choice(
                [b"", b"a", b"q1", b"9", b"0.5", b"true", b"NaN", b"\xff"]
            )
            lines[draw.randrange(len(lines))] = b",".join(cells)
        data = b"\n".join(lines)
    else:
        data = mutations.mutated(draw, [data])
    changed: dict[str, Sealed | bytes] = {"records.csv": data}
    try:
        for path, one in sealed_world.read(hostile.files).items():
            if one.kind in ("registration", "ledger"):
                new = copy.deepcopy(one)
                for entry in new.content["data"]["files"]:
                    entry["bytes"] = len(data)
                changed[path] = new
        hostile.files = sealed_world.follow(hostile.files, changed)
    except Exception as error:  # noqa: BLE001 - what was torn before is no file to seal again
        hostile.said.append(f"not sealed: {error!r}"[:200])
        return
    hostile.said.append("records.csv changed, and its manifests")


def torn(draw: random.Random, hostile: Hostile) -> None:
    """Bytes of any file changed."""
    path = draw.choice(sorted(hostile.files))
    hostile.files = {**hostile.files, path: mutations.mutated(draw, [hostile.files[path] or b"x"])}
    hostile.said.append(f"{path} torn")


def giant(draw: random.Random, hostile: Hostile) -> None:
    """A file that is too much in one way."""
    path = draw.choice(sorted(hostile.files))
    data = draw.choice(
        [
            b"[" * 100_000,
            b'{"a":' * 50_000,
            b"9" * 50_000,
            b'{"format": "prereg-registration/' + b"9" * 5_000 + b'"}',
            b"x" * 2_000_000,
            b"",
            b"\x00" * 1000,
            b"null",
            b'{"format": "prereg-ledger/2"}',
            b"a: &a [x]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (i, i) for i in range(20)),
        ]
    )
    hostile.files = {**hostile.files, path: data}
    hostile.said.append(f"{path} is {data[:20]!r}…")


def protocol(draw: random.Random, hostile: Hostile) -> None:
    """A protocol with nodes replaced."""
    path = draw.choice([p for p in sorted(hostile.files) if p.endswith(".yaml")] or [""])
    if not path:
        return
    try:
        tree = mutations.reshaped(
            draw, yaml.safe_load(hostile.files[path]), [*mutations.VALUES, *ODD, *WORDS]
        )
        data = yaml.safe_dump(tree, sort_keys=False).encode()
    except Exception:  # noqa: BLE001 - not every tree can be written
        return
    hostile.files = {**hostile.files, path: data}
    hostile.said.append(f"{path} reshaped")


def moved(draw: random.Random, hostile: Hostile) -> None:
    """A file gone, doubled, renamed, or exchanged with another."""
    names = sorted(hostile.files)
    if len(names) < 2:
        return
    files, path, other = dict(hostile.files), draw.choice(names), draw.choice(names)
    folder, _, last = path.rpartition("/")
    odd = draw.choice(
        ["x.json", "é.json", "a\nb.json", "-C.json", ".hidden.json", "x" * 200 + ".json", "\x1b[2J.json"]
    )
    match draw.randrange(6):
        case 0:
            del files[path]
            said = f"{path} is gone"
        case 1:
            files[f"{folder}/{odd}"] = files[path]
            said = f"{path} stands also as {odd!r}"
        case 2:
            files[f"{folder}/{odd}"] = files.pop(path)
            said = f"{path} is now {odd!r}"
        case 3:
            files[path], files[other] = files[other], files[path]
            said = f"{path} and {other} exchanged"
        case 4:
            files[f"{other.rpartition('/')[0]}/{last}"] = files[path]
            said = f"{path} stands also beside {other}"
        case _:  # a whole folder under another name
            top = draw.choice(
                sorted({"/".join(p.split("/")[:2]) for p in names if p.count("/") > 1}) or ["x"]
            )
            new = f"{top.split('/')[0]}/{draw.choice(['x', 'é', 'a b', '-C', '.x', 'X', 'nul', 'a' * 100, 'rich', 'other', 'a%0a'])}"
            keep = draw.random() < 0.5
            for name in names:
                if name.startswith(f"{top}/"):
                    files[new + name[len(top) :]] = files[name] if keep else files.pop(name)
            said = f"{top} stands {'also ' if keep else ''}as {new!r}"
    hostile.files = {p.lstrip("/"): d for p, d in files.items()}
    hostile.said.append(said)


def no_file(draw: random.Random, hostile: Hostile) -> None:
    """A link, folder, pipe or giant hole in the place of a file; a link or file in the place of a folder."""
    names = sorted(hostile.files)
    path = draw.choice(names)
    parts = path.split("/")
    if len(parts) > 1 and draw.random() < 0.4:
        path = "/".join(parts[: draw.randrange(1, len(parts))])
    outside = f"../outside/{path}"
    kind = draw.choice(
        [
            "out",
            "out",
            "out",
            "in",
            "self",
            "dangling",
            "folder",
            "pipe",
            "hole",
            "file",
            "zero",
            "unreadable",
            "parent",
        ]
    )

    def act(root: Path) -> None:
        place = root / path
        up = "../" * path.count("/")
        if not place.parent.is_dir() or not place.parent.resolve().is_relative_to(root.resolve()):
            return  # an earlier link leads out: what is there is to stay
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
        else:
            sealed_world.lay(place, {})
            place.rmdir()
        match kind:
            case "out":
                place.symlink_to(up + outside)
            case "in":
                place.symlink_to(up + draw.choice(names))
            case "self":
                place.symlink_to(place.name)
            case "dangling":
                place.symlink_to("nowhere")
            case "folder":
                (place / "x.json").mkdir(parents=True)
            case "pipe":
                os.mkfifo(place)
            case "hole":
                with place.open("wb") as file:
                    file.truncate(3 * 10**9)
            case "zero":
                place.symlink_to("/dev/zero")
            case "parent":
                place.symlink_to(up or ".")
            case _:
                place.write_text("{}")
                if kind == "unreadable":
                    place.chmod(0)

    hostile.acts.append(act)
    hostile.said.append(f"{kind} in the place of {path}")


WAYS: list[tuple[Callable[[random.Random, Hostile], None], int]] = [
    (sealed_again, 50),
    (records_sealed, 6),
    (protocol, 6),
    (torn, 10),
    (giant, 6),
    (moved, 14),
    (no_file, 14),
]


def hostile(draw: random.Random, files: Files) -> Hostile:
    """A project that was changed in one to three ways."""
    out = Hostile(files)
    ways, weights = zip(*WAYS, strict=True)
    for way in draw.choices(ways, weights, k=draw.choice((1, 1, 1, 2, 3))):
        way(draw, out)
    if draw.random() < 0.3:  # then the registration alone decides
        out.files = {p: d for p, d in out.files.items() if p not in ("rich.yaml", "other.yaml")}
        out.said.append("without the protocols")
    return out


def state(root: Path) -> dict[str, tuple]:
    """What a folder holds, links not followed: enough to see that anything was written."""
    out = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = f"{folder}/{name}"
            found = os.lstat(path)
            # what a folder holds is seen by itself; reading changes no time that is looked at
            regular = (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else ()
            out[path.removeprefix(f"{root}/")] = (found.st_mode, found.st_ino, *regular)
    return out


__all__ = ["Hostile", "at", "hostile", "places", "state"]
