"""The cycle of a closed queueing network with one class, by exact mean value analysis."""

from __future__ import annotations

import numpy as np

from slipstick.measure.fit.timings import Array

__all__ = ["cycle_times"]


def cycle_times(outside: float, demands: Array, populations: Array) -> Array:
    r"""Give the mean time of a cycle for each population.

    ::

        R_k(n) = D_k (1 + Q_k(n-1))        arrivals see the network with one customer less
        C(n)   = Z + sum_k R_k(n)
        Q_k(n) = n R_k(n) / C(n)           Little's law

    Exact for exponential service times in order of arrival, and for processor sharing with any.

    Parameters
    ----------
    outside : time outside the stations, Z [s]
    demands : service at each station in a cycle, D, (K,) [s]
    populations : whole numbers of at least 1, (M,)

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980.

    >>> cycle_times(9.0, np.array([1.0]), np.array([1.0, 2.0, 64.0])).round(3).tolist()
    [10.0, 10.1, 64.0]
    """
    # With a station or two, plain numbers are several times as fast as arrays of two.
    think, service = float(outside), demands.tolist()
    cycles, queue = [0.0], [0.0] * len(service)
    for n in range(1, int(populations.max()) + 1):
        residence = [each * (1.0 + waiting) for each, waiting in zip(service, queue, strict=True)]
        cycle = think + sum(residence)
        cycles.append(cycle)
        queue = [n * each / cycle for each in residence] if cycle > 0 else queue
    found: Array = np.array(cycles)[populations.astype(int)]
    return found
