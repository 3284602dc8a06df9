"""A problem file of the TPTP language (propositional `fof`) read in one pass, without recursion.

Grammar: Sutcliffe 2017, The TPTP problem library and associated infrastructure, and the published BNF. Chains
of `&` and of `|` nest to the left; other connectives take exactly two sides. Read are the roles `axiom` and
`conjecture`, exactly one conjecture. Whatever is beyond that is refused in one line, never guessed at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from prereg.errors import InputError, Place, Problem, nearest
from prereg.studies.logic.formulas import AND, OR, Entailment, Formulas

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 20_000_000
MAX_DEPTH = 20_000

_BLANK = re.compile(r"(?:[ \t\r\n\f\v]+|%[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_TOKEN = re.compile(
    _BLANK.pattern + r"(?:(?P<word>[a-z][A-Za-z0-9_]*)"
    r"|(?P<quoted>'(?:[^'\\\x00-\x1f\x7f]|\\['\\])+')"
    r"|(?P<constant>\$[A-Za-z0-9_]*)"
    r"|(?P<connective><=>|<~>|<=|=>|~\||~&|[&|~])"
    r"|(?P<mark>[(),.])"
    r"|(?P<number>[0-9]+)"
    r"|(?P<term>[A-Z][A-Za-z0-9_]*|!=|=|\"|\[|\]|!|\?|:)|(?P<end>\Z))",
    re.DOTALL,
)
_CONNECTIVES = frozenset({"<=>", "<~>", "<=", "=>", "~|", "~&", AND, OR})
_OTHER_FORMS = frozenset({"cnf", "tff", "thf", "tcf", "tpi"})
_ROLES = ("axiom", "conjecture")
_OPEN = "("


def read_problem(path: Path, name: str | None = None) -> Entailment:
    """Read the problem file at `path`; `name` is how errors call it. Raises InputError with one problem."""
    name = path.name if name is None else name
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", Place(name))) from error
    return parse_problem(data, name)


def parse_problem(data: bytes | str, name: str = "problem") -> Entailment:
    """Parse the text of a problem file. Raises InputError with exactly one problem and its place."""
    if len(data) > MAX_BYTES:
        raise InputError(Problem(f"is larger than {MAX_BYTES} bytes", Place(name)))
    # Comments may hold any byte; outside them only ASCII makes a token.
    text = data if isinstance(data, str) else data.decode("latin-1")
    return _Parser(text, name).problem()


class _Parser:
    """One pass over a text; `kind`, `ahead` and `start` are of the token ahead."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.formulas = Formulas()
        self.end = 0
        self.advance()

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        at = self.start if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        raise InputError(Problem(message, Place(self.name, line, column)))

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self.unreadable()
        self.kind = kind = match.lastgroup or ""
        self.ahead = match[kind]
        self.start, self.end = match.span(kind)

    def unreadable(self) -> NoReturn:
        blank = _BLANK.match(self.text, self.end)
        self.start = self.end if blank is None else blank.end()
        sign = self.text[self.start]
        if not sign.isascii():
            self.fail(f"{sign!r} is not ASCII; only comments may hold such characters")
        if sign == "'":
            self.fail("a quoted name that is empty, never ends or holds a control character")
        if self.text.startswith("/*", self.start):
            self.fail("a comment that never ends")
        self.fail(f"{sign!r} means nothing in a propositional problem")

    def shown(self) -> str:
        if self.kind == "end":
            return "the end of the file"
        return f"`{self.ahead}`" if len(self.ahead) <= 40 else f"`{self.ahead[:37]}...`"

    def expect(self, mark: str, where: str) -> None:
        if self.ahead != mark or self.kind != "mark":
            if mark in ")." and self.kind != "end":
                self.fail(f"{self.shown()} where `{mark}` should close {where}; are the brackets balanced?")
            self.fail(f"`{mark}` expected {where}, not {self.shown()}")
        self.advance()

    def problem(self) -> Entailment:
        names: set[str] = set()
        axioms: list[int] = []
        conjecture: int | None = None
        while self.kind != "end":
            at = self.start
            name, role, formula = self.annotated()
            if name in names:
                self.fail(f"the name `{name}` is used twice", at)
            names.add(name)
            if role == "axiom":
                axioms.append(formula)
            elif conjecture is not None:
                self.fail("a second conjecture; a problem has one", at)
            else:
                conjecture = formula
        if conjecture is None:
            missing = "no conjecture" if names else "no formula in it: the file is empty"
            raise InputError(Problem(f"there is {missing}", Place(self.name)))
        return Entailment(self.name.removesuffix(".p"), self.formulas, tuple(axioms), conjecture)

    def annotated(self) -> tuple[str, str, int]:
        if self.ahead == "include" and self.kind == "word":
            self.fail("includes are not followed; put the formulas into the file")
        if self.ahead in _OTHER_FORMS:
            self.fail(f"`{self.ahead}` is not read, only `fof`")
        if self.ahead != "fof" or self.kind != "word":
            self.fail(f"`fof(` expected at the start of a formula, not {self.shown()}")
        self.advance()
        self.expect("(", "after `fof`")
        if self.kind not in ("word", "quoted", "number"):
            self.fail(f"a name expected, not {self.shown()}")
        name = self.ahead
        if self.kind == "quoted":
            name = _unquoted(name)
        self.advance()
        self.expect(",", "after the name of a formula")
        role = self.ahead
        if self.kind != "word" or role not in _ROLES:
            meant = nearest(role, _ROLES)
            hint = f"did you mean `{meant}`?" if meant else "`axiom` or `conjecture` expected"
            self.fail(f"unknown role {self.shown()}; {hint}")
        self.advance()
        self.expect(",", "after the role")
        formula = self.formula()
        if self.ahead == "," and self.kind == "mark":
            self.fail("annotations after a formula are not read")
        if self.kind not in {"mark", "end"}:
            self.fail(f"a connective or `)` expected, not {self.shown()}")
        self.expect(")", "the formula")
        self.expect(".", "the formula")
        return name, role, formula

    def formula(self) -> int:
        """Read one formula up to the bracket that closes `fof(`.

        One open bracket on the stack stands for an unfinished formula: what is on its left, the connective
        between, and how many `~` wait in front of it.
        """
        formulas = self.formulas
        stack: list[tuple[int, str, int]] = []
        negations = 0  # read just before the unit ahead
        left, connective = -1, ""  # -1: nothing yet
        depth = 0
        while True:
            # A unit is expected here.
            if self.ahead == "~" and self.kind == "connective":
                negations += 1
                self.deep(depth + negations)
                self.advance()
                continue
            if self.ahead == _OPEN and self.kind == "mark":
                stack.append((left, connective, negations))
                depth += negations + 1
                self.deep(depth)
                left, connective, negations = -1, "", 0
                self.advance()
                continue
            unit = self.atom()
            while True:
                for _ in range(negations):
                    unit = formulas.negation(unit)
                negations = 0
                if left >= 0:
                    unit = formulas.joined(connective, left, unit)
                left = unit
                if self.kind == "connective":
                    connective = self.following(connective)
                    break
                if not stack:
                    return left
                if self.ahead != ")" or self.kind != "mark":
                    self.after_unit()
                self.advance()
                unit = left
                left, connective, negations = stack.pop()
                depth -= negations + 1

    def following(self, before: str) -> str:
        """Take the connective ahead; `before` is the one already used between these brackets."""
        token = self.ahead
        if token not in _CONNECTIVES:
            self.fail(f"{self.shown()} cannot stand between two formulas")
        if before and (token != before or token not in (AND, OR)):
            self.fail(f"{self.shown()} after `{before}` needs brackets")
        self.advance()
        return token

    def deep(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels")

    def atom(self) -> int:
        at, kind, word = self.start, self.kind, self.ahead
        if kind == "constant":
            if word not in ("$true", "$false"):
                self.fail(f"unknown constant {self.shown()}; `$true` and `$false` are read")
            formula = self.formulas.constant(word == "$true")
        elif kind in ("word", "quoted"):
            formula = self.formulas.letter(_unquoted(word) if kind == "quoted" else word)
        elif kind in ("term", "number"):
            self.fail(f"{self.shown()} is first-order; only propositional formulas are read")
        else:
            self.fail(f"a formula expected, not {self.shown()}; are the brackets balanced?")
        self.advance()
        if self.ahead == "(" or self.kind == "term":
            self.fail(f"`{word}` has terms; only propositional formulas are read", at)
        return formula

    def after_unit(self) -> NoReturn:
        if self.kind == "end" or self.ahead in (".", ","):
            self.fail(f"a bracket is still open at {self.shown()}")
        self.fail(f"a connective or `)` expected, not {self.shown()}")


def _unquoted(token: str) -> str:
    r"""Return what a quoted name names: the text between the quotes, `\'` and `\\` undone."""
    return re.sub(r"\\(.)", r"\1", token[1:-1])
