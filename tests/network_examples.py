"""A small network with each construct that networks have, for the table of methods by construct."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from slipstick.expression.nodes import TIME, Number
from slipstick.model.network import (
    CustomerClass,
    QueueingNetwork,
    Route,
    chain,
    closed_class,
    network,
    route,
    station,
)
from slipstick.vocabulary import (
    BLOCKING,
    LOSS,
    SHORTEST,
)
from slipstick_chains.breakdowns import Breakdown, network_with_breakdowns
from slipstick_chains.schedules import network_with_schedules
from tests.paired_constructs import WITH
from tests.paired_networks import ARRIVALS, USES, Parts

Build = Callable[[], QueueingNetwork]
TIMES = {"front": 0.3, "desk": 0.5}

WORDS_BY_USE = {
    "servers": "several servers",
    "infinite servers": "infinite servers (discipline is)",
    "last first": "discipline lcfs",
    "random order": "discipline random",
    "interruptions": "discipline lcfs-pr",
    "ranks": "discipline priority",
    "ranks with preemption": "discipline priority-preemptive",
    "weights": "weights (discipline ps)",
    "rates": "rates",
    "scv": "scv other than 1",
    "distribution": "distributions of times (phase type)",
    "capacity": "capacity, blocking: loss",
    "blocking repeat": "capacity, blocking: repeat",
    "blocking before-service": "capacity, blocking: before-service",
    "blocking after-service": "capacity, blocking: after-service",
    "patience": "patience",
    "timeout": "timeout",
    "balking": "balking",
    "retries": "retries after patience",
    "retries at a full station": "retries, capacity",
    "region": "region",
    "region with loss": "region, blocking: loss",
    "circuit breaker": "circuit breaker",
    "visits": "visits other than 1",
}
"""What a file says of each use."""


def _network(use: str = "") -> QueueingNetwork:
    """Make a network of two classes at two stations, with a use of the desk."""
    parts = USES[use].parts("desk", WITH) if use else Parts()
    traits_by_station = {"front": {"discipline": "ps"}, "desk": parts.traits}
    stations = {
        name: station(**{"service": {"calls": time, "jobs": time}, **traits_by_station[name]})
        for name, time in TIMES.items()
    }
    population = {"calls": (3, 2.0), "jobs": (2, 3.0)}
    classes = {name: closed_class(*numbers) for name, numbers in population.items()}
    return network(classes, stations, regions=parts.regions, breakers=parts.breakers)


def _arriving(stream: CustomerClass) -> QueueingNetwork:
    return network({"jobs": stream}, {"desk": station(service={"jobs": 0.5})})


def _blocking(kind: str) -> QueueingNetwork:
    """Make a line of two machines, of which the second has two places."""
    stations = {
        "saw": station(service={"parts": 0.5}),
        "drill": station(service={"parts": 0.4}, capacity=2, blocking=kind),
    }
    return network({"parts": closed_class(4)}, stations)


def _routed(by: str = "") -> QueueingNetwork:
    """Make customers that change class after the front, and take one of two desks."""
    stations = {
        "front": station(service={"new": 0.3}),
        **{name: station(service={"old": 0.5}) for name in ("left", "right")},
    }
    start = ("new", "front")
    probability = 1.0 if by else 0.5
    desks = [("old", name) for name in ("left", "right")]
    routing: list[Route] = [route(start, desk, probability, by=by) for desk in desks]
    routing += [route(desk, start) for desk in desks]
    chains = {"users": chain(["new", "old"], closed_class(4, think_time=2.0), start)}
    return network({}, stations, chains=chains, routing=routing)


def _failing() -> QueueingNetwork:
    breakdown = Breakdown(Number(20.0, TIME), Number(2.0, TIME))
    return network_with_breakdowns(_network(), {"desk": breakdown})


def _scheduled() -> QueueingNetwork:
    desk = _arriving(ARRIVALS["Poisson"][0])
    return network_with_schedules(desk, {"desk": ((10.0, 1), (15.0, 2), (5.0, 0))})


EXAMPLES: Mapping[str, Build] = {
    "exponential times, one server": _network,
    **{words: partial(_network, use) for use, words in WORDS_BY_USE.items()},
    **{
        f"capacity, blocking: {kind}": partial(_blocking, kind) for kind in BLOCKING if kind != LOSS
    },
    **{f"arrivals: {name}": partial(_arriving, stream) for name, (stream, _) in ARRIVALS.items()},
    "class switching": _routed,
    "routes that depend on queues": partial(_routed, SHORTEST),
    "breakdown": _failing,
    "schedule": _scheduled,
}
"""By what its file says, what builds a network that has a construct."""
