"""What `show` draws from policies.csv: rates with Wilson intervals, ties, degenerate policies."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from prereg.cli.sheet import Table, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.cli.sheet import Sheet

    Rows = Sequence[dict[str, str]]

_TIES = re.compile(r" \(ties: \w+\)$")
_MOST_TIES = 40


def policy_rows(policies: str) -> Rows:
    """The rows of policies.csv, by the names of its header."""
    return list(csv.DictReader(io.StringIO(policies)))


def show_policies(sheet: Sheet, policies: str, stored: dict[str, Any]) -> None:
    """The tables that a ledger's policies call for."""
    rows = policy_rows(policies)
    _wilson(sheet, rows, stored)
    _ties(sheet, rows)
    table = degenerate_table(rows, stored["arm"], tuple(stored["degenerate"]))
    if table is not None:
        sheet.print()
        sheet.print(table)


def _wilson(sheet: Sheet, policies: Rows, stored: dict[str, Any]) -> None:
    """Rates with the interval of Wilson (1927): for readers, it never decides."""
    names = [m["name"] for m in stored["metrics"] if m["show"] == "wilson"]
    rows = [r for r in policies if r["metric"] in names]
    if not rows:
        return
    from prereg.intervals import wilson  # numpy, which a table without rates need not pay

    level = stored["level"]
    table = Table(f"Rates, with Wilson intervals at level {level:g}")
    for name in ("metric", "policy", "rate", "of", "interval"):
        table.add_column(name)
    for row in rows:
        counted = f"{row['numerator']}/{row['denominator']}"
        interval = "⊥"
        if row["value"]:
            low, high = wilson(int(row["numerator"]), int(row["denominator"]), level)
            interval = f"[{low:.3f}, {high:.3f}]"
        rate = f"{float(row['value']):.3f}" if row["value"] else f"⊥ {row['reason']}"
        table.add_row(row["metric"], Text(row["policy"]), rate, counted, interval)
    sheet.print()
    sheet.print(table)


def _ties(sheet: Sheet, rows: Rows) -> None:
    """Values with ties kept and with ties dropped, where there are any."""
    found = [r for r in rows if _TIES.search(r["metric"])]
    if not found:
        return
    known = {(r["metric"], r["policy"]): r for r in rows}
    pairs = [(known[_TIES.sub("", r["metric"]), r["policy"]], r) for r in found]
    pairs = [(one, other) for one, other in pairs if one["n"] != other["n"]]
    table = Table("Ties (correctness 1/2): as registered, and the other way")
    for name in ("metric", "policy", "registered", "n", "other way", "n"):
        table.add_column(name, right=name not in {"metric", "policy"})
    for one, other in pairs[:_MOST_TIES]:
        cells = [x for r in (one, other) for x in (_shown(r["value"] or f"⊥ {r['reason']}"), r["n"])]
        table.add_row(other["metric"], Text(one["policy"]), *cells)
    sheet.print()
    sheet.print(table)
    if len(pairs) > _MOST_TIES:
        sheet.print(Text(f"and {len(pairs) - _MOST_TIES} more in policies.csv"))


def degenerate_table(policies: Rows, arm: str, names: tuple[str, ...]) -> Table | None:
    """The degenerate policies, ⊥ for what they leave undefined; None where there are none."""
    rows = [r for r in policies if r.get(arm) in names]
    if not rows:
        return None
    metrics = list(dict.fromkeys(r["metric"] for r in rows))
    table = Table("Degenerate policies (⊥: undefined, never 0 and never 1)")
    table.add_column("policy")
    for metric in metrics:
        table.add_column(metric, right=True)
    for policy in dict.fromkeys(r["policy"] for r in rows):
        cells = {r["metric"]: (r["value"] or f"⊥ {r['reason']}") for r in rows if r["policy"] == policy}
        table.add_row(policy, *[_shown(cells.get(m, "")) for m in metrics])
    return table


def _shown(cell: str) -> str:
    try:
        value = float(cell)
    except ValueError:
        return cell
    return f"{value:.3f}"
