"""One station with Poisson arrivals and exponential service: one server, several, as many as come."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare, whole
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.expression.nodes import maximum, minimum, select
from slipstick.expression.special import erlang_b, exp, exprel, log, poisson, raised
from slipstick.law.law import Law, PublishedRow, Symbol

__all__ = [
    "ERLANG_C",
    "MM1_NUMBER",
    "MM1_NUMBER_PROBABILITY",
    "MM1_NUMBER_TAIL",
    "MM1_RESPONSE_QUANTILE",
    "MM1_RESPONSE_TIME",
    "MM1_WAITING_QUANTILE",
    "MM1_WAITING_TIME",
    "MMC_NUMBER",
    "MMC_NUMBER_PROBABILITY",
    "MMC_RESPONSE_TAIL",
    "MMC_RESPONSE_TIME",
    "MMC_WAITING_QUANTILE",
    "MMC_WAITING_TIME",
    "MMINF_NUMBER",
    "MMINF_NUMBER_PROBABILITY",
]

_KLEINROCK = "Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3"
_ERLANG = "Erlang, 1917; Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3"
_JAIN = "Jain, The Art of Computer Systems Performance Analysis, Wiley 1991, chapter 31"
_GATEWAY = f"{_JAIN}: gateway, 125 packets a second, 2 ms each"
_CENTER = f"{_JAIN}: five terminals, ten students an hour, 20 minutes each"
_HAND = "worked by hand"
_DIGITS = "servers to ten million"

_ARRIVALS = Symbol("arrivals", RATE, "customers that arrive", r"\lambda")
_SERVICE = Symbol("service", TIME, "mean service time of a customer", "S")
_SERVERS = Symbol("servers", COUNT, "servers", "c")
_COUNT = Symbol("count", COUNT, "customers present, in service included", "n")
_SHARE = Symbol("share", COUNT, "share of the customers who are as fast or faster", "p")
_NUMBER = Symbol("number", COUNT, "mean number present, in service included", "L")
_PROBABILITY = Symbol("probability", COUNT, "share of time with so many present", "P_n")
_RESPONSE = Symbol("response", TIME, "mean time from arrival to departure", "R")
_WAIT = Symbol("wait", TIME, "mean time from arrival to the start of service", "W")


def _open(arrivals: Any, service: Any) -> tuple[Comparison, ...]:
    return compare(arrivals, ">=", 0), compare(service, ">=", 0), compare(arrivals * service, "<", 1)


def _counted(count: Any) -> tuple[Comparison, ...]:
    return compare(count, ">=", 0), whole(count)


def _shared(share: Any) -> tuple[Comparison, ...]:
    return compare(share, ">=", 0), compare(share, "<", 1)


def _several(servers: Any, arrivals: Any, service: Any) -> tuple[Comparison, ...]:
    return (
        compare(servers, ">=", 1),
        whole(servers),
        compare(servers, "<=", 10_000_000),
        compare(arrivals, ">=", 0),
        compare(service, ">", 0),
        compare(arrivals * service, "<", servers),
    )


def _waits(servers: Any, load: Any) -> Any:
    """Erlang C from Erlang B: the share of arrivals that find all servers busy."""
    lost = erlang_b(load, servers)
    return lost / (1 - load / servers * (1 - lost))


MM1_RESPONSE_TIME = Law(
    name="mm1-response-time",
    title="Response time of a single server",
    gives=_RESPONSE,
    symbols=(_SERVICE, _ARRIVALS),
    equation=lambda service, arrivals: service / (1 - arrivals * service),
    holds=lambda service, arrivals: _open(arrivals, service),
    source=_KLEINROCK,
    note="exact for exponential service, and for any service under processor sharing",
    rows=(
        PublishedRow({"service": 2e-3, "arrivals": 125.0}, 2.66e-3, 1e-5, _GATEWAY),
        PublishedRow({"service": 0.2, "arrivals": 4.0}, 1.0, 1e-15, f"{_HAND}: 0.2 / 0.2"),
    ),
)

MM1_WAITING_TIME = Law(
    name="mm1-waiting-time",
    title="Waiting time at a single server",
    gives=_WAIT,
    symbols=(_SERVICE, _ARRIVALS),
    equation=lambda service, arrivals: arrivals * service * service / (1 - arrivals * service),
    holds=lambda service, arrivals: _open(arrivals, service),
    source=_KLEINROCK,
    rows=(PublishedRow({"service": 0.2, "arrivals": 4.0}, 0.8, 1e-15, f"{_HAND}: 1.0 - 0.2"),),
)

MM1_NUMBER = Law(
    name="mm1-number",
    title="Customers at a single server",
    gives=_NUMBER,
    symbols=(_SERVICE, _ARRIVALS),
    equation=lambda service, arrivals: arrivals * service / (1 - arrivals * service),
    holds=lambda service, arrivals: _open(arrivals, service),
    source=_KLEINROCK,
    rows=(PublishedRow({"service": 2e-3, "arrivals": 125.0}, 0.33, 5e-3, _GATEWAY),),
)

MM1_NUMBER_PROBABILITY = Law(
    name="mm1-number-probability",
    title="Probability of so many customers at a single server",
    gives=_PROBABILITY,
    symbols=(_COUNT, _SERVICE, _ARRIVALS),
    equation=lambda count, service, arrivals: (1 - arrivals * service) * raised(arrivals * service, count),
    holds=lambda count, service, arrivals: (*_counted(count), *_open(arrivals, service)),
    source=_KLEINROCK,
    rows=(PublishedRow({"count": 2, "service": 0.2, "arrivals": 2.5}, 0.125, 1e-16, f"{_HAND}: 1/2 x 1/4"),),
)

MM1_NUMBER_TAIL = Law(
    name="mm1-number-tail",
    title="Probability of so many customers or more at a single server",
    gives=Symbol("probability", COUNT, "share of time with so many present, or more", r"P_{\geq n}"),
    symbols=(_COUNT, _SERVICE, _ARRIVALS),
    equation=lambda count, service, arrivals: raised(arrivals * service, count),
    holds=lambda count, service, arrivals: (*_counted(count), *_open(arrivals, service)),
    source=_KLEINROCK,
    rows=(
        PublishedRow({"count": 13, "service": 2e-3, "arrivals": 125.0}, 1.49e-8, 5e-11, f"{_GATEWAY}; buffers full"),
    ),
)

MM1_RESPONSE_QUANTILE = Law(
    name="mm1-response-quantile",
    title="Response time that a share of the customers do not exceed",
    gives=Symbol("response", TIME, "time from arrival to departure", "R_p"),
    symbols=(_SHARE, _SERVICE, _ARRIVALS),
    equation=lambda share, service, arrivals: service / (1 - arrivals * service) * log(1 / (1 - share)),
    holds=lambda share, service, arrivals: (*_shared(share), *_open(arrivals, service)),
    source=_KLEINROCK,
    note="first come, first served: the response time is exponential",
    rows=(PublishedRow({"share": 0.9, "service": 0.2, "arrivals": 4.0}, 2.3026, 5e-5, f"{_HAND}: ln 10"),),
)

MM1_WAITING_QUANTILE = Law(
    name="mm1-waiting-quantile",
    title="Waiting time that a share of the customers do not exceed",
    gives=Symbol("wait", TIME, "time from arrival to the start of service", "W_p"),
    symbols=(_SHARE, _SERVICE, _ARRIVALS),
    equation=lambda share, service, arrivals: maximum(
        service / (1 - arrivals * service) * log(arrivals * service / (1 - share)), 0
    ),
    holds=lambda share, service, arrivals: (
        *_shared(share),
        *_open(arrivals, service),
        compare(arrivals * service, ">", 0),
    ),
    source=_KLEINROCK,
    note="first come, first served; 0 for the share that finds nobody there",
    rows=(
        PublishedRow({"share": 0.9, "service": 0.2, "arrivals": 4.0}, 2.0794, 5e-5, f"{_HAND}: ln 8"),
        PublishedRow({"share": 0.1, "service": 0.2, "arrivals": 4.0}, 0.0, 0.0, f"{_HAND}: 20% do not wait"),
    ),
)

ERLANG_C = Law(
    name="erlang-c",
    title="Share of customers who wait at several servers",
    gives=Symbol("waiting", COUNT, "probability that all servers are busy", "C"),
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: _waits(servers, arrivals * service),
    holds=lambda servers, service, arrivals: _several(servers, arrivals, service),
    source=_ERLANG,
    note=_DIGITS,
    rows=(
        PublishedRow({"servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 0.33, 5e-3, _CENTER),
        PublishedRow({"servers": 2, "service": 1.0, "arrivals": 1.0}, 1 / 3, 1e-15, f"{_HAND}: B = 1/5"),
    ),
)

MMC_WAITING_TIME = Law(
    name="mmc-waiting-time",
    title="Waiting time at several servers",
    gives=_WAIT,
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: (
        _waits(servers, arrivals * service) * service / (servers - arrivals * service)
    ),
    holds=lambda servers, service, arrivals: _several(servers, arrivals, service),
    source=_ERLANG,
    note=_DIGITS,
    rows=(
        PublishedRow({"servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 240.0, 6.0, f"{_CENTER}; 4 minutes"),
        PublishedRow({"servers": 2, "service": 1.0, "arrivals": 1.0}, 1 / 3, 1e-15, f"{_HAND}: C / (2 - 1)"),
    ),
)

MMC_RESPONSE_TIME = Law(
    name="mmc-response-time",
    title="Response time of several servers",
    gives=_RESPONSE,
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: (
        service + _waits(servers, arrivals * service) * service / (servers - arrivals * service)
    ),
    holds=lambda servers, service, arrivals: _several(servers, arrivals, service),
    source=_ERLANG,
    note=_DIGITS,
    rows=(PublishedRow({"servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 1440.0, 6.0, f"{_CENTER}; 24 minutes"),),
)

MMC_NUMBER = Law(
    name="mmc-number",
    title="Customers at several servers",
    gives=_NUMBER,
    symbols=(_SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda servers, service, arrivals: (
        arrivals * service + _waits(servers, arrivals * service) * arrivals * service / (servers - arrivals * service)
    ),
    holds=lambda servers, service, arrivals: _several(servers, arrivals, service),
    source=_ERLANG,
    note=_DIGITS,
    rows=(PublishedRow({"servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 4.0, 0.05, _CENTER),),
)

MMC_NUMBER_PROBABILITY = Law(
    name="mmc-number-probability",
    title="Probability of so many customers at several servers",
    gives=_PROBABILITY,
    symbols=(_COUNT, _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda count, servers, service, arrivals: (
        select(
            count,
            servers,
            poisson(arrivals * service, count) / poisson(arrivals * service, servers),
            raised(arrivals * service / servers, count - servers),
        )
        / (1 / erlang_b(arrivals * service, servers) + arrivals * service / (servers - arrivals * service))
    ),
    holds=lambda count, servers, service, arrivals: (
        *_counted(count),
        *_several(servers, arrivals, service),
        compare(poisson(arrivals * service, servers), ">", 0),
    ),
    source=_ERLANG,
    note="from the state with all servers busy, whose weight must not be below the smallest number there is",
    rows=(
        PublishedRow({"count": 0, "servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 0.0318, 2e-4, _CENTER),
        PublishedRow({"count": 3, "servers": 2, "service": 1.0, "arrivals": 1.0}, 1 / 12, 1e-16, f"{_HAND}: 1/3 x 1/4"),
    ),
)

MMC_WAITING_QUANTILE = Law(
    name="mmc-waiting-quantile",
    title="Waiting time at several servers that a share of the customers do not exceed",
    gives=Symbol("wait", TIME, "time from arrival to the start of service", "W_p"),
    symbols=(_SHARE, _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda share, servers, service, arrivals: maximum(
        service / (servers - arrivals * service) * log(_waits(servers, arrivals * service) / (1 - share)), 0
    ),
    holds=lambda share, servers, service, arrivals: (*_shared(share), *_several(servers, arrivals, service)),
    source=_ERLANG,
    note="first come, first served; 0 for the share that finds a server free",
    rows=(PublishedRow({"share": 0.9, "servers": 5, "service": 1200.0, "arrivals": 1 / 360}, 840.0, 30.0, _CENTER),),
)


def _late(load: Any, servers: Any, elapsed: Any) -> Any:
    """exp(-x) (1 + C (1 - exp(-y x)) / y) with y = c - 1 - a, so written that neither y = 0 nor a large x matters."""
    spare = servers - 1 - load
    late = elapsed * exp(-elapsed * (1 + minimum(spare, 0))) * exprel(-elapsed * maximum(spare, -spare))
    return exp(-elapsed) + _waits(servers, load) * late


MMC_RESPONSE_TAIL = Law(
    name="mmc-response-tail",
    title="Share of customers whose response time exceeds a limit",
    gives=Symbol("late", COUNT, "probability of a longer response", r"P_{R>t}"),
    symbols=(Symbol("limit", TIME, "a response time", "t"), _SERVERS, _SERVICE, _ARRIVALS),
    equation=lambda limit, servers, service, arrivals: _late(arrivals * service, servers, limit / service),
    holds=lambda limit, servers, service, arrivals: (compare(limit, ">=", 0), *_several(servers, arrivals, service)),
    source=_KLEINROCK,
    note="first come, first served",
    rows=(
        PublishedRow({"limit": 1.0, "servers": 1, "service": 0.2, "arrivals": 4.0}, 0.36788, 5e-6, f"{_HAND}: exp(-1)"),
        PublishedRow(
            {"limit": 1.0, "servers": 2, "service": 1.0, "arrivals": 1.0}, 0.49051, 5e-6, f"{_HAND}: 4/3 exp(-1)"
        ),
    ),
)

MMINF_NUMBER = Law(
    name="mminf-number",
    title="Customers where nobody waits",
    gives=_NUMBER,
    symbols=(_SERVICE, _ARRIVALS),
    equation=lambda service, arrivals: arrivals * service,
    holds=lambda service, arrivals: (compare(arrivals, ">=", 0), compare(service, ">=", 0)),
    source=_KLEINROCK,
    note="for service times of any kind",
    rows=(PublishedRow({"service": 0.5, "arrivals": 8.0}, 4.0, 0.0, _HAND),),
)

MMINF_NUMBER_PROBABILITY = Law(
    name="mminf-number-probability",
    title="Probability of so many customers where nobody waits",
    gives=_PROBABILITY,
    symbols=(_COUNT, _SERVICE, _ARRIVALS),
    equation=lambda count, service, arrivals: poisson(arrivals * service, count),
    holds=lambda count, service, arrivals: (*_counted(count), compare(arrivals, ">", 0), compare(service, ">", 0)),
    source=_KLEINROCK,
    note="for service times of any kind",
    rows=(PublishedRow({"count": 3, "service": 0.5, "arrivals": 4.0}, 0.18045, 5e-6, f"{_HAND}: 8/6 exp(-2)"),),
)
