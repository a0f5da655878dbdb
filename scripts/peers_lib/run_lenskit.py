"""Run in the environment of LensKit: its values for the cases."""

import logging
from typing import Any

import pandas as pd  # noqa: TID253 (the peer needs it)
from exchange import Recorder, read_cases
from lenskit import metrics as m
from lenskit.data import ItemList, ItemListCollection, from_interactions_df
from lenskit.metrics.ranking import AveragePrecision

LISTS = {
    "Precision(n=K)": m.Precision,
    "Recall(n=K)": m.Recall,
    "Hit(n=K)": m.Hit,
    "RecipRank(n=K)": m.RecipRank,
    "AveragePrecision(n=K)": AveragePrecision,
    "NDCG(n=K)": m.NDCG,
    "NDCG(n=K, weight=LogRankWeight(offset=1))": lambda n: m.NDCG(
        n, weight=m.LogRankWeight(offset=1)
    ),
    "NDCG(n=K, weight=LogRankWeight(offset=1), gain='rating')": lambda n: m.NDCG(
        n, weight=m.LogRankWeight(offset=1), gain="rating"
    ),
    "DCG(n=K)": m.DCG,
    "RBP(n=K)": m.RBP,
}
AT_K_ALONE = ("DCG(n=K)", "RBP(n=K)")


def collection(rows_by_user: dict[int, Any], field: str, ordered: bool) -> ItemListCollection:
    """Returns item lists by user."""
    lists = ItemListCollection(["user_id"])
    for user, rows in rows_by_user.items():
        values = {field: [value for _, value in rows]}
        items = ItemList(item_ids=[item for item, _ in rows], ordered=ordered, **values)
        lists.add(items, user_id=user)
    return lists


# It warns of each list without test items.
logging.disable(logging.WARNING)

recorder = Recorder("lenskit")
for name, case in read_cases().items():
    outputs = collection(case["lists"], "score", True)
    test = collection(case["truth"], "rating", False)
    with_test = {user: rows for user, rows in case["lists"].items() if user in case["truth"]}
    tested = collection(with_test, "score", True)
    train = [(user, item) for user, items in case["train"].items() for item in items]
    data = from_interactions_df(pd.DataFrame(train, columns=["user_id", "item_id"]))
    wanted: list[tuple[str, int | None, Any]] = [
        (text, k, make(k))
        for text, make in LISTS.items()
        for k in (*case["depths"], None)
        if k is not None or text not in AT_K_ALONE
    ]
    for k in case["depths"]:
        wanted.append(("MeanPopRank(data, n=K)", k, m.MeanPopRank(data, n=k)))
        wanted.append(("ListGini(items=data, n=K)", k, m.ListGini(k, items=data)))
        wanted.append(("ExposureGini(items=data, n=K)", k, m.ExposureGini(k, items=data)))
    for text, k, metric in wanted:
        analysis = m.RunAnalysis(metric)
        try:
            result = analysis.measure(outputs, test)
        except ZeroDivisionError:
            # AveragePrecision fails for a list of a user without test items.
            result = analysis.measure(tested, test)
        label = text if k is not None else text.replace("n=K, ", "").replace("n=K", "")
        if text.startswith(("ListGini", "ExposureGini")):
            recorder.add(name, label, k, mean=result.global_metrics().iloc[0])
            continue
        users = result.list_metrics(fill_missing=False).iloc[:, 0].to_dict()
        summary = result.list_summary()
        recorder.add(name, label, k, users=users, mean=summary["mean"].iloc[0])
recorder.write()
