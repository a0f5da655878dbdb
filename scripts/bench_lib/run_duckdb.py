"""Run in the environment of DuckDB: SQL that extracts the hits and aggregates; no checks."""

import duckdb  # noqa: TID253 (the program is about it)
from child import BUCKETS, EDGES, Answer, read_job

job = read_job()
answer = Answer(["duckdb"])
depths = job["k"]

# Per user and depth: hits, sum of 1/log2(r + 1), sum of hits so far / r.
PER_DEPTH = """
    count(*) FILTER (rank <= {k}) AS hits_{k},
    coalesce(sum(1 / log2(rank + 1)) FILTER (rank <= {k}), 0) AS dcg_{k},
    coalesce(sum(n / rank) FILTER (rank <= {k}), 0) AS precisions_{k}"""
METRICS = {
    "precision": "coalesce(hits_{k}, 0) / {k}",
    "recall": "coalesce(hits_{k}, 0) / relevant",
    "hit_rate": "(coalesce(hits_{k}, 0) > 0)::DOUBLE",
    "mrr": "CASE WHEN first <= {k} THEN 1 / first ELSE 0 END",
    "map": "coalesce(precisions_{k}, 0) / least(relevant, {k})",
    "ndcg": "coalesce(dcg_{k}, 0) / best_{k}",
}
SQL = """
CREATE TEMP TABLE ideal AS
SELECT range AS relevant, {ideals}
FROM range(1, 1 + (SELECT max(relevant) FROM queries));

CREATE TEMP TABLE per_user AS
WITH numbered AS (
    SELECT user_id, rank::DOUBLE AS rank,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS n
    FROM read_parquet($lists) SEMI JOIN truth USING (user_id, item_id)
), found AS (
    SELECT user_id, min(rank) AS first, {per_depth} FROM numbered GROUP BY user_id
)
SELECT user_id, relevant, {bucket} AS bucket, {metrics}
FROM queries LEFT JOIN found USING (user_id) JOIN ideal USING (relevant);
"""

names = {f"{metric}@{k}": METRICS[metric].format(k=k) for k in depths for metric in job["metrics"]}
ideals = ", ".join(
    f"(SELECT sum(1 / log2(r + 1)) FROM range(1, 1 + least(range, {k})) AS t(r)) AS best_{k}"  # noqa: S608 (of numbers)
    for k in depths
)
whens = " ".join(
    f"WHEN relevant < {edge} THEN '{bucket}'" for edge, bucket in zip(EDGES, BUCKETS, strict=False)
)
sql = SQL.format(
    ideals=ideals,
    per_depth=", ".join(PER_DEPTH.format(k=k) for k in depths),
    metrics=", ".join(f'{formula} AS "{name}"' for name, formula in names.items()),
    bucket=f"CASE {whens} ELSE '{BUCKETS[-1]}' END",
)
means = ", ".join(f'avg("{name}")' for name in names)
of_all = f"SELECT {means} FROM per_user"  # noqa: S608 (of names from above)
of_buckets = f"SELECT bucket, {means} FROM per_user GROUP BY bucket"  # noqa: S608

with answer.stage():
    db = duckdb.connect()
    db.execute(
        "CREATE TEMP TABLE truth AS SELECT user_id, item_id FROM read_parquet($truth)",
        {"truth": job["truth"]},
    )
    db.execute(
        "CREATE TEMP TABLE queries AS SELECT user_id, count(*) AS relevant FROM truth GROUP BY 1"
    )
    for statement in sql.split(";\n")[:-1]:
        given = {"lists": job["lists"]} if "$lists" in statement else {}
        db.execute(statement, given)
    overall = db.execute(of_all).fetchone()
    rows = db.execute(of_buckets).fetchall()
answer.add_means(
    dict(zip(names, overall, strict=True)),
    {bucket: dict(zip(names, values, strict=True)) for bucket, *values in rows},
)
answer.write()
