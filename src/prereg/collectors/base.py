"""What a collector of a study offers: the makers of records that do not exist before the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One arm to answer one unit; everything a worker needs, and nothing that cannot be sent to it."""

    arm: str
    unit: str
    work: Any

    @property
    def key(self) -> tuple[str, str]:
        """(arm, unit)."""
        return self.arm, self.unit


@dataclass(frozen=True)
class Collected:
    """One answer: the outcome cells of its record, and the certificate it came with, if any."""

    arm: str
    unit: str
    cells: dict[str, str]
    certificate: Any = None

    @property
    def key(self) -> tuple[str, str]:
        """(arm, unit)."""
        return self.arm, self.unit


class Collector(Protocol):
    """The interface of a collector; everything about it is deterministic."""

    version: int
    columns: Mapping[str, str]
    """Columns of the records in order, with their kinds."""

    def problems(self, engines: Mapping[str, Mapping[str, int | str]]) -> list[str]:
        """What is wrong with the engines and budgets of a protocol."""
        ...

    def resolved(self, engines: Mapping[str, Mapping[str, int | str]]) -> list[dict[str, Any]]:
        """Every arm with its engine, the engine's version and all budgets written out."""
        ...

    def sources(self) -> str:
        """Digest of the sources that answer."""
        ...

    def skeleton(
        self,
        files: Sequence[tuple[str, Path]],
        engines: Mapping[str, Mapping[str, int | str]],
        labels: str | None,
    ) -> list[dict[str, str]]:
        """The records with their outcomes left empty."""
        ...

    def tasks(
        self,
        files: Sequence[tuple[str, Path]],
        engines: Mapping[str, Mapping[str, int | str]],
        labels: str | None,
    ) -> list[Task]:
        """What has to be answered, in a fixed order."""
        ...

    def answer(self, task: Task, kept: Any = None) -> Collected:
        """Answer one task; runs in a worker.

        `kept` is a certificate that an earlier run is said to have given. It is checked like any other and
        makes the same answer as then, or it is passed over.
        """
        ...

    def rows(
        self,
        files: Sequence[tuple[str, Path]],
        engines: Mapping[str, Mapping[str, int | str]],
        labels: str | None,
        done: Mapping[tuple[str, str], Collected],
    ) -> list[dict[str, str]]:
        """The complete records, in a fixed order."""
        ...
