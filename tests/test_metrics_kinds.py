"""Each kind on inputs whose value is known from elsewhere: by hand, from scikit-learn, SciPy or NumPy."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from exact_metrics import fast, reasons, rows_of
from prereg.metrics import KINDS, Rows


def one(kind, options=None, weights=None, **arguments):
    """Value and reason of one arm with one sample."""
    among = arguments.pop("among", None)
    units = len(next(iter(arguments.values())))
    rows = rows_of(
        among=None if among is None else [among],
        **{name: np.asarray(column, float).reshape(1, units) for name, column in arguments.items()},
    )
    result = fast(kind, rows, options or {}, [weights or [1.0] * units])
    reason = reasons(result)[0, 0]
    assert math.isnan(result.values[0, 0]) == bool(reason)
    return reason or result.values[0, 0]


# --- calibration -----------------------------------------------------------------------------------------

# (confidences, labels 1 and 0, expected), by hand from the definition: (lo, hi], 0 in the first bin.
RIGHT_CLOSED = [
    ([0.45, 0.50], 0.025),  # together in (.4, .5]: |0.55 - 0.5| / 2
    ([0.65, 0.70], 0.175),  # together: |0.35 - 0.7| / 2
    ([0.70, 0.75], 0.525),  # apart: (0.3 + 0.75) / 2
    ([0.95, 1.00], 0.475),  # 1.0 in the last bin, with 0.95
    ([0.00, 0.05], 0.475),  # 0.0 in the first, with 0.05
    ([0.25, 0.30], 0.225),  # 0.3 is the decimal, not the double that linspace makes of it
    ([0.25, 0.3000000001], 0.225),  # nine decimals decide
    ([0.1, 0.2], 0.55),
]
LEFT_CLOSED = [
    ([0.45, 0.50], 0.525),
    ([0.65, 0.70], 0.525),
    ([0.70, 0.75], 0.225),
    ([0.95, 1.00], 0.475),
    ([0.00, 0.05], 0.475),
    ([0.25, 0.30], 0.525),
    ([0.00, 0.10], 0.55),
]


@pytest.mark.parametrize(("confidence", "expected"), RIGHT_CLOSED, ids=str)
def test_ece_right_closed_edges_by_hand(confidence, expected):
    assert one("ece", confidence=confidence, label=[1, 0]) == expected


@pytest.mark.parametrize(("confidence", "expected"), LEFT_CLOSED, ids=str)
def test_ece_left_closed_edges_by_hand(confidence, expected):
    assert one("ece", {"edges": "left_closed"}, confidence=confidence, label=[1, 0]) == expected


def test_ece_of_a_miscalibrated_constant_by_hand():
    assert one("ece", confidence=[0.9] * 4, label=[1, 0, 0, 0]) == 0.65


def test_ece_against_the_bin_rule_of_scikit_learn():
    """calibration_curve keeps (lo, hi] with interior edges; its bins weighted by counts are the ECE."""
    calibration = pytest.importorskip("sklearn.calibration")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        confidence, label = np.round(rng.random(30), 6), rng.integers(0, 2, 30)
        share, mean = calibration.calibration_curve(label, confidence, n_bins=10)
        sizes = np.bincount(np.ceil(confidence * 10).astype(int).clip(1) - 1, minlength=10)
        expected = (np.abs(share - mean) * sizes[sizes > 0]).sum() / 30
        assert one("ece", confidence=confidence, label=label) == pytest.approx(expected, abs=1e-12)


def test_brier_against_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        confidence, label = np.round(rng.random(30), 9), rng.integers(0, 2, 30)
        expected = sklearn.brier_score_loss(label, confidence)
        assert one("brier", confidence=confidence, label=label) == pytest.approx(expected, abs=1e-12)


def test_brier_of_one_class_is_defined_by_hand():
    assert one("brier", confidence=[0.5, 1.0], label=[1, 1]) == 0.125


def test_error_is_the_negated_label_against_itself():
    confidence, label = [0.2, 0.9, 0.7], np.array([1, 0, 1])
    for kind in ("ece", "brier", "aurc", "eaurc"):
        here = one(kind, confidence=confidence, label=label)
        assert here == one(kind, confidence=confidence, error=1 - label)


@pytest.mark.parametrize("kind", ["ece", "brier"])
@pytest.mark.parametrize("confidence", [-0.1, 1.1, 87.0])
def test_a_confidence_outside_the_unit_interval_is_refused(kind, confidence):
    with pytest.raises(ValueError, match="outside"):
        one(kind, confidence=[0.5, confidence], label=[1, 0])


# --- risk and coverage -----------------------------------------------------------------------------------

TIED = {"confidence": [0.9, 0.5, 0.5, 0.5], "error": [0, 1, 0, 0]}
FRONT = {"confidence": [0.9, 0.9, 0.7, 0.6], "error": [1, 0, 1, 0]}


@pytest.mark.parametrize(
    ("rows", "ties", "expected"),
    [
        (TIED, "threshold", 0.1875),  # (0 + 3 * 1/4) / 4
        (TIED, "row_order", 13 / 48),  # (0 + 1/2 + 1/3 + 1/4) / 4
        (TIED, "expected", 23 / 144),  # (0 + 1/6 + 2/9 + 1/4) / 4
        (FRONT, "threshold", 13 / 24),  # (1/2 + 1/2 + 2/3 + 1/2) / 4
        (FRONT, "row_order", 2 / 3),  # (1 + 1/2 + 2/3 + 1/2) / 4
        (FRONT, "expected", 13 / 24),  # (1/2 + 1/2 + 2/3 + 1/2) / 4
        ({"confidence": [0.9, 0.8, 0.7, 0.6, 0.5], "error": [0, 1, 0, 0, 1]}, "threshold", 89 / 300),
        # 0, 1/2, 1/3, 1/4, 2/5
    ],
)
def test_aurc_by_hand(rows, ties, expected):
    assert one("aurc", {"ties": ties}, **rows) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", ["threshold", "row_order", "expected"])
@pytest.mark.parametrize("n", [1, 2, 7, 32, 100, 999])
def test_all_wrong_is_exactly_one_and_all_right_exactly_zero(ties, n):
    rng = np.random.default_rng(n)
    confidence = np.round(rng.random(n), 2)
    weights = rng.integers(0, 5, n).astype(float).tolist()
    weights[0] = 1.0
    assert one("aurc", {"ties": ties}, weights, confidence=confidence, error=np.ones(n)) == 1.0
    assert one("aurc", {"ties": ties}, weights, confidence=confidence, error=np.zeros(n)) == 0.0


def test_a_row_drawn_twice_is_two_tied_rows_by_hand():
    rows = {"confidence": [0.9, 0.5], "error": [1, 0]}
    drawn = [2.0, 1.0]  # errors 1, 1, 0
    assert one("aurc", {}, drawn, **rows) == pytest.approx(8 / 9, abs=1e-12)
    assert one("aurc", {"ties": "row_order"}, drawn, **rows) == pytest.approx(8 / 9, abs=1e-12)
    mixed = {"confidence": [0.5, 0.5], "error": [1, 0]}
    # Three tied rows, two of them errors: 2/3 at every position on average; in row order 1, 1, 2/3.
    assert one("aurc", {"ties": "expected"}, drawn, **mixed) == pytest.approx(2 / 3, abs=1e-12)
    assert one("aurc", {"ties": "row_order"}, drawn, **mixed) == pytest.approx(8 / 9, abs=1e-12)


def test_row_order_reads_samples_within_units_by_hand():
    shape = (1, 1, 2, 2)
    rows = Rows(
        np.ones(shape, bool),
        np.zeros(shape, bool),
        {"confidence": np.full(shape, 0.5), "error": np.array([0.0, 1.0, 0.0, 0.0]).reshape(shape)},
        {},
    )
    value = fast("aurc", rows, {"ties": "row_order"}, [[1.0, 1.0]]).values[0, 0]
    assert value == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 4, abs=1e-12)


def test_eaurc_of_the_perfect_order_is_zero_and_by_hand():
    assert one("eaurc", confidence=[0.9, 0.8, 0.7], error=[0, 0, 1]) == 0.0
    # AURC (1 + 1/2 + 1/3) / 3 less the optimum (1/3) / 3.
    assert one("eaurc", confidence=[0.9, 0.8, 0.7], error=[1, 0, 0]) == 0.5


def test_selective_accuracy_takes_whole_tie_blocks_by_hand():
    rows = {"confidence": [0.9, 0.8, 0.8, 0.1], "correct": [1, 0, 1, 0]}
    assert one("selective_accuracy", {"coverage": 0.25}, **rows) == 1.0
    assert one("selective_accuracy", {"coverage": 0.5}, **rows) == pytest.approx(2 / 3, abs=1e-12)
    assert one("selective_accuracy", {"coverage": 0.75}, **rows) == pytest.approx(2 / 3, abs=1e-12)
    assert one("selective_accuracy", {"coverage": 1}, **rows) == 0.5


def test_coverage_is_the_decimal_that_is_written_by_hand():
    # Three of ten rows are 0.3 of them, although 0.3 * 10 == 3.0000000000000004 with a double a little above.
    confidence = np.arange(10, 0, -1) / 10
    correct = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    for written in ("0.3", 0.3):
        assert one("selective_accuracy", {"coverage": written}, confidence=confidence, correct=correct) == 1.0


def test_rows_without_a_confidence_come_last_by_hand():
    rows = {"confidence": [np.nan, 0.2, np.nan], "correct": [0, 1, 1]}
    assert one("selective_accuracy", {"coverage": 0.3}, **rows) == 1.0
    assert one("selective_accuracy", {"coverage": 0.5}, **rows) == pytest.approx(2 / 3, abs=1e-12)


@pytest.mark.parametrize("coverage", [0, -0.1, 1.5])
def test_a_coverage_outside_the_unit_interval_is_refused(coverage):
    with pytest.raises(ValueError, match="coverage"):
        one("selective_accuracy", {"coverage": coverage}, confidence=[0.5], correct=[1])


# --- ranks -----------------------------------------------------------------------------------------------


def test_auroc_against_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        score, label = np.round(rng.random(30), int(rng.integers(1, 4))), rng.integers(0, 2, 30)
        weights = rng.integers(0, 4, 30).astype(float)
        expected = sklearn.roc_auc_score(label, score, sample_weight=weights)
        got = one("auroc", {}, weights.tolist(), score=score, label=label)
        assert got == pytest.approx(expected, abs=1e-12)


def test_auroc_needs_no_unit_interval_by_hand():
    assert one("auroc", score=[-5, 3, 3, 100], label=[0, 0, 1, 1]) == 0.875


def refusal(refused, wrong, samples=4, weights=None):
    """Unit i has `refused[i]` refusals and `wrong[i]` wrong answers among its samples."""
    units = len(refused)
    first = np.arange(samples)[None, :] < np.asarray(refused)[:, None]
    last = np.arange(samples)[None, :] >= samples - np.asarray(wrong)[:, None]
    rows = rows_of(refused=first.reshape(1, 1, units, samples), wrong=last.reshape(1, 1, units, samples))
    result = fast("refusal_index", rows, {}, [weights or [1.0] * units])
    return reasons(result)[0, 0] or result.values[0, 0]


def test_refusal_index_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        samples = int(rng.integers(1, 7))
        refused = rng.integers(0, samples + 1, 20)
        wrong = rng.integers(0, samples - refused + 1)
        if len(set(refused)) == 1 or len(set(wrong)) == 1:
            continue
        weights = rng.integers(0, 3, 20)
        again = np.repeat(np.arange(20), weights)
        expected = stats.spearmanr(refused[again], wrong[again]).statistic
        got = refusal(refused, wrong, samples, weights.astype(float).tolist())
        assert got == pytest.approx(expected, abs=1e-12)


def test_refusal_index_of_a_monotone_panel_is_exactly_one():
    assert refusal([0, 1, 2], [0, 1, 2]) == 1.0
    assert refusal([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]) == -1.0


def test_refusal_index_compares_shares_of_unequal_samples_by_hand():
    # Shares refused 1/2, 2/4, 1/3 and wrong 0, 1/4, 1/3: the first two are tied on the left.
    among = np.zeros((1, 1, 3, 4), bool)
    among[0, 0, 0, :2] = among[0, 0, 1] = among[0, 0, 2, :3] = True
    refused = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]]).reshape(among.shape)
    wrong = np.array([[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]).reshape(among.shape)
    rows = rows_of(among=among, refused=refused, wrong=wrong)
    # Ranks (2.5, 2.5, 1) and (1, 2, 3): covariance -1.5, squares 1.5 and 2.
    assert fast("refusal_index", rows, {}, [[1.0] * 3]).values[0, 0] == pytest.approx(
        -1.5 / math.sqrt(3), abs=1e-12
    )


def test_refusal_index_of_the_k_sample_panel_by_hand():
    # Shares (1, 0), (0, 1), (1/4, 1/4), (0, 0), (1/2, 1/4): doubled centred ranks (4, -3, 0, -3, 2) and
    # (-3, 4, 1, -3, 1), so -13 / sqrt(38 * 36).
    assert refusal([4, 0, 1, 0, 2], [0, 4, 1, 0, 1]) == pytest.approx(-13 / math.sqrt(38 * 36), abs=1e-12)


# --- sums and orders -------------------------------------------------------------------------------------


def test_rate_prints_numerator_and_denominator_by_hand():
    rows = rows_of(among=[[1, 1, 1, 0]], rate=[[1, 0, 1, 1]])
    result = fast("rate", rows, {}, [[1, 1, 1, 1], [3, 0, 1, 9]])
    assert result.values[:, 0].tolist() == [round(2 / 3, 12), 1.0]
    assert result.numerator[:, 0].tolist() == [2, 4]
    assert result.denominator[:, 0].tolist() == [3, 4]


def test_decimals_are_summed_exactly_by_hand():
    assert one("sum", sum=[0.1] * 10) == 1.0
    rows = rows_of(sum=[[0.1, 0.2, 0.7]], decimals={"sum": 1})
    assert fast("sum", rows, {}, [[1, 1, 1]]).values[0, 0] == 1.0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6, 1e15, 1e300])
def test_sums_of_long_numbers_against_fsum(scale):
    rng = np.random.default_rng(0)
    values = rng.normal(size=200) * scale
    weights = rng.integers(0, 4, 200).astype(float).tolist()
    expected = math.fsum(v for v, w in zip(values, weights, strict=True) for _ in range(int(w)))
    assert one("sum", {}, weights, sum=values) == pytest.approx(expected, abs=0.5e-12, rel=5e-15)


def test_an_infinite_number_is_refused():
    with pytest.raises(ValueError, match="infinite"):
        one("mean", mean=[1.0, math.inf])


def test_a_large_count_is_not_disturbed_by_rounding():
    assert one("count", {}, [1e12 + 1], count=[1]) == 1e12 + 1


@pytest.mark.parametrize("q", [0, 0.1, 0.25, 0.5, 0.9, 1])
def test_quantile_against_numpy(q):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values, weights = np.round(rng.normal(size=25), 2), rng.integers(0, 3, 25)
        expected = np.quantile(np.repeat(values, weights), q)
        assert one("quantile", {"q": q}, weights.astype(float).tolist(), of=values) == pytest.approx(
            expected, abs=1e-12
        )


def test_distinct_counts_only_drawn_values_by_hand():
    assert one("distinct", {}, [2.0, 1.0, 0.0, 1.0], of=[5, 5, 6, 7]) == 2.0


# --- undefined -------------------------------------------------------------------------------------------

NEUTRAL = {"of": 0.5, "confidence": 0.5, "score": 0.5, "sum": 0.5, "mean": 0.5}
ZERO_OVER_NOTHING = {"count", "sum", "distinct"}
OPTIONS = {
    "selective_accuracy": {"coverage": 0.5},
    "quantile": {"q": 0.5},
    "pvc": {"at_least": 0.5},
    "cpvc": {"at_least": 0.5, "within": 0.5},
}


def row_arguments(kind):
    chosen = []
    for p in KINDS[kind].parameters:
        if p.of_rows and p.alternative_to not in chosen:
            chosen += [f"{p.name}.0", f"{p.name}.1"] if p.kind == "columns" else [p.name]
    return chosen


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_vacuous_or_zero_by_definition(kind):
    arguments = {name: [NEUTRAL.get(name, 1)] * 4 for name in row_arguments(kind)}
    got = one(kind, OPTIONS.get(kind), among=[0] * 4, **arguments)
    assert got == (0.0 if kind in ZERO_OVER_NOTHING else "vacuous")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_row_makes_the_metric_missing_where_it_is_drawn(kind):
    arguments = {name: np.full((1, 4), NEUTRAL.get(name, 1.0)) for name in row_arguments(kind)}
    rows = rows_of(missing=[[0, 0, 0, 1]], among=[[1, 1, 1, 0]], **arguments)
    result = fast(kind, rows, OPTIONS.get(kind, {}), [[1, 1, 1, 1], [2, 1, 1, 0]])
    named = reasons(result)[:, 0]
    assert named[0] == "missing"
    assert named[1] != "missing"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_cell_that_nobody_flagged_is_missing_all_the_same(kind):
    names = row_arguments(kind)
    for name in names:
        arguments = {n: np.full((1, 3), NEUTRAL.get(n, 1.0)) for n in names}
        arguments[name][0, 1] = np.nan
        named = reasons(fast(kind, rows_of(**arguments), OPTIONS.get(kind, {}), [[1, 1, 1]]))[0, 0]
        missing_last = KINDS[kind].parameter(name.partition(".")[0]).missing_last
        assert (named == "missing") == (not missing_last)


def test_one_class_is_single_class_and_constant_sides_are_constant():
    assert one("auroc", score=[1, 2], label=[1, 1]) == "single_class"
    assert refusal([0, 0, 0], [1, 2, 3]) == "constant"
    assert refusal([1, 2, 3], [0, 0, 0]) == "constant"
    assert refusal([1, 2], [1, 2]) == "too_few_pairs"
    assert refusal([1, 2], [1, 2], weights=[2.0, 1.0]) == 1.0  # three drawn units


def test_always_and_never_as_the_source_prints_them():
    """The always row: F 1 (here 2 of 2), precision 0, recall 0, AURC 1; never: vacuous, 0, vacuous, F 0."""
    decidable = np.array([1, 1, 1, 1, 0, 0])
    confidence = [0.9, 0.8, 0.7, 0.4, 0.6, 0.2]
    for answered in (np.ones(6), np.zeros(6)):
        always = bool(answered[0])
        assert one("rate", among=1 - decidable, rate=answered) == float(always)
        assert one("rate", among=answered, rate=np.zeros(6)) == (0.0 if always else "vacuous")
        assert one("rate", among=decidable, rate=np.zeros(6)) == 0.0
        assert one("aurc", among=answered, confidence=confidence, error=answered) == (
            1.0 if always else "vacuous"
        )
        ece = one("ece", among=answered, confidence=confidence, label=decidable)
        # (0.1 + 0.2 + 0.3 + 0.6 + 0.6 + 0.2) / 6, all in bins of their own
        assert ece == (pytest.approx(1 / 3, abs=1e-12) if always else "vacuous")


# --- the table -------------------------------------------------------------------------------------------


def test_the_table_is_frozen_and_its_entries_are_whole():
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.reads
        assert kind.undefined_when
        low, high = kind.range_of({})
        assert low < high
        for p in kind.parameters:
            assert (p.kind == "choice") == bool(p.choices)
            assert p.of_rows or p.required or p.default is not None
            if p.alternative_to:
                assert kind.parameter(p.alternative_to).alternative_to == p.name
        with pytest.raises(dataclasses.FrozenInstanceError):
            kind.version = 2
    with pytest.raises(TypeError):
        KINDS["rate"] = KINDS["count"]


def test_settings_are_the_slow_axis_and_broadcast():
    among = np.ones((1, 2, 3, 1), bool)
    rate = np.zeros((2, 2, 3, 1))
    rate[1, 0] = 1
    values = fast("rate", Rows(among, ~among, {"rate": rate}, {}), {}, [[1.0] * 3]).values
    assert values.tolist() == [[0.0, 0.0, 1.0, 0.0]]
