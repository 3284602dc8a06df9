"""What a metric sees and what it returns: the rows of one dataset and part, and values with their reasons.

Shapes, everywhere in this package: S settings (gates, rules, categories), A arms, U units, K samples,
P = S * A policies with the setting as the slow axis, R resamples. Weights are an (R, U) array that says how
often each unit was drawn; row 0 is the observed sample: one code path computes the point and the resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from prereg.dataclass import dataclass, field
from prereg.decimals import rounded
from prereg.kernels.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """The rows of one dataset and one part, as a metric reads them.

    Order matters to `ties: row_order` alone, which reads rows by unit, then by sample, as they stand here.
    """

    among: Bools
    """(S or 1, A, U, K): the row is present and inside `among`."""
    missing: Bools
    """(S or 1, A, U, K): the row makes the metric `missing` (an undefined `among`, or an undefined parameter
    inside `among`); such a row enters no sum."""
    arguments: Mapping[str, Floats]
    """Parameter name -> (S or 1, A, U, K) numbers, truth values as 0.0 and 1.0; meaningless outside `among`.
    A NaN inside counts as missing, except where the parameter may be missing (`Parameter.missing_last`)."""
    decimals: Mapping[str, int] = field(default_factory=dict)
    """Parameter name -> decimals (0..9) that write the whole column exactly; -1, or no entry, when more."""
    levels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Column parameter -> the codes of all its values on the whole dataset, inside `among` or not: the set of
    categories is fixed beforehand, so that one without rows is seen to be empty."""


@dataclass(frozen=True)
class Estimates:
    """Values of one metric for every resample and policy, with the reasons where there is none."""

    values: Floats
    """(R, P), rounded (see `decimals.rounded`); NaN where undefined."""
    undefined: list[tuple[str, Bools]]
    """(reason, (R, P)): the first that applies to a cell is its reason. Always the same list for one kind."""
    numerator: Floats | None = None
    """(R, P), where the value is a share, a sum or a count."""
    denominator: Floats | None = None
    """(R, P), where the value is a share of rows."""


class Kernel(Protocol):
    """A metric prepared for its rows: all that does not depend on the draws is done."""

    def compute(self, weights: Floats) -> Estimates:
        """Return the estimates for (R, U) whole-number weights.

        A row of the result depends on the same row of `weights` alone, to the last bit: any partition into
        blocks gives the same bytes.
        """


@dataclass(frozen=True)
class Panel:
    """Rows with setting and arm flattened into policies and the missing rows taken out."""

    among: Bools
    """(P, U, K), without the missing rows."""
    arguments: Mapping[str, Floats]
    """(P, U, K); 0 outside `among`."""
    counts: Whole
    """(U, P): rows of a unit inside `among`."""
    missing: Whole | None
    """(U, P): the unit has a row that makes the metric missing; None when no unit has."""

    @classmethod
    def of(cls, rows: Rows, names: Sequence[str], *, may_be_missing: Sequence[str] = ()) -> Panel:
        """Flatten `rows` for the arguments `names`; a NaN of `may_be_missing` is a value of its own."""
        chosen = {name: np.asarray(rows.arguments[name], dtype=np.float64) for name in names}
        shape = np.broadcast_shapes(rows.among.shape, rows.missing.shape, *(a.shape for a in chosen.values()))
        flat = (shape[0] * shape[1], shape[2], shape[3])

        def spread(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            return np.broadcast_to(array, shape).reshape(flat)

        among = spread(rows.among).astype(bool)
        missing = spread(rows.missing).astype(bool)
        columns = {name: spread(array).astype(np.float64) for name, array in chosen.items()}
        for name, column in columns.items():
            if name not in may_be_missing:
                missing |= among & np.isnan(column)
        among &= ~missing
        columns = {name: np.where(among, column, 0.0) for name, column in columns.items()}
        return cls(
            among=among,
            arguments=columns,
            counts=Whole(among.sum(axis=2).T),
            missing=Whole(np.any(missing, axis=2).T) if missing.any() else None,
        )

    @property
    def policies(self) -> int:
        """P."""
        return int(self.among.shape[0])

    def missed(self, weights: Floats) -> Bools:
        """(R, P): a unit with a missing row was drawn."""
        if self.missing is None:
            return np.zeros((weights.shape[0], self.policies), dtype=bool)
        return self.missing.sums(weights) > 0


def estimates(
    values: Floats,
    undefined: list[tuple[str, Bools]],
    numerator: Floats | None = None,
    denominator: Floats | None = None,
) -> Estimates:
    """Round `values`, blank the undefined ones, and put them together with their reasons."""
    values = rounded(values, keep_infinite=True)  # told as undefined later, with its reason
    for _, mask in undefined:
        np.copyto(values, np.nan, where=mask)
    return Estimates(values, undefined, numerator, denominator)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; NaN, without a warning, where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = numerator / denominator
    np.copyto(result, np.nan, where=denominator == 0)
    return result
