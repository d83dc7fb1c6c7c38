"""Rare events of a plan that matter for its mean times: branches and long times that are drawn so
seldom that a short run may contain none of them.

A run without such an event looks precise: 30 replications of a program of 1 s, which with a
probability of 1 % takes another 100 s, are equal in 3 of 4 cases. So each event that contributes
to the mean must be expected at least `FEWEST_EVENTS_SEEN` times before an interval is trusted.

How often an event occurs in a cycle follows from the instructions, taken as a Markov chain:

    v = s + W' v                visits of each instruction in a cycle, from its start s
    h = r + W h                 mean time drawn from an instruction to the end of the cycle [s]

with the mean time r that an instruction draws and the mean number W of executions of each next
instruction. A branch of probability p at a choice c adds v_c p (h_branch - h_c) to the time of a
cycle. What depends on the state of the run takes its usual way here: a try succeeds, a queue has
place; events behind the other way are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from slipstick.late import Array, dataclass, np
from slipstick.sim.plan.plan import CustomerGroup, Op, Plan

FEWEST_EVENTS_SEEN = 10.0
"""Expected occurrences of each event before an interval is trusted: a run contains none of them
with a probability of 5e-5."""

_LEAST_PART = 0.01
"""Smallest part of the mean time of a cycle, or of its square, that an event must contribute to
matter [1]: half the precision that runs have by default.
"""

_LONGEST_ROUND = 100.0
"""Mean number of cycles that are followed where the end of one decides how the next begins, as
after a change of class; what they have in common is then known within 1 %."""

# Probabilities of options add up to 1 but for rounding.
_NEARLY_ALL = 1 - 1e-12

_DRAWN_TIMES = {Op.DELAY: 0, Op.SERVE: 1}
"""Operand that is the draw of a time, by operation."""


@dataclass(frozen=True, slots=True)
class RareEvent:
    """An event that contributes to the mean time of a cycle.

    Parameters
    ----------
    rate : mean occurrences in a cycle [1]
    excess : mean time that it adds to a cycle in which it occurs [s]
    """

    rate: float
    excess: float


# Replications share a plan.
@lru_cache(maxsize=16)
def fewest_cycles(plan: Plan, group_index: int) -> float:
    """Return the number of cycles of a group, or of replications of a program, after which each
    event that matters is expected `FEWEST_EVENTS_SEEN` times [1].

    Parameters
    ----------
    plan : what is run
    group_index : number of the group

    >>> from slipstick.sim.plan.builder import Builder
    >>> from slipstick.sim.plan.distributions import ServiceTime
    >>> builder = Builder()
    >>> builder.delay(ServiceTime("deterministic", 1.0, 0.0), "work")
    >>> repair = lambda: builder.delay(ServiceTime("deterministic", 100.0, 0.0), "repair")
    >>> builder.choose([(0.01, repair), (0.99, lambda: None)], "fault")
    >>> builder.add_program("all", [0])
    >>> round(fewest_cycles(builder.plan(), 0))
    1000
    """
    group = plan.groups[group_index]
    if not any(_may_be_rare(plan, row) for row in plan.code):
        return 0.0
    starts = np.bincount(group.starts, minlength=len(plan.code)).astype(np.float64)
    if group.kind != "once":
        starts /= len(group.starts)
    drawn_times = np.array([_mean_of_drawn_time(plan, row) for row in plan.code])
    visits, times_left = _visits_and_times_left(plan, starts, drawn_times)
    cycles_per_round = _mean_cycles_per_round(plan, group, visits)
    mean_time = float(visits @ drawn_times) / cycles_per_round
    events = (
        event
        for instruction in np.flatnonzero(visits > 0)
        for event in _events_of_instruction(
            plan, int(instruction), visits[instruction] / cycles_per_round, times_left
        )
    )
    return max(
        (
            FEWEST_EVENTS_SEEN / event.rate
            for event in events
            if _is_significant(event, mean_time, len(group.starts))
        ),
        default=0.0,
    )


def _is_significant(event: RareEvent, mean_time: float, customer_count: int) -> bool:
    """Return whether a mean time would be clearly wrong if an event did not occur in the run. The
    time of the event counts if all customers may wait for it; the square of its time counts in a
    wait for a server.
    """
    contribution = event.rate * abs(event.excess)
    return (
        customer_count * contribution > _LEAST_PART * mean_time
        or contribution * abs(event.excess) > _LEAST_PART * mean_time**2
    )


def _mean_cycles_per_round(plan: Plan, group: CustomerGroup, visits: Array) -> float:
    """Return the mean number of cycles that end in one round of a group, from the mean numbers of
    visits to the instructions. A round is a sequence of cycles of one customer in which the end of
    a cycle decides how the next one begins, as after a change of class.
    """
    if group.kind == "once":
        return 1.0
    ended_cycles = sum(
        float(visits[instruction]) for instruction, (op, *_) in enumerate(plan.code) if op == Op.END
    )
    return max(ended_cycles, 1.0)


def _events_of_instruction(
    plan: Plan, instruction: int, rate: float, times_left: Array
) -> Iterator[RareEvent]:
    """Yield the random events that an instruction decides, such as the branches of a choice.

    A time of scv c^2 > 1 is taken as one of two exponential phases with balanced means, whose
    longer one has a probability of about 1 / (2 (c^2 + 1)) and half of the mean.
    """
    row = plan.code[instruction]
    if row[0] == Op.CHOOSE:
        for target, probability in _choice_targets(plan, row):
            excess = float(times_left[target] - times_left[instruction])
            if probability > 0:
                yield RareEvent(rate * probability, excess)
    if row[0] == Op.LOOP:
        # The time of one round is what lies between two executions of the loop's instruction.
        time_of_round = float(times_left[instruction + 1] - times_left[instruction])
        rounds = _mean_rounds_of_loop(plan, instruction)
        yield from _events_of_fraction(rate / (1 + rounds), rounds, time_of_round)
    if row[0] == Op.PIPELINE:
        yield from _events_of_fraction(rate, plan.counts[row[1]], float(times_left[row[3]]))
    scv = _scv_of_drawn_time(plan, row)
    if 1 < scv < math.inf:
        long_probability = 0.5 / (scv + 1)
        mean = _mean_of_drawn_time(plan, row)
        yield RareEvent(rate * long_probability, mean * (0.5 / long_probability - 1))


def _events_of_fraction(rate: float, mean_count: float, time: float) -> Iterator[RareEvent]:
    """Yield the two random events of a fractional count: one more execution, or no further one.

    Parameters
    ----------
    rate : decisions in a cycle [1]
    mean_count : mean number of executions [1]
    time : of one execution [s]
    """
    fractional_count = mean_count % 1
    if fractional_count:
        yield RareEvent(rate * fractional_count, (1 - fractional_count) * time)
        yield RareEvent(rate * (1 - fractional_count), fractional_count * time)


def _mean_rounds_of_loop(plan: Plan, instruction: int) -> float:
    """Return the mean number of rounds of a loop [1]."""
    register = plan.code[instruction][1]
    return next(
        plan.counts[count_index]
        for op, counted_register, count_index, *_ in reversed(plan.code[:instruction])
        if op == Op.SET_COUNT and counted_register == register
    )


def _may_be_rare(plan: Plan, row: tuple[int, ...]) -> bool:
    """Return whether an instruction draws a branch, a fractional count or a time of scv above 1."""
    op, pipeline_count_index, loop_count_index, *_ = row
    match op:
        case Op.CHOOSE:
            return True
        case Op.SET_COUNT:
            return plan.counts[loop_count_index] % 1 > 0
        case Op.PIPELINE:
            return plan.counts[pipeline_count_index] % 1 > 0
        case _:
            return 1 < _scv_of_drawn_time(plan, row) < math.inf


def _mean_of_drawn_time(plan: Plan, row: tuple[int, ...]) -> float:
    """Return the mean time that an instruction draws; 0 if it draws none [s]."""
    operand_index = _DRAWN_TIMES.get(Op(row[0]))
    return 0.0 if operand_index is None else plan.draws[row[1 + operand_index]].distribution.mean


def _scv_of_drawn_time(plan: Plan, row: tuple[int, ...]) -> float:
    """Return the squared coefficient of variation of the time that an instruction draws [1]."""
    operand_index = _DRAWN_TIMES.get(Op(row[0]))
    if operand_index is None:
        return 0.0
    drawn_distribution = plan.draws[row[1 + operand_index]].distribution
    return float(
        getattr(getattr(drawn_distribution, "distribution", drawn_distribution), "scv", 0.0)
    )


def _choice_targets(plan: Plan, row: tuple[int, ...]) -> Iterator[tuple[int, float]]:
    """Yield the targets of a choice with their probabilities."""
    _, _, first_target, target_count, *_ = row
    probability_before = 0.0
    for target_index in range(first_target, first_target + target_count):
        probability = plan.cumulative[target_index] - probability_before
        probability_before = plan.cumulative[target_index]
        yield plan.targets[target_index], probability


def _visits_and_times_left(plan: Plan, starts: Array, drawn_times: Array) -> tuple[Array, Array]:
    """Solve the two equations of this module. Return, for each instruction, how often a cycle
    executes it on average [1], and the mean time that is drawn from it to the end of the cycle [s].
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    instructions_targets_and_counts = [
        (instruction, target, count)
        for instruction in range(len(plan.code))
        for target, count in _next_instructions(plan, instruction)
    ]
    instructions, targets, execution_counts = zip(*instructions_targets_and_counts, strict=True)
    instruction_count = len(plan.code)
    # Slightly fewer, so that a loop without an end has a solution too.
    execution_matrix = _NEARLY_ALL * csc_array(
        (execution_counts, (instructions, targets)), shape=(instruction_count, instruction_count)
    )
    factors = splu((eye_array(instruction_count) - execution_matrix).tocsc())
    return factors.solve(starts, trans="T"), factors.solve(drawn_times)


def _next_instructions(plan: Plan, instruction: int) -> Iterator[tuple[int, float]]:
    """Yield each instruction that may follow a given one, with the mean number of times that it is
    executed after it.
    """
    next_instruction = instruction + 1
    match plan.code[instruction]:
        case (Op.CHOOSE, *_) as row:
            yield from _choice_targets(plan, row)
        case (Op.JUMP, target, *_):
            yield target, 1.0
        case (Op.LOOP, _, exit_instruction, *_):
            # A loop of a geometric number of rounds has the same mean number of executions.
            rounds = _mean_rounds_of_loop(plan, instruction)
            yield next_instruction, rounds / (1 + rounds)
            yield exit_instruction, 1 / (1 + rounds)
        case (Op.SWITCH, first_target, *_):
            # Of the pipeline that the switch belongs to.
            item_count = next(
                int(plan.counts[count_index])
                for op, count_index, *_ in reversed(plan.code[:instruction])
                if op == Op.PIPELINE
            )
            for target in plan.targets[first_target : first_target + item_count]:
                yield target, 1 / item_count
        case (Op.PICK, _, _, _, first_target, target_count, *_):
            for target in plan.targets[first_target : first_target + target_count]:
                yield target, 1 / target_count
        case (Op.FORK, first_target, target_count, exit_instruction, *_):
            for target in plan.targets[first_target : first_target + target_count]:
                yield target, 1.0
            yield exit_instruction, 1.0
        case (Op.WHILE_AWAITED, exit_instruction, *_):
            yield next_instruction, 0.5
            yield exit_instruction, 0.5
        case (Op.SPAWN, first_instruction, *_):
            yield first_instruction, 1.0
            yield next_instruction, 1.0
        case (Op.PIPELINE, count_index, _, first_instruction, exit_instruction, *_):
            yield first_instruction, plan.counts[count_index]
            yield exit_instruction, 1.0
        case (Op.TAKE_TASK, _, _, _, _, _, exit_instruction, *_):
            # The parts of the tasks of a pool are given one by one; nothing of them is drawn.
            yield exit_instruction, 1.0
        case (Op.END, goes_on, *_):
            if goes_on:
                yield next_instruction, 1 - 1 / _LONGEST_ROUND
        case (Op.JOIN | Op.VANISH, *_):
            pass
        case _:
            yield next_instruction, 1.0
