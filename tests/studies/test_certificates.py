"""What the engines of the logic study claim, the detached checker finds again: families, gates, library."""

from __future__ import annotations

import json
import time

import pytest

from prereg.checker import check
from prereg.studies.logic.engines import ENGINES
from prereg.studies.logic.families import FAMILIES, generate
from prereg.studies.logic.tptp import parse_problem

# Engines that decide whatever they get, as their summaries say; the others may abstain.
COMPLETE = {"classical_sat", "intuitionistic"}


def checked(text, name):
    """The claim of an engine on a problem, after its certificate has been accepted; and the seconds of the check."""
    engine = ENGINES[name]
    outcome = engine.run(parse_problem(text))
    if outcome.certificate is None:
        assert name not in COMPLETE
        return None, 0.0
    written = json.dumps(outcome.certificate, separators=(",", ":"))
    start = time.perf_counter()
    found = check(text, written, engine.logic)
    seconds = time.perf_counter() - start
    assert found.accepted, found
    assert found.follows is (outcome.claim == "theorem")
    return outcome.claim, seconds


@pytest.mark.parametrize("name", sorted(ENGINES))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_certificate_of_the_families_is_accepted(family, name):
    for n in range(1, 11):
        made = generate(family, n)
        claim, _ = checked(made.text(), name)
        assert claim in {None, getattr(made, ENGINES[name].logic)}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMPLETE | {"classical"}))
def test_every_certificate_of_the_library_is_accepted(name, shared_data, record_property):
    folder = shared_data / "iltp" / "Problems"
    if not folder.is_dir():
        pytest.skip("needs the library in ../shared/data/iltp beside the checkout")
    found = [checked(path.read_text("latin-1"), name) for path in sorted(folder.glob("*/*.p"))]
    claims = [claim for claim, _ in found]
    record_property("seconds", sum(seconds for _, seconds in found))
    # The library's own readme: 139 hold in both logics, 134 classically only, one in neither.
    expected = {
        "intuitionistic": {"theorem": 139, "non_theorem": 135},
        "classical_sat": {"theorem": 273, "non_theorem": 1},
    }
    for claim, count in expected.get(name, {}).items():
        assert claims.count(claim) == count
    assert len(found) == 274
    assert sum(seconds for _, seconds in found) < 60
