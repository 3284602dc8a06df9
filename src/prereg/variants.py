"""Variants: the protocol with a few things overridden, under which every prediction is judged as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.dataclass import replace
from prereg.errors import InputError, Problem, suggestion

if TYPE_CHECKING:
    from prereg.errors import Place
    from prereg.plan import Places
    from prereg.protocol import Protocol

Path = tuple[str | int, ...]


def variant_of(protocol: Protocol, name: str, places: Places) -> Protocol:
    """The protocol of one variant.

    Raises:
        InputError: where it overrides a metric or a `let` that is not there.

    """
    variant = protocol.variants[name]
    problems = []
    for kind, given, known in (
        ("metrics", variant.metrics, protocol.metrics),
        ("let", variant.let, protocol.let),
    ):
        for key in given:
            if key not in known:
                place = places(("variants", name, kind, key), key=True)
                hint = suggestion(key, known)
                problems.append(
                    Problem(f"a variant overrides what is there; `{kind}` has no `{key}`{hint}", place)
                )
    if variant.samples is not None and protocol.data.sample is None:
        place = places(("variants", name, "samples"))
        problems.append(
            Problem("there is no column of repeated answers; name it with `data: {sample: …}`", place)
        )
    if problems:
        raise InputError(*problems)
    data = protocol.data
    if variant.where is not None:
        data = replace(data, where=variant.where)
    if variant.samples is not None:
        data = replace(data, samples=variant.samples)
    policies = protocol.policies
    if variant.exclude is not None:
        policies = replace(policies, exclude=variant.exclude)
    metrics = {key: variant.metrics.get(key, spec) for key, spec in protocol.metrics.items()}
    lets = {key: variant.let.get(key, text) for key, text in protocol.let.items()}
    changed: dict[str, Any] = {
        "data": data,
        "policies": policies,
        "metrics": metrics,
        "let": lets,
        "variants": {},
        "outcomes": (),
    }
    predictions = {
        key: spec if spec.agree is None else replace(spec, agree=None)
        for key, spec in protocol.predictions.items()
    }
    return replace(protocol, **changed, predictions=predictions)


def variant_places(protocol: Protocol, name: str, places: Places) -> Places:
    """Where the pieces of a variant were written: what it overrides, under its own name."""
    variant = protocol.variants[name]

    def place(path: Path, key: bool = False, offset: int | None = None) -> Place:
        here: Path = ("variants", name)
        if path[:2] == ("data", "where") and variant.where is not None:
            path = (*here, "where", *path[2:])
        elif path[:2] == ("policies", "exclude") and variant.exclude is not None:
            path = (*here, "exclude", *path[2:])
        elif (path[:1] == ("metrics",) and path[1:2] and path[1] in variant.metrics) or (
            path[:1] == ("let",) and path[1:2] and path[1] in variant.let
        ):
            path = (*here, *path)
        return places(path, key=key, offset=offset)

    return place
