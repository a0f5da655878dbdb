"""Six channels of a real log: what each adds, by brute force over what the run found.

Set RECOEVAL_REAL_DATA to the folder that holds the log.
"""

from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv


def shapley_by_permutations(found: Mapping[str, set[Any]], sizes: Mapping[Any, int]) -> list[float]:
    """Returns each channel's mean marginal recall over all orders of the channels.

    Args:
        found: pairs (query, item) that each channel has.
        sizes: |R| of each query.
    """
    shares = dict.fromkeys(found, 0.0)
    orders = list(permutations(found))
    for order in orders:
        known: set[Any] = set()
        for name in order:
            shares[name] += sum(1 / sizes[query] for query, _ in found[name] - known)
            known |= found[name]
    return [shares[name] / len(orders) / len(sizes) for name in found]


def groups_of(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yields the rows of each merge, and of all generators at each K."""
    for (merge,), rows in table.group_by("merge", maintain_order=True):
        if merge == "all":
            yield from ((f"all@{k}", own) for (k,), own in rows.group_by("k", maintain_order=True))
        else:
            yield str(merge), rows


def contributions_are_those_of_brute_force(run: rv.Run) -> None:
    sizes = dict(run.per_query.filter(generator="als").select("query_id", "relevant").iter_rows())
    ranks = {
        name: dict(zip(own.select("query_id", "item_id").iter_rows(), own["rank"], strict=True))
        for (name,), own in run.hits.group_by("generator")
    }
    names = []
    for name, own in groups_of(run.channels.filter(bucket_by="all")):
        names.append(name)
        found = {
            channel: {pair for pair, rank in ranks[channel].items() if rank <= k}
            for channel, k in own.select("generator", "k").iter_rows()
        }
        union = set().union(*found.values())
        recall = sum(1 / sizes[query] for query, _ in union) / len(sizes)
        assert own["union_recall"].to_list() == pytest.approx([recall] * 6, abs=1e-12)
        expected = shapley_by_permutations(found, sizes)
        assert own["shapley"].to_list() == pytest.approx(expected, abs=1e-12)
        assert own["hits"].to_list() == [len(pairs) for pairs in found.values()]
        alone = [
            pairs.difference(*(others for other, others in found.items() if other != channel))
            for channel, pairs in found.items()
        ]
        assert own["exclusive_hits"].to_list() == [len(pairs) for pairs in alone]
        lost = [sum(1 / sizes[query] for query, _ in pairs) / len(sizes) for pairs in alone]
        assert own["leave_one_out"].to_list() == pytest.approx(lost, abs=1e-12)
    assert names == ["merged", "fused", "all@10", "all@50", "all@100", "all@500"]


def shares_add_up_in_every_bucket(run: rv.Run) -> None:
    for _, rows in groups_of(run.channels):
        for _, own in rows.group_by("bucket_by", "bucket"):
            assert own.height == 6
            assert own["shapley"].sum() == pytest.approx(own["union_recall"][0], abs=1e-12)


def the_funnel_loses_no_pair(run: rv.Run) -> None:
    funnel = run.funnel
    overall = funnel.filter(bucket_by="all", channel="all")
    assert overall.select("stage", "generator", "k").rows() == [
        ("recall", "merged", 500),
        ("prerank", "ranked", 50),
        ("rank", "ranked", 10),
    ]
    ends = funnel.group_by("channel", "bucket_by", "bucket", maintain_order=True).agg(
        pl.col("relevant").first(), pl.col("lost").sum(), pl.col("survived").last()
    )
    assert (ends["lost"] + ends["survived"]).equals(ends["relevant"])
    survived = [
        run.hits.filter(pl.col("generator") == name, pl.col("rank") <= k).height
        for _, name, k in overall.select("stage", "generator", "k").iter_rows()
    ]
    # A rerank has no item that the merge lacks.
    assert overall["survived"].to_list() == survived
    assert overall["inserted"].to_list() == [0, 0, 0]
    recall = run.value("recall@50", "ranked")
    assert overall["recall"][1] == pytest.approx(recall, abs=1e-12)


def more_slots_are_more_slots(run: rv.Run) -> None:
    table = run.what_if.filter(bucket_by="all", merge="merged")
    changes = ["as configured", "dropped", "+50", "+100", "+200"]
    assert table["change"].unique(maintain_order=True).to_list() == changes
    plain = run.hits.filter(generator="merged")
    assert table.filter(change="as configured")["hits"].unique().to_list() == [plain.height]
    for _, own in table.group_by("generator"):
        slots = dict(own.select("change", "slots").iter_rows())
        order = ["dropped", "as configured", "+50", "+100", "+200"]
        assert [slots[change] for change in order] == sorted(slots.values())
        assert own.filter(change="as configured")["delta"].to_list() == [0]


def test_six_channels(
    real_data: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run of six channels, two merges of them and a funnel, looked at from all sides."""
    monkeypatch.setenv("RECOEVAL_KUAIRAND", str(real_data / "kuairand_demo"))
    # Hits are kept as deep as the deepest quota.
    sets = {"output.path": str(tmp_path), "k": [10, 50, 100, 500]}
    run = rv.run(repository / "configs" / "kuairand-channels.yaml", set=sets)
    contributions_are_those_of_brute_force(run)
    shares_add_up_in_every_bucket(run)
    the_funnel_loses_no_pair(run)
    more_slots_are_more_slots(run)
