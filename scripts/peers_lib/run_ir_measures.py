"""Run in the environment of ir-measures: its values for the cases."""

import ir_measures
from exchange import Recorder, read_cases

AT_K = (
    *("P@K", "R@K", "Success@K", "RR@K", "AP@K", "nDCG@K", "nDCG(dcg='exp-log2')@K", "Judged@K"),
    *("P(rel=2)@K", "R(rel=2)@K", "AP(rel=2)@K", "Success(rel=2)@K", "RR(rel=2)@K", "ERR@K"),
)
WHOLE = (
    *("RR", "AP", "nDCG", "Rprec", "SetP", "SetR", "SetF", "SetAP", "NumRet(rel=1)"),
    *("Bpref", "infAP", "Rprec(rel=2)", "AP(rel=2)", "IPrec@0.5"),
    "nDCG(gains={1:1,2:3,3:7,4:15})",
)

recorder = Recorder("ir-measures")
for name, case in read_cases().items():
    qrels = [
        ir_measures.Qrel(str(user), str(item), gain)
        for user, rows in case["truth"].items()
        for item, gain in rows
    ]
    qrels += [
        ir_measures.Qrel(str(user), str(item), 0)
        for user, items in case["judged"].items()
        for item in items
    ]
    run = [
        ir_measures.ScoredDoc(str(user), str(item), score)
        for user, rows in case["lists"].items()
        for item, score in rows
    ]
    wanted = [(text, None) for text in WHOLE] + [(text, k) for text in AT_K for k in case["depths"]]
    for text, k in wanted:
        measure = ir_measures.parse_measure(text.replace("K", str(k)))
        each = ir_measures.iter_calc([measure], qrels, run)
        users = {value.query_id: value.value for value in each}
        mean = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        recorder.add(name, text, k, users=users, mean=mean)
recorder.write()
