"""Real runs against the per-query values that trec_eval printed for them."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recoeval as rv
from recoeval.testing import OracleResult, oracle
from tests.strategies import per_query, summary

# Beyond every list and every truth: the whole list.
DEEP = 100_000
# Four printed decimals.
HALF = 0.5e-4 + 1e-9

NAMES = {
    "P": "precision",
    "recall": "recall",
    "ndcg_cut": "ndcg",
    "success": "hit_rate",
    "map_cut": "map(denominator=relevant)",
}
WHOLE = {
    "map": f"map(denominator=relevant)@{DEEP}",
    "recip_rank": f"mrr@{DEEP}",
    "ndcg": f"ndcg@{DEEP}",
    "num_rel_ret": f"hits@{DEEP}",
    "num_rel": "relevant",
    "num_ret": "returned",
}

# run, qrels, printed values, and a word for the measures that are compared.
RUNS = {
    "ml100k": (
        "oracle/ml100k_sar.run.gz",
        "oracle/ml100k_sar.qrels",
        "oracle/ml100k_sar.trec_eval.gz",
        "",
    ),
    "kuairand": (
        "oracle/kuairand_pop_uniq.run.gz",
        "oracle/kuairand.qrels",
        "oracle/kuairand_pop_uniq.trec_eval.gz",
        "",
    ),
    # Scores that tie, a rank column in another order.
    "ties": ("trec_eval/results.test", "trec_eval/qrels.test", "trec_eval/out.test.aq", ""),
    # Topic 302 has no list, 303 a short one; the missing topic counts 0.
    "missing": ("trec_eval/results.trunc", "trec_eval/qrels.test", "trec_eval/out.test.aqc", ""),
    # Grades -1 to 4; relevance level 2 there, which the gains of ndcg do not know.
    "graded": (
        "trec_eval/results.test",
        "trec_eval/qrels.rel_level",
        "trec_eval/out.test.aql",
        "ndcg",
    ),
}


def lines(path: Path) -> Iterator[list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from (line.split() for line in file)


def label_of(measure: str) -> str | None:
    if measure in WHOLE:
        return WHOLE[measure]
    match = re.fullmatch(r"(P|recall|ndcg_cut|success|map_cut)_(\d+)", measure)
    return None if match is None else f"{NAMES[match[1]]}@{match[2]}"


def printed(path: Path, only: str) -> dict[tuple[str, str], str]:
    """Returns (query, our label) -> the printed value."""
    return {
        (query, label): value
        for measure, query, value in lines(path)
        if measure.startswith(only) and (label := label_of(measure)) is not None
    }


@pytest.fixture(scope="module", params=list(RUNS))
def run(
    request: pytest.FixtureRequest, real_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[Any, str]]:
    run, qrels, values, only = RUNS[request.param]
    lists = real_data / run
    if request.param == "missing":
        # Its lines have remarks behind the sixth field, which are no part of the format.
        rows = [" ".join(fields[:6]) for fields in lines(lists)]
        lists = tmp_path_factory.mktemp("trec") / "plain.run"
        lists.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return lists, real_data / qrels, printed(real_data / values, only)


def metrics(expected: dict[tuple[str, str], str]) -> list[str]:
    return sorted({label for _, label in expected if "@" in label})


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
