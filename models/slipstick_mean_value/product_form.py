"""Product form of closed activities: the points at which it holds, and the queueing network with
the same mean values. In this network groups are classes, and all visits of a group to one station
are one visit with the sum of their services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Flags
from slipstick.late import np
from slipstick.model.activity import Choice, Then
from slipstick.model.steps import BY_STATE, NOTHING, SERVED, Activity, is_parallel, steps
from slipstick.model.system import INFINITE, Model, Station
from slipstick.random_times import Array, RandomTime, sum_of_columns, without_zeros
from slipstick.structure.visits import Numbers, VisitedHold, VisitedStep, VisitTree
from slipstick_mean_value.queues import Queue

if TYPE_CHECKING:
    from slipstick.queueing.network import NetworkArrays

ROUNDING = 1e-12
"""Relative difference of two service times up to which they are the same, as in the solvers."""


def service_times_to_be_equal(
    model: Model, trees: Sequence[VisitTree], queues: Sequence[Queue]
) -> list[tuple[Expr, ...]] | None:
    """Return for each station the service times that must be equal for product form; None if the
    model has no product form at any parameter values.

    The cycles may have only steps, choices and repeats. At a station whose discipline does not
    depend on the class, all groups need the same exponential service time; at shared servers they
    may have any times. A lock that is held for one exponential delay is a station of the first
    kind.

    Source: Baskett, Chandy, Muntz and Palacios, J. ACM 22(2), 1975, 248-260.
    """
    nodes = [node for tree in trees for node in steps(tree.root)]
    lock_holds = [node for node in nodes if isinstance(node, VisitedHold)]
    if not all(map(is_plain, nodes)):
        return None
    times_by_station: list[tuple[Expr, ...]] = []
    for queue in queues:
        resource = model.resources.get(queue.name)
        if (
            queue.is_spin_lock
            or queue.order
            or not (queue.is_lock or isinstance(resource, Station))
        ):
            return None
        steps_under_lock = [
            node.body.step
            for node in lock_holds
            if node.visit in queue.visits and isinstance(node.body, VisitedStep)
        ]
        steps_served = steps_under_lock or [
            visit.step for visit in queue.visits if visit.step is not None
        ]
        # A queue that is not shared has product form only with exponential services; shared servers
        # take any.
        if not (queue.serves_at_once or all(step.scv == 1.0 for step in steps_served)):
            return None
        distinct_times = dict.fromkeys(step.time for step in steps_served)
        times_by_station.append(() if queue.serves_at_once else tuple(distinct_times))
    return times_by_station


def has_product_form(model: Model, trees: Sequence[VisitTree], queues: Sequence[Queue]) -> bool:
    """Return whether all stations of the cycles have product form at all parameter values."""
    equal_times = service_times_to_be_equal(model, trees, queues)
    return equal_times is not None and all(len(times) <= 1 for times in equal_times)


def product_form_points(
    model: Model, trees: Sequence[VisitTree], queues: Sequence[Queue], value_by_expr: Numbers
) -> Flags:
    """Return for each point whether all stations of the cycles have product form there [points].

    Service times may be equal at a point and differ in a derivative; such a point does not count as
    one in product form.
    """
    equal_times_by_station = service_times_to_be_equal(model, trees, queues)
    is_in_product_form = np.full(
        len(next(iter(value_by_expr.values()))), equal_times_by_station is not None
    )
    for first_time, *equal_times in filter(None, equal_times_by_station or ()):
        for equal_time in equal_times:
            difference = np.abs(value_by_expr[first_time].real - value_by_expr[equal_time].real)
            is_in_product_form &= difference <= ROUNDING * np.abs(value_by_expr[first_time].real)
            # The imaginary part carries a derivative: times that are equal but change differently
            # leave product form with the first step.
            is_in_product_form &= value_by_expr[first_time].imag == value_by_expr[equal_time].imag
    return is_in_product_form


def arrivals_are_poisson(model: Model, trees: Sequence[VisitTree], queues: Sequence[Queue]) -> bool:
    """Return whether all stations have Poisson arrivals, so that the formula of Pollaczek and
    Khinchine holds at each of them. That is so if customers of streams visit one station at most,
    and it has one server, shared or not, or infinitely many servers.

    A stream that is split at random, or delayed by independent times, stays Poisson. The mean wait
    is that of the order of arrival in any order that looks at no service time.

    Source: Kleinrock, Queueing Systems I, Wiley 1975, chapter 5; Mirasol, Operations Research
    11(5), 1963, 785-786 (delays).
    """
    if not model.population.open or any(_most_visits(tree.root) > 1 for tree in trees):
        return False
    stations = [model.resources.get(queue.name) for queue in queues]
    return all(isinstance(station, Station) for station in stations) and all(
        queue.servers == 1 or queue.servers >= INFINITE for queue in queues
    )


def _most_visits(node: Activity) -> int:
    """Return the largest number of visits to stations that a customer can make in an activity. The
    result is 2 for any larger number, and for activities with other parts than steps, choices and
    sequences.
    """
    if isinstance(node, VisitedStep):
        return int(node.visit is not None)
    visit_counts = [_most_visits(child) for child in node.children]
    if isinstance(node, Choice):
        return max(visit_counts, default=0)
    return min(sum(visit_counts), 2) if isinstance(node, Then) else 2


def is_plain(node: Activity) -> bool:
    """Return whether a node is compatible with product form: its children are executed one after
    the other, as often as the node states, whatever other customers do.
    """
    if isinstance(node, VisitedHold):
        return isinstance(node.body, VisitedStep) and node.body.visit is None
    is_in_turn = node.use in (NOTHING, SERVED) and not is_parallel(node)
    return is_in_turn and BY_STATE not in node.executions


def network_of_groups(
    trees: Sequence[VisitTree],
    queues: Sequence[Queue],
    value_by_expr: Numbers,
    member_counts: Sequence[int],
    times_and_services: Sequence[tuple[Array, dict[int, Array]]],
) -> NetworkArrays:
    """Return the queueing network of a model whose groups only visit stations.

    Parameters
    ----------
    trees : the visits of each group
    queues : queues of the model, all of which have product form at these points
    value_by_expr : every number of the model [points]
    member_counts : number of processors of each group
    times_and_services : for each group the time of a cycle without waits, and the services by the
        index of the visit [s] [points]
    """
    # The solver of queueing networks is imported only where it is needed.
    from slipstick.queueing.network import network_arrays

    point_count = len(next(iter(value_by_expr.values())))
    demand_by_group = []
    think_times = []
    for tree, (time, service_by_visit) in zip(trees, times_and_services, strict=True):
        visit_ratios = tree.visit_ratios(value_by_expr)
        work_by_queue = [
            sum_of_columns(
                visit_ratios[visit.index] * service_by_visit[visit.index]
                for visit in tree.visits
                if visit.queue == queue.name
            )
            for queue in queues
        ]
        work_and_times = np.broadcast_arrays(*work_by_queue, time, np.zeros(point_count))
        demand = np.stack(work_and_times[:-2], axis=-1) if queues else np.zeros((point_count, 0))
        think_times.append(think_time(work_and_times[-2], demand))
        demand_by_group.append(demand)
    demand_table = np.stack(demand_by_group, axis=1)
    think_table = np.stack(think_times, axis=-1)
    takes_time = (demand_table.sum(axis=-1) + think_table).real > 0
    return network_arrays(
        demand_table,
        # A group whose cycle takes no time would have infinitely many cycles; it is left out.
        population=takes_time * np.asarray(member_counts),
        think=think_table,
        discipline=["is" if queue.servers >= INFINITE else "ps" for queue in queues],
        servers=[queue.servers for queue in queues],
    )


def think_time(cycle_time: Array, demand: Array) -> Array:
    """Return the part of a cycle that is spent at no station [s, points].

    Parameters
    ----------
    cycle_time : without waits [s, points]
    demand : service at each station [s, points, stations]
    """
    time_left = cycle_time - demand.sum(axis=-1)
    # Rounding errors may leave a time slightly below or above 0.
    time_away: Array = np.where(time_left.real > 1e-14 * cycle_time.real, time_left, 0 * time_left)
    return time_away


def service_arrays(
    trees: Sequence[VisitTree],
    queues: Sequence[Queue],
    value_by_expr: Numbers,
    services_by_group: Sequence[Mapping[int, RandomTime]],
) -> tuple[Array, Array, Array]:
    """Return the visits of each group to each station in a cycle [1], and the mean [s] and the
    squared coefficient of variation [1] of their services, each [points, groups, stations]. The
    service is that of a random visit of the group to the station.
    """
    point_count = len(next(iter(value_by_expr.values())))
    array_shape = (point_count, len(trees), len(queues))
    visit_sums, work_sums, square_sums = np.zeros((3, *array_shape), dtype=complex)
    for group_index, (tree, services) in enumerate(zip(trees, services_by_group, strict=True)):
        visit_ratios = tree.visit_ratios(value_by_expr)
        for queue_index, queue in enumerate(queues):
            for visit in (visit for visit in tree.visits if visit.queue == queue.name):
                visit_ratio, service = visit_ratios[visit.index], services[visit.index]
                array_index = (slice(None), group_index, queue_index)
                visit_sums[array_index] += visit_ratio
                work_sums[array_index] += visit_ratio * service.mean
                square_sums[array_index] += visit_ratio * (service.mean**2 + service.variance)
    mean_service = work_sums / without_zeros(visit_sums)
    scv = np.where(
        mean_service.real > 0, square_sums / without_zeros(visit_sums * mean_service**2) - 1, 1.0
    )
    if not (visit_sums.imag.any() or work_sums.imag.any()):
        visit_sums, mean_service = visit_sums.real, mean_service.real
    return visit_sums, mean_service, scv.real
