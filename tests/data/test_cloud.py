"""Files in an S3 store: the same rules as for local ones, and what the store refuses."""

import gzip
import socket
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from recoeval.data.cloudfailures import cloud_cause
from recoeval.data.failures import reading
from recoeval.data.files import find, location
from recoeval.data.lists import read_lists
from recoeval.data.sources import Source, scan_interactions
from recoeval.data.trec import sniff
from tests.data.helpers import PAIR, put, read, refused
from tests.store import SECRET, Bucket, refusing_server, use_store

PATTERNS = (
    *("logs", "logs/dt=*", "logs/dt=*/*", "logs/dt=2022-05-0[12]/slot=?7", "logs/**/*.parquet"),
    *(
        "logs/**",
        "logs/dt=*/slot=07/p.parquet",
        "l*/*/**/*.p*",
        "logs/dt=*1",
        "logs/dt=2022-05-01/",
    ),
)
KEYS = (
    *("logs/dt=2022-05-01/slot=07/p.parquet", "logs/dt=2022-05-01/slot=11/p.parquet"),
    *("logs/dt=2022-05-02/slot=07/p.parquet", "logs/dt=2022-05-02/slot=07/a.parquet"),
    *("logs/dt=2022-05-02/slot=07/_SUCCESS", "logs/dt=2022-05-02/slot=07/.p.parquet.crc"),
    *("logs/_temporary/dt=2022-05-01/slot=07/p.parquet", "logs/dt=2022-05-01/readme.md"),
    *("logs/.staging/p.parquet", "logs/dt=2022-05-01/_old/slot=07/p.parquet", "other/x.parquet"),
)


@pytest.mark.parametrize("ending", ["parquet", "pq", "arrow", "feather", "csv", "tsv", "ndjson"])
def test_every_format_gives_the_same_log(bucket: Bucket, ending: str) -> None:
    frame = pl.DataFrame({**PAIR, "event": ["click", None], "dwell": [1.5, 2.0]})
    found = read(bucket.put(f"log.{ending}", frame))
    assert found.equals(frame)
    assert found.schema == frame.schema


def test_paths_name_the_same_files_as_local_ones(bucket: Bucket, tmp_path: Path) -> None:
    for key in KEYS:
        bucket.put(key, "x")
        put(tmp_path / key, "x")
    for pattern in PATTERNS:
        try:
            local = find(f"{tmp_path}/{pattern}", "x")
        except Exception as error:  # noqa: BLE001 (whatever it is, the other one has to say it)
            said = str(error).replace(str(tmp_path), bucket.url)
            assert refused(find, f"{bucket.url}/{pattern}", "x")[0] == said, pattern
            continue
        remote = find(f"{bucket.url}/{pattern}", "x")
        names = [file.removeprefix(f"{tmp_path}/") for file in local.files]
        assert [file.removeprefix(f"{bucket.url}/") for file in remote.files] == names, pattern
        fixed = local.fixed - len(tmp_path.parts)
        assert remote.fixed - len(Path(bucket.url).parts) == fixed, pattern


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("path", ["logs", "logs/", "logs/dt=*", "logs/dt=*/*", "logs/**/*.{}"])
def test_partitions_are_columns(bucket: Bucket, ending: str, path: str) -> None:
    for day, scene in (("2022-05-01", "a%20b"), ("2022-05-02", "__HIVE_DEFAULT_PARTITION__")):
        folder = f"logs/dt={day}/scene={scene}/slot=07"
        bucket.put(f"{folder}/p.{ending}", {"user_id": [1], "item_id": [int(day[-1])]})
        bucket.put(f"{folder}/_SUCCESS", b"")
    found = read(f"{bucket.url}/{path.format(ending)}").sort("dt")
    assert found.rows() == [
        (1, 1, date(2022, 5, 1), "a b", "07"),
        (1, 2, date(2022, 5, 2), None, "07"),
    ]


def test_partitions_leave_files_unread(bucket: Bucket) -> None:
    for day in ("2022-05-01", "2022-05-02"):
        bucket.put(f"logs/dt={day}/part.parquet", PAIR)
    path = f"{bucket.url}/logs/dt=*/*.parquet"
    log = scan_interactions(Source(path=path, where="dt >= DATE '2022-05-02'"))
    assert log.collect().height == 2
    assert "dt=2022-05-01" not in log.explain()


def test_names_of_any_kind(bucket: Bucket) -> None:
    for name in ("a b", "ä", "[x]*", "c%20d", "e+f", "g#h", "i?j"):
        path = bucket.put(f"{name}/{name}.parquet", PAIR)
        assert read(path).height == 2
        assert find(f"{bucket.url}/{name}", "x").files == [path] or "*" in name


def test_text_has_types_over_all_files_and_ids_with_zeros(bucket: Bucket) -> None:
    bucket.put("a.csv", "user_id,item_id,dwell\n1,10,1\n")
    bucket.put("b.csv", "user_id,item_id,dwell\n2,010,2.5\n")
    assert read(f"{bucket.url}/*.csv").sort("user_id").rows() == [(1, "10", 1.0), (2, "010", 2.5)]


def test_separators_of_several_characters(bucket: Bucket) -> None:
    path = bucket.put("ratings.dat", "1::0012\n2::0013\n")
    form = {"separator": "::", "header": False, "names": ["user_id", "item_id"]}
    assert read(path, format=form).rows() == [(1, "0012"), (2, "0013")]


def test_trec_runs(bucket: Bucket) -> None:
    text = "q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\n"
    for path in (bucket.put("run.txt", text), bucket.put("run.trec", text)):
        assert sniff(path) == "run"
        assert read_lists(path).collect().rows() == [
            ("me", "q1", "d1", 2.5),
            ("me", "q1", "d2", 1.5),
        ]
    assert sniff(bucket.put("qrels.txt", "q1 0 d1 1\n")) == "qrels"
    assert sniff(f"{bucket.url}/none.txt") is None


def test_many_files_are_looked_at_one_by_one(bucket: Bucket) -> None:
    for number in range(40):
        bucket.put(f"lists/p{number:02}.parquet", PAIR)
    path = f"{bucket.url}/lists/*.parquet"
    assert read(path).height == 80
    bucket.put("lists/p21.parquet", b"PAR1" + b"x" * 100)
    said = f"interactions.path: {bucket.url}/lists/p21.parquet is not a readable parquet file: "
    assert refused(read, path)[0].startswith(said)
    bucket.put("lists/p21.parquet", {"user_id": [1], "item_id": ["x"]})
    assert refused(read, path) == (
        (
            f"interactions.path: {bucket.url}/lists/p00.parquet and {bucket.url}/lists/p21.parquet "
            "differ: column 'item_id' is Int64 and String"
        ),
        3,
    )


def test_a_path_object_is_repaired() -> None:
    assert location(Path("s3://bucket/a/b.parquet")) == "s3://bucket/a/b.parquet"
    assert location("s3://bucket//a") == "s3://bucket//a"


ENDINGS = ".parquet, .pq, .arrow, .ipc, .feather, .ndjson, .jsonl, .csv, .tsv, .txt, .dat"

# Each case: objects, path, message; @ stands for the bucket.
BAD: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "missing object": ({}, "@/log.csv", "no such file or folder: @/log.csv"),
    "missing bucket": (
        {},
        "s3://not-there/log.csv",
        (
            "s3://not-there/log.csv: there is no such bucket at 127.0.0.1:PORT; check its "
            "name, and AWS_ENDPOINT_URL"
        ),
    ),
    "missing bucket of a glob": (
        {},
        "s3://not-there/logs/*.csv",
        (
            "s3://not-there/logs/*.csv: there is no such bucket at 127.0.0.1:PORT; check its "
            "name, and AWS_ENDPOINT_URL"
        ),
    ),
    "no bucket": ({}, "s3://", "s3:// names no bucket: s3://bucket/folder"),
    "bucket as glob": ({}, "s3://b*/x.csv", "s3://b*/x.csv names no bucket: s3://bucket/folder"),
    "nothing matches": (
        {"log.csv": "user_id,item_id\n1,2\n"},
        "@/logs*.csv",
        ("@/logs*.csv matches no data files (ENDINGS)"),
    ),
    "empty folder": (
        {"logs/readme.md": "x", "logs/_SUCCESS": ""},
        "@/logs",
        ("@/logs has no data files in it (ENDINGS)"),
    ),
    "unknown ending": (
        {"log.xlsx": "x"},
        "@/log.xlsx",
        ("@/log.xlsx: unknown ending; expected one of ENDINGS"),
    ),
    "several formats": (
        {"logs/a.csv": "user_id,item_id\n1,2\n", "logs/b.jsonl": '{"user_id": 1}\n'},
        "@/logs",
        "@/logs has files of several formats: '@/logs/a.csv', '@/logs/b.jsonl'",
    ),
    "packed text": (
        {"logs/a.csv": "x", "logs/b.csv.gz": gzip.compress(b"x")},
        "@/logs",
        (
            "@/logs/b.csv.gz: packed files are not read from S3; unpack them, or write "
            "parquet. From S3 are read: ENDINGS"
        ),
    ),
    "special characters of ndjson": (
        {"a[1].ndjson": '{"user_id": 1}'},
        "@/a[1].ndjson",
        "@/a[1].ndjson: ndjson files in S3 have no *, ? or [ in their names",
    ),
    "text as ipc": (
        {"log.arrow": "user_id,item_id\n1,2\n1,2\n"},
        "@/log.arrow",
        "@/log.arrow is not a readable ipc file: out-of-spec: InvalidFooter",
    ),
    "empty text": ({"a.csv": ""}, "@/a.csv", "@/a.csv is not a readable text file: empty CSV"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(bucket: Bucket, name: str) -> None:
    objects, path, message = BAD[name]
    for key, content in objects.items():
        bucket.put(key, content)
    expected = message.replace("@", bucket.url).replace("ENDINGS", ENDINGS)
    expected = expected.replace("127.0.0.1:PORT", bucket.endpoint.removeprefix("http://"))
    found = refused(read, path.replace("@", bucket.url))
    assert found == (f"interactions.path: {expected}", 3)


def test_other_stores_are_named() -> None:
    assert refused(read, "gs://bucket/log.csv") == (
        (
            "interactions.path: no such file or folder: gs://bucket/log.csv; of URLs, "
            "s3://bucket/key is read"
        ),
        3,
    )


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    with refusing_server() as endpoint:
        yield endpoint


KEYS_REFUSED = (
    "the credentials are not accepted; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
    "AWS_SESSION_TOKEN, which expires"
)
REFUSED = {
    "403-AccessDenied": (
        "access is denied; the credentials in use need s3:ListBucket on the bucket and "
        "s3:GetObject on what is in it"
    ),
    "403-InvalidAccessKeyId": KEYS_REFUSED,
    "403-SignatureDoesNotMatch": KEYS_REFUSED,
    "400-ExpiredToken": KEYS_REFUSED,
    "301-PermanentRedirect": (
        "the bucket is in another region; set AWS_REGION to that of the bucket"
    ),
    "404-NoSuchBucket": ("there is no such bucket at STORE; check its name, and AWS_ENDPOINT_URL"),
    "503-SlowDown": "STORE is overloaded or fails, also after retries; try again later",
    "418-Teapot": "STORE refuses the request",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_store_refuses(refusing: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    use_store(monkeypatch, refusing)
    status, code = name.split("-")
    cause = REFUSED[name].replace("STORE", refusing.removeprefix("http://"))
    # pyarrow lists.
    path = f"s3://{name}/logs/*.parquet"
    assert refused(read, path) == (f"interactions.path: {path}: {cause}", 3)
    # polars reads.
    said = f"object-store error: ... status code: {status} ...: <Error><Code>{code}</Code>{SECRET}"
    assert cloud_cause(said) == cause


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "Error performing PUT http://169.254.169.254/latest/api/token in 1ms",
            (
                "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_SKIP_SIGNATURE=true for a bucket that is open to all"
            ),
        ),
        (
            "HTTP error: error sending request\n\nCaused by:\n operation timed out",
            "no answer from store.example:9000 in time; check AWS_ENDPOINT_URL and the network",
        ),
        (
            "HTTP error: error sending request (path: s3://b/x)\n\nCaused by:\n dns error",
            "store.example:9000 cannot be reached; check AWS_ENDPOINT_URL and the network",
        ),
        (
            "status code: 404 Not Found: <Error><Code>NoSuchKey</Code>",
            "there is no such object any more; is something else writing here?",
        ),
        (
            "Received redirect without LOCATION, this normally indicates",
            "the bucket is in another region; set AWS_REGION to that of the bucket",
        ),
        # A name is no answer.
        ("GET http://h/404/status=503/x.parquet", "store.example:9000 refuses the request"),
    ],
)
def test_what_polars_says_of_a_store(
    monkeypatch: pytest.MonkeyPatch, said: str, cause: str
) -> None:
    use_store(monkeypatch, f"http://me:{SECRET}@store.example:9000/path")
    assert cloud_cause(f"object-store error: Generic S3 error: {said}") == cause


@pytest.mark.parametrize(
    ("address", "shown"), [("", "AWS S3"), ("http://[", "the endpoint"), ("x", "the endpoint")]
)
def test_the_store_is_named(monkeypatch: pytest.MonkeyPatch, address: str, shown: str) -> None:
    use_store(monkeypatch, address)
    assert cloud_cause("object-store error") == f"{shown} refuses the request"


def test_an_unreachable_store(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        use_store(monkeypatch, f"http://{address}")
        assert refused(read, "s3://bucket/log.parquet") == (
            (
                f"interactions.path: s3://bucket/log.parquet: {address} cannot be reached; check "
                "AWS_ENDPOINT_URL and the network"
            ),
            3,
        )


def test_an_object_that_goes_away(bucket: Bucket) -> None:
    path = bucket.put("log.parquet", PAIR)
    log = scan_interactions(Source(path=path))
    bucket.client.delete_file(f"{bucket.name}/log.parquet")

    def collect() -> None:
        with reading("interactions"):
            log.collect()

    said, code = refused(collect)
    place = f"{bucket.endpoint.removeprefix('http://')}/{bucket.name}/log.parquet"
    assert (said.split(";")[0], code) == (
        f"interactions: {place} cannot be read: there is no such object any more",
        3,
    )
