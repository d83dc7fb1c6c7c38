"""Mean-value analysis as it was published: delays and single servers, one population after the
other.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from slipstick.errors import ModelError
from slipstick.queueing.mixed_classes import check_product_form, solve_mixed
from slipstick.queueing.network import ClosedPart, ClosedSolution, NetworkArrays, NetworkSolution
from slipstick.queueing.normalizing_constants import check_size

__all__ = ["mean_values"]


def mean_values(network: NetworkArrays) -> NetworkSolution:
    r"""Solve a product-form network of delays and single servers by the recursion of mean values.

    For every population n up to N, in order:

        R_rk(n) = D_rk (1 + sum over j of Q_jk(n - e_r))     the arrival theorem
        X_r(n) = n_r / (Z_r + sum over k of R_rk(n))         Little's law in all
        Q_rk(n) = X_r(n) R_rk(n)                             Little's law at each station

    `exact` gives the same numbers sooner and takes stations of several servers; this is the road to
    check it by.

    Raises
    ------
    ModelError : a station has several servers or rates, or there is no product form
    NoAnswerError : a station is saturated, the lattice of populations is too large, or nothing
        takes any time

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322.

    >>> from slipstick.queueing.network import network_arrays
    >>> mean_values(network_arrays([0.6, 0.4], population=2, think=1.0)).throughput
    array([[0.88495575]])
    """
    check_product_form(network)
    for station in np.flatnonzero(~network.is_single & ~network.is_delay):
        raise ModelError(
            f"{network.stations[station]} is not a single server of one speed, which the published"
            " recursion needs; ask for exact or convolution"
        )
    return solve_mixed(network, "exact mean-value analysis, population by population", _recursion)


def _recursion(closed: ClosedPart) -> ClosedSolution:
    demand, delay, population = closed.demand, closed.delay, closed.population
    check_size(closed)
    pace = demand / closed.last_speed[:, None]
    points, classes, stations = demand.shape
    present = {(0,) * classes: np.zeros((points, stations))}
    queue, throughput = np.zeros(demand.shape), np.zeros((points, classes))
    for vector in product(*(range(int(each) + 1) for each in population[0])):
        if not any(vector):
            continue
        throughput = np.zeros((points, classes), dtype=np.result_type(pace, delay))
        queue = np.zeros(demand.shape, dtype=throughput.dtype)
        for r in np.flatnonzero(vector):
            before = tuple(n - (i == r) for i, n in enumerate(vector))
            residence = pace[:, r] * (1 + present[before])
            throughput[:, r] = vector[r] / (delay[:, r] + residence.sum(axis=1))
            queue[:, r] = throughput[:, r, None] * residence
        present[vector] = queue.sum(axis=1)
        # Nobody asks again for what is one fewer of the first class and below this one.
        if vector[0]:
            present.pop((vector[0] - 1, *vector[1:]), None)
    return ClosedSolution(throughput, queue, [None] * stations, np.ones(points, dtype=bool))
