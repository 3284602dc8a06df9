"""What a protocol does with each column, read from its expressions alone: no record is looked at.

A column that is a side of `>= 0.5` holds numbers around 0.5, one that is compared with "yes" holds texts, one
that is negated holds truth values.  Rehearsals draw from what is found here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prereg.dataclass import dataclass, field
from prereg.expression import syntax
from prereg.expression.cells import NUMBER, TEXT, TRUTH
from prereg.expression.syntax import ExpressionError
from prereg.metrics import KINDS
from prereg.resolve.parameters import expression_text
from prereg.values import as_decimal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal

    from prereg.metrics import Kind
    from prereg.protocol import Protocol

ROLES = ("answered", "certified", "action")
UNIT = "unit"
_SLOT = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_OUTCOME_OF_UNIT = ("label", "error", "correct")
"""Parameters in [0, 1] that are right or wrong as a rule, not confidences."""
_MOST_COMBINATIONS = 1000


@dataclass
class Use:
    """What is asked of one column."""

    asked: set[str] = field(default_factory=set)
    """Kinds it is read as: truth, number, unit (a number in [0, 1]), text."""
    texts: dict[str, None] = field(default_factory=dict)
    """Texts it is compared with, in the order written."""
    equal: set[Decimal] = field(default_factory=set)
    """Numbers it is compared with for equality."""
    ordered: set[Decimal] = field(default_factory=set)
    """Numbers it is compared with by order."""
    like: set[str] = field(default_factory=set)
    """Columns it is compared with."""
    least: float | None = None
    most: float | None = None
    """Bounds of the parameter that it is."""
    may_miss: bool = False
    """The protocol says what a missing cell counts as."""
    counted: bool = False
    """A metric counts it, or a gate or threshold reads it; else it only says which records are meant."""


@dataclass
class Usage:
    """The uses of all columns, and which of them lay the records out."""

    uses: dict[str, Use]
    structure: frozenset[str]
    """Columns of the records that name arms, units, datasets, samples, parts, strata, groups, clusters or
    categories, or only decide which records are used."""


@dataclass
class _Reader:
    protocol: Protocol
    uses: dict[str, Use] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)

    def use(self, name: str) -> Use:
        name = self.protocol.data.columns.get(name, name)
        return self.uses.setdefault(name, Use())

    # -- expressions ---------------------------------------------------------------------------------------

    def expression(self, given: object, wanted: str | None, *, counted: bool) -> None:
        """Read one expression; what cannot be parsed is told by `resolve`."""
        text = expression_text(given)
        if text is None:
            return
        try:
            node = syntax.parse(text)
        except ExpressionError:
            return
        self._walk(node, wanted)
        if counted:
            for name in syntax.names(node):
                self.use(name).counted = True

    def _walk(self, node: syntax.Node, wanted: str | None) -> None:
        match node:
            case syntax.Name(name=name):
                if wanted is not None:
                    self.use(name).asked.add(wanted)
                else:
                    self.use(name)
            case syntax.Negation() | syntax.Junction():
                for child in syntax.children(node):
                    self._walk(child, TRUTH)
            case syntax.Minus() | syntax.Arithmetic():
                for child in syntax.children(node):
                    self._walk(child, UNIT if wanted == UNIT else NUMBER)
            case syntax.Chain(operands=operands, ops=ops):
                for left, op, right in zip(operands, ops, operands[1:], strict=False):
                    self._compared(left, op, right)
            case syntax.Within(operand=inner, low=low, high=high):
                self._compared(inner, ">=", low)
                self._compared(inner, "<=", high)
            case syntax.Member(operand=inner, items=items):
                for item in items:
                    self._compared(inner, "==", item)
            case syntax.Call():
                self._call(node, wanted)
            case _:
                return

    def _compared(self, left: syntax.Node, op: str, right: syntax.Node) -> None:
        equality = op in ("==", "!=")
        for one, other in ((left, right), (right, left)):
            value = _literal(other)
            if value is not None:
                self._walk(one, NUMBER)
                if isinstance(one, syntax.Name):
                    numbers = self.use(one.name).equal if equality else self.use(one.name).ordered
                    numbers.add(value)
            elif isinstance(other, syntax.Text):
                self._walk(one, TEXT)
                for name in _texts_of(one):
                    self.use(name).texts[other.value] = None
            elif isinstance(other, syntax.Bool):
                self._walk(one, TRUTH)
            elif not isinstance(one, syntax.Number | syntax.Text | syntax.Bool):
                self._walk(one, None if equality else NUMBER)
                if equality and isinstance(one, syntax.Name) and isinstance(other, syntax.Name):
                    self.use(one.name).like.add(self.protocol.data.columns.get(other.name, other.name))

    def _call(self, node: syntax.Call, wanted: str | None) -> None:
        first, rest = node.arguments[:1], node.arguments[1:]
        match node.function:
            case "contains_any" | "matches":
                for one in first:
                    self._walk(one, TEXT)
                    for name in _texts_of(one):
                        self.use(name).texts |= dict.fromkeys(_wanted(node.function, rest))
            case "lower" | "length" | "majority":
                for one in node.arguments:
                    self._walk(one, TEXT)
            case "defined" | "undefined":
                self._may_miss(first)
            case "otherwise":
                self._may_miss(first)
                for one in node.arguments:
                    self._walk(one, wanted)
            case "if":
                for one in first:
                    self._walk(one, TRUTH)
                for one in rest:
                    self._walk(one, wanted)
            case "flip":
                for one in first:
                    self._walk(one, wanted or TRUTH)
                for one in node.arguments[3:]:
                    self._walk(one, TEXT)
            case _:
                for one in node.arguments:
                    self._walk(one, UNIT if wanted == UNIT else NUMBER)

    def _may_miss(self, nodes: Iterable[syntax.Node]) -> None:
        for node in nodes:
            self._walk(node, None)
            for name in syntax.names(node):
                self.use(name).may_miss = True

    # -- sections ------------------------------------------------------------------------------------------

    def metric(self, spec: Mapping[str, Any]) -> None:
        """Read one metric, once for every combination of `each`."""
        if not isinstance(spec, dict):
            return
        for values in _combinations(spec.get("each")):

            def filled(given: object, values: Mapping[str, str] = values) -> object:
                text = expression_text(given)
                return None if text is None else _SLOT.sub(lambda m: values.get(m[1], m[0]), text)

            self.expression(filled(spec.get("among")), TRUTH, counted=False)
            for name in set(spec) & set(KINDS):
                self._kind(KINDS[name], spec[name], filled)

    def _kind(self, kind: Kind, given: object, filled: Any) -> None:
        if not isinstance(given, dict):
            given = {kind.name: given}
        for p in kind.parameters:
            if not p.of_rows or (p.name not in given and (p.optional or p.required)):
                continue
            if p.alternative_to is not None and p.name not in given:
                first = next(q.name for q in kind.parameters if q.name in (p.name, p.alternative_to))
                if p.alternative_to in given or first != p.name:
                    continue
            value = given.get(p.name, p.name)
            if p.kind == "columns":
                for one in value if isinstance(value, list) else ():
                    self.expression(filled(one), TEXT, counted=True)
                continue
            if p.kind == "column":
                self.expression(filled(value), TEXT, counted=p.name != "groups")
                if p.name == "groups" and isinstance(value, str):
                    self.named.add(value)
                continue
            wanted = {"truth": TRUTH, "number": NUMBER}.get(p.kind, UNIT)
            if p.kind == "unit_interval" and p.name in _OUTCOME_OF_UNIT:
                wanted = TRUTH
            self.expression(filled(value), wanted, counted=True)
            if p.least > float("-inf") and isinstance(value, str) and syntax.NAME.match(value):
                use = self.use(value)
                use.least, use.most = p.least, min(p.most, p.least + 1)


def usage(protocol: Protocol) -> Usage:
    """What is asked of every column."""
    reader = _Reader(protocol)
    data, split, drawn = protocol.data, protocol.split, protocol.resampling
    every = [*protocol.metrics.values()]
    for variant in protocol.variants.values():
        every += variant.metrics.values()
    for spec in every:
        reader.metric(spec)
    _policies(protocol, reader)
    for role in ROLES[:2]:  # what a gate withdraws, whether an expression names it or not
        reader.use(role).asked.add(TRUTH)
    derived = dict(reversed(data.derive.items()))
    unread = [name for name in derived if not _derived(name, derived[name], reader)]
    named = {data.unit, *data.arm, data.dataset, data.sample}
    if split is not None:
        named |= {split.column, split.group, *(split.stratify or ())}
    if drawn is not None:
        named |= {drawn.cluster, *(drawn.stratify or ())}
    soft = {spec["per"] for spec in every if isinstance(spec, dict) and isinstance(spec.get("per"), str)}
    soft |= reader.named
    for text in (data.where, *(v.where for v in protocol.variants.values())):
        if text is not None:
            soft |= _names(text)
            reader.expression(text, TRUTH, counted=False)
    for name in unread:  # nothing but `where` reads them, yet they are computed
        reader.use(name)
        _derived(name, derived[name], reader)
    hard = _sources(protocol, {name for name in named if name is not None})
    soft = {
        name
        for name in _sources(protocol, soft)
        if not (name in reader.uses and reader.uses[name].counted) and not _is_role(protocol, name)
    }
    return Usage(reader.uses, frozenset(hard | soft))


def _derived(name: str, text: str, reader: _Reader) -> bool:
    """Pass on what is asked of a derived column to what it reads; False where nothing is asked of it."""
    use = reader.uses.get(name)
    if use is None:
        return False
    wanted = next((kind for kind in (TEXT, TRUTH, UNIT, NUMBER) if kind in use.asked), None)
    reader.expression(text, wanted, counted=use.counted or name in ROLES)
    return True


def _is_role(protocol: Protocol, name: str) -> bool:
    return name in {protocol.data.columns.get(role, role) for role in ROLES}


def _policies(protocol: Protocol, reader: _Reader) -> None:
    for gate in protocol.policies.gate:
        values = [v for v in map(as_decimal, gate.at_least or ()) if v is not None]
        inside = bool(values) and all(0 <= v <= 1 for v in values)
        reader.expression(gate.score, UNIT if inside else NUMBER, counted=True)
        if syntax.NAME.match(gate.score.strip()):
            reader.use(gate.score.strip()).ordered |= set(values)
    threshold = protocol.policies.threshold
    if threshold is not None:
        reader.expression(threshold.act_below or threshold.act_above, NUMBER, counted=True)
        reader.expression(threshold.control.rate, TRUTH, counted=True)
        reader.expression(threshold.control.among, TRUTH, counted=False)


def _sources(protocol: Protocol, names: set[str]) -> set[str]:
    """The columns of the records behind some names: roles by their column, derived ones by what they read."""
    data = protocol.data
    out: set[str] = set()
    waiting, seen = list(names), set(names)
    while waiting:
        name = waiting.pop()
        if name not in data.derive:
            out.add(data.columns.get(name, name))
            continue
        more = _names(data.derive[name]) - seen
        seen |= more
        waiting += more
    return out


def _names(text: str) -> set[str]:
    try:
        return set(syntax.names(syntax.parse(text)))
    except ExpressionError:
        return set()


def _literal(node: syntax.Node) -> Decimal | None:
    match node:
        case syntax.Number(value=value):
            return value
        case syntax.Minus(operand=syntax.Number(value=value)):
            return -value
        case _:
            return None


def _texts_of(node: syntax.Node) -> Iterator[str]:
    """The columns whose text a text expression is: itself, or through `lower`, `otherwise` and `majority`."""
    match node:
        case syntax.Name(name=name):
            yield name
        case syntax.Call(function="lower" | "otherwise" | "majority", arguments=inner):
            for one in inner:
                yield from _texts_of(one)
        case _:
            return


def _wanted(function: str, nodes: Iterable[syntax.Node]) -> Iterator[str]:
    """Texts that `contains_any` looks for; of a pattern its plain text, where it is one."""
    for node in nodes:
        if isinstance(node, syntax.Listing):
            yield from (x.value for x in node.items if isinstance(x, syntax.Text))
        elif isinstance(node, syntax.Text) and function == "matches":
            plain = re.sub(r"\(\?[a-z]+\)|\\b|[\^$]", "", node.value)
            if plain and not set(plain) & set("\\.[](){}|*+?"):
                yield plain


def _combinations(each: object) -> Iterator[dict[str, str]]:
    """The values of `each` by name: all of one factor with the first of the others, as far as texts go."""
    if not isinstance(each, dict) or not each:
        yield {}
        return
    listed = {
        str(name): [t for t in map(expression_text, values) if t is not None]
        for name, values in each.items()
        if isinstance(values, list)
    }
    first = {name: values[0] for name, values in listed.items() if values}
    for name, values in listed.items():
        for value in values[:_MOST_COMBINATIONS]:
            yield {**first, name: value}


__all__ = ["NUMBER", "ROLES", "TEXT", "TRUTH", "UNIT", "Usage", "Use", "usage"]
