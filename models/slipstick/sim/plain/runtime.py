"""The state of one run: event loop, resources, random quantities and cumulative statistics."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from slipstick.sim.estimate import Layout, chunk
from slipstick.sim.plain.event_loop import EventLoop, LogTime, ObserveResource, Token
from slipstick.sim.plain.stations import QueueStatistics, SimulatedLock, make_station
from slipstick.sim.plan.distributions import Array, Stream
from slipstick.sim.plan.plan import Plan

BLOCKS = (64, 512, 4096)
"""Sizes of the first blocks of random numbers; all others have the last size. Short runs draw few numbers."""


def blocks(plan: Plan, draw: int, seed: int, replication: int) -> Iterator[Array]:
    """Draw the values of a random quantity, block by block."""
    each = plan.draws[draw]
    stream = Stream(seed, each.stream, replication)
    for size in itertools.chain(BLOCKS, itertools.repeat(BLOCKS[-1])):
        yield each.distribution.sample(stream, size)


class Runtime(EventLoop):
    """The state of one run of a plan.

    Parameters
    ----------
    plan : what to run
    seed, replication : keys of the random streams
    log, observe : called with all time booked, and with the states of resources, see `LogTime` and `ObserveResource`

    Attributes
    ----------
    rows : cumulative statistics, see `slipstick.sim.estimate`, until they are taken
    responses : times of the cycles ended, by group, until they are taken [s]
    draws : values of each random quantity
    pools : tokens of open groups that have left, to be used again
    tried, refused : by gate, number of arrivals, and of arrivals turned away
    passes, spans : by pipeline, number of executions, and their times added up [s]
    alive : customers of a program that have not ended
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        replication: int = 0,
        log: LogTime | None = None,
        observe: ObserveResource | None = None,
    ) -> None:
        super().__init__(log, observe)
        self.plan, self.layout = plan, Layout(plan)
        self.chunk = self.chunk_left = chunk(plan)
        self.rows: list[list[float]] = []
        self.responses: list[list[float]] = [[] for _ in plan.groups]
        self.cycles = [0] * len(plan.groups)
        self.cycle_time = [0.0] * len(plan.groups)
        self.totals = [[0.0] * len(plan.labels) for _ in plan.groups]
        self.alive = plan.population
        self.pools: list[list[Token]] = [[] for _ in plan.groups]
        self.draws = [self._values(draw, seed, replication) for draw in range(len(plan.draws))]
        self.stations = [make_station(self, each) for each in plan.stations]
        self.locks = [SimulatedLock(self, each) for each in plan.locks]
        self.barriers: list[list[Token]] = [[] for _ in plan.barriers]
        self.nodes = [0] * plan.nodes
        self.flags = [0] * plan.flags
        self.flag_waiters: list[Token | None] = [None] * plan.flags
        self.tried, self.refused = [0] * len(plan.gates), [0] * len(plan.gates)
        self.passes, self.spans = [0] * len(plan.pipelines), [0.0] * len(plan.pipelines)

    def _values(self, draw: int, seed: int, replication: int) -> Iterator[float]:
        each = self.plan.draws[draw]
        if each.distribution.constant:
            return itertools.repeat(each.distribution.mean)
        return itertools.chain.from_iterable(block.tolist() for block in blocks(self.plan, draw, seed, replication))

    def token(self, customer: int, group: int = 0, parent: Token | None = None, index: int = 0) -> Token:
        """Make a token that begins now."""
        token = Token(customer, group, len(self.plan.labels), self.plan.registers, parent, index)
        token.begun = token.since = self.now
        return token

    def ended(self, group: int, now: float) -> None:
        """Count a cycle, and write a row of statistics at the end of a chunk."""
        self.cycles[group] += 1
        self.chunk_left -= 1
        if not self.chunk_left:
            self.chunk_left = self.chunk
            self.snapshot(now)

    def snapshot(self, now: float) -> None:
        """Write a row of statistics."""
        row = [now, float(self.order())]
        for count, time in zip(self.cycles, self.cycle_time, strict=True):
            row += [float(count), time]
        resources: list[QueueStatistics] = [*self.stations, *self.locks]
        for each in resources:
            each.accumulate(now)
            row += [each.area, each.use, float(each.done)]
        for totals in self.totals:
            row += totals
        for tried, refused in zip(self.tried, self.refused, strict=True):
            row += [float(tried), float(refused)]
        for lock in self.locks:
            row += [float(lock.grants), lock.waited, lock.squares]
        for passes, span in zip(self.passes, self.spans, strict=True):
            row += [float(passes), span]
        self.rows.append(row)
