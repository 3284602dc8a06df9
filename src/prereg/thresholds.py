"""Thresholds chosen from data: candidates from a fit part, selection on a calibration part, certificates.

A threshold tau selects the rows whose score lies strictly below it; they get action 0, all others the
fallback action 1.  (For `act_above` scores and thresholds are negated on the way in and out.)  The risk under
control is any rate K/N whose rows may read the action.  Learn Then Test follows Angelopoulos, Bates, Candes,
Jordan and Lei (2025): exact binomial tail P(Bin(N, alpha) <= K) for the null "risk > alpha", tested in an
order fixed beforehand.  Whole numbers decide: supports, errors, and per support how many errors are allowed.
"""

from __future__ import annotations

import functools
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass
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
    chosen = [
        _between(float(distinct[i]), float(distinct[i + 1])) for i in thinned(len(distinct) - 1, midpoints)
    ]
    return np.unique(np.array([*chosen, *(endpoints or ())], dtype=np.float64)) + 0.0


_DIGITS = Context(prec=60)


def _between(low: float, high: float) -> float:
    """The midpoint of two scores as they are written: of 0.1 and 0.3 it is 0.2, not the double beside it.

    It lies above `low` and, where no double lies between them, at `high`: it always parts the two.
    """
    middle = float(_DIGITS.divide(_DIGITS.add(Decimal(repr(low)), Decimal(repr(high))), Decimal(2)))
    return middle if low < middle < high else high


_FEW = 32


def by_unit(weights: Floats) -> Floats:
    """The same (R, U) weights with the draws of a unit side by side, turned once for many sums."""
    return np.asfortranarray(weights)


@dataclass(frozen=True, eq=False)
class Steps:
    """A number per row that depends on its action, summed over weighted units at every threshold of a list.

    From one threshold to the next only the rows in between change their action, so the sums are a running sum
    over rows in the order of their scores.
    """

    size: int
    """J thresholds."""
    fixed: Floats | None
    """(U,): what a unit counts while all its rows take action 1; None where nothing."""
    unit: Integers
    """(m,): unit of every row that an action changes, sorted by the threshold from which its action is 0."""
    change: Floats | None
    """(m,): by how much; None where it is 1 everywhere."""
    begin: Integers
    """Where the rows of each threshold begin in `unit`."""
    threshold: Integers
    """The threshold (0 .. J - 1) of each such run."""

    @classmethod
    def of(
        cls, first: Integers, unit: Integers, units: int, size: int, at_zero: Bools, at_one: Bools
    ) -> Steps:
        """Prepare rows that count `at_zero` from their `first` threshold on and `at_one` below it."""
        change = at_zero.astype(np.float64) - at_one
        moved = np.flatnonzero((change != 0) & (first < size))
        moved = moved[np.argsort(first[moved], kind="stable")]
        threshold, begin = np.unique(first[moved], return_index=True)
        ones = np.bincount(unit[at_one], minlength=units).astype(np.float64) if at_one.any() else None
        by = change[moved]
        return cls(size, ones, unit[moved], None if (by == 1).all() else by, begin, threshold)

    def sums(self, weights: Floats) -> Floats:
        """(R, J) sums for (R, U) whole-number weights; fastest where they were turned (`by_unit`)."""
        draws = weights.shape[0]
        out = np.zeros((self.size, draws))
        if len(self.begin):
            rows = np.take(np.ascontiguousarray(weights.T), self.unit, axis=0)
            if self.change is not None:
                rows *= self.change[:, None]
            if draws < _FEW:
                out[self.threshold] = np.add.reduceat(rows, self.begin, axis=0)
                out.cumsum(axis=0, out=out)
            else:
                # the draws of a unit stand side by side: whole runs are added at the speed of memory
                ends = [*self.begin[1:].tolist(), len(rows)]
                for j, begin, end in zip(self.threshold.tolist(), self.begin.tolist(), ends, strict=True):
                    rows[begin:end].sum(axis=0, out=out[j])
                for j in range(1, self.size):
                    out[j] += out[j - 1]
        if self.fixed is not None:
            out += weights @ self.fixed
        return np.ascontiguousarray(out.T)


@dataclass(frozen=True, eq=False)
class Controlled:
    """The rows of one arm on one part, as a rate reads them under either action.

    Per row, for action 0 and action 1: is it inside `among` (N), and does it count (K)?
    """

    score: Floats
    """(n,): signed; NaN where missing, and such a row always takes the fallback action."""
    unit: Integers
    """(n,): index of the unit among those of the part."""
    units: int
    inside: tuple[Bools, Bools]
    errors: tuple[Bools, Bools]

    def first(self, taus: Floats) -> Integers:
        """(n,): from which of the rising thresholds on a row's action is 0; their number where from none."""
        found = np.searchsorted(taus, self.score, side="right")
        return np.where(np.isnan(self.score), len(taus), found).astype(np.int64)

    def steps(self, taus: Floats) -> tuple[Steps, Steps]:
        """N and K as functions of the threshold."""
        first = self.first(taus)
        inside, errors = (
            Steps.of(first, self.unit, self.units, len(taus), *pair) for pair in (self.inside, self.errors)
        )
        return inside, errors

    def totals(self, taus: Floats) -> tuple[Integers, Integers]:
        """(J,) each: N and K on the rows as they are."""
        ones = np.ones((1, self.units))
        n, k = (steps.sums(ones)[0].astype(np.int64) for steps in self.steps(taus))
        return n, k


def critical(alpha: Decimal, delta: Fraction, most: int) -> Integers:
    """(more than most,): per N the largest K with P(Bin(N, alpha) <= K) <= delta, -1 where there is none."""
    return _critical(alpha, delta, _enough(most))


def _enough(most: int) -> int:
    """A power of two above `most`, so that tables are shared by samples of about one size."""
    return int(1 << int(most).bit_length())


@functools.lru_cache(maxsize=256)
def _critical(alpha: Decimal, delta: Fraction, most: int) -> Integers:
    """The table up to `most`.

    From N to N + 1 the bound stays or rises by one, so one tail probability is carried along in floating
    point; where it comes near delta the integers decide.
    """
    share, miss, limit = float(alpha), float(1 - Fraction(alpha)), float(delta)
    odds = share / miss
    out = np.full(most + 1, -1, dtype=np.int64)
    k = 0  # the least number of errors not yet allowed, with its probability and tail at this N
    mass = tail = 1.0
    for n in range(1, most + 1):
        tail -= share * mass
        mass *= miss * n / (n - k)
        if k == 0:
            tail = mass  # a difference of numbers near 1 would not tell a small delta from another
        near = abs(tail - limit) <= limit * max(1e-9, 1e-13 * n)
        if lower_tail_at_most(k, n, alpha, delta) if near else tail < limit:
            mass *= odds * (n - k) / (k + 1)
            k += 1
            tail += mass
        out[n] = k - 1
    return out


@functools.lru_cache(maxsize=256)
def _within(share: Fraction, most: int) -> Integers:
    """(most + 1,): per N the largest K with K / N <= share."""
    return np.array([n * share.numerator // share.denominator for n in range(most + 1)], dtype=np.int64)


@dataclass(frozen=True)
class Rule:
    """One way to choose a threshold for one budget."""

    rule: str
    budget: Decimal
    delta: Decimal
    min_support: int
    start: str = "screen"
    correction: str = "fixed_sequence"

    @functools.cached_property
    def floor(self) -> int:
        """The least support at which a candidate is looked at."""
        if self.rule == "empirical":
            return self.min_support
        return support_floor(self.budget, self.delta, self.min_support)

    def level(self, family: int) -> Fraction:
        """What a p-value is compared with, for a family of candidates."""
        return Fraction(self.delta) / (family if self.correction == "bonferroni" else 1)

    def passes(self, n: Integers, k: Integers, family: int) -> Bools:
        """Where the risk is within budget: by the estimate (empirical), or by the exact test (ltt)."""
        most = int(n.max(initial=0))
        if self.rule == "empirical":
            table = _within(Fraction(self.budget), _enough(most))
        else:
            table = critical(self.budget, self.level(family), most)
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
            tested = n >= self.floor
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
    fit_n: int | None
    """N on the fit part."""
    p: float | None
    status: str
    selected: bool


@dataclass(frozen=True, eq=False)
class Arm:
    """Everything that chooses the thresholds of one arm on one dataset."""

    taus: Floats
    """(J,): rising candidates."""
    calibration: Controlled
    fit: Controlled
    """The part the candidates come from; its N fixes a start before calibration is seen."""
    naive: tuple[float, ...] = ()
    """Per rule of the list: the threshold `naive` sets (NaN for the other rules)."""

    def possible(self) -> Floats:
        """Every threshold that a rule may choose, rising."""
        naive = np.array([x for x in self.naive if not np.isnan(x)], dtype=np.float64)
        return np.unique(np.concatenate([self.taus, naive]))

    @functools.cached_property
    def fit_support(self) -> Integers:
        """(J,): N of every candidate on the fit part."""
        return self.fit.totals(self.taus)[0]

    def start(self, rule: Rule) -> int:
        """The first candidate whose fit support, scaled to the calibration part, reaches the floor."""
        fit, calibration = len(self.fit.score), len(self.calibration.score)
        reach = self.fit_support * calibration >= rule.floor * fit
        return int(reach.argmax()) if fit and reach.any() else len(self.taus)

    def counts(self, weights: Floats) -> tuple[Integers, Integers]:
        """(R, J): N and K of every candidate for (R, U) whole-number weights."""
        n, k = (steps.sums(weights).astype(np.int64) for steps in self._steps)
        return n, k

    @functools.cached_property
    def _steps(self) -> tuple[Steps, Steps]:
        return self.calibration.steps(self.taus)

    def select(self, rules: Sequence[Rule], weights: Floats) -> Integers:
        """(R, number of rules): index of the chosen candidate; NOT_DEPLOYED where none is, and for naive."""
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
        """Every candidate a rule looked at, in the order tested; `at` is its place in the list of rules.

        Only what was tested has a p-value: thresholds below the start or the floor and those after a stop
        have none.
        """
        if rule.rule == "naive":
            tau = self.naive[at]
            n, k = self.calibration.totals(np.array([tau]))
            return [TraceRow(0, tau, int(n[0]), int(k[0]), None, None, "set", selected=True)]
        if not len(self.taus):
            return []
        n, k = self._observed
        chosen, tested, passed = (x[0] for x in rule.select(n[None], k[None], self.start(rule)))
        out = []
        stopped = False
        share = Fraction(rule.budget)
        rows = zip(
            self.taus.tolist(), n.tolist(), k.tolist(), self.fit_support.tolist(), tested, passed, strict=True
        )
        for j, (tau, support, errors, fit_n, seen, good) in enumerate(rows):
            p = None
            if not seen:
                status = "screened"
            elif stopped:
                status = "untested"
            elif rule.rule == "empirical":
                status = "within" if good else "exceeds"
            else:
                p = binomial_lower_tail(errors, support, share)
                status = "certified" if good else "not certified"
                if not good and rule.correction == "fixed_sequence":
                    status, stopped = "stopped", True
            out.append(TraceRow(j, tau, support, errors, fit_n, p, status, selected=bool(j == chosen)))
        return out

    @functools.cached_property
    def _observed(self) -> tuple[Integers, Integers]:
        return self.calibration.totals(self.taus)
