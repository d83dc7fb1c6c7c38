"""Approximate quantiles of response times beside simulated ones, over random open networks of
product form.

One class visits one to four stations once at most: first come first served or processor sharing and
exponential, of 1, 2 or 4 servers, or delays of scv 0.25, 1 or 4, loaded to between 30 and 90 %.
Networks whose quantiles are exact are left out. The stated errors were chosen with the seeds 5000
to 5119 and 20000 to 20399, before the networks of the seeds from 40000 on were looked at.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from slipstick import network, open_class, solve, station
from slipstick.method.names import QUANTILES
from slipstick.method.networks.form import QUANTILE_ERRORS
from slipstick.model.network import QueueingNetwork
from slipstick.sim.settings import Simulation


def drawn(random: np.random.Generator) -> QueueingNetwork:
    """Draw a network of one class and one to four stations."""
    stations, largest_demand, mean = (
        {},
        0.0,
        10 ** random.uniform(-0.5, 0.5, int(random.integers(1, 5))),
    )
    for k, service in enumerate(mean.tolist()):
        kind = str(random.choice(["fcfs", "ps", "is"], p=[0.6, 0.3, 0.1]))
        servers = 1 if kind == "is" else int(random.choice([1, 1, 2, 4]))
        scv = float(random.choice([0.25, 1, 1, 4])) if kind == "is" else 1.0
        visits = float(random.choice([0.5, 1, 1, 1]))
        stations[f"s{k}"] = station(
            service={"c": service},
            visits={"c": visits},
            scv={"c": scv},
            discipline=kind,
            servers=servers,
        )
        largest_demand = max(largest_demand, 0.0 if kind == "is" else service * visits / servers)
    rate = float(random.uniform(0.3, 0.9)) / (largest_demand or float(mean.sum()))
    return network({"c": open_class(rate)}, stations)


def errors(seed: int, cycles: int) -> dict[float, float]:
    """Return the relative error of each quantile against simulation; nothing where they are exact,
    or not given.
    """
    model = drawn(np.random.default_rng(seed))
    answer = solve(model)
    names = {q: f"response_time_quantile[c,{q:g}]" for q in QUANTILES}
    if any(name not in answer.values or answer.values[name].low is None for name in names.values()):
        return {}
    simulated = solve(
        model,
        method="simulation",
        simulation=Simulation(cycles=cycles, seed=seed, kernel="compiled"),
    )
    value_pairs = {q: (answer[name], simulated[name]) for q, name in names.items()}
    return {
        q: mine / truth - 1
        for q, (mine, truth) in value_pairs.items()
        if mine is not None and truth
    }


def main() -> None:
    """Print the errors, and the share that lies within what answers state."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", type=int, default=400)
    arguments.add_argument("--first", type=int, default=40000)
    arguments.add_argument("--cycles", type=int, default=100_000)
    arguments.add_argument("--short", action="store_true")
    options = arguments.parse_args()
    models, cycles = (4, 5000) if options.short else (options.models, options.cycles)
    errors_by_level = defaultdict(list)
    for seed in range(options.first, options.first + models):
        for q, error in errors(seed, cycles).items():
            errors_by_level[q].append(error)
    print("quantile  models  median  95 of 100  most   mean   stated  within")
    for (q, errors_of_level), stated_error in zip(
        sorted(errors_by_level.items()), QUANTILE_ERRORS, strict=True
    ):
        size = np.abs(errors_of_level)
        shown_errors = (
            np.median(size),
            np.percentile(size, 95),
            size.max(),
            np.mean(errors_of_level),
            stated_error,
            np.mean(size <= stated_error),
        )
        print(
            f"{q:8g}  {len(errors_of_level):6}  "
            + "  ".join(f"{100 * shown_error:6.1f} %" for shown_error in shown_errors)
        )


if __name__ == "__main__":
    main()
