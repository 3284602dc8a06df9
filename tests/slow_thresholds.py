"""Thresholds chosen the slow way: written from the document with fractions and whole numbers, nothing shared.

Rows are (score, label) with scores as decimal text or None. Action 0 is strictly below the threshold.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import pairwise


@functools.cache
def tail(k, n, alpha):
    """P(Bin(n, alpha) <= k) as a fraction; 1 when n = 0."""
    a, whole = alpha.numerator, alpha.denominator
    return Fraction(sum(math.comb(n, i) * a**i * (whole - a) ** (n - i) for i in range(k + 1)), whole**n)


@functools.cache
def floor_of(alpha, delta, least=25):
    """max(least, least n with (1 - alpha)^n <= delta), by counting up."""
    n = 1
    while (1 - alpha) ** n > delta:
        n += 1
    return max(least, n)


def family(fit, most, endpoints):
    """Midpoints of neighbouring distinct scores, at most `most` of them, and the endpoints; rising."""
    distinct = sorted({Fraction(s) for s in fit if s is not None})
    middle = [(a + b) / 2 for a, b in pairwise(distinct)]
    if len(middle) > most:
        last = len(middle) - 1
        places = (
            [math.floor(Fraction(i * last, most - 1) + Fraction(1, 2)) for i in range(most)]
            if most > 1
            else [0]
        )
        middle = [middle[i] for i in places]
    ends = []
    if endpoints and distinct:
        inside = distinct[0] >= 0 and distinct[-1] <= 1
        ends = [Fraction(0), Fraction(1)] if inside else [distinct[0], distinct[-1]]
    return sorted({*middle, *ends})


def omission(rows, tau):
    """N and K of the false omission rate: rows below the threshold, and positives among them."""
    below = [y for s, y in rows if s is not None and Fraction(s) < tau]
    return len(below), sum(below)


def choose(taus, counts, rule, alpha, delta, least=25, start=None, correction="fixed_sequence"):
    """The chosen threshold or None, and per candidate (tested, passed, p)."""
    found, seen = None, []
    stopped = False
    for i, (tau, (n, k)) in enumerate(zip(taus, counts, strict=True)):
        if rule == "empirical":
            tested = n >= least
            passed = tested and k <= alpha * n
            p = None
        else:
            tested = n >= floor_of(alpha, delta, least) if start is None else i >= start
            p = tail(k, n, alpha) if n else Fraction(1)
            passed = tested and p <= (delta / len(taus) if correction == "bonferroni" else delta)
        if rule == "ltt" and correction == "fixed_sequence":
            stopped = stopped or (tested and not passed)
        if passed and not stopped:
            found = tau
        seen.append((tested, passed, p))
    return found, seen


def fixed_start(fit_counts, fit_rows, rows, floor):
    """The first candidate whose fit support, scaled to the calibration part, reaches the floor."""
    for i, (n, _) in enumerate(fit_counts):
        if fit_rows and Fraction(n * rows, fit_rows) >= floor:
            return i
    return len(fit_counts)
