"""The kind of a column, from all of its cells: numbers if every cell is one, truth values, else text.

A cell that is missing has no say.  NaN and infinities are refused where they would be numbers; whole numbers
that a double would change are texts, such as long ids.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.expression.cells import BINARY, NUMBER, TEXT, TRUTH, Cells
from prereg.numerals import LARGEST, shown
from prereg.records import Column, Records, coded, text_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prereg.errors import Problem

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_WHOLE = re.compile(r"[+-]?[0-9]{16,}\Z")
_ODD = re.compile(r"[^0-9.eE+\-\n]")
_WILD = frozenset({"nan", "inf", "infinity", "+inf", "-inf", "+nan", "-nan", "+infinity", "-infinity"})
_BITS = frozenset(("0", "1", "0.0", "1.0"))
_SPOKEN = {TRUTH: "true or false", NUMBER: "a number that a double holds"}


def text_column(
    name: str, cells: list[str], wanted: str | None, records: Records, problems: list[Problem]
) -> Column | None:
    """The column of cells that are texts, an empty one missing; None, and problems, where it has no kind."""
    distinct = set(cells)  # few cells differ: each is looked at once
    present = distinct - {""}
    missing = np.array([not x for x in cells]) if "" in distinct else np.zeros(len(cells), dtype=bool)
    if not present and wanted in ("truth", "number"):
        return _unknown_column(wanted, len(cells))
    if wanted != "text":
        before = len(problems)
        column = _try_numbers(name, cells, present, missing, wanted, records, problems)
        if column is not None or len(problems) > before:
            return column
        lowered = {x.lower() for x in present}
        if present and lowered <= {"true", "false"} and wanted in (None, "truth"):
            truth = {x: x.lower() == "true" for x in distinct}
            data = np.fromiter(map(truth.__getitem__, cells), dtype=bool, count=len(cells))
            return _truth_column(data, missing)
        if wanted == "truth" and present <= _BITS:  # 0 and 1 and nothing else, declared to mean truth
            return _truth_column(np.fromiter((x[:1] == "1" for x in cells), bool, len(cells)), missing)
        if wanted is not None:
            if wanted == "truth":
                rows = [i for i, x in enumerate(cells) if x and x.lower() not in ("true", "false")]
            else:
                rows = [i for i, x in enumerate(cells) if x and not _exact_number(x)]
            problems += records.problem(
                rows, lambda r: f"column {name}: found {shown(cells[r])}, expected {_SPOKEN[wanted]}"
            )
            return None
    odd = None
    if wanted is None:
        odd = _odd(
            cells,
            {
                x: NUMBER if _exact_number(x) else TRUTH
                for x in present
                if _exact_number(x) or x.lower() in ("true", "false")
            },
        )
    composed = {x: unicodedata.normalize("NFC", x) if x else None for x in distinct}
    return Column(TEXT, coded(cells, composed), odd)


def _try_numbers(
    name: str,
    cells: list[str],
    present: set[str],
    missing: np.ndarray,
    wanted: str | None,
    records: Records,
    problems: list[Problem],
) -> Column | None:
    """The column as numbers; None where some cell is none. NaN among numbers is a problem."""
    if not present or wanted == "truth":
        return None
    joined = "\n".join(present)
    if _ODD.search(joined):
        odd = {x for x in present if not _NUMBER.match(x)}
        if odd and {x.lower() for x in odd} <= _WILD and (len(odd) < len(present) or wanted):
            rows = [i for i, x in enumerate(cells) if x in odd]
            problems += records.problem(
                rows,
                lambda r: (
                    f"column {name}: `{cells[r]}` is no number; leave the cell empty where it is missing"
                ),
            )
        return None
    try:
        values = {x: float(x) for x in present}
    except ValueError:
        return None
    if any(map(math.isinf, values.values())):
        rows = [i for i, x in enumerate(cells) if x and math.isinf(float(x))]
        problems += records.problem(
            rows, lambda r: f"column {name}: {shown(cells[r])} is larger than any double"
        )
        return None
    if any(map(_long, present)):
        return None
    values[""] = 0.0
    return _number_column(np.fromiter(map(values.__getitem__, cells), np.float64, len(cells)), missing)


def typed_column(
    name: str, cells: list[Any], wanted: str | None, records: Records, problems: list[Problem]
) -> Column | None:
    """The column of cells that are values of JSON; None, and problems, where it has no kind."""
    missing = np.array([x is None for x in cells], dtype=bool)
    kinds = {type(x) for x in cells if x is not None}
    if not kinds and wanted in ("truth", "number"):
        return _unknown_column(wanted, len(cells))
    if kinds & {list, dict}:
        # nested values are no cells; the column is left out and named when an expression asks for it
        odd = next(i for i, x in enumerate(cells) if isinstance(x, list | dict))
        return Column("nested", Cells(TEXT, np.zeros((1, len(cells)), dtype=np.int64), None, ("",)), odd)
    wild = [i for i, x in enumerate(cells) if isinstance(x, float) and not math.isfinite(x)]
    if wild:
        problems += records.problem(
            wild,
            lambda r: (
                f"column {name}: found NaN; a missing value is null"
                if math.isnan(cells[r])
                else f"column {name}: found an infinite number, or one larger than any double"
            ),
        )
        return None
    long = [i for i, x in enumerate(cells) if isinstance(x, int) and abs(x) > LARGEST]
    if kinds and kinds <= {int, float} and wanted in (None, "number") and not long:
        return _number_column(np.array([0.0 if x is None else float(x) for x in cells]), missing)
    if kinds and kinds <= {bool} and wanted in (None, "truth"):
        return _truth_column(np.array([bool(x) for x in cells]), missing)
    if wanted == "truth" and kinds <= {int, float} and all(x in (0, 1) for x in cells if x is not None):
        return _truth_column(np.array([x == 1 for x in cells]), missing)
    if wanted in ("number", "truth"):
        good = (bool,) if wanted == "truth" else (int, float)
        rows = [
            i
            for i, x in enumerate(cells)
            if x is not None and (not isinstance(x, good) or (wanted == "number" and isinstance(x, bool)))
        ]
        if wanted == "number":
            rows = sorted({*rows, *long})
        problems += records.problem(
            rows, lambda r: f"column {name}: found {shown(json.dumps(cells[r]))}, expected {_SPOKEN[wanted]}"
        )
        if rows:
            return None
    spoken_kinds = [_spoken_kind(x) for x in cells]
    first = (
        _odd([k or None for k in spoken_kinds], {NUMBER: NUMBER, TRUTH: TRUTH}) if wanted is None else None
    )
    return Column(TEXT, text_cells(None if x is None else cell_text(x) for x in cells), first)


def _spoken_kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int | float):
        return NUMBER if isinstance(value, float) or abs(value) <= LARGEST else TEXT
    return None if value is None else TEXT


def cell_text(value: Any) -> str:
    """A JSON cell as text: 7 is `7`, true is `true`."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _truth_column(data: np.ndarray, missing: np.ndarray) -> Column:
    mask = missing[None, :] if missing.any() else None
    return Column(TRUTH, Cells(TRUTH, data[None, :], mask))


def _number_column(data: np.ndarray, missing: np.ndarray) -> Column:
    mask = missing[None, :] if missing.any() else None
    binary = bool((missing | (data == 0.0) | (data == 1.0)).all()) and not missing.all()
    kind = BINARY if binary else NUMBER
    return Column(kind, Cells(NUMBER, data[None, :], mask))


def _unknown_column(kind: str, rows: int) -> Column:
    """A column of a kind that is known beforehand, without a single cell."""
    missing = np.ones(rows, dtype=bool)
    if kind == TRUTH:
        return _truth_column(np.zeros(rows, dtype=bool), missing)
    return _number_column(np.zeros(rows), missing)


def _exact_number(cell: str) -> bool:
    """Whether a cell is a number; whole numbers that a double would change are texts, such as long ids."""
    return bool(_NUMBER.match(cell)) and not _long(cell)


def _long(cell: str) -> bool:
    return bool(_WHOLE.match(cell)) and (len(cell) > 20 or abs(int(cell)) > LARGEST)


def _odd(cells: Sequence[Any], kinds: Mapping[Any, str]) -> int | None:
    """The first row whose cell is not of the kind that most cells are; None where most are text."""
    seen = [x for x in cells[:1000] if x not in ("", None)]
    for kind in (NUMBER, TRUTH):
        if 2 * sum(1 for x in seen if kinds.get(x) == kind) > len(seen):
            return next(
                (i for i, x in enumerate(cells) if x not in ("", None) and kinds.get(x) != kind), None
            )
    return None
