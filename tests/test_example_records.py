"""The records of the example protocols are what their notes say, and the script gives them byte for byte."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "protocols" / "data"
SCRIPT = DATA / "make_open_set_digits.py"
DIGITS = DATA / "open-set-digits.csv"
SURFACES = DATA / "surfaces.jsonl"

MARKERS = (
    "i do not know", "i don't know", "unknown", "not in scope", "insufficient grounding", "no recall",
    "cannot answer", "not grounded",
)  # fmt: skip
ASSERTION = re.compile(r"(?i)^\W*[\w -]+ (is|means|is defined as) ")


def installed(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def minor(version):
    return version and version.split(".")[:2]


def named_versions():
    """The versions written in the script, read without importing it."""
    (line,) = re.findall(r"^MADE_WITH = (\{.*\})$", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    return json.loads(line)


def skip_unless_versions_are_those_named():
    for name, expected in named_versions().items():
        if minor(installed(name)) != minor(expected):
            pytest.skip(f"the bytes are those of {name} {expected}, found {installed(name)}")


def run_script(*arguments, before=""):
    """Run the script in a process of its own; `before` is executed first."""
    code = f"import runpy, sys; sys.argv[:] = {[str(SCRIPT), *map(str, arguments)]!r}\n{before}\n"
    code += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def rows():
    with DIGITS.open(encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def test_the_script_gives_the_bytes_that_are_stored(tmp_path):
    skip_unless_versions_are_those_named()
    made = run_script("--output", tmp_path / "made.csv")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    assert (tmp_path / "made.csv").read_bytes() == DIGITS.read_bytes()


@pytest.mark.parametrize("version", ["1.8.2", "2.0.0"])
def test_another_scikit_learn_is_refused_in_one_line_and_nothing_is_written(tmp_path, version):
    pytest.importorskip("sklearn")
    refused = run_script(
        "--output", tmp_path / "made.csv", before=f"import sklearn; sklearn.__version__ = {version!r}"
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"scikit-learn {version}, not " in refused.stderr
    assert not (tmp_path / "made.csv").exists()


def test_a_missing_scikit_learn_is_said_in_one_line(tmp_path):
    refused = run_script(
        "--output", tmp_path / "made.csv", before="import sys; sys.modules['sklearn'] = None"
    )
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "pip install 'scikit-learn==1.9.*'" in refused.stderr


def test_the_note_names_the_bytes_and_versions_that_are_stored():
    note = DIGITS.with_suffix(".SOURCE.md").read_text(encoding="utf-8")
    stored = DIGITS.read_bytes()
    assert f"| {DIGITS.name} | {len(stored)} | {hashlib.sha256(stored).hexdigest()} |" in note
    assert "Made with " + ", ".join(" ".join(named) for named in named_versions().items()) in note


def test_the_file_is_small_and_has_plain_line_endings():
    stored = DIGITS.read_bytes()
    assert len(stored) < 1_500_000
    assert stored.isascii()
    assert b"\r" not in stored
    assert stored.endswith(b"\n")


def test_25_runs_answer_each_of_212_tasks_4_times_in_sorted_order(rows):
    runs = sorted({row["run"] for row in rows})
    tasks = sorted({row["task"] for row in rows})
    assert (len(runs), len(tasks)) == (25, 212)
    cells = [(row["run"], row["task"], row["k"]) for row in rows]
    assert cells == [(run, task, k) for run in runs for task in tasks for k in "1234"]
    assert {row["run"] for row in rows} == {f"{row['family']}-{int(row['size']):03d}" for row in rows}


def test_suites_say_what_is_decidable(rows):
    suites = Counter((row["suite"], row["decidable"]) for row in rows)
    assert suites == {
        ("known", "true"): 84 * 100,
        ("smudged", "true"): 56 * 100,
        ("unknown", "false"): 72 * 100,
    }


def test_only_an_answer_to_a_decidable_task_is_certified(rows):
    for row in rows:
        assert {row["answered"], row["oracle_ok"]} <= {"true", "false"}
        if row["oracle_ok"] == "true":
            assert (row["answered"], row["decidable"]) == ("true", "true")


def test_confidences_are_probabilities_of_four_decimals(rows):
    for column in ("boundary", "self_reported"):
        assert all(re.fullmatch(r"0\.\d{4}|1\.0000", row[column]) for row in rows)


@pytest.mark.parametrize(
    ("column", "depends_on"),
    [
        ("boundary", ("task",)),
        ("decidable", ("task",)),
        ("suite", ("task",)),
        ("self_reported", ("run", "task")),
    ],
)
def test_a_column_depends_on_no_more_than_it_says(rows, column, depends_on):
    seen = {(tuple(row[name] for name in depends_on), row[column]) for row in rows}
    assert len(seen) == len({key for key, _ in seen})


def test_first_answers_and_the_boundary_head_vary_in_every_suite(rows):
    first = [row for row in rows if row["k"] == "1"]
    for run in {row["run"] for row in rows}:
        answered = {(row["suite"], row["answered"]) for row in first if row["run"] == run}
        assert len(answered) == 6
    for suite in ("known", "smudged", "unknown"):
        assert len({row["boundary"] for row in first if row["suite"] == suite}) > 1


def test_two_systems_answer_the_same_cases():
    records = [json.loads(line) for line in SURFACES.read_text(encoding="utf-8").splitlines()]
    assert {tuple(record) for record in records} == {("system", "case", "group", "prompt", "surface")}
    questions = {}
    for record in records:
        questions.setdefault(record["system"], []).append((record["case"], record["group"], record["prompt"]))
    first, second = questions.values()
    assert first == second
    assert len(set(first)) == len(first) == 40
    assert Counter(group for _, group, _ in first) == {"out_of_grounding": 24, "in_grounding": 16}


def test_surfaces_hold_the_counts_of_their_note():
    counts = Counter()
    for line in SURFACES.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        refused = any(marker in record["surface"].lower() for marker in MARKERS)
        if record["group"] == "in_grounding":
            counts[record["system"], "answered"] += not refused
        else:
            counts[record["system"], "refused"] += refused
            counts[record["system"], "asserted"] += not refused and bool(ASSERTION.search(record["surface"]))
    assert counts == {
        ("template-filler", "refused"): 1,
        ("template-filler", "asserted"): 21,
        ("template-filler", "answered"): 16,
        ("careful-glossary", "refused"): 18,
        ("careful-glossary", "asserted"): 3,
        ("careful-glossary", "answered"): 15,
    }
    note = SURFACES.with_suffix(".SOURCE.md").read_text(encoding="utf-8")
    for system in ("template-filler", "careful-glossary"):
        row = [counts[system, what] for what in ("refused", "asserted", "answered")]
        assert f"| {system} | " + " | ".join(map(str, row)) + " |" in note
