"""Scalability by latency, by speed and by efficiency: the equations of Scale-Graph and of the works it builds on.

Work is a time where no more is needed, and a count of basic operations, each of a time, where the paper has it so. A prime marks the larger run.
"""

from __future__ import annotations

from slipstick.expression.dimension import BYTES, COUNT, TIME, Dimension
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import GRAMA, HAND, PROCESSORS, SCALE_GRAPH

OPERATIONS = Dimension.of("op")
PER_OPERATION = Dimension.of("s/op")

_PAPER = f"{SCALE_GRAPH}, equation"
_SUN_ROVER = "Sun and Rover, IEEE Transactions on Parallel and Distributed Systems 5(6), 1994"

_LARGER = Symbol("more_processors", COUNT, "processors of the larger run", "N'")
_WORK = Symbol("work", OPERATIONS, "basic operations of the fastest sequential algorithm", "W")
_LARGER_WORK = Symbol("more_work", OPERATIONS, "basic operations in the larger run", "W'")
_OPERATION = Symbol("operation", PER_OPERATION, "time of a basic operation", "t_c")
_TIME = Symbol("time", TIME, "elapsed time on all processors", r"T_{\mathrm{para}}")
_LATENCY = Symbol("latency", TIME, "average overhead latency of a processor", "L")
_EFFICIENCY = Symbol("efficiency", COUNT, "efficiency", "E")
_LARGER_EFFICIENCY = Symbol("more_efficiency", COUNT, "efficiency of the larger run", "E'")
_SCALABILITY = Symbol("scalability", COUNT, "at most 1 in practice; large is scalable", r"\mathrm{scale}")


SEQUENTIAL_TIME = Law(
    name="sequential-time",
    title="Time of the fastest sequential algorithm",
    gives=Symbol("time", TIME, "on one processor", r"T_{\mathrm{seq}}"),
    symbols=(_WORK, _OPERATION),
    equation=lambda work, operation: work * operation,
    holds="work >= 0 and operation >= 0",
    source=f"{_PAPER} 8",
    checks=(Check({"work": 1e6, "operation": 2e-6}, 2.0, 1e-15, HAND),),
)

LATENCY_FROM_PROCESSORS = Law(
    name="latency-from-processors",
    title="Average overhead latency from each processor's times",
    gives=_LATENCY,
    symbols=(
        PROCESSORS,
        Symbol("overhead", TIME, "overhead latencies during execution, added up over processors", r"\sum_i L_i"),
        Symbol("effective", TIME, "effective execution times, added up over processors", r"\sum_i T_i"),
        _TIME,
    ),
    equation=lambda processors, overhead, effective, time: (processors * time - effective + overhead) / processors,
    holds="processors >= 1 and overhead >= 0 and effective >= 0 and processors * time >= effective",
    source=f"{_PAPER} 2",
    checks=(
        Check({"processors": 4, "overhead": 2.0, "effective": 30.0, "time": 10.0}, 3.0, 0.0, f"{HAND}: (10 + 2) / 4"),
    ),
)

PARALLEL_TIME = Law(
    name="parallel-time",
    title="Parallel time from work and average latency",
    gives=_TIME,
    symbols=(PROCESSORS, _WORK, _OPERATION, _LATENCY),
    equation=lambda processors, work, operation, latency: work * operation / processors + latency,
    holds="processors >= 1 and work >= 0 and operation >= 0 and latency >= 0",
    source=f"{_PAPER} 3",
    checks=(Check({"processors": 4, "work": 28.0, "operation": 1.0, "latency": 3.0}, 10.0, 0.0, f"{HAND}: 7 + 3"),),
)

LATENCY_SCALABILITY = Law(
    name="latency-scalability",
    title="Scalability by the latency metric",
    gives=_SCALABILITY,
    symbols=(
        Symbol("latency", TIME, "average latency, at the chosen efficiency", "L_E(W, N)"),
        Symbol("more_latency", TIME, "average latency of the larger run, at the same efficiency", "L_E(W', N')"),
    ),
    equation=lambda latency, more_latency: latency / more_latency,
    holds="latency >= 0 and more_latency > 0",
    source=f"{_PAPER} 4",
    note="work must grow so that the efficiency stays the same",
    checks=(
        Check({"latency": 27.0, "more_latency": 50.0}, 0.54, 0.0, "printed for 4 to 32 processors; latencies made up"),
    ),
)

LATENCY_FROM_SOURCES = Law(
    name="latency-from-sources",
    title="Average overhead latency from its sources",
    gives=_LATENCY,
    symbols=(
        PROCESSORS,
        Symbol("memory", TIME, "memory reference latency, added up over processors", "ML"),
        Symbol("idle", TIME, "idle time, added up over processors", "IT"),
        Symbol("primitives", TIME, "time in parallel primitives, added up over processors", "PT"),
    ),
    equation=lambda processors, memory, idle, primitives: (memory + idle + primitives) / processors,
    holds="processors >= 1 and memory >= 0 and idle >= 0 and primitives >= 0",
    source=f"{_PAPER} 5",
    checks=(Check({"processors": 4, "memory": 5.0, "idle": 6.0, "primitives": 1.0}, 3.0, 0.0, HAND),),
)

IDLE_TIME = Law(
    name="idle-time",
    title="Idle time of all processors",
    gives=Symbol("idle", TIME, "idle time, added up over processors", "IT"),
    symbols=(
        PROCESSORS,
        Symbol("effective", TIME, "effective execution times, added up over processors", r"\sum_i T_i"),
        _TIME,
    ),
    equation=lambda processors, effective, time: processors * time - effective,
    holds="processors >= 1 and effective >= 0 and processors * time >= effective",
    source=f"{_PAPER} 6",
    checks=(Check({"processors": 4, "effective": 30.0, "time": 10.0}, 10.0, 0.0, HAND),),
)

MEMORY_LATENCY = Law(
    name="memory-latency",
    title="Memory time that only the parallel run needs",
    gives=Symbol("memory", TIME, "memory reference latency, added up over processors", "ML"),
    symbols=(
        Symbol("alone", TIME, "memory reference time on one processor", "ML(1)"),
        Symbol("together", TIME, "memory reference time on all, added up", "ML(N)"),
    ),
    equation=lambda alone, together: together - alone,
    holds="alone >= 0 and together >= 0",
    source=f"{_PAPER} 7",
    note="negative where more caches hold more of the data",
    checks=(Check({"alone": 3.0, "together": 8.0}, 5.0, 0.0, HAND),),
)

EFFICIENCY_FROM_LATENCY = Law(
    name="efficiency-from-latency",
    title="Efficiency from work and average latency",
    gives=_EFFICIENCY,
    symbols=(PROCESSORS, _WORK, _OPERATION, _LATENCY),
    equation=lambda processors, work, operation, latency: work * operation / (work * operation + processors * latency),
    holds="processors >= 1 and latency >= 0 and work * operation > 0",
    source=f"{_PAPER} 9",
    checks=(Check({"processors": 4, "work": 28.0, "operation": 1.0, "latency": 3.0}, 0.7, 0.0, f"{HAND}: 28 / 40"),),
)

OVERHEAD = Law(
    name="overhead",
    title="Time of all processors beyond the sequential work",
    gives=Symbol("overhead", TIME, "total overhead", "T_o"),
    symbols=(PROCESSORS, _LATENCY),
    equation=lambda processors, latency: processors * latency,
    holds="processors >= 1 and latency >= 0",
    source=f"{GRAMA}: N T - W t_c",
    checks=(Check({"processors": 4, "latency": 3.0}, 12.0, 0.0, f"{HAND}: 4 x 10 - 28"),),
)

ISOEFFICIENCY_WORK = Law(
    name="isoefficiency",
    title="Work that keeps an efficiency constant as overhead grows",
    gives=_WORK,
    symbols=(_EFFICIENCY, Symbol("overhead", TIME, "total overhead of all processors at that work", "T_o"), _OPERATION),
    equation=lambda efficiency, overhead, operation: efficiency / (1 - efficiency) * overhead / operation,
    holds="efficiency > 0 and efficiency < 1 and overhead >= 0 and operation > 0",
    source=GRAMA,
    note="if the overhead depends on the work, an equation to be solved for the work",
    checks=(
        Check(
            {"efficiency": 0.8, "overhead": 48.0, "operation": 1.0}, 192.0, 1e-13, f"{GRAMA}: adding n numbers, N = 8"
        ),
        Check({"efficiency": 0.8, "overhead": 128.0, "operation": 1.0}, 512.0, 1e-12, f"{GRAMA}: N = 16"),
    ),
)

UNIT_SPEED = Law(
    name="unit-speed",
    title="Work of one processor per second",
    gives=Symbol("speed", OPERATIONS / TIME, "operations of one processor in a second", "v"),
    symbols=(PROCESSORS, _WORK, _TIME),
    equation=lambda processors, work, time: work / (processors * time),
    holds="processors >= 1 and work >= 0 and time > 0",
    source=_SUN_ROVER,
    checks=(Check({"processors": 4, "work": 28.0, "time": 10.0}, 0.7, 0.0, HAND),),
)

ISOSPEED_SCALABILITY = Law(
    name="isospeed-scalability",
    title="Scalability by work that keeps the speed of a processor",
    gives=Symbol("scalability", COUNT, "at most 1 in practice; large is scalable", r"\psi"),
    symbols=(PROCESSORS, _LARGER, _WORK, _LARGER_WORK),
    equation=lambda processors, more_processors, work, more_work: more_processors * work / (processors * more_work),
    holds="processors >= 1 and more_processors >= processors and work > 0 and more_work > 0",
    source=_SUN_ROVER,
    checks=(
        Check({"processors": 8, "more_processors": 16, "work": 192, "more_work": 512}, 0.75, 0.0, f"{HAND}: N log N"),
    ),
)

WORK_IN_TIME = Law(
    name="work-in-time",
    title="Work done in a given time",
    gives=_WORK,
    symbols=(PROCESSORS, _EFFICIENCY, _OPERATION, _TIME),
    equation=lambda processors, efficiency, operation, time: time * processors * efficiency / operation,
    holds="processors >= 1 and efficiency >= 0 and time >= 0 and efficiency <= 1 and operation > 0",
    source=f"{_PAPER} 11",
    checks=(Check({"processors": 4, "efficiency": 0.7, "operation": 1.0, "time": 10.0}, 28.0, 1e-14, HAND),),
)

TIME_BOUND_LATENCY_SCALABILITY = Law(
    name="time-bound-latency-scalability",
    title="Scalability in fixed time, by latency",
    gives=_SCALABILITY,
    symbols=(_EFFICIENCY, _LARGER_EFFICIENCY),
    equation=lambda efficiency, more_efficiency: (1 - efficiency) / (1 - more_efficiency),
    holds="efficiency >= 0 and more_efficiency >= 0 and efficiency <= 1 and more_efficiency < 1",
    source=f"{_PAPER} 12",
    note="near 1 if both efficiencies are low, so a program that scales badly looks good",
    checks=(
        Check({"efficiency": 0.5, "more_efficiency": 0.39}, 0.82, 5e-3, "printed for 4 to 32 processors; E' fitted"),
    ),
)

TIME_BOUND_WORK_SCALABILITY = Law(
    name="time-bound-work-scalability",
    title="Scalability in fixed time, by work",
    gives=Symbol("scalability", COUNT, "above 1 as efficiency falls", r"\mathrm{scale}"),
    symbols=(_LARGER_EFFICIENCY, _EFFICIENCY),
    equation=lambda more_efficiency, efficiency: efficiency / more_efficiency,
    holds="efficiency >= 0 and more_efficiency > 0",
    source=f"{_PAPER} 13, with the prime where equation 11 puts it",
    note="work of a processor over that in the larger run; isospeed only where the efficiency is the same",
    checks=(Check({"more_efficiency": 0.39, "efficiency": 0.5}, 1.28, 5e-3, f"{HAND}: 0.50 / 0.39"),),
)

MEMORY_BOUND_ITEMS = Law(
    name="memory-bound-items",
    title="Items that fill the memory",
    gives=Symbol("items", COUNT, "items, such as balls", "n"),
    symbols=(
        PROCESSORS,
        Symbol("each", BYTES, "memory of an item", "C"),
        Symbol("memory", BYTES, "memory of a processor", "B"),
    ),
    equation=lambda processors, each, memory: processors * memory / each,
    holds="processors >= 1 and memory >= 0 and each > 0",
    source=f"{_PAPER} 14; an item is 960 on the KSR-1, printed as bytes",
    checks=(Check({"processors": 4, "each": 960, "memory": 1.2e6}, 5000.0, 0.0, f"{HAND}: 4.8 MB of balls"),),
)
