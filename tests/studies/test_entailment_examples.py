"""The examples on entailment: their files are what their notes say, and their records can be made again."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

from broken_projects import command
from prereg.studies.logic.labels import header_labels

ROOT = Path(__file__).resolve().parents[2] / "protocols"
FOLDER = ROOT / "data" / "entailment"


def script(name):
    path = ROOT / "data" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_the_problems_byte_for_byte(tmp_path):
    assert script("make_entailment_problems").main(["--output", str(tmp_path)]) == 0
    made = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert made == {p.name: p.read_bytes() for p in FOLDER.iterdir()}


def test_the_notes_give_number_size_and_digest_of_the_problems():
    notes = (ROOT / "data" / "entailment.SOURCE.md").read_text(encoding="utf-8")
    files = sorted(FOLDER.glob("*.p"))
    lines = "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files)
    assert f"{len(files)} files, {sum(p.stat().st_size for p in files):,} bytes." in notes
    assert hashlib.sha256(lines.encode()).hexdigest() in notes


def test_the_headers_carry_the_labels_of_the_definitions_by_hand():
    labels = {p.stem: header_labels(p.read_bytes(), p.name) for p in FOLDER.glob("*.p")}
    assert Counter(one.intuitionistic for one in labels.values()) == {
        "theorem": 6 * 20 + 10,
        "non_theorem": 6 * 20 + 15,
    }
    assert [name for name, one in labels.items() if one.classical == "non_theorem"] == [
        "gate_one_world_falsity"
    ]
    for name, one in labels.items():
        if name.startswith("syj"):
            assert (one.intuitionistic == "theorem") == (name[:6] <= "syj206"), name


@pytest.mark.parametrize("name", sorted(p.stem for p in ROOT.glob("entailment-*.yaml")))
def test_the_protocol_can_be_locked(name):
    said = command("check", str(ROOT / f"{name}.yaml"), "--root", str(ROOT.parent))
    assert said.code == 0, said.err
