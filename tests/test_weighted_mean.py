"""`{mean: {mean: x, weight: w}}`: rows that count more or less than once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exact_metrics import assert_same, fast, random_weights, reasons, rows_of
from prereg.check import check
from prereg.decimals import rounded
from prereg.errors import InputError
from prereg.formats import read_yaml
from prereg.project import Project
from prereg.protocol import read_protocol
from prereg.stored import from_stored, to_stored

FINITE = st.floats(-1e12, 1e12, allow_nan=False)
WEIGHT = st.floats(0, 1e12, allow_nan=False)


def slow(number, weight, draws):
    """The mean of the decimals that are written, in fractions."""
    x, w = [[Fraction(repr(float(v))) for v in column] for column in (number, weight)]
    out = []
    for row in draws:
        times = [int(t) * v for t, v in zip(row, w, strict=True)]
        total = sum(times)
        out.append([sum(a * b for a, b in zip(x, times, strict=True)) / total if total else "vacuous"])
    return out


@settings(max_examples=150, deadline=None)
@example([(0.0, 1.0), (1.0, 2.2250738585e-313)], 0)
@example([(513.0, 2.2250738585e-313), (2.3569362518128633e-100, 530586.0)], 1)
@given(st.lists(st.tuples(FINITE, WEIGHT), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_any_doubles_against_slow_exact(pairs, seed):
    number, weight = [p[0] for p in pairs], [p[1] for p in pairs]
    draws = random_weights(np.random.default_rng(seed), 4, len(pairs))
    got = fast("mean", rows_of(mean=[number], weight=[weight]), {}, draws)
    for i, (expected,) in enumerate(slow(number, weight, draws)):
        if isinstance(expected, str):
            assert reasons(got)[i, 0] == expected
        else:
            # the double nearest to the exact mean, as every value is rounded
            assert got.values[i, 0] == rounded(np.array([float(expected)]))[0]


def test_a_sum_that_cancels_against_slow_exact():
    """0.1 * 3 + 0.3 * -1 is 0 in decimals; in doubles the products differ by 5.6e-17."""
    rows = rows_of(mean=[[0.1, -0.3]], weight=[[3.0, 1.0]], decimals={"mean": 1, "weight": 0})
    assert fast("mean", rows, {}, [[1.0, 1.0]]).values.tolist() == [[0.0]]
    # the same with long numbers: 115292150460684700 * 3 is 345876451382054100, which the doubles miss by 32
    big = rows_of(mean=[[115292150460684700.0, -345876451382054100.0]], weight=[[3.0, 1.0]])
    assert Fraction(115292150460684700.0) * 3 != Fraction(345876451382054100.0)
    assert fast("mean", big, {}, [[1.0, 1.0]]).values.tolist() == [[0.0]]


@pytest.mark.parametrize("size", [2.0**1000, 2.0**-1000, 2.0**-1070])
def test_the_largest_and_smallest_numbers_by_hand(size):
    rows = rows_of(mean=[[size, 3 * size]], weight=[[1e250, 1e250]])
    found = fast("mean", rows, {}, [[1.0, 1.0]]).values[0, 0]
    assert found == pytest.approx(2 * size if size > 1 else 0.0, rel=5e-15, abs=0)  # below 12 decimals


def test_weights_that_sum_to_zero_are_vacuous_by_definition():
    rows = rows_of(mean=[[0.5, 0.25, 1.0]], weight=[[0.0, 2.0, 0.0]])
    got = fast("mean", rows, {}, [[1.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    assert got.values[0, 0] == 0.25
    assert math.isnan(got.values[1, 0])
    assert reasons(got)[1, 0] == "vacuous"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 4)), min_size=1, max_size=8))
def test_a_whole_weight_is_that_many_rows_against_itself(pairs):
    number = [p[0] / 10 for p in pairs]
    weighted = rows_of(mean=[number], weight=[[p[1] for p in pairs]], decimals={"mean": 1, "weight": 0})
    again = [x for x, (_, times) in zip(number, pairs, strict=True) for _ in range(times)]
    got = fast("mean", weighted, {}, np.ones((1, len(pairs)))).values[0, 0]
    if not again:
        assert math.isnan(got)
        return
    plain = fast("mean", rows_of(mean=[again], decimals={"mean": 1}), {}, np.ones((1, len(again))))
    assert got == plain.values[0, 0]


def test_equal_weights_change_nothing_against_the_plain_mean():
    rng = np.random.default_rng(2)
    number, draws = rng.random((3, 20)), random_weights(rng, 5, 20)
    plain = fast("mean", rows_of(mean=number), {}, draws)
    weighted = fast("mean", rows_of(mean=number, weight=np.full((3, 20), 0.7)), {}, draws)
    assert_same(weighted, [[Fraction(v) for v in row] for row in plain.values], 2e-12)


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="negative"):
        fast("mean", rows_of(mean=[[1.0]], weight=[[-1.0]]), {}, [[1.0]])


PROTOCOL = """\
prereg: 1
id: weighted
title: A mean over rows that count differently
data: {records: records.csv, arm: run, unit: task}
metrics:
  plain: {mean: score}
  weighted: {mean: {mean: score, weight: WEIGHT}}
predictions:
  more:
    claim: weighted[a] > plain[a]
    evidence: point
"""
RECORDS = "run,task,score,size\n" + "".join(f"a,{i},{i / 10},{size}\n" for i, size in enumerate((1, 2, 0, 5)))


def project(folder, weight="size", records=RECORDS):
    (folder / "records.csv").write_text(records)
    path = folder / "protocol.yaml"
    path.write_text(PROTOCOL.replace("WEIGHT", weight))
    return path


def test_the_whole_chain_by_hand(tmp_path):
    from prereg.analysis import compute

    checked = check(Project.at(tmp_path), project(tmp_path))
    (judgement,) = compute(checked.analysis).judgements
    # (0.1 * 2 + 0.3 * 5) / 8 and (0.1 + 0.2 + 0.3) / 4
    assert (judgement.finding.left, judgement.finding.right) == (0.2125, 0.15)
    assert judgement.verdict == "held"


def test_a_negative_weight_names_the_record(tmp_path):
    path = project(tmp_path, records=RECORDS.replace("0.1,2", "0.1,-2"))
    with pytest.raises(InputError) as caught:
        check(Project.at(tmp_path), path)
    (problem,) = caught.value.problems
    assert str(problem).startswith("records.csv:3")
    assert "-2.0 is below 0" in problem.message


def test_a_weight_that_is_the_same_for_every_record_may_not_be_negative(tmp_path):
    with pytest.raises(InputError, match=r"found -1\.0, a weight of 0 or more is expected"):
        check(Project.at(tmp_path), project(tmp_path, weight='"-1"'))


def test_it_is_stored_only_where_it_was_given(tmp_path):
    document = read_yaml(project(tmp_path))
    protocol = read_protocol(document)
    plain, weighted = to_stored(protocol)["metrics"]
    assert plain["parameters"] == {"mean": "score"}
    assert weighted["parameters"] == {"mean": "score", "weight": "size"}
    assert to_stored(from_stored(to_stored(protocol), document.place(()))) == to_stored(protocol)
