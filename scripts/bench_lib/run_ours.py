"""Run in .venv: recoeval, through the public function, as a notebook would call it."""

import polars as pl
from child import EDGES, Answer, read_job

from recoeval import evaluate

job = read_job()
answer = Answer(["recoeval", "polars", "numpy"])
history = {"train": job["train"]} if job.get("train") else {}
with answer.stage():
    ev = evaluate(
        job["lists"],
        job["truth"],
        metrics=job["metrics"],
        k=job["k"],
        buckets={"size": {"by": "relevant_items", "edges": list(EDGES)}},
        **history,
    )
    users = ev.per_user.height
    means = ev.summary.filter(pl.col("statistic") == "macro")
# A split may have no pairs: where users know all items, none is cold.
means = means.drop_nulls("value")
rows = means.select("bucket", "metric", "value").iter_rows()
asked = {f"{metric}@{k}" for metric in job["metrics"] for k in job["k"]}
for bucket, metric, value in rows:
    if metric in asked:
        mean = {metric: value}
        answer.add_means(*((mean, {}) if bucket == "all" else ({}, {bucket: mean})))
answer.extra["users"] = users
answer.write()
