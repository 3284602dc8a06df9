"""An oracle for both logics, slow and obvious: truth tables, and all Kripke frames of few worlds.

A formula is a letter (text), True, False, or a tuple of a connective and its sides. All connectives of TPTP have a
meaning of their own here; `core` spells them out in four, and nothing below uses it for truth.
"""

from __future__ import annotations

import itertools
from functools import cache

NOT, AND, OR, TO, FROM, IFF, XOR, NOR, NAND = "~", "&", "|", "=>", "<=", "<=>", "<~>", "~|", "~&"


def no(a):
    return (NOT, a)


def both(a, b):
    return (AND, a, b)


def either(a, b):
    return (OR, a, b)


def to(a, b):
    return (TO, a, b)


def iff(a, b):
    return (IFF, a, b)


def right(connective, parts):
    """Parts joined by one connective, nested to the right."""
    *rest, whole = parts
    for part in reversed(rest):
        whole = (connective, part, whole)
    return whole


def tptp(formula):
    """The text of a formula, all brackets written. No recursion: disjunctions nest a thousand deep."""
    out, stack = [], [formula]
    while stack:
        part = stack.pop()
        if part in (")", "(") or (isinstance(part, str) and part.startswith(" ")):
            out.append(part)
        elif isinstance(part, bool):
            out.append("$true" if part else "$false")
        elif isinstance(part, str):
            out.append(part)
        elif len(part) == 2:
            stack += [")", part[1], "(", " ~ "]
        else:
            stack += [")", part[2], f" {part[0]} ", part[1], "("]
    return "".join(out)


def problem(axioms, goal):
    """The text of a problem file."""
    lines = [f"fof(axiom{k}, axiom, {tptp(axiom)})." for k, axiom in enumerate(axioms)]
    return "\n".join([*lines, f"fof(goal, conjecture, {tptp(goal)}).", ""])


def letters(*formulas):
    """The letters of formulas, sorted."""
    found, stack = set(), list(formulas)
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack += part[1:]
        elif isinstance(part, str):
            found.add(part)
    return sorted(found)


def core(f):
    """The same formula in &, |, => and the constants, as docs/certificates.md spells it out."""
    if not isinstance(f, tuple):
        return f
    a, b = core(f[1]), core(f[-1])
    same = (AND, (TO, a, b), (TO, b, a))
    return {
        NOT: (TO, a, False), AND: (AND, a, b), OR: (OR, a, b), TO: (TO, a, b), FROM: (TO, b, a), IFF: same,
        XOR: (TO, same, False), NOR: (TO, (OR, a, b), False), NAND: (TO, (AND, a, b), False),
    }[f[0]]  # fmt: skip


def true(f, values):
    """Whether a formula is true where the letters in `values` are."""
    if not isinstance(f, tuple):
        return f if isinstance(f, bool) else f in values
    a, b = true(f[1], values), true(f[-1], values)
    return {
        NOT: not a, AND: a and b, OR: a or b, TO: b or not a, FROM: a or not b, IFF: a == b, XOR: a != b,
        NOR: not (a or b), NAND: not (a and b),
    }[f[0]]  # fmt: skip


def assignments(names):
    for size in range(len(names) + 1):
        yield from map(frozenset, itertools.combinations(names, size))


def counter_assignment(axioms, goal):
    """An assignment (its true letters) that makes the axioms true and the goal false, or None."""
    for values in assignments(letters(*axioms, goal)):
        if all(true(a, values) for a in axioms) and not true(goal, values):
            return values
    return None


def forces(above, worlds, w, f):
    """Whether world w forces f; each connective by its clause in Kripke's definition."""
    if not isinstance(f, tuple):
        return f if isinstance(f, bool) else f in worlds[w]

    def at(v, part):
        return forces(above, worlds, v, part)

    op, a, b = f[0], f[1], f[-1]
    if op == AND:
        return at(w, a) and at(w, b)
    if op == OR:
        return at(w, a) or at(w, b)
    ups = above[w]
    if op == XOR:
        return not any(forces(above, worlds, v, (IFF, a, b)) for v in ups)
    return all(
        {
            NOT: lambda v: not at(v, a),
            TO: lambda v: at(v, b) or not at(v, a),
            FROM: lambda v: at(v, a) or not at(v, b),
            IFF: lambda v: at(v, a) == at(v, b),
            NOR: lambda v: not (at(v, a) or at(v, b)),
            NAND: lambda v: not (at(v, a) and at(v, b)),
        }[op](v)
        for v in ups
    )


@cache
def orders(count):
    """All partial orders on 0..count-1 with 0 below all, as lists of who is above whom (numbered upwards)."""
    pairs = list(itertools.combinations(range(1, count), 2))
    found = []
    for chosen in itertools.product([False, True], repeat=len(pairs)):
        less = {pair for pair, is_less in zip(pairs, chosen, strict=True) if is_less}
        less |= {(0, j) for j in range(1, count)}
        if all((i, k) in less for i, j in less for j2, k in less if j == j2):
            found.append([[j for j in range(count) if i == j or (i, j) in less] for i in range(count)])
    return found


def counter_frame(axioms, goal, most=4):
    """A frame of at most `most` worlds, as (worlds, above), whose world 0 forces the axioms, not the goal; or None."""
    names = letters(*axioms, goal)
    for count in range(1, most + 1):
        for above in orders(count):
            ups = [up for up in assignments(range(count)) if all(set(above[i]) <= up for i in up)]
            for choice in itertools.product(ups, repeat=len(names)):
                worlds = [[n for n, up in zip(names, choice, strict=True) if i in up] for i in range(count)]
                if all(forces(above, worlds, 0, a) for a in axioms) and not forces(above, worlds, 0, goal):
                    return worlds, above
    return None


def family(number, n):
    """Axioms and conjecture of SYJ<number> at size n, by the published definitions (Dyckhoff 1997)."""
    number_of = {207: 201, 208: 202, 209: 203, 210: 204, 211: 205, 212: 206}
    weak = number in number_of

    def twice(f):
        return no(no(f)) if weak else f

    kind = number_of.get(number, number)
    if kind == 201:
        m = 2 * n if weak else 2 * n + 1
        p = [f"p{i}" for i in range(1, m + 1)]
        c = right(AND, p)
        axioms = [to(iff(p[i], p[(i + 1) % m]), c) for i in range(m)]
        return axioms, either("p0", either(c, no("p0"))) if weak else c
    if kind == 202:
        o = {(i, h): f"o{i}_{h}" for i in range(1, n + 2) for h in range(1, n + 1)}
        axioms = [
            right(OR, [o[i, h] if h < n else twice(o[i, h]) for h in range(1, n + 1)])
            for i in range(1, n + 2)
        ]
        pairs = [
            both(o[i, h], o[j, h])
            for h in range(1, n + 1)
            for i in range(1, n + 2)
            for j in range(i + 1, n + 2)
        ]
        return axioms, right(OR, pairs)
    if kind == 203:
        p = [f"p{i}" for i in range(1, n + 1)]
        return [to(right(OR, [right(AND, p), *(to(twice(x) if x == "p1" else x, "f") for x in p)]), "f")], "f"
    if kind == 204:
        return [twice(f"p{n}"), *(to(f"p{i}", to(f"p{i}", f"p{i - 1}")) for i in range(1, n + 1))], "p0"
    if kind == 205:
        z = to("a0", "f")
        b = to(to(twice(f"b{n}"), "b0"), f"a{n}")
        c = [to(to(twice(f"b{i - 1}"), f"a{i}"), f"a{i - 1}") for i in range(1, n + 1)]
        if weak:
            return [z, b, *c], "f"
        return [], both(to(right(AND, [z, b, *c]), "f"), to(right(AND, [*reversed(c), b, z]), "f"))
    l, r = twice("a1"), "a1"
    for k in range(2, n + 1):
        l, r = iff(l, f"a{k}"), iff(f"a{k}", r)
    return [], iff(l, r)


THEOREMS, NON_THEOREMS = range(201, 207), range(207, 213)


def family_frame(number, n):
    """The two-world frame that refutes SYJ207..212 at size n: what holds at world 0; all hold at world 1."""
    axioms, goal = family(number, n)
    names = letters(*axioms, goal)
    low = {
        207: [f"p{i}" for i in range(1, 2 * n + 1, 2)],
        208: [f"o{i}_{i}" for i in range(1, n)],
        209: [x for x in names if x not in {"p1", "f"}],
        210: [],
        211: [],
        212: [x for x in names if x != "a1"],
    }[number]
    high = sorted([*low, "p0"]) if number == 207 else names
    return [sorted(low), high], [[0, 1], [1]]
