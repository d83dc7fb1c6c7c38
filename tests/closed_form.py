"""Solving in closed form, of whatever model: what is said of formulas is tested without the
method that is the default.
"""

from __future__ import annotations

from collections.abc import Mapping

import slipstick
from slipstick.answer import Answer
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import CLOSED_FORM


def solve(
    model: Model | QueueingNetwork,
    values: Mapping[str, float] | None = None,
    method: str = CLOSED_FORM,
    simulation: Simulation | None = None,
) -> Answer:
    """Answer at one point, in closed form unless another method is named."""
    return slipstick.solve(model, values, method=method, simulation=simulation)
