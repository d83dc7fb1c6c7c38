"""Resources that activities share: stations, locks, barriers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Expr, Like, zero
from slipstick.model.quantities import timed
from slipstick.vocabulary import ACTIVITY_DISCIPLINES, BACK_OFFS, BARRIERS, LOCKS


@dataclass(frozen=True, slots=True)
class Station:
    """Servers with a queue."""

    servers: int = 1
    discipline: str = "fcfs"

    def __post_init__(self) -> None:
        if self.servers < 1:
            raise ModelError(f"a station needs at least 1 server, got {self.servers}")
        _one_of("discipline", self.discipline, ACTIVITY_DISCIPLINES)


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock: how it is done, and where its word is.

    With nobody in the way, acquire and release access the word `accesses` times. While others hold it, test-and-set
    accesses the word over and over, with a pause of `back_off` in between; test-and-test-and-set and ticket spin on a
    copy, which every waiter fetches anew at each release; array and mcs spin on a word of their own.

    Parameters
    ----------
    kind : one of `LOCKS`; all but tas and ttas are handed over in the order of asking
    word : the station that holds the lock word; None if looking at it costs nothing
    access : one access occupies it [s]
    back_off : one of `BACK_OFFS`; exponential pauses double
    base, most : the first pause after a failure, and the longest [s]
    """

    kind: str = "fifo"
    word: str | None = None
    access: Expr = field(default_factory=lambda: zero(TIME))
    back_off: str = "none"
    base: Expr = field(default_factory=lambda: zero(TIME))
    most: Expr = field(default_factory=lambda: zero(TIME))

    def __post_init__(self) -> None:
        _one_of("lock", self.kind, LOCKS)
        _one_of("back-off", self.back_off, BACK_OFFS)

    @property
    def accesses(self) -> tuple[int, int]:
        """Count the accesses to the word of an acquire and of a release with nobody in the way."""
        kind = LOCKS[self.kind]
        return (0, 0) if self.word is None else (kind.acquire, kind.release)


@dataclass(frozen=True, slots=True)
class Barrier:
    """A barrier's implementation: what it costs beyond waiting for the last arrival [s]."""

    kind: str = "central"
    cost: Expr = field(default_factory=lambda: zero(TIME))

    def __post_init__(self) -> None:
        _one_of("barrier", self.kind, BARRIERS)


Resource = Station | Lock | Barrier


def barrier_resource(kind: str = "central", cost: Like = 0.0, name: str = "barrier") -> Barrier:
    """Describe a barrier's implementation by its cost beyond waiting for the last arrival [s]."""
    return Barrier(kind, timed(cost, f"{name}.cost") if cost else zero(TIME))


def _one_of(what: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ModelError(f"there is no {what} {value!r}{did_you_mean(value, known)}")
