"""Changing a network, a size or a count moves every dependent step as the formulas say, and no
other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import BYTES, Parameter
from slipstick.method.closed_form import ClosedForm
from slipstick.model.machine import Machine
from slipstick.model.system import Model
from slipstick.program import PROGRAMS
from tests.closed_form import solve
from tests.paper import NETWORKS, PAPER, US, diff_request, lock, machine, page_fault
from tests.strategies import machines, microseconds, quick

ALL: dict[str, Callable[[str], Model]] = {
    "page-fault": page_fault,
    "diff-request": lambda network: diff_request(4, network, "III"),
    "lock": lambda network: lock(network, 3),
}
SOFTWARE = ("software", "protocol", "system", "signal")
HARDWARE = ("wire", "adapter", "switch")
any_operation = pytest.mark.parametrize("operation", ALL)
any_network = pytest.mark.parametrize("network", NETWORKS)


def moved(model: Model, change: Mapping[str, float]) -> dict[str, float]:
    """By how much one execution of each step changes; those that stay are left out [us]."""
    before, after = solve(model).once, solve(model, change).once
    return {
        step: (after[step] - before[step]) / US for step in before if after[step] != before[step]
    }


def value(model: Model, name: str) -> float:
    found = ClosedForm(model).tape.parameters[name].value
    assert found is not None
    return found


@any_network
@pytest.mark.parametrize(("phase", "parts"), [("I", 3), ("III", 3)])
def test_a_larger_reply_moves_its_own_steps_by_the_price_of_a_byte(
    network: str, phase: str, parts: int
) -> None:
    model = diff_request(4, network, phase)
    ranges = PAPER["table_2"][network]["ranges"]
    line = ranges[0 if phase == "I" else -1]["total"]
    wire = PAPER["table_2"][network]["wire_per_byte"]
    grown = moved(model, {"reply": value(model, "reply") + 100})
    assert grown == pytest.approx(
        {
            "receive.protocol": 100 * line[1],
            "remote.send.protocol": 100 * line[1],
            "reply.wire": 100 * wire,
        }
    )


@any_network
def test_a_larger_request_moves_its_own_steps(network: str) -> None:
    per_byte = PAPER["table_2"][network]["ranges"][0]["total"][1]
    wire = PAPER["table_2"][network]["wire_per_byte"]
    protocol = 50 * per_byte
    diff = moved(diff_request(4, network, "I"), {"request": 62.0})
    assert diff == pytest.approx(
        {"send.protocol": protocol, "remote.receive.protocol": protocol, "request.wire": 50 * wire}
    )
    fault = moved(page_fault(network), {"request": 62.0})
    assert fault == pytest.approx(
        {"send.protocol": protocol, "remote.receive.protocol": protocol, "request.wire": 50 * wire}
    )
    locked = moved(lock(network, 2), {"request": 74.0})
    assert locked == pytest.approx(
        {
            "request.send.protocol": protocol,
            "request.receive.protocol": protocol,
            "request.wire": 50 * wire,
        }
    )


@pytest.mark.turns(4)
@any_network
def test_one_more_part_takes_the_longest_serial_stage(network: str) -> None:
    for table, phase in ((4, "I"), (4, "II"), (5, "III")):
        model = diff_request(table, network, phase)
        answer = solve(model)
        (limit,) = answer.limits
        more = solve(model, {"parts": value(model, "parts") + 1})
        assert answer["time"] is not None
        assert more["time"] == pytest.approx(answer["time"] + max(limit.stages.values()), rel=1e-12)
        assert more.once == answer.once


@any_network
def test_one_more_party_takes_one_more_request(network: str) -> None:
    two = solve(lock(network, 2))
    three = solve(lock(network, 2), {"parties": 3.0})
    again = {
        "request.send.protocol",
        "request.wire",
        "request.hardware.adapter",
        "request.hardware.switch",
        "signal",
        "remote.delay",
        "request.receive.protocol",
        "remote.compute",
    }
    for step, seconds in two.steps.items():
        assert three.steps[step] == pytest.approx(seconds * (2 if step in again else 1))


@any_network
@any_operation
def test_a_faster_processor_divides_software_only(operation: str, network: str) -> None:
    """Every software time by 4; adapters, switches and the wire stay."""
    model = ALL[operation](network)
    before, after = solve(model), solve(model, {"machine.processors.speed": 4.0})
    classes = {step.name: step.technology for step in model.steps}
    for step, seconds in before.once.items():
        assert classes[step] in SOFTWARE + HARDWARE
        assert after.once[step] == pytest.approx(seconds / (4 if classes[step] in SOFTWARE else 1))


@pytest.mark.turns(4)
@any_operation
@pytest.mark.parametrize(
    ("path", "technology"),
    [
        ("machine.network.wire.per_byte", "wire"),
        ("machine.network.adapter", "adapter"),
        ("machine.network.switch", "switch"),
        ("machine.signal", "signal"),
    ],
)
def test_a_price_moves_its_technology_class_in_proportion(
    operation: str, path: str, technology: str
) -> None:
    model = ALL[operation]("atm")
    classes = {step.name: step.technology for step in model.steps}
    before, after = solve(model).once, solve(model, {path: 3 * value(model, path)}).once
    for step, seconds in before.items():
        assert after[step] == pytest.approx(seconds * (3 if classes[step] == technology else 1))


@any_network
def test_added_bytes_move_every_message(network: str) -> None:
    """One more header byte: on the wire for both messages, in the protocol at all four sides."""
    model = diff_request(4, network, "III")
    wire, first = (
        PAPER["table_2"][network]["wire_per_byte"],
        PAPER["table_2"][network]["ranges"][0]["total"][1],
    )
    last = PAPER["table_2"][network]["ranges"][-1]["total"][1]
    path = "machine.network.wire.added"
    assert moved(model, {path: value(model, path) + 1}) == pytest.approx(
        {"request.wire": wire, "reply.wire": wire}
    )
    path = "machine.network.protocol.added"
    assert moved(model, {path: value(model, path) + 1}) == pytest.approx(
        {
            "send.protocol": first,
            "remote.receive.protocol": first,
            "remote.send.protocol": last,
            "receive.protocol": last,
        }
    )


MEASURED = {
    "page-fault": {
        "call": "call",
        "remote_compute": "remote.compute",
        "remote_delay": "remote.delay",
    },
    "diff-request": {
        "send_call": "send.call",
        "receive_call": "receive.call",
        "remote_call": "remote.receive.call",
        "compute": "compute",
        "remote_compute": "remote.compute",
        "remote_delay": "remote.delay",
    },
    "lock": {
        "call": "call",
        "compute": "compute",
        "remote_compute": "remote.compute",
        "remote_delay": "remote.delay",
    },
}


@pytest.mark.turns(4)
@any_network
@any_operation
def test_each_measured_input_is_one_step(operation: str, network: str) -> None:
    model = ALL[operation](network)
    for name, step in MEASURED[operation].items():
        assert moved(model, {name: value(model, name) + 10 * US}) == pytest.approx({step: 10.0}), (
            name
        )


def test_a_page_fault_fetches_the_machines_page() -> None:
    model = page_fault("atm")
    change = moved(model, {"machine.memory.page": 8192.0})
    assert set(change) == {"receive.protocol", "remote.send.protocol", "reply.wire"}


@pytest.mark.turns(4)
@quick
@given(machines(), st.integers(0, 6000))
def test_protocol_time_is_read_from_the_range_the_message_falls_in(
    drawn: Machine, size: int
) -> None:
    """A message is priced with the bytes that the protocol adds, by the first range that is long
    enough.
    """
    answer = solve(PROGRAMS["dvsm/message"].on(drawn, size=size))
    network = drawn.network

    def number(expr: object) -> float:
        assert isinstance(expr, Parameter)
        assert expr.value is not None
        return expr.value

    seen = size + number(network.protocol_added)
    line = next(
        each.total for each in network.ranges if each.up_to is None or seen <= number(each.up_to)
    )
    seconds = (number(line.fixed) + number(line.per_byte) * seen) / number(drawn.speed)
    wire = number(network.wire_per_byte) * (size + number(network.wire_added))
    latency = 2 * number(network.adapter) + number(network.switches) * number(network.switch)
    assert (
        answer.once["send.protocol"]
        == answer.once["receive.protocol"]
        == pytest.approx(seconds, rel=1e-12)
    )
    assert answer.once["wire"] == pytest.approx(wire, rel=1e-12)
    assert answer["time"] == pytest.approx(2 * seconds + wire + latency, rel=1e-12)


@pytest.mark.turns(4)
@quick
@given(machines(), st.integers(1, 8), microseconds(), microseconds(), st.floats(0, 5000))
def test_equal_replies_one_by_one_take_as_long_as_identical_parts(
    drawn: Machine, parts: int, call: float, compute: float, reply: float
) -> None:
    program = PROGRAMS["dvsm/diff-request"]
    sizes = tuple(Parameter(f"reply{index}", BYTES, reply) for index in range(parts))
    inputs = {"send_call": call, "compute": compute, "remote_delay": call}
    alike = solve(program.on(drawn, parts=parts, reply=reply, **inputs))
    spelt = solve(program.on(drawn, replies=sizes, **inputs))
    assert alike["time"] is not None
    assert spelt["time"] == pytest.approx(alike["time"], rel=1e-12)
    assert spelt.account == pytest.approx(alike.account, rel=1e-9)
    assert spelt.technology == pytest.approx(alike.technology, rel=1e-9, abs=1e-15)


def test_larger_replies_among_smaller_cost_what_the_recursion_says() -> None:
    """Three replies of which one is a page: the receives follow each other, the wire is not
    their limit.
    """
    program, sizes = PROGRAMS["dvsm/diff-request"], (20.0, 4120.0, 20.0)
    replies = tuple(Parameter(f"reply{index}", BYTES, size) for index, size in enumerate(sizes))
    answer = solve(program.on(machine("atm"), replies=replies))
    sends, receive = (150 + 0.02918 * 12), [150 + 0.02918 * size for size in sizes]
    wire = [0.05926 * (12 + 40 + size + 40) for size in sizes]
    remote = [220 + 40 + sends + each for each in receive]
    before = [0.0] * 4
    for j in range(3):
        end = before[0] + sends
        ends = [end]
        end = max(before[1], end) + wire[j]
        ends.append(end)
        end += remote[j]
        ends.append(end)
        end = max(before[3], end) + receive[j]
        before = [*ends, end]
    assert answer["time"] == pytest.approx(before[-1] * US, rel=1e-12)
    assert answer.limits == ()


@pytest.mark.turns(4)
@any_network
@pytest.mark.parametrize("processors", [2, 3, 8])
def test_a_barrier_is_its_four_parts(network: str, processors: int) -> None:
    """The last arrival's message, merging, one release after the other, and what follows; a
    slave's way on top.
    """
    given = {
        "arrive": 100.0,
        "release": 200.0,
        "merge": 30 * US,
        "invalidate": 20 * US,
        "processors": processors,
    }
    slave = {"notices": 7 * US, "receive_call": 5 * US}
    calls = {"send_call": 3 * US, "release_call": 2 * US}
    built = machine(network)
    master = solve(PROGRAMS["dvsm/barrier-master"].on(built, **given, **calls))
    message = solve(PROGRAMS["dvsm/message"].on(built, size=100.0, send_call=3 * US))
    release = solve(
        PROGRAMS["dvsm/message"].on(built, size=200.0, send_call=2 * US, receive_call=5 * US)
    )
    sends = release.once["send.protocol"] + release.once["send.call"]
    assert message["time"] is not None
    wanted = message["time"] + 30 * US + (processors - 1) * sends + 20 * US
    assert master["time"] == pytest.approx(wanted, rel=1e-12)
    last = solve(PROGRAMS["dvsm/barrier-slave"].on(built, **given, **calls, **slave))
    assert release["time"] is not None
    assert last["time"] == pytest.approx(wanted + 7 * US + release["time"] - sends, rel=1e-12)
    assert last.account == {"barrier": pytest.approx(last["time"])}


@any_network
@any_operation
def test_technology_classes_add_up_and_shares_add_to_one(operation: str, network: str) -> None:
    answer = solve(ALL[operation](network))
    assert sum(answer.technology.values()) == pytest.approx(answer["time"])
    assert sum(answer.share["time"].values()) == pytest.approx(1.0, abs=1e-9)


def test_defaults_are_those_of_the_paper() -> None:
    built = machine("atm")
    platform = PAPER["platform"]
    for program, name, wanted in (
        ("dvsm/page-fault", "request", platform["request"]["page_fault"]),
        ("dvsm/diff-request", "request", platform["request"]["diff"]),
        ("dvsm/lock", "request", platform["request"]["lock"]),
        ("dvsm/lock", "reply", platform["reply"]["lock"]),
    ):
        assert value(PROGRAMS[program].on(built), name) == wanted
    assert value(PROGRAMS["dvsm/page-fault"].on(built), "machine.memory.page") == platform["page"]
    assert (
        value(PROGRAMS["dvsm/barrier-master"].on(built), "machine.processors.count")
        == platform["processors"]
    )


def test_every_program_builds_with_its_defaults_and_describes_its_inputs() -> None:
    for name, program in PROGRAMS.items():
        assert program.name == name
        if program.machine is not Machine or any(
            each.name == "sequential" for each in program.inputs
        ):
            continue  # built on machines, and with sequential times, that their own tests give
        answer = solve(program.on(machine("fast-ethernet")))
        assert answer["time"] is not None
        assert answer["time"] > 0
        assert program.title
        assert program.source
        assert all(each.meaning for each in program.inputs)
        assert len({each.name for each in program.inputs}) == len(program.inputs)
