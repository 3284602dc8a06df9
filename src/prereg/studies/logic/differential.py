"""A second opinion that shares nothing with the engines: own parser, own encoding, a solver from python-sat.

It makes no certificates and takes no part in a registered claim; it is there to disagree. The parser turns a
formula into postfix order by operator precedence (Dijkstra's shunting yard), the encoding is Tseitin's with
one variable per gate, and the solver is glucose4 under a budget of conflicts. Needs the extra `logic`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Verdict: TypeAlias = Literal["theorem", "non_theorem"] | None
Pair: TypeAlias = tuple[int, int]

_SPLIT = re.compile(r"'(?:\\.|[^'\\])*'|[\w$]+|<=>|<~>|<=|=>|~\||~&|\S")
_COMMENT = re.compile(r"('(?:\\.|[^'\\])*')|%.*|/\*[\s\S]*?\*/")
_STRENGTH = {"~": 9, "&": 7, "|": 6, "~&": 5, "~|": 5, "=>": 4, "<=": 4, "<=>": 3, "<~>": 3}


@dataclass(frozen=True, slots=True)
class Reading:
    """A problem in postfix order: each formula a list of letters, constants and connectives."""

    premises: list[list[str]]
    conclusion: list[str]


def read(text: str) -> Reading:
    """Read a propositional problem. ValueError for what is not one; not every malformed file is noticed."""
    tokens = _SPLIT.findall(_COMMENT.sub(lambda match: match[1] or " ", text))
    premises: list[list[str]] = []
    conclusions: list[list[str]] = []
    at = 0
    while at < len(tokens):
        if tokens[at : at + 2] != ["fof", "("] or tokens[at + 3 : at + 6 : 2] != [",", ","]:
            raise ValueError(f"not a formula: {' '.join(tokens[at : at + 6])}")
        formula, end = _postfix(tokens, at + 6)
        if tokens[end : end + 2] != [")", "."]:
            raise ValueError(f"not closed: {' '.join(tokens[end - 3 : end + 2])}")
        {"axiom": premises, "conjecture": conclusions}[tokens[at + 4]].append(formula)
        at = end + 2
    if len(conclusions) != 1:
        raise ValueError(f"{len(conclusions)} conjectures")
    return Reading(premises, conclusions[0])


def _postfix(tokens: list[str], at: int) -> tuple[list[str], int]:
    """Return a formula in postfix order and the index of the bracket that ends it."""
    out: list[str] = []
    waiting: list[str] = []
    operand_next = True
    while at < len(tokens):
        sign = tokens[at]
        if sign == ")":
            if not _unwound(waiting, out):
                break
            waiting.pop()
        elif sign in _STRENGTH and sign != "~":
            if operand_next:
                raise ValueError(f"`{sign}` without a left side")
            while waiting and waiting[-1] != "(" and _STRENGTH[waiting[-1]] >= _STRENGTH[sign]:
                out.append(waiting.pop())
            waiting.append(sign)
            operand_next = True
        elif not operand_next:
            raise ValueError(f"`{sign}` after a formula")
        elif sign in {"(", "~"}:
            waiting.append(sign)
        else:
            out.append(sign)
            operand_next = False
        at += 1
    return out, at


def _unwound(waiting: list[str], out: list[str]) -> bool:
    """Put out the connectives down to the open bracket; False if there is none."""
    while waiting and waiting[-1] != "(":
        out.append(waiting.pop())
    return bool(waiting)


@dataclass(slots=True)
class _Gates:
    """Clauses of the gates made so far; variable 1 is true."""

    variables: int = 1
    clauses: list[list[int]] = field(default_factory=lambda: [[1]])
    known: dict[tuple[str, int, int], int] = field(default_factory=dict)
    letters: dict[str, int] = field(default_factory=dict)

    def fresh(self) -> int:
        self.variables += 1
        return self.variables

    def both(self, a: int, b: int) -> int:
        """Return a literal for a and b."""
        key = ("and", min(a, b), max(a, b))
        if key not in self.known:
            gate = self.known[key] = self.fresh()
            self.clauses += [[-gate, a], [-gate, b], [gate, -a, -b]]
        return self.known[key]

    def either(self, a: int, b: int) -> int:
        """Return a literal for a or b."""
        return -self.both(-a, -b)

    def same(self, a: int, b: int) -> int:
        """Return a literal for a if and only if b."""
        key = ("same", min(a, b), max(a, b))
        if key not in self.known:
            gate = self.known[key] = self.fresh()
            self.clauses += [[-gate, -a, b], [-gate, a, -b], [gate, a, b], [gate, -a, -b]]
        return self.known[key]

    def letter(self, name: str) -> int:
        """Return the variable of a letter; quotes are no part of its name."""
        if name.startswith("'"):
            name = re.sub(r"\\(.)", r"\1", name[1:-1])
        elif name.startswith("$"):
            return {"$true": 1, "$false": -1}[name]
        if name not in self.letters:
            self.letters[name] = self.fresh()
        return self.letters[name]


def classical(text: str, *, max_conflicts: int) -> Verdict:
    """Decide a problem classically; None if the solver takes more than `max_conflicts` conflicts."""
    reading, gates = read(text), _Gates()
    either, both, same = gates.either, gates.both, gates.same
    binary: dict[str, Callable[[int, int], int]] = {
        "&": both,
        "|": either,
        "=>": lambda a, b: either(-a, b),
        "<=": lambda a, b: either(a, -b),
        "<=>": same,
        "<~>": lambda a, b: -same(a, b),
        "~&": lambda a, b: -both(a, b),
        "~|": lambda a, b: -either(a, b),
    }

    def literal(formula: list[str]) -> int:
        stack: list[int] = []
        for sign in formula:
            if sign == "~":
                stack.append(-stack.pop())
            elif sign in binary:
                right = stack.pop()
                stack.append(binary[sign](stack.pop(), right))
            else:
                stack.append(gates.letter(sign))
        (only,) = stack
        return only

    goals = [literal(formula) for formula in reading.premises]
    goals.append(-literal(reading.conclusion))
    found = _satisfiable(gates, goals, max_conflicts)
    if found is None:
        return None
    return "non_theorem" if found else "theorem"


def here_and_there(text: str, *, max_conflicts: int) -> Verdict:
    """Look for an intuitionistic countermodel of two worlds in a row; None if there is none or no budget.

    Each formula has two literals: it is forced at the lower world, at the upper world.
    """
    reading, gates = read(text), _Gates()

    def implied(a: Pair, b: Pair) -> Pair:
        above = gates.either(-a[1], b[1])
        return gates.both(gates.either(-a[0], b[0]), above), above

    def both(a: Pair, b: Pair) -> Pair:
        return gates.both(a[0], b[0]), gates.both(a[1], b[1])

    def either(a: Pair, b: Pair) -> Pair:
        return gates.either(a[0], b[0]), gates.either(a[1], b[1])

    def negated(a: Pair) -> Pair:
        return implied(a, (-1, -1))

    def same(a: Pair, b: Pair) -> Pair:
        return both(implied(a, b), implied(b, a))

    binary: dict[str, Callable[[Pair, Pair], Pair]] = {
        "&": both,
        "|": either,
        "=>": implied,
        "<=": lambda a, b: implied(b, a),
        "<=>": same,
        "<~>": lambda a, b: negated(same(a, b)),
        "~&": lambda a, b: negated(both(a, b)),
        "~|": lambda a, b: negated(either(a, b)),
    }
    lower: dict[int, int] = {1: 1, -1: -1}

    def pair(formula: list[str]) -> Pair:
        stack: list[Pair] = []
        for sign in formula:
            if sign == "~":
                stack.append(negated(stack.pop()))
            elif sign in binary:
                right = stack.pop()
                stack.append(binary[sign](stack.pop(), right))
            else:
                above = gates.letter(sign)
                if above not in lower:
                    lower[above] = gates.fresh()
                    gates.clauses.append([-lower[above], above])
                stack.append((lower[above], above))
        (only,) = stack
        return only

    goals = [pair(formula)[0] for formula in reading.premises]
    goals.append(-pair(reading.conclusion)[0])
    return "non_theorem" if _satisfiable(gates, goals, max_conflicts) else None


def _satisfiable(gates: _Gates, goals: list[int], max_conflicts: int) -> bool | None:
    from pysat.solvers import Glucose4  # noqa: PLC0415 (the extra is loaded by who asks for it)

    def clauses() -> Iterator[list[int]]:
        yield from gates.clauses
        for goal in goals:
            yield [goal]

    with Glucose4(bootstrap_with=clauses()) as solver:
        solver.conf_budget(max_conflicts)
        found = solver.solve_limited()
    assert found is None or isinstance(found, bool)
    return found
