"""Spin locks: time from one holder to the next.

Spinners are the processors that wait for the lock. A transaction is an access to the resource that
holds the lock's word: a bus transaction, or a remote access to a memory module that serves one at a
time.
"""

from __future__ import annotations

from slipstick.expression.nodes import COUNT, TIME
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import HAND, MELLOR_CRUMMEY_SCOTT

SPINNING = "spinners >= 1 and access >= 0"
ANDERSON = "Anderson, IEEE Transactions on Parallel and Distributed Systems 1(1), 1990"

SPINNERS = Symbol("spinners", COUNT, "number of processors that wait for the lock", "w")
ACCESS = Symbol("access", TIME, "time of one transaction", "t")
HANDOFF = Symbol("time", TIME, "time from the release until the next processor holds the lock", "h")
_DELAY = Symbol("delay", TIME, "time between two attempts of one spinner", "d")

TEST_AND_SET_HANDOFF_BACKOFF = Law(
    name="lock-back-off-handoff",
    title="Time from a release until the next processor holds a test-and-set lock with back-off",
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, delay=_DELAY, access=ACCESS: (
        2 * access + delay / (spinners + 1)
    ),
    holds=f"{SPINNING} and delay > spinners * access",
    source=f"{ANDERSON}: the case of delays between references",
    note=(
        "the spinners try with equal periods and random phases; the law assumes that attempts do"
        " not collide"
    ),
    exact=False,
    checks=(Check((4, 50e-6, 1e-6), 12e-6, 1e-20, f"{HAND}: 2 + 50/5"),),
)

TICKET_HANDOFF = Law(
    name="lock-ticket-handoff",
    title="Time from a release until the next processor holds a ticket lock",
    gives=HANDOFF,
    equation=lambda spinners=SPINNERS, access=ACCESS: access * (1 + (spinners + 1) / 2),
    holds=SPINNING,
    source=(
        f"{MELLOR_CRUMMEY_SCOTT}: all spinners read the counter again, and one of them gets the"
        " lock"
    ),
    note=(
        "the law assumes that each place among the reads is equally likely for the next holder;"
        " with proportional back-off the hand-over takes the time of 2 accesses"
    ),
    exact=False,
    checks=(Check((9, 1e-6), 6e-6, 1e-20, HAND),),
)
