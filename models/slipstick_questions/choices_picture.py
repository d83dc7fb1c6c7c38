"""The picture of a choice: a limited value against the objective, at the points solved."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipstick.expression.nodes import Dimension
from slipstick.late import Array, np
from slipstick.report.formatting import quantity
from slipstick.results.words import ONE_VALUE, Words
from slipstick.units import choose_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_ABOVE_THE_LIMIT = 3.0
"""How many times the limit a picture reaches at most: near saturation a time has no end."""

_LONGEST_TITLE = 44  # letters in a line of the title of an axis


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


def choices_figure(choices: SolvedChoices | None, title: str, words: Words) -> Figure:
    """Draw the limited value against the objective: a filled mark for each point that meets all
    conditions, an open one for the others, and a ring around the chosen point.

    Parameters
    ----------
    choices : of one case; None if none of its points has an answer
    title : heading
    words : titles of the values
    """
    from slipstick_pictures.look import axis_title, draw_intervals, sheet, titled
    from slipstick_pictures.pictures import LIMIT_COLOUR, write_limit

    figure = sheet(7.6, 4.2)
    axes = figure.subplots()
    if choices is None:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no point has an answer", ha="center", transform=axes.transAxes)
        return titled(figure, title)
    limit = float(choices.limits[0])
    has_one_limit = bool(np.ptp(choices.limits) <= 1e-9 * abs(limit))
    highest = float(choices.values[0].max())
    lowest = min(0.0, float(choices.values[0].min()))
    if has_one_limit and limit > 0:
        highest = max(limit, min(highest, _ABOVE_THE_LIMIT * limit))
    unit, factor = choose_unit([highest], Dimension.of(choices.dimension))
    across_unit, across_factor = choose_unit(
        choices.objectives.tolist(), Dimension.of(choices.objective_unit)
    )
    across, (value, low, high) = choices.objectives / across_factor, choices.values / factor
    for meets, fill, label in ((True, "black", "meets all conditions"), (False, "white", "fails")):
        drawn = choices.meets_all == meets
        style: dict[str, Any] = {"color": "black", "markerfacecolor": fill, "label": label}
        if drawn.any():
            axes.plot(across[drawn], value[drawn], "o", markersize=5, **style)
    draw_intervals(axes, across, value, low, high)
    if choices.meets_all.any():
        best = int(np.argmin(np.where(choices.meets_all, choices.objectives, np.inf)))
        ring: dict[str, Any] = {"color": LIMIT_COLOUR, "markerfacecolor": "none", "label": "chosen"}
        axes.plot(across[best], value[best], "o", markersize=12, **ring)
    has_name = re.fullmatch(ONE_VALUE, choices.objective)
    objective_title = words.value(choices.objective) if has_name else "value that is minimized"
    axes.set_xlabel(axis_title(objective_title, across_unit))
    subject = axis_title(_title(choices.limited_value, words), unit)
    axes.set_ylabel(textwrap.fill(subject, _LONGEST_TITLE))
    margin = 0.1 * (highest - lowest) or factor
    axes.set_ylim(lowest / factor, (highest + margin) / factor)
    if has_one_limit:
        axes.axhline(limit / factor, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3)))
        text = f"limit {quantity(limit, choices.dimension)}"
        write_limit(axes, limit / factor, text, [*axes.lines])
    return titled(figure, title, "point", *axes.get_legend_handles_labels())


def _title(formula: str, words: Words) -> str:
    """Return the title of a value, or a formula of values in words."""
    return words.value(formula) if re.fullmatch(ONE_VALUE, formula) else words.condition(formula)
