"""Results as one tidy table: a row for each case and for each point of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.report.outlook_table import column_type, outlook_columns
from slipstick.report.values import limit_of, limits_in, split_name, unit_of
from slipstick.report.words import need
from slipstick.results import Axis, Results, Sweep

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frame", "write_csv"]


def frame(results: Results, answer: Sequence[str]) -> pl.DataFrame:
    """Lay out results as one tidy table, the cases first, then each sweep, then projection, changes, what was sought.

    Columns are ``sweep`` (empty for cases), ``case``, one for each varied path with its base unit (names
    have none), one for each value with its base unit, ``limit[pipeline]``, what further questions give (see
    `slipstick.report.outlook_table`), ``failed``.

    Parameters
    ----------
    results : of a study
    answer : the values to give, such as ``time`` or ``account[lock]``

    Raises
    ------
    MissingExtraError : polars is not installed
    """
    need("polars", "a table of results")
    import polars as pl

    names = [name for name in dict.fromkeys(answer) if split_name(name)[0] != "limit"]
    parts = [_case_columns(results, names), *(_sweep_columns(results, sweep, names) for sweep in results.sweeps)]
    further = outlook_columns(results, lambda name: _head(results, name))
    parts += further
    added = {name: column_type(each[name]) for each in further for name in each}
    axes = {_axis_head(axis): _axis_type(axis) for sweep in results.sweeps for axis in sweep.axes}
    values = {_head(results, name): pl.Float64 for name in names}
    limits = {f"limit[{name}]": pl.String for name in limits_in(results)}
    schema = {"sweep": pl.String, "case": pl.String, **axes, **values, **limits, "failed": pl.String}
    schema = {**schema, **{name: dtype for name, dtype in added.items() if name not in schema}}
    return pl.concat([_part(columns, schema) for columns in parts])


def write_csv(results: Results, answer: Sequence[str], path: Path) -> None:
    """Write the table as CSV: full double precision, nothing where there is no value.

    Parameters
    ----------
    results, answer : as for `frame`
    path : the file
    """
    frame(results, answer).write_csv(path, line_terminator="\n", null_value="")


def _part(columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
    """Give one part all columns of the whole, empty where it has none."""
    import polars as pl

    height = len(columns["case"])
    filled = [
        pl.Series(name, columns[name], dtype=dtype, strict=False)
        if name in columns
        else pl.Series(name, [None], dtype=dtype).new_from_index(0, height)
        for name, dtype in schema.items()
    ]
    # Not-a-number is how arrays say that there is no value.
    return pl.DataFrame(filled).fill_nan(None)


def _case_columns(results: Results, names: Iterable[str]) -> dict[str, Any]:
    answers = list(results.cases.values())
    values = {_head(results, name): [each.find(name) for each in answers] for name in names}
    limits = {f"limit[{name}]": [limit_of(each, name) for each in answers] for name in limits_in(results)}
    return {"case": list(results.cases), **values, **limits, "failed": [each.failed for each in answers]}


def _sweep_columns(results: Results, sweep: Sweep, names: Iterable[str]) -> dict[str, Any]:
    height = len(sweep)
    axes = {_axis_head(axis): sweep.points[axis.path] for axis in sweep.axes}
    values = {_head(results, name): sweep.columns[name] for name in names if name in sweep.columns}
    limits = {f"limit[{name}]": [stage or None for stage in stages] for name, stages in sweep.limits.items()}
    failed = {"failed": [sweep.failed.get(index) for index in range(height)]} if sweep.failed else {}
    return {"sweep": [sweep.name] * height, "case": list(sweep.cases), **axes, **values, **limits, **failed}


def _head(results: Results, name: str) -> str:
    return f"{name} [{unit_of(results, name)}]"


def _axis_head(axis: Axis) -> str:
    return axis.path if axis.named else f"{axis.path} [{axis.unit}]"


def _axis_type(axis: Axis) -> Any:
    import polars as pl

    return pl.String if axis.named else pl.Float64
