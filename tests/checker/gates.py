"""Formulas with known answers in both logics, and hand-made problems for certificates."""

from __future__ import annotations

from slow_logic import IFF, NOR, XOR, both, either, iff, no, to

p, q, r = "p", "q", "r"

# Refuted in the two-world chain, and in no single world (each is a classical theorem).
CHAIN_OF_TWO = [
    either(p, no(p)),
    to(no(no(p)), p),
    to(to(to(p, q), p), p),
    to(to(no(q), no(p)), to(p, q)),
    to(to(p, q), either(no(p), q)),
    iff(iff(iff(p, q), r), iff(p, iff(q, r))),
]
# In a fork of three worlds.
FORK = [
    either(no(p), no(no(p))),
    either(to(p, q), to(q, p)),
    to(no(both(p, q)), either(no(p), no(q))),
    to(to(p, either(q, r)), either(to(p, q), to(p, r))),
    to(to(to(p, q), r), to(to(to(q, p), r), r)),
]
CHAIN_OF_THREE = [either(q, to(q, either(p, no(p))))]
FOUR_WORLDS = [
    to(to(no(p), either(q, r)), either(to(no(p), q), to(no(p), r))),
    to(to(to(no(no(p)), p), either(p, no(p))), either(no(p), no(no(p)))),
]
REFUSED = {2: CHAIN_OF_TWO, 3: FORK + CHAIN_OF_THREE, 4: FOUR_WORLDS}
NON_THEOREMS = [f for formulas in REFUSED.values() for f in formulas]

THEOREMS = [
    no(no(either(p, no(p)))),
    to(no(no(no(p))), no(p)),
    no(no(to(to(to(p, q), p), p))),
    to(to(p, q), to(no(q), no(p))),
    to(to(to(to(to(p, q), p), p), q), q),
    to(False, p),
    no((XOR, p, p)),
    no((IFF, p, no(p))),
    (IFF, (NOR, p, q), both(no(p), no(q))),
    True,
]
