"""The names and units of the values of answers, derived from a model without solving it.

What a study asks for is checked against these names, and `slipstick.method.answers` gives its
columns by the same labels and units. A value of that name may still be absent at a point: where
there is no answer, or where it has no meaning.

Why this shape: no numerical library is imported, for checking a file must be quick.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from slipstick.answer import (
    HIGH,
    LOW,
    OVERHEAD,
    REDUCTION,
    hint_of_group_names,
    labelled_name,
    unit_of,
)
from slipstick.expression.nodes import TIME, Parameter, zero
from slipstick.late import late_pattern
from slipstick.law import Law
from slipstick.model.activity import (
    Attempt,
    pipelines_of,
    think_step,
    timed_steps,
)
from slipstick.model.added import AddedModel
from slipstick.model.amounts import answer_value, computable_amounts
from slipstick.model.steps import (
    GUARDED,
    MET,
    TAKEN,
    Activity,
    distinct_activities,
    list_parallel_nodes,
)
from slipstick.model.system import (
    IDLE_PROCESSORS,
    Breaker,
    Labels,
    Lock,
    Model,
    PhasedPopulation,
    SuperstepPopulation,
    group_names,
    is_processor,
)
from slipstick.vocabulary import (
    BACK_OFF_TIME,
    BOUNDS,
    CLOSED_FORM,
    GIVEN_UP_TIME,
    MARKOV_CHAIN,
    SIMULATION,
    UNLIMITED,
)

if TYPE_CHECKING:
    from slipstick.model.network import QueueingNetwork

THINK = "think"
"""The component to which the account of a network books think time."""

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""Levels of the quantiles of response times, where they are known, and of the time of a cycle,
which simulation gives [1].
"""

# Kept here, because methods do not import the module of units.
_SECONDS_BY_UNIT = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "day": 86_400.0,
}

# At most nine digits, so that a name cannot ask for a number of customers beyond all limits.
_PROBABILITY = late_pattern(r"probability\[(?P<station>.+),(?:0|[1-9][0-9]{0,8})\]")
_TIME_UNTIL = late_pattern(r"time_until\[(?P<station>.+),(?P<present>0|[1-9][0-9]{0,8})\]")
_VALUE_AT_TIME = late_pattern(
    r"(?P<kind>queue_length|probability)_at\[(?P<inside>.+),"
    r"(?:(?P<seconds>[0-9]{1,15}(?:\.[0-9]+)?(?:e-?[0-9]{1,2})?)"
    rf"(?: ?(?P<unit>{'|'.join(_SECONDS_BY_UNIT)}))?|(?P<path>parameters\.[A-Za-z0-9_-]+))\]"
)


def station_and_count_of_passage(value_name: str) -> tuple[str, int] | None:
    """Parse the name of a first passage time: return the station and the number of customers, None
    for another name.

    >>> station_and_count_of_passage("time_until[door,2]"), station_and_count_of_passage("time")
    (('door', 2), None)
    """
    name_match = _TIME_UNTIL.fullmatch(value_name)
    return (name_match["station"], int(name_match["present"])) if name_match else None


def steady_name_and_time_of(value_name: str) -> tuple[str, str] | None:
    """Parse the name of a transient value: return the name of the steady-state value and the time
    after the start, in seconds or as a path; None for another name.

    >>> (
    ...     steady_name_and_time_of("queue_length_at[door,2 min]"),
    ...     steady_name_and_time_of("probability_at[door,2,parameters.when]"),
    ...     steady_name_and_time_of("time"),
    ... )
    (('queue_length[door]', '120.0'), ('probability[door,2]', 'parameters.when'), None)
    """
    if not (name_match := _VALUE_AT_TIME.fullmatch(value_name)):
        return None
    seconds = name_match["path"] or str(
        float(name_match["seconds"]) * _SECONDS_BY_UNIT[name_match["unit"] or "s"]
    )
    return f"{name_match['kind']}[{name_match['inside']}]", seconds


def is_transient(value_name: str) -> bool:
    """Return whether a name is the name of a transient value of a network."""
    return bool(station_and_count_of_passage(value_name) or steady_name_and_time_of(value_name))


class AnswerNames(Mapping[str, str]):
    """The names of the values that answers for a model can have, each with its base unit.

    Parameters
    ----------
    units : by name
    counted_stations : stations that ``probability[station,n]`` is known of, for any number n of
        customers, and transient values
    has_intervals : every value may have ends, such as ``low[time]``
    filling_resources : resources of an activity, of which ``time_until[resource,n]``,
        ``queue_length_at[resource,time]`` and ``probability_at[resource,n,time]`` are known

    >>> names = AnswerNames({"time": "s"}, ["cpu"], has_intervals=True)
    >>> names["high[time]"], names["probability[cpu,3]"], "speed" in names
    ('s', '1', False)
    """

    def __init__(
        self,
        units: Mapping[str, str],
        counted_stations: Iterable[str] = (),
        has_intervals: bool = False,
        filling_resources: Iterable[str] = (),
    ) -> None:
        self._units = dict(units)
        self._counted_stations = frozenset(counted_stations)
        self._filling_resources = self._counted_stations | frozenset(filling_resources)
        self._has_intervals = has_intervals
        # Of any number; one is listed, to be suggested.
        self._listed_names = (
            *units,
            *(f"probability[{name},1]" for name in sorted(self._counted_stations)),
            *(
                f"{value_kind}[{name},1]"
                for name in sorted(self._filling_resources)
                for value_kind in ("time_until", "queue_length_at")
            ),
        )

    def __getitem__(self, value_name: str) -> str:
        value_kind, _, name_in_brackets = value_name.partition("[")
        # An end of an interval has the unit of its value.
        if self._has_intervals and value_kind in (LOW, HIGH):
            return self._unit_of_value(name_in_brackets.removesuffix("]"))
        return self._unit_of_value(value_name)

    def _unit_of_value(self, value_name: str) -> str:
        """Return the base unit of a value that is no end of an interval."""
        if self._filling_resources and (
            steady_name_and_time := steady_name_and_time_of(value_name)
        ):
            probability_at_time = _PROBABILITY.fullmatch(steady_name_and_time[0])
            if probability_at_time and probability_at_time["station"] in self._filling_resources:
                return unit_of(value_name)
            return self._unit_of_value(steady_name_and_time[0])
        probability_match = _PROBABILITY.fullmatch(value_name)
        time_until_match = _TIME_UNTIL.fullmatch(value_name)
        is_numbered = (
            probability_match and probability_match["station"] in self._counted_stations
        ) or (time_until_match and time_until_match["station"] in self._filling_resources)
        return unit_of(value_name) if is_numbered else self._units[value_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed_names)

    def __len__(self) -> int:
        return len(self._listed_names)


def names_of(
    model: Model | QueueingNetwork | AddedModel | Law, method: str | None = None
) -> AnswerNames:
    """List the names of the values of a model's answers.

    Parameters
    ----------
    model : the system, the network, or the law
    method : by name; None for the values of any method

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> names = names_of(
    ...     closed_model(delay(9.0, name="think") >> service("bus", 1.0)), "closed-form"
    ... )
    >>> [name for name in names if "[bus]" in name]
    ['utilization[bus]', 'queue_length[bus]', 'wait[bus]', 'step[bus]', 'once[bus]']
    """
    has_intervals = method in (None, SIMULATION, BOUNDS)
    if isinstance(model, Law):
        return AnswerNames({model.gives.name: str(model.gives.dimension)})
    counted_stations: Iterable[str] = ()
    filling_resources: Iterable[str] = ()
    if isinstance(model, Model):
        bounded_values = ("time",) if model.population.open else ("time", "throughput")
        value_names = (
            iter(bounded_values) if method == BOUNDS else _names_in_activity(model, method)
        )
    elif isinstance(model, AddedModel):
        value_names = iter(model.answer_names())
    else:
        value_names = _names_in_network(model, method == BOUNDS)
        counted_stations = () if method == BOUNDS else model.stations
    listed_names = list(value_names)
    if not isinstance(model, AddedModel) and model.absences:
        hidden_labels = labels_of_absences(model)
        listed_names = [name for name in listed_names if not is_of_absence(name, hidden_labels)]
        counted_stations = [name for name in counted_stations if name not in hidden_labels]
    if isinstance(model, Model) and not model.population.finite:
        filling_resources = [
            name for name in model.resources if f"queue_length[{name}]" in listed_names
        ]
    # An amount is computed from values, of which bounds have none.
    if not isinstance(model, AddedModel) and method != BOUNDS:
        listed_names += [
            f"amount[{name}]" for name in computable_amounts(model.amounts, listed_names)
        ]
    return AnswerNames(
        {name: unit_of(name) for name in listed_names},
        counted_stations,
        has_intervals,
        filling_resources,
    )


_KINDS_OF_MEANS = (
    *("time", "throughput", "response_time", "residence_time", "waiting_time", "time_per_visit"),
    *("utilization", "queue_length", "wait", "loss_probability"),
    *("abandonment", "goodput", "amplification", "within_target"),
    *("open_share", "refused_share", "useful_utilization", "wasted_utilization"),
)


def value_parameters(model: Model | QueueingNetwork) -> dict[str, Parameter]:
    """Return the parameters by which the amounts of a model refer to values of its answer, by the
    name of the value.

    Of several groups the time and the throughput have the group's name.

    Parameters
    ----------
    model : the system or the network

    >>> from slipstick.model.activity import service
    >>> from slipstick.model.system import closed_model
    >>> list(value_parameters(closed_model(service("bus", 1.0))))
    ['time', 'throughput', 'utilization[bus]', 'queue_length[bus]', 'wait[bus]']
    """
    names_of_groups = group_names(model)
    return {
        name: answer_value(name)
        for name in names_of(model)
        if name.partition("[")[0] in _KINDS_OF_MEANS
        and not hint_of_group_names(name, names_of_groups)
    }


def labels_of_absences(model: Model | QueueingNetwork) -> frozenset[str]:
    """Return the names of groups, classes, steps and stations that stand for servers that are away,
    and therefore have no values in answers.
    """
    labels = {*model.absences, *(absence.delay for absence in model.absences.values())}
    groups = model.population.groups if isinstance(model, Model) else ()
    cycles = [group.cycle for group in groups if group.name in model.absences]
    return frozenset(labels | {step.name for step in timed_steps(cycles)})


def is_of_absence(value_name: str, labels: Container[str]) -> bool:
    """Return whether a name is the name of a value of servers that are away.

    Parameters
    ----------
    value_name : of the value
    labels : as `labels_of_absences` returns them

    >>> (
    ...     is_of_absence("account[wait:on_desk_1]", {"on_desk_1"}),
    ...     is_of_absence("time[calls]", {"on"}),
    ... )
    (True, False)
    """
    names_in_brackets = value_name.partition("[")[2].removesuffix("]").split(",")
    return any(name.removeprefix("wait:") in labels for name in names_in_brackets if name)


def name_of_first_quantity(
    model: Model | QueueingNetwork | AddedModel | Law, method: str | None = None
) -> str:
    """Return the name of the first value of an answer for a model.

    Parameters
    ----------
    model, method : as for `names_of`
    """
    if isinstance(model, Law):
        return model.gives.name
    if isinstance(model, Model):
        names_of_groups = group_names(model)
        return f"time[{names_of_groups[0]}]" if len(names_of_groups) > 1 else "time"
    if isinstance(model, AddedModel):
        return next(iter(model.answer_names()))
    first_class = model.customer_chains[0]
    return (
        f"{LOW}[throughput[{first_class}]]" if method == BOUNDS else f"response_time[{first_class}]"
    )


def _names_in_network(model: QueueingNetwork, only_bounds: bool) -> Iterator[str]:
    """Yield the names of the values of a network's answers; with `only_bounds`, those that its
    bounds have.
    """
    chain_names = {**dict.fromkeys(model.classes), **dict.fromkeys(model.chains)}
    yield from (f"saturation_population[{chain_name}]" for chain_name in model.closed_chains)
    if only_bounds:
        yield from (
            f"{value_kind}[{chain_name}]"
            for chain_name in chain_names
            for value_kind in ("throughput", "response_time")
        )
        return
    for chain_name in dict.fromkeys([*chain_names, *model.class_names]):
        yield from (f"throughput[{chain_name}]", f"response_time[{chain_name}]")
        yield from (f"response_time_quantile[{chain_name},{level:g}]" for level in QUANTILES)
    for chain_name, members in model.members_by_chain.items():
        if members.target_time != zero(TIME):
            yield f"within_target[{chain_name}]"
    for station_name, station in model.stations.items():
        for class_name in station.visitors():
            yield from (
                f"{value_kind}[{class_name},{station_name}]" for value_kind in _VALUES_OF_VISITS
            )
        yield from (
            f"{value_kind}[{station_name}]" for value_kind in ("queue_length", "utilization")
        )
        yield from (f"account[{station_name}]", f"account[wait:{station_name}]")
    for region_name, region in model.regions.items():
        yield from (
            f"{value_kind}[{region_name}]"
            for value_kind in ("queue_length", "utilization", "waiting_time")
        )
        yield from (f"loss_probability[{region_name}]",) if region.loses_customers else ()
        yield f"account[wait:{region_name}]"
    for breaker_name in model.breakers:
        yield from (f"open_share[{breaker_name}]", f"refused_share[{breaker_name}]")
    yield f"account[{THINK}]"


_VALUES_OF_VISITS = (
    *("queue_length", "residence_time", "time_per_visit", "waiting_time"),
    *("utilization", "loss_probability", "abandonment"),
)


def _names_in_activity(model: Model, method: str | None) -> Iterator[str]:
    """Yield the names of the values that answers by a method have for an activity, or answers by
    any method for None.
    """
    counts_waiting = method != CLOSED_FORM
    account_labels = list(_account_labels(model, counts_waiting))
    model_labels = Labels.from_model(model)
    components = list(dict.fromkeys(map(model_labels.component, account_labels)))
    # Studies compute the last two, from the answers of several cases.
    yield from ("time", "throughput", OVERHEAD, REDUCTION)
    if not model.population.open:
        yield from (
            ("efficiency", "speedup")
            if any(component in model.useful for component in components)
            else ()
        )
        yield from (
            f"processors_lost[{component}]"
            for component in components
            if component not in model.useful
        )
    for group in model.population.groups:
        yield from (
            f"{value_kind}[{group.name}]" for value_kind in ("time", "throughput") if group.name
        )
        if group.has_response_time:
            yield labelled_name("response_time", group.name)
    if model.single:
        yield from ("time_alone", "grain_efficiency", "grain_interference")
        yield from ("warps",) if model.single.words is not None else ()
    yield from model.counted
    for resource_name in _resources_in_use(model, counts_waiting):
        yield from (
            f"{value_kind}[{resource_name}]"
            for value_kind in ("utilization", "queue_length", "wait")
        )
    yield from (f"units[{counter_name}]" for counter_name in model.counters if counts_waiting)
    yield from (f"account[{component}]" for component in components)
    # What is no step is memory traffic in closed form and waiting elsewhere: both are names.
    for label_class in ("wait", "memory"):
        yield from (
            f"technology[{technology}]"
            for technology in map(
                Labels(model_labels.classes_by_label, label_class).technology, account_labels
            )
        )
    yield from (f"step[{label}]" for label in account_labels)
    yield from (f"once[{label}]" for label in account_labels)
    parallel_nodes = list_parallel_nodes(model.bodies)
    parallel_components = dict.fromkeys(step.component for step in timed_steps(parallel_nodes))
    yield from (
        f"{value_kind}[{component}]"
        for component in parallel_components
        for value_kind in ("occupation", "overlap")
    )
    pipeline_names = [pipeline.name for pipeline in pipelines_of(model.bodies)]
    yield from (f"bubble[{name}]" for name in pipeline_names)
    if method in (None, CLOSED_FORM):
        yield from (f"limit[{name}]" for name in pipeline_names)
    if method in (None, SIMULATION, MARKOV_CHAIN):
        yield from _names_of_attempts(model, method)
    if method in (None, SIMULATION):
        yield from _names_in_simulation(model)


def cycle_by_group(model: Model) -> dict[str, Activity]:
    """Return the cycle of each of several groups by its name, else the first by an empty name."""
    groups = model.population.groups
    return {group.name: group.cycle for group in groups[1:] and groups} or {"": model.bodies[0]}


def _names_in_simulation(model: Model) -> Iterator[str]:
    """List the names of the values of an activity that only simulation can give."""
    for group_name, cycle in cycle_by_group(model).items():
        if think_step(cycle) is None:
            yield from (
                labelled_name("time_quantile", group_name, f"{level:g}") for level in QUANTILES
            )
    for group in model.population.groups:
        quantile_levels = QUANTILES if group.has_response_time else ()
        yield from (
            labelled_name("response_time_quantile", group.name, f"{level:g}")
            for level in quantile_levels
        )
    yield from (
        labelled_name("within_target", group_name) for group_name in model.population.targets
    )
    locks_with_home = [
        resource_name
        for resource_name, resource in model.resources.items()
        if isinstance(resource, Lock) and resource.home is not None
    ]
    yield from (
        f"accesses[{lock_name},{access_side}]"
        for lock_name in locks_with_home
        for access_side in ("local", "remote")
    )
    yield from ("fairness", *(f"fairness[{resource_name}]" for resource_name in model.resources))
    yield from (f"share[time,{parameter_name}]" for parameter_name in model.parameters)


def shared_stations_with_cuts(model: Model) -> list[str]:
    """List the stations with shared servers at which a time limit may end a service that has begun.

    A Markov chain cannot compute the work done for such a customer, because it depends on how many
    customers shared the servers during the whole service.
    """
    return [
        name
        for name in _stations_with_cuts(model)
        if (discipline := model.service_discipline(name)) and discipline.shared
    ]


def _stations_with_cuts(model: Model) -> dict[str, None]:
    """Return the stations at which a time limit may end a service that has begun, in order."""
    return dict.fromkeys(
        node.resource
        for node in distinct_activities(model.bodies)
        if isinstance(node, Attempt) and node.cuts
    )


def _names_of_attempts(model: Model, method: str | None) -> Iterator[str]:
    """List the names of the values of attempts and circuit breakers."""
    attempted_resources = dict.fromkeys(
        node.resource for node in distinct_activities(model.bodies) if isinstance(node, Attempt)
    )
    value_kinds = ("abandonment", "amplification", "goodput")
    shared_stations = shared_stations_with_cuts(model) if method == MARKOV_CHAIN else ()
    yield from (
        f"{value_kind}[{station_name}]"
        for station_name in _stations_with_cuts(model)
        for value_kind in ("useful_utilization", "wasted_utilization")
        if station_name not in shared_stations
        and UNLIMITED not in model.resources[station_name].constructs
    )
    yield from (
        f"{value_kind}[{resource_name}]"
        for resource_name in attempted_resources
        for value_kind in value_kinds
    )
    yield from (
        f"{value_kind}[{resource_name}]"
        for resource_name, resource in model.resources.items()
        for value_kind in ("open_share", "refused_share")
        if isinstance(resource, Breaker)
    )


def _account_labels(model: Model, counts_waiting: bool) -> Iterator[str]:
    """List the labels that time is booked to: steps, locks, barriers and waits.

    Of several groups, the labels are those of the first. Labels of waits are listed only if the
    method computes waiting, and idle time only if some phases have fewer processors than others.
    """
    population = model.population
    bodies = model.bodies if counts_waiting or not population.groups else model.bodies[:1]
    yield from (step.name for step in timed_steps(bodies))
    for node in distinct_activities(bodies):
        for resource_name in node.uses:
            if not is_processor(resource_name):
                yield from model.resources[resource_name].labels(resource_name, counts_waiting)
    for node in distinct_activities(bodies):
        if isinstance(node, Attempt) and node.back_off is not None:
            yield f"{BACK_OFF_TIME}:{node.resource}"
        if isinstance(node, Attempt) and node.cuts:
            yield f"{GIVEN_UP_TIME}:{node.resource}"
    if counts_waiting:
        yield from (
            f"wait:{resource_name}" for resource_name in _resources_in_use(model, counts_waiting)
        )
    has_idle_processors = isinstance(population, PhasedPopulation) and (
        counts_waiting or len(set(population.processor_counts)) > 1
    )
    if has_idle_processors or isinstance(population, SuperstepPopulation):
        yield IDLE_PROCESSORS


def _resources_in_use(model: Model, counts_waiting: bool) -> list[str]:
    """List the resources in use: stations and, if waiting is counted, locks, permits and processors
    too.
    """
    visited_resources = dict.fromkeys(
        step.resource for step in model.steps if step.resource is not None
    )
    if not counts_waiting:  # and of phases and supersteps no use is known
        return [
            resource_name
            for resource_name in visited_resources
            if resource_name in model.resources and not model.population.finite
        ]
    waiting_resources = (
        resource_name
        for resource_name, resource in model.resources.items()
        if resource.use not in (MET, TAKEN, GUARDED)
    )
    return list(dict.fromkeys([*waiting_resources, *model.counters, *visited_resources]))
