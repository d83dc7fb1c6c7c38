"""How far the approximate methods for queueing networks err, over random networks, by what is in
them.

Exact answers come from the product form, or from the Markov chain of small networks where there is
none. Prints the median, the 95th percentile and the worst relative error of throughput and response
time of the classes, in percent.

    python benchmarks/approximations.py [--networks 300] [--chains 60]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the Markov chain is the tests' own

from slipstick.queueing import approximate
from slipstick.queueing.approximate import linearizer, schweitzer
from slipstick.queueing.exact import exact
from slipstick.queueing.network import NetworkArrays, network_arrays
from tests.queueing.yardstick import reference_chain

Random = np.random.Generator
Errors = tuple[list[float], list[float]]


def drawn(random: Random, largest_demand: int, stations: int, **more: Any) -> NetworkArrays:
    """Draw a closed network: demands over two orders of magnitude, with and without think time."""
    classes = int(random.integers(1, 4))
    demand = 10 ** random.uniform(-1, 1, (classes, stations))
    think = random.choice([0, 1, 10]) * demand.sum(axis=1)
    return network_arrays(
        demand, population=random.integers(1, largest_demand + 1, classes), think=think, **more
    )


def single(random: Random) -> NetworkArrays:
    """Draw a network of delays and single servers."""
    return drawn(random, 20, int(random.integers(2, 7)))


def several(random: Random) -> NetworkArrays:
    """Draw a network of single servers and stations of 2 to 16 servers, about equally loaded."""
    count = int(random.integers(2, 5))
    servers = random.choice([1, 1, 2, 4, 16], count)
    drawn_networks = drawn(random, 20, count, servers=servers)
    return network_arrays(
        drawn_networks.service * servers,
        population=drawn_networks.population,
        think=drawn_networks.think,
        servers=servers,
    )


def paced(random: Random) -> NetworkArrays:
    """Draw a network with one station whose speed grows ever more slowly with its customers, as
    with a shared lock or cache.
    """
    rates = [list(np.arange(1, 9) ** random.uniform(0.3, 0.9)), None, None]
    return drawn(random, 20, 3, rates=rates)


def small(random: Random, discipline: str, scv: float) -> NetworkArrays:
    """Draw two classes at one station of the given kind and a shared one, few enough for the Markov
    chain.
    """
    demand = 10 ** random.uniform(-0.5, 0.5, (2, 2))
    think = random.choice([0.3, 1, 3]) * demand.sum(axis=1)
    kinds = [discipline, "ps"]
    population = random.integers(1, 5 if scv == 1 else 4, 2)
    return network_arrays(
        demand,
        population=population,
        think=think,
        discipline=kinds,
        scv=[scv, 1.0],
        priority=[1, 2],
    )


def broken(random: Random) -> NetworkArrays:
    """Draw one class at one station whose servers break down; the second class represents the
    servers in repair.
    """
    servers = int(random.choice([1, 1, 2]))
    mean_time_up = 10 ** random.uniform(0.3, 2)
    repair = mean_time_up * 10 ** random.uniform(-2, 0)
    return network_arrays(
        np.array([[1.0], [repair]]),
        population=np.array([random.integers(1, 9), servers]),
        think=np.array([random.uniform(0.1, 8), mean_time_up]),
        discipline=["priority-preemptive"],
        servers=servers,
        priority=[1, 0],
    )


def errors(
    draw: Callable[[Random], NetworkArrays],
    count: int,
    truth: Callable[[NetworkArrays], Any],
    method: Callable[[NetworkArrays], Any],
) -> Errors:
    """Compare a method with the truth over networks drawn from one seed; nan where the method
    found no answer. Those in repair never wait, so that only the class that they interrupt counts.
    """
    classes = slice(1) if draw is broken else slice(None)
    random = np.random.default_rng(1)
    flow, response = [], []
    for _ in range(count):
        drawn_network = draw(random)
        exact_throughput, approximate_throughput = (
            truth(drawn_network),
            method(drawn_network).throughput[0],
        )
        cycle, guess = (
            drawn_network.population[0] / exact_throughput - drawn_network.think[0],
            drawn_network.population[0] / approximate_throughput - drawn_network.think[0],
        )
        flow += list(np.abs(approximate_throughput / exact_throughput - 1)[classes])
        response += list(np.abs(guess / cycle - 1)[classes])
    return flow, response


CONSTRUCTS: list[tuple[str, Callable[[Random], NetworkArrays], bool]] = [
    ("single servers, product form", single, True),
    ("several servers", several, True),
    ("speeds by number present", paced, True),
    ("fcfs, service times differ", lambda random: small(random, "fcfs", 1.0), False),
    ("fcfs, scv 4", lambda random: small(random, "fcfs", 4.0), False),
    ("fcfs, scv 0.25", lambda random: small(random, "fcfs", 0.25), False),
    ("priority", lambda random: small(random, "priority", 1.0), False),
    ("priority, preemptive", lambda random: small(random, "priority-preemptive", 1.0), False),
    ("breakdowns, refused", broken, False),
]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--networks", type=int, default=300)
    arguments.add_argument("--chains", type=int, default=60)
    arguments.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = arguments.parse_args()
    if options.short:
        options.networks = options.chains = 1
    # Measured although it is refused: the figures are the reason.
    with patch.object(approximate, "_refuse_breakdowns", lambda network: None):
        print_errors(options.networks, options.chains)


def print_errors(networks: int, chains: int) -> None:
    """Print the errors of each construct: of so many networks with a product form, and of so many
    small ones without it, which are held against Markov chains.
    """
    print("relative errors in percent: median / 95th percentile / worst")
    print(f"{'construct':30} {'method':12} {'throughput':>24} {'response time':>24}")
    for name, draw, product_form in CONSTRUCTS:
        count = networks if product_form else chains
        for method in (schweitzer, linearizer):
            truth = (
                (lambda given: exact(given).throughput[0])
                if product_form
                else (lambda given: reference_chain(given)[0])
            )
            printed_row = [
                f"{np.median(error) * 100:6.2f} /{np.percentile(error, 95) * 100:6.2f}"
                f" /{np.max(error) * 100:6.2f}"
                for error in errors(draw, count, truth, method)
            ]
            print(
                f"{name:30} {method.__name__:12} {printed_row[0]:>24} {printed_row[1]:>24}",
                flush=True,
            )


if __name__ == "__main__":
    main()
