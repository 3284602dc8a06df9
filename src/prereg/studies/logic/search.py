"""What a search came to: a claim and what shows it, or the budget that ran out; and what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Certificate: TypeAlias = dict[str, object]
Claim: TypeAlias = Literal["theorem", "non_theorem"]


@dataclass(frozen=True, slots=True)
class Search:
    """A claim with its certificate, or neither and the name of the budget that stopped the search.

    `counts` says what was spent, in whole numbers and never in seconds, so that it is the same everywhere.
    """

    claim: Claim | None
    certificate: Certificate | None
    reason: str | None
    counts: dict[str, int]

    def __post_init__(self) -> None:
        # An empty certificate or count is still one: only None is none.
        assert (self.claim is None) == (self.certificate is None) == (self.reason is not None)
