"""The benchmark on tiny data: what it makes, what its programs find, what its check notices."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from scripts.bench_lib import data, logdata
from scripts.bench_lib.agreement import agreement_text, differing
from scripts.bench_lib.child import BUCKETS, bucket_of
from scripts.bench_lib.contenders import CONTENDERS, METRICS, Case, find
from scripts.bench_lib.goals import goals_of, goals_table
from scripts.bench_lib.log import stage_table
from scripts.bench_lib.main import parse
from scripts.bench_lib.page import PAGE, machine, with_section
from scripts.bench_lib.processes import FailedError, Usage, measure, run, warm
from scripts.bench_lib.table import Median, medians, table_of

USERS = 200
PYTHON = Path(sys.executable)
INT, TEXT = Case("M", "int"), Case("M", "text")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bench")
    data.make(made, USERS)
    return made


def job_of(folder: Path, lists: str, ids: str) -> dict[str, Any]:
    return {
        "lists": str(folder / f"lists_{lists}.parquet"),
        "truth": str(folder / f"truth_{ids}.parquet"),
        "metrics": METRICS,
        "k": (10, 50, 100),
    }


@pytest.fixture(scope="module")
def ours(folder: Path) -> Usage:
    return measure(PYTHON, "run_ours.py", job_of(folder, "int", "int"))


def brute_force(folder: Path) -> dict[str, float]:
    truth: dict[int, set[int]] = {}
    for user, item in pl.read_parquet(folder / "truth_int.parquet").iter_rows():
        truth.setdefault(user, set()).add(item)
    lists: dict[int, list[int]] = {}
    for user, item, _ in pl.read_parquet(folder / "lists_int.parquet").iter_rows():
        lists.setdefault(user, []).append(item)
    found: dict[str, list[float]] = {}
    for user, relevant in truth.items():
        ranks = [rank for rank, item in enumerate(lists[user], start=1) if item in relevant]
        for k in (10, 50, 100):
            hits = [rank for rank in ranks if rank <= k]
            best = min(k, len(relevant))
            values = {
                "precision": len(hits) / k,
                "recall": len(hits) / len(relevant),
                "hit_rate": float(bool(hits)),
                "mrr": 1 / hits[0] if hits else 0.0,
                "map": sum(n / rank for n, rank in enumerate(hits, start=1)) / best,
                "ndcg": sum(1 / math.log2(rank + 1) for rank in hits)
                / sum(1 / math.log2(rank + 1) for rank in range(1, best + 1)),
            }
            for metric, value in values.items():
                found.setdefault(f"{metric}@{k}", []).append(value)
                bucket = bucket_of(len(relevant))
                found.setdefault(f"{metric}@{k} {bucket}", []).append(value)
    return {label: math.fsum(values) / len(values) for label, values in found.items()}


def test_ours_and_sql_find_what_brute_force_finds(folder: Path, ours: Usage) -> None:
    expected = brute_force(folder)
    sql = measure(PYTHON, "run_duckdb.py", job_of(folder, "text", "text"))
    for used in (ours, sql):
        assert used.answer["values"] == pytest.approx(expected, abs=1e-12)
        assert 0 < used.wall <= used.process
        assert used.memory > 10_000_000
    assert ours.answer["extra"]["users"] == USERS
    assert len(expected) == len(METRICS) * 3 * (1 + len(BUCKETS))


def test_a_scan_reads_every_row(folder: Path) -> None:
    for lists in ("interleaved", "text"):
        used = measure(PYTHON, "run_scan.py", job_of(folder, lists, "int"))
        assert used.answer["extra"] == {"rows": USERS * 100}
        assert used.answer["values"] == {}


def test_the_data_are_what_they_are_said_to_be(folder: Path) -> None:
    files = ("lists_int", "lists_interleaved", "lists_text", "truth_int", "truth_text", "train_int")
    read = {name: pl.read_parquet(folder / f"{name}.parquet") for name in files}
    lists = read["lists_int"]
    assert lists.equals(lists.sort("user_id", "rank"))
    assert lists["rank"].to_list() == list(range(1, 101)) * USERS
    assert lists.select("user_id", "item_id").is_unique().all()
    assert not read["lists_interleaved"].equals(lists)
    assert read["lists_interleaved"].sort("user_id", "rank").equals(lists)
    assert read["lists_text"].row(0)[0] == "u000000000"
    assert read["lists_text"].equals(data.text_ids(lists))
    truth = read["truth_int"]
    assert truth.is_unique().all()
    assert not truth["user_id"].is_sorted()
    assert truth["user_id"].n_unique() == USERS
    assert_frame_equal(read["truth_text"], data.text_ids(truth))
    assert read["train_int"].is_unique().all()
    assert read["train_int"].height == 36 * USERS
    assert not list(folder.glob("*.parts"))


def test_the_same_data_each_time_and_whatever_the_blocks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "PART", 3_000)
    data.make(tmp_path, USERS)
    same = pl.read_parquet(tmp_path / "lists_int.parquet")
    assert same.equals(pl.read_parquet(folder / "lists_int.parquet"))
    interleaved = pl.read_parquet(tmp_path / "lists_interleaved.parquet")
    assert interleaved.sort("user_id", "rank").equals(same)


def test_huge_lists_are_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "BLOCK", 20)
    monkeypatch.setattr(data, "FILES", 5)
    data.make_huge(tmp_path, USERS)
    files = sorted((tmp_path / "lists_text").iterdir())
    assert [pl.read_parquet(file).height for file in files] == [USERS // 5 * 100] * 5
    assert pl.read_parquet(files)["user_id"].is_sorted()
    assert pl.read_parquet(tmp_path / "truth_text.parquet")["user_id"].n_unique() == USERS


def test_a_folder_is_filled_once(tmp_path: Path) -> None:
    made = []

    def work(folder: Path) -> None:
        made.append(folder)
        (folder / "file").touch()

    for recipe in ("a", "a", "b"):
        data.once(tmp_path / "S", recipe, work)
    assert len(made) == 2
    assert sorted(path.name for path in (tmp_path / "S").iterdir()) == ["file", "recipe.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["S"]


def test_the_log_is_one_that_recoeval_can_run(tmp_path: Path) -> None:
    logdata.make_log(tmp_path, 12_000, USERS)
    assert len(list((tmp_path / "log").iterdir())) == logdata.DAYS
    rows = pl.read_parquet(tmp_path / "log" / "*.parquet")
    assert rows.height == 12_000
    assert rows["timestamp"].is_sorted()
    command = [PYTHON, "-m", "recoeval", "check", tmp_path / "config.yaml"]
    assert "list_3" in run(command, folder=tmp_path).answer["output"]


def test_both_programs_of_als_list_the_same_pairs(tmp_path: Path) -> None:
    logdata.make_candidates(tmp_path, 4_000, USERS)
    job = {"factors": 4, "iterations": 2, "k": 10, "seed": 7}
    read = []
    for program in ("run_als.py", "run_implicit.py"):
        out = str(tmp_path / "out.parquet")
        used = measure(
            PYTHON, program, {**job, "train": str(tmp_path / "train.parquet"), "out": out}
        )
        assert [stage["stage"] for stage in used.answer["stages"]] == ["fit", "recommend and write"]
        read.append(pl.read_parquet(out, columns=["user_id", "item_id"]))
    assert read[0].join(read[1], on=["user_id", "item_id"], how="semi").height > 0.9 * len(read[1])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"recall@10": 0.5}, []),
        ({"recall@10": 0.5 + 1e-10}, []),
        ({"recall@10": 0.5 + 1e-8}, ["peer, round 1: recall@10 is 0.50000001, not 0.5"]),
        ({"recall@10": math.nan}, ["peer, round 1: recall@10 is nan, not 0.5"]),
        ({"recall@20": 0.5}, ["peer, round 1: recall@20 is not known"]),
        ({}, ["peer, round 1: no values"]),
    ],
)
def test_the_check_notices_a_wrong_value(values: Mapping[str, float], said: list[str]) -> None:
    assert differing({"peer": [values]}, {"recall@10": 0.5}, {"peer": 1e-9}) == said


def test_rounds_without_a_reference_are_held_against_the_first() -> None:
    rounds = [{"recall@10": 0.4}, {"recall@10": 0.4}, {"recall@10": 0.4 + 1e-15}]
    (line,) = differing({"train": rounds}, {}, {"train": None})
    assert line.startswith("train, round 3: recall@10")


def test_agreement_names_the_definitions_that_differ() -> None:
    text = agreement_text({"ours": "recoeval", "ranx": "ranx", "scan": "bare scan"})
    assert [line for line in text.splitlines() if line.startswith("| map | ranx | ")]
    assert "pytrec" not in text
    assert "differ" not in agreement_text({"ours": "recoeval", "duckdb": "DuckDB SQL"})
    assert agreement_text({"ours": "recoeval", "scan": "bare scan"}) == ""


def test_the_table_shows_medians_and_ratios() -> None:
    used = {
        (INT, "scan"): [Usage(0.5, 0.5, 1.0, 10**8)],
        (INT, "ours"): [Usage(wall, 2.0, wall + 1, 10**9) for wall in (4.0, 2.0, 90.0)],
    }
    table = table_of(medians(used), find(["scan", "ours", "ranx"]), {(INT, "ranx"): "killed"})
    head, rule, scan, ours, ranx = table.splitlines()
    assert head.count("|") == rule.count("|") == ours.count("|") == ranx.count("|")
    assert scan.startswith(
        "| M | int | by user | bare scan | 0.50 | 0.50 | 0.10 | 1.00 | 0.12 | 1.0"
    )
    assert (
        ours == "| M | int | by user | recoeval | 4.00 | 2.00 | 1.00 | 5.00 | 1.00 | 8.00 | 1.00 |"
    )
    assert "| ranx | failed |" in ranx


def test_goals_say_whether_they_are_met() -> None:
    small, large = Median(1.0, 1.0, 1.0, 1e9), Median(9.0, 9.0, 9.0, 3e9)
    found = {(INT, "ours"): small, (Case("L", "int"), "ours"): large, (INT, "rectools"): large}
    goals = {goal.title: goal for goal in goals_of(found)}
    assert goals["M to L, ten times the rows: wall"].met
    assert not goals["L, integer ids by user: memory, GB"].met
    assert not goals["M: rectools, wall / recoeval"].met
    assert "| M: rectools, wall / recoeval | at least 10 | 9 | no |" in goals_table(found)
    assert goals_table({}) == ""


def test_a_stage_table_shows_what_the_manifest_has() -> None:
    stages = [{"stage": "read", "seconds": 1.234, "rows": 5000}, {"stage": "write", "seconds": 1.0}]
    assert stage_table(stages).splitlines()[2:] == [
        "| read | 1.23 | 5,000 |",
        "| write | 1.00 |  |",
    ]


def test_a_failure_says_what_the_program_said() -> None:
    with pytest.raises(FailedError, match="exit code 3\nno memory"):
        run([PYTHON, "-c", "print('no memory'); raise SystemExit(3)"])
    with pytest.raises(FailedError, match="killed by signal 9"):
        run([PYTHON, "-c", "import os; os.kill(os.getpid(), 9)"])
    assert run([PYTHON, "-c", "raise SystemExit(1)"], accepted=(0, 1)).cpu > 0


def test_files_are_warmed_by_name_and_by_pattern(folder: Path) -> None:
    warm(str(folder / "lists_int.parquet"), str(folder / "*.parquet"), str(folder / "none"))


def test_who_takes_part_where() -> None:
    huge, large = Case("huge", "text"), Case("L", "int")
    assert [each.name for each in CONTENDERS if each.takes(huge)] == ["scan", "ours"]
    on_large = [each.name for each in CONTENDERS if each.takes(large, large=True)]
    assert on_large == ["scan", "ours", "rectools", "replay"]
    assert [each.name for each in CONTENDERS if each.takes(large)] == [
        *("scan", "ours", "train", "duckdb")
    ]
    assert INT.job(train=True)["train"].endswith("M/train_int.parquet")
    assert huge.job()["lists"].endswith("huge/lists_text/*.parquet")
    pins = [pin for each in CONTENDERS for pin in each.requirements]
    assert all("==" in pin for pin in pins)
    with pytest.raises(ValueError, match="unknown: spark; known: scan, ours"):
        find(["spark"])


def test_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    quick, all_ = parse(["--quick"]), parse([])
    assert (quick.sizes, quick.partly) == (("S", "M"), True)
    assert [each.name for each in quick.contenders] == ["scan", "ours", "duckdb"]
    assert (all_.sizes, all_.partly, all_.rounds) == (("S", "M", "L"), False, 3)
    assert parse(["--large"]).sizes == ("L",)
    assert not parse(["huge"]).partly
    for wrong in (["--sizes", "XL"], ["--only", "spark"], ["--rounds", "0"]):
        with pytest.raises(SystemExit):
            parse(wrong)
    assert "known: S, M, L" in capsys.readouterr().err


def test_the_page_has_a_place_for_every_mode() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("lists", "large", "huge", "log", "candidates"):
        changed = with_section(page, name, "| new |\n")
        assert f"<!-- {name}: begin -->\n\n| new |\n\n<!-- {name}: end -->" in changed
        assert with_section(changed, name, "| new |\n") == changed
    with pytest.raises(ValueError, match="lacks the markers"):
        with_section(page, "other", "")


def test_a_machine_is_told_without_its_name() -> None:
    import platform

    assert "cores" in machine()
    assert platform.node() not in machine()
