"""The command line: what stands on stdout and stderr, and the exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import recoeval as rv
from recoeval import cli
from recoeval.errors import DataError, EngineError

LOG = """\
user_id,item_id,timestamp,event,dwell
1,10,2026-01-01T08:00:00Z,click,40
2,10,2026-01-02T08:00:00Z,click,50
2,20,2026-01-03T08:00:00Z,click,60
3,30,2026-01-04T08:00:00Z,click,60
1,20,2026-01-10T08:00:00Z,click,40
2,30,2026-01-11T08:00:00Z,click,50
2,10,2026-01-11T09:00:00Z,click,50
4,10,2026-01-11T09:30:00Z,click,
"""
CONFIG = """\
name: tiny
interactions: {path: log.csv, timestamp_unit: iso}
split: {test_start: 2026-01-10T00:00:00Z}
ground_truth: {relevant: "dwell > 30"}
generators: {popularity: }
metrics: [recall, ndcg, coverage]
k: [1, 2]
buckets: {activity: {by: train_interactions, edges: [2]}}
constraints: ["recall@2 >= 0.001"]
output: {path: out}
"""
COMMAND = [sys.executable, "-m", "recoeval"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log, lists, a truth and a configuration, and the current one."""
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    (tmp_path / "recs.csv").write_text("user_id,item_id,rank\n1,7,1\n1,8,2\n2,9,1\n")
    (tmp_path / "truth.csv").write_text("user_id,item_id\n1,8\n2,9\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("RECOEVAL_DEBUG", raising=False)
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: `run("check", "tiny.yaml")` -> code, stdout, stderr."""

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        assert isinstance(stop.value.code, int)
        return stop.value.code, *capsys.readouterr()

    return command


def stable(text: str) -> str:
    """Returns the output without what is new in each run."""
    text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{6}", "RUN", text)
    return re.sub(r"Took [\d.,]+ s, [\d,]+ MB", "Took N s, N MB", text)


def test_a_run(run: Run, folder: Path, snapshot: SnapshotAssertion) -> None:
    code, out, err = run("run", "tiny.yaml")
    assert (code, err) == (0, "")
    assert stable(out).replace(str(folder), ".") == snapshot
    (path,) = (folder / "out" / "tiny").iterdir()
    assert f"Written to {path}" in out.replace("\n", "") or path.name in out
    assert rv.open_run(path).value("recall@2", "popularity") is not None


def test_a_run_as_json(run: Run) -> None:
    code, out, err = run("run", "tiny.yaml", "--json")
    assert (code, err) == (0, "")
    read = json.loads(out)
    stored = rv.open_run(read["path"])
    assert read["summary"] == stored.summary.to_dicts()
    assert read["given"] == {"config": "tiny.yaml"}
    assert read["verdict"]["outcome"] == stored.verdict.outcome


def test_set_and_date(run: Run, folder: Path) -> None:
    (folder / "log.csv").rename(folder / "log-2026-11-29.csv")
    arguments = ("--set", "interactions.path=log-{date}.csv", "--set", "k=[2]")
    code, out, _ = run("run", "tiny.yaml", *arguments, "--date", "2026-11-29", "--json")
    assert code == 0
    assert json.loads(out)["measures"] == ["recall@2", "ndcg@2", "coverage", "recall_ceiling"]


@pytest.mark.parametrize("text", ["2026-13-01", "20261129", "2026-W48-7", "2026-1-1", "today"])
def test_a_day_that_is_none(run: Run, text: str) -> None:
    code, out, err = run("run", "tiny.yaml", "--date", text)
    assert (code, out) == (2, "")
    assert err == f"--date {text}: expected a day such as 2026-11-29\n"


def test_verbose_tells_each_stage_on_stderr(run: Run) -> None:
    code, _, err = run("run", "tiny.yaml", "-v")
    assert code == 0
    assert re.search(r"^( +\d+\.\d s){2} +[\d,]+ MB +[\d,-]+  popularity: fit$", err, re.MULTILINE)


def test_a_failed_constraint_is_exit_code_1(run: Run) -> None:
    failing = 'constraints=[{metric: "recall@2", max: 0.1, confidence: null}]'
    code, out, err = run("run", "tiny.yaml", "--set", failing)
    assert (code, err) == (1, "")
    assert "FAIL" in out
    warning = failing.replace("max", "severity: warn, max")
    code, out, _ = run("run", "tiny.yaml", "--set", warning)
    assert code == 0
    assert "1 warning" in out


def test_verbose_shows_all_tables(run: Run) -> None:
    short, full = run("run", "tiny.yaml")[1], run("run", "tiny.yaml", "-v")[1]
    assert "Test window by day" in full
    assert "Test window by day" not in short
    assert len(full) > len(short)


def last_run(folder: Path) -> str:
    runs = (folder / "out" / "tiny").iterdir()
    return str(max(runs, key=lambda path: path.stat().st_mtime).relative_to(folder))


def test_a_stored_run_is_shown_again(run: Run, folder: Path) -> None:
    _, printed, _ = run("run", "tiny.yaml")
    path = last_run(folder)
    code, again, err = run("report", path)
    assert (code, err) == (0, "")
    # Another thing was asked for: all else is the same to the letter.
    head, _, rest = printed.partition("\n\n")
    again_head, _, again_rest = again.partition("\n\n")
    assert again_rest == rest
    assert again_head.splitlines()[0] == head.splitlines()[0]
    assert again_head.splitlines()[1] == f"run  {path}"
    assert len(run("report", path, "-v")[1]) > len(again)


def test_a_stored_run_as_json(run: Run, folder: Path) -> None:
    printed = json.loads(run("run", "tiny.yaml", "--json")[1])
    code, out, err = run("report", last_run(folder), "--json")
    assert (code, err) == (0, "")
    again = json.loads(out)
    assert again.pop("given") == {"run": last_run(folder)}
    assert printed.pop("given") == {"config": "tiny.yaml"}
    assert again == printed


def test_a_failed_run_is_shown_with_exit_code_0(run: Run, folder: Path) -> None:
    failing = 'constraints=[{metric: "recall@2", max: 0.1, confidence: null}]'
    assert run("run", "tiny.yaml", "--set", failing)[0] == 1
    code, out, _ = run("report", last_run(folder))
    assert code == 0
    assert "Verdict: FAIL (exit code 1)" in out


def test_lost_pairs_with_their_cause(run: Run, folder: Path) -> None:
    # Both users are served; nobody with two relevant items can have both among the first.
    with (folder / "log.csv").open("a") as log:
        log.write("1,30,2026-01-10T09:00:00Z,click,40\n1,40,2026-01-10T10:00:00Z,click,40\n")
    run("run", "tiny.yaml", "--set", "k=[1]", "--set", "constraints=[]")
    path = last_run(folder)
    (lost,) = rv.open_run(path).evaluation.loss.filter(bucket="all", k=1).to_dicts()
    code, out, err = run("report", path, "--misses", "9", "--json")
    assert (code, err) == (0, "")
    misses = json.loads(out)["misses"]
    assert len(misses) == lost["relevant"] - lost["hit"] >= 2
    for cause in ("below_k", "cold_item", "not_retrieved"):
        assert len([miss for miss in misses if miss["cause"] == cause]) == lost[cause]
    below = [miss["rank"] for miss in misses if miss["cause"] == "below_k"]
    assert all(rank > 1 for rank in below)

    shown = run("report", path, "--misses", "9")[1]
    assert "A sample of lost pairs, K = 1\n" in shown
    (one,) = json.loads(run("report", path, "--misses", "1", "--json")[1])["misses"]
    assert one == misses[0]
    code, _, err = run("report", path, "--misses", "0")
    assert code == 2
    assert "--misses" in err


def test_a_run_that_is_none(run: Run, folder: Path) -> None:
    assert run("report", "absent") == (3, "", "absent: no such run directory\n")
    (folder / "empty").mkdir()
    code, out, err = run("report", "empty")
    assert (code, out) == (3, "")
    assert err.startswith("empty: no manifest.json")


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        (["generators.popularity.windw=3d"], 2, "--set generators.popularity.windw=3d: "),
        (["interactions.path=absent.csv"], 3, "absent.csv"),
        (["ground_truth.relevant=dwel > 30"], 2, "Did you mean 'dwell'?"),
        (["split.test_start=2027-01-01T00:00:00Z"], 3, "no test rows"),
    ],
)
def test_errors_on_stderr_with_their_exit_code(
    run: Run, changes: list[str], code: int, said: str
) -> None:
    options = [text for change in changes for text in ("--set", change)]
    found, out, err = run("run", "tiny.yaml", *options)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_an_engine_error_is_exit_code_4(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise EngineError("als: diverged")

    monkeypatch.setattr("recoeval.workflow.pipeline.run", fail)
    assert run("run", "tiny.yaml") == (4, "", "als: diverged\n")


@pytest.mark.parametrize("error", [pl.exceptions.PanicException, ValueError, MemoryError])
def test_what_slips_through_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error("bad\x1b[2J\nnews\n\nhints of polars")

    monkeypatch.setattr("recoeval.workflow.pipeline.run", fail)
    code, out, err = run("run", "tiny.yaml")
    assert (code, out) == (4, "")
    assert err.startswith(f"internal error: {error.__name__}: bad\\x1b[2J news. ")
    assert err.count("\n") == 1

    monkeypatch.setenv("RECOEVAL_DEBUG", "1")
    code, _, err = run("run", "tiny.yaml")
    assert code == 4
    assert err.startswith("Traceback")


def test_an_error_cannot_write_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise EngineError("\x1b[31mred", "second")

    monkeypatch.setattr("recoeval.workflow.pipeline.run", fail)
    assert run("run", "tiny.yaml")[2] == "\\x1b[31mred\nsecond\n"


def test_usage(run: Run) -> None:
    assert run("run", "tiny.yaml", "--jsn")[0] == 2
    assert run("run") == (
        2,
        "",
        "recoeval run: Missing argument 'CONFIG'.\nTry 'recoeval run --help'.\n",
    )
    code, out, err = run("frobnicate")
    assert (code, out) == (2, "")
    assert err.startswith("recoeval: No such command 'frobnicate'.")
    code, out, err = run()
    assert code == 2
    assert (out + err).startswith("Usage: recoeval")


@pytest.mark.parametrize("command", ["", "init", "run", "report", "check", "evaluate", "list"])
def test_help(run: Run, command: str, snapshot: SnapshotAssertion) -> None:
    code, out, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert out == snapshot
    assert run(*command.split(), "-h")[1] == out


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"recoeval {rv.__version__}\n", "")


def test_check_shows_the_plan(run: Run, folder: Path, snapshot: SnapshotAssertion) -> None:
    code, out, err = run("check", "tiny.yaml")
    assert (code, err) == (0, "")
    assert out == snapshot
    assert not (folder / "out").exists()


def test_check_tells_all_that_was_asked_for(
    run: Run, folder: Path, snapshot: SnapshotAssertion
) -> None:
    (folder / "lists.csv").write_text("uid,item_id,rank\n1,10,1\n")
    changes = [
        "interactions.derive={long: dwell > 60}",
        "interactions.where=event IN ('click', 'view')",
        "split.gap=1h",
        "training={where: long, weight: dwell}",
        "seen={window: 7d}",
        "ground_truth.gain=1 + dwell",
        "ground_truth.repeats=include",
        "generators.two_tower={type: precomputed, path: lists.csv, columns: {user_id: uid}}",
        "baselines=[popularity]",
        "buckets.size={by: relevant_items, quantiles: [0.5]}",
        "constraints.1={metric: recall@2, bucket: activity, min: 0, severity: warn}",
    ]
    options = [text for change in changes for text in ("--set", change)]
    code, out, err = run("check", "tiny.yaml", *options)
    assert (code, err) == (0, "")
    assert out == snapshot


def test_check_as_json(run: Run) -> None:
    code, out, _ = run("check", "tiny.yaml", "--json", "--set", "k=[3]")
    read = json.loads(out)
    assert code == 0
    assert read["metrics"] == ["recall@3", "ndcg@3", "coverage", "recall@2", "recall_ceiling"]
    assert [each["constraint"] for each in read["constraints"]] == ["recall@2 >= 0.001"]
    assert read["inputs"]["interactions"]["columns_found"]["timestamp"] == "time (UTC)"
    assert read["output"] == "out/tiny/<run id>"


def test_check_prints_the_schema_without_a_config(run: Run) -> None:
    code, out, err = run("check", "--schema")
    assert (code, err) == (0, "")
    assert "ground_truth" in json.loads(out)["properties"]
    assert run("check") == (2, "", "recoeval check: name a CONFIG, or ask for --schema\n")


def test_a_deep_check_reads_the_data(run: Run, folder: Path) -> None:
    code, out, err = run("check", "tiny.yaml", "--deep")
    assert (code, err) == (0, "")
    assert out.startswith(run("check", "tiny.yaml")[1])
    assert "Evaluated users against all users of the log" in out
    assert re.search(r"^Audit: 0 severe, \d+ warnings?, \d+ for information$", out, re.MULTILINE)
    read = json.loads(run("check", "tiny.yaml", "--deep", "--json")[1])
    assert read["health"]["truth_size"][0]["pairs"] == 2
    assert all(each["severity"] != "severe" for each in read["audit"])
    # No list is there, so the laws of result tables were not tried.
    said = "Self-check: all 3 laws hold, tried with 2 queries and 6 measures"
    assert out.splitlines()[-1] == said
    assert read["self_check"] == {"laws": 3, "broken": 0, "queries": 2, "measures": 6}
    assert not (folder / "out").exists()


def test_the_code_of_a_finding_is_told_by_v(run: Run, folder: Path) -> None:
    code = "naive_times: interactions: 8 times without"
    text = (folder / "log.csv").read_text().replace("Z,", ",")
    (folder / "log.csv").write_text(text)
    short, long = (run("run", "tiny.yaml", *options)[1] for options in ((), ("-v",)))
    assert code not in short
    path = str(next((folder / "out" / "tiny").iterdir()))
    others = [run("report", path, "-v")[1], run("check", "tiny.yaml", "--deep")[1]]
    for told in (long, *others):
        assert re.search(rf"^  warning +data +{code}", told, re.MULTILINE)


def test_check_tells_what_does_not_fit_the_stage(run: Run) -> None:
    code, out, err = run("check", "tiny.yaml", "--set", "stage=recall")
    assert (code, err) == (0, "")
    notes = [
        (
            "stage recall: ndcg@1, ndcg@2: the order of a list counts, and a later stage sorts it "
            "anew; recall, hit_rate, capped_recall fit better"
        ),
        "stage recall: K = 1, 2: usual at this stage are 100, 500, 1000",
    ]
    assert " ".join(out.split()).endswith(" ".join(["Notes", *notes]))
    for options, expected in ((("--set", "stage=recall"), notes), ((), [])):
        read = json.loads(run("check", "tiny.yaml", "--json", *options)[1])
        assert read["notes"] == expected


def test_a_severe_finding_of_a_deep_check_is_exit_code_1(run: Run, folder: Path) -> None:
    (folder / "lists.csv").write_text("user_id,item_id,rank\n1,20,1\n")
    late = "{type: precomputed, path: lists.csv, as_of: 2026-01-11T00:00:00Z}"
    options = ("--set", f"generators.late={late}")
    code, out, err = run("check", "tiny.yaml", "--deep", *options)
    assert (code, err) == (1, "")
    assert re.search(r"^  severe +late +lists_after_cutoff: 1 list ", out, re.MULTILINE)
    assert run("check", "tiny.yaml", "--deep", "--json", *options)[0] == 1
    # The headers alone do not tell.
    assert run("check", "tiny.yaml", *options)[0] == 0


def test_init_writes_a_configuration_that_is_right_but_for_the_log(run: Run, folder: Path) -> None:
    code, out, err = run("init")
    assert (code, out) == (0, "")
    assert err.startswith("Wrote recoeval.yaml. ")
    code, _, err = run("check", "recoeval.yaml")
    assert code == 3
    assert err.count("\n") == 1
    assert "logs.parquet" in err

    pl.read_csv(folder / "log.csv", try_parse_dates=True).rename(
        {"dwell": "dwell_seconds"}
    ).write_parquet(folder / "logs.parquet")
    assert run("check", "recoeval.yaml")[0] == 0
    assert run("run", "recoeval.yaml")[0] == 0


def test_init_overwrites_nothing(run: Run, folder: Path) -> None:
    before = (folder / "tiny.yaml").read_text()
    said = "tiny.yaml: exists, and is not overwritten: name another file, or remove it\n"
    assert run("init", "tiny.yaml") == (2, "", said)
    assert (folder / "tiny.yaml").read_text() == before
    assert run("init", "-")[0] == 2
    said = "absent/a.yaml: cannot be written: No such file or directory\n"
    assert run("init", "absent/a.yaml") == (2, "", said)


EVALUATE = ("evaluate", "--recs", "recs.csv", "--truth", "truth.csv", "--k", "1,2")


def test_evaluate(run: Run, snapshot: SnapshotAssertion) -> None:
    code, out, err = run(*EVALUATE, "--metrics", "ndcg(gain=exponential),recall")
    assert (code, err) == (0, "")
    assert out == snapshot


def test_evaluate_without_rank_names_the_option(run: Run, folder: Path) -> None:
    (folder / "recs.csv").write_text("user_id,item_id,pos\n1,8,1\n")
    code, out, err = run(*EVALUATE)
    assert (code, out) == (3, "")
    said = "recs: no column rank or score. Columns: user_id, item_id, pos. "
    assert err == f"{said}Name one: --columns rank=...\n"
    assert run(*EVALUATE, "--columns", "rank=pos")[0] == 0
    with pytest.raises(DataError) as error:
        rv.evaluate("recs.csv", "truth.csv")
    assert str(error.value) == f'{said}Rename one, e.g. .rename({{"pos": "rank"}})'


def test_evaluate_with_everything(run: Run, folder: Path) -> None:
    (folder / "train.csv").write_text("user_id,item_id\n1,7\n3,8\n")
    (folder / "users.csv").write_text("user_id\n1\n2\n3\n")
    code, out, err = run(
        *(*EVALUATE, "--train", "train.csv", "--users", "users.csv", "--metrics", "recall"),
        *("--policy", "zero_relevant=zero", "--policy", "repeats=include", "--json"),
        *("--check", "recall@3 >= 0.99", "--per-user", "per_user.parquet"),
    )
    assert err == ""
    read = json.loads(out)
    # Three users, too few to decide; the K of the constraint is computed as well.
    assert code == 0
    assert read["verdict"]["outcome"] == "inconclusive"
    assert read["measures"] == ["recall@1", "recall@2", "recall@3"]
    assert read["definitions"]["policies"]["repeats"] == "include"
    assert read["truth"]["evaluated_users"] == 3
    rows = pl.read_parquet(folder / "per_user.parquet")
    assert rows["recall@2"].to_list() == [1.0, 1.0, 0.0]
    assert sorted(path.name for path in folder.glob("*per_user*")) == ["per_user.parquet"]


def test_evaluate_with_a_catalogue_and_exposures(run: Run, folder: Path) -> None:
    (folder / "items.csv").write_text("item_id,available\n7,true\n8,true\n9,false\n")
    (folder / "exposures.csv").write_text("user_id,item_id\n1,7\n")
    (folder / "truth.csv").write_text("user_id,item_id\n1,8\n2,9\n2,10\n")
    code, out, err = run(
        *(*EVALUATE, "--items", "items.csv", "--exposures", "exposures.csv", "--json"),
        *("--metrics", "recall,judged,item_coverage,unknown_item_share"),
    )
    assert (code, err) == (0, "")
    read = json.loads(out)
    found = {row["metric"]: row["value"] for row in read["summary"] if row["bucket"] == "all"}
    assert found["judged@1"] == 0.5
    assert found["item_coverage@2"] == 1.0
    assert read["given"]["items"] == "items.csv"
    # Item 10 is not in the catalogue, and was not listed; 9 was.
    loss = next(row for row in read["loss"] if row["bucket"] == "all" and row["k"] == 2)
    assert (loss["relevant"], loss["hit"], loss["unavailable"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("metric", "option"), [("judged", "--exposures"), ("item_coverage", "--items")]
)
def test_a_metric_that_needs_a_table_names_its_option(run: Run, metric: str, option: str) -> None:
    code, out, err = run(*EVALUATE, "--metrics", metric)
    assert (code, out) == (2, "")
    assert err.startswith(f"--metrics {metric}: ")
    assert option in err


def test_evaluate_without_checks_has_no_verdict(run: Run) -> None:
    verdict = json.loads(run(*EVALUATE, "--json")[1])["verdict"]
    assert verdict["outcome"] == "none"
    assert verdict["exit_code"] == 0


def test_evaluate_files_whose_columns_have_other_names(run: Run, folder: Path) -> None:
    # Zeros in front are kept, and each file has its own of the columns.
    (folder / "recs.csv").write_text("uid,vid,pos\n01,7,1\n01,8,2\n02,9,1\n")
    (folder / "truth.csv").write_text("user_id,vid\n01,8\n02,9\n")
    columns = ("--columns", "user_id=uid,item_id=vid", "--columns", "rank=pos")
    code, out, err = run(*EVALUATE, *columns, "--metrics", "recall", "--json")
    assert (code, err) == (0, "")
    found = {row["metric"]: row["value"] for row in json.loads(out)["summary"][:8]}
    assert found["recall@1"] == 0.5

    code, _, err = run(*EVALUATE)
    assert code == 3
    assert (
        err == "truth: no column item_id. Columns: user_id, vid. Name it: --columns item_id=...\n"
    )
    code, _, err = run(*EVALUATE, *columns, "--columns", "gain=points")
    assert code == 2
    said = "--columns gain=points: no file has such a column. Columns: uid, vid, pos, user_id\n"
    assert err == said
    (folder / "recs.csv").write_text("user_id,uid,vid,pos\n01,01,7,1\n")
    code, _, err = run(*EVALUATE, *columns)
    assert code == 2
    assert err.startswith("--columns user_id=uid: recs.csv has a column 'user_id' already")
    assert err.endswith("name that one too: --columns other_user_id=user_id\n")


def test_columns_leave_trec_files_alone(run: Run, folder: Path) -> None:
    (folder / "recs.csv").write_text("uid,item_id,rank\nq1,d8,1\nq2,d9,1\n")
    (folder / "truth.csv").write_text("q1 0 d8 1\nq2 0 d9 1\n")
    assert run(*EVALUATE, "--columns", "user_id=uid")[0] == 0


def test_a_failed_check_of_an_evaluation_is_exit_code_1(run: Run) -> None:
    code, out, _ = run(*EVALUATE, "--check", "recall@2 <= 0.5")
    assert code == 1
    assert "fail: recs: recall@2 <= 0.5" in out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--metrics", "recal"], 2, "--metrics recal: unknown metric 'recal'."),
        (["--metrics", "ndcg(gain=exp"], 2, "--metrics ndcg(gain=exp: expected name("),
        (["--metrics", ""], 2, "--metrics '': name at least one metric"),
        (["--metrics", "", "--check", "recall@1 >= 0"], 2, "--metrics '': name at least one"),
        (
            ["--metrics", "seen_share"],
            2,
            "--metrics seen_share: seen_share needs train data: give --train",
        ),
        (["--k", ""], 2, "--k '': expected integers >= 1 with commas between\n"),
        (["--k", "x"], 2, "--k x: expected integers >= 1 with commas between\n"),
        (["--k", "0"], 2, "--k 0: expected an integer >= 1, got 0\n"),
        (["--policy", "repeats"], 2, "--policy repeats: expected name=value\n"),
        (["--policy", "a=1", "--policy", "a=2"], 2, "--policy a=2: given twice\n"),
        (["--policy", "zero_relevant=zero"], 2, "--policy zero_relevant=zero: 'zero' needs"),
        (
            ["--policy", "zero_relevant=error", "--users", "users.csv"],
            3,
            "--policy zero_relevant=error: 1 queries have no relevant item",
        ),
        (["--check", "recal@1 >= 0"], 2, "--check 'recal@1 >= 0': unknown metric 'recal'."),
        (["--check", "recall@1"], 2, "--check 'recall@1': "),
        (["--train", "absent.csv"], 3, "train"),
        (["--columns", "user_id"], 2, "--columns user_id: expected name=value\n"),
        (["--per-user", "out.csv"], 2, "--per-user out.csv: parquet is written: name it"),
        (["--per-user", "recs.csv/x.parquet"], 2, "--per-user recs.csv/x.parquet: no such folder"),
        (["--per-user", "a/x.parquet"], 2, "--per-user a/x.parquet: no such folder: a; make it"),
    ],
)
def test_bad_options_of_evaluate(
    run: Run, folder: Path, options: list[str], code: int, said: str
) -> None:
    (folder / "users.csv").write_text("user_id\n1\n2\n3\n")
    found, out, err = run(*EVALUATE, *options)
    assert (found, out) == (code, "")
    assert err.startswith(said)
    assert not (folder / "a").exists()


def test_list_without_a_kind_tells_the_kinds(run: Run, snapshot: SnapshotAssertion) -> None:
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert out == snapshot
    kinds = [kind["name"] for kind in json.loads(run("list", "--json")[1])]
    shown = " ".join(run("list", "--help")[1].split())
    assert all(kind in shown for kind in kinds)
    assert all(run("list", kind)[0] == 0 for kind in kinds)


@pytest.mark.parametrize(
    "kind",
    [
        "inputs",
        "metrics",
        "generators",
        "policies",
        "positives",
        "splits",
        "buckets",
        "stages",
        "formats",
    ],
)
def test_list(run: Run, kind: str, snapshot: SnapshotAssertion) -> None:
    code, out, err = run("list", kind)
    assert (code, err) == (0, "")
    assert out == snapshot
    names = [choice["name"] for choice in json.loads(run("list", kind, "--json")[1])]
    assert names
    assert all(name in out for name in names)


def test_list_explains(run: Run, snapshot: SnapshotAssertion) -> None:
    assert run("list", "metric", "ndcg") == snapshot
    assert run("list", "policy", "repeats")[0] == 0
    code, out, err = run("list", "metric", "ndgc")
    assert (code, out) == (2, "")
    assert err.startswith("unknown metric 'ndgc'. Did you mean 'ndcg'?")
    assert run("list", "metrix")[2].startswith("unknown kind 'metrix'. Did you mean 'metrics'?")


def test_an_interrupt_that_typer_lets_through(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupt)
    assert run("run", "tiny.yaml") == (130, "", "interrupted\n")


def process(
    *arguments: str, command: Sequence[str] = COMMAND, **options: Any
) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*command, *arguments], **{**pipes, **options})


def test_help_is_quick() -> None:
    program = (
        "import sys, recoeval.cli\n"
        "try: recoeval.cli.main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'polars', 'pydantic', 'rich', 'numpy', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_package_loads_what_is_used() -> None:
    program = (
        "import sys, recoeval\n"
        "own = {name for name in sys.modules if name.startswith('recoeval.')}\n"
        "heavy = {'polars', 'pydantic', 'numpy', 'yaml', 'importlib.metadata'} & set(sys.modules)\n"
        "assert not own | heavy, own | heavy\n"
        "recoeval.evaluate\n"
        "assert 'recoeval.workflow' not in sys.modules\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_reader_that_goes_away(folder: Path) -> None:
    for options in (("run", "tiny.yaml"), ("run", "tiny.yaml", "--json"), ("--help",)):
        with process(*options) as command:
            assert command.stdout is not None
            assert command.stderr is not None
            command.stdout.close()
            assert command.stderr.read() == ""
        assert command.returncode == 0
    assert len(list((folder / "out" / "tiny").glob("*/manifest.json"))) == 2


def test_nobody_listens_to_stderr(folder: Path) -> None:
    for options, code in ((("run", "tiny.yaml", "-v"), 0), (("run", "absent.yaml"), 2)):
        with process(*options) as command:
            assert command.stderr is not None
            command.stderr.close()
        assert command.returncode == code
    assert len(list((folder / "out" / "tiny").glob("*/manifest.json"))) == 1


def test_streams_that_are_closed(folder: Path) -> None:
    shell = f"'{sys.executable}' -m recoeval run tiny.yaml >&- 2>&-"
    assert subprocess.run(["sh", "-c", shell], check=False).returncode == 0
    assert list((folder / "out" / "tiny").glob("*/manifest.json"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_stdout(folder: Path) -> None:
    with (
        Path("/dev/full").open("w") as full,
        process("run", "tiny.yaml", stdout=full) as command,
    ):
        _, err = command.communicate()
    assert command.returncode == 3
    assert err == "stdout: cannot be written: No space left on device\n"


def test_a_stdout_that_knows_ascii_alone(folder: Path) -> None:
    (folder / "recs.csv").write_text("user_id,item_id,rank,generator\n1,8,1,人気\n2,9,1,人気\n")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with process(*EVALUATE, env=env) as command:
        out, err = command.communicate()
    assert (command.returncode, err) == (0, "")
    assert r"\u4eba\u6c17" in out


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")],
)
def test_signals(number: signal.Signals, code: int, said: str) -> None:
    program = (
        "import sys, time, recoeval.cli, recoeval.workflow.pipeline as pipeline\n"
        "def run(*_, **__):\n"
        "    try: print('running', flush=True); time.sleep(60)\n"
        "    finally: print('closed', flush=True)\n"
        "pipeline.run = run\n"
        "recoeval.cli.main(['run', 'x.yaml'])\n"
    )
    with process("-c", program, command=[sys.executable]) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "running\n"
        command.send_signal(number)
        out, err = command.communicate(timeout=30)
    assert (command.returncode, out, err) == (code, "closed\n", said)
