"""Operations of an application: counts sorted into classes of equal size, and the cost of each
class as an activity.

Faults, empty misses, acquisitions and barriers are those of `slipstick_workloads.dvsm.operations`.
Here are the operations that they leave to other processors, and those without messages: serving
requests, twins, diffs, notices, and prefetching.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import NamedTuple

from slipstick.errors import ModelError
from slipstick.expression.nodes import BYTES, COUNT, Expr, Number
from slipstick.late import dataclass, replace
from slipstick.model.activity import Step, map_steps, repeat, then
from slipstick.model.machine import Machine
from slipstick.model.steps import Activity
from slipstick.program.program import InputValues
from slipstick_workloads.counts import Counts, ProcessorTally
from slipstick_workloads.dvsm.operations import (
    Endpoint,
    barrier_slave,
    diff_request,
    lock,
    page_fault,
)


class OperationKey(NamedTuple):
    """The key of a class of exchanges: the number of parts of an exchange, and the binary digits of
    the bytes of one part.
    """

    parts: int
    size_digits: int


@dataclass(frozen=True, slots=True)
class OperationClass:
    """Exchanges that are counted as one operation, because their replies have nearly equal sizes.

    Parameters
    ----------
    parts : processors that get a request
    size : mean size of the reply of each [B]
    """

    parts: int
    size: float


class OperationClasses:
    """The class of technology of each operation that a program counts, and the sizes of its
    messages.

    Parameters
    ----------
    counts : of the program
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    @cached_property
    def faults(self) -> dict[OperationKey, OperationClass]:
        """Classes of faults and collections by key, each with its mean size over the whole
        program.
        """
        exchanges_by_key: dict[OperationKey, tuple[int, int]] = {}
        for tally in self._tallies():
            for name in ("faults", "collected"):
                for (part_count, reply_bytes), count in getattr(tally, name).items():
                    key = operation_key(part_count, reply_bytes)
                    count_before, bytes_before = exchanges_by_key.get(key, (0, 0))
                    exchanges_by_key[key] = (
                        count_before + count * part_count,
                        bytes_before + count * reply_bytes,
                    )
        return {
            key: OperationClass(key.parts, total_bytes / count)
            for key, (count, total_bytes) in sorted(exchanges_by_key.items())
        }

    @cached_property
    def served_replies(self) -> dict[OperationKey, OperationClass]:
        """Classes of replies with diffs by key, each with its mean size over the whole program."""
        exchanges_by_key: dict[OperationKey, tuple[int, int]] = {}
        for tally in self._tallies():
            count, reply_bytes = tally.sent.get("diffs", (0, 0))
            if count:
                key = operation_key(1, reply_bytes // count)
                count_before, bytes_before = exchanges_by_key.get(key, (0, 0))
                exchanges_by_key[key] = count_before + count, bytes_before + reply_bytes
        return {
            key: OperationClass(1, total_bytes / count)
            for key, (count, total_bytes) in sorted(exchanges_by_key.items())
        }

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of messages that the program sends."""
        return list(dict.fromkeys(kind for tally in self._tallies() for kind in tally.sent))

    def mean_message_size(self, kind: str) -> float:
        """Return the mean size of a kind of message; 0 if there are none [B]."""
        counts_and_sizes = [tally.sent.get(kind, (0, 0)) for tally in self._tallies()]
        message_count = sum(count for count, _ in counts_and_sizes)
        return (
            sum(total_bytes for _, total_bytes in counts_and_sizes) / message_count
            if message_count
            else 0.0
        )

    @cached_property
    def diffs_per_reply(self) -> float:
        """Mean number of diffs that are made for a reply [1]; the reply may also have diffs that
        were made earlier.
        """
        diffs_made = self.counts.total("diffs_made")
        reply_count = self.counts.total("served_diffs")
        return min(1.0, diffs_made / reply_count) if reply_count else 0.0

    def _tallies(self) -> Iterator[ProcessorTally]:
        """Yield the tallies of all processors in all phases."""
        for phase in self.counts.phases:
            yield from phase.tallies


def operation_key(part_count: int, reply_bytes: int) -> OperationKey:
    """Return the key of the class of an exchange: its number of parts, and the power of two above
    the size of the reply of a part.
    """
    return OperationKey(part_count, (reply_bytes // part_count).bit_length())


def count_by_key(exchanges: Mapping[tuple[int, int], int]) -> Counter[OperationKey]:
    """Count exchanges by the key of their class."""
    counts_by_key: Counter[OperationKey] = Counter()
    for (part_count, size), count in exchanges.items():
        counts_by_key[operation_key(part_count, size)] += count
    return counts_by_key


REQUEST, LOCK_REQUEST = Number(12.0, BYTES), Number(24.0, BYTES)
"""Sizes of requests; Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997, Tables 3 to 6."""


class Operations:
    """The operations of one program on one machine.

    Parameters
    ----------
    machine : with the software of a shared memory
    classes : of the program's counts

    Raises
    ------
    ModelError : the machine has no costs of such software
    """

    def __init__(self, machine: Machine, classes: OperationClasses) -> None:
        if machine.dvsm is None:
            raise ModelError(
                f"{machine.name} has no costs of a distributed virtual shared memory; give its spec"
                " a section dvsm"
            )
        self.machine = machine
        self.dvsm = machine.dvsm
        self.classes = classes
        self.page_size = Number(float(classes.counts.page), BYTES)
        self.diff_time = self.page_size * self.dvsm.byte
        # Built at first use: few programs need an operation of each class.
        self.fault = cache(lambda key: self._fault_activity(classes.faults[key], "fault", key))
        self.prefetch = cache(lambda key: self._prefetch_diffs(classes.faults[key], key))
        self.collect = cache(
            lambda key: self._fault_activity(classes.faults[key], "collection", key)
        )
        self.serve = cache(lambda key: self._serve_diffs(classes.served_replies[key], key))
        self.acquire = cache(self._acquire_lock)

    @cached_property
    def empty_fault(self) -> Activity:
        """Fetch a whole page for the first time."""
        cost_by_input = {"call": self.dvsm.page_call, "remote_compute": self.dvsm.page_serve}
        cost_by_input["remote_delay"] = self.dvsm.page_delay
        activity = page_fault(
            self.machine, {"request": REQUEST, "reply": self.page_size, **cost_by_input}
        )
        return with_labels(activity, "empty.")

    @cached_property
    def prefetched_lock(self) -> Activity:
        """Prefetch a lock: send the request without waiting for the lock."""
        return with_labels(
            Endpoint(self.machine, "lock").handle_message("send", LOCK_REQUEST), "prefetched-lock."
        )

    @cached_property
    def wait_in_queue(self) -> Activity:
        """Wait for one processor ahead in a lock's queue: it receives the lock and writes."""
        activity = self._lock_transfer >> self._own_computing(
            "write", self.dvsm.protect + self.diff_time, "lock"
        )
        return with_labels(activity, "queued.", component="queue", keeps_resources=False)

    @cached_property
    def fault_ahead(self) -> Activity:
        """Wait for a fault of a processor that is ahead in a lock's queue. The fault has one part,
        since migrating data has one holder.
        """
        fault_count, reply_bytes = self.classes.counts.faults_by_parts().get(1, (0, 0))
        fault = (
            self._diff_request(OperationClass(1, reply_bytes / fault_count))
            if fault_count
            else self.empty_fault
        )
        return with_labels(fault, "queued-fault.", component="queue", keeps_resources=False)

    @cached_property
    def trap(self) -> Activity:
        """Handle the first write to a protected page."""
        endpoint = Endpoint(self.machine, "fault")
        return with_labels(
            endpoint.handle_signal() >> endpoint.spend("protect", self.dvsm.protect, "software"),
            "trap.",
        )

    @cached_property
    def twin(self) -> Activity:
        """Copy a page before it is written."""
        return self._own_computing("twin", self.diff_time, "fault")

    @cached_property
    def make_diff(self) -> Activity:
        """Make a diff before any request for it, since the page is about to become invalid."""
        return self._own_computing("diff", self.diff_time, "fault")

    def notice(self, component: str) -> Activity:
        """Process a write notice."""
        return self._own_computing(f"notice.{component}", self.dvsm.notice, component)

    def invalidate(self, component: str) -> Activity:
        """Invalidate a page."""
        return self._own_computing(f"invalidate.{component}", self.dvsm.protect, component)

    @cached_property
    def serve_page(self) -> Activity:
        """Send a whole page on request."""
        return self._service_of_request(
            "serve-page.", REQUEST, self.page_size, self.dvsm.page_serve
        )

    @cached_property
    def forward(self) -> Activity:
        """Pass a request for a lock on, as its manager."""
        return self._service_of_request(
            "forward.", LOCK_REQUEST, LOCK_REQUEST, self.dvsm.lock_serve
        )

    @cached_property
    def grant(self) -> Activity:
        """Pass a lock on."""
        return self._service_of_request(
            "grant.", LOCK_REQUEST, self._lock_reply, self.dvsm.lock_serve
        )

    @cached_property
    def arrival(self) -> Activity:
        """As the barrier's manager, receive the arrival message of any processor but the last."""
        endpoint = Endpoint(self.machine, "sigio")
        activity = endpoint.handle_signal() >> endpoint.handle_message(
            "receive", self._message_size("arrive")
        )
        return with_labels(activity, "arrival.", keeps_resources=False)

    def barrier(self, processors: int) -> Activity:
        """Build the part of a barrier after the last arrival, without the times of notices and
        invalidations.
        """
        no_time = Number(0.0) * self.dvsm.notice
        size_by_message = {
            "arrive": self._message_size("arrive"),
            "release": self._message_size("leave"),
        }
        names_of_times = (
            "notices",
            "merge",
            "invalidate",
            "send_call",
            "release_call",
            "receive_call",
        )
        processor_count = Number(float(processors), COUNT)
        activity = barrier_slave(
            self.machine,
            {
                "processors": processor_count,
                **size_by_message,
                **dict.fromkeys(names_of_times, no_time),
            },
        )
        return with_labels(activity, "barrier.", keeps_resources=False)

    def _fault_activity(
        self, operation_class: OperationClass, component: str, key: OperationKey
    ) -> Activity:
        """Return the fault of a class: a request for diffs to each processor that has a part."""
        return with_labels(
            self._diff_request(operation_class),
            f"{component}-{_class_name(key)}.",
            component=component,
        )

    def _diff_request(self, operation_class: OperationClass) -> Activity:
        """Return the request for the diffs of a class."""
        return diff_request(self.machine, self._diff_request_inputs(operation_class))

    def _diff_request_inputs(self, operation_class: OperationClass) -> InputValues:
        """Return the inputs of a diff request."""
        dvsm = self.dvsm
        part_count = Number(float(operation_class.parts))
        reply_size = Number(operation_class.size, BYTES)
        return {
            "parts": part_count,
            "request": REQUEST,
            "reply": reply_size,
            "send_call": dvsm.send_call,
            "receive_call": dvsm.receive_call + dvsm.receive_byte * reply_size,
            "remote_call": dvsm.serve_call,
            "compute": part_count * (dvsm.part + dvsm.apply * reply_size),
            "remote_compute": self._handler_time,
            "remote_delay": dvsm.serve_delay + (part_count - 1) * dvsm.serve_delay_more,
        }

    @property
    def _handler_time(self) -> Expr:
        """The computing time of the handler that serves a request for diffs, which includes making
        the diffs.
        """
        return self.dvsm.serve + self.classes.diffs_per_reply * self.diff_time

    def _prefetch_diffs(self, operation_class: OperationClass, key: OperationKey) -> Activity:
        """Return a prefetch of diffs: all sends and receives at the source, one after the other,
        and the computation of the fault handler.
        """
        request_inputs = self._diff_request_inputs(operation_class)
        endpoint = Endpoint(self.machine, "fault")
        part_count, request_size, reply_size = (
            _input_expression(request_inputs, name) for name in ("parts", "request", "reply")
        )
        activity = then(
            repeat(
                part_count,
                endpoint.handle_message(
                    "send", request_size, _input_expression(request_inputs, "send_call")
                ),
            ),
            repeat(
                part_count,
                endpoint.handle_message(
                    "receive", reply_size, _input_expression(request_inputs, "receive_call")
                ),
            ),
            endpoint.spend("compute", _input_expression(request_inputs, "compute"), "software"),
        )
        return with_labels(activity, f"prefetched-fault-{_class_name(key)}.")

    def _acquire_lock(self, hops: int) -> Activity:
        """Return the acquisition of a lock over a number of hops."""
        parties = Number(float(hops + 1))
        activity = lock(
            self.machine,
            {
                "parties": parties,
                "request": LOCK_REQUEST,
                "reply": self._lock_reply,
                "call": 2 * parties * self.dvsm.lock_call,
                "compute": self.dvsm.lock_compute,
                "remote_compute": self.dvsm.lock_serve,
                "remote_delay": self.dvsm.lock_delay,
            },
        )
        return with_labels(activity, f"lock-{hops}.")

    def _serve_diffs(self, operation_class: OperationClass, key: OperationKey) -> Activity:
        """Return the service of a request for diffs of a class."""
        name = f"serve-{_class_name(key)}."
        return self._service_of_request(
            name,
            REQUEST,
            Number(operation_class.size, BYTES),
            self._handler_time,
            self.dvsm.serve_call,
        )

    def _service_of_request(
        self,
        prefix: str,
        request_size: Expr,
        reply_size: Expr,
        compute_time: Expr,
        call_time: Expr | None = None,
    ) -> Activity:
        """Serve a request, as delays of the server; the requester's model has the same service
        at the server's processor.
        """
        endpoint = Endpoint(self.machine, "sigio")
        activity = then(
            endpoint.handle_signal(),
            endpoint.handle_message("receive", request_size, call_time),
            endpoint.spend("compute", compute_time, "software"),
            endpoint.handle_message("send", reply_size),
        )
        return with_labels(activity, prefix, keeps_resources=False)

    def _own_computing(self, name: str, seconds: Expr, component: str) -> Activity:
        """Return computing by the processor itself."""
        return Endpoint(self.machine, component).spend(name, seconds, "software")

    @property
    def _lock_transfer(self) -> Activity:
        """Return the sending and receiving of the reply that grants a lock."""
        endpoint = Endpoint(self.machine, "lock")
        return endpoint.handle_message("grant.send", self._lock_reply) >> endpoint.handle_message(
            "grant.receive", self._lock_reply
        )

    @property
    def _lock_reply(self) -> Expr:
        return self._message_size("lock reply")

    def _message_size(self, kind: str) -> Expr:
        return Number(self.classes.mean_message_size(kind), BYTES)


def _class_name(key: OperationKey) -> str:
    """Return a name for a class of operations: its number of parts, and the size of their replies
    rounded up to a power of two.
    """
    return f"{key.parts}x{1 << key.size_digits}"


def with_labels(
    activity: Activity, prefix: str, component: str | None = None, keeps_resources: bool = True
) -> Activity:
    """Return a tree of activities with a prefix before the names of its steps and pipelines, so
    that one model may hold several such trees.

    Parameters
    ----------
    activity : the tree
    prefix : put before each name
    component : of all steps; None keeps their own
    keeps_resources : keep the resources; else each step becomes a delay

    >>> from slipstick import service
    >>> with_labels(service("bus", 2.0, name="ask"), "read.", component="memory")
    service('bus', 2.0, name='read.ask', component='memory')
    """

    def relabel_step(step: Step) -> Step:
        """Return a step with the prefix, the component and the resource of the new tree."""
        return replace(
            step,
            name=prefix + step.name,
            component=step.component if component is None else component,
            resource=step.resource if keeps_resources else None,
        )

    return map_steps(activity, relabel_step, lambda name: prefix + name)


def _input_expression(inputs: InputValues, name: str) -> Expr:
    """Return the value of an input as an expression."""
    value = inputs[name]
    assert isinstance(value, Expr)
    return value
