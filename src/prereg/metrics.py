"""The metric kinds: one frozen entry per kind carries all that a protocol, a check and a run need to know."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from prereg.dataclass import dataclass
from prereg.kernels import agreement, calibration, categories, curves, orders, refusal, selective, sums
from prereg.kernels.panel import Estimates, Kernel, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["KINDS", "Estimates", "Kernel", "Kind", "Parameter", "Rows"]

Range = tuple[float, float]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind: an expression over rows, or an option written out."""

    name: str
    kind: Literal[
        "truth", "number", "unit_interval", "choice", "integer", "decimal", "text", "column", "columns"
    ]
    """`truth`, `number`, `unit_interval`, `column` and `columns` (a list of them) are read per row; the
    others are options."""
    default: str | float | None = None
    """Of an option. A row parameter that is not given reads the column of its own name."""
    choices: tuple[str, ...] = ()
    required: bool = False
    """An option without a default."""
    optional: bool = False
    """A row parameter that is not read at all unless it is given: its name is no column then."""
    alternative_to: str | None = None
    """Exactly one of the two is given: this one, negated, says the same as the other."""
    missing_last: bool = False
    """A row may lack it without making the metric missing: NaN comes after every value."""
    least: float = -math.inf
    """Smallest value of an option or of a number read per row, smallest number of `columns`."""
    open_below: bool = False
    """`least` itself is not allowed."""
    most: float = math.inf
    """Largest value of an option, largest number of `columns`."""

    @property
    def of_rows(self) -> bool:
        """Whether it is read per row and reaches the kernel in `Rows.arguments`."""
        return self.kind in {"truth", "number", "unit_interval", "column", "columns"}


@dataclass(frozen=True)
class Kind:
    """A metric kind."""

    name: str
    version: int
    """Raised when the same rows and options may give another value."""
    parameters: tuple[Parameter, ...]
    prepare: Callable[[Rows, Mapping[str, Any]], Kernel]
    """Options not given take their defaults; a missing required one is a KeyError."""
    range: Range | Callable[[Mapping[str, Any]], Range]
    """Closed interval that holds every value; infinite ends where the kind knows no bound."""
    additive: bool
    """The value is a sum over rows, or one sum over rows divided by another."""
    samples: Literal["some", "all"]
    """`all`: reads every sample of a unit, whatever `data.samples` says."""
    reads: str
    """What is computed, with its reference."""
    undefined_when: str
    validate: Callable[[Mapping[str, Any]], object] = len
    """Called with the options; a ValueError says what is wrong with them."""
    caution: str = ""
    """What a reader of its intervals must know."""

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name."""
        return next((p for p in self.parameters if p.name == name), None)

    def range_of(self, options: Mapping[str, Any]) -> Range:
        """Return the range under these options."""
        return self.range(options) if callable(self.range) else self.range


def _pair(
    first: str, second: str, kind: Literal["truth", "unit_interval"] = "truth"
) -> tuple[Parameter, Parameter]:
    """Two ways to say one outcome; the first is the one read when neither is given."""
    return Parameter(first, kind, alternative_to=second), Parameter(second, kind, alternative_to=first)


_TIES = Parameter("ties", "choice", "threshold", choices=("threshold", "row_order", "expected"))
_UNIT: Range = (0.0, 1.0)
_NO_ROWS = "no row inside `among` (vacuous)"

_ALL = (
    Kind(
        "rate",
        1,
        (Parameter("rate", "truth"),),
        sums.rate,
        _UNIT,
        additive=True,
        samples="some",
        reads="share of rows with `rate` true",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "count",
        1,
        (Parameter("count", "truth"),),
        sums.count,
        (0.0, math.inf),
        additive=True,
        samples="some",
        reads="rows with `count` true",
        undefined_when="never: 0 over no rows",
    ),
    Kind(
        "sum",
        1,
        (Parameter("sum", "number"),),
        sums.total,
        (-math.inf, math.inf),
        additive=True,
        samples="some",
        reads="sum of `sum` over rows",
        undefined_when="never: 0 over no rows",
    ),
    Kind(
        "mean",
        1,
        (Parameter("mean", "number"), Parameter("weight", "number", optional=True, least=0.0)),
        sums.mean,
        (-math.inf, math.inf),
        additive=True,
        samples="some",
        reads="mean of `mean` over rows, each counted `weight` times where that is given",
        undefined_when=_NO_ROWS + ", or weights that sum to 0 (vacuous)",
    ),
    Kind(
        "quantile",
        1,
        (Parameter("of", "number"), Parameter("q", "decimal", required=True, least=0.0, most=1.0)),
        orders.quantile,
        (-math.inf, math.inf),
        additive=False,
        samples="some",
        reads="quantile `q` of `of` over rows, type 7 (Hyndman and Fan 1996)",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "distinct",
        1,
        (Parameter("of", "column"),),
        orders.distinct,
        (0.0, math.inf),
        additive=False,
        samples="some",
        reads="number of distinct values of `of` over rows",
        undefined_when="never: 0 over no rows",
    ),
    Kind(
        "ece",
        1,
        (
            Parameter("confidence", "unit_interval"),
            *_pair("label", "error", "unit_interval"),
            Parameter("bins", "integer", 10, least=1, most=10**6),
            Parameter("edges", "choice", "right_closed", choices=("right_closed", "left_closed", "linspace")),
            Parameter("binning", "choice", "equal_width", choices=("equal_width", "equal_mass")),
        ),
        calibration.ece,
        _UNIT,
        additive=False,
        samples="some",
        reads="expected calibration error over equal-width bins, or bins of equally many rows "
        "(Naeini et al. 2015, Guo et al. 2017)",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "brier",
        1,
        (Parameter("confidence", "unit_interval"), *_pair("label", "error", "unit_interval")),
        calibration.brier,
        _UNIT,
        additive=True,
        samples="some",
        reads="mean of (confidence - label)**2 (Brier 1950, one-column form)",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "auroc",
        1,
        (Parameter("score", "number"), Parameter("label", "truth")),
        curves.auroc,
        _UNIT,
        additive=False,
        samples="some",
        reads="share of (positive, negative) pairs in the right order, ties half (Mann-Whitney)",
        undefined_when=_NO_ROWS + ", or labels of one class (single_class)",
    ),
    Kind(
        "aurc",
        1,
        (Parameter("confidence", "number"), *_pair("error", "label"), _TIES),
        curves.aurc,
        _UNIT,
        additive=False,
        samples="some",
        reads="mean over rows of the risk at their confidence (Geifman, Uziel and El-Yaniv 2019)",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "eaurc",
        1,
        (Parameter("confidence", "number"), *_pair("error", "label"), _TIES),
        curves.eaurc,
        _UNIT,
        additive=False,
        samples="some",
        reads="aurc minus that of the perfect order with as many errors, exactly (Geifman et al. 2019)",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "selective_accuracy",
        1,
        (
            Parameter("confidence", "number", missing_last=True),
            Parameter("correct", "truth"),
            Parameter("coverage", "decimal", required=True, least=0.0, most=1.0, open_below=True),
        ),
        selective.selective_accuracy,
        _UNIT,
        additive=False,
        samples="some",
        reads="share correct in the smallest prefix of whole tie blocks with the share `coverage` of rows",
        undefined_when=_NO_ROWS,
    ),
    Kind(
        "refusal_index",
        1,
        (Parameter("refused", "truth"), Parameter("wrong", "truth")),
        refusal.refusal_index,
        (-1.0, 1.0),
        additive=False,
        samples="all",
        reads="Spearman over units of the shares refused and wrong (K-sample form; concept: Pan et al. 2025)",
        undefined_when="no unit (vacuous), below three (too_few_pairs), equal shares on a side (constant)",
    ),
)

_BY_CATEGORY = (
    Parameter("groups", "column", required=True),
    Parameter("correct", "unit_interval"),
    Parameter("confidence", "unit_interval"),
    Parameter("ties", "choice", "keep", choices=("keep", "drop")),
)
_GRID = Parameter("grid", "decimal", 0.01, least=0.001, most=0.5)
_MARGIN = Parameter("weights", "choice", "margin", choices=("margin", "none"))
_CONVEX = (
    "convex in the category means, so that its bootstrap is biased upward "
    "and the interval may exclude the point"
)
_NO_CATEGORY = _NO_ROWS + ", or a category without rows (empty_category)"


def _category_kind(
    name: str,
    prepare: Callable[[Rows, Mapping[str, Any]], Kernel],
    reads: str,
    more: tuple[Parameter, ...] = (),
    most: float = math.inf,
    validate: Callable[[Mapping[str, Any]], object] = len,
    caution: str = "",
) -> Kind:
    """A diagnostic over categories: the same arguments, another function of their sums."""
    return Kind(
        name,
        1,
        (*_BY_CATEGORY, *more),
        prepare,
        (0.0, most),
        additive=False,
        samples="some",
        reads=reads,
        undefined_when=_NO_CATEGORY,
        validate=validate,
        caution=caution,
    )


_CATEGORIES = (
    _category_kind(
        "category_calibration_error",
        categories.calibration_error,
        "mean over categories of the distance between mean confidence and accuracy",
        (Parameter("weights", "choice", "categories", choices=("categories", "rows")),),
        1.0,
    ),
    _category_kind(
        "category_brier",
        categories.category_brier,
        "mean over categories of (mean confidence - accuracy)**2",
        most=1.0,
    ),
    _category_kind(
        "worst_category",
        categories.worst_category,
        "lowest accuracy, or largest calibration error, of a category",
        (Parameter("of", "choice", "accuracy", choices=("accuracy", "calibration_error")),),
        1.0,
    ),
    _category_kind(
        "pvc",
        categories.pvc,
        "number of categories with accuracy of at least `at_least`",
        (Parameter("at_least", "decimal", required=True, least=0.0, most=1.0),),
        validate=lambda options: categories.nano(options, "at_least"),
    ),
    _category_kind(
        "cpvc",
        categories.cpvc,
        "number of categories with accuracy of at least `at_least` and calibration error `within`",
        (
            Parameter("at_least", "decimal", required=True, least=0.0, most=1.0),
            Parameter("within", "decimal", required=True, least=0.0, most=1.0),
        ),
        validate=lambda options: [categories.nano(options, name) for name in ("at_least", "within")],
    ),
    _category_kind(
        "pvc_vus", categories.pvc_vus, "trapezoid of pvc over its bar", (_GRID,), validate=categories.lines
    ),
    _category_kind(
        "cpvc_vus",
        categories.cpvc_vus,
        "double trapezoid of cpvc over accuracy bar and calibration bound",
        (_GRID,),
        validate=categories.lines,
    ),
    _category_kind(
        "pm_pvc_vus",
        categories.pm_pvc_vus,
        "pvc over the positive margin g > t + 1/2, weighted by 2/(g - 1/2)",
        (_GRID, _MARGIN),
        validate=categories.lines,
        caution=_CONVEX,
    ),
    _category_kind(
        "pm_cpvc_vus",
        categories.pm_cpvc_vus,
        "cpvc over the positive margin g > t + 1/2, weighted by 2/(g - 1/2)",
        (_GRID, _MARGIN),
        validate=categories.lines,
        caution=_CONVEX,
    ),
    _category_kind(
        "pm_sc_vus",
        categories.pm_sc_vus,
        "sample complexity 300 + 100 cpvc over the positive margin",
        (_GRID,),
        validate=categories.lines,
        caution=_CONVEX,
    ),
)


def _agreement_kind(
    name: str,
    prepare: Callable[[Rows, Mapping[str, Any]], Kernel],
    reads: str,
    low: float,
    most: float = math.inf,
) -> Kind:
    return Kind(
        name,
        1,
        (Parameter("raters", "columns", required=True, least=2, most=most),),
        prepare,
        (low, 1.0),
        additive=False,
        samples="some",
        reads=reads,
        undefined_when=_NO_ROWS + (", or one label throughout (constant)" if low < 0 else ""),
    )


_AGREEMENT = (
    _agreement_kind("agreement", agreement.agreement, "share of pairs of raters with the same label", 0.0),
    _agreement_kind(
        "cohen_kappa", agreement.cohen_kappa, "Cohen's kappa of two raters (Cohen 1960)", -1.0, most=2
    ),
    _agreement_kind("fleiss_kappa", agreement.fleiss_kappa, "Fleiss' kappa (Fleiss 1971)", -1.0),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (*_ALL, *_CATEGORIES, *_AGREEMENT)})
"""Every kind by name. `value` is no kind of rows: it is an expression over other metrics."""
