"""How often a 95 % interval holds the answer, at the sizes that the default stopping rule picks.

1,000 replications take some minutes on one core. Beside the coverage stands its own standard error,
the mean size of a run, and the runs that did not converge.

    python benchmarks/interval_coverage.py [--replications 1000] [--first 0] [--only 0.9] [--parts
    4]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation


def open_station(load: float) -> tuple[Plan, float]:
    """M/M/1: the mean time is 1 / (1 - load) at service rate 1."""
    builder = Builder()
    builder.station("cpu")
    builder.serve("cpu", ServiceTime("exponential", 1.0))
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / load), first_instruction=0)
    return builder.plan(), 1 / (1 - load)


def closed_network() -> tuple[Plan, float]:
    """Ten jobs between a cpu (demand 1), a disk (0.8) and a think time of 5; exact MVA gives the
    time.
    """
    demands, jobs, think = (1.0, 0.8), 10, 5.0
    builder = Builder()
    builder.delay(ServiceTime("exponential", think), "think")
    for name, demand in zip(("cpu", "disk"), demands, strict=True):
        builder.station(name)
        builder.serve(name, ServiceTime("exponential", demand))
    builder.add_closed_group("jobs", jobs, first_instruction=0)
    queues, time_ = [0.0, 0.0], 0.0
    for n in range(1, jobs + 1):
        residence = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        time_ = think + sum(residence)
        queues = [n / time_ * each for each in residence]
    return builder.plan(), time_


MODELS: dict[str, Callable[[], tuple[Plan, float]]] = {
    "M/M/1, utilization 0.5": lambda: open_station(0.5),
    "closed network, N = 10": closed_network,
    "M/M/1, utilization 0.9": lambda: open_station(0.9),
}


def coverage(
    title: str, make: Callable[[], tuple[Plan, float]], seeds: range, events: int, parts: int
) -> None:
    plan, truth = make()
    held = cycles = unsure = 0
    begin = time.perf_counter()
    for done, seed in enumerate(seeds):
        if done and done % 50 == 0:
            print(f"  {held} of {done} cover", flush=True)
        found = simulate(
            plan, Simulation(seed, kernel="compiled", events=events, replications=parts)
        )
        estimate = found.mean_time()
        unsure += not found.converged
        cycles += found.cycles
        held += (
            estimate.low is not None
            and estimate.high is not None
            and estimate.low <= truth <= estimate.high
        )
    replications = len(seeds)
    share = held / replications
    error = math.sqrt(share * (1 - share) / replications)
    print(
        f"{title:<28} covers {held:4d} = {100 * share:5.1f} % +- {100 * error:.1f}, mean run"
        f" {cycles / replications:12,.0f} cycles, not converged {unsure},"
        f" {time.perf_counter() - begin:.0f} s",
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
    parser.add_argument("--only", default="", help="the models whose title holds this text")
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    asked = parser.parse_args()
    count, events = (2, 2_000) if asked.short else (asked.replications, Simulation(1).events)
    seeds = range(asked.first, asked.first + count)
    for title, make in MODELS.items():
        if asked.only in title:
            coverage(title, make, seeds, events, asked.parts)


if __name__ == "__main__":
    main()
