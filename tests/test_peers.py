"""Records to ledger against scikit-learn, SciPy, statsmodels and NumPy, where the conventions coincide.

A resample is a vector of whole-number weights, so the peers see it as `sample_weight` or as repeated rows.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics
from sklearn.calibration import calibration_curve
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from prereg.cli.app import execute
from prereg.estimate import Block, estimate
from prereg.formats import read_yaml
from prereg.prepare import Prepared
from prereg.protocol import read_protocol
from prereg.readers import read_records
from prereg.resolve import resolve

ARMS = [f"arm{i}" for i in range(8)]
UNITS = 60
RESAMPLES = 25
METRICS = {
    "precision": {"rate": "right", "among": "answered"},
    "recall": {"rate": "answered", "among": "right"},
    "accuracy": {"rate": "right"},
    "auroc": {"auroc": {"score": "conf", "label": "right"}},
    "brier": {"brier": {"confidence": "conf", "label": "right"}},
    "ece": {"ece": {"confidence": "conf", "label": "right"}},
    "aurc": {"aurc": {"confidence": "fine", "label": "right"}},
    "upper": {"quantile": {"of": "points", "q": 0.9}},
    "average": {"mean": "points", "among": "answered"},
    "most": {"sum": "points", "among": "answered"},
    "index": {"refusal_index": {"refused": "not answered", "wrong": "answered and not right"}},
}
PAIRS = [("auroc", "accuracy"), ("brier", "ece"), ("upper", "average"), ("precision", "aurc")]


@pytest.fixture(scope="module")
def data():
    """Arrays (arm, unit): ties in `conf`, none in `fine`; the last arm but one never answers."""
    rng = np.random.default_rng(20)
    shape = (len(ARMS), UNITS)
    found = {
        "right": rng.random(shape) < np.linspace(0.3, 0.8, len(ARMS))[:, None],
        "answered": rng.random(shape) < 0.7,
        "conf": np.round(rng.random(shape), 2),
        "fine": rng.permuted(np.tile(np.arange(UNITS) / 64, (len(ARMS), 1)), axis=1),
        "points": np.round(rng.normal(scale=30, size=shape), 3),
    }
    found["conf"][:, :4] = [0, 1, 0.5, 0.7]
    found["answered"][-2] = False
    return found


def write(folder, data, **sections):
    names = list(data)
    lines = [",".join(["arm", "unit", *names])]
    for i, arm in enumerate(ARMS):
        for u in range(UNITS):
            cells = [data[n][i, u] for n in names]
            shown = [str(x).lower() if isinstance(x, np.bool_) else repr(float(x)) for x in cells]
            lines.append(",".join([arm, f"u{u:02}", *shown]))
    (folder / "records.csv").write_text("\n".join(lines) + "\n")
    protocol = {
        "prereg": 1,
        "id": "peers",
        "title": "Against peers",
        "data": {"records": "records.csv", "arm": "arm", "unit": "unit"},
        "metrics": METRICS,
        "resampling": {"resamples": RESAMPLES, "seed": 9},
        "predictions": {"some": {"claim": "mean(accuracy) > 0.5"}},
        **sections,
    }
    path = folder / "protocol.yaml"
    path.write_text(json.dumps(protocol))
    return path


def ledger_of(folder, data, **sections):
    path = write(folder, data, **sections)
    assert execute(["lock", str(path), "-C", str(folder)]) == 0
    assert execute(["run", "-C", str(folder)]) == 0
    tree = json.loads(next(folder.glob("results/peers/*/ledger.json")).read_text())
    return {p["id"]: p for p in tree["content"]["predictions"]}


@pytest.fixture(scope="module")
def prepared(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    reports = {f"{name}-{a}-{b}": f"{name}({a}, {b})" for a, b in PAIRS
               for name in ("spearman", "kendall", "pearson", "slope")}  # fmt: skip
    reports |= {f"{name}-{m}": f"{name}({m})" for m in METRICS for name in ("sd", "median", "mean")}
    document = read_yaml(write(folder, data, reports=reports))
    protocol = read_protocol(document)
    records = read_records([("records.csv", folder / "records.csv")], protocol.data.types)
    return Prepared.of(resolve(protocol, records, document.place))


@pytest.fixture(scope="module")
def block(prepared):
    return Block(prepared, 0, RESAMPLES + 1)


def against(block, data, name, peer, tolerance=1e-12):
    """Every arm, at the point and in every resample, against peer(arm's columns, weights)."""
    values = block.metric(name, None).data
    weights = block.weights(0, 0)
    assert weights.shape == (RESAMPLES + 1, UNITS)
    seen = 0
    for r in range(RESAMPLES + 1):
        for i in range(len(ARMS)):
            expected = peer({k: v[i] for k, v in data.items()}, weights[r])
            if math.isnan(expected):
                assert math.isnan(values[r, i])
            else:
                assert values[r, i] == pytest.approx(expected, rel=tolerance, abs=tolerance)
                seen += 1
    assert seen > RESAMPLES * 4


def repeated(column, weights):
    return np.repeat(column, weights.astype(int))


def test_auroc_against_scikit_learn(block, data):
    against(
        block, data, "auroc",
        lambda d, w: sklearn_metrics.roc_auc_score(d["right"], d["conf"], sample_weight=w),
    )  # fmt: skip


def test_brier_against_scikit_learn(block, data):
    against(
        block, data, "brier",
        lambda d, w: sklearn_metrics.brier_score_loss(d["right"], d["conf"], sample_weight=w),
    )  # fmt: skip


def test_precision_against_scikit_learn(block, data):
    def peer(d, w):
        # it would answer 0 or warn without a positive prediction; here that is undefined
        return sklearn_metrics.precision_score(
            d["right"], d["answered"], sample_weight=w, zero_division=np.nan
        )

    against(block, data, "precision", peer)


def test_recall_against_scikit_learn(block, data):
    against(
        block, data, "recall",
        lambda d, w: sklearn_metrics.recall_score(
            d["right"], d["answered"], sample_weight=w, zero_division=np.nan
        ),
    )  # fmt: skip


def test_ece_against_scikit_learn_bins(block, data):
    def peer(d, w):
        right, conf = repeated(d["right"], w), repeated(d["conf"], w)
        observed, predicted = calibration_curve(right, conf, n_bins=10)
        # calibration_curve keeps its counts to itself; these are its own edges and its own search
        bins = np.searchsorted(np.linspace(0, 1, 11)[1:-1], conf)
        size = np.bincount(bins, minlength=10)
        return (np.abs(observed - predicted) * size[size > 0]).sum() / len(conf)

    against(block, data, "ece", peer)


def test_aurc_without_ties_against_numpy_cumulative_risks(block, data):
    values = block.metric("aurc", None).data[0]
    for i in range(len(ARMS)):
        wrong = ~data["right"][i][np.argsort(-data["fine"][i])]
        expected = (np.cumsum(wrong) / np.arange(1, UNITS + 1)).mean()
        assert values[i] == pytest.approx(expected, abs=1e-12)


def test_quantile_against_numpy(block, data):
    against(block, data, "upper", lambda d, w: np.quantile(repeated(d["points"], w), 0.9))


def test_mean_and_sum_against_numpy(block, data):
    def chosen(d, w):
        return repeated(d["points"][d["answered"]], w[d["answered"]])

    against(block, data, "average", lambda d, w: chosen(d, w).mean() if len(chosen(d, w)) else math.nan)
    against(block, data, "most", lambda d, w: chosen(d, w).sum())


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_refusal_index_against_scipy(block, data):
    def peer(d, w):
        refused, wrong = ~d["answered"], d["answered"] & ~d["right"]
        return stats.spearmanr(repeated(refused, w), repeated(wrong, w)).statistic

    against(block, data, "index", peer)


def slope(y, x):
    return stats.linregress(x, y).slope


PEERS = {
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "slope": slope,
}
ONE = {"sd": lambda v: np.std(v, ddof=1), "median": np.median, "mean": np.mean}


@pytest.fixture(scope="module")
def reported(prepared):
    found = estimate(prepared)
    return {plan.id: leg for plan, leg in zip(prepared.plan.reports, found.reports, strict=True)}


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("name", PEERS)
def test_correlations_over_policies_against_scipy(block, reported, name, a, b):
    x, y = block.metric(a, None).data, block.metric(b, None).data
    leg = reported[f"{name}-{a}-{b}"]
    for r in range(RESAMPLES + 1):
        both = ~np.isnan(x[r]) & ~np.isnan(y[r])
        expected = PEERS[name](x[r, both], y[r, both])
        assert leg.data[r, 0] == pytest.approx(expected, rel=1e-11, abs=1e-12)
    ((n, gone),) = leg.point.facts.counts
    missing = int((np.isnan(x[0]) | np.isnan(y[0])).sum())
    assert (int(n[0]), int(gone[0])) == (len(ARMS) - missing, missing)
    assert missing == ("precision" in (a, b) or "average" in (a, b))  # the arm that never answers


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("metric", METRICS)
def test_statistics_over_policies_against_numpy(block, reported, metric, name):
    values = block.metric(metric, None).data
    for r in range(RESAMPLES + 1):
        expected = ONE[name](values[r][~np.isnan(values[r])])
        assert reported[f"{name}-{metric}"].data[r, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_percentile_interval_against_numpy(data, reported, tmp_path):
    predictions = {
        f"at-{level}": {"claim": f"spearman({a}, {b}) > 0", "level": level}
        for level in (0.5, 0.9, 0.99)
        for a, b in PAIRS[:1]
    }
    ledger = ledger_of(tmp_path, data, predictions=predictions)
    drawn = reported["spearman-auroc-accuracy"].data[1:, 0]
    for level in (0.5, 0.9, 0.99):
        tail = 50 * (1 - level)
        expected = np.percentile(drawn, [tail, 100 - tail])
        assert ledger[f"at-{level}"]["interval"] == pytest.approx(expected, rel=1e-9)


def test_clopper_pearson_against_scipy(data, tmp_path):
    predictions = {
        arm: {"claim": f"accuracy[{arm}] > 0.5", "evidence": "exact", "level": 0.9} for arm in ARMS
    }
    ledger = ledger_of(tmp_path, data, predictions=predictions)
    for i, arm in enumerate(ARMS):
        test = stats.binomtest(int(data["right"][i].sum()), UNITS)
        low, high = test.proportion_ci(0.9, method="exact")
        # `interval` is of d, the rate minus 0.5
        assert ledger[arm]["interval"] == pytest.approx([low - 0.5, high - 0.5], rel=1e-9)
        sides = (low > 0.5, high > 0.5)
        expected = "held" if all(sides) else ("failed" if any(sides) else "falsified")
        assert ledger[arm]["verdict"] == expected


def test_exact_test_of_two_rates_against_statsmodels_mcnemar(data, tmp_path):
    predictions = {
        arm: {"claim": f"accuracy[{arm}] > accuracy[arm0]", "evidence": "exact"} for arm in ARMS[1:]
    }
    ledger = ledger_of(tmp_path, data, predictions=predictions)
    for i, arm in enumerate(ARMS[1:], start=1):
        table = [
            [int(((data["right"][i] == p) & (data["right"][0] == q)).sum()) for q in (True, False)]
            for p in (True, False)
        ]
        assert ledger[arm]["p"] == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)
        assert ledger[arm]["interval"] is None


def test_holm_over_a_family_against_statsmodels(data, tmp_path):
    predictions = {
        arm: {"claim": f"accuracy[{arm}] > accuracy[arm0]", "family": "all", "level": 0.8} for arm in ARMS[1:]
    }
    resampling = {"resamples": 400, "seed": 9}
    ledger = ledger_of(tmp_path, data, predictions=predictions, resampling=resampling)
    p = [ledger[arm]["p"] for arm in ARMS[1:]]
    assert len(set(p)) > 2
    expected = multipletests(p, method="holm")[1]
    assert [ledger[arm]["p_adjusted"] for arm in ARMS[1:]] == pytest.approx(expected, rel=1e-9)
