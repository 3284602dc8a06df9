"""A forger of everything: one thing changed, and every digest, name and witness made to fit it.

What `verify` does not notice then is written down here, with the reason; anything else that it lets pass is a
hole.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import sealed_world

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
    ("a leg of more resamples", "ledger", leg(resamples=21, support=0.0), "verdicts"),
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
    code, failed = verified(root, forged(project, only(project, kind, sealed_world.OTHER), change))
    assert code == 3
    assert check in failed


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


def test_without_the_token_the_same_forgeries_would_need_no_stamp(project, root):
    """The forger makes a token anew; one from outside is of the registration that was stamped."""
    path = only(project, "registration", sealed_world.OTHER)
    files = forged(project, path, content(lambda c: c["protocol"].update(title="Another")))
    assert verified(root, files)[0] == 0
    token = next(p for p in files if p.endswith(".tsr") and p != "token.tsr")
    old = next(p for p in project if p.endswith(".tsr") and p != "token.tsr")
    assert verified(root, {**files, token: project[old]}) == (3, {"time stamp"})
