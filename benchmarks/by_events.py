"""Default answers to services of the folder by_hand, beside an event simulator of this file, which
shares no code with slipstick: processes that are generators, a heap of events, and lines of
customers. Each service is written here again from the documentation alone.

Constructs: forks that wait for some of their branches, several permits in bursts, batches with
balking and retries, hedged requests, bounded buffers, and choices by the queue with an early reply.
Compared are times, throughputs, quantiles, utilizations, queue lengths and waits; printed is each
that is farther off than three standard errors of both intervals together.

Usage: python benchmarks/by_events.py [--short] [SEED [EVENTS]]
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping
from heapq import heappop, heappush
from math import hypot, sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

from slipstick import solve

Resume = Callable[[], None]
Process = Generator[float | Callable[[Resume], None], None, None]
"""Yields a pause [s], or a function that is given what resumes the process."""

BATCHES, STUDENT = 20, 2.093
"""Batches of a run, and the 97.5 % quantile of Student's t with 19 degrees of freedom."""
LARGEST_DIFFERENCE = 1.53
"""Largest difference in half-widths of 95 %: three standard errors."""


class Clock:
    """The time, the events to come, and the integrals and records of what is measured."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = Random(seed)
        self._heap: list[tuple[float, int, Resume]] = []
        self._scheduled = 0
        self.level: dict[str, float] = defaultdict(float)
        self.integral: dict[str, float] = defaultdict(float)
        self._changed: dict[str, float] = defaultdict(float)
        self.records: dict[str, list[float]] = defaultdict(list)

    def after(self, pause: float, event: Resume) -> None:
        """Schedule an event."""
        self._scheduled += 1
        heappush(self._heap, (self.now + pause, self._scheduled, event))

    def begin(self, process: Process) -> None:
        """Run a process until it waits for something."""
        for wanted in process:
            if isinstance(wanted, float):
                self.after(wanted, lambda: self.begin(process))
            else:
                wanted(lambda: self.begin(process))
            return

    def draw(self, mean: float, scv: float) -> float:
        """Draw a time: constant, gamma (Erlang or exponential if 1/scv is whole), or one of two
        exponential times with half of the mean each.
        """
        if scv == 0:
            return mean
        if scv <= 1:
            return self.random.gammavariate(1 / scv, scv * mean)
        share = (1 + sqrt((scv - 1) / (scv + 1))) / 2
        share = share if self.random.random() < share else 1 - share
        return self.random.expovariate(2 * share / mean)

    def change(self, name: str, difference: float) -> None:
        """Change a level, whose mean over time is measured."""
        self.integral[name] += self.level[name] * (self.now - self._changed[name])
        self._changed[name] = self.now
        self.level[name] += difference

    def run(self, events: int) -> None:
        """Let so many events happen."""
        for _ in range(events):
            self.now, _, event = heappop(self._heap)
            event()
        for name in list(self.level):
            self.change(name, 0.0)

    def arrive(
        self, customers: Callable[[], Iterable[Process]], rates: Mapping[bool, float]
    ) -> None:
        """Let customers come at one rate, and at another in bursts of 1 s, 3 s apart."""
        # Of each of both rates there are arrivals all the time; those of the other are left out.
        is_burst = [False]

        def change() -> None:
            if len(rates) > 1:
                self.after(self.random.expovariate(1 if is_burst[0] else 1 / 3), turn)

        def turn() -> None:
            is_burst[0] = not is_burst[0]
            change()

        def come(of_burst: bool) -> None:
            if of_burst == is_burst[0]:
                for customer in customers():
                    self.begin(customer)
            wait_for(of_burst)

        def wait_for(of_burst: bool) -> None:
            self.after(self.random.expovariate(rates[of_burst]), lambda: come(of_burst))

        change()
        for of_burst in rates:
            wait_for(of_burst)


class Line:
    """Servers, permits or items: units that customers wait for in order of arrival."""

    def __init__(self, clock: Clock, name: str, units: int) -> None:
        self.clock, self.name, self.free = clock, name, units
        self.waiting: deque[tuple[int, float, Resume]] = deque()

    def take(self, units: int = 1) -> Callable[[Resume], None]:
        """Return what asks for units."""

        def ask(resume: Resume) -> None:
            self.clock.change(f"present {self.name}", 1)
            self.waiting.append((units, self.clock.now, resume))
            self.grant()

        return ask

    def grant(self) -> None:
        """Give free units to the first customers that wait."""
        while self.waiting and self.free >= self.waiting[0][0]:
            units, since, resume = self.waiting.popleft()
            self.free -= units
            self.clock.change(f"busy {self.name}", units)
            self.clock.records[f"wait {self.name}"].append(self.clock.now - since)
            self.clock.after(0.0, resume)

    def give(self, units: int = 1) -> None:
        """Give units back."""
        self.free += units
        self.clock.change(f"busy {self.name}", -units)
        self.clock.change(f"present {self.name}", -1)
        self.grant()

    def visit(self, mean: float, scv: float) -> Process:
        """Wait for a server, and be served."""
        yield self.take()
        yield self.clock.draw(mean, scv)
        self.give()


def timed(clock: Clock, name: str, cycle: Process) -> Process:
    """Record how long a cycle takes."""
    begin = clock.now
    yield from cycle
    clock.records[name].append(clock.now - begin)


def forever(clock: Clock, name: str, cycle: Callable[[], Process]) -> Process:
    """Repeat a cycle."""
    while True:
        yield from timed(clock, name, cycle())


def first_of(clock: Clock, branches: Iterable[Process], count: int) -> Callable[[Resume], None]:
    """Return what begins branches together, and resumes when so many have ended."""

    def fork(resume: Resume) -> None:
        left = [count]

        def follow(branch: Process) -> Process:
            yield from branch
            left[0] -= 1
            if left[0] == 0:
                clock.after(0.0, resume)

        for branch in branches:
            clock.begin(follow(branch))

    return fork


def quorum(clock: Clock) -> dict[str, int]:
    """Begin writes that wait for two of three replicas."""
    lines = [Line(clock, name, 1) for name in "abc"]

    def write() -> Process:
        times = zip(lines, (0.1, 0.1, 0.101), strict=True)
        yield first_of(clock, (line.visit(time, 0) for line, time in times), 2)

    clock.arrive(lambda: [timed(clock, "time", write())], {False: 7.0})
    return dict.fromkeys("abc", 1)


def licences(clock: Clock) -> dict[str, int]:
    """Begin jobs that take one or three of four licences, in bursts."""
    line = Line(clock, "licences", 4)

    def job() -> Process:
        units, mean = (1, 0.5) if clock.random.random() < 0.6 else (3, 0.4)
        yield line.take(units)
        yield clock.draw(mean, 1)
        line.give(units)

    clock.arrive(lambda: [timed(clock, "time", job())], {False: 2.0, True: 5.0})
    return {"licences": 4}


def balking(clock: Clock) -> dict[str, int]:
    """Begin groups of two that look at the queue up to three times; each draws once what queue it
    accepts.
    """
    line = Line(clock, "desk", 2)

    def customer() -> Process:
        draw = clock.random.random()
        for tried in range(3):
            if tried:
                yield clock.draw(0.5, 1)
            if line.free or draw >= (0.2, 0.5)[min(len(line.waiting), 1)]:
                yield from line.visit(0.6, 4)
                return

    clock.arrive(lambda: [timed(clock, "time", customer()) for _ in range(2)], {False: 1.0})
    return {"desk": 2}


def hedge_closed(clock: Clock) -> dict[str, int]:
    """Begin eight clients whose late reads are sent again."""
    first, second = Line(clock, "a", 1), Line(clock, "b", 1)

    def read(resume: Resume) -> None:
        is_answered = [False]

        def follow(line: Line) -> Process:
            yield from line.visit(0.2, 1)
            if not is_answered[0]:
                is_answered[0] = True
                clock.after(0.0, resume)

        clock.begin(follow(first))
        clock.after(0.3, lambda: None if is_answered[0] else clock.begin(follow(second)))

    def client() -> Process:
        yield clock.draw(0.5, 1)
        yield read

    for _ in range(8):
        clock.begin(forever(clock, "time", client))
    return {"a": 1, "b": 1}


def buffer(clock: Clock) -> dict[str, int]:
    """Begin producers and consumers with four places between them."""
    places, items = Line(clock, "store.places", 4), Line(clock, "store.items", 0)

    def move(taken: Line, added: Line) -> Process:
        yield taken.take()
        yield clock.draw(0.05, 1)
        added.free += 1
        added.grant()

    def make() -> Process:
        yield clock.draw(1.0, 4)
        yield from move(places, items)

    def use() -> Process:
        yield from move(items, places)
        yield clock.draw(0.6, 4)

    for _ in range(3):
        clock.begin(forever(clock, "time[make]", make))
    for _ in range(2):
        clock.begin(forever(clock, "time[use]", use))
    return {}


def early_reply(clock: Clock) -> dict[str, int]:
    """Begin requests to the shorter of two of three servers, which clean up after the reply."""
    servers = [
        (Line(clock, "a", 1), (0.2, 1), 0.1),
        (Line(clock, "b", 1), (0.2, 1), 0.1),
        (Line(clock, "c", 1), (0.1, 0.5), 0.3),
    ]

    def clean(line: Line, mean: float) -> Process:
        yield clock.draw(mean, 1)
        line.give()

    def request() -> Process:
        # Sampled in random order, so that ties are at random.
        drawn = clock.random.sample(servers, 2)
        line, served, cleaned = min(
            drawn, key=lambda server: clock.level[f"present {server[0].name}"]
        )
        yield line.take()
        yield clock.draw(*served)
        clock.begin(clean(line, cleaned))

    clock.arrive(lambda: [timed(clock, "time", request())], {False: 1.0, True: 9.0})
    return dict.fromkeys("abc", 1)


SERVICES = {
    "quorum": quorum,
    "licences": licences,
    "balking": balking,
    "hedge-closed": hedge_closed,
    "buffer": buffer,
    "early-reply": early_reply,
}
"""What begins each service, and returns the units of its resources; by the name of its file."""


def mean_and_half_width(values: list[float]) -> tuple[float, float]:
    """Return the mean of batches and the half-width of its interval of 95 %."""
    return fmean(values), STUDENT * stdev(values) / sqrt(len(values))


def estimates(
    clock: Clock, units: Mapping[str, int], events: int
) -> dict[str, tuple[float, float]]:
    """Run a service, and return each value with its half-width by its name in answers."""
    clock.run(events // 10)
    by_name: dict[str, list[float]] = defaultdict(list)
    records: dict[str, list[float]] = defaultdict(list)
    for _ in range(BATCHES):
        begin, integral_before = clock.now, dict(clock.integral)
        clock.records.clear()
        clock.run(events // BATCHES)
        elapsed = clock.now - begin
        for name, values in clock.records.items():
            kind, _, resource = name.partition(" ")
            if kind == "wait":
                by_name[f"wait[{resource}]"].append(fmean(values))
                continue
            records[name] += values
            group = name.removeprefix("time")
            by_name[name].append(fmean(values))
            by_name[f"throughput{group}"].append(len(values) / elapsed)
            if not group:
                values.sort()
                for share in (0.5, 0.9, 0.95):
                    quantile = values[int(share * len(values))]
                    by_name[f"time_quantile[{share}]"].append(quantile)
        for resource, count in units.items():
            for level, name, divisor in (
                ("busy", "utilization", count),
                ("present", "queue_length", 1),
            ):
                key = f"{level} {resource}"
                change = clock.integral[key] - integral_before.get(key, 0.0)
                by_name[f"{name}[{resource}]"].append(change / elapsed / divisor)
    return {name: mean_and_half_width(values) for name, values in by_name.items()}


def differences(name: str, seed: int, events: int) -> tuple[int, float, list[str]]:
    """Return the number of values compared, the largest difference in half-widths, and each
    difference that is too large in words.
    """
    clock = Clock(seed)
    units = SERVICES[name](clock)
    answer: Any = solve(str(Path(__file__).with_name("by_hand") / f"{name}.yaml"))
    compared, largest, words = 0, 0.0, []
    for value_name, (mean, half_width) in estimates(clock, units, events).items():
        value = answer.values.get(value_name)
        if value is None or value.value is None:
            continue
        compared += 1
        own_half_width = (value.high - value.low) / 2 if value.low is not None else 0.0
        both = hypot(half_width, own_half_width) or 1e-9 * mean
        difference = abs(value.value - mean) / both
        largest = max(largest, difference)
        if difference > LARGEST_DIFFERENCE:
            words.append(
                f"{value_name} {value.value:.6g} +- {own_half_width:.2g} for {mean:.6g} +-"
                f" {half_width:.2g}"
            )
    return compared, largest, words


def main() -> None:
    """Simulate, answer, compare."""
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    short = "--short" in sys.argv
    seed, events = [*numbers, *(1, 20_000 if short else 600_000)[len(numbers) :]]
    for name in list(SERVICES)[: 1 if short else None]:
        compared, largest, words = differences(name, seed, events)
        print(f"{name}: {compared} values, at most {largest:.2f} half-widths off", flush=True)
        for text in words:
            print(f"  {text}")


if __name__ == "__main__":
    main()
