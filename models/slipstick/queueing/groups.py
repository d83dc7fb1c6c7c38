"""What the exact methods share: points of one population vector together, and what open customers meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.queueing.load import Closed, closed_part, settle
from slipstick.queueing.network import Array, Network, Solution, over_stations
from slipstick.queueing.series import ClosedAnswer, Speeds

__all__ = ["Solver", "check_some_time", "solve_closed", "solve_with"]

Solver = Callable[[Array, Array, Speeds, Array, Array], ClosedAnswer]
"""From demand (P, R, K), last speeds, speeds, delay (P, R) and population (P, R): of one vector, or of one class."""


def solve_with(network: Network, solver: Solver, method: str, one_class_together: bool) -> Solution:
    """Take the open classes out, solve for the closed ones, and answer for all.

    Raises
    ------
    NoAnswerError : a station is saturated, or a cycle takes no time
    """
    closed = closed_part(network)
    check_some_time(network, closed.delay + over_stations(closed.demand), closed.classes)
    answer = solve_closed(closed, solver, one_class_together)
    for name, each in (("throughput", answer.throughput), ("queue", answer.queue)):
        if not np.isfinite(each).all():
            raise NoAnswerError(f"{method}: a {name} leaves the range of doubles; look at the sizes of the demands")
    met, idle = closed.last if network.all_closed else ahead(closed, answer), _idle(network, closed, answer)
    return settle(network, closed, answer.throughput, answer.queue, met, answer.probability, idle, method)


def check_some_time(network: Network, cycle: Array, classes: Array) -> None:
    """Refuse closed classes whose cycle takes no time: their throughput has no limit.

    Parameters
    ----------
    cycle : think time and demands of the closed classes (P, R)
    classes : which of the network's they are

    Raises
    ------
    NoAnswerError : naming the class
    """
    wrong = (cycle == 0) & (network.population[:, classes] > 0)
    if wrong.any():
        name = network.classes[classes[np.argwhere(wrong)[0][1]]]
        raise NoAnswerError(f"a cycle of {name} takes no time: all its demands and its think time are 0")


def solve_closed(closed: Closed, solver: Solver, one_class_together: bool) -> ClosedAnswer:
    """Solve all points, those of one vector of populations together; classes without customers drop out.

    With `one_class_together` the solver takes the points of a single class whatever their populations.
    """
    points, classes, stations = closed.demand.shape
    present = closed.population > 0
    if present.all() and ((classes == 1 and one_class_together) or (closed.population == closed.population[0]).all()):
        return _solve(closed, slice(None), np.arange(classes), solver)
    kind = np.result_type(closed.demand, closed.delay, closed.last, *closed.several.values())
    throughput, queue = np.zeros((points, classes), kind), np.zeros((points, classes, stations), kind)
    sound = np.ones(points, dtype=bool)
    shown: list[list[Array | None]] = []
    vectors, group = np.unique(
        present if one_class_together and (present.sum(axis=1) <= 1).all() else closed.population,
        axis=0,
        return_inverse=True,
    )
    groups = [np.flatnonzero(group.reshape(-1) == each) for each in range(len(vectors))]
    for chosen in groups:
        few = np.flatnonzero(present[chosen].any(axis=0))
        part = _solve(closed, chosen, few, solver)
        throughput[np.ix_(chosen, few)] = part.throughput
        queue[np.ix_(chosen, few)] = part.queue
        sound[chosen] = part.sound
        shown.append(part.probability)
    placed = [_placed(each, groups, points) for each in zip(*shown, strict=True)]
    return ClosedAnswer(throughput, queue, placed, sound)


def _solve(closed: Closed, chosen: Array | slice, few: Array, solver: Solver) -> ClosedAnswer:
    some = {k: each if len(each) == 1 else each[chosen] for k, each in closed.several.items()}
    last = closed.last if len(closed.last) == 1 else closed.last[chosen]
    demand, delay, population = closed.demand[chosen], closed.delay[chosen], closed.population[chosen]
    if len(few) < demand.shape[1]:
        demand, delay, population = demand[:, few], delay[:, few], population[:, few]
    if len(few) == 0:
        points = len(demand)
        nobody: list[Array | None] = [np.ones((points, 1))] * demand.shape[2]
        return ClosedAnswer(delay, demand, nobody, np.ones(points, dtype=bool))
    return solver(demand, last, some, delay, population)


def _placed(parts: Sequence[Array | None], groups: list[Array], points: int) -> Array | None:
    """Put the groups' probabilities of one station together, padded with zeros to the longest."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    placed = np.zeros((points, max(each.shape[1] for each in known)), dtype=np.result_type(*known))
    for part, chosen in zip(known, groups, strict=True):
        placed[chosen, : part.shape[1]] = part
    return placed


def ahead(closed: Closed, answer: ClosedAnswer) -> Array:
    """Give E[(n + 1) / s(n + 1)] over the closed customers n of each station, (P, K)."""
    met: Array = (1 + answer.queue.sum(axis=1)) / closed.last
    for k, speed in closed.several.items():
        chance = answer.probability[k]
        assert chance is not None
        n = np.arange(chance.shape[1])
        met[:, k] = (chance * (n + 1) / speed[:, np.minimum(n, speed.shape[1] - 1)]).sum(axis=1)
    return met


def _idle(network: Network, closed: Closed, answer: ClosedAnswer) -> dict[int, Array]:
    """Give P(no closed customer) at stations with rates, by place, (P,)."""
    found = dict[int, Array]()
    if network.plain:
        return found
    for place, station in enumerate(closed.queueing):
        if network.rates[station] is not None:
            chance = answer.probability[place]
            work = (answer.throughput * closed.demand[:, :, place]).sum(axis=1)
            found[place] = 1 - work / closed.last[:, place] if chance is None else chance[:, 0]
    return found
