"""One target per reader: seeds, how they are made hostile, and the call that may only refuse."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mutations
import numpy as np
import yaml

import crash_world
from prereg import attempts, formats, ledger, note, registration, rehearse
from prereg.check import check
from prereg.checker.bounds import Bounds, Budget, BudgetSpentError, RefusedError
from prereg.checker.certificate import read_certificate
from prereg.checker.problem import read_problem
from prereg.cli.app import execute
from prereg.errors import PreregError
from prereg.expression.claims import ClaimCompiler
from prereg.expression.policies import Compiler as Policies
from prereg.expression.rows import Compiler
from prereg.expression.syntax import ExpressionError, parse
from prereg.project import Project
from prereg.readers import read_records
from prereg.studies.logic.tptp import parse_problem

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

REFUSALS = (PreregError, ExpressionError, RefusedError, BudgetSpentError)
PROTOCOL = (
    crash_world.PROTOCOL.replace("LEVEL", "0.1").replace(
        "unit: item}", 'unit: item, derive: {right: "correct and answered"}}'
    )
    + """
  extreme: {claim: "mean(extra) within [0.2, 0.9]", evidence: {support: 0.9}, falsified_if: support < 0.5}
reports: {spread: "sd(accuracy)"}
let: {extra: "accuracy * 1"}
outcomes:
  - {when: held(better), then: good}
"""
)
ROWS = [
    b'contains_any(text, ["yes", "no"]) and not matches(text, "^a+$")',
    b"conf >= 0.5 or undefined(conf) and correct",
    b"if(correct, conf, 1 - conf) ** 2 + ln(exp(abs(conf))) / maximum(1, conf)",
    b'lower(text) == "a" and conf within [0.1, 1e-3] and text in ["a", "b"]',
    b'otherwise(majority(text, text, text), "x") != text',
    b"flip(correct, 0.25, 7, text) and partition(5, 3) == 2",
]
CLAIMS = [
    b"spearman(precision, failure) < 0 and all(precision >= 0.1)",
    b"precision[a, none] - precision[b, gate >= 0.5] > 0.05",
    b"mean(precision, over=run) within [0, 1] or differs(mean(failure), 0.5)",
    b'argmin(failure) == "a" and point(max(precision) - min(precision) >= 0.1)',
    b"quantile(precision, 0.5) != 0 and share(precision > 0.5) <= 1 and defined(failure)",
    b"if(mean(precision) > 0.5, 1, 0) == 1 and not any(failure in [0.1, 0.2])",
]
TPTP = [
    b"fof(a1, axiom, (p => q)).\nfof(a2, axiom, ~ (q & r) | $true).\nfof(c, conjecture, (p <=> (q | ~r))).\n",
    b"% comment\nfof('quoted name', hypothesis, $false).\ninclude('x').\nfof(1, conjecture, ((a))).\n",
]


@dataclass
class Target:
    """A reader and the inputs it is given."""

    name: str
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], object]
    giants: tuple[bytes, ...] = ()
    """Inputs of a size or depth that mutation does not reach; each is tried once."""


class World:
    """A project that was locked and run, whose files are the seeds."""

    def __init__(self, root: Path) -> None:
        self.root = crash_world.make(root)
        (root / "protocol.yaml").write_text(PROTOCOL)
        self.quiet("lock", "protocol.yaml", expected=0)
        self.quiet("run", expected=0)
        self.quiet("note", crash_world.ID, "--text", "a note", expected=0)
        self.quiet("rehearse", "protocol.yaml", "--draws", "2", expected=0)
        self.project = Project.at(root)
        self.known = self.files()
        self.accepted = 0

    def files(self) -> set[Path]:
        """Everything that the commands wrote."""
        return {
            p for name in ("registrations", "results") for p in (self.root / name).rglob("*") if p.is_file()
        }

    def forget(self) -> None:
        """Take away what commands left that were given a hostile file."""
        for path in self.files() - self.known:
            path.unlink()

    def quiet(self, *command: str, expected: int | None = None) -> int:
        """A command in this process; its exit code."""
        void = io.StringIO()
        words = [str(self.root / w) if w == "protocol.yaml" else w for w in command]
        with contextlib.redirect_stdout(void), contextlib.redirect_stderr(void):
            code = execute([*words, "--root", str(self.root)])
        assert code != 70, void.getvalue()
        assert expected is None or code == expected, void.getvalue()
        return code

    def one(self, pattern: str) -> Path:
        """The one file of a pattern."""
        (path,) = self.root.glob(pattern)
        return path


def _bytes(seeds, words=()):
    return lambda draw: mutations.mutated(draw, seeds, words)


def targets(world: World) -> list[Target]:
    """Every target over one world."""
    root, project = world.root, world.project
    scratch = root / "scratch"
    scratch.mkdir()
    out = []

    def at(name: str, data: bytes) -> Path:
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    # -- the protocol, as text and as a tree; what is accepted is checked against records
    text = (root / "protocol.yaml").read_bytes()
    tree = formats.read_yaml(root / "protocol.yaml").tree
    shutil.copy(root / "records.csv", scratch / "records.csv")

    def protocol(data: bytes) -> object:
        return check(project, at("protocol.yaml", data))

    def protocol_tree(draw: random.Random) -> bytes:
        if draw.random() < 0.5:
            return mutations.mutated(draw, [text])
        with contextlib.suppress(yaml.YAMLError):
            return yaml.safe_dump(mutations.reshaped(draw, tree), sort_keys=False).encode()
        return text

    bomb = b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*a, *a, *a, *a]\n" % (i, i) for i in range(9))
    out.append(
        Target(
            "protocol",
            protocol_tree,
            protocol,
            (
                bomb,
                b"[" * 200_000,
                b"a:\n" * 100_000,
                b"- " * 200_000,
                b"x" * 30_000_000,
                b"a: " + b"1" * 900_000,
                b"? " * 100_000,
                b"{a: " * 100_000,
                b'a: "' + b"\\u00e9" * 100_000,
            ),
        )
    )

    def refuse(problems) -> None:
        if problems:
            raise PreregError(*problems)

    # -- sealed files: bytes, and trees that are sealed again
    def sealed(name: str, layout, path: Path, read, show: bool = False) -> Target:
        data = path.read_bytes()
        whole = json.loads(data)
        parts = {key: whole[key] for key in (layout.content, layout.around)}

        def make(draw: random.Random) -> bytes:
            if draw.random() < 0.3:
                return mutations.mutated(draw, [data])
            new = mutations.reshaped(draw, parts)
            if not isinstance(new, dict) or layout.content not in new:
                return json.dumps(new, default=str).encode()
            try:
                return layout.to_bytes(new[layout.content], new.get(layout.around))
            except (PreregError, ValueError):
                return json.dumps(new, default=str).encode()

        def call(data: bytes) -> object:
            kept = path.read_bytes()
            place = path
            try:
                if show:  # under the name that its digest asks for
                    with contextlib.suppress(Exception):
                        digest = layout.digest(json.loads(data)[layout.content])
                        place = path.with_name(f"{digest[:12]}.json")
                path.unlink()
                place.write_bytes(data)
                found = read(place)
                if show:  # only what is read gets so far
                    world.quiet("show", str(place))
                    world.accepted += 1
                    if world.accepted % 10 == 1:
                        world.quiet("run", crash_world.ID)
                return found
            finally:
                place.unlink(missing_ok=True)
                path.write_bytes(kept)
                world.forget()

        giants = (
            b"[" * 500_000,
            b'{"a":' * 100_000,
            b'{"format": "' + b"x" * 10_000_000 + b'"}',
            b"9" * 100_000,
        )
        return Target(name, make, call, giants)

    where = f"registrations/{crash_world.ID}"
    out.append(
        sealed(
            "registration",
            registration.FILE,
            world.one(f"{where}/*.json"),
            lambda p: registration.read(p, p.name),
            show=True,
        )
    )
    folder = world.one(f"results/{crash_world.ID}/*/ledger.json")
    out.append(sealed("ledger", ledger.FILE, folder, lambda p: _shown_ledger(world, p)))
    out.append(
        sealed(
            "attempt",
            attempts.FILE,
            world.one(f"results/{crash_world.ID}/attempts/*.json"),
            lambda p: attempts.read(project, p),
        )
    )
    out.append(
        sealed(
            "witness",
            attempts.WITNESS,
            world.one(f"{where}/attempts/*.json"),
            lambda _: refuse(attempts.witnesses(project, crash_world.ID)[1]),
        )
    )
    out.append(sealed("note", note.FILE, world.one(f"{where}/notes/*.json"), lambda p: note.read(p, p.name)))
    out.append(
        sealed(
            "rehearsal",
            rehearse.FILE,
            world.one(f"rehearsals/{crash_world.ID}/*.json"),
            lambda p: rehearse.read(p, p.name),
        )
    )

    # -- records
    csv = (root / "records.csv").read_bytes()[:600]
    quoted = b'model,item,"te,xt"\na,1,"line\nbreak"\nb,1,"say ""x"""\n'
    types = {"model": "text", "item": "name", "conf": "number", "correct": "truth"}

    def records(suffix: str):
        def read(data: bytes) -> object:
            path = at(f"fuzz{suffix}", data)
            read_records([(path.name, path)], types)
            return read_records([(path.name, path)], {}, only=("model", "item"))

        return read

    out.append(
        Target(
            "csv",
            _bytes([csv, quoted]),
            records(".csv"),
            (
                b"a," * 100_000,
                b'"' * 300_001,
                b"a\n" + b"9" * 1_000_000,
                b"a,b\n" + b'"x' * 200_000,
                b"a\n" * 100_000,
            ),
        )
    )
    lines = [
        {"model": m, "item": i, "correct": i % 2 == 0, "conf": i / 7, "text": "é", "nested": {"a": [1, None]}}
        for m in "ab"
        for i in range(6)
    ]

    def json_lines(draw: random.Random) -> bytes:
        if draw.random() < 0.5:
            return mutations.mutated(draw, ["\n".join(map(json.dumps, lines)).encode()])
        new = mutations.reshaped(draw, lines)
        return "\n".join(
            json.dumps(x, default=str) for x in (new if isinstance(new, list) else [new])
        ).encode()

    out.append(
        Target(
            "json lines",
            json_lines,
            records(".jsonl"),
            (
                b"[" * 500_000,
                b'{"a":' * 200_000,
                b'{"a": ' + b"9" * 1_000_000 + b"}",
                b'{"a": "' + b"x" * 10_000_000 + b'"}',
                b"{" + b",".join(b'"k%d":1' % i for i in range(30_000)) + b"}",
            ),
        )
    )
    out.append(_parquet(records(".parquet")))

    # -- expressions
    kinds = {"conf": "number", "correct": "truth", "text": "text", "flag": "binary"}

    def rows(data: bytes) -> object:
        node = parse(data.decode("utf-8", "replace"))
        return Compiler(kinds).compile(node)

    deep = (
        b"(" * 19_000,
        b"not " * 4_900,
        b"-" * 19_999,
        b"1+" * 9_999 + b"1",
        b"conf" + b">conf" * 3_000,
        b"1" * 20_001,
        b"9" * 19_000 + b" > conf",
        b"1e" + b"9" * 10_000 + b" > conf",
        b"2 ** 99999 ** 99999 > conf",
    )
    words = [
        w.encode()
        for w in ("conf", "correct", "text", " and ", " or ", "not ", "within [", "over=", "**", "==")
    ]
    out.append(
        Target("row expression", _bytes(ROWS, words), rows, (*deep, b'matches(text, "(a{1,1000}){1,1000}")'))
    )
    environment = _environment()

    def claims(data: bytes) -> object:
        text = data.decode("utf-8", "replace")
        return ClaimCompiler(Policies(environment), text).claim(parse(text))

    words = [
        w.encode()
        for w in ("precision", "failure", "[a]", "[gate=none]", "all(", "spearman(", " < ", "over=run")
    ]
    out.append(Target("claim", _bytes(CLAIMS, words), claims, deep))
    out += _logic()
    return out


def _shown_ledger(world: World, path: Path) -> object:
    found = ledger.read(path, path.name)
    world.quiet("show", str(path))
    return found


def _environment():
    from small_world import Values
    from small_world import World as Small

    keys = [(run, gate) for run in "abc" for gate in ("none", "0.5")]
    metrics = {
        name: Values(("run", "gate"), {key: [0.1 * i, 0.2, 0.3] for i, key in enumerate(keys)})
        for name in ("precision", "failure")
    }
    return Small(metrics, {"run": ("a", "b", "c"), "gate": ("none", "0.5")}).environment()


def _parquet(read) -> Target:
    import pyarrow as pa
    from pyarrow import parquet

    def written(table, **options) -> bytes:
        sink = io.BytesIO()
        parquet.write_table(table, sink, **options)
        return sink.getvalue()

    table = pa.table(
        {
            "model": ["a", "b", None],
            "item": [1, 2, 3],
            "conf": [0.1, None, 1.0],
            "correct": [True, False, None],
            "when": pa.array([1, 2, 3], pa.timestamp("us")),
            "many": [[1], [], None],
        }
    )
    seeds = [written(table), written(table, compression="none", use_dictionary=False)]
    zeros = written(pa.table({"a": np.zeros(60_000_000, dtype=np.int8)}), compression="zstd")
    long = pa.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), ["x" * 1_000_000])
    texts = written(pa.table({"model": long}))
    lists = written(pa.table({"a": [[0] * 5_000_000], "item": ["x"]}))
    return Target("parquet", _bytes(seeds), read, (zeros, texts, lists, b"PAR1" * 100_000))


def _logic() -> list[Target]:
    bounds = Bounds(steps=2_000_000)
    words = [b"fof(", b"axiom", b"conjecture", b"<=>", b"~", b"$true", b"include(", b"/*", b"*/", b"%", b"'"]
    deep = (
        b"fof(c, conjecture, " + b"(" * 100_000,
        b"fof(c, conjecture, " + b"~" * 50_000 + b"p).",
        b"%" * 300_000,
        b"fof(c, conjecture, " + b"p => " * 20_000 + b"p).",
        b"fof(c, conjecture, " + b"p & " * 20_000 + b"p).",
    )
    certificate = b'{"kind": "proof", "table": [["atom", "p"], ["imp", 0, 0]], "steps": [[1, "id", []]]}'
    return [
        Target("tptp", _bytes(TPTP, words), parse_problem, deep),
        Target(
            "checker problem",
            _bytes(TPTP, words),
            lambda data: read_problem(data.decode("latin-1"), Budget(bounds)),
            deep,
        ),
        Target(
            "certificate",
            _bytes([certificate]),
            lambda data: read_certificate(data, Budget(bounds)),
            (b"[" * 1_000_000, b'{"a":' * 300_000, b'{"kind": ' + b"9" * 1_000_000 + b"}"),
        ),
    ]


__all__ = ["REFUSALS", "Target", "World", "targets"]
