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
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    "duplicate key": (
        [Edit("id: control\n", "id: control\n§id: other\n")],
        [("duplicate key `id`", "line 2")],
    ),
    "list instead of value": ([Edit("prereg: 1\n", "- prereg: 1\n§")], [("not valid YAML", "indentation")]),
    "value left out": (
        [Edit("question: Does a score tell who is right?", "§question:")],
        [("no value", "null")],
    ),
    "alias": ([Edit("id: control", "id: §*other")], [("alias", "refused")]),
    "tag": ([Edit("id: control", "id: §!!str control")], [("tag", "refused")]),
    "second document": ([Edit("reports:\n", "§---\nreports:\n")], [("second document",)]),
    "unquoted comma": ([Edit("{value: 1 - easy}", "{value: §maximum(easy, 0)}")], [("cut short", "quoted")]),
    "unquoted bracket": ([Edit("{value: 1 - easy}", "{value: §easy[system=a]}")], [("must be quoted",)]),
    "unquoted hash": (
        [Edit("claim: all(wrong < 0.9)", "claim: §all(wrong #< 0.9)")],
        [("cut short by a comment",)],
    ),
    "seed beyond 2^53": ([Edit("seed: 3", "seed: §9007199254740993")], [("beyond 2^53",)]),
    "NUL": ([Edit("Does a", "Do\0es a")], []),
    # -- unknown keys, each with the nearest known one ----------------------------------------------------------
    "unknown section": (
        [Edit("split:\n", "§splt: {}\nsplit:\n")],
        [("unknown key `splt`", "did you mean `split`")],
    ),
    "unknown key of data": ([Edit("  unit: item\n", "  unit: item\n  §unt: item\n")], [("`unt`", "`unit`")]),
    "unknown key of split": ([Edit("  seed: 3\n", "  seed: 3\n  §sed: 4\n")], [("`sed`", "`seed`")]),
    "unknown key of policies": ([Edit("policies:\n", "policies:\n  §gat: {}\n")], [("`gat`", "`gate`")]),
    "unknown key of gate": (
        [Edit("{score: conf, ", "{score: conf, §atleast: 3, ")],
        [("`atleast`", "`at_least`")],
    ),
    "unknown key of resampling": (
        [Edit("  seed: 5\n", "  seed: 5\n  §resample: 5\n")],
        [("`resample`", "`resamples`")],
    ),
    "unknown key of prediction": (
        [Edit("evidence: point\n", "evidence: point\n    §evidnce: point\n")],
        [("`evidence`",)],
    ),
    "unknown key of metric": (
        [Edit("{count: answered}", "{count: answered, §amogn: hard}")],
        [("`amogn`", "`among`")],
    ),
    "unknown metric kind": (
        [Edit("{count: answered}", "{§cout: answered}")],
        [("`cout`", "did you mean `count`")],
    ),
    "unknown kind, nothing near": (
        [Edit("{count: answered}", "{§zzz: answered}")],
        [("`zzz`", "kinds: rate, count")],
    ),
    "unknown parameter": ([Edit("bins: 5", "§bin: 5")], [("unknown parameter `bin`", "did you mean `bins`")]),
    "two kinds": ([Edit("{count: answered}", "§{count: answered, rate: answered}")], [("has 2 kinds",)]),
    "no kind": ([Edit("{count: answered}", "§{among: answered}")], [("has no kind",)]),
    "stored form of evidence": (
        [Edit("evidence: point", "evidence: {§kind: point}")],
        [("unknown key `kind`",)],
    ),
    # -- wrong types, section by section --------------------------------------------------------------------------
    "format is a word": (
        [Edit("prereg: 1", "prereg: §yes")],
        [("found the text `yes`", "write `prereg: 1`")],
    ),
    "format is newer": ([Edit("prereg: 1", "prereg: §2")], [("found `2`", "upgrade")]),
    "no format": ([Edit("prereg: 1\nid", "§id")], [("`prereg` is missing in the protocol",)]),
    "id is a number": ([Edit("id: control", "id: §7")], [("found `7`, expected a text",)]),
    "id with a blank": ([Edit("id: control", "id: §Con Trol")], [("not a plain name", "lower case")]),
    "id is a path": ([Edit("id: control", "id: §../x")], [("not a plain name",)]),
    "id is long": ([Edit("id: control", f"id: §{'x' * 65}")], [("more than 64 characters",)]),
    "title is a list": (
        [Edit("title: A protocol without a defect", "title: §[a]")],
        [("found a list, expected a text",)],
    ),
    "question is a number": (
        [Edit("question: Does a score tell who is right?", "question: §3")],
        [("expected a text",)],
    ),
    "records is a mapping": (
        [Edit(FILES, "records: §{a: b}")],
        [("found a mapping", "a text or a list of texts")],
    ),
    "records is empty": ([Edit(FILES, "records: §[]")], [("found an empty list", "at least one entry")]),
    "record file is a list": (
        [Edit(FILES, "records: [records.csv, §[x]]")],
        [("data.records, entry 2", "found a list")],
    ),
    "arm is a mapping": ([Edit("arm: system", "arm: §{a: b}")], [("data.arm", "found a mapping")]),
    "unit is a list": (
        [Edit("unit: item", "unit: §[item]")],
        [("data.unit: found a list, expected a text",)],
    ),
    "samples misspelt": (
        [Edit("samples: first", "samples: §frist")],
        [("found the text `frist`", "did you mean `first`")],
    ),
    "samples without sample": ([Edit("  sample: k\n", ""), Edit("data:\n", "data:§\n")], []),
    "columns is a list": (
        [Edit("{certified: right}", "§[certified]")],
        [("data.columns: found a list, expected a mapping",)],
    ),
    "role with a hyphen": (
        [Edit("{certified: right}", "{certified: right, §a-b: right}")],
        [("`a-b` is not a plain name",)],
    ),
    "where is a list": ([Edit(WHERE, "  where: §[a]\n")], [("found a list, expected an expression",)]),
    "derive is a text": ([Edit("{hard: level >= 2}", "§hard")], [("data.derive: found the text `hard`",)]),
    "unit typed as number": (
        [Edit(WHERE, WHERE + "  types: {item: §number}\n")],
        [("names the unit", "text")],
    ),
    "unknown type": (
        [Edit(WHERE, WHERE + "  types: {level: §numbr}\n")],
        [("`numbr`", "did you mean `number`")],
    ),
    "share is a word": (
        [Edit("calibration: 0.5", "calibration: §half")],
        [("found the text `half`, expected a number",)],
    ),
    "share above 1": ([Edit("test: 0.5}", "test: §1.5}")], [("found `1.5`, expected at most 1",)]),
    "share of 0": ([Edit("calibration: 0.5", "calibration: §0")], [("found `0`, expected more than 0",)]),
    "shares do not sum to 1": (
        [Edit("{calibration: 0.5, test: 0.5}", "§{calibration: 0.5, test: 0.6}")],
        [("sum to 1.1",)],
    ),
    "seed below 0": ([Edit("seed: 3", "seed: §-1")], [("found `-1`, expected at least 0",)]),
    "seed is no whole number": ([Edit("seed: 3", "seed: §1.5")], [("found `1.5`, expected a whole number",)]),
    "split both ways": (
        [Edit("  parts: {", "  §column: suite\n  parts: {")],
        [("either `parts`", "`column`")],
    ),
    "policies is a word": (
        [Edit("  gate: {score: conf, at_least: [none, 0.5]}\n", "  gate: §none\n")],
        [("expected a mapping",)],
    ),
    "no gate": ([Edit("[none, 0.5]", "§[]")], [("found an empty list",)]),
    "gate is a word": (
        [Edit("[none, 0.5]", "[none, §maybe]")],
        [("found `maybe`, expected a number or `none`",)],
    ),
    "gate is a list": ([Edit("[none, 0.5]", "[none, §[1]]")], [("entry 2", "expected a number or `none`")]),
    "gate stands twice": ([Edit("[none, 0.5]", "[0.5, §0.50]")], [("`0.5` stands twice",)]),
    "coverage above 1": (
        [Edit("at_least: [none, 0.5]", "coverage: [none, §1.5]")],
        [("found `1.5`", "share above 0")],
    ),
    "gate without thresholds": (
        [Edit(", " + GATES, "}"), Edit("gate: {", "gate: §{")],
        [("either `at_least`",)],
    ),
    "degenerate misspelt": ([Edit(GATES, GATES + "\n  degenerate: [§alwys]")], [("did you mean `always`",)]),
    "metric is a number": (
        [Edit("{count: answered}", "§3")],
        [("metrics.answers: found `3`, expected a mapping",)],
    ),
    "argument is a list": (
        [Edit("{count: answered}", "{count: §[a]}")],
        [("found a list, expected an expression",)],
    ),
    "value is a list": (
        [Edit("{value: 1 - easy}", "{value: §[a]}")],
        [("found a list, expected an expression",)],
    ),
    "bins is a word": ([Edit("bins: 5", "bins: §five")], [("found the text `five`, expected a number",)]),
    "bins is 0": ([Edit("bins: 5", "bins: §0")], [("found `0`, expected 1 to 1000000",)]),
    "bins is no whole number": ([Edit("bins: 5", "bins: §2.5")], [("found `2.5`, expected a whole number",)]),
    "choice misspelt": ([Edit("bins: 5", "edges: §right_clsed")], [("did you mean `right_closed`",)]),
    "show misspelt": (
        [Edit("{count: answered}", "{count: answered, show: §wilsn}")],
        [("expected `wilson`",)],
    ),
    "let is a text": (
        [Edit("let:\n  worst: max(wrong)", "let: §max(wrong)")],
        [("let: found the text", "expected a mapping")],
    ),
    "resamples is a word": ([Edit("resamples: 50", "resamples: §many")], [("expected a whole number",)]),
    "no resamples": ([Edit("resamples: 50", "resamples: §0")], [("found `0`, expected at least 1",)]),
    "too many resamples": ([Edit("resamples: 50", "resamples: §100000000")], [("at most 1000000",)]),
    "level of 1": ([Edit("level: 0.9\n", "level: §1\n")], [("found `1`, expected less than 1",)]),
    "level in percent": (
        [Edit("level: 0.9\n", "level: §90%\n")],
        [("found the text `90%`, expected a number",)],
    ),
    "prediction is a text": (
        [Edit("  calibrated:\n" + CALIBRATED, "  calibrated: §gap[a] < 0.8\n")],
        [("expected a mapping",)],
    ),
    "prediction with a blank": (
        [Edit("  calibrated:\n", "  §cali brated:\n")],
        [("`cali brated` is not a plain name",)],
    ),
    "claim is a list": (claim("§[a]"), [("found a list, expected an expression",)]),
    "evidence misspelt": ([Edit("evidence: point", "evidence: §pont")], [("did you mean `point`",)]),
    "evidence is a number": (
        [Edit("evidence: point", "evidence: §3")],
        [("found `3`, expected `interval`",)],
    ),
    "support without a share": (
        [Edit("evidence: point", "evidence: §support")],
        [("written {support: 0.9}",)],
    ),
    "support of less than half": (
        [Edit("evidence: point", "evidence: {support: §0.3}")],
        [("more than 0.5",)],
    ),
    "anticipation misspelt": ([Edit("evidence: point", "anticipate: §heldd")], [("did you mean `held`",)]),
    "gate is yes": (
        [Edit("evidence: point", "gate: §yes")],
        [("found the text `yes`, expected true or false",)],
    ),
    "tier misspelt": ([Edit("evidence: point", "tier: §secondery")], [("did you mean `secondary`",)]),
    "because is a number": ([Edit(BECAUSE, "    because: §3\n")], [("found `3`, expected a text",)]),
    "report is a list": (
        [Edit("worst-error: worst", "worst-error: §[a]")],
        [("found a list, expected an expression",)],
    ),
    # -- names ----------------------------------------------------------------------------------------------------
    "unknown metric": (
        [Edit("{value: 1 - easy}", "{value: 1 - §eesy}")],
        [("`eesy`", "`easy`", "[1 - ^eesy]")],
    ),
    "unknown metric, nothing near": (
        claim("§zzz[a] < 1"),
        [("`zzz`", "known: answers, wrong", "[^zzz[a] < 1]")],
    ),
    "unknown column": (
        [Edit("among: answered}", "among: §answred}")],
        [("`answred`", "`answered`", "[^answred]")],
    ),
    "unknown column, nothing near": ([Edit("{count: answered}", "{count: §zzz}")], [("`zzz`", "known: ")]),
    "unknown factor": (claim("gap[§sytem=a] < 0.8"), [("`sytem`", "`system`", "gap[^sytem=a]")]),
    "unknown arm": (claim("gap[§c] < 0.8"), [("no policy of `gap` is called `c`", "a, b", "gap[^c]")]),
    "unknown value of a factor": (claim("gap[§system=aa] < 0.8"), [("no value `aa`", "a, b", "^system=aa")]),
    "unknown gate": (claim("wrong[a, §gate=0.7] < 0.8"), [("no value `0.7`", "none, 0.5", "^gate=0.7")]),
    "unknown function": (claim("§alll(wrong < 0.9)"), [("`alll`", "did you mean `all`", "[^alll(")]),
    "unknown row function": (
        [Edit("{hard: level >= 2}", "{hard: §lentgh(suite) >= 2}")],
        [("`lentgh`", "`length`")],
    ),
    "unknown part": ([Edit("part: calibration", "part: §calbration")], [("`calbration`", "`calibration`")]),
    "unknown default part": ([Edit("default: test", "default: §tset")], [("`tset`", "`test`")]),
    "unknown part of resampling": (
        [Edit("  level: 0.9\n", "  level: 0.9\n  parts: §[tset]\n")],
        [("`tset`", "`test`")],
    ),
    "unknown arm column": (
        [Edit("arm: system", "arm: §sytem")],
        [("no arm column", "did you mean `system`")],
    ),
    "unknown second arm column": (
        [Edit("arm: system", "arm: [system, §modle]")],
        [("no arm column", "known: system")],
    ),
    "unknown unit column": ([Edit("unit: item", "unit: §itme")], [("no unit column", "did you mean `item`")]),
    "unknown sample column": (
        [Edit("sample: k", "sample: §kk")],
        [("no sample column", "known: system, item, k")],
    ),
    "unknown stratum": ([Edit("stratify: suite", "stratify: §siute")], [("`siute`", "`suite`")]),
    "unknown stratum of resampling": (
        [Edit("  level: 0.9\n", "  level: 0.9\n  stratify: §suit\n")],
        [("`suite`",)],
    ),
    "unknown cluster": ([Edit("  level: 0.9\n", "  level: 0.9\n  cluster: §suit\n")], [("`suite`",)]),
    "unknown typed column": ([Edit(WHERE, "  types: {§lvel: number}\n" + WHERE)], [("`lvel`", "`level`")]),
    "unknown column of a role": (
        [Edit("{certified: right}", "{certified: §rihgt}")],
        [("`rihgt`", "`right`")],
    ),
    "unknown split column": ([Edit(SHARES, "  column: §prt\n")], [("`prt`", "known: system")]),
    "unknown guard": ([Edit(WHERE, "  guards: §c\n" + WHERE)], [("no arm is called `c`", "a, b")]),
    "unknown score": ([Edit("{score: conf,", "{score: §cnf,")], [("`cnf`", "`conf`")]),
    "unknown metric of a report": (
        [Edit("worst-error: worst", "worst-error: §wrst")],
        [("`wrst`", "`worst`")],
    ),
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
    "metric named like a word": (
        [Edit("  loss: {", "  §support: {")],
        [("`support` is a word of the language",)],
    ),
    "metric named like a factor": ([Edit("  loss: {", "  §gate: {")], [("`gate` is a factor",)]),
    "let named like a word": ([Edit("let:\n", "let:\n  §support: 1\n")], [("`support` is taken",)]),
    "let named like a metric": ([Edit("let:\n", "let:\n  §easy: 1\n")], [("`easy` is taken",)]),
    "column named like a word": (
        [Edit("{hard: level >= 2}", "{hard: level >= 2, §and: level > 2}")],
        [("a word of the",)],
    ),
    "role named like a word": (
        [Edit("{certified: right}", "{certified: right, §or: right}")],
        [("a word of the",)],
    ),
    "derived column that exists": (
        [Edit("{hard: level >= 2}", "{hard: level >= 2, §level: k}")],
        [("already",)],
    ),
    "role that is a column": (
        [Edit("{certified: right}", "{certified: right, §level: k}")],
        [("of their own",)],
    ),
    # -- expressions ------------------------------------------------------------------------------------------------
    "one equals sign": (claim("gap[a] §= 0.8"), [("write `==` to compare", "[gap[a] ^= 0.8]")]),
    "ampersand": (claim("gap[a] < 0.8 §& gap[b] < 0.8"), [("write `and`",)]),
    "sign for at most": (claim("gap[a] §≤ 0.8"), [("write `<=`",)]),
    "digits of another script": (claim("gap[a] < §０.8"), [("unexpected character",)]),
    "ends too early": (claim("gap[a] <§"), [("ends too early",)]),
    "text not closed": (claim("'§\"gap[a] < 0.8'"), [("not closed",)]),
    "long": (claim("§gap[a] < 0.8" + " and gap[a] < 0.8" * 2000), [("longer than 20000",)]),
    "number larger than any double": (claim("gap[a] < §1e999"), [("larger than any double",)]),
    "number smaller than any double": (claim("gap[a] < §1e-999"), [("smaller than any double",)]),
    "number with too many digits": (claim("gap[a] < §0.12345678901234567"), [("more digits than a double",)]),
    "thousands of digits": (claim("gap[a] < §" + "9" * 5000), [("larger than any double",)]),
    "hostile exponent": (claim("gap[a] < §1e99999999999999"), [("larger than any double",)]),
    "constant overflow": (claim("gap[a] < §10 ** 400"), [("undefined",)]),
    "constant division by zero": (claim("gap[a] < §1 / 0"), [("undefined",)]),
    "text compared with a number": (
        [Edit(WHERE, "  where: suite < §9\n")],
        [("cannot compare a text with a number",)],
    ),
    "where is a number": ([Edit(WHERE, "  where: §level\n")], [("found a number, expected a truth value",)]),
    "score is a text": ([Edit("{score: conf,", "{score: §suite,")], [("found a text, expected a number",)]),
    # -- claims -----------------------------------------------------------------------------------------------------
    "claim not reduced": (
        claim("§wrong < 0.9"),
        [("4 policies (system, gate)", "reduce it", "select one policy")],
    ),
    "vectors that do not align": (claim("all(§wrong[gate=none] < wrong)"), [("do not align", "`gate`")]),
    "claim without a metric": (claim("§1 < 2"), [("without a metric",)]),
    "claim is a number": (claim("§gap[a]"), [("a claim is a truth value",)]),
    "claim cannot fail": (claim("§gap[a] >= 0"), [("cannot fail",)]),
    "claim that compares with itself": (claim("§gap[a] >= gap[ a ]"), [("cannot fail",)]),
    "claim against itself": (claim("§gap[a] > gap[a]"), [("cannot hold",)]),
    "claim on a difference of one thing": (claim("§gap[a] - gap[a] < 0.1"), [("cannot fail",)]),
    "claim cannot hold": (claim("§gap[a] < 0"), [("cannot hold",)]),
    "falsifier never applies": ([Edit("support < 0.1", "§support < 0")], [("can never apply",)]),
    "falsifier always applies": ([Edit("support < 0.1", "§support <= 1")], [("always applies",)]),
    "falsifying claim never applies": ([Edit("support < 0.1", "§all(wrong > 1)")], [("can never apply",)]),
    "falsifying claim always applies": ([Edit("support < 0.1", "§all(wrong >= 0)")], [("always applies",)]),
    "equality under interval": (
        [Edit("all(wrong < 0.9)", "§wrong[a, none] == 0.9")],
        [("within [a, b]", "point")],
    ),
    "defined under interval": (
        [Edit("all(wrong < 0.9)", "§defined(wrong[a, none])")],
        [("evidence: point",)],
    ),
    "exact on no rate": (
        [Edit(CLAIM + "\n    evidence: point", "claim: §gap[a] < 0.8\n    evidence: exact")],
        [("exact",)],
    ),
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
    "family under point": (
        [Edit("evidence: point", "evidence: point\n    family: §f")],
        [("judged by `interval`",)],
    ),
    "family member with several legs": ([Edit(BECAUSE, "    family: §f\n")], [("single leg",)]),
    # -- emptiness ----------------------------------------------------------------------------------------------------
    "empty part": (
        [Edit("{calibration: 0.5, test: 0.5}", "§{calibration: 0.01, test: 0.99}")],
        [("`calibration` is empty",)],
    ),
    "empty among": ([Edit("among: not hard,", "among: §level > 7,")], [("no record", "`calibration`")]),
    "empty where": ([Edit(WHERE, "  where: §level > 9\n")], [("keeps no record",)]),
    "placeholder": ([Edit("title: A protocol without a defect", "title: §TBD")], [("placeholder", "`TBD`")]),
    # -- several at once, in the order of the file ------------------------------------------------------------------------
    "several shapes": (
        [Edit("id: control", "id: §7"), Edit("seed: 3", "seed: §x"), Edit("level: 0.9\n", "level: §2\n")],
        [("id",), ("split.seed",), ("resampling.level",)],
    ),
    "shapes of predictions and names": (
        [
            Edit("{hard: level >= 2}", "{hard: §levl >= 2}"),
            Edit("among: answered}", "among: §answred}"),
            Edit(CALIBRATED, "    claim: §gp[a] < 0.8\n    evidence: §pont\n    anticipate: §maybe\n"),
            Edit(BECAUSE, BECAUSE + "    §teir: secondary\n"),
        ],
        [("levl",), ("answred",), ("unknown key `teir`", "`tier`"), ("gp",), ("pont", "`point`"), ("maybe",)],
    ),
    "a name and claims that cannot come out both ways": (
        [
            Edit("{hard: level >= 2}", "{hard: §levl >= 2}"),
            Edit(CLAIM, "claim: §gap[a] <= 2"),
        ],
        [("levl",), ("cannot fail",)],
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


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200 + "gap[a]" + ")" * 200 + " < 0.8",
        "(" * 9000 + "gap[a]" + ")" * 9000 + " < 0.8",
        "-" * 5000 + "gap[a] < 0.8",
        "not " * 2000 + "gap[a] < 0.8",
        "gap[a]" + " ** 2" * 1000 + " < 0.8",
    ],
    ids=["brackets", "many brackets", "minus signs", "negations", "powers"],
)
def test_deep_expressions_are_refused_in_their_line(tmp_path: Path, text: str) -> None:
    write(tmp_path, edited(PROTOCOL, claim(f"'{text}'"))[0])
    said = check(tmp_path)
    assert said.code == 2
    assert len(said.lines) == 1
    assert said.err.startswith("protocol.yaml:48:")
    assert "nested deeper than" in said.err


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20 + "gap[a]" + ")" * 20 + " < 0.8",
        "gap[a] < 0.8" + " and gap[a] < 0.8" * 500,
        "gap[a] < 0.1234567890123456",
        '"gap[system=a] < 0.8"',
        "gap[a] < 8e-1",
    ],
    ids=["brackets", "conjunction", "digits", "quoted", "exponent"],
)
def test_their_good_neighbours_are_accepted(tmp_path: Path, text: str) -> None:
    write(tmp_path, edited(PROTOCOL, claim(text))[0])
    assert check(tmp_path).code == 0


def cell(line: int, column: str, value: str) -> str:
    """The records with one cell replaced."""
    rows = [row.split(",") for row in RECORDS.splitlines()]
    rows[line - 1][rows[0].index(column)] = value
    return "".join(",".join(row) + "\n" for row in rows)


def row(line: int, text: str) -> str:
    rows = RECORDS.splitlines()
    rows[line - 1] = text
    return "\n".join(rows) + "\n"


HEADER = RECORDS.splitlines()[0]
TYPED = [Edit(WHERE, "  types: {conf: number, right: truth}\n" + WHERE)]
GATE_AND_METRIC = ("protocol.yaml:24:17", "protocol.yaml:31:27")


def as_text(found: str) -> list[tuple[str, tuple[str, ...]]]:
    """A column of scores that one cell has made text: told where it is read, with the cell."""
    return [
        (p, ("found a text, expected a number", f"because of `{found}` at records.csv:7"))
        for p in GATE_AND_METRIC
    ]


# name -> (records, edits of the protocol, exit code, the lines)
RECORD_FILES: dict[str, tuple[str | bytes, list[Edit], int, list[tuple[str, tuple[str, ...]]]]] = {
    "empty": ("", [], 4, [("records.csv", ("the file is empty",))]),
    "blank": ("\n\n  \n", [], 4, [("records.csv", ("the file is empty",))]),
    "header only": (HEADER + "\n", [], 4, [("records.csv", ("no records",))]),
    "header without a newline": (HEADER, [], 4, [("records.csv", ("no records",))]),
    "Latin-1": (
        RECORDS.replace("q0", "qé").encode("latin-1"),
        [],
        2,
        [("records.csv:2:4", ("not UTF-8", "0xe9"))],
    ),
    "UTF-16": (RECORDS.encode("utf-16"), [], 2, [("records.csv:1:1", ("not UTF-8", "UTF-16"))]),
    "NUL in a cell": (cell(3, "suite", "x\0y"), [], 2, [("records.csv:3", ("column suite", "NUL"))]),
    "NUL in the header": (
        RECORDS.replace("level", "le\0vel", 1),
        [],
        2,
        [("records.csv:1", ("column 5", "NUL"))],
    ),
    "NULs at the end": (RECORDS + "\0" * 99, [], 2, [("records.csv:34", ("found 1 cell, expected 8",))]),
    "short row": (row(5, "a,q1,0"), [], 2, [("records.csv:5", ("found 3 cells, expected 8",))]),
    "long row": (
        row(5, "a,q1,0,x,1,0.3,true,true,x"),
        [],
        2,
        [("records.csv:5", ("found 9 cells, expected 8",))],
    ),
    "every row long": (
        RECORDS.replace("true\n", "true,x\n"),
        [],
        2,
        [(f"records.csv:{n}", ("found 9 cells",)) for n in (2, 3)]
        + [("records.csv:4", ("and 29 more lines",))],
    ),
    "quote never closed": (
        row(5, 'a,q1,0,"x,1,0.3,true,true'),
        [],
        2,
        [("records.csv:5", ("never closed",))],
    ),
    "text after a quote": (
        row(5, 'a,q1,0,"x"y,1,0.3,true,true'),
        [],
        2,
        [("records.csv:5", ("closing quote",))],
    ),
    "quote in the header never closed": ('"' + RECORDS, [], 2, [("records.csv:1", ("never closed",))]),
    "two columns of one name": (
        RECORDS.replace("level", "suite", 1),
        [],
        2,
        [("records.csv:1", ("called `suite`",))],
    ),
    "column without a name": (
        RECORDS.replace("level", "", 1),
        [],
        2,
        [("records.csv:1", ("column 5 of 8 has no name",))],
    ),
    "semicolons": (RECORDS.replace(",", ";"), [], 2, [("records.csv:1", ("semicolons", "commas"))]),
    "tabs": (RECORDS.replace(",", "\t"), [], 2, [("records.csv:1", ("tabs", "commas"))]),
    "blank before a name": (
        RECORDS.replace("system,item", "system, item", 1),
        [],
        2,
        [("protocol.yaml:10:9", ("no unit column", "did you mean ` item`"))],
    ),
    "NaN": (
        cell(7, "conf", "NaN"),
        [],
        2,
        [("records.csv:7", ("column conf", "`NaN` is no number", "empty"))],
    ),
    "infinity": (cell(7, "conf", "-inf"), [], 2, [("records.csv:7", ("column conf", "`-inf` is no number"))]),
    "larger than any double": (
        cell(7, "conf", "1e400"),
        [],
        2,
        [("records.csv:7", ("larger than any double",))],
    ),
    "thousands of digits": (
        cell(7, "level", "9" * 5000),
        [],
        2,
        [("records.csv:7", ("larger than any double",))],
    ),
    "text among scores": (cell(7, "conf", "maybe"), [], 2, as_text("maybe")),
    "underscore in a number": (cell(7, "conf", "1_000"), [], 2, as_text("1_000")),
    "hexadecimal number": (cell(7, "conf", "0x10"), [], 2, as_text("0x10")),
    "blank before a number": (cell(7, "conf", " 5"), [], 2, as_text(" 5")),
    "decimal comma": (cell(7, "conf", '"0,5"'), [], 2, as_text("0,5")),
    "digits of another script": (cell(7, "conf", "١"), [], 2, as_text("١")),
    "truth value among numbers": (cell(7, "conf", "true"), [], 2, as_text("true")),
    "typed as number": (
        cell(7, "conf", "maybe"),
        TYPED,
        2,
        [("records.csv:7", ("found `maybe`, expected a number",))],
    ),
    "typed as truth": (
        cell(7, "right", "yes"),
        TYPED,
        2,
        [("records.csv:7", ("found `yes`, expected true or false",))],
    ),
    "long id typed as number": (
        cell(7, "conf", "9007199254740993"),
        TYPED,
        2,
        [("records.csv:7", ("expected a number that a double holds",))],
    ),
    "score above 1": (
        cell(7, "conf", "1.5"),
        [],
        2,
        [("records.csv:7", ("column conf", "1.5 lies outside [0, 1]"))],
    ),
    "score below 0": (cell(7, "conf", "-0.1"), [], 2, [("records.csv:7", ("-0.1 lies outside [0, 1]",))]),
    "whole number beyond 2^53": (
        cell(7, "level", "9007199254740993"),
        [],
        2,
        [
            (p, ("`9007199254740993` at records.csv:7", "beyond 2^53"))
            for p in ("protocol.yaml:14:27", "protocol.yaml:15:18")
        ],
    ),
    "no arm": (
        cell(7, "system", ""),
        [],
        2,
        [("records.csv:7", ("column system", "every record names its arm"))],
    ),
    "no unit": (
        cell(7, "item", ""),
        [],
        2,
        [("records.csv:7", ("column item", "every record names its unit"))],
    ),
    "no sample": (
        cell(7, "k", ""),
        [],
        2,
        [("records.csv:7", ("column k", "every record names its sample"))],
    ),
    "no arm column": (
        RECORDS.replace("system", "who", 1),
        [],
        2,
        [("protocol.yaml:9:8", ("no arm column", "known: who"))],
    ),
    "no unit column": (
        RECORDS.replace("item", "what", 1),
        [],
        2,
        [("protocol.yaml:10:9", ("no unit column",))],
    ),
    "second record": (
        RECORDS + RECORDS.splitlines()[4] + "\n",
        [],
        2,
        [("records.csv:34", ("second record of unit `q1`", "first is at records.csv:5"))],
    ),
    "second records without a sample column": (
        RECORDS,
        [Edit("  sample: k\n  samples: first\n", "")],
        2,
        [
            ("records.csv:3", ("unit `q0`", "records.csv:2", "`sample`")),
            ("records.csv:5", ("unit `q1`",)),
            ("records.csv:7", ("unit `q2`", "and 13 more rows")),
        ],
    ),
    "wrong sample column": (
        RECORDS,
        [Edit("sample: k", "sample: level")],
        2,
        [(f"records.csv:{n}", ("second record", "same sample")) for n in (3, 5, 7)],
    ),
    "samples that are not common": (
        cell(7, "k", "x"),
        [Edit("  parts: {", "  parts: {")],
        4,
        [
            (
                "protocol.yaml:7:1",
                ("no unit has a record from every arm for every sample", "`x`", "units: all"),
            )
        ],
    ),
    "no common unit": (
        RECORDS.replace("b,q", "b,r"),
        [],
        4,
        [
            (
                "protocol.yaml:7:1",
                ("no unit has a record from every arm", "`a` has 8 units", "units: separate"),
            )
        ],
    ),
    "two strata": (
        cell(7, "suite", "z"),
        [],
        2,
        [("records.csv:7", ("unit `q2` has `z` here and `x` at records.csv:6",))],
    ),
    "no stratum": (cell(7, "suite", ""), [], 2, [("records.csv:7", ("unit `q2` has an empty cell here",))]),
    "undefined where": (
        cell(7, "level", ""),
        [],
        2,
        [("records.csv:7", ("`where` is undefined", "defined(x)"))],
    ),
    "certified, not answered": (
        RECORDS.replace("true,true\n", "true,false\n", 1),
        [],
        2,
        [("records.csv:3", ("certified but not answered",))],
    ),
    "an arm called like a degenerate policy": (
        RECORDS.replace("b,", "always,"),
        [Edit(GATES, GATES + "\n  degenerate: [always]")],
        2,
        [("protocol.yaml:25:15", ("an arm is called `always`",))],
    ),
}


@pytest.mark.parametrize("name", RECORD_FILES)
def test_broken_records_are_refused_at_their_line(tmp_path: Path, name: str) -> None:
    data, edits, code, lines = RECORD_FILES[name]
    write(tmp_path, edited(PROTOCOL, edits)[0], data)
    refused(tmp_path, code, lines)


@pytest.mark.parametrize(
    ("data", "edits"),
    [
        (b"\xef\xbb\xbf" + RECORDS.replace("\n", "\r\n").encode(), []),
        (RECORDS.replace("\n", "\r"), []),
        (RECORDS.replace("\n", "\n\n"), []),
        (RECORDS.rstrip("\n"), []),
        (cell(7, "conf", "+0.5"), []),
        (cell(7, "conf", ".5"), []),
        (cell(7, "conf", "5e-1"), []),
        (cell(7, "conf", "1e-400"), []),
        (cell(7, "conf", ""), []),
        (cell(7, "conf", "1"), []),
        (RECORDS.replace(",true\n", ",1\n"), []),
        (RECORDS.replace("true", "TRUE"), []),
        (RECORDS.replace("level", "le vel", 1), [Edit("{certified: right}", "{certified: right, level: le vel}")]),
        (RECORDS.replace("b,q", "b,r"), [Edit("  sample: k\n", "  sample: k\n  units: all\n")]),
        (RECORDS, [Edit("among: answered}", "among: answered and level > 7}")]),
        (RECORDS.replace("q", "90071992547409930"), []),
        (RECORDS.replace("q", "00"), []),
    ],
    ids=[
        "BOM and CRLF", "CR", "empty lines", "no last newline", "plus sign", "no leading zero", "exponent",
        "smaller than any double", "missing score", "score of 1", "0 and 1 for truth", "TRUE", "role of a column",
        "units all", "empty among that reads an outcome", "long ids", "ids with zeros",
    ],
)  # fmt: skip
def test_good_neighbours_of_broken_records_are_accepted(
    tmp_path: Path, data: str | bytes, edits: list[Edit]
) -> None:
    write(tmp_path, edited(PROTOCOL, edits)[0], data)
    said = check(tmp_path)
    assert said.code == 0, said.err


def test_ids_are_text_and_never_meet_as_numbers(tmp_path: Path) -> None:
    ids = [
        "9007199254740992",
        "9007199254740993",
        "07",
        "7",
        "7.0",
        "1e1",
        "10",
        "+10",
    ]  # as doubles only four
    data = RECORDS
    for i, name in enumerate(ids):
        data = data.replace(f",q{i},", f",{name},")
    write(tmp_path, data=data)
    said = command("check", str(tmp_path / "protocol.yaml"), "--root", str(tmp_path), "--json")
    assert json.loads(said.out)["units"] == 8


def jsonl(line: int = 0, text: str = "", **cells: object) -> str:
    """The records as JSON Lines, one line replaced, or some of its cells."""
    names = HEADER.split(",")
    out = []
    for i, found in enumerate(RECORDS.splitlines()[1:], start=1):
        values = dict(zip(names, found.split(","), strict=True))
        typed = {n: v if n in ("system", "item", "suite") else json.loads(v) for n, v in values.items()}
        if i == line:
            typed.update(cells)
        out.append(text if i == line and text else json.dumps(typed))
    return "\n".join(out) + "\n"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (jsonl(5, '{"item": "q2"'), [("records.jsonl:5:14", ("malformed JSON",))]),
        (jsonl(5, "[1, 2]"), [("records.jsonl:5", ("a record is an object",))]),
        (jsonl(5, '{"item": 1, "item": 2}'), [("records.jsonl:5", ("`item` stands twice",))]),
        (jsonl(5, '{"conf": NaN}'), [("records.jsonl:5", ("`NaN` is no number", "null"))]),
        (jsonl(5, "[" * 100_000), [("records.jsonl:5", ("nested too deeply",))]),
        (jsonl(5, '{"a":' * 100_000), [("records.jsonl:5", ("nested too deeply",))]),
        (jsonl(5, conf=float("inf")).replace("Infinity", "1e400"), [("records.jsonl:5", ("larger than any double",))]),
        (jsonl(5, level=10**200).replace(str(10**200), "9" * 5000), [("records.jsonl:5", ("larger than any double",))]),
        (jsonl(5, item="q\0"), [("records.jsonl:5", ("column item", "NUL"))]),
        (jsonl(5, item="\ud800"), [("records.jsonl:5", ("column item", "surrogate"))]),
        (jsonl(5, item=None), [("records.jsonl:5", ("column item", "names its unit"))]),
        (jsonl(5, conf="0.5"), [(p, ("because of `0.5` at records.jsonl:5",)) for p in GATE_AND_METRIC]),
        (jsonl(5, conf=[1]), [(p, ("a list or an object at records.jsonl:5",)) for p in GATE_AND_METRIC]),
        (jsonl(5, conf=2), [("records.jsonl:5", ("outside [0, 1]",))]),
    ],
    ids=[
        "cut", "array", "duplicate key", "NaN", "deep lists", "deep objects", "1e400", "thousands of digits", "NUL",
        "surrogate", "no unit", "text among numbers", "list among numbers", "confidence of 2",
    ],
)  # fmt: skip
def test_broken_json_lines_are_refused_at_their_line(
    tmp_path: Path, data: str, lines: list[tuple[str, tuple[str, ...]]]
) -> None:
    write(tmp_path, PROTOCOL.replace("records.csv", "records.jsonl"))
    (tmp_path / "records.csv").rename(tmp_path / "records.jsonl")
    (tmp_path / "records.jsonl").write_text(jsonl())
    assert check(tmp_path).code == 0
    (tmp_path / "records.jsonl").write_text(data)
    refused(tmp_path, 2, lines)


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/etc/passwd.csv", 2, "leads out of the project"),
        ("../outside.csv", 2, "leads out of the project"),
        ('"../*.csv"', 2, "leads out of the project"),
        ('"/etc/*.csv"', 2, "leads out of the project"),
        ("linked/outside.csv", 2, "leads out of the project"),
        ('"linked/*.csv"', 2, "leads out of the project"),
        ("~/records.csv", 2, "leads out of the project"),
        ("data\\records.csv", 2, "backslash"),
        ('""', 2, "names no file"),
        ("x" * 5000 + ".csv", 2, "cannot be followed"),
        ("circle.csv", 2, "circle"),
        ("recrods.csv", 4, "did you mean `records.csv`"),
        ('"*.jsonl"', 4, "no such file"),
        ("dangling.csv", 4, "a link to what is not there"),
    ],
)
def test_record_paths_stay_inside_the_project(tmp_path: Path, path: str, code: int, words: str) -> None:
    folder, outside = tmp_path / "project", tmp_path / "elsewhere"
    outside.mkdir()
    (tmp_path / "outside.csv").write_text(RECORDS)
    (outside / "outside.csv").write_text(RECORDS)
    write(folder, edited(PROTOCOL, [Edit(FILES, f"records: {path}")])[0])
    (folder / "linked").symlink_to("../elsewhere")
    (folder / "circle.csv").symlink_to("circle.csv")
    (folder / "dangling.csv").symlink_to("nowhere.csv")
    refused(folder, code, [("protocol.yaml:8:12", (words,))])


@pytest.mark.parametrize("name", ["protocol.yaml", "records.csv"])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path, name: str, kind: str) -> None:
    write(tmp_path)
    (tmp_path / name).unlink()
    if kind == "folder":
        (tmp_path / name).mkdir()
    else:
        os.mkfifo(tmp_path / name)
        assert stat.S_ISFIFO((tmp_path / name).stat().st_mode)
    refused(tmp_path, 2, [(name, ("is a folder" if kind == "folder" else "not a regular file",))])


def test_protocols_that_are_no_protocol_are_refused(tmp_path: Path) -> None:
    for content, code, words in (
        (b"", 2, "the file is empty"),
        (b"- a\n", 2, "found a list, expected a mapping of sections"),
        (b"hello\n", 2, "found the text `hello`"),
        (b"a: 1\n" * 20_000_000, 2, "100000000 bytes are too many"),
        (b"a: " + b"[" * 100_000, 2, "nesting"),
        (b"".join(b" " * i + b"a:\n" for i in range(1200)), 2, "nested deeper than 50 levels"),
        (PROTOCOL.replace("Does a", "Doés a").encode("latin-1"), 2, "not UTF-8"),
        (PROTOCOL.encode("utf-16"), 2, "UTF-16"),
    ):
        write(tmp_path, content)
        said = check(tmp_path)
        assert said.code == code
        assert len(said.lines) == 1, said.err
        assert words in said.err
    write(tmp_path, b"\xef\xbb\xbf" + PROTOCOL.replace("\n", "\r\n").encode())
    assert check(tmp_path).code == 0
    (tmp_path / "protocol.yaml").rename(tmp_path / "protocl.yaml")
    refused(tmp_path, 4, [("protocol.yaml", ("no such file; did you mean `protocl.yaml`",))])


def test_a_million_columns_are_refused_unread(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(1_000_000))
    write(tmp_path, data=f"{names}\n{'1,' * 999_999}1\n")
    refused(tmp_path, 2, [("records.csv:1", ("1000000 columns are too many", "at most 10000"))])
    more = ",".join(f"c{i}" for i in range(2_000))
    rows = RECORDS.splitlines()
    wide = [f"{rows[0]},{more}", *(f"{row},{'1,' * 1_999}1" for row in rows[1:])]
    write(tmp_path, data="\n".join(wide) + "\n")
    assert check(tmp_path).code == 0


# -- integrity --------------------------------------------------------------------------------------------------------


def run(folder: Path) -> tuple[int, list[str]]:
    said = command("run", "--root", str(folder))
    return said.code, said.lines


def locked(folder: Path, *, and_run: bool = False) -> Path:
    write(folder)
    assert check(folder, "lock").code == 0
    if and_run:
        assert run(folder)[0] == 0
    return folder


def replace(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def test_another_lock_of_changed_content_tells_the_difference_field_by_field(tmp_path: Path) -> None:
    locked(tmp_path)
    before = contents(tmp_path / "registrations")
    replace(tmp_path / "protocol.yaml", b"wrong < 0.9", b"wrong < 0.8")
    replace(tmp_path / "protocol.yaml", b"level: 0.9", b"level: 0.8")
    said = check(tmp_path, "lock")
    assert said.code == 3
    assert "amend" in said.lines[0]
    assert [line.split("differs: ")[1] for line in said.lines[1:]] == [
        "protocol.resampling.level: 0.9 -> 0.8",
        'protocol.predictions[few-errors].claim: "all(wrong < 0.9)" -> "all(wrong < 0.8)"',
    ]
    assert contents(tmp_path / "registrations") == before
    code, lines = run(tmp_path)
    assert code == 3
    assert "resampling.level: 0.9 -> 0.8" in lines[1]
    assert not list((tmp_path / "results").rglob("ledger.json"))


def test_locking_the_same_again_changes_nothing(tmp_path: Path) -> None:
    before = contents(locked(tmp_path))
    assert check(tmp_path, "lock").code == 0
    assert contents(tmp_path) == before


@pytest.mark.parametrize("how", ["changed", "line ends", "folder", "pipe", "link", "gone"])
def test_a_run_refuses_other_records_than_registered(tmp_path: Path, how: str) -> None:
    folder = locked(tmp_path / "project")
    file = folder / "records.csv"
    data = file.read_bytes()
    file.unlink()
    if how in ("changed", "line ends"):
        file.write_bytes(
            data.replace(b"0.4", b"0.3", 1) if how == "changed" else data.replace(b"\n", b"\r\n")
        )
    elif how == "folder":
        file.mkdir()
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "link":
        (tmp_path / "records.csv").write_bytes(data)
        file.symlink_to("../records.csv")
    code, lines = run(folder)
    assert code == (4 if how == "gone" else 3)
    assert len(lines) == 1
    assert lines[0].startswith("records.csv: ")
    assert ("only the line endings differ" in lines[0]) == (how == "line ends")
    assert not list((folder / "results").rglob("ledger.json"))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": "prereg-registration/2"}', b"0.4"],
    ids=["empty", "list", "object", "bytes", "deep", "null", "newer", "number"],
)
@pytest.mark.parametrize("which", ["registration", "ledger"])
def test_a_damaged_registration_or_ledger_is_an_integrity_error(
    tmp_path: Path, which: str, content: bytes
) -> None:
    locked(tmp_path, and_run=True)
    pattern = "registrations/*/*.json" if which == "registration" else "results/*/*/ledger.json"
    path = next(tmp_path.glob(pattern))
    path.write_bytes(content)
    for said in (
        command("run", "--root", str(tmp_path)),
        command("show", "control", "--root", str(tmp_path)),
    ):
        assert said.code == 3, said.err
        assert len(said.lines) == 1
        assert said.lines[0].startswith(str(path.relative_to(tmp_path)))
    assert path.read_bytes() == content


def test_a_tampered_number_is_an_integrity_error(tmp_path: Path) -> None:
    locked(tmp_path, and_run=True)
    table = next(tmp_path.glob("results/*/*/policies.csv"))
    replace(table, b"0", b"1")
    assert run(tmp_path)[0] == 3
    assert command("show", "control", "--root", str(tmp_path)).code == 3
    replace(next(tmp_path.glob("registrations/*/*.json")), b'"seed": 5', b'"seed": 6')
    code, lines = run(tmp_path)
    assert code == 3
    assert "`content` was changed" in lines[0]


def test_missing_is_never_success(tmp_path: Path) -> None:
    write(tmp_path)
    assert run(tmp_path)[0] == 4
    locked(tmp_path)
    for name, words in (
        ("contrl", "did you mean `control`"),
        ("x", "registered: control"),
        ("../control", ""),
        ("x" * 5000, ""),
    ):
        said = command("run", name, "--root", str(tmp_path))
        assert said.code == 4
        assert len(said.lines) == 1
        assert words in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--nope"], ["chek", "protocol.yaml"], ["check"], ["check", "a.yaml", "b.yaml"], ["run", "--jobs", "0"],
        ["run", "--jobs", "x"], ["run", "--fail-on", "hold"], ["check", "\0"], ["check", "protocol.yaml", "--root", "\0"],
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(arguments: list[str]) -> None:
    said = command(*arguments)
    assert said.code == 2
    assert len(said.lines) == 1
    tree = json.loads(command(*arguments, "--json").out)
    assert tree["exit_code"] == 2
    assert len(tree["problems"]) == 1


def test_errors_in_json_are_one_document_with_the_same_problems(tmp_path: Path) -> None:
    edits, _ = PROTOCOLS["several names"]
    write(tmp_path, edited(PROTOCOL, edits)[0])
    said = command("check", str(tmp_path / "protocol.yaml"), "--root", str(tmp_path), "--json")
    tree = json.loads(said.out)
    assert tree["exit_code"] == said.code == 2
    lines = [f"{p['file']}:{p['line']}:{p['column']}: {p['message']}" for p in tree["problems"]]
    assert lines == check(tmp_path).lines


def test_a_real_process_ends_with_the_same_code_and_lines(tmp_path: Path) -> None:
    edits, _ = PROTOCOLS["several names"]
    write(tmp_path, edited(PROTOCOL, edits)[0])
    for arguments, code in (
        (["check", "protocol.yaml"], 2),
        (["run"], 4),
        (["check", "protocol.yaml", "--nope"], 2),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "prereg", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code
        assert not done.stdout
        assert "Traceback" not in done.stderr
        if code == 2 and len(arguments) == 2:
            assert done.stderr.splitlines() == check(tmp_path).lines


# -- fuzzing: whatever is written, the answer is a line and a code, never a traceback ---------------------------------

JUNK = ["", ":", " ", "\n", "§", "{", "}", "[", "]", "'", '"', "#", "&a", "*a", "!!x", "- ", "\t", "\0", "é", "1e999",
        "null", "true", "0", "-1", "and", "not ", "(", ")", "<", "==", "gap", "wrong", "support", "point(", "all(",
        "gate", "system=a", ",", "~", "%", "|", ">", "😀", "0x1", "2 ** 9"]  # fmt: skip


def survives(folder: Path) -> None:
    said = check(folder)
    assert said.code in (0, 2, 4), said.err
    assert "Traceback" not in said.err
    if said.code:
        assert 1 <= len(said.lines) <= 120
        assert in_order(said)


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    for _ in range(draw(st.integers(1, 4))):
        lines = text.split("\n")
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "twice", "swap", "insert", "cut", "indent"]))
        if kind == "drop":
            del lines[at]
        elif kind == "twice":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "indent":
            lines[at] = " " * draw(st.integers(0, 6)) + lines[at].lstrip()
        else:
            begin = draw(st.integers(0, len(lines[at])))
            end = begin if kind == "insert" else draw(st.integers(begin, len(lines[at])))
            lines[at] = lines[at][:begin] + draw(st.sampled_from(JUNK)) + lines[at][end:]
        text = "\n".join(lines) or "\n"
    return text


@st.composite
def scrambled(draw: st.DrawFn, data: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = min(len(data), begin + draw(st.integers(0, 12)))
        new = draw(st.one_of(st.binary(max_size=6), st.sampled_from([x.encode() for x in JUNK])))
        data = data[:begin] + new + data[end:]
    return data


def fuzz_protocol(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), text)
        survives(Path(folder))


def fuzz_csv(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), data=data)
        survives(Path(folder))


def fuzz_jsonl(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), PROTOCOL.replace("records.csv", "records.jsonl"))
        (Path(folder) / "records.jsonl").write_bytes(data)
        survives(Path(folder))


FUZZERS = {
    "protocol": (fuzz_protocol, mutated(PROTOCOL)),
    "csv": (fuzz_csv, scrambled(RECORDS.encode())),
    "jsonl": (fuzz_jsonl, scrambled(jsonl().encode())),
}


@pytest.mark.parametrize("what", FUZZERS)
def test_random_damage_is_told_in_lines(what: str) -> None:
    body, inputs = FUZZERS[what]
    settings(max_examples=80, deadline=None, derandomize=True, database=None)(given(inputs)(body))()


@pytest.mark.slow
@pytest.mark.parametrize("what", FUZZERS)
def test_much_random_damage_is_told_in_lines(what: str) -> None:
    body, inputs = FUZZERS[what]
    settings(max_examples=4000, deadline=None, database=None)(given(inputs)(body))()


def test_lets_that_double_each_other_are_bounded(tmp_path: Path) -> None:
    lets = "".join(f"  d{i}: d{i - 1} + d{i - 1}\n" for i in range(1, 16))
    text, _ = edited(PROTOCOL, [Edit("let:\n", f"let:\n  d0: gap[a]\n{lets}")])
    write(tmp_path, text)
    found = check(tmp_path)
    assert found.code == 2
    assert "written out, this holds more than 2000 names of `let`" in found.lines[0]
