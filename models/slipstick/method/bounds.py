"""Bounds of work and span on the time and the throughput of an activity, which hold for every
method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from slipstick.expression.nodes import TIME, Expr, maximum, minimum, select, total, zero
from slipstick.expression.tape import Tape, Values, selected_values
from slipstick.late import Array, np
from slipstick.method.answers import CompiledModel, Remarks, Solution
from slipstick.model.activity import Step, map_steps
from slipstick.model.steps import ASKED, NEVER, NOTHING, SERVED, Activity, is_parallel, steps
from slipstick.model.system import (
    PROCESSORS as UNNUMBERED_PROCESSORS,
)
from slipstick.model.system import (
    Model,
    PhasedPopulation,
    Station,
    TaskPool,
    is_processor,
)
from slipstick.structure.contention import ComputedCounts, Saturation, without_values_at
from slipstick.structure.deadlocks import Deadlocks
from slipstick.structure.times import time_of_pass
from slipstick.structure.work import demands, held_times
from slipstick.vocabulary import (
    ANY_SERVICE,
    BOUNDS,
    KNOWN,
    UNLIMITED,
    refuse_unknown,
)

PROCESSORS, SPAN = "processors", "span"
"""Bounds by the use of the processors themselves, and by one pass without contention."""

NOTE_ON_SPAN = "lower bound: one pass without contention"
NOTE_ON_BUSIEST_RESOURCE = (
    "no less than what the busiest resource takes for the work of all processors: {binding}"
)
NOTE_ON_UPPER_BOUND = (
    "upper bound: at each visit, every processor waits for all others; valid in product form"
)
NO_UPPER_BOUND_WITH_STREAMS = "no upper bound is known for models with streams of arrivals"
NO_UPPER_BOUND = (
    "no upper bound: it is valid in product form only, where the steps at an fcfs station have"
    " scv 1 and one mean"
)
NO_UPPER_BOUND_OF_OPEN_STREAM = "only a lower bound is known for the time of an open stream"


class CompiledBounds(CompiledModel):
    """Bounds that enclose the time and the throughput of a model, compiled for many points.

    For N processors that repeat a cycle of span T_0 and ask D_r seconds of resource r with c_r
    servers::

        max(T_0, max_r N D_r / c_r)  <=  T  <=  T_0 + (N - 1) sum_r D_r

    A lock is a resource of one server that is asked for as long as it is held; the processors
    themselves are N servers. At a station with rates D_r is divided by the highest of them on the
    left, and by the lowest on the right. Phases are bounded one by one. Of groups the time of the
    first is bounded: from below by its own work, from above by one pass that waits for all other
    processors everywhere.

    Parameters
    ----------
    model : the system

    Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978 (asymptotic bounds); Brent, J. ACM
    21(2), 1974 (work and span).

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> compiled = CompiledBounds(
    ...     closed_model(delay(9.0, name="think") >> service("bus", 1.0, scv=1.0), processors=20)
    ... )
    >>> compiled.points({"population.processors": np.array([5.0, 10.0, 20.0])}).columns()[
    ...     "low[time]"
    ... ]
    array([10., 10., 20.])
    """

    quantity = "low[time]"

    def __init__(self, model: Model) -> None:
        refuse_unknown(model.constructs, BOUNDS, KNOWN[BOUNDS])
        self.model = model
        # A station is never faster than its highest rate, nor slower than its lowest.
        self._lower_bounds = _lower_bounds(_at_constant_speed(model, maximum))
        self._upper_bound = _upper_bound(_at_constant_speed(model, minimum))
        upper_bounds = [self._upper_bound] if self._upper_bound is not None else []
        self._tape = Tape([model.population.size, *upper_bounds, *self._lower_bounds.values()])
        self.parameters = tuple(self._tape.parameters)
        self._saturation = Saturation(model)
        self._computed_counts = ComputedCounts(model, BOUNDS)
        self._deadlocks = Deadlocks(model)

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes of the lower bounds on the time: `SPAN`, and each resource that is used."""
        return tuple(self._lower_bounds)

    def terms(self, values: Values) -> tuple[Array, dict[str, Array], Array | None]:
        """Evaluate the population, the lower bounds on the time by cause, and the upper bound
        [points].
        """
        population, *bound_columns = self._tape.run(selected_values(values, self.parameters))
        point_count = max(map(len, (population, *bound_columns)))
        population, *bound_columns = (
            np.broadcast_to(column, (point_count,)) for column in (population, *bound_columns)
        )
        # The upper bound was compiled first, where there is one.
        upper_bound = bound_columns.pop(0) if self._upper_bound is not None else None
        return population, dict(zip(self._lower_bounds, bound_columns, strict=True)), upper_bound

    def solution(self, values: Values) -> Solution:
        """Evaluate the bounds at many points."""
        population, lower_bound_by_cause, upper_bound = self.terms(values)
        low_columns = {"time": np.max([*lower_bound_by_cause.values()], axis=0)}
        high_columns = {} if upper_bound is None else {"time": upper_bound}
        # The note names the cause that binds at the point; ties go to the first.
        binding_indexes = np.argmax([*lower_bound_by_cause.values()], axis=0)
        if not self.model.population.open:
            with np.errstate(all="ignore"):
                # The least time is that of the greatest throughput.
                throughput_bounds = {
                    bound_side: population / time_bounds["time"]
                    for bound_side, time_bounds in (("high", low_columns), ("low", high_columns))
                    if time_bounds
                }
            low_columns |= (
                {"throughput": throughput_bounds["low"]} if "low" in throughput_bounds else {}
            )
            high_columns |= {"throughput": throughput_bounds["high"]}
        reason_by_point = {
            **self._saturation.reasons_by_point(values),
            **self._computed_counts.reasons_by_point(values),
        }
        deadlock_notes = self._deadlocks.reasons_by_point(values)
        low_columns["time"] = without_values_at(low_columns["time"], reason_by_point)
        return Solution(
            model=self.model.name,
            method=BOUNDS,
            count=len(population),
            low={
                value_name: _nan_where_infinite(bound) for value_name, bound in low_columns.items()
            },
            high={
                value_name: _nan_where_infinite(bound) for value_name, bound in high_columns.items()
            },
            useful=self.model.useful,
            remarks=lambda index: (
                Remarks(failed=reason_by_point[index])
                if index in reason_by_point
                else self._remarks(
                    float(low_columns["time"][index]),
                    [*self._lower_bounds][binding_indexes[index]],
                    deadlock_notes.get(index, ()),
                )
            ),
        )

    def _remarks(
        self, least_time: float, binding_cause: str, deadlock_notes: tuple[str, ...]
    ) -> Remarks:
        if not math.isfinite(least_time):
            return Remarks(
                failed=f"the least time of {self.model.name} comes out as {least_time!r} s"
            )
        return Remarks(
            notes=(
                *_notes_on_bounds(self.model, binding_cause, self._upper_bound is not None),
                *deadlock_notes,
            )
        )


def _nan_where_infinite(column: Array) -> Array:
    return np.where(np.isfinite(column), column, np.nan)


def _notes_on_bounds(model: Model, binding_cause: str, has_upper_bound: bool) -> tuple[str, ...]:
    """Return notes on the cause of the lower bound on the time, and on the assumption of the upper
    bound or the reason why there is none.
    """
    notes = [
        NOTE_ON_SPAN
        if binding_cause == SPAN
        else NOTE_ON_BUSIEST_RESOURCE.format(binding=binding_cause)
    ]
    if model.population.open:
        return (*notes, NO_UPPER_BOUND_OF_OPEN_STREAM)
    no_bound_note = NO_UPPER_BOUND_WITH_STREAMS if model.population.streams else NO_UPPER_BOUND
    return (*notes, NOTE_ON_UPPER_BOUND if has_upper_bound else no_bound_note)


def _at_constant_speed(model: Model, choose_rate: Callable[..., Expr]) -> Model:
    """Return a model in which each station with rates always works at one rate, the highest or the
    lowest.
    """
    stations_with_rates = {
        station_name: resource
        for station_name, resource in model.resources.items()
        if isinstance(resource, Station) and resource.rates
    }
    if not stations_with_rates:
        return model
    speed_by_station = {
        station_name: maximum(choose_rate(*station.rates), NEVER)
        for station_name, station in stations_with_rates.items()
    }

    def step_at_speed(step: Step) -> Step:
        speed = speed_by_station.get(step.resource or "")
        return step if speed is None else replace(step, time=step.time / speed)

    mapped_nodes: dict[int, Activity] = {}
    bodies = [map_steps(body, step_at_speed, rebuilt_by_id=mapped_nodes) for body in model.bodies]
    constant_stations = {
        station_name: replace(station, rates=())
        for station_name, station in stations_with_rates.items()
    }
    return replace(
        model,
        population=model.population.rebuilt(bodies),
        resources={**model.resources, **constant_stations},
    )


def _lower_bounds(model: Model) -> dict[str, Expr]:
    """Return the lower bounds on the time, by cause."""
    population = model.population
    if population.groups and not population.open:
        first_group = population.groups[0]
        bound_by_cause = _lower_bounds_of_cycle(model, first_group.cycle, first_group.processors)
        # The cycle of one group does not say what the others ask of its processors.
        return {
            cause: bound
            for cause, bound in bound_by_cause.items()
            if cause != PROCESSORS or len(population.groups) == 1
        }
    if isinstance(population, PhasedPopulation):
        phase_bounds = [
            phase.repeat
            * maximum(*_lower_bounds_of_cycle(model, phase.cycle, phase.processors).values())
            for phase in population.phases
        ]
        return {SPAN: total(phase_bounds, TIME)}
    time_by_node: dict[int, Expr] = {}
    return {SPAN: population.time(lambda body: time_of_pass(body, model, False, time_by_node))}


def _lower_bounds_of_cycle(model: Model, cycle: Activity, processors: Expr) -> dict[str, Expr]:
    """Return the lower bounds on the time of a cycle, by cause: one pass without contention, and
    the work of all processors at each resource.
    """
    bound_by_cause = {SPAN: time_of_pass(cycle, model, books_labels=False)}
    nodes = list(steps(cycle))
    resources_used = dict.fromkeys(
        resource_name for node in nodes if node.use == SERVED for resource_name in node.uses
    )
    work_by_resource = demands(cycle, model)
    held_time_by_lock = held_times(cycle, model)
    for resource_name in resources_used:
        if not is_processor(resource_name):
            bound_by_cause[resource_name] = (
                processors
                * work_by_resource[resource_name]
                / model.resources[resource_name].capacity
            )
    for lock_name, held_time in held_time_by_lock.items():
        # All processors take their turns at a lock, so that a cycle takes at least the sum of the
        # times that they hold it.
        bound_by_cause[lock_name] = processors * held_time / model.resources[lock_name].capacity
    for pool_name in dict.fromkeys(
        resource_name for node in nodes if node.use == ASKED for resource_name in node.uses
    ):
        bound_by_cause[pool_name] = _time_in_monitor(model.pools[pool_name])
    processor_queues = [
        resource_name for resource_name in resources_used if resource_name in UNNUMBERED_PROCESSORS
    ]
    if not processor_queues:
        return bound_by_cause
    # What is asked of others falls on the members themselves, but of one alone on processors
    # outside.
    processor_work = total(
        (work_by_resource[resource_name] for resource_name in processor_queues), TIME
    )
    return {
        **bound_by_cause,
        PROCESSORS: select(processors, 1, work_by_resource.get("own", zero(TIME)), processor_work),
    }


def _time_in_monitor(pool: TaskPool) -> Expr:
    """Return a lower bound on how long the monitors of a pool are held, as the mean over its
    problems and queues [s].
    """
    problems = pool.problem_times()
    return (
        total((problem.inside for problem in problems), TIME) / len(problems) + pool.inside
    ) / pool.queues


def _upper_bound(model: Model) -> Expr | None:
    """Return the upper bound on the time; None where its conditions do not hold."""
    if model.population.streams or not (model.population.groups and _has_product_form(model)):
        return None
    first_cycle = model.bodies[0]
    work_by_resource = demands(first_cycle, model)
    # At infinite servers no customer waits for others, so that their work adds nothing.
    queued_resources = [
        resource_name
        for resource_name in model.resources
        if UNLIMITED not in model.resources[resource_name].constructs
    ]
    work_at_queues = total(
        (work_by_resource.get(resource_name, zero(TIME)) for resource_name in queued_resources),
        TIME,
    )
    return (
        time_of_pass(first_cycle, model, books_labels=False)
        + (total(model.population.processor_counts) - 1) * work_at_queues
    )


def _has_product_form(model: Model) -> bool:
    """Return whether a model has product form at every queue, and no nodes but steps, choices and
    repeats.
    """
    resources_used = [step.resource for step in model.steps]
    for node in (node for body in model.bodies for node in steps(body)):
        if is_parallel(node) or node.use not in (NOTHING, SERVED):
            return False
        if isinstance(node, Step) and node.resource is not None:
            discipline = model.service_discipline(node.resource)
            if discipline is None or node.scv != 1.0 or node.weight is not None:
                return False
            # Steps may differ in their means, which only shared servers and delays allow.
            if discipline.product_form != ANY_SERVICE and resources_used.count(node.resource) > 1:
                return False
    return True
