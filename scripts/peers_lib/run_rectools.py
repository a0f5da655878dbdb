"""Run in the environment of RecTools: its values for the cases."""

from typing import Any

import pandas as pd  # noqa: TID253 (the peer needs it)
from exchange import Recorder, read_cases
from rectools import Columns
from rectools import metrics as m

LISTS = {
    "Precision(k=K)": m.Precision,
    "Precision(k=K, r_precision=True)": lambda k: m.Precision(k=k, r_precision=True),
    "Recall(k=K)": m.Recall,
    "F1Beta(k=K)": m.F1Beta,
    "HitRate(k=K)": m.HitRate,
    "MRR(k=K)": m.MRR,
    "MAP(k=K)": m.MAP,
    "MAP(k=K, divide_by_k=True)": lambda k: m.MAP(k=k, divide_by_k=True),
    "NDCG(k=K)": m.NDCG,
    "NDCG(k=K, divide_by_achievable=True)": lambda k: m.NDCG(k=k, divide_by_achievable=True),
    "PAP(k=K)": m.PAP,
    "CoveredUsers(k=K)": m.CoveredUsers,
}
DELIVERED = {
    "SufficientReco(k=K)": m.SufficientReco,
    "SufficientReco(k=K, deep=True)": lambda k: m.SufficientReco(k=k, deep=True),
}
TRAIN = {"MeanInvUserFreq(k=K)": m.MeanInvUserFreq, "AvgRecPopularity(k=K)": m.AvgRecPopularity}


def table(rows_by_user: dict[int, Any], *columns: str) -> pd.DataFrame:
    """Returns one row an item of every user."""
    rows = [(user, *row) for user, rows in rows_by_user.items() for row in rows]
    return pd.DataFrame(rows, columns=[Columns.User, *columns])


recorder = Recorder("rectools")
for name, case in read_cases().items():
    ranked = {
        user: [(item, rank) for rank, (item, _) in enumerate(rows, start=1)]
        for user, rows in case["lists"].items()
    }
    reco = table(ranked, Columns.Item, Columns.Rank)
    truth = table(case["truth"], Columns.Item, Columns.Weight)
    train = table({u: [(item,) for item in items] for u, items in case["train"].items()}, "item_id")
    catalog = train["item_id"].unique()
    for k in case["depths"]:
        for text, make in LISTS.items():
            users = make(k=k).calc_per_user(reco, truth)
            mean = make(k=k).calc(reco, truth)
            recorder.add(name, text, k, users=users.to_dict(), mean=mean)
        for text, make in DELIVERED.items():
            users = make(k=k).calc_per_user(reco)
            recorder.add(name, text, k, users=users.to_dict(), mean=make(k=k).calc(reco))
        for text, make in TRAIN.items():
            users = make(k=k).calc_per_user(reco, train)
            recorder.add(name, text, k, users=users.to_dict(), mean=make(k=k).calc(reco, train))
        for normalize in (False, True):
            coverage = m.CatalogCoverage(k=k, normalize=normalize).calc(reco, catalog)
            recorder.add(name, f"CatalogCoverage(k=K, normalize={normalize})", k, mean=coverage)
recorder.write()
