"""Claims: a statement over metrics of policies, taken apart into legs that can be judged one by one.

A claim is a tree of junctions over legs.  Its pieces may still be vectors: `all(c)` and `any(c)` fold a
vector into one leg per policy, undefined ones included.  What is left at the top must be one truth value.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field, replace
from prereg.decimals import difference
from prereg.errors import quoted
from prereg.expression import ranges, syntax
from prereg.expression.operators import TURNED
from prereg.expression.policies import REDUCE, Compiler
from prereg.expression.policy_functions import grouped
from prereg.expression.terms import (
    BROKEN,
    LABEL,
    TRUTH,
    Facts,
    Frame,
    Result,
    Term,
    guards,
    merge_facts,
    spread,
)
from prereg.values import SCALAR, AlignmentError, Axes, meet, positions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prereg.expression.syntax import Node

Outcomes = tuple[bool, bool]  # can be true, can be false


@dataclass(frozen=True, eq=False)
class Rate:
    """A side of a comparison that is one metric itself: where its units can be counted for an exact test."""

    name: str
    degenerate: str | None
    where: np.ndarray  # position among the metric's own policies, per policy of the leg; -1: none


@dataclass(frozen=True, eq=False)
class Leg:
    """An elementary comparison `left op right` (or a truth value without a difference, op None).

    `lay` evaluates it on other axes, by key; `floating`: it takes the factors of what it meets.
    """

    number: int
    text: str
    axes: Axes
    op: str | None
    lay: Callable[[Axes], Callable[[Frame], LegValues]]
    can: Outcomes
    floating: bool = False
    point_only: bool = False
    two_sided: bool = False
    left: Rate | None = None
    right: Rate | None = None
    constant: float | None = None  # of the side that is a number, where the other is a metric or `gap`
    flipped: bool = False  # the number stands on the left
    gap: tuple[Rate, Rate] | None = None  # the two metrics a and b where one side is a - b

    @functools.cached_property
    def evaluate(self) -> Callable[[Frame], LegValues]:
        """The leg in one block of resamples."""
        return self.lay(self.axes)


@dataclass(frozen=True, eq=False)
class LegValues:
    """A leg in one block: d or truth (R, P); at the point also both sides and the facts."""

    data: np.ndarray
    left: np.ndarray | None = None
    right: np.ndarray | None = None
    facts: Facts | None = None


@dataclass(frozen=True, eq=False)
class Branch:
    """`and` / `or` of pieces; `where` lays each child's policies out on the branch's."""

    op: str
    text: str
    axes: Axes
    children: tuple[tuple[Piece, np.ndarray], ...]
    can: Outcomes


@dataclass(frozen=True, eq=False)
class Opposite:
    """`not` of a piece."""

    text: str
    axes: Axes
    child: Piece
    can: Outcomes


@dataclass(frozen=True, eq=False)
class Fold:
    """`all` / `any` of a vector: one child per policy of each group."""

    op: str
    text: str
    axes: Axes
    child: Piece
    groups: tuple[np.ndarray, ...]
    can: Outcomes


Piece = Leg | Branch | Opposite | Fold


@dataclass(frozen=True, eq=False)
class Claim:
    """A compiled claim: its tree, its legs in the order written, and whom it speaks of."""

    root: Piece
    legs: tuple[Leg, ...]
    guard: bool

    @property
    def simple(self) -> bool:
        """The whole claim is one leg."""
        return isinstance(self.root, Leg)


@dataclass
class ClaimCompiler:
    """Takes a claim apart; problems go to the policy compiler's list."""

    compiler: Compiler
    source: str
    legs: list[Leg] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    point_only: bool = False

    def claim(self, node: Node) -> Claim | None:
        """The claim, or None where it has a problem (which has been noted)."""
        before = len(self.compiler.problems)
        root = self.piece(node)
        if root is None or len(self.compiler.problems) > before:
            return None
        if not root.axes.scalar:
            self.compiler.fail(
                f"a claim is one truth value, this compares {_policies(root.axes)} "
                f"({', '.join(root.axes.factors)}): {REDUCE}",
                node,
            )
            return None
        if not any(t.reads_metric for t in self.terms):
            self.compiler.fail("a claim without a metric says nothing about the records", node)
            return None
        return Claim(root, tuple(self.legs), guards(*self.terms) is True)

    def _text(self, node: Node) -> str:
        return syntax.written(node, self.source)

    def piece(self, node: Node) -> Piece | None:
        """The piece of a tree; None where it has a problem."""
        match node:
            case syntax.Junction(op=op, operands=operands):
                return self._branch(node, op, [self.piece(x) for x in operands])
            case syntax.Negation(operand=inner):
                child = self.piece(inner)
                if child is None:
                    return None
                return Opposite(self._text(node), child.axes, child, (child.can[1], child.can[0]))
            case syntax.Chain(operands=operands, ops=ops):
                links = list(zip(ops, operands, operands[1:], strict=False))
                if len(links) == 1:
                    return self._leg(node, *links[0])
                if self.compiler.holds_nothing(node):
                    return None
                return self._branch(node, "and", [self._leg(node, *link) for link in links])
            case syntax.Within(operand=inner, low=low, high=high):
                if self.compiler.holds_nothing(node):
                    return None
                low_leg = self._leg(node, ">=", inner, low)
                return self._branch(node, "and", [low_leg, self._leg(node, "<=", inner, high)])
            case syntax.Call(function="all" | "any"):
                return self._fold(node)
            case syntax.Call(function="point", arguments=arguments):
                if len(arguments) != 1 or node.over is not None:
                    self.compiler.fail("`point` takes one claim", node)
                    return None
                before, self.point_only = self.point_only, True
                try:
                    return self.piece(arguments[0])
                finally:
                    self.point_only = before
            case syntax.Call(function="differs", arguments=arguments):
                if len(arguments) != 2 or node.over is not None:
                    self.compiler.fail("`differs` takes two numbers", node)
                    return None
                return self._leg(node, "!=", *arguments, two_sided=True)
            case syntax.Name(name=name) if (
                name in self.compiler.env.lets and name not in self.compiler.env.broken
            ):
                return self._let(node, name)
            case _:
                return self._statement(node)

    def _let(self, node: syntax.Name, name: str) -> Piece | None:
        env, problems = self.compiler.env, self.compiler.problems
        term = self.compiler.term(node)
        if term.kind == BROKEN:
            return None
        if term.kind != TRUTH:
            return self._statement(node)
        before, source = len(problems), self.source
        self.source = env.texts.get(name, "")
        try:
            return self.piece(env.lets[name])
        finally:
            self.source = source
            for i in range(before, len(problems)):  # the characters of the let are not those of the claim
                problems[i] = syntax.ExpressionError(problems[i].message, node.start, node.end)

    def _statement(self, node: Node) -> Leg | None:
        term = self.compiler.term(node)
        if term.kind == BROKEN:
            return None
        if term.kind != TRUTH:
            self.compiler.fail("a claim is a truth value: compare it with something", node)
            return None
        return self._truth(node, term)

    def _truth(self, node: Node, term: Term) -> Leg:
        self.terms.append(term)

        def lay(axes: Axes) -> Callable[[Frame], LegValues]:
            values = spread(term, axes)

            def evaluate(frame: Frame) -> LegValues:
                result = values(frame)
                return LegValues(result.data, facts=result.facts)

            return evaluate

        leg = Leg(len(self.legs), self._text(node), term.axes, None, lay, (True, True), term.floating)
        return self._keep(leg)

    def _keep(self, leg: Leg) -> Leg:
        leg = replace(leg, point_only=self.point_only)
        self.legs.append(leg)
        return leg

    def _leg(self, node: Node, op: str, left: Node, right: Node, *, two_sided: bool = False) -> Leg | None:
        x, y = self.compiler.link(op, left, right)
        if BROKEN in (x.kind, y.kind):
            return None
        if x.kind == LABEL:
            if two_sided:
                self.compiler.fail("`differs` compares numbers; write `!=`", node)
                return None
            term = self.compiler.compare(node, op, left, right)
            return None if term.kind == BROKEN else self._truth(node, term)
        met = self.compiler.meet(node, [x, y])
        if met is None:
            return None
        self.terms += [x, y]
        single = two_sided or (isinstance(node, syntax.Chain) and len(node.ops) == 1)
        can = ranges.outcomes(op, x.range, y.range)
        if self.compiler.alike(left, right):
            can = ranges.outcomes(op, ranges.ZERO, ranges.ZERO)
        leg = Leg(
            len(self.legs),
            self._text(node) if single else f"{self._text(left)} {op} {self._text(right)}",
            met[0],
            op,
            lambda axes: _difference(spread(x, axes), spread(y, axes)),
            can,
            all(t.floating or t.axes.scalar for t in (x, y)) and (x.floating or y.floating),
            two_sided=two_sided,
        )
        return self._keep(self._with_rates(leg, left, right, x, y))

    def _gap(self, node: Node) -> tuple[Term, Term] | None:
        """The two metrics of `a - b`."""
        lets = self.compiler.env.lets
        while isinstance(node, syntax.Name) and node.name in lets:
            node = lets[node.name]
        if not isinstance(node, syntax.Arithmetic) or node.op != "-":
            return None
        a, b = self.compiler.term(node.left), self.compiler.term(node.right)
        return None if a.metric is None or b.metric is None else (a, b)

    def _with_rates(self, leg: Leg, left: Node, right: Node, x: Term, y: Term) -> Leg:
        """What an exact test needs: a metric against a number, or two metrics over the same units."""
        if y.constant == 0 and (gap := self._gap(left)) is not None:
            return replace(leg, left=_rate(gap[0], leg.axes), right=_rate(gap[1], leg.axes))
        if x.constant == 0 and (gap := self._gap(right)) is not None:  # 0 - (a - b) is b - a
            return replace(leg, left=_rate(gap[1], leg.axes), right=_rate(gap[0], leg.axes))
        for side, bar, flipped in ((left, y.constant, False), (right, x.constant, True)):
            if bar is not None and (gap := self._gap(side)) is not None:
                a, b = (_rate(metric, leg.axes) for metric in gap)
                if a is not None and b is not None:
                    return replace(leg, gap=(a, b), constant=bar, flipped=flipped)
        if x.metric is not None and y.metric is not None:
            return replace(leg, left=_rate(x, leg.axes), right=_rate(y, leg.axes))
        if x.metric is not None and y.constant is not None:
            return replace(leg, left=_rate(x, leg.axes), constant=y.constant)
        if y.metric is not None and x.constant is not None:
            return replace(leg, left=_rate(y, leg.axes), constant=x.constant, flipped=True)
        return leg

    def _branch(self, node: Node, op: str, pieces: Sequence[Piece | None]) -> Piece | None:
        known = [p for p in pieces if p is not None]
        if len(known) < len(pieces):
            return None
        try:
            fixed = [p.axes for p in known if not _floating(p)]
            axes = meet(*fixed) if fixed else SCALAR
            loose = sorted((p for p in known if _floating(p)), key=lambda p: -len(p.axes.factors))
            for piece in loose:
                if not set(piece.axes.factors) <= set(axes.factors):
                    axes = meet(axes, piece.axes)
        except AlignmentError as error:
            names = quoted([*error.only_left, *error.only_right])
            self.compiler.fail(f"these parts do not align: only one has the factor {names}; {REDUCE}", node)
            return None
        can = [p.can for p in known]
        if op == "and":
            outcome = all(c[0] for c in can), any(c[1] for c in can)
        else:
            outcome = any(c[0] for c in can), all(c[1] for c in can)
        laid = [self._laid(p, axes) for p in known]
        children = tuple((p, positions(p.axes, axes)) for p in laid)
        return Branch(op, self._text(node), axes, children, outcome)

    def _laid(self, piece: Piece, axes: Axes) -> Piece:
        """The piece with a value for each of these policies, where it has not; legs stay in their place."""
        if piece.axes.scalar or bool((positions(piece.axes, axes) >= 0).all()):
            return piece
        where = positions(piece.axes, axes)
        match piece:
            case Leg():
                left, right = _moved(piece.left, where), _moved(piece.right, where)
                gap = None if piece.gap is None else (_move(piece.gap[0], where), _move(piece.gap[1], where))
                leg = replace(piece, axes=axes, left=left, right=right, gap=gap)
                self.legs[leg.number] = leg
                return leg
            case Branch():
                laid = [self._laid(child, axes) for child, _ in piece.children]
                return replace(piece, axes=axes, children=tuple((p, positions(p.axes, axes)) for p in laid))
            case Opposite():
                return replace(piece, axes=axes, child=self._laid(piece.child, axes))
            case Fold():
                nothing = np.zeros(0, dtype=np.intp)
                groups = tuple(nothing if i < 0 else piece.groups[i] for i in where.tolist())
                return replace(piece, axes=axes, groups=groups)

    def _fold(self, node: syntax.Call) -> Piece | None:
        if len(node.arguments) != 1:
            self.compiler.fail(f"`{node.function}` takes one truth value per policy", node)
            return None
        child = self.piece(node.arguments[0])
        if child is None:
            return None
        if child.axes.scalar:
            self.compiler.fail(
                f"`{node.function}` folds a vector over policies; this is one value already", node
            )
            return None
        grouping = grouped(self.compiler, node, child.axes)
        if grouping is None:
            return None
        axes, groups, _ = grouping
        op = "and" if node.function == "all" else "or"
        return Fold(op, self._text(node), axes, child, tuple(groups), child.can)


def _floating(piece: Piece) -> bool:
    """Whether the piece speaks of factors and attributes alone, and takes the factors of what it meets."""
    match piece:
        case Leg():
            return piece.floating
        case Opposite():
            return _floating(piece.child)
        case Branch():
            vectors = [child for child, _ in piece.children if not child.axes.scalar]
            return bool(vectors) and all(_floating(child) for child in vectors)
        case Fold():
            return False


def _moved(rate: Rate | None, where: np.ndarray) -> Rate | None:
    return None if rate is None else _move(rate, where)


def _move(rate: Rate, where: np.ndarray) -> Rate:
    return replace(rate, where=np.append(rate.where, -1)[where])


def _rate(term: Term, axes: Axes) -> Rate | None:
    if term.metric is None:
        return None
    own = np.array([*term.metric.where, -1], dtype=np.intp)
    return Rate(term.metric.name, term.metric.degenerate, own[positions(term.axes, axes)])


def _policies(axes: Axes) -> str:
    return "1 policy" if len(axes) == 1 else f"{len(axes)} policies"


def _difference(
    left: Callable[[Frame], Result], right: Callable[[Frame], Result]
) -> Callable[[Frame], LegValues]:
    def evaluate(frame: Frame) -> LegValues:
        x, y = left(frame), right(frame)
        d = difference(x.data, y.data)
        if not frame.first or x.facts is None or y.facts is None:
            return LegValues(d)
        shape = (d.shape[1],)
        sides = [np.broadcast_to(side.data[0], shape) for side in (x, y)]
        return LegValues(d, sides[0], sides[1], merge_facts(x.facts, y.facts))

    return evaluate


@dataclass(frozen=True)
class SupportCondition:
    """`support op bound`: a falsifier on the share of resamples in which the whole claim is true."""

    op: str
    bound: float


def support_condition(node: Node) -> SupportCondition | None:
    """The condition on `support` an expression is, None where it is a claim of its own."""
    if not isinstance(node, syntax.Chain) or len(node.ops) != 1:
        return None
    left, right = node.operands
    if isinstance(left, syntax.Support) and isinstance(right, syntax.Number):
        return SupportCondition(node.ops[0], float(right.value))
    if isinstance(right, syntax.Support) and isinstance(left, syntax.Number):
        return SupportCondition(TURNED[node.ops[0]], float(left.value))
    return None


def support_outcomes(condition: SupportCondition) -> Outcomes:
    """Whether the condition can be met and missed by a share."""
    return ranges.outcomes(condition.op, ranges.UNIT, ranges.Range(condition.bound, condition.bound))
