"""Records that a registered collector makes during the run, from files that were frozen when it was locked.

Before the run only their skeleton is known: which arm answers which unit, and what the files say of it.  Checks
and locks work on the skeleton, where every outcome is missing.  A collector is deterministic: the same files and
budgets give the same bytes, on any machine, with any number of workers, resumed or not.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prereg import canonical
from prereg.errors import InputError, IntegrityError, Problem, suggestion
from prereg.parallel import each
from prereg.readers import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from prereg.collectors.base import Collected, Collector
    from prereg.errors import Place
    from prereg.protocol import Data
    from prereg.records import Records

COLLECTORS = {"logic.entailment": "prereg.collectors.entailment"}
"""Name -> the module that holds its `COLLECTOR`."""
RECORDS = "records.csv"
CERTIFICATES = "certificates.jsonl"
_JOURNAL = "collected.partial"


@dataclass(frozen=True, eq=False)
class Made:
    """What a collection gave: the records, and the files to keep beside the ledger."""

    records: Records
    tables: dict[str, bytes]


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
    """Make the records, resuming what an interrupted run has left.

    The journal of finished answers is kept in `folder` until the records are complete; a torn last line is dropped.
    """
    tasks = collector.tasks(files, data.engines or {}, data.labels)
    stamp = canonical.digest(
        "collection", {"authority": authority(collector, data), "files": [n for n, _ in files]}
    )
    journal = _Journal(folder / _JOURNAL, stamp)
    done = journal.read()
    left = [task for task in tasks if task.key not in done]

    for found in each(collector.answer, left, jobs):
        journal.add(found)
        done[found.key] = found
        tick(len(left))
    rows = collector.rows(files, data.engines or {}, data.labels, done)
    text = _csv(collector, rows)
    lines = [
        json.dumps(
            {**dict(zip(("arm", "unit"), key, strict=True)), "certificate": found.certificate},
            separators=(",", ":"),
        )
        for key, found in sorted(done.items())
        if found.certificate is not None
    ]
    tables = {RECORDS: text.encode(), CERTIFICATES: "".join(line + "\n" for line in lines).encode()}
    journal.close()
    return Made(read_text(RECORDS, text, types), tables)


def _records(collector: Collector, rows: list[dict[str, str]], types: Mapping[str, str]) -> Records:
    return read_text(RECORDS, _csv(collector, rows), types)


def _csv(collector: Collector, rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(collector.columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


class _Journal:
    """Finished answers, one JSON line each, so that a killed run loses at most the one it was writing."""

    def __init__(self, path: Path, stamp: str) -> None:
        self._path = path
        self._stamp = stamp
        self._file: Any = None

    def read(self) -> dict[tuple[str, str], Collected]:
        """The answers of an earlier run of the same collection; none where it was another one."""
        from prereg.collectors.base import Collected

        found: dict[tuple[str, str], Collected] = {}
        whole = 0
        if self._path.exists():
            data = self._path.read_bytes()
            lines = data.split(b"\n")[:-1]
            if lines and lines[0].decode("utf-8", "replace") == self._stamp:
                whole = len(lines[0]) + 1
                for line in lines[1:]:
                    try:
                        answer = Collected.from_json(json.loads(line))
                    except (ValueError, KeyError, TypeError):
                        break
                    found[answer.key] = answer
                    whole += len(line) + 1
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("r+b" if whole else "wb")
        self._file.truncate(whole)
        self._file.seek(whole)
        if not whole:
            self._file.write(self._stamp.encode() + b"\n")
        return found

    def add(self, answer: Collected) -> None:
        """Keep one more answer."""
        self._file.write(json.dumps(answer.to_json(), separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """The collection is complete: the journal is no longer needed."""
        self._file.close()
        self._path.unlink()
