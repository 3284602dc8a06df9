"""The scripts beside the example protocols as modules, and when their figures are to be expected."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROTOCOLS = ROOT / "protocols"


def script(name):
    path = PROTOCOLS / "data" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def learner():
    """The script of the learner; skips without scikit-learn, or where its answers may be others."""
    pytest.importorskip("sklearn")
    module = script("make_entailment_learner")
    differences = module.version_differences()
    if differences:
        pytest.skip("; ".join(differences))
    return module


def library_learner():
    """The script of the learner on a library; it finds the other one loaded already."""
    pytest.importorskip("pysat")
    learner()
    return script("make_entailment_library")
