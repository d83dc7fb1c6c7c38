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


def simulated(
    visits: Sequence[Visit], servers: Sequence[int], rate: float, events: int, seed: int
) -> Run:
    """Simulate a stream of customers that make visits in a row, served in order of arrival."""
    clock = Clock(seed)
    draw, random = clock.draw, clock.random
    stations = range(len(servers))
    mean_work = [sum(visit.mean for visit in visits if visit.station == at) for at in stations]
    work, busy = [0.0 for _ in stations], [0 for _ in stations]
    lines = [deque[int]() for _ in stations]
    sums = np.zeros(4 + 3 * len(servers))
    rows = [sums.copy()]
    now, present, planned = 0.0, 0, 0
    heap: list[tuple[float, int, int]] = [(random.expovariate(rate), 0, -1)]

    def serve(number: int) -> None:
        """Begin the service of a visit."""
        nonlocal planned
        at, mean, scv = visits[number]
        time = draw(mean, scv)
        surplus = time - mean
        sums[4 + at] += 2 * work[at] * surplus + surplus**2 - scv * mean**2
        sums[4 + len(servers) + at] += surplus
        work[at] += surplus
        busy[at] += 1
        planned += 1
        heappush(heap, (now + time, planned, number))

    rows_wanted = BATCHES * WARM_UP_PART // (WARM_UP_PART - 1)
    for event in range(1, events + 1):
        time, _, number = heappop(heap)
        elapsed, now = time - now, time
        sums[0] += present * elapsed
        sums[2] += elapsed
        for at in stations:
            drained = busy[at] * elapsed
            # Arrivals add 2 Y D and D^2 to Y^2, and D^2 as many times as there are arrivals.
            sums[4 + at] -= 2 * rate * mean_work[at] * (work[at] - drained / 2) * elapsed
            work[at] -= drained
        if number < 0:
            present += 1
            sums[3] += 1
            for at in stations:
                sums[4 + at] += 2 * work[at] * mean_work[at]
                work[at] += mean_work[at]
            planned += 1
            heappush(heap, (now + random.expovariate(rate), planned, -1))
        else:
            at = visits[number].station
            busy[at] -= 1
            if lines[at]:
                serve(lines[at].popleft())
        if number + 1 == len(visits):
            present -= 1
            sums[1] += 1
        else:
            at = visits[number + 1].station
            if busy[at] < servers[at] and not lines[at]:
                serve(number + 1)
            else:
                lines[at].append(number + 1)
        if event % (events // rows_wanted) == 0:
            rows.append(sums.copy())
    batches = np.diff(np.array(rows), axis=0)[-BATCHES:]
    arrivals = (batches[:, 3] - rate * batches[:, 2])[:, None]
    services = batches[:, 4 + len(servers) : 4 + 2 * len(servers)]
    return Run(
        batches[:, 0],
        batches[:, 1],
        np.hstack([arrivals, services]),
        batches[:, 4 : 4 + len(servers)],
    )


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
