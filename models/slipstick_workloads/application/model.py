"""An application as a model: the counts of each processor between two barriers, times the cost of
each operation.

T = sum over phases of (max over processors of busy + fault + empty + collection + lock + sigio, and
the barrier). Idle time is the rest until the slowest processor arrives. Service for others is
booked at the server (sigio), and its time inside the requester's fault is not subtracted. The
barrier is the best case: its manager arrives first.

Approximations:

- Operations of one class cost the same, at their mean size.
- A processor that reacquires a lock that it held last pays nothing.
- A request for a lock that is held waits for the whole sections of all processors ahead, also of
  the one in progress. A section is shorter by the waiting of each of its faults that is prefetched:
  sends, receives and computing of a prefetch take place outside of it, which is the most that a
  prefetch can save. A prefetched lock is requested early enough that its turn comes during
  computing, so that the acquisition takes only its one send, as with the paper's lock reduction
  factor.
- The delay of a request for diffs grows in proportion to the further requests of its fault, from
  that of a request alone. Tables 4 and 5 are about this line by 30 % (Fast Ethernet) and 47 %
  (ATM) in the mean, for their phases differ in who serves as well. The waiting for handlers is
  inside; the other methods predict it (give them `machine.dvsm.serve_delay_more` as 0).

Source: Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, section on the application
model; benchmarks/dvsm_calibration.py and tests/workloads/application/test_paper.py compare it with
the paper's times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, replace
from functools import cache, lru_cache
from math import ceil
from random import Random
from typing import Any

from slipstick.errors import ModelError
from slipstick.expression.nodes import COUNT, TIME
from slipstick.law.symbols import PARSONS
from slipstick.model.activity import Then, choose, repeat, then
from slipstick.model.machine import Machine
from slipstick.model.steps import Activity
from slipstick.model.system import Model, superstep_model
from slipstick.program.program import Input, InputValue, InputValues, Program, value_of
from slipstick_workloads import START
from slipstick_workloads.application.operations import (
    OperationClasses,
    Operations,
    count_by_key,
    operation_key,
    with_labels,
)
from slipstick_workloads.counts import CountedPhase, Counts, ProcessorTally
from slipstick_workloads.dvsm.operations import software

MOST_OPERATIONS_LAID_OUT = 64
"""Operations of a processor in a phase that are laid out one by one; more are drawn at random,
with the same mean.
"""


def application_model(
    machine: Machine, counts: Counts, inputs: InputValues, name: str = "dvsm/application"
) -> Model:
    """Build the model of a program from counts and costs.

    Parameters
    ----------
    machine : with the software of a shared memory
    counts : of the program; a phase ``start-up`` is left out
    inputs : sequential time, and the parts of faults and locks that are prefetched
    name : of the model

    Raises
    ------
    ModelError : the machine has no costs of such software, or nothing is counted
    """
    return _cached_model(
        machine,
        _CountsByIdentity(counts),
        *(inputs.get(parameter_input.name) for parameter_input in COMMON_INPUTS),
        name,
    )


def sample_model(
    machine: Machine, counts: Counts, inputs: InputValues, name: str = "dvsm/application"
) -> Model:
    """Build a small model with one operation of each kind that is counted; see
    `application_model`.

    Its values and parameters are among those of the whole model, and it can be built if that can,
    since operations of one kind differ in numbers only.
    """
    _counts_with_work(counts)
    return application_model(machine, _first_of_each_kind(_CountsByIdentity(counts)), inputs, name)


_SAMPLES: dict[Hashable, Counts] = {}
"""Counts by the kinds of operations in them: those with the same kinds give models of the same
names and parameters.
"""


@lru_cache(maxsize=128)
def _first_of_each_kind(program_counts: _CountsByIdentity) -> Counts:
    """Return counts of one processor in one phase, with the first operation of each kind that any
    processor has.
    """
    counts = program_counts.counts.without(START)
    tallies = [tally for phase in counts.phases for tally in phase.tallies]
    values_by_field: dict[str, Any] = {}
    for field_name in (tally_field.name for tally_field in fields(ProcessorTally)):
        nonzero_values = [value for tally in tallies if (value := getattr(tally, field_name))]
        if nonzero_values:
            merged_counts = isinstance(nonzero_values[0], dict) and {
                key: count for value in nonzero_values for key, count in value.items()
            }
            values_by_field[field_name] = (
                type(nonzero_values[0])(merged_counts) if merged_counts else nonzero_values[0]
            )
    for field_name in {"faults", "collected"} & values_by_field.keys():
        # Records of one field differ in size only, so that the most frequent one stands for all.
        values_by_field[field_name] = Counter(dict(values_by_field[field_name].most_common(1)))
    counts_of_one = replace(
        counts, phases=(CountedPhase(counts.phases[0].name, (ProcessorTally(**values_by_field),)),)
    )
    # Diffs that are made before a request are counted as a separate operation.
    makes_diffs_ahead = counts_of_one.total("diffs_made") > counts_of_one.total("served_diffs")
    fields_by_key = ("acquisitions", "sent", "received")
    operation_kinds = tuple(
        (field_name, tuple(value) if field_name in fields_by_key else None)
        for field_name, value in values_by_field.items()
    )
    return _SAMPLES.setdefault(
        (counts.program, min(counts.processors, 3), makes_diffs_ahead, operation_kinds),
        counts_of_one,
    )


def _counts_with_work(counts: Counts) -> Counts:
    """Return the counts without the start-up, whose time is not computed; raise if they contain no
    work.
    """
    counts_after_start = counts.without(START)
    if not counts_after_start.phases or not counts_after_start.total("work"):
        raise ModelError(
            f"the counts of {counts.program} hold no work after {START}; no time follows from them"
        )
    return counts_after_start


class _CountsByIdentity:
    """Counts as a key of a cache: equal only to the same object, so that none are compared."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def __eq__(self, operand: object) -> bool:
        return isinstance(operand, _CountsByIdentity) and self.counts is operand.counts

    def __hash__(self) -> int:
        return id(self.counts)


def check_sequential(sequential: InputValue | None, name: str) -> InputValue:
    """Return the time on one processor unchanged; raise if an application has none."""
    if sequential is None:
        raise ModelError(f"{name} needs sequential: the time of the program on one processor")
    return sequential


# A study builds one program on one machine many times, changing only a technology.
@lru_cache(maxsize=32)
def _cached_model(
    machine: Machine,
    program_counts: _CountsByIdentity,
    sequential: InputValue | None,
    faults: InputValue,
    locks: InputValue,
    name: str,
) -> Model:
    """Build the model of a program from counts and costs; the model is cached by its arguments."""
    sequential = check_sequential(sequential, name)
    counts = _counts_with_work(program_counts.counts)
    inputs = dict(
        zip(
            (parameter.name for parameter in COMMON_INPUTS),
            (sequential, faults, locks),
            strict=True,
        )
    )
    model = superstep_model(*_Supersteps(machine, counts, inputs).supersteps(), name=name)
    classes = OperationClasses(counts)
    size_by_value_name = {
        f"bytes[{message_kind.replace(' ', '-')}]": classes.mean_message_size(message_kind)
        for message_kind in classes.kinds
    }
    exchanges_by_part_count = counts.faults_by_parts()
    requested_parts = sum(
        part_count * fault_count for part_count, (fault_count, _) in exchanges_by_part_count.items()
    )
    parts_per_fault = (
        {"parts": requested_parts / counts.total("faults")} if exchanges_by_part_count else {}
    )
    work_per_processor = float(counts.total("work")) / counts.processors
    return replace(
        model, counted={"work": work_per_processor, **parts_per_fault, **size_by_value_name}
    )


class _Supersteps:
    """The phases of a program as supersteps: the operations of all processors in each phase."""

    def __init__(self, machine: Machine, counts: Counts, inputs: InputValues) -> None:
        self.machine = machine
        self.counts = counts
        self.operations = Operations(machine, OperationClasses(counts))
        self.unit_time = value_of(inputs, "sequential") / float(counts.total("work"))
        operations = self.operations
        prefetched_faults = value_of(inputs, "prefetched_faults")
        prefetched_locks = value_of(inputs, "prefetched_locks")
        self.build_fault = cache(
            lambda key: choose(
                (1 - prefetched_faults, operations.fault(key)),
                (prefetched_faults, operations.prefetch(key)),
            )
        )
        self.build_lock = cache(
            lambda hops: choose(
                (1 - prefetched_locks, operations.acquire(hops)),
                (prefetched_locks, operations.prefetched_lock),
            )
        )
        requested_locks = 1 - prefetched_locks
        self.wait_in_queue = repeat(requested_locks, operations.wait_in_queue)
        self.fault_ahead = repeat(requested_locks * (1 - prefetched_faults), operations.fault_ahead)
        self.barrier = operations.barrier(counts.processors) if counts.processors > 1 else then()
        self.notice_steps = {
            name: (operations.notice(name), operations.invalidate(name))
            for name in ("lock", "barrier")
        }

    def supersteps(self) -> Iterator[tuple[int, list[Activity], Activity]]:
        """Yield for each phase the repetitions, the operations of each processor, and the
        barrier.
        """
        for phase_number, phase in enumerate(self.counts.phases, 1):
            processor_activities = [
                self._activity_of_processor(
                    tally,
                    phase.repeat,
                    f"work.{phase_number}.{processor_index}",
                    processor_index == 0,
                )
                for processor_index, tally in enumerate(phase.tallies)
            ]
            yield phase.repeat, processor_activities, self._barriers_of_phase(phase)

    def _activity_of_processor(
        self, tally: ProcessorTally, round_count: int, name: str, is_manager: bool
    ) -> Activity:
        """Return the work and the operations of a processor in a phase; if the tally adds up
        several rounds of the phase, the mean of these rounds.
        """
        counted_operations = [*self._own_operations(tally), *self._operations_for_others(tally)]
        if is_manager:
            counted_operations.append(
                (round_count * max(0, self.counts.processors - 2), self.operations.arrival)
            )
        counted_activities = [
            (count / round_count, operation) for count, operation in counted_operations if count
        ]
        operation_total = sum(count for count, _ in counted_activities)
        busy_time = self.unit_time * (tally.work / round_count)
        piece_count = max(1, ceil(operation_total))
        work_step = software(
            self.machine,
            busy_time / piece_count,
            name=name,
            component="busy",
            technology="application",
        )
        # Signals interrupt work, so it does not hold the processor against requests.
        work_step = with_labels(work_step, "", keeps_resources=False)
        upkeep_steps = [
            repeat(count / round_count, operation)
            for count, operation in self._notice_operations(tally)
            if count
        ]
        if not counted_activities:
            return Then((work_step, *upkeep_steps))
        if operation_total <= MOST_OPERATIONS_LAID_OUT and all(
            count == int(count) for count, _ in counted_activities
        ):
            return Then(
                (*_operations_between_work(work_step, counted_activities, name), *upkeep_steps)
            )
        random_operation = choose(
            *((count / operation_total, operation) for count, operation in counted_activities)
        )
        return Then(
            (
                repeat(
                    piece_count,
                    work_step >> repeat(operation_total / piece_count, random_operation),
                ),
                *upkeep_steps,
            )
        )

    def _own_operations(self, tally: ProcessorTally) -> Iterator[tuple[float, Activity]]:
        """Yield the count and the activity of each operation that the processor needs itself."""
        operations = self.operations
        yield from (
            (count, self.build_fault(operation_key))
            for operation_key, count in count_by_key(tally.faults).items()
        )
        yield from (
            (count, operations.collect(operation_key))
            for operation_key, count in count_by_key(tally.collected).items()
        )
        yield from (
            (count, self.build_lock(hops)) for hops, count in tally.acquisitions.items() if hops
        )
        yield tally.ahead, self.wait_in_queue
        yield tally.ahead_faults, self.fault_ahead
        yield tally.empty, operations.empty_fault
        yield tally.write_faults, operations.trap
        yield tally.twins, operations.twin

    def _notice_operations(self, tally: ProcessorTally) -> Iterator[tuple[float, Activity]]:
        """Yield the count and the activity of the diffs, notices and invalidations that write
        notices cause, except at barriers.
        """
        operations = self.operations
        yield (
            max(0.0, tally.diffs_made - operations.classes.diffs_per_reply * tally.served_diffs),
            operations.make_diff,
        )
        lock_fraction = _notice_fraction_at_locks(tally)
        for count, operation in zip(
            (tally.notices, tally.invalidated), self.notice_steps["lock"], strict=True
        ):
            yield lock_fraction * count, operation

    def _operations_for_others(self, tally: ProcessorTally) -> Iterator[tuple[float, Activity]]:
        """Yield the count and the activity of each service of a request of other processors."""
        operations = self.operations
        reply_count, reply_bytes = tally.sent.get("diffs", (0, 0))
        if reply_count:
            yield reply_count, operations.serve(operation_key(1, reply_bytes // reply_count))
        yield tally.served_pages, operations.serve_page
        yield tally.forwarded, operations.forward
        yield tally.granted, operations.grant

    def _barriers_of_phase(self, phase: CountedPhase) -> Activity:
        """Return the barriers that end a phase, one and another one for each garbage collection,
        with the mean time of their notices and invalidations.
        """
        if self.counts.processors == 1:
            return self.barrier
        processor_rounds = phase.repeat * self.counts.processors
        collections_per_round = sum(tally.collections for tally in phase.tallies) / processor_rounds
        notices_per_round = (
            sum((1 - _notice_fraction_at_locks(tally)) * tally.notices for tally in phase.tallies)
            / processor_rounds
        )
        pages_per_round = (
            sum(
                (1 - _notice_fraction_at_locks(tally)) * tally.invalidated
                for tally in phase.tallies
            )
            / processor_rounds
        )
        notice_step, invalidation_step = self.notice_steps["barrier"]
        barrier = then(
            repeat(1 + collections_per_round, self.barrier),
            repeat(notices_per_round, notice_step),
            repeat(pages_per_round, invalidation_step),
        )
        return with_labels(barrier, "", keeps_resources=False)


def _operations_between_work(
    work: Activity, counted_activities: list[tuple[float, Activity]], name: str
) -> Iterator[Activity]:
    """Yield some operations with a piece of the work before each, in a random order, whose seed is
    the name of the work.
    """
    operations = [operation for count, operation in counted_activities for _ in range(int(count))]
    Random(name).shuffle(operations)
    return (activity for operation in operations for activity in (work, operation))


def _notice_fraction_at_locks(tally: ProcessorTally) -> float:
    """Return the share of a processor's notices that came with locks, estimated by the bytes of
    messages that carry notices.
    """
    lock_bytes, barrier_bytes = (
        tally.received.get(message_kind, (0, 0))[1] for message_kind in ("lock reply", "leave")
    )
    return lock_bytes / (lock_bytes + barrier_bytes) if lock_bytes else 0.0


COMMON_INPUTS = (
    Input(
        "sequential",
        TIME,
        "time of the program on one processor, without distributed shared memory",
        None,
        least=1e-9,
    ),
    Input(
        "prefetched_faults",
        COUNT,
        "part of the faults whose diffs are prefetched",
        0.0,
        most=1.0,
        shapes=False,
    ),
    Input(
        "prefetched_locks",
        COUNT,
        "part of the locks that are prefetched",
        0.0,
        most=1.0,
        shapes=False,
    ),
)
"""Inputs of every application beside its counts."""


def _builder_with_counts(
    model_function: Callable[[Machine, Counts, InputValues], Model],
) -> Callable[[Machine, InputValues], Model]:
    """Return a function that builds a model from a machine and inputs, with the counts that the
    inputs name.
    """

    def build(machine: Machine, inputs: InputValues) -> Model:
        counts = inputs["counts"]
        assert isinstance(counts, Counts)
        return model_function(machine, counts, inputs)

    return build


APPLICATION = Program(
    "dvsm/application",
    "A program on distributed virtual shared memory, from counts of what it did",
    f"{PARSONS}, section on the application model",
    (
        Input(
            "counts",
            COUNT,
            "of its faults, locks and messages: a name in the catalogue, or a file",
            None,
            data="counts",
        ),
        *COMMON_INPUTS,
    ),
    _builder_with_counts(application_model),
    sample=_builder_with_counts(sample_model),
)
