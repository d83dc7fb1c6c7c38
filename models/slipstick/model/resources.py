"""Resources that activities share: stations, locks, permits, barriers.

Each says how many processors use it at a time (`capacity`), the numbers it is made of (`expressions`), and itself with its
times multiplied by the factors of a technology (`scaled`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from slipstick.errors import ModelError, did_you_mean
from slipstick.expression.dimension import TIME
from slipstick.expression.nodes import Expr, zero
from slipstick.vocabulary import ACTIVITY_DISCIPLINES, BACK_OFFS, BARRIERS, LOCKS

USED_BY = {"service": "a station", "hold": "a lock or permits", "barrier": "a barrier"}
"""The kinds of resources that each kind of step takes."""


class ResourceKind:
    """A station, a lock, permits or a barrier; attributes by class: what messages call it, and the step that uses it."""

    __slots__ = ()

    noun = use = ""

    @property
    def capacity(self) -> int:
        """How many processors use it at a time."""
        return 1

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The numbers that it is made of."""
        return ()

    @abstractmethod
    def scaled(self, factors: Mapping[str, Expr]) -> Resource:
        """Return the same with its times multiplied by the factors of their technology classes."""


@dataclass(frozen=True, slots=True)
class Station(ResourceKind):
    """Servers with a queue."""

    servers: int = 1
    discipline: str = "fcfs"

    noun, use = "a station", "service"

    def __post_init__(self) -> None:
        if self.servers < 1:
            raise ModelError(f"a station needs at least 1 server, got {self.servers}")
        _one_of("discipline", self.discipline, ACTIVITY_DISCIPLINES)

    @property
    def capacity(self) -> int:
        return self.servers

    def scaled(self, factors: Mapping[str, Expr]) -> Station:
        return self


class HeldResource(ResourceKind):
    """A resource that a processor holds while it executes a body; requests that find `capacity` holders wait.

    The properties are those of a resource that is acquired and released at no cost.
    """

    __slots__ = ()

    use = "hold"

    @abstractmethod
    def label(self, name: str) -> str:
        """Return the account label of the time from the request until it is held."""

    @property
    def word(self) -> str | None:
        """The station that holds its word; None without one."""
        return None

    @property
    def access(self) -> Expr:
        """Time that one access to the word takes [s]."""
        return zero(TIME)

    @property
    def accesses(self) -> tuple[int, int]:
        """The accesses to the word of an acquire and of a release without contention."""
        return 0, 0


@dataclass(frozen=True, slots=True)
class Lock(HeldResource):
    """A lock: its kind, and the station that holds its word.

    Without contention, acquire and release access the word `accesses` times. While another processor holds the lock,
    test-and-set accesses the word repeatedly, with a pause of `back_off` between two attempts; test-and-test-and-set and
    ticket spin on a cached copy, which every waiting processor fetches again at each release; array and mcs spin on a
    word of each waiting processor.

    Parameters
    ----------
    kind : one of `LOCKS`; all but tas and ttas are handed over in the order of requests
    word : the station that holds the lock word; None if reading it costs nothing
    access : time that one access occupies that station [s]
    back_off : one of `BACK_OFFS`; exponential pauses double
    base, most : the first pause after a failure, and the longest [s]
    """

    kind: str = "fifo"
    word: str | None = None
    access: Expr = field(default_factory=lambda: zero(TIME))
    back_off: str = "none"
    base: Expr = field(default_factory=lambda: zero(TIME))
    most: Expr = field(default_factory=lambda: zero(TIME))

    noun = "a lock"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.access, self.base, self.most

    def scaled(self, factors: Mapping[str, Expr]) -> Lock:
        """Multiply the access to the word, which is a matter of memory."""
        found = "memory" in factors and self.word is not None
        return replace(self, access=self.access * factors["memory"]) if found else self

    def __post_init__(self) -> None:
        _one_of("lock", self.kind, LOCKS)
        _one_of("back-off", self.back_off, BACK_OFFS)

    def label(self, name: str) -> str:
        return f"lock:{name}"

    @property
    def accesses(self) -> tuple[int, int]:
        kind = LOCKS[self.kind]
        return (0, 0) if self.word is None else (kind.acquire, kind.release)


@dataclass(frozen=True, slots=True)
class Permits(HeldResource):
    """A counted resource, such as a pool of threads, connections or licences: a number of permits, each held over a body.

    Permits are granted in the order of the requests, at no cost; with one permit they are a FIFO lock.
    """

    number: int

    noun = "permits"

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ModelError(f"a resource needs at least 1 permit, got {self.number}")

    @property
    def capacity(self) -> int:
        return self.number

    def label(self, name: str) -> str:
        return f"wait:{name}"

    def scaled(self, factors: Mapping[str, Expr]) -> Permits:
        return self


@dataclass(frozen=True, slots=True)
class Barrier(ResourceKind):
    """An implementation of a barrier: its cost beyond waiting for the last arrival [s]."""

    kind: str = "central"
    cost: Expr = field(default_factory=lambda: zero(TIME))

    noun, use = "a barrier", "barrier"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.cost,)

    def scaled(self, factors: Mapping[str, Expr]) -> Barrier:
        """Multiply the cost, which the account books to run-time software."""
        return replace(self, cost=self.cost * factors["software"]) if "software" in factors else self

    def __post_init__(self) -> None:
        _one_of("barrier", self.kind, BARRIERS)


Resource = Station | Lock | Permits | Barrier


def _one_of(what: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ModelError(f"there is no {what} {value!r}{did_you_mean(value, known)}")
