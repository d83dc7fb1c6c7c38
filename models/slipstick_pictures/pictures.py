"""Pictures of results: bars, lines and maps of a study. The result of a question draws its own.
Their look is in `slipstick_pictures.look`.
"""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slipstick.answer import Answer
from slipstick.errors import DoubtfulRate, InputError, look_up
from slipstick.expression.nodes import Dimension
from slipstick.late import Array, NDArray, dataclass, np, replace
from slipstick.report.formatting import (
    UNKNOWN,
    axis_value,
    capitalized,
    plain_decimal,
    quantity,
    short_path,
)
from slipstick.report.html import NARROW
from slipstick.results.study import Results
from slipstick.results.sweep import Axis, Sweep, split_name
from slipstick.results.words import CLASS_TITLES, NO_WORDS, Words
from slipstick.units import choose_unit
from slipstick.vocabulary import TECHNOLOGIES
from slipstick_pictures.look import (
    MOST_LETTERS,
    MOST_MARKERS,
    axis_title,
    common_parts_text,
    draw_intervals,
    draw_style,
    fill_style,
    fills_of,
    ink_colour_on,
    is_round,
    labels_without_common_parts,
    look,
    make_logarithmic,
    make_narrow,
    new_figure,
    part_label,
    save_figure,
    set_plain_ticks,
    stroke,
    stroke_of_method,
    strokes_of_causes,
    style_of_method,
    tilt_labels,
    with_commas,
    with_title_and_legend,
    write_names_along,
    write_remark,
)
from slipstick_pictures.timeline import draw_phase, draw_steps, draw_timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from slipstick.schema.kinds.study import BarsSpec, LinesSpec, MapSpec, PictureSpec

    Indices = NDArray[np.int64]


def fill_indices_by_label(results: Results, pictures: Sequence[PictureSpec]) -> dict[str, int]:
    """Return the index of the fill of each component of a study and of each label of its stacked
    bars, in the order in which all pictures stack them.

    Useful components come first, those of cases in their order, others by size; a label of one
    component has the fill of the component.

    Parameters
    ----------
    results : of a study
    pictures : that it draws
    """
    answers = list(results.named_answers().values())
    useful_components = dict.fromkeys(name for answer in answers for name in answer.useful)
    stack_specs = [spec.stack for spec in pictures if spec.kind == "bars"]
    component_names: list[str] = []
    # A picture of the work in a trace draws components too.
    shows_components = (
        picture.kind in ("bands", "timeline") or getattr(picture, "view", "") == "work"
        for picture in pictures
    )
    if "component" in stack_specs or any(shows_components):
        component_names += [name for answer in results.cases.values() for name in answer.account]
        component_names += [
            name
            for answer in answers
            for name in sorted(answer.account, key=lambda name: -answer.account[name])
        ]
        component_names += [
            timeline.component(span)
            for timeline in results.timelines.values()
            for span in timeline.spans
        ]
        tables = [table for question in results.questions.values() for table in question.tables()]
        kinds_and_labels = [split_name(column.name) for table in tables for column in table.columns]
        component_names += [
            label_inside for value_kind, label_inside in kinds_and_labels if value_kind == "account"
        ]
        component_names = [
            name for name in useful_components if name in component_names
        ] + component_names
    if "technology" in stack_specs:
        component_names += [
            name for name in TECHNOLOGIES if any(answer.technology.get(name) for answer in answers)
        ]
    fill_by_label = fills_of(component_names)
    for stack_spec in stack_specs:
        if isinstance(stack_spec, dict):
            component_by_label = {
                label: _component_of_label(value_names, useful_components)
                for label, value_names in stack_spec.items()
            }
            known_component_by_label = {
                label: name for label, name in component_by_label.items() if name in fill_by_label
            }
            fill_by_label |= {
                label: fill_by_label[name]
                for label, name in known_component_by_label.items()
                if label not in fill_by_label
            }
            # Labels of one picture differ; those of another may have the same fill of a cause.
            fill_by_label |= fills_of(stack_spec, fill_by_label)
    return fill_by_label


def _component_of_label(value_names: Sequence[str], useful_components: Iterable[str]) -> str:
    """Return the component that a label stands for; empty if it stands for several components or
    none.
    """
    value_kind, label_inside = split_name(value_names[0])
    if len(value_names) > 1 or value_kind not in ("account", "processors_lost", "speedup"):
        return ""
    return next(iter(useful_components), "") if value_kind == "speedup" else label_inside


_UPRIGHT_LETTER_WIDTH = 0.085  # width of a letter of a tick's label [inch]
_MOST_LINES = 4  # of an upright title of a bar
_LETTERS_OF_TILTED_LINE = 26  # letters of a line of a tilted title
_BAR_WIDTH = 0.62  # width of a bar, as a part of its place
_MOST_BARS_IN_ROW = 10  # more bars stand in several rows, to be read at the width of a page


@dataclass(frozen=True, slots=True)
class _Bars:
    """Stacked bars, ready to be drawn.

    Parameters
    ----------
    fills : fill of each part, from the bottom up
    heights : of the parts, in the unit of the axis [parts, cases]
    interval_distances : how far the ends of intervals are below and above the total, in that unit
        [cases, 2]
    totals : written above the bars
    titles : of the cases
    axis_title : title of the axis
    """

    fills: Mapping[str, int]
    heights: Array
    interval_distances: Array
    totals: list[str]
    titles: Sequence[str]
    axis_title: str

    @property
    def highest_end(self) -> float:
        """The highest end of an interval."""
        reach_above = np.where(
            np.isfinite(self.interval_distances[:, 1]), self.interval_distances[:, 1], 0.0
        )
        return float(max((self.heights.sum(axis=0) + reach_above).max(), 1e-12))


def _draw_bars(results: Results, spec: BarsSpec, fill_by_label: Mapping[str, int]) -> Figure:
    """Draw one stacked bar for each case with its total above it, or areas over a number of the
    cases.
    """
    bars = _stacked_bars(results, spec, fill_by_label)
    if spec.along:
        return _draw_areas(results, spec, bars)
    bars_in_row = _bar_count_in_row(spec.cases)
    row_count = -(-len(spec.cases) // bars_in_row)
    short_titles, common_parts = labels_without_common_parts(bars.titles)
    figure, titles, is_tilted = _sheet_of_bars(short_titles, bars_in_row, row_count)
    for row, axes in enumerate(figure.subplots(row_count, 1, sharey=True, squeeze=False)[:, 0]):
        row_slice = slice(row * bars_in_row, (row + 1) * bars_in_row)
        _draw_stack(axes, bars.heights[:, row_slice], bars.fills)
        tops = _draw_bar_intervals(
            axes, bars.interval_distances[row_slice], bars.heights[:, row_slice].sum(axis=0)
        )
        _write_totals(axes, tops, bars.totals[row_slice])
        axes.set_ylabel(bars.axis_title)
        axes.set_xticks(range(len(titles[row_slice])), titles[row_slice])
        axes.set_xlim(-0.6, bars_in_row - 0.4)
        axes.set_ylim(0, 1.1 * bars.highest_end)
        if is_tilted:
            tilt_labels(axes)
    axes.set_xlabel(common_parts_text(common_parts, spec.title))
    return _with_legend_of_parts(figure, axes, spec)


def _with_legend_of_parts(figure: Figure, axes: Axes, spec: BarsSpec) -> Figure:
    """Return a figure with its title and the legend of the parts, which reads from the top down
    like a bar.
    """
    handles, labels = axes.get_legend_handles_labels()
    stack = spec.stack if isinstance(spec.stack, str) else "part"
    legend = stack.replace("technology", "technology class")
    return with_title_and_legend(figure, spec.title, legend, handles[::-1], labels[::-1])


def _draw_areas(results: Results, spec: BarsSpec, bars: _Bars) -> Figure:
    """Draw the parts of the bars as areas over a setting of the cases that is a number."""
    x_values = np.array([float(results.settings[case][spec.along]) for case in spec.cases])
    point_order = np.argsort(x_values, kind="stable")
    figure = new_figure(6.8, 4.4)
    axes = figure.subplots()
    area_bottom = np.zeros(len(x_values))
    for (label, fill), heights in zip(
        bars.fills.items(), bars.heights[:, point_order], strict=True
    ):
        area_top = area_bottom + heights
        axes.fill_between(
            x_values[point_order],
            area_bottom,
            area_top,
            label=part_label(label),
            **fill_style(fill),
        )
        area_bottom = area_top
    axes.set_xlim(x_values.min(), x_values.max())
    axes.set_ylim(0, bars.highest_end)
    set_plain_ticks(axes.xaxis, x_values[point_order])
    axes.set_xlabel(axis_title(_title_of_axis(spec.along, results.words), "1"))
    axes.set_ylabel(bars.axis_title)
    low, high = (
        area_bottom + sign * bars.interval_distances[point_order, reach_end]
        for reach_end, sign in ((0, -1), (1, 1))
    )
    draw_intervals(axes, x_values[point_order], area_bottom, low, high)
    return _with_legend_of_parts(figure, axes, spec)


def _stacked_bars(results: Results, spec: BarsSpec, fill_by_label: Mapping[str, int]) -> _Bars:
    """Return the bars of a picture, ready to be drawn."""
    heights_by_case = stacked_heights(results, spec)
    names_shown = {
        name for bar in heights_by_case.values() for name, height in bar.items() if height
    }
    if isinstance(spec.stack, str):
        unit = "s"
        part_names = [name for name in fill_by_label if name in names_shown]
    else:
        unit = results.unit(next(iter(spec.stack.values()))[0])
        part_names = [*spec.stack]
    fill_by_part = {name: fill_by_label[name] for name in part_names if name in names_shown}
    part_heights = np.array(
        [[heights_by_case[case].get(label, 0.0) for case in spec.cases] for label in fill_by_part]
    ).reshape(len(fill_by_part), len(spec.cases))
    if spec.stack == "technology":
        fill_by_part = {CLASS_TITLES.get(name, name): fill for name, fill in fill_by_part.items()}
    totals = part_heights.sum(axis=0)
    titles = _bar_titles(results, spec.cases)
    value_name = "time" if unit == "s" else _sum_in_words(spec)
    if spec.share:
        heights = (
            np.divide(part_heights, totals, out=np.zeros_like(part_heights), where=totals > 0)
            / 0.01
        )
        # What is shared out is certain: all of it.
        no_intervals = np.zeros((len(spec.cases), 2))
        total_texts = [quantity(total, unit) for total in totals.tolist()]
        vertical_title = axis_title(f"share of the {value_name}", "%")
        return _Bars(fill_by_part, heights, no_intervals, total_texts, titles, vertical_title)
    unit_name, unit_factor = _unit_of_axis(totals, unit)
    interval_distances = (
        np.array([_interval_distances(results.named_answer(case), spec) for case in spec.cases])
        / unit_factor
    )
    total_texts = [
        f"{plain_decimal(total / unit_factor)} {unit_name.removeprefix('1')}".rstrip()
        for total in totals.tolist()
    ]
    vertical_title = axis_title(value_name, unit_name)
    return _Bars(
        fill_by_part,
        part_heights / unit_factor,
        interval_distances,
        total_texts,
        titles,
        vertical_title,
    )


def _bar_titles(results: Results, cases: Sequence[str]) -> list[str]:
    """Return the titles of bars; for measured runs the number of processors, with the name of the
    measurement if there are several.
    """
    run_and_count_by_case: dict[str, tuple[str, str]] = {}
    for case in cases:
        processor_count = results.named_answer(case).point.get("p")
        if not isinstance(processor_count, int | float) or case in results.words.titles:
            continue
        if case.endswith(suffix := f"-{processor_count:g}"):
            run_name = results.words.case(case.removesuffix(suffix))
            run_and_count_by_case[case] = run_name, results.words.member_count(processor_count)
    has_several_runs = len({run_name for run_name, _ in run_and_count_by_case.values()}) > 1 or len(
        run_and_count_by_case
    ) < len(cases)
    return [
        (
            ", ".join(run_and_count_by_case[case])
            if has_several_runs
            else run_and_count_by_case[case][1]
        )
        if case in run_and_count_by_case
        else results.words.case(case)
        for case in cases
    ]


def _sheet_of_bars(
    titles: Sequence[str], bars_in_row: int, row_count: int
) -> tuple[Figure, list[str], bool]:
    """Return a figure for rows of bars, the lines of each title, and whether the titles are tilted
    to have room.
    """
    # Wider pictures have letters too small at the width of a page.
    width_of_bar = max(0.72, min(1.5, 7.0 / bars_in_row))
    letters_per_line = int(width_of_bar / _UPRIGHT_LETTER_WIDTH)
    wrapped_titles = [
        textwrap.wrap(title, letters_per_line, break_long_words=False) for title in titles
    ]
    is_tilted = max(map(len, wrapped_titles)) > _MOST_LINES or any(
        len(line) > letters_per_line for lines in wrapped_titles for line in lines
    )
    if is_tilted:
        wrapped_titles = [textwrap.wrap(title, _LETTERS_OF_TILTED_LINE) for title in titles]
    longest_line_width = (
        max(len(line) for lines in wrapped_titles for line in lines) * _UPRIGHT_LETTER_WIDTH
    )
    most_lines = max(map(len, wrapped_titles))
    height = 4.2 if row_count == 1 else 3.2
    height_below = 0.6 * longest_line_width if is_tilted else 0.17 * (most_lines - 1)
    figure_size = max(4.6, 3.0 + width_of_bar * bars_in_row), row_count * (height + height_below)
    return new_figure(*figure_size), ["\n".join(lines) for lines in wrapped_titles], is_tilted


def _unit_of_axis(values: Array, unit: str) -> tuple[str, float]:
    """Return the name and the factor of the unit of an axis. Minutes begin at ten, because sources
    give times of a few minutes in seconds.
    """
    finite_values = values[np.isfinite(values)]
    chosen_unit = choose_unit(finite_values.tolist(), Dimension.of(unit))
    if chosen_unit[0] == "min" and finite_values.max() < 600:
        return "s", 1.0
    return chosen_unit


def _bar_count_in_row(cases: Sequence[str]) -> int:
    """Return the number of bars in a row, if possible so that a case and those whose names begin
    with its name share a row.
    """
    if len(cases) <= _MOST_BARS_IN_ROW:
        return len(cases)
    even_count = -(-len(cases) // -(-len(cases) // _MOST_BARS_IN_ROW))
    suitable_counts = (
        count
        for count in (even_count, *range(_MOST_BARS_IN_ROW, _MOST_BARS_IN_ROW // 2, -1))
        if not any(
            cases[first_of_row].startswith(f"{earlier_case}-")
            for first_of_row in range(count, len(cases), count)
            for earlier_case in cases[:first_of_row]
        )
    )
    return next(suitable_counts, even_count)


def _sum_in_words(spec: BarsSpec) -> str:
    """Return the title of the axis of bars that are not times: processors, the common kind of their
    values, or sum.
    """
    names = (
        []
        if isinstance(spec.stack, str)
        else [name for names in spec.stack.values() for name in names]
    )
    kinds = {split_name(name)[0] for name in names}
    if kinds <= {"speedup", "concurrency", "processors_lost"}:
        return "processors"
    return kinds.pop().replace("_", " ") if len(kinds) == 1 else "sum"


def stacked_heights(results: Results, spec: BarsSpec) -> dict[str, dict[str, float]]:
    """Return the parts of each bar by label, in base units."""
    return {case: _heights_by_label(results.named_answer(case), spec) for case in spec.cases}


def _value_names_by_part(answer: Answer, spec: BarsSpec) -> Mapping[str, Sequence[str]]:
    """Return the names of the values that each part of a bar adds up, by label."""
    if not isinstance(spec.stack, str):
        return spec.stack
    kind, stack_parts = (
        ("account", answer.account)
        if spec.stack == "component"
        else ("technology", answer.technology)
    )
    return {label: [f"{kind}[{label}]"] for label in stack_parts}


def _heights_by_label(answer: Answer, spec: BarsSpec) -> dict[str, float]:
    """Return the height of each part of a bar in base units, by label."""
    values_by_label = {
        label: map(answer.find, names)
        for label, names in _value_names_by_part(answer, spec).items()
    }
    return {
        label: sum(value for value in part_values if value is not None) * spec.times
        for label, part_values in values_by_label.items()
    }


def _interval_distances(answer: Answer, spec: BarsSpec) -> tuple[float, float]:
    """Return the distances from a bar's total to the lower and the upper end of its interval, from
    the time or from all parts together.
    """
    is_time = isinstance(spec.stack, str) and "time" in answer.values
    names = (
        ["time"]
        if is_time
        else [name for names in _value_names_by_part(answer, spec).values() for name in names]
    )
    distances = []
    for name in names:
        value, (low, high) = answer.find(name), answer.ends(name)
        if value is not None and low is not None and high is not None:
            distances.append((value - low, high - value))
    below, above = (
        (sum(end_distances) * spec.times for end_distances in zip(*distances, strict=True))
        if distances
        else (0, 0)
    )
    return below, above


def _draw_bar_intervals(axes: Axes, interval_distances: Array, tops: Array) -> Array:
    """Draw the interval of each total that has one. Return the upper ends."""
    low = tops - interval_distances[:, 0]
    high = tops + interval_distances[:, 1]
    draw_intervals(axes, np.arange(float(len(tops))), tops, low, high)
    return np.where(np.isfinite(high), high, tops)


def _draw_stack(axes: Axes, heights: Array, fills: Mapping[str, int]) -> None:
    """Draw the parts of bars one above the other."""
    bar_bottom = np.zeros(heights.shape[1])
    for (label, fill), heights_of_part in zip(fills.items(), heights, strict=True):
        axes.bar(
            np.arange(len(heights_of_part)),
            heights_of_part,
            _BAR_WIDTH,
            bottom=bar_bottom,
            label=part_label(label),
            **fill_style(fill),
        )
        bar_bottom = bar_bottom + heights_of_part


def _write_totals(axes: Axes, tops: Array, total_texts: list[str]) -> None:
    """Write the total of each bar above it."""
    for index, (top, text) in enumerate(zip(tops, total_texts, strict=True)):
        axes.annotate(
            text,
            (index, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
        )


_WORDS_OF_KINDS = {
    "account": "time of a processor",
    "technology": "time",
    "step": "time",
    "once": "time",
}
_METHOD_AXIS = "method"
LIMIT_COLOUR = "#a00000"  # colour of a limit
_LONGEST_AXIS_TITLE = 44  # beside a panel; a longer one is folded [1]
_LONGEST_LEGEND_TITLE = 26  # a longer one is folded [1]
_PANEL_WIDTH = 6.0  # of the panels [inch]; the legend is beside them
_MOST_LABELS_IN_COLUMN = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a picture, in base units or in places of names, ordered along x."""

    value_name: str
    unit: str  # empty for relative lines
    label: str
    x: Array
    y: Array
    low: Array  # ends of the interval of each y; not a number where there is none
    high: Array
    method: str = ""  # empty where all are drawn by one


def _draw_lines(results: Results, spec: LinesSpec) -> Figure:
    """Draw values over one axis, with a line for each case or value of another axis; values of
    different units have panels of their own.
    """
    sweep = results.sweep(spec.sweep)
    lines = lines_of(sweep, spec, results.words)
    labels = list(dict.fromkeys(line.label for line in lines))
    styles = _styles_of(labels, lines)
    methods = [method for method in dict.fromkeys(line.method for line in lines) if method]
    if len(methods) == 1:  # nothing to tell apart
        lines = [replace(line, method="") for line in lines]
        methods = []
    units = list(dict.fromkeys(line.unit for line in lines)) or [""]
    legend_columns = 1 + (len(labels) + len(methods) - 1) // _MOST_LABELS_IN_COLUMN
    legend_title = textwrap.fill(_legend_title(spec, labels, results.words), _LONGEST_LEGEND_TITLE)
    x_axis = _HorizontalAxis.of(sweep.axis(spec.x), spec, results.words)
    has_logarithmic_values = {
        unit: _has_logarithmic_values(spec, x_axis, [line for line in lines if line.unit == unit])
        for unit in units
    }
    notes_on_labels = notes_on_coinciding_lines(
        lines, is_logarithmic=all(has_logarithmic_values.values())
    )
    longest_label = max(
        len(label + notes_on_labels.get(label, ""))
        for label in (*labels, *methods, *legend_title.split("\n"))
    )
    # A single label needs no legend, because the title names it.
    has_one_label = len(labels) == 1 and not methods and not spec.series
    legend_width = (
        0.0 if has_one_label else min(0.7 + 0.07 * longest_label, 4.0) * max(1, legend_columns)
    )
    figure = new_figure(_PANEL_WIDTH + legend_width, 1.0 + 3.2 * len(units))
    panels = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for unit, axes in zip(units, panels, strict=True):
        lines_drawn = [line for line in lines if line.unit == unit]
        limits = {} if spec.relative or spec.against else results.words.limits
        words = replace(results.words, limits=limits)
        is_logarithmic = has_logarithmic_values[unit]
        _draw_panel(axes, x_axis, lines_drawn, styles, methods, spec, words, is_logarithmic)
    x_axis.write_on(panels[-1])
    handles = {} if has_one_label else _legend_handles(styles, methods)
    handles = {label + notes_on_labels.get(label, ""): handle for label, handle in handles.items()}
    return with_title_and_legend(
        figure, spec.title, legend_title, list(handles.values()), list(handles), legend_columns
    )


def _legend_title(spec: LinesSpec, labels: Sequence[str], words: Words) -> str:
    """Return what the labels of lines are: values of a series, values that are asked for, or
    cases.
    """
    if spec.series:
        return _title_of_axis(spec.series, words)
    value_labels = {*_short_names(spec.y).values(), *spec.called.values()}
    return "value" if value_labels.issuperset(labels) else "case"


@dataclass(frozen=True, slots=True)
class _HorizontalAxis:
    """The horizontal axis of a picture: its unit, the factor from base units to that unit, and
    whether it is logarithmic.
    """

    axis: Axis
    unit: str
    unit_factor: float
    is_logarithmic: bool
    title: str
    words: Words

    @staticmethod
    def of(axis: Axis, spec: LinesSpec, words: Words) -> _HorizontalAxis:
        """Return the horizontal axis of a picture of lines, with the unit that suits its
        numbers.
        """
        title = _title_of_axis(axis.path, words)
        axis_numbers = _axis_numbers(axis)
        if axis_numbers is None:
            return _HorizontalAxis(axis, "", 1.0, False, title, words)
        is_wanted = spec.log in ("x", "both") or (
            "log" not in spec.model_fields_set and _rise_by_factor(axis_numbers)
        )
        is_logarithmic = is_wanted and any(number > 0 for number in axis_numbers)
        unit, unit_factor = choose_unit(axis_numbers, Dimension.of(axis.unit or "1"))
        return _HorizontalAxis(axis, unit, unit_factor, is_logarithmic, title, words)

    def places(self, x: Array) -> Array:
        """Return values in base units as places on the axis."""
        return (
            np.where(x > 0, x / self.unit_factor, np.nan)
            if self.is_logarithmic
            else x / self.unit_factor
        )

    def write_on(self, axes: Axes) -> None:
        """Write the title and the ticks of the axis."""
        axis_numbers = _axis_numbers(self.axis)
        if axis_numbers is None:
            write_names_along(
                axes, [self.words.axis_value_title(str(value)) for value in self.axis.values]
            )
            axes.set_xlabel(self.title)
            return
        places = np.array(axis_numbers) / self.unit_factor
        if self.is_logarithmic:
            make_logarithmic(axes.xaxis, places)
        else:
            set_plain_ticks(axes.xaxis, places)
        unit = "" if self.unit in ("", "1") else f" [{self.unit}]"
        axes.set_xlabel(textwrap.fill(f"{self.title}{unit}", _LONGEST_AXIS_TITLE))


_FEWEST_FACTORS = 2

LARGEST_LINEAR_RATIO = 100.0
"""Ratio of the largest to the least value from which on values are drawn on a logarithmic axis
against an axis by a factor: on a linear one, the smaller half of them would lie on the frame.
"""


def _has_logarithmic_values(
    spec: LinesSpec, x_axis: _HorizontalAxis, lines: Sequence[Line]
) -> bool:
    """Return whether values are drawn on a logarithmic axis: as the picture asks, and by default if
    their numbers rise by a factor and they differ much.
    """
    values = np.concatenate([line.y for line in lines]) if lines else np.zeros(0)
    values = values[np.isfinite(values)]
    if "log" in spec.model_fields_set:
        return spec.log in ("y", "both") and bool(np.any(values > 0))
    return (
        x_axis.is_logarithmic
        and len(values) > 0
        and bool(values.min() > 0)
        and bool(values.max() >= LARGEST_LINEAR_RATIO * values.min())
    )


def _rise_by_factor(numbers: Sequence[float]) -> bool:
    """Return whether all neighbouring numbers have the same ratio, so that a logarithmic axis
    spaces them evenly.

    >>> _rise_by_factor([1, 2, 4, 8]), _rise_by_factor([1, 2, 3, 4]), _rise_by_factor([1, 2])
    (True, False, False)
    """
    if len(numbers) <= _FEWEST_FACTORS or numbers[0] <= 0:
        return False
    ratios = [after / before for before, after in pairwise(numbers) if before > 0]
    is_even = np.allclose(ratios, ratios[0], rtol=1e-9, atol=0.0)
    return len(ratios) == len(numbers) - 1 and ratios[0] > 1 and bool(is_even)


def _title_of_axis(path: str, words: Words) -> str:
    """Return the title of an axis: the meaning that the study gives to its quantity, else a phrase
    made from the path.
    """
    return words.quantity(path)


def lines_of(sweep: Sweep, spec: LinesSpec, words: Words = NO_WORDS) -> list[Line]:
    """Return the points of a sweep as lines; cases have their titles or names."""
    x = _axis_places(sweep, spec.x)
    lines = []
    points_by_line = _points_by_line(sweep, spec, words)
    short_names = {**_short_names(spec.y), **spec.called}
    for name in spec.y:
        columns = np.array([sweep.column(name), *sweep.ends(name)])
        columns = _ratio_to_first(sweep, columns, spec.against) if spec.against else columns
        unit = "" if spec.relative or spec.against else sweep.units[name]
        is_only_column = sum(sweep.units[column] == sweep.units[name] for column in spec.y) == 1
        is_only_column = is_only_column and not (not unit and len(spec.y) > 1)
        for (label, method), points in points_by_line.items():
            if not np.isfinite(columns[0, points]).any():
                continue  # a case of another model does not have this value
            ordered_points = points[np.argsort(x[points], kind="stable")]
            y, low, high = (
                _relative_to_first(columns[:, ordered_points])
                if spec.relative
                else columns[:, ordered_points]
            )
            label_parts = [] if is_only_column else [short_names[name]]
            label_parts += [label] if label and (is_only_column or len(points_by_line) > 1) else []
            label = ", ".join(label_parts) or method
            lines.append(
                Line(
                    name,
                    unit,
                    label,
                    x[ordered_points],
                    y,
                    low,
                    high,
                    method if label_parts else "",
                )
            )
    return lines


def notes_on_coinciding_lines(
    lines: Sequence[Line], is_logarithmic: bool = False
) -> dict[str, str]:
    """Return a note for the label of each line that coincides with an earlier line, by label."""
    highest_by_unit: dict[str, float] = {}
    lines_by_label: dict[str, dict[tuple[str, str], Line]] = {}
    for line in lines:
        lines_by_label.setdefault(line.label, {})[line.value_name, line.method] = line
        highest_value = np.max(np.abs(line.y), initial=0.0, where=np.isfinite(line.y))
        highest_by_unit[line.unit] = max(highest_by_unit.get(line.unit, 0.0), highest_value)
    note_by_label: dict[str, str] = {}
    for index, (label, lines_of_label) in enumerate(lines_by_label.items()):
        for earlier_label in [*lines_by_label][:index]:
            if earlier_label not in note_by_label and _lines_coincide(
                lines_of_label, lines_by_label[earlier_label], highest_by_unit, is_logarithmic
            ):
                note_by_label[label] = f" (covers {earlier_label})"
                break
    return note_by_label


_LARGEST_COINCIDENCE = 0.01  # of lines that lie on each other, as a part of the highest value


def _lines_coincide(
    lines: Mapping[tuple[str, str], Line],
    other_lines: Mapping[tuple[str, str], Line],
    highest_by_unit: Mapping[str, float],
    is_logarithmic: bool,
) -> bool:
    """Return whether the lines of two labels coincide; on a logarithmic axis, each value is
    compared with its own size.
    """
    return lines.keys() == other_lines.keys() and all(
        len(line.x) > 1
        and np.array_equal(line.x, other_lines[value_and_method].x)
        and np.allclose(
            line.y,
            other_lines[value_and_method].y,
            rtol=_LARGEST_COINCIDENCE if is_logarithmic else 0.0,
            atol=0.0 if is_logarithmic else _LARGEST_COINCIDENCE * highest_by_unit[line.unit],
            equal_nan=True,
        )
        for value_and_method, line in lines.items()
    )


_SPELLINGS = {"speedup": "speed-up"}
"""Names of values that are no words."""


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """Return names of values of a common kind shortened to the text in their brackets:
    ``account[lock]`` to ``lock``.
    """
    kind_and_index = {name: split_name(name) for name in names}
    has_one_kind = len({value_kind for value_kind, _ in kind_and_index.values()}) == 1
    return {
        name: label_inside if has_one_kind and label_inside else _SPELLINGS.get(name, name)
        for name, (_, label_inside) in kind_and_index.items()
    }


def _points_by_line(sweep: Sweep, spec: LinesSpec, words: Words) -> dict[tuple[str, str], Array]:
    """Return the indices of the points of each line, by its label and method; the axes other than x
    give each line its label.
    """
    label_parts_by_axis: list[list[str]] = []
    method_by_point = [""] * len(sweep.cases)
    if spec.series:
        sweep.axis(spec.series)
    for axis in sorted(sweep.axes, key=lambda axis: axis.path != spec.series):
        if axis.path == _METHOD_AXIS and _METHOD_AXIS not in (spec.x, spec.series):
            method_by_point = [str(method) for method in sweep.points[_METHOD_AXIS]]
        elif axis.path == spec.series or (axis.path != spec.x and len(axis.values) > 1):
            label_parts_by_axis.append(
                _label_parts_of_axis(sweep, axis, words, with_names=axis.path != spec.series)
            )
    shown_cases = set(spec.cases or sweep.cases)
    if not spec.series or len(shown_cases) > 1:
        case_titles = [words.case(case) for case in sweep.cases]
        label_parts_by_axis.insert(0 if not spec.series else 1, case_titles)
    indices_by_line: dict[tuple[str, str], list[int]] = {}
    for index, label_parts in enumerate(
        zip(*label_parts_by_axis, strict=True) if label_parts_by_axis else [()] * len(sweep.cases)
    ):
        if sweep.cases[index] not in shown_cases:
            continue
        if spec.against and spec.against != spec.x and _is_first(sweep, spec.against, index):
            continue  # what the others are held against would be a line at 1
        indices_by_line.setdefault((", ".join(label_parts), method_by_point[index]), []).append(
            index
        )
    return {
        label_and_method: np.array(indices) for label_and_method, indices in indices_by_line.items()
    }


def _label_parts_of_axis(sweep: Sweep, axis: Axis, words: Words, with_names: bool) -> list[str]:
    """Return for each point the part of a line's label that the value on an axis gives."""
    column = sweep.points[axis.path]
    values = column.tolist() if isinstance(column, np.ndarray) else column
    text_by_value = {value: axis_value(value, axis.unit) for value in axis.values}
    value_texts = [
        with_commas(
            words.axis_value_title(text_by_value.get(value) or quantity(float(value), axis.unit))
        )
        for value in values
    ]
    if not with_names:
        return value_texts
    return [NO_WORDS.quantity_with_value(axis.path, value) for value in value_texts]


def _axis_places(sweep: Sweep, path: str) -> Array:
    """Return the place of each point on an axis: its number, or the index of its name."""
    axis = sweep.axis(path)
    column = sweep.points[path]
    if _axis_numbers(axis) is None:
        place_by_value = {value: float(index) for index, value in enumerate(axis.values)}
        return np.array([place_by_value[value] for value in column])
    return np.asarray(column, dtype=float)


def _axis_numbers(axis: Axis) -> list[float] | None:
    """Return the values of an axis as numbers, including values that are kept as names because they
    shape the model; None if one value is no number.
    """
    with suppress(ValueError):
        return [float(value) for value in axis.values]
    return None


def _ratio_to_first(sweep: Sweep, columns: Array, path: str) -> Array:
    """Return the value at the first point of an axis, with all other axes equal, divided by each
    value; values have both ends of their intervals.
    """
    other_columns = [sweep.points[axis.path] for axis in sweep.axes if axis.path != path]
    other_values_by_point = list(zip(sweep.cases, *other_columns, strict=True))
    first_by_other_values = {
        other_values: columns[:, index]
        for index, other_values in enumerate(other_values_by_point)
        if _is_first(sweep, path, index)
    }
    ratios = _ratio(
        np.array(
            [
                first_by_other_values.get(other_values, np.full(3, np.nan))
                for other_values in other_values_by_point
            ]
        ).T,
        columns,
    )
    ratios[1:, [_is_first(sweep, path, index) for index in range(len(other_values_by_point))]] = (
        1.0  # against itself
    )
    return ratios


def _is_first(sweep: Sweep, path: str, index: int) -> bool:
    """Return whether a point is at the first value of an axis."""
    return bool(sweep.points[path][index] == sweep.axis(path).values[0])


def _relative_to_first(columns: Array) -> Array:
    """Return values divided by the first one that is known."""
    first_known = np.flatnonzero(np.isfinite(columns[0]))
    if not len(first_known) or columns[0, first_known[0]] == 0:
        return np.full_like(columns, np.nan)
    ratios = _ratio(columns, columns[:, first_known[:1]])
    ratios[1:, first_known[0]] = 1.0  # against itself
    return ratios


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient of values with both ends of their intervals; its interval is the widest
    one, for any correlation.
    """
    with np.errstate(all="ignore"):
        (value, low, high), (divisor, divisor_low, divisor_high) = (
            np.where(np.isnan(end), end[:1], end) for end in (numerator, denominator)
        )
        has_no_interval = np.isnan(numerator[1]) & np.isnan(denominator[1])
        is_unknown = np.isinf(numerator[1]) | np.isinf(denominator[1])
        ratio_ends = (
            np.where(is_unknown, sign * np.inf, end)
            for sign, end in ((-1, low / divisor_high), (1, high / divisor_low))
        )
        return np.array(
            [value / divisor, *(np.where(has_no_interval, np.nan, limit) for limit in ratio_ends)]
        )


def _styles_of(labels: Sequence[str], lines: Sequence[Line]) -> dict[str, dict[str, Any]]:
    """Return the style of the lines of each label: the style of its cause if lines show parts of
    the time or of the processors.
    """
    are_parts = all(
        split_name(line.value_name)[0] in (*_WORDS_OF_KINDS, "processors_lost") for line in lines
    )
    styles = strokes_of_causes(labels) if are_parts and len(labels) > 1 else []
    return dict(zip(labels, styles or map(stroke, range(len(labels))), strict=True))


def _legend_handles(
    styles: Mapping[str, dict[str, Any]], methods: Sequence[str]
) -> dict[str, Line2D]:
    """Return the handles of the legend by label: one for each line, and one for each method."""
    from matplotlib.lines import Line2D

    solid = {"linestyle": "-"} if methods else {}
    style_by_label = {label: {**style, **solid} for label, style in styles.items() if label}
    handle_by_label = {
        label: Line2D([], [], label=label, **style) for label, style in style_by_label.items()
    }
    return {
        **handle_by_label,
        **{name: Line2D([], [], label=name, **stroke_of_method(name, methods)) for name in methods},
    }


def _draw_panel(
    axes: Axes,
    x_axis: _HorizontalAxis,
    lines: Sequence[Line],
    styles: Mapping[str, dict[str, Any]],
    methods: Sequence[str],
    spec: LinesSpec,
    words: Words,
    is_logarithmic: bool,
) -> None:
    """Draw the lines of one unit, and the limits that the questions of the study set for these
    values.
    """
    values = (
        np.concatenate([column for line in lines for column in (line.y, line.low, line.high)])
        if lines
        else np.zeros(0)
    )
    finite_values = values[np.isfinite(values)]
    unit, unit_factor = _unit_of_axis(finite_values, lines[0].unit or "1" if lines else "1")
    for line in lines:
        y = np.where(line.y > 0, line.y, np.nan) if is_logarithmic else line.y
        _draw_line(axes, x_axis.places(line.x), y / unit_factor, line, unit_factor, styles, methods)
    names = list(dict.fromkeys(line.value_name for line in lines))
    limits = {name: words.limits[name] for name in names if name in words.limits}
    limits = limits if len(finite_values) else {}
    lines_drawn = [*axes.lines]
    for limit in limits.values():
        axes.axhline(limit / unit_factor, color=LIMIT_COLOUR, linewidth=1.0, linestyle=(0, (6, 3)))
    title = axis_title(_title_of_values(names, spec, words), unit)
    axes.set_ylabel(textwrap.fill(title, _LONGEST_AXIS_TITLE))
    if not len(finite_values):
        axes.text(
            0.5, 0.5, "no point has a value", transform=axes.transAxes, ha="center", va="center"
        )
    elif is_logarithmic:
        make_logarithmic(axes.yaxis, finite_values / unit_factor)
    elif 0 <= finite_values.min() < 0.6 * finite_values.max():
        # From nothing upwards, unless all values lie far above it and their differences would be
        # lost.
        axes.set_ylim(bottom=0)
    for limit in limits.values():
        write_limit(
            axes, limit / unit_factor, f"limit {quantity(limit, lines[0].unit)}", lines_drawn
        )


def _draw_line(
    axes: Axes,
    x: Array,
    y: Array,
    line: Line,
    unit_factor: float,
    styles: Mapping[str, dict[str, Any]],
    methods: Sequence[str],
) -> None:
    """Draw the points of one line, with their intervals.

    Parameters
    ----------
    axes : of the panel
    x, y : places of the points, in units of the axes
    line : with its label, its method and the ends of its intervals in base units
    unit_factor : base units in a unit of the axis
    styles : by label, of all lines of the figure
    methods : of all lines; their order gives dashes
    """
    label_index = [*styles].index(line.label)
    line_style = {**styles[line.label]}
    if line.method:
        line_style = {**line_style, **style_of_method(line.method, methods)}
    # On long lines, markers are spread out and shifted, so that lines that lie on each other can
    # be told apart.
    marker_step = -(-len(y) // MOST_MARKERS) or 1
    line_style["drawstyle"] = draw_style(y)
    axes.plot(x, y, markevery=(label_index % marker_step, marker_step), **line_style)
    draw_intervals(axes, x, y, line.low / unit_factor, line.high / unit_factor, line_style["color"])


def _title_of_values(names: Sequence[str], spec: LinesSpec, words: Words) -> str:
    """Return the title of the vertical axis for these values."""
    kind_phrase = _WORDS_OF_KINDS.get(split_name(names[0])[0], "value") if names else ""
    subject = (
        kind_phrase
        if len(names) > 2
        else ", ".join(spec.called.get(name) or _named_value(name, words) for name in names)
    )
    if spec.against:
        return f"{subject} at first {short_path(spec.against, 30)} / {subject}"
    return f"{subject} / first of its line" if spec.relative else subject


def _named_value(name: str, words: Words) -> str:
    """Return the name of a value in words."""
    return words.value_with_amount(name, "").strip() if "_quantile[" in name else words.value(name)


def write_limit(axes: Axes, limit: float, text: str, lines: Sequence[Line2D]) -> None:
    """Write the label of a limit at the end of the panel, above or below the limit, where the
    fewest lines pass through it; above the limit at the right if all places are equally good.
    """
    label_positions = [
        (is_right, is_above) for is_above in (True, False) for is_right in (True, False)
    ]
    is_right, is_above = min(
        label_positions,
        key=lambda label_position: _crossing_line_count(
            axes, limit, len(text), lines, *label_position
        ),
    )
    axes.annotate(
        text,
        (float(is_right), limit),
        xycoords=("axes fraction", "data"),
        xytext=(0 if is_right else 3, 2 if is_above else -2),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="bottom" if is_above else "top",
        color=LIMIT_COLOUR,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
    )


_LETTER_WIDTH, _LABEL_HEIGHT = 0.017, 0.06  # of a limit's label, as parts of a panel


def _crossing_line_count(
    axes: Axes,
    limit: float,
    letter_count: int,
    lines: Sequence[Line2D],
    is_right: bool,
    is_above: bool,
) -> int:
    """Return the number of lines that pass through the place of a limit's label at one end of a
    panel.
    """
    to_panel = axes.transData - axes.transAxes
    limit_height = to_panel.transform((axes.get_xlim()[0], limit))[1]
    label_places = np.linspace(0.0, _LETTER_WIDTH * letter_count, 20)
    label_places = 1.0 - label_places[::-1] if is_right else label_places
    crossing_count = 0
    for line in lines:
        points = to_panel.transform(line.get_xydata())
        points = points[np.isfinite(points).all(axis=1)]
        if len(points):
            x = points[:, 0]
            y = points[:, 1]
            heights = np.interp(label_places, x, y, left=np.nan, right=np.nan) - limit_height
            heights = heights if is_above else -heights
            crossing_count += bool(np.any((heights > 0.0) & (heights < _LABEL_HEIGHT)))
    return crossing_count


_MOST_CELLS_WITH_TEXT = 14  # a map with more cells along a side has no text in them
_MOST_CELL_TICKS = 12
_COLOUR_MAP = "cividis"  # its grey values rise steadily
_CATEGORY_COLOURS = (
    "#ffffff",
    "#9fc5e8",
    "#f6d78b",
    "#6f9f7f",
    "#e8a090",
    "#b9b9b9",
    "#7a6f9f",
    "#dff0d8",
)
# Cells of a map from which on they are one image: a file with more shapes is large and slow.
_MOST_CELL_SHAPES = 600
_LARGEST_LINEAR_RATIO = 30  # values further apart than this have shades by their logarithm


def _draw_map(results: Results, spec: MapSpec) -> Figure:
    """Draw a map of a value over two axes, one equal cell for each point; further axes are fixed at
    their first values.
    """
    sweep = results.sweep(spec.sweep)
    results.named_answer(spec.case)
    x_axis = sweep.axis(spec.x)
    y_axis = sweep.axis(spec.y)
    point_of_cell = grid_of(sweep, spec)
    map_width = max(3.2, min(8.0, 0.62 * len(x_axis.values)))
    figure = new_figure(map_width + 3.0, max(2.6, min(6.5, 0.42 * len(y_axis.values))) + 1.6)
    axes = figure.subplots()
    axes.grid(False)
    axes.set_facecolor("white")
    # Where there is no point or no value, the ground shows.
    axes.patch.set(hatch="///", edgecolor="#999999")
    legend = (_draw_categories if split_name(spec.value)[0] == "limit" else _draw_shades)(
        axes, sweep, spec, point_of_cell
    )
    axes.set_xlabel(_label_cells(axes, x_axis, "x", results.words))
    axes.set_ylabel(_label_cells(axes, y_axis, "y", results.words))
    return with_title_and_legend(
        figure, spec.title + _fixed_axes_text(sweep, spec, results.words), *legend
    )


def grid_of(sweep: Sweep, spec: MapSpec) -> Indices:
    """Return the index of the point in each cell of a map, rows along y; -1 in a cell without a
    point.
    """
    x_axis = sweep.axis(spec.x)
    y_axis = sweep.axis(spec.y)
    index_by_value = [
        {value: index for index, value in enumerate(axis.values)} for axis in (x_axis, y_axis)
    ]
    grid = np.full((len(y_axis.values), len(x_axis.values)), -1)
    is_shown = np.array([case == spec.case for case in sweep.cases], dtype=bool)
    for axis in _fixed_axes(sweep, spec):
        is_shown &= np.array(
            [value == axis.values[0] for value in sweep.points[axis.path]], dtype=bool
        )
    for index in np.flatnonzero(is_shown).tolist():
        grid[
            index_by_value[1][sweep.points[y_axis.path][index]],
            index_by_value[0][sweep.points[x_axis.path][index]],
        ] = index
    return grid


def _fixed_axes(sweep: Sweep, spec: MapSpec) -> list[Axis]:
    """Return the axes of a sweep that are not axes of the map."""
    return [axis for axis in sweep.axes if axis.path not in (spec.x, spec.y)]


def _fixed_axes_text(sweep: Sweep, spec: MapSpec, words: Words) -> str:
    """Return the values at which the other axes of a map are fixed, in words."""
    settings = [
        f"{_title_of_axis(axis.path, words)} = {axis_value(axis.values[0], axis.unit)}"
        for axis in _fixed_axes(sweep, spec)
        if len(axis.values) > 1
    ]
    return f" (at {', '.join(settings)})" if settings else ""


def _draw_shades(axes: Axes, sweep: Sweep, spec: MapSpec, point_of_cell: Indices) -> tuple[()]:
    """Draw each value as a shade, with its number if there is room; a colour bar explains the
    shades.
    """
    column = np.asarray(sweep.column(spec.value), dtype=float)
    values = np.where(point_of_cell >= 0, column[point_of_cell], np.nan)
    lows, highs = sweep.ends(spec.value)
    unit, unit_factor = choose_unit(
        values[np.isfinite(values)].tolist(), Dimension.of(sweep.units[spec.value])
    )
    values_shown = np.ma.masked_invalid(values / unit_factor)
    is_wide_range = (
        bool(values_shown.count())
        and values_shown.min() > 0
        and values_shown.max() > _LARGEST_LINEAR_RATIO * values_shown.min()
    )
    image = axes.pcolormesh(
        values_shown,
        cmap=_COLOUR_MAP,
        norm="log" if is_wide_range else None,
        **_cell_style(point_of_cell),
    )
    if not values_shown.count():
        image.set_clim(0, 1)
        axes.text(
            0.5,
            0.5,
            "no point has a value",
            transform=axes.transAxes,
            ha="center",
            backgroundcolor="white",
        )
    colour_bar = axes.figure.colorbar(image, ax=axes, label=axis_title(spec.value, unit), pad=0.02)
    if is_wide_range:
        make_logarithmic(colour_bar.ax.yaxis, values[np.isfinite(values)] / unit_factor)
    if max(point_of_cell.shape) <= _MOST_CELLS_WITH_TEXT:
        for (row_index, column_index), value in np.ndenumerate(values / unit_factor):
            if np.isfinite(value):
                text, low, high = (
                    f"{number:.3g}"
                    for number in (
                        value,
                        *(
                            ends[point_of_cell[row_index, column_index]] / unit_factor
                            for ends in (lows, highs)
                        ),
                    )
                )
                interval_text = (
                    UNKNOWN
                    if high == "inf"
                    else ""
                    if high == "nan" or low == high == text
                    else f"{low} to {high}"
                )
                _write_in_cell(
                    axes,
                    column_index,
                    row_index,
                    text,
                    image.to_rgba(np.array([value]))[0],
                    interval_text,
                )
    return ()


def _draw_categories(
    axes: Axes, sweep: Sweep, spec: MapSpec, point_of_cell: Indices
) -> tuple[str, list[Any], list[str]]:
    """Draw each limiting stage as a shade, with a letter if there is room. Return the title, the
    handles and the labels of the legend.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    pipeline = split_name(spec.value)[1]
    stages = sweep.stages(pipeline)
    stage_names = list(
        dict.fromkeys(
            stages[index]
            for index in point_of_cell.ravel().tolist()
            if index >= 0 and stages[index]
        )
    )
    index_by_name = {name: index for index, name in enumerate(stage_names)}
    category_of_cell = np.array(
        [
            [index_by_name.get(stages[index], -1) if index >= 0 else -1 for index in row]
            for row in point_of_cell.tolist()
        ]
    )
    colours = [
        _CATEGORY_COLOURS[index % len(_CATEGORY_COLOURS)]
        for index in range(max(1, len(stage_names)))
    ]
    shown_categories = np.ma.masked_less(category_of_cell, 0)
    axes.pcolormesh(
        shown_categories,
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=len(colours) - 0.5,
        **_cell_style(point_of_cell),
    )
    category_letters = [string.ascii_uppercase[index % 26] for index in range(len(stage_names))]
    for row, column_index in _cells_with_letter(category_of_cell, len(stage_names)):
        category = category_of_cell[row, column_index]
        _write_in_cell(axes, column_index, row, category_letters[category], colours[category])
    _draw_borders(axes, category_of_cell)
    handles = [Patch(facecolor=colour, edgecolor="black", linewidth=0.6) for colour in colours]
    labels = [
        f"{letter}  {name}" for letter, name in zip(category_letters, stage_names, strict=True)
    ]
    return f"limiting stage\nof {pipeline}", list(handles[: len(labels)]), labels


def _cells_with_letter(category_of_cell: Indices, category_count: int) -> list[tuple[int, int]]:
    """Return the cells that get a letter: all cells if there are few, else for each category the
    cell nearest to its centre.
    """
    cells_by_category = [
        np.argwhere(category_of_cell == category) for category in range(category_count)
    ]
    if max(category_of_cell.shape) > 2 * _MOST_CELLS_WITH_TEXT:
        cells_by_category = [
            cells_of_category[
                [np.square(cells_of_category - cells_of_category.mean(axis=0)).sum(axis=1).argmin()]
            ]
            for cells_of_category in cells_by_category
        ]
    return [
        (int(row), int(column_index))
        for cells_of_category in cells_by_category
        for row, column_index in cells_of_category
    ]


def _cell_style(point_of_cell: Indices) -> dict[str, Any]:
    """Return the style of cells: a few are drawn as shapes, many as one image, which keeps the file
    small.
    """
    return {
        "edgecolors": "face",
        "linewidth": 0.2,
        "rasterized": point_of_cell.size > _MOST_CELL_SHAPES,
    }


def _write_in_cell(
    axes: Axes, column_index: int, row_index: int, text: str, colour: Any, text_below: str = ""
) -> None:
    """Write a text into a cell, with its interval in small type below."""
    ink = ink_colour_on(colour)
    axes.text(
        column_index + 0.5,
        row_index + 0.5,
        text,
        ha="center",
        va="bottom" if text_below else "center",
        fontsize=8,
        color=ink,
    )
    if text_below:
        axes.text(
            column_index + 0.5,
            row_index + 0.45,
            text_below,
            ha="center",
            va="top",
            fontsize=5.5,
            color=ink,
        )


def _draw_borders(axes: Axes, category_of_cell: Indices) -> None:
    """Draw lines between cells of different categories."""
    from matplotlib.collections import LineCollection

    vertical_borders = [
        ((x + 1, y), (x + 1, y + 1))
        for y, x in np.argwhere(category_of_cell[:, 1:] != category_of_cell[:, :-1])
    ]
    horizontal_borders = [
        ((x, y + 1), (x + 1, y + 1))
        for y, x in np.argwhere(category_of_cell[1:] != category_of_cell[:-1])
    ]
    axes.add_collection(
        LineCollection([*vertical_borders, *horizontal_borders], colors="black", linewidths=1.4)
    )


def _cells_between_ticks(count: int) -> int:
    """Return the number of cells between ticks, preferring one that puts a tick on the last cell.

    >>> _cells_between_ticks(12), _cells_between_ticks(33), _cells_between_ticks(100)
    (1, 4, 9)
    """
    least_spacing = -(-count // _MOST_CELL_TICKS)
    return next(
        (
            spacing
            for spacing in range(least_spacing, 2 * least_spacing + 1)
            if (count - 1) % spacing == 0
        ),
        least_spacing,
    )


def _label_cells(axes: Axes, axis: Axis, axis_name: str, words: Words) -> str:
    """Label cells with the values of an axis, all or at equal steps. Return the title of the
    axis.
    """
    if axis.has_names:
        title = _title_of_axis(axis.path, words)
        labels = [str(value) for value in axis.values]
    else:
        unit, unit_factor = choose_unit(
            [float(value) for value in axis.values], Dimension.of(axis.unit)
        )
        values = np.array([float(value) / unit_factor for value in axis.values])
        title = axis_title(_title_of_axis(axis.path, words), unit)
        labels = [f"{value:.3g}" for value in values]
        if not all(map(is_round, values[:: _cells_between_ticks(len(labels))])):
            return _put_ticks_between_cells(axes, values, axis_name, title)
    spacing = _cells_between_ticks(len(labels))
    places = np.arange(0, len(labels), spacing) + 0.5
    if axis_name == "y":
        axes.set_yticks(places, labels[::spacing])
        return title
    axes.set_xticks(places, labels[::spacing])
    if sum(map(len, labels[::spacing])) > MOST_LETTERS:
        tilt_labels(axes)
    return title


def _put_ticks_between_cells(axes: Axes, values: Array, axis_name: str, title: str) -> str:
    """Put ticks at round values between cells whose own values are not round. Return the title of
    the axis.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    rising_values = np.sort(values)
    is_logarithmic = (
        rising_values[0] > 0 and rising_values[-1] > _LARGEST_LINEAR_RATIO * rising_values[0]
    )
    locator = (
        LogLocator(subs=(1.0, 2.0, 5.0), numticks=99)
        if is_logarithmic
        else MaxNLocator(_MOST_CELL_TICKS)
    )
    ticks = [
        tick
        for tick in locator.tick_values(rising_values[0], rising_values[-1])
        if rising_values[0] <= tick <= rising_values[-1]
    ]
    transform = np.log if is_logarithmic else np.asarray
    centres = (
        np.arange(0.5, len(values))
        if values[0] <= values[-1]
        else np.arange(len(values) - 0.5, 0.0, -1.0)
    )
    places = np.interp(transform(ticks), transform(rising_values), centres)
    labels = [with_commas(f"{float(f'{tick:.3g}'):.12g}") for tick in ticks]
    getattr(axes, f"set_{axis_name}ticks")(places, labels)
    return title


def draw(
    results: Results, spec: PictureSpec, fill_by_label: Mapping[str, int] | None = None
) -> Figure:
    """Draw one picture of a study; a picture of a question is drawn by its result.

    Parameters
    ----------
    results : of a study
    spec : what to draw, by its kind
    fill_by_label : the fill of each component, see `fill_indices_by_label`; that of this picture
        alone by default

    Raises
    ------
    MissingExtraError : matplotlib is not installed
    """
    fill_by_label = (
        fill_indices_by_label(results, [spec]) if fill_by_label is None else fill_by_label
    )
    with look():
        if spec.question:
            return cast(
                "Figure", results.questions[spec.question].draw(spec, fill_by_label, results.words)
            )
        figure = _draw_kind(results, spec, fill_by_label)
        write_remark(figure, _doubtful_rates_text(results, spec))
        return figure


def _draw_kind(results: Results, spec: PictureSpec, fill_by_label: Mapping[str, int]) -> Figure:
    """Draw a picture by the function for its kind."""
    if spec.kind == "bars":
        return _draw_bars(results, spec, fill_by_label)
    if spec.kind == "lines":
        return _draw_lines(results, spec)
    if spec.kind == "map":
        return _draw_map(results, spec)
    draw_function = {"run": draw_timeline, "steps": draw_steps, "phase": draw_phase}[spec.show]
    return draw_function(results.timelines[spec.name], spec.title, fill_by_label)


def _doubtful_rates_text(results: Results, spec: PictureSpec) -> str:
    """Return the notes on doubtful rates that the models in a picture follow."""
    if spec.kind == "bars":
        answers = (results.cases[case] for case in spec.cases if case in results.cases)
        notes = [note for answer in answers for note in answer.notes]
    elif spec.kind in ("lines", "map"):
        notes = [
            note for sweep in results.sweeps if sweep.name == spec.sweep for note in sweep.notes
        ]
    else:
        notes = []
    return ". ".join(
        capitalized(note) for note in dict.fromkeys(notes) if isinstance(note, DoubtfulRate)
    )


def save(
    results: Results,
    spec: PictureSpec,
    folder: Path,
    fill_by_label: Mapping[str, int] | None = None,
    has_narrow: bool = False,
) -> list[Path]:
    """Draw a picture and save it as PNG and SVG, with the name that the spec gives. Return the
    paths of the files.

    Parameters
    ----------
    results, spec, fill_by_label : as for `draw`
    folder : where to
    has_narrow : also save the picture at the width of a telephone, where its texts have room
    """
    figure = draw(results, spec, fill_by_label)
    paths = [folder / f"{spec.name}{suffix}" for suffix in (".png", ".svg")]
    with look():
        for path in paths:
            save_figure(figure, path)
        if has_narrow and make_narrow(figure):
            save_figure(figure, folder / f"{spec.name}{NARROW}")
    return paths


def figure_of(results: Results, name: str | None) -> Figure:
    """Draw the picture of a study with a name; the first one if no name is given."""
    pictures = {spec.name: spec for spec in results.spec.pictures}
    if not pictures:
        raise InputError(
            f"the study {results.name} has no pictures; name what to draw under pictures, such as"
            " [{kind: bars, name: parts, title: Parts, cases: [base], stack: component}]"
        )
    first_name = next(iter(pictures))
    with look():
        spec = look_up("picture", first_name if name is None else name, pictures)
        return draw(results, spec, fill_indices_by_label(results, results.spec.pictures))


def save_all(
    results: Results, pictures: Sequence[PictureSpec], folder: Path, has_narrow: bool = False
) -> dict[str, list[str]]:
    """Save the pictures of a study in a folder. Return the file names of each picture, by its
    name.
    """
    fill_by_label = fill_indices_by_label(results, pictures)
    return {
        spec.name: [path.name for path in save(results, spec, folder, fill_by_label, has_narrow)]
        for spec in pictures
    }
