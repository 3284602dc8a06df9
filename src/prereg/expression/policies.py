"""Expressions over policies: kinds and factors checked piece by piece, then terms that can be computed.

Used for `value` metrics, `exclude`, `let`, reports and, leg by leg, for claims.  Problems are collected with
the characters they stand at; a broken piece is silent afterwards, so that each fault is told once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prereg.dataclass import dataclass, field, replace
from prereg.decimals import difference
from prereg.errors import quoted, suggestion
from prereg.expression import ranges, syntax
from prereg.expression.evaluation import applied, coded, comparison, finite
from prereg.expression.operators import ARITHMETIC
from prereg.expression.policy_functions import called
from prereg.expression.policy_names import as_label, first_of, named, selected
from prereg.expression.terms import (
    BROKEN,
    BROKEN_TERM,
    LABEL,
    NUMBER,
    TRUTH,
    Frame,
    Result,
    Term,
    constant,
    guards,
    spread,
    text,
)
from prereg.values import (
    SCALAR,
    AlignmentError,
    Axes,
    factor_text,
    kleene_and,
    kleene_or,
    meet,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prereg.expression.environment import Environment
    from prereg.expression.syntax import ExpressionError


_SPOKEN = {NUMBER: "a number", TRUTH: "a truth value", LABEL: "a label", BROKEN: "?"}
REDUCE = "reduce it (all, any, mean, spearman …) or select one policy"


@dataclass
class Compiler:
    """Turns trees into terms."""

    env: Environment
    degenerate: str | None = None  # inside a `value` metric of a degenerate policy bare metrics are its own
    problems: list[ExpressionError] = field(default_factory=list)
    warnings: list[ExpressionError] = field(default_factory=list)
    open_lets: tuple[str, ...] = ()  # the lets whose definition is being read, to tell a circle
    written_out: int = 0  # how many lets were replaced by what they stand for
    one_by_one: bool = True  # written as it stands, not by `each`, which may pair a thing with itself
    reducing: int = 0  # how many reductions stand around the piece: inside one, a bare metric is a vector

    # -- problems --------------------------------------------------------------------------------------

    def fail(self, message: str, node: syntax.Node | syntax.Selector) -> Term:
        """Note a problem; the broken term makes no further ones."""
        syntax.note(self.problems, message, node)
        return BROKEN_TERM

    def meet(
        self, node: syntax.Node, terms: Sequence[Term]
    ) -> tuple[Axes, list[Callable[[Frame], Result]]] | None:
        """The axes on which the terms stand together, and their values laid out on them."""
        if any(t.kind == BROKEN for t in terms):
            return None
        fixed = [t.axes for t in terms if not t.floating]
        try:
            axes = meet(*fixed) if fixed else SCALAR
        except AlignmentError as error:
            self._unaligned(node, error.only_left, error.only_right)
            return None
        floating = sorted((t for t in terms if t.floating), key=lambda t: -len(t.axes.factors))
        if axes.scalar and floating:
            axes = floating[0].axes
        for term in floating:
            lost = [f for f in term.axes.factors if f not in axes.factors]
            if lost:
                self._unaligned(node, lost, [])
                return None
        return axes, [spread(term, axes) for term in terms]

    def _unaligned(self, node: syntax.Node, left: list[str], right: list[str]) -> None:
        sides = []
        if left:
            sides.append("left of " + quoted(left))
        if right:
            sides.append("right of " + quoted(right))
        names = quoted([*left, *right])
        self.fail(
            f"these vectors do not align: only one side has the factor {names}; select one value of it, "
            f"or reduce over it (mean(x, over={[*left, *right][0]}))",
            node,
        )

    # -- pieces ----------------------------------------------------------------------------------------

    def term(self, node: syntax.Node) -> Term:
        """The term of a tree."""
        match node:
            case syntax.Number(value=value):
                return constant(float(value))
            case syntax.Text(value=value):
                return text(value)
            case syntax.Bool(value=value):
                return replace(constant(float(value)), kind=TRUTH, constant=None)
            case syntax.Name(name=name):
                return named(self, node, name)
            case syntax.Selection():
                return selected(self, node)
            case syntax.Minus(operand=inner):
                return self._minus(node, inner)
            case syntax.Arithmetic():
                return self._arithmetic(node)
            case syntax.Chain() | syntax.Within() | syntax.Member() | syntax.Junction():
                return self._truth(node)
            case syntax.Negation(operand=inner):
                operand = self.as_truth(inner)
                if operand.kind == BROKEN:
                    return operand
                return self.pointwise(node, TRUTH, ranges.UNIT, lambda x: 1.0 - x, [operand])
            case syntax.Call():
                return called(self, node)
            case syntax.Support():
                return self.fail(
                    "`support` stands only in `falsified_if`, in one comparison with a number", node
                )
            case _:
                return self.fail("a list stands only after `in`, `within` or as an argument", node)

    # -- arithmetic and truth --------------------------------------------------------------------------

    def pointwise(
        self,
        node: syntax.Node,
        kind: str,
        reach: ranges.Range,
        function: Callable[..., np.ndarray],
        terms: Sequence[Term],
        why: str = "undefined_input",
    ) -> Term:
        """A function applied policy by policy; `why` it is undefined where its inputs are not."""
        met = self.meet(node, terms)
        if met is None:
            return BROKEN_TERM
        axes, parts = met
        constants = [t.constant for t in terms if t.constant is not None]
        if kind == NUMBER and len(constants) == len(terms):
            with np.errstate(all="ignore"):
                value = float(function(*(np.array([[x]]) for x in constants))[0, 0])
            return constant(value) if np.isfinite(value) else self.fail("this constant is undefined", node)

        def lay(target: Axes) -> Callable[[Frame], Result]:
            return applied(function, [spread(t, target) for t in terms], why)

        return Term(
            kind,
            axes,
            applied(function, parts, why),
            reach,
            guard=guards(*terms),
            reads_metric=any(t.reads_metric for t in terms),
            floating=all(t.floating or t.axes.scalar for t in terms) and any(t.floating for t in terms),
            lay=lay,
        )

    def as_number(self, node: syntax.Node) -> Term:
        """The term of a tree where a number is wanted; truth counts 1 and 0."""
        term = self.term(node)
        if term.kind == LABEL:
            return self.fail(f"found {_SPOKEN[term.kind]}, expected a number", node)
        return term

    def as_truth(self, node: syntax.Node) -> Term:
        """The term of a tree where a truth value is wanted."""
        term = self.term(node)
        if term.kind in (NUMBER, LABEL):
            return self.fail(f"found {_SPOKEN[term.kind]}, expected a truth value", node)
        return term

    def _minus(self, node: syntax.Node, inner: syntax.Node) -> Term:
        operand = self.as_number(inner)
        if operand.kind == BROKEN:
            return operand
        return self.pointwise(node, NUMBER, ranges.negate(operand.range), np.negative, [operand])

    def _arithmetic(self, node: syntax.Arithmetic) -> Term:
        left, right = self.as_number(node.left), self.as_number(node.right)
        if BROKEN in (left.kind, right.kind):
            return BROKEN_TERM
        reach = ranges.arithmetic(node.op, left.range, right.range)
        if node.op == "-" and self.alike(node.left, node.right):
            reach = ranges.ZERO
        why = "zero_division" if node.op == "/" else "undefined_input"
        return self.pointwise(node, NUMBER, reach, finite(ARITHMETIC[node.op]), [left, right], why)

    def alike(self, left: syntax.Node, right: syntax.Node) -> bool:
        """Whether somebody wrote the same thing on both sides."""
        return self.one_by_one and syntax.alike(left, right, self.env.lets)

    def link(self, op: str, left: syntax.Node, right: syntax.Node) -> tuple[Term, Term]:
        """The two sides of one comparison, checked to be comparable."""
        x, y = self.term(left), self.term(right)
        if BROKEN in (x.kind, y.kind):
            return BROKEN_TERM, BROKEN_TERM
        if x.kind == LABEL:
            y = as_label(self.env, y)
        if y.kind == LABEL:
            x = as_label(self.env, x)
        if (x.kind == LABEL) != (y.kind == LABEL):
            number = left if x.kind != LABEL else right
            hint = ""
            if isinstance(number, syntax.Number):
                hint = f'; quote it: "{factor_text(number.value)}"'
            self.fail(f"cannot compare {_SPOKEN[x.kind]} with {_SPOKEN[y.kind]}{hint}", right)
            return BROKEN_TERM, BROKEN_TERM
        if x.kind == LABEL and op not in ("==", "!="):
            self.fail(f"labels have no order: `{op}` compares numbers", right)
            return BROKEN_TERM, BROKEN_TERM
        for side, other, place in ((x, y, right), (y, x, left)):
            if other.kind == LABEL and other.axes.scalar and isinstance(place, syntax.Text):
                known = side.labels
                if known and place.value not in known:
                    hint = suggestion(place.value, known) or f"; known: {first_of(known)}"
                    self.fail(f"no policy is called `{place.value}`{hint}", place)
                    return BROKEN_TERM, BROKEN_TERM
        return x, y

    def compare(self, node: syntax.Node, op: str, left: syntax.Node, right: syntax.Node) -> Term:
        """A comparison as a truth value."""
        x, y = self.link(op, left, right)
        if x.kind == BROKEN:
            return BROKEN_TERM
        if x.kind == LABEL:
            return self._same_label(node, op, x, y)
        function = comparison(op)
        return self.pointwise(node, TRUTH, ranges.UNIT, lambda a, b: function(difference(a, b)), [x, y])

    def _same_label(self, node: syntax.Node, op: str, x: Term, y: Term) -> Term:
        codes = {label: float(i) for i, label in enumerate(dict.fromkeys((*x.labels, *y.labels)))}
        left = np.array([codes[v] for v in x.labels])
        right = np.array([codes[v] for v in y.labels])

        def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            gap = coded(left, a) - coded(right, b)
            return comparison(op)(gap)

        return self.pointwise(node, TRUTH, ranges.UNIT, same, [x, y])

    def holds_nothing(self, node: syntax.Chain | syntax.Within) -> bool:
        """Whether no value lies between two ends of a chain or of `within` (which is then noted)."""
        for op, first, last in enclosing(node):
            low, high = self.term(first), self.term(last)
            if not {low.kind, high.kind} <= {NUMBER, TRUTH}:
                continue
            if not ranges.outcomes(op, low.range, high.range)[0]:
                said = "is above" if low.range.low > high.range.high else "is not below"
                self.fail(
                    f"this interval holds no value: its lower end {low.range.low:.12g} {said} its upper end "
                    f"{high.range.high:.12g}, expected the smaller number as the lower end",
                    node,
                )
                return True
        return False

    def _truth(self, node: syntax.Node) -> Term:
        if isinstance(node, syntax.Chain | syntax.Within) and self.holds_nothing(node):
            return BROKEN_TERM
        match node:
            case syntax.Chain(operands=operands, ops=ops):
                links = list(zip(ops, operands, operands[1:], strict=False))
                parts = [self.compare(node, op, a, b) for op, a, b in links]
            case syntax.Within(operand=inner, low=low, high=high):
                parts = [self.compare(node, ">=", inner, low), self.compare(node, "<=", inner, high)]
            case syntax.Member(operand=inner, items=items):
                parts = [self.compare(node, "==", inner, item) for item in items]
                if len(parts) == 1:
                    return parts[0]
                return self.pointwise(node, TRUTH, ranges.UNIT, lambda *x: kleene_or(list(x)), parts)
            case syntax.Junction(op=op, operands=operands):
                parts = [self.as_truth(x) for x in operands]
                function = kleene_and if op == "and" else kleene_or
                return self.pointwise(node, TRUTH, ranges.UNIT, lambda *x: function(list(x)), parts)
            case _:
                raise AssertionError(node)
        if len(parts) == 1:
            return parts[0]
        return self.pointwise(node, TRUTH, ranges.UNIT, lambda *x: kleene_and(list(x)), parts)


_LONGEST = 8
"""Operands of a chain whose ends are looked at: all pairs of a longer one would cost too much."""


def enclosing(node: syntax.Chain | syntax.Within) -> list[tuple[str, syntax.Node, syntax.Node]]:
    """The pairs (op, lower end, upper end) with something between them: `<` where one link is strict."""
    if isinstance(node, syntax.Within):
        return [("<=", node.low, node.high)]
    out: list[tuple[str, syntax.Node, syntax.Node]] = []
    if len(node.operands) > _LONGEST:
        return out
    for rising in ("<", ">"):
        for i in range(len(node.ops)):
            for j in range(i + 2, len(node.operands)):
                links = node.ops[i:j]
                if any(op not in (rising, rising + "=") for op in links):
                    break
                ends = (node.operands[i], node.operands[j])
                low, high = ends if rising == "<" else ends[::-1]
                out.append(("<" if rising in links else "<=", low, high))
    return out
