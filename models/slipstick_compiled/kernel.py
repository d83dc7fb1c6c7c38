"""The compiled kernel: the results of the plain kernel, by a loop compiled with numba.

The loop returns when its number of events is done, and whenever it needs Python: for a new block of
random numbers, for larger tables, or to hand over rows. It then continues where it was. Its state
is a tuple of tables: of plain numbers, or of rows whose columns have names here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipstick.errors import MissingExtraError, NoAnswerError
from slipstick.late import Array
from slipstick.limits import advice_on_limit, limit_in_force
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
    _row_dtype,
)

AVAILABLE = find_spec("numba") is not None
"""Whether numba is installed, without which no kernel can be compiled."""

ROWS_KEPT = 256
"""Number of rows of statistics that the loop writes before it hands them over."""
TIMES_KEPT = 8192
"""Number of response times of a group that the loop writes before it hands them over."""

BYTES_PER_CUSTOMER = 500
"""Memory of a customer in the tables, of which the limit on customers is made; half as much again
is used while the tables are enlarged [B].
"""

_TABLES_OF_TOKENS = ("token", "time_by_label", "last_branch_times", "registers")
"""The tables that have a row for each token."""


class CompiledKernel:
    """One run of a plan in compiled code, with the same results as `Kernel`, which runs in plain
    Python.

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
        from slipstick_compiled.loop import run_events

        self.plan = plan
        self._run_events = run_events
        self._trace = trace
        self._blocks = [draw.blocks(seed, replication) for draw in plan.draws]
        self._statistics_blocks: list[Array] = []
        self._response_blocks: list[list[Array]] = [[] for _ in plan.groups]
        initial_tables = State._make(
            table.copy() for table in _initial_tables(plan, 0 if trace is None else 4096)
        )
        self.state = _enlarged_tables(
            initial_tables, plan.population + 16, 2 * plan.population + 32
        )
        self._start_customers()

    def _start_customers(self) -> None:
        """Start the customers of closed groups and programs, and plan the first arrivals."""
        tables = self.state
        run_record = self.state.run[0]
        token_count = 0
        first_arrivals = list[tuple[float, int, int]]()
        for group_number, group in enumerate(self.plan.groups):
            if group.kind == "open":
                self._refill_draws(group.arrivals)
                tables.values_taken[group.arrivals] = 1
                first_arrivals.append(
                    (tables.values[group.arrivals, 0], len(first_arrivals), -1 - group_number)
                )
                continue
            group_tokens = tables.token[token_count : token_count + len(group.starts)]
            group_tokens["group"], group_tokens["instruction_number"] = group_number, group.starts
            token_count += len(group_tokens)
        started_tokens = tables.token[:token_count]
        started_tokens["customer"], started_tokens["permits"], started_tokens["weight"] = (
            np.arange(token_count),
            1,
            1.0,
        )
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
            started_tokens[column] = -1
        if token_count:
            tables.queue[READY], run_record.first_free, started_tokens["next"][-1] = (
                (0, token_count - 1),
                started_tokens["next"][-1],
                -1,
            )
            run_record.free_count -= token_count
        # A sorted list is a heap.
        tables.heap[: len(first_arrivals)] = [
            (event_order, token_code, time)
            for time, event_order, token_code in sorted(first_arrivals)
        ]
        run_record.next_order = run_record.events_planned = len(first_arrivals)

    def _refill_draws(self, draw_number: int) -> None:
        """Supply the loop with the next block of random numbers of the draw with a number."""
        tables = self.state
        distribution = self.plan.draws[draw_number].distribution
        value_block = (
            np.full(tables.values.shape[1], distribution.mean)
            if distribution.is_constant
            else next(self._blocks[draw_number])
        )
        tables.values[draw_number, : len(value_block)] = value_block
        tables.values_taken[draw_number], tables.values_ready[draw_number] = 0, len(value_block)

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
        last_event_number = self.events + events
        while True:
            return_reason = self._run_events(self.state, last_event_number - self.events)
            run_record = self.state.run[0]
            if return_reason == Return.NEEDS_RANDOM:
                self._refill_draws(run_record.needed)
            elif return_reason == Return.NEEDS_SPACE:
                added_row_count = max(int(run_record.needed), len(self.state.token))
                self._refuse_many_tokens(len(self.state.token) + added_row_count)
                self.state = _enlarged_tables(self.state, added_row_count, 2 * added_row_count)
            else:
                self._take_out_rows()
                if return_reason != Return.TABLE_FULL:
                    return bool(return_reason == Return.EVENTS_DONE)

    def _refuse_many_tokens(self, token_count: int) -> None:
        """Raise an error if tables of so many tokens take more memory than the customers that the
        limit allows, such as where arrivals in a burst wait by the million.
        """
        bytes_per_token = 2 * self.state.heap.itemsize + sum(
            getattr(self.state, name).itemsize * math.prod(getattr(self.state, name).shape[1:])
            for name in _TABLES_OF_TOKENS
        )
        customer_count = token_count * bytes_per_token / BYTES_PER_CUSTOMER
        if customer_count > limit_in_force("customers"):
            raise NoAnswerError(
                f"more than {len(self.state.token):,} customers and branches are in progress after"
                f" {self.events:,} events, at {self.now:.4g} s, and take"
                f" {token_count * bytes_per_token / 1e6:,.0f} MB of memory: they begin faster than"
                " they end, as in a long burst, or last longer than the run; shorten the burst or"
                f" their times, {advice_on_limit('customers', customer_count)}"
            )

    def _take_out_rows(self) -> None:
        """Copy rows of statistics, response times and the trace out of the tables of the loop,
        which then have room for new ones.
        """
        tables = self.state
        run_record = self.state.run[0]
        self._statistics_blocks.append(tables.rows[: run_record.row_count].copy())
        for group_number, time_blocks in enumerate(self._response_blocks):
            time_blocks.append(
                tables.responses[group_number, : tables.group[group_number].response_count].copy()
            )
        tables.group["response_count"] = 0
        if self._trace is not None:
            self._trace += [
                (time, *executed_instruction)
                for *executed_instruction, time in tables.trace[: run_record.trace_length].tolist()
            ]
        run_record.row_count = run_record.trace_length = 0

    def take_rows(self) -> Array:
        """Return the rows of statistics written since the last call, and forget them."""
        rows = np.concatenate(
            [np.zeros((0, Layout(self.plan).column_count)), *self._statistics_blocks]
        )
        self._statistics_blocks.clear()
        return rows

    def take_responses(self, group_number: int) -> Array:
        """Return the response times of the cycles of a group that ended since the last call, and
        forget them [s].
        """
        response_times = np.concatenate([np.zeros(0), *self._response_blocks[group_number]])
        self._response_blocks[group_number].clear()
        return response_times

    def waits(self) -> list[Wait]:
        """List the customers that wait for locks and barriers, with the holders of each lock."""
        tables = self.state
        waits = []
        for resource, lock_plan in zip(
            tables.resource[len(self.plan.stations) :], self.plan.locks, strict=True
        ):
            holders = tuple(
                tables.token[
                    tables.holder[
                        resource.first_holder : resource.first_holder + resource.busy_count
                    ]
                ]["customer"].tolist()
            )
            waiting_customers = [
                *self._customers_in_queue(resource.queue),
                *self._customers_in_queue(resource.spinning),
            ]
            waits += [
                Wait(customer, f"{lock_plan.noun} {lock_plan.name}", holders)
                for customer in waiting_customers
            ]
        for queue_number, barrier_name in enumerate(
            self.plan.barriers, tables.run[0].first_barrier_queue
        ):
            waits += [
                Wait(customer, f"barrier {barrier_name}")
                for customer in self._customers_in_queue(queue_number)
            ]
        return waits

    def _customers_in_queue(self, queue_number: int) -> list[int]:
        """List the customers in the queue with a number, in its order."""
        customers = []
        token_number = self.state.queue[queue_number, 0]
        while token_number >= 0:
            customers.append(int(self.state.token[token_number].customer))
            token_number = self.state.token[token_number].next
        return customers


@lru_cache(maxsize=1)
def _initial_tables(plan: Plan, trace_length: int) -> State:
    """Return the tables of a run at time 0, without tokens; the last ones are kept for the next
    replication of the plan. `trace_length` is the number of rows of the trace.
    """
    layout = Layout(plan)
    draws = plan.draws
    label_count = len(plan.labels)
    block_size = BLOCKS[-1] if any(not draw.distribution.is_constant for draw in draws) else 1
    run_table = _run_at_start(plan, layout)
    return State(
        **_instruction_table(plan),
        targets=_whole_numbers([*plan.targets, 0]),
        cumulative=np.array([*plan.cumulative, 0.0]),
        counts=np.array([*plan.counts, 0.0]),
        token=np.zeros(0, TOKEN),
        time_by_label=np.zeros((0, label_count)),
        last_branch_times=np.zeros((0, label_count)),
        registers=np.zeros((0, plan.registers), dtype=np.int64),
        resource=_resource_table(plan, layout),
        queue=np.full(
            (run_table[0].first_barrier_queue + len(plan.barriers), 2), -1, dtype=np.int64
        ),
        waiting=np.zeros(len(plan.barriers), dtype=np.int64),
        holder=np.zeros(sum(lock.permits for lock in plan.locks), dtype=np.int64),
        **_breaker_tables(plan),
        rates=np.array([*(rate for station in plan.stations for rate in station.rates), 0.0]),
        **_pool_tables(plan),
        group=_group_table(plan, layout),
        heap=np.zeros(0, _row_dtype("order token", "time")),
        values=np.zeros((max(len(draws), 1), block_size)),
        values_taken=np.zeros(len(draws), dtype=np.int64),
        values_ready=np.zeros(len(draws), dtype=np.int64),
        run=run_table,
        statistics=np.zeros(layout.column_count),
        rows=np.zeros((ROWS_KEPT, layout.column_count)),
        responses=np.zeros((len(plan.groups), TIMES_KEPT)),
        trace=np.zeros(trace_length, _row_dtype("customer index instruction_number", "time")),
    )


def _run_at_start(plan: Plan, layout: Layout) -> Rows:
    """Return the table of one row that holds the numbers of the run as a whole, at time 0."""
    run_table: Rows = np.zeros(1, RUN)
    run_table[0].first_free = run_table[0].running = -1
    run_table[0].cycles_per_row = run_table[0].cycles_to_row = cycles_per_row(plan)
    run_table[0].alive = plan.population
    run_table[0].first_lock = len(plan.stations)
    run_table[0].tally_column, run_table[0].pipeline_column = (
        min(columns, default=0) for columns in (layout.try_columns, layout.execution_columns)
    )
    run_table[0].first_barrier_queue = 1 + 3 * len(plan.resources)
    return run_table


def _instruction_table(plan: Plan) -> dict[str, Any]:
    """Return the instructions of a plan, with the constant time of each, or else the number of the
    distribution that it draws from.
    """
    draw_numbers = [_draw_number_of_instruction(*instruction) for instruction in plan.code]
    distributions = [draw.distribution for draw in plan.draws]
    constants = [
        distributions[draw_number].mean if draw_number >= 0 else 0.0 for draw_number in draw_numbers
    ]
    varying_draws = (
        -1 if draw_number >= 0 and distributions[draw_number].is_constant else draw_number
        for draw_number in draw_numbers
    )
    return {
        "code": np.array(plan.code, dtype=np.int64).reshape(len(plan.code), -1),
        "constants": np.array(constants),
        "draw_number": _whole_numbers(varying_draws),
    }


def _whole_numbers(numbers: Any) -> Ints:
    """Return numbers as an array of whole numbers."""
    return np.array(list(numbers), dtype=np.int64)


def _draw_number_of_instruction(op: int, *operands: int) -> int:
    """Return the number of the draw from which an instruction takes its value; -1 if it draws
    none.
    """
    ops_of_first_operand = (
        Op.DELAY,
        Op.DRAW_DESTINATION,
        Op.CHOOSE,
        Op.BACK_OFF,
        Op.PATIENCE,
        Op.PICK,
    )
    operand_index_by_op = dict.fromkeys(ops_of_first_operand, 0)
    operand_index = {
        **operand_index_by_op,
        Op.SERVE: 1,
        Op.SET_COUNT: 2,
        Op.PIPELINE: 1,
        Op.AWAIT_TURN: 3,
        Op.RECORD: 3,
    }.get(Op(op))
    return -1 if operand_index is None else operands[operand_index]


def _resource_table(plan: Plan, layout: Layout) -> Rows:
    """Return the table with a row for each station and each lock."""
    resource_count = len(plan.resources)
    resource_table: Rows = np.zeros(resource_count, RESOURCE)
    resource_table["statistics_column"], resource_table["next_to_leave"] = (
        layout.present_time_columns,
        -1,
    )
    for kind_number, queue_column in enumerate(("queue", "serving", "spinning")):
        resource_table[queue_column] = 1 + kind_number * resource_count + np.arange(resource_count)
    station_rows = resource_table[: len(plan.stations)]
    lock_rows = resource_table[len(plan.stations) :]
    kind_by_order = {
        ARRIVAL: StationKind.FCFS,
        RANDOM: StationKind.FCFS,
        SHARED: StationKind.SHARED,
    }
    kind_with_rates_by_order = {ARRIVAL: StationKind.SHARED, SHARED: StationKind.SHARED}
    first_rates = accumulate((len(station.rates) for station in plan.stations), initial=0)
    for station_row, station, first_rate in zip(
        station_rows, plan.stations, first_rates, strict=False
    ):
        discipline = DISCIPLINES[station.discipline]
        station_row.servers = station.servers
        station_row.rate_count = len(station.rates)
        station_row.first_rate = first_rate
        station_row.kind = (
            kind_with_rates_by_order.get(discipline.order, StationKind.ORDERED)
            if station.rates
            else kind_by_order.get(discipline.order, StationKind.ORDERED)
        )
        if station.may_be_abandoned and discipline.order == ARRIVAL and station.rates:
            station_row.kind = StationKind.ORDERED
        if station.is_weighted:
            station_row.kind = StationKind.WEIGHTED
        station_row.serves_in_arrival_order = (
            station_row.kind == StationKind.SHARED and discipline.order == ARRIVAL
        )
        station_row.last_first = discipline.order == REVERSE
        station_row.in_random_order = discipline.order == RANDOM
        station_row.preempts = discipline.preemptive
        station_row.overtime = station.overtime
    for resource_number, column in layout.extra_time_column_by_station.items():
        station_rows[resource_number].waits_column = column
    for resource_number, column in layout.given_up_time_column_by_station.items():
        station_rows[resource_number].given_up_column = column
    lock_rows["waits_column"], lock_rows["servers"] = (
        layout.grant_columns,
        [lock_plan.permits for lock_plan in plan.locks],
    )
    lock_rows["busy_count"] = [
        lock_plan.permits if lock_plan.noun == COUNTER else 0 for lock_plan in plan.locks
    ]
    breaker_rows = [
        lock_row
        for lock_row, lock_plan in zip(lock_rows, plan.locks, strict=True)
        if lock_plan.rule is not None
    ]
    for resource_number, breaker_row in enumerate(breaker_rows):
        breaker_row.kind, breaker_row.breaker = StationKind.BREAKER, resource_number
    lock_rows["first_holder"] = np.cumsum(lock_rows["servers"]) - lock_rows["servers"]
    return resource_table


def _breaker_tables(plan: Plan) -> dict[str, Any]:
    """Return the table of circuit breakers, and the table of the outcomes of the last tries at each
    of them.
    """
    rules = [lock.rule for lock in plan.locks if lock.rule is not None]
    breaker_table: Rows = np.zeros(len(rules), BREAKER)
    first_outcomes = accumulate((rule.calls for rule in rules), initial=0)
    for breaker_row, rule, first_outcome in zip(breaker_table, rules, first_outcomes, strict=False):
        breaker_row.failures, breaker_row.calls, breaker_row.trials, breaker_row.first_outcome = (
            *(rule.failures, rule.calls, rule.trials),
            first_outcome,
        )
    return {
        "breaker": breaker_table,
        "outcome": _whole_numbers([0] * sum(rule.calls for rule in rules)),
    }


def _group_table(plan: Plan, layout: Layout) -> Rows:
    """Return the table of groups of customers."""
    group_table: Rows = np.zeros(len(plan.groups), GROUP)
    group_table["kind"] = [GroupKind[group.kind.upper()] for group in plan.groups]
    group_table["first_instruction"] = [group.starts[0] for group in plan.groups]
    group_table["arrival_draw"] = [group.arrivals for group in plan.groups]
    group_table["statistics_column"], group_table["first_label_column"] = (
        layout.cycle_columns,
        layout.first_label_columns,
    )
    return group_table


def _pool_tables(plan: Plan) -> dict[str, Any]:
    """Return the tables of all pools of tasks, with the pools one after the other."""
    pool_rows = list[tuple[int, ...]]()
    task_rows = list[list[int]]()
    part_rows = list[list[int]]()
    problem_ends = [0]
    root_tasks = list[int]()
    part_times = list[float]()
    queue_count = 0
    for pool_plan in plan.pools:
        tasks_before = len(task_rows)
        parts_before = len(part_rows)
        fixed_columns = (
            len(plan.stations) + pool_plan.tasks,
            len(plan.stations) + pool_plan.monitor,
            pool_plan.queues,
            pool_plan.last_first,
        )
        pool_rows.append(
            (*fixed_columns, len(pool_plan.roots), queue_count, len(problem_ends) - 1, 0, 0)
        )
        queue_count += pool_plan.queues
        for roots in pool_plan.roots:
            root_tasks += [tasks_before + root for root in roots]
            problem_ends.append(len(root_tasks))
        last_parts = {first_of_next_task - 1 for first_of_next_task in pool_plan.first}
        task_rows += [[parts_before + first_part, -1, -1] for first_part in pool_plan.first[:-1]]
        part_rows += [
            [tasks_before + added_task if added_task >= 0 else -1, part_index in last_parts]
            for part_index, added_task in enumerate(pool_plan.added)
        ]
        part_times += pool_plan.times
    return {
        "pool": np.array(pool_rows, POOL),
        "problem": _whole_numbers(problem_ends),
        "root": _whole_numbers(root_tasks),
        "task": _whole_numbers(task_rows).reshape(-1, 3),
        "task_queue": np.full((queue_count, 2), -1, dtype=np.int64),
        "part": _whole_numbers(part_rows).reshape(-1, 2),
        "part_time": np.array(part_times),
    }


def _enlarged_tables(tables: State, added_tokens: int, added_events: int) -> State:
    """Return the tables with room for more tokens and events."""

    def lengthened_table(table_name: str, added_rows: int) -> NDArray[Any]:
        """Return a copy of a table with further rows of zeros at its end."""
        table = getattr(tables, table_name)
        enlarged_table = np.zeros((len(table) + added_rows, *table.shape[1:]), dtype=table.dtype)
        enlarged_table[: len(table)] = table
        return enlarged_table

    token_tables = {name: lengthened_table(name, added_tokens) for name in _TABLES_OF_TOKENS}
    larger_tables = tables._replace(**token_tables, heap=lengthened_table("heap", added_events))
    tokens_before = len(tables.token)
    run_record = larger_tables.run[0]
    larger_tables.token["next"][tokens_before:] = np.arange(added_tokens) + tokens_before + 1
    larger_tables.token["next"][-1] = run_record.first_free
    run_record.first_free = tokens_before
    run_record.free_count += added_tokens
    return larger_tables
