"""What registrations and ledgers say in lines: amendments, notes, what is not proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.cli.sheet import Text
from prereg.differences import ABSENT, Change

if TYPE_CHECKING:
    from prereg.cli.sheet import Sheet

NOT_PROVEN = (
    "that no other plan was registered elsewhere and dropped; "
    "that the records were not known when this was locked; "
    "anything about units, arms or metrics other than those registered"
)


def amendment_lines(amends: dict[str, Any], *, short: bool = False) -> list[str]:
    """An amendment in lines: what it amends, why, what changed, what it touches, what had been seen.

    `short` leaves out what a ledger tells prediction by prediction.
    """
    out = [f"amends   {amends['digest'][:12]}: {' '.join(amends['reason'].split())}"]
    if not short:
        out += [f"changed  {_change(change)}" for change in amends["changes"]]
    for other in amends["supersedes"]:
        out.append(f"supersedes {other['digest'][:12]}")
        out += [] if short else [f"changed  {_change(change)}" for change in other["changes"]]
    if not short:
        touched = [t["prediction"] for t in amends["touched"]]
        out.append(f"touches  {', '.join(touched) if touched else 'no verdict'}")
    seen = amends["seen"]
    started = "; ".join(
        f"{a['started']} {a['kind']}{'s' * (a['started'] != 1)} started, {a['results']} with results"
        for a in seen["attempts"]
    )
    out.append(f"seen     {seen['state']}" + (f" ({started})" if started else ""))
    for entry in seen["judged"]:
        if entry["state"] not in ("results written", "damaged"):
            continue
        what = "these records were" if entry["files"] else "other records were"
        who = f"{entry['id']} {entry['registration'][:12]}"
        out.append(f"seen     {what} judged before, as {who}; verdict then: {_came_to(entry)}")
    return out


def _came_to(entry: dict[str, Any]) -> str:
    verdicts, counts = entry["verdicts"], entry["counts"]
    if verdicts is not None:
        more = f" and {len(verdicts) - 20} more" if len(verdicts) > 20 else ""
        return ", ".join(f"{v['prediction']} {v['verdict']}" for v in verdicts[:20]) + more
    if counts is None:
        return "not readable"
    return ", ".join(f"{n} {word}" for word, n in counts.items() if word != "surprises") + " (ledger gone)"


def _change(change: dict[str, Any]) -> str:
    pair = str(Change(change["path"], change.get("before", ABSENT), change.get("after", ABSENT)))
    return pair if change["direction"] == "changed" else f"{pair} ({change['direction']})"


def note_lines(notes: list[dict[str, Any]], digest: str | None = None) -> list[str]:
    """Notes in lines, each with its day, the verdicts it names, and a registration that is not this one."""
    out = []
    for note in notes:
        about = f" ({', '.join(note['predictions'])})" if note["predictions"] else ""
        other = note["registration"][:12] if digest not in (None, note["registration"]) else ""
        on = f" on the registration {other}" if other else ""
        out.append(f"note of {note['time'][:10]}{on}{about}: {' '.join(note['text'].split())}")
    return out


def show_notes(sheet: Sheet, notes: list[dict[str, Any]], digest: str | None) -> None:
    """Notes below the registration, or its ledger, that they are about."""
    if notes:
        sheet.print()
    for line in note_lines(notes, digest):
        sheet.print(Text(line))
