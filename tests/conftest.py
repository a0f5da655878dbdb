"""Fixtures of all tests, and how much hypothesis tries."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadlines: the first call of a kernel pays for imports and threads. In CI the examples are
# the same every time, so that a red build can be repeated.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout: configs/, datasets/, docs/."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real logs; where it is named, it has to be there."""
    named = os.environ.get("RECOEVAL_REAL_DATA")
    if not named:
        pytest.skip("no real data")
    folder = Path(named).resolve()
    assert folder.is_dir(), f"RECOEVAL_REAL_DATA names no folder: {named}"
    return folder
