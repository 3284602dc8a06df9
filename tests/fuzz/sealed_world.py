"""A small project with a file of every kind: two registrations, one of them amended, and all that hangs on them.

A mutated file is sealed again as somebody would who may compute any digest: the file itself, or with it
everything that names its digests, down to the last witness.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import random
import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prereg import amend, attempts, ledger, note, registration, rehearse
from prereg.cli.app import execute
from prereg.errors import PreregError

if TYPE_CHECKING:
    from pathlib import Path

ID, OTHER = "rich", "other"
PROTOCOL = """\
prereg: 1
id: rich
title: A project with a bit of everything
question: Does a score tell who is right?
authors: [Somebody]
notes: Every mutated project is this one with a few changes.
data:
  records: records.csv
  arm: system
  unit: item
  sample: k
  samples: first
  columns: {certified: right}
  derive: {hard: level >= 2}
  where: level < 9
  guards: [oracle]
split: {parts: {fit: 0.4, calibration: 0.3, test: 0.3}, stratify: suite, seed: 3, default: test}
policies:
  gate: {score: conf, at_least: [none, 0.5]}
  degenerate: [always]
  exclude: gate == 0.5 and answers == 0
metrics:
  answers: {count: answered}
  wrong: {rate: not certified, among: answered}
  right_of_all: {rate: certified}
  easy: {rate: certified, among: not hard, part: calibration}
  gap: {ece: {confidence: conf, label: right, bins: 5}}
  loss: {value: 1 - easy}
let:
  worst: max(wrong)
  both: right_of_all[oracle, gate=none] > right_of_all[b, gate=none]
resampling: {resamples: 40, seed: 5, level: 0.9}
predictions:
  few-errors:
    claim: all(wrong < 0.9)
    falsified_if: support < 0.1
    because: The models are good.
  calibrated: {claim: "gap[a] < BAR", evidence: point, given: few-errors}
  in-range: {claim: "worst within [0.2, 0.95] and not worst < 0.1", evidence: {support: 0.8}, anticipate: open}
  guarded: {claim: both, evidence: point}
  pair-a: {claim: "right_of_all[a, gate=none] > 0.3", evidence: exact, family: pairs}
  pair-b: {claim: "right_of_all[b, gate=none] > 0.3", evidence: exact, family: pairs}
  each-arm:
    claim: wrong[$system, gate=none] < 0.95
    each: {system: [a, b]}
    falsified_if: wrong[$system, gate=none] > 0.99
    tier: secondary
  differs: {claim: "differs(right_of_all[a, gate=none], right_of_all[b, gate=none])", anticipate: failed, agree: [strict]}
  contained: {claim: "defined(mean(loss))", evidence: point, tier: exploratory}
reports: {worst-error: worst, losses: loss}
variants:
  strict: {where: level < 3}
outcomes:
  - {when: held("few-errors") and surprise(differs), then: good}
  - {when: not held(differs), then: bad}
"""
SECOND = """\
prereg: 1
id: other
title: Another reading of the same records
data: {records: records.csv, arm: system, unit: item, sample: k, samples: first, guards: [oracle]}
split: {parts: {fit: 0.4, calibration: 0.3, test: 0.3}, seed: 3, default: test}
policies:
  threshold:
    act_below: conf
    control: {rate: not right, among: action == 0}
    candidates: {part: fit, midpoints: 5, endpoints: true}
    select: {part: calibration, rules: [empirical, ltt], delta: 0.2, min_support: 1}
    budget: [0.3, 0.5]
metrics:
  risk: {rate: not right, among: action == 0}
  right_of_all: {rate: right}
resampling: {resamples: 20, seed: 1}
predictions:
  b-is-better: {claim: "right_of_all[b] > right_of_all[a]"}
  deployed: {claim: "mean(defined(tau)) > 0.1", evidence: point}
  risky: {claim: "not any(risk > 0.9)", evidence: {support: 0.7}, gate: true}
"""
LAYOUTS = {
    "registration": registration.FILE,
    "ledger": ledger.FILE,
    "attempt": attempts.FILE,
    "witness": attempts.WITNESS,
    "note": note.FILE,
    "rehearsal": rehearse.FILE,
}
_DIGEST = re.compile(r"[0-9a-f]{64}")


def records() -> str:
    """Three systems, twelve items in two suites, two answers each."""
    draw = random.Random(7)
    lines = ["system,item,k,suite,level,conf,right,answered"]
    for system, skill in (("a", 0.6), ("b", 0.7), ("oracle", 1.0)):
        for i in range(24):
            for k in range(2):
                right = draw.random() < skill
                conf = draw.randrange(1, 10) / 10
                lines.append(f"{system},q{i},{k},{'xy'[i % 2]},{i % 4},{conf},{str(right).lower()},true")
    return "\n".join(lines) + "\n"


def quiet(root: Path, *words: str) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute([*words, "--root", str(root)])
    return code, out.getvalue(), err.getvalue()


def made(root: Path) -> Path:
    """The project, as the commands write it."""
    root.mkdir(parents=True)

    def done(*words: str) -> None:
        code, out, err = quiet(root, *words)
        assert code == 0, (words, out, err)

    (root / "records.csv").write_text(records())
    (root / "rich.yaml").write_text(PROTOCOL.replace("BAR", "0.8"))
    (root / "other.yaml").write_text(SECOND)
    done("lock", str(root / "rich.yaml"))
    done("lock", str(root / "other.yaml"))
    done("run")
    done("note", ID, "--text", "Two items were answered after a restart.", "--prediction", "few-errors")
    (root / "rich.yaml").write_text(PROTOCOL.replace("BAR", "0.7"))
    done("amend", str(root / "rich.yaml"), "--reason", "The bar was copied from another study.")
    done("run")
    done("run", ID)
    attempt = max((root / "results" / ID / "attempts").glob("*.json")).stem
    done("note", ID, "--text", "The second run was made on another machine.", "--attempt", attempt)
    done("rehearse", str(root / "rich.yaml"), "--draws", "2")
    token = root / "token.tsr"
    for path in (root / "registrations" / OTHER).glob("*.json"):
        token.write_bytes(stamped(path.read_bytes()))
    done("stamp", "import", str(token), "--for", OTHER)
    # what an amendment to come says, and a base to compare with
    (root / "third.yaml").write_text(PROTOCOL.replace("BAR", "0.6"))
    return root


def stamped(data: bytes) -> bytes:
    """What prereg looks for in a time stamp: the digest of a file as an OCTET STRING."""
    digest = hashlib.sha256(data).digest()
    return b"\x30\x30" + bytes([4, len(digest)]) + digest


@dataclass
class Sealed:
    """A sealed file, read."""

    kind: str
    content: dict
    around: dict | None

    @property
    def layout(self):
        """How it is written."""
        return LAYOUTS[self.kind]

    def to_bytes(self) -> bytes:
        """The file, with digests that fit."""
        return self.layout.to_bytes(self.content, self.around)

    def name(self, was: str) -> str:
        """The name it belongs under; as it was where that cannot be told, or is no name of a file."""
        name = self._name(was)
        return was if "/" in name or "\0" in name or len(name.encode()) > 200 else name

    def _name(self, was: str) -> str:
        with contextlib.suppress(Exception):
            digest = self.layout.digest(self.content)
            match self.kind:
                case "registration":
                    return f"{digest[:12]}.json"
                case "attempt":
                    return attempts.file_name(self.content)
                case "witness":
                    return f"{self.content['attempt'][:12]}.json"
                case "note":
                    stamp = self.around["time"].replace("-", "").replace(":", "")
                    return f"{stamp}-{digest[:12]}.json"
        return was


def kind_of(path: str) -> str | None:
    """What a path of the project holds, where that is a sealed file."""
    if not path.endswith(".json"):
        return None
    parts = path.split("/")
    if parts[0] == "rehearsals":
        return "rehearsal"
    if parts[0] == "registrations":
        return {"attempts": "witness", "notes": "note"}.get(parts[2], "registration")
    if parts[0] == "results":
        return "attempt" if parts[2] == "attempts" else "ledger"
    return None


Files = dict[str, bytes]
"""A project: content by path; only regular files."""


def snapshot(root: Path) -> Files:
    """The files of a folder."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def lay(root: Path, files: Files) -> None:
    """Make a folder that holds these files and nothing else."""
    if root.is_symlink() or root.is_file():
        root.unlink()
    elif root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def read(files: Files) -> dict[str, Sealed]:
    """The sealed files of a project."""
    out = {}
    for path, data in files.items():
        kind = kind_of(path)
        if kind is not None:
            tree, layout = json.loads(data), LAYOUTS[kind]
            out[path] = Sealed(kind, tree[layout.content], tree[layout.around])
    return out


def reseal(files: Files, path: str, changed: Sealed) -> Files:
    """One sealed file changed, with digests and a name that fit; nothing else follows."""
    out = dict(files)
    del out[path]
    folder = path.rsplit("/", 1)[0]
    out[f"{folder}/{changed.name(path.rsplit('/', 1)[1])}"] = changed.to_bytes()
    return out


@dataclass
class _Names:
    """Which digest took the place of which."""

    new: dict[str, str] = field(default_factory=dict)

    def tree(self, value):
        if isinstance(value, str):
            return self.new.get(value, value)
        if isinstance(value, list):
            return [self.tree(x) for x in value]
        if isinstance(value, dict):
            return {key: self.tree(x) for key, x in value.items()}
        return value

    def path(self, path: str) -> str:
        """A path with folders and files that are named by the first twelve digits of a digest."""
        for old, new in self.new.items():
            path = path.replace(old[:12], new[:12])
        return path


def _digests(one: Sealed, data: bytes) -> tuple[str, str]:
    """What others call a file: the digest of its content, and that of its bytes."""
    return one.layout.digest(one.content), hashlib.sha256(data).hexdigest()


def _in_order(files: Files, sealed: dict[str, Sealed]) -> list[str]:
    """Sealed files, each after those whose digests it names."""
    known = {digest: path for path, one in sealed.items() for digest in _digests(one, files[path])}
    out: list[str] = []

    def visit(path: str) -> None:
        for digest in sorted(set(_DIGEST.findall(files[path].decode()))):
            other = known.get(digest, path)
            if other != path and other not in out:
                visit(other)
        if path not in out:
            out.append(path)

    for path in sealed:
        visit(path)
    return out


def follow(files: Files, changed: dict[str, Sealed | bytes]) -> Files:
    """Files changed, and everything that names one of their digests made to fit, as a forger of all would.

    Attempts say that they wrote the changed ledger, and amendments name the changes since the changed parent.
    """
    sealed = read(files)
    names, out = _Names(), {}
    for path, data in files.items():
        if path not in sealed:
            now = changed.get(path, data)
            out[path] = now
            names.new[hashlib.sha256(data).hexdigest()] = hashlib.sha256(now).hexdigest()
    parents: dict[str, registration.Registration] = {}
    ledgers: dict[str, dict] = {}
    for path in _in_order(files, sealed):
        was = sealed[path]
        now = copy.deepcopy(changed.get(path, was))
        now = Sealed(now.kind, names.tree(now.content), names.tree(now.around))
        if path not in changed:
            with contextlib.suppress(KeyError, TypeError, AttributeError, PreregError):
                _agree(now, parents, ledgers)
        data = now.to_bytes()
        names.new.update(zip(_digests(was, files[path]), _digests(now, data), strict=True))
        digest = now.layout.digest(now.content)
        if now.kind == "registration":
            parents[digest] = registration.Registration(now.content, now.around, digest, path)
        if now.kind == "ledger":
            ledgers[digest] = now.content
        folder, _, last = path.rpartition("/")
        out[f"{folder}/{now.name(last)}"] = data
        token = path.removesuffix("json") + "tsr"
        if token in out and token not in changed:
            out[token] = stamped(data)
    return {names.path(path): data for path, data in out.items()}


def _agree(now: Sealed, parents: dict, ledgers: dict) -> None:
    """What an unchanged file says about others that were changed."""
    if now.kind == "registration" and "amends" in now.content:
        own = registration.Registration(now.content, now.around, "", "")
        known = [parents[digest] for digest in registration.amended(now.content)]
        now.content["amends"].update(amend._compared(own, known))
    if now.kind == "attempt" and now.around is not None and now.around.get("ledger") in ledgers:
        content = ledgers[now.around["ledger"]]
        tables = [{"name": t["name"], "sha256": t["sha256"]} for t in content["tables"]]
        now.around.update(counts=content["counts"], tables=tables)
