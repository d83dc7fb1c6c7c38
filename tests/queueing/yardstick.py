"""The Markov chain behind a small closed network, for what has no product form: the answer to
hold approximations to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import spsolve

from slipstick.queueing.network import NetworkArrays, NetworkSolution
from slipstick.queueing.routes import Routes

Job = tuple[int, int]
"""Class and phase; phase -1 waits and has none yet."""

Line = tuple[Job, ...]
State = tuple[Line, ...]


@dataclass(frozen=True)
class Phases:
    """A service time as exponential phases: the chance and rate of each, in sequence or one of
    them.
    """

    starts: tuple[tuple[float, int], ...]
    rates: tuple[float, ...]
    follows: tuple[float, ...]


def phases(mean: float, scv: float) -> Phases:
    """Fit the mean and scv: exponential, Erlang with as many phases as fit, or two phases of
    balanced means.
    """
    if scv == 1:
        return Phases(((1.0, 0),), (1 / mean,), (0.0,))
    if scv < 1:
        count = round(1 / scv)
        return Phases(((1.0, 0),), (count / mean,) * count, (1.0,) * (count - 1) + (0.0,))
    part = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
    return Phases(((part, 0), (1 - part, 1)), (2 * part / mean, 2 * (1 - part) / mean), (0.0, 0.0))


def reference_chain(network: NetworkArrays) -> tuple[Any, Any]:
    """Return throughput (R,) and queue (R, K) of a closed network at its first point.

    A customer leaving a station goes to one at random, in proportion to its visits; think time is a
    station more.
    """
    chain = _Chain(network)
    index = {chain.first(): 0}
    todo, rows, columns, rates = list(index), list[int](), list[int](), list[float]()
    while todo:
        state = todo.pop()
        here = index[state]
        for rate, there in chain.moves(state):
            if there not in index:
                index[there] = len(index)
                todo.append(there)
            rows += [index[there], here]
            columns += [here, here]
            rates += [rate, -rate]
    count = len(index)
    matrix = csr_matrix((rates, (rows, columns)), shape=(count, count)).tolil()
    matrix[0] = 1.0
    right = np.zeros(count)
    right[0] = 1.0
    chance = spsolve(matrix.tocsc(), right)
    queue, busy = np.zeros(chain.visits.shape), np.zeros(chain.visits.shape)
    for state, number in index.items():
        for k, line in enumerate(state):
            for kind, phase in line:
                queue[kind, k] += chance[number]
                busy[kind, k] += chance[number] * (phase >= 0)
    # The work done a second at any station, over the work of one cycle.
    work = busy[:, -1] / chain.visits[:, -1]
    return work / chain.mean[:, -1], queue[:, :-1]


class _Chain:
    def __init__(self, network: NetworkArrays) -> None:
        think = np.maximum(network.think[0], 1e-6)
        self.mean = np.column_stack([network.service[0], think])
        self.visits = np.column_stack([network.visits[0], np.ones(len(think))])
        scv = np.column_stack([network.scv[0], np.ones(len(think))])
        self.kinds = [*network.discipline, "is"]
        self.servers = [*network.servers, 0]
        self.rank = np.column_stack([network.priority, np.zeros(len(think), dtype=int)])
        self.population = network.population[0]
        self.phases = [
            [phases(m, s) for m, s in zip(*rows, strict=True)]
            for rows in zip(self.mean, scv, strict=True)
        ]
        self.onward = self.visits / self.visits.sum(axis=1, keepdims=True)

    def first(self) -> State:
        """Everybody thinks."""
        thinking = tuple((r, 0) for r, n in enumerate(self.population) for _ in range(n))
        return (*((),) * (len(self.kinds) - 1), thinking)

    def moves(self, state: State) -> Iterator[tuple[float, State]]:
        """Yield every rate out of a state, and where it leads."""
        for k, line in enumerate(state):
            for place, (kind, phase) in enumerate(line):
                if phase < 0:
                    continue
                law = self.phases[kind][k]
                rate = law.rates[phase] * self._speed(k, len(line))
                if law.follows[phase]:
                    yield (
                        rate,
                        self._with(
                            state, k, (*line[:place], (kind, phase + 1), *line[place + 1 :])
                        ),
                    )
                    continue
                left = self._with(state, k, line[:place] + line[place + 1 :])
                for chance, after in self._filled(left, k):
                    for to, share in enumerate(self.onward[kind]):
                        for other, there in self._joined(after, to, kind) if share else ():
                            yield rate * chance * share * other, there

    def _speed(self, k: int, present: int) -> float:
        shared = self.kinds[k] in ("ps", "lcfs-pr")
        return min(present, self.servers[k]) / present if shared else 1.0

    @staticmethod
    def _with(state: State, k: int, line: Line) -> State:
        return (*state[:k], line, *state[k + 1 :])

    def _joined(self, state: State, k: int, kind: int) -> Iterator[tuple[float, State]]:
        """Put one customer at the end of a line, or before those of a higher number."""
        line = list(state[k])
        place = len(line)
        if self.kinds[k].startswith("priority"):
            while place and self._passes(k, kind, line[place - 1]):
                place -= 1
        line.insert(place, (kind, -1))
        if self.kinds[k] == "priority-preemptive":
            # Exponential: one who is put back starts again as if new.
            line = [(r, p if i < self.servers[k] else -1) for i, (r, p) in enumerate(line)]
        yield from self._filled(self._with(state, k, tuple(line)), k)

    def _passes(self, k: int, kind: int, other: Job) -> bool:
        behind = self.rank[other[0], k] > self.rank[kind, k]
        return bool(behind and (other[1] < 0 or self.kinds[k] == "priority-preemptive"))

    def _filled(self, state: State, k: int) -> Iterator[tuple[float, State]]:
        """Start the service of those who may, in every phase it can begin with; shared lines in
        order of class.
        """
        line = state[k]
        everyone = self.kinds[k] in ("is", "ps", "lcfs-pr")
        limit = len(line) if everyone else self.servers[k]
        for place, (kind, phase) in enumerate(line[:limit]):
            if phase < 0:
                for chance, start in self.phases[kind][k].starts:
                    begun = (*line[:place], (kind, start), *line[place + 1 :])
                    for more, after in self._filled(self._with(state, k, begun), k):
                        yield chance * more, after
                return
        yield 1.0, self._with(state, k, tuple(sorted(line))) if everyone else state


def present(found: NetworkSolution, station: int) -> Any:
    """Return the probability that 0, 1, 2, ... are present at a station."""
    chance = found.probability[station]
    assert chance is not None
    return chance[0]


def routes(source: Any, target: Any, probability: Any) -> Routes:
    """Return the routes from places to places, pairs of class and station."""
    one, other = (np.asarray(each, dtype=np.intp).reshape(-1, 2) for each in (source, target))
    return Routes(one, other, np.atleast_2d(np.asarray(probability)))
