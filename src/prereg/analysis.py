"""A protocol and its records, resolved and prepared: the registered reading, and every variant of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg import judge
from prereg.dataclass import dataclass, field
from prereg.estimate import Estimate, estimate
from prereg.exclude import without_excluded
from prereg.prepare import Prepared
from prereg.questions import questions
from prereg.resolve import resolve
from prereg.variants import variant_of, variant_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prereg.plan import Places, Plan
    from prereg.protocol import Protocol
    from prereg.records import Records


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a protocol comes to on its records, ready to be computed."""

    main: Prepared
    variants: Mapping[str, Prepared]
    made: Mapping[str, bytes] = field(default_factory=dict)
    """Files that came with records made by the run: kept beside the ledger."""
    files: tuple[dict[str, Any], ...] | None = None
    """The manifest as found, where it was not registered."""
    resumed: int = 0
    """Of these records, how many rest on a certificate that an interrupted run left."""

    @property
    def plan(self) -> Plan:
        """The registered reading."""
        return self.main.plan


@dataclass(frozen=True, eq=False)
class Judged:
    """Estimates and verdicts of the registered reading, and the verdicts of every variant."""

    estimate: Estimate
    judgements: tuple[judge.Judgement, ...]
    variants: Mapping[str, tuple[judge.Judgement, ...]]


def analyse(protocol: Protocol, records: Records, places: Places) -> Analysis:
    """Resolve and prepare a protocol and its variants.

    Raises:
        InputError: every problem, at its place.

    """
    main = without_excluded(Prepared.of(resolve(protocol, records, places)), places)
    variants = {}
    for name in protocol.variants:
        read = variant_places(protocol, name, places)
        plan = resolve(variant_of(protocol, name, places), records, read)
        variants[name] = without_excluded(Prepared.of(plan), read)
    return Analysis(main, variants)


def compute(analysis: Analysis, jobs: int = 1, tick: Callable[[int], None] = lambda _: None) -> Judged:
    """Estimate and judge everything."""
    found = estimate(analysis.main, jobs, tick)
    asked = questions(analysis.plan, found)
    others = {
        name: questions(prepared.plan, estimate(prepared, jobs, tick))
        for name, prepared in analysis.variants.items()
    }
    return Judged(
        found,
        judge.judge(asked, variants=others),
        {name: judge.judge(each) for name, each in others.items()},
    )
