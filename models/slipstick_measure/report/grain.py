"""Tables and pictures of a grain of the user's choice that was measured on this host."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slipstick.expression.nodes import Dimension
from slipstick.report.formatting import TextBlock, TextTable, plain_decimal
from slipstick.units import show
from slipstick_measure.results import GRAIN_FIGURES, GrainFigure, GrainPoint
from slipstick_pictures.look import (
    draw_intervals,
    new_figure,
    stroke,
    with_commas,
    with_title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

X_TITLES = {
    "compute": "units of computing of a grain",
    "competitors": "competitors",
    "critical": "units of computing in the critical section",
}
LINE_TITLES = {
    "access": "accesses",
    "elements": "elements",
    "lock": "lock",
    "other_lock": "competitors' lock",
}


def grain_blocks(points: Sequence[GrainPoint]) -> Iterator[TextBlock]:
    """Yield the title and the table of points of each figure: the time of a grain, and the
    throughput or the grain efficiency with its interval.
    """
    for figure in GRAIN_FIGURES:
        rows = [
            [
                plain_decimal(point.x),
                point.line,
                show(point.time, Dimension.of("s")),
                *(_value_text(figure, end) for end in point[4:]),
            ]
            for point in points
            if point.figure == figure.name
        ]
        if rows:
            value_heading = "million a second" if figure.is_throughput else "T0 / TN"
            headings = [
                figure.x_input,
                LINE_TITLES[figure.line_input],
                "time of a grain",
                value_heading,
                "from",
                "to",
            ]
            yield f"{figure.title}:"
            yield TextTable(headings, rows, (0, 2, 3, 4, 5))


def _value_text(figure: GrainFigure, value: float) -> str:
    """Return a value of a figure as text: accesses a second, or a grain efficiency."""
    return f"{value / 1e6:.4g}" if figure.is_throughput else f"{value:.3f}"


def write_grain(
    points: Sequence[GrainPoint], title: str, core_count: int, folder: Path
) -> list[Path]:
    """Write ``points.csv`` and a picture of each figure that has points.

    Parameters
    ----------
    points : as measured
    title : of the grain
    core_count : that ran it
    folder : to write into
    """
    from slipstick_pictures.files import write_picture

    folder.mkdir(parents=True, exist_ok=True)
    table_path = folder / "points.csv"
    with table_path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*GrainPoint._fields])
        writer.writerows(points)
    paths = [table_path]
    for figure in GRAIN_FIGURES:
        points_of_figure = [point for point in points if point.figure == figure.name]
        if points_of_figure:
            path = folder / f"{figure.name}.png"
            heading = f"{figure.title}, {core_count} cores: {title}"
            write_picture(partial(draw_grain, points_of_figure, heading), path)
            paths.append(path)
    return paths


def draw_grain(points: Sequence[GrainPoint], title: str) -> Figure:
    """Draw the points of one figure, with a line for each value of its second variable.

    Parameters
    ----------
    points : of one figure
    title : heading
    """
    figure = next(figure for figure in GRAIN_FIGURES if figure.name == points[0].figure)
    picture = new_figure(7.5, 4.2)
    axes = picture.subplots()
    line_names = list(dict.fromkeys(point.line for point in points))
    unit_size = 1e6 if figure.is_throughput else 1.0
    for line_index, line_name in enumerate(line_names):
        line_x_values, line_values, low_ends, high_ends = (
            np.array(values, dtype=float)
            for values in zip(
                *[
                    (
                        point.x,
                        point.value / unit_size,
                        point.low / unit_size,
                        point.high / unit_size,
                    )
                    for point in points
                    if point.line == line_name
                ],
                strict=True,
            )
        )
        axes.plot(line_x_values, line_values, label=with_commas(line_name), **stroke(line_index))
        draw_intervals(
            axes, line_x_values, line_values, low_ends, high_ends, stroke(line_index)["color"]
        )
    if figure.x_input != "competitors":
        axes.set_xscale("symlog", linthresh=4)
    x_values = sorted({point.x for point in points})
    axes.set_xticks(x_values, [plain_decimal(x_value) for x_value in x_values])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(X_TITLES[figure.x_input])
    axes.set_ylabel(
        "million accesses a second" if figure.is_throughput else "grain efficiency T0 / TN"
    )
    axes.set_ylim(bottom=0)
    handles, labels = axes.get_legend_handles_labels()
    return with_title_and_legend(picture, title, LINE_TITLES[figure.line_input], handles, labels)
