"""Parameters of a metric kind: row expressions compiled, options checked, values of `each` filled in."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from prereg.dataclass import dataclass, field
from prereg.errors import suggestion
from prereg.expression.cells import BINARY, NUMBER, TRUTH
from prereg.expression.rows import Compiler, Rows
from prereg.expression.syntax import Bool, Call, ExpressionError, Name, Node
from prereg.malformed import spoken
from prereg.values import as_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prereg.metrics import Kind, Parameter
    from prereg.records import Records
    from prereg.resolve.columns import Columns
    from prereg.resolve.notes import Notes, Path
    from prereg.resolve.units import Units

_SLOT = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_ROLES = {"label": "a label from 0 to 1", "correct": "a truth from 0 to 1", "error": "an error from 0 to 1"}
"""What is expected of a number between 0 and 1, by its parameter; else a confidence."""


def expression_text(value: object) -> str | None:
    """The text of an expression that YAML may have read as a number or a truth value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else None


def _plain(text: str) -> object:
    """A filled-in option: a number where it is one."""
    number = as_decimal(text)
    if number is None:
        return text
    return int(number) if number == int(number) and "." not in text else float(number)


@dataclass
class Parameters:
    """Reads the parameters of one metric."""

    records: Records
    columns: Columns
    units: Units
    notes: Notes
    values: Mapping[str, str] = field(default_factory=dict)
    """What `$name` stands for."""

    def filled(self, text: str) -> str:
        """An expression with the values of `each` in place of `$name`."""
        return _SLOT.sub(lambda m: self.values.get(m[1], m[0]), text)

    def read(
        self, kind: Kind, given: Mapping[str, Any], path: Path
    ) -> tuple[dict[str, Rows], dict[str, Any]]:
        """The arguments and options of a kind; problems are noted."""
        arguments: dict[str, Rows] = {}
        options: dict[str, Any] = {}
        before = len(self.notes.problems)
        for p in kind.parameters:
            if not p.of_rows:
                options.update(self._option(p, given, path))
                continue
            if p.alternative_to is not None:
                other = next(q for q in kind.parameters if q.name == p.alternative_to)
                first = kind.parameters.index(p) < kind.parameters.index(other)
                if p.name in given and other.name in given:
                    if first:
                        self.notes.problem(
                            path, f"`{p.name}` and `{other.name}` say the same; give one of them"
                        )
                    continue
                if p.name not in given and (other.name in given or not first):
                    continue
            if p.kind == "columns":
                arguments.update(self._columns(p, given, path))
                continue
            if p.optional and p.name not in given:
                continue
            if p.required and p.name not in given:
                self.notes.problem(path, f"`{p.name}` is missing")
                continue
            text = given.get(p.name, p.name)
            where: Path = (*path, p.name) if p.name in given else path
            rows = self.expression(
                where, text, "number" if p.kind == "unit_interval" else p.kind, p.name not in given
            )
            if rows is not None:
                arguments[p.name] = rows
                if p.kind == "unit_interval":
                    said = ("lies outside [0, 1]", f"{_ROLES.get(p.name, 'a confidence')} is expected")
                    self._within(where, text, rows, 0.0, 1.0, said)
                elif p.least > -math.inf:
                    said = (f"is below {p.least:g}", f"a {p.name} of {p.least:g} or more is expected")
                    self._within(where, text, rows, p.least, p.most, said)
        if len(self.notes.problems) == before:
            try:
                kind.validate(options)
            except ValueError as error:
                self.notes.problem(path, str(error))
        return arguments, options

    def _columns(self, p: Parameter, given: Mapping[str, Any], path: Path) -> dict[str, Rows]:
        """A list of columns, as arguments `name.0`, `name.1` and so on."""
        where: Path = (*path, p.name)
        names = given.get(p.name)
        if not isinstance(names, list) or not p.least <= len(names) <= p.most:
            count = f"{p.least:g}" if p.least == p.most else f"{p.least:g} or more"
            self.notes.problem(where if p.name in given else path, f"`{p.name}` is a list of {count} columns")
            return {}
        out = {}
        for i, text in enumerate(names):
            rows = self.expression((*where, i), text, p.kind)
            if rows is not None:
                out[f"{p.name}.{i}"] = rows
        return out

    def _option(self, p: Parameter, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
        notes = self.notes
        if p.name not in given:
            if p.required:
                notes.problem(path, f"`{p.name}` is missing")
            return {} if p.default is None else {p.name: p.default}
        value = given[p.name]
        where: Path = (*path, p.name)
        if isinstance(value, str) and value.startswith("$"):
            value = _plain(self.filled(value))
        if p.kind == "choice":
            if value not in p.choices:
                notes.problem(
                    where,
                    f"`{p.name}`: found {spoken(value)}, expected {' or '.join(f'`{c}`' for c in p.choices)}"
                    f"{suggestion(str(value), p.choices)}",
                )
                return {}
            return {p.name: value}
        if isinstance(value, bool) or not isinstance(value, int | float):
            notes.problem(where, f"`{p.name}`: found {spoken(value)}, expected a number")
            return {}
        if p.kind == "integer" and not isinstance(value, int):
            notes.problem(where, f"`{p.name}`: found {spoken(value)}, expected a whole number")
            return {}
        if not p.least <= value <= p.most or (p.open_below and value == p.least):
            low = f"more than {p.least:.10g}, up" if p.open_below else f"{p.least:.10g}"
            notes.problem(where, f"`{p.name}`: found {spoken(value)}, expected {low} to {p.most:.10g}")
            return {}
        return {p.name: as_decimal(repr(value)) if p.kind == "decimal" else value}

    def expression(self, path: Path, given: object, wanted: str, implied: bool = False) -> Rows | None:
        """A row expression of a metric, compiled; problems are noted."""
        text = expression_text(given)
        if text is None:
            found = f"found {spoken(given)}, expected an expression over the columns of a record"
            self.notes.problem(path, found)
            return None
        text = self.filled(text)
        node = self.notes.parse(path, text)
        if node is None:
            return None
        compiler = Compiler(self.columns.kinds, self.columns.computed)
        rows = compiler.compile(node, {"truth": TRUTH, "number": NUMBER}.get(wanted))
        if implied:
            for error in compiler.problems:
                message = error.message + self.notes.why(text, error.message)
                self.notes.problem(
                    path, f"parameter `{text}` was not given and reads the column of its name: {message}"
                )
        else:
            self.notes.expressions(path, text, [self._binary(e, node) for e in compiler.problems])
        return None if compiler.problems or rows.kind == "broken" else rows

    def _binary(self, error: ExpressionError, node: Node) -> ExpressionError:
        """Where `otherwise` mixes a column of 0 and 1 with a truth value: how to make the column one."""
        if not isinstance(node, Call) or node.function != "otherwise" or "truth value" not in error.message:
            return error
        names = [a.name for a in node.arguments if isinstance(a, Name)]
        binary = [n for n in names if self.columns.kinds.get(n) == BINARY]
        if not binary or "==" in error.message or not any(isinstance(a, Bool) for a in node.arguments):
            return error
        hint = f"; `{binary[0]}` holds 0 and 1: write `{binary[0]} == 1`"
        return ExpressionError(error.message + hint, error.start, error.end)

    def _within(
        self, path: Path, text: object, rows: Rows, low: float, high: float, said: tuple[str, str]
    ) -> None:
        """Note the records where a number lies outside its bounds: what is wrong, and what is expected."""
        table = self.units.layout.panels[0].table
        cells = rows.evaluate(table)
        outside = (cells.data < low) | (cells.data > high)
        if cells.missing is not None:
            outside &= ~cells.missing
        bad = np.flatnonzero(outside.any(axis=0))
        if len(bad) and cells.data.shape[1] == len(table.names):
            order = self.units.layout.order
            by_row = {int(order[i]): float(cells.data[:, i][outside[:, i]][0]) for i in bad}
            self.notes.problems += self.records.problem(
                np.sort(order[bad]), lambda r: f"column {text}: {by_row[r]!r} {said[0]}, {said[1]}"
            )
        elif len(bad):
            self.notes.problem(path, f"found {float(cells.data[outside][0])!r}, {said[1]}")
