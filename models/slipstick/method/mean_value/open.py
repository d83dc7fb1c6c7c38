"""Askers that arrive at random, go through the activity once and leave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.mean_value.arrivals import Crowd
from slipstick.method.mean_value.maxima import Array, Span, plus
from slipstick.method.mean_value.outcome import Outcome, unsound, uses
from slipstick.method.mean_value.quantities import Numbers, only
from slipstick.method.mean_value.recursion import Recursion, State, Stop, booked, labels_of
from slipstick.method.mean_value.traversal import Found, Pass
from slipstick.method.mean_value.visits import PROCESSORS, Queue, Visit, weight
from slipstick.model.activity import BarrierWait, steps
from slipstick.model.system import Model, OpenPopulation


def solve_open(model: Model, numbers: Numbers, account: bool) -> Outcome:
    r"""Answer for a stream of askers at all points.

    Arrivals see the time averages, so the waits at each queue are the solution of linear equations::

        W_i = P(all busy) / u sum_j u_j S_j (1 + scv_j) / 2 / c + sum_j lambda v_j W_j S_j / c

    whose solution for one kind of visits is Pollaczek and Khinchine's; locks are solved from the inner to the
    outer, as what is done under one is its service.

    Parameters
    ----------
    model : with `OpenPopulation`
    numbers : every number of the model [points]
    account : also find the account and the use of each queue

    Raises
    ------
    NoAnswerError : the model has barriers or processors, or takes locks in a circle
    """
    assert isinstance(model.population, OpenPopulation)
    recursion = Recursion(model, model.population.cycle)
    _check(model, recursion)
    order = _from_within(recursion)
    rate = numbers[model.population.rate]
    wrong = {**_arriving(model, rate), **unsound(model, numbers)}
    outcome_labels = labels_of(recursion) if account else []
    names = [queue.name for queue in recursion.queues] if account else []
    outcome = Outcome.blank(np.array(rate), outcome_labels, names, wrong)
    points = np.array([index for index in range(len(rate)) if index not in wrong], dtype=int)
    for stop in _stops(_Stream(recursion, order), numbers, rate, points, outcome.wrong):
        parts = booked(recursion, stop, outcome_labels) if account else {}
        passing = rate[stop.points]
        crowd = stop.state.crowd
        often = recursion.grown.frequencies(stop.numbers)
        used = uses(recursion.queues, 1, often, passing, crowd.served, crowd.present) if account else {}
        outcome.put(stop.points, stop.rows, stop.state.time.mean, parts, used)
    return outcome


def _stops(stream: _Stream, numbers: Numbers, rate: Array, points: Array, wrong: dict[int, str]) -> Iterator[Stop]:
    """Solve the points that are not saturated; say of the others which queue is."""
    while len(points):
        here, passing = only(numbers, points), rate[points]
        found = stream.solve(here, passing)
        full = found.saturated
        if not full:
            yield Stop(found.state, here, points, np.arange(len(points)))
            return
        for index, text in full.items():
            wrong[int(points[index])] = text
        points = np.delete(points, list(full))


class _Solved:
    def __init__(self, state: State, saturated: dict[int, str]) -> None:
        self.state, self.saturated = state, saturated


class _Stream:
    """Solves the queues in order, stations before locks, inner locks before outer ones."""

    def __init__(self, recursion: Recursion, order: list[Queue]) -> None:
        self.recursion, self.order = recursion, order

    def solve(self, numbers: Numbers, rate: Array) -> _Solved:
        recursion = self.recursion
        often = recursion.grown.frequencies(numbers)
        saturated: dict[int, str] = {}
        waits: dict[int, Span] = {}
        made = self._pass(numbers, waits)
        for queue in self.order:
            services = {visit.index: made.found.services[visit.index] for visit in queue.visits}
            for index, text in _full(queue, often, services, rate).items():
                saturated.setdefault(index, text)
            if not saturated:
                waits.update(_waits(queue, often, services, rate))
                made = self._pass(numbers, waits)
        return _Solved(self._state(numbers, rate, often, made), saturated)

    def _pass(self, numbers: Numbers, waits: Mapping[int, Span]) -> Pass:
        made = Pass(self.recursion.model, numbers, 1, waits)
        self.time = made.span(self.recursion.grown.root)
        return made

    def _state(self, numbers: Numbers, rate: Array, often: Mapping[int, Array], made: Pass) -> State:
        served, present = {}, {}
        found: Found = made.found
        for visit in self.recursion.grown.visits:
            passing = rate * often[visit.index]
            beside = found.beside.get(visit.index, 0.0) + found.among.get(visit.index, 0.0)
            served[visit.index] = passing * found.services[visit.index].mean
            present[visit.index] = served[visit.index] + passing * (found.waits[visit.index].mean + beside)
        return State(1, self.time, found, Crowd(math.inf, present, served, found.services))


def _full(queue: Queue, often: Mapping[int, Array], services: Mapping[int, Span], rate: Array) -> dict[int, str]:
    """Say at which points a queue is asked for more than it can do."""
    work = sum((often[index] * span.mean for index, span in services.items()), np.zeros(1))
    load = np.broadcast_to((rate * work / queue.servers).real, rate.shape)
    kind = "lock" if queue.lock else "station"
    return {
        int(index): f"{kind} {queue.name} is saturated: {rate[index].real:g}/s arrive and keep it busy "
        f"{load[index]:.3g} of the time; lower the arrivals, or shorten what is asked of it"
        for index in np.flatnonzero(~(load < 1))
    }


def _waits(queue: Queue, often: Mapping[int, Array], services: Mapping[int, Span], rate: Array) -> dict[int, Span]:
    """Solve the linear equations of the waits at one queue."""
    visits = queue.visits
    use = {v.index: rate * often[v.index] * services[v.index].mean for v in visits}
    busy = sum(use.values(), np.zeros(1))
    share = _all_busy(busy, queue.servers) / plus(busy)
    if queue.sharing:
        stretch = _all_busy(busy, queue.servers) / (queue.servers - busy)
        return {v.index: _stretched(services[v.index], stretch) for v in visits}
    left, matrix = [], []
    for visit in visits:
        parts = [weight(visit, other, math.inf) for other in visits]
        left.append(_residual(visits, parts, use, services) * share / queue.servers)
        matrix.append([part * use[other.index] / queue.servers for part, other in zip(parts, visits, strict=True)])
    table = np.stack([np.stack(np.broadcast_arrays(*row, busy)[:-1], axis=-1) for row in matrix], axis=-2)
    right = np.stack(np.broadcast_arrays(*left, busy)[:-1], axis=-1)
    found = np.linalg.solve(np.eye(len(visits)) - table, right[..., None])[..., 0]
    full = share * busy
    return {v.index: _span(found[..., k], full) for k, v in enumerate(visits)}


def _residual(
    visits: tuple[Visit, ...], parts: list[float], use: Mapping[int, Array], services: Mapping[int, Span]
) -> Array:
    each = (
        part * use[v.index] * services[v.index].mean * (1 + services[v.index].scv) / 2
        for part, v in zip(parts, visits, strict=True)
    )
    return sum(each, np.zeros(1))


def _stretched(service: Span, stretch: Array) -> Span:
    mean = service.mean * stretch
    return Span(mean, service.variance * (stretch * stretch + 2 * stretch) + mean * mean)


def _span(mean: Array, full: Array) -> Span:
    """Give a wait that is nothing but with some chance, and then like an exponential time."""
    chance = np.where(full.real > 0, full, 1.0)
    return Span(mean, mean * mean * (2 / chance - 1))


def _all_busy(busy: Array, servers: int) -> Array:
    """Give Erlang's chance that all servers are busy, by his recursion for lost calls."""
    lost: Array = np.ones(1)
    for count in range(1, servers + 1):
        lost = busy * lost / (count + busy * lost)
    waiting: Array = lost / (1 - busy / servers * (1 - lost))
    return waiting


def _arriving(model: Model, rate: Array) -> dict[int, str]:
    bad = ~((rate.real > 0) & np.isfinite(rate.real))
    return {
        int(
            point
        ): f"askers of {model.name} arrive {rate[point].real:g} times a second; mean-value needs a rate above 0"
        for point in np.flatnonzero(bad)
    }


def _check(model: Model, recursion: Recursion) -> None:
    barrier = next((node.name for node in steps(recursion.cycle) if isinstance(node, BarrierWait)), None)
    if barrier is not None:
        raise NoAnswerError(
            f"barrier {barrier} is for those who are there; mean-value knows none for askers that arrive"
        )
    if any(queue.name == PROCESSORS for queue in recursion.queues):
        raise NoAnswerError(
            f"the askers of {model.name} ask processors, but bring none along; mean-value needs a station of its own for that"
        )
    if recursion.spinners:
        names = ", ".join(each.queue.name for each in recursion.spinners)
        raise NoAnswerError(
            f"arrivals may be any number, and so may those who spin at {names}; mean-value has no answer, simulation may"
        )


def _from_within(recursion: Recursion) -> list[Queue]:
    """Order the queues: stations, then each lock after those that are taken while it is held."""
    order = [queue for queue in recursion.queues if not queue.lock]
    left = {queue.name: queue for queue in recursion.queues if queue.lock}
    inner = {name: {v.queue for v in recursion.grown.visits if name in v.held and v.queue in left} for name in left}
    while left:
        ready = [name for name in left if not inner[name] & left.keys()]
        if not ready:
            raise NoAnswerError(
                f"locks {', '.join(sorted(left))} are each taken while another is held; whoever holds one may wait for ever"
            )
        order += [left.pop(name) for name in ready]
    return order
