"""A million evaluations of every law, beside NumPy's evaluation of the same expression as written
by hand.

One process, one thread, in turn, by processor time. What may vary within the law's conditions is an
array; counts are numbers. A law checks its conditions at every point. The first rival does, too,
each as one comparison; the second checks nothing. Prints a table, worst ratio first.

    python benchmarks/laws.py [--points 1000000] [--rounds 5] [--only NAME]
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from numpy.typing import NDArray

from slipstick.law import LAWS, Law

Array = NDArray[np.float64]


def erlang_b(load: Any, servers: float) -> Any:
    """Run the textbook's recursion."""
    blocking = 1.0
    for k in range(1, int(servers) + 1):
        blocking = load * blocking / (k + load * blocking)
    return blocking


def engset(load: Any, servers: float, sources: float) -> Any:
    """Run the textbook's recursion."""
    blocking = 1.0
    for k in range(1, int(servers) + 1):
        blocking = load * (sources - k + 1) * blocking / (k + load * (sources - k + 1) * blocking)
    return blocking


def geometric_mean(ratio: Any, most: float) -> Any:
    """Write the textbook's formula, which has no value at 1 and few digits near it."""
    return ratio / (1 - ratio) - (most + 1) * ratio ** (most + 1) / (1 - ratio ** (most + 1))


def retried_rate(rate: Any, inputs: float, outputs: float, stages: float) -> Any:
    """Repeat Patel's equation twenty times, as is usual."""
    offered_rate = rate
    for _ in range(20):
        accepted = (
            drop_stages(offered_rate, inputs, outputs, stages)
            / offered_rate
            * (outputs / inputs) ** stages
        )
        offered_rate = rate / (rate + accepted * (1 - rate))
    return offered_rate


def drop_stages(rate: Any, inputs: float, outputs: float, stages: float) -> Any:
    """Follow the stages."""
    return reduce(lambda m, _: 1 - (1 - m / outputs) ** inputs, range(int(stages)), rate)


def md1_number(load: Any, count: float) -> Any:
    """Evaluate the textbook's alternating sum."""
    n = int(count)
    terms = (
        (-1) ** (n - k)
        * np.exp(k * load)
        * ((k * load + n - k) * (k * load) ** (n - k - 1) if k < n else 1.0)
        / math.factorial(n - k)
        for k in range(0 if n == 1 else 1, n + 1)
    )  # fmt: skip
    return (1 - load) * (sum(terms) if n else 1.0)


def md1_late(load: Any, elapsed: Any) -> Any:
    """Evaluate Erlang's alternating sum."""
    count = np.floor(elapsed)
    terms = (
        np.where(
            k <= count,
            (load * (k - elapsed)) ** k / math.factorial(k) * np.exp(-load * (k - elapsed)),
            0.0,
        )
        for k in range(int(np.max(count)) + 1)
    )
    return 1 - (1 - load) * sum(terms)


def palm(load: Any, services: Any) -> Any:
    """Take the reciprocal of Kummer's function 1F1(1; services + 1; load), which has the same
    series.
    """
    from scipy.special import hyp1f1

    return 1 / hyp1f1(1.0, services + 1, load)


BY_HAND: dict[str, Any] = {
    "max": lambda *each: reduce(np.maximum, each),
    "min": lambda *each: reduce(np.minimum, each),
    "pow": np.power,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "log2": np.log2,
    "ceil_log": lambda count, radix: np.ceil(np.log(count) / np.log(radix)),
    "select": lambda x, limit, below, above: np.where(x <= limit, below, above),
    "exprel": lambda x: np.expm1(x) / x,
    "geometric_sum": lambda ratio, terms: (1 - ratio**terms) / (1 - ratio),
    "geometric_mean": geometric_mean,
    "erlang_b": erlang_b,
    "engset": engset,
    "palm": palm,
    "poisson": lambda mean, count: mean**count * np.exp(-mean) / math.factorial(int(count)),
    "md1_number": md1_number,
    "md1_late": md1_late,
    "drop_stages": drop_stages,
    "retried_rate": retried_rate,
}
"""Each function as written by hand in NumPy."""


def by_hand(law: Law) -> Callable[..., Any]:
    """Compile the law's own text, as it would stand in a program."""
    names = ", ".join(symbol.name for symbol in law.symbols)
    function: Callable[..., Any] = eval(f"lambda {names}: {law.text.partition(' = ')[2]}", BY_HAND)
    return function


def with_checks(law: Law) -> Callable[..., Any]:
    """Check the conditions before it, as a careful program would."""
    names = ", ".join(symbol.name for symbol in law.symbols)
    checks = [eval(f"lambda {names}: {condition}", BY_HAND) for condition in law.conditions]
    value = by_hand(law)

    def checked(**values: Any) -> Any:
        for check in checks:
            if not np.all(check(**values)):
                raise ValueError(law.name)
        return value(**values)

    return checked


def points(law: Law, count: int) -> dict[str, Any]:
    """Vary every symbol that may vary by up to a tenth, within the law's conditions."""
    arguments: dict[str, Any] = {
        name: float(value) for name, value in law.given(law.checks[-1]).items()
    }
    random = np.random.default_rng(1)
    for symbol in law.symbols:
        for low, high in ((1.0, 1.1), (0.9, 1.0)):
            trial = {
                **arguments,
                symbol.name: arguments[symbol.name] * random.uniform(low, high, 1000),
            }
            valid_ranges = {
                name: value[:1000] if np.ndim(value) else value for name, value in trial.items()
            }
            if arguments[symbol.name] and all(
                condition.holds(valid_ranges).all() for condition in law.conditions
            ):
                arguments[symbol.name] = arguments[symbol.name] * random.uniform(low, high, count)
                break
    # Bounds that touch, such as work >= span, may be crossed by one point in a million.
    is_valid = np.logical_and.reduce(
        [np.broadcast_to(symbol.holds(arguments), count) for symbol in law.conditions]
        or [np.ones(1, dtype=bool)]
    )
    if not np.all(is_valid):
        keep = np.resize(np.flatnonzero(is_valid), count)
        arguments = {
            name: value[keep] if np.ndim(value) else value for name, value in arguments.items()
        }
    return arguments


def timed(calls: Sequence[Callable[[], object]], rounds: int) -> tuple[list[float], list[float]]:
    """Time calls in turn; give each one's median [s], and its median ratio to the first."""
    table = []
    for _ in range(rounds):
        row = []
        for call in calls:
            # Time of the processor, which others on the machine disturb less.
            start = time.process_time()
            call()
            row.append(time.process_time() - start)
        table.append(row)
    columns = list(zip(*table, strict=True))
    # Some clocks of processors do not move within a short call.
    reference_times = [
        max(reference_time, time.get_clock_info("process_time").resolution)
        for reference_time in columns[0]
    ]
    ratios = [
        statistics.median(b / a for a, b in zip(reference_times, column, strict=True))
        for column in columns
    ]
    return [statistics.median(column) for column in columns], ratios


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--points", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", help="laws whose names hold this", default="")
    arguments.add_argument(
        "--short", action="store_true", help="the smallest sizes, to see that it runs"
    )
    options = arguments.parse_args()
    if options.short:
        options.points, options.rounds = 1000, 1
    rows: list[tuple[float, float, str, float, float, float, float]] = []
    for law in (law for name, law in LAWS.items() if options.only in name):
        values = points(law, options.points)
        if not any(np.ndim(value) for value in values.values()):
            continue
        calls = [partial(function, **values) for function in (law, with_checks(law), by_hand(law))]
        with np.errstate(all="ignore"):
            ours, hand = (
                np.broadcast_to(np.asarray(call(), dtype=float), options.points)
                for call in calls[::2]
            )
            (mine, checked, bare), (_, careful, careless) = timed(calls, options.rounds)
            worst = float(np.nanmax(np.abs(ours - hand) / np.maximum(np.abs(hand), 1e-300)))
        rows.append((careful, careless, law.name, mine, checked, bare, worst))
    print(
        f"{options.points:,} points; one thread; medians of {options.rounds} rounds; ratios"
        " are rival"
        " / law"
    )
    print(f"{'law':42} {'law':>10} {'with checks':>18} {'bare':>19}  worst difference")
    for checked_ratio, bare_ratio, name, mine, checked, bare, worst in sorted(rows):
        print(
            f"{name:42} {mine * 1e3:7.1f} ms {checked * 1e3:7.1f} ms {checked_ratio:5.2f} x"
            f" {bare * 1e3:7.1f} ms {bare_ratio:5.2f} x  {worst:.1e}"
        )
    for rival, column in (
        ("with checks", [row[0] for row in rows]),
        ("bare", [row[1] for row in rows]),
    ):
        fast, middle = sum(ratio >= 1 for ratio in column), statistics.median(column)
        print(
            f"{fast} of {len(rows)} laws at least as fast as by hand {rival}; median ratio"
            f" {middle:.2f}"
        )


if __name__ == "__main__":
    main()
