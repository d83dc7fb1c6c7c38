"""Pictures of projections: values over the years, where the time goes, and the points of rates."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slipstick.errors import ModelError, UnknownNameError
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, np
from slipstick.report.formatting import quantity
from slipstick.results.words import CLASS_TITLES, as_words
from slipstick.schema.kinds.study import YEAR
from slipstick.units import choose_unit
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    make_logarithmic,
    new_figure,
    with_title_and_legend,
    write_remark,
)
from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit
from slipstick_rates.series import NORMAL_90
from slipstick_rates.trend import SeriesRate
from slipstick_trends.sentences import doubt_remarks, used_rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slipstick.results.sweep import Sweep
    from slipstick.results.words import Words
    from slipstick_rates.series import FittedSeries
    from slipstick_trends.projection import ProjectedCase, Projection
    from slipstick_trends.specs import ProjectionPictureSpec, RatesPictureSpec, SharesPictureSpec

_SMALLEST_DRAWN_SHARE = 0.02  # a class that never takes more of the time is not drawn
_GREY_COLOURS = ("#888888", "#555555")
_COLOURED_STROKES = [
    index for index, stroke in enumerate(STROKES) if stroke[0] not in _GREY_COLOURS
]
"""Strokes whose shade differs from that of black."""

_COLOUR_OF_MACHINES = "#cc79a7"


_LONGEST_LABEL = 30  # letters in a line of a legend


def values_figure(projection: Projection, spec: ProjectionPictureSpec, words: Words) -> Figure:
    """Draw values over the years, a panel for each value, with the limits that are watched."""
    figure = new_figure(8.2, 1.0 + 3.0 * len(spec.y))
    panels = figure.subplots(len(spec.y), 1, sharex=True, squeeze=False)[:, 0]
    for value_name, axes in zip(spec.y, panels, strict=True):
        _draw_lines(axes, projection, value_name, spec, words)
    if projection.factors is None:
        panels[-1].set_xlabel("year")
    else:
        make_logarithmic(panels[-1].xaxis, projection.factors)
        panels[-1].set_xlabel("times that processors are as fast")
    handles, titles = panels[0].get_legend_handles_labels()
    labels = [textwrap.fill(title, _LONGEST_LABEL) for title in titles]
    has_one_line = len(labels) == 1  # the title says what it is
    band_columns = {f"low[{value_name}]" for value_name in spec.y}
    has_bands = any(band_columns & track.sweep.columns.keys() for track in projection.tracks)
    has_shades = len(projection.tracks) <= _MOST_BANDS
    band_noun = "Shaded bands" if has_shades else "Bars at the right, of the last year,"
    remarks = [f"{band_noun} contain 90 % of the random draws of the trends"] if has_bands else []
    write_remark(figure, ". ".join(filter(None, [*remarks, doubt_remarks(projection)])))
    return with_title_and_legend(
        figure, spec.title, *(() if has_one_line else (_legend_title(projection), handles, labels))
    )


def _legend_title(projection: Projection) -> str:
    """Return the title of the legend: case, trend, or both, whichever differs between the lines."""
    case_names = {track.case for track in projection.tracks}
    differs_by_attribute = {"case": len(case_names) > 1, "trend": len(projection.titles) > 1}
    return ", ".join(
        attribute_name for attribute_name, differs in differs_by_attribute.items() if differs
    )


def _sweeps_by_line(projection: Projection, name: str, words: Words) -> dict[str, Sweep]:
    """Return the sweeps that have a value, by the labels of their lines: the titles of what differs
    between lines.
    """
    differing_attributes = _legend_title(projection).split(", ")
    titles_of_lines = {"case": words.case, "trend": projection.titles.__getitem__}
    return {
        ", ".join(
            titles_of_lines[attribute_name](getattr(track, attribute_name))
            for attribute_name in differing_attributes
            if attribute_name
        ): track.sweep
        for track in projection.tracks
        if name in track.sweep.columns
    }


def _draw_lines(
    axes: Axes, projection: Projection, name: str, spec: ProjectionPictureSpec, words: Words
) -> None:
    """Draw the lines of one value with their bands and limits, one line for each case along each
    trend.
    """
    sweeps = _sweeps_by_line(projection, name, words)
    if not sweeps:
        raise UnknownNameError(
            "projected value",
            name,
            list(
                dict.fromkeys(
                    value_name
                    for projected_case in projection.tracks
                    for value_name in projected_case.value_names
                )
            ),
        )
    shown_values = np.concatenate([sweep.columns[name] for sweep in sweeps.values()])
    unit, unit_size = choose_unit(
        shown_values[np.isfinite(shown_values)].tolist(),
        Dimension.of(next(iter(sweeps.values())).units[name]),
    )
    for index, (label, sweep) in enumerate(sweeps.items()):
        colour, marker, dashes = STROKES[index % len(STROKES)]
        line_style: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": dashes,
            "markevery": _marker_step(len(sweep)),
        }
        abscissa = np.asarray(
            sweep.points[YEAR] if projection.factors is None else projection.factors, dtype=float
        )
        axes.plot(abscissa, sweep.columns[name] / unit_size, label=label, **line_style)
        if f"low[{name}]" in sweep.columns:
            low, high = (band_end / unit_size for band_end in sweep.ends(name))
            if len(sweeps) <= _MOST_BANDS:
                axes.fill_between(abscissa, low, high, color=colour, alpha=0.18, linewidth=0)
            else:
                _draw_last_band(axes, abscissa, (low, high), (index, len(sweeps)), colour)
    shown_values = np.append(shown_values, _draw_machines(axes, projection, name, unit_size))
    axes.set_ylabel(axis_title(words.value(name) if "[" in name else name, unit))
    limit = projection.words.limits.get(name)
    drawn_lines = [*axes.lines]
    if limit is not None:
        axes.axhline(limit / unit_size, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3)))
        shown_values = np.append(shown_values, limit)
    if spec.log == "y":
        make_logarithmic(axes.yaxis, shown_values / unit_size)
    elif np.min(shown_values, initial=0.0, where=np.isfinite(shown_values)) >= 0:
        axes.set_ylim(0, 1.03 * axes.get_ylim()[1])
    if limit is not None:
        limit_in_words = f"limit {quantity(limit, next(iter(sweeps.values())).units[name])}"
        write_limit(axes, limit / unit_size, limit_in_words, drawn_lines)


_MOST_BANDS = 4  # more bands in one picture are one grey


def _draw_last_band(
    axes: Axes,
    abscissa: Array,
    band_ends: tuple[Array, Array],
    line_position: tuple[int, int],
    colour: str,
) -> None:
    """Draw the band of the last year as a bar at the right of the plot, beside the bars of other
    lines.

    Parameters
    ----------
    axes, abscissa, colour : of the line
    band_ends : of its band
    line_position : the index of the line, and how many there are
    """
    index, line_count = line_position
    bar_distance = 0.02 * (abscissa[-1] - abscissa[0])
    bar_x = abscissa[-1] + (index + 1.5) * bar_distance
    low, high = (end_values[-1] for end_values in band_ends)
    axes.plot([bar_x, bar_x], [low, high], color=colour, linewidth=2.5, solid_capstyle="butt")
    axes.set_xlim(right=abscissa[-1] + (line_count + 2) * bar_distance)


def _draw_machines(
    axes: Axes, projection: Projection, name: str, unit_size: float
) -> Sequence[float]:
    """Draw a mark for each later machine in the years shown. Return the values of these
    machines.
    """
    machines = {
        (arrival.year, arrival.later_time)
        for arrival in projection.arrivals
        if arrival.name == name
    }
    if not machines:
        return ()
    years, machine_values = zip(*sorted(machines), strict=True)
    style: dict[str, Any] = {
        "marker": "*",
        "markersize": 11,
        "color": _COLOUR_OF_MACHINES,
        "linestyle": "none",
    }
    axes.plot(
        years, np.array(machine_values) / unit_size, label="machines that came", zorder=3, **style
    )
    return machine_values


def _marker_step(point_count: int) -> int:
    """Return the distance of the points of a line with a marker, so that about six have one."""
    return max(1, point_count // 6)


def shares_figure(projection: Projection, spec: SharesPictureSpec, words: Words) -> Figure:
    """Draw the share of the time that each class of cost takes over the years, with its band, in
    one panel for each case.
    """
    case_names = list(dict.fromkeys(track.case for track in projection.tracks))
    unknown_cases = [case_name for case_name in spec.cases if case_name not in case_names]
    if unknown_cases:
        raise UnknownNameError("projected case", unknown_cases[0], case_names)
    tracks = [track for track in projection.tracks if track.case in (spec.cases or case_names)]
    stroke_by_class = dict(zip(_classes_to_draw(tracks), _COLOURED_STROKES, strict=False))
    column_count = min(2, len(tracks))
    row_count = -(-len(tracks) // column_count)
    figure = new_figure(8.2, 1.0 + 2.6 * row_count)
    panels = figure.subplots(row_count, column_count, squeeze=False, sharey=True).ravel()
    for axes in panels[len(tracks) :]:
        axes.set_visible(False)
    for axes in panels[::column_count]:
        axes.set_ylabel("part of the time [%]")
    handle_by_class: dict[str, Any] = {}
    for track, axes in zip(tracks, panels, strict=False):
        _draw_shares(axes, track, stroke_by_class, handle_by_class)
        has_several_trends = len(projection.titles) > 1
        case = words.case(track.case)
        axes.set_title(f"{case}, {as_words(track.trend)}" if has_several_trends else case)
    labels = [CLASS_TITLES.get(case_name, case_name) for case_name in handle_by_class]
    write_remark(figure, doubt_remarks(projection, [track.trend for track in tracks], timed=True))
    return with_title_and_legend(
        figure, spec.title, "class of cost", list(handle_by_class.values()), labels
    )


def _classes_to_draw(tracks: list[ProjectedCase]) -> list[str]:
    """Return the classes of cost whose share of the time is large enough for a line, in the order
    of the first case.
    """
    all_shares = [share for track in tracks for share in track.shares]
    class_names = [
        share.name
        for share in all_shares
        if np.nanmax(share.share_by_year, initial=0.0) > _SMALLEST_DRAWN_SHARE
    ]
    return list(dict.fromkeys(class_names))


def _draw_shares(
    axes: Axes,
    track: ProjectedCase,
    stroke_by_class: dict[str, int],
    handle_by_class: dict[str, Any],
) -> None:
    """Draw the shares of the classes of cost of one case."""
    years = track.sweep.points[YEAR]
    for share in track.shares:
        if share.name not in stroke_by_class:
            continue
        colour, marker, dashes = STROKES[stroke_by_class[share.name]]
        line_style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes}
        (line,) = axes.plot(
            years, 100 * share.share_by_year, markevery=_marker_step(len(years)), **line_style
        )
        axes.fill_between(
            years, 100 * share.low, 100 * share.high, color=colour, alpha=0.15, linewidth=0
        )
        handle_by_class.setdefault(share.name, line)
    axes.set_ylim(0, 100)
    _whole_years(axes)
    axes.set_xlabel("year")


def rates_figure(projection: Projection, spec: RatesPictureSpec) -> Figure:
    """Draw the points of each series that a projection uses, with the fitted level and its band up
    to the last year.
    """
    fit_and_remark_by_series: dict[str, tuple[FittedSeries, str]] = {}
    used_series_names = {
        rate.of for name in projection.titles for rate in used_rates(projection, name)
    }
    for trend in projection.trends:
        for name, rate in trend.rates.items():
            if name in used_series_names and isinstance(rate, SeriesRate):
                guess_text = f", a guess for {trend.kind}" if rate.assumed else ""
                fit_and_remark_by_series.setdefault(rate.fit.series.name, (rate.fit, guess_text))
    if not fit_and_remark_by_series:
        raise ModelError("no trend of this projection has series of points to draw")
    column_count = min(2, len(fit_and_remark_by_series))
    row_count = -(-len(fit_and_remark_by_series) // column_count)
    figure = new_figure(8.2, 0.6 + 2.4 * row_count)
    panels = figure.subplots(row_count, column_count, squeeze=False).ravel()
    for axes in panels[len(fit_and_remark_by_series) :]:
        axes.set_visible(False)
    for (fit, guess_text), axes in zip(fit_and_remark_by_series.values(), panels, strict=False):
        _draw_rate(axes, fit, float(projection.years[-1]))
        weak_text = ", weak" if fit.series.is_weak else ""
        axes.set_title(f"{fit.series.title}{weak_text}{guess_text}", fontsize=8)
    return with_title_and_legend(figure, spec.title)


def _draw_rate(axes: Axes, fit: FittedSeries, last_year: float) -> None:
    """Draw the points of one series, with the fitted level and its band."""
    series = fit.series
    years = np.linspace(float(fit.years[0]), max(last_year, float(fit.years[-1])), 60)
    mean, deviation = fit.predict(years)
    log_levels = [mean + band_side * NORMAL_90 * deviation for band_side in (-1, 0, 1)]
    if fit.log_limit is not None:
        log_levels = [np.minimum(levels, fit.log_limit) for levels in log_levels]
    low, middle, high = (np.exp(series.sign * levels) for levels in log_levels)
    axes.plot(years, middle, color=STROKES[0][0])
    axes.fill_between(years, low, high, color=STROKES[0][0], alpha=0.15, linewidth=0)
    points_apart = [point for point in series.points if point.apart]
    announced_points = [point for point in series.fitted_points if point.announced]
    for points, marker in (
        (series.measured_points, "o"),
        (announced_points, "^"),
        (points_apart, "x"),
    ):
        if points:
            point_years = [point.year for point in points]
            point_values = [point.value for point in points]
            axes.plot(
                point_years,
                point_values,
                marker,
                color=STROKES[1][0],
                markersize=4,
                linestyle="none",
            )
    _whole_years(axes)
    make_logarithmic(axes.yaxis, np.array([*low, *high, *(point.value for point in series.points)]))
    axes.set_ylabel(series.unit)


def _whole_years(axes: Axes) -> None:
    """Put the ticks of the horizontal axis at whole years only."""
    from matplotlib.ticker import MaxNLocator

    # Steps of 1, 2, 5 and 10 years reach the first and the last of the usual years.
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
