"""Where customers go next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slipstick.errors import ModelError
from slipstick.queueing.markov.chain import Array
from slipstick.queueing.routes import OUTSIDE, Routes


@dataclass(frozen=True, slots=True, eq=False)
class Routing:
    """Where customers go next. Build one with `routing` or `routing_in_order`.

    Parameters
    ----------
    entry : probability that a class begins its cycle at each station; what is lacking of 1 ends at once [1]
        [classes, stations]
    onward : probability that a class leaves a station for a class at a station; what is lacking of 1 ends the
        cycle: an open class leaves, a closed one thinks and begins restart [1] [classes, stations, classes, stations]
    restart : the class in which a customer begins its next cycle; the same by default [classes]
    """

    entry: Array
    onward: Array
    restart: tuple[int, ...] = ()

    def groups(self) -> NDArray[np.bool_]:
        """Tell to which classes the customers of a class can ever belong, itself included [classes, classes]."""
        kinds = len(self.entry)
        reach = np.eye(kinds, dtype=bool) | (self.onward.real > 0).any(axis=(1, 3))
        for r, s in enumerate(self.restart):
            reach[r, s] = True
        for _ in range(kinds):
            reach = (reach.astype(int) @ reach.astype(int)) > 0
        reach |= reach.T
        return reach


def routing(entry: ArrayLike, onward: ArrayLike) -> Routing:
    """Take routing as given, and look at every probability.

    Parameters
    ----------
    entry, onward : see `Routing`

    Raises
    ------
    ModelError : shapes do not fit, a probability is negative, or a row adds up to more than 1

    >>> routing([[1.0, 0.0]], [[[[0.0, 0.5]], [[1.0, 0.0]]]]).onward[0, 0, 0].tolist()
    [0.0, 0.5]
    """
    first, then = np.asarray(entry) * 1.0, np.asarray(onward) * 1.0
    if first.ndim != 2 or then.shape != first.shape * 2:
        raise ModelError(
            f"routing has the shapes {first.shape} and {then.shape}; give (classes, stations) and "
            "(classes, stations, classes, stations)"
        )
    for values, sums in ((first, first.sum(axis=1)), (then, then.sum(axis=(2, 3)))):
        if not ((values.real >= 0).all() and (sums.real <= 1 + 1e-12).all()):
            raise ModelError("probabilities of routing must be at least 0 and add up to at most 1 for each origin")
    return Routing(first, then)


def routing_in_order(visits: Array) -> Routing:
    """Visit the stations in the order written, as often as the visit ratios say.

    A station of V <= 1 visits is passed by with probability 1 - V; one of V > 1 is visited restart at once with
    probability 1 - 1/V after each visit. Product-form answers depend on the visits alone, others on this order.

    Parameters
    ----------
    visits : visits in one cycle [1] [classes, stations]

    >>> rule = routing_in_order(np.array([[2.0, 0.5]]))
    >>> rule.entry.tolist(), rule.onward[0, 0, 0].tolist(), rule.onward[0, 1, 0].tolist()
    ([[1.0, 0.0]], [0.5, 0.25], [0.0, 0.0])
    """
    kinds, count = visits.shape
    chance = np.where(visits.real > 1, 1.0, visits)
    restart = np.where(visits.real > 1, 1.0 - 1.0 / np.where(visits.real > 1, visits, 1.0), 0.0)
    # From just before station k: the first station visited from there on.
    ahead = np.zeros((count + 1, kinds, count), dtype=chance.dtype)
    for k in range(count - 1, -1, -1):
        ahead[k] = (1.0 - chance[:, k])[:, None] * ahead[k + 1]
        ahead[k, :, k] += chance[:, k]
    onward = np.zeros((kinds, count, kinds, count), dtype=chance.dtype)
    for r in range(kinds):
        for k in range(count):
            onward[r, k, r] = (1.0 - restart[r, k]) * ahead[k + 1, r]
            onward[r, k, r, k] += restart[r, k]
    return Routing(ahead[0], onward)


def routing_of_chains(
    routes: Routes,
    visits: Array,
    references: dict[tuple[int, ...], tuple[int, int]],
    thinks: dict[tuple[int, ...], int],
    point: int = 0,
) -> Routing:
    """Send the classes of some chains along their routes; all others visit the stations in order.

    Parameters
    ----------
    routes : of the classes in chains
    visits : of all classes, of which those that keep their class go in order [classes, stations]
    references : for each chain, by the numbers of its classes, the class and the station where a cycle begins
    thinks : for closed chains that think, the station to do so at on the route to the reference station
    point : which of the routes' points

    >>> from slipstick.queueing.routes import routes
    >>> there = routes([(0, 0), (1, 0)], [(1, 0), (0, 0)], [1.0, 1.0])
    >>> rule = routing_of_chains(there, np.ones((2, 1)), {(0, 1): (0, 0)}, {})
    >>> rule.onward[0, 0, 1], rule.restart
    (array([1.]), (0, 0))
    """
    rule = routing_in_order(visits)
    kind = np.result_type(rule.onward, routes.probability)
    entry, onward = rule.entry.astype(kind), rule.onward.astype(kind)
    restart = list(range(len(entry)))
    for members, (label, station) in references.items():
        entry[list(members)], onward[list(members)] = 0, 0
        think = thinks.get(members, station)
        entry[label, think] = 1
        for r in members:
            restart[r] = label
        for route in routes.among(members):
            (r, k), (s, j), p = routes.source[route], routes.target[route], routes.probability[point, route]
            if s == OUTSIDE:
                continue
            onward[r, k, s, think if j == station else j] += p
            if think != station and j == station:
                onward[s, think, s, j] = 1
    return Routing(entry, onward, tuple(restart))
