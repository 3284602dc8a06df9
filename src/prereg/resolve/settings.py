"""What policies add to arms: factors, their values, and the names that depend on them."""

from __future__ import annotations

from dataclasses import dataclass

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Settings:
    """The factors that policies add, their values in order, and the names that depend on them."""

    factors: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ((),)
    values: tuple[tuple[str, ...], ...] = ()
    """Per factor its values in order."""
    changed: frozenset[str] = frozenset()
