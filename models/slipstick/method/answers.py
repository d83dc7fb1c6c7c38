"""Solutions of methods at many points, and how they become columns and answers, the same for all
methods.

A method compiles a model (`CompiledModel`) and solves it at many points together. It returns a
`Solution`: arrays along the points, and what is said of each point in words. `Answers` reads
columns and whole answers off it: the account by component and technology class, the units, the
shares.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from slipstick.answer import (
    SURE_HALF_WIDTHS,
    Answer,
    DeferredShares,
    Limit,
    Value,
    Verdict,
    labelled_name,
    unit_of,
    zero_if_rounding,
)
from slipstick.errors import Definition, NoAnswerError, SlightlyBeyond
from slipstick.expression.nodes import TIME, Dimension, Expr, Parameter, zero
from slipstick.expression.tape import (
    Columns,
    Flags,
    Tape,
    Values,
    entries_at_rows,
    entry_at,
    selected_values,
)
from slipstick.late import Array, NDArray, dataclass, field, np, replace
from slipstick.law.account import (
    CYCLE_RATE,
    EFFICIENCY,
    GRAIN_EFFICIENCY,
    GRAIN_INTERFERENCE,
    PROCESSORS_LOST,
    SPEEDUP,
    WORDS_ACCESSED_RANDOMLY,
)
from slipstick.model.activity import think_step
from slipstick.model.requirement import Requirement
from slipstick.model.system import Labels, Model, SingleProcessor
from slipstick.vocabulary import SIMULATION

if TYPE_CHECKING:
    from slipstick.method.amounts import Amounts
    from slipstick.results.sweep import Provenance

SolutionCheck: TypeAlias = "Callable[[Solution, Values], Solution]"
"""A function that takes a solution and the values of the parameters, and returns the checked
solution.
"""

BLOCK = 32_768
"""Points whose accounts and derivatives are held in memory at a time."""

Key = TypeVar("Key")

COMPLEX_STEP = 1e-20
"""Imaginary step of derivatives, relative; its square vanishes beside 1."""

NOTE_ON_SPEEDUP = Definition(
    "the speed-up counts useful work; it equals the speed-up over one processor only if the"
    " useful work is the same there"
)


@dataclass(frozen=True, slots=True)
class Remarks:
    """Notes on the answer at one point, and what its columns do not hold, such as the seed of a
    simulation; see `slipstick.answer.Answer`.

    Parameters
    ----------
    failed : why it has no answer
    other_method : that has an answer, where this one has none and that one was tried
    notes : on the answer, in words
    promise : error that the method promises [1]
    seed : of the simulation
    converged : whether the intervals of a simulation are as narrow as wanted
    interrupted : the user ended the simulation before
    """

    failed: str | None = None
    other_method: str = ""
    notes: tuple[str, ...] = ()
    promise: float | None = None
    seed: int | None = None
    converged: bool | None = None
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Gradient:
    """The derivatives of values by parameters at one point.

    Parameters
    ----------
    slopes : by value and parameter, in base units
    point_values : the parameters' values there
    parameters : with their units
    rate_values : values whose unit holds time to the power -1, so that their shares add up to 1 too
    plain_values : values that are plain numbers, such as a cost: their shares are relative changes
        for one of any parameter
    relative_parameters : parameters without time in their unit whose shares are relative changes,
        beside the others, which add up to 1
    """

    slopes: Mapping[str, Mapping[str, float]]
    point_values: Mapping[str, float]
    parameters: Mapping[str, Parameter]
    rate_values: frozenset[str] = frozenset()
    plain_values: frozenset[str] = frozenset()
    relative_parameters: frozenset[str] = frozenset()

    def shares(self, values: Mapping[str, float]) -> Mapping[str, Mapping[str, float]]:
        """Return the shares of each value by parameter: k theta / T x dT/dtheta, with the power k
        of time in the unit of the parameter. Shares of deferred derivatives are deferred, too.

        Parameters
        ----------
        values : what was differentiated; one that is 0 or not there has no shares
        """
        if isinstance(self.slopes, DeferredShares):
            return DeferredShares(partial(self._shares, values), self.slopes.seconds)
        return self._shares(values)

    def _shares(self, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Compute the shares of each value by each parameter; see `shares`."""
        time_power_by_parameter = {
            parameter_name: parameter.dimension.time_power
            for parameter_name, parameter in self.parameters.items()
        }

        def time_power(value_name: str, parameter_name: str) -> int:
            """Return the power of time by which a derivative is weighted."""
            if value_name in self.plain_values or parameter_name in self.relative_parameters:
                return 1
            return time_power_by_parameter[parameter_name] * (
                -1 if value_name in self.rate_values else 1
            )

        return {
            value_name: {
                parameter_name: zero_if_rounding(
                    time_power(value_name, parameter_name)
                    * self.point_values[parameter_name]
                    * slope
                    / values[value_name]
                )
                for parameter_name, slope in slope_by_parameter.items()
                if time_power(value_name, parameter_name)
            }
            for value_name, slope_by_parameter in self.slopes.items()
            if values.get(value_name)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The values that a method computes at many points. An array of length 1 holds for all
    points.

    Parameters
    ----------
    model, method : names
    count : how many points
    methods : the method that answered each point; empty where it is `method` at all of them
    exact : whether the answer is the expectation of the model, except for rounding errors
    values : by name; NaN where there is none
    low, high : ends of intervals and bounds, by the name of the value, such as ``time`` or
        ``account[lock]``
    account, technology, steps : seconds of a processor by component, technology class and label
    once : time of one execution of each step [s]
    listed_entries : entries of the account that answers list even where they are 0; None: all
    useful : components of useful work
    stages : of each pipeline, one item's time at each serial stage [s]
    errors : the class of the error, by the number of each point for which the method promises none
    refused_points : points that the method cannot solve, though another may
    remarks : what is said of a point
    gradient : the derivatives at a point
    detail : gives the solution that has the whole answer at a point, and its place there
    unit : gives the base unit of a value
    interrupted : the method was stopped before it was done
    left_out : losses of the model's import by name, and what each changes
    estimates : what the model takes in the mean, for which no answer is exact
    checks : what a second road says of answers, by the number of the point
    events : of the simulation, by the number of the point
    """

    model: str
    method: str
    count: int = 1
    methods: Sequence[str] = ()
    exact: Flags = field(default_factory=lambda: np.zeros(1, dtype=bool))
    values: Columns = field(default_factory=dict)
    low: Columns = field(default_factory=dict)
    high: Columns = field(default_factory=dict)
    account: Columns = field(default_factory=dict)
    technology: Columns = field(default_factory=dict)
    steps: Columns = field(default_factory=dict)
    once: Columns = field(default_factory=dict)
    listed_entries: frozenset[str] | None = None
    useful: tuple[str, ...] = ()
    stages: Mapping[str, Columns] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    refused_points: frozenset[int] = frozenset()
    remarks: Callable[[int], Remarks] = lambda index: Remarks()
    gradient: Callable[[int], Gradient] | None = None
    detail: Callable[[int], tuple[Solution, int]] | None = None
    unit: Callable[[str], str] = unit_of
    interrupted: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    estimates: tuple[str, ...] = ()
    checks: Mapping[int, Verdict] = field(default_factory=dict)
    events: Mapping[int, int] = field(default_factory=dict)

    def remarks_at(self, index: int) -> Remarks:
        """Return the remarks on a point from the solution that holds its whole answer."""
        inner_solution, inner_index = self.detail_at(index)
        return inner_solution.remarks(inner_index)

    def detail_at(self, index: int) -> tuple[Solution, int]:
        """Return the solution that holds the whole answer of a point, with the point's index in
        it.
        """
        if self.detail is None:
            return self, index
        inner_solution, inner_index = self.detail(index)
        return inner_solution.detail_at(inner_index)


SMOOTH_STEP, SIMULATED_STEP = 1e-5, 0.02
"""Relative steps of differences: between the rounding and the curvature of a smooth method, and
large enough to be seen beside the noise that common random numbers leave."""


class CompiledModel:
    """A model compiled by a method, to be solved at many points together.

    Attributes
    ----------
    parameters : names of everything that can be varied without building the model anew
    quantity : the value that it gives first of all, NaN at a point without an answer
    bounds : compiles the bounds that its answers are held against; None: against none
    left_out : losses of the model's import, for which no answer is exact
    estimates : what the model takes in the mean, for which no answer is exact
    requires : what must hold at a point for it to have an answer
    identities : leaves out the points at which a solution contradicts itself, see
        `slipstick.method.identities`; None: nothing is held against them
    remove_absent_servers : takes servers that are away out of a solution, see
        `slipstick_chains.customers`; None: nothing
    amounts : what follows from the values, such as a cost; None: nothing
    is_rough : whether values are known to a part of a percent, so that derivatives need large steps
    """

    parameters: tuple[str, ...]
    quantity = "time"
    is_rough = False
    bounds: Callable[[], CompiledModel] | None = None
    left_out: Mapping[str, str] = MappingProxyType({})
    estimates: tuple[str, ...] = ()
    requires: tuple[Requirement, ...] = ()
    identities: SolutionCheck | None = None
    remove_absent_servers: SolutionCheck | None = None
    amounts: Amounts | None = None

    @property
    def block_size(self) -> int:
        """The number of points that are solved together."""
        return BLOCK

    @property
    def is_estimated(self) -> bool:
        """Whether its values are estimates of a simulation, each with an interval."""
        return False

    def takes(self, values: Values) -> Flags:
        """Return, as a mask, the points at which the method answers if no method is named; one flag
        if it is the same at all points.
        """
        return np.ones(1, dtype=bool)

    @abstractmethod
    def solution(self, values: Values) -> Solution:
        """Compute the values at many points."""

    def points(self, values: Values) -> Answers:
        """Compute the answers at many points, to be read as columns or one by one."""
        return self._checked_answers(self.solution(self.values_for_solution(values)), values)

    def values_for_solution(self, values: Values) -> Values:
        """Return the parameter values that a solution needs: parameters that only amounts depend on
        are left out.
        """
        return values if self.amounts is None else self.amounts.values_for_solution(values)

    def without_check(self) -> CompiledModel:
        """Return the same compiled model, whose answers are not checked by a short simulation."""
        return self

    def brief_points(self, values: Values) -> Answers:
        """Compute the first quantity alone (`quantity`), such as the time, at many points,
        without parts or bounds.
        """
        return self._checked_answers(self.brief(self.values_for_solution(values)), values)

    def _checked_answers(self, solution: Solution, values: Values) -> Answers:
        """Return the answers of a solution, checked by the identities and requirements of the
        model, with its amounts. They are compared with bounds when the comparison is read.
        """
        compile_bounds = self.bounds
        if self.identities is not None:
            solution = self.identities(solution, self.values_for_solution(values))
        solution = _without_unmet_requirements(solution, self.requires, values)
        if self.left_out or self.estimates:
            solution = replace(
                solution,
                exact=np.zeros(1, dtype=bool),
                left_out=self.left_out,
                estimates=self.estimates,
            )
        if self.remove_absent_servers is not None:
            solution = self.remove_absent_servers(solution, values)
        if self.amounts is not None:
            solution = self.amounts.with_amounts(solution, values)
        if compile_bounds is None:
            return Answers(solution)

        def bounds_at(point_indexes: NDArray[np.intp]) -> Solution:
            compiled_bounds = compile_bounds()
            known_values = selected_values(values, compiled_bounds.parameters)
            return compiled_bounds.solution(
                {
                    parameter_name: entries_at_rows(parameter_column, point_indexes)
                    for parameter_name, parameter_column in known_values.items()
                }
            )

        return Answers(solution, bounds_at)

    def blocks(self, values: Values, point_count: int) -> Iterator[NDArray[np.intp]]:
        """Divide points into blocks that are solved together.

        Parameters
        ----------
        values : of the parameters, by which a method may choose
        point_count : of points
        """
        for first_point in range(0, point_count, self.block_size):
            yield np.arange(first_point, min(first_point + self.block_size, point_count))

    def brief(self, values: Values) -> Solution:
        """Compute the first quantity alone, if that is faster than computing all values."""
        return self.solution(values)

    def times(self, values: Values) -> Array:
        """Return the first quantity alone, NaN at a point without an answer."""
        return Answers(self.brief(self.values_for_solution(values))).columns()[self.quantity]

    def slopes(
        self, values: Values, parameter_names: Sequence[str], wanted_column_names: Sequence[str]
    ) -> dict[str, tuple[Array, dict[str, Array]]]:
        """Return values at many points with their derivatives by some parameters.

        Central differences, all in one call of the method; a simulation has the same random
        numbers at all of them, and larger steps. Methods that have derivatives give these.

        Parameters
        ----------
        values : of the parameters, those of `parameter_names` above 0
        parameter_names : the parameters by which to differentiate
        wanted_column_names : the columns whose derivatives are wanted

        Returns
        -------
        by column, its value [points] and by parameter its derivative [points]
        """
        point_count = max((np.size(value) for value in values.values()), default=1)
        unmoved_columns = {
            name: np.broadcast_to(value, (point_count,)) for name, value in values.items()
        }
        step_size = SIMULATED_STEP if self.is_estimated or self.is_rough else SMOOTH_STEP
        # Central differences: their error falls with the square of the step.
        relative_moves = [(name, sign * step_size) for name in parameter_names for sign in (1, -1)]
        # All moved points are solved in one call, together with the points themselves.
        moved_columns = {
            name: np.concatenate(
                [
                    unmoved_column,
                    *(
                        unmoved_column * (1 + relative_step if name == moved_parameter else 1)
                        for moved_parameter, relative_step in relative_moves
                    ),
                ]
            )
            for name, unmoved_column in unmoved_columns.items()
        }
        needs_only_quantity = list(wanted_column_names) == [self.quantity]
        solved_columns = (
            {self.quantity: self.times(moved_columns)}
            if needs_only_quantity
            else self.points(moved_columns).columns()
        )
        slopes_by_column = {}
        for column_name in wanted_column_names:
            value_table = np.broadcast_to(
                solved_columns[column_name], (point_count * (1 + len(relative_moves)),)
            )
            # The first row holds the points themselves, then come two rows for each parameter.
            value_table = value_table.reshape(1 + len(relative_moves), point_count)
            slope_by_parameter = {
                parameter_name: (
                    value_table[2 * parameter_index + 1] - value_table[2 * parameter_index + 2]
                )
                / (2 * step_size * unmoved_columns[parameter_name])
                for parameter_index, parameter_name in enumerate(parameter_names)
            }
            slopes_by_column[column_name] = value_table[0], slope_by_parameter
        return slopes_by_column

    def unit(self, column_name: str) -> str:
        """Return the base unit of a column."""
        return unit_of(column_name)


def _without_unmet_requirements(
    solution: Solution, requirements: Iterable[Requirement], values: Values
) -> Solution:
    """Remove the answers of the points at which a requirement of the model does not hold."""
    for requirement in requirements:
        for violated_sides, is_broken in requirement.violations(values, _text_in_base_unit):
            if np.any(is_broken):
                reason = requirement.message(violated_sides if np.size(is_broken) == 1 else "")
                solution = _without_answers(
                    solution, reason, np.broadcast_to(is_broken, solution.count)
                )
    return solution


def _text_in_base_unit(value: float, dimension: Dimension) -> str:
    """Write a quantity in its base unit; one of a million or more has a power of ten that is a
    multiple of three.

    >>> _text_in_base_unit(9.489e11, Dimension.of("B")), _text_in_base_unit(0.5, Dimension.of("1"))
    ('948.9e9 B', '0.5')
    """
    # Below a million the digits themselves are shorter than with a power of ten.
    power = int(np.log10(abs(value)) // 3 * 3) if np.isfinite(value) and abs(value) >= 1e6 else 0
    number_text = f"{value / 10.0**power:.4g}{f'e{power}' if power else ''}"
    return f"{number_text} {dimension}".removesuffix(" 1")


def _without_answers(solution: Solution, reason: str, is_broken: Flags) -> Solution:
    """Return a solution without the answers of some points, for a reason that is recorded there."""
    earlier_remarks = solution.remarks
    original_detail = solution.detail

    def remarks_of(index: int) -> Remarks:
        return Remarks(failed=reason) if is_broken[index] else earlier_remarks(index)

    def detail_without_answers(index: int) -> tuple[Solution, int]:
        """Return the solution that holds the whole answer of a point, without the removed answers,
        and the index of the point there.
        """
        if is_broken[index]:
            return replace(
                solution, remarks=remarks_of, detail=None, values=values_without_answers
            ), index
        assert original_detail is not None
        return original_detail(index)

    values_without_answers = {
        value_name: np.where(is_broken, np.nan, value_column)
        for value_name, value_column in solution.values.items()
    }
    return replace(
        solution,
        values=values_without_answers,
        remarks=remarks_of,
        detail=None if original_detail is None else detail_without_answers,
    )


class Answers:
    """The solution of a method, to be read as columns or as answers.

    Parameters
    ----------
    solution : what a method found
    bounds : solves for the bounds at some of the points
    """

    def __init__(
        self, solution: Solution, bounds: Callable[[NDArray[np.intp]], Solution] | None = None
    ) -> None:
        self.solution = solution
        self._bounds = bounds

    def __len__(self) -> int:
        return self.solution.count

    @property
    def interrupted(self) -> bool:
        """Whether the method was stopped before it was done."""
        return self.solution.interrupted

    def columns(self) -> dict[str, Array]:
        """Return every number of the answers as a column by name, in base units; NaN where there is
        none.
        """
        solution = self.solution
        columns_by_table = {
            "account": solution.account,
            "technology": solution.technology,
            "step": solution.steps,
            "once": solution.once,
        }
        bounds_by_end = {"low": solution.low, "high": solution.high}
        return {
            **solution.values,
            **{
                f"{table_name}[{value_name}]": column
                for table_name, table_columns in columns_by_table.items()
                for value_name, column in table_columns.items()
            },
            **{
                f"{interval_end}[{value_name}]": column
                for interval_end, end_columns in bounds_by_end.items()
                for value_name, column in end_columns.items()
            },
        }

    def provenance(self, wanted_count: int | None = None) -> Provenance:
        """Return how each point was computed.

        Parameters
        ----------
        wanted_count : of points; more than were solved where nothing that was varied changes the
            model
        """
        solution = self.solution
        point_count = wanted_count or len(self)
        method_by_point = [*(solution.methods or [solution.method])]
        bound_sentences, error_sentences = (
            sentence_by_point
            if len(self) == point_count or not sentence_by_point
            else dict.fromkeys(range(point_count), sentence_by_point[0])
            for sentence_by_point in (self.bound_violations, solution.errors)
        )
        method_by_point = (
            method_by_point
            if len(method_by_point) == point_count
            else method_by_point * point_count
        )
        from slipstick.results.sweep import Provenance

        left_out = dict.fromkeys(range(point_count), solution.left_out) if solution.left_out else {}
        is_exact = np.broadcast_to(solution.exact, point_count)
        return Provenance(
            method_by_point,
            is_exact,
            bound_sentences,
            error_sentences,
            left_out,
            solution.checks,
            solution.events,
        )

    @cached_property
    def bound_violations(self) -> dict[int, str]:
        """Return, by point, a description of the values outside of their bounds.

        Exact answers cannot be, so that of many points only the others are compared.
        """
        solution = self.solution
        has_few_points = solution.count <= MOST_POINTS_WITH_BOUNDS
        if (
            self._bounds is None
            or (solution.exact.all() and not has_few_points)
            or not solution.values
        ):
            return {}
        first_column = np.broadcast_to(next(iter(solution.values.values())), (solution.count,))
        is_compared = has_few_points | ~np.broadcast_to(solution.exact, (solution.count,))
        # What has no answer may have no bounds either.
        compared_indexes = np.flatnonzero(np.isfinite(first_column) & is_compared)
        return self._violations_among(compared_indexes) if len(compared_indexes) else {}

    def _violations_among(self, point_indexes: NDArray[np.intp]) -> dict[int, str]:
        """Return, by point, which value lies outside of its bounds, in words; a point whose bounds
        cannot be computed has none.
        """
        assert self._bounds is not None
        try:
            bound_solution = self._bounds(point_indexes)
        except NoAnswerError:
            # A point without bounds, such as a queue with losses that is asked for more than it can
            # do, stops all.
            reasons_of_single_points = (
                [
                    self._violations_among(point_indexes[position : position + 1])
                    for position in range(len(point_indexes))
                ]
                if len(point_indexes) > 1
                else []
            )
            return {
                point_index: reason
                for reason_by_index in reasons_of_single_points
                for point_index, reason in reason_by_index.items()
            }
        reason_by_point: dict[int, str] = {}
        for name in self.solution.values:
            if name in bound_solution.low or name in bound_solution.high:
                for point_index, reason in _bound_violations(
                    name, self.solution, bound_solution, point_indexes
                ).items():
                    reason_by_point.setdefault(point_index, reason)
        return reason_by_point

    def limiting_stages(self) -> dict[str, list[str]]:
        """Name the limiting stage of each pipeline at each point: the longest, and of equally long
        ones the first.
        """
        limiting_stages_by_pipeline = {}
        for pipeline_name, columns_by_stage in self.solution.stages.items():
            stage_time_table = np.stack(
                [
                    np.broadcast_to(stage_column, (len(self),))
                    for stage_column in columns_by_stage.values()
                ]
            )
            stage_names = list(columns_by_stage)
            has_times = np.isfinite(stage_time_table.sum(axis=0))
            longest_stages = np.argmax(stage_time_table, axis=0)
            limiting_stages_by_pipeline[pipeline_name] = [
                stage_names[stage_index] if has_time else ""
                for stage_index, has_time in zip(longest_stages, has_times, strict=True)
            ]
        return limiting_stages_by_pipeline

    def answer(
        self,
        index: int,
        point: Mapping[str, float | str] | None = None,
        given: Mapping[str, float | str] | None = None,
        shares: bool = True,
    ) -> Answer:
        """Return the whole answer at one point.

        Parameters
        ----------
        index : of the point
        point : its coordinates on the axes of a study
        given : what was set beside the files
        shares : compute shares and gradient too; of some methods they cost one more solution
        """
        solution = self.solution
        bound_sentence = self.bound_violations.get(index, "")
        left_out = solution.left_out
        estimates = solution.estimates
        check = solution.checks.get(index)
        is_exact = bool(entry_at(solution.exact, index))  # a check may have refuted the method
        # A block holds the columns; what one point alone needs, such as derivatives, is computed
        # now.
        while solution.detail is not None:
            solution, index = solution.detail(index)
        remarks = solution.remarks(index)
        empty_answer = Answer(
            solution.model,
            (solution.methods or [solution.method])[index if solution.methods else 0],
            point=point or {},
            given=given or {},
            left_out=left_out,
            check=check,
        )
        if remarks.failed:
            return replace(empty_answer, failed=remarks.failed, other_method=remarks.other_method)
        answer_with_numbers = _with_numbers(empty_answer, solution, index)
        number_by_value = {
            name: value.value
            for name, value in answer_with_numbers.values.items()
            if value.value is not None
        }
        gradient = solution.gradient(index) if solution.gradient is not None and shares else None
        return replace(
            answer_with_numbers,
            share=gradient.shares(number_by_value) if gradient else {},
            gradient=gradient.slopes if gradient else {},
            exact=is_exact and answer_with_numbers.exact and not (left_out or estimates),
            bound=bound_sentence,
            error=solution.errors.get(index, ""),
            notes=(*estimates, *remarks.notes, *_work_notes(solution.useful, number_by_value)),
            seed=remarks.seed,
            converged=remarks.converged,
            promise=remarks.promise,
            interrupted=remarks.interrupted,
        )


def _with_numbers(empty_answer: Answer, solution: Solution, point_index: int) -> Answer:
    """Fill in the numbers of a solution at one point."""

    def listed_entries(columns: Columns) -> dict[str, float]:
        listed_names = solution.listed_entries
        return {
            value_name: seconds
            for value_name, seconds in _values_at_point(columns, point_index).items()
            if seconds or listed_names is None or value_name in listed_names
        }

    account = listed_entries(solution.account)
    # What the account leaves out has no processors lost to it either.
    hidden_losses = {
        f"processors_lost[{component}]"
        for component in solution.account
        if component not in account
    }
    value_by_name, low_by_name, high_by_name = (
        _values_at_point(columns, point_index)
        for columns in (solution.values, solution.low, solution.high)
    )
    value_with_unit_by_name = dict[str, Value]()
    interval_by_name = dict[str, tuple[float, float]]()
    for value_name in dict.fromkeys([*solution.values, *solution.low, *solution.high]):
        if value_name.partition("[")[0] in ("account", "technology", "step"):
            if value_name in low_by_name and value_name in high_by_name:
                interval_by_name[value_name] = (low_by_name[value_name], high_by_name[value_name])
        elif value_name not in hidden_losses and (
            value_name in value_by_name or value_name in low_by_name or value_name in high_by_name
        ):
            value_with_unit_by_name[value_name] = Value(
                value_by_name.get(value_name),
                solution.unit(value_name),
                low_by_name.get(value_name),
                high_by_name.get(value_name),
            )
    stage_times_by_pipeline = {
        pipeline_name: _values_at_point(stage_columns, point_index)
        for pipeline_name, stage_columns in solution.stages.items()
    }
    pipeline_limits = tuple(
        Limit(pipeline_name, max(time_by_stage, key=time_by_stage.__getitem__), time_by_stage)
        for pipeline_name, time_by_stage in stage_times_by_pipeline.items()
    )
    return replace(
        empty_answer,
        values=value_with_unit_by_name,
        account=account,
        technology=listed_entries(solution.technology),
        steps=listed_entries(solution.steps),
        once=_values_at_point(solution.once, point_index),
        useful=solution.useful,
        exact=bool(entry_at(solution.exact, point_index)),
        limits=pipeline_limits,
        intervals=interval_by_name,
    )


TABLES = ("values", "low", "high", "account", "technology", "steps", "once")
"""The parts of a `Solution` that are columns by name."""


def join_solutions(
    points_and_solutions: Sequence[tuple[Sequence[int] | NDArray[np.intp], Solution]],
) -> Solution:
    """Join the solutions of different points into one; a column is NaN at points whose solution
    lacks it.

    Parameters
    ----------
    points_and_solutions : the indices of some points, with the solution of these points. Together
        they cover all indices from 0 on; where two cover the same index, the later one counts
    """
    from slipstick.results.sweep import join_columns

    point_count = 1 + max(int(np.max(point_indexes)) for point_indexes, _ in points_and_solutions)
    first_solution = points_and_solutions[0][1]
    # A solution of one point may hold for several.
    solution_by_point = {
        int(point_index): (solution, min(piece_index, solution.count - 1))
        for point_indexes, solution in points_and_solutions
        for piece_index, point_index in enumerate(point_indexes)
    }
    methods = np.full(point_count, "", dtype=object)
    is_exact = np.zeros(point_count, dtype=bool)
    for point_indexes, solution in points_and_solutions:
        methods[np.asarray(point_indexes)], is_exact[np.asarray(point_indexes)] = (
            [*(solution.methods or [solution.method] * len(point_indexes))],
            solution.exact,
        )
    columns_by_table: dict[str, Any] = {
        table_name: join_columns(
            point_count,
            (
                (point_indexes, getattr(solution, table_name))
                for point_indexes, solution in points_and_solutions
            ),
        )
        for table_name in TABLES
    }
    pipeline_names = dict.fromkeys(
        pipeline_name for _, solution in points_and_solutions for pipeline_name in solution.stages
    )
    stages = {
        pipeline_name: join_columns(
            point_count,
            (
                (point_indexes, solution.stages.get(pipeline_name, {}))
                for point_indexes, solution in points_and_solutions
            ),
        )
        for pipeline_name in pipeline_names
    }
    entries_by_table: dict[str, Any] = {"checks": {}, "errors": {}, "events": {}}
    for point_index, (solution, piece_index) in solution_by_point.items():
        for table_name, entry_by_point in entries_by_table.items():
            if piece_index in getattr(solution, table_name):
                entry_by_point[point_index] = getattr(solution, table_name)[piece_index]
    return replace(
        first_solution,
        count=point_count,
        methods=methods.tolist(),
        exact=is_exact,
        **columns_by_table,
        **entries_by_table,
        stages=stages,
        # Notes and derivatives stay with the piece that computed them.
        detail=solution_by_point.__getitem__,
        interrupted=any(solution.interrupted for _, solution in points_and_solutions),
    )


MOST_POINTS_WITH_BOUNDS = 16
"""The largest number of points at which exact answers are compared with their bounds, too."""

ROUNDING = 1e-9
"""Relative difference that rounding explains."""


def _bound_violations(
    value_name: str, solution: Solution, bounds: Solution, point_indexes: NDArray[np.intp]
) -> dict[int, str]:
    """Return, by point, a sentence on a value that lies below its lower bound or above its upper
    bound.
    """
    sentence_by_point: dict[int, str] = {}
    value_column = np.broadcast_to(solution.values[value_name], (solution.count,))[point_indexes]
    for side_in_words, bound_columns, sign in (
        ("below its lower", bounds.low, 1.0),
        ("above its upper", bounds.high, -1.0),
    ):
        if value_name not in bound_columns:
            continue
        bound_column = np.broadcast_to(bound_columns[value_name], (len(point_indexes),))
        # Infinite on both sides: the difference is NaN, which is outside of nothing.
        with np.errstate(invalid="ignore"):
            is_outside = sign * (bound_column - value_column) > ROUNDING * np.abs(bound_column)
        for position in np.flatnonzero(is_outside):
            point_index = int(point_indexes[position])
            if _may_be_chance(
                solution, value_name, point_index, value_column[position], bound_column[position]
            ):
                continue
            sentence = (
                f"{value_name} is {side_in_words} bound"
                f" {_number_with_unit(float(bound_column[position]), solution.unit(value_name))}"
            )
            low, high = (
                entry_at(interval_ends[value_name], point_index)
                if value_name in interval_ends
                else math.nan
                for interval_ends in (solution.low, solution.high)
            )
            half_width = high - value_column[position] if sign > 0 else value_column[position] - low
            distance = sign * (bound_column[position] - value_column[position])
            if distance <= half_width:
                sentence = SlightlyBeyond(f"{sentence}, which lies within its interval")
            elif distance <= SURE_HALF_WIDTHS * half_width:
                sentence = SlightlyBeyond(
                    f"{sentence}, by less than twice the half-width of its interval"
                )
            sentence_by_point[point_index] = sentence
    return sentence_by_point


CHANCE_DIFFERENCE = 0.02
"""Relative difference that a simulated value without an interval is allowed beside its bound
[1].
"""


def _may_be_chance(
    solution: Solution, value_name: str, point_index: int, value: float, bound: float
) -> bool:
    """Return whether a simulated value without an interval differs from a bound by so little that
    the difference may be noise of the run.
    """
    method = solution.methods[point_index] if solution.methods else solution.method
    has_interval = value_name in solution.low and not math.isnan(
        float(entry_at(solution.low[value_name], point_index))
    )
    return (
        method == SIMULATION
        and not has_interval
        and abs(value - bound) <= CHANCE_DIFFERENCE * abs(bound)
    )


_TIME_UNITS = ("s", "ms", "us", "ns")


def _number_with_unit(value: float, unit: str) -> str:
    """Write a number with its unit, a short time with a prefix, without loading the library of
    units.
    """
    if unit != "s" or not 0 < value < 1:
        return f"{value:.6g} {unit}".removesuffix(" 1")
    power_of_thousand = min(math.ceil(-math.log10(value) / 3), 3)
    return f"{value * 1000.0**power_of_thousand:.6g} {_TIME_UNITS[power_of_thousand]}"


def _work_notes(useful: Sequence[str], value_by_name: Mapping[str, float]) -> Iterator[str]:
    """Yield notes on the definition of speed-up and efficiency, and on useful work that overlaps
    with the processors lost.
    """
    has_speedup = {
        "speedup",
        "throughput",
        "time",
    } <= value_by_name.keys()  # none beyond all numbers
    if has_speedup and value_by_name.get("efficiency"):
        processor_count = value_by_name["throughput"] * value_by_name["time"]
        worker_count = value_by_name["speedup"] / value_by_name["efficiency"]
        # Both are quotients of rounded numbers.
        if worker_count > processor_count * (1 + 1e-9):
            yield Definition(
                f"the efficiency is the speed-up divided by {worker_count:.4g}, the number of"
                " processors and servers that can do useful work at once"
            )
        overlapping_components = [
            component for component in useful if value_by_name.get(f"overlap[{component}]", 0.0) > 0
        ]
        if overlapping_components and any(
            name.startswith("processors_lost") for name in value_by_name
        ):
            overlap_sentence = (
                f"{', '.join(overlapping_components)} goes on beside them, as overlap says"
            )
            yield Definition(
                f"processors lost are those of the branches that end last; {overlap_sentence}"
            )
    if "speedup" in value_by_name:
        yield NOTE_ON_SPEEDUP


def _values_at_point(column_by_name: Columns, point_index: int) -> dict[str, float]:
    """Return the values of columns at one point, without those that are NaN."""
    number_by_name = {
        name: entry_at(column, point_index) for name, column in column_by_name.items()
    }
    return {name: number for name, number in number_by_name.items() if math.isfinite(number)}


def sums_by_name(
    seconds_by_label: Columns, name_of_label: Callable[[str], str]
) -> dict[str, Array]:
    """Add up the seconds of all labels that `name_of_label` gives the same name; the names are in
    the order of first appearance.
    """
    seconds_by_name: dict[str, Array] = {}
    for label, seconds in seconds_by_label.items():
        name = name_of_label(label)
        with np.errstate(over="ignore"):  # a time that overflows is refused as such
            seconds_by_name[name] = (
                seconds_by_name[name] + seconds if name in seconds_by_name else seconds
            )
    return seconds_by_name


def activity_solution(
    model: Model,
    method: str,
    time: Array,
    population: Array,
    time_by_label: Columns,
    *,
    time_and_size_by_group: Mapping[str, tuple[Array, Array]],
    think_times: Columns,
    single_values: Columns,
    uses_by_resource: Mapping[str, tuple[Array, Array, Array]],
    parallel_values: Callable[[Columns], Columns],
    class_of_other_labels: str = "wait",
    **further_fields: Any,
) -> Solution:
    """Build the solution of an activity from its mean times.

    Parameters
    ----------
    model, method : the system, and the name of the method
    time : of a cycle, or of the whole program [s, points]
    population : processors, or arrivals a second [points]
    time_by_label : seconds of one processor by label
    time_and_size_by_group : time of a cycle and number of processors, or arrivals a second, of each
        group that has a name
    think_times : see `think_times`
    single_values : values that compare with one processor alone
    uses_by_resource : utilization, mean number waiting or in service, and wait of a visit, of each
        resource [1, 1, s]
    parallel_values : gives values that stand beside the account of components, see
        `slipstick.method.closed_form`
    class_of_other_labels : technology class of labels that are no step and no barrier; see `Labels`
    further_fields : parts of the solution as they are
    """
    model_labels = Labels.from_model(model, class_of_other_labels)
    account = sums_by_name(time_by_label, model_labels.component)
    population_column = np.broadcast_to(population, np.shape(time))
    values = {"time": time}
    # Times of 0 divide in speed-ups and shares; these values are undefined, not errors.
    with np.errstate(all="ignore"):
        if model.population.open:
            values["throughput"] = np.where(np.isnan(time), np.nan, population_column)
        else:
            values |= {
                "throughput": CYCLE_RATE.equation(population_column, time),
                **_efficiency_and_losses(model, account, population_column, time),
            }
        values |= _times_and_throughputs(model, time_and_size_by_group, np.shape(time))
        for group_name, think_time in think_times.items():
            cycle_time = values[labelled_name("time", group_name)]
            values[labelled_name("response_time", group_name)] = cycle_time - think_time
        # Last, because speed-up and efficiency of parallel work replace those of the account.
        values |= parallel_values(account)
    values |= {
        **single_values,
        **{
            value_name: np.array([counted_value])
            for value_name, counted_value in model.counted.items()
        },
    }
    values |= _values_of_resources(model, uses_by_resource)
    for resource_name, resource in model.resources.items():
        for value_kind in resource.undefined:
            values.pop(f"{value_kind}[{resource_name}]", None)
    return Solution(
        model=model.name,
        method=method,
        count=len(time),
        values=values,
        account=account,
        technology=sums_by_name(time_by_label, model_labels.technology),
        steps=time_by_label,
        useful=model.useful,
        **further_fields,
    )


def _times_and_throughputs(
    model: Model, time_and_size_by_group: Mapping[str, tuple[Array, Array]], shape: tuple[int, ...]
) -> dict[str, Array]:
    """Return the time of a cycle [s] and the throughput [1/s] of each group that has a name."""
    values: dict[str, Array] = {}
    arriving_groups = {
        group.name for group in model.population.groups if group.arrivals is not None
    }
    for group_name, (cycle_time, group_size) in time_and_size_by_group.items():
        throughput = (
            group_size
            if group_name in arriving_groups
            else np.where(group_size > 0, CYCLE_RATE.equation(group_size, cycle_time), 0.0)
        )
        values[f"time[{group_name}]"] = np.broadcast_to(cycle_time, shape)
        values[f"throughput[{group_name}]"] = np.broadcast_to(throughput, shape)
    return values


def _values_of_resources(
    model: Model, uses_by_resource: Mapping[str, tuple[Array, Array, Array]]
) -> dict[str, Array]:
    """Return utilization, number present and wait of each resource, by the names of these values,
    such as ``wait[disk]``.
    """
    values: dict[str, Array] = {}
    for resource_name, (busy_column, present_column, wait_column) in uses_by_resource.items():
        # What is in use of a counter are the units that are there.
        use_name = "units" if resource_name in model.counters else "utilization"
        values |= {
            f"{use_name}[{resource_name}]": busy_column,
            f"queue_length[{resource_name}]": present_column,
            f"wait[{resource_name}]": wait_column,
        }
    return values


def think_times(model: Model, values: Values) -> dict[str, Array]:
    """Return the mean think time in a cycle of each group whose response time is reported; 0 for
    arriving customers [s, points].
    """
    responding_groups = [group for group in model.population.groups if group.has_response_time]
    think_steps = [think_step(group.cycle) for group in responding_groups]
    time_expressions = [zero(TIME) if step is None else step.time for step in think_steps]
    tape = Tape(time_expressions)
    columns = tape.run(selected_values(values, tape.parameters)) if time_expressions else []
    return {group.name: column for group, column in zip(responding_groups, columns, strict=True)}


def _efficiency_and_losses(
    model: Model, account: Columns, population_column: Array, time: Array
) -> dict[str, Array]:
    """Return efficiency and speed-up, if some work is useful, and the processors lost to each
    component without useful work.
    """
    value_by_name = {}
    useful_columns = [account[component] for component in model.useful if component in account]
    if useful_columns:
        value_by_name["efficiency"] = EFFICIENCY.equation(reduce(np.add, useful_columns), time)
        value_by_name["speedup"] = SPEEDUP.equation(population_column, value_by_name["efficiency"])
    for component, seconds in account.items():
        if component not in model.useful:
            value_by_name[f"processors_lost[{component}]"] = PROCESSORS_LOST.equation(
                population_column, seconds, time
            )
    return value_by_name


class SingleProcessorValues:
    """Values that compare the time of a processor among others with its time when it runs alone.

    Parameters
    ----------
    single_processor : the processor alone
    compiled : its model, compiled by the method that the time among others is from
    """

    def __init__(self, single_processor: SingleProcessor, compiled: CompiledModel) -> None:
        self._compiled = compiled
        self._word_tape = None if single_processor.words is None else Tape([single_processor.words])

    def values(
        self, parameter_values: Values, time_among_others: Array, processors: Array
    ) -> dict[str, Array]:
        """Compute ``time_alone``, ``grain_efficiency``, ``grain_interference`` and, where accesses
        to shared words are counted, ``warps``.

        Parameters
        ----------
        parameter_values : of the parameters
        time_among_others : time of a processor among the others [s, points]
        processors : processors of its kind, all of which access as many words [1, points]
        """
        time_alone = self._compiled.times(
            selected_values(parameter_values, self._compiled.parameters)
        )
        # A grain without a time has no ratio; NaN leaves the value out.
        with np.errstate(all="ignore"):
            column_by_name = {
                "time_alone": time_alone,
                "grain_efficiency": GRAIN_EFFICIENCY.equation(time_alone, time_among_others),
                "grain_interference": GRAIN_INTERFERENCE.equation(time_alone, time_among_others),
            }
            if self._word_tape is not None:
                (word_count,) = self._word_tape.run(
                    selected_values(parameter_values, self._word_tape.parameters)
                )
                column_by_name["warps"] = WORDS_ACCESSED_RANDOMLY.equation(
                    processors, word_count, time_among_others
                )
        return {
            name: np.broadcast_to(column, np.shape(time_among_others))
            for name, column in column_by_name.items()
        }


def perturbed_values(
    expressions: Mapping[Key, Expr],
    point_values: Mapping[str, float],
    moved_parameters: Sequence[str],
) -> dict[Key, NDArray[np.complex128]]:
    """Evaluate expressions at one point, and for each of some parameters with that parameter moved
    by a complex step.

    Parameters
    ----------
    expressions : by any key
    point_values : values of the parameters at the point
    moved_parameters : of the parameters to move, each relative to its value, or in base units where
        that is 0

    Returns
    -------
    each expression at the point, and with each of the parameters moved [1 + names]
    """
    position_by_parameter = {name: position for position, name in enumerate(moved_parameters, 1)}
    values_by_key = {}
    for expression_key, expression in expressions.items():
        if isinstance(expression, Parameter):
            own_value = point_values[expression.name]
            slope_by_parameter = {expression.name: 1.0}
        else:
            # One tape for each: a derivative of a common tape would run the instructions of all.
            tape = Tape([expression])
            derivatives = tape.differentiate({name: point_values[name] for name in tape.parameters})
            own_value = float(derivatives.value[0])
            slope_by_parameter = {
                name: float(slope[0]) for name, slope in derivatives.derivative_by_parameter.items()
            }
        values_by_key[expression_key] = np.full(1 + len(moved_parameters), own_value, dtype=complex)
        for parameter_name in slope_by_parameter.keys() & position_by_parameter.keys():
            values_by_key[expression_key][position_by_parameter[parameter_name]] += (
                1j * complex_step(point_values[parameter_name]) * slope_by_parameter[parameter_name]
            )
    return values_by_key


def complex_step(value: float) -> float:
    """Return the complex step of a parameter: `COMPLEX_STEP` times its value, or `COMPLEX_STEP`
    where that is less than floats resolve.

    >>> complex_step(2.0) == 2 * COMPLEX_STEP, complex_step(1e-320) == COMPLEX_STEP
    (True, True)
    """
    # Relative to the value, so that products of the step with large numbers stay finite.
    step = COMPLEX_STEP * value
    return step if abs(step) > np.finfo(float).tiny else COMPLEX_STEP


def value_at(
    values: Values, parameter_name: str, point_index: int, own_value: float | None
) -> float:
    """Return the value of a parameter at one point; `own_value` is the model's own value."""
    return (
        entry_at(np.ravel(values[parameter_name]), point_index)
        if parameter_name in values
        else own_value or 0.0
    )
