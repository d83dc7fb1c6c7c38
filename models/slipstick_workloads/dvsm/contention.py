"""Diff requests of several processors at once: the remote delay is a result, not an input.

Every processor is a station that executes one operation at a time, in order of arrival: a send, a
receive, service of a request, computing. Assumptions:

- A fault sends requests for a diff to all other processors. The requests leave one after another;
  requests that arrive meanwhile are served between two of them.
- A request is served by the destination's processor, after the operation in progress and all
  earlier arrivals: signal, dispatch, receive, computing the diff, sending it, without a break. The
  dispatch is the delay of a handler without contention, as in Table 3.
- A shared medium carries one frame at a time, requests and replies of all. On a switched network
  each processor has a link in each direction; replies queue for the link of the processor under
  study, the links of the others are assumed to be free.
- Replies are received in order of arrival, one at a time; the fault handler then computes, without
  a break. The wire carries the next reply meanwhile; with `held` it does not, for a reply holds the
  processor from its first byte on.
- A fault begins when its processor has served the earlier requests. That service is a component of
  the account, `served`, and not part of the fault time.

Source: the mechanism is that of Parsons, Brorsson, Sevcik, IBM Systems Journal 36(4), 1997,
sections on fault time and model validation; processors as stations are our interpretation.
tests/workloads/dvsm/reference_protocol.py simulates the same protocol message by message.
"""

from __future__ import annotations

from slipstick.errors import ModelError
from slipstick.expression.nodes import BYTES, COUNT, TIME, Expr, Number
from slipstick.law.symbols import PARSONS
from slipstick.model.activity import delay, parallel, pipeline, serial, service, then
from slipstick.model.machine import Machine
from slipstick.model.steps import Activity
from slipstick.model.system import ClosedPopulation, Group, Model, Station
from slipstick.program.operations import protocol_time, wire_time
from slipstick.program.program import Input, InputValues, Program, number, value_of
from slipstick_workloads.dvsm.operations import cross_hardware

COMPONENT = "fault"


def diff_phase(machine: Machine, inputs: InputValues) -> Model:
    """Build the model of a phase of faults: some processors repeatedly request diffs from all the
    others.

    Answers are about one of the requesting processors. An operation is one step, for nothing comes
    between its parts; so a what-if by technology class counts a whole send or receive as protocol,
    and a whole service as software.
    """
    processors = number(inputs, "processors")
    faulting_processors = number(inputs, "askers")
    if faulting_processors > processors:
        raise ModelError(
            f"dvsm/diff-phase has {faulting_processors:g} askers among {processors:g} processors;"
            " let there be"
            " fewer"
        )
    # Named by number, so that the account separates this wait from those within the fault.
    tested_cycle = _wait_until_free("served", "processor[0]") >> _fault(machine, inputs, "")
    peer_cycle = _wait_until_free("served.peer", "own") >> _fault(machine, inputs, ".peer")
    barrier_wait = delay(
        value_of(inputs, "pause"),
        name="waiting",
        component="idle",
        technology="application",
    )
    faulting_count = value_of(inputs, "askers")
    groups = (
        Group("asker", Number(1.0), tested_cycle),
        Group("peers", faulting_count - 1, peer_cycle),
        Group("idle", value_of(inputs, "processors") - faulting_count, barrier_wait),
    )
    resources = {_wire_resource_name(machine): Station()}
    return Model("dvsm/diff-phase", ClosedPopulation(groups), resources, useful=())


def _wait_until_free(name: str, processor: str) -> Activity:
    """Build an activity that waits until a processor is free."""
    return service(
        processor, Number(0.0, TIME), name=name, component="served", technology="software"
    )


def _fault(machine: Machine, inputs: InputValues, suffix: str) -> Activity:
    """Build the activity of one fault. `suffix` ends the names of its steps: empty for the
    processor under study, and another text for the other processors.
    """
    scv = number(inputs, "variation") ** 2
    costs = OperationCosts(machine, inputs)

    def operation_step(resource: str, seconds: Expr, name: str, technology: str) -> Activity:
        return service(
            resource, seconds, name=name, component=COMPONENT, technology=technology, scv=scv
        )

    reply_holds_source = number(inputs, "held") == 1
    reply = _network_step(
        machine,
        costs.reply_size,
        f"reply.wire{suffix}",
        queues=machine.network.medium == "shared" or not suffix,
    )
    arrival_time = wire_time(machine.network, costs.reply_size)
    remote_steps = then(
        _network_step(
            machine, costs.request_size, "request.wire", queues=machine.network.medium == "shared"
        ),
        cross_hardware(machine, 1, name="request.hardware", component=COMPONENT),
        operation_step("each-other", costs.serve_time, "serve", "software"),
        *(() if reply_holds_source else (reply,)),
        cross_hardware(machine, 1, name="reply.hardware", component=COMPONENT),
        operation_step(
            "own",
            arrival_time + costs.receive_time if reply_holds_source else costs.receive_time,
            "receive",
            "protocol",
        ),
    )
    stages = [
        serial(operation_step("own", costs.send_time, "send", "protocol"), name="sends"),
        parallel(remote_steps, name="remote"),
    ]
    diffs = pipeline(stages, value_of(inputs, "processors") - 1, name=f"diffs{suffix}")
    return diffs >> operation_step("own", costs.compute_time, "compute", "software")


class OperationCosts:
    """Times of the operations of a diff request, each without a break [s], and the sizes of its
    messages [B].
    """

    def __init__(self, machine: Machine, inputs: InputValues) -> None:
        network = machine.network
        speed = machine.speed
        self.request_size = value_of(inputs, "request")
        self.reply_size = value_of(inputs, "reply")
        request_time = protocol_time(network, self.request_size)
        reply_time = protocol_time(network, self.reply_size)
        self.send_time = (request_time + value_of(inputs, "send_call")) / speed
        self.receive_time = (reply_time + value_of(inputs, "receive_call")) / speed
        handler_time = value_of(inputs, "remote_call") + value_of(inputs, "remote_compute")
        self.serve_time = (
            machine.signal + value_of(inputs, "dispatch") + request_time + handler_time + reply_time
        ) / speed
        self.compute_time = value_of(inputs, "compute") / speed


def _network_step(machine: Machine, message_size: Expr, name: str, queues: bool) -> Activity:
    """Build a step that takes the time of a message in the network."""
    seconds = wire_time(machine.network, message_size)
    if queues:
        return service(
            _wire_resource_name(machine), seconds, name=name, component=COMPONENT, technology="wire"
        )
    return delay(seconds, name=name, component=COMPONENT, technology="wire")


def _wire_resource_name(machine: Machine) -> str:
    """Return the name of the resource for which frames queue: the medium of all processors, or the
    link into one processor.
    """
    return "wire" if machine.network.medium == "shared" else "link"


DIFF_PHASE = Program(
    "dvsm/diff-phase",
    "Phase of diff requests: several processors fault at the same time, and serve each other",
    f"{PARSONS}, Tables 4 and 5",
    (
        Input(
            "processors",
            COUNT,
            "processors that take part",
            "machine.processors.count",
            least=2,
            whole=True,
        ),
        Input(
            "askers",
            COUNT,
            "processors that fault; the others wait at the barrier",
            1.0,
            least=1,
            whole=True,
        ),
        Input("request", BYTES, "size of a request", 12.0),
        Input("reply", BYTES, "size of each reply", 20.0),
        Input("send_call", TIME, "extra system-call time of each send at the source"),
        Input("receive_call", TIME, "extra system-call time of each receive at the source"),
        Input("remote_call", TIME, "extra system-call time at each destination"),
        Input("compute", TIME, "computation of the fault handler, for the whole fault"),
        Input("remote_compute", TIME, "computation of the remote handler, for each request"),
        Input("dispatch", TIME, "from a request's arrival to its processing, without contention"),
        Input(
            "held",
            COUNT,
            "whether a reply holds the source: 1, from its first byte on",
            0.0,
            most=1.0,
            whole=True,
        ),
        Input("variation", COUNT, "coefficient of variation of the operations' times"),
        Input(
            "pause",
            TIME,
            "between two checks of the barrier by a waiting processor",
            1e-3,
            least=1e-6,
        ),
    ),
    diff_phase,
)
