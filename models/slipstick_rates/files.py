"""Trends as files: rates as written, period by period, and series of measured points."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from slipstick.errors import KeyMeaning, did_you_mean, short
from slipstick.expression.nodes import COUNT, TIME, Dimension
from slipstick.late import late_pattern
from slipstick.schema.columns import numbered_rows
from slipstick.schema.kinds.constraints import Distinct, Name, Note, broken_rule
from slipstick.schema.kinds.quantity import (
    Described,
    Factor,
    Fraction,
    Given,
    ProcessorKind,
    Quantity,
    Spec,
    Year,
)
from slipstick.schema.text import (
    Entry,
    Listing,
    Mark,
    Node,
    Scalar,
    Table,
    file_text,
    node_at,
    replace,
)
from slipstick.vocabulary import Technology
from slipstick_rates.distributions import (
    DistributionSpec,
    NormalSpec,
    Spread,
    Uncertain,
    distribution_of,
    quantities,
)
from slipstick_rates.series import (
    LEAST_FITTED_POINTS,
    LEAST_FITTED_YEARS,
    PointSeries,
    SeriesPoint,
    fit_series,
    has_enough_years,
)

if TYPE_CHECKING:
    from slipstick.model.uncertainty import Uncertainty
    from slipstick.schema.spec_files import SpecFiles
    from slipstick_rates.trend import Period, Rate, Trend

_SECONDS_OF_YEAR = 31_557_600.0  # a year of 365.25 days [s]

Span = Annotated[Given, Quantity(TIME, least=None, above=0.0)]


class PeriodSpec(Spec):
    """The rate of one period, given by one of factor, doubling, halving and uncertain."""

    first: Year = Field(alias="from", description="year in which the period begins")
    to: Year = Field(description="year in which the period ends")
    factor: Factor | None = Field(
        None, description="yearly factor by which the class becomes faster"
    )
    doubling: Span | None = Field(
        None, description="time in which the speed doubles, such as 18 month"
    )
    halving: Span | None = Field(None, description="time in which the speed halves")
    uncertain: DistributionSpec | None = Field(
        None, description="distribution of the yearly factor"
    )
    spread: Spread | None = Field(
        None,
        description=KeyMeaning.of(
            ("standard deviation of the logarithm of the yearly factor, such as 3%"), "0 by default"
        ),
    )

    def check_rules(self) -> None:
        """Raise unless the period has exactly one rate and ends after it begins."""
        rates = (self.factor, self.doubling, self.halving, self.uncertain)
        if sum(rate is not None for rate in rates) != 1:
            raise broken_rule(
                "a period needs exactly one of factor, doubling, halving and uncertain"
            )
        if self.spread is not None and self.uncertain is not None:
            raise broken_rule("uncertain says how far the rate spreads; leave out spread", "spread")
        if not self.to > self.first:
            raise broken_rule(
                f"the period ends in {self.to:g}, before it has begun in {self.first:g}", "to"
            )
        if isinstance(self.uncertain, Uncertain):
            self._check_uncertain(self.uncertain)

    def _check_uncertain(self, spec: Uncertain) -> None:
        """Raise if the distribution of a yearly factor is not allowed."""
        if spec.dimension != COUNT:
            raise broken_rule(
                f"a yearly factor is a plain number, not a [{spec.dimension}]", "uncertain"
            )
        if isinstance(spec, NormalSpec) or any(
            quantity.value <= 0 for quantity in quantities(spec).values()
        ):
            raise broken_rule(
                "a yearly factor is more than 0, and this one need not be; use another", "uncertain"
            )


Periods = Annotated[list[PeriodSpec], Field(min_length=1)]


class RatesSpec(Spec):
    """The rates of the processors and of each class of cost that changes, period by period."""

    processors: Periods | None = Field(
        None, description="the processors, and with them all software"
    )
    application: Periods | None = Field(
        None, description=("time of the application, in addition to the processors")
    )
    software: Periods | None = Field(
        None, description=("time of run-time software, in addition to the processors")
    )
    system: Periods | None = Field(
        None, description=("time of system calls, in addition to the processors")
    )
    protocol: Periods | None = Field(
        None, description=("time of protocol software, in addition to the processors")
    )
    signal: Periods | None = Field(
        None, description=("time of signals, in addition to the processors")
    )
    adapter: Periods | None = Field(None, description="latency of adapters")
    switch: Periods | None = Field(None, description="latency of switches")
    wire: Periods | None = Field(
        None, description=("time on the wire, which falls as bandwidth rises")
    )
    memory: Periods | None = Field(None, description="time of memory traffic")
    memory_latency: Periods | None = Field(None, description="time of dependent memory accesses")
    storage: Periods | None = Field(None, description="time of storage traffic")
    storage_latency: Periods | None = Field(None, description="time of dependent storage accesses")

    @property
    def periods_by_name(self) -> dict[str, list[PeriodSpec]]:
        """The periods of the processors and of each class of cost that has a rate, by name."""
        rates = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: periods for name, periods in rates.items() if periods is not None}

    def check_rules(self) -> None:
        """Raise if the periods of a rate overlap, or leave gaps."""
        for name, periods in self.periods_by_name.items():
            for index, (earlier_period, later_period) in enumerate(pairwise(periods), 1):
                if later_period.first != earlier_period.to:
                    problem_words = (
                        "overlaps the one before"
                        if later_period.first < earlier_period.to
                        else "leaves a gap after the one before"
                    )
                    message = (
                        f"the period from {later_period.first:g} {problem_words}, which ends in"
                        f" {earlier_period.to:g}"
                    )
                    raise broken_rule(message, name, index, "from")
        if not self.periods_by_name:
            raise broken_rule("name at least one class of cost that changes, such as processors")


AnyPositive = Annotated[Given, Quantity(None, least=None, above=0.0)]
PROCESSORS = "processors"
CORE = "core"
"""The kind of processors of a machine that does not tell it."""


class PointSpec(Spec):
    """A point of a series: the value of one device."""

    year: Year = Field(description="year in which the device appeared")
    value: AnyPositive = Field(description="value of the device, in the same unit for all points")
    device: Note = Field("", description="name of the device")
    source: Note = Field("", description="source of the value: a key of sources, or a text")
    from_memory: bool = Field(
        False, description=("whether the value was written down without looking at the source")
    )
    announced: bool = Field(False, description="whether the value is a plan, not a measurement")
    apart: bool = Field(
        False,
        description=(
            "whether the device belongs to another line of products; the fit ignores its point, but"
            " back-tests count it"
        ),
    )
    error: Spread | None = Field(
        None, description="standard deviation of the logarithm of the value, such as 30%"
    )
    known: Year | None = Field(
        None, description=("year in which the value was known; by default the year of the device")
    )

    def check_rules(self) -> None:
        """Raise if keys of the point contradict one another."""
        if self.announced and (self.known is None or self.error is None):
            raise broken_rule(
                "an announced point needs known, the year of the plan, and error, how far it may"
                " be off",
                "announced",
            )


class LimitSpec(Spec):
    """A value that no device of a series can pass."""

    value: AnyPositive = Field(description="the value, in the unit of the points")
    source: Note = Field("", description="reason for the limit, or its source")


class SeriesSpec(Spec):
    """Measured points of one kind of device, to which a rate is fitted."""

    title: Note = Field("", description="measured quantity")
    of: list[Literal[Technology, "processors"]] = Field(
        [], description="classes of cost that follow the series; none: the series is only shown"
    )
    processors: Annotated[list[ProcessorKind], Distinct] = Field(
        [], description="kinds of processors to which the series applies; by default all"
    )
    assumed_for: Annotated[list[ProcessorKind], Distinct] = Field(
        [],
        description=(
            "further kinds of processors to which the rate of the series is applied as a guess"
        ),
    )
    unit: Note = Field("", description="unit of points that are plain numbers")
    less_is_better: bool | None = Field(
        None,
        description=(
            "whether smaller values are better, as for latencies; by default true if the points are"
            " times"
        ),
    )
    breaks: list[Year] = Field(
        [], description="years in which the rate changed suddenly, in rising order"
    )
    limit: LimitSpec | None = Field(None, description="value that no device can pass")
    points: list[PointSpec] = Field(
        description="points, or a file with the columns year, value, device, source",
        min_length=1,
    )

    def check_rules(self) -> None:
        """Raise if points have different dimensions or years out of order, or keys contradict one
        another.
        """
        dimension = self.points[0].value.dimension
        for index, point in enumerate(self.points):
            if point.value.dimension != dimension:
                message = f"a [{point.value.dimension}] does not go with a [{dimension}]"
                raise broken_rule(message, "points", index, "value")
        if self.limit and self.limit.value.dimension != dimension:
            raise broken_rule(
                f"the points are a [{dimension}], the limit a [{self.limit.value.dimension}]",
                "limit",
            )
        for earlier_break, later_break in pairwise(self.breaks):
            if not later_break > earlier_break:
                raise broken_rule(
                    f"breaks must rise, got {later_break:g} after {earlier_break:g}", "breaks"
                )

    @property
    def dimension(self) -> Dimension:
        """The dimension of the measured values."""
        return self.points[0].value.dimension

    @property
    def is_less_better(self) -> bool:
        """Whether smaller values are better."""
        if self.less_is_better is not None:
            return self.less_is_better
        return self.dimension == TIME or self.unit in _TIME_UNITS


_TIME_UNITS = ("ns", "us", "ms", "s")


class TrendSpec(Described):
    """A trend: how fast each class of cost becomes cheaper. Classes that are not listed do not
    change.
    """

    trend: Literal[1] = Field(1, description="version of this format")
    rates: RatesSpec | None = Field(
        None, description=("rates of the processors and of classes of cost")
    )
    series: dict[Name, SeriesSpec] = Field({}, description="series of measured points by name")
    benefit: Fraction | None = Field(
        None,
        description=KeyMeaning.of(
            ("fraction of each doubling of the processor speed that the classes under partly gain"),
            "1 by default",
        ),
    )
    fully: list[Technology] | None = Field(
        None, description="classes whose times are divided by the factor of the processors"
    )
    partly: list[Technology] | None = Field(
        None,
        description=(
            "classes that become faster by the factor 1 + benefit for each doubling of the"
            " processor speed"
        ),
    )

    def check_rules(self) -> None:
        """Raise if two series set one rate, or keys of the trend contradict one another."""
        if self.rates is None and not self.series:
            raise broken_rule("write rates, or series of points, of what changes", "trend")
        series_by_class: dict[tuple[str, str], str] = {}
        for series_name, series in self.series.items():
            fitted_years = [point.year for point in series.points if not point.apart]
            if series.of and not has_enough_years(fitted_years):
                message = (
                    f"a rate needs at least {LEAST_FITTED_POINTS} points over"
                    f" {LEAST_FITTED_YEARS:g} years,"
                    f" got {len(fitted_years)}; leave out of, or add points"
                )
                raise broken_rule(message, "series", series_name, "points")
            processor_kinds: list[str] = [*series.processors, *series.assumed_for] or [""]
            for class_and_kind in [
                (class_name, processor_kind)
                for class_name in series.of
                for processor_kind in processor_kinds
            ]:
                if class_and_kind in series_by_class:
                    class_name, processor_kind = class_and_kind
                    suffix = f" of {processor_kind}" if processor_kind else ""
                    driving_series_name = series_by_class[class_and_kind]
                    message = (
                        f"{class_name}{suffix} goes with {driving_series_name} already; write"
                        f" {driving_series_name}:"
                        " {of: []}, or leave it out here"
                    )
                    raise broken_rule(message, "series", series_name, "of")
                series_by_class[class_and_kind] = series_name


def series_of(spec: TrendSpec) -> dict[str, PointSeries]:
    """Return the series of a checked trend by name, with the texts of their sources in place of
    keys.
    """
    series_by_name = {}
    for series_name, series in spec.series.items():
        points = [
            SeriesPoint(
                point.year,
                point.value.value,
                point.device,
                spec.sources.get(point.source, point.source) or spec.source,
                point.from_memory,
                point.announced,
                point.error.value if point.error else 0.0,
                point.known,
                point.apart,
            )
            for point in series.points
        ]
        limit = series.limit
        series_by_name[series_name] = PointSeries(
            series_name,
            series.title or series_name,
            series.unit or str(series.dimension),
            tuple(sorted(points, key=lambda point: point.year)),
            series.is_less_better,
            tuple(series.breaks),
            limit.value.value if limit else None,
            spec.sources.get(limit.source, limit.source) if limit else "",
        )
    return series_by_name


def trend_of(
    spec: TrendSpec,
    name: str,
    processor_kind: str = CORE,
    known_year: float | None = None,
    followed_series: Collection[str] = (),
) -> Trend:
    """Return the trend of a checked file, with the texts of sources in place of keys.

    Parameters
    ----------
    spec, name : the file, and what it is called
    processor_kind : of the processors that it is for
    known_year : the year whose knowledge it uses; None is today's
    followed_series : names of series that parameters follow, beside those of classes of cost
    """
    from slipstick_rates.trend import PeriodRate, SeriesRate, Trend

    rate_by_name: dict[str, Rate] = {}
    draw_key_by_rate: dict[str, str] = {}
    for key, periods in (spec.rates.periods_by_name if spec.rates else {}).items():
        rate_by_name[key], draw_key_by_rate[key] = (
            PeriodRate(tuple(_period_from(period, spec) for period in periods)),
            key,
        )
    series_by_name = series_of(spec)
    series_by_class = driving_series(spec, processor_kind)
    for series_name in dict.fromkeys([*series_by_class.values(), *followed_series]):
        series = (
            series_by_name[series_name]
            if known_year is None
            else series_by_name[series_name].as_of(known_year)
        )
        if not series.has_enough_points:
            continue
        fitted_series = fit_series(series)
        rate_names = [
            class_name
            for class_name, name_of_driving_series in series_by_class.items()
            if name_of_driving_series == series_name
        ]
        is_assumed = processor_kind in spec.series[series_name].assumed_for
        rate_by_name.update(dict.fromkeys(rate_names, SeriesRate(fitted_series, is_assumed)))
        if series_name in followed_series:
            rate_by_name[series_name] = SeriesRate(fitted_series)
            rate_names.append(series_name)
        draw_key_by_rate.update(dict.fromkeys(rate_names, f"series {series_name}"))
    return Trend(
        name,
        spec.title or name,
        rate_by_name,
        draw_key_by_rate,
        processor_kind if spec.series else "",
    )


def driving_series(spec: TrendSpec, processor_kind: str) -> dict[str, str]:
    """Return the name of the series that sets the rate of each class of cost, by class; a series
    for the given kind of processors takes precedence over a general one.
    """
    series_by_class: dict[str, str] = {}
    for series_name, series in spec.series.items():
        for class_name in series.of:
            processor_kinds = [*series.processors, *series.assumed_for]
            if processor_kind in processor_kinds or (
                not processor_kinds and class_name not in series_by_class
            ):
                series_by_class[class_name] = series_name
    return series_by_class


def _period_from(spec: PeriodSpec, trend_spec: TrendSpec) -> Period:
    """Return the period that a spec describes."""
    from slipstick_rates.trend import Period

    stated_rate = spec.uncertain or spec.factor or spec.doubling or spec.halving
    assert stated_rate is not None
    source = stated_rate.source or trend_spec.source
    factor_distribution = (
        distribution_of(spec.uncertain)
        if isinstance(spec.uncertain, Uncertain)
        else _factor_of_period(spec)
    )
    return Period(
        spec.first,
        spec.to,
        factor_distribution,
        trend_spec.sources.get(source, source),
        stated_rate.assumed,
    )


def _factor_of_period(spec: PeriodSpec) -> Uncertainty:
    """Return the distribution of the yearly factor of a period."""
    from slipstick.model.uncertainty import Uncertainty

    if spec.factor:
        yearly_factor = spec.factor.value
    elif spec.doubling:
        yearly_factor = math.exp2(_SECONDS_OF_YEAR / spec.doubling.value)
    else:
        assert spec.halving is not None
        yearly_factor = math.exp2(-_SECONDS_OF_YEAR / spec.halving.value)
    spread = spec.spread and spec.spread.value
    return (
        Uncertainty("lognormal", yearly_factor, spread)
        if spread
        else Uncertainty("fixed", yearly_factor)
    )


_COLUMN_HEADINGS = tuple(PointSpec.model_fields)


def with_points(tree: Table, library: SpecFiles) -> Table:
    """Return the tree of a trend with the points of its series. If a series names a file in place
    of points, they are read from it; a relative path begins in the folder of the trend's file.

    Parameters
    ----------
    tree : the trend
    library : finds the files, and remembers what was read

    Raises
    ------
    SpecError : a file is not there, or a line is no point
    """
    series_table = node_at(tree, ["series"])
    for series_name in series_table.entries if isinstance(series_table, Table) else ():
        place = ["series", series_name, "points"]
        points_node = node_at(tree, place)
        if isinstance(points_node, Scalar) and isinstance(points_node.value, str):
            path = library.measurement_file(points_node.value, points_node.mark)
            text = file_text(path, "data_bytes", "keep a part of it")
            library.keep_hash(path)
            points_and_unit_by_series = parse_points(text, str(path))
            if (
                set(points_and_unit_by_series) != {""}
                and series_name not in points_and_unit_by_series
            ):
                suggestion = did_you_mean(series_name, [*points_and_unit_by_series])
                message = f"{points_node.value} has no series {series_name!r}{suggestion}"
                raise points_node.mark.error(message, place)
            changed_tree = replace(
                tree,
                place,
                points_and_unit_by_series.get(
                    series_name, points_and_unit_by_series.get("", (points_node, ""))
                )[0],
            )
            unit = points_and_unit_by_series.get(
                series_name, points_and_unit_by_series.get("", (points_node, ""))
            )[1]
            if unit and node_at(changed_tree, ["series", series_name, "unit"]) is None:
                unit_node = Scalar(unit, unit, points_node.mark, quoted=True)
                changed_tree = replace(changed_tree, ["series", series_name, "unit"], unit_node)
            assert isinstance(changed_tree, Table)
            tree = changed_tree
    return tree


def read_points_as_trend(path: Path) -> Table:
    """Read a table of points as a trend whose series set no class of cost.

    Parameters
    ----------
    path : of the file, a CSV with the columns year and value
    """
    mark = Mark(str(path), 1, 1)
    entry_by_series: dict[str, Entry] = {}
    text = file_text(path, "data_bytes", "keep a part of it")
    for name, (points, unit) in parse_points(text, str(path)).items():
        entries = {"points": Entry(mark, points)}
        if unit:
            entries["unit"] = Entry(mark, Scalar(unit, unit, mark, quoted=True))
        series_name = name or re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-") or "series"
        entry_by_series[series_name] = Entry(mark, Table(entries, mark))
    return Table({"series": Entry(mark, Table(entry_by_series, mark))}, mark)


def parse_points(text: str, file: str) -> dict[str, tuple[Listing, str]]:
    """Return the points and the unit of each series in a table of points, by its name.

    Parameters
    ----------
    text, file : of the table, with a line of names; year and value are needed. The names are
        separated by commas, tabs, bars or semicolons, with which a comma is a decimal one. The
        unit may stand behind the name value, in brackets.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise Mark(file, 1, 1).error("is empty; its first line names the columns", "")
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    reader = csv.reader(StringIO(text), delimiter=delimiter, skipinitialspace=True)
    rows = numbered_rows(reader, file)
    heading_cells, unit_of_all = _column_names(next(rows)[1])
    for heading in ("year", "value"):
        if heading not in heading_cells:
            message = (
                f"the first line names the columns; {heading} is missing among"
                f" {', '.join(map(short, heading_cells))}"
            )
            raise Mark(file, 1, 1).error(message, "")
    points_by_series: dict[str, list[Node]] = {}
    unit_by_series: dict[str, str] = {}
    for line_number, cells in _filled_rows(rows):
        text_by_column = dict(zip(heading_cells, cells, strict=False))
        if delimiter == ";":
            text_by_column["value"] = re.sub(
                r"(?<=[0-9]),(?=[0-9])", ".", text_by_column.get("value", "")
            )
        series_name = text_by_column.get("series", "")
        mark = Mark(file, line_number, 1)
        points_by_series.setdefault(series_name, []).append(_point_node(text_by_column, mark))
        unit = text_by_column.get("unit", unit_of_all)
        if unit_by_series.setdefault(series_name, unit) != unit:
            message = (
                f"series {series_name or file} is in {unit_by_series[series_name]!r}, and here in"
                f" {unit!r};"
                " write one unit"
            )
            raise mark.error(message, "unit")
    if not points_by_series:
        raise Mark(file, 1, 1).error("has no points below its line of names", "")
    return {
        series_name: (Listing(tuple(point_nodes), point_nodes[0].mark), unit_by_series[series_name])
        for series_name, point_nodes in points_by_series.items()
    }


_VALUE_WITH_UNIT = late_pattern(r"[Vv]alue ?[(\[]([^()\[\]]+)[)\]]")


def _column_names(cells: Iterable[str]) -> tuple[list[str], str]:
    """Return the names of the columns in lower case, and the unit after value if there is one."""
    names = []
    unit = ""
    for cell in cells:
        name = " ".join(cell.split())
        unit_match = _VALUE_WITH_UNIT.fullmatch(name)
        names.append("value" if unit_match else name.casefold())
        unit = unit_match[1].strip() if unit_match else unit
    return names, unit


def _filled_rows(
    rows: Iterator[tuple[int, list[str]]],
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that have a filled cell, with their line numbers."""
    for line_number, cells in rows:
        if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
            yield line_number, [cell.strip() for cell in cells]


def _point_node(text_by_column: Mapping[str, str], mark: Mark) -> Table:
    """Return the table of one point from a row; a number stays a number, and yes or true becomes
    true.
    """
    entries = {}
    for column in _COLUMN_HEADINGS:
        cell_text = text_by_column.get(column, "")
        if not cell_text:
            continue
        value: str | float | bool = cell_text
        if column in ("from_memory", "announced", "apart"):
            value = cell_text.casefold() in ("yes", "true", "1")
        elif column in ("year", "value", "known"):
            value = _number_or_text(cell_text)
        entries[column] = Entry(mark, Scalar(value, cell_text, mark, quoted=False))
    return Table(entries, mark)


def _number_or_text(text: str) -> str | float:
    """Return a text as a number if it is one, else unchanged."""
    try:
        return float(text)
    except ValueError:
        return text
