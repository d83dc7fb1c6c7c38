"""Programs that hold, wait and signal: beside threads of a virtual clock with locks, monitors
and counters of their own.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TypeAlias

import pytest

from slipstick import (
    Lock,
    Monitor,
    Permits,
    ReaderWriterLock,
    Semaphores,
    Simulation,
    delay,
    hold,
    repeat,
    signal,
    solve,
    superstep_model,
    then,
    wait,
)
from slipstick.errors import NoAnswerError
from slipstick.model.steps import Activity
from slipstick.model.system import Resource

PLAIN = Simulation(kernel="plain")
Step: TypeAlias = "tuple[str, float] | tuple[str, str] | tuple[str, str, str, list[Step]]"
"""Time to pass; wait for or signal a counter; or hold a resource in a mode around steps."""


class Held:
    """What threads hold: up to `room` at once, or one alone where it writes; whom it lets in
    first is in `order`.
    """

    def __init__(self, room: int, order: str = "fair") -> None:
        self.room, self.first = room, order.partition("-")[0][:1].replace("f", "")
        self.inside: list[str] = []
        self.queue: list[tuple[int, str]] = []

    def fits(self, mode: str) -> bool:
        return not self.inside or (
            mode != "write" and "write" not in self.inside and len(self.inside) < self.room
        )


class Program:
    """Threads of a virtual clock; each books where its time went."""

    def __init__(
        self, threads: list[list[Step]], held: dict[str, Held], units: dict[str, int]
    ) -> None:
        self.held, self.units = held, dict(units)
        self.waiting: dict[str, deque[int]] = {name: deque() for name in units}
        self.books = [defaultdict[str, float](float) for _ in threads]
        self.ends = [0.0] * len(threads)
        self.now, self.order = 0.0, count()
        self.ready = deque(range(len(threads)))
        self.running = [self.thread(me, steps) for me, steps in enumerate(threads)]

    def run(self) -> bool:
        """Run to the end; say whether all threads come there."""
        heap: list[tuple[float, int, int]] = []
        while self.ready or heap:
            if not self.ready:
                self.now, _, me = heappop(heap)
                self.ready.append(me)
            me = self.ready.popleft()
            pause = next(self.running[me], None)
            if pause is None:
                self.ends[me] = self.now
            elif pause >= 0:
                heappush(heap, (self.now + pause, next(self.order), me))
        return all(self.ends)

    def thread(self, me: int, steps: list[Step], monitor: str = "") -> Generator[float, None, None]:
        for kind, *rest in steps:
            match rest:
                case [float(seconds)]:
                    yield seconds
                    self.books[me]["busy"] += seconds
                case [str(name)] if kind == "wait":
                    yield from self.wait(me, name, monitor)
                case [str(name)]:
                    if self.signal(name, monitor):
                        return
                case [str(name), str(mode), list(inside)]:
                    yield from self.enter(me, name, mode)
                    yield from self.thread(me, inside, name if kind == "monitor" else "")
                    # A signal has handed the monitor over already.
                    if not (kind == "monitor" and inside[-1][0] == "signal"):
                        self.leave(name, mode)

    def enter(self, me: int, name: str, mode: str) -> Generator[float, None, None]:
        held = self.held[name]
        if held.fits(mode) and not any(not self.behind(held, mode, each) for _, each in held.queue):
            held.inside.append(mode)
            return
        place = sum(not self.behind(held, mode, each) for _, each in held.queue)
        held.queue.insert(place, (me, mode))
        since = self.now
        yield -1.0
        kind = {"m": "entry", "p": "wait"}.get(name[0], "lock")
        self.books[me][f"{kind}:{name}"] += self.now - since

    def behind(self, held: Held, mode: str, other: str) -> bool:
        """Return whether another request is served after one that comes now: of a kind that goes
        first, it passes the other kind.
        """
        return bool(held.first) and mode.startswith(held.first) and not other.startswith(held.first)

    def leave(self, name: str, mode: str) -> None:
        held = self.held[name]
        held.inside.remove(mode)
        while held.queue and held.fits(held.queue[0][1]):
            me, mode = held.queue.pop(0)
            held.inside.append(mode)
            self.ready.append(me)

    def wait(self, me: int, name: str, monitor: str) -> Generator[float, None, None]:
        if self.units[name]:
            self.units[name] -= 1
            return
        self.waiting[name].append(me)
        if monitor:
            self.leave(monitor, "")
        since = self.now
        yield -1.0
        self.books[me][f"wait:{name}"] += self.now - since

    def signal(self, name: str, monitor: str) -> bool:
        """Return a unit; of a monitor, say that it is left: by its next owner, who has waited, or
        for the next at the entrance.
        """
        if self.waiting[name]:
            self.ready.append(
                self.waiting[name].popleft()
            )  # which is inside of the monitor at once
        else:
            self.units[name] += 1
            if monitor:
                self.leave(monitor, "")
        return bool(monitor)


def programs(chance: Random) -> tuple[list[list[Step]], dict[str, Resource]]:
    """Draw threads, and resources; between any two steps that may wait some time passes, so that
    no order at one time matters.
    """
    order, readers = (
        chance.choice(["fair", "reader-first", "writer-first"]),
        chance.choice([1, 2, 9]),
    )
    resources: dict[str, Resource] = {
        "door": Lock(),
        "pool": Permits(chance.choice([1, 2, 3])),
        "table": ReaderWriterLock(order, readers),
        "m": Monitor({"one": chance.choice([0, 1]), "two": chance.choice([0, 2])}),
        "all": Semaphores({"units": chance.choice([1, 2])}),
    }

    inner = tuple(chance.sample(["pool", "door", "table"], 3))
    kinds = chance.choice([("hold",), ("monitor",), ("hold", "monitor", "units")])

    def time(longest: float = 3.0) -> Step:
        return "time", chance.uniform(0.0, longest)

    def procedure() -> list[Step]:
        inside: list[Step] = [time()]
        for _ in range(chance.choice([0, 0, 1, 1, 2])):
            inside += [("wait", f"m.{chance.choice(['one', 'two'])}"), time()]
        return (
            inside
            if chance.random() < 0.2
            else [*inside, ("signal", f"m.{chance.choice(['one', 'two', 'one'])}")]
        )

    def nested(names: tuple[str, ...]) -> list[Step]:
        """Hold some of the resources, one inside the other, always in the same order."""
        if not names:
            return [time()]
        name, *others = names
        if chance.random() < 0.5:
            return nested(tuple(others))
        mode = chance.choice(["read", "read", "write"]) if name == "table" else ""
        return [time(), ("hold", name, mode, nested(tuple(others))), time()]

    def part() -> list[Step]:
        kind = chance.choice(kinds)
        if kind == "monitor":
            return [("monitor", "m", "", procedure())]
        if kind == "units":
            return [("wait", "all.units"), time(), ("signal", "all.units")]
        return nested(inner)

    threads = []
    for _ in range(chance.randrange(1, 7)):
        steps: list[Step] = [time()]
        for _ in range(chance.randrange(1, 6)):
            steps += [*part(), time(0.5)]
        threads.append(steps)
    threads[0] += [
        step
        for name in ("one", "two")
        for step in (("monitor", "m", "", [time(), ("signal", f"m.{name}")]), time())
    ]
    return threads, resources


def activity(steps: list[Step], names: Iterator[int]) -> Activity:
    """Write steps as an activity."""
    made: list[Activity] = []
    for kind, *rest in steps:
        match rest:
            case [float(seconds)]:
                made.append(delay(seconds, name=f"step-{next(names)}"))
            case [str(name)]:
                made.append(wait(name) if kind == "wait" else signal(name))
            case [str(name), str(mode), list(inside)]:
                made.append(hold(name, activity(inside, names), mode))
    return then(*made)


def twin(threads: list[list[Step]], resources: dict[str, Resource], rounds: int) -> Program:
    held, units = dict[str, Held](), dict[str, int]()
    for name, each in resources.items():
        match each:
            case ReaderWriterLock(order=order, readers=readers):
                held[name] = Held(readers, order)
            case Permits(number=number):
                held[name] = Held(number)
            case Lock() | Monitor():
                held[name] = Held(1)
        units |= {f"{name}.{unit}": number for unit, number in each.counters.items()}
    return Program([steps * rounds for steps in threads], held, units)


@pytest.mark.turns(8)
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_the_account_is_that_of_threads(first: int) -> None:
    dead = 0
    for seed in range(first, first + 100):
        chance = Random(seed)
        threads, resources = programs(chance)
        rounds, names = chance.choice([1, 2, 3]), count()
        lines = [repeat(rounds, activity(steps, names)) for steps in threads]
        model = superstep_model((1, lines, delay(0.0, name="end")), resources=resources)
        wanted = twin(threads, resources, rounds)
        if not wanted.run():
            dead += 1
            with pytest.raises(NoAnswerError, match="deadlock at"):
                solve(model, method="simulation", simulation=PLAIN)
            continue
        answer = solve(model, method="simulation", simulation=PLAIN)
        assert answer["time"] == pytest.approx(max(wanted.ends), rel=1e-9), seed
        assert sum(answer.account.values()) == pytest.approx(answer["time"], rel=1e-9), seed
        total = defaultdict[str, float](float)
        for book in wanted.books:
            for cause, seconds in book.items():
                total[cause] += seconds / len(threads)
        found = {
            cause: seconds
            for cause, seconds in answer.account.items()
            if cause != "idle" and seconds > 1e-9
        }
        assert found == pytest.approx(
            {cause: seconds for cause, seconds in total.items() if seconds > 1e-9}
        ), seed
    assert 0 < dead < 60
