"""One station with room, or with customers, for so many only: loss, blocking, machines under repair."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare, whole
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.expression.nodes import select
from slipstick.expression.special import engset, erlang_b, geometric_mean, geometric_sum, raised
from slipstick.law.law import Law, Row, Symbol

__all__ = [
    "ENGSET_CALL_CONGESTION",
    "ENGSET_TIME_CONGESTION",
    "ERLANG_B",
    "ERLANG_B_CARRIED",
    "MACHINE_REPAIRMAN_RESPONSE",
    "MACHINE_REPAIRMAN_SEVERAL",
    "MACHINE_REPAIRMAN_THROUGHPUT",
    "MM1K_BLOCKING",
    "MM1K_NUMBER",
    "MM1K_NUMBER_PROBABILITY",
    "MM1K_RESPONSE_TIME",
    "MM1K_THROUGHPUT",
    "MMCK_BLOCKING",
    "MMCK_WAITING_NUMBER",
    "MMCK_WAITING_TIME",
]

_KLEINROCK = "Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3"
_GATEWAY = (
    "Jain, The Art of Computer Systems Performance Analysis, Wiley 1991, chapter 31: gateway with two buffers, "
    "125 packets a second, 2 ms each"
)
_TABLE = "Erlang's table"
_HAND = "worked by hand"
_ANY = "for service times of any kind"

_ARRIVALS = Symbol("arrivals", RATE, "customers that arrive, the lost ones included", r"\lambda")
_SERVICE = Symbol("service", TIME, "mean service time of a customer", "S")
_SERVERS = Symbol("servers", COUNT, "servers", "c")
_ROOM = Symbol("room", COUNT, "customers there is room for, in service included", "K")
_COUNT = Symbol("count", COUNT, "customers present, in service included", "n")
_BLOCKING = Symbol("blocking", COUNT, "share of the arrivals that are lost", "P_K")
_SOURCES = Symbol("sources", COUNT, "customers there are", "N")
_THINK = Symbol("think", TIME, "mean time of a customer away", "Z")
_THROUGHPUT = Symbol("throughput", RATE, "customers served", "X")


def _limited(room: Any, service: Any, arrivals: Any) -> tuple[Comparison, ...]:
    return compare(room, ">=", 1), whole(room), compare(service, ">", 0), compare(arrivals, ">", 0)


def _passed(load: Any, room: Any) -> Any:
    """Share of time that one server is busy, from the side on which no power overflows."""
    return select(
        load,
        1,
        load * geometric_sum(load, room) / geometric_sum(load, room + 1),
        geometric_sum(1 / load, room) / geometric_sum(1 / load, room + 1),
    )


MM1K_BLOCKING = Law(
    name="mm1k-blocking",
    title="Share of arrivals lost at a single server with limited room",
    gives=_BLOCKING,
    symbols=(_ROOM, _SERVICE, _ARRIVALS),
    equation=lambda room, service, arrivals: 1 / geometric_sum(1 / (arrivals * service), room + 1),
    holds=_limited,
    source=_KLEINROCK,
    rows=(
        Row({"room": 2, "service": 2e-3, "arrivals": 125.0}, 0.0476, 5e-5, _GATEWAY),
        Row({"room": 4, "service": 1.0, "arrivals": 1.0}, 0.2, 1e-16, f"{_HAND}: five states alike"),
        Row({"room": 1000, "service": 5.0, "arrivals": 1.0}, 0.8, 1e-15, f"{_HAND}: 1 - 1/5"),
    ),
)

MM1K_THROUGHPUT = Law(
    name="mm1k-throughput",
    title="Customers served by a single server with limited room",
    gives=_THROUGHPUT,
    symbols=(_ROOM, _SERVICE, _ARRIVALS),
    equation=lambda room, service, arrivals: _passed(arrivals * service, room) / service,
    holds=_limited,
    source=_KLEINROCK,
    rows=(
        Row({"room": 2, "service": 2e-3, "arrivals": 125.0}, 119.05, 5e-3, f"{_GATEWAY}; 125 less 5.95 lost"),
        Row({"room": 1000, "service": 5.0, "arrivals": 1.0}, 0.2, 1e-15, f"{_HAND}: never idle"),
    ),
)

MM1K_NUMBER = Law(
    name="mm1k-number",
    title="Customers at a single server with limited room",
    gives=Symbol("number", COUNT, "mean number present, in service included", "L"),
    symbols=(_ROOM, _SERVICE, _ARRIVALS),
    equation=lambda room, service, arrivals: geometric_mean(arrivals * service, room),
    holds=_limited,
    source=_KLEINROCK,
    rows=(
        Row({"room": 2, "service": 2e-3, "arrivals": 125.0}, 0.286, 5e-4, _GATEWAY),
        Row({"room": 1000, "service": 1.0, "arrivals": 1.0}, 500.0, 0.0, f"{_HAND}: all states alike"),
    ),
)

MM1K_NUMBER_PROBABILITY = Law(
    name="mm1k-number-probability",
    title="Probability of so many customers at a single server with limited room",
    gives=Symbol("probability", COUNT, "share of time with so many present", "P_n"),
    symbols=(_COUNT, _ROOM, _SERVICE, _ARRIVALS),
    equation=lambda count, room, service, arrivals: (
        1
        / (geometric_sum(arrivals * service, room - count + 1) + geometric_sum(1 / (arrivals * service), count + 1) - 1)
    ),
    holds=lambda count, room, service, arrivals: (
        compare(count, ">=", 0),
        compare(count, "<=", room),
        whole(count),
        *_limited(room, service, arrivals),
    ),
    source=_KLEINROCK,
    rows=(
        Row({"count": 0, "room": 2, "service": 2e-3, "arrivals": 125.0}, 0.762, 5e-4, _GATEWAY),
        Row({"count": 1, "room": 2, "service": 2e-3, "arrivals": 125.0}, 0.191, 6e-4, _GATEWAY),
    ),
)

MM1K_RESPONSE_TIME = Law(
    name="mm1k-response-time",
    title="Response time of a single server with limited room",
    gives=Symbol("response", TIME, "mean time from arrival to departure of those who are not lost", "R"),
    symbols=(_ROOM, _SERVICE, _ARRIVALS),
    equation=lambda room, service, arrivals: (
        service * geometric_mean(arrivals * service, room) / _passed(arrivals * service, room)
    ),
    holds=_limited,
    source=_KLEINROCK,
    rows=(Row({"room": 2, "service": 2e-3, "arrivals": 125.0}, 2.40e-3, 5e-6, _GATEWAY),),
)


def _crowded(room: Any, servers: Any, service: Any, arrivals: Any) -> tuple[Comparison, ...]:
    return (
        compare(servers, ">=", 1),
        compare(servers, "<=", room),
        whole(servers),
        compare(servers, "<=", 10_000_000),
        *_limited(room, service, arrivals),
    )


def _full(room: Any, servers: Any, load: Any) -> Any:
    """All there is room for are present; from the full state down, so that nothing overflows before it is 0."""
    each = load / servers
    below = raised(1 / each, room - servers) * (1 / erlang_b(load, servers) - 1)
    return 1 / (below + geometric_sum(1 / each, room - servers + 1))


def _queued(room: Any, servers: Any, load: Any) -> Any:
    """All servers are busy with this probability, and then a geometric number wait."""
    each = load / servers
    below = (1 / erlang_b(load, servers) - 1) / geometric_sum(each, room - servers + 1)
    return geometric_mean(each, room - servers) / (1 + below)


MMCK_BLOCKING = Law(
    name="mmck-blocking",
    title="Share of arrivals lost at several servers with limited room",
    gives=_BLOCKING,
    symbols=(_ROOM, _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda room, servers, service, arrivals: _full(room, servers, arrivals * service),
    holds=_crowded,
    source=_KLEINROCK,
    rows=(
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 1.0}, 1 / 11, 1e-15, f"{_HAND}: 4, 4, 2, 1"),
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 2.0}, 2 / 7, 1e-15, f"{_HAND}: 1, 2, 2, 2"),
        Row({"room": 2, "servers": 2, "service": 1.0, "arrivals": 2.0}, 0.4, 1e-15, f"{_HAND}: 1, 2, 2"),
    ),
)

MMCK_WAITING_NUMBER = Law(
    name="mmck-waiting-number",
    title="Customers waiting at several servers with limited room",
    gives=Symbol("waiting", COUNT, "mean number present and not in service", "L_q"),
    symbols=(_ROOM, _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda room, servers, service, arrivals: _queued(room, servers, arrivals * service),
    holds=_crowded,
    source=_KLEINROCK,
    rows=(
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 1.0}, 1 / 11, 1e-15, f"{_HAND}: one, in state 3"),
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 2.0}, 2 / 7, 1e-15, f"{_HAND}: one, in state 3"),
    ),
)

MMCK_WAITING_TIME = Law(
    name="mmck-waiting-time",
    title="Waiting time at several servers with limited room",
    gives=Symbol("wait", TIME, "mean time from arrival to the start of service, of those who are not lost", "W"),
    symbols=(_ROOM, _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda room, servers, service, arrivals: (
        _queued(room, servers, arrivals * service) / (arrivals * (1 - _full(room, servers, arrivals * service)))
    ),
    holds=lambda room, servers, service, arrivals: (
        *_crowded(room, servers, service, arrivals),
        compare(arrivals * service, "<=", 1e6 * servers),
    ),
    source=_KLEINROCK,
    note="by Little's law from those who are let in; of a load a million times too large few digits would be left",
    rows=(
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 1.0}, 0.1, 1e-15, f"{_HAND}: 1/11 over 10/11"),
        Row({"room": 3, "servers": 2, "service": 1.0, "arrivals": 2.0}, 0.2, 1e-15, f"{_HAND}: 2/7 over 10/7"),
    ),
)

ERLANG_B = Law(
    name="erlang-b",
    title="Share of arrivals lost where nobody waits",
    gives=Symbol("blocking", COUNT, "share of the arrivals that find all servers busy", "B"),
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: erlang_b(arrivals * service, servers),
    holds=lambda servers, service, arrivals: (
        compare(servers, ">=", 0),
        whole(servers),
        compare(servers, "<=", 10_000_000),
        compare(service, ">", 0),
        compare(arrivals, ">", 0),
    ),
    source="Erlang, Elektroteknikeren 13, 1917",
    note=_ANY,
    rows=(
        Row({"servers": 10, "service": 1.0, "arrivals": 4.461}, 0.01, 5e-6, f"{_TABLE}: 1%, 10 servers"),
        Row({"servers": 100, "service": 1.0, "arrivals": 84.1}, 0.01, 8e-5, f"{_TABLE}: 1%, 100 servers"),
        Row({"servers": 2, "service": 1.0, "arrivals": 1.0}, 0.2, 1e-16, f"{_HAND}: 1/2 of 1 + 1 + 1/2"),
    ),
)

ERLANG_B_CARRIED = Law(
    name="erlang-b-carried",
    title="Servers busy where nobody waits",
    gives=Symbol("busy", COUNT, "mean number of busy servers", "Y"),
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: (
        arrivals * service * servers / (servers + arrivals * service * erlang_b(arrivals * service, servers - 1))
    ),
    holds=lambda servers, service, arrivals: (
        compare(servers, ">=", 1),
        whole(servers),
        compare(servers, "<=", 10_000_000),
        compare(service, ">", 0),
        compare(arrivals, ">", 0),
    ),
    source="Erlang, Elektroteknikeren 13, 1917: a (1 - B), by the recursion's last step, which loses no digits",
    note=_ANY,
    rows=(Row({"servers": 2, "service": 1.0, "arrivals": 1.0}, 0.8, 1e-15, f"{_HAND}: 1 x 4/5"),),
)


def _engset(sources: Any, servers: Any, service: Any, think: Any) -> tuple[Comparison, ...]:
    return (
        compare(servers, ">=", 1),
        whole(servers),
        compare(servers, "<=", 10_000_000),
        whole(sources),
        compare(service, ">", 0),
        compare(think, ">", 0),
    )


ENGSET_TIME_CONGESTION = Law(
    name="engset-time-congestion",
    title="Share of time with all servers busy, few customers, nobody waits",
    gives=Symbol("congestion", COUNT, "share of time", "E"),
    symbols=(_SOURCES, _SERVERS, _THINK, _SERVICE),
    equation=lambda sources, servers, think, service: engset(service / think, servers, sources),
    holds=lambda sources, servers, think, service: (
        compare(sources, ">=", servers),
        *_engset(sources, servers, service, think),
    ),
    source="Engset, Elektrotechnische Zeitschrift 31, 1918",
    note=_ANY,
    rows=(Row({"sources": 3, "servers": 2, "think": 1.0, "service": 1.0}, 3 / 7, 1e-15, f"{_HAND}: 3 of 1 + 3 + 3"),),
)

ENGSET_CALL_CONGESTION = Law(
    name="engset-call-congestion",
    title="Share of requests lost, few customers, nobody waits",
    gives=Symbol("blocking", COUNT, "share of the requests that find all servers busy", "B"),
    symbols=(_SOURCES, _SERVERS, _THINK, _SERVICE),
    equation=lambda sources, servers, think, service: engset(service / think, servers, sources - 1),
    holds=lambda sources, servers, think, service: (
        compare(sources, ">", servers),
        *_engset(sources, servers, service, think),
    ),
    source="Engset, Elektrotechnische Zeitschrift 31, 1918: what one customer fewer sees",
    note=_ANY,
    rows=(Row({"sources": 3, "servers": 2, "think": 1.0, "service": 1.0}, 0.25, 1e-16, f"{_HAND}: 1 of 1 + 2 + 1"),),
)


def _repaired(sources: Any, think: Any, service: Any) -> tuple[Comparison, ...]:
    return (
        compare(sources, ">=", 1),
        whole(sources),
        compare(sources, "<=", 10_000_000),
        compare(think, ">=", 0),
        compare(service, ">", 0),
    )


MACHINE_REPAIRMAN_THROUGHPUT = Law(
    name="machine-repairman-throughput",
    title="Customers served by one server that so many share",
    gives=_THROUGHPUT,
    symbols=(_SOURCES, _THINK, _SERVICE),
    equation=lambda sources, think, service: (
        sources / (service * sources + think * erlang_b(think / service, sources - 1))
    ),
    holds=_repaired,
    source="Scherr, An Analysis of Time-Shared Computer Systems, MIT Press 1967; the idle server's share is Erlang B "
    "of think / service",
    note="exact for exponential service, and for any service under processor sharing; any think time",
    rows=(
        Row({"sources": 1, "think": 9.0, "service": 1.0}, 0.1, 1e-16, f"{_HAND}: nobody to wait for"),
        Row({"sources": 2, "think": 1.0, "service": 1.0}, 0.8, 1e-15, f"{_HAND}: idle 1 of 1 + 2 + 2"),
    ),
)

MACHINE_REPAIRMAN_RESPONSE = Law(
    name="machine-repairman-response-time",
    title="Response time of one server that so many share",
    gives=Symbol("response", TIME, "mean time from request to completion", "R"),
    symbols=(_SOURCES, _THINK, _SERVICE),
    equation=lambda sources, think, service: service * sources - think * (1 - erlang_b(think / service, sources - 1)),
    holds=_repaired,
    source="Scherr, An Analysis of Time-Shared Computer Systems, MIT Press 1967",
    note="exact for exponential service, and for any service under processor sharing; any think time",
    rows=(
        Row({"sources": 1, "think": 9.0, "service": 1.0}, 1.0, 0.0, f"{_HAND}: nobody to wait for"),
        Row({"sources": 2, "think": 1.0, "service": 1.0}, 1.5, 1e-15, f"{_HAND}: 2 / 0.8 - 1"),
    ),
)


def _in_repair(sources: Any, servers: Any, think: Any, service: Any) -> Any:
    """Mean number that wait. Below `servers` present it is Engset's system, above it Erlang's from the other end."""
    rest, load = sources - servers, servers * think / service
    idle = erlang_b(load, rest)
    crowded = 1 / (1 + idle * (1 / engset(service / think, servers, sources) - 1))
    return crowded * (rest - load * (1 - idle))


MACHINE_REPAIRMAN_SEVERAL = Law(
    name="machine-repairman-several-throughput",
    title="Customers served by several servers that so many share",
    gives=_THROUGHPUT,
    symbols=(_SOURCES, _SERVERS, _THINK, _SERVICE),
    equation=lambda sources, servers, think, service: (
        (sources - _in_repair(sources, servers, think, service)) / (think + service)
    ),
    holds=lambda sources, servers, think, service: (
        compare(sources, ">=", servers),
        compare(sources, "<=", 10_000_000),
        *_engset(sources, servers, service, think),
    ),
    source=f"{_KLEINROCK}, machines under repair; in the two loss formulas",
    rows=(
        Row({"sources": 2, "servers": 2, "think": 9.0, "service": 1.0}, 0.2, 1e-16, f"{_HAND}: nobody waits"),
        Row(
            {"sources": 3, "servers": 2, "think": 1.0, "service": 1.0},
            24 / 17,
            1e-15,
            f"{_HAND}: weights 1, 3, 3, 1.5; one waits for 3/17 of the time, (3 - 3/17) / 2",
        ),
    ),
)
