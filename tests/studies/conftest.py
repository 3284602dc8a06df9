"""The problem library of the logic study, where a user has it; and the oracle of the checker's tests."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from prereg.studies.logic.labels import header_labels, table_labels
from prereg.studies.logic.tptp import parse_problem

# The slow oracle of both logics is written down once; it knows nothing of engines or readers.
sys.path.append(str(Path(__file__).resolve().parents[1] / "checker"))


@dataclass(frozen=True)
class Library:
    """Problems by name, with the text of each and the labels of the headers and of the table."""

    folder: Path
    problems: dict
    texts: dict
    headers: dict
    table: dict


@pytest.fixture(scope="session")
def library(shared_data):
    """The propositional part of the ILTP library 1.1.2; skips where it is absent."""
    folder = shared_data / "iltp"
    if not folder.is_dir():
        pytest.skip("needs the ILTP library, which may not be shipped, in ../shared/data/iltp")
    texts = {path.stem: path.read_bytes() for path in sorted(folder.glob("Problems/*/*.p"))}
    return Library(
        folder,
        {name: parse_problem(text, f"{name}.p") for name, text in texts.items()},
        {name: text.decode("latin-1") for name, text in texts.items()},
        {name: header_labels(text, name) for name, text in texts.items()},
        table_labels(folder / "labels.csv"),
    )
