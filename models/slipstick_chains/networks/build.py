"""Routing and state space of a Markov chain, built from the arrays of a network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from slipstick.errors import ModelError, NoAnswerError, Unsolvable
from slipstick.late import NDArray, dataclass, np, replace
from slipstick.limits import check_cost
from slipstick.phases import (
    PhaseType,
    exponential,
    phase_type,
)
from slipstick.queueing.markov_chain import Array
from slipstick.queueing.network import NetworkArrays
from slipstick.queueing.routes import OUTSIDE, Routes
from slipstick.vocabulary import AFTER_SERVICE, BEFORE_SERVICE, DISCIPLINES, LOSS
from slipstick_chains.networks.state_space import (
    SharedServers,
    StateSpace,
    StationState,
    initial_state,
    missing_probability,
    station_state,
)


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """The routing of customers through a network, by class; see `routing_in_order` and
    `routing_of_chains`.

    Parameters
    ----------
    entry_probability : probability that a class begins its cycle at each station; what is lacking
        of 1 ends at once [1] [classes, stations]
    onward_probability : probability that a class leaves a station for a class at a station; what is
        lacking of 1 ends the cycle: an open class leaves, a closed one thinks and begins anew [1]
        [classes, stations, classes, stations]
    restart_class : for each class, the number of the class in which a customer begins its next
        cycle; empty if it is always the same class

    With one station more than the network has, the last one is for thinking, and no cycle of a
    closed class ends.
    """

    entry_probability: Array
    onward_probability: Array
    restart_class: tuple[int, ...] = ()

    def related_classes(self) -> NDArray[np.bool_]:
        """Return for each class the classes that its customers can ever belong to, itself included
        [classes, classes].
        """
        class_count = len(self.entry_probability)
        can_become = np.eye(class_count, dtype=bool) | (self.onward_probability.real > 0).any(
            axis=(1, 3)
        )
        for class_index, start_class in enumerate(self.restart_class):
            can_become[class_index, start_class] = True
        # Squaring doubles the length of the paths that are joined: so many times is more than
        # enough.
        for _ in range(class_count):
            can_become = (can_become.astype(int) @ can_become.astype(int)) > 0
        can_become |= can_become.T
        return can_become


def routing_in_order(visit_ratios: Array) -> Routing:
    """Build the routing in which customers visit the stations in the order written, as often as the
    visit ratios state.

    A station of V <= 1 visits is passed by with probability 1 - V; one of V > 1 is visited again at
    once with probability 1 - 1/V after each visit. Product-form answers depend on the visits alone,
    others on this order.

    Parameters
    ----------
    visit_ratios : visits in one cycle [1] [classes, stations]

    Raises
    ------
    NoAnswerError : the pairs of a class at a station are more than the limit

    >>> routing = routing_in_order(np.array([[2.0, 0.5]]))
    >>> (
    ...     routing.entry_probability.tolist(),
    ...     routing.onward_probability[0, 0, 0].tolist(),
    ...     routing.onward_probability[0, 1, 0].tolist(),
    ... )
    ([[1.0, 0.0]], [0.5, 0.25], [0.0, 0.0])
    """
    class_count, station_count = visit_ratios.shape
    check_cost(
        "routing",
        (class_count * station_count) ** 2,
        f"{class_count} classes at {station_count:,} stations take"
        f" {(class_count * station_count) ** 2:,} routing probabilities of a Markov chain",
        "ask for schweitzer, linearizer or simulation",
    )
    visit_probability = np.where(visit_ratios.real > 1, 1.0, visit_ratios)
    repeat_probability = np.where(
        visit_ratios.real > 1, 1.0 - 1.0 / np.where(visit_ratios.real > 1, visit_ratios, 1.0), 0.0
    )
    # From just before station k: the first station visited from there on.
    first_visit_ahead = np.zeros(
        (station_count + 1, class_count, station_count), dtype=visit_probability.dtype
    )
    for station in range(station_count - 1, -1, -1):
        first_visit_ahead[station] = (1.0 - visit_probability[:, station])[
            :, None
        ] * first_visit_ahead[station + 1]
        first_visit_ahead[station, :, station] += visit_probability[:, station]
    onward_probability = np.zeros(
        (class_count, station_count, class_count, station_count), dtype=visit_probability.dtype
    )
    for class_index, station in np.ndindex(class_count, station_count):
        onward_probability[class_index, station, class_index] = (
            1.0 - repeat_probability[class_index, station]
        ) * first_visit_ahead[station + 1, class_index]
        onward_probability[class_index, station, class_index, station] += repeat_probability[
            class_index, station
        ]
    return Routing(first_visit_ahead[0], onward_probability)


def routing_of_chains(
    network: NetworkArrays, routes: Routes, references: dict[tuple[int, ...], tuple[int, int]]
) -> Routing:
    """Build a routing in which the classes of some chains follow their routes, and all others visit
    the stations in order.

    The cycle of a closed chain ends where a customer comes to the reference, a class at a station;
    a customer that thinks does so on the way there.

    Parameters
    ----------
    network : the classes at one point
    routes : of the classes in chains, at that point
    references : for each chain, by the numbers of its classes, the class and the station where a
        cycle begins

    >>> from slipstick.queueing.network import network_arrays
    >>> routes = Routes(np.array([(0, 0), (1, 0)]), np.array([(1, 0), (0, 0)]), np.ones((1, 2)))
    >>> routing = routing_of_chains(
    ...     network_arrays([[1.0], [1.0]], population=[1, 0]), routes, {(0, 1): (0, 0)}
    ... )
    >>> routing.onward_probability[0, 0, 1], routing.restart_class
    (array([1., 0.]), (0, 0))
    """
    ordered_routing = _routing_in_order(network)
    think_station = len(network.stations)
    dtype = np.result_type(ordered_routing.onward_probability, routes.probability)
    entry_probability = ordered_routing.entry_probability.astype(dtype)
    onward_probability = ordered_routing.onward_probability.astype(dtype)
    restart_class = list(range(len(ordered_routing.entry_probability)))
    for member_classes, (reference_class, reference_station) in references.items():
        entry_probability[list(member_classes)], onward_probability[list(member_classes)] = 0, 0
        first_station = (
            think_station if _thinking_classes(network)[reference_class] else reference_station
        )
        entry_probability[reference_class, first_station] = 1
        for class_index in member_classes:
            restart_class[class_index] = reference_class
        for route_index in routes.among(member_classes):
            (class_index, station_index), (next_class, next_station), probability = (
                routes.source[route_index],
                routes.target[route_index],
                routes.probability[0, route_index],
            )
            if next_class == OUTSIDE:
                continue
            ends_cycle = (next_class, next_station) == (reference_class, reference_station)
            onward_probability[
                class_index,
                station_index,
                next_class,
                first_station if ends_cycle else next_station,
            ] += probability
            if first_station == think_station and ends_cycle:
                onward_probability[next_class, think_station, next_class, next_station] = 1
    return Routing(entry_probability, onward_probability, tuple(restart_class))


def _thinking_classes(network: NetworkArrays) -> NDArray[np.bool_]:
    """Return a mask of the closed classes that have a think time [classes]."""
    has_think_time: NDArray[np.bool_] = network.closed & (network.think[0].real > 0)
    return has_think_time


def _routing_in_order(network: NetworkArrays) -> Routing:
    """Build the routing of one point in which customers visit the stations in order; stations at
    which they spend no time are left out.
    """
    return _add_think_station(
        network, routing_in_order(np.where(network.service[0].real > 0, network.visits[0], 0.0))
    )


def _add_think_station(network: NetworkArrays, routing: Routing) -> Routing:
    """Return a routing with a last station for think time, in which each cycle of a closed class
    begins at the place at which the previous cycle ends.
    """
    station_count = routing.entry_probability.shape[1]
    if station_count > len(network.stations):
        return routing
    entry_probability = np.pad(routing.entry_probability, ((0, 0), (0, 1)))
    onward_probability = np.pad(routing.onward_probability, ((0, 0), (0, 1), (0, 0), (0, 1)))
    for class_index in np.flatnonzero(network.closed):
        # The entries are overwritten below, while those of before are still needed.
        entry_of_class = entry_probability[class_index].copy()
        cycle_start = entry_probability[class_index] / (entry_probability[class_index].sum() or 1.0)
        if _thinking_classes(network)[class_index]:
            # A cycle that visits no station is one more think time; without think time such cycles
            # take none.
            cycle_start = np.eye(station_count + 1)[station_count]
            onward_probability[class_index, station_count, class_index] = (
                entry_of_class + missing_probability(entry_of_class.sum()) * cycle_start
            )
        onward_probability[class_index, :station_count, class_index] += (
            missing_probability(routing.onward_probability[class_index].sum(axis=(1, 2)))[:, None]
            * cycle_start
        )
        entry_probability[class_index] = cycle_start
    return Routing(entry_probability, onward_probability, routing.restart_class)


@dataclass(frozen=True, eq=False)
class NetworkPoint:
    """One point of a network, with its routing.

    Parameters
    ----------
    network : the network, one point
    routing : where customers go next, with the station to think at
    """

    network: NetworkArrays
    routing: Routing

    def visited_mask(self) -> NDArray[np.bool_]:
        """Return which classes visit which stations, and which think [classes, stations + 1]."""
        is_visited: NDArray[np.bool_] = (self.routing.entry_probability.real > 0) | (
            self.routing.onward_probability.real > 0
        ).any(axis=(0, 1))
        return is_visited

    def is_unbounded(self) -> bool:
        """Return whether the number of open customers at some station has no limit."""
        is_visited = self.visited_mask()[~self.network.closed, :-1].any(axis=0)
        return bool(np.any(is_visited & ~self.network.has_capacity))

    def population(self) -> NDArray[np.int64]:
        """Return the customers of each class at the start, 0 where it is open [classes]."""
        customers_by_class: NDArray[np.int64] = np.where(
            self.network.closed, self.network.population[0], 0
        )
        return customers_by_class


def network_point(network: NetworkArrays, routing: Routing | None = None) -> NetworkPoint:
    """Return one point of a network with its routing, and raise if a chain cannot represent a part
    of it.

    Raises
    ------
    ModelError : a service takes no time, or routing or blocking does not fit
    """
    class_count, station_count = network.service.shape[1:]
    if routing is not None and routing.entry_probability.shape not in (
        (class_count, station_count),
        (class_count, station_count + 1),
    ):
        raise ModelError(
            f"routing is for {routing.entry_probability.shape} classes and stations, the network"
            f" has {(class_count, station_count)}"
        )
    point = NetworkPoint(
        network,
        _routing_in_order(network) if routing is None else _add_think_station(network, routing),
    )
    for class_index, station in np.argwhere(point.visited_mask()[:, :-1]):
        if not network.service[0, class_index, station].real > 0:
            raise ModelError(
                f"{network.classes[class_index]} at {network.stations[station]}: routing leads"
                " there, but service takes no time"
            )
    if (
        point.routing.related_classes() & (network.closed[:, None] != network.closed[None, :])
    ).any():
        raise ModelError("routing turns an open class into a closed one; keep them apart")
    if network.batch and (network.has_capacity.any() or network.balking):
        raise ModelError(
            f"{network.non_poisson_reason}, which a chain takes only without capacities and"
            " balking; ask"
            " for simulation"
        )
    if any(network.arrival_words):
        raise ModelError(
            f"{network.non_poisson_reason}, which a Markov chain does not cover; ask for simulation"
        )
    if network.timeouts is not None and network.timeouts.any():
        station_name = network.stations[int(np.flatnonzero(network.timeouts.any(axis=0))[0])]
        raise ModelError(
            f"the time-out at {station_name} is constant, which a Markov chain does not cover; ask"
            " for simulation"
        )
    for station_name, discipline, is_abandoned in zip(
        network.stations, network.discipline, _is_abandoned_by_station(network), strict=True
    ):
        if is_abandoned and DISCIPLINES[discipline].preemptive:
            raise ModelError(
                f"customers abandon {station_name}, which interrupts services; a chain does not"
                " distinguish customers that wait to be resumed from those whose service has not"
                " begun; ask for simulation"
            )
    if AFTER_SERVICE in network.blocking:
        _check_blocking_after_service(point)
    else:
        _check_blocking(point)
    return point


def _is_abandoned_by_station(network: NetworkArrays) -> list[bool]:
    """Return for each station whether some customers abandon its queue."""
    if network.patience is None:
        return [False] * len(network.stations)
    is_abandoned_by_station: list[bool] = network.patience[0].astype(bool).any(axis=0).tolist()
    return is_abandoned_by_station


def _check_blocking(point: NetworkPoint) -> None:
    """Refuse blocking for which a state would have to keep the destination of a customer or the
    phase of a stopped service.
    """
    network = point.network
    onward_probability = point.routing.onward_probability.real
    for full_station, blocking in enumerate(network.blocking):
        if blocking == LOSS or network.capacity[full_station] is None:
            continue
        for class_index, station in np.argwhere(
            onward_probability[:, :-1, :, full_station].sum(axis=2) > 0
        ):
            if station == full_station:
                continue
            movement_words = (
                f"{network.classes[class_index]} from {network.stations[station]} to"
                f" {network.stations[full_station]}"
            )
            # Parts that add up to 1 but for rounding leave no part for the outside.
            if (
                blocking == BEFORE_SERVICE
                and np.count_nonzero(onward_probability[class_index, station])
                + (onward_probability[class_index, station].sum() < 1 - 1e-12)
                > 1
            ):
                raise ModelError(
                    f"{movement_words}: blocking before service needs one destination; use"
                    " 'repeat' or 'loss'"
                )
            if _service_time(point, class_index, station).phases > 1:
                raise ModelError(
                    f"{movement_words}: a Markov chain has no rule for blocking of a service in"
                    " phases; ask for simulation, or use scv 1"
                )


def _check_blocking_after_service(point: NetworkPoint) -> None:
    """Raise for blocking after service, except for one class without think time at exponential
    single servers, where a state needs only the order in which stations are released.
    """
    network = point.network
    if len(network.classes) > 1 or (network.think != 0).any():
        raise ModelError(
            "a Markov chain blocks after service one class that does not think; ask for simulation"
        )
    if network.patience is not None:
        raise ModelError(
            "a Markov chain has no rule for queues that are abandoned where it blocks after"
            " service; ask for simulation"
        )
    disciplines = [DISCIPLINES[discipline] for discipline in network.discipline]
    is_plain = network.is_single & (network.scv.real == 1).all(axis=(0, 1))
    for station, (station_name, blocking) in enumerate(
        zip(network.stations, network.blocking, strict=True)
    ):
        if not is_plain[station] or disciplines[station].ranked:
            raise ModelError(
                f"{station_name} is not one exponential server, as a Markov"
                " chain needs where it blocks after service; ask for simulation"
            )
        if network.capacity[station] and blocking != AFTER_SERVICE:
            raise ModelError(
                f"{station_name} has another kind of blocking; in a Markov chain all stations"
                " block after service if any does; ask for simulation"
            )


def _service_time(point: NetworkPoint, class_index: int, station: int) -> PhaseType:
    """Return the service time of a class at a station."""
    network = point.network
    mean_time = point.network.service[0, class_index, station]
    class_name, station_name = network.classes[class_index], network.stations[station]
    unit_phases = network.phases.get((class_name, station_name))
    return (
        phase_type(
            mean_time,
            network.scv[0, class_index, station],
            f"the service time of {class_name} at {station_name}",
        )
        if unit_phases is None
        else unit_phases.scaled(mean_time)
    )


def _balking_by_class_and_station(
    network: NetworkArrays,
) -> Iterator[tuple[tuple[int, int], tuple[int, Array]]]:
    """Yield, by class and station, the number of servers (1 at a station with `rates`) and the
    probabilities that an arriving customer balks, by the length of the queue.
    """
    for (class_name, station_name), balking_probabilities in network.balking.items():
        station = network.stations.index(station_name)
        servers = int(network.servers[station]) if network.rates[station] is None else 1
        yield (network.classes.index(class_name), station), (servers, balking_probabilities[0])


def build_state_space(point: NetworkPoint, truncation: int | None) -> StateSpace:
    """Build the state space of a point, with open classes truncated at a number of customers in
    all.

    Raises
    ------
    ModelError : the stations have no place for the closed classes, or a lost customer would have no
        place to go
    NoAnswerError : a cycle takes no time
    """
    network = point.network
    routing = point.routing
    class_count, station_count = network.service.shape[1:]
    is_visited = point.visited_mask()
    _check_time_spent(point)
    entries_by_class = _entries_by_class(routing.entry_probability * is_visited)
    restart_by_class = [
        entries_by_class[class_index] for class_index in routing.restart_class or range(class_count)
    ]
    # What has a slope alone is never entered, but takes part in derivatives.
    _check_cycle_starts(
        point,
        [
            [station for _, station, probability in entries if complex(probability).real]
            for entries in restart_by_class
        ],
    )
    station_states = _station_states(point, is_visited, truncation)
    burst_rates = () if network.bursts is None else network.bursts[0]
    bursts_by_class = {
        class_index: burst for class_index, burst in enumerate(burst_rates) if burst.any()
    }
    # After service, a blocked station says for which one it waits, and in which order.
    column_count = (
        sum(state.width for state in station_states)
        + 2 * station_count * (AFTER_SERVICE in network.blocking)
        + len(bursts_by_class)
    )
    empty_row = _empty_row(point, column_count, truncation)
    arrivals_by_class = {
        int(class_index): (network.arrivals[0, class_index], entries_by_class[class_index])
        for class_index in np.flatnonzero(~network.closed)
        if network.arrivals[0, class_index] != 0
    }
    state_space = StateSpace(
        stations=station_states,
        names=network.stations,
        destinations=_destinations_by_class_and_station(
            routing.onward_probability * is_visited, is_visited
        ),
        arrivals=arrivals_by_class,
        bursts=bursts_by_class,
        batch=network.batch or (1,) * class_count,
        restart=dict(enumerate(restart_by_class)),
        abandonment=_abandonment_rates(network, is_visited),
        capacity=(*network.capacity, None),
        balking=dict(_balking_by_class_and_station(network)),
        blocking=(*network.blocking, LOSS),
        truncation=truncation,
        open_classes=~network.closed,
        start=empty_row,
        interleaved=empty_row,
    )
    return _place_closed_customers(state_space, point)


def _station_states(
    point: NetworkPoint, is_visited: Array, truncation: int | None
) -> list[StationState]:
    """Return the representation of each station, and as the last one of the think time."""
    network = point.network
    class_count, station_count = network.service.shape[1:]
    station_states = [
        _station_state(point, station, truncation) for station in range(station_count)
    ]
    think_times = {
        int(class_index): exponential(network.think[0, class_index])
        for class_index in np.flatnonzero(is_visited[:, station_count])
    }
    return [*station_states, SharedServers(think_times, class_count, None)]


def _entries_by_class(entry_probability: Array) -> list[list[tuple[int, int, complex]]]:
    """List, for each class, the places at which its customers enter the network: class, station,
    and probability.
    """
    return [
        [
            (class_index, int(station), station_probabilities[station].item())
            for station in np.flatnonzero(station_probabilities)
        ]
        for class_index, station_probabilities in enumerate(entry_probability)
    ]


def _destinations_by_class_and_station(
    onward_probability: Array, is_visited: NDArray[np.bool_]
) -> dict[tuple[int, int], list[tuple[int, int, complex]]]:
    """List, for each class at each station, where its customers go next: class, station, and
    probability.
    """
    return {
        (class_index, station): [
            (
                int(next_class),
                int(next_station),
                onward_probability[class_index, station, next_class, next_station].item(),
            )
            for next_class, next_station in np.argwhere(onward_probability[class_index, station])
        ]
        for class_index, station in np.argwhere(is_visited).tolist()
    }


def _check_time_spent(point: NetworkPoint) -> None:
    """Raise if a closed class with customers spends no time anywhere."""
    for class_index in np.flatnonzero(point.population()):
        if not point.routing.entry_probability[class_index].real.any():
            reason = Unsolvable.with_advice(
                f"{point.network.classes[class_index]} spends no time anywhere, so it would cycle"
                " infinitely often",
                "give it a service or think time",
            )
            raise NoAnswerError(reason)


def _empty_row(point: NetworkPoint, column_count: int, truncation: int | None) -> Array:
    """Return the state without customers, in the smallest integer type that suffices [columns]."""
    known_capacities = (capacity or 0 for capacity in point.network.capacity)
    largest_number = max(int(point.population().sum()), truncation or 0, *known_capacities)
    # States take most of the memory: two bytes a number where they hold it, with room for marks.
    return np.zeros(max(1, column_count), dtype=np.int16 if largest_number < 2**14 else np.int32)


def _place_closed_customers(space: StateSpace, point: NetworkPoint) -> StateSpace:
    """Return a state space with its two first states: with the closed customers placed class after
    class, and with the classes in turn.
    """
    population = point.population()
    is_visited = point.visited_mask()
    think_station = is_visited.shape[1] - 1
    first_stations = {
        class_index: [
            *dict.fromkeys(
                [
                    *(station for _, station, _ in destinations),
                    *np.flatnonzero(is_visited[class_index]),
                ]
            )
        ]
        for class_index, destinations in space.restart.items()
    }
    customers_by_class = {
        class_index: int(customer_count)
        for class_index, customer_count in enumerate(population)
        if customer_count > 0
    }
    class_after_class = [
        class_index
        for class_index, customer_count in customers_by_class.items()
        for _ in range(customer_count)
    ]
    # The j-th of n customers of a class comes at (j + 1/2) / n, so the classes take turns; the last
    # restarts.
    classes_in_turn = sorted(
        (
            ((rank_in_class + 0.5) / customer_count, class_index)
            for class_index, customer_count in customers_by_class.items()
            for rank_in_class in range(customer_count)
        ),
        reverse=True,
    )
    stations_thinking_last = {
        class_index: sorted(station_order, key=lambda station: station == think_station)
        for class_index, station_order in first_stations.items()
    }
    interleaved_state = initial_state(
        space, [class_index for _, class_index in classes_in_turn], stations_thinking_last
    )
    return replace(
        space,
        start=initial_state(space, class_after_class, first_stations),
        interleaved=interleaved_state,
    )


def _abandonment_rates(
    network: NetworkArrays, is_visited: NDArray[np.bool_]
) -> dict[tuple[int, int], complex]:
    """Return the rates at which waiting customers abandon the queues of stations, by class and
    station [1/s].
    """
    if network.patience is None:
        return {}
    class_station_pairs = np.argwhere(
        (network.patience[0] != 0) & is_visited[:, : len(network.stations)]
    ).tolist()
    return {
        (class_index, station): (1 / network.patience[0, class_index, station]).item()
        for class_index, station in class_station_pairs
    }


def _check_cycle_starts(point: NetworkPoint, start_stations: Sequence[Sequence[int]]) -> None:
    """Raise if customers of a closed class can be lost and begin their next cycle at a station
    where they can be lost again.
    """
    network = point.network
    is_visited = point.visited_mask()
    population = point.population().sum()
    stations_with_balking = {station_name for _, station_name in network.balking}
    loss_stations = [
        station
        for station, blocking in enumerate(network.blocking)
        if (blocking == LOSS and network.has_capacity[station])
        or network.stations[station] in stations_with_balking
    ]
    for class_index in np.flatnonzero(network.closed).tolist():
        lossy_starts = [
            station for station in start_stations[class_index] if station in loss_stations
        ]
        lossy_stations = [
            station
            for station in loss_stations
            if is_visited[class_index, station] and (network.capacity[station] or 0) < population
        ]
        if lossy_starts and lossy_stations:
            raise ModelError(
                f"{network.classes[class_index]} is lost at {network.stations[lossy_stations[0]]}"
                f" and begins its cycle again at {network.stations[lossy_starts[0]]}, which may be"
                " full; give a think time or another blocking"
            )


def _station_state(point: NetworkPoint, station: int, truncation: int | None) -> StationState:
    """Return the representation of a station by the columns that its discipline needs; see
    `station_state`.
    """
    network = point.network
    visitors = np.flatnonzero(point.visited_mask()[:, station]).tolist()
    share_by_class = None
    has_impatient = network.patience is not None and bool(network.patience[0, :, station].any())
    has_balking = any(
        station_name == network.stations[station] for _, station_name in network.balking
    )
    if (
        not has_balking
        and _has_only_arrivals_from_outside(point, visitors, station)
        and not has_impatient
    ):
        rate_by_class = {
            class_index: network.arrivals[0, class_index]
            * point.routing.entry_probability[class_index, station]
            for class_index in visitors
        }
        share_by_class = {
            class_index: arrival_rate / sum(rate_by_class.values())
            for class_index, arrival_rate in rate_by_class.items()
        }
    station_rates = network.rates[station]
    rank_by_class = {
        class_index: int(network.priority[class_index, station]) for class_index in visitors
    }
    return station_state(
        network.discipline[station],
        {class_index: _service_time(point, class_index, station) for class_index in visitors},
        len(network.classes),
        servers=int(network.servers[station]),
        rates=None if station_rates is None else station_rates[0],
        most_present=max(_largest_present_count(point, station, truncation), 1),
        ranks=rank_by_class,
        shares=share_by_class,
        may_abandon=has_impatient,
        weights=None
        if network.weights is None
        else {
            class_index: network.weights[0, class_index, station].item() for class_index in visitors
        },
    )


def _has_only_arrivals_from_outside(
    point: NetworkPoint, visitors: Sequence[int], station: int
) -> bool:
    """Return whether all customers of a station come from outside the network."""
    are_all_open = not point.network.closed[visitors].any()
    have_arrivals = (point.network.arrivals[0, visitors].real > 0).all()
    have_arrivals &= not point.network.non_poisson_reason
    return bool(
        are_all_open
        and have_arrivals
        and not point.routing.onward_probability[:, :, :, station].any()
    )


def _largest_present_count(point: NetworkPoint, station: int, truncation: int | None) -> int:
    """Return the largest number of customers that can be present at a station."""
    is_possible_class = point.routing.related_classes()[point.visited_mask()[:, station]].any(
        axis=0
    )
    most_customers = int(point.population()[is_possible_class].sum())
    has_open_class = bool((is_possible_class & ~point.network.closed).any())
    capacity = point.network.capacity[station]
    if has_open_class and truncation is None:
        assert capacity is not None
        return capacity
    most_customers += (truncation or 0) * has_open_class
    return most_customers if capacity is None else min(capacity, most_customers)


def state_count_words(point: NetworkPoint, truncation: int | None, state_limit: float = 0) -> str:
    """Describe the size of a chain by a lower bound on its states that is known before it is
    explored: without capacities, the ways to place the customers.

    With n customers at m stations there are C(n + m - 1, n) ways; open ones may also be outside.
    Orders and phases are not counted.

    >>> from slipstick.queueing.network import network_arrays
    >>> state_count_words(network_point(network_arrays([1.0, 2.0, 3.0], population=4)), None)
    'at least 15 in all'
    """
    truncation_text = (
        "" if truncation is None else f", truncated at {truncation} customers of open classes"
    )
    is_closed = point.network.closed
    is_visited = point.visited_mask()
    open_station_count = int(is_visited[~is_closed].any(axis=0).sum())
    placement_count = math.comb((truncation or 0) + open_station_count, open_station_count)
    for member_classes in np.unique(point.routing.related_classes()[is_closed], axis=0):
        customer_count = int(point.population()[member_classes].sum())
        station_count = int(is_visited[member_classes].any(axis=0).sum())
        placement_count *= math.comb(customer_count + max(station_count, 1) - 1, customer_count)
    is_bound_shown = placement_count > state_limit and not point.network.has_capacity.any()
    return (
        f"at least {min(placement_count, 10**300):.4g} in all"
        if is_bound_shown
        else "as many as were looked for"
    ) + truncation_text
