"""One byte changed anywhere in what is frozen: run, verify and diff end with 3 and name the file."""

from __future__ import annotations

import random

import pytest

import forge
from broken_projects import command
from forge import ATTEMPT, LEDGER, REGISTRATION, WITNESS, made
from prereg import attempts, ledger, registration
from prereg.errors import IntegrityError
from prereg.project import Project
from prereg.verify import exit_code, verify

FLIPS = (0x01, 0x20)
"""The lowest bit changes digits and letters to others, the sixth changes case, blanks and line ends."""


def _read_attempt(project, path):
    return attempts.read(project, path)


def _read_witness(project, path):
    _, problems = attempts.witnesses(project, "small")
    if problems:
        raise IntegrityError(*problems)


READERS = {
    REGISTRATION: lambda _, path: registration.read(path, path.name),
    LEDGER: lambda _, path: ledger.read(path, path.name),
    ATTEMPT: _read_attempt,
    WITNESS: _read_witness,
}
NAMES = ["registration", "ledger", "attempt", "witness"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("prereg.verify.checkout", lambda _: "left out here")
    return made(tmp_path / "p", forge.SMALL)


def flips(data, every=1, first=0):
    for mask in FLIPS:
        for at in range(first, len(data), every):
            yield data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


@pytest.mark.parametrize("pattern", READERS, ids=NAMES)
def test_a_flip_of_any_byte_is_refused_by_the_reader_with_the_name_of_the_file(folder, pattern):
    path = forge.only(folder, pattern)
    project, read = Project.at(folder), READERS[pattern]
    data = path.read_bytes()
    read(project, path)
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ FLIPS[at % 5 == 0]]) + data[at + 1 :])
        with pytest.raises(IntegrityError) as caught:
            read(project, path)
        assert path.name in str(caught.value)
    for cut in (
        data[:-1],
        data + b"\n",
        data + b" ",
        b"\xef\xbb\xbf" + data,
        data.replace(b"\n", b"\r\n"),
        b"",
    ):
        path.write_bytes(cut)
        with pytest.raises(IntegrityError):
            read(project, path)


@pytest.mark.parametrize("pattern", READERS, ids=NAMES)
def test_verify_sees_a_flip_anywhere_and_names_the_file(folder, pattern):
    _verify_sees(folder, pattern, every=53)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", READERS, ids=NAMES)
def test_verify_sees_a_flip_of_every_byte(folder, pattern):
    _verify_sees(folder, pattern, every=1)


def _verify_sees(folder, pattern, every):
    path = forge.only(folder, pattern)
    project = Project.at(folder)
    data = path.read_bytes()
    for flipped in flips(data, every):
        path.write_bytes(flipped)
        found = verify(project)
        assert exit_code(found) == 3
        named = [one.name for one in found if one.fails()]
        said = [c.detail for one in found for c in one.checks if c.state == "FAILED"]
        assert any(path.name in text for text in (*named, *said))


def _commands_see(folder, path, flipped, *commands):
    path.write_bytes(flipped)
    for words in commands:
        said = command(*words, "-C", str(folder))
        assert said.code == 3, (words, said.out, said.err)
        assert path.name in said.err + said.out, (words, said.out, said.err)


@pytest.mark.parametrize(
    ("pattern", "every"), [(REGISTRATION, 509), (LEDGER, 601)], ids=["registration", "ledger"]
)
def test_run_verify_diff_and_show_end_with_3(folder, pattern, every):
    path = forge.only(folder, pattern)
    for flipped in flips(path.read_bytes(), every, first=40):
        _commands_see(folder, path, flipped, ["run"], ["verify"], ["diff"], ["show", "small"])


def test_random_bytes_of_records_are_seen(folder):
    path = folder / "records.csv"
    data = path.read_bytes()
    random.seed(5)
    for at in random.sample(range(len(data)), 4):
        flipped = data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :]
        _commands_see(folder, path, flipped, ["run"], ["verify"], ["diff"])


def test_bytes_of_tables_are_seen(folder):
    path = forge.only(folder, "results/*/*/policies.csv")
    data = path.read_bytes()
    for flipped in flips(data, 97):
        _commands_see(folder, path, flipped, ["run"], ["verify"])


@pytest.mark.parametrize("mask", FLIPS)
def test_bytes_of_the_protocol_change_nothing_or_are_seen(folder, mask):
    """A flip in a comment or blank is cosmetic; any other is refused."""
    path = folder / "protocol.yaml"
    data = path.read_bytes()
    states = set()
    for at in range(0, len(data), 17):
        path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
        found = verify(Project.at(folder))
        (state,) = [c.state for one in found for c in one.checks if c.name == "protocol"]
        assert state in ("FAILED", "cosmetic")
        assert exit_code(found) == (3 if state == "FAILED" else 0)
        states.add(state)
    assert "FAILED" in states
