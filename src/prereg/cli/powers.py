"""`check --power`: what each prediction could detect, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.cli.sheet import Sheet, Table, Text
from prereg.detectable import WANTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.power import Row


def show_powers(out: Sheet, rows: Sequence[Row]) -> None:
    """Print one row per leg, and below what was assumed about the records."""
    table = Table(f"Smallest effect that is held with probability {WANTED:g}")
    table.add_column("prediction")
    table.add_column("leg")
    table.add_column("units", right=True)
    table.add_column("evidence")
    table.add_column("effect", right=True)
    table.add_column("why not")
    for row in rows:
        n = "" if row.n is None else ", ".join(map(str, row.n if isinstance(row.n, list) else [row.n]))
        level = "" if row.level is None else f" {row.level:.6g}"
        leg = row.leg if row.policies == 1 else f"{row.leg} ({row.policies} policies)"
        effect = Text("-", "dim") if row.effect is None else f"{row.effect:g}"
        table.add_row(row.id, leg, n, f"{row.evidence}{level}", effect, row.reason or "")
    out.print()
    out.print(table)
    for form, assumed in dict.fromkeys((row.form, row.assumed) for row in rows if row.assumed):
        out.print(f"{form}: {assumed}")
