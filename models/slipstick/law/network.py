"""The cost of a message, as read from a network's cost table."""

from __future__ import annotations

from slipstick.expression.nodes import BYTES, COUNT, TIME, TIME_PER_BYTE
from slipstick.law.law import Check, Law, Symbol
from slipstick.law.symbols import PARSONS

_PAPER = f"{PARSONS}, Table 2"
_SIZE = Symbol("size", BYTES, "message size", "s")

_FIXED = Symbol("fixed", TIME, "cost of any message in this range of sizes", "a")
_PER_BYTE = Symbol("per_byte", TIME_PER_BYTE, "cost of one more byte", "b")
_ADDED = Symbol("added", BYTES, "bytes that the protocol sees beyond the message", "h_p")
PROTOCOL_TIME = Law(
    name="protocol-time",
    title="Protocol software time of one message at one side",
    gives=Symbol(
        "time", TIME, "software protocol time at the sender, and again at the receiver", "t_p"
    ),
    equation=lambda fixed=_FIXED, per_byte=_PER_BYTE, size=_SIZE, added=_ADDED: (
        fixed + per_byte * (size + added)
    ),
    holds="size >= 0",
    source=_PAPER,
    note=(
        "the time is linear within a range of sizes; measured times jump where the size passes a"
        " power of two"
    ),
    checks=(
        Check(
            (102e-6, 0.03865e-6, 12, 46),
            104.24e-6,
            0.005e-6,
            "12 B on Fast Ethernet, worked out from Tables 3 to 5",
        ),
        Check((150e-6, 0.02918e-6, 4120, 0), 270e-6, 0.5e-6, "Table 4, ATM, phase III: 150+270·3"),
    ),
)

_WIRE_PER_BYTE = Symbol("per_byte", TIME_PER_BYTE, "time of a byte on the wire", "g")
_WIRE_ADDED = Symbol("added", BYTES, "bytes that headers and framing add on the wire", "h_w")
WIRE_TIME = Law(
    name="wire-time",
    title="Time of one message on the wire",
    gives=Symbol("time", TIME, "time from the first bit to the last", "t_w"),
    equation=lambda per_byte=_WIRE_PER_BYTE, size=_SIZE, added=_WIRE_ADDED: (
        per_byte * (size + added)
    ),
    holds="size >= 0",
    source=_PAPER,
    checks=(
        Check(
            (0.08e-6, 4120, 58),
            334.24e-6,
            0.005e-6,
            "reply of phase III on Fast Ethernet, worked out from Table 4",
        ),
    ),
)

_MESSAGES = Symbol("messages", COUNT, "number of messages, one after the other", "m")
_ADAPTER = Symbol("adapter", TIME, "latency of each adapter", "l_a")
ADAPTER_LATENCY = Law(
    name="adapter-latency",
    title="Latency of the adapters that messages cross",
    gives=Symbol("time", TIME, "latency of two adapters for each message", "t_a"),
    equation=lambda messages=_MESSAGES, adapter=_ADAPTER: messages * (2 * adapter),
    holds="messages >= 0",
    source=_PAPER,
    checks=(Check((2, 25e-6), 100e-6, 0.0, "Table 3, Fast Ethernet: a request and a reply"),),
)

_SWITCH = Symbol("switch", TIME, "latency of a switch", "l_s")
_SWITCHES = Symbol("switches", COUNT, "number of switches on the way", "n_s")
SWITCH_LATENCY = Law(
    name="switch-latency",
    title="Latency of the switches that messages cross",
    gives=Symbol(
        "time", TIME, "latency of all switches between two processors, for each message", "t_s"
    ),
    equation=lambda messages=_MESSAGES, switch=_SWITCH, switches=_SWITCHES: (
        messages * (switches * switch)
    ),
    holds="messages >= 0 and switches >= 0",
    source=_PAPER,
    checks=(
        Check(
            (2, 10e-6, 1),
            20e-6,
            0.0,
            "Table 3, ATM: 220 for a request and a reply, of which 200 are the adapters'",
        ),
    ),
)
