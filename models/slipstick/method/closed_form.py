r"""The closed form: times added up without contention; exact where nothing waits and no maximum is
random.

`ClosedForm` compiles the facts of `slipstick.structure` (times, work, contention, saturation,
deadlocks) with the account, the stages of pipelines and the work asked of each station; of groups,
time and account are those of the first. Then stand the parameter values at which another stage of a
pipeline becomes the longest (`with_takeovers`), and laws, which are closed forms as they stand.

The account books each instant of a processor once. Where branches or items run in parallel it
follows those that the time waits for, so it cannot say how busy the others are. Four quantities
stand beside it, the same of every method. For a cycle of mean time T (of a program: its time, per
processor) let, for component c,

- W_c be the mean time of all executed steps of c, in all branches and of all items: sums of means,
  whatever waits;
- A_c be what the account books to c on the line that ends last.

Then

    occupation[c] = W_c / T            mean number of steps of c of one processor under way at once
    overlap[c]    = (W_c - A_c) / T    the part of it that is hidden behind the line of the account
    speedup       = N W_u / T          W_u adds up the useful components
    efficiency    = N W_u / (P T)      P processors and servers that can do useful work

    P = max(N, min(N w, sum_r min(c_r, N w_r)))

where w is the largest number of useful steps that one processor can have under way at once, w_r
that of steps at resource r, and c_r its servers: no limit for a delay, the N processors for steps
at processors. A model whose useful steps are outside forks and pipelines has w = 1, so P = N and
W_u = A_u: its efficiency is the useful part of the account. For a computation that overlaps a
transfer P = N too, and efficiency is the part of the time in which the processor computes. In a
pipeline of S serial stages P = S N, for each stage can work on an item.

The serial stages of a pipeline that is executed in mean time T_p, waits included, are idle while it
fills and drains, while one waits for the next, and while their items wait for resources:

    bubble[p] = 1 - sum_s W_s / (T_p sum_s w_s)

where W_s is the time of the steps of all items in serial stage s, and w_s how many of them can be
under way at once (1 but for a fork inside a stage). For identical stages of constant time it is (S
- 1) / (d + S - 1) with d items.

What uses a resource is given as its utilization: visits of all branches and items count in it.

Source: work and critical path as in Brent, J. ACM 21(2), 1974; the bubble as in Huang et al.,
GPipe, NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from slipstick.answer import Limit, Takeover
from slipstick.expression.formula import Comparison
from slipstick.expression.nodes import (
    TIME,
    Booked,
    Expr,
    Parameter,
    maximum,
    parameters,
    substitute,
    total,
    zero,
)
from slipstick.expression.tape import Derivatives, Flags, Tape, Values, entry_at, selected_values
from slipstick.late import Array, dataclass, np, replace
from slipstick.law import Law
from slipstick.method.answers import (
    CompiledModel,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    activity_solution,
    think_times,
)
from slipstick.model.activity import pipelines_of
from slipstick.model.steps import Activity
from slipstick.model.system import (
    IDLE_PROCESSORS,
    Model,
    PhasedPopulation,
    SuperstepPopulation,
)
from slipstick.structure.contention import ComputedCounts, Contention, Saturation, without_values_at
from slipstick.structure.deadlocks import Deadlocks
from slipstick.structure.times import time_of_pass
from slipstick.structure.work import ParallelWork, demands
from slipstick.vocabulary import CLOSED_FORM, KNOWN, refuse_unknown


@dataclass(frozen=True, slots=True)
class _FurtherColumns:
    """The columns that a closed form computes in addition to its time and its account, at all
    points.

    Parameters
    ----------
    population : processors, or arrivals a second [1 or 1/s]
    stage_times_by_pipeline : time of one item at each serial stage of each pipeline of identical
        items [s]
    work_by_resource : service that a cycle of the first group asks of each resource [s]
    columns_by_group : of each group the time of a cycle [s], its size, and the service that a cycle
        asks of each resource [s]
    time_by_pipeline : time of each pipeline [s]
    """

    population: Array
    stage_times_by_pipeline: dict[str, dict[str, Array]]
    work_by_resource: dict[str, Array]
    columns_by_group: dict[str, tuple[Array, Array, dict[str, Array]]]
    time_by_pipeline: dict[str, Array]


class ClosedForm(CompiledModel):
    """A model compiled for its closed form; many points cost little more than one.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    time : the time of a cycle, or of the whole program, as an expression [s]
    account : the same time, each processor's parts booked to its own line [s]
    stages : time of one item at each serial stage of each pipeline of identical items [s]
    tape : everything compiled together

    Of groups, time and account are those of the first; the others' times stand beside them.

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="work") >> service("bus", 3.0, component="wait")
    >>> ClosedForm(closed_model(cycle, processors=4)).times({"work": np.array([6.0, 9.0])})
    array([ 9., 12.])
    """

    def __init__(self, model: Model) -> None:
        refuse_unknown(model.constructs, CLOSED_FORM, KNOWN[CLOSED_FORM])
        self.model = model
        self.time = whole_time(model)
        self.stages = _stage_time_expressions(model)
        self.account = _account_expression(model)
        self._work_by_resource = (
            {} if model.population.finite else _demand_by_station(model.bodies[0], model)
        )
        self._contention = Contention(model)
        self._group_expressions = _group_expressions(model)
        self._parallel_work = ParallelWork(model)
        self._span_by_pipeline = {
            name: time_of_pass(pipeline, model, books_labels=False)
            for name, pipeline in self._parallel_work.pipelines.items()
        }
        stage_times = [
            stage_time
            for stage_time_by_name in self.stages.values()
            for stage_time in stage_time_by_name.values()
        ]
        expressions_of_groups = [
            group_expression
            for cycle_time, processors, work_by_station in self._group_expressions.values()
            for group_expression in (cycle_time, processors, *work_by_station.values())
        ]
        further_expressions = [
            model.population.size,
            *stage_times,
            *self._work_by_resource.values(),
            *expressions_of_groups,
            *self._span_by_pipeline.values(),
        ]
        self.tape = Tape([self.time, self.account, *further_expressions])
        self.parameters = tuple(self.tape.parameters)
        # Sweeps of the time alone evaluate nothing else.
        self._time_tape = Tape([self.time])
        self._saturation = Saturation(model)
        self._computed_counts = ComputedCounts(model, CLOSED_FORM)
        self._deadlocks = Deadlocks(model)
        self._single_processor = (
            SingleProcessorValues(model.single, ClosedForm(model.single.model))
            if model.single
            else None
        )

    def times(self, values: Values) -> Array:
        """Return the time alone, without the test at which points it is exact [s, points]."""
        return self._time_alone(self.values_for_solution(values))

    def _time_alone(self, values: Values) -> Array:
        """Compute the time at all points, NaN where it has no answer [s]."""
        self.tape.check_names(values)
        time_column = _nan_where_negative(
            self._time_tape.run(selected_values(values, self._time_tape.parameters))[0]
        )
        point_counts = [np.size(value) for value in values.values() if np.size(value) != 1]
        time = (
            np.full(point_counts[0], time_column)
            if point_counts and len(time_column) == 1
            else time_column
        )
        return without_values_at(time, self._reason_by_point(values))

    def _reason_by_point(self, values: Values) -> dict[int, str]:
        """Return, by the index of the point, the reason why the point has no answer."""
        return {
            **self._saturation.reasons_by_point(values),
            **self._computed_counts.reasons_by_point(values),
        }

    def brief(self, values: Values) -> Solution:
        """Return the time alone, which is fast enough for large sweeps; NaN where it comes out
        negative [s, points].
        """
        time = self._time_alone(values)
        return Solution(
            model=self.model.name,
            method=CLOSED_FORM,
            count=len(time),
            exact=self.exact(values),
            values={self.quantity: time},
        )

    def slopes(
        self, values: Values, parameter_names: Sequence[str], wanted_column_names: Sequence[str]
    ) -> dict[str, tuple[Array, dict[str, Array]]]:
        """Return values with their derivatives: the time is differentiated by its tape, other
        values by differences; see `CompiledModel`.
        """
        if list(wanted_column_names) != [self.quantity]:
            return super().slopes(values, parameter_names, wanted_column_names)
        known_values = selected_values(values, self._time_tape.parameters)
        time, slope_by_parameter = self._time_tape.slopes(known_values, parameter_names)
        time = without_values_at(_nan_where_negative(time), self._reason_by_point(values))
        return {self.quantity: (time, slope_by_parameter)}

    def takes(self, values: Values) -> Flags:
        return self.exact(values)

    def exact(self, values: Values) -> Flags:
        """Return, as a mask, the points at which the closed form neglects nothing; one flag if it
        is the same at all points.
        """
        return self._contention.neglects_nothing(values)

    def solution(self, values: Values) -> Solution:
        """Evaluate time, account and derivatives at many points."""
        time_slopes = self.tape.differentiate(values, 0)
        # The account is a second expression only where processors differ, as in phases.
        account_slopes = (
            time_slopes if self.account is self.time else self.tape.differentiate(values, 1)
        )
        columns = self._further_columns(values)
        population = columns.population
        neglected_effects = self._contention.neglected_effects(values)
        is_exact = neglected_effects.neglects_nothing()
        time = _nan_where_negative(time_slopes.value)
        reason_by_point = self._reason_by_point(values)
        deadlock_notes = self._deadlocks.reasons_by_point(values)
        time = without_values_at(time, reason_by_point)
        single_values = (
            self._single_processor.values(values, time_slopes.value, population)
            if self._single_processor
            else {}
        )
        return activity_solution(
            self.model,
            CLOSED_FORM,
            time,
            population,
            account_slopes.contribution_by_label,
            exact=is_exact,
            time_and_size_by_group={
                group_name: (group_time, members)
                for group_name, (group_time, members, _) in columns.columns_by_group.items()
            },
            think_times=think_times(self.model, values),
            single_values={
                name: np.where(is_exact, column, np.nan) for name, column in single_values.items()
            },
            uses_by_resource=self._use_of_stations(columns, time, is_exact),
            parallel_values=lambda account: self._parallel_work.columns(
                values, time, population, account, columns.time_by_pipeline
            ),
            class_of_other_labels="memory",
            once=time_slopes.value_by_label,
            stages=columns.stage_times_by_pipeline,
            remarks=lambda index: (
                Remarks(failed=reason_by_point[index])
                if index in reason_by_point
                else self._remarks(
                    entry_at(time_slopes.value, index),
                    entry_at(population, index),
                    (*neglected_effects.notes(index), *deadlock_notes.get(index, ())),
                )
            ),
            gradient=lambda index: _gradient(self.quantity, time_slopes, self.tape, index),
        )

    def _further_columns(self, values: Values) -> _FurtherColumns:
        """Evaluate the expressions that were compiled after the time and the account."""
        # In the order in which the numbers were compiled.
        columns = iter(self.tape.run(values)[2:])
        return _FurtherColumns(
            population=next(columns),
            stage_times_by_pipeline={
                pipeline_name: {stage_name: next(columns) for stage_name in stage_names}
                for pipeline_name, stage_names in self.stages.items()
            },
            work_by_resource={
                resource_name: next(columns) for resource_name in self._work_by_resource
            },
            columns_by_group={
                group_name: (
                    next(columns),
                    next(columns),
                    {station: next(columns) for station in station_names},
                )
                for group_name, (_, _, station_names) in self._group_expressions.items()
            },
            time_by_pipeline={
                pipeline_name: next(columns) for pipeline_name in self._span_by_pipeline
            },
        )

    def _use_of_stations(
        self, columns: _FurtherColumns, time: Array, is_exact: Flags
    ) -> dict[str, tuple[Array, Array, Array]]:
        """Return utilization, number present and wait of each station, by the utilization law."""
        # A cycle of no time has no rate: its columns are NaN and left out.
        with np.errstate(all="ignore"):
            # Of customers that arrive the size of the population is their rate already.
            cycle_rate = columns.population / (1.0 if self.model.population.open else time)
            # For each group its rate of cycles times the service that a cycle asks for.
            busy_by_resource = {
                resource_name: cycle_rate * work_time
                + _servers_busy_for_other_groups(resource_name, columns.columns_by_group)
                for resource_name, work_time in columns.work_by_resource.items()
            }
        return {
            resource_name: _use_without_waiting(
                busy_servers, self.model.resources[resource_name].capacity, is_exact
            )
            for resource_name, busy_servers in busy_by_resource.items()
        }

    def _remarks(self, time: float, population: float, notes: tuple[str, ...]) -> Remarks:
        """Return the remarks on one point: why it has no answer, or what its time leaves out."""
        has_groups = bool(self.model.population.groups)
        if has_groups and population < 1:
            return Remarks(
                failed=(
                    f"the population of {self.model.name} comes out as {population:g} processors;"
                    " one or more work"
                )
            )
        if has_groups and population != math.floor(population):
            notes = (
                (
                    f"{population:g} processors are no whole number; each formula takes them as"
                    " they are"
                ),
                *notes,
            )
        if not (math.isfinite(time) and time >= 0):
            cause = (
                "a time cannot be negative"
                if time < 0
                else "a value is too large, or a divisor is 0"
            )
            return Remarks(failed=f"the time of {self.model.name} comes out as {time!r} s: {cause}")
        return Remarks(notes=notes)


def _gradient(quantity: str, derivatives: Derivatives, tape: Tape, point_index: int) -> Gradient:
    """Return the derivatives of a quantity at one point, with the values of the parameters at this
    point.
    """
    slope_by_parameter, input_values = (
        {name: entry_at(column, point_index) for name, column in column_by_name.items()}
        for column_by_name in (derivatives.derivative_by_parameter, derivatives.input_by_name)
    )
    return Gradient({quantity: slope_by_parameter}, input_values, tape.parameters)


def _nan_where_negative(time: Array) -> Array:
    """Replace negative times by NaN."""
    return time if np.min(time, initial=0.0) >= 0 else np.where(time >= 0, time, np.nan)


def _servers_busy_for_other_groups(
    resource_name: str, columns_by_group: Mapping[str, tuple[Array, Array, Mapping[str, Array]]]
) -> Array:
    """Return the mean number of servers of a resource that are busy for the groups after the
    first.
    """
    busy_servers = np.zeros(1)
    for cycle_time, group_size, work_by_resource in list(columns_by_group.values())[1:]:
        # A group with nothing to do takes no time and asks for nothing.
        busy_servers = busy_servers + np.where(
            work_by_resource[resource_name] > 0,
            group_size * work_by_resource[resource_name] / cycle_time,
            0.0,
        )
    return busy_servers


def _use_without_waiting(
    busy_servers: Array, server_count: int, is_exact: Flags
) -> tuple[Array, Array, Array]:
    """Return utilization, number present and wait of a station at which no request ever waits."""
    zero_or_nan = np.where(is_exact, np.zeros(len(busy_servers)), np.nan)
    return busy_servers / server_count + zero_or_nan, busy_servers + zero_or_nan, zero_or_nan


def whole_time(model: Model) -> Expr:
    """Return the time of a cycle, or of all phases or supersteps together [s]."""
    times_by_node: dict[int, Expr] = {}
    return model.population.time(lambda body: time_of_pass(body, model, time_by_node=times_by_node))


def _account_expression(model: Model) -> Expr:
    """Return the time of a cycle or program with each part booked to its label, as the mean over
    all processors; those outside a phase are idle [s].
    """
    if isinstance(model.population, SuperstepPopulation):
        return _superstep_account(model.population, model)
    if not isinstance(model.population, PhasedPopulation):
        return whole_time(model)
    processors = model.population.size
    part_times: list[Expr] = []
    for phase in model.population.phases:
        busy_fraction = phase.processors / processors
        part_times.append(phase.repeat * (busy_fraction * time_of_pass(phase.cycle, model)))
        if phase.processors != processors:
            # The same time again, its steps unlabelled, so that idle processors book nothing else.
            part_times.append(
                Booked(
                    IDLE_PROCESSORS,
                    phase.repeat
                    * ((1 - busy_fraction) * time_of_pass(phase.cycle, model, books_labels=False)),
                )
            )
    return total(part_times, TIME)


def _superstep_account(population: SuperstepPopulation, model: Model) -> Expr:
    """Return the time of supersteps with each part booked to its label, as the mean over all
    processors; a processor is idle until the slowest has ended [s].
    """
    booked_times: dict[int, Expr] = {}
    unbooked_times: dict[int, Expr] = {}
    superstep_times: list[Expr] = []
    for superstep in population.supersteps:
        line_times = [time_of_pass(body, model, False, unbooked_times) for body in superstep.bodies]
        # The superstep lasts as long as its longest line; the other lines are idle for the rest.
        longest_time = maximum(*line_times)
        booked_line_times = (
            time_of_pass(body, model, True, booked_times) for body in superstep.bodies
        )
        idle_times = (Booked(IDLE_PROCESSORS, longest_time - line_time) for line_time in line_times)
        mean_time = total([*booked_line_times, *idle_times], TIME) / len(line_times)
        superstep_times.append(
            superstep.repeat * (mean_time + time_of_pass(superstep.barrier, model))
        )
    return total(superstep_times, TIME)


def _demand_by_station(cycle: Activity, model: Model) -> dict[str, Expr]:
    """Return the service demand of one pass through a cycle at each station [s]."""
    resources_used = dict.fromkeys(
        step.resource for step in model.steps if step.resource in model.resources
    )
    work_by_resource = demands(cycle, model)
    return {
        name: work_by_resource.get(name, zero(TIME)) for name in resources_used if name is not None
    }


def _group_expressions(model: Model) -> dict[str, tuple[Expr, Expr, dict[str, Expr]]]:
    """Return, for each group, the time of its cycle, its size, and the service demand of a cycle at
    each station.
    """
    return {
        group.name: (
            time_of_pass(group.cycle, model, books_labels=False),
            group.processors,
            _demand_by_station(group.cycle, model),
        )
        for group in model.population.groups
        if group.name
    }


def _stage_time_expressions(model: Model) -> dict[str, dict[str, Expr]]:
    """Return the time of one item at each serial stage of each pipeline [s]; empty for supersteps,
    which may have very many pipelines.
    """
    if isinstance(model.population, SuperstepPopulation):
        return {}
    times_by_pipeline = {}
    for pipeline in pipelines_of(model.bodies):
        serial_stages = [stage for stage in pipeline.stages if stage.kind == "serial"]
        # Items that differ have no common time at a stage.
        if pipeline.identical and serial_stages:
            times_by_pipeline[pipeline.name] = {
                stage.name: time_of_pass(stage.bodies[0], model, books_labels=False)
                for stage in serial_stages
            }
    return times_by_pipeline


SEARCH_FACTOR = 1e4
"""A takeover is looked for from 1/SEARCH_FACTOR to SEARCH_FACTOR times the parameter's value."""

# A geometric grid, divided again GRID_ROUNDS times: 160^7 steps over the range of SEARCH_FACTOR,
# 3e-15 of the value each.
GRID_SIZE = 161
GRID_ROUNDS = 7


def with_takeovers(
    form: ClosedForm, limits: tuple[Limit, ...], values: Mapping[str, float]
) -> tuple[Limit, ...]:
    """Add takeovers to the limit of each pipeline: the values of each parameter nearest to its
    present value, below and above, at which another stage becomes the slowest.

    The stages are evaluated on a geometric grid from each parameter's value on, and the step on
    which the binding stage first changes is divided again and again. A parameter of value 0 has no
    grid and is passed over.

    Parameters
    ----------
    form : the compiled model
    limits : as the answer gives them
    values : parameters that differ from the model's own, in base units
    """
    return tuple(
        replace(limit, takeovers=_takeovers_of_pipeline(form, limit, values)) for limit in limits
    )


def _takeovers_of_pipeline(
    form: ClosedForm, pipeline_limit: Limit, parameter_values: Mapping[str, float]
) -> tuple[Takeover, ...]:
    """Return the nearest values of each parameter at which another stage of one pipeline becomes
    the slowest, the smallest change first.
    """
    time_by_stage = form.stages[pipeline_limit.pipeline]
    tape = Tape(list(time_by_stage.values()))
    own_values = {
        name: parameter_value
        for name, parameter_value in parameter_values.items()
        if name in tape.parameters
    }
    takeovers = []
    for parameter in parameters(*time_by_stage.values()):
        parameter_value = own_values.get(parameter.name, parameter.value)
        if parameter_value:
            takeovers += _nearest_takeovers(
                tape, list(time_by_stage), parameter, float(parameter_value), own_values
            )
    # Equal changes stay in the order of the formula; they differ in the last digits only.
    return tuple(
        sorted(
            takeovers, key=lambda takeover: round(abs(math.log(takeover.value / takeover.now)), 6)
        )
    )


def _nearest_takeovers(
    tape: Tape,
    stage_names: list[str],
    parameter: Parameter,
    parameter_value: float,
    own_values: Mapping[str, float],
) -> list[Takeover]:
    """Find the values of a parameter nearest to its present value, below and above, at which
    another stage of a pipeline becomes the slowest.
    """

    def times_at(parameter_values: Array) -> Array:
        """Return the time of each stage at some values of the parameter [s] [stages, values]."""
        columns = tape.run({**own_values, parameter.name: parameter_values})
        return np.stack([np.broadcast_to(column, parameter_values.shape) for column in columns])

    takeovers = []
    for range_factor in (1 / SEARCH_FACTOR, SEARCH_FACTOR):
        value_and_stage = (
            _nearest_change(times_at, parameter_value, parameter_value * range_factor)
            if 0 < parameter_value * range_factor < np.inf
            else None
        )
        if value_and_stage is not None:
            changed_value, stage_index = value_and_stage
            takeovers.append(
                Takeover(
                    parameter.name,
                    parameter_value,
                    changed_value,
                    str(parameter.dimension),
                    stage_names[stage_index],
                )
            )
    return takeovers


def _nearest_change(
    times_at: Callable[[Array], Array], near_value: float, far_value: float
) -> tuple[float, int] | None:
    """Find the nearest value, between two, at which the binding stage first changes; return it with
    the number of the stage that binds then, or None if the stage never changes.

    Each round divides the step on which it changes into as many steps again, so a third stage that
    binds in between is found as well.
    """
    binding_stage = 0
    for _ in range(GRID_ROUNDS):
        grid = np.geomspace(near_value, far_value, GRID_SIZE)
        times_by_stage = times_at(grid)
        binding_by_value = np.argmax(times_by_stage, axis=0)
        indexes_of_change = np.flatnonzero(binding_by_value != binding_by_value[0])
        if not indexes_of_change.size or not np.isfinite(times_by_stage).all():
            return None
        change_index = int(indexes_of_change[0])
        near_value = float(grid[change_index - 1])
        far_value = float(grid[change_index])
        binding_stage = int(binding_by_value[change_index])
        # There is no double between the two, so that the change cannot be located more closely.
        if np.nextafter(near_value, far_value) == far_value:
            break
    times_before, times_after = times_at(np.array([near_value, far_value])).T
    # At a tie the other stage binds as soon as the value moves.
    is_tie = times_before[int(np.argmax(times_before))] == times_before[binding_stage]
    return (near_value if is_tie else far_value), int(np.argmax(times_after))


class CompiledLaw(CompiledModel):
    """A law compiled for many points.

    Parameters
    ----------
    law : the formula
    parameters : a parameter with a value for each symbol
    """

    def __init__(self, law: Law, parameters: Mapping[str, Parameter]) -> None:
        self.law = law
        self.quantity = law.gives.name
        self.tape = Tape([substitute(law.right_side, parameters)])
        self.parameters = tuple(self.tape.parameters)
        self.conditions = tuple(
            Comparison(
                substitute(condition.left, parameters),
                condition.relation,
                substitute(condition.right, parameters),
            )
            for condition in law.conditions
        )

    def brief(self, values: Values) -> Solution:
        """Evaluate the law without its derivatives."""
        law_values = self.tape.run(values)[0]
        return self._solution_of_values(law_values, self._is_valid(values, len(law_values)))

    def slopes(
        self, values: Values, parameter_names: Sequence[str], wanted_column_names: Sequence[str]
    ) -> dict[str, tuple[Array, dict[str, Array]]]:
        """Return the law's value with its derivatives, NaN where the law does not hold; see
        `CompiledModel`.
        """
        law_values, slope_by_parameter = self.tape.slopes(values, parameter_names)
        return {
            self.quantity: (
                np.where(self._is_valid(values, len(law_values)), law_values, np.nan),
                slope_by_parameter,
            )
        }

    def unit(self, column_name: str) -> str:
        return str(self.law.gives.dimension)

    def solution(self, values: Values) -> Solution:
        """Evaluate the law with its derivatives."""
        derivatives = self.tape.differentiate(values)
        is_valid = self._is_valid(values, len(derivatives.value))
        return replace(
            self._solution_of_values(derivatives.value, is_valid),
            gradient=lambda index: _gradient(self.quantity, derivatives, self.tape, index),
        )

    def _solution_of_values(self, law_values: Array, is_valid: Flags) -> Solution:
        """Build the solution from values; NaN where the law does not hold."""
        return Solution(
            model=f"law/{self.law.name}",
            method=CLOSED_FORM,
            count=len(law_values),
            exact=np.array([self.law.exact]),
            values={self.quantity: np.where(is_valid, law_values, np.nan)},
            remarks=lambda index: self._remarks(entry_at(law_values, index), bool(is_valid[index])),
            unit=self.unit,
        )

    def _remarks(self, value: float, is_valid: bool) -> Remarks:
        """Return the remarks on one point: why the law has no value there, or what it assumes."""
        if not is_valid:
            conditions_text = " and ".join(map(str, self.law.conditions))
            return Remarks(failed=f"law {self.law.name} holds for {conditions_text} only")
        if not math.isfinite(value):
            return Remarks(failed=f"law {self.law.name} comes out as {value!r}")
        return Remarks(notes=(self.law.note,) if self.law.note else ())

    def _is_valid(self, values: Values, point_count: int) -> Flags:
        """Return, as a mask, the points at which the conditions of the law hold."""
        is_valid = np.ones(point_count, dtype=bool)
        for condition in self.conditions:
            is_valid &= condition.holds(values)
        return is_valid
