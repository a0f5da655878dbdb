"""Run in the environment of RecTools: the documented values of users, metric by metric."""

import pandas as pd  # noqa: TID253 (the peer needs it)
from child import Answer, read_job
from rectools import metrics as m

METRICS = {
    "precision": m.Precision,
    "recall": m.Recall,
    "hit_rate": m.HitRate,
    "mrr": m.MRR,
    "auprc": m.MAP,
    "ndcg": lambda k: m.NDCG(k=k, divide_by_achievable=True),
}

job = read_job()
answer = Answer(["rectools", "pandas", "numpy"])
with answer.stage():
    lists, truth = pd.read_parquet(job["lists"]), pd.read_parquet(job["truth"])
    users = {
        f"{name}@{k}": metric(k=k).calc_per_user(lists, truth)
        for name, metric in METRICS.items()
        for k in job["k"]
    }
    relevant = truth.groupby("user_id").size()
    table = pd.DataFrame(users).reindex(relevant.index)
    answer.add_columns({name: table[name].to_numpy() for name in table}, relevant.to_numpy())
answer.write()
