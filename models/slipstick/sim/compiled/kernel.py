"""The compiled kernel: the results of the plain kernel, by a loop compiled with numba.

The loop returns when its number of events is done, and whenever it needs Python: for a new block of random numbers, for
larger tables, or to hand over rows. It then continues where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import MissingExtraError
from slipstick.sim.compiled.instructions import admit, branch, end, fork_or_pipeline, lock, serve, synchronize
from slipstick.sim.compiled.state import (
    AVAILABLE,
    EventKind,
    GroupCol,
    ResourceCol,
    Return,
    ScalarCol,
    State,
    TimeCol,
    TokenCol,
    compiled,
    enlarged,
    inlined,
    new_token,
    plan_event,
    remove_first,
    state,
    take_ready,
)
from slipstick.sim.compiled.stations import leave
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import Layout
from slipstick.sim.plain.runtime import BLOCKS, blocks
from slipstick.sim.plan.distributions import Array
from slipstick.sim.plan.plan import Op, Plan


class CompiledKernel:
    """One run of a plan; see `Kernel`, which does the same in plain Python.

    Parameters
    ----------
    plan : what to run
    seed, replication : keys of the random streams
    trace : collects (time, customer, branch or item, instruction) of every instruction executed

    Raises
    ------
    MissingExtraError : numba is not installed
    """

    def __init__(
        self, plan: Plan, seed: int = 0, replication: int = 0, *, trace: list[tuple[float, int, int, int]] | None = None
    ) -> None:
        if not AVAILABLE:
            raise MissingExtraError("numba", "the compiled kernel", "fast")
        from slipstick.sim.compiled.state import add_ready, new_token, plan_event

        self.plan, self._go_on, self._trace = plan, go_on, trace
        self._blocks = [blocks(plan, draw, seed, replication) for draw in range(len(plan.draws))]
        self._rows: list[Array] = []
        self._times: list[list[Array]] = [[] for _ in plan.groups]
        self.state = enlarged(state(plan, 0 if trace is None else 4096), plan.population + 16, 2 * plan.population + 32)
        width = BLOCKS[-1] if any(not draw.distribution.constant for draw in plan.draws) else 1
        self.state = self.state._replace(values=np.zeros((max(len(plan.draws), 1), width)))
        number = 0
        for group, customers in enumerate(plan.groups):
            if customers.kind == "open":
                self._refill(customers.arrivals)
                s = self.state
                plan_event(s, s.values[customers.arrivals, 0], -1 - group)
                s.taken[customers.arrivals] = 1
                continue
            for start in customers.starts:
                token = new_token(self.state, 0.0, group, number, -1, 0)
                self.state.token[token, TokenCol.PC] = start
                add_ready(self.state, token)
                number += 1

    def _refill(self, draw: int) -> None:
        """Give the loop the next block of random numbers of a draw."""
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
        """Number of events so far."""
        return int(self.state.number[ScalarCol.EVENTS])

    def run(self, events: int) -> bool:
        """Simulate the next events; False when the event list is empty."""
        last = self.events + events
        while True:
            why = self._go_on(self.state, last - self.events)
            number = self.state.number
            if why == Return.NEEDS_RANDOM:
                self._refill(int(number[ScalarCol.WANTED]))
            elif why == Return.NEEDS_SPACE:
                more = max(int(number[ScalarCol.WANTED]), len(self.state.token))
                self.state = enlarged(self.state, more, more + len(self.state.heap_time))
            else:
                self._empty()
                if why != Return.TABLE_FULL:
                    return bool(why == Return.EVENTS_DONE)

    def _empty(self) -> None:
        """Copy rows, responses and trace out of the tables of the loop."""
        s = self.state
        self._rows.append(s.rows[: s.number[ScalarCol.ROWS]].copy())
        s.number[ScalarCol.ROWS] = 0
        for group, times in enumerate(self._times):
            times.append(s.responses[group, : s.group[group, GroupCol.RESPONSES]].copy())
        s.group[:, GroupCol.RESPONSES] = 0
        if self._trace is not None:
            count = s.number[ScalarCol.TRACED]
            times, what = s.trace_time[:count].tolist(), s.trace_what[:count].tolist()
            self._trace += [(time, *each) for time, each in zip(times, what, strict=True)]
            s.number[ScalarCol.TRACED] = 0

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
        """List the customers that wait for locks, barriers and signals."""
        s = self.state
        found = []
        for index, plan in enumerate(self.plan.locks):
            r = int(s.number[ScalarCol.LOCKS_FROM]) + index
            first, busy = int(s.resource[r, ResourceCol.HOLDERS_FROM]), int(s.resource[r, ResourceCol.BUSY])
            holders = tuple(int(s.token[each, TokenCol.CUSTOMER]) for each in s.holder[first : first + busy])
            for queue in (ResourceCol.HEAD, ResourceCol.SPIN_HEAD):
                found += [
                    Wait(each, f"{plan.noun} {plan.name}", holders) for each in _queued(s, int(s.resource[r, queue]))
                ]
        for name, (count, first, _) in zip(self.plan.barriers, s.barrier, strict=True):
            found += [Wait(each, f"barrier {name}") for each in _queued(s, int(first))[: int(count)]]
        waiters: NDArray[np.int64] = s.flag_waiter[s.flag_waiter >= 0]
        return found + [Wait(int(s.token[each, TokenCol.CUSTOMER]), "a signal") for each in waiters]


def _queued(s: State, token: int) -> list[int]:
    """List the customers in a queue."""
    found = []
    while token >= 0:
        found.append(int(s.token[token, TokenCol.CUSTOMER]))
        token = int(s.token[token, TokenCol.NEXT])
    return found


@compiled
def go_on(s: State, events: int) -> int:
    """Simulate the next events; say why the loop returns."""
    while True:
        if s.number[ScalarCol.RUNNING] < 0:
            if s.number[ScalarCol.READY_HEAD] >= 0:
                s.number[ScalarCol.RUNNING] = take_ready(s)
            elif events <= 0:
                return Return.EVENTS_DONE
            else:
                why = next_event(s)
                if why != Return.EVENTS_DONE:
                    return why
                events -= 1
                s.number[ScalarCol.EVENTS] += 1
                if s.number[ScalarCol.RUNNING] < 0:
                    continue
        token = s.number[ScalarCol.RUNNING]
        now = s.clock[0]
        while True:
            why = lacking(s, token)
            if why != Return.EVENTS_DONE:
                return why
            if not step(s, token, now):
                break
        s.number[ScalarCol.RUNNING] = -1


@inlined
def next_event(s: State) -> int:
    """Take an event off the event list, up to where its token goes on."""
    if s.number[ScalarCol.HEAP] == 0:
        return Return.NO_EVENTS
    token = s.heap_token[0]
    if token < 0:
        return arrive(s, -1 - token)
    now = s.heap_time[0]
    order = s.heap_order[0]
    remove_first(s)
    s.clock[0] = now
    # An event that was planned anew, for another speed of service or after a preemption, is void.
    if s.token[token, TokenCol.EVENT] != order:
        return Return.EVENTS_DONE
    s.token[token, TokenCol.EVENT] = -1
    phase = s.token[token, TokenCol.EVENT_KIND]
    if phase == EventKind.SERVED:
        leave(s, s.token[token, TokenCol.STATION], token, now)
    elif phase == EventKind.DELAYING:
        s.booked[token, s.token[token, TokenCol.LABEL]] += now - s.time[token, TimeCol.SINCE]
        s.time[token, TimeCol.SINCE] = now
    s.number[ScalarCol.RUNNING] = token
    return Return.EVENTS_DONE


@inlined
def arrive(s: State, group: int) -> int:
    """Let a customer of an open group arrive, and plan the next arrival."""
    draw = s.group[group, GroupCol.ARRIVALS]
    if s.taken[draw] == s.ready[draw]:
        s.number[ScalarCol.WANTED] = draw
        return Return.NEEDS_RANDOM
    if s.number[ScalarCol.FREE_COUNT] == 0 or s.number[ScalarCol.HEAP] + 2 > s.heap_time.shape[0]:
        s.number[ScalarCol.WANTED] = 1
        return Return.NEEDS_SPACE
    now = s.heap_time[0]
    remove_first(s)
    s.clock[0] = now
    plan_event(s, now + take_value(s, draw), -1 - group)
    token = new_token(s, now, group, s.group[group, GroupCol.ARRIVED], -1, 0)
    s.group[group, GroupCol.ARRIVED] += 1
    s.token[token, TokenCol.PC] = s.group[group, GroupCol.START]
    s.number[ScalarCol.RUNNING] = token
    return Return.EVENTS_DONE


@inlined
def take_value(s: State, draw: int) -> float:
    """Take the next value of a draw."""
    value: float = s.values[draw, s.taken[draw]]
    s.taken[draw] += 1
    return value


@inlined
def lacking(s: State, token: int) -> int:
    """Say what an instruction needs that only Python can give; its execution has not begun."""
    pc = s.token[token, TokenCol.PC]
    draw = s.drawn[pc]
    if draw >= 0 and s.taken[draw] == s.ready[draw]:
        s.number[ScalarCol.WANTED] = draw
        return Return.NEEDS_RANDOM
    op = s.code[pc, 0]
    if op == Op.SERVE and s.code[pc, 7] > 0:
        order = s.code[pc, 7] - 1
        if s.taken[order] == s.ready[order]:
            s.number[ScalarCol.WANTED] = order
            return Return.NEEDS_RANDOM
    if s.number[ScalarCol.HEAP] + 2 > s.heap_time.shape[0]:
        s.number[ScalarCol.WANTED] = 0
        return Return.NEEDS_SPACE
    if op == Op.END:
        group = s.token[token, TokenCol.GROUP]
        if s.number[ScalarCol.ROWS] == s.rows.shape[0] or s.group[group, GroupCol.RESPONSES] == s.responses.shape[1]:
            return Return.TABLE_FULL
    elif op == Op.FORK or op == Op.PIPELINE:
        wanted = s.code[pc, 2] if op == Op.FORK else int(s.counts[s.code[pc, 1]]) + 1
        if s.number[ScalarCol.FREE_COUNT] < wanted:
            s.number[ScalarCol.WANTED] = wanted
            return Return.NEEDS_SPACE
    if s.trace_time.shape[0] > 0:
        place = s.number[ScalarCol.TRACED]
        if place == s.trace_time.shape[0]:
            return Return.TABLE_FULL
        s.trace_time[place] = s.clock[0]
        s.trace_what[place, 0] = s.token[token, TokenCol.CUSTOMER]
        s.trace_what[place, 1] = s.token[token, TokenCol.INDEX]
        s.trace_what[place, 2] = pc
        s.number[ScalarCol.TRACED] = place + 1
    return Return.EVENTS_DONE


@inlined
def step(s: State, token: int, now: float) -> bool:
    """Execute an instruction; say whether the token goes on. The numbers are those of `Op`."""
    pc = s.token[token, TokenCol.PC]
    code = s.code[pc]
    op = code[0]
    s.token[token, TokenCol.PC] = pc + 1
    value = s.constants[pc]
    draw = s.drawn[pc]
    if draw >= 0:
        value = s.values[draw, s.taken[draw]]
        s.taken[draw] += 1
    if op == Op.SERVE:
        return serve(s, token, code, value, now)
    if op == Op.DELAY:
        s.token[token, TokenCol.LABEL] = code[2]
        s.token[token, TokenCol.EVENT_KIND] = EventKind.DELAYING
        s.token[token, TokenCol.EVENT] = plan_event(s, now + value, token)
        return False
    if op == Op.END:
        return end(s, token, code, now)
    if op < Op.END:
        return branch(s, token, code, op, value)
    if op < Op.ACQUIRE:
        return fork_or_pipeline(s, token, code, op, value, now)
    if op < Op.BARRIER:
        return lock(s, token, code, op, value, now)
    if op < Op.ADMIT:
        return synchronize(s, token, code, op, now)
    return admit(s, token, code, op, now)
