"""Files: endings, globs, partitions, text of any kind, and what cannot be read."""

import gzip
from datetime import date
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from recoeval.data.sources import Format, Source, scan, scan_interactions
from tests.data.helpers import PAIR, put, read, refused, write

ENDINGS = (
    *("parquet", "pq", "arrow", "ipc", "feather", "csv", "CSV", "txt", "dat", "tsv"),
    *("ndjson", "jsonl", "csv.gz", "tsv.gz", "jsonl.gz"),
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_gives_the_same_log(tmp_path, ending):
    frame = pl.DataFrame({**PAIR, "event": ["click", None], "dwell": [1.5, 2.0]})
    write(frame, tmp_path / f"log.{ending}")
    found = read(tmp_path / f"log.{ending}")
    assert found.equals(frame)
    assert found.schema == frame.schema


def test_a_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / "log.csv", "user_id,item_id\n1,10\n")
    assert read("~/log.csv").rows() == [(1, 10)]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl", "csv.gz"])
@pytest.mark.parametrize("path", ["logs", "logs/dt=*", "logs/dt=*/*", "logs/**/*.{}"])
def test_partitions_are_columns(tmp_path, ending, path):
    for day, scene in (("2022-05-01", "a%20b"), ("2022-05-02", "__HIVE_DEFAULT_PARTITION__")):
        for slot in ("07", "11"):
            folder = tmp_path / "logs" / f"dt={day}" / f"scene={scene}" / f"n=3/slot={slot}"
            write(pl.DataFrame({"user_id": [1], "item_id": [int(slot)]}), folder / f"p.{ending}")
            put(folder / "_SUCCESS", "")
            put(folder / f".p.{ending}.crc", "x")
            put(folder / f"_temporary/q.{ending}", "x")
            put(folder / f"p.{ending}.tmp", "x")
    found = read(tmp_path / path.format(ending)).sort("dt", "slot")
    assert found.schema == {
        "user_id": pl.Int64,
        "item_id": pl.Int64,
        "dt": pl.Date,
        "scene": pl.String,
        "n": pl.Int64,
        "slot": pl.String,
    }
    first, second = date(2022, 5, 1), date(2022, 5, 2)
    assert found.rows() == [
        (1, 7, first, "a b", 3, "07"),
        (1, 11, first, "a b", 3, "11"),
        (1, 7, second, None, 3, "07"),
        (1, 11, second, None, 3, "11"),
    ]


def test_partitions_leave_files_unread(tmp_path):
    for day in ("2022-05-01", "2022-05-02"):
        write(pl.DataFrame(PAIR), tmp_path / f"logs/dt={day}/part.parquet")
    log = scan_interactions(
        Source(path=f"{tmp_path}/logs/dt=*/*.parquet", where="dt >= DATE '2022-05-02'")
    )
    assert log.collect().height == 2
    assert "dt=2022-05-01" not in log.explain()


def test_a_glob_of_text_files_has_one_type_a_column(tmp_path):
    put(tmp_path / "a.csv", "user_id,item_id,dwell,event\n1,10,1,1\n")
    put(tmp_path / "b.csv", "user_id,item_id,dwell,event\n2,20,2.5,x\n")
    found = read(tmp_path / "*.csv").sort("user_id")
    assert found.rows() == [(1, 10, 1.0, "1"), (2, 20, 2.5, "x")]


def test_ids_of_a_glob_are_text_if_one_of_them_is(tmp_path):
    put(tmp_path / "a.csv", "user_id,item_id\n1,10\n")
    put(tmp_path / "b.csv", "user_id,item_id\n2,010\n")
    assert read(tmp_path / "*.csv").sort("user_id").rows() == [(1, "10"), (2, "010")]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_one_bad_file_of_many_is_named(tmp_path, ending):
    for number in range(40):
        write(pl.DataFrame(PAIR), tmp_path / f"p{number:02}.{ending}")
    bad = tmp_path / f"p21.{ending}"
    whole = bad.read_bytes()
    put(bad, whole[: len(whole) // 2])
    said, code = refused(read, tmp_path / f"*.{ending}")
    kind = "ipc" if ending == "arrow" else ending
    assert said.startswith(f"interactions.path: {bad} is not a readable {kind} file: ")
    assert code == 3
    write(pl.DataFrame({"user_id": [1], "item_id": ["x"]}), bad)
    assert refused(read, tmp_path / f"*.{ending}") == (
        (
            f"interactions.path: {tmp_path}/p00.{ending} and {bad} differ: "
            "column 'item_id' is Int64 and String"
        ),
        3,
    )


def test_types_are_inferred_over_the_whole_file(tmp_path):
    rows = "".join(f"{n},{n},1\n" for n in range(5000))
    put(tmp_path / "log.csv", f"user_id,item_id,dwell\n{rows}7,0007,2.5\n")
    found = read(tmp_path / "log.csv")
    assert found.schema == {"user_id": pl.Int64, "item_id": pl.String, "dwell": pl.Float64}
    assert found["dwell"].sum() == 5002.5
    assert found["item_id"][-1] == "0007"


def test_ndjson_may_leave_keys_out(tmp_path):
    rows = "".join('{"user_id": 1, "item_id": 10, "n": 1}\n' for _ in range(2000))
    put(tmp_path / "a.ndjson", rows)
    put(tmp_path / "b.ndjson", '{"user_id": 2, "item_id": 20, "n": 1.5, "late": null}\n')
    put(tmp_path / "c.ndjson", '{"user_id": 3, "item_id": 30, "late": "x"}\n')
    found = read(tmp_path / "*.ndjson").unique().sort("user_id")
    assert found.rows() == [(1, 10, 1.0, None), (2, 20, 1.5, None), (3, 30, None, "x")]


@pytest.mark.parametrize(
    ("separator", "line"),
    [
        (";", "{};{};{}"),
        ("\t", "{}\t{}\t{}"),
        ("::", "{}::{}::{}"),
        ("|||", "{}|||{}|||{}"),
        ("\x01", "{}\x01{}\x01{}"),
        ("<SEP>", "{}<SEP>{}<SEP>{}"),
        (", ", "{}, {}, {}"),
        ("§", "{}§{}§{}"),
    ],
)
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("ending", ["dat", "dat.gz"])
def test_separators_of_any_length(tmp_path, separator, line, header, ending):
    titles = ("user_id", "item_id", "rating")
    lines = [line.format(*row) for row in ((1, "0012", 5), (2, "x", 2.5))]
    text = "\n".join([line.format(*titles), *lines] if header else lines)
    path = put(tmp_path / f"log.{ending}", text + "\n")
    form = {"separator": separator} | ({} if header else {"header": False, "names": titles})
    found = read(path, format=form)
    assert found.columns == list(titles)
    assert found.rows() == [(1, "0012", 5.0), (2, "x", 2.5)]


def test_columns_are_named_in_the_file_and_then_by_us(tmp_path):
    path = put(tmp_path / "ratings.dat", "1::0012::5::9\n2::0013::4::8\n")
    form = {"separator": "::", "header": False, "names": ["u", "i", "stars", "at"]}
    found = read(
        path,
        format=form,
        columns={"user_id": "u", "item_id": "i", "timestamp": "at", "rating": "stars"},
        timestamp_unit="s",
    )
    # Ours first, then the log's own.
    assert found.columns == ["user_id", "item_id", "timestamp", "rating"]
    assert found.drop("timestamp").rows() == [(1, "0012", 5), (2, "0013", 4)]
    assert found["timestamp"].dt.epoch("s").to_list() == [9, 8]


def test_columns_without_values_fit_any_use(tmp_path):
    put(tmp_path / "a.csv", "user_id,item_id,timestamp,dwell,n\n1,0012,5,,\n")
    put(tmp_path / "b.csv", "user_id,item_id,timestamp,dwell,n\n2,,5,,7\n")
    log = scan_interactions(
        Source(path=f"{tmp_path}/*.csv", timestamp_unit="s", derive={"long": "dwell > 30"})
    )
    schema = log.collect_schema()
    assert (schema["dwell"], schema["n"], schema["long"]) == (pl.Null, pl.Int64, pl.Boolean)
    assert log.select("dwell", "n", "long").collect().rows() == [(None,) * 3, (None, 7, None)]


@pytest.mark.parametrize("unit", ["s", "iso", None])
def test_a_header_alone_is_a_log_without_rows(tmp_path, unit):
    path = put(tmp_path / "log.csv", "user_id,item_id,timestamp,n\n")
    assert refused(read, path, timestamp_unit=unit, where="n > 3") == ("interactions: no rows", 3)
    schema = scan_interactions(Source(path=str(path), timestamp_unit=unit)).collect_schema()
    assert schema == {
        "user_id": pl.String,
        "item_id": pl.String,
        "timestamp": pl.Datetime("us", "UTC"),
        "n": pl.Null,
    }


# Each case: files, path, options, message; @ stands for the folder.
BAD_FILES: dict[str, tuple[dict[str, str | bytes], str, dict[str, Any], str]] = {
    "missing": ({}, "log.csv", {}, "interactions.path: no such file or folder: @/log.csv"),
    "nothing matches": (
        {"log.csv": "user_id,item_id\n1,2\n"},
        "logs*.csv",
        {},
        (
            "interactions.path: @/logs*.csv matches no data files (.parquet, .pq, .arrow, .ipc, "
            ".feather, .ndjson, .jsonl, .csv, .tsv, .txt, .dat)"
        ),
    ),
    "empty folder": (
        {"logs/readme.md": "x", "logs/_SUCCESS": ""},
        "logs",
        {},
        (
            "interactions.path: @/logs has no data files in it (.parquet, .pq, .arrow, .ipc, "
            ".feather, .ndjson, .jsonl, .csv, .tsv, .txt, .dat)"
        ),
    ),
    "unknown ending": (
        {"log.xlsx": "x"},
        "log.xlsx",
        {},
        (
            "interactions.path: @/log.xlsx: unknown ending; expected one of .parquet, .pq, .arrow, "
            ".ipc, .feather, .ndjson, .jsonl, .csv, .tsv, .txt, .dat"
        ),
    ),
    "packed parquet": (
        {"log.parquet.gz": "x"},
        "log.parquet.gz",
        {},
        (
            "interactions.path: @/log.parquet.gz: unknown ending; expected one of .parquet, .pq, "
            ".arrow, .ipc, .feather, .ndjson, .jsonl, .csv, .tsv, .txt, .dat"
        ),
    ),
    "several formats": (
        {"logs/a.csv": "user_id,item_id\n1,2\n", "logs/b.jsonl": '{"user_id": 1}\n'},
        "logs",
        {},
        "interactions.path: @/logs has files of several formats: '@/logs/a.csv', '@/logs/b.jsonl'",
    ),
    "half a parquet file": (
        {"log.parquet": b"PAR1" + b"x" * 100},
        "log.parquet",
        {},
        (
            "interactions.path: @/log.parquet is not a readable parquet file: "
            "parquet: File out of specification: The file must end with PAR1 or PARE"
        ),
    ),
    "empty parquet": (
        {"log.parquet": b""},
        "log.parquet",
        {},
        ("interactions.path: @/log.parquet is empty: it has 0 bytes"),
    ),
    "text as ipc": (
        {"log.arrow": "user_id,item_id\n1,2\n1,2\n"},
        "log.arrow",
        {},
        "interactions.path: @/log.arrow is not a readable ipc file: out-of-spec: InvalidFooter",
    ),
    "empty text": (
        {"log.csv": ""},
        "log.csv",
        {},
        "interactions.path: @/log.csv is empty: it has 0 bytes",
    ),
    "binary as text": (
        {"log.csv": b"PAR1\x00\x00\x15\x04"},
        "log.csv",
        {},
        "interactions.path: @/log.csv is not a text file",
    ),
    "half a packed file": (
        {
            "logs/a.csv": "user_id,item_id\n1,2\n",
            "logs/b.csv": b"",
        },
        "logs",
        {},
        "interactions.path: @/logs/b.csv is empty: it has 0 bytes",
    ),
    "not utf-8": (
        {"log.csv": "user_id,item_id\n1,café\n".encode("latin-1")},
        "log.csv",
        {},
        "interactions.path: @/log.csv is not a readable text file: invalid utf-8 sequence",
    ),
    "a header alone": ({"log.csv": "user_id,item_id\n"}, "log.csv", {}, "interactions: no rows"),
    "half a line of ndjson": (
        {"log.ndjson": '{"user_id": 1, "item_id": 2}\n{"user_id": 1, "it'},
        "log.ndjson",
        {},
        "interactions.path: @/log.ndjson is not a readable ndjson file: Syntax at character 0",
    ),
    "too many fields": (
        {"log.csv": "user_id,item_id,title\n1,2,a\n1,2,a,b\n"},
        "log.csv",
        {},
        (
            "interactions.path: @/log.csv: some lines have more fields than the first; "
            "is the separator ',', and are texts quoted?"
        ),
    ),
    "separator between fields": (
        {"log.dat": "user_id::item_id::n\n1::2::3\n1:2:3:4:5\n"},
        "log.dat",
        {"format": {"separator": "::"}},
        (
            "interactions.item_id: 1 row without item_id, e.g. user_id '1:2:3:4:5'; "
            'fix the log, or leave them out: where: "item_id IS NOT NULL"'
        ),
    ),
    "shorter separator": (
        {"log.dat": "user_id:item_id\n1:2\n"},
        "log.dat",
        {"format": {"separator": "::"}},
        (
            "interactions.user_id: no such column in @/log.dat. Columns: user_id:item_id. "
            "Name it: columns: {user_id: ...}; or is another separator meant? "
            'format: {separator: ";"}\n'
            "interactions.item_id: no such column in @/log.dat. Columns: user_id:item_id. "
            "Name it: columns: {item_id: ...}; or is another separator meant? "
            'format: {separator: ";"}'
        ),
    ),
    "half a separator at the end": (
        {"log.dat": "user_id::item_id:\n1::2:\n"},
        "log.dat",
        {"format": {"separator": "::"}},
        (
            "interactions.item_id: no such column in @/log.dat. Columns: user_id, item_id:. "
            "Name it: columns: {item_id: ...}"
        ),
    ),
    "stand-in in the text": (
        {"log.dat": "user_id<>item_id\n1<>a\x1fb\n"},
        "log.dat",
        {"format": {"separator": "<>"}},
        (
            "interactions.path: @/log.dat has the control character 0x1f in it: "
            "use another separator"
        ),
    ),
    "other columns": (
        {"a.csv": "user_id,item_id\n1,2\n", "b.csv": "user_id,item_id,n\n1,2,3\n"},
        "*.csv",
        {},
        (
            "interactions.path: @/a.csv and @/b.csv differ in their columns: "
            "'user_id', 'item_id' and 'user_id', 'item_id', 'n'"
        ),
    ),
    "other values in ndjson": (
        {"a.jsonl": '{"user_id": 1, "n": 1}\n', "b.jsonl": '{"user_id": 1, "n": "x"}\n'},
        "*.jsonl",
        {},
        "interactions.path: @/a.jsonl and @/b.jsonl differ: column 'n' is Int64 and String",
    ),
    "other partitions": (
        {"logs/a.csv": "user_id,item_id\n1,2\n", "logs/dt=1/b.csv": "user_id,item_id\n1,2\n"},
        "logs",
        {},
        (
            "interactions.path: @/logs/a.csv and @/logs/dt=1/b.csv differ in their partitions: "
            "none and 'dt'"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_unreadable_files(tmp_path, case):
    files, path, options, message = BAD_FILES[case]
    for name, content in files.items():
        body = content.encode() if isinstance(content, str) else content
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(body)
    text, code = refused(read, tmp_path / path, **options)
    assert text.replace(str(tmp_path), "@") == message
    assert code == 3


@pytest.mark.parametrize("separator", [",", "<>"])
def test_half_a_packed_file(tmp_path, separator):
    rows = "\n".join(f"{n * 7919 % 1000}{separator}{n * 31 % 977}" for n in range(5000))
    packed = gzip.compress(f"user_id{separator}item_id\n{rows}\n".encode())
    put(tmp_path / "a.csv", f"user_id{separator}item_id\n1{separator}2\n")
    (tmp_path / "b.csv.gz").write_bytes(packed[: len(packed) // 2])
    text, code = refused(read, tmp_path / "*.csv*", format={"separator": separator})
    assert text.replace(str(tmp_path), "@").startswith(
        "interactions.path: @/b.csv.gz is not a readable text file: "
    )
    assert code == 3


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_of_several_schemas(tmp_path, ending):
    write(pl.DataFrame(PAIR), tmp_path / f"a.{ending}")
    write(
        pl.DataFrame(PAIR).with_columns(pl.col("item_id").cast(pl.String)), tmp_path / f"b.{ending}"
    )
    text, code = refused(read, tmp_path / f"*.{ending}")
    assert text.replace(str(tmp_path), "@") == (
        f"interactions.path: @/a.{ending} and @/b.{ending} differ: "
        "column 'item_id' is Int64 and String"
    )
    assert code == 3
    write(pl.DataFrame({**PAIR, "n": 1}), tmp_path / f"b.{ending}")
    assert refused(read, tmp_path / f"*.{ending}")[0].endswith(
        "differ: column 'n' is missing and Int32"
    )


def test_files_may_have_their_columns_in_another_order(tmp_path):
    write(pl.DataFrame(PAIR), tmp_path / "a.parquet")
    write(pl.DataFrame(PAIR).select("item_id", "user_id"), tmp_path / "b.parquet")
    assert read(tmp_path / "*.parquet").rows() == [(1, 10), (2, 20), (1, 10), (2, 20)]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"separator": ""}, "separator: got ''; it has one character or more"),
        ({"separator": "\n"}, "separator: got '\\n'; it has one character or more"),
        ({"separator": '"'}, "separator: got '\"'; it has one character or more"),
        ({"names": ["a"]}, "names are for files without a header: add header: false"),
        ({"header": False}, "header: false needs names: [user_id, item_id, ...]"),
        ({"header": False, "names": ["a", "b", "a"]}, "names: 'a' is there twice"),
    ],
)
def test_formats_that_contradict_themselves(form, message):
    with pytest.raises(ValidationError) as error:
        Format(**form)
    assert message in str(error.value)


def test_a_wrong_number_of_names(tmp_path):
    path = put(tmp_path / "log.dat", "1::2::3\n")
    form = {"separator": "::", "header": False, "names": ["user_id", "item_id"]}
    text, code = refused(read, path, format=form)
    assert text == (
        f"interactions.format.names: 2 names, but {path} has 3 fields with the separator '::'"
    )
    assert code == 2


def test_a_format_is_for_text(tmp_path):
    write(pl.DataFrame(PAIR), tmp_path / "log.parquet")
    assert refused(read, tmp_path / "log.parquet", format={"separator": ";"}) == (
        f"interactions.format: format is for text files, and {tmp_path}/log.parquet is parquet",
        2,
    )


def test_scan_is_for_any_table(tmp_path):
    path = put(tmp_path / "items.csv", "item_id,code\n1,01\n")
    # Without a word about ids these are numbers like others.
    assert scan(path, where_said="items").collect().rows() == [(1, 1)]
    assert refused(scan, tmp_path / "no.csv", where_said="items.table") == (
        f"items.table: no such file or folder: {tmp_path}/no.csv",
        3,
    )


def test_a_field_may_hold_a_part_of_the_separator(tmp_path):
    text = "1::a:b::2026-01-01T10:00:00Z\n2::c::2026-01-02T00:00:00Z\n"
    path = put(tmp_path / "log.dat", text)
    form = {"separator": "::", "header": False, "names": ["user_id", "item_id", "timestamp"]}
    found = read(path, format=form, timestamp_unit="iso")
    assert found["item_id"].to_list() == ["a:b", "c"]
    assert found["timestamp"].dt.hour().to_list() == [10, 0]


@pytest.mark.parametrize("ending", ["ndjson", "jsonl.gz", "parquet", "arrow", "csv", "csv.gz"])
@pytest.mark.parametrize(
    ("odd", "plain"), [("a[1]", "a1"), ("h*", "h2"), ("q?", "q1"), ("[!x]", "y"), ("{b,c}", "b")]
)
def test_file_names_are_no_globs(tmp_path, ending, odd, plain):
    write(pl.DataFrame({**PAIR, "odd": [1, 2]}), tmp_path / f"one/{odd}.{ending}")
    write(pl.DataFrame({**PAIR, "plain": [1, 2]}), tmp_path / f"one/{plain}.{ending}")
    assert read(tmp_path / f"one/{odd}.{ending}").columns == ["user_id", "item_id", "odd"]
    for name, item in ((odd, 1), (plain, 2)):
        write(pl.DataFrame({"user_id": [1], "item_id": [item]}), tmp_path / f"two/{name}.{ending}")
    assert sorted(read(tmp_path / "two")["item_id"]) == [1, 2]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
def test_folders_above_the_path_are_no_columns(tmp_path, ending, monkeypatch):
    for day in ("4", "5"):
        write(pl.DataFrame(PAIR), tmp_path / f"env=prod/logs/day={day}/p.{ending}")
    above = tmp_path / "env=prod/logs"
    for path in (above, f"{above}/*", f"{above}/*/*.{ending}"):
        assert read(path).columns == ["user_id", "item_id", "day"]
        assert read(path, where="day = 5").height == 2
    assert read(above / f"day=4/p.{ending}").columns == ["user_id", "item_id"]
    assert read(f"{above}/day=4/*.{ending}").columns == ["user_id", "item_id"]
    assert read(f"{tmp_path}/env=*/logs").columns == ["user_id", "item_id", "env", "day"]
    monkeypatch.chdir(tmp_path / "env=prod")
    assert read("logs").columns == ["user_id", "item_id", "day"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("above", ["", "env=prod/"])
def test_a_folder_and_a_column_of_one_name(tmp_path, ending, above):
    file = tmp_path / f"{above}logs/day=4/p.{ending}"
    write(pl.DataFrame({**PAIR, "day": [7, 7]}), file)
    assert refused(read, tmp_path / f"{above}logs") == (
        (
            f"interactions.path: {file}: 'day' is a folder (day=...) and a column of the file; "
            "leave the column out, or rename one of them"
        ),
        3,
    )
    assert read(file)["day"].to_list() == [7, 7]


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_no_folder(tmp_path, monkeypatch, path):
    write(pl.DataFrame(PAIR), tmp_path / "log.csv")
    monkeypatch.chdir(tmp_path)
    message = "interactions.path: the path is empty; the current folder is written ."
    assert refused(read, path) == (message, 3)
    assert read(".").height == 2


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_a_header_with_a_name_twice(tmp_path, name):
    path = put(tmp_path / name, "user_id,item_id,rank,rank\n1,2,3,4\n")
    assert refused(read, path) == (
        f"interactions.path: {path}: the header has 'rank' twice; rename one of the columns",
        3,
    )
    odd = put(tmp_path / f"odd_{name}", "user_id,item_id,n,n_duplicated_0,,\n1,2,3,4,,\n")
    assert read(odd).row(0)[:4] == (1, 2, 3, 4)


@pytest.mark.parametrize("separator", ["~|", "§"])
def test_texts_are_not_quoted_beside_long_separators(tmp_path, separator):
    lines = ["user_id~|item_id~|title", '1~|"a~|"b" c']
    path = put(tmp_path / "log.dat", "\n".join(lines).replace("~|", separator))
    assert read(path, format={"separator": separator}).rows() == [(1, '"a', '"b" c')]
    put(path, path.read_text() + f'{separator}1"\n')
    assert refused(read, path, format={"separator": separator}) == (
        (
            f"interactions.path: {path}: some lines have more fields than the first; is the "
            f"separator {separator!r}, which no text may hold? "
            "(quotes are signs like others beside it)"
        ),
        3,
    )


def test_lines_of_unequal_length_without_a_header(tmp_path):
    path = put(tmp_path / "log.csv", "4,5,6\n1,2,3,4\n")
    form = {"header": False, "names": ["user_id", "item_id", "x"]}
    message, code = refused(read, path, format=form)
    assert code == 3
    assert message == (
        f"interactions.path: {path}: some lines have more fields than the first; "
        "is the separator ',', and are texts quoted?"
    )
