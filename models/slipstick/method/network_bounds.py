"""Bounds of queueing networks: one answer for each kind."""

from __future__ import annotations

from slipstick.answer import Answer
from slipstick.model.network import QueueingNetwork

__all__ = ["network_bounds"]


def network_bounds(model: QueueingNetwork) -> tuple[Answer, ...]:
    """Enclose throughput and response time of every class."""
    raise NotImplementedError(model.name)
