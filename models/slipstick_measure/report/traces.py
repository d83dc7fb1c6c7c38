"""Traces: their account of time, and their views as tables and pictures; for pages and for the
terminal.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer
from slipstick.expression.nodes import TIME
from slipstick.late import Array, np
from slipstick.report.formatting import (
    TextBlock,
    TextTable,
    escape,
    join_phrases,
    markdown_blocks,
    percent,
    plain_decimal,
    quantity,
    terminal_blocks,
)
from slipstick.results.words import NO_WORDS, Words
from slipstick.units import choose_unit
from slipstick_measure.report.measured import LOST, amount_text, measured_text, quoted_name
from slipstick_measure.results import TraceViews
from slipstick_pictures.look import (
    STROKES,
    axis_title,
    fill_style,
    fills_of,
    new_figure,
    with_title_and_legend,
    write_names_along,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS, _MOST_COLUMNS = 12, 7
"""Rows and columns of a table; the rest is added up. `document` and the further tables hold
everything.
"""

NEGLIGIBLE_LOSS = 0.005
_MOST_CAUSES_IN_SENTENCE, _MOST_CAUSES_IN_HEADLINE = (
    4,
    2,
)  # causes that the sentence on a trace names, and its head
"""Processors; what loses less is in results.csv only."""

NO_ORDER: Mapping[str, int] = {}
_MOST_DRAWN_ROWS = 64
_LEAST_WIDE_COLUMNS = 8
"""Columns of a matrix that takes the width of a picture."""
_MOST_BANDS = 7
_LONGEST_NAME = 20
"""Characters of a name in a table or a picture."""

_OTHERS = "others"

_HeadingsAndRows = tuple[list[str], list[list[str]]]


def trace_text(views: TraceViews) -> str:
    """Return a trace as text for the terminal: the account, then each view as a table."""
    return (
        f"{measured_text([views.answer], views.file)}\n{terminal_blocks(_blocks_of_trace(views))}"
    )


def trace_sentence(views: TraceViews) -> str:
    """Return a sentence on the length of a trace, its number of processors, and how their time is
    used.

    Parameters
    ----------
    views : of the trace
    """
    answer = views.answer
    sentence = f"{answer.point['p']:g} processors for {amount_text(answer.values['time'])}"
    if not answer.account:
        return sentence
    largest_losses = _sorted_losses(answer)
    losses_text = ", ".join(
        f"{plain_decimal(loss, 3)} to {_brief_cause(cause)}"
        for loss, cause in largest_losses[:_MOST_CAUSES_IN_SENTENCE]
    )
    losses_text += (
        f", {plain_decimal(other_loss, 3)} to others"
        if (other_loss := sum(loss for loss, _ in largest_losses[_MOST_CAUSES_IN_SENTENCE:]))
        else ""
    )
    return (
        f"{sentence}, on average {plain_decimal(answer['concurrency'] or 0.0)} of them at"
        f" useful work, at most {answer['largest_concurrency']:g};"
        f" processors lost: {losses_text or 'none'}"
    )


def trace_headline(views: TraceViews, words: Words) -> str:
    """Return a sentence on how many processors do useful work and what the other processors do.

    Parameters
    ----------
    views : of the trace
    words : of the study
    """
    answer = views.answer
    processors_text = words.member_count(float(answer.point["p"]))
    time_text = amount_text(answer.values["time"])
    if not answer.account:
        return f"{processors_text} for {time_text}"
    useful_text = plain_decimal(answer["concurrency"] or 0.0, 3)
    losses_text = join_phrases(
        [
            f"{plain_decimal(loss, 3)} are lost to {_cause_of_lost_time(name, words)}"
            for loss, name in _sorted_losses(answer)[:_MOST_CAUSES_IN_HEADLINE]
        ]
    ).replace(" and ", ", and ", 1)
    loss_text = f"; {losses_text}" if losses_text else ""
    return (
        f"of {processors_text}, {useful_text} do useful work on average over {time_text}{loss_text}"
    )


def _sorted_losses(answer: Answer) -> list[tuple[float, str]]:
    """Return the lost processors that are not negligible with their causes, most first."""
    loss_by_cause = {
        cause[len(LOST) : -1]: answer[cause] or 0.0
        for cause in answer.values
        if cause.startswith(LOST)
    }
    return sorted(
        ((loss, cause) for cause, loss in loss_by_cause.items() if loss > NEGLIGIBLE_LOSS),
        reverse=True,
    )


def traces_headline(views_by_title: Mapping[str, TraceViews], words: Words) -> str:
    """Return one sentence on the processors that several traces lose to the same kind of wait, and
    on what the other processors do; empty if the kind of wait that takes most, or the number of
    processors, differs, or if no trace loses most to it.
    """
    answers = [views.answer for views in views_by_title.values()]
    losses_of_traces = [_sorted_losses(answer) for answer in answers]
    largest_waits = [
        next((loss for loss in losses if ":" in loss[1]), (0.0, "")) for losses in losses_of_traces
    ]
    wait_kinds = {cause.partition(":")[0] for _, cause in largest_waits}
    processor_counts = {float(answer.point["p"]) for answer in answers}
    loses_most_to_wait = any(
        losses[:1] == [wait] for losses, wait in zip(losses_of_traces, largest_waits, strict=True)
    )
    if (
        len(wait_kinds) > 1
        or len(processor_counts) > 1
        or not (all(wait_kinds) and loses_most_to_wait)
    ):
        return ""
    cause = words.component_phrase(f"{wait_kinds.pop()}:").removesuffix(' ""').strip()
    members_text = f" of {words.member_count(processor_counts.pop())}"
    clauses = [
        f"{plain_decimal(wait, 3)}{members_text * (index == 0)} for {title}"
        f" ({_others_in_words(answer, losses, wait)})"
        for index, (title, answer, losses, (wait, _)) in enumerate(
            zip(views_by_title, answers, losses_of_traces, largest_waits, strict=True)
        )
    ]
    return f"on average {cause} takes {join_phrases(clauses)}"


def _others_in_words(answer: Answer, losses: Sequence[tuple[float, str]], wait_count: float) -> str:
    """Return in words how many processors do useful work, and how many are lost otherwise than to
    a wait.
    """
    idle_count = sum(loss for loss, cause in losses if cause == "idle")
    rest_count = sum(loss for loss, _ in losses) - wait_count - idle_count
    counts_and_verbs = [
        (answer["concurrency"] or 0.0, "do useful work"),
        (idle_count, "are idle or have ended"),
        (rest_count, "are lost otherwise"),
    ]
    return ", ".join(
        f"{plain_decimal(count, 3)} {verb}"
        for count, verb in counts_and_verbs
        if count > NEGLIGIBLE_LOSS or verb == "do useful work"
    )


def _cause_of_lost_time(name: str, words: Words) -> str:
    """Return the cause of lost time in words: the words of the model for a wait, a quoted name for
    a function.
    """
    return words.component_phrase(name) if _is_wait(name) else quoted_name(name)


def _brief_cause(name: str) -> str:
    """Return the cause of lost time in words, the name of a function shortened.

    >>> _brief_cause("lock:door"), _brief_cause("Condition.wait_for (synchronize.py:306)")
    ('waiting for the lock "door"', 'Condition.wait_fo...')
    """
    return NO_WORDS.component_phrase(name) if _is_wait(name) else _shortened_name(name)


def _is_wait(name: str) -> bool:
    """Return whether a cause of lost time is a wait of a model, not a function of a program."""
    return ":" in name and "." not in name


def trace_parts(views: TraceViews) -> Iterator[str]:
    """Yield the notes and tables of a trace in Markdown.

    Parameters
    ----------
    views : of the trace
    """
    yield from (f"- {escape(note.message)}" for note in views.notes)
    yield from markdown_blocks(_blocks_of_trace(views))


def _blocks_of_trace(views: TraceViews) -> Iterator[TextBlock]:
    """Yield the titles and tables of a trace: accesses, concurrency, and values by window."""
    remote_count = views.answer.find("remote_accesses")
    access_count = views.matrix.sum()
    remote_text = (
        ""
        if remote_count is None
        else f"; {remote_count:.10g} of {access_count:.10g} to other nodes"
    )
    counts_activities = _counts_activities(views)
    title = (
        f"{_TITLE_OF_ACTIVITIES.capitalize()}, by processor"
        if counts_activities
        else "Accesses, processors by objects"
    )
    table_by_title = {f"{title}{remote_text}": _matrix_table(views)}
    if views.answer.account:
        table_by_title["Processors at useful work at a time"] = _concurrency_table(views)
    for title, (headings, rows) in {**table_by_title, "By window": _windows_table(views)}.items():
        yield from (f"{title}:", TextTable(headings, rows, range(1, len(headings))))
    if remote_count is not None:
        yield (
            f"{_count_text(remote_count)} of {_count_text(views.answer['accesses'] or 0.0)}"
            " accesses go"
            " to other nodes, through the network."
        )


_TITLE_OF_ACTIVITIES = "times that an activity was begun"


def _counts_activities(views: TraceViews) -> bool:
    """Return whether the matrix counts activities, of a trace that records no accesses."""
    return {*views.objects} <= {*views.work}


def _matrix_table(views: TraceViews) -> _HeadingsAndRows:
    """Build the table of accesses with sums; a large one has the rows and columns with the most
    accesses, and the sum of the others.
    """
    used_columns = np.flatnonzero(views.matrix.any(axis=0))
    row_indices = _indices_of_largest(views.matrix.sum(axis=1))
    column_indices = _indices_of_largest(views.matrix[:, used_columns].sum(axis=0), _MOST_COLUMNS)
    access_counts = _rows_and_sum_of_others(views.matrix[:, used_columns], row_indices)
    column_names = [
        _shortened_name(views.objects[used_columns[column_index]])
        for column_index in column_indices
    ]
    access_counts = _rows_and_sum_of_others(access_counts.T, column_indices).T
    row_names = [views.processors[row_index] for row_index in row_indices]
    row_names += [_OTHERS] * (len(access_counts) - len(row_names))
    column_names += [_OTHERS] * (access_counts.shape[1] - len(column_names))
    rows = [
        [name, *map(_count_text, row), _count_text(row.sum())]
        for name, row in zip(row_names, access_counts, strict=True)
    ]
    rows.append(
        ["all", *map(_count_text, access_counts.sum(axis=0)), _count_text(access_counts.sum())]
    )
    return ["processor", *column_names, "all"], rows


def _indices_of_largest(sums: Array, limit: int = _MOST_ROWS) -> list[int]:
    """Return the indices of the largest sums in ascending order: all of them, or one less than the
    limit, which leaves a row for the sum of the others.
    """
    if len(sums) <= limit:
        return list(range(len(sums)))
    return sorted(np.argsort(-sums, kind="stable")[: limit - 1].tolist())


def _rows_and_sum_of_others(access_counts: Array, indices: Sequence[int]) -> Array:
    """Return the rows of a matrix with the given indices and, if there are others, their sum."""
    other_counts = np.delete(access_counts, indices, axis=0)
    return (
        np.vstack([access_counts[indices], other_counts.sum(axis=0)])
        if len(other_counts)
        else access_counts[indices]
    )


def _shortened_name(name: str) -> str:
    """Return a shortened name; the folders of a file in it are removed first."""
    name = _without_folders(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def _without_folders(name: str) -> str:
    """Return a name without the folders of the file at its end."""
    return re.sub(r"\((?:[^()]*/)?([^()/]*:[0-9]+)\)$", r"(\1)", name)


def _legend_name(name: str) -> str:
    """Return a name broken into at most two lines for a legend."""
    name = _without_folders(name)
    return "\n".join(textwrap.wrap(name, _LONGEST_NAME, max_lines=2, placeholder="..."))


def _count_text(value: float) -> str:
    """Return a count as text; an empty text for 0."""
    return f"{value:.10g}" if value else ""


def _concurrency_table(views: TraceViews) -> _HeadingsAndRows:
    """Build the table of the time at each number of processors at useful work."""
    times = views.concurrency
    total_time = views.concurrency.sum()
    processor_counts = [
        processor_count
        for processor_count in range(len(times))
        if times[processor_count] > 1e-9 * total_time
    ]
    counts_per_row = max(1, -(-len(processor_counts) // _MOST_ROWS))
    rows = []
    for first_index in range(0, len(processor_counts), counts_per_row):
        counts_of_row = processor_counts[first_index : first_index + counts_per_row]
        time = float(times[counts_of_row].sum())
        counts_text = (
            f"{counts_of_row[0]}"
            if len(counts_of_row) == 1
            else f"{counts_of_row[0]} to {counts_of_row[-1]}"
        )
        rows.append([counts_text, quantity(time, "s"), percent(time / total_time)])
    return ["at useful work", "time", "part"], rows


def _windows_table(views: TraceViews) -> _HeadingsAndRows:
    """Build the table of utilization, work by activity and contention by window; if there are many,
    windows are merged.
    """
    window_count = len(views.edges) - 1
    first_windows = np.arange(0, window_count, -(-window_count // _MOST_ROWS))
    processor_time = np.add.reduceat(np.diff(views.edges), first_windows) * len(views.processors)
    shown_activities = sorted(views.work, key=lambda name: -views.work[name].sum())[:4]
    busy_time = np.add.reduceat(views.utilization.sum(axis=0) * np.diff(views.edges), first_windows)
    share_by_activity = {
        name: (np.add.reduceat(views.work[name], first_windows) / processor_time).round(9)
        for name in shown_activities
    }
    unit = "1" if views.conflicts else "s"
    contention_by_heading = {
        f"contention: {name}": np.add.reduceat(waits, first_windows)
        for name, waits in [*views.contention.items()][:4]
    }
    useful_share = (
        busy_time / processor_time if views.answer.account else None
    )  # accesses alone tell of no work
    rows = [
        [
            quantity(float(views.edges[first_window]), "s"),
            *([] if useful_share is None else [percent(float(useful_share[index]))]),
            *(percent(float(column[index])) for column in share_by_activity.values()),
            *(quantity(float(column[index]), unit) for column in contention_by_heading.values()),
        ]
        for index, first_window in enumerate(first_windows)
    ]
    headings = ["from"] if useful_share is None else ["from", "useful"]
    return [*headings, *map(_shortened_name, share_by_activity), *contention_by_heading], rows


def draw_traces(
    traces: Mapping[str, TraceViews],
    view: str,
    title: str,
    fill_by_component: Mapping[str, int] = NO_ORDER,
    words: Words = NO_WORDS,
) -> Figure:
    """Draw a view of one or several traces, one below the other.

    Parameters
    ----------
    traces : by name
    view : one of `slipstick_measure.commands.measured.VIEWS`
    title : heading
    fill_by_component : the fill of each component in the pictures of a study
    words : titles of the cases, which traces may be of
    """
    most_processors = max(len(trace.processors) for trace in traces.values())
    height_of_trace = (
        min(5.0, 1.6 + 0.14 * most_processors) if view in ("matrix", "utilization") else 2.1
    )
    names_by_line = _traces_by_line(traces) if view == "matrix" else [[name] for name in traces]
    picture_width = _width_of(traces, names_by_line) if view == "matrix" else _PICTURE_WIDTH
    figure = new_figure(picture_width, 0.6 + height_of_trace * len(names_by_line))
    draw_by_view = {
        "matrix": _draw_matrix,
        "utilization": _draw_utilization,
        "concurrency": _draw_concurrency,
    }
    largest_share_by_label: dict[str, float] = {}
    for views in traces.values():
        for label, work in views.work.items():
            largest_share_by_label[label] = max(
                largest_share_by_label.get(label, 0.0),
                float(work.sum()) / views.edges[-1] / len(views.processors),
            )
    shown_labels = sorted(largest_share_by_label, key=lambda label: -largest_share_by_label[label])[
        :_MOST_BANDS
    ]
    title_by_trace = _titles_of(traces, words)
    for (name, views), axes in zip(
        traces.items(), _axes_of_traces(figure, names_by_line), strict=True
    ):
        if view in draw_by_view:
            draw_by_view[view](axes, views)
        elif view == "work":
            _draw_work(axes, views, shown_labels, fill_by_component)
        else:
            _draw_contention(axes, views)
        title_parts = [title_by_trace[name]] if len(traces) > 1 else []
        title_parts += [_matrix_totals(views)] if view == "matrix" else []
        traces_in_line = max(
            len(names_of_line) for names_of_line in names_by_line if name in names_of_line
        )
        title_lines = textwrap.wrap(
            ": ".join(title_parts),
            int(_LETTERS_PER_INCH * picture_width / traces_in_line)
            - (6 if traces_in_line == 1 else 15),
        )
        axes.set_title("\n".join(title_lines), loc="left", fontsize=9)
    return with_title_and_legend(figure, title)


_PICTURE_WIDTH = 9.0
"""Width of a picture [in]."""
_LETTERS_PER_INCH = 14
"""Letters of the size 9 in an inch."""
_MOST_PICTURES_IN_LINE = 3


def _traces_by_line(traces: Mapping[str, TraceViews]) -> list[list[str]]:
    """Return the names of the traces whose matrices are drawn side by side, by line: up to three
    that have few columns.
    """
    names_by_line: list[list[str]] = []
    for name, views in traces.items():
        names_of_last_line = names_by_line[-1] if names_by_line else []
        column_counts = [
            _used_column_count(traces[trace_name]) for trace_name in names_of_last_line
        ]
        fits_on_line = (
            max(column_counts, default=_LEAST_WIDE_COLUMNS) < _LEAST_WIDE_COLUMNS
            and len(names_of_last_line) < _MOST_PICTURES_IN_LINE
        )
        if fits_on_line and _used_column_count(views) < _LEAST_WIDE_COLUMNS:
            names_of_last_line.append(name)
        else:
            names_by_line.append([name])
    return names_by_line


def _used_column_count(views: TraceViews) -> int:
    """Return the number of objects of a trace that are accessed."""
    return int(views.matrix.any(axis=0).sum())


def _width_of(traces: Mapping[str, TraceViews], names_by_line: Sequence[Sequence[str]]) -> float:
    """Return the width of a picture of matrices, which is smaller for few columns [in]."""
    largest_column_count = max(
        sum(_used_column_count(traces[name]) for name in names_of_line)
        for names_of_line in names_by_line
    )
    most_traces = max(map(len, names_by_line))
    return min(_PICTURE_WIDTH, 0.7 * largest_column_count + 2.8 * most_traces)


def _axes_of_traces(figure: Figure, names_by_line: Sequence[Sequence[str]]) -> Iterator[Axes]:
    """Yield the axes of each trace, line by line."""
    if max(map(len, names_by_line)) == 1:
        yield from figure.subplots(len(names_by_line), 1, squeeze=False)[:, 0]
        return
    for axes_row, names_of_line in zip(
        figure.subfigures(len(names_by_line), 1, squeeze=False)[:, 0], names_by_line, strict=True
    ):
        yield from axes_row.subplots(1, len(names_of_line), squeeze=False)[0]


def _titles_of(traces: Mapping[str, TraceViews], words: Words) -> dict[str, str]:
    """Return the title of each trace: the title of the case whose run the trace shows, if there is
    such a case.
    """
    title_by_trace = {
        name: words.titles.get(name) or words.titles.get(views.file) or words.case(name)
        for name, views in traces.items()
    }
    if len({*title_by_trace.values()}) < len(title_by_trace):
        return {name: words.case(name) for name in traces}
    return title_by_trace


def _label_time_axis(axes: Axes, views: TraceViews) -> float:
    """Label the time axis of a trace. Return the size of its unit [s]."""
    unit, unit_size = choose_unit([float(views.edges[-1])], TIME)
    axes.set_xlabel(axis_title("time", unit))
    return unit_size


def _draw_shaded_rows(
    axes: Axes,
    column_edges: Sequence[float] | Array,
    row_names: Sequence[str],
    values_by_row: Array,
    scale_label: str,
    **style: Any,
) -> None:
    """Draw values by processor as shaded rows, with a scale."""
    shown_rows = values_by_row[:_MOST_DRAWN_ROWS]
    axes.grid(visible=False)
    image = axes.pcolormesh(
        column_edges,
        np.arange(len(shown_rows) + 1) - 0.5,
        shown_rows,
        cmap="cividis",
        rasterized=True,
        **style,
    )
    axes.figure.colorbar(image, ax=axes, label=scale_label, pad=0.02)
    axes.set_ylim(len(shown_rows) - 0.5, -0.5)
    label_step = -(-len(shown_rows) // 16)
    labels = _tick_labels(row_names[: len(shown_rows)], "processor ")
    axes.set_yticks(range(0, len(shown_rows), label_step), labels[::label_step])
    axes.set_ylabel("processor")


def _tick_labels(names: Sequence[str], prefix: str) -> list[str]:
    """Return the tick labels of an axis: numbers if the axis title names the objects, else the
    shortened names.
    """
    if all(name.removeprefix(prefix).isdecimal() for name in names):
        return [name.removeprefix(prefix) for name in names]
    return [_shortened_name(name) for name in names]


def _draw_matrix(axes: Axes, views: TraceViews) -> None:
    """Draw the number of accesses of each processor to each object as a shaded matrix."""
    used_columns = np.flatnonzero(views.matrix.any(axis=0))
    column_indices = used_columns[
        _indices_of_largest(views.matrix[:, used_columns].sum(axis=0), _MOST_DRAWN_ROWS)
    ]
    access_counts = views.matrix[:, column_indices]
    counts_activities = _counts_activities(views)
    label = _TITLE_OF_ACTIVITIES if counts_activities else "accesses"
    _draw_shaded_rows(
        axes,
        np.arange(access_counts.shape[1] + 1) - 0.5,
        views.processors,
        access_counts,
        label,
        vmin=0,
    )
    _write_counts(axes, access_counts)
    label_step = -(-access_counts.shape[1] // 24)
    object_names = [views.objects[column_index] for column_index in column_indices]
    column_labels = _tick_labels(object_names, _MODULE_PREFIX)
    write_names_along(axes, column_labels[::label_step] if label_step > 1 else column_labels)
    if label_step > 1:
        axes.set_xticks(range(0, len(column_labels), label_step), column_labels[::label_step])
    axes.set_xlim(-0.5, len(column_labels) - 0.5)
    are_modules = all(name.startswith(_MODULE_PREFIX) for name in object_names)
    axes.set_xlabel(
        "activity" if counts_activities else "memory module" if are_modules else "object"
    )


_MODULE_PREFIX = "memory-"
_MOST_CELLS_WITH_NUMBERS = 16
"""Rows and columns of a matrix in whose cells the accesses are written."""


def _matrix_totals(views: TraceViews) -> str:
    """Return the number of accesses in a matrix, and the number of accesses to other nodes."""
    remote_count = views.answer.find("remote_accesses")
    remote_text = (
        "" if remote_count is None else f", {_count_text(remote_count)} of them to other nodes"
    )
    counted_noun = "beginnings of activities" if _counts_activities(views) else "accesses"
    return f"{_count_text(views.matrix.sum())} {counted_noun}{remote_text}"


def _write_counts(axes: Axes, counts: Array) -> None:
    """Write the accesses into the cells of a matrix that is not large."""
    if max(counts.shape) > _MOST_CELLS_WITH_NUMBERS:
        return
    middle_count = counts.max(initial=0.0) / 2
    for row_index, column_index in zip(*np.nonzero(counts), strict=True):
        count = counts[row_index, column_index]
        colour = "white" if count < middle_count else "black"
        axes.text(
            column_index,
            row_index,
            _count_text(count),
            color=colour,
            fontsize=6,
            ha="center",
            va="center",
        )


def _draw_utilization(axes: Axes, views: TraceViews) -> None:
    """Draw the useful part of each time window as a shaded matrix, one row for each processor."""
    time_unit_size = _label_time_axis(axes, views)
    _draw_shaded_rows(
        axes,
        views.edges / time_unit_size,
        views.processors,
        views.utilization,
        "useful part",
        vmin=0,
        vmax=1,
    )


def _draw_concurrency(axes: Axes, views: TraceViews) -> None:
    """Draw the number of processors at useful work over time."""
    time_unit_size = _label_time_axis(axes, views)
    axes.stairs(
        views.utilization.sum(axis=0),
        views.edges / time_unit_size,
        color=STROKES[0][0],
        baseline=None,
    )
    mean_concurrency = views.answer["concurrency"] or 0.0
    axes.axhline(
        mean_concurrency,
        color=STROKES[2][0],
        linestyle="--",
        label=f"on average {mean_concurrency:.3g} of {len(views.processors)}",
    )
    axes.set_ylim(0, len(views.processors) * 1.02)
    axes.set_ylabel("at useful work")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)


def _draw_work(
    axes: Axes, views: TraceViews, shown_labels: Sequence[str], fill_by_component: Mapping[str, int]
) -> None:
    """Draw stacked bands of activities, in the same colours for every trace; activities that are
    not shown are merged.
    """
    time_unit_size = _label_time_axis(axes, views)
    zeros = np.zeros(len(views.edges) - 1)
    work_by_label = {label: views.work.get(label, zeros) for label in shown_labels}
    work_by_label[_OTHERS] = np.sum(
        [zeros, *(work for label, work in views.work.items() if label not in shown_labels)], axis=0
    )
    lower_edges = zeros
    fill_by_label = {**fills_of([*fill_by_component, *work_by_label]), **fill_by_component}
    for label, work in work_by_label.items():
        upper_edges = lower_edges + work / np.diff(views.edges)
        if work.any():
            style = fill_style(fill_by_label[label])
            axes.stairs(
                upper_edges,
                views.edges / time_unit_size,
                baseline=lower_edges,
                fill=True,
                label=_legend_name(label),
                **style,
            )
        lower_edges = upper_edges
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("processors")


def _resource_label(name: str, equal_label: str) -> str:
    """Return the legend label of a resource's line; it names the earlier line that it covers, if
    they are equal.
    """
    module_number = name.removeprefix(_MODULE_PREFIX)
    label = f"memory module {module_number}" if module_number != name else _legend_name(name)
    return label + (f" (covers {equal_label})" if equal_label else "")


def _draw_contention(axes: Axes, views: TraceViews) -> None:
    """Draw the conflicts or waiting requests of each resource over time; equal lines are named in
    the legend.
    """
    time_unit_size = _label_time_axis(axes, views)
    values_by_name: dict[str, Array] = {}
    for (colour, _, dashes), (name, waits) in zip(STROKES, views.contention.items(), strict=False):
        shown_waits = waits if views.conflicts else waits / np.diff(views.edges)
        equal_label = next(
            (
                label
                for label, drawn_values in values_by_name.items()
                if np.allclose(drawn_values, shown_waits)
            ),
            "",
        )
        values_by_name[name] = shown_waits
        axes.stairs(
            shown_waits,
            views.edges / time_unit_size,
            color=colour,
            linestyle=dashes,
            label=_resource_label(name, equal_label),
            baseline=None,
        )
    if values_by_name and not any(drawn_values.any() for drawn_values in values_by_name.values()):
        message = "no request conflicts with another" if views.conflicts else "nothing waits"
        axes.text(0.5, 0.5, message, transform=axes.transAxes, ha="center")
    axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
    axes.set_ylabel("conflicts" if views.conflicts else "waiting")
    if views.contention:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8)
    else:
        axes.text(
            0.5,
            0.5,
            "the trace says nothing of waiting requests",
            transform=axes.transAxes,
            ha="center",
        )
