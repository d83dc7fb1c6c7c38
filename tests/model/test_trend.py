"""Trends beside a walk through the years, a step of a thousandth at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.model.uncertainty import Uncertainty
from slipstick_rates.trend import Followed, Period, PeriodRate, Trend, gain, outside

PERIODS = (
    Period(1990, 2000, Uncertainty("fixed", 1.5)),
    Period(2000, 2010, Uncertainty("fixed", 1.2)),
    Period(2010, 2020, Uncertainty("fixed", 0.9)),
)


def walked(base: float, year: float) -> float:
    """Multiply small steps up, each by the rate of the period that its middle lies in."""
    steps = 40_000
    middles = base + (np.arange(steps) + 0.5) * (year - base) / steps
    rates = np.where(middles < 2000, 1.5, np.where(middles < 2010, 1.2, 0.9))
    return float(np.exp(np.sum(np.log(rates)) * (year - base) / steps))


@given(st.floats(1985, 2025), st.floats(1985, 2025))
def test_the_gain_is_that_of_a_walk_through_the_years(base: float, year: float) -> None:
    (found,) = gain(PERIODS, base, np.array([year]), np.array([[1.5, 1.2, 0.9]]))[0]
    assert found == pytest.approx(walked(base, year), rel=2e-3)


@given(st.floats(1985, 2025), st.floats(1985, 2025), st.floats(1985, 2025))
def test_there_by_way_of_another_year_is_there(base: float, way: float, year: float) -> None:
    rates = np.array([[1.5, 1.2, 0.9]])

    def between(one: float, other: float) -> float:
        return float(gain(PERIODS, one, np.array([other]), rates)[0, 0])

    assert between(base, way) * between(way, year) == pytest.approx(between(base, year))


def test_doubling_every_eighteen_months_is_sixty_four_in_nine_years() -> None:
    yearly = 2 ** (1 / 1.5)
    assert gain(
        (Period(1990, 2010, Uncertainty("fixed", yearly)),),
        1992,
        np.array([1993.5, 2001.0]),
        np.array([[yearly]]),
    )[0] == (pytest.approx([2.0, 64.0]))


def test_processors_multiply_and_costs_divide() -> None:
    trend = Trend(
        "t",
        "",
        {
            "processors": PeriodRate((Period(1990, 2000, Uncertainty("fixed", 2.0)),)),
            "wire": PeriodRate((Period(1990, 2000, Uncertainty("fixed", 1.5)),)),
        },
        {"processors": "processors", "wire": "wire"},
    )
    followed = [
        Followed("technology.processors", 3.0, "processors", rises=True),
        Followed("technology.wire", 0.5, "wire", rises=False),
    ]
    found = trend.values(1991, np.array([1993.0]), followed)
    assert found["technology.processors"].tolist() == [[pytest.approx(12.0)]]
    assert found["technology.wire"].tolist() == [[pytest.approx(0.5 / 2.25)]]
    assert trend.draws(np.array([1991.0, 1993.0]), 4, 0) == {}  # nothing is uncertain


def test_a_period_cut_into_equal_ones_has_the_band_of_the_whole() -> None:
    whole = PeriodRate((Period(2000, 2030, Uncertainty("lognormal", 1.3, 0.1)),))
    cut = PeriodRate(
        tuple(Period(y, y + 5, Uncertainty("lognormal", 1.3, 0.1)) for y in range(2000, 2030, 5))
    )
    years = np.array([2024.0, 2029.0, 2034.0])
    bands = []
    for rate in (whole, cut):
        trend = Trend("t", "", {"wire": rate}, {"wire": "wire"})
        gains = rate.gain(2024, years, trend.draws(years, 256, 3)["wire"])
        bands.append(np.quantile(gains, [0.05, 0.95], axis=0))
    assert bands[1] == pytest.approx(bands[0])
    assert bands[0][1, 2] / bands[0][0, 2] == pytest.approx(np.exp(2 * 1.645), rel=0.03)


def test_what_is_carried_on_is_told() -> None:
    rate = PeriodRate(PERIODS)
    assert outside(rate, 1995, 2015) == []
    assert outside(rate, 1985, 2030) == [(PERIODS[0], 1985, 1990), (PERIODS[-1], 2020, 2030)]
    assert outside(rate, 2025, 2030) == [(PERIODS[-1], 2025, 2030)]


def test_the_stated_rate_is_the_median() -> None:
    assert Period(1990, 2000, Uncertainty("lognormal", 1.4, 0.1)).median == pytest.approx(1.4)
