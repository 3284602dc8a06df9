"""Would a policy that answers everything, or nothing, meet a bar?  Then the bar does not tell what was meant.

Every claim is judged with all policies replaced by the degenerate one, at the observed units. Nothing that
the arms said is read: such a policy keeps what the records say of a unit alone, and certifies nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass
from prereg.decimals import rounded
from prereg.errors import Problem
from prereg.expression.claims import Branch, Fold, Leg, Opposite
from prereg.expression.evaluation import comparison
from prereg.expression.terms import Result
from prereg.prepare import Prepared, degenerate_piece
from prereg.resolve.units import degenerate_panels
from prereg.values import SCALAR, Axes, kleene_and, kleene_or, positions

if TYPE_CHECKING:
    from prereg.expression.claims import Claim, Piece
    from prereg.panels import Panel
    from prereg.plan import MetricPlan, Places, Plan
    from prereg.ranks import Ranked

_ROLES = {"answered", "certified"}
_SAID = {
    "always": "a policy that answers everything and certifies nothing",
    "never": "a policy that answers nothing",
}


def degenerate_warnings(prepared: Prepared, places: Places) -> list[Problem]:
    """A warning for every prediction that a degenerate policy in place of the real ones would meet.

    Left out are guards, which speak of such policies anyway, and predictions whose own falsifier the same
    policy meets: it is then falsified, as it should be.
    """
    plan = prepared.plan
    panels = plan.layout.panels
    known = _ROLES & set(panels[0].table.columns)
    if not known or plan.thresholds is not None or plan.protocol.data.units == "separate":
        return []
    out = []
    for which, instead in degenerate_panels(panels, tuple(_SAID)).items():
        frame = _Frame(plan, instead)
        for prediction in plan.predictions:
            if prediction.claim.guard or not _met(prediction.claim, frame):
                continue
            if prediction.falsifier is not None and _met(prediction.falsifier, frame):
                continue
            where = places((*prediction.path, "claim"))
            out.append(
                Problem(f"warning: {_SAID[which]} meets this claim in place of the policies it names", where)
            )
    return out


def _kept(axes: Axes, values: dict[str, tuple[str, ...]]) -> np.ndarray:
    """(F, P): which policies each row of a frame keeps; row 0 keeps all.

    For every bit of the place of every factor's values one row keeps those with 0 and the next those with 1.
    Policies with different values of a factor never stand together in either row of some pair.
    """
    rows = [np.ones(len(axes), dtype=bool)]
    for name, listed in values.items():
        place = {value: i for i, value in enumerate(listed)}
        for bit in range(max(len(listed) - 1, 0).bit_length()):
            if name not in axes.factors:
                rows += [np.ones(len(axes), dtype=bool)] * 2
                continue
            column = axes.factors.index(name)
            one = np.array([place[key[column]] >> bit & 1 == 1 for key in axes.keys], dtype=bool)
            rows += [~one, one]
    return np.array(rows)


@dataclass
class _Frame:
    """A block (see `expression.terms.Frame`) in which every policy is the degenerate one."""

    plan: Plan
    panels: tuple[Panel, ...]
    first: bool = False

    def __post_init__(self) -> None:
        self._factors = {
            name: values
            for name, values in self.plan.environment.factors.items()
            if name in (*self.plan.arm_factors, *self.plan.setting_factors)
        }
        self.rows = len(_kept(SCALAR, self._factors))
        self._known: dict[str, Result] = {}

    def metric(self, name: str, degenerate: str | None) -> Result:
        """The value of the degenerate policy for every policy; in the later rows for those that are kept."""
        if degenerate is not None:
            axes = self.plan.metrics[name].degenerate[degenerate]
            return Result(np.full((self.rows, len(axes)), np.nan), None)
        if name not in self._known:
            metric = self.plan.metrics[name]
            if metric.value is not None:
                self._known[name] = Result(rounded(metric.value.evaluate(self).data), None)
            else:
                data = np.broadcast_to(self._values(metric), (self.rows, len(metric.axes)))
                kept = _kept(metric.axes, self._factors)
                self._known[name] = Result(np.where(kept, data, np.nan), None)
        return self._known[name]

    def ranked(self, data: np.ndarray) -> Ranked | np.ndarray:
        """Nothing is kept: each correlation is of equal values anyway."""
        return data

    def _values(self, metric: MetricPlan) -> np.ndarray:
        """(P,): undefined for a metric that reads neither role, as a degenerate policy has no value of it."""
        read = frozenset().union(*(repeat.columns for repeat in metric.repeats))
        if metric.kind is None or not read & _ROLES:
            return np.full(len(metric.axes), np.nan)
        found, keys = [], []
        names = [*metric.each.names, *([metric.per] if metric.per is not None else [])]
        if self.plan.dataset_factor is not None:
            names.insert(0, self.plan.dataset_factor)
        for i, panel in enumerate(self.panels):
            for repeat in metric.repeats:
                piece = degenerate_piece(self.plan, metric, repeat, panel, i)
                units = len(self.plan.samples[i, piece.part].units)
                found.append(piece.kernel.compute(np.ones((1, units))).values[0])
                prefix = (panel.dataset,) if panel.dataset is not None else ()
                categories = [(c,) for c in metric.categories] if metric.per is not None else [()]
                keys += [(*prefix, *repeat.key, *category) for category in categories]
        axes = Axes(tuple(names), tuple(keys)) if names else SCALAR
        values: np.ndarray = np.concatenate(found)[positions(axes, metric.axes)]
        return values


def _met(claim: Claim, frame: _Frame) -> bool:
    """Whether the claim is true of the degenerate policy.

    A leg that compares policies with each other says nothing of any one of them: equal to themselves they are
    whatever is measured. Such a leg is undefined in both rows of a pair that tells its policies apart.
    """
    legs = []
    for leg in claim.legs:
        data = leg.evaluate(frame).data
        if leg.two_sided:
            truth = np.where(np.isnan(data), np.nan, (data != 0) * 1.0)
        else:
            truth = data if leg.op is None else comparison(leg.op)(data)
        pairs = ~np.isnan(truth[1:].reshape(len(truth) // 2, 2, truth.shape[1]))
        legs.append(np.where(pairs.any(axis=1).all(axis=0), truth[0], np.nan))
    return bool(_truth(claim.root, 0, legs) == 1)


def _truth(piece: Piece, at: int, legs: list[np.ndarray]) -> float:
    """Truth of a piece for one of its policies: 1, 0 or NaN."""
    match piece:
        case Leg():
            return float(legs[piece.number][at]) if at >= 0 else np.nan
        case Opposite():
            return 1.0 - _truth(piece.child, at, legs)
        case Branch():
            parts = [
                _truth(child, int(where[at]) if at >= 0 else -1, legs) for child, where in piece.children
            ]
        case Fold():
            parts = [_truth(piece.child, int(i), legs) for i in (piece.groups[at] if at >= 0 else ())]
    if not parts:
        return np.nan
    fold = kleene_and if piece.op == "and" else kleene_or
    return float(fold([np.array([part]) for part in parts])[0])
