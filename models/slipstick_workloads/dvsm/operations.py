"""Distributed virtual shared memory (TreadMarks) on a network of workstations: each operation
alone, as activities.

Each operation is written from its mechanism: the messages, the computations at each processor, and
what takes place in parallel. A message costs its sender and its receiver protocol time by the
network's cost table and an extra system-call time (an input, as measured in programs); it takes
time on the wire and in adapters and switches. Times that the paper measured are inputs: handler
computation, extra system-call time, remote delay. `contention` has processors that fault at
the same time, so that the remote delay is a result.

Source: Parsons, Brorsson, Sevcik, Predicting the performance of distributed virtual shared-memory
applications, IBM Systems Journal 36(4), 1997.
"""

from __future__ import annotations

from collections.abc import Callable

from slipstick.expression.nodes import BYTES, COUNT, TIME, Expr, Like, Number
from slipstick.late import dataclass
from slipstick.law.symbols import PARSONS
from slipstick.model.activity import delay, parallel, pipeline, repeat, serial, service, then
from slipstick.model.machine import Machine
from slipstick.model.steps import Activity
from slipstick.model.system import Model, closed_model
from slipstick.program.operations import hardware_latency, protocol_time, wire_time
from slipstick.program.program import Input, InputValues, Program, value_of


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A processor at one end of a message, and the component to which its steps are booked."""

    machine: Machine
    component: str
    resource: str = "own"

    def spend(self, name: str, seconds: Expr, technology: str) -> Activity:
        """Build a step of software time at this processor."""
        return software(
            self.machine,
            seconds,
            name=name,
            component=self.component,
            technology=technology,
            resource=self.resource,
        )

    def handle_message(self, name: str, size: Expr, call_time: Expr | None = None) -> Activity:
        """Build the sending or receiving of a message: protocol time and, if given, additional
        system-call time.
        """
        protocol = self.spend(
            f"{name}.protocol", protocol_time(self.machine.network, size), "protocol"
        )
        return (
            protocol
            if call_time is None
            else protocol >> self.spend(f"{name}.call", call_time, "system")
        )

    def handle_signal(self) -> Activity:
        """Build the handling of a signal."""
        return self.spend("signal", self.machine.signal, "signal")

    def serve_request(
        self, inputs: InputValues, name: str, call_time: Expr | None = None
    ) -> Activity:
        """Build the receiving of a request by a signal, after the remote delay, and the computing
        of its reply.
        """
        return then(
            self.handle_signal(),
            self.spend("remote.delay", value_of(inputs, "remote_delay"), "software"),
            self.handle_message(f"{name}.receive", value_of(inputs, "request"), call_time),
            self.spend("remote.compute", value_of(inputs, "remote_compute"), "software"),
        )


_REQUEST_INPUT = Input("request", BYTES, "size of a request", 12.0)

_REMOTE_INPUTS = (
    Input("remote_compute", TIME, "computation of the remote handler, for each request"),
    Input(
        "remote_delay", TIME, "from a request's arrival to its processing, at the remote processor"
    ),
)


def message(machine: Machine, inputs: InputValues) -> Activity:
    """Build one message from one processor to another: send, wire, adapters and switches,
    receive.
    """
    component = "message"
    size = value_of(inputs, "size")
    sender = Endpoint(machine, component)
    receiver = Endpoint(machine, component, "other")
    return then(
        sender.handle_message("send", size, value_of(inputs, "send_call")),
        wire(machine, size, name="wire", component=component),
        cross_hardware(machine, 1, name="hardware", component=component),
        receiver.handle_message("receive", size, value_of(inputs, "receive_call")),
    )


def page_fault(machine: Machine, inputs: InputValues) -> Activity:
    """Build an empty page fault: a request, the handler at the other processor, and a page in
    reply.

    The protocol time is counted at both ends of both messages.
    """
    component = "empty"
    request_size = value_of(inputs, "request")
    reply_size = value_of(inputs, "reply")
    endpoint = Endpoint(machine, component)
    remote_endpoint = Endpoint(machine, component, "other")
    return then(
        endpoint.handle_message("send", request_size),
        wire(machine, request_size, name="request.wire", component=component),
        cross_hardware(machine, 2, name="hardware", component=component),
        remote_endpoint.serve_request(inputs, "remote"),
        remote_endpoint.handle_message("remote.send", reply_size),
        wire(machine, reply_size, name="reply.wire", component=component),
        endpoint.handle_message("receive", reply_size),
        endpoint.spend("call", value_of(inputs, "call"), "system"),
    )


def diff_request(machine: Machine, inputs: InputValues) -> Activity:
    """Build a diff request: requests for diffs to several processors at once, whose replies form a
    pipeline.

    Serial at the source are its sends, the wire of its own link (request and reply together) and
    its receives; hardware latency and all work of the remote processors take place at d processors
    in parallel. The fault handler computes once.
    """
    reply_sizes = inputs.get("replies")
    sizes_of_parts = reply_sizes if isinstance(reply_sizes, tuple) else (value_of(inputs, "reply"),)
    reply_count = (
        Number(float(len(sizes_of_parts)))
        if isinstance(reply_sizes, tuple)
        else value_of(inputs, "parts")
    )
    part_activities = [
        _steps_by_stage(machine, inputs, reply_size, f".{index}" if len(sizes_of_parts) > 1 else "")
        for index, reply_size in enumerate(sizes_of_parts)
    ]
    send_steps, wire_steps, remote_steps, receive_steps = zip(*part_activities, strict=True)
    endpoint = Endpoint(machine, "fault")
    stages = [
        serial(*send_steps, name="sends"),
        serial(*wire_steps, name="wire"),
        parallel(*remote_steps, name="remote"),
        serial(*receive_steps, name="receives"),
    ]
    return pipeline(stages, reply_count, name="diffs") >> endpoint.spend(
        "compute", value_of(inputs, "compute"), "software"
    )


def _steps_by_stage(
    machine: Machine, inputs: InputValues, reply_size: Expr, suffix: str
) -> tuple[Activity, Activity, Activity, Activity]:
    """Return the steps of one part of a diff request: its send, wire, remote work and receive."""
    component = "fault"
    request_size = value_of(inputs, "request")
    endpoint = Endpoint(machine, component)
    remote_endpoint = Endpoint(machine, component, "each-other")
    wire_steps = then(
        wire(machine, request_size, name="request.wire", component=component),
        wire(machine, reply_size, name=f"reply.wire{suffix}", component=component),
    )
    remote_steps = then(
        cross_hardware(machine, 2, name="hardware", component=component),
        remote_endpoint.serve_request(inputs, "remote", value_of(inputs, "remote_call")),
        remote_endpoint.handle_message(f"remote.send{suffix}", reply_size),
    )
    send_step = endpoint.handle_message("send", request_size, value_of(inputs, "send_call"))
    return (
        send_step,
        wire_steps,
        remote_steps,
        endpoint.handle_message(f"receive{suffix}", reply_size, value_of(inputs, "receive_call")),
    )


def lock(machine: Machine, inputs: InputValues) -> Activity:
    """Build a lock acquisition: the request goes to the manager, which may forward it to the last
    holder.

    With p parties there are p - 1 requests, each received and served at the next processor, and one
    reply with the write notices.
    """
    component = "lock"
    request_size = value_of(inputs, "request")
    reply_size = value_of(inputs, "reply")
    parties = value_of(inputs, "parties")
    endpoint = Endpoint(machine, component)
    remote_endpoint = Endpoint(machine, component, "other")
    steps_of_hop = then(
        endpoint.handle_message("request.send", request_size),
        wire(machine, request_size, name="request.wire", component=component),
        cross_hardware(machine, 1, name="request.hardware", component=component),
        remote_endpoint.serve_request(inputs, "request"),
    )
    return then(
        repeat(parties - 1, steps_of_hop),
        remote_endpoint.handle_message("reply.send", reply_size),
        wire(machine, reply_size, name="reply.wire", component=component),
        cross_hardware(machine, 1, name="reply.hardware", component=component),
        endpoint.handle_message("reply.receive", reply_size),
        endpoint.spend("call", value_of(inputs, "call"), "system"),
        endpoint.spend("compute", value_of(inputs, "compute"), "software"),
    )


def barrier_slave(machine: Machine, inputs: InputValues) -> Activity:
    """Build a barrier as the last arriving slave sees it: the four parts of the master and the
    slave's own release.
    """
    component = "barrier"
    release_size = value_of(inputs, "release")
    endpoint = Endpoint(machine, component)
    return then(
        endpoint.spend("notices", value_of(inputs, "notices"), "software"),
        _arrival_to_release(machine, inputs),
        wire(machine, release_size, name="release.wire", component=component),
        cross_hardware(machine, 1, name="release.hardware", component=component),
        endpoint.handle_message("release.receive", release_size, value_of(inputs, "receive_call")),
        endpoint.spend("invalidate", value_of(inputs, "invalidate"), "software"),
    )


def barrier_master(machine: Machine, inputs: InputValues) -> Activity:
    """Build a barrier as its master sees it, in four parts.

    The last arrival's message to the master, merging its write notices, the master's sends to all
    slaves, the computation after the barrier. The best case: the master arrives first.
    """
    endpoint = Endpoint(machine, "barrier")
    return _arrival_to_release(machine, inputs) >> endpoint.spend(
        "invalidate", value_of(inputs, "invalidate"), "software"
    )


def _arrival_to_release(machine: Machine, inputs: InputValues) -> Activity:
    """Build the parts of a barrier that slave and master share: arrival, merging, and the sends of
    the releases one by one.
    """
    component = "barrier"
    arrival_bytes = value_of(inputs, "arrive")
    release_bytes = value_of(inputs, "release")
    processors = value_of(inputs, "processors")
    slave = Endpoint(machine, component)
    master = Endpoint(machine, component, "processor[0]")
    return then(
        slave.handle_message("arrive.send", arrival_bytes, value_of(inputs, "send_call")),
        wire(machine, arrival_bytes, name="arrive.wire", component=component),
        cross_hardware(machine, 1, name="arrive.hardware", component=component),
        master.handle_message("arrive.receive", arrival_bytes),
        master.spend("merge", value_of(inputs, "merge"), "software"),
        repeat(
            processors - 1,
            master.handle_message("release.send", release_bytes, value_of(inputs, "release_call")),
        ),
    )


def _builder_of_single_operation(
    operation: Callable[[Machine, InputValues], Activity], name: str
) -> Callable[[Machine, InputValues], Model]:
    """Return the function that builds the model of one operation: a processor that repeats it and
    does nothing else.
    """
    return lambda machine, inputs: closed_model(operation(machine, inputs), name=name, useful=())


_BARRIER_INPUTS = (
    Input(
        "processors",
        COUNT,
        "processors that take part",
        "machine.processors.count",
        least=2,
        whole=True,
    ),
    Input("arrive", BYTES, "size of a slave's message with its write notices", 64.0),
    Input("release", BYTES, "size of the master's release with the merged write notices", 64.0),
    Input("merge", TIME, "merging the last slave's write notices, at the master"),
    Input("invalidate", TIME, "mean computation after the barrier: invalidating pages"),
    Input("send_call", TIME, "extra system-call time of a slave's send"),
    Input("release_call", TIME, "extra system-call time of each of the master's sends"),
)

MESSAGE = Program(
    "dvsm/message",
    "One message between two processors",
    f"{PARSONS}, Table 2",
    (
        Input("size", BYTES, "size of the message", 12.0),
        Input("send_call", TIME, "extra system-call time of the send"),
        Input("receive_call", TIME, "extra system-call time of the receive"),
    ),
    _builder_of_single_operation(message, "dvsm/message"),
)

PAGE_FAULT = Program(
    "dvsm/page-fault",
    "Empty page fault: a whole page is fetched from its owner",
    f"{PARSONS}, Table 3",
    (
        _REQUEST_INPUT,
        Input("reply", BYTES, "size of the reply", "machine.memory.page"),
        Input("call", TIME, "extra system-call time of all sends and receives"),
        *_REMOTE_INPUTS,
    ),
    _builder_of_single_operation(page_fault, "dvsm/page-fault"),
)

DIFF_REQUEST = Program(
    "dvsm/diff-request",
    "Multipart diff request: diffs of one page are requested from several processors at once",
    f"{PARSONS}, Tables 4 and 5",
    (
        Input("parts", COUNT, "processors that get a request for a diff", 1.0, least=1, whole=True),
        _REQUEST_INPUT,
        Input("reply", BYTES, "size of each reply", 20.0),
        Input(
            "replies",
            BYTES,
            "sizes of the replies if they differ; in place of parts and reply",
            None,
            many=True,
        ),
        Input("send_call", TIME, "extra system-call time of each send at the source"),
        Input("receive_call", TIME, "extra system-call time of each receive at the source"),
        Input("remote_call", TIME, "extra system-call time at each destination"),
        Input("compute", TIME, "computation of the fault handler, for the whole fault"),
        *_REMOTE_INPUTS,
    ),
    _builder_of_single_operation(diff_request, "dvsm/diff-request"),
)

LOCK = Program(
    "dvsm/lock",
    "Lock acquisition by way of the lock's manager",
    f"{PARSONS}, Table 6",
    (
        Input(
            "parties",
            COUNT,
            "parties of an acquisition: with 2 the manager holds the lock, with 3 it forwards the"
            " request",
            2.0,
            least=2,
            whole=True,
        ),
        Input("request", BYTES, "size of a request", 24.0),
        Input("reply", BYTES, "size of the reply", 4.0),
        Input("call", TIME, "extra system-call time of all sends and receives"),
        Input("compute", TIME, "lock acquisition computation at the source"),
        *_REMOTE_INPUTS,
    ),
    _builder_of_single_operation(lock, "dvsm/lock"),
)

BARRIER_SLAVE = Program(
    "dvsm/barrier-slave",
    "Barrier from the view of a slave",
    f"{PARSONS}, section on barriers",
    (
        *_BARRIER_INPUTS,
        Input("notices", TIME, "making the write notices, at the slave"),
        Input("receive_call", TIME, "extra system-call time of the slave's receive"),
    ),
    _builder_of_single_operation(barrier_slave, "dvsm/barrier-slave"),
)

BARRIER_MASTER = Program(
    "dvsm/barrier-master",
    "Barrier from the view of its master",
    f"{PARSONS}, section on barriers",
    _BARRIER_INPUTS,
    _builder_of_single_operation(barrier_master, "dvsm/barrier-master"),
)


def software(
    machine: Machine,
    seconds: Expr,
    *,
    name: str,
    component: str,
    technology: str,
    resource: str = "own",
) -> Activity:
    """Build a step of software time at a processor; the time is divided by the processor's
    speed.
    """
    return service(
        resource, seconds / machine.speed, name=name, component=component, technology=technology
    )


def wire(machine: Machine, size: Expr, *, name: str, component: str) -> Activity:
    """Build the transfer of a message over the wire; if the network has a shared medium, messages
    contend for it.
    """
    seconds = wire_time(machine.network, size)
    if machine.network.medium == "none":
        return delay(seconds, name=name, component=component, technology="wire")
    return service("wire", seconds, name=name, component=component, technology="wire")


def cross_hardware(machine: Machine, messages: Like, *, name: str, component: str) -> Activity:
    """Build the passage of messages, one after the other, through two adapters and the switches
    between them.
    """
    adapter_time, switch_time = hardware_latency(machine.network, messages)
    return then(
        delay(adapter_time, name=f"{name}.adapter", component=component, technology="adapter"),
        delay(switch_time, name=f"{name}.switch", component=component, technology="switch"),
    )
