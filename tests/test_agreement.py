"""Agreement of raters against scikit-learn, statsmodels and published examples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from exact_metrics import fast, random_weights, reasons, rows_of


def of(kind, *votes, weights=None, **more):
    """The value, or the reason, of votes given as one list per rater."""
    columns = {f"raters.{i}": np.asarray(v, dtype=np.float64)[None, :] for i, v in enumerate(votes)}
    result = fast(kind, rows_of(**columns, **more), {}, [weights or [1.0] * len(votes[0])])
    return reasons(result)[0, 0] or result.values[0, 0]


def votes(rng, raters, rows, labels):
    truth = rng.integers(0, labels, rows)
    return [np.where(rng.random(rows) < 0.6, truth, rng.integers(0, labels, rows)) for _ in range(raters)]


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_cohen_against_scikit_learn(labels):
    for seed in range(10):
        first, second = votes(np.random.default_rng(seed), 2, 40, labels)
        expected = cohen_kappa_score(first, second)
        assert of("cohen_kappa", first, second) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("raters", [2, 3, 6])
def test_fleiss_against_statsmodels(raters):
    for seed in range(10):
        given = votes(np.random.default_rng(seed), raters, 40, 3)
        table, _ = aggregate_raters(np.array(given).T)
        assert of("fleiss_kappa", *given) == pytest.approx(fleiss_kappa(table), abs=1e-12)


def test_resamples_are_rows_written_out_against_scikit_learn_and_statsmodels():
    rng = np.random.default_rng(7)
    given = votes(rng, 2, 30, 3)
    for drawn in random_weights(rng, 6, 30)[1:]:
        again = np.repeat(np.arange(30), drawn.astype(int))
        first, second = (np.asarray(v)[again] for v in given)
        weights = drawn.tolist()
        assert of("cohen_kappa", *given, weights=weights) == pytest.approx(
            cohen_kappa_score(first, second), abs=1e-12
        )
        table, _ = aggregate_raters(np.array([first, second]).T)
        assert of("fleiss_kappa", *given, weights=weights) == pytest.approx(fleiss_kappa(table), abs=1e-12)


# Fleiss (1971) as worked through in the literature: 14 raters, 10 subjects, 5 categories; kappa 0.210.
TEXTBOOK = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_against_the_published_example():
    columns = np.array([np.repeat(np.arange(5), row) for row in TEXTBOOK]).T
    assert of("fleiss_kappa", *columns) == pytest.approx(0.210, abs=5e-4)
    assert of("agreement", *columns) == pytest.approx(0.378, abs=5e-4)  # the mean of P_i printed with it


def test_cohen_against_the_published_two_by_two_example():
    """50 proposals, both yes 20, both no 15, one against the other 5 and 10: p_o 0.70, p_e 0.50, kappa 0.40."""
    first = [1] * 20 + [1] * 5 + [0] * 10 + [0] * 15
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert of("agreement", first, second) == 0.7
    assert of("cohen_kappa", first, second) == 0.4


def test_raw_agreement_counts_pairs_by_hand():
    # rows: all three agree (3 of 3 pairs), one differs (1 of 3), all differ (0 of 3)
    assert of("agreement", [0, 0, 0], [0, 0, 1], [0, 1, 2]) == pytest.approx(4 / 9, abs=1e-12)


def test_one_label_throughout_is_constant_and_one_constant_rater_is_not():
    assert of("cohen_kappa", [1, 1], [1, 1]) == "constant"
    assert of("fleiss_kappa", [1, 1], [1, 1], [1, 1]) == "constant"
    assert of("agreement", [1, 1], [1, 1]) == 1
    # p_o = p_e = 1/2: chance alone
    assert of("cohen_kappa", [1, 1], [0, 1]) == 0


def test_a_missing_vote_makes_it_missing_and_among_says_otherwise():
    first, second = [0, 1, np.nan, 1], [0, 1, 1, 0]
    for kind in ("agreement", "cohen_kappa", "fleiss_kappa"):
        assert of(kind, first, second) == "missing"
    assert of("agreement", first, second, among=[[1, 1, 0, 1]]) == pytest.approx(2 / 3, abs=1e-12)
    assert of("agreement", first, second, among=[[0, 0, 0, 0]]) == "vacuous"
    assert of("agreement", first, second, weights=[1.0, 2.0, 0.0, 1.0]) == 0.75  # it was not drawn


def test_perfect_disagreement_is_the_lowest_value_by_hand():
    assert of("cohen_kappa", [0, 1], [1, 0]) == -1
    assert of("fleiss_kappa", [0, 1], [1, 0]) == -1
