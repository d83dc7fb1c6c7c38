"""Where the processors went: the ratios that every account of time is read through.

For unit grains these are efficiency and interference among competitors, and memory bandwidth in
words.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, RATE, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import ELAPSED, HAND, LITTLE, NANDA_NI, PARSONS, PROCESSORS

_TIME = Symbol("time", TIME, "one cycle of a processor, or the whole program", "T")

_USEFUL = Symbol("useful", TIME, "useful time of a processor in a cycle", "T_u")
EFFICIENCY = Law(
    name="efficiency",
    title="Efficiency from the account of time",
    gives=Symbol("efficiency", COUNT, "share of the processors' time that is useful", "E"),
    equation=lambda useful=_USEFUL, time=_TIME: useful / time,
    holds="time > 0 and time >= useful",
    source="Grama, Gupta, Kumar, IEEE Parallel & Distributed Technology 1(3), 1993",
    checks=(Check((9.0, 12.0), 0.75, 0.0, HAND),),
)

_EFFICIENCY = Symbol("efficiency", COUNT, "share of time that is useful", "E")
SPEEDUP = Law(
    name="speed-up",
    title="Speed-up from efficiency",
    gives=Symbol("speedup", COUNT, "processors' worth of useful work", "S"),
    equation=lambda processors=PROCESSORS, efficiency=_EFFICIENCY: processors * efficiency,
    holds="processors >= 1",
    source="Parsons, Brorsson, Sevcik, 1997: efficiency = speed-up / processors",
    note="against one processor only if its useful work is the same",
    checks=(
        Check(
            (8, 0.8625),
            6.9,
            0.0005,
            "Table 1, SOR: sequential 10.3 s, eight processors 1.5 s, printed speed-up 6.9",
        ),
    ),
)

_BOOKED = Symbol("booked", TIME, "time of a processor booked to the cause", "T_c")
PROCESSORS_LOST = Law(
    name="processors-lost",
    title="Processors lost to one cause",
    gives=Symbol("lost", COUNT, "processors' worth of time lost", "N_c"),
    equation=lambda processors=PROCESSORS, booked=_BOOKED, time=_TIME: processors * booked / time,
    holds="time > 0",
    source=(
        "Dritz and Boyle, Argonne National Laboratory ANL-87-7, 1987, as used by Lucier, SIGMETRICS"
        " 1988"
    ),
    checks=(Check((16, 3.0, 12.0), 4.0, 0.0, HAND),),
)

_DRITZ_BOYLE = (
    "Dritz and Boyle, Argonne National Laboratory ANL-87-7, 1987; Lucier, SIGMETRICS 1988"
)
_WAITS = Symbol("waits", TIME, "waits for locks, added up over processors", "W_N")
_ASSUMED = "waiting for locks is the only delay, and the work is that of one processor"

SEQUENTIAL_ESTIMATE = Law(
    name="sequential-estimate",
    title="Time on one processor, estimated from a run on several",
    gives=Symbol("sequential", TIME, "on one processor", "T_1"),
    equation=lambda processors=PROCESSORS, waits=_WAITS, time=ELAPSED: processors * time - waits,
    holds="processors >= 1 and waits >= 0 and processors * time >= waits",
    source=_DRITZ_BOYLE,
    note=f"{_ASSUMED}: a measured time on one processor tests the assumption",
    checks=(
        Check(
            (1, 38.0, 6050.0),
            6012.0,
            0.5,
            "Lucier 1988: 6050 s on one processor, 38 s of them the timer's",
        ),
        Check((16, 2800.0, 561.0), 6176.0, 0.5, "Lucier 1988: waits; time fitted"),
    ),
)

SPEEDUP_FROM_WAITS = Law(
    name="speed-up-from-waits",
    title="Speed-up without a run on one processor",
    gives=Symbol("speedup", COUNT, "gain over one processor", "S_N"),
    equation=lambda processors=PROCESSORS, waits=_WAITS, time=ELAPSED: processors - waits / time,
    holds="processors >= 1 and waits >= 0 and time > 0 and processors * time >= waits",
    source=_DRITZ_BOYLE,
    note=f"{_ASSUMED}; waits over time are the processors lost",
    checks=(Check((16, 24.8, 20.0), 14.76, 1e-14, "worked by hand: 1.24 processors lost"),),
)

AVERAGE_LATENCY = Law(
    name="average-latency",
    title="Average overhead latency of a processor",
    gives=Symbol("latency", TIME, "time that is not useful", "L"),
    equation=lambda time=_TIME, efficiency=_EFFICIENCY: time * (1 - efficiency),
    source=(
        "Software Support for Multiprocessor Latency Measurement and Evaluation (Scale-Graph), IEEE"
        " TSE 1997, equation 10"
    ),
    checks=(Check((100.0, 0.5), 50.0, 0.0, HAND),),
)

_BEFORE = Symbol("before", TIME, "time of a processor that is not useful, before the change", "L_0")
_AFTER = Symbol("after", TIME, "the same after it", "L_1")
OVERHEAD_REDUCTION = Law(
    name="overhead-reduction",
    title="Part of the overhead that a change removes",
    gives=Symbol("reduction", COUNT, "part of the former overhead that is removed", "R"),
    equation=lambda before=_BEFORE, after=_AFTER: 1 - after / before,
    holds="before > 0",
    source=f"our reading of Figures 5 and 7 of {PARSONS}",
    checks=(Check((4.0, 3.0), 0.25, 0.0, HAND),),
)

CYCLE_RATE = Law(
    name="cycle-rate",
    title="Cycles of all processors per second",
    gives=Symbol("throughput", RATE, "cycles of all processors", "X"),
    equation=lambda processors=PROCESSORS, time=_TIME: processors / time,
    holds="time > 0",
    source=f"{LITTLE}: the law applied to the whole cycle",
    checks=(Check((8, 2.0), 4.0, 0.0, HAND),),
)


_ALONE = Symbol("alone", TIME, "a test grain with no competitors", "T_0")
_AMONG = Symbol("among", TIME, "a test grain among N competitors", "T_N")

GRAIN_EFFICIENCY = Law(
    name="grain-efficiency",
    title="Efficiency of a unit grain among competitors",
    gives=Symbol(
        "efficiency", COUNT, "share of its speed that competitors leave a grain", r"\zeta"
    ),
    equation=lambda alone=_ALONE, among=_AMONG: alone / among,
    holds="alone > 0 and among >= alone",
    source=NANDA_NI,
    checks=(Check((2.0, 8.0), 0.25, 0.0, HAND),),
)

GRAIN_INTERFERENCE = Law(
    name="grain-interference",
    title="Interference that a unit grain suffers from competitors",
    gives=Symbol("interference", COUNT, "time added, relative to the grain alone", r"\Phi"),
    equation=lambda alone=_ALONE, among=_AMONG: (among - alone) / alone,
    holds="alone > 0 and among >= alone",
    source=NANDA_NI,
    checks=(Check((2.0, 8.0), 3.0, 0.0, f"{HAND}: (1 - 0.25) / 0.25"),),
)

_PROCESSORS = Symbol("processors", COUNT, "the test processor and its competitors", "N + 1")
_ACCESSES = Symbol("accesses", COUNT, "accesses of a grain, at random stride", "m")
WORDS_ACCESSED_RANDOMLY = Law(
    name="words-accessed-randomly",
    title="Words accessed randomly per second (WARPS)",
    gives=Symbol("bandwidth", RATE, "accesses of all processors", "WARPS"),
    equation=lambda processors=_PROCESSORS, accesses=_ACCESSES, among=_AMONG: (
        processors * accesses / among
    ),
    holds="processors >= 1 and accesses >= 0 and among > 0",
    source=f"{NANDA_NI}, Figure 7",
    note="for equal grains of accesses alone",
    checks=(Check((4, 10, 20e-6), 2e6, 1e-9, HAND),),
)

_ITERATIONS = Symbol("iterations", COUNT, "identical iterations of each processor", "r_k")
_ITERATION = Symbol("iteration", TIME, "an iteration of the slowest processor", "t_k")
_BARRIER = Symbol("barrier", TIME, "the barrier beyond waiting for the last arrival", "T_B")
PHASE_TIME = Law(
    name="phase-time",
    title="Time of one phase between two barriers",
    gives=Symbol("time", TIME, "from its first iteration until all have left the barrier", "T_k"),
    equation=lambda iterations=_ITERATIONS, iteration=_ITERATION, barrier=_BARRIER: (
        iterations * iteration + barrier
    ),
    holds="iterations >= 0 and iteration >= 0 and barrier >= 0",
    source=(
        f"{NANDA_NI}: phase and transition model; a program is its sequential parts and the sum of"
        " its phases"
    ),
    checks=(Check((10, 2.0, 0.5), 20.5, 0.0, HAND),),
)
