"""The LensKit generator of docs/plugins.md: held to the contract where LensKit is installed."""

import pytest
from lenskit_generator import LensKitALS

from recoeval.generators import Generator
from recoeval.testing.contracts import GeneratorContract

pytest.importorskip("lenskit", reason="LensKit is not installed")


@pytest.mark.filterwarnings("default")
class TestLensKit(GeneratorContract):
    @pytest.fixture
    def generator(self) -> Generator:
        return LensKitALS(factors=8, epochs=3)
