"""A resolved protocol: every name bound, every type known, ready to be checked, locked and computed."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any
from typing import Protocol as Interface

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.expression.cells import NUMBER, Cells
from prereg.thresholds import by_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.errors import Place, Problem
    from prereg.expression.claims import Claim, SupportCondition
    from prereg.expression.environment import Environment
    from prereg.expression.rows import Rows
    from prereg.expression.terms import Term
    from prereg.metrics import Kind
    from prereg.outcomes import Outcome
    from prereg.panels import Key, Layout, Panel
    from prereg.protocol import Prediction, Protocol
    from prereg.records import Records
    from prereg.thresholds import Arm, Rule
    from prereg.values import Axes


class Places(Interface):
    """Where something of the protocol was written."""

    def __call__(self, path: tuple[str | int, ...], key: bool = False, offset: int | None = None) -> Place:
        """The place of a value, of its key, or of a character of it."""
        ...


@dataclass(frozen=True)
class Each:
    """Factors that a metric adds by being read once per combination of values (`each`)."""

    names: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()

    def keys(self) -> list[tuple[str, ...]]:
        """Every combination, the last factor fastest; a single empty one without factors."""
        return list(itertools.product(*self.values))

    def combinations(self) -> list[dict[str, str]]:
        """Every combination by name."""
        return [dict(zip(self.names, key, strict=True)) for key in self.keys()]


@dataclass(frozen=True, eq=False)
class Repeat:
    """One reading of the rows by a metric: its expressions and options, the values of `each` filled in."""

    key: tuple[str, ...]
    among: Rows | None
    arguments: Mapping[str, Rows]
    options: Mapping[str, Any]

    @property
    def columns(self) -> frozenset[str]:
        """Every column it reads."""
        read = [rows.columns for rows in self.arguments.values()]
        return frozenset().union(*read, self.among.columns if self.among else frozenset())


@dataclass(frozen=True, eq=False)
class MetricPlan:
    """One metric: how its rows are read, and which policies it has values for."""

    name: str
    kind: Kind | None
    """None for `value`, an expression over other metrics."""
    axes: Axes
    degenerate: Mapping[str, Axes]
    part: str | None = None
    repeats: tuple[Repeat, ...] = ()
    """One per combination of `each`, in order; a single one without it."""
    each: Each = Each()
    per: str | None = None
    categories: tuple[str, ...] = ()
    by_policy: bool = False
    """It reads what a gate changes: one value per setting."""
    all_samples: bool = False
    value: Term | None = None
    values_of_degenerate: Mapping[str, Term] = field(default_factory=dict)
    show: str | None = None
    attribute: bool = False
    """`tau`, `dropped`: an attribute of the policy or arm, neither a kind nor a value."""
    fixed: np.ndarray | None = None
    """(P,): of an attribute that no resample changes."""
    listed: Axes | None = None
    """Of a `value`, where policies are excluded: the policies it would have otherwise, for the table."""
    inputs: tuple[str, ...] = ()
    """Of a `value`: the metrics it reads, in the order written."""


@dataclass(frozen=True, eq=False)
class ThresholdPlan:
    """Threshold policies: the rules (settings, in order), and per panel and arm what chooses thresholds.

    Scores are kept signed: with `act_above` they are negated, so that action 0 is always strictly below.
    """

    rules: tuple[Rule, ...]
    arms: tuple[tuple[Arm, ...], ...]
    part: int
    """The part on which thresholds are chosen."""
    sign: float
    score: Cells
    reselect: bool

    def signed(self) -> np.ndarray:
        """(N,): the signed score of every row of the table, NaN where missing."""
        out: np.ndarray = np.where(self.score.missing_mask()[0], np.nan, self.sign * self.score.data[0])
        return out

    def taus(self, panel: int, weights: np.ndarray) -> np.ndarray:
        """(R, S, A): the signed thresholds of a panel for (R, U) weights of its calibration units."""
        weights = by_unit(weights)
        return np.stack([arm.chosen(self.rules, weights) for arm in self.arms[panel]], axis=2)

    def point(self, panel: int) -> np.ndarray:
        """(S, A): the signed thresholds chosen on the observed sample."""
        chosen: np.ndarray = self._points[panel]
        return chosen

    @functools.cached_property
    def _points(self) -> tuple[np.ndarray, ...]:
        return tuple(
            self.taus(i, np.ones((1, arms[0].calibration.units)))[0] for i, arms in enumerate(self.arms)
        )

    def actions(self, panels: Sequence[Panel], rows: int) -> Cells:
        """(S, N): 0 strictly below the threshold, 1 elsewhere, 1 everywhere where nothing is deployed."""
        score = self.signed()
        out = np.ones((len(self.rules), rows))
        for i, panel in enumerate(panels):
            arm = panel.place // (len(panel.units) * panel.samples)
            tau = self.point(i)[:, arm]
            out[:, panel.rows] = np.where(score[panel.rows][None, :] < tau, 0.0, 1.0)
        return Cells(NUMBER, out)


@dataclass(frozen=True, eq=False)
class PredictionPlan:
    """One prediction with its compiled claim and falsifier."""

    id: str
    spec: Prediction
    path: tuple[str | int, ...]
    """Where it was written: with `each` several share one place."""
    claim: Claim
    support: SupportCondition | None = None
    falsifier: Claim | None = None

    def claims(self) -> list[tuple[str, Claim]]:
        """The claim, and the falsifier that is one, by their keys in the protocol."""
        out = [("claim", self.claim)]
        return out if self.falsifier is None else [*out, ("falsified_if", self.falsifier)]


@dataclass(frozen=True, eq=False)
class ReportPlan:
    """An estimate that is printed and never judged."""

    id: str
    text: str
    term: Term


@dataclass(frozen=True, eq=False)
class Sample:
    """One panel and part: which units, and how they are drawn."""

    units: np.ndarray
    """Indices of the part's units within the panel."""
    draws: Any | None
    """A draws.Plan; None where the part is not resampled."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a run needs beside the number of workers."""

    protocol: Protocol
    records: Records
    layout: Layout
    degenerate: Mapping[str, tuple[Panel, ...]]
    """Per degenerate policy its panels, one per dataset."""
    arm_factors: tuple[str, ...]
    dataset_factor: str | None
    settings: tuple[Key, ...]
    """Values of the setting factors (gate), () where policies are the arms."""
    setting_factors: tuple[str, ...]
    parts: tuple[str, ...]
    """Names of the parts, () without a split."""
    part_of: tuple[np.ndarray, ...]
    """Per panel the part of each unit, as a code into `parts` (all 0 without a split)."""
    samples: Mapping[tuple[int, int], Sample]
    """(panel, part) -> its units and draws."""
    metrics: Mapping[str, MetricPlan]
    environment: Environment
    predictions: tuple[PredictionPlan, ...]
    reports: tuple[ReportPlan, ...]
    resamples: int
    kinds: Mapping[str, str]
    """Kinds of the columns as inferred once."""
    thresholds: ThresholdPlan | None = None
    outcomes: tuple[Outcome, ...] = ()
    exclude: Term | None = None
    """The condition under which a policy is excluded, until it has been."""
    excluded: tuple[Key, ...] = ()
    """Policies that `exclude` took out, by the factors of its expression."""
    excluded_factors: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    settled: tuple[Problem, ...] = ()
    """Claims and falsifiers that come out one way whatever the records say."""
    unjudged: tuple[Problem, ...] = ()
    """Legs that the registered evidence cannot judge."""
