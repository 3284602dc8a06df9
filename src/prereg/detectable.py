"""What could be found?  The smallest true effect that a comparison would hold with probability 0.8.

By simulation from numbers that are registered: units, resamples, level and evidence. Where the truth lies is
assumed, and so is how far single units differ. Resamples are not drawn one by one: the order statistics and
counts on which a verdict turns have known distributions given the sample.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from prereg import intervals
from prereg.dataclass import dataclass

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WANTED = 0.8
RUNS = 4000
_SEED = 20_240_229
_TRIED = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 0.9, 0.97, 1.0)
_STEPS = 8

Shape = Literal["one", "two", "apart"]
"""One mean against a number; two means over the same units, or over different ones."""

# Up to here the distribution of a resampled mean is tabled; beyond it three moments say enough.
_TABLED = {"one": 2000, "two": 100, "apart": 0}


@dataclass(frozen=True)
class Design:
    """One comparison turned upwards: values in [0, 1], or their difference, above a bar.

    `alpha` is the two-sided error of the leg after the correction for further legs; a family of `members`
    divides it once more. `tested`: an exact test is there where nothing varies.
    """

    shape: Shape
    n: tuple[int, ...]
    bar: Fraction
    strict: bool
    evidence: Literal["interval", "exact", "support", "family"]
    alpha: Fraction = Fraction(1, 20)
    resamples: int = 0
    share: float = 0.0
    members: int = 1
    tested: bool = True

    @property
    def most(self) -> Fraction:
        """The largest possible effect: from the bar to 1."""
        return 1 - self.bar


@functools.lru_cache(maxsize=4096)
def detectable(design: Design) -> tuple[float, float] | str:
    """(smallest effect held with probability 0.8, that probability there), or why there is none.

    Found by trying ever larger effects, then by bisection, all under one seed; rounded up to four decimals.
    """
    if design.most <= 0 or (design.shape == "one" and design.bar < 0):
        return "the bar lies at the end of the range, or outside"
    most = float(design.most)
    low, best = 0.0, 0.0
    for share in _TRIED:
        high = most * share
        found = power(design, high)
        if found >= WANTED:
            break
        # at the very end nothing may vary, which is no evidence: the best place can lie before it
        low, best = high, max(best, found)
    else:
        said = "is never held" if best == 0 else f"is held with probability {best:.2f}"
        return f"too few units or resamples: even near the end of the range it {said}"
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if power(design, middle) >= WANTED:
            high = middle
        else:
            low = middle
    effect = min(most, math.ceil(high * 1e4) / 1e4)
    return effect, round(power(design, effect, seed=_SEED + 1), 3)


def power(design: Design, effect: float, *, runs: int = RUNS, seed: int = _SEED) -> float:
    """Share of simulated runs that are held where the truth lies `effect` above the bar."""
    rng = np.random.default_rng(seed)
    truth = min(1.0, float(design.bar) + effect)
    if design.shape == "one":
        plus = rng.binomial(design.n[0], truth, runs)
        return float(_held(design, plus, np.zeros_like(plus), rng).mean())
    left, right = (1 + truth) / 2, (1 - truth) / 2
    if design.shape == "apart":
        return float(
            _held(
                design, rng.binomial(design.n[0], left, runs), rng.binomial(design.n[1], right, runs), rng
            ).mean()
        )
    chances = [left * (1 - right), right * (1 - left)]
    drawn = rng.multinomial(design.n[0], [*chances, max(0.0, 1 - sum(chances))], runs)
    return float(_held(design, drawn[:, 0], drawn[:, 1], rng).mean())


def _held(design: Design, plus: Integers, minus: Integers, rng: np.random.Generator) -> Bools:
    """Which runs are held; `plus` and `minus` count units for and against (of each side, where apart)."""
    n, bar = design.n, float(design.bar)
    d = plus / n[0] - minus / n[-1]
    point = _above(d, bar, strict=design.strict)
    if design.evidence == "exact":
        return point & _exactly(design, plus, minus, design.alpha / design.members)
    resampled = _Resampled.of(design, plus, minus)
    size = design.resamples
    if design.evidence == "support":
        against = rng.binomial(size, resampled.below(bar, including=design.strict))
        return point & ((size - against) / size >= design.share)
    if design.evidence == "family":
        against = rng.binomial(size, resampled.below(bar, including=True))
        allowed = design.alpha / design.members
        held = 2 * (1 + against) <= float(allowed * (size + 1)) + 1e-9
    else:
        allowed = design.alpha
        held = _above(resampled.low(design.alpha / 2, size, rng), bar, strict=design.strict)
    still = resampled.still
    if still.any():
        exact = _exactly(design, plus, minus, allowed) if design.tested else np.zeros_like(still)
        held = np.where(still, exact, held)
    return point & held


def _above(values: Floats, bar: float, *, strict: bool) -> Bools:
    gap = np.round(values - bar, 12)
    return gap > 0 if strict else gap >= 0


def _exactly(design: Design, plus: Integers, minus: Integers, alpha: Fraction) -> Bools:
    """Clopper and Pearson's lower end above the bar, or the sign test for the left side."""
    if design.shape == "one":
        return plus >= least_successes(design.n[0], design.bar, alpha, design.strict)
    totals, where = np.unique(plus + minus, return_inverse=True)
    least = np.array([least_plus(int(t), alpha) for t in totals])
    return np.asarray(plus >= least[where])


@functools.lru_cache(maxsize=4096)
def least_successes(n: int, bar: Fraction, alpha: Fraction, strict: bool) -> int:
    """Fewest successes of n whose interval lies above the bar; n + 1 where not even all are enough."""
    low, high = -1, n + 1
    while high - low > 1:
        k = (low + high) // 2
        end = np.array([intervals.clopper_pearson(k, n, 1 - alpha)[0]])
        low, high = (low, k) if _above(end, float(bar), strict=strict)[0] else (k, high)
    return high


@functools.lru_cache(maxsize=65536)
def least_plus(total: int, alpha: Fraction) -> int:
    """Fewest units for the left of those that differ, for a two-sided sign test at alpha."""
    low, high = total // 2, total + 1
    while high - low > 1:
        k = (low + high) // 2
        enough = 2 * intervals.binomial_lower_tail(total - k, total, Fraction(1, 2)) <= float(alpha) * (
            1 + 1e-9
        )
        low, high = (low, k) if enough else (k, high)
    return high


@dataclass(frozen=True, eq=False)
class _Resampled:
    """The distribution of a resampled d, per run: tabled on its lattice, or by three moments."""

    still: Bools
    """Every resample gives the same value."""
    mean: Floats
    sd: Floats
    skew: Floats
    step: float
    """Distance of the values d can take; 0 where they lie densely."""
    tabled: tuple[Floats, npt.NDArray[np.intp], int] | None = None
    """Cumulative shares of each distinct run, which of them a run is, and the lowest lattice value."""

    @classmethod
    def of(cls, design: Design, plus: Integers, minus: Integers) -> _Resampled:
        n = design.n
        up, down = plus / n[0], minus / n[-1]
        mean = up - down
        if design.shape == "apart":
            variance = up * (1 - up) / n[0] + down * (1 - down) / n[1]
            third = up * (1 - up) * (1 - 2 * up) / n[0] ** 2 - down * (1 - down) * (1 - 2 * down) / n[1] ** 2
            step = 0.0
        else:
            spread = up + down - mean**2
            variance = spread / n[0]
            third = (mean - 3 * mean * (up + down) + 2 * mean**3) / n[0] ** 2
            step = 1 / n[0]
        still = variance <= 1e-15
        sd = np.sqrt(np.where(still, 1.0, variance))
        tabled = None
        if n[0] <= _TABLED[design.shape]:
            pairs, which = np.unique(np.stack([plus, minus], axis=1), axis=0, return_inverse=True)
            table = _lattice(n[0], pairs[:, 0], pairs[:, 1])
            tabled = np.cumsum(table, axis=1), which.reshape(-1), -n[0] if design.shape == "two" else 0
            if design.shape == "one":
                tabled = tabled[0][:, n[0] :], tabled[1], 0
        return cls(still, mean, sd, third / sd**3, step, tabled)

    def below(self, bar: float, *, including: bool) -> Floats:
        """The chance that a resampled d lies below the bar, or at it where `including`."""
        last = self._last(bar, including=including)
        if self.tabled is not None:
            shares, which, lowest = self.tabled
            place = last - lowest
            if place < 0:
                return np.zeros(len(which))
            known: Floats = np.clip(shares[which, min(place, shares.shape[1] - 1)], 0.0, 1.0)
            return known
        at = (last + 0.5) * self.step if self.step else bar
        z = (at - self.mean) / self.sd
        chance = _normal(z) - np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * self.skew / 6 * (z * z - 1)
        chance = np.where(self.still, (self.mean <= bar) * 1.0, chance)
        clipped: Floats = np.clip(chance, 0.0, 1.0)
        return clipped

    def _last(self, bar: float, *, including: bool) -> int:
        """The last lattice value below the bar (at it, where `including`)."""
        if not self.step:
            return 0
        place = round(bar / self.step, 9)
        return math.floor(place) if including else math.ceil(place) - 1

    def low(self, tail: Fraction, size: int, rng: np.random.Generator) -> Floats:
        """The type-7 quantile at `tail` of `size` resampled d, drawn for every run.

        The order statistics of uniform numbers are beta, and a quantile function takes them to those of d
        (David and Nagaraja 2003, ch. 2): no resample need be drawn.
        """
        place = (size - 1) * tail
        below = math.floor(place)
        runs = len(self.mean)
        first = rng.beta(below + 1, size - below, runs)
        low = self._quantile(first)
        weight = float(place - below)
        if weight == 0 or below + 1 >= size:
            return low
        high = self._quantile(first + (1 - first) * rng.beta(1, size - below - 1, runs))
        between: Floats = low + weight * (high - low)
        return between

    def _quantile(self, share: Floats) -> Floats:
        if self.tabled is not None:
            shares, which, lowest = self.tabled
            out = np.empty(len(share))
            order = np.argsort(which, kind="stable")
            ends = np.searchsorted(which[order], np.arange(len(shares) + 1))
            for i in range(len(shares)):
                mine = order[ends[i] : ends[i + 1]]
                out[mine] = np.searchsorted(shares[i], share[mine]).clip(max=shares.shape[1] - 1)
            tabled: Floats = (out + lowest) * self.step
            return tabled
        inverse = NormalDist().inv_cdf
        z = np.array([inverse(p) for p in np.clip(share, 1e-300, 1 - 1e-16).tolist()])
        d: Floats = self.mean + self.sd * (z + self.skew / 6 * (z * z - 1))
        if self.step:
            return np.asarray(np.round(d / self.step) * self.step)
        return d


def _lattice(n: int, plus: Integers, minus: Integers) -> Floats:
    """(runs, 2n + 1): chances of plus* - minus* = -n .. n, where n units are drawn again."""
    size = 1 << (2 * n + 1).bit_length()
    turn = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    up, down = (plus / n)[:, None], (minus / n)[:, None]
    around: Floats = np.fft.irfft((up * turn + down * turn.conj() + (1 - up - down)) ** n, size, axis=1)
    chances: Floats = np.clip(np.concatenate([around[:, -n:], around[:, : n + 1]], axis=1), 0.0, None)
    return chances


def _normal(z: Floats) -> Floats:
    return np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])
