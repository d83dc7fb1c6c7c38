"""Activities compiled for mean value and for the Markov chain: numbers are evaluated at many
points, and times and uses become a solution with derivatives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from slipstick.answer import DeferredShares
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, parameters
from slipstick.expression.tape import Flags, Tape, Values
from slipstick.late import Array, dataclass, field, np, replace
from slipstick.method.answers import (
    CompiledModel,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    activity_solution,
    complex_step,
    perturbed_values,
    think_times,
    value_at,
)
from slipstick.model.activity import Step
from slipstick.model.system import Model
from slipstick.structure.contention import Contention
from slipstick.structure.deadlocks import Deadlocks
from slipstick.structure.visits import Numbers
from slipstick.structure.work import ParallelWork
from slipstick.vocabulary import KNOWN, refuse_unknown

_SLOPES_AT_ONCE = 512
"""Derivatives in one recursion; its memory grows with their number times that of visits."""


@dataclass(slots=True)
class ActivityTable:
    """The times of an activity and its use of resources at many points; NaN where there is no
    answer.

    Parameters
    ----------
    population : processors, or arrivals a second
    reason_by_point : why a point has no answer, by its number
    refused_points : those of them at which another method may answer
    time : of a cycle, or of the whole program [s]
    time_by_label : time of one processor by step, wait or other label [s]
    use_by_queue : of each queue by name: utilization of its servers, number there (of processors,
        at each), visits in a second, and wait of one visit without service [1, 1, 1/s, s] [4,
        points]
    time_by_group : time of each group's cycle by name, where there are several [s]
    other_values : other values by name
    pipeline_times : mean time of one execution of each pipeline of the first group by name [s]
    """

    population: Array
    reason_by_point: dict[int, str]
    time: Array = field(init=False)
    time_by_label: dict[str, Array] = field(default_factory=dict)
    use_by_queue: dict[str, Array] = field(default_factory=dict)
    time_by_group: dict[str, Array] = field(default_factory=dict)
    other_values: dict[str, Array] = field(default_factory=dict)
    pipeline_times: dict[str, Array] = field(default_factory=dict)
    refused_points: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.time = self.nan_columns()

    def nan_columns(self, *rows: int) -> Array:
        """Return an array of NaN whose last axis has an element for each point; `rows` are the
        lengths of the axes before it.
        """
        return np.full((*rows, len(self.population)), np.nan, dtype=self.population.dtype)

    @property
    def answerable_points(self) -> Array:
        """The indexes of the points at which no answer has been refused."""
        return np.array(
            [
                point_index
                for point_index in range(len(self.population))
                if point_index not in self.reason_by_point
            ],
            dtype=int,
        )

    def refuse(self, reasons: Mapping[int, str], *, another_may_answer: bool = False) -> None:
        """Remove the answers of some points, and record the reason for each.

        Parameters
        ----------
        reasons : by the number of the point
        another_may_answer : another method may answer there
        """
        self.reason_by_point.update(reasons)
        if another_may_answer:
            self.refused_points.update(reasons)
        for column in (
            self.time,
            *self.time_by_label.values(),
            *self.time_by_group.values(),
            *self.use_by_queue.values(),
            *self.other_values.values(),
        ):
            column[..., list(reasons)] = np.nan

    def fill_in(
        self,
        point_indexes: Array,
        row_indexes: Array,
        time_of_row: Array,
        **columns_by_table: Mapping[str, Array],
    ) -> None:
        """Fill in the answers of some points. The answer of each point is in one row of the given
        columns.
        """
        targets_and_columns = [(self.time, time_of_row)]
        for table_name, columns in columns_by_table.items():
            table_columns = getattr(self, table_name)
            for name, column in columns.items():
                if name not in table_columns:
                    table_columns[name] = self.nan_columns(*np.shape(column)[:-1])
                targets_and_columns.append((table_columns[name], column))
        for target, column in targets_and_columns:
            # A column of length 1 holds for all rows.
            column_rows = row_indexes if np.shape(column)[-1] > 1 else [0]
            target[..., point_indexes] = np.atleast_1d(column)[..., column_rows]


class ActivityForm(CompiledModel):
    """A model compiled for a method that computes the times and the use of resources at many points
    together.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    method : the name of the method
    tape : every number of the model, compiled together
    smooth_parameters : parameters that the time has a derivative by: all but those that count
        processors
    """

    method: ClassVar[str]

    def __init__(self, model: Model) -> None:
        refuse_unknown(model.constructs, self.method, KNOWN[self.method])
        self.model = model
        mean_rates = (rate for rate, _ in model.population.streams)
        self._expressions = tuple(dict.fromkeys([*model.expressions(), *mean_rates]))
        self.tape = Tape(self._expressions)
        self.parameters = tuple(self.tape.parameters)
        # A number of processors is whole, so that a derivative by it means nothing.
        names_of_counts = {
            parameter.name for parameter in parameters(*model.population.processor_counts)
        }
        self.smooth_parameters = [name for name in self.parameters if name not in names_of_counts]
        self.contention = Contention(model)
        self._deadlocks = Deadlocks(model)
        self._parallel_work = ParallelWork(model)
        self._single_processor = (
            SingleProcessorValues(model.single, type(self)(model.single.model))
            if model.single
            else None
        )

    def numbers(self, values: Values) -> dict[Expr, Array]:
        """Evaluate every numeric expression of the model; each gives an array over the points."""
        return self.tape.columns(self._expressions, values)

    @abstractmethod
    def solve(self, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
        """Compute the times at all points; the numbers may be complex.

        Parameters
        ----------
        value_by_expr : every number of the model [points]
        with_account : also find the account and the use of each queue

        Raises
        ------
        NoAnswerError : the whole model has a part that the method has no answer for
        """

    @abstractmethod
    def exact(self, values: Values, table: ActivityTable) -> Flags:
        """Return, as a mask, the points at which the times in a table are exact."""

    @abstractmethod
    def reasons_without_promise(self, table: ActivityTable, is_exact: Flags) -> dict[int, str]:
        """Return, by point, the reason why no error bound is promised for an approximate answer;
        points with a promised bound are left out.
        """

    @property
    @abstractmethod
    def approximation_remarks(self) -> Remarks:
        """Return the notes on an approximate answer, and the promised bound of its error."""

    def brief(self, values: Values) -> Solution:
        """Compute the time alone at many points, without the account and the use of resources
        [s].
        """
        value_by_expr = self.numbers(values)
        table = self.table(value_by_expr, with_account=False)
        return Solution(
            model=self.model.name,
            method=self.method,
            count=len(table.time),
            exact=(is_exact := self.exact(values, table)),
            errors=self.reasons_without_promise(table, is_exact),
            values={self.quantity: table.time},
            refused_points=frozenset(table.refused_points),
        )

    def table(self, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
        """Compute the times at all points, as `solve` does; a refusal of the whole model becomes
        the reason at each point.
        """
        point_count = len(next(iter(value_by_expr.values())))
        processor_counts = [
            value_by_expr[count_expr] for count_expr in self.model.population.processor_counts
        ]
        deadlock_reasons = {
            point_index: reason
            for point_index, (reason,) in self._deadlocks.reasons_by_processors(
                processor_counts, point_count
            ).items()
        }
        # Mean values of a model that deadlocks would be wrong, and may take long.
        if len(deadlock_reasons) == point_count:
            return ActivityTable(np.ones(point_count), deadlock_reasons)
        try:
            # A point that overflows has a NaN time, which becomes a refusal of this point alone.
            with np.errstate(all="ignore"):
                table = self.solve(value_by_expr, with_account)
        except NoAnswerError as error:
            return ActivityTable(
                np.ones(point_count), dict.fromkeys(range(point_count), str(error))
            )
        table.refuse(deadlock_reasons)
        return table

    @property
    def block_size(self) -> int:
        """The number of points that are solved together: each takes 10 KB and more while it is
        solved.
        """
        return 2048

    def solution(self, values: Values) -> Solution:
        """Compute all values at many points."""
        value_by_expr = self.numbers(values)
        table = self.table(value_by_expr, with_account=True)
        is_exact = self.exact(values, table)
        size_by_group = {
            group.name: group.processors if group.rate is None else group.rate
            for group in self.model.population.groups
            if group.name
        }
        # The times of every group where mean value refuses the model.
        unanswered_times = np.full(len(table.time), np.nan)
        steps = [
            step
            for step in self.model.steps
            if not size_by_group or step.name in table.time_by_label
        ]
        solution = activity_solution(
            self.model,
            self.method,
            table.time,
            table.population,
            table.time_by_label,
            exact=is_exact,
            errors=self.reasons_without_promise(table, is_exact),
            time_and_size_by_group={
                name: (table.time_by_group.get(name, unanswered_times), value_by_expr[group_size])
                for name, group_size in size_by_group.items()
            },
            think_times=think_times(self.model, values),
            single_values={
                **table.other_values,
                **(
                    self._single_processor.values(values, table.time, table.population)
                    if self._single_processor
                    else {}
                ),
            },
            uses_by_resource={
                name: (utilization, number_present, wait)
                for name, (utilization, number_present, _, wait) in table.use_by_queue.items()
            },
            parallel_values=lambda account: self._parallel_work.columns(
                values, table.time, table.population, account, table.pipeline_times
            ),
            once={
                step.name: np.where(
                    np.isnan(table.time), np.nan, self._time_alone(step, value_by_expr)
                )
                for step in steps
            },
            # What no processor ever waits for is left out of answers.
            listed_entries=frozenset(
                label
                for step in self.model.steps
                for label in (step.name, step.component, step.technology)
            ),
            remarks=lambda index: self._remarks(table, bool(is_exact[index]), index),
            gradient=lambda index: self._gradient(values, index),
        )
        return replace(solution, refused_points=frozenset(table.refused_points))

    def _time_alone(self, step: Step, value_by_expr: Numbers) -> Array:
        """Return the time of one execution of a step without waiting [s, points]."""
        speed = self.model.speed_alone(step)
        return (
            value_by_expr[step.time]
            if speed is None
            else value_by_expr[step.time] / value_by_expr[speed]
        )

    def _remarks(self, table: ActivityTable, is_exact: bool, point_index: int) -> Remarks:
        """Return the remarks on the answer at one point: why it has none, or what an approximate
        answer used.
        """
        model = self.model
        time = float(table.time[point_index])
        if point_index in table.reason_by_point:
            return Remarks(failed=table.reason_by_point[point_index])
        if not np.isfinite(time):
            return Remarks(
                failed=(
                    f"the mean values of {model.name} do not settle: its time comes out as {time!r}"
                )
            )
        if is_exact:
            return Remarks()
        return self.approximation_remarks

    def _gradient(self, values: Values, point_index: int) -> Gradient:
        """Return the derivatives of the time by every parameter that does not count processors;
        they are computed when they are read.
        """
        parameter_by_name = self.tape.parameters
        point_values = {
            parameter_name: value_at(values, parameter_name, point_index, parameter.value)
            for parameter_name, parameter in parameter_by_name.items()
        }
        deferred_slopes = DeferredShares(partial(self._slopes, point_values), seconds=0.0)
        return Gradient(deferred_slopes, point_values, parameter_by_name)

    def _slopes(self, point_values: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Compute the derivatives of the time by each smooth parameter, from one solution with a
        point for each parameter, at which it alone is moved.

        Each parameter is a point of its own, at which it is moved by a small imaginary step:
        relative to its value, or in base units where that is 0.
        """
        slope_by_parameter: dict[str, float] = {}
        for first_index in range(0, len(self.smooth_parameters), _SLOPES_AT_ONCE):
            parameter_names = self.smooth_parameters[first_index : first_index + _SLOPES_AT_ONCE]
            columns = perturbed_values(
                {expr: expr for expr in self._expressions}, point_values, parameter_names
            )
            # The first row is the point without a move, which no derivative needs.
            value_by_expr = {expr: column[1:] for expr, column in columns.items()}
            # For a large population the time may converge although its derivatives do not.
            try:
                slope_column = self.table(value_by_expr, with_account=False).time.imag / [
                    complex_step(point_values[parameter_name]) for parameter_name in parameter_names
                ]
            except NoAnswerError:
                return {}
            slope_by_parameter |= {
                parameter_name: float(slope)
                for parameter_name, slope in zip(parameter_names, slope_column, strict=True)
            }
        return {"time": slope_by_parameter}
