"""Processes: Python generators that yield waits and requests, for what is not a tree.

A process runs on the plain kernel beside everything else: the same clock, stations, locks and account.

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
from heapq import heappush
from typing import Any

from slipstick.errors import ModelError, UnknownNameError
from slipstick.sim.deadlock import Wait, deadlock
from slipstick.sim.plain.event_loop import Action, Token
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plain.stations import RandomOrder
from slipstick.sim.plan.builder import CHANCE, Builder
from slipstick.sim.plan.distributions import ServiceTime, Stream
from slipstick.sim.plan.plan import CustomerGroup, Op, Plan

EventLog = Callable[[int, int, str, float, float, int | None], None]

Script = Callable[["Process"], Generator[Action, Any, Any]]


class Mailbox:
    """A mailbox: messages are taken in the order in which they were put."""

    __slots__ = ("name", "waiting", "words")

    def __init__(self, name: str) -> None:
        self.name = name
        self.words: deque[Any] = deque()
        self.waiting: deque[Process] = deque()


class Process:
    """A running generator, and what it may ask for.

    Requests (`delay`, `serve`, `acquire`, `get`, `join`, `meet`) are to be yielded; `release`, `put` and
    `spawn` happen at once.

    Attributes
    ----------
    account : where its time went, by label [s]
    done : it has ended
    """

    def __init__(self, system: System, number: int, script: Script) -> None:
        self.system, self.number = system, number
        self.token = Token(number, 0, _Growing(), [])
        self.account: dict[str, float] = {}
        self.done = False
        self._word: Any = None
        self._joiners: list[Process] = []
        self._generator = script(self)

    @property
    def now(self) -> float:
        """The clock [s]."""
        return self.system.kernel.now

    def delay(self, seconds: float, label: str = "busy") -> Action:
        """Let time pass."""
        _check_time(seconds)

        def run(token: Token, now: float) -> bool:
            token.label = self.system.label(label)
            heappush(self.system.kernel.heap, (now + seconds, self.system.kernel.order(), self._timed, token))
            return False

        return run

    def serve(self, station: str, seconds: float, label: str | None = None, rank: int = 0) -> Action:
        """Visit a station."""
        _check_time(seconds)
        where, places = self.system.station_called(station), self.system.values(f"{station}:order", CHANCE)

        def run(token: Token, now: float) -> bool:
            token.label, token.wait = self.system.label(label or station), self.system.label(f"wait:{station}")
            token.rank = rank
            if isinstance(where, RandomOrder):
                token.place = next(places)
            where.enter(token, seconds, now)
            return False

        return run

    def acquire(self, lock: str) -> Action:
        """Come to hold a lock, after all who asked before."""
        found = self.system.lock_called(lock)

        def run(token: Token, now: float) -> bool:
            found.request(token, now)
            if found.free:
                found.grant(token, now)
                return True
            token.label = self.system.label(f"lock:{lock}")
            found.queue.append(token)
            return False

        return run

    def release(self, lock: str) -> None:
        """Hold a lock no longer."""
        found = self.system.lock_called(lock)
        if self.token not in found.holders:
            raise ModelError(f"process {self.number} releases lock {lock}, which it does not hold")
        found.release(self.token, self.now)

    def meet(self, name: str, parties: int) -> Action:
        """Wait until so many have come to a barrier."""
        waiting = self.system.meetings.setdefault(name, [])

        def run(token: Token, now: float) -> bool:
            if len(waiting) + 1 < parties:
                token.label = self.system.label(f"barrier:{name}")
                waiting.append(token)
                return False
            for each in waiting:
                self.system.kernel.wake(each, now)
            waiting.clear()
            return True

        return run

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
            token.label = self.system.label(label)
            box.waiting.append(self)
            return False

        return run

    def spawn(self, script: Script) -> Process:
        """Let another process begin now."""
        return self.system.process(script)

    def join(self, other: Process, label: str = "idle") -> Action:
        """Wait until another process has ended."""

        def run(token: Token, now: float) -> bool:
            if other.done:
                return True
            token.label = self.system.label(label)
            other._joiners.append(self)
            return False

        return run

    def _timed(self, token: Token, now: float) -> bool:
        return self.system.kernel.resume(token, now)

    def advance(self, token: Token, now: float) -> bool:
        """Resume the generator with the word it got, and do what it asks."""
        word, self._word = self._word, None
        try:
            request = self._generator.send(word)
        except StopIteration:
            self._end(now)
            return False
        if not callable(request):
            raise ModelError(f"process {self.number} yielded {request!r}; yield a request such as me.delay(1.0)")
        return request(token, now)

    def _end(self, now: float) -> None:
        self.done = True
        self.account = {
            name: seconds for name, seconds in zip(self.system.labels, self.token.booked, strict=False) if seconds
        }
        self.system.running.discard(self.number)
        for each in self._joiners:
            self.system.kernel.wake(each.token, now)


class System:
    """Resources and processes, for models written as programs.

    Parameters
    ----------
    seed : key of the random streams
    log : told (process, 0, label, from, to, who ended a wait) for every stretch of time booked
    """

    def __init__(self, seed: int = 0, log: EventLog | None = None) -> None:
        self.seed = seed
        self.labels: list[str] = []
        self.meetings: dict[str, list[Token]] = {}
        self.running: set[int] = set()
        self._processes: list[Process] = []
        self._builder = Builder()
        self._log = log
        self._kernel: Kernel | None = None
        self._early: list[Process] = []
        self._streams: dict[str, Iterator[float]] = {}
        self._boxes: list[Mailbox] = []

    @property
    def kernel(self) -> Kernel:
        """The kernel; from its first use on, no resource can be added."""
        if self._kernel is None:
            made = self._builder.plan()
            plan = Plan(
                code=((int(Op.JUMP), *[0] * 7),),
                groups=(CustomerGroup("processes", "closed", ()),),
                stations=made.stations,
                locks=made.locks,
            )
            self._kernel = Kernel(plan, self.seed, log=None if self._log is None else self._tell)
            self._kernel.code[0] = self._step
        return self._kernel

    def station(self, name: str, servers: int = 1, discipline: str = "fcfs") -> None:
        """Add a station."""
        self._before_running(name)
        self._builder.station(name, servers, discipline)

    def lock(self, name: str) -> None:
        """Add a lock, handed over in the order of asking."""
        self._before_running(name)
        self._builder.lock(name)

    def mailbox(self, name: str) -> Mailbox:
        """Add a mailbox."""
        self._boxes.append(Mailbox(name))
        return self._boxes[-1]

    def process(self, script: Script, serves: bool = False) -> Process:
        """Let a process begin, now or when the system runs; one that `serves` others need not end."""
        made = Process(self, len(self._processes), script)
        self._processes.append(made)
        if not serves:
            self.running.add(made.number)
        made.token.begun = made.token.since = 0.0 if self._kernel is None else self.kernel.now
        if self._kernel is None:
            self._early.append(made)
        else:
            self.kernel.ready.append(made.token)
        return made

    def run(self, until: float = float("inf")) -> float:
        """Run until there is no event left, or a time is passed, and give the time.

        Raises NoAnswerError when processes wait for what can never come.
        """
        self.kernel.ready.extend(each.token for each in self._early)
        self._early.clear()
        while self.kernel.run(1):
            if self.kernel.now >= until:
                return self.kernel.now
        if self.running:
            waits = self._waits()
            if waits:
                raise deadlock(self.kernel.plan, self.kernel.now, waits)
        return self.kernel.now

    def values(self, name: str, distribution: ServiceTime) -> Iterator[float]:
        """Draw from a named stream without end."""
        if name not in self._streams:
            stream = Stream(self.seed, name)
            self._streams[name] = iter(lambda: float(distribution.sample(stream, 1)[0]), None)
        return self._streams[name]

    def label(self, name: str) -> int:
        """Give the number of what time is booked to."""
        if name not in self.labels:
            self.labels.append(name)
        return self.labels.index(name)

    def station_called(self, name: str) -> Any:
        """Find a station."""
        found = next((each for each in self.kernel.stations if each.name == name), None)
        if found is None:
            raise UnknownNameError("station", name, [each.name for each in self.kernel.stations])
        return found

    def lock_called(self, name: str) -> Any:
        """Find a lock."""
        found = next((each for each in self.kernel.locks if each.name == name), None)
        if found is None:
            raise UnknownNameError("lock", name, [each.name for each in self.kernel.locks])
        return found

    def _before_running(self, name: str) -> None:
        if self._kernel is not None:
            raise ModelError(f"{name} comes too late: resources are added before the system runs")

    def _tell(self, who: int, branch: int, label: int, start: float, end: float, cause: int | None) -> None:
        assert self._log is not None
        self._log(who, branch, self.labels[label], start, end, cause)

    def _step(self, token: Token, now: float) -> bool:
        token.pc = 0
        return self._processes[token.customer].advance(token, now)

    def _waits(self) -> list[Wait]:
        found = self.kernel.waits()
        found += [Wait(each.customer, f"barrier {name}") for name, tokens in self.meetings.items() for each in tokens]
        found += [Wait(each.number, f"word in {box.name}") for box in self._boxes for each in box.waiting]
        for each in self._processes:
            found += [
                Wait(joiner.number, "the end of another", (each.number,)) for joiner in each._joiners if not each.done
            ]
        return [each for each in found if each.customer in self.running]


class _Growing(list[float]):
    """An account whose labels are not all known yet."""

    def __getitem__(self, label: Any) -> Any:
        while len(self) <= label:
            self.append(0.0)
        return super().__getitem__(label)


def _check_time(seconds: float) -> None:
    if not seconds >= 0:
        raise ModelError(f"a time of a process must be at least 0 s, got {seconds!r}")
