"""`each` on predictions: one prediction per combination of values, `$name` filled in, all in one family."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.errors import suggestion
from prereg.expression import syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.protocol import Prediction, Protocol
    from prereg.resolve.notes import Notes, Path

_SLOT = re.compile(r"""(["']?)\$([A-Za-z_][A-Za-z0-9_]*)""")
NO_FAMILY = "none"
_CORRECTED = ("interval", "exact")
"""Evidence with a p: verdicts by `point` and `support` have none to correct."""


@dataclass(frozen=True)
class Expanded:
    """One prediction as it is judged, and where it was written."""

    id: str
    spec: Prediction
    path: Path


def filled(text: str, values: Mapping[str, str]) -> str:
    """An expression with values in place of `$name`, quoted where they are no plain words or numbers."""

    def one(match: re.Match[str]) -> str:
        quote, name = match[1], match[2]
        if name not in values:
            return match[0]
        value = values[name]
        if quote:
            return quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote)
        plain = syntax.NAME.match(value) and value not in syntax.RESERVED
        if plain or re.fullmatch(r"\d+(\.\d+)?", value):
            return value
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return _SLOT.sub(one, text)


def expand(protocol: Protocol, factors: Mapping[str, tuple[str, ...]], notes: Notes) -> list[Expanded]:
    """All predictions in the order written, those with `each` once per combination."""
    out: list[Expanded] = []
    ids: dict[str, tuple[str, ...]] = {}
    for name, spec in protocol.predictions.items():
        path: Path = ("predictions", name)
        if spec.each is None:
            ids[name] = (name,)
            out.append(Expanded(name, _given(spec, ids), path))
            continue
        values = _values(spec, factors, path, notes)
        found = []
        for combination in itertools.product(*values.values()):
            chosen = dict(zip(values, combination, strict=True))
            whole = f"{name}[{', '.join(combination)}]"
            found.append(whole)
            family = spec.family
            if family is None and spec.evidence.kind in _CORRECTED:
                family = name.replace("-", "_").replace(".", "_")
            changed = {
                "claim": filled(spec.claim, chosen),
                "falsified_if": None if spec.falsified_if is None else filled(spec.falsified_if, chosen),
                "family": None if family == NO_FAMILY else family,
                "each": None,
            }
            out.append(Expanded(whole, _given(spec.model_copy(update=changed), ids), path))
        ids[name] = tuple(found)
    for name, spec in protocol.predictions.items():
        if spec.each is None and spec.family == NO_FAMILY:
            notes.problem(("predictions", name, "family"), "`none` only opts out of the family of `each`")
    return out


def _given(spec: Prediction, ids: Mapping[str, tuple[str, ...]]) -> Prediction:
    """`given` names a prediction with `each` by its own name: all of them must then be held."""
    if not spec.given:
        return spec
    names = tuple(one for name in spec.given for one in ids.get(name, (name,)))
    return spec if names == spec.given else spec.model_copy(update={"given": names})


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
        elif f"${name}" not in spec.claim + (spec.falsified_if or ""):
            notes.problem(where, f"`${name}` stands nowhere in the claim", key=True)
        out[name] = known or () if listed is None else listed
        if len(set(out[name])) < len(out[name]):
            notes.problem(where, f"`{name}`: a value stands twice")
    return out
