"""The compiled kernel: the plain one's results, by a loop compiled with numba.

The compiled loop: the same instructions as the plain kernel, over flat arrays.

The loop returns when the events it was given are spent, and whenever it needs what only Python gives: a
new block of random numbers, larger tables, or somebody to take the rows. It then goes on where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import MissingExtraError
from slipstick.sim.compiled.flow import admit, end, serve, side_by_side, turn
from slipstick.sim.compiled.locks_and_barriers import gather, lock
from slipstick.sim.compiled.state import (
    ARRIVALS,
    ARRIVED_SO_FAR,
    AVAILABLE,
    DELAYING,
    DRY,
    DUE,
    EVENTS,
    FREE_COUNT,
    FULL,
    GROUP,
    HEAD,
    HEAP,
    INDEX,
    LABEL,
    LOCKS_FROM,
    MEMBER,
    NEXT,
    PC,
    PHASE,
    READY_HEAD,
    RESPONSES,
    ROWS,
    RUNNING,
    SERVED,
    SERVING,
    SINCE,
    SMALL,
    SPENT,
    START,
    STATION,
    STUCK,
    TRACED,
    WANTED,
    WATCH_HEAD,
    State,
    compiled,
    grown,
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
from slipstick.sim.plan.plan import Op, Plan
from slipstick.sim.plan.streams import Array


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
        self, plan: Plan, seed: int = 0, replication: int = 0, *, trace: list[tuple[float, int, int, int]] | None = None
    ) -> None:
        if not AVAILABLE:
            raise MissingExtraError("numba", "the compiled kernel", "fast")
        from slipstick.sim.compiled.state import add_ready, new_token, plan_event

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


@compiled
def go_on(s: State, events: int) -> int:
    """Go through the next events; say why no further."""
    while True:
        if s.number[RUNNING] < 0:
            if s.number[READY_HEAD] >= 0:
                s.number[RUNNING] = take_ready(s)
            elif events <= 0:
                return SPENT
            else:
                why = next_event(s)
                if why != SPENT:
                    return why
                events -= 1
                s.number[EVENTS] += 1
                if s.number[RUNNING] < 0:
                    continue
        token = s.number[RUNNING]
        now = s.clock[0]
        while True:
            why = lacking(s, token)
            if why != SPENT:
                return why
            if not step(s, token, now):
                break
        s.number[RUNNING] = -1


@inlined
def next_event(s: State) -> int:
    """Take an event off the heap, up to where its token goes on."""
    if s.number[HEAP] == 0:
        return STUCK
    token = s.heap_token[0]
    if token < 0:
        return arrive(s, -1 - token)
    now = s.heap_time[0]
    order = s.heap_order[0]
    remove_first(s)
    s.clock[0] = now
    # What was planned for another speed of service may come after the token has gone on.
    if s.token[token, DUE] != order:
        return SPENT
    s.token[token, DUE] = -1
    phase = s.token[token, PHASE]
    if phase == SERVED:
        leave(s, s.token[token, STATION], token, now)
    elif phase == DELAYING:
        s.booked[token, s.token[token, LABEL]] += now - s.time[token, SINCE]
        s.time[token, SINCE] = now
    s.number[RUNNING] = token
    return SPENT


@inlined
def arrive(s: State, group: int) -> int:
    """Let a member of an open class arrive, and plan the next one."""
    draw = s.group[group, ARRIVALS]
    if s.taken[draw] == s.ready[draw]:
        s.number[WANTED] = draw
        return DRY
    if s.number[FREE_COUNT] == 0 or s.number[HEAP] + 2 > s.heap_time.shape[0]:
        s.number[WANTED] = 1
        return SMALL
    now = s.heap_time[0]
    remove_first(s)
    s.clock[0] = now
    plan_event(s, now + take_value(s, draw), -1 - group)
    token = new_token(s, now, group, s.group[group, ARRIVED_SO_FAR], -1, 0)
    s.group[group, ARRIVED_SO_FAR] += 1
    s.token[token, PC] = s.group[group, START]
    s.number[RUNNING] = token
    return SPENT


@inlined
def take_value(s: State, draw: int) -> float:
    """Take the next value of a draw."""
    value: float = s.values[draw, s.taken[draw]]
    s.taken[draw] += 1
    return value


@inlined
def lacking(s: State, token: int) -> int:
    """Say what a token's instruction needs that is not there; nothing has happened yet."""
    pc = s.token[token, PC]
    draw = s.drawn[pc]
    if draw >= 0 and s.taken[draw] == s.ready[draw]:
        s.number[WANTED] = draw
        return DRY
    op = s.code[pc, 0]
    if s.number[HEAP] + 2 > s.heap_time.shape[0]:
        s.number[WANTED] = 0
        return SMALL
    if op == Op.END:
        group = s.token[token, GROUP]
        if s.number[ROWS] == s.rows.shape[0] or s.group[group, RESPONSES] == s.responses.shape[1]:
            return FULL
    elif op == Op.FORK or op == Op.PIPE:
        wanted = s.code[pc, 2] if op == Op.FORK else int(s.counts[s.code[pc, 1]]) + 1
        if s.number[FREE_COUNT] < wanted:
            s.number[WANTED] = wanted
            return SMALL
    if s.trace_time.shape[0] > 0:
        place = s.number[TRACED]
        if place == s.trace_time.shape[0]:
            return FULL
        s.trace_time[place] = s.clock[0]
        s.trace_what[place, 0] = s.token[token, MEMBER]
        s.trace_what[place, 1] = s.token[token, INDEX]
        s.trace_what[place, 2] = pc
        s.number[TRACED] = place + 1
    return SPENT


@inlined
def step(s: State, token: int, now: float) -> bool:
    """Execute an instruction; say whether the token goes on. The numbers are those of `Op`."""
    pc = s.token[token, PC]
    code = s.code[pc]
    op = code[0]
    s.token[token, PC] = pc + 1
    value = s.constants[pc]
    draw = s.drawn[pc]
    if draw >= 0:
        value = s.values[draw, s.taken[draw]]
        s.taken[draw] += 1
    if op == Op.SERVE:
        return serve(s, token, code, value, now)
    if op == Op.DELAY:
        s.token[token, LABEL] = code[2]
        s.token[token, PHASE] = DELAYING
        s.token[token, DUE] = plan_event(s, now + value, token)
        return False
    if op == Op.END:
        return end(s, token, code, now)
    if op < Op.END:
        return turn(s, token, code, op, value)
    if op < Op.ACQUIRE:
        return side_by_side(s, token, code, op, value, now)
    if op < Op.MEET:
        return lock(s, token, code, op, value, now)
    if op < Op.ADMIT:
        return gather(s, token, code, op, now)
    return admit(s, token, code, op, now)
