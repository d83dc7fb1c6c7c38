"""The beginning of a simulation in full, with what the account books each step to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slipstick.method.closed_form.times import BARRIER
from slipstick.method.simulation.flatten import flatten
from slipstick.model.system import Model
from slipstick.results.study import Timeline
from slipstick.sim.plain.timeline import critical_path, record

__all__ = ["timeline"]


def timeline(model: Model, values: Mapping[str, float] | None = None, seed: int = 0, cycles: int = 3) -> Timeline:
    """Follow every processor of a model through its first cycles, or a program to its end.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    seed : key of the random streams
    cycles : to follow each processor for, on average

    Raises
    ------
    ModelError : a value is missing, or the model cannot be simulated

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed
    >>> found = timeline(closed(delay(2.0, name="work") >> service("bus", 1.0), processors=2), cycles=1)
    >>> [(span.member, span.label, span.start, span.end) for span in found.spans]
    [(0, 'work', 0.0, 2.0), (1, 'work', 0.0, 2.0), (0, 'bus', 2.0, 3.0), (1, 'wait:bus', 2.0, 3.0), (1, 'bus', 3.0, 4.0)]
    """
    components = {step.name: step.component for step in model.steps}
    found = record(flatten(model, values).plan, seed, cycles)
    labels = {span.label for span in found.spans}
    waits = {label: BARRIER for label in labels if label.startswith(f"{BARRIER}:")}
    return replace(found, path=critical_path(found), components={**components, **waits}, useful=model.useful)
