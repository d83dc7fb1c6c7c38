"""The compiled kernel: the plain one's results, by a loop compiled with numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import MissingExtraError
from slipstick.sim.compiled.jit import AVAILABLE
from slipstick.sim.compiled.state import (
    DRY,
    EVENTS,
    FULL,
    HEAD,
    LOCKS_FROM,
    MEMBER,
    NEXT,
    PC,
    RESPONSES,
    ROWS,
    SERVING,
    SMALL,
    SPENT,
    TRACED,
    WANTED,
    WATCH_HEAD,
    State,
    grown,
    state,
)
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plain.runtime import BLOCKS, blocks
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.streams import Array

__all__ = ["CompiledKernel"]


class CompiledKernel:
    """One run of a plan; see `Kernel`, which does the same in plain Python.

    Parameters
    ----------
    plan : what to run
    seed, replication : keys of the random streams
    trace : collects (time, member, branch or item, instruction) of every instruction executed

    Raises
    ------
    MissingExtraError : numba is not installed
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        replication: int = 0,
        *,
        trace: list[tuple[float, int, int, int]] | None = None,
    ) -> None:
        if not AVAILABLE:
            raise MissingExtraError("numba", "the compiled kernel", "fast")
        from slipstick.sim.compiled.loop import go_on
        from slipstick.sim.compiled.parts import add_ready, new_token, plan_event

        self.plan, self._go_on, self._trace = plan, go_on, trace
        self._blocks = [blocks(plan, draw, seed, replication) for draw in range(len(plan.draws))]
        self._rows: list[Array] = []
        self._times: list[list[Array]] = [[] for _ in plan.members]
        self.state = grown(state(plan, 0 if trace is None else 4096), plan.population + 16, 2 * plan.population + 32)
        width = BLOCKS[-1] if any(not draw.distribution.constant for draw in plan.draws) else 1
        self.state = self.state._replace(values=np.zeros((max(len(plan.draws), 1), width)))
        number = 0
        for group, members in enumerate(plan.members):
            if members.kind == "open":
                self._refill(members.arrivals)
                s = self.state
                plan_event(s, s.values[members.arrivals, 0], -1 - group)
                s.taken[members.arrivals] = 1
                continue
            for start in members.starts:
                token = new_token(self.state, 0.0, group, number, -1, 0)
                self.state.token[token, PC] = start
                add_ready(self.state, token)
                number += 1

    def _refill(self, draw: int) -> None:
        """Put the next block of a draw where the loop finds it."""
        s = self.state
        distribution = self.plan.draws[draw].distribution
        block = np.full(s.values.shape[1], distribution.mean) if distribution.constant else next(self._blocks[draw])
        s.values[draw, : len(block)] = block
        s.taken[draw], s.ready[draw] = 0, len(block)

    @property
    def now(self) -> float:
        """The clock [s]."""
        return float(self.state.clock[0])

    @property
    def events(self) -> int:
        """Events taken from the heap so far."""
        return int(self.state.number[EVENTS])

    def run(self, events: int) -> bool:
        """Go through the next events; False when there are none left."""
        last = self.events + events
        while True:
            why = self._go_on(self.state, last - self.events)
            number = self.state.number
            if why == DRY:
                self._refill(int(number[WANTED]))
            elif why == SMALL:
                more = max(int(number[WANTED]), len(self.state.token))
                self.state = grown(self.state, more, more + len(self.state.heap_time))
            else:
                self._empty()
                if why != FULL:
                    return bool(why == SPENT)

    def _empty(self) -> None:
        """Take out of the tables what the loop wrote for us."""
        s = self.state
        self._rows.append(s.rows[: s.number[ROWS]].copy())
        s.number[ROWS] = 0
        for group, times in enumerate(self._times):
            times.append(s.responses[group, : s.group[group, RESPONSES]].copy())
        s.group[:, RESPONSES] = 0
        if self._trace is not None:
            count = s.number[TRACED]
            times, what = s.trace_time[:count].tolist(), s.trace_what[:count].tolist()
            self._trace += [(time, *each) for time, each in zip(times, what, strict=True)]
            s.number[TRACED] = 0

    def take_rows(self) -> Array:
        """Give the rows written since the last time."""
        rows = np.concatenate([np.zeros((0, Layout(self.plan).width)), *self._rows])
        self._rows.clear()
        return rows

    def take_responses(self, group: int) -> Array:
        """Give the times of the cycles of a class that ended since the last time [s]."""
        times = np.concatenate([np.zeros(0), *self._times[group]])
        self._times[group].clear()
        return times

    def waits(self) -> list[Wait]:
        """List who waits for locks, barriers and flags."""
        s = self.state
        found = []
        for index, name in enumerate(self.plan.locks):
            r = int(s.number[LOCKS_FROM]) + index
            owner = int(s.resource[r, SERVING])
            holder = None if owner < 0 else int(s.token[owner, MEMBER])
            for queue in (HEAD, WATCH_HEAD):
                found += [Wait(each, f"lock {name}", holder) for each in _members(s, int(s.resource[r, queue]))]
        for name, (count, first, _) in zip(self.plan.barriers, s.meeting, strict=True):
            found += [Wait(each, f"barrier {name}") for each in _members(s, int(first))[: int(count)]]
        waiters: NDArray[np.int64] = s.flag_waiter[s.flag_waiter >= 0]
        return found + [Wait(int(s.token[each, MEMBER]), "word from another") for each in waiters]


def _members(s: State, token: int) -> list[int]:
    """List the members in a queue."""
    found = []
    while token >= 0:
        found.append(int(s.token[token, MEMBER]))
        token = int(s.token[token, NEXT])
    return found
