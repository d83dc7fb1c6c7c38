"""Where another stage of a pipeline becomes the longest, along one parameter at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from slipstick.answer import Limit, Takeover
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.method.closed_form import ClosedForm

__all__ = ["with_takeovers"]

SPAN = 1e4
"""A takeover is looked for from 1/SPAN to SPAN times the parameter's value."""
STEPS = 161


def with_takeovers(form: ClosedForm, limits: tuple[Limit, ...], values: Mapping[str, float]) -> tuple[Limit, ...]:
    """Add to each limit the nearest value of each parameter, below and above, at which another stage binds.

    The stages are evaluated on a geometric grid around each parameter's value, and the change nearest to
    it is narrowed by root finding. A parameter of value 0 has no grid and is passed over.

    Parameters
    ----------
    form : the compiled model
    limits : as the answer gives them
    values : parameters that differ from the model's own, in base units
    """
    return tuple(replace(limit, takeovers=_takeovers(form, limit, values)) for limit in limits)


def _takeovers(form: ClosedForm, limit: Limit, values: Mapping[str, float]) -> tuple[Takeover, ...]:
    stages = form.stages[limit.pipeline]
    tape = Tape(list(stages.values()))
    here = {name: value for name, value in values.items() if name in tape.parameters}
    found = []
    for parameter in parameters(*stages.values()):
        value = here.get(parameter.name, parameter.value)
        if value:
            found += _along(tape, list(stages), parameter, float(value), here)
    return tuple(sorted(found, key=lambda each: abs(math.log(each.value / each.now))))


def _along(
    tape: Tape, names: list[str], parameter: Parameter, value: float, here: Mapping[str, float]
) -> list[Takeover]:
    """Look up and down from a parameter's value."""

    def at(points: Array) -> Array:
        columns = tape.run({**here, parameter.name: points})
        return np.stack([np.broadcast_to(column, points.shape) for column in columns])

    found = []
    for ratio in (1 / SPAN, SPAN):
        grid = value * np.geomspace(1.0, ratio, STEPS)
        times = at(grid)
        binding = np.argmax(times, axis=0)
        changed = np.flatnonzero(binding != binding[0])
        if changed.size and np.isfinite(times).all():
            index = int(changed[0])
            where = _crossing(at, int(binding[0]), int(binding[index]), float(grid[index - 1]), float(grid[index]))
            other = names[int(binding[index])]
            found.append(Takeover(parameter.name, value, where, str(parameter.dimension), other))
    return found


def _crossing(at: object, one: int, other: int, near: float, far: float) -> float:
    """Narrow down where two stages take equally long."""
    from scipy.optimize import brentq

    assert callable(at)

    def gap(x: float) -> float:
        times = at(np.array([x, x]))
        return float(times[one][0] - times[other][0])

    if gap(near) == 0.0:
        return near
    if gap(near) * gap(far) > 0:
        # A third stage binds in between on this step; the step itself is as near as can be said.
        return far
    return float(brentq(gap, min(near, far), max(near, far), xtol=1e-15 * abs(far), rtol=1e-12))
