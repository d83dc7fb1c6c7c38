"""Bounds on the throughput of closed networks, and the population where they cross."""

from __future__ import annotations

from slipstick.errors import ModelError
from slipstick.late import NDArray, np
from slipstick.queueing.mixed_classes import open_load
from slipstick.queueing.network import Array, NetworkArrays, quotient
from slipstick.vocabulary import DISCIPLINES

Bounds = tuple[Array, Array]
"""Lower and upper throughput of each class, (P, R) [1/s]."""


def asymptotic(network: NetworkArrays) -> Bounds:
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
    >>> asymptotic(network_arrays([0.6, 0.4], population=4, think=1.0))
    (array([[0.8]]), array([[1.66666667]]))
    """
    count = network.population
    closed = network.closed
    shortest, longest, capacity = _cycles(network)
    with np.errstate(divide="ignore", invalid="ignore"):
        without_waits = count / shortest
        behind_all = count / longest
    bottleneck_bound = _nearest(network, capacity)
    high = np.where(without_waits.real <= bottleneck_bound.real, without_waits, bottleneck_bound)
    if network.all_closed and count.all():
        return behind_all, high
    unused = closed & (count == 0)
    low, high = (
        np.where(unused, 0.0, np.where(closed, bound, network.arrivals))
        for bound in (behind_all, high)
    )
    return low, high


def _cycles(network: NetworkArrays) -> tuple[Array, Array, Array]:
    """Return the shortest and the longest cycle of each class, (P, R) [s], and the highest speed
    of each station, (P, K).
    """
    demand = network.demand
    if network.plain and network.all_closed and not any(network.without_product_form):
        customers = np.maximum(1, network.population.sum(axis=1, keepdims=True))
        return (
            network.think + network.work,
            network.think + network.work * customers,
            np.ones((1, demand.shape[2])),
        )
    least, most, capacity = _service_factors(network)
    if np.isfinite(most).all():
        longest = np.einsum("prk,pk->pr", demand, most)
    else:
        # Zero demand times an infinite wait counts as 0.
        longest = np.multiply(
            demand, most[:, None], out=np.zeros_like(demand), where=demand != 0
        ).sum(axis=2)
    return network.think + np.einsum("prk,pk->pr", demand, least), network.think + longest, capacity


def saturation_population(network: NetworkArrays) -> Array:
    """Return the saturation population N* of each class, at which the two upper asymptotic bounds
    meet, (P, R); infinite where no station limits the throughput.

    Source: Kleinrock, Queueing Systems vol. 2, 1976, section 4.12.

    >>> from slipstick.queueing.network import network_arrays
    >>> saturation_population(network_arrays([0.6, 0.4], population=4, think=1.0))
    array([[3.33333333]])
    """
    cycle, _ = full_speed_demands(network)
    with np.errstate(invalid="ignore"):
        crossing: Array = cycle * _nearest(network, _service_factors(network)[2])
    return crossing


def full_speed_demands(network: NetworkArrays) -> tuple[Array, Array]:
    """Return the cycle without waiting and the demands at full speed, which give the two parts of
    the upper asymptotic bounds.

    Returns
    -------
    cycle, demand : time of a cycle without waiting (P, R) [s], and service demand at each station's
        highest speed, with all its servers busy (P, R, K) [s]; N / cycle and 1 / demand bound the
        throughput

    >>> from slipstick.queueing.network import network_arrays
    >>> cycle, demand = full_speed_demands(network_arrays([0.6, 0.4], population=4, think=1.0, servers=[1, 2]))
    >>> cycle.tolist(), demand.tolist()
    ([[2.0]], [[[0.6, 0.2]]])
    """
    least, _, capacity = _service_factors(network)
    return (
        network.think + np.einsum("prk,pk->pr", network.demand, least),
        network.demand / capacity[:, None],
    )


def _nearest(network: NetworkArrays, capacity: Array) -> Array:
    """Return the highest throughput of each class that its slowest station can serve beside the
    open classes, (P, R) [1/s].

    The least is that by real parts, so that its derivative is that of the bottleneck.
    """
    limits = (capacity if network.all_closed else capacity - open_load(network))[:, None]
    if network.demand.shape[2] == 0:
        return np.full(network.demand.shape[:2], np.inf)
    if np.result_type(limits, network.demand).kind != "c":
        with np.errstate(divide="ignore"):
            by_station = np.ascontiguousarray((limits / network.demand).transpose(2, 0, 1))
        return np.asarray(by_station.min(axis=0))
    limit = quotient(limits, network.demand, np.inf)
    least: Array = np.take_along_axis(limit, limit.real.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
    return least


def _service_factors(network: NetworkArrays) -> tuple[Array, Array, Array]:
    """Return, for each station and by the numbers n that may be present, the least and the greatest
    n / s(n), s being the speed, and the highest speed, (P, K).
    """
    total = network.population.sum(axis=1)[:, None]
    # Open customers are without number where they come.
    endless = np.asarray(
        (np.where(network.closed, 0.0, network.arrivals)[:, :, None] * network.demand).any(axis=1)
    )
    least = np.ones((network.points, len(network.stations)))
    # All customers of the network at one station are its longest queue.
    most = np.maximum(1.0, total / network.servers)
    capacity = least * network.servers
    most[:, network.delays], capacity[:, network.delays] = 1.0, np.inf
    for station, rates in enumerate(network.rates):
        if rates is None or network.delays[station]:
            continue
        speed = rates.real
        n = np.arange(1.0, speed.shape[1] + 1)
        within = (n <= np.maximum(total, 1)) | endless[:, [station]]
        # Without product form one customer may have the speed of all that are present.
        sharing = 1 if network.without_product_form[station] else n
        least[:, station] = np.where(within, sharing / speed, np.inf).min(axis=1)
        most[:, station] = np.maximum(
            np.where(within, n / speed, 0.0).max(axis=1), total[:, 0] / speed[:, -1]
        )
        capacity[:, station] = speed.max(axis=1)
    if not network.all_closed or any(network.without_product_form):
        most[:, ~_wait_limited(network)] = np.inf
    return least, most, capacity


def _wait_limited(network: NetworkArrays) -> NDArray[np.bool_]:
    """Return at which stations a mean wait is at most the service of all other customers, (K,).

    With one class, every blind discipline has the queue of first come first served.
    """
    if not network.all_closed:
        return np.zeros(len(network.stations), dtype=bool)
    unlike_product_form = np.array([not flag for flag in network.without_product_form], dtype=bool)
    blind = np.array(
        [DISCIPLINES[discipline].blind for discipline in network.discipline], dtype=bool
    )
    return np.asarray(unlike_product_form | (blind & network.single & (len(network.classes) == 1)))


def _one_class(network: NetworkArrays, name: str) -> tuple[Array, Array, Array, Array]:
    """Return N (P,), Z (P,) [s], the demands D of the stations (P, K) [s] and the largest of them
    (P,) of a network of one closed class, or raise; all are real.
    """
    if len(network.classes) != 1 or not network.closed.all():
        raise ModelError(f"{name} bounds are for one closed class; asymptotic bounds take any")
    for station in np.flatnonzero(~network.single & ~network.delays):
        raise ModelError(
            f"{network.stations[station]} is not a single server of one speed, which {name} bounds"
            " need; asymptotic bounds take any"
        )
    for name_of_station, why in zip(network.stations, network.without_product_form, strict=True):
        if why:  # with scv 9 the throughput of two stations lies 16 % below the balanced job bound
            raise ModelError(
                f"{name_of_station} {why}, so there is no product form, which {name} bounds need; asymptotic"
                " bounds take any"
            )
    demand = network.demand[:, 0].real
    queueing = demand[:, ~network.delays]
    # A delay is think time for the other stations.
    away = network.think[:, 0].real + demand[:, network.delays].sum(axis=1)
    return network.population[:, 0].astype(float), away, queueing, queueing.max(axis=1, initial=0.0)


def balanced_job(network: NetworkArrays) -> Bounds:
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
    >>> balanced_job(network_arrays([0.6, 0.4], population=4, think=1.0))
    (array([[1.1627907]]), array([[1.45454545]]))
    """
    count, away, demand, slowest = _one_class(network, "balanced job")
    total = demand.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / max(1, demand.shape[1])
        low = count / (away + total + (count - 1) * slowest / (1 + away / (count * total)))
        high = np.minimum(
            1 / slowest, count / (away + total + (count - 1) * mean / (1 + away / total))
        )
    return _without_stations(count, away, total, low, high)


def _without_stations(count: Array, away: Array, total: Array, low: Array, high: Array) -> Bounds:
    with np.errstate(divide="ignore", invalid="ignore"):
        free = count / away
    low, high = (
        np.where(count == 0, 0.0, np.where(total > 0, bound, free))[:, None]
        for bound in (low, high)
    )
    return low, high


def proportional(network: NetworkArrays) -> Bounds:
    r"""Bound the throughput of one closed class by queues in proportion to the demands, or to their
    N-th powers.

        N / (Z + D + q_N (N - 1 - Z X-(N-1)))
            <= X <= min(1/Dmax, N / (Z + D + q_2 (N - 1 - Z X+(N-1))))

    with q_m = sum D^m / sum D^(m-1), and the asymptotic bounds X- and X+ for one customer fewer.

    Source: Hsieh and Lam, Performance Evaluation 7(3), 1987, 223-233.

    Raises
    ------
    ModelError : several classes, open ones, or a station of several speeds or without product form

    >>> from slipstick.queueing.network import network_arrays
    >>> proportional(network_arrays([0.6, 0.4], population=4))
    (array([[1.50214592]]), array([[1.5625]]))
    """
    count, away, demand, slowest = _one_class(network, "proportional")
    total = demand.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Relative to the largest, so that no power under- or overflows.
        share = demand / slowest[:, None]
        power_mean = (
            slowest
            * (share ** count[:, None]).sum(axis=1)
            / (share ** (count[:, None] - 1)).sum(axis=1)
        )
        before, _ = _asymptotic(count - 1, away, total, slowest)
        low = count / (away + total + power_mean * (count - 1 - away * before))
    return _without_stations(
        count, away, total, low, _proportional_high(count, away, demand, slowest)
    )


def _proportional_high(count: Array, away: Array, demand: Array, slowest: Array) -> Array:
    """Return the upper proportional bound of N customers, (P,) [1/s]."""
    total = demand.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        two = slowest * ((demand / slowest[:, None]) ** 2).sum(axis=1) / (total / slowest)
        _, before = _asymptotic(count - 1, away, total, slowest)
        high = np.minimum(1 / slowest, count / (away + total + two * (count - 1 - away * before)))
    return np.where(count > 0, high, 0.0)


def _asymptotic(count: Array, away: Array, total: Array, slowest: Array) -> tuple[Array, Array]:
    low = count / (away + count * total)
    high = np.minimum(count / (away + total), 1 / slowest)
    return np.where(count > 0, low, 0.0), np.where(count > 0, high, 0.0)


def geometric(network: NetworkArrays) -> Bounds:
    r"""Bound the throughput of one closed class by geometric queues.

        X = 2 N / (b + sqrt(b^2 - 4 Z Dmax m)),    b = Z + D + Dmax (N - 1) - sum of (Dmax - D_k) Q_k

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
    >>> geometric(network_arrays([0.6, 0.4], population=4))
    (array([[1.50273823]]), array([[1.55494366]]))
    """
    count, away, demand, slowest = _one_class(network, "geometric")
    total = demand.sum(axis=1)
    customers_met = count - 1
    bounds = []
    with np.errstate(divide="ignore", invalid="ignore"):
        fast = _proportional_high(customers_met, away, demand, slowest)
        for flow, m in (
            (customers_met / (away + total + slowest * customers_met), customers_met),
            (fast, count),
        ):
            spare = slowest[:, None] - demand
            y = demand * flow[:, None]
            # Where y may be 1, at the slowest station, the term is left out: its factor is 0.
            queues = np.where(spare > 0, spare * (y - y ** count[:, None]) / (1 - y), 0.0).sum(
                axis=1
            )
            b = away + total + slowest * customers_met - queues
            # Without rounding b is Z + N Dmax at the least, and the root at least |Z - N Dmax|.
            bounds.append(
                2 * count / (b + np.sqrt(np.maximum(0.0, b * b - 4 * away * slowest * m)))
            )
    low, high = bounds
    return _without_stations(count, away, total, low, high)
