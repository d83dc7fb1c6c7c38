"""The commands about trends: rates fitted to points, and fits of earlier years held against what
came.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import (
    DONE,
    completion_function,
    json_option,
    out_option,
    print_json,
    write_text,
)

if TYPE_CHECKING:
    from slipstick_rates.series import PointSeries


@click.group()
def trend() -> None:
    """Fit rates to points over the years, and test such fits."""


@trend.command()
@click.argument("file", shell_complete=completion_function("spec"))
@json_option
def fit(file: str, as_json: bool) -> int:
    """Fit rates to the points of FILE: a table in CSV with the columns year and value, or a trend.

    Further columns are series, unit, device, source, from_memory, announced, known, error and
    apart.

    \b
    Examples:
      slipstick trend fit measured
      slipstick trend fit my-points.csv
    """
    from slipstick_trends.fit_tables import fit_document, fit_text

    series = _read_series(file)
    if as_json:
        print_json({"rates": fit_document(series)})
        return DONE
    return write_text(fit_text(series), None)


@trend.command()
@click.argument("file", default="measured", shell_complete=completion_function("spec"))
@click.option(
    "--choose",
    is_flag=True,
    help="Also choose the constants for each start year on the back-tests from the others.",
)
@click.option("--markdown", is_flag=True, help="Lay the tables out for a page.")
@out_option
@json_option
def backtest(file: str, choose: bool, markdown: bool, out: Path | None, as_json: bool) -> int:
    """Fit each series of FILE as it was known in 2005, 2010 and 2015, and predict the later points.

    \b
    Examples:
      slipstick trend backtest
      slipstick trend backtest --choose --markdown
    """
    from slipstick_trends.fit_tables import back_test_document, back_test_text

    if as_json:
        _refuse_beside_json(choose=choose, markdown=markdown, out=out)
    series = _read_series(file)
    if as_json:
        print_json({"predictions": back_test_document(series)})
        return DONE
    return write_text(back_test_text(series, choose=choose, markdown=markdown), out)


def _refuse_beside_json(**values: object) -> None:
    """Raise if an option that only changes the text is given together with ``--json``."""
    from slipstick.cli.console import refuse

    for name, value in values.items():
        if value:
            refuse(
                f"--{name}",
                f"--json prints every prediction and nothing else; leave out --json or --{name}",
            )


def _read_series(reference: str) -> list[PointSeries]:
    """Return the series in a table of points, or of a trend by its name or file."""
    from slipstick.schema.kinds.quantity import validate
    from slipstick.schema.library import Library
    from slipstick.schema.text import Mark
    from slipstick_rates.files import TrendSpec, read_points_as_trend, series_of

    if reference.endswith((".yaml", ".yml")) or "." not in reference:
        tree = Library().load("trend", reference, Mark(reference, 1, 1))
    else:
        tree = read_points_as_trend(Path(reference))
    series = list(series_of(validate(TrendSpec, tree)).values())
    if not series:
        from slipstick.cli.console import refuse

        refuse("FILE", f"trend {reference} has rates as written and no series of points")
    return series
