"""Unit grains: efficiency and interference among competitors, and memory bandwidth in words."""

from __future__ import annotations

from slipstick.expression.condition import compare
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, NANDA_NI, nonnegative

_ALONE = Symbol("alone", TIME, "a test grain with no competitors", "T_0")
_AMONG = Symbol("among", TIME, "a test grain among N competitors", "T_N")

GRAIN_EFFICIENCY = Law(
    name="grain-efficiency",
    title="Efficiency of a unit grain among competitors",
    gives=Symbol("efficiency", COUNT, "share of its speed that competitors leave a grain", r"\zeta"),
    symbols=(_ALONE, _AMONG),
    equation=lambda alone, among: alone / among,
    holds=lambda alone, among: (compare(alone, ">", 0), compare(among, ">=", alone)),
    source=NANDA_NI,
    checks=(Check({"alone": 2.0, "among": 8.0}, 0.25, 0.0, HAND),),
)

GRAIN_INTERFERENCE = Law(
    name="grain-interference",
    title="Interference that a unit grain suffers from competitors",
    gives=Symbol("interference", COUNT, "time added, relative to the grain alone", r"\Phi"),
    symbols=(_ALONE, _AMONG),
    equation=lambda alone, among: (among - alone) / alone,
    holds=lambda alone, among: (compare(alone, ">", 0), compare(among, ">=", alone)),
    source=NANDA_NI,
    checks=(Check({"alone": 2.0, "among": 8.0}, 3.0, 0.0, f"{HAND}: (1 - 0.25) / 0.25"),),
)

WORDS_ACCESSED_RANDOMLY = Law(
    name="words-accessed-randomly",
    title="Words accessed randomly per second (WARPS)",
    gives=Symbol("bandwidth", RATE, "accesses of all processors", "WARPS"),
    symbols=(
        Symbol("processors", COUNT, "the test processor and its competitors", "N + 1"),
        Symbol("accesses", COUNT, "accesses of a grain, at random stride", "m"),
        _AMONG,
    ),
    equation=lambda processors, accesses, among: processors * accesses / among,
    holds=lambda processors, accesses, among: (
        compare(processors, ">=", 1),
        compare(accesses, ">=", 0),
        compare(among, ">", 0),
    ),
    source=f"{NANDA_NI}, Figure 7",
    note="for equal grains of accesses alone",
    checks=(Check({"processors": 4, "accesses": 10, "among": 20e-6}, 2e6, 1e-9, HAND),),
)

PHASE_TIME = Law(
    name="phase-time",
    title="Time of one phase between two barriers",
    gives=Symbol("time", TIME, "from its first iteration until all have left the barrier", "T_k"),
    symbols=(
        Symbol("iterations", COUNT, "identical iterations of each processor", "r_k"),
        Symbol("iteration", TIME, "an iteration of the slowest processor", "t_k"),
        Symbol("barrier", TIME, "the barrier beyond waiting for the last arrival", "T_B"),
    ),
    equation=lambda iterations, iteration, barrier: iterations * iteration + barrier,
    holds=lambda iterations, iteration, barrier: nonnegative(iterations, iteration, barrier),
    source=f"{NANDA_NI}: phase and transition model; a program is its sequential parts and the sum of its phases",
    checks=(Check({"iterations": 10, "iteration": 2.0, "barrier": 0.5}, 20.5, 0.0, HAND),),
)
