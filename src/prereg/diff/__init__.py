"""Compare every ledger with its locked registration, and with what a base says: three ways, for CI.

Only data is read: no record is interpreted, nothing a file says is run, and nothing is written.

For every id, in order: (1) what the base holds is still there, byte for byte, since registrations, notes
and attempts are only ever added to; (2) every registration has its digest, and one is current; (3) amendments
name the changes they make; (4) notes and attempts are whole; (5) the protocol still says what was locked;
(6) the records are those registered; (7) every ledger is bound to its registration, has all its predictions
once and in order, and its tables; (8) verdicts and numbers against the base; (9) what --fail-on asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg import registration
from prereg.diff.difference import CODES, FAIL_ON, Asked, Difference, Finding, Voice
from prereg.diff.one import One
from prereg.errors import MissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.base import Base
    from prereg.project import Project


def diff(
    project: Project, names: Sequence[str], base: Base | None = None, asked: Asked | None = None
) -> Difference:
    """Compare ledgers with their registrations, and with a base.

    Args:
        project: where they live.
        names: ids; all without any.
        base: what to compare with.
        asked: tolerance, what falls short, whether records must be there.

    Raises:
        MissingError: where nothing is registered, or nothing under an id, here or in the base.

    """
    here = _names(project)
    there = [] if base is None else _names(base.project)
    known = sorted({*here, *there})
    if not known:
        raise MissingError(
            "nothing is registered here: registrations/ is empty or missing (prereg lock writes it)"
        )
    for name in names:
        if name not in known:
            registration.of_id(project, name)
    out = Difference(asked or Asked(), base)
    for name in dict.fromkeys(names) if names else known:
        One(Voice(project, name, out)).compare()
    return out


def _names(project: Project) -> list[str]:
    """The ids that have a registration or a result."""
    return sorted({*registration.ids(project), *project.ids_in("results", "*/ledger.json")})


__all__ = ["CODES", "FAIL_ON", "Asked", "Difference", "Finding", "diff"]
