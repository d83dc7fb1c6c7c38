"""One station without a queue, or with a finite population: loss systems and the machine
repairman.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import COUNT, TIME
from slipstick.expression.special import engset, erlang_b, poisson
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import (
    ALL_ARRIVALS,
    HAND,
    KLEINROCK,
    PRESENT,
    PROBABILITY,
    SERVERS,
    SERVICE,
    THROUGHPUT,
)

_SERVED = (
    "servers >= 1 and servers == floor(servers) and servers <= 10000000 and sources =="
    " floor(sources) and service > 0 and think > 0"
)
_REPAIRED = (
    "sources >= 1 and sources == floor(sources) and sources <= 10000000 and think >= 0 and"
    " service > 0"
)
_TABLE = "Erlang's table"
_ANY = "the law holds for any distribution of service times"

_SOURCES = Symbol("sources", COUNT, "size of the population", "N")
_THINK = Symbol("think", TIME, "mean think time of a customer", "Z")


ERLANG_B = Law(
    name="erlang-b",
    title="Share of arrivals lost at servers without a queue",
    gives=Symbol("blocking", COUNT, "share of the arrivals that find all servers busy", "B"),
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: erlang_b(
        arrivals * service, servers
    ),
    holds=(
        "servers >= 0 and servers == floor(servers) and servers <= 10000000 and service > 0 and"
        " arrivals > 0"
    ),
    source="Erlang, Elektroteknikeren 13, 1917",
    note=_ANY,
    checks=(
        Check((10, 1.0, 4.461), 0.01, 5e-6, f"{_TABLE}: 1%, 10 servers"),
        Check((100, 1.0, 84.1), 0.01, 8e-5, f"{_TABLE}: 1%, 100 servers"),
        Check((2, 1.0, 1.0), 0.2, 1e-16, f"{HAND}: 1/2 of 1 + 1 + 1/2"),
        Check((2, 0.5, 4.0), 0.4, 4e-15, f"{HAND}: weights 1, 2, 2"),
    ),
)

ERLANG_B_CARRIED = Law(
    name="erlang-b-carried",
    title="Busy servers of a station without a queue",
    gives=Symbol("busy", COUNT, "mean number of busy servers", "Y"),
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        arrivals
        * service
        * servers
        / (servers + arrivals * service * erlang_b(arrivals * service, servers - 1))
    ),
    holds=(
        "servers >= 1 and servers == floor(servers) and servers <= 10000000 and service > 0 and"
        " arrivals > 0"
    ),
    source=(
        "Erlang, Elektroteknikeren 13, 1917: a (1 - B), computed by the last step of the"
        " recursion, which loses no digits"
    ),
    note=_ANY,
    checks=(
        Check((2, 1.0, 1.0), 0.8, 1e-15, f"{HAND}: 1 x 4/5"),
        Check((2, 0.5, 4.0), 1.2, 1e-14, f"{HAND}: 2 x 3/5"),
    ),
)


ENGSET_TIME_CONGESTION = Law(
    name="engset-time-congestion",
    title="Share of time in which all servers are busy, for a finite population without a queue",
    gives=Symbol("congestion", COUNT, "share of time with all servers busy", "E"),
    equation=lambda sources=_SOURCES, servers=SERVERS, think=_THINK, service=SERVICE: engset(
        service / think, servers, sources
    ),
    holds=f"sources >= servers and {_SERVED}",
    source="Engset, Elektrotechnische Zeitschrift 31, 1918",
    note=_ANY,
    checks=(
        Check((3, 2, 1.0, 1.0), 3 / 7, 1e-15, f"{HAND}: 3 of 1 + 3 + 3"),
        Check((4, 2, 3.0, 1.5), 0.3333333333333333, 3e-15, f"{HAND}: weights 1, 2, 1.5"),
    ),
)

ENGSET_CALL_CONGESTION = Law(
    name="engset-call-congestion",
    title="Share of requests lost, finite population, no queue",
    gives=Symbol("blocking", COUNT, "share of the requests that find all servers busy", "B"),
    equation=lambda sources=_SOURCES, servers=SERVERS, think=_THINK, service=SERVICE: engset(
        service / think, servers, sources - 1
    ),
    holds=f"sources > servers and {_SERVED}",
    source=(
        "Engset, Elektrotechnische Zeitschrift 31, 1918: an arrival sees the system with one"
        " customer fewer"
    ),
    note=_ANY,
    checks=(
        Check((3, 2, 1.0, 1.0), 0.25, 1e-16, f"{HAND}: 1 of 1 + 2 + 1"),
        Check((4, 2, 3.0, 1.5), 0.23076923076923078, 2e-15, f"{HAND}: weights 1, 1.5, 0.75"),
    ),
)


MACHINE_REPAIRMAN_THROUGHPUT = Law(
    name="machine-repairman-throughput",
    title="Throughput of one server with a finite population",
    gives=THROUGHPUT,
    equation=lambda sources=_SOURCES, think=_THINK, service=SERVICE: (
        sources / (service * sources + think * erlang_b(think / service, sources - 1))
    ),
    holds=_REPAIRED,
    source=(
        "Scherr, An Analysis of Time-Shared Computer Systems, MIT Press 1967: the probability"
        " that the server is idle is Erlang B at a load of think / service"
    ),
    note=(
        "the law is exact for exponential service, and for any service under processor sharing;"
        " think times may have any distribution"
    ),
    checks=(
        Check((1, 9.0, 1.0), 0.1, 1e-16, f"{HAND}: no one to wait for"),
        Check((2, 1.0, 1.0), 0.8, 1e-15, f"{HAND}: idle 1 of 1 + 2 + 2"),
        Check((2, 3.0, 1.5), 0.4, 4e-15, f"{HAND}: weights 1, 1, 0.5"),
    ),
)

MACHINE_REPAIRMAN_RESPONSE = Law(
    name="machine-repairman-response-time",
    title="Response time of one server with a finite population",
    gives=Symbol("response", TIME, "mean time from request to completion", "R"),
    equation=lambda sources=_SOURCES, think=_THINK, service=SERVICE: (
        service * sources - think * (1 - erlang_b(think / service, sources - 1))
    ),
    holds=_REPAIRED,
    source="Scherr, An Analysis of Time-Shared Computer Systems, MIT Press 1967",
    note=(
        "the law is exact for exponential service, and for any service under processor sharing;"
        " think times may have any distribution"
    ),
    checks=(
        Check((1, 9.0, 1.0), 1.0, 0.0, f"{HAND}: no one to wait for"),
        Check((2, 1.0, 1.0), 1.5, 1e-15, f"{HAND}: 2 / 0.8 - 1"),
        Check((2, 3.0, 1.5), 2.0, 2e-14, f"{HAND}: 2 / 0.4 - 3"),
    ),
)


MACHINE_REPAIRMAN_NUMBER_PROBABILITY = Law(
    name="machine-repairman-number-probability",
    title="Probability of n customers at one server with a finite population",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, sources=_SOURCES, think=_THINK, service=SERVICE: (
        erlang_b(think / service, sources)
        * poisson(think / service, sources - count)
        / poisson(think / service, sources)
    ),
    holds=(
        f"count >= 0 and count <= sources and count == floor(count) and {_REPAIRED} and think > 0"
        " and poisson(think / service, sources) > 0"
    ),
    source=(
        "Scherr, An Analysis of Time-Shared Computer Systems, MIT Press 1967: the number of"
        " thinking customers has the distribution of busy servers in Erlang B"
    ),
    note=(
        "the law is exact for exponential service, and for any service under processor sharing;"
        " think times may have any distribution"
    ),
    checks=(
        Check((0, 2, 1.0, 1.0), 0.2, 1e-15, f"{HAND}: weights 1, 2, 2"),
        Check((2, 2, 1.0, 1.0), 0.4, 1e-15, f"{HAND}: weights 1, 2, 2"),
        Check((2, 3, 3.0, 1.5), 0.3157894736842105, 3e-15, f"{HAND}: weights 1, 1.5, 1.5, 0.75"),
    ),
)


def _waiting_machine_count(sources: Any, servers: Any, think: Any, service: Any) -> Any:
    """Return the mean number of machines that wait for repair: with idle servers the system is
    Engset's, and with all servers busy it is Erlang's loss system of the working machines.
    """
    sources_beyond_servers = sources - servers
    load = servers * think / service
    loss_probability = erlang_b(load, sources_beyond_servers)
    all_busy_probability = 1 / (
        1 + loss_probability * (1 / engset(service / think, servers, sources) - 1)
    )
    return all_busy_probability * (sources_beyond_servers - load * (1 - loss_probability))


MACHINE_REPAIRMAN_SEVERAL = Law(
    name="machine-repairman-several-throughput",
    title="Throughput of several servers with a finite population",
    gives=THROUGHPUT,
    equation=lambda sources=_SOURCES, servers=SERVERS, think=_THINK, service=SERVICE: (
        (sources - _waiting_machine_count(sources, servers, think, service)) / (think + service)
    ),
    holds=f"sources >= servers and sources <= 10000000 and {_SERVED}",
    source=f"{KLEINROCK}, machines under repair and loss systems",
    checks=(
        Check((2, 2, 9.0, 1.0), 0.2, 1e-16, f"{HAND}: no waiting"),
        Check(
            (3, 2, 1.0, 1.0),
            24 / 17,
            1e-15,
            f"{HAND}: weights 1, 3, 3, 1.5; one waits for 3/17 of the time, (3 - 3/17) / 2",
        ),
        Check((3, 2, 3.0, 1.5), 0.6545454545454545, 7e-15, f"{HAND}: weights 1, 1.5, 0.75, 0.1875"),
    ),
)
