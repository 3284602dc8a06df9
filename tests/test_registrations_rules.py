"""Rules that real registrations and release gates are made of, each a protocol whose verdicts are known beforehand."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest
from scipy.stats import kendalltau

from registrations import judged, problems, source, table


def first(share, i, n):
    """Whether unit i is among the first `share` of n in a fixed order: rates are exact, better contains worse."""
    return Fraction(i * 37 % n, n) < Fraction(str(share))


# -- signals side by side, seeds pooled --------------------------------------------------------------------

SIGNALS = """\
prereg: 1
id: free-signals
title: Does the verbalised confidence rank errors better than two signals that cost nothing?
data: {records: records.csv, arm: signal, unit: item, sample: seed, samples: all}   # an item keeps its two seeds
metrics:
  accuracy:   {rate: correct, per: seed}
  pooled:     {rate: correct}
  aurc:       {aurc: {confidence: confidence, label: correct, ties: expected}}
  aurc_seed:  {aurc: {confidence: confidence, label: correct, ties: expected}, per: seed}
  sel_acc_80: {selective_accuracy: {confidence: confidence, correct: correct, coverage: 0.8}}
  broken:     {rate: format_error}
resampling: {resamples: 10000, seed: 11, level: 0.95}
predictions:
  few-format-errors:                 # kill criterion
    claim: all(broken <= 0.05)
    evidence: point
    gate: true
  seeds-agree-in-sign:
    claim: all(aurc_seed[signal=verbal] < minimum(aurc_seed[signal=declined], aurc_seed[signal=batch]))
    evidence: point
  verbal-beats-the-better-free-signal:
    claim: aurc[verbal] < minimum(aurc[declined], aurc[batch])
    given: seeds-agree-in-sign
    anticipate: open
  accuracy-as-published:
    claim: all(accuracy[signal=verbal] within [0.7733, 0.7756])
    evidence: point
  ties-leave-no-selection-at-80:
    claim: sel_acc_80[verbal] == pooled[verbal]
    evidence: point
"""


def signals(shared, unit):
    for seed in (1, 2):
        path = source(
            shared, "abstention_signals", f"netconfeval_confidence_gate_llama-3.3-70b_s{seed}.jsonl"
        )
        for line in path.read_text(encoding="utf-8").splitlines():
            r = json.loads(line)
            size = int(r["category"].removeprefix("batch"))
            for signal, confidence in (
                ("verbal", r["score"]),
                ("declined", 0 if r["declined"] else 1),
                ("batch", -size),
            ):
                yield {
                    "signal": signal, "item": unit(r["id"], seed), "question": r["id"], "seed": seed,
                    "confidence": confidence, "correct": r["correct"], "format_error": r["format_error"],
                }  # fmt: skip


def test_signals_over_two_seeds_against_published_figures(shared_data, tmp_path):
    found = judged(tmp_path / "pooled", SIGNALS, signals(shared_data, lambda item, seed: item))
    # SOURCE.md: accuracy 0.7733 / 0.7756; AURC under random ties 0.1824 / 0.1813; of 450 scores 280 are 1 and 152
    # are 0, so that the smallest prefix of whole tie blocks with 80 % of the rows is all of them
    assert [round(found.value("accuracy", signal="verbal", seed=s), 4) for s in "12"] == [0.7733, 0.7756]
    assert [round(found.value("aurc_seed", signal="verbal", seed=s), 4) for s in "12"] == [0.1824, 0.1813]
    verdicts = found.verdicts
    assert [
        verdicts[p] for p in ("few-format-errors", "accuracy-as-published", "ties-leave-no-selection-at-80")
    ] == ["held"] * 3
    assert verdicts["seeds-agree-in-sign"] == "held"
    entry = found.entries["verbal-beats-the-better-free-signal"]
    assert entry["n"] == [450, 450, 450]  # items, not requests


def test_items_over_seeds_travel_together(shared_data, tmp_path):
    short = SIGNALS.replace("resamples: 10000", "resamples: 1000")
    by_item, by_request = (
        list(signals(shared_data, f)) for f in (lambda i, _: i, lambda i, seed: f"{i} {seed}")
    )
    pooled = judged(tmp_path / "a", short, by_item).entries["verbal-beats-the-better-free-signal"]
    assert pooled["n"] == [450, 450, 450]  # items, not requests
    # a unit per request, and the item its cluster: the same draws, so the same interval
    alone = short.replace(", sample: seed, samples: all}", "}")
    clustered = judged(
        tmp_path / "b", alone.replace("resamples: 1000,", "resamples: 1000, cluster: question,"), by_request
    )
    again = clustered.entries["verbal-beats-the-better-free-signal"]
    assert (again["point"], again["interval"], again["n"]) == (
        pooled["point"],
        pooled["interval"],
        [900, 900, 900],
    )
    # the seeds differ in 2 of 450 rows (SOURCE.md): as 900 independent units they would claim sqrt(2) more precision
    loose = judged(tmp_path / "c", alone, by_request).entries["verbal-beats-the-better-free-signal"]
    narrow, wide = (e["interval"][1] - e["interval"][0] for e in (loose, pooled))
    assert 1.25 < wide / narrow < 1.6


PANEL = """\
prereg: 1
id: signal-panel
title: Six comparisons for each of four models, and a fifth that cannot follow the format
data: {records: records.csv, arm: [model, signal], unit: item, sample: seed, samples: all}
policies:
  gate: {score: confidence, coverage: [none, 0.5]}
  exclude: broken > 0.10             # a model that fails the format
metrics:
  broken:     {rate: format_error}
  right:      {rate: answered and correct}
  accuracy:   {rate: correct, among: answered}
  aurc:       {aurc: {confidence: confidence, label: correct}}
  aurc_seed:  {aurc: {confidence: confidence, label: correct}, per: seed}
  sel_acc_80: {selective_accuracy: {confidence: confidence, correct: correct, coverage: 0.8}}
resampling: {resamples: 2000, seed: 3}
predictions:
  same-sign-in-every-seed:
    each: {model: [m1, m2, m3, m4]}
    claim: all(aurc_seed[model=$model, signal=probe] < minimum(aurc_seed[model=$model, signal=verbal], aurc_seed[model=$model, signal=noise]))
    evidence: point
  ranks-better:                      # Holm over six comparisons per model
    each: {model: [m1, m2, m3, m4], better: [probe, verbal], worse: [verbal, noise, flat]}
    claim: aurc[model=$model, signal=$better] < aurc[model=$model, signal=$worse]
    family: ranks_$model
    given: same-sign-in-every-seed
  beats-the-better-of-two:
    claim: all(aurc[signal=probe] < minimum(aurc[signal=verbal], aurc[signal=noise]))
  selects-at-80:
    claim: all(sel_acc_80[signal=probe] - sel_acc_80[signal=noise] > 0.05)
  mcnemar-at-half-coverage:
    each: {model: [m3, m4]}
    claim: right[model=$model, signal=probe, gate=0.5] > right[model=$model, signal=noise, gate=0.5]
    evidence: exact
  the-excluded-is-gone:
    claim: count(accuracy[signal=probe, gate=none] > 0) == 4
    evidence: point
"""


def panel():
    """Errors are the hardest items: `probe` knows the difficulty, `verbal` in four ties, `noise` nothing, `flat` one value."""
    rng = random.Random(5)
    noise = {i: rng.random() for i in range(120)}
    for m, skill in enumerate((0.8, 0.7, 0.6, 0.5, 0.65), 1):
        for i in range(120):
            place = i * 37 % 120  # difficulty rank
            for seed in (1, 2):
                correct = place < skill * 120 and not (seed == 2 and place % 40 == 7)
                scores = {
                    "probe": round(1 - place / 120, 4),
                    "verbal": (0.95, 0.9, 0.9, 0.7)[place // 30],
                    "noise": round(noise[i], 4),
                    "flat": 0.9,
                }
                for signal, confidence in scores.items():
                    yield {
                        "model": f"m{m}", "signal": signal, "item": f"q{i:03}", "seed": seed, "confidence": confidence,
                        "correct": correct, "answered": True, "format_error": m == 5 and i % 4 == 0,
                    }  # fmt: skip


def test_panel_of_signals_with_an_excluded_model(tmp_path):
    found = judged(tmp_path, PANEL, panel())
    verdicts = found.verdicts
    for model in ("m1", "m2", "m3", "m4"):
        six = {p: v for p, v in verdicts.items() if p.startswith(f"ranks-better[{model}, ")}
        assert len(six) == 6
        # `verbal` against itself does not differ: no evidence, and one of the six that Holm counts
        assert six.pop(f"ranks-better[{model}, verbal, verbal]") != "held"
        assert set(six.values()) == {"held"}
        assert found.entries[f"ranks-better[{model}, probe, noise]"]["family"] == f"ranks_{model}"
    # at half coverage `probe` is never wrong, `noise` in about 40 and 50 % of its 60 items a seed
    assert verdicts["mcnemar-at-half-coverage[m3]"] == verdicts["mcnemar-at-half-coverage[m4]"] == "held"
    for one in ("beats-the-better-of-two", "selects-at-80", "the-excluded-is-gone"):
        assert verdicts[one] == "held"
    assert {e["model"] for e in found.content["excluded"]} == {"m5"}
    # 60 of 120 items a seed: half of the rows of both, without ties, are half of them exactly
    assert found.value("achieved coverage", model="m1", signal="probe", gate="0.5") == 0.5
    # one tie block of everything: the smallest prefix with half of the rows is all of them
    assert found.value("achieved coverage", model="m1", signal="flat", gate="0.5") == 1


def test_kill_criterion_makes_everything_else_not_applicable(tmp_path):
    killed = PANEL.replace(
        "predictions:\n",
        "predictions:\n  format-holds: {claim: max(broken) <= 0.05, evidence: point, gate: true}\n",
    ).replace("  exclude: broken > 0.10             # a model that fails the format\n", "")
    found = judged(tmp_path, killed, panel())
    verdicts = found.verdicts
    assert verdicts.pop("format-holds") == "falsified"
    assert set(verdicts.values()) == {"failed (not_applicable)"}
    assert found.headline == "void"
    assert found.content["counts"] == {"held": 0, "failed": len(verdicts), "falsified": 1, "surprises": 1}


ORDERINGS = """\
prereg: 1
id: orderings
title: Do two benchmarks order eight models alike?
data: {records: records.csv, arm: model, unit: item}
metrics:
  old: {rate: correct, among: not fresh}
  new: {rate: correct, among: fresh}
resampling: {resamples: 1000, seed: 0, stratify: fresh}
predictions:
  alike:    {claim: "kendall(old, new) > 0"}
  reversed: {claim: "kendall(old, new) < 0", anticipate: falsified}
"""


def test_two_orderings_of_models_by_kendall(tmp_path):
    rng = random.Random(4)
    rows = [  # five points from model to model, each item drawn by itself: neighbours change places by chance
        {"model": f"m{m}", "item": f"{fresh}{i:03}", "fresh": fresh, "correct": rng.random() < 0.3 + 0.05 * m}
        for m in range(8)
        for fresh in (True, False)
        for i in range(200)
    ]
    found = judged(tmp_path, ORDERINGS, rows)
    old, new = ([float(r["value"]) for r in found.rows(name)] for name in ("old", "new"))
    entry = found.entries["alike"]
    assert entry["point"] == pytest.approx(kendalltau(old, new).statistic, abs=1e-9)
    assert 0 < entry["interval"][0] < entry["point"] < entry["interval"][1] <= 1
    assert found.verdicts == {"alike": "held", "reversed": "falsified"}


# -- a release gate ----------------------------------------------------------------------------------------

RELEASE = """\
prereg: 1
id: release-gate
title: No category more than two points below the baseline, one-sided 95 %%
data: {records: records.csv, arm: %s, unit: item}
metrics: {score: {rate: good, per: category}}
resampling: {resamples: 2000, seed: 0, stratify: category}
predictions:
  no-category-drops:
    claim: all(score[%s=candidate] - score[%s=baseline] > -0.02)
    level: 0.90                      # two-sided 0.90 is one-sided 0.95
"""


def releases(drop):
    """Three categories of 400: the candidate is right where the baseline is, but for `drop` of the last category."""
    for c, category in enumerate(("code", "law", "maths")):
        for i in range(400):
            base = first(0.8, i, 400)
            lost = category == "maths" and first(drop, i, 400)
            gained = c < 2 and not base and i % 2
            for arm, good in (("baseline", base), ("candidate", (base or gained) and not lost)):
                yield {"system": arm, "item": f"{category}{i:03}", "category": category, "good": bool(good)}


@pytest.mark.parametrize(
    ("drop", "verdict"),
    [
        ("0.0025", "held"),  # one of 400 lost: at most 3 in 95 % of resamples, bound 8
        (
            "0.015",
            "failed (short)",
        ),  # six of 400 lost: true at the point, but a lost eighth is well within chance
        ("0.1", "falsified"),  # 40 of 400: ten points
    ],
)
def test_release_gate_over_categories(tmp_path, drop, verdict):
    found = judged(tmp_path, RELEASE % ("system", "system", "system"), releases(drop))
    assert found.verdicts == {"no-category-drops": verdict}
    assert len(found.entries["no-category-drops"]["legs"]) == 3


def test_release_gate_on_refusal_by_category(shared_data, tmp_path):
    """SOURCE.md: adding the direction takes refusals from 91 to 2 (gemma) and from 97 to 3 (llama) of 100."""
    rows = [
        {
            **r,
            "policy": {"actadd": "candidate"}.get(r["policy"], r["policy"]),
            "good": r["is_jailbreak_substring_matching"] == "0",
        }
        for m in ("gemma-2b-it", "llama-2-7b-chat-hf")
        for r in table(shared_data, "refusal_direction", f"{m}.csv")
        if r["prompt_set"] == "jailbreakbench"
    ]
    found = judged(tmp_path, RELEASE % ("[model, policy]", "policy", "policy"), rows)
    assert found.verdicts == {"no-category-drops": "falsified"}
    assert len(found.entries["no-category-drops"]["legs"]) == 2 * 10  # models times categories


# -- many predictions in few lines -------------------------------------------------------------------------

TWENTY = """\
prereg: 1
id: twenty
title: Four ways of prompting against none, for five models
data: {records: records.csv, arm: [model, prompt], unit: item}
metrics: {solved: {rate: right}}
resampling: {resamples: 4000, seed: 0}
predictions:
  helps:
    each: {model: ["gpt-4o", b, c, d, e], prompt: [cot, tools, retry, long]}
    claim: solved[model=$model, prompt=$prompt] > solved[model=$model, prompt=base]
"""


def test_twenty_directional_predictions_in_three_lines(tmp_path):
    gains = {"gpt-4o": "0.3", "b": "0.2", "c": "0.25", "d": "0.15", "e": "0"}
    rows = [
        {
            "model": m,
            "prompt": p,
            "item": f"i{i:02}",
            "right": first(0.4, i, 80) or (p != "base" and first(0.4 + float(g), i, 80)),
        }
        for m, g in gains.items()
        for p in ("base", "cot", "tools", "retry", "long")
        for i in range(80)
    ]
    found = judged(tmp_path, TWENTY, rows)
    assert len(TWENTY[TWENTY.index("predictions:") :].splitlines()) <= 10
    assert len(found.verdicts) == 20
    assert {e["family"] for e in found.entries.values()} == {"helps"}
    # 12 or more of 80 gained and none lost: (1 - 12/80)^80 < 1e-5 is the chance that a resample shows no gain, so
    # p is the least there is, 2 / 4001; Holm times 20 is 0.01. Model e is the same under every prompt.
    assert {v for name, v in found.verdicts.items() if "[e," not in name} == {"held"}
    assert {v for name, v in found.verdicts.items() if "[e," in name} == {"failed (contrary)"}
    best = found.entries["helps[gpt-4o, cot]"]
    assert best["claim"] == 'solved[model="gpt-4o", prompt=cot] > solved[model="gpt-4o", prompt=base]'
    assert best["p"] == pytest.approx(2 / 4001)
    assert best["p_adjusted"] == pytest.approx(40 / 4001)


# -- outcomes in the author's words ------------------------------------------------------------------------

DISCOVERY = """\
prereg: 1
id: discovery
title: Is the new prompt worth it?
data: {records: records.csv, arm: arm, unit: item}
metrics: {solved: {rate: right}}
let: {gain: "solved[new] - solved[old]"}
resampling: {resamples: 1000, seed: 0}
predictions:
  gain: {claim: gain > 0}
  gain-of-ten-points: {claim: gain >= 0.10, evidence: point}
outcomes:
  - {when: 'held(gain, "gain-of-ten-points")', then: discovery}
  - {when: held(gain) or falsified(gain), then: no discovery}
  - {when: true, then: inconclusive}
"""


@pytest.mark.parametrize(
    ("won", "lost", "headline"),
    [
        (30, 0, "discovery"),  # 15 points, none lost
        (20, 0, "discovery"),  # exactly ten points
        (19, 0, "no discovery"),  # 9.5 points: clearly above 0, too small
        (21, 20, "inconclusive"),  # half a point, 41 discordant items
        (0, 30, "no discovery"),  # clearly worse
    ],
)
def test_discovery_in_the_words_of_the_author(tmp_path, won, lost, headline):
    rows = []
    for i in range(200):
        rows.append({"arm": "old", "item": f"i{i:03}", "right": won <= i < won + lost + 60})
        rows.append({"arm": "new", "item": f"i{i:03}", "right": i < won or won + lost <= i < won + lost + 60})
    found = judged(tmp_path, DISCOVERY, rows)
    assert found.headline == headline
    assert not found.warnings


# -- variants ----------------------------------------------------------------------------------------------

VARIANTS = """\
prereg: 1
id: also-without
title: Every verdict also without flagged items and with errors counted as failures
data: {records: records.csv, arm: arm, unit: item}
metrics: {solved: {rate: right, among: not error}}
resampling: {resamples: 1000, seed: 0}
predictions:
  better:  {claim: "solved[new] > solved[old]", agree: [without_flagged, errors_fail]}
  not-bad: {claim: "solved[new] > 0.3", agree: [without_flagged, errors_fail]}
variants:
  without_flagged: {where: not flagged}
  errors_fail:     {metrics: {solved: {rate: right and not error}}}
"""


def flagged(gain_in_flagged):
    """200 items, 60 flagged; old solves the same 80 unflagged; new solves 40 more, flagged ones or others."""
    for i in range(200):
        flag = i < 60
        more = (flag and i < 40) if gain_in_flagged else 140 <= i < 180
        for arm, right in (("old", 60 <= i < 140), ("new", 60 <= i < 140 or more)):
            yield {"arm": arm, "item": f"i{i:03}", "flagged": flag, "error": i >= 190, "right": right}


def test_every_verdict_also_without_flagged_items(tmp_path):
    robust = judged(tmp_path / "a", VARIANTS, flagged(gain_in_flagged=False))
    assert robust.verdicts == {"better": "held", "not-bad": "held"}
    assert robust.variant("without_flagged") == robust.variant("errors_fail") == robust.verdicts
    fragile = judged(tmp_path / "b", VARIANTS, flagged(gain_in_flagged=True))
    # without the flagged items both arms solve the same 80 of 140
    assert fragile.verdicts == {"better": "failed (variants_disagree)", "not-bad": "held"}
    assert fragile.variant("without_flagged") == {"better": "failed (contrary)", "not-bad": "held"}
    assert fragile.variant("errors_fail") == {"better": "held", "not-bad": "held"}
    assert fragile.entries["better"]["point"] == pytest.approx(40 / 190)  # the numbers stay


def test_refusals_with_and_without_unreadable_answers(shared_data, tmp_path):
    """pandalm SOURCE.md: 25 garbage verdicts; accuracy 0.7156 without them, 0.6977 with them counted as wrong."""
    judges = {
        n: json.loads(source(shared_data, "pandalm", f"{n}-testset-v1.json").read_text())
        for n in ("gpt-3.5-turbo", "pandalm-7b")
    }
    humans = json.loads(source(shared_data, "pandalm", "testset-v1.json").read_text())
    votes = {h["idx"]: [str(h[f"annotator{k}"]) for k in (1, 2, 3)] for h in humans}
    rows = []
    for arm, items in judges.items():
        for r in items:
            said = str(r.get("gpt_result", r.get("pandalm_result"))).replace("Tie", "0")
            one, two, three = votes[r["idx"]]
            rows.append({"judge": arm, "item": r["idx"], "said": said, "h1": one, "h2": two, "h3": three})
    found = judged(
        tmp_path,
        """\
        prereg: 1
        id: judge-accuracy
        title: A judge that sometimes answers garbage
        data:
          records: records.csv
          arm: judge
          unit: item
          types: {said: text, h1: text, h2: text, h3: text}
          derive: {garbage: said == "garbage", agrees: 'said == majority(h1, h2, h3)'}
        metrics: {accuracy: {rate: agrees, among: not garbage}}
        resampling: {resamples: 1000, seed: 0}
        predictions:
          above-seventy: {claim: 'accuracy["gpt-3.5-turbo"] > 0.70', evidence: point, agree: [garbage_is_wrong]}
          ahead-of-pandalm: {claim: 'accuracy["gpt-3.5-turbo"] > accuracy["pandalm-7b"]', evidence: point, agree: garbage_is_wrong}
        variants:
          garbage_is_wrong: {metrics: {accuracy: {rate: agrees and not garbage}}}
        """,
        rows,
    )
    assert round(found.value("accuracy", judge="gpt-3.5-turbo"), 4) == 0.7156
    assert found.variant("garbage_is_wrong") == {"above-seventy": "falsified", "ahead-of-pandalm": "held"}
    assert found.verdicts == {"above-seventy": "failed (variants_disagree)", "ahead-of-pandalm": "held"}


# -- repeats, exact tests, attrition -----------------------------------------------------------------------

MAJORITY = """\
prereg: 1
id: majority-of-three
title: Three repeats a case, majority vote, exact tests, Holm over four models
data: {records: records.csv, arm: [model, system], unit: case, sample: k, samples: majority}
metrics: {solved: {rate: right}}
predictions:
  better:
    each: model
    claim: solved[model=$model, system=new] > solved[model=$model, system=base]
    evidence: exact
    level: 0.95
"""


def test_majority_of_three_exact_with_holm_over_four(tmp_path):
    gains = {"a": 15, "b": 9, "c": 8, "d": 5}
    rows = [
        # two of the three answers say so, the third the opposite
        {
            "model": m,
            "system": s,
            "case": f"c{i:02}",
            "k": k,
            "right": (i < 20 + (g if s == "new" else 0)) == (k != i % 3),
        }
        for m, g in gains.items()
        for s in ("base", "new")
        for i in range(40)
        for k in range(3)
    ]
    found = judged(tmp_path, MAJORITY, rows)
    # g cases gained and none lost: the exact sign test has p = 2 / 2^g. Holm: 4p, 3p, 2p, 1p against 0.05
    p = {m: 2 / 2**g for m, g in gains.items()}
    adjusted = {"a": 4 * p["a"], "b": 3 * p["b"], "c": 2 * p["c"], "d": p["d"]}
    for m in gains:
        entry = found.entries[f"better[{m}]"]
        assert (entry["p"], entry["p_adjusted"]) == pytest.approx((p[m], adjusted[m]))
        assert found.verdicts[f"better[{m}]"] == ("held" if adjusted[m] <= 0.05 else "failed (short)")
    assert adjusted["d"] > 0.05 > adjusted["c"]


def test_a_family_has_one_kind_of_evidence(tmp_path):
    rows = [
        {"model": m, "system": s, "case": f"c{i:02}", "k": 1, "right": i % 2 == 0}
        for m in "ab"
        for s in ("base", "new")
        for i in range(10)
    ]
    mixed = MAJORITY.replace("    level: 0.95\n", "    family: f\n") + (
        "  more: {claim: 'solved[a, new] > 0.1', family: f}\nresampling: {resamples: 1000, seed: 0}\n"
    )
    assert problems(tmp_path, mixed, rows) == ["protocol.yaml:12:49: the family `f` has one kind of evidence"]
    points = MAJORITY.replace("evidence: exact", "evidence: point\n    family: f")
    assert problems(tmp_path, points, rows) == [
        "protocol.yaml:11:13: a family is judged by `interval` evidence, or as one by `exact`"
    ]


ZERO = """\
prereg: 1
id: none-against-all
title: 0 of 40 against 40 of 40, ten rows a unit
data: {records: records.csv, arm: system, unit: case, sample: k, samples: all}
metrics: {solved: {rate: right}}
resampling: {resamples: 1000, seed: 0}
predictions:
  solves: {claim: "solved[new] > solved[old]"}
  fails:  {claim: "solved[new] < solved[old]", anticipate: falsified}
  at-all: {claim: "solved[new] > 0.9"}
"""


def test_none_of_forty_against_all_of_forty(tmp_path):
    rows = [
        {"system": s, "case": f"c{i:02}", "k": k, "right": s == "new"}
        for s in ("old", "new")
        for i in range(40)
        for k in range(10)
    ]
    found = judged(tmp_path, ZERO, rows)
    assert found.verdicts == {"solves": "held", "fails": "falsified", "at-all": "held"}
    assert found.entries["solves"]["p"] == pytest.approx(2 / 2**40)  # 40 units, not 400 rows
    # Clopper-Pearson of 40 of 40: the lower end is 0.025^(1/40)
    assert found.entries["at-all"]["interval"] == pytest.approx([0.025 ** (1 / 40) - 0.9, 0.1])


ATTRITION = """\
prereg: 1
id: attrition
title: An arm that lost cases
data: {records: records.csv, arm: system, unit: case}
metrics: {solved: {rate: right}}
resampling: {resamples: 1000, seed: 0}
predictions:
  kept: {claim: all(dropped <= 0.05), evidence: point, gate: true}
  better: {claim: "solved[new] > solved[old]"}
"""


@pytest.mark.parametrize(("lost", "headline"), [(16, "void"), (5, None)])
def test_attrition_beside_the_verdicts_voids_the_study(tmp_path, lost, headline):
    rows = [
        {"system": s, "case": f"c{i:03}", "right": first(0.5 if s == "old" else 0.8, i, 100)}
        for s in ("old", "new")
        for i in range(100)
        if not (s == "new" and i < lost)
    ]
    found = judged(tmp_path, ATTRITION, rows)
    assert found.headline == headline
    assert found.verdicts == (
        {"kept": "falsified", "better": "failed (not_applicable)"}
        if headline
        else {"kept": "held", "better": "held"}
    )
    arms = {
        a["arm"]["system"]: (a["units"], a["dropped"], a["dropped_share"])
        for a in found.content["data"]["arms"]
    }
    # of old's 100 cases those that new lost are left out of the comparison
    assert arms == {"old": (100, lost, lost / 100), "new": (100 - lost, 0, 0)}
    assert found.value("dropped", system="old") == lost / 100
