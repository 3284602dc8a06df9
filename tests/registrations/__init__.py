"""A protocol and records in a folder: checked, locked and run in this process, and read like a reader would."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from prereg import registration
from prereg.check import check
from prereg.errors import InputError
from prereg.lock import lock
from prereg.project import Project
from prereg.run import run
from prereg.schema import protocol_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Found:
    """What a reader finds in the results."""

    content: dict[str, Any]
    policies: list[dict[str, str]]
    warnings: list[str]
    folder: Path

    @property
    def headline(self):
        return self.content["headline"]

    @property
    def entries(self):
        return {p["id"]: p for p in self.content["predictions"]}

    @property
    def verdicts(self):
        """By id: `held`, `falsified` or `failed (reason)`."""
        return {name: verdict(p) for name, p in self.entries.items()}

    def variant(self, name):
        chosen = next(v for v in self.content["variants"] if v["name"] == name)
        return {p["id"]: verdict(p) for p in chosen["predictions"]}

    def value(self, metric, **factors):
        """The value of one policy as policies.csv gives it; None where it is undefined."""
        (row,) = self.rows(metric, **factors)
        return float(row["value"]) if row["value"] else None

    def rows(self, metric, **factors):
        return [
            r
            for r in self.policies
            if r["metric"] == metric and all(r[name] == value for name, value in factors.items())
        ]

    def report(self, name):
        """By policy (values of its factors): (value, interval)."""
        chosen = next(r for r in self.content["reports"] if r["id"] == name)
        return {tuple(v["policy"]): (v["value"], v["interval"]) for v in chosen["values"]}


SCHEMA = jsonschema.Draft202012Validator(protocol_schema())


def verdict(entry):
    return f"failed ({entry['reason']})" if entry["verdict"] == "failed" else entry["verdict"]


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    rows = list(rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: str(v).lower() if isinstance(v, bool) else v for k, v in row.items()})
    return out.getvalue()


def written(folder, protocol, rows):
    """The protocol beside its records, `records.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "protocol.yaml").write_text(textwrap.dedent(protocol), encoding="utf-8")
    (folder / "records.csv").write_text(csv_text(rows), encoding="utf-8")
    return folder / "protocol.yaml"


def judged(folder, protocol, rows) -> Found:
    """Check, lock and run."""
    path = written(folder, protocol, rows)
    project = Project.at(folder)
    checked = check(project, path)
    SCHEMA.validate(checked.document.tree)  # an editor must not refuse what the tool accepts
    lock(project, checked)
    outcome = run(project, registration.current(project, checked.protocol.id))
    table = (outcome.folder / "policies.csv").read_text(encoding="utf-8")
    content = json.loads((outcome.folder / "ledger.json").read_text(encoding="utf-8"))["content"]
    return Found(
        content, list(csv.DictReader(io.StringIO(table))), [str(w) for w in checked.warnings], folder
    )


def problems(folder, protocol, rows) -> list[str]:
    """Every problem that refuses a protocol."""
    path = written(folder, protocol, rows)
    with pytest.raises(InputError) as caught:
        check(Project.at(folder), path)
    return [str(p) for p in caught.value.problems]


def warned(folder, protocol, rows) -> list[str]:
    """Every warning of a protocol that can be locked."""
    path = written(folder, protocol, rows)
    return [str(w) for w in check(Project.at(folder), path).warnings]


def source(shared, *names):
    """The path of a public file; skips where it is absent."""
    path = shared.joinpath(*names)
    if not path.exists():
        pytest.skip(f"{'/'.join(names)} is not beside the checkout: it may not be shipped")
    return path


def table(shared, *names):
    """The rows of a public CSV file."""
    with source(shared, *names).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
