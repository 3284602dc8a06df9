"""`each` on predictions: one prediction per combination of values, `$name` filled in, all in one family.

`family: $model` gives each model a family of its own.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from prereg.dataclass import dataclass, replace
from prereg.errors import suggestion
from prereg.expression import syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.protocol import Prediction, Protocol
    from prereg.resolve.notes import Notes, Path

_SLOT = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_PIECE = re.compile(r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)""")
NO_FAMILY = "none"
_MOST = 10_000
_CORRECTED = ("interval", "exact")
"""Evidence with a p: verdicts by `point` and `support` have none to correct."""


@dataclass(frozen=True)
class Expanded:
    """One prediction as it is judged, and where it was written."""

    id: str
    spec: Prediction
    path: Path
    whole: bool = True
    """Whether every `$name` stands for something: else it is told once, and nothing compiled."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """An expression with values in place of `$name`, quoted where they are no plain words or numbers."""

    def one(match: re.Match[str]) -> str:
        written = match["text"]
        if written is not None:
            within = {name: _escaped(value, written[0]) for name, value in values.items()}
            return _SLOT.sub(lambda m: within.get(m[1], m[0]), written)
        if match["name"] not in values:
            return match[0]
        value = values[match["name"]]
        plain = syntax.NAME.fullmatch(value) and value not in syntax.RESERVED
        return value if plain or re.fullmatch(r"\d+(\.\d+)?", value) else f'"{_escaped(value, chr(34))}"'

    return _PIECE.sub(one, text)


def _escaped(value: str, quote: str) -> str:
    for plain, escape in (("\\", "\\\\"), (quote, "\\" + quote), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(plain, escape)
    return value


def _slots(*texts: str | None) -> list[str]:
    return [match[1] for text in texts for match in _SLOT.finditer(text or "")]


def expand(protocol: Protocol, factors: Mapping[str, tuple[str, ...]], notes: Notes) -> list[Expanded]:
    """All predictions in the order written, those with `each` once per combination."""
    loose = _loose(protocol, notes)
    out: list[Expanded] = []
    ids: dict[str, tuple[str, ...]] = {}
    for name, spec in protocol.predictions.items():
        path: Path = ("predictions", name)
        if spec.each is None:
            ids[name] = (name,)
            out.append(Expanded(name, _given(spec, ids), path, name not in loose))
            continue
        values = _values(spec, factors, path, notes)
        if math.prod(map(len, values.values())) > _MOST:
            notes.problem((*path, "each"), f"more than {_MOST} combinations of values")
            continue
        found = []
        for combination in itertools.product(*values.values()):
            chosen = dict(zip(values, combination, strict=True))
            whole = f"{name}[{', '.join(combination)}]"
            found.append(whole)
            one = replace(
                spec,
                claim=filled(spec.claim, chosen),
                falsified_if=None if spec.falsified_if is None else filled(spec.falsified_if, chosen),
                family=_family(name, spec, chosen),
                each=None,
            )
            out.append(Expanded(whole, _given(one, ids), path, name not in loose))
        ids[name] = tuple(found)
        if len(set(found)) < len(found):
            notes.problem((*path, "each"), "two combinations of values read the same; rename a value")
    for name, spec in protocol.predictions.items():
        if spec.each is None and spec.family == NO_FAMILY:
            notes.problem(("predictions", name, "family"), "`none` only opts out of the family of `each`")
    return out


def _loose(protocol: Protocol, notes: Notes) -> set[str]:
    """The predictions in which a `$name` stands for nothing."""
    out = set()
    for name, spec in protocol.predictions.items():
        for key in ("claim", "falsified_if", "family"):
            slots = [m["name"] for m in _PIECE.finditer(getattr(spec, key) or "") if m["name"]]
            unknown = [slot for slot in slots if slot not in (spec.each or {})]
            if unknown:
                hint = suggestion(unknown[0], spec.each or {})
                message = f"`each` does not say what `${unknown[0]}` stands for{hint}"
                notes.problem(("predictions", name, key), message)
                out.add(name)
    return out


def _family(name: str, spec: Prediction, chosen: Mapping[str, str]) -> str | None:
    """The family of one combination: as written, with values in place; by default that of the prediction."""
    if spec.family is None:
        return name if spec.evidence.kind in _CORRECTED else None
    if spec.family == NO_FAMILY:
        return None
    return _SLOT.sub(lambda m: chosen.get(m[1], m[0]), spec.family)


def _given(spec: Prediction, ids: Mapping[str, tuple[str, ...]]) -> Prediction:
    """`given` names a prediction with `each` by its own name: all of them must then be held."""
    if not spec.given:
        return spec
    names = tuple(one for name in spec.given for one in ids.get(name, (name,)))
    return spec if names == spec.given else replace(spec, given=names)


def _values(
    spec: Prediction, factors: Mapping[str, tuple[str, ...]], path: Path, notes: Notes
) -> dict[str, tuple[str, ...]]:
    where: Path = (*path, "each")
    out: dict[str, tuple[str, ...]] = {}
    each = spec.each or {}
    for name, listed in each.items():
        known = factors.get(name)
        if listed is None and known is None:
            notes.problem(
                where,
                f"unknown factor `{name}`{suggestion(name, factors)}; list its values, or name a factor",
            )
        elif name not in _slots(spec.claim, spec.falsified_if, spec.family):
            notes.problem(where, f"`${name}` stands nowhere in the claim")
        out[name] = known or () if listed is None else listed
        if len(set(out[name])) < len(out[name]):
            notes.problem(where, f"`{name}`: a value stands twice")
    return out
