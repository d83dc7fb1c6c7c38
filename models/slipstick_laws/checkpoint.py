"""How often a long program saves its state, where failures come at random."""

from __future__ import annotations

from slipstick.expression.nodes import TIME, select, sqrt
from slipstick.expression.special import exp, exprel
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND

_DALY = "Daly, Future Generation Computer Systems 22(3), 2006"
_WORDS = "checkpoint restart failures fault tolerance MTBF resilience Young Daly"

_SAVING = Symbol("checkpoint", TIME, "time to write a checkpoint", r"\delta")
_FAILURES = Symbol("failures", TIME, "mean time between failures of the whole system", "M")
_INTERVAL = Symbol("interval", TIME, "interval between two checkpoints", r"\tau")
_RESTART = Symbol("restart", TIME, "time to read the last checkpoint after a failure", "R")
_WORK = Symbol("work", TIME, "time of the program without checkpoints and failures", "T_s")

_BEST = Symbol("interval", TIME, "best interval between two checkpoints", r"\tau")

YOUNG = Law(
    name="checkpoint-interval-young",
    title="Best interval between checkpoints, first order (Young)",
    gives=_BEST,
    equation=lambda checkpoint=_SAVING, failures=_FAILURES: (
        failures * sqrt(2 * checkpoint / failures)
    ),
    holds="checkpoint > 0 and failures > 0",
    source="Young, Communications of the ACM 17(9), 1974",
    note=(
        "Young's interval is 7 % too long if a checkpoint takes 1/50 of the time between failures,"
        " and the run then takes 0.04 % longer; at 1/5 the interval is 25 % too long, and the run"
        " takes 1.3 % longer"
    ),
    exact=False,
    words=_WORDS,
    checks=(Check((2.0, 16.0), 8.0, 0.0, f"{HAND}: root of 2 x 2 x 16"),),
)

DALY = Law(
    name="checkpoint-interval-daly",
    title="Best interval between checkpoints, higher order (Daly)",
    gives=_BEST,
    equation=lambda checkpoint=_SAVING, failures=_FAILURES: (
        failures
        * select(
            checkpoint / failures,
            2,
            sqrt(2 * checkpoint / failures)
            * (1 + sqrt(checkpoint / (2 * failures)) / 3 + checkpoint / failures / 18)
            - checkpoint / failures,
            1,
        )
    ),
    holds="checkpoint > 0 and failures > 0",
    source=f"{_DALY}, equation 37",
    note=(
        "Daly's interval is 0.6 % shorter than the best one if a checkpoint takes half the time"
        " between failures; it is 6 % shorter if a checkpoint takes just less than twice this time"
    ),
    exact=False,
    words=_WORDS,
    checks=(
        Check((2.0, 16.0), 6.72222, 5e-6, f"{HAND}: 8 (1 + 1/12 + 1/144) - 2"),
        Check((50.0, 16.0), 16.0, 0.0, f"{HAND}: too long to be worth more than one a failure"),
    ),
)

RUN_TIME = Law(
    name="checkpoint-run-time",
    title="Time of a program with checkpoints and failures",
    gives=Symbol("time", TIME, "mean time until the program is complete", "T"),
    equation=lambda interval=_INTERVAL, checkpoint=_SAVING, restart=_RESTART, failures=_FAILURES, work=_WORK: (
        work
        * exp(restart / failures)
        * exprel((interval + checkpoint) / failures)
        * ((interval + checkpoint) / interval)
    ),
    holds=(
        "interval > 0 and checkpoint >= 0 and restart >= 0 and failures > 0 and work >= 0 and"
        " interval + checkpoint <= 500 * failures and restart <= 100 * failures"
    ),
    source=f"{_DALY}, equation 20",
    note=(
        "the times between failures are exponential, and failures also occur during checkpoints"
        " and restarts; the work is a whole number of intervals, each with a checkpoint"
    ),
    words=f"{_WORDS} overhead waste expected completion time",
    checks=(
        Check((1.0, 1.0, 0.5, 2.0, 100.0), 441.2635, 5e-5, f"{HAND}: 200 exp(1/4) (e - 1)"),
        Check((3.0, 0.0, 0.0, 1e12, 60.0), 60.0, 1e-8, f"{HAND}: without failures"),
    ),
)
