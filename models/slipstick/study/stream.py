"""Sweeps of more points than memory holds: answered block by block, and written to a Parquet
file as they come.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slipstick.errors import ModelError, import_optional
from slipstick.files import replacement_file
from slipstick.late import NDArray, dataclass, field, np
from slipstick.limits import Progress, ignore_progress
from slipstick.study.points import SolvableModel

Array = NDArray[Any]

ROWS_PER_GROUP = 1 << 17
"""The number of points that are in memory at a time; they become one group of rows of the file."""


MOST_REASONS = 1000
"""The largest number of points of a block whose own reason is written, because each takes some 10
us; further points have a common sentence.
"""

NO_REASON = "no answer; run the study at this point for its reason"


@dataclass(frozen=True, slots=True)
class StreamedPoints:
    """Points of one model, before they are solved.

    Parameters
    ----------
    solvable : a model, and its method: one that computes arrays of points
    axes : values of each axis, by path [base units]
    fixed_values : values that hold at every point, by path [base units]
    select_points : returns, of the values of the axes at some points, which points are wanted;
        None: all
    varied_together : whether the axes move together, instead of in all combinations
    case : of a study that the points start from
    """

    solvable: SolvableModel
    axes: Mapping[str, Array]
    fixed_values: Mapping[str, float] = field(default_factory=dict)
    select_points: Callable[[Mapping[str, Array]], Array] | None = None
    varied_together: bool = False
    case: str = ""

    @property
    def count(self) -> int:
        """The number of points, before `select_points` drops some."""
        lengths = [len(values) for values in self.axes.values()]
        return lengths[0] if self.varied_together else math.prod(lengths)

    def axis_values_at(self, point_numbers: Array) -> dict[str, Array]:
        """Return the values of the axes at the points with the given numbers, by path."""
        if self.varied_together:
            return {path: values[point_numbers] for path, values in self.axes.items()}
        value_indices = np.unravel_index(point_numbers, tuple(map(len, self.axes.values())))
        axes_and_indices = zip(self.axes.items(), value_indices, strict=True)
        return {path: values[value_index] for (path, values), value_index in axes_and_indices}


@dataclass(frozen=True, slots=True)
class StreamedSweep:
    """A sweep whose points are rows of a file: a column for each axis and each value, in base
    units, NaN where there is no answer.

    The column ``reason`` says why there is none, ``outside`` where an answer that is not exact lies
    outside of its bounds, and ``case``, of several cases, where the points start from. The units of
    axes and values, and the notes on the first point of each case, stand in the file as well: JSON
    under the keys ``units`` and ``notes`` of ``polars.read_parquet_metadata(path)``.

    Parameters
    ----------
    path : of the Parquet file
    points, failed, outside : how many there are, how many of them have no answer, and how many lie
        outside of their bounds
    units : base unit of each value
    reasons : how many points have no answer for each reason
    notes : on the answer at the first point of each case
    """

    path: Path
    points: int
    failed: int
    outside: int
    units: Mapping[str, str]
    reasons: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.points

    def scan(self) -> Any:
        """Open the file as a polars LazyFrame; nothing is read before it is collected."""
        return import_optional("polars", "reading Parquet", "frames").scan_parquet(self.path)


def write_points(
    points_of_cases: Sequence[StreamedPoints],
    path: Path,
    *,
    names: Collection[str] = (),
    progress: Progress = ignore_progress,
) -> StreamedSweep:
    """Solve models at many points, and write the points to a file, the last axis moving fastest.

    Memory holds `ROWS_PER_GROUP` points at a time, whatever their number. The file appears when it
    is complete.

    Parameters
    ----------
    points_of_cases : the points of each case, all with the same axes
    path : of the file, which is replaced
    names : values to write beside the first of an answer, such as ``time``, which alone is many
        times as fast
    progress : told how many more points are done

    Raises
    ------
    MissingExtraError : polars is not installed
    ModelError : the method simulates, a value shapes the model, so that it cannot be an array, or
        the method gives no value of a name
    """
    polars = import_optional("polars", "writing Parquet", "frames")
    columns, notes = _columns_and_notes(points_of_cases, names)
    # Texts that few points have: as strings, empty ones would take most of the time to write.
    text_types = dict.fromkeys(("outside", "reason"), polars.Categorical)
    other_types = {"method": polars.String, "exact": polars.Boolean, **text_types}
    if len(points_of_cases) > 1:
        other_types = {"case": polars.Categorical, **other_types}
    type_by_column = {**dict.fromkeys(columns, polars.Float64), **other_types}
    axes, solvable = points_of_cases[0].axes, points_of_cases[0].solvable
    unit_by_value = {
        name: solvable.form.unit(name)
        for name in type_by_column
        if name not in (*axes, *other_types)
    }
    unit_by_column = {
        **{path: str(solvable.parameters[path].dimension) for path in axes},
        **unit_by_value,
    }
    written_count = failed_count = outside_count = 0
    refusal_reasons = Counter[str]()

    def data_frames(*_: object) -> Iterator[Any]:
        """Yield the solved points as data frames, block by block."""
        nonlocal written_count, failed_count, outside_count
        for case_points, point_numbers in _point_number_blocks(points_of_cases):
            solved_columns, outside_by_row, reason_by_row = _solve_points(
                case_points, names, point_numbers
            )
            written_count += len(point_numbers)
            failed_count += len(reason_by_row)
            refusal_reasons.update(reason_by_row.values())
            outside_count += len(outside_by_row)
            # A value that only other cases have is NaN in the rows of this case: columns of
            # numbers have no other sign of a missing one.
            nan_column = np.full(len(point_numbers), np.nan)
            number_columns = {
                name: solved_columns.get(name, nan_column)
                for name in type_by_column
                if name in solved_columns or name in columns
            }
            text_columns = {"case": polars.lit(case_points.case)}
            for name, text_by_row in zip(text_types, (outside_by_row, reason_by_row), strict=True):
                text_columns[name] = (
                    polars.Series([text_by_row.get(row, "") for row in range(len(point_numbers))])
                    if text_by_row
                    else polars.lit("")  # takes no time for each row
                )
            frame = polars.DataFrame(number_columns, schema_overrides={"method": polars.String})
            yield (
                frame.with_columns(**text_columns).select(list(type_by_column)).cast(type_by_column)
            )
            progress(len(point_numbers))

    # Polars takes one group of rows after the other from this source, so that memory holds no more.
    lazy_frame = polars.io.plugins.register_io_source(data_frames, schema=type_by_column)
    metadata = {"units": json.dumps(unit_by_column), "notes": json.dumps(notes)}
    with replacement_file(path) as temporary_path:
        lazy_frame.sink_parquet(temporary_path, row_group_size=ROWS_PER_GROUP, metadata=metadata)
    return StreamedSweep(
        path, written_count, failed_count, outside_count, unit_by_value, refusal_reasons, notes
    )


def _columns_and_notes(
    points_of_cases: Sequence[StreamedPoints], names: Collection[str]
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return the columns of the file, and the notes of each case, both from the first point of each
    case; raise if it cannot be computed.
    """
    notes: dict[str, tuple[str, ...]] = {}
    column_names = list[str]()
    for case_points in points_of_cases:
        _refuse_uncomputable(case_points)
        # The first point tells the columns, which the writer has to know before any row.
        first_point_number = np.zeros(1, dtype=np.int64)
        first_values, *_ = _solve_points(case_points, names, first_point_number)
        if absent_names := [name for name in names if name not in first_values]:
            raise ModelError(
                f"{absent_names[0]} is no value that {first_values['method'][0]} computes for"
                " arrays of points; leave it out, or run the study with fewer points"
            )
        answers = case_points.solvable.form.points(
            _values_at_points(case_points, first_point_number)
        )
        notes[case_points.case] = answers.answer(0).notes
        column_names += first_values
    return column_names, notes


def _point_number_blocks(
    points_of_cases: Sequence[StreamedPoints],
) -> Iterator[tuple[StreamedPoints, Array]]:
    """Yield the numbers of the points of each group of rows."""
    for case_points in points_of_cases:
        for first_number in range(0, case_points.count, ROWS_PER_GROUP):
            point_numbers = np.arange(
                first_number, min(first_number + ROWS_PER_GROUP, case_points.count)
            )
            yield (
                case_points,
                point_numbers
                if case_points.select_points is None
                else point_numbers[
                    case_points.select_points(case_points.axis_values_at(point_numbers))
                ],
            )


def _refuse_uncomputable(case_points: StreamedPoints) -> None:
    """Refuse axes and values that cannot be computed as arrays."""
    form = case_points.solvable.form
    if form.is_estimated:
        raise ModelError(
            "simulation takes too long for a file of points; write another method, such as"
            " closed-form"
        )
    paths = (*case_points.axes, *case_points.fixed_values)
    if unknown_paths := [path for path in paths if path not in form.parameters]:
        raise ModelError(
            f"{unknown_paths[0]} is no number that time is computed from, so it cannot be varied"
            " within one file of points; write a file for each of its values"
        )


def _values_at_points(case_points: StreamedPoints, point_numbers: Array) -> dict[str, Array]:
    """Return the values of axes and fixed quantities at the points with the given numbers."""
    fixed_columns = {
        path: np.full(len(point_numbers), value) for path, value in case_points.fixed_values.items()
    }
    return case_points.axis_values_at(point_numbers) | fixed_columns


def _solve_points(
    case_points: StreamedPoints, names: Collection[str], point_numbers: Array
) -> tuple[dict[str, Any], dict[int, str], dict[int, str]]:
    """Solve the points with the given numbers. Return the columns of the file and, by row, the
    bound that an answer violates and the reason why there is no answer.
    """
    form = case_points.solvable.form
    point_count = len(point_numbers)
    columns_by_path = _values_at_points(case_points, point_numbers)
    value_columns: dict[str, Array] = {form.quantity: np.full(point_count, np.nan)}
    methods = np.full(point_count, "", dtype=object)
    outside_by_row: dict[int, str] = {}
    reason_by_row: dict[int, str] = {}
    is_exact = np.zeros(point_count, dtype=bool)
    for block_rows in form.blocks(columns_by_path, point_count):
        values = {path: column[block_rows] for path, column in columns_by_path.items()}
        answers = form.points(values) if names else form.brief_points(values)
        solution = answers.solution
        columns = answers.columns()
        outside_by_row |= {
            int(block_rows[index]): outside_text
            for index, outside_text in answers.bound_violations.items()
        }
        for name in dict.fromkeys((form.quantity, *names)):
            if name in columns:
                value_columns.setdefault(name, np.full(point_count, np.nan))[block_rows] = columns[
                    name
                ]
        methods[block_rows], is_exact[block_rows] = (
            solution.methods or solution.method,
            solution.exact,
        )
        rows_without_answer = block_rows[~np.isfinite(value_columns[form.quantity][block_rows])]
        reason_by_row |= dict.fromkeys(rows_without_answer.tolist(), NO_REASON)
        # A brief solution has no remarks.
        explained_rows = rows_without_answer[:MOST_REASONS]
        if len(explained_rows):
            values = {path: column[explained_rows] for path, column in columns_by_path.items()}
            full_solution = form.points(values).solution
            for index, row in enumerate(explained_rows.tolist()):
                reason_by_row[row] = full_solution.remarks_at(index).failed or NO_REASON
    # Parts of an answer without its time would look like an answer.
    for column in value_columns.values():
        column[[*reason_by_row]] = np.nan
    columns = {path: columns_by_path[path] for path in case_points.axes} | value_columns
    return columns | {"method": methods, "exact": is_exact}, outside_by_row, reason_by_row
