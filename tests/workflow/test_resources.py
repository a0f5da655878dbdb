"""What stages take: no times are held, only what must be true of them."""

import threading
import time
from pathlib import Path

import pytest

from recoeval.workflow import resources
from recoeval.workflow.progress import Silent
from recoeval.workflow.record import Record
from recoeval.workflow.resources import Meter, peak_memory_mb

MIB = 2**20


def hold(mib: int) -> None:
    """Holds some memory for long enough to be seen."""
    held = bytearray(mib * MIB)
    held[::4096] = b"x" * len(held[::4096])
    time.sleep(4 * resources.EVERY)


def test_times_of_a_meter() -> None:
    with Meter() as meter:
        deadline = time.process_time() + 0.02
        while time.process_time() < deadline:
            pass
    taken = meter.taken()
    assert taken["cpu_seconds"] >= 0.02
    assert taken["seconds"] > 0


def test_a_new_peak_is_exact_and_a_lower_one_is_seen() -> None:
    # More than this process has ever held, whatever ran in it before.
    with Meter() as now:
        pass
    free = int(peak_memory_mb() - now.taken()["peak_memory_mb"])
    with Meter() as high:
        hold(200 + free)
    assert high.taken()["peak_memory_mb"] == pytest.approx(peak_memory_mb(), abs=1)
    with Meter() as low:
        hold(80)
    with Meter() as nothing:
        pass
    peaks = [meter.taken()["peak_memory_mb"] for meter in (high, low, nothing)]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[0] - peaks[1] > 60
    assert peaks[1] - peaks[2] > 40


def test_where_a_process_cannot_look_at_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_STATM", Path("/nowhere"))
    with Meter() as meter:
        pass
    assert meter.taken()["peak_memory_mb"] == peak_memory_mb()


def test_nobody_watches_on_after_an_error() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="x"), Record(Silent()).stage("fit"):
        raise ValueError("x")
    assert threading.active_count() == before


def test_a_stage_counts_its_rows_and_steps() -> None:
    record = Record(Silent())
    with record.stage("lists", 3) as stage:
        stage(2)
        stage.rows = 7
    with record.within("fold 0: ").stage("fit"):
        pass
    names = ["stage", "seconds", "cpu_seconds", "peak_memory_mb", "rows"]
    assert [list(each) for each in record.stages] == [names, names]
    assert [(each["stage"], each["rows"]) for each in record.stages] == [
        ("lists", 7),
        ("fold 0: fit", None),
    ]
