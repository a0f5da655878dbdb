"""Quantiles of Student's t against scipy; small numbers of degrees without importing it."""

import subprocess
import sys

import pytest
from scipy import stats

from recoeval.analysis.student import student_t


@pytest.mark.parametrize("probability", [1e-4, 1e-3, 0.3, 0.5, 0.6, 0.95, 0.975, 0.999, 0.9999])
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 29, 498, 999, 1_000, 10_000])
def test_quantiles(degrees, probability):
    expected = stats.t.ppf(probability, degrees)
    assert student_t(degrees, probability) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("degrees", "probability", "imported"),
    [(29, 0.975, False), (2_000, 0.025, False), (29, 0.9999, True)],
)
def test_scipy_is_imported_for_far_quantiles_alone(degrees, probability, imported):
    code = (
        "import sys\n"
        "from recoeval.analysis.student import student_t\n"
        f"student_t({degrees}, {probability})\n"
        "print('scipy' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(imported)
