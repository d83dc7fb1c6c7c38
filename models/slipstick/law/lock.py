"""Locks: time from one holder to the next, traffic, saturation and throughput.

Spinners are the processors that wait for the lock. A transaction is an access to the resource that holds the lock's
word: a bus transaction, or a remote access to a memory module that serves one at a time.
"""

from __future__ import annotations

from typing import Any

from slipstick.expression.condition import Comparison, compare
from slipstick.expression.dimension import COUNT, RATE, TIME
from slipstick.expression.nodes import maximum, minimum
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import DENNING_BUZEN, HAND, MELLOR_CRUMMEY_SCOTT, nonnegative

_ANDERSON = "Anderson, IEEE Transactions on Parallel and Distributed Systems 1(1), 1990"
_IN_TURN = "assumes that transactions are served in order of request"

_SPINNERS = Symbol("spinners", COUNT, "processors that wait for the lock", "w")
_ACCESS = Symbol("access", TIME, "one transaction", "t")
_HANDOFF = Symbol("time", TIME, "from the holder's release until the next one holds the lock", "h")


def _waited(spinners: Any, access: Any) -> tuple[Comparison, ...]:
    return compare(spinners, ">=", 1), compare(access, ">=", 0)


LOCK_LATENCY = Law(
    name="lock-latency",
    title="Acquire and release of a free lock",
    gives=Symbol("time", TIME, "acquire and release without contention", "T"),
    symbols=(
        Symbol("accesses", COUNT, "transactions of acquire and release", "a"),
        Symbol("software", TIME, "instructions of acquire and release", "c"),
        _ACCESS,
    ),
    equation=lambda accesses, software, access: software + accesses * access,
    holds=lambda accesses, software, access: nonnegative(accesses, software, access),
    source=MELLOR_CRUMMEY_SCOTT,
    checks=(Check({"accesses": 2, "software": 3e-6, "access": 1e-6}, 5e-6, 1e-21, HAND),),
)

TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-set-handoff",
    title="From release to the next holder under test-and-set without back-off",
    gives=_HANDOFF,
    symbols=(_SPINNERS, _ACCESS),
    equation=lambda spinners, access: (spinners + 2) * access,
    holds=_waited,
    source=f"{_ANDERSON}: the release waits behind one attempt of every spinner",
    note=f"{_IN_TURN}; the release and the next attempt come after the transactions under way",
    exact=False,
    checks=(Check({"spinners": 10, "access": 1e-6}, 12e-6, 1e-20, HAND),),
)

TEST_AND_SET_HANDOFF_BACKOFF = Law(
    name="lock-back-off-handoff",
    title="From release to the next holder under test-and-set with back-off",
    gives=_HANDOFF,
    symbols=(_SPINNERS, Symbol("delay", TIME, "time between two attempts of one spinner", "d"), _ACCESS),
    equation=lambda spinners, delay, access: 2 * access + delay / (spinners + 1),
    holds=lambda spinners, delay, access: (*_waited(spinners, access), compare(delay, ">", spinners * access)),
    source=f"{_ANDERSON}: delays between references",
    note="spinners at random phases of equal periods; attempts are assumed not to collide",
    exact=False,
    checks=(Check({"spinners": 4, "delay": 50e-6, "access": 1e-6}, 12e-6, 1e-20, f"{HAND}: 2 + 50/5"),),
)

TEST_AND_SET_LOAD = Law(
    name="lock-test-and-set-load",
    title="Share of a resource that test-and-set spinners take",
    gives=Symbol("load", COUNT, "share of its time", r"\rho_s"),
    symbols=(
        _SPINNERS,
        Symbol("delay", TIME, "rest between two attempts of a spinner; 0 without back-off", "d"),
        _ACCESS,
    ),
    equation=lambda spinners, delay, access: minimum(spinners * access / (delay + access), 1),
    holds=lambda spinners, delay, access: (*nonnegative(spinners, delay), compare(access, ">", 0)),
    source=_ANDERSON,
    note="neglects that attempts wait for each other, which lowers it near 1",
    exact=False,
    checks=(
        Check({"spinners": 4, "delay": 9e-6, "access": 1e-6}, 0.4, 1e-16, HAND),
        Check({"spinners": 4, "delay": 0.0, "access": 1e-6}, 1.0, 0.0, f"{HAND}: one spinner is enough"),
    ),
)

TEST_AND_TEST_AND_SET_HANDOFF = Law(
    name="lock-test-and-test-and-set-handoff",
    title="From release to the next holder under test-and-test-and-set",
    gives=_HANDOFF,
    symbols=(_SPINNERS, _ACCESS),
    equation=lambda spinners, access: (spinners + 2) * access,
    holds=_waited,
    source=f"{_ANDERSON}: spinning on a cached copy",
    note=f"{_IN_TURN}: the release, a read by every spinner, then the first attempt",
    exact=False,
    checks=(Check({"spinners": 10, "access": 1e-6}, 12e-6, 1e-20, HAND),),
)

TEST_AND_TEST_AND_SET_QUIESCENCE = Law(
    name="lock-test-and-test-and-set-quiescence",
    title="From a release until spinning traffic ends under test-and-test-and-set",
    gives=Symbol("time", TIME, "the resource is busy with spinners", "q"),
    symbols=(_SPINNERS, _ACCESS),
    equation=lambda spinners, access: access * (1 + 2 * spinners + spinners * (spinners - 1) / 2),
    holds=_waited,
    source=f"{_ANDERSON}: of the order of the square of the spinners",
    note="release, reads and attempts of all, and each failed attempt makes the processors that spin read again",
    exact=False,
    checks=(Check({"spinners": 10, "access": 1e-6}, 66e-6, 1e-19, f"{HAND}: 1 + 10 + 10 + 45"),),
)

TICKET_HANDOFF = Law(
    name="lock-ticket-handoff",
    title="From release to the next holder under a ticket lock",
    gives=_HANDOFF,
    symbols=(_SPINNERS, _ACCESS),
    equation=lambda spinners, access: access * (1 + (spinners + 1) / 2),
    holds=_waited,
    source=f"{MELLOR_CRUMMEY_SCOTT}: all spinners read the counter again, and one of them is next",
    note="assumes that the next holder's read is equally likely to be any of them; with proportional back-off it is 2 accesses",
    exact=False,
    checks=(Check({"spinners": 9, "access": 1e-6}, 6e-6, 1e-20, HAND),),
)

QUEUE_LOCK_HANDOFF = Law(
    name="lock-queue-handoff",
    title="From release to the next holder under a queue lock, MCS or distributed array",
    gives=_HANDOFF,
    symbols=(Symbol("software", TIME, "instructions between finding the next one and writing its flag", "c"), _ACCESS),
    equation=lambda software, access: software + 2 * access,
    holds=lambda software, access: nonnegative(software, access),
    source=f"{MELLOR_CRUMMEY_SCOTT}: a write to the flag that one processor spins on, and its read, however many wait",
    checks=(Check({"software": 1e-6, "access": 1e-6}, 3e-6, 1e-21, HAND),),
)

LOCK_SATURATION = Law(
    name="lock-saturation",
    title="Processors that saturate a lock",
    gives=Symbol("processors", COUNT, "with more processors, some always wait", "N^*"),
    symbols=(
        Symbol("think", TIME, "time of a processor between critical sections", "Z"),
        Symbol("latency", TIME, "acquire and release while the lock is free", "T"),
        Symbol("section", TIME, "the critical section", "s"),
        Symbol("handoff", TIME, "from release to the next holder", "h"),
    ),
    equation=lambda think, latency, section, handoff: (think + latency + section) / (section + handoff),
    holds=lambda think, latency, section, handoff: (
        *nonnegative(think, latency, section),
        compare(section + handoff, ">", 0),
    ),
    source=DENNING_BUZEN,
    checks=(Check({"think": 9.0, "latency": 0.0, "section": 1.0, "handoff": 0.0}, 10.0, 0.0, HAND),),
)

LOCK_THROUGHPUT_BOUND = Law(
    name="lock-throughput-bound",
    title="Bound on the throughput of a lock",
    gives=Symbol("throughput", RATE, "critical sections of all processors", "X"),
    symbols=(
        Symbol("processors", COUNT, "processors that use the lock", "N"),
        Symbol("think", TIME, "time of a processor between critical sections", "Z"),
        Symbol("latency", TIME, "acquire and release while the lock is free", "T"),
        Symbol("section", TIME, "the critical section", "s"),
        Symbol("handoff", TIME, "from release to the next holder", "h"),
    ),
    equation=lambda processors, think, latency, section, handoff: (
        processors / maximum(think + latency + section, processors * (section + handoff))
    ),
    holds=lambda processors, think, latency, section, handoff: (
        compare(processors, ">=", 1),
        *nonnegative(think, latency, section, handoff),
        compare(section, ">", 0),
    ),
    source=DENNING_BUZEN,
    note="an upper bound; for random times see law/machine-repairman-throughput",
    checks=(
        Check({"processors": 20, "think": 9.0, "latency": 0.0, "section": 1.0, "handoff": 0.25}, 0.8, 0.0, HAND),
        Check({"processors": 5, "think": 8.0, "latency": 1.0, "section": 1.0, "handoff": 1.0}, 0.5, 0.0, HAND),
    ),
)
