"""Kinds of locks and barriers, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.errors import ModelError, did_you_mean
from slipstick.sim.plan.distributions import Distribution
from slipstick.vocabulary import BACK_OFFS

LOCKS = ("fifo", "tas", "ttas", "ticket", "queue")
"""FIFO hand-off at no cost; test-and-set; test-and-test-and-set; numbers drawn, and a count of whose turn it is, which
all who wait read anew at each release; a queue of processors, each spinning on a word of its own."""

BARRIERS = ("central", "tree", "dissemination", "manager")

NOTHING = Distribution("deterministic", 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class LockForm:
    """How a lock is done.

    Parameters
    ----------
    kind : one of `LOCKS`
    word : station that holds the lock word; None if looking at it costs nothing
    access : time of one access to it
    back_off : one of `BACK_OFFS`; exponential is random about a mean that doubles
    base, most : mean back-off the first time, and at most [s]
    """

    kind: str = "fifo"
    word: str | None = None
    access: Distribution = NOTHING
    back_off: str = "none"
    base: float = 0.0
    most: float = float("inf")

    def __post_init__(self) -> None:
        for what, value, known in (("lock", self.kind, LOCKS), ("back-off", self.back_off, BACK_OFFS)):
            if value not in known:
                raise ModelError(f"no kernel knows the {what} {value!r}{did_you_mean(value, known)}")
        spins = self.kind == "tas" and (self.back_off == "none" or self.base == 0)
        if spins and (self.word is None or self.access.mean == 0):
            raise ModelError(
                "a test-and-set lock without back-off needs a word and a time of access, or it would spin for ever "
                "at one instant"
            )


@dataclass(frozen=True, slots=True)
class BarrierForm:
    """How a barrier is done.

    Parameters
    ----------
    kind : one of `BARRIERS`
    word : station that holds the counters, carries the messages, or is the manager; None if that is free
    access : time of each access or message
    radix : arrivals combined at a node of a tree
    cost : time from the last arrival until all go on
    """

    kind: str = "central"
    word: str | None = None
    access: Distribution = NOTHING
    radix: int = 4
    cost: Distribution = NOTHING

    def __post_init__(self) -> None:
        if self.kind not in BARRIERS:
            raise ModelError(f"no simulated barrier is called {self.kind!r}{did_you_mean(self.kind, BARRIERS)}")
        if self.radix < 2:
            raise ModelError(f"a node of a combining tree combines at least 2 arrivals, got {self.radix}")
