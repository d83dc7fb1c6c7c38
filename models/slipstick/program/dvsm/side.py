"""The software side of operations: what a processor pays for messages and signals."""

from __future__ import annotations

from dataclasses import dataclass

from slipstick.expression.nodes import Expr
from slipstick.model.activity import Activity
from slipstick.model.machine import Machine
from slipstick.program.message import protocol_time, software

__all__ = ["Side"]


@dataclass(frozen=True, slots=True)
class Side:
    """Who pays for messages: a processor, and what its steps are booked to."""

    machine: Machine
    component: str
    resource: str = "own"

    def spend(self, name: str, seconds: Expr, technology: str) -> Activity:
        """Spend software time here."""
        return software(
            self.machine, seconds, name=name, component=self.component, technology=technology, resource=self.resource
        )

    def handle(self, name: str, size: Expr, call: Expr | None = None) -> Activity:
        """Send or receive a message: protocol time and, where given, extra system-call time."""
        protocol = self.spend(f"{name}.protocol", protocol_time(self.machine.network, size), "protocol")
        return protocol if call is None else protocol >> self.spend(f"{name}.call", call, "system")

    def interrupted(self) -> Activity:
        """Take a signal."""
        return self.spend("signal", self.machine.signal, "signal")
