"""Diagnostics over categories on cases computed on paper, and the closed form against a grid that is walked."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_metrics import assert_same, fast, levels_of, random_weights, reasons, slow
from prereg.dataclass import replace
from prereg.kernels.categories import lines, nano
from prereg.metrics import KINDS, Rows

VOLUMES = ("pvc_vus", "cpvc_vus", "pm_pvc_vus", "pm_cpvc_vus", "pm_sc_vus")


def panel(*categories, arms=1):
    """Rows from one list of (correct, confidence) per category; None stands for a category without rows."""
    rows = [(code, *row) for code, members in enumerate(categories) for row in members or []]
    columns = np.array(rows, dtype=np.float64).T.reshape(3, 1, 1, len(rows), 1).repeat(arms, axis=2)
    arguments = dict(zip(("groups", "correct", "confidence"), columns, strict=True))
    among = np.ones(columns[0].shape, dtype=bool)
    known = {"groups": tuple(range(len(categories)))}
    return Rows(among, np.zeros_like(among), arguments, {}, known)


def of(kind, rows, drawn=None, **options):
    """The value, or the reason, of one arm under one weighting."""
    result = fast(kind, rows, options, [drawn or [1.0] * rows.among.shape[2]])
    return reasons(result)[0, 0] or result.values[0, 0]


def exactly(value):
    return pytest.approx(float(value), abs=1e-12)


def member(right, n, confidence):
    """A category of n rows, `right` of them correct, that all report one confidence."""
    return [(1.0, confidence)] * right + [(0.0, confidence)] * (n - right)


# --- on paper ------------------------------------------------------------------------------------------------


def test_a_category_exactly_on_a_grid_line_counts_there_by_hand():
    # SEA = 7/10 exactly and mean confidence 0.77, so e = 0.07 exactly: doubles make 0.77 - 0.7 a little more
    on_the_line = panel(member(7, 10, 0.77))
    assert 0.77 - 0.7 > 0.07
    assert of("pvc", on_the_line, at_least="0.7") == 1
    assert of("pvc", on_the_line, at_least="0.700000001") == 0
    assert of("cpvc", on_the_line, at_least="0.7", within="0.07") == 1
    assert of("cpvc", on_the_line, at_least="0.7", within="0.069999999") == 0
    # trapezoids in steps of 1/100: g = 0 .. 0.70 give 70.5, t = 0.07 .. 1 give 93.5
    assert of("pvc_vus", on_the_line) == exactly("0.705")
    assert of("cpvc_vus", on_the_line) == exactly(Fraction(705, 1000) * Fraction(935, 1000))
    # N = 20, k = 7: 0.02 sum (n - 7)/n over n = 8 .. 20
    expected = Fraction(2, 100) * sum(Fraction(n - 7, n) for n in range(8, 21))
    assert of("pm_cpvc_vus", on_the_line) == exactly(expected)


def test_one_step_beside_the_line_counts_on_the_next_by_hand():
    # mean confidence 0.7700001: e lies above 0.07, the first line at or above it is 0.08
    beside = panel(member(7, 10, 0.7700001))
    assert of("cpvc_vus", beside) == exactly(Fraction(705, 1000) * Fraction(925, 1000))
    expected = Fraction(2, 100) * sum(Fraction(n - 8, n) for n in range(9, 21))
    assert of("pm_cpvc_vus", beside) == exactly(expected)


def test_a_category_on_the_line_of_the_margin_adds_nothing_by_hand():
    # SEA = 1/2: no line g > 1/2 is reached; and e = a = SEA - 1/2 leaves no line with g - 1/2 > t >= e
    assert of("pm_pvc_vus", panel(member(1, 2, 0.5))) == 0
    assert of("pm_cpvc_vus", panel(member(3, 4, 1.0))) == 0
    assert of("pm_pvc_vus", panel(member(3, 4, 1.0))) > 0


def test_all_rows_right_and_certain_by_hand():
    """SEA = 1 and e = 0 in both categories: each fills the whole grid."""
    rows = panel(member(5, 5, 1.0), member(3, 3, 1.0))
    assert of("pvc_vus", rows) == 2
    assert of("cpvc_vus", rows) == 2
    # the line n of the margin holds t = 0 (half) .. n - 1: width n - 1/2, weight 2/(g - 1/2); g = 1 by half
    inside = [Fraction(2, 100 * n) * (n - Fraction(1, 2)) for n in range(1, 51)]
    total = sum(inside) - inside[-1] / 2
    assert float(total) == pytest.approx(0.94511, abs=5e-6)  # the total weight of this grid, not 1
    assert of("pm_pvc_vus", rows) == exactly(2 * total)
    assert of("pm_cpvc_vus", rows) == exactly(2 * total)
    assert of("category_calibration_error", rows) == 0
    assert of("worst_category", rows) == 1
    assert of("category_brier", rows) == 0


def test_all_rows_tied_by_hand():
    """Correctness 1/2 at confidence 1/2: SEA = 1/2, e = 0; without ties nothing is left."""
    rows = panel([(0.5, 0.5)] * 3, [(0.5, 0.5)] * 2)
    assert of("pvc", rows, at_least="0.5") == 2
    assert of("cpvc", rows, at_least="0.5", within="0") == 2
    assert of("pvc_vus", rows) == exactly(2 * Fraction(505, 1000))  # 50.5 steps each
    assert of("cpvc_vus", rows) == exactly(2 * Fraction(505, 1000))  # and t from 0 on: the whole width
    assert of("pm_pvc_vus", rows) == 0
    for kind in (*VOLUMES, "category_calibration_error", "category_brier", "worst_category"):
        assert of(kind, rows, ties="drop") == "empty_category"


def test_ties_kept_and_dropped_by_hand():
    rows = panel([(1.0, 0.9), (1.0, 0.9), (0.5, 0.5), (0.0, 0.9)])
    # kept: SEA 2.5/4, mean confidence 3.2/4; dropped: SEA 2/3, mean confidence 0.9
    assert of("category_calibration_error", rows) == exactly(Fraction(7, 40))
    assert of("category_calibration_error", rows, ties="drop") == exactly(Fraction(9, 10) - Fraction(2, 3))
    assert of("worst_category", rows, ties="drop") == exactly(Fraction(2, 3))


def test_one_category_is_the_whole_by_hand():
    rows = panel(member(6, 10, 0.9))
    assert of("worst_category", rows) == exactly("0.6")
    assert of("worst_category", rows, of="calibration_error") == exactly("0.3")
    assert of("category_calibration_error", rows) == exactly("0.3")
    assert of("category_calibration_error", rows, weights="rows") == exactly("0.3")
    assert of("category_brier", rows) == exactly("0.09")


def test_weights_of_the_calibration_error_by_hand():
    # gaps 0.2 over 10 rows and 0.5 over 2: unweighted 0.35, by rows (2 + 1)/12
    rows = panel(member(7, 10, 0.9), member(1, 2, 1.0))
    assert of("category_calibration_error", rows) == exactly("0.35")
    assert of("category_calibration_error", rows, weights="rows") == exactly("0.25")
    assert of("category_brier", rows) == exactly((Fraction(4, 100) + Fraction(25, 100)) / 2)


def test_the_gap_is_that_of_the_means_by_hand():
    # rows are off by 1 and by -1: the means agree, and the category counts at t = 0
    assert of("cpvc", panel([(1.0, 0.0), (0.0, 1.0)]), at_least="0.5", within="0") == 1


def test_a_category_without_rows_in_a_resample_is_undefined_there_by_hand():
    rows = panel(member(2, 3, 0.8), member(1, 1, 0.7))
    for kind in KINDS:
        if KINDS[kind].parameter("groups") is None:
            continue
        options = {"at_least": "0.5", "within": "0.5"}
        result = fast(kind, rows, options, [[1, 1, 1, 1], [1, 2, 1, 0], [0, 0, 3, 1]])
        assert np.isnan(result.values[:, 0]).tolist() == [False, True, False]
        assert reasons(result)[:, 0].tolist() == ["", "empty_category", ""]


def test_a_category_without_rows_at_the_point_names_the_reason_by_hand():
    assert of("cpvc_vus", panel(member(2, 3, 0.8), None)) == "empty_category"


def test_the_baseline_of_sample_complexity_by_hand():
    """No category in the margin: 3 (sum over n < 50 of (2 - 1/n) + (2 - 1/50)/2), printed as 283.5324."""
    base = 3 * (sum(2 - Fraction(1, n) for n in range(1, 50)) + (2 - Fraction(1, 50)) / 2)
    assert round(float(base), 4) == 283.5324
    empty = panel(member(0, 2, 0.5))
    assert of("pm_sc_vus", empty) == exactly(base)
    rows = panel(member(9, 10, 0.95), member(8, 10, 0.8))
    assert of("pm_sc_vus", rows) == pytest.approx(float(base) + 100 * of("pm_cpvc_vus", rows), abs=1e-10)


def test_volumes_approach_their_continuum_by_hand():
    """On a fine grid: sum SEA, sum SEA (1 - e), 2 sum a, and 2 sum (a - e - e ln(a/e))."""
    pairs = [(Fraction(9, 10), 0.93), (Fraction(8, 10), 0.85), (Fraction(7, 10), 0.96)]
    rows = panel(*(member(int(s * 10), 10, p) for s, p in pairs))
    known = [(float(s), float(s) - 0.5, abs(p - float(s))) for s, p in pairs]
    fine = {"grid": "0.001"}
    assert of("pvc_vus", rows, **fine) == pytest.approx(sum(s for s, _, _ in known), abs=2e-3)
    assert of("cpvc_vus", rows, **fine) == pytest.approx(sum(s * (1 - e) for s, _, e in known), abs=3e-3)
    assert of("pm_pvc_vus", rows, **fine) == pytest.approx(2 * sum(a for _, a, _ in known), abs=0.03)
    inside = [2 * (a - e - e * log(a / e)) for _, a, e in known if a > e]
    assert of("pm_cpvc_vus", rows, **fine) == pytest.approx(sum(inside), abs=0.02)


# --- against the walked grid ---------------------------------------------------------------------------------


def random_panel(rng, units=24, arms=2):
    """Whole and half correctness, confidences of two decimals, so that grid lines are often met exactly."""
    shape = (1, arms, units, 1)
    groups = np.broadcast_to(rng.permutation(np.arange(units) % 4).reshape(1, 1, units, 1), shape)
    skill = rng.choice([0.3, 0.6, 0.9], (1, arms, 1, 1))
    correct = np.where(rng.random(shape) < 0.1, 0.5, (rng.random(shape) < skill) * 1.0)
    sure = (
        rng.choice([0.5, 0.8, 0.95, 1.0], shape) if rng.random() < 0.5 else rng.integers(50, 101, shape) / 100
    )
    among = rng.random(shape) < 0.9
    arguments = {"groups": groups.astype(float), "correct": correct, "confidence": sure}
    return Rows(among, np.zeros_like(among), arguments, {}, levels_of(arguments))


@pytest.mark.parametrize("grid", ["0.1", "0.05", "0.02", "0.01"])
@pytest.mark.parametrize("kind", VOLUMES)
def test_closed_form_against_the_walked_grid(kind, grid):
    for seed in range(4 if grid == "0.01" else 8):
        rng = np.random.default_rng(seed)
        rows = random_panel(rng)
        weights = random_weights(rng, 3, 24)
        for more in ({}, {"ties": "drop"}, {"weights": "none"}):
            if "weights" in more and KINDS[kind].parameter("weights") is None:
                continue
            options = {"grid": grid, **more}
            assert_same(fast(kind, rows, options, weights), slow(kind, rows, options, weights))


def test_unweighted_margin_counts_its_cells_by_hand():
    # grid 0.25: the margin g > t + 1/2 holds (0.75, 0) and (1, 0), (1, 0.25); t = 0 and g = 1 by half
    rows = panel(member(1, 1, 1.0))
    assert of("pm_pvc_vus", rows, grid="0.25", weights="none") == exactly(
        Fraction(1, 16) * (Fraction(1, 2) + Fraction(1, 2) * Fraction(3, 2))
    )
    # weighted by 2/(g - 1/2): 8 at g = 3/4, 4 at g = 1
    assert of("pm_pvc_vus", rows, grid="0.25") == exactly(
        Fraction(1, 16) * (8 * Fraction(1, 2) + 4 * Fraction(1, 2) * Fraction(3, 2))
    )


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_units_and_the_blocks_do_not_matter_against_itself(seed):
    rng = np.random.default_rng(seed)
    rows, weights, turn = random_panel(rng), random_weights(rng, 9, 24), rng.permutation(24)
    turned = replace(
        rows,
        among=rows.among[:, :, turn],
        missing=rows.missing[:, :, turn],
        arguments={name: array[:, :, turn] for name, array in rows.arguments.items()},
    )
    for kind in VOLUMES:
        whole = fast(kind, rows, {}, weights).values
        assert fast(kind, turned, {}, weights[:, turn]).values.tobytes() == whole.tobytes()
        parts = [fast(kind, rows, {}, weights[i : i + 2]).values for i in range(0, len(weights), 2)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_categories_are_added_up_against_itself(seed):
    """Every volume is a sum over categories, up to the base of sample complexity."""
    rng = np.random.default_rng(seed)
    one, two = (member(int(rng.integers(0, 8)), 7, rng.integers(0, 101) / 100) for _ in range(2))
    for kind in VOLUMES[:-1]:
        apart = of(kind, panel(one)) + of(kind, panel(two))
        assert of(kind, panel(one, two)) == pytest.approx(apart, abs=1e-11)


def test_a_surface_integrates_to_the_volume_by_hand():
    rows = panel(member(7, 10, 0.77), member(3, 5, 0.9))
    kernel = KINDS["cpvc_vus"].prepare(rows, {"grid": "0.1"})
    defined, pvc, cpvc = kernel.surface()
    assert defined.tolist() == [True]
    assert pvc[0].tolist() == [2] * 7 + [1] + [0] * 3  # 0.6 and 0.7 are reached on their lines
    # e = 0.07 counts from t = 0.1, e = 0.3 from t = 0.3 on
    assert cpvc[0, 5].tolist() == [0, 1, 1] + [2] * 8
    trapezoid = np.trapezoid(np.trapezoid(cpvc[0], dx=0.1, axis=1), dx=0.1)
    assert trapezoid == pytest.approx(of("cpvc_vus", rows, grid="0.1"), abs=1e-12)
    assert not KINDS["cpvc_vus"].prepare(panel(member(1, 2, 1.0), None), {}).surface()[0][0]


def test_a_grid_finer_than_int64_holds_is_exact_by_hand():
    """A million drawn units times a grid of 1/1000 leave int64: 7 of 10 right at confidence 0.77."""
    rows = panel(member(7, 10, 0.77))
    many = [10.0**7] * 10
    assert of("cpvc_vus", rows, many, grid="0.001") == of("cpvc_vus", rows, grid="0.001")


@pytest.mark.parametrize("step", ["0.03", "0.4", "0.15", "0.3"])
def test_a_step_that_does_not_divide_one_half_is_refused(step):
    with pytest.raises(ValueError, match="must divide 1/2"):
        lines({"grid": step})


@pytest.mark.parametrize(
    ("step", "count"), [("0.5", 2), ("0.1", 10), ("0.02", 50), ("0.01", 100), (0.001, 1000)]
)
def test_a_step_that_divides_one_half_is_taken(step, count):
    assert lines({"grid": step}) == count


def test_a_bar_has_at_most_nine_decimals():
    assert nano({"at_least": "0.123456789"}, "at_least") == 123456789
    with pytest.raises(ValueError, match="more than 9 decimals"):
        nano({"at_least": "0.1234567891"}, "at_least")


@pytest.mark.parametrize("name", ["correct", "confidence"])
def test_a_value_outside_the_unit_interval_is_refused(name):
    rows = panel([(1.0, 1.0)])
    rows.arguments[name][:] = 1.1
    with pytest.raises(ValueError, match=f"`{name}` lies outside"):
        KINDS["pvc_vus"].prepare(rows, {})


def test_the_bootstrap_of_the_positive_margin_is_biased_upward_by_simulation():
    """PM is convex in the category means: resampled values exceed the point on average, PVC-VUS does not."""
    rng = np.random.default_rng(0)
    rows = panel(*(member(12, 24, 0.6) for _ in range(24)))
    weights = np.concatenate([rng.multinomial(24, np.full(24, 1 / 24), size=400) for _ in range(24)], axis=1)
    pm = fast("pm_cpvc_vus", rows, {}, weights).values[:, 0]
    pvc = fast("pvc_vus", rows, {}, weights).values[:, 0]
    assert of("pm_cpvc_vus", rows) == 0
    assert np.quantile(pm, 0.025) > 0  # the interval excludes the point
    assert pvc.mean() == pytest.approx(of("pvc_vus", rows), abs=0.15)
    assert KINDS["pm_cpvc_vus"].caution
    assert not KINDS["pvc_vus"].caution
