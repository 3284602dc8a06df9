"""The names that an expression over policies may use: metrics, factors, lets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.dataclass import dataclass, field
from prereg.expression import ranges, syntax
from prereg.expression.terms import NUMBER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.values import Axes, Key


@dataclass(frozen=True, eq=False)
class Metric:
    """What expressions must know of a metric: its policies (real and degenerate), kind and range."""

    axes: Axes
    kind: str = NUMBER
    range: ranges.Range = ranges.ANY
    degenerate: Mapping[str, Axes] = field(default_factory=dict)
    excluded: frozenset[Key] = frozenset()
    attribute: bool = False  # an attribute of the policy (tau) takes the factors of what it meets


@dataclass(frozen=True, eq=False)
class Environment:
    """The names an expression over policies may use."""

    metrics: Mapping[str, Metric]
    factors: Mapping[str, tuple[str, ...]]
    arm_factor: str
    guard_arms: frozenset[str] = frozenset()
    lets: Mapping[str, syntax.Node] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    """The texts of the lets, as written."""
    broken: frozenset[str] = frozenset()
    """Names whose own definition has a problem: nothing more is said of them."""

    @property
    def degenerate(self) -> tuple[str, ...]:
        """The degenerate policies that any metric has."""
        return tuple(dict.fromkeys(name for m in self.metrics.values() for name in m.degenerate))
