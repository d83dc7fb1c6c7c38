"""A queueing network written as an activity: its classes are groups, and their visits are steps.

Both then mean the same to every method, so that each solver of networks has a second road: the
methods for activities, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Expr, Number, maximum, zero
from slipstick.expression.tape import Tape
from slipstick.model.activity import GEOMETRIC, Choice, Hold, Repeat, Step, Then
from slipstick.model.network import (
    ClosedClass,
    CustomerClass,
    NetworkStation,
    OpenClass,
    QueueingNetwork,
)
from slipstick.model.steps import ONCE, Activity
from slipstick.model.system import (
    ArrivalPattern,
    ClosedPopulation,
    Group,
    Model,
    OpenPopulation,
    Permits,
    Resource,
    Station,
)
from slipstick.vocabulary import DISCIPLINES, SAME_EXPONENTIAL


def lowered(network: QueueingNetwork) -> Model:
    """Convert a network to a model of an activity, whose numbers are the expressions of the
    network.

    A class thinks, if it does, and goes to the stations in the order written: of V visits to one, V
    below 1 is a choice, and V above 1 a first visit and a geometric repeat. Demands of several
    classes at a first-come station are visits of the longest of them, as solvers of networks take
    it. Which of these a number of visits is, is decided by its own value. Of a region whose customers
    wait, each run of visits to its stations holds one of as many permits as the region has places.

    Parameters
    ----------
    network : without chains, and with none of the traits of stations that activities lack

    Raises
    ------
    NoAnswerError : an activity cannot say a part of the network, which is named

    >>> from slipstick.model.network import closed_class, network, station
    >>> jobs = {"jobs": closed_class(20, think_time=5.0)}
    >>> model = lowered(network(jobs, {"cpu": station(demand={"jobs": 0.005}, discipline="ps")}))
    >>> [step.name for step in model.steps], model.resources["cpu"].discipline
    (['jobs.think', 'jobs.cpu'], 'ps')
    """
    for reason in _cannot_be_said(network):
        raise NoAnswerError(f"{network.name} cannot be written as an activity: {reason}")
    resources: dict[str, Resource] = {
        name: Station(station.servers, station.discipline, station.rates)
        for name, station in network.stations.items()
    }
    resources |= {name: Permits(region.capacity) for name, region in network.regions.items()}
    members = network.classes
    programs = {name: _program(network, name, member) for name, member in members.items()}
    groups = [_group(name, member, programs[name]) for name, member in members.items()]
    groups.sort(key=lambda group: group.arrivals is not None)  # answers begin with the first
    return Model(network.name, _population(groups), resources, left_out=network.left_out)


def _population(groups: Sequence[Group]) -> ClosedPopulation | OpenPopulation:
    first_group = groups[0]
    if first_group.arrivals is None:
        return ClosedPopulation(tuple(groups))
    return OpenPopulation(
        first_group.arrivals, first_group.cycle, first_group.pattern, first_group.target_time
    )


def _cannot_be_said(network: QueueingNetwork) -> Iterator[str]:
    """Yield each trait of a network that activities cannot express, in words."""
    if network.chains:
        yield f"customers change their class ({', '.join(network.chains)})"
    if network.amounts:
        yield "its amounts are of values that a network has"
    for name, station in network.stations.items():
        traits = {
            "a capacity": station.capacity,
            "patience": station.patience or station.timeout,
        }
        yield from (f"{name} has {trait}" for trait, value in traits.items() if value)
    for name, region in network.regions.items():
        if region.loses:
            yield f"region {name} loses customers"
    streams = [member for member in network.classes.values() if isinstance(member, OpenClass)]
    if len(streams) == len(network.classes) > 1:
        yield "it has several streams and no closed class"


def _group(name: str, member: CustomerClass, program: Activity) -> Group:
    target = None if member.target_time == zero(TIME) else member.target_time
    if isinstance(member, ClosedClass):
        return Group(name, member.population, program, target_time=target)
    return Group(name, Number(0.0), program, member.arrivals, _pattern(member), target)


def _pattern(member: OpenClass) -> ArrivalPattern:
    if not member.bursty:
        return ArrivalPattern(batch=member.batch, trace=member.trace)
    bursts = (member.burst_arrivals, member.burst_time, member.quiet_time)
    return ArrivalPattern(1.0, member.batch, *bursts)


def _program(network: QueueingNetwork, label: str, member: CustomerClass) -> Activity:
    """Return the activity for the cycle of a class."""
    visited = [
        name_and_station
        for name_and_station in network.stations.items()
        if label in name_and_station[1].visitors()
    ]
    activities: list[Activity] = []
    if isinstance(member, ClosedClass) and _value(member.think_time) > 0:
        think = f"{label}.think"
        has_visits = bool(visited)
        activities.append(Step(think, member.think_time, None, "think", scv=1.0, think=has_visits))
    visits_by_station: list[tuple[str, list[Activity]]] = []
    for name, station in visited:
        time, visits = _service(station, label)
        visits_by_station.append((name, _visits(_step(station, label, name, time), visits)))
    for region, run in groupby(visits_by_station, lambda pair: network.region_of(pair[0])):
        bodies = [body for _, body in run]
        activities += _inside(region, bodies) if region else chain.from_iterable(bodies)
    return Then(tuple(activities))


def _inside(region: str, visits: Sequence[list[Activity]]) -> list[Activity]:
    """Return the activities for visits to stations of one region in a row, under one permit of the
    region; a class that visits none of them takes no permit.
    """
    if not visits:
        return []
    (first, *others), rest = visits[0], list(visits[1:])
    if not isinstance(first, Choice):
        return [Hold(region, Then((first, *others, *chain.from_iterable(rest))))]
    # A customer that passes by the first station enters the region at a later one, or never.
    (here, step), (past, _) = first.options
    inside = Hold(region, Then((step, *chain.from_iterable(rest))))
    return [Choice(((here, inside), (past, Then(tuple(_inside(region, rest))))))]


def _service(station: NetworkStation, label: str) -> tuple[Expr, Expr]:
    """Return the time of one visit of a class, and its visits in a cycle [s, 1]."""
    if label in station.service:
        return station.service[label], station.visits.get(label, ONCE)
    demand = station.demand[label]
    members = station.demand.values()
    is_same_exponential = DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
    if not is_same_exponential or len(members) == 1:
        return demand, ONCE
    longest = maximum(*(station.service or station.demand).values())
    return longest, demand / longest


def _step(station: NetworkStation, label: str, name: str, time: Expr) -> Step:
    rank = station.priority.get(label, 0) if DISCIPLINES[station.discipline].ranked else 0
    weight = station.weight.get(label)
    distribution = station.distribution.get(label)
    scv = _value(station.scv.get(label, ONCE))
    return Step(
        f"{label}.{name}",
        time,
        name,
        name,
        scv=scv,
        distribution=distribution,
        rank=rank,
        weight=weight,
    )


def _visits(step: Step, visits: Expr) -> list[Activity]:
    """Return the activities for the visits to a station: a geometric repetition for a mean of at
    least 1, else a choice between one visit and none.
    """
    mean = _value(visits)
    if mean == 1:
        return [step]
    if mean > 1:
        # A geometric number of repetitions, as a network draws it: after each visit another one
        # with the same probability.
        return [step, Repeat(visits - 1, step, GEOMETRIC)]
    return [Choice(((visits, step), (1 - visits, Then(()))))]


def _value(number: Expr) -> float:
    """Return a number at the network's own values; it decides the shape of an activity."""
    (column,) = Tape([number]).run({})
    return float(column[0].real)
