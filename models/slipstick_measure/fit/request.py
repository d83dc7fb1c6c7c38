"""What is to be estimated, as written on the command line or in a study, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path

from slipstick.errors import Problem, SpecError, UnitError, did_you_mean
from slipstick.schema.inputs import Settings
from slipstick.schema.kinds.quantity import Given
from slipstick.schema.library import Library
from slipstick.schema.text import Scalar
from slipstick.units import show, to_base
from slipstick_measure.fit.columns import ColumnTable, ColumnUse, Observed, observe, read_columns
from slipstick_measure.fit.estimation import EstimationTask, FreeParameter, UnknownChoice

GROUP = "group"
"""The owner that is the combination of the columns that are left out together."""

WIDE = 100.0
"""Factor on each side of the model's own value within which a parameter without a range lies."""


@dataclass(frozen=True)
class EstimationRequest:
    """What is estimated from which file.

    Parameters
    ----------
    path : the table
    settings : the model, and what is the same in all rows
    free : parameters as written: ``path=low..high@owner+owner``, range and owners optional
    uses : how columns are used, by heading
    choices : likewise ``path=value|value@owner+owner``
    groups : columns whose combination is left out whole
    rows : values of columns that rows must have
    fitted_to : values of columns of the rows that are fitted, the others being predicted
    noise : of the rows, where nothing is fitted [log]
    beyond : column of numbers beyond whose fitted range predictions get less sure
    """

    path: Path | str
    settings: Settings
    free: Sequence[Scalar]
    uses: Mapping[str, ColumnUse] = field(default_factory=dict)
    choices: Sequence[Scalar] = ()
    groups: Sequence[str] = ()
    rows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fitted_to: Mapping[str, Sequence[str]] = field(default_factory=dict)
    noise: float | None = None
    beyond: str = ""


def prepare_estimation(request: EstimationRequest, library: Library) -> EstimationTask:
    """Read the rows, build their models, and check what is free.

    Raises
    ------
    SpecError : everything that is wrong, each at its place
    """
    table = read_columns(request.path).select(request.rows)
    written = [_parted(each) for each in (*request.free, *request.choices)]
    owners = list(dict.fromkeys(owner for each in written for owner in each.owners))
    groups = list(request.groups) or [each for each in owners if each in table.headings]
    table = _with_group(table, groups)
    known = [each for each in (*owners, GROUP) if each in table.headings]
    further = [*request.fitted_to, *([request.beyond] if request.beyond else [])]
    grouping = dict.fromkeys(
        [*groups, *known, *(each for each in further if each in table.headings)]
    )
    observed = observe(table, request.uses, request.settings, library, list(grouping))
    problems: list[Problem] = []
    free: dict[str, FreeParameter] = {}
    choices: list[UnknownChoice] = []
    for index, part in enumerate(written):
        try:
            _check_owners(part, table)
            if index >= len(request.free):
                choices.append(_choice(part, observed))
                continue
            parameter = _free(part, observed)
            if parameter.path in free:
                raise part.wrong(f"{parameter.path} stands twice among the free parameters")
            free[parameter.path] = parameter
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    chosen = table.chosen(request.fitted_to) if request.fitted_to else ()
    numbers = _sizes(table, request.beyond) if request.beyond else ()
    return EstimationTask(
        observed,
        tuple(free.values()),
        tuple(choices),
        tuple(groups),
        tuple(chosen),
        request.noise,
        tuple(numbers),
    )


def _sizes(table: ColumnTable, heading: str) -> list[float]:
    """Read the column beyond whose range predictions get less sure."""
    if heading not in table.headings:
        raise table.mark(0).error(
            f"no column is called {heading!r}{did_you_mean(heading, list(table.headings))}"
        )
    try:
        return [float(cell) for cell in table.column(heading)]
    except ValueError as error:
        raise table.mark(0).error(f"column {heading} is to hold plain numbers: {error}") from None


@dataclass(frozen=True)
class _Parted:
    """A free parameter as written, parted: path, what stands behind =, owners."""

    written: Scalar
    path: str
    values: str
    owners: tuple[str, ...]

    def wrong(self, message: str) -> SpecError:
        """Make the error of this parameter."""
        return self.written.mark.error(message, "free")


def _parted(written: Scalar) -> _Parted:
    text, _, owners = str(written.value).partition("@")
    path, _, values = text.partition("=")
    names = tuple(each.strip() for each in owners.split("+") if each.strip())
    return _Parted(written, path.strip(), values.strip(), names)


def _with_group(table: ColumnTable, groups: Sequence[str]) -> ColumnTable:
    """Add the column of the combination that is left out together."""
    missing = [each for each in groups if each not in table.headings]
    if missing or GROUP in table.headings or not groups:
        return table
    columns = [table.column(each) for each in groups]
    rows = tuple((*row, " ".join(cells)) for row, *cells in zip(table.rows, *columns, strict=True))
    return replace(table, headings=(*table.headings, GROUP), rows=rows)


def _check_owners(part: _Parted, table: ColumnTable) -> None:
    for owner in part.owners:
        if owner not in table.headings:
            hint = did_you_mean(owner, list(table.headings))
            raise part.wrong(
                f"there is no column {owner!r} that could own {part.path}{hint}; {GROUP} is what is"
                " left out together"
            )


def _known(part: _Parted, observed: Observed) -> Given:
    entries = observed.built.entries
    if part.path not in entries:
        hint = did_you_mean(part.path, list(observed.built.parameters))
        raise part.wrong(f"no number of {observed.built.name} is called {part.path!r}{hint}")
    if part.path in observed.numbers:
        raise part.wrong(f"{part.path} comes from the rows, so it cannot be free")
    if not observed.built.computed_from([part.path]):
        raise part.wrong(
            f"no answer of {observed.built.name} is computed from {part.path} as a number that can"
            " be anything"
        )
    return entries[part.path].given


def _free(part: _Parted, observed: Observed) -> FreeParameter:
    """Read the range in which a parameter lies in 9 of 10 cases; without one it is that of the
    spec, or a wide one.
    """
    given = _known(part, observed)
    low, dots, high = part.values.partition("..")
    if part.values and not (dots and low.strip() and high.strip()):
        raise part.wrong(
            f"write {part.path}=low..high, between which it lies in 9 of 10 cases; got"
            f" {part.values!r}"
        )
    if not part.values:
        if given.low and given.high:
            return FreeParameter(part.path, given.low, given.high, part.owners)
        if not given.value > 0:
            raise part.wrong(
                f"{part.path} is {given}, which says nothing of its size; write"
                f" {part.path}=low..high"
            )
        return FreeParameter(part.path, given.value / WIDE, given.value * WIDE, part.owners)
    try:
        least, most = (to_base(each.strip(), given.dimension) for each in (low, high))
    except UnitError as error:
        raise part.wrong(str(error)) from None
    if not (0 < least < most and isfinite(most)):
        raise part.wrong(
            f"{part.path} is free from {low.strip()} to {high.strip()}: the first must be above 0"
            " and less than the second"
        )
    return FreeParameter(part.path, least, most, part.owners)


def _choice(part: _Parted, observed: Observed) -> UnknownChoice:
    given = _known(part, observed)
    texts = tuple(each.strip() for each in part.values.split("|"))
    try:
        values = tuple(to_base(each, given.dimension) for each in texts)
    except UnitError as error:
        raise part.wrong(str(error)) from None
    if len(values) < 2:
        raise part.wrong(
            f"a choice has two values or more: {part.path}={show(given.value, given.dimension)}|..."
        )
    return UnknownChoice(part.path, values, texts, part.owners)
