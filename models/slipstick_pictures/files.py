"""The files of pictures: those of a study, of a run over time, and of other packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.errors import InputError, look_up
from slipstick.files import whole_file, write_whole
from slipstick.report.write import PICTURES
from slipstick.results.study import Results, Timeline
from slipstick_pictures.look import look, store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import PictureSpec


def figure_of(results: Results, name: str) -> Figure:
    """Draw a picture of a study by its name."""
    from slipstick_pictures.pictures import draw, fill_order

    pictures = {spec.name: spec for spec in results.spec.pictures}
    with look():
        spec = look_up("picture", name, pictures)
        return draw(results, spec, fill_order(results, results.spec.pictures))


def save_all(
    results: Results, pictures: Sequence[PictureSpec], folder: Path
) -> dict[str, list[str]]:
    """Save pictures of a study into a folder, and return the names of the files of each."""
    from slipstick_pictures.pictures import fill_order, save

    order = fill_order(results, pictures)
    return {
        spec.name: [path.name for path in save(results, spec, folder, order)] for spec in pictures
    }


def write_timeline(timeline: Timeline, path: Path, title: str) -> None:
    """Write a timeline as Chrome trace JSON, or as a picture, by the ending of its name; whole, or
    nothing.

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
    from slipstick_pictures.timeline import chrome_trace, draw_timeline

    if path.suffix == ".json":
        write_whole(path, chrome_trace(timeline))
    elif path.suffix in PICTURES:
        write_picture(lambda: draw_timeline(timeline, title), path)
    else:
        raise InputError(
            f"a timeline is written to a file that ends in .json, .png or .svg, not to {path.name}"
        )


def write_picture(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a picture into a file, PNG or SVG by the ending of its name; whole, or nothing.

    Parameters
    ----------
    draw : gives the picture
    path : where to

    Raises
    ------
    InputError : the ending is another
    MissingExtraError : matplotlib is not installed
    """
    if path.suffix not in PICTURES:
        raise InputError(
            f"pictures are drawn into a file that ends in .png or .svg, not into {path.name}"
        )
    with look():
        figure = draw()
        with whole_file(path) as work:
            store(figure, work)
