"""The procedure of verify, check by check: what each notices, what it cannot, and that it writes nothing."""

from __future__ import annotations

import copy
import json
import shutil

import jsonschema
import pytest

import forge
from broken_projects import command, contents, write
from forge import failed, forge_ledger, made, verified
from prereg import ledger, registration, rejudge
from prereg.outputs import OUTPUTS
from prereg.project import Project
from prereg.schema import schema_of
from prereg.verify import CHECKS, exit_code, verify

RICH = """\
prereg: 1
id: rich
title: Every way in which a verdict comes about
data: {records: records.csv, arm: system, unit: item, sample: k, columns: {certified: right}}
metrics:
  right: {rate: right}
  sure: {mean: conf}
  suite_right: {rate: right, per: suite}
let:
  good: right[a] > 0.2
resampling: {resamples: 60, seed: 3, level: 0.9}
variants:
  strict: {where: level < 3}
predictions:
  simple: {claim: "right[b] > right[a]"}
  turned: {claim: "not right[b] > right[a]"}
  high: {claim: "right[a] > 0.99"}
  low: {claim: "right[a] < 0.2"}
  both: {claim: "right[a] > 0.1 and right[b] > 0.1"}
  either: {claim: "right[a] > 0.9 or right[b] > 0.2"}
  chain: {claim: "0.1 < right[a] < 0.95"}
  inside: {claim: "right[a] within [0.2, 0.9]"}
  every: {claim: "all(right > 0.3)"}
  some: {claim: "any(right > 0.8) or any(right > 0.05)"}
  nested: {claim: "all(any(suite_right > 0.1, over=suite))"}
  still: {claim: "dropped[a] < 0.5 and right[a] > 0.1"}
  named: {claim: "good and right[b] > 0.2"}
  pointed: {claim: "point(right[a] > 0.5) and right[a] > 0.05"}
  differ: {claim: "differs(right[a], right[b])"}
  exactly: {claim: "right[a] > 0.3", evidence: exact}
  at-point: {claim: "right[a] == right[b]", evidence: point}
  labels: {claim: "argmax(right) == \\"b\\"", evidence: point}
  known: {claim: "defined(right[a])", evidence: point}
  supported: {claim: "right[a] > 0.4 and right[b] > 0.1", evidence: {support: 0.8}}
  falsifier: {claim: "right[b] > right[a]", falsified_if: support < 0.9, anticipate: falsified}
  counter: {claim: "right[b] > 0.1", falsified_if: "right[a] > 0.05"}
  given: {claim: "right[a] > 0.1", given: low}
  agreed: {claim: "right[a] > 0.1", agree: strict}
  first: {claim: "right[a] > 0.2", family: pair}
  second: {claim: "right[b] > 0.9", family: pair}
  each-one: {claim: "right[$system] > 0.1", each: system}
  aside: {claim: "right[a] > 0.1", tier: exploratory}
outcomes:
  - {when: "held(simple)", then: b is better}
  - {when: "not held(simple)", then: nothing is shown}
reports: {gap: "right[a] - right[b]"}
"""


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "project")


@pytest.fixture
def rich(tmp_path):
    return made(tmp_path / "rich", RICH)


# What holds


@pytest.mark.parametrize("options", [(), ("--rerun",)])
def test_an_honest_project_passes_every_check_and_nothing_is_written(rich, options):
    before = contents(rich)
    code, checks = verified(rich, *options)
    assert code == 0
    assert {name for name in CHECKS if name in checks} >= set(CHECKS) - {"rerun"}
    assert ("rerun" in checks) == bool(options)
    states = {name: state for name, (state, _) in checks.items()}
    assert {n for n, s in states.items() if s not in ("ok", "unchecked", "partial")} == set()
    assert states["history"] == "partial"  # no git: order cannot be proven
    assert contents(rich) == before


def test_every_verdict_but_those_of_nested_folds_and_names_is_derived_again(rich):
    code, checks = verified(rich)
    assert code == 0
    state, detail = checks["verdicts"]
    assert state == "unchecked"
    assert detail.count("predictions[") == 2  # once as registered, once in the variant
    assert "predictions[nested]: a fold inside a fold" in detail


def test_verify_knows_ids_and_says_what_is_near(folder):
    assert command("verify", "control", "-C", str(folder)).code == 0
    said = command("verify", "contol", "-C", str(folder))
    assert said.code == 4
    assert "did you mean `control`?" in said.err


def test_nothing_registered_is_missing(tmp_path):
    assert command("verify", "-C", str(tmp_path)).code == 4


# What is not there


def test_absent_records_are_unchecked_and_missing_on_request(folder):
    (folder / "records.csv").unlink()
    code, checks = verified(folder)
    assert (code, checks["data"][0], checks["resolution"][0]) == (0, "unchecked", "unchecked")
    assert checks["verdicts"][0] == "ok"  # from the numbers in the ledger
    code, checks = verified(folder, "--require-data")
    assert (code, checks["data"][0]) == (4, "missing")
    assert "records.csv" in checks["data"][1]


def test_changed_records_fail(folder):
    with (folder / "records.csv").open("a") as file:
        file.write("a,q0,2,x,1,0.5,true,true\n")
    code, checks = verified(folder)
    assert (code, checks["data"][0]) == (3, "FAILED")
    assert "records.csv" in checks["data"][1]


def test_replaced_records_of_equal_size_fail(folder):
    text = (folder / "records.csv").read_text()
    (folder / "records.csv").write_text(text.replace(",true,true", ",TRUE,true", 1))
    assert failed(folder) == {"data"}


def test_a_registration_that_was_never_run_is_missing_a_ledger(tmp_path):
    folder = made(tmp_path / "p", runs=0)
    code, checks = verified(folder)
    assert (code, checks["ledger"][0]) == (4, "missing")
    code, checks = verified(folder, "--allow-unrun")
    assert (code, checks["ledger"][0]) == (0, "unchecked")


def test_a_ledger_that_an_attempt_wrote_and_is_gone_fails(folder):
    forge.only(folder, forge.LEDGER).unlink()
    assert failed(folder) == {"ledger"}


def test_a_table_that_is_gone_is_missing_and_a_changed_one_fails(folder):
    path = forge.only(folder, "results/*/*/policies.csv")
    data = path.read_bytes()
    path.write_bytes(data[:-2] + b"9\n")
    assert failed(folder) == {"tables"}
    path.unlink()
    code, checks = verified(folder)
    assert (code, checks["tables"][0]) == (4, "missing")


# The protocol

EDITS = {
    "comment": lambda t: t + "# a remark\n",
    "number": lambda t: t.replace("level: 0.9\n", "level: 9e-1\n"),
    "order of keys": lambda t: t.replace("  resamples: 50\n  seed: 5\n", "  seed: 5\n  resamples: 50\n"),
    "quotes": lambda t: t.replace(
        "title: A protocol without a defect", "title: 'A protocol without a defect'"
    ),
    "line endings": lambda t: t.replace("\n", "\r\n"),
    "byte order mark": lambda t: "\ufeff" + t,
    "folded": lambda t: t.replace("claim: all(wrong < 0.9)", "claim: >-\n      all(wrong\n      < 0.9)"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_cosmetic_edits_are_accepted_and_named(folder, edit):
    path = folder / "protocol.yaml"
    before = path.read_bytes()
    path.write_bytes(edit(before.decode()).encode())
    assert path.read_bytes() != before
    code, checks = verified(folder)
    assert (code, checks["protocol"][0]) == (0, "cosmetic")
    said = command("run", "-C", str(folder))
    assert said.code == 0
    assert "cosmetic" in said.out


@pytest.mark.parametrize(
    ("old", "new"),
    [("wrong < 0.9", "wrong < 0.95"), ("resamples: 50", "resamples: 51"), ("seed: 5", "seed: 6")],
)
def test_another_protocol_fails(folder, old, new):
    path = folder / "protocol.yaml"
    path.write_text(path.read_text().replace(old, new))
    code, checks = verified(folder)
    assert (code, checks["protocol"][0]) == (3, "FAILED")
    assert "protocol.yaml" in checks["protocol"][1]
    assert command("run", "-C", str(folder)).code == 3


def test_a_protocol_that_is_gone_is_unchecked(folder):
    (folder / "protocol.yaml").unlink()
    code, checks = verified(folder)
    assert (code, checks["protocol"][0]) == (0, "unchecked")


# Forged ledgers, their digests made to fit


def _first(name):
    def change(content):
        return next(p for p in content["predictions"] if p["id"] == name)

    return change


def test_a_ledger_of_another_registration_fails(folder):
    forge_ledger(folder, lambda c: c["registration"].update(digest="0" * 64))
    assert "binding" in failed(folder)


def test_a_ledger_of_other_records_fails(folder):
    forge_ledger(folder, lambda c: c["data"]["files"][0].update(rows=7))
    assert "binding" in failed(folder)


MOVES = {
    "missing": lambda c: c["predictions"].pop(),
    "twice": lambda c: c["predictions"].append(copy.deepcopy(c["predictions"][0])),
    "extra": lambda c: c["predictions"].append({**copy.deepcopy(c["predictions"][0]), "id": "luck"}),
    "order": lambda c: c["predictions"].reverse(),
    "claim": lambda c: c["predictions"][0].update(claim="all(wrong < 0.99)"),
    "anticipated": lambda c: c["predictions"][0].update(anticipated="failed"),
    "tier": lambda c: c["predictions"][0].update(tier="exploratory"),
    "falsifier": lambda c: c["predictions"][0].update(falsifier=None),
    "report": lambda c: c["reports"].pop(),
}


@pytest.mark.parametrize("change", MOVES.values(), ids=MOVES)
def test_every_prediction_is_there_once_in_order_as_registered(folder, change):
    forge_ledger(folder, change)
    assert failed(folder) == {"predictions"}


def _verdicts():
    names = [line.split(":")[0].strip() for line in RICH.splitlines() if "claim:" in line]
    # a fold in a fold is taken as it is said, and so is a truth without a difference
    return [n for n in names if n not in ("nested", "each-one", "known", "labels")]


@pytest.fixture(scope="module")
def found():
    """Registration and ledger of the project with every kind of verdict."""
    folder = forge._made(RICH, 1)
    path = forge.only(folder, forge.LEDGER)
    return registration.current(Project.at(folder), "rich"), forge.parts(path, "ledger")[0]


@pytest.mark.parametrize("name", _verdicts())
def test_a_changed_verdict_does_not_follow(found, name):
    registered, content = found
    for verdict in ("held", "falsified", "failed"):
        forged = copy.deepcopy(content)
        entry = _first(name)(forged)
        if entry["verdict"] != verdict:
            entry.update(verdict=verdict, reason="short" if verdict == "failed" else None)
            problems = rejudge.rejudge(registered, forged).problems
            assert any(p.startswith(f"predictions[{name}]") for p in problems), (verdict, problems)


def test_a_changed_verdict_fails_whole(rich):
    forge_ledger(rich, lambda c: _first("low")(c).update(verdict="held", reason=None))
    code, checks = verified(rich)
    assert (code, checks["verdicts"][0]) == (3, "FAILED")
    assert "predictions[low].verdict: the numbers say" in checks["verdicts"][1]


def _unvaried(content):
    """A leg that came out the same in every resample."""
    legs = [leg for p in content["predictions"] for leg in p.get("legs", [])]
    return next(one for one in legs if one["reason"] == "no_variation" and "level_corrected" in one)


CHANGES = {
    "counts": lambda c: c["counts"].update(held=c["counts"]["held"] + 1),
    "headline": lambda c: c.update(headline="b is far better"),
    "surprise": lambda c: _first("simple")(c).update(surprise=not _first("simple")(c)["surprise"]),
    "guard": lambda c: _first("simple")(c).update(guard=True),
    "point": lambda c: _first("simple")(c).update(point=0.5),
    "level": lambda c: _first("simple")(c).update(level=0.5),
    "p_adjusted": lambda c: _first("first")(c).update(p_adjusted=0.0001),
    "support": lambda c: _first("falsifier")(c).update(support=1.0),
    "fired": lambda c: _first("falsifier")(c)["falsifier"].update(
        fired=not _first("falsifier")(c)["falsifier"]["fired"]
    ),
    "leg": lambda c: _first("both")(c)["legs"][0].update(verdict="falsified", reason=None),
    "level_corrected": lambda c: _first("both")(c)["legs"][0].update(level_corrected=0.5),
    "level_corrected without variation": lambda c: _unvaried(c).update(level_corrected=0.5),
    "a leg less": lambda c: _first("every")(c)["legs"].pop(),
    "resamples_defined": lambda c: _first("simple")(c).update(resamples_defined=1),
    "verdict of a variant": lambda c: c["variants"][0]["predictions"][0].update(verdict="held", reason=None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_numbers_that_contradict_each_other_fail(rich, change):
    forge_ledger(rich, change)
    assert "verdicts" in failed(rich)


def test_only_a_rerun_sees_numbers_that_are_forged_throughout(folder):
    """What no check without the records can see: it is named in docs/verify.md."""

    def change(content):
        value = content["reports"][0]["values"][0]
        value["value"] = value["value"] / 2

    forge_ledger(folder, change)
    assert failed(folder) == set()
    assert failed(folder, "--rerun") == {"rerun"}


def test_a_ledger_forged_alone_is_not_the_one_that_the_attempt_wrote(folder):
    def change(content, _):
        content["reports"][0]["values"][0]["value"] = 0.123

    forge.forge(folder, forge.LEDGER, "ledger", change)
    assert failed(folder) == {"attempts"}


def test_the_circumstances_of_ledger_and_registration_are_covered_by_the_attempts(folder):
    forge.forge(
        folder, forge.LEDGER, "ledger", lambda _, envelope: envelope.update(time="2020-01-01T00:00:00Z")
    )
    assert failed(folder) == {"attempts"}
    forge.forge(
        folder,
        forge.REGISTRATION,
        "registration",
        lambda _, envelope: envelope.update(time="2020-01-01T00:00:00Z"),
    )
    code, checks = verified(folder)
    assert code == 3
    assert "another file of the registration" in checks["attempts"][1]


def test_other_versions_of_parts_fail(folder):
    forge.forge(folder, forge.REGISTRATION, "registration", lambda c, _: c["parts"].update(judge=2))
    assert "parts" in failed(folder)
    assert command("run", "-C", str(folder)).code == 3


def test_a_registration_that_no_lock_would_write_ends_a_run_with_3(tmp_path):
    folder = made(tmp_path / "p", runs=0)

    def compound(content, _):
        content["protocol"]["predictions"][0] |= {
            "claim": "wrong[a, none] < 0.9 and wrong[b, none] > 0.1",
            "family": "f",
        }

    forge.forge(folder, forge.REGISTRATION, "registration", compound)
    (folder / "protocol.yaml").unlink()
    said = command("run", "-C", str(folder))
    assert said.code == 3, said.err
    assert "single leg" in said.err
    assert failed(folder, "--allow-unrun") == {"resolution"}


# Malformed content under a valid digest


def _paths(tree, at=()):
    if at:
        yield at
    for key in tree if isinstance(tree, dict) else range(min(len(tree), 2)) if isinstance(tree, list) else ():
        yield from _paths(tree[key], (*at, key))


WRONG = {"gone": ..., "null": None, "text": "x", "number": 7.5, "list": []}
EVERY = 12
"""Every so-manieth of these files is given to whole commands too, the others to what they call."""


def _broken(tree, path, wrong):
    out = copy.deepcopy(tree)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    if wrong is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = wrong
    return out


KINDS = pytest.mark.parametrize("kind", ["registration", "ledger", "attempt", "witness"])


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@KINDS
def test_malformed_content_under_a_valid_digest_is_never_a_traceback(tmp_path, kind, wrong, monkeypatch):
    _malformed(tmp_path, kind, wrong, monkeypatch, every=9)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@KINDS
def test_no_malformed_content_at_all_is_a_traceback(tmp_path, kind, wrong, monkeypatch):
    _malformed(tmp_path, kind, wrong, monkeypatch, every=1)


def _malformed(tmp_path, kind, wrong, monkeypatch, every):
    monkeypatch.setattr("prereg.verify.checkout", lambda _: "left out here")
    folder = made(tmp_path / "p")
    pattern = {"registration": forge.REGISTRATION, "ledger": forge.LEDGER}.get(kind)
    pattern = pattern or {"attempt": forge.ATTEMPT, "witness": forge.WITNESS}[kind]
    (folder / "records.csv").unlink()  # what needs the records is not what is tested here
    path = forge.only(folder, pattern)
    kept = path.read_bytes()
    halves = forge.parts(path, kind)
    calls = [["verify"], ["status"]]
    if kind in ("registration", "ledger"):
        calls.append(["show", "control"])
    if kind == "registration":
        calls.append(["run"])
    project = Project.at(folder)
    count = 0
    for half in (0, 1):
        for where in _paths(halves[half]) if halves[half] else ():
            if wrong is ... and isinstance(where[-1], int):
                continue
            changed = [_broken(tree, where, wrong) if i == half else tree for i, tree in enumerate(halves)]
            count += 1
            if changed[half] == halves[half] or count % every:
                continue
            forged = forge.seal(path, kind, *changed)
            # what is around a registration is covered by the attempts that started with it
            assert exit_code(verify(project)) == 3, where
            for call in calls if count % (EVERY * every) == 0 else ():
                said = command(*call, "-C", str(folder))
                assert said.code in (0, 3, 4), (call, where, said.err[-600:])
                assert "Traceback" not in said.err
            forged.unlink()
            path.write_bytes(kept)


# Untrusted input


def test_links_that_lead_out_are_not_followed(folder, tmp_path):
    outside = tmp_path / "outside"
    shutil.move(folder / "results" / "control", outside)
    (folder / "results" / "control").symlink_to(outside)
    said = command("verify", "-C", str(folder))
    assert said.code == 3
    assert "leads out of the project folder" in said.out


def test_a_registration_that_names_records_elsewhere_fails(folder):
    forge.forge(
        folder,
        forge.REGISTRATION,
        "registration",
        lambda c, _: c["data"]["files"][0].update(path="../secret"),
    )
    code, checks = verified(folder)
    assert (code, checks["data"][0]) == (3, "FAILED")


# The table and the schema


def test_the_table_numbers_the_checks_and_says_what_failed(folder):
    (folder / "records.csv").write_text("system,item\n")
    said = command("verify", "-C", str(folder))
    assert said.code == 3
    lines = [line.split() for line in said.out.splitlines()]
    assert ["4", "data", "FAILED"] in [line[:3] for line in lines]
    assert ["15", "history", "PARTIAL"] in [line[:3] for line in lines]


@pytest.mark.parametrize("what", ["verify", "status", "run", "show", "check", "lock"])
def test_json_of_commands_fits_its_schema(rich, what):
    schema = schema_of(what)
    jsonschema.Draft202012Validator.check_schema(schema)
    protocol = str(rich / "protocol.yaml")
    arguments = {"show": ["rich"], "check": [protocol], "lock": [protocol]}.get(what, [])
    said = command(what, *arguments, "--json", "-C", str(rich))
    assert said.code == 0, said.err
    jsonschema.validate(json.loads(said.out), schema)
    refused = command(what, *arguments, "--json", "-C", str(rich / "nowhere"))
    jsonschema.validate(json.loads(refused.out), schema)


@pytest.mark.parametrize("kind", ["registration", "ledger", "attempt", "witness"])
def test_stored_files_fit_their_schema(rich, kind):
    pattern = {"registration": forge.REGISTRATION, "ledger": forge.LEDGER, "attempt": forge.ATTEMPT}
    path = forge.only(rich, pattern.get(kind, forge.WITNESS))
    schema = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    tree = json.loads(path.read_text())
    jsonschema.validate(tree, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**tree, "digest": "x"}, schema)


def test_every_schema_can_be_printed():
    for what in ("protocol", "registration", "ledger", "attempt", "witness", "note", *OUTPUTS, "note-output"):
        said = command("schema", what)
        assert said.code == 0
        jsonschema.Draft202012Validator.check_schema(json.loads(said.out))
    assert command("schema", "leger").code == 2


def test_the_judge_and_the_derivation_agree_on_a_ledger_of_numbers_alone(rich):
    """The derivation of a ledger from itself changes nothing."""
    project = Project.at(rich)
    registered = registration.current(project, "rich")
    stored = ledger.read(forge.only(rich, forge.LEDGER), "ledger.json")
    assert rejudge.one_each(registered, stored.content) == []
    assert rejudge.rejudge(registered, stored.content).problems == []


def test_write_keeps_its_promise(tmp_path):
    """The builder of these tests makes what a user would."""
    write(tmp_path)
    assert command("check", str(tmp_path / "protocol.yaml"), "-C", str(tmp_path)).code == 0
