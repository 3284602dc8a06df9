"""Predictions and reports: claims and falsifiers compiled, references between predictions resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prereg.errors import suggestion
from prereg.expression import policies as language
from prereg.expression.claims import Claim, ClaimCompiler, support_condition
from prereg.expression.syntax import ExpressionError
from prereg.outcomes import Outcome, compile_outcome, uncovered
from prereg.plan import PredictionPlan, ReportPlan
from prereg.resolve.expand import expand
from prereg.resolve.fitness import unfit

if TYPE_CHECKING:
    from prereg.expression.environment import Environment
    from prereg.expression.syntax import Node
    from prereg.expression.terms import Term
    from prereg.protocol import Prediction, Protocol
    from prereg.resolve.notes import Notes, Path


def resolve_claims(
    protocol: Protocol, environment: Environment, notes: Notes
) -> tuple[tuple[PredictionPlan, ...], tuple[ReportPlan, ...]]:
    """All predictions in the order written, and the reports."""
    out: list[PredictionPlan] = []
    if not protocol.predictions:
        notes.problem(("predictions",), "a protocol without predictions promises nothing", key=True)
    before: list[str] = []
    predictions = expand(protocol, environment.factors, notes)
    for one in predictions:
        name, spec, path = one.id, one.spec, one.path
        plan = _prediction(name, spec, path, protocol, environment, notes) if one.whole else None
        for i, given in enumerate(spec.given or ()):
            if given not in before:
                where: Path = (*path, "given", i) if len(spec.given or ()) > 1 else (*path, "given")
                later = given in [p.id for p in predictions] or given in protocol.predictions
                hint = "; it must stand before this one" if later else suggestion(given, before)
                notes.problem(where, f"`given` names an earlier prediction, found `{given}`{hint}")
        before.append(name)
        if plan is not None:
            unfit(plan, notes)
            out.append(plan)
    reports = []
    for name, text in protocol.reports.items():
        where = ("reports", name)
        node = notes.parse(where, text)
        if node is None:
            continue
        compiler = language.Compiler(environment)
        term = compiler.term(node)
        notes.expressions(where, text, compiler.problems)
        if not compiler.problems and term.kind != "broken":
            reports.append(ReportPlan(name, text, term))
    return tuple(out), tuple(reports)


def _prediction(
    name: str,
    spec: Prediction,
    path: Path,
    protocol: Protocol,
    environment: Environment,
    notes: Notes,
) -> PredictionPlan | None:
    resampled = protocol.resampling is not None
    if not resampled and spec.evidence.kind in ("interval", "support"):
        where: Path = (*path, "evidence") if spec.evidence.kind != "interval" else path
        notes.problem(
            where,
            f"evidence by {spec.evidence.kind} needs a `resampling` section; "
            "without one write `evidence: point`",
        )
    one_by_one = name == path[-1]
    claim = compile_claim(spec.claim, (*path, "claim"), environment, notes, one_by_one=one_by_one)
    support = None
    falsifier = None
    if spec.falsified_if is not None:
        where = (*path, "falsified_if")
        node = notes.parse(where, spec.falsified_if)
        if node is not None:
            support = support_condition(node)
            if support is None:
                falsifier = _claim(node, spec.falsified_if, where, environment, notes, one_by_one=one_by_one)
            elif not resampled:
                notes.problem(where, "a condition on `support` needs a `resampling` section")
    if claim is None:
        return None
    for i, variant in enumerate(spec.agree or ()):
        if variant not in protocol.variants:
            hint = (
                suggestion(variant, protocol.variants)
                or f"; variants: {', '.join(protocol.variants) or 'none'}"
            )
            notes.problem((*path, "agree", i), f"unknown variant `{variant}`{hint}")
    return PredictionPlan(name, spec, path, claim, support, falsifier)


def resolve_exclude(protocol: Protocol, environment: Environment, notes: Notes) -> Term | None:
    """The condition under which policies are excluded."""
    text = protocol.policies.exclude
    if text is None:
        return None
    path: Path = ("policies", "exclude")
    node = notes.parse(path, text)
    if node is None:
        return None
    compiler = language.Compiler(environment)
    term = compiler.term(node)
    if term.kind in ("number", "label"):
        compiler.fail("the condition of `exclude` is true or false for each policy", node)
    elif term.kind != "broken" and term.axes.scalar:
        compiler.fail("the condition of `exclude` is one value: it would exclude all policies or none", node)
    notes.expressions(path, text, compiler.problems)
    return None if compiler.problems or term.kind == "broken" else term


def resolve_outcomes(
    protocol: Protocol, predictions: tuple[PredictionPlan, ...], notes: Notes
) -> tuple[Outcome, ...]:
    """The headline rules, and a warning where they leave a pattern of verdicts without one."""
    ids = [p.id for p in predictions]
    if notes.problems:  # a prediction with a problem is still one
        ids += [name for name in protocol.predictions if name not in ids]
    out = []
    for i, rule in enumerate(protocol.outcomes):
        path: Path = ("outcomes", i, "when")
        try:
            out.append(compile_outcome(rule.when, rule.then, ids))
        except ExpressionError as error:
            notes.expressions(path, rule.when, [error])
    if out and len(out) == len(protocol.outcomes):
        pattern = uncovered(out)
        if pattern is not None:
            shown = ", ".join(f"{name} {verdict}" for name, verdict in pattern.items())
            notes.warn(("outcomes",), f"no outcome covers: {shown}")
    return tuple(out)


def compile_claim(
    text: str, path: Path, environment: Environment, notes: Notes, *, one_by_one: bool = True
) -> Claim | None:
    """A claim from its text; problems are noted."""
    node = notes.parse(path, text)
    return None if node is None else _claim(node, text, path, environment, notes, one_by_one=one_by_one)


def _claim(
    node: Node, text: str, path: Path, environment: Environment, notes: Notes, *, one_by_one: bool
) -> Claim | None:
    compiler = language.Compiler(environment, one_by_one=one_by_one)
    claim = ClaimCompiler(compiler, text).claim(node)
    notes.expressions(path, text, compiler.problems)
    for warning in compiler.warnings:
        notes.warn(path, warning.message)
    return claim
