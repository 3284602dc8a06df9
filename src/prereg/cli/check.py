"""`prereg check`: every problem of a protocol and its records, before anything is written."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Json, ProtocolFile, Root
from prereg.cli.sheet import sheet


def command(
    protocol: ProtocolFile,
    power: Annotated[
        bool, typer.Option("--power", help="The smallest effect that each prediction could detect.")
    ] = False,
    root: Root = Path(),
    json: Json = False,
) -> int:
    """Read a protocol and its records and tell every problem, without writing anything."""
    from prereg.check import check as stage
    from prereg.project import Project

    checked = stage(Project.at(root), protocol)
    plan = checked.plan
    rows = None
    if power:
        from prereg.power import powers

        rows = powers(checked.analysis.main)
    told = {
        "predictions": len(plan.predictions),
        "metrics": len(plan.metrics),
        "records": plan.records.rows,
        "units": sum(len(p.units) for p in plan.layout.panels),
        "policies": max((len(m.axes) for m in plan.metrics.values()), default=0),
    }
    if json:
        output.emit(
            {
                "command": "check",
                "exit_code": 0,
                "protocol": checked.name,
                "id": checked.protocol.id,
                "warnings": [output.problem_tree(w) for w in checked.warnings],
                **told,
                **({} if rows is None else {"power": [row.to_tree() for row in rows]}),
            }
        )
        return 0
    output.complain(str(w) for w in checked.warnings)
    output.say(
        f"{checked.name}: ready to lock: {_counted(told['predictions'], 'prediction')} over "
        f"{_counted(told['metrics'], 'metric')} of {_counted(told['policies'], 'policy', 'policies')}, "
        f"{_counted(told['units'], 'unit')}, {_counted(told['records'], 'record')}{_to_be_made(checked)}"
    )
    if rows is not None:
        from prereg.cli.powers import show_powers

        show_powers(sheet(), rows)
    return 0


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _to_be_made(checked: Any) -> str:
    """` to be made` where records are promised or collected by the run."""
    data = checked.protocol.data
    return " to be made" if data.prospective or data.collect is not None else ""
