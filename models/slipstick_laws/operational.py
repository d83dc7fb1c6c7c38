"""Laws between measured quantities of a system, which hold for any distribution; and how servers
are counted for a load, and a backlog drains.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, RATE, TIME, sqrt
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import ARRIVALS, DENNING_BUZEN, HAND, LITTLE, SERVERS, SERVICE

_LAZOWSKA = (
    "Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984, chapter 3"
)
_TIMESHARING = (
    "timesharing: 17 terminals, 80 visits of 50 ms to a disk that does 15.70 requests a second,"
    " 18 s of thinking"
)

_RATE = Symbol("throughput", RATE, "rate of completions of customers", "X")
_TIME = Symbol("time", TIME, "mean time that a customer spends in the system", "R")
_CUSTOMERS = Symbol(
    "customers", COUNT, "number of customers of the system, including those that think", "N"
)
_THINK = Symbol("think", TIME, "mean think time", "Z")
_VISITS = Symbol(
    "visits", COUNT, "number of visits to the station per completion of the system", "V_k"
)
_BUSY = Symbol("utilization", COUNT, "mean fraction of time for which a server is busy", "U")

LITTLES_LAW = Law(
    name="little",
    title="Little's law: customers present from throughput and time",
    gives=Symbol("number", COUNT, "mean number of customers present", "L"),
    equation=lambda throughput=_RATE, time=_TIME: throughput * time,
    holds="throughput >= 0 and time >= 0",
    source=LITTLE,
    note=(
        "the law holds for any system in steady state, with any order of service, any"
        " distributions, and for any part of the system"
    ),
    words="concurrency in flight number in system L = lambda W",
    checks=(
        Check((40.0, 0.1), 4.0, 1e-15, f"{_LAZOWSKA}: a disk with 4 requests present"),
        Check((0.5, 15.0), 7.5, 0.0, f"{_LAZOWSKA}: 7.5 users wait"),
    ),
)

UTILIZATION_LAW = Law(
    name="utilization-law",
    title="Utilization law: fraction of the servers of a station that is busy",
    gives=_BUSY,
    equation=lambda throughput=_RATE, service=SERVICE, servers=SERVERS: (
        throughput * service / servers
    ),
    holds="throughput >= 0 and service >= 0 and servers > 0 and throughput * service <= servers",
    source=f"{DENNING_BUZEN}; {_LAZOWSKA}",
    note="this is Little's law applied to the servers",
    words="load rho cpu percent busy",
    checks=(
        Check((40.0, 0.0225, 1.0), 0.9, 1e-15, f"{_LAZOWSKA}: a disk, 40 requests of 22.5 ms"),
        Check((15.7, 0.05, 2.0), 0.3925, 1e-15, f"{HAND}: 0.785 / 2"),
    ),
)

SERVICE_DEMAND_LAW = Law(
    name="service-demand-law",
    title="Service demand from a measured utilization and throughput",
    gives=Symbol("demand", TIME, "service time per completion of the system", "D"),
    equation=lambda utilization=_BUSY, servers=SERVERS, throughput=_RATE: (
        utilization * servers / throughput
    ),
    holds="utilization >= 0 and utilization <= 1 and servers > 0 and throughput > 0",
    source=_LAZOWSKA,
    words="demand from load test utilization law solved for the demand",
    checks=(
        Check((0.785, 1.0, 0.19625), 4.0, 1e-14, f"{_TIMESHARING}: 80 visits of 50 ms"),
        Check((0.25, 4.0, 50.0), 0.02, 1e-16, f"{HAND}: one server at 50 a second"),
    ),
)

FORCED_FLOW_LAW = Law(
    name="forced-flow-law",
    title="Forced flow law: throughput of a station from that of the system",
    gives=Symbol("station_throughput", RATE, "rate of completions at the station", "X_k"),
    equation=lambda visits=_VISITS, throughput=_RATE: visits * throughput,
    holds="visits >= 0 and throughput >= 0",
    source=f"{DENNING_BUZEN}; {_LAZOWSKA}",
    words="visit ratio",
    checks=(Check((80.0, 0.19625), 15.7, 1e-14, _TIMESHARING),),
)

RESPONSE_TIME_LAW = Law(
    name="response-time-law",
    title="Response time law of a closed system: response time from throughput and think time",
    gives=Symbol("response", TIME, "mean response time, without thinking", "R"),
    equation=lambda customers=_CUSTOMERS, throughput=_RATE, think=_THINK: (
        customers / throughput - think
    ),
    holds="customers > 0 and throughput > 0 and think >= 0 and customers >= throughput * think",
    source=f"{DENNING_BUZEN}; {_LAZOWSKA}",
    note="this is Little's law applied to the whole system",
    words="interactive response time law users load test think time",
    checks=(
        Check((17.0, 0.19625, 18.0), 68.6242, 5e-5, _TIMESHARING),
        Check((10.0, 0.5, 5.0), 15.0, 0.0, f"{HAND}: 20 - 5"),
    ),
)

_TARGET = Symbol("target", COUNT, "target utilization of the servers", r"\rho^*")

SERVERS_AT_TARGET = Law(
    name="autoscaler-servers",
    title="Number of servers that an autoscaler with a target utilization reaches",
    gives=Symbol("servers", COUNT, "mean number of servers; round up for a sufficient number", "c"),
    equation=lambda arrivals=ARRIVALS, service=SERVICE, target=_TARGET: arrivals * service / target,
    holds="arrivals >= 0 and service >= 0 and target > 0 and target <= 1",
    source=f"{DENNING_BUZEN}: the utilization law, solved for the number of servers",
    note="the load must change slowly; law/mmc-waiting-time gives the waiting times at a target",
    words="HPA replicas capacity planning target utilization scale",
    checks=(Check((1000.0, 0.02, 0.7), 28.5714, 5e-5, f"{HAND}: 20 / 0.7"),),
)

_QUALITY = Symbol(
    "quality", COUNT, "number of spare servers divided by the square root of the load", r"\beta"
)

SQUARE_ROOT_STAFFING = Law(
    name="square-root-staffing",
    title="Number of servers for a load by the square root rule",
    gives=Symbol("servers", COUNT, "number of servers; round up for a sufficient number", "c"),
    equation=lambda arrivals=ARRIVALS, service=SERVICE, quality=_QUALITY: (
        arrivals * service + quality * sqrt(arrivals * service)
    ),
    holds="arrivals > 0 and service > 0 and quality > 0",
    source="Halfin and Whitt, Operations Research 29(3), 1981",
    note=(
        "at large loads about 51%, 23% and 9% of the customers wait with a quality of 0.5, 1 and"
        " 1.5; at a load of 20, with servers rounded up, 42%, 21% and 10% wait"
    ),
    exact=False,
    words="safety staffing agents call centre Halfin-Whitt capacity planning",
    checks=(Check((5.0, 20.0, 1.5), 115.0, 1e-12, f"{HAND}: 100 + 1.5 x 10"),),
)

_BACKLOG = Symbol("backlog", COUNT, "number of customers present at the start", "n")

DRAIN_TIME = Law(
    name="drain-time",
    title="Time until a backlog is drained while arrivals continue (fluid limit)",
    gives=Symbol("time", TIME, "time until the backlog is gone", "t"),
    equation=lambda backlog=_BACKLOG, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        backlog * service / (servers - arrivals * service)
    ),
    holds=(
        "backlog >= 0 and servers > 0 and service > 0 and arrivals >= 0 and arrivals * service <"
        " servers"
    ),
    source="Newell, Applications of Queueing Theory, Chapman and Hall 1982, chapter 2",
    note=(
        "this is a fluid limit; for one server and Poisson arrivals it is the mean time until the"
        " server is empty; for c exponential servers, and a backlog reduced by c - 1, it is the"
        " mean time until the first server is idle"
    ),
    exact=False,
    words="queue lag consumers kafka recover catch up backlog fluid",
    checks=(
        Check((1000.0, 5.0, 0.02, 200.0), 20.0, 1e-13, f"{HAND}: 1000 at 250 - 200 a second"),
        Check((12.0, 1.0, 0.2, 4.0), 12.0, 1e-13, f"{HAND}: 12 at 5 - 4 a second"),
    ),
)
