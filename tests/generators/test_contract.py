"""What every generator promises, whatever it learns. A new type is tested by being registered."""

from pathlib import Path

import polars as pl
import pytest

from recoeval.generators import GENERATORS, Generator
from recoeval.testing.contracts import GeneratorContract, ListsContract

# Read lists made elsewhere: neither trained, nor filtered, nor cut here.
FILES = {"precomputed"}
TRAINED = sorted(set(GENERATORS) - FILES)


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_registered_under_its_type(name: str) -> None:
    assert GENERATORS[name].model_fields["type"].default == name


class TestTrained(GeneratorContract):
    @pytest.fixture(params=TRAINED)
    def generator(self, request: pytest.FixtureRequest) -> Generator:
        return GENERATORS[request.param]()


class TestFromFiles(ListsContract):
    @pytest.fixture
    def generator(self, tmp_path: Path, toy) -> Generator:
        items = pl.DataFrame(
            {"item_id": [2003, 2001, 2002], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]}
        )
        lists = toy.queries.select("query_id").join(items, how="cross")
        lists.write_parquet(tmp_path / "lists.parquet")
        return GENERATORS["precomputed"](path=str(tmp_path / "lists.parquet"))
