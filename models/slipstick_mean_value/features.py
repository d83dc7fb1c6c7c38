"""Features of a model, at its own values, on which the error of mean value depends.

They depend on several steps together. One request in fifty that takes long makes the scv of all
services at a station 80 although each time is exponential; and no single step shows that visits
follow each other at once, or that holders of a lock share a station with others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from slipstick.expression.nodes import Expr
from slipstick.late import Array, dataclass, field
from slipstick.model.system import Model, Station
from slipstick.structure.visits import Places, VisitTree, mean_service, visit_trees
from slipstick.vocabulary import DISCIPLINES, OVERTAKING_DISCIPLINES
from slipstick_mean_value.queues import Queue, queues_of
from slipstick_mean_value.traversal import Traversal, cycle_time

HIGH_UTILIZATION = 0.5
"""Utilization of a station of a stream above which the spread of arrivals matters [1]."""

LOW_LOAD = 0.25
"""Load of a station, the work of all processors there in the time of one cycle without waits, up to
which the station is seldom used [1].
"""

UNLIKE_ONE = 0.5
"""Difference of a squared coefficient of variation from 1 above which departures are not taken as
random [1].
"""


@dataclass(frozen=True, slots=True)
class Features:
    """Properties of a model on which the error of mean value depends.

    Parameters
    ----------
    served_scv : by station, the squared coefficient of variation of all that it serves [1]
    stations_in_a_row : stations at which unlike services follow each other at once
    overtaken_stations : those of `stations_in_a_row` that are used by an open stream and have
        several servers or another discipline than first come first served
    stations_under_locks_and_outside : stations that are used both under a lock or permits and
        outside, with a load above `LOW_LOAD`
    stations_shared_by_holders : stations that holders of a lock or permits share with another group
    stations_after_stations : busy stations of an open stream, if it has several of them and the
        services at one are far from exponential
    """

    served_scv: Mapping[str, float] = field(default_factory=dict)
    stations_in_a_row: tuple[str, ...] = ()
    overtaken_stations: tuple[str, ...] = ()
    stations_under_locks_and_outside: tuple[str, ...] = ()
    stations_shared_by_holders: tuple[str, ...] = ()
    stations_after_stations: tuple[str, ...] = ()


def features(model: Model, value_by_expr: Mapping[Expr, Array]) -> Features:
    """Compute the features of a model at one point by which the error of its mean values is judged,
    such as the scv of what each station serves and unlike visits in a row.

    Parameters
    ----------
    model : the system
    value_by_expr : every number of the model [1 point]
    """
    trees = visit_trees(model.bodies, model)
    places = Places()
    for tree in trees:
        # A processor begins its next cycle at once; a customer of a stream leaves.
        places.add(tree.root, value_by_expr, is_repeated=not model.population.open)
    queues = [
        queue
        for queue in queues_of(model, trees, {})
        if isinstance(model.resources.get(queue.name), Station)
    ]
    scv_by_station = {queue.name: _served_scv(queue, trees, value_by_expr) for queue in queues}
    stations_in_a_row = tuple(
        queue.name for queue in queues if _has_unlike_visits_in_a_row(queue, places)
    )
    overtaken_stations = [
        queue.name
        for queue in queues
        if model.population.open and (queue.servers > 1 or _allows_overtaking(model, queue.name))
    ]
    return Features(
        scv_by_station,
        stations_in_a_row,
        tuple(
            station_name for station_name in stations_in_a_row if station_name in overtaken_stations
        ),
        tuple(
            queue.name
            for queue in queues
            if len({bool(visit.held_resources) for visit in queue.visits}) > 1
            and _largest_load(model, queue, trees, value_by_expr) > LOW_LOAD
        ),
        tuple(queue.name for queue in queues if _is_held_beside_others(queue, trees)),
        _stations_after_stations(model, queues, trees, scv_by_station, value_by_expr),
    )


def _largest_load(
    model: Model, queue: Queue, trees: Sequence[VisitTree], value_by_expr: Mapping[Expr, Array]
) -> float:
    """Return the largest load that one group can offer to a station [1]: the service demand of its
    processors in a cycle, for each server, over the time of a cycle without waits.
    """
    processors = max(
        (
            float(value_by_expr[count_expr].flat[0].real)
            for count_expr in model.population.processor_counts
        ),
        default=1.0,
    )
    loads = [0.0]
    for tree in trees:
        cycle_time_alone = cycle_time(Traversal(model, value_by_expr, 1, {}), tree.root).mean
        visit_ratios = tree.visit_ratios(value_by_expr)
        work_of_cycle = sum(
            float(
                (visit_ratios[visit.index] * mean_service(visit.step, value_by_expr)).flat[0].real
            )
            for visit in queue.visits
            if visit.index in visit_ratios and visit.step is not None
        )
        time_alone = float(cycle_time_alone.flat[0].real)
        # A cycle without waits is the shortest one, so that the load is the largest.
        loads.append(
            processors * work_of_cycle / queue.servers / time_alone if time_alone > 0 else 0.0
        )
    return max(loads)


def _allows_overtaking(model: Model, station_name: str) -> bool:
    """Return whether the discipline of a station lets a later arrival overtake an earlier one."""
    station = model.resources[station_name]
    return isinstance(station, Station) and station.discipline in OVERTAKING_DISCIPLINES


def _served_scv(
    queue: Queue, trees: Sequence[VisitTree], value_by_expr: Mapping[Expr, Array]
) -> float:
    """Return the squared coefficient of variation of all service times at a station [1]. Each group
    has the weight of its visits in one cycle.
    """
    visit_sum = service_sum = square_sum = 0.0
    for tree in trees:
        visit_ratios = tree.visit_ratios(value_by_expr)
        for visit in queue.visits:
            if visit.index in visit_ratios and visit.step is not None:
                visits_of_cycle = float(visit_ratios[visit.index].flat[0].real)
                mean_time = float(mean_service(visit.step, value_by_expr).flat[0].real)
                visit_sum += visits_of_cycle
                service_sum += visits_of_cycle * mean_time
                # E S^2 = (1 + scv) m^2 of each visit.
                square_sum += visits_of_cycle * mean_time * mean_time * (1 + visit.step.scv)
    return (
        visit_sum * square_sum / (service_sum * service_sum) - 1
        if 0 < service_sum * service_sum < math.inf
        else 0.0
    )


def _has_unlike_visits_in_a_row(queue: Queue, places: Places) -> bool:
    """Return whether visits to a queue immediately follow each other and do not all have the same
    exponential service.
    """
    visit_indices = {visit.index for visit in queue.visits}
    successive_steps = (
        (places.visits[earlier_place].step, places.visits[later_place].step)
        for earlier_place, later_place in places.return_counts
        if places.visits[earlier_place].index in visit_indices
    )
    return not queue.serves_at_once and any(
        first_step is not None
        and second_step is not None
        and (first_step.time != second_step.time or first_step.scv != 1.0)
        for first_step, second_step in successive_steps
    )


def _is_held_beside_others(queue: Queue, trees: Sequence[VisitTree]) -> bool:
    """Return whether several groups use a station, some of them while they hold a lock or
    permits.
    """
    visit_indices = {visit.index for visit in queue.visits}
    visits_by_group = [
        [visit for visit in tree.visits if visit.index in visit_indices] for tree in trees
    ]
    visits_of_users = [visits for visits in visits_by_group if visits]
    return len(visits_of_users) > 1 and any(
        visit.held_resources for visits in visits_of_users for visit in visits
    )


def _stations_after_stations(
    model: Model,
    queues: Sequence[Queue],
    trees: Sequence[VisitTree],
    scv_by_station: Mapping[str, float],
    value_by_expr: Mapping[Expr, Array],
) -> tuple[str, ...]:
    """List the stations of open streams with a utilization above `HIGH_UTILIZATION`, if there are
    several of them and the services at one are far from exponential; else none.
    """
    if not model.population.open:
        return ()
    flow_by_visit = {
        visit_index: value_by_expr[rate] * ratio
        for (rate, _), tree in zip(model.population.streams, trees, strict=True)
        for visit_index, ratio in tree.visit_ratios(value_by_expr).items()
    }
    busy_queues = []
    for queue in queues:
        station = model.resources[queue.name]
        assert isinstance(station, Station)
        arriving_work = sum(
            float(
                (flow_by_visit[visit.index] * mean_service(visit.step, value_by_expr)).flat[0].real
            )
            for visit in queue.visits
            if visit.step is not None
        )
        if (
            arriving_work / queue.servers > HIGH_UTILIZATION
            and not DISCIPLINES[station.discipline].delay
        ):
            busy_queues.append(queue)
    has_unlike_services = any(
        not queue.serves_at_once and abs(scv_by_station[queue.name] - 1) > UNLIKE_ONE
        for queue in busy_queues
    )
    return (
        tuple(queue.name for queue in busy_queues)
        if len(busy_queues) > 1 and has_unlike_services
        else ()
    )
