"""What a control variate from a quadratic value function would spare the checks of streams near
saturation: the streams of ``second_road.py --streams``, simulated here, with each interval of the
mean time without control variates, with the linear ones that the checks have, and with both.

Of each station the work Y that those present will still bring to it has a known drift: it jumps by
the mean work of a customer at each arrival, by the difference of each service from its mean when it
begins, and falls while servers are busy. So what the jumps add to Y^2, less what they add in the
mean, is a sum of mean 0. At one station with one visit it is all that varies but for the ends of a
run.

Printed are medians over the streams, and of M/M/1 how many intervals of 95 % hold the mean.

Usage: python benchmarks/stream_controls.py [--short] [FIRST [COUNT [EVENTS]]]

Source: Henderson and Glynn, Approximating martingales for variance reduction in Markov process
simulation, Mathematics of Operations Research 27(2), 2002, 253-271.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.by_events import Clock
from benchmarks.second_road import busy_stream

BATCHES = 64
WARM_UP_PART = 5
"""The first of so many equal parts of a run is dropped."""

Array = NDArray[np.float64]


class Visit(NamedTuple):
    """A visit: the number of its station, and the mean [s] and scv of its service."""

    station: int
    mean: float
    scv: float


class Run(NamedTuple):
    """Sums over each batch of a run: customers present times time, customers that left, and the
    linear and the quadratic control variates.
    """

    area: Array
    left: Array
    linear: Array
    quadratic: Array


class Stream:
    """A stream of customers that make visits in a row, served in order of arrival.

    Attributes
    ----------
    sums : customers present times time, customers that left, time, and arrivals
    quadratic, linear : sums of the control variates of each station
    """

    def __init__(
        self, visits: Sequence[Visit], servers: Sequence[int], rate: float, seed: int
    ) -> None:
        self.visits, self.servers, self.rate = visits, servers, rate
        self.clock = Clock(seed)
        self.stations = range(len(servers))
        self.mean_work = [
            sum(visit.mean for visit in visits if visit.station == station)
            for station in self.stations
        ]
        self.work = [0.0 for _ in self.stations]
        self.busy = [0 for _ in self.stations]
        self.queues = [deque[int]() for _ in self.stations]
        self.sums = np.zeros(4)
        self.quadratic, self.linear = np.zeros(len(servers)), np.zeros(len(servers))
        self.now, self.present, self.planned_count = 0.0, 0, 0
        self.planned_events: list[tuple[float, int, int]] = []
        self.plan(self.clock.random.expovariate(rate), -1)

    def plan(self, pause: float, visit_number: int) -> None:
        """Plan the end of a visit; the end of visit -1 is an arrival."""
        heappush(self.planned_events, (self.now + pause, self.planned_count, visit_number))
        self.planned_count += 1

    def next_event(self) -> None:
        """Go to the next arrival or end of a visit."""
        time, _, visit_number = heappop(self.planned_events)
        self.pass_time(time - self.now)
        self.now = time
        if visit_number < 0:
            self.arrive()
        else:
            station = self.visits[visit_number].station
            self.busy[station] -= 1
            if self.queues[station]:
                self.serve(self.queues[station].popleft())
        self.go_on(visit_number + 1)

    def pass_time(self, elapsed: float) -> None:
        """Add the time until the next event to the sums, and take off the work that is done."""
        self.sums[0] += self.present * elapsed
        self.sums[2] += elapsed
        for station in self.stations:
            done = self.busy[station] * elapsed
            # Arrivals add 2 Y D and D^2 to Y^2, and D^2 as many times as there are arrivals.
            mean_drift = 2 * self.rate * self.mean_work[station]
            self.quadratic[station] -= mean_drift * (self.work[station] - done / 2) * elapsed
            self.work[station] -= done

    def arrive(self) -> None:
        """Add a customer, and plan the next arrival."""
        self.present += 1
        self.sums[3] += 1
        for station in self.stations:
            self.quadratic[station] += 2 * self.work[station] * self.mean_work[station]
            self.work[station] += self.mean_work[station]
        self.plan(self.clock.random.expovariate(self.rate), -1)

    def serve(self, visit_number: int) -> None:
        """Begin the service of a visit."""
        station, mean, scv = self.visits[visit_number]
        time = self.clock.draw(mean, scv)
        surplus = time - mean
        self.quadratic[station] += 2 * self.work[station] * surplus + surplus**2 - scv * mean**2
        self.linear[station] += surplus
        self.work[station] += surplus
        self.busy[station] += 1
        self.plan(time, visit_number)

    def go_on(self, visit_number: int) -> None:
        """Let a customer begin a visit, wait for it, or leave."""
        if visit_number == len(self.visits):
            self.present -= 1
            self.sums[1] += 1
            return
        station = self.visits[visit_number].station
        if self.busy[station] < self.servers[station] and not self.queues[station]:
            self.serve(visit_number)
        else:
            self.queues[station].append(visit_number)


def simulated(
    visits: Sequence[Visit], servers: Sequence[int], rate: float, events: int, seed: int
) -> Run:
    """Simulate a stream, and return the sums over the batches of its run."""
    stream = Stream(visits, servers, rate, seed)
    batch_count = BATCHES * WARM_UP_PART // (WARM_UP_PART - 1)
    sums_so_far = [np.concatenate([stream.sums, stream.quadratic, stream.linear])]
    for event in range(1, events + 1):
        stream.next_event()
        if event % (events // batch_count) == 0:
            sums_so_far.append(np.concatenate([stream.sums, stream.quadratic, stream.linear]))
    batches = np.diff(np.array(sums_so_far), axis=0)[-BATCHES:]
    quadratic, linear = np.split(batches[:, 4:], 2, axis=1)
    arrivals = (batches[:, 3] - rate * batches[:, 2])[:, None]
    return Run(batches[:, 0], batches[:, 1], np.hstack([arrivals, linear]), quadratic)


def controlled_mean(run: Run, controls: Array) -> tuple[float, float]:
    """Return the mean time and the half-width of its interval of 95 %, with control variates."""
    mean = float(run.area.sum() / run.left.sum())
    residual = run.area - mean * run.left
    centred = controls - controls.mean(axis=0)
    slopes = np.linalg.lstsq(centred, residual, rcond=None)[0]
    residual_left = residual - centred @ slopes
    degrees = BATCHES - 1 - controls.shape[1]
    half_width = 2 * sqrt(BATCHES * float(residual_left @ residual_left) / degrees) / run.left.sum()
    return mean - float(controls.sum(axis=0) @ slopes) / float(run.left.sum()), float(half_width)


def means(run: Run) -> list[tuple[float, float]]:
    """Return the mean without, with linear, and with all control variates."""
    return [
        controlled_mean(run, controls)
        for controls in (run.linear[:, :0], run.linear, np.hstack([run.linear, run.quadratic]))
    ]


def drawn(seed: int, events: int) -> Run:
    """Simulate a drawn stream near saturation."""
    model: Any = busy_stream(seed)
    names = list(model.resources)
    visits = [
        Visit(names.index(step.resource), float(step.time.value), float(step.scv))
        for step in model.steps
    ]
    servers = [int(station.servers) for station in model.resources.values()]
    return simulated(visits, servers, float(model.population.rate.value), events, seed)


def main() -> None:
    """Simulate, and print how wide the intervals are."""
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    short = "--short" in sys.argv
    defaults = (1, 2, 8_000) if short else (1, 40, 400_000)
    first, count, events = [*numbers, *defaults[len(numbers) :]]
    kinds = ("without", "linear", "linear and quadratic")
    runs = [drawn(seed, events) for seed in range(first, first + count)]
    widths = [[half_width / mean for mean, half_width in means(run)] for run in runs]
    for kind, column in zip(kinds, zip(*widths, strict=True), strict=True):
        ordered = sorted(column)
        within = sum(width <= 0.025 for width in ordered)
        print(
            f"{count} streams, {events:,} events, {kind}: half-width {median(ordered):.1%} in the"
            f" median, {ordered[0]:.1%} to {ordered[-1]:.1%}; {within} within 2.5 %"
        )
    for load in (0.85, 0.9, 0.95):
        held = [0, 0, 0]
        for seed in range(first, first + count):
            run = simulated([Visit(0, 1.0, 1.0)], [1], load, events, seed)
            for at, (mean, half_width) in enumerate(means(run)):
                held[at] += abs(mean - 1 / (1 - load)) <= half_width
        in_words = ", ".join(f"{kind} {number}" for kind, number in zip(kinds, held, strict=True))
        print(f"M/M/1 at {load}: of {count} intervals hold the mean: {in_words}", flush=True)


if __name__ == "__main__":
    main()
