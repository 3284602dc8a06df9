"""Hostile input costs no more than registered counts: characters, formulas, worlds, steps. Never seconds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bounds", "Budget", "BudgetSpentError", "RefusedError"]


class RefusedError(Exception):
    """The certificate, or the problem, is not what it says it is; the message says why, in one line."""


class BudgetSpentError(Exception):
    """A bound was met before the end: nothing is known about the certificate."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one check may cost; each bound is a whole number and includes its own value.

    problem, certificate: characters of the two texts.
    formulas: different formulas, those of the problem and of the certificate's table together.
    worlds: worlds of a frame.
    truth_table_letters: letters of a problem whose truth table is accepted as a certificate.
    steps: single steps of all loops, about a microsecond each; real certificates take less than a million.
    """

    problem: int = 2_000_000
    certificate: int = 8_000_000
    formulas: int = 500_000
    worlds: int = 4096
    truth_table_letters: int = 16
    steps: int = 20_000_000


class Budget:
    """The steps that are left of one check."""

    __slots__ = ("bounds", "left")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.left = bounds.steps

    def spend(self, steps: int) -> None:
        """Take `steps` from what is left. Raises BudgetSpentError where that is too little."""
        self.left -= steps
        if self.left < 0:
            raise BudgetSpentError(f"more than {self.bounds.steps} steps")
