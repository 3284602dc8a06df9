"""A learner that says, from counts over a problem's text, whether the conjecture follows intuitionistically.

Logistic regression on 25 structural counts, trained on some problems and asked about others:

- ``rule``: no training; a problem with ``~~`` in it does not follow,
- ``random_folds``: trained on nine tenths of the problems of the same kind, drawn at random,
- ``pair_out``: trained on the families, without the pair of families (201 and 207, ..., 206 and 212) or the
  gates that is asked about; ``pair_out_no_negation`` the same without the four counts of negations,
- ``shuffled``: as ``pair_out``, with training targets shuffled, over ten seeds (a placebo),
- ``synthetic``: trained on random formulas; ``synthetic_one_world`` and ``synthetic_two_worlds`` are also
  told whether there is a countermodel of one world, or of at most two.

Every learner is asked about the families (``families``, n = 1 to 12, and the gates) and about random formulas
that ``synthetic`` was not trained on (``random``). Beside its claim stands whether an engine's certificate,
accepted by the detached checker, agrees with it.

    python protocols/data/make_entailment_learner.py [--output FILE] [--any-version]

Equal library versions give equal bytes: random formulas come from hashes, the regression has one
well-determined optimum, and probabilities are rounded to four decimals.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import numpy as np
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    from prereg.checker import check
    from prereg.studies.logic import frames
    from prereg.studies.logic.engines import ENGINES
    from prereg.studies.logic.families import FAMILIES, GATES, Gate, Generated, generate
    from prereg.studies.logic.tptp import parse_problem
except ImportError as error:
    sys.exit(f"make_entailment_learner: {error}; it needs this package with the extra `example`")

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MADE_WITH = {"scikit-learn": "1.9.1", "numpy": "2.4.6"}
"""The versions that gave the bytes of ``entailment-learner.csv``."""

SEED = 20263
SIZES = 12
"""The largest n of every family."""
TRAINING, ASKED = 600, 200
"""Random formulas to train on and to ask about, one half of each follows."""
PLACEBOS = 10
FOLDS = 10

COLUMNS = ("learner", "seed", "kind", "problem", "pair", "deep", "follows", "claim", "right", "certified",
           "answered", "confidence")  # fmt: skip
NEGATIONS = ("not", "not_not", "goal_not", "goal_not_not")
NAMES = (
    "and", "or", "implies", "iff", "constants", "letters", "occurrences", "axioms", "tokens", "depth",
    "reuse", "goal_and", "goal_or", "goal_implies", "goal_iff", "goal_share", "goal_letters",
    "goal_is_plain", "goal_is_and", "goal_is_or", "goal_is_implies", *NEGATIONS,
)  # fmt: skip
"""The 25 counts; a `~` counts under NEGATIONS and nowhere else."""

Array = np.ndarray[Any, Any]
_TOKEN = re.compile(r"<=>|<~>|=>|<=|~\||~&|[&|~()]|\$?[a-z]\w*")


@dataclass(frozen=True)
class Problem:
    """A problem with its truth, what it is resampled and held out with, its counts and its probes."""

    name: str
    kind: str
    pair: str
    group: str
    deep: bool
    follows: bool
    proven: bool
    counts: tuple[float, ...]
    twice_negated: bool
    one_world: bool
    two_worlds: bool


def number(bound: int, *purpose: object) -> int:
    """Return a whole number below a bound that depends on nothing but the seed and the purpose."""
    text = "/".join(map(str, (SEED, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % bound


def counts(axioms: Sequence[str], goal: str) -> tuple[float, ...]:
    """Return the 25 counts of a problem, in the order of NAMES."""
    inside = [_TOKEN.findall(axiom) for axiom in axioms]
    last = _TOKEN.findall(goal)
    every = [word for tokens in (*inside, last) for word in tokens]
    letters = [word for word in every if word[0].isalpha()]
    depth = deepest = 0
    for word in every:
        depth += (word == "(") - (word == ")")
        deepest = max(deepest, depth)
    plain = [word for word in every if word != "~"]
    own = [word for word in last if word != "~"]
    top = _top(last)
    # `~~` is looked for within a formula, never across two of them
    doubled = sum(map(_doubled, inside)) + _doubled(last)
    found = {
        "and": every.count("&"), "or": every.count("|"), "implies": every.count("=>"),
        "iff": every.count("<=>"),
        "constants": sum(word[0] == "$" for word in every), "letters": len(set(letters)),
        "occurrences": len(letters), "axioms": len(axioms), "tokens": len(plain), "depth": deepest,
        "reuse": len(letters) / max(1, len(set(letters))),
        "goal_and": last.count("&"), "goal_or": last.count("|"), "goal_implies": last.count("=>"),
        "goal_iff": last.count("<=>"), "goal_share": len(own) / len(plain),
        "goal_letters": len({word for word in last if word[0].isalpha()}),
        "goal_is_plain": top == "", "goal_is_and": top == "&", "goal_is_or": top == "|",
        "goal_is_implies": top == "=>",
        "not": every.count("~"), "not_not": doubled, "goal_not": last.count("~"),
        "goal_not_not": _doubled(last),
    }  # fmt: skip
    return tuple(float(found[name]) for name in NAMES)


def _doubled(tokens: Sequence[str]) -> int:
    return sum(a == b == "~" for a, b in pairwise(tokens))


def _top(tokens: list[str]) -> str:
    """Return the connective of a formula that stands outside all brackets but those around the whole."""
    while True:
        depth, found, lowest = 0, "", len(tokens)
        for i, word in enumerate(tokens):
            depth += (word == "(") - (word == ")")
            if depth == 0 and word in ("&", "|", "=>", "<=>") and not found:
                found = word
            if i < len(tokens) - 1:
                lowest = min(lowest, depth)
        if found or not tokens or tokens[0] != "(" or lowest == 0:
            return found
        tokens = tokens[1:-1]


def problem(made: Generated, kind: str, pair: str, group: str, *, deep: bool = False) -> Problem:
    """Look at a problem: its counts, its probes, and whether a certificate of its truth is accepted.

    The probe of two worlds is, for a family, the countermodel that comes with its definition, and otherwise a
    search through all orders of one and two worlds; a problem that follows has none of any size.
    """
    text = made.text()
    read = parse_problem(text)
    engine = ENGINES["intuitionistic"]
    outcome = engine.run(read)
    verdict = check(text, json.dumps(outcome.certificate), engine.logic)
    follows = made.intuitionistic == "theorem"
    proven = verdict.accepted and verdict.follows == follows
    if follows:
        one = two = False
    elif made.frame is not None:
        one, two = False, check(text, json.dumps(made.frame), engine.logic).accepted
    else:
        one = frames.decide(read, max_atoms={1: 9}, max_valuations=1 << 20).claim is not None
        two = frames.decide(read, max_atoms={1: 9, 2: 9}, max_valuations=1 << 20).claim is not None
    seen = counts(made.axioms, made.conjecture)
    twice = seen[NAMES.index("not_not")] > 0
    return Problem(made.name, kind, pair, group, deep, follows, proven, seen, twice, one, two)


def families() -> Iterator[Problem]:
    """Make the problems of the families and the gates."""
    for family in FAMILIES:
        number_of = int(family[3:])
        pair = f"pair_{number_of if number_of <= 206 else number_of - 6}"
        for n in range(1, SIZES + 1):
            yield problem(generate(family, n), "families", pair, pair)
    for gate in GATES:
        yield problem(_named(gate), "families", f"gate_{gate.name}", "gates", deep=(gate.worlds or 0) > 2)


def _named(gate: Gate) -> Generated:
    made = gate.problem()
    return Generated(f"gate_{gate.name}", made.axioms, made.conjecture, made.intuitionistic, made.classical)


def formula(size: int, letters: int, *purpose: object) -> str:
    """Return a random formula with so many leaves."""
    if size == 1:
        leaf = f"p{number(letters, *purpose, 'letter')}"
        return "~" * (0, 0, 0, 1, 1, 2)[number(6, *purpose, "leaf")] + leaf
    left = 1 + number(size - 1, *purpose, "cut")
    connective = ("&", "|", "=>", "=>", "=>", "<=>")[number(6, *purpose, "connective")]
    sides = formula(left, letters, *purpose, "l"), formula(size - left, letters, *purpose, "r")
    negated = "~" * (0, 0, 0, 0, 1, 2)[number(6, *purpose, "negated")]
    return f"{negated}({sides[0]} {connective} {sides[1]})"


def random_problems(purpose: str, wanted: int) -> Iterator[Problem]:
    """Make random problems, one half of which follows; labels are what a checked certificate shows."""
    left = {"theorem": wanted // 2, "non_theorem": wanted // 2}
    attempt = 0
    while any(left.values()):
        attempt += 1
        letters = 2 + number(3, purpose, attempt, "letters")
        axioms = [
            formula(2 + number(4, purpose, attempt, i, "size"), letters, purpose, attempt, i)
            for i in range(number(4, purpose, attempt, "axioms"))
        ]
        goal = formula(2 + number(7, purpose, attempt, "size"), letters, purpose, attempt, "goal")
        # the header is not read: the label is what the engine's certificate will show
        made = Generated(f"{purpose}_{attempt:05d}", tuple(axioms), goal, "theorem", "theorem")
        claim = ENGINES["intuitionistic"].run(parse_problem(made.text())).claim
        if claim is None or not left[claim]:
            continue
        left[claim] -= 1
        made = Generated(made.name, made.axioms, goal, claim, "theorem")
        yield problem(made, "random", made.name, made.name)


class Learner:
    """Logistic regression on the logarithms of counts, scaled by their mean and spread in training."""

    def __init__(
        self, trained_on: Sequence[Problem], columns: Sequence[str], targets: Sequence[bool]
    ) -> None:
        self._columns = columns
        table = self._table(trained_on)
        self._mean, spread = table.mean(axis=0), table.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
        self._model.fit((table - self._mean) / self._spread, list(targets))

    def says(self, asked: Sequence[Problem]) -> list[int]:
        """Return the probabilities that the conjectures follow, in ten-thousandths."""
        scaled = (self._table(asked) - self._mean) / self._spread
        return [int(x) for x in np.rint(self._model.predict_proba(scaled)[:, 1] * 10_000)]

    def _table(self, problems: Sequence[Problem]) -> Array:
        rows = []
        for one in problems:
            known = dict(zip(NAMES, one.counts, strict=True))
            known |= {"one_world": float(not one.one_world), "two_worlds": float(not one.two_worlds)}
            rows.append([known[column] for column in self._columns])
        table: Array = np.log1p(np.array(rows))
        return table


def held_out(
    trained_on: Sequence[Problem], asked: Sequence[Problem], columns: Sequence[str], groups: dict[str, str],
    shuffle: int | None = None,
) -> dict[str, int]:  # fmt: skip
    """Ask about every problem a learner that was not trained on its group."""
    out: dict[str, int] = {}
    for group in sorted({groups[one.name] for one in asked}):
        known = [one for one in trained_on if groups.get(one.name) != group]
        targets = [one.follows for one in known]
        if shuffle is not None:
            # as many of each class as before, on other problems
            order = sorted(
                range(len(known)), key=lambda i: number(1 << 60, "shuffle", shuffle, known[i].name)
            )
            targets = [targets[i] for i in order]
        mine = [one for one in asked if groups[one.name] == group]
        said = Learner(known, columns, targets).says(mine)
        out |= {one.name: p for one, p in zip(mine, said, strict=True)}
    return out


def answers(
    own: list[Problem], asked: list[Problem], training: list[Problem]
) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Yield learner, seed and what it says of every problem."""
    every = own + asked
    bare = [name for name in NAMES if name not in NEGATIONS]
    yield "rule", 0, {one.name: 0 if one.twice_negated else 10_000 for one in every}
    folds = {one.name: str(number(FOLDS, "fold", one.name)) for one in every}
    yield "random_folds", 0, {**held_out(own, own, NAMES, folds), **held_out(asked, asked, NAMES, folds)}
    groups = {one.name: one.group if one.kind == "families" else "random" for one in every}
    yield "pair_out", 0, held_out(own, every, NAMES, groups)
    yield "pair_out_no_negation", 0, held_out(own, every, bare, groups)
    for seed in range(PLACEBOS):
        yield "shuffled", seed, held_out(own, every, NAMES, groups, seed)
    for name, probes in (
        ("synthetic", ()),
        ("synthetic_one_world", ("one_world",)),
        ("synthetic_two_worlds", ("two_worlds",)),
    ):
        learner = Learner(training, [*NAMES, *probes], [one.follows for one in training])
        yield name, 0, {one.name: p for one, p in zip(every, learner.says(every), strict=True)}


def make_records() -> str:
    """Train, ask, and return the whole file as text."""
    own, asked = list(families()), list(random_problems("random", ASKED))
    training = list(random_problems("training", TRAINING))
    lines = [",".join(COLUMNS)]
    for learner, seed, said in answers(own, asked, training):
        for one in own + asked:
            p = said[one.name]
            claim = p >= 5_000
            right = claim == one.follows
            confidence = max(p, 10_000 - p)
            cells = (
                learner, str(seed), one.kind, one.name, one.pair, _truth(one.deep), _truth(one.follows),
                "theorem" if claim else "non_theorem", _truth(right), _truth(right and one.proven), "true",
                f"{confidence // 10_000}.{confidence % 10_000:04d}",
            )  # fmt: skip
            lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def version_differences() -> list[str]:
    """Return what was found and what was expected, for libraries of another minor version."""
    found = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    return [
        f"{name} {found[name]}, not {expected}"
        for name, expected in MADE_WITH.items()
        if found[name].split(".")[:2] != expected.split(".")[:2]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Write the records; 0 when written, 2 when the versions are others and nothing was written."""
    parser = argparse.ArgumentParser(
        description="Make the records of the entailment learner.", allow_abbrev=False
    )
    default = Path(__file__).with_name("entailment-learner.csv")
    parser.add_argument("--output", type=Path, default=default, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--any-version", action="store_true", help="write even if the bytes may differ")
    options = parser.parse_args(arguments)

    differences = version_differences()
    if differences and not options.any_version:
        found = "; ".join(differences)
        print(f"make_entailment_learner: refused: {found} (--any-version writes anyway)", file=sys.stderr)
        return 2
    with warnings.catch_warnings():
        # a solver that stops early is not at the point that makes the bytes reproducible
        warnings.simplefilter("error", ConvergenceWarning)
        options.output.write_bytes(make_records().encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
