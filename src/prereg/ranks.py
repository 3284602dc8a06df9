"""Rank and moment correlations of many rows at once, by whole-number sums: no layout or block size shows.

A row is a resample, a column a policy. Every value is read at 12 decimals, which removes the last-bit noise
of different ways to compute one number: what prints as a tie is a tie. Sums are sums of whole numbers, hence
exact and free of order; only the last division and square root round.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from prereg.decimals import as_whole, divided

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]

_SCALE = 1e12
# From here on a double's own spacing (4.5e-13) is that of the twelfth decimal, and x * 1e12 nears 2**51:
# larger values stand for themselves. It is a whole number, so no smaller value rounds to something beyond it.
_LARGE = 2048.0
# Adding 1.5 * 2**52 leaves the nearest whole number (ties to even) in the low bits of the double: rint and
# the cast to int64 in one pass, for magnitudes below 2**51.
_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = np.int64(np.float64(_MAGIC).view(np.int64))
_BLOCK = 1 << 14  # elements ranked together: a few temporaries of this size stay in the second-level cache
_LIMB = 17  # bits: three limbs hold 51 bits, and 2**18 products of two limbs sum exactly in a double
_KEPT = 4  # masks remembered by one Ranked


def rank_keys(x: Floats) -> Integers:
    """Return whole numbers that order and tie like `x` at 12 decimals.

    Shape as `x`, no NaN. Below 2048 in magnitude the key is round(1e12 * x), ties to even; if any value is
    larger (or infinite), the keys are the order-preserving bit patterns of the rounded doubles, larger values
    standing for themselves. Only order and equality within one call carry meaning.
    """
    if _peak(x) < _LARGE:
        return _scaled(x)
    # + 0.0 turns -0.0 into 0.0. Of a negative double the bits rise with the magnitude: flip all but the sign.
    bits = np.ascontiguousarray(_at_twelve_decimals(x) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def doubled_centred_ranks(x: Floats, mask: Booleans) -> tuple[Floats, Integers]:
    """Average ranks of each row among its mask, doubled and centred: 2 * rank - (n + 1), a whole number.

    `x` and `mask` have shape (R, P); values outside the mask are not looked at (they may be NaN). Returns the
    ranks (R, P), 0 outside the mask, and n (R,), the size of the mask. Ties share the mean of their ranks
    (Kendall & Gibbons, Rank Correlation Methods, ch. 3); each row sums to 0.
    """
    _require_matrix(x, mask)
    n = np.count_nonzero(mask, axis=1).astype(np.int64)
    if x.shape[1] == 0:
        return np.zeros(x.shape), n
    ranks = np.empty(x.shape)
    rows = max(1, _BLOCK // x.shape[1])
    for first in range(0, x.shape[0], rows):
        block = slice(first, first + rows)
        _rank_block(x[block], mask[block], n[block], ranks[block])
    return ranks, n


class Ranked:
    """Matrix (R, P) with its ranks under the masks it was last ranked with.

    Pass one object to several correlations and it is ranked once for each distinct set of usable pairs. The
    values must not be changed afterwards. NaN is undefined.
    """

    def __init__(self, values: Floats) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.ndim != 2:
            raise ValueError(f"a matrix (resamples, policies) is needed, not {self.values.ndim} dimensions")
        self.defined: Booleans = ~np.isnan(self.values)
        self._known: dict[bytes, tuple[Floats, Integers, Floats]] = {}

    def under(self, mask: Booleans) -> tuple[Floats, Integers, Floats]:
        """Doubled centred ranks (R, P) among `mask`, its sizes n (R,), and the sums of squares (R,)."""
        key = np.packbits(mask).tobytes()
        known = self._known.pop(key, None)
        if known is None:
            ranks, n = doubled_centred_ranks(self.values, mask)
            known = (ranks, n, _dot(ranks, ranks))
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
        self._known[key] = known  # last in, last out
        return known


def spearman(x: Floats | Ranked, y: Floats | Ranked) -> Floats:
    """Spearman's rho of each row: Pearson's correlation of average ranks (Kendall & Gibbons, ch. 3).

    `x` and `y` have shape (R, P); result (R,), in [-1, 1]. Pairs with an undefined (NaN) side are dropped row
    by row before ranking. NaN where fewer than three pairs are left or one side is constant. A monotone row
    gives exactly 1 or -1. Infinite values are ranked as the largest and smallest.
    """
    x, y, mask = _paired(x, y)
    x_ranks, n, sxx = x.under(mask)
    y_ranks, _, syy = y.under(mask)
    return _correlation(_dot(x_ranks, y_ranks), sxx, syy, n)


def kendall(x: Floats | Ranked, y: Floats | Ranked) -> Floats:
    """Kendall's tau-b of each row (Kendall 1945), counted in O(P log P) after Knight (1966).

    Shapes, dropped pairs and undefined rows as in `spearman`.
    """
    x, y, mask = _paired(x, y)
    x_ranks, n, _ = x.under(mask)
    y_ranks, _, _ = y.under(mask)
    result = np.empty(len(n))
    rows = max(1, 4 * _BLOCK // max(1, mask.shape[1]))
    for first in range(0, len(n), rows):
        block = slice(first, first + rows)
        result[block] = _kendall_block(x_ranks[block], y_ranks[block], mask[block], n[block])
    return result


def pearson(x: Floats | Ranked, y: Floats | Ranked) -> Floats:
    """Pearson's product-moment correlation of each row, values read at 12 decimals.

    Shapes, dropped pairs and undefined rows as in `spearman`; also NaN where a pair holds an infinite value.
    The moments are exact whole numbers; a line gives exactly 1 or -1.
    """
    x, y, mask = _paired(x, y)
    return np.array([_signed_root(xy, xx * yy) for xy, xx, yy in _moments(x.values, y.values, mask)])


def slope(y: Floats | Ranked, x: Floats | Ranked) -> Floats:
    """Least-squares slope of the first argument on the second: units of `y` for one unit of `x`.

    Shapes, dropped pairs and undefined rows as in `pearson`; a constant `y` is undefined as well, since it
    says nothing about a trend.
    """
    y, x, mask = _paired(y, x)
    moments = _moments(x.values, y.values, mask)
    return np.array([divided(xy, xx) if yy else math.nan for xy, xx, yy in moments])


def deviation(x: Floats) -> Floats:
    """Return the standard deviation of each row (R, P), with n - 1; NaN below two values or beyond a double.

    Values as in `pearson`; the squares are exact, so that equal values have none.
    """
    x = np.asarray(x, dtype=np.float64)
    mask = ~np.isnan(x)
    pairs = np.count_nonzero(mask, axis=1)
    usable = (pairs > 1) & ~np.isinf(x).any(axis=1)
    result = np.full(len(x), np.nan)
    squares = [xx for xx, *_ in _moments(x, x, mask, 2)]
    for row in np.flatnonzero(usable).tolist():
        n = int(pairs[row])
        root = _root(squares[row], n * (n - 1) * 10**24)
        result[row] = root if root < math.inf else math.nan
    return result


def _require_matrix(x: Floats, mask: Booleans) -> None:
    if x.ndim != 2 or x.shape != mask.shape:
        raise ValueError(f"two matrices of one shape are needed, not {x.shape} and {mask.shape}")


def _paired(x: Floats | Ranked, y: Floats | Ranked) -> tuple[Ranked, Ranked, Booleans]:
    x = x if isinstance(x, Ranked) else Ranked(x)
    y = y if isinstance(y, Ranked) else Ranked(y)
    _require_matrix(x.values, y.defined)
    return x, y, x.defined & y.defined


def _peak(x: Floats) -> float:
    return max(float(x.max()), -float(x.min())) if x.size else 0.0


def _scaled(x: Floats) -> Integers:
    scaled = np.multiply(x, _SCALE, order="C")
    scaled += _MAGIC
    keys = scaled.view(np.int64)
    keys -= _MAGIC_BITS
    return keys


def _at_twelve_decimals(x: Floats) -> Floats:
    large = np.abs(x) >= _LARGE
    return np.where(large, x, _scaled(np.where(large, 0.0, x)) / _SCALE)


def _rank_block(x: Floats, mask: Booleans, n: Integers, out: Floats) -> None:
    rows, columns = x.shape
    full = bool((n == columns).all())
    if not full:
        x = np.where(mask, x, 0.0)
    bits = (columns - 1).bit_length()
    if _peak(x) < min(_LARGE, 2.0 ** (61 - bits) / _SCALE):
        # Key and column share one integer: a plain sort is faster than argsort, and the column rides along.
        keys = _scaled(x)
        keys <<= bits
        if not full:
            np.copyto(keys, 2**62, where=~mask)
        keys |= np.arange(columns)
        keys.sort(axis=1)
        columns_in_order = keys & ((1 << bits) - 1)
        keys >>= bits
    else:
        # Ranks with gaps at ties instead of keys make room for a sentinel above all.
        keys = rank_keys(x)
        distinct, dense = np.unique(keys, return_inverse=True)
        dense = dense.reshape(x.shape)
        dense[~mask] = len(distinct)
        columns_in_order = np.argsort(dense, axis=1, kind="stable")
        keys = np.take_along_axis(dense, columns_in_order, axis=1)
    new = _run_starts(keys)
    # A run of equal values from position s to e (exclusive, from 0) holds the ranks s + 1 .. e: twice their
    # mean, less n + 1, is s + e - n.
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=keys.size)
    row_starts = np.arange(0, rows * columns, columns)
    value = 2 * starts + lengths - np.repeat(2 * row_starts + n, np.count_nonzero(new, axis=1))
    if len(starts) < keys.size:
        value = np.repeat(value, lengths)
    columns_in_order += row_starts[:, None]
    flat = np.empty(rows * columns)
    flat[columns_in_order.reshape(-1)] = value
    ranks = flat.reshape(rows, columns)
    if not full:
        np.copyto(ranks, 0.0, where=~mask)
    out[...] = ranks


def _run_starts(ordered: Integers) -> Booleans:
    """Where a run of equal values begins; a row begins one."""
    new = np.ones(ordered.shape, dtype=np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    return new


def _dot(a: Floats, b: Floats) -> Floats:
    # Doubled centred ranks of P columns have a sum of products below P**3 / 3, exact in a double for P <
    # 2**18.
    if a.shape[1] < 2**18:
        return np.asarray(np.einsum("rp,rp->r", a, b), dtype=np.float64)
    if a.shape[1] > 3_000_000:
        raise ValueError("more than three million columns cannot be correlated exactly")
    exact = np.einsum("rp,rp->r", a.astype(np.int64), b.astype(np.int64))
    return np.asarray(exact, dtype=np.float64)


def _correlation(sxy: Floats, sxx: Floats, syy: Floats, n: Integers) -> Floats:
    # IEEE: sqrt(s * s) == s, so equal sides give exactly 1; and rounding is monotone, so no result exceeds 1.
    result = np.full(len(n), np.nan)
    defined = (n >= 3) & (sxx > 0) & (syy > 0)
    np.divide(sxy, np.sqrt(sxx * syy), out=result, where=defined)
    return result


def _kendall_block(x_ranks: Floats, y_ranks: Floats, mask: Booleans, n: Integers) -> Floats:
    columns = mask.shape[1]
    bits = (2 * columns + 1).bit_length()
    if 3 * bits > 63:
        raise ValueError("more than half a million columns cannot be correlated by kendall")
    last = 2 * columns
    x_code = np.where(mask, x_ranks.astype(np.int64) + columns, last)
    y_code = np.where(mask, y_ranks.astype(np.int64) + columns, last)
    both = (x_code << bits) | y_code
    both.sort(axis=1)  # by x, then y; masked cells last
    position = np.arange(columns)
    y_then_position = ((both & ((1 << bits) - 1)) << bits) | position
    y_then_position.sort(axis=1)
    # Ties in y are broken by position, so that they are no inversion.
    order = np.empty_like(both)
    np.put_along_axis(order, y_then_position & ((1 << bits) - 1), position[None, :], axis=1)
    pairs = n * (n - 1) // 2
    x_tied = _tied_pairs(both >> bits, n)
    y_tied = _tied_pairs(y_then_position >> bits, n)
    both_tied = _tied_pairs(both, n)
    difference = pairs - x_tied - y_tied + both_tied - 2 * _inversions(order)
    return _correlation(
        difference.astype(np.float64),
        (pairs - x_tied).astype(np.float64),
        (pairs - y_tied).astype(np.float64),
        n,
    )


def _tied_pairs(ordered: Integers, n: Integers) -> Integers:
    starts = np.flatnonzero(_run_starts(ordered))
    lengths = np.diff(starts, append=ordered.size)
    row, column = np.divmod(starts, max(1, ordered.shape[1]))
    tied = np.where(column < n[row], lengths * (lengths - 1) // 2, 0)
    return np.bincount(row, weights=tied, minlength=len(n)).astype(np.int64)


def _inversions(order: Integers) -> Integers:
    """Inversions of each row, a permutation of 0 .. P-1.

    From the highest bit down: among values that agree above the bit, every one with the bit set that stands
    before one without it is an inversion; then the two are parted, their order kept. Padded to a power of
    two, all groups of a level have one size.
    """
    rows, columns = order.shape
    levels = max(0, columns - 1).bit_length()
    padded = np.empty((rows, 1 << levels), dtype=np.int64)
    padded[:, :columns] = order
    padded[:, columns:] = np.arange(columns, 1 << levels)
    count = np.zeros(rows, dtype=np.int64)
    for level in reversed(range(levels)):
        groups = padded.reshape(rows, -1, 2 << level)
        upper = (groups >> level) & 1 == 1
        before = np.cumsum(upper, axis=2)
        before[upper] = 0
        count += before.sum(axis=(1, 2))
        halves = (groups[~upper], groups[upper])
        padded = np.stack([half.reshape(rows, -1, 1 << level) for half in halves], axis=2).reshape(rows, -1)
    return count


def _moments(x: Floats, y: Floats, mask: Booleans, least: int = 3) -> list[tuple[int, int, int]]:
    """Per row n * sum(xy) - sum(x) * sum(y), and the same of xx and yy, in whole numbers of 1e-24.

    (0, 0, 0) for a row without a result: fewer than `least` pairs, or an infinite value.
    """
    n = np.count_nonzero(mask, axis=1)
    usable = (n >= least) & ~(mask & (np.isinf(x) | np.isinf(y))).any(axis=1)
    kept = mask & usable[:, None]
    x, y = np.where(kept, x, 0.0), np.where(kept, y, 0.0)
    narrow = max(_peak(x), _peak(y)) < _LARGE and x.shape[1] < 2**18
    sums = _narrow_sums(x, y) if narrow else _wide_sums(x, y)
    return [
        (m * xy - sx * sy, m * xx - sx * sx, m * yy - sy * sy) if good else (0, 0, 0)
        for m, good, sx, sy, xy, xx, yy in zip(n.tolist(), usable.tolist(), *sums, strict=True)
    ]


def _narrow_sums(x: Floats, y: Floats) -> tuple[list[int], ...]:
    """Row sums of x, y, xy, xx, yy in exact integers, by products of 17-bit limbs."""
    x_limbs, y_limbs = _limbs(x), _limbs(y)

    def total(limbs: list[Floats]) -> list[int]:
        return _combined([(_LIMB * i, limb.sum(axis=1)) for i, limb in enumerate(limbs)])

    def product(a: list[Floats], b: list[Floats]) -> list[int]:
        return _combined(
            [
                (_LIMB * (i + j), np.einsum("rp,rp->r", p, q))
                for i, p in enumerate(a)
                for j, q in enumerate(b)
            ],
        )

    return (
        total(x_limbs),
        total(y_limbs),
        product(x_limbs, y_limbs),
        product(x_limbs, x_limbs),
        product(y_limbs, y_limbs),
    )


def _limbs(x: Floats) -> list[Floats]:
    keys = _scaled(x)
    low = (1 << _LIMB) - 1
    parts = (keys & low, (keys >> _LIMB) & low, keys >> (2 * _LIMB))
    return [part.astype(np.float64) for part in parts]


def _combined(parts: list[tuple[int, Any]]) -> list[int]:
    columns = [(shift, part.tolist()) for shift, part in parts]
    return [sum(int(values[row]) << shift for shift, values in columns) for row in range(len(columns[0][1]))]


def _wide_sums(x: Floats, y: Floats) -> tuple[list[int], ...]:
    """As `_narrow_sums`, for values of any finite size: slower, the same integers where both apply."""
    sums: tuple[list[int], ...] = ([], [], [], [], [])
    for x_row, y_row in zip(x, y, strict=True):
        a, b = _whole(x_row), _whole(y_row)
        sums[0].append(sum(a))
        sums[1].append(sum(b))
        sums[2].append(sum(p * q for p, q in zip(a, b, strict=True)))
        sums[3].append(sum(p * p for p in a))
        sums[4].append(sum(q * q for q in b))
    return sums


def _whole(row: Floats) -> list[int]:
    large = np.abs(row) >= _LARGE
    keys: list[int] = _scaled(np.where(large, 0.0, row)).tolist()
    positions = np.flatnonzero(large)
    for i, whole in zip(positions.tolist(), as_whole(row[positions].tolist()), strict=True):
        keys[i] = whole
    return keys


def _signed_root(numerator: int, denominator: int) -> float:
    if not denominator:
        return math.nan
    root = math.sqrt(numerator * numerator / denominator)
    return -root if numerator < 0 else root


def _root(numerator: int, denominator: int) -> float:
    """The square root of a quotient, also where that is beyond a double; infinite where the root is too."""
    shift = max(0, (numerator.bit_length() - denominator.bit_length() - 1000) // 2 + 1)
    root = math.sqrt(numerator / (denominator << (2 * shift)))
    return math.inf if math.frexp(root)[1] + shift > 1024 else math.ldexp(root, shift)
