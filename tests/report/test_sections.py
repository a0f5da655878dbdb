"""What a report says, whatever it is shown on."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

import recoeval as rv
from recoeval.report.sections import Results, relevant_items, report_sections
from recoeval.report.values import Count, Interval, Paragraph, Rate, Section, Table

Make = Callable[..., Results]


def titles(results: Results) -> list[str]:
    return [section.title for section in report_sections(results)]


def table(results: Results, title: str) -> Table:
    found = [each for each in report_sections(results) if each.title.startswith(title)]
    assert len(found) == 1
    assert isinstance(found[0], Table)
    return found[0]


def with_tables(results: Results, **tables: pl.DataFrame) -> Results:
    return replace(results, evaluation=replace(results.evaluation, **tables))


def lines(section: Section) -> list[str]:
    assert isinstance(section, Paragraph)
    return [line.text for line in section.lines]


def test_the_order_of_reading(results: Results) -> None:
    assert titles(results) == [
        "",
        "",
        "Metrics, means over 600 users",
        "Constraints",
        "Audit",
        "Where the lost recall went, K = 10",
        "Where the lost recall went by activity, K = 10",
        "Metrics by activity",
        "Metrics by truth_size",
        "Quality of the lists as delivered",
        "Data",
        "Ground truth",
        "Lists",
        "Relevant items of a query, |R|",
        "Evaluated users against all users of the log",
        "Truth by popularity of the item",
        "Definitions in force",
        "Notes",
        "",
    ]


def test_the_leading_metric_is_the_constrained_one_with_its_interval(results: Results) -> None:
    found = table(results, "Metrics, means")
    assert [column.title for column in found.columns] == [
        "generator",
        "recall@10",
        "95% interval",
        "recall@5",
        "hit_rate@5",
        "hit_rate@10",
        "ndcg(gain=exponential)@5",
        "ndcg(gain=exponential)@10",
    ]
    row = results.evaluation.summary.filter(
        bucket="all", generator="als", metric="recall@10", statistic="macro"
    ).row(0, named=True)
    assert found.rows[0][:3] == (
        "als",
        Rate(row["value"]),
        Interval(row["ci_low"], row["ci_high"]),
    )


def test_without_constraints_the_first_metric_leads_at_its_largest_k(make_results: Make) -> None:
    found = table(make_results(metrics=["hit_rate", "recall"]), "Metrics, means")
    assert [column.title for column in found.columns[1:4]] == [
        "hit_rate@10",
        "95% interval",
        "hit_rate@5",
    ]


def test_a_constraint_on_list_quality_does_not_lead(make_results: Make) -> None:
    found = table(make_results(["coverage >= 0.5"]), "Metrics, means")
    assert found.columns[1].title == "recall@10"


def test_list_quality_alone(make_results: Make) -> None:
    results = make_results(["coverage >= 0.5"], metrics=["coverage"])
    assert not [title for title in titles(results) if title.startswith("Metrics")]
    assert table(results, "Quality").rows == (("als", Rate(1.0)), ("popularity", Rate(1.0)))


def test_buckets_show_the_constrained_k(make_results: Make) -> None:
    columns = table(make_results(["hit_rate@5 >= 0.1"]), "Metrics by activity").columns
    assert [column.title for column in columns[3:]] == [
        "hit_rate@5",
        "95% interval",
        "recall@5",
        "ndcg(gain=exponential)@5",
    ]


def test_buckets_show_a_few_metrics_the_constrained_ones_among_them(make_results: Make) -> None:
    metrics = ["recall", "precision", "f1", "mrr", "ndcg", "hits"]
    results = make_results(["recall@5 >= 0.1", "hits@5 >= 0"], metrics=metrics, k=[5])
    found = table(results, "Metrics by activity")
    assert [column.title for column in found.columns[3:]] == [
        "recall@5",
        "95% interval",
        "precision@5",
        "f1@5",
        "hits@5",
    ]
    assert found.notes[-1] == "2 more metrics: -v shows them"
    full = [each for each in report_sections(results, full=True) if "by activity" in each.title]
    assert [len(each.columns) for each in full if isinstance(each, Table)][-1] == 10


def test_a_metric_without_the_constrained_k_is_shown_at_its_largest(make_results: Make) -> None:
    results = make_results(["recall@5 >= 0.1"], metrics=["recall@5", "recall@10", "hit_rate@10"])
    columns = table(results, "Metrics by activity").columns
    assert [column.title for column in columns[3:]] == ["recall@5", "95% interval", "hit_rate@10"]


def test_few_users_are_marked_once_at_their_number(results: Results) -> None:
    found = table(results, "Metrics by activity")
    assert found.rows[0][:3] == ("als", "0", Count(150, few=True))
    assert not [cell for row in found.rows for cell in row if isinstance(cell, Rate) and cell.few]
    assert found.notes[0].startswith("*  too few users")
    assert not table(results, "Metrics, means").notes


def test_few_users_overall_are_marked_in_the_title(make_results: Make) -> None:
    found = table(make_results(users=40), "Metrics, means")
    assert found.title == "Metrics, means over 40 users*"
    assert found.notes[0].startswith("*  too few users")


def test_few_values_other_than_0_are_marked_each(make_results: Make) -> None:
    results = make_results(train=None, buckets=None, metrics=["recall@1"])
    summary = results.evaluation.summary.with_columns(too_few_users=pl.lit(True))
    found = table(with_tables(results, summary=summary), "Metrics, means")
    value = found.rows[0][1]
    assert isinstance(value, Rate)
    assert value.few
    assert found.notes[0].startswith("*  too few users")


def test_a_bucket_without_users_has_no_value_and_says_why(results: Results) -> None:
    found = table(results, "Metrics by truth_size")
    assert found.rows[2] == (
        "als",
        "[100,inf)",
        Count(0, few=True),
        Rate(None),
        None,
        Rate(None),
        Rate(None),
    )
    assert found.notes[-1] == "-  no value: no users"


def test_means_over_queries_are_shown_where_they_differ() -> None:
    recs = pl.DataFrame({"query_id": [1, 2, 3], "item_id": [1, 1, 1], "rank": [1, 1, 1]})
    truth = pl.DataFrame({"query_id": [1, 2, 3], "user_id": [7, 7, 8], "item_id": [2, 2, 1]})
    evaluation = rv.evaluate(recs, truth, metrics=["recall"], k=[1])
    results = Results(evaluation, evaluation.check([]))
    found = table(results, "Metrics, means over 2 users* with 3 queries")
    assert found.rows[0][:2] == ("recs", Rate(0.5))
    assert found.rows[1] == ("recs, by query", Rate(1 / 3), None)
    assert found.notes[-1] == "-  no interval: one user, or a mean over queries"


def test_every_policy_is_counted_zeros_too(results: Results) -> None:
    rows = {row[1]: row[0] for row in table(results, "Ground truth").rows}
    assert rows["pairs dropped: seen before (repeats: exclude)"] == 0
    assert rows["pairs dropped: user without a train row (cold_users: keep)"] == 0
    assert rows["pairs left"] == 1300


def test_a_policy_that_is_not_applied_has_no_count(make_results: Make) -> None:
    rows = {row[1]: row[0] for row in table(make_results(train=None, buckets=None), "Ground").rows}
    assert rows["pairs dropped: seen before (repeats: not applied)"] is None
    said = "queries without a relevant item (zero_relevant: skip; not known without users)"
    assert rows[said] is None


def test_rules_and_grades_are_counted(results: Results) -> None:
    truth = {"test_rows": 9, "rule_was_null": 0, "relevant_rows": 5, "grades_not_relevant": 2}
    facts = {"truth": truth, "definitions": {"policies": {"zero_relevant": "zero"}}}
    rows = table(replace(results, facts=facts), "Ground truth").rows
    assert (0, "rows on which the rule is null: not relevant") in rows
    assert (2, "rows graded 0 or less: not relevant") in rows


def test_lists_made_here_have_nothing_to_check(results: Results) -> None:
    lists = {"als": {"rows": 10}, "file": {"rows": 12, "rank_gaps": 0}}
    found = table(replace(results, facts={"lists": lists}), "Lists")
    assert found.rows == (("als", 10, None), ("file", 12, 0))
    assert [column.title for column in found.columns] == ["generator", "rows", "rank gaps"]
    assert found.notes == ("-  nothing to check: these lists were made here",)


def test_a_split_by_files_has_no_windows(results: Results) -> None:
    side = {"start": None, "end": None, "rows": 10, "users": 2, "items": 3}
    split = {"fold": 0, "train": side, "test": side, "gap_rows": 0, "later_rows": 0}
    found = table(replace(results, facts={"splits": [split]}), "Data")
    assert [column.title for column in found.columns] == ["window", "rows", "users", "items"]
    assert found.notes == ()


def test_windows_are_told_to_the_microsecond(results: Results) -> None:
    found = table(results, "Data")
    assert [column.title for column in found.columns] == ["window", "rows", "users", "items"]
    assert found.notes[:3] == (
        "train: before 2026-11-28T00:00:00Z",
        "test: from 2026-11-28T00:00:00Z, before 2026-11-28T23:59:59.000001Z",
        "used by neither side: 0 rows in the gap, 567 after the test",
    )


def test_rows_that_no_window_holds_and_users_without_a_test_row(results: Results) -> None:
    (split,) = results.facts["splits"]
    one = {**split, "earlier_rows": 1234, "users_too_short": 5}
    notes = table(replace(results, facts={"splits": [one]}), "Data").notes
    assert notes[2:] == (
        (
            "used by neither side: 1,234 rows before the train window, 0 rows in the gap, "
            "567 after the test"
        ),
        "users with too few relevant rows for a test row: 5",
    )


def test_several_folds_have_a_row_each_and_a_line(results: Results) -> None:
    (split,) = results.facts["splits"]
    found = table(replace(results, facts={"splits": [split, {**split, "fold": 1}]}), "Data")
    assert [row[:3] for row in found.rows] == [
        ("0", "train", 1200000),
        ("0", "test", 34000),
        ("1", "train", 1200000),
        ("1", "test", 34000),
    ]
    assert [note.partition(": train: before ")[0] for note in found.notes] == ["fold 0", "fold 1"]
    assert found.notes[0].endswith("; used by neither side: 0 rows in the gap, 567 after the test")


def test_other_tables_say_what_they_hold(results: Results) -> None:
    facts = {
        "splits": results.facts["splits"],
        "roles": {"users": {"busy_users": 2, "rows": 3000}, "items": {"rows": 9, "available": 0}},
        "truth": {"exposure_rows": 1234, "exposure_was_null": 0, "exposed_pairs": 1200},
    }
    assert table(replace(results, facts=facts), "Data").notes[3:] == (
        "users: 2 busy users, 3,000 rows",
        "items: 9 rows",
        "exposures: 1,234 rows, 1,200 exposed pairs",
    )


def test_several_folds(make_results: Make) -> None:
    one = make_results(metrics=["recall", "coverage"], k=[10]).evaluation
    tables = {
        name: pl.concat([table, table.with_columns(fold=pl.lit(1, pl.Int64))])
        for name in ("summary", "per_query", "hits", "lost_pairs", "loss")
        for table in [getattr(one, name)]
    }
    evaluation = replace(one, **tables)
    results = Results(evaluation, evaluation.check(["recall@10 >= 0.3"]))
    assert [title for title in titles(results) if "olds" in title or "old" in title] == [
        "Metrics, means over 2 folds",
        "Spread over 2 folds",
        "Metrics of each fold",
    ]
    # The same numbers twice: the same means, no spread.
    single = Results(one, one.check(["recall@10 >= 0.3"]))
    before, now = (table(each, "Metrics, means") for each in (single, results))
    assert [row[1] for row in now.rows] == [row[1] for row in before.rows]
    assert [row[3] for row in table(results, "Spread").rows] == [Rate(0.0), Rate(0.0)]
    constraints = table(results, "Constraints")
    assert [column.title for column in constraints.columns[:3]] == ["generator", "fold", "users"]
    assert [row[:2] for row in constraints.rows] == [
        ("als", "0"),
        ("als", "1"),
        ("popularity", "0"),
        ("popularity", "1"),
    ]
    lost = "Where the lost recall went, K"
    assert table(results, lost).rows[0][1] == 2 * table(single, lost).rows[0][1]  # type: ignore[operator]


def test_the_ceiling_is_that_of_the_metric(make_results: Make) -> None:
    results = make_results(metrics=["recall", "recall_ceiling"], k=[10])
    (value,) = results.evaluation.summary.filter(
        bucket="all", generator="als", name="recall_ceiling", statistic="macro"
    )["value"]
    assert table(results, "Where the lost recall went, K").rows[0][2] == Rate(value)


def test_what_the_audit_found_stands_below_the_verdict(results: Results) -> None:
    assert lines(report_sections(results)[1])[-1] == "Audit: 0 severe, 1 warning, 1 for information"
    unknown = replace(results, facts={"run_id": "x"})
    assert not [line for line in lines(report_sections(unknown)[1]) if line.startswith("Audit")]


def test_a_suspicion_is_told_first(results: Results) -> None:
    doubted = results.verdict.doubted([("data", "train rows after the cutoff")])
    said = lines(report_sections(replace(results, verdict=doubted))[1])
    assert said[0].startswith("Verdict: SUSPICIOUS (exit code 1)")
    assert said[1] == "  suspicious: data: train rows after the cutoff"


@pytest.mark.parametrize("full", [False, True])
def test_a_sample_of_lost_pairs_stands_behind_the_losses(results: Results, full: bool) -> None:
    nothing = pl.DataFrame({"query_id": []})
    found = report_sections(replace(results, misses=nothing), full=full)
    names = [section.title for section in found]
    losses = [place for place, name in enumerate(names) if name.startswith("Where the lost")]
    assert len(losses) > 1
    assert names[losses[-1] + 1] == "A sample of lost pairs, K = 10"
    assert names.count("A sample of lost pairs, K = 10") == 1
    unknown = with_tables(results, loss=results.evaluation.loss.clear())
    assert "A sample of lost pairs" in str(titles(replace(unknown, misses=nothing)))


def test_kinds_of_positives_are_counted(results: Results) -> None:
    counts = {"relevant_rows": 5, "relevant_rows[buy]": 2, "relevant_rows[view]": 4}
    assert table(replace(results, facts={"truth": counts}), "Ground truth").rows == (
        (5, "relevant rows"),
        (2, "  relevant rows: buy"),
        (4, "  relevant rows: view"),
    )


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [
        ([1], {"1": 1.0, "2": 0.0, "3-5": 0.0, "6-10": 0.0, ">10": 0.0}),
        ([1, 2, 3, 5, 6, 10, 11, 99], {"1": 1, "2": 1, "3-5": 2, "6-10": 2, ">10": 2}),
        ([0, 4], {"0": 1, "1": 0, "2": 0, "3-5": 1, "6-10": 0, ">10": 0}),
    ],
)
def test_sizes_of_the_truth(sizes: list[int], shares: dict[str, float]) -> None:
    rows = pl.DataFrame(
        {"generator": ["a"] * len(sizes) + ["b"], "relevant": [*sizes, 1000]},
        schema={"generator": pl.String, "relevant": pl.Int64},
    )
    found = relevant_items(rows)
    assert found["shares"] == {name: share / len(sizes) for name, share in shares.items()}
    assert found["queries"] == len(sizes)
    assert found["max"] == max(sizes)


def test_no_queries_no_sizes(results: Results) -> None:
    nobody = results.evaluation.per_query.clear()
    assert "Relevant items" not in str(titles(with_tables(results, per_query=nobody)))


def test_the_end_says_where_the_run_is(results: Results) -> None:
    assert lines(report_sections(results)[-1]) == [
        "Verdict: FAIL (exit code 1); 4 of 10 pass, 2 fail, 1 warning, 3 inconclusive",
        "Took 12.4 s, 812 MB of memory at the peak",
        "Written to runs/nightly/20261129T010203Z-abc123",
    ]


def test_a_run_without_constraints_says_so(make_results: Make) -> None:
    results = make_results([], {"run_id": "x", "seconds": 1.0})
    assert lines(report_sections(results)[-1]) == [
        "Verdict: none, there are no constraints",
        "Took 1.0 s",
        "Written to runs/nightly/20261129T010203Z-abc123",
    ]


def test_definitions_are_shown(results: Results) -> None:
    definitions = {"split": {"type": "time", "gap": "0d"}, "gain": None, "edges": [1, 2], "no": []}
    found = report_sections(replace(results, facts={"definitions": definitions}))
    (section,) = (each for each in found if each.title == "Definitions in force")
    assert lines(section) == ["split: type time, gap 0d", "gain: none", "edges: 1, 2", "no: none"]
