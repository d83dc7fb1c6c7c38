"""What an answer on a queueing network has beyond the solver's columns: account, saturation, quantiles, notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.networks.arrays import Arrays, Compiled
from slipstick.queueing.bounds import saturation_population
from slipstick.queueing.network import Network, Solution

__all__ = ["QUANTILES", "THINK", "account", "assumed", "constants", "notes_of", "quantiles"]

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""The quantiles of response time that answers give where they have a closed form."""

THINK = "think"
"""What the account books thinking to."""


def account(compiled: Compiled, arrays: Arrays, columns: Mapping[str, float]) -> dict[str, float]:
    """Follow one customer through a cycle: thinking, in service at each station, waiting for it.

    Only where all customers are of one chain; adds up to the cycle with its think time. A station whose speed
    depends on how many are there has no service apart from waiting.

    Parameters
    ----------
    compiled, arrays : the network at one point
    columns : its measures
    """
    nobody = arrays.network.closed.all() and not arrays.network.population.any()
    if len(compiled.chains) != 1 or nobody:
        return {}
    found = {THINK: float(arrays.network.think[0, 0].real)} if arrays.network.think[0, 0] else {}
    for k, (name, station) in enumerate(compiled.model.stations.items()):
        for label in station.visitors():
            r, here = compiled.classes.index(label), columns[f"residence_time[{label},{name}]"]
            service = float((arrays.visits[0, r, k] * arrays.service[0, r, k]).real)
            wait = here - service if arrays.network.rates[k] is None and station.discipline != "is" else 0.0
            found[name] = found.get(name, 0.0) + here - wait
            found[f"wait:{name}"] = found.get(f"wait:{name}", 0.0) + wait
    return {name: each for name, each in found.items() if each or not name.startswith("wait:")}


def constants(network: Network) -> dict[str, float]:
    """Give the population at which each closed chain would saturate its slowest station.

    Parameters
    ----------
    network : at one point
    """
    if not network.closed.any():
        return {}
    try:
        crossing = saturation_population(network)[0].real
    except NoAnswerError:
        # Where those who find no room are lost, more may come than can be served; nothing is left for who goes round.
        return {}
    return {
        f"saturation_population[{name}]": float(crossing[c])
        for c, name in enumerate(network.classes)
        if network.closed[c]
    }


def quantiles(compiled: Compiled, network: Network) -> dict[str, float]:
    r"""Give quantiles of response time where they have a closed form: streams through one first-come station.

    With c servers of rate \mu each, arrivals \lambda of all streams together and C Erlang's waiting probability::

        P(T > t) = exp(-mu t) + C mu (exp(-a t) - exp(-mu t)) / (mu - a)     a = c mu - lambda

    which for one server is exp(-(mu - lambda) t); for a delay it is exp(-mu t).

    Parameters
    ----------
    compiled, network : at one point

    Source: Kleinrock, Queueing Systems, volume 1, 1975, section 3.5; Gross and Harris, Fundamentals of Queueing
    Theory, 3rd ed., 1998, section 2.3.
    """
    found = {}
    for label, mean, alone, servers, load in _lone_streams(compiled, network):
        for q in QUANTILES:
            found[f"response_time_quantile[{label},{q:g}]"] = (
                -mean * math.log1p(-q) if alone else _quantile(q, mean, servers, load)
            )
    return found


def _lone_streams(compiled: Compiled, network: Network) -> Iterator[tuple[str, float, bool, int, float]]:
    """Yield the streams that visit one station once, exponential and alike there: name, mean service, load."""
    if not compiled.model.classes or network.closed.any() or compiled.model.chains:
        return
    for c, label in enumerate(compiled.chains):
        visited = np.flatnonzero(network.demand[0, c].real > 0)
        if len(visited) != 1:
            continue
        k = int(visited[0])
        here = network.demand[0, :, k].real > 0
        once = network.visits[0, c, k] == 1.0
        alike = len(set(network.service[0, here, k].real.tolist())) == 1 and (network.scv[0, here, k].real == 1).all()
        plain = network.rates[k] is None and not compiled.model.stations[compiled.stations[k]].capacity
        kind = network.discipline[k]
        if once and plain and ((kind == "is" and network.scv[0, c, k] == 1) or (kind == "fcfs" and alike)):
            mean = float(network.service[0, c, k].real)
            load = float(network.arrivals[0, here].real.sum()) * mean
            yield label, mean, kind == "is", int(network.servers[k]), load


def _quantile(q: float, mean: float, servers: int, load: float) -> float:
    """Halve an interval until it holds one double: the distribution function rises."""
    low, high = 0.0, mean
    while _beyond(high, mean, servers, load) > 1 - q:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, mean, servers, load) > 1 - q else (low, middle)
    return high


def _beyond(time: float, mean: float, servers: int, load: float) -> float:
    """Give P(T > t) of M/M/c."""
    slack = (servers - load) / mean
    waits = _waiting(servers, load)
    served = math.exp(-time / mean)
    difference = 1 / mean - slack
    if abs(difference) * mean < 1e-9:
        return served * (1 + waits * time / mean)
    return served + waits / mean * (math.exp(-slack * time) - served) / difference


def _waiting(servers: int, load: float) -> float:
    """Give Erlang's waiting probability by the recurrence of his loss formula, which does not overflow."""
    lost = 1.0
    for count in range(1, servers + 1):
        lost = load * lost / (count + load * lost)
    return lost / (1 - load / servers * (1 - lost))


def notes_of(compiled: Compiled, solution: Solution) -> tuple[str, ...]:
    """Say which variant solved, when it stopped, how far it usually is off, and what was read into the network."""
    steps = f"; {solution.rule}, {solution.iterations} iterations" if solution.rule else ""
    error = f"; usual error: {solution.usual_error}" if solution.usual_error else ""
    return (f"{solution.method}{steps}{error}", *solution.notes, *assumed(compiled))


def assumed(compiled: Compiled) -> tuple[str, ...]:
    """Say what was read into a network that does not say it.

    Parameters
    ----------
    compiled : the network
    """
    return tuple(
        f"{name} is first come first served: the demands of several classes there are taken as visits of one service "
        "time; give service and visits to say otherwise"
        for name, station in compiled.model.stations.items()
        if station.discipline == "fcfs" and len(station.demand) > 1
    )
