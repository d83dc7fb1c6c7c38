"""The part of `slipstick fit` that continues curves by others of the same machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from slipstick.cli.console import DONE, print_json, refuse

if TYPE_CHECKING:
    from slipstick_measure.fit.siblings import SiblingPrediction

CURVE_OPTIONS = (
    click.option(
        "--curve",
        "curve_columns",
        metavar="COLUMN,...",
        help="Columns that say to which curve a row belongs.",
    ),
    click.option(
        "--siblings",
        "sibling_columns",
        metavar="COLUMN,...",
        default="",
        help=(
            "Columns that related curves have in common, such as the machine. [all curves are"
            " related]"
        ),
    ),
)
"""What makes `fit` read its file as several curves."""


def continue_curves(
    files: Sequence[Path],
    columns: Sequence[str],
    measured_columns: Sequence[str],
    curve_columns: str,
    sibling_columns: str,
    predicted_counts: Sequence[float],
    as_json: bool,
) -> int:
    """Predict each curve of a table beyond its last row from its siblings; print the predictions,
    and how well siblings predict curves that were measured further. Return the exit status.
    """
    from slipstick.results.question import as_data
    from slipstick_measure.fit.siblings import curves_of, predict_from_siblings, predict_held_out

    if len(files) != 1:
        refuse("FILE", "curves are read from one table at a time")
    if not predicted_counts:
        refuse("--at", "say how far the curves are to be continued, such as --at 32,64")
    curve_names, group_by_curve, row_processors, row_values = _read_curve_rows(
        files[0], columns, measured_columns, curve_columns, sibling_columns
    )
    curves = curves_of(curve_names, row_processors, row_values)
    last_processors_by_curve = {curve_name: max(curve) for curve_name, curve in curves.items()}
    predictions: list[SiblingPrediction] = []
    held_out_checks: list[tuple[float, float, list[SiblingPrediction]]] = []
    for predicted_count in predicted_counts:
        ended_curves = [
            curve_name
            for curve_name in curves
            if last_processors_by_curve[curve_name] < predicted_count
        ]
        predictions += [
            prediction
            for curve_name in ended_curves
            if (
                prediction := predict_from_siblings(
                    curves,
                    group_by_curve,
                    curve_name,
                    predicted_count,
                    last_processors_by_curve[curve_name],
                )
            )
        ]
        last_counts = sorted(
            {
                processor_count
                for curve in curves.values()
                for processor_count in curve
                if processor_count < predicted_count
            }
        )
        held_out_checks += [
            (
                predicted_count,
                last_count,
                predict_held_out(curves, group_by_curve, predicted_count / last_count, last_count),
            )
            for last_count in last_counts[-2:]
        ]
    if as_json:
        print_json(
            {
                "curves": as_data(predictions),
                "left_out": [
                    as_data(held_out_predictions) for *_, held_out_predictions in held_out_checks
                ],
            }
        )
    else:
        click.echo(_curves_text(predictions, held_out_checks), nl=False)
    return DONE


def _read_curve_rows(
    file: Path,
    columns: Sequence[str],
    measured_columns: Sequence[str],
    curve_columns: str,
    sibling_columns: str,
) -> tuple[list[str], dict[str, str], list[float], list[float]]:
    """Read a table of curves. Return the name of the curve of each row, the group of siblings by
    curve, and the number of processors and the value of each row.
    """
    from slipstick.schema.text import Mark
    from slipstick_measure.fit.columns import heading_and_unit, read_columns
    from slipstick_measure.readers.cells import is_missing

    table = read_columns(file)
    heading_by_role = dict(column.partition("=")[::2] for column in columns)
    measured_headings = [column.partition("=")[2] for column in measured_columns]
    curve_headings = [heading.strip() for heading in curve_columns.split(",") if heading.strip()]
    sibling_headings = [
        heading.strip() for heading in sibling_columns.split(",") if heading.strip()
    ]
    other_headings = [
        heading for heading in table.headings if heading not in (*curve_headings, *sibling_headings)
    ]
    p_heading = heading_by_role.get("p") or _heading_of_kind(other_headings, ["p"], "p")
    value_heading = (
        heading_and_unit(measured_headings[0])[0]
        if measured_headings
        else _heading_of_kind(other_headings, ["rate", "time"], "value")
    )
    for heading in (p_heading, value_heading, *curve_headings, *sibling_headings):
        if heading not in table.headings:
            message = (
                f"there is no column {heading!r}; name the processors by --column p=COLUMN and the"
                f" value by --measured throughput=COLUMN, of {', '.join(table.headings)}"
            )
            raise Mark(table.file, 1, 1).error(message)
    row_indices = [
        row_index
        for row_index, cell in enumerate(table.column(value_heading))
        if not is_missing(cell)
    ]
    if not row_indices:
        raise Mark(table.file, 1, 1).error("all its cells are empty", value_heading)
    curve_names, sibling_keys = (
        [
            " ".join(table.column(heading)[row_index] for heading in headings)
            for row_index in row_indices
        ]
        for headings in (curve_headings, sibling_headings)
    )
    row_processors, row_values = (
        table.positive_numbers(heading, row_indices) for heading in (p_heading, value_heading)
    )
    return (
        curve_names,
        dict(zip(curve_names, sibling_keys, strict=True)),
        row_processors,
        row_values,
    )


def _heading_of_kind(headings: Sequence[str], kinds: Sequence[str], usual_heading: str) -> str:
    """Return the only heading of a column of the given kinds; the usual heading if the table has it
    or if several columns are of these kinds.
    """
    from slipstick_measure.readers.columns import TableColumn

    headings_of_kind = [
        heading for heading in headings if TableColumn.of(0, heading, []).kind in kinds
    ]
    return (
        headings_of_kind[0]
        if len(headings_of_kind) == 1 and usual_heading not in headings
        else usual_heading
    )


def _curves_text(
    predictions: Sequence[SiblingPrediction],
    held_out_checks: Sequence[tuple[float, float, list[SiblingPrediction]]],
) -> str:
    """Return, as text for the terminal, how well siblings predict curves that were measured
    further, and the predicted values of curves that end.
    """
    from slipstick.report.formatting import (
        TextTable,
        percent,
        plain_decimal,
        terminal_blocks,
    )
    from slipstick_measure.report.measured import INDENT

    check_sentences = []
    for predicted_count, last_count, curve_predictions in held_out_checks:
        if not curve_predictions:
            continue
        relative_errors = [
            abs(prediction.value / (prediction.measured or prediction.value) - 1)
            for prediction in curve_predictions
        ]
        are_inside = [
            prediction.low <= (prediction.measured or 0.0) <= prediction.high
            for prediction in curve_predictions
        ]
        interval_ratio = median(
            prediction.high / prediction.low for prediction in curve_predictions
        )
        check_sentences.append(
            f"{len(curve_predictions)} curves, cut off after {last_count:g} and predicted at"
            f" {predicted_count:g} from their siblings, have a median error of"
            f" {percent(median(relative_errors), 2)}. Intervals of 90 % contain"
            f" {percent(sum(are_inside) / len(are_inside), 2)} of the values; the upper end is"
            f" {interval_ratio:.2f} times the lower end."
        )
    rows = [
        [
            prediction.curve,
            f"{prediction.last_processors:g}",
            f"{prediction.p:g}",
            plain_decimal(prediction.value, 4),
            f"{plain_decimal(prediction.low, 4)} to {plain_decimal(prediction.high, 4)}",
            str(prediction.siblings),
        ]
        for prediction in predictions
        if prediction.is_useful
    ]
    headings = ["curve", "known up to", "at", "predicted", "between", "siblings"]
    refusal_sentences = [
        f"no prediction of {prediction.curve} at {prediction.p:g}: the ends of its interval would"
        f" differ {plain_decimal(prediction.high / prediction.low, 3)} times, as its rows up to"
        f" {prediction.last_processors:g} differ from those of the nearest sibling by a factor of"
        f" {plain_decimal(exp(prediction.departure), 3)}; check these rows, or measure there"
        for prediction in predictions
        if not prediction.is_useful
    ]
    if not predictions:
        check_sentences.append("Fewer than two siblings go on to there: nothing is predicted.")
    elif not check_sentences:
        check_sentences.append(
            "Fewer than three curves go on to there, so nothing shows how far such predictions err."
        )
    blocks = [
        check_sentences,
        TextTable(headings, rows, range(1, 6)) if rows else "",
        refusal_sentences,
    ]
    return terminal_blocks(blocks, INDENT)
