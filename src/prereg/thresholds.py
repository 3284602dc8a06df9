"""Thresholds chosen from data: candidates from a fit part, selection on a calibration part, certificates.

A threshold tau selects the rows whose score lies strictly below it; they get action 0, all others the fallback
action 1.  (For `act_above` scores and thresholds are negated on the way in and out.)  The risk under control is
any rate K/N whose rows may read the action.  Learn Then Test follows Angelopoulos, Bates, Candes, Jordan and Lei
(2025): exact binomial tail P(Bin(N, alpha) <= K) for the null "risk > alpha", tested in an order fixed beforehand.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prereg.intervals import binomial_lower_tail, lower_tail_at_most, support_floor

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOT_DEPLOYED = -1
RULES = ("naive", "empirical", "ltt")
CORRECTIONS = ("fixed_sequence", "bonferroni")
STARTS = ("screen", "fit")


def thinned(count: int, most: int) -> list[int]:
    """At most `most` of `count` positions, spread evenly: position i is i (count - 1)/(most - 1), half up."""
    if count <= most:
        return list(range(count))
    if most == 1:
        return [0]
    return [(2 * i * (count - 1) + (most - 1)) // (2 * (most - 1)) for i in range(most)]


def candidates(fit: Floats, midpoints: int, endpoints: tuple[float, float] | None) -> Floats:
    """Rising thresholds: midpoints of neighbouring distinct fit scores, thinned, and the endpoints.

    Without two distinct scores there is no midpoint; without endpoints there may then be no candidate at all.
    """
    distinct = np.unique(fit)
    middle = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
    chosen = middle[thinned(len(middle), midpoints)] if len(middle) else middle
    return np.unique(np.concatenate([chosen, np.array(endpoints or (), dtype=np.float64)])) + 0.0


@dataclass(frozen=True, eq=False)
class Controlled:
    """The rows of one arm on one part, as the risk under control reads them.

    Per row, for action 0 and action 1: is it inside `among` (n), and does it count as an error (k)?
    """

    score: Floats
    """(n,): NaN where missing; such a row always takes the fallback action."""
    unit: Integers
    """(n,): index of the unit among those of the part."""
    units: int
    inside: tuple[Bools, Bools]
    errors: tuple[Bools, Bools]

    def matrices(self, taus: Floats) -> tuple[Floats, Floats]:
        """(U, J): per unit and threshold, rows inside `among` and errors."""
        first = np.searchsorted(taus, self.score, side="right")  # from this threshold on the action is 0
        first = np.where(np.isnan(self.score), len(taus), first)
        return tuple(  # type: ignore[return-value]
            _by_threshold(first, self.unit, self.units, len(taus), at_zero, at_one)
            for at_zero, at_one in (self.inside, self.errors)
        )


def _by_threshold(
    first: Integers,
    unit: Integers,
    units: int,
    size: int,
    at_zero: npt.NDArray[np.generic],
    at_one: npt.NDArray[np.generic],
) -> Floats:
    """(U, J): sums of what a row counts under action 1 below its first threshold, under action 0 from it on."""
    steps = np.zeros((units, size + 1))
    zero, one = at_zero.astype(np.float64), at_one.astype(np.float64)
    np.add.at(steps, (unit, np.zeros_like(first)), one)
    np.add.at(steps, (unit, first), zero - one)
    return np.cumsum(steps, axis=1)[:, :size]


@functools.lru_cache(maxsize=256)
def critical(alpha: Decimal, delta: Fraction, most: int) -> Integers:
    """(most + 1,): per N the largest K with P(Bin(N, alpha) <= K) <= delta, -1 where even K = 0 is too likely.

    From N to N + 1 it stays or rises by one, so one tail probability is carried along in floating point; where
    it comes near delta the integers decide.
    """
    share, limit = float(alpha), float(delta)
    odds = share / (1 - share)
    out = np.full(most + 1, -1, dtype=np.int64)
    k = 0  # the next number of errors that may become allowed, with its probability and tail at this N
    mass = tail = 1.0
    for n in range(1, most + 1):
        tail -= share * mass
        mass *= (1 - share) * n / (n - k)
        margin = limit * max(1e-9, 1e-14 * n)
        near = abs(tail - limit) <= margin
        if lower_tail_at_most(k, n, alpha, delta) if near else tail < limit:
            mass *= odds * (n - k) / (k + 1)
            k += 1
            tail += mass
        out[n] = k - 1
    return out


@dataclass(frozen=True)
class Rule:
    """One way to choose a threshold for one budget."""

    rule: str
    budget: Decimal
    delta: Decimal
    min_support: int
    start: str = "screen"
    correction: str = "fixed_sequence"

    def floor(self) -> int:
        """The least support at which a candidate is looked at."""
        if self.rule == "empirical":
            return self.min_support
        return support_floor(self.budget, self.delta, self.min_support)

    def passes(self, n: Integers, k: Integers, family: int) -> Bools:
        """Where the risk is within budget: by the estimate (empirical), or by the exact test (ltt)."""
        if self.rule == "empirical":
            share = Fraction(self.budget)
            return (n > 0) & (k * share.denominator <= n * share.numerator)
        delta = Fraction(self.delta) / (family if self.correction == "bonferroni" else 1)
        table = critical(self.budget, delta, int(n.max(initial=0)))
        return (n > 0) & (k <= table[n])

    def select(self, n: Integers, k: Integers, start: int) -> tuple[Integers, Bools, Bools]:
        """Choose among rising candidates.

        Args:
            n: (R, J) support, whole numbers.
            k: (R, J) errors.
            start: the first candidate that is tested when the start was fixed beforehand.

        Returns:
            (R,) index of the chosen candidate or NOT_DEPLOYED; (R, J) tested; (R, J) passed.

        """
        size = n.shape[1]
        if self.rule == "ltt" and self.start == "fit":
            tested = np.broadcast_to(np.arange(size) >= start, n.shape)
        else:
            tested = n >= self.floor()
        passed = tested & self.passes(n, k, size)
        good = passed
        if self.rule == "ltt" and self.correction == "fixed_sequence":
            failed = tested & ~passed
            stop = np.where(failed.any(axis=1), failed.argmax(axis=1), size)
            good = passed & (np.arange(size)[None, :] < stop[:, None])
        last = size - 1 - good[:, ::-1].argmax(axis=1)
        return np.where(good.any(axis=1), last, NOT_DEPLOYED), tested, passed


@dataclass(frozen=True)
class TraceRow:
    """One threshold that a rule looked at."""

    position: int
    tau: float
    n: int
    k: int
    p: float | None
    status: str
    selected: bool


@dataclass(frozen=True, eq=False)
class Arm:
    """Everything that chooses the thresholds of one arm on one dataset."""

    taus: Floats
    """(J,): rising candidates."""
    calibration: Controlled
    fit_support: Integers
    """(J,): rows of the fit part inside `among`, for a start that is fixed before calibration is seen."""
    fit_rows: int
    naive: tuple[float, ...] = ()
    """Per rule of the list: the threshold `naive` sets (NaN for the other rules)."""

    def possible(self) -> Floats:
        """Every threshold that a rule may choose, rising."""
        naive = np.array([x for x in self.naive if not np.isnan(x)], dtype=np.float64)
        return np.unique(np.concatenate([self.taus, naive]))

    def start(self, rule: Rule) -> int:
        """The first candidate whose fit support, scaled to the calibration part, reaches the floor."""
        n = len(self.calibration.score)
        reach = self.fit_support * n >= rule.floor() * self.fit_rows
        return int(reach.argmax()) if reach.any() and self.fit_rows else len(self.taus)

    def counts(self, weights: Floats) -> tuple[Integers, Integers]:
        """(R, J): N and K of every candidate for (R, U) whole-number weights."""
        inside, errors = self._matrices
        return np.rint(weights @ inside).astype(np.int64), np.rint(weights @ errors).astype(np.int64)

    @functools.cached_property
    def _matrices(self) -> tuple[Floats, Floats]:
        return self.calibration.matrices(self.taus)

    def select(self, rules: Sequence[Rule], weights: Floats) -> Integers:
        """(R, number of rules): index of the chosen candidate; naive rules have no index and get NOT_DEPLOYED."""
        out = np.full((weights.shape[0], len(rules)), NOT_DEPLOYED, dtype=np.int64)
        if not len(self.taus):
            return out
        n, k = self.counts(weights)
        for i, rule in enumerate(rules):
            if rule.rule != "naive":
                out[:, i] = rule.select(n, k, self.start(rule))[0]
        return out

    def chosen(self, rules: Sequence[Rule], weights: Floats) -> Floats:
        """(R, number of rules): the thresholds, NaN where nothing is deployed."""
        index = self.select(rules, weights)
        table = np.append(self.taus, np.nan)
        naive = np.array(self.naive, dtype=np.float64)
        return np.where(np.isnan(naive)[None, :], table[index], naive[None, :])

    def trace(self, rule: Rule, at: int) -> list[TraceRow]:
        """Every candidate a rule looked at, in the order tested; `at` is its place in the list of rules."""
        if rule.rule == "naive":
            tau = self.naive[at]
            n, k = (m.sum(axis=0) for m in self.calibration.matrices(np.array([tau])))
            return [TraceRow(0, tau, int(n[0]), int(k[0]), None, "set", selected=True)]
        if not len(self.taus):
            return []
        n, k = self.counts(np.ones((1, self.calibration.units)))
        chosen, tested, passed = (x[0] for x in rule.select(n, k, self.start(rule)))
        out = []
        stopped = False
        for j, tau in enumerate(self.taus.tolist()):
            support, errors = int(n[0, j]), int(k[0, j])
            p = None
            if rule.rule == "ltt":
                p = binomial_lower_tail(errors, support, rule.budget) if support else 1.0
            if not tested[j]:
                status = "screened"
            elif rule.rule == "empirical":
                status = "within" if passed[j] else "exceeds"
            elif stopped:
                status = "untested"
            elif passed[j]:
                status = "certified"
            elif rule.correction == "bonferroni":
                status = "not certified"
            else:
                status, stopped = "stopped", True
            out.append(TraceRow(j, tau, support, errors, p, status, selected=j == chosen))
        return out
