"""Interconnects and memories that processors share: saturation, throughput and delay.

They are: a bus, or any resource that one customer at a time can use; slotted rings of one and two
levels; multistage networks of k x k switches, with a hot spot; interleaved memory.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, TIME_PER_BYTE, minimum
from slipstick.expression.special import drop_stages, real_power, retried_rate
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import DENNING_BUZEN, HAND, LITTLE

_SLOTTED = "rotation >= 0 and slots >= 1 and load >= 0 and load < 1"
_SWITCHES = (
    "degree >= 1 and stages >= 0 and stages == floor(stages) and stages <= 1024 and rate > 0 and"
    " rate <= 1"
)
_BUS_PROCESSORS = Symbol("processors", COUNT, "number of processors that share the bus", "N")
_THINK = Symbol("think", TIME, "time of a processor between transactions", "Z")
_LATENCY = Symbol(
    "latency", TIME, "time of a transaction from start to end, without contention", "R_0"
)
_OCCUPANCY = Symbol("occupancy", TIME, "time for which a transaction holds the bus", "D")

BUS_SATURATION = Law(
    name="bus-saturation",
    title="Processors that saturate a bus",
    gives=Symbol("processors", COUNT, "number of processors above which some have to wait", "N^*"),
    equation=lambda think=_THINK, latency=_LATENCY, occupancy=_OCCUPANCY: (
        (think + latency) / occupancy
    ),
    holds="think >= 0 and occupancy > 0 and latency >= occupancy",
    source=DENNING_BUZEN,
    note=(
        "an atomic bus is held for the whole latency; a split bus is held for request and reply"
        " only"
    ),
    checks=(
        Check((9.0, 1.0, 1.0), 10.0, 0.0, f"{HAND}: held throughout"),
        Check((9.0, 1.0, 0.5), 20.0, 0.0, f"{HAND}: held for half the latency"),
    ),
)

BUS_THROUGHPUT_BOUND = Law(
    name="bus-throughput-bound",
    title="Bound on the throughput of a bus",
    gives=Symbol("throughput", RATE, "rate of transactions of all processors", "X"),
    equation=lambda processors=_BUS_PROCESSORS, think=_THINK, latency=_LATENCY, occupancy=_OCCUPANCY: (
        minimum(processors / (think + latency), 1 / occupancy)
    ),
    holds="processors >= 0 and think >= 0 and occupancy > 0 and latency >= occupancy",
    source=DENNING_BUZEN,
    note=(
        "this is an upper bound, which constant times without collisions reach; for random times"
        " see law/machine-repairman-throughput"
    ),
    checks=(
        Check((5, 9.0, 1.0, 1.0), 0.5, 0.0, HAND),
        Check((50, 9.0, 1.0, 1.0), 1.0, 0.0, f"{HAND}: saturated"),
        Check((50, 9.0, 1.0, 0.5), 2.0, 2e-14, f"{HAND}: saturated at 1 / 0.5"),
    ),
)

_ARBITRATION = Symbol("arbitration", TIME, "time of arbitration and address", "a")
_BUS_HELD = Symbol("held", TIME, "memory time during which the bus is held; 0 on a split bus", "m")
_SIZE = Symbol("size", BYTES, "number of bytes moved", "s")
_PER_BYTE = Symbol("per_byte", TIME_PER_BYTE, "time of a byte on the bus", "g")
BUS_TRANSACTION = Law(
    name="bus-transaction",
    title="Time for which a data transfer holds a bus",
    gives=_OCCUPANCY,
    equation=lambda arbitration=_ARBITRATION, held=_BUS_HELD, size=_SIZE, per_byte=_PER_BYTE: (
        arbitration + held + size * per_byte
    ),
    holds="arbitration >= 0 and held >= 0 and size >= 0 and per_byte >= 0",
    source=(
        "Hennessy and Patterson, Computer Architecture, Morgan Kaufmann 1990: atomic and split"
        " transactions"
    ),
    checks=(Check((1e-7, 3e-7, 16, 1.25e-8), 6e-7, 1e-21, HAND),),
)

_MISS = Symbol("miss", COUNT, "number of misses per access", "q")
_WRITTEN_BACK = Symbol(
    "written_back", COUNT, "share of the misses that write back a modified block", "d"
)
_SHARED_WRITE = Symbol(
    "shared_write",
    COUNT,
    "number of hits per access that write to a block that other caches hold",
    "u",
)
_ACCESSES = Symbol("accesses", RATE, "rate of memory accesses of the processor", "a")
SNOOPING_TRAFFIC = Law(
    name="snooping-traffic",
    title="Bus transactions of one processor under write-invalidate",
    gives=Symbol("transactions", RATE, "rate of misses, write-backs and invalidations", "x"),
    equation=lambda miss=_MISS, written_back=_WRITTEN_BACK, shared_write=_SHARED_WRITE, accesses=_ACCESSES: (
        accesses * (miss * (1 + written_back) + shared_write)
    ),
    holds=(
        "miss >= 0 and written_back >= 0 and written_back <= 1 and shared_write >= 0 and "
        "miss + shared_write <= 1 and accesses >= 0"
    ),
    source=(
        "Archibald and Baer, ACM Transactions on Computer Systems 4(4), 1986: the bus transactions"
        " of each kind of access"
    ),
    checks=(Check((0.02, 0.5, 0.01, 1e6), 40e3, 1e-10, f"{HAND}: 4%"),),
)


_BHUYAN = "Bhuyan, Ghosal and Yang, IEEE Transactions on Computers 38(7), 1989"
_FULL = (
    "the law treats full slots as independent of each other, which is close to reality at loads"
    " below about 0.8"
)
_ROUND = (
    "a request and its reply together go once around the ring and hold a slot all the time, as on"
    " the KSR-1"
)

_ROTATION = Symbol("rotation", TIME, "time of a slot once around the ring", "t_r")
_SLOTS = Symbol("slots", COUNT, "number of slots on the ring", "S")
_LOAD = Symbol("load", COUNT, "share of the slots that are full", r"\rho")
_REQUESTS = Symbol("requests", RATE, "rate of requests of all processors on the ring", r"\lambda")


def _mean_wait_for_slot(rotation: Any, slots: Any, load: Any) -> Any:
    """Return the mean wait for a free slot of a ring: half a slot until the next one passes, and a
    geometric number of full slots.
    """
    return rotation / slots * (0.5 + load / (1 - load))


RING_LOAD = Law(
    name="ring-load",
    title="Share of a ring's slots that are full",
    gives=_LOAD,
    equation=lambda rotation=_ROTATION, slots=_SLOTS, requests=_REQUESTS: (
        requests * rotation / slots
    ),
    holds="rotation >= 0 and slots >= 1 and requests >= 0 and requests * rotation / slots <= 1",
    source=(
        f"{LITTLE}: the mean number of slots in use is the request rate times the time for which a"
        " request holds a slot"
    ),
    note=_ROUND,
    checks=(Check((6e-6, 24, 2e6), 0.5, 1e-16, f"{HAND}: 12 slots of 24"),),
)

RING_SATURATION = Law(
    name="ring-saturation",
    title="Maximum request rate of a slotted ring",
    gives=_REQUESTS,
    equation=lambda slots=_SLOTS, rotation=_ROTATION: slots / rotation,
    holds="slots >= 1 and rotation > 0",
    source=f"{_BHUYAN}: every slot carries one request in each rotation",
    note=_ROUND,
    checks=(Check((24, 6e-6), 4e6, 1e-9, HAND),),
)

_RESPONSE = Symbol("response", TIME, "service time of the node that replies", "t_m")
RING_LATENCY = Law(
    name="ring-latency",
    title="Time of a request on a slotted ring",
    gives=Symbol("time", TIME, "time from the request until the reply arrives", "T"),
    equation=lambda slots=_SLOTS, load=_LOAD, response=_RESPONSE, rotation=_ROTATION: (
        rotation + response + _mean_wait_for_slot(rotation, slots, load)
    ),
    holds=f"{_SLOTTED} and response >= 0",
    source=_BHUYAN,
    note=f"{_FULL}; {_ROUND}",
    exact=False,
    checks=(
        Check((24, 0.5, 1e-6, 6e-6), 7.375e-6, 1e-20, f"{HAND}: 7 + 0.25 x 1.5"),
        Check((24, 0.25, 1e-06, 6e-06), 7.2083333333333335e-06, 1e-17, f"{HAND}: 7 + 0.25 x 5/6"),
    ),
)

_RINGS = Symbol("rings", COUNT, "number of lower rings", "R")
_REMOTE = Symbol("remote", COUNT, "share of the requests that leave their ring", "q")
_OWN_REQUESTS = Symbol(
    "requests", RATE, "rate of requests of all processors of one lower ring", r"\lambda"
)
_TOP_ROTATION = Symbol("rotation", TIME, "time of a slot once around the upper ring", "t_R")
TWO_LEVEL_RING_LOAD = Law(
    name="ring-upper-load",
    title="Share of the upper ring's slots that are full",
    gives=_LOAD,
    equation=lambda rings=_RINGS, remote=_REMOTE, requests=_OWN_REQUESTS, slots=_SLOTS, rotation=_TOP_ROTATION: (
        rings * remote * requests * rotation / slots
    ),
    holds=(
        "rings >= 1 and remote >= 0 and remote <= 1 and requests >= 0 and slots >= 1 and rotation"
        " >= 0 and rings * remote * requests * rotation / slots <= 1"
    ),
    source=f"Little's law; {_BHUYAN} for hierarchies",
    note=_ROUND,
    checks=(Check((4, 0.1, 2e6, 8, 4e-6), 0.4, 1e-15, HAND),),
)

_UPPER_SLOTS = Symbol("upper_slots", COUNT, "number of slots on the upper ring", "S_u")
_UPPER_LOAD = Symbol(
    "upper_load", COUNT, "share of the upper ring's slots that are full", r"\rho_u"
)
_UPPER_ROTATION = Symbol("upper_rotation", TIME, "time of a slot once around the upper ring", "t_u")
TWO_LEVEL_RING_LATENCY = Law(
    name="ring-two-level-latency",
    title="Mean time of a request on two levels of slotted rings",
    gives=Symbol("time", TIME, "time from the request until the reply arrives", "T"),
    symbols=(
        _REMOTE,
        _SLOTS,
        _LOAD,
        _UPPER_SLOTS,
        _UPPER_LOAD,
        _UPPER_ROTATION,
        _RESPONSE,
        _ROTATION,
    ),
    equation=lambda remote, slots, load, upper_slots, upper_load, upper_rotation, response, rotation: (
        response
        + (1 + remote) * (rotation + _mean_wait_for_slot(rotation, slots, load))
        + remote * (upper_rotation + _mean_wait_for_slot(upper_rotation, upper_slots, upper_load))
    ),
    holds=(
        f"remote >= 0 and remote <= 1 and {_SLOTTED} and upper_rotation >= 0 and upper_slots >= 1"
        " and upper_load >= 0 and upper_load < 1 and response >= 0"
    ),
    source=(
        f"{_BHUYAN}: a remote request goes once around its own ring, the upper ring and the other"
        " ring"
    ),
    note=(
        "all lower rings are alike, and their loads include the traffic from the upper ring;"
        f" {_FULL}"
    ),
    exact=False,
    checks=(
        Check(
            (0.5, 10, 0.5, 10, 0.0, 20.0, 2.0, 10.0),
            29.75,
            0.0,
            f"{HAND}: 2 + 1.5 (10 + 1.5) + 0.5 (20 + 1)",
        ),
        Check(
            (0.5, 4, 0.2, 5, 0.2, 20.0, 2.0, 10.0),
            31.3125,
            3e-13,
            f"{HAND}: 2 + 1.5 (10 + 1.875) + 0.5 (20 + 3)",
        ),
    ),
)


_PATEL = "Patel, IEEE Transactions on Computers C-30(10), 1981"
_KRUSKAL_SNIR = "Kruskal and Snir, IEEE Transactions on Computers C-32(12), 1983"
_PFISTER_NORTON = "Pfister and Norton, IEEE Transactions on Computers C-34(10), 1985"
_INDEPENDENT = (
    "each request goes to a module at random, independently of other requests and of the previous"
    " cycle"
)

_DEGREE = Symbol("degree", COUNT, "number of inputs, and of outputs, of a switch", "k")
_STAGES = Symbol("stages", COUNT, "number of stages of switches", "n")
_RATE = Symbol("rate", COUNT, "mean number of requests of a processor in a cycle", "m_0")
_FRESH = Symbol(
    "rate",
    COUNT,
    "mean number of new requests in a cycle of a processor that is not waiting",
    "m",
)
_HELD = Symbol(
    "held", COUNT, "number of cycles for which a circuit is held, including its setup", "L"
)
_SWITCHED_PROCESSORS = Symbol(
    "processors", COUNT, "number of processors, and of memory modules", "N"
)
_HOT = Symbol(
    "hot",
    COUNT,
    (
        "share of the requests that go to the hot module, in addition to its part of the uniform"
        " requests"
    ),
    "h",
)
_CYCLE = Symbol("cycle", TIME, "time of a request through the network, without contention", "t")


DROPPING_RATE = Law(
    name="multistage-dropping-rate",
    title="Throughput of an unbuffered network that drops requests that collide",
    gives=Symbol(
        "through", COUNT, "mean number of requests that arrive at a module in a cycle", "m_n"
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_RATE: drop_stages(
        rate, degree, degree, stages
    ),
    holds=_SWITCHES,
    source=f"{_PATEL}: the recursion m_(i+1) = 1 - (1 - m_i/k)^k over the stages",
    note=_INDEPENDENT,
    checks=(
        Check((2, 2, 0.5), 0.3896, 5e-5, f"{HAND}: 0.4375, then 0.389648"),
        Check((2, 1, 1.0), 0.75, 0.0, f"{HAND}: one of two collide half the time"),
        Check((2, 2, 1.0), 0.609375, 0.0, HAND),
        Check((4, 1, 1.0), 1 - 0.75**4, 0.0, f"{HAND}: 1 - (3/4)^4"),
    ),
)

DROPPING_ACCEPTANCE = Law(
    name="multistage-acceptance",
    title="Share of the requests that an unbuffered network delivers",
    gives=Symbol("accepted", COUNT, "probability that a request is not dropped", "P_A"),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_RATE: (
        drop_stages(rate, degree, degree, stages) / rate
    ),
    holds=_SWITCHES,
    source=_PATEL,
    note=_INDEPENDENT,
    checks=(
        Check((2, 2, 0.5), 0.7793, 5e-5, f"{HAND}: 0.389648 / 0.5"),
        Check((2, 2, 1.0), 0.609375, 0.0, HAND),
        Check((2, 1, 0.5), 0.875, 9e-15, f"{HAND}: (1 - (3/4)^2) / 0.5"),
    ),
)

DROPPING_ASYMPTOTE = Law(
    name="multistage-dropping-asymptote",
    title="Throughput of an unbuffered network of very many stages",
    gives=Symbol(
        "through", COUNT, "mean number of requests that arrive at a module in a cycle", "m_n"
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_RATE: (
        2 * degree / ((degree - 1) * stages + 2 * degree / rate)
    ),
    holds="degree > 1 and stages >= 0 and rate > 0 and rate <= 1",
    source=_KRUSKAL_SNIR,
    note=(
        "the law is the solution of the differential equation dm/di = -m^2 (k-1)/2k, which"
        " approximates the recursion; for 2 x 2 switches at rate 1 it is at most 12% too high, and"
        " 7% at 30 stages"
    ),
    exact=False,
    checks=(
        Check((2, 12, 1.0), 0.25, 0.0, f"{HAND}: 4 / (12 + 4)"),
        Check((2, 12, 0.5), 0.2, 2e-15, f"{HAND}: 4 / (12 + 8)"),
    ),
)

RETRYING_RATE = Law(
    name="multistage-retrying-rate",
    title="Rate of requests on a link if dropped requests are repeated",
    gives=Symbol(
        "offered",
        COUNT,
        "mean number of new or repeated requests of a processor in a cycle",
        "m'",
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_FRESH: retried_rate(
        rate, degree, degree, stages
    ),
    holds=_SWITCHES,
    source=f"{_PATEL}: the solution of m' = m / (m + P_A(m') (1 - m))",
    note=(
        "the law treats a retry as a new request to a random module; a real retry goes to the same"
        " module, and the rate is a few percent higher"
    ),
    exact=False,
    checks=(Check((2, 1, 0.5), 4 - 2 * 3**0.5, 1e-15, f"{HAND}: m'^2 - 8 m' + 4 = 0"),),
)

RETRYING_THROUGHPUT = Law(
    name="multistage-retrying-throughput",
    title="Requests served when dropped requests are repeated",
    gives=Symbol(
        "through", COUNT, "mean number of requests of a processor that are served in a cycle", "x"
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_FRESH: drop_stages(
        retried_rate(rate, degree, degree, stages), degree, degree, stages
    ),
    holds=_SWITCHES,
    source=_PATEL,
    note=(
        "the law treats a retry as a new request to a random module; a real retry goes to the same"
        " module, and the throughput is a few percent lower"
    ),
    exact=False,
    checks=(
        Check((2, 1, 0.5), 2 * 3**0.5 - 3, 1e-15, f"{HAND}: m' - m'^2 / 4"),
        Check((2, 2, 1.0), 0.609375, 1e-15, f"{HAND}: all links are busy all the time"),
    ),
)

RETRYING_DELAY = Law(
    name="multistage-retrying-delay",
    title="Time that a request loses to collisions in a network with retries",
    gives=Symbol("wait", TIME, "time from the first attempt to the successful attempt", "W"),
    equation=lambda degree=_DEGREE, stages=_STAGES, rate=_FRESH, cycle=_CYCLE: (
        cycle
        * (
            1 / drop_stages(retried_rate(rate, degree, degree, stages), degree, degree, stages)
            - 1 / rate
        )
    ),
    holds=f"{_SWITCHES} and cycle >= 0",
    source=(
        f"{_PATEL}: the time of a processor between two served requests, minus the time to issue"
        " one request"
    ),
    note=(
        "the law treats a retry as a new request to a random module; a real retry goes to the same"
        " module and takes longer"
    ),
    exact=False,
    checks=(
        Check((2, 2, 1.0, 1e-6), 0.641e-6, 5e-10, f"{HAND}: 1 / 0.609375 - 1"),
        Check((2, 1, 0.5, 3.0), 0.4641, 5e-5, f"{HAND}: 3 (2.1547 - 2)"),
    ),
)

_CACHES = "Patel, IEEE Transactions on Computers C-31(4), 1982"
_UNIT_REQUESTS = (
    "the law treats a circuit of L cycles as L independent requests of one cycle (the unit-request"
    " approximation); its throughputs differ from simulated ones by up to about 6 %"
)


def _circuit_rate(degree: Any, stages: Any, held: Any, rate: Any) -> Any:
    """Return the circuits that a processor sets up in a cycle: it holds one for a part L m / (1 - m
    + L m) of the time if none collide.
    """
    tried_rate = held * rate / (1 - rate + held * rate)
    return (
        drop_stages(retried_rate(tried_rate, degree, degree, stages), degree, degree, stages) / held
    )


CIRCUIT_THROUGHPUT = Law(
    name="multistage-circuit-throughput",
    title="Rate of circuits through a network in which refused requests are repeated",
    gives=Symbol(
        "through", COUNT, "mean number of circuits of a processor that are set up in a cycle", "x"
    ),
    symbols=(_DEGREE, _STAGES, _HELD, _FRESH),
    equation=_circuit_rate,
    holds=f"{_SWITCHES} and held >= 1",
    source=(
        f"{_CACHES}: the utilization U of a processor, from 1 - U = m_0 and m_n = m t U, with"
        " circuits in place of block transfers"
    ),
    note=_UNIT_REQUESTS,
    exact=False,
    checks=(
        Check((2, 1, 1, 0.5), 2 * 3**0.5 - 3, 1e-15, f"{HAND}: as without circuits"),
        Check((2, 2, 4, 1.0), 0.609375 / 4, 1e-15, f"{HAND}: all links are busy"),
    ),
)

CIRCUIT_DELAY = Law(
    name="multistage-circuit-delay",
    title="Time until a request for a circuit is accepted",
    gives=Symbol(
        "wait", TIME, "time from the first attempt to the attempt that gets a circuit", "W"
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, held=_HELD, rate=_FRESH, cycle=_CYCLE: (
        cycle * (1 / _circuit_rate(degree, stages, held, rate) - (1 / rate - 1) - held)
    ),
    holds=f"{_SWITCHES} and held >= 1 and cycle >= 0",
    source=(
        f"{_CACHES}: the mean time of a processor from one circuit to the next, minus the time of"
        " the circuit and the time without a request"
    ),
    note=_UNIT_REQUESTS,
    exact=False,
    checks=(
        Check((2, 2, 1, 1.0, 1e-6), 0.641e-6, 5e-10, HAND),
        Check((2, 2, 4, 1.0, 1.0), 2.5641, 5e-5, f"{HAND}: 4 (1/0.609 - 1)"),
        Check((2, 3, 4, 0.5, 0.5), 1.6042300581807005, 2e-14, f"{HAND}: the root by halving"),
    ),
)

_PACKETS = Symbol("packets", COUNT, "number of packets of a message", "q")
_MESSAGE_RATE = Symbol("rate", COUNT, "mean number of messages of a processor in a cycle", "p")
_SWITCH_CYCLE = Symbol("cycle", TIME, "time of a packet through a switch", "t")
BUFFERED_DELAY = Law(
    name="multistage-buffered-delay",
    title="Transit time of a message through a buffered network",
    gives=Symbol(
        "time",
        TIME,
        "time from the entry of the first packet to the exit of the last packet",
        "T",
    ),
    equation=lambda degree=_DEGREE, stages=_STAGES, packets=_PACKETS, rate=_MESSAGE_RATE, cycle=_SWITCH_CYCLE: (
        cycle
        * (
            stages * (1 + packets * packets * rate * (1 - 1 / degree) / (2 * (1 - packets * rate)))
            + packets
            - 1
        )
    ),
    holds=(
        "degree >= 1 and stages >= 0 and packets >= 1 and rate >= 0 and packets * rate < 1 and"
        " cycle >= 0"
    ),
    source=(
        f"{_KRUSKAL_SNIR}. Messages of several packets are treated as in Gottlieb et al., IEEE"
        " Transactions on Computers C-32(2), 1983"
    ),
    note=(
        "the wait at the first stage is exact for messages of one packet; at later stages the wait"
        " is longer than by this formula, by a fraction of up to about 0.8 rate / degree"
    ),
    exact=False,
    checks=(
        Check((2, 6, 1, 0.5, 1.0), 7.5, 0.0, f"{HAND}: 6 (1 + 0.25/1)"),
        Check(
            (4, 6, 2, 0.25, 1e-7),
            11.5e-7,
            1e-21,
            f"{HAND}: 6 (1 + 4 x 0.25 x 0.75 / 1) + 1 = 11.5 cycles",
        ),
        Check((2, 6, 1, 0.25, 1.0), 6.5, 7e-14, f"{HAND}: 6 (1 + 0.125 / 1.5)"),
    ),
)

HOT_SPOT_LIMIT = Law(
    name="hot-spot-limit",
    title="Largest rate of a processor when some requests go to one module",
    gives=Symbol("rate", COUNT, "mean number of requests of a processor in a cycle", "r"),
    equation=lambda processors=_SWITCHED_PROCESSORS, hot=_HOT: 1 / (1 + hot * (processors - 1)),
    holds="processors >= 1 and hot >= 0 and hot <= 1",
    source=f"{_PFISTER_NORTON}: the hot module serves one request in each cycle",
    note="this is an upper bound; trees of full buffers slow all other traffic to the same rate",
    checks=(
        Check((1001, 0.01), 1 / 11, 1e-16, f"{HAND}: 1 / (1 + 10)"),
        Check((64, 0.0), 1.0, 0.0, f"{HAND}: without a hot spot, all links are busy"),
        Check((64, 1.0), 1 / 64, 0.0, f"{HAND}: all requests go to one module"),
    ),
)

_HOT_RATE = Symbol("rate", COUNT, "mean number of requests of a processor in a cycle", "r")
HOT_SPOT_PROCESSORS = Law(
    name="hot-spot-processors",
    title="Number of processors that saturates the hot module",
    gives=Symbol(
        "processors", COUNT, "number of processors above which requests accumulate", "N^*"
    ),
    equation=lambda hot=_HOT, rate=_HOT_RATE: 1 + (1 / rate - 1) / hot,
    holds="hot > 0 and hot <= 1 and rate > 0 and rate <= 1",
    source=f"{_PFISTER_NORTON}: the solution of r (1 + h (N - 1)) = 1",
    note=(
        "if circuits are held for L cycles, the rate is the number of circuits requested in L"
        " cycles"
    ),
    checks=(Check((0.01, 0.25), 301.0, 1e-12, f"{HAND}: 1 + 3 / 0.01"),),
)

CIRCUIT_HOT_SPOT_LIMIT = Law(
    name="multistage-circuit-hot-spot-limit",
    title="Highest rate at which a processor sets up circuits if a share of them is to one module",
    gives=Symbol(
        "through", COUNT, "mean number of circuits of a processor that are set up in a cycle", "x"
    ),
    equation=lambda processors=_SWITCHED_PROCESSORS, held=_HELD, hot=_HOT: (
        1 / (held * (1 + hot * (processors - 1)))
    ),
    holds="processors >= 1 and held >= 1 and hot >= 0 and hot <= 1",
    source=f"{_PFISTER_NORTON}: the hot module serves one circuit at a time",
    note=(
        "this is an upper bound; a request occupies no links once the hot module has refused it, so"
        " other traffic is slowed less than if it waited in the network and filled the buffers"
        " behind it (tree saturation)"
    ),
    checks=(Check((1001, 5, 0.01), 1 / 55, 1e-16, f"{HAND}: 1 / (5 x 11)"),),
)

HOT_MODULE_LOAD = Law(
    name="hot-module-load",
    title="Load of the hot module",
    gives=Symbol("load", COUNT, "mean number of requests to the hot module in a cycle", r"\rho_h"),
    equation=lambda processors=_SWITCHED_PROCESSORS, hot=_HOT, rate=_HOT_RATE: (
        rate * (1 + hot * (processors - 1))
    ),
    holds=(
        "processors >= 1 and hot >= 0 and hot <= 1 and rate >= 0 and rate * (1 + hot * (processors"
        " - 1)) <= 1"
    ),
    source=(
        f"{_PFISTER_NORTON}: uniform traffic contributes r (1 - h), and hot traffic contributes r h"
        " N"
    ),
    checks=(Check((101, 0.01, 0.25), 0.5, 0.0, f"{HAND}: 0.25 (1 + 1)"),),
)


_STRECKER = "Strecker, thesis, Carnegie Mellon University, 1970"
_PROCESSORS = Symbol("processors", COUNT, "number of processors", "N")
_MODULES = Symbol("modules", COUNT, "number of memory modules", "M")
_BUSY = Symbol("busy", COUNT, "mean number of modules that serve a request in a cycle", "B")


_MEMORY_RATE = Symbol("rate", COUNT, "probability of a request of a processor in a cycle", "r")
MEMORY_BANDWIDTH = Law(
    name="memory-bandwidth",
    title="Busy memory modules under random requests",
    gives=_BUSY,
    equation=lambda processors=_PROCESSORS, modules=_MODULES, rate=_MEMORY_RATE: (
        modules * drop_stages(rate, processors, modules, 1)
    ),
    holds="processors >= 1 and modules >= 1 and rate > 0 and rate <= 1",
    source=f"{_STRECKER}: B = M (1 - (1 - r/M)^N)",
    note=(
        "refused requests are dropped; if they were repeated, up to 10% fewer modules would be"
        " busy at rate 1"
    ),
    checks=(
        Check((2, 2, 0.5), 0.875, 1e-15, f"{HAND}: 2 (1 - (3/4)^2)"),
        Check((2, 2, 1.0), 1.5, 1e-15, f"{HAND}: 2 (1 - 1/4)"),
        Check((4, 4, 1.0), 2.734, 5e-4, f"{HAND}: 4 (1 - 0.75^4)"),
        Check((8, 8, 1.0), 5.251, 5e-4, f"{HAND}: 8 (1 - 0.875^8)"),
        Check((4, 2, 0.5), 1.3671875, 1e-14, f"{HAND}: 2 (1 - (3/4)^4)"),
    ),
)

_NEW_RATE = Symbol(
    "rate",
    COUNT,
    "probability of a new request of a processor that is not waiting, in a cycle",
    "r",
)
MEMORY_BANDWIDTH_RETRYING = Law(
    name="memory-bandwidth-retrying",
    title="Busy memory modules when refused requests are repeated",
    gives=_BUSY,
    equation=lambda processors=_PROCESSORS, modules=_MODULES, rate=_NEW_RATE: (
        modules * drop_stages(retried_rate(rate, processors, modules, 1), processors, modules, 1)
    ),
    holds="processors >= 1 and modules >= 1 and rate > 0 and rate <= 1",
    source=(
        "Hoogendoorn, IEEE Transactions on Computers C-26(10), 1977; Patel, C-30(10), 1981, for"
        " the adjustment of the rate"
    ),
    note=(
        "the law treats a retry as a new request to a random module; the result is up to 10% above"
        " that of the exact Markov chain, in which a retry goes to the same module"
    ),
    exact=False,
    checks=(
        Check((2, 2, 0.5), 4 * 3**0.5 - 6, 1e-14, f"{HAND}: as two 2 x 2 links"),
        Check((8, 8, 1.0), 5.251, 5e-4, f"{HAND}: every processor has a request in every cycle"),
        Check((4, 2, 0.5), 1.5400387405747389, 2e-14, f"{HAND}: the root by halving"),
    ),
)

MEMORY_RUN = Law(
    name="memory-run",
    title="Number of requests of one stream until two go to the same module",
    gives=Symbol("run", COUNT, "mean number of requests that are served together", "B"),
    equation=lambda modules=_MODULES: real_power(modules, 0.56),
    holds="modules >= 1 and modules <= 45",
    source="Hellerman, Digital Computer System Principles, McGraw-Hill 1967",
    note=(
        "the law is an empirical power that approximates sum_k k^2 (M-1)! / (M^k (M-k)!); its"
        " error is at most 5% for up to 45 modules"
    ),
    exact=False,
    checks=(Check((16,), 4.704, 0.02, "Hellerman's sum at 16 modules is 4.704"),),
)
