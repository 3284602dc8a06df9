"""A protocol and its records -> a plan: names, types, parts, policies, claims; all problems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.errors import file_order
from prereg.plan import Plan
from prereg.resolve.claims import resolve_claims, resolve_exclude, resolve_outcomes
from prereg.resolve.columns import resolve_columns
from prereg.resolve.metrics import resolve_metrics
from prereg.resolve.notes import Notes
from prereg.resolve.policies import resolve_settings
from prereg.resolve.thresholds import resolve_thresholds
from prereg.resolve.units import resolve_units

if TYPE_CHECKING:
    from prereg.plan import Places
    from prereg.protocol import Protocol
    from prereg.records import Records

__all__ = ["resolve"]


def resolve(protocol: Protocol, records: Records, places: Places) -> Plan:
    """Bind a protocol to its records.

    Raises:
        InputError: every problem that was found, each at its place in the protocol or the records.
        MissingError: where no unit is left.

    """
    notes = Notes(places)
    columns = resolve_columns(protocol, records, notes)
    units = resolve_units(protocol, records, columns, notes)
    settings = resolve_settings(protocol, columns, units, notes)
    found, thresholds = resolve_thresholds(protocol, records, columns, units, notes)
    if thresholds is not None:
        settings = found
    if not settings.factors and (protocol.policies.gate or protocol.policies.threshold):
        notes.stop_if_broken()  # what the policies are is not known
    metrics, environment = resolve_metrics(protocol, records, columns, units, settings, thresholds, notes)
    predictions, reports = resolve_claims(protocol, environment, notes)
    exclude = resolve_exclude(protocol, environment, notes)
    outcomes = resolve_outcomes(protocol, predictions, notes)
    notes.stop_if_broken()
    return Plan(
        protocol=protocol,
        records=records,
        layout=units.layout,
        degenerate=units.degenerate,
        arm_factors=protocol.data.arm,
        dataset_factor=protocol.data.dataset,
        settings=settings.keys,
        setting_factors=settings.factors,
        parts=units.parts,
        part_of=units.part_of,
        samples=units.samples,
        metrics=metrics,
        environment=environment,
        predictions=predictions,
        reports=reports,
        resamples=protocol.resampling.resamples if protocol.resampling else 0,
        kinds=columns.kinds,
        thresholds=thresholds,
        outcomes=outcomes,
        exclude=exclude,
        warnings=tuple(sorted(notes.warnings, key=file_order)),
    )
