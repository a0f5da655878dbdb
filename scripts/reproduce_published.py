"""Compare a published table with what recoeval finds on the same split of the same data.

    python scripts/reproduce_published.py [--data FOLDER] [--published FILE] [--dataset NAME]

The table is a CSV with the columns dataset, split, algorithm, params, metric, k and published.
Equal scores can be listed in any order, and a published table does not say in which: everything is
run twice, with equal scores by item id ascending, as recoeval orders them, and by item id
descending. The second run is the same one on mirrored item ids.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import recoeval as rv

COLUMNS = ("dataset", "split", "algorithm", "params", "metric", "k", "published")
METRICS = {
    "Recall": "recall",
    "MAP(/min(k,rel))": "map",
    "MAP(/rel)": "map(denominator=relevant)",
    "Precision": "precision",
    "NDCG": "ndcg",
    "HitRate": "hit_rate",
    "MRR": "mrr",
}
ALGORITHMS = {"TopPopular": "popularity", "EASE_R": "ease"}
TOLERANCES = {"popularity": 0.5e-4, "ease": 1.5e-4}
"""Distance that is allowed: the rounding to four digits, and thrice as much where a matrix is
inverted and near scores may change places."""
OUTSIDE, UNKNOWN, NO_DATA = 1, 2, 3
HEADER = (
    "| algorithm | options | metric | published | ours | ties reversed | difference | verdict |",
    "|---|---|---|---|---|---|---|---|",
)

Row = Mapping[str, str]


@dataclass(frozen=True)
class Asked:
    """A row of the table in words of recoeval.

    Args:
        name: of the generator in the run.
        generator: its configuration.
        metric: with its K.
        tolerance: how far the published value may be from ours.
    """

    name: str
    generator: Mapping[str, Any]
    metric: str
    tolerance: float


def understand(row: Row) -> Asked | str:
    """Returns what a row asks for, or why it is not known here."""
    kind = ALGORITHMS.get(row["algorithm"])
    if kind is None:
        return f"no generator here is {row['algorithm']!r} (known: {', '.join(ALGORITHMS)})"
    if row["split"] != "original":
        return f"the data has no split {row['split']!r}"
    if row["metric"] not in METRICS:
        return f"unknown metric {row['metric']!r} (known: {', '.join(METRICS)})"
    if not re.fullmatch(r"[1-9]\d*", row["k"]):
        return f"K is {row['k']!r}, not a whole number >= 1"
    if not re.fullmatch(r"\d*\.\d+", row["published"]):
        return f"the published value {row['published']!r} is not a decimal"
    options = {}
    for part in filter(None, re.split(r",\s*", row["params"])):
        if kind == "ease" and (penalty := re.fullmatch(r"l2=(\d+(?:\.\d+)?)", part)):
            options["l2"] = float(penalty[1])
        elif (kind, part) != ("ease", "zero diag"):
            return f"unknown option {part!r} of {row['algorithm']}"
    if kind == "ease" and not options:
        return "EASE_R without l2=..."
    name = "_".join([kind, *(f"{value:g}".replace(".", "_") for value in options.values())])
    metric = f"{METRICS[row['metric']]}@{row['k']}"
    return Asked(name, {"type": kind, **options}, metric, TOLERANCES[kind])


def run(data: Path, asked: list[Asked], *, mirrored: bool) -> rv.Run:
    """Returns the run of all that is asked for.

    Args:
        data: folder with train.parquet and test.parquet.
        asked: generators and metrics.
        mirrored: whether item ids are turned round, so that equal scores are in the other order.
    """
    with tempfile.TemporaryDirectory() as folder:
        sides = {}
        for side in ("train", "test"):
            pairs = pl.read_parquet(data / f"{side}.parquet").select("user_id", "item_id")
            if mirrored:
                pairs = pairs.with_columns(item_id=-pl.col("item_id").cast(pl.Int64))
            sides[side] = str(Path(folder) / f"{side}.parquet")
            pairs.write_parquet(sides[side])
        return rv.run(
            {
                "name": "reproduce",
                "split": sides,
                "generators": {each.name: dict(each.generator) for each in asked},
                "metrics": sorted({each.metric for each in asked}),
                "k": [20],
                "engine": {"threads": 1},
                "output": {"path": str(Path(folder) / "runs")},
            }
        )


def line(row: Row, asked: Asked, forwards: rv.Run, backwards: rv.Run) -> tuple[str, bool]:
    """Returns a row of the printed table, and whether the published value is within."""
    ours, turned = (each.value(asked.metric, asked.name) for each in (forwards, backwards))
    published = float(row["published"])
    low, high = min(ours, turned), max(ours, turned)
    outside = max(low - published, published - high, 0.0)
    # Beyond all digits that are printed: a value at the edge is within.
    within = outside <= asked.tolerance + 1e-9
    options = row["params"] or "-"
    figures = f"{ours:.5f} | {turned:.5f} | {ours - published:+.5f}"
    verdict = "within" if within else f"OUTSIDE by {outside:.5f}"
    said = f"{row['algorithm']} | {options} | {asked.metric} | {row['published']}"
    return f"| {said} | {figures} | {verdict} |", within


def compare(rows: list[Row], data: Path) -> int:
    """Prints the table and what is not known; returns the exit code."""
    known, unknown = [], []
    for number, row in enumerate(rows, 1):
        understood = understand(row)
        if isinstance(understood, str):
            unknown.append(
                f"row {number} ({row['algorithm']}, {row['metric']}@{row['k']}): {understood}"
            )
        else:
            known.append((row, understood))
    lines = []
    if known:
        asked = [each for _, each in known]
        forwards, backwards = (run(data, asked, mirrored=turned) for turned in (False, True))
        lines = [line(row, each, forwards, backwards) for row, each in known]
        print(*HEADER, *(text for text, _ in lines), sep="\n")
    outside = sum(not within for _, within in lines)
    print(f"\n{len(lines)} rows compared, {outside} outside; {len(unknown)} not known here")
    print(*unknown, sep="\n", end="\n" if unknown else "")
    return OUTSIDE if outside else UNKNOWN if unknown else 0


def read(published: Path, dataset: str) -> list[Row] | str:
    """Returns the rows of a data set, or what is wrong with the table."""
    with published.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (table.fieldnames or ())]
        if missing:
            return f"{published} has no column {', '.join(missing)}"
        rows = [
            {name: (row[name] or "").strip() for name in COLUMNS}
            for row in table
            if row["dataset"] == dataset
        ]
    return rows or f"{published} has no row of the dataset {dataset}"


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    named = os.environ.get("RECOEVAL_REAL_DATA")
    parser.add_argument("--data", type=Path, help="folder with train.parquet and test.parquet")
    parser.add_argument("--published", type=Path, help="the published table, a CSV")
    parser.add_argument("--dataset", default="ml1m_spectralcf", help="which rows of the table")
    options = parser.parse_args()
    root = Path(named) if named else None
    data = options.data or (root and root / options.dataset)
    published = options.published or (root and root.parent / "conformance/reference_results.csv")
    needed = [data and data / "train.parquet", data and data / "test.parquet", published]
    missing = [str(path) for path in needed if path is not None and not path.is_file()]
    if data is None or published is None or missing:
        where = f"not found: {', '.join(missing)}" if missing else "RECOEVAL_REAL_DATA is not set"
        print(
            f"{where}. Set RECOEVAL_REAL_DATA to a folder with {options.dataset}/train.parquet and "
            "test.parquet (user_id, item_id) and with ../conformance/reference_results.csv beside "
            "it, or name both: --data FOLDER --published FILE",
            file=sys.stderr,
        )
        return NO_DATA
    rows = read(published, options.dataset)
    if isinstance(rows, str):
        print(rows, file=sys.stderr)
        return NO_DATA
    return compare(rows, data)


if __name__ == "__main__":
    sys.exit(main())
