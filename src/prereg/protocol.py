"""What a protocol says: strict, frozen sections, read from a plain tree.

The shape is checked here, the meaning (names, types, factors, data) in `resolve`.  Metrics stay mappings of
their kind's parameters, because the kinds are a table of their own.
"""

# Annotations are read at run time; `from __future__ import annotations` would make texts of them.

import functools
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic_core import ValidationError

from prereg.dataclass import dataclass, field
from prereg.errors import InputError, Problem, file_order
from prereg.malformed import EVIDENCE_WORDS, shape_problems, spoken
from prereg.validation import Before, Bounds, Length, Printed, Section, Text, validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import SchemaValidator

    from prereg.document import Document

FORMAT = 1
MOST_RESAMPLES = 1_000_000


def _expression(value: object) -> object:
    # `{rate: true}` and `{value: 0.5}` reach us as a truth value and a number; their text is the expression
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return value


def _list(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str | int | float) else value


def _texts(value: object) -> object:
    value = _list(value)
    return tuple(map(_expression, value)) if isinstance(value, tuple) else value


def _gates(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return () if value is None else (value,)


def _each(value: object) -> object:
    # `each: model` means all values of that factor; `{model: [a, b]}` lists them
    return {value: None} if isinstance(value, str) else value


def _evidence(value: object) -> object:
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, dict) and set(value) == {"support"}:
        return {"kind": "support", **value}
    return value


Expression = Annotated[
    str,
    Before(_expression),
    Printed({"type": ["string", "number", "boolean"], "description": "an expression"}),
]
Texts = Annotated[
    tuple[str, ...],
    Length(1),
    Before(_texts),
    Printed({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
Numbers = Annotated[
    tuple[str, ...],
    Length(1),
    Before(_texts),
    Printed({"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}]}),
]
Thresholds = Annotated[
    tuple[str, ...],
    Length(1),
    Before(_texts),
    Printed({"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}),
]
Slug = Annotated[str, Text(r"^[a-z0-9]+([-_.][a-z0-9]+)*$", 64)]
PredictionId = Annotated[str, Text(r"^[A-Za-z0-9]+([-_.$][A-Za-z0-9]+)*$", 100)]
Word = Annotated[str, Text(r"^[A-Za-z_][A-Za-z0-9_]*$", 64)]
Family = Annotated[str, Text(r"^[A-Za-z_$][A-Za-z0-9_$]*$", 64)]
Seed = Annotated[int, Bounds(ge=0, le=2**53)]
Level = Annotated[float, Bounds(gt=0, lt=1)]
Share = Annotated[float, Bounds(gt=0, le=1)]
ColumnType = Literal["text", "number", "truth"]
Samples = Literal["first", "all", "majority", "mean", "any_true", "all_true"]


@dataclass(frozen=True, kw_only=True)
class Data(Section):
    """Which records are read and what their columns mean."""

    records: Texts | None = None
    collect: str | None = None
    problems: Texts | None = None
    labels: str | None = None
    engines: dict[str, dict[str, int | str]] | None = None
    arm: Texts
    unit: str
    dataset: str | None = None
    sample: str | None = None
    samples: Samples | None = None
    units: Literal["common", "all", "separate"] = "common"
    columns: dict[Word, str] = field(default_factory=dict)
    types: dict[str, ColumnType] = field(default_factory=dict)
    derive: dict[Word, Expression] = field(default_factory=dict)
    where: Expression | None = None
    guards: Texts | None = None
    prospective: bool = False
    arms: Texts | None = None
    least_units: Annotated[int, Bounds(ge=1, le=10_000_000)] | None = None

    def __post_init__(self) -> None:
        self._one_source()
        self._promised()
        self._samples()

    def _one_source(self) -> None:
        if (self.records is None) == (self.collect is None):
            raise ValueError("data have either `records`, or `collect` for records made by the run")
        made = [key for key in ("problems", "labels", "engines") if getattr(self, key) is not None]
        if self.records is not None and made:
            raise ValueError(f"`{made[0]}` belongs to `collect`, for records made by the run")
        if self.collect is not None and (self.problems is None or not self.engines):
            raise ValueError(
                "`collect` needs the `problems` that are frozen and the `engines` that answer them"
            )

    def _promised(self) -> None:
        for key in ("arms", "least_units"):
            if getattr(self, key) is not None and not self.prospective:
                raise ValueError(f"`{key}` is for records that do not exist yet: `prospective: true`")
        if self.prospective and self.collect is not None:
            raise ValueError("records made by the run are prospective by themselves")

    def _samples(self) -> None:
        if self.samples is not None and self.sample is None:
            raise ValueError(
                "`samples` says what becomes of repeated answers; name their column with `sample`"
            )


@dataclass(frozen=True, kw_only=True)
class Split(Section):
    """Which unit belongs to which part: by seeded shares, or as assigned in a column."""

    parts: dict[Word, Share] | None = None
    column: str | None = None
    stratify: Texts | None = None
    group: str | None = None
    seed: Seed | None = None
    default: str | None = None

    def __post_init__(self) -> None:
        if (self.parts is None) == (self.column is None):
            raise ValueError("a split has either `parts` with shares or a `column`")
        if self.column is not None and (self.stratify or self.group or self.seed is not None):
            raise ValueError("`stratify`, `group` and `seed` belong to a split by shares, not to a `column`")
        if self.parts is not None and self.seed is None:
            raise ValueError("a split by shares needs its `seed`")


@dataclass(frozen=True, kw_only=True)
class Gate(Section):
    """Answers below a score are withdrawn; one policy per threshold."""

    score: Expression
    at_least: Thresholds | None = None
    coverage: Thresholds | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.coverage is None):
            raise ValueError("a gate has either `at_least` with thresholds or `coverage` with shares")


@dataclass(frozen=True, kw_only=True)
class Control(Section):
    """The risk that is kept within budget: a rate over the rows of the calibration part."""

    rate: Expression
    among: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class Candidates(Section):
    """The family of thresholds, from the scores of a fit part."""

    part: str
    midpoints: Annotated[int, Bounds(ge=1, le=100_000)] = 200
    endpoints: bool = True


@dataclass(frozen=True, kw_only=True)
class Select(Section):
    """How a threshold is chosen on the calibration part."""

    part: str
    rules: Annotated[tuple[Literal["naive", "empirical", "ltt"], ...], Length(1), Before(_list)]
    delta: Numbers = ("0.1",)
    min_support: Annotated[int, Bounds(ge=1)] = 25
    start: Literal["screen", "fit"] = "screen"
    correction: Literal["fixed_sequence", "bonferroni"] = "fixed_sequence"


@dataclass(frozen=True, kw_only=True)
class Threshold(Section):
    """One policy per rule and budget: action 0 on one side of a chosen threshold, fallback 1 elsewhere."""

    act_below: Expression | None = None
    act_above: Expression | None = None
    control: Control
    candidates: Candidates
    select: Select
    budget: Numbers

    def __post_init__(self) -> None:
        if (self.act_below is None) == (self.act_above is None):
            raise ValueError("a threshold has either `act_below` or `act_above`, with the score")


@dataclass(frozen=True, kw_only=True)
class Policies(Section):
    """How operating points are formed from the arms; without this section every arm is a policy."""

    gate: Annotated[tuple[Gate, ...], Before(_gates)] = ()
    threshold: Threshold | None = None
    degenerate: Annotated[
        tuple[Literal["always", "never"], ...],
        Before(_list),
        Printed({"type": "array", "items": {"enum": ["always", "never"]}}),
    ] = ()
    exclude: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class Resampling(Section):
    """How the units are drawn again, and at which level intervals are taken."""

    resamples: Annotated[int, Bounds(ge=1, le=MOST_RESAMPLES)]
    seed: Seed
    level: Level = 0.95
    stratify: Texts | None = None
    cluster: str | None = None
    parts: Texts | None = None
    reselect: bool = False


@dataclass(frozen=True, kw_only=True)
class Evidence(Section):
    """What a verdict needs: the interval (default), the point, a share of resamples, or an exact test."""

    kind: Literal["interval", "point", "support", "exact"] = "interval"
    support: Annotated[float, Bounds(gt=0.5, le=1)] | None = None

    def __post_init__(self) -> None:
        if (self.kind == "support") != (self.support is not None):
            raise ValueError("evidence by support is written {support: 0.9}")


@dataclass(frozen=True, kw_only=True)
class Prediction(Section):
    """A claim, the evidence it needs, its falsifier, and the verdict its author expects."""

    claim: Expression
    evidence: Annotated[
        Evidence,
        Before(_evidence),
        Printed(
            {
                "anyOf": [
                    {"enum": ["interval", "point", "exact"]},
                    {
                        "type": "object",
                        "properties": {"support": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 1}},
                        "required": ["support"],
                        "additionalProperties": False,
                    },
                ]
            }
        ),
    ] = Evidence()
    level: Level | None = None
    falsified_if: Expression | None = None
    anticipate: Literal["held", "failed", "falsified", "open"] = "held"
    given: Texts | None = None
    gate: bool = False
    each: (
        Annotated[
            dict[Word, Texts | None],
            Before(_each),
            Printed(
                {
                    "anyOf": [
                        {"type": "string", "description": "a factor: all its values"},
                        {
                            "type": "object",
                            "additionalProperties": {
                                "type": "array",
                                "items": {"type": ["string", "number"]},
                            },
                        },
                    ]
                }
            ),
        ]
        | None
    ) = None
    agree: Texts | None = None
    family: Family | None = None
    tier: Literal["primary", "secondary", "exploratory"] = "primary"
    because: str | None = None


@dataclass(frozen=True, kw_only=True)
class Variant(Section):
    """Another reading of the records under which every prediction is judged too."""

    where: Expression | None = None
    exclude: Expression | None = None
    samples: Samples | None = None
    metrics: dict[Word, dict[str, Any]] = field(default_factory=dict)
    let: dict[Word, Expression] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OutcomeRule(Section):
    """A headline, and the condition on verdicts under which it is the headline."""

    when: Expression
    then: str


@dataclass(frozen=True, kw_only=True)
class Protocol(Section):
    """A whole protocol."""

    prereg: Literal[1]
    id: Slug
    title: str
    question: str | None = None
    authors: Texts | None = None
    notes: str | None = None
    data: Data
    split: Split | None = None
    policies: Policies = Policies()
    metrics: dict[Word, dict[str, Any]]
    let: dict[Word, Expression] = field(default_factory=dict)
    resampling: Resampling | None = None
    predictions: dict[PredictionId, Prediction]
    reports: dict[PredictionId, Expression] = field(default_factory=dict)
    variants: dict[Word, Variant] = field(default_factory=dict)
    outcomes: tuple[OutcomeRule, ...] = ()

    def column_types(self) -> dict[str, str]:
        """The kinds of columns set beforehand: `007` stays `007` where a column names something.

        Units, arms and datasets are text; strata, groups and clusters are text unless they are truth values
        (`name`).
        """
        data, split, drawn = self.data, self.split, self.resampling
        names = [data.unit, *data.arm, *([data.dataset] if data.dataset else [])]
        groups: list[str | None] = []
        if split is not None:
            groups += [split.column, split.group, *(split.stratify or ())]
        if drawn is not None:
            groups += [drawn.cluster, *(drawn.stratify or ())]
        out: dict[str, str] = {}
        for name in groups:
            if name is not None and name not in data.derive:
                out[data.columns.get(name, name)] = "name"
        out.update(data.types)
        out.update(dict.fromkeys([data.columns.get(name, name) for name in names], "text"))
        return out


@functools.cache
def _validator() -> "SchemaValidator":
    return validator(Protocol)


def validated(tree: object) -> Protocol:
    """The protocol that a tree of JSON describes.

    Raises:
        ValidationError: of pydantic-core, with everything that is wrong with its shape.

    """
    found: Protocol = _validator().validate_json(json.dumps(tree))
    return found


def read_protocol(document: "Document") -> Protocol:
    """The protocol a document holds.

    Raises:
        InputError: every problem of its shape, each at its place.

    """
    if not isinstance(document.tree, dict):
        found = spoken(document.tree)
        raise InputError(
            Problem(
                f"found {found}, expected a mapping of sections (prereg, id, title, data …)",
                document.place(()),
            )
        )
    if "prereg" in document.tree and document.tree["prereg"] != FORMAT:
        raise InputError(_wrong_format(document))
    problems = [*_stored_evidence(document), *_empty_variants(document)]
    try:
        protocol = validated(document.tree)
    except ValidationError as error:
        problems.extend(shape_problems(Protocol, error, document.tree, document.place))
    if problems:
        # a validator tells what it finds in no fixed order
        raise InputError(*sorted(dict.fromkeys(problems), key=lambda p: (file_order(p), p.message)))
    return protocol


def _stored_evidence(document: "Document") -> "Iterator[Problem]":
    """Evidence as it is stored, {kind: point}, is no way to write it: one thing is written in one way."""
    predictions = document.tree.get("predictions") if isinstance(document.tree, dict) else None
    for name, spec in predictions.items() if isinstance(predictions, dict) else ():
        evidence = spec.get("evidence") if isinstance(spec, dict) else None
        if isinstance(evidence, dict) and "kind" in evidence:
            path = ("predictions", name, "evidence", "kind")
            yield Problem(f"unknown key `kind`; evidence is {EVIDENCE_WORDS}", document.place(path, key=True))


def _empty_variants(document: "Document") -> "Iterator[Problem]":
    """Variants that override nothing: refused where one is written, not where one was registered."""
    variants = document.tree.get("variants") if isinstance(document.tree, dict) else None
    for name, spec in variants.items() if isinstance(variants, dict) else ():
        if isinstance(spec, dict) and all(value is None or value == {} for value in spec.values()):
            said = "a variant overrides `where`, `exclude`, `samples`, a metric or a `let`"
            yield Problem(f"variants.{name}: {said}", document.place(("variants", name)))


def _wrong_format(document: "Document") -> Problem:
    found = document.tree["prereg"] if isinstance(document.tree, dict) else None
    newer = isinstance(found, int) and not isinstance(found, bool) and found > FORMAT
    hint = "upgrade prereg to read it" if newer else f"this is format {FORMAT}: write `prereg: {FORMAT}`"
    return Problem(f"unknown protocol format: found {spoken(found)}; {hint}", document.place(("prereg",)))
