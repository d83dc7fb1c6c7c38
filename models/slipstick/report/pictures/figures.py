"""Pictures of results: drawn without any global state, saved with the same bytes each time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slipstick.report.pictures.style import look
from slipstick.results.study import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from slipstick.schema.kinds.study import PictureSpec


def draw(results: Results, spec: PictureSpec) -> Figure:
    """Draw one picture.

    Parameters
    ----------
    results : of a study
    spec : what to draw, by its kind

    Raises
    ------
    MissingExtraError : matplotlib is not installed
    """
    from slipstick.report.pictures.bars import draw_bands, draw_bars, draw_fits
    from slipstick.report.pictures.gantt import draw_timeline
    from slipstick.report.pictures.lines import draw_lines
    from slipstick.report.pictures.maps import draw_map
    from slipstick.report.pictures.outlook import draw_changes, draw_histogram, draw_projection

    with look():
        match spec.kind:
            case "bands":
                return draw_bands(results, spec)
            case "bars":
                return draw_bars(results, spec)
            case "changes":
                return draw_changes(results, spec)
            case "histogram":
                return draw_histogram(results, spec)
            case "projection":
                return draw_projection(results, spec)
            case "lines":
                return draw_lines(results, spec)
            case "map":
                return draw_map(results, spec)
            case "fits":
                return draw_fits(results.fits[spec.fit], spec.title)
            case "timeline":
                return draw_timeline(results.timelines[spec.name], spec.title)


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
