"""Arguments come out as Typer converts them, and what it refuses is refused by it."""

from __future__ import annotations

from importlib import import_module

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from prereg.cli.app import COMMANDS, app

LINES = {
    "check": [["p.yaml"], ["p.yaml", "--power", "--root", "x", "--json"], ["p.yaml", "--root", "\0"], ["\ud800"], []],
    "lock": [["p.yaml"], ["a b/p.yaml", "-C", ""]],
    "run": [[], ["a", "b"], ["--jobs", "2"], ["--jobs", "0"], ["--jobs", "x"], ["--fail-on", "failed"], ["--fail-on", "no"]],
    "show": [["a"], ["a", "--policy", "p", "--legs"], ["a", "--policy", ""], ["a", "b"]],
    "diff": [[], ["a", "--base", "HEAD", "--tolerance", "0.1"], ["--tolerance", "2"], ["--format", "xml"], ["--write", "text=f"]],
    "amend": [["p.yaml", "--reason", "r", "--parent", "a", "--parent", "b"], ["p.yaml"]],
    "note": [["a", "--text", "t", "--prediction", "x"], ["a"]],
    "rehearse": [["p.yaml"], ["p.yaml", "--draws", "9", "--known", "c", "--draw", "c=0..1"], ["p.yaml", "--draws", "1.5"]],
    "verify": [["a", "--rerun", "--ca-file", "f"], ["--untrusted", "\0"]],
    "status": [[], ["--json", "--root", "x"], ["x"]],
    "schema": [[], ["ledger"]],
    "stamp": [["import", "t", "--for", "a"]],
}  # fmt: skip


def plainly(name):
    """The command as Typer makes it by itself."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.callback()(lambda: None)
    module = import_module(f"prereg.cli.{name}")
    if hasattr(module, "app"):
        made.add_typer(module.app, name=name)
    else:
        made.command(name)(module.command)
    return made


def parsed(group, name, line):
    """What a command is given, or what is said of the line."""
    command = get_command(group).commands[name]
    try:
        return command.make_context(name, list(line)).params
    except Exception as error:  # noqa: BLE001 - Typer keeps its classes to itself
        return type(error).__name__, error.format_message()


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_come_out_as_by_typer(name):
    for line in LINES[name]:
        ours, theirs = parsed(app((name,)), name, line), parsed(plainly(name), name, line)
        if isinstance(ours, tuple) and "expected a" in ours[1]:  # numbers have words of our own
            ours, theirs = ours[0], theirs[0]
        assert ours == theirs, line
        if isinstance(ours, dict):
            assert {k: type(v) for k, v in ours.items()} == {
                k: type(v) for k, v in parsed(plainly(name), name, line).items()
            }


@given(
    st.lists(st.text(alphabet=st.characters(exclude_characters="-"), max_size=5), max_size=3),
    st.text(max_size=5),
)
def test_any_texts_come_out_as_by_typer(ids, root):
    line = [*ids, "--root", root]
    assert parsed(app(("run",)), "run", line) == parsed(plainly("run"), "run", line)


@given(st.from_regex(r"[+-]?[0-9.e_ -]{1,6}|x|", fullmatch=True), st.sampled_from(["--jobs", "--tolerance"]))
def test_numbers_come_out_as_by_typer(text, option):
    name = "run" if option == "--jobs" else "diff"
    ours, theirs = (parsed(group, name, [f"{option}={text}"]) for group in (app((name,)), plainly(name)))
    if isinstance(ours, dict):
        assert ours == theirs
    elif isinstance(theirs, dict):  # 1_000 and blanks are no numbers here
        assert "_" in text or " " in text or text.count(".") == 1
    else:
        assert ours[0] == theirs[0]
