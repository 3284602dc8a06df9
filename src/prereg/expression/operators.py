"""The signs and elementary functions of the language: what each computes, and how it reads the other way."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.decimals import carried

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Of two numbers or decimals one truth, of two arrays one per element."""
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""`a op b` is `b TURNED[op] a`."""
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""`not a op b` is `a NEGATED[op] b`, for the signs of an order."""

ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": lambda x, y: carried(x + y, x, y),
    "-": lambda x, y: carried(x - y, x, y),
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
}
ELEMENTARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "abs": np.abs,
    "ln": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
}
