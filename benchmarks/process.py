"""Whole processes: what a user waits for, against the least that the same libraries take.

`prereg run pair-head-to-head` (a ledger is there, so it is computed anew and compared) against a script that imports
numpy, pydantic, typer and rich, and reads the same records with the csv module, numbers as floats. `prereg --help`
against a Typer program of one empty command. The two sides of a pair take turns, and medians are compared; before that
every program runs once, so that the byte code is compiled as in an installed package.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROTOCOLS = Path(__file__).parent.parent / "protocols"
STUDY = "pair-head-to-head"

READ = """
import numpy, pydantic, typer, rich
import csv

with open("data/open-set-digits.csv", newline="", encoding="utf-8") as file:
    reader = csv.reader(file)
    header = next(reader)
    columns = {name: list(cells) for name, cells in zip(header, zip(*reader))}
for name in ("size", "k", "boundary", "self_reported"):
    columns[name] = numpy.array(list(map(float, columns[name])))
"""

EMPTY = """
import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)

@app.command()
def main() -> None:
    pass

app()
"""


def spent(command, folder, environment):
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        sys.stderr.buffer.write(done.stderr)
        raise SystemExit(f"{command} ended with {done.returncode}")
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="alternations of the two sides")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, kept = Path(name) / "now", Path(name) / "kept"
        shutil.copytree(PROTOCOLS, folder)
        (folder / "read.py").write_text(READ)
        (folder / "empty.py").write_text(EMPTY)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(name) / "bytecode")
        python = [sys.executable]
        prereg = [*python, "-m", "prereg"]
        spent([*prereg, "lock", f"{STUDY}.yaml"], folder, environment)
        spent([*prereg, "run", STUDY], folder, environment)
        folder.rename(kept)

        def once(command):
            # from the state after one run: every run adds an attempt, which later ones read
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(kept, folder)
            return spent(command, folder, environment)

        pairs = [
            (f"run {STUDY}", [*prereg, "run", STUDY], "imports and csv", [*python, "read.py"], 2.0),
            ("--help", [*prereg, "--help"], "empty command", [*python, "empty.py", "--help"], 2.0),
        ]
        print(f"{'prereg':24}{'median':>9}   {'against':18}{'median':>9}{'ratio':>8}  target")
        met = True
        for told, ours, against, floor, target in pairs:
            for command in (ours, floor):
                once(command)
            times = [(once(ours), once(floor)) for _ in range(options.rounds)]
            mine, other = (statistics.median(side) for side in zip(*times, strict=True))
            ratio = mine / other
            met &= ratio <= target
            print(
                f"{told:24}{1e3 * mine:6.0f} ms   {against:18}{1e3 * other:6.0f} ms{ratio:8.2f}"
                f"  at most {target:g}: {'met' if ratio <= target else 'MISSED'}"
            )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
