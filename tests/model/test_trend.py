"""Trends beside a walk through the years, a step of a thousandth at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.model.uncertainty import Uncertainty
from slipstick_rates.series import (
    PointSeries,
    RateModel,
    SeriesPoint,
    fit_series,
    level_covariance,
)
from slipstick_rates.trend import (
    FollowedValue,
    Period,
    PeriodRate,
    SeriesRate,
    Trend,
    gain_of_factors,
    has_data_near_start,
    periods_outside,
)

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
    (found,) = gain_of_factors(PERIODS, base, np.array([year]), np.array([[1.5, 1.2, 0.9]]))[0]
    assert found == pytest.approx(walked(base, year), rel=2e-3)


@given(st.floats(1985, 2025), st.floats(1985, 2025), st.floats(1985, 2025))
def test_there_by_way_of_another_year_is_there(base: float, way: float, year: float) -> None:
    rates = np.array([[1.5, 1.2, 0.9]])

    def between(one: float, other: float) -> float:
        return float(gain_of_factors(PERIODS, one, np.array([other]), rates)[0, 0])

    assert between(base, way) * between(way, year) == pytest.approx(between(base, year))


def test_doubling_every_eighteen_months_is_sixty_four_in_nine_years() -> None:
    yearly = 2 ** (1 / 1.5)
    assert gain_of_factors(
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
        FollowedValue("technology.processors", 3.0, "processors", is_multiplied=True),
        FollowedValue("technology.wire", 0.5, "wire", is_multiplied=False),
    ]
    found = trend.values(1991, np.array([1993.0]), followed)
    assert found["technology.processors"].tolist() == [[pytest.approx(12.0)]]
    assert found["technology.wire"].tolist() == [[pytest.approx(0.5 / 2.25)]]
    assert trend.draws(np.array([1991.0, 1993.0]), 4, 0) == {}  # nothing is uncertain


def test_a_period_cut_into_equal_ones_has_the_band_of_the_whole() -> None:
    whole = PeriodRate((Period(2000, 2035, Uncertainty("lognormal", 1.3, 0.1)),))
    cut = PeriodRate(
        tuple(Period(y, y + 5, Uncertainty("lognormal", 1.3, 0.1)) for y in range(2000, 2035, 5))
    )
    years = np.array([2024.0, 2029.0, 2034.0])
    bands = []
    for rate in (whole, cut):
        trend = Trend("t", "", {"wire": rate}, {"wire": "wire"})
        gains = rate.gain(2024, years, trend.draws(years, 256, 3)["wire"])
        bands.append(np.quantile(gains, [0.05, 0.95], axis=0))
    assert bands[1] == pytest.approx(bands[0])
    assert bands[0][1, 2] / bands[0][0, 2] == pytest.approx(np.exp(2 * 1.645), rel=0.03)


@pytest.mark.turns(6)
@pytest.mark.parametrize("base", [2010.0, 2026.0])
@pytest.mark.parametrize("cut", [False, True])
def test_the_band_grows_after_the_last_period_by_a_rate_that_walks(base: float, cut: bool) -> None:
    rated = Uncertainty("lognormal", 1.3, 0.04)
    ends = (2000, 2012, 2024) if cut else (2000, 2024)
    rate = PeriodRate(tuple(Period(*span, rated) for span in pairwise(ends)))
    years = np.array([2027.0, 2030.0, 2036.0])
    drawn_years = np.array([base, *years])
    draws = Trend("t", "", {"wire": rate}, {"wire": "wire"}).draws(drawn_years, 4096, 5)
    logs = np.log(rate.gain(base, years, draws["wire"]))
    # By a second road: the rate of a walk that nothing is known of until 2024 is summed,
    # day by day.
    model = RateModel()
    days = np.arange(2024, 2036, 1 / 365)
    kernel = np.where(days[:, None] < days, np.exp(-model.damping * (days - days[:, None])), 0.0)
    for index, year in enumerate(years):
        inside = (days >= base) & (days < year)
        weights = kernel[:, inside].sum(axis=1) / 365
        walked = model.walk**2 * float(weights @ weights) / 365
        deviation = np.sqrt(walked + (0.04 * (year - base)) ** 2)
        assert logs[:, index].std() == pytest.approx(deviation, rel=0.03)
    assert np.median(logs[:, -1]) == pytest.approx((2036 - base) * np.log(1.3), rel=0.02)


def test_a_rate_that_is_certain_stays_so_after_its_last_period() -> None:
    first = Period(1990, 2000, Uncertainty("lognormal", 1.3, 0.04))
    rate = PeriodRate((first, Period(2000, 2010, Uncertainty("fixed", 1.2))))
    years = np.array([2010.0, 2020.0])
    draws = Trend("t", "", {"wire": rate}, {"wire": "wire"}).draws(years, 16, 5)
    assert rate.gain(2010.0, years[1:], draws["wire"]) == pytest.approx(1.2**10)


def test_a_year_that_was_not_drawn_is_no_other_year() -> None:
    points = tuple(SeriesPoint(2000.0 + year, 1.2**year) for year in range(10))
    rate = SeriesRate(fit_series(PointSeries("s", "", "", points)))
    draws = Trend("t", "", {"wire": rate}, {"wire": "wire"}).draws(np.array([2010.0, 2020.0]), 4, 0)
    with pytest.raises(AssertionError, match="a year was not drawn"):
        rate.gain(2010.0, np.array([2015.0]), draws["wire"])


def test_nothing_starts_before_periods_or_farther_after_data_than_these_last() -> None:
    rate = PeriodRate(PERIODS)
    assert [has_data_near_start(rate, year) for year in (1989, 1990, 2050, 2051)] == [
        False,
        True,
        True,
        False,
    ]
    points = tuple(SeriesPoint(2000.0 + year, 1.2**year) for year in range(0, 12, 2))
    series = SeriesRate(fit_series(PointSeries("s", "", "", points)))
    asked = (1989, 1990, 2020, 2021)
    assert [has_data_near_start(series, year) for year in asked] == [False, True, True, False]


def test_what_is_carried_on_is_told() -> None:
    rate = PeriodRate(PERIODS)
    assert periods_outside(rate, 1995, 2015) == []
    assert periods_outside(rate, 1985, 2030) == [
        (PERIODS[0], 1985, 1990),
        (PERIODS[-1], 2020, 2030),
    ]
    assert periods_outside(rate, 2025, 2030) == [(PERIODS[-1], 2025, 2030)]


def test_the_stated_rate_is_the_median() -> None:
    assert Period(1990, 2000, Uncertainty("lognormal", 1.4, 0.1)).median == pytest.approx(1.4)


_SHORT = tuple(SeriesPoint(2004.0 + year, 1.3**year) for year in range(16))


@pytest.mark.parametrize(
    "rate",
    [
        SeriesRate(fit_series(PointSeries("s", "", "", _SHORT))),
        PeriodRate((Period(2000, 2012, Uncertainty("lognormal", 1.3, 0.04)),)),
    ],
    ids=["series", "periods"],
)
def test_the_draws_of_a_year_do_not_depend_on_the_other_years(
    rate: SeriesRate | PeriodRate,
) -> None:
    """Two rates, so that a part of their draws is common; their covariance is that of the fit."""
    trend = Trend("t", "", {"a": rate, "b": rate}, {"a": "a", "b": "b"})
    alone, among = (
        trend.draws(np.array([2018.0, *years]), 1024, 3)
        for years in ([2034.0], [2019.5, 2024.0, 2031.25, 2034.0, 2050.0])
    )
    for name in "ab":
        gains = rate.gain(2018.0, np.array([2034.0]), alone[name])
        assert rate.gain(2018.0, np.array([2034.0]), among[name]) == pytest.approx(gains, rel=1e-9)
    years = np.array([2019.5, 2024.0, 2031.25, 2034.0])
    logs = np.log(rate.gain(2018.0, years, among["a"]))
    drawn = np.cov(logs.T)
    if isinstance(rate, SeriesRate):
        _, wanted = rate.fit.log_gain(2018.0, years)
        wanted = wanted + 2 * rate.fit.scatter**2  # a device of the base year, and a later one
    else:
        walk = RateModel(start=0.0)
        times, base_time = years - 2012, np.array([6.0])
        with_base = level_covariance(base_time, times, walk)
        wanted = level_covariance(times, times, walk) - with_base - with_base.T
        wanted = wanted + level_covariance(base_time, base_time, walk)
        wanted = wanted + 0.04**2 * np.outer(years - 2018, years - 2018)
    assert drawn == pytest.approx(wanted, rel=0.08)
