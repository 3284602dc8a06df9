"""What policies add to arms: factors, their values, and the names that depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np

Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Settings:
    """The factors that policies add, their values in order, and the names that depend on them."""

    factors: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ((),)
    values: tuple[tuple[str, ...], ...] = ()
    """Per factor its values in order."""
    changed: frozenset[str] = frozenset()
    achieved: tuple[np.ndarray, ...] = ()
    """Of gates by coverage: per part the share of rows that each policy lets through, in their order."""
