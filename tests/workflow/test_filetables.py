from pathlib import Path

import polars as pl
import pytest

from recoeval.errors import RecoevalError
from recoeval.workflow.filetables import evaluate_tables

TABLES = {
    "recs": {"uid": [1, 1, 2], "vid": [7, 8, 9], "rank": [1, 2, 1]},
    "truth": {"uid": [1, 2], "vid": [8, 7]},
    "train": {"uid": [1, 2], "vid": [9, 8]},
    "users": {"uid": [1, 2], "quota": [1, 3]},
    "items": {"vid": [7, 8, 9, 10], "available": [True, True, True, False]},
    "exposures": {"uid": [1, 2], "vid": [7, 10]},
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    for name, columns in TABLES.items():
        pl.DataFrame(columns).write_csv(tmp_path / f"{name}.csv")
    return {name: str(tmp_path / f"{name}.csv") for name in TABLES}


def test_catalogue_exposures_and_quotas_of_files(files):
    found, _ = evaluate_tables(
        files,
        metrics="hits@quota,item_coverage,judged",
        k="1,2",
        columns=["user_id=uid,item_id=vid"],
    )
    assert found.per_query["hits@quota"].to_list() == [0.0, 0.0]
    # Of three items that are available 7 and 9 are on rank 1, and 8 on rank 2.
    assert found.value("item_coverage@1") == 2 / 3
    assert found.value("item_coverage@2") == 1.0
    assert found.value("judged@1") == 1 / 2


@pytest.mark.parametrize(
    ("dropped", "metrics", "text"),
    [
        ("exposures", "judged@1", "--metrics judged@1: judged@1 needs exposures"),
        ("users", "hits@quota", "--metrics hits@quota: hits@quota needs a column quota"),
    ],
)
def test_metrics_of_tables_that_are_not_given(files, dropped, metrics, text):
    given = {name: path for name, path in files.items() if name != dropped}
    with pytest.raises(RecoevalError) as error:
        evaluate_tables(given, metrics=metrics, k="1", columns=["user_id=uid,item_id=vid"])
    assert str(error.value).startswith(text)


def test_a_bad_table_is_named(files):
    path = Path(files["items"])
    path.write_text("vid,available\n7,yes\n")
    with pytest.raises(RecoevalError) as error:
        evaluate_tables(files, metrics="recall", k="1", columns=["user_id=uid,item_id=vid"])
    assert str(error.value) == "items.available: String, expected true and false"
