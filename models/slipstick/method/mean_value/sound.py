"""Points whose numbers make no sense, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.spans import Array
from slipstick.model.activity import Barrier, Choice, Hold, Pipeline, Repeat, Step, steps
from slipstick.model.system import Lock, Meeting, Model

__all__ = ["MOST", "counted", "unsound"]

MOST = 10_000
"""Processors that are counted one by one."""


def counted(sizes: Array, what: str, least: int = 1) -> dict[int, str]:
    """Say at which points a number of processors cannot be counted up to."""
    values = sizes.real
    bad = ~((values >= least) & (values <= MOST) & (np.abs(values - np.rint(values)) <= 1e-9))
    return {
        int(point): f"mean-value counts processors one by one: {what} must be a whole number from {least} to {MOST}, "
        f"got {values[point]:g}"
        for point in np.flatnonzero(bad)
    }


def unsound(model: Model, numbers: Numbers) -> dict[int, str]:
    """Say at which points a time, a count or a probability is out of its range."""
    wrong: dict[int, str] = {}
    for what, expr, most in _ranges(model):
        values = numbers[expr].real
        bad = ~((values >= 0) & (values <= most) & np.isfinite(values))
        for point in np.flatnonzero(bad):
            wrong.setdefault(int(point), f"{what} comes out as {values[point]:g}, which mean-value cannot take")
    for body in model.bodies:
        for node in steps(body):
            if isinstance(node, Repeat) and any(isinstance(each, Barrier) for each in steps(node.body)):
                values = numbers[node.count].real
                for point in np.flatnonzero(values < 1):
                    text = f"a repeat with a barrier inside must be done at least once for mean-value, got {values[point]:g}"
                    wrong.setdefault(int(point), text)
            if isinstance(node, Choice):
                total = sum((numbers[p].real for p, _ in node.options), np.zeros(1))
                for point in np.flatnonzero(~np.isclose(total, 1.0, rtol=1e-9)):
                    text = f"the probabilities of a choose add up to {total[point]:g} here, not to 1"
                    wrong.setdefault(int(point), text)
    return wrong


def _ranges(model: Model) -> Iterator[tuple[str, Expr, float]]:
    """Yield every number of the tree with what it is and its largest value."""
    for body in model.bodies:
        for node in steps(body):
            match node:
                case Step(name, time):
                    # Squares of times must not overflow.
                    yield f"the time of step {name}", time, 1e150
                case Choice(options):
                    yield from (("a probability", p, 1.0) for p, _ in options)
                case Repeat(count):
                    yield "the count of a repeat", count, 2.0**53
                case Barrier(name):
                    meeting = model.resources[name]
                    assert isinstance(meeting, Meeting)
                    yield f"the cost of barrier {name}", meeting.cost, 1e150
                case Hold(name):
                    lock = model.resources[name]
                    assert isinstance(lock, Lock)
                    yield f"an access to the word of lock {name}", lock.access, 1e150
                    yield f"the back-off of lock {name}", lock.base, 1e150
                case Pipeline(_, items, name):
                    yield f"the number of items of {name}", items, 2.0**53
