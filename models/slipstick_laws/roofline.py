"""The roofline: what operations and bytes allow at most."""

from __future__ import annotations

from slipstick.expression.nodes import BYTES, COUNT, RATE, TIME, Dimension, maximum, minimum
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND

_WILLIAMS = "Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009"
_WORDS = "roofline arithmetic intensity memory bound compute bound flops bandwidth ridge"
_OPTERON = f"{_WILLIAMS}: Opteron X2, 17.6 GFlop/s and 15 GB/s"

_PEAK = Symbol("peak", RATE, "maximum rate of operations of the processors", r"\pi")
_BANDWIDTH = Symbol("bandwidth", Dimension.of("B/s"), "bandwidth of the memory", r"\beta")
_INTENSITY = Symbol(
    "intensity",
    Dimension.of("1/B"),
    "number of operations for each byte moved from or to memory",
    "I",
)
_OPERATIONS = Symbol("operations", COUNT, "number of operations", "W")
_MOVED = Symbol("bytes", BYTES, "number of bytes moved from or to memory", "Q")
_HOLDS = "peak > 0 and bandwidth > 0"

ROOFLINE = Law(
    name="roofline",
    title="Roofline: maximum rate of operations at an arithmetic intensity",
    gives=Symbol("performance", RATE, "maximum rate of operations", "P"),
    equation=lambda intensity=_INTENSITY, bandwidth=_BANDWIDTH, peak=_PEAK: minimum(
        peak, bandwidth * intensity
    ),
    holds=f"intensity >= 0 and {_HOLDS}",
    source=_WILLIAMS,
    note=(
        "this is an upper bound; it assumes that computation and memory traffic overlap completely"
    ),
    words=_WORDS,
    checks=(
        Check((0.25, 15e9, 17.6e9), 3.75e9, 1.0, f"{_OPTERON}; a quarter of an operation a byte"),
        Check((2.0, 15e9, 17.6e9), 17.6e9, 0.0, f"{_OPTERON}; two operations a byte"),
    ),
)

ROOFLINE_TIME = Law(
    name="roofline-time",
    title="Roofline: least time of a number of operations and of their memory traffic",
    gives=Symbol("time", TIME, "least time", "T"),
    equation=lambda operations=_OPERATIONS, bytes=_MOVED, bandwidth=_BANDWIDTH, peak=_PEAK: maximum(
        operations / peak, bytes / bandwidth
    ),
    holds=f"operations >= 0 and bytes >= 0 and {_HOLDS}",
    source=_WILLIAMS,
    note=(
        "this is a lower bound; it assumes that computation and memory traffic overlap completely"
    ),
    words=_WORDS,
    checks=(
        Check((3e9, 30e9, 15e9, 17.6e9), 2.0, 0.0, f"{HAND}: 30 GB at 15 GB/s"),
        Check((35.2e9, 15e9, 15e9, 17.6e9), 2.0, 0.0, f"{HAND}: 35.2 at 17.6 Gflop/s"),
    ),
)

MACHINE_BALANCE = Law(
    name="machine-balance",
    title=(
        "Arithmetic intensity above which the processors, not the memory, limit the rate of"
        " operations"
    ),
    gives=Symbol(
        "intensity", Dimension.of("1/B"), "number of operations for each byte at the ridge", "I^*"
    ),
    equation=lambda bandwidth=_BANDWIDTH, peak=_PEAK: peak / bandwidth,
    holds=_HOLDS,
    source=_WILLIAMS,
    words=_WORDS,
    checks=(Check((15e9, 17.6e9), 1.17333, 5e-6, f"{_OPTERON}: the ridge"),),
)
