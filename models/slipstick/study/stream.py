"""Sweeps of more points than memory holds: answered block by block, and written to a Parquet
file as they come.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.errors import ModelError, need
from slipstick.files import whole_file
from slipstick.late import NDArray, np
from slipstick.study.points import Progress, SolvableModel, silent

if TYPE_CHECKING:
    from slipstick.method.answers import CompiledModel

Array = NDArray[Any]

TOGETHER = 1 << 17
"""Points in memory at a time, which are a group of rows of the file."""


@dataclass(frozen=True, slots=True)
class StreamedSweep:
    """A sweep whose points are rows of a file: a column for each axis and each value, in base
    units, NaN where there is no answer.

    The column ``outside`` says where an answer that is not exact lies outside of its bounds. The
    units of axes and values stand in the file as well: JSON under the key ``units`` of
    ``polars.read_parquet_metadata(path)``.

    Parameters
    ----------
    path : of the Parquet file
    points, failed, outside : how many there are, how many of them have no answer, and how many lie
        outside of their bounds
    units : base unit of each value
    """

    path: Path
    points: int
    failed: int
    outside: int
    units: Mapping[str, str]

    def __len__(self) -> int:
        return self.points

    def scan(self) -> Any:
        """Open the file as a polars LazyFrame; nothing is read before it is collected."""
        return need("polars", "reading Parquet", "frames").scan_parquet(self.path)


def streamed(
    solvable: SolvableModel,
    axes: Mapping[str, Array],
    path: Path,
    fixed: Mapping[str, float] | None = None,
    *,
    names: Collection[str] = (),
    keep: Callable[[Mapping[str, Array]], Array] | None = None,
    progress: Progress = silent,
) -> StreamedSweep:
    """Solve a model at every combination of some values, and write the points to a file, the last
    axis moving fastest.

    Memory holds `TOGETHER` points at a time, whatever their number. The file appears when it is
    complete.

    Parameters
    ----------
    solvable : a model, and its method: one that computes arrays of points
    axes : values of each axis, by path [base units]
    path : of the file, which is replaced
    fixed : values that hold at every point, by path [base units]
    names : values to write beside the first of an answer, such as ``time``, which alone is many
        times as fast
    keep : returns, of the values of the axes at some points, which points are wanted; None: all
    progress : told how many more points are done

    Raises
    ------
    MissingExtraError : polars is not installed
    ModelError : the method simulates, a value shapes the model, so that it cannot be an array, or
        the method gives no value of a name
    """
    polars = need("polars", "writing Parquet", "frames")
    fixed = fixed or {}
    form = solvable.form
    count = math.prod(map(len, axes.values()))
    _check(form, axes, fixed)
    # The first point tells the columns, which the writer has to know before any row.
    first = _solved(solvable, fixed, axes, names, np.zeros(1, dtype=np.int64))
    if absent := [name for name in names if name not in first]:
        raise ModelError(
            f"{absent[0]} is no value that {first['method'][0]} computes for arrays of points; leave it"
            " out, or run the study with fewer points"
        )
    words = {"method": polars.String, "exact": polars.Boolean, "outside": polars.String}
    kinds = {**dict.fromkeys(first, polars.Float64), **words}
    units = {name: form.unit(name) for name in kinds if name not in (*axes, *words)}
    of_all = {**{path: str(solvable.parameters[path].dimension) for path in axes}, **units}
    written = failed = outside = 0

    def tables(*_: object) -> Iterator[Any]:
        nonlocal written, failed, outside
        for start in range(0, count, TOGETHER):
            numbers = np.arange(start, min(start + TOGETHER, count))
            if keep is not None:
                numbers = numbers[keep(_points(axes, numbers))]
            columns = _solved(solvable, fixed, axes, names, numbers)
            written += len(numbers)
            failed += int(np.isnan(columns[form.quantity]).sum())
            outside += int(np.count_nonzero(columns["outside"] != ""))
            none = np.full(len(numbers), np.nan)
            yield polars.DataFrame({name: columns.get(name, none) for name in kinds}, schema=kinds)
            progress(len(numbers))

    # Polars takes one group of rows after the other from this source, so that memory holds no more.
    table = polars.io.plugins.register_io_source(tables, schema=kinds)
    with whole_file(path) as work:
        table.sink_parquet(work, row_group_size=TOGETHER, metadata={"units": json.dumps(of_all)})
    return StreamedSweep(path, written, failed, outside, units)


def _check(form: CompiledModel, axes: Mapping[str, Array], fixed: Mapping[str, float]) -> None:
    """Refuse axes and values that cannot be computed as arrays."""
    if form.estimated:
        raise ModelError(
            "simulation takes too long for a file of points; write another method, such as"
            " closed-form"
        )
    if unknown_paths := [path for path in (*axes, *fixed) if path not in form.parameters]:
        raise ModelError(
            f"{unknown_paths[0]} is no number that time is computed from, so it cannot be varied within"
            " one file of points; write a file for each of its values"
        )


def _solved(
    solvable: SolvableModel,
    fixed: Mapping[str, float],
    axes: Mapping[str, Array],
    names: Collection[str],
    numbers: Array,
) -> dict[str, Any]:
    """Solve the points with the given numbers; return the columns of the file."""
    form = solvable.form
    count = len(numbers)
    points = _points(axes, numbers)
    columns_given = points | {path: np.full(count, value) for path, value in fixed.items()}
    table: dict[str, Array] = {form.quantity: np.full(count, np.nan)}
    methods = np.full(count, "", dtype=object)
    outside = np.full(count, "", dtype=object)
    exact = np.zeros(count, dtype=bool)
    for cut in form.blocks(columns_given, count):
        values = {path: column[cut] for path, column in columns_given.items()}
        answers = form.points(values) if names else form.brief_points(values)
        solution = answers.solution
        columns = answers.columns()
        for index, bound in answers.outside.items():
            outside[cut[index]] = bound
        for name in dict.fromkeys((form.quantity, *names)):
            if name in columns:
                table.setdefault(name, np.full(count, np.nan))[cut] = columns[name]
        methods[cut], exact[cut] = solution.methods or solution.method, solution.exact
    # Parts of an answer without its time would look like an answer.
    lost = ~np.isfinite(table[form.quantity])
    return (
        points
        | {name: np.where(lost, np.nan, column) for name, column in table.items()}
        | {"method": methods, "exact": exact, "outside": outside}
    )


def _points(axes: Mapping[str, Array], numbers: Array) -> dict[str, Array]:
    """Return the values of the axes at the points with the given numbers."""
    places = np.unravel_index(numbers, tuple(map(len, axes.values())))
    return {path: values[place] for (path, values), place in zip(axes.items(), places, strict=True)}
