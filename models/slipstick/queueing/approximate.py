"""Approximate mean-value analysis: Bard-Schweitzer and Linearizer, for many classes and without a
product form.

    W_rk = D_rk (1 + L_k - Q_rk / N_r + C_rk),   X_r = N_r / (Z_r + sum of W_rk),   Q_rk = X_r W_rk

with L_k the sum of the Q_rk, and C the correction of Linearizer, 0 in Bard-Schweitzer. With single
servers this is a system in the throughputs alone, which Newton's method solves in about ten steps;
substitution takes hundreds when two stations are near saturation. Other stations are solved by
substitution (`SeenOnArrival`). Usual errors are those that `benchmarks/approximations.py` measured
(`MEASURED_ERRORS`).

Both iterate residence times, which follow from the mean queues that an arriving customer finds. A
customer of class r with service time S_r finds A_j others of class j at a station of c servers, B_j
of them in service (all mean numbers; A and B are their sums):

    sharing      W_r = S_r (1 + (A - B + P) / c)
    in turn      W_r = S_r + w / c,  w = sum of S_j (A_j - B_j) + P/B sum of B_j S_j (1 + scv_j) / 2
    priority     W_r = S_r + w / (c (1 - U)), w with the waiting work only of ranks not above r's
                 number, U the utilization by the ranks below it
    preemptive   W_r = (S_r + w / c) / (1 - U), w with the waiting and the residual work only of
                 ranks not above r's number
    rates        W_r = S_r (1 + A) / s(1 + A), s interpolated

P = P(all c servers busy) = (B/c)^(sqrt(2 (c + 1)) - 1), and 0 where fewer than c others exist. At a
single server P = B and sharing is the arrival theorem. "In turn" is first come first served, and
every discipline with the same mean waits (`Discipline.blind`). Assumptions: at several servers the
A - B waiting customers and the chance P delay by 1/c of a service each; with rates the speed is
that at the mean number present, where the arrival theorem has a mean over the numbers; both are
chosen here, exact at one server of constant speed. `MEASURED_ERRORS` has the
remaining errors of each construct.

Sources: Reiser, Performance Evaluation 1(1), 1979 (residual work); Sakasegawa, Ann. Inst. Stat.
Math. 29, 1977 (P); Bryant, Krzesinski, Lakshmi and Chandy, ACM TOCS 2(4), 1984 (priorities).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slipstick.errors import MeasuredError, ModelError, NoAnswerError
from slipstick.late import NDArray, dataclass, np, replace
from slipstick.limits import check_cost
from slipstick.queueing.compiled import compiled_form, newton_steps
from slipstick.queueing.mixed_classes import (
    check_some_time,
    closed_part,
    open_load,
    speeds,
    whole_solution,
)
from slipstick.queueing.network import (
    Array,
    ClosedSolution,
    NetworkArrays,
    NetworkSolution,
    sum_over_stations,
)
from slipstick.queueing.residual_wait import all_busy_by_load, residual_time
from slipstick.random_times import (
    limited_to_range,
)
from slipstick.vocabulary import DISCIPLINES, OVERTAKING_DISCIPLINES

Shift = tuple[Array, Array]
"""Changes of the mean queues and of the mean busy servers of class j at each station when one
customer of class r is removed, both (P, R, R, K) by [r, j].
"""

MOST_BUSY = 1 - 1e-9
"""Largest utilization by higher ranks that a wait is computed with: steps far from the solution
may exceed 1.
"""


@dataclass(frozen=True, eq=False)
class SeenOnArrival:
    """The mean numbers of customers that an arriving customer finds, without itself.

    Parameters
    ----------
    number_present, number_in_service : mean number of customers of each class at each station,
        (P, R, K)
    own_share : the part of its class that an arriving customer is itself, 1/N, or 0 where the class
        is open, (P, R)
    present_shift, service_shift : by how much class j's numbers differ when one of class r has
        left, beyond that part, (P, R, R, K) by [r, j]; None for none
    """

    number_present: Array
    number_in_service: Array
    own_share: Array
    present_shift: Array | None = None
    service_shift: Array | None = None

    def present_on_arrival(
        self, weight: Array, station: int, rank_weights: Array | None = None
    ) -> Array:
        """Return the weighted mean number of customers that an arriving customer of class r finds
        at a station, waiting or in service, summed over the classes found, (P, R); see
        `_weighted_numbers_met`.
        """
        return self._weighted_numbers_met(
            weight, self.number_present, self.present_shift, station, rank_weights
        )

    def in_service_on_arrival(
        self, weight: Array, station: int, rank_weights: Array | None = None
    ) -> Array:
        """Return the weighted mean number of customers that an arriving customer of class r finds
        in service at a station, summed over the classes found, (P, R); see `_weighted_numbers_met`.
        """
        return self._weighted_numbers_met(
            weight, self.number_in_service, self.service_shift, station, rank_weights
        )

    def _weighted_numbers_met(
        self,
        weight: Array,
        number_by_class: Array,
        number_shift: Array | None,
        station: int,
        rank_weights: Array | None,
    ) -> Array:
        """Return the weighted sum of the numbers of customers of all classes that an arrival finds,
        (P, R); the arriving customer itself does not count. `rank_weights` (R, R) is the weight of
        class j for class r, 1 by default.
        """
        weighted_numbers = weight * number_by_class[:, :, station]
        if rank_weights is None:
            weighted_number_met = (
                weighted_numbers.sum(axis=1, keepdims=True) - self.own_share * weighted_numbers
            )
        else:
            weighted_number_met = (
                weighted_numbers @ rank_weights.T
                - np.diagonal(rank_weights) * self.own_share * weighted_numbers
            )
        if number_shift is None:
            return np.asarray(weighted_number_met)
        weighted_shift = number_shift[:, :, :, station] * weight[:, None]
        return np.asarray(
            weighted_number_met
            + (weighted_shift if rank_weights is None else weighted_shift * rank_weights).sum(
                axis=2
            )
        )


def _residence_times(
    network: NetworkArrays, arrival_numbers: SeenOnArrival, other_customers: Array
) -> Array:
    """Return the residence times in one cycle, all visits together [s], (P, R, K);
    `other_customers` as in `all_busy_by_load` (P, R).
    """
    dtype = np.result_type(arrival_numbers.number_present, network.service, network.visits)
    residence_times = np.empty(arrival_numbers.number_present.shape, dtype=dtype)
    for station, discipline in enumerate(network.discipline):
        service_times = network.service[:, :, station]
        if DISCIPLINES[discipline].delay:
            residence_times[:, :, station] = service_times
        elif network.rates[station] is not None:
            residence_times[:, :, station] = _residence_times_with_rates(
                network, arrival_numbers, station
            )
        elif not network.reasons_against_product_form[station]:
            residence_times[:, :, station] = _residence_times_in_product_form(
                network, arrival_numbers, other_customers, station
            )
        else:
            residence_times[:, :, station] = _residence_times_in_line(
                network, arrival_numbers, other_customers, station
            )
    residence_times *= network.visits
    return residence_times


def _residence_times_in_product_form(
    network: NetworkArrays, arrival_numbers: SeenOnArrival, other_customers: Array, station: int
) -> Array:
    """Return the residence times at a station in product form, (P, R) [s]."""
    servers = network.servers[station]
    unit_weights = np.ones((1, len(network.classes)))
    others_met = arrival_numbers.present_on_arrival(unit_weights, station)
    if servers > 1:
        busy_servers = arrival_numbers.in_service_on_arrival(unit_weights, station)
        # Each of those who wait delays by a service over c; those in service delay by one such
        # part, if all c are busy. At one server both are the arrival theorem. Errors: see
        # "several servers" in `MEASURED_ERRORS`.
        others_met = (
            limited_to_range(others_met - busy_servers)
            + all_busy_by_load(busy_servers, servers, other_customers)
        ) / servers
    residence_times: Array = network.service[:, :, station] * (1 + others_met)
    return residence_times


def _residence_times_with_rates(
    network: NetworkArrays, arrival_numbers: SeenOnArrival, station: int
) -> Array:
    """Return the residence times at a station whose speed depends on the number present, (P, R)
    [s].
    """
    rates = network.rates[station]
    assert rates is not None
    number_present = 1 + arrival_numbers.present_on_arrival(
        np.ones((1, len(network.classes))), station
    )
    last_rate_index = rates.shape[1] - 1
    # The speed at the mean number present, between those at the two whole numbers around it: an
    # assumption, for the arrival theorem takes the mean over all numbers. See
    # "speeds by the number present" in `MEASURED_ERRORS`.
    whole_number_below = np.floor(number_present.real).astype(int)
    index_below = np.clip(whole_number_below - 1, 0, max(0, last_rate_index - 1))
    interpolation_fraction = np.where(
        number_present.real - 1 >= last_rate_index,
        last_rate_index - index_below,
        number_present - 1 - index_below,
    )
    rates_by_point = np.broadcast_to(rates, (len(number_present), last_rate_index + 1))
    speed_below, speed_above = (
        np.take_along_axis(
            rates_by_point, np.minimum(index_below + offset, last_rate_index), axis=1
        )
        for offset in (0, 1)
    )
    residence_times: Array = (
        network.service[:, :, station]
        * number_present
        / (speed_below + (speed_above - speed_below) * interpolation_fraction)
    )
    return residence_times


def _residence_times_in_line(
    network: NetworkArrays, arrival_numbers: SeenOnArrival, other_customers: Array, station: int
) -> Array:
    """Return the residence times at a station that serves customers in turn, (P, R) [s]."""
    service_times = network.service[:, :, station]
    servers = network.servers[station]
    rank_of_class = network.priority[:, station]
    rank_weights = None
    discipline = DISCIPLINES[network.discipline[station]]
    # Measured (benchmarks/approximations.py): Linearizer's corrections improve queues in the order
    # of arrival, but neither the work in service nor anything with priorities.
    arrival_numbers = replace(arrival_numbers, service_shift=None)
    if discipline.ranked:
        arrival_numbers = replace(arrival_numbers, present_shift=None)
        rank_weights = (rank_of_class[None, :] <= rank_of_class[:, None]).astype(float)
    unit_weights = np.ones_like(service_times)
    residual_service = residual_time(service_times, network.scv[:, :, station])
    waiting_work = limited_to_range(
        arrival_numbers.present_on_arrival(service_times, station, rank_weights)
        - arrival_numbers.in_service_on_arrival(service_times, station, rank_weights)
    )
    residual_work = arrival_numbers.in_service_on_arrival(
        residual_service, station, rank_weights if discipline.preemptive else None
    )
    if servers > 1:
        # At several servers the residual work delays only while all are busy, so it counts with
        # that probability, given how many are in service (Sakasegawa).
        number_in_service = arrival_numbers.in_service_on_arrival(unit_weights, station)
        positive_number = np.where(number_in_service.real > 0, number_in_service, 1)
        residual_work = residual_work * np.where(
            number_in_service.real > 0,
            all_busy_by_load(number_in_service, servers, other_customers) / positive_number,
            0,
        )
    waiting_times = (waiting_work + residual_work) / servers
    if not discipline.ranked:
        return np.asarray(service_times + waiting_times)
    # Those of higher ranks who come during the wait go first: the wait, and with preemption the
    # service too, is as long as if the server had the rest of its capacity only.
    is_of_higher_rank = (rank_of_class[None, :] < rank_of_class[:, None]).astype(float)
    utilization_ahead = (
        arrival_numbers.in_service_on_arrival(unit_weights, station, is_of_higher_rank) / servers
    )
    free_share = 1 - limited_to_range(utilization_ahead, high=MOST_BUSY)
    service_alone: Array = service_times / free_share if discipline.preemptive else service_times
    return np.asarray(service_alone + waiting_times / free_share)


def approximations_of(network: NetworkArrays) -> tuple[str, ...]:
    """Return the names of the approximations that `schweitzer` and `linearizer` make at the
    stations of a network, with their sources.

    >>> from slipstick.queueing.network import network_arrays
    >>> approximations_of(network_arrays([1.0], population=3, servers=2))
    ('several servers: the probability that all are busy by Sakasegawa (1977)',)
    """
    is_line = np.array(
        [DISCIPLINES[discipline].queued for discipline in network.discipline], dtype=bool
    )
    is_ranked = np.array(
        [DISCIPLINES[discipline].ranked for discipline in network.discipline], dtype=bool
    )
    has_rates = (
        np.array([speeds_of_station is not None for speeds_of_station in network.rates], dtype=bool)
        & ~network.is_delay
    )
    lacks_product_form = np.array(
        [bool(reason) for reason in network.reasons_against_product_form], dtype=bool
    )
    has_several_servers = ~network.is_delay & ~has_rates & (network.servers > 1)
    mask_by_approximation = {
        "several servers: the probability that all are busy by Sakasegawa"
        " (1977)": has_several_servers,
        "first come first served: the residual service time is approximated (Reiser, 1979)": is_line
        & lacks_product_form
        & ~has_rates,
        "priorities: the approximation of Bryant, Krzesinski, Lakshmi and Chandy (1984)": (
            is_ranked & ~has_rates
        ),
        "rates: the speed is that at the mean number of customers that an arrival meets": has_rates,
    }
    return tuple(
        approximation
        for approximation, station_mask in mask_by_approximation.items()
        if station_mask.any()
    )


NEWTON_RULE = (
    "Newton's method until no throughput moves by more than 1e-11 of itself, derivatives included"
)
SUBSTITUTION_RULE = (
    "substitution until no queue moves by more than 1e-11 of the customers, no derivative by 1e-7"
)
MOST_NEWTON = 200
"""Largest number of steps of Newton's method, which usually takes about ten."""
MOST_SUBSTITUTIONS = 20_000
"""Largest number of steps of substitution, which takes hundreds where two stations are near
saturation.
"""
FIRST_DAMPED_STEP = 100
"""Step of substitution from which on the queues are averaged with those of the step before."""
MOST_AT_ONCE = 0.95
"""Largest part of a station's idle capacity, and of a throughput, by which one step of Newton's
method changes them.
"""


def _solve_by_newton(
    demand: Array, delay: Array, population: Array, queue_change: Array | float
) -> tuple[Array, Array, int]:
    """Solve a product-form network of delays and single servers by Newton's method; return
    throughput (P, R), residence time (P, R, K) and the number of steps.

    With x = X_r D_rk, b = x / (1 + x / N_r), a = sum of b and C (P, R, K) the change: 1 + L = (1 +
    sum of b C) / (1 - a), and Q = b (1 + L + C) is a function of X; so is the population, which
    must come out as N. It grows without limit where a station nears saturation, and its reciprocal
    is nearly straight there: a step is Newton's for the reciprocal, but for a population that is
    off by more than a factor of two. Of 179 random networks the mean is 5.9 steps, 7.9 without
    that.
    """
    throughput = _starting_throughput(demand, delay, population).astype(
        np.result_type(demand, delay, queue_change)
    )
    own_share = 1 / np.maximum(population, 1)[:, :, None]
    step_count = 0
    run_compiled_steps = compiled_form(newton_steps, throughput, np.asarray(queue_change))
    if run_compiled_steps and not isinstance(queue_change, np.ndarray):
        step_count = run_compiled_steps(
            demand, delay, population, throughput, MOST_NEWTON, MOST_AT_ONCE
        )
    if not step_count:
        throughput, step_count = _newton_steps(
            demand, delay, population, own_share, queue_change, throughput
        )
    load = throughput[:, :, None] * demand
    share_met = 1 / (1 + load * own_share)
    return (
        throughput,
        demand * share_met * _idle_share_and_congestion(load * share_met, queue_change)[1],
        step_count,
    )


def _newton_steps(
    demand: Array,
    delay: Array,
    population: Array,
    own_share: Array,
    queue_change: Array | float,
    throughput: Array,
) -> tuple[Array, int]:
    """Iterate throughputs by Newton's method, starting at `throughput`; return the solution (P, R)
    and the number of steps. `newton_steps` is the same, compiled.
    """
    # A class without customers has no cycle; a cycle of 1 s keeps its row of the system regular.
    is_empty = population == 0
    is_settled = np.zeros(len(population), dtype=bool)
    regular_delay = delay + is_empty
    has_fixed_rows = len(population) > 1 or bool(is_empty.any())
    for step_number in range(1, MOST_NEWTON + 1):
        load_alone = throughput[:, :, None] * demand
        share_met = 1 / (1 + load_alone * own_share)
        load = load_alone * share_met
        idle_part, congestion = _idle_share_and_congestion(load, queue_change)
        # The derivative of b = x / (1 + x / N) by the throughput.
        squared_demand = demand * share_met * share_met
        slope = squared_demand * congestion
        # d Q_rk / d X_s = slope_rk [r = s] + load_rk slope_sk / (1 - a)
        jacobian = (load / idle_part) @ slope.transpose(0, 2, 1)
        # Every (R + 1)-th number of a flattened matrix lies on its diagonal.
        jacobian.reshape(len(population), -1)[:, :: population.shape[1] + 1] += (
            regular_delay + sum_over_stations(slope)
        )
        customers_present = throughput * delay + sum_over_stations(load * congestion)
        # Newton for the reciprocal of the population, which is nearly straight near saturation;
        # beyond a factor of two it would overshoot.
        damping = np.minimum(np.maximum(customers_present.real * own_share[:, :, 0], 0.5), 2)
        missing_customers = (population - customers_present) * damping
        throughput_step = np.linalg.solve(jacobian, missing_customers[:, :, None])[:, :, 0]
        if has_fixed_rows:
            throughput_step = np.where(is_empty | is_settled[:, None], 0, throughput_step)
        throughput = (
            throughput
            + _step_fraction(
                (throughput + is_empty).real,
                throughput_step.real,
                squared_demand.real,
                idle_part.real,
            )
            * throughput_step
        )
        # Newton squares the error with each step: after one of 1e-11 what is left is rounding.
        is_settled |= _points_settled(
            throughput_step, 1e-11 * np.abs(throughput.real), throughput, 1e-9
        )
        if is_settled.all():
            return throughput, step_number
    raise NoAnswerError(f"Newton's method does not settle within {MOST_NEWTON} steps")


def _idle_share_and_congestion(load: Array, queue_change: Array | float) -> tuple[Array, Array]:
    """Return 1 - a, the idle part of each station, (P, 1, K), and 1 + L + C, the mean number
    present at an arrival, including the arriving customer, (P, 1 or R, K).
    """
    idle_part = 1 - np.add.reduce(load, axis=1, keepdims=True)
    if isinstance(queue_change, float):
        return idle_part, 1 / idle_part
    return idle_part, (
        1 + (load * queue_change).sum(axis=1, keepdims=True)
    ) / idle_part + queue_change


def _starting_throughput(demand: Array, delay: Array, population: Array) -> Array:
    """Return throughputs to start at, as if all queues were equal, with no station loaded above N /
    (1 + N) by all classes together, (P, R) [1/s].
    """
    all_customers = population.sum(axis=1, keepdims=True)
    mean_congestion = 1 + (all_customers - 1) / max(1, demand.shape[2])
    cycle_times = delay.real + demand.real.sum(axis=2) * np.maximum(mean_congestion, 1)
    throughput = np.where(
        population > 0, population / np.where(cycle_times == 0, 1, cycle_times), 0.0
    )
    # Newton's method has to start below saturation, where 1 - a is positive.
    load_limit = all_customers / (1 + all_customers)
    load_by_station = (throughput[:, :, None] * demand.real).sum(axis=1)
    busiest_load = load_by_station.max(axis=1, initial=0.0, keepdims=True)
    # A class without customers has the limit 0, by which nothing is to be divided.
    positive_load_limit = np.maximum(load_limit, 1e-300)
    reduction_factor = load_limit / np.where(
        busiest_load > load_limit, busiest_load, positive_load_limit
    )
    return np.asarray(throughput * reduction_factor)


def _step_fraction(
    throughput: Array, throughput_step: Array, load_slope: Array, idle_part: Array
) -> Array:
    """Return the fraction of a step, (P, 1), that takes at most `MOST_AT_ONCE` of a throughput and
    of a station's idle capacity.

    A load is concave over the throughput, so that a step raises it by at most the step times the
    slope, `load_slope`.
    """
    # A step that used up the idle capacity would make `1 - a` negative, and the next step
    # senseless.
    load_growth = (
        np.add.reduce(throughput_step[:, :, None] * load_slope, axis=1, keepdims=True) / idle_part
    )
    largest_throughput_loss = np.maximum.reduce(
        throughput_step / -throughput, axis=1, keepdims=True, initial=MOST_AT_ONCE
    )
    largest_load_growth = np.maximum.reduce(load_growth, axis=2, initial=MOST_AT_ONCE)
    return np.asarray(MOST_AT_ONCE / np.maximum(largest_load_growth, largest_throughput_loss))


def _points_settled(
    step: Array, tolerance: Array, new_values: Array, slope_tolerance: float
) -> NDArray[np.bool_]:
    """Return a mask (P,) of the points whose iteration has converged: no number moves by more than
    `tolerance`, and no derivative by more than `slope_tolerance` times the largest derivative.

    A point that has settled stays as it is while others move, so that its answer does not depend on
    theirs. Points with derivatives, which differ in the parameter that moves, settle together: some
    derivatives are rounding alone.
    """
    is_change_small = (np.abs(step.real) <= tolerance).reshape(len(step), -1)
    has_settled = np.asarray(np.logical_and.reduce(is_change_small, axis=1))
    if np.iscomplexobj(new_values):
        largest_slope_change = np.abs(step.imag).max(initial=0.0)
        slopes_settled = largest_slope_change <= slope_tolerance * np.abs(new_values.imag).max(
            initial=0.0
        )
        has_settled[:] = has_settled.all() and slopes_settled
    return has_settled


def _numbers_settled(numbers: Array, next_numbers: Array, least_size: Array | int) -> Array:
    """Return at which points a step of the substitution leaves mean numbers of customers unchanged,
    as far as they can be computed; a number below `least_size` counts as being of this size.
    """
    # 1e-11 is three digits above rounding in sums over classes. Derivatives converge later than
    # values and are shown with fewer digits, so that 1e-7 of the largest is enough for them.
    return _points_settled(
        next_numbers - numbers,
        1e-11 * np.maximum(least_size, next_numbers.real),
        next_numbers,
        1e-7,
    )


def _solve_by_substitution(
    network: NetworkArrays, population: Array, shift: Shift | None, queue: Array
) -> tuple[Array, Array, int]:
    """Solve a network with stations of any kind by substitution; return throughput (P, R),
    residence time (P, R, K) and the number of steps.

    The customers of the closed classes are `population` (P, R), and the iteration starts at `queue`
    (P, R, K).
    """
    is_closed = network.closed
    demand = network.demand
    own_share = np.where(is_closed & (population > 0), 1 / np.maximum(population, 1), 0.0)
    # With an open class any number of others may be present.
    other_customers = (
        population.sum(axis=1, keepdims=True) - (population > 0)
        if is_closed.all()
        else np.full(population.shape, np.inf)
    )
    all_customers = np.maximum(population.sum(axis=1), 1)[:, None, None]
    dtype = np.result_type(queue, demand, network.think, network.arrivals, network.scv)
    queue, busy_servers = queue.astype(dtype), np.zeros(queue.shape, dtype=dtype)
    is_settled = np.zeros(len(population), dtype=bool)
    for step_number in range(1, MOST_SUBSTITUTIONS + 1):
        residence = _residence_times(
            network, SeenOnArrival(queue, busy_servers, own_share, *(shift or ())), other_customers
        )
        cycle = network.think + residence.sum(axis=2)
        cycle_or_one = np.where((population > 0) & is_closed, cycle, 1)
        throughput = np.where(is_closed, population / cycle_or_one, network.arrivals)
        next_queue = throughput[:, :, None] * residence
        next_busy_servers = throughput[:, :, None] * demand
        # Before the second step nothing is known to be in service, so a first difference says
        # nothing.
        if step_number > 1:
            is_settled |= _numbers_settled(queue, next_queue, all_customers) & _numbers_settled(
                busy_servers, next_busy_servers, 1
            )
            if is_settled.all():
                return throughput, residence, step_number
        # A substitution that has not settled for long may swing between two states, and the middle
        # of them is nearer to the solution.
        damped_queue = next_queue if step_number < FIRST_DAMPED_STEP else (queue + next_queue) / 2
        is_fixed = is_settled[:, None, None]
        queue = np.where(is_fixed, queue, damped_queue)
        busy_servers = np.where(is_fixed, busy_servers, next_busy_servers)
    raise NoAnswerError(
        f"the approximation does not settle within {MOST_SUBSTITUTIONS:,} steps; a station may be"
        " at its limit"
    )


MEASURED_ERRORS: dict[
    str, tuple[tuple[float, float, float, float], tuple[float, float, float, float]]
] = {
    "single servers": ((1.4, 5.5, 2.4, 16), (0.1, 0.7, 0.2, 2.3)),
    "several servers": ((1.7, 6.4, 2.7, 14), (0.2, 1.2, 0.3, 2.2)),
    "speeds by the number present": ((1.2, 5.9, 2.2, 15), (0.2, 1.2, 0.3, 2.6)),
    "service times that differ at first come first served": (
        (3.1, 8.7, 5.5, 14),
        (0.5, 5.2, 0.8, 7.5),
    ),
    "first come first served with scv below 1": ((1.5, 6.3, 2.3, 9.5), (0.8, 7.9, 1.6, 9.7)),
    "first come first served with scv above 1 (measured with 4)": (
        (7.2, 28, 12, 49),
        (5.4, 27, 8.6, 46),
    ),
    "preemptive priorities": ((3.2, 22, 5.5, 37), (1.5, 22, 2.0, 34)),
    "priorities": ((3.3, 30, 5.9, 43), (1.4, 22, 2.2, 41)),
}
"""Errors in percent by Bard-Schweitzer and by Linearizer: median and 95th percentile of throughput,
then of response time.

Measured by benchmarks/approximations.py with 400 random closed networks in product form for each
construct, demands over two orders of magnitude, and 100 small ones without product form, demands
within a factor of ten. The worst construct comes last.
"""


def usual_error(network: NetworkArrays, with_correction: bool) -> MeasuredError:
    """Return a sentence on the errors that were measured for the construct of a network that is
    approximated worst: with Linearizer if `with_correction`, else with Bard-Schweitzer.

    >>> from slipstick.queueing.network import network_arrays
    >>> usual_error(network_arrays([0.5], population=4), with_correction=True)
    'typical error: throughput 0.1 % (95th percentile 0.7 %), response time 0.2 % (2.3 %), measured
    with single servers'
    """
    constructs = {
        _construct_of_station(network, station) for station in range(len(network.stations))
    }
    worst_construct = max(constructs, key=list(MEASURED_ERRORS).index, default="single servers")
    throughput_error, large_throughput_error, response_error, large_response_error = (
        MEASURED_ERRORS[worst_construct][with_correction]
    )
    return MeasuredError(
        f"typical error: throughput {throughput_error:g} % (95th percentile"
        f" {large_throughput_error:g} %), response time {response_error:g} %"
        f" ({large_response_error:g} %), measured with {worst_construct}",
        construct=worst_construct,
        response_errors=(response_error, large_response_error),
    )


LARGEST_ERROR_BY_DEFAULT = 10.0
"""Largest error of the response time, not exceeded in 95 of 100 networks, with which Linearizer is
the default method [%].
"""


ERROR_WITH_BREAKDOWNS = 280.0
"""Error of approximate response times at stations that break down, 95 of 100 [%]: at 200 random
ones 15 % in the median and 748 % at worst (benchmarks/approximations.py, breakdowns)."""


def _reason_by_error(construct: str, station_name: str, error: float) -> str:
    """Return why an approximation of a construct is not the default, by its measured error [%]."""
    return (
        f"the approximation of {construct} at {station_name} has errors of the response time of up"
        f" to {error:g} % (95th percentile)"
    )


def reason_against_linearizer(network: NetworkArrays) -> str:
    """Return why Linearizer should not be the default method of a network; empty where it may be.

    Its error was measured over a tenth with ranks and with an scv above 1; not measured are several
    servers whose classes have unlike service times, where it was 85 % off.
    """
    is_absence = ~network.is_customer
    for station, station_name in enumerate(network.stations):
        if (network.demand[:, is_absence, station] != 0).any():
            return _reason_by_error("servers that are away", station_name, ERROR_WITH_BREAKDOWNS)
        construct = _construct_of_station(network, station)
        error = MEASURED_ERRORS[construct][True][3]
        if error > LARGEST_ERROR_BY_DEFAULT:
            return _reason_by_error(construct, station_name, error)
        if network.reasons_against_product_form[station] and not network.is_single[station]:
            return (
                f"the error of the approximation is not known for {station_name}, with"
                " several servers"
            )
    return ""


def _construct_of_station(network: NetworkArrays, station: int) -> str:
    """Return the name of the construct of a station, for which errors were measured."""
    discipline = DISCIPLINES[network.discipline[station]]
    if discipline.ranked:
        return "preemptive priorities" if discipline.preemptive else "priorities"
    if network.reasons_against_product_form[station]:
        scv = np.max(network.scv[:, :, station].real)
        if (network.scv[:, :, station].real == 1).all():
            return "service times that differ at first come first served"
        scv_text = "below 1" if scv <= 1 else "above 1 (measured with 4)"
        return f"first come first served with scv {scv_text}"
    if discipline.delay or network.is_single[station]:
        return "single servers"
    return "several servers" if network.rates[station] is None else "speeds by the number present"


MOST_OVER = 1.1
"""Utilization of a station up to which an approximation is lowered to its capacity.

Linearizer came out above 1, at most 1.04, in 12 of 43 random closed networks with scv of 0.25 and 4
at first come first served; throughputs lowered to the capacity were off by 1.4 % in the median and
at most 11 % of simulated ones (18 % once at 1.08).
"""

LINEARIZER_ROUNDS = 3
"""Number of rounds of corrections by Linearizer, as published."""

FixedPoint = Callable[[Array, Shift | None], tuple[Array, Array, int]]
"""Function from the customers (B, R) and the changes when one of them is removed to throughputs,
residence times and the number of steps. B counts points times variants of the population.
"""

Scheme = Callable[[FixedPoint, Array, Array], tuple[Array, Array, int]]
"""Function from a fixed point, the customers (P, R) and the demands (P, R, K) to throughputs,
residence times and the number of steps.
"""


def schweitzer(network: NetworkArrays) -> NetworkSolution:
    r"""Solve a network by the Bard-Schweitzer approximation: with one customer removed, the queues
    of its class shrink in proportion to its population.

        Q_jk(N - e_r) = Q_jk(N) (N_j - [j = r]) / N_j

    Takes any network; what a customer waits is in `SeenOnArrival`. The cost does not grow with the
    population.

    Raises
    ------
    NoAnswerError : an open class saturates a station, nothing takes any time, or the iteration does
        not settle

    Source: Schweitzer, Int. Conf. on Stochastic Control and Optimization, Amsterdam, 1979; Bard,
    1979.

    >>> from slipstick.queueing.network import network_arrays
    >>> answer = schweitzer(network_arrays([0.6, 0.4], population=2, think=1.0))
    >>> answer.throughput, answer.exact
    (array([[0.87086859]]), False)
    """
    solution = _solve_by_scheme(
        network,
        "Bard-Schweitzer",
        lambda solve_fixed_point, population, demand: solve_fixed_point(population, None),
    )
    return replace(
        solution, usual_error="" if solution.exact else usual_error(network, with_correction=False)
    )


def linearizer(network: NetworkArrays) -> NetworkSolution:
    r"""Solve a network by Linearizer, which corrects the proportional queues of Bard-Schweitzer for
    the customer that is removed.

        Q_jk(N - e_r) = (N_j - [j = r]) (F_jk + D_jkr),  F = Q / N,  D_jkr = F_jk(N - e_r) - F_jk(N)

    The variant as published: D is 0 at first, three rounds renew it from the fixed points at N and
    all N - e_r, and the fixed point at N ends it. Costs R + 1 times what Bard-Schweitzer does, and
    errs much less.

    Raises
    ------
    NoAnswerError : an open class saturates a station, nothing takes any time, the iteration does
        not settle, or there are more corrections D than their limit

    Source: Chandy and Neuse, Comm. ACM 25(2), 1982, 126-134.

    >>> from slipstick.queueing.network import network_arrays
    >>> linearizer(network_arrays([0.6, 0.4], population=2, think=1.0)).throughput
    array([[0.88504362]])
    """
    solution = _solve_by_scheme(
        network, f"Linearizer, {LINEARIZER_ROUNDS} rounds", _correct_queue_shares
    )
    return replace(
        solution, usual_error="" if solution.exact else usual_error(network, with_correction=True)
    )


def _solve_by_scheme(network: NetworkArrays, method_name: str, scheme: Scheme) -> NetworkSolution:
    """Solve a network by a scheme of fixed points: by Newton's method with delays and single
    servers in product form, else by substitution.
    """
    is_product_form = network.all_single or (network.is_single | network.is_delay).all()
    if is_product_form and not any(network.reasons_against_product_form):
        return _solve_product_form(network, method_name, scheme)
    return _solve_by_general_substitution(network, method_name, scheme)


def _solve_product_form(
    network: NetworkArrays, method_name: str, scheme: Scheme
) -> NetworkSolution:
    """Solve a product-form network of delays and single servers: take open classes out exactly,
    then iterate by Newton's method.
    """
    closed_network = closed_part(network)
    check_some_time(
        network, closed_network.delay + closed_network.demand.sum(axis=2), closed_network.classes
    )
    demand = closed_network.demand / closed_network.last_speed[:, None]

    def solve_fixed_point(population: Array, shift: Shift | None) -> tuple[Array, Array, int]:
        """Solve for the populations of all points and their variants by Newton's method."""
        variants_per_point = len(population) // len(demand)
        queue_change = 0.0 if shift is None else shift[0].sum(axis=2)
        repeated_demand = np.repeat(demand, variants_per_point, axis=0)
        repeated_delay = np.repeat(closed_network.delay, variants_per_point, axis=0)
        return _solve_by_newton(repeated_demand, repeated_delay, population, queue_change)

    throughput, residence, step_count = scheme(
        solve_fixed_point, closed_network.population.astype(float), demand
    )
    station_names = [network.stations[station] for station in closed_network.queueing]
    throughput, residence, notes = _lower_to_capacity(
        throughput, residence, demand, closed_network.population, station_names
    )
    queue = throughput[:, :, None] * residence
    # A Poisson arrival finds the mean numbers present, so its residence is stretched by the queues.
    time_factor = (1 + queue.sum(axis=1)) / closed_network.last_speed
    closed_solution = ClosedSolution(
        throughput, queue, [None] * demand.shape[2], np.ones(len(throughput), dtype=bool)
    )
    solution = whole_solution(
        network, closed_network, closed_solution, time_factor, {}, method_name
    )
    return replace(
        solution,
        exact=not closed_network.classes.size,
        rule=NEWTON_RULE,
        iterations=step_count,
        notes=notes,
    )


def _refuse_overtaking(network: NetworkArrays) -> None:
    """Raise if several classes visit a station where customers overtake each other: there the
    approximations differed from Markov chains by up to a third.
    """
    for station, (station_name, reason) in enumerate(
        zip(network.stations, network.reasons_against_product_form, strict=True)
    ):
        is_visitor = (network.demand[:, :, station] != 0).any(axis=0)
        several_closed = is_visitor.sum() > 1 and (is_visitor & network.closed).any()
        if reason and several_closed and network.discipline[station] in OVERTAKING_DISCIPLINES:
            raise ModelError(
                f"{station_name} {reason}; approximate methods take that for one class only; ask"
                " for markov-chain or simulation"
            )


def _refuse_breakdowns(network: NetworkArrays) -> None:
    """Raise if customers of the first rank take servers from all others and never wait, as servers
    in repair do: jobs that come back soon hardly meet a repair, against the arrival theorem.

    See `ERROR_WITH_BREAKDOWNS`.
    """
    for station, (station_name, discipline) in enumerate(
        zip(network.stations, network.discipline, strict=True)
    ):
        rank_of_class = network.priority[:, station]
        visits_station = (network.demand[:, :, station] != 0).any(axis=0)
        if not DISCIPLINES[discipline].preemptive or visits_station.sum() < 2:
            continue
        is_of_first_rank = visits_station & (rank_of_class == rank_of_class[visits_station].min())
        first_class = int(np.flatnonzero(is_of_first_rank)[0])
        visits_one_station = (network.demand[:, first_class] != 0).sum(axis=1).max() == 1
        never_waits = (network.population[:, first_class] <= network.servers[station]).all()
        if (
            is_of_first_rank.sum() == 1
            and network.closed[first_class]
            and visits_one_station
            and never_waits
        ):
            raise ModelError(
                f"{network.classes[first_class]} takes servers of {station_name} from all"
                " others, as a"
                " breakdown does; approximate response times had errors of up to"
                f" {ERROR_WITH_BREAKDOWNS:g} % there (95th percentile); ask for markov-chain or"
                " simulation"
            )


def _solve_by_general_substitution(
    network: NetworkArrays, method_name: str, scheme: Scheme
) -> NetworkSolution:
    """Solve a network with stations of any kind, by substitution."""
    _refuse_overtaking(network)
    _refuse_breakdowns(network)
    open_loads = np.broadcast_to(open_load(network), (network.point_count, len(network.stations)))
    cycle = network.think + network.demand.sum(axis=2)
    # A closed class whose cycle takes no time would have an infinite throughput.
    check_some_time(network, cycle[:, network.closed], np.flatnonzero(network.closed))

    def solve_fixed_point(population: Array, shift: Shift | None) -> tuple[Array, Array, int]:
        """Solve for the populations of all points and their variants by substitution."""
        variants_per_point = len(population) // network.point_count
        repeated_network = (
            network.select(np.repeat(np.arange(network.point_count), variants_per_point))
            if variants_per_point > 1
            else network
        )
        return _solve_by_substitution(
            repeated_network,
            population,
            shift,
            _guess_queues(
                repeated_network, population, np.repeat(open_loads, variants_per_point, axis=0)
            ),
        )

    closed_population = np.where(network.closed, network.population, 0).astype(float)
    throughput, residence, step_count = scheme(solve_fixed_point, closed_population, network.demand)
    station_indices = range(open_loads.shape[1])
    # Closed classes have what open ones leave of the highest speed.
    highest_speeds = [
        speeds(network, station_index).max(axis=1) * np.ones(network.point_count)
        for station_index in station_indices
    ]
    speed_limit = np.stack(highest_speeds, axis=1)
    closed_demand = np.where(
        network.closed[:, None], network.demand / (speed_limit - open_loads)[:, None], 0
    )
    demand = np.where(network.is_delay, 0, closed_demand)
    throughput, residence, notes = _lower_to_capacity(
        throughput, residence, demand, network.population, network.stations
    )
    is_empty = network.closed & (network.population == 0)
    residence = np.where(is_empty[:, :, None], 0, residence)
    queue = throughput[:, :, None] * residence
    no_probabilities: tuple[Array | None, ...] = (None,) * len(network.stations)
    return NetworkSolution(
        throughput=throughput,
        residence=residence,
        queue=queue,
        utilization=_utilization_of_classes(network, throughput, queue),
        probability=no_probabilities,
        method=method_name,
        exact=False,
        rule=SUBSTITUTION_RULE,
        iterations=step_count,
        notes=(*approximations_of(network), *notes),
    )


def _lower_to_capacity(
    throughput: Array,
    residence: Array,
    demand: Array,
    population: Array,
    station_names: Sequence[str],
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return throughputs and residence times in which throughputs that load a station slightly
    above its capacity are lowered to it, and the difference is waiting time there; also notes on
    these stations.

    The number of customers of each class that an arrival finds is estimated separately. Therefore
    the utilization can come out slightly above 1 where several stations are near saturation, or
    where service times of the classes vary unequally at a first-come station. An excess over
    `MOST_OVER` is left unchanged, for the checks to refuse. `demand` (P, R, K) is the part of the
    capacity left by open classes that one cycle a second takes.
    """
    utilization = (throughput[:, :, None] * demand).sum(axis=1)
    is_over = (utilization.real > 1) & (utilization.real < MOST_OVER)
    if not is_over.any():
        return throughput, residence, ()
    is_used = (demand != 0) & (throughput != 0)[:, :, None]
    class_factor = np.where(is_over[:, None] & is_used, utilization[:, None], 1)
    worst_station = class_factor.real.argmax(axis=2)[:, :, None]
    reduction_factor = np.take_along_axis(class_factor, worst_station, axis=2)[:, :, 0]
    residence = residence.astype(class_factor.dtype)
    lower_throughput = throughput / reduction_factor
    # All of the longer cycle is waiting at the worst station, so that N = X (Z + R) still holds.
    cycle = population / np.where(throughput == 0, 1, throughput)
    added_cycle = population / np.where(lower_throughput == 0, 1, lower_throughput) - cycle
    worst_time = np.take_along_axis(residence, worst_station, axis=2)
    np.put_along_axis(residence, worst_station, worst_time + added_cycle[:, :, None], axis=2)
    notes = (
        f"{station_name} came out busy for {utilization.real[:, station].max():.6g} of the time;"
        " throughputs were lowered to its capacity"
        for station, station_name in enumerate(station_names)
        if is_over[:, station].any()
    )
    return lower_throughput, residence, tuple(notes)


def _guess_queues(network: NetworkArrays, population: Array, open_loads: Array) -> Array:
    """Return the queue lengths at which the iteration starts, (P, R, K): closed customers in
    proportion to demand, open customers as if there were no closed ones and all servers were
    shared.
    """
    demand = network.demand
    cycle = network.think + demand.sum(axis=2)
    demand_share = demand / np.where(cycle == 0, 1, cycle)[:, :, None]
    station_indices = range(open_loads.shape[1])
    last_speeds = [
        np.broadcast_to(speeds(network, station_index)[:, -1], len(open_loads))
        for station_index in station_indices
    ]
    speed_limit = np.stack(last_speeds, axis=1)
    idle_part = 1 - np.where(network.is_delay, 0, open_loads / speed_limit)
    open_queue: Array = network.arrivals[:, :, None] * demand / idle_part[:, None]
    return np.where(network.closed[:, None], population[:, :, None] * demand_share, open_queue)


def _utilization_of_classes(network: NetworkArrays, throughput: Array, queue: Array) -> Array:
    """Return the utilization of each class at each station, (P, R, K); where speeds depend on the
    number present, an estimate: the work over the speed at the mean queue.
    """
    work_rate = throughput[:, :, None] * network.demand
    utilization: Array = work_rate / np.where(network.is_delay, 1, network.servers)
    for station, rates in enumerate(network.rates):
        if rates is not None and not network.is_delay[station]:
            rounded_queue = queue[:, :, station].real.sum(axis=1).round().astype(int)
            number_present = np.clip(rounded_queue, 1, rates.shape[1])
            rates_by_point = np.broadcast_to(rates, (len(throughput), rates.shape[1]))
            speed = np.take_along_axis(rates_by_point, number_present[:, None] - 1, axis=1)
            utilization[:, :, station] = work_rate[:, :, station] / speed
    return utilization


def _correct_queue_shares(
    solve_fixed_point: FixedPoint, population: Array, demand: Array
) -> tuple[Array, Array, int]:
    """Correct the shares of classes in the queues in rounds, as `linearizer` describes; return
    throughput (P, R), residence time (P, R, K) and the number of steps.
    """
    point_count, class_count = population.shape
    correction_count = (class_count + 1) * class_count**2 * demand.shape[2]
    check_cost(
        "corrections",
        correction_count,
        f"{class_count} classes at {demand.shape[2]:,} stations take {correction_count:,}"
        " corrections of Linearizer",
        "ask for schweitzer",
        point_count=point_count,
    )
    # At every point N, then N with one fewer of each class in turn.
    removed_customers = np.concatenate([np.zeros((1, class_count)), np.eye(class_count)])
    population_by_variant = np.maximum(population[:, None] - removed_customers, 0)
    # [variant, r, j]: customers of j met by one of r; an open class has a queue but no count, and 1
    # leaves it as it is.
    population_left = np.where(
        # Of N_j, one customer less for class j itself: the arriving customer does not meet itself.
        population[:, None, None] > 0,
        np.maximum(population_by_variant[:, :, None] - np.eye(class_count), 0),
        1,
    )
    customers_or_one = np.where(population_by_variant > 0, population_by_variant, 1)[..., None]
    shift: Shift | None = None
    total_step_count = 0
    for _ in range(LINEARIZER_ROUNDS):
        throughput, residence, step_count = solve_fixed_point(
            population_by_variant.reshape(point_count * (class_count + 1), class_count), shift
        )
        throughput = throughput.reshape(point_count, class_count + 1, class_count, 1)
        queue = throughput * residence.reshape(point_count, class_count + 1, *demand.shape[1:])
        busy_servers = throughput * demand[:, None]
        shift = (
            _change_by_removal(queue / customers_or_one, population_left),
            _change_by_removal(busy_servers / customers_or_one, population_left),
        )
        total_step_count += step_count
    assert shift is not None
    queue_shift, busy_shift = (shift_by_variant[:: class_count + 1] for shift_by_variant in shift)
    throughput, residence, step_count = solve_fixed_point(population, (queue_shift, busy_shift))
    return throughput, residence, total_step_count + step_count


def _change_by_removal(queue_share: Array, population_left: Array) -> Array:
    """Return by how much the mean numbers of class j at each station change when one customer of
    class r is removed, for each variant of the population (B, R, R, K) by [r, j].
    """
    queue_change = queue_share[:, None, 1:] - queue_share[:, None, :1]
    point_count, variant_count = population_left.shape[:2]
    return np.asarray(
        (population_left[..., None] * queue_change).reshape(
            point_count * variant_count, *queue_change.shape[2:]
        )
    )
