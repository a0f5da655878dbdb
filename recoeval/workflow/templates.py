"""The configuration that `recoeval init` writes to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from recoeval.errors import ConfigError, Problem

__all__ = ["STARTER", "write_starter"]

STARTER: Final = """\
# What recoeval evaluates. `recoeval check FILE` says what is wrong with it and what it would do,
# `recoeval run FILE` does it. Paths are relative to the folder of this file.
name: nightly-recall

# The log: parquet, csv(.gz), ndjson or Arrow IPC; a file, a glob or a folder.
interactions:
  path: logs.parquet
  # Columns that are called otherwise in your files; `ours: theirs`.
  # columns: {user_id: uid, item_id: vid, timestamp: ts}
  # Times that are numbers: s, ms or us since 1970.
  # timestamp_unit: ms

# The last three days are the test window, what came before is for training.
split: {type: time, test: 3d}

# Which rows of the test window count as relevant: SQL over the columns of the log. Generators
# learn from the rows of the train window that pass the same rule.
ground_truth:
  relevant: "event = 'click' AND dwell_seconds > 30"

# What produces lists. Nothing behind the colon: all defaults.
generators:
  popularity:
  als: {factors: 64}
  # Lists that another system wrote: user_id, item_id, and rank or score.
  # two_tower: {type: precomputed, path: two_tower.parquet}

# What the others are held against; constraints that name no generators leave it out.
baselines: [popularity]

# `recoeval list metrics` shows all of them.
metrics: [recall, hit_rate, precision, ndcg, coverage]
k: [10, 100]

# The same numbers for groups of users, by their rows in the train window.
buckets:
  activity: {by: train_interactions, edges: [1, 50]}

# What must hold. A constraint of severity error that fails makes the exit code 1.
constraints:
  - recall@100 >= 0.15
  - {metric: recall@100, bucket: activity, min: 0.05, severity: warn}
"""


def write_starter(path: Path) -> None:
    """Writes the starter configuration to a new file.

    Args:
        path: the file; nothing that exists is overwritten.

    Raises:
        ConfigError: the file exists, or cannot be made; "-", which others take for stdout.
    """
    if str(path) == "-":
        text = "expected the name of a file: this one would be hard to open, and is not stdout"
        raise ConfigError(Problem(text, origin="-"))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        text = "exists, and is not overwritten: name another file, or remove it"
        raise ConfigError(Problem(text, origin=str(path))) from None
    except OSError as error:
        raise ConfigError(
            Problem(f"cannot be written: {error.strerror}", origin=str(path))
        ) from error
