"""The plain kernel: one run of a plan in plain Python, the executable specification of the
simulator.

Each instruction is a method named after it: it takes the operands that `slipstick.sim.plan.plan.Op`
lists, the token that executes it and the time, changes the state of the run, and says whether the
token goes on at once (True) or waits (False). A parameter named in `Kernel.tables` is the object
there that the operand numbers; any other is the operand itself. The compiled kernel
(`slipstick_compiled`) gives the same events and the same statistics to the last bit.

A spin lock is written in several instructions (see `slipstick.sim.plan.builder`): each test or
test-and-set is a visit to the station that holds the lock word, then ATTEMPT, AWAIT_FREE or
AWAIT_TURN looks at the state of the lock itself. The numbers of requests and of releases, which are
counted anyway, are the tickets that a ticket lock hands out and calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from heapq import heappush
from typing import Any

from slipstick.late import Array, np
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import Layout, cycles_per_row
from slipstick.sim.plain.event_loop import Action, EventLoop, LogTime, ObserveResource, Token
from slipstick.sim.plain.stations import (
    NEVER_WAITED,
    QueueStatistics,
    SimulatedBreaker,
    SimulatedLock,
    SimulatedPool,
    make_lock,
    make_station,
    put_in_order,
)
from slipstick.sim.plan.plan import CustomerGroup, Op, PickRule, Plan, Where

Trace = list[tuple[float, int, int, int]]
"""(time [s], customer, branch or item, number of the instruction) of every instruction executed."""

Draws = Iterator[float]
"""Values of a random quantity."""

PLACES = 2.0**53
"""Positions in a random order: as many as a random number distinguishes."""


class Kernel(EventLoop):
    """One run of a plan, event by event.

    Parameters
    ----------
    plan : what to run
    seed, replication : keys of the random streams
    trace : collects what is executed
    log, observe : called with all time booked, and with the states of resources, see `LogTime` and
        `ObserveResource`

    Attributes
    ----------
    rows : cumulative statistics, see `slipstick.sim.estimate`, until they are taken
    responses : times of the cycles ended, by group, until they are taken [s]
    draws : values of each random quantity
    free_tokens : of customers of open groups that have left, to be used again, by group
    tries, refusals : by tally, number of arrivals, and of arrivals turned away
    executions, execution_time : by pipeline, number of executions, and their times added up [s]
    alive : customers of a program that have not ended
    unawaited_branches, unended_branches : number of branches that were left behind or not waited
        for, and of those that have not ended
    """

    def __init__(
        self,
        plan: Plan,
        seed: int = 0,
        replication: int = 0,
        *,
        trace: Trace | None = None,
        log: LogTime | None = None,
        observe: ObserveResource | None = None,
    ) -> None:
        super().__init__(log, observe)
        self.plan = plan
        self.layout = Layout(plan)
        self.cycles_per_row = self.cycles_to_row = cycles_per_row(plan)
        self.rows: list[list[float]] = []
        self.responses: list[list[float]] = [[] for _ in plan.groups]
        self.cycles = [0] * len(plan.groups)
        self.cycle_time = [0.0] * len(plan.groups)
        self.totals = [[0.0] * len(plan.labels) for _ in plan.groups]
        self.alive = plan.population
        self.unawaited_branches = self.unended_branches = 0
        self.free_tokens: list[list[Token]] = [[] for _ in plan.groups]
        self.draws = [self._draw_values(draw, seed, replication) for draw in range(len(plan.draws))]
        self.stations = [make_station(self, station) for station in plan.stations]
        self.locks = [make_lock(self, lock) for lock in plan.locks]
        self.resources: list[QueueStatistics] = [*self.stations, *self.locks]
        self.task_pools = [SimulatedPool(pool, self.locks) for pool in plan.pools]
        self.barriers: list[list[Token]] = [[] for _ in plan.barriers]
        self.tries = [0] * len(plan.tallies)
        self.refusals = [0] * len(plan.tallies)
        self.executions = [0] * len(plan.pipelines)
        self.execution_time = [0.0] * len(plan.pipelines)
        self.tables = self._tables_of_operands()
        counts_work = any(row[0] == Op.PICK and row[3] == PickRule.LEAST_WORK for row in plan.code)
        for station in self.stations:
            station.counts_work = counts_work
        for instruction_number, row in enumerate(plan.code):
            action = self._bound_action(*row)
            self.code.append(action if trace is None else traced(action, instruction_number, trace))
        self._start_customers()

    def _tables_of_operands(self) -> dict[str, Sequence[Any]]:
        """Return the lists to which operands of instructions are indices, each keyed by the names
        of the parameters of the instruction methods.
        """
        return {
            "draw": self.draws,
            # Operand 0 stands for a queue without a random order, and below for no lock that is
            # passed on; -1 finds the None at the end.
            "place_draw": [None, *self.draws],
            **dict.fromkeys(("rounds", "first_pause", "longest_pause"), self.plan.counts),
            **dict.fromkeys(("lock", "counter", "breaker"), self.locks),
            **{name: [*self.locks, None] for name in ("monitor", "notifying_lock", "taken_lock")},
            "passed_lock": [None, *self.locks],
            "waiting_tokens": self.barriers,
            "pool": self.task_pools,
        }

    def _bound_action(self, operation: int, *operands: int) -> partial[Any]:
        """Return the method of an instruction with its operands bound, so that an event needs no
        look-up.
        """
        instruction_method = getattr(Kernel, Op(operation).name.lower())
        # The names of the parameters say which table an operand is a number of.
        parameter_names = instruction_method.__code__.co_varnames[
            1 : instruction_method.__code__.co_argcount - 2
        ]
        # Rows of a plan are filled up with zeros to one length.
        bound_operands = [
            self.tables[parameter_name][operand] if parameter_name in self.tables else operand
            for parameter_name, operand in zip(parameter_names, operands, strict=False)
        ]
        return partial(instruction_method, self, *bound_operands)

    def _draw_values(self, draw_number: int, seed: int, replication: int) -> Draws:
        """Return the values of a random quantity, drawn block by block."""
        drawn_quantity = self.plan.draws[draw_number]
        if drawn_quantity.distribution.is_constant:
            return itertools.repeat(drawn_quantity.distribution.mean)
        return itertools.chain.from_iterable(
            block.tolist() for block in drawn_quantity.blocks(seed, replication)
        )

    def _start_customers(self) -> None:
        """Make the customers present at the start ready, and plan the first arrivals."""
        customer_numbers = itertools.count()
        for group_index, customer_group in enumerate(self.plan.groups):
            if customer_group.kind == "open":
                self._plan_arrivals(group_index, customer_group)
                continue
            for first_instruction in customer_group.starts:
                token = self.make_token(next(customer_numbers), group_index)
                token.instruction_number = first_instruction
                self.ready.append(token)

    def _plan_arrivals(self, group_index: int, customer_group: CustomerGroup) -> None:
        """Plan the arrivals of an open group; tokens of customers that have left are used again."""
        free_tokens = self.free_tokens[group_index]
        times_between = self.draws[customer_group.arrivals]
        first_instruction = customer_group.starts[0]
        order = self.order
        heap = self.heap
        customer_numbers = itertools.count()

        def arrive(_: None, now: float) -> bool:
            """Start an arriving customer, and plan the next arrival."""
            heappush(heap, (now + next(times_between), order(), arrive, None))
            # A token has an account of all labels: those of customers that have left are used
            # again.
            token = free_tokens.pop() if free_tokens else self.make_token(0, group_index)
            token.customer = next(customer_numbers)
            token.instruction_number = first_instruction
            token.cycle_start = now
            token.booked_until = now
            return self.go_on(token, now)

        heappush(heap, (next(times_between), order(), arrive, None))

    def make_token(
        self, customer: int, group_index: int = 0, parent: Token | None = None, index: int = 0
    ) -> Token:
        """Make a token that begins now."""
        time_by_label = [0.0] * len(self.plan.labels)
        registers = [0] * self.plan.registers
        destination = 0 if parent is None else parent.destination
        return Token(
            customer,
            group_index,
            time_by_label,
            registers,
            parent,
            index,
            destination,
            self.now,
            self.now,
        )

    def snapshot(self, now: float) -> None:
        """Write a row of cumulative statistics at the present time."""
        statistics_row = [now, float(self.order())]
        for cycle_count, cycle_time in zip(self.cycles, self.cycle_time, strict=True):
            statistics_row += [float(cycle_count), cycle_time]
        for resource in self.resources:
            resource.accumulate(now)
            statistics_row += [
                resource.present_time,
                resource.busy_time,
                float(resource.ended_visits),
            ]
        for time_by_label in self.totals:
            statistics_row += time_by_label
        for tries, refusals in zip(self.tries, self.refusals, strict=True):
            statistics_row += [float(tries), float(refusals)]
        for lock in self.locks:
            statistics_row += [float(lock.grants), lock.waiting_time, lock.squared_waits]
        statistics_row += [
            self.stations[station_number].extra_time
            for station_number in self.layout.extra_time_column_by_station
        ]
        statistics_row += [
            self.stations[station_number].given_up_time
            for station_number in self.layout.given_up_time_column_by_station
        ]
        for executions, execution_time in zip(self.executions, self.execution_time, strict=True):
            statistics_row += [float(executions), execution_time]
        self.rows.append(statistics_row)

    def take_rows(self) -> Array:
        """Return the rows of statistics written since the last call, and remove them here."""
        statistics_rows = np.array(self.rows).reshape(len(self.rows), self.layout.column_count)
        self.rows.clear()
        return statistics_rows

    def take_responses(self, group_index: int) -> Array:
        """Return the response times of the cycles of a group that ended since the last call, and
        remove them here [s].
        """
        response_times = np.array(self.responses[group_index])
        self.responses[group_index].clear()
        return response_times

    def waits(self) -> list[Wait]:
        """List the customers that wait for locks and barriers."""
        waits = []
        for lock_plan, lock in zip(self.plan.locks, self.locks, strict=True):
            holding_customers = tuple(holding_token.customer for holding_token in lock.holders)
            waits += [
                Wait(waiter.customer, f"{lock_plan.noun} {lock_plan.name}", holding_customers)
                for waiter in (*lock.queue, *lock.spinning)
            ]
        for barrier_name, waiting_tokens in zip(self.plan.barriers, self.barriers, strict=True):
            waits += [Wait(token.customer, f"barrier {barrier_name}") for token in waiting_tokens]
        return waits

    def delay(self, draw: Draws, label: int, token: Token, now: float) -> bool:
        """Suspend the token for a drawn time."""
        token.label = label
        heappush(self.heap, (now + next(draw), self.order(), self.resume, token))
        return False

    def serve(
        self,
        station_number: int,
        draw: Draws,
        label: int,
        wait_label: int,
        where: int,
        rank: int,
        place_draw: Draws | None,
        token: Token,
        now: float,
    ) -> bool:
        """Send the token to a station; where its order is random, also draw the token's place in
        the queue.
        """
        token.label = label
        token.wait_label = wait_label
        token.rank = rank
        if place_draw is not None:
            token.queue_place = next(place_draw)
        if where:
            station_number += token.customer if where == Where.OWN else token.destination
        self.stations[station_number].enter(token, next(draw), now)
        return False

    def patience(
        self,
        draw: Draws,
        exit_instruction: int,
        cut_label: int,
        token: Token,
        now: float,
    ) -> bool:
        """Limit the time of the customer in the queue of its next visit or, with a label for
        services that are given up, the time of the whole visit.
        """
        token.patience = next(draw)
        token.exit_instruction = exit_instruction
        token.cut_label = cut_label
        return True

    def consult(
        self,
        breaker: SimulatedBreaker,
        tally: int,
        register: int,
        refusal_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Ask a circuit breaker to admit a try, and note the state that admits it."""
        self.tries[tally] += 1
        token.registers[register] = state_number = breaker.admit(now)
        if state_number < 0:
            self.refusals[tally] += 1
            token.instruction_number = refusal_instruction
        return True

    def record(
        self,
        breaker: SimulatedBreaker,
        register: int,
        has_failed: int,
        draw: Draws,
        token: Token,
        now: float,
    ) -> bool:
        """Report to a circuit breaker that a try has ended, and whether it has failed."""
        breaker.record(token.registers[register], has_failed, next(draw), now)
        return True

    def weight(self, weight_index: int, token: Token, now: float) -> bool:
        """Set the weight of the customer in its next visit."""
        token.weight = self.plan.counts[weight_index]
        return True

    def draw_destination(
        self, draw: Draws, first_station: int, customers: int, token: Token, now: float
    ) -> bool:
        """Choose one of the other customers at random, for a visit to its station."""
        # One of the n - 1 others, counted from the next one on, so that it is never itself.
        distance = int(next(draw) * (customers - 1))
        token.destination = (
            first_station + (token.customer - first_station + 1 + distance) % customers
        )
        return True

    def next_destination(
        self, first_station: int, customers: int, token: Token, now: float
    ) -> bool:
        """Choose the j-th other customer as destination, where j is the number of the branch or
        item.
        """
        token.destination = (
            first_station
            + (token.customer - first_station + 1 + token.index % (customers - 1)) % customers
        )
        return True

    def choose(
        self, draw: Draws, first_option: int, option_count: int, token: Token, now: float
    ) -> bool:
        """Jump to one of several instructions; to the last where rounding leaves a gap in the
        probabilities.
        """
        random_number = next(draw)
        cumulative = self.plan.cumulative
        option = first_option
        while option < first_option + option_count - 1 and random_number >= cumulative[option]:
            option += 1
        token.instruction_number = self.plan.targets[option]
        return True

    def pick(
        self,
        draw: Draws,
        tally: int,
        rule: int,
        first_target: int,
        option_count: int,
        token: Token,
        now: float,
    ) -> bool:
        """Jump to one of several instructions, chosen in turn or by the number of customers present
        at the resource of each, or by the work left there.
        """
        random_number = next(draw)
        jump_targets = self.plan.targets
        resource_numbers = jump_targets[
            first_target + option_count : first_target + 2 * option_count
        ]
        load_by_option: list[float] = [
            self.stations[resource_number].work_per_server(now)
            if rule == PickRule.LEAST_WORK
            else self.resources[resource_number].present_count
            for resource_number in resource_numbers
        ]
        if rule == PickRule.IN_TURN:
            option = self.tries[tally] % option_count
        elif rule in (PickRule.SHORTEST, PickRule.LEAST_WORK):
            # Sums of times that differ by rounding are equal.
            equal_load = min(load_by_option) + NEVER_WAITED * max(load_by_option)
            least_loaded = [
                option_index
                for option_index, load in enumerate(load_by_option)
                if load <= equal_load
            ]
            option = least_loaded[int(random_number * len(least_loaded))]
        else:
            # One random number selects one of the n (n - 1) ordered pairs of different resources.
            option, second_option = divmod(
                int(random_number * option_count * (option_count - 1)), option_count - 1
            )
            second_option += second_option >= option
            option = (
                second_option if load_by_option[second_option] < load_by_option[option] else option
            )
        self.tries[tally] += 1
        token.instruction_number = jump_targets[first_target + option]
        return True

    def jump(self, target: int, token: Token, now: float) -> bool:
        """Continue at another instruction."""
        token.instruction_number = target
        return True

    def set_count(
        self, register: int, rounds: float, draw: Draws, token: Token, now: float
    ) -> bool:
        """Set the remaining rounds of a loop."""
        token.registers[register] = whole_count(rounds, draw)
        return True

    def loop(self, register: int, next_instruction: int, token: Token, now: float) -> bool:
        """Start another round, or continue behind the loop."""
        if token.registers[register] <= 0:
            token.instruction_number = next_instruction
        else:
            token.registers[register] -= 1
        return True

    def switch(self, first_target: int, token: Token, now: float) -> bool:
        """Jump to the instruction that belongs to the token's branch or item."""
        token.instruction_number = self.plan.targets[first_target + token.index]
        return True

    def admit(
        self,
        tally: int,
        resource_number: int,
        capacity: int,
        refusal_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Count an arrival, and turn it away where the station is full."""
        self.tries[tally] += 1
        if capacity and self.resources[resource_number].present_count >= capacity:
            self.refusals[tally] += 1
            token.instruction_number = refusal_instruction
        return True

    def count_access(
        self,
        tally: int,
        local_customer: int,
        notifying_lock: SimulatedLock | None,
        token: Token,
        now: float,
    ) -> bool:
        """Count an access to the word or flag of a lock; a local access also counts as refused. The
        flag of a next holder that waits is never local.
        """
        self.tries[tally] += 1
        next_holder_waits = notifying_lock is not None and notifying_lock.queue
        self.refusals[tally] += not next_holder_waits and local_customer in (-1, token.customer)
        return True

    def start_response(self, token: Token, now: float) -> bool:
        """Begin to measure the response time of this cycle now, instead of at its start."""
        token.cycle_start = now
        return True

    def end(self, goes_onward: int, is_lost: int, token: Token, now: float) -> bool:
        """Record the end of a cycle: a closed customer begins another cycle, an open one leaves,
        and a customer of a program is finished.

        The time of a cycle that was lost does not count, but its account does.
        """
        group_index = token.group
        cycle_start = token.cycle_start
        time_by_label = token.time_by_label
        group_kind = self.plan.groups[group_index].kind
        total_by_label = self.totals[group_index]
        if not is_lost:
            self.responses[group_index].append(now - cycle_start)
            self.cycle_time[group_index] += now - cycle_start
            self.cycles[group_index] += 1
        for label, booked_time in enumerate(time_by_label):
            if booked_time:
                total_by_label[label] += booked_time
                time_by_label[label] = 0.0
        if group_kind == "once":
            self.alive -= 1
            if not self.alive:
                self.snapshot(now)
            return False
        if group_kind == "closed":
            token.cycle_start = now
            if not goes_onward:
                token.instruction_number = self.plan.groups[group_index].starts[0]
        if not is_lost:
            self.cycles_to_row -= 1
            if not self.cycles_to_row:
                self.cycles_to_row = self.cycles_per_row
                self.snapshot(now)
        if group_kind == "open":
            self.free_tokens[group_index].append(token)
            return False
        if cycle_start == now:
            # Through the event list, so that a cycle that takes no time does not exclude the other
            # tokens.
            heappush(self.heap, (now, self.order(), self.go_on, token))
        return cycle_start != now

    def fork(
        self,
        first_target: int,
        branch_count: int,
        next_instruction: int,
        awaited_branches: int,
        passed_lock: SimulatedLock | None,
        token: Token,
        now: float,
    ) -> bool:
        """Start one token for each branch, and suspend the parent. Where a lock is in
        `passed_lock`, there is one branch: its token takes over the lock and the number of the
        parent.
        """
        token.instruction_number = next_instruction
        token.branches_left = awaited_branches
        token.last_end = -1.0
        token.branches = []
        for branch_index in range(branch_count):
            branch = self.make_token(token.customer, token.group, token, branch_index)
            branch.booked_until = now
            branch.instruction_number = self.plan.targets[first_target + branch_index]
            token.branches.append(branch)
            self.ready.append(branch)
        if passed_lock is not None:
            (branch,) = token.branches
            # It goes on where this token would, before others that are ready.
            self.ready.rotate(1)
            branch.index = token.index
            passed_lock.holders = [
                branch if holder is token else holder for holder in passed_lock.holders
            ]
        return False

    def reply(self, fork_count: int, token: Token, now: float) -> bool:
        """Resume the customer of a hold before all tokens that are ready, and this token after
        them. The token `fork_count` levels above this one executes the body of the hold. The times
        booked by that token, by this one and by the tokens between them are added to the customer's
        account.
        """
        tokens_upwards = [token]
        for _ in range(fork_count):
            parent = tokens_upwards[-1].parent
            assert parent is not None
            tokens_upwards.append(parent)
        body_token = tokens_upwards[-1]
        customer_token = tokens_upwards[-1].parent
        assert customer_token is not None
        for level_token in tokens_upwards:
            for label, booked_time in enumerate(level_token.time_by_label):
                customer_token.time_by_label[label] += booked_time
        body_token.parent = None
        customer_token.booked_until = now
        self.unawaited_branches += 1
        self.unended_branches += 1
        self.ready.appendleft(customer_token)
        self.ready.append(token)
        return False

    def spawn(
        self, first_instruction: int, taken_lock: SimulatedLock | None, token: Token, now: float
    ) -> bool:
        """Start a second token that runs in parallel with this one, and that takes over the lock
        `taken_lock` if there is one.
        """
        new_token = self.make_token(token.customer, token.group)
        new_token.booked_until = now
        new_token.instruction_number = first_instruction
        new_token.destination = token.destination
        if taken_lock is None:
            self.unawaited_branches += 1
            self.unended_branches += 1
        else:
            taken_lock.holders = [
                new_token if holder is token else holder for holder in taken_lock.holders
            ]
        self.ready.append(new_token)
        return True

    def vanish(self, token: Token, now: float) -> bool:
        """Remove a token that `spawn` started; its time belongs to no cycle."""
        return False

    def join(self, pipeline_number: int, token: Token, now: float) -> bool:
        """End a branch. After the last branch that is waited for the parent continues, and no
        longer waits for the others.

        The account of the parent follows the branch that ends last; of several that end together,
        the first written.
        """
        parent = token.parent
        if parent is None:
            self.unended_branches -= 1
            return False
        token.parent = None
        if now > parent.last_end or token.index < parent.last_branch:
            parent.last_end = now
            parent.last_branch = token.index
            parent.last_branch_times = token.time_by_label
        parent.branches_left -= 1
        if not parent.branches_left:
            time_by_label = parent.time_by_label
            for label, branch_time in enumerate(parent.last_branch_times):
                time_by_label[label] += branch_time
            if pipeline_number >= 0:
                self.executions[pipeline_number] += 1
                self.execution_time[pipeline_number] += now - parent.booked_until
            parent.booked_until = now
            for branch in parent.branches:
                if branch.parent is not None:
                    branch.parent = None
                    self.unawaited_branches += 1
                    self.unended_branches += 1
            self.ready.append(parent)
        return False

    def while_awaited(self, target: int, token: Token, now: float) -> bool:
        """Jump to another instruction if the fork no longer waits for this branch."""
        if token.parent is None:
            token.instruction_number = target
        return True

    def pipeline(
        self,
        rounds: float,
        draw: Draws,
        first_instruction: int,
        next_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Start one token for each item."""
        token.instruction_number = next_instruction
        item_count = whole_count(rounds, draw)
        if not item_count:
            return True
        token.branches_left = item_count
        token.last_end = -1.0
        previous_item = None
        for item_index in range(item_count):
            item = self.make_token(token.customer, token.group, token, item_index)
            item.booked_until = now
            item.instruction_number = first_instruction
            item.previous_item = previous_item
            if previous_item is not None:
                previous_item.next_item = item
            previous_item = item
            self.ready.append(item)
        return False

    def enter_stage(self, stage: int, token: Token, now: float) -> bool:
        """Wait until the item before has left this serial stage."""
        if token.previous_item is None or token.previous_item.stages_passed > stage:
            return True
        token.awaited_stage = stage
        return False

    def leave_stage(self, stage: int, token: Token, now: float) -> bool:
        """Admit the next item to this serial stage.

        Where the next item waited, it waited for this one: its account up to now becomes a copy of
        this item's.
        """
        token.stages_passed = stage + 1
        next_item = token.next_item
        if next_item is not None and next_item.awaited_stage == stage:
            next_item.awaited_stage = -1
            if now > next_item.booked_until:
                next_item.time_by_label[:] = token.time_by_label
                next_item.booked_until = now
            self.ready.append(next_item)
        return True

    def acquire(
        self,
        lock: SimulatedLock,
        label: int,
        rank: int,
        excludes: int,
        permits: int,
        token: Token,
        now: float,
    ) -> bool:
        """Request a lock or permits, which are granted in the order of the ranks and then of the
        requests.
        """
        token.label = label
        token.rank = rank
        token.excludes = bool(excludes)
        token.permits = permits
        return lock.ask(token, now)

    def release(self, lock: SimulatedLock, permits: int, token: Token, now: float) -> bool:
        """Release the lock or permits."""
        lock.release(token, now, permits)
        return True

    def request(self, lock: SimulatedLock, token: Token, now: float) -> bool:
        """Count the token as present at the lock from now on; it spins."""
        token.permits = 1
        lock.request(token, now)
        return True

    def attempt(
        self,
        lock: SimulatedLock,
        failure_instruction: int,
        only_tests: int,
        token: Token,
        now: float,
    ) -> bool:
        """Take the lock if it is free, or only test whether it is free if `only_tests`; jump to
        `failure_instruction` if it is held.
        """
        if not lock.is_free:
            token.instruction_number = failure_instruction
        elif not only_tests:
            lock.accumulate(now)
            lock.grant(token, now)
        return True

    def await_free(self, lock: SimulatedLock, label: int, token: Token, now: float) -> bool:
        """Wait until the lock is released, spinning on a cached copy that loads no station."""
        if lock.is_free:
            return True
        token.label = label
        lock.spinning.append(token)
        return False

    def back_off(
        self,
        draw: Draws,
        label: int,
        register: int,
        first_pause: float,
        longest_pause: float,
        token: Token,
        now: float,
    ) -> bool:
        """Pause before the next attempt; the mean pause doubles up to a limit."""
        token.label = label
        doubling_count = token.registers[register]
        pause_time = min(first_pause * float(1 << doubling_count), longest_pause) * next(draw)
        # A larger shift would overflow in the compiled loop; no run reaches as many pauses.
        token.registers[register] = min(doubling_count + 1, 60)
        heappush(self.heap, (now + pause_time, self.order(), self.resume, token))
        return False

    def take_ticket(self, lock: SimulatedLock, register: int, token: Token, now: float) -> bool:
        """Take the next number of a ticket lock, and count as present at the lock."""
        # Requests so far are those that ended and those present; `ended_visits`, the number of
        # releases, is the number called.
        token.registers[register], token.permits = lock.ended_visits + lock.present_count, 1
        lock.request(token, now)
        return True

    def await_turn(
        self,
        lock: SimulatedLock,
        label: int,
        register: int,
        draw: Draws,
        reading_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Take the lock if the token's number is called, else wait for the next release and read
        the number again.

        After a release all waiting tokens read the number again, in an order drawn anew each time:
        the order in which a bus or a memory serves them does not depend on their numbers.
        """
        token.key = int(next(draw) * PLACES)
        if token.registers[register] == lock.ended_visits:
            lock.accumulate(now)
            lock.grant(token, now)
            return True
        token.instruction_number = reading_instruction
        token.label = label
        put_in_order(lock.spinning, token)
        return False

    def barrier(
        self, waiting_tokens: list[Token], parties: int, label: int, token: Token, now: float
    ) -> bool:
        """Wait until `parties` have arrived; the last arrival wakes the others in the order of
        arrival.
        """
        if len(waiting_tokens) + 1 < parties:
            token.label = label
            waiting_tokens.append(token)
            return False
        for waiting_token in waiting_tokens:
            self.wake(waiting_token, now)
        waiting_tokens.clear()
        return True

    def wait(
        self,
        counter: SimulatedLock,
        label: int,
        monitor: SimulatedLock | None,
        token: Token,
        now: float,
    ) -> bool:
        """Take a unit of a counter; where there is none, leave the monitor until another token
        gives one.
        """
        token.label = label
        # Through the queue also where a unit is free, so that its wait of 0 s is counted.
        counter.request(token, now)
        counter.queue.append(token)
        if counter.take_free_unit(now):
            return True
        if monitor is not None:
            monitor.release(token, now)
        return False

    def give(
        self,
        counter: SimulatedLock,
        monitor: SimulatedLock | None,
        next_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Return a unit to the token that has waited longest, together with the monitor; else the
        counter keeps the unit.
        """
        if not counter.queue:
            counter.accumulate(now)
            counter.busy_count += 1
        elif monitor is None:
            self.wake(counter.take_first_waiting(now), now)
        else:
            token.instruction_number = next_instruction
            monitor.hand_over(token, counter.take_first_waiting(now), now)
        return True

    def enter_pool(
        self, pool: SimulatedPool, label: int, register: int, token: Token, now: float
    ) -> bool:
        """Request the monitor of the customer's own queue of tasks or, if that is empty, of the
        next queue that has a task.
        """
        pool.begin(now)
        token.registers[register] = queue_number = pool.queue_with_task(
            token.customer % pool.plan.queues
        )
        return pool.enter(queue_number, token, label, now)

    def take_task(
        self,
        pool: SimulatedPool,
        register: int,
        label: int,
        ending_label: int,
        entry_instruction: int,
        next_instruction: int,
        parties: int,
        token: Token,
        now: float,
    ) -> bool:
        """Take a task and leave the monitor; if there is none, wait outside for one, or end the
        problem if all other customers wait already.
        """
        queue_number = token.registers[register]
        if pool.queues[queue_number]:
            token.registers[register + 1] = pool.take(
                queue_number, token.customer % pool.plan.queues, now
            )
            pool.leave(queue_number, token, register, label, now)
            return True
        must_wait = not pool.tasks.busy_count and pool.tasks.present_count + 1 < parties
        if pool.tasks.busy_count:
            token.instruction_number = entry_instruction
        elif must_wait:
            token.instruction_number = entry_instruction + 1
            pool.tasks.request(token, now)
            pool.tasks.queue.append(token)
        else:
            token.instruction_number = next_instruction
            pool.is_open = False
            while pool.tasks.queue:
                waiter = pool.tasks.take_first_waiting(now)
                waiter.label = ending_label
                waiter.instruction_number = next_instruction
                self.wake(waiter, now)
        pool.monitors[queue_number].release(token, now)
        return not must_wait

    def work(
        self, pool: SimulatedPool, register: int, label: int, token: Token, now: float
    ) -> bool:
        """Suspend the token for the time of the current part of its task."""
        token.label = label
        part_time = pool.plan.times[token.registers[register + 1]]
        heappush(self.heap, (now + part_time, self.order(), self.resume, token))
        return False

    def next_part(
        self,
        pool: SimulatedPool,
        register: int,
        label: int,
        work_instruction: int,
        entry_instruction: int,
        token: Token,
        now: float,
    ) -> bool:
        """Request the monitor of the customer's own queue if the current part adds a task; else
        begin the next part.
        """
        current_part = token.registers[register + 1]
        if pool.plan.added[current_part] >= 0:
            return pool.enter(token.customer % pool.plan.queues, token, label, now)
        token.registers[register + 1] += 1
        token.instruction_number = (
            entry_instruction if current_part in pool.last_parts else work_instruction
        )
        return True

    def add_task(
        self,
        pool: SimulatedPool,
        register: int,
        work_instruction: int,
        entry_instruction: int,
        label: int,
        token: Token,
        now: float,
    ) -> bool:
        """Put the new task into the customer's own queue, leave its monitor, and begin the next
        part of the present task, or ask for another task after its last part.
        """
        current_part = token.registers[register + 1]
        queue_number = token.customer % pool.plan.queues
        pool.add(queue_number, pool.plan.added[current_part], now)
        token.registers[register + 1] += 1
        token.instruction_number = (
            entry_instruction if current_part in pool.last_parts else work_instruction
        )
        pool.leave(queue_number, token, register, label, now)
        return True


def whole_count(count: float, draw: Draws) -> int:
    """Return a whole number of rounds or items; the fraction is the probability of one more."""
    least_count = int(count)
    return least_count + (next(draw) < count - least_count)


def traced(action: Action, instruction_number: int, trace: Trace) -> Action:
    """Return an action that first adds an execution of its instruction to a trace."""

    def run_traced(token: Token, now: float) -> bool:
        trace.append((now, token.customer, token.index, instruction_number))
        return action(token, now)

    return run_traced
