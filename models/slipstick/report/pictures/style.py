"""The look of pictures: told apart in colour, in grey and in black and white."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from slipstick.report.words import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FILLS",
    "STROKES",
    "as_method",
    "axis_title",
    "ink_on",
    "look",
    "sheet",
    "stroke",
    "stroke_of_method",
    "title_of",
]

FILLS = (  # light enough for hatches in black; neighbours differ in grey
    ("#4477aa", ""),
    ("#ffee99", "///"),
    ("#ee8866", ""),
    ("#d9f0fa", "\\\\\\"),
    ("#66bb99", "xxx"),
    ("#f4f4f4", ""),
    ("#bb8fc0", "++"),
    ("#ffd9d0", "|||"),
    ("#7a8a99", ""),
    ("#eef5b0", "--"),
    ("#cc9944", "//"),
    ("#ffffff", "\\\\"),
)
"""Colour and hatch of each part of a bar, in order."""

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

_LOOK = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
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
_DOTS = "simulation"  # what was seen is drawn as dots, what was computed as lines

_LETTER = 0.086  # width of a letter at the size of titles [inch]
_DARK = 0.45


@contextmanager
def look() -> Iterator[None]:
    """Draw with our settings, whatever the user's own are, and leave those as they were.

    Raises
    ------
    MissingExtraError : matplotlib is not installed
    """
    need("matplotlib", "drawing pictures")
    import matplotlib.style

    settings: list[Any] = ["default", _LOOK]
    with matplotlib.style.context(settings):
        yield


def stroke(index: int) -> dict[str, Any]:
    """Give the look of one line among others."""
    colour, marker, dashes = STROKES[index % len(STROKES)]
    fill = "white" if index % 2 else colour
    return {"color": colour, "marker": marker, "linestyle": dashes, "markerfacecolor": fill}


def as_method(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Give what a method changes in the look of a line, so that lines of all methods keep their colour."""
    if method == _DOTS:
        return {"linestyle": "none"}
    computed = [each for each in methods if each != _DOTS]
    return {"linestyle": _METHOD_DASHES[computed.index(method) % len(_METHOD_DASHES)], "marker": ""}


def stroke_of_method(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Give the look of a method in a legend, whatever the line."""
    grey = {"color": "#777777", "marker": "o", "markerfacecolor": "#777777"}
    return {**grey, **as_method(method, methods)}


def sheet(width: float, height: float) -> Figure:
    """Take an empty figure, which no global list keeps; sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def title_of(figure: Figure, text: str, width: float | None = None) -> None:
    """Write a heading over the figure, folded to its width, or to that beside a legend [inch]."""
    lines = textwrap.wrap(text, max(20, int((width or figure.get_figwidth()) / _LETTER) - 2))
    figure.suptitle("\n".join(lines), x=0.02, ha="left", fontsize=11, fontweight="bold")


def axis_title(name: str, unit: str) -> str:
    """Name an axis and its unit.

    >>> axis_title("machine.network.adapter", "us")
    'machine.network.adapter [us]'
    """
    return f"{name} [{unit}]"


def ink_on(colour: Any) -> str:
    """Choose black or white for text on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < _DARK else "black"
