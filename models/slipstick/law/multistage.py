"""Multistage networks of k x k switches: throughput, delay, and the effect of a hot spot."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT, TIME
from slipstick.expression.special import drop_stages, retried_rate
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, fraction, whole_number

_PATEL = "Patel, IEEE Transactions on Computers C-30(10), 1981"
_KRUSKAL_SNIR = "Kruskal and Snir, IEEE Transactions on Computers C-32(12), 1983"
_PFISTER_NORTON = "Pfister and Norton, IEEE Transactions on Computers C-34(10), 1985"
_INDEPENDENT = "for requests that are uniform and independent of each other and of the last cycle"

_DEGREE = Symbol("degree", COUNT, "inputs, and outputs, of a switch", "k")
_STAGES = Symbol("stages", COUNT, "stages of switches", "n")
_RATE = Symbol("rate", COUNT, "requests of a processor in a cycle", "m_0")
_FRESH = Symbol("rate", COUNT, "new requests, in a cycle, of a processor that is not waiting", "m")
_HELD = Symbol("held", COUNT, "cycles that a circuit is held, setting it up included", "L")
_PROCESSORS = Symbol("processors", COUNT, "processors, and memory modules", "N")
_HOT = Symbol("hot", COUNT, "share of the requests that go to the hot module, beside its part of the rest", "h")
_CYCLE = Symbol("cycle", TIME, "time of a request through the network, without contention", "t")


def _switches(degree: Any, stages: Any, rate: Any) -> tuple[Comparison, ...]:
    return (compare(degree, ">=", 1), *whole_number(0, stages, 1024), compare(rate, ">", 0), compare(rate, "<=", 1))


DROPPING_RATE = Law(
    name="multistage-dropping-rate",
    title="Throughput of an unbuffered network that drops requests that collide",
    gives=Symbol("through", COUNT, "requests that arrive at a module in a cycle", "m_n"),
    symbols=(_DEGREE, _STAGES, _RATE),
    equation=lambda degree, stages, rate: drop_stages(rate, degree, degree, stages),
    holds=_switches,
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
    holds=_switches,
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
    holds=lambda degree, stages, rate: (
        compare(degree, ">", 1),
        compare(stages, ">=", 0),
        compare(rate, ">", 0),
        compare(rate, "<=", 1),
    ),
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
    holds=_switches,
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
    holds=_switches,
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
    holds=lambda degree, stages, rate, cycle: (*_switches(degree, stages, rate), compare(cycle, ">=", 0)),
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


def _circuits(degree: Any, stages: Any, held: Any, rate: Any) -> tuple[Comparison, ...]:
    return (*_switches(degree, stages, rate), compare(held, ">=", 1))


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
    holds=_circuits,
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
    holds=lambda degree, stages, held, rate, cycle: (*_circuits(degree, stages, held, rate), compare(cycle, ">=", 0)),
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
    holds=lambda degree, stages, packets, rate, cycle: (
        compare(degree, ">=", 1),
        compare(stages, ">=", 0),
        compare(packets, ">=", 1),
        compare(rate, ">=", 0),
        compare(packets * rate, "<", 1),
        compare(cycle, ">=", 0),
    ),
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
    symbols=(_PROCESSORS, _HOT),
    equation=lambda processors, hot: 1 / (1 + hot * (processors - 1)),
    holds=lambda processors, hot: (compare(processors, ">=", 1), *fraction(hot)),
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
    holds=lambda hot, rate: (
        compare(hot, ">", 0),
        compare(hot, "<=", 1),
        compare(rate, ">", 0),
        compare(rate, "<=", 1),
    ),
    source=f"{_PFISTER_NORTON}: r (1 + h (N - 1)) = 1",
    note="where circuits are held for L cycles, the rate counts the circuits wanted in L cycles",
    checks=(Check({"hot": 0.01, "rate": 0.25}, 301.0, 1e-12, f"{HAND}: 1 + 3 / 0.01"),),
)

CIRCUIT_HOT_SPOT_LIMIT = Law(
    name="multistage-circuit-hot-spot-limit",
    title="Largest circuit rate of a processor when some circuits go to one module",
    gives=Symbol("through", COUNT, "circuits of a processor that are set up in a cycle", "x"),
    symbols=(_PROCESSORS, _HELD, _HOT),
    equation=lambda processors, held, hot: 1 / (held * (1 + hot * (processors - 1))),
    holds=lambda processors, held, hot: (compare(processors, ">=", 1), compare(held, ">=", 1), *fraction(hot)),
    source=f"{_PFISTER_NORTON}: the hot module has one circuit at a time",
    note="a bound: requests refused at the hot module hold no links, so the other traffic is slowed less than in trees of "
    "full buffers",
    checks=(Check({"processors": 1001, "held": 5, "hot": 0.01}, 1 / 55, 1e-16, f"{HAND}: 1 / (5 x 11)"),),
)

HOT_MODULE_LOAD = Law(
    name="hot-module-load",
    title="Load of the hot module",
    gives=Symbol("load", COUNT, "requests to it in a cycle", r"\rho_h"),
    symbols=(_PROCESSORS, _HOT, Symbol("rate", COUNT, "requests of a processor in a cycle", "r")),
    equation=lambda processors, hot, rate: rate * (1 + hot * (processors - 1)),
    holds=lambda processors, hot, rate: (
        compare(processors, ">=", 1),
        *fraction(hot),
        compare(rate, ">=", 0),
        compare(rate * (1 + hot * (processors - 1)), "<=", 1),
    ),
    source=f"{_PFISTER_NORTON}: r (1 - h) of uniform and r h N of hot traffic",
    checks=(Check({"processors": 101, "hot": 0.01, "rate": 0.25}, 0.5, 0.0, f"{HAND}: 0.25 (1 + 1)"),),
)
