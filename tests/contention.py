"""The phases of Tables 4 and 5 as inputs of ``dvsm/diff-phase``, with no measured delay among
them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from slipstick.answer import Answer
from slipstick.model.system import Model
from slipstick.program import PROGRAMS
from slipstick.sim.settings import Simulation
from tests import simulation
from tests.paper import NETWORKS, PAPER, US, machine

PHASES = ("I", "II", "III")
CELLS = [(table, network, phase) for table in (4, 5) for network in NETWORKS for phase in PHASES]
EXCHANGES = [cell for cell in CELLS if cell[2] == "II"]
ALONE = [cell for cell in CELLS if cell[2] != "II"]

# Table 3: nobody else is there. On ATM the delay that adds up, where the scan shows 17.
DISPATCH = {"fast-ethernet": PAPER["table_3"]["fast-ethernet"]["remote_delay"], "atm": 77}

VARIATION = 0.05


def column(table: int, network: str, phase: str) -> dict[str, Any]:
    """Return a printed column."""
    found: dict[str, Any] = PAPER[f"table_{table}"][network][phase]
    return found


def inputs(table: int, network: str, phase: str, variation: float = VARIATION) -> dict[str, Any]:
    """Return the inputs of a phase: measured values, except for the delay."""
    printed = column(table, network, phase)
    many, once = printed["call_source"]
    send, receive = (once, many) if phase == "III" else (many, once)
    processors = printed["parts"] + 1
    return {
        "processors": processors,
        "askers": processors if phase == "II" else 1,
        "request": PAPER["platform"]["request"]["diff"],
        "reply": printed["reply"],
        "send_call": send * US,
        "receive_call": receive * US,
        "remote_call": printed["call_destination"] * US,
        "compute": printed["compute"] * US,
        "remote_compute": printed["remote_compute"] * US,
        "dispatch": DISPATCH[network] * US,
        "variation": variation if phase == "II" else 0.0,
    }


def phase_model(table: int, network: str, phase: str, variation: float = VARIATION) -> Model:
    """Build a phase."""
    return PROGRAMS["dvsm/diff-phase"].on(
        machine(network), **inputs(table, network, phase, variation)
    )


@cache
def simulated(table: int, network: str, phase: str, variation: float = VARIATION) -> Answer:
    """Simulate a phase, once for all tests."""
    return simulation.solve(
        phase_model(table, network, phase, variation), None, Simulation(precision=0.01)
    )


def fault_time(answer: Answer) -> float:
    """Return the time of a fault: a cycle less the services before it [us]."""
    time = answer["time"]
    assert time is not None
    return (time - answer.account.get("wait:processor[0]", 0.0)) / US
