"""PointSeries of points beside a Kalman filter, and the shipped ones beside what came."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick.errors import ModelError
from slipstick.schema.kinds.quantity import validate
from slipstick.schema.library import Library
from slipstick_rates.files import TrendSpec, series_of
from slipstick_rates.series import (
    BACK_TEST_STARTS,
    NORMAL_90,
    WIDEST_BAND_AT_TEN_YEARS,
    FittedSeries,
    PointSeries,
    RateModel,
    SeriesPoint,
    back_test,
    choose_rate_model,
    fit_series,
)
from slipstick_rates.trend import SeriesRate
from tests.pages import TEXTS

POINTS = tuple(
    SeriesPoint(year, value)
    for year, value in ((2000, 1.0), (2003, 2.5), (2004, 2.2), (2009, 9.0), (2015, 21.0))
)
SERIES = PointSeries("made", "", "", POINTS)


def shipped_series() -> list[PointSeries]:
    tree = Library().load("trend", "measured")
    return list(series_of(validate(TrendSpec, tree)).values())


def filtered(fit: FittedSeries, year: float) -> tuple[float, float]:
    """Return mean and variance of the level by a Kalman filter over the points, each step solved by
    matrix exponentials (Van Loan 1978). A level before the first point is a state of its own, which
    stays as it was.
    """
    growth = fit.rate_model
    drift = np.zeros((3, 3))
    drift[:2, :2] = [[0.0, 1.0], [0.0, -growth.damping]]
    state = np.array([fit.signed_logs[0], 0.0, fit.signed_logs[0]])
    unknown = 1e6
    variance = np.array(
        [[unknown, 0.0, unknown], [0.0, growth.start**2, 0.0], [unknown, 0.0, unknown]]
    )
    before = year < fit.years[0]
    now = min(year, fit.years[0])
    noise = np.diag([0.0, growth.walk**2, 0.0])
    steps = [*zip(fit.years, fit.signed_logs, strict=True)]
    for when, log in steps if before else [*steps, (year, None)]:
        block = np.block([[-drift, noise], [np.zeros((3, 3)), drift.T]]) * (when - now)
        solved = expm(block)
        step = solved[3:, 3:].T
        state, variance = step @ state, step @ variance @ step.T + step @ solved[:3, 3:]
        now = when
        if log is not None:
            gain = variance[:, 0] / (variance[0, 0] + fit.scatter**2)
            state = state + gain * (log - state[0])
            variance = variance - np.outer(gain, variance[0])
    place = 2 if before else 0
    return float(state[place]), float(variance[place, place])


@pytest.mark.parametrize("growth", [RateModel(), RateModel(damping=0.2, walk=0.1, start=0.05)])
@pytest.mark.parametrize("year", [1985.0, 1999.0, 2015.0, 2016.0, 2034.0])
def test_a_level_is_that_of_a_kalman_filter(growth: RateModel, year: float) -> None:
    fit = FittedSeries(SERIES, growth, 0.2)
    mean, covariance = fit.levels(np.array([year]))
    expected, variance = filtered(fit, year)
    assert mean[0] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert covariance[0, 0] == pytest.approx(variance, rel=1e-5)


def test_levels_before_the_first_point_have_a_covariance() -> None:
    _, covariance = fit_series(SERIES).levels(np.array([1980.0, 1990.0, 2000.0, 2009.0, 2030.0]))
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert (np.diff(np.diag(covariance)[:3]) < 0).all()  # the earlier, the less is known


def test_rounding_of_the_points_is_not_amplified() -> None:
    years = np.arange(2016.0, 2047.0, 2.0)
    one_bit = tuple(
        replace(point, value=float(np.nextafter(point.value, np.inf))) for point in POINTS
    )
    normals = np.random.default_rng(1).standard_normal((64, fit_series(SERIES).path_basis.size))
    first, second = (
        fit_series(replace(SERIES, points=points)).paths(years, normals)
        for points in (POINTS, one_bit)
    )
    assert np.abs(first - second).max() < 1e-12


def test_a_year_has_the_same_band_by_whatever_years_one_gets_there() -> None:
    fit = fit_series(SERIES)
    _, alone = fit.levels(np.array([2034.0]))
    _, among = fit.levels(np.arange(2016.0, 2035.0))
    assert among[-1, -1] == pytest.approx(alone[0, 0])


def test_drawn_paths_have_mean_and_covariance_of_the_level() -> None:
    fit = fit_series(SERIES)
    years = np.array([2016.0, 2025.0, 2034.0])
    normals = np.random.default_rng(5).standard_normal((40_000, fit.path_basis.size))
    paths = fit.paths(years, normals)
    mean, covariance = fit.levels(years)
    assert paths.mean(axis=0) == pytest.approx(mean, abs=0.02)
    assert np.cov(paths.T) == pytest.approx(covariance, rel=0.05)


def test_after_a_break_the_rate_is_that_of_the_points_after_it() -> None:
    before = [SeriesPoint(1990.0 + n, 2.0**n) for n in range(11)]
    after = [SeriesPoint(2000.0 + n, 2.0**10 * 1.05**n) for n in range(1, 16)]
    broken = PointSeries("made", "", "", (*before, *after), breaks=(2000.0,))
    rates = [fit_series(broken).rate(*period)[0] for period in fit_series(broken).periods()]
    assert rates == pytest.approx([2.0, 1.05], rel=0.02)
    # Without the break, the rate before it lingers.
    assert fit_series(replace(broken, breaks=())).rate(2000, 2003)[0] > 1.1


def test_nothing_passes_its_limit() -> None:
    limited = replace(SERIES, limit=25.0)
    years = np.array([2020.0, 2034.0])
    assert fit_series(SERIES).gain(2015, years)[1] > 25 / 21
    assert fit_series(limited).gain(2015, years)[1] <= 25 / 20
    fit = fit_series(limited)
    paths = fit.paths(years, np.random.default_rng(1).standard_normal((100, fit.path_basis.size)))
    assert paths.max() <= np.log(25.0) + 1e-12
    falling = replace(SERIES, less_is_better=True, limit=30.0)
    assert fit_series(falling).predict(years)[0][1] <= -np.log(30.0) + 1e-12


def test_a_plan_is_known_from_its_year_and_less_sure_than_a_point() -> None:
    plan = SeriesPoint(2030.0, 2000.0, announced=True, error=1.0, known=2020.0)
    planned = replace(SERIES, points=(*POINTS, plan))
    assert planned.as_of(2019).points == POINTS
    at = np.array([2030.0])
    without, with_plan = fit_series(SERIES).levels(at), fit_series(planned).levels(at)
    assert without[0][0] < with_plan[0][0] < np.log(2000.0)
    assert with_plan[1][0, 0] < without[1][0, 0]
    # Plans of one source err together, so five are hardly surer than one.
    several = [replace(plan, year=2030.0 + 0.1 * n) for n in range(5)]
    five = fit_series(replace(SERIES, points=(*POINTS, *several))).levels(at)
    assert five[1][0, 0] > 0.9 * with_plan[1][0, 0]


def test_another_line_of_products_is_not_fitted_but_held_against_the_fit() -> None:
    other = SeriesPoint(2018.0, 0.1, apart=True)
    later = SeriesPoint(2019.0, 40.0)
    series = replace(SERIES, points=(*POINTS, other, later))
    assert fit_series(series).levels(np.array([2020.0]))[0] == pytest.approx(
        fit_series(replace(SERIES, points=(*POINTS, later))).levels(np.array([2020.0]))[0]
    )
    test = back_test([series], 2016.0)
    assert [each.is_within_band for each in test.predictions] == [False, True]


def test_no_device_of_a_draw_passes_the_limit() -> None:
    limited = SeriesRate(fit_series(replace(SERIES, limit=30.0)))
    years, later = np.array([2015.0, 2035.0]), np.array([2035.0])
    random = np.random.default_rng(1)
    normals = random.standard_normal((512, limited.normals_per_draw))
    base_devices = random.standard_normal(512)
    drawn = limited.draw(years, normals, lambda year: base_devices)
    device_logs = drawn.levels[:, 0] + drawn.device_of_year(2015.0)
    devices = np.exp(np.minimum(device_logs, np.log(30.0)))
    reached = devices * limited.gain(2015.0, later, drawn)[:, 0]
    assert reached.max() == pytest.approx(30.0)
    assert (reached < 29.0).any()
    assert limited.fit.band_reaches_limit(2035.0)
    free = SeriesRate(fit_series(SERIES))
    assert not free.fit.band_reaches_limit(2035.0)
    free_draws = free.draw(years, normals, lambda year: base_devices)
    gained = free.gain(2015.0, later, free_draws)[:, 0]
    assert gained.mean() > limited.gain(2015.0, later, drawn)[:, 0].mean()


def test_too_few_points_are_refused() -> None:
    with pytest.raises(
        ModelError, match="has 3 points; at least 4 over 4 years are needed for a rate"
    ):
        fit_series(replace(SERIES, points=POINTS[:3]))


def test_a_value_that_is_not_positive_is_refused() -> None:
    wrong = replace(POINTS[1], value=0.0)
    with pytest.raises(ModelError, match="made, 2003: a value is more than 0, got 0"):
        fit_series(replace(SERIES, points=(POINTS[0], wrong, *POINTS[2:])))


def test_a_choice_that_is_always_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipstick_rates.series.TRIED_DAMPINGS", (0.01,))
    monkeypatch.setattr("slipstick_rates.series.TRIED_WALKS", (0.3,))
    with pytest.raises(ModelError, match="no choice has a median width of at most 4 at ten years"):
        choose_rate_model(shipped_series(), [2015.0])


def test_the_shipped_bands_hold_what_came_and_are_not_too_wide() -> None:
    tests = [back_test(shipped_series(), start) for start in BACK_TEST_STARTS]
    points = [each for test in tests for each in test.predictions]
    held = np.mean([abs(each.error) <= NORMAL_90 * each.deviation for each in points])
    assert len(points) == 231
    assert 0.80 <= held <= 0.97
    assert (
        np.median([width for test in tests for width in test.band_widths])
        <= WIDEST_BAND_AT_TEN_YEARS
    )
    # Where a class broke its trend it is a miss, and stays one.
    missed = {(each.series, each.start) for each in points if not each.is_within_band}
    assert {("bw_gpu", 2015.0), ("clock_best", 2005.0), ("gpu_fp64", 2015.0)} <= missed


def test_the_page_calls_those_series_weak_that_are() -> None:
    page = TEXTS["trends.md"]
    rows = re.findall(r"^\| (?:an? |memory|solid).*$", page, re.MULTILINE)
    cells = [match for row in rows for match in re.findall(r"`(\w+)`( \(weak\))?", row)]
    weak = {series.name: series.is_weak for series in shipped_series()}
    cells = [(name, bool(mark)) for name, mark in cells if name in weak]
    assert len(cells) == 15
    assert [name for name, mark in cells if mark != weak[name]] == []


def test_every_shipped_point_has_a_source_and_those_from_memory_are_counted() -> None:
    points = [point for series in shipped_series() for point in series.points]
    assert all(len(point.source) > 8 for point in points)
    memory = [point for point in points if point.from_memory]
    assert (len(points), len(memory)) == (402, 49)
    assert all(re.search("memory|not opened|arxiv", point.source) for point in memory)
    # A source can be opened: it names a page, a repository, or a paper.
    named = [point for point in points if not point.from_memory]
    places = r"\.\w{2,4}\b|article|table|document|report|Rupp|RWCP|gist|Epoch|Table|quotation"
    opened = re.compile(places)
    assert all(opened.search(point.source) for point in named)
    assert sum(point.announced for point in points) == 5
    assert {series.name for series in shipped_series() if series.is_weak} == {
        "adapter_power",
        "adapter_price",
        "clock_top500",
        "dram_power",
        "node_price",
        "pcie_x16",
        "port_ethernet",
        "ssd_latency",
        "ssd_power",
    }
