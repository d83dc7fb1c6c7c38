"""Speed-up laws: Amdahl, Gustafson, Sun and Ni, Gunther, Karp and Flatt, Brent, Downey."""

from __future__ import annotations

from typing import Any

from slipstick.expression.nodes import COUNT, TIME, maximum, minimum, select, sqrt
from slipstick.expression.special import real_power
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, PROCESSORS, SCALE_GRAPH

_SHARED = "serial >= 0 and serial <= 1 and processors >= 1"
_SPANNED = "span > 0 and work >= span"
_AMDAHL = "Amdahl, AFIPS Spring Joint Computer Conference, 1967"
_GUSTAFSON = "Gustafson, Communications of the ACM 31(5), 1988"
_SUN_NI = "Sun and Ni, Journal of Parallel and Distributed Computing 19(1), 1993"
_KARP_FLATT = "Karp and Flatt, Communications of the ACM 33(5), 1990"
_GUNTHER = "Gunther, Guerrilla Capacity Planning, Springer 2007"
_BRENT = (
    "Brent, Journal of the ACM 21(2), 1974; Graham, Bell System Technical Journal 45(9), 1966, for"
    " greedy schedules"
)
_QUINN = "Quinn, Parallel Programming in C with MPI and OpenMP, McGraw-Hill 2003, chapter 7"

_SERIAL = Symbol(
    "serial", COUNT, "share of the one-processor time that only one processor can do", "f"
)
_SPEEDUP = Symbol(
    "speedup", COUNT, "time on one processor divided by the time on all processors", "S"
)


_PARALLEL = Symbol("parallel", TIME, "time of the remaining part on one processor", "t_p")
_SERIAL_TIME = Symbol("serial", TIME, "time of the part that only one processor can do", "t_s")
AMDAHL_TIME = Law(
    name="amdahl-time",
    title="Time of a program with a serial part (Amdahl)",
    gives=Symbol("time", TIME, "time on all processors", "T(N)"),
    equation=lambda processors=PROCESSORS, parallel=_PARALLEL, serial=_SERIAL_TIME: (
        serial + parallel / processors
    ),
    holds="processors >= 1 and parallel >= 0 and serial >= 0",
    source=f"{_AMDAHL}; {SCALE_GRAPH}, equation 1",
    checks=(Check((4, 8.0, 2.0), 4.0, 0.0, HAND),),
)

AMDAHL_SPEEDUP = Law(
    name="amdahl-speedup",
    title="Speed-up of a problem of fixed size",
    gives=_SPEEDUP,
    equation=lambda serial=_SERIAL, processors=PROCESSORS: 1 / (serial + (1 - serial) / processors),
    holds=_SHARED,
    source=_AMDAHL,
    note=(
        "the total work is the same for any number of processors, and the parallel part is divided"
        " equally among the processors"
    ),
    checks=(
        Check((0.05, 8), 5.9, 0.05, f"{_QUINN}: 95% in a parallel loop, eight processors"),
        Check((0.01, 1024), 91.0, 0.5, f"{_GUSTAFSON}, figure 2a"),
        Check((0.02, 1024), 48.0, 0.5, f"{_GUSTAFSON}, figure 2a"),
        Check((0.04, 1024), 24.0, 0.5, f"{_GUSTAFSON}, figure 2a"),
    ),
)

AMDAHL_LIMIT = Law(
    name="amdahl-limit",
    title="Limit of the speed-up of a problem of fixed size",
    gives=_SPEEDUP,
    equation=lambda serial=_SERIAL: 1 / serial,
    holds="serial > 0 and serial <= 1",
    source=_AMDAHL,
    checks=(Check((0.2,), 5.0, 0.0, f"{_QUINN}: 20% serial"),),
)

_SERIAL_PART = Symbol(
    "serial", COUNT, "share of the time on all processors in which only one works", "s"
)
GUSTAFSON_SPEEDUP = Law(
    name="gustafson-speedup",
    title="Speed-up of a problem that grows to fill a fixed time (Gustafson)",
    gives=Symbol(
        "speedup",
        COUNT,
        "time of the larger problem on one processor, divided by its time on all processors",
        "S",
    ),
    equation=lambda serial=_SERIAL_PART, processors=PROCESSORS: (
        processors - (processors - 1) * serial
    ),
    holds=_SHARED,
    source=_GUSTAFSON,
    note=(
        "the serial part does not grow with the problem; the share refers to the time of the"
        " parallel run, whereas Amdahl's refers to that of one processor"
    ),
    checks=(
        Check((0.01, 1024), 1014.0, 0.5, f"{_GUSTAFSON}, figure 2b"),
        Check((0.04, 1024), 983.0, 0.5, f"{_GUSTAFSON}, figure 2b"),
        Check((0.03, 10), 9.73, 5e-3, f"{_QUINN}: 3% serial, ten processors"),
    ),
)

_GROWTH = Symbol(
    "growth",
    COUNT,
    "parallel work with the memory of all processors, divided by that with the memory of one",
    "G",
)
SUN_NI_SPEEDUP = Law(
    name="sun-ni-speedup",
    title="Speed-up of a problem that grows with the memory",
    gives=Symbol(
        "speedup",
        COUNT,
        "time of the larger problem on one processor, divided by its time on all processors",
        "S",
    ),
    equation=lambda serial=_SERIAL, growth=_GROWTH, processors=PROCESSORS: (
        (serial + (1 - serial) * growth) / (serial + (1 - serial) * growth / processors)
    ),
    holds=f"{_SHARED} and growth > 0",
    source=_SUN_NI,
    note="a growth of 1 gives Amdahl's law, and a growth of N gives Gustafson's law",
    checks=(
        Check((0.5, 8.0, 4), 3.0, 1e-15, f"{HAND}: 4.5 / 1.5"),
        Check((0.25, 8.0, 4), 3.5714285714285716, 4e-14, f"{HAND}: 6.25 / 1.75"),
    ),
)

_EXPONENT = Symbol(
    "exponent", COUNT, "exponent with which the parallel work grows with the memory", "b"
)
SUN_NI_POWER_SPEEDUP = Law(
    name="sun-ni-power-speedup",
    title="Speed-up of a problem that grows as a power of the memory",
    gives=Symbol(
        "speedup",
        COUNT,
        "time of the larger problem on one processor, divided by its time on all processors",
        "S",
    ),
    equation=lambda serial=_SERIAL, exponent=_EXPONENT, processors=PROCESSORS: (
        (serial + (1 - serial) * real_power(processors, exponent))
        / (serial + (1 - serial) * real_power(processors, exponent) / processors)
    ),
    holds=f"{_SHARED} and exponent >= 0",
    source=f"{_SUN_NI}: matrix multiplication, with work n^3 on memory n^2, has the power 1.5",
    checks=(
        Check((0.5, 1.5, 4), 3.0, 1e-15, f"{HAND}: 4.5 / 1.5"),
        Check((0.25, 1.5, 4), 3.5714285714285716, 4e-14, f"{HAND}: 6.25 / 1.75"),
    ),
)

_CONTENTION = Symbol(
    "contention", COUNT, "relative cost of sharing for each other processor", r"\sigma"
)
_COHERENCY = Symbol(
    "coherency", COUNT, "relative cost of coherency for each pair of processors", r"\kappa"
)
UNIVERSAL_SCALABILITY = Law(
    name="universal-scalability",
    title="Capacity under contention and coherency delays",
    gives=Symbol("capacity", COUNT, "throughput of all processors divided by that of one", "C"),
    equation=lambda contention=_CONTENTION, coherency=_COHERENCY, processors=PROCESSORS: (
        processors / (1 + contention * (processors - 1) + coherency * processors * (processors - 1))
    ),
    holds="contention >= 0 and contention <= 1 and coherency >= 0 and processors >= 1",
    source=_GUNTHER,
    note="without coherency delays this is Amdahl's law",
    checks=(Check((0.1, 0.01, 10), 10 / 2.8, 1e-15, f"{HAND}: 1 + 0.9 + 0.9"),),
)

UNIVERSAL_SCALABILITY_PEAK = Law(
    name="universal-scalability-peak",
    title="Processors with the largest capacity",
    gives=PROCESSORS,
    equation=lambda contention=_CONTENTION, coherency=_COHERENCY: maximum(
        sqrt((1 - contention) / coherency), 1
    ),
    holds="contention >= 0 and contention <= 1 and coherency > 0",
    source=_GUNTHER,
    note="the best whole number of processors is one of the two next to this number",
    checks=(Check((0.19, 0.01), 9.0, 1e-14, f"{HAND}: sqrt(81)"),),
)

KARP_FLATT = Law(
    name="karp-flatt",
    title="Serial share implied by a measured speed-up",
    gives=Symbol("serial", COUNT, "serial share implied by the measurement", "e"),
    equation=lambda processors=PROCESSORS, speedup=_SPEEDUP: (
        (1 / speedup - 1 / processors) / (1 - 1 / processors)
    ),
    holds="processors > 1 and speedup > 0",
    source=_KARP_FLATT,
    note=(
        "the share is constant in N if Amdahl's law explains the losses; it grows with N if"
        " overhead explains them; it is negative for a superlinear speed-up"
    ),
    checks=(
        Check((4, 3.08), 0.1, 1e-3, f"{_QUINN}: benchmarked speed-ups, first example"),
        Check((8, 4.71), 0.1, 1e-3, f"{_QUINN}: first example"),
        Check((4, 3.23), 0.08, 1e-3, f"{_QUINN}: second example"),
    ),
)

_WORK = Symbol("work", TIME, "time of all operations on one processor", "T_1")
_SPAN = Symbol("span", TIME, "time of the longest chain of operations", r"T_\infty")


WORK_SPAN_LEAST_TIME = Law(
    name="work-span-least-time",
    title="Lower bound on the time of a task graph",
    gives=Symbol("time", TIME, "time on all processors", "T_N"),
    equation=lambda processors=PROCESSORS, span=_SPAN, work=_WORK: maximum(work / processors, span),
    holds=f"processors >= 1 and {_SPANNED}",
    source=_BRENT,
    note="this is a lower bound",
    checks=(Check((4, 2.0, 20.0), 5.0, 0.0, HAND), Check((40, 2.0, 20.0), 2.0, 0.0, HAND)),
)

WORK_SPAN_MOST_TIME = Law(
    name="work-span-most-time",
    title="Upper bound on the time of a greedy schedule of a task graph",
    gives=Symbol("time", TIME, "time on all processors", "T_N"),
    equation=lambda processors=PROCESSORS, span=_SPAN, work=_WORK: (
        (work - span) / processors + span
    ),
    holds=f"processors >= 1 and {_SPANNED}",
    source=_BRENT,
    note="this is an upper bound, which is less than twice the lower bound",
    checks=(Check((4, 4.0, 20.0), 8.0, 0.0, f"{HAND}: 16/4 + 4"),),
)

WORK_SPAN_PARALLELISM = Law(
    name="work-span-speedup-bound",
    title="Upper bound on the speed-up of a task graph",
    gives=_SPEEDUP,
    equation=lambda processors=PROCESSORS, span=_SPAN, work=_WORK: minimum(processors, work / span),
    holds=f"processors >= 1 and {_SPANNED}",
    source=_BRENT,
    note="work divided by span is the parallelism of the graph",
    checks=(Check((40, 2.0, 20.0), 10.0, 0.0, HAND),),
)


def _downey_speedup(parallelism: Any, variance: Any, processors: Any) -> Any:
    """Return Downey's speed-up, by three ranges of processors at low variance of parallelism and by
    two at high variance; the two agree at variance 1.
    """
    low_variance_speedup = select(
        processors,
        parallelism,
        parallelism * processors / (parallelism + variance * (processors - 1) / 2),
        select(
            processors,
            2 * parallelism - 1,
            parallelism
            * processors
            / (variance * (parallelism - 0.5) + processors * (1 - variance / 2)),
            parallelism,
        ),
    )
    high_variance_speedup = select(
        processors,
        parallelism + parallelism * variance - variance,
        processors
        * parallelism
        * (variance + 1)
        / (variance * (processors + parallelism - 1) + parallelism),
        parallelism,
    )
    return select(variance, 1, low_variance_speedup, high_variance_speedup)


DOWNEY_SPEEDUP = Law(
    name="downey-speedup",
    title="Speed-up of a program from its average parallelism and the variance of the parallelism",
    gives=_SPEEDUP,
    symbols=(
        Symbol("parallelism", COUNT, "average parallelism", "A"),
        Symbol(
            "variance",
            COUNT,
            "coefficient of variance in parallelism; 0 for constant parallelism",
            r"\sigma",
        ),
        PROCESSORS,
    ),
    equation=_downey_speedup,
    holds="parallelism >= 1 and variance >= 0 and processors >= 1",
    source="Downey, A model for speedup of parallel programs, UCB/CSD-97-933, 1997",
    checks=(
        Check((64.0, 0.0, 32), 32.0, 0.0, f"{HAND}: no variance"),
        Check((8.0, 1.0, 8), 64 / 11.5, 1e-15, f"{HAND}: 64 / (8 + 3.5)"),
        Check((8.0, 2.0, 8), 192 / 38, 1e-15, f"{HAND}: 192 / (2 x 15 + 8)"),
        Check((8.0, 2.0, 100), 8.0, 0.0, f"{HAND}: past 8 + 16 - 2"),
        Check((8.0, 0.5, 4), 3.657142857142857, 4e-14, f"{HAND}: 32 / (8 + 0.75)"),
        Check((8.0, 0.5, 14.5), 7.931623931623932, 8e-14, f"{HAND}: 116 / (3.75 + 10.875)"),
        Check((8.0, 0.5, 15.5), 8.0, 8e-14, f"{HAND}: past 2 x 8 - 1"),
        Check((8.0, 2.0, 16), 7.111111111111111, 7e-14, f"{HAND}: 384 / (2 x 23 + 8)"),
    ),
)
