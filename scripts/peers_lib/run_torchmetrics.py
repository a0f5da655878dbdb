"""Run in the environment of torchmetrics: its values for the cases.

torchmetrics sees rows of scores and targets, not lists: relevant items that a list lacks are
rows as well. They get negative scores, below fillers that keep short lists from reaching them.
"""

import torch
import torchmetrics.functional.retrieval as f
import torchmetrics.retrieval as r
from exchange import Recorder, read_cases

AT_K = {
    "Precision": (f.retrieval_precision, r.RetrievalPrecision),
    "Recall": (f.retrieval_recall, r.RetrievalRecall),
    "HitRate": (f.retrieval_hit_rate, r.RetrievalHitRate),
    "MRR": (f.retrieval_reciprocal_rank, r.RetrievalMRR),
    "MAP": (f.retrieval_average_precision, r.RetrievalMAP),
    "NormalizedDCG": (f.retrieval_normalized_dcg, r.RetrievalNormalizedDCG),
    "FallOut": (f.retrieval_fall_out, r.RetrievalFallOut),
    "AUROC": (f.retrieval_auroc, r.RetrievalAUROC),
}
WHOLE = {
    "MRR": AT_K["MRR"],
    "MAP": AT_K["MAP"],
    "NormalizedDCG": AT_K["NormalizedDCG"],
    "RPrecision": (f.retrieval_r_precision, r.RetrievalRPrecision),
}
ACTIONS = {"Precision": ("neg", "skip"), "Recall": ("neg", "skip", "pos")}
"""What the mean does with users without relevant items; "neg" is the default."""

FILLERS = 20


def rows_of(listed: list, relevant: list) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns scores and gains of a user."""
    gains, scores = dict(relevant), dict(listed)
    preds = [*scores.values(), *(-1.0 - n / 100 for n in range(FILLERS))]
    target = [*(gains.get(item, 0) for item in scores), *([0] * FILLERS)]
    missing = [gain for item, gain in gains.items() if item not in scores]
    preds += [-2.0 - n / 100 for n in range(len(missing))]
    return torch.tensor(preds), torch.tensor(target + missing)


recorder = Recorder("torchmetrics")
for name, case in read_cases().items():
    rows = {
        user: rows_of(case["lists"].get(user, []), case["truth"].get(user, []))
        for user in case["users"]
    }
    indexes = torch.cat([torch.full_like(target, user) for user, (_, target) in rows.items()])
    preds = torch.cat([pred for pred, _ in rows.values()])
    gains = torch.cat([target for _, target in rows.values()])
    wanted = [(text, None, *pair) for text, pair in WHOLE.items()]
    wanted += [(text, k, *pair) for text, pair in AT_K.items() for k in case["depths"]]
    for text, k, function, metric in wanted:
        at = {} if k is None else {"top_k": k}
        graded = text == "NormalizedDCG"
        users = {
            user: function(pred, target if graded else (target > 0).long(), **at)
            for user, (pred, target) in rows.items()
            if user in case["truth"]
        }
        for action in ACTIONS.get(text, ("neg",)) if k else ("neg",):
            computed = metric(empty_target_action=action, **at)
            computed.update(preds, gains if graded else (gains > 0).long(), indexes=indexes)
            options = ["top_k=K"] if k else []
            options += [f"empty_target_action='{action}'"] if action != "neg" else []
            each = users if action == "neg" else None
            label = f"Retrieval{text}({', '.join(options)})"
            recorder.add(name, label, k, users=each, mean=computed.compute())
recorder.write()
