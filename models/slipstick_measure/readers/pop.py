"""Tables of the POP metrics: those of modelfactors, with metrics as rows and in percent, and
PyPOP's, with runs as rows.

Names and definitions: POP Centre of Excellence, Standard Metrics for Performance Audits; formats:
bsc-performance-tools (modelfactors.csv) and numericalalgorithmsgroup/pypop.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from slipstick.errors import short
from slipstick.late import late_pattern
from slipstick_measure.measurements import EFFICIENCIES, Measurements
from slipstick_measure.readers.names import PROCESSORS, plain_words
from slipstick_measure.readers.reading import Coordinates, FileFormat, Reading, time_of_unit

METRIC_OF_NAME = {
    **{name.replace("_", " "): name for name in EFFICIENCIES},
    "serialisation efficiency": "serialization_efficiency",
    "computation scaling": "computation_scalability",
    "computational scaling": "computation_scalability",
    "computational scalability": "computation_scalability",
    "runtime": "time",
    "elapsed time": "time",
    "number of processes": "p",
    "total threads": "p",
}
"""Standard name of a metric, by its name in the tools in lower case."""

LARGEST_EFFICIENCY_RATIO = (
    2.0  # no efficiency is 200%, and a parallel efficiency of 2% is not worth a table
)
_PROCESSES = late_pattern(r"\s*([0-9]+)\s*([\[(].*)?")
_CUT_TIME = late_pattern(r"#+\s*Runtime\s*\([^)]*", re.IGNORECASE)
_CUT_MESSAGE = "this row is cut; complete it, or take the line out"
_LABEL = late_pattern(r"(?P<name>[^\[(]*+)(?:[\[(](?P<unit>[^\])]*+)[\])])?\s*+")


class MetricCell(NamedTuple):
    """A value of a metric in a run, as a table writes it."""

    line: int
    run_index: int
    metric: str
    unit: str | None
    text: str


def _is_pop(input_file: Reading) -> bool:
    """Return whether a label in the first column or the first line is a POP efficiency."""
    rows = [re.split("[;,\t]", text) for _, text in input_file.content[:60]]
    labels = [row[0] for row in rows]
    # A sentence may have such a name between commas; a heading has a row below it.
    if len(rows) > 1 and len(rows[1]) == len(rows[0]):
        labels += rows[0]
    if any(_parse_label(row[0])[0] in EFFICIENCIES for row in rows):
        return True
    metrics = {_parse_label(label)[0] for label in labels} & EFFICIENCIES.keys()
    if len(metrics) != 1:
        return len(metrics) > 1
    heading_words = {plain_words(cell) for cell in rows[0] if _parse_label(cell)[0] != "p"}
    # A table of runs may have one column of efficiencies, which its author computed.
    return not heading_words & {*PROCESSORS}


def _read_pop(input_file: Reading) -> Measurements:
    """Read a table of POP metrics in either orientation.

    Efficiencies above 2 make it a table in percent. A row of run times counts if it has a unit, in
    its label or told beside the file.
    """
    rows = _split_rows(input_file)
    if any(row and _parse_label(row[0])[0] in EFFICIENCIES for _, row in rows):
        cells = _metric_cells(input_file, [[(line, text) for text in row] for line, row in rows])
    else:
        cells = _metric_cells(input_file, _transposed_table(input_file, rows))
    coordinates_by_run = _coordinates_by_run(input_file, cells)
    efficiencies = [
        (cell, value)
        for cell in cells
        if cell.metric in EFFICIENCIES
        and cell.text
        and (value := input_file.number(cell.line, cell.metric, cell.text))
    ]
    is_percent = any(
        value > LARGEST_EFFICIENCY_RATIO
        for cell, value in efficiencies
        if cell.metric == "parallel_efficiency"
    ) or (
        sum(value > LARGEST_EFFICIENCY_RATIO for _, value in efficiencies) * 2 > len(efficiencies)
    )
    for cell, value in efficiencies:
        if (value > LARGEST_EFFICIENCY_RATIO) != is_percent:
            scale_in_words = "percentages" if is_percent else "fractions"
            input_file.add_problem(
                cell.line,
                cell.metric,
                f"{cell.text.strip()} stands among {scale_in_words}; write all on one scale",
            )
    if input_file.problems:
        input_file.finished()
    for cell in cells:
        if cell.metric != "p" and not cell.text.strip():
            input_file.add_note(
                cell.line, cell.metric, "a run has no value here, so it is left out"
            )
        if cell.run_index not in coordinates_by_run or not cell.text.strip():
            continue
        if cell.metric in EFFICIENCIES:
            input_file.add(
                cell.line,
                coordinates_by_run[cell.run_index],
                cell.metric,
                cell.text,
                "%" if is_percent else "1",
            )
        elif cell.metric == "time" and cell.unit is None and input_file.hints.unit is None:
            input_file.add_note(
                cell.line, "time", "run times without a unit are left out; give it with --unit"
            )
        elif cell.metric == "time":
            input_file.add(
                cell.line, coordinates_by_run[cell.run_index], "time", cell.text, cell.unit
            )
    return input_file.finished()


def _split_rows(input_file: Reading) -> list[tuple[int, list[str]]]:
    """Split the lines of a file into rows. In files of modelfactors, lines behind # have raw
    values; of these only the run times are taken, which are in microseconds.
    """
    table_rows = []
    first_text = next((text for _, text in input_file.content), "")
    delimiter = max(";,\t", key=first_text.count)
    for line, text in enumerate(input_file.lines, 1):
        if not text.strip():
            continue
        try:
            row = next(csv.reader([text.lstrip("# \t")], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            input_file.refuse(
                line, "", f"this is not a line of a table of metrics: {error}; check the quotes"
            )
        if _CUT_TIME.fullmatch(text.strip()):
            input_file.add_problem(line, row[0], _CUT_MESSAGE)
        elif not text.lstrip().startswith("#"):
            table_rows.append((line, row))
        elif row and _parse_label(row[0])[0] == "time":
            table_rows.append((line, [row[0] if "(" in row[0] else f"{row[0]} (us)", *row[1:]]))
    return table_rows


def _parse_label(text: str) -> tuple[str, str | None]:
    """Return the standard name of the metric that a label names, and its unit. Brackets without a
    unit, as in ``Runtime (ideal)``, belong to the name.
    """
    match = _LABEL.fullmatch(text.strip(" -\t\"'"))
    if match and match["unit"] and not time_of_unit(match["unit"])[1] and "%" not in match["unit"]:
        match = None
    name = (match["name"] if match else text).casefold().removeprefix("mpi ").strip()
    return METRIC_OF_NAME.get(name, ""), match["unit"] if match else None


def _transposed_table(
    input_file: Reading, rows: Sequence[tuple[int, list[str]]]
) -> list[list[tuple[int, str]]]:
    """Return a table with one run per row in the form with one metric per row; each cell keeps its
    line.
    """
    (_, heading), *other_rows = rows
    for line, texts in other_rows:
        if len(texts) != len(heading):
            input_file.add_problem(
                line, "", f"{len(texts)} values, where the first line has {len(heading)} columns"
            )
    column_names = [text.strip().casefold() for text in heading]
    # Processes times threads; the processes alone would be too few.
    ignored_name = "number of processes" if "total threads" in column_names else None
    full_rows = [(line, texts) for line, texts in rows if len(texts) == len(heading)]
    return [
        [(line, texts[index]) for line, texts in full_rows]
        for index, name in enumerate(column_names)
        if name != ignored_name
    ]


def _metric_cells(
    input_file: Reading, rows: Sequence[Sequence[tuple[int, str]]]
) -> list[MetricCell]:
    """Return the cells of a table whose rows are metrics and whose columns are runs."""
    cells: list[MetricCell] = []
    line_by_metric: dict[str, int] = {}
    run_count = 0
    unread_lines_and_labels: list[tuple[int, str]] = []
    last_line = max((metric_row[0][0] for metric_row in rows if metric_row), default=0)
    for (line, label), *texts in rows:
        metric, unit = _parse_label(label)
        if not metric:
            unread_lines_and_labels.append((line, label.strip(" -")))
            if line == last_line and len(texts) < run_count:
                input_file.add_problem(line, label.strip(), _CUT_MESSAGE)
            continue
        if metric in line_by_metric:
            input_file.add_problem(
                line, label.strip(), f"is in line {line_by_metric[metric]} already"
            )
        line_by_metric[metric] = line
        run_count = run_count or len(texts)
        if len(texts) != run_count:
            input_file.add_problem(
                line, label.strip(), f"{len(texts)} values, where the first row has {run_count}"
            )
        cells += [
            MetricCell(line_number, run, metric, unit, text)
            for run, (line_number, text) in enumerate(texts)
        ]
    if labels_left_out := [label for _, label in unread_lines_and_labels if label]:
        input_file.add_note(
            unread_lines_and_labels[0][0],
            "",
            f"not needed and left out: {', '.join(labels_left_out)}",
        )
    return cells


def _coordinates_by_run(input_file: Reading, cells: Sequence[MetricCell]) -> dict[int, Coordinates]:
    """Return the coordinates of each run, by its column in the table."""
    coordinates_by_run: dict[int, Coordinates] = {}
    for cell in cells:
        if cell.metric == "p":
            match = _PROCESSES.fullmatch(cell.text)
            if match is None:
                input_file.add_problem(
                    cell.line, "p", f"{short(cell.text)} is not a number of processes"
                )
            elif (processors := input_file.processors(cell.line, "p", match[1])) is not None:
                coordinates_by_run[cell.run_index] = Coordinates(processors, input_file.hints.size)
    if not coordinates_by_run and not input_file.problems:
        input_file.refuse(1, "", "there is no row or column 'Number of processes'")
    return coordinates_by_run


FORMATS = (FileFormat("pop", _is_pop, _read_pop),)
