"""One check tells everything: no problem hides another, and what is missing in the data is told before a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broken_projects import Edit, check, edited, write

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOL = """\
prereg: 1
id: small
title: Two models
question: Which one is right?
data:
  records: records.csv
  arm: model
  unit: item
metrics:
  acc: {rate: correct}
  calib: {ece: {confidence: confidence, label: correct}}
resampling: {resamples: 500, seed: 1, level: 0.95}
predictions:
  one: {claim: "acc[alpha] < 0.1", because: x, evidence: point}
  two: {claim: "all(calib < 0.1)", because: x, evidence: point}
"""


def records(
    empty: int = 0, lacking: int = 0, models: tuple[str, ...] = ("alpha", "beta"), flip: int = 0
) -> str:
    """Fifty items a model: the first has empty cells, the last lacks items."""
    rows = ["model,item,correct,confidence,cat"]
    for model in models:
        for i in range(50):
            if model == models[-1] and i < lacking:
                continue
            blank = model == models[0] and 20 <= i < 20 + empty
            right = "" if blank else str((i + flip) % 2)
            rows.append(f"{model},i{i},{right},0.{i % 10},{'xy'[i >= 22]}")
    return "\n".join(rows) + "\n"


def said(folder: Path, edits: list[Edit], data: str) -> tuple[list[str], list[str], int]:
    """The lines of a check, the places marked in the edits, and the exit code."""
    text, places = edited(PROTOCOL, edits)
    write(folder, text, data)
    found = check(folder)
    return found.lines, places, found.code


ACC, CALIB = "{rate: correct}", "{ece: {confidence: confidence, label: correct}}"
ONE, TWO = '"acc[alpha] < 0.1"', '"all(calib < 0.1)"'
TOGETHER: dict[str, tuple[list[Edit], list[str]]] = {
    "unit and metric": (
        [Edit("unit: item", "unit: §items"), Edit(ACC, "{rate: §corect}")],
        ["did you mean `item`?", "did you mean `correct`?"],
    ),
    "arm, metric and claim": (
        [Edit("arm: model", "arm: §modle"), Edit(ACC, "{rate: §corect}"), Edit(TWO, "§calb < 1")],
        ["did you mean `model`?", "did you mean `correct`?", "did you mean `calib`?"],
    ),
    "parameter and claim": (
        [Edit(CALIB, "{ece: {§confidnce: confidence, label: correct}}"), Edit(TWO, "§calib < 0.1")],
        ["did you mean `confidence`?", "compares 2 policies"],
    ),
    "broken metric as a hint": (
        [Edit(ACC, "{rate: §corect}"), Edit("acc[alpha]", "§ac[alpha]")],
        ["did you mean `correct`?", "did you mean `acc`?"],
    ),
    "broken metric and arm": (
        [Edit(ACC, "{rate: §corect}"), Edit("acc[alpha]", "acc[§alpah]")],
        ["did you mean `correct`?", "did you mean `alpha`?"],
    ),
    "role and metric": (
        [Edit("unit: item\n", "unit: item\n  columns: {certified: §corect}\n"), Edit(ACC, "{rate: §corret}")],
        ["did you mean `correct`?", "did you mean `correct`?"],
    ),
    "gate and claim": (
        [
            Edit("metrics:", "policies: {§gate: {score: confidence, at_least: [none, 0.5]}}\nmetrics:"),
            Edit(TWO, "§calb < 1"),
        ],
        ["no column `answered`", "did you mean `calib`?"],
    ),
    "gate, values and lets": (
        [
            Edit(
                "metrics:\n",
                "let: {some: 'max(acc[gate=0.5])'}\n"
                "policies: {§gate: {score: confidence, at_least: [none, 0.5]}}\nmetrics:\n"
                "  best: {value: 'max(acc[gate=none]) - max(§calb[gate=none])'}\n",
            ),
            Edit(TWO, "some > 0.5"),
        ],
        ["no column `answered`", "did you mean `calib`?"],
    ),
    "arm twice": ([Edit("arm: model", "arm: [model, §model]")], ["stands twice in `arm`"]),
    "per takes one column": (
        [Edit(ACC, "{rate: correct, per: §[cat]}"), Edit("acc[alpha] <", "acc[alpha, x] <")],
        ["`per` takes one column, found a list"],
    ),
    "title, resampling and what they say nothing about": (
        [
            Edit("title: ", "title: §[a] #"),
            Edit(ACC, "{rate: §corect}"),
            Edit("resamples: 500, seed: 1", "resamples: §many, seed: §x, §clustr: item"),
            Edit(TWO, '"§calb < 1"'),
        ],
        [
            "expected a text",
            "did you mean `correct`?",
            "expected a whole number",
            "expected a whole number",
            "did you mean `cluster`?",
            "did you mean `calib`?",
        ],
    ),
    "a misspelt derived column behind a mean": (
        [
            Edit("unit: item\n", "unit: item\n  derive: {y: '§confidnce * 2'}\n"),
            Edit(ACC, "{mean: y}"),
            Edit(CALIB, "{quantile: {of: y, q: 0.5}}"),
        ],
        ["did you mean `confidence`?"],
    ),
    "how a metric is shown": (
        [Edit(ACC, "{rate: correct, show: §[wilson]}"), Edit(CALIB, "{rate: correct, show: §{a: 1}}")],
        ["found a list", "found a mapping"],
    ),
    "a variant that a prediction names": (
        [
            Edit('0.1", because: x, evidence: point}\n  two', '0.1", evidence: point, agree: alt}\n  two'),
            Edit("metrics:\n", "variants: {alt: {where: correct}, other: §7}\nmetrics:\n"),
        ],
        ["variants.other: found `7`"],
    ),
    "kinds in other words": (
        [
            Edit(ACC, "{§accuracy: correct}"),
            Edit(CALIB, "{mean: confidence, §weight: confidence}\n  mid: {§median: confidence}"),
        ],
        ["write `{rate: …}`", "`{mean: {mean: …, weight: …}}`", "write `{quantile: {of: …, q: 0.5}}`"],
    ),
    "what stands by itself": (
        [
            Edit("metrics:\n", "variants: §7\noutcomes: §x\nnotes: §3\nmetrics:\n"),
            Edit(ACC, "{rate: §corect}"),
        ],
        [
            "variants: found `7`",
            "outcomes: found the text `x`",
            "notes: found `3`",
            "did you mean `correct`?",
        ],
    ),
    "the seed of a split": (
        [
            Edit(
                "metrics:\n",
                "split: {parts: {fit: 0.5, test: 0.5}, seed: §x, default: test}\nmetrics:\n",
            ),
            Edit(ACC, "{rate: §corect}"),
        ],
        ["split.seed: found the text `x`", "did you mean `correct`?"],
    ),
    "otherwise over 0 and 1": (
        [Edit(ACC, '{rate: "§otherwise(correct, false)"}')],
        ["write `correct == 1`"],
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_no_problem_hides_another(name: str, tmp_path: Path) -> None:
    edits, words = TOGETHER[name]
    lines, places, code = said(tmp_path, edits, records())
    assert code == 2
    assert len(lines) == len(words), lines
    for line, place, word in zip(lines, places, words, strict=True):
        assert word in line
        if not name.startswith("gate") and '"§' not in str(edits):
            assert line.startswith(f"protocol.yaml:{place}:"), (line, place)


def test_a_second_record_hides_no_metric(tmp_path: Path) -> None:
    lines, _, code = said(tmp_path, [Edit(ACC, "{rate: corect}")], records() + "alpha,i0,1,0.1,x\n")
    assert code == 2
    assert ["second record" in line for line in lines].count(True) == 1
    assert ["`corect`" in line for line in lines].count(True) == 1
    assert len(lines) == 2


def test_dropped_units_are_told_per_arm(tmp_path: Path) -> None:
    lines, _, code = said(tmp_path, [], records(lacking=3))
    assert code == 0
    assert [x for x in lines if "dropped" in x] == [
        "protocol.yaml:7:8: warning: alpha: 3 of 50 units dropped, another arm lacks them"
    ]


def test_many_arms_are_told_in_few_lines(tmp_path: Path) -> None:
    models = ("alpha", *(f"m{i}" for i in range(9)))
    lines, _, code = said(tmp_path, [], records(lacking=3, models=models))
    found = [x for x in lines if "dropped" in x]
    assert code == 0
    assert len(found) == 5
    assert found[-1].endswith("(and 4 more like this)")


def test_empty_cells_are_told_per_metric_and_arm(tmp_path: Path) -> None:
    among = [Edit(ACC, '{rate: correct, among: cat == "x"}')]
    lines, _, code = said(tmp_path, among, records(empty=4))
    found = [x for x in lines if "empty cell" in x]
    assert code == 0
    assert len(found) == 2
    assert "`acc`, alpha: 2 records with an empty cell of correct" in found[0]
    assert "`calib`, alpha: 4 records" in found[1]


def test_cells_that_are_filled_in_are_not_told(tmp_path: Path) -> None:
    edits = [Edit(ACC, '{rate: "otherwise(correct, 0) == 1"}'), Edit("label: correct", "label: cat == 'x'")]
    lines, _, code = said(tmp_path, edits, records(empty=4))
    assert code == 0
    assert not [x for x in lines if "empty cell" in x]


def test_warnings_of_empty_cells_do_not_depend_on_outcomes(tmp_path: Path) -> None:
    edits = [Edit(ACC, "{rate: correct == 1, among: correct == 1 or confidence > 0.3}")]
    one = said(tmp_path / "a", edits, records(empty=4))
    other = said(tmp_path / "b", edits, records(empty=4, flip=1))
    assert one == other
    assert any("undefined if `among` holds one" in line for line in one[0])


def test_few_units_are_told_once_per_prediction(tmp_path: Path) -> None:
    edits = [Edit('"acc[alpha] < 0.1", because: x, evidence: point', '"all(acc < 0.1)", because: x')]
    lines, _, code = said(tmp_path, edits, records())
    found = [x for x in lines if "few units" in x]
    assert code == 0
    assert len(found) == 1
    assert "(`acc < 0.1` for alpha, the fewest of 2)" in found[0]


def test_a_falsifier_that_applies_where_the_claim_is_supported_is_told(tmp_path: Path) -> None:
    for written, told in (("support > 0.5", True), ("0.5 <= support", True), ("support < 0.5", False)):
        edits = [
            Edit(
                '"acc[alpha] < 0.1", because: x',
                f'"acc[alpha] < 0.1", falsified_if: §"{written}", because: x',
            )
        ]
        lines, places, code = said(tmp_path / written[:9], edits, records())
        found = [x for x in lines if "applies where the claim is supported" in x]
        assert code == 0
        assert [places[0] in x for x in found] == [True] * told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{mean: confidence * 1e-9}", ("below 1e-9", "by 1e9")),
        ("{sum: confidence * 1e-7}", ("below 1e-7", "by 1e9")),
        ("{mean: confidence * 0}", None),
        ("{mean: confidence * 1e-3}", None),
        ("{rate: confidence * 1e-9 > 0}", None),
    ],
)
def test_numbers_too_small_for_twelve_decimals_are_warned_of(text, told, tmp_path: Path) -> None:
    claim = Edit("acc[alpha] < 0.1", "calib[alpha] < 0.1")
    lines, _, code = said(tmp_path, [Edit(ACC, text), claim], records())
    found = [x for x in lines if "keeps 12 decimals" in x]
    assert code == 0
    assert len(found) == (told is not None)
    for word in told or ():
        assert word in found[0]
    if told:
        assert found[0].startswith("protocol.yaml:10:8: warning: `acc`: ")
