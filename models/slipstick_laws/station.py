"""One station with Poisson arrivals and exponential service: one server, several, infinitely
many.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import COUNT, TIME, maximum, minimum, select
from slipstick.expression.special import erlang_b, exp, exprel, log, palm, poisson, real_power
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import (
    ARRIVALS,
    HAND,
    JAIN,
    KLEINROCK,
    LATE,
    LIMIT,
    NUMBER,
    PRESENT,
    PROBABILITY,
    RESPONSE,
    SERVERS,
    SERVICE,
    WAIT,
    all_busy_probability,
)

_OPEN = "arrivals >= 0 and service >= 0 and arrivals * service < 1"
_SEVERAL = (
    "servers >= 1 and servers == floor(servers) and servers <= 10000000 and arrivals >= 0 and"
    " service > 0 and arrivals * service < servers"
)
_ERLANG = "Erlang, 1917; Kleinrock, Queueing Systems volume 1, Wiley 1975, chapter 3"
_GATEWAY = f"{JAIN}: gateway, 125 packets a second, 2 ms each"
_CENTER = f"{JAIN}: five terminals, ten students an hour, 20 minutes each"
_DIGITS = "the law computes up to ten million servers"

_SHARE = Symbol("share", COUNT, "share of the customers with at most this time", "p")


MM1_RESPONSE_TIME = Law(
    name="mm1-response-time",
    title="Response time of a single server",
    gives=RESPONSE,
    equation=lambda service=SERVICE, arrivals=ARRIVALS: service / (1 - arrivals * service),
    holds=_OPEN,
    source=KLEINROCK,
    note="the law is exact for exponential service, and for any service under processor sharing",
    checks=(
        Check((2e-3, 125.0), 2.66e-3, 1e-5, _GATEWAY),
        Check((0.2, 4.0), 1.0, 1e-15, f"{HAND}: 0.2 / 0.2"),
    ),
)

_FAILURES = Symbol("failures", TIME, "mean time from a repair to the next failure", r"t_f")
_REPAIR = Symbol("repair", TIME, "mean time of a repair", r"t_r")


def _response_time_with_failures(service: Any, arrivals: Any, failures: Any, repair: Any) -> Any:
    """Return the response time at a server that fails, busy or idle, and resumes its service."""
    availability = failures / (failures + repair)
    # Without others: each service is stretched by 1 / availability, after the rest of a repair.
    return (service + availability * (1 - availability) * repair) / (
        availability - arrivals * service
    )


MM1_BREAKDOWN_RESPONSE_TIME = Law(
    name="mm1-breakdown-response-time",
    title="Response time of a single server that breaks down",
    gives=RESPONSE,
    equation=lambda service=SERVICE, arrivals=ARRIVALS, failures=_FAILURES, repair=_REPAIR: (
        _response_time_with_failures(service, arrivals, failures, repair)
    ),
    holds=(
        "arrivals >= 0 and service >= 0 and failures > 0 and repair >= 0 and"
        " arrivals * service * (failures + repair) < failures"
    ),
    source=(
        "White and Christie, Operations Research 6(1), 1958, 79-95; Avi-Itzhak and Naor, Operations"
        " Research 11(3), 1963, 303-320"
    ),
    note=(
        "all times are exponential; a server fails whether it is busy or idle, and later resumes"
        " the interrupted service"
    ),
    checks=(
        Check((1.0, 0.5, 20.0, 5.0), 6.0, 1e-14, f"{HAND}: 1.8 / 0.3; 3 customers present"),
        Check((1.0, 0.0, 20.0, 5.0), 2.25, 1e-15, f"{HAND}: 1 / 0.8 and a fifth of 5"),
        Check((0.2, 4.0, 1.0, 0.0), 1.0, 1e-14, f"{HAND}: as M/M/1"),
    ),
)

MM1_WAITING_TIME = Law(
    name="mm1-waiting-time",
    title="Waiting time at a single server",
    gives=WAIT,
    equation=lambda service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service * service / (1 - arrivals * service)
    ),
    holds=_OPEN,
    source=KLEINROCK,
    checks=(Check((0.2, 4.0), 0.8, 1e-15, f"{HAND}: 1.0 - 0.2"),),
)

MM1_NUMBER = Law(
    name="mm1-number",
    title="Customers at a single server",
    gives=NUMBER,
    equation=lambda service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service / (1 - arrivals * service)
    ),
    holds=_OPEN,
    source=KLEINROCK,
    checks=(Check((2e-3, 125.0), 0.33, 5e-3, _GATEWAY),),
)

MM1_NUMBER_PROBABILITY = Law(
    name="mm1-number-probability",
    title="Probability of n customers at a single server",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, service=SERVICE, arrivals=ARRIVALS: (
        (1 - arrivals * service) * real_power(arrivals * service, count)
    ),
    holds=f"count >= 0 and count == floor(count) and {_OPEN}",
    source=KLEINROCK,
    checks=(Check((2, 0.2, 2.5), 0.125, 1e-16, f"{HAND}: 1/2 x 1/4"),),
)

MM1_NUMBER_TAIL = Law(
    name="mm1-number-tail",
    title="Probability of at least n customers at a single server",
    gives=Symbol(
        "probability", COUNT, "share of time with n or more customers present", r"P_{\geq n}"
    ),
    equation=lambda count=PRESENT, service=SERVICE, arrivals=ARRIVALS: real_power(
        arrivals * service, count
    ),
    holds=f"count >= 0 and count == floor(count) and {_OPEN}",
    source=KLEINROCK,
    checks=(Check((13, 2e-3, 125.0), 1.49e-8, 5e-11, f"{_GATEWAY}; buffers full"),),
)

MM1_RESPONSE_QUANTILE = Law(
    name="mm1-response-quantile",
    title="Quantile of the response time at a single server",
    gives=Symbol("response", TIME, "time from arrival to departure", "R_p"),
    equation=lambda share=_SHARE, service=SERVICE, arrivals=ARRIVALS: (
        service / (1 - arrivals * service) * log(1 / (1 - share))
    ),
    holds=f"share >= 0 and share < 1 and {_OPEN}",
    source=KLEINROCK,
    note="the discipline is first come, first served; the response time is exponential",
    words="p50 p90 p95 p99 percentile tail latency",
    checks=(
        Check((0.9, 0.2, 4.0), 2.3026, 5e-5, f"{HAND}: ln 10"),
        Check((0.9, 0.2, 2.0), 0.7675283643313486, 8e-15, f"{HAND}: ln 10 / 3"),
    ),
)

MM1_WAITING_QUANTILE = Law(
    name="mm1-waiting-quantile",
    title="Quantile of the waiting time at a single server",
    gives=Symbol("wait", TIME, "time from arrival to the start of service", "W_p"),
    equation=lambda share=_SHARE, service=SERVICE, arrivals=ARRIVALS: maximum(
        service / (1 - arrivals * service) * log(arrivals * service / (1 - share)), 0
    ),
    holds=f"share >= 0 and share < 1 and {_OPEN} and arrivals * service > 0",
    source=KLEINROCK,
    note=(
        "the discipline is first come, first served; if the share is below the probability that the"
        " station is empty, the wait is 0"
    ),
    words="p50 p90 p95 p99 percentile tail latency",
    checks=(
        Check((0.9, 0.2, 4.0), 2.0794, 5e-5, f"{HAND}: ln 8"),
        Check((0.1, 0.2, 4.0), 0.0, 0.0, f"{HAND}: 20% do not wait"),
        Check((0.9, 0.2, 2.0), 0.46209812037329684, 5e-15, f"{HAND}: ln 4 / 3"),
    ),
)

ERLANG_C = Law(
    name="erlang-c",
    title="Probability of waiting at several servers (Erlang C)",
    gives=Symbol("waiting", COUNT, "probability that all servers are busy", "C"),
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: all_busy_probability(
        servers, arrivals * service
    ),
    holds=_SEVERAL,
    source=_ERLANG,
    note=_DIGITS,
    checks=(
        Check((5, 1200.0, 1 / 360), 0.33, 5e-3, _CENTER),
        Check((2, 1.0, 1.0), 1 / 3, 1e-15, f"{HAND}: B = 1/5"),
    ),
)

MMC_WAITING_TIME = Law(
    name="mmc-waiting-time",
    title="Waiting time at several servers",
    gives=WAIT,
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        all_busy_probability(servers, arrivals * service) * service / (servers - arrivals * service)
    ),
    holds=_SEVERAL,
    source=_ERLANG,
    note=_DIGITS,
    checks=(
        Check((5, 1200.0, 1 / 360), 240.0, 6.0, f"{_CENTER}; 4 minutes"),
        Check((2, 1.0, 1.0), 1 / 3, 1e-15, f"{HAND}: C / (2 - 1)"),
    ),
)

MMC_RESPONSE_TIME = Law(
    name="mmc-response-time",
    title="Response time of several servers",
    gives=RESPONSE,
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        service
        + all_busy_probability(servers, arrivals * service)
        * service
        / (servers - arrivals * service)
    ),
    holds=_SEVERAL,
    source=_ERLANG,
    note=_DIGITS,
    checks=(Check((5, 1200.0, 1 / 360), 1440.0, 6.0, f"{_CENTER}; 24 minutes"),),
)

MMC_NUMBER = Law(
    name="mmc-number",
    title="Customers at several servers",
    gives=NUMBER,
    equation=lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        arrivals * service
        + all_busy_probability(servers, arrivals * service)
        * arrivals
        * service
        / (servers - arrivals * service)
    ),
    holds=_SEVERAL,
    source=_ERLANG,
    note=_DIGITS,
    checks=(Check((5, 1200.0, 1 / 360), 4.0, 0.05, _CENTER),),
)

MMC_NUMBER_PROBABILITY = Law(
    name="mmc-number-probability",
    title="Probability of n customers at several servers",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        select(
            count,
            servers,
            poisson(arrivals * service, count) / poisson(arrivals * service, servers),
            real_power(arrivals * service / servers, count - servers),
        )
        / (
            1 / erlang_b(arrivals * service, servers)
            + arrivals * service / (servers - arrivals * service)
        )
    ),
    holds=(
        f"count >= 0 and count == floor(count) and {_SEVERAL} and poisson(arrivals * service,"
        " servers) > 0"
    ),
    source=_ERLANG,
    note=(
        "the probabilities are computed from the state with all servers busy; this state must not"
        " be so improbable that its probability is rounded to 0"
    ),
    checks=(
        Check((0, 5, 1200.0, 1 / 360), 0.0318, 2e-4, _CENTER),
        Check((3, 2, 1.0, 1.0), 1 / 12, 1e-16, f"{HAND}: 1/3 x 1/4"),
        Check((3, 2, 0.5, 3.2), 0.11377777777777778, 1e-15, f"{HAND}: 0.8 x 1.28 / 9"),
        Check(
            (1, 2, 0.5, 3.2), 0.17777777777777778, 2e-15, f"{HAND}: weights 1, 1.6, 6.4 together"
        ),
    ),
)

MMC_WAITING_QUANTILE = Law(
    name="mmc-waiting-quantile",
    title="Quantile of the waiting time at several servers",
    gives=Symbol("wait", TIME, "time from arrival to the start of service", "W_p"),
    equation=lambda share=_SHARE, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: maximum(
        service
        / (servers - arrivals * service)
        * log(all_busy_probability(servers, arrivals * service) / (1 - share)),
        0,
    ),
    holds=f"share >= 0 and share < 1 and {_SEVERAL}",
    source=_ERLANG,
    note=(
        "the discipline is first come, first served; if the share is below the probability that a"
        " server is free, the wait is 0"
    ),
    words="p50 p90 p95 p99 percentile tail latency",
    checks=(
        Check((0.9, 5, 1200.0, 1 / 360), 840.0, 30.0, _CENTER),
        Check((0.1, 2, 1.0, 1.0), 0.0, 0.0, f"{HAND}: two of three do not wait"),
    ),
)


_WAITED = Symbol("limit", TIME, "limit of the waiting time", "t")

MMC_SERVICE_LEVEL = Law(
    name="mmc-service-level",
    title=(
        "Service level of several servers: share of the customers that wait no longer than a limit"
    ),
    gives=Symbol("share", COUNT, "share of the customers that wait at most the limit", "p"),
    equation=lambda limit=_WAITED, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        1
        - all_busy_probability(servers, arrivals * service)
        * exp(-limit * (servers - arrivals * service) / service)
    ),
    holds=f"limit >= 0 and {_SEVERAL}",
    source=_ERLANG,
    note=(
        "the discipline is first come, first served; this law is the inverse of"
        " law/mmc-waiting-quantile"
    ),
    words="SLA SLO call centre within seconds",
    checks=(
        Check((20.0, 14, 180.0, 200 / 3600), 0.88835, 5e-6, "pyworkforce, example of Erlang C"),
        Check((0.0, 1, 0.2, 4.0), 0.2, 1e-15, f"{HAND}: a free server"),
    ),
)


def _lateness_probability(load: Any, servers: Any, elapsed: Any) -> Any:
    """Return the probability that the response takes longer than a time: exp(-x) (1 + C (1 - exp(-y
    x)) / y) with y = c - 1 - a, written so that neither y = 0 nor a large x loses digits.
    """
    spare_servers = servers - 1 - load
    waiting_tail = (
        elapsed
        * exp(-elapsed * (1 + minimum(spare_servers, 0)))
        * exprel(-elapsed * maximum(spare_servers, -spare_servers))
    )
    return exp(-elapsed) + all_busy_probability(servers, load) * waiting_tail


MMC_RESPONSE_TAIL = Law(
    name="mmc-response-tail",
    title="Share of customers whose response time exceeds a limit",
    gives=LATE,
    equation=lambda limit=LIMIT, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        _lateness_probability(arrivals * service, servers, limit / service)
    ),
    holds=f"limit >= 0 and {_SEVERAL}",
    source=KLEINROCK,
    note="the discipline is first come, first served",
    words="p99 percentile tail latency SLA SLO deadline",
    checks=(
        Check((1.0, 1, 0.2, 4.0), 0.36788, 5e-6, f"{HAND}: exp(-1)"),
        Check((1.0, 2, 1.0, 1.0), 0.49051, 5e-6, f"{HAND}: 4/3 exp(-1)"),
        Check((1.0, 3, 1.0, 1.0), 0.3890198191655177, 4e-15, f"{HAND}: a delay of 1/11"),
    ),
)

_IMPATIENT = (
    "servers >= 1 and servers == floor(servers) and servers <= 10000000 and arrivals > 0 and"
    " service > 0 and patience > 0"
)
_PALM = (
    "Palm, Tele 4, 1953; Mandelbaum and Zeltyn, The Palm/Erlang-A Queue, with Applications to Call"
    " Centers, 2005"
)
_CALLS = (
    "Mandelbaum and Zeltyn 2005: 50 agents, 48 calls a minute of one minute, patience of two"
    " minutes"
)

_PATIENCE = Symbol(
    "patience",
    TIME,
    "mean of the exponential time until a waiting customer abandons the queue",
    r"1/\theta",
)
_KINDEST = (
    "service times and patience are exponential; the mean is over all customers, including those"
    " that abandon the queue"
)


def _delay_probability(servers: Any, service: Any, arrivals: Any, patience: Any) -> Any:
    """Return the probability that an arrival waits: the states with a free server add up to Erlang
    B's terms, those without one to Palm's function.
    """
    loss_probability = erlang_b(arrivals * service, servers)
    return 1 / (
        1 + palm(arrivals * patience, servers * patience / service) * (1 / loss_probability - 1)
    )


def _abandonment_share(servers: Any, service: Any, arrivals: Any, patience: Any) -> Any:
    """Return the share of waiting customers that abandon: 1 / (rho A) + 1 - 1 / rho [1]."""
    inverse_load = servers / (arrivals * service)
    abandoning_share = (
        palm(arrivals * patience, servers * patience / service) * inverse_load + 1 - inverse_load
    )
    return _delay_probability(servers, service, arrivals, patience) * abandoning_share


IMPATIENCE = tuple(
    Law(
        name=f"mmc-patience-{name}",
        title=f"{title} at several servers with impatient customers (Erlang A)",
        gives=gives,
        equation=equation,
        holds=_IMPATIENT,
        source=_PALM,
        note=_KINDEST,
        checks=checks,
    )
    for name, title, gives, equation, checks in (
        (
            "delayed",
            "Share of customers that wait",
            Symbol("delayed", COUNT, "share of customers that find all servers busy", r"P_{W>0}"),
            lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS, patience=_PATIENCE: (
                _delay_probability(servers, service, arrivals, patience)
            ),
            (
                Check((1, 1.0, 1.0, 1.0), 0.63212, 5e-6, f"{HAND}: 1 - 1/e"),
                Check((2, 0.5, 3.0, 0.75), 0.4676814561598683, 6e-15, f"{HAND}: states added up"),
            ),
        ),
        (
            "abandonment",
            "Share of customers that abandon the queue",
            Symbol("abandonment", COUNT, "share of customers that abandon the queue", r"P_{Ab}"),
            lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS, patience=_PATIENCE: (
                _abandonment_share(servers, service, arrivals, patience)
            ),
            (
                Check((50, 60.0, 0.8, 120.0), 0.031, 5e-4, _CALLS),
                Check((1, 1.0, 1.0, 1.0), 0.36788, 5e-6, f"{HAND}: 1/e"),
            ),
        ),
        (
            "waiting-time",
            "Waiting time",
            Symbol(
                "wait",
                TIME,
                "mean time from arrival to the start of service, or until the queue is abandoned",
                "W",
            ),
            lambda servers=SERVERS, service=SERVICE, arrivals=ARRIVALS, patience=_PATIENCE: (
                patience * _abandonment_share(servers, service, arrivals, patience)
            ),
            (Check((50, 60.0, 0.8, 120.0), 3.7, 5e-2, _CALLS),),
        ),
    )
)
"""Customers that abandon the queue of several servers."""

MMINF_NUMBER = Law(
    name="mminf-number",
    title="Customers at infinitely many servers",
    gives=NUMBER,
    equation=lambda service=SERVICE, arrivals=ARRIVALS: arrivals * service,
    holds="arrivals >= 0 and service >= 0",
    source=KLEINROCK,
    note="the law holds for any distribution of service times",
    checks=(Check((0.5, 8.0), 4.0, 0.0, HAND),),
)

MMINF_NUMBER_PROBABILITY = Law(
    name="mminf-number-probability",
    title="Probability of n customers at infinitely many servers",
    gives=PROBABILITY,
    equation=lambda count=PRESENT, service=SERVICE, arrivals=ARRIVALS: poisson(
        arrivals * service, count
    ),
    holds="count >= 0 and count == floor(count) and arrivals > 0 and service > 0",
    source=KLEINROCK,
    note="the law holds for any distribution of service times",
    checks=(Check((3, 0.5, 4.0), 0.18045, 5e-6, f"{HAND}: 8/6 exp(-2)"),),
)
