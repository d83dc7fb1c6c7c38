"""N processors in a closed cycle: one more at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.longest import first_largest
from slipstick.method.mean_value.passes import Pass, Waits
from slipstick.method.mean_value.queues import PROCESSORS, Crowd, Queue, queues_of
from slipstick.method.mean_value.sections import cycle_time
from slipstick.method.mean_value.spans import Array, Span
from slipstick.method.mean_value.tree import Grown, Visit
from slipstick.model.system import Model

Numbers = Mapping[Expr, Array]


@dataclass(frozen=True, slots=True)
class Step_:
    time: Span
    found: Waits
    crowd: Crowd


class Closed:
    def __init__(self, model: Model, grown: Grown) -> None:
        self.model, self.grown = model, grown
        self.queues = queues_of(model, grown.visits)
        self._of = {visit.index: queue for queue in self.queues for visit in queue.visits}

    def run(self, numbers: Numbers, most: int):
        often = self.grown.frequencies(numbers)
        means = {v.index: numbers[v.step.time] for v in self.grown.visits if v.step is not None}
        crowd = Crowd(0, {}, {}, {}, {}, {}, {})
        for n in range(1, most + 1):
            waits, kept = crowd.waits(self.queues, often, means) if n > 1 else ({}, {})
            nothing = Span(np.zeros(1), np.zeros(1), "constant")
            here = Pass(self.model, numbers, n, lambda v, s: waits.get(v.index, nothing))
            time = cycle_time(here, self.grown.root)
            time = self._least(n, time, often, here.found)
            after = self._crowd(n, time, often, here.found, kept)
            yield Step_(time, here.found, after)
            crowd = after

    def _crowd(self, n: int, time: Span, often, found: Waits, kept) -> Crowd:
        rate = n / np.where(time.mean.real > 0, time.mean, np.inf)
        served, present = {}, {}
        for visit in self.grown.visits:
            service, wait = found.services[visit.index], found.waits[visit.index]
            passing = rate * often[visit.index]
            served[visit.index] = passing * service.mean
            present[visit.index] = passing * (service.mean + wait.mean + found.beside.get(visit.index, 0.0))
        crowded = {q.name: _all_busy(q, n, time, often, served, present, found) for q in self.queues if q.servers > 1}
        packed = {q.name: self._packed(q, n, time, often, served, found) for q in self.queues}
        return Crowd(n, present, served, found.services, crowded, packed, {(a, b): rate * often[a] * each for (a, b), each in kept.items()})

    def _least(self, n, time, often, found):
        least = [time.mean]
        for q in self.queues:
            servers = n if q.name == PROCESSORS else q.servers
            work = sum((often[v.index] * found.services[v.index].mean for v in q.visits), np.zeros(1))
            least.append(n * work / servers)
        best = first_largest(least)
        for q, each in zip(self.queues, least[1:]):
            short = np.where((each.real > time.mean.real) & (each.real == best.real), each - time.mean, 0 * each)
            calls = sum((often[v.index] for v in q.visits), np.zeros(1)) + 1e-300
            for v in q.visits:
                w = found.waits[v.index]
                found.beside[v.index] = found.beside.get(v.index, 0.0) + short / calls
        return Span(best, time.variance, time.kind)

    def _packed(self, q, n, time, often, served, found):
        servers = n if q.name == PROCESSORS else q.servers
        busy = sum((served[v.index] for v in q.visits), np.zeros(1)) / servers
        mean, variance = time.mean, time.variance
        for v in q.visits:
            mean = mean - often[v.index] * (found.services[v.index].mean + found.waits[v.index].mean)
            variance = variance - often[v.index] * (found.services[v.index].variance + found.waits[v.index].variance)
        z = variance / (mean * mean + 1e-300)
        z = np.where(z.real > 1, 1, np.where(z.real < 0, 0, z))
        z = np.where(mean.real > 0, z, 1)
        busy = np.where(busy.real < 1, busy, 1)
        return busy ** ((n + 1) / 2 * (2 - z))


def _all_busy(queue: Queue, n: int, time: Span, often, served, present, found) -> Array:
    """Give the chance that all servers are busy, if the rest of the cycle is a delay.

    With n customers, of whom j are there with weight n! / (n-j)! (s/z)^j / prod min(i, c).
    """
    at = sum((present[v.index] for v in queue.visits), np.zeros(1)) / n
    work = sum((served[v.index] for v in queue.visits), np.zeros(1)) / n
    # at: fraction of a cycle spent there; s / z = work / (1 - at)
    ratio = work / np.where(at.real < 1, 1 - at, 1e-300)
    ratio = np.where(ratio.real < 1e12, ratio, 1e12 + 0 * ratio)
    j = np.arange(1, n + 1)
    steps = np.log(ratio + 1e-300)[..., None] + np.log((n - j + 1) / np.minimum(j, queue.servers))
    logs = np.concatenate([np.zeros((*ratio.shape, 1)), np.cumsum(steps, axis=-1)], axis=-1)
    weights = np.exp(logs - np.max(logs.real, axis=-1, keepdims=True))
    return weights[..., queue.servers :].sum(axis=-1) / weights.sum(axis=-1)
