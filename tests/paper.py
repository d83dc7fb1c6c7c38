"""The DVSM paper's tables as data, its two machines, and its operations as models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from slipstick.expression.nodes import BYTES, COUNT, TIME, TIME_PER_BYTE, Dimension, Expr, Parameter
from slipstick.model.machine import LinearCost, Machine, Network, SizeRange
from slipstick.model.system import Model
from slipstick.program import PROGRAMS

PAPER: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "published" / "dvsm.yaml").read_text()
)
NETWORKS = tuple(PAPER["table_2"])
MEDIUM = {"fast-ethernet": "shared", "atm": "switched"}
US = 1e-6


def machine(name: str) -> Machine:
    """Build the paper's machine on one of its two networks, every number from Table 2 and the
    platform.
    """
    table, platform = PAPER["table_2"][name], PAPER["platform"]

    def quantity(path: str, dimension: Dimension, value: float, scale: float = 1.0) -> Expr:
        return Parameter(f"machine.{path}", dimension, value * scale)

    ranges = []
    for index, each in enumerate(table["ranges"]):
        fixed, per_byte = each["total"]
        path = f"network.protocol.r{index}"
        ranges.append(
            SizeRange(
                name=f"r{index}",
                up_to=(
                    None
                    if each["up_to"] is None
                    else quantity(f"{path}.up_to", BYTES, each["up_to"])
                ),
                total=LinearCost(
                    quantity(f"{path}.fixed", TIME, fixed, US),
                    quantity(f"{path}.per_byte", TIME_PER_BYTE, per_byte, US),
                ),
            )
        )
    network = Network(
        name=name,
        protocol_added=quantity(
            "network.protocol.added", BYTES, PAPER["worked_out"]["protocol_added"][name]
        ),
        ranges=tuple(ranges),
        wire_per_byte=quantity("network.wire.per_byte", TIME_PER_BYTE, table["wire_per_byte"], US),
        wire_added=quantity("network.wire.added", BYTES, table["wire_added"]),
        adapter=quantity("network.adapter", TIME, table["adapter"], US),
        switch=quantity("network.switch", TIME, table["switch"], US),
        switches=quantity("network.switches", COUNT, platform["switches"][name]),
        medium=MEDIUM[name],
    )
    return Machine(
        name=name,
        processors=quantity("processors.count", COUNT, platform["processors"]),
        speed=quantity("processors.speed", COUNT, 1.0),
        page=quantity("memory.page", BYTES, platform["page"]),
        signal=quantity("signal", TIME, platform["signal"], US),
        network=network,
    )


def page_fault(network: str) -> Model:
    """Build the operation of Table 3; the ATM delay is the one that adds up, not the one the
    scan shows.
    """
    column = PAPER["table_3"][network]
    misread = next(
        each for each in PAPER["slips"] if (each["table"], each["row"]) == (3, "remote_delay")
    )
    delay = misread["ours"] if network == misread["column"] else column["remote_delay"]
    return PROGRAMS["dvsm/page-fault"].on(
        machine(network),
        request=PAPER["platform"]["request"]["page_fault"],
        call=column["call"] * US,
        remote_compute=column["remote_compute"] * US,
        remote_delay=delay * US,
    )


def diff_request(table: int, network: str, phase: str) -> Model:
    """Build the operation of one column of Tables 4 and 5."""
    column = PAPER[f"table_{table}"][network][phase]
    many, once = column["call_source"]
    # "a·d + b" is sends first where replies are small, receives first in phase III.
    send, receive = (once, many) if phase == "III" else (many, once)
    return PROGRAMS["dvsm/diff-request"].on(
        machine(network),
        parts=column["parts"],
        request=PAPER["platform"]["request"]["diff"],
        reply=column["reply"],
        send_call=send * US,
        receive_call=receive * US,
        remote_call=column["call_destination"] * US,
        compute=column["compute"] * US,
        remote_compute=column["remote_compute"] * US,
        remote_delay=column["remote_delay"] * US,
    )


def lock(network: str, parties: int) -> Model:
    """Build the operation of one column of Table 6; its remote rows are sums over the requests."""
    column = PAPER["table_6"][network][parties]
    requests = parties - 1
    return PROGRAMS["dvsm/lock"].on(
        machine(network),
        parties=parties,
        request=PAPER["platform"]["request"]["lock"],
        reply=PAPER["platform"]["reply"]["lock"],
        call=column["call"] * US,
        compute=column["compute"] * US,
        remote_compute=column["remote_compute"] / requests * US,
        remote_delay=column["remote_delay"] / requests * US,
    )
