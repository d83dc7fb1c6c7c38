"""The part of `slipstick fit` that continues curves by others of the same machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import DONE, print_json, refuse

if TYPE_CHECKING:
    from slipstick.schema.text import Mark
    from slipstick_measure.fit.siblings import SiblingPrediction

CURVE_OPTIONS = (
    click.option(
        "--curve",
        "curve_columns",
        metavar="COLUMN,...",
        help="Columns that say which curve a row is of: each is continued by its siblings.",
    ),
    click.option(
        "--siblings",
        "sibling_columns",
        metavar="COLUMN,...",
        default="",
        help="Columns that siblings have in common, such as the machine. [all curves are siblings]",
    ),
)
"""What makes `fit` read its file as several curves."""


def continue_curves(
    files: Sequence[Path],
    columns: Sequence[str],
    measured_columns: Sequence[str],
    curve_columns: str,
    sibling_columns: str,
    wanted: Sequence[float],
    as_json: bool,
) -> int:
    """Continue each curve of a table by its siblings, and say how well that works on those that go
    on.
    """
    from slipstick.results.question import as_data
    from slipstick_measure.fit.siblings import curves_of, left_out, predict

    if len(files) != 1:
        refuse("FILE", "curves are read from one table at a time")
    if not wanted:
        refuse("--at", "say how far the curves are to be continued, such as --at 32,64")
    names, alike, p, values = _rows(
        files[0], columns, measured_columns, curve_columns, sibling_columns
    )
    curves = curves_of(names, p, values)
    ends = {name: max(each) for name, each in curves.items()}
    found: list[SiblingPrediction] = []
    checks: list[tuple[float, float, list[SiblingPrediction]]] = []
    for at in wanted:
        short = [name for name in curves if ends[name] < at]
        found += [each for name in short if (each := predict(curves, alike, name, at, ends[name]))]
        known = sorted({last for each in curves.values() for last in each if last < at})
        checks += [(at, last, left_out(curves, alike, at / last, last)) for last in known[-2:]]
    if as_json:
        print_json({"curves": as_data(found), "left_out": [as_data(each) for *_, each in checks]})
    else:
        click.echo(_text(found, checks), nl=False)
    return DONE


def _rows(
    file: Path,
    columns: Sequence[str],
    measured_columns: Sequence[str],
    curve_columns: str,
    sibling_columns: str,
) -> tuple[list[str], dict[str, str], list[float], list[float]]:
    """Read the curve, the number of processors and the value of each row, and what siblings have
    in common.
    """
    from slipstick_measure.fit.columns import heading_and_unit, read_columns

    table = read_columns(file)
    mapped = dict(each.partition("=")[::2] for each in columns)
    named = [each.partition("=")[2] for each in measured_columns]
    headings = [mapped.get("p", "p"), heading_and_unit(named[0])[0] if named else "value"]
    keys = [word.strip() for word in curve_columns.split(",") if word.strip()]
    common = [word.strip() for word in sibling_columns.split(",") if word.strip()]
    for heading in (*headings, *keys, *common):
        if heading not in table.headings:
            refuse(
                "FILE",
                f"{file} has no column {heading!r}; name the processors by --column p=COLUMN and"
                f" the value by --measured throughput=COLUMN, of {', '.join(table.headings)}",
            )
    names = [" ".join(cells) for cells in zip(*map(table.column, keys), strict=True)]
    groups = [" ".join(cells) for cells in zip(*map(table.column, common), strict=True)]
    alike = dict(zip(names, groups or [""] * len(names), strict=True))
    numbers = [
        [_number(cell, table.mark(row), each) for row, cell in enumerate(table.column(each))]
        for each in headings
    ]
    return names, alike, numbers[0], numbers[1]


def _number(cell: str, mark: Mark, heading: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise mark.error(f"curves are of plain numbers above 0; got {cell!r}", heading)
    return value


def _text(
    found: Sequence[SiblingPrediction],
    checks: Sequence[tuple[float, float, list[SiblingPrediction]]],
) -> str:
    """Write how well siblings predict one another, then the curves that are continued."""
    from slipstick.report.formatting import TextTable, percent, plain, terminal_blocks
    from slipstick_measure.report.measured import INDENT

    lines = []
    for at, last, every in checks:
        if not every:
            continue
        errors = [abs(each.value / (each.measured or each.value) - 1) for each in every]
        held = [each.low <= (each.measured or 0.0) <= each.high for each in every]
        lines.append(
            f"Known up to {last:g} and predicted at {at:g} by their siblings, {len(every)} curves"
            f" have a median error of {percent(median(errors), 2)}; intervals of 90 % hold"
            f" {percent(sum(held) / len(held), 2)}, high over low"
            f" {median(each.high / each.low for each in every):.2f}."
        )
    rows = [
        [
            each.curve,
            f"{each.last:g}",
            f"{each.p:g}",
            plain(each.value, 4),
            f"{plain(each.low, 4)} to {plain(each.high, 4)}",
            str(each.siblings),
        ]
        for each in found
    ]
    head = ["curve", "known up to", "at", "predicted", "between", "siblings"]
    missing = "Fewer than two siblings go on to there: nothing is predicted."
    blocks = [lines or [missing], TextTable(head, rows, range(1, 6)) if rows else ""]
    return terminal_blocks(blocks, INDENT)
