"""Whatever a user can get wrong is one line per problem, at its place, with the right exit code and nothing written.

Every broken project is the good one of `broken_projects` with one defect; the mark `§` in an edit is the oracle
for line and column.  The good project, and good neighbours of many defects, are accepted.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from broken_projects import (
    PROTOCOL,
    RECORDS,
    Edit,
    check,
    command,
    contents,
    edited,
    in_order,
    write,
)

CLAIM = "claim: gap[a] < 0.8"
CALIBRATED = "    claim: gap[a] < 0.8\n    evidence: point\n    given: few-errors\n"
SHARES = "  parts: {calibration: 0.5, test: 0.5}\n  stratify: suite\n  seed: 3\n"
GATES = "at_least: [none, 0.5]}"
WHERE = "  where: level < 9\n"
BECAUSE = "    because: The models are good.\n"
FILES = "records: records.csv"


def claim(text: str) -> list[Edit]:
    return [Edit(CLAIM, f"claim: {text}")]


# name -> (edits, for each mark in file order the words its line must hold)
PROTOCOLS: dict[str, tuple[list[Edit], list[tuple[str, ...]]]] = {
    # -- YAML ------------------------------------------------------------------------------------------------
    "colon in plain text": ([Edit("notes: Every", "notes: x§: y: Every")], [("not valid YAML", "quoted")]),
    "duplicate key": ([Edit("id: control\n", "id: control\n§id: other\n")], [("duplicate key `id`", "line 2")]),
    "list instead of value": ([Edit("prereg: 1\n", "- prereg: 1\n§")], [("not valid YAML", "indentation")]),
    "value left out": ([Edit("question: Does a score tell who is right?", "§question:")], [("no value", "null")]),
    "alias": ([Edit("id: control", "id: §*other")], [("alias", "refused")]),
    "tag": ([Edit("id: control", "id: §!!str control")], [("tag", "refused")]),
    "second document": ([Edit("reports:\n", "§---\nreports:\n")], [("second document",)]),
    "unquoted comma": ([Edit("{value: 1 - easy}", "{value: §maximum(easy, 0)}")], [("cut short", "quoted")]),
    "unquoted bracket": ([Edit("{value: 1 - easy}", "{value: §easy[system=a]}")], [("must be quoted",)]),
    "unquoted hash": ([Edit("claim: all(wrong < 0.9)", "claim: §all(wrong #< 0.9)")], [("cut short by a comment",)]),
    "seed beyond 2^53": ([Edit("seed: 3", "seed: §9007199254740993")], [("beyond 2^53",)]),
    "NUL": ([Edit("Does a", "Do\0es a")], []),
    # -- unknown keys, each with the nearest known one ----------------------------------------------------------
    "unknown section": ([Edit("split:\n", "§splt: {}\nsplit:\n")], [("unknown key `splt`", "did you mean `split`")]),
    "unknown key of data": ([Edit("  unit: item\n", "  unit: item\n  §unt: item\n")], [("`unt`", "`unit`")]),
    "unknown key of split": ([Edit("  seed: 3\n", "  seed: 3\n  §sed: 4\n")], [("`sed`", "`seed`")]),
    "unknown key of policies": ([Edit("policies:\n", "policies:\n  §gat: {}\n")], [("`gat`", "`gate`")]),
    "unknown key of gate": ([Edit("{score: conf, ", "{score: conf, §atleast: 3, ")], [("`atleast`", "`at_least`")]),
    "unknown key of resampling": ([Edit("  seed: 5\n", "  seed: 5\n  §resample: 5\n")], [("`resample`", "`resamples`")]),
    "unknown key of prediction": ([Edit("evidence: point\n", "evidence: point\n    §evidnce: point\n")], [("`evidence`",)]),
    "unknown key of metric": ([Edit("{count: answered}", "{count: answered, §amogn: hard}")], [("`amogn`", "`among`")]),
    "unknown metric kind": ([Edit("{count: answered}", "{§cout: answered}")], [("`cout`", "did you mean `count`")]),
    "unknown kind, nothing near": ([Edit("{count: answered}", "{§zzz: answered}")], [("`zzz`", "kinds: rate, count")]),
    "unknown parameter": ([Edit("bins: 5", "§bin: 5")], [("unknown parameter `bin`", "did you mean `bins`")]),
    "two kinds": ([Edit("{count: answered}", "§{count: answered, rate: answered}")], [("has 2 kinds",)]),
    "no kind": ([Edit("{count: answered}", "§{among: answered}")], [("has no kind",)]),
    "stored form of evidence": ([Edit("evidence: point", "evidence: {§kind: point}")], [("unknown key `kind`",)]),
    # -- wrong types, section by section --------------------------------------------------------------------------
    "format is a word": ([Edit("prereg: 1", "prereg: §yes")], [("found the text `yes`", "write `prereg: 1`")]),
    "format is newer": ([Edit("prereg: 1", "prereg: §2")], [("found `2`", "upgrade")]),
    "no format": ([Edit("prereg: 1\nid", "§id")], [("`prereg` is missing in the protocol",)]),
    "id is a number": ([Edit("id: control", "id: §7")], [("found `7`, expected a text",)]),
    "id with a blank": ([Edit("id: control", "id: §Con Trol")], [("not a plain name", "lower case")]),
    "id is a path": ([Edit("id: control", "id: §../x")], [("not a plain name",)]),
    "id is long": ([Edit("id: control", f"id: §{'x' * 65}")], [("more than 64 characters",)]),
    "title is a list": ([Edit("title: A protocol without a defect", "title: §[a]")], [("found a list, expected a text",)]),
    "question is a number": ([Edit("question: Does a score tell who is right?", "question: §3")], [("expected a text",)]),
    "records is a mapping": ([Edit(FILES, "records: §{a: b}")], [("found a mapping", "a text or a list of texts")]),
    "records is empty": ([Edit(FILES, "records: §[]")], [("found an empty list", "at least one entry")]),
    "record file is a list": ([Edit(FILES, "records: [records.csv, §[x]]")], [("data.records, entry 2", "found a list")]),
    "arm is a mapping": ([Edit("arm: system", "arm: §{a: b}")], [("data.arm", "found a mapping")]),
    "unit is a list": ([Edit("unit: item", "unit: §[item]")], [("data.unit: found a list, expected a text",)]),
    "samples misspelt": ([Edit("samples: first", "samples: §frist")], [("found the text `frist`", "did you mean `first`")]),
    "samples without sample": ([Edit("  sample: k\n", ""), Edit("data:\n", "data:§\n")], []),
    "columns is a list": ([Edit("{certified: right}", "§[certified]")], [("data.columns: found a list, expected a mapping",)]),
    "role with a hyphen": ([Edit("{certified: right}", "{certified: right, §a-b: right}")], [("`a-b` is not a plain name",)]),
    "where is a list": ([Edit(WHERE, "  where: §[a]\n")], [("found a list, expected an expression",)]),
    "derive is a text": ([Edit("{hard: level >= 2}", "§hard")], [("data.derive: found the text `hard`",)]),
    "unit typed as number": ([Edit(WHERE, WHERE + "  types: {item: §number}\n")], [("names the unit", "text")]),
    "unknown type": ([Edit(WHERE, WHERE + "  types: {level: §numbr}\n")], [("`numbr`", "did you mean `number`")]),
    "share is a word": ([Edit("calibration: 0.5", "calibration: §half")], [("found the text `half`, expected a number",)]),
    "share above 1": ([Edit("test: 0.5}", "test: §1.5}")], [("found `1.5`, expected at most 1",)]),
    "share of 0": ([Edit("calibration: 0.5", "calibration: §0")], [("found `0`, expected more than 0",)]),
    "shares do not sum to 1": ([Edit("{calibration: 0.5, test: 0.5}", "§{calibration: 0.5, test: 0.6}")], [("sum to 1.1",)]),
    "seed below 0": ([Edit("seed: 3", "seed: §-1")], [("found `-1`, expected at least 0",)]),
    "seed is no whole number": ([Edit("seed: 3", "seed: §1.5")], [("found `1.5`, expected a whole number",)]),
    "split both ways": ([Edit("  parts: {", "  §column: suite\n  parts: {")], [("either `parts`", "`column`")]),
    "policies is a word": ([Edit("  gate: {score: conf, at_least: [none, 0.5]}\n", "  gate: §none\n")], [("expected a mapping",)]),
    "no gate": ([Edit("[none, 0.5]", "§[]")], [("found an empty list",)]),
    "gate is a word": ([Edit("[none, 0.5]", "[none, §maybe]")], [("found `maybe`, expected a number or `none`",)]),
    "gate is a list": ([Edit("[none, 0.5]", "[none, §[1]]")], [("entry 2", "expected a number or `none`")]),
    "gate stands twice": ([Edit("[none, 0.5]", "[0.5, §0.50]")], [("`0.5` stands twice",)]),
    "coverage above 1": ([Edit("at_least: [none, 0.5]", "coverage: [none, §1.5]")], [("found `1.5`", "share above 0")]),
    "gate without thresholds": ([Edit(", " + GATES, "}"), Edit("gate: {", "gate: §{")], [("either `at_least`",)]),
    "degenerate misspelt": ([Edit(GATES, GATES + "\n  degenerate: [§alwys]")], [("did you mean `always`",)]),
    "metric is a number": ([Edit("{count: answered}", "§3")], [("metrics.answers: found `3`, expected a mapping",)]),
    "argument is a list": ([Edit("{count: answered}", "{count: §[a]}")], [("found a list, expected an expression",)]),
    "value is a list": ([Edit("{value: 1 - easy}", "{value: §[a]}")], [("found a list, expected an expression",)]),
    "bins is a word": ([Edit("bins: 5", "bins: §five")], [("found the text `five`, expected a number",)]),
    "bins is 0": ([Edit("bins: 5", "bins: §0")], [("found `0`, expected 1 to 1000000",)]),
    "bins is no whole number": ([Edit("bins: 5", "bins: §2.5")], [("found `2.5`, expected a whole number",)]),
    "choice misspelt": ([Edit("bins: 5", "edges: §right_clsed")], [("did you mean `right_closed`",)]),
    "show misspelt": ([Edit("{count: answered}", "{count: answered, show: §wilsn}")], [("expected `wilson`",)]),
    "let is a text": ([Edit("let:\n  worst: max(wrong)", "let: §max(wrong)")], [("let: found the text", "expected a mapping")]),
    "resamples is a word": ([Edit("resamples: 50", "resamples: §many")], [("expected a whole number",)]),
    "no resamples": ([Edit("resamples: 50", "resamples: §0")], [("found `0`, expected at least 1",)]),
    "too many resamples": ([Edit("resamples: 50", "resamples: §100000000")], [("at most 1000000",)]),
    "level of 1": ([Edit("level: 0.9\n", "level: §1\n")], [("found `1`, expected less than 1",)]),
    "level in percent": ([Edit("level: 0.9\n", "level: §90%\n")], [("found the text `90%`, expected a number",)]),
    "prediction is a text": ([Edit("  calibrated:\n" + CALIBRATED, "  calibrated: §gap[a] < 0.8\n")], [("expected a mapping",)]),
    "prediction with a blank": ([Edit("  calibrated:\n", "  §cali brated:\n")], [("`cali brated` is not a plain name",)]),
    "claim is a list": (claim("§[a]"), [("found a list, expected an expression",)]),
    "evidence misspelt": ([Edit("evidence: point", "evidence: §pont")], [("did you mean `point`",)]),
    "evidence is a number": ([Edit("evidence: point", "evidence: §3")], [("found `3`, expected `interval`",)]),
    "support without a share": ([Edit("evidence: point", "evidence: §support")], [("written {support: 0.9}",)]),
    "support of less than half": ([Edit("evidence: point", "evidence: {support: §0.3}")], [("more than 0.5",)]),
    "anticipation misspelt": ([Edit("evidence: point", "anticipate: §heldd")], [("did you mean `held`",)]),
    "gate is yes": ([Edit("evidence: point", "gate: §yes")], [("found the text `yes`, expected true or false",)]),
    "tier misspelt": ([Edit("evidence: point", "tier: §secondery")], [("did you mean `secondary`",)]),
    "because is a number": ([Edit(BECAUSE, "    because: §3\n")], [("found `3`, expected a text",)]),
    "report is a list": ([Edit("worst-error: worst", "worst-error: §[a]")], [("found a list, expected an expression",)]),
    # -- names ----------------------------------------------------------------------------------------------------
    "unknown metric": ([Edit("{value: 1 - easy}", "{value: 1 - §eesy}")], [("`eesy`", "`easy`", "[1 - ^eesy]")]),
    "unknown metric, nothing near": (claim("§zzz[a] < 1"), [("`zzz`", "known: answers, wrong", "[^zzz[a] < 1]")]),
    "unknown column": ([Edit("among: answered}", "among: §answred}")], [("`answred`", "`answered`", "[^answred]")]),
    "unknown column, nothing near": ([Edit("{count: answered}", "{count: §zzz}")], [("`zzz`", "known: ")]),
    "unknown factor": (claim("gap[§sytem=a] < 0.8"), [("`sytem`", "`system`", "gap[^sytem=a]")]),
    "unknown arm": (claim("gap[§c] < 0.8"), [("no policy of `gap` is called `c`", "a, b", "gap[^c]")]),
    "unknown value of a factor": (claim("gap[§system=aa] < 0.8"), [("no value `aa`", "a, b", "^system=aa")]),
    "unknown gate": (claim("wrong[a, §gate=0.7] < 0.8"), [("no value `0.7`", "none, 0.5", "^gate=0.7")]),
    "unknown function": (claim("§alll(wrong < 0.9)"), [("`alll`", "did you mean `all`", "[^alll(")]),
    "unknown row function": ([Edit("{hard: level >= 2}", "{hard: §lentgh(suite) >= 2}")], [("`lentgh`", "`length`")]),
    "unknown part": ([Edit("part: calibration", "part: §calbration")], [("`calbration`", "`calibration`")]),
    "unknown default part": ([Edit("default: test", "default: §tset")], [("`tset`", "`test`")]),
    "unknown part of resampling": ([Edit("  level: 0.9\n", "  level: 0.9\n  parts: §[tset]\n")], [("`tset`", "`test`")]),
    "unknown arm column": ([Edit("arm: system", "arm: §sytem")], [("no arm column", "did you mean `system`")]),
    "unknown second arm column": ([Edit("arm: system", "arm: [system, §modle]")], [("no arm column", "known: system")]),
    "unknown unit column": ([Edit("unit: item", "unit: §itme")], [("no unit column", "did you mean `item`")]),
    "unknown sample column": ([Edit("sample: k", "sample: §kk")], [("no sample column", "known: system, item, k")]),
    "unknown stratum": ([Edit("stratify: suite", "stratify: §siute")], [("`siute`", "`suite`")]),
    "unknown stratum of resampling": ([Edit("  level: 0.9\n", "  level: 0.9\n  stratify: §suit\n")], [("`suite`",)]),
    "unknown cluster": ([Edit("  level: 0.9\n", "  level: 0.9\n  cluster: §suit\n")], [("`suite`",)]),
    "unknown typed column": ([Edit(WHERE, "  types: {§lvel: number}\n" + WHERE)], [("`lvel`", "`level`")]),
    "unknown column of a role": ([Edit("{certified: right}", "{certified: §rihgt}")], [("`rihgt`", "`right`")]),
    "unknown split column": ([Edit(SHARES, "  column: §prt\n")], [("`prt`", "known: system")]),
    "unknown guard": ([Edit(WHERE, "  guards: §c\n" + WHERE)], [("no arm is called `c`", "a, b")]),
    "unknown score": ([Edit("{score: conf,", "{score: §cnf,")], [("`cnf`", "`conf`")]),
    "unknown metric of a report": ([Edit("worst-error: worst", "worst-error: §wrst")], [("`wrst`", "`worst`")]),
    "unknown given": ([Edit("given: few-errors", "given: §few-erors")], [("`few-erors`", "`few-errors`")]),
    "given names a later prediction": ([Edit(BECAUSE, "    given: §calibrated\n")], [("must stand before",)]),
    "given names itself": ([Edit(BECAUSE, "    given: §few-errors\n")], [("earlier prediction",)]),
    "value defined by itself": ([Edit("{value: 1 - easy}", "{value: §1 - loss}")], [("loss -> loss",)]),
    "values defined by each other": (
        [Edit("  loss: {value: 1 - easy}", "  loss: {value: §1 - mirror}\n  mirror: {value: 1 - loss}")],
        [("loss -> mirror -> loss",)],
    ),
    "let defined by itself": ([Edit("worst: max(wrong)", "worst: §worst + 1")], [("defined by itself",)]),
    "lets defined by each other": (
        [Edit("worst: max(wrong)", "worst: §second\n  second: worst")],
        [("worst -> second -> worst",)],
    ),
    "metric named like a word": ([Edit("  loss: {", "  §support: {")], [("`support` is a word of the language",)]),
    "metric named like a factor": ([Edit("  loss: {", "  §gate: {")], [("`gate` is a factor",)]),
    "let named like a word": ([Edit("let:\n", "let:\n  §support: 1\n")], [("`support` is taken",)]),
    "let named like a metric": ([Edit("let:\n", "let:\n  §easy: 1\n")], [("`easy` is taken",)]),
    "column named like a word": ([Edit("{hard: level >= 2}", "{hard: level >= 2, §and: level > 2}")], [("a word of the",)]),
    "role named like a word": ([Edit("{certified: right}", "{certified: right, §or: right}")], [("a word of the",)]),
    "derived column that exists": ([Edit("{hard: level >= 2}", "{hard: level >= 2, §level: k}")], [("already",)]),
    "role that is a column": ([Edit("{certified: right}", "{certified: right, §level: k}")], [("of their own",)]),
    # -- expressions ------------------------------------------------------------------------------------------------
    "one equals sign": (claim("gap[a] §= 0.8"), [("write `==` to compare", "[gap[a] ^= 0.8]")]),
    "ampersand": (claim("gap[a] < 0.8 §& gap[b] < 0.8"), [("write `and`",)]),
    "sign for at most": (claim("gap[a] §≤ 0.8"), [("write `<=`",)]),
    "digits of another script": (claim("gap[a] < §０.8"), [("unexpected character",)]),
    "ends too early": (claim("gap[a] <§"), [("ends too early",)]),
    "text not closed": (claim("'§\"gap[a] < 0.8'"), [("not closed",)]),
    "deep brackets": (claim("§" + "(" * 200 + "gap[a]" + ")" * 200 + " < 0.8"), [("nested deeper than 100 levels",)]),
    "very deep brackets": (claim("§" + "(" * 9000 + "gap[a]" + ")" * 9000 + " < 0.8"), [("nested deeper than 100",)]),
    "many negations": (claim("§" + "not " * 2000 + "gap[a] < 0.8"), [("nested deeper than 100",)]),
    "long": (claim("§gap[a] < 0.8" + " and gap[a] < 0.8" * 2000), [("longer than 20000",)]),
    "number larger than any double": (claim("gap[a] < §1e999"), [("larger than any double",)]),
    "number smaller than any double": (claim("gap[a] < §1e-999"), [("smaller than any double",)]),
    "number with too many digits": (claim("gap[a] < §0.12345678901234567"), [("more digits than a double",)]),
    "thousands of digits": (claim("gap[a] < §" + "9" * 5000), [("larger than any double",)]),
    "hostile exponent": (claim("gap[a] < §1e99999999999999"), [("larger than any double",)]),
    "constant overflow": (claim("gap[a] < §10 ** 400"), [("undefined",)]),
    "constant division by zero": (claim("gap[a] < §1 / 0"), [("undefined",)]),
    "text compared with a number": ([Edit(WHERE, "  where: suite < §9\n")], [("cannot compare a text with a number",)]),
    "where is a number": ([Edit(WHERE, "  where: §level\n")], [("found a number, expected a truth value",)]),
    "score is a text": ([Edit("{score: conf,", "{score: §suite,")], [("found a text, expected a number",)]),
    # -- claims -----------------------------------------------------------------------------------------------------
    "claim not reduced": (claim("§wrong < 0.9"), [("4 policies (system, gate)", "reduce it", "select one policy")]),
    "vectors that do not align": (claim("all(§wrong[gate=none] < wrong)"), [("do not align", "`gate`")]),
    "claim without a metric": (claim("§1 < 2"), [("without a metric",)]),
    "claim is a number": (claim("§gap[a]"), [("a claim is a truth value",)]),
    "claim cannot fail": (claim("§gap[a] >= 0"), [("cannot fail",)]),
    "claim cannot hold": (claim("§gap[a] < 0"), [("cannot hold",)]),
    "falsifier never applies": ([Edit("support < 0.1", "§support < 0")], [("can never apply",)]),
    "falsifier always applies": ([Edit("support < 0.1", "§support <= 1")], [("always applies",)]),
    "falsifying claim never applies": ([Edit("support < 0.1", "§all(wrong > 1)")], [("can never apply",)]),
    "falsifying claim always applies": ([Edit("support < 0.1", "§all(wrong >= 0)")], [("always applies",)]),
    "equality under interval": ([Edit("all(wrong < 0.9)", "§wrong[a, none] == 0.9")], [("within [a, b]", "point")]),
    "defined under interval": ([Edit("all(wrong < 0.9)", "§defined(wrong[a, none])")], [("evidence: point",)]),
    "exact on no rate": ([Edit(CLAIM + "\n    evidence: point", "claim: §gap[a] < 0.8\n    evidence: exact")], [("exact",)]),
    "interval without resampling": (
        [
            Edit("resampling:\n  resamples: 50\n  seed: 5\n  level: 0.9\n", ""),
            Edit("    claim: all", "    §claim: all"),
            Edit("support < 0.1", "§support < 0.1"),
        ],
        [("needs a `resampling` section",), ("needs a `resampling` section",)],
    ),
    "family with too few resamples": (
        [Edit("    evidence: point\n", "    family: §f\n"), Edit("resamples: 50", "resamples: 5")],
        [("5 resamples can never be enough for 1 member", "at least 20")],
    ),
    "family under point": ([Edit("evidence: point", "evidence: point\n    family: §f")], [("interval evidence",)]),
    "family member with several legs": ([Edit(BECAUSE, "    family: §f\n")], [("single leg",)]),
    # -- emptiness ----------------------------------------------------------------------------------------------------
    "empty part": ([Edit("{calibration: 0.5, test: 0.5}", "§{calibration: 0.01, test: 0.99}")], [("`calibration` is empty",)]),
    "empty among": ([Edit("among: not hard,", "among: §level > 7,")], [("no record", "`calibration`")]),
    "empty where": ([Edit(WHERE, "  where: §level > 9\n")], [("keeps no record",)]),
    "placeholder": ([Edit("title: A protocol without a defect", "title: §TBD")], [("placeholder", "`TBD`")]),
    # -- several at once, in the order of the file ------------------------------------------------------------------------
    "several shapes": (
        [Edit("id: control", "id: §7"), Edit("seed: 3", "seed: §x"), Edit("level: 0.9\n", "level: §2\n")],
        [("id",), ("split.seed",), ("resampling.level",)],
    ),
    "several names": (
        [
            Edit("title: A protocol without a defect", "title: §TODO"),
            Edit("{hard: level >= 2}", "{hard: §levl >= 2}"),
            Edit(WHERE, "  where: §lvl < 9\n"),
            Edit("stratify: suite", "stratify: §suit"),
            Edit("default: test", "default: §tst"),
            Edit("{score: conf,", "{score: §cnf,"),
            Edit("among: answered}", "among: §answred}"),
            Edit("worst: max(wrong)", "worst: max(§wrng)"),
            Edit(CLAIM, "claim: §gp[a] < 0.8"),
        ],
        [("TODO",), ("levl",), ("lvl",), ("suit",), ("tst",), ("cnf",), ("answred",), ("wrng",), ("gp",)],
    ),
}
# two defects whose place is not a mark of an edit
PROTOCOLS["NUL"] = ([Edit("Does a", "Do§\0es a")], [("U+0000",)])
PROTOCOLS["samples without sample"] = (
    [Edit("  sample: k\n", ""), Edit("data:\n  records", "data:\n  §records")],
    [("name their column with `sample`",)],
)


def refused(folder: Path, code: int, lines: list[tuple[str, tuple[str, ...]]], stage: str = "check") -> None:
    """One line per problem, in order, each at its place and with its words; nothing is written."""
    before = contents(folder)
    said = check(folder, stage)
    assert said.code == code, said.err
    assert not said.out
    assert len(said.lines) == len(lines), said.err
    for line, (place, words) in zip(said.lines, lines, strict=True):
        assert line.startswith(f"{place}: "), (line, place)
        for word in words:
            assert word in line, (line, word)
        assert len(line) < 700, "a message is read by people"
    assert in_order(said)
    assert contents(folder) == before


@pytest.mark.parametrize("stage", ["check", "lock"])
def test_the_good_project_is_accepted(tmp_path: Path, stage: str) -> None:
    write(tmp_path)
    assert check(tmp_path, stage).code == 0


@pytest.mark.parametrize("name", PROTOCOLS)
def test_broken_protocols_are_refused_at_the_mark(tmp_path: Path, name: str) -> None:
    edits, words = PROTOCOLS[name]
    text, places = edited(PROTOCOL, edits)
    write(tmp_path, text)
    lines = [(f"protocol.yaml:{p}", w) for p, w in zip(places, words, strict=True)]
    refused(tmp_path, 2, lines)
    if len(places) > 1:
        refused(tmp_path, 2, lines, "lock")
