"""The points of a sweep as columns, and how each was computed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

from slipstick.answer import Answer, Verdict
from slipstick.arguments import TEXT, checked, whole_number
from slipstick.display import ShownAsTables, TableShown
from slipstick.errors import (
    ModelError,
    SlightlyBeyond,
    UnknownNameError,
    import_optional,
    look_up,
    with_kind_of,
)
from slipstick.extensions import FUNCTIONS
from slipstick.late import Array, NDArray, dataclass, field, np
from slipstick.vocabulary import LEFT_OUT, SIMULATION


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a sweep: a path, its base unit (empty for names), and its values in order."""

    path: str
    unit: str
    values: tuple[float | str, ...]

    @property
    def has_names(self) -> bool:
        """Return whether the values are names rather than numbers."""
        return any(isinstance(value, str) for value in self.values)


class Labelled:
    """Base of results with flat columns, which convert to polars, pandas, xarray and Arrow streams;
    none of these libraries is required.
    """

    __slots__ = ()

    def to_dict(self) -> Mapping[str, Sequence[Any] | Any]:
        """Return the columns of the table, all of one length, by name."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Return the table of `to_dict` as a polars DataFrame; MissingExtraError if polars is not
        installed.
        """
        return import_optional("polars", "a table of polars", "frames").DataFrame(self.to_dict())

    def to_pandas(self) -> Any:
        """Return the table of `to_dict` as a pandas DataFrame; MissingExtraError if pandas is not
        installed.
        """
        return import_optional("pandas", "a table of pandas", "").DataFrame(self.to_dict())

    def to_xarray(self) -> Any:
        """Return the table of `to_dict` as an xarray Dataset over its rows; MissingExtraError if
        xarray is not installed.
        """
        return import_optional("xarray", "a table of xarray", "").Dataset.from_dataframe(
            self.to_pandas().rename_axis("row")
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return the table to libraries that read Arrow streams, such as
        ``polars.DataFrame(sweep)``, by polars or pyarrow.

        Raises
        ------
        MissingExtraError : neither is installed
        """
        with suppress(ImportError):
            return (
                import_module("pyarrow").table(self.to_dict()).__arrow_c_stream__(requested_schema)
            )
        return self.to_polars().__arrow_c_stream__(requested_schema)


class Computed(Protocol):
    """Any object that records how it was computed, such as an answer."""

    @property
    def method(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def bound(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def left_out(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Provenance:
    """The method, the exactness and the doubts of the answer at each of some points.

    Parameters
    ----------
    methods : the method that answered each point
    exact : whether its answer is the model's expectation to rounding
    outside : where an answer lies outside of its bounds, in words, by the number of the point
    errors : the class of the error of an answer whose method promises none, in words, by the number
        of the point
    left_out : losses of the import that the model of a point comes from, by the number of the point
    checks : what a second road says of the answer of a point, by its number
    events : events of the simulation that answered a point, by its number

    >>> provenance = Provenance(["closed-form", "mean-value"], [True, False])
    >>> provenance.columns()
    {'method': ['closed-form', 'mean-value'], 'exact': ['yes', 'no'], 'bound': [None, None]}
    >>> provenance.common, Provenance(["closed-form"] * 2, [True, True]).common
    ('', 'by closed-form, exact')
    """

    methods: Sequence[str]
    exact: Sequence[bool] | NDArray[np.bool_]
    outside: Mapping[int, str] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    left_out: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    checks: Mapping[int, Verdict] = field(default_factory=dict)
    events: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: Sequence[Computed]) -> Provenance:
        """Build the provenance of answers, one point each."""
        bound_by_index = {
            index: answer.bound for index, answer in enumerate(answers) if answer.bound
        }
        error_by_index = {
            index: answer.error for index, answer in enumerate(answers) if answer.error
        }
        losses_by_index = {
            index: answer.left_out for index, answer in enumerate(answers) if answer.left_out
        }
        verdicts = ((index, getattr(answer, "check", None)) for index, answer in enumerate(answers))
        check_by_index = {index: check for index, check in verdicts if check is not None}
        methods = [answer.method for answer in answers]
        return cls(
            methods,
            [answer.exact for answer in answers],
            bound_by_index,
            error_by_index,
            losses_by_index,
            check_by_index,
        )

    @classmethod
    def join(
        cls, point_count: int, rows_and_provenances: Iterable[tuple[NDArray[np.intp], Provenance]]
    ) -> Provenance:
        """Build the provenance of all points from the provenance of groups of points.

        Parameters
        ----------
        point_count : of all points
        rows_and_provenances : the indices of some of them, and how those were computed
        """
        row_groups = list(rows_and_provenances)
        methods = np.full(point_count, "", dtype=object)
        is_exact = np.zeros(point_count, dtype=bool)
        for rows, provenance in row_groups:
            methods[rows], is_exact[rows] = provenance.methods, provenance.exact
        remarks_by_field = (
            {
                int(rows[index]): remark
                for rows, provenance in row_groups
                for index, remark in getattr(provenance, field_name).items()
            }
            for field_name in ("outside", "errors", "left_out", "checks", "events")
        )
        return cls(
            methods.tolist(),
            is_exact.tolist(),
            # Pieces come in the order of their models; readers expect the order of the points.
            *(dict(sorted(remark_by_point.items())) for remark_by_point in remarks_by_field),
        )

    def answer_fields(self, row: int) -> dict[str, Any]:
        """Return the provenance of one point as the fields of an answer."""
        method_fields = {"method": self.methods[row], "exact": bool(self.exact[row])}
        doubt_fields = {"bound": self.outside.get(row, ""), "error": self.errors.get(row, "")}
        check = self.checks.get(row)
        return {
            **method_fields,
            **doubt_fields,
            "left_out": self.left_out.get(row, {}),
            "check": check,
        }

    @property
    def contradictions(self) -> dict[int, str]:
        """The entries of `outside` at points whose whole interval lies outside of the bounds."""
        return {
            row: sentence
            for row, sentence in self.outside.items()
            if not isinstance(sentence, SlightlyBeyond)
        }

    @property
    def common_answer_fields(self) -> dict[str, Any]:
        """Return the provenance of all points as the fields of one answer. Its error is the first
        error of any point.
        """
        violations = self.contradictions or self.outside
        first_violation = next(iter(violations.values()), "")
        first_bound = with_kind_of(
            f"{len(violations)} points, the first: {first_violation}", first_violation
        )
        method_fields = {
            "method": " and ".join(dict.fromkeys(self.methods)),
            "exact": all(self.exact),
            # Texts for each point would repeat a sentence with other numbers; the first shows what
            # it is about.
            "bound": first_bound if violations else "",
        }
        left_out = dict(loss for losses in self.left_out.values() for loss in losses.items())
        return {
            **method_fields,
            "error": next(iter(self.errors.values()), ""),
            "left_out": left_out,
        }

    def columns(self, failed: Collection[int] = ()) -> dict[str, list[str | None]]:
        """Return the columns on method and exactness for a table of values; `is_exact` is empty for
        a
        point without an answer.

        A column of errors is there where the method of a point promises none, and one of the losses
        of an import where the model of a point comes from one with losses.

        Parameters
        ----------
        failed : the points without an answer
        """
        exact_words = ["yes" if is_exact else "no" for is_exact in self.exact]
        rows = range(len(exact_words))
        columns: dict[str, list[str | None]] = {
            "method": list(self.methods),
            "exact": [
                None if row in failed else exact_word for row, exact_word in enumerate(exact_words)
            ],
            "bound": [self.outside.get(row) for row in rows],
        }
        # Columns without any entry are left out, so that tables of exact answers stay narrow.
        if self.errors:
            columns["error"] = [self.errors.get(row) for row in rows]
        if self.checks:
            columns["check"] = [str(self.checks.get(row, "")) or None for row in rows]
        if self.left_out:
            columns[LEFT_OUT] = [", ".join(self.left_out.get(row, ())) or None for row in rows]
        return columns

    @property
    def common(self) -> str:
        """A phrase on how all points were computed, such as ``by closed-form, exact``; empty if
        they differ, if a point lies outside its bounds, or if there are none.
        """
        methods_and_exactness = set(zip(self.methods, map(bool, self.exact), strict=True))
        verdicts = {str(self.checks.get(row, "")) for row in range(len(self.methods))}
        has_doubt = self.outside or self.errors or self.left_out or len(verdicts) != 1
        # A doubt about one point has to stand at that point.
        if len(methods_and_exactness) != 1 or has_doubt:
            return ""
        ((method, is_exact),), (verdict,) = methods_and_exactness, verdicts
        check_text = f", check: {verdict}" if verdict else ""
        return f"by {method}, {'exact' if is_exact else 'not exact'}{check_text}"


def join_columns(
    point_count: int, rows_and_columns: Iterable[tuple[Any, Mapping[str, Array]]]
) -> dict[str, Array]:
    """Join the columns of groups of points; NaN where a group lacks a column [points].

    Parameters
    ----------
    point_count : of all points
    rows_and_columns : the indices of the points of each group, and its columns
    """
    column_by_name: dict[str, Array] = {}
    for rows, columns in rows_and_columns:
        for name, column in columns.items():
            column_by_name.setdefault(name, np.full(point_count, np.nan))[rows] = column
    return column_by_name


@dataclass(frozen=True, slots=True)
class PointTable:
    """The values of many points as columns, and how each point was computed.

    Parameters
    ----------
    columns : by name, in base units, of all points; NaN where there is no answer
    provenance : how each point was computed
    failed : why points have no answer, by number, where that is known
    limits : the limiting stage of each pipeline at each point
    """

    columns: dict[str, Array] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=lambda: Provenance([], []))
    failed: Mapping[int, str] = field(default_factory=dict)
    limits: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @staticmethod
    def join(
        point_count: int, rows_and_tables: Iterable[tuple[NDArray[np.intp], PointTable]]
    ) -> PointTable:
        """Join tables of groups of points.

        Parameters
        ----------
        point_count : of all points
        rows_and_tables : the indices of the points of each group, and its table
        """
        table_list = list(rows_and_tables)
        reason_by_row: dict[int, str] = {}
        stages_by_pipeline: dict[str, list[str]] = {}
        for rows, table in table_list:
            reason_by_row |= {int(rows[index]): reason for index, reason in table.failed.items()}
            for pipeline, stages in table.limits.items():
                column = stages_by_pipeline.setdefault(pipeline, [""] * point_count)
                for row, stage in zip(rows.tolist(), stages, strict=True):
                    column[row] = stage
        return PointTable(
            join_columns(point_count, ((rows, table.columns) for rows, table in table_list)),
            Provenance.join(point_count, ((rows, table.provenance) for rows, table in table_list)),
            reason_by_row,
            stages_by_pipeline,
        )


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Labelled, ShownAsTables):
    """The points of one sweep, with their values as columns.

    Parameters
    ----------
    name : of the sweep
    axes : what was varied, in order
    cases : case of each point
    points : value of each axis at each point, in base units or as names
    columns : answers at each point, in base units; NaN where there is none
    units : base unit of each column
    limits : limiting stage of each pipeline at each point
    provenance : how each point was computed
    failed : why a point has no answer, by its index
    idle : paths that were varied without any effect
    answers : the whole answer of each point, where asked for
    notes : what the models of the points note, each once
    """

    name: str
    axes: tuple[Axis, ...]
    cases: Sequence[str]
    points: Mapping[str, Sequence[float | str] | Array]
    columns: Mapping[str, Array]
    units: Mapping[str, str]
    limits: Mapping[str, Sequence[str]]
    provenance: Provenance
    failed: Mapping[int, str] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    answers: Sequence[Answer] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.cases)

    @checked(path=TEXT)
    def axis(self, path: str) -> Axis:
        """Find the axis that varies a path; raises UnknownNameError."""
        return look_up(f"axis of sweep {self.name}", path, {axis.path: axis for axis in self.axes})

    @checked(name=TEXT)
    def column(self, name: str) -> Array:
        """Return the column of one value over all points; raises UnknownNameError."""
        return look_up(f"value in sweep {self.name}", name, self.columns)

    @checked(name=TEXT)
    def ends(self, name: str) -> tuple[Array, Array]:
        """Return both ends of the interval of a column at each point; NaN where there is no
        interval.

        They are infinite where a simulation does not know how sure its estimate is, as in
        `Answer.ends`.
        """

        nan_column = np.full(len(self), np.nan)
        low = self.columns.get(f"low[{name}]", nan_column)
        high = self.columns.get(f"high[{name}]", nan_column)
        provenance = self.provenance
        # A simulated value without an interval is not exact: its ends are infinite, so that no
        # order is decided by it.
        is_estimate = np.array(
            [method == SIMULATION for method in provenance.methods], dtype=bool
        ) & ~np.asarray(provenance.exact, dtype=bool)
        is_unsure = (
            is_estimate
            & np.isnan(low)
            & np.isfinite(self.columns.get(name, nan_column))
            & (split_name(name)[0] != "once")
        )
        return np.where(is_unsure, -np.inf, low), np.where(is_unsure, np.inf, high)

    @checked(pipeline=TEXT)
    def stages(self, pipeline: str) -> Sequence[str]:
        """Return the limiting stage of a pipeline at each point; raises UnknownNameError."""
        return look_up(f"limit in sweep {self.name}", pipeline, self.limits)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions: the axes (and the cases, if several) where every combination
        is a point, else ``point``.
        """
        return tuple(self.coords)

    @property
    def coords(self) -> dict[str, Sequence[float | str]]:
        """Return the values along each dimension, in base units or as names."""
        case_names = tuple(dict.fromkeys(self.cases))
        values_by_dimension: dict[str, Sequence[float | str]] = (
            {"case": case_names} if len(case_names) > 1 else {}
        )
        values_by_dimension |= {axis.path: axis.values for axis in self.axes}
        # Where a condition has left points out, or axes move together, there is no grid.
        if len(self) == math.prod(map(len, values_by_dimension.values())):
            return values_by_dimension
        return {"point": range(len(self))}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each dimension."""
        return tuple(map(len, self.coords.values()))

    @checked(name=TEXT)
    def __getitem__(self, name: str) -> Array:
        """Return a column, or the values of an axis at every point, as an array with the dimensions
        `dims`. Values that only whole answers have, such as quantiles, are taken from `answers`,
        which `solve` keeps for up to 1,000 points.

        Raises
        ------
        UnknownNameError : there is no such column
        """
        columns = {**self.points, **self.columns}
        numbers = [] if name in columns else [answer.find(name) for answer in self.answers]
        if any(number is not None for number in numbers):
            columns.setdefault(name, np.array(numbers, dtype=float))
        if name not in columns and not self.answers and "quantile" in name:
            hint = (
                f"; these {len(self):,} points have only the usual columns: solve up to 1,000"
                " points in one call, or run a study that names it in its answer"
            )
            raise UnknownNameError("column", name, [*columns], hint)
        column = look_up("column", name, columns)
        # Points are stored with the last axis varying fastest, as NumPy expects.
        return np.asarray(column).reshape(self.shape)

    def __str__(self) -> str:
        """Write the points as a table."""
        return str(FUNCTIONS["text of a sweep"](self))

    def shown_tables(self) -> Iterator[TableShown]:
        """Yield the table of the points."""
        columns = self.to_dict()
        column_titles = [
            f"{name} [{self.units[name]}]" if name in self.units else name for name in columns
        ]
        rows = zip(*columns.values(), strict=True)
        yield (
            repr(self).strip("<>"),
            column_titles,
            ([_cell_text(cell) for cell in row] for row in rows),
        )

    def __repr__(self) -> str:
        sizes_text = ", ".join(f"{path}: {len(values)}" for path, values in self.coords.items())
        return f"<Sweep of {len(self)} points ({sizes_text}) with {len(self.columns)} columns>"

    def to_dict(self) -> dict[str, Array | list[str | None]]:
        """Return every point as a row of flat columns: the cases, the axes, the values, and how
        they were computed.
        """

        columns: dict[str, Array | list[str | None]] = (
            {"case": [*self.cases]} if len(set(self.cases)) > 1 else {}
        )
        columns |= {path: np.asarray(values) for path, values in self.points.items()}
        return {**columns, **self.columns, **self.provenance.columns(self.failed)}

    def to_xarray(self) -> Any:
        """Return the columns as an xarray Dataset with `dims` and `coords`; MissingExtraError if
        xarray is not installed.
        """
        columns = {
            name: (self.dims, self[name], {"unit": self.units[name]}) for name in self.columns
        }
        coords = {path: list(coordinates) for path, coordinates in self.coords.items()}
        return import_optional("xarray", "a table of xarray", "").Dataset(columns, coords=coords)

    @checked(index=whole_number(0))
    def answer(self, index: int) -> Answer:
        """Return the whole answer of one point, counted from 0 in the order of the columns.

        Raises
        ------
        ModelError : whole answers were not kept
        """
        if not self.answers:
            raise ModelError(
                "a sweep of so many points keeps no whole answers; solve this point alone"
            )
        if index >= len(self.answers):
            raise ModelError(f"there are {len(self.answers)} points, from 0; there is no {index}")
        return self.answers[index]


def _cell_text(cell: Any) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def split_name(name: str) -> tuple[str, str]:
    """Split the name of a value into its quantity and the label in its brackets.

    >>> split_name("account[lock]"), split_name("time")
    (('account', 'lock'), ('time', ''))
    """
    value_kind, _, label = name.partition("[")
    return value_kind, label.removesuffix("]")
