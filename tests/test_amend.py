"""Amendments: what changed and which way, which verdicts it touches, what had been seen; never a quiet second lock."""

from __future__ import annotations

import json
import shutil

import pytest

from broken_projects import command, contents
from ci_project import RECORDS, Study, kinds, prediction
from prereg import amend, registration
from prereg.direction import claim_direction
from prereg.project import Project


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path / "project")


def amendment(study, *more):
    return study.say("amend", str(study.root / "small.yaml"), *more)


# Direction of one constant


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ("a > 0.7", "a > 0.6", "weaker"),
        ("a > 0.7", "a >= 0.6", "changed"),
        ("a > 0.7", "a > 0.8", "stronger"),
        ("a < 0.7", "a < 0.8", "weaker"),
        ("0.7 < a", "0.6 < a", "weaker"),
        ("0.7 >= a", "0.6 >= a", "stronger"),
        ("a - b > 0.1", "a - b > 0", "weaker"),
        ("a > b + 0.1", "a > b + 0.2", "stronger"),
        ("a > b - 0.1", "a > b - 0.2", "weaker"),
        ("a > -0.1", "a > -0.2", "weaker"),
        ("a > 2 * b", "a > 3 * b", "changed"),
        ("a * 2 > b", "a * 3 > b", "changed"),
        ("2 * 0.5 < a", "3 * 0.5 < a", "stronger"),
        ("not a > 0.7", "not a > 0.6", "stronger"),
        ("a > 0.7 and b < 1", "a > 0.6 and b < 1", "weaker"),
        ("a > 0.7 and b < 1", "a > 0.6 and b < 2", "changed"),
        ("all(a > 0.7)", "all(a > 0.8)", "stronger"),
        ("any(point(a) > 0.7)", "any(point(a) > 0.8)", "stronger"),
        ("share(a > 0.7) > 0.5", "share(a > 0.6) > 0.5", "changed"),
        ("share(a > 0.7) > 0.5", "share(a > 0.7) > 0.4", "weaker"),
        ("a within [0.1, 0.2]", "a within [0.1, 0.3]", "weaker"),
        ("a within [0.1, 0.2]", "a within [0.15, 0.2]", "stronger"),
        ("a within [0.1, 0.2]", "a within [0, 0.3]", "changed"),
        ("0.1 < a < 0.5", "0.2 < a < 0.5", "stronger"),
        ("a < 0.5 < b", "a < 0.6 < b", "changed"),
        ("a < 0.5 > b", "a < 0.6 > b", "weaker"),
        ("a == 0.5", "a == 0.6", "changed"),
        ("a[gate=0.5] > 0.7", "a[gate=0.6] > 0.7", "changed"),
        ("a[gate=0.5] > 0.7", "a[gate=0.5] > 0.6", "weaker"),
        ("a > 0.7", "b > 0.7", "changed"),
        ("support < 0.5", "support < 0.4", "stronger"),
        ("a > 0.7", "a > 0.70", "changed"),
        ("a > 0.7", "a >", "changed"),
        ("a in [1, 2]", "a in [1, 3]", "changed"),
    ],
)
def test_direction_of_a_claim_by_hand(before, after, direction):
    assert claim_direction(before, after) == direction


def test_a_direction_turns_around_with_its_change():
    turned = {"weaker": "stronger", "stronger": "weaker", "changed": "changed"}
    for a, b in [("a > 0.7", "a > 0.6"), ("x within [0, 1]", "x within [0, 2]"), ("a == 1", "a == 2")]:
        assert claim_direction(b, a) == turned[claim_direction(a, b)]


RESAMPLING = "{resamples: 100, seed: 1}"
GOOD = "claim: right[b] > 0.3"
RANKS = "  b-ranks:\n    claim: ranked[b] > 0.5\n    evidence: point\n    anticipate: open\n"


@pytest.mark.parametrize(
    ("old", "new", "path", "direction", "touched"),
    [
        ("right[b] > 0.3", "right[b] > 0.2", "protocol.predictions[good].claim", "weaker", ["good"]),
        (GOOD, f"{GOOD}\n    level: 0.9", "protocol.predictions[good].level", "weaker", ["good"]),
        (GOOD, f"{GOOD}\n    level: 0.99", "protocol.predictions[good].level", "stronger", ["good"]),
        (
            GOOD,
            f"{GOOD}\n    falsified_if: support < 0.5",
            "protocol.predictions[good].falsified_if",
            "changed",
            ["good"],
        ),
        (GOOD, f"{GOOD}\n    tier: exploratory", "protocol.predictions[good].tier", "weaker", ["good"]),
        (GOOD, f"{GOOD}\n    because: It is.", "protocol.predictions[good].because", "changed", []),
        (GOOD, f"{GOOD}\n    anticipate: failed", "protocol.predictions[good].anticipate", "changed", ["good"]),
        (RANKS, "", "protocol.predictions[b-ranks]", "weaker", []),
        (
            RANKS,
            RANKS + "  new:\n    claim: right[a] > 0.1\n",
            "protocol.predictions[new]",
            "stronger",
            ["new"],
        ),
        (
            RESAMPLING,
            "{resamples: 200, seed: 1}",
            "protocol.resampling.resamples",
            "stronger",
            ["good", "b-is-better"],
        ),
        (
            RESAMPLING,
            "{resamples: 90, seed: 1}",
            "protocol.resampling.resamples",
            "weaker",
            ["good", "b-is-better"],
        ),
        (
            RESAMPLING,
            "{resamples: 100, seed: 1, level: 0.9}",
            "protocol.resampling.level",
            "weaker",
            ["good", "b-is-better"],
        ),
        (
            RESAMPLING,
            "{resamples: 100, seed: 2}",
            "protocol.resampling.seed",
            "changed",
            ["good", "b-is-better"],
        ),
        ("right: {rate: correct}", "right: {rate: not correct}", "protocol.metrics[right]", "changed", ["good", "b-is-better"]),
        ("label: correct}", "label: not correct}", "protocol.metrics[ranked]", "changed", ["b-ranks"]),
        ("title: A small | project", "title: Another", "protocol.title", "changed", []),
        ("unit: item}", "unit: item, where: score < 9}", "protocol.data.where", "changed", ["good", "b-is-better", "b-ranks"]),
    ],
)  # fmt: skip
def test_each_change_with_its_direction_and_what_it_touches(study, old, new, path, direction, touched):
    amends = study.amend(old, new)["amends"]
    found = {c["path"]: c["direction"] for c in amends["changes"]}
    assert [found[p] for p in found if p.startswith(path)] == [direction]
    assert [t["prediction"] for t in amends["touched"]] == touched


def test_a_verdict_hangs_on_what_it_was_given(study):
    study = Study(study.root.with_name("given"), ran=False)
    study.edit("claim: ranked[b] > 0.5", "claim: ranked[b] > 0.5\n    given: b-is-better")
    shutil.rmtree(study.root / "registrations")
    study.say("lock", str(study.root / "small.yaml"))
    amends = study.amend("right[b] > right[a]", "right[b] > right[a] + 0.01")["amends"]
    assert [t["prediction"] for t in amends["touched"]] == ["b-is-better", "b-ranks"]


# The chain


def test_a_changed_protocol_is_no_second_lock(study):
    study.edit("0.3", "0.2")
    before = contents(study.root)
    said = study.say("lock", str(study.root / "small.yaml"))
    assert said.code == 3
    assert "prereg amend small.yaml --reason" in said.err
    assert study.say("run").code == 3
    assert contents(study.root) == before


def test_an_amendment_is_run_and_says_so_beside_every_verdict_it_touches(study):
    first = study.current()
    tree = study.amend("0.3", "0.2")
    assert tree["amends"]["digest"] == first.digest
    assert study.current().digest == tree["digest"]
    said = study.run()
    assert "held, deviated" in said.out
    assert f"good: held before, under {first.short}" in said.out
    _, stored = study.ledger()
    assert [p["deviated"] for p in stored.content["predictions"]] == [True, False, False]
    assert prediction(stored.content, "good")["deviations"] == [
        {"amends": first.digest, "path": "protocol.predictions[good].claim", "direction": "weaker"}
    ]
    assert stored.content["amends"] == {
        "digest": first.digest,
        "reason": "The bar was copied from another study.",
        "seen": "results written",
    }
    assert len(study.registrations) == len(study.ledgers) == 2
    shown = study.say("show", "small").out
    assert shown.count("deviated") == 3
    assert f"amendment of {first.short}; seen when it was made: results written; 1 verdict deviated" in shown


def test_what_was_never_amended_says_nothing_of_it(study):
    _, stored = study.ledger()
    assert "amends" not in stored.content
    assert not any("deviated" in p for p in stored.content["predictions"])


def test_a_deviation_stays_with_the_amendments_of_an_amendment(study):
    first = study.current()
    second = study.amend("0.3", "0.2")
    third = study.amend("right[b] > right[a]", "right[b] > right[a] - 0.1")
    touched = {t["prediction"]: [c["amends"] for c in t["changes"]] for t in third["amends"]["touched"]}
    assert touched == {"good": [first.digest], "b-is-better": [second["digest"]]}


def test_locking_or_amending_the_same_again_changes_nothing(study):
    tree = study.amend("0.3", "0.2")
    before = contents(study.root)
    said = study.json("lock", str(study.root / "small.yaml"))
    assert (said["new"], said["digest"]) == (False, tree["digest"])
    again = study.json("amend", str(study.root / "small.yaml"), "--reason", tree["amends"]["reason"])
    assert (again["new"], again["digest"]) == (False, tree["digest"])
    assert contents(study.root) == before
    assert amendment(study, "--reason", "Another reason for nothing.").code == 2


def test_going_back_is_an_amendment_too(study):
    study.amend("0.3", "0.2")
    study.edit("0.2", "0.3")
    assert study.say("lock", str(study.root / "small.yaml")).code == 3
    back = study.json("amend", str(study.root / "small.yaml"), "--reason", "The first bar was right.")
    assert [c["direction"] for c in back["amends"]["changes"]] == ["stronger"]


NO_REASONS = [
    *("ok", "OK.", "fix", "update", "change", "tbd", "todo", "x", "-", ".", "none", "n/a", "reason", "test"),
    *("fix it", "just a test", "1 2", "refactoring", "\t\n", "..!"),
]


@pytest.mark.parametrize(
    "reason", ["", "   ", "...", "TODO", "because <why>", "a \x00 b", "x" * 5000, *NO_REASONS]
)
def test_a_reason_is_words(study, reason):
    study.edit("0.3", "0.2")
    before = contents(study.root)
    assert amendment(study, "--reason", reason).code == 2
    assert contents(study.root) == before


@pytest.mark.parametrize(
    "reason", ["It grew.", "Update of the bar.", "Die Schwelle war falsch.", "基準値は別の研究から写された。"]
)
def test_a_short_reason_in_words_is_one(reason):
    assert amend.reason_of(f" {reason} ") == reason


def test_a_reason_is_asked_for(study):
    assert amendment(study).code == 2


def test_an_id_that_was_never_locked_has_nothing_to_amend(study):
    study.edit("id: small", "id: smaller")
    said = amendment(study, "--reason", "It grew.")
    assert said.code == 4
    assert "did you mean `small`" in said.err


def test_a_protocol_that_cannot_be_promised_is_no_amendment(study):
    study.edit("0.3", "2")
    assert amendment(study, "--reason", "It cannot be.").code == 2
    assert len(study.registrations) == 1


# Two amendments of one parent


@pytest.fixture
def forked(study, tmp_path):
    """A study that two branches amended."""
    other = tmp_path / "branch"
    shutil.copytree(study.root, other)
    study.amend("0.3", "0.2")
    branch = Study.__new__(Study)
    branch.root = other
    branch.amend("0.3", "0.25")
    for path in (other / "registrations" / "small").glob("*.json"):
        shutil.copy(path, study.root / "registrations" / "small")
    return study


def test_two_amendments_of_one_parent_are_3_until_one_supersedes(forked):
    said = forked.say("run")
    assert said.code == 3
    assert "2 current registrations" in said.err
    assert forked.say("diff").code == 3
    assert amendment(forked, "--reason", "Both branches were merged.").code == 2
    heads = [r.short for r in registration.heads(registration.of_id(Project.at(forked.root), "small"))]
    assert len(heads) == 2
    one = ("--reason", "Both branches were merged.", "--parent", heads[0])
    assert amendment(forked, *one).code == 2
    tree = forked.json("amend", str(forked.root / "small.yaml"), *one, "--parent", heads[1])
    assert tree["amends"]["digest"][:12] == heads[0]
    assert [s["digest"][:12] for s in tree["amends"]["supersedes"]] == [heads[1]]
    forked.run()
    assert forked.json("diff")["exit_code"] == 0
    assert len(forked.registrations) == 4


def test_a_parent_is_current(forked):
    first = next(r for r in registration.of_id(Project.at(forked.root), "small") if "amends" not in r.content)
    said = amendment(forked, "--reason", "Back to the start.", "--parent", first.short)
    assert said.code == 2
    assert "superseded already" in said.err
    assert amendment(forked, "--reason", "Back to it.", "--parent", "0" * 12).code == 4


def test_a_superseded_registration_stays(study):
    first = study.registrations[0]
    study.amend("0.3", "0.2")
    first.unlink()
    said = study.say("run")
    assert said.code == 3
    assert "is gone" in said.err
    assert study.say("diff").code == 3
    study.edit("0.2", "0.1")
    assert amendment(study, "--reason", "Once more.").code == 3


def _resealed(study, change):
    """An amendment whose own words about its changes were changed, under a digest that fits."""
    one = study.current()
    content = json.loads(json.dumps(one.content))
    change(content["amends"])
    path = study.root / one.name
    path.unlink()
    digest = registration.FILE.digest(content)
    path.with_name(f"{digest[:12]}.json").write_bytes(registration.to_bytes(content, one.envelope))
    return registration.current(Project.at(study.root), "small")


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a["changes"][0].update(direction="stronger"),
        lambda a: a["changes"].clear(),
        lambda a: a["touched"].clear(),
        lambda a: a["changes"][0].update(before="right[b] > 0.1"),
    ],
)
def test_an_amendment_cannot_lie_about_its_changes(study, change):
    study.amend("0.3", "0.2")
    one = _resealed(study, change)
    assert amend.problems(one, registration.of_id(Project.at(study.root), "small"))
    tree = study.json("diff")
    assert ("integrity", "amendment") in kinds(tree)


# What had been seen


def seen(tree):
    return tree["amends"]["seen"]


def test_nothing_run(tmp_path):
    tree = Study(tmp_path, ran=False).amend("0.3", "0.2")
    assert seen(tree)["state"] == "nothing run"
    assert seen(tree)["attempts"] == []


def test_a_run_that_was_killed_is_seen(study):
    for path in (study.root / "results" / "small" / "attempts").glob("*.json"):
        tree = json.loads(path.read_text(encoding="utf-8"))
        from prereg.attempts import FILE

        path.write_bytes(FILE.to_bytes(tree["start"], None))
    shutil.rmtree(study.ledgers[0].parent)
    tree = study.amend("0.3", "0.2")
    assert seen(tree)["state"] == "run started"
    assert seen(tree)["attempts"] == [{"kind": "run", "started": 1, "results": 0}]


def test_results_are_seen_though_their_ledger_was_taken_away(study):
    _, stored = study.ledger()
    shutil.rmtree(study.ledgers[0].parent)
    tree = study.amend("0.3", "0.2")
    assert seen(tree)["state"] == "results written"
    (entry,) = seen(tree)["judged"]
    assert (entry["verdicts"], entry["counts"]) == (None, stored.content["counts"])


def test_results_are_seen_though_their_attempts_were_taken_away(study):
    for folder in ("results", "registrations"):
        shutil.rmtree(study.root / folder / "small" / "attempts")
    tree = study.amend("0.3", "0.2")
    assert seen(tree)["state"] == "results written"
    verdicts = {v["prediction"]: v["verdict"] for v in seen(tree)["judged"][0]["verdicts"]}
    assert verdicts == {"good": "held", "b-is-better": "failed", "b-ranks": "falsified"}


def test_a_damaged_attempt_stops_an_amendment(study):
    path = next((study.root / "results" / "small" / "attempts").glob("*.json"))
    path.write_bytes(path.read_bytes()[:-2])
    study.edit("0.3", "0.2")
    assert amendment(study, "--reason", "A lower bar.").code == 3


def test_records_that_were_judged_under_another_id_are_seen_by_their_digest(study):
    text = (study.root / "small.yaml").read_text(encoding="utf-8")
    (study.root / "copy.csv").write_text(RECORDS, encoding="utf-8")
    (study.root / "other.csv").write_text(RECORDS.replace("a,0,0", "a,0,1"), encoding="utf-8")
    for name, file in (("twin", "copy.csv"), ("stranger", "other.csv")):
        path = study.root / f"{name}.yaml"
        path.write_text(
            text.replace("id: small", f"id: {name}").replace("records.csv", file), encoding="utf-8"
        )
        assert study.say("lock", str(path)).code == 0
    study.run("twin", "stranger")
    tree = study.amend("0.3", "0.2")
    assert [(e["id"], e["files"]) for e in seen(tree)["judged"]] == [
        ("small", ["records.csv"]),
        ("twin", ["copy.csv"]),
    ]
    out = study.run("small").out
    assert "these records were judged before, as twin" in out
    assert "b-is-better failed" in out


# Diff


def test_diff_tells_a_weakened_bar_and_can_fail_on_it(study):
    commit = study.committed()
    study.amend("0.3", "0.2")
    study.run()
    tree = study.json("diff", "--base", commit)
    assert tree["exit_code"] == 0
    assert ("warning", "weakened") in kinds(tree)
    assert study.json("diff", "--base", commit, "--fail-on", "weakened")["exit_code"] == 1
    row = tree["ledgers"][0]["predictions"][0]
    assert (row["deviated"], row["base"]["verdict"]) == (True, "held")
    later = study.committed()
    tree = study.json("diff", "--base", later, "--fail-on", "weakened")
    assert (tree["exit_code"], kinds(tree)) == (0, [("note", "weakened")])


def test_a_verdict_that_changes_by_an_amendment_is_1(study):
    commit = study.committed()
    study.amend("0.3", "0.6")
    study.run()
    tree = study.json("diff", "--base", commit)
    assert tree["exit_code"] == 1
    assert "held in the base, now failed (short) by an amendment" in str(tree["findings"])


def test_a_prediction_that_an_amendment_drops_is_1(study):
    commit = study.committed()
    study.amend(RANKS, "")
    study.run()
    tree = study.json("diff", "--base", commit)
    assert tree["exit_code"] == 1
    assert "now no longer predicted" in str(tree["findings"])


def test_amend_prints_what_it_wrote(study):
    study.edit("0.3", "0.2")
    said = amendment(study, "--reason", "A lower bar.")
    assert said.code == 0
    for words in ("amended small as", "(weaker)", "touches  good", "results written", "judged before"):
        assert words in said.out
    assert "changed  protocol.predictions[good].claim" in study.say("show", "small", "--registration").out


def test_amend_needs_a_protocol(tmp_path):
    assert command("amend", str(tmp_path / "none.yaml"), "--reason", "x y", "--root", str(tmp_path)).code == 4
