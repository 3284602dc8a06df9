"""Random panels through the package against the slow program: every value, draw, correlation and count."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction

import pytest

from prereg import judge
from prereg.cli.app import execute
from prereg.errors import PreregError
from prereg.estimate import Block, estimate
from prereg.formats import read_yaml
from prereg.prepare import Prepared
from prereg.protocol import read_protocol
from prereg.questions import questions
from prereg.readers import read_records
from prereg.resolve import resolve
from prereg.values import REASONS
from random_panels import BOUND, random_case
from slow_program import COMPARE, PAIRED, Program, Refused, interval, reduce_vectors, twelve, verdict

PANELS = 260  # of which more than 200 can be measured
THROUGH_THE_COMMAND_LINE = 10


def prepared_of(case, folder, kind="csv"):
    path = case.write(folder, kind)
    document = read_yaml(path)
    protocol = read_protocol(document)
    records = folder / protocol.data.records[0]
    plan = resolve(protocol, read_records([(records.name, records)], protocol.data.types), document.place)
    return Prepared.of(plan)


def slow_of(case):
    try:
        return Program(case.records, case.spec)
    except Refused as refused:
        return str(refused)


def close(found, expected):
    """Equal to 1e-12, or undefined alike."""
    if isinstance(expected, str) or expected is None:
        return found is None or math.isnan(found)
    if found is None or math.isnan(found):
        return False
    if abs(found - float(expected)) < 0.9e-12:
        return True
    return abs(Fraction(float(found)) - expected) <= Fraction(1, 10**12) * max(1, abs(expected)) * (
        1 + Fraction(1, 1000)
    )


def compare_metrics(case, slow, prepared, resamples):
    block = Block(prepared, 0, resamples + 1)
    for name, spec in case.spec["metrics"].items():
        plan = prepared.plan.metrics[name]
        rows = [slow.metric(name, b) for b in (None, *range(resamples))]
        counts = slow.detail(name)
        for which, axes in [(None, plan.axes), *plan.degenerate.items()]:
            data = block.metric(name, which).data
            units, gone = block.metric(name, which).facts.counts[0]
            detail = block.details[name, which]
            assert set(axes.keys) == {k for w, k in rows[0] if w == which}, (name, which)
            for i, key in enumerate(axes.keys):
                where = (case.seed, name, spec, which, key)
                for r, row in enumerate(rows):
                    assert close(data[r, i], row[which, key]), (*where, r, data[r, i], row[which, key])
                value = rows[0][which, key]
                reason = REASONS[int(detail.reasons[i])]
                assert reason == (value if isinstance(value, str) else ""), (*where, reason, value)
                n, inside, hits, total = counts[which, key]
                assert (int(units[i]), int(gone[i])) == (n, isinstance(value, str)), (*where, units[i], n)
                assert int(detail.rows[i]) == inside, where
                if spec["kind"] == "rate" and not isinstance(value, str):
                    assert (detail.numerator[i], detail.denominator[i]) == (hits, total), where
    for name in case.spec["values"]:
        data = block.metric(name, None).data
        for r, b in enumerate((None, *range(resamples))):
            expected = slow.vectors(b)[name]
            axes = prepared.plan.metrics[name].axes
            for i, key in enumerate(axes.keys):
                assert close(data[r, i], expected[key]), (case.seed, name, key, r)


def expected_statistics(case, slow, resamples):
    """Per statistic: its values at the point and in every resample, n and n_undefined at the point."""
    vectors = [slow.vectors(b) for b in (None, *range(resamples))]
    out = {}
    for name, statistic, op in case.statistics:
        rows = [reduce_vectors(statistic, v) for v in vectors]
        out[name] = ([None if isinstance(v, str) else v for v, _, _ in rows], rows[0][0], *rows[0][1:], op)
    return out


def compare_prediction(where, tree, values, n, gone, op, level, shortened=False):
    """One entry of a ledger against the values of its statistic."""

    def same(found, expected):
        if shortened and expected is not None and found is not None:
            return math.isclose(found, float(expected), rel_tol=1e-9, abs_tol=1e-12)
        return close(found, expected)

    d = [None if v is None else twelve(v - Fraction(BOUND)) for v in values]
    known = [x for x in d[1:] if x is not None]
    assert same(tree["left"], values[0]), (where, tree, values[0])
    assert same(tree["point"], d[0]), (where, tree, d[0])
    assert (tree["n"], tree["n_undefined"]) == (n, gone), (where, tree, n, gone)
    assert tree["resamples"] == len(d) - 1
    assert tree["resamples_defined"] == len(known), where
    support = Fraction(sum(COMPARE[op](x, 0) for x in known), len(d) - 1)
    assert same(tree["support"], support), (where, tree, support)
    assert (tree["verdict"], tree["reason"]) == verdict(d[0], d[1:], op, level), (where, tree, d)
    if d[0] is not None and 2 * len(known) >= len(d) - 1:
        assert all(map(same, tree["interval"], interval(known, level))), (where, tree)
    else:
        assert tree["interval"] is None, (where, tree)


def compare_case(case, folder):
    slow = slow_of(case)
    if isinstance(slow, str):
        with pytest.raises(PreregError):
            prepared_of(case, folder)
        return None
    prepared = prepared_of(case, folder, "jsonl" if case.seed % 3 == 0 else "csv")
    resamples, level = case.spec["resampling"]["resamples"], case.spec["resampling"]["level"]
    compare_metrics(case, slow, prepared, resamples)
    for panel, own in zip(prepared.plan.layout.panels, slow.panels, strict=True):
        name = () if panel.dataset is None else (panel.dataset,)
        layout = prepared.plan.layout
        assert {a: layout.dropped[(*a, *name)] for a in own.rows} == {a: own.dropped[a] for a in own.rows}
    expected = expected_statistics(case, slow, resamples)
    found = estimate(prepared)
    trees = {j.id: j.to_tree() for j in judge.judge(questions(prepared.plan, found))}
    legs = {p.id: legs[0] for p, legs in zip(prepared.plan.predictions, found.claims, strict=True)}
    legs |= {r.id: leg for r, leg in zip(prepared.plan.reports, found.reports, strict=True)}
    for name, statistic, op in case.statistics:
        values, point, n, gone, _ = expected[name]
        where = (case.seed, name, statistic)
        shift = Fraction(BOUND) if op else 0
        assert legs[name].data.shape == (resamples + 1, 1)
        for r, value in enumerate(values):
            wanted = None if value is None else twelve(value - shift)
            assert close(legs[name].data[r, 0], wanted), (*where, r, legs[name].data[r, 0], wanted)
        facts = legs[name].point.facts
        assert [(int(a[0]), int(b[0])) for a, b in facts.counts] == [(n, gone)], where
        assert bool(REASONS[int(facts.reasons[0])]) == isinstance(point, str), where
        if statistic[0] in PAIRED and isinstance(point, str):
            assert REASONS[int(facts.reasons[0])] == point, where
        if op:
            compare_prediction(where, trees[name], values, n, gone, op, level)
    return slow


@pytest.mark.parametrize("first", range(0, PANELS, 20))
def test_random_panels_against_slow_program(first, tmp_path):
    measured = sum(compare_case(random_case(seed), tmp_path) is not None for seed in range(first, first + 20))
    assert measured >= 10


def compare_table(case, slow, text):
    """policies.csv against the slow program: it writes 10 significant digits."""
    rows = list(csv.DictReader(text.splitlines()))
    table = {}
    arms = case.spec["arm"]
    for row in rows:
        which = row[arms[0]] if row[arms[0]] in ("always", "never") else None
        named = [row[a] for a in arms] if which is None else []
        named += [row["set"]] if case.spec["dataset"] else []
        per = case.spec["metrics"].get(row["metric"], {}).get("per")
        named += [row[f] for f in ("gate", per) if f and row.get(f)]
        table[row["metric"], which, tuple(named)] = row
    expected = {(n, *key): value for n in case.spec["metrics"] for key, value in slow.metric(n).items()}
    for name in case.spec["values"]:
        expected |= {(name, None, key): value for key, value in slow.vectors()[name].items()}
    shown = {k: v for k, v in table.items() if k in expected}
    assert shown.keys() == expected.keys()
    dropped = {k: table.pop(k) for k in list(table) if k[0] == "dropped"}
    for panel in slow.panels:
        for arm, seen in panel.seen.items():
            key = ("dropped", None, (*arm, *(() if panel.name is None else (panel.name,))))
            if key in dropped:
                expected_share = Fraction(panel.dropped[arm], seen)
                assert math.isclose(float(dropped.pop(key)["value"]), expected_share, abs_tol=1e-9)
    assert not dropped, (case.seed, dropped)
    # besides: degenerate policies of `values`, and what is told of every gate
    assert not {k for k in table.keys() - shown.keys() if k[0] in case.spec["metrics"]}, case.seed
    for key, value in expected.items():
        row = shown[key]
        if isinstance(value, str):
            assert (row["value"], row["reason"]) == ("", value), (case.seed, key, row, value)
        else:
            assert row["reason"] == ""
            assert math.isclose(float(row["value"]), value, rel_tol=1e-9, abs_tol=1e-12), (case.seed, key)
        if key[0] in case.spec["values"]:
            continue
        _, inside, hits, total = slow.detail(key[0])[key[1:]]
        assert row["n"] == str(inside)
        assert row["part"] == (case.spec["metrics"][key[0]]["part"] or "")
        if hits is not None and not isinstance(value, str):
            assert (row["numerator"], row["denominator"]) == (str(hits), str(total))


def test_panels_through_the_command_line_against_slow_program(tmp_path, capsys):
    done = 0
    for seed in range(3_000, 3_100):
        case = random_case(seed)
        slow = slow_of(case)
        if isinstance(slow, str):
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = case.write(folder, "jsonl" if seed % 2 else "csv")
        if execute(["lock", str(path), "-C", str(folder)]) != 0:
            # refused for a denominator that is empty for everyone, or a claim that cannot come out both ways
            assert "protocol.yaml:" in capsys.readouterr().err
            continue
        assert execute(["run", "-C", str(folder), "--jobs", str(1 + seed % 2)]) == 0
        results = next((folder / "results" / f"panel-{seed}").glob("*/ledger.json"))
        content = json.loads(results.read_text())["content"]
        compare_table(case, slow, (results.parent / "policies.csv").read_text())
        spec = case.spec["resampling"]
        expected = expected_statistics(case, slow, spec["resamples"])
        trees = {p["id"]: p for p in content["predictions"]}
        told = {r["id"]: r["values"][0] for r in content["reports"]}
        for name, statistic, op in case.statistics:
            values, _, n, gone, _ = expected[name]
            if op:
                where = (seed, name, statistic)
                compare_prediction(where, trees[name], values, n, gone, op, spec["level"], shortened=True)
            else:
                assert told[name]["n"] == n
                assert (told[name]["value"] is None) == (values[0] is None)
                if values[0] is not None:
                    assert math.isclose(told[name]["value"], values[0], rel_tol=1e-9, abs_tol=1e-12)
        done += 1
        if done == THROUGH_THE_COMMAND_LINE:
            return
    raise AssertionError(f"only {done} of 100 panels could be locked")


@pytest.mark.parametrize("seed", [11_165, 11_190])
def test_a_filter_that_keeps_no_record_is_refused_with_and_without_datasets(seed, tmp_path):
    assert slow_of(random_case(seed)) == "no record"
    assert compare_case(random_case(seed), tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 12_000, 50))
def test_more_random_panels_against_slow_program(first, tmp_path):
    for seed in range(first, first + 50):
        compare_case(random_case(seed), tmp_path)
