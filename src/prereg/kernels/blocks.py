"""Rows of every policy in order of a score, in blocks of ties, laid out to be passed through once.

Step j holds the j-th block of every sequence of rows that has one. Sequences stand in the layout by falling
number of blocks, so that those still active at a step are a leading slice, and work is spent on rows that
exist. Policies with the same rows share a sequence. So do policies whose rows are the first blocks of
another's, as those of a gate on the score itself are: they read what has accumulated when their last block is
through.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.kernels.panel import Bools, Floats

Indices = npt.NDArray[np.intp]

# Elements of one working array: several of them should fit in a core's second-level cache.
_WORKING_SET = 1 << 16
# One more row gathered costs about as much as this many multiply-adds of a matrix product.
_GATHER_COST = 24


@dataclass(frozen=True)
class Group:
    """For some sequences, the rows whose weights are summed at one step."""

    slots: slice | Indices
    """Where these sequences stand in the layout."""
    first: Indices
    """(n,): the unit of each sequence's first row."""
    more: tuple[tuple[Indices, Indices], ...]
    """Further rows: (positions in the group, units), each position at most once per entry."""
    dense: tuple[Indices, Floats] | None
    """Instead of `first` and `more`, where blocks are long: units (V,) and rows of each unit (n, V)."""

    @classmethod
    def single(cls, slots: Indices, units: Indices) -> Group:
        """Build from rows sorted by slot, one of each."""
        return cls(_place(slots), units, (), None)

    @classmethod
    def of(cls, slots: Indices, units: Indices, total_units: int) -> Group:
        """Build from rows sorted by slot."""
        starts = np.flatnonzero(_changes(slots))
        members = slots[starts]
        size = members.size
        if slots.size == size:
            return cls.single(slots, units)
        place = _place(members)
        lengths = np.diff(starts, append=slots.size)
        position = np.repeat(np.arange(size), lengths)
        involved, column = np.unique(units, return_inverse=True)
        if (slots.size - size) * _GATHER_COST > size * min(involved.size, total_units):
            flat = np.bincount(position * involved.size + column, minlength=size * involved.size)
            return cls(place, units[starts], (), (involved, flat.reshape(size, -1).astype(np.float64)))
        rank = np.arange(slots.size) - np.repeat(starts, lengths)
        more = tuple((position[rank == t], units[rank == t]) for t in range(1, int(rank.max()) + 1))
        return cls(place, units[starts], more, None)

    def weights(self, drawn: Floats, out: Floats) -> Floats:
        """(U, r) counts of units -> (n, r) summed weights, in the leading rows of `out`."""
        result = out[: self.first.size]
        if self.dense is not None:
            units, counts = self.dense
            np.matmul(counts, drawn if units.size == drawn.shape[0] else drawn[units], out=result)
            return result
        np.take(drawn, self.first, axis=0, out=result, mode="clip")
        for positions, units in self.more:
            if positions.size == result.shape[0]:
                result += drawn[units]
            else:
                result[positions] += drawn[units]
        return result


@dataclass(frozen=True)
class Step:
    """The j-th block of all sequences that have one."""

    active: int
    every: Group
    marked: Group | None
    """The rows of these blocks that carry the mark (an error, a correct answer, a positive label)."""
    ending: Indices
    """Policies whose last block this is,"""
    ending_at: Indices
    """and where their sequences stand in the layout."""


@dataclass(frozen=True)
class Blocks:
    """The ordered blocks of all policies."""

    policies: int
    owner: Indices
    """(L,): for each sequence of the layout, a policy that has all of its blocks."""
    steps: tuple[Step, ...]
    keys: Floats
    """(L, J): the score of each block; NaN beyond a sequence's last."""

    @classmethod
    def of(
        cls,
        key: Floats,
        among: Bools,
        marked: Bools | None,
        *,
        falling: bool,
        ties: bool = True,
        prefixes: bool = False,
    ) -> Blocks:
        """Order rows (P, U, K) by `key`; NaN keys come last and tie with each other.

        With `ties=False` every row is a block of its own; tied rows keep the order of units, then samples.
        With `prefixes` a policy may end inside the sequence of another, so what it reads must depend on its
        own blocks alone.
        """
        policies, total_units, _ = among.shape
        policy, unit, sample = np.nonzero(among)
        score = key[policy, unit, sample]
        order = np.lexsort((-score if falling else score, policy))
        policy, unit, score = policy[order], unit[order], score[order]
        mark = np.zeros(policy.size, dtype=bool) if marked is None else marked[policy, unit, sample[order]]
        turn = _changes(policy)
        fresh = turn.copy()
        if ties:
            same = (score[1:] == score[:-1]) | (np.isnan(score[1:]) & np.isnan(score[:-1]))
            fresh[1:] |= ~same
        else:
            fresh[:] = True
        running = np.cumsum(fresh) - 1
        block = running - np.maximum.accumulate(np.where(turn, running, 0))
        lengths = np.bincount(policy[fresh], minlength=policies)
        layout = np.argsort(-lengths, kind="stable")
        # Values of a column count as the same only together with their scores where these are read.
        names = [unit * 4 + mark * 2 + fresh]
        if not prefixes:
            names.append(score.view(np.int64))
        host = _hosts(
            np.stack(names, axis=1), np.bincount(policy, minlength=policies), layout, prefixes=prefixes
        )
        owner = layout[host[layout] == layout]
        place = np.empty(policies, dtype=np.intp)
        place[owner] = np.arange(owner.size)
        own = host[policy] == policy
        slot, unit, block, score, mark = (a[own] for a in (place[policy], unit, block, score, mark))
        keys = np.full((owner.size, int(lengths.max(initial=0))), np.nan)
        keys[slot, block] = score
        order = np.lexsort((slot, block))
        slot, unit, block, mark = slot[order], unit[order], block[order], mark[order]
        longest = keys.shape[1]
        ends = _cuts(block, longest)[1:]
        active = (slot[ends - 1] + 1).tolist()
        last = np.argsort(lengths, kind="stable")
        stops = np.searchsorted(lengths[last], np.arange(1, longest + 2)).tolist()
        every = _groups(slot, unit, block, longest, total_units)
        chosen = _groups(slot[mark], unit[mark], block[mark], longest, total_units)
        steps = []
        for j, (rows, marks) in enumerate(zip(every, chosen, strict=True)):
            if rows is None:
                raise AssertionError(f"step {j} has no row")
            ending = last[stops[j] : stops[j + 1]]
            steps.append(Step(active[j], rows, marks, ending, place[host[ending]]))
        return cls(policies, owner, tuple(steps), keys)

    def chunks(self, weights: Floats) -> Iterator[tuple[slice, Floats]]:
        """Cut resamples into chunks that stay in the cache: (which, (U, r) counts)."""
        width = max(32, _WORKING_SET // max(1, self.owner.size))
        for start in range(0, weights.shape[0], width):
            which = slice(start, start + width)
            yield which, np.ascontiguousarray(weights[which].T)


def _place(slots: Indices) -> slice | Indices:
    """Sorted slots, as a slice where they are the leading ones."""
    return slice(0, slots.size) if slots[-1] == slots.size - 1 else slots


def _cuts(block: Indices, steps: int) -> Indices:
    """Where the rows of each step begin, and the last ends."""
    return np.searchsorted(block, np.arange(steps + 1))


def _groups(
    slot: Indices, unit: Indices, block: Indices, steps: int, total_units: int
) -> Iterator[Group | None]:
    """The rows of each step, sorted by step and slot; None where it has none."""
    cuts = _cuts(block, steps)
    # most steps have one row of each sequence: those are known at once
    members = np.append(0, np.cumsum(_changes(slot) | _changes(block)))[cuts]
    for (low, high), size in zip(pairwise(cuts.tolist()), np.diff(members).tolist(), strict=True):
        slots, units = slot[low:high], unit[low:high]
        if size == high - low:
            yield Group.single(slots, units) if size else None
        else:
            yield Group.of(slots, units, total_units)


def _changes(sorted_codes: Indices) -> Bools:
    """Where a run of equal codes begins."""
    result = np.ones(sorted_codes.size, dtype=bool)
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=result[1:])
    return result


def _hosts(names: npt.NDArray[np.int64], sizes: Indices, layout: Indices, *, prefixes: bool) -> Indices:
    """For each policy, the one whose sequence it reads: itself, an equal one, or one that it begins.

    `names` (N, c) says what distinguishes a row, the rows of one policy after another; the lowest bit of the
    first column says that a block begins. Longer sequences come first in `layout`.
    """
    ends = np.cumsum(sizes)
    host = np.arange(sizes.size)
    known: dict[bytes, list[tuple[bytes, int]]] = {}
    width = names.shape[1] * names.itemsize
    for policy in layout.tolist():
        text = names[ends[policy] - sizes[policy] : ends[policy]].tobytes()
        # Few sequences agree in their first rows, so few are compared as a whole; shorter ones cost little.
        family = known.setdefault(text[: 4 * width], [])
        for other, candidate in family:
            if other.startswith(text) and (
                len(other) == len(text) or (prefixes and other[len(text)] & 1 and len(text) >= 4 * width)
            ):
                host[policy] = candidate
                break
        else:
            family.append((text, policy))
    return host
