"""The picture of a choice: a limited value against the objective, at the points solved."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from slipstick.expression.nodes import Dimension
from slipstick.late import Array, dataclass, np
from slipstick.report.formatting import quantity
from slipstick.results.words import ONE_VALUE, Words
from slipstick.units import choose_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_LARGEST_RATIO_TO_LIMIT = 3.0
"""How many times the limit a picture reaches at most: near saturation a time has no end."""

_MOST_PANELS_IN_ROW = 3
"""How many cases a picture has side by side."""

_MOST_TITLE_LETTERS = 44  # letters in a line of the title of an axis


@dataclass(frozen=True, slots=True)
class SolvedChoices:
    """What is minimized, and the value that the first condition on answers limits, at the points
    that were solved for a case.

    Parameters
    ----------
    objective, limited_value : as written
    objective_unit, dimension : of the objective, and of the limited value
    objectives : at each point, in base units [points]
    values : the limited value with the ends of its interval, in base units [3, points]
    limits : of the value at each point, in base units [points]
    meets_all : whether the point meets all conditions [points]
    """

    objective: str
    limited_value: str
    objective_unit: str
    dimension: str
    objectives: Array
    values: Array
    limits: Array
    meets_all: NDArray[np.bool_]

    @property
    def has_one_limit(self) -> bool:
        """Whether the limit is the same at all points."""
        return bool(np.ptp(self.limits) <= 1e-9 * abs(float(self.limits[0])))


def choices_figure(choices: Mapping[str, SolvedChoices], title: str, words: Words) -> Figure:
    """Draw the limited value against the objective, in a panel for each case: a filled mark for
    each point that meets all conditions, a grey one where the interval of the value contains the
    limit, an open one for the others, and a ring around the chosen point.

    Parameters
    ----------
    choices : by case, of those with an answer; they share objective and conditions
    title : heading
    words : titles of the cases and values
    """
    from slipstick_pictures.look import axis_title, new_figure, with_title_and_legend

    if not choices:
        figure = new_figure(7.6, 4.2)
        axes = figure.subplots()
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no point has an answer", ha="center", transform=axes.transAxes)
        return with_title_and_legend(figure, title)
    first_choices = next(iter(choices.values()))
    lowest, highest = _vertical_range(choices.values())
    vertical_unit, vertical_factor = choose_unit([highest], Dimension.of(first_choices.dimension))
    objectives = np.concatenate([choice.objectives for choice in choices.values()])
    horizontal_unit, horizontal_factor = choose_unit(
        objectives.tolist(), Dimension.of(first_choices.objective_unit)
    )
    column_count = min(len(choices), _MOST_PANELS_IN_ROW)
    row_count = -(-len(choices) // column_count)
    figure = new_figure(
        7.6 if column_count == 1 else 3.0 * column_count + 1.6, 1.0 + 3.2 * row_count
    )
    panels = figure.subplots(
        row_count, column_count, sharex=True, sharey=True, squeeze=False
    ).ravel()
    margin_above = 0.1 * (highest - lowest) or vertical_factor
    panels[0].set_ylim(lowest / vertical_factor, (highest + margin_above) / vertical_factor)
    for axes, (case, choice) in zip(panels, choices.items(), strict=False):
        _draw_points(axes, choice, horizontal_factor, vertical_factor)
        if len(choices) > 1:
            axes.set_title(words.case(case), loc="left")
    for axes in panels[len(choices) :]:
        axes.set_axis_off()
    minimized_title = objective_title(first_choices.objective, words, "value that is minimized")
    figure.supxlabel(axis_title(minimized_title, horizontal_unit), fontsize=10)
    vertical_title = axis_title(words.formula(first_choices.limited_value), vertical_unit)
    figure.supylabel(textwrap.fill(vertical_title, _MOST_TITLE_LETTERS), fontsize=10)
    handles = {
        str(line.get_label()): line
        for axes in panels
        for line in axes.lines
        if not str(line.get_label()).startswith("_")
    }
    return with_title_and_legend(figure, title, "point", [*handles.values()], [*handles])


def _draw_points(
    axes: Axes, choice: SolvedChoices, horizontal_factor: float, vertical_factor: float
) -> None:
    """Draw the points of a case, a ring around the chosen one, and the limit if all have the same.

    Parameters
    ----------
    axes : of the panel
    choice : of the case
    horizontal_factor, vertical_factor : of the units of the objective and of the limited value
    """
    from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit

    horizontal_values, (middle_values, low_ends, high_ends) = (
        choice.objectives / horizontal_factor,
        choice.values / vertical_factor,
    )
    limit = float(choice.limits[0])
    is_undecided = (
        choice.has_one_limit
        & ~choice.meets_all
        & (choice.values[1] < limit)
        & (limit < choice.values[2])
    )
    for is_drawn, fill_colour, label in (
        (~choice.meets_all & ~is_undecided, "white", "fails"),
        (is_undecided, "0.7", "undecided"),
        (choice.meets_all, "black", "meets all conditions"),
    ):
        style: dict[str, Any] = {"color": "black", "markerfacecolor": fill_colour, "label": label}
        if is_drawn.any():
            axes.plot(
                horizontal_values[is_drawn], middle_values[is_drawn], "o", markersize=5, **style
            )
    # The points are no curve, so that each has its own interval and no band.
    has_interval = low_ends < high_ends
    axes.vlines(
        horizontal_values[has_interval],
        low_ends[has_interval],
        high_ends[has_interval],
        color="0.6",
        linewidth=1.0,
        zorder=0,
    )
    if choice.meets_all.any():
        best_index = int(np.argmin(np.where(choice.meets_all, choice.objectives, np.inf)))
        ring_style: dict[str, Any] = {
            "color": LIMIT_COLOUR,
            "markerfacecolor": "none",
            "label": "chosen",
        }
        axes.plot(
            horizontal_values[best_index],
            middle_values[best_index],
            "o",
            markersize=12,
            **ring_style,
        )
    if choice.has_one_limit:
        points = [*axes.lines]
        axes.axhline(
            limit / vertical_factor, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3))
        )
        write_limit(
            axes, limit / vertical_factor, f"limit {quantity(limit, choice.dimension)}", points
        )


def _vertical_range(choices: Collection[SolvedChoices]) -> tuple[float, float]:
    """Return the ends of the vertical axis: from 0 or the smallest value to somewhat above the
    highest limit.
    """
    values = np.concatenate([choice.values[0] for choice in choices])
    values = values[np.isfinite(values)]  # at a saturated resource a time has none
    highest = float(values.max())
    limit = max(float(choice.limits[0]) for choice in choices)
    if limit > 0 and all(choice.has_one_limit for choice in choices):
        highest = max(limit, min(highest, _LARGEST_RATIO_TO_LIMIT * limit))
    return min(0.0, float(values.min())), highest


def objective_title(objective: str, words: Words, short_title: str) -> str:
    """Return the title of the axis of an objective: a value or a short formula in words; for a
    longer formula, `short_title`.
    """
    title = words.formula(objective)
    is_short = re.fullmatch(ONE_VALUE, objective) or len(title) <= _MOST_TITLE_LETTERS
    return title if is_short else short_title
