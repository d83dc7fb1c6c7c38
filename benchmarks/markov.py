"""Chains of queueing networks: states explored and solved in a second, with sizes and memory.

One process, one thread. Beside each network the same chain explored state by state in Python, where
that is quick.

    python benchmarks/markov.py [--large]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

sys.path.insert(
    0, str(Path(__file__).parents[1])
)  # the plain exploration of states is the tests' own

from slipstick.queueing.markov_chain import stationary
from slipstick.queueing.network import NetworkArrays, network_arrays
from slipstick_chains.networks.solve import markov_chain
from tests.queueing.markov.by_hand import explore_states

CASES: dict[str, tuple[NetworkArrays, int | None]] = {
    "two queues, open": (network_arrays([0.5, 0.3], arrivals=1.0), 400),
    "priority, open": (
        network_arrays([[1.0], [2.5]], arrivals=[0.3, 0.2], discipline="priority", priority=[0, 1]),
        220,
    ),
    "four stations, closed": (network_arrays([0.1, 0.3, 0.2, 0.25], population=40), None),
    "two classes, closed": (
        network_arrays([[0.1, 0.3, 0.2], [0.3, 0.1, 0.2]], population=[14, 14]),
        None,
    ),
    "lines that keep the order": (
        network_arrays([[1.0], [3.0]], population=[8, 8], think=5.0, discipline="fcfs"),
        None,
    ),
}
LARGE = {"four stations, larger": (network_arrays([0.1, 0.3, 0.2, 0.25], population=80), None)}


def main() -> None:
    """Explore and solve every case; print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--large", action="store_true", help="also a chain that takes a minute to solve"
    )
    parser.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = parser.parse_args()
    cases = CASES | LARGE if options.large else CASES
    if options.short:
        cases = {"two queues, open": (CASES["two queues, open"][0], 20)}
    print(
        f"{'chain':28}{'states':>10}{'rates':>10}"
        f"{'explored/s':>12}{'solved/s':>12}{'pi Q':>10}{'MiB':>8}"
    )
    for name, (network, truncation) in cases.items():
        start = perf_counter()
        _, chain = markov_chain(network, truncation=truncation)
        explored = perf_counter()
        pi = stationary(chain)
        solved = perf_counter()
        residual = np.abs(pi @ chain.generator()).max()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:28}{chain.size:>10,}{len(chain.rates):>10,}"
            f"{chain.size / (explored - start):>12,.0f}{chain.size / (solved - explored):>12,.0f}"
            f"{residual:>10.0e}{memory:>8.0f}"
        )
    by_state(4 if options.short else 40)


def by_state(customers: int) -> None:
    """Explore the four closed stations one state at a time."""

    def moves(at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        for k, mean in enumerate((0.1, 0.3, 0.2, 0.25)):
            if at[k]:
                after = list(at)
                after[k] -= 1
                after[(k + 1) % 4] += 1
                yield tuple(after), 1 / mean

    start = perf_counter()
    first: tuple[int, ...] = (customers, 0, 0, 0)
    chain = explore_states(first, moves)
    print(
        f"{'the same, state by state':28}{chain.size:>10,}{'':>10}"
        f"{chain.size / (perf_counter() - start):>12,.0f}"
    )


if __name__ == "__main__":
    main()
