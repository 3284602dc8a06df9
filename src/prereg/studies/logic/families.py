"""Problems with known answers: twelve families of any size, and formulas that tell sound engines from others.

The families are those of Dyckhoff, Some benchmark formulas for intuitionistic propositional logic (1997),
known as SYJ201 to SYJ212 of the ILTP library, with letters of their own (`o1_11` for pigeon 1 in hole 11).
The labels hold for every n; with each non-theorem goes a countermodel of two worlds that owes nothing to an
engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prereg.studies.logic.frames import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prereg.studies.logic.search import Certificate, Claim

_CHAIN_OF_TWO = (0b11, 0b10)
# Two worlds: what holds at the lower one, and what at the upper one.
_Worlds = tuple[set[str], set[str]]


@dataclass(frozen=True, slots=True)
class Generated:
    """A problem made from its definition, with its label in both logics and a frame that refutes it."""

    name: str
    axioms: tuple[str, ...]
    conjecture: str
    intuitionistic: Claim
    classical: Claim
    frame: Certificate | None = None

    def text(self) -> str:
        """Write the problem file, labels in the header."""
        lines = [
            f"% Problem  : {self.name}",
            f"% Status   : {_STATUS[self.classical]}",
            f"% Status (intuit.) : {_STATUS_INTUITIONISTIC[self.intuitionistic]}",
        ]
        lines += [f"fof(axiom{i},axiom,( {axiom} ))." for i, axiom in enumerate(self.axioms, 1)]
        return "\n".join([*lines, f"fof(con,conjecture,( {self.conjecture} )).", ""])


_STATUS: dict[Claim, str] = {"theorem": "Theorem", "non_theorem": "CounterSatisfiable"}
_STATUS_INTUITIONISTIC: dict[Claim, str] = {"theorem": "Theorem", "non_theorem": "Non-Theorem"}


def _joined(connective: str, parts: Sequence[str]) -> str:
    """Nest to the right."""
    text = parts[-1]
    for part in reversed(parts[:-1]):
        text = f"({part} {connective} {text})"
    return text


def _numbered(letter: str, numbers: Iterable[int]) -> list[str]:
    return [f"{letter}{i}" for i in numbers]


def _circle(m: int) -> tuple[list[str], str]:
    letters = _numbered("p", range(1, m + 1))
    together = _joined("&", letters)
    following = [*letters[1:], letters[0]]
    return [f"(({p} <=> {q}) => {together})" for p, q in zip(letters, following, strict=True)], together


def _syj201(n: int) -> tuple[list[str], str]:
    return _circle(2 * n + 1)


def _syj207(n: int) -> tuple[list[str], str]:
    axioms, together = _circle(2 * n)
    return axioms, f"(p0 | ({together} | ~p0))"


def _pigeons(n: int, last: str) -> tuple[list[str], str]:
    axioms = [_joined("|", [*(f"o{i}_{h}" for h in range(1, n)), f"{last}o{i}_{n}"]) for i in range(1, n + 2)]
    clashes = [
        f"(o{i}_{h} & o{j}_{h})"
        for h in range(1, n + 1)
        for i in range(1, n + 2)
        for j in range(i + 1, n + 2)
    ]
    return axioms, _joined("|", clashes)


def _all_or_one(n: int, first: str) -> tuple[list[str], str]:
    letters = _numbered("p", range(1, n + 1))
    parts = [_joined("&", letters), f"({first}p1 => f)", *(f"({p} => f)" for p in letters[1:])]
    return [f"({_joined('|', parts)} => f)"], "f"


def _stairs(n: int, last: str) -> tuple[list[str], str]:
    return [f"{last}p{n}", *(f"(p{i} => (p{i} => p{i - 1}))" for i in range(1, n + 1))], "p0"


def _syj205(n: int) -> tuple[list[str], str]:
    first, last = "(a0 => f)", f"((b{n} => b0) => a{n})"
    steps = [f"((b{i - 1} => a{i}) => a{i - 1})" for i in range(1, n + 1)]
    forth = _joined("&", [first, last, *steps])
    back = _joined("&", [*reversed(steps), last, first])
    return [], f"(({forth} => f) & ({back} => f))"


def _syj211(n: int) -> tuple[list[str], str]:
    steps = [f"((~~b{i - 1} => a{i}) => a{i - 1})" for i in range(1, n + 1)]
    return ["(a0 => f)", f"((~~b{n} => b0) => a{n})", *steps], "f"


def _equivalences(n: int, first: str) -> tuple[list[str], str]:
    left, right = f"{first}a1", "a1"
    for k in range(2, n + 1):
        left, right = f"({left} <=> a{k})", f"(a{k} <=> {right})"
    return [], f"({left} <=> {right})"


def _worlds207(n: int) -> _Worlds:
    odd = set(_numbered("p", range(1, 2 * n + 1, 2)))
    return odd, odd | {"p0"}


def _worlds208(n: int) -> _Worlds:
    every = {f"o{i}_{h}" for i in range(1, n + 2) for h in range(1, n + 1)}
    return {f"o{i}_{i}" for i in range(1, n)}, every


def _worlds209(n: int) -> _Worlds:
    every = {"f", *_numbered("p", range(1, n + 1))}
    return every - {"p1", "f"}, every


def _worlds210(n: int) -> _Worlds:
    return set(), set(_numbered("p", range(n + 1)))


def _worlds211(n: int) -> _Worlds:
    return set(), {"f", *_numbered("a", range(n + 1)), *_numbered("b", range(n + 1))}


def _worlds212(n: int) -> _Worlds:
    every = set(_numbered("a", range(1, n + 1)))
    return every - {"a1"}, every


_MAKERS: Mapping[str, tuple[Callable[[int], tuple[list[str], str]], Callable[[int], _Worlds] | None]] = {
    "syj201": (_syj201, None),
    "syj202": (lambda n: _pigeons(n, ""), None),
    "syj203": (lambda n: _all_or_one(n, ""), None),
    "syj204": (lambda n: _stairs(n, ""), None),
    "syj205": (_syj205, None),
    "syj206": (lambda n: _equivalences(n, ""), None),
    "syj207": (_syj207, _worlds207),
    "syj208": (lambda n: _pigeons(n, "~~"), _worlds208),
    "syj209": (lambda n: _all_or_one(n, "~~"), _worlds209),
    "syj210": (lambda n: _stairs(n, "~~"), _worlds210),
    "syj211": (_syj211, _worlds211),
    "syj212": (lambda n: _equivalences(n, "~~"), _worlds212),
}
FAMILIES = tuple(_MAKERS)


def generate(family: str, n: int) -> Generated:
    """Make problem n = 1, 2, ... of a family (`syj201` to `syj212`); all are classical theorems.

    Size: at most about 6 n^2 letters' worth of text per hole in `syj202` and `syj208`, linear in n elsewhere
    (quadratic in `syj201` and `syj207`).
    """
    if n < 1:
        raise ValueError("the smallest problem of a family is n = 1")
    make, worlds = _MAKERS[family]
    axioms, conjecture = make(n)
    name = f"{family}_{n:02d}"
    if worlds is None:
        return Generated(name, tuple(axioms), conjecture, "theorem", "theorem")
    refutation = frame([sorted(letters) for letters in worlds(n)], _CHAIN_OF_TWO)
    return Generated(name, tuple(axioms), conjecture, "non_theorem", "theorem", refutation)


@dataclass(frozen=True, slots=True)
class Gate:
    """A formula that an engine must refuse or accept; `worlds` is the size of its smallest countermodel."""

    name: str
    formula: str
    intuitionistic: Claim
    classical: Claim
    worlds: int | None
    shape: str | None

    def problem(self) -> Generated:
        """Return the gate as a problem without axioms."""
        return Generated(self.name, (), self.formula, self.intuitionistic, self.classical)


def _refused(shape: str, worlds: int, formulas: Mapping[str, str]) -> list[Gate]:
    classical: Claim = "non_theorem" if worlds == 1 else "theorem"
    return [
        Gate(name, formula, "non_theorem", classical, worlds, shape) for name, formula in formulas.items()
    ]


# Smallest countermodels by search through all orders of at most four worlds.
GATES: tuple[Gate, ...] = (
    *_refused("one world", 1, {"falsity": "$false"}),
    *_refused(
        "2-chain",
        2,
        {
            "excluded_middle": "p | ~p",
            "double_negation": "~~p => p",
            "peirce": "((p=>q)=>p)=>p",
            "converse_contraposition": "(~q=>~p)=>(p=>q)",
            "material_implication": "(p=>q)=>(~p|q)",
            "associative_equivalence": "((p<=>q)<=>r)<=>(p<=>(q<=>r))",
        },
    ),
    *_refused(
        "3-world fork",
        3,
        {
            "weak_excluded_middle": "~p | ~~p",
            "linearity": "(p=>q)|(q=>p)",
            "de_morgan": "~(p&q)=>(~p|~q)",
            "disjunctive_consequent": "(p=>(q|r))=>((p=>q)|(p=>r))",
            "linearity_by_cases": "((p=>q)=>r)=>(((q=>p)=>r)=>r)",
        },
    ),
    *_refused("3-chain", 3, {"depth_two": "q|(q=>(p|~p))"}),
    *_refused("root and three tops", 4, {"kreisel_putnam": "(~p=>(q|r))=>((~p=>q)|(~p=>r))"}),
    *_refused("root, a 2-chain and a top", 4, {"scott": "((~~p=>p)=>(p|~p))=>(~p|~~p)"}),
    *(
        Gate(name, formula, "theorem", "theorem", None, None)
        for name, formula in {
            "not_not_excluded_middle": "~~(p|~p)",
            "triple_negation": "~~~p=>~p",
            "not_not_peirce": "~~(((p=>q)=>p)=>p)",
            "contraposition": "(p=>q)=>(~q=>~p)",
            "wajsberg": "((((p=>q)=>p)=>p)=>q)=>q",
            "ex_falso": "$false=>p",
            "not_different_from_itself": "~(p<~>p)",
            "not_its_own_negation": "~(p<=>~p)",
            "neither": "(p ~| q)<=>(~p&~q)",
            "truth": "$true",
        }.items()
    ),
)
