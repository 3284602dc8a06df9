"""Registrations whose records do not exist yet: what is declared instead, and what the run holds them to.

Names, types, arms and a least number of units are declared; checks and locks work on records of that shape in
which every cell is missing.  The first run's files then bind every later one, through its ledger.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from prereg.errors import InputError, IntegrityError, MissingError, Problem
from prereg.readers import read_text
from prereg.records import as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.errors import Place
    from prereg.plan import Places, Plan
    from prereg.protocol import Protocol
    from prereg.records import Records

_MOST_CELLS = 5_000_000
_NAME = "(declared)"


def is_prospective(protocol: Protocol) -> bool:
    """Whether the records are promised rather than read."""
    return protocol.data.prospective


def refusals(protocol: Protocol, found: Sequence[Any], places: Places) -> list[Problem]:
    """What a prospective protocol lacks, or cannot have."""
    data = protocol.data
    out = []
    if found:
        message = "the records exist: take `prospective` away, so that they are frozen"
        out.append(Problem(message, places(("data", "prospective"))))
    for key, given in (("types", data.types), ("arms", data.arms), ("least_units", data.least_units)):
        if not given:
            message = f"prospective records declare their `{key}`"
            out.append(Problem(message, places(("data", key), key=True)))
    for key, unknown in (("dataset", data.dataset), ("where", data.where), ("guards", data.guards)):
        if unknown is not None:
            out.append(
                Problem(
                    f"with `prospective` there is no `{key}` yet: it needs the records", places(("data", key))
                )
            )
    if len(data.arm) > 1:
        out.append(Problem("prospective records have one arm column", places(("data", "arm"))))
    if protocol.policies.threshold is not None:
        out.append(
            Problem(
                "a threshold needs the records; it cannot be prospective", places(("policies", "threshold"))
            )
        )
    return out


def skeleton(protocol: Protocol) -> Records:
    """Records of the declared shape: every arm answers the least number of units, every cell is missing.

    Only what names parts, strata and groups has a value, so that the plan can be laid out.
    """
    data = protocol.data
    naming = _naming(protocol)
    columns = [data.arm[0], data.unit, *([data.sample] if data.sample else [])]
    columns += [name for name in data.types if name not in columns]
    columns += [name for name in naming if name not in columns]
    units = min(data.least_units or 1, _MOST_CELLS // max(len(columns) * len(data.arms or ()), 1))
    parts = _parts(protocol)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for arm in data.arms or ():
        for i in range(units):
            known = {data.arm[0]: arm, data.unit: f"unit {i + 1}"}
            if data.sample:
                known[data.sample] = "1"
            for name, role in naming.items():
                if role == "part":
                    known[name] = parts[i % len(parts)] if parts else "part"
                else:
                    known[name] = _value(
                        data.types.get(name), f"{role} {i + 1}" if role != "stratum" else "stratum"
                    )
            writer.writerow([known.get(name, "") for name in columns])
    return read_text(_NAME, out.getvalue(), protocol.column_types())


def _value(kind: str | None, text: str) -> str:
    return {"truth": "true", "number": "0"}.get(kind or "", text)


def _naming(protocol: Protocol) -> dict[str, str]:
    """The columns that name parts, strata, groups and clusters."""
    split, drawn = protocol.split, protocol.resampling
    out: dict[str, str] = {}
    if drawn is not None:
        out |= dict.fromkeys(drawn.stratify or (), "stratum")
        out |= {drawn.cluster: "cluster"} if drawn.cluster else {}
    if split is not None:
        out |= dict.fromkeys(split.stratify or (), "stratum")
        out |= {split.group: "group"} if split.group else {}
        out |= {split.column: "part"} if split.column else {}
    return {protocol.data.columns.get(name, name): role for name, role in out.items()}


def _parts(protocol: Protocol) -> list[str]:
    """The parts that a split by column must have: those that are named."""
    named = [str(spec["part"]) for spec in protocol.metrics.values() if spec.get("part") is not None]
    if protocol.split is not None and protocol.split.default is not None:
        named.append(protocol.split.default)
    if protocol.resampling is not None:
        named += protocol.resampling.parts or ()
    return list(dict.fromkeys(named))


def promised_of(plan: Plan) -> dict[str, Any]:
    """What can be registered of the shape: kinds of columns, arms, and the least number of units."""
    data = plan.protocol.data
    factors = plan.environment.factors
    return {
        "columns": [{"name": name, "type": kind} for name, kind in sorted(data.types.items())],
        "factors": [{"name": name, "values": list(values)} for name, values in factors.items()],
        "units": [],
        "split": None,
        "streams": [],
        "variants": [],
    }


def arms_are_those_declared(protocol: Protocol, records: Records, place: Place) -> None:
    """The records that came have the declared arms, all of them and no others.

    Raises:
        IntegrityError: where they do not.

    """
    column = records.columns.get(protocol.data.arm[0])
    if column is None:
        return  # that there is no such column is told when the records are resolved
    arms, declared = sorted(as_text(column).levels), sorted(protocol.data.arms or ())
    if arms != declared:
        message = f"the arms are {', '.join(arms)}; registered were {', '.join(declared)}"
        raise IntegrityError(Problem(message, place))


def hold_to(plan: Plan, place: Place) -> None:
    """The records that came have the declared shape.

    Raises:
        MissingError: where there are fewer units than the least.
        IntegrityError: for other kinds of columns.

    """
    data = plan.protocol.data
    problems = []
    for name, kind in data.types.items():
        found = plan.kinds.get(name)
        if found is None:
            problems.append(Problem(f"the records have no column `{name}`, which was registered", place))
        elif {"binary": "number"}.get(found, found) != kind and not (found == "binary" and kind == "truth"):
            problems.append(Problem(f"column `{name}` is {found}; registered was {kind}", place))
    if problems:
        raise IntegrityError(*problems)
    units = sum(len(panel.units) for panel in plan.layout.panels)
    if units < (data.least_units or 0):
        raise MissingError(
            Problem(f"{units} units are fewer than the {data.least_units} that were registered", place)
        )


def refuse(problems: list[Problem]) -> None:
    """Raise them where there are any.

    Raises:
        InputError: all of them.

    """
    if problems:
        raise InputError(*problems)
