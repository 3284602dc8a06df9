"""One question: whether a certificate shows of a problem, in a logic, what certificates of its kind show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from prereg.checker.bounds import Bounds, Budget, BudgetSpentError, RefusedError
from prereg.checker.certificate import read_certificate
from prereg.checker.models import check_assignment, check_frame, check_truth_table
from prereg.checker.problem import read_problem
from prereg.checker.proofs import check_lemmas, check_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prereg.checker.problem import Problem

__all__ = ["SHOWS", "Logic", "Verdict", "check"]

Logic = Literal["classical", "intuitionistic"]

# Each kind of certificate: the logic it speaks of, and whether it shows that the conjecture follows there.
SHOWS: Final[Mapping[str, tuple[Logic, bool]]] = {
    "assignment": ("classical", False),
    "truth_table": ("classical", True),
    "lemmas": ("classical", True),
    "frame": ("intuitionistic", False),
    "trace": ("intuitionistic", True),
}

_CHECKS: Final[Mapping[str, Callable[[Problem, dict[str, object]], str]]] = {
    "assignment": check_assignment,
    "truth_table": check_truth_table,
    "lemmas": check_lemmas,
    "frame": check_frame,
    "trace": check_trace,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out of a check.

    accepted: the certificate shows what its kind shows (`SHOWS`); if False, nothing is shown.
    reason: one line; why it is refused, or what was accepted.
    kind: the kind of the certificate; None if it has none that is known.
    within: False if a bound was met before the end, so that nothing is known about the certificate.
    """

    accepted: bool
    reason: str
    kind: str | None
    within: bool = True

    @property
    def follows(self) -> bool | None:
        """True or False if the conjecture is shown to follow or not to; None if nothing is shown."""
        return SHOWS[self.kind][1] if self.accepted and self.kind is not None else None


def check(
    problem_text: str, certificate_json: str | bytes, logic: Logic, bounds: Bounds | None = None
) -> Verdict:
    """Check a certificate against the text of a problem (propositional TPTP fof), in one of the two logics.

    Nothing that the two texts hold raises or takes longer than `bounds` allows. The format of certificates is
    docs/certificates.md. Raises ValueError for a logic that is neither `classical` nor `intuitionistic`.
    """
    if logic not in {"classical", "intuitionistic"}:
        raise ValueError(f"unknown logic {logic!r}")
    budget = Budget(bounds or Bounds())
    kind: str | None = None
    try:
        tree = read_certificate(certificate_json, budget)
        kind = _kind(tree)
        _speaks_of(kind, logic)
        problem = _problem(problem_text, budget)
        return Verdict(accepted=True, reason=_CHECKS[kind](problem, tree), kind=kind)
    except RefusedError as error:
        return Verdict(accepted=False, reason=str(error), kind=kind)
    except BudgetSpentError as error:
        return Verdict(accepted=False, reason=f"over the bounds of a check: {error}", kind=kind, within=False)


def _kind(tree: dict[str, object]) -> str:
    kind = tree.get("kind")
    if not isinstance(kind, str) or kind not in SHOWS:
        raise RefusedError("the certificate is of no known kind")
    return kind


def _speaks_of(kind: str, logic: Logic) -> None:
    if SHOWS[kind][0] != logic:
        raise RefusedError(f"`{kind}` shows nothing in {logic} logic")


def _problem(text: str, budget: Budget) -> Problem:
    try:
        return read_problem(text, budget)
    except RefusedError as error:
        raise RefusedError(f"the problem cannot be read: {error}") from error
