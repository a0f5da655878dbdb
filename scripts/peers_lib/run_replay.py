"""Run in the environment of RePlay: its values for the cases."""

import pandas as pd  # noqa: TID253 (the peer needs it)
from exchange import Recorder, read_cases
from replay import metrics as m

TRUTH = ("HitRate", "Precision", "Recall", "MAP", "MRR", "NDCG", "RocAuc")
TRAIN = ("Novelty", "Surprisal")

recorder = Recorder("replay-rec")
for name, case in read_cases().items():
    columns = ["query_id", "item_id"]
    scored = [(user, *row) for user, rows in case["lists"].items() for row in rows]
    reco = pd.DataFrame(scored, columns=[*columns, "rating"])
    relevant = [(user, item) for user, rows in case["truth"].items() for item, _ in rows]
    known = [(user, item) for user, items in case["train"].items() for item in items]
    tables = {"truth": pd.DataFrame(relevant, columns=columns)}
    tables["train"] = pd.DataFrame(known, columns=columns)
    for text, table in [*((t, "truth") for t in TRUTH), *((t, "train") for t in TRAIN)]:
        metric = getattr(m, text)
        for k in case["depths"]:
            (users,) = metric(k, mode=m.PerUser())(reco, tables[table]).values()
            (mean,) = metric(k)(reco, tables[table]).values()
            recorder.add(name, f"{text}(K)", k, users=users, mean=mean)
    for k in case["depths"]:
        (coverage,) = m.Coverage(k)(reco, tables["train"]).values()
        recorder.add(name, "Coverage(K)", k, mean=coverage)
recorder.write()
