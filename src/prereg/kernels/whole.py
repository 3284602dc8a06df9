"""Sums of whole numbers that come out the same whatever the block size, the number of threads or the CPU.

A matrix product rounds differently on different machines. It does not round at all when every operand and
every partial sum is a whole number that the type holds, so the bound is checked before each product: float32
below 2**24, float64 below 2**53, and above that limbs of 26 bits, each summed exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LIMB_BITS = 26
_LIMB = 1 << LIMB_BITS
_HARMONIC_BITS = 57


class Whole:
    """A (U, Q) matrix of whole numbers, ready to be summed with weights."""

    __slots__ = ("_divided", "_factor", "_largest", "_long", "_short")

    def __init__(self, matrix: npt.NDArray[np.generic]) -> None:
        """Take whole numbers of any dtype below 2**62 in magnitude."""
        integers: Integers = np.ascontiguousarray(matrix).astype(np.int64)
        self._largest = int(np.abs(integers).max(initial=0))
        self._factor = _common_factor(integers, self._largest)
        if self._factor != 1:
            integers //= self._factor
        # As narrow as the numbers allow; the floating operands are made when a product first needs them.
        narrow = np.min_scalar_type(-(self._largest // self._factor) - 1)
        self._divided: npt.NDArray[np.signedinteger[Any]] = integers.astype(narrow)
        self._long: Floats | None = None
        self._short: npt.NDArray[np.float32] | None = None

    def sums(self, weights: Floats) -> Floats:
        """(R, U) whole weights -> (R, Q): `product` in float64."""
        return self.product(weights).astype(np.float64, copy=False)

    def product(
        self, weights: Floats | npt.NDArray[np.float32], drawn: int | None = None
    ) -> Floats | npt.NDArray[np.float32]:
        """(R, U) whole weights -> (R, Q): the exact sum where a double holds it, else its rounding.

        float32 where that is exact and needs no further factor. `drawn` bounds the units drawn in one
        resample, for callers who know it.

        Raises OverflowError when the weights of one resample sum to 2**27 or more and limbs are needed.
        """
        if drawn is None:
            drawn = largest_total(weights)
        bound = self._largest * drawn
        if bound < 2**53:
            if bound // self._factor >= 2**24:
                if self._long is None:
                    self._long = self._divided.astype(np.float64)
                product: Floats = weights @ self._long
            else:
                if self._short is None:
                    self._short = self._divided.astype(np.float32)
                short: npt.NDArray[np.float32] = weights.astype(np.float32, copy=False) @ self._short
                if self._factor == 1:
                    return short
                product = short.astype(np.float64)
            if self._factor != 1:
                product *= self._factor
            return product
        if drawn >= 2**53 // _LIMB:
            raise OverflowError(f"{drawn} drawn units are more than exact sums can hold")
        limbs = []
        rest = self._divided.astype(np.int64) * self._factor
        while np.abs(rest).max() >= _LIMB:
            limbs.append((rest & (_LIMB - 1)).astype(np.float64))
            rest = rest >> LIMB_BITS
        total: Floats = np.asarray(weights @ rest.astype(np.float64), dtype=np.float64)
        for limb in reversed(limbs):
            # Shifting is exact and so is each limb's sum. Where the true sum is below 2**53 the additions are
            # exact too: both ways of this function then agree, and blocks may choose differently.
            total = total * float(_LIMB) + np.asarray(weights @ limb, dtype=np.float64)
        return total


def _common_factor(integers: Integers, largest: int) -> int:
    """Return what divides all entries: 10**6, say, when scores were written with three decimals.

    It would only make the operands long. Entries are mostly coprime or zero, so a few decide.
    """
    if largest <= 1:
        return 1
    flat = integers.ravel()
    for part in (flat[:: max(1, flat.size // 256)], flat):
        factor = int(np.gcd.reduce(part))
        if factor == 1:
            break
    return max(1, factor)


def largest_total(weights: Floats | npt.NDArray[np.float32]) -> int:
    """Return the largest number of units drawn in one resample."""
    return int(weights.sum(axis=1, dtype=np.float64).max(initial=0.0))


def narrow(weights: Floats, drawn: int) -> Floats | npt.NDArray[np.float32]:
    """Return the weights in the type of most products, converted once for many of them."""
    return weights.astype(np.float32) if drawn < 2**24 else weights


def harmonic(length: int) -> Integers:
    """Return the harmonic numbers H_0 .. H_length in units of 2**-57.

    Integers, because differences are what is needed and a difference of integers is exact on every machine;
    each term is off by at most 2**-58.
    """
    terms = np.arange(1, length + 1, dtype=np.int64)
    table = np.zeros(length + 1, dtype=np.int64)
    np.cumsum(((1 << _HARMONIC_BITS) + terms // 2) // terms, out=table[1:])
    return table


def harmonic_between(table: Integers, low: Integers, high: Integers) -> Floats:
    """Return H_high - H_low from a table of `harmonic`."""
    difference: Floats = (table[high] - table[low]).astype(np.float64)
    difference *= 2.0**-_HARMONIC_BITS
    return difference


def by_count(counts: Floats, function: Callable[[int], float]) -> Floats:
    """Apply a function of exact integers to an array of whole numbers, once per distinct one."""
    distinct, positions = np.unique(counts, return_inverse=True)
    table = np.array([function(int(n)) for n in distinct], dtype=np.float64)
    return table[positions.reshape(counts.shape)]


def as_fraction(number: object) -> Fraction:
    """Return the decimal that was written: 0.9 is nine tenths, not the double beside it."""
    return Fraction(str(number))
