"""Hostile input is refused in one line per problem: no traceback, no long wait, no great memory."""

from __future__ import annotations

import random
import resource
import time

import pytest
from targets import REFUSALS, World, targets

NAMES = [
    "protocol", "registration", "ledger", "attempt", "witness", "note", "rehearsal", "csv", "json lines", "parquet",
    "row expression", "claim", "tptp", "checker problem", "certificate",
]  # fmt: skip
EVERYDAY, SLOW = 300, 20_000
SECONDS = 5.0
MEGABYTES = 700


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Every target by name."""
    found = {t.name: t for t in targets(World(tmp_path_factory.mktemp("fuzz")))}
    assert sorted(found) == sorted(NAMES)
    return found


def fuzzed(target, seed, count):
    """Give a target that many inputs; how many it took."""
    draw = random.Random(f"{seed} {target.name}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = 0
    for i in range(count):
        data = target.make(draw)
        begin = time.process_time()
        try:
            target.read(data)
            taken += 1
        except REFUSALS as error:
            for line in str(error).splitlines():
                assert len(line) < 20_000, (i, data[:500])
        except BaseException as error:
            raise AssertionError(f"{target.name}, input {i}: {error!r} for {data[:3000]!r}") from error
        spent = time.process_time() - begin
        assert spent < SECONDS, (target.name, i, spent, data[:500])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) / 1024 < MEGABYTES
    return taken


def few(name):
    # each of these runs commands
    return 60 if name in ("registration", "ledger") else EVERYDAY


@pytest.mark.parametrize("name", NAMES)
def test_hostile_inputs_are_refused_or_read(readers, name):
    taken = fuzzed(readers[name], "everyday", few(name))
    assert taken < few(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_twenty_thousand_hostile_inputs_are_refused_or_read(readers, name):
    fuzzed(readers[name], "slow", SLOW)


@pytest.mark.parametrize("name", NAMES)
def test_giants_are_refused_or_read_within_bounds(readers, name):
    target = readers[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in target.giants:
        begin = time.process_time()
        try:
            target.read(data)
        except REFUSALS as error:
            assert all(len(line) < 20_000 for line in str(error).splitlines())
        spent = time.process_time() - begin
        assert spent < SECONDS, (name, spent, len(data), data[:60])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) / 1024 < MEGABYTES
