"""`prereg lock`: freeze a protocol."""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.
from pathlib import Path

from prereg.cli import output
from prereg.cli.options import Json, ProtocolFile, Root


def command(protocol: ProtocolFile, root: Root = Path(), json: Json = False) -> int:
    """Freeze a protocol under the digest of everything that decides its verdicts."""
    from prereg.check import check as stage
    from prereg.lock import lock as freeze
    from prereg.power import powers, summary
    from prereg.project import Project

    project = Project.at(root)
    checked = stage(project, protocol)
    locked = freeze(project, checked)
    path = project.name_of(locked.path)
    if json:
        output.emit(
            {
                "command": "lock",
                "exit_code": 0,
                "id": locked.registration.id,
                "digest": locked.registration.digest,
                "path": path,
                "new": locked.new,
                "warnings": [output.problem_tree(w) for w in checked.warnings],
                "power": [row.to_tree() for row in powers(checked.analysis.main)] if locked.new else None,
            }
        )
        return 0
    output.complain(str(w) for w in checked.warnings)
    if locked.new:
        output.say(summary(powers(checked.analysis.main)))
        output.say(f"locked {locked.registration.id} as {locked.registration.short}: {path}")
        output.say("commit it before you run it: the commit is what others can date")
    else:
        output.say(
            f"{locked.registration.id} is locked already as {locked.registration.short}: nothing changed"
        )
    return 0
