"""Interleaved memory: how many of its modules random requests keep busy."""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT
from slipstick.expression.special import drop_stages, raised, retried_rate
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND

_STRECKER = "Strecker, thesis, Carnegie Mellon University, 1970"
_PROCESSORS = Symbol("processors", COUNT, "processors", "N")
_MODULES = Symbol("modules", COUNT, "memory modules", "M")
_BUSY = Symbol("busy", COUNT, "modules that serve a request in a cycle", "B")


def _asked(processors: Any, modules: Any, rate: Any) -> tuple[Comparison, ...]:
    return (compare(processors, ">=", 1), compare(modules, ">=", 1), compare(rate, ">", 0), compare(rate, "<=", 1))


MEMORY_BANDWIDTH = Law(
    name="memory-bandwidth",
    title="Memory modules busy under random requests",
    gives=_BUSY,
    symbols=(_PROCESSORS, _MODULES, Symbol("rate", COUNT, "probability of a request of a processor in a cycle", "r")),
    equation=lambda processors, modules, rate: modules * drop_stages(rate, processors, modules, 1),
    holds=_asked,
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
    holds=_asked,
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
    holds=lambda modules: (compare(modules, ">=", 1), compare(modules, "<=", 45)),
    source="Hellerman, Digital Computer System Principles, McGraw-Hill 1967",
    note="an empirical power of sum_k k^2 (M-1)! / (M^k (M-k)!), within 5% of it up to 45 modules",
    exact=False,
    checks=(Check({"modules": 16}, 4.704, 0.02, "Hellerman's sum at 16 modules is 4.704"),),
)
