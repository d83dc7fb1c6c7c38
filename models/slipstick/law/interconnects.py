"""Interconnects and memories that processors share: saturation, throughput and delay.

They are: a bus, or any resource that one customer at a time can use; slotted rings of one and two levels; multistage
networks of k x k switches, with a hot spot; interleaved memory.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.dimension import BYTES, COUNT, RATE, TIME, TIME_PER_BYTE
from slipstick.expression.nodes import minimum
from slipstick.expression.special import drop_stages, raised, retried_rate
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import DENNING_BUZEN, HAND, LITTLE

_SLOTTED = "rotation >= 0 and slots >= 1 and load >= 0 and load < 1"
_SWITCHES = "degree >= 1 and stages >= 0 and stages == floor(stages) and stages <= 1024 and rate > 0 and rate <= 1"
_BUS_PROCESSORS = Symbol("processors", COUNT, "processors that share the bus", "N")
_THINK = Symbol("think", TIME, "time of a processor between transactions", "Z")
_LATENCY = Symbol("latency", TIME, "a transaction from start to end, without contention", "R_0")
_OCCUPANCY = Symbol("occupancy", TIME, "time that a transaction holds the bus", "D")

BUS_SATURATION = Law(
    name="bus-saturation",
    title="Processors that saturate a bus",
    gives=Symbol("processors", COUNT, "with more processors, some have to wait", "N^*"),
    symbols=(_THINK, _LATENCY, _OCCUPANCY),
    equation=lambda think, latency, occupancy: (think + latency) / occupancy,
    holds="think >= 0 and occupancy > 0 and latency >= occupancy",
    source=DENNING_BUZEN,
    note="an atomic bus is held for the whole latency, a split one for request and reply only",
    checks=(
        Check({"think": 9.0, "latency": 1.0, "occupancy": 1.0}, 10.0, 0.0, f"{HAND}: held throughout"),
        Check({"think": 9.0, "latency": 1.0, "occupancy": 0.5}, 20.0, 0.0, f"{HAND}: held for half the latency"),
    ),
)

BUS_THROUGHPUT_BOUND = Law(
    name="bus-throughput-bound",
    title="Bound on the throughput of a bus",
    gives=Symbol("throughput", RATE, "transactions of all processors", "X"),
    symbols=(_BUS_PROCESSORS, _THINK, _LATENCY, _OCCUPANCY),
    equation=lambda processors, think, latency, occupancy: minimum(processors / (think + latency), 1 / occupancy),
    holds="processors >= 0 and think >= 0 and occupancy > 0 and latency >= occupancy",
    source=DENNING_BUZEN,
    note="an upper bound, reached with constant times in step; for random times see law/machine-repairman-throughput",
    checks=(
        Check({"processors": 5, "think": 9.0, "latency": 1.0, "occupancy": 1.0}, 0.5, 0.0, HAND),
        Check({"processors": 50, "think": 9.0, "latency": 1.0, "occupancy": 1.0}, 1.0, 0.0, f"{HAND}: saturated"),
    ),
)

BUS_TRANSACTION = Law(
    name="bus-transaction",
    title="Time for which a data transfer holds a bus",
    gives=_OCCUPANCY,
    symbols=(
        Symbol("arbitration", TIME, "arbitration and address", "a"),
        Symbol("held", TIME, "memory time during which the bus is held; 0 on a split bus", "m"),
        Symbol("size", BYTES, "bytes moved", "s"),
        Symbol("per_byte", TIME_PER_BYTE, "time of a byte on the bus", "g"),
    ),
    equation=lambda arbitration, held, size, per_byte: arbitration + held + size * per_byte,
    holds="arbitration >= 0 and held >= 0 and size >= 0 and per_byte >= 0",
    source="Hennessy and Patterson, Computer Architecture, Morgan Kaufmann 1990: atomic and split transactions",
    checks=(Check({"arbitration": 1e-7, "held": 3e-7, "size": 16, "per_byte": 1.25e-8}, 6e-7, 1e-21, HAND),),
)

SNOOPING_TRAFFIC = Law(
    name="snooping-traffic",
    title="Bus transactions of one processor under write-invalidate",
    gives=Symbol("transactions", RATE, "misses, write-backs and invalidations", "x"),
    symbols=(
        Symbol("miss", COUNT, "misses per access", "q"),
        Symbol("written_back", COUNT, "share of the misses that write back a modified block", "d"),
        Symbol("shared_write", COUNT, "hits per access that write to a block that other caches hold", "u"),
        Symbol("accesses", RATE, "memory accesses of the processor", "a"),
    ),
    equation=lambda miss, written_back, shared_write, accesses: accesses * (miss * (1 + written_back) + shared_write),
    holds="miss >= 0 and written_back >= 0 and written_back <= 1 and shared_write >= 0 and "
    "miss + shared_write <= 1 and accesses >= 0",
    source="Archibald and Baer, ACM Transactions on Computer Systems 4(4), 1986: what each kind of access sends",
    checks=(
        Check({"miss": 0.02, "written_back": 0.5, "shared_write": 0.01, "accesses": 1e6}, 40e3, 1e-10, f"{HAND}: 4%"),
    ),
)


_BHUYAN = "Bhuyan, Ghosal and Yang, IEEE Transactions on Computers 38(7), 1989"
_FULL = "takes full slots as independent of each other, which is close below a load of about 0.8"
_ROUND = "as on the KSR-1, a request and its reply go once around and hold a slot all the way"

_ROTATION = Symbol("rotation", TIME, "once around the ring", "t_r")
_SLOTS = Symbol("slots", COUNT, "slots on the ring", "S")
_LOAD = Symbol("load", COUNT, "share of the slots that are full", r"\rho")
_REQUESTS = Symbol("requests", RATE, "requests of all processors on the ring", r"\lambda")


def _wait(rotation: Any, slots: Any, load: Any) -> Any:
    """Half a slot until the next one passes, and a geometric number of full ones."""
    return rotation / slots * (0.5 + load / (1 - load))


RING_LOAD = Law(
    name="ring-load",
    title="Share of a ring's slots that are full",
    gives=_LOAD,
    symbols=(_ROTATION, _SLOTS, _REQUESTS),
    equation=lambda rotation, slots, requests: requests * rotation / slots,
    holds="rotation >= 0 and slots >= 1 and requests >= 0 and requests * rotation / slots <= 1",
    source=f"{LITTLE}: slots held are requests times the time each holds one",
    note=_ROUND,
    checks=(Check({"rotation": 6e-6, "slots": 24, "requests": 2e6}, 0.5, 1e-16, f"{HAND}: 12 slots of 24"),),
)

RING_SATURATION = Law(
    name="ring-saturation",
    title="Most requests that a slotted ring carries",
    gives=_REQUESTS,
    symbols=(_SLOTS, _ROTATION),
    equation=lambda slots, rotation: slots / rotation,
    holds="slots >= 1 and rotation > 0",
    source=f"{_BHUYAN}; every slot carries one request a rotation",
    note=_ROUND,
    checks=(Check({"slots": 24, "rotation": 6e-6}, 4e6, 1e-9, HAND),),
)

RING_LATENCY = Law(
    name="ring-latency",
    title="Time of a request on a slotted ring",
    gives=Symbol("time", TIME, "from the request until the reply arrives", "T"),
    symbols=(_SLOTS, _LOAD, Symbol("response", TIME, "service time of the node that replies", "t_m"), _ROTATION),
    equation=lambda slots, load, response, rotation: rotation + response + _wait(rotation, slots, load),
    holds=f"{_SLOTTED} and response >= 0",
    source=_BHUYAN,
    note=f"{_FULL}; {_ROUND}",
    exact=False,
    checks=(
        Check(
            {"slots": 24, "load": 0.5, "response": 1e-6, "rotation": 6e-6}, 7.375e-6, 1e-20, f"{HAND}: 7 + 0.25 x 1.5"
        ),
    ),
)

TWO_LEVEL_RING_LOAD = Law(
    name="ring-upper-load",
    title="Share of the upper ring's slots that are full",
    gives=_LOAD,
    symbols=(
        Symbol("rings", COUNT, "lower rings", "R"),
        Symbol("remote", COUNT, "share of the requests that leave their ring", "q"),
        Symbol("requests", RATE, "requests of all processors of one lower ring", r"\lambda"),
        _SLOTS,
        Symbol("rotation", TIME, "once around the upper ring", "t_R"),
    ),
    equation=lambda rings, remote, requests, slots, rotation: rings * remote * requests * rotation / slots,
    holds="rings >= 1 and remote >= 0 and remote <= 1 and requests >= 0 and slots >= 1 and rotation >= 0 and "
    "rings * remote * requests * rotation / slots <= 1",
    source=f"Little's law; {_BHUYAN} for hierarchies",
    note=_ROUND,
    checks=(Check({"rings": 4, "remote": 0.1, "requests": 2e6, "slots": 8, "rotation": 4e-6}, 0.4, 1e-15, HAND),),
)

TWO_LEVEL_RING_LATENCY = Law(
    name="ring-two-level-latency",
    title="Mean time of a request on two levels of slotted rings",
    gives=Symbol("time", TIME, "from the request until the reply arrives", "T"),
    symbols=(
        Symbol("remote", COUNT, "share of the requests that leave their ring", "q"),
        _SLOTS,
        _LOAD,
        Symbol("upper_slots", COUNT, "slots on the upper ring", "S_u"),
        Symbol("upper_load", COUNT, "share of the upper ring's slots that are full", r"\rho_u"),
        Symbol("upper_rotation", TIME, "once around the upper ring", "t_u"),
        Symbol("response", TIME, "service time of the node that replies", "t_m"),
        _ROTATION,
    ),
    equation=lambda remote, slots, load, upper_slots, upper_load, upper_rotation, response, rotation: (
        response
        + (1 + remote) * (rotation + _wait(rotation, slots, load))
        + remote * (upper_rotation + _wait(upper_rotation, upper_slots, upper_load))
    ),
    holds=f"remote >= 0 and remote <= 1 and {_SLOTTED} and upper_rotation >= 0 and upper_slots >= 1 and "
    "upper_load >= 0 and upper_load < 1 and response >= 0",
    source=f"{_BHUYAN}: a remote request goes once around its own ring, the upper ring and the other ring",
    note=f"all lower rings alike, loads including the traffic from above; {_FULL}",
    exact=False,
    checks=(
        Check(
            {
                "remote": 0.5,
                "slots": 10,
                "load": 0.5,
                "upper_slots": 10,
                "upper_load": 0.0,
                "upper_rotation": 20.0,
                "response": 2.0,
                "rotation": 10.0,
            },
            29.75,
            0.0,
            f"{HAND}: 2 + 1.5 (10 + 1.5) + 0.5 (20 + 1)",
        ),
    ),
)


_PATEL = "Patel, IEEE Transactions on Computers C-30(10), 1981"
_KRUSKAL_SNIR = "Kruskal and Snir, IEEE Transactions on Computers C-32(12), 1983"
_PFISTER_NORTON = "Pfister and Norton, IEEE Transactions on Computers C-34(10), 1985"
_INDEPENDENT = "for requests that are uniform and independent of each other and of the last cycle"

_DEGREE = Symbol("degree", COUNT, "inputs, and outputs, of a switch", "k")
_STAGES = Symbol("stages", COUNT, "stages of switches", "n")
_RATE = Symbol("rate", COUNT, "requests of a processor in a cycle", "m_0")
_FRESH = Symbol("rate", COUNT, "new requests, in a cycle, of a processor that is not waiting", "m")
_HELD = Symbol("held", COUNT, "cycles that a circuit is held, setting it up included", "L")
_SWITCHED_PROCESSORS = Symbol("processors", COUNT, "processors, and memory modules", "N")
_HOT = Symbol("hot", COUNT, "share of the requests that go to the hot module, beside its part of the rest", "h")
_CYCLE = Symbol("cycle", TIME, "time of a request through the network, without contention", "t")


DROPPING_RATE = Law(
    name="multistage-dropping-rate",
    title="Throughput of an unbuffered network that drops requests that collide",
    gives=Symbol("through", COUNT, "requests that arrive at a module in a cycle", "m_n"),
    symbols=(_DEGREE, _STAGES, _RATE),
    equation=lambda degree, stages, rate: drop_stages(rate, degree, degree, stages),
    holds=_SWITCHES,
    source=f"{_PATEL}: m_(i+1) = 1 - (1 - m_i/k)^k from stage to stage",
    note=_INDEPENDENT,
    checks=(
        Check({"degree": 2, "stages": 2, "rate": 0.5}, 0.3896, 5e-5, f"{HAND}: 0.4375, then 0.389648"),
        Check({"degree": 2, "stages": 1, "rate": 1.0}, 0.75, 0.0, f"{HAND}: one of two collide half the time"),
        Check({"degree": 2, "stages": 2, "rate": 1.0}, 0.609375, 0.0, HAND),
        Check({"degree": 4, "stages": 1, "rate": 1.0}, 1 - 0.75**4, 0.0, f"{HAND}: 1 - (3/4)^4"),
    ),
)

DROPPING_ACCEPTANCE = Law(
    name="multistage-acceptance",
    title="Share of requests that get through an unbuffered network",
    gives=Symbol("accepted", COUNT, "probability that a request is not dropped", "P_A"),
    symbols=(_DEGREE, _STAGES, _RATE),
    equation=lambda degree, stages, rate: drop_stages(rate, degree, degree, stages) / rate,
    holds=_SWITCHES,
    source=_PATEL,
    note=_INDEPENDENT,
    checks=(
        Check({"degree": 2, "stages": 2, "rate": 0.5}, 0.7793, 5e-5, f"{HAND}: 0.389648 / 0.5"),
        Check({"degree": 2, "stages": 2, "rate": 1.0}, 0.609375, 0.0, HAND),
    ),
)

DROPPING_ASYMPTOTE = Law(
    name="multistage-dropping-asymptote",
    title="Throughput of an unbuffered network of very many stages",
    gives=Symbol("through", COUNT, "requests that arrive at a module in a cycle", "m_n"),
    symbols=(_DEGREE, _STAGES, _RATE),
    equation=lambda degree, stages, rate: 2 * degree / ((degree - 1) * stages + 2 * degree / rate),
    holds="degree > 1 and stages >= 0 and rate > 0 and rate <= 1",
    source=_KRUSKAL_SNIR,
    note="the solution of dm/di = -m^2 (k-1)/2k, which the recursion nears; for 2 x 2 switches at rate 1 it is 12% high "
    "at most, 7% at 30 stages",
    exact=False,
    checks=(Check({"degree": 2, "stages": 12, "rate": 1.0}, 0.25, 0.0, f"{HAND}: 4 / (12 + 4)"),),
)

RETRYING_RATE = Law(
    name="multistage-retrying-rate",
    title="Requests on a link when dropped requests are repeated",
    gives=Symbol("offered", COUNT, "requests, new or again, of a processor in a cycle", "m'"),
    symbols=(_DEGREE, _STAGES, _FRESH),
    equation=lambda degree, stages, rate: retried_rate(rate, degree, degree, stages),
    holds=_SWITCHES,
    source=f"{_PATEL}: m' = m / (m + P_A(m') (1 - m)), solved",
    note="takes retries as new requests to a random module; in truth a retry goes to the same module, and the rate is a few percent higher",
    exact=False,
    checks=(Check({"degree": 2, "stages": 1, "rate": 0.5}, 4 - 2 * 3**0.5, 1e-15, f"{HAND}: m'^2 - 8 m' + 4 = 0"),),
)

RETRYING_THROUGHPUT = Law(
    name="multistage-retrying-throughput",
    title="Requests served when dropped requests are repeated",
    gives=Symbol("through", COUNT, "requests of a processor that are served in a cycle", "x"),
    symbols=(_DEGREE, _STAGES, _FRESH),
    equation=lambda degree, stages, rate: drop_stages(
        retried_rate(rate, degree, degree, stages), degree, degree, stages
    ),
    holds=_SWITCHES,
    source=_PATEL,
    note="takes retries as new requests to a random module; in truth a retry goes to the same module, and a few percent fewer get through",
    exact=False,
    checks=(
        Check({"degree": 2, "stages": 1, "rate": 0.5}, 2 * 3**0.5 - 3, 1e-15, f"{HAND}: m' - m'^2 / 4"),
        Check({"degree": 2, "stages": 2, "rate": 1.0}, 0.609375, 1e-15, f"{HAND}: all links are busy all the time"),
    ),
)

RETRYING_DELAY = Law(
    name="multistage-retrying-delay",
    title="Time that a request loses to collisions in a network with retries",
    gives=Symbol("wait", TIME, "time from the first attempt to the one that gets through", "W"),
    symbols=(_DEGREE, _STAGES, _FRESH, _CYCLE),
    equation=lambda degree, stages, rate, cycle: (
        cycle * (1 / drop_stages(retried_rate(rate, degree, degree, stages), degree, degree, stages) - 1 / rate)
    ),
    holds=f"{_SWITCHES} and cycle >= 0",
    source=f"{_PATEL}: a processor's time between served requests, less the time it takes to make them",
    note="takes retries as new requests to a random module; in truth a retry goes to the same module and waits longer",
    exact=False,
    checks=(
        Check({"degree": 2, "stages": 2, "rate": 1.0, "cycle": 1e-6}, 0.641e-6, 5e-10, f"{HAND}: 1 / 0.609375 - 1"),
        Check({"degree": 2, "stages": 1, "rate": 0.5, "cycle": 3.0}, 0.4641, 5e-5, f"{HAND}: 3 (2.1547 - 2)"),
    ),
)

_CACHES = "Patel, IEEE Transactions on Computers C-31(4), 1982"
_UNIT_REQUESTS = (
    "takes a circuit of L cycles as L requests of one cycle that are independent of each other (the unit-request "
    "approximation); throughputs are within about 6 % of simulated ones"
)


def _circuit_rate(degree: Any, stages: Any, held: Any, rate: Any) -> Any:
    """Give circuits of a processor in a cycle: held a part L m / (1 - m + L m) of the time if nothing collided."""
    wanted = held * rate / (1 - rate + held * rate)
    return drop_stages(retried_rate(wanted, degree, degree, stages), degree, degree, stages) / held


CIRCUIT_THROUGHPUT = Law(
    name="multistage-circuit-throughput",
    title="Circuits through a network in which refused requests are repeated",
    gives=Symbol("through", COUNT, "circuits of a processor that are set up in a cycle", "x"),
    symbols=(_DEGREE, _STAGES, _HELD, _FRESH),
    equation=_circuit_rate,
    holds=f"{_SWITCHES} and held >= 1",
    source=f"{_CACHES}: utilization U of a processor with 1 - U = m_0, m_n = m t U, here with circuits for blocks",
    note=_UNIT_REQUESTS,
    exact=False,
    checks=(
        Check(
            {"degree": 2, "stages": 1, "held": 1, "rate": 0.5}, 2 * 3**0.5 - 3, 1e-15, f"{HAND}: as without circuits"
        ),
        Check({"degree": 2, "stages": 2, "held": 4, "rate": 1.0}, 0.609375 / 4, 1e-15, f"{HAND}: all links are busy"),
    ),
)

CIRCUIT_DELAY = Law(
    name="multistage-circuit-delay",
    title="Time that a request for a circuit is refused",
    gives=Symbol("wait", TIME, "time from the first attempt to the one that gets a circuit", "W"),
    symbols=(_DEGREE, _STAGES, _HELD, _FRESH, _CYCLE),
    equation=lambda degree, stages, held, rate, cycle: (
        cycle * (1 / _circuit_rate(degree, stages, held, rate) - (1 / rate - 1) - held)
    ),
    holds=f"{_SWITCHES} and held >= 1 and cycle >= 0",
    source=f"{_CACHES}: a processor's time between circuits, less the time of a circuit and the time between circuits",
    note=_UNIT_REQUESTS,
    exact=False,
    checks=(
        Check({"degree": 2, "stages": 2, "held": 1, "rate": 1.0, "cycle": 1e-6}, 0.641e-6, 5e-10, HAND),
        Check(
            {"degree": 2, "stages": 2, "held": 4, "rate": 1.0, "cycle": 1.0}, 2.5641, 5e-5, f"{HAND}: 4 (1/0.609 - 1)"
        ),
    ),
)

BUFFERED_DELAY = Law(
    name="multistage-buffered-delay",
    title="Transit time of a message through a buffered network",
    gives=Symbol("time", TIME, "from the first packet in to the last packet out", "T"),
    symbols=(
        _DEGREE,
        _STAGES,
        Symbol("packets", COUNT, "packets of a message", "q"),
        Symbol("rate", COUNT, "messages of a processor in a cycle", "p"),
        Symbol("cycle", TIME, "time of a packet through a switch", "t"),
    ),
    equation=lambda degree, stages, packets, rate, cycle: (
        cycle * (stages * (1 + packets * packets * rate * (1 - 1 / degree) / (2 * (1 - packets * rate))) + packets - 1)
    ),
    holds="degree >= 1 and stages >= 0 and packets >= 1 and rate >= 0 and packets * rate < 1 and cycle >= 0",
    source=f"{_KRUSKAL_SNIR}; for messages of several packets as in Gottlieb et al., IEEE Transactions on Computers "
    "C-32(2), 1983",
    note="exact at the first stage for one packet; at later ones the wait is longer by up to about 0.8 p/k of it",
    exact=False,
    checks=(
        Check({"degree": 2, "stages": 6, "packets": 1, "rate": 0.5, "cycle": 1.0}, 7.5, 0.0, f"{HAND}: 6 (1 + 0.25/1)"),
        Check(
            {"degree": 4, "stages": 6, "packets": 2, "rate": 0.25, "cycle": 1e-7},
            11.5e-7,
            1e-21,
            f"{HAND}: 6 (1 + 4 x 0.25 x 0.75 / 1) + 1 = 11.5 cycles",
        ),
    ),
)

HOT_SPOT_LIMIT = Law(
    name="hot-spot-limit",
    title="Largest rate of a processor when some requests go to one module",
    gives=Symbol("rate", COUNT, "requests of a processor in a cycle", "r"),
    symbols=(_SWITCHED_PROCESSORS, _HOT),
    equation=lambda processors, hot: 1 / (1 + hot * (processors - 1)),
    holds="processors >= 1 and hot >= 0 and hot <= 1",
    source=f"{_PFISTER_NORTON}: the hot module serves one request a cycle",
    note="a bound: trees of full buffers slow the other traffic to the same rate",
    checks=(
        Check({"processors": 1001, "hot": 0.01}, 1 / 11, 1e-16, f"{HAND}: 1 / (1 + 10)"),
        Check({"processors": 64, "hot": 0.0}, 1.0, 0.0, f"{HAND}: without a hot spot, all links are busy"),
        Check({"processors": 64, "hot": 1.0}, 1 / 64, 0.0, f"{HAND}: all requests go to one module"),
    ),
)

HOT_SPOT_PROCESSORS = Law(
    name="hot-spot-processors",
    title="Number of processors that saturates the hot module",
    gives=Symbol("processors", COUNT, "with more processors, requests accumulate", "N^*"),
    symbols=(_HOT, Symbol("rate", COUNT, "requests of a processor in a cycle", "r")),
    equation=lambda hot, rate: 1 + (1 / rate - 1) / hot,
    holds="hot > 0 and hot <= 1 and rate > 0 and rate <= 1",
    source=f"{_PFISTER_NORTON}: r (1 + h (N - 1)) = 1",
    note="where circuits are held for L cycles, the rate counts the circuits wanted in L cycles",
    checks=(Check({"hot": 0.01, "rate": 0.25}, 301.0, 1e-12, f"{HAND}: 1 + 3 / 0.01"),),
)

CIRCUIT_HOT_SPOT_LIMIT = Law(
    name="multistage-circuit-hot-spot-limit",
    title="Largest circuit rate of a processor when some circuits go to one module",
    gives=Symbol("through", COUNT, "circuits of a processor that are set up in a cycle", "x"),
    symbols=(_SWITCHED_PROCESSORS, _HELD, _HOT),
    equation=lambda processors, held, hot: 1 / (held * (1 + hot * (processors - 1))),
    holds="processors >= 1 and held >= 1 and hot >= 0 and hot <= 1",
    source=f"{_PFISTER_NORTON}: the hot module has one circuit at a time",
    note="a bound: requests refused at the hot module hold no links, so the other traffic is slowed less than in trees of "
    "full buffers",
    checks=(Check({"processors": 1001, "held": 5, "hot": 0.01}, 1 / 55, 1e-16, f"{HAND}: 1 / (5 x 11)"),),
)

HOT_MODULE_LOAD = Law(
    name="hot-module-load",
    title="Load of the hot module",
    gives=Symbol("load", COUNT, "requests to it in a cycle", r"\rho_h"),
    symbols=(_SWITCHED_PROCESSORS, _HOT, Symbol("rate", COUNT, "requests of a processor in a cycle", "r")),
    equation=lambda processors, hot, rate: rate * (1 + hot * (processors - 1)),
    holds="processors >= 1 and hot >= 0 and hot <= 1 and rate >= 0 and rate * (1 + hot * (processors - 1)) <= 1",
    source=f"{_PFISTER_NORTON}: r (1 - h) of uniform and r h N of hot traffic",
    checks=(Check({"processors": 101, "hot": 0.01, "rate": 0.25}, 0.5, 0.0, f"{HAND}: 0.25 (1 + 1)"),),
)


_STRECKER = "Strecker, thesis, Carnegie Mellon University, 1970"
_PROCESSORS = Symbol("processors", COUNT, "processors", "N")
_MODULES = Symbol("modules", COUNT, "memory modules", "M")
_BUSY = Symbol("busy", COUNT, "modules that serve a request in a cycle", "B")


MEMORY_BANDWIDTH = Law(
    name="memory-bandwidth",
    title="Memory modules busy under random requests",
    gives=_BUSY,
    symbols=(_PROCESSORS, _MODULES, Symbol("rate", COUNT, "probability of a request of a processor in a cycle", "r")),
    equation=lambda processors, modules, rate: modules * drop_stages(rate, processors, modules, 1),
    holds="processors >= 1 and modules >= 1 and rate > 0 and rate <= 1",
    source=f"{_STRECKER}: B = M (1 - (1 - r/M)^N)",
    note="refused requests are dropped; if they are repeated, fewer modules are busy, at rate 1 by up to 10%",
    checks=(
        Check({"processors": 2, "modules": 2, "rate": 0.5}, 0.875, 1e-15, f"{HAND}: 2 (1 - (3/4)^2)"),
        Check({"processors": 2, "modules": 2, "rate": 1.0}, 1.5, 1e-15, f"{HAND}: 2 (1 - 1/4)"),
        Check({"processors": 4, "modules": 4, "rate": 1.0}, 2.734, 5e-4, f"{HAND}: 4 (1 - 0.75^4)"),
        Check({"processors": 8, "modules": 8, "rate": 1.0}, 5.251, 5e-4, f"{HAND}: 8 (1 - 0.875^8)"),
    ),
)

MEMORY_BANDWIDTH_RETRYING = Law(
    name="memory-bandwidth-retrying",
    title="Memory modules busy when refused requests are made again",
    gives=_BUSY,
    symbols=(
        _PROCESSORS,
        _MODULES,
        Symbol("rate", COUNT, "probability of a new request of a processor that is not waiting, in a cycle", "r"),
    ),
    equation=lambda processors, modules, rate: (
        modules * drop_stages(retried_rate(rate, processors, modules, 1), processors, modules, 1)
    ),
    holds="processors >= 1 and modules >= 1 and rate > 0 and rate <= 1",
    source="Hoogendoorn, IEEE Transactions on Computers C-26(10), 1977; Patel, C-30(10), 1981: rate adjustment",
    note="takes retries as new requests to a random module; up to 10% above the exact Markov chain in which a retry goes to the same module",
    exact=False,
    checks=(
        Check({"processors": 2, "modules": 2, "rate": 0.5}, 4 * 3**0.5 - 6, 1e-14, f"{HAND}: as two 2 x 2 links"),
        Check(
            {"processors": 8, "modules": 8, "rate": 1.0},
            5.251,
            5e-4,
            f"{HAND}: every processor has a request in every cycle",
        ),
    ),
)

MEMORY_RUN = Law(
    name="memory-run",
    title="Requests of one stream until two are for the same module",
    gives=Symbol("run", COUNT, "requests served together", "B"),
    symbols=(_MODULES,),
    equation=lambda modules: raised(modules, 0.56),
    holds="modules >= 1 and modules <= 45",
    source="Hellerman, Digital Computer System Principles, McGraw-Hill 1967",
    note="an empirical power of sum_k k^2 (M-1)! / (M^k (M-k)!), within 5% of it up to 45 modules",
    exact=False,
    checks=(Check({"modules": 16}, 4.704, 0.02, "Hellerman's sum at 16 modules is 4.704"),),
)
