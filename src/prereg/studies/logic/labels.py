"""What a library says of its problems: two status lines in two logics, in file headers or in a table.

`% Status (intuit.) : X` is the intuitionistic line, `% Status : X` the classical one; a pattern that takes
the one for the other turns every intuitionistic non-theorem into a false classical label.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from prereg.errors import InputError, Place, Problem, suggestion

if TYPE_CHECKING:
    from pathlib import Path

    from prereg.studies.logic.search import Claim

_LINE = re.compile(r"^%[ \t]*Status[ \t]*(\([^)\n]*\))?[ \t]*:[ \t]*([^\s]*)", re.MULTILINE)
_INTUITIONISTIC = "(intuit.)"
_CLAIMS: dict[str, Claim | None] = {
    "Theorem": "theorem",
    "Non-Theorem": "non_theorem",
    "CounterSatisfiable": "non_theorem",
    "Unsolved": None,
    "Open": None,
    "Unknown": None,
    "": None,
}


@dataclass(frozen=True, slots=True)
class Labels:
    """What a procedure of each logic may be scored against; None where nothing is known.

    An intuitionistic theorem is a classical one and a classical non-theorem an intuitionistic one; nothing
    else carries over.
    """

    intuitionistic: Claim | None
    classical: Claim | None


def header_labels(data: bytes | str, name: str = "problem") -> Labels:
    """Read the status lines of a problem file. Raises InputError for an unknown word or a second line."""
    text = data if isinstance(data, str) else data.decode("latin-1")
    found: dict[str, str] = {}
    for match in _LINE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if (match[1] or "") not in ("", _INTUITIONISTIC):
            continue
        if (match[1] or "") in found:
            raise InputError(Problem("the status is given twice", Place(name, line)))
        if match[2] not in _CLAIMS:
            _unknown(match[2], Place(name, line))
        found[match[1] or ""] = match[2]
    return _labels(found.get(_INTUITIONISTIC, ""), found.get("", ""), Place(name))


def table_labels(
    path: Path, *, intuitionistic: str = "intuit_status", classical: str = "classical_status"
) -> dict[str, Labels]:
    """Read labels from a CSV table by problem; the columns with the two statuses may be chosen.

    Raises InputError for a missing column, an unknown word, a problem listed twice.
    """
    labels: dict[str, Labels] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = reader.fieldnames or ()
            for column in ("problem", intuitionistic, classical):
                if column not in columns:
                    hint = suggestion(column, columns)
                    raise InputError(Problem(f"there is no column `{column}`{hint}", Place(path.name, 1)))
            for row in reader:
                place = Place(path.name, reader.line_num)
                name = row["problem"]
                if name in labels:
                    raise InputError(Problem(f"`{name}` is listed twice", place))
                words = [row[column] or "" for column in (intuitionistic, classical)]
                for word in words:
                    if word not in _CLAIMS:
                        _unknown(word, place)
                labels[name] = _labels(words[0], words[1], place)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem(f"cannot be read as a table: {error}", Place(path.name))) from error
    return labels


def _unknown(word: str, place: Place) -> NoReturn:
    known = [status for status in _CLAIMS if status]
    raise InputError(Problem(f"unknown status `{word}`{suggestion(word, known)}", place))


def _labels(intuitionistic: str, classical: str, place: Place) -> Labels:
    constructive, plain = _CLAIMS[intuitionistic], _CLAIMS[classical]
    if constructive == "theorem" and plain == "non_theorem":
        raise InputError(Problem("a theorem intuitionistically cannot fail classically", place))
    if constructive == "theorem":
        plain = "theorem"
    if plain == "non_theorem":
        constructive = "non_theorem"
    return Labels(constructive, plain)
