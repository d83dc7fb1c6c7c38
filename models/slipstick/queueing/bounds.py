"""Bounds on the throughput of closed networks, and the population where they cross."""

from __future__ import annotations

from slipstick.errors import ModelError
from slipstick.late import NDArray, np
from slipstick.queueing.mixed_classes import open_load
from slipstick.queueing.network import Array, NetworkArrays, quotient
from slipstick.vocabulary import DISCIPLINES

Bounds = tuple[Array, Array]
"""Lower and upper throughput of each class, (P, R) [1/s]."""


def asymptotic_bounds(network: NetworkArrays) -> Bounds:
    r"""Return asymptotic bounds on the throughput of each class: from above without any waiting and
    by the bottleneck, from below with a wait for all other customers at each visit.

        N / (Z + sum of D_k max n/s_k(n))
            <= X <= min(N / (Z + sum of D_k min n/s_k(n)),  max s_k(n) / D_k)

    with n up to the customers there are, without end where open ones come; so N D, or N D / c with
    c servers, on the left and D on the right. At rates without product form 1/s takes the place of
    n/s on the right. Open classes take their part of the last term, and leave no lower bound; nor
    do priorities, nor first come first served with service times that differ by class or several
    servers that are not exponential. The throughput of an open class is its arrivals.

    Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978, 225-261; Lazowska, Zahorjan,
    Graham and Sevcik, Quantitative System Performance, 1984, Table 5.1.

    >>> from slipstick.queueing.network import network_arrays
    >>> asymptotic_bounds(network_arrays([0.6, 0.4], population=4, think=1.0))
    (array([[0.8]]), array([[1.66666667]]))
    """
    population = network.population
    is_closed = network.closed
    shortest_cycle, longest_cycle, highest_speed = _extreme_cycles(network)
    # Without any demand a cycle takes no time: infinite, or NaN without customers; both are
    # replaced below.
    with np.errstate(divide="ignore", invalid="ignore"):
        throughput_without_waits = population / shortest_cycle
        throughput_behind_all = population / longest_cycle
    bottleneck_bound = _bottleneck_throughput(network, highest_speed)
    upper_bound = np.where(
        throughput_without_waits.real <= bottleneck_bound.real,
        throughput_without_waits,
        bottleneck_bound,
    )
    if network.all_closed and population.all():
        return throughput_behind_all, upper_bound
    is_empty = is_closed & (population == 0)
    lower_bound, upper_bound = (
        np.where(is_empty, 0.0, np.where(is_closed, bound, network.arrivals))
        for bound in (throughput_behind_all, upper_bound)
    )
    return lower_bound, upper_bound


def _extreme_cycles(network: NetworkArrays) -> tuple[Array, Array, Array]:
    """Return the shortest and the longest cycle of each class, (P, R) [s], and the highest speed
    of each station, (P, K).
    """
    demand = network.demand
    if network.all_single and network.all_closed and not any(network.reasons_against_product_form):
        customer_count = np.maximum(1, network.population.sum(axis=1, keepdims=True))
        return (
            network.think + network.work,
            network.think + network.work * customer_count,
            np.ones((1, demand.shape[2])),
        )
    least_factor, greatest_factor, highest_speed = _service_factors(network)
    if np.isfinite(greatest_factor).all():
        longest_service = np.einsum("prk,pk->pr", demand, greatest_factor)
    else:
        # Zero demand times an infinite wait counts as 0.
        longest_service = np.multiply(
            demand, greatest_factor[:, None], out=np.zeros_like(demand), where=demand != 0
        ).sum(axis=2)
    return (
        network.think + np.einsum("prk,pk->pr", demand, least_factor),
        network.think + longest_service,
        highest_speed,
    )


def saturation_population(network: NetworkArrays) -> Array:
    """Return the saturation population N* of each class, at which the two upper asymptotic bounds
    meet, (P, R); infinite where no station limits the throughput.

    Source: Kleinrock, Queueing Systems vol. 2, 1976, section 4.12.

    >>> from slipstick.queueing.network import network_arrays
    >>> saturation_population(network_arrays([0.6, 0.4], population=4, think=1.0))
    array([[3.33333333]])
    """
    cycle_time, _ = full_speed_demands(network)
    # A cycle of no time at a station without demand is 0 x infinity: no population saturates it.
    with np.errstate(invalid="ignore"):
        crossing_population: Array = cycle_time * _bottleneck_throughput(
            network, _service_factors(network)[2]
        )
    return crossing_population


def full_speed_demands(network: NetworkArrays) -> tuple[Array, Array]:
    """Return the time of a cycle without waiting and the service demands at full speed, from which
    the two upper asymptotic bounds follow.

    Returns
    -------
    cycle, demand : time of a cycle without waiting (P, R) [s], and service demand at each station's
        highest speed, with all its servers busy (P, R, K) [s]; N / cycle and 1 / demand bound the
        throughput

    >>> from slipstick.queueing.network import network_arrays
    >>> cycle, demand = full_speed_demands(
    ...     network_arrays([0.6, 0.4], population=4, think=1.0, servers=[1, 2])
    ... )
    >>> cycle.tolist(), demand.tolist()
    ([[2.0]], [[[0.6, 0.2]]])
    """
    least_factor, _, highest_speed = _service_factors(network)
    return (
        network.think + np.einsum("prk,pk->pr", network.demand, least_factor),
        network.demand / highest_speed[:, None],
    )


def _bottleneck_throughput(network: NetworkArrays, highest_speed: Array) -> Array:
    """Return, for each class, the highest throughput at which its slowest station can serve it in
    addition to the open classes, (P, R) [1/s].

    The smallest is chosen by real parts, so that its derivative is that of the bottleneck.
    """
    free_speed = (highest_speed if network.all_closed else highest_speed - open_load(network))[
        :, None
    ]
    if network.demand.shape[2] == 0:
        return np.full(network.demand.shape[:2], np.inf)
    if np.result_type(free_speed, network.demand).kind != "c":
        # A station without demand bounds no throughput: infinity is never the least.
        with np.errstate(divide="ignore"):
            throughput_by_station = np.ascontiguousarray(
                (free_speed / network.demand).transpose(2, 0, 1)
            )
        return np.asarray(throughput_by_station.min(axis=0))
    limit_by_station = quotient(free_speed, network.demand, np.inf)
    lowest_limit: Array = np.take_along_axis(
        limit_by_station, limit_by_station.real.argmin(axis=2)[:, :, None], axis=2
    )[:, :, 0]
    return lowest_limit


def _service_factors(network: NetworkArrays) -> tuple[Array, Array, Array]:
    """Return three numbers of each station, (P, K): the smallest and the largest ratio n / s(n) of
    a number n of customers that may be present to the speed s(n), and the highest speed.
    """
    all_customers = network.population.sum(axis=1)[:, None]
    # Open customers are without number where they come.
    is_unbounded = np.asarray(
        (np.where(network.closed, 0.0, network.arrivals)[:, :, None] * network.demand).any(axis=1)
    )
    least_factor = np.ones((network.point_count, len(network.stations)))
    # All customers of the network at one station are its longest queue.
    greatest_factor = np.maximum(1.0, all_customers / network.servers)
    highest_speed = least_factor * network.servers
    greatest_factor[:, network.is_delay], highest_speed[:, network.is_delay] = 1.0, np.inf
    for station, rates in enumerate(network.rates):
        if rates is None or network.is_delay[station]:
            continue
        speed = rates.real
        number_present = np.arange(1.0, speed.shape[1] + 1)
        can_be_present = (number_present <= np.maximum(all_customers, 1)) | is_unbounded[
            :, [station]
        ]
        # Without product form one customer may have the speed of all that are present.
        sharing_customers = 1 if network.reasons_against_product_form[station] else number_present
        least_factor[:, station] = np.where(can_be_present, sharing_customers / speed, np.inf).min(
            axis=1
        )
        greatest_factor[:, station] = np.maximum(
            np.where(can_be_present, number_present / speed, 0.0).max(axis=1),
            all_customers[:, 0] / speed[:, -1],
        )
        highest_speed[:, station] = speed.max(axis=1)
    if not network.all_closed or any(network.reasons_against_product_form):
        greatest_factor[:, ~_has_limited_wait(network)] = np.inf
    return least_factor, greatest_factor, highest_speed


def _has_limited_wait(network: NetworkArrays) -> NDArray[np.bool_]:
    """Return a mask (K,) of the stations at which the mean wait is at most the service of all other
    customers.

    With one class, every discipline that looks at neither class nor service time has the mean queue
    of first come first served.
    """
    if not network.all_closed:
        return np.zeros(len(network.stations), dtype=bool)
    has_product_form = np.array(
        [not reason for reason in network.reasons_against_product_form], dtype=bool
    )
    ignores_service_times = np.array(
        [DISCIPLINES[discipline].blind for discipline in network.discipline], dtype=bool
    )
    return np.asarray(
        has_product_form | (ignores_service_times & network.is_single & (len(network.classes) == 1))
    )


def _one_class_demands(
    network: NetworkArrays, bounds_name: str
) -> tuple[Array, Array, Array, Array]:
    """Return the arrays of a network of one closed class as real numbers: N (P,), Z (P,) [s], the
    demands D of the stations (P, K) [s] and the largest of them (P,). Raise for another network.
    """
    if len(network.classes) != 1 or not network.closed.all():
        raise ModelError(
            f"{bounds_name} bounds are for one closed class; asymptotic bounds take any"
        )
    for station in np.flatnonzero(~network.is_single & ~network.is_delay):
        raise ModelError(
            f"{network.stations[station]} is not a single server of one speed, which {bounds_name}"
            " bounds need; asymptotic bounds take any"
        )
    for station_name, reason in zip(
        network.stations, network.reasons_against_product_form, strict=True
    ):
        # Without product form the bounds do not hold: with scv 9 the throughput of two stations
        # lies 16 % below the balanced job bound.
        if reason:
            raise ModelError(
                f"{station_name} {reason}, so there is no product form, which {bounds_name} bounds"
                " need; asymptotic bounds take any"
            )
    demand = network.demand[:, 0].real
    queueing_demand = demand[:, ~network.is_delay]
    # A delay is think time for the other stations.
    think = network.think[:, 0].real + demand[:, network.is_delay].sum(axis=1)
    return (
        network.population[:, 0].astype(float),
        think,
        queueing_demand,
        queueing_demand.max(axis=1, initial=0.0),
    )


def balanced_job_bounds(network: NetworkArrays) -> Bounds:
    r"""Return bounds of the throughput of one closed class, from balanced networks that are slower
    and faster.

        N / (Z + D + (N-1) Dmax / (1 + Z/(N D)))
            <= X <= min(1/Dmax, N / (Z + D + (N-1) Davg / (1 + Z/D)))

    Source: Zahorjan, Sevcik, Eager and Galler, Comm. ACM 25(2), 1982, 134-141; Lazowska et al.,
    1984, Table 5.2.

    Raises
    ------
    ModelError : several classes, open ones, or a station of several speeds or without product form

    >>> from slipstick.queueing.network import network_arrays
    >>> balanced_job_bounds(network_arrays([0.6, 0.4], population=4, think=1.0))
    (array([[1.1627907]]), array([[1.45454545]]))
    """
    customer_count, think, demand, largest_demand = _one_class_demands(network, "balanced job")
    total_demand = demand.sum(axis=1)
    # Networks without demand are set apart afterwards, see `_bounds_without_stations`.
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_demand = total_demand / max(1, demand.shape[1])
        lower_bound = customer_count / (
            think
            + total_demand
            + (customer_count - 1) * largest_demand / (1 + think / (customer_count * total_demand))
        )
        upper_bound = np.minimum(
            1 / largest_demand,
            customer_count
            / (
                think
                + total_demand
                + (customer_count - 1) * mean_demand / (1 + think / total_demand)
            ),
        )
    return _bounds_without_stations(customer_count, think, total_demand, lower_bound, upper_bound)


def _bounds_without_stations(
    customer_count: Array, think: Array, total_demand: Array, lower_bound: Array, upper_bound: Array
) -> Bounds:
    """Return bounds of the throughput of one class at all points (P, 1) [1/s], from those (P,) that
    hold where stations take time. They are 0 without customers, and N / Z where no station takes
    any time.
    """
    # Without think time the quotient is infinite; no customers over no time is replaced by 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        throughput_alone = customer_count / think
    lower_bound, upper_bound = (
        np.where(customer_count == 0, 0.0, np.where(total_demand > 0, bound, throughput_alone))[
            :, None
        ]
        for bound in (lower_bound, upper_bound)
    )
    return lower_bound, upper_bound


def proportional_bounds(network: NetworkArrays) -> Bounds:
    r"""Return bounds of the throughput of one closed class by queues in proportion to the demands,
    or to their N-th powers.

        N / (Z + D + q_N (N - 1 - Z X-(N-1)))
            <= X <= min(1/Dmax, N / (Z + D + q_2 (N - 1 - Z X+(N-1))))

    with q_m = sum D^m / sum D^(m-1), and the asymptotic bounds X- and X+ for one customer fewer.

    Source: Hsieh and Lam, Performance Evaluation 7(3), 1987, 223-233.

    Raises
    ------
    ModelError : several classes, open ones, or a station of several speeds or without product form

    >>> from slipstick.queueing.network import network_arrays
    >>> proportional_bounds(network_arrays([0.6, 0.4], population=4))
    (array([[1.50214592]]), array([[1.5625]]))
    """
    customer_count, think, demand, largest_demand = _one_class_demands(network, "proportional")
    total_demand = demand.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Relative to the largest, so that no power under- or overflows.
        relative_demand = demand / largest_demand[:, None]
        power_mean = (
            largest_demand
            * (relative_demand ** customer_count[:, None]).sum(axis=1)
            / (relative_demand ** (customer_count[:, None] - 1)).sum(axis=1)
        )
        throughput_before, _ = _asymptotic_bounds_of_one_class(
            customer_count - 1, think, total_demand, largest_demand
        )
        lower_bound = customer_count / (
            think + total_demand + power_mean * (customer_count - 1 - think * throughput_before)
        )
    return _bounds_without_stations(
        customer_count,
        think,
        total_demand,
        lower_bound,
        _upper_proportional_bounds(customer_count, think, demand, largest_demand),
    )


def _upper_proportional_bounds(
    customer_count: Array, think: Array, demand: Array, largest_demand: Array
) -> Array:
    """Return the upper proportional bound of N customers, (P,) [1/s]."""
    total_demand = demand.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        second_power_mean = (
            largest_demand
            * ((demand / largest_demand[:, None]) ** 2).sum(axis=1)
            / (total_demand / largest_demand)
        )
        _, throughput_before = _asymptotic_bounds_of_one_class(
            customer_count - 1, think, total_demand, largest_demand
        )
        upper_bound = np.minimum(
            1 / largest_demand,
            customer_count
            / (
                think
                + total_demand
                + second_power_mean * (customer_count - 1 - think * throughput_before)
            ),
        )
    return np.where(customer_count > 0, upper_bound, 0.0)


def _asymptotic_bounds_of_one_class(
    customer_count: Array, think: Array, total_demand: Array, largest_demand: Array
) -> tuple[Array, Array]:
    """Return the lower and upper asymptotic bounds of one class at single servers, (P,) [1/s]."""
    lower_bound = customer_count / (think + customer_count * total_demand)
    upper_bound = np.minimum(customer_count / (think + total_demand), 1 / largest_demand)
    return np.where(customer_count > 0, lower_bound, 0.0), np.where(
        customer_count > 0, upper_bound, 0.0
    )


def geometric_bounds(network: NetworkArrays) -> Bounds:
    r"""Return bounds of the throughput of one closed class by geometric queues.

        X = 2 N / (b + sqrt(b^2 - 4 Z Dmax m))
        b = Z + D + Dmax (N - 1) - sum of (Dmax - D_k) Q_k

    with m = N and Q_k from above for the upper bound, m = N - 1 and Q_k from below for the lower.
    The queue with one customer fewer is y + y^2 + ... + y^(N-1): above with y = D_k times the upper
    proportional bound of N - 1 customers, below with y = D_k (N-1) / (Z + D + Dmax (N-1)). The root
    is that of X = N / (b - Z Dmax X(N-1)) with X(N-1) between X (N-1)/N and X.

    With think time the upper bound of few customers can lie above the asymptotic one, N / (Z + D).

    Source: Casale, Muntz and Serazzi, IEEE Trans. Computers 57(6), 2008, 780-794: geometric bounds,
    and where Z > 0 geometric square-root bounds, which are one formula.

    Raises
    ------
    ModelError : several classes, open ones, or a station of several speeds or without product form

    >>> from slipstick.queueing.network import network_arrays
    >>> geometric_bounds(network_arrays([0.6, 0.4], population=4))
    (array([[1.50273823]]), array([[1.55494366]]))
    """
    customer_count, think, demand, largest_demand = _one_class_demands(network, "geometric")
    total_demand = demand.sum(axis=1)
    customers_met = customer_count - 1
    both_bounds = []
    with np.errstate(divide="ignore", invalid="ignore"):
        upper_throughput = _upper_proportional_bounds(customers_met, think, demand, largest_demand)
        for throughput, m in (
            (
                customers_met / (think + total_demand + largest_demand * customers_met),
                customers_met,
            ),
            (upper_throughput, customer_count),
        ):
            demand_gap = largest_demand[:, None] - demand
            y = demand * throughput[:, None]
            # Where y may be 1, at the slowest station, the term is left out: its factor is 0.
            queue_sum = np.where(
                demand_gap > 0, demand_gap * (y - y ** customer_count[:, None]) / (1 - y), 0.0
            ).sum(axis=1)
            b = think + total_demand + largest_demand * customers_met - queue_sum
            # Without rounding b is Z + N Dmax at the least, and the root at least |Z - N Dmax|.
            both_bounds.append(
                2
                * customer_count
                / (b + np.sqrt(np.maximum(0.0, b * b - 4 * think * largest_demand * m)))
            )
    lower_bound, upper_bound = both_bounds
    return _bounds_without_stations(customer_count, think, total_demand, lower_bound, upper_bound)
