"""The compiled kernel: the results of the plain kernel, by a loop compiled with numba.

The loop returns when its number of events is done, and whenever it needs Python: for a new block of random numbers, for
larger tables, or to hand over rows. It then continues where it was.
"""

from __future__ import annotations

import numpy as np

from slipstick.errors import MissingExtraError
from slipstick.sim.compiled.state import (
    AVAILABLE,
    EventKind,
    GroupCol,
    GroupKind,
    PoolCol,
    ResourceCol,
    Return,
    ScalarCol,
    State,
    TimeCol,
    TokenCol,
    add_ready,
    compiled,
    end_cycle,
    enlarged,
    free_token,
    inlined,
    last_is_done,
    new_token,
    plan_event,
    remove_first,
    row_is_due,
    state,
    take_ready,
    wake,
    write_row,
)
from slipstick.sim.compiled.stations import (
    accumulate,
    append,
    ask,
    enter,
    first_waiting,
    grant,
    hand_over,
    is_free,
    leave,
    put_between,
    release,
    request,
    wait_for_unit,
)
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import Layout
from slipstick.sim.plain.kernel import PLACES
from slipstick.sim.plan.distributions import Array
from slipstick.sim.plan.plan import BLOCKS, Op, Plan, Where


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
        self.plan, self._go_on, self._trace = plan, go_on, trace
        self._blocks = [draw.blocks(seed, replication) for draw in plan.draws]
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
        """List the customers that wait for locks and barriers."""
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
        return found


def _queued(s: State, token: int) -> list[int]:
    """List the customers in a queue."""
    found = []
    while token >= 0:
        found.append(int(s.token[token, TokenCol.CUSTOMER]))
        token = int(s.token[token, TokenCol.NEXT])
    return found


@inlined
def pass_time(s: State, token: int, label: int, time: float, now: float) -> bool:
    """Let time pass that is booked to a label."""
    s.token[token, TokenCol.LABEL] = label
    s.token[token, TokenCol.EVENT_KIND] = EventKind.DELAYING
    s.token[token, TokenCol.EVENT] = plan_event(s, now + time, token)
    return False


@inlined
def serve(s: State, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """SERVE."""
    station = code[1]
    if code[5] == Where.OWN:
        station += s.token[token, TokenCol.CUSTOMER]
    elif code[5] == Where.AIMED:
        station += s.token[token, TokenCol.AIM]
    s.token[token, TokenCol.LABEL] = code[3]
    s.token[token, TokenCol.WAIT] = code[4]
    s.token[token, TokenCol.RANK] = code[6]
    if code[7] > 0:
        order = code[7] - 1
        s.time[token, TimeCol.PLACE] = s.values[order, s.taken[order]]
        s.taken[order] += 1
    enter(s, station, token, value, now)
    return False


@inlined
def branch(s: State, token: int, code, op: int, value: float) -> bool:  # type: ignore[no-untyped-def]
    """AIM_AT_RANDOM, AIM_IN_TURN, CHOOSE, JUMP, SET_COUNT, LOOP and SWITCH: the next instruction, or the customer aimed at."""
    if op == Op.CHOOSE:
        option = code[2]
        last = option + code[3] - 1
        while option < last and value >= s.odds[option]:
            option += 1
        s.token[token, TokenCol.PC] = s.targets[option]
    elif op == Op.JUMP:
        s.token[token, TokenCol.PC] = code[1]
    elif op == Op.SET_COUNT:
        whole = int(s.counts[code[2]])
        s.registers[token, code[1]] = whole + (1 if value < s.counts[code[2]] - whole else 0)
    elif op == Op.LOOP:
        if s.registers[token, code[1]] <= 0:
            s.token[token, TokenCol.PC] = code[2]
        else:
            s.registers[token, code[1]] -= 1
    elif op == Op.SWITCH:
        s.token[token, TokenCol.PC] = s.targets[code[1] + s.token[token, TokenCol.INDEX]]
    else:
        first = code[2] if op == Op.AIM_AT_RANDOM else code[1]
        customers = code[3] if op == Op.AIM_AT_RANDOM else code[2]
        far = (
            int(value * (customers - 1)) if op == Op.AIM_AT_RANDOM else s.token[token, TokenCol.INDEX] % (customers - 1)
        )
        s.token[token, TokenCol.AIM] = first + (s.token[token, TokenCol.CUSTOMER] - first + 1 + far) % customers
    return True


@inlined
def admit(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ADMIT and START_RESPONSE."""
    if op == Op.START_RESPONSE:
        s.time[token, TimeCol.BEGUN] = now
        return True
    s.gates[code[1], 0] += 1
    if code[3] > 0 and s.resource[code[2], ResourceCol.PRESENT] >= code[3]:
        s.gates[code[1], 1] += 1
        s.token[token, TokenCol.PC] = code[4]
    return True


@inlined
def end(s: State, token: int, code, now: float) -> bool:  # type: ignore[no-untyped-def]
    """END."""
    group = s.token[token, TokenCol.GROUP]
    end_cycle(s, token, now, code[2])
    how = s.group[group, GroupCol.KIND]
    begun = s.time[token, TimeCol.BEGUN]
    if how == GroupKind.CLOSED:
        s.time[token, TimeCol.BEGUN] = now
        if code[1] == 0:
            s.token[token, TokenCol.PC] = s.group[group, GroupCol.START]
    due = last_is_done(s) if how == GroupKind.ONCE else code[2] == 0 and row_is_due(s)
    if due:
        for resource in range(s.resource.shape[0]):
            accumulate(s, resource, now)
        write_row(s, now)
    if how == GroupKind.OPEN:
        free_token(s, token)
    if how == GroupKind.CLOSED and begun == now:
        s.token[token, TokenCol.EVENT_KIND] = EventKind.AGAIN
        s.token[token, TokenCol.EVENT] = plan_event(s, now, token)
    return bool(how == GroupKind.CLOSED and begun != now)


@inlined
def fork_or_pipeline(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK, JOIN, PIPELINE, ENTER_STAGE and LEAVE_STAGE."""
    if op == Op.FORK or op == Op.PIPELINE:
        return begin_branches(s, token, code, op, value, now)
    if op == Op.JOIN:
        join(s, token, code, now)
        return False
    if op == Op.ENTER_STAGE:
        before = s.token[token, TokenCol.BEFORE]
        if before < 0 or s.token[before, TokenCol.PASSED] > code[1]:
            return True
        s.token[token, TokenCol.TURN] = code[1]
        return False
    s.token[token, TokenCol.PASSED] = code[1] + 1
    following = s.token[token, TokenCol.AFTER]
    if following >= 0 and s.token[following, TokenCol.TURN] == code[1]:
        s.token[following, TokenCol.TURN] = -1
        if now > s.time[following, TimeCol.SINCE]:
            for label in range(s.booked.shape[1]):
                s.booked[following, label] = s.booked[token, label]
            s.time[following, TimeCol.SINCE] = now
        add_ready(s, following)
    return True


@inlined
def begin_branches(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """FORK and PIPELINE: start the branches or items."""
    count = code[2]
    s.token[token, TokenCol.PC] = code[3]
    if op == Op.PIPELINE:
        whole = int(s.counts[code[1]])
        count = whole + (1 if value < s.counts[code[1]] - whole else 0)
        s.token[token, TokenCol.PC] = code[4]
        if count == 0:
            return True
    s.token[token, TokenCol.LEFT] = count
    s.time[token, TimeCol.LATEST_END] = -1.0
    before = -1
    for index in range(count):
        each = new_token(s, now, s.token[token, TokenCol.GROUP], s.token[token, TokenCol.CUSTOMER], token, index)
        s.token[each, TokenCol.PC] = s.targets[code[1] + index] if op == Op.FORK else code[3]
        if op == Op.PIPELINE:
            s.token[each, TokenCol.BEFORE] = before
            if before >= 0:
                s.token[before, TokenCol.AFTER] = each
            before = each
        add_ready(s, each)
    return False


@inlined
def join(s: State, token: int, code, now: float) -> None:  # type: ignore[no-untyped-def]
    """JOIN."""
    parent = s.token[token, TokenCol.PARENT]
    labels = s.booked.shape[1]
    if now > s.time[parent, TimeCol.LATEST_END] or s.token[token, TokenCol.INDEX] < s.token[parent, TokenCol.LATEST]:
        s.time[parent, TimeCol.LATEST_END] = now
        s.token[parent, TokenCol.LATEST] = s.token[token, TokenCol.INDEX]
        for label in range(labels):
            s.latest_booked[parent, label] = s.booked[token, label]
    s.token[parent, TokenCol.LEFT] -= 1
    if s.token[parent, TokenCol.LEFT] > 0:
        return
    for label in range(labels):
        s.booked[parent, label] += s.latest_booked[parent, label]
    if code[1] >= 0:
        s.pipelines[code[1], 0] += 1
        s.pipelines[code[1], 1] += now - s.time[parent, TimeCol.SINCE]
    s.time[parent, TimeCol.SINCE] = now
    # Items refer to their neighbours, so all are freed together.
    child = s.token[parent, TokenCol.CHILD]
    while child >= 0:
        free_token(s, child)
        child = s.token[child, TokenCol.SIBLING]
    s.token[parent, TokenCol.CHILD] = -1
    add_ready(s, parent)


@inlined
def lock(s: State, token: int, code, op: int, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ACQUIRE, RELEASE, REQUEST, ATTEMPT, AWAIT_FREE, TAKE_TICKET, AWAIT_TURN and BACK_OFF."""
    r = s.number[ScalarCol.LOCKS_FROM] + code[1]
    if op == Op.ACQUIRE:
        s.token[token, TokenCol.LABEL], s.token[token, TokenCol.RANK] = code[2], code[3]
        s.token[token, TokenCol.EXCLUDES] = code[4]
        return ask(s, r, token, now)
    if op == Op.RELEASE:
        release(s, r, token, now)
    elif op == Op.REQUEST:
        request(s, r, token, now)
    elif op == Op.ATTEMPT:
        if not is_free(s, r):
            s.token[token, TokenCol.PC] = code[2]
        else:
            accumulate(s, r, now)
            grant(s, r, token, now)
    elif op == Op.AWAIT_FREE:
        if not is_free(s, r):
            s.token[token, TokenCol.LABEL] = code[2]
            append(s, r, ResourceCol.SPIN_HEAD, ResourceCol.SPIN_TAIL, token)
            return False
    elif op == Op.TAKE_TICKET:
        s.registers[token, code[2]] = s.resource[r, ResourceCol.DONE] + s.resource[r, ResourceCol.PRESENT]
        request(s, r, token, now)
    elif op == Op.AWAIT_TURN:
        return await_turn(s, r, token, code, value, now)
    else:
        doublings = s.registers[token, code[3]]
        time = min(s.counts[code[4]] * float(1 << doublings), s.counts[code[5]]) * value
        s.registers[token, code[3]] = min(doublings + 1, 60)
        return pass_time(s, token, code[2], time, now)
    return True


@inlined
def await_turn(s: State, r: int, token: int, code, value: float, now: float) -> bool:  # type: ignore[no-untyped-def]
    """AWAIT_TURN."""
    s.token[token, TokenCol.KEY] = int(value * PLACES)
    if s.registers[token, code[3]] == s.resource[r, ResourceCol.DONE]:
        accumulate(s, r, now)
        grant(s, r, token, now)
        return True
    s.token[token, TokenCol.PC] = code[5]
    s.token[token, TokenCol.LABEL] = code[2]
    queue_for_turn(s, r, token)
    return False


@inlined
def queue_for_turn(s: State, r: int, token: int) -> None:
    """Let a token wait until a lock is let go, in its place among those who then go on: that of its key."""
    before, each = -1, s.resource[r, ResourceCol.SPIN_HEAD]
    while each >= 0 and s.token[each, TokenCol.KEY] <= s.token[token, TokenCol.KEY]:
        before, each = each, s.token[each, TokenCol.NEXT]
    put_between(s, r, ResourceCol.SPIN_HEAD, ResourceCol.SPIN_TAIL, token, before, each)


@inlined
def meet(s: State, token: int, code, now: float) -> bool:  # type: ignore[no-untyped-def]
    """BARRIER: wake all who wait, in the order in which they came, or wait."""
    barrier = s.barrier[code[1]]
    if barrier[0] + 1 < code[2]:
        s.token[token, TokenCol.LABEL] = code[3]
        s.token[token, TokenCol.NEXT] = -1
        if barrier[0] == 0:
            barrier[1] = token
        else:
            s.token[barrier[2], TokenCol.NEXT] = token
        barrier[2] = token
        barrier[0] += 1
        return False
    each = barrier[1]
    for _ in range(barrier[0]):
        following = s.token[each, TokenCol.NEXT]
        wake(s, each, now)
        each = following
    barrier[0] = 0
    return True


@inlined
def counter(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """WAIT and GIVE."""
    r = s.number[ScalarCol.LOCKS_FROM] + code[1]
    if op == Op.WAIT:
        s.token[token, TokenCol.LABEL] = code[2]
        wait_for_unit(s, r, token, now)
        if s.resource[r, ResourceCol.BUSY] > 0:
            s.resource[r, ResourceCol.BUSY] -= 1
            first_waiting(s, r, now)
            return True
        if code[3] >= 0:
            release(s, s.number[ScalarCol.LOCKS_FROM] + code[3], token, now)
        return False
    if s.resource[r, ResourceCol.HEAD] < 0:
        accumulate(s, r, now)
        s.resource[r, ResourceCol.BUSY] += 1
    elif code[2] < 0:
        wake(s, first_waiting(s, r, now), now)
    else:
        s.token[token, TokenCol.PC] = code[3]
        hand_over(s, s.number[ScalarCol.LOCKS_FROM] + code[2], token, first_waiting(s, r, now), now)
    return True


@inlined
def pool(s: State, token: int, code, op: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """ENTER_POOL, TAKE_TASK, WORK, NEXT_PART and ADD_TASK."""
    p = code[1]
    own = s.token[token, TokenCol.CUSTOMER] % s.pool[p, PoolCol.QUEUES]
    if op == Op.ENTER_POOL:
        begin_problem(s, p, now)
        s.registers[token, code[3]] = queue_with_task(s, p, own)
        return enter_queue(s, p, s.registers[token, code[3]], token, code[2], now)
    if op == Op.TAKE_TASK:
        return take_task(s, p, token, code, own, now)
    register = code[2] + 1
    present = s.registers[token, register]
    if op == Op.WORK:
        return pass_time(s, token, code[3], s.part_time[present], now)
    if op == Op.NEXT_PART:
        if s.part[present, 0] >= 0:
            return enter_queue(s, p, own, token, code[3], now)
        s.registers[token, register] += 1
        s.token[token, TokenCol.PC] = code[5] if s.part[present, 1] else code[4]
        return True
    add_to_queue(s, p, own, s.part[present, 0], now)
    s.registers[token, register] += 1
    s.token[token, TokenCol.PC] = code[4] if s.part[present, 1] else code[3]
    leave_queue(s, p, own, token, code[2], code[5], now)
    return True


@inlined
def begin_problem(s: State, p: int, now: float) -> None:
    """Put the first tasks of the next problem into the queues, one after the other, if the last is over."""
    if s.pool[p, PoolCol.OPEN] != 0:
        return
    s.pool[p, PoolCol.OPEN] = 1
    problem = s.pool[p, PoolCol.FIRST_PROBLEM] + s.pool[p, PoolCol.PROBLEM]
    first = s.problem[problem]
    for index in range(s.problem[problem + 1] - first):
        add_to_queue(s, p, index % s.pool[p, PoolCol.QUEUES], s.root[first + index], now)
    s.pool[p, PoolCol.PROBLEM] = (s.pool[p, PoolCol.PROBLEM] + 1) % s.pool[p, PoolCol.PROBLEMS]


@inlined
def add_to_queue(s: State, p: int, queue: int, task: int, now: float) -> None:
    """Put a task into a queue, as its youngest."""
    accumulate(s, s.pool[p, PoolCol.TASKS], now)
    s.resource[s.pool[p, PoolCol.TASKS], ResourceCol.BUSY] += 1
    place = s.pool[p, PoolCol.FIRST_QUEUE] + queue
    last = s.task_queue[place, 1]
    s.task[task, 1], s.task[task, 2] = last, -1
    if last < 0:
        s.task_queue[place, 0] = task
    else:
        s.task[last, 2] = task
    s.task_queue[place, 1] = task


@inlined
def take_from_queue(s: State, p: int, queue: int, own: int, now: float) -> int:
    """Take a task out of a queue."""
    accumulate(s, s.pool[p, PoolCol.TASKS], now)
    s.resource[s.pool[p, PoolCol.TASKS], ResourceCol.BUSY] -= 1
    place = s.pool[p, PoolCol.FIRST_QUEUE] + queue
    end = 1 if s.pool[p, PoolCol.LAST_FIRST] != 0 and queue == own else 0
    taken: int = s.task_queue[place, end]
    following = s.task[taken, 2 - end]
    s.task_queue[place, end] = following
    if following < 0:
        s.task_queue[place, 1 - end] = -1
    else:
        s.task[following, 1 + end] = -1
    return taken


@inlined
def queue_with_task(s: State, p: int, own: int) -> int:
    """Find the first queue that has a task, from the own queue on; the own if none has."""
    count = s.pool[p, PoolCol.QUEUES]
    for k in range(count):
        queue: int = (own + k) % count
        if s.task_queue[s.pool[p, PoolCol.FIRST_QUEUE] + queue, 0] >= 0:
            return queue
    return own


@inlined
def enter_queue(s: State, p: int, queue: int, token: int, label: int, now: float) -> bool:
    """Ask to enter the monitor of a queue."""
    s.token[token, TokenCol.LABEL] = label
    s.token[token, TokenCol.RANK] = s.token[token, TokenCol.EXCLUDES] = 0
    return ask(s, s.pool[p, PoolCol.MONITOR] + queue, token, now)


@inlined
def take_task(s: State, p: int, token: int, code, own: int, now: float) -> bool:  # type: ignore[no-untyped-def]
    """TAKE_TASK."""
    queue = s.registers[token, code[2]]
    tasks = s.pool[p, PoolCol.TASKS]
    if s.task_queue[s.pool[p, PoolCol.FIRST_QUEUE] + queue, 0] >= 0:
        s.registers[token, code[2] + 1] = s.task[take_from_queue(s, p, queue, own, now), 0]
        leave_queue(s, p, queue, token, code[2], code[3], now)
        return True
    there = s.resource[tasks, ResourceCol.BUSY] > 0
    waits = not there and s.resource[tasks, ResourceCol.PRESENT] + 1 < code[7]
    if there:
        s.token[token, TokenCol.PC] = code[5]
    elif waits:
        s.token[token, TokenCol.PC] = code[5] + 1
        wait_for_unit(s, tasks, token, now)
    else:
        s.token[token, TokenCol.PC] = code[6]
        s.pool[p, PoolCol.OPEN] = 0
        while s.resource[tasks, ResourceCol.HEAD] >= 0:
            each = first_waiting(s, tasks, now)
            s.token[each, TokenCol.LABEL], s.token[each, TokenCol.PC] = code[4], code[6]
            wake(s, each, now)
    release(s, s.pool[p, PoolCol.MONITOR] + queue, token, now)
    return bool(not waits)


@inlined
def leave_queue(s: State, p: int, queue: int, token: int, register: int, label: int, now: float) -> None:
    """Leave the monitor of a queue; where it has tasks, hand it over to the token that has waited longest for one."""
    monitor = s.pool[p, PoolCol.MONITOR] + queue
    waiting = s.resource[s.pool[p, PoolCol.TASKS], ResourceCol.HEAD] >= 0
    if waiting and s.task_queue[s.pool[p, PoolCol.FIRST_QUEUE] + queue, 0] >= 0:
        following = first_waiting(s, s.pool[p, PoolCol.TASKS], now)
        s.token[following, TokenCol.LABEL] = label
        s.registers[following, register] = queue
        hand_over(s, monitor, token, following, now)
    else:
        release(s, monitor, token, now)


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
        return pass_time(s, token, code[2], value, now)
    if op == Op.END:
        return end(s, token, code, now)
    if op < Op.END:
        return branch(s, token, code, op, value)
    if op < Op.ACQUIRE:
        return fork_or_pipeline(s, token, code, op, value, now)
    if op < Op.BARRIER:
        return lock(s, token, code, op, value, now)
    if op < Op.ADMIT:
        return meet(s, token, code, now)
    if op < Op.WAIT:
        return admit(s, token, code, op, now)
    return counter(s, token, code, op, now) if op < Op.ENTER_POOL else pool(s, token, code, op, now)
