"""A million points of the closed-form diff request, beside the same formula written by hand.

One process, one thread, the two in turn; prints the ratio of the medians, the memory, and whether
the numbers agree.

    python benchmarks/closed_form.py [--points 1000000] [--rounds 15]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from numpy.typing import NDArray

from slipstick import PROGRAMS, load
from slipstick.method.closed_form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.model.system import Model

Array = NDArray[np.float64]

SEND_CALL, RECEIVE_CALL, COMPUTE = 40e-6, 147e-6, 1792e-6
REMOTE_COMPUTE, REMOTE_CALL, REMOTE_DELAY = 94e-6, 107e-6, 795e-6


def one_expression(parts: Array, reply: Array, speed: Array, wire: Array) -> Array:
    """Write the diff request on Fast Ethernet in one plain expression, straight from the paper's
    table.
    """
    return (
        (102e-6 + 0.03865e-6 * (12 + 46) + SEND_CALL) / speed
        + wire * (12 + 58 + reply + 58)
        + 2 * (2 * 25e-6)
        + (40e-6 + REMOTE_DELAY + 102e-6 + 0.03865e-6 * (12 + 46) + REMOTE_CALL + REMOTE_COMPUTE)
        / speed
        + np.where(
            reply + 46 <= 1024,
            102e-6 + 0.03865e-6 * (reply + 46),
            154e-6 + 0.02583e-6 * (reply + 46),
        )
        / speed
        + (
            np.where(
                reply + 46 <= 1024,
                102e-6 + 0.03865e-6 * (reply + 46),
                154e-6 + 0.02583e-6 * (reply + 46),
            )
            + RECEIVE_CALL
        )
        / speed
        + (parts - 1)
        * np.maximum(
            np.maximum(
                (102e-6 + 0.03865e-6 * (12 + 46) + SEND_CALL) / speed, wire * (12 + 58 + reply + 58)
            ),
            (
                np.where(
                    reply + 46 <= 1024,
                    102e-6 + 0.03865e-6 * (reply + 46),
                    154e-6 + 0.02583e-6 * (reply + 46),
                )
                + RECEIVE_CALL
            )
            / speed,
        )
        + COMPUTE / speed
    )


def named_parts(parts: Array, reply: Array, speed: Array, wire: Array) -> Array:
    """Compute the same time with repeated parts computed once, which is a faster rival than one
    expression.
    """
    request = 102e-6 + 0.03865e-6 * (12 + 46)
    answer = np.where(
        reply + 46 <= 1024, 102e-6 + 0.03865e-6 * (reply + 46), 154e-6 + 0.02583e-6 * (reply + 46)
    )
    send, receive = (request + SEND_CALL) / speed, (answer + RECEIVE_CALL) / speed
    on_wire = wire * (12 + 58 + reply + 58)
    remote = (40e-6 + REMOTE_DELAY + request + REMOTE_CALL + REMOTE_COMPUTE + answer) / speed
    once = send + on_wire + 2 * (2 * 25e-6) + remote + receive
    return once + (parts - 1) * np.maximum(np.maximum(send, on_wire), receive) + COMPUTE / speed


def ratios(calls: list[Callable[[], object]], rounds: int) -> tuple[list[float], list[float]]:
    """Time calls in turn. Return the median time of each [s], and the median of its ratios to the
    first call in the same round [1].
    """
    table = []
    for _ in range(rounds):
        row = []
        for call in calls:
            start = time.perf_counter()
            call()
            row.append(time.perf_counter() - start)
        table.append(row)
    columns = list(zip(*table, strict=True))
    return [statistics.median(column) for column in columns], [
        statistics.median(b / a for a, b in zip(columns[0], column, strict=True))
        for column in columns
    ]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--points", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = arguments.parse_args()
    if options.short:
        options.points, options.rounds = 100, 1
    closed_form, points = ClosedForm(diff_request()), _points(options.points)
    print(
        f"{options.points:,} points; one thread; medians of {options.rounds} rounds; ratios"
        " are rival /"
        " slipstick"
    )
    print(
        f"{'varied':32} {'slipstick':>10} {'one expression':>18} {'named parts':>18}  worst"
        " difference"
    )
    for count in (4, 3, 2):
        varied = dict(list(points.items())[:count])
        # What is not varied is a number for all points, for us and for the rivals.
        values: dict[str, Any] = {
            **{name: float(column[0]) for name, column in points.items()},
            **varied,
        }
        hand: dict[str, Any] = dict(
            zip(("parts", "reply", "speed", "wire"), values.values(), strict=True)
        )
        calls = [
            partial(closed_form.times, values),
            partial(one_expression, **hand),
            partial(named_parts, **hand),
        ]
        largest_difference = max(
            float(np.max(np.abs(calls[0]() / rival() - 1))) for rival in calls[1:]
        )
        (ours, one_time, named_time), (_, ratio_one, ratio_named) = ratios(
            list(calls), options.rounds
        )
        names = ", ".join(name.rpartition(".")[2] for name in varied)
        print(
            f"{names:32} {ours * 1e3:7.1f} ms {one_time * 1e3:8.1f} ms {ratio_one:5.2f} x"
            f" {named_time * 1e3:8.1f} ms {ratio_named:5.2f} x  {largest_difference:.1e}"
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def diff_request() -> Model:
    """Build the diff request with the measured times of Table 5, phase 3."""
    machine = load("machine/rs6000-43p-fast-ethernet")
    assert isinstance(machine, Machine)
    return PROGRAMS["dvsm/diff-request"].on(
        machine,
        parts=7,
        reply=4120,
        send_call=SEND_CALL,
        receive_call=RECEIVE_CALL,
        compute=COMPUTE,
        remote_compute=REMOTE_COMPUTE,
        remote_call=REMOTE_CALL,
        remote_delay=REMOTE_DELAY,
    )


def _points(count: int) -> dict[str, Array]:
    random = np.random.default_rng(1)
    return {
        "parts": random.integers(1, 16, count).astype(float),
        "reply": random.uniform(16, 65536, count),
        "machine.processors.speed": random.uniform(0.25, 64, count),
        "machine.network.wire.per_byte": random.uniform(4e-11, 8e-7, count),
    }


if __name__ == "__main__":
    main()
