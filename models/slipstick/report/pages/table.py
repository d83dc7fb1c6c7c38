"""Results as one tidy table: a row for each case, for each point of a sweep, and what each question adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.report.values import limit_of, limits_in, split_name, unit_of
from slipstick.report.words import need
from slipstick.results.study import Axis, Results, Sweep

if TYPE_CHECKING:
    import polars as pl


def frame(results: Results, answer: Sequence[str]) -> pl.DataFrame:
    """Lay out results as one tidy table: the cases first, then each sweep, then what each question adds.

    Columns are ``sweep`` (empty for cases, else the sweep or the question), ``case``, one for each varied path with its
    base unit (names have none), one for each value with its base unit, ``limit[pipeline]``, ``failed``, and those of the
    questions, see `slipstick.report.questions`.

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

    solved = bool(results.cases or results.sweeps)
    names = [name for name in dict.fromkeys(answer) if solved and split_name(name)[0] != "limit"]
    parts: list[Mapping[str, Any]] = [_case_columns(results, names)]
    parts += [_sweep_columns(results, sweep, names) for sweep in results.sweeps]
    leading: dict[str, Any] = {}
    added: dict[str, Any] = {}
    for found in results.questions.values():
        for block in found.columns(lambda name: _head(results, name)):
            parts.append(block)
            for name, column in block.items():
                first = found.leading_columns and name.endswith("]")
                (leading if first else added).setdefault(name, _column_type(column))
    axes = {_axis_head(axis): _axis_type(axis) for sweep in results.sweeps for axis in sweep.axes}
    values = {_head(results, name): pl.Float64 for name in names}
    limits = {f"limit[{name}]": pl.String for name in limits_in(results)}
    schema = {"sweep": pl.String, "case": pl.String, **leading, **axes, **values, **limits, "failed": pl.String}
    schema = {**schema, **{name: dtype for name, dtype in added.items() if name not in schema}}
    return pl.concat([_part(columns, schema) for columns in parts])


def _column_type(values: Iterable[object]) -> Any:
    """Tell columns of text from columns of numbers."""
    import polars as pl

    return pl.String if any(isinstance(each, str) for each in values) else pl.Float64


def write_csv(results: Results, answer: Sequence[str], path: Path) -> None:
    """Write the table as CSV: full double precision, nothing where there is no value.

    Parameters
    ----------
    results, answer : as for `frame`
    path : the file
    """
    _write(frame(results, answer), path)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a further table of a question as CSV.

    Parameters
    ----------
    rows : all with the same columns
    path : the file

    Raises
    ------
    MissingExtraError : polars is not installed
    """
    need("polars", "a table of results")
    import polars as pl

    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    schema = {name: _column_type(column) for name, column in columns.items()}
    _write(pl.DataFrame(columns, schema=schema), path)


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path, line_terminator="\n", null_value="")


def _part(columns: Mapping[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
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
