"""What all tests share: the profile of Hypothesis, and where records may lie that are not shipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the time of one example says nothing on a busy machine.
settings.register_profile("prereg", deadline=None)
settings.load_profile("prereg")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    """The folder of public records beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the public records in ../shared/data beside the checkout")
    return SHARED
