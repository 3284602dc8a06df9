"""Problems and warnings gathered while a protocol is resolved, so that all of them are told at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prereg.errors import InputError, Problem, file_order
from prereg.expression.syntax import ExpressionError, Node, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prereg.plan import Places

Path = tuple[str | int, ...]


_ABOUT_TEXT = re.compile(r"(found|compare) (a )?text|with a text")


class Notes:
    """The problems and warnings so far."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.settled: list[Problem] = []
        """Claims and falsifiers that come out one way whatever the records say; a rehearsal shows them."""
        self.unjudged: list[Problem] = []
        """Legs that the registered evidence cannot judge."""
        self.odd: dict[str, str] = {}
        """Per column: why it is not the numbers or truth values that most of its cells are."""

    def problem(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note a problem at a value (or key) of the protocol."""
        self.problems.append(Problem(message, self.places(path, key=key)))

    def warn(self, path: Path, message: str) -> None:
        """Note something that is allowed and deserves a look."""
        self.warnings.append(Problem(f"warning: {message}", self.places(path)))

    def expressions(self, path: Path, text: str, errors: Iterable[ExpressionError]) -> None:
        """Note problems of an expression, each at its character and with a caret before it."""
        for error in errors:
            place = self.places(path, offset=error.start)
            message, why = error.message, self.why(text, error.message)
            if why:  # the cell is what is wrong, not the expression
                message = message.removesuffix("; this column is text: quote the value") + why
            self.problems.append(Problem(f"{message}   {_caret(text, error.start)}", place))

    def why(self, text: str, message: str) -> str:
        """For a message about the type of a column: the cell that made it what it is."""
        said = ""
        for name, reason in self.odd.items():
            known = "unknown" in message and f"`{name}`" in message
            if (known or _ABOUT_TEXT.search(message)) and re.search(rf"\b{re.escape(name)}\b", text):
                said += f"; column `{name}` {reason}"
        return said

    def parse(self, path: Path, text: str) -> Node | None:
        """The tree of an expression; None where it cannot be read."""
        try:
            return parse(text)
        except ExpressionError as error:
            self.expressions(path, text, [error])
            return None

    def stop_if_broken(self) -> None:
        """Raise what was gathered, in the order of the file, where later stages would make no sense."""
        if self.problems:
            every = [*self.problems, *self.settled, *self.unjudged]
            raise InputError(*sorted(dict.fromkeys(every), key=file_order))


def _caret(text: str, at: int, around: int = 24) -> str:
    """The expression with `^` before the character; cut to its surroundings where it is long."""
    begin, end = max(0, at - around), min(len(text), at + 2 * around)
    head = ("…" if begin else "") + text[begin:at]
    tail = text[at:end] + ("…" if end < len(text) else "")
    return " ".join(f"[{head}^{tail}]".split())
