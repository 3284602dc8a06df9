"""A protocol and its records -> a plan: names, types, parts, policies, claims; all problems at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.dataclass import replace
from prereg.errors import file_order
from prereg.plan import Plan
from prereg.resolve.claims import resolve_claims, resolve_exclude, resolve_outcomes
from prereg.resolve.columns import bind_columns
from prereg.resolve.metrics import resolve_metrics
from prereg.resolve.notes import Notes
from prereg.resolve.policies import resolve_settings
from prereg.resolve.settings import Settings
from prereg.resolve.thresholds import resolve_thresholds
from prereg.resolve.units import resolve_units

if TYPE_CHECKING:
    from prereg.plan import Places, ThresholdPlan
    from prereg.protocol import Protocol
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.units import Units

__all__ = ["resolve"]


def resolve(protocol: Protocol, records: Records, places: Places) -> Plan:
    """Bind a protocol to its records.

    Raises:
        InputError: every problem that was found, each at its place in the protocol or the records.
        MissingError: where no unit is left.

    """
    notes = Notes(places)
    columns = bind_columns(protocol, records, notes)
    units = resolve_units(protocol, records, columns, notes)
    settings, thresholds = _policies(protocol, records, columns, units, notes)
    blind = bool(columns.lost & {"arm", "dataset"}) or (
        not settings.factors and bool(protocol.policies.gate or protocol.policies.threshold)
    )
    blind = blind and bool(notes.problems)
    metrics, environment = resolve_metrics(
        protocol, records, columns, units, settings, thresholds, notes, blind=blind
    )
    said = _without_each(protocol) if blind else protocol
    predictions, reports = resolve_claims(said, environment, notes)
    exclude = resolve_exclude(protocol, environment, notes)
    outcomes = (
        () if notes.problems and _any_each(protocol) else resolve_outcomes(protocol, predictions, notes)
    )
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
        settled=tuple(notes.settled),
        unjudged=tuple(notes.unjudged),
    )


def _policies(
    protocol: Protocol, records: Records, columns: Columns, units: Units, notes: Notes
) -> tuple[Settings, ThresholdPlan | None]:
    """Gates or thresholds; neither where the units are not those of the protocol."""
    settings, thresholds = Settings(), None
    if units.whole:
        settings = resolve_settings(protocol, columns, units, notes)
        found, thresholds = resolve_thresholds(protocol, records, columns, units, notes)
        if thresholds is not None:
            settings = found
    if protocol.policies.threshold is not None and thresholds is None:
        columns.kinds.setdefault("action", "broken")
    return settings, thresholds


def _any_each(protocol: Protocol) -> bool:
    return any(spec.each is not None for spec in protocol.predictions.values())


def _without_each(protocol: Protocol) -> Protocol:
    """The protocol without `each`, whose values may be those of a factor that is not known."""
    kept = {n: s for n, s in protocol.predictions.items() if s.each is None}
    if len(kept) < len(protocol.predictions):
        kept = {n: replace(s, given=None) for n, s in kept.items()}
    return replace(protocol, predictions=kept) if kept else protocol
