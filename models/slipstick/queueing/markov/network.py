"""Networks solved as Markov chains: the exact road where product form fails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import ModelError, NoAnswerError
from slipstick.queueing.checks import EXACT, checked
from slipstick.queueing.markov.build import Plan, furnish, known, plan
from slipstick.queueing.markov.chain import LIMIT, Array, Chain, refuse_size
from slipstick.queueing.markov.chain_solution import stationary
from slipstick.queueing.markov.phase_type import PhaseType
from slipstick.queueing.markov.routing import Routing
from slipstick.queueing.markov.state_space import Floor
from slipstick.queueing.network import Network, Tally

ERROR = 1e-10
"""Part of the mean number of open customers that may lie beyond the cut, unless told otherwise."""
ROUNDING = 1e-15
"""Levels less probable than this show rounding, not the network."""


@dataclass(frozen=True, eq=False)
class MarkovSolution(Tally):
    """A solution, and what only a chain tells.

    Parameters
    ----------
    states : how many states the chain has (P,)
    cut : customers of open classes in all at which it was cut, 0 if it was not (P,)
    beyond : probability of more open customers than that, continued geometrically from the last levels [1] (P,)
    """

    states: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()
    beyond: tuple[float, ...] = ()

    def present(self, station: int, point: int = 0) -> Array:
        """Give the probability that 0, 1, 2, ... are present at a station [1]."""
        found = self.probability[station]
        assert found is not None
        row: Array = found[point]
        return row


def chain_of(
    network: Network,
    routing: Routing | None = None,
    *,
    capacity: Sequence[int | None] | None = None,
    blocking: str | Sequence[str] = "loss",
    times: Mapping[tuple[int, int], PhaseType] | None = None,
    cut: int | None = None,
    limit: int = LIMIT,
) -> tuple[Floor, Chain]:
    """Give the chain of a network of one point, for transient answers or rewards of one's own; see `solve`.

    >>> from slipstick.queueing.network import network
    >>> floor, chain = chain_of(network([1.0, 2.0], population=2))
    >>> chain.states.tolist(), floor.columns(1)
    ([[0, 2], [1, 1], [2, 0]], slice(1, 2, None))
    """
    built = plan(network, routing, capacity, blocking, times)
    if cut is None and built.unbounded():
        raise ModelError("open classes can fill a station without end; give the chain a cut")
    return _explored(built, cut, limit)


def solve(
    network: Network,
    routing: Routing | Sequence[Routing] | None = None,
    *,
    capacity: Sequence[int | None] | None = None,
    blocking: str | Sequence[str] = "loss",
    times: Mapping[tuple[int, int], PhaseType] | None = None,
    error: float = ERROR,
    limit: int = LIMIT,
    method: str | None = None,
) -> MarkovSolution:
    """Solve a network as a Markov chain.

    A customer who finds a station full that has a capacity is treated as `blocking` of that station says:

    - ``loss``: is lost; an open class leaves, a closed one begins its cycle again;
    - ``repeat``: is served once more where it comes from, and then goes where chance sends it (repetitive
      service, random destination);
    - ``before-service``: its service does not go on until there is room (its one destination is known).

    Who arrives from outside at a full station is lost in any case. A server that is stopped counts as busy.
    Service times of an scv other than 1 are made of phases with that mean and scv (`phase_type.fit`).
    Open classes without capacities make the chain infinite. It is cut where no more than a part `error` of their mean number
    lies beyond, if the probability falls on geometrically as it does from level to level at the cut.

    Parameters
    ----------
    network : the network; its numbers may be complex, for a derivative
    routing : where customers go next, one for all points or one for each; by default `in_order` of the visits
    capacity : for each station who can be present at most, in service included, or None
    blocking : one of the above, for all stations or each
    times : service times by class and station number, where mean and scv do not say enough
    error : part of the mean number of open customers that may lie beyond the cut [1]
    limit : states at most
    method : of `stationary`; by default by size

    Raises
    ------
    ModelError : the network, routing or blocking is not one that the chain can mean
    NoAnswerError : there are too many states, or open classes bring more work than can be done

    Source: Stewart, Introduction to the Numerical Solution of Markov Chains, Princeton 1994; kinds of blocking: Onvural,
    ACM Computing Surveys 22(2), 1990, 83-121.

    >>> from slipstick.queueing.network import network
    >>> solve(network([1.0], arrivals=0.5, discipline="fcfs"), capacity=[2]).loss.ravel()
    array([0.143])
    """
    if not 0 < error < 1:
        raise ModelError(f"the error of a cut must lie between 0 and 1, got {error}")
    points = []
    rules = [routing] * network.points if routing is None or isinstance(routing, Routing) else routing
    for point, rule in zip(range(network.points), rules, strict=True):
        built = plan(network.select(slice(point, point + 1)), rule, capacity, blocking, times)
        points.append(_point(built, error, limit, method))
    found = _together(network, points, routing is None)
    if routing is None and capacity is None:
        checked(network, found, max(EXACT, 10 * error))
    return found


@dataclass(frozen=True, eq=False)
class _Point:
    """The answers of one point."""

    throughput: Array
    queue: Array
    utilization: Array
    loss: Array
    ended: Array
    probability: tuple[Array, ...]
    states: int
    cut: int
    beyond: float


def _point(built: Plan, error: float, limit: int, method: str | None) -> _Point:
    if not built.unbounded():
        floor, chain = _explored(built, None, limit)
        return _answers(built, floor, chain, stationary(chain, method), 0.0)
    cut, rising = _first_cut(built, error), 0
    while rising < 2:
        floor, chain = _explored(built, cut, limit)
        pi = stationary(chain, method)
        beyond, missing, ratio = _tail(floor, chain, pi)
        if missing <= error:
            return _answers(built, floor, chain, pi, beyond)
        rising = rising + 1 if ratio >= 1 else 0
        more = math.log(error / missing) / math.log(ratio) if 0 < ratio < 1 else cut
        cut += max(4, min(cut, math.ceil(1.1 * more)))
    raise NoAnswerError(
        f"more customers of open classes are likelier than fewer up to {cut} of them: more work arrives than can be "
        "done; lower the arrivals, or give stations a capacity"
    )


def _explored(built: Plan, cut: int | None, limit: int) -> tuple[Floor, Chain]:
    # One customer more or less is at least one state more.
    least = max(cut or 0, *built.population())
    if least >= limit:
        refuse_size(limit, f"at least {least:,}, for as many customers")
    floor = furnish(built, cut)
    chain = floor.chain(limit, lambda: known(floor, built.population()))
    if not floor.mixes(chain):
        raise NoAnswerError(
            "who is ahead of whom at the start stays so for ever, and the long run depends on it; give the classes a "
            "think time or a routing that lets them overtake"
        )
    return floor, chain


def _first_cut(built: Plan, error: float) -> int:
    """Guess a cut from the loads; refuse a saturated station where nobody is lost on the way."""
    network = built.network
    opened = ~network.closed
    load = _load(built)
    if all(each is None for each in built.capacity):
        for k in np.flatnonzero(load >= 1):
            raise NoAnswerError(
                f"{network.stations[k]} is saturated: open classes bring it {load[k]:.4g} of the work it can do, and "
                "less than 1 is the limit; lower the arrivals, shorten its service, or give it a capacity"
            )
    heaviest = min(0.95, float(load.max(initial=0.0)))
    present = float((network.arrivals[0, opened].real[:, None] * network.demand[0, opened].real).sum())
    body = present + 8 * math.sqrt(present)
    tail = math.log(error) / math.log(heaviest) if heaviest > 0 else 1.0
    # Levels fall about as powers of the load; even where they fall twice as fast, no smaller cut will do.
    alone = all(each is None for each in built.capacity) and 0 < load.max(initial=0.0) < 1
    least = 0.5 * math.log(error) / math.log(load.max()) if alone else 0.0
    return math.ceil(max(8 + body + 1.1 * tail, least))


def _load(built: Plan) -> NDArray[np.float64]:
    """Give the work that open classes bring to each station, as a part of what it can do [1] [stations]."""
    network = built.network
    flow = _flows(built)
    load = np.zeros(len(network.stations))
    for k, discipline in enumerate(network.discipline):
        if discipline != "is":
            rates = network.rates[k]
            most = float(network.servers[k]) if rates is None else float(rates[0].real[-1])
            load[k] = (flow[:, k] * network.service[0, :, k].real).sum() / most
    return load


def _flows(built: Plan) -> NDArray[np.float64]:
    """Solve the traffic equations of the open classes [1/s] [classes, stations]."""
    network = built.network
    enter = np.where(network.closed, 0.0, network.arrivals[0].real)[:, None] * built.routing.entry.real
    cells = enter.size
    moves = np.where(network.closed[:, None, None, None], 0.0, built.routing.onward.real).reshape(cells, cells)
    flows = np.linalg.lstsq(np.eye(cells) - moves.T, enter.ravel(), rcond=None)[0]
    if not np.allclose(flows - moves.T @ flows, enter.ravel(), rtol=1e-9, atol=1e-12):
        raise NoAnswerError("customers of an open class can never leave; let routing add up to less than 1 somewhere")
    answer: NDArray[np.float64] = flows.reshape(enter.shape)
    return answer


def _tail(floor: Floor, chain: Chain, pi: Array) -> tuple[float, float, float]:
    """Give the probability beyond the cut, the part of the mean number there, and the ratio of the last levels."""
    count = floor.open_customers(np.asarray(chain.states))
    level = np.bincount(count, weights=pi.real)
    mean = float(level @ np.arange(len(level)))
    if mean == 0:
        return 0.0, 0.0, 0.0
    # Where the cut itself, or rounding, does not reach: levels fall by one ratio in the end.
    sound = int(np.flatnonzero(level > ROUNDING)[-1])
    to = min(sound, len(level) - 1 - len(level) // 10)
    since = to - max(2, to // 4)
    if since < 0 or level[since] == 0:
        return 1.0, math.inf, 1.0
    ratio = float(level[to] / level[since]) ** (1 / (to - since))
    if ratio >= 1:
        return 1.0, math.inf, ratio
    beyond = float(level[-1]) * ratio / (1 - ratio)
    return beyond, beyond * (len(level) + ratio / (1 - ratio)) / mean, ratio


def _answers(built: Plan, floor: Floor, chain: Chain, pi: Array, beyond: float) -> _Point:
    network = built.network
    kinds, count = network.service.shape[1:]
    states = np.asarray(chain.states)
    flow = _tally(chain.events, pi[chain.sources] * chain.rates, floor.events).reshape(2, count + 1, kinds)
    ended, lost = flow[0, :count].T, flow[1, :count].T
    present = floor.present(states)
    came = ended + lost
    return _Point(
        throughput=_throughput(built, ended),
        queue=np.tensordot(pi, present, axes=1)[:, :count],
        utilization=_utilizations(network, floor, states, pi),
        loss=np.where(came != 0, lost / np.where(came != 0, came, 1.0), 0.0),
        ended=ended,
        probability=tuple(_tally(floor.rooms[k].length(states[:, floor.columns(k)]), pi, 0) for k in range(count)),
        states=chain.size,
        cut=floor.cut or 0,
        beyond=beyond,
    )


def _tally(numbers: NDArray[Any], weights: Array, least: int) -> Array:
    """Add weights up by number, leaving out -1."""
    known = numbers >= 0
    found: Array = np.bincount(numbers[known], weights=weights.real[known], minlength=least)
    if np.iscomplexobj(weights):
        found = found + 1j * np.bincount(numbers[known], weights=weights.imag[known], minlength=least)
    return found


def _throughput(built: Plan, ended: Array) -> Array:
    """Count cycles at the first station that a class visits; a class that visits none thinks or passes through."""
    network = built.network
    answer = np.zeros(len(ended), dtype=np.result_type(ended, network.visits, network.think, network.arrivals))
    for r, visits in enumerate(network.visits[0]):
        stations = np.flatnonzero((visits.real > 0) & built.visited()[r])
        if len(stations):
            answer[r] = ended[r, stations[0]] / visits[stations[0]]
        elif not network.closed[r]:
            answer[r] = network.arrivals[0, r]
        elif network.think[0, r] != 0:
            answer[r] = network.population[0, r] / network.think[0, r]
    return answer


def _utilizations(network: Network, floor: Floor, states: Array, pi: Array) -> Array:
    kinds, count = network.service.shape[1:]
    found = np.zeros((kinds, count), dtype=pi.dtype)
    for k in range(count):
        found[:, k] = _utilization(network, floor, k, states, pi)
    return found


def _utilization(network: Network, floor: Floor, k: int, states: Array, pi: Array) -> Array:
    rows = states[:, floor.columns(k)]
    room = floor.rooms[k]
    if network.discipline[k] == "is":
        return np.asarray(pi @ room.present(rows))
    work = pi @ room.work(rows)
    if network.rates[k] is None:
        return np.asarray(work / network.servers[k])
    total = work.sum()
    return np.asarray(work / (total if total != 0 else 1.0) * (pi @ (room.length(rows) > 0)))


def _together(network: Network, points: list[_Point], ordered: bool) -> MarkovSolution:
    throughput = np.stack([each.throughput for each in points])
    queue = np.stack([each.queue for each in points])
    rate = throughput[:, :, None]
    cuts = tuple(each.cut for each in points)
    return MarkovSolution(
        throughput=throughput,
        residence=np.where(rate != 0, queue / np.where(rate != 0, rate, 1.0), 0.0),
        queue=queue,
        utilization=np.stack([each.utilization for each in points]),
        probability=tuple(_level([each.probability[k] for each in points]) for k in range(len(network.stations))),
        method="markov-chain",
        exact=bool((network.scv == 1).all()),
        notes=_notes(network, points, ordered),
        loss=np.stack([each.loss for each in points]),
        ended=np.stack([each.ended for each in points]),
        states=tuple(each.states for each in points),
        cut=cuts,
        beyond=tuple(each.beyond for each in points),
    )


def _level(rows: list[Array]) -> Array:
    """Bring rows of unlike lengths to one, with probability 0 beyond their ends."""
    longest = max(map(len, rows))
    return np.stack([np.concatenate([row, np.zeros(longest - len(row), dtype=row.dtype)]) for row in rows])


def _notes(network: Network, points: list[_Point], ordered: bool) -> tuple[str, ...]:
    notes = [f"a chain of {max(each.states for each in points):,} states"]
    if any(each.cut for each in points):
        worst = max(points, key=lambda each: each.beyond)
        notes.append(
            f"open classes cut at {max(each.cut for each in points)} customers; beyond lies {worst.beyond:.1e} of the "
            "probability, continued geometrically"
        )
    if ordered and ((network.visits.real > 0).sum(axis=2) > 1).any():
        notes.append("stations are visited in the order written, repeated visits one after the other")
    if (network.scv != 1).any():
        notes.append("times of an scv other than 1 are phases of the same mean and scv")
    return tuple(notes)
