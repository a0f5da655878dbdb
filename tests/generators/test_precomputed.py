from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import ConfigError, DataError, RecoevalError
from recoeval.generators import Precomputed

LISTS = pl.DataFrame(
    {
        "user_id": [1000, 1000, 1000, 5000, 9999, 1000],
        "item_id": [2003, 2001, 2003, 7777, 2000, 2002],
        "rank": [5, 2, 1, 1, 1, 9],
        "score": [0.5, 0.9, 0.95, 3.0, 1.0, 0.1],
    }
)
DELIVERED = pl.DataFrame(
    {
        "query_id": [1000, 1000, 1000, 1000, 5000],
        "item_id": [2003, 2001, 2003, 2002, 7777],
        "rank": [1, 2, 3, 4, 1],
        "score": [0.95, 0.9, 0.5, 0.1, 3.0],
    }
)


def text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.selectors.by_dtype(pl.Int64).cast(pl.String))


def nested(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("user_id", maintain_order=True).agg(pl.all())


def test_lists_are_handed_on_whole(tmp_path, toy, recommend, equal):
    # A repeated item, a gap in the ranks, seen and cold items, more than k: all stay.
    LISTS.write_parquet(tmp_path / "lists.parquet")
    fitted = Precomputed(path=str(tmp_path / "lists.parquet")).fit(toy.train)
    equal(recommend(fitted, toy.queries, 1), DELIVERED)


@pytest.mark.parametrize(
    ("ending", "lists"),
    [
        *((ending, LISTS) for ending in ("parquet", "arrow", "ndjson", "csv", "csv.gz")),
        *((ending, nested(LISTS)) for ending in ("parquet", "arrow", "ndjson")),
    ],
)
def test_formats(tmp_path, toy, recommend, equal, ending, lists):
    path = tmp_path / f"lists.{ending}"
    match ending:
        case "parquet":
            lists.write_parquet(path)
        case "arrow":
            lists.write_ipc(path)
        case "ndjson":
            lists.write_ndjson(path)
        case "csv":
            lists.write_csv(path)
        case "csv.gz":
            lists.write_csv(path, compression="gzip", check_extension=False)
    fitted = Precomputed(path=str(path)).fit(toy.train)
    equal(recommend(fitted, toy.queries, 10), DELIVERED)


def test_glob_of_files(tmp_path, toy, recommend, equal):
    for part in range(3):
        LISTS[part::3].write_parquet(tmp_path / f"part-{part}.parquet")
    fitted = Precomputed(path=str(tmp_path / "*.parquet")).fit(toy.train)
    equal(recommend(fitted, toy.queries, 10), DELIVERED)


def test_names_and_separator(tmp_path, toy, recommend, equal):
    LISTS.select(uid="user_id", vid="item_id", pos="rank").write_csv(
        tmp_path / "lists.txt", separator="|", include_header=False
    )
    fitted = Precomputed(
        path=str(tmp_path / "lists.txt"),
        format={"separator": "|", "header": False, "names": ["uid", "vid", "pos"]},
        columns={"user_id": "uid", "item_id": "vid", "rank": "pos"},
    ).fit(toy.train)
    equal(
        recommend(fitted, toy.queries, 10),
        DELIVERED.with_columns(pl.lit(None, pl.Float64).alias("score")),
    )


def test_scores_without_ranks(tmp_path, toy, recommend):
    tied = pl.DataFrame({"query_id": [1000] * 3, "item_id": [7, 5, 6], "score": [1.0, 1.0, 2.0]})
    tied.write_parquet(tmp_path / "lists.parquet")
    fitted = Precomputed(path=str(tmp_path / "lists.parquet")).fit(toy.train)
    lists = recommend(fitted, toy.queries, 10)
    assert lists.select("item_id", "rank").rows() == [(6, 1), (5, 2), (7, 3)]


def test_trec_run(tmp_path, toy_of_texts, recommend):
    # The rank field is ignored; equal scores go by document id, descending.
    (tmp_path / "bm25.run").write_text(
        "1000 Q0 d1 1 1.0 bm25\n1000 Q0 d2 2 1.0 bm25\n1000 Q0 d3 3 2.5 bm25\n1 Q0 d9 1 1 bm25\n"
    )
    fitted = Precomputed(path=str(tmp_path / "bm25.run")).fit(toy_of_texts.train)
    lists = recommend(fitted, toy_of_texts.queries, 10)
    assert lists.rows() == [
        ("1000", "d3", 1, 2.5),
        ("1000", "d2", 2, 1.0),
        ("1000", "d1", 3, 1.0),
    ]


def test_text_ids_and_forced_types(tmp_path, toy, toy_of_texts, recommend, equal):
    LISTS.write_csv(tmp_path / "lists.csv")
    as_text = Precomputed(
        path=str(tmp_path / "lists.csv"), user_id_type="text", item_id_type="text"
    )
    lists = recommend(as_text.fit(toy.train), toy_of_texts.queries, 10)
    expected = DELIVERED.with_columns(pl.col("query_id", "item_id").cast(pl.String))
    equal(lists, expected)
    text(LISTS.select("user_id", "item_id")).with_columns(LISTS["rank"]).write_parquet(
        tmp_path / "lists.parquet"
    )
    stays = Precomputed(path=str(tmp_path / "lists.parquet")).fit(toy.train)
    equal(recommend(stays, toy_of_texts.queries, 10).drop("score"), expected.drop("score"))


def test_read_gives_the_ranks_of_the_file(tmp_path):
    LISTS.with_columns(generator=pl.lit("a")).write_parquet(tmp_path / "lists.parquet")
    rows = Precomputed(path=str(tmp_path / "lists.parquet")).read("lists[a]").collect()
    assert rows.columns == ["query_id", "item_id", "rank", "score"]
    assert rows["rank"].to_list() == LISTS["rank"].to_list()


def test_lists_of_several_generators(tmp_path, toy):
    names = pl.Series("generator", ["b", "a", "a", "a", "b", "b"])
    LISTS.with_columns(names).write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match=r"^lists: lists of 2 generators in .*: 'a', 'b'\. Write"):
        Precomputed(path=str(tmp_path / "lists.parquet")).fit(toy.train)


def test_unknown_column_is_located_at_the_option(tmp_path, toy):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    generator = Precomputed(path=str(tmp_path / "lists.parquet"), columns={"item_id": "item"})
    with pytest.raises(ConfigError, match="unknown column 'item'") as error:
        generator.fit(toy.train)
    assert {problem.path for problem in error.value.problems} == {"columns.item_id"}


def test_the_user_names_the_list_where_there_is_a_query_as_well(tmp_path, toy):
    named = LISTS.rename({"query_id": "user_id"}) if "query_id" in LISTS.columns else LISTS
    named.write_parquet(tmp_path / "one.parquet")
    both = named.with_columns(query_id=pl.col("user_id").reverse())
    both.write_parquet(tmp_path / "both.parquet")
    one, two = (
        Precomputed(path=str(tmp_path / f"{name}.parquet")).read().collect()
        for name in ("one", "both")
    )
    assert two.equals(one)


def test_format_of_a_binary_file_is_located_at_the_option(tmp_path, toy):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    generator = Precomputed(path=str(tmp_path / "lists.parquet"), format={"separator": ";"})
    with pytest.raises(ConfigError, match="format is for text files") as error:
        generator.fit(toy.train)
    assert [problem.path for problem in error.value.problems] == ["format"]


def test_nothing_there(tmp_path, toy):
    with pytest.raises(DataError, match=r"nothing\.parquet"):
        Precomputed(path=str(tmp_path / "nothing.parquet")).fit(toy.train)


def test_path_is_required():
    with pytest.raises(ValidationError, match="path"):
        Precomputed()


# When the lists were built.

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
EPOCH = 1767614400


def built(tmp_path: Path, values: list[Any] | None, **options: Any) -> list[tuple[Any, ...]] | None:
    path = tmp_path / "lists.parquet"
    lists = LISTS if values is None else LISTS.with_columns(pl.Series("made", values))
    lists.write_parquet(path)
    found = Precomputed(path=str(path), **options).built("lists[two_tower]")
    return None if found is None else found.collect().rows()


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([NOON] * 6, {}),
        ([EPOCH] * 6, {"timestamp_unit": "s"}),
        (["2026-01-05T12:00Z"] * 6, {"timestamp_unit": "iso"}),
        (["2026-01-05T20:00"] * 6, {"timestamp_unit": "iso", "timezone": "Asia/Shanghai"}),
    ],
)
def test_lists_say_when_they_were_built(tmp_path, values, options):
    expected = [(1000, NOON), (5000, NOON), (9999, NOON)]
    assert built(tmp_path, values, as_of="made", **options) == expected


def test_a_list_may_have_rows_of_several_times(tmp_path):
    late = NOON.replace(hour=13)
    found = built(tmp_path, [late, NOON, NOON, NOON, late, NOON], as_of="made")
    assert found == [(1000, NOON), (1000, late), (5000, NOON), (9999, late)]


def test_one_time_for_all_lists(tmp_path):
    found = built(tmp_path, None, as_of="2026-01-05T13:00+01:00", max_age="24h")
    assert found is not None
    assert sorted(found) == [(1000, NOON), (5000, NOON), (9999, NOON)]


def test_nobody_says_when_the_lists_were_built(tmp_path):
    assert built(tmp_path, None) is None


def test_the_folder_of_a_day_and_renamed_users(tmp_path):
    (tmp_path / "dt=2026-01-05").mkdir()
    LISTS.rename({"user_id": "uid"}).write_parquet(tmp_path / "dt=2026-01-05" / "a.parquet")
    generator = Precomputed(path=str(tmp_path), columns={"user_id": "uid"}, as_of="dt")
    found = generator.built()
    assert found is not None
    midnight = NOON.replace(hour=0)
    assert found.collect().rows() == [(1000, midnight), (5000, midnight), (9999, midnight)]


def test_folders_called_like_our_columns_are_these_columns(tmp_path):
    for user in ("007", "12"):
        folder = tmp_path / f"user_id={user}" / "rank=1"
        folder.mkdir(parents=True)
        pl.DataFrame({"item_id": [int(user)]}).write_parquet(folder / "part-0.parquet")
    rows = Precomputed(path=f"{tmp_path}/user_id=*/rank=*/*.parquet").read().collect()
    assert sorted(rows.rows()) == [("007", 7, 1), ("12", 12, 1)]


def test_folders_of_no_interest_do_not_disturb(tmp_path, toy, recommend, equal):
    for number, rows in enumerate(LISTS.iter_slices(2)):
        folder = tmp_path / f"dt=2026-01-0{number + 1}" / f"region={'eu' if number else '9'}"
        folder.mkdir(parents=True)
        rows.write_parquet(folder / "part-0.parquet")
    fitted = Precomputed(path=str(tmp_path / "dt=*")).fit(toy.train)
    equal(recommend(fitted, toy.queries, 1), DELIVERED)


@pytest.mark.parametrize(
    ("values", "options", "text", "code"),
    [
        (
            [NOON] * 6,
            {"as_of": "mad"},
            (
                "as_of: unknown column 'mad' in {path}. Did you mean 'made'? Columns: user_id, "
                "item_id, rank, score, made"
            ),
            2,
        ),
        (
            [EPOCH] * 6,
            {"as_of": "made"},
            "timestamp_unit: missing: as_of is Int64; is it in s, ms or us since 1970?",
            2,
        ),
        (
            [True] * 6,
            {"as_of": "made"},
            "lists[two_tower].as_of: Boolean holds no time; expected a time, a number or text",
            3,
        ),
        (
            [NOON, None, NOON, None, NOON, NOON],
            {"as_of": "made"},
            "lists[two_tower].as_of: 2 rows without as_of, e.g. query_id 1000, 5000",
            3,
        ),
        (
            [*["2026-01-05"] * 5, "now"],
            {"as_of": "made", "timestamp_unit": "iso"},
            'lists[two_tower].as_of: at least 1 value is no ISO 8601 time, e.g. "now"',
            3,
        ),
        (
            [EPOCH * 1000] * 6,
            {"as_of": "made", "timestamp_unit": "s"},
            (
                "lists[two_tower].as_of: 3 rows before the year 1 or after 2262, e.g. "
                "+57983-06-22T00:00:00Z; is timestamp_unit right?"
            ),
            3,
        ),
    ],
)
def test_times_that_are_refused(tmp_path, values, options, text, code):
    with pytest.raises(RecoevalError) as error:
        built(tmp_path, values, **options)
    assert str(error.value) == text.format(path=tmp_path / "lists.parquet")
    assert error.value.exit_code == code


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_age": "24h"}, "max_age needs to know when the lists were built: add as_of"),
        ({"as_of": "2026-01-05T12:00"}, "'2026-01-05T12:00' has no time zone"),
        ({"as_of": "2026-01-05"}, "'2026-01-05' has no time zone"),
        ({"as_of": "made", "max_age": "0h"}, "greater than 0"),
        ({"timestamp_unit": "s"}, "timestamp_unit is that of the column as_of"),
        (
            {"as_of": "2026-01-05T12:00Z", "timezone": "UTC"},
            "timezone is that of the column as_of: name the column there",
        ),
        ({"as_of": "made", "timezone": "Mars"}, "unknown time zone 'Mars'"),
    ],
)
def test_options_of_time_that_are_refused(options, text):
    with pytest.raises(ValidationError, match=text):
        Precomputed(path="lists.parquet", **options)


# Other ids of items.


def test_aliases_are_replaced_before_anything_is_checked(tmp_path, toy, recommend):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    aliases = pl.DataFrame({"alias": [2003, 7777], "item_id": [2001, 2000]})
    generator = Precomputed(path=str(tmp_path / "lists.parquet"))
    lists = recommend(generator.fit(replace(toy.train, aliases=aliases)), toy.queries, 10)
    # The item comes three times now: whoever prepares the list keeps the first.
    assert lists.select("query_id", "item_id", "rank").rows() == [
        (1000, 2001, 1),
        (1000, 2001, 2),
        (1000, 2001, 3),
        (1000, 2002, 4),
        (5000, 2000, 1),
    ]
    rows = generator.read("lists[a]", aliases=aliases).collect()
    assert rows["rank"].to_list() == LISTS["rank"].to_list()


def test_aliases_of_another_type(tmp_path, toy):
    LISTS.write_parquet(tmp_path / "lists.parquet")
    aliases = pl.DataFrame({"alias": ["2003"], "item_id": ["2001"]})
    with pytest.raises(DataError, match=r"^lists\.item_id: Int64, but the aliases has String"):
        Precomputed(path=str(tmp_path / "lists.parquet")).fit(replace(toy.train, aliases=aliases))
