"""Activities written as the plan that the simulator runs, and the timeline of the first cycles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.extensions import Registry
from slipstick.late import dataclass, replace
from slipstick.limits import check_cost
from slipstick.model.absences import works_overtime
from slipstick.model.activity import (
    GEOMETRIC,
    Ask,
    Attempt,
    BarrierWait,
    Choice,
    EarlyReply,
    Fork,
    Hold,
    IfLate,
    Pick,
    Pipeline,
    Repeat,
    SignalUnit,
    Step,
    Then,
    WaitUnit,
    pipelines_of,
    think_step,
)
from slipstick.model.steps import (
    ASKED,
    MET,
    Activity,
    Combination,
    distinct_activities,
    no_rule_error,
    steps,
)
from slipstick.model.system import (
    BARRIER,
    MONITOR,
    ArrivalPattern,
    Barrier,
    Breaker,
    ClosedPopulation,
    Group,
    HeldResource,
    Labels,
    Lock,
    Model,
    Monitor,
    OpenPopulation,
    PhasedPopulation,
    ReaderWriterLock,
    Semaphores,
    Station,
    StreamsPopulation,
    Superstep,
    SuperstepPopulation,
    TaskPool,
    has_reply,
    is_processor,
    no_rule_for_population_error,
)
from slipstick.results.study import Timeline
from slipstick.sim.plain.timeline import critical_path, record
from slipstick.sim.plan.builder import Builder, LockImplementation
from slipstick.sim.plan.distributions import (
    LONGEST,
    RANGE,
    SHORTEST,
    BatchTimes,
    BurstyTimes,
    DistributedTime,
    ProfiledTimes,
    ServiceTime,
    Times,
    TracedTimes,
    in_range,
    open_time,
    service_time,
    time_of_distribution,
)
from slipstick.sim.plan.plan import COUNTER, BreakerRule, Plan, Where
from slipstick.structure.contention import Saturation
from slipstick.vocabulary import DISCIPLINES, REPLIES

NOUNS: dict[type, str] = {Monitor: "monitor", ReaderWriterLock: "reader-writer lock"}
"""The nouns of resources in messages, by class."""
IDLE = "idle"
"""The label of the time in which a processor has nothing to do."""
OWN = "own"
"""The name of a step's own processor as a resource."""
_NETWORK_TECHNOLOGIES = ("adapter", "switch", "wire")
"""Technology classes whose steps are executed on the network, not by the processor."""
_QUEUE_LOCKS = {"mcs": ("queue", 1), "array": ("queue", 2)}
"""Locks that are simulated as a queue of processors, with the accesses in a row of an acquire
and of a release.
"""

OUTSIDE = "outside"
"""The name of the station of the other processors of a model with one processor: they are outside
of its population.
"""

MOST_OTHER_PROCESSORS = 4096
"""The largest number of other processors that a model with one processor may use at one moment."""
BRANCH_NUMBERS = 20
"""Numbers that a simulation keeps for each branch or item under way, without its account."""

QUEUE_NUMBERS = 1600
"""Numbers that a simulation keeps for each queue of a pool of tasks. Chosen by time: a queue takes
4 KB, but 8,000 queues with 1,000 problems took 7.4 s.
"""

ALL = "all"
"""The name of the group of a population that has one."""

Numbers = Mapping[Expr, float]
Parties = Mapping[str, int]
"""The number of customers for which each barrier waits if the step does not state a number, by the
name of the barrier.
"""


@dataclass(frozen=True, slots=True)
class FlatModel:
    """A plan for the simulator, with those facts about the model that the plan does not hold.

    Parameters
    ----------
    plan : the program of the simulation
    population : processors, or arrivals a second
    execution_times : mean time of one execution of each step [s]
    fraction_notes : notes on counts that are not whole: the fraction is the probability of one more
    targets : targets of response times, whose shares are reported, by the name of the group [s]
    """

    plan: Plan
    population: float
    execution_times: Mapping[str, float]
    fraction_notes: tuple[str, ...]
    targets: Mapping[str, float]


def flatten(model: Model, values: Mapping[str, float] | None = None) -> FlatModel:
    """Write a model as a plan of the simulator.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units

    Raises
    ------
    ModelError : a name is unknown, a value missing or impossible, or a construct has no meaning for
        this population
    NoAnswerError : an open model is saturated

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> flatten(closed_model(delay(2.0, name="work"), processors=3)).plan.population
    3
    """
    expressions = model.expressions(with_unused_resources=True)
    value_by_expr = {
        expression: float(column[0])
        for expression, column in zip(expressions, Tape(expressions).run(values or {}), strict=True)
    }
    writer = Writer(model, value_by_expr)
    match model.population:
        case ClosedPopulation(groups) | StreamsPopulation(groups):
            _refuse_saturation(model, values or {})
            return _write_groups(groups, writer, value_by_expr)
        case OpenPopulation(rate, cycle, pattern):
            times_between = _times_between_arrivals(pattern, rate, value_by_expr)
            if times_between is None:
                raise NoAnswerError(
                    f"there are no arrivals at {model.name}: the arrival rate is"
                    f" {value_by_expr[rate]:g}/s; ask for closed-form"
                )
            _refuse_saturation(model, values or {})
            writer.add_resources(0)
            writer.write(cycle, {})
            writer.builder.add_open_group(ALL, times_between, 0)
            return writer.finished_plan(1 / times_between.mean)
        case PhasedPopulation():
            return _write_phases(model.population, writer, value_by_expr)
        case SuperstepPopulation():
            return _write_supersteps(model.population, writer)
        case _:
            raise no_rule_for_population_error("simulation", model.population)


def _write_groups(groups: Sequence[Group], writer: Writer, value_by_expr: Numbers) -> FlatModel:
    """Write the instructions of the cycle of each group of customers; a group without processors
    and arrivals has none.
    """
    # The account is that of the first group, so that it has a member; others may be empty.
    (first_group, *_) = groups
    group_sizes = [
        _whole_number(
            value_by_expr[group.processors],
            "the population",
            least_number=int(group is first_group and group.arrivals is None),
        )
        for group in groups
    ]
    writer.add_resources(sum(group_sizes))
    population = float(group_sizes[0])
    for group, group_size in zip(groups, group_sizes, strict=True):
        first_instruction = writer.builder.next_instruction
        if group_size:
            writer.write_cycle(group.cycle, _parties_by_name(groups, group_sizes))
            writer.builder.add_closed_group(group.name or ALL, group_size, first_instruction)
        elif group.arrivals is not None:
            writer.refuse_own_processors(group.cycle)
            times_between = _times_between_arrivals(group.pattern, group.arrivals, value_by_expr)
            if times_between is not None:
                writer.write(group.cycle, {})
                writer.builder.add_open_group(group.name, times_between, first_instruction)
                population = population or 1 / times_between.mean
            elif group is first_group:
                raise NoAnswerError(
                    f"no customers of {group.name} arrive, whose account the answer would hold;"
                    " write a group of which some arrive first"
                )
    return writer.finished_plan(population)


def _times_between_arrivals(
    pattern: ArrivalPattern, rate: Expr, value_by_expr: Numbers
) -> Times | None:
    """Return the distribution of the times between arrivals of a population; None without
    arrivals.
    """
    arrival_rate = value_by_expr[rate]
    if pattern.burst_time is not None and pattern.quiet_time is not None:
        burst_rate = (
            0.0 if pattern.burst_arrivals is None else value_by_expr[pattern.burst_arrivals]
        )
        durations = [value_by_expr[pattern.quiet_time], value_by_expr[pattern.burst_time]]
        if not (min(durations) > 0 and max(arrival_rate, burst_rate) > 0):
            return None
        bursty_times = BurstyTimes((arrival_rate, burst_rate), (1 / durations[0], 1 / durations[1]))
        return BatchTimes(bursty_times, pattern.batch) if pattern.batch > 1 else bursty_times
    if not arrival_rate > 0:
        return None
    if pattern.trace:
        return TracedTimes(pattern.trace, 1 / arrival_rate)
    single_times = (
        ProfiledTimes(pattern.profile, 1 / arrival_rate)
        if pattern.profile
        else service_time(1 / arrival_rate, pattern.arrivals_scv)
    )
    return BatchTimes(single_times, pattern.batch) if pattern.batch > 1 else single_times


def _parties_by_name(groups: Sequence[Group], group_sizes: Sequence[int]) -> Parties:
    """Return, for each barrier and pool, the number of processors whose cycle comes to it."""
    parties_by_name: dict[str, int] = {}
    for group, group_size in zip(groups, group_sizes, strict=True):
        meeting_nodes = (node for node in steps(group.cycle) if node.use in (MET, ASKED))
        # A cycle that comes to one barrier several times is one party of it.
        for meeting_name in {meeting_name for node in meeting_nodes for meeting_name in node.uses}:
            parties_by_name[meeting_name] = parties_by_name.get(meeting_name, 0) + group_size
    return parties_by_name


def _write_phases(
    population: PhasedPopulation, writer: Writer, value_by_expr: Numbers
) -> FlatModel:
    """Write the phases; processors that take part in the same phases share their instructions."""
    phase_sizes = [
        _whole_number(value_by_expr[phase.processors], "the processors of a phase")
        for phase in population.phases
    ]
    processor_count = max(phase_sizes)
    writer.add_resources(processor_count)
    first_instructions: list[int] = []
    for processor in range(processor_count):
        # A processor in the same phases as the one before starts at the same instruction.
        if processor and all(
            (processor < phase_size) == (processor - 1 < phase_size) for phase_size in phase_sizes
        ):
            first_instructions.append(first_instructions[-1])
            continue
        first_instructions.append(writer.builder.next_instruction)
        for phase_index, (phase, phase_size) in enumerate(
            zip(population.phases, phase_sizes, strict=True)
        ):
            if processor < phase_size:
                writer.write_phase(phase_index, phase.repeat, phase.cycle, phase_size)
            writer.builder.await_parties(f"end-of-phase-{phase_index + 1}", processor_count, IDLE)
        writer.builder.finish()
    writer.builder.add_program(ALL, first_instructions)
    return writer.finished_plan(float(processor_count))


def _write_supersteps(population: SuperstepPopulation, writer: Writer) -> FlatModel:
    """Write the supersteps of each processor, one after the other; each ends with a wait for the
    last processor.
    """
    processor_count = population.processors
    writer.add_resources(processor_count)
    first_instructions: list[int] = []
    for processor in range(processor_count):
        first_instructions.append(writer.builder.next_instruction)
        for superstep_index, superstep in enumerate(population.supersteps):
            writer.write_superstep(superstep_index, superstep, processor)
        writer.builder.finish()
    writer.builder.add_program(ALL, first_instructions)
    return writer.finished_plan(float(processor_count))


class Writer:
    """Writes activities as instructions of a plan.

    A rule of another package for its kind of step reads `numbers`, the value of each expression,
    calls `builder`, and `write` for the parts of the step.
    """

    def __init__(self, model: Model, value_by_expr: Numbers) -> None:
        self.model = model
        self.numbers = value_by_expr
        self.builder = Builder()
        self.processors = self.other_processors = 0
        self.execution_times: dict[str, float] = {}
        self._number_by_node: dict[int, str] = {}
        # By each fork around what is written, the resource of the hold whose body is its branch;
        # empty for a fork of several branches.
        self._resources_of_forks: list[str] = []
        self._fraction_notes: dict[str, None] = {}

    def finished_plan(self, population: float) -> FlatModel:
        """Return the plan that was written, with the model's numbers."""
        expr_by_group = self.model.population.targets
        targets_by_name = {
            group_name: self.numbers[target_expr]
            for group_name, target_expr in expr_by_group.items()
        }
        notes = tuple(self._fraction_notes)
        return FlatModel(
            self.builder.plan(), population, self.execution_times, notes, targets_by_name
        )

    def add_resources(self, member_count: int) -> None:
        """Add the resources of the model to the plan; the processors of a population become
        stations of their own.
        """
        self.processors = member_count
        self.other_processors = member_count - 1
        self._refuse_too_many_branches(max(member_count, 1))
        for resource_name, resource in self.model.resources.items():
            if isinstance(resource, Station):
                # Where every customer has a server, no order matters.
                is_delay = DISCIPLINES[resource.discipline].delay
                self.builder.add_station(
                    resource_name,
                    resource.capacity,
                    "fcfs" if is_delay else resource.discipline,
                    rates=[self.numbers[rate] for rate in resource.rates],
                    overtime=bool(self.model.absences)
                    and works_overtime(resource_name, resource.discipline, self.model.absences),
                )
            elif isinstance(resource, Lock):
                self.builder.add_lock(resource_name, self._lock_implementation(resource))
            elif isinstance(resource, TaskPool):
                self._add_pool(resource_name, resource)
            elif isinstance(resource, HeldResource):
                self.builder.add_permits(
                    resource_name, resource.capacity, NOUNS.get(type(resource), "permits")
                )
            elif isinstance(resource, Breaker):
                breaker_rule = BreakerRule(resource.failures, resource.calls, resource.trials)
                self.builder.add_breaker(resource_name, breaker_rule)
            elif not isinstance(resource, Barrier | Semaphores):
                raise NoAnswerError(
                    f"simulation has no rule for resources of the kind {type(resource).__name__};"
                    " ask for another method"
                )
            for counter_name, unit_count in (
                {} if isinstance(resource, TaskPool) else resource.counters.items()
            ):
                self.builder.add_permits(f"{resource_name}.{counter_name}", unit_count, COUNTER)
        if any(
            step.resource is not None and step.resource not in self.model.resources
            for step in self.model.steps
        ):
            if not member_count:
                self.refuse_own_processors(*self.model.bodies)
            self.builder.add_station(OWN, copies=member_count)
            if member_count == 1:
                # The others of a single processor are outside the population; their stations follow
                # its own.
                self.other_processors = self._most_others_at_once()
                self.builder.add_station(OUTSIDE, copies=self.other_processors)

    def refuse_own_processors(self, *bodies: Activity) -> None:
        """Raise if activities of arriving customers name a processor as a resource."""
        if any(is_processor(name) for node in distinct_activities(bodies) for name in node.uses):
            raise ModelError(
                "customers that arrive have no processors of their own; name a resource instead"
            )

    def _refuse_too_many_branches(self, member_count: int) -> None:
        """Raise if more branches and items would be under way at once than memory holds; for open
        arrivals, the branches and items of one customer are compared.
        """
        branch_count_by_node: dict[int, float] = {}
        branches_at_once = member_count * max(
            self._branch_count_at_once(body, branch_count_by_node) for body in self.model.bodies
        )
        queue_count = sum(pool.queues for pool in self.model.pools.values())
        numbers_in_words = (
            f"a simulation of {self.model.name} follows {branches_at_once:.3g} branches and items"
            f" at once, each with the account of {len(self.model.steps)}"
            f" steps{f', and {queue_count:,} queues of tasks' if queue_count else ''}"
        )
        numbers_held = (
            branches_at_once * (BRANCH_NUMBERS + 2 * len(self.model.steps))
            + QUEUE_NUMBERS * queue_count
        )
        advice = f"give it fewer processors, {'queues, ' if queue_count else ''}items or branches"
        check_cost(
            "numbers", numbers_held, numbers_in_words, f"{advice}, ask for mean-value", ModelError
        )

    def _branch_count_at_once(
        self, activity: Activity, branch_count_by_node: dict[int, float]
    ) -> float:
        """Return the number of branches and items of an activity that may exist at once."""
        if id(activity) not in branch_count_by_node:
            counts_of_children = [
                self._branch_count_at_once(child, branch_count_by_node)
                for child in activity.children
            ] or [1.0]
            item_count = self.numbers[activity.items] if isinstance(activity, Pipeline) else 1.0
            # Branches exist together, children in turn replace each other, and all items of a
            # pipeline may be at the stage with the most branches.
            exist_together = activity.combination is Combination.LONGEST
            branch_count_by_node[id(activity)] = (
                sum(counts_of_children) if exist_together else item_count * max(counts_of_children)
            )
        return branch_count_by_node[id(activity)]

    def _add_pool(self, pool_name: str, pool: TaskPool) -> None:
        """Add a task pool to the plan: its problems one after the other, each with its tasks and
        the times of the parts of each task.
        """
        leaf_time = self.numbers[pool.leaf]
        interior_time = self.numbers[pool.interior]
        roots_by_problem: list[list[int]] = []
        parts_by_task: list[list[tuple[float, int]]] = []
        for roots, tasks_of_problem in pool.source.problems():
            first_task_index = len(parts_by_task)
            roots_by_problem.append([first_task_index + root for root in roots])
            for task in tasks_of_problem:
                times_and_additions = (
                    (interior_units * interior_time + leaf_units * leaf_time, added_task)
                    for interior_units, leaf_units, added_task in task
                )
                parts_by_task.append(
                    [
                        # A negative number adds no task; others count from the first task of their
                        # problem.
                        (seconds, added_task if added_task < 0 else first_task_index + added_task)
                        for seconds, added_task in times_and_additions
                    ]
                )
        self.builder.add_pool(
            pool_name, roots_by_problem, parts_by_task, pool.queues, pool.order == "lifo"
        )

    def _write_pool_tasks(self, node: Ask, parties: Parties) -> None:
        """Write the instructions by which a processor executes tasks of a pool."""
        pool_name = node.pool
        pool = self.model.pools[pool_name]
        time_inside = ServiceTime("deterministic", self.numbers[pool.inside], 0.0)
        self.builder.execute_pool(
            pool_name,
            parties.get(pool_name, self.processors),
            time_inside,
            pool_name,
            f"{MONITOR}:{pool_name}",
        )

    def _lock_implementation(self, lock: Lock) -> LockImplementation:
        """Return how the simulator executes a lock, with the times of accesses and pauses as
        numbers.
        """
        # Accesses in a row are one access of their whole time.
        lock_kind, accesses_in_row = _QUEUE_LOCKS.get(lock.kind, (lock.kind, 1))
        access = ServiceTime("deterministic", accesses_in_row * self.numbers[lock.access], 0.0)
        # Pauses that do not double have no longest one.
        longest_pause = self.numbers[lock.most] if lock.back_off == "exponential" else math.inf
        home_node = lock.home if self.processors else None
        return LockImplementation(
            lock_kind,
            lock.word,
            access,
            lock.back_off,
            self.numbers[lock.base],
            longest_pause,
            home_node,
            accesses_in_row - 1,
        )

    def write_phase(
        self, phase_index: int, repeat: Expr, cycle: Activity, party_count: int
    ) -> None:
        """Write the instructions of one phase of a program."""
        repetition_count = self._count_with_note(repeat, f"the repeat of phase {phase_index + 1}")
        parties_by_resource = dict.fromkeys(self.model.resources, party_count)
        self.builder.repeat(
            repetition_count,
            lambda: self.write(cycle, parties_by_resource),
            f"phase-{phase_index + 1}:repeat",
        )

    def write_superstep(self, superstep_index: int, superstep: Superstep, processor: int) -> None:
        """Write the instructions of one processor in a superstep."""

        def write_body() -> None:
            self.write(superstep.bodies[processor], {})
            # All processors meet at no cost first, so that the cost of the barrier begins when the
            # last one has come.
            self.builder.await_parties(
                f"end-of-superstep-{superstep_index + 1}", len(superstep.bodies), IDLE
            )
            self.write(superstep.barrier, {})

        repetition_count = self._count_with_note(
            superstep.repeat, f"the repeat of superstep {superstep_index + 1}"
        )
        self.builder.repeat(repetition_count, write_body, f"superstep-{superstep_index + 1}:repeat")

    def write_cycle(self, cycle: Activity, parties: Parties) -> None:
        """Write a cycle; the response time begins when the thinking ends."""
        first_step = think_step(cycle)
        if first_step is None:
            self.write(cycle, parties)
            return
        self._write_step(first_step, parties)
        self.builder.start_response()
        for child in cycle.children[1:]:
            self.write(child, parties)

    def write(self, activity: Activity, parties: Parties) -> None:
        """Write an activity; a barrier that does not state its number waits for `parties`."""
        rule = INSTRUCTIONS.get(activity.kind)
        if rule is None:
            raise no_rule_error("simulation", activity)
        rule(activity, self, parties)

    def activity_writer(self, activity: Activity, parties: Parties) -> Callable[[], None]:
        """Return a function that writes an activity, which the builder calls where its instructions
        belong.
        """
        return partial(self.write, activity, parties)

    def _branch_writer(
        self, body: Activity, parties: Parties, replies_to: str = ""
    ) -> Callable[[], None]:
        """Return a function that writes a body that is executed beside its processor: a branch of a
        fork, or the body of a hold with a reply.
        """

        def write_branch() -> None:
            self._resources_of_forks.append(replies_to)
            self.write(body, parties)
            self._resources_of_forks.pop()

        return write_branch

    def _write_reply(self, node: EarlyReply, parties: Parties) -> None:
        """Write the reply of a hold to its customer."""
        # Counted from the innermost branch outward, as a run finds the parents of a token.
        self.builder.reply(self._resources_of_forks[::-1].index(node.resource))

    def _write_late_steps(self, node: IfLate, parties: Parties) -> None:
        """Write steps that are executed while the fork around them waits."""
        self.builder.while_awaited(self.activity_writer(node.body, parties))

    def _write_sequence(self, node: Then, parties: Parties) -> None:
        """Write the instructions of activities that are executed one after the other."""
        for child in node.parts:
            self.write(child, parties)

    def _write_fork(self, node: Fork, parties: Parties) -> None:
        """Write the instructions of a fork and its branches."""
        branches_awaited = None if node.join is None else self._awaited_branch_count(node)
        self.builder.fork(
            [self._branch_writer(branch, parties) for branch in node.branches], branches_awaited
        )

    def _awaited_branch_count(self, node: Fork) -> int:
        """Return the number of branches of a fork that are waited for."""
        assert node.join is not None
        return _whole_number(self.numbers[node.join], "the join of a fork", 0, len(node.branches))

    def _write_choice(self, node: Choice, parties: Parties) -> None:
        """Write the instructions of a choice of one of several bodies."""
        probabilities = self._checked_probabilities(node)
        body_writers = [self.activity_writer(body, parties) for body in node.children]
        options = list(zip(probabilities, body_writers, strict=True))
        self.builder.choose(options, f"choice-{self._stream_number(node)}")

    def _write_repeat(self, node: Repeat, parties: Parties) -> None:
        """Write the instructions of a repetition."""
        stream_name = f"repeat-{self._stream_number(node)}"
        if node.spread == GEOMETRIC:
            mean_count = self._checked_count(node.count, "the count of repeat")
            self.builder.repeat_geometrically(
                mean_count, self.activity_writer(node.body, parties), stream_name
            )
        else:
            round_count = self._count_with_note(node.count, "the count of repeat")
            self.builder.repeat(round_count, self.activity_writer(node.body, parties), stream_name)

    def _write_hold(self, node: Hold, parties: Parties) -> None:
        """Write the instructions of a hold of a lock or of permits, and of the body that is
        executed meanwhile.
        """
        held_resource = self.model.held_resource(node.resource)
        if len(holds_together := self.model.holds_taken_together(node)) > 1:
            write_body = self.activity_writer(holds_together[-1].body, parties)
            self.builder.hold_together(
                [hold_step.resource for hold_step in holds_together], write_body
            )
            return
        rank = held_resource.rank(node.mode)
        write_after = None if node.after is None else self.activity_writer(node.after, parties)
        write_body = self.activity_writer(node.body, parties)
        gets_reply = False
        if REPLIES in self.model.constructs and (gets_reply := has_reply(node)):
            write_body = self._branch_writer(node.body, parties, node.resource)
        permit_count = 1
        if node.permits is not None:
            permits_in_words = f"the permits of a hold of {node.resource}"
            permit_count = _whole_number(
                self.numbers[node.permits], permits_in_words, 1, held_resource.capacity
            )
        is_exclusive = node.mode == "write"
        self.builder.hold(
            node.resource, write_body, rank, is_exclusive, write_after, permit_count, gets_reply
        )

    def _write_wait(self, node: WaitUnit, parties: Parties) -> None:
        """Write the wait for a unit of a counter."""
        self.builder.wait(node.counter, self.model.monitor_of(node.counter))

    def _write_signal(self, node: SignalUnit, parties: Parties) -> None:
        """Write the instruction that adds one unit to a counter (`signal` of a semaphore)."""
        self.builder.give(node.counter, self.model.monitor_of(node.counter))

    def _write_pipeline(self, node: Pipeline, parties: Parties) -> None:
        """Write the instructions of the stages of a pipeline."""
        item_count = self._count_with_note(node.items, f"the items of {node.name}")
        stages = [
            (stage.kind == "serial", [self.activity_writer(body, parties) for body in stage.bodies])
            for stage in node.stages
        ]
        self.builder.pipeline(item_count, stages, node.name)

    def _write_attempt(self, node: Attempt, parties: Parties) -> None:
        """Write the instructions of a visit that is tried again if it does not begin within a
        limit.
        """
        pause_time = time_limit = None
        if node.limit is not None:
            time_limit = service_time(self.numbers[node.limit[0]], node.limit[1])
        if node.back_off is not None and self.numbers[node.back_off] > 0:
            pause_time = service_time(self.numbers[node.back_off], 1.0)
        self.builder.attempt(
            time_limit,
            self.activity_writer(node.visit, parties),
            self.activity_writer(node.otherwise, parties),
            node.resource,
            attempt_number=self._stream_number(node),
            retries=node.retries,
            back_off=pause_time,
            doubles=node.doubling,
            queue_limit=None if node.queue is None else self._queue_place_count(node),
            cuts_service=node.cuts,
            breaker=None if node.breaker is None else self._breaker_and_open_time(node.breaker),
        )

    def _breaker_and_open_time(self, breaker_name: str) -> tuple[str, ServiceTime]:
        """Return the name of a circuit breaker and the time for which it opens."""
        breaker = self.model.resources[breaker_name]
        assert isinstance(breaker, Breaker)
        return breaker_name, open_time(breaker_name, self.numbers[breaker.open], breaker.scv)

    def _queue_place_count(self, node: Attempt) -> int:
        """Return the number of places in the queue of an attempt."""
        assert node.queue is not None
        queue_in_words = f"the queue of an attempt at {node.resource}"
        place_count = self._checked_count(node.queue, queue_in_words)
        if place_count != round(place_count):
            raise NoAnswerError(f"{queue_in_words} is {place_count:g}; it must be a whole number")
        return round(place_count)

    def _write_pick(self, node: Pick, parties: Parties) -> None:
        """Write the instructions of a choice of one body by a rule."""
        body_writers = [self.activity_writer(option, parties) for option in node.options]
        resources_and_writers = list(zip(node.first_resources, body_writers, strict=True))
        self.builder.pick(resources_and_writers, node.by, self._stream_number(node))

    def _write_step(self, step: Step, parties: Parties) -> None:
        """Write the instructions of a step: a delay, or a visit to a station or a processor."""
        mean_time = self.numbers[step.time]
        if not in_range(mean_time):
            raise NoAnswerError(
                f"the time of step {step.name} comes out as {mean_time!r} s; what is simulated"
                f" takes {RANGE}"
            )
        speed_expression = self.model.speed_alone(step)
        self.execution_times[step.name] = (
            mean_time if speed_expression is None else mean_time / self.numbers[speed_expression]
        )
        random_time = time_of_distribution(mean_time, step.scv, step.distribution)
        if step.resource is None:
            self.builder.delay(random_time, step.name)
        elif step.resource in self.model.resources:
            weight = 1.0
            if step.weight is not None:
                weight = self._checked_weight(step.name, self.numbers[step.weight])
            self.builder.serve(step.resource, random_time, step.name, rank=step.rank, weight=weight)
        else:
            self._serve_at_processor(step, random_time)

    def _checked_weight(self, step_name: str, weight: float) -> float:
        """Return the weight of a step; raise if it is out of the range that can be simulated."""
        if not SHORTEST <= weight <= LONGEST:
            raise NoAnswerError(
                f"the weight of step {step_name} comes out as {weight!r}; what is simulated takes"
                f" {SHORTEST:g} to {LONGEST:g}"
            )
        return weight

    def _serve_at_processor(self, step: Step, random_time: ServiceTime | DistributedTime) -> None:
        """Write a visit to a processor: its own, another one, or one with a number."""
        assert step.resource is not None
        wait_label = f"wait:{step.resource}"
        number_match = re.fullmatch(r"processor\[([0-9]+)\]", step.resource)
        if number_match:
            processor_index = int(number_match[1])
            if processor_index >= self.processors:
                raise ModelError(
                    f"step {step.name} asks {step.resource}, but there are {self.processors},"
                    " from 0"
                )
            self.builder.serve(OWN, random_time, step.name, wait=wait_label, offset=processor_index)
            return
        if step.resource == OWN:
            self.builder.serve(OWN, random_time, step.name, wait=wait_label, where=Where.OWN)
            return
        # A single processor asks processors outside the population.
        processor_count = 1 + self.other_processors if self.processors == 1 else self.processors
        if step.resource == "other":
            self.builder.draw_destination(processor_count, f"{step.name}:other")
        else:
            self.builder.next_destination(processor_count)
        self.builder.serve(OWN, random_time, step.name, wait=wait_label, where=Where.DESTINATION)

    def _most_others_at_once(self) -> int:
        """Return the most other processors that a single processor uses at one moment: one for each
        branch or item.
        """
        nodes = [node for body in self.model.bodies for node in steps(body)]
        branch_counts = [
            len(node.children) for node in nodes if node.combination is Combination.LONGEST
        ]
        item_counts = [
            math.ceil(self.numbers[pipeline.items]) for pipeline in pipelines_of(self.model.bodies)
        ]
        # Branches beyond this number ask the same processors again, in turn.
        return min(max([1, *branch_counts, *item_counts]), MOST_OTHER_PROCESSORS)

    def _write_barrier(self, node: BarrierWait, parties: Parties) -> None:
        """Write the instructions of a wait for all parties of a barrier."""
        barrier_name = node.name
        party_count = parties.get(barrier_name, 0) if node.parties is None else node.parties
        if not party_count:
            raise ModelError(
                f"barrier {barrier_name}: customers that arrive are never all there; say how many"
                " parties meet"
            )
        barrier = self.model.resources[barrier_name]
        assert isinstance(barrier, Barrier)
        self.builder.barrier(
            barrier_name, party_count, ServiceTime("deterministic", self.numbers[barrier.cost], 0.0)
        )

    def _checked_probabilities(self, choice: Choice) -> list[float]:
        """Return the probabilities of the options of a choice; raises if they do not add up to
        1.
        """
        probabilities = [self.numbers[expression] for expression, _ in choice.options]
        if not (
            all(probability >= 0 for probability in probabilities)
            # Decimals add up to 1 but for rounding.
            and math.isclose(math.fsum(probabilities), 1.0, rel_tol=1e-9)
        ):
            raise NoAnswerError(
                "the probabilities of a choice must be at least 0 and add up to 1; they are"
                f" {', '.join(f'{probability:g}' for probability in probabilities)}"
            )
        return probabilities

    def _checked_count(self, count_expr: Expr, number_in_words: str) -> float:
        """Return the value of a count; raises if it is out of range."""
        count_value = self.numbers[count_expr]
        # Beyond 2^53 doubles skip whole numbers.
        if not 0 <= count_value <= 2**53:
            raise NoAnswerError(
                f"{number_in_words} is {count_value:g}; it must be a number from 0 to 2^53"
            )
        return count_value

    def _count_with_note(self, count_expr: Expr, number_in_words: str) -> float:
        """Return the value of a count. If it is not whole, record a note that its fraction is the
        probability of one more execution.
        """
        count_value = self._checked_count(count_expr, number_in_words)
        # Rounding of arithmetic is no probability of one more.
        if abs(count_value - round(count_value)) <= 1e-9 * max(count_value, 1.0):
            return float(round(count_value))
        self._fraction_notes[
            f"{number_in_words} is {count_value:g}, simulated as {math.floor(count_value)} and,"
            f" with probability {count_value % 1:g}, one more"
        ] = None
        return count_value

    def _stream_number(self, activity: Activity) -> str:
        """Return the number of a step that draws at random, so that its random stream has the same
        name in each run.
        """
        return self._number_by_node.setdefault(id(activity), str(len(self._number_by_node) + 1))


Rule = Callable[[Any, Writer, Parties], None]
"""Writes the instructions of a step."""


def _own_rules() -> dict[str, Rule]:
    """Return the rules that write slipstick's own kinds of steps, by the name of the kind."""
    rules: dict[type[Activity], Callable[[Writer, Any, Parties], None]] = {
        Step: Writer._write_step,
        Then: Writer._write_sequence,
        Fork: Writer._write_fork,
        Choice: Writer._write_choice,
        Repeat: Writer._write_repeat,
        Hold: Writer._write_hold,
        EarlyReply: Writer._write_reply,
        IfLate: Writer._write_late_steps,
        Attempt: Writer._write_attempt,
        Pick: Writer._write_pick,
        WaitUnit: Writer._write_wait,
        SignalUnit: Writer._write_signal,
        Ask: Writer._write_pool_tasks,
        BarrierWait: Writer._write_barrier,
        Pipeline: Writer._write_pipeline,
    }
    return {node_type.word: _as_rule(rule) for node_type, rule in rules.items()}


def _as_rule(rule: Callable[[Writer, Any, Parties], None]) -> Rule:
    return lambda activity, writer, parties: rule(writer, activity, parties)


INSTRUCTIONS: Registry[Rule] = Registry("slipstick.instructions", _own_rules)
"""The rules by kind of step, slipstick's own and those of other packages."""


def _whole_number(
    number: float, number_in_words: str, least_number: int = 1, most_number: int = 1_000_000
) -> int:
    """Return a number as an integer; raise if it is not whole or out of range."""
    if not (least_number <= number <= most_number and number == round(number)):
        raise ModelError(
            f"a simulation needs {number_in_words} to be a whole number from {least_number} to"
            f" {most_number}, got {number:g}"
        )
    return int(number)


def _refuse_saturation(model: Model, values: Mapping[str, float]) -> None:
    """Raise if streams of arrivals bring a resource more work than it can do."""
    saturation_reasons = Saturation(model).reasons_by_point(values)
    if saturation_reasons:
        raise NoAnswerError(saturation_reasons[0])


def timeline(
    model: Model,
    values: Mapping[str, float] | None = None,
    seed: int = 0,
    cycles: int = 3,
    events: int = 20_000,
) -> Timeline:
    """Simulate the first cycles of every processor of a model, or a program to its end, and record
    the activities of each processor with their times.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    seed : key of the random streams
    cycles : to follow each processor for, on average
    events : at most

    Raises
    ------
    ModelError : a value is missing, or the model cannot be simulated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> run = timeline(
    ...     closed_model(delay(2.0, name="work") >> service("bus", 1.0), processors=2), cycles=1
    ... )
    >>> [(span.member, span.label, span.start, span.end) for span in run.spans]
    [(0, 'work', 0.0, 2.0), (1, 'work', 0.0, 2.0), (0, 'bus', 2.0, 3.0), (1, 'wait:bus', 2.0, 3.0),
    (1, 'bus', 3.0, 4.0)]
    """
    component_by_label = {
        label: component
        for label, (component, _) in Labels.from_model(model).classes_by_label.items()
    }
    recorded_timeline = record(flatten(model, values).plan, seed, cycles, events)
    recorded_labels = {span.label for span in recorded_timeline.spans}
    component_by_wait = {
        label: BARRIER for label in recorded_labels if label.startswith(f"{BARRIER}:")
    }
    place_by_label = {
        step.name: step.resource or ("network" if step.technology in _NETWORK_TECHNOLOGIES else OWN)
        for step in model.steps
    }
    place_by_label |= {f"{MONITOR}:{pool_name}": pool_name for pool_name in model.pools}
    ends_of_phases = (
        span.end for span in recorded_timeline.spans if span.label in (IDLE, *component_by_wait)
    )
    return replace(
        recorded_timeline,
        path=critical_path(recorded_timeline),
        components={**component_by_wait, **component_by_label},
        places=place_by_label,
        phase=min(ends_of_phases, default=None),
        useful=model.useful,
    )
