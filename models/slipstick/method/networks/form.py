"""Solvers of queueing networks as compiled models: one call solves many points, and answers are
read from its solution.

An answer at one point has more than the columns of the solver: the account of one customer's cycle,
the population at which each closed chain saturates its slowest station, and quantiles of the
response time where they have a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from slipstick.answer import DeferredShares
from slipstick.errors import NoAnswerError
from slipstick.expression.columns import Columns, Values, only
from slipstick.expression.nodes import TIME, parameters, zero
from slipstick.expression.tape import Tape
from slipstick.late import NDArray, np
from slipstick.limits import ANNOUNCE, ANNOUNCED, limit, way_out
from slipstick.method.answers import (
    BLOCK,
    CompiledModel,
    Gradient,
    Remarks,
    Solution,
    complex_step,
    value_at,
)
from slipstick.method.names import QUANTILES, THINK
from slipstick.method.networks.arrays import NetworkLayout, NetworkPoints
from slipstick.method.networks.solvers import SolvedTogether, preferred, solved_points, unsolvable
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
    KNOWN_OF_NETWORKS,
    LINEARIZER,
    MARKOV_CHAIN,
    SAME_EXPONENTIAL,
    SCHWEITZER,
    refuse_unknown,
)

MOST_HELD = 3_000_000
"""Numbers that the points of one block hold together: about 45 B each, measured with 5 classes at 20
stations, which 32,768 points of a sweep took 4.6 GB for."""

MOST_NUMBERS = 1_000_000
"""Numbers of one array of an approximation with derivatives; more parameters are moved in parts."""

EXACT_STEP, APPROXIMATE_NUMBER = 4e-9, {LINEARIZER: 1.5e-6, SCHWEITZER: 6e-7}
"""Processor time of a derivative: of a step of an exact method, and of a number that an approximation
holds; within a factor of 3 for 30 to 600 stations, 5 to 200 customers and 1 to 5 classes [s]."""

MOST_PROBABILITIES = 100_000
"""Numbers of customers at a station whose probabilities an answer has, from 0 on; a million of
them would take a GB.
"""


def _account(
    compiled: NetworkLayout, arrays: NetworkPoints, columns: Mapping[str, float]
) -> dict[str, float]:
    """Return the time of one customer in a cycle: thinking, in service at each station, and waiting
    for it [s].

    Only where all customers are of one chain; adds up to the cycle with its think time. A station
    whose speed depends on how many are there has no service apart from waiting.
    """
    # The parts of several chains would be of different customers, and not add up to one cycle.
    empty = arrays.network.closed.all() and not arrays.network.population.any()
    if len(compiled.chains) != 1 or empty:
        return {}
    times = {THINK: float(arrays.network.think[0, 0].real)} if arrays.network.think[0, 0] else {}
    for k, (name, station) in enumerate(compiled.model.stations.items()):
        for label in station.visitors():
            r = compiled.classes.index(label)
            residence_time = columns[f"residence_time[{label},{name}]"]
            service = float((arrays.visits[0, r, k] * arrays.service[0, r, k]).real)
            if (
                arrays.network.losses and residence_time and not station.rates
            ):  # not every customer comes here, or is served
                visit = columns[f"time_per_visit[{label},{name}]"]
                service = residence_time * (1 - columns[f"waiting_time[{label},{name}]"] / visit)
            wait = (
                residence_time - service
                if arrays.network.rates[k] is None and not DISCIPLINES[station.discipline].delay
                else 0.0
            )
            times[name] = times.get(name, 0.0) + residence_time - wait
            times[f"wait:{name}"] = times.get(f"wait:{name}", 0.0) + wait
    return {name: time for name, time in times.items() if time or not name.startswith("wait:")}


def _constants(network: NetworkArrays) -> dict[str, float]:
    """Return the population at which each closed chain would saturate its slowest station, by name."""
    if not network.closed.any():
        return {}
    try:
        crossing = saturation_population(network)[0].real
    except NoAnswerError:
        # With loss, the arrival rate may exceed the service rate; a closed class would then get no
        # service.
        return {}
    return {
        f"saturation_population[{name}]": float(crossing[c])
        for c, name in enumerate(network.classes)
        if network.closed[c]
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
    "quantiles of response times take the visits of a customer as independent; their intervals are"
    " of usual errors, within which 97 to 99 of 100 random networks lie"
)


def quantiles(
    compiled: NetworkLayout, network: NetworkArrays, measures: Mapping[str, float]
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
    compiled, network : at one point
    measures : means of the network
    """
    if compiled.model.chains or network.not_poisson:
        return {}, {}
    quantiles_found: dict[str, float] = {}
    errors: dict[str, float] = {}
    for c, label in enumerate(compiled.chains):
        path = _path(compiled, network, c)
        mean = measures.get(f"response_time[{label}]", 0.0)
        if not len(path) or not 0 < mean < np.inf:
            continue
        names = [f"response_time_quantile[{label},{q:g}]" for q in QUANTILES]
        transform = _exact_transform(network, c, path)
        if transform is None and _product_form_visits(network, c):
            transform = _approximate_transform(compiled, network, c, path, measures)
            errors |= dict(zip(names, QUANTILE_ERRORS, strict=True))
        if transform is not None:
            quantiles_found |= {
                name: quantile(transform, q, mean) for name, q in zip(names, QUANTILES, strict=True)
            }
    quantiles_found = {
        name: quantile for name, quantile in quantiles_found.items() if not np.isnan(quantile)
    }
    return quantiles_found, {
        name: error for name, error in errors.items() if name in quantiles_found
    }


def shares_within_target(
    compiled: NetworkLayout, network: NetworkArrays, values_at_point: Mapping[str, float]
) -> dict[str, float]:
    """Return, for each class with a target, the share of responses within it, if the distribution
    of the response time is known exactly [1]; see `quantiles`.

    Parameters
    ----------
    compiled, network : at one point
    values_at_point : of all parameters

    >>> from slipstick.model.network import network, open_class, station
    >>> queue = {"desk": station(service={"calls": 1.0})}  # M/M/1: 1 - exp(-(1 - 0.5) 2 s)
    >>> compiled = NetworkLayout(network({"calls": open_class(0.5, target_time=2.0)}, queue))
    >>> found = shares_within_target(compiled, compiled.arrays(compiled.columns({})).network, {})
    >>> round(found["within_target[calls]"], 6)
    0.632121
    """
    levels: dict[str, float] = {}
    for c, (label, chain) in enumerate(compiled.chains.items()):
        if chain.members.target_time == zero(TIME) or compiled.model.chains or network.not_poisson:
            continue
        tape = Tape([chain.members.target_time])
        (target,) = tape.run(only(values_at_point, tape.parameters))
        path = _path(compiled, network, c)
        transform = _exact_transform(network, c, path) if len(path) else None
        if transform is not None and target[0] > 0:
            level = 1 - probability_beyond(transform, float(target[0].real))
            levels[f"within_target[{label}]"] = min(max(level, 0.0), 1.0)
    return levels


def _path(compiled: NetworkLayout, network: NetworkArrays, c: int) -> NDArray[np.intp]:
    """Return the stations that a chain visits; none where the number of visits to them is unknown."""
    label = list(compiled.chains)[c]
    path = np.flatnonzero(network.demand[0, c].real > 0)
    with_visits = all(label in compiled.model.stations[compiled.stations[k]].service for k in path)
    return path if with_visits or (len(path) == 1 and not network.closed[c]) else path[:0]


def has_quantiles(model: QueueingNetwork, label: str, exact: bool = False) -> bool:
    """Return whether quantiles of the response time of a class or chain have a formula at the
    model's own values, without solving anything.

    Parameters
    ----------
    model, label : the network, and the class or chain
    exact : a formula without an error
    """
    compiled = NetworkLayout(model)
    network = compiled.arrays(compiled.columns({})).network
    if label not in compiled.chains or model.chains or network.not_poisson or model.constructs:
        return False
    c = list(compiled.chains).index(label)
    path = _path(compiled, network, c)
    if not len(path):
        return False
    is_traceable = not network.closed[c] or 0 < int(network.population[0, c]) <= MOST_TRACED
    if is_traceable and _without_overtaking(network, c, path):
        return True
    return not exact and _product_form_visits(network, c)


def _exact_transform(network: NetworkArrays, c: int, path: NDArray[np.intp]) -> Transform | None:
    times = network.service[0, c, path].real.tolist()
    population = int(network.population[0, c])
    think = float(network.think[0, c].real)
    if not _without_overtaking(network, c, path) or (
        network.closed[c] and not 0 < population <= MOST_TRACED
    ):
        return None
    if network.closed[c]:
        return closed_path(times, think, population)
    servers = np.where(network.delays, 0, network.servers)
    servers_and_loads = servers[path].tolist(), _loads(network)[path].tolist()
    return open_path(list(zip(times, *servers_and_loads, strict=True)))


def _loads(network: NetworkArrays) -> Array:
    loads_by_class = network.arrivals[0, :, None].real * network.demand[0].real
    return np.asarray(loads_by_class.sum(axis=0))


def _product_form_visits(network: NetworkArrays, c: int) -> bool:
    """Return whether a chain belongs to the networks for which errors of approximate quantiles were
    measured: open, in product form, and with at most one visit to a station.
    """
    visited = network.demand[0, c].real > 0
    scv = network.scv[0, c].real
    visits = network.visits[0].real
    shared = np.array([discipline == "ps" for discipline in network.discipline]) & (
        (scv == 1) | ~visited
    )
    in_order = np.array([discipline == "fcfs" for discipline in network.discipline]) & _alike(
        network
    )
    is_plain_station = (
        network.without_rates
        & ~network.limited
        & (network.patience is None)
        & (network.servers <= limit("speeds"))
    )
    # Where a part of the customers has no time at all, quantiles near it are not found.
    visited_once = not network.closed.any() and (visits <= 1).all() and visits[c].max() == 1
    few_visits = len(network.classes) * len(network.stations) <= MOST_VISITS
    return bool(
        few_visits
        and visited_once
        and (is_plain_station & (shared | in_order | network.delays)).all()
    )


def _approximate_transform(
    compiled: NetworkLayout,
    network: NetworkArrays,
    c: int,
    path: NDArray[np.intp],
    measures: Mapping[str, float],
) -> Transform:
    label = list(compiled.chains)[c]
    loads = _loads(network)
    visits = list[tuple[float, Transform]]()
    for k in path:
        service = float(network.service[0, c, k].real)
        servers = int(network.servers[k])
        if network.delays[k]:
            two_moment_visit = two_moments(service, float(network.scv[0, c, k].real))
        elif network.discipline[k] == "fcfs":
            two_moment_visit = open_path([(service, servers, float(loads[k]))])
        else:
            two_moment_visit = visit_shared(
                service, max(0.0, measures[f"waiting_time[{label},{compiled.stations[k]}]"])
            )
        visits.append((float(network.visits[0, c, k].real), two_moment_visit))
    return approximate_path(visits)


def _without_overtaking(network: NetworkArrays, c: int, path: NDArray[np.intp]) -> bool:
    """Return whether no customer of a class is overtaken on its path, and none that was behind it
    delays it.
    """
    visits = np.where(network.demand[0].real > 0, network.visits[0].real, 0.0)[:, path]
    single_class = len(network.classes) == 1
    is_plain_station = (
        network.without_rates
        & ~network.limited
        & (network.servers <= limit("speeds"))
        & (network.patience is None)
    )
    queues = (
        is_plain_station
        & np.array([discipline == "fcfs" for discipline in network.discipline], dtype=bool)
        & _alike(network)
    )
    if not len(path) or (visits[c] != 1).any() or (network.closed.any() and not single_class):
        return False
    if network.closed[c]:
        return bool((queues & network.single)[path].all())
    ends = queues | (is_plain_station & network.delays & (network.scv[0, c].real == 1))
    # Another class goes along a part of the path without a gap, once.
    rejoins = []
    for visit in visits:
        longest_gap = np.diff(np.flatnonzero(visit)).max(initial=1)
        rejoins.append(longest_gap > 1 or not np.isin(visit, (0, 1)).all())
    between = (queues & network.single)[path[1:-1]].all()
    return bool(ends[path].all() and between and (len(path) == 1 or not any(rejoins)))


def _alike(network: NetworkArrays) -> NDArray[np.bool_]:
    """Return at which stations all customers have the same exponential service time (K,)."""
    visited = network.demand[0].real > 0
    exponential = ((network.scv[0].real == 1) | ~visited).all(axis=0)
    alike: NDArray[np.bool_] = have_one_value(network.service[0], visited) & exponential
    return alike


def _notes_of(compiled: NetworkLayout, solution: NetworkSolution) -> tuple[str, ...]:
    """Return notes on the solver, its stopping rule, its usual error, and the assumptions about the
    network.
    """
    steps = f"; {solution.rule}, {solution.iterations} iterations" if solution.rule else ""
    error = [f"usual error: {solution.usual_error}"] if solution.usual_error else []
    # A chain says what it is by its states.
    variant = [f"{solution.method}{steps}"] if solution.method != MARKOV_CHAIN else []
    return (*error, *variant, *solution.notes, *assumed(compiled))


def assumed(compiled: NetworkLayout) -> tuple[str, ...]:
    """Return notes on the assumptions made where the description of a network is incomplete."""
    model = compiled.model
    places = {place for route in model.routing for place in (route.source, route.target)}
    in_chains = {label for chain in model.chains.values() for label in chain.classes}
    alike = (
        f"{name} is {DISCIPLINES[station.discipline].title}: the demands of several classes there"
        " are taken as visits of one service time; give service and visits to say otherwise"
        for name, station in model.stations.items()
        if DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL
        and len(station.demand) > 1
    )
    unused = (
        f"no route takes {label} to {name}, so its service time of 0 there has no effect"
        for name, station in model.stations.items()
        for label in station.service
        if label in in_chains and (label, name) not in places
    )
    return *alike, *unused


def _shared(arrays: NetworkPoints, residence: Array) -> Array:
    """Divide the residence time of each chain at each station among its classes [s, points,
    classes, stations].
    """
    network = arrays.network
    time = residence[:, arrays.chain_of]
    is_single_class = np.bincount(arrays.chain_of)[arrays.chain_of] == 1
    visits = network.visits[:, arrays.chain_of]
    service = network.service[:, arrays.chain_of]
    # An empty station has no waiting time.
    wait = np.where(time != 0, quotient(time, visits) - service, 0.0)
    # In the order of arrival all classes of a chain have the same wait and their own service; at
    # shared servers the time is in proportion to the service.
    in_order = arrays.visits * (arrays.service + wait)
    shared = np.asarray(time) * quotient(arrays.visits * arrays.service, visits * service)
    for k, kind in enumerate(network.discipline):
        if DISCIPLINES[kind].queued and network.rates[k] is None:
            shared[:, :, k] = in_order[:, :, k]
    shared[:, is_single_class] = time[:, is_single_class]
    return shared


class Measures:
    """The measures of classes and chains, read from the solution of a network.

    The response time of a chain is that of all its classes in one cycle. Where customers are lost,
    visits count that were made, as a part of those stated.

    Parameters
    ----------
    compiled : the network
    arrays : its numbers
    solution : of its chains; of its classes, and with losses, where it is a Markov chain's
    """

    def __init__(
        self, compiled: NetworkLayout, arrays: NetworkPoints, solution: NetworkSolution
    ) -> None:
        self._compiled = compiled
        self._arrays = arrays
        self._classes = compiled.classes
        self._stations = compiled.stations
        self._probability = solution.probability
        self._loss = None
        self._made = np.ones(())
        self._abandoned: Array = np.zeros(arrays.visits.shape)
        self._ended: Array | None = None
        network = arrays.network
        chain_of = arrays.chain_of
        with np.errstate(all="ignore"):
            if isinstance(solution, MarkovSolution):
                self._residence = solution.residence
                self._queue = solution.queue
                busy = solution.utilization
                self._throughput = solution.throughput[:, np.unique(chain_of, return_index=True)[1]]
                if network.losses:
                    visits = arrays.visits if arrays.routes is not None else network.visits
                    self._abandoned = solution.abandoned
                    self._loss = solution.loss
                    self._ended = solution.ended
                    admitted = solution.ended / (1 - solution.abandoned)
                    self._made = quotient(admitted, solution.begun[:, :, None] * visits, 1.0)
            else:
                self._throughput = solution.throughput
                self._residence = _shared(arrays, solution.residence)
                self._queue = solution.throughput[:, chain_of, None] * self._residence
                # A class alone in its chain has the queue that the solver found; others follow from
                # Little's law.
                is_single_class = np.bincount(chain_of)[chain_of] == 1
                self._queue[:, is_single_class] = solution.queue[:, chain_of][:, is_single_class]
                visit_share = quotient(arrays.visits * arrays.service, network.demand[:, chain_of])
                busy = solution.utilization[:, chain_of] * visit_share
        self._utilization = busy

    def columns(self) -> dict[str, Array]:
        """Return every measure by name; NaN where it is undefined."""
        with np.errstate(all="ignore"):
            return {**self.chains(), **self._by_class(), **self._totals(), **self._probabilities()}

    def chains(self) -> dict[str, Array]:
        """Return throughput and response time of every class and every chain."""
        residence = self._residence
        columns: dict[str, Array] = {}
        for c, (name, chain) in enumerate(self._compiled.chains.items()):
            members = [self._classes.index(label) for label in chain.classes]
            columns[f"throughput[{name}]"] = self._throughput[:, c]
            columns[f"response_time[{name}]"] = residence[:, members].sum(axis=(1, 2))
            for r in members if chain.classes != (name,) else ():
                columns[f"throughput[{self._classes[r]}]"] = self._passing(c, chain, r)
                columns[f"response_time[{self._classes[r]}]"] = residence[:, r].sum(axis=1)
        return columns

    def _passing(self, c: int, chain: Chain, r: int) -> Array:
        """Return how many customers become members of a class in a second [1/s]; of a closed chain,
        the visits of the class to the station of the reference.

        Of customers that may be lost only those that arrive are known by this [1/s].
        """
        label, station = chain.reference
        if isinstance(chain.members, OpenClass):
            lossy = self._ended is not None
            arrives = np.array([1.0 if self._classes[r] == label else np.nan])
            entries = arrives if lossy else self._arrays.entries()[:, r]
            return np.asarray(self._throughput[:, c] * entries)
        place = (slice(None), r, self._stations.index(station))
        return (
            self._ended[place]
            if self._ended is not None
            else self._throughput[:, c] * self._arrays.visits[place]
        )

    def _by_class(self) -> dict[str, Array]:
        arrays = self._arrays
        residence = self._residence
        time_of_visit = quotient(residence, arrays.visits * self._made, np.nan)
        columns: dict[str, Array] = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            for label in station.visitors():
                r = self._classes.index(label)
                key = f"[{label},{name}]"
                columns[f"queue_length{key}"] = self._queue[:, r, k]
                columns[f"residence_time{key}"] = residence[:, r, k]
                columns[f"time_per_visit{key}"] = time_of_visit[:, r, k]
                if arrays.network.rates[k] is None:
                    is_served = 1 - self._abandoned[:, r, k]
                    wait = time_of_visit[:, r, k] - arrays.service[:, r, k] * is_served
                    columns[f"waiting_time{key}"] = np.where(residence[:, r, k] != 0, wait, 0.0)
                if not DISCIPLINES[station.discipline].delay:
                    columns[f"utilization{key}"] = self._utilization[:, r, k]
                if self._loss is not None and station.capacity:
                    columns[f"loss_probability{key}"] = self._loss[:, r, k]
                if label in station.patience:
                    columns[f"abandonment{key}"] = self._abandoned[:, r, k]
        return columns

    def _totals(self) -> dict[str, Array]:
        columns = {}
        for k, (name, station) in enumerate(self._compiled.model.stations.items()):
            columns[f"queue_length[{name}]"] = self._queue[:, :, k].sum(axis=1)
            if not DISCIPLINES[station.discipline].delay:
                columns[f"utilization[{name}]"] = self._utilization[:, :, k].sum(axis=1)
        return columns

    def _probabilities(self) -> dict[str, Array]:
        tables = zip(self._stations, self._probability, strict=True)
        return {
            f"probability[{name},{n}]": table[:, n]
            for name, table in tables
            if table is not None
            for n in range(min(table.shape[1], MOST_PROBABILITIES))
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
        refuse_unknown(model.constructs, method, KNOWN_OF_NETWORKS.get(method, ()))
        self.model = model
        self.method = method
        self.compiled = NetworkLayout(model)
        self.parameters = tuple(self.compiled.tape.parameters)
        self.quantity = f"response_time[{next(iter(self.compiled.chains))}]"

    @property
    def smooth(self) -> list[str]:
        """Names of the parameters that answers are differentiated by: all except those that
        count customers.
        """
        chains = (chain.members for chain in self.compiled.chains.values())
        counts = (chain.population for chain in chains if isinstance(chain, ClosedClass))
        count_names = {parameter.name for parameter in parameters(*counts)}
        return [name for name in self.parameters if name not in count_names]

    @property
    def block(self) -> int:
        """The number of points that are solved together: fewer where each point holds many numbers,
        see `MOST_HELD`.
        """
        classes = len(self.compiled.chains)
        stations = len(self.compiled.stations)
        return max(2, min(BLOCK, MOST_HELD // _numbers(classes, stations)))

    def brief(self, values: Values) -> Solution:
        """Compute times and rates alone."""
        return self._solved(self.compiled.arrays(self.compiled.columns(values)), Measures.chains)[0]

    def solution(self, values: Values) -> Solution:
        """Compute all values at aligned points."""
        arrays = self.compiled.arrays(self.compiled.columns(values))
        solution, pieces, wrong = self._solved(arrays, Measures.columns)

        def detail(index: int) -> tuple[Solution, int]:
            if index in wrong:
                method = preferred(arrays.select([index])) if self.method == BEST else self.method
                return (
                    Solution(
                        model=self.model.name,
                        method=method,
                        remarks=lambda _: Remarks(failed=wrong[index]),
                    ),
                    0,
                )
            piece = next(piece for piece in pieces if index in piece.points)
            columns = {name: float(value[index].real) for name, value in solution.values.items()}
            return self._detail(values, arrays.select([index]), piece, columns, index), 0

        return replace(solution, detail=detail)

    def _solved(
        self, arrays: NetworkPoints, read: Callable[[Measures], Columns]
    ) -> tuple[Solution, list[SolvedTogether], dict[int, str]]:
        """Build the solution from columns, with the solver of each point and whether it is exact;
        also return the points solved together and the reasons of points without an answer.
        """
        columns, pieces, wrong = _measured(self.compiled, arrays, self.method, read)
        count = arrays.network.points
        methods = np.full(count, self.method, dtype=object)
        exact = np.zeros(count, dtype=bool)
        for piece in pieces:
            methods[piece.points], exact[piece.points] = piece.solver, piece.solution.exact
        # What no solver can solve, such as a saturated station, no simulation can either.
        refused = frozenset(wrong.keys() - unsolvable(arrays).keys()) if wrong else frozenset()
        if _numbers_of_point(arrays.network) > limit("corrections") and not (
            arrays.network.losses or arrays.network.not_poisson
        ):
            # A simulation holds still more of each class at each station: 8 GB of 800 stations and
            # 50 classes. The reason of the refusal names the method that takes them.
            refused = frozenset()
        solution = Solution(
            refused=refused,
            model=self.model.name,
            method=self.method,
            count=count,
            methods=methods.tolist(),
            exact=exact,
            values=columns,
        )
        return solution, pieces, wrong

    def _detail(
        self,
        values: Values,
        arrays: NetworkPoints,
        piece: SolvedTogether,
        measures: Mapping[str, float],
        index: int,
    ) -> Solution:
        """Add the parts of an answer that are computed at one point only: account, saturation,
        quantiles, derivatives.
        """
        compiled = self.compiled
        network = arrays.network
        columns = {
            name: measure for name, measure in measures.items() if not _too_many(name, network)
        }
        # They take longer than the solution, so that only points that are read have them.
        shown, errors = quantiles(compiled, network, columns)
        further_notes = (
            *((APPROXIMATE_QUANTILES,) if errors else ()),
            *self._without_shares(network),
        )
        own_values = {
            name: value_at(values, name, index, parameter.value)
            for name, parameter in compiled.tape.parameters.items()
        }
        shown |= shares_within_target(compiled, network, own_values)
        columns |= _constants(network) | shown
        return Solution(
            model=self.model.name,
            method=piece.solver,
            exact=np.array([piece.solution.exact]),
            values=_one_point(columns),
            low=_one_point({name: shown[name] * (1 - error) for name, error in errors.items()}),
            high=_one_point({name: shown[name] * (1 + error) for name, error in errors.items()}),
            account=_one_point(_account(compiled, arrays, columns)),
            remarks=lambda _: Remarks(notes=(*_notes_of(compiled, piece.solution), *further_notes)),
            gradient=lambda _: self._gradient(own_values, network, piece.solver),
        )

    def _derivative_numbers(self, network: NetworkArrays) -> int:
        """Return how many numbers the derivatives by all parameters take."""
        return _numbers_of_point(network) * len(self.smooth)

    def _derivative_seconds(self, network: NetworkArrays, solver: str) -> float:
        """Estimate the processor time that the derivatives by all parameters take [s]; 0 for a
        Markov chain, which has a limit of its own.
        """
        if solver in APPROXIMATE_NUMBER:
            return self._derivative_numbers(network) * APPROXIMATE_NUMBER[solver]
        if solver == MARKOV_CHAIN:
            return 0.0
        _, classes, stations = network.service.shape
        customers = np.sort(np.where(network.closed, network.population, 0)[0]).astype(float)
        if np.count_nonzero(customers) < 2:
            steps = (customers.sum() + 1) * (400 + 4 * stations)
        else:
            with np.errstate(over="ignore"):  # of so many places there is no answer either
                places = (customers.sum() + 1) * (customers[:-1] + 1).prod()
            steps = 2 * places * (400 + 4 * classes * stations**2)
        return float(len(self.smooth) * steps * EXACT_STEP)

    def _gradient(
        self, own_values: Mapping[str, float], network: NetworkArrays, solver: str
    ) -> Gradient:
        """Return the derivatives of throughputs and response times, computed when they are read;
        none where they would take more numbers than the limit.
        """
        parameters = self.compiled.tape.parameters
        if self._derivative_numbers(network) > limit("derivatives"):
            return Gradient({}, own_values, parameters)
        seconds = self._derivative_seconds(network, solver)
        slopes = DeferredShares(partial(self._slopes, own_values, solver, seconds), seconds)
        names = (*self.compiled.chains, *self.compiled.classes)
        return Gradient(
            slopes, own_values, parameters, frozenset(f"throughput[{name}]" for name in names)
        )

    def _slopes(
        self, own_values: Mapping[str, float], solver: str, seconds: float
    ) -> dict[str, dict[str, float]]:
        """Compute the derivatives of throughputs and response times by the complex step, many
        parameters in one call; empty if a point is not solved.
        """
        names = self.smooth
        if seconds > ANNOUNCED and (announce := ANNOUNCE.get()) is not None:
            announce(
                f"shares of {len(names):,} parameters: about {seconds:,.0f} s of processor time"
            )
        network = self.compiled.arrays(self.compiled.columns(own_values)).network
        names_at_once = MOST_NUMBERS // _numbers_of_point(network) or 1
        slopes: dict[str, dict[str, float]] = {}
        # Each moved parameter is a point of its own; so many at a time keep the memory below
        # `MOST_NUMBERS`.
        for start in range(0, len(names), names_at_once) or (0,):
            moved_names = names[start : start + names_at_once]
            arrays = self.compiled.arrays(self.compiled.perturbed(own_values, moved_names))
            moved, _, wrong = _measured(self.compiled, arrays, solver, Measures.chains, alike=True)
            if wrong:
                return {}
            for key, column in moved.items():
                derivatives = {
                    name: float(column[place].imag / complex_step(own_values[name]))
                    for place, name in enumerate(moved_names, 1)
                }
                slopes.setdefault(key, {}).update(derivatives)
        return slopes

    def _without_shares(self, network: NetworkArrays) -> tuple[str, ...]:
        """Return a note if an answer has no shares because their derivatives would exceed the
        limit.
        """
        numbers = self._derivative_numbers(network)
        if numbers <= limit("derivatives"):
            return ()
        note = (
            f"shares of {len(self.smooth):,} parameters are left out: their derivatives take"
            f" {numbers:,} numbers, and the limit is {limit('derivatives'):,.0f}; change single"
            f" parameters in a study, {way_out('derivatives', numbers)}"
        )
        return (note,)


def _numbers_of_point(network: NetworkArrays) -> int:
    """Return how many numbers an approximation holds at each point."""
    _, classes, stations = network.service.shape
    return _numbers(classes, stations)


def _numbers(classes: int, stations: int) -> int:
    """Return how many numbers Linearizer holds at each point: for each class that leaves, the
    change of each class at each station.
    """
    return max(1, classes**2 * (classes + 1) * stations)


def _measured(
    compiled: NetworkLayout,
    arrays: NetworkPoints,
    solver: str,
    read: Callable[[Measures], Columns],
    alike: bool = False,
) -> tuple[Columns, list[SolvedTogether], dict[int, str]]:
    """Solve a network and read columns from its solutions; NaN at a point without a solution."""
    pieces, wrong = solved_points(arrays, solver, alike=alike)
    count = arrays.network.points
    if len(pieces) == 1 and len(pieces[0].points) == count:
        return read(Measures(compiled, arrays, pieces[0].solution)), pieces, wrong
    columns_of_pieces = [
        (piece.points, read(Measures(compiled, arrays.select(piece.points), piece.solution)))
        for piece in pieces
    ]
    if not columns_of_pieces:
        shape = arrays.network.service.shape
        flow = np.full(shape[:2], np.nan)
        cube = np.full(shape, np.nan)
        nothing = NetworkSolution(flow, cube, cube, cube, (None,) * shape[2], solver, exact=False)
        columns_of_pieces = [(np.arange(count), read(Measures(compiled, arrays, nothing)))]
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(
        name for _, columns_there in columns_of_pieces for name in columns_there
    ):
        number_type = np.result_type(
            float,
            *(
                columns_there[name]
                for _, columns_there in columns_of_pieces
                if name in columns_there
            ),
        )
        columns[name] = np.full(count, np.nan, number_type)
        for points, columns_there in columns_of_pieces:
            # A number of customers that none of these points has is not there.
            is_probability_of_none = (
                name.startswith("probability[") and f"{name.rpartition(',')[0]},0]" in columns_there
            )
            columns[name][points] = columns_there.get(
                name, 0.0 if is_probability_of_none else np.nan
            )
    return columns, pieces, wrong


def _one_point(numbers: Mapping[str, float]) -> dict[str, Array]:
    return {name: np.array([number]) for name, number in numbers.items()}


def _too_many(name: str, network: NetworkArrays) -> bool:
    """Return whether a name is a probability of more customers than the network has at this point."""
    kind, _, arguments = name.partition("[")
    most = int(network.population.sum()) if network.closed.all() else None
    return (
        kind == "probability"
        and most is not None
        and int(arguments.rpartition(",")[2].rstrip("]")) > most
    )
