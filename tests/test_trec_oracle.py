"""Real runs against the per-query values that trec_eval printed for them."""

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import recoeval as rv
from recoeval.testing import OracleResult, oracle
from tests.strategies import at_level, per_query, summary

# Four printed decimals.
HALF = 0.5e-4 + 1e-9

CUT = {
    "P": ("precision",),
    "recall": ("recall",),
    "ndcg_cut": ("ndcg",),
    "success": ("hit_rate",),
    "map_cut": ("map(denominator=relevant)", "auprc"),
}
WHOLE = {
    "map": ("map@all", "auprc@all"),
    "recip_rank": ("mrr@all",),
    "Rprec": ("r_precision",),
    "set_recall": ("recall@all",),
    "num_rel_ret": ("hits@all",),
    "ndcg": ("ndcg@all",),
    "ndcg_1=3,2=9,4=4.5": ("ndcg@all",),
}
COUNTS = {"num_rel": "relevant", "num_ret": "returned"}


@dataclass(frozen=True)
class Printed:
    """What trec_eval was given, and the file of what it printed.

    Args:
        run: lists.
        qrels: grades.
        values: measure, query, value.
        remarks: lines of the run have remarks behind the sixth field, which are no part of the
            format.
        depth: -M: rows of a list that are read.
        level: -l: the grade from which a document is relevant.
        gains: -m ndcg.1=3,...: what grades are worth.
    """

    run: str
    qrels: str
    values: str
    remarks: bool = False
    depth: int | None = None
    level: int | None = None
    gains: Mapping[int, float] = field(default_factory=dict)


RUNS = {
    "ml100k": Printed(
        "oracle/ml100k_sar.run.gz", "oracle/ml100k_sar.qrels", "oracle/ml100k_sar.trec_eval.gz"
    ),
    "kuairand": Printed(
        "oracle/kuairand_pop_uniq.run.gz",
        "oracle/kuairand.qrels",
        "oracle/kuairand_pop_uniq.trec_eval.gz",
    ),
    # Scores that tie, a rank column in another order.
    "ties": Printed("trec_eval/results.test", "trec_eval/qrels.test", "trec_eval/out.test.aq"),
    # -c: topic 302 has no list, 303 a short one; the missing topic counts 0.
    "missing": Printed(
        "trec_eval/results.trunc", "trec_eval/qrels.test", "trec_eval/out.test.aqc", remarks=True
    ),
    # -c -M100.
    "short": Printed(
        "trec_eval/results.trunc",
        "trec_eval/qrels.test",
        "trec_eval/out.test.aqcM",
        remarks=True,
        depth=100,
    ),
    # Grades -1 to 4, of which those from 2 count. Its ndcg does not know the level.
    "level": Printed(
        "trec_eval/results.test", "trec_eval/qrels.rel_level", "trec_eval/out.test.aql", level=2
    ),
    "gains": Printed(
        "trec_eval/results.test",
        "trec_eval/qrels.test",
        "trec_eval/out.test.meas_params",
        gains={1: 3, 2: 9, 4: 4.5},
    ),
}


def lines(path: Path) -> Iterator[list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from (line.split() for line in file)


def labels_of(measure: str, level: int | None) -> tuple[str, ...]:
    """Returns our metrics and columns that are the measure, none if it is not compared."""
    if measure in COUNTS:
        # Ours is |R|, whatever the level of one metric.
        return () if level and measure == "num_rel" else (COUNTS[measure],)
    match = re.fullmatch(r"(P|recall|ndcg_cut|success|map_cut)_(\d+)", measure)
    if match is None:
        labels = WHOLE.get(measure, ())
    else:
        labels = tuple(f"{name}@{match[2]}" for name in CUT[match[1]])
    if level is None or measure.startswith("ndcg"):
        return labels
    return tuple(at_level(label, str(level)) for label in labels)


def printed(path: Path, level: int | None) -> dict[tuple[str, str], str]:
    """Returns (query, our label) -> the printed value."""
    return {
        (query, label): value
        for measure, query, value in lines(path)
        for label in labels_of(measure, level)
    }


def lists_of(path: Path, case: Printed, folder: Path) -> Path:
    """Returns the run as trec_eval reads it: without remarks, and no deeper than it was told."""
    if not case.remarks:
        return path
    rows = [fields[:6] for fields in lines(path)]
    rows.sort(key=lambda row: (float(row[4]), row[2]), reverse=True)
    queries = dict.fromkeys(row[0] for row in rows)
    kept = [row for query in queries for row in [r for r in rows if r[0] == query][: case.depth]]
    made = folder / "plain.run"
    made.write_text("\n".join(" ".join(row) for row in kept) + "\n", encoding="utf-8")
    return made


def qrels_of(path: Path, case: Printed, folder: Path) -> Path:
    """Returns the qrels with what their grades are worth."""
    if not case.gains:
        return path
    rows = [(*fields[:3], case.gains.get(int(fields[3]), fields[3])) for fields in lines(path)]
    made = folder / "gains.qrels"
    made.write_text("\n".join(" ".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module", params=list(RUNS))
def run(
    request: pytest.FixtureRequest, real_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[Any, str]]:
    case, folder = RUNS[request.param], tmp_path_factory.mktemp("trec")
    return (
        lists_of(real_data / case.run, case, folder),
        qrels_of(real_data / case.qrels, case, folder),
        printed(real_data / case.values, case.level),
    )


def metrics(expected: dict[tuple[str, str], str]) -> list[str]:
    return sorted({label for _, label in expected if label not in COUNTS.values()})


def assert_printed(
    found: dict[str, dict[str, float]], expected: dict[tuple[str, str], str]
) -> None:
    compared = 0
    for (query, label), text in expected.items():
        if query != "all":
            assert abs(found[query][label] - float(text)) <= HALF, (query, label)
            compared += 1
    assert compared >= 3 * 10


def test_evaluation(run) -> None:
    lists, qrels, expected = run
    evaluation = rv.evaluate(str(lists), str(qrels), metrics=metrics(expected))
    rows = {query: row for (_, query), row in per_query(evaluation).items()}
    assert_printed(rows, expected)
    for query in rows.keys() - {query for query, _ in expected}:
        assert rows[query]["returned"] == 0
        assert all(rows[query][label] == 0 for label in metrics(expected))
    # The mean there is over the queries of the file.
    if len(rows) == len({query for query, _ in expected} - {"all"}):
        means = {
            label: row["value"]
            for (_, label, kind), row in summary(evaluation).items()
            if kind == "macro"
        }
        for (query, label), text in expected.items():
            if query == "all" and label in means and not label.startswith("hits"):
                assert abs(means[label] - float(text)) <= HALF, label


def test_oracle(run) -> None:
    lists, qrels, expected = run
    recs = [
        {"query_id": query, "item_id": item, "score": float(score)}
        for query, _, item, _, score, *_ in lines(lists)
    ]
    truth = [
        {"query_id": query, "item_id": item, "gain": float(grade)}
        for query, _, item, grade in lines(qrels)
        if float(grade) > 0
    ]
    result = oracle(recs, truth, metrics=metrics(expected), tie="descending")
    assert_printed({query: values for (_, query), values in rows_of(result).items()}, expected)


def rows_of(result: OracleResult) -> dict[tuple[str, Any], dict[str, float]]:
    return {
        key: values
        | {
            "relevant": len(result.answers[key].truth),
            "returned": len(result.answers[key].prepared),
        }
        for key, values in result.per_query.items()
    }


def test_grades_of_zero_and_below_are_not_relevant(real_data: Path) -> None:
    folder = real_data / "trec_eval"
    qrels = folder / "qrels.rel_level"
    positive = Counter(query for query, _, _, grade in lines(qrels) if int(grade) > 0)
    other = Counter(query for query, _, _, grade in lines(qrels) if int(grade) <= 0)
    assert any(int(grade) < 0 for *_, grade in lines(qrels))
    assert set(other) == {"301", "302", "303"}
    evaluation = rv.evaluate(str(folder / "results.test"), str(qrels), metrics=["recall@all"])
    rows = {query: row["relevant"] for (_, query), row in per_query(evaluation).items()}
    assert rows == dict(positive)
    assert evaluation.counts["truth"]["grades_not_relevant"] == other.total()
