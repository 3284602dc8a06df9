"""A difference in the forms that CI reads: job summary, JUnit, annotations; what a file says is escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from prereg.cli.render_ledger import short
from prereg.errors import one_line
from prereg.ledger import said

if TYPE_CHECKING:
    from collections.abc import Sequence

Tree = dict[str, Any]
LEVELS = ("integrity", "missing", "verdict", "warning", "note")
"""What matters first."""
_MOST_ROWS = 2000
_MOST_CHARACTERS = 900_000
"""A job summary may hold a megabyte."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def place(found: Tree) -> str:
    """`file:line` of a finding, the id where it has no file."""
    if found["file"] is None:
        return str(found["id"] or "")
    return found["file"] if found["line"] is None else f"{found['file']}:{found['line']}"


def summary(tree: Tree) -> str:
    """The whole in one line."""
    s = tree["summary"]
    judged = (
        f"{s['ledgers']} ledger{'s' * (s['ledgers'] != 1)}: {s['held']} held, {s['failed']} failed, "
        f"{s['falsified']} falsified, {s['surprises']} surprise{'s' * (s['surprises'] != 1)}"
    )
    out = [judged]
    if tree["base"] is not None:
        at = tree["base"]["commit"]
        said = tree["base"]["name"] + (
            f" ({at[:12]})" if at and not at.startswith(tree["base"]["name"]) else ""
        )
        out.append(f"{s['changed']} verdict{'s' * (s['changed'] != 1)} changed against {said}")
    out += [f"{s['integrity']} integrity"] * (s["integrity"] > 0) + [f"{s['missing']} missing"] * (
        s["missing"] > 0
    )
    if s["fell_short"]:
        out.append(f"{s['fell_short']} fell short of {', '.join(tree['fail_on'])}")
    return one_line("; ".join(out))


def changes_first(predictions: Sequence[Tree]) -> list[Tree]:
    """What changed, then what fell short, then surprises, then the rest as registered."""
    return sorted(predictions, key=lambda p: (not p["changed"], not p["fell_short"], not p["surprise"]))


def cells(entry: Tree) -> dict[str, str]:
    """One prediction as the cells of a table."""
    base, interval = entry["base"], entry["interval"]
    verdict = said(entry["verdict"], entry["reason"]) + (", deviated" if entry.get("deviated") else "")
    if interval is not None:
        shown = f"[{short(interval[0])}, {short(interval[1])}]"
    else:
        shown = f"p = {entry['p']:.2g}" if entry.get("p") is not None else ""
    mark = "* " if entry["changed"] else "! " if entry["surprise"] else "  "
    n = entry["n"]
    return {
        "prediction": mark + entry["id"],
        "verdict": verdict + (", noted" if entry["noted"] else ""),
        "base": "" if base is None else said(base["verdict"], base["reason"]),
        "expected": entry["anticipated"],
        "d": "" if entry["point"] is None else short(entry["point"]),
        "interval": shown,
        "n": "" if n is None else " / ".join(map(str, n)) if isinstance(n, list) else str(n),
    }


# -- Markdown

_MARKS = re.compile(r"([\\`*_\[\]#|~$])")


def escaped(text: str) -> str:
    """A text that means itself in Markdown: no mark-up, no HTML, no mention, one line."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;")
    return _MARKS.sub(r"\\\1", text)


def markdown(tree: Tree) -> str:
    """A job summary: what matters, then a table per ledger, changes first."""
    mark = "✅" if tree["exit_code"] == 0 else "❌"
    out = ["## prereg", "", f"{mark} {escaped(summary(tree))}", ""]
    told = [f for level in LEVELS[:4] for f in tree["findings"] if f["level"] == level]
    for found in told[:_MOST_ROWS]:
        where = place(found)
        said = f"{where}: {found['message']}" if where else found["message"]
        out.append(f"- **{found['level']}** {escaped(said)}")
    if len(told) > _MOST_ROWS:
        out.append(f"- and {len(told) - _MOST_ROWS} more")
    based = tree["base"] is not None
    names = ["prediction", "verdict", *(["base"] if based else []), "expected", "d", "interval", "n"]
    for one in tree["ledgers"]:
        out += ["", f"### {escaped(one['id'])} {one['registration'][:12]}", ""]
        out.append(f"{escaped(one['title'])}; records {one['data']}")
        if one["headline"]:
            out += ["", f"**{escaped(one['headline'])}**"]
        if one["amends"]:
            amends = one["amends"]
            out += ["", f"amends {amends['digest'][:12]} ({amends['seen']}): {escaped(amends['reason'])}"]
        out += ["", f"| {' | '.join(names)} |", f"| {' | '.join('---' for _ in names)} |"]
        for entry in changes_first(one["predictions"])[:_MOST_ROWS]:
            found_cells = cells(entry)
            row = [escaped(found_cells[name].strip()) for name in names]
            if entry["changed"]:
                row[0] = f"**{row[0].removeprefix(chr(92) + '* ')}** (changed)"
            out.append(f"| {' | '.join(row)} |")
        if one["notes"]:
            out.append("")
        for note in one["notes"]:
            about = f" ({', '.join(note['predictions'])})" if note["predictions"] else ""
            out.append(f"- note of {escaped(note['time'][:10])}{escaped(about)}: {escaped(note['text'])}")
    text = "\n".join(out) + "\n"
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n\n(cut: the rest is in the JSON)\n"
    return text


# -- JUnit


def junit(tree: Tree) -> str:
    """One suite per id. A failure is a verdict that fell short, an error is integrity or what is missing."""
    root = ET.Element("testsuites", name="prereg")
    names = dict.fromkeys(
        [*(one["id"] for one in tree["ledgers"]), *(f["id"] or "" for f in tree["findings"])]
    )
    totals = {"tests": 0, "failures": 0, "errors": 0}
    for name in names:
        suite = ET.SubElement(root, "testsuite", name=_xml(name))
        count = dict.fromkeys(totals, 0)
        mine = [f for f in tree["findings"] if (f["id"] or "") == name]
        told = {f["prediction"] for f in mine if f["level"] == "verdict"}
        for one in tree["ledgers"]:
            if one["id"] == name:
                for entry in one["predictions"]:
                    _case(suite, count, name, entry, mine)
                told -= {entry["id"] for entry in one["predictions"]}
        _errors(suite, count, name, mine)
        for found in mine:  # of predictions that are no longer there
            if found["level"] == "verdict" and found["prediction"] in told:
                case = ET.SubElement(
                    suite, "testcase", classname=_xml(name), name=_xml(found["prediction"] or "amendment")
                )
                _child(case, "failure", found["kind"], found["message"])
                count["tests"] += 1
                count["failures"] += 1
        for key, number in count.items():
            suite.set(key, str(number))
            totals[key] += number
    for key, number in totals.items():
        root.set(key, str(number))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, count: dict[str, int], name: str, entry: Tree, findings: Sequence[Tree]) -> None:
    case = ET.SubElement(suite, "testcase", classname=_xml(name), name=_xml(entry["id"]))
    count["tests"] += 1
    fell = [f for f in findings if f["prediction"] == entry["id"] and f["level"] == "verdict"]
    if fell:
        _child(case, "failure", fell[0]["kind"], "\n".join(f["message"] for f in fell))
        count["failures"] += 1
    out = ET.SubElement(case, "system-out")
    found = cells(entry)
    out.text = _xml(f"{found['verdict']}; expected {found['expected']}; d {found['d']} {found['interval']}")


def _errors(suite: ET.Element, count: dict[str, int], name: str, findings: Sequence[Tree]) -> None:
    """A case for the files of an id: one error per finding of integrity or of something missing."""
    wrong = [f for f in findings if f["level"] in ("integrity", "missing")]
    for i, found in enumerate(wrong):
        case = ET.SubElement(suite, "testcase", classname=_xml(name), name=f"(files) {i + 1}")
        _child(case, "error", found["level"], f"{place(found)}: {found['message']}")
        count["tests"] += 1
        count["errors"] += 1
    if not wrong:
        ET.SubElement(suite, "testcase", classname=_xml(name), name="(files)")
        count["tests"] += 1


def _child(case: ET.Element, tag: str, kind: str, message: str) -> None:
    child = ET.SubElement(case, tag, type=kind, message=_xml(one_line(message)))
    child.text = _xml(message)


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)


# -- annotations of GitHub

_COMMAND = {
    "integrity": "error",
    "missing": "error",
    "verdict": "error",
    "warning": "warning",
    "note": "notice",
}


def github(tree: Tree, prefix: str = "") -> str:
    """Workflow commands, one line each; `prefix` is the project's folder inside the repository."""
    out = []
    for level in LEVELS:
        for found in tree["findings"]:
            if found["level"] != level:
                continue
            parts = {"title": f"prereg {found['kind']}"}
            if found["file"] is not None:
                parts = {"file": prefix + found["file"], **parts}
                if found["line"] is not None:
                    parts["line"] = str(found["line"])
            said = ",".join(f"{key}={_property(value)}" for key, value in parts.items())
            about = f"{found['id']}: " if found["id"] else ""
            out.append(f"::{_COMMAND[level]} {said}::{_data(about + found['message'])}")
    out.append(_data(summary(tree)).replace("::", ": :"))
    return "\n".join(out) + "\n"


def _data(text: str) -> str:
    return one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
