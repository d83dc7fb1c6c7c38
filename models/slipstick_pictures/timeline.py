"""Time lines as pictures: the steps of each member over time, how many were active, and how many
used each resource.

Timelines as Chrome trace JSON, which chrome://tracing, Perfetto and other viewers open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME
from slipstick.late import np
from slipstick.report.formatting import percent
from slipstick.results.study import Timeline, TimelineInterval
from slipstick.units import choose_unit
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    fill_style,
    fills_of,
    new_figure,
    part_label,
    with_title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Bar = tuple[float, float, float, float]
_MOST_MEMBERS = 32
_MOST_RESOURCES = 6
_MOST_PATH_PARTS = 4
_MOST_BARS = 4000  # of one picture: more are too narrow to be seen
_ROW_HEIGHT = 0.8  # height of a processor's row, as a part of its place


def draw_timeline(
    timeline: Timeline, title: str, fill_by_component: Mapping[str, int] | None = None
) -> Figure:
    """Draw a row for each processor, and below them the number of active processors and the length
    of each queue, over time.

    Parameters
    ----------
    timeline : what to draw
    title : heading
    fill_by_component : the fill of each component; by their first appearance where it is not given
    """
    members = sorted({span.member for span in timeline.spans})[:_MOST_MEMBERS]
    unit, seconds_per_unit = choose_unit([timeline.until], TIME)
    figure = new_figure(9.0, 3.4 + 0.24 * len(members))
    processor_axes, activity_axes, queue_axes = figure.subplots(
        3, 1, sharex=True, height_ratios=[max(1.6, 0.24 * len(members)), 1.0, 1.0]
    )
    components = dict.fromkeys(timeline.component(span) for span in timeline.spans)
    _draw_rows(
        processor_axes,
        timeline,
        members,
        seconds_per_unit,
        fill_by_component or fills_of(components),
    )
    _draw_active(activity_axes, timeline, seconds_per_unit)
    _draw_levels(queue_axes, timeline, seconds_per_unit)
    queue_axes.set_xlabel(axis_title("time", unit))
    queue_axes.set_xlim(0, max(timeline.until / seconds_per_unit, 1e-12))
    return with_title_and_legend(
        figure, title, "component", *processor_axes.get_legend_handles_labels()
    )


_WORDS_OF_PROCESSORS = {
    "own": "processor 0",
    "processor[0]": "processor 0",
    "other": "another processor",
}


def draw_steps(
    timeline: Timeline, title: str, fill_by_component: Mapping[str, int] | None = None
) -> Figure:
    """Draw the steps of the first processor by name, with rows for that processor, for each member
    that works for it, and for each resource.

    Parameters
    ----------
    timeline, title : as for `draw_timeline`
    fill_by_component : not used, for steps have fills by their own names
    """
    spans = sorted(
        (span for span in timeline.spans if span.member == 0), key=lambda span: span.start
    )
    spans = [span for span in spans if span.label in timeline.places]
    row_names = dict.fromkeys(
        sorted(
            (_row_name(timeline, span) for span in spans),
            key=lambda name: (not name.startswith("processor"), name),
        )
    )
    row_by_name = {name: row for row, name in enumerate(row_names)}
    bars_by_label: dict[str, list[Bar]] = {}
    for span in spans:
        bar = (
            span.start,
            span.end - span.start,
            row_by_name[_row_name(timeline, span)] - _ROW_HEIGHT / 2,
            _ROW_HEIGHT,
        )
        bars_by_label.setdefault(span.label, []).append(bar)
    return _draw_rows_of_bars(
        timeline.until, bars_by_label, list(row_names), title, "step", fills_of(bars_by_label)
    )


def draw_phase(
    timeline: Timeline, title: str, fill_by_component: Mapping[str, int] | None = None
) -> Figure:
    """Draw a bar for each processor with its time by component, up to the first moment at which all
    processors continue together; parallel branches count once.

    Parameters
    ----------
    timeline, title, fill_by_component : as for `draw_timeline`

    Raises
    ------
    ModelError : the processors never wait for each other
    """
    if timeline.phase is None:
        raise ModelError(
            f"picture {title!r}: no processor waits for another at a barrier; draw it with"
            " show: run"
        )
    durations_by_member: dict[int, dict[str, float]] = {}
    booked_until: dict[int, float] = {}
    for span in sorted(timeline.spans, key=lambda span: (span.start, span.end)):
        end_time = min(span.end, timeline.phase)
        start_time = max(span.start, booked_until.get(span.member, 0.0))
        if end_time > start_time:
            durations = durations_by_member.setdefault(span.member, {})
            name = timeline.component(span)
            durations[name] = durations.get(name, 0.0) + end_time - start_time
            booked_until[span.member] = end_time
    components = dict.fromkeys(
        name for durations in durations_by_member.values() for name in durations
    )
    fill_by_component = fill_by_component or fills_of(components)
    ordered_components = [*fill_by_component]
    last_components = {
        timeline.component(span)
        for span in timeline.spans
        if span.end == timeline.phase and span.cause is not None
    }
    bars_by_component: dict[str, list[Bar]] = {
        name: []
        for name in sorted(
            components, key=lambda name: (name in last_components, ordered_components.index(name))
        )
    }
    for member, durations in durations_by_member.items():
        left_end = 0.0
        for name in (fill_name for fill_name in bars_by_component if fill_name in durations):
            bars_by_component[name].append(
                (left_end, durations[name], member - _ROW_HEIGHT / 2, _ROW_HEIGHT)
            )
            left_end += durations[name]
    row_names = [
        f"processor {member}" for member in range(max(durations_by_member, default=-1) + 1)
    ]
    return _draw_rows_of_bars(
        timeline.phase, bars_by_component, row_names, title, "component", fill_by_component
    )


def _row_name(timeline: Timeline, span: TimelineInterval) -> str:
    """Return the name of the row that a span of a timeline is drawn in."""
    place = timeline.places[span.label]
    return (
        f"processor {span.branch + 1}"
        if place == "each-other"
        else _WORDS_OF_PROCESSORS.get(place, place)
    )


def _draw_rows_of_bars(
    end_time: float,
    bars_by_name: Mapping[str, list[Bar]],
    row_names: list[str],
    title: str,
    subject: str,
    fill_by_name: Mapping[str, int],
) -> Figure:
    """Draw named rows of bars (left, width, bottom, height) over time, with a fill for each
    name.
    """
    unit, seconds_per_unit = choose_unit([end_time], TIME)
    figure = new_figure(9.0, 1.6 + 0.36 * max(len(row_names), 4))
    axes = figure.subplots()
    _draw_bars(axes, bars_by_name, seconds_per_unit, fill_by_name)
    axes.set_ylim(len(row_names) - 0.5, -0.5)
    axes.set_yticks(range(len(row_names)), row_names)
    axes.set_xlim(0, max(end_time / seconds_per_unit, 1e-12))
    axes.set_xlabel(axis_title("time", unit))
    axes.grid(visible=False)
    return with_title_and_legend(figure, title, subject, *axes.get_legend_handles_labels())


def _draw_rows(
    axes: Axes,
    timeline: Timeline,
    members: list[int],
    seconds_per_unit: float,
    fill_by_component: Mapping[str, int],
) -> None:
    """Draw a bar for each span; branches that run at the same time share the height of a row."""
    names = {timeline.component(span) for span in timeline.spans}
    bars_by_component: dict[str, list[Bar]] = {
        name: [] for name in fill_by_component if name in names
    }
    for member in members:
        for span, bottom, height in _spans_with_bars(
            [span for span in timeline.spans if span.member == member]
        ):
            bars_by_component[timeline.component(span)].append(
                (span.start, span.end - span.start, bottom, height)
            )
    _draw_bars(axes, bars_by_component, seconds_per_unit, fill_by_component)
    _draw_path(axes, timeline, members, seconds_per_unit)
    axes.set_ylim(max(members, default=0) + 0.5, -0.5)
    axes.set_yticks(members)
    axes.set_ylabel("processor")
    axes.grid(visible=False)


def _draw_bars(
    axes: Axes,
    bars_by_name: Mapping[str, list[Bar]],
    seconds_per_unit: float,
    fill_by_name: Mapping[str, int],
) -> None:
    """Draw bars (left, width, bottom, height) with a fill for each name; a name without bars has a
    place in the legend as well.

    Raises
    ------
    ModelError : there are too many
    """
    if (count := sum(map(len, bars_by_name.values()))) > _MOST_BARS:
        raise ModelError(
            f"{count:,} bars are too many for a picture, which has {_MOST_BARS:,} at most; draw"
            " fewer cycles or processors, or write a .json file for a trace viewer"
        )
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for name, bars_of_name in bars_by_name.items():
        lefts, widths, bottoms, heights = np.array(bars_of_name, dtype=float).reshape(-1, 4).T
        left_ends, right_ends = lefts / seconds_per_unit, (lefts + widths) / seconds_per_unit
        corners = [
            (left_ends, bottoms),
            (left_ends, bottoms + heights),
            (right_ends, bottoms + heights),
            (right_ends, bottoms),
        ]
        # As one shape: each bar as an artist of its own takes a few milliseconds.
        bars = Path.make_compound_path_from_polys(np.moveaxis(np.array(corners), 2, 0))
        axes.add_patch(PathPatch(bars, label=part_label(name), **fill_style(fill_by_name[name])))


def _spans_with_bars(
    spans: list[TimelineInterval],
) -> Iterator[tuple[TimelineInterval, float, float]]:
    """Yield each time span of a processor with the bottom and the height of its bar.

    The bar has the full height of the row, or that of one lane if branches run in parallel.
    """
    overlapping_spans: list[TimelineInterval] = []
    latest_end = 0.0
    for span in [*sorted(spans, key=lambda span: (span.start, span.end)), None]:
        if span is None or span.start >= latest_end:
            height = _ROW_HEIGHT / (1 + max((span.branch for span in overlapping_spans), default=0))
            is_alone = len(overlapping_spans) == 1
            for interval in overlapping_spans:
                height_and_offset = (
                    (_ROW_HEIGHT, 0.0) if is_alone else (height, interval.branch * height)
                )
                yield (
                    interval,
                    interval.member - _ROW_HEIGHT / 2 + height_and_offset[1],
                    height_and_offset[0],
                )
            overlapping_spans = []
        if span is not None:
            overlapping_spans.append(span)
            latest_end = max(latest_end, span.end)


def _draw_path(axes: Axes, timeline: Timeline, members: list[int], seconds_per_unit: float) -> None:
    """Draw the critical path of a run and its parts; as it is of one run, it is not a gradient of
    the mean time.
    """
    total_time = sum(span.end - span.start for span in timeline.path)
    if not total_time:
        return
    times = [time / seconds_per_unit for span in timeline.path for time in (span.start, span.end)]
    row_positions = [min(span.member, members[-1]) for span in timeline.path for _ in range(2)]
    axes.plot(times, row_positions, color="white", linewidth=3.0, solid_capstyle="butt")
    axes.plot(
        times,
        row_positions,
        color="black",
        linewidth=1.6,
        solid_capstyle="butt",
        label="critical path",
    )
    share_by_component: dict[str, float] = {}
    for span in timeline.path:
        name = timeline.component(span)
        share_by_component[name] = (
            share_by_component.get(name, 0.0) + (span.end - span.start) / total_time
        )
    largest_shares = sorted(share_by_component.items(), key=lambda entry: -entry[1])[
        :_MOST_PATH_PARTS
    ]
    largest_shares_text = ", ".join(
        f"{part_label(name)} {percent(share)}" for name, share in largest_shares
    )
    axes.set_title(
        f"critical path of this run (no average): {largest_shares_text}", loc="left", fontsize=9
    )


def _draw_active(axes: Axes, timeline: Timeline, seconds_per_unit: float) -> None:
    """Draw the number of active processors over time."""
    points = timeline.active_counts()
    times = [time / seconds_per_unit for time, _ in points]
    axes.step(
        [0.0, *times], [0, *(count for _, count in points)], where="post", color=STROKES[0][0]
    )
    _use_whole_ticks(axes)
    axes.set_ylabel("processors")
    axes.set_title("processors at useful work", loc="left", fontsize=9)


def _draw_levels(axes: Axes, timeline: Timeline, seconds_per_unit: float) -> None:
    """Draw the number of processors present at each resource over time, in service included."""
    used_resources = [
        name
        for name, changes in timeline.levels.items()
        if any(count_present for _, count_present, _ in changes)
    ]
    for (colour, _, dashes), name in zip(STROKES, used_resources[:_MOST_RESOURCES], strict=False):
        changes = timeline.levels[name]
        axes.step(
            [time / seconds_per_unit for time, _, _ in changes],
            [count_present for _, count_present, _ in changes],
            where="post",
            color=colour,
            linestyle=dashes,
            label=name,
        )
    _use_whole_ticks(axes)
    axes.set_ylabel("processors")
    axes.set_title("processors at each resource, waiting or in service", loc="left", fontsize=9)
    if used_resources:
        axes.legend(loc="upper right", fontsize=8, ncols=3)


def _use_whole_ticks(axes: Axes) -> None:
    """Start a vertical axis at 0, with ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


MICROSECONDS = 1e6
RESOURCE_PROCESS = -1
"""The process of the trace that the counters stand under."""


def chrome_trace_json(timeline: Timeline) -> str:
    """Return a timeline as Chrome trace JSON: a processor is a process of the trace, a branch a
    thread of it, a resource a counter.

    Parameters
    ----------
    timeline : what to write

    What is useful, and how far all that every processor did is in it, stands under ``otherData``,
    for `slipstick trace`.

    Source: the Trace Event Format, complete events (X), counters (C) and metadata (M), times in
    microseconds.
    """
    members = sorted({span.member for span in timeline.spans})
    events = [_process_name_event(member, f"processor {member}") for member in members]
    if timeline.levels:
        events.append(_process_name_event(RESOURCE_PROCESS, "resources"))
    events += [
        {
            "name": span.label,
            "cat": timeline.component(span),
            "ph": "X",
            "pid": span.member,
            "tid": span.branch,
            "ts": span.start * MICROSECONDS,
            "dur": (span.end - span.start) * MICROSECONDS,
        }
        for span in timeline.spans
    ]
    for name, changes in timeline.levels.items():
        for time, present_count, busy_count in changes:
            present_and_busy = {"present": present_count, "busy": busy_count}
            events.append(
                {
                    "name": name,
                    "ph": "C",
                    "pid": RESOURCE_PROCESS,
                    "ts": time * MICROSECONDS,
                    "args": present_and_busy,
                }
            )
    other_data = {
        "writer": "slipstick",
        "useful": list(timeline.useful),
        "until": timeline.complete_until * MICROSECONDS,
    }
    return json.dumps(
        {"displayTimeUnit": "ms", "otherData": other_data, "traceEvents": events}, allow_nan=False
    )


def _process_name_event(process_number: int, name: str) -> dict[str, Any]:
    """Return the event that names a process of the trace."""
    return {"name": "process_name", "ph": "M", "pid": process_number, "args": {"name": name}}
