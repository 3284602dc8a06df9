"""Change a promise in the open: a registration that names its parent, the reason, and what had been seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prereg import lock, registration
from prereg.deviations import touched
from prereg.differences import changes
from prereg.direction import directed
from prereg.errors import InputError, IntegrityError, MissingError, Place, PreregError, Problem
from prereg.prose import prose
from prereg.seen import seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prereg.check import Checked
    from prereg.lock import Locked
    from prereg.project import Project
    from prereg.registration import Registration

Tree = dict[str, Any]
_LEAST_LETTERS = 10
_EMPTY_WORD = re.compile(
    r"an?|and|as|asked|bug|bugfix|change[ds]?|fix(es|ed)?|it|just|misc|na?|no|none|nothing|ok(ay)?|other|"
    r"reasons?|some|stuff|tbd|test(ing)?|text|the|this|things?|to|todo|update[ds]?|various|wip|words?|x+|y|yes|"
    r"[0-9]+"
)
"""A reason of nothing but these says nothing."""


def reason_of(text: str) -> str:
    """A reason, in words that tell a reader something.

    Raises:
        InputError: where it is no prose, a single word, or of nothing but words such as `ok` and `update`.

    """
    text = prose(text, "reason")
    words = re.findall(r"\w+", text.casefold())
    if all(_EMPTY_WORD.fullmatch(word) for word in words):
        raise InputError(f"prereg: `{text[:64]}` is no reason: say in words why it changes")
    if len(text.split()) < 2 and (text.isascii() or len(text) < _LEAST_LETTERS):
        raise InputError("prereg: a single word is no reason: say in words why it changes")
    return text


def amend(project: Project, checked: Checked, reason: str, parents: Sequence[str] = ()) -> Locked:
    """Register a changed protocol as an amendment of what is current under its id.

    Args:
        project: where it lives.
        checked: the changed protocol.
        reason: why, in words.
        parents: the registrations it takes the place of, by the beginnings of their digests; needed where
            several are current, then all of them, the one it was changed from first.

    Raises:
        InputError: where the reason is none, nothing differs, or a parent is not current.
        MissingError: where nothing is registered under the id.

    """
    reason = reason_of(reason)
    name = checked.protocol.id
    every = registration.of_id(project, name)
    lost = registration.unknown_parents(every)
    if lost:
        raise IntegrityError(*lost)
    chosen = _parents(name, registration.heads(every), parents, every)
    content, _ = lock.prepare(checked)
    first = chosen[0]
    if len(chosen) == 1 and not list(changes(_bare(first.content), content)):
        amends = first.content.get("amends")
        if amends is not None and amends["reason"] == reason:
            path = project.registrations(name) / f"{first.short}.json"
            return lock.Locked(first, path, new=False)
        raise InputError(
            Problem(
                f"nothing differs from {first.short}, which is current; a deviation that changes nothing is "
                "a note (prereg note)",
                Place(checked.name),
            )
        )
    content["amends"] = {
        "digest": first.digest,
        "reason": reason,
        **_compared(registration.Registration(content, {}, "", checked.name), chosen),
        "seen": seen(project, name, content["data"]["files"]),
    }
    return lock.write(project, checked, content)


def _bare(content: Tree) -> Tree:
    return {key: value for key, value in content.items() if key != "amends"}


def _parents(
    name: str, heads: list[Registration], wanted: Sequence[str], every: list[Registration]
) -> list[Registration]:
    """The current registrations, in the order asked for."""
    place = Place(f"registrations/{name}")
    if not wanted:
        if len(heads) > 1:
            raise InputError(registration.several(name, heads))
        return heads
    out: list[Registration] = []
    for digest in wanted:
        found = [one for one in every if len(digest) >= 6 and one.digest.startswith(digest)]
        if not found:
            known = ", ".join(one.short for one in heads)
            raise MissingError(Problem(f"no registration `{digest[:64]}`; current: {known}", place))
        if len(found) > 1 or found[0] in out:
            raise InputError(Problem(f"`{digest[:64]}` names no single registration, or one twice", place))
        if found[0] not in heads:
            raise InputError(
                Problem(
                    f"{found[0].short} is superseded already; an amendment changes what is current", place
                )
            )
        out += found
    if len(out) < len(heads):
        raise InputError(registration.several(name, heads))
    return out


def _compared(own: Registration, parents: Sequence[Registration]) -> Tree:
    """What an amendment says about itself and its parents: it can be computed again from their files."""
    compared = [(parent, directed(parent.content, own.content)) for parent in parents]
    return {
        "changes": compared[0][1],
        "supersedes": [{"digest": parent.digest, "changes": found} for parent, found in compared[1:]],
        "touched": touched(own, compared),
    }


def problems(own: Registration, every: Sequence[Registration]) -> list[Problem]:
    """What an amendment says about its changes and is not so; nothing for a first registration.

    What had been seen is not computed again: it was true on its day.
    """
    amends = own.content.get("amends")
    if amends is None:
        return []
    known = {one.digest: one for one in every}
    digests = registration.amended(own.content)
    if any(digest not in known for digest in digests):
        return []  # told as `unknown_parents`
    try:
        now = _compared(own, [known[digest] for digest in digests])
    except PreregError as error:
        return [Problem(p.message, own.place) for p in error.problems]
    if {key: amends.get(key) for key in now} != now:
        found = [
            str(change)
            for key, value in now.items()
            for change in changes(amends.get(key), value, f"amends.{key}")
        ]
        return [
            Problem(f"the changes it names are not those since its parent: {said}", own.place)
            for said in found[:5]
        ]
    return []
