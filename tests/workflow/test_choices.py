"""What `recoeval list` knows."""

import re
from typing import get_args

import pytest

from recoeval.data import formats
from recoeval.data.buckets import Bucket
from recoeval.errors import ConfigError
from recoeval.generators import GENERATORS
from recoeval.metrics import METRICS
from recoeval.workflow.choices import CHOICES, choices_of, explain, kinds


def test_everything_registered_is_listed() -> None:
    assert [choice.name for choice in choices_of("metrics")] == list(METRICS)
    assert [choice.name for choice in choices_of("generator")] == list(GENERATORS)
    by = get_args(Bucket.model_fields["by"].annotation)
    assert [choice.name for choice in choices_of("buckets")] == list(by)


def test_every_file_ending_is_listed() -> None:
    said = " ".join(choice.text for choice in choices_of("formats"))
    assert set(formats._KINDS) <= set(re.findall(r"\.\w+", said))


@pytest.mark.parametrize("kind", CHOICES)
def test_every_choice_says_what_it_is_in_a_line(kind: str) -> None:
    for choice in choices_of(kind):
        assert choice.text
        assert "\n" not in choice.text
        assert explain(kind, choice.name) == choice
        assert choice.lines


def test_options_show_the_default_first() -> None:
    assert explain("metric", "map").options == "denominator=capped|relevant"
    assert "factors=64" in explain("generator", "als").options
    assert explain("policy", "repeats").options == "exclude|include"


def test_defaults_are_as_yaml_has_them() -> None:
    assert "gap=0d" in explain("split", "time").options
    assert "test_start=null" in explain("split", "time").options
    said = "path=..., columns={}, format=null, user_id_type=auto|int|text"
    assert explain("generator", "precomputed").options.startswith(said)
    lines = explain("generator", "precomputed").lines
    assert [line.partition(":")[0] for line in lines if "required" in line] == ["path (required)"]
    assert explain("split", "files").lines[1:] == ("train (required)", "test (required)")


def test_the_kinds() -> None:
    assert [kind.name for kind in kinds()] == list(CHOICES)
    assert all(kind.text for kind in kinds())


def test_unknown_words() -> None:
    with pytest.raises(ConfigError, match=r"unknown kind 'metrik'. Did you mean 'metrics'\?"):
        choices_of("metrik")
    with pytest.raises(ConfigError, match=r"unknown metric 'recal'. Did you mean 'recall'\?"):
        explain("metric", "recal")
