"""Certificates for small formulas, made without any engine: search by plain splitting, every subformula a variable.

Makes real certificates for the checker to accept and for the tests to forge. Clauses are lists of non-zero whole numbers.
"""

from __future__ import annotations

from slow_logic import core, letters


class Table:
    """The rows of a certificate; `row` gives the row of a formula and makes it if it is new."""

    def __init__(self):
        self.rows, self._index = [], {}

    def row(self, formula):
        f = core(formula)
        if (f, type(f)) not in self._index:
            entry = [f[0], self.row(f[1]), self.row(f[2])] if isinstance(f, tuple) else f
            self._index[f, type(f)] = len(self.rows)
            self.rows.append(entry)
        return self._index[f, type(f)]


def trace(axioms, goal, flat=(), implications=(), steps=(), count=None):
    """A trace with formulas in place of rows; an implication is its two sides."""
    table = Table()
    row = table.row

    def rows(formulas):
        return [row(f) for f in formulas]

    tree = {"kind": "trace", "table": table.rows, "axioms": rows(axioms), "goal": row(goal)}
    tree["flat"] = [[rows(body), rows(head)] for body, head in flat]
    tree["implications"] = [[row(a), row(b), row(("=>", a, b))] for a, b in implications]
    tree["steps"] = [
        ["learn", step[1], rows(step[2])] if step[0] == "learn" else ["lemma", rows(step[1]), rows(step[2])]
        for step in steps
    ]
    tree["count"] = count and [[rows(member) for member in side] for side in count]
    return tree


def search(clauses, decided):
    """A model (the true variables) or the clauses that lead to a conflict by unit propagation, as (model, lemmas)."""
    values = set(decided)
    if any(-x in values for x in decided):
        return None, [[-x for x in decided]]
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            if any(x in values for x in clause):
                continue
            left = [x for x in clause if -x not in values]
            if not left:
                return None, [[-x for x in decided]]
            if len(left) == 1:
                values.add(left[0])
                changed = True
    free = next((abs(x) for clause in clauses for x in clause if x not in values and -x not in values), None)
    if free is None:
        return {x for x in values if x > 0}, None
    lemmas = []
    for choice in (-free, free):
        model, found = search(clauses, [*decided, choice])
        if found is None:
            return model, None
        lemmas += found
    return None, [*lemmas, [-x for x in decided]]


def structure(table):
    """The flat clauses and the implications that say, of each row, how it hangs together with its parts."""
    flat, implications = [], []
    for x, entry in enumerate(table):
        if entry is True:
            flat.append([[], [x]])
        elif entry is False:
            flat.append([[x], []])
        elif isinstance(entry, list):
            op, i, j = entry
            if op == "&":
                flat += [[[x], [i]], [[x], [j]], [[i, j], [x]]]
            elif op == "|":
                flat += [[[i], [x]], [[j], [x]], [[x], [i, j]]]
            else:
                flat.append([[x, i], [j]])
                implications.append([i, j, x])
    return flat, implications


def intuitionistic(axioms, goal):
    """A trace if the axioms entail the goal, a frame otherwise; always one of the two, in time that only small ones take."""
    table = Table()
    ends = [table.row(f) for f in axioms], table.row(goal)
    flat, implications = structure(table.rows)
    flat = flat + [[[], [a]] for a in ends[0]]
    clauses = [[-x - 1 for x in body] + [x + 1 for x in head] for body, head in flat]
    clauses += [[-b - 1, c + 1] for _, b, c in implications]
    steps = []

    def conflict(found):
        for lemma in found[:-1]:
            steps.append(["lemma", [-x - 1 for x in lemma if x < 0], [x - 1 for x in lemma if x > 0]])
            clauses.append(lemma)

    def learn(world, k):
        a, b, c = implications[k]
        below = sorted(world - {a + 1})
        for x in tuple(below):
            fewer = [y for y in below if y != x]
            if search(clauses, [a + 1, *fewer, -b - 1])[0] is None:
                below = fewer
        conflict(search(clauses, [a + 1, *below, -b - 1])[1])
        steps.append(["learn", k, [x - 1 for x in below] + [a]])
        clauses.append([-x for x in below] + [c + 1])

    while True:
        model, found = search(clauses, [-ends[1] - 1])
        if model is None:
            conflict(found)
            return {
                "kind": "trace", "table": table.rows, "axioms": ends[0], "goal": ends[1], "flat": flat,
                "implications": implications, "steps": steps, "count": None,
            }  # fmt: skip
        worlds = _saturated(clauses, implications, model, learn)
        if worlds is not None:
            return frame(worlds, {table.row(p) + 1: p for p in letters(*axioms, goal)})


def _saturated(clauses, implications, model, learn):
    worlds = [model]
    for world in worlds:
        for k, (a, b, c) in enumerate(implications):
            if c + 1 in world or any(world <= v and a + 1 in v and b + 1 not in v for v in worlds):
                continue
            above, _ = search(clauses, [a + 1, *sorted(world), -b - 1])
            if above is None:
                learn(world, k)
                return None
            if above not in worlds:
                worlds.append(above)
    return worlds


def frame(worlds, names):
    """The frame of worlds that are sets, ordered by inclusion."""
    return {
        "kind": "frame",
        "worlds": [sorted(names[x] for x in world if x in names) for world in worlds],
        "above": [[j for j, v in enumerate(worlds) if world <= v] for world in worlds],
    }


def lemmas(axioms, goal):
    """A lemma list that tries all assignments: right if the axioms entail the goal, and forged if they do not."""
    table = Table()
    ends = [table.row(f) for f in axioms], table.row(goal)
    names = [table.row(p) + 1 for p in letters(*axioms, goal)]
    found = [
        [x if code >> k & 1 else -x for k, x in enumerate(names[:size])]
        for size in range(len(names), 0, -1)
        for code in range(1 << size)
    ]
    return {
        "kind": "lemmas", "table": table.rows, "axioms": ends[0], "goal": ends[1], "lemmas": found, "count": None,
    }  # fmt: skip
