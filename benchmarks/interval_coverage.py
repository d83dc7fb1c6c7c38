"""How often an interval holds the answer, at the sizes that the default stopping rule picks, or at
a budget of events that ends the run early.

1,000 replications take some minutes on one core. Beside the coverage stands its own standard error,
the mean size of a run, the runs that did not converge, and those without an interval, which are
not counted as intervals.

    python benchmarks/interval_coverage.py [--replications 1000] [--first 0] [--only 0.9] [--parts
    4]
    python benchmarks/interval_coverage.py --events 50000 --level 0.9 --first 2026112951
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from slipstick.profiles import Profile, period_of
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ProfiledTimes, ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.run import PLAIN_EVENTS, simulate
from slipstick.sim.settings import Simulation


def open_station(load: float, scv: float = 1.0) -> tuple[Plan, float]:
    """Return an M/G/1 station and its mean time, 1 + load (1 + scv) / 2 / (1 - load) at service
    rate 1.
    """
    builder = Builder()
    builder.add_station("cpu")
    builder.serve("cpu", ServiceTime("exponential" if scv == 1 else "gamma", 1.0, scv))
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / load), first_instruction=0)
    return builder.plan(), 1 + load * (1 + scv) / 2 / (1 - load)


def closed_network(jobs: int = 10, think: float = 5.0) -> tuple[Plan, float]:
    """Return a network of a cpu (demand 1), a disk (0.8) and a think time, and its time by exact
    MVA.
    """
    demands = (1.0, 0.8)
    builder = Builder()
    builder.delay(ServiceTime("exponential", think), "think")
    for name, demand in zip(("cpu", "disk"), demands, strict=True):
        builder.add_station(name)
        builder.serve(name, ServiceTime("exponential", demand))
    builder.add_closed_group("jobs", jobs, first_instruction=0)
    queues, time_ = [0.0, 0.0], 0.0
    for n in range(1, jobs + 1):
        residence = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        time_ = think + sum(residence)
        queues = [n / time_ * residence_time for residence_time in residence]
    return builder.plan(), time_


def saturated(jobs: int, visits: int, scv: float, think: float = 0.0) -> tuple[Plan, float]:
    """Jobs that visit a station that is never idle, after constant times elsewhere: the time is the
    service of all jobs together, to rounding. Services are 0.99 or 1.01 where they have no scv.
    """
    builder = Builder()
    builder.add_station("bus")
    think_time = ServiceTime(*(("exponential", think) if think else ("deterministic", 1.0, 0.0)))
    builder.delay(think_time, "think")
    for visit in range(visits):
        builder.delay(ServiceTime("deterministic", 0.5, 0.0), f"before-{visit}")
        services = [(1.0, 1.0)] if scv else [(0.5, 0.99), (0.5, 1.01)]
        builder.choose(
            [
                (
                    probability,
                    partial(
                        builder.serve,
                        "bus",
                        ServiceTime("gamma" if scv else "deterministic", service, scv),
                        stream=f"{visit}-{service}",
                    ),
                )
                for probability, service in services
            ],
            f"kind-{visit}",
        )
    builder.add_closed_group("jobs", jobs, first_instruction=0)
    return builder.plan(), float(jobs * visits)


def program() -> tuple[Plan, float]:
    """Return a program of one gamma-distributed step of scv 4 and mean 1, which is run once."""
    builder = Builder()
    builder.delay(ServiceTime("gamma", 1.0, 4.0), "work")
    builder.add_program("jobs", [0])
    return builder.plan(), 1.0


def over_a_day(pieces: Profile) -> tuple[Plan, float]:
    """One exponential server of rate 1 whose arrivals follow a profile: the mean time over a
    period, from the chances of each number present, which repeat with the period.

    Each piece is followed in trapezoidal steps, short beside a service; the number present is cut
    where no chance is left.
    """
    period, customers = period_of(pieces), sum(lasts * rate for lasts, rate in pieces)
    builder = Builder()
    builder.add_station("cpu")
    builder.serve("cpu", ServiceTime("exponential", 1.0))
    times = ProfiledTimes(pieces, period / customers)
    builder.add_open_group("jobs", times, first_instruction=0)
    most_present = int(customers + 12 * math.sqrt(customers)) + 60
    customer_counts = np.arange(most_present + 1.0)
    steps = []
    for lasts, rate in pieces:
        flows = np.diag(np.full(most_present, rate), -1) + np.diag(np.ones(most_present), 1)
        flows -= np.diag(flows.sum(axis=0))
        count = max(1, round(lasts / STEP))
        half = lasts / count / 2 * flows
        steps.append(
            (
                np.linalg.solve(np.eye(most_present + 1) - half, np.eye(most_present + 1) + half),
                count,
            )
        )
    identity = np.eye(most_present + 1)
    for step, count in steps:
        identity = np.linalg.matrix_power(step, count) @ identity
    equations = identity - np.eye(most_present + 1)
    equations[0] = 1.0
    chances = np.linalg.solve(equations, np.eye(most_present + 1)[0])
    present_time = 0.0
    for (step, count), (lasts, _) in zip(steps, pieces, strict=True):
        for _ in range(count):
            probabilities = step @ chances
            present_time += lasts / count * float(customer_counts @ (chances + probabilities)) / 2
            chances = probabilities
    return builder.plan(), present_time / customers


STEP = 0.05
"""Steps in which the chances over a day are followed, in mean services [1]: steps of twice or half
the length give the same means to six digits."""


MODELS: dict[str, Callable[[], tuple[Plan, float]]] = {
    "M/M/1, utilization 0.5": lambda: open_station(0.5),
    "closed network, N = 10": closed_network,
    "M/M/1, utilization 0.9": lambda: open_station(0.9),
    "M/G/1, scv 4, utilization 0.9": lambda: open_station(0.9, 4.0),
    "closed network, N = 24": lambda: closed_network(24, 20.0),
    "program, scv 4": program,
    "saturated, 16 jobs, choices": lambda: saturated(16, 10, 0.0),
    "saturated, 64 jobs, choices": lambda: saturated(64, 10, 0.0),
    "saturated, 16 jobs, scv 0.01": lambda: saturated(16, 10, 0.01),
    "saturated, 64 jobs, scv 0.01": lambda: saturated(64, 5, 0.01, 20.0),
    "saturated, 24 jobs, scv 1": lambda: saturated(24, 2, 1.0),
    "day of 18, peak below 1": lambda: over_a_day(((20.0, 0.3), (20.0, 0.6))),
    "day of 54, peak beyond 1": lambda: over_a_day(((60.0, 0.3), (30.0, 1.2))),
    "day of 270, peak beyond 1": lambda: over_a_day(((300.0, 0.3), (150.0, 1.2))),
}


def coverage(
    title: str, make: Callable[[], tuple[Plan, float]], seeds: range, settings: Simulation
) -> None:
    plan, truth = make()
    covered_count = cycles = unsure = without_interval = 0
    half_widths = []
    begin = time.perf_counter()
    for run_index, seed in enumerate(seeds):
        if run_index and run_index % 50 == 0:
            print(f"  {covered_count} of {run_index} cover", flush=True)
        result = simulate(plan, replace(settings, seed=seed))
        estimate = result.mean_time()
        unsure += not result.converged
        cycles += result.cycles
        without_interval += estimate.low is None
        half_widths.append(estimate.half_width / estimate.mean)
        covered_count += (
            estimate.low is not None
            and estimate.high is not None
            and estimate.low <= truth <= estimate.high
        )
    replications = len(seeds)
    intervals = max(replications - without_interval, 1)
    share = covered_count / intervals
    error = math.sqrt(share * (1 - share) / intervals)
    print(
        f"{title:<29} covers {covered_count:4d} of {intervals:4d} = {100 * share:5.1f} % +-"
        f" {100 * error:.1f}, half-width {100 * float(np.median(half_widths)):.3g} %, mean run"
        f" {cycles / replications:12,.0f} cycles, not converged"
        f" {unsure}, without an interval {without_interval}, {time.perf_counter() - begin:.0f} s",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed, where the seeds are run in pieces"
    )
    parser.add_argument(
        "--parts", type=int, default=1, help="independent runs that each simulation is parted into"
    )
    parser.add_argument("--events", type=int, default=Simulation().events, help="budget of a run")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals")
    parser.add_argument("--only", default="", help="the models whose title holds this text")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    count, events = (2, 2_000) if options.short else (options.replications, options.events)
    kernel = "compiled" if events > PLAIN_EVENTS else "plain"
    settings = Simulation(
        kernel=kernel, events=events, replications=options.parts, level=options.level
    )
    seeds = range(options.first, options.first + count)
    for title, make in MODELS.items():
        if options.only in title:
            coverage(title, make, seeds, settings)


if __name__ == "__main__":
    main()
