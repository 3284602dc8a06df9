"""Records that a registered collector makes during the run, from files that were frozen when it was locked.

Before the run only their skeleton is known: which arm answers which unit, and what the files say of it.
Checks and locks work on the skeleton, where every outcome is missing.  A collector is deterministic: the same
files and budgets give the same bytes, on any machine, with any number of workers, resumed or not.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib
import io
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from prereg import canonical
from prereg.dataclass import dataclass
from prereg.errors import InputError, IntegrityError, Problem, suggestion
from prereg.parallel import each
from prereg.readers import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from prereg.collectors.base import Collected, Collector, Task
    from prereg.errors import Place
    from prereg.protocol import Data
    from prereg.records import Records

COLLECTORS = {"logic.entailment": "prereg.collectors.entailment"}
"""Name -> the module that holds its `COLLECTOR`."""
RECORDS = "records.csv"
CERTIFICATES = "certificates.jsonl"
_JOURNAL = "collected.partial"
_OUTCOME = "ledger.json"


@dataclass(frozen=True, eq=False)
class Made:
    """What a collection gave: the records, and the files to keep beside the ledger."""

    records: Records
    tables: dict[str, bytes]
    resumed: int = 0
    """Answers that rest on a certificate which an interrupted run left, checked again."""


def collector_of(data: Data, place: Place) -> Collector:
    """The collector that a protocol names.

    Raises:
        InputError: for an unknown one, or engines and budgets that it does not have.

    """
    name = data.collect or ""
    if name not in COLLECTORS:
        hint = suggestion(name, COLLECTORS) or f"; known: {', '.join(COLLECTORS)}"
        raise InputError(Problem(f"unknown collector `{name}`{hint}", place))
    collector: Collector = importlib.import_module(COLLECTORS[name]).COLLECTOR
    problems = collector.problems(data.engines or {})
    if problems:
        raise InputError(*[Problem(p, place) for p in problems])
    return collector


def types_of(collector: Collector, declared: Mapping[str, str]) -> dict[str, str]:
    """The kinds of the columns: those of the collector, then what the protocol sets."""
    return {**collector.columns, **declared}


def skeleton(
    collector: Collector, data: Data, files: Sequence[tuple[str, Path]], types: Mapping[str, str]
) -> Records:
    """The records with every outcome missing."""
    rows = collector.skeleton(files, data.engines or {}, data.labels)
    return _records(collector, rows, types)


def authority(collector: Collector, data: Data) -> dict[str, Any]:
    """What is frozen of the collector: its name, version, budgets and the digest of its sources."""
    return {
        "name": data.collect,
        "version": collector.version,
        "engines": collector.resolved(data.engines or {}),
        "sources": collector.sources(),
    }


def verify_authority(collector: Collector, data: Data, registered: Mapping[str, Any], place: Place) -> None:
    """The collector is still the one that was registered.

    Raises:
        IntegrityError: where its version, budgets or sources differ.

    """
    now = authority(collector, data)
    changed = [key for key in now if now[key] != registered.get(key)]
    if changed:
        raise IntegrityError(
            Problem(f"the collector is not the registered one: its {', '.join(changed)} changed", place)
        )


def collect(
    collector: Collector,
    data: Data,
    files: Sequence[tuple[str, Path]],
    types: Mapping[str, str],
    folder: Path,
    jobs: int = 1,
    tick: Callable[[int], None] = lambda _: None,
) -> Made:
    """Make the records, going on where an interrupted run has stopped.

    Certificates are kept in a journal in `folder` until the records are complete.  Nothing in it is believed:
    a certificate that was kept is checked again and gives its answer anew, and whatever has none is asked
    again.  What no check can tell is whether the engine had found it within its budget, so the number of such
    answers is reported: making the records once more asks every engine.
    """
    tasks = collector.tasks(files, data.engines or {}, data.labels)
    stamp = canonical.digest(
        "collection", {"authority": authority(collector, data), "files": _contents(files)}
    )
    done: dict[tuple[str, str], Collected] = {}
    resumed = 0
    with contextlib.closing(_Journal(folder / _JOURNAL, stamp)) as journal:
        kept = journal.read()
        asked = [(task, kept.get(task.key)) for task in tasks]
        for (_, before), found in zip(asked, each(partial(_answer, collector), asked, jobs), strict=True):
            if before is not None and found.certificate == before:
                resumed += 1
            elif found.certificate is not None:
                journal.add(found.key, found.certificate)
            done[found.key] = found
            tick(len(tasks))
    text = _csv(collector, collector.rows(files, data.engines or {}, data.labels, done))
    lines = [
        _compact({"arm": arm, "unit": unit, "certificate": found.certificate}) + "\n"
        for (arm, unit), found in sorted(done.items())
        if found.certificate is not None
    ]
    tables = {RECORDS: text.encode(), CERTIFICATES: "".join(lines).encode()}
    journal.remove()
    return Made(read_text(RECORDS, text, types), tables, resumed)


def _answer(collector: Collector, asked: tuple[Task, Any]) -> Collected:
    return collector.answer(*asked)


def _contents(files: Sequence[tuple[str, Path]]) -> list[list[str]]:
    return [[name, canonical.file_digest(path, name)[0]] for name, path in files]


def _compact(tree: Any) -> str:
    return json.dumps(tree, separators=(",", ":"))


def _records(collector: Collector, rows: list[dict[str, str]], types: Mapping[str, str]) -> Records:
    return read_text(RECORDS, _csv(collector, rows), types)


def _csv(collector: Collector, rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(collector.columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


class _Journal:
    """The certificates so far, one line each, so that a killed run loses at most the one it was writing.

    Each line begins with a digest of itself and of all before it: a torn line, one that was edited, and those
    of two runs that wrote at once end what is read.
    """

    def __init__(self, path: Path, stamp: str) -> None:
        self._path = path
        self._chain = stamp
        self._file: Any = None

    def read(self) -> dict[tuple[str, str], Any]:
        """The certificates of an earlier run of the same collection; none where it was another one.

        None either where the outcome is there already: it is reproduced by asking everything.
        """
        found: dict[tuple[str, str], Any] = {}
        stamp, whole = self._chain, 0
        if self._path.exists() and not self._path.with_name(_OUTCOME).exists():
            lines = self._path.read_bytes().split(b"\n")[:-1]
            if lines and lines[0] == stamp.encode():
                whole = len(lines[0]) + 1
                for line in lines[1:]:
                    said, _, text = line.partition(b" ")
                    chain = self._next(text)
                    if said != chain.encode():
                        break
                    try:
                        tree = json.loads(text)
                        found[str(tree["arm"]), str(tree["unit"])] = tree["certificate"]
                    except (ValueError, KeyError, TypeError, RecursionError):
                        break
                    self._chain = chain
                    whole += len(line) + 1
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("r+b" if whole else "wb")
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._file.write(stamp.encode() + b"\n")
        return found

    def add(self, key: tuple[str, str], certificate: Any) -> None:
        """Keep one more certificate."""
        text = _compact({"arm": key[0], "unit": key[1], "certificate": certificate}).encode()
        self._chain = self._next(text)
        self._file.write(self._chain.encode() + b" " + text + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Write no more."""
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        """The collection is complete: the journal is no longer needed."""
        self._path.unlink(missing_ok=True)

    def _next(self, text: bytes) -> str:
        return hashlib.sha256(self._chain.encode() + text).hexdigest()
