"""Queueing networks and their solutions as arrays, with a leading axis of points."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slipstick.errors import ModelError
from slipstick.late import NDArray, dataclass, field, np, replace
from slipstick.phases import (
    PhaseType,
)
from slipstick.vocabulary import (
    ANY_SERVICE,
    BEFORE_SERVICE,
    BLOCKING,
    DISCIPLINES,
    LOSS,
    REPEAT,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = NDArray[Any]
"""Real or complex numbers; complex ones carry a derivative in their imaginary part."""


ABANDONMENT = (
    "the throughput counts served customers only; times also include customers that abandon a queue"
)
"""What the values of a network whose customers have patience stand for."""


@dataclass(frozen=True, eq=False)
class NetworkArrays:
    """A queueing network at P points, with R classes and K stations. Build one with
    `network_arrays`.

    Parameters
    ----------
    service : time of one visit of a class at a station [s], (P, R, K)
    visits : visits of a class to a station in one cycle of the class, (P, R, K)
    think : time away from the stations in one cycle [s], (P, R)
    population : customers of each class, whole numbers, (P, R); 0 where the class is open
    arrivals : arrivals of each class from outside [1/s], (P, R); 0 where the class is closed
    closed : which classes are closed, (R,)
    discipline : one of `slipstick.vocabulary.DISCIPLINES` for each station
    servers : servers of each station, (K,); says nothing where the discipline is `is` or rates are
        given
    rates : for each station None, or its speed with 1, 2, 3 and more present relative to its
        service times, (P or 1, m); the last holds for m and more
    scv : squared coefficient of variation of the service times, (P, R, K); 1 is exponential
    priority : rank of each class, (R, K); the lowest number goes first
    stations, classes : names, for messages
    capacity : for each station the most customers present, in service included, or None
    blocking : for each station one of `slipstick.vocabulary.BLOCKING`: what becomes of an arrival
        when it is full
    bursts : of each class the rates of arrivals between bursts and in bursts, and the rates at
        which bursts begin and end [1/s], (P, R, 4), 0 where arrivals are Poisson; None where all
        are
    batch : customers of each class that arrive together; empty where all come one by one
    arrival_words : how each class arrives whose arrivals only a simulation follows, such as "at the
        times of a trace"; empty where there is none
    patience : mean time after which a customer whose service has not begun abandons a queue [s],
        (P, R, K), 0 where it waits without a limit; None where all do
    timeouts : whether the patience of each class at each station is constant; else it is
        exponential, (R, K)
    balking : by class and station, the probability that a customer that has to wait leaves at once
        if 0, 1, 2 ... others wait, (P, m); the last holds for more
    phases : of the service times that are given as phases, by class and station, of mean 1; the
        others have phases of their mean and scv
    weights : of each class at each station, which shares its server by them, (P, R, K), 1 without;
        None where no station does
    has_random_time : which classes have a service time that varies, (P, R); None: as `random_times`
        computes it
    is_absence : which classes are no customers, but servers that are away, (R,); None where none is
    """

    service: Array
    visits: Array
    think: Array
    population: NDArray[np.int64]
    arrivals: Array
    closed: NDArray[np.bool_]
    discipline: tuple[str, ...]
    servers: NDArray[np.int64]
    rates: tuple[Array | None, ...]
    scv: Array
    priority: NDArray[np.int64]
    stations: tuple[str, ...]
    classes: tuple[str, ...]
    capacity: tuple[int | None, ...]
    blocking: tuple[str, ...]
    bursts: Array | None = None
    batch: tuple[int, ...] = ()
    arrival_words: tuple[str, ...] = ()
    patience: Array | None = None
    timeouts: NDArray[np.bool_] | None = None
    phases: Mapping[tuple[str, str], PhaseType] = field(default_factory=dict)
    weights: Array | None = None
    has_random_time: NDArray[np.bool_] | None = None
    is_absence: NDArray[np.bool_] | None = None
    balking: Mapping[tuple[str, str], Array] = field(default_factory=dict)

    @property
    def is_customer(self) -> NDArray[np.bool_]:
        """Which classes are customers, not servers that are away (R,)."""
        return np.ones(len(self.classes), bool) if self.is_absence is None else ~self.is_absence

    @property
    def servers_away(self) -> Array:
        """The mean number of servers of each station that are away (P, K), if absences begin
        without waiting: at the arrival rate of the class that stands for the absence, or after its
        think time if it is closed. A closed class that cannot interrupt services counts as 0, since
        its absences may wait.
        """
        if self.is_absence is None:
            return np.zeros((1, len(self.stations)))
        demand = self.demand[:, self.is_absence]
        cycle_time = self.think[:, self.is_absence, None] + demand
        population = self.population[:, self.is_absence, None]
        arrivals = self.arrivals[:, self.is_absence, None]
        absence_rate = np.where(
            self.closed[self.is_absence, None], quotient(population, cycle_time), arrivals
        )
        interrupts = [DISCIPLINES[discipline].preemptive for discipline in self.discipline]
        never_waits = ~self.closed[self.is_absence, None] | np.array(interrupts, dtype=bool)
        servers_away: Array = (absence_rate * demand * never_waits).sum(axis=1)
        return servers_away

    @cached_property
    def has_known_phases(self) -> NDArray[np.bool_]:
        """Whether the phases of service times are known, because these are exponential or given as
        phases (R, K); a Markov chain takes others as phases of the same mean and variation.
        """
        return known_phases(self.scv, self.phases, self.classes, self.stations)

    @property
    def draws_again(self) -> bool:
        """Whether customers that find a station full draw their destination again, which changes
        the numbers of visits.
        """
        return any(blocking in (BEFORE_SERVICE, REPEAT) for blocking in self.blocking)

    @cached_property
    def loss_reason(self) -> str:
        """The reason why the network loses customers: its first station with a capacity or with a
        queue that customers abandon; empty if there is none.
        """
        for station, station_name in enumerate(self.stations):
            if self.capacity[station] is not None:
                return f"{station_name} has a capacity"
            if self.patience is not None and self.patience[:, :, station].any():
                return f"customers abandon the queue of {station_name}"
        for class_name, station_name in self.balking:
            return f"{class_name} balk at {station_name}"
        return ""

    @cached_property
    def is_never_saturated(self) -> NDArray[np.bool_]:
        """Which stations lose the load that they cannot serve, by a capacity or because all
        their customers have patience or may balk (K,). That too few customers balk for this is
        found by the methods that compute how many do.
        """
        if self.patience is None and not self.balking:
            return self.has_capacity
        is_open_customer = self.is_customer & ~self.closed
        is_visited = (self.visits.real > 0) & (self.service.real > 0) & is_open_customer[:, None]
        has_patience = (
            np.zeros(is_visited.shape, bool) if self.patience is None else self.patience.real > 0
        )
        may_balk = [
            [(class_name, station_name) in self.balking for station_name in self.stations]
            for class_name in self.classes
        ]
        all_impatient = is_visited.any(axis=(0, 1)) & (
            has_patience | np.array(may_balk) | ~is_visited
        ).all(axis=(0, 1))
        is_never_saturated: NDArray[np.bool_] = self.has_capacity | all_impatient
        return is_never_saturated

    @cached_property
    def non_poisson_reason(self) -> str:
        """The reason why arrivals are no Poisson stream: the first class with bursts, batches, a
        trace or a profile; empty if there is none. Servers that are off duty go by a trace.
        """
        if not (self.is_customer | self.closed).all():
            return "servers follow a schedule"
        for class_index, class_name in enumerate(self.classes):
            if self.arrival_words and self.arrival_words[class_index]:
                return f"class {class_name} arrives {self.arrival_words[class_index]}"
            if self.batch and self.batch[class_index] > 1:
                return f"class {class_name} arrives in batches"
            if self.bursts is not None and self.bursts[:, class_index].any():
                return f"class {class_name} arrives in bursts"
        return ""

    @property
    def point_count(self) -> int:
        """Number of points."""
        return int(self.service.shape[0])

    @cached_property
    def demand(self) -> Array:
        """Service in one cycle [s], (P, R, K)."""
        return self.service * self.visits

    @cached_property
    def work(self) -> Array:
        """Service at all stations together in one cycle [s], (P, R)."""
        return sum_over_stations(self.demand)

    @cached_property
    def all_closed(self) -> bool:
        """Whether no class is open."""
        return bool(self.closed.all())

    @cached_property
    def is_delay(self) -> NDArray[np.bool_]:
        """Which stations are delays, where no customer waits, (K,)."""
        return np.array(
            [DISCIPLINES[discipline].delay for discipline in self.discipline], dtype=bool
        )

    @cached_property
    def sharing_servers(self) -> NDArray[np.int64]:
        """Number of servers that share the work of each station; a delay counts as one, (K,)."""
        if self.all_single:
            return self.servers
        server_counts: NDArray[np.int64] = np.where(self.is_delay, 1, self.servers)
        return server_counts

    @cached_property
    def has_capacity(self) -> NDArray[np.bool_]:
        """Which stations have a capacity, (K,)."""
        return np.array([capacity is not None for capacity in self.capacity], dtype=bool)

    @cached_property
    def without_rates(self) -> NDArray[np.bool_]:
        """Which stations have no rates, (K,)."""
        return np.array([speeds is None for speeds in self.rates], dtype=bool)

    @cached_property
    def all_single(self) -> bool:
        """Whether every station is one server of constant speed."""
        are_single_servers = all(speeds is None for speeds in self.rates) and bool(
            (self.servers == 1).all()
        )
        return are_single_servers and not any(
            DISCIPLINES[discipline].delay for discipline in set(self.discipline)
        )

    @cached_property
    def is_single(self) -> NDArray[np.bool_]:
        """Which stations are one server of constant speed, (K,)."""
        is_single: NDArray[np.bool_] = self.without_rates & ~self.is_delay & (self.servers == 1)
        return is_single

    @cached_property
    def reasons_against_product_form(self) -> tuple[str, ...]:
        """Reasons, by station, why a station has no product form; empty for a station that has one.

        Each discipline has one for any service times, for one exponential service time of all
        classes, or never; see `Discipline.product_form`, with sources. In any case the customers of
        each closed class must take random times, see `serves_in_step`.
        """
        return tuple(
            reason or ("serves customers whose times are all constant" if in_step else "")
            for reason, in_step in zip(
                self._reasons_of_disciplines, self.serves_in_step, strict=True
            )
        )

    @cached_property
    def serves_in_step(self) -> NDArray[np.bool_]:
        """Return a mask (K,) of the stations that serve several closed customers whose times are
        all constant, so that the customers may stay in step.

        Two such customers that start together stay together, whatever other customers share the
        stations, so that the mean over all states is not theirs: with two shared stations of 1 s
        each the cycle takes 4 s, where product form says 3 s. Random routes and visits do not
        suffice to part them: of a station of 1 s and then one of two others of 1 s the cycle takes
        3.5 s, where product form says 2.75 s. A single one among customers of random times has
        product form (tests/queueing/test_in_step.py).
        """
        has_random_time = self.has_random_time
        if has_random_time is None:
            has_random_time = random_times(self.service, self.visits, self.scv)
        is_constant = (
            self.closed & (self.population > 0) & (self.think.real == 0) & ~has_random_time
        )
        constant_customers = (self.population * is_constant).sum(axis=1)
        is_constant &= constant_customers[:, None] > 1
        is_timed = (self.visits != 0) & (self.service.real != 0)
        stations_in_step: NDArray[np.bool_] = (is_timed & is_constant[:, :, None]).any(axis=(0, 1))
        return stations_in_step & ~self.is_delay

    @cached_property
    def _reasons_of_disciplines(self) -> tuple[str, ...]:
        """Reasons, by station, why its discipline has no product form with its service times."""
        if self.weights is None and all(
            DISCIPLINES[discipline].product_form == ANY_SERVICE for discipline in self.discipline
        ):
            return ("",) * len(self.stations)
        is_visited = self.visits != 0
        service_times = self.service.real
        longest_time = np.max(service_times, axis=1, where=is_visited, initial=0.0)
        shortest_time = np.min(service_times, axis=1, where=is_visited, initial=np.inf)
        # The same time may have been computed in two ways, which differ by rounding.
        times_differ = (longest_time > shortest_time * (1 + 1e-12)).any(axis=0)
        is_not_exponential = (is_visited & (self.scv.real != 1) & (service_times != 0)).any(
            axis=(0, 1)
        )
        reasons = tuple(
            map(_product_form_reason, self.discipline, times_differ, is_not_exponential)
        )
        if self.weights is None:
            return reasons
        has_weights = (self.weights != 1).any(axis=(0, 1))
        return tuple(
            "shares its server by weights" if uses_weights else reason
            for uses_weights, reason in zip(has_weights, reasons, strict=True)
        )

    def select(self, points: Any) -> NetworkArrays:
        """Return the network at some of the points, by slice, mask or indices."""
        rates = tuple(
            None if speeds is None else speeds if len(speeds) == 1 else speeds[points]
            for speeds in self.rates
        )
        field_names = ("service", "visits", "think", "population", "arrivals", "scv")
        bursts = None if self.bursts is None else self.bursts[points]
        patience = None if self.patience is None else self.patience[points]
        weights = None if self.weights is None else self.weights[points]
        has_random_time = None if self.has_random_time is None else self.has_random_time[points]
        return replace(
            self,
            rates=rates,
            bursts=bursts,
            patience=patience,
            weights=weights,
            has_random_time=has_random_time,
            balking={pair: probabilities[points] for pair, probabilities in self.balking.items()},
            **{name: getattr(self, name)[points] for name in field_names},
        )


def random_times(service: Array, visits: Array, scv: Array) -> NDArray[np.bool_]:
    """Return which classes have a service time that varies, (P, R), from arrays (P, R, K)."""
    is_timed = (visits != 0) & (service.real != 0)
    has_random_time: NDArray[np.bool_] = (is_timed & (scv.real != 0)).any(axis=2)
    return has_random_time


def known_phases(
    scv: Array,
    phases: Mapping[tuple[str, str], PhaseType],
    classes: Sequence[str],
    stations: Sequence[str],
) -> NDArray[np.bool_]:
    """Return for which classes and stations the phases of the service time are known, because it is
    exponential or given as phases (classes, stations).

    Parameters
    ----------
    scv : of the service times (points, classes, stations)
    phases : phases by class and station
    classes, stations : their names
    """
    has_known_phases: NDArray[np.bool_] = (scv == 1).all(axis=0)
    for class_name, station in phases:
        if class_name in classes:
            has_known_phases[list(classes).index(class_name), list(stations).index(station)] = True
    return has_known_phases


Speeds = dict[int, Array]
"""Of stations whose speed depends on the number present, with 1, 2, 3 ... of them; the last
holds for more.
"""


@dataclass(frozen=True, eq=False)
class ClosedPart:
    """The closed classes alone, at P points, at the speeds that open classes leave them.

    Parameters
    ----------
    classes : which of the network's classes these are
    queueing : which of the network's stations have a queue; the K of the arrays below
    demand : (P, R, K) [s]
    delay : think time and demand at the delays (P, R) [s]
    population : (P, R)
    last_speed : speed of each of the stations with very many closed customers, (P or 1, K)
    speeds_by_queue : where the speed depends on their number, by place in K: with 1, 2, 3 ... of
        them, (P or 1, m)
    empty_probability : P(no open customer | no closed customer) at stations that open classes use,
        by place in K, (P,)
    """

    classes: Array
    queueing: Array
    demand: Array
    delay: Array
    population: Array
    last_speed: Array
    speeds_by_queue: Speeds
    empty_probability: dict[int, Array]

    def select(self, points: Any, classes: Any = slice(None)) -> ClosedPart:
        """Return the closed part at some of the points and for some of the classes, by slice, mask
        or indices.
        """
        selected_arrays = {
            name: getattr(self, name)[points][:, classes]
            for name in ("demand", "delay", "population")
        }
        selected_speeds, selected_empty = (
            {
                queue_index: _select_points(values, points)
                for queue_index, values in values_by_queue.items()
            }
            for values_by_queue in (self.speeds_by_queue, self.empty_probability)
        )
        last_speed = _select_points(self.last_speed, points)
        return replace(
            self,
            classes=self.classes[classes],
            **selected_arrays,
            last_speed=last_speed,
            speeds_by_queue=selected_speeds,
            empty_probability=selected_empty,
        )


def _select_points(values: Array, points: Any) -> Array:
    """Return the values (P, ...) at some of the points; an array with one point holds for all."""
    values_at_points: Array = values if len(values) == 1 else values[points]
    return values_at_points


@dataclass(frozen=True, eq=False)
class ClosedSolution:
    """The solution for the closed classes of a network; K counts the stations with a queue.

    Parameters
    ----------
    throughput : (P, R)
    queue : (P, R, K)
    probability : for each station P(n present), (P, n), or None
    in_range : points where no number left the range of doubles, (P,)
    """

    throughput: Array
    queue: Array
    probability: list[Array | None]
    in_range: Array


def solve_in_parts(
    closed_network: ClosedPart,
    point_indexes_of_parts: Sequence[Array],
    solve: Callable[[ClosedPart], ClosedSolution],
) -> ClosedSolution:
    """Solve the points part by part, and join the solutions in the order of the points.

    Parameters
    ----------
    closed_network : all points
    point_indexes_of_parts : for each part, the numbers of its points; all parts together have all
        points
    solve : returns the solution of a part
    """
    solutions = [
        solve(closed_network.select(point_indexes)) for point_indexes in point_indexes_of_parts
    ]
    point_count = len(closed_network.demand)
    probability_by_queue = list[Array | None]()
    for probability_by_part in zip(*(solution.probability for solution in solutions), strict=True):
        known_probabilities = [
            probability for probability in probability_by_part if probability is not None
        ]
        if len(known_probabilities) < len(probability_by_part):
            probability_by_queue.append(None)
            continue
        # Where a part has fewer customers, more of them have no probability.
        all_probabilities = np.zeros(
            (point_count, max(probability.shape[1] for probability in known_probabilities)),
            dtype=np.result_type(*known_probabilities),
        )
        for point_indexes, part_probability in zip(
            point_indexes_of_parts, known_probabilities, strict=True
        ):
            all_probabilities[point_indexes, : part_probability.shape[1]] = part_probability
        probability_by_queue.append(all_probabilities)

    def join_field(name: str) -> Array:
        """Join one array of the partial solutions, in the order of the points."""
        part_values = [getattr(solution, name) for solution in solutions]
        all_values = np.zeros(
            (point_count, *part_values[0].shape[1:]), dtype=np.result_type(*part_values)
        )
        for point_indexes, part_result in zip(point_indexes_of_parts, part_values, strict=True):
            all_values[point_indexes] = part_result
        return all_values

    return ClosedSolution(
        join_field("throughput"), join_field("queue"), probability_by_queue, join_field("in_range")
    )


def point_blocks(point_count: int, most_points: int) -> list[Array]:
    """Return the numbers of the points, divided into blocks of at most a given size; at least
    one
    block.
    """
    return np.split(
        np.arange(point_count), range(max(1, most_points), point_count, max(1, most_points))
    )


@dataclass(frozen=True, eq=False)
class NetworkSolution:
    """The solution of a network at P points. A cycle of an open class is one passage through the
    network.

    Parameters
    ----------
    throughput : cycles of each class [1/s], (P, R)
    residence : time at a station in one cycle, waiting included, all visits together [s], (P, R, K)
    queue : mean number present, in service included, (P, R, K)
    utilization : busy servers / servers, (P, R, K); at a station with `rates` the classes' shares
        of P(not empty), in proportion to the work done for each; at a delay the mean number present
    probability : for each station None, or P(n present, all classes together) for n = 0, 1, ...,
        (P, n); where open classes make n unbounded, for n below 100
    method : the solver and its variant
    exact : whether this is the network's expectation to rounding
    rule : when an iteration stopped; empty where nothing iterates
    iterations : steps of the iteration, 0 where nothing iterates
    usual_error : a sentence on the errors measured over random networks; empty where exact
    notes : what the reader of the numbers should know
    """

    throughput: Array
    residence: Array
    queue: Array
    utilization: Array
    probability: tuple[Array | None, ...]
    method: str
    exact: bool
    rule: str = ""
    iterations: int = 0
    usual_error: str = ""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class MarkovSolution(NetworkSolution):
    """A solution by a Markov chain, which also counts losses and services, with the size of its
    chain.

    Where customers abandon queues, residence times are those of a cycle that begins, whether it is
    completed or not.

    Parameters
    ----------
    loss_probability : probability that a customer arriving at a station is lost there [1], (P, R,
        K)
    ended_services : services that end [1/s], (P, R, K)
    begun_cycles : cycles of each class that begin, at its first station [1/s], (P, R)
    lost_arrivals : customers of each class from outside that are lost on arrival [1/s], (P, R)
    abandonment_probability : probability that a customer abandons the queue of a station that it is
        at [1], (P, R, K)
    states : how many states the chain has (P,)
    truncation : customers of open classes in all at which the chain was truncated, 0 if it was not
        (P,)
    probability_beyond : probability of more open customers than that, continued geometrically from
        the last levels [1] (P,)
    """

    loss_probability: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    ended_services: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    begun_cycles: Array = field(default_factory=lambda: np.zeros((0, 0)))
    lost_arrivals: Array = field(default_factory=lambda: np.zeros((0, 0)))
    abandonment_probability: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    states: tuple[int, ...] = ()
    truncation: tuple[int, ...] = ()
    probability_beyond: tuple[float, ...] = ()


def quotient(numerator: Array, denominator: Array, otherwise: float = 0.0) -> Array:
    """Return the numerator over the denominator, and `otherwise` where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(
        numerator,
        denominator,
        out=np.full(numerator.shape, otherwise, np.result_type(numerator, denominator, float)),
        where=denominator != 0,
    )


def have_one_value(values: Array, is_visited: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the stations at which all visiting classes have the same value (..., K), from arrays
    (..., R, K).
    """
    largest_value = np.max(values.real, axis=-2, where=is_visited, initial=0.0)
    has_one_value: NDArray[np.bool_] = largest_value <= np.min(
        values.real, axis=-2, where=is_visited, initial=np.inf
    )
    return has_one_value


def sum_over_stations(values: Array) -> Array:
    """Return the sums of values (P, R, K) over the stations (P, R). Of many it is one matrix
    product: sums of short rows, one by one, take several times as long.
    """
    point_count, class_count, station_count = values.shape
    if point_count * class_count < 50:
        return np.asarray(np.add.reduce(values, axis=2))
    station_sum: Array = values.reshape(point_count * class_count, station_count) @ np.ones(
        station_count
    )
    return station_sum.reshape(point_count, class_count)


def _product_form_reason(discipline_name: str, times_differ: bool, is_not_exponential: bool) -> str:
    """Return why a discipline has no product form with its service times; empty where it has."""
    discipline = DISCIPLINES[discipline_name]
    if discipline.ranked:
        return "has priorities"
    if discipline.product_form == ANY_SERVICE or not (times_differ or is_not_exponential):
        return ""
    return (
        f"is {discipline.title} and its"
        f" {'service times differ between classes' if times_differ else 'scv is not 1'}"
    )


def _common_shape(
    arrays_by_station: Iterable[Array], arrays_by_class: Iterable[Array], least_class_count: int
) -> tuple[int, int, int]:
    """Return the numbers of points, of classes and of stations to which all arrays broadcast;
    `least_class_count` is the number of names of classes, or 1.
    """
    # The last axes are stations, or classes.
    point_count, class_count, station_count = np.broadcast(
        np.empty((1, 1, 1)), *arrays_by_station
    ).shape
    point_count, class_count = np.broadcast(
        np.empty((point_count, class_count)), np.empty((1, least_class_count)), *arrays_by_class
    ).shape
    return point_count, class_count, station_count


def _closed_classes(population: ArrayLike | None, arrivals: ArrayLike | None) -> ArrayLike:
    """Return a mask (R,) of the closed classes: if populations and arrivals are given, the classes
    without arrivals; else all classes or none.
    """
    if population is None or arrivals is None:
        return arrivals is None
    return np.asarray(np.all(np.atleast_2d(_number_array(arrivals)) == 0, axis=0))


def _names_by_station(name: str | Sequence[str], station_count: int) -> tuple[str, ...]:
    """Return one name for each station: a single name for all of them, or the sequence as a
    tuple.
    """
    return (name,) * station_count if isinstance(name, str) else tuple(name)


def network_arrays(
    service: ArrayLike,
    visits: ArrayLike = 1.0,
    *,
    population: ArrayLike | None = None,
    arrivals: ArrayLike | None = None,
    closed: ArrayLike | None = None,
    think: ArrayLike = 0.0,
    discipline: str | Sequence[str] = "ps",
    servers: ArrayLike = 1,
    rates: Sequence[ArrayLike | None] | None = None,
    scv: ArrayLike = 1.0,
    priority: ArrayLike = 0,
    stations: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    capacity: Sequence[int | None] | None = None,
    blocking: str | Sequence[str] = LOSS,
) -> NetworkArrays:
    """Build a network from numbers of any shape that can be broadcast, and check each of them.

    Parameters
    ----------
    service, visits, scv : (K,), (R, K) or (P, R, K)
    population, arrivals, think : a number, (R,) or (P, R)
    closed : which classes are closed, (R,); by default all if only a population is given, none if
        only arrivals are; with both, those without arrivals
    discipline, servers : one for all stations or one each
    rates : for each station None or its relative speeds, (m,) or (P, m)
    priority : a number, (R,) or (R, K)
    stations, classes : names; numbered by default
    capacity, blocking : for each station; one kind of blocking may hold for all

    Raises
    ------
    ModelError : a number is not finite or out of its range, a discipline is not known, or shapes do
        not fit

    >>> two = network_arrays([0.005, 0.030], population=20, think=5.0)
    >>> two.demand.shape, two.population.tolist(), two.stations
    ((1, 1, 2), [[20]], ('station 1', 'station 2'))
    """
    arrays_by_station = {
        "service": _number_array(service),
        "visits": _number_array(visits),
        "scv": _number_array(scv),
    }
    class_inputs = {"population": population, "arrivals": arrivals, "think": think}
    arrays_by_class = {
        name: _number_array(0.0 if array is None else array) for name, array in class_inputs.items()
    }
    point_count, class_count, station_count = _common_shape(
        arrays_by_station.values(), arrays_by_class.values(), 1 if classes is None else len(classes)
    )
    if closed is None:
        closed = _closed_classes(population, arrivals)
    spread_arrays: dict[str, Any] = {
        name: _spread_over(array, (point_count, class_count, station_count), name)
        for name, array in arrays_by_station.items()
    }
    spread_arrays |= {
        name: _spread_over(array, (point_count, class_count), name)
        for name, array in arrays_by_class.items()
    }
    spread_arrays["population"] = spread_arrays["population"].astype(np.int64)
    ranks = np.asarray(priority, dtype=np.int64)
    server_counts = _spread_over(_number_array(servers), (station_count,), "servers")
    network = NetworkArrays(
        **spread_arrays,
        closed=np.full(class_count, closed, dtype=bool),
        discipline=_names_by_station(discipline, station_count),
        servers=server_counts.astype(np.int64),
        rates=tuple(
            None if speeds is None else np.atleast_2d(_number_array(speeds))
            for speeds in rates or (None,) * station_count
        ),
        priority=_spread_over(
            ranks[:, None] if ranks.ndim == 1 else ranks, (class_count, station_count), "priority"
        ),
        stations=tuple(stations or (f"station {station + 1}" for station in range(station_count))),
        classes=tuple(
            classes or (f"class {class_index + 1}" for class_index in range(class_count))
        ),
        capacity=tuple(capacity or (None,) * station_count),
        blocking=_names_by_station(blocking, station_count),
    )
    whole_number_arrays = {
        "population": arrays_by_class.pop("population"),
        "servers": server_counts,
    }
    _check_values(network, arrays_by_station | arrays_by_class, whole_number_arrays)
    return network


def _number_array(values: ArrayLike) -> Array:
    """Return values as an array of floats, or of complex numbers where they carry derivatives."""
    array = np.asarray(values)
    return array if array.dtype.kind == "c" else array.astype(float)


def _spread_over(values: Array, shape: tuple[int, ...], name: str) -> Array:
    """Return values broadcast to a shape; raise, with their name, if they do not fit it."""
    spread_values = np.empty(shape, dtype=values.dtype)
    try:
        spread_values[...] = values
    except ValueError:
        raise ModelError(
            f"{name} has the shape {values.shape}, which does not fit {shape}"
        ) from None
    return spread_values


def _check_values(
    network: NetworkArrays, number_arrays: dict[str, Array], whole_number_arrays: dict[str, Array]
) -> None:
    """Raise for values that no network can have; the numbers are checked as given, before they are
    spread over all points.
    """
    station_count = len(network.stations)
    for name in ("discipline", "rates", "capacity", "blocking"):
        if len(getattr(network, name)) != station_count:
            raise ModelError(
                f"{name} is given for {len(getattr(network, name))} stations; there are"
                f" {station_count}"
            )
    for key_name, known_names, names_used in (
        ("blocking", BLOCKING, network.blocking),
        ("discipline", DISCIPLINES, network.discipline),
    ):
        for station, used_name in zip(network.stations, names_used, strict=True):
            if used_name not in known_names:
                raise ModelError(
                    f"{station}: there is no {key_name} {used_name!r}; known:"
                    f" {', '.join(known_names)}"
                )
    for station, capacity, rates in zip(
        network.stations, network.capacity, network.rates, strict=True
    ):
        if capacity is not None and capacity < 1:
            raise ModelError(f"{station}: capacity must be at least 1, got {capacity}")
        if rates is not None and not (np.isfinite(rates).all() and (rates.real > 0).all()):
            raise ModelError(f"{station}: rates must be finite and above 0")
    for name, values in (number_arrays | whole_number_arrays).items():
        if not _is_in_range(values, name in whole_number_arrays):
            _refuse_number(network, name, values, name in whole_number_arrays)
    for station, server_count in zip(network.stations, network.servers.tolist(), strict=True):
        if server_count < 1:
            raise ModelError(f"{station}: servers is {server_count}; give 1 or more")


def _is_in_range(values: Array, is_whole: bool) -> bool:
    """Return whether all numbers are finite and none is negative, and all are whole if `is_whole`;
    a single number is compared in Python, which takes less time.
    """
    if values.size == 1:
        value = values.item()
        return bool(0 <= value.real < np.inf and (not is_whole or value == value.real // 1))
    in_range = values.real.min(initial=0.0) >= 0 and values.real.max(initial=0.0) < np.inf
    return bool(in_range and (not is_whole or (values == np.floor(values)).all()))


def _refuse_number(network: NetworkArrays, name: str, values: Array, is_whole: bool) -> None:
    """Raise for the first value of an array that is negative, not finite, or not whole where it
    must be.
    """
    all_values = np.broadcast_to(values, getattr(network, name).shape)
    is_allowed = (
        np.isfinite(all_values)
        & (all_values.real >= 0)
        & (not is_whole or all_values == np.floor(all_values.real))
    )
    value_index = tuple(np.argwhere(~is_allowed)[0])
    subject_in_words = (
        network.classes[value_index[1]] if all_values.ndim > 1 else network.stations[value_index[0]]
    )
    subject_in_words += f" at {network.stations[value_index[2]]}" if all_values.ndim > 2 else ""
    requirement = "whole" if is_whole else "finite"
    raise ModelError(
        f"{subject_in_words}: {name} is {all_values[value_index].real:g}; give a {requirement}"
        " number"
        " that is not negative"
    )
