"""Processes: Python generators that yield waits and requests: the second road to programs that are
not a tree.

A process runs on the plain kernel beside everything else: the same clock, stations, locks and
account.

>>> from slipstick.sim.plan.distributions import ServiceTime
>>> system = System()
>>> system.station("cpu")
>>> box = system.mailbox("box")
>>> def asker(me):
...     yield me.serve("cpu", 2.0)
...     me.put(box, "done")
>>> def waiter(me):
...     word = yield me.get(box)
...     print(word, "at", me.now)
>>> _ = system.process(asker), system.process(waiter)
>>> system.run()
done at 2.0
2.0
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import repeat
from typing import Any

from slipstick.errors import ModelError, UnknownNameError
from slipstick.sim.deadlock import Wait, deadlock_error
from slipstick.sim.plain.event_loop import Action, Token
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plain.stations import RandomOrder
from slipstick.sim.plan.builder import UNIFORM, Builder
from slipstick.sim.plan.distributions import ServiceTime, Stream
from slipstick.sim.plan.plan import CustomerGroup, Op, Plan, Where

Script = Callable[["Process"], Generator[Action, Any, Any]]


class Mailbox:
    """A mailbox: messages are taken in the order in which they were put."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words: deque[Any] = deque()
        self.waiting: deque[Process] = deque()


class Process:
    """A running generator, and what it may ask for.

    Requests (`delay`, `serve`, `acquire`, `get`, `join`, `meet`) are to be yielded; `release` and
    `put` happen at once, and `System.process` lets another process begin.

    Attributes
    ----------
    account : where its time went, by label [s]
    done, serves : it has ended, or need not end
    joiners : processes that wait for its end
    """

    def __init__(self, system: System, number: int, script: Script) -> None:
        self.system, self.number = system, number
        self.token = Token(number, 0, _Growing(), [])
        self.account: dict[str, float] = {}
        self.done = self.serves = False
        self.joiners: deque[Process] = deque()
        self._word: Any = None
        self._generator = script(self)

    @property
    def now(self) -> float:
        """The clock [s]."""
        return self.system.kernel.now

    def delay(self, seconds: float, label: str = "busy") -> Action:
        """Let time pass."""
        return partial(self.system.kernel.delay, _times(seconds), self.system.label(label))

    def serve(
        self, station: str, seconds: float, label: str | None = None, rank: int = 0
    ) -> Action:
        """Visit a station."""
        kernel, found = self.system.kernel, self.system.resource("station", station)
        places = (
            self.system.values(f"{station}:order", UNIFORM)
            if isinstance(found, RandomOrder)
            else None
        )
        labels = self.system.label(label or station), self.system.label(f"wait:{station}")
        number = kernel.stations.index(found)
        return partial(kernel.serve, number, _times(seconds), *labels, Where.FIXED, rank, places)

    def acquire(self, lock: str) -> Action:
        """Come to hold a lock, after all that asked before."""
        system = self.system
        return partial(
            system.kernel.acquire, system.resource("lock", lock), system.label(f"lock:{lock}"), 0, 0
        )

    def release(self, lock: str) -> None:
        """Hold a lock no longer."""
        found = self.system.resource("lock", lock)
        if self.token not in found.holders:
            raise ModelError(f"process {self.number} releases lock {lock}, which it does not hold")
        found.release(self.token, self.now)

    def meet(self, name: str, parties: int) -> Action:
        """Wait until a number of processes has reached a barrier."""
        waiting = self.system.meetings.setdefault(name, [])
        return partial(
            self.system.kernel.barrier, waiting, parties, self.system.label(f"barrier:{name}")
        )

    def put(self, box: Mailbox, word: Any = None) -> None:
        """Put a message; a process that waits for one goes on."""
        if not box.waiting:
            box.words.append(word)
            return
        taker = box.waiting.popleft()
        taker._word = word
        self.system.kernel.wake(taker.token, self.now)

    def get(self, box: Mailbox, label: str = "idle") -> Action:
        """Take a word, waiting for one; it is what the yield gives."""

        def run(token: Token, now: float) -> bool:
            if box.words:
                self._word = box.words.popleft()
                return True
            return self._waits(box.waiting, label)

        return run

    def join(self, other: Process, label: str = "idle") -> Action:
        """Wait until another process has ended."""
        return lambda token, now: other.done or self._waits(other.joiners, label)

    def _waits(self, among: deque[Process], label: str) -> bool:
        self.token.label = self.system.label(label)
        among.append(self)
        return False

    def advance(self, token: Token, now: float) -> bool:
        """Resume the generator with the word it got, and do what it asks."""
        word, self._word = self._word, None
        try:
            request = self._generator.send(word)
        except StopIteration:
            self.done = True
            self.account = {
                name: each
                for name, each in zip(self.system.labels, token.time_by_label, strict=False)
                if each
            }
            for each in self.joiners:
                self.system.kernel.wake(each.token, now)
            return False
        if not callable(request):
            raise ModelError(
                f"process {self.number} yielded {request!r}; yield a request such as me.delay(1.0)"
            )
        return request(token, now)


class System:
    """Resources and processes, for models written as programs.

    Parameters
    ----------
    seed : key of the random streams
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.labels: dict[str, int] = {}
        self.meetings: dict[str, list[Token]] = {}
        self._processes: list[Process] = []
        self._builder = Builder()
        self._kernel: Kernel | None = None
        self._streams: dict[str, Iterator[float]] = {}
        self._boxes: list[Mailbox] = []

    @property
    def kernel(self) -> Kernel:
        """The kernel; from its first use on, no resource can be added."""
        if self._kernel is None:
            made = self._builder.plan()
            groups = (CustomerGroup("processes", "closed", ()),)
            plan = Plan(
                code=((int(Op.JUMP), 0),), groups=groups, stations=made.stations, locks=made.locks
            )
            self._kernel = Kernel(plan, self.seed)
            self._kernel.code[0] = self._step
            self._kernel.ready.extend(each.token for each in self._processes)
        return self._kernel

    def station(self, name: str, servers: int = 1, discipline: str = "fcfs") -> None:
        """Add a station."""
        self._before_running(name)
        self._builder.add_station(name, servers, discipline)

    def lock(self, name: str) -> None:
        """Add a lock, handed over in the order of asking."""
        self._before_running(name)
        self._builder.add_lock(name)

    def mailbox(self, name: str) -> Mailbox:
        """Add a mailbox."""
        self._boxes.append(Mailbox(name))
        return self._boxes[-1]

    def process(self, script: Script, serves: bool = False) -> Process:
        """Let a process begin, now or when the system runs; one that `serves` others need not
        end.
        """
        made = Process(self, len(self._processes), script)
        made.serves = serves
        self._processes.append(made)
        if self._kernel is not None:
            made.token.cycle_start = made.token.booked_until = self._kernel.now
            self._kernel.ready.append(made.token)
        return made

    def run(self, until: float = float("inf")) -> float:
        """Run until there is no event left, or a time is passed, and give the time.

        Raises NoAnswerError when processes wait for what can never come.
        """
        while self.kernel.run(1):
            if self.kernel.now >= until:
                return self.kernel.now
        waits = self._waits()
        if waits:
            raise deadlock_error(self.kernel.now, waits)
        return self.kernel.now

    def values(self, name: str, distribution: ServiceTime) -> Iterator[float]:
        """Draw from a named stream without end."""
        if name not in self._streams:
            stream = Stream(self.seed, name)
            self._streams[name] = iter(lambda: float(distribution.sample(stream, 1)[0]), None)
        return self._streams[name]

    def label(self, name: str) -> int:
        """Return the number of what time is booked to."""
        return self.labels.setdefault(name, len(self.labels))

    def resource(self, kind: str, name: str) -> Any:
        """Find a station or a lock."""
        found = {
            each.name: each
            for each in (self.kernel.stations if kind == "station" else self.kernel.locks)
        }
        if name not in found:
            raise UnknownNameError(kind, name, list(found))
        return found[name]

    def _before_running(self, name: str) -> None:
        if self._kernel is not None:
            raise ModelError(f"{name} comes too late: resources are added before the system runs")

    def _step(self, token: Token, now: float) -> bool:
        token.instruction_number = 0
        return self._processes[token.customer].advance(token, now)

    def _waits(self) -> list[Wait]:
        found = self.kernel.waits()
        found += [
            Wait(each.customer, f"barrier {name}")
            for name, tokens in self.meetings.items()
            for each in tokens
        ]
        found += [
            Wait(each.number, f"word in {box.name}") for box in self._boxes for each in box.waiting
        ]
        running = [each for each in self._processes if not each.done]
        found += [
            Wait(joiner.number, "the end of another", (each.number,))
            for each in running
            for joiner in each.joiners
        ]
        return [each for each in found if not self._processes[each.customer].serves]


class _Growing(list[float]):
    """An account whose labels are not all known yet."""

    def __getitem__(self, label: Any) -> Any:
        while len(self) <= label:
            self.append(0.0)
        return super().__getitem__(label)


def _times(seconds: float) -> Iterator[float]:
    if not seconds >= 0:
        raise ModelError(f"a time of a process must be at least 0 s, got {seconds!r}")
    return repeat(seconds)
