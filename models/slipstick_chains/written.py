"""Models without the customers that stand for servers that are away, as files state them: with
`breakdown` and `schedule` of stations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

from slipstick.expression.nodes import Expr, constant
from slipstick.model.absences import Absence
from slipstick.model.activity import Step, map_steps
from slipstick.model.network import NetworkStation, QueueingNetwork
from slipstick.model.steps import Activity, distinct_activities
from slipstick.model.system import Model, Station, population_of_groups
from slipstick_chains.breakdowns import BREAKDOWN, FINISHED, SCHEDULE, arithmetic_name

KeysByStation = Mapping[str, Mapping[str, Any]]
"""By the name of a station: its `breakdown` as two times, and its `schedule` as pairs of a duration
[s] and a number of servers.
"""


class ExpressionWriter(Protocol):
    """The interface of an object that writes expressions as the plain data of a file; this package
    knows no files.
    """

    def expr_as_data(self, value: Expr) -> str | float:
        """Return an expression as plain data."""
        ...


KeysOfFile = Callable[[str, ExpressionWriter], dict[str, Any]]
"""Function that returns the keys of a station's breakdown and schedule as the plain data of a
file.
"""


def _keys_of_file(keys_by_station: KeysByStation, stations: Mapping[str, Any]) -> KeysOfFile:
    """Return the function that writes breakdowns and schedules as keys of stations in a file."""

    def keys_of_station(station_name: str, writer: ExpressionWriter) -> dict[str, Any]:
        """Return the keys of a station that state its breakdown and its schedule."""
        station_keys = dict(keys_by_station.get(station_name, {}))
        if BREAKDOWN in station_keys:
            mean_up_time, mean_repair_time = map(writer.expr_as_data, station_keys[BREAKDOWN])
            station_keys[BREAKDOWN] = {"every": mean_up_time, "repair": mean_repair_time}
        if SCHEDULE in station_keys:
            station_keys[SCHEDULE] = [
                {"lasts": f"{duration!r} s", "servers": servers}
                for duration, servers in station_keys[SCHEDULE]
            ]
        if station_keys and getattr(stations[station_name], "discipline", "") == FINISHED:
            station_keys["finish_service"] = True
        return station_keys

    return keys_of_station


def network_as_written(network: QueueingNetwork) -> tuple[QueueingNetwork, KeysOfFile]:
    """Return a network without the classes that stand for servers that are away, and the function
    that writes the keys of stations by which a file states these servers.

    Parameters
    ----------
    network : with breakdowns or schedules

    >>> from slipstick.model.network import network, open_class, station
    >>> from slipstick.schema.kinds.quantity import QuantityWriter
    >>> from slipstick_chains.schedules import network_with_schedules
    >>> desk = network({"calls": open_class(0.5)}, {"desk": station(service={"calls": 1.0})})
    >>> written, keys = network_as_written(
    ...     network_with_schedules(desk, {"desk": [(8.0, 1), (4.0, 2), (12.0, 0)]})
    ... )
    >>> written.class_names, written.stations["desk"].discipline
    (('calls',), 'fcfs')
    >>> keys("desk", QuantityWriter())["schedule"][0]
    {'lasts': '8.0 s', 'servers': 1}
    """
    if not network.absences:
        return network, _keys_of_file({}, {})
    absences = network.absences
    delay_stations = {absence.delay for absence in absences.values()}
    server_count_by_station = {name: station.servers for name, station in network.stations.items()}
    keys_by_station = _keys_by_station(absences, server_count_by_station)

    def numbers_without_absences(number_by_class: Mapping[str, Expr]) -> dict[str, Expr]:
        """Return the numbers of customer classes, without the classes that stand for servers that
        are away.
        """
        return {
            name: number_expression
            for name, number_expression in number_by_class.items()
            if name not in absences
        }

    def station_as_written(name: str, station: NetworkStation) -> NetworkStation:
        """Return a station as a file states it, without classes of servers that are away."""
        ranks = {
            class_name: rank - len(keys_by_station[name])
            for class_name, rank in station.priority.items()
            if class_name not in absences
        }
        return replace(
            station,
            discipline=station.discipline if any(ranks.values()) else "fcfs",
            servers=1 if SCHEDULE in keys_by_station[name] else station.servers,
            priority=ranks if any(ranks.values()) else {},
            service=numbers_without_absences(station.service),
            scv=numbers_without_absences(station.scv),
        )

    network_of_customers = replace(
        network,
        classes={name: network.classes[name] for name in network.classes if name not in absences},
        stations={
            name: station_as_written(name, station) if name in keys_by_station else station
            for name, station in network.stations.items()
            if name not in delay_stations
        },
        amounts=_amounts_as_written(network.amounts, keys_by_station),
        absences={},
    )
    return network_of_customers, _keys_of_file(keys_by_station, network.stations)


def model_as_written(model: Model) -> tuple[Model, KeysOfFile]:
    """Return a model without the groups that stand for servers that are away, and the function that
    writes the keys of stations by which a file states these servers.

    Parameters
    ----------
    model : with breakdowns or schedules, or without, of which the file has the whole

    >>> from slipstick.expression.nodes import TIME, Parameter
    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> from slipstick.schema.kinds.quantity import QuantityWriter
    >>> from slipstick_chains.breakdowns import Breakdown, model_with_breakdowns
    >>> plain = closed_model(delay(4.0, name="think") >> service("disk", 1.0), processors=2)
    >>> times = Breakdown(Parameter("up", TIME, 20.0), Parameter("down", TIME, 5.0))
    >>> written, keys = model_as_written(model_with_breakdowns(plain, {"disk": times}))
    >>> written.population.group_names, keys("disk", QuantityWriter())
    (['processors'], {'breakdown': {'every': 'up', 'repair': 'down'}})
    """
    if not model.absences:
        return model, _keys_of_file({}, {})
    server_count_by_station = {
        name: resource.servers
        for name, resource in model.resources.items()
        if isinstance(resource, Station)
    }
    keys_by_station = _keys_by_station(model.absences, server_count_by_station)

    def step_as_written(step: Step) -> Step:
        """Return a step with its rank among the customers alone."""
        absence_ranks = len(keys_by_station.get(step.resource or "", ()))
        return replace(step, rank=step.rank - absence_ranks) if absence_ranks else step

    rebuilt_by_id: dict[int, Activity] = {}
    groups = [
        replace(group, cycle=map_steps(group.cycle, step_as_written, rebuilt_by_id=rebuilt_by_id))
        for group in model.customer_groups
    ]
    ranked_resources = {
        node.resource
        for node in distinct_activities([group.cycle for group in groups])
        if isinstance(node, Step) and node.rank
    }
    resources = {
        name: replace(
            resource,
            discipline=resource.discipline if name in ranked_resources else "fcfs",
            servers=1 if SCHEDULE in keys_by_station[name] else resource.servers,
        )
        if isinstance(resource, Station) and name in keys_by_station
        else resource
        for name, resource in model.resources.items()
    }
    model_of_customers = replace(
        model,
        population=population_of_groups(groups),
        resources=resources,
        amounts=_amounts_as_written(model.amounts, keys_by_station),
        absences={},
    )
    return model_of_customers, _keys_of_file(keys_by_station, model.resources)


def _keys_by_station(
    absences: Mapping[str, Absence], server_count_by_station: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return, by station, the keys that state why its servers go away."""
    keys_by_station: dict[str, dict[str, Any]] = {}
    for absence in absences.values():
        station_keys = keys_by_station.setdefault(absence.station, {})
        station_keys[absence.by] = absence.start, absence.length
    for name, station_keys in keys_by_station.items():
        if SCHEDULE in station_keys:
            schedule_absences = [
                absence
                for absence in absences.values()
                if (absence.station, absence.by) == (name, SCHEDULE)
            ]
            station_keys[SCHEDULE] = _parts_of_period(
                schedule_absences, server_count_by_station[name]
            )
    return keys_by_station


def _parts_of_period(absences: Sequence[Absence], server_count: int) -> list[tuple[float, int]]:
    """Return the parts of a period of a schedule, each with its duration [s] and the number of
    servers on duty.
    """
    absence_spans = [
        (constant(absence.start), constant(absence.start) + constant(absence.length))
        for absence in absences
    ]
    period = 1 / constant(absences[0].rate)
    # Those who are away beyond the end of a period are so at the beginning of the next, too.
    absence_spans += [
        (absence_start - period, absence_end - period)
        for absence_start, absence_end in absence_spans
    ]
    times_within_period = {
        span_end
        for absence_span in absence_spans
        for span_end in absence_span
        if 0 < span_end < period
    }
    times = [0.0, *sorted(times_within_period), period]
    schedule: list[tuple[float, int]] = []
    for part_start, part_end in pairwise(times):
        on_duty_count = server_count - sum(
            absence_start <= part_start < absence_end
            for absence_start, absence_end in absence_spans
        )
        schedule.append((part_end - part_start, on_duty_count))
    return schedule


def _amounts_as_written(
    amounts: Mapping[str, Expr], keys_by_station: KeysByStation
) -> dict[str, Expr]:
    """Return the amounts of a model without those that breakdowns and schedules add."""
    amount_kinds_by_reason = {BREAKDOWN: ("availability",), SCHEDULE: ("on_duty", "busy")}
    added_names = {
        f"{kind}_{arithmetic_name(name)}"
        for name, keys in keys_by_station.items()
        for key in keys
        for kind in amount_kinds_by_reason[key]
    }
    return {name: amount for name, amount in amounts.items() if name not in added_names}
