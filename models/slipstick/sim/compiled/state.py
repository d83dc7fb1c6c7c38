"""The state of the compiled kernel: the same as the plain one's, as flat arrays.

Tokens, stations and the rest are rows of tables, and their columns have names here. A token stands in at
most one queue at a time, so one column links all queues: those of stations, locks, barriers, who was let go.

Parts of the compiled loop: the heap, queues, tokens and the account.

The compiler, where it is installed: functions written for it stay plain Python where it is not.

Compiled code is kept in a directory named after the text of these modules, as numba itself looks only at
the file of the outermost function when it decides whether what it kept is still good.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from slipstick.sim.estimate import Layout, chunk
from slipstick.sim.plan.plan import Plan

# Columns of a token, whole numbers.
PC, MEMBER, GROUP, PARENT, INDEX, AIM, LABEL, WAIT, RANK, LEFT, BEST = range(11)
BEFORE, AFTER, PASSED, TURN, NEXT, KEY, ORDER, DUE, PHASE, STATION, DELAYED, CHILD, SIBLING = range(11, 24)
TOKEN_INTS = 24

# and times.
SINCE, BEGUN, WAITED, WORK, ASKED, FINISH, LAST, CAME = range(8)
TOKEN_FLOATS = 8

# What an event of a token is.
DELAYING, SERVED, AGAIN = range(3)

# Columns of a station or lock, whole numbers. In a lock, SERVING is its owner and WATCH those who watch it.
SERVERS, KIND, LAST_FIRST, PREEMPTS, PRESENT, BUSY, DONE, HEAD, TAIL, SERVING, ARRIVED, TICKET = range(12)
WATCH_HEAD, WATCH_TAIL, RATES_FROM, RATES, IN_TURN, TAKEN = range(12, 18)
RESOURCE_INTS = 18
FCFS, SHARED, ORDERED = range(3)

# and times; of a lock also the waits for it, and their squares.
AREA, USE, CHANGED, PROGRESS, WAITS, SQUARES = range(6)
RESOURCE_FLOATS = 6

# Columns of a class.
HOW, START, ARRIVALS, ARRIVED_SO_FAR, CYCLES, RESPONSES = range(6)
CLOSED, OPEN, ONCE = range(3)

# Single numbers.
(PLANNED, HEAP, READY_HEAD, READY_TAIL, FREE, FREE_COUNT, ALIVE, CHUNK, CHUNK_LEFT, RUNNING, ROWS, TRACED) = range(12)
WANTED, EVENTS, LOCKS_FROM = 12, 13, 14
NUMBERS = 15

# Why the loop returns.
SPENT, STUCK, DRY, SMALL, FULL = range(5)
ROWS_KEPT, TIMES_KEPT = 256, 8192
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class State(NamedTuple):
    """All tables of a run."""

    code: Ints
    constants: Floats  # by instruction: the value, where its draw is constant
    drawn: Ints  # by instruction: the draw to take a value from, or -1
    targets: Ints
    odds: Floats
    counts: Floats
    token: Ints
    time: Floats  # of tokens
    booked: Floats
    line: Floats
    registers: Ints
    resource: Ints
    integral: Floats  # of resources
    rates: Floats  # of stations that have them, one behind the other
    gates: Ints  # who came, and who was sent away
    meeting: Ints  # how many wait, first and last
    nodes: Ints
    flags: Ints
    flag_waiter: Ints
    group: Ints
    cycle_time: Floats
    totals: Floats
    heap_time: Floats
    heap_order: Ints
    heap_token: Ints
    values: Floats  # blocks of the draws
    taken: Ints  # how much of each block is used up
    ready: Ints  # how much of each block there is
    number: Ints
    clock: Floats
    rows: Floats
    responses: Floats
    trace_time: Floats
    trace_what: Ints


def state(plan: Plan, traced: int = 0) -> State:
    """Make the tables of a run that is about to begin."""
    layout, draws, pcs = Layout(plan), plan.draws, range(len(plan.code))
    drawn = np.array([_draw(plan, pc) for pc in pcs], dtype=np.int64)
    constant = [each.distribution.constant for each in draws]
    means = [each.distribution.mean for each in draws]
    resources, labels = len(plan.resources), len(plan.labels)
    members, width = len(plan.members), max(len(draws), 1)
    found = State(
        code=np.array(plan.code, dtype=np.int64).reshape(len(plan.code), -1),
        constants=np.array([means[each] if each >= 0 else 0.0 for each in drawn]),
        drawn=np.array([-1 if each < 0 or constant[each] else each for each in drawn], dtype=np.int64),
        targets=np.array([*plan.targets, 0], dtype=np.int64),
        odds=np.array([*plan.odds, 0.0]),
        counts=np.array([*plan.counts, 0.0]),
        token=np.zeros((0, TOKEN_INTS), dtype=np.int64),
        time=np.zeros((0, TOKEN_FLOATS)),
        booked=np.zeros((0, labels)),
        line=np.zeros((0, labels)),
        registers=np.zeros((0, plan.registers), dtype=np.int64),
        resource=np.zeros((resources, RESOURCE_INTS), dtype=np.int64),
        integral=np.zeros((resources, RESOURCE_FLOATS)),
        rates=np.array([*(rate for each in plan.stations for rate in each.rates), 0.0]),
        gates=np.zeros((len(plan.gates), 2), dtype=np.int64),
        meeting=np.tile(np.array([0, -1, -1]), (len(plan.barriers), 1)).astype(np.int64),
        nodes=np.zeros(plan.nodes, dtype=np.int64),
        flags=np.zeros(plan.flags, dtype=np.int64),
        flag_waiter=np.full(plan.flags, -1, dtype=np.int64),
        group=np.zeros((members, 6), dtype=np.int64),
        cycle_time=np.zeros(members),
        totals=np.zeros((members, labels)),
        heap_time=np.zeros(0),
        heap_order=np.zeros(0, dtype=np.int64),
        heap_token=np.zeros(0, dtype=np.int64),
        values=np.zeros((width, 1)),
        taken=np.zeros(width, dtype=np.int64),
        ready=np.zeros(width, dtype=np.int64),
        number=np.zeros(NUMBERS, dtype=np.int64),
        clock=np.zeros(1),
        rows=np.zeros((ROWS_KEPT, layout.width)),
        responses=np.zeros((members, TIMES_KEPT)),
        trace_time=np.zeros(traced),
        trace_what=np.zeros((traced, 3), dtype=np.int64),
    )
    _begin(found, plan)
    return found


def _draw(plan: Plan, pc: int) -> int:
    """Say what an instruction draws from, or -1."""
    from slipstick.sim.plan.plan import Op

    op, *operands = plan.code[pc]
    place = {Op.DELAY: 0, Op.SERVE: 1, Op.PICK: 0, Op.CHOOSE: 0, Op.SET: 2, Op.PIPE: 1, Op.BACK: 0, Op.CALL: 3}.get(
        Op(op)
    )
    return -1 if place is None else operands[place]


def _begin(found: State, plan: Plan) -> None:
    kinds = {"fcfs": FCFS, "ps": SHARED}
    found.resource[:, [HEAD, TAIL, SERVING, TICKET, WATCH_HEAD, WATCH_TAIL]] = -1
    for index, station in enumerate(plan.stations):
        found.resource[index, SERVERS] = station.servers
        found.resource[index, KIND] = SHARED if station.rates else kinds.get(station.discipline, ORDERED)
        found.resource[index, RATES] = len(station.rates)
        found.resource[index, RATES_FROM] = sum(len(each.rates) for each in plan.stations[:index])
        found.resource[index, IN_TURN] = bool(station.rates) and station.discipline == "fcfs"
        found.resource[index, LAST_FIRST] = station.discipline == "lcfs-pr"
        found.resource[index, PREEMPTS] = station.discipline != "priority"
    for index, members in enumerate(plan.members):
        kind = {"closed": CLOSED, "open": OPEN, "once": ONCE}[members.kind]
        found.group[index, :3] = kind, members.starts[0], members.arrivals
    number = found.number
    number[[READY_HEAD, READY_TAIL, FREE, RUNNING]] = -1
    number[CHUNK] = number[CHUNK_LEFT] = chunk(plan)
    number[ALIVE] = plan.population
    number[LOCKS_FROM] = len(plan.stations)


def grown(old: State, tokens: int, events: int) -> State:
    """Make room for so many more tokens and events."""

    def longer(table: NDArray[Any], more: int) -> NDArray[Any]:
        return np.concatenate([table, np.zeros((more, *table.shape[1:]), dtype=table.dtype)])

    known = len(old.token)
    wide = {name: longer(getattr(old, name), tokens) for name in ("token", "time", "booked", "line", "registers")}
    heap = {name: longer(getattr(old, name), events) for name in ("heap_time", "heap_order", "heap_token")}
    new = old._replace(**wide, **heap)
    for token in range(known + tokens - 1, known - 1, -1):
        new.token[token, NEXT] = new.number[FREE]
        new.number[FREE] = token
    new.number[FREE_COUNT] += tokens
    return new


AVAILABLE = find_spec("numba") is not None
F = TypeVar("F", bound=Callable[..., Any])


def _place() -> str:
    text = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text.update(path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "slipstick" / f"loop-{text.hexdigest()[:16]}")


def compiled(function: F) -> F:
    """Compile a function, and keep what came of it for the next process.

    Without reference counts (`_nrt`): nothing is allocated, and counting forty tables at every inlined call
    makes the loop forty times slower.
    """
    if not AVAILABLE:
        return function
    numba = import_module("numba")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or _place()
    try:
        made: F = numba.njit(cache=True, _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = before
    return made


def inlined(function: F) -> F:
    """Compile a function into each that calls it."""
    if not AVAILABLE:
        return function
    made: F = import_module("numba").njit(forceinline=True, _nrt=False)(function)
    return made


@inlined
def plan_event(s: State, time: float, token: int) -> int:
    """Put an event on the heap and give its number."""
    order: int = s.number[PLANNED]
    s.number[PLANNED] = order + 1
    place = s.number[HEAP]
    s.number[HEAP] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        # Later in planning, so it stays below what happens at the same time.
        if s.heap_time[above] <= time:
            break
        s.heap_time[place] = s.heap_time[above]
        s.heap_order[place] = s.heap_order[above]
        s.heap_token[place] = s.heap_token[above]
        place = above
    s.heap_time[place] = time
    s.heap_order[place] = order
    s.heap_token[place] = token
    return order


@inlined
def remove_first(s: State) -> None:
    """Take the first event off the heap."""
    count = s.number[HEAP] - 1
    s.number[HEAP] = count
    time, order, token = s.heap_time[count], s.heap_order[count], s.heap_token[count]
    place, below = 0, 1
    while below < count:
        other = below + 1
        if other < count and (
            s.heap_time[other] < s.heap_time[below]
            or (s.heap_time[other] == s.heap_time[below] and s.heap_order[other] < s.heap_order[below])
        ):
            below = other
        if time < s.heap_time[below] or (time == s.heap_time[below] and order < s.heap_order[below]):
            break
        s.heap_time[place] = s.heap_time[below]
        s.heap_order[place] = s.heap_order[below]
        s.heap_token[place] = s.heap_token[below]
        place = below
        below = 2 * place + 1
    s.heap_time[place] = time
    s.heap_order[place] = order
    s.heap_token[place] = token


@inlined
def add_ready(s: State, token: int) -> None:
    """Let a token go on, after those that were let go before."""
    s.token[token, NEXT] = -1
    tail = s.number[READY_TAIL]
    if tail < 0:
        s.number[READY_HEAD] = token
    else:
        s.token[tail, NEXT] = token
    s.number[READY_TAIL] = token


@inlined
def take_ready(s: State) -> int:
    """Take the first token that was let go."""
    token: int = s.number[READY_HEAD]
    s.number[READY_HEAD] = s.token[token, NEXT]
    if s.number[READY_HEAD] < 0:
        s.number[READY_TAIL] = -1
    return token


@inlined
def wake(s: State, token: int, now: float) -> None:
    """Book the time waited to the token's label and let it go on."""
    s.booked[token, s.token[token, LABEL]] += now - s.time[token, SINCE]
    s.time[token, SINCE] = now
    add_ready(s, token)


@inlined
def new_token(s: State, now: float, group: int, member: int, parent: int, index: int) -> int:
    """Take a free token."""
    token: int = s.number[FREE]
    s.number[FREE] = s.token[token, NEXT]
    s.number[FREE_COUNT] -= 1
    row = s.token[token]
    row[MEMBER], row[GROUP], row[PARENT], row[INDEX] = member, group, parent, index
    row[PASSED], row[TURN], row[BEFORE], row[AFTER] = 0, -1, -1, -1
    row[CHILD] = row[SIBLING] = row[DUE] = -1
    row[AIM] = 0
    if parent >= 0:
        row[AIM] = s.token[parent, AIM]
        row[SIBLING] = s.token[parent, CHILD]
        s.token[parent, CHILD] = token
    s.time[token, SINCE] = s.time[token, BEGUN] = now
    for label in range(s.booked.shape[1]):
        s.booked[token, label] = 0.0
    for register in range(s.registers.shape[1]):
        s.registers[token, register] = 0
    return token


@inlined
def put_down(s: State, token: int) -> None:
    """Give a token back."""
    s.token[token, NEXT] = s.number[FREE]
    s.number[FREE] = token
    s.number[FREE_COUNT] += 1


@inlined
def end_cycle(s: State, token: int, now: float, lost: int) -> None:
    """Book a cycle to its class."""
    group = s.token[token, GROUP]
    if lost == 0:
        time = now - s.time[token, BEGUN]
        s.responses[group, s.group[group, RESPONSES]] = time
        s.group[group, RESPONSES] += 1
        s.cycle_time[group] += time
        s.group[group, CYCLES] += 1
    for label in range(s.booked.shape[1]):
        if s.booked[token, label] != 0.0:
            s.totals[group, label] += s.booked[token, label]
            s.booked[token, label] = 0.0


@inlined
def row_is_due(s: State) -> bool:
    """Count a cycle and say whether a row is to be written."""
    s.number[CHUNK_LEFT] -= 1
    if s.number[CHUNK_LEFT] > 0:
        return False
    s.number[CHUNK_LEFT] = s.number[CHUNK]
    return True


@inlined
def last_is_done(s: State) -> bool:
    """Count a member of a program out and say whether it was the last."""
    s.number[ALIVE] -= 1
    return bool(s.number[ALIVE] == 0)


@inlined
def write_row(s: State, now: float) -> None:
    """Write a row of statistics; the integrals are up to date."""
    row = s.rows[s.number[ROWS]]
    s.number[ROWS] += 1
    row[0] = now
    row[1] = s.number[PLANNED]
    s.number[PLANNED] += 1
    place = 2
    for group in range(s.group.shape[0]):
        row[place] = s.group[group, CYCLES]
        row[place + 1] = s.cycle_time[group]
        place += 2
    for resource in range(s.resource.shape[0]):
        row[place] = s.integral[resource, 0]
        row[place + 1] = s.integral[resource, 1]
        row[place + 2] = s.resource[resource, 6]
        place += 3
    for group in range(s.group.shape[0]):
        for label in range(s.totals.shape[1]):
            row[place] = s.totals[group, label]
            place += 1
    for gate in range(s.gates.shape[0]):
        row[place] = s.gates[gate, 0]
        row[place + 1] = s.gates[gate, 1]
        place += 2
    for lock in range(s.number[LOCKS_FROM], s.resource.shape[0]):
        row[place] = s.resource[lock, TAKEN]
        row[place + 1] = s.integral[lock, WAITS]
        row[place + 2] = s.integral[lock, SQUARES]
        place += 3
