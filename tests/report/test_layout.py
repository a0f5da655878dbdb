"""Which columns stand side by side."""

from hypothesis import given
from hypothesis import strategies as st

from recoeval.report.layout import GAP, Strip, lay_out, strip_of


def strip(index: int, title: str, *cells: str, key: bool = False, right: bool = True) -> Strip:
    return strip_of(index, title, cells, key=key, right=right, measure=len)


def width_of(part: list[Strip]) -> int:
    return sum(each.width for each in part) + GAP * (len(part) - 1)


def test_a_heading_is_broken_where_its_cells_are_narrower() -> None:
    assert strip(0, "users needed", "12").heading == ("users", "needed")
    assert strip(0, "users needed", "123456789012").heading == ("users needed",)
    assert strip(0, "", "1").heading == ()


def test_the_k_of_a_metric_stands_below_its_name() -> None:
    found = strip(0, "ndcg(gain=exponential)@10", "0.1234")
    assert (found.above, found.heading, found.width) == ("ndcg(gain=exponential)", ("@10",), 6)


def test_one_part_where_everything_fits() -> None:
    strips = [
        strip(0, "generator", "als", key=True),
        strip(1, "recall@5", "0.1"),
        strip(2, "x", "1"),
    ]
    (part,) = lay_out(strips, 80, len)
    assert [each.index for each in part] == [0, 1, 2]


def test_a_heading_that_several_columns_share_takes_the_width_of_all() -> None:
    shared = [strip(index, f"capped_recall@{index}", "0.1234") for index in (1, 2, 3)]
    (part,) = lay_out(shared, 80, len)
    assert [each.width for each in part] == [6, 6, 6]
    (part,) = lay_out(shared[:1], 80, len)
    assert [each.width for each in part] == [len("capped_recall")]


def test_the_k_of_a_metric_stay_together() -> None:
    key = strip(0, "generator", "popularity", key=True)
    recall = [strip(index, f"recall@{index}", "0.1234") for index in (1, 2)]
    ndcg = [strip(index, f"ndcg@{index}", "0.1234") for index in (3, 4)]
    parts = lay_out([key, *recall, *ndcg], 34, len)
    assert [[each.index for each in part] for part in parts] == [[0, 1, 2], [0, 3, 4]]


def test_a_name_is_folded_before_the_table_goes_on_below() -> None:
    key = strip(0, "generator", "x" * 30, key=True, right=False)
    (part,) = lay_out([key, strip(1, "recall@5", "0.1234")], 30, len)
    assert [each.width for each in part] == [22, 6]


def test_running_text_is_folded() -> None:
    (part,) = lay_out(
        [strip(0, "n", "12", key=True), strip(1, "what", "y" * 99, right=False)], 40, len
    )
    assert [each.width for each in part] == [2, 36]


@given(
    names=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    metrics=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 12)), max_size=12),
    width=st.integers(1, 150),
)
def test_every_column_is_there_and_keys_lead_each_part(
    names: list[int], metrics: list[tuple[str, int]], width: int
) -> None:
    strips = [strip(i, "key", "n" * size, key=True, right=False) for i, size in enumerate(names)]
    strips += [
        strip(len(names) + i, f"{name * 8}@{i}", "1" * size)
        for i, (name, size) in enumerate(metrics)
    ]
    parts = lay_out(strips, width, len)
    keys = list(range(len(names)))
    shown = [[each.index for each in part] for part in parts]
    assert all(part[: len(keys)] == keys for part in shown)
    assert [i for part in shown for i in part[len(keys) :]] == list(range(len(names), len(strips)))
    # A part is wider than the terminal only if it has nothing to give: one column and its keys.
    for part in parts:
        assert width_of(part) <= width or len(part) <= len(keys) + 1
