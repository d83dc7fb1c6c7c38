"""Messages: their costs at each place that they pass, read from a network's cost table."""

from __future__ import annotations

from slipstick.expression.nodes import Expr, Like, as_expr, select
from slipstick.law.network import ADAPTER_LATENCY, PROTOCOL_TIME, SWITCH_LATENCY, WIRE_TIME
from slipstick.model.activity import Activity, delay, service, then
from slipstick.model.machine import Machine, Network


def protocol_time(network: Network, size: Expr) -> Expr:
    """Give the protocol software time of a message at one side, by the range of its size [s]."""
    last, *others = reversed(network.ranges)
    result = _line_time(network, size, last.total.fixed, last.total.per_byte)
    for each in others:
        assert each.up_to is not None
        line = _line_time(network, size, each.total.fixed, each.total.per_byte)
        result = select(size + network.protocol_added, each.up_to, line, result)
    return result


def wire_time(network: Network, size: Expr) -> Expr:
    """Give the time of a message on the wire [s]."""
    made = WIRE_TIME(per_byte=network.wire_per_byte, size=size, added=network.wire_added)
    assert isinstance(made, Expr)
    return made


def software(
    machine: Machine, seconds: Expr, *, name: str, component: str, technology: str, resource: str = "own"
) -> Activity:
    """Spend software time at a processor; a faster processor divides it."""
    return service(resource, seconds / machine.speed, name=name, component=component, technology=technology)


def wire(machine: Machine, size: Expr, *, name: str, component: str) -> Activity:
    """Send a message over the wire; if the network has a shared medium, messages contend for it."""
    seconds = wire_time(machine.network, size)
    if machine.network.medium == "none":
        return delay(seconds, name=name, component=component, technology="wire")
    return service("wire", seconds, name=name, component=component, technology="wire")


def latency(machine: Machine, messages: Like = 1) -> tuple[Expr, Expr]:
    """Give the hardware latency of messages in turn: two adapters each, and the switches between them [s]."""
    network, count = machine.network, as_expr(messages)
    adapters = ADAPTER_LATENCY(messages=count, adapter=network.adapter)
    switches = SWITCH_LATENCY(messages=count, switch=network.switch, switches=network.switches)
    assert isinstance(adapters, Expr)
    assert isinstance(switches, Expr)
    return adapters, switches


def hardware(machine: Machine, messages: Like, *, name: str, component: str) -> Activity:
    """Cross two adapters and the switches between them, once for each message in turn."""
    adapters, switches = latency(machine, messages)
    return then(
        delay(adapters, name=f"{name}.adapter", component=component, technology="adapter"),
        delay(switches, name=f"{name}.switch", component=component, technology="switch"),
    )


def _line_time(network: Network, size: Expr, fixed: Expr, per_byte: Expr) -> Expr:
    made = PROTOCOL_TIME(fixed=fixed, per_byte=per_byte, size=size, added=network.protocol_added)
    assert isinstance(made, Expr)
    return made
