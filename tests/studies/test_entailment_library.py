"""The learner on a library of one's own: its records, and what comes out on the real library where there is one."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest
import slow_logic
from example_scripts import PROTOCOLS, ROOT, library_learner

from broken_projects import command
from prereg.studies.logic import differential
from prereg.studies.logic.families import FAMILIES, GATES, Generated, generate

EXAMPLE = ROOT / "docs" / "examples" / "entailment-library.yaml"


@pytest.fixture(scope="module")
def module():
    return library_learner()


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# -- a small library, made from the definitions of the families


def laid_out(folder, texts):
    """Lay files out as the library does."""
    for name, text in texts.items():
        path = folder / "Problems" / name[:3] / f"{name}.p"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1")
    return folder


def small_texts():
    texts = {
        f"{family.upper()}+1.{n:03d}": generate(family, n).text() for family in FAMILIES for n in (1, 2, 3)
    }
    texts |= {f"SYN{900 + i}+1": gate.problem().text() for i, gate in enumerate(GATES[::4])}
    unsolved = generate("syj207", 4).text().replace("Non-Theorem", "Unsolved")
    return texts | {"SYJ207+1.004": unsolved}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return laid_out(tmp_path_factory.mktemp("small"), small_texts())


@pytest.fixture(scope="module")
def small_records(module, small, tmp_path_factory):
    output = tmp_path_factory.mktemp("made") / "made.csv"
    assert module.main(["--library", str(small), "--output", str(output)]) == 0
    return output


@pytest.fixture
def quick(module, monkeypatch):
    """The script with a handful of random formulas to train on and to ask about."""
    monkeypatch.setattr(module.base, "TRAINING", 20)
    monkeypatch.setattr(module.base, "ASKED", 10)
    return module


def test_a_process_of_its_own_makes_the_same_bytes(small, small_records, tmp_path):
    path = PROTOCOLS / "data" / "make_entailment_library.py"
    made = tmp_path / "made.csv"
    arguments = [sys.executable, str(path), "--library", str(small), "--output", str(made)]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert made.read_bytes() == small_records.read_bytes()


def in_a_project(records, folder):
    """Check, lock and run the protocol on records; the content of its ledger."""
    (folder / "data").mkdir()
    (folder / "data" / "entailment-library.csv").write_bytes(records)
    path = folder / EXAMPLE.name
    path.write_bytes(EXAMPLE.read_bytes())
    root = ("--root", str(folder))
    for arguments in (("check", str(path)), ("lock", str(path)), ("run",)):
        said = command(*arguments, *root)
        assert said.code == 0, said.err
    (ledger,) = folder.glob("results/*/*/ledger.json")
    return json.loads(ledger.read_bytes())["content"]


def test_the_protocol_is_checked_locked_and_run_on_records_of_any_library(small_records, tmp_path):
    content = in_a_project(small_records.read_bytes(), tmp_path)
    verdicts = {p["id"]: p["verdict"] for p in content["predictions"]}
    assert len(verdicts) == 18
    # what holds of any library whose labels are right
    assert verdicts["the-system-is-right-whatever-the-learner"] == "held"
    assert verdicts["the-check-costs-no-recall"] == "held"


def test_each_learner_is_asked_about_what_its_notes_say(small_records, module):
    rows = rows_of(small_records.read_text(encoding="ascii"))
    assert tuple(rows[0]) == module.COLUMNS
    own, everywhere = {"library"}, {"library", "random"}
    asked = {}
    for row in rows:
        asked.setdefault(row["learner"], set()).add(row["kind"])
    assert asked == {
        "rule": {"library", "edited", "random"}, "probe": everywhere,
        "random_folds": own, "pair_out": own, "pair_out_no_negation": own, "shuffled": own,
        "library": {"edited", "random"},
        "synthetic": everywhere, "synthetic_one_world": everywhere, "synthetic_two_worlds": everywhere,
        "budget_random_folds": {"budget"}, "budget_pair_out": {"budget"},
    }  # fmt: skip
    assert Counter(row["seed"] for row in rows if row["learner"] == "shuffled") == {
        str(seed): 36 + 7 for seed in range(20)
    }
    # an unsolved problem is not asked about
    assert not any(row["problem"].startswith("SYJ207+1.004") for row in rows)


def test_columns_that_follow_from_others_do(small_records, module):
    for row in rows_of(small_records.read_text(encoding="ascii")):
        p = float(row["probability"])
        yes = row["claim"] in {"theorem", "certifies"}
        assert (row["right"] == "true") == (row["claim"] == row["truth"])
        assert yes == (p >= 0.5)
        assert float(row["confidence"]) == pytest.approx(max(p, 1 - p), abs=1e-9)
        if row["kind"] != "budget":  # the engine decides all of these
            assert row["certified"] == row["right"]
        else:
            assert (row["certified"] == "true") == (row["claim"] == row["truth"] == "certifies")
            assert 0 <= int(row["calls"]) <= module.CALLS
        if row["learner"] == "rule":
            assert (row["torn"] == "true") == (row["right"] == "false")


def test_what_the_system_says_owes_nothing_to_a_wrong_label(quick, tmp_path):
    texts = small_texts()
    wrong = "SYJ204+1.001"
    texts[wrong] = texts[wrong].replace("% Status (intuit.) : Theorem", "% Status (intuit.) : Non-Theorem")
    rows = rows_of(quick.make_records(laid_out(tmp_path, texts)))
    rule = next(row for row in rows if (row["learner"], row["problem"]) == ("rule", wrong))
    assert (rule["claim"], rule["truth"], rule["right"], rule["certified"]) == (
        "theorem", "non_theorem", "false", "true",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({}, "no file is called Problems/*/*.p here"),
        ({"SYN900+1": "% Status (intuit.) : Theorme\nfof(c,conjecture,p)."}, "did you mean `Theorem`?"),
        ({"SYN900+1": "% Status (intuit.) : Theorem\nfof(c,conjecture,p & | q)."}, "SYN900+1.p"),
        ({"SYJ204+1.001": generate("syj204", 1).text()}, "too small"),
    ],
)
def test_what_is_no_library_is_refused_in_one_line_and_nothing_is_written(
    module, tmp_path, capsys, texts, message
):
    output = tmp_path / "made.csv"
    assert module.main(["--library", str(laid_out(tmp_path, texts)), "--output", str(output)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("make_entailment_library: refused: ")
    assert said.count("\n") == 1
    assert message in said
    assert not output.exists()


# -- how problems are written, edited and grouped


def test_a_problem_is_written_with_all_its_brackets_by_hand(module):
    text = "fof(a,axiom,( p & q & ~ ( r ) )).\n% fof\nfof(c,conjecture,( ( ~ ~ p => $true ) <=> (q) ))."
    assert module.written(text) == (("((p & q) & ~r)",), "((~~p => $true) <=> q)")


def test_writing_the_families_changes_nothing_against_their_definitions(module):
    for family in FAMILIES:
        made = generate(family, 3)
        assert module.written(made.text()) == (made.axioms, made.conjecture), family


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        ("in", "p", "~~p"),
        ("in", "$true", "~~$true"),
        ("out", "~~p", "p"),
        ("out", "~~~p", "~p"),
        ("out", "~p", None),
        ("letters", "(p => ~q)", "(q => ~p)"),
        ("letters", "(p => p)", None),
        ("letters", "($true => p)", None),
        ("letters", "$true", None),
        ("connectives", "(p & ~~q)", "(p | ~~q)"),
        ("connectives", "(p | q)", "(p & q)"),
        ("connectives", "(p ~| q)", None),
        ("connectives", "(p <=> q)", None),
    ],
)
def test_a_problem_with_one_place_is_edited_there_by_hand(module, edit, before, after):
    assert {module.edit_of(((), before), edit, i) for i in range(5)} == {after and ((), after)}


def test_an_edit_reaches_every_place_and_no_other(module):
    writing = (("p",), "(q => r)")
    assert {module.edit_of(writing, "in", i) for i in range(60)} == {
        (("~~p",), "(q => r)"),
        (("p",), "~~(q => r)"),
        (("p",), "(~~q => r)"),
        (("p",), "(q => ~~r)"),
    }


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("SYJ201+1.007", "pair_201"),
        ("SYJ207+1.001", "pair_201"),
        ("SYJ206+1.020", "pair_206"),
        ("SYJ212+1.003", "pair_206"),
        ("SYJ107+1.002", "SYJ107"),
        ("SYN416+1", "SYN416+1"),
        ("SYN007+1.014", "SYN007"),
    ],
)
def test_what_is_held_out_together_by_hand(module, name, pair):
    assert module.pair_of(name) == pair


def tree(postfix):
    """A formula of the slow oracle."""
    stack = []
    for sign in postfix:
        if sign == "~":
            stack.append(("~", stack.pop()))
        elif sign in {"&", "|", "=>", "<=>"}:
            right = stack.pop()
            stack.append((sign, stack.pop(), right))
        else:
            stack.append(sign)
    (only,) = stack
    return only


@pytest.fixture(scope="module")
def small_cases(module, small):
    own = list(module.labelled(small))
    return own, module.edited(own)


def test_labels_of_edited_members_against_the_slow_oracle(small_cases):
    seen = Counter()
    for case in small_cases[1]:
        text = Generated("x", *case.writing, "theorem", "theorem").text()
        reading = differential.read(text)
        axioms, goal = [tree(one) for one in reading.premises], tree(reading.conclusion)
        if len(slow_logic.letters(*axioms, goal)) > 3:
            continue
        refuted = slow_logic.counter_frame(axioms, goal, most=3) is not None
        # few worlds refute nothing that follows; what does not follow may need more of them
        assert not (refuted and case.problem.follows), case.writing
        seen[refuted] += 1
    assert min(seen[True], seen[False]) >= 10


def test_edited_members_are_balanced_and_none_is_a_problem_of_the_library(small_cases):
    own, changed = small_cases
    assert Counter(case.problem.follows for case in changed) == dict.fromkeys(
        (True, False), len(changed) // 2
    )
    writings = [case.writing for case in (*own, *changed)]
    assert len(set(writings)) == len({case.writing for case in own}) + len(changed)
    assert {case.edit for case in changed} == {"in", "out", "letters", "connectives"}
    pairs = {case.problem.name: case.problem.pair for case in own}
    for case in changed:
        assert case.problem.pair == pairs[case.problem.name.rsplit("_", 2)[0]]


def test_negations_point_away_from_the_truth_by_hand(module, small_cases):
    torn = {case.problem.name: case.torn for case in small_cases[0]}
    # 201: no `~~`, a theorem; 207: none, and no theorem; 212: `~~`, no theorem
    assert [torn[f"SYJ{family}+1.002"] for family in (201, 207, 212)] == [False, True, False]


# -- the real library


def test_rule_probe_and_groups_are_those_published_of_the_library(module, library, monkeypatch):
    """These depend on the problems alone, so they come out exactly; no engine is asked."""
    monkeypatch.setattr(module, "ask", lambda text, budgets=None: (None, 0))
    own = [case.problem for case in module.labelled(library.folder)]
    assert Counter(one.follows for one in own) == {True: 128, False: 109}
    right = [one for one in own if one.twice_negated != one.follows]
    assert (len(right), len(own)) == (212, 237)  # 0.895
    members = [one for one in own if one.pair.startswith("pair_")]
    assert (sum(one in right for one in members), len(members)) == (196, 203)  # 0.966
    # one non-theorem needs three worlds, so the probe is right on 0.996; one needs but one
    assert [one.name for one in own if not one.follows and not one.two_worlds] == ["SYN416+1"]
    assert [one.name for one in own if one.one_world] == ["SYN916+1"]
    assert len({one.pair for one in own}) == 35


@pytest.fixture(scope="module")
def ledger(module, library, tmp_path_factory):
    """What the protocol finds on the real library."""
    return in_a_project(module.make_records(library.folder).encode("ascii"), tmp_path_factory.mktemp("real"))


def estimates(ledger):
    """(value, low, high) by report and the learner's name with the kind; intervals resample the families."""
    return {
        (report["id"], " ".join(word for word in (*v["policy"],) if word != "0")): (
            v["value"],
            *(v["interval"] or ()),
        )
        for report in ledger["reports"]
        for v in report["values"]
    }


# Published of another program with other counts, other random formulas and another engine on a budget. What a
# second program can promise is that the published value lies within its own interval by families.
AGREES = {
    ("accuracy", "random_folds library"): 0.966,
    ("accuracy", "pair_out library"): 0.835,
    ("accuracy", "pair_out_no_negation library"): 0.494,
    ("accuracy", "library edited"): 0.640,
    ("accuracy", "synthetic_one_world library"): 0.502,
    ("accuracy", "synthetic_one_world random"): 0.991,
    ("accuracy", "budget_random_folds budget"): 0.945,
    ("accuracy", "budget_pair_out budget"): 0.586,
    ("learner-precision-at-0.9", "random_folds library"): 0.974,
    ("learner-precision-at-0.9", "pair_out library"): 0.853,
    ("learner-precision-at-0.9", "pair_out_no_negation library"): 0.560,
    ("learner-precision-at-0.9", "library edited"): 0.645,
    ("learner-precision-at-0.9", "synthetic_one_world library"): 0.629,
    ("learner-precision-at-0.9", "synthetic_two_worlds library"): 0.995,
    ("learner-precision-at-0.9", "budget_pair_out budget"): 0.658,
    ("learner-recall-at-0.9", "random_folds library"): 0.776,
    ("learner-recall-at-0.9", "pair_out library"): 0.561,
    ("learner-recall-at-0.9", "pair_out_no_negation library"): 0.392,
    ("learner-recall-at-0.9", "library edited"): 0.528,
    ("learner-recall-at-0.9", "synthetic library"): 0.203,
    ("learner-recall-at-0.9", "synthetic_one_world library"): 0.278,
    ("learner-recall-at-0.9", "synthetic_two_worlds library"): 0.899,
    ("learner-recall-at-0.99", "pair_out library"): 0.321,
    ("learner-recall-at-0.99", "synthetic_two_worlds library"): 0.599,
    ("budget-ranks", "budget_random_folds"): 0.990,
    ("budget-ranks", "budget_pair_out"): 0.629,
    ("placebo-mean", ""): 0.486,
    ("placebo-spread", ""): 0.081,
}
# These lie outside it, and all of them hang on the random formulas, which are others; found here: 0.465, 0.388, 0.675,
# 0.996. Not listed is what no interval could contradict: 0.480, the precision of `synthetic` at 0.9, is found as
# 0.377 with anything from 0.05 to 1, because 61 answers are on seven families.
DIFFERS = {
    ("accuracy", "library random"): 0.395,
    ("accuracy", "synthetic library"): 0.574,
    ("accuracy", "synthetic random"): 0.786,
    ("accuracy", "synthetic_two_worlds library"): 0.979,
}


@pytest.mark.slow
def test_figures_are_within_the_intervals_of_those_published_or_known_to_differ(ledger):
    found = estimates(ledger)
    for key, published in {**AGREES, **DIFFERS}.items():
        _, low, high = found[key]
        assert high - low < 0.6, key  # a wider one would agree with anything
        assert (low <= published <= high) == (key in AGREES), (key, found[key])


@pytest.mark.slow
def test_learners_stand_in_the_order_that_is_published(ledger):
    found = estimates(ledger)

    def of(report, *learners):
        return [found[report, f"{learner} library"][0] for learner in learners]

    # 0.966, 0.895, 0.835, 0.494
    taught = of("accuracy", "random_folds", "rule", "pair_out", "pair_out_no_negation")
    assert taught == sorted(taught, reverse=True)
    ladder = ("synthetic", "synthetic_one_world", "synthetic_two_worlds")
    for report in (
        "learner-precision-at-0.9",
        "learner-recall-at-0.9",
    ):  # 0.480, 0.629, 0.995; 0.203, 0.278, 0.899
        assert of(report, *ladder) == sorted(of(report, *ladder))
    # 0.996 against 0.979
    assert found["accuracy", "probe library"][0] >= found["accuracy", "synthetic_two_worlds library"][0]
    # 0.945 against 0.586
    budgets = [found["accuracy", f"{name} budget"][0] for name in ("budget_random_folds", "budget_pair_out")]
    assert budgets[0] > budgets[1]


@pytest.mark.slow
def test_the_documentation_tells_what_comes_out(ledger):
    text = (
        (ROOT / "docs" / "entailment.md")
        .read_text(encoding="utf-8")
        .partition("## A learner on your own copy")[2]
    )
    lines = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]+) \| ([^|]*)\|$", text, re.MULTILINE)
    assert len(lines) == 14
    found = estimates(ledger)
    for learner, kind, accuracy, pair in lines:
        key = f"{learner} {kind}"
        value, low, high = found["accuracy", key]
        assert accuracy == f"{value:.3f} [{low:.3f}, {high:.3f}]", key
        at = [found[f"learner-{name}-at-0.9", key][0] for name in ("precision", "recall")]
        assert pair.strip() in {"", "{:.3f}, {:.3f}".format(*at)}, key
    value, low, high = found["on-torn", "library"]
    prose = [
        f"{value:.3f} [{low:.3f}, {high:.3f}] of 273",
        f"curve {found['budget-ranks', 'budget_random_folds'][0]:.3f} with random folds",
        f"{found['budget-ranks', 'budget_pair_out'][0]:.3f} with the pair left out",
        f"keeps {found['scheduler-keeps', 'budget_pair_out'][0]:.3f} of its certificates",
        f"for {found['scheduler-spends', 'budget_pair_out'][0]:.3f} of the calls",
        f"would take {found['knowing-would-spend', ''][0]:.3f}",
    ]
    kept = next(report for report in ledger["reports"] if report["id"] == "scheduler-keeps")
    assert {v["n"] for v in kept["values"]} == {138}
    assert "certifies 138 of 237" in text
    assert [said for said in prose if said not in " ".join(text.split())] == []


@pytest.mark.slow
def test_verdicts_are_those_that_the_documentation_tells(ledger):
    verdicts = {p["id"]: (p["verdict"], p["reason"]) for p in ledger["predictions"]}
    odd = {name: verdict for name, verdict in verdicts.items() if verdict != ("held", None)}
    assert odd == {
        "a-gate-makes-every-proposer-safe": ("falsified", None),  # as its author expected
        "the-pair-stays-below-one-and-one": ("failed", "short"),
        "two-worlds-move-the-pair": ("failed", "short"),
        "surface-is-near-chance-elsewhere": ("falsified", None),
    }
    gate = next(p for p in ledger["predictions"] if p["id"] == "a-gate-makes-every-proposer-safe")
    # wrong claims of `pair_out` and `synthetic` at 0.9, then at 0.99
    assert [leg["left"] for leg in gate["legs"]] == [49, 38, 30, 27]
    assert ledger["counts"] == {"held": 14, "failed": 2, "falsified": 2, "surprises": 3}


@pytest.mark.slow
def test_the_records_of_the_library_are_made_twice_with_the_same_bytes(module, library, ledger):
    again = module.make_records(library.folder)
    (file,) = ledger["data"]["files"]
    assert file["sha256"] == hashlib.sha256(again.encode("ascii")).hexdigest()
