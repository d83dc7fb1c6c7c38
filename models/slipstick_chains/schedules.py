"""Stations whose number of servers follows a schedule, such as the staff over a day, written as
customers that take servers from all others while these are off duty.

A server that is off duty is a customer of the first rank, who is served for as long as the server
is away and never waits. A service that the end of a shift interrupts is resumed where it stopped,
as soon as a server is free. At a station that finishes services, the service under way goes on
beside the server that is off duty, see `works_overtime`. Streams without a profile get one of a
single rate, so that a simulation covers whole periods of the schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from slipstick.errors import Fault, ModelError, ModelFaultsError
from slipstick.expression.nodes import RATE, TIME, Expr, Number
from slipstick.model.absences import Absence
from slipstick.model.activity import delay, service
from slipstick.model.amounts import answer_value
from slipstick.model.network import (
    CustomerClass,
    NetworkStation,
    OpenClass,
    QueueingNetwork,
)
from slipstick.model.system import (
    POISSON,
    ArrivalPattern,
    ClosedPopulation,
    Group,
    Model,
    OpenPopulation,
    Station,
    StreamsPopulation,
)
from slipstick.profiles import Profile, period_of
from slipstick_chains.breakdowns import (
    SCHEDULE,
    arithmetic_name,
    check_absence_label,
    check_no_other_absence,
    discipline_with_absences,
    groups_ranked_behind_absences,
    refuse_counted_servers,
)

ServersByTime = Sequence[tuple[float, int]]
"""The parts of a period: how long each lasts [s], and the number of servers on duty [1]."""


def absences_of(schedule: ServersByTime) -> list[tuple[float, float]]:
    """Return for each absence of a server when in a period it goes off duty [s], and for how long
    [s], which may reach into the next period; the first servers are on duty the longest.

    >>> absences_of([(8.0, 1), (4.0, 2), (12.0, 0)])
    [(12.0, 12.0), (12.0, 20.0)]
    """
    absences = list[tuple[float, float]]()
    for server_number in range(max(server_count for _, server_count in schedule)):
        absence_start = absence_length = 0.0
        first_index = len(absences)
        for duration, server_count in schedule:
            if server_count <= server_number:
                absence_length += duration
                continue
            if absence_length:
                absences.append((absence_start, absence_length))
            absence_start, absence_length = absence_start + absence_length + duration, 0.0
        if absence_length:
            # A server that begins the next period off duty does not come back in between.
            absence_length += (
                absences.pop(first_index)[1]
                if absences[first_index:] and not absences[first_index][0]
                else 0.0
            )
            absences.append((absence_start, absence_length))
    return absences


def network_with_schedules(
    network: QueueingNetwork,
    schedules: Mapping[str, ServersByTime],
    finishing_stations: Collection[str] = (),
) -> QueueingNetwork:
    """Replace the schedules of a network by open classes. For each time that a server is off duty
    there is a class ``off_STATION_NUMBER`` with one customer a period, which occupies the server
    meanwhile. Return the network, with the servers on duty as amounts.

    Parameters
    ----------
    network : with at least one open class
    schedules : by station, the parts of a period
    finishing_stations : stations whose servers end the service under way before they go off duty

    Raises
    ------
    ModelError : a schedule has no part with a server; arrivals do not fit it; or a station has
        another discipline than fcfs and priority-preemptive (priority where it finishes services),
        rates, a capacity or a region

    >>> from slipstick.model.network import network, open_class, station
    >>> desk = network({"calls": open_class(0.5)}, {"desk": station(service={"calls": 1.0})})
    >>> network_with_schedules(desk, {"desk": [(8.0, 1), (16.0, 0)]}).class_names
    ('calls', 'off_desk_1')
    """
    period = _common_period(schedules)
    members_of_classes = [
        *network.classes.values(),
        *(chain.members for chain in network.chains.values()),
    ]
    if not any(isinstance(members, OpenClass) for members in members_of_classes):
        raise ModelError(_NO_STREAM)
    classes = {
        name: _customers_with_profile("classes", name, members, period)
        for name, members in network.classes.items()
    }
    chains = {
        name: replace(chain, members=_customers_with_profile("chains", name, chain.members, period))
        for name, chain in network.chains.items()
    }
    stations, delay_station_by_name = dict(network.stations), dict[str, NetworkStation]()
    amounts, absences = dict(network.amounts), dict(network.absences)
    for name, schedule in schedules.items():
        station = stations[name]
        with _fault_at("stations", name, "schedule"):
            check_no_other_absence(name, absences)
            ranked_discipline = discipline_with_absences(
                _END, name, station.discipline, finishing_stations
            )
            refuse_counted_servers(network, name, "have a schedule", "off duty")
        station = _station_with_ranks(
            station, ranked_discipline, max(count for _, count in schedule)
        )
        for absence_number, (start, length) in enumerate(absences_of(schedule), 1):
            label = f"off_{arithmetic_name(name)}_{absence_number}"
            delay_name = f"on_{label[4:]}"
            with _fault_at("stations", name, "schedule"):
                for added_name in (label, delay_name):
                    check_absence_label(added_name, name, (*network.names, *network.stations))
            absences[label] = _absence_of_servers(name, start, length, period, delay_name)
            classes[label] = OpenClass(Number(1 / period, RATE), trace=(period,))
            zero_scv = {label: Number(0.0)}
            # A class visits its stations in the order written.
            delay_station_by_name[delay_name] = NetworkStation(
                "is", service={label: Number(start, TIME)}, scv=zero_scv
            )
            station = replace(
                station,
                service={**station.service, label: Number(length, TIME)},
                scv={**station.scv, **zero_scv},
                priority={**station.priority, label: 0},
            )
        stations[name] = station
        amounts |= _amounts_of_schedule(name, schedule)
    return replace(
        network,
        classes=classes,
        chains=chains,
        stations={**delay_station_by_name, **stations},
        amounts=amounts,
        absences=absences,
    )


_END = "the end of a shift"


def _station_with_ranks(
    station: NetworkStation, ranked_discipline: str, server_count: int
) -> NetworkStation:
    """Return a station with some number of servers, by a discipline with ranks, at which no class
    has the first rank.
    """
    has_ranks = station.discipline == ranked_discipline
    rank_by_class = {
        name: 1 + station.priority[name] if has_ranks else 1 for name in station.visitors()
    }
    return replace(
        station, discipline=ranked_discipline, servers=server_count, priority=rank_by_class
    )


@contextmanager
def _fault_at(*path: str) -> Iterator[None]:
    """Turn a ModelError that the body raises into a fault of the network at a path."""
    try:
        yield
    except ModelError as error:
        raise ModelFaultsError([Fault(path, str(error))]) from None


def _customers_with_profile(
    section: str, name: str, members: CustomerClass, period: float
) -> CustomerClass:
    """Return the customers of a class or chain. Arriving customers get an arrival profile whose
    period is that of the schedules.
    """
    if not isinstance(members, OpenClass):
        return members
    with _fault_at(section, name):
        _check_pattern(name, members.profile, members.bursty or bool(members.trace), period)
    return replace(members, profile=members.profile or ((period, 1.0),))


def model_with_schedules(
    model: Model,
    schedules: Mapping[str, ServersByTime],
    finishing_stations: Collection[str] = (),
) -> Model:
    """Replace the schedules of a model by streams. For each time that a server is off duty there is
    a stream ``off_STATION_NUMBER`` with one customer a period, which occupies the server meanwhile.
    Return the model, with the servers on duty as amounts.

    Parameters
    ----------
    model : with at least one stream of customers
    schedules : by station, the parts of a period
    finishing_stations : stations whose servers end the service under way before they go off duty

    Raises
    ------
    ModelError : a schedule has no part with a server; arrivals do not fit it; a station has another
        discipline than fcfs and priority-preemptive (priority where it finishes services), or
        rates; or branches are chosen by the number
        present, among which servers off duty would count

    >>> from slipstick.model.system import open_model
    >>> desk = open_model(service("desk", 1.0, scv=1.0), 0.2)
    >>> model = model_with_schedules(desk, {"desk": [(8.0, 1), (16.0, 0)]})
    >>> [group.name for group in model.population.groups]
    ['customers', 'off_desk_1']
    """
    period = _common_period(schedules)
    groups = _groups_with_profile(model, period)
    resources, amounts = dict(model.resources), dict(model.amounts)
    absences = dict(model.absences)
    ranked_stations = []
    off_duty_groups = []
    periodic_pattern = replace(POISSON, trace=(period,))
    for name, schedule in schedules.items():
        station = resources[name]
        assert isinstance(station, Station)
        check_no_other_absence(name, absences)
        ranked_discipline = discipline_with_absences(
            _END, name, station.discipline, finishing_stations
        )
        refuse_counted_servers(model, name, "have a schedule", "off duty")
        ranked_stations += [name] if station.discipline == ranked_discipline else []
        server_count = max(count for _, count in schedule)
        resources[name] = replace(station, discipline=ranked_discipline, servers=server_count)
        for absence_number, (start, length) in enumerate(absences_of(schedule), 1):
            label = f"off_{arithmetic_name(name)}_{absence_number}"
            used_names = (*(group.name for group in groups), *model.resources)
            check_absence_label(label, name, used_names)
            absences[label] = _absence_of_servers(name, start, length, period)
            cycle = delay(start, name=f"on-{label[4:]}") >> service(name, length, name=label)
            off_duty_groups.append(
                Group(label, Number(0.0), cycle, Number(1 / period, RATE), periodic_pattern)
            )
        amounts |= _amounts_of_schedule(name, schedule)

    ranked_groups = groups_ranked_behind_absences(groups, schedules, ranked_stations)
    population_type = (
        StreamsPopulation if ranked_groups[0].arrivals is not None else ClosedPopulation
    )
    return replace(
        model,
        population=population_type((*ranked_groups, *off_duty_groups)),
        resources=resources,
        amounts=amounts,
        absences=absences,
    )


def _groups_with_profile(model: Model, period: float) -> list[Group]:
    """Return the groups of a model, in which all streams have a profile of the period of the
    schedules.
    """
    population = model.population
    if isinstance(population, OpenPopulation):
        stream = Group(
            "customers", Number(0.0), population.cycle, population.rate, population.pattern
        )
        groups = [stream]
    elif isinstance(population, ClosedPopulation | StreamsPopulation):
        groups = list(population.groups)
    else:
        groups = []
    if not any(group.arrivals is not None for group in groups):
        raise ModelError(_NO_STREAM)
    return [_group_with_profile(group, period) for group in groups]


_NO_STREAM = (
    "a schedule of servers needs customers that arrive, whose response times are means over whole"
    " periods; write arrivals, or compare the parts of the period one by one"
)


def _group_with_profile(group: Group, period: float) -> Group:
    """Return a group; if its customers arrive, with a profile of the period of the schedules."""
    if group.arrivals is None:
        return group
    pattern = group.pattern
    has_other_pattern = replace(pattern, profile=(), batch=1, backlog=0) != POISSON
    _check_pattern(group.name, pattern.profile, has_other_pattern, period)
    return replace(group, pattern=_pattern_with_profile(pattern, period))


def _pattern_with_profile(pattern: ArrivalPattern, period: float) -> ArrivalPattern:
    """Return an arrival pattern with a profile of the period; one that has a profile is returned
    unchanged.
    """
    return pattern if pattern.profile else replace(pattern, profile=((period, 1.0),))


def _common_period(schedules: Mapping[str, ServersByTime]) -> float:
    """Return the period that all schedules have in common [s]; raise if they differ, or if a
    schedule has no server.
    """
    period_by_station = {name: period_of(tuple(schedule)) for name, schedule in schedules.items()}
    for name, schedule in schedules.items():
        if not any(count for _, count in schedule):
            raise ModelError(f"the schedule of {name} has no part with a server; give it one")
    if len(set(period_by_station.values())) > 1:
        lengths_text = ", ".join(
            f"that of {name} {period:g} s" for name, period in period_by_station.items()
        )
        raise ModelError(f"all schedules of servers last equally long, but {lengths_text}")
    return next(iter(period_by_station.values()))


def _check_pattern(name: str, profile: Profile, has_other_pattern: bool, period: float) -> None:
    """Raise if the arrivals of a stream do not repeat with the period of the schedules."""
    if has_other_pattern:
        raise ModelError(
            f"beside a schedule of servers, customers arrive as Poisson or by a profile; {name} has"
            " another pattern"
        )
    if profile and abs(period_of(profile) - period) > 1e-9 * period:
        raise ModelError(
            f"the profile of {name} lasts {period_of(profile):g} s and the schedule of servers"
            f" {period:g} s; give both the same period"
        )


def _absence_of_servers(
    station: str, start: float, length: float, period: float, delay_name: str = ""
) -> Absence:
    """Return the absence of a server of a station that is off duty once in each period."""
    start_and_length = Number(start, TIME), Number(length, TIME)
    absence_rate, away_count = Number(1 / period, RATE), Number(length / period)
    return Absence(station, absence_rate, away_count, SCHEDULE, *start_and_length, delay_name)


def _amounts_of_schedule(name: str, schedule: ServersByTime) -> dict[str, Expr]:
    """Return, by the names of amounts, the mean number of servers on duty at a station, and the
    part of their time in which they serve.
    """
    most_servers = max(count for _, count in schedule)
    mean_on_duty = sum(duration * count for duration, count in schedule) / period_of(
        tuple(schedule)
    )
    return {
        f"on_duty_{arithmetic_name(name)}": Number(mean_on_duty),
        f"busy_{arithmetic_name(name)}": most_servers
        / mean_on_duty
        * answer_value(f"utilization[{name}]"),
    }
