"""Runs on a sample of the users: the numbers of the whole run, of those users alone."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recoeval as rv
from recoeval.errors import ConfigError, DataError
from recoeval.report.sections import Results, report_sections
from recoeval.report.values import Paragraph
from recoeval.testing.preparation import is_sampled
from tests.workflow.test_pipeline import channel
from tests.workflow.test_preparation import tiny_config

# With seed 7 the hashes of 1 to 6 lie at 0.84, 0.55, 0.07, 0.01, 0.85 and 0.96.
HALF = 0.5


def sampled(folder: Path, share: float | None = HALF, **sections: Any) -> rv.Run:
    generators = {"popularity": None, "channel": channel(folder)}
    return rv.run(
        tiny_config(
            folder,
            **{"generators": generators, "sample_users": share, "metrics": ["recall", "ndcg"]}
            | sections,
        )
    )


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"ground_truth": {"zero_relevant": "zero"}},
        {"ground_truth": {"horizon": "30d"}},
        {"split": {"type": "rolling", "folds": 2, "test": "2d"}},
    ],
)
def test_a_sample_is_the_whole_run_of_its_users(tmp_path: Path, sections: dict[str, Any]) -> None:
    run = sampled(tmp_path, **sections)
    whole = sampled(tmp_path, **{**sections, "sample_users": None})
    users = [user for user in range(1, 10) if is_sampled(user, HALF, 7)]
    for name in ("per_query", "hits", "lost", "per_user"):
        ours, theirs = getattr(run, name), getattr(whole, name)
        own = pl.col("user_id" if name == "per_user" else "query_id").is_in(users)
        assert ours.equals(theirs.filter(own)), name
        assert 0 < ours.height < theirs.height
    # Training uses everyone.
    assert run.manifest["truth"]["train_rows"] == whole.manifest["truth"]["train_rows"]
    assert run.manifest["splits"] == whole.manifest["splits"]


def test_a_sample_is_counted_and_defined(tmp_path: Path) -> None:
    run, whole = sampled(tmp_path), sampled(tmp_path, None)
    # Users 1 to 6 have rows in the test window; 5 and 6 have no relevant pair.
    truth = run.manifest["truth"]
    assert (truth["users_to_sample"], truth["sampled_users"]) == (6, 2)
    assert (truth["evaluated_users"], truth["zero_relevant_queries"]) == (2, 0)
    assert truth["relevant_pairs"] == whole.manifest["truth"]["relevant_pairs"]
    definitions = dict(run.manifest["definitions"])
    assert definitions.pop("sample_users") == {"share": HALF, "seed": 7}
    assert definitions == whole.manifest["definitions"]
    other = sampled(tmp_path, 0.9, seed=8).manifest["definitions"]
    assert other["sample_users"] == {"share": 0.9, "seed": 8}
    everybody = sampled(tmp_path, 1)
    assert everybody.manifest["definitions"] == whole.manifest["definitions"]
    assert everybody.manifest["truth"] == whole.manifest["truth"]
    assert everybody.summary.equals(whole.summary)


def test_a_report_begins_with_the_sample(tmp_path: Path) -> None:
    stored = rv.open_run(sampled(tmp_path).path)
    heading = report_sections(Results(stored.evaluation, stored.verdict, stored.manifest))[0]
    assert isinstance(heading, Paragraph)
    said = "A sample of the users: 2 of 6; all numbers are theirs alone"
    assert [word.text for word in heading.lines][-1] == said


def test_nobody_in_the_sample(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        sampled(tmp_path, 0.001)
    assert str(caught.value) == (
        "sample_users: none of 6 users is in a sample of 0.001 with seed 7: take a larger share"
    )


@pytest.mark.parametrize("share", [0, -0.1, 1.1, "half", True])
def test_what_is_no_share(tmp_path: Path, share: Any) -> None:
    with pytest.raises(ConfigError, match=r"^sample_users: expected .*, got "):
        sampled(tmp_path, share)
