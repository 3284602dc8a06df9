"""A certificate is foreign text: strict JSON of bounded size and depth, with exactly the keys of its kind."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from prereg.checker.bounds import BudgetSpentError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prereg.checker.bounds import Budget

__all__ = ["as_list", "keyed", "read_certificate", "whole"]

# The deepest legal place is an entry of a set of `count`; the rest is courtesy.
_DEEPEST = 16
# A text, closed or not, or a bracket. Possessive, so that no text is read twice.
_TEXT_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def read_certificate(text: str | bytes, budget: Budget) -> dict[str, object]:
    """Return the JSON object that a text is. Raises RefusedError, BudgetSpentError where it is too long."""
    if len(text) > budget.bounds.certificate:
        raise BudgetSpentError(f"a certificate of more than {budget.bounds.certificate} characters")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RefusedError("the certificate is not UTF-8") from error
    _refuse_depth(text)
    try:
        tree: object = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_number
        )
    except (ValueError, RecursionError) as error:
        raise RefusedError("the certificate is not JSON") from error
    if tree is None:
        raise RefusedError("there is no certificate")
    if not isinstance(tree, dict):
        raise RefusedError("the certificate is not an object")
    return tree


def keyed(tree: dict[str, object], keys: Sequence[str]) -> list[object]:
    """Return the values of `keys`, which are all that the object has besides `kind`."""
    wanted = {"kind", *keys}
    if tree.keys() != wanted:
        odd = sorted(tree.keys() ^ wanted)
        which = "is missing" if odd[0] in wanted else "is not one of its kind"
        raise RefusedError(f"the key {odd[0][:40]!a} {which}")
    return [tree[key] for key in keys]


def as_list(value: object, what: str, length: int | None = None) -> list[object]:
    """Return `value` if it is a list, of that length where one is given."""
    if not isinstance(value, list):
        raise RefusedError(f"{what} is not a list")
    if length is not None and len(value) != length:
        raise RefusedError(f"{what} has {len(value)} entries in place of {length}")
    return value


def whole(value: object, what: str, least: int, most: int) -> int:
    """Return `value` if it is a whole number (true is none) from `least` to `most`."""
    if type(value) is not int:
        raise RefusedError(f"{what} is not a whole number")
    if not least <= value <= most:
        raise RefusedError(f"{what} is {value}, which is not between {least} and {most}")
    return value


def _refuse_depth(text: str) -> None:
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        bracket = found[0]
        if bracket in {"[", "{"}:
            depth += 1
            if depth > _DEEPEST:
                raise RefusedError(f"the certificate is nested more than {_DEEPEST} deep")
        elif bracket in {"]", "}"}:
            depth -= 1


def _object(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    tree: dict[str, object] = {}
    for key, value in pairs:
        if key in tree:
            raise RefusedError(f"the key {key[:40]!a} stands twice in one object")
        tree[key] = value
    return tree


def _integer(text: str) -> int:
    if len(text) > 10:
        raise RefusedError(f"the number {text[:20]} is no index of anything")
    return int(text)


def _number(text: str) -> float:
    raise RefusedError(f"{text[:20]} is not a whole number")
