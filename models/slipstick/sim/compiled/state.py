"""The state of the compiled kernel as flat arrays, and the operations on them: event list, tokens and account.

Tokens, stations and the rest are rows of tables whose columns have names here. A token stands in at most one queue at a
time, so one column links all queues: of stations, locks and barriers, and of the tokens that are ready.

Functions written for the compiler stay plain Python where numba is not installed. Compiled code is cached in a directory
named after the text of these modules: numba itself looks only at the file of the outermost function when it decides
whether cached code is valid.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from slipstick.sim.estimate import Layout, chunk
from slipstick.sim.plan.plan import COUNTER, Plan
from slipstick.vocabulary import ARRIVAL, DISCIPLINES, RANDOM, REVERSE, SHARED

ROWS_KEPT, TIMES_KEPT = 256, 8192
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


TokenCol = IntEnum(
    "TokenCol",
    "PC CUSTOMER GROUP PARENT INDEX AIM LABEL WAIT RANK LEFT LATEST BEFORE AFTER PASSED TURN NEXT KEY "
    "ORDER EVENT EVENT_KIND STATION DELAYED CHILD SIBLING EXCLUDES",
    start=0,
)
"""Columns of `State.token`, whole numbers."""


TimeCol = IntEnum("TimeCol", "SINCE BEGUN WAITED WORK REQUESTED FINISH LATEST_END SINCE_REQUEST PLACE", start=0)
"""Columns of `State.time`, the times of a token [s]."""


class EventKind(IntEnum):
    """The event that is planned for a token."""

    DELAYING = 0
    SERVED = 1
    AGAIN = 2


ResourceCol = IntEnum(
    "ResourceCol",
    "SERVERS KIND LAST_FIRST PREEMPTS PRESENT BUSY DONE HEAD TAIL SERVING ARRIVED TICKET SPIN_HEAD "
    "SPIN_TAIL RATES_FROM RATES IN_TURN GRANTS HOLDERS_FROM AT_RANDOM EXCLUSIVE",
    start=0,
)
"""Columns of `State.resource`, stations and locks; SERVERS are the permits of a lock, SPIN_HEAD its first spinning token."""

PoolCol = IntEnum("PoolCol", "TASKS MONITOR QUEUES LAST_FIRST PROBLEMS FIRST_QUEUE FIRST_PROBLEM OPEN PROBLEM", start=0)
"""Columns of `State.pool`; the first of a pool gives its place in each other table of pools."""


class StationKind(IntEnum):
    """How a station serves."""

    FCFS = 0
    SHARED = 1
    ORDERED = 2


IntegralCol = IntEnum("IntegralCol", "AREA BUSY_AREA CHANGED PROGRESS WAITED SQUARES", start=0)
"""Columns of `State.integral`, times of a resource [s]; of a lock also the sum of the waits and of their squares."""


GroupCol = IntEnum("GroupCol", "KIND START ARRIVALS ARRIVED CYCLES RESPONSES", start=0)
"""Columns of `State.group`, the groups of customers."""


class GroupKind(IntEnum):
    """How the customers of a group come and go."""

    CLOSED = 0
    OPEN = 1
    ONCE = 2


ScalarCol = IntEnum(
    "ScalarCol",
    "PLANNED HEAP READY_HEAD READY_TAIL FREE FREE_COUNT ALIVE CHUNK CHUNK_LEFT RUNNING ROWS TRACED WANTED "
    "EVENTS LOCKS_FROM",
    start=0,
)
"""Places of single numbers in `State.number`."""


Return = IntEnum("Return", "EVENTS_DONE NO_EVENTS NEEDS_RANDOM NEEDS_SPACE TABLE_FULL", start=0)
"""Why the loop returns to Python."""


class State(NamedTuple):
    """All tables of a run; what a column means is said by the enumeration named after the table."""

    code: Ints
    constants: Floats  # by instruction: the value, where its draw is constant
    drawn: Ints  # by instruction: the draw to take a value from, or -1
    targets: Ints
    odds: Floats
    counts: Floats
    token: Ints
    time: Floats  # of tokens
    booked: Floats
    latest_booked: Floats
    registers: Ints
    resource: Ints
    holder: Ints  # tokens that hold each lock, one lock behind the other
    integral: Floats  # of resources
    rates: Floats  # of stations that have them, one behind the other
    gates: Ints  # arrivals, and arrivals turned away
    pipelines: Floats  # executions, and the sum of their times
    barrier: Ints  # tokens that wait: number, first and last
    pool: Ints
    problem: Ints  # the first of the roots of each problem, and at the end the number of roots
    root: Ints  # tasks
    task: Ints  # first part, and the tasks before and behind it in its queue
    task_queue: Ints  # oldest and youngest task of each queue, or -1
    part: Ints  # the task that is added behind it or -1, and whether it is the last of its task
    part_time: Floats
    group: Ints
    cycle_time: Floats
    totals: Floats
    heap_time: Floats
    heap_order: Ints
    heap_token: Ints
    values: Floats  # blocks of the draws
    taken: Ints  # values of each block that were used
    ready: Ints  # values of each block
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
    customers, width = len(plan.groups), max(len(draws), 1)
    found = State(
        code=np.array(plan.code, dtype=np.int64).reshape(len(plan.code), -1),
        constants=np.array([means[each] if each >= 0 else 0.0 for each in drawn]),
        drawn=np.array([-1 if each < 0 or constant[each] else each for each in drawn], dtype=np.int64),
        targets=np.array([*plan.targets, 0], dtype=np.int64),
        odds=np.array([*plan.odds, 0.0]),
        counts=np.array([*plan.counts, 0.0]),
        token=np.zeros((0, len(TokenCol)), dtype=np.int64),
        time=np.zeros((0, len(TimeCol))),
        booked=np.zeros((0, labels)),
        latest_booked=np.zeros((0, labels)),
        registers=np.zeros((0, plan.registers), dtype=np.int64),
        resource=np.zeros((resources, len(ResourceCol)), dtype=np.int64),
        holder=np.zeros(sum(each.permits for each in plan.locks), dtype=np.int64),
        integral=np.zeros((resources, len(IntegralCol))),
        rates=np.array([*(rate for each in plan.stations for rate in each.rates), 0.0]),
        gates=np.zeros((len(plan.gates), 2), dtype=np.int64),
        pipelines=np.zeros((len(plan.pipelines), 2)),
        barrier=np.tile(np.array([0, -1, -1]), (len(plan.barriers), 1)).astype(np.int64),
        **_pools(plan),
        group=np.zeros((customers, len(GroupCol)), dtype=np.int64),
        cycle_time=np.zeros(customers),
        totals=np.zeros((customers, labels)),
        heap_time=np.zeros(0),
        heap_order=np.zeros(0, dtype=np.int64),
        heap_token=np.zeros(0, dtype=np.int64),
        values=np.zeros((width, 1)),
        taken=np.zeros(width, dtype=np.int64),
        ready=np.zeros(width, dtype=np.int64),
        number=np.zeros(len(ScalarCol), dtype=np.int64),
        clock=np.zeros(1),
        rows=np.zeros((ROWS_KEPT, layout.width)),
        responses=np.zeros((customers, TIMES_KEPT)),
        trace_time=np.zeros(traced),
        trace_what=np.zeros((traced, 3), dtype=np.int64),
    )
    _begin(found, plan)
    return found


def _pools(plan: Plan) -> dict[str, Any]:
    """Make the tables of the pools, one pool behind the other."""
    pool, task, part = list[list[int]](), list[list[int]](), list[list[int]]()
    problem, root, times = [0], list[int](), list[float]()
    queues = 0
    for each in plan.pools:
        tasks, parts = len(task), len(part)
        fixed = [len(plan.stations) + each.tasks, len(plan.stations) + each.monitor, each.queues, each.last_first]
        pool.append([*fixed, len(each.roots), queues, len(problem) - 1, 0, 0])
        queues += each.queues
        for roots in each.roots:
            root += [tasks + one for one in roots]
            problem.append(len(root))
        last = {end - 1 for end in each.first}
        task += [[parts + first, -1, -1] for first in each.first[:-1]]
        part += [[tasks + one if one >= 0 else -1, index in last] for index, one in enumerate(each.added)]
        times += each.times
    return {
        "pool": np.array(pool, dtype=np.int64).reshape(-1, len(PoolCol)),
        "problem": np.array(problem, dtype=np.int64),
        "root": np.array(root, dtype=np.int64),
        "task": np.array(task, dtype=np.int64).reshape(-1, 3),
        "task_queue": np.full((queues, 2), -1, dtype=np.int64),
        "part": np.array(part, dtype=np.int64).reshape(-1, 2),
        "part_time": np.array(times),
    }


def _draw(plan: Plan, pc: int) -> int:
    """Give the draw that an instruction takes a value from, or -1."""
    from slipstick.sim.plan.plan import Op

    op, *operands = plan.code[pc]
    place = {
        Op.DELAY: 0,
        Op.SERVE: 1,
        Op.AIM_AT_RANDOM: 0,
        Op.CHOOSE: 0,
        Op.SET_COUNT: 2,
        Op.PIPELINE: 1,
        Op.BACK_OFF: 0,
        Op.AWAIT_TURN: 3,
    }.get(Op(op))
    return -1 if place is None else operands[place]


def _begin(found: State, plan: Plan) -> None:
    kinds = {ARRIVAL: StationKind.FCFS, RANDOM: StationKind.FCFS, SHARED: StationKind.SHARED}
    found.resource[
        :,
        [
            ResourceCol.HEAD,
            ResourceCol.TAIL,
            ResourceCol.SERVING,
            ResourceCol.TICKET,
            ResourceCol.SPIN_HEAD,
            ResourceCol.SPIN_TAIL,
        ],
    ] = -1
    for index, station in enumerate(plan.stations):
        discipline = DISCIPLINES[station.discipline]
        found.resource[index, ResourceCol.SERVERS] = station.servers
        found.resource[index, ResourceCol.KIND] = (
            StationKind.SHARED if station.rates else kinds.get(discipline.order, StationKind.ORDERED)
        )
        found.resource[index, ResourceCol.RATES] = len(station.rates)
        found.resource[index, ResourceCol.RATES_FROM] = sum(len(each.rates) for each in plan.stations[:index])
        found.resource[index, ResourceCol.IN_TURN] = bool(station.rates) and discipline.order == ARRIVAL
        found.resource[index, ResourceCol.LAST_FIRST] = discipline.order == REVERSE
        found.resource[index, ResourceCol.PREEMPTS] = discipline.preemptive
        found.resource[index, ResourceCol.AT_RANDOM] = discipline.order == RANDOM
    for index, lock in enumerate(plan.locks):
        row = found.resource[len(plan.stations) + index]
        row[ResourceCol.SERVERS] = lock.permits
        row[ResourceCol.BUSY] = lock.permits if lock.noun == COUNTER else 0
        row[ResourceCol.HOLDERS_FROM] = sum(each.permits for each in plan.locks[:index])
    for index, customers in enumerate(plan.groups):
        kind = {"closed": GroupKind.CLOSED, "open": GroupKind.OPEN, "once": GroupKind.ONCE}[customers.kind]
        found.group[index, :3] = kind, customers.starts[0], customers.arrivals
    number = found.number
    number[[ScalarCol.READY_HEAD, ScalarCol.READY_TAIL, ScalarCol.FREE, ScalarCol.RUNNING]] = -1
    number[ScalarCol.CHUNK] = number[ScalarCol.CHUNK_LEFT] = chunk(plan)
    number[ScalarCol.ALIVE] = plan.population
    number[ScalarCol.LOCKS_FROM] = len(plan.stations)


def enlarged(old: State, tokens: int, events: int) -> State:
    """Enlarge the tables by a number of tokens and events."""

    def longer(table: NDArray[Any], more: int) -> NDArray[Any]:
        return np.concatenate([table, np.zeros((more, *table.shape[1:]), dtype=table.dtype)])

    known = len(old.token)
    wide = {
        name: longer(getattr(old, name), tokens) for name in ("token", "time", "booked", "latest_booked", "registers")
    }
    heap = {name: longer(getattr(old, name), events) for name in ("heap_time", "heap_order", "heap_token")}
    new = old._replace(**wide, **heap)
    for token in range(known + tokens - 1, known - 1, -1):
        new.token[token, TokenCol.NEXT] = new.number[ScalarCol.FREE]
        new.number[ScalarCol.FREE] = token
    new.number[ScalarCol.FREE_COUNT] += tokens
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
    """Compile a function, and cache the code for the next process.

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
    """Add an event to the event list and give its number."""
    order: int = s.number[ScalarCol.PLANNED]
    s.number[ScalarCol.PLANNED] = order + 1
    place = s.number[ScalarCol.HEAP]
    s.number[ScalarCol.HEAP] = place + 1
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
    """Remove the first event of the event list."""
    count = s.number[ScalarCol.HEAP] - 1
    s.number[ScalarCol.HEAP] = count
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
    """Add a token to those that are ready."""
    s.token[token, TokenCol.NEXT] = -1
    tail = s.number[ScalarCol.READY_TAIL]
    if tail < 0:
        s.number[ScalarCol.READY_HEAD] = token
    else:
        s.token[tail, TokenCol.NEXT] = token
    s.number[ScalarCol.READY_TAIL] = token


@inlined
def take_ready(s: State) -> int:
    """Take the first token that is ready."""
    token: int = s.number[ScalarCol.READY_HEAD]
    s.number[ScalarCol.READY_HEAD] = s.token[token, TokenCol.NEXT]
    if s.number[ScalarCol.READY_HEAD] < 0:
        s.number[ScalarCol.READY_TAIL] = -1
    return token


@inlined
def wake(s: State, token: int, now: float) -> None:
    """Book the waiting time to the token's label and let it go on."""
    s.booked[token, s.token[token, TokenCol.LABEL]] += now - s.time[token, TimeCol.SINCE]
    s.time[token, TimeCol.SINCE] = now
    add_ready(s, token)


@inlined
def new_token(s: State, now: float, group: int, customer: int, parent: int, index: int) -> int:
    """Take a free token."""
    token: int = s.number[ScalarCol.FREE]
    s.number[ScalarCol.FREE] = s.token[token, TokenCol.NEXT]
    s.number[ScalarCol.FREE_COUNT] -= 1
    row = s.token[token]
    row[TokenCol.CUSTOMER], row[TokenCol.GROUP], row[TokenCol.PARENT], row[TokenCol.INDEX] = (
        customer,
        group,
        parent,
        index,
    )
    row[TokenCol.PASSED], row[TokenCol.TURN], row[TokenCol.BEFORE], row[TokenCol.AFTER] = 0, -1, -1, -1
    row[TokenCol.CHILD] = row[TokenCol.SIBLING] = row[TokenCol.EVENT] = -1
    row[TokenCol.AIM] = row[TokenCol.EXCLUDES] = 0
    if parent >= 0:
        row[TokenCol.AIM] = s.token[parent, TokenCol.AIM]
        row[TokenCol.SIBLING] = s.token[parent, TokenCol.CHILD]
        s.token[parent, TokenCol.CHILD] = token
    s.time[token, TimeCol.SINCE] = s.time[token, TimeCol.BEGUN] = now
    for label in range(s.booked.shape[1]):
        s.booked[token, label] = 0.0
    for register in range(s.registers.shape[1]):
        s.registers[token, register] = 0
    return token


@inlined
def free_token(s: State, token: int) -> None:
    """Free a token."""
    s.token[token, TokenCol.NEXT] = s.number[ScalarCol.FREE]
    s.number[ScalarCol.FREE] = token
    s.number[ScalarCol.FREE_COUNT] += 1


@inlined
def end_cycle(s: State, token: int, now: float, lost: int) -> None:
    """Record a cycle of its group."""
    group = s.token[token, TokenCol.GROUP]
    if lost == 0:
        time = now - s.time[token, TimeCol.BEGUN]
        s.responses[group, s.group[group, GroupCol.RESPONSES]] = time
        s.group[group, GroupCol.RESPONSES] += 1
        s.cycle_time[group] += time
        s.group[group, GroupCol.CYCLES] += 1
    for label in range(s.booked.shape[1]):
        if s.booked[token, label] != 0.0:
            s.totals[group, label] += s.booked[token, label]
            s.booked[token, label] = 0.0


@inlined
def row_is_due(s: State) -> bool:
    """Count a cycle and say whether a row is to be written."""
    s.number[ScalarCol.CHUNK_LEFT] -= 1
    if s.number[ScalarCol.CHUNK_LEFT] > 0:
        return False
    s.number[ScalarCol.CHUNK_LEFT] = s.number[ScalarCol.CHUNK]
    return True


@inlined
def last_is_done(s: State) -> bool:
    """Count the end of a program's customer and say whether it was the last."""
    s.number[ScalarCol.ALIVE] -= 1
    return bool(s.number[ScalarCol.ALIVE] == 0)


@inlined
def write_row(s: State, now: float) -> None:
    """Write a row of statistics; the integrals are up to date."""
    row = s.rows[s.number[ScalarCol.ROWS]]
    s.number[ScalarCol.ROWS] += 1
    row[0] = now
    row[1] = s.number[ScalarCol.PLANNED]
    s.number[ScalarCol.PLANNED] += 1
    place = 2
    for group in range(s.group.shape[0]):
        row[place] = s.group[group, GroupCol.CYCLES]
        row[place + 1] = s.cycle_time[group]
        place += 2
    for resource in range(s.resource.shape[0]):
        row[place] = s.integral[resource, IntegralCol.AREA]
        row[place + 1] = s.integral[resource, IntegralCol.BUSY_AREA]
        row[place + 2] = s.resource[resource, ResourceCol.DONE]
        place += 3
    for group in range(s.group.shape[0]):
        for label in range(s.totals.shape[1]):
            row[place] = s.totals[group, label]
            place += 1
    for gate in range(s.gates.shape[0]):
        row[place] = s.gates[gate, 0]
        row[place + 1] = s.gates[gate, 1]
        place += 2
    for lock in range(s.number[ScalarCol.LOCKS_FROM], s.resource.shape[0]):
        row[place] = s.resource[lock, ResourceCol.GRANTS]
        row[place + 1] = s.integral[lock, IntegralCol.WAITED]
        row[place + 2] = s.integral[lock, IntegralCol.SQUARES]
        place += 3
    for pipeline in range(s.pipelines.shape[0]):
        row[place] = s.pipelines[pipeline, 0]
        row[place + 1] = s.pipelines[pipeline, 1]
        place += 2
