"""Freeze a checked protocol under the digest of everything that decides its verdicts."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

import prereg
from prereg import attempts, canonical, collect, documents, formats, manifest, registration
from prereg.dataclass import dataclass
from prereg.differences import Change, changes
from prereg.errors import IntegrityError, Place, PreregError, Problem
from prereg.metrics import KINDS
from prereg.prospective import promised_of
from prereg.records import Column, as_text, as_written, is_column
from prereg.stored import to_stored

if TYPE_CHECKING:
    from prereg.analysis import Analysis
    from prereg.check import Checked
    from prereg.draws import Stream
    from prereg.expression.cells import Cells
    from prereg.plan import Plan
    from prereg.project import Project
    from prereg.registration import Registration

LANGUAGE = 1
"""Version of the expression language."""
RULES = {"split": 1, "resample": 1, "gate": 1, "judge": 1}
"""Versions of the built-in rules that are no metric kind."""
_SOURCES = (".py", ".lark", ".json")


@dataclass(frozen=True)
class Locked:
    """The outcome of a lock."""

    registration: Registration
    path: Path
    new: bool


def content_of(checked: Checked, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that is promised: the content of the registration."""
    plan = checked.plan
    protocol = to_stored(checked.protocol)
    kinds = sorted({m.kind.name for m in plan.metrics.values() if m.kind is not None})
    return {
        "protocol": protocol,
        "data": {
            **_source(checked, entries),
        },
        **resolved_of(checked.analysis),
        "parts": {
            "language": LANGUAGE,
            "metrics": {name: KINDS[name].version for name in kinds},
            **RULES,
        },
    }


def _source(checked: Checked, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The record files; for records that the run makes, what they are made from and by which authority."""
    data = checked.protocol.data
    if data.prospective:
        return {"prospective": True, "files": [], "base": PurePosixPath(checked.name).parent.as_posix()}
    if data.collect is None:
        return {"prospective": False, "files": manifest.with_rows(entries, checked.plan.records.files)}
    collector = collect.collector_of(data, Place(checked.name))
    files = [{**entry, "rows": 0} for entry in entries]
    return {"prospective": True, "files": files, "collector": collect.authority(collector, data)}


def known_parts(registered: Registration) -> None:
    """The built-in parts that were registered must be those of this version.

    Raises:
        IntegrityError: every part of another version.

    """
    own = {"language": LANGUAGE, **RULES}
    parts = registered.content["parts"]
    asked = [(name, version, own.get(name)) for name, version in parts.items() if name != "metrics"]
    kinds = parts["metrics"].items()
    asked += [(f"metrics.{n}", v, KINDS[n].version if n in KINDS else None) for n, v in kinds]
    found = [
        Problem(
            f"registered with version {version} of `{name}`, this prereg has {known or 'none'}; "
            "use the version that it was registered with",
            registered.place,
        )
        for name, version, known in asked
        if version != known
    ]
    used = {m["kind"] for m in registered.content["protocol"]["metrics"]} - {"value", *parts["metrics"]}
    found += [Problem(f"no version of `metrics.{name}` is registered", registered.place) for name in used]
    if found:
        raise IntegrityError(*found)


def resolved_of(analysis: Analysis) -> dict[str, Any]:
    """What was inferred or drawn from the records: a run must come to the same."""
    plan = analysis.plan
    if plan.protocol.data.prospective:
        return promised_of(plan)
    # nested values are no cells: no expression can read them
    kinds = {n: c.kind for n, c in plan.records.columns.items() if is_column(n) and c.kind != "nested"}
    return {
        "columns": [{"name": name, "type": _public(kinds[name])} for name in sorted(kinds)],
        "factors": [
            {"name": name, "values": list(values)} for name, values in plan.environment.factors.items()
        ],
        "units": _units(plan),
        "split": _split(plan),
        "streams": _streams(plan),
        "variants": [
            {"name": name, "units": _units(prepared.plan), "split": _split(prepared.plan)}
            for name, prepared in analysis.variants.items()
        ],
    }


def _units(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "dataset": panel.dataset,
            **({"arm": list(panel.separate)} if panel.separate else {}),
            "arms": len(panel.arms),
            "units": len(panel.units),
            "samples": panel.samples,
        }
        for panel in plan.layout.panels
    ]


def _public(kind: str) -> str:
    return "number" if kind == "binary" else kind


def _split(plan: Plan) -> dict[str, Any] | None:
    if not plan.parts:
        return None
    assigned = []
    counts = []
    stratify = plan.protocol.split.stratify if plan.protocol.split else None
    for panel, codes in zip(plan.layout.panels, plan.part_of, strict=True):
        arm = list(panel.separate) if panel.separate else None
        assigned.append([panel.dataset, arm, [[u, int(c)] for u, c in zip(panel.units, codes, strict=True)]])
        strata = _strata(plan, panel, stratify or ())
        for code, part in enumerate(plan.parts):
            for stratum in sorted(set(strata)):
                inside = sum(1 for s, c in zip(strata, codes, strict=True) if s == stratum and c == code)
                entry = {"dataset": panel.dataset, "part": part, "stratum": stratum or None, "units": inside}
                counts.append(entry if arm is None else {**entry, "arm": arm})
    tree = {"parts": list(plan.parts), "assigned": assigned}
    return {"parts": list(plan.parts), "digest": canonical.digest("split", tree), "counts": counts}


def _text(plan: Plan, panel: Any, name: str) -> Cells:
    written = panel.table.columns.get(as_written(name))
    return written if written is not None else as_text(Column(plan.kinds[name], panel.table.columns[name]))


def _strata(plan: Plan, panel: Any, names: tuple[str, ...]) -> list[str]:
    if not names:
        return [""] * len(panel.units)
    found = [panel.by_unit(n, _text(plan, panel, n), "the stratum") for n in names]
    return [" / ".join(values) for values in zip(*found, strict=True)]


def _streams(plan: Plan) -> list[dict[str, Any]]:
    out = []
    for (index, _), sample in plan.samples.items():
        if sample.draws is None:
            continue
        stream: Stream = sample.draws.stream
        entry: dict[str, Any] = {
            "dataset": stream.dataset,
            "part": stream.part,
            "words": stream.first_words(),
        }
        separate = plan.layout.panels[index].separate
        if separate:
            entry["arm"] = list(separate)
        out.append(entry)
    return out


def sources() -> str:
    """A digest of the installed sources: says whether two runs used the same code of the built-in parts."""
    hasher = hashlib.sha256()
    root = Path(__file__).parent
    names = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _SOURCES}
    for name, path in sorted(names.items()):
        data = path.read_bytes()
        hasher.update(f"{len(name)}:{name}:{len(data)}:".encode())
        hasher.update(data)
    return hasher.hexdigest()


def circumstances(root: Path) -> dict[str, Any]:
    """Who, when and with what: nothing of it is hashed."""
    return {
        "time": attempts.now(),
        "prereg": prereg.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
        "commit": _commit(root),
        "sources": sources(),
    }


def _commit(root: Path) -> str | None:
    try:
        out = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],  # noqa: S607
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return out.stdout.strip() if out.returncode == 0 else None


def prepare(checked: Checked) -> tuple[dict[str, Any], str]:
    """The content of a registration and its digest."""
    entries = manifest.digests(checked.files)
    content = content_of(checked, entries)
    return content, registration.FILE.digest(content)


def lock(project: Project, checked: Checked) -> Locked:
    """Register a checked protocol.

    Locking the same content again changes nothing.

    Raises:
        IntegrityError: where other content is registered under this id, the difference field by field.

    """
    content, digest = prepare(checked)
    name = checked.protocol.id
    folder = project.registrations(name)
    project.name_of(folder)  # nothing is tidied or written elsewhere
    formats.sweep(folder)
    known = registration.of_id(project, name) if project.listed(folder) else []
    if known:
        before = registration.current(project, name)
        if not _same(before, content, digest):
            raise _moved(before, content, checked.name)
        return Locked(before, folder / f"{before.short}.json", new=False)
    return write(project, checked, content)


def standing(project: Project, checked: Checked) -> tuple[Registration, bool] | None:
    """What is current under the id of a checked protocol, and whether that says the same; None for nothing.

    Registrations that are damaged are no matter of a protocol, and count as none here.
    """
    try:
        if not registration.files(project, checked.protocol.id):
            return None
        before = registration.current(project, checked.protocol.id)
        content, digest = prepare(checked)
    except PreregError:
        return None
    return before, _same(before, content, digest)


def write(project: Project, checked: Checked, content: dict[str, Any]) -> Locked:
    """Write the registration of a content; one that is there already stays as it is."""
    path = project.registrations(checked.protocol.id) / f"{registration.FILE.digest(content)[:12]}.json"
    envelope = {
        **circumstances(project.root),
        "protocol": {"path": checked.name, "sha256": canonical.file_digest(project.inside(checked.name))[0]},
    }
    new = True
    try:
        # what could not be read again is never given a name
        documents.check("registration", {"content": content, "envelope": envelope}, project.name_of(path))
        formats.write_atomic(path, registration.to_bytes(content, envelope), exclusive=True)
    except FileExistsError:
        new = False
    return Locked(registration.read(path, project.name_of(path)), path, new=new)


def _same(before: Registration, content: dict[str, Any], digest: str) -> bool:
    """Whether a content says what is registered."""
    return digest == before.digest or not list(changes(_bare(before.content), content))


def _bare(content: dict[str, Any]) -> dict[str, Any]:
    """A content without what it amends: locking an amended protocol again changes nothing."""
    return {key: value for key, value in content.items() if key != "amends"}


def _moved(before: Registration, content: dict[str, Any], name: str) -> IntegrityError:
    place = Place(before.name)
    found = list(changes(_bare(before.content), content))
    problems = [
        Problem(
            f"`{before.id}` is registered as {before.short}; a change is an amendment, not another "
            f"lock: prereg amend {name} --reason …",
            place,
        )
    ]
    problems += [Problem(f"differs: {change}", place) for change in found[:50]]
    if len(found) > 50:
        problems.append(Problem(f"and {len(found) - 50} more fields", place))
    return IntegrityError(*problems)


__all__ = ["Change", "Locked", "circumstances", "content_of", "lock", "prepare", "resolved_of", "sources"]
