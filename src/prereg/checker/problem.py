"""The propositional part of TPTP's fof, read strictly: what could be read in two ways is refused.

One loop over the tokens with a stack of its own, so depth costs memory but no recursion. Two connectives
without brackets between them are accepted only where TPTP's grammar has them: chains of & and chains of |,
both read from the left.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from prereg.checker.bounds import BudgetSpentError, RefusedError
from prereg.checker.formulas import AND, FALSE, IMPLIES, OR, TRUE, Formulas

if TYPE_CHECKING:
    from prereg.checker.bounds import Budget

__all__ = ["Problem", "read_formula", "read_problem"]

# TPTP: all of these are used like axioms.
_AXIOMS = frozenset({"axiom", "hypothesis", "definition", "assumption", "lemma", "theorem", "corollary"})

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f\v]+ | %[^\n]* | /\*.*?\*/)
      | (?P<word>[a-z][A-Za-z0-9_]*)
      | (?P<quoted>'(?:[^'\\\x00-\x1f\x7f] | \\['\\])+')
      | (?P<number>[0-9]+)
      | (?P<constant>\$[a-z][A-Za-z0-9_]*)
      | (?P<connective><=> | <~> | => | <= | ~\| | ~& | [&|~])
      | (?P<mark>[(),.])
      | (?P<loose>[\[\]:A-Z_"$+-])  # only what may follow a formula has any use for these
      | (?P<wrong>.)  # so that no text is searched for a token further on
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Whether the axioms, in the order of the file with repeats, entail the conjecture."""

    formulas: Formulas
    axioms: tuple[int, ...]
    conjecture: int


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Tokens:
    """The tokens of a text, of which one is `now`; the last one has the kind `end`."""

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._list: list[_Token] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            if kind == "wrong":
                raise self.wrong(f"{found[0]!a} begins nothing that is known", found.start())
            if kind != "blank":
                self._list.append(_Token(kind, found[0], found.start()))
        budget.spend(len(self._list))
        self._list.append(_Token("end", "", len(text)))
        self._at = 0
        self.now = self._list[0]

    def advance(self) -> _Token:
        """Step to the next token, if there is one, and return it."""
        self._at = min(self._at + 1, len(self._list) - 1)
        self.now = self._list[self._at]
        return self.now

    def expect(self, text: str, where: str) -> None:
        """Step over the given mark."""
        if self.now.text != text or self.now.kind != "mark":
            raise self.wrong(f"expected {text!a} {where}, found {shown(self.now)}")
        self.advance()

    def wrong(self, message: str, start: int | None = None) -> RefusedError:
        at = self.now.start if start is None else start
        return RefusedError(f"line {self._text.count(chr(10), 0, at) + 1}: {message}")


def shown(token: _Token) -> str:
    """Return a token as a message shows it, of bounded length."""
    return "the end" if token.kind == "end" else ascii(token.text[:40])


def read_problem(text: str, budget: Budget) -> Problem:
    """Return the problem of a file's text. Raises RefusedError with the line, or BudgetSpentError.

    Names of formulas mean nothing for what is entailed and are not compared.
    """
    if len(text) > budget.bounds.problem:
        raise BudgetSpentError(f"a problem of more than {budget.bounds.problem} characters")
    formulas = Formulas(budget)
    tokens = _Tokens(text, budget)
    axioms: list[int] = []
    conjectures: list[int] = []
    while tokens.now.kind != "end":
        if tokens.now.kind != "word" or tokens.now.text != "fof":
            raise tokens.wrong(f"expected fof, found {shown(tokens.now)}")
        tokens.advance()
        tokens.expect("(", "after fof")
        if tokens.now.kind not in {"word", "quoted", "number"}:
            raise tokens.wrong(f"expected the name of a formula, found {shown(tokens.now)}")
        tokens.advance()
        tokens.expect(",", "after the name")
        role = tokens.now
        if role.kind != "word" or (role.text not in _AXIOMS and role.text != "conjecture"):
            raise tokens.wrong(f"unknown role {shown(role)}")
        tokens.advance()
        tokens.expect(",", "after the role")
        formula = _formula(tokens, formulas)
        _skip_annotations(tokens)
        tokens.expect(")", "after the formula")
        tokens.expect(".", "after the last bracket")
        (conjectures if role.text == "conjecture" else axioms).append(formula)
    if len(conjectures) != 1:
        raise RefusedError(f"expected one conjecture, found {len(conjectures)}")
    return Problem(formulas, tuple(axioms), conjectures[0])


def read_formula(text: str, formulas: Formulas) -> int:
    """Return the formula that is the whole of a text. Raises RefusedError."""
    tokens = _Tokens(text, formulas.budget)
    formula = _formula(tokens, formulas)
    if tokens.now.kind != "end":
        raise tokens.wrong(f"expected the end of the formula, found {shown(tokens.now)}")
    return formula


def _formula(tokens: _Tokens, formulas: Formulas) -> int:
    # What is open around the present bracket: connective, what stands left of it, negations of the bracket.
    stack: list[tuple[str, int, int]] = []
    connective, left, negations = "", -1, 0
    while True:
        token = tokens.now
        if token.text == "~":
            negations += 1
            tokens.advance()
            continue
        if token.text == "(" and token.kind == "mark":
            stack.append((connective, left, negations))
            connective, left, negations = "", -1, 0
            tokens.advance()
            continue
        value = _atom(tokens, formulas)
        while True:
            for _ in range(negations):
                value = formulas.negation(value)
            left = _combined(formulas, connective, left, value)
            token = tokens.now
            if token.kind == "connective" and token.text != "~":
                if connective and (connective != token.text or connective not in {"&", "|"}):
                    raise tokens.wrong(f"{connective!a} and {token.text!a} need brackets between them")
                connective, negations = token.text, 0
                tokens.advance()
                break
            if not stack:
                return left
            if token.text != ")" or token.kind != "mark":
                raise tokens.wrong(f"expected a connective or ')', found {shown(token)}")
            tokens.advance()
            value = left
            connective, left, negations = stack.pop()


def _atom(tokens: _Tokens, formulas: Formulas) -> int:
    token = tokens.now
    if token.kind == "constant" and token.text in {"$true", "$false"}:
        formula = TRUE if token.text == "$true" else FALSE
    elif token.kind == "word":
        formula = formulas.letter(token.text)
    elif token.kind == "quoted":
        formula = formulas.letter(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
    else:
        raise tokens.wrong(f"expected a formula, found {shown(token)}")
    if tokens.advance().text == "(" and tokens.now.kind == "mark":
        raise tokens.wrong(f"{shown(token)} has arguments: only propositional letters are read")
    return formula


def _combined(formulas: Formulas, connective: str, left: int, right: int) -> int:
    match connective:
        case "":
            return right
        case "&":
            return formulas.join(AND, left, right)
        case "|":
            return formulas.join(OR, left, right)
        case "=>":
            return formulas.join(IMPLIES, left, right)
        case "<=":
            return formulas.join(IMPLIES, right, left)
        case "<=>":
            return formulas.equivalence(left, right)
        case "<~>":
            return formulas.negation(formulas.equivalence(left, right))
        case "~|":
            return formulas.negation(formulas.join(OR, left, right))
        case _:  # ~&
            return formulas.negation(formulas.join(AND, left, right))


def _skip_annotations(tokens: _Tokens) -> None:
    """Step over source and information, which say nothing about what is entailed."""
    if tokens.now.text != "," or tokens.now.kind != "mark":
        return
    depth = 0
    while tokens.now.kind != "end":
        if tokens.now.kind in {"mark", "loose"}:
            if tokens.now.text == ")" and depth == 0:
                return
            depth += (tokens.now.text in {"(", "["}) - (tokens.now.text in {")", "]"})
        tokens.advance()
