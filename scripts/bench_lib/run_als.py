"""Run in .venv: recoeval's ALS, its lists written a block at a time."""

import os

import polars as pl
import pyarrow.parquet as pq
from child import Answer, read_job

from recoeval.generators import ALS
from recoeval.generators.base import Train

job = read_job()
answer = Answer(["recoeval", "implicit", "polars", "numpy", "scipy"])
threads = len(os.sched_getaffinity(0))
model = ALS(factors=job["factors"], iterations=job["iterations"])

with answer.stage("fit"):
    pairs = pl.scan_parquet(job["train"])
    rows = pairs.with_columns(weight=pl.lit(1.0))
    fitted = model.fit(Train(rows, pairs.unique(), None, job["seed"], threads))
with answer.stage("recommend and write"):
    users = pairs.select("user_id").unique().collect(engine="streaming").sort("user_id")
    queries = users.select(query_id="user_id", user_id="user_id")
    writer = None
    for block in queries.iter_slices(model.block or queries.height):
        lists = fitted.recommend(block, job["k"]).rename({"query_id": "user_id"}).collect()
        table = lists.to_arrow()
        writer = writer or pq.ParquetWriter(job["out"], table.schema)
        writer.write_table(table)
    writer.close()
answer.write()
