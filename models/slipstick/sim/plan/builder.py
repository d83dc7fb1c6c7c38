"""Building plans: customers' cycles as nested bodies; locks as programs of instructions.

`Builder` writes single instructions and keeps the tables that their operands point into, and writes
what an activity needs: choices, loops, forks, pipelines, holds, barriers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import accumulate

from slipstick.errors import ModelError, NoAnswerError, did_you_mean, look_up
from slipstick.late import dataclass, replace
from slipstick.sim.plan.distributions import DistributedTime, ServiceTime, Times
from slipstick.sim.plan.plan import (
    BREAKER,
    COUNTER,
    OPERANDS,
    BreakerRule,
    CustomerGroup,
    Draw,
    LockPlan,
    Op,
    Plan,
    PoolPlan,
    StationPlan,
    Where,
)
from slipstick.vocabulary import (
    BACK_OFF_TIME,
    BACK_OFFS,
    DISCIPLINES,
    GIVEN_UP_TIME,
    RANDOM,
    ROUTES,
    SHARED,
)

LOCKS = ("fifo", "tas", "ttas", "ticket", "queue")
"""The algorithms of locks: hand-over in the order of requests at no cost; test-and-set;
test-and-test-and-set; tickets, where all waiting processors read the number called again at each
release; and a queue of processors, each of which spins on a word of its own.
"""

ACCESSES = "accesses"
"""The beginning of the name of a tally that counts the accesses to the word of a lock; the name of
the lock follows.
"""

TRIES, GIVEN_UP, PRESENT, CONSULTED = "tries", "attempts", "present", "consulted"
"""The beginnings of the names of tallies, which the name of a resource ends. They count tries to
visit a resource and those abandoned; attempts of several tries and those given up; tries at a queue
with a limit and those that find it full; tries that ask a circuit breaker and those that it
refuses.
"""

MOST_WEIGHT = 1e6
"""Largest ratio of the weights of two visits to a shared server [1]. The simulator adds up the
service of a customer of weight 1 in doubles, and begins again from 0 only at an empty station:
after n services of the smallest weight, that of the largest has a relative error of up to 2e-16
times n times this ratio.
"""

NO_TIME = ServiceTime("deterministic", 0.0, 0.0)

UNIFORM = ServiceTime("uniform", 0.5, 1 / 3)

_CONSTANT_HALF = ServiceTime("deterministic", 0.5, 0.0)
_CONSTANT_ONE = ServiceTime("deterministic", 1.0, 0.0)

_UNIFORM_ABOUT_ONE = ServiceTime("uniform", 1.0, 1 / 3)

Body = Callable[[], object]


@dataclass(frozen=True, slots=True)
class LockImplementation:
    """The implementation of a lock: its kind, the station that holds its word, and its back-off.

    Parameters
    ----------
    kind : one of `LOCKS`
    word : station that holds the lock word; None if an access costs nothing
    access : time of one access to it
    back_off : one of `BACK_OFFS`; exponential is random about a mean that doubles
    first_back_off, longest_back_off : mean back-off the first time, and at most [s]
    home : processor at whose node the word lies; None if accesses are not counted
    own_flags : of a queue of processors, accesses of an acquire, and of a release, to a flag at the
        own node
    """

    kind: str = "fifo"
    word: str | None = None
    access: ServiceTime = NO_TIME
    back_off: str = "none"
    first_back_off: float = 0.0
    longest_back_off: float = float("inf")
    home: int | None = None
    own_flags: int = 0

    def __post_init__(self) -> None:
        for field_name, value, allowed_values in (
            ("lock", self.kind, LOCKS),
            ("back-off", self.back_off, BACK_OFFS),
        ):
            if value not in allowed_values:
                raise ModelError(
                    f"no kernel knows the {field_name}"
                    f" {value!r}{did_you_mean(value, allowed_values)}"
                )
        tries_at_once = self.kind == "tas" and (self.back_off == "none" or self.first_back_off == 0)
        if tries_at_once and (self.word is None or self.access.mean == 0):
            raise ModelError(
                "a test-and-set lock without back-off needs a word whose access takes time, or it"
                " would try again without end at one instant"
            )


class Builder:
    """Builds a plan, instruction by instruction.

    >>> builder = Builder()
    >>> builder.add_station("cpu")
    >>> builder.serve("cpu", ServiceTime("exponential", 0.8))
    >>> plan = builder.add_open_group("jobs", ServiceTime("exponential", 1.0), first_instruction=0)
    >>> [Op(row[0]).name for row in builder.plan().code]
    ['SERVE', 'END']
    """

    def __init__(self) -> None:
        self._instructions: list[list[int]] = []
        self._draw_by_stream: dict[str, tuple[int, Draw]] = {}
        self._stations: list[StationPlan] = []
        self._first_station_by_name: dict[str, int] = {}
        self._lock_entry_by_name: dict[str, tuple[int, LockPlan, LockImplementation]] = {}
        self._groups: list[CustomerGroup] = []
        self._pool_by_name: dict[str, PoolPlan] = {}
        self._handover_instructions_by_monitor: dict[int, list[int]] = {}
        self._barrier_number_by_name: dict[str, int] = {}
        self._label_number_by_name: dict[str, int] = {}
        self._jump_targets: list[int] = []
        self._cumulative_probabilities: list[float] = []
        self._constants: list[float] = []
        self._tally_names: list[str] = []
        self._weight_range_by_station: dict[str, tuple[float, float]] = {}
        self._abandoned_stations: set[str] = set()
        self._stations_that_cut: set[str] = set()
        self._next_visit_is_limited = False
        self._cutting_instruction = -1
        self._pipeline_number_by_name: dict[str, int] = {}
        self._instruction_by_mark: dict[str, int] = {}
        self._open_targets: list[tuple[list[int], int, str]] = []
        self._register_count_in_use = self._register_count = 0

    @property
    def next_instruction(self) -> int:
        """Number of the next instruction."""
        return len(self._instructions)

    def emit(self, op: Op, *operands: int) -> int:
        """Append an instruction to the plan, and return its number."""
        self._instructions.append([int(op), *map(int, operands), *[0] * (OPERANDS - len(operands))])
        return len(self._instructions) - 1

    def patch(
        self, instruction: int, operand_index: int, target_instruction: int | None = None
    ) -> None:
        """Fill in a target that was not known when an instruction was written, by default the
        next instruction.
        """
        self._instructions[instruction][1 + operand_index] = (
            self.next_instruction if target_instruction is None else target_instruction
        )

    def add_station(
        self,
        station_name: str,
        servers: int = 1,
        discipline: str = "fcfs",
        copies: int = 1,
        rates: Sequence[float] = (),
        overtime: bool = False,
    ) -> None:
        """Add a station, or a row of equal stations, such as one for each customer."""
        if station_name in self._first_station_by_name:
            raise ModelError(f"two stations are called {station_name}")
        self._first_station_by_name[station_name] = len(self._stations)
        station = StationPlan(station_name, servers, discipline, tuple(rates), overtime=overtime)
        self._stations += [station] * copies

    def add_lock(self, lock_name: str, implementation: LockImplementation | None = None) -> None:
        """Add a lock. If its word lies at the node of a processor, a tally counts all accesses
        to the word, and, in its counter of refusals, the local ones.
        """
        self._lock_entry_by_name[lock_name] = (
            len(self._lock_entry_by_name),
            LockPlan(lock_name),
            implementation or LockImplementation(),
        )
        if self._lock_entry_by_name[lock_name][2].home is not None:
            self._tally_names.append(f"{ACCESSES}:{lock_name}")

    def add_permits(self, resource_name: str, most_holders: int, noun: str = "permits") -> None:
        """Add a resource that up to `most_holders` customers hold at the same time, or a counter of
        units; taking and returning one takes no time.
        """
        self._lock_entry_by_name[resource_name] = (
            len(self._lock_entry_by_name),
            LockPlan(resource_name, most_holders, noun),
            LockImplementation(),
        )

    def add_breaker(self, breaker_name: str, rule: BreakerRule) -> None:
        """Add a circuit breaker."""
        plan = LockPlan(breaker_name, noun=BREAKER, rule=rule)
        self._lock_entry_by_name[breaker_name] = (
            len(self._lock_entry_by_name),
            plan,
            LockImplementation(),
        )

    def add_pool(
        self,
        pool_name: str,
        problems: Sequence[Sequence[int]],
        tasks: Sequence[Sequence[tuple[float, int]]],
        queues: int = 1,
        last_first: bool = True,
    ) -> None:
        """Add a pool of tasks.

        Parameters
        ----------
        pool_name : name of the pool, and in answers of the monitors of its queues
        problems : for each problem, the tasks that exist at the start
        tasks : for each task, its parts: the work of the part [s], and the number of the task that
            is added after it, or -1
        queues, last_first : see `PoolPlan`
        """
        self.add_permits(f"{pool_name}.tasks", 0, COUNTER)
        first_monitor = len(self._lock_entry_by_name)
        for queue_index in range(queues):
            self._lock_entry_by_name[f"{pool_name} {queue_index}"] = (
                first_monitor + queue_index,
                LockPlan(pool_name, noun="monitor"),
                LockImplementation(),
            )
        part_times, added_tasks = zip(*(part for task in tasks for part in task), strict=True)
        first_part_by_task = tuple(accumulate((len(task) for task in tasks), initial=0))
        self._pool_by_name[pool_name] = PoolPlan(
            first_monitor - 1,
            first_monitor,
            queues,
            last_first,
            tuple(map(tuple, problems)),
            first_part_by_task,
            part_times,
            added_tasks,
        )

    def label(self, label_name: str) -> int:
        """Return the number of a label of the account of time; add the label if it is new."""
        return self._label_number_by_name.setdefault(label_name, len(self._label_number_by_name))

    def draw(self, stream: str, distribution: Times) -> int:
        """Return the number of the random quantity of a stream; add it if it is new. One stream
        serves one quantity.
        """
        draw_number, draw_plan = self._draw_by_stream.setdefault(
            stream, (len(self._draw_by_stream), Draw(stream, distribution))
        )
        if draw_plan.distribution != distribution:
            raise ModelError(f"two different quantities are drawn from the stream {stream}")
        return draw_number

    def delay(
        self, time: ServiceTime | DistributedTime, label: str = "delay", stream: str | None = None
    ) -> None:
        """Write the instruction that suspends a customer for a random time."""
        self.emit(Op.DELAY, self.draw(stream or label, time), self.label(label))

    def serve(
        self,
        station: str,
        time: ServiceTime | DistributedTime,
        label: str | None = None,
        *,
        stream: str | None = None,
        wait: str | None = None,
        where: Where = Where.FIXED,
        offset: int = 0,
        rank: int = 0,
        weight: float = 1.0,
    ) -> None:
        """Write the instruction of a visit to a station. `where` and `offset` select one of a row
        of equal stations; `weight` is the weight of the visit at a shared server.
        """
        station_number = self._station_number(station) + offset
        self._refuse_unequal_weights(station, weight)
        if self._next_visit_is_limited:
            self._abandoned_stations.add(station)
            if self._cutting_instruction >= 0:
                self._stations_that_cut.add(station)
                self._instructions[self._cutting_instruction][3] = 1 + self.label(
                    f"{GIVEN_UP_TIME}:{station}"
                )
            self._next_visit_is_limited = False
        if weight != 1.0:
            self.emit(Op.WEIGHT, self._index_of_constant(weight))
        service_label = label or station
        time_draw = self.draw(stream or service_label, time)
        wait_label = self.label(wait or f"wait:{station}")
        is_random = DISCIPLINES[self._stations[station_number].discipline].order == RANDOM
        order_draw = 1 + self.draw(f"{station}:order", UNIFORM) if is_random else 0
        self.emit(
            Op.SERVE,
            station_number,
            time_draw,
            self.label(service_label),
            wait_label,
            where,
            rank,
            order_draw,
        )

    def _refuse_unequal_weights(self, station_name: str, weight: float) -> None:
        """Raise if a visit has a weight that differs too much from another one at the station."""
        least_weight, greatest_weight = self._weight_range_by_station.get(
            station_name, (weight, weight)
        )
        least_weight = min(least_weight, weight)
        greatest_weight = max(greatest_weight, weight)
        self._weight_range_by_station[station_name] = least_weight, greatest_weight
        if greatest_weight > MOST_WEIGHT * least_weight:
            raise NoAnswerError(
                f"the weights of visits to {station_name} go from {least_weight:g} to"
                f" {greatest_weight:g}; of those that are"
                f" simulated none is over {MOST_WEIGHT:g} times another: where one visit has nearly"
                " all of the server, give the station the discipline priority-preemptive"
            )

    def _completed_station(self, station: StationPlan) -> StationPlan:
        """Return the plan of a station with the settings that follow from its visits: whether the
        part of the servers of each customer is followed, and whether customers abandon its queue or
        give up services.
        """
        least_weight, greatest_weight = self._weight_range_by_station.get(station.name, (1.0, 1.0))
        is_weighted = station.servers > 1 and least_weight < greatest_weight
        if station.name in self._stations_that_cut:
            is_weighted |= DISCIPLINES[station.discipline].order == SHARED
        return replace(
            station,
            is_weighted=is_weighted,
            may_be_abandoned=station.name in self._abandoned_stations,
            may_cut_services=station.name in self._stations_that_cut,
        )

    def draw_destination(self, customer_count: int, stream: str) -> None:
        """Write the instruction that chooses another customer at random as the destination of the
        requests that follow.
        """
        self.emit(Op.DRAW_DESTINATION, self.draw(stream, UNIFORM), 0, customer_count)

    def next_destination(self, customer_count: int) -> None:
        """Write the instruction that sends the requests that follow to the j-th other customer,
        where j is the number of the branch or item.
        """
        self.emit(Op.NEXT_DESTINATION, 0, customer_count)

    def admit(
        self, tally: str, station: str | None = None, capacity: int = 0, refusal_mark: str = ""
    ) -> None:
        """Write the instruction that counts an arrival at a tally. If `capacity` customers are
        present at the station, or hold the permits of that name, the arrival also counts as refused
        and continues at the mark `refusal_mark`.
        """
        if tally in self._tally_names:
            raise ModelError(f"two tallies are called {tally}")
        self._tally_names.append(tally)
        resource_number = self._resource_and_servers(station)[0] if station else 0
        instruction = self.emit(Op.ADMIT, len(self._tally_names) - 1, resource_number, capacity, -1)
        # A mark may lie behind: its instruction is known when the plan is complete.
        if capacity:
            self._open_targets.append((self._instructions[instruction], 4, refusal_mark))

    def admit_by_draw(
        self,
        tally: str,
        station: str,
        capacities: Sequence[tuple[float, int]],
        refusal_mark: str,
    ) -> None:
        """Write the instructions that count an arrival and refuse it if a resource is full, as
        `admit` does. The capacity is drawn for each arrival, from pairs of a probability and a
        capacity.
        """
        tally_number = self._tally_number(tally)
        resource_number = self._resource_and_servers(station)[0]

        def write_limit(capacity: int) -> None:
            """Write the admission of an arrival with the given capacity."""
            instruction = self.emit(Op.ADMIT, tally_number, resource_number, capacity, -1)
            self._open_targets.append((self._instructions[instruction], 4, refusal_mark))

        options = [(share, partial(write_limit, capacity)) for share, capacity in capacities]
        self.choose(options, f"{tally}: limit")

    def limit_next_visit(
        self, time: ServiceTime, exit_mark: str, stream: str, cuts_service: bool = False
    ) -> None:
        """Write the instruction that limits the waiting time of the next visit, or also its
        service; a customer that abandons it goes on at the mark `exit_mark`.
        """
        instruction = self.emit(Op.PATIENCE, self.draw(stream, time), -1, 0)
        self._open_targets.append((self._instructions[instruction], 2, exit_mark))
        self._next_visit_is_limited = True
        self._cutting_instruction = instruction if cuts_service else -1

    def take_permit(self, permits: str, label: str, rank: int = 0) -> None:
        """Write the instruction that takes a permit; `return_permit` returns it. The wait is booked
        to the label, and requests of a smaller rank go before it.
        """
        self.emit(Op.ACQUIRE, self._lock_entry(permits)[0], self.label(label), rank, 0, 1)

    def return_permit(self, permits: str) -> None:
        """Write the instruction that returns a permit taken by `take_permit`."""
        self.emit(Op.RELEASE, self._lock_entry(permits)[0], 1)

    def jump(self, mark: str) -> None:
        """Write a jump to a mark."""
        instruction = self.emit(Op.JUMP, -1)
        self._open_targets.append((self._instructions[instruction], 1, mark))

    def mark(self, mark_name: str) -> None:
        """Name the next instruction, which `jump`, `jump_at_random` and `admit` may have
        as target.
        """
        self._instruction_by_mark[mark_name] = self.next_instruction

    def jump_at_random(self, marks: Sequence[tuple[float, str]], stream: str) -> None:
        """Write a jump to one of several marks at random, from pairs of a probability and a
        mark.
        """
        # A single mark reads a constant, so that the jump uses up no random number.
        draw_number = (
            self.draw(stream, UNIFORM) if len(marks) > 1 else self.draw("whole", _CONSTANT_HALF)
        )
        first_target = self._write_choice([probability for probability, _ in marks], draw_number)
        self._open_targets += [
            (self._jump_targets, target_index, mark)
            for target_index, (_, mark) in enumerate(marks, first_target)
        ]

    def choose(self, options: Sequence[tuple[float, Body]], stream: str) -> None:
        """Write a choice of one of several bodies of instructions, by their probabilities."""
        first_target = self._write_choice(
            [probability for probability, _ in options], self.draw(stream, UNIFORM)
        )
        self._write_alternatives(first_target, [body for _, body in options])

    def pick(self, options: Sequence[tuple[str, Body]], rule_name: str, pick_label: str) -> None:
        """Write a choice of one of several bodies of instructions by a rule of `ROUTES`: in turn,
        or by the number of customers present at the resource named with each.
        """
        first_target = self._reserve_targets(2 * len(options))
        option_count = len(options)
        self._jump_targets[first_target + option_count :] = [
            self._resource_and_servers(resource_name)[0] for resource_name, _ in options
        ]
        draw_number = self.draw(f"pick-{pick_label}", UNIFORM)
        tally_number = self._tally_number(f"picks:{pick_label}")
        self.emit(
            Op.PICK,
            draw_number,
            tally_number,
            list(ROUTES).index(rule_name),
            first_target,
            option_count,
        )
        self._write_alternatives(first_target, [body for _, body in options])

    def repeat(self, count: float, body: Body, stream: str) -> None:
        """Write a loop that executes a body `count` times; a fraction of the count is the
        probability of one more round.
        """
        with self.reserved_register() as register:
            self.emit(Op.SET_COUNT, register, *self._count_operands(count, stream))
            loop_instruction = self.emit(Op.LOOP, register, -1)
            body()
            if count == 0 or self.next_instruction == loop_instruction + 1:
                # No rounds, or rounds of nothing, take no time; but a loop around them would take
                # the simulator's, without an event that could be counted.
                del self._instructions[loop_instruction - 1 :]
                return
            self.emit(Op.JUMP, loop_instruction)
            self.patch(loop_instruction, 1)

    def repeat_geometrically(self, mean_count: float, body: Body, stream: str) -> None:
        """Write a loop that executes a body a random number of times, geometric from 0 on, of mean
        `mean_count`.
        """
        first_instruction = self.next_instruction
        first_target = self._write_choice(
            [mean_count / (1 + mean_count), 1 / (1 + mean_count)], self.draw(stream, UNIFORM)
        )
        self._jump_targets[first_target] = self.next_instruction
        body()
        self.emit(Op.JUMP, first_instruction)
        self._jump_targets[first_target + 1] = self.next_instruction

    def repeat_with_probability(self, probability: float, body: Body, stream: str) -> None:
        """Write a body that is repeated with a probability after each execution."""
        first_instruction = self.next_instruction
        body()
        first_target = self._write_choice(
            [probability, 1 - probability], self.draw(stream, UNIFORM)
        )
        self._jump_targets[first_target:] = [first_instruction, self.next_instruction]

    def fork(self, branches: Sequence[Body], awaited_count: int | None = None) -> None:
        """Write a fork, whose branches are executed in parallel. The customer waits for all of
        them, or for the first `awaited_count` that end.
        """
        if awaited_count == 0:
            self._write_unawaited_branches(branches)
            return
        first_target = self._reserve_targets(len(branches))
        fork_instruction = self.emit(
            Op.FORK, first_target, len(branches), -1, awaited_count or len(branches)
        )
        for branch_index, body in enumerate(branches):
            self._jump_targets[first_target + branch_index] = self.next_instruction
            body()
            self.emit(Op.JOIN, -1)
        self.patch(fork_instruction, 2)

    def while_awaited(self, body: Body) -> None:
        """Write a body that is executed only while the fork still waits for the branch that
        contains it.
        """
        instruction = self.emit(Op.WHILE_AWAITED, -1)
        body()
        self.patch(instruction, 0)

    def _write_unawaited_branches(self, branches: Sequence[Body]) -> None:
        """Write branches that run in parallel with the customer, which does not wait for them."""
        # The customer jumps over the bodies, whose first instructions are filled in once they are
        # written.
        spawn_instructions = [self.emit(Op.SPAWN, -1, -1) for _ in branches]
        jump_over = self.emit(Op.JUMP, -1)
        for spawn_instruction, body in zip(spawn_instructions, branches, strict=True):
            self.patch(spawn_instruction, 0)
            body()
            self.emit(Op.JOIN, -1)
        self.patch(jump_over, 0)

    def pipeline(
        self, items: float, stages: Sequence[tuple[bool, Sequence[Body]]], pipeline_name: str
    ) -> None:
        """Write the stages that items pass through. A stage is a pair: whether it is serial, and
        its bodies, one for all items or one for each.
        """
        pipeline_number = self._pipeline_number_by_name.setdefault(
            pipeline_name, len(self._pipeline_number_by_name)
        )
        pipeline_instruction = self.emit(
            Op.PIPELINE,
            *self._count_operands(items, f"{pipeline_name}:items"),
            self.next_instruction + 1,
            -1,
        )
        stage_number = 0
        for is_serial, bodies in stages:
            if is_serial:
                self.emit(Op.ENTER_STAGE, stage_number)
            if len(bodies) == 1:
                bodies[0]()
            else:
                first_target = self._reserve_targets(len(bodies))
                self.emit(Op.SWITCH, first_target)
                self._write_alternatives(first_target, bodies)
            if is_serial:
                self.emit(Op.LEAVE_STAGE, stage_number)
                stage_number += 1
        self.emit(Op.JOIN, pipeline_number)
        self.patch(pipeline_instruction, 3)

    def _write_admission(self, resource_name: str, queue_limit: int, refused_mark: str) -> None:
        """Write the instruction that refuses a visit, and continues at a mark, if `queue_limit`
        customers wait for the resource already.
        """
        resource_number, place_count = self._resource_and_servers(resource_name)
        tally_number = self._tally_number(f"{PRESENT}:{resource_name}")
        admit_instruction = self.emit(
            Op.ADMIT, tally_number, resource_number, place_count + queue_limit, -1
        )
        self._open_targets.append((self._instructions[admit_instruction], 4, refused_mark))

    def attempt(
        self,
        time_limit: ServiceTime | None,
        visit: Body,
        fallback: Body,
        resource_name: str,
        *,
        attempt_number: str,
        retries: int = 0,
        back_off: ServiceTime | None = None,
        doubles: bool = False,
        queue_limit: int | None = None,
        cuts_service: bool = False,
        breaker: tuple[str, ServiceTime] | None = None,
    ) -> None:
        """Write a visit to a station or a hold of a lock that is tried again if it does not begin,
        or does not end, within a time limit.

        Tallies count the tries, those abandoned apart, and the attempts, those given up apart.

        Parameters
        ----------
        time_limit : of the time in the queue; None: none
        visit, fallback : a visit, and what is done where the last try is abandoned
        resource_name : of what is waited for
        attempt_number : that tells attempts at one resource apart in the names of streams
        retries : tries after the first
        back_off : pause between two tries, at first
        doubles : each further pause is twice as long
        queue_limit : how many wait at most; None: any number
        cuts_service : the limit ends a service, too
        breaker : asked before each try, with the time for which it opens; None without one
        """
        tries_tally = f"{TRIES}:{resource_name}"
        attempts_tally = f"{GIVEN_UP}:{resource_name}"
        # The number makes the name of the mark unique.
        late_mark = f"attempt at {self.next_instruction} is late"
        refused_mark = f"attempt at {self.next_instruction} is refused"
        with (
            self.reserved_register() as retry_register,
            self.reserved_register() as pause_register,
            self.reserved_register() if breaker else nullcontext(-1) as state_register,
        ):
            self.emit(Op.SET_COUNT, retry_register, *self._count_operands(retries, ""))
            self.emit(Op.SET_COUNT, pause_register, *self._count_operands(0, ""))
            first_instruction = self.next_instruction
            if breaker is not None:
                self.consult(breaker[0], state_register, refused_mark)
            if queue_limit is not None:
                self._write_admission(resource_name, queue_limit, late_mark)
            if time_limit is not None:
                stream = f"attempt {attempt_number} at {resource_name}"
                self.limit_next_visit(time_limit, late_mark, stream, cuts_service)
            visit()
            if breaker is not None:
                self.record(breaker, state_register, has_failed=False)
            self._write_tally(tries_tally)
            self._write_tally(attempts_tally)
            jump_to_end = self.emit(Op.JUMP, -1)
            self.mark(late_mark)
            self._write_tally(tries_tally, is_refused=True)
            if breaker is not None:
                self.record(breaker, state_register, has_failed=True)
            self.mark(refused_mark)
            retry_loop = self.emit(Op.LOOP, retry_register, -1)
            if back_off is not None:
                label = f"{BACK_OFF_TIME}:{resource_name}"
                # Of mean 1, because the instruction multiplies it by a pause that may double.
                draw_number = self.draw(f"{label} {attempt_number}", replace(back_off, mean=1.0))
                longest_pause = math.inf if doubles else back_off.mean
                pauses = map(self._index_of_constant, (back_off.mean, longest_pause))
                self.emit(Op.BACK_OFF, draw_number, self.label(label), pause_register, *pauses)
            self.emit(Op.JUMP, first_instruction)
            self.patch(retry_loop, 1)
            self._write_tally(attempts_tally, is_refused=True)
            fallback()
            self.patch(jump_to_end, 0)

    def set_tries(self, retry_register: int, retries: int) -> None:
        """Write the instruction that sets the number of further tries."""
        self.emit(Op.SET_COUNT, retry_register, *self._count_operands(retries, ""))

    def try_again(self, retry_register: int, mark: str, pause: ServiceTime, label: str) -> None:
        """Write a pause and a jump to a mark; both are skipped if no try is left."""
        retry_loop = self.emit(Op.LOOP, retry_register, -1)
        if pause.mean > 0:
            self.delay(pause, label)
        self.jump(mark)
        self.patch(retry_loop, 1)

    def consult(self, breaker_name: str, state_register: int, refused_mark: str) -> None:
        """Write the instruction that asks a circuit breaker before a try."""
        instruction = self.emit(
            Op.CONSULT,
            self._lock_entry(breaker_name)[0],
            self._tally_number(f"{CONSULTED}:{breaker_name}"),
            state_register,
            -1,
        )
        self._open_targets.append((self._instructions[instruction], 4, refused_mark))

    def record(
        self, breaker: tuple[str, ServiceTime], state_register: int, has_failed: bool
    ) -> None:
        """Write the instruction that reports to a circuit breaker that a try has ended, and whether
        it has failed.
        """
        breaker_name, open_time = breaker
        # Only a failure opens it, so that no other draws a time.
        draw_number = (
            self.draw(f"open time of {breaker_name}", open_time)
            if has_failed
            else self.draw("whole", _CONSTANT_HALF)
        )
        self.emit(
            Op.RECORD, self._lock_entry(breaker_name)[0], state_register, has_failed, draw_number
        )

    def _resource_and_servers(self, resource_name: str) -> tuple[int, int]:
        """Return the number of a resource, stations numbered before locks, and its number of
        servers or permits.
        """
        if resource_name in self._lock_entry_by_name:
            resource_number, lock_plan, _ = self._lock_entry_by_name[resource_name]
            return len(self._stations) + resource_number, lock_plan.permits
        resource_number = self._station_number(resource_name)
        return resource_number, self._stations[resource_number].servers

    def _tally_number(self, tally_name: str) -> int:
        """Return the number of a tally, which is added if it is new."""
        if tally_name not in self._tally_names:
            self._tally_names.append(tally_name)
        return self._tally_names.index(tally_name)

    def _write_tally(self, tally_name: str, is_refused: bool = False) -> None:
        """Write an instruction that counts at a tally; a refused customer also counts as turned
        away.
        """
        tally_number = self._tally_number(tally_name)
        if is_refused:
            self.emit(Op.COUNT_ACCESS, tally_number, -1, -1)
        else:
            self.emit(Op.ADMIT, tally_number, 0, 0, -1)

    def hold(
        self,
        lock: str,
        body: Body,
        rank: int = 0,
        excludes: bool = False,
        continuation: Body | None = None,
        permits: int = 1,
        replies: bool = False,
    ) -> None:
        """Write a body that is executed while a lock or permits are held. All time until they are
        held is booked to the label of the lock.

        Parameters
        ----------
        lock, body : what is held, and what is done
        rank : requests of a smaller rank go before it
        excludes : no other holds it at the same time
        continuation : what is done then, still holding it, while the customer goes on
        permits : how many permits are taken at once
        replies : the customer goes on at a `reply` inside the body
        """
        lock_number, lock_plan, implementation = self._lock_entry(lock)
        self._next_visit_is_limited = False
        if implementation.kind in ("fifo", "queue"):
            if implementation.kind == "queue":
                self._write_access(lock_plan, implementation)
            self.emit(Op.ACQUIRE, lock_number, self.label(lock_plan.label), rank, excludes, permits)
        else:
            with self.reserved_register() as register:
                write_acquisition = (
                    self._write_ticket_taking
                    if implementation.kind == "ticket"
                    else self._write_spinning
                )
                write_acquisition(lock_number, lock_plan, implementation, register)
        if replies:
            self._write_hold_with_reply(lock_number, body, permits)
            return
        body()
        if continuation is not None:
            spawn_instruction = self.emit(Op.SPAWN, -1, lock_number)
            jump_over = self.emit(Op.JUMP, -1)
            self.patch(spawn_instruction, 0)
            continuation()
            self.emit(Op.RELEASE, lock_number, permits)
            self.emit(Op.VANISH)
            self.patch(jump_over, 0)
            return
        if implementation.kind != "fifo":
            self._write_access(
                lock_plan, implementation, lock_number if implementation.kind == "queue" else -1
            )
        self.emit(Op.RELEASE, lock_number, permits)
        # The member that hands a monitor over has left it.
        for give_instruction in self._handover_instructions_by_monitor.pop(lock_number, ()):
            self.patch(give_instruction, 2)

    def _write_hold_with_reply(self, lock_number: int, body: Body, permits: int) -> None:
        """Write a body as the only branch of a fork, which takes the lock over and releases it."""
        first_target = self._reserve_targets(1)
        fork_instruction = self.emit(Op.FORK, first_target, 1, -1, 1, lock_number + 1)
        self._jump_targets[first_target] = self.next_instruction
        body()
        self.emit(Op.RELEASE, lock_number, permits)
        self.emit(Op.JOIN, -1)
        self.patch(fork_instruction, 2)

    def reply(self, forks: int) -> None:
        """Write the instruction by which the body of a hold lets its customer go on; `forks` is
        the number of forks around it inside the body.
        """
        self.emit(Op.REPLY, forks)

    def hold_together(self, locks: Sequence[str], body: Body) -> None:
        """Write a body that is executed while several locks are held, which are acquired at one
        moment.

        If another customer holds one of the locks, none is acquired; all are tried again after the
        back-off of that lock.
        """
        lock_entries = [self._lock_entry(lock_name) for lock_name in locks]
        with self.reserved_register() as register:
            for lock_number, _, _ in lock_entries:
                self.emit(Op.REQUEST, lock_number)
            self.emit(Op.SET_COUNT, register, *self._count_operands(0, ""))
            first_attempt = self.next_instruction
            attempt_instructions = [
                self.emit(Op.ATTEMPT, lock_number, -1, 1) for lock_number, _, _ in lock_entries
            ]
            for lock_number, _, _ in lock_entries:
                self.emit(Op.ATTEMPT, lock_number, first_attempt)
        body()
        for lock_number, _, _ in reversed(lock_entries):
            self.emit(Op.RELEASE, lock_number, 1)
        jump_to_end = self.emit(Op.JUMP, -1)
        for attempt_instruction, (_, lock_plan, implementation) in zip(
            attempt_instructions, lock_entries, strict=True
        ):
            self.patch(attempt_instruction, 1)
            self._write_back_off(lock_plan, implementation, register)
            self.emit(Op.JUMP, first_attempt)
        self.patch(jump_to_end, 0)

    def _lock_entry(self, lock_name: str) -> tuple[int, LockPlan, LockImplementation]:
        """Return the number of a lock, its plan, and its implementation."""
        return look_up("lock", lock_name, self._lock_entry_by_name)

    def wait(self, counter: str, monitor: str | None = None) -> None:
        """Write the instruction that takes a unit of a counter. A customer that has to wait for a
        unit leaves the monitor meanwhile.
        """
        counter_number, counter_plan, _ = self._lock_entry(counter)
        self.emit(
            Op.WAIT,
            counter_number,
            self.label(counter_plan.label),
            -1 if monitor is None else self._lock_entry(monitor)[0],
        )

    def give(self, counter: str, monitor: str | None = None) -> None:
        """Write the instruction that returns a unit to a counter. A customer that waited for the
        unit gets the monitor too, so that no instruction inside the monitor may follow.
        """
        monitor_number = -1 if monitor is None else self._lock_entry(monitor)[0]
        self._handover_instructions_by_monitor.setdefault(monitor_number, []).append(
            self.emit(Op.GIVE, self._lock_entry(counter)[0], monitor_number, -1)
        )

    def execute_pool(
        self,
        pool_name: str,
        parties: int,
        time_inside: ServiceTime,
        work_label: str,
        monitor_label: str,
    ) -> None:
        """Write the instructions with which a customer, together with others, executes the tasks of
        a pool until all are done.

        Parameters
        ----------
        pool_name, parties : which, and how many customers execute it
        time_inside : time in the monitor to take or add a task
        work_label, monitor_label : what the work and the time in the monitor are booked to
        """
        pool_number = list(self._pool_by_name).index(pool_name)
        entry_label, task_label, barrier_label = (
            self.label(f"{prefix}:{pool_name}") for prefix in ("entry", "task", "barrier")
        )
        with self.reserved_register() as register, self.reserved_register():
            entry_instruction = self.emit(Op.ENTER_POOL, pool_number, entry_label, register)
            self._write_constant_time(time_inside, monitor_label)
            take_instruction = self.emit(
                Op.TAKE_TASK,
                pool_number,
                register,
                task_label,
                barrier_label,
                entry_instruction,
                -1,
                parties,
            )
            work_instruction = self.emit(Op.WORK, pool_number, register, self.label(work_label))
            self.emit(
                Op.NEXT_PART,
                pool_number,
                register,
                entry_label,
                work_instruction,
                entry_instruction,
            )
            self._write_constant_time(time_inside, monitor_label)
            self.emit(
                Op.ADD_TASK, pool_number, register, work_instruction, entry_instruction, task_label
            )
            self.patch(take_instruction, 5)

    def _write_constant_time(self, constant_time: ServiceTime, label: str) -> None:
        if constant_time.mean:
            self.delay(constant_time, label)

    def _write_spinning(
        self,
        lock_number: int,
        lock_plan: LockPlan,
        implementation: LockImplementation,
        register: int,
    ) -> None:
        """Write the acquisition of a spin lock: test-and-set accesses to its word, repeated until
        the lock is held.
        """
        self.emit(Op.REQUEST, lock_number)
        self.emit(Op.SET_COUNT, register, *self._count_operands(0, ""))
        first_attempt = self.next_instruction
        if implementation.kind == "ttas":
            # A processor that reads a held lock spins on its cached copy, and reads the word anew
            # after the release.
            self._write_access(lock_plan, implementation)
            self.emit(Op.AWAIT_FREE, lock_number, self.label(lock_plan.label))
        self._write_access(lock_plan, implementation)
        attempt_instruction = self.emit(Op.ATTEMPT, lock_number, -1)
        jump_to_end = self.emit(Op.JUMP, -1)
        self.patch(attempt_instruction, 1)
        if implementation.back_off != "none":
            self._write_back_off(lock_plan, implementation, register)
        self.emit(Op.JUMP, first_attempt)
        self.patch(jump_to_end, 0)

    def _write_back_off(
        self, lock_plan: LockPlan, implementation: LockImplementation, register: int
    ) -> None:
        """Write the pause after a failed attempt."""
        is_exponential = implementation.back_off == "exponential"
        draw_number = self.draw(
            f"{lock_plan.label}:back-off", _UNIFORM_ABOUT_ONE if is_exponential else _CONSTANT_ONE
        )
        pause_means = (
            implementation.first_back_off,
            implementation.longest_back_off if is_exponential else implementation.first_back_off,
        )
        self.emit(
            Op.BACK_OFF,
            draw_number,
            self.label(lock_plan.label),
            register,
            *map(self._index_of_constant, pause_means),
        )

    def _write_ticket_taking(
        self,
        lock_number: int,
        lock_plan: LockPlan,
        implementation: LockImplementation,
        register: int,
    ) -> None:
        """Write the fetch and increment of the ticket counter, then the reading of the number
        called, once more after each release.
        """
        self._write_access(lock_plan, implementation)
        self.emit(Op.TAKE_TICKET, lock_number, register)
        first_reading = self.next_instruction
        self._write_access(lock_plan, implementation)
        draw_number = self.draw(f"{lock_plan.label}:arbitration", UNIFORM)
        self.emit(
            Op.AWAIT_TURN,
            lock_number,
            self.label(lock_plan.label),
            register,
            draw_number,
            first_reading,
        )

    def _write_access(
        self, lock_plan: LockPlan, implementation: LockImplementation, notifying_lock: int = -1
    ) -> None:
        """Write an access to the word of a lock or, if the lock is released to the next processor
        of its queue, to the flag of that processor.
        """
        if implementation.home is not None:
            tally_number = self._tally_names.index(f"{ACCESSES}:{lock_plan.name}")
            # A processor that releases an array for which none waits leaves its mark on its own
            # flag; a list has its end at the word.
            is_own_flag = notifying_lock >= 0 and implementation.own_flags
            self.emit(
                Op.COUNT_ACCESS,
                tally_number,
                -1 if is_own_flag else implementation.home,
                notifying_lock,
            )
            for _ in range(implementation.own_flags):
                self.emit(Op.COUNT_ACCESS, tally_number, -1, -1)
        if implementation.word is not None:
            label = lock_plan.label
            self.serve(
                implementation.word,
                implementation.access,
                label,
                stream=f"{label}:access",
                wait=label,
            )

    def barrier(self, barrier_name: str, parties: int, cost: ServiceTime = NO_TIME) -> None:
        """Write a wait until `parties` customers have arrived, then for the cost; all of it is
        booked to ``barrier:<name>``.
        """
        self.await_parties(barrier_name, parties, f"barrier:{barrier_name}")
        if cost.mean > 0:
            self.delay(cost, f"barrier:{barrier_name}", stream=f"barrier:{barrier_name}:cost")

    def await_parties(self, barrier_name: str, parties: int, label: str) -> None:
        """Write a wait until `parties` customers have arrived, at no cost."""
        barrier_number = self._barrier_number_by_name.setdefault(
            barrier_name, len(self._barrier_number_by_name)
        )
        self.emit(Op.BARRIER, barrier_number, parties, self.label(label))

    def start_response(self) -> None:
        """Write the start of the response time; without it, that is the start of the cycle."""
        self.emit(Op.START_RESPONSE)

    def finish(self, *, goes_onward: bool = False, is_lost: bool = False) -> None:
        """Write the end of the cycle. A closed customer begins the next cycle, or, if it
        `goes_onward`, continues with the next instruction; the cycle of a lost one does not count.
        """
        self.emit(Op.END, goes_onward, is_lost)

    def add_closed_group(
        self, group_name: str, customer_count: int, first_instruction: int
    ) -> None:
        """Add a closed group, whose customers repeat the cycle that begins at an instruction; write
        the end of the cycle if it is missing.
        """
        self._add_group(CustomerGroup(group_name, "closed", (first_instruction,) * customer_count))

    def add_open_group(
        self, group_name: str, interarrival_times: Times, first_instruction: int
    ) -> None:
        """Add an open group, whose customers arrive at random times and begin at an instruction."""
        if interarrival_times.mean == 0:
            raise ModelError(f"the time between two arrivals of {group_name} must be above 0 s")
        self._add_group(
            CustomerGroup(
                group_name,
                "open",
                (first_instruction,),
                self.draw(f"{group_name}:arrivals", interarrival_times),
            )
        )

    def add_program(self, group_name: str, starts: Sequence[int]) -> None:
        """Add the customers of a program; each runs once, from the instruction at which it
        starts.
        """
        self._add_group(CustomerGroup(group_name, "once", tuple(starts)))

    def plan(self) -> Plan:
        """Return the finished plan, with the targets of all jumps to marks filled in."""
        for operand_table, operand_index, mark in self._open_targets:
            operand_table[operand_index] = look_up("mark", mark, self._instruction_by_mark)
        draws = tuple(draw for _, draw in self._draw_by_stream.values())
        locks = tuple(plan for _, plan, _ in self._lock_entry_by_name.values())
        return Plan(
            code=tuple(map(tuple, self._instructions)),
            groups=tuple(self._groups),
            draws=draws,
            stations=tuple(map(self._completed_station, self._stations)),
            locks=locks,
            pools=tuple(self._pool_by_name.values()),
            barriers=tuple(self._barrier_number_by_name),
            labels=tuple(self._label_number_by_name),
            targets=tuple(self._jump_targets),
            cumulative=tuple(self._cumulative_probabilities),
            counts=tuple(self._constants),
            registers=self._register_count,
            tallies=tuple(self._tally_names),
            pipelines=tuple(self._pipeline_number_by_name),
        )

    def _station_number(self, station_name: str) -> int:
        return look_up("station", station_name, self._first_station_by_name)

    def _index_of_constant(self, value: float) -> int:
        """Add a number to the plan's table of numbers, and return its index."""
        self._constants.append(value)
        return len(self._constants) - 1

    def _count_operands(self, count: float, stream: str) -> tuple[int, int]:
        """Return the operands of a number of rounds: the index of the count, and the draw that
        decides whether its fraction adds a round.
        """
        # Of a whole count the fraction is 0, which the constant 0.5 never falls below: no number is
        # drawn.
        draw_number = (
            self.draw("whole", _CONSTANT_HALF)
            if count == int(count)
            else self.draw(stream, UNIFORM)
        )
        return self._index_of_constant(count), draw_number

    @contextmanager
    def reserved_register(self) -> Iterator[int]:
        """Reserve a register, which counts the rounds of a loop, while the body of the context
        writes instructions.
        """
        # Loops one after the other share a counter; loops inside each other need one each.
        self._register_count_in_use += 1
        self._register_count = max(self._register_count, self._register_count_in_use)
        yield self._register_count_in_use - 1
        self._register_count_in_use -= 1

    def _reserve_targets(self, target_count: int) -> int:
        """Reserve entries in the table of jump targets, and return the first of them."""
        self._jump_targets += [-1] * target_count
        self._cumulative_probabilities += [0.0] * target_count
        return len(self._jump_targets) - target_count

    def _write_choice(self, probabilities: Sequence[float], draw_number: int) -> int:
        """Write a random choice whose jump targets are filled in later, and return the entry of the
        first target.
        """
        first_target = self._reserve_targets(len(probabilities))
        self._cumulative_probabilities[first_target:] = accumulate(probabilities)
        self.emit(Op.CHOOSE, draw_number, first_target, len(probabilities))
        return first_target

    def _write_alternatives(self, first_target: int, bodies: Sequence[Body]) -> None:
        """Write the bodies of a choice as its targets in order; each continues behind the last
        body.
        """
        jump_instructions = []
        for target_index, body in enumerate(bodies, first_target):
            self._jump_targets[target_index] = self.next_instruction
            body()
            jump_instructions.append(self.emit(Op.JUMP, -1))
        for jump_instruction in jump_instructions:
            self.patch(jump_instruction, 0)

    def _add_group(self, group: CustomerGroup) -> None:
        """Add a group of customers; write the end of their cycle if it is missing."""
        # A group that begins behind all that is written has a cycle of nothing, such as 0 rounds.
        is_empty = self.next_instruction in group.starts
        if is_empty or (self._instructions and self._instructions[-1][0] != Op.END):
            self.finish()
        self._groups.append(group)
