"""Exact answers for product-form networks: open, closed and mixed, one class or many, any speeds."""

from __future__ import annotations

import numpy as np

from slipstick.queueing.convolution import solve_logarithms
from slipstick.queueing.mixed_classes import ClosedSolver, check_product_form, solve_mixed
from slipstick.queueing.multi_class import solve_multi_class
from slipstick.queueing.network import Array, NetworkArrays, NetworkSolution
from slipstick.queueing.single_class import ClosedSolution, Speeds, solve_single_class


def exact(network: NetworkArrays, marginals: bool = False) -> NetworkSolution:
    r"""Solve a product-form network exactly.

    The mean values of exact MVA, by the linear recurrences behind it: with G(n) the normalizing constant,
    X(n) = G(n-1) / G(n) and Q_k(n) G(n) = D_k (1 + Q_k(n-1)) G(n-1). In that form every term is positive, so
    stations of many servers and populations of thousands keep twelve digits, and the recurrence over n runs in C
    for all points together. Open classes are taken out first, exactly.

    Parameters
    ----------
    network : stations in product form; see `check_product_form`
    marginals : whether to give the probabilities of every station's number; those of stations with
        several speeds are given in any case

    Raises
    ------
    ModelError : the network has no product form
    NoAnswerError : a station is saturated, the lattice of populations is too large, or nothing takes any time

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322; Reiser and Kobayashi, IBM J. Res. Dev. 19(3), 1975.

    >>> from slipstick.queueing.network import network_arrays
    >>> two = network_arrays([0.6, 0.4], population=[[1], [2]], think=1.0)
    >>> exact(two).throughput[:, 0]
    array([0.5       , 0.88495575])
    """
    check_product_form(network)

    def solve(demand: Array, last: Array, several: Speeds, delay: Array, population: Array) -> ClosedSolution:
        if demand.shape[1] == 1:
            one = demand[:, 0], last, several, delay[:, 0], population[:, 0]
            answer = solve_single_class(*one, marginals)
        else:
            answer = solve_multi_class(demand, last, several, delay, population[0], marginals)
        if answer.in_range.all():
            return answer
        return _mend(answer, demand, last, several, delay, population)

    return solve_mixed(
        network, ClosedSolver("exact mean values, by scaled normalizing constants", solve, populations_together=True)
    )


def _mend(
    answer: ClosedSolution, demand: Array, last: Array, several: Speeds, delay: Array, population: Array
) -> ClosedSolution:
    """Solve in logarithms the few points whose constants left the range of doubles."""
    throughput, queue, shown = answer.throughput.copy(), answer.queue.copy(), list(answer.probability)
    for point in np.flatnonzero(~answer.in_range):
        one = slice(point, point + 1)
        some = {k: each if len(each) == 1 else each[one] for k, each in several.items()}
        pace = last if len(last) == 1 else last[one]
        part = solve_logarithms(demand[one], pace, some, delay[one], population[one])
        throughput[one], queue[one] = part.throughput, part.queue
        for k, (chance, own) in enumerate(zip(shown, part.probability, strict=True)):
            if chance is not None and own is not None:
                shown[k] = mended = chance.copy()
                mended[one] = 0
                mended[one, : own.shape[1]] = own
    return ClosedSolution(throughput, queue, shown, np.ones_like(answer.in_range))
