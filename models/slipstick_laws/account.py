"""What measured runs and phases of programs say of the time of processors."""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, TIME
from slipstick.law.account import EFFICIENCY_SHARE, TIME_OF_CYCLE
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import ELAPSED, HAND, NANDA_NI, PROCESSORS

_DRITZ_BOYLE = (
    "Dritz and Boyle, Argonne National Laboratory ANL-87-7, 1987; Lucier, SIGMETRICS 1988"
)

_WAITS = Symbol("waits", TIME, "time of waits for locks, added up over processors", "W_N")

_ASSUMED = (
    "the law assumes that the total work is the same as on one processor, and that processors wait"
    " only for locks"
)

SEQUENTIAL_ESTIMATE = Law(
    name="sequential-estimate",
    title="Time on one processor, estimated from a run on several",
    gives=Symbol("sequential", TIME, "time on one processor", "T_1"),
    equation=lambda processors=PROCESSORS, waits=_WAITS, time=ELAPSED: processors * time - waits,
    holds="processors >= 1 and waits >= 0 and processors * time >= waits",
    source=_DRITZ_BOYLE,
    note=f"{_ASSUMED}; a measured time on one processor tests this assumption",
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
    gives=Symbol("speedup", COUNT, "speed-up over one processor", "S_N"),
    equation=lambda processors=PROCESSORS, waits=_WAITS, time=ELAPSED: processors - waits / time,
    holds="processors >= 1 and waits >= 0 and time > 0 and processors * time >= waits",
    source=_DRITZ_BOYLE,
    note=f"{_ASSUMED}; the waits divided by the time are the number of processors lost",
    checks=(Check((16, 24.8, 20.0), 14.76, 1e-14, "worked by hand: 1.24 processors lost"),),
)

AVERAGE_LATENCY = Law(
    name="average-latency",
    title="Average overhead latency of a processor",
    gives=Symbol("latency", TIME, "time that is not useful", "L"),
    equation=lambda time=TIME_OF_CYCLE, efficiency=EFFICIENCY_SHARE: time * (1 - efficiency),
    source=(
        "Software Support for Multiprocessor Latency Measurement and Evaluation (Scale-Graph), IEEE"
        " TSE 1997, equation 10"
    ),
    checks=(Check((100.0, 0.5), 50.0, 0.0, HAND),),
)

_ITERATIONS = Symbol("iterations", COUNT, "number of identical iterations of each processor", "r_k")

_ITERATION = Symbol("iteration", TIME, "time of an iteration of the slowest processor", "t_k")

_BARRIER = Symbol(
    "barrier", TIME, "time of the barrier, without the wait for the last arrival", "T_B"
)

PHASE_TIME = Law(
    name="phase-time",
    title="Time of one phase between two barriers",
    gives=Symbol(
        "time",
        TIME,
        "time from the first iteration until all processors have left the barrier",
        "T_k",
    ),
    equation=lambda iterations=_ITERATIONS, iteration=_ITERATION, barrier=_BARRIER: (
        iterations * iteration + barrier
    ),
    holds="iterations >= 0 and iteration >= 0 and barrier >= 0",
    source=(f"{NANDA_NI}: the phase and transition model"),
    checks=(Check((10, 2.0, 0.5), 20.5, 0.0, HAND),),
)
