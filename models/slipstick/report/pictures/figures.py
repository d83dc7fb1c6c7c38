"""Pictures of results: drawn without any global state, saved with the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from slipstick.report.pictures.style import look
from slipstick.results.study import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import PictureSpec


def draw(results: Results, spec: PictureSpec) -> Figure:
    """Draw one picture; those of a question are drawn by what the question found.

    Parameters
    ----------
    results : of a study
    spec : what to draw, by its kind

    Raises
    ------
    MissingExtraError : matplotlib is not installed
    """
    with look():
        if spec.question:
            return cast("Figure", results.questions[spec.question].draw(spec))
        match spec.kind:
            case "bars":
                from slipstick.report.pictures.bars import draw_bars

                return draw_bars(results, spec)
            case "lines":
                from slipstick.report.pictures.lines import draw_lines

                return draw_lines(results, spec)
            case "map":
                from slipstick.report.pictures.maps import draw_map

                return draw_map(results, spec)
            case "timeline":
                from slipstick.report.pictures.gantt import draw_timeline

                return draw_timeline(results.timelines[spec.name], spec.title)
    raise AssertionError(spec.kind)


def save(results: Results, spec: PictureSpec, folder: Path) -> list[Path]:
    """Draw a picture and save it as PNG and SVG, named as the spec says.

    Parameters
    ----------
    results, spec : as for `draw`
    folder : where to
    """
    figure = draw(results, spec)
    paths = [folder / f"{spec.name}.png", folder / f"{spec.name}.svg"]
    with look():
        figure.savefig(paths[0], metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths
