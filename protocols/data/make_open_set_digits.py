"""Open-set digits: 25 classifiers answer, four times each, digits they know and digits they cannot know.

Every run is trained on the digits 0 to 6 of scikit-learn's bundled data and is then asked about

- ``known``: digits 0 to 6 that no run was trained on (decidable),
- ``smudged``: the same, other images, with a 4 x 4 block of pixels blanked (decidable),
- ``unknown``: digits 7, 8 and 9 (undecidable: no answer can be certified).

A run answers by drawing from its sharpened predictive distribution, in which refusing has a weight of its
own. An external boundary head, the same for every run, says how much an image looks like a digit of a
known class; it has seen training rows only.

    python protocols/data/make_open_set_digits.py [--output FILE] [--any-version]

Equal library versions give equal bytes. What comes from a library is rounded to four decimals before
anything is drawn from it, pixels are whole sixteenths (so squared distances are exact), and only solvers
that end at one well-determined point are used, so that the last bits of a linear algebra library do not
show.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import scipy
    import sklearn
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
except ImportError as error:
    sys.exit(f"make_open_set_digits: {error}; it needs scikit-learn: pip install 'scikit-learn==1.9.*'")

MADE_WITH = {"scikit-learn": "1.9.1", "numpy": "2.4.6", "scipy": "1.17.1"}
"""The versions that gave the bytes of ``open-set-digits.csv``."""

SEED = 20260
"""Root of every stream; a stream is ``default_rng([SEED, purpose, ...])``, see the ``*_STREAM`` names."""
TASK_STREAM, TRAINING_STREAM, ANSWER_STREAM, BOUNDARY_STREAM = range(4)

KNOWN = tuple(range(7))
UNKNOWN = (7, 8, 9)
TASKS_PER_CLASS = {"known": 12, "smudged": 8, "unknown": 24}
SMUDGE = 4
"""Side of the blanked square, in pixels of an 8 x 8 image."""

FAMILIES = ("bayes", "forest", "knn", "logistic", "svm")
TRAINING_PER_CLASS = (5, 10, 20, 40, 80)
"""Training images per known class; condition i draws its own rows, the same for the five families."""

SAMPLES = 4
REFUSAL_WEIGHT = 0.2
"""Weight of refusing, beside p**2 for answering a class of probability p (temperature 1/2).

A run certain of one class refuses one time in six, a run that knows nothing more than one time in two.
"""

UNIT = 10_000
"""Probabilities are whole numbers of ten-thousandths from the moment a library hands them over."""

COLUMNS = (
    "run", "family", "size", "task", "suite", "k", "decidable", "answered", "oracle_ok", "boundary",
    "self_reported",
)  # fmt: skip

# float64 or int64 arrays; scikit-learn has no types of its own
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tasks:
    """The evaluation images: pixels (tasks x 64, whole numbers 0 to 16), true digits, suites and names."""

    names: list[str]
    suites: list[str]
    pixels: Array
    digits: Array


def stream(*purpose: int) -> np.random.Generator:
    """Return the generator of one purpose; no two purposes share a draw."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([SEED, *purpose])))


def choose_tasks(pixels: Array, digits: Array) -> tuple[Tasks, Array]:
    """Draw the evaluation images; return them and the row numbers left over as the training pool.

    The pool holds known classes only: images of an unknown class are asked about or not used at all.
    """
    rng = stream(TASK_STREAM)
    rows: dict[str, list[int]] = {suite: [] for suite in TASKS_PER_CLASS}
    pool: list[int] = []
    for digit in KNOWN:
        shuffled = rng.permutation(np.flatnonzero(digits == digit)).tolist()
        clear = TASKS_PER_CLASS["known"]
        asked = clear + TASKS_PER_CLASS["smudged"]
        rows["known"] += shuffled[:clear]
        rows["smudged"] += shuffled[clear:asked]
        pool += shuffled[asked:]
    for digit in UNKNOWN:
        shuffled = rng.permutation(np.flatnonzero(digits == digit)).tolist()
        rows["unknown"] += shuffled[: TASKS_PER_CLASS["unknown"]]

    names, suites, images, answers = [], [], [], []
    for suite, chosen in rows.items():
        # the order within a suite tells nothing about the digit
        for number, row in enumerate(rng.permutation(chosen).tolist(), start=1):
            image = pixels[row].copy()
            if suite == "smudged":
                top, left = rng.integers(0, 8 - SMUDGE, size=2, endpoint=True)
                image.reshape(8, 8)[top : top + SMUDGE, left : left + SMUDGE] = 0
            names.append(f"{suite[0]}{number:02d}")
            suites.append(suite)
            images.append(image)
            answers.append(digits[row])
    return Tasks(names, suites, np.array(images), np.array(answers)), np.array(sorted(pool))


def choose_training_rows(pool: Array, digits: Array, condition: int) -> Array:
    """Draw the training rows of one condition from the pool, equally many per known class."""
    rng = stream(TRAINING_STREAM, condition)
    per_class = TRAINING_PER_CLASS[condition]
    return np.concatenate([rng.permutation(pool[digits[pool] == digit])[:per_class] for digit in KNOWN])


def classifier(family: str, condition: int) -> Any:
    """Return an untrained classifier of one family; plain settings, none of them tuned."""
    match family:
        case "bayes":
            return GaussianNB(var_smoothing=0.05)
        case "forest":
            seed = int(stream(TRAINING_STREAM, condition, 1).integers(2**31))
            return RandomForestClassifier(n_estimators=50, n_jobs=1, random_state=seed)
        case "knn":
            return KNeighborsClassifier(n_neighbors=5, algorithm="kd_tree", n_jobs=1)
        case "logistic":
            return LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
        case "svm":
            return SVC(kernel="rbf", C=10.0, gamma=0.125, tol=1e-6, decision_function_shape="ovr")
    raise AssertionError(family)


def probabilities(model: Any, pixels: Array) -> Array:
    """Return the predictive distribution in ten-thousandths (tasks x known classes, whole numbers).

    A support vector machine has scores and no probabilities: its distribution is the softmax of its
    one-vs-rest scores.
    """
    if isinstance(model, SVC):
        scores = model.decision_function(pixels)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        values = weights / weights.sum(axis=1, keepdims=True)
    else:
        values = model.predict_proba(pixels)
    return _ten_thousandths(values)


def sample_answers(distribution: Array, rng: np.random.Generator) -> Array:
    """Draw the answers (tasks x SAMPLES): the position of a known class, or -1 for a refusal.

    The weights are whole numbers, so that the draw is exact: squared ten-thousandths, and the refusal's.
    """
    refusal = np.full((len(distribution), 1), round(REFUSAL_WEIGHT * UNIT**2), dtype=np.int64)
    edges = np.cumsum(np.hstack([refusal, distribution**2]), axis=1)
    points = rng.random((len(distribution), SAMPLES)) * edges[:, -1:]
    passed: Array = (points[:, :, None] >= edges[:, None, :]).sum(axis=2)
    return passed - 1


def nearness(pixels: Array, reference: Array, reference_digits: Array) -> Array:
    """Return two features per image (images x 2): how near the reference is, and how clearly one class is.

    The first is the distance to the nearest reference image, the second how much farther away the nearest
    image of any other class is; Euclidean, in grey levels 0 to 16.
    """
    per_class = []
    for digit in KNOWN:
        differences = pixels[:, None, :] - reference[reference_digits == digit][None, :, :]
        per_class.append((differences**2).sum(axis=2).min(axis=1))
    nearest, second = np.sqrt(np.sort(per_class, axis=0)[:2])
    return np.column_stack([nearest, second - nearest])


def boundary_head(pixels: Array, digits: Array, pool: Array, tasks: Tasks) -> Array:
    """Return the boundary head's probability that a task is decidable, in ten-thousandths, one per task.

    A logistic regression on `nearness` to one half of the pool. It learns to tell the other half from the
    same images turned by a quarter, which stand in for what is no known digit. No task, and no digit of an
    unknown class, is seen while it is fitted.
    """
    shuffled = stream(BOUNDARY_STREAM).permutation(pool)
    reference, genuine = shuffled[: len(pool) // 2], shuffled[len(pool) // 2 :]
    turned = np.rot90(pixels[genuine].reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)

    images = np.vstack([pixels[genuine], turned])
    is_genuine = np.repeat([1, 0], len(genuine))
    head = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=200)
    head.fit(nearness(images, pixels[reference], digits[reference]), is_genuine)
    seen = nearness(tasks.pixels, pixels[reference], digits[reference])
    return _ten_thousandths(head.predict_proba(seen)[:, 1])


def make_records() -> str:
    """Train the 25 runs, let them answer, and return the whole file as text (LF line endings).

    Rows stand in the order in which they are made, which is sorted by run, task and k.
    """
    data = load_digits()
    pixels, digits = data.data.astype(np.int64), data.target
    tasks, pool = choose_tasks(pixels, digits)
    boundary = boundary_head(pixels, digits, pool, tasks)
    # an unknown digit has no position among the known classes, so no answer can equal it
    truth = [KNOWN.index(digit) if digit in KNOWN else None for digit in tasks.digits.tolist()]

    lines = [",".join(COLUMNS)]
    for family_number, family in enumerate(FAMILIES):
        for condition, per_class in enumerate(TRAINING_PER_CLASS):
            size = per_class * len(KNOWN)
            rows = choose_training_rows(pool, digits, condition)
            model = classifier(family, condition).fit(pixels[rows] / 16, digits[rows])
            distribution = probabilities(model, tasks.pixels / 16)
            answers = sample_answers(distribution, stream(ANSWER_STREAM, family_number, condition))
            for task, (name, suite) in enumerate(zip(tasks.names, tasks.suites, strict=True)):
                decidable = truth[task] is not None
                confidence = distribution[task].max()
                for k, answer in enumerate(answers[task].tolist(), start=1):
                    answered = answer >= 0
                    cells = (
                        f"{family}-{size:03d}", family, str(size), name, suite, str(k),
                        _truth(decidable), _truth(answered), _truth(answered and answer == truth[task]),
                        _four_decimals(boundary[task]), _four_decimals(confidence),
                    )  # fmt: skip
                    lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def _ten_thousandths(values: Array) -> Array:
    rounded: Array = np.rint(values * UNIT).astype(np.int64)
    return rounded


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _four_decimals(value: int) -> str:
    return f"{value // UNIT}.{value % UNIT:04d}"


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
    parser = argparse.ArgumentParser(description="Make the open-set digits records.", allow_abbrev=False)
    default = Path(__file__).with_name("open-set-digits.csv")
    parser.add_argument("--output", type=Path, default=default, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--any-version", action="store_true", help="write even if the bytes may differ")
    options = parser.parse_args(arguments)

    differences = version_differences()
    if differences:
        found = "; ".join(differences.values())
        if "scikit-learn" in differences and not options.any_version:
            print(f"make_open_set_digits: refused: {found} (--any-version writes anyway)", file=sys.stderr)
            return 2
        print(f"make_open_set_digits: warning: {found}; the bytes may differ", file=sys.stderr)

    # a solver that stops early is not at the point that makes the bytes reproducible
    warnings.simplefilter("error", ConvergenceWarning)
    options.output.write_bytes(make_records().encode("ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
