"""Run in the environment of RecTools: what the metrics share is made once, as calc_metrics does."""

import pandas as pd  # noqa: TID253 (the peer needs it)
from child import Answer, read_job
from rectools import metrics as m
from rectools.metrics.base import merge_reco
from rectools.metrics.classification import calc_confusions

SIMPLE = {"precision": m.Precision, "recall": m.Recall, "hit_rate": m.HitRate}

job = read_job()
answer = Answer(["rectools", "pandas", "numpy"])
depths = job["k"]
with answer.stage():
    merged = merge_reco(pd.read_parquet(job["lists"]), pd.read_parquet(job["truth"]))
    users = {}
    for k in depths:
        confusions = calc_confusions(merged, k)
        for name, metric in SIMPLE.items():
            users[f"{name}@{k}"] = metric(k=k).calc_per_user_from_confusion_df(confusions)
    relevant = confusions["__LIKED"]
    for k in depths:
        users[f"mrr@{k}"] = m.MRR(k=k).calc_per_user_from_merged(merged)
        ndcg = m.NDCG(k=k, divide_by_achievable=True)
        users[f"ndcg@{k}"] = ndcg.calc_per_user_from_merged(merged)
    fitted = m.MAP.fit(merged, max(depths))
    for k in depths:
        # Divides by |R|, as auprc does.
        users[f"auprc@{k}"] = m.MAP(k=k).calc_per_user_from_fitted(fitted)
    table = pd.DataFrame(users).reindex(relevant.index)
    columns = {name: table[name].to_numpy() for name in table}
    answer.add_columns(columns, relevant.to_numpy())
answer.write()
