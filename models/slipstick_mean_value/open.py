"""Open populations: customers of one or several streams that arrive at random, go through their
activity once and leave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from slipstick.errors import NoAnswerError, with_way_out
from slipstick.late import np
from slipstick.method.activity_form import ActivityTable
from slipstick.method.activity_numbers import reasons_out_of_range
from slipstick.model.steps import MET, steps
from slipstick.model.system import Model, OpenPopulation, StreamsPopulation
from slipstick.queueing.residual_wait import erlang_c, residual_time
from slipstick.random_times import (
    Array,
    RandomTime,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.contention import saturated_text
from slipstick.structure.visits import PROCESSORS, Numbers, Places, VisitTree
from slipstick.vocabulary import CLOSED_FORM
from slipstick_mean_value.arrivals import ArrivalState, competing_fraction
from slipstick_mean_value.closed import (
    MeanNumbers,
    Recursion,
    SolvedPopulation,
    select_points,
)
from slipstick_mean_value.in_a_row import SuccessiveVisits, successive_visits
from slipstick_mean_value.queues import Queue
from slipstick_mean_value.states import CycleState, PopulationState
from slipstick_mean_value.traversal import Traversal

WAITS_INCLUDED = (
    "with the mean-value waits while it is held, which may be too long; simulation may have an"
    " answer"
)


def solve_open(model: Model, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
    r"""Solve one or several streams of customers at all points.

    Arrivals are taken as Poisson at every queue and see the time averages, so the waits at a queue
    of c servers solve linear equations over its visits, those of all streams, with U_j = lambda v_j
    S_j the mean number in service at visit j::

        W_i = [P(all busy) / U sum_j U_j S_j (1 + scv_j) / 2 + sum_j U_j W_j] / c

    For one visit and one server that is the formula of Pollaczek and Khinchine; P(all busy) is
    Erlang's C. A lock is solved after what is done while it is held, which is its service. A visit
    that follows immediately on another service there finds no service in progress: the next one has
    just begun, so that S_j takes the place of the residual service. That is exact at one server
    with random feedback (Takacs); for 2 to 4 visits in a row at scv 0 to 4 and load 0.85 the time
    errs by up to 12 % (tests/method/mean_value/test_open.py). Exact in product form; the errors of
    the rest are those of the constructs "arrivals at ..." of benchmarks/mean_value.py.

    Source: Kleinrock, Queueing Systems I, Wiley 1975, chapter 5; Wolff, Operations Research 30(2),
    1982, 223-231 (Poisson arrivals see time averages); Takacs, Bell System Tech. J. 42(2), 1963,
    505-519 (feedback).

    Parameters
    ----------
    model : with an `OpenPopulation` or a `StreamsPopulation`
    value_by_expr : every number of the model [points]
    with_account : also find the account and the use of each queue

    Raises
    ------
    NoAnswerError : the model has barriers, processors or spin locks, or takes locks in a circle
    """
    recursion = Recursion(model, model.bodies)
    _refuse_unsolvable(model, recursion)
    queues_inner_first = _queues_from_innermost(recursion)
    rate_by_stream = _arrival_rates(model, value_by_expr)
    table = ActivityTable(
        np.array(rate_by_stream[0]),
        {
            **_reasons_without_arrivals(model, rate_by_stream),
            **reasons_out_of_range(model, value_by_expr),
        },
    )
    point_indexes = table.answerable_points
    while len(point_indexes):
        values_at_points = select_points(value_by_expr, point_indexes)
        streams = [
            (tree, rate[point_indexes])
            for tree, rate in zip(recursion.trees, rate_by_stream, strict=True)
        ]
        cycles_or_reasons = _cycles_or_saturation(
            recursion, queues_inner_first, values_at_points, streams
        )
        if isinstance(cycles_or_reasons, tuple):
            state = PopulationState(1, cycles_or_reasons, ArrivalState(math.inf))
            solved_population = SolvedPopulation(
                state, values_at_points, point_indexes, np.arange(len(point_indexes))
            )
            mean_numbers = MeanNumbers()
            for (tree, rate), cycle in zip(streams, cycles_or_reasons, strict=True):
                mean_numbers.add_group(tree.visit_ratios(values_at_points), rate, cycle.visit_times)
            for group, cycle in zip(model.population.groups, cycles_or_reasons, strict=False):
                group_times = table.time_by_group.setdefault(group.name, table.nan_columns())
                group_times[point_indexes] = cycle.time.mean
            booked_times, use_by_queue = (
                (
                    recursion.account(solved_population),
                    mean_numbers.use_by_queue(recursion.queues, 1),
                )
                if with_account
                else ({}, {})
            )
            table.fill_in(
                solved_population.point_indexes,
                solved_population.row_by_point,
                state.first_cycle.time.mean,
                time_by_label=booked_times,
                use_by_queue=use_by_queue,
                pipeline_times=state.first_cycle.visit_times.pipeline_times,
            )
            break
        # The other points are solved without those that are saturated.
        table.reason_by_point.update(
            {
                int(point_indexes[failed_index]): reason
                for failed_index, reason in cycles_or_reasons.items()
            }
        )
        point_indexes = np.delete(point_indexes, list(cycles_or_reasons))
    return table


def _arrival_rates(model: Model, value_by_expr: Numbers) -> list[Array]:
    """Return the rate of each stream [1/s] [points]."""
    if isinstance(model.population, OpenPopulation):
        return [value_by_expr[model.population.rate]]
    assert isinstance(model.population, StreamsPopulation)
    return [
        value_by_expr[group.arrivals]
        for group in model.population.groups
        if group.arrivals is not None
    ]


_TreeAndRate = tuple[VisitTree, Array]
"""The tree of visits of the customers of a stream, and their rate [1/s] [points]."""


def _cycles_or_saturation(
    recursion: Recursion,
    queues_inner_first: Sequence[Queue],
    value_by_expr: Numbers,
    streams: Sequence[_TreeAndRate],
) -> tuple[CycleState, ...] | dict[int, str]:
    """Return the times of a customer of each stream; if a queue is saturated at some points, return
    instead the reasons, by the index of the point.

    Parameters
    ----------
    queues_inner_first : queues in an order in which each comes after the queues on which its
        services depend
    value_by_expr : every number of the model [points]
    streams : visits and rate of the customers of each stream
    """
    visit_ratios: dict[int, Array] = {}
    flow_by_visit: dict[int, Array] = {}
    visit_order = Places()
    for tree, arrival_rate in streams:
        ratios_of_stream = tree.visit_ratios(value_by_expr)
        visit_ratios |= ratios_of_stream
        flow_by_visit |= {
            visit_index: arrival_rate * visit_ratio
            for visit_index, visit_ratio in ratios_of_stream.items()
        }
        visit_order.add(tree.root, value_by_expr)
    reason_by_point = dict[int, str]()
    wait_by_visit = dict[int, RandomTime]()
    traversal_without_waits, _ = _times_at_waits(recursion, value_by_expr, {})
    for queue in queues_inner_first:
        traversal, _ = _times_at_waits(recursion, value_by_expr, wait_by_visit)
        service_by_visit, service_without_waits = (
            {
                visit.index: traversal_at_waits.visit_times.services[visit.index]
                for visit in queue.visits
            }
            for traversal_at_waits in (traversal, traversal_without_waits)
        )
        arrival_rate = _rate_at_queue(queue, streams)
        # A queue that its services alone saturate has no steady state. Where only the approximate
        # waits under a lock saturate it, it may have one, and the reason says so.
        reasons_without_waits = _saturation_reasons(
            recursion.model, queue, flow_by_visit, service_without_waits, arrival_rate
        )
        for point_index, reason in _saturation_reasons(
            recursion.model, queue, flow_by_visit, service_by_visit, arrival_rate
        ).items():
            reason_by_point.setdefault(
                point_index, reasons_without_waits.get(point_index, f"{reason} ({WAITS_INCLUDED})")
            )
        if not reason_by_point:
            wait_by_visit.update(
                _waits_at_queue(
                    queue,
                    visit_ratios,
                    flow_by_visit,
                    service_by_visit,
                    visit_order,
                    traversal.visit_times.branch_waits,
                )
            )
    traversal, times = _times_at_waits(recursion, value_by_expr, wait_by_visit)
    return reason_by_point or tuple(CycleState(1, time, traversal.visit_times) for time in times)


def _times_at_waits(
    recursion: Recursion, value_by_expr: Numbers, wait_by_visit: Mapping[int, RandomTime]
) -> tuple[Traversal, list[RandomTime]]:
    """Return the traversal of all streams with given waits, and the time of a customer of each
    stream.
    """
    traversal = Traversal(recursion.model, value_by_expr, 1, wait_by_visit)
    return traversal, [traversal.time(tree.root) for tree in recursion.trees]


def _rate_at_queue(queue: Queue, streams: Sequence[_TreeAndRate]) -> Array:
    """Return the total rate of arrivals of the streams whose customers visit a queue [1/s]
    [points].
    """
    return sum_of_columns(
        rate for tree, rate in streams if any(visit.queue == queue.name for visit in tree.visits)
    )


def _saturation_reasons(
    model: Model,
    queue: Queue,
    flow_by_visit: Mapping[int, Array],
    service_by_visit: Mapping[int, RandomTime],
    arrival_rate: Array,
) -> dict[int, str]:
    """Return, by the index of the point, why a queue is saturated; points at which its servers can
    do all work that arrives are left out.

    Parameters
    ----------
    flow_by_visit : visits in a second [1/s]
    service_by_visit : service at each visit to the queue
    arrival_rate : customers of the streams that use the queue in a second [1/s]
    """
    arriving_work = sum_of_columns(
        flow_by_visit[visit_index] * service.mean
        for visit_index, service in service_by_visit.items()
    )
    load = np.broadcast_to((arriving_work / queue.servers).real, arrival_rate.shape)
    return {
        int(point_index): saturated_text(
            model, queue.name, float(arrival_rate[point_index].real), float(load[point_index])
        )
        for point_index in np.flatnonzero(~(load < 1))
    }


def _waits_at_queue(
    queue: Queue,
    visit_ratios: Mapping[int, Array],
    flow_by_visit: Mapping[int, Array],
    service_by_visit: Mapping[int, RandomTime],
    visit_order: Places,
    sibling_waits: Mapping[int, Array],
) -> dict[int, RandomTime]:
    """Return the waits at the visits of one queue, which solve linear equations.

    Parameters
    ----------
    queue : the queue
    visit_ratios : visits of one customer, by the index of the visit [1]
    flow_by_visit : visits in a second [1/s]
    service_by_visit : service at each visit
    visit_order : the order in which visits follow each other
    sibling_waits : wait at a visit for other branches of the same customer's fork [s]
    """
    visits = queue.visits
    busy_by_visit = {
        visit.index: flow_by_visit[visit.index] * service_by_visit[visit.index].mean
        for visit in visits
    }
    busy_servers = sum_of_columns(busy_by_visit.values())
    probability_all_busy = erlang_c(busy_servers, queue.servers)
    if queue.serves_at_once:
        relative_wait = probability_all_busy / (queue.servers - busy_servers)
        return _limited_waits(
            queue,
            flow_by_visit,
            service_by_visit,
            {
                visit.index: _wait_at_shared_servers(service_by_visit[visit.index], relative_wait)
                for visit in visits
            },
        )
    residual_by_visit = {
        visit.index: residual_time(
            service_by_visit[visit.index].mean, service_by_visit[visit.index].scv
        )
        for visit in visits
    }
    mean_by_visit = _mean_waits(
        queue,
        visit_ratios,
        busy_by_visit,
        probability_all_busy / without_zeros(busy_servers),
        residual_by_visit,
        service_by_visit,
        visit_order,
        sibling_waits,
    )
    # With the probability that all servers are busy a wait is exponential, else it is 0, as at an
    # M/M/c station.
    scv_of_wait = 2 / np.where(probability_all_busy.real > 0, probability_all_busy, 1.0) - 1
    wait_by_visit = {
        visit_index: RandomTime(mean_wait, mean_wait * mean_wait * scv_of_wait)
        for visit_index, mean_wait in mean_by_visit.items()
    }
    if visits_in_row := successive_visits(queue, visit_order):
        mean_waits = _waits_in_a_row(
            visits_in_row, flow_by_visit, service_by_visit, residual_by_visit
        )
        wait_by_visit |= visits_in_row.with_mean_waits(wait_by_visit, mean_waits)
    return _limited_waits(queue, flow_by_visit, service_by_visit, wait_by_visit)


def _waits_in_a_row(
    visits_in_row: SuccessiveVisits,
    flow_by_visit: Mapping[int, Array],
    service_by_visit: Mapping[int, RandomTime],
    residual_by_visit: Mapping[int, Array],
) -> Array:
    """Return the mean waits at visits to one queue that follow each other immediately [s] [...,
    places].

    Parameters
    ----------
    visits_in_row : the visits
    flow_by_visit : visits in a second [1/s]
    service_by_visit : service at each visit
    residual_by_visit : mean remaining time of a service in progress [s]
    """
    flow_by_place = (
        visits_in_row.stack_by_place(
            {visit_index: flow_by_visit[visit_index] for visit_index in visits_in_row.visits}
        )
        * visits_in_row.share_of_visit
    )
    service_by_place = visits_in_row.stack_by_place(
        {visit_index: service_by_visit[visit_index].mean for visit_index in visits_in_row.visits}
    )
    return visits_in_row.open_waits(
        flow_by_place, service_by_place, visits_in_row.stack_by_place(residual_by_visit)
    )


def _mean_waits(
    queue: Queue,
    visit_ratios: Mapping[int, Array],
    busy_by_visit: Mapping[int, Array],
    delaying_share: Array,
    residual_by_visit: Mapping[int, Array],
    service_by_visit: Mapping[int, RandomTime],
    visit_order: Places,
    sibling_waits: Mapping[int, Array],
) -> dict[int, Array]:
    """Return the mean waits at all visits to one queue, by their linear equations (see
    `solve_open`) [s].

    Parameters
    ----------
    queue : the queue
    visit_ratios : visits of one customer, by the index of the visit [1]
    busy_by_visit : mean number of servers busy with each visit [1]
    delaying_share : probability that all servers are busy, over the mean number of busy servers [1]
    residual_by_visit : mean remaining time of a service in progress [s]
    service_by_visit : service at each visit
    visit_order : the order in which visits follow each other
    sibling_waits : wait at a visit for other branches of the same customer's fork [s]
    """
    visits = queue.visits
    busy_servers = sum_of_columns(busy_by_visit.values())
    constant_terms = []
    coefficient_rows = []
    for visit in visits:
        fraction_by_visit = {
            earlier_visit.index: competing_fraction(visit, earlier_visit, math.inf)
            for earlier_visit in visits
        }
        returning_share = visit_order.immediate_return_count(visit) / without_zeros(
            visit_ratios[visit.index]
        )
        remaining_work = sum_of_columns(
            fraction
            * busy_by_visit[visit_index]
            * (
                (1 - returning_share) * residual_by_visit[visit_index]
                + returning_share * service_by_visit[visit_index].mean
            )
            for visit_index, fraction in fraction_by_visit.items()
        )
        sibling_delay = sum_of_columns(
            fraction * busy_by_visit[visit_index] * sibling_waits[visit_index]
            for visit_index, fraction in fraction_by_visit.items()
            if visit_index in sibling_waits
        )
        constant_terms.append((remaining_work * delaying_share + sibling_delay) / queue.servers)
        coefficient_rows.append(
            [
                fraction * busy_by_visit[visit_index] / queue.servers
                for visit_index, fraction in fraction_by_visit.items()
            ]
        )
    coefficients = np.stack(
        [
            np.stack(np.broadcast_arrays(*coefficient_row, busy_servers)[:-1], axis=-1)
            for coefficient_row in coefficient_rows
        ],
        axis=-2,
    )
    right_side = np.stack(np.broadcast_arrays(*constant_terms, busy_servers)[:-1], axis=-1)
    mean_waits = np.linalg.solve(np.eye(len(visits)) - coefficients, right_side[..., None])[..., 0]
    return {
        visit.index: mean_waits[..., visit_position] for visit_position, visit in enumerate(visits)
    }


def _limited_waits(
    queue: Queue,
    flow_by_visit: Mapping[int, Array],
    service_by_visit: Mapping[int, RandomTime],
    wait_by_visit: dict[int, RandomTime],
) -> dict[int, RandomTime]:
    """Return the waits at a queue; each wait of the holder of a lock is limited to the work that
    customers outside the lock bring to the queue in the time from holder to holder.

    Operational: one customer holds the lock at a time, so each service outside it delays at most
    one holder, once. Without the limit the worst error of streams through locks was 505 % near
    saturation, with it 106 % (benchmarks/mean_value.py).
    """
    for visit in (visit for visit in queue.visits if visit.exclusive_resources):
        met_works = [
            flow_by_visit[met_visit.index] * service_by_visit[met_visit.index].mean
            for met_visit in queue.visits
            if visit.can_meet(met_visit)
        ]
        longest_wait = (
            sum_of_columns(met_works) / queue.servers / without_zeros(flow_by_visit[visit.index])
        )
        wait = wait_by_visit[visit.index]
        wait_by_visit[visit.index] = wait.scaled(
            np.where(
                wait.mean.real > longest_wait.real, longest_wait / without_zeros(wait.mean), 1.0
            )
        )
    return wait_by_visit


def _wait_at_shared_servers(service: RandomTime, relative_wait: Array) -> RandomTime:
    """Return the wait at shared servers: the time by which a service takes longer there than alone.

    Its mean is `relative_wait` times the mean service. One part of its variance follows from that
    of the service; the other part is that of an exponential time (chosen here; only maxima of times
    read this variance).
    """
    # The residence time varies as (1 + relative_wait) S; the variance of S itself is counted with
    # the service.
    mean_wait = service.mean * relative_wait
    return RandomTime(
        mean_wait,
        service.variance * (relative_wait * relative_wait + 2 * relative_wait)
        + mean_wait * mean_wait,
    )


def _reasons_without_arrivals(model: Model, rate_by_stream: Sequence[Array]) -> dict[int, str]:
    """Return, by the index of the point, why there is no answer: no customers of the first stream
    arrive, or a rate is below 0 or not finite. The other streams may have no customers.
    """
    stream_names = model.population.group_names
    # Values before the steady state are added to the answer of a method; at such a point only the
    # closed form has one.
    way_out = (
        ", or a group of which some arrive written first"
        if stream_names
        else with_way_out(
            "; for values before the steady state, such as time_until[STATION,0] with a backlog,"
            f" ask for {CLOSED_FORM}",
            CLOSED_FORM,
        )
    )
    reason_by_point: dict[int, str] = {}
    for stream_index, rate in enumerate(rate_by_stream):
        has_possible_rate = rate.real >= 0 if stream_index else rate.real > 0
        for point_index in np.flatnonzero(~(has_possible_rate & np.isfinite(rate.real))):
            reason_by_point[int(point_index)] = (
                f"customers of {stream_names[stream_index] if stream_names else model.name} arrive"
                f" {rate[point_index].real:g} times a second; mean-value needs a rate above 0"
                f"{way_out}"
            )
    return reason_by_point


def _refuse_unsolvable(model: Model, recursion: Recursion) -> None:
    """Raise if customers of a stream meet at barriers, use processors or acquire spin locks."""
    barrier_name = next(
        (
            barrier_candidate
            for activity in recursion.activities
            for node in steps(activity)
            if node.use == MET
            for barrier_candidate in node.uses
        ),
        None,
    )
    if barrier_name is not None:
        raise NoAnswerError(
            f"barrier {barrier_name} needs a fixed population; mean-value has no answer for"
            " customers that arrive"
        )
    if any(queue.name == PROCESSORS for queue in recursion.queues):
        raise NoAnswerError(
            f"the customers of {model.name} use processors, but an open population has none;"
            " mean-value needs a station for that"
        )
    if recursion.spin_locks:
        lock_names_text = ", ".join(spin_lock.queue.name for spin_lock in recursion.spin_locks)
        raise NoAnswerError(
            f"an open population sets no limit to how many spin at {lock_names_text};"
            " mean-value has no answer, simulation may"
        )


def _queues_from_innermost(recursion: Recursion) -> list[Queue]:
    """Return the queues in an order that puts each lock after the queues that are used while it is
    held.
    """
    lock_by_name = {queue.name: queue for queue in recursion.queues if queue.is_lock}
    inner_locks_by_name = {
        lock_name: {
            visit.queue
            for tree in recursion.trees
            for visit in tree.visits
            if lock_name in visit.held_resources and visit.queue in lock_by_name
        }
        for lock_name in lock_by_name
    }
    try:
        ordered_locks = [
            lock_by_name[lock_name]
            for lock_name in TopologicalSorter(inner_locks_by_name).static_order()
        ]
    except CycleError as error:
        circle_text = ", ".join(sorted(set(error.args[1])))
        raise NoAnswerError(
            f"locks {circle_text} are each taken while another of them is held; mean-value solves"
            " a lock after those taken inside it, so it has no order for these; simulate it"
        ) from None
    return [queue for queue in recursion.queues if not queue.is_lock] + ordered_locks
