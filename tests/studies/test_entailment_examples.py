"""The examples on entailment: their files are what their notes say, and their records can be made again."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from example_scripts import PROTOCOLS, learner, script

from broken_projects import command
from prereg.studies.logic.labels import header_labels

FOLDER = PROTOCOLS / "data" / "entailment"


def test_the_script_makes_the_problems_byte_for_byte(tmp_path):
    assert script("make_entailment_problems").main(["--output", str(tmp_path)]) == 0
    made = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert made == {p.name: p.read_bytes() for p in FOLDER.iterdir()}


def test_the_notes_give_number_size_and_digest_of_the_problems():
    notes = (PROTOCOLS / "data" / "entailment.SOURCE.md").read_text(encoding="utf-8")
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


def test_the_script_makes_the_records_of_the_learner_byte_for_byte(tmp_path):
    module = learner()
    assert module.main(["--output", str(tmp_path / "made.csv")]) == 0
    made = (tmp_path / "made.csv").read_bytes()
    assert made == (PROTOCOLS / "data" / "entailment-learner.csv").read_bytes()
    digest, size = hashlib.sha256(made).hexdigest(), len(made)
    assert f"| {size} | {digest} |" in (PROTOCOLS / "data" / "entailment-learner.SOURCE.md").read_text(
        encoding="utf-8"
    )


def test_counts_of_a_text_by_hand():
    module = learner()
    seen = dict(
        zip(module.NAMES, module.counts(["(~~p & q)", "~(r => $false)"], "(((p | ~q) => ~~~p))"), strict=True)
    )
    assert len(module.NAMES) == len(seen) == 25
    assert seen == {
        "and": 1, "or": 1, "implies": 2, "iff": 0, "constants": 1, "letters": 3, "occurrences": 6, "axioms": 2,
        "tokens": 21, "depth": 3, "reuse": 2,
        "goal_and": 0, "goal_or": 1, "goal_implies": 1, "goal_iff": 0, "goal_share": 11 / 21, "goal_letters": 2,
        "goal_is_plain": 0, "goal_is_and": 0, "goal_is_or": 0, "goal_is_implies": 1,
        "not": 7, "not_not": 3, "goal_not": 4, "goal_not_not": 2,
    }  # fmt: skip


def test_names_of_letters_and_negations_are_not_seen_where_they_must_not_be():
    module = learner()
    renamed = (
        module.counts(["(a & b)"], "(b => ~~a)"),
        module.counts(["(x7 & long_name)"], "(long_name => ~~x7)"),
    )
    assert renamed[0] == renamed[1]
    without = [module.counts(["(a & b)"], goal) for goal in ("(b => a)", "(b => ~a)", "(~~b => ~a)")]
    bare = [
        [n for name, n in zip(module.NAMES, one, strict=True) if name not in module.NEGATIONS]
        for one in without
    ]
    assert bare[0] == bare[1] == bare[2]


@pytest.mark.parametrize("name", sorted(p.stem for p in PROTOCOLS.glob("entailment-*.yaml")))
def test_the_protocol_can_be_locked(name):
    said = command("check", str(PROTOCOLS / f"{name}.yaml"), "--root", str(PROTOCOLS.parent))
    assert said.code == 0, said.err
