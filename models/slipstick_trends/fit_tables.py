"""Tables of trends: the rates fitted to series of points, and how fits of earlier years predicted
later points.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from slipstick.late import np
from slipstick.model.uncertainty import random_stream
from slipstick.report.formatting import (
    NOTHING,
    escape,
    markdown_table,
    percent,
    plain_table,
    with_noun,
)
from slipstick_rates.series import (
    BACK_TEST_STARTS,
    LEAST_POINTS_OF_STRONG_SERIES,
    BackTest,
    FittedSeries,
    PointSeries,
    Prediction,
    RateModel,
    back_test,
    back_test_all,
    best_rate_model,
    fit_series,
)

YEARS_AHEAD = 10.0
"""Years ahead of the last point for which a fit tells the rate."""

YEARS_OF_HORIZONS = ((0.0, 3.0), (3.0, 6.0), (6.0, 10.0), (10.0, 30.0))
_MOST_MISSES = 8  # misses that are listed


def fit_rows(series: Sequence[PointSeries]) -> list[list[str]]:
    """Return a table row for each period of each series: its points, its rate with the band, and
    the prediction.
    """
    rows = []
    for point_series in series:
        measured_points = point_series.measured_points
        if not point_series.has_enough_points:
            rows.append(
                [
                    point_series.name,
                    str(len(measured_points)),
                    *[NOTHING] * 3,
                    "too few points for a rate",
                ]
            )
            continue
        fit = fit_series(point_series)
        for first_year, last_year in fit.periods():
            reason = (
                "few points"
                if len(measured_points) < LEAST_POINTS_OF_STRONG_SERIES
                else "most points from memory"
            )
            note = f"weak: {reason}" if point_series.is_weak else ""
            rows.append(_fit_row(fit, first_year, last_year, str(len(measured_points)), note))
        last_year = measured_points[-1].year
        announced_count = len(point_series.fitted_points) - len(measured_points)
        note = (
            f"with {with_noun(announced_count, 'announced point')}"
            if announced_count
            else "expected"
        )
        if fit.band_reaches_limit(last_year + YEARS_AHEAD):
            note += f"; the band ends at the limit of {point_series.limit:g} {point_series.unit}"
        rows.append(_fit_row(fit, last_year, last_year + YEARS_AHEAD, "", note))
    return rows


def _fit_row(
    fit: FittedSeries, first_year: float, last_year: float, points_text: str, note: str
) -> list[str]:
    """Return the table row of one fit over a period."""
    rate, low_rate, high_rate = fit.rate(first_year, last_year)
    return [
        fit.series.name,
        points_text,
        f"{first_year:g} to {last_year:g}",
        f"{rate:.2f} ({low_rate:.2f} to {high_rate:.2f})",
        f"{np.exp(fit.scatter):.2f}",
        note,
    ]


_FIT_HEADINGS = ("series", "points", "years", "times better a year", "scatter", "note")


def fit_text(series: Sequence[PointSeries]) -> str:
    """Return the table of rates by period for the terminal, with the method of the fit."""
    return f"{plain_table(_FIT_HEADINGS, fit_rows(series), [1, 4])}\n\n{method_text()}\n"


def fit_document(series: Sequence[PointSeries]) -> list[dict[str, Any]]:
    """Return the rates by period as plain data for JSON."""
    keys = ("series", "points", "years", "rate", "scatter", "note")
    return [dict(zip(keys, row, strict=True)) for row in fit_rows(series)]


def method_text() -> str:
    """Return sentences on the method of the fit and on the back-tests by which it was chosen."""
    rate_model = RateModel()
    starts = ", ".join(f"{start:g}" for start in BACK_TEST_STARTS)
    return (
        f"Each year the growth rate of the logarithm falls by {percent(rate_model.damping)}, and"
        f" changes at random with a standard deviation of {rate_model.walk:g}. Both constants were"
        f" chosen on back-tests of the shipped series from {starts}, which also gave the"
        f" correlation of two series, about {rate_model.common:g}."
    )


def back_test_text(series: Sequence[PointSeries], *, choose: bool, markdown: bool) -> str:
    """Return tables of back-tests: how fits of earlier years predicted later points, by start, by
    horizon, and the worst misses.

    Parameters
    ----------
    series : all
    choose : judge each start by what is chosen on the others, too
    markdown : for a page, else for the terminal
    """
    tests = [back_test(series, start) for start in BACK_TEST_STARTS]
    make_table: Callable[..., str] = markdown_table if markdown else plain_table
    blocks = [
        _coverage_sentence(tests),
        make_table(
            _START_HEADINGS, [*map(_start_row, tests), *_pooled_rows(tests, series)], range(1, 6)
        ),
        _bootstrap_sentence(tests),
        make_table(_HORIZON_HEADINGS, list(_horizon_rows(tests)), range(1, 4)),
        make_table(_MISS_HEADINGS, list(_miss_rows(tests)), [2]),
    ]
    if choose:
        blocks.insert(3, _cross_check_table(series, make_table))
    return "\n\n".join([*blocks, method_text()]) + "\n"


_START_HEADINGS = (
    "as of",
    "series",
    "later points",
    "in the 90 % band",
    "median error",
    "width at ten years",
)
_HORIZON_HEADINGS = ("years ahead", "points", "in the 90 % band", "median error")
_MISS_HEADINGS = ("series", "as of", "missed", "worst", "real/predicted", "band")


def accuracy_table(series: Sequence[PointSeries]) -> str:
    """Return a table, for a page, of how fits of earlier years predicted the later points of each
    series.
    """
    predictions = _all_predictions([back_test(series, start) for start in BACK_TEST_STARTS])
    rows = []
    for point_series in series:
        predictions_of_series = [
            prediction for prediction in predictions if prediction.series == point_series.name
        ]
        if not predictions_of_series:
            rows.append([escape(point_series.title), "0", *[NOTHING] * 3])
            continue
        worst_prediction = _worst_prediction(predictions_of_series)
        share_within_band = percent(
            float(np.mean([prediction.is_within_band for prediction in predictions_of_series]))
        )
        worst_error_text = (
            f"{np.exp(worst_prediction.error):.2f} in {worst_prediction.year:g}, as of"
            f" {worst_prediction.start:g}"
        )
        rows.append(
            [
                escape(point_series.title),
                str(len(predictions_of_series)),
                share_within_band,
                _median_error_text(predictions_of_series),
                worst_error_text,
            ]
        )
    return markdown_table(_ACCURACY_HEADINGS, rows, range(1, 4))


_ACCURACY_HEADINGS = (
    "series",
    "later points",
    "in the 90 % band",
    "median error",
    "worst real/predicted",
)


def _coverage_sentence(tests: Sequence[BackTest]) -> str:
    """Return a sentence on the share of later points within their bands."""
    predictions = _all_predictions(tests)
    share_over = np.mean([prediction.error < 0 for prediction in predictions])
    share_within_band = np.mean([prediction.is_within_band for prediction in predictions])
    return (
        f"{percent(float(share_within_band))} of {len(predictions)}"
        f" later points lie within the bands of 90 %; {percent(float(share_over))} are below what"
        " was predicted."
    )


def bootstrap_ends(
    tests: Sequence[BackTest], inner_share: float = 0.9
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bootstrap intervals of the share of later points within their bands and of the median
    width of the bands at ten years, over resampled series.

    Whole series are drawn (a bootstrap by groups), because the errors of the points of a series
    depend on each other.

    Parameters
    ----------
    tests : of the same series from several starts
    inner_share : of the draws that lie inside the intervals
    """
    are_within_by_series: dict[str, list[bool]] = {}
    widths_by_series: dict[str, list[float]] = {}
    for test in tests:
        for prediction in test.predictions:
            are_within_by_series.setdefault(prediction.series, []).append(prediction.is_within_band)
        for series_name, width in _series_widths(test).items():
            widths_by_series.setdefault(series_name, []).append(width)
    random_generator = random_stream(0, "resampled series")
    drawn_names = [
        [
            list(are_within_by_series)[index]
            for index in random_generator.integers(
                len(are_within_by_series), size=len(are_within_by_series)
            )
        ]
        for _ in _BOOTSTRAP_DRAWS
    ]
    resampled_shares = [
        np.mean(
            [
                is_within
                for series_name in series_names
                for is_within in are_within_by_series[series_name]
            ]
        )
        for series_names in drawn_names
    ]
    resampled_medians = [
        np.median(
            [width for series_name in series_names for width in widths_by_series[series_name]]
        )
        for series_names in drawn_names
    ]
    end_probabilities = ((1 - inner_share) / 2, (1 + inner_share) / 2)
    share_ends, width_ends = (
        np.quantile(resampled_values, end_probabilities)
        for resampled_values in (resampled_shares, resampled_medians)
    )
    return (
        (float(share_ends[0]), float(share_ends[1])),
        (float(width_ends[0]), float(width_ends[1])),
    )


_BOOTSTRAP_DRAWS = range(1000)


def _series_widths(test: BackTest) -> dict[str, float]:
    """Return the width of the band at ten years by series, in the order of the predictions."""
    series_names = dict.fromkeys(prediction.series for prediction in test.predictions)
    return dict(zip(series_names, test.band_widths, strict=True))


def _bootstrap_sentence(tests: Sequence[BackTest]) -> str:
    """Return the bootstrap intervals of back-tests in words."""
    (low, high), (narrow, wide) = bootstrap_ends(tests)
    return (
        f"With other series of this kind, the share would be {percent(low, 2)} to"
        f" {percent(high, 2)}, and the width {narrow:.1f} to {wide:.1f} (series drawn anew, 90 % of"
        " the draws)."
    )


def _all_predictions(tests: Sequence[BackTest]) -> list[Prediction]:
    """Return the predictions of all back-tests."""
    return [prediction for test in tests for prediction in test.predictions]


def _start_row(test: BackTest) -> list[str]:
    """Return the table row of the back-test of one start."""
    return [
        f"{test.start:g}",
        str(len(test.band_widths)),
        str(len(test.predictions)),
        percent(test.share_within_band),
        _median_error_text(test.predictions),
        f"{test.median_width:.1f}",
    ]


def _pooled_rows(tests: Sequence[BackTest], series: Sequence[PointSeries]) -> list[list[str]]:
    """Return a table row for all series and, if some series are weak, one without them."""
    weak_names = {point_series.name for point_series in series if point_series.is_weak}
    strong_tests = [_without_series(test, weak_names) for test in tests]
    rows = [_pooled_row("all", tests)]
    if any(
        len(test.band_widths) < len(test_of_all.band_widths)
        for test, test_of_all in zip(strong_tests, tests, strict=True)
    ):
        rows.append(_pooled_row("without weak", strong_tests))
    return rows


def _without_series(test: BackTest, names: Collection[str]) -> BackTest:
    """Return a back-test without the predictions and widths of some series."""
    predictions = [prediction for prediction in test.predictions if prediction.series not in names]
    widths = [width for name, width in _series_widths(test).items() if name not in names]
    return BackTest(test.start, tuple(predictions), tuple(widths))


def _pooled_row(label: str, tests: Sequence[BackTest]) -> list[str]:
    """Return the table row of several back-tests together."""
    predictions = _all_predictions(tests)
    band_widths = [width for test in tests for width in test.band_widths]
    share_within_band = float(np.mean([prediction.is_within_band for prediction in predictions]))
    width_text = f"{np.median(band_widths):.2f}"
    return [
        label,
        str(len(band_widths)),
        str(len(predictions)),
        percent(share_within_band),
        _median_error_text(predictions),
        width_text,
    ]


def _worst_prediction(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction with the largest error; of errors equal to 9 digits, the first. Two
    starts with no measurement between them give the same fit, up to rounding.
    """
    return max(predictions, key=lambda prediction: round(abs(prediction.error), 9))


def _median_error_text(predictions: Sequence[Prediction]) -> str:
    """Return the median of the relative errors of predictions as text."""
    return f"{np.exp(np.median([abs(prediction.error) for prediction in predictions])):.2f}"


def _horizon_rows(tests: Sequence[BackTest]) -> Iterator[list[str]]:
    """Yield a table row for each range of years ahead."""
    for low, high in YEARS_OF_HORIZONS:
        predictions = [
            prediction for prediction in _all_predictions(tests) if low < prediction.horizon <= high
        ]
        if predictions:
            share_within_band = float(
                np.mean([prediction.is_within_band for prediction in predictions])
            )
            label = f"{low:g} to {high:g}"
            yield [
                label,
                str(len(predictions)),
                percent(share_within_band),
                _median_error_text(predictions),
            ]


def _miss_rows(tests: Sequence[BackTest]) -> Iterator[list[str]]:
    """Yield a table row for each series whose later points lay outside the bands of a fit, the
    worst first.
    """
    misses_by_fit: dict[tuple[str, float], list[Prediction]] = {}
    for prediction in _all_predictions(tests):
        if not prediction.is_within_band:
            misses_by_fit.setdefault((prediction.series, prediction.start), []).append(prediction)
    worst_misses_first = sorted(
        misses_by_fit.values(), key=lambda misses: -round(abs(_worst_prediction(misses).error), 9)
    )
    for misses in worst_misses_first[:_MOST_MISSES]:
        worst_prediction = _worst_prediction(misses)
        yield [
            worst_prediction.series,
            f"{worst_prediction.start:g}",
            str(len(misses)),
            f"{worst_prediction.year:g}",
            f"{np.exp(worst_prediction.error):.2f}",
            f"{np.exp(1.6448536 * worst_prediction.deviation):.1f}",
        ]


def _cross_check_table(series: Sequence[PointSeries], make_table: Callable[..., str]) -> str:
    """Return a table of the back-test of each start with the damping and walk chosen on the other
    starts.
    """
    rows = []
    tests = []
    tests_by_model_and_start = back_test_all(series, BACK_TEST_STARTS)
    for start in BACK_TEST_STARTS:
        other_starts = [other_start for other_start in BACK_TEST_STARTS if other_start != start]
        rate_model = best_rate_model(tests_by_model_and_start, other_starts)
        test = tests_by_model_and_start[rate_model, start]
        tests.append(test)
        constant_texts = [f"{rate_model.damping:g}", f"{rate_model.walk:g}"]
        rows.append(
            [
                " and ".join(f"{other_start:g}" for other_start in other_starts),
                *constant_texts,
                *_start_row(test),
            ]
        )
    rows += [["", "", "", *row] for row in _pooled_rows(tests, series)]
    headings = ("chosen on", "damping", "walk", "judged as of", *_START_HEADINGS[1:])
    return f"{make_table(headings, rows, range(1, 9))}\n\n{_bootstrap_sentence(tests)}"


def back_test_document(series: Sequence[PointSeries]) -> list[dict[str, Any]]:
    """Return every prediction of the back-tests as plain data for JSON."""
    return [
        {**asdict(prediction), "held": prediction.is_within_band}
        for start in BACK_TEST_STARTS
        for prediction in back_test(series, start).predictions
    ]
