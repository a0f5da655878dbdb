import pytest

from recoeval.metrics import METRICS, measures
from recoeval.workflow.loaded import load_config
from recoeval.workflow.stages import PRESETS, stage_notes, with_preset


def labels(**sections):
    """Returns what is computed under a stage."""
    config = load_config(
        {
            "interactions": "log.csv",
            "split": {"test": "1d"},
            "ground_truth": {"relevant": "TRUE"},
            "generators": {"popularity": None},
            **sections,
        }
    ).config
    return [measure.label for measure in measures(config.metrics, config.k)]


def at(names: str, *depths: int) -> list[str]:
    return [f"{name}@{k}" for name in names.split() for k in depths]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("recall", at("recall hit_rate capped_recall", 100, 500, 1000)),
        ("prerank", at("recall hit_rate capped_recall precision", 100, 500)),
        ("rank", at("precision ndcg recall", 10, 20, 100)),
        ("rag", at("recall hit_rate mrr ndcg", 3, 5, 10)),
    ],
)
def test_a_stage_says_what_is_computed(stage, expected):
    assert labels(stage=stage) == expected


def test_what_the_file_says_stands():
    assert labels(stage="recall", k=[20]) == at("recall hit_rate capped_recall", 20)
    assert labels(stage="rag", metrics=["precision"]) == at("precision", 3, 5, 10)
    assert labels(stage="rag", metrics=["precision@4"], k=7) == ["precision@4"]


def test_without_a_stage_nothing_changes():
    assert with_preset({"k": 3}) == {"k": 3}
    assert with_preset({"stage": "recal"}) == {"stage": "recal"}
    assert with_preset({"stage": ["recall"]}) == {"stage": ["recall"]}


@pytest.mark.parametrize("stage", PRESETS)
def test_a_preset_fits_its_own_stage(stage):
    preset = PRESETS[stage]
    assert stage_notes(stage, measures(preset.metrics, preset.k), 1_000_000) == ()


def test_every_unfit_metric_exists():
    unfit = {name for preset in PRESETS.values() for name in preset.unfit}
    assert unfit <= set(METRICS)


def test_metrics_that_do_not_fit():
    measured = measures(["recall@100", "ndcg@100", "mrr@100", "precision@100", "coverage"], ())
    assert stage_notes("recall", measured, None) == (
        (
            "stage recall: ndcg@100, mrr@100: the order of a list counts, and a later stage "
            "sorts it anew; recall, hit_rate, capped_recall fit better"
        ),
        (
            "stage recall: precision@100: misses count, and a later stage throws them away; "
            "recall, hit_rate, capped_recall fit better"
        ),
    )
    assert stage_notes("rank", measured, None) == ()


def test_depths_that_do_not_fit():
    measured = measures(["recall"], (10, 100, 2000))
    assert stage_notes("prerank", measured, None) == (
        "stage prerank: K = 10, 2000: usual at this stage are 100, 500",
    )
    assert stage_notes("rag", measures(["recall"], (20, 21)), None) == (
        "stage rag: K = 21: usual at this stage are 3, 5, 10",
    )


def test_depths_beyond_five_percent_of_the_catalogue():
    measured = measures(["recall", "hit_rate"], (100, 101))
    # 5% of 2000 is 100: 100 itself fits.
    assert stage_notes("recall", measured, 2000) == (
        (
            "stage recall: K = 101: more than 5% of the catalogue of 2000 items, so that lists "
            "drawn by chance find much"
        ),
    )
    assert stage_notes("recall", measured, 2020) == ()
