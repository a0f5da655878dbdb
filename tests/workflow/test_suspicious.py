"""A run whose numbers cannot be right decides nothing."""

from pathlib import Path

import pytest

import recoeval as rv
from recoeval.generators import Precomputed
from recoeval.report.sections import verdict_lines
from tests.workflow.test_pipeline import channel
from tests.workflow.test_preparation import tiny_config


def test_a_hit_on_a_cold_item_is_suspicious(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The channel finds item 50 or 60, which nobody had before the cutoff.
    config = tiny_config(tmp_path, generators={"channel": channel(tmp_path)})
    assert rv.run(config).verdict.outcome == "none"
    monkeypatch.setattr(Precomputed, "serves_cold_items", False)
    run = rv.run(config)
    assert run.verdict.exit_code == 1
    ((name, reason),) = run.verdict.suspicions
    assert name == "channel"
    assert "items without a train row" in reason
    assert rv.open_run(run.path).verdict == run.verdict
    lines = [line.text for line in verdict_lines(run.verdict)]
    assert lines[0] == "Verdict: SUSPICIOUS (exit code 1); there are no constraints"
    assert lines[1] == f"  suspicious: channel: {reason}"
