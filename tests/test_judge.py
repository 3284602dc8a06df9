"""Verdicts: the table of the contract, and what must hold whatever the values are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prereg.dataclass import replace
from prereg.judge import (
    Evidence,
    Junction,
    Leg,
    Not,
    OneRate,
    Question,
    SupportFalsifier,
    TwoRates,
    counts,
    judge,
    void,
)
from verdict_table import (
    ABOVE,
    CLAIMS,
    EXACT,
    INTERVAL,
    NAN,
    POINT,
    PROTOCOLS,
    Row,
    ask,
    both,
    either,
    even,
    fact,
    leg,
    negation,
    of,
    support,
)


def differences(have, want, path=""):
    """Where a tree is not what a row gives; numbers may differ by the last bits."""
    if want == "absent":
        return [f"{path}: {have!r}, expected no such field"]
    if isinstance(want, dict):
        if not isinstance(have, dict):
            return [f"{path}: {have!r}, expected {want!r}"]
        found = []
        for key, value in want.items():
            if key not in have:
                found += [] if value == "absent" else [f"{path}.{key}: missing, expected {value!r}"]
            else:
                found += differences(have[key], value, f"{path}.{key}")
        return found
    if isinstance(want, list):
        if not isinstance(have, list) or len(have) != len(want):
            return [f"{path}: {have!r}, expected {want!r}"]
        return [
            d
            for i, (h, w) in enumerate(zip(have, want, strict=True))
            for d in differences(h, w, f"{path}[{i}]")
        ]
    if isinstance(want, float) and isinstance(have, float):
        return (
            []
            if math.isclose(have, want, rel_tol=1e-11, abs_tol=1e-13)
            else [f"{path}: {have!r}, expected {want!r}"]
        )
    return [] if have == want and type(have) is type(want) else [f"{path}: {have!r}, expected {want!r}"]


@pytest.mark.parametrize("row", CLAIMS, ids=[row.name for row in CLAIMS])
def test_claim_comes_to_what_the_contract_says_by_hand(row):
    (judgement,) = judge([row.question()])
    assert differences(judgement.to_tree(), row.gives) == [], row.follows


@pytest.mark.parametrize("row", PROTOCOLS, ids=[row.name for row in PROTOCOLS])
def test_predictions_together_come_to_what_the_contract_says_by_hand(row):
    judgements = judge(row.questions, variants=row.variants)
    assert [j.id for j in judgements] == [q.id for q in row.questions]
    trees = {j.id: j.to_tree() for j in judgements}
    assert differences(trees, row.gives) == [], row.follows
    if row.counts is not None:
        assert counts(judgements) == row.counts


def test_the_table_names_each_row_once():
    names = [row.name for row in [*CLAIMS, *PROTOCOLS]]
    assert len(names) == len(set(names)) >= 80


FIELDS = [
    "id", "claim", "verdict", "anticipated", "surprise", "reason", "evidence", "left", "right", "point",
    "interval", "level", "support", "resamples", "resamples_defined", "n", "n_undefined", "unpaired", "guard",
    "falsifier",
]  # fmt: skip


@pytest.mark.parametrize("row", CLAIMS, ids=[row.name for row in CLAIMS])
def test_entry_has_the_fields_of_the_contract_and_is_plain_json(row):
    tree = judge([row.question()])[0].to_tree()
    assert [name for name in FIELDS if name not in tree] == []
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert_plain(tree)
    for entry in tree.get("legs", []):
        assert [
            n for n in FIELDS if n not in (*entry, "id", "anticipated", "surprise", "guard", "falsifier")
        ] == []


def assert_plain(tree):
    assert type(tree) in (dict, list, str, int, float, bool, type(None)), type(tree)
    for below in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        assert_plain(below)


def test_numpy_numbers_do_not_reach_the_entry():
    row = leg(">", np.float64(0.2), even(0.1, 0.3), n=[np.int64(4), np.int64(3)], n_undefined=np.int64(1))
    tree = judge([ask("a", row, INTERVAL)])[0].to_tree()
    assert_plain(tree)
    assert (tree["n"], tree["n_undefined"]) == ([4, 3], 1)


def test_infinite_differences_are_undefined():
    tree = judge([ask("a", leg(">", 0.2, of((math.inf, 51), (0.2, 25), (0.3, 25))), INTERVAL)])[0].to_tree()
    assert (tree["reason"], tree["resamples_defined"]) == ("undefined", 50)


def test_minus_zero_is_zero():
    tree = judge([ask("a", leg(">=", -0.0, of((-0.0, 1), (0.1, 1))), INTERVAL)])[0].to_tree()
    assert math.copysign(1, tree["point"]) == 1
    assert tree["verdict"] == "held"


def test_headline_is_void_where_a_gate_is_not_held():
    shut, opened = ask("g", leg(">", -0.2), gate=True), ask("g", leg(">", 0.2), gate=True)
    assert void(judge([shut]))
    assert not void(judge([opened, ask("b", leg(">", -0.2))]))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (ask("a", leg("==", 0.0, even(-0.1, 0.1)), INTERVAL), "use `point` or `support`"),
        (ask("a", fact(1.0, of((1.0, 9))), INTERVAL), "use `point` or `support`"),
        (ask("a", leg(">", 0.2, even(0.1, 0.3)), EXACT), "no exact test"),
        (ask("a", leg(">", 0.2), INTERVAL), "needs resamples"),
        (ask("a", leg(">", 0.2), support(0.9)), "needs resamples"),
        (
            ask("a", leg(">", 0.2), POINT, falsifier=SupportFalsifier("<", 0.5, "support < 0.5")),
            "needs resamples",
        ),
        (replace(ask("a", ABOVE, INTERVAL), resamples=100), "101 resamples, expected 100"),
        (ask("a", both(ABOVE, leg(">", 0.2, of((0.1, 9)))), INTERVAL), "different numbers of resamples"),
        (ask("a", both(ABOVE, ABOVE), INTERVAL, family="f"), "single leg"),
        (ask("a", leg(">", 0.2), POINT, family="f"), "under `interval`"),
        (ask("a", leg(">", 0.2), given=("b",)), "no earlier prediction"),
        (replace(ask("a", leg(">", 0.2)), node=None), "has values"),
    ],
)
def test_question_that_cannot_be_judged_as_asked_is_refused(question, message):
    with pytest.raises(ValueError, match=message):
        judge([question])


def test_given_must_be_earlier():
    with pytest.raises(ValueError, match="no earlier prediction"):
        judge([ask("a", leg(">", 0.2), given=("b",)), ask("b", leg(">", 0.2))])


def test_ids_are_unique():
    with pytest.raises(ValueError, match="one id"):
        judge([ask("a", leg(">", 0.2)), ask("a", leg(">", 0.2))])


@pytest.mark.parametrize(
    ("kind", "share"), [("support", None), ("support", 0.5), ("support", 1.5), ("point", 0.9)]
)
def test_evidence_has_a_share_where_it_needs_one(kind, share):
    with pytest.raises(ValueError, match="share"):
        Evidence(kind, share)


# Whatever the values are.

B = 40
OPS = st.sampled_from(["<", "<=", ">", ">="])
NUMBERS = st.sampled_from([NAN, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3])
RATES = st.none() | st.builds(lambda a, b: TwoRates(a, b, a + b), st.integers(0, 9), st.integers(0, 9))


@st.composite
def legs(draw):
    """Legs that mostly lean to one side, now and then constant, two-sided or at the point only."""
    lean = draw(st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.3]))
    spread = draw(st.sampled_from([0.0, 0.05, 0.2]))
    noise = (
        np.random.Generator(np.random.Philox(draw(st.integers(0, 9)))).normal(0, spread, B)
        if spread
        else np.zeros(B)
    )
    values = np.round(lean + noise, 12)
    values[: draw(st.sampled_from([0, 0, 0, 3, 20, 21]))] = NAN
    two_sided = draw(st.integers(0, 7)) == 0
    return leg(
        "!=" if two_sided else draw(OPS),
        draw(st.just(lean) | NUMBERS),
        values,
        text=f"x{draw(st.integers(0, 99))}",
        point_only=draw(st.integers(0, 7)) == 0,
        two_sided=two_sided,
        exact=draw(RATES),
    )


def junctions(children):
    kinds = st.sampled_from(["and", "or"])
    return st.builds(
        lambda k, c: Junction(k, tuple(c), "j"), kinds, st.lists(children, max_size=4)
    ) | st.builds(lambda c: Not(c, "n"), children)


CLAIM = st.recursive(legs(), junctions, max_leaves=8)
EVIDENCE = st.sampled_from([INTERVAL, POINT, support(0.6), support(0.9)])


def verdict_of(node, evidence=INTERVAL, level=0.9, **more):
    return judge(
        [Question(id="a", claim="c", node=node, evidence=evidence, level=level, resamples=B, **more)]
    )[0]


@settings(deadline=None)
@given(CLAIM, st.sampled_from([(0.5, 0.6), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99)]))
def test_stricter_level_never_decides_more(node, levels):
    lenient, strict = (verdict_of(node, level=level).verdict for level in levels)
    assert strict in (lenient, "failed")


@settings(deadline=None)
@given(CLAIM, EVIDENCE)
def test_not_swaps_held_and_falsified(node, evidence):
    swap = {"held": "falsified", "falsified": "held", "failed": "failed"}
    turn = {"short": "contrary", "contrary": "short"}
    plain, turned = verdict_of(node, evidence), verdict_of(negation_of(node), evidence)
    assert turned.verdict == swap[plain.verdict]
    assert turned.reason == turn.get(plain.reason, plain.reason)


def negation_of(node):
    return Not(node, "not")


def turned_round(node):
    match node:
        case Junction():
            return replace(node, children=tuple(turned_round(c) for c in reversed(node.children)))
        case Not():
            return replace(node, child=turned_round(node.child))
        case _:
            return node


def unordered(tree):
    legs_ = sorted(json.dumps(x, sort_keys=True) for x in tree.get("legs", []))
    return {**tree, "legs": legs_}


@settings(deadline=None)
@given(CLAIM, EVIDENCE)
def test_order_of_children_does_not_matter(node, evidence):
    plain, turned = verdict_of(node, evidence).to_tree(), verdict_of(turned_round(node), evidence).to_tree()
    assert unordered(plain) == unordered(turned)


def permuted(node, order):
    match node:
        case Junction():
            return replace(node, children=tuple(permuted(c, order) for c in node.children))
        case Not():
            return replace(node, child=permuted(node.child, order))
        case Leg():
            return replace(node, d=np.concatenate([node.d[:1], node.d[1:][order]]))


@settings(deadline=None)
@given(CLAIM, EVIDENCE, st.permutations(range(B)))
def test_order_of_resamples_does_not_matter(node, evidence, order):
    assert verdict_of(node, evidence).to_tree() == verdict_of(permuted(node, order), evidence).to_tree()


@settings(deadline=None)
@given(CLAIM)
def test_de_morgan_leaves_verdicts_at_the_point_unchanged(node):
    def pushed(n, turn):
        match n:
            case Not():
                return pushed(n.child, not turn)
            case Junction():
                other = {"and": "or", "or": "and"}[n.kind] if turn else n.kind
                return Junction(other, tuple(pushed(c, turn) for c in n.children), "j")
            case _:
                return Not(n, "n") if turn else n

    assert verdict_of(node, POINT).verdict == verdict_of(pushed(node, turn=False), POINT).verdict


@settings(deadline=None)
@given(CLAIM, EVIDENCE)
def test_held_is_true_and_falsified_is_false_at_the_point(node, evidence):
    verdict, at_point = verdict_of(node, evidence).verdict, verdict_of(node, POINT).verdict
    assert verdict in (at_point, "failed")


@settings(deadline=None)
@given(st.lists(legs(), min_size=1, max_size=4), legs())
def test_one_more_leg_in_any_never_lets_another_be_held(some, more):
    few = verdict_of(Junction("or", tuple(some), "any")).finding.legs
    many = verdict_of(Junction("or", (*some, more), "any")).finding.legs
    for before, after in zip(few, many, strict=False):
        assert (after.verdict == "falsified") == (before.verdict == "falsified")
        assert before.verdict == "held" or after.verdict != "held"


@settings(deadline=None)
@given(CLAIM, EVIDENCE, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
def test_a_falsifier_never_makes_a_claim_held(node, evidence, op, bound):
    plain = verdict_of(node, evidence)
    other = verdict_of(node, evidence, falsifier=SupportFalsifier(op, bound, "s"))
    assert other.verdict != "held" or plain.verdict == "held"
    assert (other.verdict == "falsified") == other.falsifier["fired"]


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=6))
def test_family_holds_no_more_than_its_members_alone(members):
    def asked(i, below, family):
        d = of((-0.1, below), (0.1, 998 - below), (0.2, 1))
        return ask(f"m{i}", leg(">" if members[i][1] else "<", 0.2, d), INTERVAL, family=family)

    together = judge([asked(i, below, "f") for i, (below, _) in enumerate(members)])
    alone = judge([asked(i, below, f"f{i}") for i, (below, _) in enumerate(members)])
    for one, single in zip(together, alone, strict=True):
        assert one.verdict in (single.verdict, "failed")
        assert one.finding.p_adjusted >= single.finding.p_adjusted


def test_family_adjusted_p_against_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    below = [0, 24, 9, 9, 3, 200, 14]
    questions = [
        ask(f"m{i}", leg(">", 0.2, of((-0.1, c), (0.1, 998 - c), (0.2, 1))), INTERVAL, family="f")
        for i, c in enumerate(below)
    ]
    ours = [j.finding.p_adjusted for j in judge(questions)]
    theirs = multitest.multipletests([2 * (1 + c) / 1000 for c in below], method="holm")[1]
    assert ours == pytest.approx(list(theirs), rel=1e-12)


def test_one_rate_p_against_scipy_and_its_interval():
    binom = pytest.importorskip("scipy.stats").binom
    for k, n, c in [(18, 20, 0.6), (14, 20, 0.5), (2, 20, 0.5), (20, 20, 0.8), (0, 7, 0.3), (5, 50, 0.1)]:
        d = round(k / n - c, 12)
        node = leg(">=" if d >= 0 else "<", d, left=k / n, right=c, exact=OneRate(k, n))
        finding = judge([ask("a", node, EXACT)])[0].finding
        tails = binom.cdf(k, n, c), binom.sf(k - 1, n, c)
        assert finding.p == pytest.approx(min(1, 2 * min(tails)), rel=1e-10)
        assert (finding.verdict == "held") == (finding.p <= 0.05)


def test_percentile_intervals_of_legs_against_numpy():
    rng = np.random.Generator(np.random.Philox(7))
    d = np.round(rng.normal(0.3, 0.2, 400), 12)
    node = either(leg(">", 0.3, d), leg(">", 0.3, d), leg(">", -0.3, -d))
    first = judge([ask("a", node, INTERVAL)])[0].to_tree()["legs"][0]
    assert first["interval"] == pytest.approx(list(np.percentile(d, [2.5, 97.5])), rel=1e-12)
    corrected = [100 * 0.05 / 6, 100 - 100 * 0.05 / 6]
    assert first["interval_corrected"] == pytest.approx(list(np.percentile(d, corrected)), rel=1e-12)


def test_rows_are_what_the_helpers_say():
    assert even(-0.02, 0.98)[[0, 50, 100]].tolist() == [-0.02, 0.48, 0.98]
    assert isinstance(CLAIMS[0], Row)
    assert negation(both(ABOVE, ABOVE)).text == "not (x > 0 and x > 0)"
