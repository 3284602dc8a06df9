"""A few policies in memory: what expressions are compiled against and computed from, and a slow evaluator.

Metrics are dictionaries from keys to values (None is undefined).  The slow evaluator computes an expression
policy by policy from those dictionaries: a metric that has no value for a policy is undefined there.  It knows
nothing of axes, positions or arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from prereg import questions
from prereg.expression import syntax
from prereg.expression.claims import ClaimCompiler
from prereg.expression.environment import Environment, Metric
from prereg.expression.policies import Compiler
from prereg.expression.ranges import ANY
from prereg.expression.terms import Facts, Result
from prereg.judge import nodes
from prereg.values import CODE, Axes

NAN = math.nan


@dataclass
class Values:
    """A metric: its factors, and per key one value for each row (row 0 is the point)."""

    factors: tuple[str, ...]
    at: dict[tuple[str, ...], list[float | None]]
    kind: str = "number"
    range: object = ANY
    excluded: frozenset = frozenset()
    attribute: bool = False
    degenerate: dict[str, tuple[tuple[str, ...], dict]] = field(default_factory=dict)

    def array(self, at=None):
        at = self.at if at is None else at
        columns = [[NAN if v is None else float(v) for v in values] for values in at.values()]
        return np.array(columns).T if columns else np.zeros((3, 0))


@dataclass
class Frame:
    """The protocol of `expression.terms.Frame` over a world."""

    world: World
    rows: int
    first: bool = True
    begin: int = 0

    def metric(self, name, degenerate):
        values = self.world.metrics[name]
        data = values.array() if degenerate is None else values.array(values.degenerate[degenerate][1])
        data = data[self.begin : self.begin + self.rows]
        facts = None
        if self.first:
            gone = np.isnan(data[0]).astype(np.int64)
            facts = Facts(np.where(gone, CODE["vacuous"], 0).astype(np.int8), ((10 - gone, gone),))
        return Result(data, facts)

    def ranked(self, data):
        return data


@dataclass
class World:
    metrics: dict[str, Values]
    factors: dict[str, tuple[str, ...]]
    arm: str = "run"
    guards: tuple[str, ...] = ()
    lets: dict[str, str] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()

    def environment(self):
        known = {
            name: Metric(
                Axes(m.factors, tuple(m.at)),
                m.kind,
                m.range,
                {d: Axes(factors, tuple(at)) for d, (factors, at) in m.degenerate.items()},
                m.excluded,
                m.attribute,
            )
            for name, m in self.metrics.items()
        }
        lets = {name: syntax.parse(text) for name, text in self.lets.items()}
        return Environment(
            known, self.factors, self.arm, frozenset(self.guards), lets, self.lets, self.broken
        )

    @property
    def rows(self):
        return max((len(v) for m in self.metrics.values() for v in m.at.values()), default=1)

    def frame(self, **keys):
        return Frame(self, **{"rows": self.rows, **keys})

    def compile(self, text, **keys):
        """(term, problems) of an expression."""
        compiler = Compiler(self.environment(), **keys)
        return compiler.term(syntax.parse(text)), compiler

    def result(self, text, **keys):
        term, compiler = self.compile(text, **keys)
        assert not compiler.problems, [p.message for p in compiler.problems]
        return term, term.evaluate(self.frame())

    def vector(self, text, row=0):
        """Value per key (in the order of the sorted factors), None where undefined."""
        term, result = self.result(text)
        order = sorted(range(len(term.axes.factors)), key=lambda i: term.axes.factors[i])
        return {
            tuple(key[i] for i in order): None if math.isnan(v) else v
            for key, v in zip(term.axes.keys, result.data[row].tolist(), strict=True)
        }

    def value(self, text, row=0):
        term, result = self.result(text)
        assert term.axes.scalar
        assert result.data.shape == (self.rows, 1)
        v = float(result.data[row, 0])
        return None if math.isnan(v) else v

    def reason(self, text):
        _, result = self.result(text)
        from prereg.values import REASONS

        return [REASONS[r] for r in result.facts.reasons.tolist()]

    def problems(self, text, **keys):
        _, compiler = self.compile(text, **keys)
        return compiler.problems

    def problem(self, text, **keys):
        """(the characters it stands at, message) of the only problem."""
        (problem,) = self.problems(text, **keys)
        return text[problem.start : problem.end], problem.message

    # -- claims ------------------------------------------------------------------------------------------

    def claim(self, text):
        """(claim or None, compiler)."""
        compiler = Compiler(self.environment())
        return ClaimCompiler(compiler, text).claim(syntax.parse(text)), compiler

    def claim_problem(self, text):
        claim, compiler = self.claim(text)
        assert claim is None
        (problem,) = compiler.problems
        return text[problem.start : problem.end], problem.message

    def judged(self, text):
        """The judge's tree of a claim."""
        claim, compiler = self.claim(text)
        assert claim is not None, [p.message for p in compiler.problems]
        values = [leg.evaluate(self.frame()) for leg in claim.legs]
        legs = [SimpleNamespace(data=v.data, point=v) for v in values]
        return questions.node(claim.root, legs, SimpleNamespace(pieces={}))

    def truth(self, text):
        """Truth of a claim, per row: True, False or None."""
        tree = self.judged(text)
        legs = [nodes.leg_truth(leg, self.rows - 1) for leg in nodes.elementary(tree)]
        whole = nodes.whole_truth(tree, legs, self.rows - 1)
        return [{1: True, 0: None, -1: False}[int(x)] for x in whole]


# -- the slow evaluator ------------------------------------------------------------------------------------

REDUCING = {"mean", "median", "min", "max", "sum", "count", "share", "all", "any"}


def domain(node, world):
    """The policies an expression speaks of: the keys of its vectors, reductions left out."""
    found, floating = {}, {}

    def visit(piece):
        if isinstance(piece, syntax.Call) and piece.function in REDUCING:
            return
        if isinstance(piece, syntax.Name):
            if piece.name in world.metrics:
                m = world.metrics[piece.name]
                for key in m.at:
                    if key not in m.excluded:
                        found[frozenset(zip(m.factors, key, strict=True))] = None
            else:
                floating.update({frozenset({(piece.name, v)}): None for v in world.factors[piece.name]})
        for child in syntax.children(piece):
            visit(child)

    visit(node)
    return list(found or floating)


def _and(values):
    return False if False in values else None if None in values else True


def _or(values):
    return True if True in values else None if None in values else False


COMPARE = {
    "<": lambda d: d < 0,
    "<=": lambda d: d <= 0,
    ">": lambda d: d > 0,
    ">=": lambda d: d >= 0,
    "==": lambda d: d == 0,
    "!=": lambda d: d != 0,
}
OPERATE = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
}


def slow(node, world, row, policy=frozenset()):
    """The value of an expression for one policy and row; None is undefined."""

    def of(piece):
        return slow(piece, world, row, policy)

    match node:
        case syntax.Number(value=value):
            return float(value)
        case syntax.Bool(value=value):
            return value
        case syntax.Name(name=name) if name in world.metrics:
            m = world.metrics[name]
            found = dict(policy)
            key = tuple(found.get(f) for f in m.factors)
            if key in m.excluded or key not in m.at:
                return None
            value = m.at[key][row]
            return bool(value) if m.kind == "truth" and value is not None else value
        case syntax.Name(name=name):
            value = dict(policy)[name]
            return None if value == "none" else float(value)
        case syntax.Minus(operand=x):
            value = of(x)
            return None if value is None else -value
        case syntax.Arithmetic(op=op, left=left, right=right):
            a, b = of(left), of(right)
            return None if a is None or b is None else OPERATE[op](a, b)
        case syntax.Chain(operands=operands, ops=ops):
            values = [of(x) for x in operands]
            pairs = zip(ops, values, values[1:], strict=False)
            return _and(
                [None if a is None or b is None else COMPARE[op](round(a - b, 12)) for op, a, b in pairs]
            )
        case syntax.Within(operand=x, low=low, high=high):
            a, lo, hi = of(x), of(low), of(high)
            return _and([None if None in (a, lo) else a - lo >= 0, None if None in (a, hi) else a - hi <= 0])
        case syntax.Negation(operand=x):
            value = of(x)
            return None if value is None else not value
        case syntax.Junction(op=op, operands=operands):
            return (_and if op == "and" else _or)([of(x) for x in operands])
        case syntax.Call(function="defined", arguments=(x,)):
            return of(x) is not None
        case syntax.Call(function="undefined", arguments=(x,)):
            return of(x) is None
        case syntax.Call(function="abs", arguments=(x,)):
            value = of(x)
            return None if value is None else abs(value)
        case syntax.Call(function=("minimum" | "maximum") as name, arguments=arguments):
            values = [of(x) for x in arguments]
            return None if None in values else (min if name == "minimum" else max)(values)
        case syntax.Call(function="if", arguments=(c, a, b)):
            value = of(c)
            return None if value is None else of(a) if value else of(b)
        case syntax.Call(function=name, arguments=(x,)):
            return _reduce(name, [slow(x, world, row, p) for p in domain(x, world)])
    raise AssertionError(node)


def _reduce(name, values):
    if name in ("all", "any"):
        if not values:
            return None
        return (_and if name == "all" else _or)(values)
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    half = len(values) // 2
    return {
        "mean": lambda: sum(values) / len(values),
        "share": lambda: sum(values) / len(values),
        "sum": lambda: sum(values),
        "count": lambda: sum(values),
        "min": lambda: values[0],
        "max": lambda: values[-1],
        "median": lambda: values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2,
    }[name]()
