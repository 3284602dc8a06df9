"""What a registration promises to judge, prediction by prediction, told from the registration alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.errors import IntegrityError, Place, Problem
from prereg.resolve.expand import Expanded, expand
from prereg.resolve.notes import Notes
from prereg.stored import from_stored

if TYPE_CHECKING:
    from prereg.protocol import Protocol
    from prereg.registration import Registration


def promised(registered: Registration) -> list[Expanded]:
    """The predictions of a registration in the order of its ledger, `each` written out.

    Raises:
        IntegrityError: where the stored protocol is malformed.

    """
    return expanded(from_stored(registered.content["protocol"], registered.place), registered)


def expanded(protocol: Protocol, registered: Registration) -> list[Expanded]:
    """The predictions of a protocol, `each` written out with the factors of a registration.

    Raises:
        IntegrityError: where `each` names what is not there.

    """

    def place(path: tuple[str | int, ...], key: bool = False, offset: int | None = None) -> Place:
        del path, key, offset
        return registered.place

    factors = {f["name"]: tuple(map(str, f["values"])) for f in registered.content.get("factors", [])}
    notes = Notes(place)
    out = expand(protocol, factors, notes)
    if notes.problems:
        raise IntegrityError(*[Problem(p.message, registered.place) for p in notes.problems])
    return out
