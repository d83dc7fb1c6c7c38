"""Contention: whether something may be waited for or random times are compared, so that the time of
one pass is not exact. Also points without an answer: a saturated resource, or a computed count or
probability out of its range.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce

from slipstick.errors import NoAnswerError, Saturated, WaitingLeftOut
from slipstick.expression.nodes import (
    TIME,
    Expr,
    Number,
    maximum,
    minimum,
    parameters,
    total,
    zero,
)
from slipstick.expression.tape import (
    Flags,
    Tape,
    Values,
    count_of_points,
    entry_at,
    selected_values,
)
from slipstick.late import Array, dataclass, np
from slipstick.model.activity import (
    WRITE,
    Step,
    pipelines_of,
)
from slipstick.model.steps import (
    ALWAYS,
    ASKED,
    GIVEN,
    GUARDED,
    HELD,
    MET,
    NEVER,
    NOTHING,
    SERVED,
    TAKEN,
    Activity,
    distinct_activities,
    list_parallel_nodes,
    no_rule_error,
    requested_resource,
    steps,
)
from slipstick.model.system import INFINITE, Model, SuperstepPopulation, is_processor
from slipstick.structure.work import (
    demands,
    held_times,
    maximum_of_distinct,
    most_requests_at_once,
    total_work,
)

MOST_NAMED = 3
"""The largest number of pipelines that a note names one by one."""

_RANDOM_NOTE = "ignores that parallel times vary, so waits for the slowest are too short"

_EARLY_NOTE = "takes a fork that goes on early as no time"

_TITLES = {
    "own": "the processors",
    "other": "the processors",
    "each-other": "the processors",
}
"""What a note calls the processors that serve each other."""

CountAndLimit = tuple[Expr, int]
"""A count, and the largest number at which nothing is neglected."""


@dataclass(frozen=True, slots=True)
class NeglectedEffects:
    """The effects that the time of one pass neglects, such as waiting, by point; an array
    of length 1 holds for all points.

    Parameters
    ----------
    flags_by_resource : by resource or lock, whether waiting is possible there
    flags_by_note : by the text of a note, whether it applies
    """

    flags_by_resource: Mapping[str, Flags]
    flags_by_note: Mapping[str, Flags]

    def notes(self, point_index: int) -> tuple[str, ...]:
        """Return notes on the effects neglected at one point; none if the answer is exact."""
        names_with_waiting = dict.fromkeys(
            _TITLES.get(resource_name, resource_name)
            for resource_name, flags in self.flags_by_resource.items()
            if entry_at(flags, point_index)
        )
        waiting_notes = (
            [
                WaitingLeftOut(
                    f"leaves out waiting for {', '.join(names_with_waiting)}",
                    resource_names=tuple(names_with_waiting),
                )
            ]
            if names_with_waiting
            else []
        )
        return (
            *waiting_notes,
            *(note for note, flags in self.flags_by_note.items() if entry_at(flags, point_index)),
        )

    def neglects_nothing(self) -> Flags:
        """Return, as a mask, the points at which a method without contention neglects nothing."""
        no_effect = np.zeros(1, dtype=bool)
        return ~reduce(
            np.logical_or,
            [*self.flags_by_resource.values(), *self.flags_by_note.values()],
            no_effect,
        )


class Contention:
    """The effects that the time of one pass neglects, waiting and the spread of random times,
    compiled for many points.

    An effect is present at the points where a count, such as the number of processors, of items or
    the fraction of a count, exceeds a limit.

    Parameters
    ----------
    model : the system

    Raises
    ------
    NoAnswerError : no rule says whether a kind of step waits
    """

    def __init__(self, model: Model) -> None:
        nodes = list(distinct_activities(model.bodies))
        processors_present = model.population.present
        self._counts_by_resource = _counts_at_queues(model, nodes)
        for node in nodes:
            self._counts_by_resource.update(_counts_at_waits(model, node, processors_present))
        self._counts_by_note = {
            **_counts_by_maximum_note(model, processors_present),
            **_counts_by_stage_note(model),
        }
        counts_and_limits = [*self._counts_by_resource.values(), *self._counts_by_note.values()]
        # The counts one by one are evaluated for notes only; `neglects_nothing` needs their maximum
        # alone.
        self._tape = Tape([count for count, _ in counts_and_limits])
        # One number for a point, so that a sweep keeps no array for each place where it may wait.
        excesses = [count - limit for count, limit in dict.fromkeys(counts_and_limits)]
        self._largest_excess = Tape([maximum(*excesses)]) if excesses else None

    def neglected_effects(self, values: Values) -> NeglectedEffects:
        """Return the effects that are neglected at many points."""
        count_columns = iter(self._tape.run(selected_values(values, self._tape.parameters)))
        flags_of_resources, flags_of_notes = (
            {
                resource_or_note: next(count_columns) > limit
                for resource_or_note, (_, limit) in counts_by_name.items()
            }
            for counts_by_name in (self._counts_by_resource, self._counts_by_note)
        )
        return NeglectedEffects(flags_of_resources, flags_of_notes)

    def neglects_nothing(self, values: Values) -> Flags:
        """Return, as a mask, the points at which a method without contention neglects nothing."""
        if self._largest_excess is None:
            return np.ones(1, dtype=bool)
        return ~(
            self._largest_excess.run(selected_values(values, self._largest_excess.parameters))[0]
            > 0
        )


def _counts_at_queues(model: Model, nodes: Sequence[Activity]) -> dict[str, CountAndLimit]:
    """Return, for each resource that steps use or hold, the most requests at one moment and the
    number of them that need not wait.
    """
    written_resources = {
        resource_name for node in nodes if node.mode == WRITE for resource_name in node.held
    }
    served_resources = [step.resource for step in model.steps if step.resource is not None]
    resource_names = dict.fromkeys(
        [*served_resources, *(resource_name for node in nodes for resource_name in node.held)]
    )
    requests_by_resource = _requests_at_once(model, list(resource_names))
    return {
        resource_name: (
            request_count,
            1
            if is_processor(resource_name) or resource_name in written_resources
            else model.resources[resource_name].capacity,
        )
        for resource_name, request_count in requests_by_resource.items()
        if is_processor(resource_name) or model.resources[resource_name].capacity < INFINITE
    }


def _counts_at_waits(
    model: Model, node: Activity, processors_present: Expr
) -> dict[str, CountAndLimit]:
    """Return counts, each with the limit above which a step may wait, by the name of what it waits
    for: a unit, tasks or a barrier. Waits for a server or a free place are not included.
    """
    if node.use in (NOTHING, SERVED, HELD, GIVEN, GUARDED):
        return {}
    # Whether a unit is there when it is asked for depends on the other processors, so that a wait
    # is always possible.
    if node.use == TAKEN:
        return {node.counter: (Number(1.0), 0)}
    # From the second processor on, processors may wait for the monitor of a queue, and at the end
    # for the last task.
    if node.use == ASKED:
        return {f"tasks of {resource_name}": (processors_present, 1) for resource_name in node.uses}
    if node.use == MET:
        return {
            resource_name: _count_at_barrier(model, resource_name, node.parties, processors_present)
            for resource_name in node.uses
        }
    raise no_rule_error("waiting", node)


def _count_at_barrier(
    model: Model, barrier_name: str, parties: int | None, processors_present: Expr
) -> CountAndLimit:
    """Return how many processors or groups can wait for each other at a barrier although their
    times are constant, and how many of them meet without a wait.
    """
    # Members of the population beyond the parties of one meeting have to wait for the next meeting.
    if parties is not None:
        return processors_present, parties
    # The members of one group have the same cycle and, if its times are constant, come together. So
    # a group counts as one, and the second group with members makes a wait possible.
    groups_meeting = [
        minimum(group.processors, 1)
        for group in model.population.groups
        if any(node.use == MET and barrier_name in node.uses for node in steps(group.cycle))
    ]
    return total(groups_meeting), 1


def _counts_by_maximum_note(model: Model, processors_present: Expr) -> dict[str, CountAndLimit]:
    """Return the notes on what a mean value neglects, each with a number and the limit above which
    the note applies: the longest of random times of parallel branches or of processors that meet,
    and forks that go on before all branches end.
    """
    parallel_nodes = [
        node for node in list_parallel_nodes(model.bodies) if not node.unawaited_children
    ]
    compared_bodies = [
        body
        for body in model.bodies
        if model.population.finite or any(node.use == MET for node in steps(body))
    ]
    # A single processor never waits for another one, so that its variation makes no maximum random.
    further_members = maximum(processors_present - 1, NEVER)
    variations = total(
        [
            variation(parallel_nodes),
            variation(compared_bodies) * further_members,
            model.population.variation,
        ]
    )
    has_early_fork = any(node.unawaited_children for node in list_parallel_nodes(model.bodies))
    counts_by_note: dict[str, CountAndLimit] = (
        {_EARLY_NOTE: (Number(1.0), 0)} if has_early_fork else {}
    )
    return (
        counts_by_note if variations == NEVER else {**counts_by_note, _RANDOM_NOTE: (variations, 0)}
    )


def variation(activities: Iterable[Activity]) -> Expr:
    """Return a number that is above 0 if a time or a count in some of the activities varies [1]."""
    return total(dict.fromkeys(node.variation for node in distinct_activities(activities)))


class Variation:
    """The variation of times in a model, compiled to tell at many points whether product form may
    hold.

    Product form needs a time that is random: where all are constant, processors that start in step
    stay in step, and the mean over all states does not describe them. Two processors that work 1 s
    and then share another for 1 s each take 3 s if they start together; product form says 2.5 s.
    Random choices and counts between constant times do not suffice: two who share a station for 1
    s, and then one of two others for 1 s, take 3.5 s, and 2.75 s by product form. Of several groups
    each must have a random time: else the members of one of them may stay in step. Streams arrive
    at random.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    may_be_random : whether every group has a random time, at some values

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> [
    ...     Variation(closed_model(delay(1.0, scv=scv) >> service("cpu", 1.0), 2)).may_be_random
    ...     for scv in (0, 1)
    ... ]
    [False, True]
    """

    def __init__(self, model: Model) -> None:
        groups = model.population.groups if len(model.population.groups) > 1 else ()
        bodies_of_groups: list[tuple[Activity, ...]] = [(group.cycle,) for group in groups]
        random_times = [
            ALWAYS if model.population.open else _mean_random_time(bodies)
            for bodies in bodies_of_groups or [model.bodies]
        ]
        self.may_be_random = zero(TIME) not in random_times
        self._time_count = len(random_times)
        self._tape = Tape(
            [
                *random_times,
                *(
                    group.processors if group.arrivals is None else group.arrivals
                    for group in groups
                ),
            ]
        )

    def is_random(self, values: Values) -> Flags:
        """Return, as a mask, the points at which every group has a random time."""
        columns = np.broadcast_arrays(
            *self._tape.run(selected_values(values, self._tape.parameters))
        )
        random_times = np.stack(columns[: self._time_count])
        group_sizes = columns[self._time_count :]
        # A group without processors takes no part, so that its constant times do not count.
        is_empty = np.stack(group_sizes) == 0 if group_sizes else False
        is_random_by_point: Flags = np.atleast_1d(((random_times > 0) | is_empty).all(axis=0))
        return is_random_by_point


def _mean_random_time(activities: Iterable[Activity]) -> Expr:
    """Return the mean time of the steps in some activities whose times vary [s]."""

    def random_time_of_node(node: Activity) -> dict[str, Expr]:
        return {"": node.time} if isinstance(node, Step) and node.scv > 0 else {}

    return total(
        [
            total_work(activity, random_time_of_node, with_least_executions=True).get(
                "", zero(TIME)
            )
            for activity in activities
        ],
        TIME,
    )


def _counts_by_stage_note(model: Model) -> dict[str, CountAndLimit]:
    """Return a note for each set of resources that several stages of one pipeline share, with the
    number of items and the limit above which it applies. Many pipelines with the same set have one
    note.
    """
    pipelines_by_shared_resources: dict[tuple[str, ...], dict[str, Expr]] = {}
    for pipeline in pipelines_of(model.bodies):
        resources_of_stages = [_served_resource_names(stage.bodies) for stage in pipeline.stages]
        shared_resources = tuple(
            resource_name
            for resource_name in sorted(set().union(*resources_of_stages))
            if sum(resource_name in stage_resources for stage_resources in resources_of_stages) > 1
        )
        if shared_resources:
            pipelines_by_shared_resources.setdefault(shared_resources, {})[pipeline.name] = (
                pipeline.items
            )
    counts_by_note: dict[str, CountAndLimit] = {}
    for shared_resources, items_by_pipeline in pipelines_by_shared_resources.items():
        shared_use = (
            "as separate servers, although several use"
            f" {', '.join(_TITLES.get(name, name) for name in shared_resources)}"
        )
        # One note for all, so that a program of hundreds of pipelines stays readable.
        if len(items_by_pipeline) > MOST_NAMED:
            note = f"takes the stages of {len(items_by_pipeline)} pipelines {shared_use}"
            counts_by_note[note] = (maximum(*items_by_pipeline.values()), 1)
        else:
            counts_by_note |= {
                f"takes the stages of {pipeline_name} {shared_use}": (item_count, 1)
                for pipeline_name, item_count in items_by_pipeline.items()
            }
    return counts_by_note


def _served_resource_names(bodies: Iterable[Activity]) -> set[str]:
    """Return the names of the resources at which steps of some activities are served."""
    resource_names = (
        resource_name
        for node in distinct_activities(bodies)
        if node.use == SERVED
        for resource_name in node.uses
    )
    # Each request to another processor goes to a different one, so that stages do not share it.
    return {resource_name for resource_name in resource_names if resource_name != "each-other"}


def _requests_at_once(model: Model, resource_names: Sequence[str]) -> dict[str, Expr]:
    """Return an upper bound on the requests at each resource at one moment [1]."""
    processors_present = model.population.present
    if isinstance(model.population, SuperstepPopulation):
        return dict.fromkeys(resource_names, processors_present)
    counts_by_node: dict[int, dict[str, Expr]] = {}
    requests_by_resource_of_bodies = [
        most_requests_at_once(body, requested_resource, counts_by_node) for body in model.bodies
    ]
    group_sizes = [
        group.processors if group.arrivals is None else processors_present
        for group in model.population.groups
    ]

    def request_count_at(resource_name: str) -> Expr:
        """Return an upper bound on the requests at one resource at one moment [1]."""
        request_counts = [
            requests.get(resource_name, Number(0.0)) for requests in requests_by_resource_of_bodies
        ]
        if resource_name == "each-other":
            # Each item or branch asks another processor, but so may every other asker.
            return processors_present
        if group_sizes and not is_processor(resource_name):
            return total(
                requests * group_size
                for requests, group_size in zip(request_counts, group_sizes, strict=True)
            )
        # Beside its own requests a processor serves those that others send to it, one of each.
        if resource_name == "own":
            further_processors = (
                processors_present - 1 if {"other", "each-other"} & set(resource_names) else 0.0
            )
            return maximum_of_distinct(request_counts) + further_processors
        # An upper bound: all processors may be in the body with the most requests at the same time.
        return maximum_of_distinct(request_counts) * processors_present

    return {resource_name: request_count_at(resource_name) for resource_name in resource_names}


class Saturation:
    """The loads of resources by streams of arrivals, compiled together; none for a model without
    streams.

    A station is busy for the service that is asked of it. A lock or a number of permits is held for
    what is done while it is held, waits at other resources left out, so a model that is not
    saturated here may be saturated all the same. So may one whose streams have parts whose number
    of executions depends on the state of the system: these parts are left out.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import open_model
    >>> Saturation(open_model(hold("door", delay(0.2, name="a")), 6.0)).reasons_by_point({})[0][:47]
    'lock door is saturated: 6/s arrive, fewer than '
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._streams = model.population.streams
        if model.absences:
            groups = model.customer_groups
            self._streams = tuple(
                (group.rate, group.cycle) for group in groups if group.rate is not None
            )
        self._resource_names = [
            resource_name
            for resource_name, resource in model.resources.items()
            if self._streams and resource.use in (SERVED, HELD)
        ]
        away_server_counts = [
            total(
                absence.servers
                for absence in model.absences.values()
                if absence.station == resource_name
            )
            for resource_name in self._resource_names
        ]
        tape_exprs = [
            model.resources[resource_name].full_speed - away_server_count
            for resource_name, away_server_count in zip(
                self._resource_names, away_server_counts, strict=True
            )
        ]
        for rate, cycle in self._streams:
            try:
                work_by_name = demands(cycle, model) | held_times(cycle, model)
            except NoAnswerError:  # what is asked depends on the state: only the rest is sure
                work_by_name = demands(cycle, model, with_least_executions=True) | held_times(
                    cycle, model, with_least_executions=True
                )
            tape_exprs += [
                rate,
                *(
                    work_by_name.get(resource_name, zero(TIME))
                    for resource_name in self._resource_names
                ),
            ]
        self._tape = Tape(tape_exprs)

    def reasons_by_point(self, values: Values) -> dict[int, str]:
        """Return, by the index of the point, a sentence on the first saturated resource."""
        if not self._resource_names:
            return {}
        evaluated_columns = iter(self._tape.run(selected_values(values, self._tape.parameters)))
        point_shape = (count_of_points(values),)
        resource_count = len(self._resource_names)
        resource_speeds = [next(evaluated_columns) for _ in self._resource_names]
        columns_of_streams = [
            [
                np.broadcast_to(next(evaluated_columns), point_shape)
                for _ in range(1 + resource_count)
            ]
            for _ in self._streams
        ]
        reason_by_point: dict[int, str] = {}
        for resource_number, resource_name in enumerate(self._resource_names, 1):
            # A stream without work at the resource counts neither in its load nor in its rate.
            rates_and_demands = [
                (arrival_rate, stream_demands[resource_number - 1])
                for arrival_rate, *stream_demands in columns_of_streams
                if np.any(stream_demands[resource_number - 1])
            ]
            load_by_point = sum(
                (arrival_rate * demand for arrival_rate, demand in rates_and_demands),
                np.zeros(point_shape),
            )
            rate_by_point = sum(
                (arrival_rate for arrival_rate, _ in rates_and_demands), np.zeros(point_shape)
            )
            # A load of exactly 1 has no steady state either: the queue is a random walk without
            # drift.
            load_by_point = load_by_point / resource_speeds[resource_number - 1]
            for point_index in np.flatnonzero(load_by_point >= 1):
                reason = saturated_text(
                    self._model,
                    resource_name,
                    float(rate_by_point[point_index]),
                    float(load_by_point[point_index]),
                )
                reason_by_point.setdefault(int(point_index), reason)
        return reason_by_point


class ComputedCounts:
    """The computed counts and probabilities of a model, compiled together to find the points where
    one is out of its range. Times are left out: the difference of two equal times may come out
    slightly below 0.

    Parameters
    ----------
    model : the system
    method : what messages call the method

    >>> from slipstick.expression.nodes import Parameter
    >>> from slipstick.model.activity import delay, repeat
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="a") >> repeat(1 - Parameter("near"), delay(1.0, name="b"))
    >>> ComputedCounts(closed_model(cycle, 1), "closed-form").reasons_by_point(
    ...     {"near": np.array([0.0, 2.0])}
    ... )
    {1: 'the count of a repeat comes out as -1, which closed-form cannot take'}
    """

    def __init__(self, model: Model, method: str) -> None:
        population = model.population
        node_ranges = (
            value_range for node in distinct_activities(model.bodies) for value_range in node.ranges
        )
        own_ranges = (
            value_range
            for value_range in population.ranges
            if value_range.quantity not in population.processor_counts
        )
        self._method = method
        self._ranges = [
            value_range
            for value_range in (*own_ranges, *node_ranges)
            if not value_range.quantity.dimension.time_power and parameters(value_range.quantity)
        ]
        self._tape = Tape([value_range.quantity for value_range in self._ranges])

    def reasons_by_point(self, values: Values) -> dict[int, str]:
        """Return, by the index of the point, a sentence on the first number out of its
        range.
        """
        if not self._ranges:
            return {}
        point_shape = (count_of_points(values),)
        reason_by_point: dict[int, str] = {}
        columns = self._tape.run(selected_values(values, self._tape.parameters))
        for value_range, column in zip(self._ranges, columns, strict=True):
            is_out_of_range = (column < -_ROUNDING) | (column > value_range.most * (1 + _ROUNDING))
            for point_index in np.flatnonzero(
                np.broadcast_to(is_out_of_range, point_shape)
            ).tolist():
                computed_value = float(np.broadcast_to(column, point_shape)[point_index])
                reason = (
                    f"{value_range.name_in_words} comes out as {computed_value:g}, which"
                    f" {self._method}"
                    " cannot take"
                )
                reason_by_point.setdefault(point_index, reason)
        return reason_by_point


_ROUNDING = 1e-9
"""The largest difference from its range that a computed count or probability may have by rounding
[1].
"""


def without_values_at(column: Array, point_indexes: Collection[int]) -> Array:
    """Return a copy of a column that is NaN at some points."""
    if not point_indexes:
        return column
    is_left_out = np.isin(np.arange(len(column)), list(point_indexes))
    return np.where(is_left_out, np.nan, column)


def saturated_text(model: Model, resource_name: str, arrival_rate: float, load: float) -> str:
    """Return a sentence on the saturation of one resource.

    Parameters
    ----------
    model, resource_name : the resource
    arrival_rate : arrival rate of the customers that use it [1/s]
    load : time that is asked of the resource, divided by the time that it has [1]
    """
    resource_noun = model.resources[resource_name].noun.split()[-1]
    return Saturated.with_advice(
        f"{resource_noun} {resource_name} is saturated: {arrival_rate:g}/s arrive, fewer than"
        f" {arrival_rate / load:.4g}/s can be served (load {load:.3g}, the limit is 1)",
        "lower the arrivals, or shorten what is asked of it",
        resource_name=resource_name,
    )
