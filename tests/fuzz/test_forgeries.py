"""A forger of everything: one thing changed, and every digest, name and witness made to fit it.

What `verify` does not notice then is written down here, with the reason; anything else that it lets pass is a
hole.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
import sealed_world
from hostile import at, places

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The files of the project as they were written."""
    return sealed_world.snapshot(sealed_world.made(tmp_path_factory.mktemp("forged") / "project"))


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr("prereg.verify.checkout", lambda _: "left out here")
    return tmp_path / "root"


def only(files, kind, name):
    """The file of a kind that is current."""
    sealed = sealed_world.read(files)
    found = [p for p, one in sealed.items() if one.kind == kind and f"/{name}/" in p]
    return max(found, key=lambda p: ("amends" in sealed[p].content, p))


def forged(files, path, change, *, without=("rich.yaml", "other.yaml")):
    """Files with one of them changed and all that name it made to fit; the registration alone decides."""
    new = copy.deepcopy(sealed_world.read(files)[path])
    change(new)
    return {p: d for p, d in sealed_world.follow(files, {path: new}).items() if p not in without}


def verified(root, files, *options):
    """(exit code, checks that failed) of a forged project."""
    sealed_world.lay(root, files)
    code, out, err = sealed_world.quiet(root, "verify", "--json", *options)
    assert "Traceback" not in err
    tree = json.loads(out)
    checks = [c for one in tree.get("verified", []) for c in one["checks"]]
    return code, {c["check"] for c in checks if c["state"] == "FAILED"}


def content(change):
    return lambda one: change(one.content)


def entry(index, **fields):
    def change(tree):
        tree["predictions"][index].update(fields)
        verdicts = [p["verdict"] for p in tree["predictions"] if not p["guard"] and "tier" not in p]
        tree["counts"].update({v: verdicts.count(v) for v in ("held", "failed", "falsified")})

    return content(change)


def without_legs(one):
    del one.content["predictions"][2]["legs"]


def leg(**fields):
    return content(lambda c: c["predictions"][2]["legs"][1].update(fields))


# (what is changed, in which file, how, the check that fails)
FORGERIES = [
    (
        "records that are bound by the first run, although none are promised",
        "registration",
        content(lambda c: c["data"].update(files=[], base=".")),
        "registration",
    ),
    (
        "records said to be promised",
        "registration",
        content(lambda c: c["data"].update(prospective=True)),
        "registration",
    ),
    (
        "a second place of records",
        "registration",
        content(lambda c: c["data"].update(base=".")),
        "registration",
    ),
    (
        "a collector of nothing",
        "registration",
        content(lambda c: c["data"].update(collector={"name": "x"})),
        "registration",
    ),
    (
        "another version of a metric",
        "registration",
        content(lambda c: c["protocol"]["metrics"][0].update(version=9)),
        "resolution",
    ),
    (
        "a prediction that stands twice, of which the last counts",
        "registration",
        content(
            lambda c: c["protocol"]["predictions"].insert(
                0, {**c["protocol"]["predictions"][0], "claim": "1 > 0"}
            )
        ),
        "predictions",
    ),
    (
        "a kind of metric from another time",
        "registration",
        content(lambda c: c["protocol"]["metrics"][0].update(kind="ratex")),
        "parts",
    ),
    (
        "a default that is left out",
        "registration",
        content(lambda c: c["protocol"]["policies"]["threshold"]["select"].pop("min_support")),
        "resolution",
    ),
    (
        "a verdict that was not measured",
        "ledger",
        entry(0, verdict="failed", reason="not_measured"),
        "verdicts",
    ),
    ("a compound claim without its legs", "ledger", without_legs, "verdicts"),
    ("a leg of another name", "ledger", leg(claim="risk > 0.9 [nobody, empirical, 0.3]"), "verdicts"),
    ("a leg by other evidence", "ledger", leg(evidence={"support": 0.71}), "verdicts"),
    ("a leg of more resamples", "ledger", leg(resamples=21, support=0.0), "predictions"),
    ("a leg at a level of its own", "ledger", leg(level=0.5), "verdicts"),
    ("a difference without its sides", "ledger", leg(left=None), "verdicts"),
    ("numbers of a compound claim", "ledger", entry(2, left=1.0), "verdicts"),
    ("a side that is no number", "ledger", leg(left="x"), "ledger"),
    ("evidence of another kind", "ledger", entry(1, evidence="interval"), "verdicts"),
    ("a support above one", "ledger", entry(1, support=1.01), "verdicts"),
    ("a support of no resamples", "ledger", entry(0, support=0.123), "verdicts"),
    (
        "units that were dropped",
        "ledger",
        content(lambda c: c["data"]["arms"][0].update(dropped=5)),
        "verdicts",
    ),
    (
        "policies that were excluded",
        "ledger",
        content(lambda c: c["excluded"].append({"system": "a"})),
        "verdicts",
    ),
    ("a table that stands twice", "ledger", content(lambda c: c["tables"].extend(c["tables"])), "tables"),
    ("an attempt of no known kind", "attempt", content(lambda c: c.update(kind="trial")), "attempts"),
]


@pytest.mark.parametrize(
    ("kind", "change", "check"), [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES]
)
def test_a_forgery_of_everything_is_noticed_by_its_check(project, root, kind, change, check):
    files = forged(project, only(project, kind, sealed_world.OTHER), change)
    code, failed = verified(root, files, sealed_world.OTHER)
    assert code == 3
    assert check in failed


def falsifier(**fields):
    return content(lambda c: c["predictions"][6]["falsifier"].update(fields))


@pytest.mark.parametrize(
    "change",
    [
        falsifier(left="x"),
        falsifier(legs=5),
        falsifier(verdict="lucky"),
        falsifier(resamples=[]),
        content(lambda c: c["predictions"][6]["falsifier"].pop("point")),
        content(lambda c: c["predictions"][0]["falsifier"].update(support="x")),
        content(lambda c: c["predictions"][0]["falsifier"].pop("support")),
    ],
)
def test_a_falsifier_is_a_condition_or_all_that_was_found_about_a_claim(project, root, change):
    files = forged(project, only(project, "ledger", sealed_world.ID), change)
    code, failed = verified(root, files)
    assert code == 3
    assert "ledger" in failed
    for words in (["show", sealed_world.ID, "--legs"], ["diff"], ["run"], ["status"]):
        assert sealed_world.quiet(root, *words)[0] == 3


@pytest.mark.parametrize(
    "fields",
    [{"agree": ["strictx"]}, {"given": ["later"]}, {"evidence": {"kind": "support", "support": 0.1}}],
)
def test_what_no_lock_lets_pass_is_refused_where_it_is_judged_again(project, root, fields):
    path = only(project, "registration", sealed_world.ID)
    files = forged(project, path, content(lambda c: c["protocol"]["predictions"][7].update(fields)))
    code, failed = verified(root, files)
    assert code == 3
    assert failed


def test_a_number_of_resamples_is_no_amount_of_memory(project, root):
    def change(tree):
        tree["predictions"][6]["falsifier"]["resamples"] = 2**52
        for leg in tree["predictions"][0]["legs"]:
            leg["resamples"] = 2**52

    files = forged(project, only(project, "ledger", sealed_world.ID), content(change))
    code, failed = verified(root, files)
    assert code == 3
    assert "predictions" in failed


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"verdict": "failed", "reason": "x"}, "ledger"),
        ({"verdict": "failed", "reason": None}, "predictions"),
        ({"verdict": "held", "reason": "short"}, "predictions"),
    ],
)
def test_a_prediction_fails_for_a_reason(project, root, fields, check):
    change = content(lambda c: c["predictions"][7].update(fields))
    code, failed = verified(root, forged(project, only(project, "ledger", sealed_world.ID), change))
    assert code == 3
    assert check in failed


def test_a_falsifier_fires_where_its_prediction_is_falsified(project, root):
    change = content(lambda c: c["predictions"][6]["falsifier"].update(fired=True))
    code, failed = verified(root, forged(project, only(project, "ledger", sealed_world.ID), change))
    assert code == 3
    assert "verdicts" in failed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"predictions": ["few-errors", "luck"]}, "speaks of the prediction `luck`, which is not registered"),
        ({"attempt": "ab" * 32}, "speaks of the attempt abababababab…, which is gone"),
        ({"attempt": "x"}, "malformed"),
        ({"registration": "ab" * 32}, "its registration is gone"),
    ],
)
def test_a_note_speaks_of_what_is_there(project, root, change, said):
    files = forged(
        project, only(project, "note", sealed_world.ID), content(lambda c: c.update(change)), without=()
    )
    assert verified(root, files) == (3, {"notes"})
    code, out, err = sealed_world.quiet(root, "diff")
    assert code == 3
    assert said in out + err


def test_what_a_file_says_moves_no_cursor_and_makes_no_line(project, root):
    said = "A title\x1b[2J\nheld: everything\r\x9b1A\u202e"

    def change(one):
        one.content["protocol"].update(title=said, question=said)

    files = forged(project, only(project, "registration", sealed_world.ID), change)
    wide = next(p for p in files if "/other/attempts/" in p)
    sealed_world.lay(root, {**files, wide.replace(".json", "\x1b[2J\n.json"): files[wide]})
    for words in (["show", "rich"], ["show", "rich", "--registration"], ["diff"], ["status"], ["verify"]):
        for more in ([], ["--json"]):
            _, out, err = sealed_world.quiet(root, *words, *more)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out + err), words
            assert not re.search("^held: everything", out + err, re.MULTILINE), words
            if more:
                json.loads(out)


def test_without_the_token_the_same_forgeries_would_need_no_stamp(project, root):
    """The forger makes a token anew; one from outside is of the registration that was stamped."""
    path = only(project, "registration", sealed_world.OTHER)
    files = forged(project, path, content(lambda c: c["protocol"].update(title="Another")))
    assert verified(root, files)[0] == 0
    token = next(p for p in files if p.endswith(".tsr") and p != "token.tsr")
    old = next(p for p in project if p.endswith(".tsr") and p != "token.tsr")
    assert verified(root, {**files, token: project[old]}) == (3, {"time stamp"})


# What `verify` alone lets pass, and why: everything else that is changed anywhere has to be noticed.
NEUTRAL = {
    "circumstances: who, when and with what, which nothing hangs on": [
        r"\w+ around\.(time|prereg|python|numpy|platform|commit|sources)",
        r"attempt content\.(time|prereg|python|numpy|platform|commit|sources)",
        r"registration around\.protocol.*",  # the protocol itself is gone
    ],
    "prose: forged everywhere it is another project, which history alone tells from the first": [
        r"registration content\.protocol\.(title|question|notes|authors.*|outcomes.*)",
        r"registration content\.protocol\.predictions\.\d+\.because",
        r"registration content\.amends\.reason",
        r"note content\.text",
    ],
    "rules: the numbers of the ledger need not change with them, or need --rerun": [
        r"registration content\.protocol\..*",
        r"registration content\.data\.files.*",
    ],
    "numbers that no verdict follows from: they need --rerun": [
        r"ledger content\.(.*\.)?(n|n_undefined|unpaired|undefined_because|left|right|interval|support)(\.\d+)?",
        r"ledger content\..*\.(point|resamples_defined|p|p_adjusted|interval_corrected(\.\d+)?)",
        r"ledger content\..*\.legs\.\d+",  # the same left out where it may be
        r"ledger content\.reports.*",
        r"ledger content\.tables(\.\d+)?",
        r"ledger content\.predictions\.\d+\.falsifier.*",
    ],
    "a sign test whose side is not recorded (each-arm and its falsifier): verify says `unchecked`": [
        r"ledger content\.(variants\.0\.)?predictions\.[67](\.level|\.falsifier\.(level|verdict|reason))?",
    ],
    "the last note, and what it saw": [r"note content\.(predictions|attempt|after).*"],
    "what had been seen: it was so on its day": [r"registration content\.amends\.seen.*"],
    "the order in which attempts began, where the clock says nothing": [r"attempt content\.after.*"],
    "a further key, which a later version may write": [r".* with a further key"],
}


def other(value):
    """Values that a check of shapes lets through, mostly."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1]
        case float():
            return [value + 0.01]
        case None:
            return ["x"]
        case str() if re.fullmatch("[0-9a-f]{64}", value):
            return ["ab" * 32]
        case "held" | "failed" | "falsified":
            return [w for w in ("held", "failed", "falsified") if w != value]
        case str() if re.fullmatch(r"\d{4}-.*Z", value):
            return ["2020-01-01T00:00:00Z"]
        case str():
            return [value + "x"]
        case list() if value:
            return [value[1:], value + value[:1], value[::-1]]
        case dict() if value:
            return [{k: v for k, v in value.items() if k != name} for name in value]
    return []


def leaves(files):
    """(path of a file, kind, name of a node, what to do) for every node of every sealed file."""
    for path, one in sorted(sealed_world.read(files).items()):
        if one.kind == "rehearsal":
            continue
        parts = {"content": one.content, "around": one.around}
        for where in places(parts):
            if len(where) < 2:
                continue
            for value in (v for v in other(at(parts, where)) if v != at(parts, where)):

                def change(new, where=where, value=value):
                    tree = {"content": new.content, "around": new.around}
                    at(tree, where[:-1])[where[-1]] = value

                yield path, f"{one.kind} {'.'.join(map(str, where))}", change, value


def noticed(project, root, every, first):
    """Change every so-manieth node; the names of those that verify let pass without a reason."""
    reasons = re.compile("|".join(p for patterns in NEUTRAL.values() for p in patterns))
    passed, tried = [], 0
    for i, (path, name, change, value) in enumerate(leaves(project)):
        if i % every != first:
            continue
        try:
            files = forged(project, path, change)
        except Exception:  # noqa: BLE001 - what has no canonical form cannot be sealed
            continue
        tried += 1
        sealed_world.lay(root, files)
        code, _, err = sealed_world.quiet(root, "verify", path.split("/")[1])
        assert code in (0, 3, 4), (name, value, err)
        if code == 0 and files != project and not reasons.fullmatch(name):
            passed.append((path, name, str(value)[:200]))
    assert tried
    return passed


def test_whatever_is_changed_anywhere_is_noticed_or_has_a_reason(project, root):
    assert noticed(project, root, every=997, first=7) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 5, 9, 13])
def test_whatever_is_changed_in_many_places_is_noticed_or_has_a_reason(project, root, first):
    assert noticed(project, root, every=16, first=first) == []
