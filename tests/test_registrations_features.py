"""Reduced samples, coverage gates, exclusion, outcomes, variants, `each`, separate units: each alone, on small records."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from math import ceil

import pytest

from prereg.cli.app import execute
from prereg.outcomes import compile_outcome, headline, uncovered
from prereg.resolve.expand import filled
from registrations import judged, problems, warned

STUDY = """\
prereg: 1
id: study
title: Four runs over forty items
data: {records: records.csv, arm: run, unit: item}
metrics:
  right: {rate: correct}
  broken: {rate: broken}
  kept: {rate: answered}
resampling: {resamples: 200, seed: 0}
predictions:
  ahead: {claim: "right[d] > right[a]"}
"""
HEAD = STUDY.partition("metrics:")[0]


def runs():
    """Of 40 items a, b, c, d get 10, 20, 25, 35 right, better containing worse; b breaks on 12; scores 0 to 0.9."""
    for run, right in zip("abcd", (10, 20, 25, 35), strict=True):
        for i in range(40):
            yield {
                "run": run, "item": f"i{i:02}", "half": "uv"[i % 2], "score": i % 10 / 10, "correct": i < right,
                "broken": run == "b" and i % 10 < 3, "answered": True, "weak": i < 10, "block": f"k{i // 4}",
            }  # fmt: skip


def study(*lines, metrics="", predictions=""):
    text = STUDY.replace("resampling:", metrics + "resampling:", 1)
    return text + predictions + "".join(line + "\n" for line in lines)


# -- repeated answers as one value -------------------------------------------------------------------------

REDUCED = """\
prereg: 1
id: reduced
title: Repeated answers as one value a unit
data: {records: records.csv, arm: run, unit: item, sample: k, samples: %s, units: all, types: {ok: truth, score: number, word: text}}
metrics:
  seen:    {count: true}
  ok_n:    {count: defined(ok)}
  ok_sum:  {sum: "otherwise(if(ok, 1, 0), 0)"}
  score_n: {count: defined(score)}
  score_s: {sum: "otherwise(score, 0)"}
  word_n:  {count: defined(word)}
  word_x:  {count: "defined(word) and word == 'x'"}
predictions:
  any: {claim: max(seen) > 0, evidence: point}
"""


def votes(rng):
    """One to four samples of 25 items in two runs, a fifth of the cells missing, ties on purpose."""
    for run in "pq":
        for i in range(25):
            for k in rng.sample(range(5), rng.randint(1, 4)):
                cell = {
                    "ok": rng.choice(["true", "false"]),
                    "score": rng.choice(["0.25", "0.5", "0.75"]),
                    "word": rng.choice("xxy"),
                }
                yield {
                    "run": run,
                    "item": f"i{i:02}",
                    "k": k,
                    **{c: "" if rng.random() < 0.2 else v for c, v in cell.items()},
                }


def slowly(how, column, cells):
    """One value of the cells of a unit, None where it is missing."""
    present = [c for c in cells if c != ""]
    if how == "majority":
        ranked = Counter(present).most_common()
        return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None
    numbers = {"true": Fraction(1), "false": Fraction(0)}
    if how == "mean" and column != "word":
        values = [numbers.get(c) if column == "ok" else Fraction(c) for c in present]
        return sum(values) / len(values) if len(present) == len(cells) else None
    if how in ("any_true", "all_true") and column == "ok":
        decisive = "true" if how == "any_true" else "false"
        if decisive in present:
            return decisive
        return None if len(present) < len(cells) else {"true": "false", "false": "true"}[decisive]
    return cells[0] if len(set(cells)) == 1 and cells[0] != "" else None


@pytest.mark.parametrize("how", ["majority", "mean", "any_true", "all_true"])
@pytest.mark.parametrize("seed", range(3))
def test_reduced_samples_against_a_slow_computation(tmp_path, how, seed):
    rows = list(votes(random.Random(seed)))
    protocol = REDUCED % how
    if how == "mean":  # the mean of truth values is a number
        protocol = protocol.replace("if(ok, 1, 0)", "ok")
    found = judged(tmp_path, protocol, rows)
    for run in "pq":
        units = {}
        for r in sorted(rows, key=lambda r: r["k"]):
            if r["run"] == run:
                units.setdefault(r["item"], []).append(r)
        value = {
            c: [slowly(how, c, [r[c] for r in samples]) for samples in units.values()]
            for c in ("ok", "score", "word")
        }
        ok = [Fraction(v == "true") if isinstance(v, str) else v for v in value["ok"] if v is not None]
        scores = [Fraction(v) for v in value["score"] if v is not None]
        expected = {
            "seen": len(units), "ok_n": len(ok), "ok_sum": sum(ok), "score_n": len(scores), "score_s": sum(scores),
            "word_n": sum(v is not None for v in value["word"]), "word_x": value["word"].count("x"),
        }  # fmt: skip
        for metric, want in expected.items():
            assert found.value(metric, run=run) == pytest.approx(float(want), abs=1e-9), (metric, run)


def test_a_tied_vote_is_missing_and_leaves_the_metric_undefined(tmp_path):
    rows = [{"run": "p", "item": "i", "k": k, "ok": k == 0} for k in (0, 1)]
    rows += [{"run": "p", "item": "j", "k": k, "ok": True} for k in (0, 1)]
    protocol = HEAD.replace("unit: item", "unit: item, sample: k, samples: majority") + (
        "metrics:\n  all_votes: {rate: ok}\n  clear_votes: {rate: ok, among: defined(ok)}\n"
        "predictions:\n  p: {claim: 'all_votes[p] > 0.4', evidence: point, anticipate: failed}\n"
        "  q: {claim: 'clear_votes[p] > 0.4', evidence: point}\n"
    )
    found = judged(tmp_path, protocol, rows)
    assert found.verdicts == {"p": "failed (undefined)", "q": "held"}
    assert found.rows("all_votes")[0]["reason"] == "missing"


@pytest.mark.parametrize(("types", "reason"), [("", ""), ("types: {s: number}, ", "missing")])
def test_zeros_and_ones_are_truth_values_unless_declared_numbers_by_hand(tmp_path, types, reason):
    rows = [{"run": "p", "item": "i", "k": k, "s": k} for k in (0, 1)]
    rows += [{"run": "q", "item": "i", "k": k, "s": 1} for k in (0, 1)]
    protocol = HEAD.replace("unit: item", f"unit: item, {types}sample: k, samples: any_true") + (
        "metrics: {high: {mean: s}}\npredictions: {p: {claim: 'high[q] > 0.5', evidence: point}}\n"
    )
    found = judged(tmp_path, protocol, rows)
    assert [row["reason"] for row in found.rows("high")] == [reason, ""]
    assert found.value("high", run="q") == 1
    if not reason:
        assert found.value("high", run="p") == 1  # 0 or 1


def test_means_of_answers_are_the_decimals_they_are_by_hand(tmp_path):
    # one after the other 0.7, 0.1 and 0.1 add up to 0.8999999999999999; the long ones cancel to 0.1
    answers = {"i": ("0.7", "0.1", "0.1"), "j": ("1234567.1234567891", "-1234567.1234567891", "0.9")}
    rows = [
        {"run": "p", "item": i, "k": k, "s": s, "answered": True}
        for i, three in answers.items()
        for k, s in enumerate(three)
    ]
    protocol = HEAD.replace("unit: item", "unit: item, sample: k, samples: mean") + (
        "policies: {gate: {score: s, at_least: [0.3]}}\n"
        "metrics: {kept: {sum: answered}, exact: {count: s == 0.3}}\n"
        "predictions: {p: {claim: 'kept[p, 0.3] == 2 and exact[p] == 2', evidence: point}}\n"
    )
    assert judged(tmp_path, protocol, rows).verdicts == {"p": "held"}


def test_a_gate_withdraws_the_reduced_answer(tmp_path):
    # scores 0.2, 0.4, 0.9: their mean is 0.5; one of the three samples alone would pass 0.6
    rows = [
        {"run": "p", "item": f"i{i}", "k": k, "s": s, "answered": True}
        for i in range(4)
        for k, s in enumerate((0.2, 0.4, 0.9))
    ]
    protocol = HEAD.replace("unit: item", "unit: item, sample: k, samples: mean") + (
        "policies: {gate: {score: s, at_least: [0.5, 0.6]}}\nmetrics: {kept: {mean: answered}}\n"
        "predictions: {p: {claim: 'kept[p, 0.5] == 1 and kept[p, 0.6] == 0', evidence: point}}\n"
    )
    assert judged(tmp_path, protocol, rows).verdicts == {"p": "held"}


def test_degenerate_policies_of_mean_answers(tmp_path):
    rows = [
        {"run": "p", "item": f"i{i}", "k": k, "s": 0.9, "answered": k < 1} for i in range(4) for k in range(4)
    ]
    protocol = HEAD.replace("unit: item", "unit: item, sample: k, samples: mean") + (
        "policies: {degenerate: [always, never], gate: {score: s, at_least: [none, 0.95]}}\n"
        "metrics: {kept: {mean: answered}, left: {mean: 1 - answered}}\n"
        "predictions: {p: {claim: 'kept[p, none] == 0.25 and kept[p, 0.95] == 0', evidence: point},\n"
        "  q: {claim: 'kept[always] == 1 and kept[never] == 0 and left[never] == 1', evidence: point}}\n"
    )
    assert judged(tmp_path, protocol, rows).verdicts == {"p": "held", "q": "held"}


# -- gates by coverage -------------------------------------------------------------------------------------


def covered(scores, share):
    """The smallest prefix of whole tie blocks with that share of the rows, missing scores last; as a slow reader would."""
    ranked = sorted(scores, key=lambda s: (s is None, -(s or 0)))
    take = ceil(Fraction(share) * len(ranked))
    last = ranked[take - 1]
    return sum(1 for s in scores if last is None or (s is not None and s >= last))


@pytest.mark.parametrize("seed", range(4))
def test_gate_by_coverage_against_a_slow_computation(tmp_path, seed):
    rng = random.Random(seed)
    rows = [
        {
            "run": run,
            "item": f"i{i:02}",
            "half": "uv"[i % 2],
            "answered": True,
            "score": "" if rng.random() < 0.2 else rng.randint(0, 4) / 4,
        }
        for run in "pq"
        for i in range(30)
    ]
    protocol = HEAD + (
        "split: {column: half}\npolicies: {gate: {score: score, coverage: [none, 0.2, 0.5, 0.85, 1]}}\n"
        "metrics: {kept_u: {rate: answered, part: u}, kept_v: {rate: answered, part: v}}\n"
        "predictions: {p: {claim: 'min(kept_u[gate=0.5]) >= 0.5', evidence: point}}\n"
    )
    found = judged(tmp_path, protocol, rows)
    assert found.verdicts == {"p": "held"}
    for run in "pq":
        for half in "uv":
            scores = [
                None if r["score"] == "" else r["score"] for r in rows if (r["run"], r["half"]) == (run, half)
            ]
            for share in ("0.2", "0.5", "0.85", "1"):
                want = covered(scores, share) / len(scores)
                assert found.value(f"kept_{half}", run=run, gate=share) == pytest.approx(want)
                assert found.value(f"achieved coverage ({half})", run=run, gate=share) == pytest.approx(want)
            assert found.value(f"kept_{half}", run=run, gate="none") == 1


def test_several_gates_side_by_side(tmp_path):
    gates = (
        "policies:\n  gate:\n    - {score: score, coverage: [0.5]}\n    - {score: 1 - score, at_least: [0.5]}"
    )
    predictions = (
        "  halves: {claim: 'kept[run=a, score=score, gate=0.5] == 0.5 and kept[run=a, score=\"1 - score\", gate=0.5] == 0.6', evidence: point}\n"
        "  by-score: {claim: 'max(kept, over=[run, gate])[\"1 - score\"] > max(kept[score=score])', evidence: point}\n"
    )
    predictions = predictions.splitlines(keepends=True)[0]
    found = judged(tmp_path, study(gates, predictions=predictions), runs())
    assert found.verdicts["halves"] == "held"  # scores 0.5 and up are 20 of 40; 0.5 and below are 24
    assert {r["score"] for r in found.rows("kept")} == {"score", "1 - score"}


# -- exclusion ---------------------------------------------------------------------------------------------


def test_excluded_policies_are_in_no_vector(tmp_path):
    predictions = """\
  not-counted: {claim: mean(right) > 0.4}
  none-left-out: {claim: all(right > 0.1)}
  by-name: {claim: "right[b] > 0.1", anticipate: failed}
  undefined-by-name: {claim: "undefined(right[b]) and count(defined(right)) == 3", evidence: point}
"""
    found = judged(tmp_path, study("policies: {exclude: broken > 0.2}", predictions=predictions), runs())
    assert found.content["excluded"] == [{"run": "b"}]
    assert found.verdicts == {
        "ahead": "held", "not-counted": "held", "none-left-out": "held", "by-name": "failed (undefined)",
        "undefined-by-name": "held",
    }  # fmt: skip
    mean = found.entries["not-counted"]
    assert (mean["n"], mean["n_undefined"]) == (3, 0)
    assert mean["left"] == pytest.approx((10 + 25 + 35) / 120)
    assert len(found.entries["none-left-out"]["legs"]) == 3
    for metric in ("right", "broken", "kept"):
        (row,) = found.rows(metric, run="b")
        assert (row["value"], row["reason"]) == ("", "excluded")
        assert [r["run"] for r in found.rows(metric)] == list("abcd")


def test_a_metric_without_the_factor_of_the_exclusion_stays(tmp_path):
    gates = "policies:\n  gate: {score: score, at_least: [none, 0.5, 0.9]}\n  exclude: kept < 0.2 or (right == 0.5 and kept < 1)"
    metrics = "  best: {value: 'max(kept, over=gate)'}\n  twice: {value: 2 * kept}\n"
    predictions = "  two-gates: {claim: 'count(kept > 0) == 7 and count(twice > 0) == 7 and count(right > 0) == 4', evidence: point}\n"
    gates = gates.replace(" or (right == 0.5 and kept < 1)", "")
    predictions = predictions.replace("7", "8")
    found = judged(tmp_path, study(gates, metrics=metrics, predictions=predictions), runs())
    # 0.9 keeps 4 of 40 and is excluded for every run; `right` does not depend on the gate and keeps its four values
    assert found.verdicts["two-gates"] == "held"
    assert {r["gate"] for r in found.rows("twice") if r["reason"] == "excluded"} == {"0.9"}
    assert not [r for r in found.rows("right") + found.rows("best") if r["reason"]]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sqrt(right - 0.3) > 0", "undefined for a: say with defined(x) what that counts as"),
        ("right >= 0", "every policy is excluded"),
        ("max(right) > 0.5", "is one value: it would exclude all policies or none"),
        ("right", "is true or false for each policy"),
        ("rihgt > 0.5", "unknown metric `rihgt`; did you mean `right`?"),
    ],
)
def test_condition_that_can_exclude_nothing_clearly_is_refused(tmp_path, condition, message):
    (told,) = problems(tmp_path, study(f"policies: {{exclude: {condition}}}"), runs())
    assert told.startswith("protocol.yaml:12:21: ")
    assert message in told


def test_an_undefined_condition_may_say_what_it_counts_as(tmp_path):
    found = judged(tmp_path, study('policies: {exclude: "undefined(sqrt(right - 0.3))"}'), runs())
    assert found.content["excluded"] == [{"run": "a"}]
    assert found.verdicts == {"ahead": "failed (undefined)"}


# -- outcomes ----------------------------------------------------------------------------------------------

IDS = ["a", "b", "c-d"]


def told(rules, **verdicts):
    compiled = [compile_outcome(when, then, IDS) for when, then in rules]
    facts = {name.replace("_", "-"): (v, v != "held") for name, v in verdicts.items()}
    return headline(compiled, facts)


def test_the_first_outcome_that_applies_is_the_headline():
    rules = [
        ("held(a, b)", "both"),
        ("held(a) or held(b)", "one"),
        ('falsified("c-d")', "worse"),
        ("not surprise(a)", "?"),
    ]
    assert told(rules, a="held", b="held", c_d="falsified") == "both"
    assert told(rules, a="failed", b="held", c_d="falsified") == "one"
    assert told(rules, a="failed", b="failed", c_d="falsified") == "worse"
    assert told(rules, a="failed", b="failed", c_d="held") is None


def test_outcomes_may_count_verdicts():
    rules = [
        ("held(a) + held(b) + held('c-d') >= 2", "most"),
        ("falsified(a) == falsified(b)", "alike"),
        ("true", "else"),
    ]
    assert told(rules, a="held", b="failed", c_d="held") == "most"
    assert told(rules, a="held", b="failed", c_d="failed") == "alike"
    assert told(rules, a="held", b="falsified", c_d="failed") == "else"


@pytest.mark.parametrize(
    ("rules", "pattern"),
    [
        (["held(a)", "failed(a)"], {"a": "falsified"}),
        (["held(a) or failed(a) or falsified(a)"], None),
        (["held(a)", "not held(a)"], None),
        (["held(a)", "surprise(a)"], {"a": "failed"}),  # where it was anticipated
    ],
)
def test_patterns_that_no_outcome_covers(rules, pattern):
    assert uncovered([compile_outcome(rule, "x", IDS) for rule in rules]) == pattern


def test_an_outcome_names_a_prediction_with_each_as_a_whole():
    rule = compile_outcome(
        "held(wins) and falsified(wins, other)", "x", ["wins[old]", "wins[new]", "winsome", "other"]
    )
    assert rule.reads == ("wins[old]", "wins[new]", "other")
    some = compile_outcome("held(wins)", "all", ["wins[old]", "wins[new]"])
    facts = {"wins[old]": ("held", False), "wins[new]": ("failed", False)}
    assert headline([some], facts) is None
    assert headline([some], facts | {"wins[new]": ("held", False)}) == "all"


def outcomes(*rules):
    return "outcomes:\n" + "".join(f"  - {{when: '{when}', then: {then}}}\n" for when, then in rules)


def test_uncovered_verdicts_are_warned_of_and_an_uncovered_run_has_no_headline(tmp_path):
    protocol = study() + outcomes(("falsified(ahead)", "worse"))
    assert warned(tmp_path, protocol, runs()) == [
        "protocol.yaml:13:3: warning: no outcome covers: ahead held"
    ]
    assert judged(tmp_path, protocol, runs()).headline is None


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ("held(ahaed)", "unknown prediction `ahaed`; did you mean `ahead`?"),
        ("hold(ahead)", "unknown function `hold`; did you mean `held`?"),
        ("held(ahead) + 1", "a condition is true or false"),
        ("held()", "takes ids of predictions"),
        ("right > 0", "a condition is made of held(id), failed(id), falsified(id) and surprise(id), with"),
    ],
)
def test_condition_of_an_outcome_that_cannot_be_read(tmp_path, when, message):
    found = problems(tmp_path, study() + outcomes(("held(ahead)", "yes"), (when, "no")), runs())
    (told,) = found
    assert message in told
    assert told.startswith("protocol.yaml:14:")


def test_a_gate_that_is_not_held_voids_the_study(tmp_path):
    gate = "  sane: {claim: max(broken) < 0.1, evidence: point, gate: true}\n"
    found = judged(tmp_path, study(predictions=gate) + outcomes(("true", "done")), runs())
    assert found.headline == "void"
    assert found.verdicts == {"ahead": "failed (not_applicable)", "sane": "falsified"}


# -- variants ----------------------------------------------------------------------------------------------


def test_variants_of_everything_that_may_vary(tmp_path):
    rows = [{**r, "k": k, "correct": r["correct"] and k == 0} for r in runs() for k in (0, 1, 2)]
    protocol = (
        study().replace("unit: item", "unit: item, sample: k, samples: first")
        + """\
  spread: {claim: gap > 0.5, evidence: point, anticipate: open}
let: {gap: max(right) - min(right)}
variants:
  votes:   {samples: any_true}
  strict:  {samples: all_true}
  strong:  {where: not weak}
  lenient: {metrics: {right: {rate: correct or weak}}}
  middle:  {let: {gap: "right[c] - right[b]"}}
  reliable: {exclude: broken > 0.2 or right < 0.3}
"""
    )
    found = judged(tmp_path, protocol, rows)
    # right: 10, 20, 25, 35 of 40; without the weak ten: 0, 10, 15, 25 of 30
    assert found.verdicts == {"ahead": "held", "spread": "held"}
    assert found.variant("votes") == {"ahead": "held", "spread": "held"}
    assert found.variant("strict") == {
        "ahead": "failed (contrary)",
        "spread": "falsified",
    }  # nobody is right thrice
    assert found.variant("strong") == {"ahead": "held", "spread": "held"}
    assert found.variant("lenient") == {"ahead": "held", "spread": "held"}
    assert found.variant("middle") == {"ahead": "held", "spread": "falsified"}
    assert found.variant("reliable") == {
        "ahead": "failed (undefined)",
        "spread": "falsified",
    }  # c and d: 10 of 40
    by_name = {v["name"]: {p["id"]: p for p in v["predictions"]} for v in found.content["variants"]}
    assert by_name["strong"]["spread"]["left"] == pytest.approx(25 / 30)
    assert by_name["middle"]["spread"]["left"] == pytest.approx(5 / 40)
    assert by_name["lenient"]["ahead"]["point"] == found.entries["ahead"]["point"]


@pytest.mark.parametrize(
    ("variant", "place", "message"),
    [
        ("{metrics: {rihgt: {rate: correct}}}", "13:17", "`metrics` has no `rihgt`; did you mean `right`?"),
        ("{let: {gap: '1'}}", "13:13", "`let` has no `gap`"),
        ("{where: not waek}", "13:18", "unknown column `waek`; did you mean `weak`?"),
        ("{metrics: {right: {rate: corect}}}", "13:31", "unknown column `corect`; did you mean `correct`?"),
        ("{exclude: brokn > 0}", "13:16", "unknown metric `brokn`"),
        ("{samples: majority}", "13:", "there is no column of repeated answers"),
        ("{}", "13:", "a variant overrides"),
        ("{unit: item}", "13:7", "unknown key `unit`"),
        ("{where: weak and not weak}", "13:", "`where` keeps no record at all"),
    ],
)
def test_problem_of_a_variant_is_told_where_it_stands(tmp_path, variant, place, message):
    from prereg.errors import MissingError

    try:
        found = problems(tmp_path, study(f"variants:\n  v: {variant}"), runs())
    except MissingError as error:
        found = [str(p) for p in error.problems]
    assert len(found) == 1, found
    assert message in found[0]
    assert found[0].startswith(f"protocol.yaml:{place}"), found


def test_agree_names_a_variant(tmp_path):
    text = study("variants: {strong: {where: not weak}}").replace('right[a]"}', 'right[a]", agree: stong}')
    (told,) = problems(tmp_path, text, runs())
    assert "unknown variant `stong`; did you mean `strong`?" in told
    assert told.startswith("protocol.yaml:11:")


# -- one prediction for each value -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("m[$run] > $t", {"run": "knn", "t": "0.5"}, "m[knn] > 0.5"),
        ("m[$run]", {"run": "gpt-4o"}, 'm["gpt-4o"]'),
        ("m[$run]", {"run": "and"}, 'm["and"]'),
        ("m[$run]", {"run": 'a "b"\\c'}, 'm["a \\"b\\"\\\\c"]'),
        ('m["$run"] == "is $run"', {"run": 'x"y'}, 'm["x\\"y"] == "is x\\"y"'),
        ("m['$run']", {"run": "it's"}, "m['it\\'s']"),
        ("m[$run, $run_b]", {"run": "a", "run_b": "b"}, "m[a, b]"),
        ("m[$gate]", {"gate": "-1"}, 'm["-1"]'),
        ("m[gate=$gate]", {"gate": "none"}, "m[gate=none]"),
    ],
)
def test_values_in_place_of_names(text, values, expected):
    assert filled(text, values) == expected


def each(lines):
    return study(predictions="  p:\n" + "".join(f"    {line}\n" for line in lines))


def test_each_names_and_families(tmp_path):
    rows = [{**r, "run": {"a": "a-1", "b": 'b "x"', "c": "not", "d": "d"}[r["run"]]} for r in runs()]
    protocol = (
        each(["each: {run: [a-1, 'b \"x\"', not], bar: [0.1, 0.2]}", "claim: right[$run] > $bar"])
        .replace('"right[d] > right[a]"', "'right[d] > right[\"a-1\"]'")
        .replace("resamples: 200", "resamples: 400")
    )
    found = judged(tmp_path, protocol, rows)
    assert list(found.verdicts)[1:] == [
        "p[a-1, 0.1]", "p[a-1, 0.2]", 'p[b "x", 0.1]', 'p[b "x", 0.2]', "p[not, 0.1]", "p[not, 0.2]",
    ]  # fmt: skip
    assert found.entries['p[b "x", 0.2]']["claim"] == 'right["b \\"x\\""] > 0.2'
    assert {e.get("family") for name, e in found.entries.items()} == {None, "p"}
    assert found.entries["p[a-1, 0.2]"]["left"] == 0.25


@pytest.mark.parametrize(
    ("lines", "families"),
    [
        (["each: run", "claim: right[$run] > 0.1"], {"p": 4}),
        (["each: run", "claim: right[$run] > 0.1", "family: none"], {None: 4}),
        (["each: run", "claim: right[$run] > 0.1", "family: f"], {"f": 4}),
        (["each: run", "claim: right[$run] > 0.1", "evidence: exact"], {"p": 4}),
        (["each: run", "claim: right[$run] > 0.1", "evidence: point"], {None: 4}),
        (
            ["each: {run: [a, b], bar: [0.1, 0.2]}", "claim: right[$run] > $bar", "family: of_$run"],
            {"of_a": 2, "of_b": 2},
        ),
    ],
)
def test_family_of_each(tmp_path, lines, families):
    found = judged(tmp_path, each(lines), runs())
    entries = [e for name, e in found.entries.items() if name.startswith("p[")]
    assert Counter(e.get("family") for e in entries) == families


def test_given_all_of_each(tmp_path):
    lines = ["each: {run: [b, c, d]}", "claim: right[$run] > right[a]", "evidence: point"]
    after = "  then: {claim: 'right[d] > 0.5', given: p, evidence: point}\n"
    found = judged(tmp_path / "all", each(lines) + after, runs())
    assert found.verdicts["then"] == "held"
    lines[0] = "each: {run: [b, a, d]}"
    found = judged(tmp_path / "one-not", each(lines) + after, runs())
    assert (found.verdicts["p[a]"], found.verdicts["then"]) == ("falsified", "failed (not_applicable)")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["each: runs", "claim: right[$runs] > 0.1"], "13:11: unknown factor `runs`; did you mean `run`?"),
        (["each: {run: [a, a]}", "claim: right[$run] > 0.1"], "`run`: a value stands twice"),
        (["each: {run: [a, b]}", "claim: right[a] > 0.1"], "13:11: `$run` stands nowhere in the claim"),
        (["each: {run: [a, b]}", "claim: right[$rnu] > 0.1"], "`each` does not say what `$rnu` stands for"),
        (["claim: right[$run] > 0.1"], "`each` does not say what `$run` stands for"),
        (["claim: right[a] > 0.1", "family: none"], "`none` only opts out of the family of `each`"),
        (["claim: right[a] > 0.1", "family: $run"], "`each` does not say what `$run` stands for"),
        (
            ["each: {x: ['a', 'a, b'], run: ['b, a', 'a']}", "claim: right[$run] > 0 and $x > 0"],
            "two combinations of values read the same",
        ),
        (["each: {run: [a, e]}", "claim: right[$run] > 0.1"], "no policy of `right` is called `e`"),
        (["each: {bar: [0.1, 0.2]}", "claim: mean(right) > 0.1 + $bar and right > $bar"], "reduce"),
    ],
)
def test_each_that_cannot_be_written_out(tmp_path, lines, message):
    found = problems(tmp_path, each(lines), runs())
    assert any(message in problem for problem in found), found
    assert len(set(found)) == len(found)  # what several members share is told once


# -- units -------------------------------------------------------------------------------------------------


def test_a_cluster_across_strata_is_an_error(tmp_path):
    text = study().replace("seed: 0}", "seed: 0, cluster: block, stratify: half}")
    found = problems(tmp_path, text, runs())
    assert found == ["protocol.yaml:9:48: cluster `k0` lies in two strata, `u` and `v`"]


SEPARATE = STUDY.replace("unit: item}", "unit: item, units: separate}").replace(
    "predictions:", "reports: {right: right, gap: 'right[d] - right[a]'}\npredictions:"
)


def test_separate_arms_are_resampled_within_the_arm(tmp_path):
    mine = [r for r in runs() if r["run"] in "ad"]
    both = judged(tmp_path / "ad", SEPARATE, mine)
    # other arms, and units that the other arm does not have, change nothing of an arm's own draws
    renamed = [{**r, "item": "x" + r["item"]} if r["run"] != "a" else r for r in runs()]
    more = judged(tmp_path / "abcd", SEPARATE, renamed)
    assert both.report("right")[("a",)] == more.report("right")[("a",)]
    assert both.content["data"]["arms"] == [
        {"arm": {"run": run}, "units": 40, "dropped": 0, "dropped_share": 0} for run in "ad"
    ]
    # as the same 40 items, d is right where a is: differences vary less than those of independent groups
    paired = judged(tmp_path / "paired", SEPARATE.replace(", units: separate", ""), mine)
    (point, apart), (same, together) = both.report("gap")[()], paired.report("gap")[()]
    assert point == same == 25 / 40
    assert apart[1] - apart[0] > together[1] - together[0]
    assert both.entries["ahead"]["n"] == [40, 40]


def test_exact_pairs_need_the_same_units(tmp_path):
    text = SEPARATE.replace('right[a]"}', 'right[a]", evidence: exact}')
    (told,) = problems(tmp_path, text, runs())
    assert "two rates over the same units" in told


CROSSED = """\
prereg: 1
id: crossed
title: Two arms that answer different units of the same clusters
data: {records: records.csv, arm: arm, unit: unit}
metrics: {acc: {rate: ok, among: answered}}
resampling: {resamples: 200, seed: 1, cluster: clu}
predictions:
  ahead: {claim: "acc[x] > acc[y]", evidence: exact}
"""


def crossed():
    """x answers the first unit of each of 12 clusters and is right, y the second and is wrong."""
    shapes = [("x", 0, 1, 1), ("y", 0, 0, 0), ("x", 1, 0, 0), ("y", 1, 0, 1)]
    return [
        {"arm": arm, "unit": 2 * c + i, "clu": c, "ok": ok, "answered": answered}
        for c in range(12)
        for arm, i, ok, answered in shapes
    ]


@pytest.mark.parametrize("cluster", ["", ", cluster: clu"])
def test_exact_pairs_need_the_same_units_in_the_clusters_by_hand(tmp_path, cluster):
    text = CROSSED.replace(", cluster: clu", cluster)
    (told,) = problems(tmp_path / "exact", text, crossed())
    assert "two rates over the same units" in told
    # 1 in every resample in which x and y answer: no variation, and no exact test that could stand in
    found = judged(tmp_path / "interval", text.replace(", evidence: exact", ""), crossed())
    entry = found.entries["ahead"]
    assert (entry["verdict"], entry["reason"], entry["interval"]) == ("failed", "no_variation", [1, 1])
    assert "p" not in entry


@pytest.mark.parametrize(("lost", "verdict"), [(2, "held"), (3, "falsified")])
def test_more_than_a_twentieth_dropped_voids_the_study(tmp_path, lost, verdict):
    rows = [r for r in runs() if not (r["run"] == "c" and int(r["item"][1:]) < lost)]
    gate = "  kept-units: {claim: max(dropped) <= 0.05, evidence: point, gate: true}\n"
    found = judged(tmp_path, study(predictions=gate), rows)
    assert found.verdicts["kept-units"] == verdict
    assert found.headline == (None if verdict == "held" else "void")
    assert {r["run"]: float(r["value"]) for r in found.rows("dropped")} == {
        "a": lost / 40,
        "b": lost / 40,
        "c": 0,
        "d": lost / 40,
    }


# -- what a reader sees ------------------------------------------------------------------------------------


def shown(folder, capsys, *options):
    capsys.readouterr()
    assert execute(["show", "study", "-C", str(folder), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_show_puts_variants_side_by_side(tmp_path, capsys):
    protocol = (
        study(predictions="  far: {claim: 'right[d] - right[a] > 0.5'}\n")
        + "variants:\n  strong: {where: not weak}\n  mild: {metrics: {right: {rate: correct or not weak}}}\n"
        + outcomes(("held(ahead, far)", "clearly ahead"), ("true", "unclear"))
        + "policies: {exclude: broken > 0.2}\n"
    )
    judged(tmp_path, protocol, runs())
    lines = shown(tmp_path, capsys)
    # right[d] - right[a] is 25 of 40, 25 of 30 without the weak, and 0 with everything but the weak counted right
    at = lines.index("The same under each variant (≠: the verdicts are not all the same)")
    table = [line.split("  ") for line in lines[at + 1 : at + 4]]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in table]
    assert cells[0] == ["prediction", "registered", "strong", "mild"]
    assert cells[1] == ["≠ ahead", "held", "held", "failed (contrary)"]
    assert cells[2] == ["≠ far", "failed (short)", "held", "failed (no_variation)"]
    assert any(line.startswith("headline: ") for line in lines)
    at = lines.index("1 excluded by `broken > 0.2`, and in none of the numbers above:")
    assert lines[at + 1] == "  run b"
    registered = shown(tmp_path, capsys, "--registration")
    assert "excluded where: broken > 0.2" in registered
    assert "variant strong: where not weak" in registered
    assert "variant mild: another `right`" in registered
    assert "outcome: held(ahead, far) -> clearly ahead" in registered


def test_show_says_why_there_is_no_headline(tmp_path, capsys):
    judged(tmp_path, study() + outcomes(("falsified(ahead)", "worse")), runs())
    assert "headline: none, no registered outcome covers these verdicts" in shown(tmp_path, capsys)


def test_show_names_the_gate_that_voids_the_study(tmp_path, capsys):
    gate = "  sane: {claim: max(broken) < 0.1, evidence: point, gate: true}\n"
    judged(tmp_path, study(predictions=gate), [r for r in runs() if (r["run"], r["item"]) != ("c", "i00")])
    lines = shown(tmp_path, capsys)
    assert "headline: void, because sane did not hold" in lines
    dropped = next(i for i, line in enumerate(lines) if line.startswith("a: 1 of 40 units dropped (2.5 %)"))
    assert dropped > next(i for i, line in enumerate(lines) if "sane" in line and "falsified" in line)


def test_show_tells_the_p_of_a_family(tmp_path, capsys):
    judged(
        tmp_path, each(["each: {run: [b, c, d]}", "claim: right[$run] > right[a]", "evidence: exact"]), runs()
    )
    lines = shown(tmp_path, capsys)
    # b gains 10 items and loses none: p = 2 / 2^10, the largest of three
    assert any("p[b]" in line and "p = 0.002 (Holm)" in line for line in lines)
