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

_RATE = Symbol("throughput", RATE, "completions of customers", "X")
_TIME = Symbol("time", TIME, "mean time that a customer spends there", "R")
_CUSTOMERS = Symbol("customers", COUNT, "customers of the system, those that think included", "N")
_THINK = Symbol("think", TIME, "mean think time", "Z")
_VISITS = Symbol("visits", COUNT, "visits to the station for one completion of the system", "V_k")
_BUSY = Symbol("utilization", COUNT, "part of the time that a server is busy, on average", "U")

LITTLES_LAW = Law(
    name="little",
    title="Little's law: customers present from throughput and time",
    gives=Symbol("number", COUNT, "mean number of customers present", "L"),
    equation=lambda throughput=_RATE, time=_TIME: throughput * time,
    holds="throughput >= 0 and time >= 0",
    source=LITTLE,
    note="for any system in steady state, whatever its order, distributions and boundaries",
    words="concurrency in flight number in system L = lambda W",
    checks=(
        Check((40.0, 0.1), 4.0, 1e-15, f"{_LAZOWSKA}: a disk with 4 requests present"),
        Check((0.5, 15.0), 7.5, 0.0, f"{_LAZOWSKA}: 7.5 users wait"),
    ),
)

UTILIZATION_LAW = Law(
    name="utilization-law",
    title="Utilization law: busy part of the servers of a station",
    gives=_BUSY,
    equation=lambda throughput=_RATE, service=SERVICE, servers=SERVERS: (
        throughput * service / servers
    ),
    holds="throughput >= 0 and service >= 0 and servers > 0 and throughput * service <= servers",
    source=f"{DENNING_BUZEN}; {_LAZOWSKA}",
    note="Little's law of the servers",
    words="load rho cpu percent busy",
    checks=(
        Check((40.0, 0.0225, 1.0), 0.9, 1e-15, f"{_LAZOWSKA}: a disk, 40 requests of 22.5 ms"),
        Check((15.7, 0.05, 2.0), 0.3925, 1e-15, f"{HAND}: 0.785 / 2"),
    ),
)

SERVICE_DEMAND_LAW = Law(
    name="service-demand-law",
    title="Service demand from a measured utilization and throughput",
    gives=Symbol("demand", TIME, "service that one completion of the system needs", "D"),
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
    gives=Symbol("station_throughput", RATE, "completions at the station", "X_k"),
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
    note="Little's law of the whole system",
    words="interactive response time law users load test think time",
    checks=(
        Check((17.0, 0.19625, 18.0), 68.6242, 5e-5, _TIMESHARING),
        Check((10.0, 0.5, 5.0), 15.0, 0.0, f"{HAND}: 20 - 5"),
    ),
)

_TARGET = Symbol("target", COUNT, "utilization that the servers shall have", r"\rho^*")

SERVERS_AT_TARGET = Law(
    name="autoscaler-servers",
    title="Servers at which an autoscaler that keeps a target utilization settles",
    gives=Symbol("servers", COUNT, "servers on average; rounded up there are enough", "c"),
    equation=lambda arrivals=ARRIVALS, service=SERVICE, target=_TARGET: arrivals * service / target,
    holds="arrivals >= 0 and service >= 0 and target > 0 and target <= 1",
    source=f"{DENNING_BUZEN}: the utilization law, solved for the servers",
    note="for load that changes slowly; what a target does to waiting times says law/mmc-waiting-time",
    words="HPA replicas capacity planning target utilization scale",
    checks=(Check((1000.0, 0.02, 0.7), 28.5714, 5e-5, f"{HAND}: 20 / 0.7"),),
)

_QUALITY = Symbol("quality", COUNT, "spare servers in units of the root of the load", r"\beta")

SQUARE_ROOT_STAFFING = Law(
    name="square-root-staffing",
    title="Servers for a load by the square root rule",
    gives=Symbol("servers", COUNT, "servers; rounded up there are enough", "c"),
    equation=lambda arrivals=ARRIVALS, service=SERVICE, quality=_QUALITY: (
        arrivals * service + quality * sqrt(arrivals * service)
    ),
    holds="arrivals > 0 and service > 0 and quality > 0",
    source="Halfin and Whitt, Operations Research 29(3), 1981",
    note=(
        "with quality 0.5, 1 and 1.5 about 51%, 23% and 9% of the customers wait at large loads; at a"
        " load of 20, servers rounded up, 42%, 21% and 10%"
    ),
    exact=False,
    words="safety staffing agents call centre Halfin-Whitt capacity planning",
    checks=(Check((5.0, 20.0, 1.5), 115.0, 1e-12, f"{HAND}: 100 + 1.5 x 10"),),
)

_BACKLOG = Symbol("backlog", COUNT, "customers present at the start", "n")

DRAIN_TIME = Law(
    name="drain-time",
    title="Time until a backlog is drained while arrivals continue (fluid limit)",
    gives=Symbol("time", TIME, "until the backlog is gone", "t"),
    equation=lambda backlog=_BACKLOG, servers=SERVERS, service=SERVICE, arrivals=ARRIVALS: (
        backlog * service / (servers - arrivals * service)
    ),
    holds=(
        "backlog >= 0 and servers > 0 and service > 0 and arrivals >= 0 and arrivals * service <"
        " servers"
    ),
    source="Newell, Applications of Queueing Theory, Chapman and Hall 1982, chapter 2",
    note=(
        "a fluid limit; for one server and Poisson arrivals it is the mean time until the server is"
        " empty, and for c exponential servers, with a backlog smaller by c - 1, until one is idle"
    ),
    exact=False,
    words="queue lag consumers kafka recover catch up backlog fluid",
    checks=(
        Check((1000.0, 5.0, 0.02, 200.0), 20.0, 1e-13, f"{HAND}: 1000 at 250 - 200 a second"),
        Check((12.0, 1.0, 0.2, 4.0), 12.0, 1e-13, f"{HAND}: 12 at 5 - 4 a second"),
    ),
)
