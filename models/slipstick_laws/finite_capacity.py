"""One station of finite capacity: a customer that arrives at a full station is lost."""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import COUNT, TIME, maximum, select
from slipstick.expression.special import (
    erlang_b,
    geometric_mean,
    geometric_sum,
    poisson,
    real_power,
)
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import (
    ALL_ARRIVALS,
    HAND,
    KLEINROCK,
    NUMBER,
    PRESENT,
    PROBABILITY,
    SERVERS,
    SERVICE,
    THROUGHPUT,
)

_LIMITED = "capacity >= 1 and capacity == floor(capacity) and service > 0 and arrivals > 0"
_ADMISSIBLE = (
    "servers >= 1 and servers <= capacity and servers == floor(servers) and servers <= 10000000 and"
    " capacity >= 1 and capacity == floor(capacity) and service > 0 and arrivals > 0"
)
_GATEWAY = (
    "Jain, The Art of Computer Systems Performance Analysis, Wiley 1991, chapter 31: gateway with"
    " two buffers, 125 packets a second, 2 ms each"
)

_CAPACITY = Symbol(
    "capacity", COUNT, "maximum number of customers present, including those in service", "K"
)
_BLOCKING = Symbol("blocking", COUNT, "share of the arrivals that are lost", "P_K")


def _busy_share(load: Any, capacity: Any) -> Any:
    """Return the share of time that one server of a station of finite capacity is busy, by the
    powers of the load or of its inverse, so that none overflows.
    """
    return select(
        load,
        1,
        load * geometric_sum(load, capacity) / geometric_sum(load, capacity + 1),
        geometric_sum(1 / load, capacity) / geometric_sum(1 / load, capacity + 1),
    )


MM1K_BLOCKING = Law(
    name="mm1k-blocking",
    title="Share of arrivals lost at a single server of finite capacity",
    gives=_BLOCKING,
    equation=lambda capacity=_CAPACITY, service=SERVICE, arrivals=ALL_ARRIVALS: (
        1 / geometric_sum(1 / (arrivals * service), capacity + 1)
    ),
    holds=_LIMITED,
    source=KLEINROCK,
    checks=(
        Check((2, 2e-3, 125.0), 0.0476, 5e-5, _GATEWAY),
        Check((4, 1.0, 1.0), 0.2, 1e-16, f"{HAND}: five states alike"),
        Check((1000, 5.0, 1.0), 0.8, 1e-15, f"{HAND}: 1 - 1/5"),
    ),
)

MM1K_THROUGHPUT = Law(
    name="mm1k-throughput",
    title="Customers served by a single server of finite capacity",
    gives=THROUGHPUT,
    equation=lambda capacity=_CAPACITY, service=SERVICE, arrivals=ALL_ARRIVALS: (
        _busy_share(arrivals * service, capacity) / service
    ),
    holds=_LIMITED,
    source=KLEINROCK,
    checks=(
        Check((2, 2e-3, 125.0), 119.05, 5e-3, f"{_GATEWAY}; 125 less 5.95 lost"),
        Check((1000, 5.0, 1.0), 0.2, 1e-15, f"{HAND}: never idle"),
        Check((2, 0.25, 8.0), 3.4285714285714284, 3e-14, f"{HAND}: 6/7 of 4"),
    ),
)

MM1K_NUMBER = Law(
    name="mm1k-number",
    title="Customers at a single server of finite capacity",
    gives=NUMBER,
    equation=lambda capacity=_CAPACITY, service=SERVICE, arrivals=ALL_ARRIVALS: geometric_mean(
        arrivals * service, capacity
    ),
    holds=_LIMITED,
    source=KLEINROCK,
    checks=(
        Check((2, 2e-3, 125.0), 0.286, 5e-4, _GATEWAY),
        Check((1000, 1.0, 1.0), 500.0, 0.0, f"{HAND}: all states alike"),
    ),
)

MM1K_NUMBER_PROBABILITY = Law(
    name="mm1k-number-probability",
    title="Probability of n customers at a single server of finite capacity",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, capacity=_CAPACITY, service=SERVICE, arrivals=ALL_ARRIVALS: (
        1
        / (
            geometric_sum(arrivals * service, capacity - count + 1)
            + geometric_sum(1 / (arrivals * service), count + 1)
            - 1
        )
    ),
    holds=f"count >= 0 and count <= capacity and count == floor(count) and {_LIMITED}",
    source=KLEINROCK,
    checks=(
        Check((0, 2, 2e-3, 125.0), 0.762, 5e-4, _GATEWAY),
        Check((1, 2, 2e-3, 125.0), 0.191, 6e-4, _GATEWAY),
    ),
)

MM1K_RESPONSE_TIME = Law(
    name="mm1k-response-time",
    title="Response time of a single server of finite capacity",
    gives=Symbol(
        "response", TIME, "mean time from arrival to departure of customers that are not lost", "R"
    ),
    equation=lambda capacity=_CAPACITY, service=SERVICE, arrivals=ALL_ARRIVALS: (
        service
        * geometric_mean(arrivals * service, capacity)
        / _busy_share(arrivals * service, capacity)
    ),
    holds=_LIMITED,
    source=KLEINROCK,
    checks=(Check((2, 2e-3, 125.0), 2.40e-3, 5e-6, _GATEWAY),),
)


def _full_probability(capacity: Any, servers: Any, load: Any) -> Any:
    """Return the probability that the station is full, by sums relative to the full state, so that
    an overflow stands for a probability of 0.
    """
    load_per_server = load / servers
    relative_probability_below = real_power(1 / load_per_server, capacity - servers) * (
        1 / erlang_b(load, servers) - 1
    )
    return 1 / (
        relative_probability_below + geometric_sum(1 / load_per_server, capacity - servers + 1)
    )


def _mean_waiting_count(capacity: Any, servers: Any, load: Any) -> Any:
    """Return the mean number of customers that wait: the probability that all servers are busy,
    times the mean of the truncated geometric queue behind them.
    """
    load_per_server = load / servers
    relative_probability_below = (1 / erlang_b(load, servers) - 1) / geometric_sum(
        load_per_server, capacity - servers + 1
    )
    return geometric_mean(load_per_server, capacity - servers) / (1 + relative_probability_below)


MMCK_BLOCKING = Law(
    name="mmck-blocking",
    title="Share of arrivals lost at several servers of finite capacity",
    gives=_BLOCKING,
    equation=lambda capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        _full_probability(capacity, servers, arrivals * service)
    ),
    holds=_ADMISSIBLE,
    source=KLEINROCK,
    checks=(
        Check((3, 2, 1.0, 1.0), 1 / 11, 1e-15, f"{HAND}: 4, 4, 2, 1"),
        Check((3, 2, 1.0, 2.0), 2 / 7, 1e-15, f"{HAND}: 1, 2, 2, 2"),
        Check((2, 2, 1.0, 2.0), 0.4, 1e-15, f"{HAND}: 1, 2, 2"),
        Check((3, 2, 0.5, 2.0), 0.09090909090909091, 9e-16, f"{HAND}: 4, 4, 2, 1"),
    ),
)

MMCK_WAITING_NUMBER = Law(
    name="mmck-waiting-number",
    title="Customers waiting at several servers of finite capacity",
    gives=Symbol("waiting", COUNT, "mean number of customers present but not in service", "L_q"),
    equation=lambda capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        _mean_waiting_count(capacity, servers, arrivals * service)
    ),
    holds=_ADMISSIBLE,
    source=KLEINROCK,
    checks=(
        Check((3, 2, 1.0, 1.0), 1 / 11, 1e-15, f"{HAND}: one, in state 3"),
        Check((3, 2, 1.0, 2.0), 2 / 7, 1e-15, f"{HAND}: one, in state 3"),
        Check((3, 2, 0.5, 2.0), 0.09090909090909091, 9e-16, f"{HAND}: one, in state 3"),
    ),
)

MMCK_WAITING_TIME = Law(
    name="mmck-waiting-time",
    title="Waiting time at several servers of finite capacity",
    gives=Symbol(
        "wait",
        TIME,
        "mean time from arrival to the start of service, for customers that are not lost",
        "W",
    ),
    equation=lambda capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        _mean_waiting_count(capacity, servers, arrivals * service)
        / (arrivals * (1 - _full_probability(capacity, servers, arrivals * service)))
    ),
    holds=f"{_ADMISSIBLE} and arrivals * service <= 1000000 * servers",
    source=KLEINROCK,
    note=(
        "the time follows from the number of customers by Little's law for the customers that are"
        " admitted; the arrival rate may be at most a million times the capacity of the servers,"
        " because of rounding errors"
    ),
    checks=(
        Check((3, 2, 1.0, 1.0), 0.1, 1e-15, f"{HAND}: 1/11 over 10/11"),
        Check((3, 2, 1.0, 2.0), 0.2, 1e-15, f"{HAND}: 2/7 over 10/7"),
        Check((3, 2, 0.5, 2.0), 0.05, 5e-16, f"{HAND}: 1/11 over 20/11"),
    ),
)

MMCK_THROUGHPUT = Law(
    name="mmck-throughput",
    title="Customers served by several servers of finite capacity",
    gives=THROUGHPUT,
    equation=lambda capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        arrivals * (1 - _full_probability(capacity, servers, arrivals * service))
    ),
    holds=f"{_ADMISSIBLE} and arrivals * service <= 1000000 * servers",
    source=KLEINROCK,
    note=(
        "the throughput is the arrival rate minus the rate of losses; the arrival rate may be at"
        " most a million times the capacity of the servers, because of rounding errors"
    ),
    checks=(
        Check((3, 2, 1.0, 1.0), 10 / 11, 1e-15, HAND),
        Check((2, 2, 1.0, 2.0), 1.2, 1e-15, f"{HAND}: 2 x 3/5"),
        Check((3, 2, 0.5, 2.0), 1.8181818181818181, 2e-14, f"{HAND}: 2 x 10/11"),
    ),
)

MMCK_RESPONSE_TIME = Law(
    name="mmck-response-time",
    title="Response time of several servers of finite capacity",
    gives=Symbol(
        "response", TIME, "mean time from arrival to departure of customers that are not lost", "R"
    ),
    equation=lambda capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        service
        + _mean_waiting_count(capacity, servers, arrivals * service)
        / (arrivals * (1 - _full_probability(capacity, servers, arrivals * service)))
    ),
    holds=f"{_ADMISSIBLE} and arrivals * service <= 1000000 * servers",
    source=KLEINROCK,
    note=(
        "the time follows from the number of customers by Little's law for the customers that are"
        " admitted; the arrival rate may be at most a million times the capacity of the servers,"
        " because of rounding errors"
    ),
    checks=(
        Check((3, 2, 1.0, 1.0), 1.1, 1e-15, f"{HAND}: 1 + 1/10"),
        Check((3, 2, 0.5, 2.0), 0.55, 6e-15, f"{HAND}: 0.5 + 1/20"),
    ),
)


def _state_probability(count: Any, capacity: Any, servers: Any, load: Any) -> Any:
    """Return the probability of n customers, relative to the state with all servers just busy if n
    is smaller, else by sums towards both ends of the queue.
    """
    load_per_server = load / servers
    waiting_count = maximum(count - servers, 0)
    relative_probability_below = 1 / erlang_b(load, servers) - 1
    probability_below = (
        poisson(load, count)
        / poisson(load, servers)
        / (relative_probability_below + geometric_sum(load_per_server, capacity - servers + 1))
    )
    relative_queue = (
        geometric_sum(load_per_server, capacity - servers - waiting_count + 1)
        + geometric_sum(1 / load_per_server, waiting_count + 1)
        - 1
    )
    return select(
        count,
        servers,
        probability_below,
        1
        / (
            relative_probability_below * real_power(1 / load_per_server, waiting_count)
            + relative_queue
        ),
    )


MMCK_NUMBER_PROBABILITY = Law(
    name="mmck-number-probability",
    title="Probability of n customers at several servers of finite capacity",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, capacity=_CAPACITY, servers=SERVERS, service=SERVICE, arrivals=ALL_ARRIVALS: (
        _state_probability(count, capacity, servers, arrivals * service)
    ),
    holds=(
        f"count >= 0 and count <= capacity and count == floor(count) and {_ADMISSIBLE} and "
        "poisson(arrivals * service, servers) > 0"
    ),
    source=KLEINROCK,
    note=("the probability that all servers are busy must not be so small that it is rounded to 0"),
    checks=(
        Check((0, 3, 2, 1.0, 1.0), 4 / 11, 1e-15, f"{HAND}: 4, 4, 2, 1"),
        Check((2, 3, 2, 1.0, 1.0), 2 / 11, 1e-15, f"{HAND}: 4, 4, 2, 1"),
        Check((3, 3, 2, 1.0, 1.0), 1 / 11, 1e-15, f"{HAND}: 4, 4, 2, 1"),
        Check((1, 3, 2, 0.5, 2.0), 0.36363636363636365, 4e-15, f"{HAND}: 4, 4, 2, 1"),
        Check((3, 4, 2, 0.5, 2.0), 0.08695652173913043, 9e-16, f"{HAND}: 8, 8, 4, 2, 1"),
    ),
)
