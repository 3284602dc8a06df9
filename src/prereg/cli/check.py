"""`prereg check`: every problem of a protocol and its records, before anything is written."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prereg.cli import output
from prereg.cli.options import Json, ProtocolFile, Root
from prereg.cli.sheet import sheet

if TYPE_CHECKING:
    from prereg.registration import Registration


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
    from prereg.lock import standing
    from prereg.project import Project

    project = Project.at(root)
    checked = stage(project, protocol)
    before = standing(project, checked)
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
                "registered": None if before is None else {"digest": before[0].digest, "same": before[1]},
                **({} if rows is None else {"power": [row.to_tree() for row in rows]}),
            }
        )
        return 0
    output.complain(str(w) for w in checked.warnings)
    output.say(
        f"{checked.name}: {_standing(before)}: {_counted(told['predictions'], 'prediction')} over "
        f"{_counted(told['metrics'], 'metric')} of {_counted(told['policies'], 'policy', 'policies')}, "
        f"{_counted(told['units'], 'unit')}, {_counted(told['records'], 'record')}{_to_be_made(checked)}"
    )
    if rows is not None:
        from prereg.cli.powers import show_powers

        show_powers(sheet(), rows)
    return 0


def _standing(before: "tuple[Registration, bool] | None") -> str:
    if before is None:
        return "ready to lock"
    registered, same = before
    if same:
        return f"locked already as {registered.short}"
    return f"ready to amend, for it is no longer what is locked as {registered.short}"


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _to_be_made(checked: Any) -> str:
    """` to be made` where records are promised or collected by the run."""
    data = checked.protocol.data
    return " to be made" if data.prospective or data.collect is not None else ""
