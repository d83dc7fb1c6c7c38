"""Solvers of queueing networks as compiled models: one call solves many points, and answers are
read from its solution.

An answer at one point has more than the columns of the solver: the account of one customer's cycle,
the population at which each closed chain saturates its slowest station, and quantiles of the
response time where they have a closed form.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from functools import cached_property, partial

from slipstick.answer import DeferredShares
from slipstick.errors import CountedAtStation, Definition
from slipstick.expression.nodes import TIME, parameters, zero
from slipstick.expression.tape import Columns, Tape, Values, selected_values
from slipstick.late import NDArray, np
from slipstick.limits import ANNOUNCE, ANNOUNCED, advice_on_limit, limit_in_force
from slipstick.method.answers import (
    BLOCK,
    ROUNDING,
    CompiledModel,
    Gradient,
    Remarks,
    Solution,
    complex_step,
    value_at,
)
from slipstick.method.names import QUANTILES, THINK
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.solvers import (
    SolvedTogether,
    preferred_method,
    reasons_unsolvable,
    solved_points,
)
from slipstick.model.network import Chain, ClosedClass, OpenClass, QueueingNetwork
from slipstick.queueing.bounds import saturation_population
from slipstick.queueing.network import (
    Array,
    MarkovSolution,
    NetworkArrays,
    NetworkSolution,
    have_one_value,
    quotient,
)
from slipstick.queueing.sojourn_times import (
    Transform,
    approximate_path,
    closed_path,
    open_path,
    probability_beyond,
    quantile,
    two_moments,
    visit_shared,
)
from slipstick.vocabulary import (
    BEST,
    DISCIPLINES,
    EXACT,
    KNOWN_OF_NETWORKS,
    LINEARIZER,
    LOSS,
    LOWERED,
    MARKOV_CHAIN,
    SAME_EXPONENTIAL,
    SCHWEITZER,
    refuse_unknown,
)

MOST_HELD = 3_000_000
"""Numbers that the points of one block hold together: about 45 B each, measured with 5 classes at
20 stations, which 32,768 points of a sweep took 4.6 GB for.
"""

MOST_NUMBERS = 1_000_000
"""Numbers of one array of an approximation with derivatives; more parameters are moved in parts."""

ONE_CLASS_NUMBER = 5e-8
"""Processor time of a number that the derivatives of one class hold, see `slopes_of_throughput`
[s].
"""

EXACT_STEP, APPROXIMATE_NUMBER = 4e-9, {LINEARIZER: 1.5e-6, SCHWEITZER: 6e-7}
"""Processor time of a derivative: of a step of an exact method, and of a number that an
approximation holds; within a factor of 3 for 30 to 600 stations, 5 to 200 customers and 1 to 5
classes [s].
"""

MOST_PROBABILITIES = 100_000
"""Numbers of customers at a station whose probabilities an answer has, from 0 on; a million of
them would take a GB.
"""


def _time_by_component(
    network_layout: NetworkLayout,
    network_points: NetworkPoints,
    measure_by_name: Mapping[str, float],
) -> dict[str, float]:
    """Return the time of one customer in a cycle, by component: thinking, service at each station,
    and waiting there [s].

    Only where all customers are of one chain; adds up to the cycle with its think time. A station
    whose speed depends on how many are there has no service apart from waiting.
    """
    # The parts of several chains would be of different customers, and not add up to one cycle.
    is_empty = network_points.network.closed.all() and not network_points.network.population.any()
    if len(network_layout.model.customer_chains) != 1 or is_empty:
        return {}
    (classes_of_customers,) = (
        network_layout.chains[name].classes for name in network_layout.model.customer_chains
    )
    time_by_component = (
        {THINK: float(network_points.network.think[0, 0].real)}
        if network_points.network.think[0, 0]
        else {}
    )
    for station_index, (station_name, station) in enumerate(network_layout.model.stations.items()):
        for class_name in filter(classes_of_customers.__contains__, station.visitors()):
            class_index = network_layout.classes.index(class_name)
            residence_time = measure_by_name[f"residence_time[{class_name},{station_name}]"]
            service_time = float(
                (
                    network_points.visits[0, class_index, station_index]
                    * network_points.service[0, class_index, station_index]
                ).real
            )
            # With losses not every customer of a cycle comes here or is served.
            if network_points.network.loss_reason and residence_time and not station.rates:
                time_per_visit = measure_by_name[f"time_per_visit[{class_name},{station_name}]"]
                service_time = residence_time * (
                    1
                    - measure_by_name[f"waiting_time[{class_name},{station_name}]"] / time_per_visit
                )
            waiting_time = (
                residence_time - service_time
                if network_points.network.rates[station_index] is None
                and not DISCIPLINES[station.discipline].delay
                else 0.0
            )
            time_by_component[station_name] = (
                time_by_component.get(station_name, 0.0) + residence_time - waiting_time
            )
            time_by_component[f"wait:{station_name}"] = (
                time_by_component.get(f"wait:{station_name}", 0.0) + waiting_time
            )
    return {
        component: time
        for component, time in time_by_component.items()
        if time or not component.startswith("wait:")
    }


def _saturation_populations(
    network: NetworkArrays, closed_chains: Collection[str]
) -> dict[str, float]:
    """Return the population at which each closed chain would saturate its slowest station, by
    name.
    """
    # Customers that are lost need no server, so that no number of them saturates one.
    if network.loss_reason or not network.closed.any():
        return {}
    population_by_class = saturation_population(network)[0].real
    return {
        f"saturation_population[{chain_name}]": float(population_by_class[class_index])
        for class_index, chain_name in enumerate(network.classes)
        if chain_name in closed_chains
    }


MOST_TRACED = 100
"""Customers of a closed class up to which quantiles of its response time are found with every
answer.
"""

MOST_VISITS = 40
"""Classes times stations up to which quantiles are approximated: it takes milliseconds a visit."""

QUANTILE_ERRORS = (0.10, 0.11, 0.10, 0.13)
"""Relative errors of approximate quantiles, of `QUANTILES`.

Of 356 random networks against simulation 97 of 100 are below, to full percents (medians 0.8 to 2 %,
at most 34 %). Of 276 other networks, with which nothing was chosen, 98.6, 99.3, 99.3 and 97.5 % lie
within (benchmarks/quantiles.py).
"""

APPROXIMATE_QUANTILES = (
    "quantiles of response times assume independent visits of a customer; their intervals contained"
    " the true values of 97 to 99 % of random networks"
)


def quantiles(
    network_layout: NetworkLayout, network: NetworkArrays, measure_by_name: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return quantiles of response times, and the relative errors of those that are approximate.

    Exact where the transform is known: every customer visits each station of its path once, and
    none overtakes another there: stations are exponential and first come first served, all
    customers of one take the same service time, and a customer that leaves the path does not come
    back to it. In an open network the first and the last station may have several servers or be
    delays. A demand does not say how many visits it is made of, so that only that of an open class
    at one station counts as one visit. Approximate in other open networks of product form whose
    customers visit a station once at most; see `slipstick.queueing.sojourn_times`. Tried elsewhere,
    with errors of a third and more at 0.99, so that these are left to simulation: visits made
    again, whose times go together; closed networks, where one queue is short when another is long;
    other variances of service.

    Parameters
    ----------
    network_layout, network : at one point
    measure_by_name : means of the network
    """
    if network_layout.model.chains or network.non_poisson_reason:
        return {}, {}
    quantile_by_name: dict[str, float] = {}
    error_by_name: dict[str, float] = {}
    for chain_index, chain_name in enumerate(network_layout.chains):
        station_indices = _visited_stations(network_layout, network, chain_index)
        mean_response = measure_by_name.get(f"response_time[{chain_name}]", 0.0)
        if not len(station_indices) or not 0 < mean_response < np.inf:
            continue
        quantile_names = [f"response_time_quantile[{chain_name},{level:g}]" for level in QUANTILES]
        transform = _exact_transform(network, chain_index, station_indices)
        if transform is None and _has_product_form_visits(network, chain_index):
            transform = _approximate_transform(
                network_layout, network, chain_index, station_indices, measure_by_name
            )
            error_by_name |= dict(zip(quantile_names, QUANTILE_ERRORS, strict=True))
        if transform is not None:
            quantile_by_name |= {
                quantile_name: quantile(transform, level, mean_response)
                for quantile_name, level in zip(quantile_names, QUANTILES, strict=True)
            }
    quantile_by_name = {
        quantile_name: time_quantile
        for quantile_name, time_quantile in quantile_by_name.items()
        if not np.isnan(time_quantile)
    }
    return quantile_by_name, {
        quantile_name: error
        for quantile_name, error in error_by_name.items()
        if quantile_name in quantile_by_name
    }


def shares_within_target(
    network_layout: NetworkLayout, network: NetworkArrays, point_values: Mapping[str, float]
) -> dict[str, float]:
    """Return, for each class with a target, the share of responses within it, if the distribution
    of the response time is known exactly [1]; see `quantiles`.

    Parameters
    ----------
    network_layout, network : at one point
    point_values : of all parameters

    >>> from slipstick.model.network import network, open_class, station
    >>> queue = {"desk": station(service={"calls": 1.0})}  # M/M/1: 1 - exp(-(1 - 0.5) 2 s)
    >>> layout = NetworkLayout(network({"calls": open_class(0.5, target_time=2.0)}, queue))
    >>> shares = shares_within_target(layout, layout.network_points(layout.columns({})).network, {})
    >>> round(shares["within_target[calls]"], 6)
    0.632121
    """
    share_by_name: dict[str, float] = {}
    for chain_index, (chain_name, chain) in enumerate(network_layout.chains.items()):
        if (
            chain.members.target_time == zero(TIME)
            or network_layout.model.chains
            or network.non_poisson_reason
        ):
            continue
        tape = Tape([chain.members.target_time])
        (target,) = tape.run(selected_values(point_values, tape.parameters))
        station_indices = _visited_stations(network_layout, network, chain_index)
        transform = (
            _exact_transform(network, chain_index, station_indices)
            if len(station_indices)
            else None
        )
        if transform is not None and target[0] > 0:
            share = 1 - probability_beyond(transform, float(target[0].real))
            share_by_name[f"within_target[{chain_name}]"] = min(max(share, 0.0), 1.0)
    return share_by_name


def _visited_stations(
    network_layout: NetworkLayout, network: NetworkArrays, chain_index: int
) -> NDArray[np.intp]:
    """Return the stations that a chain visits; none where the number of visits to them is
    unknown.
    """
    chain_name = list(network_layout.chains)[chain_index]
    station_indices = np.flatnonzero(network.demand[0, chain_index].real > 0)
    states_visits = all(
        chain_name in network_layout.model.stations[network_layout.stations[station_index]].service
        for station_index in station_indices
    )
    return (
        station_indices
        if states_visits or (len(station_indices) == 1 and not network.closed[chain_index])
        else station_indices[:0]
    )


def has_quantiles(model: QueueingNetwork, chain_name: str, must_be_exact: bool = False) -> bool:
    """Return whether quantiles of the response time of a class or chain have a formula at the
    model's own values, without solving anything.

    Parameters
    ----------
    model, chain_name : the network, and the class or chain
    must_be_exact : a formula without an error
    """
    network_layout = NetworkLayout(model)
    network = network_layout.network_points(network_layout.columns({})).network
    if (
        chain_name not in network_layout.chains
        or model.chains
        or model.blocks
        or network.non_poisson_reason
        or model.constructs
    ):
        return False
    chain_index = list(network_layout.chains).index(chain_name)
    station_indices = _visited_stations(network_layout, network, chain_index)
    if not len(station_indices):
        return False
    is_traceable = (
        not network.closed[chain_index]
        or 0 < int(network.population[0, chain_index]) <= MOST_TRACED
    )
    if is_traceable and _has_no_overtaking(network, chain_index, station_indices):
        return True
    return not must_be_exact and _has_product_form_visits(network, chain_index)


def _exact_transform(
    network: NetworkArrays, chain_index: int, station_indices: NDArray[np.intp]
) -> Transform | None:
    """Return the transform of the response time of a chain where it is known exactly; None
    elsewhere.
    """
    service_times = network.service[0, chain_index, station_indices].real.tolist()
    population = int(network.population[0, chain_index])
    think_time = float(network.think[0, chain_index].real)
    if not _has_no_overtaking(network, chain_index, station_indices) or (
        network.closed[chain_index] and not 0 < population <= MOST_TRACED
    ):
        return None
    if network.closed[chain_index]:
        return closed_path(service_times, think_time, population)
    server_counts = np.where(network.is_delay, 0, network.servers)
    servers_and_loads = (
        server_counts[station_indices].tolist(),
        _station_loads(network)[station_indices].tolist(),
    )
    return open_path(list(zip(service_times, *servers_and_loads, strict=True)))


def _station_loads(network: NetworkArrays) -> Array:
    """Return the offered load of each station at the first point, arrivals times demand [1]."""
    loads_by_class = network.arrivals[0, :, None].real * network.demand[0].real
    return np.asarray(loads_by_class.sum(axis=0))


def _has_product_form_visits(network: NetworkArrays, chain_index: int) -> bool:
    """Return whether a chain belongs to the networks for which errors of approximate quantiles were
    measured: open, in product form, and with at most one visit to a station.
    """
    is_visited = network.demand[0, chain_index].real > 0
    scv = network.scv[0, chain_index].real
    visits = network.visits[0].real
    is_shared = np.array([discipline == "ps" for discipline in network.discipline]) & (
        (scv == 1) | ~is_visited
    )
    is_in_order = np.array(
        [discipline == "fcfs" for discipline in network.discipline]
    ) & _has_common_service(network)
    is_plain_station = (
        network.without_rates
        & ~network.has_capacity
        & (network.patience is None and not network.balking)
        & (network.servers <= limit_in_force("speeds"))
    )
    # Where a part of the customers has no time at all, quantiles near it are not found.
    is_visited_once = (
        not network.closed.any() and (visits <= 1).all() and visits[chain_index].max() == 1
    )
    has_few_visits = len(network.classes) * len(network.stations) <= MOST_VISITS
    return bool(
        has_few_visits
        and is_visited_once
        and (is_plain_station & (is_shared | is_in_order | network.is_delay)).all()
    )


def _approximate_transform(
    network_layout: NetworkLayout,
    network: NetworkArrays,
    chain_index: int,
    station_indices: NDArray[np.intp],
    measure_by_name: Mapping[str, float],
) -> Transform:
    """Return the transform of the response time of a chain, its visits taken as independent."""
    chain_name = list(network_layout.chains)[chain_index]
    load_by_station = _station_loads(network)
    visit_transforms = list[tuple[float, Transform]]()
    for station_index in station_indices:
        service_time = float(network.service[0, chain_index, station_index].real)
        server_count = int(network.servers[station_index])
        if network.is_delay[station_index]:
            visit_transform = two_moments(
                service_time, float(network.scv[0, chain_index, station_index].real)
            )
        elif network.discipline[station_index] == "fcfs":
            visit_transform = open_path(
                [(service_time, server_count, float(load_by_station[station_index]))]
            )
        else:
            visit_transform = visit_shared(
                service_time,
                max(
                    0.0,
                    measure_by_name[
                        f"waiting_time[{chain_name},{network_layout.stations[station_index]}]"
                    ],
                ),
            )
        visit_transforms.append(
            (float(network.visits[0, chain_index, station_index].real), visit_transform)
        )
    return approximate_path(visit_transforms)


def _has_no_overtaking(
    network: NetworkArrays, chain_index: int, station_indices: NDArray[np.intp]
) -> bool:
    """Return whether no customer of a class is overtaken on its path, and none is delayed by a
    customer that was behind it.
    """
    visits_by_class = np.where(network.demand[0].real > 0, network.visits[0].real, 0.0)[
        :, station_indices
    ]
    has_one_class = len(network.classes) == 1
    is_plain_station = (
        network.without_rates
        & ~network.has_capacity
        & (network.servers <= limit_in_force("speeds"))
        & (network.patience is None and not network.balking)
    )
    is_queue = (
        is_plain_station
        & np.array([discipline == "fcfs" for discipline in network.discipline], dtype=bool)
        & _has_common_service(network)
    )
    if (
        not len(station_indices)
        or (visits_by_class[chain_index] != 1).any()
        or (network.closed.any() and not has_one_class)
    ):
        return False
    if network.closed[chain_index]:
        return bool((is_queue & network.is_single)[station_indices].all())
    can_be_end = is_queue | (
        is_plain_station & network.is_delay & (network.scv[0, chain_index].real == 1)
    )
    # Another class goes along a part of the path without a gap, once.
    rejoins_path = []
    for class_visits in visits_by_class:
        longest_gap = np.diff(np.flatnonzero(class_visits)).max(initial=1)
        rejoins_path.append(longest_gap > 1 or not np.isin(class_visits, (0, 1)).all())
    are_queues_between = (is_queue & network.is_single)[station_indices[1:-1]].all()
    return bool(
        can_be_end[station_indices].all()
        and are_queues_between
        and (len(station_indices) == 1 or not any(rejoins_path))
    )


def _has_common_service(network: NetworkArrays) -> NDArray[np.bool_]:
    """Return at which stations all customers have the same exponential service time (K,)."""
    is_visited = network.demand[0].real > 0
    is_exponential = ((network.scv[0].real == 1) | ~is_visited).all(axis=0)
    has_one_service: NDArray[np.bool_] = (
        have_one_value(network.service[0], is_visited) & is_exponential
    )
    return has_one_service


def _solution_notes(network_layout: NetworkLayout, solution: NetworkSolution) -> tuple[str, ...]:
    """Return notes on the solver, its stopping rule, its usual error, and the assumptions about the
    network.
    """
    iterations_text = (
        f"; {solution.rule}, {solution.iterations} iterations" if solution.rule else ""
    )
    error_notes = [solution.usual_error] if solution.usual_error else []
    # A chain says what it is by its states.
    solver_notes = (
        [f"{solution.method}{iterations_text}"] if solution.method != MARKOV_CHAIN else []
    )
    return (*error_notes, *solver_notes, *solution.notes, *assumption_notes(network_layout))


def assumption_notes(network_layout: NetworkLayout) -> tuple[str, ...]:
    """Return notes on the assumptions where the description of a network leaves a choice open."""
    model = network_layout.model
    places = {place for route in model.routing for place in (route.source, route.target)}
    classes_in_chains = {
        class_name for chain in model.chains.values() for class_name in chain.classes
    }
    demand_notes = (
        f"{station_name} is {DISCIPLINES[station.discipline].title}: the demands of several classes"
        " there are read as visits of one service time; give service and visits to say otherwise"
        for station_name, station in model.stations.items()
        if DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
        and len(station.demand) > 1
    )
    unused_notes = (
        f"no route takes {class_name} to {station_name}, so its service time of 0 there has no"
        " effect"
        for station_name, station in model.stations.items()
        for class_name in station.service
        if class_name in classes_in_chains and (class_name, station_name) not in places
    )
    chain_notes = (
        Definition(
            f"response times of {', '.join(chain.classes)} are those of one stay in the class,"
            " from a change of class or the start of a cycle; their sum may differ from that of"
            f" {chain_name}"
        )
        for chain_name, chain in model.chains.items()
        if len(chain.classes) > 1
    )
    return *demand_notes, *unused_notes, *chain_notes, *_counting_notes(model)


def _counting_notes(model: QueueingNetwork) -> Iterator[CountedAtStation]:
    """Yield, for each open class that loses customers at later stations, the station at which its
    throughput counts them. Classes whose customers are lost in other ways than by balking or at
    full stations are left out.
    """
    if model.regions or model.breakers:
        return
    classes_in_chains = {name for chain in model.chains.values() for name in chain.classes}
    for class_name, members in model.classes.items():
        stations = {
            name: station
            for name, station in model.stations.items()
            if class_name in station.visitors()
        }
        first_name, *later_names = stations or [""]
        loses_otherwise = any(
            class_name in (*station.patience, *station.timeout, *station.retries)
            or station.blocking != LOSS
            for station in stations.values()
        )
        if (
            isinstance(members, OpenClass)
            and class_name not in classes_in_chains
            and class_name in model.customer_chains
            and not loses_otherwise
            and any(stations[name].loses(class_name) for name in later_names)
            and class_name not in stations[first_name].visits
        ):
            yield CountedAtStation(
                f"the throughput of {class_name} counts customers at {first_name}, and also those"
                " that later stations lose",
                class_name=class_name,
                station_name=first_name,
            )


def _residence_by_class(network_points: NetworkPoints, residence: Array) -> Array:
    """Divide the residence time of each chain at each station among its classes [s, points,
    classes, stations].
    """
    network = network_points.network
    chain_residence = residence[:, network_points.chain_of_class]
    is_single_class = np.bincount(network_points.chain_of_class)[network_points.chain_of_class] == 1
    chain_visits = network.visits[:, network_points.chain_of_class]
    chain_service = network.service[:, network_points.chain_of_class]
    # An empty station has no waiting time.
    waiting_time = np.where(
        chain_residence != 0, quotient(chain_residence, chain_visits) - chain_service, 0.0
    )
    # In the order of arrival all classes of a chain have the same wait and their own service; at
    # shared servers the time is in proportion to the service.
    residence_in_order = network_points.visits * (network_points.service + waiting_time)
    class_residence = np.asarray(chain_residence) * quotient(
        network_points.visits * network_points.service, chain_visits * chain_service
    )
    for station_index, discipline in enumerate(network.discipline):
        if DISCIPLINES[discipline].queued and network.rates[station_index] is None:
            class_residence[:, :, station_index] = residence_in_order[:, :, station_index]
    class_residence[:, is_single_class] = chain_residence[:, is_single_class]
    return class_residence


_LEAST_WAIT = 1e-12
"""The least part of a time per visit that is told from the rounding of a Markov chain."""


def _time_beyond_service(time_of_visit: Array, service: Array) -> Array:
    """Subtract service times from times of visits; a difference within rounding is 0 and has the
    derivative 0.
    """
    difference = time_of_visit - service
    is_rounding = (difference.real < _LEAST_WAIT * time_of_visit.real) & (
        difference.real > -ROUNDING * time_of_visit.real
    )
    return np.asarray(difference - np.where(is_rounding, difference.real, 0.0))


class Measures:
    """The measures of classes and chains, read from the solution of a network.

    The response time of a chain is that of all its classes in one cycle. Where customers are lost,
    visits count that were made, as a part of those stated.

    Parameters
    ----------
    network_layout : the network
    network_points : its numbers
    solution : of its chains; of its classes, and with losses, where it is a Markov chain's
    """

    def __init__(
        self,
        network_layout: NetworkLayout,
        network_points: NetworkPoints,
        solution: NetworkSolution,
    ) -> None:
        self._network_layout = network_layout
        self._network_points = network_points
        self._classes = network_layout.classes
        self._stations = network_layout.stations
        self._probability_tables = solution.probability
        self._loss_probability = None
        self._share_of_visits_made = np.ones(())
        self._abandoned_share: Array = np.zeros(network_points.visits.shape)
        self._ended_visits: Array | None = None
        self._begun_cycles: Array | None = None
        network = network_points.network
        chain_of_class = network_points.chain_of_class
        # A station or class without visits has ratios 0/0; NaN leaves these values out.
        with np.errstate(all="ignore"):
            if isinstance(solution, MarkovSolution):
                # Where no customer arrives, a chain knows no time of a customer.
                has_no_customer = (~network.closed & (network.arrivals == 0))[:, chain_of_class]
                self._residence = np.where(has_no_customer[:, :, None], np.nan, solution.residence)
                self._queue_lengths = solution.queue
                utilization = solution.utilization
                self._throughput = solution.throughput[
                    :, np.unique(chain_of_class, return_index=True)[1]
                ]
                if network.loss_reason:
                    stated_visits = (
                        network_points.visits
                        if network_points.routes is not None
                        else network.visits
                    )
                    self._abandoned_share = solution.abandonment_probability
                    self._loss_probability = solution.loss_probability
                    self._ended_visits, self._begun_cycles = (
                        solution.ended_services,
                        solution.begun_cycles,
                    )
                    admitted_visits = solution.ended_services / (
                        1 - solution.abandonment_probability
                    )
                    self._share_of_visits_made = quotient(
                        admitted_visits, solution.begun_cycles[:, :, None] * stated_visits, 1.0
                    )
            else:
                self._throughput = solution.throughput
                self._residence = _residence_by_class(network_points, solution.residence)
                self._queue_lengths = solution.throughput[:, chain_of_class, None] * self._residence
                # A class alone in its chain has the queue that the solver found; others follow from
                # Little's law.
                is_single_class = np.bincount(chain_of_class)[chain_of_class] == 1
                self._queue_lengths[:, is_single_class] = solution.queue[:, chain_of_class][
                    :, is_single_class
                ]
                visit_share = quotient(
                    network_points.visits * network_points.service,
                    network.demand[:, chain_of_class],
                )
                utilization = solution.utilization[:, chain_of_class] * visit_share
        self._utilization = utilization

    def columns(self) -> dict[str, Array]:
        """Return every measure by name; NaN where it is undefined."""
        with np.errstate(all="ignore"):
            return {
                **self.columns_by_chain(),
                **self._columns_by_class(),
                **self._columns_by_station(),
                **self._probabilities_of_numbers(),
            }

    def columns_by_chain(self) -> dict[str, Array]:
        """Return throughput and response time of every class and every chain."""
        residence = self._residence
        columns: dict[str, Array] = {}
        for chain_index, (chain_name, chain) in enumerate(self._network_layout.chains.items()):
            class_indices = [self._classes.index(class_name) for class_name in chain.classes]
            columns[f"throughput[{chain_name}]"] = self._throughput[:, chain_index]
            columns[f"response_time[{chain_name}]"] = residence[:, class_indices].sum(axis=(1, 2))
            for class_index in class_indices if chain.classes != (chain_name,) else ():
                class_name = self._classes[class_index]
                throughput, begun_rate = self._class_rates(chain_index, chain, class_index)
                number_present = self._queue_lengths[:, class_index].sum(axis=1)
                columns[f"throughput[{class_name}]"] = throughput
                columns[f"response_time[{class_name}]"] = np.where(
                    number_present == 0, 0.0, quotient(number_present, begun_rate, np.nan)
                )
        return columns

    def _class_rates(self, chain_index: int, chain: Chain, class_index: int) -> tuple[Array, Array]:
        """Return two rates at which customers become members of a class [1/s]: the rate of the
        customers who are served, and the rate of all customers.

        In a closed chain a class that visits the station of the reference begins there. In the
        class of the reference, an open chain counts those of its cycles that are served, and all.
        """
        class_name, station_name = chain.reference
        is_reference = self._classes[class_index] == class_name
        chain_rate = self._throughput[:, chain_index]
        visit_rates = (
            chain_rate[:, None, None] * self._network_points.visits
            if self._ended_visits is None
            else self._ended_visits
        )
        admitted_rates = visit_rates / (1 - self._abandoned_share)
        place_index = (slice(None), class_index, self._stations.index(station_name))
        is_closed = not isinstance(chain.members, OpenClass)
        if is_closed and (self._network_points.visits[place_index] != 0).any():
            return visit_rates[place_index], admitted_rates[place_index]
        change_rate = self._network_points.changes(visit_rates)[:, class_index]
        if self._network_points.network.draws_again:
            # A customer that draws its destination again takes a route otherwise than stated.
            change_rate = np.where(change_rate == 0, change_rate, np.nan)
        if is_closed or not is_reference:
            return change_rate, change_rate
        begun_rate = (
            chain_rate if self._begun_cycles is None else self._begun_cycles[:, class_index]
        )
        return chain_rate + change_rate, begun_rate + change_rate

    def _columns_by_class(self) -> dict[str, Array]:
        """Return the measures of each class at each station, by name."""
        network_points = self._network_points
        residence = self._residence
        time_of_visit = quotient(
            residence, network_points.visits * self._share_of_visits_made, np.nan
        )
        columns: dict[str, Array] = {}
        for station_index, (station_name, station) in enumerate(
            self._network_layout.model.stations.items()
        ):
            for class_name in station.visitors():
                place_index = (slice(None), self._classes.index(class_name), station_index)
                name_in_brackets = f"[{class_name},{station_name}]"
                columns[f"queue_length{name_in_brackets}"] = self._queue_lengths[place_index]
                columns[f"residence_time{name_in_brackets}"] = residence[place_index]
                columns[f"time_per_visit{name_in_brackets}"] = time_of_visit[place_index]
                if network_points.network.rates[station_index] is None:
                    served_share = 1 - self._abandoned_share[place_index]
                    waiting_time = _time_beyond_service(
                        time_of_visit[place_index],
                        network_points.service[place_index] * served_share,
                    )
                    columns[f"waiting_time{name_in_brackets}"] = np.where(
                        residence[place_index] != 0, waiting_time, 0.0
                    )
                if not DISCIPLINES[station.discipline].delay:
                    columns[f"utilization{name_in_brackets}"] = self._utilization[place_index]
                if self._loss_probability is not None and (
                    station.capacity or class_name in station.balking
                ):
                    columns[f"loss_probability{name_in_brackets}"] = self._loss_probability[
                        place_index
                    ]
                if class_name in station.patience:
                    columns[f"abandonment{name_in_brackets}"] = self._abandoned_share[place_index]
        return columns

    def _columns_by_station(self) -> dict[str, Array]:
        """Return the number of customers present at each station and its utilization by customers,
        by name.
        """
        columns = {}
        is_customer = self._network_points.network.is_customer[self._network_points.chain_of_class]
        for station_index, (station_name, station) in enumerate(
            self._network_layout.model.stations.items()
        ):
            columns[f"queue_length[{station_name}]"] = self._queue_lengths[
                :, is_customer, station_index
            ].sum(axis=1)
            if not DISCIPLINES[station.discipline].delay:
                columns[f"utilization[{station_name}]"] = self._utilization[
                    :, is_customer, station_index
                ].sum(axis=1)
        return columns

    def _probabilities_of_numbers(self) -> dict[str, Array]:
        """Return the probabilities of the numbers present at each station, by name."""
        names_and_tables = zip(self._stations, self._probability_tables, strict=True)
        return {
            f"probability[{station_name},{customer_count}]": probability_table[:, customer_count]
            for station_name, probability_table in names_and_tables
            if probability_table is not None
            for customer_count in range(min(probability_table.shape[1], MOST_PROBABILITIES))
        }


class CompiledNetwork(CompiledModel):
    """A queueing network compiled for one method; many points cost little more than one.

    Parameters
    ----------
    model : the network
    method : a solver's name, or the best that applies

    Raises
    ------
    NoAnswerError : the network has a construct, which no solver knows

    Attributes
    ----------
    quantity : the response time of the first class or chain

    >>> from slipstick.model.network import closed_class, network, station
    >>> one = network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 3.0})})
    >>> CompiledNetwork(one, "exact").times({"classes.jobs.population": np.array([1.0, 2.0, 3.0])})
    array([3., 6., 9.])
    """

    def __init__(self, model: QueueingNetwork, method: str) -> None:
        known_traits = KNOWN_OF_NETWORKS.get(method, LOWERED) - LOWERED
        refuse_unknown(model.constructs, method, known_traits, KNOWN_OF_NETWORKS)
        self.model = model
        self.method = method
        self.network_layout = NetworkLayout(model)
        self.parameters = tuple(self.network_layout.tape.parameters)
        self.quantity = f"response_time[{next(iter(self.network_layout.chains))}]"

    @property
    def smooth_parameters(self) -> list[str]:
        """Names of the parameters that answers are differentiated by: all except those that
        count customers.
        """
        # Numbers of customers are whole, so that a derivative by them has no meaning.
        population_counts = (
            chain.members.population
            for chain in self.network_layout.chains.values()
            if isinstance(chain.members, ClosedClass)
        )
        count_names = {parameter.name for parameter in parameters(*population_counts)}
        # Without parameters of amounts, which `self.parameters` has too.
        return [name for name in self.network_layout.tape.parameters if name not in count_names]

    @property
    def block_size(self) -> int:
        """The number of points that are solved together: fewer where each point holds many numbers,
        see `MOST_HELD`.
        """
        class_count = len(self.network_layout.chains)
        station_count = len(self.network_layout.stations)
        return max(
            2, min(BLOCK, MOST_HELD // _number_count_of_linearizer(class_count, station_count))
        )

    def brief(self, values: Values) -> Solution:
        """Compute throughputs and response times alone, at many points."""
        return self._solution_from(
            self.network_layout.network_points(self.network_layout.columns(values)),
            Measures.columns_by_chain,
        )[0]

    def solution(self, values: Values) -> Solution:
        """Compute all values at many points. The values at the network's own parameters are
        computed once.
        """
        return self._solution(values) if values else self._solution_at_own_values

    @cached_property
    def _solution_at_own_values(self) -> Solution:
        return self._solution({})

    def _solution(self, values: Values) -> Solution:
        network_points = self.network_layout.network_points(self.network_layout.columns(values))
        solution, solved_pieces, reason_by_point = self._solution_from(
            network_points, Measures.columns
        )

        def answer_at_point(point_index: int) -> tuple[Solution, int]:
            """Return the whole answer at one point, as a solution of this point alone."""
            if point_index in reason_by_point:
                method = (
                    preferred_method(network_points.select([point_index]))
                    if self.method == BEST
                    else self.method
                )
                return (
                    Solution(
                        model=self.model.name,
                        method=method,
                        remarks=lambda _: Remarks(failed=reason_by_point[point_index]),
                    ),
                    0,
                )
            piece = next(piece for piece in solved_pieces if point_index in piece.points)
            value_by_name = {
                name: float(value_column[point_index].real)
                for name, value_column in solution.values.items()
            }
            return self._answer_at_point(
                values, network_points.select([point_index]), piece, value_by_name, point_index
            ), 0

        return replace(solution, detail=answer_at_point)

    def _solution_from(
        self, network_points: NetworkPoints, read_columns: Callable[[Measures], Columns]
    ) -> tuple[Solution, list[SolvedTogether], dict[int, str]]:
        """Build the solution from columns, with the solver of each point and whether it is exact;
        also return the points solved together and the reasons of points without an answer.
        """
        columns, solved_pieces, reason_by_point = _measured_columns(
            self.network_layout, network_points, self.method, read_columns
        )
        point_count = network_points.network.point_count
        method_by_point = np.full(point_count, self.method, dtype=object)
        is_exact = np.zeros(point_count, dtype=bool)
        for solved_piece in solved_pieces:
            method_by_point[solved_piece.points], is_exact[solved_piece.points] = (
                solved_piece.solver,
                solved_piece.solution.exact,
            )
        # What no solver can solve, such as a saturated station, no simulation can either.
        refused_points = (
            frozenset(reason_by_point.keys() - reasons_unsolvable(network_points).keys())
            if reason_by_point
            else frozenset()
        )
        if _number_count_per_point(network_points.network) > limit_in_force("corrections") and not (
            network_points.network.loss_reason or network_points.network.non_poisson_reason
        ):
            # A simulation holds still more of each class at each station: 8 GB of 800 stations and
            # 50 classes. The reason of the refusal names the method that takes them.
            refused_points = frozenset()
        solution = Solution(
            refused_points=refused_points,
            model=self.model.name,
            method=self.method,
            count=point_count,
            methods=method_by_point.tolist(),
            exact=is_exact,
            values=columns,
        )
        return solution, solved_pieces, reason_by_point

    def _answer_at_point(
        self,
        values: Values,
        network_points: NetworkPoints,
        solved_piece: SolvedTogether,
        measure_by_name: Mapping[str, float],
        point_index: int,
    ) -> Solution:
        """Add the parts of an answer that are computed at one point only: account, saturation,
        quantiles, derivatives.
        """
        network_layout = self.network_layout
        network = network_points.network
        most_customers = network.population.sum() if network.closed.all() else np.inf
        shown_measures = {
            name: measure
            for name, measure in measure_by_name.items()
            if not name.startswith("probability[")
            or int(name[:-1].rpartition(",")[2]) <= most_customers
        }
        # They take longer than the solution, so that only points that are read have them.
        distribution_values, error_by_name = quantiles(network_layout, network, shown_measures)
        further_notes = (
            *((APPROXIMATE_QUANTILES,) if error_by_name else ()),
            *self._note_on_left_out_shares(network),
        )
        point_values = {
            parameter_name: value_at(values, parameter_name, point_index, parameter.value)
            for parameter_name, parameter in network_layout.tape.parameters.items()
        }
        distribution_values |= shares_within_target(network_layout, network, point_values)
        shown_measures |= _saturation_populations(network, self.model.closed_chains)
        shown_measures |= distribution_values
        return Solution(
            model=self.model.name,
            method=solved_piece.solver,
            exact=np.array([solved_piece.solution.exact]),
            values=_one_point_columns(shown_measures),
            low=_one_point_columns(
                {
                    name: distribution_values[name] * (1 - error)
                    for name, error in error_by_name.items()
                }
            ),
            high=_one_point_columns(
                {
                    name: distribution_values[name] * (1 + error)
                    for name, error in error_by_name.items()
                }
            ),
            account=_one_point_columns(
                _time_by_component(network_layout, network_points, shown_measures)
            ),
            remarks=lambda _: Remarks(
                notes=(*_solution_notes(network_layout, solved_piece.solution), *further_notes)
            ),
            gradient=lambda _: self._gradient(point_values, network, solved_piece.solver),
        )

    def _derivative_number_count(self, network: NetworkArrays) -> int:
        """Return how many numbers an approximation holds for the derivatives by all parameters."""
        return _number_count_per_point(network) * len(self.smooth_parameters)

    def _derivative_seconds(self, network: NetworkArrays, solver: str) -> float:
        """Estimate the processor time that the derivatives by all parameters take [s]; 0 for a
        Markov chain, which has a limit of its own.
        """
        if solver in APPROXIMATE_NUMBER:
            return self._derivative_number_count(network) * APPROXIMATE_NUMBER[solver]
        if solver == MARKOV_CHAIN:
            return 0.0
        if self._has_one_class(network, solver):
            return self._derivative_number_count(network) * ONE_CLASS_NUMBER
        _, class_count, station_count = network.service.shape
        customers_by_class = np.sort(np.where(network.closed, network.population, 0)[0]).astype(
            float
        )
        if np.count_nonzero(customers_by_class) < 2:
            step_count = (customers_by_class.sum() + 1) * (400 + 4 * station_count)
        else:
            with np.errstate(over="ignore"):  # of so many places there is no answer either
                population_vector_count = (customers_by_class.sum() + 1) * (
                    customers_by_class[:-1] + 1
                ).prod()
            step_count = 2 * population_vector_count * (400 + 4 * class_count * station_count**2)
        return float(len(self.smooth_parameters) * step_count * EXACT_STEP)

    def _gradient(
        self, point_values: Mapping[str, float], network: NetworkArrays, solver: str
    ) -> Gradient:
        """Return the derivatives of throughputs and response times, computed when they are read;
        none where they would take more numbers than the limit.
        """
        parameter_by_name = self.network_layout.tape.parameters
        if self._derivative_number_count(network) > limit_in_force("derivatives"):
            return Gradient({}, point_values, parameter_by_name)
        seconds = self._derivative_seconds(network, solver)
        slopes = DeferredShares(partial(self._slopes, point_values, solver, seconds), seconds)
        class_names = (*self.network_layout.chains, *self.network_layout.classes)
        return Gradient(
            slopes,
            point_values,
            parameter_by_name,
            frozenset(f"throughput[{name}]" for name in class_names),
        )

    def _slopes(
        self, point_values: Mapping[str, float], solver: str, seconds: float
    ) -> dict[str, dict[str, float]]:
        """Compute the derivatives of throughputs and response times by the complex step, many
        parameters in one call, or of one class by its queues; empty if a point is not solved.
        """
        parameter_names = self.smooth_parameters
        if seconds > ANNOUNCED and (announce := ANNOUNCE.get()) is not None:
            announce(
                f"shares of {len(parameter_names):,} parameters: about {seconds:,.0f} s of"
                " processor time"
            )
        network = self.network_layout.network_points(
            self.network_layout.columns(point_values)
        ).network
        has_one_class = self._has_one_class(network, solver)
        name_count_at_once = MOST_NUMBERS // _number_count_per_point(network) or 1
        if has_one_class and not self.network_layout.model.routing:
            name_count_at_once = len(parameter_names) or 1
        slopes: dict[str, dict[str, float]] = {}
        # Each moved parameter is a point of its own; so many at a time keep the memory below
        # `MOST_NUMBERS`.
        for first_index in range(0, len(parameter_names), name_count_at_once) or (0,):
            moved_names = parameter_names[first_index : first_index + name_count_at_once]
            if has_one_class:
                moved_columns = self._columns_of_one_class(point_values, moved_names)
            else:
                moved_columns, _, reason_by_point = _measured_columns(
                    self.network_layout,
                    self.network_layout.network_points(
                        self.network_layout.perturbed_columns(point_values, moved_names)
                    ),
                    solver,
                    Measures.columns_by_chain,
                    fail_together=True,
                )
                if reason_by_point:
                    return {}
            step_sizes = np.array([complex_step(point_values[name]) for name in moved_names])
            for value_name, column in moved_columns.items():
                derivatives = (column[1:].imag / step_sizes).tolist()
                slopes.setdefault(value_name, {}).update(zip(moved_names, derivatives, strict=True))
        return slopes

    def _has_one_class(self, network: NetworkArrays, solver: str) -> bool:
        """Return whether two solutions give the derivatives by all parameters."""
        return bool(
            solver == EXACT
            and network.all_closed
            and network.population.all()
            and len(self.network_layout.classes) == 1
            and network.is_single.all()
            and network.demand.real[0].all()
        )

    def _columns_of_one_class(
        self, point_values: Mapping[str, float], moved_names: Sequence[str]
    ) -> Columns:
        """Return throughput and response time of the only class at a point, and with each parameter
        moved. Where visits are given, it is moved at its stations alone: arrays of all stations at
        all points took most of the time.
        """
        from slipstick.queueing.exact import slopes_of_throughput

        layout = self.network_layout
        names_moved_everywhere = moved_names if layout.model.routing else ()
        network = layout.network_points(
            layout.perturbed_columns(point_values, names_moved_everywhere)
        ).network
        throughput, slope_by_station, slope_of_think = slopes_of_throughput(network)
        think_times, demand = network.think, network.demand[:, 0]
        slopes = demand.imag / demand.real @ slope_by_station
        if not layout.model.routing:
            moved_demands = layout.moved_demands(point_values, moved_names)
            think_times = np.repeat(think_times, 1 + len(moved_names), axis=0)
            moved_indices, moved_think = next(moved_demands)
            think_times[moved_indices, 0] = moved_think[1:]
            slopes = np.zeros(len(think_times))
            for (moved_indices, demand), slope in zip(moved_demands, slope_by_station, strict=True):
                slopes[moved_indices] += demand.imag[1:] / demand.real[1:] * slope
        throughput = throughput * (1 + 1j * (slopes + think_times.imag @ slope_of_think))
        (name,) = layout.chains
        return {
            f"throughput[{name}]": throughput,
            f"response_time[{name}]": (network.population / throughput[:, None] - think_times)[
                :, 0
            ],
        }

    def _note_on_left_out_shares(self, network: NetworkArrays) -> tuple[str, ...]:
        """Return a note if an answer has no shares because their derivatives would exceed the
        limit; empty otherwise.
        """
        number_count = self._derivative_number_count(network)
        if number_count <= limit_in_force("derivatives"):
            return ()
        note = (
            f"shares of {len(self.smooth_parameters):,} parameters are left out: their"
            " derivatives take"
            f" {number_count:,} numbers, and the limit is {limit_in_force('derivatives'):,.0f};"
            f" change single parameters in a study, {advice_on_limit('derivatives', number_count)}"
        )
        return (note,)


def _number_count_per_point(network: NetworkArrays) -> int:
    """Return how many numbers an approximation holds at each point."""
    _, class_count, station_count = network.service.shape
    return _number_count_of_linearizer(class_count, station_count)


def _number_count_of_linearizer(class_count: int, station_count: int) -> int:
    """Return how many numbers Linearizer holds at each point: the changes of each class at each
    station when a customer of one class is removed, for one and two removed customers.
    """
    return max(1, class_count**2 * (class_count + 1) * station_count)


def _measured_columns(
    network_layout: NetworkLayout,
    network_points: NetworkPoints,
    solver: str,
    read_columns: Callable[[Measures], Columns],
    fail_together: bool = False,
) -> tuple[Columns, list[SolvedTogether], dict[int, str]]:
    """Solve a network and read columns from its solutions; NaN at a point without a solution."""
    solved_pieces, reason_by_point = solved_points(
        network_points, solver, fail_together=fail_together
    )
    point_count = network_points.network.point_count
    # All points were solved in one piece: their arrays need no selection, which would copy them.
    if len(solved_pieces) == 1 and len(solved_pieces[0].points) == point_count:
        return (
            read_columns(Measures(network_layout, network_points, solved_pieces[0].solution)),
            solved_pieces,
            reason_by_point,
        )
    columns_of_pieces = [
        (
            solved_piece.points,
            read_columns(
                Measures(
                    network_layout,
                    network_points.select(solved_piece.points),
                    solved_piece.solution,
                )
            ),
        )
        for solved_piece in solved_pieces
    ]
    if not columns_of_pieces:
        # No point has a solution: one of NaN gives the columns their names.
        empty_solution = _solution_of_nan(network_points.network.service.shape, solver)
        measures = Measures(network_layout, network_points, empty_solution)
        columns_of_pieces = [(np.arange(point_count), read_columns(measures))]
    return _joined_columns(columns_of_pieces, point_count), solved_pieces, reason_by_point


def _solution_of_nan(shape: tuple[int, ...], solver: str) -> NetworkSolution:
    """Return a solution without numbers (points, classes, stations)."""
    no_rates = np.full(shape[:2], np.nan)
    no_values = np.full(shape, np.nan)
    return NetworkSolution(
        no_rates, no_values, no_values, no_values, (None,) * shape[2], solver, exact=False
    )


def _joined_columns(
    columns_of_pieces: Sequence[tuple[NDArray[np.intp], Columns]], point_count: int
) -> dict[str, Array]:
    """Put the columns of pieces, each with the indexes of its points, into columns of all points;
    NaN where a piece does not have the value.
    """
    columns: dict[str, Array] = {}
    for column_name in dict.fromkeys(
        column_name for _, columns_of_piece in columns_of_pieces for column_name in columns_of_piece
    ):
        number_type = np.result_type(
            float,
            *(
                columns_of_piece[column_name]
                for _, columns_of_piece in columns_of_pieces
                if column_name in columns_of_piece
            ),
        )
        columns[column_name] = np.full(point_count, np.nan, number_type)
        for point_indexes, columns_of_piece in columns_of_pieces:
            # A number of customers that none of these points has is not there.
            is_probability_of_none = (
                column_name.startswith("probability[")
                and f"{column_name.rpartition(',')[0]},0]" in columns_of_piece
            )
            columns[column_name][point_indexes] = columns_of_piece.get(
                column_name, 0.0 if is_probability_of_none else np.nan
            )
    return columns


def _one_point_columns(number_by_name: Mapping[str, float]) -> dict[str, Array]:
    """Return numbers by name as columns of one point."""
    return {value_name: np.array([number]) for value_name, number in number_by_name.items()}
