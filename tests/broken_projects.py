"""A good project, and ways to break it: each broken project is the good one with one defect."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.cli import app

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROTOCOL = """\
prereg: 1
id: control
title: A protocol without a defect
question: Does a score tell who is right?
notes: Every broken project is this one with one defect.

data:
  records: records.csv
  arm: system
  unit: item
  sample: k
  samples: first
  columns: {certified: right}
  derive: {hard: level >= 2}
  where: level < 9

split:
  parts: {calibration: 0.5, test: 0.5}
  stratify: suite
  seed: 3
  default: test

policies:
  gate: {score: conf, at_least: [none, 0.5]}
  exclude: gate == 0.5 and answers == 0

metrics:
  answers: {count: answered}
  wrong: {rate: not certified, among: answered}
  easy: {rate: certified, among: not hard, part: calibration}
  gap: {ece: {confidence: conf, label: right, bins: 5}}
  loss: {value: 1 - easy}

let:
  worst: max(wrong)

resampling:
  resamples: 50
  seed: 5
  level: 0.9

predictions:
  few-errors:
    claim: all(wrong < 0.9)
    falsified_if: support < 0.1
    because: The models are good.
  calibrated:
    claim: gap[a] < 0.8
    evidence: point
    given: few-errors

reports:
  worst-error: worst
"""


def records(separator: str = ",") -> str:
    """Two systems, eight items in two suites, two answers each."""
    rows = [["system", "item", "k", "suite", "level", "conf", "right", "answered"]]
    for a, system in enumerate("ab"):
        for i in range(8):
            for k in range(2):
                score = f"0.{(i * 3 + a * 2 + k) % 9 + 1}"
                right = "true" if (i + a + k) % 3 else "false"
                rows.append([system, f"q{i}", str(k), "xy"[i % 2], str(i % 4), score, right, "true"])
    return "".join(separator.join(row) + "\n" for row in rows)


RECORDS = records()


@dataclass(frozen=True)
class Edit:
    """Replace one passage of a text; `§` in the new one marks where the problem is."""

    old: str
    new: str


def edited(text: str, edits: Sequence[Edit]) -> tuple[str, list[str]]:
    """The text with all edits made, and `line:column` of each mark in file order."""
    for edit in edits:
        assert text.count(edit.old) == 1, f"`{edit.old}` stands {text.count(edit.old)} times"
        text = text.replace(edit.old, edit.new)
    places = []
    while (at := text.find("§")) >= 0:
        line_start = text.rfind("\n", 0, at) + 1
        places.append(f"{text.count(chr(10), 0, at) + 1}:{at - line_start + 1}")
        text = text[:at] + text[at + 1 :]
    return text, places


def write(folder: Path, protocol: str | bytes = PROTOCOL, data: str | bytes = RECORDS) -> Path:
    """A project folder with its two files; the protocol's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("protocol.yaml", protocol), ("records.csv", data)):
        raw = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(raw)
    return folder / "protocol.yaml"


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


def command(*arguments: str) -> Said:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = app.execute(list(arguments))
    return Said(code, out.getvalue(), err.getvalue())


def check(folder: Path, stage: str = "check") -> Said:
    return command(stage, str(folder / "protocol.yaml"), "--root", str(folder))


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, with the bytes of what is a regular file."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() and not p.is_symlink() else None
        for p in folder.rglob("*")
    }


def in_order(said: Said) -> bool:
    """Whether the problems of each file are told in the order of its lines."""
    found = [re.match(r"([^:]+):(\d+)(?::(\d+))?: ", line) for line in said.lines]
    keys = [(m[1], int(m[2]), int(m[3] or 0)) for m in found if m]
    return keys == sorted(keys)
