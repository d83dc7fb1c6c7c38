"""Streams of customers beside groups of processors, at stations: exactly in product form, else by
Linearizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import np
from slipstick.method.activity_form import ActivityTable
from slipstick.method.activity_numbers import (
    MOST_PROCESSORS,
    reasons_not_whole,
    reasons_out_of_range,
)
from slipstick.model.steps import steps
from slipstick.model.system import Model, Station
from slipstick.random_times import Array, RandomTime, sum_of_columns, without_zeros
from slipstick.structure.contention import saturated_text
from slipstick.structure.visits import Numbers, VisitTree
from slipstick.vocabulary import DISCIPLINES
from slipstick_mean_value.arrivals import ArrivalState
from slipstick_mean_value.closed import MeanNumbers, Recursion, SolvedPopulation, select_points
from slipstick_mean_value.product_form import (
    is_plain,
    product_form_points,
    service_arrays,
    think_time,
)
from slipstick_mean_value.queues import Queue
from slipstick_mean_value.states import CycleState, PopulationState
from slipstick_mean_value.traversal import Traversal, VisitTimes

if TYPE_CHECKING:
    from slipstick.queueing.network import NetworkArrays, NetworkSolution


def solve_mixed(model: Model, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
    """Solve groups of processors and streams of customers that share stations, at all points; time
    and account describe the first group.

    In product form the exact solver of queueing networks answers: at a server with a load U of the
    streams the services of processors take 1 / (1 - U) times as long. Elsewhere the approximate
    solver Linearizer answers, with the streams as classes of given throughputs: an arriving
    customer finds the mean queues of all classes, without itself in its own group. Its error is
    that of the construct "arrivals beside processors" of benchmarks/mean_value.py.

    Source: Zahorjan and Wong, ACM Sigmetrics Performance Evaluation Review 10(3), 1981, 80-85
    (mixed networks); `slipstick.queueing.approximate` (Linearizer).

    Parameters
    ----------
    model : with a `ClosedPopulation` in which some groups arrive
    value_by_expr : every number of the model [points]
    with_account : also find the account and the use of each queue

    Raises
    ------
    NoAnswerError : customers do anything else than to visit stations, one after the other
    """
    recursion = Recursion(model, model.bodies)
    _refuse_all_but_stations(recursion)
    groups = model.population.groups
    table = ActivityTable(
        np.array(value_by_expr[groups[0].processors]),
        _impossible_count_reasons(model, value_by_expr)
        | reasons_out_of_range(model, value_by_expr),
    )
    table.reason_by_point |= _saturation_reasons(recursion, value_by_expr)
    is_in_product_form = product_form_points(
        model, recursion.trees, recursion.queues, value_by_expr
    )
    for is_exact in (True, False):
        _solve_points(
            table,
            recursion,
            value_by_expr,
            table.answerable_points[is_in_product_form[table.answerable_points] == is_exact],
            is_exact,
            with_account,
        )
    return table


def _refuse_all_but_stations(recursion: Recursion) -> None:
    """Raise if the cycles have other activities than steps, choices, sequences and repetitions, or
    if they use other resources than stations.
    """
    nodes = (node for tree in recursion.trees for node in steps(tree.root))
    unsupported_kinds = [node.kind for node in nodes if not is_plain(node)]
    other_resources = [
        queue.name
        for queue in recursion.queues
        if queue.is_lock or not isinstance(recursion.model.resources.get(queue.name), Station)
    ]
    if unsupported_kinds or other_resources:
        raise NoAnswerError(
            "beside processors, mean-value takes streams of customers at stations alone, but"
            f" {recursion.model.name} uses {(other_resources or unsupported_kinds)[0]}; simulate it"
        )


def _impossible_count_reasons(model: Model, value_by_expr: Numbers) -> dict[int, str]:
    """Return, by the index of the point, why a number of processors of a group is impossible
    there.
    """
    reason_by_point: dict[int, str] = {}
    for group_index, group in enumerate(model.population.groups):
        if group.arrivals is None:
            reason_by_point |= reasons_not_whole(
                value_by_expr[group.processors],
                f"the processors of group {group.name}",
                least_count=int(group_index == 0),
                most_count=MOST_PROCESSORS,
            )
    return reason_by_point


def _arrival_rates(recursion: Recursion, value_by_expr: Numbers) -> list[Array | None]:
    """Return the rate of arrivals of each group [1/s]; None for a group of processors."""
    return [
        None if group.rate is None else value_by_expr[group.rate]
        for group in recursion.model.population.groups
    ]


def _saturation_reasons(recursion: Recursion, value_by_expr: Numbers) -> dict[int, str]:
    """Return, by the index of the point, why the streams alone saturate a station."""
    flow_by_visit: dict[int, Array] = {}
    service_by_visit: dict[int, Array] = {}
    for tree, rate in zip(recursion.trees, _arrival_rates(recursion, value_by_expr), strict=True):
        if rate is not None:
            _, services = _times_alone(recursion, tree, value_by_expr)
            service_by_visit |= {
                visit_index: service.mean for visit_index, service in services.items()
            }
            flow_by_visit |= {
                visit_index: rate * visit_ratio
                for visit_index, visit_ratio in tree.visit_ratios(value_by_expr).items()
            }
    reason_by_point: dict[int, str] = {}
    for queue in recursion.queues:
        visit_indices = [visit.index for visit in queue.visits if visit.index in flow_by_visit]
        total_visit_rate = sum_of_columns(
            flow_by_visit[visit_index] for visit_index in visit_indices
        )
        arriving_work = sum_of_columns(
            flow_by_visit[visit_index] * service_by_visit[visit_index]
            for visit_index in visit_indices
        )
        load_of_server = np.atleast_1d((arriving_work / queue.servers).real)
        for point_index in np.flatnonzero(load_of_server >= 1).tolist():
            reason = saturated_text(
                recursion.model,
                queue.name,
                float(total_visit_rate[point_index].real),
                float(load_of_server[point_index]),
            )
            reason_by_point.setdefault(point_index, reason)
    return reason_by_point


def _times_alone(
    recursion: Recursion, tree: VisitTree, value_by_expr: Numbers
) -> tuple[RandomTime, dict[int, RandomTime]]:
    """Return the time of a group's cycle without waits, and the service time at each visit, by the
    index of the visit.
    """
    traversal = Traversal(recursion.model, value_by_expr, 1, {})
    return traversal.time(tree.root), traversal.visit_times.services


def _solve_points(
    table: ActivityTable,
    recursion: Recursion,
    value_by_expr: Numbers,
    point_indexes: Array,
    is_exact: bool,
    with_account: bool,
) -> None:
    """Solve some points together, or each alone where that fails, and write their answers into the
    table.

    Parameters
    ----------
    table : table of the answers at all points
    recursion : the recursion of the model
    value_by_expr : every number of the model [points]
    point_indexes : indexes of the points to solve
    is_exact : whether these points have product form
    with_account : also write the account and the use of each queue
    """
    if not len(point_indexes):
        return
    values_at_points = select_points(value_by_expr, point_indexes)
    times_and_services = [
        _times_alone(recursion, tree, values_at_points) for tree in recursion.trees
    ]
    try:
        relative_waits = _waits_by_group(recursion, values_at_points, times_and_services, is_exact)
    except (NoAnswerError, ModelError) as error:
        if len(point_indexes) == 1:
            table.refuse({int(point_indexes[0]): str(error)}, another_may_answer=True)
            return
        for point_index in point_indexes:
            _solve_points(
                table, recursion, value_by_expr, np.array([point_index]), is_exact, with_account
            )
        return
    mean_numbers = MeanNumbers()
    cycles: list[CycleState] = []
    groups = recursion.model.population.groups
    for group, tree, (time, services), wait_by_visit, rate in zip(
        groups,
        recursion.trees,
        times_and_services,
        relative_waits,
        _arrival_rates(recursion, values_at_points),
        strict=True,
    ):
        visit_ratios = tree.visit_ratios(values_at_points)
        mean_time = time.mean + sum_of_columns(
            visit_ratios[visit_index] * wait.mean for visit_index, wait in wait_by_visit.items()
        )
        cycles.append(
            CycleState(1, RandomTime(mean_time, time.variance), VisitTimes(wait_by_visit, services))
        )
        cycle_rate = (
            values_at_points[group.processors] / without_zeros(mean_time) if rate is None else rate
        )
        mean_numbers.add_group(visit_ratios, cycle_rate, cycles[-1].visit_times)
    row_by_point: Array = np.arange(len(point_indexes))
    solved_population = SolvedPopulation(
        PopulationState(1, tuple(cycles), ArrivalState()),
        values_at_points,
        point_indexes,
        row_by_point,
    )
    table.fill_in(
        point_indexes,
        row_by_point,
        cycles[0].time.mean,
        time_by_label=recursion.account(solved_population) if with_account else {},
        use_by_queue=mean_numbers.use_by_queue(recursion.queues, 1) if with_account else {},
        time_by_group={
            group.name: cycle.time.mean for group, cycle in zip(groups, cycles, strict=True)
        },
    )


def _waits_by_group(
    recursion: Recursion,
    value_by_expr: Numbers,
    times_and_services: Sequence[tuple[RandomTime, Mapping[int, RandomTime]]],
    is_exact: bool,
) -> list[dict[int, RandomTime]]:
    """Return the wait at each visit of each group. Its variance is left at 0, because only maxima
    of times read it, and cycles at stations alone have none.

    Parameters
    ----------
    times_and_services : result of `_times_alone` for each group
    is_exact : whether the points have product form
    """
    from slipstick.queueing.approximate import linearizer
    from slipstick.queueing.exact import exact

    network = _network_of_groups(recursion, value_by_expr, times_and_services, is_exact)
    solution: NetworkSolution = (exact if is_exact else linearizer)(network)
    wait_by_queue = solution.residence - network.demand
    waits_by_group: list[dict[int, RandomTime]] = []
    for group_index, (tree, (_, services)) in enumerate(
        zip(recursion.trees, times_and_services, strict=True)
    ):
        wait_by_visit: dict[int, RandomTime] = {}
        for queue_index, queue in enumerate(recursion.queues):
            total_wait = wait_by_queue[:, group_index, queue_index]
            demand = network.demand[:, group_index, queue_index]
            visit_ratios = network.visits[:, group_index, queue_index]
            for visit in (visit for visit in tree.visits if visit.queue == queue.name):
                # Customers of a shared server wait in proportion to their services.
                mean_wait = (
                    total_wait * services[visit.index].mean / without_zeros(demand)
                    if queue.serves_at_once or is_exact
                    else total_wait / without_zeros(visit_ratios)
                )
                wait_by_visit[visit.index] = RandomTime(mean_wait, 0 * mean_wait)
        waits_by_group.append(wait_by_visit)
    return waits_by_group


def _network_of_groups(
    recursion: Recursion,
    value_by_expr: Numbers,
    times_and_services: Sequence[tuple[RandomTime, Mapping[int, RandomTime]]],
    is_exact: bool,
) -> NetworkArrays:
    """Return a queueing network whose classes are the groups and streams of the model."""
    from slipstick.queueing.network import network_arrays

    groups = recursion.model.population.groups
    point_count = len(next(iter(value_by_expr.values())))
    visit_ratios, mean_services, scv = service_arrays(
        recursion.trees,
        recursion.queues,
        value_by_expr,
        [services for _, services in times_and_services],
    )
    demand_by_group = np.moveaxis(visit_ratios * mean_services, 1, 0)
    cycle_times = [np.broadcast_to(time.mean, point_count) for time, _ in times_and_services]
    think_times = np.stack(list(map(think_time, cycle_times, demand_by_group)), axis=-1)
    takes_time = ((visit_ratios * mean_services).sum(axis=-1) + think_times).real > 0
    no_arrivals = np.zeros(point_count)
    arrival_rates = [
        no_arrivals if rate is None else rate for rate in _arrival_rates(recursion, value_by_expr)
    ]
    processor_counts = [np.rint(value_by_expr[group.processors].real) for group in groups]
    return network_arrays(
        mean_services,
        visit_ratios,
        population=takes_time * np.stack(processor_counts, axis=-1),
        arrivals=np.stack(arrival_rates, axis=-1),
        closed=[group.arrivals is None for group in groups],
        think=think_times,
        discipline=[
            _discipline_of_station(recursion.model, queue, is_exact) for queue in recursion.queues
        ],
        servers=[queue.servers for queue in recursion.queues],
        scv=scv,
        stations=[queue.name for queue in recursion.queues],
        classes=[group.name for group in groups],
    )


def _discipline_of_station(model: Model, queue: Queue, is_exact: bool) -> str:
    """Return the discipline with which a station of the network is solved. In product form all
    disciplines give the same mean values, so that ``ps`` stands for each of them.
    """
    station = model.resources[queue.name]
    assert isinstance(station, Station)
    if DISCIPLINES[station.discipline].delay or not is_exact:
        return station.discipline
    return "ps"
