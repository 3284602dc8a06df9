"""Links out of the project, in circles and to no regular file: nothing behind them is looked at or written."""

from __future__ import annotations

import os
import shutil

import pytest
import sealed_world
from hostile import state
from watched import watched

from prereg.errors import InputError, Place, PreregError
from prereg.globs import Glob
from prereg.project import Project

FOLDERS = [
    "registrations",
    "registrations/rich",
    "registrations/rich/attempts",
    "registrations/rich/notes",
    "results",
    "results/rich",
    "results/rich/attempts",
    "results/rich/CURRENT",
    "rehearsals",
    "rehearsals/rich",
]
COMMANDS = [
    ("show", "rich"),
    ("status",),
    ("diff",),
    ("verify", "--rerun"),
    ("run", "rich"),
    ("amend", "PROTOCOL", "--reason", "The bar was lowered once more."),
    ("note", "rich", "--text", "A note on what happened.", "--attempt", "20"),
    ("lock", "PROTOCOL"),
    ("rehearse", "PROTOCOL", "--draws", "1"),
    ("stamp", "import", "TOKEN", "--for", "rich"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return sealed_world.made(tmp_path_factory.mktemp("links") / "project")


@pytest.fixture
def no_git(monkeypatch):
    monkeypatch.setattr("prereg.verify.checkout", lambda _: "left out here")
    monkeypatch.setattr("prereg.lock._commit", lambda _: None)


@pytest.mark.parametrize("name", ["registrations/rich", "registrations/rich/notes"])
def test_nobody_looks_into_a_folder_that_is_a_link_out(made, tmp_path, no_git, name):
    _linked(made, tmp_path, name, empty=False)


def test_nobody_writes_into_a_folder_that_is_a_link_out(made, tmp_path, no_git):
    _linked(made, tmp_path, "results/rich/CURRENT", empty=True)


@pytest.mark.slow
@pytest.mark.parametrize("empty", [False, True], ids=["full", "empty"])
@pytest.mark.parametrize("name", FOLDERS)
def test_nobody_looks_or_writes_into_any_folder_that_is_a_link_out(made, tmp_path, no_git, name, empty):
    _linked(made, tmp_path, name, empty=empty)


def _linked(made, tmp_path, name, *, empty):
    """Every command where a folder of the project is a link to one outside."""
    files = sealed_world.snapshot(made)
    name = name.replace("CURRENT", next(p.split("/")[2] for p in files if _is_current(p, files)))
    root, outside = tmp_path / "root", tmp_path / "outside"
    sealed_world.lay(outside, files)
    if empty:
        shutil.rmtree(outside / name)
        (outside / name).mkdir()
    unfinished = outside / name / ".ledger.json.0123456789ab.tmp"
    unfinished.write_text("of somebody else")
    os.utime(unfinished, (1, 1))
    kept = state(outside)
    for words in COMMANDS:
        sealed_world.lay(root, files)
        if words[0] == "run":  # nothing is reproduced: it would be written
            shutil.rmtree(root / "results")
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).symlink_to("../" * name.count("/") + f"../outside/{name}")
        known = {"PROTOCOL": str(root / "rich.yaml"), "TOKEN": str(root / "token.tsr")}
        with watched(root) as watch:
            code, _, err = sealed_world.quiet(root, *[known.get(word, word) for word in words])
        assert watch.found == [], words
        assert code != 70, err
        assert state(outside) == kept, words


def _is_current(path, files):
    return path.endswith("/ledger.json") and b'"amends"' in files[path]


def test_a_path_out_tells_nothing_of_what_is_there(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.csv").write_text("")
    project = Project.at(tmp_path / "root")
    with watched(project.root) as watch, pytest.raises(PreregError) as caught:
        project.find(project.root, ["../secre.csv"], Place("p.yaml"))
    assert watch.found == []
    assert "secret" not in str(caught.value)


def test_a_table_of_another_run_that_is_a_link_is_one_finding_of_diff(made, tmp_path, no_git):
    root = tmp_path / "root"
    sealed_world.lay(root, sealed_world.snapshot(made))
    folder = next(root.glob("results/rich/*/ledger.json")).parent
    (folder / "thresholds.csv").symlink_to("/etc/passwd")
    for words in (["diff"], ["verify"]):
        code, out, _ = sealed_world.quiet(root, *words)
        assert code == 3
        assert "its run writes none of this name" in out


@pytest.mark.parametrize("kind", ["out", "pipe", "folder", "hole"])
def test_a_table_that_is_no_table_of_the_project_is_not_read(made, tmp_path, no_git, kind):
    root, outside = tmp_path / "root", tmp_path / "outside.csv"
    files = sealed_world.snapshot(made)
    sealed_world.lay(root, files)
    table = next(root / p for p in files if p.endswith("policies.csv") and "/other/" in p)
    outside.write_bytes(table.read_bytes())
    table.unlink()
    match kind:
        case "out":
            table.symlink_to(outside)
        case "pipe":
            os.mkfifo(table)
        case "folder":
            table.mkdir()
        case _:
            with table.open("wb") as file:
                file.truncate(3 * 10**9)
    for words in (["run", "other"], ["verify"], ["diff"]):
        with watched(root) as watch:
            code, out, err = sealed_world.quiet(root, *words)
        assert watch.found == []
        assert code in (2, 3), (words, code)
        assert "policies.csv" in out + err


def test_a_glob_does_not_go_round_in_circles_or_out(tmp_path):
    project = Project.at(tmp_path)
    for folder in ("a/b", "a/.hidden", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.csv").write_text("")
    (tmp_path / ".y.csv").write_text("")
    for name in ("u", "v", "w"):
        (tmp_path / "a" / name).symlink_to("..")

    def found(pattern):
        return [name for name, _ in project.find(tmp_path, [pattern], Place("p.yaml"))]

    assert found("**/*.csv") == ["a/b/x.csv", "c/x.csv"]
    assert found("**/**/*.csv") == ["a/b/x.csv", "c/x.csv"]
    assert found("a/**") == ["a/b/x.csv"]
    assert found("*/x.csv") == ["c/x.csv"]
    assert found("a/u/c/*.csv") == ["c/x.csv"]  # a link that stays inside is followed where it is meant
    assert found(".*.csv") == [".y.csv"]
    with pytest.raises(InputError, match="more folders than are looked into"):
        found("*/" * 40 + "x.csv")
    (tmp_path / "out").symlink_to("/")
    for pattern in ("out/*", "*/*.csv", "out/**/*.csv"):
        with watched(tmp_path) as watch, pytest.raises(InputError, match="leads out of the project folder"):
            found(pattern)
        assert watch.found == []
    assert found("**/x.csv") == ["a/b/x.csv", "c/x.csv"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "**",
        "**/*",
        "*/*",
        "a/*",
        "a/**",
        "[ab]/*",
        "?.csv",
        "a/../*.csv",
        "**/b/*",
        "x.csv/*",
        "**/*.csv",
    ],
)
def test_a_glob_finds_what_that_of_the_standard_library_does(tmp_path, pattern):
    import glob

    for name in ("x.csv", "a/y.csv", "a/b/z.csv", "a/b/.z.csv", "b/b/q.txt", ".h/x.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    names = glob.glob(pattern, root_dir=tmp_path, recursive=True)  # noqa: PTH207 - it is what is compared with
    wanted = sorted(tmp_path / name for name in names if (tmp_path / name).is_file())
    assert list(Glob(pattern, lambda _: False).files(tmp_path)) == wanted
