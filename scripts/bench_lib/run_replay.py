"""Run in the environment of RePlay: polars frames, all metrics at once with OfflineMetrics."""

import numpy as np
import polars as pl
from child import Answer, read_job
from replay import metrics as m

NAMES = {
    "precision": "Precision",
    "recall": "Recall",
    "hit_rate": "HitRate",
    "mrr": "MRR",
    "map": "MAP",
    "ndcg": "NDCG",
}

job = read_job()
answer = Answer(["replay-rec", "polars", "numpy"])
depths = job["k"]
asked = [getattr(m, NAMES[name])(depths, mode=m.PerUser()) for name in job["metrics"]]
with answer.stage():
    rating = -pl.col("rank").cast(pl.Float64)
    lists = pl.read_parquet(job["lists"]).select("user_id", "item_id", rating=rating)
    truth = pl.read_parquet(job["truth"])
    found = m.OfflineMetrics(asked, query_column="user_id")(lists, truth)
    sizes = truth.group_by("user_id").len()
    users, relevant = sizes["user_id"].to_list(), sizes["len"].to_numpy()
    columns = {}
    for name in job["metrics"]:
        for k in depths:
            values = found[f"{NAMES[name]}-PerUser@{k}"]
            columns[f"{name}@{k}"] = np.array([values[user] for user in users])
    answer.add_columns(columns, relevant)
answer.write()
