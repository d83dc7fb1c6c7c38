"""Where another stage of a pipeline becomes the longest, along one parameter at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from slipstick.answer import Limit, Takeover
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Parameter, parameters
from slipstick.expression.tape import Tape
from slipstick.method.closed_form.form import ClosedForm

__all__ = ["with_takeovers"]

SPAN = 1e4
"""A takeover is looked for from 1/SPAN to SPAN times the parameter's value."""
STEPS = 161
ROUNDS = 7


def with_takeovers(form: ClosedForm, limits: tuple[Limit, ...], values: Mapping[str, float]) -> tuple[Limit, ...]:
    """Add to each limit the nearest value of each parameter, below and above, at which another stage binds.

    The stages are evaluated on a geometric grid from each parameter's value on, and the step on which the
    binding stage first changes is divided again and again. A parameter of value 0 has no grid and is passed over.

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
    # Equal changes stay in the order of the formula; they differ in the last digits only.
    return tuple(sorted(found, key=lambda each: round(abs(math.log(each.value / each.now)), 6)))


def _along(
    tape: Tape, names: list[str], parameter: Parameter, value: float, here: Mapping[str, float]
) -> list[Takeover]:
    """Look up and down from a parameter's value."""

    def at(points: Array) -> Array:
        columns = tape.run({**here, parameter.name: points})
        return np.stack([np.broadcast_to(column, points.shape) for column in columns])

    found = []
    for ratio in (1 / SPAN, SPAN):
        change = _change(at, value, value * ratio)
        if change is not None:
            where, stage = change
            found.append(Takeover(parameter.name, value, where, str(parameter.dimension), names[stage]))
    return found


def _change(at: Callable[[Array], Array], near: float, far: float) -> tuple[float, int] | None:
    """Narrow down where the binding stage first changes on the way, and which one binds then; None if never.

    Each round divides the step on which it changes into as many steps again, so a third stage that binds in
    between is found as well.
    """
    binds = 0
    for _ in range(ROUNDS):
        grid = np.geomspace(near, far, STEPS)
        times = at(grid)
        binding = np.argmax(times, axis=0)
        changed = np.flatnonzero(binding != binding[0])
        if not changed.size or not np.isfinite(times).all():
            return None
        index = int(changed[0])
        near, far, binds = float(grid[index - 1]), float(grid[index]), int(binding[index])
        if np.nextafter(near, far) == far:
            break
    before, after = at(np.array([near, far])).T
    # At a tie the other stage binds as soon as the value moves.
    tied = before[int(np.argmax(before))] == before[binds]
    return (near if tied else far), int(np.argmax(after))
