"""The GitHub Action and the pre-commit hooks: their own shell steps, run here on a small project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from ci_project import Study, prediction

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
BASH = shutil.which("bash")
# the interpreter's folder first: `prereg` and `python` are those under test
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


def fill(text, inputs, outputs):
    """An expression of GitHub in a value: inputs, and outputs of earlier steps."""

    def one(match):
        words = match[1].strip().split(".")
        if words[0] == "inputs":
            return inputs[words[1]]
        assert words[0] == "steps", match[0]
        return outputs.get((words[1], words[3]), "")

    return re.sub(r"\$\{\{(.*?)\}\}", one, str(text))


class Runner:
    """What a runner of GitHub does with a composite action, as far as these steps need it."""

    def __init__(self, workspace, tmp_path, **inputs):
        self.workspace, self.tmp = workspace, tmp_path
        defaults = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
        self.inputs = {**defaults, "base": "", "install": "none", **inputs}
        self.outputs = {}
        self.summary = tmp_path / "summary.md"
        self.said = ""
        self.path = PATH

    def run(self):
        code = 0
        for i, step in enumerate(STEPS):
            out = self.tmp / f"output-{i}"
            out.touch()
            self.summary.touch()
            env = {k: fill(v, self.inputs, self.outputs) for k, v in step.get("env", {}).items()}
            folder = self.workspace / fill(step.get("working-directory", "."), self.inputs, self.outputs)
            done = subprocess.run(
                # how GitHub starts `shell: bash`
                [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=folder,
                env={
                    **os.environ,
                    **env,
                    "PATH": self.path,
                    "GITHUB_OUTPUT": str(out),
                    "GITHUB_STEP_SUMMARY": str(self.summary),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            self.said += done.stdout + done.stderr
            for line in out.read_text(encoding="utf-8").splitlines():
                key, _, value = line.partition("=")
                self.outputs[step["id"], key] = value
            if done.returncode:
                code = done.returncode
                break
        return code


@pytest.fixture
def study(tmp_path):
    out = Study(tmp_path / "project")
    out.committed()
    return out


def _fall(content):
    prediction(content, "good").update(verdict="failed", reason="short", surprise=True)


def test_all_is_well(study, tmp_path):
    runner = Runner(study.root, tmp_path, base="main")
    assert runner.run() == 0, runner.said
    assert runner.outputs["diff", "code"] == runner.outputs["verify", "code"] == "0"
    assert runner.summary.read_text(encoding="utf-8").startswith("## prereg\n")
    suites = ET.parse(study.root / "prereg-junit.xml").getroot()
    assert (suites.get("failures"), suites.get("errors")) == ("0", "0")


def test_a_verdict_that_changed_is_in_the_summary_and_the_annotations(study, tmp_path):
    study.reseal(_fall)
    runner = Runner(study.root, tmp_path, base="main")
    code = runner.run()
    # the ledger was edited by hand: `verify` says 3, `diff` alone would say 1
    assert (code, runner.outputs["verify", "code"], runner.outputs["diff", "code"]) == (3, "3", "1")
    assert "**good** (changed)" in runner.summary.read_text(encoding="utf-8")
    assert re.search(
        r"^::error file=results/small/\w+/ledger\.json,title=prereg verdict,line=\d+::small: good: held",
        runner.said,
        re.MULTILINE,
    )


def test_an_amendment_that_loses_a_verdict_ends_with_1(study, tmp_path):
    study.amend("0.3", "0.6")
    study.run()
    study.committed()
    runner = Runner(study.root, tmp_path, base="HEAD~1")
    assert runner.run() == 1, runner.said
    assert runner.outputs["verify", "code"] == "0"


def test_inputs_reach_the_commands(study, tmp_path):
    (study.root / "records.csv").unlink()
    inputs = {"base": "HEAD", "require-data": "true", "junit": "", "verify-options": "--allow-unrun"}
    runner = Runner(study.root, tmp_path, **inputs)
    assert runner.run() == 4, runner.said
    assert not (study.root / "prereg-junit.xml").exists()


def test_a_branch_that_comes_from_nowhere_has_no_base(study, tmp_path):
    inputs = {"base": "0" * 40, "fail-on": "surprise falsified", "tolerance": "0.001"}
    runner = Runner(study.root, tmp_path, **inputs)
    assert runner.run() == 1, runner.said
    assert "| base |" not in runner.summary.read_text(encoding="utf-8")


def test_a_base_that_is_not_here_is_fetched(study, tmp_path):
    first = study.git("rev-parse", "HEAD")
    study.reseal(_fall)
    study.committed()
    study.git("config", "uploadpack.allowReachableSHA1InWant", "true")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{study.root}", str(clone)], check=True)
    runner = Runner(clone, tmp_path, base=first)
    runner.run()
    assert runner.outputs["base", "base"] == first, runner.said
    assert runner.outputs["diff", "code"] == "1", runner.said


def test_a_base_that_is_nowhere_is_no_success(study, tmp_path):
    assert Runner(study.root, tmp_path, base="no-such-branch").run() != 0


@pytest.mark.parametrize(
    "hostile", ["main; touch hacked", "$(touch hacked)", "`touch hacked`", '"; touch hacked; "', "*"]
)
def test_no_input_is_run_as_shell(study, tmp_path, hostile):
    stub = tmp_path / "bin" / "prereg"
    stub.parent.mkdir()
    stub.write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\n', encoding="utf-8")
    stub.chmod(0o755)
    names = ("fail-on", "tolerance", "verify-options", "junit")
    for inputs in ({"base": hostile}, dict.fromkeys(names, hostile)):
        runner = Runner(study.root, tmp_path, **inputs)
        runner.path = os.pathsep.join([str(stub.parent), PATH])
        runner.run()
    assert f"<{hostile}>" in runner.said
    assert f"<junit={hostile}>" in runner.said
    assert not list(tmp_path.rglob("hacked"))


def test_no_script_of_the_action_holds_an_expression():
    assert [step["name"] for step in STEPS if "${{" in step["run"]] == []


def test_docs_name_every_input_with_its_default():
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|(.*?)\|", text, re.MULTILINE))
    for name, entry in ACTION["inputs"].items():
        assert name in rows
        default = str(entry["default"])
        assert "${{" in default or rows[name].strip() == (f"`{default}`" if default else ""), name


def test_the_workflow_of_the_docs_gives_inputs_that_exist():
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"```yaml\n(name: prereg\n.*?)```", text, re.DOTALL)
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    (step,) = [s for s in job["steps"] if "prereg" in s["uses"]]
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert job["steps"][0]["with"]["fetch-depth"] == 0


# pre-commit


def hook(name, folder, *files):
    (entry,) = [h for h in HOOKS if h["id"] == name]
    words = shlex.split(entry["entry"])
    if entry.get("pass_filenames", True):
        words += files
    return subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": PATH}, capture_output=True, check=False
    )


def test_hooks_of_a_study_that_is_well_and_of_one_that_is_not(study):
    assert hook("prereg-check", study.root, "small.yaml").returncode == 0
    assert hook("prereg-verify", study.root).returncode == 0
    study.edit("claim: right[b] > 0.3", "claim: wrong[b] > 0.3")
    assert hook("prereg-check", study.root, "small.yaml", "small.yaml").returncode == 2
    assert hook("prereg-verify", study.root).returncode == 3


def test_hooks_look_at_the_folders_of_a_project():
    files = {h["id"]: re.compile(h["files"]) for h in HOOKS}
    assert files["prereg-check"].search("protocols/a.yaml")
    assert not files["prereg-check"].search("protocols/data/records.csv")
    for name in ("registrations/a/0.json", "results/a/0/ledger.json", "protocols/a.yaml"):
        assert files["prereg-verify"].search(name)
    assert {h["language"] for h in HOOKS} == {"python"}
