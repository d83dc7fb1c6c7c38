"""Efficiency and speed-up of laws are over the smallest number of processors that was measured, as
those of the rows are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slipstick_measure.fit.comparison import fits
from slipstick_measure.fit.formula import Timings
from slipstick_measure.report.fits import fits_text

NUMBERS = (48, 96, 192, 384, 768)


def _time(p: Any) -> Any:
    """Return the time of a program with a serial part [s]."""
    return 6 + 1850 / p


def _timings(smallest: int) -> Timings:
    """Return runs from a smallest number of processors on, with scatter."""
    p = np.array(NUMBERS) * smallest / 48
    scatter = np.array([0.1, -0.03, 0.06, -0.02, 0.03])
    return Timings(p, np.ones(len(p)), _time(p) + scatter, False)


def _last_efficient(base: int, goal: float) -> int:
    """Return the largest number with at least an efficiency over `base`, by trying each one."""
    return max(p for p in range(base, 2000) if base * _time(base) >= goal * p * _time(p))


@pytest.mark.turns(8)
@pytest.mark.parametrize("smallest", [48, 144])
def test_a_law_is_efficient_over_the_smallest_number_measured(
    smallest: int,
) -> None:
    fitting = fits(_timings(smallest), p=[1536], efficiency=0.7)
    best = next(answer for answer in fitting.answers if answer.model == "amdahl")
    last = _last_efficient(smallest, 0.7)
    assert best["efficient_processors"] == pytest.approx(last, rel=0.03)
    assert best["base_processors"] == smallest
    processors = best["largest_speedup_processors"]
    largest = _time(smallest) / _time(processors)
    assert best["largest_speedup"] == pytest.approx(largest, rel=0.03)
    text = " ".join(fits_text(fitting).split())
    assert f"Efficiency over {smallest} processors is at least 70 % up to" in text
    # At four times the rows, the interval reaches below the measured speed-up.
    assert f"Speed-up over {smallest} processors would be" in text
    assert f"it may rise or fall beyond {16 * smallest} processors" in text
