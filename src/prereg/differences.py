"""Two plain trees, field by field: what changed, where, from what to what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Change:
    """One field that differs; `before` or `after` is ABSENT where the other tree lacks it."""

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.before)} -> {_shown(self.after)}"


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "(absent)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "…"


def _key(entry: Any) -> str | None:
    if isinstance(entry, dict):
        for name in ("id", "name", "path"):
            if isinstance(entry.get(name), str):
                return str(entry[name])
    return None


def changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Every field that differs. Lists of named entries are matched by name, their order is compared too."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            inner = f"{path}.{name}" if path else str(name)
            yield from changes(before.get(name, ABSENT), after.get(name, ABSENT), inner)
        return
    if isinstance(before, list) and isinstance(after, list):
        old, new = [_key(x) for x in before], [_key(x) for x in after]
        if None not in old and None not in new and len(set(old)) == len(old) and len(set(new)) == len(new):
            mine, yours = dict(zip(old, before, strict=True)), dict(zip(new, after, strict=True))
            for name in dict.fromkeys((*old, *new)):
                yield from changes(mine.get(name, ABSENT), yours.get(name, ABSENT), f"{path}[{name}]")
            if [x for x in old if x in yours] != [x for x in new if x in mine]:
                yield Change(f"{path} (order)", old, new)
            return
        if len(before) == len(after):
            for i, (a, b) in enumerate(zip(before, after, strict=True)):
                yield from changes(a, b, f"{path}[{i}]")
            return
    if (type(before) is not type(after) and not (_number(before) and _number(after))) or before != after:
        yield Change(path, before, after)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
