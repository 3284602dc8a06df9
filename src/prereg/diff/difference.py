"""What a comparison found, and the exit code it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from prereg.dataclass import dataclass, field
from prereg.errors import MissingError, Place, PreregError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.base import Base
    from prereg.project import Project

Tree = dict[str, Any]
Level = Literal["integrity", "missing", "verdict", "warning", "note"]
CODES: dict[str, int] = {"integrity": 3, "missing": 4, "verdict": 1, "warning": 0, "note": 0}
"""The exit code that a finding of each level asks for; the first one here that was found decides."""
FAIL_ON = ("verdict", "weakened", "surprise", "failed", "falsified")
_LONGEST = 1000


@dataclass(frozen=True)
class Finding:
    """One thing that a reader of a diff has to know."""

    level: Level
    kind: str
    message: str
    id: str | None = None
    registration: str | None = None
    prediction: str | None = None
    place: Place | None = None

    def to_tree(self) -> Tree:
        """As --json gives it."""
        return {
            "level": self.level,
            "kind": self.kind,
            "message": self.message,
            "id": self.id,
            "registration": self.registration,
            "prediction": self.prediction,
            "file": None if self.place is None else self.place.file,
            "line": None if self.place is None else self.place.line,
        }


@dataclass(frozen=True)
class Asked:
    """How the comparison is made."""

    tolerance: float = 0.0
    """Relative; a number within it counts as the same."""
    fail_on: tuple[str, ...] = ("verdict",)
    require_data: bool = False


@dataclass
class Difference:
    """Everything that was found."""

    asked: Asked
    base: Base | None
    findings: list[Finding] = field(default_factory=list)
    ledgers: list[Tree] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """What the worst finding asks for."""
        levels = {f.level for f in self.findings}
        return next((code for level, code in CODES.items() if level in levels), 0)

    def to_tree(self) -> Tree:
        """As --json gives it."""
        base = self.base
        rows = [p for one in self.ledgers for p in one["predictions"]]
        primary = [p for p in rows if counted(p)]
        return {
            "command": "diff",
            "exit_code": self.exit_code,
            "base": None if base is None else {"kind": base.kind, "name": base.name, "commit": base.commit},
            "tolerance": self.asked.tolerance,
            "fail_on": list(self.asked.fail_on),
            "summary": {
                "ledgers": len(self.ledgers),
                "held": sum(p["verdict"] == "held" for p in primary),
                "failed": sum(p["verdict"] == "failed" for p in primary),
                "falsified": sum(p["verdict"] == "falsified" for p in primary),
                "surprises": sum(p["surprise"] for p in primary),
                "changed": sum(p["changed"] for p in rows),
                "fell_short": sum(bool(p["fell_short"]) for p in rows),
                "integrity": sum(f.level == "integrity" for f in self.findings),
                "missing": sum(f.level == "missing" for f in self.findings),
            },
            "findings": [f.to_tree() for f in self.findings],
            "ledgers": self.ledgers,
        }


def counted(entry: Tree) -> bool:
    """Whether an entry of a ledger enters the counts and the exit code: primary, and no guard."""
    return not entry["guard"] and entry.get("tier", "primary") == "primary"


@dataclass(frozen=True)
class Voice:
    """What is found about one id of a project, said into the difference."""

    project: Project
    name: str
    out: Difference

    def say(
        self, level: Level, kind: str, message: str, place: Place | None = None, **more: str | None
    ) -> None:
        """Note one finding."""
        cut = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        self.out.findings.append(Finding(level, kind, cut, self.name, place=place, **more))

    def told(self, kind: str, error: PreregError, level: Level | None = None, where: str = "") -> None:
        """The problems of a refusal as findings."""
        own: Level = "missing" if isinstance(error, MissingError) else "integrity"
        for p in error.problems:
            self.say(level or own, kind, f"{where}{p.message}", p.place)

    def broken(self, kind: str, problems: Iterable[Problem], short: str | None = None) -> None:
        """Problems of what is only ever added to, or bound."""
        for p in problems:
            self.say("integrity", kind, p.message, p.place, registration=short)
