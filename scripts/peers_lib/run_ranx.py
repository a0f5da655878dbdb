"""Run in the environment of ranx: its values for the cases."""

from exchange import Recorder, read_cases
from ranx import Qrels, Run, evaluate

AT_K = (
    *("hits@K", "hit_rate@K", "precision@K", "recall@K", "f1@K", "mrr@K", "map@K"),
    *("dcg@K", "dcg_burges@K", "ndcg@K", "ndcg_burges@K"),
    *("precision@K-l2", "recall@K-l2", "map@K-l2", "mrr@K-l2", "ndcg@K-l2"),
)
WHOLE = (
    *("hits", "hit_rate", "precision", "recall", "f1", "r-precision", "mrr", "map", "ndcg"),
    *("ndcg_burges", "bpref", "rbp.95"),
)

recorder = Recorder("ranx")
for name, case in read_cases().items():
    truth = {f"u{user}": {f"i{i}": g for i, g in rows} for user, rows in case["truth"].items()}
    for user, items in case["judged"].items():
        truth[f"u{user}"].update({f"i{i}": 0 for i in items})
    lists = {f"u{user}": {f"i{i}": s for i, s in rows} for user, rows in case["lists"].items()}
    wanted = [(text, None) for text in WHOLE] + [(text, k) for text in AT_K for k in case["depths"]]
    for text, k in wanted:
        qrels, run = Qrels(truth), Run(lists)
        metric = text.replace("K", str(k))
        # Without make_comparable ranx refuses users that only one side has.
        mean = evaluate(qrels, run, metric, make_comparable=True, threads=1)
        users = {user[1:]: value for user, value in run.scores[metric].items()}
        if not users:
            comparable = Run(lists).make_comparable(qrels)
            evaluate(qrels, comparable, metric, threads=1)
            users = {user[1:]: value for user, value in comparable.scores[metric].items()}
        recorder.add(name, text, k, users=users, mean=mean)
recorder.write()
