"""Run in the environment of pytrec-eval-terrier: dictionaries of texts in, one dictionary out.

It has no mrr@K: the reciprocal rank of the whole list counts where it is at least 1 / K.
"""

import numpy as np
import polars as pl
import pytrec_eval
from child import Answer, read_job

MEASURES = {
    "precision@{}": "P_{}",
    "recall@{}": "recall_{}",
    "hit_rate@{}": "success_{}",
    "auprc@{}": "map_cut_{}",
    "ndcg@{}": "ndcg_cut_{}",
}

job = read_job()
answer = Answer(["pytrec-eval-terrier", "numpy"])
depths = job["k"]


def by_user(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
    """Returns the values by user and item; the rows of a user need not stand together."""
    found: dict[str, dict[str, float]] = {}
    for user, item, number in frame.select("user_id", "item_id", value).iter_rows():
        found.setdefault(user, {})[item] = number
    return found


with answer.stage():
    lists = pl.read_parquet(job["lists"]).with_columns(score=-pl.col("rank").cast(pl.Float64))
    truth = pl.read_parquet(job["truth"]).with_columns(gain=pl.lit(1, pl.Int64))
    run, qrels = by_user(lists, "score"), by_user(truth, "gain")
    del lists, truth
    cuts = ",".join(map(str, depths))
    wanted = {name.format(cuts).replace("_cut_", "_cut.") for name in MEASURES.values()}
    wanted = {text if "." in text else text.replace(f"_{cuts}", f".{cuts}") for text in wanted}
    found = pytrec_eval.RelevanceEvaluator(qrels, wanted | {"recip_rank"}).evaluate(run)
    columns = {
        ours.format(k): np.array([values[theirs.format(k)] for values in found.values()])
        for ours, theirs in MEASURES.items()
        for k in depths
    }
    first = np.array([values["recip_rank"] for values in found.values()])
    for k in depths:
        columns[f"mrr@{k}"] = np.where(first * k >= 1 - 1e-9, first, 0.0)
    relevant = np.array([len(qrels[user]) for user in found])
    answer.add_columns(columns, relevant)
answer.write()
