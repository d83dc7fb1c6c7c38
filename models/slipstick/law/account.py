"""Where the processors went: the ratios that every account of time is read through.

For unit grains these are efficiency and interference among competitors, and memory bandwidth in
words.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, RATE, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, LITTLE, NANDA_NI, PARSONS, PROCESSORS

TIME_OF_CYCLE = Symbol(
    "time", TIME, "time of one cycle of a processor, or of the whole program", "T"
)

_USEFUL = Symbol("useful", TIME, "useful time of a processor in a cycle", "T_u")
EFFICIENCY = Law(
    name="efficiency",
    title="Efficiency from the account of time",
    gives=Symbol("efficiency", COUNT, "share of the processors' time that is useful", "E"),
    equation=lambda useful=_USEFUL, time=TIME_OF_CYCLE: useful / time,
    holds="time > 0 and time >= useful",
    source="Grama, Gupta, Kumar, IEEE Parallel & Distributed Technology 1(3), 1993",
    checks=(Check((9.0, 12.0), 0.75, 0.0, HAND),),
)

EFFICIENCY_SHARE = Symbol("efficiency", COUNT, "share of time that is useful", "E")
SPEEDUP = Law(
    name="speed-up",
    title="Speed-up from efficiency",
    gives=Symbol("speedup", COUNT, "useful work as a number of fully useful processors", "S"),
    equation=lambda processors=PROCESSORS, efficiency=EFFICIENCY_SHARE: processors * efficiency,
    holds="processors >= 1",
    source="Parsons, Brorsson, Sevcik, 1997: efficiency = speed-up / processors",
    note="the speed-up is relative to one processor only if the useful work is the same there",
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
    gives=Symbol("lost", COUNT, "lost time as a number of processors", "N_c"),
    equation=lambda processors=PROCESSORS, booked=_BOOKED, time=TIME_OF_CYCLE: (
        processors * booked / time
    ),
    holds="time > 0",
    source=(
        "Dritz and Boyle, Argonne National Laboratory ANL-87-7, 1987, as used by Lucier, SIGMETRICS"
        " 1988"
    ),
    checks=(Check((16, 3.0, 12.0), 4.0, 0.0, HAND),),
)


_BEFORE = Symbol("before", TIME, "time of a processor that is not useful, before the change", "L_0")
_AFTER = Symbol("after", TIME, "time of a processor that is not useful, after the change", "L_1")
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
    gives=Symbol("throughput", RATE, "rate of cycles of all processors", "X"),
    equation=lambda processors=PROCESSORS, time=TIME_OF_CYCLE: processors / time,
    holds="time > 0",
    source=f"{LITTLE}: Little's law applied to the whole cycle",
    checks=(Check((8, 2.0), 4.0, 0.0, HAND),),
)


_ALONE = Symbol("alone", TIME, "time of a test grain without competitors", "T_0")
_AMONG = Symbol("among", TIME, "time of a test grain among N competitors", "T_N")

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

_PROCESSORS = Symbol(
    "processors",
    COUNT,
    "number of processors: the test processor and its competitors",
    "N + 1",
)
_ACCESSES = Symbol("accesses", COUNT, "number of accesses in a grain, at random stride", "m")
WORDS_ACCESSED_RANDOMLY = Law(
    name="words-accessed-randomly",
    title="Words accessed randomly per second (WARPS)",
    gives=Symbol("bandwidth", RATE, "rate of accesses of all processors", "WARPS"),
    equation=lambda processors=_PROCESSORS, accesses=_ACCESSES, among=_AMONG: (
        processors * accesses / among
    ),
    holds="processors >= 1 and accesses >= 0 and among > 0",
    source=f"{NANDA_NI}, Figure 7",
    note="all grains must be equal and consist of accesses only",
    checks=(Check((4, 10, 20e-6), 2e6, 1e-9, HAND),),
)
