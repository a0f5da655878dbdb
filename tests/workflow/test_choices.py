"""What `recoeval list` knows."""

import re
from itertools import pairwise
from typing import get_args

import pytest

from recoeval.data import files
from recoeval.data.buckets import Bucket
from recoeval.errors import ConfigError
from recoeval.generators import GENERATORS
from recoeval.metrics import METRICS
from recoeval.metrics.base import parse_metric
from recoeval.workflow.choices import CHOICES, choices_of, explain, kinds
from recoeval.workflow.stages import PRESETS


def test_everything_registered_is_listed() -> None:
    assert {choice.name for choice in choices_of("metrics")} == set(METRICS)
    assert [choice.name for choice in choices_of("generator")] == list(GENERATORS)
    by = get_args(Bucket.model_fields["by"].annotation)
    assert {choice.name for choice in choices_of("buckets")} == set(by)


def test_every_file_ending_is_listed() -> None:
    said = " ".join(choice.text for choice in choices_of("formats"))
    assert set(files._KINDS) <= set(re.findall(r"\.\w+", said))


@pytest.mark.parametrize("kind", CHOICES)
def test_every_choice_says_what_it_is_in_a_line(kind: str) -> None:
    for choice in choices_of(kind):
        assert choice.text
        assert "\n" not in choice.text
        assert explain(kind, choice.name) == choice
        assert choice.lines


def test_options_show_the_default_first() -> None:
    assert explain("metric", "map").options == "denominator=capped|relevant, rel=null"
    assert "factors=64" in explain("generator", "als").options
    assert explain("policy", "repeats").options == "exclude|include"


def test_defaults_are_as_yaml_has_them() -> None:
    assert "gap=0d" in explain("split", "time").options
    assert "test_start=null" in explain("split", "time").options
    said = "path=..., systems=null, columns={}, format=null, user_id_type=auto|int|text"
    assert explain("generator", "precomputed").options.startswith(said)
    lines = explain("generator", "precomputed").lines
    assert [line.partition(":")[0] for line in lines if "required" in line] == ["path (required)"]
    assert "n=1" in explain("split", "leave_last").options
    assert explain("split", "files").lines[1:] == ("train (required)", "test (required)")


def test_metrics_stand_in_three_groups() -> None:
    groups = [choice.group for choice in choices_of("metrics")]
    heads = [group.partition(":")[0] for group in dict.fromkeys(groups)]
    assert heads == ["Accuracy", "Lists", "Catalogue"]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)


PARTS = ("Formula", "Written", "Summary", "Source")


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_explained(name: str) -> None:
    lines = explain("metric", name).lines
    titles = [line for before, line in pairwise(lines) if not before]
    assert [title for title in titles if title in PARTS] == list(PARTS)
    assert all(line for line in lines[1:] if line.startswith("  "))
    written = lines[lines.index("Written") + 1]
    for text in written.strip().removesuffix(" (no K)").split(", "):
        assert parse_metric(text)[0].title == name


def test_what_is_told_of_a_metric() -> None:
    said = "\n".join(explain("metrics", "ndcg").lines)
    assert "\nOptions\n  gain=linear|exponential|binary: linear: g; " in said
    assert "\n  ndcg@10, ndcg@all, ndcg@quota\n" in said
    assert "\nEdge cases\n  " in said
    assert "\nElsewhere under this name\n  " in said
    assert "Needs" not in said
    assert "\nNeeds\n  exposures: what users were shown\n" in "\n".join(
        explain("metric", "judged").lines
    )


def test_buckets_say_whose_they_are() -> None:
    groups = {choice.name: choice.group for choice in choices_of("buckets")}
    assert groups["train_rows"] == "Of users"
    assert groups["item_age"] == "Of items"
    assert groups["column"] == "Of both"


def test_stages_are_the_presets() -> None:
    found = choices_of("stages")
    assert [choice.name for choice in found] == list(PRESETS)
    assert found[0].text == "recall, hit_rate, capped_recall at 100, 500, 1000"
    assert "precision does not fit: " in "\n".join(found[0].lines)


def test_the_kinds() -> None:
    assert [kind.name for kind in kinds()] == list(CHOICES)
    assert all(kind.text for kind in kinds())


def test_unknown_words() -> None:
    with pytest.raises(ConfigError, match=r"unknown kind 'metrik'. Did you mean 'metrics'\?"):
        choices_of("metrik")
    for kind in ("metric", "metrics"):
        with pytest.raises(ConfigError, match=r"unknown metric 'recal'. Did you mean 'recall'\?"):
            explain(kind, "recal")
    with pytest.raises(ConfigError, match=r"unknown policy 'x'"):
        explain("policies", "x")
