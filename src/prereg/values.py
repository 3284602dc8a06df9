"""Values with named factors: which policies they speak of, how two of them meet, and three-valued truth.

An `Axes` lists the policies of a vector by the values of its free factors.  Two vectors meet by equal keys,
never by position; a missing partner is undefined.  Arrays are float64 of shape (R, P): row 0 is the observed
sample, the other rows are resamples, NaN is undefined; truth is 1, 0 or NaN (Kleene).
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np

from prereg.dataclass import dataclass, field

Key = tuple[str, ...]

# Reasons of an undefined value, in the order in which a number writes them into an int8 array; 0: "defined".
REASONS = (
    "",
    "missing",
    "vacuous",
    "single_class",
    "constant",
    "too_few_pairs",
    "tie",
    "zero_division",
    "not_deployed",
    "empty_category",
    "undefined_input",
    "too_few_defined_resamples",
    "excluded",
    "no_partner",
)
CODE = {reason: np.int8(i) for i, reason in enumerate(REASONS)}
_INHERITED = {
    "missing",
    "vacuous",
    "single_class",
    "empty_category",
    "undefined_input",
    "not_deployed",
    "no_partner",
    "excluded",
}
INHERITED = np.array([reason in _INHERITED for reason in REASONS])
"""By code: reasons that say of a value computed from others no more than that one of these is undefined."""


def decimal_text(value: Decimal) -> str:
    """The one way to write a decimal: 0.50, 5e-1 and .5 are all `0.5`."""
    if value == 0:
        return "0"
    return format(value.normalize(), "f")


# What a protocol calls a number; `Decimal` alone would also read 1_000, other scripts' digits and blanks.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


def as_decimal(text: str) -> Decimal | None:
    """The decimal a factor value stands for; None where it is no plain finite number."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def factor_text(value: str | Decimal) -> str:
    """A factor value as it is stored, shown and compared."""
    return decimal_text(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True)
class Axes:
    """The policies of a vector: the names of its free factors and one key per policy, in order."""

    factors: tuple[str, ...]
    keys: tuple[Key, ...]
    index: dict[Key, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {key: i for i, key in enumerate(self.keys)})

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def scalar(self) -> bool:
        """No factor is left free: one value."""
        return not self.factors

    def label(self, i: int) -> str:
        """How policy i is named in a table."""
        return ", ".join(self.keys[i])


SCALAR = Axes((), ((),))


class AlignmentError(Exception):
    """Two vectors whose free factors differ; says which factor has no partner."""

    def __init__(self, only_left: list[str], only_right: list[str]) -> None:
        super().__init__("the free factors differ")
        self.only_left = only_left
        self.only_right = only_right


def positions(source: Axes, target: Axes) -> np.ndarray:
    """For every key of `target` its position in `source`, -1 where it has no partner.

    A scalar source meets every key.  Otherwise its factors are among those of the target, in any order.
    """
    if source.scalar:
        return np.zeros(len(target), dtype=np.intp)
    order = [target.factors.index(factor) for factor in source.factors]
    if order == list(range(len(target.factors))):
        return np.array([source.index.get(key, -1) for key in target.keys], dtype=np.intp)
    return np.array(
        [source.index.get(tuple(key[i] for i in order), -1) for key in target.keys], dtype=np.intp
    )


def meet(*many: Axes) -> Axes:
    """The axes on which all of them stand: the keys of the first vector, then those only others have.

    Raises:
        AlignmentError: where two of them have different free factors and neither is a scalar.

    """
    vectors = [axes for axes in many if not axes.scalar]
    if not vectors:
        return SCALAR
    first = vectors[0]
    keys = dict.fromkeys(first.keys)
    for other in vectors[1:]:
        if other is first or other == first:
            continue
        if set(other.factors) != set(first.factors):
            raise AlignmentError(
                [x for x in first.factors if x not in other.factors],
                [x for x in other.factors if x not in first.factors],
            )
        order = [other.factors.index(factor) for factor in first.factors]
        keys.update(dict.fromkeys(tuple(key[i] for i in order) for key in other.keys))
    return first if len(keys) == len(first.keys) else Axes(first.factors, tuple(keys))


def take(data: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The columns of an (R, P) array at `where`; NaN where it is -1."""
    if len(where) == data.shape[1] and (where == np.arange(len(where))).all():
        return data
    lost = where < 0
    if lost.all():
        return np.full((data.shape[0], len(where)), np.nan)
    out: np.ndarray = data[:, where]
    if lost.any():
        out[:, lost] = np.nan
    return out


def kleene_and(parts: list[np.ndarray]) -> np.ndarray:
    """1 where all are true, 0 where one is false, NaN otherwise; arrays of one shape."""
    out = parts[0]
    for other in parts[1:]:
        low = np.minimum(out, other)  # NaN where either is undefined ...
        out = np.where((out == 0) | (other == 0), 0.0, low)  # ... unless one of them is false
    return out


def kleene_or(parts: list[np.ndarray]) -> np.ndarray:
    """1 where one is true, 0 where all are false, NaN otherwise."""
    return 1.0 - kleene_and([1.0 - part for part in parts])


def kleene_all(data: np.ndarray) -> np.ndarray:
    """`and` along the second axis of (R, P): shape (R,); NaN over no policies."""
    if data.shape[1] == 0:
        return np.full(data.shape[0], np.nan)
    false = (data == 0).any(axis=1)
    unknown = np.isnan(data).any(axis=1)
    return np.where(false, 0.0, np.where(unknown, np.nan, 1.0))


def kleene_any(data: np.ndarray) -> np.ndarray:
    """`or` along the second axis of (R, P): shape (R,); NaN over no policies."""
    return 1.0 - kleene_all(1.0 - data)
