"""Run in .venv: implicit as one would call it by hand; no order of ties, no checks."""

import os

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from child import Answer, read_job
from implicit.cpu.als import AlternatingLeastSquares  # noqa: TID253 (the program is about it)
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

BLOCK = 10_000

job = read_job()
answer = Answer(["implicit", "polars", "numpy", "scipy"])
threads = len(os.sched_getaffinity(0))
k = job["k"]

with threadpool_limits(1, "blas"):
    with answer.stage("fit"):
        pairs = pl.read_parquet(job["train"])
        users, user = np.unique(pairs["user_id"].to_numpy(), return_inverse=True)
        items, item = np.unique(pairs["item_id"].to_numpy(), return_inverse=True)
        ones = np.ones(len(user), dtype=np.float32)
        weights = csr_matrix((ones, (user, item)), shape=(len(users), len(items)))
        model = AlternatingLeastSquares(
            factors=job["factors"],
            iterations=job["iterations"],
            dtype=np.float32,
            num_threads=threads,
            random_state=job["seed"],
        )
        model.fit(weights, show_progress=False)
    with answer.stage("recommend and write"):
        writer = None
        for start in range(0, len(users), BLOCK):
            block = np.arange(start, min(start + BLOCK, len(users)))
            found, scores = model.recommend(block, weights[block], N=k)
            ranks = np.tile(np.arange(1, k + 1), len(block))
            columns = {
                "user_id": np.repeat(users[block], k),
                "item_id": items[found.ravel()],
                "rank": ranks,
                "score": scores.ravel(),
            }
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(job["out"], table.schema)
            writer.write_table(table)
        writer.close()
answer.write()
