"""The same content to the byte, whatever the workers, blocks, order of rows, files, clock or processor."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import shutil
import subprocess
import sys
from random import Random

import numpy as np
import pytest

from prereg import attempts
from prereg.cli.app import execute
from prereg.dataclass import replace
from prereg.estimate import estimate
from prereg.formats import read_yaml
from prereg.prepare import Prepared
from prereg.protocol import read_protocol
from prereg.readers import read_records
from prereg.resolve import resolve

ID = "same-bytes"
RESAMPLES = 520
COLUMNS = ["run", "task", "set", "k", "suite", "decidable", "answered", "certified", "conf", "points"]
METRICS = {
    "precision": {"rate": "certified", "among": "answered"},
    "recall": {"rate": "certified", "among": "decidable"},
    "failure": {"rate": "answered and not certified", "among": "not decidable", "part": "test"},
    "distance": {"value": "(1 - precision) + (1 - recall)"},
    "ece": {"ece": {"confidence": "conf", "label": "decidable"}, "among": "answered"},
    "brier": {"brier": {"confidence": "conf", "label": "certified"}, "among": "answered"},
    "auroc": {"auroc": {"score": "conf", "label": "certified"}, "among": "answered"},
    "aurc": {"aurc": {"confidence": "conf", "error": "not certified"}, "among": "answered"},
    "eaurc": {
        "eaurc": {"confidence": "conf", "error": "not certified", "ties": "expected"},
        "among": "answered",
    },
    "refusal_index": {
        "refusal_index": {"refused": "not answered", "wrong": "answered and not certified"},
    },
    "selective": {"selective_accuracy": {"confidence": "conf", "correct": "certified", "coverage": 0.8}},
    "points_mean": {"mean": "points", "among": "answered"},
    "points_sum": {"sum": "points", "among": "answered"},
    "points_high": {"quantile": {"of": "points", "q": 0.9}, "among": "answered"},
    "by_suite": {"rate": "certified", "among": "answered", "per": "suite"},
}
OTHERS = [name for name in METRICS if name not in ("failure", "by_suite")]


def protocol(records="records.csv"):
    return {
        "prereg": 1,
        "id": ID,
        "title": "The same bytes",
        "data": {"records": records, "arm": "run", "unit": "task", "dataset": "set", "sample": "k"},
        "split": {
            "parts": {"calibration": 0.5, "test": 0.5}, "stratify": "suite", "seed": 3,
            "default": "calibration",
        },
        "policies": {
            "gate": {"score": "conf", "at_least": ["none", 0.5, 0.8]}, "degenerate": ["always", "never"],
        },
        "metrics": METRICS,
        "resampling": {"resamples": RESAMPLES, "stratify": "suite", "seed": 5},
        "predictions": {
            **{f"{name}-tracks": {"claim": f"spearman({name}, failure) < 0"} for name in OTHERS},
            "every": {"claim": "all(failure < 0.5)", "evidence": {"support": 0.9}},
            "slope": {"claim": "slope(failure, precision) < 0", "falsified_if": "support < 0.5"},
        },
        "reports": {
            "kendall": "kendall(aurc, failure)", "pearson": "pearson(ece, failure)", "sd": "sd(points_mean)",
            "by_gate": "mean(precision, over=run)",
        },
    }  # fmt: skip


def rows():
    """Ties, duplicates and irregular decimals; 3 runs x 2 sets x 26 tasks x 2 samples."""
    rng = Random(11)
    out = []
    for dataset in ("p", "q"):
        for t in range(26):
            suite = "known" if t % 3 else "open"
            for run in ("r1", "r2", "r3"):
                for k in ("1", "2"):
                    answered = rng.random() < 0.7
                    certified = answered and suite == "known" and rng.random() < 0.7
                    conf = round(rng.random(), rng.choice([1, 2, 6]))
                    points = round(rng.uniform(-40, 90), rng.choice([0, 3, 14]))
                    truths = [suite == "known", answered, certified]
                    out.append(
                        [run, f"t{t}", dataset, k, suite, *(str(x).lower() for x in truths), conf, points]
                    )
    return out


def text(lines):
    return "".join(",".join(map(str, line)) + "\n" for line in [COLUMNS, *lines])


def project(folder, files=None, records="records.csv"):
    folder.mkdir(exist_ok=True)
    for name, content in (files or {"records.csv": text(rows())}).items():
        (folder / name).write_text(content)
    (folder / "protocol.yaml").write_text(json.dumps(protocol(records)))
    return folder


def locked(folder, **given):
    project(folder, **given)
    assert execute(["lock", str(folder / "protocol.yaml"), "-C", str(folder)]) == 0
    return folder


def results(folder):
    """Ledger and table of the one registration of a folder."""
    ledger = next((folder / "results" / ID).glob("*/ledger.json"))
    return ledger, ledger.parent / "policies.csv"


def content(folder):
    """The bytes of everything the ledger says (all but the envelope), and the table."""
    ledger, table = results(folder)
    whole = ledger.read_text()
    before, after = whole.split('"envelope_digest"')
    assert '"content"' in before
    assert '"content"' not in after
    return before, table.read_bytes()


def findings(folder):
    """What is independent of how the records are cut into files."""
    ledger, table = results(folder)
    tree = json.loads(ledger.read_text())["content"]
    del tree["registration"], tree["data"]["files"]
    return json.dumps(tree), table.read_bytes()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A locked project, not run."""
    return locked(tmp_path_factory.mktemp("base") / "project")


@pytest.fixture(scope="module")
def reference(base, tmp_path_factory):
    """The same, run with one worker."""
    folder = tmp_path_factory.mktemp("reference") / "project"
    shutil.copytree(base, folder)
    assert execute(["run", "-C", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_gives_the_same_ledger(base, reference, tmp_path, workers):
    shutil.copytree(base, tmp_path / "p")
    assert execute(["run", "-C", str(tmp_path / "p"), "--jobs", str(workers)]) == 0
    assert content(tmp_path / "p") == content(reference)


def test_the_reference_says_something(reference):
    """Guards the tests above and below: equal ledgers of undefined values would prove little."""
    tree = json.loads(results(reference)[0].read_text())["content"]
    assert sum(p["point"] is not None for p in tree["predictions"]) >= 12
    assert all(p["resamples"] == RESAMPLES for p in tree["predictions"])


def cut(lines):
    """Three files of unequal length."""
    pieces = {"part-a.csv": lines[:7], "part-b.csv": lines[7:8], "part-c.csv": lines[8:]}
    return {name: text(piece) for name, piece in pieces.items()}


def as_json(lines):
    def cell(column, x):
        if column in ("decidable", "answered", "certified"):
            return x == "true"
        return x

    return "".join(
        json.dumps({c: cell(c, x) for c, x in zip(COLUMNS, line, strict=True)}) + "\n" for line in lines
    )


def shuffled(seed):
    lines = rows()
    Random(seed).shuffle(lines)
    return lines


@pytest.mark.parametrize(
    ("files", "records"),
    [
        ({"records.csv": text(shuffled(1))}, "records.csv"),
        ({"records.csv": text(rows()[::-1])}, "records.csv"),
        (cut(rows()), "part-*.csv"),
        (cut(shuffled(2)), ["part-c.csv", "part-a.csv", "part-b.csv"]),
        ({"records.jsonl": as_json(shuffled(3))}, "records.jsonl"),
        ({"records.csv": "\ufeff" + text(rows()).replace("\n", "\r\n")}, "records.csv"),
    ],
    ids=["shuffled", "reversed", "files", "files-shuffled", "json-lines", "crlf-and-bom"],
)
def test_neither_order_nor_files_change_a_finding(reference, tmp_path, files, records):
    folder = locked(tmp_path / "p", files=files, records=records)
    assert execute(["run", "-C", str(folder)]) == 0
    assert findings(folder) == findings(reference)


def test_columns_in_another_order_change_no_finding(reference, tmp_path):
    order = list(range(len(COLUMNS)))[::-1]
    turned = "".join(",".join(str(line[i]) for i in order) + "\n" for line in [COLUMNS, *rows()])
    folder = locked(tmp_path / "p", files={"records.csv": turned})
    assert execute(["run", "-C", str(folder)]) == 0
    assert findings(folder) == findings(reference)


class Later(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(days=400)


def test_a_run_at_another_time_reproduces_the_ledger(base, reference, tmp_path, monkeypatch, capsys):
    again, fresh = tmp_path / "again", tmp_path / "fresh"
    shutil.copytree(reference, again)
    shutil.copytree(base, fresh)
    before = results(again)[0].read_bytes()
    monkeypatch.setattr(attempts, "datetime", Later)
    assert execute(["run", "-C", str(again)]) == 0
    assert "reproduced" in capsys.readouterr().out
    assert results(again)[0].read_bytes() == before
    assert execute(["run", "-C", str(fresh)]) == 0
    assert content(fresh) == content(reference)
    envelopes = [json.loads(results(f)[0].read_text())["envelope"] for f in (fresh, reference)]
    assert envelopes[0]["time"][:4] > envelopes[1]["time"][:4]


def estimates(folder, jobs=1, size=None):
    """SHA-256 of every leg and every metric at the point, all bits."""
    document = read_yaml(folder / "protocol.yaml")
    spec = read_protocol(document)
    records = read_records([("records.csv", folder / "records.csv")], spec.data.types)
    found = estimate(Prepared.of(resolve(spec, records, document.place)), jobs, size=size)
    sha = hashlib.sha256()
    for leg in [leg for legs in found.claims for leg in legs] + list(found.reports):
        sha.update(np.ascontiguousarray(leg.data).tobytes())
    for detail in found.details.values():
        sha.update(detail.values.tobytes() + detail.reasons.tobytes())
    return sha.hexdigest()


def test_blocks_and_workers_change_no_bit(base):
    whole = estimates(base, size=RESAMPLES + 1)
    for jobs, size in ((1, None), (1, 100), (1, 37), (2, 64), (3, 13)):
        assert estimates(base, jobs, size) == whole, (jobs, size)


def _processor_features():
    from numpy._core import _multiarray_umath as umath

    return " ".join(f for f in umath.__cpu_dispatch__ if umath.__cpu_features__.get(f))


SETTINGS = {
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "two-threads": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    "no-dispatch": {"NPY_DISABLE_CPU_FEATURES": _processor_features()},
    "oldest": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": _processor_features()},
    "hash-seed": {"PYTHONHASHSEED": "4321", "LC_ALL": "C", "TZ": "Asia/Kathmandu"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_kernels_threads_and_surroundings_change_no_byte(base, reference, tmp_path, name):
    shutil.copytree(base, tmp_path / "p")
    environment = {**os.environ, **SETTINGS[name]}
    command = [sys.executable, "-m", "prereg", "run", "-C", str(tmp_path / "p")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "p") == content(reference)


def test_more_resamples_extend_fewer(base):
    document = read_yaml(base / "protocol.yaml")
    spec = read_protocol(document)
    records = read_records([("records.csv", base / "records.csv")], spec.data.types)
    few = replace(spec, resampling=replace(spec.resampling, resamples=RESAMPLES // 3))
    many = estimate(Prepared.of(resolve(spec, records, document.place)))
    less = estimate(Prepared.of(resolve(few, records, document.place)))
    for (a,), (b,) in zip(many.claims[:-2], less.claims[:-2], strict=True):
        assert a.data[: RESAMPLES // 3 + 1].tobytes() == b.data.tobytes()
