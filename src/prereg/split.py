"""Which unit goes to which part: an order by seeded hashes of ids, cut at exact shares."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

from prereg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def seeded_key(seed: int, *names: str) -> bytes:
    """SHA-256 of the seed in decimal and the names in UTF-8, joined by NUL: an order nobody chose."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()


def assign(
    units: Sequence[str],
    strata: Sequence[str] | None,
    parts: Sequence[tuple[str, str]],
    seed: int,
    dataset: str | None,
    groups: Sequence[str] | None,
) -> list[str]:
    """Return the part of each unit of one dataset.

    `strata` and `groups` run along `units`, or are None; with groups, the groups are split and take their
    units along. `parts` are names with shares as decimal text, in the order written. Within a stratum the ids
    are ordered by the seeded key of "split", dataset, stratum and id (those that apply); the one of rank r of
    n goes to the part whose [floor(n * S_before), floor(n * S_after)) holds r, S being the running sum of the
    shares. So nothing depends on the order of `units`, and a unit that occurs twice counts once.

    Errors: shares that are not decimals in (0, 1] or do not sum to 1, a part named twice, an id in two
    strata.
    """
    bounds = _bounds(parts)
    members = units if groups is None else groups
    if len(members) != len(units):
        raise ValueError(f"{len(units)} units cannot have {len(members)} groups")
    places = _strata_of(units, strata, groups)
    by_stratum: defaultdict[str | None, list[str]] = defaultdict(list)
    for member, stratum in places.items():
        by_stratum[stratum].append(member)
    part_of: dict[str, str] = {}
    for stratum, inside in by_stratum.items():
        context = ["split", *(name for name in (dataset, stratum) if name is not None)]
        ordered = sorted(inside, key=lambda member: (seeded_key(seed, *context, member), member))
        n = len(ordered)
        start = 0
        for name, share in bounds:
            stop = math.floor(n * share)
            part_of.update(dict.fromkeys(ordered[start:stop], name))
            start = stop
    return [part_of[member] for member in members]


def _bounds(parts: Sequence[tuple[str, str]]) -> list[tuple[str, Fraction]]:
    total = Fraction(0)
    bounds: list[tuple[str, Fraction]] = []
    for name, text in parts:
        try:
            share = Fraction(Decimal(text))
        except (InvalidOperation, ValueError, OverflowError) as error:
            raise InputError(f"the share of part `{name}` is not a decimal number: {text}") from error
        if not 0 < share <= 1:
            raise InputError(f"the share of part `{name}` is {text}; it must be above 0 and at most 1")
        if any(name == other for other, _ in bounds):
            raise InputError(f"part `{name}` is named twice")
        total += share
        bounds.append((name, total))
    if total != 1:
        raise InputError(f"the shares of the parts sum to {_decimal(total)}, not to 1")
    return bounds


def _decimal(number: Fraction) -> str:
    return f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():f}"


def _strata_of(
    units: Sequence[str],
    strata: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> dict[str, str | None]:
    members = units if groups is None else groups
    kind = "unit" if groups is None else "group"
    if strata is None:
        return dict.fromkeys(members)
    places: dict[str, str | None] = {}
    for member, stratum in zip(members, strata, strict=True):
        known = places.setdefault(member, stratum)
        if known != stratum:
            raise InputError(f"{kind} `{member}` lies in two strata, `{known}` and `{stratum}`")
    return places
