"""Run in the environment of ranx: frames in, all measures in one call."""

import numpy as np
import pandas as pd  # noqa: TID253 (the peer needs it)
from child import Answer, read_job
from ranx import Qrels, Run, evaluate

NAMES = {"map": "auprc"}
"""Where ours has another name: its map@K divides by |R|."""

job = read_job()
answer = Answer(["ranx", "numba", "pandas"])
asked = [f"{metric}@{k}" for metric in job["metrics"] for k in job["k"]]
with answer.stage():
    lists = pd.read_parquet(job["lists"])
    lists["score"] = -lists["rank"].astype("float64")
    truth = pd.read_parquet(job["truth"])
    truth["gain"] = 1
    run = Run.from_df(lists, q_id_col="user_id", doc_id_col="item_id", score_col="score")
    qrels = Qrels.from_df(truth, q_id_col="user_id", doc_id_col="item_id", score_col="gain")
    relevant_of = truth.groupby("user_id").size()
    del lists, truth
    # It measures in the order of the qrels, and refuses users that only one side has.
    evaluate(qrels, run, asked, make_comparable=True)
    users = list(run.scores[asked[0]])
    columns = {}
    for name in asked:
        metric, _, k = name.partition("@")
        scores = run.scores[name]
        columns[f"{NAMES.get(metric, metric)}@{k}"] = np.array([scores[user] for user in users])
    answer.add_columns(columns, relevant_of[users].to_numpy())
answer.write()
