"""The learner of ``make_entailment_learner.py`` on a user's copy of the ILTP library, which is not shipped.

Asked about the labelled problems of the library (``library``):

- ``rule``, ``probe``: no training; what has ``~~`` in it, or a countermodel of two worlds, does not follow,
- ``random_folds``, ``pair_out``, ``pair_out_no_negation``, ``shuffled`` (twenty seeds): trained on the
  library, without the tenth, or the pair of families, that is asked about,
- ``synthetic``, ``synthetic_one_world``, ``synthetic_two_worlds``: trained on the random formulas of
  ``entailment-learner.csv``, with its seeds.

``library`` was trained on all of the library and is asked about problems that are not in it: random formulas
(``random``, those of ``entailment-learner.csv``) and members of the families with one place edited
(``edited``): ``~~`` put in, ``~~`` taken out, two letters exchanged, ``&`` and ``|`` exchanged.

The kind ``budget`` is another question about the same problems: does an engine that may make twenty calls
of its solver certify? ``budget_random_folds`` and ``budget_pair_out`` learn that from the same counts.

    python protocols/data/make_entailment_library.py --library FOLDER --output FILE

FOLDER holds ``Problems/*/*.p``. Equal versions of scikit-learn and numpy give equal bytes. Needs the extras
`example` and `logic`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import make_entailment_learner as base

try:
    import pysat.solvers  # noqa: F401  (loaded by the probe of two worlds, which would tell of it late)
    from sklearn.exceptions import ConvergenceWarning

    from prereg.checker import check
    from prereg.collectors.entailment import family_of
    from prereg.errors import PreregError
    from prereg.studies.logic import differential
    from prereg.studies.logic.engines import ENGINES
    from prereg.studies.logic.families import Generated
    from prereg.studies.logic.labels import header_labels
    from prereg.studies.logic.tptp import parse_problem
except ImportError as error:
    sys.exit(f"make_entailment_library: {error}; it needs this package with the extras `example` and `logic`")

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PLACEBOS = 20
CALLS = 20
"""Calls of the solver that the engine on a budget may make.

A round number with which it certifies a little more than half of the library; no learner had been asked.
"""
EDITED_UP_TO, TRIES = 6, 6
"""The largest n of the members that are edited, and how often each edit is tried on each."""
EDITS = ("in", "out", "letters", "connectives")
EDIT_BUDGETS = {"max_sat_calls": 2_000, "max_conflicts": 1_000}
"""What the engine may spend on the label of an edited member; those it does not decide are left out."""
PROBE_CONFLICTS = 50_000

COLUMNS = (
    "learner", "seed", "kind", "problem", "pair", "edit", "truth", "claim", "right", "torn", "certified",
    "answered", "confidence", "probability", "calls",
)  # fmt: skip

_FAMILY = re.compile(r"SYJ2(0[1-9]|1[0-2])\Z")
_BINARY = frozenset({"&", "|", "=>", "<=", "<=>", "<~>", "~|", "~&"})
_LETTER = re.compile(r"(?<![\w$])[a-z]\w*")
_OPERAND = re.compile(r"\(|(?<!\w)\$?[a-z]\w*")
_PLACES = {"out": re.compile(r"~(?=~)"), "connectives": re.compile(r"(?<= )[&|](?= )")}

Writing = tuple[tuple[str, ...], str]


class RefusedError(Exception):
    """What was given cannot be used; the message is for the user."""


@dataclass(frozen=True)
class Case:
    """A problem that is asked about, and what a checked certificate shows of it.

    `shown`: whether the conjecture follows, as the detached checker finds it in an engine's certificate; None
    where it finds nothing. `writing` is empty for random formulas, which nobody edits.
    """

    problem: base.Problem
    shown: bool | None
    writing: Writing = ((), "")
    edit: str = "none"
    calls: int = 0

    @property
    def torn(self) -> bool:
        """Whether the negations point away from the truth: a theorem with ``~~``, a non-theorem without."""
        return self.problem.kind != "budget" and self.problem.twice_negated == self.problem.follows


def written(text: str) -> Writing:
    """Read a problem file and write its formulas with all brackets, as the random formulas are written.

    Otherwise a learner could tell the library from other problems by its layout and its spare brackets.
    """
    reading = differential.read(text)
    return tuple(map(_bracketed, reading.premises)), _bracketed(reading.conclusion)


def _bracketed(postfix: Sequence[str]) -> str:
    stack: list[str] = []
    for sign in postfix:
        if sign == "~":
            stack.append(f"~{stack.pop()}")
        elif sign in _BINARY:
            right = stack.pop()
            stack.append(f"({stack.pop()} {sign} {right})")
        else:
            stack.append(sign)
    (only,) = stack
    return only


def ask(text: str, budgets: Mapping[str, int] | None = None) -> tuple[bool | None, int]:
    """Ask the intuitionistic engine and the checker: what is shown, and the calls it took."""
    engine = ENGINES["intuitionistic"]
    outcome = engine.run(parse_problem(text), budgets)
    calls = outcome.counts["sat_calls"]
    if outcome.claim is None:
        return None, calls
    return check(text, json.dumps(outcome.certificate), engine.logic).follows, calls


def pair_of(name: str) -> str:
    """Return what is held out and resampled together: a pair of families, or all sizes of another formula."""
    family = family_of(name)
    if _FAMILY.match(family):
        number = int(family[3:])
        return f"pair_{number if number <= 206 else number - 6}"
    return family


def labelled(folder: Path) -> Iterator[Case]:
    """Read the problems of the library that are labelled in their header.

    A problem that follows has no countermodel, so only the others are probed: for one world by an engine that
    counts pigeons, for two by a solver; what neither finds within its budget is not there for the learner.
    Raises RefusedError for a folder or a file that is no such thing.
    """
    paths = sorted(folder.glob("Problems/*/*.p"))
    if not paths:
        raise RefusedError(f"{folder}: no file is called Problems/*/*.p here")
    for path in paths:
        text = path.read_text(encoding="latin-1")
        try:
            label = header_labels(text, path.name).intuitionistic
            if label is None:
                continue
            shown, _ = ask(text)
            writing = written(text)
        except (PreregError, ValueError) as error:
            raise RefusedError(f"{path.name}: {error}") from error
        follows = label == "theorem"
        one = not follows and ENGINES["classical_sat"].run(parse_problem(text)).claim == "non_theorem"
        two = not follows and differential.here_and_there(text, max_conflicts=PROBE_CONFLICTS) is not None
        seen = _problem(path.stem, "library", pair_of(path.stem), writing, follows, (one, two))
        yield Case(replace(seen, proven=shown == follows), shown, writing)


def _problem(
    name: str, kind: str, pair: str, writing: Writing, follows: bool, probes: tuple[bool, bool]
) -> base.Problem:
    seen = base.counts(*writing)
    twice = seen[base.NAMES.index("not_not")] > 0
    return base.Problem(name, kind, pair, pair, False, follows, True, seen, twice, *probes)


def edited(own: Sequence[Case]) -> list[Case]:
    """Edit one place of members of the families; labels are what a checked certificate shows, half of each.

    No problem occurs twice, and none that is written as a problem of the library is: asked about what it was
    trained on, a learner would be shown to remember. Edited members are not probed.
    """
    known = {case.writing for case in own}
    found: dict[bool, list[Case]] = {True: [], False: []}
    for case in own:
        name, pair = case.problem.name, case.problem.pair
        if not pair.startswith("pair_") or int(name[-3:]) > EDITED_UP_TO:
            continue
        for edit in EDITS:
            for i in range(TRIES):
                writing = edit_of(case.writing, edit, name, i)
                if writing is None or writing in known:
                    continue
                known.add(writing)
                # the header is not read: the label is what the certificate will show
                text = Generated(name, *writing, "theorem", "theorem").text()
                shown, _ = ask(text, EDIT_BUDGETS)
                if shown is not None:
                    seen = _problem(f"{name}_{edit}_{i}", "edited", pair, writing, shown, (False, False))
                    found[shown].append(Case(seen, shown, writing, edit))
    half = min(map(len, found.values()))
    return [case for cases in found.values() for case in sorted(cases, key=_drawn)[:half]]


def _drawn(case: Case) -> int:
    return base.number(1 << 60, "edited", case.problem.name)


def edit_of(writing: Writing, edit: str, *purpose: object) -> Writing | None:
    """Edit one place of a problem, drawn by the purpose; None where there is no such place."""
    text = "\n".join([*writing[0], writing[1]])

    def drawn(places: Sequence[re.Match[str]], *more: object) -> re.Match[str]:
        return places[base.number(len(places), edit, *purpose, *more)]

    if edit == "letters":
        letters = list(_LETTER.finditer(text))
        first = drawn(letters) if letters else None
        others = [place for place in letters if first and place[0] != first[0]]
        if first is None or not others:
            return None
        a, b = sorted((first, drawn(others, "other")), key=lambda place: place.start())
        text = text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]
    else:
        places = list(_PLACES.get(edit, _OPERAND).finditer(text))
        if not places:
            return None
        at = drawn(places).start()
        if edit == "in":
            text = f"{text[:at]}~~{text[at:]}"
        elif edit == "out":
            text = text[:at] + text[at + 2 :]
        else:
            text = text[:at] + {"&": "|", "|": "&"}[text[at]] + text[at + 1 :]
    *axioms, goal = text.split("\n")
    return tuple(axioms), goal


def budgeted(own: Sequence[Case], folder: Path) -> list[Case]:
    """Turn problems into the other question: `follows` becomes whether the engine on a budget certifies."""
    texts = {path.stem: path for path in folder.glob("Problems/*/*.p")}
    out = []
    for case in own:
        text = texts[case.problem.name].read_text(encoding="latin-1")
        shown, calls = ask(text, {"max_sat_calls": CALLS})
        asked = replace(case.problem, kind="budget", follows=shown is not None)
        out.append(Case(asked, shown, calls=calls))
    return out


def answers(
    own: list[Case], changed: list[Case], asked: list[Case], tried: list[Case]
) -> Iterator[tuple[str, int, list[Case], dict[str, int]]]:
    """Yield learner, seed, what it was asked about and what it says, in ten-thousandths."""
    problems = [case.problem for case in own]
    every = [*own, *changed, *asked]
    rule = {case.problem.name: 0 if case.problem.twice_negated else 10_000 for case in every}
    yield "rule", 0, every, rule
    yield (
        "probe",
        0,
        [*own, *asked],
        {case.problem.name: 0 if case.problem.two_worlds else 10_000 for case in (*own, *asked)},
    )
    folds = {one.name: str(base.number(base.FOLDS, "fold", one.name)) for one in problems}
    pairs = {one.name: one.pair for one in problems}
    bare = [name for name in base.NAMES if name not in base.NEGATIONS]
    yield "random_folds", 0, own, _held_out(problems, base.NAMES, folds)
    yield "pair_out", 0, own, _held_out(problems, base.NAMES, pairs)
    yield "pair_out_no_negation", 0, own, _held_out(problems, bare, pairs)
    for seed in range(PLACEBOS):
        yield "shuffled", seed, own, _held_out(problems, base.NAMES, pairs, seed)
    yield "library", 0, [*changed, *asked], _says(problems, (), [*changed, *asked])
    training = list(base.random_problems("training", base.TRAINING))
    for name, probes in (
        ("synthetic", ()),
        ("synthetic_one_world", ("one_world",)),
        ("synthetic_two_worlds", ("two_worlds",)),
    ):
        yield name, 0, [*own, *asked], _says(training, probes, [*own, *asked])
    certifies = [case.problem for case in tried]
    yield "budget_random_folds", 0, tried, _held_out(certifies, base.NAMES, folds)
    yield "budget_pair_out", 0, tried, _held_out(certifies, base.NAMES, pairs)


def _held_out(
    problems: Sequence[base.Problem],
    columns: Sequence[str],
    groups: dict[str, str],
    shuffle: int | None = None,
) -> dict[str, int]:
    """Ask about every problem a learner that was not trained on its group."""
    for group in sorted(set(groups.values())):
        if len({one.follows for one in problems if groups[one.name] != group}) < 2:
            what = "certified within the budget" if problems[0].kind == "budget" else "theorems"
            raise RefusedError(
                f"the library is too small: without {group}, all or none of its problems are {what}"
            )
    return base.held_out(problems, problems, columns, groups, shuffle)


def _says(trained_on: Sequence[base.Problem], probes: Sequence[str], asked: Sequence[Case]) -> dict[str, int]:
    learner = base.Learner(trained_on, [*base.NAMES, *probes], [one.follows for one in trained_on])
    said = learner.says([case.problem for case in asked])
    return {case.problem.name: p for case, p in zip(asked, said, strict=True)}


def make_records(folder: Path) -> str:
    """Read, train, ask, and return the whole file as text."""
    own = list(labelled(folder))
    asked = [
        Case(one, one.follows if one.proven else None) for one in base.random_problems("random", base.ASKED)
    ]
    lines = [",".join(COLUMNS)]
    for learner, seed, cases, said in answers(own, edited(own), asked, budgeted(own, folder)):
        lines += [",".join((learner, str(seed), *_cells(case, said[case.problem.name]))) for case in cases]
    return "\n".join(lines) + "\n"


def _cells(case: Case, p: int) -> tuple[str, ...]:
    """Score a claim by the label, and beside it by what the checker found, whatever the label says."""
    one = case.problem
    claim = p >= 5_000
    names = ("abstains", "certifies") if one.kind == "budget" else ("non_theorem", "theorem")
    # of the other question a claim leaves the system where the engine was run and did certify
    passed = claim and one.follows if one.kind == "budget" else case.shown is claim
    return (
        one.kind, one.name, one.pair, case.edit, names[one.follows], names[claim],
        _truth(claim == one.follows), _truth(case.torn), _truth(passed), "true",
        _decimal(max(p, 10_000 - p)), _decimal(p), str(case.calls),
    )  # fmt: skip


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _decimal(p: int) -> str:
    return f"{p // 10_000}.{p % 10_000:04d}"


def main(arguments: list[str] | None = None) -> int:
    """Write the records; 0 when written, 2 when the library cannot be used and nothing was written."""
    parser = argparse.ArgumentParser(
        description="Make the records of the learner on a library of one's own.", allow_abbrev=False
    )
    parser.add_argument("--library", type=Path, required=True, metavar="FOLDER", help="holds Problems/*/*.p")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        # a solver that stops early is not at the point that makes the bytes reproducible
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            made = make_records(options.library)
        except RefusedError as error:
            print(f"make_entailment_library: refused: {error}", file=sys.stderr)
            return 2
    options.output.write_bytes(made.encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
