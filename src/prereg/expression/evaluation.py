"""What compiled terms do when they meet a frame: arrays in, arrays out, and the facts at the point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import replace
from prereg.decimals import rounded
from prereg.expression.operators import COMPARISONS
from prereg.expression.reductions import paired_reason
from prereg.expression.terms import NUMBER, Facts, Frame, Result, merge_facts, no_facts
from prereg.values import CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prereg.expression.reductions import Vector
    from prereg.expression.terms import LeftOut, Term
    from prereg.values import Axes


def comparison(op: str) -> Callable[[np.ndarray], np.ndarray]:
    """`d op 0` as three-valued truth."""
    function = COMPARISONS[op]

    def evaluate(d: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(d), np.nan, function(d, 0.0).astype(np.float64))

    return evaluate


def finite(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function whose infinite and wild values are undefined."""

    def evaluate(*x: np.ndarray) -> np.ndarray:
        out = function(*x)
        return np.where(np.isfinite(out), out, np.nan)

    return evaluate


def fixed(values: np.ndarray) -> Callable[[Frame], Result]:
    """Values (P,) that no block changes."""

    def evaluate(frame: Frame) -> Result:
        data = np.broadcast_to(values, (frame.rows, len(values)))
        facts = None
        if frame.first:
            reasons = np.where(np.isnan(values), CODE["undefined_input"], 0).astype(np.int8)
            facts = replace(no_facts(len(values)), reasons=reasons)
        return Result(data, facts)

    return evaluate


def coded(table: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Codes (R, P) looked up in a table; NaN stays NaN."""
    known = ~np.isnan(codes)
    out = np.full(codes.shape, np.nan)
    out[known] = table[codes[known].astype(np.intp)]
    return out


def applied(
    function: Callable[..., np.ndarray], parts: Sequence[Callable[[Frame], Result]], why: str
) -> Callable[[Frame], Result]:
    """A function of values that stand on the same axes; `why` it is undefined where its inputs are not.

    Of the quotients only those by 0 are undefined for that; the others are beyond any double.
    """

    def evaluate(frame: Frame) -> Result:
        results = [part(frame) for part in parts]
        with np.errstate(all="ignore"):
            data = function(*(r.data for r in results))
        facts = None
        if frame.first:
            facts = merge_facts(*(r.facts for r in results if r.facts is not None))
            point = np.isnan(data[0])
            own: np.ndarray | np.int8 = CODE[why]
            if why == "zero_division":
                own = np.where(results[-1].data[0] == 0, own, CODE["undefined_input"])
            reasons = np.where(point, np.where(facts.reasons == 0, own, facts.reasons), 0)
            facts = replace(facts, reasons=reasons.astype(np.int8))
        return Result(data, facts)

    return evaluate


def as_value(term: Term, evaluate: Callable[[Frame], Result]) -> Callable[[Frame], Result]:
    """What is computed in place, rounded as if it were a metric of its own; others are already."""
    if term.metric is not None or term.floating or term.kind != NUMBER:
        return evaluate

    def value(frame: Frame) -> Result:
        result = evaluate(frame)
        return Result(rounded(result.data), result.facts)

    return value


def definedness(inner: Callable[[Frame], Result], *, wanted: bool) -> Callable[[Frame], Result]:
    """Whether each value is defined (or, not `wanted`, undefined): never undefined itself."""

    def evaluate(frame: Frame) -> Result:
        result = inner(frame)
        facts = result.facts
        if facts is not None:
            facts = replace(facts, reasons=np.zeros_like(facts.reasons))
        return Result((np.isnan(result.data) != wanted).astype(np.float64), facts)

    return evaluate


def reduce_groups(
    function: Callable[[np.ndarray], np.ndarray],
    inner: Callable[[Frame], Result],
    groups: list[np.ndarray],
    axes: Axes,
    why: str,
    *,
    three_valued: bool,
    least: int = 1,
) -> Callable[[Frame], Result]:
    """A reduction of the columns of each group, and how many policies it used and left out.

    `why` it is undefined over fewer than `least` values.
    """

    def evaluate(frame: Frame) -> Result:
        result = inner(frame)
        whole = len(groups) == 1 and len(groups[0]) == result.data.shape[1]
        columns = [result.data] if whole else [result.data[:, g] for g in groups]
        data = np.stack([function(x) for x in columns], axis=1) if groups else np.zeros((frame.rows, 0))
        facts = None
        if frame.first:
            point = result.data[0]
            reasons = np.zeros(len(groups), dtype=np.int8)
            n, left = np.zeros((2, len(groups)), dtype=np.int64)
            out = []
            for i, g in enumerate(groups):
                gone = np.isnan(point[g])
                n[i], left[i] = (~gone).sum(), gone.sum()
                if np.isnan(data[0, i]):
                    reason = why
                    if n[i] == 0 and not three_valued:
                        reason = "vacuous"
                    elif n[i] >= least and why != "tie":
                        reason = "undefined_input"  # enough of them, and yet beyond any double
                    reasons[i] = CODE[reason]
                out.append(policies_at(axes, g[gone]))
            facts = Facts(reasons, ((n, left),), () if three_valued else (tuple(out),))
        return Result(data, facts)

    return evaluate


def labelled(evaluate: Callable[[Frame], Result], groups: list[np.ndarray]) -> Callable[[Frame], Result]:
    """Positions within each group as positions in the whole vector."""

    def mapped(frame: Frame) -> Result:
        result = evaluate(frame)
        columns = [coded(g.astype(np.float64), result.data[:, i]) for i, g in enumerate(groups)]
        return Result(np.stack(columns, axis=1) if columns else result.data, result.facts)

    return mapped


def policies_at(axes: Axes, which: np.ndarray) -> LeftOut:
    """The policies at some positions, by the values of their factors."""
    return frozenset(tuple(sorted(zip(axes.factors, axes.keys[i], strict=True))) for i in which.tolist())


def pair_groups(
    function: Callable[[Vector, Vector], np.ndarray],
    parts: Sequence[Callable[[Frame], Result]],
    groups: list[np.ndarray],
    axes: Axes,
) -> Callable[[Frame], Result]:
    """A correlation of two vectors within each group, over the pairs that are defined."""

    def evaluate(frame: Frame) -> Result:
        x, y = parts[0](frame), parts[1](frame)
        if len(groups) == 1 and len(groups[0]) == x.data.shape[1]:
            columns = [function(frame.ranked(x.data), frame.ranked(y.data))]
        else:
            columns = [function(x.data[:, g], y.data[:, g]) for g in groups]
        data = np.stack(columns, axis=1) if columns else np.zeros((frame.rows, 0))
        data = np.where(np.isfinite(data), data, np.nan)
        facts = None
        if frame.first:
            reasons = np.zeros(len(groups), dtype=np.int8)
            n, left = np.zeros((2, len(groups)), dtype=np.int64)
            out = []
            for i, g in enumerate(groups):
                a, b = x.data[0, g], y.data[0, g]
                gone = np.isnan(a) | np.isnan(b)
                n[i], left[i] = (~gone).sum(), gone.sum()
                if np.isnan(data[0, i]):
                    reasons[i] = paired_reason(a, b)
                out.append(policies_at(axes, g[gone]))
            facts = Facts(reasons, ((n, left),), (tuple(out),))
        return Result(data, facts)

    return evaluate
