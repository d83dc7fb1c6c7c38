"""How far the approximate methods usually err, as `benchmarks/approximations.py` measured it."""

from __future__ import annotations

import numpy as np

from slipstick.queueing.network import Network

__all__ = ["MEASURED", "usual_error"]

MEASURED: dict[str, tuple[tuple[float, float, float, float], tuple[float, float, float, float]]] = {
    "single servers": ((1.4, 5.5, 2.4, 16), (0.1, 0.7, 0.2, 2.3)),
    "several servers": ((1.7, 6.4, 2.7, 14), (0.2, 1.2, 0.3, 2.2)),
    "speeds by the number present": ((1.2, 5.9, 2.2, 15), (0.2, 1.2, 0.3, 2.6)),
    "service times that differ at first come first served": ((3.1, 8.7, 5.5, 14), (0.5, 5.2, 0.8, 7.5)),
    "first come first served with scv below 1": ((1.5, 6.3, 2.3, 9.5), (0.8, 7.9, 1.6, 9.7)),
    "first come first served with scv of 4": ((7.2, 28, 12, 49), (5.4, 27, 8.6, 46)),
    "preemptive priorities": ((3.2, 22, 5.5, 37), (1.5, 22, 2.0, 34)),
    "priorities": ((3.3, 30, 5.9, 43), (1.4, 22, 2.2, 41)),
}
"""Percent by Bard-Schweitzer and by Linearizer: median and 95th percentile of throughput, the same of response time.

Of 400 random closed networks in product form each, demands over two orders of magnitude, and of 100 small ones
without, demands within a factor of ten. The worst comes last.
"""


def usual_error(network: Network, corrected: bool) -> str:
    """Say what was measured for the worst construct of a network.

    Parameters
    ----------
    corrected : whether by Linearizer

    >>> from slipstick.queueing.network import network
    >>> usual_error(network([0.5], population=4), corrected=True)
    'throughput 0.1 % (95 of 100 within 0.7 %), response time 0.2 % (2.3 %), measured with single servers'
    """
    found = [_construct(network, station) for station in range(len(network.stations))]
    worst = max(found, key=list(MEASURED).index, default="single servers")
    flow, most_flow, response, most_response = MEASURED[worst][corrected]
    return (
        f"throughput {flow:g} % (95 of 100 within {most_flow:g} %), response time {response:g} % "
        f"({most_response:g} %), measured with {worst}"
    )


def _construct(network: Network, station: int) -> str:
    discipline = network.discipline[station]
    if discipline.startswith("priority"):
        return "preemptive priorities" if discipline == "priority-preemptive" else "priorities"
    if network.without_product_form[station]:
        scv = np.max(network.scv[:, :, station].real)
        if (network.scv[:, :, station].real == 1).all():
            return "service times that differ at first come first served"
        return "first come first served with scv " + ("below 1" if scv <= 1 else "of 4")
    if discipline == "is" or network.single[station]:
        return "single servers"
    return "several servers" if network.rates[station] is None else "speeds by the number present"
