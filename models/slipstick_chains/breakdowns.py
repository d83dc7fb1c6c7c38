"""Stations that break down and are repaired, written as customers that take a server from all
others.

Each server fails after an exponential time, whether it is busy or idle, and is repaired in an
exponential time; a service that it interrupts is resumed where it stopped. A failure is a customer
of the first rank, as many as there are servers, who is away until it fails and then is served for
the repair. It never waits, so that a server is there for the share every / (every + repair) of the
time, exactly. At one server with Poisson arrivals the response time is the law
``mm1-breakdown-response-time`` (tests/method/test_breakdowns.py).

A server that finishes its service before the repair, such as a break of a clerk, is a customer of
the first rank who interrupts no service, and so may wait for the first server that is free.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from slipstick.errors import ModelError
from slipstick.expression.nodes import Expr, Number
from slipstick.model.absences import OFF_DUTY, Absence
from slipstick.model.activity import Attempt, Step, delay, map_steps, service
from slipstick.model.network import ClosedClass, NetworkStation, QueueingNetwork
from slipstick.model.steps import Activity, distinct_activities
from slipstick.model.system import ClosedPopulation, Group, Model, Station
from slipstick.vocabulary import ROUTES_BY_STATE

BREAKDOWN, SCHEDULE = "breakdown", OFF_DUTY
INTERRUPTED, FINISHED = "priority-preemptive", "priority"
"""The disciplines of a station by which a server that goes away interrupts a service, or finishes
it first.
"""


class Breakdown(NamedTuple):
    """Failures of each server of a station, and their repair.

    Parameters
    ----------
    every : mean time from a repair to the next failure, exponential [s]
    repair : mean time of a repair, exponential [s]
    """

    every: Expr
    repair: Expr

    @property
    def availability(self) -> Expr:
        """The share of the time at which a server is there [1]."""
        return self.every / (self.every + self.repair)

    def absence(self, station: str, server_count: int, ranked_discipline: str) -> Absence:
        """Return the absence of servers that the failures of a station cause. If they finish a
        service first, the number of servers that are away is not known, and counts as 0.
        """
        failure_rate = server_count / (self.every + self.repair)
        away_server_count = (
            Number(0.0) if ranked_discipline == FINISHED else failure_rate * self.repair
        )
        return Absence(station, failure_rate, away_server_count, BREAKDOWN, self.every, self.repair)


def network_with_breakdowns(
    network: QueueingNetwork,
    breakdowns: Mapping[str, tuple[Expr, Expr]],
    finishing_stations: Collection[str] = (),
) -> QueueingNetwork:
    """Return a network with a closed class ``breakdowns_STATION`` for each station that breaks
    down, and the amount ``availability_STATION`` of one that does not finish services.

    Parameters
    ----------
    network : without breakdowns
    breakdowns : by station, a `Breakdown` or its two times
    finishing_stations : stations whose servers end the service under way before the repair begins

    Raises
    ------
    ModelError : a station has another discipline than fcfs and priority-preemptive (priority where
        it finishes services); or rates, a capacity or a region, which would count the failure among
        the customers present

    >>> from slipstick.expression.nodes import TIME, Parameter
    >>> from slipstick.model.network import network, open_class, station
    >>> queue = network({"jobs": open_class(0.5)}, {"disk": station(service={"jobs": 1.0})})
    >>> up, down = Parameter("up", TIME, 20.0), Parameter("down", TIME, 5.0)
    >>> network_with_breakdowns(queue, {"disk": Breakdown(up, down)}).class_names
    ('jobs', 'breakdowns_disk')
    """
    classes, stations = dict(network.classes), dict(network.stations)
    absences = dict(network.absences)
    for name, up_and_repair_time in breakdowns.items():
        breakdown, station, failure_class = (
            Breakdown(*up_and_repair_time),
            stations[name],
            _failure_label(name),
        )
        ranked_discipline = discipline_with_absences(
            "a breakdown", name, station.discipline, finishing_stations
        )
        refuse_counted_servers(network, name, "break down", "in repair")
        check_absence_label(failure_class, name, (*network.names, *stations))
        absences[failure_class] = breakdown.absence(name, station.servers, ranked_discipline)
        classes[failure_class] = ClosedClass(Number(float(station.servers)), breakdown.every)
        stations[name] = _station_with_failures(
            station, ranked_discipline, failure_class, breakdown.repair
        )
    amounts = {**network.amounts, **_availability_by_station(breakdowns, finishing_stations)}
    return replace(network, classes=classes, stations=stations, amounts=amounts, absences=absences)


def _station_with_failures(
    station: NetworkStation, ranked_discipline: str, failure_class: str, repair: Expr
) -> NetworkStation:
    """Return a station with a class of failures that has priority over all other classes, by a
    discipline with ranks.
    """
    has_ranks = station.discipline == ranked_discipline
    rank_by_class = {
        name: 1 + station.priority[name] if has_ranks else 1 for name in station.visitors()
    }
    return replace(
        station,
        discipline=ranked_discipline,
        service={**station.service, failure_class: repair},
        priority={**rank_by_class, failure_class: 0},
    )


def model_with_breakdowns(
    model: Model,
    breakdowns: Mapping[str, tuple[Expr, Expr]],
    finishing_stations: Collection[str] = (),
) -> Model:
    """Return a model with a group ``breakdowns_STATION`` for each station that breaks down, and an
    amount ``availability_STATION`` for each of them that does not finish services.

    Parameters
    ----------
    model : without breakdowns, of processors that repeat cycles
    breakdowns : by station, a `Breakdown` or its two times
    finishing_stations : stations whose servers end the service under way before the repair begins

    Raises
    ------
    ModelError : the population is no closed one; a station has another discipline than fcfs and
        priority-preemptive (priority where it finishes services), or rates; or branches are chosen
        by the number present, among which the failure would count

    >>> from slipstick.expression.nodes import TIME, Parameter
    >>> from slipstick.model.system import closed_model
    >>> plain = closed_model(delay(4.0, name="think") >> service("disk", 1.0), processors=2)
    >>> up, down = Parameter("up", TIME, 20.0), Parameter("down", TIME, 5.0)
    >>> model = model_with_breakdowns(plain, {"disk": Breakdown(up, down)})
    >>> [group.name for group in model.population.groups]
    ['processors', 'breakdowns_disk']
    """
    population, resources = model.population, dict(model.resources)
    if not isinstance(population, ClosedPopulation):
        raise ModelError(
            "stations break down beside processors that repeat a cycle; write a stream of requests"
            " as a queueing network"
        )
    ranked_stations = []
    failure_groups = []
    absences = dict(model.absences)
    for name, up_and_repair_time in breakdowns.items():
        breakdown, station = Breakdown(*up_and_repair_time), resources[name]
        assert isinstance(station, Station)
        ranked_discipline = discipline_with_absences(
            "a breakdown", name, station.discipline, finishing_stations
        )
        refuse_counted_servers(model, name, "break down", "in repair")
        check_absence_label(_failure_label(name), name, (*population.group_names, *resources))
        absences[_failure_label(name)] = breakdown.absence(name, station.servers, ranked_discipline)
        ranked_stations += [name] if station.discipline == ranked_discipline else []
        resources[name] = replace(station, discipline=ranked_discipline)
        cycle = delay(breakdown.every, name=f"up-{name}", scv=1.0, think=True) >> service(
            name, breakdown.repair, name=f"repair-{name}", scv=1.0
        )
        failure_groups.append(Group(_failure_label(name), Number(float(station.servers)), cycle))

    groups = groups_ranked_behind_absences(population.groups, breakdowns, ranked_stations)
    if not groups[0].name:
        groups[0] = replace(groups[0], name="processors")
    return replace(
        model,
        population=ClosedPopulation((*groups, *failure_groups)),
        resources=resources,
        amounts={**model.amounts, **_availability_by_station(breakdowns, finishing_stations)},
        absences=absences,
    )


def _failure_label(station: str) -> str:
    """Return the name of the class or group of the failures of a station."""
    return f"breakdowns_{arithmetic_name(station)}"


def arithmetic_name(station: str) -> str:
    """Return the name of a station in a form that formulas can contain: signs that they cannot have
    in a name are replaced.
    """
    return re.sub("[^A-Za-z0-9]", "_", station)


def check_absence_label(label: str, station: str, names: Iterable[str]) -> None:
    """Raise a ModelError if a model has the name that slipstick gives to servers that are away.

    Parameters
    ----------
    label, station : the name, and whose servers they are
    names : of the groups, classes and stations of the model
    """
    if label in names:
        raise ModelError(
            f"slipstick calls servers of {station} that are away {label}, a name that the model has"
            " too; change it there"
        )


def check_no_other_absence(station: str, absences: Mapping[str, Absence]) -> None:
    """Raise a ModelError if servers of a station are away for another reason too.

    A server that is off duty would fail as well, and one that is not there would be repaired first.

    Parameters
    ----------
    station : its name
    absences : of the model, by name
    """
    if any(absence.station == station for absence in absences.values()):
        raise ModelError(
            f"{station} has a schedule and a breakdown: servers off duty would fail in place of"
            " those on duty; leave one of them out"
        )


def refuse_counted_servers(
    model: Model | QueueingNetwork, station: str, action: str, server_state: str
) -> None:
    """Raise a ModelError if something counts the customers present at a station, because servers
    that are away are customers of the station in the model.

    Parameters
    ----------
    model, station : the model without servers that are away, and the name of the station
    action, server_state : what the station does, and what its servers are then, for the message
    """
    if isinstance(model, QueueingNetwork):
        network_station = model.stations[station]
        has_trait_by_name = {
            "rates": bool(network_station.rates),
            "a capacity": network_station.capacity is not None,
            "balking": bool(network_station.balking),
            "a region": bool(model.region_of(station)),
            "routes by its state": any(
                route.by and route.target and route.target[1] == station for route in model.routing
            ),
        }
    else:
        resource = model.resources[station]
        has_trait_by_name = {
            "rates": isinstance(resource, Station) and bool(resource.rates),
            "a pick by the number present": ROUTES_BY_STATE in model.constructs,
            "an attempt": any(
                isinstance(node, Attempt) and node.resource == station
                for node in distinct_activities(model.bodies)
            ),
        }
    for trait, has_trait in has_trait_by_name.items():
        if has_trait:
            raise ModelError(
                f"{station} cannot {action} with {trait}: a server {server_state} would count among"
                " the customers present"
            )


def groups_ranked_behind_absences(
    groups: Iterable[Group], stations: Collection[str], ranked_stations: Collection[str]
) -> list[Group]:
    """Return groups in which all steps at some stations have lower priority than servers that are
    away, which have rank 0.

    Parameters
    ----------
    groups : of the model without servers that are away
    stations : whose servers go away
    ranked_stations : those of them where customers keep their ranks among each other
    """

    def step_ranked_behind_absences(step: Step) -> Step:
        """Return a step at one of the stations with rank 1, or with one more than its rank at a
        station with ranks; any other step is returned unchanged.
        """
        if step.resource not in stations:
            return step
        return replace(step, rank=1 + step.rank * (step.resource in ranked_stations))

    rebuilt_by_id: dict[int, Activity] = {}
    return [
        replace(
            group,
            cycle=map_steps(group.cycle, step_ranked_behind_absences, rebuilt_by_id=rebuilt_by_id),
        )
        for group in groups
    ]


def discipline_with_absences(
    reason: str, station: str, discipline: str, finishing_stations: Collection[str]
) -> str:
    """Return the discipline of a station whose servers go away, by which these have the first rank.

    Parameters
    ----------
    reason : why they go away, for messages
    station, discipline : the name of the station, and its discipline for customers alone
    finishing_stations : stations whose servers end the service under way before they go

    Raises
    ------
    ModelError : customers are served in another order
    """
    ranked_discipline = FINISHED if station in finishing_stations else INTERRUPTED
    if discipline not in ("fcfs", ranked_discipline):
        effect_words = (
            "lets a server finish its service only"
            if ranked_discipline == FINISHED
            else "interrupts a service, which is resumed later,"
        )
        raise ModelError(
            f"{reason} {effect_words} at stations with the discipline fcfs or {ranked_discipline};"
            f" {station} has {discipline}"
        )
    return ranked_discipline


def _availability_by_station(
    breakdowns: Mapping[str, tuple[Expr, Expr]], finishing_stations: Collection[str]
) -> dict[str, Expr]:
    """Return the availability of each station that breaks down, except those whose servers finish
    services first.
    """
    return {
        f"availability_{arithmetic_name(name)}": Breakdown(*up_and_repair_time).availability
        for name, up_and_repair_time in breakdowns.items()
        if name not in finishing_stations
    }
