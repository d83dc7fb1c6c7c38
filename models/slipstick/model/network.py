"""Queueing networks: classes of customers that visit stations in a cycle, or once.

All faults of a queueing network are reported at once, each with its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from slipstick.arguments import (
    TEXT,
    checked,
    instance_of,
    list_of,
    mapped_by_name,
    optional_kind,
    real_number,
    row_of,
    whole_number,
)
from slipstick.errors import Fault, ModelError, ModelFaultsError, did_you_mean
from slipstick.expression.nodes import (
    COUNT,
    LIKE,
    RATE,
    TIME,
    Dimension,
    Expr,
    Like,
    Number,
    Parameter,
    parameters,
    zero,
)
from slipstick.late import dataclass
from slipstick.model.absences import Absence
from slipstick.model.activity import MOST_RETRIES, check_model_name
from slipstick.model.amounts import AMOUNTS, input_parameters
from slipstick.model.system import Breaker
from slipstick.profiles import Profile, check_profile
from slipstick.time_distributions import TimeDistribution
from slipstick.vocabulary import (
    BLOCKING,
    BREAKERS,
    DISCIPLINES,
    LEAST_WORK,
    LOSS,
    REGION_BLOCKING,
    REGIONS,
    RETRIES,
    ROUTES,
    ROUTES_BY_STATE,
    WAIT,
    WEIGHTS,
    contradicted_keys,
)

OUT = "out"
"""The target of a route by which customers of an open chain leave the network."""

Place = tuple[str, str]
"""The name of a class and the name of a station that it visits."""


@dataclass(frozen=True, slots=True)
class ClosedClass:
    """A closed population: a fixed number of customers, each with one think time in a cycle.

    Parameters
    ----------
    population : number of customers
    think_time : mean time that a customer spends outside all stations in each cycle [s]
    target_time : a response time; ``within_target`` is then the share of the responses that take at
        most this time. By default there is no target [s]
    """

    population: Expr
    think_time: Expr = field(default_factory=lambda: zero(TIME))
    target_time: Expr = field(default_factory=lambda: zero(TIME))


@dataclass(frozen=True, slots=True)
class OpenClass:
    """An open class: customers arrive, pass through the network once and leave.

    Arrivals are a Poisson stream by default. Bursts make it a two-state Markov-modulated Poisson
    process. A trace repeats recorded times, and a profile repeats the rates of the parts of a
    period.

    Parameters
    ----------
    arrivals : arrival rate; with bursts, the rate between bursts [1/s]
    burst_arrivals : arrival rate during a burst [1/s]
    burst_time : mean duration of a burst, exponential [s]
    quiet_time : mean time between two bursts, exponential [s]
    batch : number of customers that arrive together
    trace : recorded times between arrivals; they are scaled to the arrival rate
    profile : durations [s] and rates of the parts of a period, such as a day; the rates are scaled
        so that their mean equals the arrival rate [1/s]
    backlog : customers that wait at time 0, for values before the steady state [1]
    target_time : a response time; ``within_target`` is then the share of the responses that take at
        most this time. By default there is no target [s]
    """

    arrivals: Expr
    burst_arrivals: Expr = field(default_factory=lambda: zero(RATE))
    burst_time: Expr = field(default_factory=lambda: zero(TIME))
    quiet_time: Expr = field(default_factory=lambda: zero(TIME))
    batch: int = 1
    trace: tuple[float, ...] = ()
    profile: Profile = ()
    target_time: Expr = field(default_factory=lambda: zero(TIME))
    backlog: int = 0

    def __post_init__(self) -> None:
        if self.profile:
            check_profile(self.profile, bool(self.trace) or self.bursty)
        if self.trace and (self.bursty or self.batch > 1):
            raise ModelError("a trace says when customers arrive; leave bursts and batches out")
        if self.trace and not (min(self.trace) >= 0 and 0 < sum(self.trace) < math.inf):
            raise ModelError(
                "the times between the arrivals of a trace must be finite, not negative, and not"
                " all 0"
            )
        has_quiet_time = self.quiet_time != zero(TIME)
        if has_quiet_time != self.bursty or (self.burst_arrivals != zero(RATE) and not self.bursty):
            raise ModelError("arrivals in bursts need a burst_time and a quiet_time")

    @property
    def bursty(self) -> bool:
        """Whether customers arrive in bursts."""
        return self.burst_time != zero(TIME)


CustomerClass = ClosedClass | OpenClass


@dataclass(frozen=True, slots=True)
class NetworkStation:
    """A station of a network. The keys of each mapping are the names of classes.

    Parameters
    ----------
    discipline : order of service: ``fcfs``, ``ps``, ``is``, ``lcfs``, ``lcfs-pr``, ``random``,
        ``priority`` or ``priority-preemptive``
    servers : number of servers
    demand : total service time of all visits in a cycle [s]
    service : mean service time of a visit, in place of a demand [s]
    visits : mean number of visits in a cycle; 1 by default. A number V above 1 varies: after each
        visit, the probability of one more is 1 - 1/V. With routing, leave it out
    rates : speed with 1, 2, 3 ... customers present; the last number also applies to more customers
    scv : squared coefficient of variation of the service time; 1 (exponential) by default
    capacity : largest number of customers present, including those in service
    blocking : what happens to a customer on the way to a full station: ``loss``, ``repeat``,
        ``before-service`` or ``after-service``; an arrival from outside is always lost
    priority : rank of each class; smaller ranks are served first
    patience : mean time after which a waiting customer abandons the queue, exponential [s]
    timeout : constant time after which a waiting customer abandons the queue [s]
    distribution : distribution of the service time, which sets the scv
    weight : relative speed at shared servers, up to the speed of one server; 1 by default
    retries : number of further tries of a customer that abandons the queue or finds the station
        full; 0 by default
    back_off : mean pause before a further try, exponential; no pause by default [s]
    balking : probabilities that a customer who would have to wait leaves at once, if 0, 1, 2 ...
        others wait. They must not fall; the last one also applies to longer queues
    """

    discipline: str = "fcfs"
    servers: int = 1
    demand: Mapping[str, Expr] = field(default_factory=dict)
    service: Mapping[str, Expr] = field(default_factory=dict)
    visits: Mapping[str, Expr] = field(default_factory=dict)
    scv: Mapping[str, Expr] = field(default_factory=dict)
    rates: tuple[Expr, ...] = ()
    capacity: int | None = None
    priority: Mapping[str, int] = field(default_factory=dict)
    blocking: str = "loss"
    patience: Mapping[str, Expr] = field(default_factory=dict)
    timeout: Mapping[str, Expr] = field(default_factory=dict)
    distribution: Mapping[str, TimeDistribution] = field(default_factory=dict)
    weight: Mapping[str, Expr] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    back_off: Mapping[str, Expr] = field(default_factory=dict)
    balking: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Solvers that know only two moments read the scv: it must be that of the distribution.
        scv_by_class = {
            class_name: Number(distribution.scv, COUNT)
            for class_name, distribution in self.distribution.items()
        }
        if scv_by_class:
            object.__setattr__(self, "scv", {**self.scv, **scv_by_class})
        if self.discipline not in DISCIPLINES:
            hint = did_you_mean(self.discipline, DISCIPLINES)
            raise ModelError(f"a queue cannot have the discipline {self.discipline!r}{hint}")
        if self.blocking not in BLOCKING:
            hint = did_you_mean(self.blocking, BLOCKING)
            raise ModelError(f"a full queue cannot have the blocking {self.blocking!r}{hint}")

    def visitors(self) -> tuple[str, ...]:
        """List the classes that have service here, in the order written."""
        return tuple(dict.fromkeys((*self.demand, *self.service)))

    def loses(self, class_name: str) -> bool:
        """Return whether visits of a class may fail: at the full station, or in or before its
        queue.
        """
        impatient_classes = {*self.patience, *self.timeout, *self.balking}
        return self.capacity is not None or class_name in impatient_classes


@dataclass(frozen=True, slots=True)
class Region:
    """Stations with a common limit on the number of customers, waiting or in service.

    A customer takes a place when it comes to a station of the region from outside, and gives it
    back when it leaves for a station that is outside, or when its cycle ends.

    Parameters
    ----------
    stations : their names
    capacity : largest number of customers at these stations together
    blocking : ``wait``: a customer waits outside a full region; ``loss``: the customer is lost
    """

    stations: tuple[str, ...]
    capacity: int
    blocking: str = WAIT

    def __post_init__(self) -> None:
        if self.blocking not in REGION_BLOCKING:
            hint = did_you_mean(self.blocking, REGION_BLOCKING)
            raise ModelError(f"a full region cannot have the blocking {self.blocking!r}{hint}")

    @property
    def loses_customers(self) -> bool:
        """Whether a customer that arrives at the full region is lost."""
        return self.blocking == LOSS


@dataclass(frozen=True, slots=True)
class GuardedStations:
    """Stations whose arrivals a circuit breaker may refuse.

    A customer that comes to one of the stations asks the breaker first, and is lost if the breaker
    refuses it. A visit fails if the customer finds the station full, or abandons its queue.

    Parameters
    ----------
    stations : their names
    breaker : when it opens and closes
    """

    stations: tuple[str, ...]
    breaker: Breaker


@dataclass(frozen=True, slots=True)
class Chain:
    """Classes between which customers change, and the number of customers in all of them together.

    Parameters
    ----------
    classes : their names
    members : population and think time, or arrivals
    reference : where a cycle begins, or where a stream comes in; a cycle of a closed chain ends
        where a customer comes to that station as a member of that class
    """

    classes: tuple[str, ...]
    members: CustomerClass
    reference: Place


@dataclass(frozen=True, slots=True)
class Route:
    """A route of customers of a class from a station to the next class and station.

    Parameters
    ----------
    source : class and station that the customer leaves
    target : class and station that come next; None if the customer leaves the network
    probability : fraction of the departures that take this route; 1 if `by` chooses the route
    by : rule that chooses among all routes out of a place: ``shortest``, ``shorter-of-two``,
        ``least-work`` or ``in-turn``; empty if the choice is random
    """

    source: Place
    target: Place | None
    probability: Expr
    by: str = ""

    def __post_init__(self) -> None:
        if self.by and self.by not in ROUTES:
            raise ModelError(
                f"a route cannot be selected by {self.by!r}{did_you_mean(self.by, tuple(ROUTES))}"
            )


_CLASS_KIND = instance_of((ClosedClass, OpenClass), "a class, such as closed_class(4)")
_PLACE_KIND = row_of(
    TEXT, TEXT, expected="a pair of a class and a station, such as ('jobs', 'cpu')"
)
_NETWORK_KINDS = {
    "classes": mapped_by_name(_CLASS_KIND),
    "stations": mapped_by_name(
        instance_of(NetworkStation, "a station, such as station(demand={'jobs': 0.1})")
    ),
    "routing": list_of(instance_of(Route, "a route, as route(...) makes it")),
    "name": TEXT,
}
_CHAINS = mapped_by_name(instance_of(Chain, "a chain, as chain(...) makes it"))
_REGIONS = mapped_by_name(instance_of(Region, "a region, as region(...) makes it"))
_GUARDS = mapped_by_name(instance_of(GuardedStations, "guarded stations, as guard(...) makes them"))


@checked(
    chains=_CHAINS,
    left_out=mapped_by_name(TEXT),
    amounts=AMOUNTS,
    regions=_REGIONS,
    breakers=_GUARDS,
    **_NETWORK_KINDS,
)
@dataclass(frozen=True)
class QueueingNetwork:
    """A queueing network that methods can solve.

    Parameters
    ----------
    name : name of the network in answers
    classes : the customers of each class that is in no chain
    stations : the stations by name
    chains : groups of classes between which customers change, by name
    routing : the routes of the classes in chains
    left_out : features that were lost at an import, by name, each with its effect; answers with
        such losses are not exact
    amounts : plain numbers that follow from the values of an answer, such as a cost, by name. Each
        is a dimensionless expression of parameters and of `slipstick.model.amounts.answer_value`
    regions : groups of stations with a common limit on the number of customers, by name
    absences : the classes whose members are no customers, but servers that are away, by name
    breakers : circuit breakers with the stations that they guard, by name

    Raises
    ------
    FaultyError : the network has faults; the error lists all that `slipstick.model.network.faults`
        finds
    """

    name: str
    classes: Mapping[str, CustomerClass]
    stations: Mapping[str, NetworkStation]
    chains: Mapping[str, Chain] = field(default_factory=dict)
    routing: tuple[Route, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    amounts: Mapping[str, Expr] = field(default_factory=dict)
    regions: Mapping[str, Region] = field(default_factory=dict)
    absences: Mapping[str, Absence] = field(default_factory=dict)
    breakers: Mapping[str, GuardedStations] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_model_name(self.name)
        if network_faults := faults(self):
            raise ModelFaultsError(network_faults)

    @property
    def members_by_chain(self) -> dict[str, CustomerClass]:
        """The customers of each chain. A class whose customers never change class counts as a
        chain. Servers that are away come after all customers.
        """
        members_of_chains = {name: chain.members for name, chain in self.chains.items()}
        members = {**self.classes, **members_of_chains}
        return {name: members[name] for name in sorted(members, key=self.absences.__contains__)}

    @property
    def customer_chains(self) -> tuple[str, ...]:
        """Names of the chains whose members are customers, not servers that are away."""
        return tuple(name for name in self.members_by_chain if name not in self.absences)

    @property
    def closed_chains(self) -> tuple[str, ...]:
        """Names of the chains whose customers stay in the network."""
        return tuple(
            name
            for name in self.customer_chains
            if isinstance(self.members_by_chain[name], ClosedClass)
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of all classes in the order of the file. Classes whose customers never
        change class come before the classes of chains.
        """
        return tuple(
            dict.fromkeys(
                (
                    *self.classes,
                    *(class_name for chain in self.chains.values() for class_name in chain.classes),
                )
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all classes and chains."""
        return (*self.class_names, *self.chains)

    @property
    def constructs(self) -> frozenset[str]:
        """The constructs of the network; a method that does not support one of them refuses the
        network.
        """
        has_weights = any(station.weight for station in self.stations.values())
        is_used_by_construct = {
            REGIONS: bool(self.regions),
            BREAKERS: bool(self.breakers),
            WEIGHTS: has_weights,
            RETRIES: any(station.retries for station in self.stations.values()),
            ROUTES_BY_STATE: any(route.by for route in self.routing),
        }
        return frozenset(
            construct for construct in is_used_by_construct if is_used_by_construct[construct]
        )

    @property
    def blocks(self) -> bool:
        """Whether some station blocks customers when it is full, instead of losing them."""
        return any(station.blocking != "loss" for station in self.stations.values())

    def region_of(self, station_name: str) -> str:
        """Return the region that contains a station; empty if no region does."""
        return next(
            (name for name, region in self.regions.items() if station_name in region.stations), ""
        )

    def breaker_of(self, station_name: str) -> str:
        """Return the circuit breaker that guards a station; empty if none does."""
        return next(
            (
                name
                for name, guarded_stations in self.breakers.items()
                if station_name in guarded_stations.stations
            ),
            "",
        )

    @cached_property
    def quantities(self) -> dict[str, Expr]:
        """Every numeric quantity of the network, by its path."""
        expressions: dict[str, Expr] = {}

        def collect(path: str, expr: Expr) -> Expr:
            """Record a number with its path, and return it unchanged."""
            expressions[path] = expr
            return expr

        for name in ("classes", "chains", "stations", "routing", "breakers"):
            # The same walk that names the parameters, so that paths agree.
            _with_changed_numbers(getattr(self, name), name, collect)
        return expressions

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters of the network and of its amounts, by path."""
        return input_parameters([*self.quantities.values(), *self.amounts.values()])


_DIMENSION_BY_KEY = {
    "demand": TIME,
    "service": TIME,
    "visits": COUNT,
    "scv": COUNT,
    "patience": TIME,
    "timeout": TIME,
    "weight": COUNT,
    "back_off": TIME,
}
"""The dimensions of the numbers of a station that differ by class, by their keys."""


@checked(
    chains=optional_kind(_CHAINS),
    amounts=optional_kind(AMOUNTS),
    regions=optional_kind(_REGIONS),
    breakers=optional_kind(_GUARDS),
    **_NETWORK_KINDS,
)
def network(
    classes: Mapping[str, CustomerClass],
    stations: Mapping[str, NetworkStation],
    *,
    chains: Mapping[str, Chain] | None = None,
    routing: Sequence[Route] = (),
    name: str = "network",
    amounts: Mapping[str, Expr] | None = None,
    regions: Mapping[str, Region] | None = None,
    breakers: Mapping[str, GuardedStations] | None = None,
) -> QueueingNetwork:
    """Build a queueing network. Every number becomes a parameter whose name is its path in the
    network.

    Parameters
    ----------
    classes : classes by name, from `closed_class` and `open_class`; empty if all classes are in
        chains
    stations : stations by name, from `station`
    chains : chains by name, from `chain`, for classes between which customers change
    routing : routes of the classes in chains, from `route`
    name : name of the network in answers
    amounts : see `QueueingNetwork`
    regions : regions by name, from `region`
    breakers : guarded stations by the name of their circuit breaker, from `guard`

    Raises
    ------
    FaultyError : the parts do not fit together; the message lists every fault

    >>> central = network(
    ...     {"jobs": closed_class(20, think_time=5.0)},
    ...     {
    ...         "cpu": station(demand={"jobs": 0.005}, discipline="ps"),
    ...         "disk": station(demand={"jobs": 0.03}, servers=2),
    ...     },
    ... )
    >>> central.stations["cpu"].demand["jobs"]
    stations.cpu.demand.jobs
    """
    argument_by_key = {
        "classes": classes,
        "stations": stations,
        "chains": chains or {},
        "routing": tuple(routing),
        "breakers": breakers or {},
    }
    return QueueingNetwork(
        name,
        **{
            key: _with_changed_numbers(argument, key, _as_parameter)
            for key, argument in argument_by_key.items()
        },
        amounts=amounts or {},
        regions=regions or {},
    )


@checked(population=LIKE, think_time=LIKE, target_time=LIKE)
def closed_class(population: Like, think_time: Like = 0.0, target_time: Like = 0.0) -> ClosedClass:
    """Make a closed class: a fixed number of customers that cycle through the network.

    Parameters
    ----------
    population : number of customers, an integer of at least 0
    think_time, target_time : see `ClosedClass`
    """
    customer_count = _as_number(population, COUNT, "a population")
    if (
        isinstance(customer_count, Number | Parameter)
        and customer_count.value is not None
        and customer_count.value != math.floor(customer_count.value)
    ):
        raise ModelError(f"a population must be a whole number, got {customer_count.value:g}")
    think_and_target_time = (
        _as_number(think_time, TIME, "a think time"),
        _as_number(target_time, TIME, "a target"),
    )
    return ClosedClass(customer_count, *think_and_target_time)


PROFILE = list_of(
    row_of(real_number(0), real_number(0), expected="a pair of a duration in s and a rate in 1/s")
)


@checked(
    rate=LIKE,
    burst_arrivals=LIKE,
    burst_time=LIKE,
    quiet_time=LIKE,
    batch=whole_number(1, 2**53),
    backlog=whole_number(0, 2**53),
    trace=list_of(real_number(0)),
    profile=PROFILE,
    target_time=LIKE,
)
def open_class(
    rate: Like,
    *,
    burst_arrivals: Like = 0.0,
    burst_time: Like = 0.0,
    quiet_time: Like = 0.0,
    batch: int = 1,
    trace: Sequence[float] = (),
    profile: Sequence[tuple[float, float]] = (),
    target_time: Like = 0.0,
    backlog: int = 0,
) -> OpenClass:
    """Make a class of customers that arrive at a rate [1/s], pass through once and leave. The
    arrivals are a Poisson stream, or have bursts, a trace, or a profile over the day.

    Parameters
    ----------
    rate, burst_arrivals, burst_time, quiet_time, batch, trace, profile, target_time, backlog : see
        `OpenClass`

    >>> open_class(20.0, burst_arrivals=150.0, burst_time=1.0, quiet_time=9.0).bursty
    True
    """
    return OpenClass(
        _as_number(rate, RATE, "a rate of arrivals"),
        _as_number(burst_arrivals, RATE, "a rate of arrivals in bursts"),
        _as_number(burst_time, TIME, "the time of a burst"),
        _as_number(quiet_time, TIME, "the time between bursts"),
        batch,
        tuple(map(float, trace)),
        tuple((float(duration), float(piece_rate)) for duration, piece_rate in profile),
        _as_number(target_time, TIME, "a target"),
        backlog,
    )


_NUMBERS_BY_NAME = optional_kind(mapped_by_name(LIKE))


@checked(
    **dict.fromkeys(_DIMENSION_BY_KEY, _NUMBERS_BY_NAME),
    discipline=TEXT,
    servers=whole_number(1, 2**53),  # up to which every whole number is a double
    rates=list_of(LIKE),
    capacity=optional_kind(whole_number(1)),
    priority=optional_kind(mapped_by_name(whole_number())),
    blocking=TEXT,
    retries=optional_kind(mapped_by_name(whole_number(1, MOST_RETRIES))),
    balking=optional_kind(mapped_by_name(list_of(LIKE))),
)
def station(
    *,
    demand: Mapping[str, Like] | None = None,
    service: Mapping[str, Like] | None = None,
    visits: Mapping[str, Like] | None = None,
    discipline: str = "fcfs",
    servers: int = 1,
    rates: Sequence[Like] = (),
    scv: Mapping[str, Like] | None = None,
    capacity: int | None = None,
    priority: Mapping[str, int] | None = None,
    blocking: str = "loss",
    patience: Mapping[str, Like] | None = None,
    timeout: Mapping[str, Like] | None = None,
    distribution: Mapping[str, TimeDistribution] | None = None,
    weight: Mapping[str, Like] | None = None,
    retries: Mapping[str, int] | None = None,
    back_off: Mapping[str, Like] | None = None,
    balking: Mapping[str, Sequence[Like]] | None = None,
) -> NetworkStation:
    """Make a station with its demand, or with its service time and visits. Dicts are by class.

    Parameters
    ----------
    demand, service, visits, discipline, servers, rates, scv, capacity : see `NetworkStation`
    priority, blocking, patience, timeout, distribution, weight, retries, back_off, balking : see
        `NetworkStation`

    >>> station(service={"jobs": 0.01}, visits={"jobs": 3}).visitors()
    ('jobs',)
    """
    argument_by_key = {
        "demand": demand,
        "service": service,
        "visits": visits,
        "scv": scv,
        "patience": patience,
        "timeout": timeout,
        "weight": weight,
        "back_off": back_off,
    }
    amounts_by_key = {
        key: {
            class_name: _as_number(amount, dimension, f"the {key} of {class_name}")
            for class_name, amount in (argument_by_key[key] or {}).items()
        }
        for key, dimension in _DIMENSION_BY_KEY.items()
    }
    return NetworkStation(
        discipline,
        servers,
        **amounts_by_key,
        rates=tuple(_as_number(rate, COUNT, "a rate of a station") for rate in rates),
        capacity=capacity,
        priority=dict(priority or {}),
        blocking=blocking,
        distribution=dict(distribution or {}),
        retries=dict(retries or {}),
        balking={
            class_name: tuple(
                _as_number(probability, COUNT, "a probability of balking")
                for probability in balking_probabilities
            )
            for class_name, balking_probabilities in (balking or {}).items()
        },
    )


@checked(classes=list_of(TEXT), members=_CLASS_KIND, reference=_PLACE_KIND)
def chain(classes: Sequence[str], members: CustomerClass, reference: Place) -> Chain:
    """Make a chain: a group of classes between which customers change. A cycle of a customer begins
    and ends in the reference class at the reference station.

    Parameters
    ----------
    classes : names of the classes
    members : the customers: their number and think time, or their arrivals
    reference : class and station where a cycle begins
    """
    return Chain(tuple(classes), members, reference)


@checked(stations=list_of(TEXT), capacity=whole_number(1), blocking=TEXT)
def region(stations: Sequence[str], capacity: int, blocking: str = WAIT) -> Region:
    """Make a region: a limit on the total number of customers at several stations; see `Region`.

    Parameters
    ----------
    stations : names of the stations
    capacity : largest number of customers at these stations together
    blocking : ``wait``: a customer waits outside a full region; ``loss``: the customer is lost

    >>> region(["cpu", "disk"], 10)
    Region(stations=('cpu', 'disk'), capacity=10, blocking='wait')
    """
    return Region(tuple(stations), capacity, blocking)


@checked(
    stations=list_of(TEXT), breaker=instance_of(Breaker, "a breaker, such as Breaker(5, 30.0)")
)
def guard(stations: Sequence[str], breaker: Breaker) -> GuardedStations:
    """Put a circuit breaker before stations; see `GuardedStations`.

    Parameters
    ----------
    stations : names of the stations
    breaker : the circuit breaker that admits or refuses each visit

    >>> guard(["database"], Breaker(5, 30.0, of=20)).stations
    ('database',)
    """
    open_time = _as_number(breaker.open, TIME, "the open time of a circuit breaker")
    return GuardedStations(tuple(stations), replace(breaker, open=open_time))


@checked(source=_PLACE_KIND, target=optional_kind(_PLACE_KIND), probability=LIKE, by=TEXT)
def route(source: Place, target: Place | None, probability: Like = 1.0, *, by: str = "") -> Route:
    """Make a route: where the customers of a class go after a station.

    Parameters
    ----------
    source, target, probability, by : see `Route`

    >>> route(("jobs", "entry"), ("jobs", "left"), by="shortest").by
    'shortest'
    """
    return Route(source, target, _as_number(probability, COUNT, "a probability of routing"), by)


def _as_number(value: Like, dimension: Dimension, amount_in_words: str) -> Expr:
    """Return a number as an expression; raise if it has the wrong dimension, or is negative. A
    plain number is in base units.
    """
    if isinstance(value, Expr):
        if value.dimension != dimension:
            raise ModelError(
                f"{amount_in_words} is a [{dimension}], but {value} is a [{value.dimension}]"
            )
        return value
    if not value >= 0:
        raise ModelError(f"{amount_in_words} cannot be negative, got {value:g}")
    return Number(float(value), dimension)


def _with_changed_numbers(network_part: Any, path: str, change: Callable[[str, Expr], Expr]) -> Any:
    """Return a copy of a part of a network in which each number is changed by a function of its
    path and the number.
    """
    if isinstance(network_part, Expr):
        return change(path, network_part)
    # Most fields are of these types, and the tests below take longer.
    if isinstance(network_part, str | int | None):
        return network_part
    if isinstance(network_part, Mapping):
        return {
            key: _with_changed_numbers(inner_part, f"{path}.{key}", change)
            for key, inner_part in network_part.items()
        }
    if isinstance(network_part, tuple):
        return tuple(
            _with_changed_numbers(inner_part, f"{path}.{index}", change)
            for index, inner_part in enumerate(network_part)
        )
    if not is_dataclass(network_part) or isinstance(network_part, type):
        return network_part
    # What is said of the members of a chain stands under the chain itself.
    absent_keys: tuple[str, ...] = ()
    if isinstance(network_part, OpenClass) and not network_part.bursty:
        absent_keys = ("burst_arrivals",)
    elif isinstance(network_part, Route) and network_part.by:
        absent_keys = ("probability",)
    keys = (field.name for field in fields(network_part) if field.name not in absent_keys)
    path_by_key = {key: path if key in ("members", "breaker") else f"{path}.{key}" for key in keys}
    return replace(
        network_part,
        **{
            key: _with_changed_numbers(getattr(network_part, key), key_path, change)
            for key, key_path in path_by_key.items()
        },
    )


def _as_parameter(path: str, expr: Expr) -> Expr:
    """Return a plain number as a parameter whose name is its path. A time of 0, which stands for an
    absent one, and other expressions are returned unchanged.
    """
    # A class without think time or bursts has none to vary.
    is_absent = path.endswith("_time") and expr == zero(expr.dimension)
    return (
        Parameter(path, expr.dimension, expr.value)
        if isinstance(expr, Number) and not is_absent
        else expr
    )


BY_CLASS = (
    *("demand", "service", "visits", "scv", "priority", "patience", "timeout"),
    *("distribution", "weight", "retries", "back_off", "balking"),
)
"""The keys of a station whose values differ by class."""

Path = tuple[str | int, ...]
NextPlaces = Mapping[Place | None, Sequence[Place]]


def faults(network: QueueingNetwork) -> list[Fault]:
    """List all faults of a network, in the order of its parts.

    Parameters
    ----------
    network : the network to inspect, which may be inconsistent
    """
    return list(_Inspection(network).all_faults())


def unknown_class_message(class_name: str, known_classes: Sequence[str]) -> str:
    """Return the message that a class does not exist."""
    return f"there is no class {class_name!r}{did_you_mean(class_name, known_classes)}"


def unknown_station_message(name: str, known_stations: Sequence[str]) -> str:
    """Return the message that a station does not exist."""
    return f"there is no station {name!r}{did_you_mean(name, known_stations)}"


class _Inspection:
    """Checks the parts of a network one by one, and lists their faults."""

    def __init__(self, network: QueueingNetwork) -> None:
        self._network = network
        self._class_names = network.class_names
        self._chain_by_class = {
            class_name: chain_name
            for chain_name, chain in network.chains.items()
            for class_name in chain.classes
        }

    def all_faults(self) -> Iterator[Fault]:
        """Yield the faults of all parts of the network."""
        if not self._class_names:
            yield Fault(("classes",), "a network needs at least one class of customers")
        yield from self._class_faults()
        for name in self._network.stations:
            yield from self._station_faults(name)
        # A mistake in a chain would be reported again at each of its routes.
        chain_faults = list(self._chain_faults())
        yield from chain_faults
        yield from self._routing_faults(not chain_faults)
        yield from self._region_faults()
        for name, guarded_stations in self._network.breakers.items():
            yield from self._breaker_faults(name, guarded_stations)

    def _class_faults(self) -> Iterator[Fault]:
        """Yield a fault for each class without think time that visits no station, unless a station
        may name a class wrongly.
        """
        stations = self._network.stations.values()
        if any(
            class_name not in self._class_names
            for station in stations
            for class_name in station.visitors()
        ):
            # A class that visits no station may be the one that a station names wrongly.
            return
        for name, members in self._network.classes.items():
            has_think_time = isinstance(members, ClosedClass) and members.think_time != zero(TIME)
            if not has_think_time and not any(name in station.visitors() for station in stations):
                yield Fault(
                    ("classes", name),
                    f"{name} visits no station; give it a demand at one",
                    is_at_key=True,
                )

    def _station_faults(self, station_name: str) -> Iterator[Fault]:
        """Yield the faults of a station: of its classes, service times and discipline."""
        station = self._network.stations[station_name]
        path = ("stations", station_name)
        for key in BY_CLASS:
            for class_name in getattr(station, key):
                if class_name not in self._class_names:
                    yield Fault(
                        (*path, key, class_name),
                        unknown_class_message(class_name, self._class_names),
                        is_at_key=True,
                    )
        yield from self._work_faults(station_name, station)
        yield from self._discipline_faults(station_name, station)
        if not station.visitors():
            yield Fault(
                path,
                f"no class visits {station_name}; give it a demand, or leave it out",
                is_at_key=True,
            )

    def _work_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield a fault for each class that has neither a demand nor a service time at a station,
        or both, or visits or an scv that do not go with it.
        """
        path = ("stations", station_name)
        for class_name in station.service:
            if class_name in station.demand:
                yield Fault(
                    (*path, "service", class_name),
                    f"{class_name} has both a demand and a service time at {station_name}; give"
                    " one",
                )
        # A class without a service time may be the one that the station names wrongly.
        may_be_mistyped = any(class_name not in self._class_names for class_name in station.service)
        for class_name in station.visits:
            if (
                class_name not in station.service
                and class_name in self._class_names
                and not may_be_mistyped
            ):
                way_out = (
                    "a demand includes all visits already"
                    if class_name in station.demand
                    else "give it one"
                )
                yield Fault(
                    (*path, "visits", class_name),
                    f"visits of {class_name} to {station_name} have no service time; {way_out}",
                )
        for class_name in station.scv:
            if class_name not in station.visitors() and class_name in self._class_names:
                yield Fault(
                    (*path, "scv", class_name),
                    f"{class_name} has no service at {station_name}; leave its scv out",
                )
        for key in ("demand", "visits"):
            for class_name in getattr(station, key):
                if class_name in self._chain_by_class:
                    yield Fault(
                        (*path, key, class_name),
                        f"the visits of {class_name} follow from routing; give service times only",
                    )

    def _discipline_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield a fault for each setting of a station, such as ranks, that does not go with its
        discipline or its other settings.
        """
        path = ("stations", station_name)
        discipline = station.discipline
        is_written_by_key = {
            "servers": station.servers != 1,
            "capacity": station.capacity is not None,
            "rates": bool(station.rates),
        }
        for key, message in contradicted_keys(discipline, is_written_by_key):
            yield Fault((*path, key), message, is_at_key=True)
        yield from self._abandonment_faults(station_name, station)
        yield from self._retry_faults(station_name, station)
        yield from self._balking_faults(station_name, station)
        if station.blocking != "loss" and station.capacity is None:
            message = f"{station_name} is never full; give it a capacity, or leave blocking out"
            yield Fault((*path, "blocking"), message, is_at_key=True)
        if DISCIPLINES[discipline].ranked:
            for class_name in station.visitors():
                if class_name not in station.priority and class_name in self._class_names:
                    yield Fault(
                        path,
                        f"{class_name} needs a rank in priority at {station_name}: 0 goes"
                        " first, then 1",
                    )
        elif station.priority:
            message = f"ranks hold where the discipline is priority; {station_name} is {discipline}"
            yield Fault((*path, "priority"), message, is_at_key=True)
        if station.weight:
            yield from self._weight_faults(station_name, station)

    def _retry_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield a fault for each class whose retries at a station make no sense, such as a class of
        which no visit fails there, or stand beside what no method has with them.
        """
        for class_name in {**station.retries, **station.back_off}:
            key = "retries" if class_name in station.retries else "back_off"
            path = ("stations", station_name, key, class_name)
            if key == "back_off":
                message = f"{class_name} has no retries at {station_name}; give it some"
            elif station.blocking != LOSS:
                message = "no method has retries at a station that blocks; leave one of them out"
            elif class_name in station.balking:
                message = (
                    f"no method has retries of {class_name} beside balking; write an activity,"
                    " whose step attempt has both"
                )
            elif not station.loses(class_name):
                message = (
                    f"no visit of {class_name} to {station_name} fails; give it a timeout, patience"
                    " or a capacity"
                )
            else:
                continue
            yield Fault(path, message, is_at_key=True)

    def _balking_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield a fault if there is no queue at which customers may balk, or if their probabilities
        of balking fall with its length.
        """
        discipline = DISCIPLINES[station.discipline]
        for class_name, balking_probabilities in station.balking.items():
            known_probabilities = [
                probability
                for probability in map(_known_value, balking_probabilities)
                if probability is not None
            ]
            if discipline.at_once or discipline.preemptive:
                message = f"a station that is {station.discipline} has no queue at which to balk"
            elif station.blocking != LOSS:
                message = "no method has balking at a station that blocks; leave one of them out"
            elif class_name in self._class_names and class_name not in station.visitors():
                message = f"{class_name} has no service at {station_name}; leave its balking out"
            elif (
                not balking_probabilities
                or known_probabilities != sorted(known_probabilities)
                or known_probabilities[-1:] > [1]
            ):
                message = (
                    "probabilities of balking do not fall with the queue, and are at most 1, got"
                    f" {', '.join(f'{share:g}' for share in known_probabilities) or 'none'}"
                )
            else:
                continue
            yield Fault(("stations", station_name, "balking", class_name), message, is_at_key=True)

    def _weight_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield a fault if a station with weights does not share its servers, and for each weight
        that is 0 or of a class without service.
        """
        path = ("stations", station_name, "weight")
        if not DISCIPLINES[station.discipline].shared:
            message = (
                f"weights hold where the discipline is ps; {station_name} is {station.discipline}"
            )
            yield Fault(path, message, is_at_key=True)
        for class_name, weight in station.weight.items():
            if class_name in self._class_names and class_name not in station.visitors():
                message = f"{class_name} has no service at {station_name}; leave its weight out"
                yield Fault((*path, class_name), message, is_at_key=True)
            elif _known_value(weight) == 0:
                yield Fault(
                    (*path, class_name),
                    f"the weight of {class_name} at {station_name} must be above 0",
                )

    def _abandonment_faults(self, station_name: str, station: NetworkStation) -> Iterator[Fault]:
        """Yield the faults of the limits of a wait: of each limit, and of classes with one in a
        chain that has other classes without one.
        """
        for key in ("patience", "timeout"):
            for impatient_class, mean_patience in getattr(station, key).items():
                yield from self._patience_faults(
                    impatient_class, mean_patience, key, station_name, station
                )
        patient_classes = {
            visiting_class
            for visiting_class in station.visitors()
            if visiting_class not in {*station.patience, *station.timeout}
        }
        for impatient_class in (*station.patience, *station.timeout):
            chain = self._network.chains.get(self._chain_by_class.get(impatient_class, ""))
            if (
                patient_classes_of_chain := [
                    class_name for class_name in chain.classes if class_name in patient_classes
                ]
                if chain
                else ()
            ):
                message = (
                    f"{impatient_class} abandons the queue and {patient_classes_of_chain[0]} of its"
                    " chain does not; give all of them a patience"
                )
                yield Fault(("stations", station_name), message, is_at_key=True)

    def _patience_faults(
        self,
        class_name: str,
        mean_patience: Expr,
        key: str,
        station_name: str,
        station: NetworkStation,
    ) -> Iterator[Fault]:
        """Yield the faults of the patience or the timeout (`key`) of one class at a station."""
        patience_path = ("stations", station_name, key, class_name)
        if class_name in self._class_names and class_name not in station.visitors():
            yield Fault(
                patience_path,
                f"{class_name} has no service at {station_name}; leave its {key} out",
                is_at_key=True,
            )
        elif key == "timeout" and class_name in station.patience:
            yield Fault(
                patience_path,
                f"{class_name} has a patience at {station_name}, too; give one of them",
                is_at_key=True,
            )
        elif not DISCIPLINES[station.discipline].queued:
            message = (
                f"a station that is {station.discipline} has no queue that customers abandon before"
                f" their service; leave {key} out"
            )
            yield Fault(patience_path, message, is_at_key=True)
        elif _known_value(mean_patience) == 0:
            yield Fault(
                patience_path,
                f"the {key} of {class_name} at {station_name} must be above 0 s; with capacity"
                " none waits",
            )

    def _chain_faults(self) -> Iterator[Fault]:
        """Yield the faults of each chain: of its names, classes, reference and routes."""
        chain_by_class: dict[str, str] = {}
        for chain_name, chain in self._network.chains.items():
            path = ("chains", chain_name)
            if chain_name in self._class_names and chain.classes != (chain_name,):
                yield Fault(
                    path,
                    f"{chain_name} is the name of a class, too; call the chain something else",
                    is_at_key=True,
                )
            for index, class_name in enumerate(chain.classes):
                if class_name in self._network.classes:
                    message = (
                        f"{class_name} has customers of its own in classes; in a chain, the chain"
                        " has them"
                    )
                    yield Fault((*path, "classes", index), message)
                elif (
                    chain_by_class.setdefault(class_name, chain_name) != chain_name
                    or class_name in chain.classes[:index]
                ):
                    yield Fault(
                        (*path, "classes", index),
                        f"{class_name} is in a chain already: {chain_by_class[class_name]}",
                    )
            yield from self._reference_faults(chain, (*path, "reference"))
            if not self._network.routing:
                yield Fault(
                    path, f"chain {chain_name} has no routes; write routing", is_at_key=True
                )

    def _reference_faults(self, chain: Chain, path: Path) -> Iterator[Fault]:
        """Yield a fault if the reference of a chain is none of its classes, or is at no station."""
        class_name, station_name = chain.reference
        if class_name not in chain.classes:
            hint = did_you_mean(class_name, chain.classes)
            yield Fault(
                (*path, 0), f"the reference is a class of the chain; {class_name!r} is none{hint}"
            )
        if station_name not in self._network.stations:
            yield Fault(
                (*path, 1), unknown_station_message(station_name, list(self._network.stations))
            )

    def _routing_faults(self, all_names_exist: bool) -> Iterator[Fault]:
        """Yield the faults of each route by itself, and of all routes together only if every name
        in them exists.
        """
        earlier_routes: set[tuple[Place, Place | None]] = set()
        for index, route in enumerate(self._network.routing):
            for fault in self._route_faults(route, index):
                all_names_exist = False
                yield fault
            if (route.source, route.target) in earlier_routes:
                target_in_words = "out" if route.target is None else " at ".join(route.target)
                yield Fault(
                    ("routing", index),
                    f"a second route from {' at '.join(route.source)} to {target_in_words}; add"
                    " them up",
                )
            earlier_routes.add((route.source, route.target))
        if all_names_exist and self._network.routing:
            yield from self._state_route_faults()
            yield from self._probability_faults()
            yield from self._reachability_faults()

    def _region_faults(self) -> Iterator[Fault]:
        """Yield a fault for each station of a region that does not exist, or is in another region
        too, and for each cycle that ends inside a region.
        """
        region_by_station: dict[str, str] = {}
        for region_name, region in self._network.regions.items():
            path = ("regions", region_name)
            if region_name in self._network.stations:
                message = (
                    f"{region_name} is the name of a station, too; call the region something else"
                )
                yield Fault(path, message, is_at_key=True)
            if not region.stations:
                yield Fault((*path, "stations"), f"region {region_name} has no stations; list some")
            for index, station_name in enumerate(region.stations):
                if station_name not in self._network.stations:
                    known_stations = list(self._network.stations)
                    message = unknown_station_message(station_name, known_stations)
                    yield Fault((*path, "stations", index), message)
                elif station_name in region_by_station:
                    message = (
                        f"{station_name} is in a region already: {region_by_station[station_name]}"
                    )
                    yield Fault((*path, "stations", index), message)
                region_by_station.setdefault(station_name, region_name)
        for index, route in enumerate(self._network.routing):
            source_class, source_station = route.source
            chain = self._network.chains.get(self._chain_by_class.get(source_class, ""))
            if chain is None or not isinstance(chain.members, ClosedClass):
                continue
            source_region = region_by_station.get(source_station, "")
            ends_cycle = route.target == chain.reference
            if (
                ends_cycle
                and source_region
                and source_region == region_by_station.get(chain.reference[1])
            ):
                message = (
                    f"a cycle of {self._chain_by_class[source_class]} would end inside the"
                    f" region {source_region}; choose a reference outside of it"
                )
                yield Fault(("routing", index, "to"), message)

    def _breaker_faults(
        self, breaker_name: str, guarded_stations: GuardedStations
    ) -> Iterator[Fault]:
        """Yield a fault for each station of a circuit breaker that does not exist, that another
        breaker guards, or at which no visit fails or visits block.
        """
        network = self._network
        path = ("breakers", breaker_name, "stations")
        for index, name in enumerate(guarded_stations.stations):
            station = network.stations.get(name)
            if station is None:
                message = unknown_station_message(name, list(network.stations))
            elif network.breaker_of(name) != breaker_name:
                message = f"{name} has a breaker already: {network.breaker_of(name)}"
            elif not any(map(station.loses, station.visitors())):
                message = f"no visit to {name} fails; give it a timeout, patience or a capacity"
            elif station.blocking != LOSS:
                message = (
                    f"no method has breakers before {name}, which blocks; leave one of them out"
                )
            else:
                continue
            yield Fault((*path, index), message)
        if not guarded_stations.stations:
            yield Fault(path, f"breaker {breaker_name} guards no station; list some")

    def _route_faults(self, route: Route, index: int) -> Iterator[Fault]:
        """Yield the faults of one route: of its source, target and probability."""
        route_path = ("routing", index)
        source_class, _ = route.source
        for key, class_and_station in (("from", route.source), ("to", route.target)):
            if class_and_station is None:
                chain = self._network.chains.get(self._chain_by_class.get(source_class, ""))
                if chain is not None and not isinstance(chain.members, OpenClass):
                    yield Fault(
                        (*route_path, key),
                        f"customers of {source_class} never leave; out is for chains of arrivals",
                    )
                continue
            class_name, station_name = class_and_station
            if class_name not in self._chain_by_class:
                known_classes = list(self._chain_by_class)
                message = (
                    "no chain has the class"
                    f" {class_name!r}{did_you_mean(class_name, known_classes)}"
                )
                yield Fault((*route_path, key, 0), message)
            if station_name not in self._network.stations:
                yield Fault(
                    (*route_path, key, 1),
                    unknown_station_message(station_name, list(self._network.stations)),
                )
            elif class_name in self._chain_by_class and self._lacks_service(
                class_name, station_name
            ):
                message = (
                    f"{class_name} has no service time at {station_name}; give it one under"
                    f" stations.{station_name}.service"
                )
                yield Fault((*route_path, key), message)
        chain_names = {
            self._chain_by_class.get(class_and_station[0])
            for class_and_station in (route.source, route.target)
            if class_and_station is not None
        }
        if len(chain_names - {None}) > 1:
            target_class, _ = route.target or route.source
            message = f"{source_class} and {target_class} are in different chains"
            yield Fault((*route_path, "to"), message)
        known_probability = _known_value(route.probability)
        if known_probability is not None and not 0 <= known_probability <= 1:
            message = (
                f"a probability of routing must lie between 0 and 1, got {known_probability:g}"
            )
            yield Fault((*route_path, "probability"), message)

    def _lacks_service(self, visiting_class: str, station_name: str) -> bool:
        """Return whether a class has no service at a station. A misspelt class name at the station
        counts as service, because it may mean this class.
        """
        service_by_class = self._network.stations[station_name].service
        return visiting_class not in service_by_class and all(
            class_name in self._class_names for class_name in service_by_class
        )

    def _probability_faults(self) -> Iterator[Fault]:
        """Yield a fault for each place where the probabilities of the routes out of it are known
        and do not add up to 1.
        """
        routes_by_source: dict[Place, list[tuple[int, float | None]]] = {}
        for index, route in enumerate(self._network.routing):
            if route.by:
                continue
            routes_by_source.setdefault(route.source, []).append(
                (index, _known_value(route.probability))
            )
        for (class_name, station_name), indices_and_values in routes_by_source.items():
            known_values = [value for _, value in indices_and_values if value is not None]
            # Probabilities that are computed are checked at their points, see
            # `slipstick.method.networks.arrays`.
            if len(known_values) == len(indices_and_values) and not math.isclose(
                math.fsum(known_values), 1.0, rel_tol=1e-9
            ):
                message = (
                    f"the probabilities of leaving {station_name} as {class_name} must add up to"
                    " 1, got"
                    f" {math.fsum(known_values):g}"
                )
                yield Fault(("routing", indices_and_values[-1][0], "probability"), message)

    def _state_route_faults(self) -> Iterator[Fault]:
        """Yield a fault for each route that is selected by another rule than the first route out of
        its place, or by a rule that cannot compare targets.
        """
        first_route_by_source: dict[Place, Route] = {}
        for index, route in enumerate(self._network.routing):
            first_route = first_route_by_source.setdefault(route.source, route)
            path = ("routing", index)
            source_class, source_station = route.source
            source_in_words = f"{source_station} as {source_class}"
            if route.by != first_route.by:
                rules_text = " and ".join(
                    rule or "probability" for rule in (first_route.by, route.by)
                )
                message = (
                    f"the routes out of {source_in_words} are selected by {rules_text}; give one"
                )
                yield Fault(path, message)
            elif route.by and _known_value(route.probability) != 1:
                message = f"a route by {route.by} has no probability; leave it out"
                yield Fault((*path, "probability"), message)
            elif route.by and (reason := self._reason_not_comparable(route)):
                message = f"a route by {route.by} out of {source_in_words} {reason}"
                yield Fault((*path, "to"), message)

    def _reason_not_comparable(self, route: Route) -> str:
        """Return why a rule cannot compare the target of a route with others; empty if it can."""
        if route.target is None:
            return "leads to a station, not out"
        _, target_name = route.target
        target = self._network.stations[target_name]
        if DISCIPLINES[target.discipline].delay:
            return f"compares numbers of customers, and at {target_name} none waits"
        if route.by == LEAST_WORK and target.rates:
            return f"needs servers of one speed, and {target_name} has rates"
        if self._network.blocks:
            return "is not covered in a network with stations that block"
        return ""

    def _reachability_faults(self) -> Iterator[Fault]:
        """Check that every place can be reached from the reference, and that every customer returns
        or leaves.
        """
        targets_by_source: dict[Place | None, list[Place]] = {}
        sources_by_target: dict[Place | None, list[Place]] = {}
        for route in self._network.routing:
            sources_by_target.setdefault(route.target, []).append(route.source)
            if route.target is not None:
                targets_by_source.setdefault(route.source, []).append(route.target)
        for chain_name, chain in self._network.chains.items():
            cycle_end = None if isinstance(chain.members, OpenClass) else chain.reference
            reached_places = _reachable_places(chain.reference, targets_by_source)
            yield from self._unreached_faults(
                chain_name,
                cycle_end,
                reached_places,
                _reachable_places(cycle_end, sources_by_target),
            )
            for station_name, station in self._network.stations.items():
                for class_name, service_time in station.service.items():
                    is_unreached = (
                        self._chain_by_class.get(class_name) == chain_name
                        and (class_name, station_name) not in reached_places
                    )
                    # A time of 0 says nothing: matrices of times have it where a class never goes.
                    if is_unreached and _known_value(service_time) != 0:
                        yield Fault(
                            ("stations", station_name, "service", class_name),
                            f"no route takes {class_name} to {station_name}",
                        )

    def _unreached_faults(
        self,
        chain_name: str,
        cycle_end: Place | None,
        reached_places: set[Place],
        returning_places: set[Place],
    ) -> Iterator[Fault]:
        """Check the routes of a chain: their sources must be reachable from its reference, and
        customers must return or leave from their targets.
        """
        for index, (source, target) in enumerate(
            (route.source, route.target) for route in self._network.routing
        ):
            source_class, source_station = source
            if self._chain_by_class[source_class] != chain_name:
                continue
            if source not in reached_places:
                message = (
                    f"no route leads from the reference of {chain_name} to {source_station} as"
                    f" {source_class}"
                )
                yield Fault(("routing", index, "from"), message)
            elif target is not None and target not in returning_places:
                message_end = (
                    "never leaves" if cycle_end is None else "never comes back to the reference"
                )
                target_class, target_station = target
                yield Fault(
                    ("routing", index, "to"),
                    f"a customer at {target_station} as {target_class} {message_end}",
                )


def _reachable_places(start_place: Place | None, next_places: NextPlaces) -> set[Place]:
    """Return the places that can be reached from a place, itself included."""
    reached_places = set() if start_place is None else {start_place}
    places_to_visit: list[Place | None] = [start_place]
    while places_to_visit:
        new_places = [
            place
            for place in next_places.get(places_to_visit.pop(), ())
            if place not in reached_places
        ]
        reached_places.update(new_places)
        places_to_visit.extend(new_places)
    return reached_places


def _known_value(expr: Expr) -> float | None:
    """Return the value of an expression; None unless all its parameters have values."""
    value_by_name = {parameter.name: parameter.value for parameter in parameters(expr)}
    known_value_by_name = {
        name: value for name, value in value_by_name.items() if value is not None
    }
    if len(known_value_by_name) < len(value_by_name):
        return None
    if isinstance(expr, Number | Parameter):
        return float(expr.value or 0.0)
    # Imported here: arithmetic needs NumPy, a bare probability does not.
    from slipstick.expression.tape import Tape

    return float(Tape([expr]).run({})[0][0])
