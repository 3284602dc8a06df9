"""Risk scores: four scorers on four binary tasks made of scikit-learn's bundled tables.

The tasks, each with a positive class that must not be let through:

- ``cancer``: malignant tumours of the breast cancer table,
- ``diabetes``: disease progression above the median of the diabetes table,
- ``digits-odd``: odd digits, on images with noise,
- ``digits-eight``: the digit 8 against all others, on the same images.

Rows are split into fit, calibration and test parts within dataset and label, in the order of seeded hashes of
their names. A scorer sees the fit part only and then gives every row, of all parts, its probability of the
positive class.

    python protocols/data/make_risk_scores.py [--output FILE] [--any-version]

Equal library versions give equal bytes. Scores are rounded to four decimals, noise is drawn in whole grey
levels, and only solvers that end at one well-determined point are used, so that the last bits of a linear
algebra library do not show.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import scipy
    import sklearn
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
except ImportError as error:
    sys.exit(f"make_risk_scores: {error}; it needs scikit-learn: pip install 'scikit-learn==1.9.*'")

MADE_WITH = {"scikit-learn": "1.9.1", "numpy": "2.4.6", "scipy": "1.17.1"}
"""The versions that gave the bytes of ``risk-scores.csv``."""

SEED = 20261
"""Root of the split's hashes, of the noise and of the forests."""

PARTS = (("fit", Fraction(3, 10)), ("calibration", Fraction(7, 10)), ("test", Fraction(1)))
"""Name and upper end of each part, as shares of the rows of one dataset and label."""

NOISE = 8
"""Every pixel (0 to 16) of a digit is moved by a whole number up to this, and kept within 0 to 16."""

SCORERS = ("bayes", "forest", "knn", "logistic")

COLUMNS = ("scorer", "dataset", "row", "score", "y", "part")

# float64 or int64 arrays; scikit-learn has no types of its own
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Table:
    """One task: features (rows x columns) and labels, 1 for the positive class."""

    name: str
    features: Array
    labels: Array

    def rows(self) -> list[str]:
        """The names of the rows."""
        return [f"r{i:04d}" for i in range(len(self.labels))]


def tables() -> list[Table]:
    """Return the four tasks."""
    cancer, diabetes, digits = load_breast_cancer(), load_diabetes(), load_digits()
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([SEED, 1])))
    pixels = digits.data.astype(np.int64)
    noisy = np.clip(pixels + rng.integers(-NOISE, NOISE, size=pixels.shape, endpoint=True), 0, 16)
    return [
        Table(
            "cancer", cancer.data, (cancer.target == list(cancer.target_names).index("malignant")).astype(int)
        ),
        Table("diabetes", diabetes.data, (diabetes.target > np.median(diabetes.target)).astype(int)),
        Table("digits-odd", noisy / 16, digits.target % 2),
        Table("digits-eight", noisy / 16, (digits.target == 8).astype(int)),
    ]


def parts_of(table: Table) -> list[str]:
    """Return the part of every row.

    Within a label rows are ordered by the SHA-256 of seed, "split", dataset, label and name, joined by NUL;
    the one of rank r of n goes to the part whose [floor(n * lower end), floor(n * upper end)) holds r.
    """
    names = table.rows()
    out = [""] * len(names)
    for label in (0, 1):
        members = [i for i, y in enumerate(table.labels.tolist()) if y == label]
        keys = {
            i: hashlib.sha256(
                "\0".join((str(SEED), "split", table.name, str(label), names[i])).encode()
            ).digest()
            for i in members
        }
        begin = 0
        ordered = sorted(members, key=keys.__getitem__)
        for part, upper in PARTS:
            end = math.floor(len(ordered) * upper)
            for i in ordered[begin:end]:
                out[i] = part
            begin = end
    return out


def scorer(name: str, table: int) -> Any:
    """Return an unfitted scorer; plain settings, none of them tuned."""
    match name:
        case "bayes":
            return GaussianNB()
        case "forest":
            seed = int(np.random.SeedSequence([SEED, 2, table]).generate_state(1)[0])
            return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=seed)
        case "knn":
            return KNeighborsClassifier(n_neighbors=15, algorithm="kd_tree", n_jobs=1)
        case "logistic":
            return LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
    raise AssertionError(name)


def make_records() -> str:
    """Fit the sixteen scorers and return the whole file as text (LF line endings), sorted by its columns."""
    lines = []
    for number, table in enumerate(tables()):
        parts = parts_of(table)
        fit = np.array([part == "fit" for part in parts])
        # columns are put on one scale, by the fit part alone; a column that is constant there stays out
        spread = table.features[fit].std(axis=0)
        used = spread > 1e-9
        scaled = (table.features[:, used] - table.features[fit][:, used].mean(axis=0)) / spread[used]
        for name in SCORERS:
            model = scorer(name, number).fit(scaled[fit], table.labels[fit])
            scores = np.rint(model.predict_proba(scaled)[:, 1] * 10_000).astype(np.int64)
            for row, score, y, part in zip(
                table.rows(), scores.tolist(), table.labels.tolist(), parts, strict=True
            ):
                cells = (name, table.name, row, f"{score // 10_000}.{score % 10_000:04d}", str(y), part)
                lines.append(",".join(cells))
    return "\n".join([",".join(COLUMNS), *sorted(lines)]) + "\n"


def version_differences() -> dict[str, str]:
    """Return ``name: what was found and what was expected`` for libraries of another minor version."""
    found = {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    return {
        name: f"{name} {found[name]}, not {expected}"
        for name, expected in MADE_WITH.items()
        if found[name].split(".")[:2] != expected.split(".")[:2]
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the records; 0 when written, 2 when the versions are others and nothing was written."""
    parser = argparse.ArgumentParser(description="Make the risk scores.", allow_abbrev=False)
    default = Path(__file__).with_name("risk-scores.csv")
    parser.add_argument("--output", type=Path, default=default, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--any-version", action="store_true", help="write even if the bytes may differ")
    options = parser.parse_args(arguments)

    differences = version_differences()
    if differences:
        found = "; ".join(differences.values())
        if "scikit-learn" in differences and not options.any_version:
            print(f"make_risk_scores: refused: {found} (--any-version writes anyway)", file=sys.stderr)
            return 2
        print(f"make_risk_scores: warning: {found}; the bytes may differ", file=sys.stderr)

    # a solver that stops early is not at the point that makes the bytes reproducible
    warnings.simplefilter("error", ConvergenceWarning)
    options.output.write_bytes(make_records().encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
