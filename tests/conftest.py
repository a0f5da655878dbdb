"""Fixtures of all tests, and how much hypothesis tries."""

import importlib.util
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.store import Bucket, moto_server, use_store

# No deadlines: the first call of a kernel pays for imports and threads. In CI the examples are
# the same every time, so that a red build can be repeated: more of them would tell little more.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=60)
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


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 store; in CI it has to be there."""
    if importlib.util.find_spec("moto") is None:
        assert not os.environ.get("CI"), "moto is not installed: scripts/test installs it"
        pytest.skip("moto is not installed")
    with moto_server() as address:
        yield address


@pytest.fixture
def bucket(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket in a store that the environment names."""
    use_store(monkeypatch, s3_endpoint)
    made = Bucket(f"b{secrets.token_hex(8)}", s3_endpoint)
    made.client.create_dir(made.name)
    return made
