"""A bus, or any resource that one customer at a time can use: saturation and bounds on throughput."""

from __future__ import annotations

from slipstick.expression.condition import compare
from slipstick.expression.dimension import BYTES, COUNT, RATE, TIME, TIME_PER_BYTE
from slipstick.expression.nodes import minimum
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import DENNING_BUZEN, HAND, nonnegative

_PROCESSORS = Symbol("processors", COUNT, "processors that share the bus", "N")
_THINK = Symbol("think", TIME, "time of a processor between transactions", "Z")
_LATENCY = Symbol("latency", TIME, "a transaction from start to end, without contention", "R_0")
_OCCUPANCY = Symbol("occupancy", TIME, "time that a transaction holds the bus", "D")

BUS_SATURATION = Law(
    name="bus-saturation",
    title="Processors that saturate a bus",
    gives=Symbol("processors", COUNT, "with more processors, some have to wait", "N^*"),
    symbols=(_THINK, _LATENCY, _OCCUPANCY),
    equation=lambda think, latency, occupancy: (think + latency) / occupancy,
    holds=lambda think, latency, occupancy: (
        compare(think, ">=", 0),
        compare(occupancy, ">", 0),
        compare(latency, ">=", occupancy),
    ),
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
    symbols=(_PROCESSORS, _THINK, _LATENCY, _OCCUPANCY),
    equation=lambda processors, think, latency, occupancy: minimum(processors / (think + latency), 1 / occupancy),
    holds=lambda processors, think, latency, occupancy: (
        *nonnegative(processors, think),
        compare(occupancy, ">", 0),
        compare(latency, ">=", occupancy),
    ),
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
    holds=lambda arbitration, held, size, per_byte: nonnegative(arbitration, held, size, per_byte),
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
    holds=lambda miss, written_back, shared_write, accesses: (
        *nonnegative(miss, written_back),
        compare(written_back, "<=", 1),
        compare(shared_write, ">=", 0),
        compare(miss + shared_write, "<=", 1),
        compare(accesses, ">=", 0),
    ),
    source="Archibald and Baer, ACM Transactions on Computer Systems 4(4), 1986: what each kind of access sends",
    checks=(
        Check({"miss": 0.02, "written_back": 0.5, "shared_write": 0.01, "accesses": 1e6}, 40e3, 1e-10, f"{HAND}: 4%"),
    ),
)
