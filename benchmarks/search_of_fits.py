"""How near the search of fits comes to the least squares that SciPy finds, for load tests.

Random load tests at rates: one to four servers, six to ten loads up to 95 % of the capacity, times
of M/M/c with 3 % of noise. To each, every kind of station that fits try is fitted twice: by the
search without SciPy, which serves fits of two parameters, and by `scipy.optimize.least_squares`.
The ratio of the two sums of squares is counted.

    python benchmarks/search_of_fits.py [--tests 50] [--seed 1]
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

import numpy as np

from slipstick.queueing.residual_wait import erlang_c
from slipstick_measure.fit import least_squares
from slipstick_measure.fit.loads import fit_loads
from slipstick_measure.loads import LoadRow, LoadTest

AS_NEAR = 1 + 1e-6
"""Ratio of two sums of squares up to which they are the same but for where a search stops."""
SMALLEST_SQUARES = 1e-20
"""Squares of relative residuals below which both searches are exact."""


def random_load_test(random: np.random.Generator) -> LoadTest:
    """Return mean response times of M/M/c beside a constant time, with noise."""
    servers = int(random.integers(1, 5))
    service, elsewhere = 10 ** random.uniform(-3, 0), 10 ** random.uniform(-4, 0)
    utilizations = np.sort(random.uniform(0.05, 0.95, int(random.integers(6, 11))))
    wait_probabilities = erlang_c(utilizations * servers, servers)
    waits = wait_probabilities * service / (servers * (1 - utilizations))
    noise = np.exp(0.03 * random.standard_normal(len(utilizations)))
    response_times = (elsewhere + service + waits) * noise
    rows = [
        LoadRow(line, rate=float(utilization * servers / service), response=float(response_time))
        for line, (utilization, response_time) in enumerate(
            zip(utilizations, response_times, strict=True), start=2
        )
    ]
    return LoadTest("drawn", tuple(rows))


def sums_of_squares(load_test: LoadTest, parameters_without_scipy: int) -> dict[object, float]:
    """Return the least sum of squares of each kind of station that is fitted."""
    with patch.object(least_squares, "MOST_PARAMETERS_WITHOUT_SCIPY", parameters_without_scipy):
        stations = fit_loads(load_test).stations
    return {station.station_model: station.fitted_formula.sum_of_squares for station in stations}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="one load test")
    options = parser.parse_args()
    ratios: list[float] = []
    for number in range(1 if options.short else options.tests):
        load_test = random_load_test(np.random.default_rng([options.seed, number]))
        own = sums_of_squares(load_test, least_squares.MOST_PARAMETERS_WITHOUT_SCIPY)
        by_scipy = sums_of_squares(load_test, 0)
        ratios += [
            max(own[kind], SMALLEST_SQUARES) / max(by_scipy[kind], SMALLEST_SQUARES)
            for kind in own.keys() & by_scipy.keys()
        ]
    as_near = sum(ratio <= AS_NEAR for ratio in ratios)
    print(f"seed {options.seed}: {len(ratios)} fits, {as_near} as near as SciPy's or nearer")
    print(f"at most {100 * (max(ratios) - 1):.2g} % more squares than SciPy's")
    print(f"at most {100 * (1 - min(ratios)):.2g} % fewer")


if __name__ == "__main__":
    main()
