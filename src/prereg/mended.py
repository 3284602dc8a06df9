"""A malformed protocol with something plain in the place of what is malformed, to see what else is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import ValidationError

from prereg.protocol import Protocol, validated

if TYPE_CHECKING:
    from prereg.document import Document

# What stands in where a value is malformed and nothing else hangs on it, so that the rest can be looked at.
_STAND_INS: dict[tuple[str, ...], object] = {
    ("id",): "x",
    ("title",): "x",
    ("resampling",): {"resamples": 1000, "seed": 0},
    ("resampling", "resamples"): 1000,
    ("resampling", "seed"): 0,
    ("split", "seed"): 0,
}
_LEFT_OUT = {
    *((name,) for name in ("question", "authors", "notes", "outcomes", "variants")),
    *(("resampling", name) for name in ("level", "stratify", "cluster", "parts", "reselect")),
}


def without_malformed(document: Document) -> Protocol | None:
    """The protocol a document would hold if what is malformed in it were not there, or something plain.

    For the problems of everything else to be told together with it. Malformed predictions become bare claims.
    None where more is malformed than that: of what follows from it nothing can be said.
    """
    tree = document.tree
    if not isinstance(tree, dict):
        return None
    try:
        return validated(tree)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    mended: dict[str, Any] = dict(tree)
    for item in found:
        path = tuple(map(str, item["loc"]))
        if path[:1] == ("predictions",):
            done = _bare_claim(mended, path)
        else:
            done = _mended(mended, path, unknown=item["type"] == "extra_forbidden")
        if not done:
            return None
    try:
        return validated(mended)
    except ValidationError:
        return None


def _bare_claim(tree: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Reduce a malformed prediction to its claim, judged at the point; False where the claim is malformed."""
    predictions = tree.get("predictions")
    name, within = (*path[1:3], "", "")[:2]
    spec = predictions.get(name) if isinstance(predictions, dict) else None
    if not isinstance(spec, dict) or within in ("", "claim", "each"):
        return False
    kept = {"each": spec["each"]} if "each" in spec else {}
    bare = {"claim": spec.get("claim"), "evidence": "point", **kept}
    tree["predictions"] = {**tree["predictions"], name: bare}
    return True


def _mended(tree: dict[str, Any], path: tuple[str, ...], *, unknown: bool) -> bool:
    """Put something plain in the place of a malformed value, or leave it out; False where neither is safe."""
    section, rest = path[0] if path else "", path[1:2]
    if not rest or (section,) in _LEFT_OUT:
        if (section,) in _LEFT_OUT:
            tree.pop(section, None)
            if section == "variants":
                _without_agree(tree)
        elif (section,) in _STAND_INS:
            tree[section] = _STAND_INS[section,]
        else:
            return False
        return True
    inside = tree.get(section)
    if not isinstance(inside, dict):
        return False
    kept = {key: value for key, value in inside.items() if key != rest[0]}
    if (section, *rest) in _STAND_INS:
        kept[rest[0]] = _STAND_INS[section, rest[0]]
    elif not (unknown and section in ("resampling", "split")) and (section, *rest) not in _LEFT_OUT:
        return False
    tree[section] = kept
    return True


def _without_agree(tree: dict[str, Any]) -> None:
    """Let no prediction name a variant: which ones there are is not known."""
    predictions = tree.get("predictions")
    if isinstance(predictions, dict):
        tree["predictions"] = {
            name: {k: v for k, v in spec.items() if k != "agree"} if isinstance(spec, dict) else spec
            for name, spec in predictions.items()
        }
