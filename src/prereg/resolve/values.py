"""`value` metrics: expressions over other metrics, each compiled after those it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prereg.dataclass import dataclass, field, replace
from prereg.expression import policies as language
from prereg.expression import syntax
from prereg.expression.environment import Environment, Metric
from prereg.plan import MetricPlan
from prereg.values import SCALAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prereg.resolve.notes import Notes, Path

VALUE = "value"
Written = tuple[str, syntax.Node]


@dataclass
class Values:
    """Compiles the `value` metrics of a protocol against an environment that already holds the others."""

    written: Mapping[str, Written]
    environment: Environment
    degenerate: Iterable[str]
    notes: Notes
    plans: dict[str, MetricPlan] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def resolve(self) -> tuple[dict[str, MetricPlan], Environment]:
        """The plans of all of them, and the environment with them in it."""
        for name in self.written:
            self._visit(name, ())
        return self.plans, self.environment

    def _visit(self, name: str, open_: tuple[str, ...]) -> None:
        if name in self._done or name not in self.written:
            return
        text, node = self.written[name]
        path: Path = ("metrics", name, VALUE)
        if name in open_:
            self.notes.problem(path, f"`{name}` is defined by itself: {' -> '.join((*open_, name))}")
            self._done.add(name)
            self._break(name)
            return
        for other in syntax.names(node):
            self._visit(other, (*open_, name))
        if name not in self._done:
            self._done.add(name)
            self._compile(name, text, node, path)

    def _break(self, name: str) -> None:
        env = self.environment
        metrics = {**env.metrics, name: Metric(SCALAR)}  # known by its name, for hints
        self.environment = replace(env, metrics=metrics, broken=env.broken | {name})

    def _compile(self, name: str, text: str, node: syntax.Node, path: Path) -> None:
        env = self.environment
        later = [n for n in self.written if n not in env.metrics and n not in env.broken and n != name]
        env = replace(env, broken=env.broken | set(later))
        compiler = language.Compiler(env)
        term = compiler.term(node)
        if term.kind == "label":
            compiler.fail("a metric is a number or a truth value, not a label", node)
        self.notes.expressions(path, text, compiler.problems)
        if compiler.problems or term.kind == "broken":
            self._break(name)
            return
        term = replace(term, floating=False)
        degenerate: dict[str, Any] = {}
        inputs = tuple(dict.fromkeys(n for n in syntax.names(node) if n in env.metrics))
        for which in self.degenerate:
            if any(which in env.metrics[n].degenerate for n in inputs):
                inner = language.Compiler(env, degenerate=which)
                found = inner.term(node)
                if not inner.problems and found.kind != "broken":
                    degenerate[which] = found
        axes = {which: found.axes for which, found in degenerate.items()}
        known = Metric(term.axes, term.kind, term.range, axes)
        self.environment = replace(self.environment, metrics={**self.environment.metrics, name: known})
        self.plans[name] = MetricPlan(
            name, None, term.axes, axes, value=term, values_of_degenerate=degenerate, inputs=inputs
        )
