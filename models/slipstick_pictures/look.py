"""The look of pictures: sheets, fills, strokes, titles, ticks, and files of the same bytes for the
same results; drawn without any global state.

Lines and fills can be distinguished in colour, in grey and in black and white; ticks are plain
numbers, at the values themselves where these are few.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slipstick.errors import import_optional
from slipstick.late import Array, NDArray, late_pattern, np
from slipstick.results.words import NO_WORDS, as_words

if TYPE_CHECKING:
    from matplotlib import axis
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure

    Indices = NDArray[np.int64]

CAUSES: Mapping[str, tuple[str, str, str]] = {
    "extra": ("#cc9944", "//", "extra other others rest comparing check sum uneven overhead"),
    "measured": ("#ffffff", "..", "measured"),
    "lock": ("#ffd9d0", "|||", "lock locks semlock"),
    "critical": ("#f6c6a0", "oo", "critical monitor"),
    "useful": ("#4477aa", "", "busy useful work compute computing computation operations adding"),
    "barrier": ("#66bb99", "xxx", "barrier barriers"),
    "entry": ("#eef5b0", "--", "entry"),
    "task": ("#ee99aa", "**", "task tasks"),
    "queue": ("#bb8fc0", "+o", "queue wait waiting"),
    "idle": ("#f4f4f4", "", "idle running"),
    "collection": ("#7a8a99", "-/", "collection"),
    "fault": ("#ffee99", "///", "fault faults miss misses fetches fetching"),
    "empty": ("#d9f0fa", "\\\\\\", "empty"),
    "service": ("#ee8866", "", "sigio serve service"),
    "remote": ("#e3c9f0", "...", "remote"),
    "local": ("#c8d8a8", "", "local locality accesses"),
    "protocol": ("#e0aa70", "x.", "protocol"),
    "signal": ("#cfe8e8", "|.", "signal"),
    "system": ("#f2e2a0", "\\\\.", "system send"),
    "receive": ("#f2e2a0", "/.", "receive"),
    "adapter": ("#a8d5a2", "---", "adapter adapters hardware network"),
    "wire": ("#9cc3e8", "+", "wire bandwidth exchange border message messages"),
    "gradients": ("#9cc3e8", "o.", "gradients"),
    "tensor": ("#b4d3ee", "-.", "tensor"),
    "bubble": ("#ffe0b0", "|-", "bubble"),
    "waves": ("#c9c9e8", "*.", "waves"),
    "switch": ("#ffffff", "xx", "switch switches"),
    "memory": ("#c0aa88", "o-", "memory beyond"),
    "pipeline": ("#e8e0d0", "o|", "pipeline"),
    "software": ("#88aacc", "|/", "software"),
}
"""Colour, hatch and words of each cause that time or processors are lost to, the same in all
pictures. A label belongs to the first cause of which it has a word.
"""

_FILLS_WITHOUT_CAUSE = (  # neighbours differ in hatch
    ("#f0b8c8", "/"),
    ("#d5e4c3", "\\o"),
    ("#e6d3a3", "-*"),
    ("#b8ccdd", "|x"),
    ("#dccbe8", "x"),
    ("#ffffff", "\\|"),
    ("#bfbfbf", "/."),
    ("#fff5cc", "o/"),
)

FILLS = (*((colour, hatch) for colour, hatch, _ in CAUSES.values()), *_FILLS_WITHOUT_CAUSE)
"""Colour and hatch of each area: causes first, then those of labels without a cause."""

_FURTHER_HATCHES = ("OO", "**", "////", "oo..")

STROKES = (  # colour, marker, dashes
    ("#000000", "o", "-"),
    ("#0072b2", "s", "--"),
    ("#d55e00", "^", "-."),
    ("#009e73", "D", ":"),
    ("#882255", "v", "-"),
    ("#888888", "X", "--"),
    ("#b8860b", "P", "-."),
    ("#3b5fc0", "<", ":"),
    ("#117733", ">", "-"),
    ("#cc79a7", "h", "--"),
    ("#555555", "*", "-."),
    ("#56b4e9", "p", ":"),
)
"""Colour, marker and dashes of each line, in order."""

_DRAWING_STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    # Rates have the unit of the tables, whatever their size, and no power of ten over the axis.
    "axes.formatter.limits": (-5, 9),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "grid.color": "#d4d4d4",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handleheight": 1.4,
    "legend.handlelength": 2.8,
    "legend.title_fontsize": 9,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "savefig.dpi": 150,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",  # text stays text: to be searched, read aloud and compared
    "svg.hashsalt": "slipstick",  # without it, every file has identifiers of its own
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}

_METHOD_DASHES = ("-", "--", ":", "-.")

_METHOD_WITH_DOTS = "simulation"  # what was seen is drawn as dots, what was computed as lines

_LETTER_WIDTH = 0.093  # width of a letter at the size of titles [inch]

# Luma (0.299 R + 0.587 G + 0.114 B, ITU-R BT.601) below which text on a colour is white.
_DARKEST_LIGHTNESS = 0.45

_MOST_TICKS = 9

_LEAST_TICK_DISTANCE = 0.04  # ticks nearer than this part of the axis would run into each other

MOST_LETTERS = 60

_FEWEST_DECADES = 0.35  # decades that hold too few of the ticks below

_SUBDIVISIONS = ((1, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)), (2.2, (1.0, 2.0, 5.0)))

MOST_MARKERS = 16
"""The largest number of points whose intervals are drawn one by one; more have a band."""


@contextmanager
def look() -> Iterator[None]:
    """Set slipstick's drawing style inside the block, whatever the user's settings, and restore
    them afterwards.

    Raises
    ------
    MissingExtraError : matplotlib is not installed
    """
    import_optional("matplotlib", "drawing pictures")
    import matplotlib.style

    settings: list[Any] = ["default", _DRAWING_STYLE]
    with matplotlib.style.context(settings):
        yield


def stroke(index: int) -> dict[str, Any]:
    """Return the Matplotlib style of the line with an index in the order of lines."""
    colour, marker, dashes = STROKES[index % len(STROKES)]
    marker_fill = "white" if index % 2 else colour
    return {"color": colour, "marker": marker, "linestyle": dashes, "markerfacecolor": marker_fill}


def draw_style(y: Array) -> str:
    """Return how Matplotlib connects the points of a line: by steps where it keeps equal values
    between jumps, such as against a load for which a whole number of servers is added.

    >>> draw_style(np.array([1.0, 1, 1, 2, 2, 2, 3, 3, 3])), draw_style(np.array([1.0, 2, 3]))
    ('steps-mid', 'default')
    >>> draw_style(np.array([1.0, 2, 3, 3, 3, 3, 4, 5]))
    'default'
    """
    is_equal = np.diff(y) == 0
    # Each plateau is a stretch of equal neighbours; those at the ends may be limits of a curve.
    run_edges = np.flatnonzero(np.diff(np.concatenate([[False], is_equal, [False]]).astype(int)))
    inside_flags = [
        first > 0 and end < len(is_equal) and end - first > 1
        for first, end in run_edges.reshape(-1, 2).tolist()
    ]
    has_steps = sum(inside_flags) > 1 or (any(inside_flags) and is_equal.sum() > len(is_equal) / 2)
    return "steps-mid" if has_steps else "default"


def strokes_of_causes(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the Matplotlib style of the line of each label, in a darker shade of the colour of its
    cause; an empty list if two labels name one cause, or if one names none.

    >>> [style["color"] for style in strokes_of_causes(["idle (IT)", "locks"])]
    ['#727272', '#dd2a00']
    >>> strokes_of_causes(["lock", "2a lock"]), strokes_of_causes(["mcs"])
    ([], [])
    """
    cause_indices = [_cause_index(label) for label in labels]
    if None in cause_indices or len(set(cause_indices)) < len(cause_indices):
        return []
    styles = []
    for index, cause_index in enumerate(cause_indices):
        colour = _darker_colour(FILLS[cause_index or 0][0])
        marker_fill = "white" if index % 2 else colour
        styles.append({**stroke(index), "color": colour, "markerfacecolor": marker_fill})
    return styles


def _darker_colour(colour: str) -> str:
    """Return a colour of the same hue that is dark enough for a line on white."""
    red, green, blue = (int(colour[offset : offset + 2], 16) / 255 for offset in (1, 3, 5))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    # Lighter fills have lighter lines, so that hues that are near each other can be told apart.
    darker_channels = hls_to_rgb(hue, 0.18 + 0.28 * lightness, saturation)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in darker_channels)


def fills_of(
    labels: Iterable[str], assigned_fills: Mapping[str, int] = MappingProxyType({})
) -> dict[str, int]:
    """Return the index of the fill of each label; a label that names a cause has the fill of that
    cause.

    Further labels of one cause share its colour and differ in hatch.

    Parameters
    ----------
    labels : of one picture
    assigned_fills : fills that labels of this and of other pictures have already

    >>> fills_of(["busy", "lock:door"])["busy"] == fills_of(["fault", "useful"])["useful"]
    True
    >>> len(set(fills_of(["entry of pass 1", "entry of pass 2", "marvels"]).values()))
    3
    >>> fills_of(["fetching (ML)"])["fetching (ML)"] == fills_of(["fault"])["fault"]
    True
    """
    distinct_labels = list(dict.fromkeys(labels))
    fill_by_label = {
        label: assigned_fills[label] for label in distinct_labels if label in assigned_fills
    }
    next_fill = len(CAUSES)
    used_indices = {*assigned_fills.values()}
    # A label such as lock or locks has the look of the cause, lock:door another of it.
    for label in sorted(distinct_labels, key=lambda label: not _is_word(label)):
        if label in fill_by_label:
            continue
        fill_index = _cause_index(label)
        is_cause = _is_word(label) and fill_index is not None
        while fill_index is None:
            fill_index = next_fill if next_fill not in used_indices else None
            next_fill += 1
        while fill_index in fill_by_label.values() and not is_cause:
            fill_index += len(FILLS)
        fill_by_label[label] = fill_index
    return {label: fill_by_label[label] for label in distinct_labels}


def _is_word(label: str) -> bool:
    """Return whether a label without its brackets is one word."""
    return re.sub(r" \(\w+\)$", "", label).isalpha()


def labels_without_common_parts(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return labels without the parts that all of them have, and these parts. Parts are divided by
    commas and by "on".

    >>> labels_without_common_parts(["SOR on ATM", "IS on ATM"])
    (['SOR', 'IS'], ['on ATM'])
    >>> labels_without_common_parts(["pass 1, 16 processors", "pass 1, 16 processors, min_size 4"])
    (['pass 1, 16 processors', 'pass 1, 16 processors, min_size 4'], [])
    """
    parts_by_label = [re.split(r", | (?=on )", label) for label in labels]
    common_parts = set(parts_by_label[0]).intersection(*parts_by_label) if parts_by_label else set()
    short_labels = [
        ", ".join(part for part in parts if part not in common_parts).replace(", on ", " on ")
        for parts in parts_by_label
    ]
    if not common_parts or not all(short_labels) or len(set(short_labels)) < len(set(labels)):
        return list(labels), []
    return short_labels, [part for part in parts_by_label[0] if part in common_parts]


def common_parts_text(common_parts: Sequence[str], title: str) -> str:
    """Return a text on what all labels have in common, to be written below them; without parts that
    the title has.

    >>> common_parts_text(["on ATM"], "Time"), common_parts_text(["on ATM"], "Time on ATM")
    ('all on ATM', '')
    """
    parts_not_in_title = [
        part for part in common_parts if part.removeprefix("on ").lower() not in title.lower()
    ]
    return f"all {', '.join(parts_not_in_title)}" if parts_not_in_title else ""


_TITLES_OF_PARTS = {
    "sigio": "serving requests of others",
    "empty": "empty misses",
    "not-running": "not running",
}
"""Components of recorded runs and of page-sharing programs whose names are no words."""


def part_label(label: str) -> str:
    """Return the label of an area in words for a legend: of a wait such as ``lock:door``, of a step
    such as ``request.wire`` and of a component of this package such as ``not-running``.

    >>> part_label("lock:door"), part_label("sigio"), part_label("request.wire")
    ('waiting for the lock "door"', 'serving requests of others', 'request wire')
    >>> part_label("busy"), part_label("fault")
    ('useful work', 'fault')
    """
    if (phrase := NO_WORDS.component_phrase(label)) != as_words(label):
        return phrase
    return _TITLES_OF_PARTS.get(label, label.replace(".", " "))


def _cause_index(label: str) -> int | None:
    """Return the index in `CAUSES` of the cause that a label names by one of its words; None if it
    names none.
    """
    words = set(re.findall("[a-z]+", label.lower()))
    causes = enumerate(CAUSES.values())
    return next((index for index, (*_, names) in causes if words & set(names.split())), None)


def fill_style(index: int) -> dict[str, Any]:
    """Return the Matplotlib style of an area with the fill of this index."""
    repetition, fill_index = divmod(index, len(FILLS))
    colour, hatch = FILLS[fill_index]
    if repetition:  # a colour that is taken again has another hatch
        hatch = _FURTHER_HATCHES[(repetition - 1) % len(_FURTHER_HATCHES)]
    return {"facecolor": colour, "hatch": hatch, "edgecolor": "black", "linewidth": 0.6}


def draw_intervals(
    axes: Axes, x: Array, y: Array, low: Array, high: Array, colour: str = "black"
) -> None:
    """Draw the interval of each value: a bar at each of a few points, a band along many, with a
    remark below the figure.

    A question mark marks an estimate whose interval is unknown: its ends are infinite.

    Parameters
    ----------
    axes : of a picture
    x, y, low, high : in the units of its axes; ends are not a number where there is no interval
    colour : of the bars
    """
    has_interval = np.isfinite(y) & np.isfinite(high - low) & (low < high)
    figure = axes.get_figure(root=True)
    if figure is not None and has_interval.any():
        write_remark(figure, "Error bars and shades are intervals of the values.")
    if np.count_nonzero(has_interval) > MOST_MARKERS:
        axes.fill_between(x, low, high, where=has_interval, color=colour, alpha=0.18, linewidth=0)
    elif has_interval.any():
        # An estimate may lie outside of its interval by rounding.
        lengths = np.maximum(np.array([y - low, high - y])[:, has_interval], 0.0)
        axes.errorbar(
            np.asarray(x)[has_interval],
            y[has_interval],
            lengths,
            fmt="none",
            ecolor=colour,
            elinewidth=1.2,
            capsize=3,
        )
    for index in np.flatnonzero(np.isfinite(y) & np.isinf(high))[:: 1 + len(y) // MOST_MARKERS]:
        axes.annotate(
            "?", (x[index], y[index]), (4, 2), textcoords="offset points", color=colour, fontsize=9
        )


def style_of_method(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Return the changes of a line's style that show its method; its colour stays the same."""
    if method == _METHOD_WITH_DOTS:
        return {"linestyle": "none"}
    solved_methods = [method for method in methods if method != _METHOD_WITH_DOTS]
    return {
        "linestyle": _METHOD_DASHES[solved_methods.index(method) % len(_METHOD_DASHES)],
        "marker": "",
    }


def stroke_of_method(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Return the style of a grey line that shows a method in a legend."""
    grey = {"color": "#777777", "marker": "o", "markerfacecolor": "#777777"}
    return {**grey, **style_of_method(method, methods)}


def new_figure(width: float, height: float) -> Figure:
    """Return a new figure outside of pyplot's global list; sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def with_title_and_legend(
    figure: Figure,
    title: str,
    legend_title: str | None = None,
    handles: Sequence[Any] = (),
    labels: Sequence[str] = (),
    column_count: int = 1,
) -> Figure:
    """Return a finished figure: with the legend at the right, if there are labels, and the title,
    wrapped to the width beside the legend.

    Parameters
    ----------
    figure : with everything else drawn
    title : of the figure
    legend_title : heading of the legend
    handles, labels, column_count : what the legend shows, and its number of columns [1]
    """
    figure_width = figure.get_figwidth()
    if labels:
        figure.legend(
            handles,
            labels,
            loc="outside right upper",
            alignment="left",
            title=legend_title,
            ncols=column_count,
        )
    if figure.legends:
        figure.draw_without_rendering()
        figure_width = figure.legends[0].get_window_extent().x0 / figure.dpi
    lines = textwrap.wrap(title, max(20, int(figure_width / _LETTER_WIDTH) - 2))
    figure.suptitle("\n".join(lines), x=0.02, ha="left", fontsize=11, fontweight="bold")
    return figure


_NARROW_WIDTH, _NARROW_HEIGHT = 3.8, 3.2  # for a telephone [inch]
_NARROW_PLOT = 2.5  # height of one of several plots [inch]
_NARROW_COLOUR_BAR = 1.0  # height of a colour bar below its plot, with its numbers [inch]
_LETTERS_PER_INCH = 12  # of labels
_MOST_REMARK_LETTERS = 240  # that is written below the axis of a narrow picture
_LETTERS_PER_COLUMN = 21  # of a legend in two columns
_MOST_NAMES_OF_NARROW = 6  # in lines under the axis of a narrow figure
_LETTERS_OF_AN_UPRIGHT_NAME = 22
_NUMBER = late_pattern(r"[-−+\d.,e]*|\$.*\$")


def make_narrow(figure: Figure) -> bool:
    """Redraw a finished figure at the width of a telephone: plots and legend one below the other,
    and colour bars below their plots. Return whether its texts have room there; legends inside
    plots and long remarks have none.
    """
    remark = figure.get_supxlabel().replace("\n", " ")
    plots = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    has_own_legends = len(plots) > 1 and any(axes.get_legend() for axes in plots)
    shaded_plots = [axes for axes in plots if axes.collections and _colour_bar(axes)]
    has_other_axes = len(figure.axes) > len(plots) + len(shaded_plots)
    if not plots or has_own_legends or has_other_axes or len(remark) > _MOST_REMARK_LETTERS:
        return False
    for axes in shaded_plots:
        _lay_colour_bar_below(axes)
    figure.supxlabel("")
    height = _stack_plots(figure, plots) + _NARROW_COLOUR_BAR * len(shaded_plots)
    for axes in plots:
        _write_narrow_names(axes)
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), int(_LETTERS_PER_INCH * 3)))
        axes.set_ylabel(textwrap.fill(axes.get_ylabel(), int(_LETTERS_PER_INCH * 2)))
        for title_side in ("left", "center"):
            if side_title := axes.get_title(loc=title_side):
                wrapped_title = textwrap.fill(side_title, int(_LETTERS_PER_INCH * 3.2))
                axes.set_title(wrapped_title, loc=title_side, fontsize=9)
    if remark:
        # A legend outside of the axes would cover a remark of the figure.
        remark_lines = textwrap.fill(remark, int(_LETTERS_PER_INCH * 3))
        plots[-1].set_xlabel(f"{plots[-1].get_xlabel()}\n{remark_lines}".lstrip())
    legend_height = 0.0
    for wide_legend in [*figure.legends]:
        labels = [label.get_text() for label in wide_legend.get_texts()]
        has_two_columns = max(map(len, labels)) <= _LETTERS_PER_COLUMN
        letters_per_line = (2 - has_two_columns) * _LETTERS_PER_COLUMN
        wide_legend.remove()
        legend = figure.legend(
            [handle for handle in wide_legend.legend_handles if handle is not None],
            [textwrap.fill(label, letters_per_line) for label in labels],
            loc="outside lower left",
            alignment="left",
            title=wide_legend.get_title().get_text() or None,
            ncols=1 + has_two_columns,
        )
        figure.draw_without_rendering()
        legend_height += legend.get_window_extent().height / figure.dpi
    figure.set_size_inches(_NARROW_WIDTH, height + legend_height)
    title = figure.get_suptitle().replace("\n", " ")
    figure.suptitle(
        textwrap.fill(title, int(_NARROW_WIDTH / _LETTER_WIDTH) - 2),
        x=0.02,
        ha="left",
        fontsize=11,
        fontweight="bold",
    )
    return True


def _colour_bar(axes: Axes) -> Colorbar | None:
    """Return the colour bar that explains the shades of a plot, if it has one."""
    colour_bars = [shades.colorbar for shades in axes.collections if shades.colorbar is not None]
    return colour_bars[0] if colour_bars else None


def _lay_colour_bar_below(axes: Axes) -> None:
    """Move the colour bar of a plot below it, and remove the numbers of its cells if they are too
    many for a narrow picture.
    """
    colour_bar = _colour_bar(axes)
    assert colour_bar is not None
    title = colour_bar.ax.get_ylabel()
    formatter = colour_bar.ax.yaxis.get_major_formatter()
    shades = colour_bar.mappable
    colour_bar.remove()
    assert axes.figure is not None
    bar_below = axes.figure.colorbar(shades, ax=axes, label=title, location="bottom", pad=0.04)
    bar_below.ax.xaxis.set_major_formatter(formatter)
    if len({text.get_position()[0] for text in axes.texts}) > _MOST_NAMES_OF_NARROW:
        for text in [*axes.texts]:
            text.remove()
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    if sum(map(len, ticks)) > _LETTERS_PER_INCH * (_NARROW_WIDTH - 1):
        axes.tick_params(axis="x", labelrotation=90)


def _stack_plots(figure: Figure, plots: Sequence[Axes]) -> float:
    """Put plots that are side by side one below the other, each with the texts of both axes, and
    return the height that the plots of a narrow figure need [inch].
    """
    subplot_specs = [axes.get_subplotspec() for axes in plots]
    if len(plots) == 1:
        return _NARROW_HEIGHT
    if all(spec is not None and spec.get_gridspec().ncols == 1 for spec in subplot_specs):
        return figure.get_figheight()
    grid = figure.add_gridspec(len(plots), 1)
    vertical_title = ""
    for row, axes in enumerate(plots):
        axes.set_subplotspec(grid[row])
        axes.tick_params(labelbottom=True, labelleft=True)
        vertical_title = axes.get_ylabel() or vertical_title
        axes.set_ylabel(vertical_title)
    return _NARROW_PLOT * len(plots)


def _write_narrow_names(axes: Axes) -> None:
    """Write the names under an axis of a narrow figure in lines, and many of them upright, with the
    amounts above their bars; leave numbers as they are.
    """
    names = [label.get_text().replace("\n", " ") for label in axes.get_xticklabels()]
    if all(_NUMBER.fullmatch(name) for name in names):
        return
    is_upright = len(names) > _MOST_NAMES_OF_NARROW
    letters_per_line = max(6, int(_LETTERS_PER_INCH * (_NARROW_WIDTH - 0.7) / len(names)))
    letters_per_line = _LETTERS_OF_AN_UPRIGHT_NAME if is_upright else letters_per_line
    axes.set_xticks(axes.get_xticks(), [textwrap.fill(name, letters_per_line) for name in names])
    if is_upright:
        for label in axes.get_xticklabels():
            label.set(rotation=90, ha="center", va="top", rotation_mode="default")
        for amount in axes.texts:
            amount.set_rotation(90)
        axes.set_ylim(top=1.25 * axes.get_ylim()[1])


_LETTERS_PER_INCH_OF_REMARK = 17.0  # of the smallest size in an inch


def write_remark(figure: Figure, remark: str) -> None:
    """Write a remark below a figure, such as which rates are guesses, after the remarks that are
    there; nothing if it is empty or there already.
    """
    earlier_remarks = figure.get_supxlabel().replace("\n", " ")
    if remark and remark not in earlier_remarks:
        remarks = f"{earlier_remarks.rstrip('.')}. {remark}" if earlier_remarks else remark
        lines = textwrap.wrap(remarks, int(_LETTERS_PER_INCH_OF_REMARK * figure.get_figwidth()))
        figure.supxlabel("\n".join(lines), x=0.02, ha="left", fontsize=7)


_KEYS_WITH_NAMES = ("technology", "resources", "stations", "classes")


def axis_title(name: str, unit: str) -> str:
    """Return the title of an axis with its unit: the last key of a path in words, the last two keys
    of a long path, or a technology class.

    >>> (
    ...     axis_title("machine.network.adapter", "us"),
    ...     axis_title("parameters.items_per_page", "1"),
    ...     axis_title("time", "ms"),
    ... )
    ('adapter [us]', 'items per page', 'time [ms]')
    >>> axis_title("technology.processors", "1"), axis_title("resources.threads.permits", "1")
    ('technology processors', 'threads permits')
    """
    keys = [name] if "[" in name or " " in name else name.split(".")
    title = " ".join(
        keys[-2:] if len(keys) > 3 or keys[0] in _KEYS_WITH_NAMES else keys[-1:]
    ).replace("_", " ")
    return title if unit in ("", "1") else f"{title} [{unit}]"


def ink_colour_on(colour: Any) -> str:
    """Return black or white, whichever can be read on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < _DARKEST_LIGHTNESS else "black"


_LARGEST_PLAIN_TICK = 1e7  # an axis that reaches it has powers of ten at all of its ticks


def _plain_tick_text(value: float) -> str:
    """Write a number at a tick, with commas.

    >>> _plain_tick_text(0.5), _plain_tick_text(1000.0), _plain_tick_text(1e5)
    ('0.5', '1000', '100,000')
    """
    return with_commas(f"{value:.12g}")


def _power_tick_text(value: float) -> str:
    """Write a number at a tick with a power of ten.

    >>> _power_tick_text(1.0), _power_tick_text(2.5e8)
    ('1e0', '2.5e8')
    """
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def make_logarithmic(plot_axis: axis.Axis, values: Array) -> None:
    """Make an axis logarithmic, with plain numbers at its ticks.

    Parameters
    ----------
    plot_axis : an axis of a picture
    values : what it shows, in its unit
    """

    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
        NullLocator,
    )

    positive_values = np.unique(values[np.isfinite(values) & (values > 0)])
    are_round_values = all(is_round(value) for value in positive_values[: _MOST_TICKS + 1])
    plot_axis._set_axes_scale("log")  # type: ignore[attr-defined]
    has_plain_labels = positive_values.max(initial=0.0) < _LARGEST_PLAIN_TICK
    write_tick = _plain_tick_text if has_plain_labels else _power_tick_text
    plot_axis.set_major_formatter(FuncFormatter(lambda value, _: write_tick(value)))
    if (
        len(positive_values) <= _MOST_TICKS
        and are_round_values
        and _labels_have_room(np.log(positive_values))
    ):
        plot_axis.set_major_locator(FixedLocator(positive_values.tolist()))
        plot_axis.set_minor_locator(NullLocator())
        return
    decades = math.log10(positive_values[-1] / positive_values[0])
    if decades < _FEWEST_DECADES:
        plot_axis.set_major_locator(MaxNLocator(6))
        plot_axis.set_minor_locator(NullLocator())
        return
    subdivisions = next(
        (subdivisions for most_decades, subdivisions in _SUBDIVISIONS if decades <= most_decades),
        (1.0,),
    )
    plot_axis.set_major_locator(LogLocator(subs=subdivisions, numticks=12))
    plot_axis.set_minor_formatter(NullFormatter())


_MOST_PLAIN_DIGITS = 4
"""The most digits of a whole number that a reader takes in without commas."""


def set_plain_ticks(plot_axis: axis.Axis, values: Array) -> None:
    """Put ticks on the values themselves if they are few and far enough from each other; else on
    round values, which are whole if all values are.
    """

    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    plot_axis.set_major_formatter(FuncFormatter(lambda value, _: with_commas(f"{value:.12g}")))
    distinct_values = np.unique(values)
    if (
        len(distinct_values) <= _MOST_TICKS
        and _labels_have_room(distinct_values)
        and all(map(is_round, distinct_values))
    ):
        plot_axis.set_major_locator(FixedLocator(distinct_values.tolist()))
    elif np.all(
        distinct_values == np.round(distinct_values)
    ):  # a tick between whole servers would be none
        plot_axis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True))


def write_names_along(axes: Axes, names: Sequence[str]) -> None:
    """Write names under the horizontal axis, tilted if they would overlap."""
    axes.set_xticks(range(len(names)), names)
    if sum(map(len, names)) > MOST_LETTERS:
        tilt_labels(axes)


def tilt_labels(axes: Axes) -> None:
    """Tilt the texts under the horizontal axis."""
    for label in axes.get_xticklabels():
        label.set(rotation=30, ha="right", rotation_mode="anchor")


def with_commas(text: str) -> str:
    """Return a text, with commas between thousands if it is a whole number of five digits or more.

    >>> with_commas("1048576"), with_commas("1024"), with_commas("12.5")
    ('1,048,576', '1024', '12.5')
    """
    return f"{int(text):,}" if len(text) > _MOST_PLAIN_DIGITS and text.isdecimal() else text


def is_round(value: float) -> bool:
    """Return whether a value has at most two digits, or is a small whole number such as 128; other
    values make poor ticks.
    """
    return float(f"{value:.2g}") == value or (value == int(value) and abs(value) < 10_000)


def _labels_have_room(values: Array) -> bool:
    """Return whether ticks at these sorted values leave room for their labels."""

    if len(values) < 2:
        return True
    return bool(np.diff(values).min() >= _LEAST_TICK_DISTANCE * (values[-1] - values[0]))


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure as PNG or SVG, by the suffix of its path, without a date or program name in the
    file.
    """
    figure.savefig(
        path,
        metadata={"Software": None} if path.suffix == ".png" else {"Date": None, "Creator": None},
    )
