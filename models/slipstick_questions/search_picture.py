"""The picture of a search: both sides of a condition along what is searched."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.expression.nodes import Dimension
from slipstick.late import Array, dataclass, np
from slipstick.report.formatting import quantity
from slipstick.results.words import Words
from slipstick.schema.kinds.study import YEAR
from slipstick.units import choose_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LARGEST_RATIO_TO_LIMIT = 3.0
"""How many times the limit a picture reaches at most: near saturation a time has no end."""

_MOST_TITLE_LETTERS = 44  # letters in a line of the title of an axis


@dataclass(frozen=True, slots=True)
class SearchCurves:
    """Both sides of the comparison that decides a condition, for one case.

    Parameters
    ----------
    path, unit : the quantity that is varied, or year, and its base unit
    left_side : of the part, as written
    dimension : of both sides
    places : where the case was solved
    left, right : values of the sides with the ends of their intervals [3, places]
    is_logarithmic : the places are spread evenly by their ratios
    """

    path: str
    unit: str
    left_side: str
    dimension: str
    places: Array
    left: Array
    right: Array
    is_logarithmic: bool


def search_figure(curves: Mapping[str, SearchCurves], title: str, words: Words) -> Figure:
    """Draw the left side of a condition against the varied quantity, with a line for each case. The
    right side is drawn as the limit, or, if it changes, as a thin line for each case.

    Parameters
    ----------
    curves : of each case
    title : heading
    words : titles of the cases, and meanings
    """
    from slipstick_pictures.look import (
        axis_title,
        draw_intervals,
        draw_style,
        new_figure,
        stroke,
        with_title_and_legend,
    )
    from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit

    curves_listed = list(curves.values())
    first_curves = curves_listed[0]
    is_single = len(curves_listed) == 1
    limits = _constant_limits(curves)
    low, high = _vertical_range(curves_listed, limits)
    vertical_unit, vertical_factor = choose_unit([low, high], Dimension.of(first_curves.dimension))
    horizontal_unit, horizontal_factor = choose_unit(
        first_curves.places.tolist(), Dimension.of(first_curves.unit)
    )
    figure = new_figure(6.6 if is_single else 8.6, 4.2)
    axes = figure.subplots()
    for index, (case, curve) in enumerate(curves.items()):
        line_style = {**stroke(index), "marker": ""}
        horizontal_values, (vertical_values, low_end, high_end) = (
            curve.places / horizontal_factor,
            curve.left / vertical_factor,
        )
        axes.plot(
            horizontal_values,
            vertical_values,
            label=words.case(case),
            drawstyle=draw_style(vertical_values),
            **line_style,
        )
        draw_intervals(
            axes, horizontal_values, vertical_values, low_end, high_end, line_style["color"]
        )
        if not limits:
            axes.plot(
                horizontal_values,
                curve.right[0] / vertical_factor,
                **{**line_style, "linewidth": 0.8},
            )
    _scale_horizontal_axis(axes, first_curves, horizontal_factor)
    axes.set_ylabel(
        textwrap.fill(
            axis_title(_title_of_vertical_axis(first_curves, words), vertical_unit),
            _MOST_TITLE_LETTERS,
        )
    )
    horizontal_title = "year" if first_curves.path == YEAR else words.quantity(first_curves.path)
    axes.set_xlabel(
        textwrap.fill(axis_title(horizontal_title, horizontal_unit), 2 * _MOST_TITLE_LETTERS)
    )
    axes.set_ylim(low / vertical_factor, high / vertical_factor)
    lines_drawn = [*axes.lines]
    for limit, case in limits.items():
        axes.axhline(
            limit / vertical_factor, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3))
        )
        owner_phrase = f" of {words.case(case)}" if len(limits) > 1 else ""
        limit_text = f"limit{owner_phrase} {quantity(limit, first_curves.dimension)}"
        write_limit(axes, limit / vertical_factor, limit_text, lines_drawn)
    handles, labels = axes.get_legend_handles_labels()
    return with_title_and_legend(figure, title, *(() if is_single else ("case", handles, labels)))


def _constant_limits(curves: Mapping[str, SearchCurves]) -> dict[float, str]:
    """Return the right sides of the condition, each with the name of its case; nothing if one of
    them changes along the axis.
    """
    limits: dict[float, str] = {}
    for case, curve in curves.items():
        right_sides = np.unique(curve.right[0][np.isfinite(curve.right[0])])
        if len(right_sides) > 1:
            return {}
        limits |= dict.fromkeys(right_sides.tolist(), case)
    return limits


def _vertical_range(
    curves: Sequence[SearchCurves], limits: Collection[float]
) -> tuple[float, float]:
    """Return the ends of the vertical axis: from 0, or below the smallest value, to somewhat above
    the highest limit.
    """
    side_values = [column[0] for curve in curves for column in (curve.left, curve.right)]
    values = np.concatenate(side_values)
    values = values[np.isfinite(values)]
    low = float(values.min(initial=0.0))
    high = float(values.max(initial=0.0))
    if (ceiling := _LARGEST_RATIO_TO_LIMIT * max(limits, default=0.0)) > 0:
        high = min(high, ceiling)
    return 1.05 * low, 1.05 * high if high > low else low + 1.0


def _title_of_vertical_axis(curve: SearchCurves, words: Words) -> str:
    """Return the title of the vertical axis: the left side of the condition in words."""
    return words.formula(curve.left_side)


def _scale_horizontal_axis(axes: Axes, curve: SearchCurves, factor: float) -> None:
    """Set the scale and the ticks of the horizontal axis."""
    from slipstick_pictures.look import make_logarithmic, set_plain_ticks

    places = curve.places / factor
    if curve.is_logarithmic and places[0] > 0:
        make_logarithmic(axes.xaxis, places)
    elif curve.path != YEAR:
        set_plain_ticks(axes.xaxis, places)
