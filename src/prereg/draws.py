"""Which units a resample draws: counter-based random words, so resample b is the same whoever asks.

Each resample owns a range of counters of one keyed stream. More resamples extend fewer, and blocks, workers
and their order leave no trace.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass
from prereg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]

_WORDS_PER_COUNTER = 4  # Philox4x64 turns one counter into four words
_BLOCK = 1 << 15  # counts made together: the temporaries stay in the cache
_LARGEST = 1 << 32  # members of a stratum: an index is made of the upper half of a word


@dataclass(frozen=True)
class Stream:
    """Random words of one purpose, dataset and part under one seed (Philox4x64-10, Salmon et al. 2011).

    The key is the seed and the first eight bytes, little endian, of the SHA-256 of purpose, dataset and part
    (those that apply) joined by NUL. The seed must lie in [0, 2**64).
    """

    seed: int
    purpose: str
    dataset: str | None = None
    part: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise InputError(f"the seed must be a whole number from 0 to 2^64 - 1, not {self.seed}")

    @property
    def key(self) -> tuple[int, int]:
        """The two words of the Philox key."""
        names = [name for name in (self.purpose, self.dataset, self.part) if name is not None]
        digest = hashlib.sha256("\0".join(names).encode()).digest()
        return self.seed, int.from_bytes(digest[:8], "little")

    def words(self, first: int, count: int, n: int) -> Words:
        """Raw words (count, n) of the resamples first .. first + count - 1.

        Resample b owns the counters [b * ceil(n / 4), (b + 1) * ceil(n / 4)), so the words depend on n as
        well.
        """
        counters = -(-n // _WORDS_PER_COUNTER)
        generator = np.random.Philox(key=np.array(self.key, dtype=np.uint64), counter=first * counters)
        words = generator.random_raw(count * counters * _WORDS_PER_COUNTER)
        return words.reshape(count, counters * _WORDS_PER_COUNTER)[:, :n]

    def first_words(self) -> list[str]:
        """Return the first four words, in sixteen hexadecimal digits each: the identity of the stream."""
        return [f"{word:016x}" for word in self.words(0, 1, _WORDS_PER_COUNTER)[0].tolist()]


def counts(stream: Stream, strata_codes: Integers, first_resample: int, count: int) -> Floats:
    """How often each unit is drawn: whole numbers (count, U), a row per resample from `first_resample` on.

    `strata_codes` (U,) holds equal numbers side by side for units of one stratum. A stratum of m units is
    drawn m times with replacement: the words of its places give the indices ((word >> 32) * m) >> 32 within
    it. A share of an index differs from 1/m by less than 2**-32.
    """
    start, size = _strata(strata_codes)
    n = len(start)
    result = np.empty((count, n))
    rows = max(1, _BLOCK // max(1, n))
    for first in range(0, count, rows):
        block = result[first : first + rows]
        index = stream.words(first_resample + first, len(block), n) >> np.uint64(32)
        index *= size
        index >>= np.uint64(32)
        drawn = index.view(np.int64)  # below 2**32: the sign bit is free
        drawn += start + n * np.arange(len(block))[:, None]
        block[...] = np.bincount(drawn.reshape(-1), minlength=block.size).reshape(block.shape)
    return result


@dataclass(frozen=True, eq=False)
class Plan:
    """How the units of one dataset and part are resampled, in the order in which the caller keeps them.

    `strata_codes` runs along what is drawn, clusters or units, sorted by stratum and then id in code-point
    order. `drawn_of_unit` gives the place of each unit in that list; None when the units are the list.
    """

    stream: Stream
    strata_codes: Integers
    drawn_of_unit: Integers | None = None

    @classmethod
    def of(
        cls,
        stream: Stream,
        units: Sequence[str],
        strata: Sequence[str] | None = None,
        clusters: Sequence[str] | None = None,
    ) -> Plan:
        """Plan for units in any order; `strata` and `clusters` run along them or are None.

        With clusters, whole clusters are drawn and their units travel together. A unit's counts depend on the
        ids alone, not on the order of the units. Errors: a cluster in two strata, a unit named twice.
        """
        members = units if clusters is None else clusters
        if len(members) != len(units):
            raise ValueError(f"{len(units)} units cannot have {len(members)} clusters")
        if clusters is None and len(set(units)) < len(units):
            raise InputError("a unit is named twice among those to be resampled")
        stratum_of = dict.fromkeys(members, "")
        if strata is not None:
            stratum_of = dict(zip(members, strata, strict=True))
            for member, stratum in zip(members, strata, strict=True):
                if stratum_of[member] != stratum:
                    raise InputError(
                        f"cluster `{member}` lies in two strata, `{stratum}` and `{stratum_of[member]}`"
                    )
        ordered = sorted(stratum_of, key=lambda member: (stratum_of[member], member))
        names = {name: code for code, name in enumerate(sorted(set(stratum_of.values())))}
        codes = np.array([names[stratum_of[member]] for member in ordered], dtype=np.int64)
        place = {member: i for i, member in enumerate(ordered)}
        drawn = np.array([place[member] for member in members], dtype=np.int64)
        in_order = clusters is None and bool((drawn == np.arange(len(drawn))).all())
        return cls(stream, codes, None if in_order else drawn)

    @property
    def units(self) -> int:
        """Number of units, the columns of the counts."""
        return len(self.strata_codes if self.drawn_of_unit is None else self.drawn_of_unit)

    @property
    def sizes(self) -> Integers:
        """Members drawn per stratum; a stratum of one never varies."""
        return np.unique(self.strata_codes, return_counts=True)[1].astype(np.int64)

    def counts(self, first_resample: int, count: int) -> Floats:
        """Return the counts (count, U) of the resamples from `first_resample` on; see `counts`."""
        drawn = counts(self.stream, self.strata_codes, first_resample, count)
        return drawn if self.drawn_of_unit is None else np.ascontiguousarray(drawn[:, self.drawn_of_unit])

    def rows(self, first: int, count: int) -> Floats:
        """Return counts (count, U) where row 0 is the observed sample, all ones, and row b + 1 resample b."""
        if first > 0 or count == 0:
            return self.counts(first - 1, count) if count else np.empty((0, self.units))
        return np.vstack([np.ones((1, self.units)), self.counts(0, count - 1)])


def _strata(codes: Integers) -> tuple[Integers, Words]:
    """Start and size of the stratum of each place."""
    n = len(codes)
    new = np.ones(n, dtype=np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    if len(set(codes[starts].tolist())) < len(starts):
        raise ValueError("the units of a stratum must stand side by side")
    sizes = np.diff(starts, append=n)
    if n and int(sizes.max()) >= _LARGEST:
        raise ValueError("a stratum holds more than 2**32 units")
    return np.repeat(starts, sizes).astype(np.int64), np.repeat(sizes, sizes).astype(np.uint64)
