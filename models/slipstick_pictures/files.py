"""The files of pictures: of a run over time, and those that other packages draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.errors import InputError
from slipstick.files import replacement_file, write_whole
from slipstick.report.write import PICTURE_ENDINGS
from slipstick.results.study import Timeline
from slipstick_pictures.look import look, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_timeline(timeline: Timeline, path: Path, title: str) -> None:
    """Write a timeline as Chrome trace JSON or as a picture, by the suffix of the file. After an
    error the file is unchanged.

    Parameters
    ----------
    timeline : what to write
    path : where to: .json, .png or .svg
    title : heading of the picture

    Raises
    ------
    InputError : the ending is another
    MissingExtraError : matplotlib is not installed
    """
    from slipstick_pictures.timeline import chrome_trace_json, draw_timeline

    if path.suffix == ".json":
        write_whole(path, chrome_trace_json(timeline))
    elif path.suffix in PICTURE_ENDINGS:
        write_picture(lambda: draw_timeline(timeline, title), path)
    else:
        raise InputError(
            f"a timeline is written to a file that ends in .json, .png or .svg, not to {path.name}"
        )


def write_picture(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a picture and write it to a file, as PNG or SVG by the suffix. After an error the file
    is unchanged.

    Parameters
    ----------
    draw : gives the picture
    path : where to

    Raises
    ------
    InputError : the ending is another
    MissingExtraError : matplotlib is not installed
    """
    if path.suffix not in PICTURE_ENDINGS:
        raise InputError(
            f"pictures are drawn into a file that ends in .png or .svg, not into {path.name}"
        )
    with look():
        figure = draw()
        with replacement_file(path) as work:
            save_figure(figure, work)
