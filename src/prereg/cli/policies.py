"""`show --policy`: every metric of the policies of one name, and how their thresholds were chosen."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from prereg import ledger
from prereg.cli import output
from prereg.cli.sheet import Table, Text, sheet
from prereg.cli.written import table_text
from prereg.errors import MissingError, nearest
from prereg.table import ENDS
from prereg.trace import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    from prereg.project import Project

Row = dict[str, str]
_MOST_MEANT = 5
_UNREAD = ("screened", "untested")


def _rows(text: str | None) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text or "")))


def _named(rows: list[Row], wanted: str, ends: tuple[str, ...]) -> list[Row]:
    """The rows of the policy with this label, and of all with this value of a factor."""

    def factors(row: Row) -> list[str]:
        return [value for key, value in row.items() if key not in ends and key != "policy"]

    return [row for row in rows if row["policy"] == wanted or wanted in factors(row)]


def _meant(wanted: str, rows: list[Row]) -> str:
    """The nearest policy and those that begin with the text; "" where there is none."""
    known = list(dict.fromkeys(r["policy"] for r in rows))
    near = nearest(wanted, known)
    begin = wanted.casefold()
    found = [] if near is None else [near]
    found += [name for name in known if begin and name != near and name.casefold().startswith(begin)]
    if not found:
        return ""
    left = len(found) - _MOST_MEANT
    more = f" … and {left} more" if left > 0 else ""
    return "; did you mean " + ", ".join(f"`{name}`" for name in found[:_MOST_MEANT]) + f"{more}?"


def show_policy(project: Project, folder: Path, wanted: str, *, json: bool) -> int:
    """Print the rows of policies.csv and thresholds.csv that speak of a policy."""
    path = folder / "ledger.json"
    name = project.name_of(path)
    if not path.exists():
        raise MissingError(f"{name}: no such file; run the registration first")
    content = ledger.read(path, name).content
    rows = _rows(table_text(project, folder, "policies.csv", content))
    found = _named(rows, wanted, ENDS)
    if not found:
        raise MissingError(f"no policy is called `{wanted}`{_meant(wanted, rows)}")
    trace = _named(_rows(table_text(project, folder, "thresholds.csv", content)), wanted, COLUMNS)
    if json:
        tree = {"command": "show", "exit_code": 0, "kind": "policies", "rows": found, "thresholds": trace}
        output.emit(tree)
        return 0
    out = sheet()
    out.print(_table(found, ENDS, "Metrics (⊥: undefined)"))
    for policy in dict.fromkeys(r["policy"] for r in trace):
        mine = [r for r in trace if r["policy"] == policy]
        out.print()
        looked_at = [r for r in mine if r["status"] not in _UNREAD]
        out.print(_table(looked_at, COLUMNS, f"Thresholds of {policy}, in the order tested"))
        for status in _UNREAD:
            left = sum(r["status"] == status for r in mine)
            if left:
                out.print(Text(f"{left} {status} (thresholds.csv lists them)"))
        chosen = [r["tau"] for r in mine if r["selected"] == "true"]
        out.print(Text(f"chosen: tau = {chosen[0]}" if chosen else "nothing certified: not deployed"))
    return 0


def _table(rows: list[Row], ends: tuple[str, ...], title: str) -> Table:
    table = Table(title)
    names = [n for n in (rows[0] if rows else ()) if n in ends or (n == "policy" and ends is ENDS)]
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*[Text("⊥" if n == "value" and not row[n] else row[n]) for n in names])
    return table
