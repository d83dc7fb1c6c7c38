"""Scalability by latency, by speed and by efficiency: the equations of Scale-Graph and of the works
it builds on.

Work is a time where no more is needed, and a count of basic operations, each of a time, where the
paper has it so. A prime marks the larger run.
"""

from __future__ import annotations

from slipstick.expression.nodes import BYTES, COUNT, TIME, Dimension
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import GRAMA, HAND, PROCESSORS, SCALE_GRAPH

OPERATIONS = Dimension.of("op")
PER_OPERATION = Dimension.of("s/op")

_PAPER = f"{SCALE_GRAPH}, equation"
_SUN_ROVER = "Sun and Rover, IEEE Transactions on Parallel and Distributed Systems 5(6), 1994"

_LARGER = Symbol("more_processors", COUNT, "number of processors of the larger run", "N'")
_WORK = Symbol(
    "work", OPERATIONS, "number of basic operations of the fastest sequential algorithm", "W"
)
_LARGER_WORK = Symbol("more_work", OPERATIONS, "number of basic operations in the larger run", "W'")
_OPERATION = Symbol("operation", PER_OPERATION, "time of a basic operation", "t_c")
_TIME = Symbol("time", TIME, "elapsed time on all processors", r"T_{\mathrm{para}}")
_LATENCY = Symbol("latency", TIME, "average overhead latency of a processor", "L")
_EFFICIENCY = Symbol("efficiency", COUNT, "efficiency", "E")
_LARGER_EFFICIENCY = Symbol("more_efficiency", COUNT, "efficiency of the larger run", "E'")
_SCALABILITY = Symbol(
    "scalability",
    COUNT,
    "scalability, at most 1 in practice; a larger value is better",
    r"\mathrm{scale}",
)


SEQUENTIAL_TIME = Law(
    name="sequential-time",
    title="Time of the fastest sequential algorithm",
    gives=Symbol("time", TIME, "time on one processor", r"T_{\mathrm{seq}}"),
    equation=lambda work=_WORK, operation=_OPERATION: work * operation,
    holds="work >= 0 and operation >= 0",
    source=f"{_PAPER} 8",
    checks=(Check((1e6, 2e-6), 2.0, 1e-15, HAND),),
)

_OVERHEAD = Symbol(
    "overhead", TIME, "overhead latencies during execution, added up over processors", r"\sum_i L_i"
)
_EFFECTIVE = Symbol(
    "effective", TIME, "effective execution times, added up over processors", r"\sum_i T_i"
)
LATENCY_FROM_PROCESSORS = Law(
    name="latency-from-processors",
    title="Average overhead latency from each processor's times",
    gives=_LATENCY,
    equation=lambda processors=PROCESSORS, overhead=_OVERHEAD, effective=_EFFECTIVE, time=_TIME: (
        (processors * time - effective + overhead) / processors
    ),
    holds="processors >= 1 and overhead >= 0 and effective >= 0 and processors * time >= effective",
    source=f"{_PAPER} 2",
    checks=(Check((4, 2.0, 30.0, 10.0), 3.0, 0.0, f"{HAND}: (10 + 2) / 4"),),
)

PARALLEL_TIME = Law(
    name="parallel-time",
    title="Parallel time from work and average latency",
    gives=_TIME,
    equation=lambda processors=PROCESSORS, work=_WORK, operation=_OPERATION, latency=_LATENCY: (
        work * operation / processors + latency
    ),
    holds="processors >= 1 and work >= 0 and operation >= 0 and latency >= 0",
    source=f"{_PAPER} 3",
    checks=(
        Check((4, 28.0, 1.0, 3.0), 10.0, 0.0, f"{HAND}: 7 + 3"),
        Check((4, 28.0, 0.5, 3.0), 6.5, 7e-14, f"{HAND}: 3.5 + 3"),
    ),
)

_LATENCY_AT_EFFICIENCY = Symbol(
    "latency", TIME, "average latency, at the chosen efficiency", "L_E(W, N)"
)
_MORE_LATENCY = Symbol(
    "more_latency", TIME, "average latency of the larger run, at the same efficiency", "L_E(W', N')"
)
LATENCY_SCALABILITY = Law(
    name="latency-scalability",
    title="Scalability by the latency metric",
    gives=_SCALABILITY,
    equation=lambda latency=_LATENCY_AT_EFFICIENCY, more_latency=_MORE_LATENCY: (
        latency / more_latency
    ),
    holds="latency >= 0 and more_latency > 0",
    source=f"{_PAPER} 4",
    note="the work must grow so that the efficiency stays the same",
    checks=(Check((27.0, 50.0), 0.54, 0.0, "printed for 4 to 32 processors; latencies made up"),),
)

_MEMORY = Symbol("memory", TIME, "memory reference latency, added up over processors", "ML")
_IDLE = Symbol("idle", TIME, "idle time, added up over processors", "IT")
_PRIMITIVES = Symbol(
    "primitives", TIME, "time in parallel primitives, added up over processors", "PT"
)
LATENCY_FROM_SOURCES = Law(
    name="latency-from-sources",
    title="Average overhead latency from its sources",
    gives=_LATENCY,
    equation=lambda processors=PROCESSORS, memory=_MEMORY, idle=_IDLE, primitives=_PRIMITIVES: (
        (memory + idle + primitives) / processors
    ),
    holds="processors >= 1 and memory >= 0 and idle >= 0 and primitives >= 0",
    source=f"{_PAPER} 5",
    checks=(Check((4, 5.0, 6.0, 1.0), 3.0, 0.0, HAND),),
)

IDLE_TIME = Law(
    name="idle-time",
    title="Idle time of all processors",
    gives=Symbol("idle", TIME, "idle time, added up over processors", "IT"),
    equation=lambda processors=PROCESSORS, effective=_EFFECTIVE, time=_TIME: (
        processors * time - effective
    ),
    holds="processors >= 1 and effective >= 0 and processors * time >= effective",
    source=f"{_PAPER} 6",
    checks=(Check((4, 30.0, 10.0), 10.0, 0.0, HAND),),
)

_ALONE = Symbol("alone", TIME, "memory reference time on one processor", "ML(1)")
_TOGETHER = Symbol("together", TIME, "memory reference time on all processors, added up", "ML(N)")
MEMORY_LATENCY = Law(
    name="memory-latency",
    title="Additional memory time of the parallel run",
    gives=Symbol("memory", TIME, "memory reference latency, added up over processors", "ML"),
    equation=lambda alone=_ALONE, together=_TOGETHER: together - alone,
    holds="alone >= 0 and together >= 0",
    source=f"{_PAPER} 7",
    note="the time is negative if more of the data fit into the caches of all processors together",
    checks=(Check((3.0, 8.0), 5.0, 0.0, HAND),),
)

EFFICIENCY_FROM_LATENCY = Law(
    name="efficiency-from-latency",
    title="Efficiency from work and average latency",
    gives=_EFFICIENCY,
    equation=lambda processors=PROCESSORS, work=_WORK, operation=_OPERATION, latency=_LATENCY: (
        work * operation / (work * operation + processors * latency)
    ),
    holds="processors >= 1 and latency >= 0 and work * operation > 0",
    source=f"{_PAPER} 9",
    checks=(
        Check((4, 28.0, 1.0, 3.0), 0.7, 0.0, f"{HAND}: 28 / 40"),
        Check((4, 28.0, 0.5, 1.5), 0.7, 7e-15, f"{HAND}: 14 / 20"),
    ),
)

OVERHEAD = Law(
    name="overhead",
    title="Overhead: time of all processors in excess of the sequential time",
    gives=Symbol("overhead", TIME, "total overhead", "T_o"),
    equation=lambda processors=PROCESSORS, latency=_LATENCY: processors * latency,
    holds="processors >= 1 and latency >= 0",
    source=f"{GRAMA}: the overhead N T - W t_c",
    checks=(Check((4, 3.0), 12.0, 0.0, f"{HAND}: 4 x 10 - 28"),),
)

_TOTAL_OVERHEAD = Symbol("overhead", TIME, "total overhead of all processors at this work", "T_o")
ISOEFFICIENCY_WORK = Law(
    name="isoefficiency",
    title="Work that keeps an efficiency constant as overhead grows",
    gives=_WORK,
    equation=lambda efficiency=_EFFICIENCY, overhead=_TOTAL_OVERHEAD, operation=_OPERATION: (
        efficiency / (1 - efficiency) * overhead / operation
    ),
    holds="efficiency > 0 and efficiency < 1 and overhead >= 0 and operation > 0",
    source=GRAMA,
    note=(
        "if the overhead depends on the work, the law is an equation that must be solved for the"
        " work"
    ),
    checks=(
        Check((0.8, 48.0, 1.0), 192.0, 1e-13, f"{GRAMA}: adding n numbers, N = 8"),
        Check((0.8, 128.0, 1.0), 512.0, 1e-12, f"{GRAMA}: N = 16"),
        Check((0.8, 48.0, 2.0), 96.0, 1e-12, f"{HAND}: 4 x 48 / 2"),
    ),
)

UNIT_SPEED = Law(
    name="unit-speed",
    title="Work of one processor per second",
    gives=Symbol("speed", OPERATIONS / TIME, "rate of operations of one processor", "v"),
    equation=lambda processors=PROCESSORS, work=_WORK, time=_TIME: work / (processors * time),
    holds="processors >= 1 and work >= 0 and time > 0",
    source=_SUN_ROVER,
    checks=(Check((4, 28.0, 10.0), 0.7, 0.0, HAND),),
)

ISOSPEED_SCALABILITY = Law(
    name="isospeed-scalability",
    title="Isospeed scalability: ratio of the work that keeps the speed of a processor constant",
    gives=Symbol(
        "scalability",
        COUNT,
        "scalability, at most 1 in practice; a larger value is better",
        r"\psi",
    ),
    equation=lambda processors=PROCESSORS, more_processors=_LARGER, work=_WORK, more_work=_LARGER_WORK: (
        more_processors * work / (processors * more_work)
    ),
    holds="processors >= 1 and more_processors >= processors and work > 0 and more_work > 0",
    source=_SUN_ROVER,
    checks=(Check((8, 16, 192, 512), 0.75, 0.0, f"{HAND}: N log N"),),
)

WORK_IN_TIME = Law(
    name="work-in-time",
    title="Work done in a given time",
    gives=_WORK,
    equation=lambda processors=PROCESSORS, efficiency=_EFFICIENCY, operation=_OPERATION, time=_TIME: (
        time * processors * efficiency / operation
    ),
    holds="processors >= 1 and efficiency >= 0 and time >= 0 and efficiency <= 1 and operation > 0",
    source=f"{_PAPER} 11",
    checks=(
        Check((4, 0.7, 1.0, 10.0), 28.0, 1e-14, HAND),
        Check((4, 0.7, 0.5, 10.0), 56.0, 6e-13, f"{HAND}: 28 / 0.5"),
    ),
)

TIME_BOUND_LATENCY_SCALABILITY = Law(
    name="time-bound-latency-scalability",
    title="Scalability in fixed time, by latency",
    gives=_SCALABILITY,
    equation=lambda efficiency=_EFFICIENCY, more_efficiency=_LARGER_EFFICIENCY: (
        (1 - efficiency) / (1 - more_efficiency)
    ),
    holds="efficiency >= 0 and more_efficiency >= 0 and efficiency <= 1 and more_efficiency < 1",
    source=f"{_PAPER} 12",
    note=(
        "the scalability is near 1 if both efficiencies are low, so that a program that scales"
        " badly looks good"
    ),
    checks=(Check((0.5, 0.39), 0.82, 5e-3, "printed for 4 to 32 processors; E' fitted"),),
)

TIME_BOUND_WORK_SCALABILITY = Law(
    name="time-bound-work-scalability",
    title="Scalability in fixed time, by work",
    gives=Symbol(
        "scalability", COUNT, "scalability, above 1 if the efficiency falls", r"\mathrm{scale}"
    ),
    equation=lambda more_efficiency=_LARGER_EFFICIENCY, efficiency=_EFFICIENCY: (
        efficiency / more_efficiency
    ),
    holds="efficiency >= 0 and more_efficiency > 0",
    source=f"{_PAPER} 13; the prime marks the same run as in equation 11",
    note=(
        "the scalability is the work of a processor divided by its work in the larger run; it"
        " equals the isospeed scalability only if the efficiency is the same"
    ),
    checks=(Check((0.39, 0.5), 1.28, 5e-3, f"{HAND}: 0.50 / 0.39"),),
)

_EACH = Symbol("each", BYTES, "memory of an item", "C")
_MEMORY_SIZE = Symbol("memory", BYTES, "memory of a processor", "B")
MEMORY_BOUND_ITEMS = Law(
    name="memory-bound-items",
    title="Items that fill the memory",
    gives=Symbol("items", COUNT, "number of items, such as balls", "n"),
    equation=lambda processors=PROCESSORS, each=_EACH, memory=_MEMORY_SIZE: (
        processors * memory / each
    ),
    holds="processors >= 1 and memory >= 0 and each > 0",
    source=f"{_PAPER} 14, with 960 bytes for an item on the KSR-1",
    checks=(Check((4, 960, 1.2e6), 5000.0, 0.0, f"{HAND}: 4.8 MB of balls"),),
)
