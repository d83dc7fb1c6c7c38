"""Queueing networks with two constructs, at one station and at two, and what is wrong with their
answers.

As in `tests.paired_constructs`, each construct has three forms: `WITH` it, at a `LIMIT` at which it
changes nothing, and `WITHOUT` it. The second road of a simulation is the Markov chain, and the
activity that the network is written as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from slipstick import Answer, Breaker, Simulation, solve
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.network import (
    OpenClass,
    QueueingNetwork,
    chain,
    closed_class,
    guard,
    network,
    open_class,
    region,
    route,
    station,
)
from slipstick.model.system import Model
from slipstick.time_distributions import erlang
from slipstick.vocabulary import (
    AFTER_SERVICE,
    BEFORE_SERVICE,
    BOUNDS,
    KNOWN_OF_NETWORKS,
    METHODS,
    NETWORK,
    REPEAT,
    SIMULATION,
)
from slipstick_chains.lowering import lower_network
from tests.paired_constructs import LIMIT, WITH, WITHOUT, apart

APPROXIMATE = ("schweitzer", "linearizer")
STATIONS = {"front": 0.3, "desk": 0.5, "store": 0.4}


@dataclass
class Parts:
    """The parts that a construct adds to a station and to the network."""

    traits: Mapping[str, Any] = field(default_factory=dict)
    regions: Mapping[str, Any] = field(default_factory=dict)
    breakers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkUse:
    """A way to use a construct at a station.

    Parameters
    ----------
    parts : of the name of the station and a form
    limited : it has a value at which it changes nothing
    front : discipline of the station before; who is blocked keeps a server, which is not shared
    """

    parts: Callable[[str, str], Parts]
    limited: bool = True
    front: str = "ps"


def _traits(present: Mapping[str, Any], limit: Mapping[str, Any] | None, **without: Any) -> Any:
    forms = {WITH: present, LIMIT: limit, WITHOUT: without}
    return NetworkUse(lambda name, form: Parts(forms[form] or {}), limit is not None)


def _by_class(calls: float, jobs: float) -> dict[str, float]:
    return {"calls": calls, "jobs": jobs}


def _in_region(blocking: str) -> NetworkUse:
    def parts(name: str, form: str) -> Parts:
        area = region([name], 2 if form == WITH else 900, blocking)
        return Parts(regions={} if form == WITHOUT else {f"{name}-hall": area})

    return NetworkUse(parts)


def _guarded(name: str, form: str) -> Parts:
    """Guard a station at which some abandon the queue, at the limit by 9,000 failures in a row."""
    open_time = Parameter(f"breakers.{name}-guard.open", TIME, 1.5)
    breaker = Breaker(1 if form == WITH else 9000, open_time, scv=1.0)
    guards = {f"{name}-guard": guard([name], breaker)}
    return Parts({"patience": _by_class(0.5, 0.5)}, breakers={} if form == WITHOUT else guards)


USES: Mapping[str, NetworkUse] = {
    "patience": _traits({"patience": _by_class(0.8, 0.4)}, {"patience": _by_class(1e9, 1e9)}),
    "balking": _traits(
        {"balking": {"calls": (0.5, 1.0), "jobs": (0.05, 0.2, 0.45)}},
        {"balking": {"calls": (0.0,), "jobs": (0.0, 0.0)}},
    ),
    "retries": _traits(
        {"patience": _by_class(0.8, 0.4), "retries": {"calls": 2}, "back_off": {"calls": 0.5}},
        {"patience": _by_class(1e9, 1e9), "retries": {"calls": 2}, "back_off": {"calls": 0.5}},
    ),
    "retries at a full station": _traits(
        {"capacity": 2, "retries": {"jobs": 1}, "back_off": {"jobs": 0.5}},
        {"capacity": 900, "retries": {"jobs": 1}, "back_off": {"jobs": 0.5}},
    ),
    "timeout": _traits({"timeout": _by_class(0.8, 0.4)}, {"timeout": _by_class(1e9, 1e9)}),
    "capacity": _traits({"capacity": 2}, {"capacity": 900}),
    **{
        f"blocking {kind}": replace(
            _traits({"capacity": 2, "blocking": kind}, {"capacity": 900, "blocking": kind}),
            front="ps" if kind == REPEAT else "fcfs",
        )
        for kind in (REPEAT, BEFORE_SERVICE, AFTER_SERVICE)
    },
    "region": _in_region("wait"),
    "region with loss": _in_region("loss"),
    "circuit breaker": NetworkUse(_guarded),
    "ranks": _traits(
        {"discipline": "priority", "priority": {"calls": 1, "jobs": 0}},
        {"discipline": "priority", "priority": {"calls": 1, "jobs": 1}},
    ),
    "ranks with preemption": _traits(
        {"discipline": "priority-preemptive", "priority": {"calls": 0, "jobs": 1}},
        {"discipline": "priority-preemptive", "priority": {"calls": 1, "jobs": 1}},
    ),
    "weights": _traits(
        {"discipline": "ps", "weight": _by_class(4.0, 0.5)},
        {"discipline": "ps", "weight": _by_class(3.0, 3.0)},
        discipline="ps",
    ),
    "servers": _traits({"servers": 2}, {"servers": 1}),
    "infinite servers": _traits({"discipline": "is"}, {"discipline": "is"}, servers=900),
    "rates": _traits({"rates": (0.8, 1.6, 1.2)}, {"rates": (1.0,)}),
    "last first": _traits({"discipline": "lcfs"}, None),
    "interruptions": _traits({"discipline": "lcfs-pr"}, None),
    "random order": _traits({"discipline": "random"}, None),
    "scv": _traits({"scv": _by_class(0.25, 3.0)}, {"scv": _by_class(1.0, 1.0)}),
    "distribution": _traits(
        {"distribution": {"calls": erlang(3)}}, {"distribution": {"calls": erlang(1)}}
    ),
    "visits": _traits({"visits": _by_class(1.5, 0.5)}, {"visits": _by_class(1.0, 1.0)}),
}

ARRIVALS: Mapping[str, tuple[OpenClass, OpenClass | None]] = {
    "Poisson": (open_class(0.2), None),
    "batches": (open_class(0.1, batch=2), None),
    "trace": (open_class(0.2, trace=(2.0, 8.0)), None),
    "bursts": (
        open_class(0.1, burst_arrivals=0.4, burst_time=10.0, quiet_time=20.0),
        open_class(0.2, burst_arrivals=0.2, burst_time=10.0, quiet_time=20.0),
    ),
    "profile": (
        open_class(0.2, profile=((20.0, 1.0), (10.0, 4.0))),
        open_class(0.2, profile=((20.0, 1.0), (10.0, 1.0))),
    ),
}
"""By name, a stream of jobs, and that at its limit, which is Poisson; None without one."""

EXCLUSIVE_KEYS = (
    {"servers", "rates"},
    {"patience", "timeout"},
    {"scv", "distribution"},
    {"balking", "retries"},
)
"""Traits of which a station has only one."""

NO_QUEUE = {
    "is": {"servers", "rates", "capacity", "patience", "timeout", "balking"},
    "ps": {"patience", "timeout", "balking"},
    "lcfs-pr": {"patience", "timeout", "balking"},
    "priority-preemptive": {"balking"},
}
"""Traits that a station cannot have as it lacks a queue, by discipline."""


@dataclass(frozen=True)
class NetworkPair:
    """A network with two constructs.

    Parameters
    ----------
    title : names them
    build : makes the network in a form of the first of them
    limited : the first has a limit
    """

    title: str
    build: Callable[[str], QueueingNetwork]
    limited: bool


def network_pairs() -> Iterator[NetworkPair]:
    """Yield each pair of uses, at one station and at two, and each use with each kind of arrivals
    and with customers that change class.
    """
    for first_name, first in USES.items():
        yield from _with_arrivals(first_name, first)
        if first_name != "visits":  # those of customers that change class follow from routes
            yield _with_switching(first_name, first)
        for second_name, second in USES.items():
            if first_name != second_name:
                title = f"{first_name} beside {second_name}"
                yield NetworkPair(title, _built(first, second, "store"), first.limited)
                if _fit_together(first, second):
                    title = f"{first_name} and {second_name}"
                    limited = first.limited and not _retries_what_fails(first, second)
                    yield NetworkPair(title, _built(first, second, "desk"), limited)


def _retries_what_fails(first: NetworkUse, second: NetworkUse) -> bool:
    """Return whether the first has retries, which follow visits that fail because of the second."""
    traits, others = (use.parts("desk", WITH).traits for use in (first, second))
    causes = {"capacity", "patience", "timeout"}
    return "retries" in traits and not causes.isdisjoint(others)


def _may_not_stand_together(first: NetworkUse, second: NetworkUse) -> bool:
    """Return whether a station may not have both constructs: no method has retries, balking or
    breakers at stations that block.
    """
    parts = [use.parts("desk", WITH) for use in (first, second)]
    fails = [
        bool(part.breakers) or not part.traits.keys().isdisjoint(("retries", "balking"))
        for part in parts
    ]
    return any("blocking" in part.traits for part in parts) and any(fails)


def _fit_together(first: NetworkUse, second: NetworkUse) -> bool:
    """Return whether a station may have both constructs."""
    parts = [use.parts("desk", WITH) for use in (first, second)]
    if (parts[0].regions and parts[1].regions) or _may_not_stand_together(first, second):
        return False
    if any("blocking" in part.traits for part in parts) and any(part.regions for part in parts):
        return False
    traits = [part.traits for part in parts]
    keys = traits[0].keys() | traits[1].keys()
    excluded = [no for trait in traits for no in NO_QUEUE.get(trait.get("discipline", ""), ())]
    has_contradiction = any(exclusive <= keys for exclusive in EXCLUSIVE_KEYS)
    has_contradiction |= not keys.isdisjoint(excluded)
    return not traits[0].keys() & traits[1].keys() and not has_contradiction


def _network(
    traits: Mapping[str, Mapping[str, Any]],
    parts: list[Parts],
    jobs: Any = None,
    front: str = "ps",
    **routing: Any,
) -> QueueingNetwork:
    stations = {
        name: station(
            **{
                "service": {"calls": time, "jobs": time},
                "discipline": front if name == "front" else "fcfs",
                **traits.get(name, {}),
            }
        )
        for name, time in STATIONS.items()
    }
    classes = {"calls": closed_class(3, think_time=2.0)}
    if not routing:
        classes["jobs"] = jobs or closed_class(2, think_time=3.0)
    regions = {name: area for part in parts for name, area in part.regions.items()}
    breakers = {name: guarded for part in parts for name, guarded in part.breakers.items()}
    return network(classes, stations, regions=regions, breakers=breakers, **routing)


def _built(first: NetworkUse, second: NetworkUse, place: str) -> Callable[[str], QueueingNetwork]:
    def build(form: str) -> QueueingNetwork:
        parts = [first.parts("desk", form), second.parts(place, WITH)]
        traits: dict[str, Mapping[str, Any]] = {"desk": parts[0].traits}
        traits[place] = {**traits.get(place, {}), **parts[1].traits}
        return _network(traits, parts, front=min(first.front, second.front))

    return build


def _with_arrivals(name: str, use: NetworkUse) -> Iterator[NetworkPair]:
    for title, (stream, limit) in ARRIVALS.items():
        forms = {WITH: stream, LIMIT: limit or stream, WITHOUT: ARRIVALS["Poisson"][0]}

        def build(form: str, forms: Mapping[str, OpenClass] = forms) -> QueueingNetwork:
            part = use.parts("desk", WITH)
            return _network({"desk": part.traits}, [part], forms[form], use.front)

        yield NetworkPair(f"{title} with {name}", build, limit is not None)


def _with_switching(name: str, use: NetworkUse) -> NetworkPair:
    """Make a chain of jobs that become old at the store, with a construct at the desk."""

    def build(form: str) -> QueueingNetwork:
        part = use.parts("desk", form)
        store = {"service": {"calls": 0.4, "old": 0.4}}
        places = [("jobs", "front"), ("jobs", "desk"), ("old", "store")]
        visits = chain(["jobs", "old"], closed_class(2, think_time=3.0), places[0])
        routes = [route(a, b) for a, b in zip(places, [*places[1:], places[0]], strict=True)]
        traits = {"desk": part.traits, "store": store}
        routing = {"chains": {"visits": visits}, "routing": routes}
        return _network(traits, [part], front=use.front, **routing)

    return NetworkPair(f"{name} with class switching", build, use.limited)


def network_problems(pair: NetworkPair, settings: Simulation) -> list[str]:
    """List what is wrong with the answers to a pair: a method that passes over a construct, an
    exact answer that simulation contradicts, bounds that do not hold, an activity of the same
    meaning that behaves otherwise, a limit that is none.

    Parameters
    ----------
    pair : of constructs
    settings : of the simulations
    """
    model, wrong = pair.build(WITH), list[str]()
    try:
        simulated = solve(model, method=SIMULATION, simulation=settings)
    except NoAnswerError as error:  # of customers that are blocked in a way without a meaning
        return (
            [] if "has no rule for" in str(error) else [f"simulation refuses by no name: {error}"]
        )
    for method in METHODS[NETWORK]:
        if method != SIMULATION:
            wrong += _of_method(model, method, simulated, settings)
    wrong += _of_its_activity(model, simulated, settings)
    if pair.limited:
        limit, without = (_reference(pair.build(form), settings) for form in (LIMIT, WITHOUT))
        wrong += [
            f"at its limit {text}"
            for text in apart(limit, without, 1e-4)
            # A bound, and wider where ranks or weights may give one customer all the speed.
            if not text.startswith("saturation_population[")
        ]
    return wrong


def _of_method(
    model: QueueingNetwork, method: str, simulated: Answer, settings: Simulation
) -> Iterator[str]:
    """Yield what is wrong with the answer of a method."""
    unknown = model.constructs - KNOWN_OF_NETWORKS.get(method, frozenset())
    try:
        answer = solve(model, method=method, simulation=settings)
    except NoAnswerError as error:
        if unknown and not any(construct in str(error) for construct in unknown):
            yield f"{method} refuses by no name: {error}"
        return
    unknown = model.constructs - KNOWN_OF_NETWORKS.get(answer.method, frozenset())
    if unknown:  # `best` goes on to a method that knows them
        yield f"{method} answers, and does not know {', '.join(sorted(unknown))}"
    if method == BOUNDS:
        yield from _outside_bounds(answer, simulated)
    elif answer.exact:
        yield from (f"{method} {text}" for text in apart(answer, simulated, 2e-3))
    elif answer.method in APPROXIMATE and answer.promise is not None:
        yield from (
            f"{method} {text}"
            for text in apart(answer, simulated, answer.promise)
            if text.startswith(("response_time[", "throughput["))
        )


def _outside_bounds(bounds: Answer, simulated: Answer) -> Iterator[str]:
    for name in sorted(bounds.values.keys() & simulated.values.keys()):
        bound, estimate = bounds.values[name], simulated.values[name]
        if estimate.low is None or estimate.high is None:
            continue
        width = estimate.high - estimate.low
        if (bound.low is not None and bound.low > 1.001 * estimate.high + width) or (
            bound.high is not None and bound.high < 0.999 * estimate.low - width
        ):
            yield f"{name}: {bound.low} to {bound.high}, simulated {estimate.value}"


def _of_its_activity(
    model: QueueingNetwork, simulated: Answer, settings: Simulation
) -> Iterator[str]:
    """Yield the queue lengths that differ in the activity to which a network is lowered."""
    try:
        activity = lower_network(model)
    except NoAnswerError:
        return
    answer = _reference(activity, settings)
    names = [f"{kind}[{name}]" for kind in ("queue_length", "utilization") for name in STATIONS]
    yield from (
        f"as an activity {text}"
        for text in apart(answer, simulated, 2e-3)
        if text.split(":")[0] in names
    )


def _reference(model: Model | QueueingNetwork, settings: Simulation) -> Answer:
    """Solve by the chain, or by simulation where there is none."""
    try:
        return solve(model, method="markov-chain", simulation=settings)
    except NoAnswerError:
        return solve(model, method=SIMULATION, simulation=settings)
