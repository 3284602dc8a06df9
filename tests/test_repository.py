"""The repository watched: docs name every command, the schema fits, imports obey, starting is cheap."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata, util
from pathlib import Path

import jsonschema
import pytest
import typer.main

import prereg
from broken_projects import PROTOCOL
from prereg.cli.app import app
from prereg.formats import read_yaml
from prereg.schema import protocol_schema

ROOT = Path(__file__).resolve().parents[1]
PROTOCOLS = sorted((ROOT / "protocols").glob("*.yaml"))
COMMANDS = sorted(typer.main.get_command(app()).commands.items())
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

SMALL = """\
prereg: 1
id: small
title: A small project
data: {records: records.csv, arm: system, unit: item}
metrics:
  right: {rate: correct}
  ranked: {auroc: {score: score, label: correct}}
resampling: {resamples: 200, seed: 1}
predictions:
  b-is-better:
    claim: right[b] > right[a]
  b-ranks:
    claim: ranked[b] > 0.5 and matches_nothing < 1
let:
  matches_nothing: min(right)
"""


def files():
    """What is tracked, and what would be if it were added; all files where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        return sorted(p for p in ROOT.rglob("*") if p.is_file() and ".venv" not in p.parts)
    names = [name for name in found.stdout.decode().split("\0") if name]
    return sorted(ROOT / name for name in names if (ROOT / name).is_file())


def python(code, folder=ROOT):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def keys(tree):
    """All keys of a tree of plain values."""
    if isinstance(tree, dict):
        return set(tree).union(*map(keys, tree.values()))
    return set().union(*map(keys, tree)) if isinstance(tree, list) else set()


def loaded(arguments, folder=ROOT):
    """The top-level packages that a command loads."""
    code = (
        "import sys\n"
        "import prereg.__main__\n"
        "from prereg.cli.app import execute\n"
        f"code = execute({arguments!r})\n"
        "print('loaded', code, *sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    _, code, *names = python(code, folder).splitlines()[-1].split(" ")
    assert code == "0"
    return set(names)


@pytest.fixture
def small(tmp_path):
    """A project that was locked."""
    rows = [
        f"{s},{i},{(i * 7 + k) % 10},{str((i + k) % 3 != 0).lower()}\n"
        for k, s in enumerate("ab")
        for i in range(40)
    ]
    (tmp_path / "records.csv").write_text("system,item,score,correct\n" + "".join(rows))
    (tmp_path / "small.yaml").write_text(SMALL)
    loaded(["lock", "small.yaml"], tmp_path)
    return tmp_path


# Docs


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS])
def test_readme_names_every_command(name):
    assert f"| `prereg {name}" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_and_option_has_help(name, command):
    assert command.help
    assert [p.name for p in command.params if not getattr(p, "help", None)] == []


def test_docs_name_no_command_that_does_not_exist():
    known = {name for name, _ in COMMANDS}
    said = {
        (path.name, word)
        for path in DOCS
        for word in re.findall(
            r"(?:^|[`(] ?|\s{4})prereg ([a-z]+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {(path, word) for path, word in said if word not in known} == set()


def test_links_in_docs_lead_somewhere():
    lost = [
        (path.name, target)
        for path in [*DOCS, ROOT / "CHANGELOG.md", ROOT / "tests" / "README.md"]
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert lost == []


def test_the_tests_that_invariants_name_exist():
    text = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
    code = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.py"))
    assert [p for p in re.findall(r"`(tests/[\w/]+\.py)`", text) if not (ROOT / p).exists()] == []
    assert [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in code] == []


def test_file_formats_name_every_key_that_a_run_writes(small):
    loaded(["run"], small)
    text = (ROOT / "docs" / "file-formats.md").read_text(encoding="utf-8")
    named = {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"\w+", code)}
    written = set()
    for path in small.rglob("*.json"):
        written |= keys(json.loads(path.read_text(encoding="utf-8")))
    for path in small.glob("results/small/*/*.csv"):
        written |= set(path.read_text(encoding="utf-8").splitlines()[0].split(","))
    # what the language says of `data` and `resampling` is the schema's to tell; kinds and factors have names of their own
    known = set(json.dumps(protocol_schema()).replace('"', " ").replace(":", " ").split()) | {"system"}
    assert {key for key in written if key not in named | known} == set()


def test_decisions_are_numbered_and_say_what_they_cost():
    paths = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [p.name[:4] for p in paths] == [f"{i:04}" for i in range(len(paths))]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {path.name[:4]}. ")
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == [
            "Context",
            "Decision",
            "Rejected",
            "Costs",
        ]


def test_the_protocols_of_the_readme_can_be_locked(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    protocols = re.findall(r"```yaml\n(prereg: 1\b.*?)```", text, re.DOTALL)
    assert len(protocols) == 2
    (tmp_path / "data").mkdir()
    shutil.copy(ROOT / "protocols" / "data" / "open-set-digits.csv", tmp_path / "data")
    rows = "".join(f"new,{i},1\nold,{i},{i % 2}\n" for i in range(40))
    (tmp_path / "records.csv").write_text("model,item,correct\n" + rows)
    for number, protocol in enumerate(protocols):
        (tmp_path / f"{number}.yaml").write_text(protocol, encoding="utf-8")
        loaded(["check", f"{number}.yaml"], tmp_path)


def test_the_readme_gives_the_command_that_ci_runs():
    last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1]
    assert last in (ROOT / "README.md").read_text(encoding="utf-8")


# Schema


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(protocol_schema())


def test_schema_command_prints_the_schema():
    printed = python("from prereg.cli.app import execute; execute(['schema'])")
    assert json.loads(printed) == json.loads(json.dumps(protocol_schema()))


@pytest.mark.parametrize("path", PROTOCOLS, ids=lambda p: p.stem)
def test_schema_accepts_the_protocols_of_the_repository(path):
    jsonschema.validate(read_yaml(path).tree, protocol_schema())


@pytest.mark.parametrize("text", [PROTOCOL, SMALL], ids=["control", "small"])
def test_schema_accepts_the_protocols_of_the_tests(text, tmp_path):
    path = tmp_path / "protocol.yaml"
    path.write_text(text, encoding="utf-8")
    jsonschema.validate(read_yaml(path).tree, protocol_schema())


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("title:", "titel:"),
        ("prereg: 1", "prereg: 2"),
        ("rate: correct}", "rate: correct, sum: score}"),
        ("{auroc: {score: score", "{auroc: {scores: score"),
        ("resamples: 200", "resamples: many"),
    ],
)
def test_schema_refuses_what_is_no_protocol(good, bad, tmp_path):
    assert SMALL.count(good) == 1
    path = tmp_path / "protocol.yaml"
    path.write_text(SMALL.replace(good, bad), encoding="utf-8")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read_yaml(path).tree, protocol_schema())


# Imports


def test_imports_keep_their_contracts():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_help_loads_nothing_that_only_a_run_needs():
    assert not loaded(["--help"]) & {
        "numpy",
        "pydantic",
        "lark",
        "yaml",
        "rfc8785",
        "re2",
        "joblib",
        "scipy",
        "pandas",
    }


@pytest.mark.parametrize(
    "arguments", [["check", "small.yaml"], ["run", "small"], ["show", "small"], ["status"]]
)
def test_texts_and_paths_are_taken_as_they_are(arguments, small):
    assert "pydantic" not in loaded([*arguments, "--root", str(small)], small)


def test_errors_formats_and_digests_load_no_numpy():
    modules = "prereg.errors, prereg.formats, prereg.canonical, prereg.registration, prereg.cli.app"
    code = f"import sys, {modules}; print('numpy' in sys.modules)"
    assert python(code) == "False\n"


def test_a_run_loads_numpy_and_no_larger_library(small):
    names = loaded(["run"], small)
    assert "numpy" in names
    assert not names & {"pydantic", "scipy", "pandas", "joblib", "sklearn", "statsmodels", "pyarrow", "re2"}


# Files


def test_no_file_names_a_machine():
    folders = "work|tmp|root|home"
    hosts = "pypi[.]org|python[h]osted|npmjs[.]|deb[.]debian|index[-]url"
    named = re.compile(rf"(?<![\w.~-])/(?:{folders})(?:/|\b)|{hosts}".encode())
    found = [
        (path.relative_to(ROOT).as_posix(), match.group().decode())
        for path in files()
        for match in named.finditer(path.read_bytes())
    ]
    assert found == []


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == prereg.__version__
    assert metadata.version(project["name"]) == prereg.__version__


def test_the_package_says_that_it_is_typed():
    assert util.find_spec("prereg").origin is not None
    assert (Path(prereg.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_benchmarks_can_be_imported(path):
    python(f"import runpy; runpy.run_path({str(path)!r}, run_name='imported')")


def test_ci_script_can_be_executed():
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
