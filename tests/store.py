"""An S3 store on loopback, for tests: moto's server, and one that refuses everything."""

import http.server
import io
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from pyarrow.fs import S3FileSystem

SECRET = "not-a-real-secret"  # noqa: S105 (of a store on loopback)


def use_store(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Names a store in the environment, and nothing of the machine's own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@dataclass(frozen=True)
class Bucket:
    """A bucket that is empty at first."""

    name: str
    endpoint: str

    @property
    def url(self) -> str:
        return f"s3://{self.name}"

    @property
    def client(self) -> S3FileSystem:
        return S3FileSystem(
            endpoint_override=self.endpoint,
            access_key="testing",
            secret_key=SECRET,
            region="us-east-1",
            allow_bucket_creation=True,
        )

    def put(self, key: str, content: bytes | str | pl.DataFrame | dict[str, Any]) -> str:
        """Returns the URL of a new object; tables are written as the ending of the key says."""
        if isinstance(content, dict):
            content = pl.DataFrame(content)
        if isinstance(content, pl.DataFrame):
            content = encoded(content, key.rsplit(".", 1)[1])
        body = content.encode() if isinstance(content, str) else content
        with self.client.open_output_stream(f"{self.name}/{key}") as stream:
            stream.write(body)
        return f"{self.url}/{key}"


def encoded(frame: pl.DataFrame, ending: str) -> bytes:
    body = io.BytesIO()
    match ending:
        case "parquet" | "pq":
            frame.write_parquet(body)
        case "arrow" | "ipc" | "feather":
            frame.write_ipc(body)
        case "ndjson" | "jsonl":
            frame.write_ndjson(body)
        case "tsv":
            frame.write_csv(body, separator="\t")
        case _:
            frame.write_csv(body)
    return body.getvalue()


@contextmanager
def moto_server() -> Iterator[str]:
    """Yields the address of an S3 store in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            lines = iter(server.stderr.readline, "")
            found = next(filter(None, (re.search(r"http://127\.0\.0\.1:\d+", s) for s in lines)))
            # Nobody reads what it says of each request, so the pipe has to be emptied.
            threading.Thread(target=lambda: list(lines), daemon=True).start()
            yield found[0]
        finally:
            server.kill()


class _Refusing(http.server.BaseHTTPRequestHandler):
    """Answers each request with the status and the code that the name of the bucket says."""

    def answer(self) -> None:
        status, code = self.path.split("/")[1].split("?")[0].split("-", 1)
        body = f"<Error><Code>{code}</Code><Message>{SECRET}</Message></Error>".encode()
        self.send_response(int(status))
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = answer  # noqa: N815 (names of the base class)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""


@contextmanager
def refusing_server() -> Iterator[str]:
    """Yields the address of a store that refuses: s3://403-AccessDenied/key."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
