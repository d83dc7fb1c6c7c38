"""Tables of projections: the years of each case, the rates, and machines that came."""

from __future__ import annotations

from dataclasses import replace

from slipstick.report.formatting import NOTHING, escape, markdown_table, percent
from slipstick.results.question import ResultColumn, ResultTable
from slipstick.results.sweep import Provenance
from slipstick.schema.kinds.study import YEAR
from slipstick_questions.years import year_text
from slipstick_rates.series import PointSeries
from slipstick_rates.trend import SeriesRate
from slipstick_trends.projection import ProjectedCase, Projection, UsedRate
from slipstick_trends.sentences import doubt_remarks, period_text, track_name

_MOST_YEARS = 13  # twelve years ahead


def years_table(projection: Projection, track: ProjectedCase) -> ResultTable:
    """Return the table of one case along one trend; a page shows some of the years, including the
    first and the last.
    """
    year_count = len(track.sweep.points[YEAR])
    row_step = -(-(year_count - 1) // (_MOST_YEARS - 2))
    shown_row_indices = (
        range(year_count)
        if year_count <= _MOST_YEARS
        else [*range(0, year_count - 1, row_step), year_count - 1]
    )
    columns = [
        ResultColumn("case", [track.case] * year_count, place=True, on_page=False),
        ResultColumn("trend", [track.trend] * year_count, place=True, on_page=False),
    ]
    for path, axis_values in track.sweep.points.items():
        axis_in_words = (
            (lambda value, *_: year_text(value))
            if path == YEAR
            else (lambda value, *_: f"{value:.4g}")
        )
        columns.append(ResultColumn(path, axis_values, written=axis_in_words, place=True))
    for value_name in track.value_names:
        columns.append(
            ResultColumn(
                value_name,
                track.sweep.columns[value_name],
                track.sweep.units[value_name],
                track.sweep.ends(value_name),
                title=projection.words.value(value_name) if "[" in value_name else "",
            )
        )
    remarks = doubt_remarks(projection, [track.trend])
    if remarks:
        cells = [remarks] * year_count
        columns.append(ResultColumn("marked", cells, place=True, on_page=False))
    title = f"### {escape(track_name(track, projection, projection.words))}"
    shown_count = len(shown_row_indices)
    if shown_count < year_count:
        title += f" ({shown_count} of {year_count} years)"
    title += f"\n\n{escape(remarks)}." if remarks else ""
    return ResultTable(
        "project", columns, track.sweep.provenance, track.sweep.failed, title, shown_row_indices
    )


def rates_table(projection: Projection) -> str:
    """Return the table of the rates of a projection, for a page; a rate that several trends share
    is listed once.
    """
    trends_by_rate: dict[UsedRate, list[str]] = {}
    for rate in projection.rates:
        # What one trend takes over from another is listed once.
        trends_by_rate.setdefault(replace(rate, trend=""), []).append(rate.trend)
    rows = [
        [
            escape(", ".join(trends)),
            escape(rate.name),
            period_text(rate),
            f"{rate.factor:.3g}",
            f"{rate.low:.3g} to {rate.high:.3g}" if rate.high > rate.low else NOTHING,
            "; ".join(
                f"{year_text(start)} to {year_text(end)}" for start, end in rate.years_outside
            )
            or NOTHING,
            f"guess: {escape(rate.source)}" if rate.assumed else escape(rate.source),
        ]
        for rate, trends in trends_by_rate.items()
    ]
    headings = [
        "trend",
        "of",
        "period",
        "times faster a year",
        percent(projection.band),
        "used outside",
        "source",
    ]
    return markdown_table(headings, rows, [3])


def used_series(projection: Projection) -> list[PointSeries]:
    """Return the series whose rates change the time of a case."""
    rates_without_effect = set.intersection(*(set(track.sweep.idle) for track in projection.tracks))
    series_by_name = {
        rate.fit.series.name: rate.fit.series
        for trend in projection.trends
        for name, rate in trend.rates.items()
        if isinstance(rate, SeriesRate) and name not in rates_without_effect
    }
    return list(series_by_name.values())


def arrivals_table(projection: Projection) -> ResultTable:
    """Return a table of later machines and the predictions for them, by class of cost."""
    arrivals = projection.arrivals
    columns = [
        ResultColumn("before", [arrival.earlier_case for arrival in arrivals], place=True),
        ResultColumn("case", [arrival.case for arrival in arrivals], place=True),
        ResultColumn("trend", [arrival.trend for arrival in arrivals], place=True, on_page=False),
        ResultColumn(
            "year",
            [arrival.year for arrival in arrivals],
            written=lambda value, *_: year_text(value),
        ),
        ResultColumn("of", [arrival.name for arrival in arrivals]),
        ResultColumn("was", [arrival.earlier_time for arrival in arrivals], "s"),
        ResultColumn(
            "by the trend",
            [arrival.predicted_time for arrival in arrivals],
            "s",
            ([arrival.low for arrival in arrivals], [arrival.high for arrival in arrivals]),
        ),
        ResultColumn("came", [arrival.later_time for arrival in arrivals], "s"),
        ResultColumn("held", ["yes" if arrival.is_within_band else "no" for arrival in arrivals]),
    ]
    first_provenance = projection.tracks[0].sweep.provenance
    provenance = Provenance(
        [first_provenance.methods[0]] * len(arrivals),
        [bool(first_provenance.exact[0])] * len(arrivals),
    )
    title = "### Machines that came, beside the trend from before"
    return ResultTable("arrivals", columns, provenance, {}, title)
