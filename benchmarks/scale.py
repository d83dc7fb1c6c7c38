"""How large a model may be, each in a process of its own: processor time, with imports, memory, and
a second road.

- a machine of 2^17 equal nodes, of which one stands for all (activity halo-exchange): the sum over
  all nodes takes 17 times that over two, the rest of the time is the same
- exact mean value analysis of 1,000,000 customers at three stations, beside a plain loop of the
  recursion
- mean value of 1,000,000 processors at a bus, beside the same as a product-form network by exact
  mean value analysis

    python benchmarks/scale.py [--short]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def machine(nodes: int) -> tuple[float, float]:
    """Return the time of a step on so many nodes, and what follows of that on two."""
    from slipstick import solve

    def answer(count: int) -> tuple[float, float]:
        step = solve(
            "halo-exchange", {"population.processors": count, "machine.processors.count": count}
        )
        return float(step["time"] or 0), step.account["sum"]

    (time_, _), (of_two, sum_) = answer(nodes), answer(2)
    return time_, of_two + (nodes.bit_length() - 2) * sum_


def recursion(customers: int) -> tuple[float, float]:
    """Return the throughput of a network by exact mean value analysis, and by a plain loop."""
    from slipstick.queueing.checks import checked_solution
    from slipstick.queueing.exact import exact
    from slipstick.queueing.network import network_arrays

    demands, think = (5e-3, 30e-3, 20e-3), 1.0
    network = network_arrays(service=[demands], population=customers, think=think)
    throughput = float(checked_solution(network, exact(network)).throughput[0, 0])
    queues, flow = [0.0, 0.0, 0.0], 0.0
    for n in range(1, customers + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        flow = n / (think + sum(times))
        queues = [flow * time_at_station for time_at_station in times]
    return throughput, flow


def mean_value(processors: int) -> tuple[float, float]:
    """Return the time of a cycle by mean value, whose service times are exponential, and by exact
    mean value analysis.
    """
    from slipstick import closed_model, delay, service, solve
    from slipstick.queueing.exact import exact
    from slipstick.queueing.network import network_arrays

    cycle = delay(9.0, name="think", scv=1) >> service("bus", 1e-3, name="use", scv=1)
    cycle_time = float(
        solve(closed_model(cycle, processors=processors), method="mean-value")["time"] or 0
    )
    network = network_arrays(service=[[1e-3]], population=processors, think=9.0)
    return cycle_time, processors / float(exact(network).throughput[0, 0])


def measured(
    call: Callable[[int], tuple[float, float]], size: int
) -> tuple[float, float, float, float]:
    """Return both results, processor time [s] and peak memory [MB]; the second road is part of
    both.
    """
    start = time.process_time()
    result, second = call(size)
    return (
        result,
        second,
        time.process_time() - start,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    )


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    short = arguments.parse_args().short
    fresh = multiprocessing.get_context("spawn")
    for title, call, size in (
        ("nodes of a machine", machine, 2**7 if short else 2**17),
        ("customers of exact MVA", recursion, 1000 if short else 1_000_000),
        ("processors of mean value", mean_value, 1000 if short else 1_000_000),
    ):
        with ProcessPoolExecutor(1, mp_context=fresh) as executor:
            result, second, seconds, memory = executor.submit(measured, call, size).result()
        print(
            f"{size:9,} {title:26} {seconds:6.2f} s {memory:6.0f} MB,"
            f" {abs(result / second - 1):.0e}"
            " off the second road"
        )


if __name__ == "__main__":
    main()
