"""The engines of the logic study in one table; budgets are counts, so verdicts are the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from prereg.errors import InputError, suggestion
from prereg.studies.logic import classical, frames, intuitionistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prereg.studies.logic.formulas import Entailment
    from prereg.studies.logic.search import Certificate, Claim, Search

Logic: TypeAlias = Literal["classical", "intuitionistic"]
Budgets: TypeAlias = "Mapping[str, int]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an engine makes of a problem.

    `claim` and `certificate` are both there or both None; `reason` names the budget or limit behind an
    abstention; `counts` what was spent. All of it is plain JSON and the same on every machine.
    """

    claim: Claim | None
    certificate: Certificate | None
    reason: str | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine; `budgets` gives each budget's default, `version` grows when its outcomes may change."""

    name: str
    version: int
    logic: Logic
    summary: str
    budgets: Mapping[str, int]
    search: Callable[[Entailment, Budgets], Search]

    def run(self, problem: Entailment, budgets: Budgets | None = None) -> Outcome:
        """Run on a problem; budgets not given are at their default. Raises InputError as `settled` does."""
        found = self.search(problem, self.settled(budgets or {}))
        return Outcome(found.claim, found.certificate, found.reason, found.counts)

    def settled(self, budgets: Budgets) -> dict[str, int]:
        """Return all budgets, defaults filled in. Raises InputError for an unknown one or one below zero."""
        wrong = []
        for name, value in budgets.items():
            if name not in self.budgets:
                wrong.append(f"engine `{self.name}` has no budget `{name}`{suggestion(name, self.budgets)}")
            elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
                wrong.append(
                    f"budget `{name}` of engine `{self.name}` must be a whole number from 0, not {value!r}"
                )
        if wrong:
            raise InputError(*wrong)
        return {**self.budgets, **budgets}


def _frames(problem: Entailment, budgets: Budgets) -> Search:
    gates = {worlds: budgets[f"max_atoms_{worlds}"] for worlds in range(1, 5)}
    return frames.decide(problem, max_atoms=gates, max_valuations=budgets["max_valuations"])


ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "classical",
            1,
            "classical",
            "truth table, if the letters and the obligation written out stay within bounds",
            {"max_atoms": 16, "max_certificate_bytes": 65_536},
            lambda problem, budgets: classical.by_table(problem, **budgets),
        ),
        Engine(
            "classical_sat",
            1,
            "classical",
            "clauses, clause learning and counting",
            {"max_conflicts": 50_000},
            lambda problem, budgets: classical.by_sat(problem, **budgets),
        ),
        Engine(
            "intuitionistic",
            1,
            "intuitionistic",
            "clause learning over implications, with countermodels and traces",
            {"max_sat_calls": 20_000, "max_conflicts": 50_000},
            lambda problem, budgets: intuitionistic.decide(problem, **budgets),
        ),
        Engine(
            "frames",
            1,
            "intuitionistic",
            "all rooted orders of at most four worlds, within gates on the letters; refutes only",
            {
                "max_atoms_1": 20,
                "max_atoms_2": 10,
                "max_atoms_3": 6,
                "max_atoms_4": 5,
                "max_valuations": 4_000_000,
            },
            _frames,
        ),
    )
}
