import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.errors import ConfigError, DataError
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
