"""The compiled kernel: the results of the plain kernel, by a loop compiled with numba.

The loop returns when its number of events is done, and whenever it needs Python: for a new block of
random numbers, for larger tables, or to hand over rows. It then continues where it was. Its state
is a tuple of tables: of plain numbers, or of rows whose columns have names here.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import MissingExtraError
from slipstick.late import Array
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import Layout, cycles_per_row
from slipstick.sim.plan.plan import BLOCKS, COUNTER, Op, Plan
from slipstick.vocabulary import ARRIVAL, DISCIPLINES, RANDOM, REVERSE, SHARED
from slipstick_compiled.tables import (
    BREAKER,
    GROUP,
    POOL,
    READY,
    RESOURCE,
    RUN,
    TOKEN,
    GroupKind,
    Ints,
    Return,
    Rows,
    State,
    StationKind,
    _name_columns,
)

AVAILABLE = find_spec("numba") is not None

ROWS_KEPT = 256
TIMES_KEPT = 8192


class CompiledKernel:
    """Simulate one run of a plan in compiled code, with the results of `Kernel`, which does the
    same in plain Python.

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
        self,
        plan: Plan,
        seed: int = 0,
        replication: int = 0,
        *,
        trace: list[tuple[float, int, int, int]] | None = None,
    ) -> None:
        if not AVAILABLE:
            raise MissingExtraError("numba", "the compiled kernel", "fast")
        from slipstick_compiled.loop import go_on

        self.plan = plan
        self._go_on = go_on
        self._trace = trace
        self._blocks = [draw.blocks(seed, replication) for draw in plan.draws]
        self._rows: list[Array] = []
        self._times: list[list[Array]] = [[] for _ in plan.groups]
        first = State._make(
            table.copy() for table in _initial_tables(plan, 0 if trace is None else 4096)
        )
        self.state = _enlarged_tables(first, plan.population + 16, 2 * plan.population + 32)
        self._start_customers()

    def _start_customers(self) -> None:
        """Start the customers of closed groups and programs, and plan the first arrivals."""
        tables = self.state
        run = self.state.run[0]
        first = 0
        arrivals = list[tuple[float, int, int]]()
        for number, customers in enumerate(self.plan.groups):
            if customers.kind == "open":
                self._refill_draws(customers.arrivals)
                tables.values_taken[customers.arrivals] = 1
                arrivals.append((tables.values[customers.arrivals, 0], len(arrivals), -1 - number))
                continue
            tokens = tables.token[first : first + len(customers.starts)]
            tokens["group"], tokens["pc"] = number, customers.starts
            first += len(tokens)
        started = tables.token[:first]
        started["customer"], started["permits"], started["weight"] = np.arange(first), 1, 1.0
        for column in (
            "parent",
            "awaited_stage",
            "previous_item",
            "next_item",
            "child",
            "sibling",
            "event",
            "patience",
        ):
            started[column] = -1
        if first:
            tables.queue[READY], run.first_free, started["next"][-1] = (
                (0, first - 1),
                started["next"][-1],
                -1,
            )
            run.free_count -= first
        # A sorted list is a heap.
        tables.heap[: len(arrivals)] = [
            (order, token, time) for time, order, token in sorted(arrivals)
        ]
        run.next_order = run.events_planned = len(arrivals)

    def _refill_draws(self, draw: int) -> None:
        """Supply the loop with the next block of random numbers of a draw."""
        tables = self.state
        distribution = self.plan.draws[draw].distribution
        block = (
            np.full(tables.values.shape[1], distribution.mean)
            if distribution.is_constant
            else next(self._blocks[draw])
        )
        tables.values[draw, : len(block)] = block
        tables.values_taken[draw], tables.values_ready[draw] = 0, len(block)

    @property
    def now(self) -> float:
        """The time of the simulation [s]."""
        return float(self.state.run[0].now)

    @property
    def events(self) -> int:
        """Number of events simulated so far."""
        return int(self.state.run[0].events)

    @property
    def unawaited_branches(self) -> int:
        """Number of branches so far that their parent does not wait for."""
        return int(self.state.run[0].unawaited_branches)

    @property
    def unended_branches(self) -> int:
        """Number of the branches without a waiting parent that have not ended."""
        return int(self.state.run[0].unended_branches)

    def run(self, events: int) -> bool:
        """Simulate a number of events; return False when no event is left."""
        last = self.events + events
        while True:
            why = self._go_on(self.state, last - self.events)
            run = self.state.run[0]
            if why == Return.NEEDS_RANDOM:
                self._refill_draws(run.needed)
            elif why == Return.NEEDS_SPACE:
                more = max(int(run.needed), len(self.state.token))
                self.state = _enlarged_tables(self.state, more, more + len(self.state.heap))
            else:
                self._take_out_rows()
                if why != Return.TABLE_FULL:
                    return bool(why == Return.EVENTS_DONE)

    def _take_out_rows(self) -> None:
        """Copy rows of statistics, response times and trace out of the tables of the loop, so that
        these can be filled anew.
        """
        tables = self.state
        run = self.state.run[0]
        self._rows.append(tables.rows[: run.row_count].copy())
        for group, times in enumerate(self._times):
            times.append(tables.responses[group, : tables.group[group].response_count].copy())
        tables.group["response_count"] = 0
        if self._trace is not None:
            self._trace += [
                (time, *where) for *where, time in tables.trace[: run.trace_length].tolist()
            ]
        run.row_count = run.trace_length = 0

    def take_rows(self) -> Array:
        """Return the rows of statistics written since the last call."""
        rows = np.concatenate([np.zeros((0, Layout(self.plan).width)), *self._rows])
        self._rows.clear()
        return rows

    def take_responses(self, group: int) -> Array:
        """Return the response times of the cycles of a class that ended since the last call [s]."""
        times = np.concatenate([np.zeros(0), *self._times[group]])
        self._times[group].clear()
        return times

    def waits(self) -> list[Wait]:
        """List the customers that wait for locks and barriers, with the holders of each lock."""
        tables = self.state
        waits_found = []
        for resource, plan in zip(
            tables.resource[len(self.plan.stations) :], self.plan.locks, strict=True
        ):
            holders = tuple(
                tables.token[
                    tables.holder[resource.first_holder : resource.first_holder + resource.busy]
                ]["customer"].tolist()
            )
            waiting = [
                *self._customers_in_queue(resource.queue),
                *self._customers_in_queue(resource.spinning),
            ]
            waits_found += [
                Wait(customer, f"{plan.noun} {plan.name}", holders) for customer in waiting
            ]
        for barrier, name in enumerate(self.plan.barriers, tables.run[0].first_barrier_queue):
            waits_found += [
                Wait(customer, f"barrier {name}") for customer in self._customers_in_queue(barrier)
            ]
        return waits_found

    def _customers_in_queue(self, queue: int) -> list[int]:
        """List the customers in a queue."""
        customers = []
        token = self.state.queue[queue, 0]
        while token >= 0:
            customers.append(int(self.state.token[token].customer))
            token = self.state.token[token].next
        return customers


@lru_cache(maxsize=1)
def _initial_tables(plan: Plan, traced: int) -> State:
    """Return the tables of a run at time 0, without tokens; cached for the next replication of the
    plan.
    """
    layout = Layout(plan)
    draws = plan.draws
    labels = len(plan.labels)
    block_size = BLOCKS[-1] if any(not draw.distribution.is_constant for draw in draws) else 1
    run = _run_at_start(plan, layout)
    return State(
        **_instruction_table(plan),
        targets=_whole([*plan.targets, 0]),
        cumulative=np.array([*plan.cumulative, 0.0]),
        counts=np.array([*plan.counts, 0.0]),
        token=np.zeros(0, TOKEN),
        time_by_label=np.zeros((0, labels)),
        last_branch_times=np.zeros((0, labels)),
        registers=np.zeros((0, plan.registers), dtype=np.int64),
        resource=_resource_table(plan, layout),
        queue=np.full((run[0].first_barrier_queue + len(plan.barriers), 2), -1, dtype=np.int64),
        waiting=np.zeros(len(plan.barriers), dtype=np.int64),
        holder=np.zeros(sum(lock.permits for lock in plan.locks), dtype=np.int64),
        **_breaker_tables(plan),
        rates=np.array([*(rate for station in plan.stations for rate in station.rates), 0.0]),
        **_pool_tables(plan),
        group=_group_table(plan, layout),
        heap=np.zeros(0, _name_columns("order token", "time")),
        values=np.zeros((max(len(draws), 1), block_size)),
        values_taken=np.zeros(len(draws), dtype=np.int64),
        values_ready=np.zeros(len(draws), dtype=np.int64),
        run=run,
        statistics=np.zeros(layout.width),
        rows=np.zeros((ROWS_KEPT, layout.width)),
        responses=np.zeros((len(plan.groups), TIMES_KEPT)),
        trace=np.zeros(traced, _name_columns("customer index pc", "time")),
    )


def _run_at_start(plan: Plan, layout: Layout) -> Rows:
    """Return the row with the numbers of a run as a whole at time 0."""
    run: Rows = np.zeros(1, RUN)
    run[0].first_free = run[0].running = -1
    run[0].cycles_per_row = run[0].cycles_to_row = cycles_per_row(plan)
    run[0].alive = plan.population
    run[0].first_lock = len(plan.stations)
    run[0].tally_column, run[0].pipeline_column = (
        min(columns, default=0) for columns in (layout.tries, layout.executions)
    )
    run[0].first_barrier_queue = 1 + 3 * len(plan.resources)
    return run


def _instruction_table(plan: Plan) -> dict[str, Any]:
    """Return the instructions of a plan, with the constant time of each, or else the number of the
    distribution that it draws from.
    """
    draw_numbers = [_distribution_number(*row) for row in plan.code]
    distributions = [draw.distribution for draw in plan.draws]
    constants = [distributions[number].mean if number >= 0 else 0.0 for number in draw_numbers]
    varying_draws = (
        -1 if number >= 0 and distributions[number].is_constant else number
        for number in draw_numbers
    )
    return {
        "code": np.array(plan.code, dtype=np.int64).reshape(len(plan.code), -1),
        "constants": np.array(constants),
        "draw_number": _whole(varying_draws),
    }


def _whole(numbers: Any) -> Ints:
    return np.array(list(numbers), dtype=np.int64)


def _distribution_number(op: int, *operands: int) -> int:
    """Return the number of the distribution that an instruction draws a value from, or -1."""
    at_first = (Op.DELAY, Op.DRAW_DESTINATION, Op.CHOOSE, Op.BACK_OFF, Op.PATIENCE, Op.PICK)
    first = dict.fromkeys(at_first, 0)
    place = {
        **first,
        Op.SERVE: 1,
        Op.SET_COUNT: 2,
        Op.PIPELINE: 1,
        Op.AWAIT_TURN: 3,
        Op.RECORD: 3,
    }.get(Op(op))
    return -1 if place is None else operands[place]


def _resource_table(plan: Plan, layout: Layout) -> Rows:
    """Return the table of stations and locks."""
    count = len(plan.resources)
    table: Rows = np.zeros(count, RESOURCE)
    table["statistics_column"], table["next_to_leave"] = layout.present_time, -1
    for copy, name in enumerate(("queue", "serving", "spinning")):
        table[name] = 1 + copy * count + np.arange(count)
    stations = table[: len(plan.stations)]
    locks = table[len(plan.stations) :]
    kinds = {ARRIVAL: StationKind.FCFS, RANDOM: StationKind.FCFS, SHARED: StationKind.SHARED}
    paced = {ARRIVAL: StationKind.SHARED, SHARED: StationKind.SHARED}
    rates = accumulate((len(station.rates) for station in plan.stations), initial=0)
    for row, station, first in zip(stations, plan.stations, rates, strict=False):
        discipline = DISCIPLINES[station.discipline]
        row.servers = station.servers
        row.rate_count = len(station.rates)
        row.first_rate = first
        row.kind = (
            paced.get(discipline.order, StationKind.ORDERED)
            if station.rates
            else kinds.get(discipline.order, StationKind.ORDERED)
        )
        if station.may_be_abandoned and discipline.order == ARRIVAL and station.rates:
            row.kind = StationKind.ORDERED
        if station.is_weighted:
            row.kind = StationKind.WEIGHTED
        row.serves_in_arrival_order = row.kind == StationKind.SHARED and discipline.order == ARRIVAL
        row.last_first = discipline.order == REVERSE
        row.in_random_order = discipline.order == RANDOM
        row.preempts = discipline.preemptive
        row.overtime = station.overtime
    for number, column in layout.extra_time.items():
        stations[number].waits_column = column
    for number, column in layout.given_up_time.items():
        stations[number].given_up_column = column
    locks["waits_column"], locks["servers"] = layout.grants, [lock.permits for lock in plan.locks]
    locks["busy"] = [lock.permits if lock.noun == COUNTER else 0 for lock in plan.locks]
    guards = [lock for lock, plan in zip(locks, plan.locks, strict=True) if plan.rule is not None]
    for number, guard in enumerate(guards):
        guard.kind, guard.breaker = StationKind.BREAKER, number
    locks["first_holder"] = np.cumsum(locks["servers"]) - locks["servers"]
    return table


def _breaker_tables(plan: Plan) -> dict[str, Any]:
    """Return the table of circuit breakers, and the outcomes of the last tries at each."""
    rules = [lock.rule for lock in plan.locks if lock.rule is not None]
    table: Rows = np.zeros(len(rules), BREAKER)
    firsts = accumulate((rule.calls for rule in rules), initial=0)
    for row, rule, first in zip(table, rules, firsts, strict=False):
        row.failures, row.calls, row.trials, row.first_outcome = (
            *(rule.failures, rule.calls, rule.trials),
            first,
        )
    return {"breaker": table, "outcome": _whole([0] * sum(rule.calls for rule in rules))}


def _group_table(plan: Plan, layout: Layout) -> Rows:
    """Return the table of groups of customers."""
    table: Rows = np.zeros(len(plan.groups), GROUP)
    table["kind"] = [GroupKind[group.kind.upper()] for group in plan.groups]
    table["first_instruction"] = [group.starts[0] for group in plan.groups]
    table["arrival_draw"] = [group.arrivals for group in plan.groups]
    table["statistics_column"], table["first_label_column"] = (
        layout.cycles,
        layout.first_label_column,
    )
    return table


def _pool_tables(plan: Plan) -> dict[str, Any]:
    """Return the tables of all pools of tasks, with the pools one after the other."""
    pool = list[tuple[int, ...]]()
    task = list[list[int]]()
    part_rows = list[list[int]]()
    problem = [0]
    root = list[int]()
    times = list[float]()
    queues = 0
    for each in plan.pools:
        tasks = len(task)
        part_count = len(part_rows)
        fixed = (
            len(plan.stations) + each.tasks,
            len(plan.stations) + each.monitor,
            each.queues,
            each.last_first,
        )
        pool.append((*fixed, len(each.roots), queues, len(problem) - 1, 0, 0))
        queues += each.queues
        for roots in each.roots:
            root += [tasks + root for root in roots]
            problem.append(len(root))
        last = {end - 1 for end in each.first}
        task += [[part_count + first, -1, -1] for first in each.first[:-1]]
        part_rows += [
            [tasks + label if label >= 0 else -1, index in last]
            for index, label in enumerate(each.added)
        ]
        times += each.times
    return {
        "pool": np.array(pool, POOL),
        "problem": _whole(problem),
        "root": _whole(root),
        "task": _whole(task).reshape(-1, 3),
        "task_queue": np.full((queues, 2), -1, dtype=np.int64),
        "part": _whole(part_rows).reshape(-1, 2),
        "part_time": np.array(times),
    }


def _enlarged_tables(old: State, tokens: int, events: int) -> State:
    """Return the tables with room for more tokens and events."""

    def longer(name: str, more: int) -> NDArray[Any]:
        table = getattr(old, name)
        enlarged = np.zeros((len(table) + more, *table.shape[1:]), dtype=table.dtype)
        enlarged[: len(table)] = table
        return enlarged

    wide = {
        name: longer(name, tokens)
        for name in ("token", "time_by_label", "last_branch_times", "registers")
    }
    new = old._replace(**wide, heap=longer("heap", events))
    tokens_before = len(old.token)
    run = new.run[0]
    new.token["next"][tokens_before:] = [
        *range(tokens_before + 1, tokens_before + tokens),
        run.first_free,
    ]
    run.first_free = tokens_before
    run.free_count += tokens
    return new
