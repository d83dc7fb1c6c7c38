"""Queueing networks: classes of customers that go round, or through, stations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slipstick.errors import FaultyError, ModelError, did_you_mean
from slipstick.expression.dimension import COUNT, RATE, TIME, Dimension
from slipstick.expression.nodes import Expr, Like, Number, Parameter, zero
from slipstick.model.quantities import check_name

__all__ = [
    "BLOCKING",
    "OUT",
    "QUEUEING",
    "Chain",
    "Customers",
    "Members",
    "Place",
    "Queue",
    "QueueingNetwork",
    "Route",
    "Stream",
    "arrivals",
    "chain",
    "customers",
    "network",
    "queue",
    "route",
]

BLOCKING = ("loss", "repeat", "before-service", "after-service")
"""What becomes of a customer who finds a station full: lost; served once more where it comes from, and sent on anew;
held up before its service there, or after it, until there is room."""

QUEUEING = ("fcfs", "ps", "lcfs-pr", "is", "priority", "priority-preemptive")
"""Disciplines: first come first served, processor sharing, last come first served with preemption and
resumption, infinite servers (nobody waits), and by rank, first come first served within one: who is served
stays, or makes way at once for a smaller rank."""

OUT = "out"
"""Where a route of an open chain leads that leaves the network."""

Place = tuple[str, str]
"""A class at a station."""


@dataclass(frozen=True, slots=True)
class Customers:
    """A closed population: so many customers, each of whom thinks once in a cycle.

    Parameters
    ----------
    population : how many there are [1]
    think_time : time away from all stations in a cycle [s]
    """

    population: Expr
    think_time: Expr = field(default_factory=lambda: zero(TIME))


@dataclass(frozen=True, slots=True)
class Stream:
    """An open class: customers arrive, a Poisson stream [1/s], go through once and leave."""

    arrivals: Expr


Members = Customers | Stream


@dataclass(frozen=True, slots=True)
class Queue:
    """A station of a network. Every mapping goes by class.

    Parameters
    ----------
    discipline : one of `QUEUEING`
    servers : how many serve at the same time [1]
    demand : service in a whole cycle [s]
    service : mean service time of a visit, in the place of a demand [s]
    visits : visits in a cycle [1]; one by default, and none where routing says them
    rates : speed with 1, 2, 3 ... customers present; the last holds for more [1]
    scv : squared coefficient of variation of the service time; 1, exponential, by default [1]
    capacity : most customers present, in service included [1]
    blocking : one of `BLOCKING`: what becomes of who comes when so many are present; who arrives from outside is
        lost in any case
    priority : rank; who has the smaller one goes first [1]
    """

    discipline: str = "fcfs"
    servers: int = 1
    demand: Mapping[str, Expr] = field(default_factory=dict)
    service: Mapping[str, Expr] = field(default_factory=dict)
    visits: Mapping[str, Expr] = field(default_factory=dict)
    rates: tuple[Expr, ...] = ()
    scv: Mapping[str, Expr] = field(default_factory=dict)
    capacity: int | None = None
    priority: Mapping[str, int] = field(default_factory=dict)
    blocking: str = "loss"

    def __post_init__(self) -> None:
        if self.discipline not in QUEUEING:
            hint = did_you_mean(self.discipline, QUEUEING)
            raise ModelError(f"a queue cannot have the discipline {self.discipline!r}{hint}")
        if self.blocking not in BLOCKING:
            hint = did_you_mean(self.blocking, BLOCKING)
            raise ModelError(f"a full queue cannot have the blocking {self.blocking!r}{hint}")
        for what, number in (("servers", self.servers), ("capacity", self.capacity)):
            if number is not None and number < 1:
                raise ModelError(f"the {what} of a queue must be at least 1, got {number}")

    def visitors(self) -> tuple[str, ...]:
        """List the classes that have service here, in the order written."""
        return tuple(dict.fromkeys((*self.demand, *self.service)))


@dataclass(frozen=True, slots=True)
class Chain:
    """Classes that customers change between, and how many customers there are in all of them.

    Parameters
    ----------
    classes : their names
    members : population and think time, or arrivals
    reference : where a cycle begins and ends, or where a stream comes in
    """

    classes: tuple[str, ...]
    members: Members
    reference: Place


@dataclass(frozen=True, slots=True)
class Route:
    """Who leaves a station as one class goes to another, perhaps as another class; None leaves the network."""

    source: Place
    target: Place | None
    probability: Expr


@dataclass(frozen=True, slots=True)
class QueueingNetwork:
    """A queueing network that a method can answer for.

    Parameters
    ----------
    name : what answers call it
    classes : customers of each class that keeps its class
    stations : by name
    chains : groups of classes, for those that change
    routing : the ways of the classes in chains

    Raises
    ------
    FaultyError : everything that `slipstick.model.network_faults.faults` finds
    """

    name: str
    classes: Mapping[str, Members]
    stations: Mapping[str, Queue]
    chains: Mapping[str, Chain] = field(default_factory=dict)
    routing: tuple[Route, ...] = ()

    def __post_init__(self) -> None:
        from slipstick.model.network_faults import faults

        check_name(self.name.replace("/", "."))
        if found := faults(self):
            raise FaultyError(found)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Every class, in the order written: those that keep their class, then those of chains."""
        return tuple(
            dict.fromkeys((*self.classes, *(each for chain in self.chains.values() for each in chain.classes)))
        )

    def quantities(self) -> Iterator[tuple[str, Expr]]:
        """Yield every number of the network that may vary, with its place."""
        for prefix, group in (("classes", self.classes.items()), ("chains", self.chains.items())):
            for name, each in group:
                members = each.members if isinstance(each, Chain) else each
                yield from ((f"{prefix}.{name}.{key}", getattr(members, key)) for key in type(members).__slots__)
        for name, station in self.stations.items():
            for key in _BY_CLASS:
                yield from ((f"stations.{name}.{key}.{label}", each) for label, each in getattr(station, key).items())
            yield from ((f"stations.{name}.rates.{index}", each) for index, each in enumerate(station.rates))
        yield from ((f"routing.{index}.probability", each.probability) for index, each in enumerate(self.routing))


_BY_CLASS = {"demand": TIME, "service": TIME, "visits": COUNT, "scv": COUNT}
"""What a station says of each class in numbers that may vary."""


def network(
    classes: Mapping[str, Members],
    stations: Mapping[str, Queue],
    *,
    chains: Mapping[str, Chain] | None = None,
    routing: Sequence[Route] = (),
    name: str = "network",
) -> QueueingNetwork:
    """Put a queueing network together; every number becomes a parameter named after its place.

    Parameters
    ----------
    classes : by name, from `customers` and `arrivals`; empty if all are in chains
    stations : by name, from `queue`
    chains : by name, from `chain`, for classes that customers change between
    routing : from `route`
    name : what answers call it

    Raises
    ------
    FaultyError : something does not fit; the message names all of it

    >>> central = network(
    ...     {"jobs": customers(20, think_time=5.0)},
    ...     {"cpu": queue(demand={"jobs": 0.005}, discipline="ps"), "disk": queue(demand={"jobs": 0.03}, servers=2)},
    ... )
    >>> central.stations["cpu"].demand["jobs"]
    stations.cpu.demand.jobs
    """
    return QueueingNetwork(
        name,
        {key: _named_members(each, f"classes.{key}") for key, each in classes.items()},
        {key: _named_station(each, f"stations.{key}") for key, each in stations.items()},
        {
            key: replace(each, members=_named_members(each.members, f"chains.{key}"))
            for key, each in (chains or {}).items()
        },
        tuple(
            replace(each, probability=_named(each.probability, f"routing.{index}.probability"))
            for index, each in enumerate(routing)
        ),
    )


def customers(population: Like, think_time: Like = 0.0) -> Customers:
    """Let so many customers go round for ever.

    Parameters
    ----------
    population : how many, a whole number from 0 [1]
    think_time : time away from all stations in a cycle [s]
    """
    size = _amount(population, COUNT, "a population")
    if isinstance(size, Number | Parameter) and size.value is not None and size.value != math.floor(size.value):
        raise ModelError(f"a population must be a whole number, got {size.value:g}")
    return Customers(size, _amount(think_time, TIME, "a think time"))


def arrivals(rate: Like) -> Stream:
    """Let customers arrive at a rate [1/s], a Poisson stream, go through once and leave."""
    return Stream(_amount(rate, RATE, "a rate of arrivals"))


def queue(
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
) -> Queue:
    """Describe a station by class: its demand, or a service time and visits; see `Queue`.

    >>> queue(service={"jobs": 0.01}, visits={"jobs": 3}).visitors()
    ('jobs',)
    """
    given = {"demand": demand, "service": service, "visits": visits, "scv": scv}
    amounts = {
        key: {name: _amount(each, dimension, f"the {key} of {name}") for name, each in (given[key] or {}).items()}
        for key, dimension in _BY_CLASS.items()
    }
    return Queue(
        discipline,
        servers,
        **amounts,
        rates=tuple(_amount(each, COUNT, "a rate of a station") for each in rates),
        capacity=capacity,
        priority=dict(priority or {}),
        blocking=blocking,
    )


def chain(classes: Sequence[str], members: Members, reference: Place) -> Chain:
    """Group classes that customers change between; a cycle begins and ends at the reference, a class at a station."""
    return Chain(tuple(classes), members, reference)


def route(source: Place, target: Place | None, probability: Like) -> Route:
    """Send those of a class who leave a station on to another; None leaves the network."""
    return Route(source, target, _amount(probability, COUNT, "a probability of routing"))


def _amount(value: Like, dimension: Dimension, what: str) -> Expr:
    """Take an expression of the right dimension, or a plain number in base units that is not negative."""
    if isinstance(value, Expr):
        if value.dimension != dimension:
            raise ModelError(f"{what} is a [{dimension}], but {value} is a [{value.dimension}]")
        return value
    if isinstance(value, str):
        raise ModelError(f"{what} is a number in base units here; in a file, write it with its unit; got {value!r}")
    if not value >= 0:
        raise ModelError(f"{what} cannot be negative, got {value:g}")
    return Number(float(value), dimension)


def _named(value: Expr, path: str) -> Expr:
    return Parameter(path, value.dimension, value.value) if isinstance(value, Number) else value


def _named_members(members: Members, path: str) -> Members:
    if isinstance(members, Stream):
        return Stream(_named(members.arrivals, f"{path}.arrivals"))
    # Nobody who does not think has a think time to vary.
    think = members.think_time
    named = think if think == zero(TIME) else _named(think, f"{path}.think_time")
    return Customers(_named(members.population, f"{path}.population"), named)


def _named_station(station: Queue, path: str) -> Queue:
    by_class = {
        key: {name: _named(each, f"{path}.{key}.{name}") for name, each in getattr(station, key).items()}
        for key in _BY_CLASS
    }
    rates = tuple(_named(each, f"{path}.rates.{index}") for index, each in enumerate(station.rates))
    return replace(station, **by_class, rates=rates)  # type: ignore[arg-type]
