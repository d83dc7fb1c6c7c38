"""A queueing network written as an activity: its classes are groups, and their visits are steps.

Both then mean the same to every method, so that each solver of networks has a second road: the
methods for activities, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as chained
from itertools import groupby
from typing import Any

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Expr, Number, maximum, zero
from slipstick.expression.tape import Tape
from slipstick.model.activity import (
    GEOMETRIC,
    Choice,
    Hold,
    Repeat,
    Step,
    Then,
    attempt,
    then,
)
from slipstick.model.network import (
    Chain,
    ClosedClass,
    CustomerClass,
    NetworkStation,
    OpenClass,
    Place,
    QueueingNetwork,
)
from slipstick.model.steps import ONCE, Activity
from slipstick.model.system import (
    ArrivalPattern,
    Group,
    Model,
    Permits,
    Resource,
    Station,
    population_of_groups,
)
from slipstick.vocabulary import DISCIPLINES, LOSS, SAME_EXPONENTIAL
from slipstick_chains.routed_programs import END, START, program_of_routes


def lower_network(network: QueueingNetwork) -> Model:
    """Convert a network to a model of an activity, whose numbers are the expressions of the
    network.

    A class thinks, if it does, and goes to the stations in the order written: of V visits to one, V
    below 1 is a choice, and V above 1 a first visit and a geometric repeat; the value of V itself
    decides this. A chain, whose customers follow routes, also between classes, becomes a group with
    the program of `slipstick_chains.routed_programs`. Demands of several classes at a first-come
    station are visits of the longest of them, as solvers of networks take it.

    A queue that may be abandoned or full becomes that of an attempt, at the last station that a
    class visits; customers that are lost there count in the throughput of the activity, and not in
    that of the network. In a region whose customers wait, each run of visits to its stations holds
    one permit, and there are as many permits as the region has places.

    Parameters
    ----------
    network : with none of the traits of stations that activities lack

    Raises
    ------
    NoAnswerError : an activity cannot say a part of the network, which is named

    >>> from slipstick.model.network import closed_class, network, station
    >>> jobs = {"jobs": closed_class(20, think_time=5.0)}
    >>> model = lower_network(
    ...     network(jobs, {"cpu": station(demand={"jobs": 0.005}, discipline="ps")})
    ... )
    >>> [step.name for step in model.steps], model.resources["cpu"].discipline
    (['jobs.think', 'jobs.cpu'], 'ps')
    """
    for reason in _inexpressible_traits(network):
        raise NoAnswerError(f"{network.name} cannot be written as an activity: {reason}")
    resources: dict[str, Resource] = {
        name: Station(station.servers, station.discipline, station.rates)
        for name, station in network.stations.items()
    }
    resources |= {name: Permits(region.capacity) for name, region in network.regions.items()}
    resources |= {
        name: guarded_stations.breaker for name, guarded_stations in network.breakers.items()
    }
    class_by_name = network.classes
    cycle_by_class = {
        name: _cycle_activity(network, name, customer_class)
        for name, customer_class in class_by_name.items()
    }
    groups = [
        _group_of_class(name, customer_class, cycle_by_class[name])
        for name, customer_class in class_by_name.items()
    ]
    groups += [
        _group_of_class(name, chain.members, _routed_cycle(network, name, chain))
        for name, chain in network.chains.items()
    ]
    return Model(network.name, population_of_groups(groups), resources, left_out=network.left_out)


def _inexpressible_traits(network: QueueingNetwork) -> Iterator[str]:
    """Yield each trait of a network that activities cannot express, in words."""
    for route in network.routing:
        if route.by:
            class_name, station = route.source
            yield f"customers of {class_name} at {station} choose a route by the state"
    for name, chain in network.chains.items():
        yield from _inexpressible_traits_of_chain(network, name, chain)
    if network.amounts:
        yield "its amounts are of values that a network has"
    for class_name in network.classes:
        yield from _inexpressible_losses(network, class_name)
    for name, region in network.regions.items():
        if region.loses_customers:
            yield f"region {name} loses customers"


def _inexpressible_traits_of_chain(
    network: QueueingNetwork, chain_name: str, chain: Chain
) -> Iterator[str]:
    """Yield each trait of the stations of a chain that a program of its routes cannot express."""
    for name, station in network.stations.items():
        visiting_classes = set(station.visitors()) & set(chain.classes)
        if any(map(station.loses, visiting_classes)):
            yield f"customers of {chain_name} are lost at {name}, and follow routes"
        if visiting_classes and network.region_of(name):
            yield (
                f"customers of {chain_name} follow routes through region {network.region_of(name)}"
            )


def _routed_cycle(network: QueueingNetwork, chain_name: str, chain: Chain) -> Activity:
    """Return the activity that follows the routes of a chain. It begins at the reference; a closed
    cycle ends where a customer returns to the reference, an open one where the customer leaves.
    """
    is_closed = isinstance(chain.members, ClosedClass)

    def visit_step(place: Place) -> Step:
        """Return the step of a visit to a place: a class at a station."""
        class_name, station_name = place
        station = network.stations[station_name]
        visit_time, _ = _time_and_visits(station, class_name)
        return _visit_step(station, class_name, station_name, visit_time)

    routes: list[tuple[Any, Any, Expr]] = []
    for route in network.routing:
        source_class, _ = route.source
        if source_class in chain.classes and route.probability != Number(0.0):
            ends_program = route.target is None or (is_closed and route.target == chain.reference)
            route_source = START if is_closed and route.source == chain.reference else route.source
            routes.append((route_source, END if ends_program else route.target, route.probability))
    if not is_closed:
        return program_of_routes([(START, chain.reference, ONCE), *routes], visit_step)
    first_visit, program = visit_step(chain.reference), program_of_routes(routes, visit_step)
    return then(*_think_steps(chain_name, chain.members), first_visit, program)


def _think_steps(name: str, members: CustomerClass, has_visits: bool = True) -> list[Activity]:
    """Return the step of think time with which a cycle of a class or a chain begins, in a list;
    an empty list without think time.
    """
    if not isinstance(members, ClosedClass) or not _value_at_defaults(members.think_time) > 0:
        return []
    return [Step(f"{name}.think", members.think_time, None, "think", scv=1.0, think=has_visits)]


def _inexpressible_losses(network: QueueingNetwork, class_name: str) -> Iterator[str]:
    """Yield, in words, the losses of customers of a class that activities cannot express. A lost
    customer of a network begins a new cycle, so that no other visit may follow the lossy one.
    """
    visited_stations = [
        (name, station)
        for name, station in network.stations.items()
        if class_name in station.visitors()
    ]
    for visit_position, (name, station) in enumerate(visited_stations, 1):
        if not station.loses(class_name):
            if breaker := network.breaker_of(name):
                yield f"{breaker} guards {name}, where no visit of {class_name} fails"
            continue
        if station.capacity is not None and station.blocking != LOSS:
            yield f"{name} blocks when it is full"
        if station.capacity is not None and class_name in station.balking:
            yield f"{name} has a capacity, and {class_name} balk there"
        loss_cause = "balking" if class_name in station.balking else "patience"
        trait = f"{name} has {'a capacity' if station.capacity else loss_cause}"
        _, visit_ratio = _time_and_visits(station, class_name)
        if visit_position < len(visited_stations) or _value_at_defaults(visit_ratio) > 1:
            yield (
                f"{trait}, and a customer of {class_name} that is lost there skips the visits that"
                " follow; visit it once, as the last station"
            )
        discipline = DISCIPLINES[station.discipline]
        has_queue = discipline.queued and not discipline.preemptive
        if station.capacity is not None and (
            not has_queue or station.capacity < max(station.servers, 1)
        ):
            yield f"{name} has a capacity, and no queue of which some places are left"


def _limited_visit(
    step: Step, station: NetworkStation, class_name: str, breaker: str | None
) -> Activity:
    """Return the visit of a class, as an attempt where the queue may be abandoned or full, or where
    a circuit breaker may refuse it.
    """
    patience, timeout = station.patience.get(class_name), station.timeout.get(class_name)
    if not station.loses(class_name):
        return step
    queue_capacity = None
    if station.capacity is not None:
        queue_capacity = Number(float(station.capacity - station.servers))
    return attempt(
        step,
        timeout=timeout,
        patience=patience,
        retries=station.retries.get(class_name, 0),
        back_off=station.back_off.get(class_name),
        queue=queue_capacity,
        breaker=breaker,
        balking=station.balking.get(class_name, ()),
    )


def _group_of_class(class_name: str, customer_class: CustomerClass, cycle: Activity) -> Group:
    """Return the group of customers that stands for a class."""
    target_time = None if customer_class.target_time == zero(TIME) else customer_class.target_time
    if isinstance(customer_class, ClosedClass):
        return Group(class_name, customer_class.population, cycle, target_time=target_time)
    return Group(
        class_name,
        Number(0.0),
        cycle,
        customer_class.arrivals,
        _arrival_pattern(customer_class),
        target_time,
    )


def _arrival_pattern(customer_class: OpenClass) -> ArrivalPattern:
    """Return the arrival pattern of an open class."""
    if not customer_class.bursty:
        return ArrivalPattern(
            batch=customer_class.batch,
            trace=customer_class.trace,
            profile=customer_class.profile,
            backlog=customer_class.backlog,
        )
    burst_expressions = (
        customer_class.burst_arrivals,
        customer_class.burst_time,
        customer_class.quiet_time,
    )
    return ArrivalPattern(
        1.0, customer_class.batch, *burst_expressions, backlog=customer_class.backlog
    )


def _cycle_activity(
    network: QueueingNetwork, class_name: str, customer_class: CustomerClass
) -> Activity:
    """Return the activity for the cycle of a class."""
    visited_stations = [
        name_and_station
        for name_and_station in network.stations.items()
        if class_name in name_and_station[1].visitors()
    ]
    activities = _think_steps(class_name, customer_class, bool(visited_stations))
    visits_by_station: list[tuple[str, list[Activity]]] = []
    for station_name, station in visited_stations:
        visit_time, visit_ratio = _time_and_visits(station, class_name)
        visits_by_station.append(
            (
                station_name,
                _visit_activities(
                    _limited_visit(
                        _visit_step(station, class_name, station_name, visit_time),
                        station,
                        class_name,
                        network.breaker_of(station_name) or None,
                    ),
                    visit_ratio,
                ),
            )
        )
    for region_name, region_visits in groupby(
        visits_by_station, lambda name_and_visits: network.region_of(name_and_visits[0])
    ):
        visits_of_region = [body for _, body in region_visits]
        activities += (
            _visits_under_permit(region_name, visits_of_region)
            if region_name
            else chained.from_iterable(visits_of_region)
        )
    return Then(tuple(activities))


def _visits_under_permit(region_name: str, visits: Sequence[list[Activity]]) -> list[Activity]:
    """Return the activities for visits to stations of one region in a row, under one permit of the
    region; a class that visits none of them takes no permit.
    """
    if not visits:
        return []
    (first_visit, *repeated_visits), later_visits = visits[0], list(visits[1:])
    # Customers that balk choose between attempts; those that may pass by, between a visit and none.
    if not isinstance(first_visit, Choice) or first_visit.options[-1][1] != Then(()):
        return [
            Hold(
                region_name,
                Then((first_visit, *repeated_visits, *chained.from_iterable(later_visits))),
            )
        ]
    # A customer that passes by the first station enters the region at a later one, or never.
    (visit_probability, step), (pass_probability, _) = first_visit.options
    permit_hold = Hold(region_name, Then((step, *chained.from_iterable(later_visits))))
    return [
        Choice(
            (
                (visit_probability, permit_hold),
                (pass_probability, Then(tuple(_visits_under_permit(region_name, later_visits)))),
            )
        )
    ]


def _time_and_visits(station: NetworkStation, class_name: str) -> tuple[Expr, Expr]:
    """Return the time of one visit of a class, and its visits in a cycle [s, 1]."""
    if class_name in station.service:
        return station.service[class_name], station.visits.get(class_name, ONCE)
    demand = station.demand[class_name]
    demands_of_classes = station.demand.values()
    is_same_exponential = DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
    if not is_same_exponential or len(demands_of_classes) == 1:
        return demand, ONCE
    longest_time = maximum(*(station.service or station.demand).values())
    return longest_time, demand / longest_time


def _visit_step(
    station: NetworkStation, class_name: str, station_name: str, mean_time: Expr
) -> Step:
    """Return the step of one visit of a class to a station."""
    rank = station.priority.get(class_name, 0) if DISCIPLINES[station.discipline].ranked else 0
    weight = station.weight.get(class_name)
    distribution = station.distribution.get(class_name)
    scv = _value_at_defaults(station.scv.get(class_name, ONCE))
    return Step(
        f"{class_name}.{station_name}",
        mean_time,
        station_name,
        station_name,
        scv=scv,
        distribution=distribution,
        rank=rank,
        weight=weight,
    )


def _visit_activities(step: Activity, mean_visits: Expr) -> list[Activity]:
    """Return the activities for the visits to a station: a geometric repetition for a mean of at
    least 1, else a choice between one visit and none.
    """
    mean_at_defaults = _value_at_defaults(mean_visits)
    # The shape is decided at the own value: another mean beyond it is refused by the range of a
    # probability or of a count.
    if mean_at_defaults == 1:
        return [step]
    if mean_at_defaults > 1:
        # A geometric number of repetitions, as a network draws it: after each visit another one
        # with the same probability.
        return [step, Repeat(mean_visits - 1, step, GEOMETRIC)]
    return [Choice(((mean_visits, step), (1 - mean_visits, Then(()))))]


def _value_at_defaults(expression: Expr) -> float:
    """Compute an expression at the network's own parameter values; the value decides the shape of
    an activity.
    """
    (column,) = Tape([expression]).run({})
    return float(column[0].real)
