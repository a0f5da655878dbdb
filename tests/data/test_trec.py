import gzip
from typing import Any

import polars as pl
import pytest

from recoeval.data.lists import deliver, is_trec_run, read_lists
from recoeval.data.trec import scan_qrels, scan_run, sniff
from recoeval.errors import DataError

QRELS = "301 0 d1 1\n301\t0\td2   0\n\n  302 0 d1 -1  \r\n   \n303 0 d9 4"
RUN = "301 Q0 d1 1 2.5 STANDARD\n301\tQ0\td2\t1\t  1e-3\tSTANDARD\n\n302 Q0 d1 7 -3 other\n"


def put(path: Any, text: str) -> Any:
    body = text.encode()
    path.write_bytes(gzip.compress(body) if path.suffix == ".gz" else body)
    return path


@pytest.fixture(params=["a.test", "a.qrels", "a.txt.gz"])
def path(request, tmp_path):
    return tmp_path / request.param


def test_qrels(path):
    found = scan_qrels(put(path, QRELS)).collect()
    assert found.schema == {"query_id": pl.String, "item_id": pl.String, "gain": pl.Float64}
    assert found.rows() == [
        ("301", "d1", 1.0),
        ("301", "d2", 0.0),
        ("302", "d1", -1.0),
        ("303", "d9", 4.0),
    ]


def test_run(path):
    found = scan_run(put(path, RUN)).collect()
    assert found.schema == {
        "query_id": pl.String,
        "item_id": pl.String,
        "score": pl.Float64,
        "generator": pl.String,
    }
    assert found.rows() == [
        ("301", "d1", 2.5, "STANDARD"),
        ("301", "d2", pl.Series([0.001], dtype=pl.Float32).item(), "STANDARD"),
        ("302", "d1", -3.0, "other"),
    ]


def test_ids_are_text_even_if_they_look_like_numbers(tmp_path):
    run = put(tmp_path / "a.run", "1 Q0 007 1 1 x\n1 Q0 7 2 0.5 x\n")
    assert scan_run(run).collect()["item_id"].to_list() == ["007", "7"]
    qrels = put(tmp_path / "a.qrels", "1 0 007 1\n1 0 7 2\n")
    assert scan_qrels(qrels).collect()["item_id"].to_list() == ["007", "7"]


def test_a_judgement_may_be_there_twice_if_it_says_the_same(tmp_path):
    qrels = put(tmp_path / "a.qrels", "1 0 a 1\n1 0 a 1\n2 0 a 2\n")
    assert scan_qrels(qrels).collect().height == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "@: no lines"),
        (" \n\n", "@: no lines"),
        (
            "1 0 a 1\n\n1 0 b\n",
            "@:3: expected 4 fields (qid iter docid grade), got 3: '1 0 b'",
        ),
        (
            "1 0 a 1\n" + "1 0 a b\x1b 1\n" * 7,
            (
                "@:2: expected 4 fields (qid iter docid grade), got 5: '1 0 a b\\x1b 1'; "
                "7 such lines: 2, 3, 4, 5, 6, ..."
            ),
        ),
        ("1 0 a 1\n1 0 b x\n", "@:2: a grade is a whole number, got 'x'"),
        ("1 0 b 0.5\n", "@:1: a grade is a whole number, got '0.5'"),
        (
            "1 0 a 1\n1 0 b 1\n1 0 a 0\n2 0 a 0\n1 0 b 2\n",
            "@:3: 2 (query, document) pairs have several grades, e.g. ('1', 'a'), ('1', 'b')",
        ),
    ],
)
def test_qrels_that_are_refused(path, text, message):
    with pytest.raises(DataError) as error:
        scan_qrels(put(path, text))
    assert str(error.value).replace(str(path), "@") == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "@: no lines"),
        (
            "1 Q0 a 1 0.5 x\n1 Q0 b 2 0.4\n1 Q0 c d 3 0.3 x\n",
            (
                "@:2: expected 6 fields (qid Q0 docid rank score tag), got 5: '1 Q0 b 2 0.4'; "
                "2 such lines: 2, 3"
            ),
        ),
        ("1 Q0 a 1 high x\n", "@:1: a score is a finite number, got 'high'"),
        (
            "1 Q0 a 1 1 x\n1 Q0 b 1 nan x\n1 Q0 b 1 inf x\n",
            "@:2: a score is a finite number, got 'nan'; 2 such lines: 2, 3",
        ),
    ],
)
def test_runs_that_are_refused(path, text, message):
    with pytest.raises(DataError) as error:
        scan_run(put(path, text))
    assert str(error.value).replace(str(path), "@") == message


@pytest.mark.parametrize("scan", [scan_qrels, scan_run])
def test_files_that_cannot_be_read(tmp_path, scan):
    with pytest.raises(DataError) as error:
        scan(tmp_path / "no.run")
    assert str(error.value).startswith(f"{tmp_path}/no.run is not a readable TREC ")
    packed = gzip.compress(("1 Q0 a 1 0.5 x\n" * 1000).encode())
    (tmp_path / "half.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError) as error:
        scan(tmp_path / "half.gz")
    assert str(error.value).startswith(f"{tmp_path}/half.gz is not a readable TREC ")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01\n\x80")
    with pytest.raises(DataError) as error:
        scan(tmp_path / "binary")
    assert str(error.value).startswith(f"{tmp_path}/binary is not a readable TREC ")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (QRELS, "qrels"),
        (RUN, "run"),
        ("\n\n \n" + RUN, "run"),
        ("\n" + QRELS, "qrels"),
        ("user_id,item_id,rank\n", None),
        ("a b c d\n", None),
        ("1 0 a 0.5\n", None),
        ("1 Q0 a 1 x tag\n", None),
        ("1 0 a\n", None),
        ("", None),
        ("\x00\x01\x02\x03", None),
    ],
)
def test_sniff(path, text, kind):
    put(path, text)
    assert sniff(path) == kind
    assert sniff(str(path)) == kind
    assert is_trec_run(path) == (kind == "run")


def test_sniff_is_silent_about_what_it_cannot_read(tmp_path):
    assert sniff(tmp_path) is None
    assert sniff(tmp_path / "no.run") is None
    assert sniff(f"{tmp_path}/*.run") is None
    (tmp_path / "no.gz").write_bytes(b"1 0 a 1\n")
    assert sniff(tmp_path / "no.gz") is None
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"1 0 a 1\n")[:-9])
    # What is left of a file tells what it was: whoever reads it says that it is cut.
    assert sniff(tmp_path / "half.gz") == "qrels"
    (tmp_path / "bytes.run").write_bytes(b"1 0 \xff 1\n")
    assert sniff(tmp_path / "bytes.run") is None
    assert not is_trec_run(pl.DataFrame())


def test_a_run_is_ordered_by_score_then_by_document_downwards(tmp_path):
    run = put(
        tmp_path / "a.run",
        "1 Q0 10 1 0.5 x\n1 Q0 9 2 0.5 x\n1 Q0 2 3 0.5 x\n1 Q0 a 4 0.7 x\n1 Q0 11 5 -0.0 x\n"
        "1 Q0 12 6 0.0 x\n",
    )
    lists = read_lists(run)
    assert "rank" not in lists.collect_schema()
    expected = ["a", "9", "2", "10", "12", "11"]
    assert deliver(lists, tie="descending").collect()["item_id"].to_list() == expected
    # Also where the ids were made integers, text decides.
    whole = read_lists(
        put(tmp_path / "b.run", run.read_text().replace(" a ", " 1 ")), item_id_type="int"
    )
    found = deliver(whole, tie="descending").collect()["item_id"].to_list()
    assert found == [1, 9, 2, 10, 12, 11]


def test_many_lines_are_read_fast_enough_to_hold_in_a_test(tmp_path):
    lines = [f"{n // 50} Q0 d{n % 977} {n % 50 + 1} {1 / (n + 1):.6f} tag" for n in range(20_000)]
    lines[12_345] = "broken line"
    with pytest.raises(DataError) as error:
        scan_run(put(tmp_path / "a.run", "\n".join(lines)))
    assert str(error.value) == (
        f"{tmp_path}/a.run:12346: expected 6 fields (qid Q0 docid rank score tag), "
        "got 2: 'broken line'"
    )


def test_real_files(real_data):
    qrels = scan_qrels(real_data / "trec_eval" / "qrels.test").collect()
    assert qrels["query_id"].unique().sort().to_list() == ["301", "302", "303"]
    run = scan_run(real_data / "trec_eval" / "results.test").collect()
    assert run.height == 1500
    assert run["generator"].unique().to_list() == ["STANDARD"]
    packed = scan_run(real_data / "oracle" / "kuairand_pop_uniq.run.gz").collect()
    assert packed["query_id"].n_unique() == 4362


def test_scores_tie_as_in_32_bits(tmp_path):
    text = "1 Q0 a 1 0.8123456789 x\n1 Q0 b 2 0.8123456788 x\n1 Q0 c 3 0.81234 x\n"
    run = scan_run(put(tmp_path / "a.run", text))
    assert deliver(run, tie="descending").collect()["item_id"].to_list() == ["b", "a", "c"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_byte_order_mark_is_no_part_of_a_query_id(tmp_path, name):
    qrels = put(tmp_path / f"qrels.{name}", f"\ufeff{QRELS}")
    run = put(tmp_path / f"run.{name}", f"\ufeff{RUN}")
    assert (sniff(qrels), sniff(run)) == ("qrels", "run")
    assert scan_qrels(qrels).collect()["query_id"][0] == "301"
    assert scan_run(run).collect()["query_id"][0] == "301"
