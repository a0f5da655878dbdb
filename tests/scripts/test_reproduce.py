"""scripts/reproduce: a published table beside ours, on a split by hand and on the real one."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

COLUMNS = "dataset,split,algorithm,params,metric,k,published,source"


@pytest.fixture
def reproduce(repository):
    def run(*options: str, real_data: Path | None = None) -> subprocess.CompletedProcess[str]:
        script = repository / "scripts" / "reproduce_published.py"
        environment = {**os.environ, "PYTHONPATH": str(repository)}
        environment.pop("RECOEVAL_REAL_DATA", None)
        if real_data is not None:
            environment["RECOEVAL_REAL_DATA"] = str(real_data)
        command = [sys.executable, "-W", "error", str(script), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return run


@pytest.fixture
def folder(tmp_path):
    """Three items of one user each; user 3, who knows item 30, is to be given item 10."""
    data = tmp_path / "data" / "ml1m_spectralcf"
    data.mkdir(parents=True)
    pl.DataFrame({"user_id": [1, 2, 3], "item_id": [10, 20, 30]}).write_parquet(
        data / "train.parquet"
    )
    pl.DataFrame({"user_id": [3], "item_id": [10]}).write_parquet(data / "test.parquet")
    (tmp_path / "conformance").mkdir()
    return tmp_path


def publish(folder: Path, *rows: str, columns: str = COLUMNS) -> None:
    lines = [columns, *(f"ml1m_spectralcf,original,{row},a book" for row in rows)]
    lines.append("another,original,TopPopular,,Recall,1,0.9,a book")
    table = folder / "conformance" / "reference_results.csv"
    table.write_text("\n".join(lines), encoding="utf-8")


def test_between_both_orders_of_ties_is_within(reproduce, folder):
    publish(
        folder,
        # Item 10 comes first among equals, or last of two.
        "TopPopular,,Recall,1,0.5",
        "TopPopular,,Recall,2,1.0",
        'TopPopular,,"MAP(/min(k,rel))",2,0.75',
        "TopPopular,,Precision,2,0.50005",
    )
    done = reproduce(real_data=folder / "data")
    assert done.stderr == ""
    assert done.stdout.splitlines()[2:] == [
        "| TopPopular | - | recall@1 | 0.5 | 1.00000 | 0.00000 | +0.50000 | within |",
        "| TopPopular | - | recall@2 | 1.0 | 1.00000 | 1.00000 | +0.00000 | within |",
        "| TopPopular | - | map@2 | 0.75 | 1.00000 | 0.50000 | +0.25000 | within |",
        "| TopPopular | - | precision@2 | 0.50005 | 0.50000 | 0.50000 | -0.00005 | within |",
        "",
        "4 rows compared, 0 outside; 0 not known here",
    ]
    assert done.returncode == 0


def test_a_row_outside(reproduce, folder):
    publish(folder, "TopPopular,,Precision,2,0.5001", "SLIM,,Recall,1,0.3")
    data, table = folder / "data" / "ml1m_spectralcf", folder / "conformance"
    figures = "| TopPopular | - | precision@2 | 0.5001 | 0.50000 | 0.50000 | -0.00010"
    done = reproduce("--data", str(data), "--published", str(table / "reference_results.csv"))
    assert done.stdout.splitlines()[2:] == [
        f"{figures} | OUTSIDE by 0.00010 |",
        "",
        "1 rows compared, 1 outside; 1 not known here",
        "row 2 (SLIM, Recall@1): no generator here is 'SLIM' (known: TopPopular, EASE_R)",
    ]
    assert done.returncode == 1


def test_several_penalties_are_several_generators(reproduce, folder):
    # Nobody knows two items: EASE says 0 for all, and ties are again by id.
    publish(
        folder,
        "EASE_R,l2=292,Recall,1,1.0",
        'EASE_R,"zero diag, l2=0.5",Recall,1,0.0',
        "EASE_R,l2=2.5,HitRate,2,0.9998",
    )
    done = reproduce(real_data=folder / "data")
    verdicts = [line.split("|")[-2].strip() for line in done.stdout.splitlines()[2:5]]
    assert verdicts == ["within", "within", "OUTSIDE by 0.00020"]
    assert done.returncode == 1


def test_what_is_not_known_is_told(reproduce, folder):
    publish(
        folder,
        "EASE_R,,Recall,20,0.1",
        "EASE_R,l2=many,Recall,20,0.1",
        "TopPopular,window=7,Recall,20,0.1",
        "TopPopular,,Serendipity,20,0.1",
        "TopPopular,,Recall,all,0.1",
        "TopPopular,,Recall,20,about 0.1",
    )
    done = reproduce(real_data=folder / "data")
    known = "Recall, MAP(/min(k,rel)), MAP(/rel), Precision, NDCG, HitRate, MRR"
    assert done.stdout.splitlines() == [
        "",
        "0 rows compared, 0 outside; 6 not known here",
        "row 1 (EASE_R, Recall@20): EASE_R without l2=...",
        "row 2 (EASE_R, Recall@20): unknown option 'l2=many' of EASE_R",
        "row 3 (TopPopular, Recall@20): unknown option 'window=7' of TopPopular",
        f"row 4 (TopPopular, Serendipity@20): unknown metric 'Serendipity' (known: {known})",
        "row 5 (TopPopular, Recall@all): K is 'all', not a whole number >= 1",
        "row 6 (TopPopular, Recall@20): the published value 'about 0.1' is not a decimal",
    ]
    assert done.returncode == 2


def test_another_split_is_not_known(reproduce, folder):
    publish(folder)
    table = folder / "conformance" / "reference_results.csv"
    table.write_text(f"{COLUMNS}\nml1m_spectralcf,new,TopPopular,,Recall,1,0.5,a book\n")
    done = reproduce(real_data=folder / "data")
    assert "row 1 (TopPopular, Recall@1): the data has no split 'new'" in done.stdout
    assert done.returncode == 2


def test_without_data(reproduce, tmp_path):
    needed = (
        "Set RECOEVAL_REAL_DATA to a folder with ml1m_spectralcf/train.parquet and test.parquet "
        "(user_id, item_id) and with ../conformance/reference_results.csv beside it, or name both: "
        "--data FOLDER --published FILE\n"
    )
    done = reproduce()
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"RECOEVAL_REAL_DATA is not set. {needed}"
    done = reproduce(real_data=tmp_path / "data")
    paths = [
        tmp_path / "data" / "ml1m_spectralcf" / "train.parquet",
        tmp_path / "data" / "ml1m_spectralcf" / "test.parquet",
        tmp_path / "conformance" / "reference_results.csv",
    ]
    assert done.returncode == 3
    assert done.stderr == f"not found: {', '.join(map(str, paths))}. {needed}"


def test_another_table(reproduce, folder):
    table = folder / "conformance" / "reference_results.csv"
    publish(folder)
    done = reproduce(real_data=folder / "data")
    assert done.stderr == f"{table} has no row of the dataset ml1m_spectralcf\n"
    publish(folder, columns="dataset,split,k")
    done = reproduce(real_data=folder / "data")
    assert done.stderr == f"{table} has no column algorithm, params, metric, published\n"
    assert done.returncode == 3


def test_the_published_table_is_reproduced_and_the_page_shows_it(reproduce, repository, real_data):
    done = reproduce(real_data=real_data)
    assert done.returncode == 0, done.stdout + done.stderr
    table, _, end = done.stdout.partition("\n\n")
    assert end.endswith(" 0 outside; 0 not known here\n")
    assert f"\n{table}\n" in (repository / "docs" / "reproduced.md").read_text(encoding="utf-8")
