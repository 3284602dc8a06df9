"""Policies that the protocol excludes: decided once, on the observed sample, then absent from every vector.

Numbers that were prepared stay as they are; expressions are compiled again without the excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import replace
from prereg.errors import InputError, Problem
from prereg.estimate import Block
from prereg.expression.syntax import parse
from prereg.prepare import Prepared
from prereg.resolve.claims import resolve_claims
from prereg.resolve.notes import Notes
from prereg.resolve.values import VALUE, Values

if TYPE_CHECKING:
    from prereg.expression.environment import Environment
    from prereg.plan import Places, Plan
    from prereg.values import Axes, Key


def without_excluded(prepared: Prepared, places: Places) -> Prepared:
    """The plan without the policies that its `exclude` takes out.

    Raises:
        InputError: where the condition is undefined for a policy, or takes out all of them.

    """
    plan = prepared.plan
    if plan.exclude is None:
        return prepared
    place = places(("policies", "exclude"))
    axes = plan.exclude.axes
    found = plan.exclude.evaluate(Block(prepared, 0, 1)).data[0]
    unknown = [axes.label(int(i)) for i in np.flatnonzero(np.isnan(found))]
    if unknown:
        raise InputError(
            Problem(f"undefined for {', '.join(unknown[:5])}: say with defined(x) what that counts as", place)
        )
    out = {axes.keys[i] for i in np.flatnonzero(found == 1)}
    if len(out) == len(axes):
        raise InputError(Problem("every policy is excluded", place))
    if not out:
        return prepared
    return Prepared(_rebind(plan, out, places), prepared.pieces)


def excluded_of(axes: Axes, out: set[Key], by: Axes) -> frozenset[Key]:
    """The policies of a metric all of whose full policies are excluded.

    With every factor of the condition in the metric, that is the policy itself; a metric that does not depend
    on one of them (an arm's calibration error, where a gate is excluded) keeps its value while one is left.
    """
    shared = [f for f in by.factors if f in axes.factors]
    mine = [axes.factors.index(f) for f in shared]
    theirs = [by.factors.index(f) for f in shared]
    kept = {tuple(key[i] for i in theirs) for key in by.keys if key not in out}
    known = {tuple(key[i] for i in theirs) for key in by.keys}
    chosen = []
    for key in axes.keys:
        part = tuple(key[i] for i in mine)
        if part in known and part not in kept:
            chosen.append(key)
    return frozenset(chosen)


def _rebind(plan: Plan, out: set[Key], places: Places) -> Plan:
    if plan.exclude is None:
        raise AssertionError("nothing is excluded")
    by = plan.exclude.axes
    rows = {n for n, m in plan.metrics.items() if m.kind is not None or m.attribute}
    known = {
        name: replace(metric, excluded=excluded_of(metric.axes, out, by))
        for name, metric in plan.environment.metrics.items()
        if name in rows
    }
    written = {
        name: (str(spec[VALUE]), parse(str(spec[VALUE])))
        for name, spec in plan.protocol.metrics.items()
        if VALUE in spec
    }
    notes = Notes(places)
    environment: Environment = replace(plan.environment, metrics=known)
    values, environment = Values(written, environment, plan.degenerate, notes).resolve()
    predictions, reports = resolve_claims(plan.protocol, environment, notes)
    notes.stop_if_broken()
    metrics = {
        name: replace(values[name], listed=metric.axes) if name in values else metric
        for name, metric in plan.metrics.items()
    }
    return replace(
        plan,
        metrics=metrics,
        environment=environment,
        predictions=predictions,
        reports=reports,
        exclude=None,
        excluded=tuple(key for key in by.keys if key in out),
        excluded_factors=by.factors,
    )
