"""Entailment problems with labels that are known beforehand: twelve families, n = 1 to 20, and gates.

A family is made from its definition, with letters and file names of this project's own; the gates are
formulas whose smallest countermodel has one to four worlds, and theorems that an unsound or lazy engine gets
wrong. Labels of both logics stand in the headers of the files.

    python protocols/data/make_entailment_problems.py [--output FOLDER] [--sizes N]

Only the standard library and this package are used: the bytes are the same everywhere.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

try:
    from prereg.studies.logic.families import FAMILIES, GATES, generate
except ImportError as error:
    sys.exit(f"make_entailment_problems: {error}; it needs this package: pip install -e .")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prereg.studies.logic.families import Gate, Generated

SIZES = 20
"""The largest n of every family; the labels hold for all."""

WORDS = {1: "one_world", 2: "two_worlds", 3: "three_worlds", 4: "four_worlds", None: "theorem"}
"""The part of a gate's name that tells its smallest countermodel."""


def gate(one: Gate) -> Generated:
    """The problem of a gate, named after the size of its smallest countermodel."""
    return replace(one.problem(), name=f"gate_{WORDS[one.worlds]}_{one.name}")


def problems(sizes: int = SIZES) -> Iterator[Generated]:
    """All problems, families first."""
    for family in FAMILIES:
        for n in range(1, sizes + 1):
            yield generate(family, n)
    yield from map(gate, GATES)


def main(arguments: list[str] | None = None) -> int:
    """Write the files; what is in the folder already is overwritten, and nothing is removed."""
    parser = argparse.ArgumentParser(description="Make the entailment problems.", allow_abbrev=False)
    default = Path(__file__).with_name("entailment")
    parser.add_argument("--output", type=Path, default=default, metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--sizes", type=int, default=SIZES, metavar="N", help="default: %(default)s")
    options = parser.parse_args(arguments)

    options.output.mkdir(parents=True, exist_ok=True)
    for problem in problems(options.sizes):
        (options.output / f"{problem.name}.p").write_bytes(problem.text().encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
