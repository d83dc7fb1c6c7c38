"""Results as one tidy table: a row for each case and for each point of a sweep.

Projections, changes, samples and what was sought, as columns of the table of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipstick.answer import Answer
from slipstick.report.values import limit_of, limits_in, split_name, unit_of
from slipstick.report.words import need
from slipstick.results.outlook import Choice, Projection, Sampling, Sought
from slipstick.results.scaling import Grown, Scaling
from slipstick.results.study import Axis, Fitting, Results, Sweep

if TYPE_CHECKING:
    import polars as pl


def outlook_columns(results: Results, head: Callable[[str], str]) -> list[dict[str, Any]]:
    """Lay out each question as columns by name, all as long as its ``case``.

    ``sweep`` says the question: ``project`` (with ``trend``, ``year``, the values, and the ends of their bands as
    ``low`` and ``high`` of each), ``seek`` (a row for each place found), ``sample`` (a row for each quantile) and
    ``changes`` (a row for each change, under each technology).

    Parameters
    ----------
    results : of a study
    head : writes the name of a value with its unit
    """
    found = [_track_columns(results.projection, index, head) for index in range(_tracks(results.projection))]
    found += [_sought_columns(results.sought)] if any(each.crossings for each in results.sought) else []
    found += [_sampling_columns(each, head) for each in results.samplings]
    return found + [_choice_columns(each) for each in results.choices]


def column_type(values: Sequence[object]) -> Any:
    """Tell columns of text from columns of numbers."""
    import polars as pl

    return pl.String if any(isinstance(each, str) for each in values) else pl.Float64


def _tracks(projection: Projection | None) -> int:
    return len(projection.tracks) if projection else 0


def _track_columns(found: Projection | None, index: int, head: Callable[[str], str]) -> dict[str, Any]:
    assert found is not None
    track, count = found.tracks[index], len(found.years)
    columns: dict[str, Any] = {
        "sweep": ["project"] * count,
        "case": [track.case] * count,
        "trend": [track.trend] * count,
    }
    if found.factors is not None:
        columns["processors"] = found.factors
    columns["year"] = found.years
    for name, column in track.columns.items():
        columns[head(name)] = column
        for end, band in (("low", track.low), ("high", track.high)):
            if name in band:
                columns[f"{end} {head(name)}"] = band[name]
    return {**columns, "failed": [track.failed.get(place) for place in range(count)]}


def _sought_columns(sought: Sequence[Sought]) -> dict[str, Any]:
    rows = [(each, crossing) for each in sought for crossing in each.crossings]
    return {
        "sweep": ["seek"] * len(rows),
        "case": [each.case for each, _ in rows],
        "trend": [each.trend or None for each, _ in rows],
        "sought": [each.name for each, _ in rows],
        "at": [crossing.value for _, crossing in rows],
        "unit": [each.unit for each, _ in rows],
        "holds": ["from there" if crossing.starts else "until there" for _, crossing in rows],
    }


def _sampling_columns(found: Sampling, head: Callable[[str], str]) -> dict[str, Any]:
    parts = list(found.outcomes[0].quantiles) if found.outcomes else []
    columns: dict[str, Any] = {"sweep": ["sample"] * len(parts), "case": [found.case] * len(parts), "quantile": parts}
    for each in found.outcomes:
        for number, name in enumerate(("", "low ", "high ")):
            columns[f"{name}{head(each.name)}"] = [each.quantiles[part][number] for part in parts]
    return columns


def _choice_columns(found: Choice) -> dict[str, Any]:
    effects = [*found.effects, *(pair.effect for pair in found.pairs)]
    return {
        "sweep": ["changes"] * len(effects),
        "case": [found.case] * len(effects),
        "technology": [found.under or None for _ in effects],
        "change": [each.name for each in effects],
        "cost": [each.cost for each in effects],
        "time [s]": [each.time for each in effects],
        "overhead [s]": [each.overhead for each in effects],
        "time_saved [1]": [each.saved for each in effects],
        "overhead_reduction [1]": [each.reduction for each in effects],
        "failed": [each.failed or None for each in effects],
    }


def frame(results: Results, answer: Sequence[str]) -> pl.DataFrame:
    """Lay out results as one tidy table: the cases first, then each sweep, way to scale, measured run and further question.

    Columns are ``sweep`` (empty for cases), ``case``, one for each varied path with its base unit (names
    have none), one for each value with its base unit, ``limit[pipeline]``, what further questions give (see
    `slipstick.report.pages.table`), ``failed``. Rows of a way to scale have
    the size at each number of processors, and as ``scalability[N]`` the latency metric from N to that number.

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
    grown = [_way_columns(found, way, each) for found in results.scalings for way, each in found.ways.items()]
    grown += [_run_columns(name, answers) for name, answers in results.measured.items()]
    parts = [_case_columns(results, names), *(_sweep_columns(results, sweep, names) for sweep in results.sweeps)]
    further = outlook_columns(results, lambda name: _head(results, name))
    parts += further
    added = {name: column_type(each[name]) for each in further for name in each}
    axes = {_axis_head(axis): _axis_type(axis) for sweep in results.sweeps for axis in sweep.axes}
    values = {_head(results, name): pl.Float64 for name in names}
    limits = {f"limit[{name}]": pl.String for name in limits_in(results)}
    others = {head: pl.Float64 for columns in grown for head in columns if head.endswith("]")}
    schema = {"sweep": pl.String, "case": pl.String, **others, **axes, **values, **limits, "failed": pl.String}
    schema = {**schema, **{name: dtype for name, dtype in added.items() if name not in schema}}
    return pl.concat([_part(columns, schema) for columns in [*parts, *grown]])


def write_csv(results: Results, answer: Sequence[str], path: Path) -> None:
    """Write the table as CSV: full double precision, nothing where there is no value.

    Parameters
    ----------
    results, answer : as for `frame`
    path : the file
    """
    _write(frame(results, answer), path)


def write_fits_csv(fits: Mapping[str, Fitting], path: Path) -> None:
    """Write the table of fits as CSV.

    Parameters
    ----------
    fits : as for `fits_frame`
    path : the file
    """
    _write(fits_frame(fits), path)


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path, line_terminator="\n", null_value="")


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


def _way_columns(found: Scaling, way: str, each: Grown) -> dict[str, Any]:
    height = len(found.processors)
    sizes = {f"{path} [{found.units[path]}]": values for path, values in each.sizes.items()}
    account = {f"account[{name}] [s]": values for name, values in each.account.items()}
    # A row of the matrix is from one number of processors; here it is a column.
    table = found.matrix.get(way)
    matrix = (
        {}
        if table is None
        else {f"scalability[{count:g}] [1]": table[place] for place, count in enumerate(found.processors[:-1])}
    )
    return {
        "sweep": [f"scale/{way}"] * height,
        "case": [found.case] * height,
        f"{found.path} [1]": found.processors,
        **sizes,
        "time [s]": each.time,
        "efficiency [1]": each.efficiency,
        "latency [s]": each.latency,
        **account,
        **matrix,
        "failed": [each.failed.get(index) for index in range(height)],
    }


def _run_columns(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    units = {value: each.unit for answer in answers for value, each in answer.values.items()}
    return {
        "sweep": [f"measured/{name}"] * len(answers),
        "case": [None] * len(answers),
        "p [1]": [answer.point["p"] for answer in answers],
        "n [1]": [answer.point.get("n") for answer in answers],
        **{f"{value} [{unit}]": [answer.find(value) for answer in answers] for value, unit in units.items()},
        "failed": [answer.failed for answer in answers],
    }


def fits_frame(fits: Mapping[str, Fitting]) -> pl.DataFrame:
    """Lay out fits as one tidy table: a row for each value of each model, with its interval where there is one.

    Parameters
    ----------
    fits : by question

    Raises
    ------
    MissingExtraError : polars is not installed
    """
    need("polars", "a table of results")
    import polars as pl

    head = dict.fromkeys(("fit", "model", "value", "unit"), pl.String)
    rows = [
        (name, answer.model, value, each.unit, each.value, each.low, each.high)
        for name, found in fits.items()
        for answer in found.answers
        for value, each in answer.values.items()
    ]
    schema = {**head, **dict.fromkeys(("is", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _head(results: Results, name: str) -> str:
    return f"{name} [{unit_of(results, name)}]"


def _axis_head(axis: Axis) -> str:
    return axis.path if axis.named else f"{axis.path} [{axis.unit}]"


def _axis_type(axis: Axis) -> Any:
    import polars as pl

    return pl.String if axis.named else pl.Float64
