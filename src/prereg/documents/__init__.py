"""The shapes of what is stored: a file with a valid digest may hold anything, and is refused by its shape.

Types and required keys are strict; further keys are allowed, so that what a later version adds can be read.
Whether a stored protocol makes sense is not said here: `stored` and `resolve` say it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pydantic_core import ValidationError

from prereg.documents.attempts import AttemptEnd, AttemptStart, Note, Witness
from prereg.documents.common import Circumstances
from prereg.documents.ledger import Condition, LedgerContent, Leg
from prereg.documents.registration import RegistrationContent, RegistrationEnvelope
from prereg.documents.rehearsals import RehearsalEnd, RehearsalStart
from prereg.errors import IntegrityError, Place, Problem
from prereg.numerals import shown
from prereg.validation import validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import SchemaValidator

_MOST = 10

SHAPES: dict[str, dict[str, Any]] = {
    "registration": {"content": RegistrationContent, "envelope": RegistrationEnvelope},
    "ledger": {"content": LedgerContent, "envelope": Circumstances},
    "condition": {"falsifier": Condition},
    "counterclaim": {"falsifier": Leg},
    "attempt": {"start": AttemptStart, "end": AttemptEnd | None},
    "witness": {"content": Witness, "envelope": None},
    "note": {"content": Note, "envelope": Circumstances},
    "rehearsal": {"start": RehearsalStart, "end": RehearsalEnd | None},
}
"""The parts of each kind of file, and the two forms of a falsifier in a ledger."""


@functools.cache
def _validator(kind: str, part: str) -> SchemaValidator:
    return validator(SHAPES[kind][part])


def check(kind: str, parts: dict[str, Any], name: str) -> None:
    """Refuse a file whose parts do not have the shape of their kind.

    Raises:
        IntegrityError: what is malformed and where, at most ten of them.

    """
    problems: list[Problem] = []
    for part, tree in parts.items():
        try:
            _validator(kind, part).validate_python(tree, strict=True)
        except ValidationError as error:
            problems += [Problem(f"malformed: {said}", Place(name)) for said in _said(part, error)]
    if problems:
        raise IntegrityError(*list(dict.fromkeys(problems))[:_MOST])


def _said(part: str, error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False)[:_MOST]:
        where = part
        for step in item["loc"]:
            where += f"[{step}]" if isinstance(step, int) else f".{step}"
        why = "is missing" if item["type"] == "missing" else f"is not as expected: {item['msg']}"
        yield f"{shown(where)} {why}"
