"""Problems at random in the form of the slow oracle; engines run on them, and their claims put to the checker."""

from __future__ import annotations

import json
import random

from prereg.checker import check
from prereg.studies.logic.engines import ENGINES

CONNECTIVES = ("&", "|", "=>", "<=", "<=>", "<~>", "~|", "~&")


def compact(certificate):
    return json.dumps(certificate, separators=(",", ":"))


def run(engine, problem, **budgets):
    return ENGINES[engine].run(problem, budgets)


def accepted(outcome, text, engine):
    """Whether the detached checker finds the claim in the certificate."""
    verdict = check(text, compact(outcome.certificate), ENGINES[engine].logic)
    assert verdict.accepted, (text, verdict.reason)
    return verdict.follows == (outcome.claim == "theorem")


def drawn(rng, size, letters):
    """A random formula of about `size` connectives."""
    if size <= 0:
        return rng.choice([*letters, *letters, *letters, True, False])
    if rng.random() < 0.25:
        return ("~", drawn(rng, size - 1, letters))
    left = rng.randrange(size)
    return (rng.choice(CONNECTIVES), drawn(rng, left, letters), drawn(rng, size - 1 - left, letters))


def random_problems(count, seed, letters="pqr", largest=9):
    rng = random.Random(seed)
    for _ in range(count):
        axioms = [drawn(rng, rng.randrange(1, 4), letters) for _ in range(rng.randrange(3))]
        yield axioms, drawn(rng, rng.randrange(1, largest), letters)
