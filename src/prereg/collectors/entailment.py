"""Decision procedures on propositional problems: what they claim, and what of it a detached checker accepts.

An engine is asked, its certificate goes to the checker as text, and only what the checker derives again from
the problem file counts as certified.  A claim that it does not accept is an alarm (`kernel_rejected`).  A
file that cannot be read is recorded as unreadable, never as an abstention.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from prereg.checker import Verdict, check
from prereg.collectors.base import Collected, Task
from prereg.errors import InputError, Place, PreregError, Problem, suggestion
from prereg.studies.logic.engines import ENGINES, Engine
from prereg.studies.logic.labels import Labels, header_labels, table_labels
from prereg.studies.logic.tptp import read_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Arms = Mapping[str, Mapping[str, int | str]]
    Files = Sequence[tuple[str, Path]]

_NUMBERED = re.compile(r"(.+?)(?:\+\d+\.\d+|_\d+)\Z")
_SOURCES = ("studies/logic", "checker", "collectors")
_ENGINE = "engine"
_UNKNOWN = Labels(None, None)

_KNOWN = {
    "engine": "text",
    "problem": "text",
    "family": "text",
    "logic": "text",
    "label": "text",
    "labelled": "truth",
}
_OUTCOME = {
    "readable": "truth",
    "answered": "truth",
    "claim": "text",
    "certified": "truth",
    "agrees": "truth",
    "kernel_rejected": "truth",
    "certificate_bytes": "number",
    "reason": "text",
}


def family_of(problem: str) -> str:
    """`SYJ201+1.007` is of SYJ201, `syj201_07` of syj201; a problem without a number is its own family."""
    match = _NUMBERED.match(problem)
    return match[1] if match else problem


def _engine_of(arm: str, options: Mapping[str, int | str]) -> tuple[Engine, dict[str, int]]:
    """The engine of an arm and all its budgets; InputError for what it does not have."""
    name = str(options.get(_ENGINE, arm))
    if name not in ENGINES:
        hint = suggestion(name, ENGINES) or f"; known: {', '.join(ENGINES)}"
        raise InputError(f"unknown engine `{name}`{hint}")
    budgets = {key: value for key, value in options.items() if key != _ENGINE}
    return ENGINES[name], ENGINES[name].settled(budgets)  # type: ignore[arg-type]


def _table(files: Files, labels: str | None) -> str | None:
    """The name of the file that holds the labels.

    Raises:
        InputError: where it is none of the files, or more than one.

    """
    if labels is None:
        return None
    found = [name for name, _ in files if PurePosixPath(name).name == PurePosixPath(labels).name]
    if len(found) != 1:
        raise InputError(f"the table of labels `{labels}` is {len(found)} of the files, not one")
    return found[0]


def _problems(files: Files, table: str | None) -> list[tuple[str, str, Path]]:
    """(problem, file name, path), sorted by problem.

    Raises:
        InputError: where two files give one problem.

    """
    found: dict[str, tuple[str, str, Path]] = {}
    twice = []
    for name, path in files:
        if name == table:
            continue
        stem = path.name.removesuffix(".p")
        if stem in found:
            twice.append(Problem(f"`{stem}` is the problem of {found[stem][1]} already", Place(name)))
        found.setdefault(stem, (stem, name, path))
    if twice:
        raise InputError(*twice)
    return [found[key] for key in sorted(found)]


def _labelled(files: Files, labels: str | None) -> list[tuple[str, str, Path, Labels]]:
    """The problems with what is known of them.

    Raises:
        InputError: as `_problems`, and for every status line that says nothing known: its problem would be
            dropped from the recall without a word.

    """
    table = _table(files, labels)
    problems = _problems(files, table)
    if table is not None:
        known = table_labels(dict(files)[table])
        return [(*problem, known.get(problem[0], _UNKNOWN)) for problem in problems]
    out: list[tuple[str, str, Path, Labels]] = []
    wrong: list[Problem] = []
    for stem, name, path in problems:
        try:
            out.append((stem, name, path, header_labels(path.read_bytes(), name)))
        except InputError as error:
            wrong += error.problems
    if wrong:
        raise InputError(*wrong)
    return out


def _compact(certificate: Any) -> str:
    return json.dumps(certificate, separators=(",", ":"))


def _claimed(task: Task, claim: str, label: str | None, certificate: Any, verdict: Verdict) -> Collected:
    """The answer of an engine that claims something, and what the checker made of it."""
    good = verdict.accepted and verdict.follows == (claim == "theorem")
    cells = {
        "readable": "true",
        "answered": "true",
        "claim": claim,
        "certified": "true" if good else "false",
        "kernel_rejected": "false" if good else "true",
        "agrees": "" if label is None else ("true" if claim == label else "false"),
        "certificate_bytes": str(len(_compact(certificate))),
        "reason": "" if good else f"alarm: {verdict.reason}",
    }
    return Collected(task.arm, task.unit, cells, certificate)


def _abstained(task: Task, reason: str) -> Collected:
    cells = {"readable": "true", "answered": "false", "certified": "false", "kernel_rejected": "false"}
    return Collected(task.arm, task.unit, {**cells, "reason": reason})


class Entailment:
    """See `Collector`: arms are engines with budgets, units are problems."""

    version = 1
    columns: Mapping[str, str] = {**_KNOWN, **_OUTCOME}

    def problems(self, engines: Arms) -> list[str]:
        """What is wrong with the engines and budgets of a protocol."""
        out = []
        for arm, options in engines.items():
            try:
                _engine_of(arm, options)
            except InputError as error:
                out += [f"engine {arm}: {p.message}" for p in error.problems]
        return out

    def resolved(self, engines: Arms) -> list[dict[str, Any]]:
        """Every arm with its engine, the engine's version and all budgets."""
        out = []
        for arm, options in sorted(engines.items()):
            engine, budgets = _engine_of(arm, options)
            out.append({"arm": arm, "engine": engine.name, "version": engine.version, "budgets": budgets})
        return out

    def sources(self) -> str:
        """Digest of the engines, the checker and this module."""
        hasher = hashlib.sha256()
        root = Path(__file__).resolve().parents[1]
        for folder in _SOURCES:
            for path in sorted((root / folder).glob("*.py")):
                data = path.read_bytes()
                hasher.update(f"{folder}/{path.name}:{len(data)}:".encode() + data)
        return hasher.hexdigest()

    def skeleton(self, files: Files, engines: Arms, labels: str | None) -> list[dict[str, str]]:
        """One row per engine and problem, outcomes empty."""
        return self.rows(files, engines, labels, {})

    def tasks(self, files: Files, engines: Arms, labels: str | None) -> list[Task]:
        """Every engine on every problem."""
        problems = _labelled(files, labels)
        out = []
        for arm, options in sorted(engines.items()):
            engine, budgets = _engine_of(arm, options)
            for stem, name, path, known in problems:
                label = getattr(known, engine.logic)
                out.append(Task(arm, stem, (str(path), name, engine.name, budgets, label)))
        return out

    def answer(self, task: Task, kept: Any = None) -> Collected:
        """Ask the engine, and have its certificate checked; or check one that was kept."""
        path, name, engine_name, budgets, label = task.work
        engine = ENGINES[engine_name]
        data = Path(path).read_bytes()
        try:
            problem = read_problem(Path(path), name)
        except PreregError as error:
            reason = f"unreadable: {error.problems[0].message}"
            return Collected(task.arm, task.unit, {"readable": "false", "reason": reason})
        if kept is not None:
            verdict = check(data.decode("latin-1"), _compact(kept), engine.logic)
            if verdict.accepted:
                claim = "theorem" if verdict.follows else "non_theorem"
                return _claimed(task, claim, label, kept, verdict)
        outcome = engine.run(problem, budgets)
        if outcome.claim is None or outcome.certificate is None:
            return _abstained(task, outcome.reason or "")
        verdict = check(data.decode("latin-1"), _compact(outcome.certificate), engine.logic)
        if not verdict.within:
            # The checker gave up by its own bounds: that says nothing against the certificate.
            return _abstained(task, "check_bound")
        return _claimed(task, outcome.claim, label, outcome.certificate, verdict)

    def rows(
        self, files: Files, engines: Arms, labels: str | None, done: Mapping[tuple[str, str], Collected]
    ) -> list[dict[str, str]]:
        """The records, by engine and problem."""
        problems = _labelled(files, labels)
        out = []
        for arm, options in sorted(engines.items()):
            engine, _ = _engine_of(arm, options)
            for stem, _, _, known in problems:
                label = getattr(known, engine.logic)
                found = done.get((arm, stem))
                row = {
                    "engine": arm,
                    "problem": stem,
                    "family": family_of(stem),
                    "logic": engine.logic,
                    "label": label or "",
                    "labelled": "false" if label is None else "true",
                }
                out.append({**row, **(found.cells if found is not None else {})})
        return out


COLLECTOR = Entailment()
